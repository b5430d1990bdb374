"""`workkit.asgi.lifespan`: what starts and ends in which order."""

from __future__ import annotations

import asyncio
import subprocess
import sys
import threading
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from typing import Any

import pytest

from tests.processes import until
from tests.servers import Server, free_port
from workkit import aio, events, schedule
from workkit.asgi import lifespan
from workkit.errors import InvalidOptions, InvalidSchedule, ServerUnreachable
from workkit.events import Event
from workkit.worker.listener import Listener

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


pools: list[asyncio.Queue[int]] = []
loops: list[asyncio.AbstractEventLoop] = []


async def use_pool(number: int) -> None:
    """Take from the pool of the program, which belongs to its event loop, and put it back."""
    loops.append(asyncio.get_running_loop())
    connection = await asyncio.wait_for(pools[0].get(), 5)
    told.append("job begins")
    await asyncio.sleep(0.1)
    await pools[0].put(connection)
    told.append("job ends")


async def block_the_loop() -> None:
    loops.append(asyncio.get_running_loop())
    time.sleep(6)


@asynccontextmanager
async def with_pool(_: Any) -> AsyncIterator[None]:
    pools[:] = [asyncio.Queue()]
    await pools[0].put(1)
    yield
    told.append("own closes")


def test_coroutines_on_the_loop_of_the_program_use_its_pool_and_end_before_it(server: Server, name: str) -> None:
    s = schedule.create(name, redis=server.url)
    told.clear()
    loops.clear()

    async def serve() -> asyncio.AbstractEventLoop:
        async with lifespan(s, own=with_pool, listen=True, loop="own", **HOW)("the program"):
            schedule.add_many(s, [{"fn": use_pool, "args": [n], "when": "now"} for n in range(3)])
            while "job begins" not in told:
                await asyncio.sleep(0.01)
        return asyncio.get_running_loop()

    assert {asyncio.run(serve())} == set(loops)
    assert told.count("job begins") == told.count("job ends")
    assert told[-1] == "own closes"
    assert not schedule.counts(s).dead


def test_a_handler_that_blocks_the_loop_of_the_program_is_reported(server: Server, name: str) -> None:
    s = schedule.create(name, redis=server.url)
    loops.clear()
    seen: list[Event] = []
    unsubscribe = events.subscribe(seen.append)

    async def serve() -> None:
        begun.clear()
        async with aio.listener(s, loop="own", listener_timeout="5s", **HOW):
            schedule.add_now(s, block_the_loop)
            while not loops:
                await asyncio.sleep(0.01)
            schedule.add_now(s, linger)
            assert await asyncio.to_thread(begun.wait, 30)
            assert loops == [asyncio.get_running_loop()]

    try:
        asyncio.run(serve())
    finally:
        unsubscribe()
    (reason,) = (event.fields["reason"] for event in seen if event.name == "stuck")
    assert "the program's event loop has not answered for" in reason


def test_a_run_on_a_loop_that_the_program_has_ended_fails(server: Server, name: str) -> None:
    s = schedule.create(name, redis=server.url)
    loops.clear()
    pools[:] = [asyncio.Queue()]
    ours: list[Listener] = []

    async def serve() -> None:
        listening = aio.listener(s, loop="own", **HOW)
        ours.append(await listening.__aenter__())
        schedule.add_now(s, use_pool, args=[1], retries=0)
        while not loops:
            await asyncio.sleep(0.01)

    with suppress(RuntimeError), asyncio.Runner() as runner:
        runner.run(serve())
    until(lambda: schedule.counts(s).dead == 1)
    ours[0].stop("1s")


@pytest.mark.parametrize("given", ["program", "", True])
def test_another_loop_is_refused(name: str, given: Any) -> None:
    with pytest.raises(InvalidOptions) as caught:
        lifespan(schedule.create(name), listen=True, loop=given)
    assert str(caught.value).startswith(f"loop={given!r} is not known. Write loop=")


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
        ({"loop": "own"}, InvalidOptions, "loop= without listen=True: no listener runs here. Write listen=True, or"),
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
