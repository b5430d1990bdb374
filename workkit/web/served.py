"""A schedule as the web shows it: how it is reached, and what was learned of it that no page has to ask again."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from datetime import tzinfo
from threading import Lock
from typing import Any, Final, TypeVar, cast

from workkit.contract.inspector import Inspector, Named
from workkit.errors import ServerError, Unsupported
from workkit.web.acts.verbs import Verbs
from workkit.web.checkup import Checkup
from workkit.web.dead.index import DeadIndex
from workkit.web.recurring.rows import Standing
from workkit.web.veil import Veil

NAMED_S: Final = 5.0
"""So long the jobs with names are kept: reading all of them takes a while where there are thousands."""

T = TypeVar("T")


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
    _fresh: dict[str, tuple[float, Any]] = field(default_factory=dict)
    _dead: dict[Veil, DeadIndex] = field(default_factory=dict)
    _last: dict[str, Any] = field(default_factory=dict)

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
        """Read the jobs that have a name; what was read less than 5 s ago is not read again."""
        return self.fresh("named", self._read_named)

    def _read_named(self) -> Mapping[str, Named]:
        try:
            return self.inspector().named()
        except Unsupported:
            return {}

    def recurring(self) -> Standing:
        """Read the recurring jobs and their last runs; what was read less than 5 s ago is not read again. Raises
        Unsupported.
        """
        return self.fresh("recurring", self._read_recurring)

    def _read_recurring(self) -> Standing:
        inspector = self.inspector()
        jobs = tuple(inspector.recurring())
        try:
            return Standing(jobs=jobs, runs=inspector.lately([one.key for one in jobs]))
        except Unsupported as error:
            return Standing(jobs=jobs, no_history=str(error))

    def fresh(self, what: str, read: Callable[[], T], *, seconds: float = NAMED_S) -> T:
        """Read what is the same for everyone; what was read less than so many seconds ago is not read again. `what`
        names one of a few things: all are kept.
        """
        kept = self._fresh.get(what)
        if kept is not None and time.monotonic() - kept[0] < seconds:
            return cast(T, kept[1])
        found = read()
        self._fresh[what] = (time.monotonic(), found)
        return found

    def dead(self, veil: Veil) -> DeadIndex:
        """Give the index of the dead jobs, as one veil shows them."""
        with self._lock:
            return self._dead.setdefault(veil, DeadIndex(veil))

    def forget(self) -> None:
        """Read again what an act may have changed."""
        with self._lock:
            self._fresh.clear()
