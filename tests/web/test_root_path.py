"""Pages below a path, behind a proxy that strips it or keeps it."""

from __future__ import annotations

import asyncio
import html
import re
from pathlib import Path
from typing import Any

import httpx
import pytest

from tests.web.conftest import ORIGIN
from workkit import asgi, schedule
from workkit.schedule import Schedule
from workkit.web.auth import Local, Way
from workkit.web.login import Login, UsersFile, add_user

ROOT = "/ops/jobs"
LINK = re.compile(r'\b(?:href|src|action|formaction|data-stream)="([^"]*)"|\bname="back" value="([^"]*)"')


class Proxy:
    """A proxy in front of the application. It sends on what is below ROOT, with that prefix or without it."""

    def __init__(self, app: Any, *, keeps: bool) -> None:
        self._app, self._keeps = app, keeps

    async def __call__(self, scope: Any, receive: Any, send: Any) -> None:
        path = scope["path"]
        assert path == ROOT or path.startswith(f"{ROOT}/"), f"{path} is not ours"
        sent = path if self._keeps else path.removeprefix(ROOT) or "/"
        await self._app(scope | {"path": sent, "raw_path": sent.encode()}, receive, send)


def proxied(s: Schedule, *, keeps: bool, way: Way | None = None) -> httpx.AsyncClient:
    app = asgi.build(s, way=way or Local(), signer=asgi.signer("secret"), hosts={"localhost"}, root_path=ROOT)
    transport = httpx.ASGITransport(Proxy(app, keeps=keeps))
    return httpx.AsyncClient(transport=transport, base_url=ORIGIN, headers={"sec-fetch-site": "same-origin"})


def links(page: str) -> list[str]:
    found = [html.unescape(one or other) for one, other in LINK.findall(page)]
    return [link for link in found if link.startswith("/")]


def token(page: str) -> str:
    found = re.search(r'name="token" value="([0-9a-f]+)"', page)
    assert found is not None
    return found[1]


@pytest.fixture(params=[True, False], ids=["keeps", "strips"])
def keeps(request: pytest.FixtureRequest) -> bool:
    found: bool = request.param
    return found


def test_every_link_leads_below_the_path_and_is_answered(s: Schedule, keeps: bool) -> None:
    schedule.add(s, "app:f", every="day at noon", name="nightly")

    async def walk() -> None:
        async with proxied(s, keeps=keeps) as client:
            seen, ahead = set[str](), [f"{ROOT}/"]
            while ahead and len(seen) < 40:
                link = ahead.pop(0)
                seen.add(link)
                if "/live?" in link:
                    answer = await client.get(link, headers={"accept": "application/json"})
                else:
                    answer = await client.get(link, follow_redirects=True)
                assert answer.status_code == 200, link
                found = links(answer.text) if answer.headers["content-type"].startswith("text/html") else []
                assert all(one.startswith(f"{ROOT}/") for one in found), link
                pages = [one for one in found if "/do/" not in one and not one.endswith("/-/look")]  # these take forms
                ahead += [one for one in pages if one not in seen and one not in ahead]
            assert any("/-/static/" in link for link in seen)
            assert any("/live?" in link for link in seen)

    asyncio.run(walk())


def test_forms_cookies_and_redirects_stay_below_the_path(s: Schedule, keeps: bool, tmp_path: Path) -> None:
    users = tmp_path / "users.toml"
    add_user(users, "ada", roles="editor", password="correct horse")
    way = Login(file=UsersFile(users), signer=asgi.signer("secret"))
    page = f"{ROOT}/s/{s.name}/"

    async def use() -> None:
        async with proxied(s, keeps=keeps, way=way) as client:
            form = (await client.get(page)).text
            assert f'name="back" value="{page}"' in form
            fields = {"token": token(form), "name": "ada", "password": "correct horse", "back": page}
            answer = await client.post(f"{ROOT}/-/login", data=fields)
            assert (answer.status_code, answer.headers["location"]) == (303, page)
            assert f"path={ROOT};" in answer.headers["set-cookie"].lower()
            ours = token((await client.get(page)).text)
            answer = await client.post(f"{ROOT}/-/look", data={"token": ours, "theme": "dark", "back": page})
            assert f"path={ROOT};" in answer.headers["set-cookie"].lower()
            answer = await client.post(f"{page}do/pause", data={"token": ours, "back": page})
            assert answer.headers["location"].startswith(f"{page}?did=")
            assert f"Paused {s.name}." in (await client.get(answer.headers["location"])).text
            answer = await client.post(f"{page}do/resume", data={"token": ours, "back": "/elsewhere"})
            assert answer.headers["location"].startswith(f"{ROOT}/?did=")
            answer = await client.post(f"{ROOT}/-/logout", data={"token": ours})
            assert answer.headers["location"] == f"{ROOT}/"
            assert (await client.get(page)).status_code == 401

    asyncio.run(use())


def test_json_and_calendar_stand_below_the_path(s: Schedule, keeps: bool) -> None:
    async def ask() -> None:
        async with proxied(s, keeps=keeps) as client:
            assert (await client.get(f"{ROOT}/s/{s.name}.json")).json()["schedule"] == s.name
            assert (await client.get(f"{ROOT}/s/{s.name}/next.ics")).status_code == 200
            assert (await client.get(f"{ROOT}/s/{s.name}")).headers["location"] == f"{ROOT}/s/{s.name}/"
            assert (await client.get(f"{ROOT}/nowhere")).status_code == 404

    asyncio.run(ask())
