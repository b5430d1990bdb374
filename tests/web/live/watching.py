"""Watch a stream of an application without a browser: what is sent is read at once, and what is taken can be held."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable
from typing import Any
from urllib.parse import urlsplit

from tests.web.conftest import Browser

EVENTS, LINES = "text/event-stream", "application/x-ndjson"
PATIENCE_S = 20.0


class Stream:
    """One stream. `events` are pairs of a kind and a value, or of "line" and a value; comments are of kind ""."""

    def __init__(self, app: Any, address: str, *, accept: str = EVENTS, cookie: str = "") -> None:
        self.status = 0
        self.headers: dict[str, str] = {}
        self.events: list[tuple[str, Any]] = []
        self.is_over = False
        self._goes, self._news, self._gone = asyncio.Event(), asyncio.Event(), asyncio.Event()
        self._goes.set()
        self._body = b""
        self._task = asyncio.ensure_future(self._run(app, urlsplit(address), accept, cookie))

    async def _run(self, app: Any, address: Any, accept: str, cookie: str) -> None:
        scope = {
            "type": "http", "asgi": {"version": "3.0"}, "http_version": "1.1", "method": "GET", "scheme": "http",
            "path": address.path, "raw_path": address.path.encode(), "query_string": address.query.encode(),
            "root_path": "", "client": ("127.0.0.1", 50000), "server": ("127.0.0.1", 5040),
            "headers": [(b"host", b"127.0.0.1:5040"), (b"accept", accept.encode()), (b"cookie", cookie.encode())],
        }  # fmt: skip
        await app(scope, self._receive, self._send)
        self.is_over = True
        self._news.set()

    async def _receive(self) -> dict[str, Any]:
        await self._gone.wait()
        return {"type": "http.disconnect"}

    async def _send(self, message: dict[str, Any]) -> None:
        await self._goes.wait()
        if message["type"] == "http.response.start":
            self.status = message["status"]
            self.headers = {name.decode(): value.decode() for name, value in message["headers"]}
        else:
            self._body += message.get("body", b"")
            end = b"\n" if self.headers.get("content-type") == LINES else b"\n\n"
            *whole, self._body = self._body.split(end)
            self.events += map(_read, whole)
        self._news.set()

    def hold(self) -> None:
        """Take nothing any more."""
        self._goes.clear()

    def go_on(self) -> None:
        """Take again."""
        self._goes.set()

    async def close(self) -> None:
        """Go away, as a browser does."""
        self._gone.set()
        self._goes.set()
        await self._task

    async def until(self, what: Callable[[Stream], Any]) -> Any:
        """Wait for something."""
        async with asyncio.timeout(PATIENCE_S):
            while not (found := what(self)):
                self._news.clear()
                await self._news.wait()
        return found

    async def event(self, kind: str, holds: str = "") -> Any:
        """Wait for an event of a kind in which a text stands, and take it with all before."""

        def first(_: Stream) -> Any:
            return next((n for n, (k, v) in enumerate(self.events, 1) if k == kind and holds in json.dumps(v)), 0)

        n = await self.until(first)
        value = self.events[n - 1][1]
        del self.events[:n]
        return value


def _read(text: bytes) -> tuple[str, Any]:
    if text.startswith(b"{"):
        return "line", json.loads(text)
    fields = dict(line.split(": ", 1) for line in text.decode().splitlines() if not line.startswith(":"))
    return fields.get("event", ""), json.loads(fields.get("data", "null"))


def stream_of(browser: Browser, page: str) -> str:
    """The address of the stream of a page, as the page tells it."""
    import html
    import re

    found = re.search(r'<body data-stream="([^"]*)"', browser.get(page).text)
    assert found is not None
    return html.unescape(found[1])


async def first_sent(app: Any, page: str, pulse: str) -> tuple[Stream, Stream]:
    """Watch the stream of a page and that of a pulse until each has sent what it begins with, and close them."""
    pages, lines = Stream(app, page), Stream(app, pulse, accept=LINES)
    await pages.until(lambda one: any(kind == "patch" for kind, _ in one.events))
    await lines.until(lambda one: one.events)
    await pages.close()
    await lines.close()
    return pages, lines
