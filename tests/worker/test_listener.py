"""A listener inside this process: on real servers, its threads, its event loop, its orders, its events."""

from __future__ import annotations

import threading
from datetime import timedelta
from itertools import pairwise
from typing import Any

import pytest

from tests import handlers
from tests.processes import until
from tests.servers import Server
from tests.worker.observation import HOW, calls, named
from workkit import errors, schedule
from workkit.events import Event


def test_it_runs_functions_and_coroutines_and_counts(s: schedule.Schedule, seen: list[Event]) -> None:
    with schedule.listener(s, **HOW) as listener:
        schedule.add_now(s, handlers.note, args=[1])
        ids = [schedule.add_now(s, handlers.note_async, args=[n]).id for n in range(3)]
        schedule.add_now(s, handlers.fail)
        schedule.add_now(s, handlers.fail_async)
        until(calls(4))
        until(lambda: len(named(seen, "failed")) == 2)
    assert (listener.wait().ran, listener.wait().failed) == (4, 2)
    found = [call for call in handlers.calls if len(call) == 3]
    assert {call[1] for call in found} == set(ids)
    assert {call[2] for call in found} == {"workkit-asyncio"}
    errors_said = {(e.fields["error_type"], e.fields["error"]) for e in named(seen, "failed")}
    assert errors_said == {("OSError", "disk full"), ("ValueError", "no such user")}
    assert all("workkit/worker" not in e.fields["traceback"] for e in named(seen, "failed"))
    assert [e.name for e in seen][:2] == ["listening", "may_run"]
    assert seen[-1].name == "stopped"


def test_current_job_describes_its_run(s: schedule.Schedule, seen: list[Event]) -> None:
    with schedule.listener(s, **HOW):
        job = schedule.add_now(s, handlers.look, args=[])
        until(calls(1))
    ((id, fn, args, due, attempt, lateness),) = handlers.calls
    assert (id, fn, args, due, attempt) == (job.id, "#'tests.handlers/look", (), job.due, 0)
    assert timedelta(0) <= lateness < timedelta(seconds=5)


def test_a_handler_cannot_end_the_listener(s: schedule.Schedule, seen: list[Event]) -> None:
    with schedule.listener(s, **HOW):
        schedule.add_now(s, handlers.leave)
        schedule.add_now(s, handlers.note, args=["after"])
        until(lambda: named(seen, "failed") and handlers.calls)
    assert named(seen, "failed")[0].fields["error_type"] == "SystemExit"


def test_no_more_run_at_once_than_threads(s: schedule.Schedule, seen: list[Event]) -> None:
    with schedule.listener(s, threads=2, **HOW):
        for _ in range(5):
            schedule.add_now(s, handlers.wait_for_gate)
        until(calls(2))
        assert schedule.counts(s).running == 2
        assert len([i for i in schedule.listeners(s)[0].running if i.state == "running"]) == 2
        handlers.gate.set()
        until(calls(5))


def test_quiet_takes_nothing_new_until_resumed(s: schedule.Schedule, seen: list[Event]) -> None:
    with schedule.listener(s, **HOW) as listener:
        listener.quiet()
        until(lambda: named(seen, "quiet"))
        schedule.add_now(s, handlers.note)
        assert schedule.counts(s).due == 1
        listener.resume()
        until(calls(1))


def test_a_stop_gives_back_runs_that_do_not_end(s: schedule.Schedule, seen: list[Event]) -> None:
    listener = schedule.listener(s, threads=1, **HOW).start()
    schedule.add_now(s, handlers.wait_for_gate)
    until(calls(1))
    assert listener.stop(timedelta(0)).given_back == 1
    assert schedule.counts(s).running == 0
    assert [job.attempt for job in schedule.jobs(s)] == [0]
    assert schedule.counts(s).listeners == 0
    with pytest.raises(errors.ListenerStopped, match="Make a new one"):
        listener.start()


def test_it_stops_at_once_when_idle_and_leaves_no_thread(s: schedule.Schedule, seen: list[Event]) -> None:
    before = threading.active_count()
    schedule.listener(s, **HOW).start().stop()
    until(lambda: threading.active_count() <= before, what="its threads to end")
    assert schedule.counts(s).listeners == 0


