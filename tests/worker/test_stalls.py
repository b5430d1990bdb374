"""What `/readyz` answers when the loop of a listener moves and its threads do not."""

from __future__ import annotations

import re
import signal
import sys
from datetime import timedelta
from pathlib import Path

import pytest

from tests import handlers, unruly
from tests.processes import Processes, until
from tests.servers import Server
from tests.worker.observation import calls
from tests.worker.test_guards import claimed
from workkit import schedule
from workkit.brokers.connect import open_broker
from workkit.jobs.registry import Registry
from workkit.worker.executor import Executor
from workkit.worker.health import MOST_PASSED
from workkit.worker.lane import Inbox, LaneRun
from workkit.worker.listener import Listener
from workkit.worker.loop import How
from workkit.worker.runner import Threads

PATIENCE = 1.0


def listener(
    s: schedule.Schedule, server: Server, *, folder: Path | None = None, patience: float = PATIENCE
) -> Listener:
    how = How(
        threads=2,
        imports=("tests.handlers", "tests.unruly"),
        folder=folder,
        stuck_after=timedelta(seconds=patience),
        deadline=timedelta(seconds=1),
    )
    return Listener([(open_broker(s.name, redis=server.url), 1)], how=how)


def test_an_import_without_end_is_reported(
    s: schedule.Schedule, server: Server, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "slow_to_import.py").write_text("from tests import handlers\nhandlers.gate.wait(20)\ndef f(): pass\n")
    monkeypatch.syspath_prepend(str(tmp_path))
    with listener(s, server, folder=tmp_path) as serving:
        schedule.add_now(s, "slow_to_import:f")
        told = [until(serving._loop.unready), serving._loop.trouble(), until(lambda: schedule.listeners(s)[0].trouble)]
        assert {re.sub(r"\d+ s", "N s", str(text)) for text in told} == {
            "1 thread has been importing slow_to_import for N s"
        }
        (finding,) = (f for f in open_broker(s.name, redis=server.url).doctor.checkup(patience_ms=0) if f.about)
        assert finding.kind == "stalled"
        assert "has been importing slow_to_import for" in finding.what
        serving.quiet()
        until(lambda: serving._loop.unready() == "quiet")
        serving.resume()
        handlers.gate.set()
        until(lambda: serving._loop.unready() is None)
        until(lambda: schedule.listeners(s)[0].trouble is None)
    sys.modules.pop("slow_to_import")


def test_a_blocked_event_loop_is_reported(s: schedule.Schedule, server: Server) -> None:
    with listener(s, server) as serving:
        schedule.add_now(s, unruly.block)
        until(calls(1))
        sentence = until(serving._loop.unready)
        assert sentence in [
            f"the event loop of coroutines has not answered for {n} s: a handler blocks it" for n in (1, 2, 3)
        ]
        handlers.gate.set()
        until(lambda: serving._loop.unready() is None)


def test_a_listener_that_works_has_no_trouble(s: schedule.Schedule, server: Server) -> None:
    with listener(s, server, patience=4.0) as serving:  # a busy machine may stand still for a second
        schedule.add_now(s, unruly.run_slowly, args=[6.0])
        for _ in range(500):
            schedule.add_now(s, unruly.burn, args=[0.01])
        until(lambda: serving._loop.trouble() or "ended" in handlers.calls)
        assert serving._loop.trouble() is None


def test_work_that_no_free_thread_begins_is_reported(s: schedule.Schedule, server: Server) -> None:
    schedule.add_now(s, handlers.note)
    lane, (claim,) = claimed(server, s.name)
    inbox: Inbox[LaneRun] = Inbox()
    threads = Threads(3, executor=Executor(Registry(imports=["tests.handlers"])), inbox=inbox, patience=10)

    def looked(*seconds: float, is_due: bool = False) -> str | None:
        for second in seconds:
            assert not threads.look(second, lambda: is_due)
        return threads.trouble

    assert looked(*range(100, 112)) is None  # nothing is due
    assert looked(*range(112, 121), is_due=True) is None
    assert looked(121, 122, is_due=True) == "work is due and 3 threads are free, but none has begun any for 11 s"
    assert looked(123) is None
    threads.submit([LaneRun(claim, lane)])  # and never flushed
    assert looked(*range(124, 133)) is None
    assert looked(133, 134) == "work is due and 3 threads are free, but none has begun any for 11 s"
    threads.open()
    threads.flush()
    until(lambda: inbox.take(0))
    threads.close()
    lane.broker.close()


def test_time_in_which_the_process_was_stopped_does_not_count(s: schedule.Schedule, server: Server) -> None:
    threads = Threads(1, executor=Executor(Registry()), inbox=Inbox(), patience=MOST_PASSED + 1)
    threads.look(100, lambda: True)
    threads.look(5000, lambda: True)
    assert threads.trouble is None
    assert threads.look_at == 5001


FREEZE = """
import asyncio, time
from pathlib import Path
from workkit import Retry, current_job, job

def direct():
    for name in ("monotonic", "time", "perf_counter"):
        setattr(time, name, lambda at=getattr(time, name)(): at)

def freezegun():
    import freezegun
    freezegun.freeze_time("2031-01-01").start()

async def sleep():
    await asyncio.sleep(0.05)

def again():
    if current_job().attempt < 2:
        raise Retry("1s")

@job(timeout="0.2s")
def endless():
    while True:
        for _ in range(1000):
            pass
"""


LISTEN = """
import sys
from workkit import events, schedule
events.subscribe(lambda event: print(event.name, getattr(event.fields.get("job"), "fn", ""), event.fields.get("error_type"), flush=True))
schedule.listen(schedule.create(sys.argv[1], redis=sys.argv[2]), imports=["app"], listener_timeout="5s")
"""  # noqa: E501


@pytest.mark.parametrize("how", ["direct", "freezegun"])
def test_a_listener_goes_on_though_a_handler_has_frozen_the_clock(
    server: Server, name: str, processes: Processes, tmp_path: Path, how: str
) -> None:
    if how == "freezegun":
        pytest.importorskip("freezegun")
    (tmp_path / "app.py").write_text(FREEZE)
    s = schedule.create(name, redis=server.url)
    listening = processes.python(LISTEN, name, server.url)
    listening.wait_for("listening")
    schedule.add_now(s, f"app:{how}")
    listening.wait_for(f"^done .*{how}")
    for fn in ("sleep", "again", "endless"):
        schedule.add_now(s, f"app:{fn}")
    schedule.add(s, "app:sleep", at="in 2 seconds")
    listening.wait_for("^failed .*endless.* JobTimeout")
    listening.wait_for("^done .*again")
    listening.wait_for("^done .*sleep", count=2)
    until(lambda: (schedule.listeners(s)[0].beat_ms or 0) > 300, what="some time since a heartbeat")
    until(lambda: (schedule.listeners(s)[0].beat_ms or 0) <= 300, what="a heartbeat")
    listening.send(signal.SIGTERM)
    assert listening.wait() == 0, listening.transcript()
