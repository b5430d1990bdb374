"""The side of a broker that a listener uses: it claims work, and says how each run ended."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, Protocol

from workkit.contract.claim import Claim, Ending, Orders, Turn
from workkit.contract.connection import Connection
from workkit.contract.history import Counted
from workkit.contract.listener import ListenerInfo
from workkit.jobs.admission import Admission, History
from workkit.tracing import TraceContext


class Consumer(Connection, Protocol):
    """One listener's side of one schedule. For one thread, except `wait` and `now_ms`."""

    @property
    def listener(self) -> str:
        """The name of this registration as a listener; empty before the first."""

    def register(self, info: ListenerInfo) -> None:
        """Become a listener. Raises ServerUnreachable or ServerRefused. After ServerFull the next `claim` or
        `heartbeat` first tries again.
        """

    def claim(self, limit: int, *, ends: Sequence[Ending] = (), now_ms: int | None = None) -> Turn:
        """Apply endings and take up to `limit` due jobs, in one round trip, or two if these are many; never blocks.

        `ends` and claims are atomic. Raises ServerUnreachable or ServerRefused; then the next call first repeats the
        same request, which has one effect however often it is sent.
        """

    def admit(self, asked: Sequence[tuple[Claim, Admission | None]], *, now_ms: int | None = None) -> Turn:
        """Put the next occurrence of recurring jobs back, and take slots and turns, before these jobs start.

        The answer returns the jobs that may start, armed. The listener no longer holds a job that must wait.
        `wake_in_ms` of the answer is when the first of the next occurrences is due.
        """

    def heartbeat(self, *, trouble: str | None = None, state: str | None = None) -> Orders:
        """Send a heartbeat, and say which part of this listener has stopped moving; return the orders for it.
        `state`: what it does now ("quiet", "stopping"); None: as it registered.
        """

    def beating(self, *, trouble: str | None = None, state: str | None = None) -> Callable[[], Orders]:
        """Send a heartbeat, and return a function that waits for the answer. The caller must call it."""

    def tell(self, said: Mapping[Any, str | None], logs: Sequence[tuple[Claim, str]] = ()) -> None:
        """Show the progress of runs: receipt -> progress as JSON; None where the run is over. `logs`: what runs have
        logged so far; an empty text where the run ended well. A layout may ignore them.
        """

    def traces_of(self, claims: Sequence[Claim]) -> list[TraceContext | None]:
        """Read the trace contexts of the additions of these jobs; None where there is none. From any thread."""

    @property
    def history(self) -> History:
        """What it keeps of past runs, as its last answers say; `off` where the layout keeps nothing."""

    def count(self, counted: Counted) -> None:
        """Store what this listener has counted. Never repeated: if the answer is lost, the counts may be."""

    def maintain(self) -> list[tuple[str, int]]:
        """Take back the claims of dead listeners, and return (listener, number of jobs) for each; end pauses whose
        time has passed.
        """

    def wait(self, seconds: float) -> bool:
        """Sleep until woken (True) or the time is over, on a connection of its own."""

    def pass_on(self) -> None:
        """Hand a wake-up on to another listener."""

    def reconsider(self) -> None:
        """Be offered again the jobs that it gave back as `unknown`."""

    def leave(self) -> None:
        """End the registration. The listener must hold no claim any more."""
