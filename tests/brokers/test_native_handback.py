"""Where work goes that its listener lost: what may be for a foreign peer goes back into S:next as it was."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from tests.brokers.test_native_resync import remembered
from tests.brokers.test_native_session import INFO, add, claim_one, listening, standing
from tests.servers import PAST, Server
from workkit import schedule, wire
from workkit.brokers.connect import open_broker
from workkit.brokers.native.broker import NativeBroker
from workkit.contract.listener import Claim
from workkit.errors import ServerError
from workkit.jobs.outcome import Again, Dead, Done, Failure, Released

FAILURE = Failure(type="Crashed", message="crashed")
FOREIGN = ("#'clj.app/f", "(fn* [] (println 1))", "#'clj.app/tick!")


@pytest.fixture
def client(server: Server) -> Any:
    return server.client()


@pytest.fixture
def brokers(server: Server, name: str) -> Iterator[list[NativeBroker]]:
    made = [listening(server, name)[0] for _ in range(2)]
    yield made
    for broker in made:
        broker.close()


def foreign(client: Any, name: str, *, due: float | str, cron: str = "2014 3 5 * 9 0 0", n: int = 0) -> bytes:
    """Store a job as a Clojure producer does; its item."""
    data = wire.payload(cron=cron, job=FOREIGN[n % 3], args=[n])
    client.hset(f"{name}:jobs", wire.job_id(data), data)
    client.zadd(f"{name}:next", {wire.item(wire.job_id(data)): due})
    return wire.item(wire.job_id(data))


def taken_for_dead(by: NativeBroker, name: str, whom: str) -> None:
    """Have another listener reap this one, as if its heartbeat had stopped."""
    client = by._server
    with client.translated() as c:
        c.zadd(f"{name}:listeners", {whom: 1})
    while (done := by._session.reap(whom, 1.0)) is not None and done[1]:
        pass


def waits(client: Any, name: str) -> dict[bytes, float]:
    return dict(client.zrange(f"{name}:next", 0, -1, withscores=True))


def crash(brokers: list[NativeBroker], name: str) -> None:
    taken_for_dead(brokers[1], name, brokers[0].listener)
    assert brokers[0].beating()().fenced
    brokers[0].claim(0)


@pytest.mark.parametrize("due", [5, 1394012055000, 1394012055000.5, "-inf"])
@pytest.mark.parametrize("cron", ["2014 3 5 * 9 0 0", "* * * * * * *", "0 9 * * 1-5"])
def test_what_a_dead_listener_had_not_admitted_goes_back_with_its_score(
    client: Any, name: str, brokers: list[NativeBroker], due: float | str, cron: str
) -> None:
    item = foreign(client, name, due=due, cron=cron)
    assert len(brokers[0].claim(5).claims) == 1
    crash(brokers, name)
    assert waits(client, name) == {item: float(due)}
    assert standing_now(client, name) == {"jobs", "next", "crashed"}


def standing_now(client: Any, name: str) -> set[str]:
    keys = {key.decode().removeprefix(f"{name}:").partition(":")[0] for key in client.scan_iter(f"{name}:*")}
    return keys - {"producer", "stats", "listeners", "running", "watch", "wake", "skip", *PAST}


def test_crashes_are_counted_while_the_job_waits_in_the_published_queue(
    server: Server, name: str, brokers: list[NativeBroker]
) -> None:
    add(server, name)
    for crashes in range(3):
        claim = claim_one(brokers[0])
        assert (claim.crashes, claim.attempt) == (crashes, 0)
        crash(brokers, name)
        assert standing(server, name) == {"jobs", "next", "crashed"}
    claim = claim_one(brokers[0])
    assert claim.crashes == 3
    brokers[0].claim(0, ends=[(claim, Dead(failure=FAILURE, reason="crashed"))])
    assert standing(server, name) == {"dead", "graves"}


def test_a_claim_with_crashes_whose_reply_was_lost_is_answered_again_with_them(server: Server, name: str) -> None:
    add(server, name)
    (other, _), (b, losing) = listening(server, name), listening(server, name)
    claim_one(other)
    taken_for_dead(b, name, other.listener)
    losing.lose = 1
    with pytest.raises(ServerError):
        b.claim(1)
    claim = claim_one(b)
    assert claim.crashes == 1
    assert b.claim(0, ends=[(claim, Done())]).refused == []
    assert standing(server, name) == set()


@pytest.mark.parametrize("unknown", [True, False])
def test_a_release_keeps_crashes_and_score(
    server: Server, client: Any, name: str, brokers: list[NativeBroker], unknown: bool
) -> None:
    item = foreign(client, name, due=1394012055000.5)
    brokers[0].claim(1)
    crash(brokers, name)
    claim = claim_one(brokers[0])
    brokers[0].claim(0, ends=[(claim, Released(unknown=unknown))])
    assert waits(client, name) == {item: 1394012055000.5}
    assert standing_now(client, name) == {"jobs", "next", "crashed"}
    assert claim_one(brokers[1]).crashes == 1


def test_a_suspect_that_pauses_waits_among_our_own(server: Server, name: str, brokers: list[NativeBroker]) -> None:
    add(server, name)
    claim = claim_one(brokers[0])
    brokers[0].claim(0, ends=[(claim, Released(delay_ms=1000))])
    assert standing(server, name) == {"jobs", "again"}


def test_what_was_tried_or_admitted_stays_among_our_own(server: Server, name: str, brokers: list[NativeBroker]) -> None:
    s = schedule.create(name, redis=server.url)
    add(server, name)
    first = claim_one(brokers[0])
    brokers[0].claim(0, ends=[(first, Again(delay_ms=0, attempt=1, failure=FAILURE))])
    schedule.add(s, every="second", fn="app:note")
    now = brokers[0].now_ms() + 5_000
    claims = brokers[0].claim(5, now_ms=now).claims
    (recurring,) = (claim for claim in claims if not claim.armed)
    assert brokers[0].admit([(recurring, None)], now_ms=now).claims
    crash(brokers, name)
    again = [entry[:2] for entry in server.client().zrange(f"{name}:again", 0, -1)]
    assert sorted(again) == [b"o ", b"r "]
    assert not server.client().exists(f"{name}:crashed")


def test_crashes_are_of_one_occurrence(server: Server, client: Any, name: str, brokers: list[NativeBroker]) -> None:
    """A foreign peer runs the occurrence that had crashed, and puts the next one back."""
    item = foreign(client, name, due=5, cron="* * * * * * *")
    brokers[0].claim(1)
    crash(brokers, name)
    client.zadd(f"{name}:next", {item: 6000})
    assert claim_one(brokers[0]).crashes == 0


def test_what_was_put_back_meanwhile_is_left_as_it_is(client: Any, name: str, brokers: list[NativeBroker]) -> None:
    item = foreign(client, name, due=5, cron="* * * * * * *")
    brokers[0].claim(1)
    client.zadd(f"{name}:next", {item: 6000})
    crash(brokers, name)
    assert waits(client, name) == {item: 6000}
    assert not client.exists(f"{name}:crashed", f"{name}:again")


def test_an_item_without_an_id_stays_with_our_own(client: Any, name: str, brokers: list[NativeBroker]) -> None:
    """A Clojure peer would lose it."""
    client.zadd(f"{name}:next", {"nonsense": 5})
    brokers[0].claim(1)
    crash(brokers, name)
    assert client.zrange(f"{name}:again", 0, -1) == [b"r 5 0 1 - nonsense"]
    assert not client.exists(f"{name}:next")


def test_what_a_listener_does_not_hold_after_a_failover_goes_back_with_its_score(
    server: Server, client: Any, name: str, brokers: list[NativeBroker]
) -> None:
    item = foreign(client, name, due=5)
    claim = claim_one(brokers[0])
    go_back = remembered(server, name)
    brokers[0].claim(0, ends=[(claim, Released(unknown=True))])
    brokers[0].claim(0)
    brokers[0].claim(1)
    go_back()
    brokers[0].claim(1, now_ms=1)
    assert waits(client, name) == {item: 5}
    assert not client.exists(f"{name}:again", f"{name}:crashed")


@pytest.mark.parametrize("kind", ["string", "set"])
def test_a_key_of_another_type_keeps_no_item_from_its_place(
    client: Any, name: str, brokers: list[NativeBroker], kind: str
) -> None:
    item = foreign(client, name, due=5)
    client.set(f"{name}:crashed", "x") if kind == "string" else client.sadd(f"{name}:crashed", "x")
    claim = claim_one(brokers[0])
    crash(brokers, name)
    assert waits(client, name) == {item: 5}
    assert claim_one(brokers[1]).id == claim.id


@pytest.mark.parametrize("count", ["", "x", "-1", "9" * 30, "1.5"])
def test_a_count_that_is_none_counts_nothing(client: Any, name: str, brokers: list[NativeBroker], count: str) -> None:
    item = foreign(client, name, due=5)
    client.hset(f"{name}:crashed", f"{wire.read_item(item).id}@5", count)
    assert claim_one(brokers[0]).crashes == 0


def test_at_most_ten_thousand_counts_are_kept_for_a_week(client: Any, name: str, brokers: list[NativeBroker]) -> None:
    client.hset(f"{name}:crashed", mapping={f"{n:040x}@1": 1 for n in range(10_000)})
    foreign(client, name, due=5)
    brokers[0].claim(1)
    crash(brokers, name)
    assert client.hlen(f"{name}:crashed") == 10_000
    assert 604_000 < client.ttl(f"{name}:crashed") <= 604_800


def test_more_skipped_jobs_than_marks_keep_their_scores_and_are_looked_at_once(
    client: Any, name: str, brokers: list[NativeBroker]
) -> None:
    pipe = client.pipeline()
    for n in range(300):
        data = wire.payload(cron="2014 3 5 * 9 0 0", job="#'clj.app/f", args=[n])
        pipe.hset(f"{name}:jobs", wire.job_id(data), data)
        pipe.zadd(f"{name}:next", {wire.item(wire.job_id(data)): n})
    pipe.sadd(f"{name}:skip:{brokers[0].listener}", *(f"{n:040x}" for n in range(9_900)))
    pipe.execute()
    before, looked = waits(client, name), 0
    while claims := brokers[0].claim(100).claims:
        looked += len(claims)
        brokers[0].claim(0, ends=[(claim, Released(unknown=True)) for claim in claims])
    assert looked == 300
    assert waits(client, name) == before
    assert client.scard(f"{name}:skip:{brokers[0].listener}") <= 10_000  # those of jobs that are over gave way


def test_a_repair_puts_back_what_an_earlier_version_left_among_our_own(
    server: Server, client: Any, name: str, brokers: list[NativeBroker]
) -> None:
    items = [foreign(client, name, due=1394012055000 + n, n=n) for n in range(1200)]
    for n, item in enumerate(items):
        client.zadd(f"{name}:again", {b"r %d 0 %d - " % (1394012055000 + n, n % 2) + item: 1394012055000 + n})
    own = [b"o 5 0 0 - " + items[0], b"r 5 1 0 - " + items[1], b"r 5 0 0 p - " + items[2], b"r 5 0 0 - nonsense"]
    client.zadd(f"{name}:again", dict.fromkeys(own, 5))
    client.delete(f"{name}:next")
    doctor = open_broker(name, redis=server.url).doctor
    findings = [f for f in doctor.checkup(patience_ms=86_400_000) if f.kind == "hidden"]
    assert sum(len(f.about) for f in findings) == 1200
    assert all(doctor.repair(finding) for finding in findings)
    assert not any(doctor.repair(finding) for finding in findings)
    assert waits(client, name) == {item: 1394012055000 + n for n, item in enumerate(items)}
    assert client.hlen(f"{name}:crashed") == 600
    assert set(client.zrange(f"{name}:again", 0, -1)) == set(own)
    assert "hidden" not in {f.kind for f in doctor.checkup(patience_ms=86_400_000)}


def test_a_named_job_that_may_have_begun_is_not_replaced(
    server: Server, name: str, brokers: list[NativeBroker]
) -> None:
    s = schedule.create(name, redis=server.url)
    first = schedule.add_now(s, "app:note", args=[1], name="n")
    claim_one(brokers[0])
    crash(brokers, name)
    second = schedule.add_now(s, "app:note", args=[2], name="n")
    claims: list[Claim] = list(brokers[1].claim(5).claims)
    assert {claim.id: claim.crashes for claim in claims} == {first.id: 1, second.id: 0}
    assert INFO.threads == 1
