"""Sums and gauges for Prometheus: a collector of prometheus-client, and the page `/metrics`. They need the extra
`prometheus`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from importlib.util import find_spec
from typing import Any

from workkit._version import __version__
from workkit.worker.monitoring.gauges import Gauge, Gauges
from workkit.worker.monitoring.run_table import (
    DURATION,
    EDGES,
    LATENESS,
    MISSED,
    OUTCOMES,
    Histogram,
    Key,
    Totals,
    histogram,
)

STATES = ("waiting", "due", "running", "cancelling", "retrying", "held", "paused", "dead")
MISSING = "no metrics here. Install the extra: pip install 'workkit[prometheus]'"

Page = Callable[[], tuple[str, bytes]]  # the type of its content, and the content


def is_installed() -> bool:
    """Whether prometheus-client is there."""
    return find_spec("prometheus_client") is not None


def metrics_page(totals: Totals, gauges: Gauges) -> Page:
    """Return a function that writes the page. From any thread."""
    import prometheus_client

    registry = prometheus_client.CollectorRegistry()
    registry.register(Collector(totals, gauges))

    def write() -> tuple[str, bytes]:
        return prometheus_client.CONTENT_TYPE_LATEST, prometheus_client.generate_latest(registry)

    return write


class Collector:
    """A collector of prometheus-client, which asks it at every scrape. From any thread."""

    def __init__(self, totals: Totals, gauges: Gauges) -> None:
        import prometheus_client.core  # noqa: F401 - now: the first scrape comes while jobs run

        self._totals, self._gauges = totals, gauges

    def describe(self) -> Iterator[Any]:
        """Make the families without samples: a registry learns the names, and refuses what it has already."""
        yield from _runs({})
        yield from _schedules(())

    def collect(self) -> Iterator[Any]:
        """Make the families of metrics. Their names and labels: the table in spec/metrics.md."""
        yield from _runs(self._totals.read())
        yield from _schedules(self._gauges.read())


def _runs(sums: Mapping[Key, Sequence[int]]) -> Iterator[Any]:
    from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily, HistogramMetricFamily

    of = ["schedule", "function"]
    runs = CounterMetricFamily("workkit_job_runs", "Runs that ended, by outcome.", labels=[*of, "outcome"])
    missed = CounterMetricFamily("workkit_job_missed", "Occurrences that are over without a run.", labels=of)
    duration = HistogramMetricFamily("workkit_job_duration_seconds", "Time in the handler.", labels=of)
    lateness = HistogramMetricFamily(
        "workkit_job_lateness_seconds", "Time from due to start, of first attempts.", labels=of
    )
    for key, numbers in sorted(sums.items()):
        for outcome, number in zip(OUTCOMES, numbers, strict=False):
            if number or outcome in ("done", "failed"):  # a rate needs a 0 before its first failure
                runs.add_metric([*key, outcome], number)
        missed.add_metric(key, numbers[MISSED])
        _add(duration, key, histogram(numbers, DURATION))
        _add(lateness, key, histogram(numbers, LATENESS))
    info = GaugeMetricFamily("workkit_info", "The version of workkit that serves this page.", labels=["version"])
    info.add_metric([__version__], 1)
    yield from (runs, missed, duration, lateness, info)


def _schedules(gauges: Sequence[Gauge]) -> Iterator[Any]:
    from prometheus_client.core import GaugeMetricFamily

    def family(name: str, meaning: str, *more: str) -> Any:
        return GaugeMetricFamily(name, meaning, labels=["schedule", *more])

    up = family("workkit_server_up", "1 if the server of the schedule answered.")
    jobs = family("workkit_jobs", "Jobs of the schedule, by state.", "state")
    oldest = family("workkit_oldest_due_seconds", "How long the oldest due job waits; 0 if no job is due.")
    listeners = family("workkit_listeners", "Listeners of the schedule, on all machines.")
    for gauge in gauges:
        up.add_metric([gauge.schedule], gauge.counts is not None)
        if (counts := gauge.counts) is None:
            continue
        for state in STATES:
            if state not in counts.unknown:
                jobs.add_metric([gauge.schedule, state], getattr(counts, state))
        if "late_ms" not in counts.unknown:
            oldest.add_metric([gauge.schedule], (counts.late_ms or 0) / 1000)
        if "listeners" not in counts.unknown:
            listeners.add_metric([gauge.schedule], counts.listeners)
    yield from (up, jobs, oldest, listeners)


def _add(family: Any, key: tuple[str, str], found: Histogram) -> None:
    sums, so_far = [], 0
    for edge, number in zip((*map(str, EDGES), "+Inf"), found.buckets, strict=True):
        so_far += number
        sums.append((edge, so_far))
    family.add_metric(key, buckets=sums, sum_value=found.sum)
