"""Giving a job another time: what is read, what is refused, what is recorded (spec/features.md 8)."""

from __future__ import annotations

import asyncio
import warnings
from collections.abc import Iterator
from dataclasses import replace
from datetime import UTC, datetime
from typing import Any

import pytest

from tests import handlers
from tests.brokers.additions import listening
from tests.contract.stage import FAILURE
from tests.servers import Server
from workkit import aio, schedule, wire
from workkit.brokers.native.broker import NativeBroker
from workkit.contract.admin import At
from workkit.errors import ChangedMeanwhile, InvalidOptions, NotFound, PhraseError, TriggerError, WorkkitWarning
from workkit.jobs.job import Job
from workkit.jobs.outcome import Again, Dead, Done
from workkit.schedule import Schedule
from workkit.triggers import explain, parse

HOW: dict[str, Any] = {"imports": ["tests.handlers"], "folder": None}


@pytest.fixture
def s(server: Server, name: str) -> Schedule:
    return schedule.create(name, redis=server.url)


@pytest.fixture
def peer(server: Server, name: str) -> Iterator[NativeBroker]:
    """A listener, stepped by hand."""
    opened, _ = listening(server, name)
    yield opened
    opened.leave()
    opened.close()


def digest(s: Schedule, **more: Any) -> Job:
    given = {"every": "weekday at 9am", "tz": "Europe/Paris", "name": "digest", "args": ["finance", 20], **more}
    return schedule.add(s, handlers.note, **given)


def words(job: Job) -> str:
    assert job.trigger is not None
    return explain(job.trigger)


def content(job: Job) -> tuple[Any, ...]:
    return job.fn, job.args, job.kwargs, job.options, job.terms, job.name


def test_a_zone_that_is_given_holds_and_bounds_in_the_words_too(s: Schedule) -> None:
    digest(s, end="2090-01-01")
    after = schedule.reschedule(s, "digest", every="weekday at 8am until 2098-01-01", tz="America/New_York")
    assert after.trigger is not None
    assert (after.trigger.tz, after.trigger.end and after.trigger.end.year) == ("America/New_York", 2098)


def test_a_job_becomes_one_that_recurs_and_one_that_runs_once(s: Schedule) -> None:
    digest(s)
    once = schedule.reschedule(s, "digest", at="2099-01-05 9am")
    assert (once.recurs, once.due) == (False, datetime(2099, 1, 5, 8, tzinfo=UTC)), "it is read in the zone of the job"
    again = schedule.reschedule(s, once, cron="0 8 * * *")
    assert (again.recurs, content(again)) == (True, content(once))
    now = schedule.reschedule(s, "digest", at="now")
    assert not now.recurs
    handlers.calls.clear()
    schedule.drain(s, **HOW)
    assert handlers.calls == [("finance", 20)]
    assert list(schedule.jobs(s)) == []


def test_a_recurring_job_with_options_of_one_cannot_run_once(s: Schedule) -> None:
    before = digest(s, overlap="skip", end="2099-01-01")
    with pytest.raises(InvalidOptions, match=r"^end= and overlap= with a job that runs once"):
        schedule.reschedule(s, "digest", at="2098-01-05 9am")
    assert [job.id for job in schedule.jobs(s)] == [before.id]


def test_the_same_time_changes_nothing(s: Schedule) -> None:
    before = digest(s)
    after = schedule.reschedule(s, "digest", every="weekday at 9am")
    assert (after.id, after.new, after.due) == (before.id, False, before.due)
    assert list(schedule.changes(s)) == []


def test_a_job_in_its_last_run_gets_no_other_time(s: Schedule, peer: NativeBroker) -> None:
    job = digest(s, every="minute", end="2099-01-01", count=1)
    assert job.due is not None
    now = round(job.due.timestamp() * 1000)
    peer.admit([(peer.claim(1, now_ms=now).claims[0], None)], now_ms=now)
    with pytest.raises(InvalidOptions, match="has begun its last run"):
        schedule.reschedule(s, "digest", every="day at 8am")
    assert [(found.id, found.state) for found in schedule.jobs(s)] == [(job.id, "running")]


