"""How the native layout lists recurring jobs: states beside the queue, strange keys, and what it costs."""

from __future__ import annotations

from typing import Any

import pytest

from tests import handlers
from tests.servers import Server
from workkit import schedule, wire
from workkit.brokers.native.keys import Keys
from workkit.brokers.native.look.recurring import KeptJobs
from workkit.contract.broker import Inspector
from workkit.jobs.job import Job
from workkit.schedule import Schedule
from workkit.triggers import cron
from workkit.verbs.opening import producer_of

HOW: dict[str, Any] = {"imports": ["tests.handlers"], "folder": None}


@pytest.fixture
def s(server: Server, name: str) -> Schedule:
    return schedule.create(name, redis=server.url)


def look(s: Schedule) -> Inspector:
    return producer_of(s).inspector


def put(server: Server, s: Schedule, count: int) -> None:
    """Store recurring jobs with a name as other programs do, faster than by `add`."""
    keys, pipe = Keys(s.name), server.client().pipeline(transaction=False)
    for n in range(count):
        more = {"opts": {"name": f"job-{n:05}"}}
        payload = wire.payload(cron="* * * * * 0 0", job="#'tests.handlers/note", args=(n,), extra=more)
        id = wire.job_id(payload)
        pipe.hset(keys.jobs, id, payload)
        pipe.hset(keys.names, f"job-{n:05}", id)
        pipe.zadd(keys.next, {f'{{"id":"{id}"}}': 4_000_000_000_000 + n})
    pipe.execute()


def asked(client: Any) -> int:
    return sum(one["calls"] for one in client.info("commandstats").values())


def test_ten_thousand_jobs_cost_two_round_trips_of_few_commands(server: Server, s: Schedule) -> None:
    put(server, s, 10_000)
    client = server.client()
    client.ping()
    inspector = look(s)
    inspector.control()  # so that the connection stands
    before = asked(client)
    assert len(inspector.recurring()) == 10_000
    first = asked(client)
    found = look(s).recurring()
    again = asked(client)
    assert first - before <= 7 + 2 * 10 + 2  # what names them; times and payloads by the thousand; and INFO itself
    assert again - first <= 7 + 10 + 2  # payloads are known
    assert {one.due.timestamp() for one in found if one.due} == {4_000_000_000 + n / 1000 for n in range(10_000)}


def test_one_to_be_tried_again(server: Server, s: Schedule) -> None:
    schedule.add(s, handlers.fail, every="hour", name="failing", retries=3, base="1h")
    schedule.run(s, "failing")
    schedule.drain(s, raise_errors=False, **HOW)
    (found,) = look(s).recurring()
    assert (found.key, found.state, found.attempt) == ("failing", "retrying", 1)


def test_one_without_a_name_is_listed_by_its_ring_where_many_wait_before_it(server: Server, s: Schedule) -> None:
    job = schedule.add(s, handlers.note, args=(1,), every="day at 12:00")
    keys, client = Keys(s.name), server.client()
    client.zadd(keys.next, {f'{{"id":"{n:040}"}}': 1 + n for n in range(600)})
    assert look(s).recurring() == []
    client.hset(keys.lately, job.id, b"")
    assert [one.key for one in look(s).recurring()] == [job.id]


def test_a_key_of_another_type_and_a_ring_of_nothing_are_no_jobs(server: Server, s: Schedule) -> None:
    schedule.add(s, handlers.note, args=(1,), every="hour", name="hourly")
    keys, client = Keys(s.name), server.client()
    client.hset(keys.lately, mapping={"gone": b"", b"\xff": b""})
    assert [one.key for one in look(s).recurring()] == ["hourly"]
    client.delete(keys.lately)
    client.set(keys.lately, "text")
    assert [one.key for one in look(s).recurring()] == ["hourly"]


def test_a_payload_whose_id_is_not_its_hash_is_read_again() -> None:
    kept = KeptJobs(most=2)
    job = Job(id="mine", schedule="s", fn="f", trigger=cron("* * * * * 0 0"))
    payload = wire.payload(cron="* * * * * 0 0", job="f", args=(), extra={})
    kept.keep("mine", payload, job)
    assert kept.unknown(["mine"]) == ["mine"]
    id = wire.job_id(payload)
    kept.keep(id, payload, job)
    assert (kept.unknown([id]), kept.recurring([id])) == ([], {id: job})


def test_what_was_read_the_longest_ago_gives_way() -> None:
    kept = KeptJobs(most=2)
    ids = []
    for n in range(3):
        payload = wire.payload(cron="* * * * * 0 0", job="f", args=(n,), extra={})
        ids.append(wire.job_id(payload))
        kept.keep(ids[-1], payload, Job(id=ids[-1], schedule="s", fn="f", trigger=cron("* * * * * 0 0")))
        kept.recurring(ids[:1])
    assert kept.unknown(ids) == [ids[1]]
