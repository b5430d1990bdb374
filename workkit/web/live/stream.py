"""`/s/{s}/live`: the page of a stream, the data that its client still lacks, and how that is sent.

Pages get server-sent events, programs a line of JSON for each pulse. Nothing is queued: a slow client gets the newest.
"""

from __future__ import annotations

import asyncio
import random
import time
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta
from typing import Any, Final, Protocol

from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.types import Receive, Scope, Send

from workkit.contract.inspector import Pulse
from workkit.contract.record import compact, counts_record, job_record, listener_record
from workkit.errors import ServerError
from workkit.text.wording import iso
from workkit.web import sentences
from workkit.web.cache import Served
from workkit.web.live.channel import Away, Channel, Hub
from workkit.web.live.view import LiveView, Pieces, changed, shared, tag_of
from workkit.web.mask import Veil
from workkit.web.page import OWN, Frame, Looking, found_page
from workkit.web.pages.registry import PAGES
from workkit.web.response import Asking, Refused, json_answer, last_values, refusal_of, static_version, write
from workkit.web.works import Works


def event(kind: str, record: Mapping[str, Any]) -> bytes:
    """Write a server-sent event. JSON has no line end in it, so one line holds it."""
    return f"event: {kind}\ndata: {compact(record)}\n\n".encode("utf-8", "replace")


def line(record: Mapping[str, Any]) -> bytes:
    """Write a line for programs."""
    return f"{compact(record)}\n".encode("utf-8", "replace")


def pulse_record(schedule: str, pulse: Pulse) -> dict[str, Any]:
    """Write a pulse as values, in the records that `--json` of the command line prints."""
    return {
        "schedule": schedule,
        "as_of": iso(pulse.now),
        "counts": counts_record(schedule, pulse.counts),
        "soon": [job_record(job) for job in pulse.soon],
        "listeners": [listener_record(info) for info in pulse.listeners],
        "paused": sorted(pulse.control.paused),
        "unknown": dict(pulse.unknown),
    }


CLOCK_S: Final = 10.0
BEAT_S: Final = 4.0
"""Longest silence of a stream, in s. After 12 s of silence its page shows that the server is gone."""

LIFE_S: Final = 300.0
SPREAD: Final = 0.15  # of a life, so that streams that began together do not end together


class Viewer(Protocol):
    """One stream. `woken` is set when there may be data to send; `is_over`: nothing follows."""

    woken: asyncio.Event
    is_over: bool

    def take(self) -> bytes:
        """Return the data that the client lacks; empty where it has all."""

    def rest_s(self) -> float:
        """Return for how many seconds nothing needs to be sent if nothing happens."""

    def leave(self) -> None:
        """Leave the channel."""


