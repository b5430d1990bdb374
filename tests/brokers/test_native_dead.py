"""The dead set on real servers: put back once, with everything that belongs to it; forgotten without a trace."""

from __future__ import annotations

import time
from dataclasses import replace
from typing import Any

import pytest

from tests import handlers
from tests.brokers.test_native_session import add, claim_one, listening, standing
from tests.metronome import Metronome
from tests.processes import until
from tests.servers import Server
from workkit import errors, schedule, wire
from workkit.jobs.job import Job
from workkit.jobs.outcome import Dead, Done, Failure

FAILURE = Failure(type="OSError", message="disk full", where="app.py:3", traceback="...")


@pytest.fixture
def s(server: Server, name: str) -> schedule.Schedule:
    return schedule.create(name, redis=server.url)


def die(server: Server, name: str, n: int = 1, *, how: Dead | None = None) -> list[Job]:
    add(server, name, n)
    b, _ = listening(server, name)
    claims = b.claim(n).claims
    b.claim(0, ends=[(claim, how or Dead(failure=FAILURE)) for claim in claims])
    b.leave()
    return list(schedule.jobs(schedule.create(name, redis=server.url), state="dead"))


def run_all(server: Server, name: str) -> list[Any]:
    handlers.calls.clear()
    s = schedule.create(name, redis=server.url)
    schedule.drain(s, imports=["tests.handlers"], folder=None)
    return list(handlers.calls)


def test_a_one_shot_goes_back_where_every_peer_sees_it(server: Server, name: str, s: schedule.Schedule) -> None:
    (dead,) = die(server, name)
    assert schedule.retry(s, dead.id[:8]) == 1
    client = server.client()
    assert client.zrange(f"{name}:next", 0, -1) == [b'{"id":"%s"}' % dead.id.encode()]
    assert client.hkeys(f"{name}:jobs") == [dead.id.encode()]
    b, _ = listening(server, name)
    claim = claim_one(b)
    assert (claim.job.attempt, claim.crashes) == (0, 0)
    b.claim(0, ends=[(claim, Done())])
    assert standing(server, name) == set()


@pytest.mark.parametrize("other", [{}, {"args": [2]}], ids=["the same", "with other arguments"])
def test_a_one_shot_has_its_name_its_key_and_its_priority_again(
    server: Server, name: str, s: schedule.Schedule, other: dict[str, Any]
) -> None:
    schedule.add_now(s, handlers.note, args=[1], name="bill", priority=2)
    schedule.add_now(s, handlers.note, args=[1], unique_key="bill", priority=2)
    b, _ = listening(server, name)
    b.claim(0, ends=[(claim, Dead(failure=FAILURE)) for claim in b.claim(2).claims])
    b.leave()
    assert schedule.retry(s, **other) == 2
    alive = {job.name: job.id for job in schedule.jobs(s)}
    named = schedule.add_now(s, handlers.note, args=[3], name="bill", on_conflict="keep")
    keyed = schedule.add_now(s, handlers.note, args=[3], unique_key="bill")
    assert {"bill": named.id, None: keyed.id} == alive
    assert (named.new, keyed.new) == (False, False)
    assert server.client().zcard(f"{name}:first:2") == 2


def test_a_one_shot_that_goes_back_leaves_its_name_and_its_key_to_the_job_that_has_them_now(
    server: Server, name: str, s: schedule.Schedule
) -> None:
    schedule.add_now(s, handlers.note, args=[1], name="bill")
    schedule.add_now(s, handlers.note, args=[1], unique_key="bill")
    b, _ = listening(server, name)
    b.claim(0, ends=[(claim, Dead(failure=FAILURE)) for claim in b.claim(2).claims])
    b.leave()
    named = schedule.add_now(s, handlers.note, args=[2], name="bill")
    keyed = schedule.add_now(s, handlers.note, args=[2], unique_key="bill")
    assert schedule.retry(s) == 2
    assert schedule.add_now(s, handlers.note, args=[3], name="bill", on_conflict="keep").id == named.id
    assert schedule.add_now(s, handlers.note, args=[3], unique_key="bill").id == keyed.id


