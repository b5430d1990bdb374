"""Additions under a unique key, in a window, with a priority: what the keys hold then, on real servers."""

from __future__ import annotations

from itertools import product
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tests.brokers.additions import (
    FAR_MS,
    broker,
    changed,
    daily,
    ids,
    listening,
    named,
    once,
    put,
    queue,
)
from tests.brokers.test_native_session import standing
from tests.servers import Server
from workkit import schedule
from workkit.contract.admin import Paused
from workkit.contract.producer import NewJob
from workkit.errors import ServerRefused
from workkit.jobs.admission import Admission, Pause
from workkit.jobs.outcome import Again, Done
from workkit.jobs.terms import PLAIN, Entrance, Terms

REPLACE = Entrance(replace=True)
pytestmark = pytest.mark.usefixtures("closed_brokers")


def test_a_unique_key_is_answered_with_its_holder(server: Server, name: str) -> None:
    b, _ = broker(server, name)
    first = put(b, once(1, terms=Terms(unique_key="k")))
    second = put(b, once(2, terms=Terms(unique_key="k")))
    other = put(b, once(2, terms=Terms(unique_key="other")))
    assert (second.id, second.new, second.due_ms) == (first.id, False, FAR_MS)
    assert other.new
    assert ids(server.client(), name) == sorted([first.id, other.id])


def test_a_holder_that_waits_gives_way_and_leaves_its_time(server: Server, name: str) -> None:
    b, _ = broker(server, name)
    first = put(b, once(1, terms=Terms(unique_key="k")))
    second = put(b, once(2, terms=Terms(unique_key="k"), due_ms=FAR_MS + 5000, replace=True))
    client = server.client()
    assert (second.new, second.replaced, second.due_ms) == (True, first.id, FAR_MS)
    assert queue(client, f"{name}:next") == {second.id: FAR_MS}
    assert ids(client, name) == [second.id]
    assert client.hget(f"{name}:unique", "k") == second.id.encode()


@pytest.mark.parametrize("again", [False, True])
def test_a_holder_that_has_begun_keeps_its_payload_and_loses_the_key(server: Server, name: str, again: bool) -> None:
    b, _ = listening(server, name)
    first = put(b, once(1, terms=Terms(unique_key="k"), due_ms=1))
    (claim,) = b.admit([(b.claim(1).claims[0], Admission(keys=(("unique:k", 1),)))]).claims
    if again:
        b.claim(0, ends=[(claim, Again(delay_ms=60_000, attempt=1, failure=None))])
    second = put(b, once(2, terms=Terms(unique_key="k"), replace=True))
    assert (second.new, second.replaced, second.due_ms) == (True, None, FAR_MS)
    assert ids(server.client(), name) == sorted([first.id, second.id])
    assert server.client().hget(f"{name}:unique", "k") == second.id.encode()
    third = put(b, once(3, terms=Terms(unique_key="k")))
    assert third.id == second.id


def test_a_recurring_holder_gives_way_between_claim_and_start(server: Server, name: str) -> None:
    b, _ = listening(server, name)
    first = put(b, changed(daily(1, terms=Terms(unique_key="k")), due_ms=1))
    b.claim(1)
    new = changed(daily(2, terms=Terms(unique_key="k")), entrance=REPLACE)
    second = put(b, new)
    assert (second.replaced, second.due_ms) == (first.id, FAR_MS)
    assert ids(server.client(), name) == [second.id]


def test_a_name_is_not_replaced_where_the_unique_key_is_anothers(server: Server, name: str) -> None:
    b, _ = broker(server, name)
    old = put(b, once(1, terms=named("x")))
    holder = put(b, once(2, terms=Terms(unique_key="k")))
    new = put(b, once(3, terms=named("x", unique_key="k")))
    assert (new.id, new.new) == (holder.id, False)
    assert server.client().hget(f"{name}:names", "x") == old.id.encode()


def test_debounce_puts_the_last_one_off_to_a_window_from_now(server: Server, name: str) -> None:
    b, _ = broker(server, name)
    window = {"debounce_ms": 30_000, "window_key": "w"}
    first = put(b, once(1, terms=Terms(), due_ms=1, **window))
    second = put(b, once(1, terms=Terms(), due_ms=1, **window))
    client = server.client()
    assert (second.new, second.replaced) == (True, first.id)
    seconds, micros = client.time()
    assert second.due_ms is not None
    assert 0 <= seconds * 1000 + micros // 1000 + 30_000 - second.due_ms < 2000
    assert queue(client, f"{name}:next") == {second.id: second.due_ms}
    assert ids(client, name) == [second.id]


