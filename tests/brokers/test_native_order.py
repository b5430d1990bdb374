"""The order in which jobs that a rate holds start: by priority, then by due time. Step by step, on real servers."""

from __future__ import annotations

from typing import Any

import pytest

from tests.brokers.checkups import found
from tests.brokers.test_native_admit import admit, args, end, killed, passes
from tests.brokers.test_native_session import listening, standing
from tests.servers import Server
from workkit import schedule
from workkit.brokers.native.broker import NativeBroker
from workkit.contract.admin import Paused
from workkit.contract.broker import Doctor, Inspector
from workkit.contract.listener import Claim
from workkit.errors import ServerUnreachable
from workkit.jobs.admission import Admission, Pause
from workkit.jobs.outcome import Again, Failure

NOTE, TURN_MS = "fn:#'app/note", 10_000
RATE = Admission(turns=((NOTE, float(TURN_MS)),))
FAILURE = Failure(type="OSError", message="disk full")


@pytest.fixture
def client(server: Server) -> Any:
    return server.client()


def add(server: Server, name: str, label: Any, *, due: int, priority: int = 0, fn: str = "app:note") -> None:
    """Add a job that was due `due` milliseconds after an instant of the past."""
    job = schedule.add_now(schedule.create(name, redis=server.url), fn, args=[label], priority=priority)
    client: Any = server.client()
    item = f'{{"id":"{job.id}"}}'
    client.zadd(f"{name}:next", {item: 1_700_000_000_000 + due})
    if priority:
        client.zadd(f"{name}:first:{priority}", {item: 1_700_000_000_000 + due})


def next_turn(b: NativeBroker, server: Server, name: str, *, wanted: Admission = RATE, limit: int = 10) -> list[Claim]:
    """Start what starts at the next turn. End what is cancelled or gone."""
    passes(server, name, TURN_MS)
    claims = b.claim(limit).claims
    end(b, *(claim for claim in claims if claim.trouble))
    return list(b.admit([(claim, wanted) for claim in claims if not claim.trouble]).claims)


def order_of(b: NativeBroker, server: Server, name: str, *, wanted: Admission = RATE) -> list[Any]:
    """Start all that is held, one turn after another, and return the order."""
    order: list[Any] = []
    while server.client().zcard(f"{name}:again"):
        started = next_turn(b, server, name, wanted=wanted)
        assert len(started) <= 1
        order += args(started)
        end(b, *started)
    return order


def held(server: Server, name: str, rows: list[tuple[Any, int, int]], *, wanted: Admission = RATE) -> NativeBroker:
    """Have a rate hold jobs: (label, due, priority), admitted one after another. One more has taken the first turn."""
    b, _ = listening(server, name)
    add(server, name, "first", due=-1)
    end(b, *admit(b, wanted))
    for label, due, priority in rows:
        add(server, name, label, due=due, priority=priority)
        assert not admit(b, wanted)
    return b


def test_held_jobs_start_by_priority_and_then_by_due_time(server: Server, name: str) -> None:
    rows = [(f"{p}-{due}", due, p) for p, due in ((0, 3), (1, 9), (0, 1), (3, 8), (2, 2), (0, 2), (3, 4), (2, 1))]
    b = held(server, name, rows)
    assert order_of(b, server, name) == ["3-4", "3-8", "2-1", "2-2", "1-9", "0-1", "0-2", "0-3"]
    b.beating()()
    assert standing(server, name) <= {"rates"}


def test_a_late_job_with_a_priority_starts_at_the_next_turn(server: Server, name: str) -> None:
    b = held(server, name, [(n, n, 0) for n in range(40)])
    assert args(next_turn(b, server, name)) == [0]
    add(server, name, "urgent", due=99, priority=3)
    assert not admit(b, RATE)
    assert args(next_turn(b, server, name)) == ["urgent"]
    assert args(next_turn(b, server, name)) == [1]


def test_a_retry_comes_back_to_its_place(server: Server, name: str) -> None:
    b = held(server, name, [(n, n, 0) for n in range(40)])
    (zero,) = next_turn(b, server, name)
    end(b, zero, outcome=Again(delay_ms=0, attempt=1, failure=FAILURE))
    assert not admit(b, RATE)
    (again,) = next_turn(b, server, name)
    assert (again.args, again.attempt) == ((0,), 1)
    assert args(next_turn(b, server, name)) == [1]


