"""The numbered requests of a listener: lost replies, fences, hand-backs; on real servers, by what the keys hold."""

from __future__ import annotations

from typing import Any

import pytest

from tests.contract.lossy import Lossy
from tests.processes import until
from tests.servers import PAST, Server
from workkit import schedule, wire
from workkit.brokers.native.broker import NativeBroker
from workkit.brokers.redis_server.connecting import connect
from workkit.contract.listener import Claim, ListenerInfo, Turn
from workkit.errors import ServerUnreachable
from workkit.jobs.outcome import Again, Dead, Done, Failure, Released

INFO = ListenerInfo(listener="", host="here", pid=1, version="0", schedules={}, threads=1)
FAILURE = Failure(type="OSError", message="disk full", where="app.py:3", traceback="...")


def broker(server: Server, name: str, *, timeout_ms: int = 10_000) -> tuple[NativeBroker, Lossy]:
    losing = Lossy(connect(server.url))
    made = NativeBroker(losing, schedule=name, timeout_ms=timeout_ms)  # type: ignore[arg-type]
    return made, losing


def listening(server: Server, name: str, **how: int) -> tuple[NativeBroker, Lossy]:
    made, losing = broker(server, name, **how)
    made.register(INFO)
    return made, losing


def add(server: Server, name: str, n: int = 1) -> None:
    s = schedule.create(name, redis=server.url)
    for i in range(n):
        schedule.add_now(s, "app:note", args=[i])


def claim_one(b: NativeBroker) -> Claim:
    (claim,) = b.claim(1).claims
    return claim


def standing(server: Server, name: str) -> set[str]:
    keys = {key.decode().removeprefix(f"{name}:").partition(":")[0] for key in server.client().scan_iter(f"{name}:*")}
    return keys - {"producer", "stats", "listeners", "running", "watch", "wake", "ends", *PAST}


def test_a_claim_moves_the_item_into_a_record(server: Server, name: str) -> None:
    add(server, name)
    b, _ = listening(server, name)
    claim = claim_one(b)
    client = server.client()
    assert client.zcard(f"{name}:next") == 0
    record = client.hgetall(f"{name}:running:{claim.receipt.listener}")
    assert record.pop(b"@") == b"1"
    assert len(record.pop(b"info")) >= 65
    ((field, due),) = record.items()
    assert field == b"1." + wire.item(claim.job.id)
    assert int(due) == claim.due_ms


