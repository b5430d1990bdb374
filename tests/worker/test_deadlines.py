"""`done_by=` and `within=`: the deadline of a job. Any listener reports once that it is late (spec/features.md 5)."""

from __future__ import annotations

from datetime import datetime, timedelta
from functools import partial
from typing import Any

import pytest

from tests import handlers
from tests.processes import until
from tests.servers import Server
from tests.worker.observation import HOW, named
from workkit import schedule
from workkit.contract.admin import NextRun, Undo
from workkit.errors import Invalid, Unsupported
from workkit.events import Event
from workkit.verbs.opening import producer_of
from workkit.worker.event_text import event_parts

HOUR = 3_600_000


def deadlines(server: Server, s: schedule.Schedule) -> dict[str, float]:
    found: list[Any] = server.client().zrange(f"{s.name}:deadlines", 0, -1, withscores=True)
    return {name.decode(): score for name, score in found}


def pass_by(server: Server, s: schedule.Schedule) -> None:
    """Have all deadlines passed a second ago."""
    client = server.client()
    now = int(client.time()[0]) * 1000
    for name in deadlines(server, s):
        client.zadd(f"{s.name}:deadlines", {name: now - 1000})


def beats(server: Server, s: schedule.Schedule, times: int) -> None:
    """Wait until each listener has sent further heartbeats."""
    client: Any = server.client()

    def have_beaten(since: int) -> bool:
        return all(at > since for _, at in client.zrange(f"{s.name}:listeners", 0, -1, withscores=True))

    for _ in range(times):
        now = int(client.time()[0]) * 1000 + 1000
        until(partial(have_beaten, now))


def of(job: Any) -> float:
    assert job.due is not None
    return float(round(job.due.timestamp() * 1000))


def test_a_deadline_is_kept_with_the_job_until_it_ends(server: Server, s: schedule.Schedule) -> None:
    job = schedule.add_now(s, handlers.note, within="2 hours")
    assert deadlines(server, s) == {job.id: of(job) + 2 * HOUR}
    assert schedule.job(s, job.id).terms.within_ms == 2 * HOUR
    schedule.drain(s, **HOW)
    assert handlers.calls == [()]
    assert deadlines(server, s) == {}


def test_each_run_of_a_recurring_job_has_its_deadline(server: Server, s: schedule.Schedule) -> None:
    job = schedule.add(s, handlers.wait_for_gate, every="second", within="2 hours", name="a", overlap="queue")
    with schedule.listener(s, threads=1, **HOW):
        until(lambda: handlers.calls)
        first = of(job)
        until(lambda: len(deadlines(server, s)) > 1)
        for name, by in deadlines(server, s).items():
            id, _, due = name.partition("@")
            assert (id, by) == (job.id, int(due) + 2 * HOUR)
        assert f"{job.id}@{first:.0f}" in deadlines(server, s)
        handlers.gate.set()
        until(lambda: f"{job.id}@{first:.0f}" not in deadlines(server, s))
    schedule.cancel(s, "a")


def test_words_are_read_from_each_due_time(server: Server, s: schedule.Schedule) -> None:
    paris = schedule.create(s.name, redis=server.url, tz="Europe/Paris")
    job = schedule.add(paris, handlers.note, every="day at 4am", done_by="6am", name="nightly")
    ((name, by),) = deadlines(server, s).items()
    assert name == f"{job.id}@{of(job):.0f}"
    assert timedelta(milliseconds=by - of(job)) == timedelta(hours=2)
    schedule.skip(s, "nightly")
    ((name, later),) = deadlines(server, s).items()
    assert timedelta(hours=23) <= timedelta(milliseconds=later - by) <= timedelta(hours=25)
    schedule.snooze(s, "nightly", "5 hours")
    ((name, last),) = deadlines(server, s).items()
    assert name.endswith(f"@{of(schedule.job(s, 'nightly')):.0f}")
    assert last > later


