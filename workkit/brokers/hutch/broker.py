"""The hutch broker: it publishes jobs to an exchange, and consumes them as one listener."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from workkit.brokers.hutch.address import Address
from workkit.brokers.hutch.codec import check, messages
from workkit.brokers.hutch.link import Link
from workkit.brokers.hutch.message import Message
from workkit.brokers.hutch.names import Names
from workkit.brokers.hutch.outlet import Outlet
from workkit.brokers.hutch.session import Session
from workkit.contract.admin import Admin
from workkit.contract.claim import Claim, Ending, Orders, Turn
from workkit.contract.doctor import Doctor
from workkit.contract.inspector import Inspector
from workkit.contract.listener import ListenerInfo
from workkit.contract.producer import Added, Batch, BatchStep, NewJob
from workkit.errors import InvalidOptions, ServerRefused, Unsupported
from workkit.jobs.admission import Admission


class HutchBroker:
    """One exchange on one broker. Adding is thread-safe; the listener's side is for one thread.

    It publishes by one connection and consumes by another, because a broker that is short of memory stops reading from
    those that publish.
    """

    def __init__(self, address: Address, *, names: Names, patience: float = 10.0) -> None:
        self._names, self._shown = names, address.shown
        self._out = Link(address, name="publish", patience=patience)
        self._in = Link(address, name="consume", patience=patience)
        self._outlet = Outlet(self._out, names=names)
        self._session = Session(self._in, self._outlet, names=names)

    @property
    def schedule(self) -> str:
        """The exchange, as the schedule's name."""
        return self._names.exchange

    @property
    def url(self) -> str:
        """The URL of the broker, without a password."""
        return self._shown

    @property
    def listener(self) -> str:
        """The tag of this listener's consumers; empty before the first registration."""
        return self._session.tag

    @property
    def inspector(self) -> Inspector:
        """Not there yet. Raises Unsupported."""
        raise self._not_yet("looking at jobs")

    @property
    def admin(self) -> Admin:
        """Not there yet. Raises Unsupported."""
        raise self._not_yet("changing jobs, pauses or limits by hand")

    @property
    def doctor(self) -> Doctor:
        """Not there yet. Raises Unsupported."""
        raise self._not_yet("the doctor")

    def now_ms(self) -> int:
        """Tell the time of this machine: AMQP has no clock."""
        return round(time.time() * 1000)

    def check(self, job: NewJob) -> None:
        """Refuse what a message cannot say: see `Producer.check`."""
        check(self._names, job)

    def add(self, jobs: Sequence[NewJob]) -> list[Added]:
        """Publish jobs, and wait until each is confirmed. They are not added in one step."""
        return self.adding(jobs)()

    def adding(self, jobs: Sequence[NewJob], *, step: BatchStep | None = None) -> Callable[[], list[Added]]:
        """Publish jobs, and return a function that waits until each is confirmed. Raises Unsupported for what a message
        cannot say; ServerRefused for a routing key that leads to no queue.
        """
        if step is not None:
            raise self._not_yet("a batch that can be resumed")
        now_ms = self.now_ms()
        made = messages(self._names, jobs, now_ms=now_ms)
        sent = self._outlet.begin(made)

        def answer() -> list[Added]:
            troubles = sent()
            for message, trouble in zip(made, troubles, strict=True):
                if trouble is not None:
                    raise self._refused(message, trouble, sum(one is not None for one in troubles), len(made))
            return [Added(id=message.id, due_ms=message.due_ms, new=True) for message in made]

        return answer

    def begin(self, batch: Batch) -> None:
        """Not there yet. Raises Unsupported."""
        raise self._not_yet("a batch that can be resumed")

    def batch(self, id: str) -> Batch:
        """Not there yet. Raises Unsupported."""
        raise self._not_yet("a batch that can be resumed")

    def contents(self, jobs: Sequence[NewJob]) -> list[str]:
        """Messages have no names. Raises Unsupported."""
        raise self._not_yet("a plan of named jobs")

    def register(self, info: ListenerInfo) -> None:
        """Declare the work queues and consume from them. Raises InvalidOptions where it serves no name, Unsupported for
        limits that AMQP does not keep.
        """
        if not info.serves:
            trouble = "names no job that this listener serves"
            remedy = 'Mark functions with @job("orders.created") in a module given with imports=.'
            raise InvalidOptions.about("imports=", trouble, remedy, where="imports")
        for name, serving in info.serves.items():
            options = serving.options
            if serving.priority != 1:
                where = f'jobs="{name}:{serving.priority}"'
                remedy = f'Write "{name}": each queue pushes its messages by itself.'
                raise Unsupported.about(where, "cannot have a priority here", remedy, where="jobs", given=name)
            for option, value in (
                ("limit", options.limit), ("rate", options.rate_ms), ("limit_key", options.limit_key),
            ):  # fmt: skip
                if value is not None:
                    trouble = "cannot be kept over all listeners by RabbitMQ"
                    remedy = "Leave it out, or name other jobs to serve with jobs=[...]."
                    raise Unsupported.about(f'{option}= of @job("{name}")', trouble, remedy, given=name)
        self._session.register(info)

    def claim(self, limit: int, *, ends: Sequence[Ending] = (), now_ms: int | None = None) -> Turn:
        """Apply endings and take messages. Only those that are due are in the work queues: `now_ms` is refused."""
        if now_ms is not None:
            trouble = "cannot be pretended here: RabbitMQ delays messages by its own clock"
            raise Unsupported.about("now=", trouble, "Leave it out.", where="now")
        return self._session.claim(limit, ends=ends)

    def admit(self, asked: Sequence[tuple[Claim, Admission | None]], *, now_ms: int | None = None) -> Turn:
        """Grant what was asked: there are no limits here."""
        return Turn(claims=[claim for claim, _ in asked])

    def heartbeat(self, *, trouble: str | None = None) -> Orders:
        """Look after the connection; AMQP has heartbeats of its own."""
        return self._session.beat()

    def beating(self, *, trouble: str | None = None) -> Callable[[], Orders]:
        """Look after the connection; the answer is there already."""
        orders = self._session.beat()
        return lambda: orders

    def tell(self, said: Mapping[Any, str | None]) -> None:
        """Keep no progress: nobody could read it."""

    def maintain(self) -> list[tuple[str, int]]:
        """Return nothing: RabbitMQ itself takes back what a dead listener held."""
        return []

    def wait(self, seconds: float) -> bool:
        """Wait for a message that was pushed to this listener: True if one came, False if the time is over."""
        return self._session.wait(seconds)

    def trace_of(self, claim: Claim) -> str | None:
        """Find none: this layout carries no trace context."""
        return None

    def pass_on(self) -> None:
        """Do nothing: RabbitMQ pushes a message to one listener only, and it is given back if it waits too long."""

    def leave(self) -> None:
        """Stop consuming: what still waits here goes back."""
        self._session.leave()

    def close(self) -> None:
        """Close connections, even while a thread waits for a message."""
        self._session.close()
        self._in.close()
        self._out.close()

    def _not_yet(self, what: str) -> Unsupported:
        trouble = f"is something the {self._names.dialect} layout cannot do yet"
        return Unsupported.about(what, trouble, "Use a native schedule for it.")

    def _refused(self, message: Message, trouble: str, bad: int, all_: int) -> ServerRefused:
        where = f'"{message.key}"'
        if trouble == "NO_ROUTE":
            what = f"leads to no queue of exchange {self._names.exchange}: nobody consumes it"
            remedy = "Start a listener for it first, or correct the name."
        else:
            what = f"was not taken by {self._shown} ({trouble})"
            remedy = "Add it again."
        if all_ > 1:
            what += f". Of {all_} messages {bad} {'was' if bad == 1 else 'were'} refused, and the others are published"
        return ServerRefused.about(where, what, remedy, given=message.key)
