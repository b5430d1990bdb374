"""`schedule.changes`: who did what by a verb, and what leaves no entry."""

from __future__ import annotations

import asyncio
import getpass
import socket
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from tests import handlers
from tests.servers import Server
from workkit import aio, errors, schedule
from workkit.contract.admin import Change

HOW: dict[str, Any] = {"imports": ["tests.handlers"], "folder": None, "raise_errors": False}
UNTIL = datetime(2035, 3, 1, 12, tzinfo=UTC)


@pytest.fixture
def s(server: Server, name: str) -> schedule.Schedule:
    handlers.calls.clear()
    return schedule.create(name, redis=server.url)


def last(s: schedule.Schedule) -> Change:
    return schedule.changes(s, limit=1)[0]


def verbs(s: schedule.Schedule) -> list[str]:
    return [change.verb for change in reversed(schedule.changes(s))]


def test_a_pause_says_who_until_when_and_why(s: schedule.Schedule) -> None:
    schedule.pause(s, reason="migration", until=UNTIL, by="alice")
    first = last(s)
    assert (first.by, first.via, first.verb, first.target) == ("alice", "python", "pause", "schedule")
    assert (first.before, first.after, first.reason) == ({}, {"until": UNTIL}, "migration")
    assert abs(datetime.now(UTC) - first.at) < timedelta(minutes=5)
    schedule.pause(s, reason="still", by="bob")
    assert last(s).before == {"reason": "migration", "until": UNTIL}
    assert last(s).after == {}
    schedule.resume(s, by="carol")
    assert (last(s).by, last(s).verb, last(s).before) == ("carol", "resume", {"reason": "still"})


def test_what_changes_nothing_leaves_no_entry(s: schedule.Schedule) -> None:
    job = schedule.add(s, handlers.note, every="hour", name="nightly")
    schedule.resume(s)
    for _ in range(2):
        schedule.pause(s, job, until=UNTIL)
    for _ in range(2):
        schedule.resume(s, job)
    schedule.cancel(s, job)
    schedule.cancel(s, job, missing_ok=True)
    with pytest.raises(errors.NotFound):
        schedule.cancel(s, "nightly")
    schedule.retry(s)
    schedule.discard(s)
    assert verbs(s) == ["pause", "resume", "cancel"]


def test_what_listeners_and_producers_do_is_no_change(s: schedule.Schedule) -> None:
    schedule.add(s, handlers.note, every="hour", name="nightly")
    schedule.add_now(s, handlers.fail)
    schedule.drain(s, **HOW)
    assert schedule.changes(s) == []


def test_each_verb_names_its_job(s: schedule.Schedule) -> None:
    job = schedule.add(s, handlers.fail, every="hour", name="nightly")
    assert job.due is not None
    schedule.skip(s, job, by="alice")
    skipped = last(s)
    assert (skipped.before, skipped.after) == ({"due": job.due}, {"due": job.due + timedelta(hours=1)})
    schedule.run(s, job, by="alice")
    schedule.drain(s, **HOW)
    schedule.retry(s, job, by="alice")
    schedule.drain(s, **HOW)
    schedule.discard(s, job, by="alice")
    schedule.pause(s, job, by="alice")
    schedule.resume(s, job, by="alice")
    schedule.cancel(s, job, by="alice")
    assert verbs(s) == ["skip", "run", "retry", "discard", "pause", "resume", "cancel"]
    assert {change.target for change in schedule.changes(s)} == {"job:nightly"}
    for change in schedule.changes(s):
        assert change.by == "alice"
        if change.verb not in ("pause", "resume"):
            assert (change.id, change.fn) == (job.id, job.fn)
    assert last(s).before == {"due": job.due + timedelta(hours=1)}


def test_a_one_shot_that_is_run_at_once_is_told_once(s: schedule.Schedule) -> None:
    job = schedule.add(s, handlers.note, at=UNTIL)
    for _ in range(2):
        schedule.run(s, job)
    assert verbs(s) == ["run"]


def test_several_dead_jobs_are_one_change(s: schedule.Schedule) -> None:
    for n in range(3):
        schedule.add_now(s, handlers.fail, args=[str(n)])
    schedule.drain(s, **HOW)
    schedule.retry(s, by="alice")
    assert (last(s).verb, last(s).target, last(s).times, last(s).id) == ("retry", "dead", 3, None)
    schedule.drain(s, **HOW)
    schedule.discard(s, by="alice")
    assert (last(s).verb, last(s).target, last(s).times) == ("discard", "dead", 3)


def test_a_sync_says_what_it_adds_changes_and_removes(s: schedule.Schedule) -> None:
    plan = {name: {"fn": handlers.note, "every": "hour"} for name in ("a", "b", "c")}
    schedule.sync(s, plan, dry_run=True, by="alice")
    assert schedule.changes(s) == []
    schedule.sync(s, plan, by="alice")
    schedule.sync(s, plan, by="alice")
    assert (last(s).verb, last(s).after, last(s).times) == ("sync", {"added": ["a", "b", "c"]}, 3)
    changed = {"a": plan["a"], "b": {**plan["b"], "every": "day"}}
    schedule.sync(s, changed, prune=True, by="bob")
    assert verbs(s) == ["sync", "sync", "cancel"]
    cancelled, synced, _ = schedule.changes(s)
    assert (synced.by, synced.after, synced.times) == ("bob", {"changed": ["b"], "removed": ["c"]}, 2)
    assert (cancelled.by, cancelled.target) == ("bob", "job:c")


