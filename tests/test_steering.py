"""`pause`, `resume`, `skip`, `run` and `missed` as they are called, with listeners that run."""

from __future__ import annotations

import asyncio
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from tests import handlers
from tests.processes import until
from tests.servers import Server
from workkit import Job, aio, schedule
from workkit.errors import InvalidArguments, InvalidFunction, InvalidOptions, NotFound, PhraseError, TriggerError
from workkit.jobs.admission import FREE, Control, Pause
from workkit.verbs.control import check_run, pause_until, target

HOW: dict[str, Any] = {"imports": ["tests.handlers"], "folder": None}
NOW = round(datetime(2026, 11, 20, 10, 15, tzinfo=UTC).timestamp() * 1000)


@pytest.fixture
def s(server: Server, name: str) -> schedule.Schedule:
    handlers.calls.clear()
    handlers.gate.clear()
    return schedule.create(name, redis=server.url)


def state(s: schedule.Schedule, which: str | Job) -> str:
    return schedule.job(s, which).state


# What was said.


@pytest.mark.parametrize(
    ("until", "meant"),
    [
        (None, None),
        ("tomorrow at 9am", datetime(2026, 11, 21, 8, tzinfo=UTC)),
        ("in 2 hours", datetime(2026, 11, 20, 12, 15, tzinfo=UTC)),
        (datetime(2027, 1, 1, tzinfo=UTC), datetime(2027, 1, 1, tzinfo=UTC)),
    ],
)
def test_until_is_read_as_one_instant(until: Any, meant: datetime | None) -> None:
    pause = pause_until("migration", until, tz="Europe/Paris", now_ms=NOW)
    assert pause == Pause(reason="migration", until_ms=None if meant is None else round(meant.timestamp() * 1000))


@pytest.mark.parametrize(
    ("until", "error", "said"),
    [
        ("every day at 9am", PhraseError, 'until="every day at 9am" recurs; it must be one instant'),
        (datetime(2026, 11, 20, 9, tzinfo=UTC), TriggerError, "until=2026-11-20 09:00:00 UTC has passed. Give a later"),
        (datetime(2027, 1, 1), TriggerError, "until=datetime.datetime(2027, 1, 1, 0, 0) has no zone"),
        (30, TriggerError, "until=30 is neither words nor a datetime"),
        ("today at 9am", TriggerError, "until=2026-11-20 09:00:00 UTC has passed. Give a later"),
        ("7pm tomorow", PhraseError, 'until="7pm tomorow": "tomorow" (column 5) is not understood.'),
    ],
)
def test_until_refuses_what_is_no_later_instant(until: Any, error: type[Exception], said: str) -> None:
    with pytest.raises(error) as refused:
        pause_until(None, until, tz="UTC", now_ms=NOW)
    assert str(refused.value).startswith(said)


def test_a_reason_is_a_text() -> None:
    with pytest.raises(InvalidOptions, match="is not a text"):
        pause_until(5, None, tz="UTC", now_ms=NOW)  # type: ignore[arg-type]


def test_a_function_is_named_as_in_add() -> None:
    assert target(None, handlers.note) == target(None, "tests.handlers:note") == "fn:#'tests.handlers/note"
    assert target(None, None) == "schedule"
    with pytest.raises(InvalidFunction):
        target(None, lambda: None)


def test_a_job_and_a_function_at_once_are_refused(s: schedule.Schedule) -> None:
    for verb in (schedule.pause, schedule.resume):
        with pytest.raises(InvalidOptions, match=r"which and fn= were both given\. Keep one"):
            verb(s, "nightly", fn=handlers.note)


def test_what_is_not_there_is_not_found(s: schedule.Schedule) -> None:
    for verb in (schedule.pause, schedule.resume, schedule.skip, schedule.run):
        with pytest.raises(NotFound, match='no job "nightly"'):
            verb(s, "nightly")


# Pauses.


def test_nothing_of_a_paused_schedule_starts_before_it_is_resumed(s: schedule.Schedule, server: Server) -> None:
    schedule.pause(s, reason="migration")
    with schedule.listener(s, threads=2, **HOW):
        for n in range(3):  # each wakes it, and it waits for the next one when it has looked
            job = schedule.add_now(s, handlers.note, args=[n])
            until(lambda: not server.client().llen(f"{s.name}:wake"))
        assert schedule.job(s, job).why == "paused: migration"
        assert handlers.calls == []
        schedule.resume(s)
        until(lambda: sorted(handlers.calls) == [(0,), (1,), (2,)])
        schedule.resume(s)  # harmless


def test_of_a_paused_function_nothing_starts_and_others_go_on(s: schedule.Schedule) -> None:
    schedule.pause(s, fn=handlers.note)
    with schedule.listener(s, threads=2, **HOW):
        jobs = [schedule.add_now(s, handlers.note, args=[n]) for n in range(3)]
        schedule.add_now(s, handlers.welcome, args=["tracy"])
        until(lambda: schedule.counts(s).paused == 3)
        until(lambda: handlers.calls == ["tracy"])
        assert {state(s, job) for job in jobs} == {"paused"}
        schedule.resume(s, fn="tests.handlers:note")
        until(lambda: len(handlers.calls) == 4)
        until(lambda: not schedule.counts(s).running)
    assert schedule.counts(s).paused == 0


