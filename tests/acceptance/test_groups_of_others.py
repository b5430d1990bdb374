"""How groups of jobs were lost, doubled or stuck elsewhere, one scene for each defect: none of them happens here."""

from __future__ import annotations

from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from threading import Barrier
from typing import Any, Literal

import pytest

from tests.brokers.test_native_session import INFO
from tests.processes import Processes, until
from tests.servers import Server
from workkit import call, schedule
from workkit.brokers.native.broker import NativeBroker
from workkit.brokers.redis_server.connecting import connect
from workkit.contract.listener import Claim
from workkit.jobs.outcome import Again, Dead, Done, Failure, Outcome

FN = "app:note"
FAILURE = Failure(type="OSError", message="disk full")
DEAD, AGAIN = Dead(failure=FAILURE), Again(delay_ms=0, attempt=1, failure=FAILURE)
APP = """
import os, signal
def die(): os.kill(os.getpid(), signal.SIGKILL)
def note(label): pass
def told():
    import redis
    from workkit import current_job
    batch = current_job().batch
    redis.Redis.from_url(os.environ["SEEN"]).rpush(os.environ["KEY"], f"{batch.total} {batch.done} {batch.dead}")
"""
LISTEN = """
import sys
from workkit import schedule
schedule.listen(schedule.create(sys.argv[1], redis=sys.argv[2]), threads=4, listener_timeout="5s", imports=["app"])
"""


class Two:
    """A schedule with two listeners, of which a test ends each run itself."""

    def __init__(self, server: Server, name: str) -> None:
        self.s, self.client = schedule.create(name, redis=server.url), server.client()
        self.listeners = [NativeBroker(connect(server.url), schedule=name, timeout_ms=60_000) for _ in range(2)]
        self.held: dict[str, tuple[NativeBroker, Claim]] = {}
        for listener in self.listeners:
            listener.register(INFO)

    def add(self, label: str, **how: Any) -> Any:
        return schedule.add_now(self.s, FN, args=[label], **how)

    def batch(self, *labels: str, then: str = "then", **how: Any) -> schedule.Batch:
        with schedule.batch(self.s, "batch", then=call(FN, then), **how) as batch:
            for label in labels:
                batch.add(FN, args=[label])
        return batch

    def started(self, place: int = 0, most: int = 50) -> set[str]:
        """What a listener gets now."""
        listener, found = self.listeners[place], set()
        for claim in listener.claim(most).claims:
            (label,) = claim.args
            assert label not in self.held, f"{label} runs twice at a time"
            self.held[label] = listener, claim
            found.add(label if claim.trouble is None else f"{label} {claim.trouble}")
        return found

    def ends(self, label: str, outcome: Outcome | None = None) -> bool:
        """A run ends; False if its listener had lost it."""
        listener, claim = self.held.pop(label)
        turn = listener.claim(0, ends=[(claim, outcome or Done())])
        return not (turn.refused or turn.fenced)

    def dies(self, place: int) -> None:
        """A listener is taken for dead: what it holds is given back. It does not know."""
        dead, other = self.listeners[place], self.listeners[1 - place]
        self.client.zadd(f"{self.s.name}:listeners", {dead.listener: 1})
        assert other._session.reap(dead.listener, 1) is not None

    def close(self) -> None:
        for listener in self.listeners:
            listener.close()


@pytest.fixture
def two(server: Server, name: str) -> Iterator[Two]:
    made = Two(server, name)
    yield made
    made.close()


# Sidekiq: a counter of jobs that are left.


def test_a_member_that_ends_twice_counts_once(two: Two) -> None:
    """sidekiq#5524, #4361, #3646, #4818: a job that was put back at a shutdown, and ended all the same, was counted
    down twice; the batch had -1 jobs left, and its callback never ran.
    """
    batch = two.batch("a", "b")
    (one,) = two.started(0, most=1)
    two.dies(0)
    lost = two.held.pop(one)
    assert two.started(1) == {"a", "b"}
    again = two.held[one]
    two.held[one] = lost
    assert not two.ends(one)
    assert (batch.waiting, batch.done) == (2, 0)
    two.held[one] = again
    assert two.ends(one)
    assert (batch.waiting, batch.done) == (1, 1)
    assert two.started(1) == set()
    assert two.ends(next(iter(two.held)))
    assert (batch.waiting, batch.done) == (0, 2)
    assert two.started(1) == {"then"}


