"""The routes, what each answers, and what becomes of an error. Pages are known here by their entry in the registry."""

from __future__ import annotations

import secrets
import time
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import replace
from datetime import UTC, datetime, tzinfo
from functools import partial
from typing import Any, Final, TypeVar
from urllib.parse import quote

from starlette.applications import Starlette
from starlette.middleware import Middleware
from starlette.requests import Request
from starlette.responses import PlainTextResponse, RedirectResponse, Response
from starlette.routing import Route

from workkit.errors import Invalid, NotFound, ServerError, ServerRefused, Unsupported, WorkkitError
from workkit.web import sentences
from workkit.web.acts.act import Doing, Order, Result
from workkit.web.acts.carry_out import carry_out, read_order
from workkit.web.acts.deeds import Deeds
from workkit.web.acts.registry import ACTS
from workkit.web.acts.verbs import Verbs
from workkit.web.address import JSON, read_spelled, spelled, url_path
from workkit.web.answer import (
    Refused,
    calendar_answer,
    html,
    json_answer,
    last_values,
    refusal_of,
    result_record,
    result_status,
    wants_json,
)
from workkit.web.asking import Asking
from workkit.web.door.guard import Guard
from workkit.web.door.role import Role, Who, may
from workkit.web.entrance import Entrance, own_path
from workkit.web.feed import feed
from workkit.web.frame import Frame
from workkit.web.page import Asked, Page, View
from workkit.web.pages import schedules
from workkit.web.pages.registry import PAGES
from workkit.web.render import TYPES, static_files, static_name
from workkit.web.served import Served
from workkit.web.settings import Settings

FOREVER: Final = "public, max-age=31536000, immutable"
UNDO: Final = "undo"

T = TypeVar("T")
Handler = Callable[[Request], Awaitable[Response]]


def application(served: Sequence[Served], *, settings: Settings) -> Starlette:
    """Make the ASGI application of some schedules."""
    site = Site(served, settings)
    entrance = site.entrance
    routes = [
        Route("/", site.answering(site.index), methods=["GET"]),
        Route("/schedules.json", site.answering(site.index), methods=["GET"]),
        Route("/-/health", site.health, methods=["GET"]),
        Route("/-/static/{hash}/{name}", static, methods=["GET"]),
        Route("/-/login", site.answering(entrance.login), methods=["GET", "POST"]),
        Route("/-/logout", site.answering(entrance.logout), methods=["POST"]),
        Route("/-/look", site.answering(entrance.look), methods=["POST"]),
        Route("/s/{s}", site.answering(site.schedule), methods=["GET"]),
        Route("/s/{s}/do/{verb}", site.answering(site.act), methods=["POST"]),
        Route("/s/{s}/next.ics", site.answering(site.calendar), methods=["GET"]),
        Route("/s/{s}/{path:path}", site.answering(site.page), methods=["GET"]),
        Route("/{path:path}", site.answering(site.nowhere), methods=["GET", "POST"]),
    ]
    return Starlette(routes=routes, middleware=[Middleware(Guard, hosts=settings.hosts)])


async def static(request: Request) -> Response:
    """Answer a static file, named by its content."""
    name = request.path_params["name"]
    if name not in TYPES or f"{request.path_params['hash']}/{name}" != static_name(name):
        return PlainTextResponse("not found\n", status_code=404)
    return Response(
        static_files()[name], headers={"content-type": TYPES[name], "cache-control": FOREVER}
    )  # the hash in the address changes with the content