def test_settings_of_the_schedule_are_told_when_they_differ(s: schedule.Schedule, server: Server) -> None:
    for limit in (5, 5, 6):
        schedule.counts(schedule.create(s.name, redis=server.url, limit=limit))
    found = schedule.changes(s)
    assert [(change.verb, change.after.get("limit")) for change in found] == [("declare", "6"), ("declare", "5")]


def test_without_a_name_it_is_the_user_and_the_host(s: schedule.Schedule, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("WORKKIT_BY", raising=False)
    schedule.pause(s)
    assert last(s).by == f"{getpass.getuser()}@{socket.gethostname()}"
    monkeypatch.setenv("WORKKIT_BY", "deploy 41")
    schedule.resume(s)
    assert last(s).by == "deploy 41"


@pytest.mark.parametrize("by", ["", " ", 7, "x" * 101])
def test_a_name_that_is_none_is_refused_before_anything_changes(s: schedule.Schedule, by: Any) -> None:
    job = schedule.add(s, handlers.note, every="hour", name="nightly")
    for act in (schedule.cancel, schedule.pause, schedule.resume, schedule.skip, schedule.run, schedule.retry):
        with pytest.raises(errors.InvalidOptions) as refused:
            act(s, job, by=by)
        assert refused.value.given == by
    assert schedule.job(s, job).state == "waiting"
    assert schedule.changes(s) == []


def test_changes_of_a_job_are_found_by_name_id_and_beginning_also_when_it_is_over(s: schedule.Schedule) -> None:
    job = schedule.add(s, handlers.note, every="hour", name="nightly")
    other = schedule.add(s, handlers.note, every="day")
    schedule.skip(s, job)
    schedule.skip(s, other)
    schedule.cancel(s, job)
    for which in (job, "nightly", job.id, job.id[:8]):
        assert [change.verb for change in schedule.changes(s, which)] == ["cancel", "skip"]
    assert [change.id for change in schedule.changes(s, other.id)] == [other.id]
    assert schedule.changes(s, "nobody") == []
    with pytest.raises(errors.InvalidOptions):
        schedule.changes(s, limit=0)


def test_changes_are_kept_without_history_and_when_it_is_removed(s: schedule.Schedule, server: Server) -> None:
    off = schedule.create(s.name, redis=server.url, history="off")
    schedule.pause(off, by="alice")
    assert verbs(off) == ["declare", "pause"]


def test_shards_tell_once_of_what_concerns_them_all(server: Server, name: str) -> None:
    s = schedule.create(name, redis=server.url, shards=3)
    jobs = [schedule.add(s, handlers.note, every="hour", name=f"job-{n}") for n in range(6)]
    schedule.pause(s, by="alice")
    schedule.resume(s, by="alice")
    for job in jobs:
        schedule.pause(s, job, by="bob")
    found = schedule.changes(s)
    schedule.mark(s, "release 41")
    assert [change.after for change in schedule.changes(s) if change.verb == "mark"] == [{"text": "release 41"}]
    assert [change.verb for change in found] == ["pause"] * 6 + ["resume", "pause"]
    assert [change.target for change in reversed(found[:6])] == [f"job:{job.name}" for job in jobs]


def test_a_mark_says_what_happened_and_who_says_so(s: schedule.Schedule) -> None:
    schedule.mark(s, "release 41", by="deploy")
    assert asyncio.run(aio.mark(s, "Umstellung ✓")) is None
    second, first = schedule.changes(s)
    assert (first.by, first.via, first.verb, first.target) == ("deploy", "python", "mark", "schedule")
    assert (first.before, first.after, first.times) == ({}, {"text": "release 41"}, 1)
    assert second.after == {"text": "Umstellung ✓"}


@pytest.mark.parametrize(
    ("text", "position", "trouble"),
    [
        ("", None, "is empty"), (" \u2003", None, "is empty"), (None, None, "is not a text"),
        (41, None, "is not a text"),
        ("x" * 201, None, "has 201 characters"), ("release\n41", 7, "has a control character (column 8)"),
        ("\x1b[2J", 0, "has a control character (column 1)"), ("a\udcff", 1, "has a control character (column 2)"),
    ],
)  # fmt: skip
def test_a_text_that_is_no_mark_is_refused(s: schedule.Schedule, text: Any, position: int | None, trouble: str) -> None:
    with pytest.raises(errors.InvalidOptions) as refused:
        schedule.mark(s, text)
    found = refused.value
    assert (found.given, found.where, found.position, found.trouble) == (text, "text", position, trouble)
    assert found.remedy
    assert schedule.changes(s) == []
    schedule.mark(s, "x" * 200)


def test_a_mark_that_the_server_does_not_keep_is_told(s: schedule.Schedule, server: Server) -> None:
    with server.client() as client:
        client.set(f"{s.name}:changes", "of another type")
    schedule.pause(s)
    with pytest.raises(errors.WorkkitError):
        schedule.mark(s, "release 41")


def test_aio_has_them_too(s: schedule.Schedule) -> None:
    async def acts() -> list[Change]:
        await aio.pause(s, by="alice")
        return await aio.changes(s)

    assert [change.by for change in asyncio.run(acts())] == ["alice"]