@pytest.mark.parametrize("how", ["claimed", "run", "again"])
def test_a_job_that_runs_once_and_has_begun_is_left_alone(s: Schedule, peer: NativeBroker, how: str) -> None:
    job = schedule.add_now(s, handlers.note)
    (claim,) = peer.claim(1).claims
    if how == "run":
        peer.admit([(claim, None)])
    if how == "again":
        peer.claim(0, ends=[(claim, Again(delay_ms=60_000, attempt=1, failure=None))])
    before = list(schedule.jobs(s))
    with pytest.raises(InvalidOptions, match=r"runs once, and has begun\. Add it again"):
        schedule.reschedule(s, job.id, in_="1 hour")
    assert list(schedule.jobs(s)) == before


def test_what_is_dead_over_or_unknown_is_named(s: Schedule, peer: NativeBroker) -> None:
    digest(s)
    dead, over = (schedule.add_now(s, handlers.note, args=[n]) for n in range(2))
    for claim in peer.claim(2).claims:
        outcome = Dead(reason="failed", failure=FAILURE) if claim.id == dead.id else Done()
        peer.claim(0, ends=[(claim, outcome)])
    with pytest.raises(InvalidOptions, match=r"is dead\. Run it again: workkit retry"):
        schedule.reschedule(s, dead.id, in_="1 hour")
    with pytest.raises(NotFound, match='Nearest: "digest"'):
        schedule.reschedule(s, "digst", in_="1 hour")
    with pytest.raises(NotFound):
        schedule.reschedule(s, over.id, in_="1 hour")


def test_the_same_instant_again_changes_nothing(s: Schedule) -> None:
    job = schedule.add(s, handlers.note, in_="1 hour", args=[1])
    for _ in range(2):
        job = schedule.reschedule(s, job, at="2099-01-05 9am")
    assert len(list(schedule.changes(s))) == 1
    assert [(found.id, found.due) for found in schedule.jobs(s)] == [(job.id, datetime(2099, 1, 5, 9, tzinfo=UTC))]


def test_who_changed_the_time_is_recorded(s: Schedule) -> None:
    before = digest(s)
    after = schedule.reschedule(s, "digest", every="weekday at 8am", by="alice")
    (change,) = schedule.changes(s, "digest")
    assert (change.verb, change.by, change.target, change.id) == ("reschedule", "alice", "job:digest", before.id)
    assert change.before == {"time": words(before), "due": before.due}
    assert change.after == {"time": words(after), "due": after.due, "id": after.id}


def test_a_time_that_is_not_understood_or_not_given_changes_nothing(s: Schedule) -> None:
    added = schedule.add(s, handlers.note, in_="1 hour", args=[1])
    job = schedule.job(s, schedule.reschedule(s, added, in_="2 hours").id)
    mistakes: list[tuple[dict[str, Any], type[Exception]]] = [
        ({"every": "weekdy at 8am"}, PhraseError),
        ({}, InvalidOptions),
        ({"at": "noon", "every": "day"}, InvalidOptions),
        ({"every": "day at 8am", "tz": "Europe/Pariss"}, TriggerError),
    ]
    for how, error in mistakes:
        with pytest.raises(error):
            schedule.reschedule(s, job, **how)
    assert list(schedule.jobs(s)) == [job]


def test_a_coroutine_does_the_same(s: Schedule) -> None:
    before = digest(s)
    after = asyncio.run(aio.reschedule(s, before, when="every weekday at 8am"))
    assert (after.replaced, words(after)) == (before.id, "every weekday at 8:00 Europe/Paris")