def test_no_turn_is_lost_or_granted_twice_when_the_order_changes(server: Server, client: Any, name: str) -> None:
    b = held(server, name, [(n, n, n % 4) for n in range(12)])
    turns = [score for _, score in client.zrange(f"{name}:again", 0, -1, withscores=True)]
    (urgent,) = next_turn(b, server, name)
    assert urgent.args == (3,)
    left = [score + TURN_MS for _, score in client.zrange(f"{name}:again", 0, -1, withscores=True)]
    assert left == turns[1:]
    assert dict(client.zrange(f"{name}:turns", 0, -1, withscores=True)).keys() == set(
        client.zrange(f"{name}:again", 0, -1)
    )


def test_turns_that_have_passed_are_taken_in_order(server: Server, name: str) -> None:
    b = held(server, name, [(n, n, n % 4) for n in range(12)])
    passes(server, name, 60 * TURN_MS)  # all listeners were away
    started = admit(b, RATE, 4)
    assert args(started) == [3]
    end(b, *started)
    assert order_of(b, server, name) == [7, 11, 2, 6, 10, 1, 5, 9, 0, 4, 8]


def test_a_new_job_does_not_start_before_an_earlier_one_with_a_turn_that_has_passed(server: Server, name: str) -> None:
    b = held(server, name, [("old", 1, 0)])
    passes(server, name, 60 * TURN_MS)
    add(server, name, "new", due=5)
    (new,) = b.claim(1).claims
    assert new.args == ("new",)
    assert not b.admit([(new, RATE)]).claims
    (old,) = admit(b, RATE, 1)
    end(b, old)
    assert (old.args, order_of(b, server, name)) == (("old",), ["new"])


def test_a_job_starts_at_its_turn_where_the_better_one_is_skipped(server: Server, name: str) -> None:
    b = held(server, name, [("low", 1, 0), ("high", 2, 3)])
    other, _ = listening(server, name)
    (high,) = [job for job in schedule.jobs(schedule.create(name, redis=server.url)) if job.args == ("high",)]
    server.client().sadd(f"{name}:skip:{other.listener}", high.id)
    passes(server, name, TURN_MS)
    (low,) = admit(other, RATE)
    end(other, low)
    assert low.args == ("low",)
    assert order_of(b, server, name) == ["high"]


def test_a_listener_that_dies_with_a_turn_does_not_lose_it(server: Server, name: str) -> None:
    b = held(server, name, [("low", 1, 0), ("high", 2, 3), ("last", 3, 0)])
    other, _ = listening(server, name)
    passes(server, name, TURN_MS)
    (claim,) = other.claim(1).claims
    assert claim.args == ("high",)
    killed(other, b, server, name)
    (again,) = admit(b, RATE, 1)
    assert (again.args, again.crashes) == (("high",), 1)
    end(b, again)
    assert order_of(b, server, name) == ["low", "last"]


def test_a_claim_with_a_lost_reply_repeats_what_it_took(server: Server, name: str) -> None:
    b = held(server, name, [("low", 1, 0), ("high", 2, 3)])
    other, losing = listening(server, name)
    passes(server, name, TURN_MS)
    losing.lose = 1
    with pytest.raises(ServerUnreachable):
        other.claim(1)
    (high,) = admit(other, RATE, 1)
    assert high.args == ("high",)
    end(other, high)
    assert order_of(b, server, name) == ["low"]


@pytest.mark.parametrize(("slower", "faster"), [(NOTE, "schedule"), ("schedule", NOTE)])
def test_two_rates_at_once_keep_the_order(server: Server, name: str, slower: str, faster: str) -> None:
    both = Admission(turns=((slower, float(TURN_MS)), (faster, TURN_MS / 4)))
    rows = [(f"{p}-{due}", due, p) for p, due in ((0, 3), (1, 9), (3, 8), (0, 1), (3, 4))]
    b = held(server, name, rows, wanted=both)
    assert order_of(b, server, name, wanted=both) == ["3-4", "3-8", "1-9", "0-1", "0-3"]


