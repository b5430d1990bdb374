"""Slots where something else comes between: hand-backs, pauses, cancellation, revival, listeners of two versions."""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from typing import Any

from tests.brokers.test_native_admit import FAILURE, ONE, admit, end, occurrence, slots
from tests.brokers.test_native_session import listening
from tests.processes import until
from tests.servers import Server
from workkit import schedule
from workkit.brokers.native.broker import NativeBroker
from workkit.contract.listener import Claim
from workkit.jobs.admission import Admission
from workkit.jobs.job import Job
from workkit.jobs.outcome import Dead, Done, Released

SKIP = Admission(keys=(("over:tick", 1),), overlap="skip")
UNIQUE = Admission(keys=(("unique:u", 1),))
WHOLE = Admission(keys=(("schedule", 1),))


def ticking(server: Server, name: str) -> tuple[schedule.Schedule, Job]:
    s = schedule.create(name, redis=server.url)
    return s, schedule.add(s, "app:tick", every="second")


def add_unique(s: schedule.Schedule, arg: str, **options: Any) -> Job:
    return schedule.add_now(s, "app:f", args=[arg], unique_key="u", on_conflict="replace", **options)


def is_later(client: Any, ms: int) -> bool:
    """Whether the server's own clock is past that time; a broker only estimates it."""
    seconds, micros = client.time()
    return bool(seconds * 1000 + micros // 1000 > ms)


def claimed(server: Server, s: schedule.Schedule, fn: str, *bs: NativeBroker) -> list[Claim]:
    """One job for each broker, added and claimed in turn, a millisecond apart."""
    client = server.client()
    found: list[Claim] = []
    for b in bs:
        schedule.add_now(s, fn, args=[len(found)])
        (claim,) = b.claim(1).claims
        found.append(claim)
        until(partial(is_later, client, claim.due_ms))
    return found


def test_a_run_beside_the_schedule_is_missed_like_others(server: Server, name: str) -> None:
    s, job = ticking(server, name)
    b, _ = listening(server, name)
    (first,) = b.admit([(occurrence(b, server, name), SKIP)]).claims
    schedule.run(s, job)
    (beside,) = (claim for claim in b.claim(10).claims if claim.armed)
    turn = b.admit([(beside, SKIP)])
    assert [reason for _, reason in turn.missed] == ["overlap"]
    end(b, first)
    assert slots(server, name) == []


def test_one_that_was_given_back_is_not_overtaken(server: Server, name: str) -> None:
    ticking(server, name)
    b, _ = listening(server, name)
    (first,) = b.admit([(occurrence(b, server, name), SKIP)]).claims
    end(b, first, outcome=Released())
    claims = sorted(b.claim(10, now_ms=first.due_ms + 1000).claims, key=lambda claim: claim.due_ms)
    assert [reason for _, reason in b.admit([(claims[1], SKIP)]).missed] == ["overlap"]
    (again,) = b.admit([(claims[0], SKIP)]).claims
    assert again.due_ms == first.due_ms
    end(b, again)


def test_what_is_paused_keeps_nobody_else_from_running(server: Server, name: str) -> None:
    s = schedule.create(name, redis=server.url)
    b, _ = listening(server, name)
    got = [*claimed(server, s, "app:f", b, b), *claimed(server, s, "app:g", b)]
    (running,) = b.admit([(claim, WHOLE) for claim in got]).claims
    schedule.pause(s, fn="app:f")
    end(b, running)
    (promoted,) = b.claim(10).claims
    assert (promoted.fn, promoted.slots) == ("#'app/f", ("schedule",))
    assert not b.admit([(promoted, replace(WHOLE, pause=f"fn:{promoted.fn}"))]).claims
    (other,) = b.claim(10).claims
    assert (other.fn, other.slots) == ("#'app/g", ("schedule",))
    end(b, other)
    assert slots(server, name) == []


def test_a_cancelled_job_that_was_parked_has_no_slot_of_another(server: Server, name: str) -> None:
    s = schedule.create(name, redis=server.url)
    b, _ = listening(server, name)
    schedule.add_now(s, "app:tick", args=["x"])
    (running,) = admit(b, ONE)
    job = schedule.add(s, "app:tick", every="second")
    assert not b.admit([(occurrence(b, server, name), ONE)]).claims
    schedule.cancel(s, job)
    schedule.add(s, "app:tick", every="second")
    (again,) = (claim for claim in b.claim(10).claims if claim.armed)
    assert again.slots == ()
    assert slots(server, name).count(b"fn:one") == 1
    end(b, running, again)


def test_what_is_revived_takes_a_slot_anew(server: Server, name: str) -> None:
    s, _ = ticking(server, name)
    b, _ = listening(server, name)
    (first,) = b.admit([(occurrence(b, server, name), ONE)]).claims
    end(b, first, outcome=Dead(failure=FAILURE))
    (second,) = b.admit([(occurrence(b, server, name), ONE)]).claims
    assert schedule.retry(s) == 1
    (revived,) = (c for c in b.claim(10, now_ms=second.due_ms).claims if c.due_ms == first.due_ms)
    assert revived.slots == ()
    assert not b.admit([(revived, ONE)]).claims
    end(b, second)


def test_listeners_that_know_of_one_limit_more_do_not_wait_for_each_other(server: Server, name: str) -> None:
    s = schedule.create(name, redis=server.url)
    old, _ = listening(server, name)
    new, _ = listening(server, name)
    more = Admission(keys=(("fn:f", 1), ("schedule", 1)))
    first, second, third = claimed(server, s, "app:f", old, new, new)
    (running,) = new.admit([(second, more)]).claims
    assert not old.admit([(first, WHOLE)]).claims
    end(new, running)
    assert not new.admit([(third, more)]).claims, "it has fn:f, and waits for the slot of the first"
    (promoted,) = new.claim(10).claims
    assert promoted.slots == ("schedule",)
    assert not new.admit([(promoted, more)]).claims
    (goes,) = new.claim(10).claims
    assert goes.slots == ("fn:f", "schedule")
    end(new, goes)
    ran = 0
    while rest := new.claim(10).claims:
        go = new.admit([(claim, more) for claim in rest]).claims
        end(new, *go)
        ran += len(go)
    assert ran == 1
    assert slots(server, name) == []


def test_one_that_was_replaced_before_it_began_does_not_run(server: Server, name: str) -> None:
    s = schedule.create(name, redis=server.url)
    b, _ = listening(server, name)
    old = add_unique(s, "old")
    (claim,) = b.claim(1).claims
    assert add_unique(s, "new").replaced == old.id
    (new,) = admit(b, UNIQUE)
    end(b, new)
    (over,) = b.admit([(claim, UNIQUE)]).claims
    assert (over.trouble, new.args) == ("missing", ("new",)), "though its successor is over already"
    end(b, over)
    assert not server.client().exists(f"{name}:jobs", f"{name}:slots", f"{name}:unique")


def test_behind_one_that_runs_only_the_newest_waits(server: Server, name: str) -> None:
    s = schedule.create(name, redis=server.url)
    b, _ = listening(server, name)
    first = add_unique(s, "first")
    (running,) = admit(b, UNIQUE)
    second = add_unique(s, "second")
    assert second.replaced is None, "what runs is not disturbed"
    assert not admit(b, UNIQUE), "it is parked"
    third = add_unique(s, "third")
    assert third.replaced == second.id
    assert not admit(b, UNIQUE)
    end(b, running)
    (last,) = admit(b, UNIQUE)
    assert (running.id, last.id) == (first.id, third.id)
    end(b, last)
    assert not server.client().exists(f"{name}:jobs", f"{name}:slots", f"{name}:unique", f"{name}:waiting")


def test_a_name_beside_the_key_changes_nothing_of_that(server: Server, name: str) -> None:
    s = schedule.create(name, redis=server.url)
    b, _ = listening(server, name)
    old = add_unique(s, "old", name="n")
    (claim,) = b.claim(1).claims
    assert add_unique(s, "new", name="n").replaced == old.id
    (over,) = b.admit([(claim, UNIQUE)]).claims
    assert over.trouble == "missing"
    end(b, over)


def test_what_is_replaced_leaves_no_mark_that_it_was_cancelled(server: Server, name: str) -> None:
    s = schedule.create(name, redis=server.url)
    b, _ = listening(server, name)
    add_unique(s, "first")
    (running,) = admit(b, UNIQUE)
    second = add_unique(s, "second")
    (claim,) = b.claim(1).claims
    schedule.cancel(s, second)
    assert not b.admit([(claim, UNIQUE)]).claims
    assert add_unique(s, "third").replaced == second.id
    assert not server.client().exists(f"{name}:cancelled")
    end(b, running)


def test_a_server_that_forgot_a_replacement_gets_the_claim_back(server: Server, name: str) -> None:
    s = schedule.create(name, redis=server.url)
    b, _ = listening(server, name)
    job = add_unique(s, "old")
    client = server.client()
    payload = client.hget(f"{name}:jobs", job.id)
    (claim,) = b.claim(1).claims
    record = client.hgetall(f"{name}:running:{b.listener}")
    client.hdel(f"{name}:jobs", job.id)
    (over,) = b.admit([(claim, UNIQUE)]).claims
    assert over.trouble == "missing"
    client.hset(f"{name}:jobs", job.id, payload)  # a replica takes over that has not seen it go
    client.hset(f"{name}:running:{b.listener}", mapping=record)
    until(lambda: b.claim(0, ends=[(over, Done())]) is not None and client.exists(f"{name}:next"))
    (again,) = b.claim(1).claims
    assert (again.id, again.trouble) == (job.id, None)
    end(b, again)
