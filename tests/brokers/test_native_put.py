"""Additions under a name or a unique key, in a window, with a priority: what the keys hold then, on real servers."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, datetime
from typing import Any

import msgpack
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tests.brokers import test_native_session as session
from tests.brokers.test_native_session import standing
from tests.contract.lossy import Lossy
from tests.servers import Server
from workkit import schedule
from workkit.brokers.native.broker import NativeBroker
from workkit.contract.producer import Added, NewJob
from workkit.errors import ServerRefused
from workkit.jobs.admission import Admission, Pause
from workkit.jobs.outcome import Again, Done
from workkit.jobs.terms import Entrance, Terms
from workkit.triggers import cron
from workkit.triggers.trigger import once as at

FAR_MS = 4_000_000_000_000
DAILY = cron("* * * * 9 0 0")
REPLACE = Entrance(replace=True)


_opened: list[NativeBroker] = []


@pytest.fixture(autouse=True)
def _closed() -> Iterator[None]:
    yield
    while _opened:
        _opened.pop().close()


def broker(server: Server, name: str) -> tuple[NativeBroker, Lossy]:
    made, losing = session.broker(server, name)
    _opened.append(made)
    return made, losing


def listening(server: Server, name: str) -> tuple[NativeBroker, Lossy]:
    made, losing = broker(server, name)
    made.register(session.INFO)
    return made, losing


def once(*args: Any, terms: Terms, due_ms: int | None = FAR_MS, **entrance: Any) -> NewJob:
    """A one-shot that waits, unless `due_ms` is None."""
    return NewJob(
        fn="#'app/note",
        args=args,
        kwargs=None,
        trigger=None if due_ms is None else at(datetime.fromtimestamp(due_ms // 1000, UTC)),
        due_ms=due_ms,
        queued=due_ms is None,
        terms=terms,
        entrance=Entrance(**entrance),
    )


def daily(*args: Any, terms: Terms) -> NewJob:
    return changed(once(*args, terms=terms), trigger=DAILY)


def changed(new: NewJob, **changes: Any) -> NewJob:
    for field, value in changes.items():
        setattr(new, field, value)
    return new


def named(name: str, **terms: Any) -> Terms:
    return Terms(name=name, **terms)


def put(b: NativeBroker, new: NewJob) -> Added:
    return b.add([new])[0]


def ids(client: Any, name: str) -> list[str]:
    return sorted(key.decode() for key in client.hkeys(f"{name}:jobs"))


def entries(client: Any, key: str) -> dict[str, str]:
    return {field.decode(): value.decode() for field, value in client.hgetall(key).items()}


def queue(client: Any, key: str) -> dict[str, int]:
    """Item ids of a sorted set, and when they are due."""
    return {item.decode()[7:-2]: int(due) for item, due in client.zrange(key, 0, -1, withscores=True)}


def test_the_entry_of_a_name_tells_whether_its_job_recurs(server: Server, name: str) -> None:
    b, _ = broker(server, name)
    report = put(b, once(1, terms=named("report")))
    nightly = put(b, daily(2, terms=named("nightly")))
    keyed = put(b, once(3, terms=named("keyed", unique_key="k")))
    held = entries(server.client(), f"{name}:names")
    assert held["report"] == report.id
    assert held["nightly"] == f"{nightly.id} r"
    id, kind, content = held["keyed"].split(" ")
    assert (id, kind) == (keyed.id, "-")
    assert content != id  # its payload has a nonce
    assert report.new
    assert report.due_ms == FAR_MS


@pytest.mark.parametrize("terms", [named("x"), named("x", unique_key="k"), named("x", priority=3)])
@pytest.mark.parametrize("make", [once, daily])
def test_the_same_under_a_name_changes_nothing(server: Server, name: str, terms: Terms, make: Any) -> None:
    b, _ = broker(server, name)
    first = put(b, make(1, terms=terms))
    before = {key: server.client().dump(key) for key in server.client().scan_iter(f"{name}:[^p]*")}
    again = put(b, make(1, terms=terms))
    assert (again.id, again.new, again.replaced, again.due_ms) == (first.id, False, None, FAR_MS)
    assert {key: server.client().dump(key) for key in server.client().scan_iter(f"{name}:[^p]*")} == before


def test_the_same_under_a_name_is_known_also_while_it_runs(server: Server, name: str) -> None:
    b, _ = listening(server, name)
    new = once(1, terms=named("x"), due_ms=1)
    first = put(b, new)
    (claim,) = b.claim(1).claims
    again = put(b, new)
    assert (again.id, again.new, again.due_ms) == (first.id, False, None)
    b.claim(0, ends=[(claim, Done())])
    assert put(b, new).new


@pytest.mark.parametrize("make", [once, daily])
def test_other_content_under_a_name_takes_the_place_of_what_waits(server: Server, name: str, make: Any) -> None:
    b, _ = broker(server, name)
    old = put(b, make(1, terms=named("x", priority=2, unique_key="k")))
    client = server.client()
    client.hset(f"{name}:counts", old.id, 3)
    client.sadd(f"{name}:ended", old.id)
    new = put(b, make(2, terms=named("x")))
    assert (new.new, new.replaced) == (True, old.id)
    assert ids(client, name) == list(queue(client, f"{name}:next")) == [new.id]
    assert not client.exists(f"{name}:first:2", f"{name}:counts", f"{name}:ended")
    assert entries(client, f"{name}:names")["x"].split(" ")[0] == new.id
    assert put(b, once(3, terms=Terms(unique_key="k"))).new  # the key went with its job


def test_a_one_shot_that_has_begun_runs_to_its_end_beside_its_successor(server: Server, name: str) -> None:
    b, _ = listening(server, name)
    old = put(b, once(1, terms=named("x"), due_ms=1))
    (claim,) = b.claim(1).claims
    new = put(b, once(2, terms=named("x")))
    client = server.client()
    assert (new.new, new.replaced) == (True, None)
    assert ids(client, name) == sorted([old.id, new.id])
    assert b.claim(0, ends=[(claim, Done())]).refused == []
    assert ids(client, name) == list(queue(client, f"{name}:next")) == [new.id]
    assert client.hgetall(f"{name}:names") == {b"x": new.id.encode()}


def test_a_recurring_job_is_replaced_also_while_it_runs(server: Server, name: str) -> None:
    b, _ = listening(server, name)
    old = put(b, changed(daily(1, terms=named("x")), due_ms=b.now_ms() - 1000))
    (claim,) = b.claim(1).claims
    (armed,) = b.admit([(claim, None)]).claims
    new = put(b, daily(2, terms=named("x")))
    client = server.client()
    assert new.replaced == old.id
    assert ids(client, name) == list(queue(client, f"{name}:next")) == [new.id]
    assert b.claim(0, ends=[(armed, Done())]).refused == []
    assert standing(server, name) == {"jobs", "next", "names"}


def test_a_recurring_job_that_is_replaced_between_claim_and_start_does_not_come_back(server: Server, name: str) -> None:
    b, _ = listening(server, name)
    put(b, changed(daily(1, terms=named("x")), due_ms=b.now_ms() - 1000))
    (claim,) = b.claim(1).claims
    new = put(b, daily(2, terms=named("x")))
    admitted = b.admit([(claim, None)])
    assert all(one.trouble for one in admitted.claims)
    b.claim(0, ends=[(one, Done()) for one in admitted.claims])
    client = server.client()
    assert ids(client, name) == list(queue(client, f"{name}:next")) == [new.id]


@pytest.mark.parametrize("make", [once, daily])
def test_a_paused_name_stays_paused(server: Server, name: str, make: Any) -> None:
    b, _ = broker(server, name)
    client = server.client()
    old = put(b, make(1, terms=named("x", priority=1)))
    b.admin.pause("job:x", Pause(reason="holiday"))
    assert client.zcard(f"{name}:waiting") == 1
    new = put(b, make(2, terms=named("x", priority=1)))
    assert new.replaced == old.id
    assert ids(client, name) == [new.id]
    item = f'{{"id":"{new.id}"}}'
    parked = f"paused:job:x\0{FAR_MS:016}\0{new.id}@{FAR_MS}\0r {FAR_MS} 0 0 - {item}"
    assert client.zrange(f"{name}:waiting", 0, -1) == [parked.encode()]
    assert not client.exists(f"{name}:next", f"{name}:first:1")
    again = put(b, make(2, terms=named("x", priority=1)))
    assert (again.new, again.due_ms) == (False, FAR_MS)


def test_a_pause_that_has_lapsed_is_none(server: Server, name: str) -> None:
    b, _ = broker(server, name)
    server.client().hset(f"{name}:control", "paused:job:x", msgpack.packb([None, 1]))
    new = put(b, once(1, terms=named("x")))
    assert list(queue(server.client(), f"{name}:next")) == [new.id]


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
    added = b.add([once(level, terms=Terms(priority=level)) for level in (1, 2, 3)])
    client = server.client()
    for level, one in zip((1, 2, 3), added, strict=True):
        assert queue(client, f"{name}:first:{level}") == {one.id: FAR_MS}
    assert len(queue(client, f"{name}:next")) == 3
    assert not put(b, once(1, terms=Terms(priority=1))).new
    assert put(b, changed(once(1, terms=Terms(priority=1), many=True))).new


def test_answers_come_in_order_whatever_the_jobs_ask_for(server: Server, name: str) -> None:
    b, _ = broker(server, name)
    jobs = [once(n, terms=named(f"n{n}") if n % 2 else Terms(), due_ms=FAR_MS + n) for n in range(10)]
    added = b.add(jobs)
    assert [one.due_ms for one in added] == [FAR_MS + n for n in range(10)]
    assert queue(server.client(), f"{name}:next") == {one.id: one.due_ms for one in added}
    assert [one.new for one in b.add(jobs)] == [False] * 10


def test_several_under_one_name_in_one_call_leave_the_last(server: Server, name: str) -> None:
    b, _ = broker(server, name)
    added = b.add([once(n, terms=named("x")) for n in range(4)])
    assert [one.replaced for one in added] == [None, *(one.id for one in added[:-1])]
    assert ids(server.client(), name) == [added[-1].id]


@pytest.mark.parametrize("mixed", [False, True])
def test_an_answer_that_is_lost_is_asked_for_again_without_effect(server: Server, name: str, mixed: bool) -> None:
    b, losing = broker(server, name)
    jobs = [once(1, terms=named("x")), once(2, terms=Terms(unique_key="k"))]
    jobs += [once(3, terms=Terms())] * mixed
    put(b, once(0, terms=named("x")))
    losing.lose = 1
    added = b.add(jobs)
    assert all(one.new for one in added)
    assert added[0].replaced is not None
    assert ids(server.client(), name) == sorted(one.id for one in added)
    assert [one.new for one in b.add(jobs)] == [False] * len(jobs)


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
    b.admin.pause("job:x", Pause())
    b.admin.cancel(b.inspector.job("x"))
    assert standing(server, name) == {"control"}
    assert b.inspector.control().paused == {}


def test_a_job_parked_for_a_slot_that_is_cancelled_is_ended_by_a_listener(server: Server, name: str) -> None:
    b, _ = listening(server, name)
    b.add([once(n, terms=Terms(), due_ms=1) for n in (1, 2)])
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


@pytest.mark.parametrize("make", [once, daily])
def test_other_content_under_a_name_and_the_same_key_replaces(server: Server, name: str, make: Any) -> None:
    b, _ = broker(server, name)
    old = put(b, make(1, terms=named("x", unique_key="k")))
    new = put(b, make(2, terms=named("x", unique_key="k")))
    assert (new.new, new.replaced) == (True, old.id)
    assert ids(server.client(), name) == [new.id]


def test_a_one_shot_that_has_begun_keeps_name_and_key_where_the_key_is_kept(server: Server, name: str) -> None:
    b, _ = listening(server, name)
    old = put(b, once(1, terms=named("x", unique_key="k"), due_ms=1))
    (claim,) = b.claim(1).claims
    new = put(b, once(2, terms=named("x", unique_key="k")))
    assert (new.id, new.new) == (old.id, False)
    b.claim(0, ends=[(claim, Done())])
    assert standing(server, name) == set()
