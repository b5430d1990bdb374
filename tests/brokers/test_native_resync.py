"""A server that has forgotten steps of a listener, as a replica has that took over too early: what the listener holds,
and what the server says it holds, come together again.
"""

from __future__ import annotations

from collections.abc import Callable

import pytest

from tests.brokers.test_native_session import add, claim_one, listening, standing
from tests.servers import Server
from workkit import schedule
from workkit.errors import ServerUnreachable
from workkit.jobs.outcome import Done, Released


def remembered(server: Server, name: str) -> Callable[[], None]:
    """Remember the server as it is now; returns the way back to it."""
    client = server.client()
    kept = {key: client.dump(key) for key in client.scan_iter(f"{name}:*")}

    def go_back() -> None:
        for key in client.scan_iter(f"{name}:*"):
            client.delete(key)
        for key, value in kept.items():
            client.restore(key, 0, value)

    return go_back


def test_a_forgotten_claim_is_somebody_elses_and_the_rest_goes_on(server: Server, name: str) -> None:
    add(server, name, 3)
    b, _ = listening(server, name)
    first = claim_one(b)
    b.claim(0)
    go_back = remembered(server, name)
    second = claim_one(b)
    b.claim(0, ends=[(second, Released(delay_ms=60_000))])
    third = claim_one(b)
    go_back()

    turn = b.claim(0, ends=[(first, Done()), (third, Done())])
    assert [c.job.id for c in turn.fenced] == [third.job.id]
    assert turn.refused == []
    again = b.claim(5).claims
    assert {c.job.id for c in again} == {second.job.id, third.job.id}
    assert b.claim(0, ends=[(c, Done()) for c in again]).refused == []
    assert standing(server, name) == set()


def test_a_forgotten_ending_is_run_again(server: Server, name: str) -> None:
    add(server, name, 2)
    b, _ = listening(server, name)
    one, other = b.claim(2).claims
    go_back = remembered(server, name)
    b.claim(0, ends=[(one, Done())])
    b.claim(1)
    go_back()

    assert b.claim(0, ends=[(other, Done())]).fenced == []
    (again,) = b.claim(5).claims
    assert (again.job.id, again.crashes) == (one.job.id, 0)
    assert b.claim(0, ends=[(again, Done())]).refused == []
    assert standing(server, name) == set()


def test_a_run_whose_admission_was_forgotten_is_given_up(server: Server, name: str) -> None:
    s = schedule.create(name, redis=server.url)
    job = schedule.add(s, every="second", fn="app:note")
    b, _ = listening(server, name)
    now = b.now_ms() + 5_000
    (claim,) = b.claim(1, now_ms=now).claims
    go_back = remembered(server, name)
    (armed,) = b.admit([(claim, None)], now_ms=now).claims
    b.claim(0, ends=[])
    b.claim(1, now_ms=0)
    go_back()

    assert [c.job.id for c in b.claim(1, now_ms=0, ends=[(armed, Done())]).fenced] == [job.id]
    (again,) = b.claim(1, now_ms=now + 10_000).claims
    assert (again.due_ms, again.armed, again.crashes) == (claim.due_ms, False, 0)


def test_an_admission_is_asked_anew_for_what_is_left(server: Server, name: str) -> None:
    s = schedule.create(name, redis=server.url)
    for n in range(2):
        schedule.add(s, every="second", fn="app:note", args=[n])
    b, _ = listening(server, name)
    now = b.now_ms() + 5_000
    one, two = b.claim(2, now_ms=now).claims
    b.claim(0)
    go_back = remembered(server, name)
    b.claim(1, now_ms=0)
    b.claim(1, now_ms=0)
    go_back()

    turn = b.admit([(one, None), (two, None)], now_ms=now)
    assert {c.job.id for c in turn.claims} == {one.job.id, two.job.id}
    assert server.client().zcard(f"{name}:next") == 2


def test_a_resync_whose_reply_was_lost_is_asked_again(server: Server, name: str) -> None:
    add(server, name, 2)
    b, losing = listening(server, name)
    first = claim_one(b)
    go_back = remembered(server, name)
    second = claim_one(b)
    b.claim(1)
    go_back()

    ask = losing._inner.ask
    verbs: list[str] = []

    def noting(calls: list[tuple[object, ...]]) -> object:
        verbs.extend(script.name for script, _, _ in calls)  # type: ignore[attr-defined]
        losing.lose = 1 if verbs == ["settle", "resync"] else 0
        return ask(calls)

    losing._inner.ask = noting
    with pytest.raises(ServerUnreachable):
        b.claim(0, ends=[(first, Done())])
    turn = b.claim(0)
    assert [c.job.id for c in turn.fenced] == [second.job.id]
    assert verbs == ["settle", "resync", "resync", "settle"]
    (again,) = b.claim(2).claims
    assert again.job.id == second.job.id


def test_a_registration_that_was_forgotten_altogether_is_made_anew(server: Server, name: str) -> None:
    add(server, name)
    go_back = remembered(server, name)
    b, _ = listening(server, name)
    claim = claim_one(b)
    go_back()
    assert [c.job.id for c in b.claim(0, ends=[(claim, Done())]).fenced] == [claim.job.id]
    assert claim_one(b).job.id == claim.job.id
