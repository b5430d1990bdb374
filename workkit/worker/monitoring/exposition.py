"""Sums and gauges for Prometheus: a collector of prometheus-client, and the page `/metrics`. They need the extra
`prometheus`.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from workkit.text.exposition import Page, add_histogram, info, page_of
from workkit.worker.monitoring.gauges import Gauge, Gauges
from workkit.worker.monitoring.run_table import (
    DURATION,
    EDGES,
    LATENESS,
    MISSED,
    OUTCOMES,
    Key,
    Totals,
    histogram,
)

STATES = ("waiting", "due", "running", "cancelling", "retrying", "held", "paused", "dead")


def metrics_page(totals: Totals, gauges: Gauges) -> Page:
    """Return a function that writes the page. From any thread."""
    return page_of(Collector(totals, gauges))


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
    from prometheus_client.core import CounterMetricFamily, HistogramMetricFamily

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
        for family, at in ((duration, DURATION), (lateness, LATENESS)):
            found = histogram(numbers, at)
            add_histogram(family, key, edges=EDGES, buckets=found.buckets, total=found.sum)
    yield from (runs, missed, duration, lateness, info())


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
