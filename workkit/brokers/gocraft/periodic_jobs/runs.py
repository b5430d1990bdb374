"""The runs of periodic jobs: ids and job texts that every pool of a fleet, in Go or here, writes alike, so that a run
that many pools enqueue is once in `NSscheduled`. Normative: spec/layouts/gocraft.md, section 4.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Final
from zoneinfo import ZoneInfo

from workkit.brokers.gocraft.periodic_jobs.cron_spec import PeriodicSpec
from workkit.brokers.gocraft.periodic_jobs.cron_walk import next_activation
from workkit.brokers.gocraft.text import JobText, write

HORIZON_SECONDS: Final = 240
"""How far ahead a Go pool enqueues runs: those before this many seconds from now."""

_PREFIX: Final = "periodic"


@dataclass(frozen=True, slots=True, kw_only=True)
class PeriodicJob:
    """A job name and the spec by which its runs are enqueued. `args` is an extension: Go pools enqueue none."""

    name: str
    spec: PeriodicSpec
    args: Mapping[str, Any] | None = None

    def id_at(self, second: int) -> str:
        """Make the id of one run: ``periodic:NAME:SPEC:EPOCH``, the spec as it was written."""
        return f"{_PREFIX}:{self.name}:{self.spec.text}:{second}"

    def text_at(self, second: int) -> bytes:
        """Write the job text of one run; `t` is the time of the run itself, so that all pools write equal bytes.

        Raises InvalidArguments for what JSON cannot carry.
        """
        return write(JobText(name=self.name, id=self.id_at(second), t=second, args=self.args))


def activations(spec: PeriodicSpec, *, after: int, before: int, local: ZoneInfo) -> Iterator[int]:
    """List the runs strictly after one epoch second and strictly before another, in order.

    A spec without a zone goes by `local`. The runs of ``@every`` are counted from `after`.
    """
    second = next_activation(spec, after, local=local)
    while second is not None and second < before:
        yield second
        second = next_activation(spec, second, local=local)
