"""What was done a short while ago: for the line after an act, and so that a form sent twice acts once."""

from __future__ import annotations

import time
from collections import OrderedDict
from dataclasses import dataclass, field
from typing import Final

from workkit.web.acts.act import Result

KEPT_S: Final = 600.0
MOST: Final = 10_000


@dataclass(slots=True, eq=False)
class Deeds:
    """Results of acts by session and number, for ten minutes. A number is held from the beginning of its act on."""

    _kept: OrderedDict[tuple[str, str], tuple[float, Result | None]] = field(default_factory=OrderedDict)

    def is_new(self, session: str, number: str) -> bool:
        """Hold a number; False if it was used before."""
        self._forget()
        if (session, number) in self._kept:
            return False
        self._kept[session, number] = (time.monotonic(), None)
        return True

    def keep(self, session: str, number: str, result: Result | None) -> None:
        """Keep the result of an act; None: it did not happen, and its number is free again."""
        if result is None:
            self._kept.pop((session, number), None)
        else:
            self._kept[session, number] = (time.monotonic(), result)

    def result(self, session: str, number: str) -> Result | None:
        """Give the result of an act, if it is known and over."""
        self._forget()
        return self._kept.get((session, number), (0.0, None))[1]

    def _forget(self) -> None:
        now = time.monotonic()
        while self._kept:
            oldest = next(iter(self._kept))
            if len(self._kept) <= MOST and now - self._kept[oldest][0] < KEPT_S:
                return
            del self._kept[oldest]