def test_debounce_puts_a_job_off_only_so_long_after_the_first_addition(server: Server, name: str) -> None:
    b, _ = listening(server, name)
    client, field = server.client(), f"{name}:unique"
    window = {"debounce_ms": 30_000, "debounce_most_ms": 40_000, "window_key": "w"}

    def latest() -> int:
        return int(client.hget(field, "w").split()[2])

    first = put(b, once(1, terms=Terms(), due_ms=1, **window))
    assert first.due_ms is not None
    assert latest() - first.due_ms == 10_000
    until = latest() - 15_000
    client.hset(field, "w", f"{first.id} - {until}")  # as if the first addition was 15 s earlier
    second = put(b, once(1, terms=Terms(), due_ms=1, **window))
    assert (second.replaced, second.due_ms, latest()) == (first.id, until, until)
    client.hset(field, "w", f"{second.id} - 5")  # nobody listened: it keeps its place among the jobs that are due
    third = put(b, once(1, terms=Terms(), due_ms=1, **window))
    assert (third.replaced, queue(client, f"{name}:next")) == (second.id, {third.id: 5})
    assert [claim.id for claim in b.claim(1).claims] == [third.id]
    fourth = put(b, once(1, terms=Terms(), due_ms=1, **window))
    assert fourth.replaced is None
    assert fourth.due_ms is not None
    assert latest() - fourth.due_ms == 10_000, "the job has begun, so another window begins"


def test_a_debounced_job_that_was_claimed_and_has_not_begun_leaves_its_latest_time(server: Server, name: str) -> None:
    b, _ = listening(server, name)
    client, field = server.client(), f"{name}:unique"
    window = {"debounce_ms": 30_000, "window_key": "k"}
    first = put(b, once(1, terms=Terms(unique_key="k"), due_ms=1, **window))
    client.hset(field, "k", f"{first.id} - 7")
    client.zadd(f"{name}:next", {client.zrange(f"{name}:next", 0, 0)[0]: 1})
    assert b.claim(1).claims
    second = put(b, once(2, terms=Terms(unique_key="k"), due_ms=1, **window))
    assert (second.replaced, second.due_ms) == (first.id, 7)
    third = put(b, once(3, terms=Terms(unique_key="k"), due_ms=1, replace=True))
    assert (third.replaced, client.hget(field, "k")) == (second.id, f"{third.id} - 7".encode())


@pytest.mark.parametrize("latest", ["x", "9e15", "-5", str(FAR_MS * 1000), "5 6", "nan"])
def test_a_latest_time_that_nobody_wrote_begins_a_window(server: Server, name: str, latest: str) -> None:
    b, _ = broker(server, name)
    client, field = server.client(), f"{name}:unique"
    window = {"debounce_ms": 30_000, "debounce_most_ms": 40_000, "window_key": "w"}
    first = put(b, once(1, terms=Terms(), due_ms=1, **window))
    client.hset(field, "w", f"{first.id} - {latest}")
    second = put(b, once(1, terms=Terms(), due_ms=1, **window))
    assert second.due_ms is not None
    assert int(client.hget(field, "w").split()[2]) - second.due_ms == 10_000


def test_throttle_answers_with_the_first_of_the_window_whatever_became_of_it(server: Server, name: str) -> None:
    b, _ = listening(server, name)
    window = {"throttle_ms": 30_000, "window_key": "w"}
    first = put(b, once(1, terms=Terms(), due_ms=None, **window))
    waits = put(b, once(1, terms=Terms(), due_ms=None, **window))
    assert (waits.id, waits.new, waits.due_ms) == (first.id, False, first.due_ms)
    (claim,) = b.claim(1).claims
    b.claim(0, ends=[(claim, Done())])
    over = put(b, once(1, terms=Terms(), due_ms=None, **window))
    assert (over.id, over.new, over.due_ms) == (first.id, False, None)
    assert server.client().hgetall(f"{name}:held") == {b"w": first.id.encode()}
    server.client().zadd(f"{name}:windows", {"w": 1})
    after = put(b, once(1, terms=Terms(), due_ms=None, **window))
    assert after.new
    assert server.client().hgetall(f"{name}:held") == {b"w": after.id.encode()}


def test_windows_that_are_over_are_trimmed(server: Server, name: str) -> None:
    b, _ = broker(server, name)
    client = server.client()
    client.zadd(f"{name}:windows", {f"w{n}": n for n in range(5)})
    client.hset(f"{name}:held", mapping={f"w{n}": "0" * 40 for n in range(5)})
    put(b, once(1, terms=named("x")))
    assert not client.exists(f"{name}:windows", f"{name}:held")


