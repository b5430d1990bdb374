"""The page `/metrics`: sums and gauges in the text format of Prometheus. Needs the extra `prometheus`."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from importlib.util import find_spec
from typing import Any

from workkit._version import __version__
from workkit.contract.inspector import Counts
from workkit.worker.monitoring.gauges import Gauges
from workkit.worker.monitoring.run_table import (
    DURATION,
    EDGES,
    LATENESS,
    MISSED,
    OUTCOMES,
    Histogram,
    histogram,
)
from workkit.worker.monitoring.totals import Totals

STATES = ("waiting", "due", "running", "cancelling", "retrying", "held", "paused", "dead")
MISSING = "no metrics here. Install the extra: pip install 'workkit[prometheus]'"

Page = Callable[[], tuple[str, bytes]]  # the type of its content, and the content


def is_installed() -> bool:
    """Whether prometheus-client is there."""
    return find_spec("prometheus_client") is not None


def metrics_page(totals: Totals, gauges: Gauges) -> Page:
    """Return a function that writes the page. From any thread."""
    import prometheus_client
    import prometheus_client.core  # now: the first scrape comes while jobs run

    registry = prometheus_client.CollectorRegistry(auto_describe=False)
    registry.register(_Collector(totals, gauges))

    def write() -> tuple[str, bytes]:
        return prometheus_client.CONTENT_TYPE_LATEST, prometheus_client.generate_latest(registry)

    return write


class _Collector:
    """A collector of prometheus-client, which asks it at every scrape."""

    def __init__(self, totals: Totals, gauges: Gauges) -> None:
        self._totals, self._gauges = totals, gauges

    def describe(self) -> list[Any]:
        """Say nothing in advance: the registry need not collect to learn the names."""
        return []

    def collect(self) -> Iterator[Any]:
        """Make the families of metrics. Their names and labels: the table in spec/metrics.md."""
        yield from self._runs()
        yield from self._schedules()

    def _runs(self) -> Iterator[Any]:
        from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily, HistogramMetricFamily

        of = ["schedule", "function"]
        runs = CounterMetricFamily("workkit_job_runs", "Runs that ended, by outcome.", labels=[*of, "outcome"])
        missed = CounterMetricFamily("workkit_job_missed", "Occurrences that are over without a run.", labels=of)
        duration = HistogramMetricFamily("workkit_job_duration_seconds", "Time in the handler.", labels=of)
        lateness = HistogramMetricFamily(
            "workkit_job_lateness_seconds", "Time from due to start, of first attempts.", labels=of
        )
        for key, numbers in sorted(self._totals.read().items()):
            for outcome, number in zip(OUTCOMES, numbers, strict=False):
                if number or outcome in ("done", "failed"):  # a rate needs a 0 before its first failure
                    runs.add_metric([*key, outcome], number)
            missed.add_metric(key, numbers[MISSED])
            _add(duration, key, histogram(numbers, DURATION))
            _add(lateness, key, histogram(numbers, LATENESS))
        info = GaugeMetricFamily("workkit_info", "The version of workkit that serves this page.", labels=["version"])
        info.add_metric([__version__], 1)
        yield from (runs, missed, duration, lateness, info)

    def _schedules(self) -> Iterator[Any]:
        from prometheus_client.core import GaugeMetricFamily

        def family(name: str, meaning: str, *more: str) -> Any:
            return GaugeMetricFamily(name, meaning, labels=["schedule", *more])

        up = family("workkit_server_up", "1 if the server of the schedule answered.")
        jobs = family("workkit_jobs", "Jobs of the schedule, by state.", "state")
        oldest = family("workkit_oldest_due_seconds", "How long the oldest due job waits; 0 if no job is due.")
        listeners = family("workkit_listeners", "Listeners of the schedule, on all machines.")
        for gauge in self._gauges.read():
            up.add_metric([gauge.schedule], gauge.counts is not None)
            if (counts := gauge.counts) is not None:
                for state, number in _states(counts):
                    jobs.add_metric([gauge.schedule, state], number)
                oldest.add_metric([gauge.schedule], (counts.late_ms or 0) / 1000)
                listeners.add_metric([gauge.schedule], counts.listeners)
        yield from (up, jobs, oldest, listeners)


def _states(counts: Counts) -> Iterator[tuple[str, int]]:
    yield from ((state, getattr(counts, state)) for state in STATES)


def _add(family: Any, key: tuple[str, str], found: Histogram) -> None:
    sums, so_far = [], 0
    for edge, number in zip((*map(str, EDGES), "+Inf"), found.buckets, strict=True):
        so_far += number
        sums.append((edge, so_far))
    family.add_metric(key, buckets=sums, sum_value=found.sum)
