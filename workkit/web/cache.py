"""One schedule as the web serves it: its connection, and all state that is kept between two requests.

`Served` keeps the data that pages have read; `Deaths` the listeners that died while a page was open; `SeenRecurring`
the recurring jobs that the server no longer has.
"""

from __future__ import annotations

import math
import time
from collections import OrderedDict, deque
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta, tzinfo
from functools import partial
from itertools import islice
from threading import Lock, Thread, local
from typing import Any, Final, TypeVar, cast

from workkit.contract.admin import Change
from workkit.contract.broker import Inspector
from workkit.contract.inspector import Named, Pulse, Recurs
from workkit.contract.listener import ListenerInfo
from workkit.errors import ServerError, Unsupported, WorkkitError
from workkit.jobs.admission import Control
from workkit.text.wording import epoch_ms, zone_name
from workkit.verbs.control import pause_until
from workkit.verbs.creation import Schedule
from workkit.verbs.opening import by_time_of, limits_of, producer_of
from workkit.web.dead_jobs import DeadIndex
from workkit.web.mask import Signatures, Veil
from workkit.web.recurring_jobs import RecentRuns, RecurringJobs
from workkit.web.works import Checkup, Rail, in_use

SILENT_MS: Final = 5_000
"""A listener sends a heartbeat about every second. One without a heartbeat for this time is silent."""

LATELY: Final = timedelta(hours=1)
MOST_DEATHS: Final = 50


def is_silent(info: ListenerInfo) -> bool:
    """Return whether a listener has sent no heartbeat for a while."""
    return (info.beat_ms or 0) >= SILENT_MS


@dataclass(frozen=True, slots=True, kw_only=True)
class Death:
    """A listener that died: the time of its last heartbeat, and how many jobs it ran."""

    listener: str
    at: datetime
    jobs: int


@dataclass(slots=True, eq=False)
class Deaths:
    """The deaths of one schedule that its pulses have shown. Thread-safe."""

    _lock: Lock = field(default_factory=Lock)
    _silent: dict[str, tuple[ListenerInfo, datetime]] = field(default_factory=dict)
    _found: deque[Death] = field(default_factory=lambda: deque(maxlen=MOST_DEATHS))
    _now_ms: int = 0

    def note(self, pulse: Pulse) -> None:
        """Find listeners that are gone. A silent one that comes back has not died. One that ended normally was never
        silent.
        """
        with self._lock:
            is_whole = pulse.counts.listeners <= len(pulse.listeners)
            if pulse.now_ms <= self._now_ms or not is_whole or "listeners" in pulse.unknown:
                return
            self._now_ms = pulse.now_ms
            here = {info.listener for info in pulse.listeners}
            for name in [*self._silent]:
                info, at = self._silent.pop(name)
                if name not in here:
                    self._found.append(Death(listener=name, at=at, jobs=len(info.running)))
            now = datetime.fromtimestamp(pulse.now_ms / 1000, UTC)
            for info in pulse.listeners:
                if is_silent(info):
                    self._silent[info.listener] = (info, now - timedelta(milliseconds=info.beat_ms or 0))

    def lately(self, now: datetime) -> Sequence[Death]:
        """Return the deaths of the last hour, the last one first."""
        with self._lock:
            return tuple(one for one in reversed(self._found) if now - one.at <= LATELY)


MOST_CHANGES: Final = 2_000  # changes read to find who cancelled a job
STEERED: Final = frozenset({"pause", "resume", "skip", "run", "show", "mark"})  # verbs that do not remove a job
MISSED_FOR: Final = timedelta(days=1)
"""How long a lost job is reported as missed."""

SLACK: Final = timedelta(seconds=5)


@dataclass(frozen=True, slots=True)
class Gone:
    """Recurring jobs that the server no longer has although no change removed them: how many, and when they were last
    seen.
    """

    count: int
    since: datetime


@dataclass(slots=True, eq=False)
class SeenRecurring:
    """The named recurring jobs that this process has seen. Jobs with a limited number of runs end by themselves and are
    not missed.
    """

    gone: Gone | None = None
    _lock: Lock = field(default_factory=Lock)
    _seen: dict[str, tuple[datetime, datetime | None]] = field(default_factory=dict)  # last seen, end

    def note(self, jobs: Iterable[Recurs], now: datetime, changes: Callable[[], Iterable[Change]]) -> None:
        """Compare with the present jobs. `changes`: the last ones first, read where a job is missed. Raises Unsupported
        where changes are not kept; then no job counts as missed.
        """
        here = {
            one.key: (now, one.job.trigger.end if one.job.trigger else None)
            for one in jobs if one.job.name is not None and one.job.terms.count is None
        }  # fmt: skip
        with self._lock:
            missed = {
                key: (seen, end) for key, (seen, end) in self._seen.items()
                if key not in here and now - seen < MISSED_FOR and (end is None or end > now)
            }  # fmt: skip
            self._seen, self.gone = here, None
            if missed:
                since = min(seen for seen, _ in missed.values()) - SLACK
                for change in islice(changes(), MOST_CHANGES):
                    if change.at < since:
                        break
                    if change.verb not in STEERED:
                        for key in [key for key in missed if change.is_about(key)]:
                            del missed[key]
                self._seen |= missed
            if missed:
                self.gone = Gone(len(missed), max(seen for seen, _ in missed.values()))