def test_a_job_is_paused_by_id_or_name_and_stays_so(s: schedule.Schedule) -> None:
    one = schedule.add(s, handlers.note, every="second", args=[1])
    two = schedule.add(s, handlers.note, every="second", args=[2], name="nightly")
    schedule.pause(s, one, reason="a", until=datetime.now(UTC) + timedelta(hours=1))
    schedule.pause(s, "nightly")
    schedule.add(s, handlers.note, every="second", args=[3], name="nightly")
    assert {state(s, job) for job in (one, "nightly")} == {"paused"}
    assert two.id != schedule.job(s, "nightly").id
    with schedule.listener(s, threads=2, **HOW):
        schedule.add_now(s, handlers.note, args=["other"])
        until(lambda: ("other",) in handlers.calls)
        schedule.resume(s, one.id[:8])
        until(lambda: handlers.calls.count((1,)) == 2)
        assert set(handlers.calls) == {("other",), (1,)}
        schedule.resume(s, "nightly")
        until(lambda: handlers.calls.count((3,)) == 2)


def test_a_pause_outlives_its_job_and_can_be_ended(s: schedule.Schedule, server: Server) -> None:
    with schedule.listener(s, threads=1, **HOW):
        job = schedule.add_now(s, handlers.wait_for_gate)
        until(lambda: handlers.calls == ["begun"])
        schedule.pause(s, job)
        handlers.gate.set()
        until(lambda: not schedule.counts(s).running)
    assert schedule.job(s, job).state == "done"
    schedule.resume(s, job.id)
    assert server.client().hkeys(f"{s.name}:control") == [b"v"]


# One run less, one run more.


def test_skip_leaves_out_one_run(s: schedule.Schedule) -> None:
    job = schedule.add(s, handlers.note, every="hour", name="hourly")
    assert job.due is not None
    assert schedule.skip(s, "hourly").due == job.due + timedelta(hours=1)
    assert schedule.job(s, job).due == job.due + timedelta(hours=1)


def test_run_is_once_and_beside_the_times(s: schedule.Schedule) -> None:
    recurring = schedule.add(s, handlers.note, every="hour", args=["recurring"])
    once = schedule.add(s, handlers.note, in_="1 hour", args=["once"])
    assert {schedule.run(s, job).state for job in (recurring, once)} == {"due"}
    assert schedule.drain(s, **HOW).ran == 2
    assert sorted(handlers.calls) == [("once",), ("recurring",)]
    (left,) = schedule.jobs(s)
    assert (left.id, left.due, left.state) == (recurring.id, recurring.due, "waiting")


def test_a_run_with_other_arguments_is_a_job_of_its_own(s: schedule.Schedule) -> None:
    nightly = schedule.add(s, handlers.note, every="hour", name="nightly", args=["usual"], retries=2)
    ran = schedule.run(s, "nightly", args=["2026-11-05"], by="maria")
    assert ran.id != nightly.id
    assert (ran.args, ran.name, ran.options.retries) == (("2026-11-05",), None, 2)
    asyncio.run(aio.run(s, "nightly", args=[1], kwargs={}))
    assert schedule.drain(s, **HOW).ran == 2
    assert sorted(map(str, handlers.calls)) == ["('2026-11-05',)", "(1,)"]
    (left,) = schedule.jobs(s)
    assert (left.id, left.due, left.args) == (nightly.id, nightly.due, ("usual",))
    assert [(one.verb, one.by) for one in schedule.changes(s, "nightly")][-1] == ("run", "maria")


def test_other_arguments_of_a_run_are_checked_as_those_of_add(s: schedule.Schedule) -> None:
    schedule.add(s, handlers.fail, every="hour", name="failing")
    schedule.add(s, handlers.fail, in_="1 hour", name="once")
    hows: list[dict[str, Any]] = [{"args": [1, 2, 3]}, {"args": [7]}, {"kwargs": {"size": 7}}, {"args": "disk"}]
    for how in hows:
        with pytest.raises(InvalidArguments):
            schedule.run(s, "failing", **how)
    with pytest.raises(InvalidOptions, match="runs once, and keeps its arguments"):
        schedule.run(s, "once", args=["disk"])
    assert [job.name for job in schedule.jobs(s)] == ["failing", "once"]


def test_a_one_shot_has_no_run_to_skip(s: schedule.Schedule) -> None:
    job = schedule.add(s, handlers.note, in_="1 hour")
    with pytest.raises(InvalidOptions, match=rf"runs once\. Take it out: workkit cancel {s.name} {job.id[:8]}\."):
        schedule.skip(s, job)


