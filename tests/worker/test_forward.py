"""Forwarding in this process: what arrives, as what, and what becomes of a job that cannot be passed on."""

from __future__ import annotations

import asyncio
import json
import threading
from collections import Counter
from collections.abc import Callable, Sequence
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from tests.processes import until
from tests.servers import Server
from workkit import aio, errors, events, job, schedule, wire
from workkit.brokers.gocraft.broker import GocraftBroker
from workkit.contract.producer import Added, NewJob
from workkit.events import Event
from workkit.triggers.trigger import once
from workkit.verbs.opening import producer_of


@pytest.fixture
def s(server: Server, name: str) -> schedule.Schedule:
    return schedule.create(name, redis=server.url)


@pytest.fixture
def go(server: Server, name: str) -> schedule.Schedule:
    return schedule.create(f"{name}-go", redis=server.url, layout="gocraft")


@pytest.fixture
def native(server: Server, name: str) -> schedule.Schedule:
    return schedule.create(f"{name}-other", redis=server.url)


def queued(server: Server, go: schedule.Schedule, fn: str) -> list[dict[str, Any]]:
    """Read a queue of a namespace, the first job first."""
    return [json.loads(text) for text in reversed(server.client().lrange(f"{go.name}:jobs:{fn}", 0, -1))]


def burst(s: schedule.Schedule, to: schedule.Schedule) -> Any:
    return schedule.forward(s, to=to, burst=True)


def test_due_jobs_arrive_in_a_namespace_with_name_arguments_and_key(
    server: Server, s: schedule.Schedule, go: schedule.Schedule
) -> None:
    schedule.add_now(s, "send_email", kwargs={"address": "a@b.c", "n": 2**60})
    schedule.add_now(s, "send_email", unique_key="once")
    schedule.add(s, "send_email", at="7pm tomorrow")
    tally = burst(s, go)
    assert (tally.ran, tally.failed) == (2, 0)
    first, second = queued(server, go, "send_email")
    assert first["args"] == {"address": "a@b.c", "n": 2**60}
    assert (second["unique"], second["args"]) == (True, None)
    assert second["unique_key"].endswith(':{"key":"once"}\n')
    assert [job.state for job in schedule.jobs(s)] == ["waiting"]


def test_a_job_arrives_in_a_native_schedule_with_its_options(s: schedule.Schedule, native: schedule.Schedule) -> None:
    schedule.add_now(s, "app:f", args=[1, [2]], kwargs={"a": 3}, retries=4, timeout="1m", priority=2, unique_key="k")
    assert burst(s, native).ran == 1
    (job,) = schedule.jobs(native)
    assert (job.fn, job.args, job.kwargs, job.state) == ("#'app/f", (1, [2]), {"a": 3}, "due")
    assert (job.options.retries, job.options.timeout_ms) == (4, 60_000)
    assert (job.terms.priority, job.terms.unique_key) == (2, "k")
    assert not list(schedule.jobs(s))


def test_shards_are_forwarded_to_shards(server: Server, name: str) -> None:
    s = schedule.create(name, redis=server.url, shards=3)
    other = schedule.create(f"{name}-other", redis=server.url, shards=2)
    schedule.add_many(s, [{"fn": "send", "at": "now", "kwargs": {"n": n}} for n in range(60)])
    assert burst(s, other).ran == 60
    assert sorted((job.kwargs or {})["n"] for job in schedule.jobs(other)) == list(range(60))
    assert not list(schedule.jobs(s))


def test_coroutines_forward_too(server: Server, s: schedule.Schedule, go: schedule.Schedule) -> None:
    async def forward() -> None:
        async with aio.forwarder(s, to=go):
            await aio.add_now(s, "send", kwargs={"n": 1})
            while not queued(server, go, "send"):
                await asyncio.sleep(0.01)

    asyncio.run(asyncio.wait_for(forward(), 20))


def test_each_occurrence_of_a_recurring_job_arrives_once_in_a_week_of_pretended_time(
    server: Server, s: schedule.Schedule, go: schedule.Schedule
) -> None:
    schedule.add(s, "hourly", every="hour", kwargs={"of": "each"})
    schedule.add(s, "local", every="weekday at 9am", tz="Europe/Paris")
    start = schedule.job(s, next(iter(schedule.jobs(s))).id).due
    assert start is not None
    tally = schedule.drain(s, to=go, now=start + timedelta(days=7) - timedelta(seconds=1))
    found = queued(server, go, "hourly")
    assert len(found) == len({job["id"] for job in found}) == 24 * 7
    local = queued(server, go, "local")
    assert len(local) == len({job["id"] for job in local}) == 5
    assert tally.ran == 24 * 7 + 5
    assert {job.fn for job in schedule.jobs(s)} == {"hourly", "local"}, "both still recur"


