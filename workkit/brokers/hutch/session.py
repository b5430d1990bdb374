"""A listener on its work queues: deliveries become claims, endings become acknowledgements or confirmed copies.

A claim belongs to the channel that delivered it. If the channel is gone, the broker gives the message to another
listener, so all claims of the channel are fenced. Normative: spec/layouts/hutch.md, sections 6 to 8.
"""

from __future__ import annotations

import asyncio
import math
import threading
from collections import Counter, deque
from collections.abc import Collection, Sequence
from contextlib import suppress
from functools import partial
from typing import Any
from uuid import uuid4

from pika.exceptions import ConsumerCancelled

from workkit.brokers.hutch.beside.gate import Gate
from workkit.brokers.hutch.codec import Receipt, as_job, copy_of, read_claim
from workkit.brokers.hutch.message import consumer_tag, received, said_of
from workkit.brokers.hutch.names import DEAD, Names
from workkit.brokers.hutch.topology import dead, takes, work
from workkit.brokers.hutch.wire.channel import Channel
from workkit.brokers.hutch.wire.link import Link, Wire
from workkit.brokers.hutch.wire.outlet import Copies, Outlet
from workkit.clocks import time
from workkit.contract.listener import Claim, Ending, ListenerInfo, Orders, Turn
from workkit.errors import ServerError
from workkit.jobs.admission import Admission
from workkit.jobs.job import Job
from workkit.jobs.names import has_wildcard
from workkit.jobs.outcome import DONE, Released

MOST = 2048  # messages that a listener holds; with short runs each queue may push twice as many
PATIENCE = 1.0  # seconds that a claim waits for messages that are ready
SOON = 0.002  # seconds in which the next message is likely under load
AGAIN = 0.02  # seconds until it asks again whether messages are ready
HOARDED = 2.0  # seconds that a message may wait here for a free thread; then other listeners get it