def test_a_member_that_is_revived_after_the_end_does_not_count_again(two: Two) -> None:
    """sidekiq#4049: a job that was retried left the number of the others wrong."""
    batch = two.batch("a", "b")
    assert two.started() == {"a", "b"}
    two.ends("a", DEAD)
    assert schedule.retry(two.s, batch) == 1
    assert two.started() == {"a"}
    two.ends("b")
    assert (batch.waiting, batch.dead) == (1, 0)
    assert two.started() == set()
    two.ends("a", DEAD)
    assert two.started() == {"then"}
    two.ends("then")
    schedule.retry(two.s, batch)
    assert two.started() == {"a"}
    two.ends("a")
    assert (batch.waiting, batch.dead, batch.done) == (0, 0, 2)
    assert two.started() == set()


def test_a_member_that_adds_itself_anew_is_waited_for(two: Two) -> None:
    """sidekiq#1468, #2268, breamware/sidekiq-batch#90: jobs that add jobs to their own batch made it negative."""
    batch = two.batch("a 1")
    for n in range(1, 6):
        assert two.started() == {f"a {n}"}
        if n < 5:
            batch.add(FN, args=[f"a {n + 1}"])
        two.ends(f"a {n}")
        assert (batch.total, batch.waiting) == (min(n + 1, 5), int(n < 5))
    assert two.started() == {"then"}


# Celery: a task that asks again and again whether the others have ended.


@pytest.mark.parametrize("on_death", ["continue", "cancel"])
def test_a_dead_member_ends_the_batch_and_nothing_polls(two: Two, on_death: Literal["continue", "cancel"]) -> None:
    """celery#6029, #9674, #1544: after a failure in the header, `chord_unlock` was retried for ever."""
    batch = two.batch("a", "b", on_death=on_death)
    (one,) = two.started(most=1)
    two.ends(one, DEAD)
    (other,), cancels = {"a", "b"} - {one}, on_death == "cancel"
    if not cancels:
        assert two.started() == {other}
        two.ends(other)
    assert two.started() == {"then cancelled" if cancels else "then"}
    two.ends("then")
    assert batch.state().state == ("cancelled" if cancels else "done")
    assert (batch.dead, batch.waiting) == (1, 0)
    assert [two.client.zcard(f"{two.s.name}:{key}") for key in ("next", "again", "waiting")] == [0, 0, 0]


def test_a_fan_out_that_is_interrupted_is_not_waited_for_by_anybody(two: Two) -> None:
    """celery#1700: a chord whose creation was interrupted had `chord_unlock` ask for its result for ever."""
    with pytest.raises(TimeoutError), schedule.batch(two.s, "batch", then=call(FN, "then")) as batch:  # noqa: PT012
        for n in range(1001):
            batch.add(FN, args=[f"{n}"])
        raise TimeoutError
    assert batch.state().state == "open"
    assert two.started() == set()
    two.batch(*(f"{n}" for n in range(1002)))
    ran = 0
    while found := two.started(most=40) - {"then"}:
        ran += len(found)
        for label in found:
            two.ends(label)
    assert (ran, set(two.held)) == (1002, {"then"})


def test_a_member_that_is_tried_again_is_waited_for(two: Two) -> None:
    """celery#1401: a chord whose header had a retry never ran its body."""
    two.batch("a", "b")
    assert two.started() == {"a", "b"}
    two.ends("a", AGAIN)
    two.ends("b")
    assert two.started() == {"a"}
    two.ends("a")
    assert two.started() == {"then"}


# RQ: dependants that are looked up in one step and started in another.


@pytest.mark.parametrize("moment", ["before", "while it runs", "after"])
def test_a_job_is_added_after_another_at_any_moment(two: Two, moment: str) -> None:
    """rq#739, #387, #1692: one that was added while its predecessor ended was never started."""
    a = two.add("a")
    if moment != "before":
        assert two.started() == {"a"}
    if moment == "after":
        two.ends("a")
    two.add("b", after=a)
    if moment != "after":
        assert two.started() == ({"a"} if moment == "before" else set())
        two.ends("a")
    assert two.started() == {"b"}


