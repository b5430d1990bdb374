"""A browser without a window: requests to the application of a schedule, on one event loop."""

from __future__ import annotations

import asyncio
import re
from collections.abc import Callable, Coroutine, Iterator
from contextlib import ExitStack
from typing import Any

import httpx
import pytest

from tests.servers import Server
from workkit import asgi, schedule
from workkit.schedule import Schedule
from workkit.web.auth import Local, Way

ORIGIN = "http://127.0.0.1:5040"


class Browser:
    """Asks one application, and keeps its cookies. `get` and `post` are as in httpx; a post comes from our own page."""

    def __init__(
        self, app: Any, runner: asyncio.Runner, *, root: str = "", origin: str = ORIGIN, address: str = "127.0.0.1"
    ) -> None:
        self.app, self._runner, self._root = app, runner, root
        transport = httpx.ASGITransport(app, root_path=root, client=(address, 50000))
        self._client = httpx.AsyncClient(transport=transport, base_url=origin)

    def beside(self, address: str = "127.0.0.1") -> Browser:
        """Another browser on the same application, without the cookies of this one."""
        return Browser(self.app, self._runner, root=self._root, address=address)

    def run(self, work: Coroutine[Any, Any, Any]) -> Any:
        return self._runner.run(work)

    def get(self, path: str, **how: Any) -> httpx.Response:
        found: httpx.Response = self.run(self._client.get(self._root + path, **how))
        return found

    def json(self, path: str, **how: Any) -> Any:
        answer = self.get(path, **how)
        assert answer.headers["content-type"] == "application/json", answer.text
        return answer.json()

    def post(self, path: str, fields: dict[str, Any], **how: Any) -> httpx.Response:
        headers = {"sec-fetch-site": "same-origin"} | how.pop("headers", {})
        found: httpx.Response = self.run(self._client.post(self._root + path, data=fields, headers=headers, **how))
        return found

    async def send(self, method: str, path: str, fields: dict[str, Any]) -> httpx.Response:
        """The same, where the event loop is running already."""
        headers = {"sec-fetch-site": "same-origin"}
        return await self._client.request(method, self._root + path, data=fields, headers=headers)

    def token(self, path: str) -> str:
        """The token in the forms of a page."""
        found = re.search(r'name="token" value="([0-9a-f]+)"', self.get(path).text)
        assert found is not None
        return found[1]

    @property
    def cookies(self) -> httpx.Cookies:
        return self._client.cookies

    def close(self) -> None:
        self.run(self._client.aclose())


Open = Callable[..., Browser]


@pytest.fixture
def opened() -> Iterator[Open]:
    """Open a browser on the application of some schedules."""
    with ExitStack() as ends:
        runner = ends.enter_context(asyncio.Runner())

        def browser(
            *schedules: Schedule, way: Way | None = None, root: str = "", origin: str = ORIGIN, **how: Any
        ) -> Browser:
            how.setdefault("hosts", {"localhost"})
            app = asgi.build(schedules, way=way or Local(), signer=how.pop("signer", asgi.signer("secret")), **how)
            found = Browser(app, runner, root=root, origin=origin)
            ends.callback(found.close)
            return found

        yield browser


@pytest.fixture
def s(server: Server, name: str) -> Schedule:
    """A schedule on a real server."""
    return schedule.create(name, redis=server.url)


@pytest.fixture
def browser(opened: Open, s: Schedule) -> Browser:
    """A browser on that schedule, on this machine."""
    return opened(s)


def main_of(answer: httpx.Response) -> str:
    """The page without what stands around it."""
    return answer.text.partition("<main")[2].partition("</main>")[0]


def text_of(answer: httpx.Response) -> str:
    """What a page says, without its tags."""
    import html

    return " ".join(html.unescape(re.sub(r"<[^>]*>", " ", main_of(answer))).split())


def headline(answer: httpx.Response) -> str:
    """The one sentence of a page."""
    import html

    found = re.search(r"<h1[^>]*>(.*?)</h1>", answer.text, re.DOTALL)
    assert found is not None, answer.text
    return " ".join(html.unescape(re.sub(r"<[^>]*>", "", found[1])).split())
