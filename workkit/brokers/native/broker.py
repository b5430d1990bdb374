"""The native broker: it adds jobs to the published keys, and claims them through one session for each listener."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from functools import cached_property
from typing import TYPE_CHECKING, Any

from workkit.brokers.native.additions import Additions, NativePlans
from workkit.brokers.native.codec import Codec, home_of
from workkit.brokers.native.keys import Keys
from workkit.brokers.native.results import tally_call
from workkit.brokers.native.session import Session
from workkit.brokers.redis_server.once import kept_batch
from workkit.brokers.redis_server.server import Server, ServerClock
from workkit.brokers.shards import shard_of, shard_of_text
from workkit.contract.admin import Resumed
from workkit.contract.history import Counted
from workkit.contract.listener import Claim, Ending, ListenerInfo, Orders, Turn
from workkit.contract.producer import Added, BulkPlace, NewJob
from workkit.errors import ServerError
from workkit.jobs.admission import Admission
from workkit.jobs.terms import PLAIN, USUAL
from workkit.tracing import TraceContext, read_context

if TYPE_CHECKING:
    from workkit.brokers.native.change.admin import NativeAdmin
    from workkit.brokers.native.doctor import NativeDoctor
    from workkit.brokers.native.groups import NativeGroups
    from workkit.brokers.native.look.inspector import NativeInspector

LOOKS_APART_MS = 1900  # ms between the two looks: after a failover every listener may look stale at once


class NativeBroker(Additions):
    """One schedule on one server. Adding and looking are thread-safe; the listener's side is for one thread.

    `shown`: the schedule that its jobs name, for a shard of that schedule; None: `schedule`.
    """

    def __init__(
        self,
        server: Server,
        *,
        schedule: str,
        dialect: str = "published",
        timeout_ms: int = 10_000,
        shown: str | None = None,
    ) -> None:
        codec = Codec(shown or schedule, dialect)
        super().__init__(server, keys=Keys(schedule), codec=codec, clock=ServerClock(server))
        self.schedule = schedule
        self.url = server.url  # without a password
        self.is_on_test_clock = server.is_on_test_clock  # whether tests move the server's clock
        self._session = Session(server, keys=self._keys, codec=self._codec, lease_ms=timeout_ms // 2)
        self._seen: dict[str, tuple[float, float]] = {}  # listener -> its heartbeat, and when we first saw it
        self._stale: list[tuple[str, float]] = []
        self._gathered = b"0"  # where to gather next in the groups
        self._waiting = server.twin(answer_seconds=60.0)

    @property
    def listener(self) -> str:
        """The name of this registration as a listener; empty before the first."""
        return self._session.name

    @cached_property
    def inspector(self) -> NativeInspector:
        """The part of the broker that reads a schedule."""
        from workkit.brokers.native.look.inspector import NativeInspector

        return NativeInspector(self._server, keys=self._keys, codec=self._codec, waiting=self._waiting)

    @property
    def admin(self) -> NativeAdmin:
        """The part of the broker that changes jobs and pauses."""
        from workkit.brokers.native.change.admin import NativeAdmin

        return NativeAdmin(server=self._server, keys=self._keys, codec=self._codec)

    @cached_property
    def groups(self) -> NativeGroups:
        """The part of the broker that reads and steers groups."""
        from workkit.brokers.native.groups import NativeGroups

        return NativeGroups(server=self._server, keys=self._keys, codec=self._codec)

    @property
    def plans(self) -> NativePlans:
        """The plans of code."""
        return NativePlans(
            server=self._server, keys=self._keys, contents=self.contents, named=lambda: self.inspector.named()
        )

    @property
    def doctor(self) -> NativeDoctor:
        """The part of the broker that checks and repairs."""
        from workkit.brokers.native.doctor import NativeDoctor

        return NativeDoctor(server=self._server, keys=self._keys, codec=self._codec)

    def now_ms(self) -> int:
        """Ask the server's clock once, then estimate it from the last answer."""
        return self._clock.now_ms()

    def check(self, job: NewJob) -> None:
        """Accept every job."""

    def spread(
        self, jobs: Sequence[NewJob], shards: Sequence[Any]
    ) -> list[tuple[list[int], Callable[[], list[Added]]]]:
        """Send each job to the shard of its id, or of its name, unique key or window: see `sharded.Part`."""
        stored = self.encode(jobs)
        places: dict[int, list[int]] = {}
        for place, (job, what) in enumerate(zip(jobs, stored, strict=True)):
            shard = shard_of(what.id, len(shards))
            if (job.terms is not PLAIN or job.entrance is not USUAL) and (home := home_of(job)) is not None:
                shard = shard_of_text(home, len(shards))
            places.setdefault(shard, []).append(place)
        return [
            (here, shards[shard].putting([jobs[i] for i in here], stored=[stored[i] for i in here]))
            for shard, here in places.items()
        ]

    def batch(self, which: str | BulkPlace) -> BulkPlace:
        """Read how far a batch is, or keep a new one: see `Producer.batch`."""
        return kept_batch(self._server, self._keys.producer, which, schedule=self.schedule)

    def id_of(self, job: NewJob) -> str:
        """Return the id that a new job will have, and keep its bytes: see `KeepsGroups.id_of`."""
        (job.stored,) = self.encode([job])
        return str(job.stored.second_id or job.stored.id)

    def register(self, info: ListenerInfo) -> None:
        """Become a listener."""
        self.now_ms()  # ask now: threads that run jobs need the clock while the server may be away
        self._session.register(info)

    def claim(self, limit: int, *, ends: Sequence[Ending] = (), now_ms: int | None = None) -> Turn:
        """Apply endings and claim due work. A batch that these endings have cancelled: end its other jobs."""
        turn = self._session.claim(limit, ends=ends, now_ms=now_ms)
        for name, how in turn.batches:
            if how == "cancelling":
                with suppress(ServerError):  # the next listener that gathers does it
                    self._session.batches += self.groups.end_cancelled(name)
        return replace(turn, batches=[one for one in turn.batches if one[1] != "cancelling"]) if turn.batches else turn

    def admit(self, asked: Sequence[tuple[Claim, Admission | None]], *, now_ms: int | None = None) -> Turn:
        """Re-arm recurring jobs, take slots and turns, before they start."""
        return self._session.admit(asked, now_ms=now_ms)

    def beating(
        self, *, trouble: str | None = None, state: str | None = None, awaited: int = 0
    ) -> Callable[[], Orders]:
        """Send a heartbeat; its answer says which listeners look dead, for `maintain`."""
        heard = self._session.beating(trouble=trouble, state=state, awaited=awaited)

        def orders() -> Orders:
            found, self._stale = heard()
            return found

        return orders

    def tell(self, said: Mapping[Any, str | None], logs: Sequence[tuple[Claim, str]] = ()) -> None:
        """Store the progress and the logs of runs."""
        self._session.tell(said, logs)

    @property
    def count(self) -> Callable[[Counted], None] | None:
        """The function that stores counts of runs; None if the schedule keeps no history. See `Broker.count`."""
        return None if self._session.control.history == "off" else self._count

    def _count(self, counted: Counted) -> None:
        now_ms, me, history = self.now_ms(), self.listener, self._session.control.history
        self._server.call(*tally_call(self._keys, counted, listener=me, history=history, now_ms=now_ms))

    def maintain(self, *, reconsider: bool = False) -> list[tuple[str, int]]:
        """Take back the claims of dead listeners: (listener, jobs) for each. End the pauses that are over, and
        do what is left to do in groups.

        A listener is dead if two looks, far enough apart by our own clock, have found it stale with the same heartbeat.
        """
        if reconsider:
            self._session.reconsider()
        for target in self._session.control.lapsed(self.now_ms()):
            self.admin.steer(Resumed(target, lapsed=True))
        if self._session.has_groups:
            self._gathered, ended = self.groups.gather(self._gathered)
            self._session.batches += ended
        now, taken = self._clock.steady_ms(), []
        seen = {name: self._seen[name] for name, beat in self._stale if self._seen.get(name, (None, 0))[0] == beat}
        for name, beat in self._stale:
            _, first = seen.setdefault(name, (beat, now))
            if now - first < LOOKS_APART_MS:
                continue
            moved = 0
            while (done := self._session.reap(name, beat)) is not None:
                moved += done[0]
                if not done[1]:
                    taken.append((name.encode("utf-8", "surrogateescape").decode("utf-8", "replace"), moved))
                    break
            seen.pop(name, None)
        self._seen, self._stale = seen, []
        return taken

    def wait(self, seconds: float) -> bool:
        """Wait for a token on a connection of its own: True if one came, False if the time is over."""
        return self._waiting.pop([self._keys.wake], seconds) is not None

    def traces_of(self, claims: Sequence[Claim]) -> list[TraceContext | None]:
        """Read the trace contexts of the additions of these jobs; None if there is none. Any thread may call it."""
        with self._server.translated() as client:
            found = client.mget([self._keys.trace(claim.id) for claim in claims])
        return [None if text is None else read_context(bytes(text).decode("ascii", "replace")) for text in found]

    def pass_on(self) -> None:
        """Pass a wake-up on to another listener."""
        with self._server.translated() as client:
            client.lpush(self._keys.wake, 1)

    def leave(self) -> None:
        """End the registration. Other listeners take back the claims that it still holds, with `maintain`."""
        self._session.leave()

    def close(self) -> None:
        """Close connections, even while a thread waits on one."""
        self._waiting.drop()
        self._server.close()
