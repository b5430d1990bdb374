"""What a monitor outside may read of this web face: its requests, its streams, and how old its pages are. Which metrics
there are: spec/metrics.md.
"""

from __future__ import annotations

import time
from bisect import bisect_left
from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from threading import Lock
from typing import Any, Final

from starlette.types import ASGIApp, Message, Receive, Scope, Send

from workkit.text.exposition import add_histogram, info
from workkit.web.page import found_page
from workkit.web.pages.registry import PAGES
from workkit.web.words import JSON

EDGES: Final = (0.005, 0.025, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0, 30.0)
OTHER: Final = "other"
OURS: Final = ("health", "jump", "static", "login", "logout", "look")  # below /-/
OF_A_SCHEDULE: Final = {"live": "live", "next.ics": "calendar", "changes.jsonl": "changes", "-/views": "views"}


@dataclass(slots=True, eq=False)
class Requests:
    """How many requests there were, by page and status, and how long each page took until its answer began."""

    _answers: Counter[tuple[str, int]] = field(default_factory=Counter)
    _took: dict[str, list[int]] = field(default_factory=dict)
    _sums: dict[str, float] = field(default_factory=dict)
    _lock: Lock = field(default_factory=Lock)

    def note(self, page: str, status: int, *, took_s: float) -> None:
        """Count one."""
        with self._lock:
            self._answers[page, status] += 1
            self._took.setdefault(page, [0] * (len(EDGES) + 1))[bisect_left(EDGES, took_s)] += 1
            self._sums[page] = self._sums.get(page, 0.0) + took_s

    def families(self) -> Iterator[Any]:
        """Make their families."""
        from prometheus_client.core import CounterMetricFamily, HistogramMetricFamily

        answers = CounterMetricFamily("workkit_web_requests", "Requests that were answered.", labels=["page", "status"])
        took = HistogramMetricFamily(
            "workkit_web_request_duration_seconds", "Time until the answer began.", labels=["page"]
        )
        with self._lock:
            for (page, status), number in sorted(self._answers.items()):
                answers.add_metric([page, str(status)], number)
            for page, buckets in sorted(self._took.items()):
                add_histogram(took, [page], edges=EDGES, buckets=buckets, total=self._sums[page])
        yield from (answers, took)


@dataclass(frozen=True, slots=True)
class Measured:
    """Counts the requests to an application."""

    app: ASGIApp
    requests: Requests

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass a request on, and count it when its answer begins; one that fails without an answer as 500."""
        if scope["type"] != "http":
            await self.app(scope, receive, send)
            return
        began, page, has_begun = (
            time.monotonic(),
            page_name(scope["path"].removeprefix(scope.get("root_path", ""))),
            False,
        )

        async def noting(message: Message) -> None:
            nonlocal has_begun
            if message["type"] == "http.response.start":
                has_begun = True
                self.requests.note(page, message["status"], took_s=time.monotonic() - began)
            await send(message)

        try:
            await self.app(scope, receive, noting)
        except Exception:
            if not has_begun:
                self.requests.note(page, 500, took_s=time.monotonic() - began)
            raise


def page_name(path: str) -> str:
    """Name what an address leads to, by one of a few names."""
    if path in ("", "/", "/schedules.json"):
        return "schedules"
    first, _, rest = path[1:].partition("/")
    if first == "metrics" and not rest:
        return "metrics"
    if first == "-":
        name = rest.partition("/")[0]
        return name if name in OURS else OTHER
    if first != "s" or not rest:
        return OTHER
    below = rest.partition("/")[2]
    if below.startswith("do/"):
        return "act"
    if below in OF_A_SCHEDULE:
        return OF_A_SCHEDULE[below]
    found = found_page(PAGES, below.removesuffix(JSON))
    return OTHER if found is None else found[0].name


@dataclass(frozen=True, slots=True, eq=False)
class WebCollector:
    """A collector of prometheus-client. `ages`: by schedule, how old the oldest part of its last page was."""

    requests: Requests
    streams: int
    ages: Mapping[str, float]

    def describe(self) -> Iterator[Any]:
        """Make the families without samples."""
        yield from ()

    def collect(self) -> Iterator[Any]:
        """Make the families of metrics."""
        from prometheus_client.core import GaugeMetricFamily

        yield from self.requests.families()
        yield GaugeMetricFamily("workkit_web_streams", "Streams of pages that are open.", value=self.streams)
        ages = GaugeMetricFamily(
            "workkit_web_cache_age_seconds", "Age of the oldest part of the last page.", labels=["schedule"]
        )
        for schedule, age in self.ages.items():
            ages.add_metric([schedule], age)
        yield from (ages, info())