def test_a_dead_job_is_retried_instead(s: schedule.Schedule) -> None:
    job = schedule.add_now(s, handlers.fail)
    schedule.drain(s, raise_errors=False, **HOW)
    for verb in (schedule.skip, schedule.run, schedule.pause):
        with pytest.raises(InvalidOptions, match=rf"is dead\. Run it again: workkit retry {s.name} {job.id[:8]}\."):
            verb(s, job)


def test_what_runs_once_and_runs_is_not_hurried(s: schedule.Schedule) -> None:
    with schedule.listener(s, threads=1, **HOW):
        job = schedule.add_now(s, handlers.wait_for_gate)
        until(lambda: handlers.calls == ["begun"])
        with pytest.raises(InvalidOptions, match="is running already"):
            schedule.run(s, job)
        handlers.gate.set()


def test_what_is_paused_is_resumed_before_it_is_run_or_skipped(s: schedule.Schedule) -> None:
    job = schedule.add(s, handlers.note, every="hour", name="hourly")
    schedule.pause(s, "hourly")
    with pytest.raises(InvalidOptions, match=f"Resume it: workkit resume {s.name} hourly"):
        schedule.run(s, job)
    with pytest.raises(InvalidOptions, match=f"Resume it: workkit resume {s.name}"):
        schedule.skip(s, job)


@pytest.mark.parametrize(
    ("paused", "said"),
    [
        ("schedule", "is paused, so {id} would not run. Resume it: workkit resume {name}."),
        ("fn:#'tests.handlers/note", "Resume it: workkit resume {name} --fn tests.handlers:note."),
        ("job:{full}", "Resume it: workkit resume {name} {id}."),
    ],
)
def test_a_run_names_what_is_to_be_resumed(s: schedule.Schedule, paused: str, said: str) -> None:
    job = schedule.add(s, handlers.note, every="hour")
    assert check_run(job, FREE) is job
    with pytest.raises(InvalidOptions) as refused:
        check_run(job, Control(paused={paused.format(full=job.id): Pause()}))
    assert str(refused.value).endswith(said.format(id=job.id[:8], name=s.name))


def test_missed_runs_are_told(s: schedule.Schedule, server: Server) -> None:
    assert list(schedule.missed(s)) == []
    fields = {"id": "a" * 40, "name": "", "fn": "#'app/x", "due": 1000, "reason": "overlap", "times": 1}
    server.client().xadd(f"{s.name}:missed", fields)
    (missed,) = schedule.missed(s)
    assert (missed.fn, missed.due.timestamp(), missed.reason, missed.times) == ("#'app/x", 1.0, "overlap", 1)


def test_the_same_as_coroutines(s: schedule.Schedule) -> None:
    async def steer() -> list[Any]:
        job = await aio.add(s, handlers.note, every="hour")
        await aio.pause(s, job)
        await aio.resume(s, job)
        skipped = await aio.skip(s, job)
        assert (await aio.run(s, job)).id == skipped.id
        return [missed async for missed in aio.missed(s)]

    assert asyncio.run(steer()) == []


@pytest.mark.parametrize("weight", ["a", 0, -1, float("nan"), float("inf"), True, None])
def test_a_weight_is_a_number_above_0(weight: Any) -> None:
    with pytest.raises(InvalidOptions, match=r"weighed: .* is not a weight\. Accepted: numbers above 0"):
        schedule.listener({schedule.create("weighed"): weight})


def test_which_is_a_text_or_a_job(s: schedule.Schedule) -> None:
    with pytest.raises(InvalidOptions, match="5 is neither a name, an id nor a Job"):
        schedule.job(s, 5)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    "args", [[7], ["a", "b"], {"size": 1}, {"text": 7}], ids=["type", "too many", "unknown name", "type of a name"]
)
def test_arguments_that_the_function_refuses_do_not_use_the_record_up(s: schedule.Schedule, args: Any) -> None:
    schedule.add_now(s, handlers.fail, args=() if isinstance(args, dict) else ["disk"])
    schedule.drain(s, imports=["tests.handlers"], folder=None, raise_errors=False)
    (record,) = schedule.dead(s)
    with pytest.raises(InvalidArguments) as refused:
        schedule.add_now(s, handlers.fail, **{"kwargs" if isinstance(args, dict) else "args": args})
    with pytest.raises(InvalidArguments) as caught:
        schedule.retry(s, record.id, args=args)
    assert str(caught.value) == str(refused.value)
    assert schedule.dead(s) == [record]
    assert schedule.retry(s, record.id, args=["other"]) == 1


def test_a_plan_that_names_a_function_by_a_text_is_checked_where_it_is_imported(s: schedule.Schedule) -> None:
    with pytest.raises(InvalidArguments, match=r"job nightly: .*takes 0 to 1 arguments; args has 2"):
        schedule.sync(s, {"nightly": {"fn": "tests.handlers:fail", "args": [1, 2], "every": "hour"}})
