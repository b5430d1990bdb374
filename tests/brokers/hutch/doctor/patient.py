"""An exchange under examination, and a plain channel beside it that makes faults by hand."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import ExitStack
from typing import Any

import pika

from workkit.brokers.hutch.address import read_address, read_site
from workkit.brokers.hutch.broker import HutchBroker
from workkit.brokers.hutch.management_api import Management
from workkit.brokers.hutch.names import Names
from workkit.brokers.hutch.topology import Topology, dead, work
from workkit.contract.doctor import Finding
from workkit.contract.listener import ListenerInfo, Serving


class Patient:
    """Brokers of one exchange, and the plain channel. Closes all that it opens."""

    def __init__(self, url: str, management: str, names: Names, channel: Any, ends: ExitStack) -> None:
        self.url, self.names, self.channel, self._ends = url, names, channel, ends
        self.management = management
        self.queues: list[str] = []
        self.doctor = self.broker().doctor

    @property
    def asks(self) -> Management:
        return Management(site=read_site(self.management, read_address(self.url)))

    def broker(self, *, management: str | None = None) -> HutchBroker:
        address = read_address(self.url)
        site = read_site(self.management if management is None else management, address)
        broker = HutchBroker(address, names=self.names, site=site)
        self._ends.callback(broker.close)
        return broker

    def listens(self, *jobs: str) -> HutchBroker:
        """A listener of workkit that serves these jobs, and consumes."""
        broker = self.broker()
        serves = {job: Serving() for job in jobs}
        info = ListenerInfo(listener="", host="here", pid=1, version="0", schedules={}, threads=1, serves=serves)
        self.queues += map(self.names.queue, jobs)
        broker.register(info)
        broker.claim(1)
        return broker

    def makes(self, topology: Topology) -> None:
        """Declare things as another program does."""
        for exchange in topology.exchanges:
            self.channel.exchange_declare(exchange.name, "topic", durable=True)
        for queue in topology.queues:
            self.queue(queue.name, queue.arguments)
        for one in topology.bindings:
            bind = self.channel.exchange_bind if one.to_exchange else self.channel.queue_bind
            bind(one.destination, one.source, one.key)

    def healthy(self, *jobs: str) -> None:
        """Declare what a listener that was here has left."""
        self.makes(work(self.names, jobs) + dead(self.names))

    def queue(
        self, name: str, arguments: Mapping[str, Any] | None = None, *, durable: bool = True, key: str = ""
    ) -> str:
        """Declare a queue, bound by a key if one is named."""
        self.queues.append(name)
        self.channel.queue_declare(name, durable=durable, arguments=dict(arguments or {}))
        if key:
            self.channel.queue_bind(name, self.names.exchange, key)
        return name

    def publish(self, key: str, *, exchange: str | None = None, **properties: Any) -> None:
        where = self.names.exchange if exchange is None else exchange
        self.channel.basic_publish(where, key, b"{}", pika.BasicProperties(**properties))

    def found(self, *, patience_ms: int = 0, management: str | None = None) -> list[Finding]:
        doctor = self.doctor if management is None else self.broker(management=management).doctor
        return list(doctor.checkup(patience_ms=patience_ms))

    def repaired(self, findings: Sequence[Finding]) -> list[bool]:
        return [self.doctor.repair(finding) for finding in findings if finding.repairs]
