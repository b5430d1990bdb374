"""Unique keys of messages that are published: held for a short time before, for as long as they may wait once they are
confirmed. So a producer that dies in between leaves no key locked for long.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from contextlib import suppress
from typing import Any, Final

from workkit.brokers.hutch.beside.place import Beside
from workkit.brokers.hutch.beside.rows import UNIQUE_MS
from workkit.brokers.hutch.message import UNIQUE, Message
from workkit.errors import ServerError

RESERVED_MS: Final = 60_000


class Reservation:
    """The keys of the messages of one addition. `holders`: for each message the id of the one that holds its key, or
    None where it is published itself.
    """

    def __init__(self, beside: Beside | None, made: Sequence[Message]) -> None:
        """Reserve the keys. Raises ServerUnreachable, ServerRefused."""
        self._beside = beside
        self.holders: list[str | None] = [None] * len(made)
        keyed = [place for place, message in enumerate(made) if UNIQUE in message.headers]
        if keyed and beside is not None:
            args: list[Any] = [RESERVED_MS]
            for place in keyed:
                args += [made[place].headers[UNIQUE], made[place].id]
            for place, holder in zip(keyed, beside.call("reserve", args), strict=True):
                self.holders[place] = holder.decode("utf-8", "replace") or None
        self.fresh = [message for message, holder in zip(made, self.holders, strict=True) if holder is None]

    def doubted(self, places: Collection[int], *, now_ms: int) -> set[int] | None:
        """Look for messages whose confirms are lost: places among `fresh`. Return those that a listener has had; the
        others may be published once more. None: it cannot be made sure of, as one has no key, or Redis is away.
        """
        if self._beside is None or any(UNIQUE not in self.fresh[place].headers for place in places):
            return None
        args: list[Any] = [RESERVED_MS, UNIQUE_MS + max((self.fresh[one].due_ms or 0) - now_ms for one in places)]
        for place in places:
            args += [self.fresh[place].headers[UNIQUE], self.fresh[place].id]
        try:
            answers = self._beside.call("doubt", args)
        except ServerError:
            return None
        return {place for place, answer in zip(places, answers, strict=True) if answer}

    def answered(self, confirmed: Collection[int], refused: Collection[int], *, now_ms: int) -> None:
        """Hold the keys of what was confirmed, and free those of what was refused: places among `fresh`. Others stay
        reserved.
        """
        args: list[Any] = []
        for place, message in enumerate(self.fresh):
            if UNIQUE in message.headers and (place in confirmed or place in refused):
                waits_ms = max(0, (message.due_ms or 0) - now_ms)
                args += [message.headers[UNIQUE], message.id, 0 if place in refused else UNIQUE_MS + waits_ms]
        if args and self._beside is not None:
            with suppress(ServerError):  # the messages are published: an error would have the caller add them again
                self._beside.call("keep", args)
