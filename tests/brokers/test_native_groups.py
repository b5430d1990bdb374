"""Groups on real servers (spec/groups.md): each exit of a member settles it, in the step that ends it."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any

import pytest

from tests.brokers.additions import FAR_MS, broker, changed, daily, listening, named, once, put
from tests.brokers.test_native_groups_add import BATCH, G, due, follower, member, members, state, step, waiting
from tests.brokers.test_native_session import FAILURE
from tests.processes import until
from tests.servers import Server
from workkit.brokers.native.broker import NativeBroker
from workkit.contract.admin import At, NextRun, Undo
from workkit.contract.producer import Added, After, Before, NewGroup, NewJob
from workkit.jobs.job import Job
from workkit.jobs.outcome import Again, Dead, Done
from workkit.jobs.terms import Terms

pytestmark = pytest.mark.usefixtures("closed_brokers")
DEAD = Dead(failure=FAILURE)


@pytest.fixture
def client(server: Server) -> Any:
    return server.client()


def batch(b: NativeBroker, *jobs: NewJob, succeeds: bool = False, **how: Any) -> list[Added]:
    """Add a batch of these jobs, with `then`."""
    makes = NewGroup(then=follower("then"), on_success=follower("success") if succeeds else None, **how)
    return b.adding(jobs, step=step(0, len(jobs), makes=makes, closes=True))()


def then_of(b: NativeBroker) -> str:
    return b.groups.group(BATCH).then or ""


def after(b: NativeBroker, kind: Any, of: str, *, on_death: Any = "run", **how: Any) -> Added:
    new = once("after", of, terms=Terms(after="0" * 16), due_ms=None, **how)
    return put(b, changed(new, after=After(before=(Before(kind, of),), on_death=on_death)))


def ends(b: NativeBroker, outcome: Any, count: int = 1, *, now_ms: int | None = None) -> Any:
    """Claim so many jobs and end each of them so."""
    claims = [*b.claim(count, now_ms=now_ms).claims]

    def are_all() -> bool:
        claims.extend(b.claim(count - len(claims), now_ms=now_ms).claims)
        return len(claims) == count

    assert len(claims) == count or until(are_all)
    unarmed = [(claim, None) for claim in claims if not claim.armed]
    armed = b.admit(unarmed, now_ms=now_ms).claims if unarmed else []
    return b.claim(0, ends=[(claim, outcome) for claim in [*(c for c in claims if c.armed), *armed]], now_ms=now_ms)


def dead(b: NativeBroker) -> list[Job]:
    return list(b.inspector.jobs(state="dead"))


ENDINGS: Mapping[str, tuple[Any, str | None]] = {
    "done": (Done(), None),
    "dead": (DEAD, "D"),
    "poisoned": (Dead(failure=FAILURE, reason="poisoned"), "D"),
    "discarded": (Done(discarded="no use"), "X"),
    "cancelled": (Done(discarded="cancelled while it ran"), "C"),
    "expired": (Done(expired=True), "E"),
}


@pytest.mark.parametrize("terms", [{}, {"priority": 3}])
@pytest.mark.parametrize("how", ENDINGS)
def test_the_last_ending_lets_go_what_follows(
    server: Server, client: Any, name: str, how: str, terms: dict[str, Any]
) -> None:
    b, _ = listening(server, name)
    batch(b, *(member(n, terms=Terms(**terms)) for n in range(2)))
    outcome, letter = ENDINGS[how]
    assert ends(b, outcome).batches == []
    assert [text[0] for text in members(client, name)] == sorted(["w", *(letter or "")])
    assert then_of(b) not in due(client, name)
    assert ends(b, outcome).batches == [(BATCH, "done")]
    assert [text[0] for text in members(client, name)] == ([letter] * 2 if letter else [])
    assert due(client, name) == [then_of(b)]
    assert (state(client, name), waiting(client, name)) == ("d", [])
    assert client.zscore(f"{name}:next", b'{"id":"%s"}' % then_of(b).encode()) < FAR_MS


def test_many_plain_members_end_in_one_step(server: Server, client: Any, name: str) -> None:
    b, _ = listening(server, name)
    batch(b, *(member(n) for n in range(40)))
    put(b, once("plain", terms=Terms(), due_ms=1))
    assert ends(b, Done(), 41).batches == [(BATCH, "done")]
    assert (members(client, name), due(client, name)) == ([], [then_of(b)])
    group = b.groups.group(BATCH)
    assert (group.state, group.is_settled, group.total, group.endings) == ("done", True, 40, {"done": 40})


def test_a_retried_attempt_settles_nothing(server: Server, client: Any, name: str) -> None:
    b, _ = listening(server, name)
    batch(b, member(1))
    ends(b, Again(delay_ms=0, attempt=1, failure=FAILURE))
    assert [text[0] for text in members(client, name)] == ["w"]
    ends(b, Done())
    assert due(client, name) == [then_of(b)]


Exit = Callable[[NativeBroker, Any, str, Added], Any]


def _replaced(**entrance: Any) -> Exit:
    def act(b: NativeBroker, client: Any, name: str, added: Added) -> None:
        assert put(b, once("other", terms=Terms(unique_key="k", name="n"), **entrance)).replaced == added.id

    return act


def _lost(b: NativeBroker, client: Any, name: str, added: Added) -> None:
    client.hdel(f"{name}:jobs", added.id)
    client.zrem(f"{name}:next", b'{"id":"%s"}' % added.id.encode())
    assert b.groups.lost(G) == [added.id]
    assert members(client, name) == [f"w {added.id}"]
    b.beating()()
    b.maintain()


def _corrupt(b: NativeBroker, client: Any, name: str, added: Added) -> None:
    client.hset(f"{name}:jobs", added.id, b"{")
    client.zadd(f"{name}:next", {b'{"id":"%s"}' % added.id.encode(): 1})
    ends(b, Done())
    b.beating()()
    b.maintain()


WAYS: Mapping[str, tuple[Exit, str]] = {
    "cancelled": (lambda b, client, name, added: b.admin.cancel(b.inspector.job(added.id)), "C"),
    "by its unique key": (_replaced(replace=True), "R"),
    "by its name": (_replaced(), "R"),
    "lost": (_lost, "L"),
    "corrupt": (_corrupt, "L"),  # nobody can read of which batch it is
}


@pytest.mark.parametrize("way", WAYS)
def test_a_waiting_member_that_leaves_settles(server: Server, client: Any, name: str, way: str) -> None:
    b, _ = listening(server, name)
    act, letter = WAYS[way]
    (added,) = batch(b, member(1, terms=Terms(unique_key="k", name="n"), due_ms=FAR_MS))
    then = then_of(b)
    assert then not in due(client, name)
    act(b, client, name, added)
    assert members(client, name) == [f"{letter} {added.id}"]
    assert then in due(client, name)
    assert state(client, name) == "d"


def test_a_debounced_member_that_is_put_off_settles(server: Server, client: Any, name: str) -> None:
    b, _ = listening(server, name)
    (added,) = batch(b, member(1, terms=Terms(unique_key="k"), due_ms=FAR_MS))
    put(b, once("later", terms=Terms(unique_key="k"), debounce_ms=60_000, debounce_most_ms=90_000))
    assert members(client, name) == [f"R {added.id}"]
    assert then_of(b) in due(client, name)


def test_a_dead_member_that_runs_again_does_not_run_then_twice(server: Server, client: Any, name: str) -> None:
    b, _ = listening(server, name)
    batch(b, member(1), succeeds=True)
    ends(b, DEAD)
    ends(b, Done())  # then
    assert b.groups.group(BATCH).endings == {"dead": 1}
    assert waiting(client, name) == [f"success:{G}"]
    assert b.admin.retry(dead(b)) == ["revived"]
    assert b.groups.group(BATCH).endings == {"waiting": 1}
    ends(b, Done())
    assert due(client, name) == [b.groups.group(BATCH).on_success]
    ends(b, Done())
    assert due(client, name) == waiting(client, name) == []
    assert b.groups.group(BATCH).endings == {"done": 1}


def test_a_dead_member_that_runs_again_in_time_is_waited_for(server: Server, client: Any, name: str) -> None:
    b, _ = listening(server, name)
    batch(b, member(1), member(2))
    ends(b, DEAD)
    assert b.admin.retry(dead(b), args=[7], whole=True) == ["revived"]
    assert [text[0] for text in members(client, name)] == ["w", "w"]
    assert b.groups.group(BATCH).total == 2
    ends(b, Done())
    assert then_of(b) not in due(client, name)
    ends(b, Done())
    assert due(client, name) == [then_of(b)]


def test_a_dead_member_that_is_forgotten_stays_dead_in_its_batch(server: Server, client: Any, name: str) -> None:
    b, _ = listening(server, name)
    batch(b, member(1), succeeds=True)
    ends(b, DEAD)
    b.admin.discard(dead(b))
    assert b.groups.group(BATCH).endings == {"dead": 1}
    assert waiting(client, name) == [f"success:{G}"]


def test_a_cancellation_that_is_undone_is_waited_for(server: Server, client: Any, name: str) -> None:
    b, _ = listening(server, name)
    first, second = batch(b, member(1, due_ms=FAR_MS), member(2, due_ms=FAR_MS))
    undos: list[Undo] = []
    b.admin.by(None, undos=undos).cancel(b.inspector.job(first.id))
    assert sorted(members(client, name)) == sorted([f"C {first.id}", f"w {second.id}"])
    b.admin.steer(undos[0])
    assert members(client, name) == sorted([f"w {first.id}", f"w {second.id}"])


def test_a_member_that_gets_another_time_stays_in_its_batch(server: Server, client: Any, name: str) -> None:
    b, _ = listening(server, name)
    (added,) = batch(b, member(1, due_ms=FAR_MS))
    (moved,) = b.admin.reschedule([b.inspector.job(added.id)], At(trigger=None, due_ms=FAR_MS + 60_000))
    assert members(client, name) == [f"w {moved.id}"]
    assert due(client, name) == [moved.id]
    ends(b, Done(), now_ms=FAR_MS + 60_001)
    assert due(client, name) == [then_of(b)]


@pytest.mark.parametrize("is_member", [True, False])
@pytest.mark.parametrize("outcome", [Done(), DEAD])
def test_what_waits_for_a_job_runs_when_it_has_ended(
    server: Server, client: Any, name: str, outcome: Any, is_member: bool
) -> None:
    b, _ = listening(server, name)
    if is_member:
        (first,) = batch(b, member(1))
    else:
        first = put(b, once(1, terms=Terms(), due_ms=1))
    waits = after(b, "job", first.id)
    assert f"after:{waits.id[:16]}" in waiting(client, name)
    ends(b, outcome)
    assert waits.id in due(client, name)
    ends(b, Done(), 2 if is_member else 1)
    assert b.groups.groups().groups == ([b.groups.group(BATCH)] if is_member else [])
    assert client.exists(f"{name}:feeds") == 0


def test_a_job_is_cancelled_if_what_it_waits_for_has_failed(server: Server, client: Any, name: str) -> None:
    b, _ = listening(server, name)
    first = put(b, once(1, terms=Terms(), due_ms=1))
    waits = after(b, "job", first.id, on_death="cancel")
    ends(b, DEAD)
    (claim,) = b.claim(1).claims
    assert (claim.id, claim.trouble) == (waits.id, "cancelled")
    b.claim(0, ends=[(claim, Done())])
    assert client.hget(f"{name}:ends", waits.id).startswith(b"cancelled ")
    assert client.exists(f"{name}:cancelled") == 0


def test_an_occurrence_lets_go_what_waits_for_it(server: Server, client: Any, name: str) -> None:
    b, _ = listening(server, name)
    nightly = put(b, daily(1, terms=named("nightly")))
    waits = after(b, "name", "nightly")
    ends(b, Done(), now_ms=FAR_MS + 1)
    assert waits.id in due(client, name)
    assert nightly.id in due(client, name)


def test_an_occurrence_that_is_left_out_is_missed(server: Server, client: Any, name: str) -> None:
    b, _ = listening(server, name)
    put(b, daily(1, terms=named("nightly")))
    waits = after(b, "name", "nightly")
    b.admin.reschedule([b.inspector.job("nightly")], NextRun())
    assert [text[0] for text in members(client, name, waits.id[:16])] == ["M"]
    assert waits.id in due(client, name)


def test_a_skip_that_is_undone_is_waited_for(server: Server, client: Any, name: str) -> None:
    b, _ = listening(server, name)
    nightly, other = put(b, daily(1, terms=named("nightly"))), put(b, once(9, terms=Terms()))
    both = (Before("name", "nightly"), Before("job", other.id))
    waits = put(
        b, changed(once("after", terms=Terms(after="0" * 16), due_ms=None), after=After(before=both, on_death="run"))
    )
    undos: list[Undo] = []
    skipped, stands = ([f"{letter} {nightly.id}@{FAR_MS}", f"w {other.id}"] for letter in "Mw")
    b.admin.by(None, undos=undos).reschedule([b.inspector.job("nightly")], NextRun())
    assert members(client, name, waits.id[:16]) == sorted(skipped)
    b.admin.steer(undos[0])
    assert members(client, name, waits.id[:16]) == sorted(stands)


def test_a_recurring_job_that_gets_another_time_is_waited_for(server: Server, client: Any, name: str) -> None:
    b, _ = listening(server, name)
    put(b, daily(1, terms=named("nightly")))
    waits = after(b, "name", "nightly")
    other = put(b, replace(daily(2, terms=named("nightly")), due_ms=FAR_MS + 5000))
    assert members(client, name, waits.id[:16]) == [f"w {other.id}@{FAR_MS + 5000}"]
    b.admin.cancel(b.inspector.job("nightly"))
    assert members(client, name, waits.id[:16]) == [f"C {other.id}@{FAR_MS + 5000}"]
    assert due(client, name) == [waits.id]


def test_a_first_death_cancels_the_rest(server: Server, client: Any, name: str) -> None:
    b, _ = listening(server, name)
    batch(
        b,
        member(1),
        *(member(n, due_ms=FAR_MS) for n in range(2, 5)),
        member(5, terms=Terms(name="n"), due_ms=FAR_MS),
        on_death="cancel",
    )
    then = then_of(b)
    assert ends(b, DEAD).batches == []  # it ends those without a name in the same turn, and lets the other one come
    assert state(client, name) == "c"
    assert b.groups.group(BATCH).endings == {"dead": 1, "cancelled": 3, "waiting": 1}
    (claim,) = b.claim(9).claims
    assert claim.trouble == "cancelled"
    turn = b.claim(0, ends=[(claim, Done())])
    assert turn.batches == [(BATCH, "cancelled")]
    (claim,) = b.claim(9).claims
    assert (claim.id, claim.trouble) == (then, "cancelled")
    b.claim(0, ends=[(claim, Done())])
    group = b.groups.group(BATCH)
    assert (group.state, group.is_settled, group.endings) == ("cancelled", True, {"dead": 1, "cancelled": 4})
    assert client.exists(f"{name}:cancelled", f"{name}:waiting", f"{name}:next") == 0


@pytest.mark.parametrize("closes", [True, False])
def test_a_batch_is_cancelled_without_a_listener(server: Server, client: Any, name: str, closes: bool) -> None:
    b, _ = broker(server, name)
    jobs = [member(n, due_ms=FAR_MS) for n in range(1200)]
    for n in range(0, 1200, 600):
        makes = None if n else NewGroup(then=follower("then"))
        b.adding(jobs[n : n + 600], step=step(n, n + 600, makes=makes, closes=closes and n > 0))()
    group = b.groups.cancel(BATCH)
    assert (group.state, group.is_settled, group.endings) == ("cancelled", True, {"cancelled": 1200})
    assert due(client, name) == [group.then]


def test_a_claimed_member_of_a_cancelled_batch_hears_of_it(server: Server, client: Any, name: str) -> None:
    b, _ = listening(server, name)
    batch(b, member(1), member(2))
    (claim,) = b.claim(1).claims
    b.groups.cancel(BATCH)
    assert f"batch:{BATCH}" in b.beating()().cancelled
    assert b.groups.group(BATCH).endings == {"waiting": 1, "cancelled": 1}
    b.claim(0, ends=[(claim, Done(discarded="cancelled while it ran"))])
    assert state(client, name) == "x"


def test_a_batch_whose_producer_died_while_it_let_go_is_released(server: Server, client: Any, name: str) -> None:
    b, _ = listening(server, name)
    jobs = [member(n) for n in range(2500)]
    for n in range(0, 2500, 500):
        b.adding(jobs[n : n + 500], step=step(n, n + 500, makes=None if n else NewGroup(), closes=n == 2000))()
    assert len(due(client, name)) < 2500
    b.beating()()
    b.maintain()
    assert len(due(client, name)) == 2500


def test_what_follows_runs_again_after_dead_members(server: Server, client: Any, name: str) -> None:
    b, _ = listening(server, name)
    batch(b, member(1))
    first = then_of(b)
    ends(b, DEAD)
    ends(b, Done())
    b.admin.retry(dead(b))
    group = b.groups.follow(BATCH)
    assert (group.state, group.is_settled, group.then != first) == ("running", False, True)
    ends(b, Done())
    assert due(client, name) == [group.then]
    assert b.inspector.job(group.then or "").args == ("then",)


def test_members_are_read_by_page(server: Server, client: Any, name: str) -> None:
    b, _ = listening(server, name)
    added = batch(b, *(member(n) for n in range(5)))
    group, found, place = b.groups.group(BATCH), [], ""
    while True:
        page = b.groups.members(group, ending="waiting", after=place, limit=2)
        found += [one.name for one in page.members]
        if not (place := page.next):
            break
    assert found == sorted(one.id for one in added)


def test_old_endings_and_groups_are_forgotten(server: Server, client: Any, name: str) -> None:
    b, _ = listening(server, name)
    batch(b, member(1), succeeds=True)
    ends(b, DEAD)
    ends(b, Done())
    client.hset(f"{name}:ends", "a" * 40, "dead 1")
    value = client.hget(f"{name}:groups", G)
    settled_ms = b.groups.group(BATCH).settled_ms or 0
    old = value.replace(settled_ms.to_bytes(8, "big"), (settled_ms - 8 * 86_400_000).to_bytes(8, "big"))
    assert old != value
    client.hset(f"{name}:groups", G, old)
    b.beating()()
    b.maintain()
    assert client.exists(f"{name}:groups", f"{name}:members", f"{name}:waiting") == 0
    assert "a" * 40 not in {key.decode() for key in client.hkeys(f"{name}:ends")}


@pytest.mark.parametrize("key", ["groups", "rows", "members", "feeds", "ends"])
def test_a_key_of_another_type_stops_no_job(server: Server, client: Any, name: str, key: str) -> None:
    b, _ = listening(server, name)
    client.set(f"{name}:{key}", "hostile")
    put(b, once(1, terms=Terms(), due_ms=1))
    put(b, once(2, terms=named("n"), due_ms=1))
    ends(b, Done())
    ends(b, DEAD)
    b.beating()()
    b.maintain()
    assert due(client, name) == []


def test_what_belongs_to_no_group_leaves(server: Server, client: Any, name: str) -> None:
    b, _ = listening(server, name)
    (added,) = batch(b, member(1))
    waits = after(b, "job", added.id)
    stays = members(client, name, waits.id[:16])
    client.zadd(f"{name}:members", {bytes(8) + b"w" + bytes(20): 0, b"x": -1})
    client.zadd(f"{name}:feeds", {"a" * 40 + "\0" + "b" * 16: "-inf", b"x": 7})

    def are_gone() -> bool:
        b.beating()()
        b.maintain()
        return bool(client.zcard(f"{name}:members") == 2 and client.zcard(f"{name}:feeds") == 1)

    assert until(are_gone)
    assert members(client, name, waits.id[:16]) == stays
    ends(b, Done())
    assert waits.id in due(client, name)


def test_another_score_does_not_hide_a_member(server: Server, client: Any, name: str) -> None:
    b, _ = listening(server, name)
    batch(b, *(member(n) for n in range(3)))
    for text in client.zrange(f"{name}:members", 0, -1):
        client.zadd(f"{name}:members", {text: -5 if text[-1] % 2 else 5})
    b.beating()()
    assert {score for _, score in client.zrange(f"{name}:members", 0, -1, withscores=True)} == {0.0}
