"""Handles the user of a request: login, logout, the frame of the answer, and saved views, which are filters with a
name.

`Settings` is the configuration by the program that serves the web. Saved views are in a cookie of the browser, one for
each schedule, so no server and no other user knows them.
"""

from __future__ import annotations

import asyncio
import hmac
import json
from base64 import urlsafe_b64decode, urlsafe_b64encode
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime, tzinfo
from http import HTTPStatus
from typing import Any, Final
from urllib.parse import parse_qs, parse_qsl, urlencode

from starlette.requests import ClientDisconnect, Request
from starlette.responses import RedirectResponse, Response

from workkit.errors import TriggerError
from workkit.triggers.zone import zone as read_zone
from workkit.web.auth import LOGIN_S, Signer, Way, Who, is_same_origin
from workkit.web.login import COOKIE, Login, TooManyFailures
from workkit.web.mask import Veil
from workkit.web.page import THEMES, Frame, SavedView, shown_zone
from workkit.web.pages.registry import PAGES
from workkit.web.response import Refused, html, json_answer, wants_json
from workkit.web.words import url_path


@dataclass(frozen=True, slots=True, kw_only=True)
class Settings:
    """How the web is served. `hosts`: see `workkit.web.middleware.Guard`; `origins`: see
    `workkit.web.auth.is_same_origin`. `is_read_only`: every user is at most a viewer. `env`: the name of the
    environment, in the bar. `hides_args`: a viewer sees no argument. `polls`: pages poll, and no stream is opened.
    `root_path`: see `Below`.
    """

    way: Way
    signer: Signer
    veil: Veil
    hosts: Collection[str] | None = None
    origins: Collection[str] = field(default_factory=frozenset)
    is_read_only: bool = False
    hides_args: bool = False
    env: str = ""
    title: str = ""
    polls: bool = False
    root_path: str = ""


MOST_BYTES: Final = 64_000
BODY_S: Final = 30.0  # s; longest time for a form to arrive
THEME, ZONE = "workkit_theme", "workkit_zone"
OWN_ZONE: Final = "schedule"  # in a form: the times of each schedule in its own zone again
YEAR_S: Final = 365 * 86_400
NOBODY: Final = "nobody"
OLD_FORM: Final = "The token of this form is missing or old, as after a restart: nothing was done. Send the form again."


