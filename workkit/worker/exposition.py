"""Sums and gauges for Prometheus: a collector of prometheus-client, and the page `/metrics`. They need the extra
`prometheus`. Gauges are the present counts of a schedule. Reading them from the server takes at most a twentieth of
the time.
"""

from __future__ import annotations

import threading
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from workkit.clocks import time
from workkit.contract.broker import Inspector
from workkit.contract.inspector import Counts
from workkit.errors import Unsupported, WorkkitError
from workkit.text.exposition import Page, add_histogram, info, page_of
from workkit.worker.run_table import (
    BATCHES,
    DURATION,
    EDGES,
    ENDED_LATE,
    LATENESS,
    MISSED,
    OUTCOMES,
    PAST_DEADLINE,
    Key,
    Totals,
    histogram,
)

_SHARE = 20  # after a look of one second the next one waits twenty seconds
LEAST, LONGEST = 0.5, 60.0  # seconds between the end of a look and the next one
WAIT = 2.0  # seconds that a page waits for a look; a lost server must not delay it


@dataclass(frozen=True, slots=True)
class Gauge:
    """The counts of one schedule. None: its server did not answer."""

    schedule: str
    counts: Counts | None


class Gauges:
    """The counts of some schedules, at most a second old unless reading them takes long. Thread-safe."""

    def __init__(self, inspectors: Mapping[str, Callable[[], Inspector]] | None = None) -> None:
        self._inspectors = {schedule: [inspector] for schedule, inspector in (inspectors or {}).items()}
        self._lock = threading.Lock()
        self._read: tuple[Gauge, ...] = ()
        self._next_at = 0.0
        self._looking: threading.Thread | None = None

    def add(self, schedule: str, inspector: Callable[[], Inspector]) -> None:
        """Add a schedule; its counts come from the first of its inspectors that answers. Call this before `read`."""
        self._inspectors.setdefault(schedule, []).append(inspector)

    def read(self) -> tuple[Gauge, ...]:
        """Return the latest counts, after a new look if one is due."""
        with self._lock:
            looking = self._looking
            if looking is None and time.monotonic() >= self._next_at:
                looking = self._looking = threading.Thread(target=self._look, name="workkit-gauges", daemon=True)
                looking.start()
        if looking is not None:
            looking.join(WAIT)
        return self._read

    def _look(self) -> None:
        began = time.monotonic()
        try:
            self._read = tuple(self._found())
        finally:
            with self._lock:
                self._next_at = time.monotonic() + min(LONGEST, max(LEAST, _SHARE * (time.monotonic() - began)))
                self._looking = None

    def _found(self) -> Iterator[Gauge]:
        for schedule, inspectors in self._inspectors.items():
            for inspector in inspectors:
                try:
                    yield Gauge(schedule, inspector().counts())
                except Unsupported:  # a layout that cannot count, or a listener that has stopped, has no gauges
                    continue
                except WorkkitError:
                    yield Gauge(schedule, None)
                break


STATES = ("waiting", "due", "running", "cancelling", "retrying", "held", "paused", "dead")


def metrics_page(totals: Totals, gauges: Gauges) -> Page:
    """Return a function that writes the page. Thread-safe."""
    return page_of(Collector(totals, gauges))


class Collector:
    """A collector of prometheus-client, which asks it at every scrape. From any thread."""

    def __init__(self, totals: Totals, gauges: Gauges) -> None:
        import prometheus_client.core  # noqa: F401 - now: the first scrape comes while jobs run

        self._totals, self._gauges = totals, gauges

    def describe(self) -> Iterator[Any]:
        """Make the families without samples. A registry reads the names, and refuses those that it already has."""
        yield from _runs({})
        yield from _schedules(())

    def collect(self) -> Iterator[Any]:
        """Make the families of metrics. The table in spec/metrics.md has their names and labels."""
        yield from _runs(self._totals.read())
        yield from _schedules(self._gauges.read())


def _runs(sums: Mapping[Key, Sequence[int]]) -> Iterator[Any]:
    from prometheus_client.core import CounterMetricFamily, HistogramMetricFamily

    of = ["schedule", "function"]
    runs = CounterMetricFamily("workkit_job_runs", "Runs that ended, by outcome.", labels=[*of, "outcome"])
    missed = CounterMetricFamily("workkit_job_missed", "Occurrences that are over without a run.", labels=of)
    past = CounterMetricFamily("workkit_job_past_deadline", "Runs reported as past their deadline.", labels=of)
    ended = CounterMetricFamily("workkit_job_ended_late", "Runs that ended past their deadline.", labels=of)
    batches = CounterMetricFamily("workkit_batches", "Batches that ended, by outcome.", labels=["schedule", "outcome"])
    duration = HistogramMetricFamily("workkit_job_duration_seconds", "Time in the handler.", labels=of)
    lateness = HistogramMetricFamily(
        "workkit_job_lateness_seconds", "Time from due to start, of first attempts.", labels=of
    )
    over: Counter[tuple[str, str]] = Counter()
    for key, numbers in sorted(sums.items()):
        for outcome, at in BATCHES.items():
            over[key[0], outcome] += numbers[at]
        if not key[1]:  # it has no function
            continue
        for outcome, number in zip(OUTCOMES, numbers, strict=False):
            if number or outcome in ("done", "failed"):  # a rate needs a 0 before its first failure
                runs.add_metric([*key, outcome], number)
        for counter, at in ((missed, MISSED), (past, PAST_DEADLINE), (ended, ENDED_LATE)):
            counter.add_metric(key, numbers[at])
        for family, at in ((duration, DURATION), (lateness, LATENESS)):
            found = histogram(numbers, at)
            add_histogram(family, key, edges=EDGES, buckets=found.buckets, total=found.sum)
    for labels, number in over.items():
        batches.add_metric(labels, number)
    yield from (runs, missed, past, ended, batches, duration, lateness, info())


def _schedules(gauges: Sequence[Gauge]) -> Iterator[Any]:
    from prometheus_client.core import GaugeMetricFamily

    def family(name: str, meaning: str, *more: str) -> Any:
        return GaugeMetricFamily(name, meaning, labels=["schedule", *more])

    up = family("workkit_server_up", "1 if the server of the schedule answered.")
    jobs = family("workkit_jobs", "Jobs of the schedule, by state.", "state")
    oldest = family("workkit_oldest_due_seconds", "How long the oldest due job waits; 0 if no job is due.")
    past = family("workkit_jobs_past_deadline", "Jobs that are past their deadline or cannot meet it; 100 at most.")
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
        if "past_deadline" not in counts.unknown:
            past.add_metric([gauge.schedule], len(counts.past_deadline))
        if "listeners" not in counts.unknown:
            listeners.add_metric([gauge.schedule], counts.listeners)
    yield from (up, jobs, oldest, past, listeners)