def test_items_of_all_writers_and_due_times_are_claimed_and_settled_among_ours(server: Server, name: str) -> None:
    client = server.client()
    dues: dict[str, float] = {}

    def put(id: str, item: bytes, due: float) -> None:
        client.hset(f"{name}:jobs", id, wire.payload(cron="2020 1 1 * 0 0 0", job="app:note", args=[id]))
        client.zadd(f"{name}:next", {item: due})
        dues[id] = due

    for n in range(60):
        id = f"{n:040x}"
        spaced, escaped, short = b'{"id": "%s"}', b'{"id":"\\u00%02x%s"}', b'{"id":"%s"}'
        put(id, wire.item(id), 1_000 + n // 30)
        put(f"s{id}", spaced % f"s{id}".encode(), 1_000 + n)
        put(f"{97 + n % 3:c}" + id[:34], escaped % (97 + n % 3, id[:34].encode()), 1_000) if n < 3 else None
        put(f"odd {n}", short % f"odd {n}".encode(), 1_000.5)
        put(f"{n:x}".rjust(40, "-"), short % f"{n:x}".rjust(40, "-").encode(), -5 - n)
    b, _ = listening(server, name)
    ends: list[Any] = []
    found: dict[str, int] = {}
    while (turn := b.claim(70, ends=ends)).claims:
        ends = [(claim, Done()) for claim in turn.claims]
        found |= {claim.id: claim.due_ms for claim in turn.claims}
        assert all(list(claim.args) == [claim.id] for claim in turn.claims)
    assert found == {id: int(due // 1) for id, due in dues.items()}
    b.leave()
    assert standing(server, name) == set()


def test_of_many_a_further_portion_is_on_its_way(server: Server, name: str) -> None:
    s = schedule.create(name, redis=server.url)
    schedule.add_many(s, [{"fn": "app:note", "at": "now", "args": [n]} for n in range(1000)])
    b, losing = listening(server, name)
    turn, seen = b.claim(400), []
    assert (turn.asked, len(turn.claims)) == (True, 200)
    while turn.claims:
        seen += [claim.job.args[0] for claim in turn.claims]
        losing.lose = len(seen) == 400
        try:
            turn = b.claim(400, ends=[(claim, Done()) for claim in turn.claims])
        except ServerUnreachable:
            turn = b.claim(400)
    assert sorted(seen) == list(range(1000))
    assert not turn.asked
    b.claim(0)
    b.leave()
    assert standing(server, name) == set()


def test_what_is_on_its_way_is_heard_before_anything_else_is_asked(server: Server, name: str) -> None:
    s = schedule.create(name, redis=server.url)
    schedule.add_many(s, [{"fn": "app:note", "at": "now", "args": [n]} for n in range(1000)])
    b, _ = listening(server, name)
    first = b.claim(400)
    b.beating()()
    then = b.claim(0, ends=[(claim, Done()) for claim in first.claims])
    assert (len(first.claims), len(then.claims), first.asked) == (200, 200, True)
    while b.claim(0, ends=[(claim, Done()) for claim in then.claims]).asked:
        then = Turn()
    b.leave()
    assert schedule.counts(s).running == 0
    assert schedule.counts(s).due == 600


def test_a_listener_taken_for_dead_has_nothing_on_its_way(server: Server, name: str) -> None:
    s = schedule.create(name, redis=server.url)
    schedule.add_many(s, [{"fn": "app:note", "at": "now", "args": [n]} for n in range(1000)])
    b, _ = listening(server, name)
    first = b.claim(400)
    server.client().hdel(f"{name}:running:{b.listener}", "@")
    turn = b.claim(400, ends=[(claim, Done()) for claim in first.claims])
    while not turn.fenced:
        turn = b.claim(400)
    assert {claim.id for claim in first.claims} <= {claim.id for claim in turn.fenced}
    assert not turn.asked
    assert len(b.claim(400).claims) == 200


def test_a_done_one_shot_leaves_nothing(server: Server, name: str) -> None:
    add(server, name)
    b, _ = listening(server, name)
    b.claim(1, ends=[(claim_one(b), Done())])
    b.leave()
    assert standing(server, name) == set()
    assert server.client().exists(f"{name}:listeners") == 0


def test_a_dead_one_keeps_its_bytes(server: Server, name: str) -> None:
    add(server, name)
    b, _ = listening(server, name)
    b.claim(1, ends=[(claim_one(b), Dead(failure=FAILURE))])
    assert standing(server, name) == {"dead", "graves"}
    (job,) = schedule.jobs(schedule.create(name, redis=server.url), state="dead")
    assert (job.fn, job.args, job.error) == ("#'app/note", (0,), "OSError: disk full (app.py:3)")


def test_a_released_one_returns_to_the_published_queue(server: Server, name: str) -> None:
    add(server, name)
    b, _ = listening(server, name)
    claim = claim_one(b)
    b.claim(0, ends=[(claim, Released())])
    assert server.client().zrange(f"{name}:next", 0, -1, withscores=True) == [(wire.item(claim.job.id), claim.due_ms)]
    assert claim_one(b).job.attempt == 0


def test_retries_and_crashes_wait_beside_the_published_queue(server: Server, name: str) -> None:
    add(server, name)
    b, _ = listening(server, name)
    claim = claim_one(b)
    b.claim(0, ends=[(claim, Again(delay_ms=60_000, attempt=1, failure=FAILURE))])
    client = server.client()
    assert client.zcard(f"{name}:next") == 0
    ((entry, _),) = client.zrange(f"{name}:again", 0, -1, withscores=True)
    assert entry == b"r %d 1 0 - " % claim.due_ms + wire.item(claim.job.id)
    assert client.hlen(f"{name}:errors") == 1
    again = b.claim(1, now_ms=claim.due_ms + 120_000).claims[0]
    assert again.job.attempt == 1
    b.claim(0, ends=[(again, Done())])
    assert standing(server, name) == set()


def test_a_dead_listener_with_a_beat_ahead_of_the_clock_is_handed_back_as_soon(
    server: Server, name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("workkit.brokers.native.broker.LOOKS_APART_MS", 300)
    add(server, name)
    gone, _ = listening(server, name, timeout_ms=500)
    claim = claim_one(gone)
    ahead = claim.due_ms + 600_000
    server.client().zadd(f"{name}:listeners", {claim.receipt.listener: ahead})
    other, _ = listening(server, name, timeout_ms=500)

    def reaped() -> Any:
        other.beating()()
        return other.maintain()

    assert until(reaped, timeout=8) == [(claim.receipt.listener, 1)]
    assert [c.job.id for c in other.claim(1).claims] == [claim.job.id]


def test_a_stale_listener_without_a_name_is_reaped_and_no_other(server: Server, name: str) -> None:
    add(server, name)
    b, _ = listening(server, name, timeout_ms=500)
    claim = claim_one(b)
    client = server.client()
    client.zadd(f"{name}:listeners", {"": 1})

    def reaped() -> bool:
        b.beating()()
        b.maintain()
        return client.zscore(f"{name}:listeners", "") is None

    until(reaped, timeout=8)
    assert b.claim(1, ends=[(claim, Done())]).refused == []
    assert standing(server, name) == set()


@pytest.mark.parametrize("written", [b"\xc1", None], ids=["overwritten", "removed"])
def test_a_heartbeat_writes_again_who_the_listener_is(server: Server, name: str, written: bytes | None) -> None:
    b, _ = listening(server, name)
    client, key = server.client(), f"{name}:running:{b.listener}"
    before = client.hget(key, "info")
    assert before is not None
    client.hset(key, "info", written) if written else client.hdel(key, "info")
    b.beating()()
    assert client.hget(key, "info") == before


def test_one_look_does_not_make_a_listener_dead(server: Server, name: str) -> None:
    gone, _ = listening(server, name, timeout_ms=50)
    until(lambda: gone.now_ms() % 1000 > 0)
    other, _ = listening(server, name, timeout_ms=50)

    def is_stale() -> bool:
        other.beating()()
        return bool(other._stale)

    until(is_stale)
    assert other.maintain() == []
    assert not gone.claim(1).fenced


def test_a_recurring_job_is_armed_before_it_is_handed_out(server: Server, name: str) -> None:
    s = schedule.create(name, redis=server.url)
    job = schedule.add(s, "app:note", every="minute")
    assert job.due is not None
    due = round(job.due.timestamp() * 1000)
    b, _ = listening(server, name)
    (claim,) = b.claim(1, now_ms=due).claims
    assert not claim.armed
    client = server.client()
    assert client.zcard(f"{name}:next") == 0
    (armed,) = b.admit([(claim, None)], now_ms=due).claims
    assert armed.armed
    assert client.zrange(f"{name}:next", 0, -1, withscores=True) == [(wire.item(job.id), due + 60_000)]
    assert client.zrange(f"{name}:slots", 0, -1) == [f"run:{job.id}\0{job.id}@{due}".encode()]
    b.claim(0, ends=[(armed, Done())])
    assert client.zcard(f"{name}:slots") == 0
    assert client.hlen(f"{name}:jobs") == 1


def test_a_heartbeat_tells_of_limits_that_stand_without_a_version(server: Server, name: str) -> None:
    b, _ = listening(server, name)
    assert b.beating()().control is None
    server.client().hset(f"{name}:control", "limit", 7)
    control = b.beating()().control
    assert control is not None
    assert control.limit == 7


def test_a_script_flush_is_no_event(server: Server, name: str) -> None:
    add(server, name, 2)
    b, _ = listening(server, name)
    claim = claim_one(b)
    server.client().script_flush()
    assert len(b.claim(1, ends=[(claim, Done())]).claims) == 1
    server.client().script_flush()
    add(server, name)


def test_a_server_that_has_forgotten_everything_fences(own_server: Server, name: str) -> None:
    add(own_server, name)
    b, _ = listening(own_server, name)
    claim = claim_one(b)
    own_server.client().flushall()
    assert b.claim(1).fenced == [claim]
    add(own_server, name)
    assert claim_one(b).job.args == (0,)


def test_a_full_server_refuses_additions_whole_and_drains(own_server: Server, name: str) -> None:
    s = schedule.create(name, redis=own_server.url)
    add(own_server, name, 5)
    b, _ = listening(own_server, name)
    client = own_server.client()
    client.config_set("maxmemory", 1)
    with pytest.raises(ConnectionError, match=r"out of memory .* stored nothing"):
        schedule.add_now(s, "app:note", args=["x"])
    claims = b.claim(5).claims
    assert len(claims) == 5
    assert b.claim(0, ends=[(c, Done()) for c in claims]).refused == []
    client.config_set("maxmemory", 0)
    assert standing(own_server, name) == set()


def test_an_item_of_the_usual_length_is_read_like_any_other(server: Server, name: str) -> None:
    client = server.client()
    item = b'{"id":"abc","n":"%s"}' % (b"x" * 30)
    assert len(item) == 49
    client.hset(f"{name}:jobs", "abc", b'{"args":[1],"cron":"2014 3 5 * 9 34 16","job":"a/b"}')
    client.zadd(f"{name}:next", {item: 1})
    b, _ = listening(server, name)
    claim = claim_one(b)
    assert (claim.job.id, claim.trouble, claim.job.args) == ("abc", None, (1,))


def test_what_somebody_else_wrote_into_our_own_keys_ends_nobody(server: Server, name: str) -> None:
    client = server.client()
    b, _ = listening(server, name)
    client.zadd(f"{name}:listeners", {b"\xff\xfe": 1})
    client.zadd(f"{name}:again", {b"o 5 %s 0 - x" % (b"9" * 5000): 1})
    assert not b.beating()().fenced
    b.maintain()
    claim = claim_one(b)
    assert claim.trouble == "corrupt"
    b.claim(0, ends=[(claim, Done())])
    assert len(b.inspector.listeners()) == 2
    assert [job.state for job in b.inspector.jobs()] == ["dead"]


def test_past_a_crowd_that_it_cannot_run_it_finds_its_own(server: Server, name: str) -> None:
    s = schedule.create(name, redis=server.url)
    schedule.add_many(s, [{"fn": "app:elsewhere", "at": "now", "args": [n]} for n in range(2500)])
    b, _ = listening(server, name)
    while claims := b.claim(100).claims:
        b.claim(0, ends=[(claim, Released(unknown=True)) for claim in claims])
    add(server, name)
    (mine,) = b.claim(1).claims
    assert mine.fn == "#'app/note"
    other, _ = listening(server, name)
    assert len(other.claim(100).claims) == 100


def test_one_in_the_order_of_the_other_dialect_is_left_alone(server: Server, name: str) -> None:
    s = schedule.create(name, redis=server.url, dialect="cuckoo")
    schedule.add(s, "app:note", at="2100-01-02 03:04:05")
    server.client().zadd(f"{name}:next", {wire.item(next(schedule.jobs(s)).id): 1})
    b, _ = listening(server, name)
    claim = claim_one(b)
    assert claim.trouble == "foreign"
    assert "in the order of the dialect cuckoo" in (claim.reason or "")
    b.claim(0, ends=[(claim, Released(unknown=True))])
    assert b.claim(1).claims == []
    assert standing(server, name) == {"jobs", "next", "skip"}


def test_a_sleeping_listener_is_woken_for_a_job_behind_others_that_wait(server: Server, name: str) -> None:
    add(server, name, 2)
    b, _ = listening(server, name)
    assert b.wait(1)
    add(server, name)
    assert b.wait(1)
