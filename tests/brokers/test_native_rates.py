"""Jobs that wait for their turn of a rate: how the inspector shows and counts them, and how their index is kept."""

from __future__ import annotations

import itertools
from datetime import UTC, datetime, timedelta
from typing import Any, cast

import msgpack
import pytest

from tests.brokers.checkups import found
from tests.brokers.test_native_admit import added, admit, end, passes
from tests.brokers.test_native_session import listening
from tests.servers import Server
from workkit import schedule
from workkit.brokers.native.entry import rate_flag, slot_flag
from workkit.contract.admin import Paused
from workkit.contract.broker import Doctor, Inspector
from workkit.contract.optional import Limits
from workkit.contract.record import attempts_begun, job_record
from workkit.contract.where import JobQuery
from workkit.errors import InvalidOptions
from workkit.jobs.admission import Admission, Pause
from workkit.jobs.outcome import Again, Failure

NOTE = "fn:#'app/note"
RATE = Admission(turns=((NOTE, 600.0),))
FAILURE = Failure(type="OSError", message="disk full")
FAR_MS = 600_000


@pytest.fixture
def client(server: Server) -> Any:
    return server.client()


def owe(
    client: Any, name: str, n: int, *, flags: str, attempt: int = 0, is_indexed: bool = True, in_ms: int = FAR_MS
) -> None:
    """Put entries into `S:again` that wait for ten minutes, as `admit` writes them, or as `settle` does after a failed
    attempt.
    """
    when_ms = int(client.time()[0]) * 1000 + in_ms
    entries = {f'r 1000 {attempt} 0 {flags} {{"id":"{k:040x}"}}': when_ms + k for k in range(n)}
    client.zadd(f"{name}:again", entries)
    if attempt and not flags.startswith("w"):
        error = msgpack.packb(["OSError", "disk full", "", "", 1])
        client.hset(f"{name}:errors", mapping={f"{k:040x}@1000": error for k in range(n)})
    if is_indexed:
        client.zadd(f"{name}:turns", entries)


def test_a_job_that_waits_for_its_turn_is_held_and_says_by_which_rate(
    server: Server, name: str, inspector: Inspector
) -> None:
    added(server, name, 4)
    b, _ = listening(server, name)
    assert len(admit(b, RATE)) == 1
    held = list(inspector.jobs(state="held"))
    assert [job.why for job in held] == ["app.note is held by its rate 100/minute"] * 3
    assert held == [job for job in inspector.jobs() if job.state != "running"]
    assert held == list(inspector.page(JobQuery(state="held")).jobs)
    assert held == [inspector.job(job.id) for job in held]
    assert [attempts_begun(job) for job in held] == [0] * 3
    turns = [job.due for job in held if job.due is not None]
    gaps = {(later - turn) / timedelta(milliseconds=1) for turn, later in itertools.pairwise(turns)}
    assert all(abs(gap - 600) <= 1 for gap in gaps)
    assert turns[0] > datetime.now(UTC) - timedelta(seconds=1)
    assert job_record(held[0])["why"] == held[0].why
    for state in ("retrying", "waiting", "due", "paused"):
        assert not list(inspector.jobs(state=state))
        assert not inspector.page(JobQuery(state=state)).jobs


def test_the_counts_and_the_pulse_say_held(server: Server, name: str, inspector: Inspector) -> None:
    added(server, name, 14)
    b, _ = listening(server, name)
    admit(b, RATE)
    for counts in (inspector.counts(), inspector.pulse().counts):
        assert (counts.held, counts.retrying, counts.waiting, counts.due, counts.running) == (13, 0, 0, 0, 1)
        assert counts.late_ms is None
    pulse = inspector.pulse()
    assert {(job.state, job.why) for job in pulse.soon} == {("held", "app.note is held by its rate 100/minute")}


def test_a_job_whose_turn_has_come_is_due(server: Server, name: str, inspector: Inspector) -> None:
    added(server, name, 3)
    b, _ = listening(server, name)
    admit(b, RATE)
    passes(server, name, 60_000)
    assert [job.state for job in inspector.jobs()] == ["running", "due", "due"]
    for counts in (inspector.counts(), inspector.pulse().counts):
        assert (counts.held, counts.due, counts.retrying) == (0, 2, 0)


def test_an_attempt_that_waits_for_its_turn_is_held_and_one_that_waits_for_its_pause_is_not(
    server: Server, name: str, inspector: Inspector
) -> None:
    added(server, name, 1)
    b, _ = listening(server, name)
    (first,) = admit(b, Admission(turns=((NOTE, 60_000.0),)))
    end(b, first, outcome=Again(delay_ms=0, attempt=1, failure=FAILURE))
    assert not admit(b, Admission(turns=((NOTE, 60_000.0),)))
    (again,) = inspector.jobs(state="held")
    assert (again.attempt, attempts_begun(again), again.error) == (1, 1, "OSError: disk full")
    schedule.add_now(schedule.create(name, redis=server.url), "app:other")
    (other,) = admit(b, Admission())
    end(b, other, outcome=Again(delay_ms=FAR_MS, attempt=1, failure=FAILURE))
    assert [job.id for job in inspector.jobs(state="retrying")] == [other.id]
    for counts in (inspector.counts(), inspector.pulse().counts):
        assert (counts.held, counts.retrying) == (1, 1)