@pytest.mark.parametrize("told_by", ["a listener without the function", "a listener that runs it"])
def test_one_listener_reports_once_that_a_job_is_late(
    server: Server, s: schedule.Schedule, seen: list[Event], told_by: str
) -> None:
    runs_it = told_by == "a listener that runs it"
    fn = handlers.wait_for_gate if runs_it else "elsewhere:work"
    job = schedule.add_now(s, fn, within="1 hour", name="export")
    with schedule.listener(s, threads=1, **HOW), schedule.listener(s, threads=1, **HOW):
        until(lambda: handlers.calls or not runs_it)
        pass_by(server, s)
        (event,) = until(lambda: named(seen, "past_deadline"))
        assert event.fields["job"].id == job.id
        assert event.fields["is_past"] is True
        assert event_parts(event)[0].startswith("past its deadline, ")
        (late,) = schedule.counts(s).past_deadline
        assert (late.job.name, late.is_past) == ("export", True)
        beats(server, s, 2)
        assert len(named(seen, "past_deadline")) == 1
        handlers.gate.set()
        if runs_it:
            until(lambda: not schedule.counts(s).past_deadline)
        else:
            schedule.cancel(s, "export")
            assert schedule.counts(s).past_deadline == ()
    assert len(named(seen, "past_deadline")) == 1


def test_without_any_listener_it_shows_where_somebody_looks(server: Server, s: schedule.Schedule) -> None:
    nightly = schedule.add(s, handlers.note, every="day at 6am", within="1 hour", name="nightly")
    job = schedule.add(s, handlers.note, at=nightly.due, within="1 hour", name="export")
    assert schedule.counts(s).past_deadline == ()
    pass_by(server, s)
    late = schedule.counts(s).past_deadline
    assert sorted(str(one.job.name) for one in late) == ["export", "nightly"]
    assert all(one.is_past for one in late)
    assert {one.job.due for one in late} == {job.due}
    assert deadlines(server, s)[job.id] > 0, "nobody has told so"


def test_an_attempt_that_would_come_too_late_is_reported_at_once(
    server: Server, s: schedule.Schedule, seen: list[Event]
) -> None:
    job = schedule.add_now(s, handlers.fail, retries=3, base="2 hours", cap="2 hours", jitter=False, within="1 hour")
    other = schedule.add_now(s, handlers.fail, retries=3, base="10 minutes", within="1 hour")
    with schedule.listener(s, threads=1, **HOW):
        (event,) = until(lambda: named(seen, "past_deadline"))
    assert (event.fields["job"].id, event.fields["is_past"]) == (job.id, False)
    assert event_parts(event)[0].startswith("cannot meet its deadline, ")
    (late,) = schedule.counts(s).past_deadline
    assert (late.job.id, late.is_past) == (job.id, False)
    assert deadlines(server, s)[other.id] == of(other) + HOUR


@pytest.mark.parametrize("target", [{}, {"fn": "tests.handlers:note"}, {"which": "a"}])
def test_a_pause_that_ends_too_late_is_reported_at_once(
    s: schedule.Schedule, seen: list[Event], target: dict[str, Any]
) -> None:
    late = schedule.add(s, handlers.note, in_="1 hour", within="1 hour", name="a")
    schedule.add(s, handlers.note, in_="1 hour", within="10 hours", name="b")
    if target.get("which"):
        schedule.pause(s, late, until="in 5 hours")
    else:
        schedule.pause(s, until="in 5 hours", **target)
    assert [one.job.id for one in schedule.counts(s).past_deadline] == [late.id]
    with schedule.listener(s, threads=1, **HOW):
        (event,) = until(lambda: named(seen, "past_deadline"))
    assert (event.fields["job"].id, event.fields["is_past"]) == (late.id, False)


