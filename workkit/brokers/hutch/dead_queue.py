"""Read the dead queue in pages, from its head, which is its oldest message; have messages run again, or forget them.

A message is found by reading the queue from its head, since AMQP has no other way. Its copy is confirmed before it is
taken out, so a crash in between leaves both. Normative: spec/layouts/hutch.md, section 10.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from workkit.brokers.hutch import compose
from workkit.brokers.hutch.codec import DeadMessage, fingerprint, numbered
from workkit.brokers.hutch.held import MOST_BYTES, Delivery, Held
from workkit.brokers.hutch.message import Message, write_body
from workkit.brokers.hutch.names import Names
from workkit.brokers.hutch.topology import work
from workkit.brokers.hutch.wire.link import Link
from workkit.brokers.hutch.wire.outlet import Outlet
from workkit.clocks import time
from workkit.contract.admin import Arguments, Revival
from workkit.errors import InvalidArguments, ServerRefused
from workkit.jobs.job import Job

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


LOOKS: Final = (0.0, 0.1, 0.4)  # seconds before each look: another program may hold the messages for a moment
NO_ROUTE: Final = "NO_ROUTE"

Act = Callable[[Sequence[tuple[int, Delivery]]], list[Delivery]]
"""What is done to messages that were found, each with its place in the request; returns those to take out."""


@dataclass(frozen=True, slots=True, kw_only=True)
class DeadQueueChange:
    """Changes the dead queue of one exchange."""

    link: Link
    outlet: Outlet
    names: Names

    def retry(self, dead: Sequence[Job], *, args: Arguments | None, delays_ms: Sequence[int]) -> list[Revival]:
        """See `Admin.retry`."""
        other = None if args is None else self._body(args)
        answers: list[Revival] = ["gone"] * len(dead)
        refused: list[ServerRefused] = []

        def revive(found: Sequence[tuple[int, Delivery]]) -> list[Delivery]:
            now_ms = round(time.time() * 1000)
            copies: list[tuple[int, Delivery, Message]] = []
            for place, delivery in found:
                message = DeadMessage(delivery.message)
                if not message.key:
                    answers[place] = "unreadable"
                    continue
                delay_ms = delays_ms[place] if delays_ms else 0
                copy = compose.revived(
                    self.names, delivery.message, key=message.key, queue=message.queue, now_ms=now_ms,
                    delay_ms=delay_ms, body=other,
                )  # fmt: skip
                copies.append((place, delivery, copy))
            troubles = self.outlet.publish([copy for *_, copy in copies]) if copies else []
            taken = []
            for (place, delivery, copy), trouble in zip(copies, troubles, strict=True):
                if trouble is None:
                    answers[place] = "revived"
                    taken.append(delivery)
                elif trouble == NO_ROUTE:
                    answers[place] = "unroutable"
                else:
                    what = f"was not taken ({trouble})"
                    remedy = "It is dead still: retry it."
                    refused.append(ServerRefused.about(f"message {copy.id}", what, remedy, given=copy.id))
            return taken

        self.link.run(lambda wire: wire.declare(work(self.names, [])))  # where copies go to one queue
        self._each(dead, revive)
        if refused:
            raise refused[0]
        return answers

    def discard(self, dead: Sequence[Job]) -> int:
        """See `Admin.discard`."""
        count = 0

        def forget(found: Sequence[tuple[int, Delivery]]) -> list[Delivery]:
            nonlocal count
            count += len(found)
            return [delivery for _, delivery in found]

        self._each(dead, forget)
        return count

    def _each(self, dead: Sequence[Job], act: Act) -> None:
        """Find messages in the queue, and take out those that `act` returns. All others go back to their places."""
        wanted = _wanted(dead)
        for seconds in LOOKS:
            time.sleep(seconds)
            with Held(self.link, self.names.dead_queue) as held:
                while wanted and (page := held.deliveries(PAGE)):
                    found = _found(page, wanted)
                    if found:
                        held.take(act(found))
            if not wanted:
                return

    def _body(self, args: Arguments) -> bytes:
        """Write the body of a new message. Raises InvalidArguments."""
        if isinstance(args, Mapping):
            trouble = "is given by name: a message has one argument, given by position"
            raise InvalidArguments.about(f"args={dict(args)!r}", trouble, "Write a list: [{...}].", where="args")
        if len(args) != 1:
            trouble = "does not fit: a message has one body, which is the one argument of its function"
            raise InvalidArguments.about(f"args={list(args)!r}", trouble, "Write a list of one: [{...}].", where="args")
        return write_body(args[0], needs_object=self.names.dialect == "hutch")


def _wanted(dead: Sequence[Job]) -> dict[str, list[int]]:
    """Map each fingerprint to the places of the request that ask for such a message, the first one last."""
    wanted = defaultdict(list)
    for place, job in reversed([*enumerate(dead)]):
        wanted[(job.dead_id or "").partition(":")[0]].append(place)
    return dict(wanted)


def _found(page: Sequence[Delivery], wanted: dict[str, list[int]]) -> list[tuple[int, Delivery]]:
    """Pick what is wanted, and take it off the list; of equal messages any will do."""
    found = []
    for delivery in page:
        name = fingerprint(delivery.message)
        if name in wanted:
            found.append((wanted[name].pop(), delivery))
            if not wanted[name]:
                del wanted[name]
    return found