@pytest.mark.parametrize("over", [False, True], ids=["goes on", "is over"])
def test_an_occurrence_of_a_recurring_job_is_run_beside_its_schedule(
    server: Server, name: str, s: schedule.Schedule, over: bool
) -> None:
    job = schedule.add(s, every="second", fn=handlers.note, args=["again"])
    b, _ = listening(server, name)
    now = b.now_ms() + 5_000
    (armed,) = b.admit([(c, None) for c in b.claim(1, now_ms=now).claims], now_ms=now).claims
    b.claim(0, ends=[(armed, Dead(failure=FAILURE))])
    b.leave()
    if over:
        schedule.cancel(s, job.id)
    before = standing(server, name)
    assert before == {"dead", "graves", *([] if over else ["jobs", "next"]), *(["cancelled"] if over else [])}
    (dead,) = schedule.jobs(s, state="dead")
    assert schedule.retry(s, dead) == 1
    assert {"again", "slots", "jobs"} <= standing(server, name)
    (entry,) = server.client().zrange(f"{name}:again", 0, -1)
    assert entry.startswith(b"o %d 0 0 - " % armed.due_ms)
    assert run_all(server, name) == [("again",)]
    assert standing(server, name) == (set() if over else {"jobs", "next"})


def test_one_death_of_several_is_put_back_and_no_other(server: Server, name: str, s: schedule.Schedule) -> None:
    schedule.add(s, every="second", fn=handlers.note)
    b, _ = listening(server, name)
    for n in range(2):
        now = b.now_ms() + 5_000 * (n + 1)
        (armed,) = b.admit([(c, None) for c in b.claim(1, now_ms=now).claims], now_ms=now).claims
        b.claim(0, ends=[(armed, Dead(failure=FAILURE))])
    b.leave()
    latest, first = schedule.jobs(s, state="dead")
    assert (latest.id, latest.dead_id) == (first.id, armed.receipt.occurrence)
    assert schedule.retry(s, first) == 1
    with pytest.raises(errors.NotFound, match="no dead job"):
        schedule.retry(s, first)
    assert [job.dead_id for job in schedule.jobs(s, state="dead")] == [latest.dead_id]
    assert schedule.retry(s, latest.id[:6]) == 1
    runs = {f"run:{first.id}\0{job.dead_id}".encode() for job in (latest, first)}
    assert set(server.client().zrange(f"{name}:slots", 0, -1)) == runs


def test_retries_count_anew(server: Server, name: str, s: schedule.Schedule) -> None:
    schedule.add_now(s, handlers.fail, retries=1, base="0.001s")
    how: dict[str, Any] = {"imports": ["tests.handlers"], "folder": None, "raise_errors": False}
    until(lambda: schedule.drain(s, **how).failed, what="the job to die")
    (dead,) = schedule.jobs(s, state="dead")
    assert dead.attempt == 1
    assert schedule.retry(s, dead) == 1
    assert standing(server, name) == {"jobs", "next"}
    b, _ = listening(server, name)
    assert claim_one(b).attempt == 0


def test_a_mark_of_cancellation_does_not_end_what_is_put_back(server: Server, name: str, s: schedule.Schedule) -> None:
    (dead,) = die(server, name)
    server.client().zadd(f"{name}:cancelled", {dead.id: 1})
    assert schedule.retry(s, dead) == 1
    assert standing(server, name) == {"jobs", "next"}


def test_a_listener_that_sleeps_is_woken(server: Server, name: str, s: schedule.Schedule) -> None:
    die(server, name, 2)
    b, _ = listening(server, name)
    assert not server.client().llen(f"{name}:wake")
    assert schedule.retry(s) == 2
    assert b.wait(5)
    b.leave()


def test_arguments_that_json_cannot_carry_leave_it_dead(server: Server, name: str, s: schedule.Schedule) -> None:
    (dead,) = die(server, name)
    for args in ([{1}], "one text"):
        with pytest.raises(errors.InvalidArguments):
            schedule.retry(s, dead, args=args)
    assert standing(server, name) == {"dead", "graves"}


