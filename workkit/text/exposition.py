"""A page in the text format of Prometheus, for a collector of prometheus-client. It needs the extra `prometheus`."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from importlib.util import find_spec
from typing import Any, Protocol

from workkit._version import __version__

MISSING = "no metrics here. Install the extra: pip install 'workkit[prometheus]'"

Page = Callable[[], tuple[str, bytes]]  # the media type of a page, and its content


class Collects(Protocol):
    """A collector. A page asks it at every scrape."""

    def describe(self) -> Iterator[Any]:
        """Make the families without samples."""

    def collect(self) -> Iterator[Any]:
        """Make the families of metrics."""


def is_installed() -> bool:
    """Return whether prometheus-client is installed."""
    return find_spec("prometheus_client") is not None


def page_of(collector: Collects) -> Page:
    """Return a function that writes the page of a collector. Any thread may call it."""
    import prometheus_client

    registry = prometheus_client.CollectorRegistry()
    registry.register(collector)

    def write() -> tuple[str, bytes]:
        return prometheus_client.CONTENT_TYPE_LATEST, prometheus_client.generate_latest(registry)

    return write


def info() -> Any:
    """Make the family that tells the version."""
    from prometheus_client.core import GaugeMetricFamily

    found = GaugeMetricFamily("workkit_info", "The version of workkit that serves this page.", labels=["version"])
    found.add_metric([__version__], 1)
    return found


def add_histogram(
    family: Any, labels: Sequence[str], *, edges: Sequence[float], buckets: Sequence[int], total: float
) -> None:
    """Add a histogram to its family. `buckets`: the number of values in each bucket; the last bucket is above all
    edges.
    """
    sums, so_far = [], 0
    for edge, number in zip((*map(str, edges), "+Inf"), buckets, strict=True):
        so_far += number
        sums.append((edge, so_far))
    family.add_metric(labels, buckets=sums, sum_value=total)
