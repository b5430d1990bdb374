"""Slots, turns and parking, one step at a time on real servers: who is admitted, who waits, what the keys hold."""

from __future__ import annotations

import itertools
from typing import Any

import pytest

from tests.brokers.test_native_session import listening, standing
from tests.servers import Server
from workkit import schedule
from workkit.brokers.native.broker import NativeBroker
from workkit.brokers.redis_server.control import write_pause
from workkit.contract.listener import Claim
from workkit.errors import ServerUnreachable
from workkit.jobs.admission import Admission, Pause
from workkit.jobs.outcome import Again, Dead, Done, Failure, Outcome, Released

ONE = Admission(keys=(("fn:one", 1),))
BOTH = Admission(keys=(("fn:one=7", 1), ("schedule", 1)))
FAILURE = Failure(type="OSError", message="disk full")


def added(server: Server, name: str, n: int) -> None:
    s = schedule.create(name, redis=server.url)
    for i in range(n):
        schedule.add_now(s, "app:note", args=[i])


def admit(b: NativeBroker, wanted: Admission, limit: int = 100) -> list[Claim]:
    claims = b.claim(limit).claims
    return list(b.admit([(claim, wanted) for claim in claims]).claims) if claims else []


def end(b: NativeBroker, *claims: Claim, outcome: Outcome | None = None) -> None:
    b.claim(0, ends=[(claim, outcome or Done()) for claim in claims])


def slots(server: Server, name: str) -> list[bytes]:
    return [member.partition(b"\0")[0] for member in server.client().zrange(f"{name}:slots", 0, -1)]


def args(claims: list[Claim]) -> list[Any]:
    return [claim.args[0] for claim in claims]


def test_no_more_run_than_there_are_slots_and_the_next_goes_on_when_one_is_free(server: Server, name: str) -> None:
    added(server, name, 4)
    b, _ = listening(server, name)
    two = Admission(keys=(("fn:two", 2),))
    first = admit(b, two)
    assert len(first) == 2
    assert slots(server, name) == [b"fn:two"] * 2
    assert server.client().zcard(f"{name}:waiting") == 2
    assert not b.claim(10).claims
    end(b, first[0])
    (third,) = admit(b, two)
    assert third.slots == ("fn:two",)
    assert not b.claim(10).claims
    end(b, first[1], third)
    (fourth,) = admit(b, two)
    end(b, fourth)
    assert sorted(args([*first, third, fourth])) == [0, 1, 2, 3]
    assert standing(server, name) == set()


def test_those_that_wait_go_on_in_order_of_their_due_times(server: Server, name: str) -> None:
    s = schedule.create(name, redis=server.url)
    for number in range(3):
        schedule.add_now(s, "app:note", args=[number])
    b, _ = listening(server, name)
    (holder,) = admit(b, ONE)
    members = server.client().zrange(f"{name}:waiting", 0, -1)
    dues = [int(member.split(b"\0")[1]) for member in members]
    assert dues == sorted(dues)
    seen = [holder]
    while len(seen) < 3:
        end(b, seen[-1])
        seen += admit(b, ONE)
    assert [claim.due_ms for claim in seen[1:]] == dues
    end(b, seen[-1])


@pytest.mark.parametrize(
    "outcome",
    [
        Done(),
        Dead(failure=FAILURE),
        Released(),
        Released(unknown=True),
        Again(delay_ms=60_000, attempt=1, failure=FAILURE),
    ],
    ids=lambda o: type(o).__name__,
)
def test_every_ending_frees_the_slot(server: Server, name: str, outcome: Outcome) -> None:
    added(server, name, 2)
    b, _ = listening(server, name)
    (first,) = admit(b, ONE)
    end(b, first, outcome=outcome)
    c, _ = listening(server, name)
    while ran := admit(c, ONE):
        assert len(ran) == 1
        assert slots(server, name) == [b"fn:one"]
        end(c, *ran)
    assert slots(server, name) == []
    assert not server.client().exists(f"{name}:waiting", f"{name}:next")


def test_an_occurrence_keeps_what_it_has_while_it_waits_for_a_more_general_slot(server: Server, name: str) -> None:
    added(server, name, 3)
    b, _ = listening(server, name)
    whole = Admission(keys=(("schedule", 1),))
    (running,) = admit(b, whole, limit=1)
    assert admit(b, BOTH) == []
    assert sorted(slots(server, name)) == [b"fn:one=7", b"schedule"], "one has the special slot, the other waits for it"
    end(b, running)
    (first,) = admit(b, BOTH)
    assert first.slots == ("fn:one=7", "schedule")
    end(b, first)
    (second,) = admit(b, BOTH)
    end(b, second)
    assert standing(server, name) == set()


def test_an_admission_whose_reply_was_lost_is_asked_again_without_a_second_effect(server: Server, name: str) -> None:
    added(server, name, 3)
    b, losing = listening(server, name)
    claims = b.claim(3).claims
    losing.lose = 1
    asked = [(claim, ONE) for claim in claims]
    with pytest.raises(ServerUnreachable):
        b.admit(asked)
    (go,) = b.admit(asked).claims
    assert slots(server, name) == [b"fn:one"]
    assert server.client().zcard(f"{name}:waiting") == 2
    end(b, go)


