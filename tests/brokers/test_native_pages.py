"""Pages of a native schedule: the places between jobs stay, whatever comes and goes, and hostile bytes are rows too."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace

import msgpack
import pytest

from tests.servers import Server
from workkit import schedule
from workkit.brokers.native.keys import Keys
from workkit.contract.broker import Inspector
from workkit.contract.where import JobPage, JobQuery
from workkit.errors import InvalidOptions
from workkit.schedule import Schedule
from workkit.verbs.opening import producer_of

FAR = "2030-01-01T00:00:00Z"


@pytest.fixture
def s(server: Server, name: str) -> Schedule:
    return schedule.create(name, redis=server.url)


def inspector(s: Schedule) -> Inspector:
    return producer_of(s).inspector


def rest(s: Schedule, query: JobQuery, first: JobPage) -> list[JobPage]:
    found = [first]
    while found[-1].after is not None:
        found.append(inspector(s).page(replace(query, after=found[-1].after)))
    return found


def test_a_place_among_jobs_of_one_time_stays_when_its_job_goes(s: Schedule, server: Server) -> None:
    keys, client = Keys(s.name), server.client()
    ids = sorted(f"{n:040x}" for n in range(1000))
    client.zadd(keys.next, {f'{{"id":"{id}"}}': 5_000_000_000_000 for id in ids})
    query = JobQuery(limit=100)
    first = inspector(s).page(query)
    assert [job.id for job in first.jobs] == ids[:100]
    gone = [*range(100), 101, 103]
    client.zrem(keys.next, *(f'{{"id":"{ids[n]}"}}' for n in gone))
    pages = rest(s, query, first)
    assert [job.id for page in pages[1:] for job in page.jobs] == [ids[n] for n in range(100, 1000) if n not in gone]
    assert {job.error for page in pages for job in page.jobs} == {"its payload is missing"}


def test_each_state_begins_where_its_jobs_are(s: Schedule, server: Server) -> None:
    from tests.handlers import note

    for n in range(60):
        schedule.add_now(s, note, args=[n])
    for n in range(5):
        schedule.add(s, note, at=FAR, args=[n])
    waiting = inspector(s).page(JobQuery(state="waiting", limit=10))
    assert (len(waiting.jobs), waiting.looked, waiting.after) == (5, 5, None)
    due = inspector(s).page(JobQuery(state="due", limit=100))
    assert (len(due.jobs), due.looked, due.after) == (60, 60, None)
    assert inspector(s).page(JobQuery(state="retrying")) == JobPage(jobs=())
    schedule.pause(s)
    paused = inspector(s).page(JobQuery(state="paused", limit=100))
    assert Counter(job.state for job in paused.jobs) == {"paused": 65}


def test_all_parts_follow_each_other(s: Schedule, server: Server) -> None:
    from tests.handlers import fail, note

    schedule.add_now(s, fail)
    with pytest.raises(OSError, match="disk full"):
        schedule.drain(s, imports=["tests.handlers"], folder=None)
    schedule.add(s, note, at=FAR)
    schedule.add_now(s, note)
    query = JobQuery(limit=1)
    pages = rest(s, query, inspector(s).page(query))
    assert [job.state for page in pages for job in page.jobs] == ["due", "waiting", "dead"]
    assert [job.id for page in pages for job in page.jobs] == [job.id for job in schedule.jobs(s)]


def test_what_is_held_is_read_in_pages_of_its_own(s: Schedule, server: Server) -> None:
    client, keys = server.client(), Keys(s.name)
    item = '{"id":"%040x"}'
    for n in range(7):
        entry = b"o 1000 0 0 g1*all " + (item % n).encode()
        client.zadd(keys.waiting, {b"all:\0%016d\0%040x@1000\0" % (1000 + n, n) + entry: 0})
    client.zadd(keys.waiting, {b"paused:fn:x\0%016d\0a@1\0o 1 0 0 - " % 1 + (item % 99).encode(): 0, b"rubbish": 0})
    query = JobQuery(state="held", limit=3)
    pages = rest(s, query, inspector(s).page(query))
    assert [int(job.id, 16) for page in pages for job in page.jobs] == list(range(7))
    assert [int(job.id, 16) for job in inspector(s).page(JobQuery(state="paused")).jobs] == [99]
    everything = inspector(s).page(JobQuery(limit=100))
    assert Counter(job.state for job in everything.jobs) == {"held": 7, "paused": 1}


def test_hostile_bytes_are_rows(s: Schedule, server: Server) -> None:
    client, keys = server.client(), Keys(s.name)
    client.zadd(keys.next, {b"\xff\x00": "-inf", b"": 5, b'{"id":7}': "inf", b"r rubbish": 1})
    client.zadd(keys.again, {b"\xfe": 1, b"o x": 2})
    client.zadd(keys.dead, {b"\xff\xfe": "inf", b"gone": 1})
    client.hset(keys.graves, b"\xff\xfe", msgpack.packb(["no", "map"]))
    query = JobQuery(limit=1)
    pages = rest(s, query, inspector(s).page(query))
    assert sum(len(page.jobs) for page in pages) == 8


@pytest.mark.parametrize("after", ["", "!", "wA", "k6d1bnRydXRo", "gw", "a" * 900])
def test_no_text_that_is_no_place_is_read(s: Schedule, after: str) -> None:
    with pytest.raises(InvalidOptions, match="is no place in this list"):
        inspector(s).page(JobQuery(after=after))


def test_a_page_in_the_middle_of_many_costs_no_more_than_one_at_the_start(s: Schedule, server: Server) -> None:
    """Commands, and elements that they answer with, count here; not time."""
    client, keys = server.client(), Keys(s.name)
    client.zadd(keys.next, {f'{{"id":"{n:040x}"}}': 5_000_000_000_000 + n for n in range(50_000)})
    first = inspector(s).page(JobQuery(limit=50))
    costs = []
    for rank in (49, 25_000):
        id = f"{rank:040x}"
        place = replace_place(first, id, 5_000_000_000_000 + rank)
        client.config_resetstat()
        page = inspector(s).page(JobQuery(limit=50, after=place))
        assert [int(job.id, 16) for job in page.jobs] == list(range(rank + 1, rank + 51))
        costs.append(sum(one["calls"] for one in client.info("commandstats").values()))
    assert abs(costs[0] - costs[1]) <= 2
    assert costs[1] < 40


def replace_place(page: JobPage, id: str, score: float) -> str:
    from workkit.brokers.native.look.dead_set import place_text, read_walk_place

    assert page.after is not None
    part, _ = read_walk_place(page.after)
    return place_text(part, (float(score), f'{{"id":"{id}"}}'.encode()))


def test_shards_are_read_as_one_list(server: Server, name: str) -> None:
    from tests.handlers import note

    s = schedule.create(name, redis=server.url, shards=3)
    for n in range(20):
        schedule.add(s, note, at=f"2030-01-{n + 1:02}T00:00:00Z", args=[n])
    query = JobQuery(limit=6)
    pages = rest(s, query, inspector(s).page(query))
    assert [job.args[0] for page in pages for job in page.jobs] == list(range(20))
    with pytest.raises(InvalidOptions, match="is no place in this list"):
        inspector(s).page(JobQuery(after="kA"))
