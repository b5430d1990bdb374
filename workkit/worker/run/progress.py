"""What runs say of themselves, on its way to where others see it. No thread waits for that: the loop writes the last
words of a run at once where the last were written a second ago or more, else when that second is over.
"""

from __future__ import annotations

import json
import math
import time
from collections.abc import Callable, Collection
from typing import TYPE_CHECKING

from workkit.contract.broker import Broker

if TYPE_CHECKING:
    from workkit.worker.run.current import Run

Said = tuple[float, float] | str

APART = 1.0  # seconds between two writes for one run, and until the words of one that is over go
TOGETHER = 0.05  # seconds between two writes of one schedule, so that many short runs share them


class Words:
    """The last words of one run. `say` is for the threads of its handler, the rest for the loop's."""

    __slots__ = ("_hear", "are_news", "run", "said", "told_at")

    def __init__(self, run: Run, *, hear: Callable[[Words], None]) -> None:
        self.run = run
        self.said: Said = ""
        self.are_news = False  # whether the loop is to hear of them, and knows it
        self.told_at = -math.inf
        self._hear = hear

    def say(self, said: Said) -> None:
        """Keep what was said; the first time since the last write, the loop is told."""
        self.said = said
        if not self.are_news:
            self.are_news = True
            self._hear(self)


class Telling:
    """What the runs of one schedule have said here. For the loop's thread, `words` excepted."""

    def __init__(self, broker: Broker, *, post: Callable[[Callable[[], None]], None]) -> None:
        self.at = math.inf  # when to `tell`, `time.monotonic()` seconds
        self._broker, self._post = broker, post
        self._news: dict[Words, None] = {}
        self._shown: set[Words] = set()
        self._told_at = -math.inf

    def words(self, run: Run) -> Words:
        """What this run says from now on comes here. From any thread."""
        return Words(run, hear=lambda words: self._post(lambda: self._heard(words)))

    def tell(self, running: Collection[Run]) -> None:
        """Write what may be written by now, and take back the words of runs that are over. Raises ServerUnreachable or
        ServerRefused; then nothing is forgotten.
        """
        now = time.monotonic()
        over = [words for words in self._shown if words.run not in running]
        news = [words for words in self._news if words.run in running and words.told_at + APART <= now]
        said: dict[object, str | None] = {words.run.claim.receipt: None for words in over}
        for words in news:
            words.are_news = False  # before reading: what is said from here on is heard of anew
            said[words.run.claim.receipt] = json.dumps(words.said)
        if said:
            self._broker.tell(said)
            self._told_at = now
        self._shown.difference_update(over)
        for words in news:
            words.told_at = now
            self._shown.add(words)
        self._news = {words: None for words in self._news if words.run in running and words.told_at != now}
        self.at = now + APART if self._shown else math.inf
        for words in self._news:
            self._wake(words)

    def _heard(self, words: Words) -> None:
        self._news[words] = None
        self._wake(words)

    def _wake(self, words: Words) -> None:
        self.at = min(self.at, max(words.told_at + APART, self._told_at + TOGETHER))