def test_a_pause_without_an_end_is_late_only_once_the_deadline_is_past(server: Server, s: schedule.Schedule) -> None:
    schedule.add(s, handlers.note, every="day at 6am", within="1 hour", name="a")
    schedule.pause(s, schedule.job(s, "a"))
    assert schedule.counts(s).past_deadline == ()
    pass_by(server, s)
    assert [one.job.name for one in schedule.counts(s).past_deadline] == ["a"]


def test_what_a_foreign_peer_has_run_is_not_late(server: Server, s: schedule.Schedule, seen: list[Event]) -> None:
    client: Any = server.client()
    once = schedule.add(s, handlers.note, at="tomorrow 6am", within="1 hour")
    daily = schedule.add(s, handlers.note, every="day at 6am", within="1 hour", name="a")
    client.zrem(f"{s.name}:next", f'{{"id":"{once.id}"}}')
    client.hdel(f"{s.name}:jobs", once.id)
    client.zadd(f"{s.name}:next", {f'{{"id":"{daily.id}"}}': of(daily) + 24 * HOUR})
    pass_by(server, s)
    assert schedule.counts(s).past_deadline == ()
    with schedule.listener(s, threads=1, **HOW):
        until(lambda: not deadlines(server, s))
    assert named(seen, "past_deadline") == []


def test_a_cancelled_job_and_a_replaced_one_are_not_late(server: Server, s: schedule.Schedule) -> None:
    for name in ("a", "b", "c"):
        schedule.add(s, handlers.note, every="day at 6am", within="1 hour", name=name)
    schedule.cancel(s, "a")
    schedule.add(s, handlers.note, every="day at 7am", within="9 hours", name="b")
    schedule.reschedule(s, "c", every="day at 8am")
    assert f"{schedule.job(s, 'c').id}@{of(schedule.job(s, 'c')):.0f}" in deadlines(server, s)
    pass_by(server, s)
    assert {one.job.id for one in schedule.counts(s).past_deadline} == {schedule.job(s, n).id for n in ("b", "c")}


def test_a_job_that_runs_now_keeps_its_deadline(server: Server, s: schedule.Schedule) -> None:
    job = schedule.add(s, handlers.note, at="tomorrow 6am", within="1 hour")
    before = deadlines(server, s)
    schedule.run(s, job)
    assert deadlines(server, s) == before
    schedule.drain(s, **HOW)
    assert deadlines(server, s) == {}


def test_an_undone_skip_restores_the_deadline(server: Server, s: schedule.Schedule) -> None:
    schedule.add(s, handlers.note, every="day at 6am", within="1 hour", name="a")
    before, undos = deadlines(server, s), list[Undo]()
    admin = producer_of(s).admin.by(None, undos=undos)
    admin.reschedule([schedule.job(s, "a")], NextRun())
    assert before.keys().isdisjoint(deadlines(server, s))
    admin.steer(undos[0])
    assert deadlines(server, s) == before


def test_a_forward_reports_too(server: Server, s: schedule.Schedule, name: str, seen: list[Event]) -> None:
    to = schedule.create(f"{name}-other", redis=server.url)
    schedule.add(s, handlers.note, at="tomorrow 6am", within="1 hour")
    pass_by(server, s)
    with schedule.forwarder(s, to=to):
        until(lambda: named(seen, "past_deadline"))


def test_other_programs_values_are_left_alone(server: Server, s: schedule.Schedule, seen: list[Event]) -> None:
    client: Any = server.client()
    strange: dict[Any, float] = {
        "x": 5.5, "a@5": 5, "a@5@6": -5, b"\xff@1": 1, "y": float("inf"), "z": float("-inf"), "b": -3e15, "c": -1.5e15,
    }  # fmt: skip
    client.zadd(f"{s.name}:deadlines", strange)
    late = schedule.add(s, handlers.note, at="tomorrow 6am", within="1 hour")
    client.zadd(f"{s.name}:deadlines", {late.id: 7})
    assert [one.job.id for one in schedule.counts(s).past_deadline] == [late.id]
    with schedule.listener(s, threads=1, **HOW):
        until(lambda: named(seen, "past_deadline"))
    assert set(deadlines(server, s)) == {"y", "z", "b", late.id}
    client.delete(f"{s.name}:deadlines")
    client.set(f"{s.name}:deadlines", "rubbish")
    with schedule.listener(s, threads=1, **HOW):
        schedule.add_now(s, handlers.note, within="1 hour")
        until(lambda: handlers.calls)