def test_members_of_a_payload_that_nobody_here_knows_are_kept(s: Schedule, server: Server) -> None:
    """What a later release, or another program, has put there."""
    client = server.client()
    opts = {"name": "digest", "retries": 3, "later": {"x": [1.5, "é"]}}
    extra = {"kwargs": {"tenant": 7}, "opts": opts, "other": [None, True]}
    payload = wire.payload(cron="* * * * 9 0 0", job="#'tests.handlers/note", args=["finance"], extra=extra)
    id = wire.job_id(payload)
    client.hset(f"{s.name}:jobs", id, payload)
    client.zadd(f"{s.name}:next", {wire.item(id): 4_000_000_000_000})
    client.hset(f"{s.name}:names", "digest", f"{id} r")
    after = schedule.reschedule(s, "digest", every="day at 8am")
    stored = wire.read_payload(client.hget(f"{s.name}:jobs", after.id))
    assert (stored.cron, stored.job, stored.args, stored.extra) == (
        "* * * * 8 0 0", "#'tests.handlers/note", ("finance",), extra,
    )  # fmt: skip


def test_middleware_does_not_see_a_job_again(s: Schedule) -> None:
    def tenant(job: Job) -> Iterator[Job]:
        yield replace(job, kwargs={"tenant": 1 + (job.kwargs or {}).get("tenant", 0)})

    s.middleware(tenant, on="add")
    digest(s)
    after = schedule.reschedule(s, "digest", every="day at 8am")
    assert after.kwargs == schedule.job(s, "digest").kwargs == {"tenant": 1}


@pytest.mark.parametrize(
    ("zone", "given", "kept"),
    [
        ("Europe/Paris", {"every": "day at 9am", "tz": "UTC"}, "UTC"),
        ("Europe/Paris", {"every": "day at 9am in january"}, "Europe/Paris"),
        ("Europe/Paris", {"every": "5 minutes"}, "Europe/Paris"),
        ("Europe/Paris", {"in_": "1 hour"}, "Europe/Paris"),
        ("Asia/Tokyo", {"every": "day at 9am"}, "Asia/Tokyo"),
        ("UTC", {"every": "day at 9am", "tz": "Europe/Paris"}, "Europe/Paris"),
    ],
)
def test_words_are_read_in_the_zone_of_the_job(
    server: Server, name: str, zone: str, given: dict[str, Any], kept: str
) -> None:
    """A payload names no zone where seven UTC fields say its time."""
    s = schedule.create(name, redis=server.url, tz=zone)
    schedule.add(s, handlers.note, name="digest", **given)
    after = schedule.reschedule(s, "digest", every="day at 8am")
    assert after.trigger is not None
    assert (after.trigger.tz, after.trigger.rules) == (kept, ("* * * * 8 0 0",))


def test_the_next_sync_of_a_plan_sets_its_job_back(s: Schedule) -> None:
    plan = {"digest": {"fn": handlers.note, "every": "day at 9am"}}
    schedule.sync(s, plan)
    before = schedule.job(s, "digest")
    schedule.reschedule(s, "digest", every="day at 8am")
    assert schedule.sync(s, plan).changed == ("digest",)
    assert schedule.job(s, "digest").id == before.id


def test_a_step_that_comes_too_late_changes_nothing(s: Schedule, server: Server, peer: NativeBroker) -> None:
    """The job was as it should be when it was read, and has begun, or was replaced, when the step arrives."""
    once, named, admin = schedule.add_now(s, handlers.note), digest(s), peer.admin
    schedule.add(s, handlers.note, every="day at 7am", name="digest", args=[1], tz="Europe/Paris")
    assert [claim.id for claim in peer.claim(1).claims] == [once.id]
    client = server.client()
    before = {key: client.hgetall(f"{s.name}:{key}") for key in ("jobs", "names", "control")}
    queue = client.zrange(f"{s.name}:next", 0, -1, withscores=True)
    trigger, due_ms = parse("every day at 8am", now=datetime.now(UTC)), 4_000_000_000_000
    assert admin.reschedule([once], At(trigger=trigger, due_ms=due_ms)) == []
    with pytest.raises(NotFound):
        admin.reschedule([named], At(trigger=trigger, due_ms=due_ms))
    client.hset(f"{s.name}:jobs", named.id, before["jobs"][schedule.job(s, "digest").id.encode()])
    assert admin.reschedule([named], At(trigger=trigger, due_ms=due_ms)) == [], "another job has its name"
    client.hdel(f"{s.name}:jobs", named.id)
    assert {key: client.hgetall(f"{s.name}:{key}") for key in before} == before
    assert client.zrange(f"{s.name}:next", 0, -1, withscores=True) == queue