def test_a_priority_stands_in_its_index_too(server: Server, name: str) -> None:
    b, _ = broker(server, name)
    added = b.adding([once(level, terms=Terms(priority=level)) for level in (1, 2, 3)])()
    client = server.client()
    for level, one in zip((1, 2, 3), added, strict=True):
        assert queue(client, f"{name}:first:{level}") == {one.id: FAR_MS}
    assert len(queue(client, f"{name}:next")) == 3
    assert not put(b, once(1, terms=Terms(priority=1))).new
    assert put(b, changed(once(1, terms=Terms(priority=1), many=True))).new


def test_answers_come_in_order_whatever_the_jobs_ask_for(server: Server, name: str) -> None:
    b, _ = broker(server, name)
    jobs = [once(n, terms=named(f"n{n}") if n % 2 else Terms(), due_ms=FAR_MS + n) for n in range(10)]
    added = b.adding(jobs)()
    assert [one.due_ms for one in added] == [FAR_MS + n for n in range(10)]
    assert queue(server.client(), f"{name}:next") == {one.id: one.due_ms for one in added}
    assert [one.new for one in b.adding(jobs)()] == [False] * 10


def test_several_under_one_name_in_one_call_leave_the_last(server: Server, name: str) -> None:
    b, _ = broker(server, name)
    added = b.adding([once(n, terms=named("x")) for n in range(4)])()
    assert [one.replaced for one in added] == [None, *(one.id for one in added[:-1])]
    assert ids(server.client(), name) == [added[-1].id]


@pytest.mark.parametrize("mixed", [False, True])
def test_an_answer_that_is_lost_is_asked_for_again_without_effect(server: Server, name: str, mixed: bool) -> None:
    b, losing = broker(server, name)
    jobs = [once(1, terms=named("x")), once(2, terms=Terms(unique_key="k"))]
    jobs += [once(3, terms=Terms())] * mixed
    put(b, once(0, terms=named("x")))
    losing.lose = 1
    added = b.adding(jobs)()
    assert all(one.new for one in added)
    assert added[0].replaced is not None
    assert ids(server.client(), name) == sorted(one.id for one in added)
    assert [one.new for one in b.adding(jobs)()] == [False] * len(jobs)


def test_a_full_server_refuses_whole(own_server: Server, name: str) -> None:
    b, _ = broker(own_server, name)
    old = put(b, once(0, terms=named("x")))
    client = own_server.client()
    client.config_set("maxmemory", 1)
    with pytest.raises(ServerRefused, match=r"out of memory .* stored nothing"):
        put(b, once(1, terms=named("x")))
    assert ids(client, name) == list(queue(client, f"{name}:next")) == [old.id]
    client.config_set("maxmemory", 0)
    assert put(b, once(1, terms=named("x"))).replaced == old.id


def replacing() -> dict[str, NewJob]:
    """Additions, of which some remove what they replace before they write."""
    return {
        "name": once(1, terms=named("x")),
        "key": once(1, terms=Terms(unique_key="k"), replace=True),
        "debounce": once(1, terms=Terms(unique_key="k"), debounce_ms=60_000, debounce_most_ms=360_000),
        "both": once(1, terms=named("x", unique_key="k"), replace=True),
        "throttle": once(1, terms=PLAIN, throttle_ms=60_000, window_key="w"),
        "plain": once(1, terms=Terms(priority=1)),
    }


def test_a_full_server_removes_nothing(own_server: Server, name: str) -> None:
    client: Any = own_server.client()

    def everything(of: str) -> dict[bytes, bytes]:
        return {key: client.dump(key) for key in client.scan_iter(f"{of}:*") if b":producer:" not in key}

    for kind, is_alone in product(replacing(), (True, False)):
        here = f"{name}-{kind}-{is_alone}"
        b, _ = broker(own_server, here)
        known = once(9, terms=Terms(priority=2))
        b.adding([known, once(0, terms=named("x")), once(0, terms=Terms(unique_key="k"))])()
        if kind in ("plain", "throttle"):  # windows that are over are forgotten first
            client.zadd(f"{here}:windows", {"w": 5, "other": 5})
            client.hset(f"{here}:held", mapping={"w": "0" * 40, "other": "0" * 40})
        before = everything(here)
        client.config_set("maxmemory", 1)
        with pytest.raises(ServerRefused, match=r"out of memory .* stored nothing"):
            b.adding([replacing()[kind]] if is_alone else [known, replacing()[kind]])()
        client.config_set("maxmemory", 0)
        assert everything(here) == before, kind
        assert b.adding([replacing()[kind]])()[0].new, kind


def test_an_addition_under_a_unique_key_asks_for_few_commands(own_server: Server, name: str) -> None:
    b, _ = broker(own_server, name)
    client: Any = own_server.client()
    for n in range(5):
        put(b, once(n, terms=Terms(unique_key=f"k{n}")))
    client.config_resetstat()
    put(b, once(5, terms=Terms(unique_key="k5")))
    found = {command: stats["calls"] for command, stats in client.info("commandstats").items()}
    assert sum(found.values()) - found["cmdstat_evalsha"] - found.get("cmdstat_config|resetstat", 0) <= 16, found