@pytest.mark.parametrize(
    ("key", "turn_ms", "why"),
    [
        ('fn:#\'app/note="a b"', 600.0, 'app.note is held by its rate 100/minute for "a b"'),
        (NOTE, 1000 / 30, "app.note is held by its rate 30/second"),
        (NOTE, 90_000 * 7, "app.note is held by its rate 1/10 min 30 s"),
        ("schedule", 86_400_000 / 5, "the schedule is held by its rate 5/day"),
    ],
)
def test_the_reason_names_the_rate(
    client: Any, name: str, inspector: Inspector, key: str, turn_ms: float, why: str
) -> None:
    owe(client, name, 1, flags=f"p;{rate_flag(key, turn_ms)};{slot_flag('over:x', 1)}")
    assert [(job.state, job.why) for job in inspector.jobs()] == [("held", why)]


def test_of_two_rates_the_reason_names_the_one_with_the_later_turn(
    server: Server, name: str, inspector: Inspector
) -> None:
    added(server, name, 3)
    b, _ = listening(server, name)
    admit(b, Admission(turns=((NOTE, 1000.0), ("schedule", 7_000.0))))
    assert {job.why for job in inspector.jobs(state="held")} == {"the schedule is held by its rate 1/7 s"}


@pytest.mark.parametrize("flag", ["t0*schedule", "t1e999*schedule", "t1e-300*schedule", "t-5*schedule", "t*", "t5"])
def test_a_rate_that_cannot_be_read_is_not_named(client: Any, name: str, inspector: Inspector, flag: str) -> None:
    owe(client, name, 1, flags=f"p;{flag}")
    assert [(job.state, job.why) for job in inspector.jobs()] == [("held", "held by its rate")]
    assert cast(Limits, inspector).limits() == []


def test_an_index_of_another_type_stops_no_job(server: Server, client: Any, name: str) -> None:
    client.set(f"{name}:turns", "rubbish")
    added(server, name, 3)
    b, _ = listening(server, name)
    assert len(admit(b, RATE)) == 1
    assert client.zcard(f"{name}:again") == 2
    b.beating()()
    passes(server, name, 60_000)
    assert len(b.claim(5).claims) == 2


def test_an_entry_of_an_earlier_version_is_held_by_a_rate_that_nobody_names(
    client: Any, name: str, inspector: Inspector
) -> None:
    owe(client, name, 2, flags="p", is_indexed=False)
    assert [(job.state, job.why) for job in inspector.jobs()] == [("held", "held by its rate")] * 2
    for counts in (inspector.counts(), inspector.pulse().counts):
        assert (counts.held, counts.retrying) == (2, 0)


