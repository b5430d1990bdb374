"""The event loop for coroutines: a handler can end its own run only."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Iterator
from contextvars import copy_context
from typing import Any

import pytest

from tests import handlers, unruly
from tests.processes import Processes, until
from tests.servers import Server
from tests.worker.observation import calls, named
from tests.worker.test_health import get
from workkit import schedule
from workkit.events import Event
from workkit.worker.run.event_loop import EventLoop, run_alone
from workkit.worker.run.interruption import Interruption

HOW: dict[str, Any] = {"imports": ["tests.handlers", "tests.unruly"], "folder": None}


@pytest.fixture
def loop() -> Iterator[EventLoop]:
    made = EventLoop()
    yield made
    made.close()
    until(lambda: "workkit-asyncio" not in [thread.name for thread in threading.enumerate()])


def run(loop: EventLoop, coroutine: Any) -> None:
    loop.run(coroutine, context=copy_context(), interruption=Interruption(threading.get_ident()))


@pytest.mark.parametrize(
    ("fn", "error_type"),
    [
        (unruly.exit_itself, "SystemExit"),
        (unruly.interrupt_itself, "KeyboardInterrupt"),
        (unruly.exit_in_a_task, "SystemExit"),
        (unruly.exit_in_a_callback, None),
        (unruly.stop_the_loop, None),
    ],
)
def test_other_coroutines_continue_when_one_ends_the_loop(
    s: schedule.Schedule, seen: list[Event], fn: Any, error_type: str | None
) -> None:
    with schedule.listener(s, threads=2, **HOW) as listener:
        schedule.add_now(s, unruly.run_slowly, args=[0.3])
        until(calls(1))
        schedule.add_now(s, fn)
        if error_type is None:
            until(lambda: "went on" in handlers.calls)
        else:
            (failed,) = until(lambda: named(seen, "failed"))
            assert failed.fields["error_type"] == error_type
        schedule.add_now(s, handlers.note_async, args=["after"])
        until(calls(3 + (error_type is None)))
    assert "ended" in handlers.calls
    assert listener.wait().failed == (error_type is not None)


DYING = """
import sys, threading
from datetime import timedelta
from tests import handlers, unruly
from workkit import events, schedule
s = schedule.create(sys.argv[1], redis=sys.argv[2])
def show(event):
    if event.name in ("failed", "health"):
        print(event.name, *(event.fields.get(key) for key in ("url", "error_type", "error")), flush=True)
events.subscribe(show)
with schedule.listener(s, threads=4, imports=["tests.handlers", "tests.unruly"], folder=None, health_port=0):
    input()
    print("calls", handlers.calls, flush=True)
"""


@pytest.mark.parametrize(
    ("fn", "why"),
    [
        (unruly.close_the_selector, r"OSError: \[Errno 9\] Bad file descriptor"),
        (unruly.close_the_pipe, "a handler closed its file descriptors"),
    ],
)
def test_a_loop_that_dies_fails_its_runs_and_is_replaced(
    server: Server, name: str, processes: Processes, fn: Any, why: str
) -> None:
    s = schedule.create(name, redis=server.url)
    listener = processes.python(DYING, name, server.url)
    url = listener.wait_for("^health (http\\S+)")[1]
    schedule.add_now(s, unruly.run_slowly, args=[60])
    until(lambda: schedule.counts(s).running == 1)
    schedule.add_now(s, fn)
    for number in (1, 2):
        listener.wait_for(f"^failed .* WorkerLost the event loop of coroutines died in the middle of the run: {why}",
                          count=number)  # fmt: skip
    until(lambda: get(f"{url}/readyz")[0] == 503)
    assert get(f"{url}/readyz")[1].startswith("the event loop of coroutines has died: ")
    schedule.add_now(s, handlers.note_async, args=["after"])
    until(lambda: not schedule.counts(s).due + schedule.counts(s).running)
    until(lambda: get(f"{url}/readyz") == (200, "ok\n"))
    listener.tell("")
    assert "'after'" in listener.wait_for("^calls (.*)")[1]
    assert listener.wait() == 0


def test_a_run_of_a_loop_that_is_closed_ends(loop: EventLoop) -> None:
    begun, raised = threading.Event(), []

    async def wait() -> None:
        begun.set()
        await asyncio.sleep(60)

    def serve() -> None:
        try:
            run(loop, wait())
        except BaseException as error:
            raised.append(error)

    thread = threading.Thread(target=serve)
    thread.start()
    assert begun.wait(5)
    loop.close()
    thread.join(5)
    assert [type(error) for error in raised] == [asyncio.CancelledError]


def test_a_run_that_is_interrupted_before_it_begins_leaves_no_coroutine_behind(loop: EventLoop) -> None:
    interruption = Interruption(threading.get_ident())
    interruption._interrupt = lambda: None
    interruption.cancel()
    coroutine: Any = handlers.note_async("never")
    with pytest.raises(asyncio.CancelledError):
        loop.run(coroutine, context=copy_context(), interruption=interruption)
    assert coroutine.cr_frame is None


def test_a_task_of_a_handler_can_be_looked_at_and_cancelled_before_it_begins(loop: EventLoop) -> None:
    seen: list[Any] = []

    async def child() -> None:
        raise AssertionError("never run")

    async def parent() -> None:
        task = asyncio.create_task(child(), name="child")
        seen.extend([repr(task), len(task.get_stack()), task.get_name()])
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task

    run(loop, parent())
    assert "child()" in seen[0]
    assert seen[1:] == [1, "child"]


def test_the_loop_gives_a_sign_of_life(loop: EventLoop) -> None:
    assert loop.ticks is None
    run(loop, asyncio.sleep(0))
    first = until(lambda: loop.ticks)
    until(lambda: loop.ticks != first)
    assert loop.lost is None


@pytest.mark.parametrize(("fn", "raised"), [(unruly.exit_itself, SystemExit), (unruly.exit_in_a_task, SystemExit)])
def test_run_alone_raises_the_error_of_its_coroutine(fn: Any, raised: type[BaseException]) -> None:
    with pytest.raises(raised):
        run_alone(fn())
