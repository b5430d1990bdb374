"""Groups in the native layout: how batches are made and filled, and how a job waits for others."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import replace
from datetime import UTC, datetime
from hashlib import sha1
from threading import Timer
from typing import Any

import msgpack
import pytest

from tests import handlers
from tests.brokers.additions import FAR_MS, broker, changed, daily, listening, named, once
from tests.brokers.test_native_session import FAILURE
from tests.servers import Server
from workkit import schedule
from workkit.brokers.native.broker import NativeBroker
from workkit.contract.groups import group_id
from workkit.contract.listener import Claim
from workkit.contract.producer import Added, After, Before, BulkPlace, BulkStep, GroupStep, NewGroup, NewJob, OnDeath
from workkit.errors import InvalidOptions, ServerError
from workkit.jobs.outcome import Dead, Done
from workkit.jobs.terms import PLAIN, Terms
from workkit.triggers.trigger import once as at

pytestmark = pytest.mark.usefixtures("closed_brokers")
NOTHING = sha1(usedforsecurity=False).hexdigest()
BATCH = "import 2027"
G = group_id(BATCH)


@pytest.fixture
def client(server: Server) -> Any:
    return server.client()


def digest(rows: int) -> str:
    return sha1(str(rows).encode(), usedforsecurity=False).hexdigest() if rows else NOTHING


def member(row: int, *args: Any, terms: Terms = PLAIN, due_ms: int | None = None, **entrance: Any) -> NewJob:
    new = once(*(args or (row,)), terms=replace(terms, batch=BATCH), due_ms=due_ms, **entrance)
    new.identity = str(row + 1)
    return new


def follower(word: str) -> NewJob:
    new = once(word, terms=Terms(then_of=BATCH), due_ms=None)
    new.identity = word
    return new


def step(first: int, last: int, *, makes: NewGroup | None = None, closes: bool = False) -> BulkStep:
    before, after = (BulkPlace(id=G, rows=rows, digest=digest(rows)) for rows in (first, last))
    return BulkStep(before=before, after=after, group=GroupStep(name=BATCH, makes=makes, closes=closes))


def fill(b: NativeBroker, first: int, last: int, **how: Any) -> list[Added]:
    return b.adding([member(row) for row in range(first, last)], step=step(first, last, **how))()


def released(b: NativeBroker) -> None:
    while b.groups.release(BATCH):
        pass


def state(client: Any, name: str, g: str = G) -> str:
    return (client.hget(f"{name}:groups", g) or b"-")[:1].decode()


def record(client: Any, name: str, g: str = G) -> dict[str, Any]:
    found: dict[str, Any] = msgpack.unpackb(client.hget(f"{name}:groups", g)[1:])
    return found


def members(client: Any, name: str, g: str = G) -> list[str]:
    """A letter and the name of each member."""
    found = [text for text in client.zrange(f"{name}:members", 0, -1) if text[:8].hex() == g]
    return sorted(f"{chr(text[8])} {spelled(text[9:])}" for text in found)


def spelled(text: bytes) -> str:
    return text.decode() if len(text) < 20 else text[:20].hex() + text[20:].decode()


def waiting(client: Any, name: str) -> list[str]:
    return [text.split(b"\0")[0].decode() for text in client.zrange(f"{name}:waiting", 0, -1)]


def due(client: Any, name: str) -> list[str]:
    return [item.decode()[7:-2] for item in client.zrange(f"{name}:next", 0, -1)]


def test_a_small_batch_is_made_filled_and_closed_in_one_step(server: Server, client: Any, name: str) -> None:
    b, _ = broker(server, name)
    added = fill(b, 0, 3, makes=NewGroup(then=follower("then")), closes=True)
    assert [one.new for one in added] == [True] * 3
    assert state(client, name) == "r"
    assert members(client, name) == sorted(f"w {one.id}" for one in added)
    assert sorted(due(client, name)) == sorted(one.id for one in added)
    assert waiting(client, name) == [f"after:{G}"]
    assert client.hlen(f"{name}:jobs") == 4


def test_members_of_an_open_batch_are_invisible_until_it_is_closed(server: Server, client: Any, name: str) -> None:
    b, _ = listening(server, name)
    fill(b, 0, 2, makes=NewGroup())
    fill(b, 2, 5)
    assert state(client, name) == "o"
    assert len(members(client, name)) == 5
    assert due(client, name) == []
    assert b.claim(10).claims == []
    assert (client.hlen(f"{name}:jobs"), client.hkeys(f"{name}:rows")) == (5, [f"{G} 1".encode()])
    fill(b, 5, 5, closes=True)
    assert state(client, name) == "r"
    released(b)
    assert (client.hlen(f"{name}:jobs"), client.exists(f"{name}:rows")) == (5, 0)
    assert len(b.claim(10).claims) == 5
    assert waiting(client, name) == []


def test_an_empty_batch_settles_as_it_closes_and_what_follows_runs(server: Server, client: Any, name: str) -> None:
    b, _ = listening(server, name)
    b.adding([], step=step(0, 0, makes=NewGroup(then=follower("then"), on_success=follower("success"))))()
    assert (state(client, name), b.claim(10).claims) == ("o", [])
    b.adding([], step=step(0, 0, closes=True))()
    assert state(client, name) == "d"
    assert sorted(claim.args[0] for claim in b.claim(10).claims) == ["success", "then"]
    b.adding([], step=step(0, 0, closes=True))()  # its answer was lost
    assert b.claim(10).claims == []


def test_a_member_is_added_to_its_own_batch_while_it_runs(server: Server, client: Any, name: str) -> None:
    b, _ = broker(server, name)
    fill(b, 0, 1, makes=NewGroup(), closes=True)
    (more,) = b.adding([once("more", terms=Terms(batch=BATCH), due_ms=None)])()
    assert f"w {more.id}" in members(client, name)
    assert more.id in due(client, name)
    assert len(members(client, name)) == 2


def test_the_ids_of_members_follow_from_the_batch_and_the_row(server: Server, client: Any, name: str) -> None:
    b, _ = broker(server, name)
    first = fill(b, 0, 2, makes=NewGroup(then=follower("then")))
    fill(b, 2, 3, closes=True)
    payloads = {id.decode(): json.loads(text) for id, text in client.hgetall(f"{name}:jobs").items()}
    assert [payloads[one.id]["batch"] for one in first] == [f"1 {BATCH}", f"2 {BATCH}"]
    then = payloads[record(client, name)["then"]]
    assert (then["nonce"], then["opts"]) == ("then", {"then_of": BATCH})


@pytest.mark.parametrize("first", [0, 2])
def test_a_step_that_is_repeated_adds_nothing_twice(server: Server, client: Any, name: str, first: int) -> None:
    b, losing = broker(server, name)
    if first:
        fill(b, 0, first, makes=NewGroup(then=follower("then")))
    losing.lose = 1
    added = fill(b, first, 4, makes=NewGroup(then=follower("then")) if not first else None)
    again = fill(b, first, 4, makes=NewGroup(then=follower("then")) if not first else None)
    assert [one.id for one in again] == [one.id for one in added]
    losing.lose = 1
    b.adding([], step=step(4, 4, closes=True))()
    b.adding([], step=step(4, 4, closes=True))()
    released(b)
    assert len(members(client, name)) == 4
    assert client.hlen(f"{name}:jobs") == 5
    assert record(client, name)["total"] == 4
    assert client.zcard(f"{name}:next") == 4


def test_a_step_of_another_producer_is_refused(server: Server, client: Any, name: str) -> None:
    b, _ = broker(server, name)
    fill(b, 0, 3, makes=NewGroup())
    stood = client.dump(f"{name}:members"), client.dump(f"{name}:groups")
    for first, last in ((0, 2), (2, 4), (1, 3)):
        other = step(first, last)
        with pytest.raises(InvalidOptions, match="no longer where this program left it"):
            b.adding([member(row, "other") for row in range(first, last)], step=other)()
    assert (client.dump(f"{name}:members"), client.dump(f"{name}:groups")) == stood


def test_a_batch_is_made_once(server: Server, client: Any, name: str) -> None:
    b, _ = broker(server, name)
    fill(b, 0, 2, makes=NewGroup(then=follower("then"), on_death="cancel"))
    client.delete(f"{name}:producer:batch-{G}")
    fill(b, 0, 2, makes=NewGroup(then=follower("other")))  # its place is forgotten: the same rows have the same ids
    made = record(client, name)
    assert (made["on_death"], made["name"]) == ("cancel", BATCH)
    assert client.hget(f"{name}:jobs", made["then"]) == made["then_payload"].encode()
    fill(b, 2, 3, closes=True)
    client.delete(f"{name}:producer:batch-{G}")
    with pytest.raises(InvalidOptions, match=f'^batch "{BATCH}" is closed') as caught:
        fill(b, 0, 2, makes=NewGroup(), closes=True)
    assert caught.value.where == "batch"
    with pytest.raises(InvalidOptions, match=r"no longer where|is closed"):
        fill(b, 3, 4)


@pytest.mark.parametrize("how", ["plain", "named"])
def test_a_batch_that_nobody_has_made_takes_no_rows(server: Server, client: Any, name: str, how: str) -> None:
    b, _ = broker(server, name)
    row = member(0) if how == "plain" else member(0, terms=named("one"))
    for rows_step in (step(0, 1), None):
        with pytest.raises(InvalidOptions, match=f'^batch "{BATCH}" does not exist'):
            b.adding([row], step=rows_step)()
    assert [key for key in client.keys(f"{name}:*") if b":producer:" not in key] == []


def test_an_open_batch_does_not_settle_though_each_member_is_cancelled(server: Server, client: Any, name: str) -> None:
    b, _ = listening(server, name)
    added = fill(b, 0, 2, makes=NewGroup(then=follower("then")))
    s = schedule.create(name, redis=server.url)
    for one in added:
        schedule.cancel(s, one.id)
    assert (state(client, name), waiting(client, name)) == ("o", [f"after:{G}"])
    assert members(client, name) == sorted(f"C {one.id}" for one in added)
    b.adding([], step=step(2, 2, closes=True))()
    assert (state(client, name), waiting(client, name)) == ("d", [])
    assert [claim.args for claim in b.claim(5).claims] == [("then",)]


def test_the_step_that_closes_lets_go_a_thousand(server: Server, client: Any, name: str) -> None:
    b, _ = broker(server, name)
    fill(b, 0, 1000, makes=NewGroup())
    fill(b, 1000, 1500)
    fill(b, 1500, 1501, closes=True)
    assert (client.zcard(f"{name}:next"), client.hlen(f"{name}:rows")) == (1001, 1)
    assert waiting(client, name) == []
    released(b)
    assert (client.zcard(f"{name}:next"), client.hlen(f"{name}:rows")) == (1501, 0)
    assert len(members(client, name)) == record(client, name)["total"] == 1501


def test_a_row_that_is_known_is_no_member(server: Server, client: Any, name: str) -> None:
    b, _ = broker(server, name)
    (other,) = b.adding([once("other", terms=Terms(unique_key="k"))])()
    rows = [member(0, terms=Terms(unique_key="k")), member(1, terms=Terms(unique_key="l"))]
    known, new = b.adding(rows, step=step(0, 2, makes=NewGroup(), closes=True))()
    assert (known.new, known.id, new.new) == (False, other.id, True)
    assert members(client, name) == [f"w {new.id}"]
    assert record(client, name)["total"] == 1


@pytest.mark.parametrize("now_is", ["open", "settled"])
def test_a_batch_that_is_open_or_settled_takes_no_job_outside_of_a_step(
    server: Server, client: Any, name: str, now_is: str
) -> None:
    b, _ = listening(server, name)
    fill(b, 0, 1, makes=NewGroup(), closes=now_is == "settled")
    if now_is == "settled":
        end(b, Done())
        assert state(client, name) == "d"
    stood = client.hlen(f"{name}:jobs")
    with pytest.raises(InvalidOptions, match="is still being filled" if now_is == "open" else "has ended"):
        b.adding([once("more", terms=Terms(batch=BATCH), due_ms=None)])()
    assert client.hlen(f"{name}:jobs") == stood


def test_a_batch_does_not_settle_within_an_addition_to_it(server: Server, client: Any, name: str) -> None:
    b, _ = broker(server, name)
    row = member(0, terms=Terms(unique_key="k"))
    (first,) = b.adding([row], step=step(0, 1, makes=NewGroup(then=follower("then")), closes=True))()
    newer = once("newer", terms=Terms(batch=BATCH, unique_key="k"), due_ms=None, replace=True)
    (second,) = b.adding([newer])()
    assert second.replaced == first.id
    assert members(client, name) == sorted([f"R {first.id}", f"w {second.id}"])
    assert (state(client, name), record(client, name)["total"]) == ("r", 2)
    assert waiting(client, name) == [f"after:{G}"]


@pytest.mark.parametrize("how", ["makes", "fills", "closes", "after"])
def test_a_full_server_refuses_a_step_before_its_first_write(own_server: Server, name: str, how: str) -> None:
    b, _ = broker(own_server, name)
    client: Any = own_server.client()
    (first,) = b.adding([once("first", terms=PLAIN)])()
    if how in ("fills", "closes"):
        fill(b, 0, 2, makes=NewGroup())
    stood = {key: client.dump(key) for key in client.keys(f"{name}:*")}
    client.config_set("maxmemory", 1)
    request: dict[str, tuple[Sequence[NewJob], BulkStep | None]] = {
        "after": ([run_after(Before("job", first.id))], None),
        "makes": ([member(0)], step(0, 1, makes=NewGroup(then=follower("then")), closes=True)),
        "fills": ([member(2)], step(2, 3)),
        "closes": ([], step(2, 2, closes=True)),
    }
    with pytest.raises(ServerError):
        b.adding(request[how][0], step=request[how][1])()
    client.config_set("maxmemory", 0)
    assert {key: client.dump(key) for key in client.keys(f"{name}:*")} == stood


def end(b: NativeBroker, *outcomes: Any) -> list[Claim]:
    """Claim so many jobs, and end them so."""
    claims = list(b.claim(len(outcomes)).claims)
    assert len(claims) == len(outcomes)
    b.claim(0, ends=list(zip(claims, outcomes, strict=True)))
    return claims


def run_after(*before: Before, on_death: OnDeath = "cancel", **more: Any) -> NewJob:
    mark = sha1("".join(f"{one.of}\n" for one in before).encode(), usedforsecurity=False).hexdigest()[:16]
    new = once("last", terms=Terms(after=mark), due_ms=None, **more)
    new.after = After(before=before, on_death=on_death)
    return new


def test_a_job_waits_for_those_that_have_not_ended(server: Server, client: Any, name: str) -> None:
    b, _ = broker(server, name)
    first, second = b.adding([once(n, terms=PLAIN, due_ms=None) for n in range(2)])()
    (last,) = b.adding([run_after(Before("job", first.id), Before("job", second.id))])()
    g = last.id[:16]
    assert last.new
    assert members(client, name, g) == sorted([f"w {first.id}", f"w {second.id}"])
    assert waiting(client, name) == [f"after:{g}"]
    assert client.zcard(f"{name}:feeds") == 2
    assert state(client, name, g) == "r"


ENDINGS: Mapping[str, tuple[Any, str]] = {
    "done": (Done(), "k"),
    "discarded": (Done(discarded="no use"), "X"),
    "dead": (Dead(failure=FAILURE), "D"),
    "cancelled": (Done(discarded="cancelled while it ran"), "C"),
    "expired": (Done(expired=True), "E"),
}


@pytest.mark.parametrize("on_death", ["cancel", "run"])
@pytest.mark.parametrize("how", ENDINGS)
def test_a_predecessor_that_has_just_ended_is_read_in_the_step_of_the_addition(
    server: Server, client: Any, name: str, how: str, on_death: OnDeath
) -> None:
    b, _ = listening(server, name)
    outcome, letter = ENDINGS[how]
    (first,) = b.adding([once("first", terms=PLAIN, due_ms=None)])()
    end(b, outcome)
    (last,) = b.adding([run_after(Before("job", first.id, is_known=how == "done"), on_death=on_death)])()
    if on_death == "cancel" and letter not in "kX":
        assert (last.new, last.ended) == (False, "cancelled")
        assert client.exists(f"{name}:groups", f"{name}:members", f"{name}:jobs") == 0
        return
    g = last.id[:16]
    assert last.new
    assert due(client, name) == [last.id]
    assert (state(client, name, g), members(client, name, g)) == ("d", [f"{letter} {first.id}"])
    assert client.exists(f"{name}:feeds") == 0


@pytest.mark.parametrize("ending", [None, Done()])
def test_a_predecessor_of_which_nothing_is_known_is_refused(
    server: Server, client: Any, name: str, ending: Any
) -> None:
    b, _ = listening(server, name)
    id = "0" * 40
    if ending is not None:
        id = b.adding([once("first", terms=PLAIN, due_ms=None)])()[0].id
        end(b, ending)
    with pytest.raises(InvalidOptions, match=f'^after="{id}" is no job that waits, runs or ended') as caught:
        b.adding([once("beside", terms=named("beside")), run_after(Before("job", id))])()
    assert caught.value.where == "after"
    assert client.exists(f"{name}:jobs", f"{name}:groups", f"{name}:names") == 0


@pytest.mark.parametrize("terms", [PLAIN, named("one")])
def test_an_id_that_is_added_again_has_not_ended(server: Server, client: Any, name: str, terms: Terms) -> None:
    b, _ = broker(server, name)
    s = schedule.create(name, redis=server.url)
    (first,) = b.adding([once("same", terms=terms)])()
    schedule.cancel(s, first.id)
    assert client.hexists(f"{name}:ends", first.id)
    (again,) = b.adding([once("same", terms=terms)])()
    assert (again.id, again.new) == (first.id, True)
    assert not client.hexists(f"{name}:ends", first.id)


@pytest.mark.parametrize("by", ["name", "id"])
def test_after_a_recurring_job_means_its_next_run(server: Server, client: Any, name: str, by: str) -> None:
    b, _ = broker(server, name)
    nightly = daily("nightly", terms=named("nightly"))
    (first,) = b.adding([nightly])()
    before = Before("name", "nightly") if by == "name" else Before("job", first.id)
    (last,) = b.adding([run_after(before)])()
    g = last.id[:16]
    assert members(client, name, g) == [f"w {first.id}@{nightly.due_ms}"]
    assert client.zrange(f"{name}:feeds", 0, -1) == [f"{first.id}@{nightly.due_ms}\0{g}".encode()]


def test_after_a_recurring_job_that_a_dead_listener_gave_back_means_that_run(
    server: Server, client: Any, name: str
) -> None:
    b, _ = broker(server, name)
    nightly = daily("nightly", terms=named("nightly"))
    (first,) = b.adding([nightly])()
    client.hset(f"{name}:crashed", f"{first.id}@{nightly.due_ms}", 1)  # its listener died while it had this run
    (last,) = b.adding([run_after(Before("name", "nightly"))])()
    assert members(client, name, last.id[:16]) == [f"w {first.id}@{nightly.due_ms}"]


def test_after_a_recurring_job_that_is_being_claimed_means_the_run_after_it(
    server: Server, client: Any, name: str
) -> None:
    b, _ = broker(server, name)
    nightly = daily("nightly", terms=named("nightly"))
    (first,) = b.adding([nightly])()
    item = client.zrange(f"{name}:next", 0, -1)[0]
    client.zrem(f"{name}:next", item)  # a listener has it, and has not put the next one back
    back = Timer(0.2, client.zadd, (f"{name}:next", {item: nightly.due_ms}))
    back.start()
    (last,) = b.adding([run_after(Before("name", "nightly"))])()
    assert members(client, name, last.id[:16]) == [f"w {first.id}@{nightly.due_ms}"]
    client.zrem(f"{name}:next", item)
    with pytest.raises(InvalidOptions, match="nightly"):  # it never comes back
        b.adding([run_after(Before("name", "nightly"))])()


def test_after_a_recurring_job_that_is_paused_means_the_run_that_waits(server: Server, client: Any, name: str) -> None:
    b, _ = broker(server, name)
    s = schedule.create(name, redis=server.url)
    nightly = daily("nightly", terms=named("nightly"))
    (first,) = b.adding([nightly])()
    schedule.pause(s, "nightly")
    (last,) = b.adding([run_after(Before("name", "nightly"))])()
    assert members(client, name, last.id[:16]) == [f"w {first.id}@{nightly.due_ms}"]


@pytest.mark.parametrize("what", ["no such name", "ended"])
def test_a_name_without_a_further_run_is_refused(server: Server, client: Any, name: str, what: str) -> None:
    b, _ = broker(server, name)
    if what == "ended":
        (first,) = b.adding([daily("nightly", terms=named(what))])()
        client.zrem(f"{name}:next", b'{"id":"%s"}' % first.id.encode())
        client.sadd(f"{name}:ended", first.id)
    with pytest.raises(InvalidOptions, match=f'^after="{what}" is no job'):
        b.adding([run_after(Before("name", what))])()


def test_a_name_of_a_job_that_runs_once_means_that_job(server: Server, client: Any, name: str) -> None:
    b, _ = broker(server, name)
    odd = once({"interval": 5, "cron": "* * * * 1 1 1"}, terms=named("one"))  # it looks like a time, and is an argument
    (first,) = b.adding([odd])()
    (last,) = b.adding([run_after(Before("name", "one"))])()
    assert members(client, name, last.id[:16]) == [f"w {first.id}"]


def test_after_a_batch_means_what_follows_it(server: Server, client: Any, name: str) -> None:
    b, _ = listening(server, name)
    fill(b, 0, 1, makes=NewGroup(then=follower("then")), closes=True)
    then = record(client, name)["then"]
    (last,) = b.adding([run_after(Before("batch", BATCH))])()
    assert members(client, name, last.id[:16]) == [f"w {then}"]
    end(b, Done())
    assert due(client, name) == [then]
    end(b, Done())
    assert due(client, name) == [last.id]
    (later,) = b.adding([run_after(Before("batch", BATCH), on_death="run")])()
    assert members(client, name, later.id[:16]) == [f"k {then}"]


@pytest.mark.parametrize(("outcome", "letter"), [(Done(), "k"), (Dead(failure=FAILURE), "D")])
def test_after_a_batch_that_nothing_follows_means_the_batch(
    server: Server, client: Any, name: str, outcome: Any, letter: str
) -> None:
    b, _ = listening(server, name)
    fill(b, 0, 1, makes=NewGroup())
    (last,) = b.adding([run_after(Before("batch", BATCH), on_death="run")])()
    assert members(client, name, last.id[:16]) == [f"w ={G}"]
    fill(b, 1, 1, closes=True)
    end(b, outcome)
    assert due(client, name) == [last.id]
    assert members(client, name, last.id[:16]) == [f"{letter} ={G}"]
    (later,) = b.adding([run_after(Before("batch", BATCH), on_death="run")])()
    assert members(client, name, later.id[:16]) == [f"{letter} ={G}"]
    with pytest.raises(InvalidOptions, match=r'^after="none" is no job'):
        b.adding([run_after(Before("batch", "none"))])()


def test_jobs_of_one_request_run_one_after_the_other(server: Server, client: Any, name: str) -> None:
    b, _ = listening(server, name)
    first = once("first", terms=PLAIN)
    second = changed(run_after(Before("job", b.id_of(first))), identity="second")
    third = changed(run_after(Before("job", b.id_of(second))), identity="third")
    added = b.adding([first, second, third])()
    assert [one.new for one in added] == [True] * 3
    assert due(client, name) == [added[0].id]
    assert sorted(waiting(client, name)) == sorted(f"after:{one.id[:16]}" for one in added[1:])


def test_a_predecessor_that_was_dead_and_runs_again_is_waited_for(server: Server, client: Any, name: str) -> None:
    b, _ = listening(server, name)
    first, second = b.adding([once(n, terms=PLAIN, due_ms=None) for n in range(2)])()
    (claim, other) = b.claim(2).claims
    b.claim(0, ends=[(claim, Dead(failure=FAILURE))])
    (last,) = b.adding([run_after(Before("job", first.id), Before("job", second.id), on_death="run")])()
    assert {text[0] for text in members(client, name, last.id[:16])} == {"D", "w"}
    assert schedule.retry(schedule.create(name, redis=server.url)) == 1
    b.claim(0, ends=[(other, Done())])
    assert waiting(client, name) == [f"after:{last.id[:16]}"]
    end(b, Done())
    assert due(client, name) == [last.id]


def test_a_job_that_waits_starts_when_its_own_time_has_come_too(server: Server, client: Any, name: str) -> None:
    b, _ = listening(server, name)
    (first,) = b.adding([once("first", terms=PLAIN, due_ms=None)])()
    new = run_after(Before("job", first.id))
    new.due_ms = FAR_MS
    (last,) = b.adding([new])()
    end(b, Done())
    assert client.zscore(f"{name}:next", b'{"id":"%s"}' % last.id.encode()) == FAR_MS
    assert waiting(client, name) == []


def test_ten_thousand_predecessors_of_one_job(server: Server, client: Any, name: str) -> None:
    b, _ = broker(server, name)
    ids = []
    for first in range(0, 10_000, 1000):
        rows = [once(row, terms=PLAIN) for row in range(first, first + 1000)]
        ids += [one.id for one in b.adding(rows)()]
    (last,) = b.adding([run_after(*(Before("job", id) for id in [*ids, ids[0]]))])()
    g = last.id[:16]
    assert record(client, name, g)["total"] == 10_000
    assert len(members(client, name, g)) == client.zcard(f"{name}:feeds") == 10_000
    assert due(client, name).count(last.id) == 0


def test_a_job_keeps_what_it_ran_after_at_another_time(server: Server, client: Any, name: str) -> None:
    b, _ = listening(server, name)
    s = schedule.create(name, redis=server.url)
    first, second = b.adding([once(n, terms=PLAIN, due_ms=None) for n in range(2)])()
    new = run_after(Before("job", first.id), Before("job", second.id), on_death="run")
    (last,) = b.adding([changed(new, trigger=at(datetime.fromtimestamp(FAR_MS // 1000, UTC)), due_ms=FAR_MS)])()
    end(b, Done(), Dead(failure=FAILURE))
    moved = schedule.reschedule(s, last.id, at="2096-10-03 00:00 UTC")
    g = moved.id[:16]
    assert moved.id != last.id
    assert sorted(text[0] for text in members(client, name, g)) == ["D", "k"]
    assert (state(client, name, g), record(client, name, g)["of"]) == ("d", moved.id)
    assert (members(client, name, last.id[:16]), state(client, name, last.id[:16])) == ([], "-")
    assert client.zcard(f"{name}:feeds") == len(members(client, name, g))
    assert due(client, name) == [moved.id]


def test_a_member_stays_in_its_batch_at_another_time(server: Server, client: Any, name: str) -> None:
    b, _ = broker(server, name)
    s = schedule.create(name, redis=server.url)
    row = changed(member(0, terms=named("one")), trigger=at(datetime.fromtimestamp(FAR_MS // 1000, UTC)), due_ms=FAR_MS)
    (first,) = b.adding([row], step=step(0, 1, makes=NewGroup(then=follower("then")), closes=True))()
    moved = schedule.reschedule(s, "one", at="2096-10-03 00:00 UTC")
    assert moved.id != first.id
    assert members(client, name) == [f"w {moved.id}"]
    assert (state(client, name), record(client, name)["total"]) == ("r", 1)
    assert waiting(client, name) == [f"after:{G}"]


def test_what_waits_for_the_next_run_waits_for_it_at_another_time(server: Server, client: Any, name: str) -> None:
    b, _ = broker(server, name)
    s = schedule.create(name, redis=server.url)
    b.adding([daily("nightly", terms=named("nightly"))])()
    (last,) = b.adding([run_after(Before("name", "nightly"))])()
    moved = schedule.reschedule(s, "nightly", every="2 days at 9am")
    ((item, score),) = client.zrange(f"{name}:next", 0, -1, withscores=True)
    assert item.decode()[7:-2] == moved.id
    assert members(client, name, last.id[:16]) == [f"w {moved.id}@{score:.0f}"]


def test_a_job_that_waits_gives_way_to_one_of_its_name(server: Server, client: Any, name: str) -> None:
    b, _ = broker(server, name)
    (first,) = b.adding([once("first", terms=PLAIN)])()
    new = run_after(Before("job", first.id))
    new.terms = replace(new.terms, name="one")
    (last,) = b.adding([new])()
    (newer,) = b.adding([once("newer", terms=named("one"))])()
    assert newer.replaced == last.id
    assert (waiting(client, name), client.exists(f"{name}:groups", f"{name}:members", f"{name}:feeds")) == ([], 0)


def test_an_id_that_comes_back_is_that_of_a_job_that_has_not_ended(server: Server, name: str) -> None:
    """Its first job was replaced; what runs after the second one is not cancelled for that."""
    s = schedule.create(name, redis=server.url)
    jobs = [schedule.add(s, handlers.note, at="2030-01-01T00:00:00Z", name="n", args=[row]) for row in (1, 2, 1)]
    assert jobs[0].id == jobs[2].id
    schedule.run(s, "n")
    schedule.drain(s, imports=["tests.handlers"], folder=None)
    after = schedule.add_now(s, handlers.note, args=["after"], after=jobs[2])
    assert (after.ending, schedule.counts(s).due) == (None, 1)
