"""A RabbitMQ and a Redis beside it, as a program has them."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from typing import Any

from tests.brokers.hutch.opened import Opened
from tests.servers import Server
from workkit import schedule
from workkit.brokers.hutch.address import read_address
from workkit.brokers.hutch.beside.keys import Keys
from workkit.brokers.hutch.beside.place import Beside
from workkit.brokers.hutch.broker import HutchBroker
from workkit.brokers.hutch.names import Names
from workkit.brokers.redis_server.connecting import connect
from workkit.contract.listener import Claim, ListenerInfo, Serving
from workkit.jobs.admission import FREE, Admission
from workkit.jobs.run_options import UNSAID, RunOptions


class Pair:
    """Brokers of one exchange with a Redis beside. Closes all that it opens."""

    def __init__(self, on: Opened, server: Server) -> None:
        self.on, self.server = on, server
        self.keys = Keys("/", on.names.exchange)
        self.client: Any = server.client()
        on._ends.callback(self.client.close)

    def beside(self, *, port: int | None = None) -> Beside:
        url = self.server.url if port is None else f"redis://127.0.0.1:{port}/"
        return Beside(connect(url, schedule=self.keys.prefix), self.keys)

    def broker(
        self, *, redis_port: int | None = None, amqp_port: int | None = None, namespace: str = "",
        patience: float = 10.0,
    ) -> HutchBroker:  # fmt: skip
        url = self.on.url if amqp_port is None else f"amqp://guest:guest@127.0.0.1:{amqp_port}/"
        names = Names(exchange=self.on.names.exchange, dialect=self.on.names.dialect, prefix=namespace)
        beside = self.beside(port=redis_port)
        made = HutchBroker(read_address(url), names=names, beside=beside, patience=patience)
        self.on._ends.callback(made.close)
        return made

    def listener(self, *, threads: int = 4, options: RunOptions = UNSAID, **how: Any) -> HutchBroker:
        made = self.broker(**how)
        serves = {"note": Serving(options=options)}
        made.register(
            ListenerInfo(listener="", host="here", pid=1, version="0", schedules={}, threads=threads, serves=serves)
        )
        return made

    def create(self, **options: Any) -> schedule.Schedule:
        return schedule.create(
            self.on.names.exchange, amqp=self.on.url, redis=self.server.url, layout="hutch", **options
        )


def wanted(claim: Claim, options: RunOptions) -> Admission | None:
    return claim.admission(options, FREE)


def admitted(broker: HutchBroker, claims: Sequence[Claim], options: RunOptions) -> list[Claim]:
    return list(broker.admit([(claim, wanted(claim, options)) for claim in claims]).claims)


def taken(broker: HutchBroker, n: int, *, limit: int = 10) -> list[Claim]:
    """Take `n` claims that must come."""
    found: list[Claim] = []

    def are_here() -> bool:
        found.extend(broker.claim(limit).claims)
        return len(found) >= n

    meet(are_here, wait=lambda: broker.wait(0.1))
    assert len(found) == n
    return found


def meet(condition: Callable[[], Any], *, seconds: float = 10.0, wait: Callable[[], Any] = lambda: None) -> None:
    """Ask until the condition is true."""
    deadline = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < deadline, "it never became true"
        wait()