def test_who_was_quicker_is_named(s: Schedule, monkeypatch: pytest.MonkeyPatch) -> None:
    before = digest(s)
    other = digest(s, every="day at 7am")
    with monkeypatch.context() as patched:
        patched.setattr("workkit.verbs.control.changeable", lambda *_: before)
        with pytest.raises(
            ChangedMeanwhile, match=rf"it is now every day at 7:00 Europe/Paris, .* \({other.short_id}\)"
        ):
            schedule.reschedule(s, "digest", every="day at 8am")
    assert schedule.job(s, "digest").id == other.id


DROPPED: list[tuple[dict[str, Any], dict[str, Any], tuple[str, ...]]] = [
    ({"retries": 3, "kwargs": {"x": 1}}, {}, ("kwargs", "retries")),
    ({"tz": "Europe/Paris"}, {}, ("tz",)),
    ({"tz": "Europe/Paris"}, {"every": "hour"}, ()),
    ({"tz": "Europe/Paris"}, {"tz": "Europe/Rome"}, ()),
    ({"tz": "Europe/Paris"}, {"every": "day at 8am Europe/Rome"}, ()),
    ({"args": [1]}, {}, ("args",)),
    ({"args": [1]}, {"args": [2]}, ()),
    ({"args": [1], "retries": 2}, {"fn": handlers.fail}, ("retries",)),
    ({"base": "1m", "jitter": False, "ping": "https://hc.example/1"}, {"jitter": True}, ("ping", "base")),
    ({"overlap": "skip", "end": "2099-01-01", "count": 9}, {"overlap": "allow"}, ("end", "count")),
    ({"overlap": "skip", "spread": "1m", "timeout": "9m"}, {"every": None, "at": "2099-01-01 9am"}, ("timeout",)),
    ({"unique_key": "k", "priority": 2}, {"unique_key": "k", "on_conflict": "keep"}, ()),
    ({"retries": 3}, {"retries": 4}, ()),
    ({}, {"retries": 4}, ()),
]


@pytest.mark.parametrize(("had", "has", "names"), DROPPED)
def test_an_addition_tells_what_it_drops_of_the_job_of_its_name(
    s: Schedule, had: dict[str, Any], has: dict[str, Any], names: tuple[str, ...]
) -> None:
    before = schedule.add(s, **{"fn": handlers.note, "every": "day at 9am", "name": "digest", **had})
    given = {"fn": handlers.note, "every": "day at 8am", "name": "digest", **has}
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        after = schedule.add(s, **given)
    assert (after.replaced, after.dropped) == (before.id, names)
    said = [str(one.message) for one in caught if one.category is WorkkitWarning]
    if not names:
        assert said == []
        return
    (text,) = said
    what = " and ".join(f"{name}=" for name in names)
    assert text == (
        f'name="digest": this addition replaced {before.short_id}, and dropped its {what}. Give them again; or change '
        'the time alone: schedule.reschedule(s, "digest", ...).'
    )
    assert caught[0].filename == __file__


def test_nothing_is_told_where_nothing_is_replaced(s: Schedule) -> None:
    digest(s, retries=3)
    schedule.add(s, handlers.note, every="day at 8am", name="other")
    schedule.sync(s, {"digest": {"fn": handlers.note, "every": "day at 8am"}})
    assert schedule.add(s, handlers.note, every="day at 8am", name="digest").dropped == ()


def test_add_now_tells_what_it_drops_too(s: Schedule) -> None:
    digest(s, retries=3)
    with pytest.warns(WorkkitWarning, match=r"dropped its args= and retries=\."):
        schedule.add_now(s, handlers.note, name="digest")