def test_with_other_arguments_it_is_a_new_job(server: Server, name: str, s: schedule.Schedule) -> None:
    add(server, name)
    schedule.drain(s, imports=["tests.handlers"], folder=None, raise_errors=False)
    schedule.add_now(s, handlers.fail, args=["no"], retries=0)
    assert schedule.drain(s, imports=["tests.handlers"], folder=None, raise_errors=False).failed == 1
    (dead,) = schedule.jobs(s, state="dead", where="no")
    assert schedule.retry(s, dead, args=["other"]) == 1
    (new,) = (job for job in schedule.jobs(s) if job.args == ("other",))
    assert (new.fn, new.options, new.state) == (dead.fn, dead.options, "due")
    assert new.id != dead.id
    assert not list(schedule.jobs(s, state="dead", where="no"))


def test_a_rate_spreads_them(server: Server, name: str, s: schedule.Schedule) -> None:
    die(server, name, 5)
    assert schedule.retry(s, rate="2/second") == 5
    due = sorted(int(when) for _, when in server.client().zrange(f"{name}:next", 0, -1, withscores=True))
    assert [when - due[0] for when in due] == [0, 500, 1000, 1500, 2000]


@pytest.mark.parametrize("rate", ["fast", "0/second", "10", "1/month", "-1/s", 5])
def test_what_is_no_rate_is_refused(server: Server, name: str, s: schedule.Schedule, rate: Any) -> None:
    die(server, name)
    with pytest.raises(errors.InvalidOptions, match="is not a rate"):
        schedule.retry(s, rate=rate)
    assert schedule.counts(s).dead == 1


def test_what_cannot_be_read_stays_dead(server: Server, name: str, s: schedule.Schedule) -> None:
    server.client().hset(f"{name}:jobs", "0" * 40, b"[1]")
    server.client().zadd(f"{name}:next", {b'{"id":"%s"}' % (b"0" * 40): 1})
    b, _ = listening(server, name)
    b.claim(0, ends=[(claim_one(b), Done())])
    (dead,) = schedule.jobs(s, state="dead")
    with pytest.raises(errors.CorruptRecord, match="cannot be run again"):
        schedule.retry(s, dead)
    assert schedule.retry(s) == 0
    assert schedule.counts(s).dead == 1
    assert schedule.discard(s, dead) == 1
    assert standing(server, name) == set()


def test_a_job_added_anew_meanwhile_is_not_merged(server: Server, name: str, s: schedule.Schedule) -> None:
    job = schedule.add(s, at="2100-01-01", fn="app:note")
    b, _ = listening(server, name)
    assert job.due is not None
    (claim,) = b.claim(1, now_ms=int(job.due.timestamp() * 1000)).claims
    b.claim(0, ends=[(claim, Dead(failure=FAILURE))])
    assert schedule.add(s, at="2100-01-01", fn="app:note").new
    (dead,) = schedule.jobs(s, state="dead")
    with pytest.raises(errors.InvalidOptions, match="was added anew meanwhile"):
        schedule.retry(s, dead)
    assert (schedule.counts(s).dead, schedule.counts(s).waiting) == (1, 1)


def test_they_are_chosen_by_text(server: Server, name: str, s: schedule.Schedule) -> None:
    die(server, name, 2)
    die(server, name, 1, how=Dead(failure=Failure(type="KeyError", message="user")))
    assert schedule.discard(s, where="KeyError") == 1
    assert schedule.retry(s, where="disk full") == 2
    assert schedule.counts(s).dead == 0