@pytest.mark.parametrize("layout", ["gocraft"])
def test_other_layouts_refuse_it(server: Server, name: str, layout: str) -> None:
    other = schedule.create(name, redis=server.url, layout=layout)
    with pytest.raises(Unsupported, match="within="):
        schedule.add_now(other, "note", within="1h")
    with pytest.raises(Unsupported, match="done_by="):
        schedule.add_now(other, "note", done_by="6am")


def test_every_shard_counts_its_own(server: Server, name: str) -> None:
    s = schedule.create(name, redis=server.url, shards=3)
    ids = {schedule.add(s, handlers.note, in_="1 hour", args=[n], within="1 hour").id for n in range(9)}
    client: Any = server.client()
    for n in range(3):
        key = f"{{{name}.{n}}}:deadlines"
        if names := client.zrange(key, 0, -1):
            client.zadd(key, dict.fromkeys(names, 5))
    assert {one.job.id for one in schedule.counts(s).past_deadline} == ids


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"at": "tomorrow 6am", "done_by": "2014-01-01"}, "is not after the time at which the job is due"),
        ({"every": "day at 6am", "done_by": "2050-01-01"}, "is one instant, and the job recurs. Write a time of day"),
        ({"every": "day at 6am", "done_by": "5 minutes"}, 'is a length of time. Write it as within="2 hours".'),
        ({"every": "day at 6am", "done_by": "6"}, 'done_by="6" is a bare number'),
        ({"every": "day at 6am", "done_by": "daily at 9am until friday"}, "is no time of day"),
        ({"at": "tomorrow 6am", "done_by": 5}, "is neither words nor a datetime"),
        ({"at": "tomorrow 6am", "done_by": datetime(2050, 1, 1)}, "has no zone"),
    ],
)  # fmt: skip
def test_a_deadline_that_no_run_has_is_refused(s: schedule.Schedule, given: Any, message: str) -> None:
    with pytest.raises(Invalid) as caught:
        schedule.add(s, handlers.note, **given)
    assert message in str(caught.value)
    assert caught.value.where == "done_by"


def test_a_job_with_one_instant_as_its_deadline_cannot_recur(s: schedule.Schedule) -> None:
    job = schedule.add(s, handlers.note, at="tomorrow 6am", done_by="2050-01-01")
    with pytest.raises(Invalid, match="is one instant, and the job recurs"):
        schedule.reschedule(s, job, every="day at 6am")
    assert schedule.reschedule(s, job, at="tomorrow 7am").terms == job.terms


def test_a_plan_and_a_call_of_a_function_take_it_too(server: Server, s: schedule.Schedule) -> None:
    schedule.sync(s, {"nightly": {"fn": handlers.note, "every": "day at 2am", "done_by": "6am"}})
    before = deadlines(server, s)
    assert len(before) == 1
    schedule.sync(s, {"nightly": {"fn": handlers.note, "every": "day at 2am", "done_by": "6am"}})
    assert deadlines(server, s) == before
    job = s.job(handlers.note).now(within="1 hour").send()
    assert deadlines(server, s) == before | {job.id: of(job) + HOUR}


def test_a_retried_job_has_no_deadline(server: Server, s: schedule.Schedule) -> None:
    schedule.add_now(s, handlers.fail, within="1 hour")
    schedule.drain(s, raise_errors=False, **HOW)
    assert deadlines(server, s) == {}
    schedule.retry(s)
    assert deadlines(server, s) == {}