class Session:
    """One listener. Use it from one thread, the listener's loop, except `wait` and `close`. Each method may raise
    ServerUnreachable or ServerRefused; the next call then connects again.
    """

    def __init__(self, link: Link, outlet: Outlet, *, names: Names, gate: Gate) -> None:
        self._link, self._names, self._gate = link, names, gate
        self._copies = Copies(link, outlet, names=names, declare=self._declared)
        self._jobs: dict[str, str] = {}  # work queue -> job name
        self._limits: dict[str, int] = {}  # work queue -> how many of its messages run at once in this process
        self._served: list[str] = []  # the queues from which this listener consumes
        self._closed: set[str] = set()  # those that the gate closes for now
        self._channel: Channel | None = None
        self._threads = 1
        self._prefetch = 0  # messages that each queue may push; 0: this listener does not consume now
        self._arrived: deque[tuple[Receipt, bool]] = deque()
        self._held: dict[Receipt, Claim] = {}
        self._ends: list[Ending] = []
        self._published = 0  # the first endings with published copies
        self._fenced: list[Claim] = []
        self._refused: list[Claim] = []
        self._news = threading.Event()
        self._pushed = asyncio.Event()  # for the thread of the connection
        self._is_over = False
        self._said: dict[str, Any] = {}  # the description of this listener in the arguments of its consumers
        self.tag = ""

    def register(self, info: ListenerInfo) -> None:
        """Declare the work queues and the dead queue. Raises InvalidFunction for a name that is no routing key."""
        for job in info.serves:
            self._names.check_job(job, consumes=True)
        self._jobs = {self._names.queue(job): job for job in info.serves}
        self._served, self._threads = list(self._jobs), info.threads
        self.tag = f"workkit-{uuid4()}"
        self._said = said_of(info, now_ms=round(time.time() * 1000))
        self._gate.register(info)
        kept = {} if self._gate.name else info.serves  # a Redis keeps limits for all listeners
        self._limits = {self._names.queue(job): one.options.limit for job, one in kept.items() if one.options.limit}
        self._begin()
        self._steer()

    def claim(self, limit: int, *, ends: Sequence[Ending] = ()) -> Turn:
        """Settle endings and take up to `limit` messages: see `Broker.claim`."""
        self._ends += ends
        self._begin()
        self._settle()
        claims = self._take(limit) if limit > 0 else []
        fenced, self._fenced = self._fenced, []
        refused, self._refused = self._refused, []
        wake = 0.0 if claims else self._gate.wake_in_ms
        return Turn(claims=claims, wake_in_ms=wake, refused=refused, fenced=fenced, control=self._gate.news())

    def admit(self, asked: Sequence[tuple[Claim, Admission | None]]) -> Turn:
        """Admit the claims that the gate allows: see `Broker.admit`."""
        turn = self._gate.admit(asked)
        self._held.update((claim.receipt, claim) for claim in turn.claims)
        self._steer()
        return turn

    def beat(self, *, trouble: str | None = None, state: str | None = None, awaited: int = 0) -> Orders:
        """Connect again after a loss; give back messages that waited too long for a thread, or at the gate."""
        self._begin()
        if self._arrived and time.monotonic() - self._arrived[0][0].arrived > HOARDED:
            self._link.run(self._suspend)
        self._ends += self._gate.beat(trouble=trouble, state=state, awaited=awaited)
        self._steer()  # first, so that messages that go back do not return here
        self._settle()
        fenced, self._fenced = self._fenced, []
        return Orders(look=bool(self._arrived) or not self._prefetch, fenced=fenced, control=self._gate.news())

    def wait(self, seconds: float) -> bool:
        """Wait until something has arrived, or the connection is lost."""
        if not self._news.wait(seconds):
            return False
        self._news.clear()
        return not self._is_over

    def reconsider(self) -> None:
        """Consume from all queues again, from the next claim on."""
        self._served, self._prefetch = list(self._jobs), 0
        self._news.set()

    def leave(self) -> None:
        """Stop consuming. Give back all messages that have arrived or are still held."""
        if self._channel is not None and self._channel.closed is None:
            self._link.run(self._suspend)
            self._link.post(self._channel.close)
        self._channel, self._prefetch, self.tag = None, 0, ""
        self._gate.leave()
        self._held.clear()

    def close(self) -> None:
        """End a `wait`."""
        self._is_over = True
        self._news.set()

    def described(self, claim: Claim) -> Job:
        """Show a claim as a Job."""
        return as_job(claim, schedule=self._names.exchange, state="running")

    # The channel.

    def _begin(self) -> None:
        """Open the channel if there is none. This listener loses the messages of the former channel."""
        if self._channel is not None and self._channel.closed is None:
            return
        if self._channel is not None:
            self._fenced += self._gate.lose(self._held.values())
            self._refused += [claim for claim, _ in self._ends if claim.receipt not in self._held]
            self._held.clear()
            self._ends.clear()
            self._published = 0
            self._arrived.clear()
            self._channel, self._prefetch = None, 0
        self._channel = self._link.run(self._opened)

    async def _declared(self, wire: Wire) -> None:
        """Declare all objects again: an operator may have deleted some."""
        wire.known.clear()
        await wire.declare(dead(self._names) + work(self._names, list(self._jobs.values())))

    async def _opened(self, wire: Wire) -> Channel:
        await self._declared(wire)
        wire.on_loss = self._news.set
        channel = await wire.channel()

        def cancelled(frame: Any) -> None:  # the queue was deleted, or its node is gone
            channel.fail(ConsumerCancelled(frame.method))
            channel.raw.close()
            self._news.set()

        channel.raw.add_on_cancel_callback(cancelled)
        return channel

    async def _consume(self, prefetch: int) -> None:
        """Make each queue push up to `prefetch` messages. The limit applies to consumers that begin afterwards."""
        channel = self._channel
        assert channel is not None
        same = {queue for queue, most in self._limits.items() if most <= min(prefetch, self._prefetch)}
        await self._cancel(channel, but=set(map(self._consumer, same)))  # else these queues would push as many again
        last = 0
        for queue in self._open:
            if (tag := self._consumer(queue)) not in channel.raw.consumer_tags:
                if (most := min(prefetch, self._limits.get(queue, prefetch))) != last:
                    await channel.call("basic_qos", prefetch_count=most)
                last, receive = most, self._receiver(channel, queue)
                await channel.call("basic_consume", queue, receive, consumer_tag=tag, arguments=self._said)
        self._prefetch = prefetch

    def _consumer(self, queue: str) -> str:
        return consumer_tag(self.tag, list(self._jobs).index(queue))

    def _receiver(self, channel: Channel, queue: str) -> Any:
        job, delay = self._jobs[queue], f"{self._names.schedule_exchange}."

        def receive(_: Any, method: Any, properties: Any, body: bytes) -> None:
            message, key = received(method, properties, body), method.routing_key
            is_delay = key.startswith(delay) and has_wildcard(job) and not takes(job, message.key)  # a pattern takes it
            if is_delay or key.startswith(DEAD):  # led here by a CC of event, or a wildcard; it is in the dead queue
                channel.raw.basic_ack(method.delivery_tag)
                return
            receipt = Receipt(channel, method.delivery_tag, queue, message, time.monotonic())
            channel.unanswered.add(method.delivery_tag)
            self._arrived.append((receipt, method.redelivered))
            self._pushed.set()
            if not self._news.is_set():  # a check is cheaper than a call of set for each message
                self._news.set()

        return receive

    async def _cancel(self, channel: Channel, *, but: Collection[str] = ()) -> None:
        for tag in list(channel.raw.consumer_tags):
            if tag not in but:
                await channel.call("basic_cancel", tag)

    async def _suspend(self, _: Wire) -> None:
        """Stop consuming, and give back messages that have arrived and not begun."""
        channel = self._channel
        assert channel is not None
        await self._cancel(channel)
        self._prefetch = 0
        while self._arrived:
            channel.give_back(self._arrived.pop()[0].tag)

    @property
    def _open(self) -> list[str]:
        return [queue for queue in self._served if queue not in self._closed]

    @property
    def _hungry(self) -> list[str]:
        """The open queues that may push more: fewer of their messages are here than their limit allows."""
        if not self._limits:
            return self._open
        here = Counter(one.queue for one in (*self._held, *(one for one, _ in self._arrived)))
        return [queue for queue in self._open if here[queue] < self._limits.get(queue, math.inf)]

    def _steer(self) -> None:
        """Stop consuming from queues that the gate closes, and give back their messages that have arrived."""
        before, self._closed = self._closed, self._gate.closed(self._jobs)
        if self._closed - before and self._prefetch:
            self._link.run(self._close)
        if before - self._closed:
            self._prefetch = 0  # the next claim consumes from all open queues
            self._news.set()

    async def _end(self, queues: Collection[str]) -> None:
        """End the consumers of queues, and wait for the answer: only after it their tags are free again."""
        channel = self._channel
        assert channel is not None
        for tag in map(self._consumer, queues):
            if tag in channel.raw.consumer_tags:
                await channel.call("basic_cancel", tag)

    async def _close(self, _: Wire) -> None:
        channel = self._channel
        assert channel is not None
        await self._end(self._closed)
        arrived, self._arrived = self._arrived, deque()
        for receipt, redelivered in arrived:
            if receipt.queue in self._closed:
                channel.give_back(receipt.tag)
            else:
                self._arrived.append((receipt, redelivered))

    async def _fetch(self, wanted: int) -> None:
        """Wait until `wanted` messages have arrived, or no queue has a ready one."""
        channel = self._channel
        assert channel is not None
        until = time.monotonic() + PATIENCE
        while len(self._arrived) < wanted and self._may_come() and time.monotonic() < until:
            self._pushed.clear()
            ready = [await self._ready(channel, queue) for queue in self._hungry]
            await channel.call("basic_qos", prefetch_count=self._prefetch)  # its answer comes after the pushed messages
            if not any(ready):
                return
            with suppress(TimeoutError):  # some are ready: they come, unless another listener gets them
                await asyncio.wait_for(self._pushed.wait(), AGAIN)

    def _may_come(self) -> bool:
        """Return whether the queues may push more before some runs have ended."""
        return len(self._held) + len(self._arrived) < self._prefetch

    async def _expect_long_runs(self) -> None:
        """If no message came, make the queues push few messages: the next runs may be long."""
        if not (self._arrived or self._held) and self._prefetch > self._threads + 1:
            await self._consume(self._threads)

    async def _ready(self, channel: Channel, queue: str) -> int:
        frame = await channel.call("queue_declare", queue, passive=True)
        return int(frame.method.message_count)

    # Claims and endings.

    def _take(self, limit: int) -> list[Claim]:
        """Take messages that waited at the gate and may start now, then new ones."""
        self._gate.ensure()
        granted = self._gate.again(limit)
        self._held.update((claim.receipt, claim) for claim in granted)
        self._steer()
        if len(granted) >= limit:
            return granted
        try:
            return granted + self._fresh(limit - len(granted))
        except ServerError:
            if not granted:
                raise
            return granted  # the next request raises it again

    def _fresh(self, limit: int) -> list[Claim]:
        """Take messages that have arrived. If the queues may push too few, or none is here, ask the queues."""
        needed = min(MOST, len(self._held) + limit)

        async def more(_: Wire) -> None:
            await self._consume(self._wanted(needed))
            await self._fetch(limit)
            await self._expect_long_runs()

        async def first(_: Wire) -> None:
            self._pushed.clear()
            with suppress(TimeoutError):  # under load they come without a request
                await asyncio.wait_for(self._pushed.wait(), SOON)
            await self._fetch(1)
            await self._expect_long_runs()

        if needed > self._prefetch and len(self._arrived) < limit:
            self._link.run(more)
        elif not self._arrived and self._may_come():
            self._link.run(first)
        now_ms = round(time.time() * 1000)
        taken: list[tuple[Receipt, bool]] = []
        while self._arrived and len(taken) < limit:
            taken.append(self._arrived.popleft())
        read = partial(read_claim, names=self._names, now_ms=now_ms, describe=self.described)
        claims = [read(one, self._jobs[one.queue], redelivered=again) for one, again in taken]
        try:
            kept = self._gate.take(claims)
        except ServerError:
            self._arrived.extendleft(reversed(taken))
            with suppress(ServerError):
                self._link.run(self._suspend)  # other listeners may reach their Redis
            raise
        here = {claim.receipt for claim in kept}
        if twins := [(claim, DONE) for claim in claims if claim.receipt not in here]:
            self._link.post(lambda: self._acknowledge(twins))
        claims = kept
        self._held.update((claim.receipt, claim) for claim in claims)
        self._steer()
        if paused := [claim for claim in claims if claim.receipt.queue in self._closed]:
            self._ends += [(claim, Released()) for claim in paused]
            self._settle()
        return [claim for claim in claims if claim.receipt.queue not in self._closed]

    def _wanted(self, needed: int) -> int:
        """Return how many messages each queue may push if the listener needs `needed`. Until runs are known to be
        short: at most one more than there are threads.
        """
        if needed <= self._threads + 1:
            return needed
        ahead = 2 if needed > 2 * self._threads else 1  # runs are short: the next messages are on their way meanwhile
        return ahead << (needed - 1).bit_length()  # in few steps, because each step is a new consumer

    def _settle(self) -> None:
        """Publish the copies of endings, and acknowledge their messages once the copies are confirmed."""
        self._refused += [claim for claim, _ in self._ends if claim.receipt not in self._held]
        self._ends = [end for end in self._ends if end[0].receipt in self._held]
        if not self._ends:
            return
        now_ms = round(time.time() * 1000)
        made = [copy_of(self._names, claim, outcome, now_ms=now_ms) for claim, outcome in self._ends[self._published :]]
        if copies := [copy for copy in made if copy is not None]:
            self._copies.publish(copies)
        self._published = len(self._ends)
        ends = self._ends
        unknown = {claim.receipt.queue for claim, outcome in ends if isinstance(outcome, Released) and outcome.unknown}
        if unknown:
            self._link.run(lambda _: self._end(unknown))  # first, or these queues would push their messages here again
        self._gate.end(ends)
        self._ends, self._published = [], 0
        returned = any(isinstance(outcome, Released) and not outcome.delay_ms for _, outcome in ends)
        if returned and self._prefetch > self._threads + 1:
            self._link.run(self._suspend)  # the runs are long: messages that go back must not return here
        self._link.post(lambda: self._acknowledge(ends))
        for claim, _ in ends:
            del self._held[claim.receipt]
        self._served = [queue for queue in self._served if queue not in unknown]

    def _acknowledge(self, ends: Sequence[Ending]) -> None:
        """Acknowledge messages, or give them back, in the connection's thread. A closed channel needs nothing."""
        done: dict[Channel, list[int]] = {}
        for claim, outcome in ends:
            receipt: Receipt = claim.receipt
            if isinstance(outcome, Released) and not outcome.delay_ms:
                receipt.channel.give_back(receipt.tag)
            else:
                done.setdefault(receipt.channel, []).append(receipt.tag)
        for channel, tags_done in done.items():
            channel.acknowledge(tags_done)
