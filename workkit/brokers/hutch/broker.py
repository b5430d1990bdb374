"""The hutch broker: it publishes jobs to an exchange, and consumes them as one listener."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any, NoReturn

from workkit.brokers.hutch.addition import Addition
from workkit.brokers.hutch.address import Address, Site, read_site
from workkit.brokers.hutch.admin import HutchAdmin
from workkit.brokers.hutch.beside.doctor import BesideDoctor
from workkit.brokers.hutch.beside.gate import Gate
from workkit.brokers.hutch.beside.guard import RedisGate
from workkit.brokers.hutch.beside.place import Beside
from workkit.brokers.hutch.codec import check, messages, needs_redis
from workkit.brokers.hutch.doctor import HutchDoctor
from workkit.brokers.hutch.held import Delayed
from workkit.brokers.hutch.inspector import HutchInspector
from workkit.brokers.hutch.management_api import Management
from workkit.brokers.hutch.names import Names
from workkit.brokers.hutch.session import Session
from workkit.brokers.hutch.wire.link import Link
from workkit.brokers.hutch.wire.outlet import Outlet
from workkit.clocks import time
from workkit.contract.broker import Admin, Doctor
from workkit.contract.history import refuse_native
from workkit.contract.listener import Claim, Ending, ListenerInfo, Orders, Turn
from workkit.contract.producer import Added, BulkPlace, BulkStep, NewJob
from workkit.errors import InvalidOptions, Unsupported
from workkit.jobs.admission import Admission
from workkit.jobs.names import is_consumed
from workkit.tracing import TraceContext


class HutchBroker:
    """One exchange on one broker. Adding is thread-safe; the listener's methods are for one thread.

    It publishes by one connection and consumes by another, because a broker that is short of memory stops reading from
    connections that publish. A third connection serves readers of queues, checks, and changes of the dead queue.
    """

    is_on_test_clock = False
    count = None  # an exchange has no place for counts of runs

    def __init__(
        self,
        address: Address,
        *,
        names: Names,
        site: Site | None = None,
        patience: float = 10.0,
        beside: Beside | None = None,
    ) -> None:
        self._names, self._shown, self._beside = names, address.shown, beside
        self._management = Management(site=site or read_site("", address), vhost=address.vhost, patience=patience / 2)
        self._out = Link(address, name="publish", patience=patience)
        self._in = Link(address, name="consume", patience=patience)
        self._aside = Link(address, name="aside", patience=patience)
        self._outlet = Outlet(self._out, names=names)
        self._delayed = Delayed(link=self._aside, outlet=self._outlet, names=names)
        self._inspector = HutchInspector(
            link=self._aside, names=names, management=self._management, delayed=self._delayed, beside=beside
        )
        self._gate = Gate()
        if beside is not None:
            self._gate = RedisGate(beside, namespace=names.namespace, lease_ms=round(patience * 500))
        self._session = Session(self._in, self._outlet, names=names, gate=self._gate)

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
        """The name in the Redis beside, else the tag of its consumers; empty before the first registration."""
        return self._gate.name or self._session.tag

    @property
    def inspector(self) -> HutchInspector:
        """The inspector of the queues, their messages, and the Redis beside."""
        return self._inspector

    @property
    def admin(self) -> Admin:
        """The admin, which changes the dead queue and cancels delayed messages; with a Redis beside also pauses and
        limits.
        """
        return HutchAdmin(
            link=self._aside, outlet=self._outlet, names=self._names, delayed=self._delayed, beside=self._beside
        )

    @property
    def doctor(self) -> Doctor:
        """The doctor, which checks an exchange and repairs it."""
        beside = None if self._beside is None else BesideDoctor(beside=self._beside, exchange=self._names.exchange)
        return HutchDoctor(link=self._aside, management=self._management, names=self._names, beside=beside)

    def now_ms(self) -> int:
        """Return the time of this machine in epoch ms: AMQP has no clock."""
        return round(time.time() * 1000)

    def check(self, job: NewJob) -> None:
        """Refuse a job that a message cannot carry: see `Producer.check`."""
        check(self._names, job, has_redis=self._beside is not None)

    def adding(self, jobs: Sequence[NewJob], *, step: BulkStep | None = None) -> Callable[[], list[Added]]:
        """Publish jobs, and return a function that waits until each is confirmed. They are not added in one step.
        Raises Unsupported for a job that a message cannot carry; ServerRefused for a routing key that leads to no
        queue.
        """
        if step is not None:
            raise self._no_batch()
        now_ms = self.now_ms()
        made = messages(self._names, jobs, now_ms=now_ms, has_redis=self._beside is not None)
        return Addition(
            self._outlet, made, beside=self._beside, exchange=self._names.exchange, shown=self._shown, now_ms=now_ms
        )

    def batch(self, which: str | BulkPlace) -> BulkPlace:
        """Raise Unsupported: no bulk is kept."""
        raise self._no_batch()

    @property
    def plans(self) -> NoReturn:
        """Raise Unsupported: messages have no names."""
        trouble = f"is something the {self._names.dialect} layout cannot do yet"
        raise Unsupported.about("a plan of named jobs", trouble, "Use a native schedule for it.")

    def register(self, info: ListenerInfo) -> None:
        """Declare the work queues and consume from them. Raises InvalidOptions if it serves no name, Unsupported for
        limits that AMQP does not keep.
        """
        serves = {name: one for name, one in info.serves.items() if is_consumed(name)}  # not names of other layouts
        info = replace(info, serves=serves)
        if not info.serves:
            trouble = "names no job that this listener serves"
            remedy = (
                'Mark functions with @job("orders.created") in a module given with imports=, '
                'or name one: consumers={"orders.created": "app.orders:on_created"}.'
            )
            raise InvalidOptions.about("imports=", trouble, remedy, where="imports")
        for name, serving in info.serves.items():
            options = serving.options
            refuse_native(options, f' of @job("{name}")')
            if serving.priority != 1:
                where = f'jobs="{name}:{serving.priority}"'
                remedy = f'Write "{name}": each queue pushes its messages by itself.'
                raise Unsupported.about(where, "cannot have a priority here", remedy, where="jobs", given=name)
            for option, value in (("rate", options.rate_ms), ("limit_key", options.limit_key)):
                if value is not None and self._beside is None:
                    raise needs_redis(f'{option}= of @job("{name}")', given=name)
        self._session.register(info)

    def claim(self, limit: int, *, ends: Sequence[Ending] = (), now_ms: int | None = None) -> Turn:
        """Apply endings and take messages. `now_ms` is refused, because the work queues have due messages only."""
        if now_ms is not None:
            trouble = "cannot be pretended here: RabbitMQ delays messages by its own clock"
            raise Unsupported.about("now=", trouble, "Leave it out.", where="now")
        return self._session.claim(limit, ends=ends)

    def admit(self, asked: Sequence[tuple[Claim, Admission | None]], *, now_ms: int | None = None) -> Turn:
        """Take slots and turns of rates if a Redis is beside: see `Broker.admit`."""
        return self._session.admit(asked)

    def beating(
        self, *, trouble: str | None = None, state: str | None = None, awaited: int = 0
    ) -> Callable[[], Orders]:
        """Check the connection, and send a heartbeat to the Redis beside; AMQP has heartbeats of its own. The returned
        function answers at once.
        """
        orders = self._session.beat(trouble=trouble, state=state, awaited=awaited)
        return lambda: orders

    def tell(self, said: Mapping[Any, str | None], logs: Sequence[tuple[Claim, str]] = ()) -> None:
        """Store the progress of runs in the Redis beside; without one, do nothing."""
        self._gate.tell(said)

    def maintain(self, *, reconsider: bool = False) -> list[tuple[str, int]]:
        """Free what dead listeners hold in the Redis beside. RabbitMQ itself takes back their messages. `reconsider`:
        serve again the queues that were given up.
        """
        if reconsider:
            self._session.reconsider()
        return self._gate.maintain()

    def wait(self, seconds: float) -> bool:
        """Wait for a message that is pushed to this listener: True if one came, False if the time is over."""
        return self._session.wait(seconds)

    def traces_of(self, claims: Sequence[Claim]) -> list[TraceContext | None]:
        """Read the trace contexts in the headers of the messages."""
        return [claim.receipt.message.trace for claim in claims]

    def pass_on(self) -> None:
        """Do nothing: RabbitMQ pushes a message to one listener only, which gives it back after a while."""

    def leave(self) -> None:
        """Stop consuming, and give back the messages that still wait here."""
        self._session.leave()

    def close(self) -> None:
        """Close connections, even while a thread waits for a message."""
        self._session.close()
        self._in.close()
        self._aside.close()
        self._out.close()
        if self._beside is not None:
            self._beside.server.close()

    def _no_batch(self) -> Unsupported:
        trouble = "cannot be resumed: an exchange does not keep how far it is"
        remedy = "Add the rows to a native schedule, and forward that one: workkit forward."
        return Unsupported.about("a bulk", trouble, remedy)