def test_ten_thousand_are_searched_and_put_back_in_pages(
    server: Server, name: str, s: schedule.Schedule, machine: Metronome
) -> None:
    schedule.add_many(s, ({"fn": "app:note", "at": "now", "args": [n]} for n in range(10_000)))
    b, _ = listening(server, name)
    for page in range(100):
        failure = replace(FAILURE, message=f"disk {page % 10} full")
        b.claim(0, ends=[(c, Dead(failure=failure)) for c in b.claim(100).claims])
    b.leave()
    began = time.monotonic()
    assert len(schedule.dead(s, where="[9999]")) == 1
    assert len(list(schedule.jobs(s, state="dead", where="disk 7 full"))) == 1000
    assert time.monotonic() - began < 40 + machine.slack  # usually 0.5 s
    assert schedule.retry(s, where="disk 7 full") == 1000
    assert schedule.retry(s, rate="1000/second") == 9000
    assert standing(server, name) == {"jobs", "next"}
    waiting = server.client().zrange(f"{name}:next", 1000, -1, withscores=True)
    assert waiting[-1][1] - waiting[0][1] >= 8_999


def test_the_dead_are_read_without_the_jobs_that_wait(server: Server, name: str, s: schedule.Schedule) -> None:
    die(server, name, 2)
    schedule.add_many(s, ({"fn": "app:note", "in_": "5 days", "args": [n]} for n in range(1000)))
    client = server.client()
    client.config_resetstat()
    assert len(list(schedule.jobs(s, state="dead"))) == 2
    asked = {command.removeprefix("cmdstat_"): said["calls"] for command, said in client.info("commandstats").items()}
    assert asked["zrevrange"] == asked["hmget"] == 1
    assert "zrange" not in asked  # by which the waiting ones are read


def test_a_damaged_record_hides_no_other_and_goes_by_discard(server: Server, name: str, s: schedule.Schedule) -> None:
    (whole,) = die(server, name)
    client = server.client()
    client.zadd(f"{name}:dead", {"damaged": 2, "bare": 1, "odd": 3})
    client.hset(f"{name}:graves", mapping={"damaged": b"\xc1", "odd": b"\x01"})
    found = {job.dead_id: job for job in schedule.jobs(s, state="dead")}
    assert list(found) == [whole.dead_id, "odd", "damaged", "bare"]
    for each in ("damaged", "bare", "odd"):
        with pytest.raises(errors.CorruptRecord, match="cannot be run again"):
            schedule.retry(s, found[each])
    assert schedule.retry(s) == 1
    assert schedule.discard(s) == 3
    assert standing(server, name) == {"jobs", "next"}


def test_a_name_that_is_no_text_goes_back_and_by_discard(server: Server, name: str, s: schedule.Schedule) -> None:
    client = server.client()
    for job, end in zip(die(server, name, 2), (b"@\xe9\x80", b"@\xff"), strict=True):
        client.hset(f"{name}:graves", job.id.encode() + end, client.hget(f"{name}:graves", job.dead_id))
        client.zadd(f"{name}:dead", {job.id.encode() + end: time.time() * 1000})
        schedule.discard(s, job)
    first, second = schedule.jobs(s, state="dead")
    assert schedule.retry(s, second) == 1
    assert client.zscore(f"{name}:next", wire.item(second.id)) is not None
    assert schedule.discard(s, first) == 1
    assert list(schedule.jobs(s, state="dead")) == []
    assert not client.exists(f"{name}:graves")


def test_a_follower_is_added_once_if_the_reply_is_lost(server: Server, name: str) -> None:
    add(server, name)
    b, losing = listening(server, name)
    claim, client = claim_one(b), server.client()
    losing.lose_next()
    with pytest.raises(errors.ServerUnreachable):
        b.claim(0, ends=[(claim, Dead(failure=FAILURE, follower="#'app/tell"))])
    (before,) = client.hkeys(f"{name}:jobs")  # the server has acted
    b.claim(0)
    b.leave()
    assert client.hkeys(f"{name}:jobs") == [before]
    assert client.zrange(f"{name}:next", 0, -1) == [b'{"id":"%s"}' % before]
    (dead,) = schedule.dead(schedule.create(name, redis=server.url))
    assert dead.followed_by == before.decode()
    assert schedule.job(schedule.create(name, redis=server.url), before.decode()).args == (
        claim.id, "OSError: disk full (app.py:3)",
    )  # fmt: skip