class Entrance:
    """Checks the user of each request, by the settings."""

    def __init__(self, settings: Settings) -> None:
        self.settings = settings

    async def enter(self, request: Request) -> Who:
        """Return the user of a request. Raises Refused: 401, or 404 where the login is hidden too."""
        who = await self.settings.way.who(request)
        if who is None:
            if self.settings.way.is_hidden:
                raise Refused(404, "Not found.")
            raise Refused(401, "Log in to go on." if self.settings.way.has_login else "You may not come in here.")
        return who.at_most("viewer") if self.settings.is_read_only else who

    async def may_read_feed(self, request: Request, schedule: str) -> bool:
        """Return whether the request may read the calendar of a schedule: with a token in the address, if its user
        still has a role there; else as a user who may see the pages. Raises Refused as `enter`.
        """
        token = request.query_params.get("token")
        if token is None:
            return (await self.enter(request)).role(schedule) is not None
        name = self.settings.signer.feed_name(token)
        known = self.settings.way.known(name) if name is not None else None
        if name is None or known is None:
            return False
        right = self.settings.signer.feed_token(schedule, name, stamp=known.stamp)
        who = Who(name=name, roles=known.roles, via="token", session="")
        return hmac.compare_digest(token.encode(), right.encode()) and who.role(schedule) is not None

    def _feed(self, who: Who | None, schedule: str) -> str:
        known = self.settings.way.known(who.name) if who is not None and who.via != "token" else None
        if who is None or known is None or who.role(schedule) is None:
            return ""
        return self.settings.signer.feed_token(schedule, who.name, stamp=known.stamp)

    async def form(self, request: Request, *, who: Who | None = None, is_body: bool = False) -> dict[str, list[Any]]:
        """Read a form of ours, or with `is_body` a JSON object, at most 64 kB. Raises Refused for a form from another
        origin or without our token. A program with a token of its own needs neither.
        """
        is_program = who is not None and who.via == "token"
        if not is_program and not is_same_origin(request, self.settings.origins):
            raise Refused(403, "This request comes from elsewhere. Open the page here, and try again.")
        body = await _body(request)
        fields = read_body(body) if is_body else _read_form(body)
        token = request.headers.get("x-token") or str(next(iter(fields.get("token", [])), ""))
        session = who.session if who is not None else NOBODY
        if not is_program and not self.settings.signer.is_form_token(token, session):
            raise Refused(403, OLD_FORM, form=fields)
        return fields

    async def login(self, request: Request) -> Response:
        """Answer the login form, or log a user in."""
        way = self.settings.way
        if not isinstance(way, Login):
            raise Refused(404, "There is no login here.")
        if request.method == "GET":
            return self._login_form(request, "", status=200)
        fields = await self.form(request)
        address = request.client.host if request.client else "unix"
        try:
            cookie = await way.cookie(fields.get("name", [""])[-1], fields.get("password", [""])[-1], address=address)
        except TooManyFailures:
            return self._login_form(request, "Too many tries. Wait a minute.", status=429, fields=fields)
        if cookie is None:
            return self._login_form(request, "Name or password is wrong.", status=401, fields=fields)
        answer = self._back(request, fields)
        answer.set_cookie(
            COOKIE, cookie, max_age=LOGIN_S, path=self._root(request) or "/", httponly=True, samesite="strict",
            secure=_is_secure(request),
        )  # fmt: skip
        return answer

    async def logout(self, request: Request) -> Response:
        """End a login, here and in the browser."""
        who, way = await self.enter(request), self.settings.way
        await self.form(request, who=who)
        if who.via == "login" and isinstance(way, Login):
            way.end(who)
        answer = RedirectResponse(f"{self._root(request)}/", 303)
        answer.delete_cookie(COOKIE, path=self._root(request) or "/")
        return answer

    async def look(self, request: Request) -> Response:
        """Store the theme and the zone that a user chose in cookies. Raises TriggerError."""
        who = await self.settings.way.who(request)
        fields = await self.form(request, who=who)
        answer = self._back(request, fields)
        theme, zone = (str(fields.get(name, [""])[-1]) for name in ("theme", "zone"))
        if zone == OWN_ZONE:
            answer.delete_cookie(ZONE, path=self._root(request) or "/")
            zone = ""
        elif zone:
            read_zone(zone)
        for name, value in ((THEME, theme if theme in THEMES else ""), (ZONE, zone)):
            if value:
                answer.set_cookie(
                    name, value, max_age=YEAR_S, path=self._root(request) or "/", httponly=True, samesite="lax"
                )
        return answer

    def frame(self, request: Request, who: Who | None, *, title: str = "", **known: Any) -> Frame:
        """Make the frame of an answer."""
        session = who.session if who is not None else NOBODY
        theme = request.cookies.get(THEME, "auto")
        known.setdefault("now", datetime.now(UTC))
        chosen, own = _chosen_zone(request), known.pop("zone", None)
        schedule = known.get("schedule", "")
        return Frame(
            root=self._root(request),
            here=url_path(request.url.path) + (f"?{request.url.query}" if request.url.query else ""),
            title=title,
            theme=theme if theme in THEMES else "auto",
            zone=shown_zone(chosen, own) if own is not None else chosen or UTC,
            own_zone=own if own is not None else UTC,
            chosen=chosen,
            pages=PAGES,
            env=self.settings.env,
            brand=self.settings.title,
            who=who,
            role=who.role(schedule) if who is not None and schedule else None,
            token=self.settings.signer.form_token(session),
            has_login=self.settings.way.has_login,
            polls=self.settings.polls,
            feed=self._feed(who, schedule) if schedule else "",
            **known,
        )

    def refusal(self, request: Request, refused: Refused) -> Response:
        """Answer a refusal within the frame, or as JSON. 401 is the login form."""
        if getattr(request.state, "is_json", False) or wants_json(request):
            return json_answer(request, refused.record(), status=refused.status)
        if refused.status == 401 and self.settings.way.has_login:
            return self._login_form(request, "", status=401)
        frame = getattr(request.state, "frame", None)
        if refused.form is not None and frame is None:  # the user is known with the frame, and the token is the user's
            refused.form = None
        frame = frame or self.frame(request, None)
        values = {"frame": replace(frame, title=HTTPStatus(refused.status).phrase.capitalize()), "refused": refused}
        return html(request, "error.html", values, status=refused.status)

    def _login_form(
        self, request: Request, trouble: str, *, status: int, fields: Mapping[str, list[str]] | None = None
    ) -> Response:
        frame = self.frame(request, None, title="Log in")
        if fields is not None:
            back = fields.get("back", [""])[-1]
        elif request.url.path.endswith("/-/login"):
            back = request.query_params.get("back", "")
        else:  # an act has no page of its own
            back = "" if "/do/" in request.url.path else frame.here
        return html(request, "login.html", {"frame": frame, "trouble": trouble, "back": back}, status=status)

    def _back(self, request: Request, fields: dict[str, list[str]]) -> RedirectResponse:
        return RedirectResponse(own_path(fields.get("back", [""])[-1], root=self._root(request)), 303)

    @staticmethod
    def _root(request: Request) -> str:
        return str(request.scope.get("root_path", "")).rstrip("/")


async def _body(request: Request) -> bytes:
    """Read the body of a request. Raises Refused where it is too long, too slow, or breaks off."""
    body = b""
    try:
        async with asyncio.timeout(BODY_S):
            async for chunk in request.stream():
                body += chunk
                if len(body) > MOST_BYTES:
                    raise Refused(413, "This is too long. Accepted: 64 kB.")
    except TimeoutError:
        raise Refused(408, f"This took longer than {BODY_S:.0f} s to arrive. Send it again.") from None
    except ClientDisconnect:
        raise Refused(400, "This broke off. Send it again.") from None
    return body