def test_what_nearer_work_comes_under_a_name_wakes_a_listener(server: Server, name: str) -> None:
    b, _ = broker(server, name)
    client = server.client()
    put(b, once(1, terms=named("far")))
    assert client.lpop(f"{name}:wake") == b"1"
    put(b, once(1, terms=named("farther"), due_ms=FAR_MS + 1))
    assert client.lpop(f"{name}:wake") is None
    put(b, once(1, terms=named("now"), due_ms=None))
    assert client.lpop(f"{name}:wake") == b"1"


def test_names_and_keys_of_jobs_that_are_over_are_swept(server: Server, name: str) -> None:
    b, _ = broker(server, name)
    client = server.client()
    client.hset(f"{name}:names", mapping={f"gone{n}": "0" * 40 + " r" for n in range(20)})
    client.hset(f"{name}:unique", mapping={f"gone{n}": "0" * 40 for n in range(20)})
    stays = put(b, once(0, terms=named("stays", unique_key="stays")))
    for _ in range(500):
        put(b, once(0, terms=named("stays", unique_key="stays")))
        if client.hlen(f"{name}:names") == client.hlen(f"{name}:unique") == 1:
            break
    assert client.hgetall(f"{name}:names").keys() == client.hgetall(f"{name}:unique").keys() == {b"stays"}
    assert ids(client, name) == [stays.id]


@settings(max_examples=25, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    st.lists(
        st.tuples(
            st.sampled_from("ab"), st.sampled_from([None, "k", "l"]), st.integers(1, 3), st.booleans(), st.booleans()
        ),
        max_size=12,
    )
)
def test_a_name_and_a_key_never_stand_for_two(server: Server, name: str, calls: list[tuple[Any, ...]]) -> None:
    client = server.client()
    client.flushall()
    b, _ = broker(server, name)
    for of, key, n, recurs, gives_way in calls:
        new = (daily if recurs else once)(n, terms=named(of, unique_key=key))
        new.entrance = REPLACE if gives_way and key else new.entrance
        added = put(b, new)
        assert added.id in ids(client, name)
        standing = ids(client, name)
        assert standing == sorted(queue(client, f"{name}:next"))
        jobs = list(b.inspector.jobs())
        for field in ("name", "unique_key"):
            said = [value for job in jobs if (value := getattr(job.terms, field)) is not None]
            assert len(said) == len(set(said))


def test_cancel_takes_what_stood_for_the_job_along(server: Server, name: str) -> None:
    b, _ = broker(server, name)
    client = server.client()
    new = put(b, daily(1, terms=named("x", unique_key="k", priority=3)))
    client.hset(f"{name}:counts", new.id, 1)
    b.admin.cancel(b.inspector.job("x"))
    assert standing(server, name) == {"cancelled"}
    assert put(b, daily(1, terms=named("x", priority=1))).new
    b.admin.cancel(b.inspector.job("x"))
    assert put(b, daily(1, terms=named("x", priority=1))).new  # the very same: its mark is gone
    assert standing(server, name) == {"jobs", "next", "first", "names", "cancelled"}
    assert server.client().zrange(f"{name}:cancelled", 0, -1) == [new.id.encode()]


def test_cancel_takes_out_what_a_pause_has_parked_and_the_pause(server: Server, name: str) -> None:
    b, _ = broker(server, name)
    put(b, once(1, terms=named("x")))
    b.admin.steer(Paused("job:x", Pause()))
    b.admin.cancel(b.inspector.job("x"))
    assert standing(server, name) == {"control"}
    assert b.inspector.control().paused == {}


def test_a_job_parked_for_a_slot_that_is_cancelled_is_ended_by_a_listener(server: Server, name: str) -> None:
    b, _ = listening(server, name)
    b.adding([once(n, terms=Terms(), due_ms=1) for n in (1, 2)])()
    wanted = Admission(keys=(("fn:one", 1),))
    (runs,) = b.admit([(claim, wanted) for claim in b.claim(2).claims]).claims
    parked = next(job for job in b.inspector.jobs() if job.state == "held")
    assert b.admin.cancel(parked).id == parked.id
    (claim,) = b.claim(2).claims
    assert (claim.id, claim.trouble) == (parked.id, "cancelled")
    b.claim(0, ends=[(claim, Done()), (runs, Done())])
    assert standing(server, name) == set()


def test_the_verbs_store_plain_jobs_as_before(server: Server, name: str) -> None:
    s = schedule.create(name, redis=server.url)
    schedule.add(s, "app:note", at="2050-01-01")
    assert standing(server, name) == {"jobs", "next"}
