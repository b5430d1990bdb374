"""Read the dead queue in pages, from its head, which is its oldest message."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final

from workkit.brokers.hutch.look.dead_message import DeadMessage, numbered
from workkit.brokers.hutch.look.held import MOST_BYTES, Held
from workkit.brokers.hutch.names import Names
from workkit.brokers.hutch.wire.link import Link

FIRST: Final = 500  # messages of the first reading
PAGE: Final = 2000  # messages that are asked for at once
GROWTH: Final = 4  # how much further each reading goes


@dataclass(frozen=True, slots=True, kw_only=True)
class DeadQueue:
    """The dead queue of one exchange."""

    link: Link
    names: Names

    def messages(self) -> Iterator[DeadMessage]:
        """Page through the dead messages, oldest first.

        Nothing is held while the caller looks at a page. So each reading begins at the head again, and goes four times
        as far as the one before. What comes or goes meanwhile may be left out.
        """
        shown: set[str] = set()
        most, most_bytes = FIRST, MOST_BYTES
        while True:
            fresh, is_all = self._first(most, most_bytes, shown)
            shown.update(one.mark for one in fresh)
            yield from fresh
            if is_all:
                return
            most, most_bytes = most * GROWTH, most_bytes * GROWTH

    def _first(self, most: int, most_bytes: int, shown: set[str]) -> tuple[list[DeadMessage], bool]:
        """Read so many messages, and give them back; return those not shown before, and whether there are no more."""
        found: list[DeadMessage] = []
        seen: Counter[str] = Counter()
        count = size = 0
        with Held(self.link, self.names.dead_queue) as held:
            while count < most and size < most_bytes:
                page = held.more(min(PAGE, most - count))
                if not page:
                    return found, True
                count, size = count + len(page), size + sum(len(message.body) for message in page)
                found += (one for one in numbered(page, seen) if one.mark not in shown)
        return found, False
