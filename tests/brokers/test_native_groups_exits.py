"""Groups on real servers (spec/groups.md): ways in which a job ends without a run of its own, or comes back, each for a
job that runs after it.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any
from unittest.mock import patch

import pytest

from tests.brokers.additions import FAR_MS, changed, daily, listening, named, once, put
from tests.brokers.test_native_groups import DEAD, after, batch, dead, ends
from tests.brokers.test_native_groups_add import BATCH, G, due, follower, member, members, state, step, waiting
from tests.servers import Server
from workkit.brokers.native.broker import NativeBroker
from workkit.contract.admin import Undo
from workkit.contract.producer import Added, After, Before, CodePlan, NewGroup, NewJob, PlanMark
from workkit.jobs.admission import Admission
from workkit.jobs.job import Job
from workkit.jobs.outcome import Done
from workkit.jobs.terms import Terms
from workkit.triggers import cron

pytestmark = pytest.mark.usefixtures("closed_brokers")
DAY_MS = 86_400_000
NAMED, KEYED = named("first"), Terms(unique_key="k")


@pytest.fixture
def client(server: Server) -> Any:
    return server.client()


def waiter(b: NativeBroker, *before: Before, on_death: Any) -> Added:
    new = once("waits", on_death, terms=Terms(after="0" * 16), due_ms=None)
    return put(b, changed(new, after=After(before=before, on_death=on_death)))


def planned(b: NativeBroker, new: NewJob, digest: str = "1") -> NewJob:
    """Have a plan in force, and make this job one of its jobs."""
    (verdict,) = b.plans.decide([CodePlan(source="app", digest=digest)], mode="newer")
    return changed(new, plan=PlanMark(source="app", generation=verdict.generation, ends=False))


def withdrawn(b: NativeBroker, client: Any, added: Added) -> None:
    (verdict,) = b.plans.decide([CodePlan(source="app", digest="1")], mode="newer")
    assert b.plans.withdraw(["first"], source="app", generation=verdict.generation)


def over(new: NewJob) -> Callable[[NativeBroker, Any, Added], None]:
    """Add a job that replaces the first one."""

    def act(b: NativeBroker, client: Any, added: Added) -> None:
        assert put(b, new).replaced == added.id

    return act


def over_one_that_waits_for_its_slot(b: NativeBroker, client: Any, added: Added) -> None:
    """Two jobs of one key were claimed: the second waits until the first has ended, and gives way to a third."""
    (claim,) = b.claim(1, now_ms=FAR_MS + 1).claims
    other = b.admit([(claim, Admission(keys=(("unique:k", 0),)))])
    assert (other.claims, claim.id) == ([], added.id), "it is parked"
    over(once("other", terms=KEYED, replace=True))(b, client, added)


def missed_as_too_late(b: NativeBroker, client: Any, added: Added) -> None:
    (claim,) = b.claim(1, now_ms=FAR_MS + DAY_MS // 2).claims
    turn = b.admit([(claim, None)], now_ms=FAR_MS + DAY_MS // 2)
    assert [reason for _, reason in turn.missed] == ["late"]


def missed_as_another_run_goes_on(b: NativeBroker, client: Any, added: Added) -> None:
    (claim,) = b.claim(1, now_ms=FAR_MS + 1).claims
    turn = b.admit([(claim, Admission(keys=(("over:first", 0),), overlap="skip"))], now_ms=FAR_MS + 1)
    assert [reason for _, reason in turn.missed] == ["overlap"]


def buried(b: NativeBroker, client: Any, added: Added) -> None:
    client.hset(b._keys.jobs, added.id, b"{")
    for finding in b.doctor.checkup(patience_ms=DAY_MS):
        assert not finding.repairs or b.doctor.repair(finding)
    assert client.hlen(b._keys.graves) == 1


def expired(b: NativeBroker, client: Any, added: Added) -> None:
    ends(b, Done(expired=True), now_ms=FAR_MS + 1)


def discarded(b: NativeBroker, client: Any, added: Added) -> None:
    ends(b, Done(discarded="no use"), now_ms=FAR_MS + 1)


WAYS: Mapping[str, tuple[NewJob, Callable[[NativeBroker, Any, Added], None], str]] = {
    "withdrawn by its plan": (once(1, terms=NAMED), withdrawn, "V"),
    "withdrawn by its plan, and recurs": (daily(1, terms=NAMED), withdrawn, "V"),
    "replaced under its name": (once(1, terms=NAMED), over(once(2, terms=NAMED)), "R"),
    "replaced under its name by one that recurs": (once(1, terms=NAMED), over(daily(2, terms=NAMED)), "R"),
    "recurs, and replaced by one that does not": (daily(1, terms=NAMED), over(once(2, terms=NAMED)), "R"),
    "replaced under its key": (once(1, terms=KEYED), over(once(2, terms=KEYED, replace=True)), "R"),
    "put off": (once(1, terms=KEYED), over(once(2, terms=KEYED, debounce_ms=60_000, debounce_most_ms=90_000)), "R"),
    "replaced while it waits for its slot": (once(1, terms=KEYED), over_one_that_waits_for_its_slot, "R"),
    "missed, as it is too late": (daily(1, terms=named("first", catch_up="skip")), missed_as_too_late, "M"),
    "missed, and was the last one": (
        changed(daily(1, terms=named("first", catch_up="skip")), trigger=cron("2096 10 2 * 8 * 0")),
        missed_as_too_late, "M",
    ),
    "missed, because another run has not ended": (
        daily(1, terms=named("first", overlap="skip")), missed_as_another_run_goes_on, "M"
    ),
    "buried by a repair": (once(1, terms=Terms()), buried, "D"),
    "expired": (once(1, terms=Terms()), expired, "E"),
    "discarded": (once(1, terms=Terms()), discarded, "X"),
}  # fmt: skip


@pytest.mark.parametrize("way", WAYS)
def test_what_runs_after_a_job_is_let_go_as_it_leaves(server: Server, client: Any, name: str, way: str) -> None:
    b, _ = listening(server, name)
    new, act, letter = WAYS[way]
    new = replace(new)
    first = put(b, planned(b, new) if act is withdrawn else new)
    before = Before("name", "first") if new.terms.name else Before("job", first.id)
    runs, given_up = (waiter(b, before, on_death=on_death) for on_death in ("run", "cancel"))
    is_of = f"{first.id}@{FAR_MS}" if new.trigger is not None and new.trigger.recurs else first.id
    assert members(client, name, runs.id[:16]) == [f"w {is_of}"]
    act(b, client, first)
    assert members(client, name, runs.id[:16]) == [f"{letter} {is_of}"]
    assert {runs.id, given_up.id} <= {*due(client, name)}
    assert (state(client, name, runs.id[:16]), waiting(client, name)) == ("d", [])
    marked = client.zscore(f"{name}:cancelled", given_up.id) is not None
    assert marked == (letter != "X"), "one that is discarded has not failed"


@pytest.mark.parametrize(
    "act", [withdrawn, over(once(2, terms=NAMED)), over(daily(2, terms=NAMED))], ids=["withdrawn", "once", "daily"]
)
def test_a_run_that_goes_on_without_its_job_is_waited_for(server: Server, client: Any, name: str, act: Any) -> None:
    b, _ = listening(server, name)
    put(b, planned(b, daily(1, terms=NAMED)))
    waits = after(b, "name", "first")
    stood = members(client, name, waits.id[:16])
    claims = b.admit([(claim, None) for claim in b.claim(1, now_ms=FAR_MS + 1).claims], now_ms=FAR_MS + 1).claims
    act(b, client, claims[0])
    b.beating()()
    b.maintain()
    assert members(client, name, waits.id[:16]) == stood
    assert waits.id not in due(client, name)
    b.claim(0, ends=[(claim, Done()) for claim in claims])
    assert waits.id in due(client, name)


@pytest.mark.parametrize("by", ["age", "number"])
def test_a_dead_member_that_is_trimmed_stays_dead(server: Server, client: Any, name: str, by: str) -> None:
    b, _ = listening(server, name)
    (first,) = batch(b, member(1), succeeds=True)
    waits = after(b, "job", first.id)
    ends(b, DEAD)
    ends(b, DEAD, 2)  # `then`, and the job that waited
    assert len(dead(b)) == 3
    if by == "age":
        client.zadd(f"{name}:dead", {one.dead_id or "": 1 for one in dead(b)})
    with patch("workkit.brokers.native.session.DEAD_KEPT", 0 if by == "number" else 10_000):
        b.beating()()
    b.maintain()
    assert dead(b) == []
    assert members(client, name) == [f"D {first.id}"]
    assert (b.groups.group(BATCH).endings, waiting(client, name)) == ({"dead": 1}, [f"success:{G}"])
    assert members(client, name, waits.id[:16]) == [], "its group went with it"
    late = after(b, "job", first.id)
    assert members(client, name, late.id[:16]) == [f"D {first.id}"]
    assert due(client, name) == [late.id]


def cancelled(b: NativeBroker, job: Job) -> Undo:
    undos: list[Undo] = []
    b.admin.by(None, undos=undos).cancel(job)
    (undo,) = undos
    return undo


@pytest.mark.parametrize("recurs", [False, True])
def test_what_waits_for_a_job_waits_again_as_its_cancellation_is_undone(
    server: Server, client: Any, name: str, recurs: bool
) -> None:
    b, _ = listening(server, name)
    first = put(b, (daily if recurs else once)(1, terms=NAMED))
    other = put(b, once(9, terms=Terms()))
    waits = waiter(b, Before("name", "first"), Before("job", other.id), on_death="run")
    is_of = f"{first.id}@{FAR_MS}" if recurs else first.id
    undo = cancelled(b, b.inspector.job("first"))
    assert members(client, name, waits.id[:16]) == sorted([f"C {is_of}", f"w {other.id}"])
    b.admin.steer(undo)
    assert members(client, name, waits.id[:16]) == sorted([f"w {is_of}", f"w {other.id}"])
    ends(b, Done(), now_ms=FAR_MS + 1)
    assert waits.id not in due(client, name)
    ends(b, Done(), now_ms=FAR_MS + 1)
    assert waits.id in due(client, name)


def test_a_cancellation_that_is_undone_after_its_batch_has_settled(server: Server, client: Any, name: str) -> None:
    b, _ = listening(server, name)
    (first,) = batch(b, member(1, due_ms=FAR_MS))
    undo = cancelled(b, b.inspector.job(first.id))
    ends(b, Done())  # then
    b.admin.steer(undo)
    assert (members(client, name), state(client, name)) == ([f"w {first.id}"], "d")
    assert due(client, name) == [first.id]
    ends(b, Done(), now_ms=FAR_MS + 1)
    assert (members(client, name), due(client, name), waiting(client, name)) == ([], [], [])
    assert b.groups.group(BATCH).endings == {"done": 1}


def test_a_job_that_waits_does_so_again_as_its_cancellation_is_undone(server: Server, client: Any, name: str) -> None:
    b, _ = listening(server, name)
    first = put(b, once(1, terms=Terms(), due_ms=1))
    waits = after(b, "job", first.id)
    undo = cancelled(b, b.inspector.job(waits.id))
    assert waiting(client, name) == []
    b.beating()()
    b.maintain()
    b.admin.steer(undo)
    assert members(client, name, waits.id[:16]) == [f"w {first.id}"]
    assert waiting(client, name) == [f"after:{waits.id[:16]}"]
    ends(b, Done())
    assert (due(client, name), waiting(client, name)) == ([waits.id], [])


@pytest.mark.parametrize(
    ("outcome", "on_death", "runs"), [(Done(), "cancel", True), (DEAD, "run", True), (DEAD, "cancel", False)]
)
def test_a_job_that_comes_back_after_its_group_has_settled_does_not_wait(
    server: Server, client: Any, name: str, outcome: Any, on_death: Any, runs: bool
) -> None:
    b, _ = listening(server, name)
    first = put(b, once(1, terms=Terms(), due_ms=1))
    waits = after(b, "job", first.id, on_death=on_death)
    undo = cancelled(b, b.inspector.job(waits.id))
    ends(b, outcome)
    b.admin.steer(undo)
    assert (due(client, name), waiting(client, name)) == ([waits.id], [])
    (claim,) = b.claim(1).claims
    assert (claim.id, claim.trouble) == (waits.id, None if runs else "cancelled")


@pytest.mark.parametrize("of", ["member", "batch", "then"])
def test_what_runs_after_a_part_of_a_batch_is_let_go_as_the_batch_is_cancelled(
    server: Server, client: Any, name: str, of: str
) -> None:
    b, _ = listening(server, name)
    makes = NewGroup(then=follower("then") if of == "then" else None)
    (first,) = b.adding([member(1, due_ms=FAR_MS)], step=step(0, 1, makes=makes, closes=True))()
    before = Before("job", first.id) if of == "member" else Before("batch", BATCH)
    runs, given_up = (waiter(b, before, on_death=on_death) for on_death in ("run", "cancel"))
    is_of = {"member": first.id, "batch": f"={G}", "then": b.groups.group(BATCH).then}[of]
    assert members(client, name, runs.id[:16]) == [f"w {is_of}"]
    b.groups.cancel(BATCH)
    if of == "then":  # a listener ends it
        (claim,) = b.claim(9).claims
        assert (claim.id, claim.trouble) == (is_of, "cancelled")
        b.claim(0, ends=[(claim, Done())])
    assert members(client, name, runs.id[:16]) == [f"C {is_of}"]
    troubles = {claim.id: claim.trouble for claim in b.claim(9).claims}
    assert troubles == {runs.id: None, given_up.id: "cancelled"}


def test_a_dead_run_of_a_recurring_job_that_runs_again_is_waited_for(server: Server, client: Any, name: str) -> None:
    b, _ = listening(server, name)
    first, other = put(b, daily(1, terms=NAMED)), put(b, once(9, terms=Terms()))
    waits = waiter(b, Before("name", "first"), Before("job", other.id), on_death="run")
    of_first, of_other = f"{first.id}@{FAR_MS}", other.id
    (claim,) = (one for one in b.claim(2, now_ms=FAR_MS + 1).claims if one.id == first.id)
    (claim,) = b.admit([(claim, None)], now_ms=FAR_MS + 1).claims
    b.claim(0, ends=[(claim, DEAD)])
    assert members(client, name, waits.id[:16]) == sorted([f"D {of_first}", f"w {of_other}"])
    assert b.admin.retry(dead(b)) == ["revived"]
    assert members(client, name, waits.id[:16]) == sorted([f"w {of_first}", f"w {of_other}"])
    (claim,) = (one for one in b.claim(9).claims if one.id == first.id)
    b.claim(0, ends=[(claim, Done())])
    assert members(client, name, waits.id[:16]) == sorted([f"k {of_first}", f"w {of_other}"])


def test_a_dead_job_that_runs_again_lets_nothing_run_a_second_time(server: Server, client: Any, name: str) -> None:
    b, _ = listening(server, name)
    first = put(b, once(1, terms=Terms(), due_ms=1))
    waits = after(b, "job", first.id)
    ends(b, DEAD)
    assert b.admin.retry(dead(b)) == ["revived"]
    assert members(client, name, waits.id[:16]) == [f"D {first.id}"]
    assert sorted(due(client, name)) == sorted([first.id, waits.id])
    ends(b, Done(), 2)
    assert (due(client, name), waiting(client, name)) == ([], [])
    assert client.exists(f"{name}:members", f"{name}:feeds", f"{name}:groups") == 0
