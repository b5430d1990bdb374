"""The routes, their answers, and the handling of errors. This module knows pages by their entry in the registry."""

from __future__ import annotations

import time
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping, Sequence
from contextlib import asynccontextmanager, suppress
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from functools import partial
from threading import Thread
from typing import Any, Final, TypeVar

from starlette.applications import Starlette
from starlette.middleware import Middleware
from starlette.requests import Request
from starlette.responses import PlainTextResponse, RedirectResponse, Response
from starlette.routing import Route

from workkit.contract.record import compact
from workkit.errors import Invalid, NotFound, ServerError, ServerRefused, Unsupported, WorkkitError
from workkit.text.exposition import MISSING, is_installed, page_of
from workkit.web import sentences
from workkit.web.acting import Acting
from workkit.web.actions.action import Results
from workkit.web.auth import Role, Who
from workkit.web.cache import Served
from workkit.web.live.channel import Hub
from workkit.web.live.stream import Live
from workkit.web.mask import Veil
from workkit.web.middleware import Below, Guard, Measured, Requests, WebCollector
from workkit.web.page import Asked, Frame, Looking, Page, found_page, shown_zone
from workkit.web.pages import jump, schedules
from workkit.web.pages.registry import PAGES
from workkit.web.predictions import feed
from workkit.web.request import (
    VIEWS,
    YEAR_S,
    Entrance,
    Settings,
    own_path,
    read_views,
    with_view,
    without_view,
    written,
)
from workkit.web.response import (
    TYPES,
    Asking,
    Refused,
    calendar_answer,
    html,
    json_answer,
    last_values,
    live_address,
    make_ready,
    refusal_of,
    static_files,
    static_name,
    wants_json,
)
from workkit.web.words import JSON, read_spelled, spelled, url_path
from workkit.web.works import Works

FOREVER: Final = "public, max-age=31536000, immutable"
LINES: Final = ".jsonl"

T = TypeVar("T")
Handler = Callable[[Request], Awaitable[Response]]


def application(served: Sequence[Served], *, settings: Settings) -> Starlette:
    """Make the ASGI application for some schedules."""
    site = Site(served, settings)
    entrance = site.entrance
    routes = [
        Route("/", site.answering(site.index), methods=["GET"]),
        Route("/schedules.json", site.answering(site.index), methods=["GET"]),
        Route("/metrics", site.answering(site.metrics), methods=["GET"]),
        Route("/-/health", site.health, methods=["GET"]),
        Route("/-/jump", site.answering(site.find), methods=["GET"]),
        Route("/-/static/{hash}/{name}", static, methods=["GET"]),
        Route("/-/login", site.answering(entrance.login), methods=["GET", "POST"]),
        Route("/-/logout", site.answering(site.logout), methods=["POST"]),
        Route("/-/look", site.answering(entrance.look), methods=["POST"]),
        Route("/s/{s}", site.answering(site.schedule), methods=["GET"]),
        Route("/s/{s}/live", site.answering(site.live), methods=["GET"]),
        Route("/s/{s}/-/views", site.answering(site.save_view), methods=["POST"]),
        Route("/s/{s}/do/{verb}", site.answering(site.act), methods=["POST"]),
        Route("/s/{s}/next.ics", site.answering(site.calendar), methods=["GET"]),
        Route("/s/{s}/{path:path}", site.answering(site.page), methods=["GET", "POST"]),
        Route("/{path:path}", site.answering(site.nowhere), methods=["GET", "POST"]),
    ]
    middleware = [
        Middleware(Guard, hosts=settings.hosts),
        Middleware(Below, root=settings.root_path),
        Middleware(Measured, requests=site.requests),
    ]
    made = Starlette(routes=routes, middleware=middleware, lifespan=site.lifespan)
    made.state.hub = site.hub  # the server program ends its streams
    return made


async def static(request: Request) -> Response:
    """Answer a static file, named by its content."""
    name = request.path_params["name"]
    if name not in TYPES or f"{request.path_params['hash']}/{name}" != static_name(name):
        return PlainTextResponse("not found\n", status_code=404)
    headers = {"content-type": TYPES[name], "cache-control": FOREVER}  # the address changes with the content
    return Response(static_files()[name], headers=headers)


