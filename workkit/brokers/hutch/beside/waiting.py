"""Claims that may not start yet: a limit is full, or a rate allows no start. They wait here, in their order, and are
asked for again soon; one that waits too long goes back to its queue.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass

from workkit.brokers.hutch.beside.guard import MAY_START, NEEDS_SLOT, Wanted
from workkit.brokers.hutch.codec import Receipt
from workkit.clocks import time
from workkit.contract.listener import Claim, Ending, Turn
from workkit.jobs.admission import NOTHING, Admission
from workkit.jobs.outcome import Released

Ask = Callable[[Sequence[Wanted], int], list[tuple[Claim, float]]]  # see `Guard.admit`
AGAIN = 0.2  # seconds until a slot is asked for again; one that this listener frees is asked for at once
PATIENCE = 10.0  # seconds that a claim waits here; then other listeners may have room
SHUT = 1.0  # seconds in which they alone can take it
MOST = 32  # claims of one queue that wait; then nothing more is taken from it, until half of them have gone
AWAY_MS = 5000  # a claim under a limit key goes away so long, so that others behind it get a chance


@dataclass(slots=True, eq=False)
class _Parked:
    claim: Claim
    wanted: Admission
    since: float


class Waiting:
    """The claims of one listener that wait. For the listener's loop. May raise ServerUnreachable, ServerRefused."""

    def __init__(self, ask: Ask) -> None:
        self._ask = ask
        self._parked: dict[Receipt, _Parked] = {}
        self._granted: dict[Receipt, Admission] = {}
        self._crowded: set[str] = set()
        self._shut: dict[str, float] = {}  # queues to which something went back: until when nothing is taken from them
        self._at = math.inf  # when to ask again, `time.monotonic()` seconds

    def __contains__(self, claim: Claim) -> bool:
        return claim.receipt in self._parked

    def admit(self, asked: Sequence[tuple[Claim, Admission | None]]) -> Turn:
        """Let claims start that may; the others wait here, and the listener no longer knows of them."""
        go: list[Claim] = []
        others: list[tuple[Claim, Admission | None]] = []
        for claim, wanted in asked:
            is_granted = claim.receipt in self._granted and self._granted.pop(claim.receipt) == (wanted or NOTHING)
            if is_granted or wanted is None:
                go.append(claim)
            else:
                others.append((claim, wanted))
        now = time.monotonic()
        for (_, wanted), (claim, answer) in zip(others, self._ask(others, len(others)), strict=True):
            if answer == MAY_START:
                go.append(claim)
            else:
                since = now if answer >= NEEDS_SLOT else -math.inf  # Redis has lost its record: it goes back soon
                self._parked[claim.receipt] = _Parked(claim, wanted or NOTHING, since)
                self._ask_in(answer)
        return Turn(claims=go, wake_in_ms=self.wake_in_ms)

    def again(self, limit: int) -> list[Claim]:
        """Take up to `limit` claims that may start now. Those that have slots pass the next `admit`."""
        if not self._parked or time.monotonic() < self._at:
            return []
        self._at, found = math.inf, []
        asked = [(one.claim, one.wanted) for one in self._parked.values()]
        for (_, wanted), (claim, answer) in zip(asked, self._ask(asked, limit), strict=True):
            if answer == MAY_START:
                found.append(claim)
                self._granted[claim.receipt] = wanted
                del self._parked[claim.receipt]
            else:
                self._ask_in(answer)
        return found

    def freed(self, claims: Iterable[Claim]) -> None:
        """Ask again at once if one of these had a slot."""
        if self._parked and any(claim.slots for claim in claims):
            self._at = 0.0

    def lose(self) -> None:
        """Forget all: RabbitMQ gives them to other listeners."""
        self._parked.clear()
        self._granted.clear()

    def overdue(self) -> list[Ending]:
        """Take the claims that have waited too long, with how each goes back."""
        now = time.monotonic()
        ends: list[Ending] = []
        for receipt, one in list(self._parked.items()):
            if now - one.since > PATIENCE:
                is_keyed = any("=" in key for key, _ in (*one.wanted.keys, *one.wanted.turns))
                away = AWAY_MS if is_keyed and receipt.queue in self._crowded else 0
                ends.append((one.claim, Released(delay_ms=away)))
                del self._parked[receipt]
                if not away:
                    self._shut[receipt.queue] = now + SHUT
        return ends

    def crowded(self) -> set[str]:
        """List the queues from which nothing more is taken for now."""
        if not (self._parked or self._crowded or self._shut):
            return set()
        count = Counter(receipt.queue for receipt in self._parked)
        still = {queue for queue in self._crowded if count[queue] > MOST // 2}
        self._crowded = still | {queue for queue, parked in count.items() if parked >= MOST}
        now = time.monotonic()
        self._shut = {queue: until for queue, until in self._shut.items() if until > now}
        return self._crowded | self._shut.keys()

    @property
    def wake_in_ms(self) -> float | None:
        """In how many milliseconds to ask again; None: nothing waits."""
        return max(0.0, (self._at - time.monotonic()) * 1000) if self._parked else None

    def _ask_in(self, answer: float) -> None:
        self._at = min(self._at, time.monotonic() + (answer / 1000 if answer >= 0 else AGAIN))
