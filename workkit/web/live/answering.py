"""`/s/{s}/live`: which page it is for, who may see it, and in which of three ways it is answered."""

from __future__ import annotations

from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta
from typing import Final

from starlette.requests import Request
from starlette.responses import JSONResponse, Response

from workkit.contract.inspector import Pulse
from workkit.errors import ServerError
from workkit.web import sentences
from workkit.web.answering.answer import Refused, json_answer, last_values, refusal_of
from workkit.web.answering.asking import Asking
from workkit.web.answering.looking import Looking
from workkit.web.background.works import Works
from workkit.web.frame import Frame
from workkit.web.hiding.veil import Veil
from workkit.web.live.hub import Hub
from workkit.web.live.pieces import changed, tag_of
from workkit.web.live.sight import OWN, Sight, shared
from workkit.web.live.stream import Stream
from workkit.web.live.viewer import PageViewer, PulseViewer
from workkit.web.page import found_page
from workkit.web.pages.registry import PAGES
from workkit.web.render import static_version, write
from workkit.web.served import Served

EVENTS: Final = "text/event-stream"
LINES: Final = "application/x-ndjson"


@dataclass(frozen=True, slots=True)
class Live:
    """Answers streams, and for who cannot have one the pieces of a page as they are."""

    hub: Hub
    asking: Asking
    works: Works
    polls: bool = False

    async def answer(self, request: Request, frame: Frame, served: Served, veil: Veil) -> Response:
        """Answer for somebody who may see the schedule: by `Accept`, a stream of events, one of lines for programs, or
        once the pieces as JSON.
        """
        accepted = request.headers.get("accept", "")
        if request.method == "HEAD":
            accepted = ""
        if LINES in accepted:
            self._check_streams()
            return Stream(self.hub.open(served, lambda channel: PulseViewer(channel, veil)), LINES)
        sight = _sight(request, frame, served, veil, self.works)
        if EVENTS not in accepted:
            return await self._once(request, sight)
        self._check_streams()
        is_old = request.query_params.get("version", "") not in ("", static_version())
        return Stream(self.hub.open(served, lambda channel: PageViewer(channel, sight, is_old=is_old)), EVENTS)

    def _check_streams(self) -> None:
        if self.polls:
            raise Refused(404, 'There are no streams here. Ask again and again, with "Accept: application/json".')

    async def _once(self, request: Request, sight: Sight) -> Response:
        """Answer the pieces as they are, with an `ETag` that a mere passing of time does not change."""
        served, channel = sight.looking.served, self.hub.channel(sight.looking.served)
        shown = channel.shown(sight.key) if channel is not None and channel.away is None else None
        try:
            pieces = shown.pieces if shown is not None else None
            if pieces is None:
                pieces = await self.asking.call(lambda: sight.draw(_pulse(served)))
        except ServerError as error:
            served.lost(error)
            since = datetime.now(UTC) - timedelta(milliseconds=served.away_ms or 0)
            said = sentences.away_sentence(error, since=since, zone=sight.frame.zone)
            banner = write("parts/away-banner.html", away=said, as_of="then")
            known = {"away_ms": served.away_ms or 0, "html": banner}
            return json_answer(request, refusal_of(error).record() | known, status=503)
        served.reached()
        headers = {"etag": tag_of(pieces), "vary": "Accept, Cookie", "cache-control": "no-store"}
        if request.headers.get("if-none-match") == headers["etag"]:
            return Response(status_code=304, headers=headers)
        return JSONResponse({"version": static_version(), "patch": changed({}, pieces)}, headers=headers)


def _pulse(served: Served) -> Pulse:
    return served.inspector().pulse()


def _sight(request: Request, frame: Frame, served: Served, veil: Veil, works: Works) -> Sight:
    path = request.query_params.get("page", "")
    found = found_page(PAGES, path)
    role = frame.role
    if found is None or role is None or not found[0].is_live:
        raise Refused(404, f"{served.name} has no page {path!r}.")
    page, names = found
    params = {name: value for name, value in last_values(request).items() if name not in OWN}
    looking = Looking(
        served=served, page=page, names=names, params=params, veil=veil, zone=frame.zone, works=works
    )  # fmt: skip
    return Sight(looking=looking, frame=replace(shared(frame, role, path=path, params=params), title=page.title))
