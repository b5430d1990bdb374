"""Adding jobs: reserve their unique keys, publish their messages, and word each answer.

A key is held for a short time before its message is published; once the message is confirmed, for as long as it may
wait. So a producer that dies in between leaves no key locked for long.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from typing import Any, Final

from workkit.brokers.hutch.beside.keys import UNIQUE_MS
from workkit.brokers.hutch.beside.place import Beside
from workkit.brokers.hutch.message import COPY, UNIQUE, Message
from workkit.brokers.hutch.wire.channel import NO_ROUTE, NOT_ACCEPTED
from workkit.brokers.hutch.wire.outlet import Outlet
from workkit.contract.producer import Added
from workkit.errors import ServerError, ServerFull, ServerRefused


class Addition:
    """One request. Creating it starts it. A call waits for the answers; a call that raised an error may be repeated."""

    def __init__(
        self, outlet: Outlet, made: Sequence[Message], *, beside: Beside | None, exchange: str, shown: str, now_ms: int
    ) -> None:
        """Publish the messages with free unique keys. Raises ServerUnreachable, ServerRefused."""
        self._made, self._exchange, self._shown, self._now_ms = made, exchange, shown, now_ms
        try:
            self._reserved = Reservation(beside, made)
            self._places = [place for place, holder in enumerate(self._reserved.holders) if holder is None]
            self._sent = outlet.begin(self._reserved.fresh)
        except ServerError as error:
            error.added, error.unanswered = frozenset(), False
            raise self._told(error) from error.__cause__

    def __call__(self) -> list[Added]:
        """Wait for the answers. Raises ServerRefused with `added` and `refused`, ServerUnreachable."""
        try:
            self._sent_surely()
        except ServerError as error:
            free = {*self._sent.refused, *self._sent.unsent}
            self._reserved.answered(self._sent.confirmed, free, now_ms=self._now_ms)
            error.added, error.refused = self._added, self._refused
            error.unanswered = bool(self._sent.doubtful)
            raise self._told(error) from error.__cause__
        self._reserved.answered(self._sent.confirmed, self._sent.refused, now_ms=self._now_ms)
        if refused := self._refused:
            raise self._not_all(refused)
        return [
            Added(id=message.id, due_ms=message.due_ms, new=True)
            if holder is None
            else Added(id=holder, due_ms=None, new=False)
            for message, holder in zip(self._made, self._reserved.holders, strict=True)
        ]

    def _sent_surely(self) -> None:
        """Wait for the answers. If a connection is lost, check the messages with a unique key in the Redis beside once:
        either a listener has had the message, or it is published again, and listeners drop the second copy.
        """
        try:
            self._sent()
        except ServerError:
            doubtful = self._sent.doubtful
            taken = self._reserved.doubted(doubtful, now_ms=self._now_ms) if doubtful else None
            if taken is None:
                raise
            self._sent.settle(taken, again=lambda one: replace(one, headers={**one.headers, COPY: 1}))
            self._sent()

    def _told(self, error: ServerError) -> ServerError:
        """Add to the error whether the one job of a request was sent. For the rows of a bulk the caller adds it."""
        if len(self._made) == 1 and not error.refused:
            fate = "RabbitMQ may have the job, or not: added again, it may run twice"
            if not error.unanswered:
                fate = "The job was not sent"
            error.args = (f"{error} {fate}.",)
        return error

    @property
    def _added(self) -> frozenset[int]:
        """The places of the existing jobs: their messages are confirmed, or other messages hold their keys."""
        held = (place for place, holder in enumerate(self._reserved.holders) if holder is not None)
        return frozenset((*held, *(self._places[sent] for sent in self._sent.confirmed)))

    @property
    def _refused(self) -> dict[int, ServerRefused]:
        """The errors of refused messages, by place. ServerFull: the broker may take the message later."""
        refused = ((self._places[sent], trouble) for sent, trouble in self._sent.refused.items())
        return {place: self._worded(self._made[place], trouble) for place, trouble in refused}

    def _worded(self, message: Message, trouble: str) -> ServerRefused:
        where = f'"{message.key}"'
        if trouble == NO_ROUTE:
            what = f"leads to no queue of exchange {self._exchange}: nobody consumes it"
            remedy = "Start a listener for it first, or correct the name."
            return ServerRefused.about(where, what, remedy, given=message.key)
        if trouble == NOT_ACCEPTED:
            what = f"was not taken by {self._shown}: a queue of this key is full, or the broker fails"
            return ServerFull.about(where, what, "Add it again.", given=message.key)
        what, remedy = f"was refused by {self._shown}: {trouble}", "Correct it, or ask for the permission."
        return ServerRefused.about(where, what, remedy, given=message.key)

    def _not_all(self, refused: Mapping[int, ServerRefused]) -> ServerRefused:
        """Make the error of a request: the error of the first refused message, and the number of refused messages."""
        error, added = refused[min(refused)], self._added
        if added or len(refused) > 1:
            many = f"{len(refused)} {'was' if len(refused) == 1 else 'were'} refused, and the others are published"
            trouble = f"{error.trouble}. Of {len(added) + len(refused)} messages {many}"
            error = type(error).about(error.where or "", trouble, error.remedy, given=error.given)
        error.added, error.refused = added, refused
        return error


RESERVED_MS: Final = 60_000


class Reservation:
    """The keys of the messages of one addition. `holders`: for each message the id of the message that holds its key,
    or None if it is published itself.
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
        """Look for messages with lost confirms: places among `fresh`. Return those that a listener has had; the others
        may be published once more. None: this cannot be decided, because a message has no key, or Redis does not
        answer.
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
        """Hold the keys of confirmed messages, and free the keys of refused ones: places among `fresh`. Other keys stay
        reserved.
        """
        args: list[Any] = []
        for place, message in enumerate(self.fresh):
            if UNIQUE in message.headers and (place in confirmed or place in refused):
                waits_ms = max(0, (message.due_ms or 0) - now_ms)
                args += [message.headers[UNIQUE], message.id, 0 if place in refused else UNIQUE_MS + waits_ms]
        if args and self._beside is not None:
            with suppress(ServerError):  # the messages are published: after an error the caller would add them again
                self._beside.call("keep", args)