class PageViewer:
    """Sends the pieces of a page, the clock, and whether the server answers. `is_old`: another version of workkit made
    the open page.
    """

    def __init__(self, channel: Channel, view: LiveView, *, is_old: bool = False, life_s: float = LIFE_S) -> None:
        self.woken = asyncio.Event()
        self.woken.set()
        self.is_over = False
        self._channel = channel
        shown = channel.join(self.woken, view)
        assert shown is not None, "it has a view"
        self._shown = shown
        self._is_old = is_old
        now = time.monotonic()
        self._ends = now + life_s * random.uniform(1 - SPREAD, 1 + SPREAD)
        self._sent: Pieces = {}
        self._away: Away | None = None
        self._clock, self._last = now - CLOCK_S, now

    def take(self) -> bytes:
        """Return the data that the client lacks: see `Viewer`."""
        now = time.monotonic()
        said = b"".join(self._lacks(now))
        if not said and now - self._last >= BEAT_S:
            said = event("beat", {})
        if said:
            self._last = now
        if now >= self._ends:  # the client opens the next one at once
            self.is_over = True
            said += event("bye", {})
        if self._channel.is_over or self._shown.is_broken:
            self.is_over = True
        return said

    def _lacks(self, now: float) -> list[bytes]:
        said = []
        if self._is_old:
            said.append(event("reload", {"html": write("parts/new-version.html")}))
            self._is_old = False
        if (away := self._channel.away) != self._away:
            if away is None:
                said.append(event("back", {}))
                self._sent = {}  # after an outage everything is sent again
            else:
                banner = write("parts/away-banner.html", **self._away_words(away, now))
                said.append(event("away", {"away_ms": int((now - away.since) * 1000), "html": banner}))
            self._away = away
        if away is None and (pulse := self._channel.pulse) is not None:
            if now - self._clock >= CLOCK_S:
                self._clock = now
                ms = pulse.now_ms + int((now - self._channel.answered) * 1000)
                said.append(event("clock", {"ms": ms}))
            if (pieces := self._shown.pieces) is not None and pieces is not self._sent:
                if found := changed(self._sent, pieces):
                    said.append(event("patch", found))
                self._sent = pieces
        return said

    def _away_words(self, away: Away, now: float) -> dict[str, str | None]:
        """Say since when the server is away, in the shown zone, and how old the shown view is."""
        zone, present, pulse = self._shown.view.frame.zone, datetime.now(UTC), self._channel.pulse
        since = present - timedelta(seconds=now - away.since)
        said = sentences.away_sentence(away.error, since=since, now=present, zone=zone)
        return {"away": said, "as_of": None if pulse is None else sentences.as_of(pulse.now, since, zone)}

    def rest_s(self) -> float:
        """Return how long to rest: see `Viewer`."""
        next_s = min(self._ends, self._clock + CLOCK_S if self._away is None else self._ends, self._last + BEAT_S)
        return max(0.01, next_s - time.monotonic())

    def leave(self) -> None:
        """Leave: see `Viewer`."""
        self._channel.leave(self.woken)


class PulseViewer:
    """Sends each pulse as a line of JSON, and a line with `away_ms` while the server does not answer."""

    def __init__(self, channel: Channel, veil: Veil, *, life_s: float = LIFE_S) -> None:
        self.woken = asyncio.Event()
        self.is_over = False
        self._channel, self._veil = channel, veil
        channel.join(self.woken, None)
        self._ends = time.monotonic() + life_s * random.uniform(1 - SPREAD, 1 + SPREAD)
        self._sent: object = None

    def take(self) -> bytes:
        """Return the newest pulse: see `Viewer`."""
        channel, now = self._channel, time.monotonic()
        self.is_over = channel.is_over or now >= self._ends
        newest = channel.away or channel.pulse
        if newest is None or newest is self._sent:
            return b""
        self._sent = newest
        name = channel.served.name
        if (away := channel.away) is not None:
            ms = int((now - away.since) * 1000)
            return line({"schedule": name, "error": str(away.error), "away_ms": ms})
        assert channel.pulse is not None, "it is the newest"
        return line(pulse_record(name, self._veil.pulse(channel.pulse)))

    def rest_s(self) -> float:
        """Rest until it ends: see `Viewer`."""
        return max(0.01, self._ends - time.monotonic())

    def leave(self) -> None:
        """Leave: see `Viewer`."""
        self._channel.leave(self.woken)


STUCK_S: Final = 15.0
Still = Callable[[], Awaitable[object | None]]
HEADERS: Final = {
    "cache-control": "no-cache, no-transform",
    "x-accel-buffering": "no",
    "vary": "Accept, Cookie",
}


