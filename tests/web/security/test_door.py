"""What a program's `role=` may do wrong, whose calendar is whose, and the headers of every answer."""

from __future__ import annotations

import re
from typing import Any

import httpx
import pytest

from tests import handlers
from tests.servers import Server
from tests.web.conftest import Browser, Open
from tests.web.live.watching import LINES, Stream
from tests.web.security.places import Place, everything, live
from workkit import schedule
from workkit.schedule import Schedule
from workkit.web.auth import Mounted
from workkit.web.middleware import HEADERS


def check(headers: Any) -> None:
    assert {name: headers.get(name) for name in HEADERS} == HEADERS
    assert "cache-control" in headers


def asked(browser: Browser, path: str) -> httpx.Response:
    """Ask as a server does, which answers what the application sends before it raises."""

    async def ask() -> httpx.Response:
        transport = httpx.ASGITransport(browser.app, raise_app_exceptions=False, client=("127.0.0.1", 50000))
        async with httpx.AsyncClient(transport=transport, base_url="http://127.0.0.1:5040") as client:
            return await client.get(path)

    found: httpx.Response = browser.run(ask())
    return found


async def _headers_of_streams(browser: Browser, s: Schedule) -> list[dict[str, str]]:
    streams = [Stream(browser.app, live(s.name, "")), Stream(browser.app, f"/s/{s.name}/live", accept=LINES)]
    for stream in streams:
        await stream.until(lambda one: one.events)
        await stream.close()
    return [stream.headers for stream in streams]


def test_every_answer_has_the_headers(browser: Browser, s: Schedule, opened: Open, name: str) -> None:
    schedule.add(s, handlers.note, every="day at noon", name="noon")
    for where, answer in everything(Place(browser, s.name)):
        check(answer.headers)
        assert answer.headers["cache-control"] == "no-store", where
    for path in ("/", f"/s/{s.name}", "/nowhere", "/-/login", f"/s/{s.name}/next.ics", f"/s/{s.name}/jobs?state=x",
                 f"/s/{s.name}/timeline?span=7y", f"/s/{s.name}/nothing", "/-/static/0/x", "/-/health"):  # fmt: skip
        check(browser.get(path).headers)
    for method in ("PUT", "DELETE", "OPTIONS", "TRACE"):
        check(browser.run(browser.send(method, f"/s/{s.name}/", {})).headers)
    token = browser.token(f"/s/{s.name}/")
    for fields in ({}, {"token": token}, {"token": token, "which": "none"}):
        for verb in ("pause", "undo", "cancel", "nothing"):
            check(browser.post(f"/s/{s.name}/do/{verb}", fields).headers)
    away = opened(schedule.create(name, redis="redis://127.0.0.1:1/0"))
    answer = away.get(f"/s/{name}/")
    assert answer.status_code == 503
    check(answer.headers)
    for headers in browser.run(_headers_of_streams(browser, s)):
        check(headers)
        assert headers["cache-control"] == "no-cache, no-transform"


class Odd:
    """Equal to everything."""

    def __repr__(self) -> str:
        return "Odd()"

    def __eq__(self, other: object) -> bool:
        return True

    __hash__ = None  # type: ignore[assignment]


@pytest.mark.parametrize(
    "role",
    ["admin", "", True, 1, ["editor"], {"x": "admin"}, {1: "editor"}, b"editor", Odd(), "Editor", ZeroDivisionError()],
    ids=repr,
)
def test_a_role_that_is_none_is_closed(opened: Open, s: Schedule, role: Any) -> None:
    def role_of(_: Any) -> Any:
        if isinstance(role, Exception):
            raise role
        return role

    async def later(request: Any) -> Any:
        return role_of(request)

    for given in (role_of, later):
        browser = opened(s, way=Mounted(given))
        for path in ("/", f"/s/{s.name}/", f"/s/{s.name}.json", f"/s/{s.name}/live", f"/s/{s.name}/next.ics"):
            answer = asked(browser, path)
            assert (answer.status_code, answer.text) == (500, "This went wrong. The log says how.\n"), path
            check(answer.headers)


def test_a_calendar_is_read_with_its_own_token_only(opened: Open, s: Schedule, server: Server, name: str) -> None:
    other = schedule.create(f"{name}-2", redis=server.url)
    for one in (s, other):
        schedule.add(one, handlers.note, every="day at noon", name="noon")
    roles: dict[str, Any] = {"now": {s.name: "viewer", other.name: "viewer"}}
    browser = opened(s, other, way=Mounted(lambda _: roles["now"]))
    found = re.search(r"next\.ics\?token=([^\"]+)", browser.get(f"/s/{s.name}/").text)
    assert found is not None
    token = found[1]
    assert browser.get(f"/s/{s.name}/next.ics?token={token}").status_code == 200
    wrong = ("", "x", token[:-1], token + "0", token.swapcase(), "a.b.c", "\u00e9", "." * 5000)
    for path in (f"/s/{other.name}/next.ics?token={token}", *(f"/s/{s.name}/next.ics?token={one}" for one in wrong)):
        assert browser.get(path).status_code == 404, path
    strange = opened(s, other, way=Mounted(lambda _: None))
    assert strange.get(f"/s/{s.name}/next.ics").status_code == 404
    roles["now"] = {other.name: "viewer"}
    assert browser.get(f"/s/{s.name}/next.ics").status_code == 404
