"""Layers around the application: checks and headers of every answer, the path prefix, and metrics of requests, streams
and page ages. The list of metrics: spec/metrics.md.
"""

from __future__ import annotations

import ipaddress
import time
from bisect import bisect_left
from collections import Counter
from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass, field
from threading import Lock
from typing import Any, Final
from urllib.parse import urlsplit

from starlette.datastructures import MutableHeaders
from starlette.requests import Request
from starlette.responses import PlainTextResponse
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from workkit.text.exposition import add_histogram, info
from workkit.web.page import found_page
from workkit.web.pages.registry import PAGES
from workkit.web.words import JSON

POLICY: Final = (
    "default-src 'none'; style-src 'self'; script-src 'self'; img-src 'self' data:; connect-src 'self'; "
    "form-action 'self'; base-uri 'none'; frame-ancestors 'none'"
)
HEADERS: Final = {
    "content-security-policy": POLICY,
    "x-content-type-options": "nosniff",
    "referrer-policy": "no-referrer",
    "cross-origin-opener-policy": "same-origin",
}


@dataclass(frozen=True, slots=True)
class Guard:
    """Refuses an unknown `Host`, and sets the headers of every answer.

    `hosts`: the names under which browsers reach us, without the port; None: the program that mounts us checks them. A
    numeric address is always accepted, since only a name can be made to lead here (DNS rebinding).
    """

    app: ASGIApp
    hosts: Collection[str] | None = None

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass a request on, or refuse it."""
        if scope["type"] != "http":
            await self.app(scope, receive, send)
            return

        has_begun = False

        async def with_headers(message: Message) -> None:
            nonlocal has_begun
            has_begun = True
            if message["type"] == "http.response.start":
                headers = MutableHeaders(scope=message)
                for name, value in HEADERS.items():
                    headers[name] = value
                headers.setdefault("cache-control", "no-store")
            await send(message)

        host = Request(scope).headers.get("host", "")
        app = self.app if is_host(host, self.hosts) else PlainTextResponse(host_refusal(host), status_code=403)
        try:
            await app(scope, receive, with_headers)
        except Exception:  # our own fault or the mounting program's: its answer has the headers too
            if not has_begun:
                await PlainTextResponse("This went wrong. The log says how.\n", status_code=500)(
                    scope, receive, with_headers
                )
            raise


def is_host(host: str, hosts: Collection[str] | None) -> bool:
    """Return whether a `Host` is one of ours."""
    if hosts is None:
        return True
    name = _host_name(host)
    if name is None:
        return False
    try:
        ipaddress.ip_address(name)
    except ValueError:
        return name in hosts
    return True


def host_refusal(host: str) -> str:
    """Say why a `Host` is refused."""
    shown = "".join(c for c in host if c.isascii() and c.isprintable())[:200]
    return (
        f'This is not "{shown}". If a proxy stands before workkit web, add --origin with the URL that browsers use.\n'
    )


def _host_name(host: str) -> str | None:
    try:
        return (urlsplit(f"//{host}").hostname or "").lower() or None
    except ValueError:
        return None


@dataclass(frozen=True, slots=True)
class Below:
    """Serves the application below a path, behind a proxy that strips the path or keeps it. `root`: that path, without
    a final slash; empty where there is none, or where the mounting program provides it.
    """

    app: ASGIApp
    root: str

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass a request on with the whole path, as a mounted application gets it."""
        if self.root and scope["type"] == "http":
            path = scope["path"]
            if path == self.root:
                path += "/"
            elif not path.startswith(f"{self.root}/"):
                path = self.root + path
            scope = {**scope, "root_path": self.root, "path": path}
        await self.app(scope, receive, send)


EDGES: Final = (0.005, 0.025, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0, 30.0)
OTHER: Final = "other"
OURS: Final = ("health", "jump", "static", "login", "logout", "look")  # below /-/
OF_A_SCHEDULE: Final = {"live": "live", "next.ics": "calendar", "changes.jsonl": "changes", "-/views": "views"}


@dataclass(slots=True, eq=False)
class Requests:
    """Counts requests by page and status, and measures the time until each answer begins."""

    _answers: Counter[tuple[str, int]] = field(default_factory=Counter)
    _took: dict[str, list[int]] = field(default_factory=dict)
    _sums: dict[str, float] = field(default_factory=dict)
    _lock: Lock = field(default_factory=Lock)

    def note(self, page: str, status: int, *, took_s: float) -> None:
        """Count one request."""
        with self._lock:
            self._answers[page, status] += 1
            self._took.setdefault(page, [0] * (len(EDGES) + 1))[bisect_left(EDGES, took_s)] += 1
            self._sums[page] = self._sums.get(page, 0.0) + took_s

    def families(self) -> Iterator[Any]:
        """Make the metric families of the counts."""
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
        """Pass a request on, and count it when its answer begins. A request without an answer counts as 500."""
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
    """Map an address to one of a few page names."""
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
    """A collector for prometheus-client. `ages`: by schedule, the age of the oldest part of its last page."""

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