def test_a_function_that_it_may_not_run_is_reported_once_and_left(s: schedule.Schedule, seen: list[Event]) -> None:
    for name in ("#'os/system", "tests.handlers:_secret", "click:echo"):
        for n in range(2):
            schedule.add_now(s, name, args=[n])
    schedule.add(s, "nowhere:f", every="second")
    with schedule.listener(s, **HOW):
        until(lambda: len(named(seen, "cannot_run")) == 4)
        schedule.add_now(s, handlers.note)
        until(calls(1))
    reasons = sorted(e.fields["reason"] for e in named(seen, "cannot_run"))
    assert len(reasons) == 4
    assert reasons[-1] == "may not run tests.handlers:_secret: _secret begins with _, and is private. " \
        "Left for other listeners."  # fmt: skip
    assert len(list(schedule.jobs(s))) == 7
    assert {job.attempt for job in schedule.jobs(s)} == {0}


def test_several_schedules_share_the_threads(server: Server, name: str, seen: list[Event]) -> None:
    one, two = (schedule.create(f"{name}-{n}", redis=server.url) for n in (1, 2))
    with schedule.listener({one: 10, two: 1}, **HOW):
        for n in range(20):
            schedule.add_now(one, handlers.note, args=[1, n])
            schedule.add_now(two, handlers.note, args=[2, n])
        until(calls(40))
    assert len(set(handlers.calls)) == 40


def test_strict_order_empties_the_first_schedule_first(server: Server, name: str, seen: list[Event]) -> None:
    one, two = (schedule.create(f"{name}-{n}", redis=server.url) for n in (1, 2))
    for n in range(10):
        schedule.add_now(two, handlers.note, args=["second", n])
        schedule.add_now(one, handlers.note, args=["first", n])
    schedule.listener([one, two], strict=True, burst=True, threads=1, **HOW).run()
    assert [call[0] for call in handlers.calls] == ["first"] * 10 + ["second"] * 10


def test_burst_runs_due_jobs_and_returns(s: schedule.Schedule, seen: list[Event]) -> None:
    for n in range(50):
        schedule.add_now(s, handlers.note, args=[n])
    schedule.add(s, handlers.note, at="2030-01-01 9am")
    assert schedule.listen(s, burst=True, **HOW).ran == 50
    assert schedule.counts(s).waiting == 1


def test_a_recurring_job_runs_again_and_again(s: schedule.Schedule, seen: list[Event]) -> None:
    schedule.add(s, handlers.note, every="second", args=["tick"])
    with schedule.listener(s, **HOW):
        until(calls(3), timeout=6)
    dues = [e.fields["job"].due for e in named(seen, "done")]
    assert all(b - a == timedelta(seconds=1) for a, b in pairwise(dues))


def test_a_running_handler_sees_that_it_was_cancelled(s: schedule.Schedule, seen: list[Event]) -> None:
    with schedule.listener(s, **HOW) as listener:
        job = schedule.add_now(s, handlers.wait_for_gate)
        until(calls(1))
        assert schedule.cancel(s, job).state == "cancelling"
        run = next(iter(listener._loop._router.runs()))
        until(lambda: run.cancelled, timeout=5)
        handlers.gate.set()


@pytest.mark.parametrize(
    ("how", "message"),
    [
        ({"threads": 0}, "threads=0 is out of range. Accepted: 1 to 1,000."),
        ({"thread": 5}, "thread=5 is not an option of listen. Did you mean threads=5?"),
        ({"imports": "app"}, "imports='app' is one text, not a list. Write imports=['app']."),
        ({"deadline": 5}, 'deadline=5 has no unit. Write "5s" or timedelta(seconds=5).'),
    ],
)
def test_how_to_listen_is_checked(how: dict[str, Any], message: str) -> None:
    with pytest.raises(errors.Invalid) as caught:
        schedule.listener(schedule.create("x"), **how)
    assert str(caught.value) == message


def test_an_unreachable_server_is_raised_at_the_start() -> None:
    with pytest.raises(errors.ServerUnreachable):
        schedule.listen(schedule.create("x", redis="redis://127.0.0.1:1/"), folder=None)


def test_a_start_that_is_refused_leaves_no_thread(s: schedule.Schedule) -> None:
    def threads() -> set[threading.Thread]:
        return {one for one in threading.enumerate() if one.name.removeprefix("workkit-").isdecimal()}

    before = threads()
    with pytest.raises(errors.InvalidOptions, match="names no registered job"):
        schedule.listener(s, threads=3, jobs=["nobody has it"], **HOW).start()
    until(lambda: threads() <= before, timeout=10, what="the end of its threads")
