"""Rows of a batch that wait in `S:rows` until it is closed (spec/groups.md, 2): on real servers."""

from __future__ import annotations

from typing import Any

import msgpack
import pytest

from tests.brokers.additions import broker, changed, listening, once, put
from tests.brokers.test_native_groups import DEAD, ends
from tests.brokers.test_native_groups_add import (
    BATCH,
    G,
    due,
    fill,
    follower,
    member,
    members,
    record,
    released,
    state,
    step,
    waiting,
)
from tests.processes import until
from tests.servers import Server
from workkit import schedule
from workkit.brokers.native.broker import NativeBroker
from workkit.contract.producer import Added, After, Before, NewGroup
from workkit.jobs.outcome import Done
from workkit.jobs.terms import Terms

pytestmark = pytest.mark.usefixtures("closed_brokers")
NIGHT_MS = 2_000_000_000_000


@pytest.fixture
def client(server: Server) -> Any:
    return server.client()


def opened(b: NativeBroker, rows: int = 6, **how: Any) -> list[Added]:
    """A batch that is made by a step of one row, and then has rows in steps of two."""
    added = fill(b, 0, 1, makes=NewGroup(then=follower("then"), **how))
    for first in range(1, rows, 2):
        added += fill(b, first, min(first + 2, rows))
    return added


def closed(b: NativeBroker, rows: int = 6) -> None:
    b.adding([], step=step(rows, rows, closes=True))()


def gathered(b: NativeBroker) -> bool:
    b.beating()()
    b.maintain()
    return True


def after(b: NativeBroker, one: Added) -> Added:
    new = once("after", terms=Terms(after="0" * 16), due_ms=None)
    before = (Before("job", one.id),)
    return put(b, changed(new, after=After(before=before, on_death="run")))


def test_rows_are_let_go_step_by_step_when_the_batch_is_closed(server: Server, client: Any, name: str) -> None:
    b, _ = listening(server, name)
    added = opened(b)
    assert sorted(client.hkeys(f"{name}:rows")) == [f"{G} {n}".encode() for n in (1, 2, 3)]
    assert members(client, name) == sorted(f"w {one.id}" for one in added)
    assert (b.groups.group(BATCH).endings, b.groups.release(BATCH)) == ({"waiting": 6}, 3001)
    closed(b)
    left = [b.groups.release(BATCH) for _ in range(3)]
    assert (left, sorted(due(client, name))) == ([2000, 1000, 0], sorted(one.id for one in added))
    assert "rows" not in record(client, name)
    ends(b, Done(), 6)
    assert (state(client, name), due(client, name)) == ("d", [record(client, name)["then"]])


def test_a_batch_does_not_end_while_it_has_rows(server: Server, client: Any, name: str) -> None:
    b, _ = listening(server, name)
    opened(b, 3)
    closed(b, 3)
    ends(b, Done())  # the only one that has been let go
    gathers = 0
    while (one := b.claim(1).claims) == []:
        assert (state(client, name), gathers := gathers + 1) < ("r", 1000)
        gathered(b)  # its producer died: listeners let the rows go
    b.claim(0, ends=[(one[0], Done())])
    assert state(client, name) == "r"
    ends(b, Done())
    assert state(client, name) == "d"


def test_rows_of_a_batch_that_has_lost_its_members_are_let_go(server: Server, client: Any, name: str) -> None:
    b, _ = listening(server, name)
    added = opened(b)
    client.delete(f"{name}:members")
    closed(b)
    assert state(client, name) == "d"
    released(b)
    assert set(due(client, name)) >= {one.id for one in added}


def test_a_row_is_due_at_its_own_time(server: Server, client: Any, name: str) -> None:
    b, _ = broker(server, name)
    fill(b, 0, 1, makes=NewGroup())
    later, past = member(1, due_ms=NIGHT_MS), member(2, due_ms=5)
    added = b.adding([later, past, member(3)], step=step(1, 4))()
    assert [one.due_ms for one in added[:2]] == [NIGHT_MS, 5]
    closed(b, 4)
    released(b)
    now = int(client.time()[0]) * 1000
    scores = {item.decode()[7:-2]: score for item, score in client.zrange(f"{name}:next", 0, -1, withscores=True)}
    assert scores[added[0].id] == NIGHT_MS
    assert abs(scores[added[1].id] - now) < 60_000
    assert abs(scores[added[2].id] - now) < 60_000