class Site:
    """The served schedules, and the answer to each address."""

    def __init__(self, served: Sequence[Served], settings: Settings) -> None:
        self.served = {one.name: one for one in served}
        self.settings = settings
        self.asking = Asking()
        self.results = Results()
        self.works = Works()
        self.requests = Requests()
        self.entrance = Entrance(settings)
        self.acting = Acting(asking=self.asking, results=self.results, works=self.works, entrance=self.entrance)
        self.hub = Hub(self.asking)
        self.streams = Live(self.hub, self.asking, self.works, polls=settings.polls)

    @asynccontextmanager
    async def lifespan(self, _: Starlette) -> AsyncIterator[None]:
        """Compile the templates in a thread. Stop the work in the background when the program ends."""
        Thread(target=make_ready, name="workkit-web-templates", daemon=True).start()
        yield
        self.works.close()

    def answering(self, handler: Handler) -> Handler:
        """Turn an error of a handler into an answer within the frame."""

        async def answered(request: Request) -> Response:
            try:
                return await handler(request)
            except Refused as refused:
                return self.entrance.refusal(request, refused)
            except WorkkitError as error:
                return self.entrance.refusal(request, refusal_of(error))

        return answered

    async def index(self, request: Request) -> Response:
        """Answer the list of all schedules, with the troubled ones; redirect where there is only one."""
        who = await self.entrance.enter(request)
        mine = [one for name, one in self.served.items() if who.role(name) is not None]
        is_json = wants_json(request)
        if len(mine) == 1 and not is_json:
            return RedirectResponse(f"{request.scope.get('root_path', '')}/s/{url_path(spelled(mine[0].name))}/", 303)
        frame = self.entrance.frame(request, who, title="Schedules", now=datetime.now(UTC))
        view = schedules.SchedulesView(lines=tuple([await self._line(one, frame, who) for one in mine]))
        if is_json:
            return json_answer(request, view.record())
        return html(request, schedules.TEMPLATE, {"frame": frame, "view": view})

    async def _line(self, served: Served, frame: Frame, who: Who) -> schedules.Line:
        zone = shown_zone(frame.chosen, served.zone)
        try:
            veil = self._veil(served, who.role(served.name))
            return await self.asking.of(served, partial(schedules.line, served, veil, zone))
        except ServerError as error:
            return schedules.away_line(served.name, sentences.away_sentence(error))

    async def find(self, request: Request) -> Response:
        """Answer a search in all schedules. With one schedule, redirect to its own search."""
        who = await self.entrance.enter(request)
        mine = [one for name, one in self.served.items() if who.role(name) is not None]
        if len(mine) == 1 and not wants_json(request):
            here = f"{request.scope.get('root_path', '')}/s/{url_path(spelled(mine[0].name))}/-/jump"
            return RedirectResponse(f"{here}?{request.url.query}", 303)
        frame = self.entrance.frame(request, who, title="Jump", several=len(self.served) > 1)
        params, views = last_values(request), []
        for served in mine:
            with suppress(ServerError, Unsupported):
                veil = self._veil(served, who.role(served.name))
                views.append(await self.asking.of(served, partial(self._found, served, veil, frame, params)))
        found = jump.joined(views, [one.name for one in mine], params.get("q", ""), datetime.now(UTC))
        if wants_json(request):
            return json_answer(request, found.record())
        template = jump.PAGE.fragment if "fragment" in params else jump.PAGE.template
        return html(request, template, {"frame": frame, "view": found})

    def _found(self, served: Served, veil: Veil, frame: Frame, params: Mapping[str, str]) -> jump.JumpView:
        pulse = veil.pulse(served.pulse())
        return jump.look(
            Asked(served=served, pulse=pulse, veil=veil, zone=frame.zone, names={}, params=params, pages=PAGES)
        )

    async def schedule(self, request: Request) -> Response:
        """Answer the page Now as JSON at `/s/NAME.json`; otherwise redirect to the address with a slash."""
        piece = request.path_params["s"]
        if piece.endswith(JSON):
            return await self._answer(request, piece.removesuffix(JSON), "", is_json=True)
        return RedirectResponse(f"{request.scope.get('root_path', '')}/s/{url_path(piece)}/", 303)

    async def page(self, request: Request) -> Response:
        """Answer a page of a schedule."""
        path: str = request.path_params["path"]
        if path.endswith(LINES) and (page := _with_lines(path.removesuffix(LINES))) is not None:
            return await self._lines(request, page)
        is_json = path.endswith(JSON)
        bare = path.removesuffix(JSON)
        return await self._answer(request, request.path_params["s"], bare, is_json=is_json or wants_json(request))

    async def _answer(self, request: Request, piece: str, path: str, *, is_json: bool) -> Response:
        request.state.is_json = is_json
        who, served, frame = await self._entered(request, piece)
        number = last_values(request).get("did", "")  # read before the page, because the act may have removed the page
        did = self.results.result(who.session, number)
        work = self.works.find(did.work) if did is not None and not did.refused else None
        frame = replace(frame, did=did, did_number=number, did_work=work)
        request.state.frame = frame
        found = found_page(PAGES, path)
        if found is None:
            raise Refused(404, f"{served.name} has no page {path!r}.")
        page, names = found
        params = last_values(request)
        if request.method == "POST":
            if not page.takes_form:
                raise Refused(405, "This page takes no form.")
            fields = await self.entrance.form(request, who=who)
            params |= {name: str(values[-1]) for name, values in fields.items() if values}
        looking = Looking(
            served=served, page=page, names=names, params=params, veil=self._veil(served, who.role(served.name)),
            zone=frame.zone, works=self.works, pages=PAGES,
        )  # fmt: skip
        if page.is_live and request.method == "GET":
            frame = replace(frame, live=live_address(frame, path, looking.params))
        try:
            asked, view = await self.asking.of(served, looking.at)
        except ServerError as error:
            return self._away(request, frame, served, page, error)
        looking.keep(asked, view, frame)
        if is_json:
            return json_answer(request, view.record())
        frame = replace(looking.framed(frame, asked), views=read_views(request.cookies.get(VIEWS, "")))
        if page.fragment and "fragment" in params:  # a fragment is part of another page, and its acts lead back there
            return html(request, page.fragment, {"frame": replace(frame, here=""), "view": view})
        return html(request, page.template, {"frame": frame, "view": view})

    async def _lines(self, request: Request, page: Page) -> Response:
        """Answer the whole content of a page as JSON Lines."""
        request.state.is_json = True
        _, served, frame = await self._entered(request, request.path_params["s"])
        veil = self._veil(served, frame.role)

        def written() -> bytes:
            assert page.lines is not None, "it was found by them"
            pulse, params = veil.pulse(served.pulse()), last_values(request)
            asked = Asked(served=served, pulse=pulse, veil=veil, zone=served.zone, names={}, params=params)
            return b"".join(compact(line).encode("utf-8", "replace") + b"\n" for line in page.lines(asked))

        return Response(await self.asking.of(served, written), headers={"content-type": "application/x-ndjson"})

    def _veil(self, served: Served, role: Role | None) -> Veil:
        veil = replace(self.settings.veil, parameters=served.signatures.names)
        return veil.all_hidden() if self.settings.hides_args and role == "viewer" else veil

    async def live(self, request: Request) -> Response:
        """Answer the stream of a page."""
        request.state.is_json = True
        who, served, frame = await self._entered(request, request.path_params["s"])
        still = partial(self.settings.way.who, request) if who.via == "login" else None
        return await self.streams.answer(request, frame, served, self._veil(served, frame.role), still=still)

    async def logout(self, request: Request) -> Response:
        """End a login, and the streams that it has open."""
        answer = await self.entrance.logout(request)
        self.hub.look_up()
        return answer

    async def save_view(self, request: Request) -> Response:
        """Save the filter of a page under a name, or remove one, in a cookie of the browser."""
        who, _, frame = await self._entered(request, request.path_params["s"])
        request.state.frame = frame
        fields = await self.entrance.form(request, who=who)
        page, name, back = (str(fields.get(field, [""])[-1]) for field in ("page", "name", "back"))
        views = read_views(request.cookies.get(VIEWS, ""))
        if "remove" in fields:
            views = without_view(views, page=page, name=str(fields["remove"][-1]))
        else:
            views = with_view(views, page=page, name=name, address=back)
        answer = RedirectResponse(own_path(back, root=frame.root), 303)
        answer.set_cookie(VIEWS, written(views), max_age=YEAR_S, path=frame.base, httponly=True, samesite="lax")
        return answer

    async def calendar(self, request: Request) -> Response:
        """Answer the planned jobs of a schedule as a calendar, to programs that have a token in the address."""
        name = read_spelled(request.path_params["s"])
        served = self.served.get(name)
        if not await self.entrance.may_read_feed(request, name) or served is None:
            raise Refused(404, f'No calendar of "{name}" here, or its address is no longer valid.')
        return calendar_answer(request, await self.asking.of(served, partial(feed, served)))

    async def act(self, request: Request) -> Response:
        """Carry out an act, and redirect to a page that shows the result in a line."""
        is_body = request.headers.get("content-type", "").startswith("application/json")
        request.state.is_json = is_body or wants_json(request)
        who, served, frame = await self._entered(request, request.path_params["s"])
        request.state.frame = frame
        try:
            return await self.acting.answer(request, served, frame, who, is_body=is_body)
        finally:
            served.forget()
            self.hub.hurry(served)

    async def _entered(self, request: Request, piece: str) -> tuple[Who, Served, Frame]:
        who = await self.entrance.enter(request)
        served = self._chosen(who, read_spelled(piece))
        several = len(self.served) > 1
        return who, served, self.entrance.frame(request, who, schedule=served.name, zone=served.zone, several=several)

    def _chosen(self, who: Who, name: str) -> Served:
        served = self.served.get(name)
        if served is None or who.role(name) is None:
            mine = [one for one in self.served if who.role(one) is not None]
            raise Refused(404, f'No schedule "{name}" here.', links=tuple((one, f"s/{spelled(one)}/") for one in mine))
        return served

    def _away(self, request: Request, frame: Frame, served: Served, page: Page, error: ServerError) -> Response:
        """Answer that the server does not respond, with the last view of the page at this address."""
        ms = served.away_ms or 0
        if request.state.is_json:
            return json_answer(request, refusal_of(error).record() | {"away_ms": ms}, status=503)
        kept = None if "{" in page.path else served.kept(f"{page.name} {frame.role}")
        now, view = kept or (datetime.now(UTC), None)
        frame = replace(frame, title=page.title, page=page.name, now=now, away_ms=ms)
        since = datetime.now(UTC) - timedelta(milliseconds=ms)
        away = sentences.away_sentence(error, since=since, now=now, zone=frame.zone)
        as_of = None if view is None else sentences.as_of(now, since, frame.zone)
        said = sentences.away(ms, refuses=isinstance(error, ServerRefused))
        values: Mapping[str, Any] = {"frame": frame, "view": view, "said": said, "away": away, "as_of": as_of}
        return html(request, page.template if view else "away.html", values, status=503)

    async def nowhere(self, request: Request) -> Response:
        """Answer an unknown address."""
        await self.entrance.enter(request)
        raise Refused(404, "There is no such page.", links=(("The schedules", ""),))

    async def metrics(self, request: Request) -> Response:
        """Answer the metrics of this process, for the schedules in which the user has a role."""
        who = await self.entrance.enter(request)
        if not is_installed():
            return PlainTextResponse(f"{MISSING}\n", status_code=404)
        ages = {one.name: one.shown_age_s for one in self.served.values() if who.role(one.name) is not None}
        known = {name: age for name, age in ages.items() if age is not None}
        kind, text = page_of(WebCollector(self.requests, len(self.hub), known))()
        return Response(text, headers={"content-type": kind})

    async def health(self, request: Request) -> Response:
        """Answer that the process lives; with `ready=1`, whether every server answers."""
        if "ready" not in request.query_params:
            return PlainTextResponse("ok\n")
        began = time.monotonic()
        for served in self.served.values():
            try:
                await self.asking.of(served, partial(_control, served))
            except Unsupported:
                continue
            except (ServerError, NotFound, Invalid):
                return PlainTextResponse(f"{served.name} is away\n", status_code=503)
        return PlainTextResponse(f"ready in {(time.monotonic() - began) * 1000:.0f} ms\n")


def _control(served: Served) -> object:
    return served.inspector().control()


def _with_lines(path: str) -> Page | None:
    found = found_page(PAGES, path)
    return found[0] if found is not None and found[0].lines is not None else None