class Site:
    """The schedules that are served, and how each address is answered."""

    def __init__(self, served: Sequence[Served], settings: Settings) -> None:
        self.served = {one.name: one for one in served}
        self.settings = settings
        self.asking = Asking()
        self.deeds = Deeds()
        self.entrance = Entrance(settings)

    def answering(self, handler: Handler) -> Handler:
        """Turn what a handler raises into an answer within the frame."""

        async def answered(request: Request) -> Response:
            try:
                return await handler(request)
            except Refused as refused:
                return self.entrance.refusal(request, refused)
            except WorkkitError as error:
                return self.entrance.refusal(request, refusal_of(error))

        return answered

    async def index(self, request: Request) -> Response:
        """Answer all schedules: the one there is, or which is in trouble."""
        who = await self.entrance.enter(request)
        mine = [one for name, one in self.served.items() if who.role(name) is not None]
        is_json = wants_json(request)
        if len(mine) == 1 and not is_json:
            return RedirectResponse(f"{request.scope.get('root_path', '')}/s/{url_path(spelled(mine[0].name))}/", 303)
        view = schedules.SchedulesView(lines=tuple([await self._line(one) for one in mine]))
        if is_json:
            return json_answer(request, view.record())
        frame = self.entrance.frame(request, who, title="Schedules", now=datetime.now(UTC))
        return html(request, schedules.TEMPLATE, {"frame": frame, "view": view})

    async def _line(self, served: Served) -> schedules.Line:
        try:
            return await self._asked(served, partial(schedules.line, served, self.settings.veil))
        except ServerError as error:
            return schedules.away_line(served.name, str(error))

    async def schedule(self, request: Request) -> Response:
        """Answer the page Now as JSON at `/s/NAME.json`; else lead to the address with a slash."""
        piece = request.path_params["s"]
        if piece.endswith(JSON):
            return await self._answer(request, piece.removesuffix(JSON), "", is_json=True)
        return RedirectResponse(f"{request.scope.get('root_path', '')}/s/{url_path(piece)}/", 303)

    async def page(self, request: Request) -> Response:
        """Answer a page of a schedule."""
        path = raw_path(request)
        is_json = path.endswith(JSON)
        bare = path.removesuffix(JSON)
        return await self._answer(request, request.path_params["s"], bare, is_json=is_json or wants_json(request))

    async def _answer(self, request: Request, piece: str, path: str, *, is_json: bool) -> Response:
        request.state.is_json = is_json
        who = await self.entrance.enter(request)
        served = self._chosen(who, read_spelled(piece))
        frame = self.entrance.frame(request, who, schedule=served.name, zone=served.zone, several=len(self.served) > 1)
        number = last_values(request).get("did", "")  # known before the page, which an act may have taken away
        frame = replace(frame, did=self.deeds.result(who.session, number), did_number=number)
        request.state.frame = frame
        found = next(((one, names) for one in PAGES if (names := one.matches(path)) is not None), None)
        if found is None:
            raise Refused(404, f"{served.name} has no page {path!r}.")
        page, names = found
        role = who.role(served.name)
        veil = self.settings.veil.all_hidden() if self.settings.hides_args and role == "viewer" else self.settings.veil

        def look() -> tuple[Asked, View]:
            pulse = veil.pulse(served.inspector().pulse())
            asked = Asked(
                served=served, pulse=pulse, veil=veil, zone=frame.zone, names=names, params=last_values(request)
            )
            return asked, page.look(asked)

        try:
            asked, view = await self._asked(served, look)
        except ServerError as error:
            return self._away(request, frame, served, page, error)
        served.keep(f"{page.name} {frame.role}", (asked.now, view))
        if is_json:
            return json_answer(request, view.record())
        frame = self.entrance.filled(frame, page=page, now=asked.now, counts=asked.pulse.counts)
        return html(request, page.template, {"frame": frame, "view": view})

    async def calendar(self, request: Request) -> Response:
        """Answer what is planned in a schedule as a calendar, to programs that have a token in the address."""
        name = read_spelled(request.path_params["s"])
        served = self.served.get(name)
        if not await self.entrance.may_read_feed(request, name) or served is None:
            raise Refused(404, f'No calendar of "{name}" here, or its address is no longer valid.')
        return calendar_answer(request, await self._asked(served, partial(feed, served)))

    async def act(self, request: Request) -> Response:
        """Carry out an act, and lead back to where a line says what was done."""
        is_body = request.headers.get("content-type", "").startswith("application/json")
        request.state.is_json = is_body or wants_json(request)
        who = await self.entrance.enter(request)
        served = self._chosen(who, read_spelled(request.path_params["s"]))
        frame = self.entrance.frame(request, who, schedule=served.name, zone=served.zone, several=len(self.served) > 1)
        request.state.frame = frame
        verb, role = request.path_params["verb"], who.role(served.name)
        if verb not in (*ACTS, UNDO) or served.verbs is None or role is None:
            raise Refused(404, f'There is no act "{verb}".', fields={"accepted": ", ".join((*ACTS, UNDO))})
        self._check_role(role, verb)
        fields = await self.entrance.form(request, who=who, is_body=is_body)
        order = self._undoing(who, fields) if verb == UNDO else read_order(verb, fields)
        if isinstance(order, str):
            raise Refused(400, order)
        self._check_role(role, order.verb)
        number = str(fields.get("number", [""])[-1])
        if number and not self.deeds.is_new(who.session, number):
            return self._did(request, frame, fields, number, self.deeds.result(who.session, number))
        number = number or secrets.token_hex(8)
        try:
            result = await self._asked(served, partial(_carried_out, served, served.verbs, order, role, frame.zone))
        except WorkkitError:
            self.deeds.keep(who.session, number, None)
            raise
        finally:
            served.forget()
        self.deeds.keep(who.session, number, result)
        return self._did(request, frame, fields, number, result)

    def _check_role(self, role: Role, verb: str) -> None:
        needed = ACTS[verb].role if verb in ACTS else "operator"
        if not may(role, needed):
            raise Refused(403, f"Your role is {role}; this needs {needed}.")

    def _undoing(self, who: Who, fields: Mapping[str, Any]) -> Order:
        """Find the act that undoes one of this session."""
        result = self.deeds.result(who.session, str(fields.get("of", [""])[-1]))
        if result is None or result.undo is None:
            raise Refused(409, "This can no longer be undone.")
        return result.undo

    def _did(
        self, request: Request, frame: Frame, fields: Mapping[str, Any], number: str, result: Result | None
    ) -> Response:
        if request.state.is_json:
            return json_answer(request, result_record(result, number), status=result_status(result))
        back = own_path(str(fields.get("back", [""])[-1]), root=frame.root).partition("?")[0]
        return RedirectResponse(f"{back}?did={quote(number)}", 303)

    def _chosen(self, who: Who, name: str) -> Served:
        served = self.served.get(name)
        if served is None or who.role(name) is None:
            mine = [one for one in self.served if who.role(one) is not None]
            raise Refused(404, f'No schedule "{name}" here.', links=tuple((one, f"s/{spelled(one)}/") for one in mine))
        return served

    async def _asked(self, served: Served, function: Callable[[], T]) -> T:
        try:
            found = await self.asking.call(function)
        except ServerError as error:
            served.lost(error)
            raise
        served.reached()
        return found

    def _away(self, request: Request, frame: Frame, served: Served, page: Page, error: ServerError) -> Response:
        """Answer that the server does not, with what was last seen of the page on this address."""
        ms = served.away_ms or 0
        if request.state.is_json:
            return json_answer(request, refusal_of(error).record() | {"away_ms": ms}, status=503)
        who: Who | None = frame.who
        kept = (
            served.kept(f"{page.name} {who.role(served.name) if who else None}") if not page.path.count("{") else None
        )
        now, view = kept or (datetime.now(UTC), None)
        frame = self.entrance.filled(frame, page=page, now=now, counts=None, away_ms=ms)
        said = sentences.away(ms, refuses=isinstance(error, ServerRefused))
        values: Mapping[str, Any] = {"frame": frame, "view": view, "said": said, "error": str(error)}
        return html(request, page.template if view else "away.html", values, status=503)

    async def nowhere(self, request: Request) -> Response:
        """Answer an address that is none."""
        await self.entrance.enter(request)
        raise Refused(404, "There is no such page.", links=(("The schedules", ""),))

    async def health(self, request: Request) -> Response:
        """Answer that the process lives; with `ready=1`, whether every server answers."""
        if "ready" not in request.query_params:
            return PlainTextResponse("ok\n")
        began = time.monotonic()
        for served in self.served.values():
            try:
                await self._asked(served, partial(_control, served))
            except Unsupported:
                continue
            except (ServerError, NotFound, Invalid):
                return PlainTextResponse(f"{served.name} is away\n", status_code=503)
        return PlainTextResponse(f"ready in {(time.monotonic() - began) * 1000:.0f} ms\n")


def _carried_out(served: Served, verbs: Verbs, order: Order, role: Role, zone: tzinfo) -> Result:
    inspector = served.inspector()
    doing = Doing(
        schedule=served.name, verbs=verbs, inspector=inspector, role=role, now=datetime.now(UTC), zone=zone
    )  # fmt: skip
    return carry_out(doing, order)


def _control(served: Served) -> object:
    return served.inspector().control()


def raw_path(request: Request) -> str:
    """Give the path below a schedule."""
    path: str = request.path_params["path"]
    return path