def killed(b: NativeBroker, other: NativeBroker, server: Server, name: str) -> None:
    """Have `other` take back what `b` holds, as if `b` had died some time ago."""
    server.client().zadd(f"{name}:listeners", {b.listener: 1})
    assert other._session.reap(b.listener, 1) is not None


def test_the_slot_of_a_listener_that_died_goes_with_the_occurrence(server: Server, name: str) -> None:
    added(server, name, 2)
    b, _ = listening(server, name)
    other, _ = listening(server, name)
    (held,) = admit(b, ONE)
    killed(b, other, server, name)
    assert slots(server, name) == [b"fn:one"], "no crash frees or leaks a slot"
    (again,) = other.claim(10).claims
    assert (again.id, again.slots, again.crashes) == (held.id, ("fn:one",), 1)
    end(b, held)
    assert slots(server, name) == [b"fn:one"], "whoever was taken for dead frees nothing"
    end(other, again)
    (second,) = admit(other, ONE)
    end(other, second)
    assert standing(server, name) <= {"skip"}


def test_turns_are_taken_one_after_another_and_paid_once(server: Server, name: str) -> None:
    added(server, name, 4)
    b, _ = listening(server, name)
    paced = Admission(turns=(("fn:paced", 200.0),))
    claims = b.claim(10).claims
    turn = b.admit([(claim, paced) for claim in claims])
    (now,) = turn.claims
    assert turn.wake_in_ms is not None
    assert 0 < turn.wake_in_ms <= 200
    times = [score for _, score in server.client().zrange(f"{name}:again", 0, -1, withscores=True)]
    gaps = [late - early for early, late in itertools.pairwise(times)]
    assert [round(gap, -1) for gap in gaps] == [200, 200]
    later = b.claim(10, now_ms=int(times[-1]) + 1).claims
    assert not any(paced.is_met(slots=()) for claim in later), "the server looks at their turns once more"
    end(b, now, *later)
    b.beating()()
    assert standing(server, name) <= {"rates"}


def passes(server: Server, name: str, ms: int) -> None:
    """Have so much time pass for the turns of a schedule."""
    client: Any = server.client()
    for key in (f"{name}:again", f"{name}:rates"):
        for member, _ in client.zrange(key, 0, -1, withscores=True):
            client.zincrby(key, -ms, member)


