"""What was done a short while ago: for the line after an act, and so that a form sent twice acts once."""

from __future__ import annotations

import time
from collections import OrderedDict
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from typing import Final

from workkit.web.actions.action import Result

KEPT_S: Final = 600.0
LONGEST_S: Final = 400 * 86_400.0
SWEEP_S: Final = 60.0
MOST: Final = 10_000


@dataclass(slots=True, eq=False)
class Deeds:
    """Results of acts by session and number: for ten minutes, or as long as an act can be undone that has an end for
    that. A number is held from the beginning of its act on.
    """

    _kept: OrderedDict[tuple[str, str], tuple[float, Result | None]] = field(default_factory=OrderedDict)  # until when
    _sweep_at: float = 0.0

    def is_new(self, session: str, number: str) -> bool:
        """Hold a number; False if it was used before."""
        self._forget()
        if (session, number) in self._kept:
            return False
        self._kept[session, number] = (time.monotonic() + KEPT_S, None)
        return True

    def keep(self, session: str, number: str, result: Result | None, *, now: datetime | None = None) -> None:
        """Keep the result of an act; None: it did not happen, and its number is free again. `now`: the time of it."""
        if result is None:
            self._kept.pop((session, number), None)
        else:
            self._kept[session, number] = (time.monotonic() + _seconds(result, now or datetime.now(UTC)), result)

    def undone(self, session: str, number: str) -> None:
        """Note that an act was undone: it cannot be undone twice."""
        until, result = self._kept.get((session, number), (0.0, None))
        if result is not None:
            self._kept[session, number] = (until, replace(result, undo=()))

    def result(self, session: str, number: str) -> Result | None:
        """Give the result of an act, if it is known and over."""
        self._forget()
        until, result = self._kept.get((session, number), (0.0, None))
        return result if time.monotonic() < until else None

    def _forget(self) -> None:
        now = time.monotonic()
        if now >= self._sweep_at:
            self._sweep_at = now + SWEEP_S
            for one in [one for one, (until, _) in self._kept.items() if until <= now]:
                del self._kept[one]
        while len(self._kept) > MOST:
            self._kept.popitem(last=False)


def _seconds(result: Result, now: datetime) -> float:
    """Say for how long a result is kept: until each act that undoes it has ended, if all of these have an end."""
    ends = [order.until for order in result.undo]
    known = [end for end in ends if end is not None]
    if not known or len(known) < len(ends):
        return KEPT_S
    return min(LONGEST_S, max(KEPT_S, (max(known) - now).total_seconds()))
