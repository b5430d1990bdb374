"""Additions under a name: what the keys hold then, on real servers."""

from __future__ import annotations

from typing import Any

import msgpack
import pytest

from tests.brokers.additions import (
    FAR_MS,
    broker,
    changed,
    daily,
    entries,
    ids,
    listening,
    named,
    once,
    put,
    queue,
)
from tests.brokers.test_native_session import standing
from tests.servers import Server
from workkit.contract.admin import Paused
from workkit.jobs.admission import Pause
from workkit.jobs.outcome import Done
from workkit.jobs.terms import Entrance, Terms

REPLACE = Entrance(replace=True)
pytestmark = pytest.mark.usefixtures("closed_brokers")


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
    b.admin.steer(Paused("job:x", Pause(reason="holiday")))
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
