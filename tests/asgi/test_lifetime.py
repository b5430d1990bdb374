"""`workkit.asgi.lifespan`: what starts and ends in which order."""

from __future__ import annotations

import asyncio
import subprocess
import sys
import threading
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import pytest

from tests.servers import Server, free_port
from workkit import schedule
from workkit.asgi import lifespan
from workkit.errors import InvalidOptions, InvalidSchedule, ServerUnreachable

HOW: dict[str, Any] = {"imports": [__name__], "folder": None, "threads": 2}
begun, told = threading.Event(), list[str]()


def linger() -> None:
    begun.set()
    told.append("job begins")
    threading.Event().wait(0.5)
    told.append("job ends")


@asynccontextmanager
async def own(_: Any) -> AsyncIterator[dict[str, str]]:
    told.append("own opens")
    try:
        yield {"pool": "of the program"}
    finally:
        told.append("own closes")


def test_a_listener_runs_between_the_start_and_the_end_of_the_own_lifespan(server: Server, name: str) -> None:
    s = schedule.create(name, redis=server.url)
    told.clear()
    begun.clear()

    async def serve() -> Any:
        async with lifespan(s, own=own, listen=True, **HOW)("the program") as state:
            assert [one.threads for one in schedule.listeners(s)] == [2]
            schedule.add_now(s, linger)
            assert await asyncio.to_thread(begun.wait, 30)
        return state

    assert asyncio.run(serve()) == {"pool": "of the program"}
    assert told == ["own opens", "job begins", "job ends", "own closes"]
    assert schedule.listeners(s) == []


def test_without_listen_nothing_listens(server: Server, name: str) -> None:
    s = schedule.create(name, redis=server.url)

    async def serve() -> Any:
        async with lifespan(s)("the program") as state:
            return state, schedule.listeners(s)

    assert asyncio.run(serve()) == (None, [])


@pytest.mark.parametrize("listen", [False, True])
def test_a_program_whose_server_is_away_does_not_start(name: str, listen: bool) -> None:
    s = schedule.create(name, redis=f"redis://127.0.0.1:{free_port()}/")
    told.clear()

    async def serve() -> None:
        async with lifespan(s, own=own, listen=listen)("the program"):
            told.append("served")

    with pytest.raises(ServerUnreachable):
        asyncio.run(serve())
    assert told == []


def test_a_listener_that_cannot_start_ends_the_own_lifespan(server: Server, name: str) -> None:
    s = schedule.create(name, redis=server.url)
    told.clear()

    async def serve() -> None:
        async with lifespan(s, own=own, listen=True, imports=["no_such_module"])("the program"):
            told.append("served")

    with pytest.raises(Exception, match="no such module"):
        asyncio.run(serve())
    assert told == ["own opens", "own closes"]


@pytest.mark.parametrize(
    ("given", "error", "said"),
    [
        ({"threads": 4}, InvalidOptions, "threads= without listen=True: no listener runs here. Write listen=True, or"),
        ({"own": "life"}, InvalidOptions, "own='life' cannot be called. Write own=lifespan, with lifespan(app) an"),
        ({"s": "shop"}, InvalidSchedule, "'shop' is a text, not a Schedule"),
        ({"s": ["shop"]}, InvalidSchedule, "'shop' is a text, not a Schedule"),
    ],
    ids=str,
)
def test_a_mistake_is_named_where_the_lifespan_is_made(given: dict[str, Any], error: type, said: str) -> None:
    with pytest.raises(error) as caught:
        lifespan(**{"s": schedule.create("shop"), **given})
    assert str(caught.value).startswith(said)


def test_the_lifespan_needs_no_package_of_the_pages() -> None:
    code = (
        "import sys\nfrom workkit.asgi import lifespan\nprint([m for m in ('starlette', 'jinja2') if m in sys.modules])"
    )
    told = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=60)
    assert told.stdout == "[]\n", told.stderr