@pytest.mark.parametrize("layout", ["native", "gocraft"])
def test_an_occurrence_has_the_same_id_however_often_it_is_published(
    server: Server, s: schedule.Schedule, go: schedule.Schedule, native: schedule.Schedule, layout: str
) -> None:
    to = producer_of(go if layout == "gocraft" else native)
    ids = []
    for occurrence in ("a@1000", "a@1000", "a@2000"):
        at = once(datetime(2026, 11, 20, 9, tzinfo=UTC))
        new = NewJob(fn="send", args=(), kwargs={"a": 1}, trigger=at, due_ms=None, identity=f"s {occurrence}")
        ids.append(to.adding([new])()[0].id)
    assert ids[0] == ids[1] != ids[2]


def test_an_occurrence_that_still_waits_in_a_native_schedule_is_not_added_again(
    s: schedule.Schedule, native: schedule.Schedule
) -> None:
    job = schedule.add_now(s, "send", kwargs={"a": 1})
    due = round((job.due or datetime.now(UTC)).timestamp() * 1000)

    def new() -> NewJob:
        at = datetime.fromtimestamp(due // 1000, UTC)
        return NewJob(
            fn="send", args=(), kwargs={"a": 1}, trigger=once(at), due_ms=None, identity=f"{s.name} {job.id}@{due}"
        )

    producer_of(native).adding([new()])()  # as a forwarder that died before it ended the claim
    before = {job.id for job in schedule.jobs(native)}
    assert burst(s, native).ran == 1
    assert {job.id for job in schedule.jobs(native)} == before


def test_a_job_that_the_other_layout_refuses_is_dead_with_the_reason_and_others_arrive(
    server: Server, s: schedule.Schedule, go: schedule.Schedule
) -> None:
    schedule.add_many(s, [{"fn": "send", "at": "now", "kwargs": {"n": n}} for n in range(20)])
    schedule.add_now(s, "send", args=[7])
    schedule.add_now(s, "app:f", kwargs={"a": 1})
    schedule.add_now(s, "send", retries=2)
    schedule.add(s, "send", every="second", overlap="skip", count=1)
    until(lambda: schedule.counts(s).due == 24)
    tally = burst(s, go)
    assert (tally.ran, tally.failed) == (20, 4)
    assert sorted(job["args"]["n"] for job in queued(server, go, "send")) == list(range(20))
    errors = sorted(job.error or "" for job in schedule.dead(s))
    assert [error.split(":")[0] for error in errors] == ["InvalidArguments", "InvalidFunction"] + 2 * ["Unsupported"]
    assert "args=[7] is given by position" in errors[0]
    assert any('overlap="skip" of send cannot be kept by a forward' in error for error in errors)
    assert any("retries= cannot be kept in a gocraft job" in error for error in errors)


def test_jobs_of_a_batch_and_jobs_after_others_are_not_published(
    s: schedule.Schedule, native: schedule.Schedule
) -> None:
    with schedule.batch(s, "night", then="report") as batch:
        batch.add("load", args=[1])
    first = schedule.add_now(s, "extract")
    schedule.add_now(s, "mail", after=first)
    tally = burst(s, native)
    assert [one.fn for one in schedule.jobs(native)] == ["extract"]  # nothing runs there before its time
    assert (tally.ran, tally.failed) == (1, 3)
    assert batch.state().dead == 1
    errors = {dead.fn: dead.error or "" for dead in schedule.dead(s)}
    assert 'the batch "night" of load cannot be kept by a forward' in errors["load"]
    assert 'the batch "night" of report cannot be kept by a forward' in errors["report"]
    assert "after= of mail cannot be kept by a forward" in errors["mail"]


def test_many_due_jobs_are_published_in_few_requests(
    monkeypatch: pytest.MonkeyPatch, s: schedule.Schedule, go: schedule.Schedule
) -> None:
    sizes: list[int] = []
    before = GocraftBroker.adding

    def adding(self: Any, jobs: Sequence[NewJob], **more: Any) -> Callable[[], list[Added]]:
        sizes.append(len(jobs))
        return before(self, jobs, **more)

    monkeypatch.setattr(GocraftBroker, "adding", adding)
    schedule.add_many(s, [{"fn": "send", "at": "now", "kwargs": {"n": n}} for n in range(2000)])
    assert burst(s, go).ran == 2000
    assert sum(sizes) == 2000
    assert len(sizes) <= 20


def test_a_job_that_killed_listeners_is_published_not_buried(
    server: Server, s: schedule.Schedule, go: schedule.Schedule
) -> None:
    data = json.dumps({"args": [], "cron": "2014 3 5 * 9 34 16", "job": "send", "kwargs": {"a": 1}}).encode()
    id = wire.job_id(data)
    server.client().hset(f"{s.name}:jobs", id, data)
    server.client().zadd(f"{s.name}:next", {wire.item(id): 1394012056000})
    server.client().hset(f"{s.name}:crashed", f"{id}@1394012056000", 7)
    assert burst(s, go).ran == 1
    assert len(queued(server, go, "send")) == 1
    assert not schedule.dead(s)


def test_a_forwarder_waits_for_the_other_server_buries_nothing_and_publishes_each_once(
    server: Server, own_server: Server, s: schedule.Schedule, name: str
) -> None:
    go = schedule.create(name, redis=own_server.url, layout="gocraft")
    seen: list[Event] = []
    unsubscribe = events.subscribe(seen.append)
    try:
        with schedule.forwarder(s, to=go) as ours:
            schedule.add_now(s, "send", kwargs={"n": -1})
            until(lambda: queued(own_server, go, "send"))
            own_server.kill()
            schedule.add_many(s, [{"fn": "send", "at": "now", "kwargs": {"n": n}} for n in range(50)])
            until(lambda: [e for e in seen if e.name == "lost"], what="the loss")
            assert "without redis://" in (ours.unready() or "")
            own_server.start()
            until(lambda: len(queued(own_server, go, "send")) >= 50)
            until(lambda: not list(schedule.jobs(s)))
            assert ours.unready() is None
    finally:
        unsubscribe()
    assert Counter(job["args"]["n"] for job in queued(own_server, go, "send")).most_common(1)[0][1] == 1
    assert not schedule.dead(s)
    lost, back = ([e for e in seen if e.name == word] for word in ("lost", "back"))
    assert len(lost) == len(back) == 1
    assert lost[0].schedule == go.name


def test_a_forwarder_that_stops_while_the_other_server_is_away_hands_back(
    server: Server, own_server: Server, s: schedule.Schedule, name: str, go: schedule.Schedule
) -> None:
    ours = schedule.forwarder(s, to=schedule.create(name, redis=own_server.url, layout="gocraft")).start()
    own_server.kill()
    schedule.add_many(s, [{"fn": "send", "at": "now", "kwargs": {"n": n}} for n in range(50)])
    until(lambda: ours.unready())
    began = datetime.now(UTC)
    tally = ours.stop("20s")
    assert datetime.now(UTC) - began < timedelta(seconds=10)
    assert (tally.ran, tally.failed) == (0, 0)
    assert tally.given_back >= 1
    assert schedule.counts(s).due == 50
    assert burst(s, go).ran == 50


def test_a_lost_reply_is_asked_for_again_and_publishes_once(
    monkeypatch: pytest.MonkeyPatch, server: Server, s: schedule.Schedule, go: schedule.Schedule
) -> None:
    """The reply is lost three times: more often than one request repeats itself."""
    from workkit.brokers.redis_server.server import Server as Client

    left = threading.Semaphore(3)
    before = Client.answers

    def answers(self: Any, asked: Any) -> list[Any]:
        replies = before(self, asked)
        is_ours = any(script.name == "add" and f"{go.name}:" in str(keys) for script, keys, _ in asked[0])
        if is_ours and left.acquire(blocking=False):
            raise errors.ServerUnreachable("the reply is lost")
        return replies

    monkeypatch.setattr(Client, "answers", answers)
    schedule.add_now(s, "send", kwargs={"n": 1})
    assert burst(s, go).ran == 1
    assert not left.acquire(blocking=False)
    assert len(queued(server, go, "send")) == 1


def test_a_full_server_is_waited_for_and_a_job_cancelled_meanwhile_is_not_published(
    own_server: Server, s: schedule.Schedule, name: str
) -> None:
    go = schedule.create(name, redis=own_server.url, layout="gocraft")
    with schedule.forwarder(s, to=go) as ours:
        own_server.client().config_set("maxmemory", 1)
        schedule.add_many(s, [{"fn": "send", "at": "now", "kwargs": {"n": n}, "name": f"n{n}"} for n in range(2)])
        until(lambda: ours.unready())
        schedule.cancel(s, "n0")
        until(lambda: any(run.cancelled for run in ours._loop._router.runs()))
        own_server.client().config_set("maxmemory", 0)
        until(lambda: not list(schedule.jobs(s)))
    assert [job["args"]["n"] for job in queued(own_server, go, "send")] == [1]
    assert not schedule.dead(s)


@pytest.mark.parametrize("own_server", ["valkey"], indirect=True)
def test_a_forwarder_that_holds_nothing_finds_out_that_the_other_server_is_back(
    own_server: Server, s: schedule.Schedule, name: str
) -> None:
    go = schedule.create(name, redis=own_server.url, layout="gocraft")
    with schedule.forwarder(s, to=go) as ours:
        own_server.client().config_set("maxmemory", 1)
        job = schedule.add_now(s, "send", kwargs={"n": 0})
        until(lambda: ours.unready())
        schedule.cancel(s, job)
        until(lambda: not list(schedule.jobs(s)), what="the end of the cancelled job")
        schedule.add_now(s, "send", kwargs={"n": 1})
        until(lambda: schedule.counts(s).running == 1, what="another try")
        own_server.client().config_set("maxmemory", 0)
        until(lambda: not list(schedule.jobs(s)))
        until(lambda: ours.unready() is None)
    assert [job["args"]["n"] for job in queued(own_server, go, "send")] == [1]


def test_a_forward_is_refused_from_a_namespace_and_to_itself(s: schedule.Schedule, go: schedule.Schedule) -> None:
    with pytest.raises(errors.InvalidSchedule, match="a forward takes the jobs of a native schedule"):
        schedule.forwarder(go, to=s)
    with pytest.raises(errors.InvalidSchedule, match="is forwarded to itself"):
        schedule.forwarder(s, to=s)
    with pytest.raises(errors.InvalidSchedule, match="'x' is a text, not a Schedule"):
        schedule.forwarder(s, to="x")  # type: ignore[arg-type]
    with pytest.raises(errors.InvalidSchedule, match="a forward takes the jobs of a native schedule"):
        schedule.forwarder(schedule.create("hutch", layout="hutch"), to=s)
    with pytest.raises(errors.InvalidOptions, match=r"threads= belongs to schedule.listen"):
        schedule.forwarder(s, to=go, threads=3)  # type: ignore[call-arg]


def test_a_recurring_job_in_a_namespace_is_refused_with_the_way_out(go: schedule.Schedule) -> None:
    for time in ({"every": "minute"}, {"cron": "0 * * * *"}, {"when": "every day at 9am"}):
        with pytest.raises(errors.Unsupported) as caught:
            schedule.add(go, "send", **time)  # type: ignore[arg-type]
        assert "cannot recur here: a gocraft namespace holds single runs. Add it to a native schedule" in str(
            caught.value
        )
        assert "schedule.forward(s, to=...)" in str(caught.value)
    assert not list(schedule.jobs(go))


def test_a_listener_serves_a_forwarder_beside_itself_and_ends_with_its_error(
    s: schedule.Schedule, go: schedule.Schedule
) -> None:
    forwarder = schedule.forwarder(s, to=go)
    ours = schedule.listener(go, imports=[], folder=None, jobs=["forwarded"]).beside(forwarder).start()

    def fail() -> None:
        raise errors.ServerRefused("the password is wrong")

    schedule.add_now(s, "forwarded", kwargs={"n": 7})
    until(lambda: ran == [7])
    assert ours.unready() is None
    forwarder.quiet()
    until(lambda: ours.unready() == "quiet")
    forwarder._loop.post(fail)
    with pytest.raises(errors.ServerRefused, match="the password is wrong"):
        ours.wait()
    assert not schedule.listeners(go)


ran: list[int] = []


@job("forwarded")
def forwarded(n: int) -> None:
    ran.append(n)


def test_a_forwarder_is_listed_with_its_state(s: schedule.Schedule, go: schedule.Schedule) -> None:
    with schedule.forwarder(s, to=go):
        (info,) = schedule.listeners(s)
        assert info.state == "forwarding"


def test_an_unregistered_plain_name_is_left_for_others_with_a_sentence(s: schedule.Schedule) -> None:
    seen: list[Event] = []
    unsubscribe = events.subscribe(seen.append)
    try:
        schedule.add_now(s, "send_nothing")
        schedule.listen(s, burst=True, threads=1, imports=[], folder=None)
    finally:
        unsubscribe()
    (reason,) = [e.fields["reason"] for e in seen if e.name == "cannot_run"]
    assert 'no function is registered under it with @job("send_nothing")' in reason
    assert schedule.counts(s).due == 1
