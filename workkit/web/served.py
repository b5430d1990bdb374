"""A schedule as the web shows it: how it is reached, and what was learned of it that no page has to ask again."""

from __future__ import annotations

import time
from collections import OrderedDict
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from datetime import datetime, tzinfo
from functools import partial
from threading import Lock, Thread, local
from typing import Any, Final, TypeVar, cast

from workkit.contract.broker import Inspector
from workkit.contract.inspector import Named
from workkit.errors import ServerError, Unsupported, WorkkitError
from workkit.jobs.admission import Control
from workkit.web.acts.verbs import Verbs
from workkit.web.background.checkup import Checkup
from workkit.web.background.deaths import Deaths
from workkit.web.background.rail import Rail
from workkit.web.dead.index import DeadIndex
from workkit.web.hiding.veil import Veil
from workkit.web.recurring.recent_runs import RecentRuns
from workkit.web.recurring.rows import Standing

NAMED_S: Final = 5.0
"""So long what takes a while to read is kept, as the jobs with names where there are thousands; and once more so long
while it is read again.
"""

MANY: Final = 1_000
"""More recurring jobs than these take a while to be read, and so does what is found out about them."""

MANY_S: Final = 20.0
"""So long these are kept, and given while they are read again for `STAYS_S` at most: see `Served.spans`."""

STAYS_S: Final = 120.0

MOST_KEPT: Final = 100
"""So many things that were read are kept, the last ones."""

T = TypeVar("T")


@dataclass(frozen=True, slots=True, kw_only=True)
class _Kept:
    """What was read, when (monotonic), for what, and after how many acts."""

    value: Any
    at: float
    given: object
    acts: int


@dataclass(slots=True, eq=False, kw_only=True)
class Served:
    """One schedule. `inspector` opens what looks at it, at the first question; `checkup` is what the doctor last found;
    `zone` is that of its times. It notes since when the server does not answer. Thread-safe.
    """

    name: str
    zone: tzinfo
    inspector: Callable[[], Inspector]
    checkup: Checkup
    verbs: Verbs | None = None
    _lock: Lock = field(default_factory=Lock)
    _lost: tuple[float, str] | None = None  # since when (monotonic), and the error
    _fresh: OrderedDict[str, _Kept] = field(default_factory=OrderedDict)
    _refreshed: set[str] = field(default_factory=set)  # what a thread reads again
    _given: local = field(default_factory=local)  # of each thread: how old the oldest is that it was given
    _acts: int = 0
    recent: RecentRuns = field(default_factory=RecentRuns)
    _dead: dict[Veil, DeadIndex] = field(default_factory=dict)
    _last: dict[str, Any] = field(default_factory=dict)
    rail: Rail = field(init=False)
    deaths: Deaths = field(default_factory=Deaths)

    def __post_init__(self) -> None:
        self.rail = Rail(inspector=lambda: self.inspector())

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
        """For how long the server has not answered; None if it did the last time."""
        return None if self._lost is None else int((time.monotonic() - self._lost[0]) * 1000)

    def keep(self, page: str, view: Any) -> None:
        """Keep the last view of a page, to be shown while the server is away."""
        self._last[page] = view

    def kept(self, page: str) -> Any:
        """Give the last view of a page, or None."""
        return self._last.get(page)

    def named(self) -> Mapping[str, Named]:
        """Read the jobs that have a name, kept as `fresh` keeps."""
        seconds, stays = self.spans(len(self.before("named", dict) or ()))
        return self.fresh("named", self._read_named, seconds=seconds, stays=stays)

    def _read_named(self) -> Mapping[str, Named]:
        try:
            return self.inspector().named()
        except Unsupported:
            return {}

    def recurring(self, now: datetime, control: Control) -> Standing:
        """Read the recurring jobs and their last runs under the pauses of a pulse, kept as `fresh` keeps. Raises
        Unsupported.
        """
        before = self.before("recurring", Standing)
        seconds, stays = self.spans(0 if before is None else len(before.jobs))
        read = partial(self._read_recurring, now)
        return self.fresh("recurring", read, seconds=seconds, stays=stays, given=control)

    def spans(self, count: int, *, seconds: float = MANY_S) -> tuple[float, float]:
        """Say how long what was read of so many recurring jobs is kept, in seconds, and how old it may be while it is
        read again: where they are many, who comes after a while gets what was, and its age, and does not wait.
        """
        return (seconds, STAYS_S) if count > MANY else (NAMED_S, 2 * NAMED_S)

    def _read_recurring(self, now: datetime) -> Standing:
        inspector, before = self.inspector(), self.before("recurring", Standing)
        jobs = tuple(inspector.recurring())
        self.rail.note("recurring", len(jobs))
        try:
            found = Standing(read=now, jobs=jobs, runs=inspector.history.lately([one.key for one in jobs]))
        except Unsupported as error:
            found = Standing(read=now, jobs=jobs, no_history=str(error))
        if before is not None:
            found.prepare(before, now=now)
        return found

    def fresh(
        self, what: str, read: Callable[[], T], *, seconds: float = NAMED_S, stays: float = 0.0, given: object = None
    ) -> T:
        """Read what is the same for everyone, and keep it for so many seconds. In as many that follow, and until it is
        `stays` seconds old, the first who asks has it read again by a thread, and what is kept is given meanwhile. What
        was read before an act, or for something else that was `given`, is not.
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
            pass  # who asks later waits for it, and is told
        finally:
            with self._lock:
                self._refreshed.discard(what)

    @property
    def oldest_s(self) -> float:
        """How old the oldest is that this thread was given since `begin_look`, in seconds."""
        age: float = getattr(self._given, "age", 0.0)
        return age

    def begin_look(self) -> None:
        """Reckon the age of what this thread is given from now on: see `oldest_s`."""
        self._given.age = 0.0

    def before(self, what: str, kind: type[T]) -> T | None:
        """Give what `fresh` kept last, however old it is: what has not changed since need not be made again."""
        kept = self._fresh.get(what)
        return kept.value if kept is not None and isinstance(kept.value, kind) else None

    def dead(self, veil: Veil) -> DeadIndex:
        """Give the index of the dead jobs, as one veil shows them."""
        with self._lock:
            return self._dead.setdefault(veil, DeadIndex(veil))

    def forget(self) -> None:
        """Read again what an act may have changed."""
        with self._lock:
            self._acts += 1