def _read_form(body: bytes) -> dict[str, list[Any]]:
    try:
        fields = parse_qs(body.decode("utf-8", "replace"), keep_blank_values=True, max_num_fields=2000)
    except ValueError:
        raise Refused(413, "This form has too many fields. Accepted: 2,000.") from None
    return {name: list(values) for name, values in fields.items()}


def read_body(body: bytes) -> dict[str, list[Any]]:
    """Read a JSON object as a form: each member is a list of values. Raises Refused."""
    try:
        found = json.loads(body)
    except (ValueError, RecursionError):
        found = None
    if not isinstance(found, dict):
        raise Refused(400, "The body is not a JSON object.")
    return {name: value if isinstance(value, list) else [value] for name, value in found.items() if value is not None}


def own_path(back: str, *, root: str) -> str:
    """Return an address to go back to, if it is a path of ours; else the first page."""
    is_ours = back.startswith(f"{root}/") and not back.startswith(("//", "/\\"))
    return back if is_ours and back.isprintable() and "\\" not in back else f"{root}/"


def _chosen_zone(request: Request) -> tzinfo | None:
    name = request.cookies.get(ZONE, "")
    if not name:
        return None
    try:
        return UTC if name == "UTC" else read_zone(name)
    except TriggerError:
        return None


def _is_secure(request: Request) -> bool:
    """Return whether a cookie is for TLS only: everywhere but on this machine."""
    return request.url.scheme == "https" or request.url.hostname not in ("127.0.0.1", "::1", "localhost")


VIEWS: Final = "workkit_views"
LONGEST_NAME, MOST_OF_COOKIE = 60, 3_800
"""Most characters of a name, and most bytes of the cookie. Browsers keep 4 kB, with its name and its path."""

FILTERED: Final[Mapping[str, tuple[str, ...]]] = {
    "jobs": ("state", "q"),
    "runs": ("job", "fn", "ended", "from", "to", "q"),
    "dead": ("by", "q"),
}
"""The pages with saved views, and the parameters of each that form its filter."""

PLAIN: Final = {("state", "all"), ("by", "error")}  # a page without a filter has these too


def read_views(cookie: str) -> tuple[SavedView, ...]:
    """Read a cookie that `with_view` wrote. Unreadable parts give no view."""
    try:
        found = json.loads(urlsafe_b64decode(cookie.encode()))
    except ValueError:
        return ()
    rows = found if isinstance(found, list) else []
    return tuple(view for row in rows if (view := _view_of(row)) is not None)


def with_view(views: Sequence[SavedView], *, page: str, name: str, address: str) -> tuple[SavedView, ...]:
    """Add the filter of an address under a name, in place of the page's view of that name. Raises Refused."""
    name = " ".join(name.split())
    if page not in FILTERED:
        accepted = ", ".join(FILTERED)
        raise Refused(
            400, f'The page "{page}" has no saved views. Accepted: {accepted}.', fields={"accepted": accepted}
        )
    if not name or len(name) > LONGEST_NAME or not name.isprintable():
        raise Refused(400, f"A saved view needs a name of 1 to {LONGEST_NAME} printable characters.")
    filtered = _filter(page, address.partition("?")[2])
    if not filtered:
        raise Refused(400, "There is no filter to save. Filter first, then save.")
    added = SavedView(page=page, name=name, path=f"{page}?{filtered}")
    found = (*without_view(views, page=page, name=name), added)
    if len(written(found)) > MOST_OF_COOKIE:
        raise Refused(400, "There is no room for another saved view of this schedule. Remove one first.")
    return found


def without_view(views: Sequence[SavedView], *, page: str, name: str) -> tuple[SavedView, ...]:
    """Remove the view of a page that has this name."""
    return tuple(view for view in views if (view.page, view.name) != (page, name))


def written(views: Sequence[SavedView]) -> str:
    """Write the cookie."""
    rows = [[view.page, view.name, view.path.partition("?")[2]] for view in views]
    return urlsafe_b64encode(json.dumps(rows, separators=(",", ":"), ensure_ascii=False).encode()).decode()


def _view_of(row: Any) -> SavedView | None:
    if not isinstance(row, list) or len(row) != 3 or not all(isinstance(part, str) for part in row):
        return None
    page, name, query = row
    filtered = _filter(page, query) if page in FILTERED else ""
    is_whole = bool(filtered) and bool(name) and name.isprintable() and len(name) <= LONGEST_NAME
    return SavedView(page=page, name=name, path=f"{page}?{filtered}") if is_whole else None


def _filter(page: str, query: str) -> str:
    given = dict(parse_qsl(query))
    pairs = [(name, given[name]) for name in FILTERED[page] if name in given]
    return urlencode(pairs) if set(pairs) - PLAIN else ""