def test_a_job_with_a_rate_of_its_own_overtakes_others_under_the_rate_of_the_schedule(
    server: Server, client: Any, name: str
) -> None:
    whole = ("schedule", float(TURN_MS))
    b = held(server, name, [(n, n, 0) for n in range(8)], wanted=Admission(turns=(whole,)))
    own = Admission(turns=(("fn:#'app/own", 2.0 * TURN_MS), whole))
    for label in ("a", "b"):
        add(server, name, label, due=50, priority=3, fn="app:own")
        assert not admit(b, own)
    order: list[Any] = []
    while client.zcard(f"{name}:again"):
        passes(server, name, TURN_MS)
        claims = b.claim(10).claims
        asked = [(claim, own if claim.args[0] in ("a", "b") else Admission(turns=(whole,))) for claim in claims]
        started = b.admit(asked).claims
        assert len(started) <= 1
        order += args(list(started))
        end(b, *started)
    assert order == ["a", 0, "b", *range(1, 8)]


def test_the_turns_of_others_are_not_wasted_on_a_job_that_its_own_rate_holds(
    server: Server, client: Any, name: str
) -> None:
    whole, own = ("schedule", float(TURN_MS)), ("fn:#'app/own", 1000.0 * TURN_MS)
    b = held(server, name, [(n, n, 0) for n in range(4)], wanted=Admission(turns=(whole,)))
    client.zadd(f"{name}:rates", {f"start:{own[0]}": client.time()[0] * 1000 + 100 * TURN_MS})
    add(server, name, "own", due=50, priority=3, fn="app:own")
    assert not admit(b, Admission(turns=(own, whole)))
    order: list[Any] = []
    for _ in range(4):
        started = next_turn(b, server, name, wanted=Admission(turns=(whole,)))
        order += args(started)
        end(b, *started)
    assert order == [0, 1, 2, 3]


def test_entries_of_an_earlier_version_start_at_their_turns(server: Server, client: Any, name: str) -> None:
    b = held(server, name, [("low", 1, 0), ("next", 2, 0)])
    client.delete(f"{name}:order")
    assert args(next_turn(b, server, name)) == ["low"]
    add(server, name, "urgent", due=9, priority=3)
    assert not admit(b, RATE)
    assert args(next_turn(b, server, name)) == ["urgent"]
    assert args(next_turn(b, server, name)) == ["next"]


def test_index_members_of_no_entry_are_passed_over_and_trimmed(server: Server, client: Any, name: str) -> None:
    b = held(server, name, [("low", 1, 0), ("high", 2, 3)])
    (first, *_) = client.zrange(f"{name}:order", 0, -1)
    key = first.partition(b"\0")[0]
    for n in range(5):
        client.zadd(
            f"{name}:order", {key + b"\x000000%d" % n: 0, key + b"\x00" + b"0%016d\x00gone" % n: 0, b"noise": 7}
        )
    assert order_of(b, server, name) == ["high", "low"]
    for _ in range(60):
        b.beating()()
    assert standing(server, name) <= {"rates"}


def test_a_place_of_an_entry_that_no_rate_holds_starts_nothing(server: Server, client: Any, name: str) -> None:
    b = held(server, name, [("low", 1, 0)])
    (place,) = client.zrange(f"{name}:order", 0, -1)
    waits = b'r 1000 1 0 - {"id":"%040x"}' % 7
    client.zadd(f"{name}:again", {waits: client.time()[0] * 1000 + 10**9})
    client.zadd(f"{name}:order", {place[: place.index(b"\0")] + b"\x0000000000000001000\0" + waits: 0})
    assert args(next_turn(b, server, name)) == ["low"]
    assert client.zrange(f"{name}:again", 0, -1) == [waits]


def test_the_doctor_names_and_removes_places_without_an_entry(
    server: Server, client: Any, name: str, doctor: Doctor
) -> None:
    held(server, name, [("low", 1, 0), ("high", 2, 3)])
    assert not [one for one in found(doctor) if one.kind == "unread"]
    places = client.zrange(f"{name}:order", 0, -1)
    client.zadd(f"{name}:order", {b"noise": 0, places[0] + b"x": 0})
    unread = [one for one in found(doctor) if one.kind == "unread"]
    assert len(unread) == 2
    assert all(doctor.repair(one) for one in unread)
    assert client.zrange(f"{name}:order", 0, -1) == places