NAMED_S: Final = 5.0
"""How long an answer is cached that many pages need, in s. For as long again it is still used while a thread reads it
again.
"""

MANY: Final = 1_000
"""Reading more recurring jobs than this is slow, and so are computations about them."""

MANY_S: Final = 20.0
"""How long many recurring jobs are cached, in s. Until `STAYS_S` they are still used while a thread reads them again:
see `Served.spans`.
"""

STAYS_S: Final = 120.0

MOST_KEPT: Final = 100
"""Most answers in the cache; the last ones stay."""

T = TypeVar("T")


@dataclass(frozen=True, slots=True, kw_only=True)
class _Kept:
    """A cached answer: its value, when it was read (monotonic), its key, and the number of acts before it."""

    value: Any
    at: float
    given: object
    acts: int


@dataclass(slots=True, eq=False, kw_only=True)
class Served:
    """One schedule, `s`. `checkup`: the last findings of the doctor; `zone`: the zone of the schedule's times. It notes
    since when the server does not answer. `flags`: the options of a command that name its server and layout.
    Thread-safe.
    """

    s: Schedule
    zone: tzinfo
    checkup: Checkup
    flags: Sequence[str] = ()
    _lock: Lock = field(default_factory=Lock)
    _lost: tuple[float, str] | None = None  # start of the outage (monotonic), and the error
    _fresh: OrderedDict[str, _Kept] = field(default_factory=OrderedDict)
    _refreshed: set[str] = field(default_factory=set)  # keys that a thread reads again now
    _given: local = field(default_factory=local)  # for each thread, the age of the oldest answer that it got
    _acts: int = 0
    recent: RecentRuns = field(default_factory=RecentRuns)
    signatures: Signatures = field(default_factory=Signatures)
    seen: SeenRecurring = field(default_factory=SeenRecurring)
    _learned: float = -math.inf  # time of the last read of the signatures (monotonic)
    _dead: dict[Veil, tuple[int, DeadIndex]] = field(default_factory=dict)  # with the version of the signatures
    _last: dict[str, Any] = field(default_factory=dict)
    shown_age_s: float | None = None  # age of the oldest answer in the last page written
    rail: Rail = field(init=False)
    deaths: Deaths = field(default_factory=Deaths)

    def __post_init__(self) -> None:
        self.rail = Rail(
            counts={
                "recurring": lambda: len(self.inspector().recurring()),
                "limits": lambda: in_use(limits_of(self.s)),
            }
        )

    @property
    def name(self) -> str:
        """The name of the schedule."""
        return self.s.name

    def pause_end(self, until: str) -> datetime:
        """Read the end of a pause, on the clock of the schedule's times. Raises an Invalid."""
        found = pause_until(None, until, tz=zone_name(self.zone), now_ms=epoch_ms(datetime.now(UTC)), warns=False).until
        assert found is not None, "it has an end"
        return found

    def inspector(self) -> Inspector:
        """Return the inspector of the schedule, always the same one."""
        return producer_of(self.s).inspector

    def pulse(self) -> Pulse:
        """Read the pulse, and every few seconds the functions that listeners publish. Update the state kept from both.
        Raises ServerError.
        """
        pulse = self.inspector().pulse()
        self.deaths.note(pulse)
        self.learn()
        return pulse

    def learn(self) -> None:
        """Read the parameter names that listeners publish, every few seconds. They decide which arguments are masked.
        Raises ServerError.
        """
        with self._lock:
            now = time.monotonic()
            if now - self._learned < NAMED_S:
                return
            self._learned = now
        try:
            told = self.inspector().history.knows()
            with self._lock:
                self.signatures.note(told)
        except Unsupported:
            return
        except ServerError:
            self._learned = -math.inf
            raise

    def reached(self) -> None:
        """Note that the server has answered."""
        with self._lock:
            self._lost = None

    def lost(self, error: ServerError) -> None:
        """Note that the server has not answered, or has refused."""
        with self._lock:
            self._lost = (self._lost[0] if self._lost else time.monotonic(), str(error))

    @property
    def away_ms(self) -> int | None:
        """For how long the server has not answered, in ms; None if its last answer came."""
        return None if self._lost is None else int((time.monotonic() - self._lost[0]) * 1000)

    def keep(self, page: str, view: Any) -> None:
        """Keep the last view of a page, to show it while the server is away."""
        self._last[page] = view

    def kept(self, page: str) -> Any:
        """Return the last view of a page, or None."""
        return self._last.get(page)

    def named(self) -> Mapping[str, Named]:
        """Read the jobs that have a name, cached by `fresh`."""
        seconds, stays = self.spans(len(self.before("named", dict) or ()))
        return self.fresh("named", self._read_named, seconds=seconds, stays=stays)

    def _read_named(self) -> Mapping[str, Named]:
        try:
            return producer_of(self.s).plans.named()
        except Unsupported:
            return {}

    def recurring(self, now: datetime, control: Control) -> RecurringJobs:
        """Read the recurring jobs and their last runs under the pauses of a pulse, cached by `fresh`. Raises
        Unsupported.
        """
        before = self.before("recurring", RecurringJobs)
        seconds, stays = self.spans(0 if before is None else len(before.jobs))
        read = partial(self._read_recurring, now)
        return self.fresh("recurring", read, seconds=seconds, stays=stays, given=control)

    def spans(self, count: int, *, seconds: float = MANY_S) -> tuple[float, float]:
        """Return for how many seconds a reading of `count` recurring jobs is fresh, and how old it may become while a
        thread reads it again. With many jobs, a later viewer gets the former reading with its age and does not wait.
        """
        return (seconds, STAYS_S) if count > MANY else (NAMED_S, 2 * NAMED_S)

    def _read_recurring(self, now: datetime) -> RecurringJobs:
        inspector, before = self.inspector(), self.before("recurring", RecurringJobs)
        jobs = tuple(inspector.recurring())
        self.rail.note("recurring", len(jobs))
        with suppress(Unsupported):
            self.seen.note(jobs, now, lambda: inspector.history.changes())
        try:
            found = RecurringJobs(read=now, jobs=jobs, runs=inspector.history.lately([one.key for one in jobs]))
        except Unsupported as error:
            found = RecurringJobs(read=now, jobs=jobs, no_history=str(error))
        if before is not None:
            found.prepare(before, now=now)
        return found

    def fresh(
        self, what: str, read: Callable[[], T], *, seconds: float = NAMED_S, stays: float = 0.0, given: object = None
    ) -> T:
        """Read an answer that is the same for everyone, and cache it for `seconds`. For as long again, and until it is
        `stays` seconds old, callers get it while a thread reads it again; the first caller starts that thread. An
        answer from before an act, or for another `given`, is not used.
        """
        stays = max(stays, seconds * 2)
        with self._lock:
            kept, acts = self._fresh.get(what), self._acts
            age = stays if kept is None else time.monotonic() - kept.at
            if kept is None or kept.acts != acts or kept.given != given or age >= stays:
                kept = None
            is_first = kept is not None and age >= seconds and what not in self._refreshed
            if is_first:
                self._refreshed.add(what)
        if kept is None:
            return self._read(what, read, given, acts)
        self._given.age = max(age, self.oldest_s)
        if is_first:
            arguments = (what, read, given, acts)
            Thread(target=self._read_again, args=arguments, name="workkit-web-fresh", daemon=True).start()
        return cast(T, kept.value)

    def _read(self, what: str, read: Callable[[], T], given: object, acts: int) -> T:
        began = time.monotonic()
        found = read()
        with self._lock:
            self._fresh[what] = _Kept(value=found, at=began, given=given, acts=acts)
            self._fresh.move_to_end(what)
            while len(self._fresh) > MOST_KEPT:
                self._fresh.popitem(last=False)
        return found

    def _read_again(self, what: str, read: Callable[[], T], given: object, acts: int) -> None:
        try:
            self._read(what, read, given, acts)
        except WorkkitError:
            pass  # the next caller waits for the answer, and gets the error
        finally:
            with self._lock:
                self._refreshed.discard(what)

    @property
    def oldest_s(self) -> float:
        """The age of the oldest answer that this thread got since `begin_look`, in seconds."""
        age: float = getattr(self._given, "age", 0.0)
        return age

    def begin_look(self) -> None:
        """Start to record the age of the answers that this thread gets: see `oldest_s`."""
        self._given.age = 0.0

    def before(self, what: str, kind: type[T]) -> T | None:
        """Return the last value that `fresh` kept, however old. Its unchanged parts need not be computed again."""
        kept = self._fresh.get(what)
        return kept.value if kept is not None and isinstance(kept.value, kind) else None

    def dead(self, veil: Veil) -> DeadIndex:
        """Return the index of the dead jobs, masked by one veil. It is read again after listeners publish new parameter
        names.
        """
        told = self.signatures.changes
        with self._lock:
            if veil not in self._dead or self._dead[veil][0] != told:
                self._dead[veil] = (told, DeadIndex(veil, partial(by_time_of, self.s)))
            return self._dead[veil][1]

    def forget(self) -> None:
        """Read again all data that an act may have changed."""
        with self._lock:
            self._acts += 1
