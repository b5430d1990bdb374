"""Which deliveries of one channel have no answer yet, and how few acknowledgements answer some of them. Pure."""

from __future__ import annotations

from collections.abc import Collection, Iterator


class Unanswered:
    """Delivery tags of one channel in the order of the broker. An acknowledgement may stand for all before it too."""

    def __init__(self) -> None:
        self._tags: dict[int, None] = {}

    def __len__(self) -> int:
        return len(self._tags)

    def add(self, tag: int) -> None:
        """Note a delivery."""
        self._tags[tag] = None

    def drop(self, tag: int) -> None:
        """Forget a delivery that is given back."""
        self._tags.pop(tag, None)

    def acknowledged(self, tags: Collection[int]) -> Iterator[tuple[int, bool]]:
        """Forget these deliveries. Yields a tag for each acknowledgement, and whether it covers all before it."""
        asked = dict.fromkeys(tags)
        last = 0
        for tag in self._tags:
            if tag not in asked:
                break
            last = tag
        for tag in [tag for tag in asked if tag <= last]:
            del asked[tag], self._tags[tag]
        if last:
            yield last, True
        for tag in asked:
            self.drop(tag)
            yield tag, False