def test_two_that_end_at_once_start_what_follows_once(two: Two) -> None:
    """rq#260: two predecessors that ended at the same time started the dependant twice, or not at all."""
    with ThreadPoolExecutor(3) as pool:
        for n in range(60):
            a, b = two.add(f"a{n}"), two.add(f"b{n}")
            assert two.started(0, most=1) | two.started(1) == {f"a{n}", f"b{n}"}
            gate = Barrier(3)

            def end(label: str, gate: Barrier = gate) -> bool:
                gate.wait(10)
                return two.ends(label)

            def add(n: int = n, after: list[Any] = [a, b], gate: Barrier = gate) -> Any:  # noqa: B006
                gate.wait(10)
                return two.add(f"c{n}", after=after)

            all_at_once = [pool.submit(add), pool.submit(end, f"a{n}"), pool.submit(end, f"b{n}")]
            assert all(future.result(10) for future in all_at_once)
            assert two.started() == {f"c{n}"}
            two.ends(f"c{n}")
            assert two.started(0) | two.started(1) == set()


# BullMQ: a parent that waits for its children.


@pytest.mark.parametrize("on_death", ["run", "cancel"])
def test_a_job_does_not_wait_for_one_that_has_failed(two: Two, on_death: Literal["run", "cancel"]) -> None:
    """bullmq#800, #1333, #3362: a parent waited for ever for a child that had failed."""
    parent = two.add("parent", after=[two.add("child 1"), two.add("child 2")], on_death=on_death)
    assert two.started() == {"child 1", "child 2"}
    two.ends("child 1", DEAD)
    two.ends("child 2", DEAD)
    assert two.started() == {"parent" if on_death == "run" else "parent cancelled"}
    two.ends("parent")
    assert not two.client.hexists(f"{two.s.name}:jobs", parent.id)


def test_children_that_a_running_job_adds_may_fail(two: Two) -> None:
    """bullmq#3122: a parent that had added children while it ran never ran again if they failed."""
    batch = two.batch("parent")
    assert two.started() == {"parent"}
    for n in range(2):
        batch.add(FN, args=[f"child {n}"])
    two.ends("parent")
    assert two.started() == {"child 0", "child 1"}
    for n in range(2):
        two.ends(f"child {n}", DEAD)
    assert two.started() == {"then"}


def test_a_job_that_is_removed_is_not_waited_for(two: Two) -> None:
    """bullmq#1752: a child that was removed when it had failed left its parent waiting."""
    a, b = two.add("a"), schedule.add(two.s, FN, args=["b"], in_="1 hour")
    two.add("c", after=[a, b], on_death="run")
    assert two.started() == {"a"}
    two.ends("a", DEAD)
    assert schedule.retry(two.s, a) == 1
    schedule.cancel(two.s, a)
    schedule.cancel(two.s, b)
    assert two.started() == {"c"}


# dramatiq and Huey: a barrier that a killed worker leaves short.


def test_a_member_that_kills_its_process_is_counted(
    server: Server, name: str, processes: Processes, tmp_path: Path
) -> None:
    """dramatiq#868, huey#559: what was cut off in a member never counted for the barrier, and no callback ran."""
    (tmp_path / "app.py").write_text(APP)
    s, client = schedule.create(name, redis=server.url), server.client()
    with schedule.batch(s, "batch", then="app:told") as batch:
        batch.add("app:die", crashes=0)
        batch.add(FN, args=["a"])
    env = {"SEEN": server.url, "KEY": f"{name}-seen"}
    victim = processes.python(LISTEN, name, server.url, env=env)
    until(lambda: not victim.is_running, what="the victim's end")
    for listed in client.zrange(f"{name}:listeners", 0, -1):
        client.zadd(f"{name}:listeners", {listed: 1})
    processes.python(LISTEN, name, server.url, env=env)
    until(lambda: client.llen(f"{name}-seen") >= 1, what="what follows")
    until(lambda: not schedule.counts(s).running, what="the last ending")
    assert client.lrange(f"{name}-seen", 0, -1) == [b"2 1 1"]
    assert batch.state().state == "done"