@pytest.mark.parametrize("period", [50.0, 200.0])
def test_occurrences_that_are_too_late_for_their_turns_do_not_start_together(
    server: Server, name: str, period: float
) -> None:
    added(server, name, 12)
    b, _ = listening(server, name)
    paced = Admission(turns=(("fn:paced", period),))
    (first,) = b.admit([(claim, paced) for claim in b.claim(20).claims]).claims
    passes(server, name, 60_000)  # a listener was busy for so long
    late = b.claim(20).claims
    assert len(late) == 11
    started = b.admit([(claim, paced) for claim in late]).claims
    assert len(started) == 1 + 50 // period
    times = [score for _, score in server.client().zrange(f"{name}:again", 0, -1, withscores=True)]
    gaps = [early - late for late, early in itertools.pairwise(times)]
    assert [round(gap, -1) for gap in gaps] == [period] * (9 - int(50 // period))
    end(b, first, *started)


def test_an_occurrence_that_is_late_for_its_turn_starts_where_no_other_has_started(server: Server, name: str) -> None:
    added(server, name, 2)
    b, _ = listening(server, name)
    paced = Admission(turns=(("fn:paced", 10_000.0),))
    (first,) = b.admit([(claim, paced) for claim in b.claim(10).claims]).claims
    passes(server, name, 60_000)
    (second,) = b.claim(10).claims
    assert b.admit([(second, paced)]).claims
    end(b, first, second)


def occurrence(b: NativeBroker, server: Server, name: str) -> Claim:
    ((_, due),) = server.client().zrange(f"{name}:next", 0, 0, withscores=True)
    (claim,) = b.claim(1, now_ms=int(due)).claims
    return claim


@pytest.mark.parametrize("overlap", ["skip", "queue", "cancel"])
def test_a_run_that_meets_another_of_its_job(server: Server, name: str, overlap: str) -> None:
    s = schedule.create(name, redis=server.url)
    schedule.add(s, "app:tick", every="second")
    b, _ = listening(server, name)
    wanted = Admission(keys=(("over:tick", 1),), overlap=overlap)
    (first,) = b.admit([(occurrence(b, server, name), wanted)]).claims
    turn = b.admit([(occurrence(b, server, name), wanted)])
    assert not turn.claims
    assert [reason for _, reason in turn.missed] == (["overlap"] if overlap == "skip" else [])
    third = b.admit([(occurrence(b, server, name), wanted)])
    assert not third.claims
    assert [reason for _, reason in third.missed] == ["overlap"], "one may wait, no more"
    client = server.client()
    assert client.xlen(f"{name}:missed") == (2 if overlap == "skip" else 1)
    assert client.zcard(f"{name}:next") == 1, "the chain goes on whatever becomes of a run"
    mark = f"{first.id}@{first.due_ms}".encode()
    assert client.zrange(f"{name}:cancelled", 0, -1) == ([mark] if overlap == "cancel" else [])
    end(b, first)
    waiting = [c for c in b.claim(10, now_ms=first.due_ms + 1001).claims if c.armed]
    assert len(waiting) == (0 if overlap == "skip" else 1)
    if waiting:
        assert wanted.is_met(slots=waiting[0].slots)
        end(b, *waiting)
    assert slots(server, name) == []
    assert client.zcard(f"{name}:waiting") == 0


def test_one_that_waits_for_another_attempt_is_still_going_on(server: Server, name: str) -> None:
    s = schedule.create(name, redis=server.url)
    schedule.add(s, "app:tick", every="second")
    b, _ = listening(server, name)
    wanted = Admission(keys=(("over:tick", 1), ("fn:tick", 5)), overlap="skip")
    (first,) = b.admit([(occurrence(b, server, name), wanted)]).claims
    end(b, first, outcome=Again(delay_ms=60_000, attempt=1, failure=FAILURE))
    assert sorted(slots(server, name)) == [b"over:tick", b"run:" + first.id.encode()]
    turn = b.admit([(occurrence(b, server, name), wanted)])
    assert [reason for _, reason in turn.missed] == ["overlap"]


def test_a_mark_may_be_of_one_run(server: Server, name: str) -> None:
    s = schedule.create(name, redis=server.url)
    schedule.add(s, "app:tick", every="hour")  # so far ahead that it is not due meanwhile
    b, _ = listening(server, name)
    (first,) = b.admit([(occurrence(b, server, name), None)]).claims
    end(b, first, outcome=Released())
    server.client().zadd(f"{name}:cancelled", {f"{first.id}@{first.due_ms}": 1})
    (again,) = b.claim(1, now_ms=first.due_ms + 1).claims
    assert again.trouble == "cancelled"
    end(b, again)
    (following,) = b.admit([(occurrence(b, server, name), None)]).claims
    assert following.trouble is None
    end(b, following)
    assert not server.client().exists(f"{name}:cancelled")


def test_prior_jobs_are_claimed_first_and_the_index_counts_nothing(server: Server, name: str) -> None:
    added(server, name, 4)
    client = server.client()
    items = client.zrange(f"{name}:next", 0, -1, withscores=True)
    client.zadd(f"{name}:first:3", {items[2][0]: items[2][1], b'{"id":"' + b"0" * 40 + b'"}': 1})
    client.zadd(f"{name}:first:1", {items[3][0]: items[3][1]})
    b, _ = listening(server, name)
    seen = [claim.receipt.member for _ in range(4) for claim in b.claim(1).claims]
    assert seen == [items[2][0], items[3][0], items[0][0], items[1][0]]
    assert not client.exists(f"{name}:first:3", f"{name}:first:1", f"{name}:next")


def test_a_paused_schedule_gives_nothing_until_its_time(server: Server, name: str) -> None:
    added(server, name, 1)
    b, _ = listening(server, name)
    client = server.client()
    now = b.now_ms()
    pause = write_pause(Pause(reason="moving", until_ms=now + 60_000))
    client.hset(f"{name}:control", mapping={"v": 1, "paused:schedule": pause})
    turn = b.claim(1)
    assert not turn.claims
    assert turn.wake_in_ms is not None
    assert 50_000 < turn.wake_in_ms <= 60_100  # our estimate of the clock may be some milliseconds ahead
    assert turn.control is not None
    assert turn.control.paused["schedule"].reason == "moving"
    assert b.claim(1).control is None, "told once"
    assert len(b.claim(1, now_ms=now + 60_001).claims) == 1


def test_what_is_paused_is_parked_as_it_was(server: Server, name: str) -> None:
    s = schedule.create(name, redis=server.url)
    schedule.add(s, "app:tick", every="second")
    b, _ = listening(server, name)
    client = server.client()
    client.hset(f"{name}:control", mapping={"v": 1, "paused:fn:x": b"\x92\xc0\xc0"})
    claim = occurrence(b, server, name)
    assert not b.admit([(claim, Admission(pause="fn:x"))]).claims
    (member,) = client.zrange(f"{name}:waiting", 0, -1)
    key, _, run, entry = member.split(b"\0")
    assert (key, run) == (b"paused:fn:x", f"{claim.id}@{claim.due_ms}".encode())
    assert entry.startswith(b"r "), "the chain is parked with it"
    assert not client.exists(f"{name}:next", f"{name}:slots")
    again, _ = listening(server, name)
    client.hdel(f"{name}:control", "paused:fn:x")
    client.zrem(f"{name}:waiting", member)
    client.zadd(f"{name}:again", {entry: claim.due_ms})
    (claim,) = again.claim(1, now_ms=claim.due_ms + 1).claims
    (go,) = again.admit([(claim, Admission(pause="fn:x"))]).claims
    assert client.zcard(f"{name}:next") == 1
    end(again, go)
