"""What the rail counts and no pulse tells: the recurring jobs and the limits in use of a schedule."""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from threading import Lock, Thread
from typing import Final

from workkit.contract.broker import Inspector
from workkit.contract.limit_use import LimitUse
from workkit.errors import Unsupported, WorkkitError

FRESH_S: Final = 60.0
"""So long a count stays as it is, where no page has counted meanwhile."""

STAYS_S: Final = 5.0
"""Who looks again after so long stays for a while: a page that is open, not one glance."""


@dataclass(slots=True, eq=False, kw_only=True)
class Rail:
    """Counts of one schedule. Pages note what they have counted; the rest a thread counts, while somebody looks.
    Thread-safe.
    """

    inspector: Callable[[], Inspector]
    stays_s: float = STAYS_S
    _lock: Lock = field(default_factory=Lock)
    _counts: dict[str, tuple[int, float]] = field(default_factory=dict)  # and when they were counted
    _looked: float | None = None  # when somebody first looked since the last count
    _is_counting: bool = False
    _ended: float = -math.inf  # when a thread has last counted

    def note(self, page: str, n: int) -> None:
        """Keep a count that a page has made."""
        with self._lock:
            self._counts[page] = (n, time.monotonic())

    def glance(self) -> Mapping[str, int]:
        """Tell what is known, by page, and wait for nothing."""
        with self._lock:
            now = time.monotonic()
            is_old = any(now - self._counts[page][1] >= FRESH_S if page in self._counts else True for page in COUNTS)
            if is_old and not self._is_counting and now - self._ended >= FRESH_S:
                if self._looked is None or now - self._looked > FRESH_S:
                    self._looked = now
                if now - self._looked >= self.stays_s:
                    self._looked, self._is_counting = None, True
                    Thread(target=self._count, name="workkit-web-rail", daemon=True).start()
            return {page: n for page, (n, _) in self._counts.items()}

    def _count(self) -> None:
        try:
            for page, count in COUNTS.items():
                try:
                    self.note(page, count(self.inspector()))
                except Unsupported:
                    continue
        except WorkkitError:
            pass  # what is known stays
        finally:
            with self._lock:
                self._is_counting, self._ended = False, time.monotonic()


def in_use(limits: list[LimitUse]) -> int:
    """Count the limits that the page lists: without the keys that allow one run and for which nothing waits."""
    return sum(bool(not use.is_alone or use.waiting) for use in limits)


COUNTS: Final[Mapping[str, Callable[[Inspector], int]]] = {
    "recurring": lambda inspector: len(inspector.recurring()),
    "limits": lambda inspector: in_use(inspector.limits()),
}
