"""Check an exchange, its broker and its consumers: the front of this room."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final

from workkit.brokers.hutch.beside.doctor import BesideDoctor
from workkit.brokers.hutch.doctor.dead import since
from workkit.brokers.hutch.doctor.judge import MOMENTARY, judge, judge_broker, lasting
from workkit.brokers.hutch.doctor.repair import repair
from workkit.brokers.hutch.doctor.survey import Survey
from workkit.brokers.hutch.doctor.walk import walk
from workkit.brokers.hutch.management.client import Management
from workkit.brokers.hutch.names import Names
from workkit.brokers.hutch.topology import Topology
from workkit.brokers.hutch.wire.link import Link
from workkit.brokers.redis_server.checks import checkup
from workkit.clocks import time
from workkit.contract.checkup import dead, limited
from workkit.contract.doctor import Finding

OF_SERVER: Final = ("memory-alarm", "disk-alarm", "node-down", "x-death", "dropped", *checkup.OF_SERVER)
PAUSE_MS: Final = 2000  # between two looks


@dataclass(frozen=True, slots=True, kw_only=True)
class HutchDoctor:
    """Checks one exchange, by the management API where that answers, and by AMQP; and the Redis beside it."""

    link: Link
    management: Management
    names: Names
    beside: BesideDoctor | None = None

    def checkup(self, *, patience_ms: int) -> Iterator[Finding]:
        """See `Doctor.checkup`. Yields at most 1,000 findings of one kind, and then one that counts the rest.

        What may be a moment while a program starts is looked at twice, `patience_ms` apart, but at most 2 s. A consumer
        that holds messages is a finding once it has done nothing for `patience_ms`.
        """
        yield from limited(self._looked(patience_ms), schedule=self.names.exchange, of_server=OF_SERVER)

    def repair(self, finding: Finding) -> bool:
        """See `Doctor.repair`."""
        if not finding.repairs:
            return False
        if isinstance(finding.subject, Topology):
            return repair(self._walk(reads_dead=False), self.link, finding.subject)
        return self.beside is not None and self.beside.repair(finding.subject)

    def _looked(self, patience_ms: int) -> Iterator[Finding]:
        made = self._walk()
        yield from (fault.finding for fault in judge_broker(made))
        found = judge(made, patience_ms=patience_ms)
        if any(fault.kind in MOMENTARY for fault in found):
            time.sleep(min(patience_ms, PAUSE_MS) / 1000)
            made = self._walk()
            found = list(lasting(found, judge(made, patience_ms=patience_ms)))
        yield from (fault.finding for fault in found)
        if self.beside is not None:
            yield from self.beside.findings()
        there = made.queues.get(self.names.dead_queue)
        count = max(len(made.letters), there.ready if there else 0)
        kept = "The dead queue keeps them for 30 days, and the latest 100,000 of them."
        yield from dead(count, schedule=self.names.exchange, kept=kept, since=since(made))

    def _walk(self, *, reads_dead: bool = True) -> Survey:
        return walk(self.names, link=self.link, management=self.management, reads_dead=reads_dead)