def test_many_held_jobs_are_counted_and_not_read(
    client: Any, name: str, inspector: Inspector, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("workkit.brokers.native.look.counts.MOST_OWED", 1_000)
    owe(client, name, 3_000, flags=f"p;{rate_flag(NOTE, 600)}")
    owe(client, name, 7, flags="-", attempt=2, is_indexed=False)
    for counts in (inspector.counts(), inspector.pulse().counts):
        assert (counts.held, counts.retrying, counts.waiting, counts.due) == (3_000, 7, 0, 0)
    began = client.info("commandstats")["cmdstat_zrange"]["calls"]
    client.zremrangebyscore(f"{name}:again", "-inf", "+inf")
    owe(client, name, 3_000, flags=f"p;{rate_flag(NOTE, 600)}")
    assert inspector.counts().held == 3_000
    assert client.info("commandstats")["cmdstat_zrange"]["calls"] - began <= 5


def test_thousands_whose_turn_has_come_are_due_and_not_retried(
    server: Server, name: str, inspector: Inspector, monkeypatch: pytest.MonkeyPatch
) -> None:
    s = schedule.create(name, redis=server.url)
    schedule.add_many(s, ({"at": "now", "fn": "app:note", "args": [i]} for i in range(1_500)))
    b, _ = listening(server, name)
    claims = [claim for _ in range(15) for claim in b.claim(100).claims]
    (first,) = b.admit([(claim, RATE) for claim in claims]).claims
    passes(server, name, 300_000)  # about 500 of their turns
    for most in (10_000, 200):
        monkeypatch.setattr("workkit.brokers.native.look.counts.MOST_OWED", most)
        for counts in (inspector.counts(), inspector.pulse().counts):
            assert (counts.due + counts.held, counts.retrying, counts.waiting, counts.running) == (1_499, 0, 0, 1)
            assert abs(counts.due - 500) <= 100
    end(b, first, outcome=Again(delay_ms=0, attempt=1, failure=FAILURE))
    passes(server, name, 1)
    for counts in (inspector.counts(), inspector.pulse().counts):
        assert (counts.due + counts.held, counts.retrying) == (1_499, 1)


@pytest.mark.parametrize("in_ms", [FAR_MS, -FAR_MS])
@pytest.mark.parametrize(
    ("flags", "attempt", "expected"),
    [
        (f"p;{rate_flag(NOTE, 600)}", 0, "turns"),
        ("w1@9*;-", 1, "waits"),
        ("-", 2, "retries"),
    ],
)
def test_entries_beyond_those_that_are_read_count_as_what_they_are(
    client: Any, name: str, inspector: Inspector, monkeypatch: pytest.MonkeyPatch, in_ms: int, flags: str,
    attempt: int, expected: str,
) -> None:  # fmt: skip
    monkeypatch.setattr("workkit.brokers.native.look.counts.MOST_OWED", 100)
    owe(client, name, 1_300, flags=flags, attempt=attempt, in_ms=in_ms, is_indexed=expected == "turns")
    wanted = {"retries": "retrying", "turns": "held", "waits": "waiting"}[expected]
    wanted = "due" if in_ms < 0 and expected != "retries" else wanted
    for counts in (inspector.counts(), inspector.pulse().counts):
        found = {state: getattr(counts, state) for state in ("held", "due", "waiting", "retrying")}
        assert {state: n for state, n in found.items() if n} == {wanted: 1_300}


def test_a_limit_says_how_many_wait_for_their_turn(
    server: Server, client: Any, name: str, inspector: Inspector
) -> None:
    added(server, name, 6)
    b, _ = listening(server, name)
    admit(b, RATE)
    (use,) = cast(Limits, inspector).limits()
    assert (use.key, use.is_rate, use.waiting, use.turn_ms) == (NOTE, True, 5, 600.0)
    owe(client, name, 1_200, flags=f"p;{rate_flag('schedule', 1_000)}")
    now_ms = int(client.time()[0]) * 1000
    client.zadd(f"{name}:rates", {"schedule": now_ms + 1_201_000})
    schedule_use = next(use for use in cast(Limits, inspector).limits() if use.key == "schedule")
    assert schedule_use.waiting is not None
    assert abs(schedule_use.waiting - 1_200) <= 2


def test_a_recurring_job_that_waits_for_its_turn_is_held(server: Server, name: str, inspector: Inspector) -> None:
    s = schedule.create(name, redis=server.url)
    schedule.add(s, "app:note", every="1 second", name="a")
    schedule.add(s, "app:note", every="1 second", name="b")
    b, _ = listening(server, name)
    client: Any = server.client()
    for item in client.zrange(f"{name}:next", 0, -1):
        client.zadd(f"{name}:next", {item: 5_000})
    (first,) = admit(b, Admission(turns=((NOTE, 60_000.0),)))
    stands = {found.key: found for found in inspector.recurring()}
    held = stands["b" if first.terms.name == "a" else "a"]
    assert (held.state, held.why, held.attempt) == ("held", "app.note is held by its rate 1/minute", 0)


def test_the_index_of_turns_is_kept_by_claim_pause_and_heartbeat(
    server: Server, client: Any, name: str, doctor: Doctor
) -> None:
    added(server, name, 4)
    b, _ = listening(server, name)
    admit(b, RATE)
    assert client.zrange(f"{name}:turns", 0, -1, withscores=True) == client.zrange(
        f"{name}:again", 0, -1, withscores=True
    )
    assert not [finding for finding in found(doctor) if finding.kind in ("overdue", "unread")]
    last = client.zrange(f"{name}:again", -1, -1)[0]
    job = last[last.index(b'"id":"') + 6 :][:40].decode()
    b.admin.steer(Paused(f"job:{job}", Pause()))
    assert client.zrange(f"{name}:turns", 0, -1) == client.zrange(f"{name}:again", 0, -1)
    passes(server, name, 60_000)
    assert len(b.claim(1).claims) == 1
    assert client.zrange(f"{name}:turns", 0, -1) == client.zrange(f"{name}:again", 0, -1)
    client.zadd(f"{name}:turns", {"of an earlier version": 5})
    client.zadd(f"{name}:turns", dict.fromkeys(client.zrange(f"{name}:turns", 0, -1), 5))
    b.beating()()
    assert not client.exists(f"{name}:turns")


def test_an_operator_cannot_run_a_held_job_before_its_turn(server: Server, name: str) -> None:
    added(server, name, 2)
    b, _ = listening(server, name)
    admit(b, RATE)
    s = schedule.create(name, redis=server.url)
    (held,) = schedule.jobs(s, state="held")
    with pytest.raises(InvalidOptions, match="held by its rate 100/minute"):
        schedule.run(s, held.id)