class Stream(Response):
    """One stream. It ends where a client reads nothing for 15 s. `still`: returns the user, or None once the login has
    ended. It is called at each pulse, so that a logout in another process ends the stream too.
    """

    def __init__(
        self, viewer: Viewer, media_type: str, *, stuck_s: float = STUCK_S, still: Still | None = None
    ) -> None:
        super().__init__(headers=HEADERS, media_type=media_type)
        del self.headers["content-length"]
        self._viewer, self._stuck_s, self._still = viewer, stuck_s, still

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Send until one of both sides ends the stream."""
        viewer = self._viewer
        gone = asyncio.ensure_future(_disconnected(receive))
        gone.add_done_callback(lambda _: viewer.woken.set())
        try:
            await send({"type": "http.response.start", "status": 200, "headers": self.raw_headers})
            while not gone.done():
                viewer.woken.clear()
                if self._still is not None and await self._still() is None:
                    await asyncio.wait_for(send({"type": "http.response.body", "body": b""}), self._stuck_s)
                    return
                if said := viewer.take():
                    message = {"type": "http.response.body", "body": said, "more_body": True}
                    await asyncio.wait_for(send(message), self._stuck_s)
                if viewer.is_over:
                    await asyncio.wait_for(send({"type": "http.response.body", "body": b""}), self._stuck_s)
                    return
                try:
                    await asyncio.wait_for(viewer.woken.wait(), viewer.rest_s())
                except TimeoutError:
                    continue
        except TimeoutError:  # the client reads nothing; it gets the newest when it connects again
            return
        finally:
            gone.cancel()
            viewer.leave()


async def _disconnected(receive: Receive) -> None:
    while (await receive())["type"] != "http.disconnect":
        pass


EVENTS: Final = "text/event-stream"
LINES: Final = "application/x-ndjson"


@dataclass(frozen=True, slots=True)
class Live:
    """Answers streams. A client that cannot have a stream gets the pieces of the page once."""

    hub: Hub
    asking: Asking
    works: Works
    polls: bool = False

    async def answer(
        self, request: Request, frame: Frame, served: Served, veil: Veil, *, still: Still | None = None
    ) -> Response:
        """Answer a user who may see the schedule. By `Accept`: a stream of events, a stream of lines for programs, or
        the pieces once as JSON.
        """
        accepted = request.headers.get("accept", "")
        if request.method == "HEAD":
            accepted = ""
        if LINES in accepted:
            self._check_streams()
            return Stream(self.hub.open(served, lambda channel: PulseViewer(channel, veil)), LINES, still=still)
        view = _view(request, frame, served, veil, self.works)
        if EVENTS not in accepted:
            return await self._once(request, view)
        self._check_streams()
        is_old = request.query_params.get("version", "") not in ("", static_version())
        viewer = self.hub.open(served, lambda channel: PageViewer(channel, view, is_old=is_old))
        return Stream(viewer, EVENTS, still=still)

    def _check_streams(self) -> None:
        if self.polls:
            raise Refused(404, 'There are no streams here. Ask again and again, with "Accept: application/json".')

    async def _once(self, request: Request, view: LiveView) -> Response:
        """Answer the pieces of the page once, with an `ETag` that does not change with time alone."""
        served, channel = view.looking.served, self.hub.channel(view.looking.served)
        shown = channel.shown(view.key) if channel is not None and channel.away is None else None
        try:
            pieces = shown.pieces if shown is not None else None
            if pieces is None:
                pieces = await self.asking.call(lambda: view.draw(served.pulse()))
        except ServerError as error:
            served.lost(error)
            since = datetime.now(UTC) - timedelta(milliseconds=served.away_ms or 0)
            said = sentences.away_sentence(error, since=since, zone=view.frame.zone)
            banner = write("parts/away-banner.html", away=said, as_of="then")
            known = {"away_ms": served.away_ms or 0, "html": banner}
            return json_answer(request, refusal_of(error).record() | known, status=503)
        served.reached()
        headers = {"etag": tag_of(pieces), "vary": "Accept, Cookie", "cache-control": "no-store"}
        if request.headers.get("if-none-match") == headers["etag"]:
            return Response(status_code=304, headers=headers)
        return JSONResponse({"version": static_version(), "patch": changed({}, pieces)}, headers=headers)


def _view(request: Request, frame: Frame, served: Served, veil: Veil, works: Works) -> LiveView:
    path = request.query_params.get("page", "")
    found = found_page(PAGES, path)
    role = frame.role
    if found is None or role is None or not found[0].is_live:
        raise Refused(404, f"{served.name} has no page {path!r}.")
    page, names = found
    params = {name: value for name, value in last_values(request).items() if name not in OWN}
    looking = Looking(
        served=served, page=page, names=names, params=params, veil=veil, zone=frame.zone, works=works, pages=PAGES,
    )  # fmt: skip
    return LiveView(looking=looking, frame=replace(shared(frame, role, path=path, params=params), title=page.title))
