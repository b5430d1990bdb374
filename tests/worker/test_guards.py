"""Hostile modules, errors and subscribers cost a listener no thread, no run and not its loop."""

from __future__ import annotations

import sys
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests import handlers, unruly
from tests.jobs.test_lookups import HOSTILE
from tests.processes import until
from tests.servers import Server
from tests.worker.observation import calls, named
from workkit import events, schedule
from workkit.brokers.connect import open_broker
from workkit.contract.listener import Claim, ListenerInfo
from workkit.errors import FunctionNotFound
from workkit.events import Event
from workkit.jobs.registry import Registry
from workkit.worker.executor import Executor
from workkit.worker.lane import Inbox, Lane, LaneRun, LookUp
from workkit.worker.run.run import Run
from workkit.worker.runner import Threads

HOW: dict[str, Any] = {"imports": ["tests.handlers", "tests.unruly"]}


def claimed(server: Server, name: str) -> tuple[Lane, list[Claim]]:
    """What is due, as a listener holds it."""
    broker = open_broker(name, redis=server.url)
    broker.register(ListenerInfo(listener="", host="here", pid=1, version="0", schedules={}, threads=2))
    return Lane(broker), list(broker.claim(10).claims)


@pytest.fixture
def written(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[list[str]]:
    """One module for each thing that a module can do at its import."""
    monkeypatch.syspath_prepend(str(tmp_path))
    names = [f"guards_{kind}" for kind in HOSTILE]
    for name, (text, _) in zip(names, HOSTILE.values(), strict=True):
        (tmp_path / f"{name}.py").write_text(text)
    yield names
    for name in names:
        sys.modules.pop(name, None)


def test_lookups_that_raise_anything_leave_all_threads(
    s: schedule.Schedule,
    seen: list[Event],
    written: list[str],
    tmp_path: Path,
) -> None:
    with schedule.listener(s, threads=2, folder=tmp_path, **HOW):
        for module in written:
            schedule.add_now(s, f"{module}:f")
        schedule.add_now(s, "a" + ".a" * 700 + ":f")
        until(lambda: len(named(seen, "cannot_run")) == len(written) + 1)
        for _ in range(2):
            schedule.add_now(s, handlers.wait_for_gate)
        until(calls(2))  # both threads are there
        handlers.gate.set()
    assert schedule.counts(s).due == len(written) + 1


@pytest.mark.parametrize("kind", ["odd", "mute", "liar", "huge", "noted", "caused"])
def test_an_error_that_is_hard_to_keep_fails_its_run(s: schedule.Schedule, seen: list[Event], kind: str) -> None:
    with schedule.listener(s, threads=1, folder=None, **HOW):
        schedule.add_now(s, unruly.fail, args=[kind])
        (failed,) = until(lambda: named(seen, "failed"))
        schedule.add_now(s, handlers.note, args=["after"])
        until(lambda: ("after",) in handlers.calls)
    assert len(failed.fields["error"]) <= 1000
    assert len(failed.fields["traceback"]) <= 8196
    assert schedule.counts(s).dead == 1
    if kind == "odd":
        assert (failed.fields["error_type"], failed.fields["error"]) == ("Odd", "why")


@pytest.mark.parametrize("raised", [SystemExit(3), KeyboardInterrupt(), GeneratorExit(), unruly.Odd("x"), OSError("x")])
def test_a_subscriber_that_raises_anything_loses_no_run_and_ends_no_loop(
    s: schedule.Schedule,
    seen: list[Event],
    raised: BaseException,
) -> None:
    def fall(event: Event) -> None:
        if threading.current_thread() is not threading.main_thread():  # there an interrupt is the person's
            raise raised

    unsubscribe = events.subscribe(fall)
    try:
        with schedule.listener(s, threads=1, folder=None, **HOW) as listener:
            for number in range(3):
                schedule.add_now(s, handlers.note, args=[number])
            schedule.add_now(s, handlers.fail)
            until(calls(3))
            until(lambda: named(seen, "failed"))
    finally:
        unsubscribe()
    assert (listener.wait().ran, listener.wait().failed) == (3, 1)
    assert schedule.counts(s).running == 0


class Broken(Executor):
    """An executor that has a bug of its own."""

    def run(self, run: Run) -> None:
        raise SystemExit(3)


class Blind(Registry):
    """A registry that has a bug of its own."""

    def load(self) -> None:
        """Import nothing: a lookup is to do it."""

    def refusal(self, job: str) -> Any:
        raise RecursionError("too deep")


def test_every_task_posts_a_message_when_the_executor_or_registry_fails(server: Server, name: str) -> None:
    inbox: Inbox[Any] = Inbox()
    s = schedule.create(name, redis=server.url)
    schedule.add_now(s, handlers.note)
    lane, (claim,) = claimed(server, name)
    threads = Threads(1, executor=Broken(Blind(imports=["tests"])), inbox=inbox)
    threads.open()
    threads.submit([LookUp(lane, claim), LaneRun(claim, lane)])
    threads.flush()
    until(lambda: len(inbox.messages) == 2)
    threads.close()
    lane.broker.close()
    found, run = inbox.take(0)
    assert isinstance(found, LookUp)
    assert isinstance(found.error, FunctionNotFound)
    assert str(found.error) == "cannot run #'tests.handlers/note: RecursionError: too deep"
    assert isinstance(run, LaneRun)
    assert run.failure is not None
    assert run.failure.line.startswith("SystemExit: 3")
