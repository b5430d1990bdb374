"""Look at the messages of our delays, and take some of them out: from the highest step down, as they move. Look also at
the first messages of work queues, which are due; each is given back at once.

The steps are quorum queues, which keep the time that is left of a message that is given back. Normative:
spec/layouts/hutch.md, section 10.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from datetime import UTC, datetime
from itertools import takewhile
from typing import Final

from pika.exceptions import ChannelClosedByBroker

from workkit.brokers.hutch import compose
from workkit.brokers.hutch.held import MOST, Delivery, Held
from workkit.brokers.hutch.known import depths
from workkit.brokers.hutch.message import ERROR, Message, read_body, text, whole
from workkit.brokers.hutch.names import Names
from workkit.brokers.hutch.topology import STEPS, ladder
from workkit.brokers.hutch.wire.link import Link, Wire
from workkit.brokers.hutch.wire.outlet import Outlet
from workkit.brokers.hutch.wire.refusal import LOCKED
from workkit.errors import CorruptRecord, ServerError, ServerRefused
from workkit.jobs.job import Job, JobState

MOST_LOOKS: Final = 16
"""How often a message is given back. RabbitMQ 4 moves one on that came back 20 times, long before its time."""
OTHERS: Final = 5.0  # seconds in which another program may end its look
AGAIN: Final = 0.2  # seconds until the next try


@dataclass(frozen=True, slots=True, kw_only=True)
class Delayed:
    """The delayed messages of one exchange that workkit has published."""

    link: Link
    outlet: Outlet
    names: Names

    def jobs(self) -> list[Job]:
        """List them, soonest first, also those that come again. Equal additions of one id are one job."""
        found: dict[tuple[str, str | None], Job] = {}

        def seen(message: Message) -> bool:
            job = shown_job(message, schedule=self.names.exchange, state="waiting", queue=message.queue)
            found[message.id, message.queue] = job
            return False

        self.take(seen)
        return sorted(found.values(), key=lambda job: job.due.timestamp() if job.due else 0.0)

    def take(self, is_meant: Callable[[Message], bool]) -> list[Message]:
        """Show each message to `is_meant`, take out those of which it returns True, and return them. All others go back
        with the time that is left to them. A message that moves meanwhile may be shown twice, or not at all. Of more
        than 30 that are meant, some may come back: call it until there are none.
        """
        taken: list[Message] = []
        steps = [queue.name for queue in ladder(self.names).queues[:STEPS]]
        with self._alone():
            for queue in reversed(depths(self.link, steps, until_missing=True)):
                with Held(self.link, queue, is_quorum=True) as held:
                    page = held.deliveries(MOST)
                    if found := [one for one in page if is_meant(one.message)]:
                        held.take(found)
                        taken += [one.message for one in found]
                    else:
                        self._renew(held, page)
        return taken

    def _renew(self, held: Held, page: Sequence[Delivery]) -> None:
        """Replace what was given back often by copies, which are confirmed before it is taken out: all from the head of
        the queue on, as every look begins there.
        """
        counts = [whole(one.message.headers.get("x-delivery-count")) or 0 for one in page]
        old = page[: max((n for n, count in enumerate(counts, 1) if count >= MOST_LOOKS), default=0)]
        if not old:
            return
        now_ms = round(time.time() * 1000)
        copies = [compose.delayed_again(self.names, one.message, now_ms=now_ms) for one in old]
        troubles = self.outlet.publish(copies)
        done = list(takewhile(lambda pair: pair[1] is None, zip(old, troubles, strict=True)))
        held.take([one for one, _ in done], is_head=True)

    @contextmanager
    def _alone(self) -> Iterator[None]:
        """Keep others from looking meanwhile: of two who give messages back at once, one changes their order. A queue
        that belongs to this connection tells the others, and is gone when the connection is. Raises ServerRefused.
        """
        name = f"{self.names.exchange}_workkit_delay_reader"
        with self.link.alone:
            self.link.run(lambda wire: _locked(wire, name))
            try:
                yield
            finally:
                with suppress(ServerError):
                    self.link.run(lambda wire: _unlocked(wire, name))


async def _locked(wire: Wire, name: str) -> None:
    until = time.monotonic() + OTHERS
    while True:
        channel = await wire.channel()
        try:
            await channel.call("queue_declare", name, exclusive=True)
            return
        except ChannelClosedByBroker as error:
            if error.reply_code != LOCKED:
                raise
            if time.monotonic() > until:
                trouble = "are looked at by another program"
                raise ServerRefused.about("delayed messages", trouble, "Try again.") from error
        finally:
            channel.close()
        await asyncio.sleep(AGAIN)


async def _unlocked(wire: Wire, name: str) -> None:
    channel = await wire.channel()
    await channel.call("queue_delete", name)
    channel.close()


MOST_DUE: Final = 100  # messages of each queue; listeners do not get them for that moment


@dataclass(frozen=True, slots=True, kw_only=True)
class DueMessages:
    """What is due in one exchange."""

    link: Link
    schedule: str

    def jobs(self, queues: Iterable[str]) -> Iterator[Job]:
        """Read the first messages of these queues, soonest first."""
        found = [
            shown_job(message, schedule=self.schedule, state="due", queue=queue)
            for queue in queues
            for message in self._head(queue)
        ]
        yield from sorted(found, key=lambda job: job.due.timestamp() if job.due else 0.0)

    def _head(self, queue: str) -> list[Message]:
        with Held(self.link, queue) as held:
            return held.more(MOST_DUE)


def shown_job(message: Message, *, schedule: str, state: JobState, queue: str | None) -> Job:
    """Show a message as a Job. Never raises: what cannot be read is left out."""
    args: tuple[object, ...] = ()
    error = text(message.headers.get(ERROR)) if message.is_private else ""
    try:
        args = (read_body(message.body, "event"),)  # any JSON: it is shown, not run
    except CorruptRecord as unread:
        error = error or str(unread)
    due_ms = message.due_ms
    return Job(
        id=message.id,
        schedule=schedule,
        fn=message.key,
        args=args,
        due=None if due_ms is None else datetime.fromtimestamp(due_ms / 1000, UTC),
        state=state,
        attempt=message.attempt,
        error=error or None,
        queue=queue,
        options=message.options,
    )
