"""The event loop for coroutines: a handler can end its own run only."""

from __future__ import annotations

import asyncio
import re
import sys
import threading
from collections.abc import Generator, Iterator
from contextlib import suppress
from contextvars import copy_context
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest

from tests import handlers, unruly
from tests.processes import Processes, until
from tests.servers import Server
from tests.worker.observation import calls, named
from tests.worker.test_health import get
from workkit import schedule
from workkit.brokers.connect import open_broker
from workkit.events import Event
from workkit.jobs import middleware
from workkit.worker.listener import Listener
from workkit.worker.loop import How
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


SHORT = ("stuck", "cannot_run")

# A loop that a handler blocks, and one that cannot be made: what has not begun there goes back.


def listener(s: schedule.Schedule, url: str, *, threads: int = 2) -> Listener:
    how = How(threads=threads, imports=("tests.handlers", "tests.unruly"), stuck_after=timedelta(seconds=6))
    return Listener([(open_broker(s.name, redis=url), 1)], how=how)


def scores(server: Server, s: schedule.Schedule) -> list[float]:
    return [score for _, score in server.client().zrange(f"{s.name}:next", 0, -1, withscores=True)]


@pytest.mark.parametrize("blocker", [unruly.block, unruly.compute])
def test_what_has_not_begun_on_a_blocked_loop_goes_back_and_plain_jobs_go_on(
    s: schedule.Schedule, server: Server, seen: list[Event], blocker: Any
) -> None:
    with listener(s, server.url) as blocked:
        schedule.add_now(s, blocker)
        until(calls(1))
        for number in range(12):
            schedule.add_now(s, handlers.note_async, args=[number])
        waiting = scores(server, s)
        for number in range(4):
            schedule.add_now(s, handlers.note, args=[number])
        until(lambda: len([call for call in handlers.calls if type(call) is tuple and len(call) == 1]) == 4)
        until(lambda: schedule.counts(s).running == 1 and schedule.counts(s).due == 12)
        assert set(waiting) <= set(scores(server, s))
        told = [event.fields["reason"] for event in named(seen, "stuck")]
        assert len(told) == 1
        assert re.search("event loop of coroutines has not answered for . s", told[0])
        schedule.add_now(s, handlers.note_async, args=["late"])  # it is not taken either
        with listener(s, server.url) as other:
            until(lambda: (now := schedule.counts(s)).due == 0 and now.running == 1)  # a stop gives waiting ones back
        assert other.wait().ran == 13
        schedule.add_now(s, handlers.note_async, args=["here again"])
        handlers.gate.set()
        until(lambda: schedule.counts(s).due + schedule.counts(s).running == 0)
        assert len(named(seen, "stuck")) == 1
    assert blocked.wait().ran == 6
    assert not named(seen, "failed") + named(seen, "cannot_run")


def test_what_has_not_begun_on_a_blocked_loop_goes_back_while_its_listener_stops(
    s: schedule.Schedule, server: Server
) -> None:
    with listener(s, server.url) as stopping:
        schedule.add_now(s, unruly.block)
        until(calls(1))
        schedule.add_now(s, handlers.note_async, args=["waits"])
        until(lambda: schedule.counts(s).running == 2)
        stopping.ask_to_stop(timedelta(seconds=20))
        until(lambda: (now := schedule.counts(s)).running == 1 and now.due == 1)
        handlers.gate.set()
    assert stopping.wait().ran == 1
    assert schedule.counts(s).due == 1


def test_a_coroutine_that_is_given_back_keeps_its_attempt_though_middleware_catches_the_error(
    s: schedule.Schedule, server: Server, monkeypatch: pytest.MonkeyPatch
) -> None:
    def careless() -> Generator[None]:
        with suppress(BaseException):
            yield

    monkeypatch.setitem(middleware.AROUND, s.name, middleware.Around(plain=(careless,)))
    with listener(s, server.url, threads=3):
        schedule.add_now(s, unruly.block)
        until(calls(1))
        schedule.add_now(s, handlers.note_async, args=["later"])
        until(lambda: schedule.counts(s).running == 2)
        until(lambda: schedule.counts(s).running == 1 and schedule.counts(s).due == 1)
        handlers.gate.set()
        until(lambda: "later" in [call[0] for call in handlers.calls])
    assert schedule.counts(s).due == 0


def shortages(seen: list[Event]) -> list[str]:
    """What was said that is missing: by the whole listener, or about one job."""
    said = [event.fields.get("reason") or event.fields["trouble"] for event in seen if event.name in SHORT]
    return [str(text) for text in said]


def test_without_file_descriptors_what_cannot_begin_goes_back_and_is_tried_again(
    s: schedule.Schedule, server: Server, seen: list[Event], tmp_path: Path
) -> None:
    with listener(s, server.url, threads=4) as listening:
        schedule.add_now(s, handlers.note)
        until(calls(1))
        ours = schedule.add(s, handlers.note_async, at="in 2 seconds", args=["after"])
        process = schedule.add(s, unruly.note_elsewhere, at="in 2 seconds", args=[str(tmp_path / "noted")])
        schedule.add_now(s, unruly.take_all_files)  # from here on this test opens nothing either
        until(lambda: len(shortages(seen)) == 2)
        handlers.gate.set()
        until(calls(3))
        until(lambda: schedule.counts(s).running == 0 and schedule.counts(s).due == 0)
    assert handlers.calls[2][:2] == ("after", ours.id)
    assert (tmp_path / "noted").read_text() == f"{process.id} 0\n"
    assert listening.wait().failed == 0
    loop, worker = sorted(shortages(seen))
    full = r"OSError: \[Errno 24\] Too many open files"
    assert re.match(f"no event loop for coroutines: {full}", loop)
    assert re.match(f"no worker process.*: {full}", worker)


def test_a_module_that_finds_no_file_descriptor_is_imported_later(
    s: schedule.Schedule, server: Server, seen: list[Event], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "imported_late.py").write_text("from tests import handlers\ndef f(): handlers.calls.append('late')\n")
    monkeypatch.syspath_prepend(str(tmp_path))
    how = How(threads=2, imports=("tests.handlers", "tests.unruly"), folder=tmp_path)
    with Listener([(open_broker(s.name, redis=server.url), 1)], how=how):
        schedule.add(s, "imported_late:f", at="in 2 seconds")
        schedule.add_now(s, unruly.take_all_files)
        (told,) = until(lambda: named(seen, "cannot_run"))
        assert "Too many open files" in told.fields["trouble"]
        handlers.gate.set()
        until(lambda: "late" in handlers.calls)
    sys.modules.pop("imported_late")