def test_an_order_of_another_type_stops_no_job(server: Server, client: Any, name: str) -> None:
    client.set(f"{name}:order", "rubbish")
    b = held(server, name, [("low", 1, 0), ("high", 2, 3)])
    b.beating()()
    assert order_of(b, server, name) == ["low", "high"]


def test_a_paused_and_a_cancelled_job_hold_up_no_other(server: Server, client: Any, name: str) -> None:
    b = held(server, name, [("low", 1, 0), ("paused", 2, 3), ("cancelled", 3, 2)])
    s = schedule.create(name, redis=server.url)
    jobs = {job.args[0]: job.id for job in schedule.jobs(s)}
    b.admin.steer(Paused(f"job:{jobs['paused']}", Pause()))
    assert not [place for place in client.zrange(f"{name}:order", 0, -1) if jobs["paused"].encode() in place]
    schedule.cancel(s, jobs["cancelled"])
    assert args(next_turn(b, server, name)) == ["low"]
    (cancelled,) = b.claim(10).claims
    assert (cancelled.args, cancelled.trouble) == (("cancelled",), "cancelled")
    end(b, cancelled)
    schedule.resume(s, jobs["paused"])
    assert args(next_turn(b, server, name)) == ["paused"]


def test_a_replaced_job_takes_no_turn(server: Server, name: str) -> None:
    s = schedule.create(name, redis=server.url)
    b = held(server, name, [("low", 1, 0)])
    for label in ("old", "new"):
        schedule.add_now(s, "app:note", args=[label], unique_key="k", on_conflict="replace", priority=3)
        assert not admit(b, RATE)
    assert args(next_turn(b, server, name)) == ["new"]
    assert args(next_turn(b, server, name)) == ["low"]


def test_a_start_costs_the_same_however_many_are_held(server: Server, client: Any, name: str) -> None:
    s = schedule.create(name, redis=server.url)
    b = held(server, name, [])
    costs: list[int] = []
    for number in (20, 2_000):
        schedule.add_many(s, ({"at": "now", "fn": "app:note", "args": [number, i]} for i in range(number)))
        while claims := b.claim(500).claims:
            assert not b.admit([(claim, RATE) for claim in claims]).claims
        before = client.info("commandstats")
        end(b, *next_turn(b, server, name, limit=1))
        after = client.info("commandstats")
        calls = {k: after[k]["calls"] - before.get(k, {"calls": 0})["calls"] for k in after if k != "cmdstat_zincrby"}
        costs.append(sum(calls.values()))
    assert costs[1] <= costs[0] + 4


def test_a_held_recurring_job_shows_the_turn_that_it_will_take(
    server: Server, client: Any, name: str, inspector: Inspector
) -> None:
    b = held(server, name, [(n, n, 0) for n in range(4)])
    schedule.add(schedule.create(name, redis=server.url), "app:note", every="1 second", name="urgent", priority=3)
    (item,) = client.zrange(f"{name}:next", 0, -1)
    for key in (f"{name}:next", f"{name}:first:3"):
        client.zadd(key, {item: 1_700_000_099_000})
    assert not admit(b, RATE, 1)
    client.zadd(f"{name}:next", {item: client.time()[0] * 1000 + 10**9})
    (shown,) = inspector.recurring()
    assert (shown.state, shown.due) == ("held", next(iter(inspector.jobs(state="held"))).due)


def test_a_held_job_shows_the_turn_that_it_will_take(server: Server, name: str, inspector: Inspector) -> None:
    held(server, name, [("a", 1, 0), ("b", 2, 0), ("c", 3, 3)])
    shown = {job.args[0]: job for job in inspector.jobs(state="held")}
    dues = {label: job.due.timestamp() for label, job in shown.items() if job.due is not None}
    assert list(dues) == sorted(dues, key=dues.__getitem__) == ["c", "a", "b"]
    assert [round(dues[late] - dues[early]) for early, late in (("c", "a"), ("a", "b"))] == [10, 10]
    assert {job.why for job in shown.values()} == {"app.note is held by its rate 6/minute"}
    assert {job.args[0]: job.due for job in inspector.pulse().soon} == {label: job.due for label, job in shown.items()}
