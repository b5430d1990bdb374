"""A checkup beside other work of its process, which goes on meanwhile."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from workkit.brokers.redis_server.pages import unhurried
from workkit.contract.doctor import Doctor, Finding


@dataclass(frozen=True, slots=True)
class Unhurried:
    """A doctor whose checkup rests after each page of a key. It takes three times as long where there are many jobs."""

    doctor: Doctor

    def checkup(self, *, patience_ms: int) -> Iterator[Finding]:
        """See `Doctor.checkup`. One thread reads all of it."""
        with unhurried():
            yield from self.doctor.checkup(patience_ms=patience_ms)

    def repair(self, finding: Finding) -> bool:
        """See `Doctor.repair`."""
        return self.doctor.repair(finding)