@pytest.mark.parametrize("is_closed", [False, True])
def test_rows_of_a_cancelled_batch_end_as_cancelled(server: Server, client: Any, name: str, is_closed: bool) -> None:
    b, _ = listening(server, name)
    added = opened(b)
    if is_closed:
        closed(b)
        b.groups.release(BATCH)
    group = b.groups.cancel(BATCH)
    assert (group.state, group.endings) == ("cancelled", {"cancelled": 6})
    assert (client.exists(f"{name}:rows"), state(client, name)) == (0, "x")
    assert members(client, name) == sorted(f"C {one.id}" for one in added)
    assert client.hget(f"{name}:ends", added[-1].id).startswith(b"cancelled ")
    assert [(claim.args, claim.reason) for claim in b.claim(10).claims] == [(("then",), "cancelled before it started")]
    assert sum(int(n) for key, n in client.hgetall(f"{name}:stats").items() if key.startswith(b"cancelled:")) == 6


def test_a_death_cancels_rows_too(server: Server, client: Any, name: str) -> None:
    b, _ = listening(server, name)
    (first, *rest) = opened(b, on_death="cancel")
    closed(b)
    ends(b, DEAD)
    until(lambda: gathered(b) and state(client, name) == "x")
    assert members(client, name) == sorted([f"D {first.id}", *(f"C {one.id}" for one in rest)])
    assert client.exists(f"{name}:rows") == 0


def test_a_job_that_waits_for_a_row_starts_after_it(server: Server, client: Any, name: str) -> None:
    b, _ = listening(server, name)
    added = opened(b)
    waits = after(b, added[-1])
    for _ in range(3):
        gathered(b)
    assert waiting(client, name).count(f"after:{waits.id[:16]}") == 1
    closed(b)
    released(b)
    ran = []
    while claims := b.claim(1).claims:
        ran.append(claims[0].id)
        b.claim(0, ends=[(claims[0], Done())])
    assert sorted(ran) == sorted([*(one.id for one in added), record(client, name)["then"], waits.id])
    assert ran.index(waits.id) > ran.index(added[-1].id)


def test_rows_of_no_batch_leave(server: Server, client: Any, name: str) -> None:
    b, _ = listening(server, name)
    opened(b)
    client.hset(f"{name}:rows", mapping={"0123456789abcdef 1": b"\x90", "x": "y"})
    until(lambda: gathered(b) and client.hlen(f"{name}:rows") == 3)


@pytest.mark.parametrize("value", [b"", b"\xc1", b"x", msgpack.packb([5]), msgpack.packb(["a" * 39, 7]), None])
def test_rows_that_cannot_be_read_stop_no_others(server: Server, client: Any, name: str, value: bytes | None) -> None:
    b, _ = listening(server, name)
    added = opened(b)
    if value is None:
        client.hdel(f"{name}:rows", f"{G} 2")
    else:
        client.hset(f"{name}:rows", f"{G} 2", value)
    closed(b)
    released(b)
    ends(b, Done(), 4)
    assert (client.exists(f"{name}:rows"), state(client, name)) == (0, "r")
    assert members(client, name) == sorted(f"w {one.id}" for one in added[3:5])  # the doctor finds their jobs


def test_a_row_that_is_cancelled_alone_ends_as_cancelled(server: Server, client: Any, name: str) -> None:
    b, _ = listening(server, name)
    added = opened(b)
    schedule.cancel(schedule.create(name, redis=server.url), added[-1].id)
    closed(b)
    released(b)
    (mine,) = [claim for claim in b.claim(9).claims if claim.id == added[-1].id]
    assert mine.reason == "cancelled before it started"


def test_a_row_whose_id_is_known_is_no_member(server: Server, client: Any, name: str) -> None:
    b, _ = broker(server, name)
    fill(b, 0, 1, makes=NewGroup())
    rows = [member(1), member(2)]
    (first,) = b.encode([rows[0]])
    client.hset(f"{name}:jobs", first.id, first.payload)
    known, new = b.adding(rows, step=step(1, 3))()
    assert (known.id, known.new, new.new) == (first.id, False, True)
    assert (f"w {known.id}" in members(client, name), f"w {new.id}" in members(client, name)) == (False, True)
    closed(b, 3)
    released(b)
    assert new.id in due(client, name)
    assert known.id not in due(client, name)


@pytest.mark.parametrize("rows", ["many", -1, 1e15, {}])
def test_a_number_of_rows_that_is_absurd_stops_nothing(server: Server, client: Any, name: str, rows: Any) -> None:
    b, _ = listening(server, name)
    opened(b, 1)
    value = client.hget(f"{name}:groups", G)
    client.hset(f"{name}:groups", G, value[:1] + msgpack.packb({**msgpack.unpackb(value[1:]), "rows": rows}))
    closed(b, 1)
    released(b)
    gathered(b)
    ends(b, Done())
    assert state(client, name) == "d"
