"""One job by its id: found wherever it stands, and without reading the others."""

from __future__ import annotations

import pytest

from tests.servers import Server
from workkit import schedule, wire
from workkit.errors import NotFound
from workkit.jobs.job import Job


@pytest.fixture
def s(server: Server, name: str) -> schedule.Schedule:
    return schedule.create(name, redis=server.url)


def test_among_many_it_is_not_looked_for_page_by_page(server: Server, s: schedule.Schedule) -> None:
    schedule.add_many(s, [{"fn": "app:note", "in_": "1 hour", "args": [n]} for n in range(3000)])
    *_, last = schedule.jobs(s)
    client = server.client()
    client.config_resetstat()
    assert schedule.job(s, last.id) == last
    asked = client.info("commandstats")
    assert sum(asked.get(f"cmdstat_{name}", {"calls": 0})["calls"] for name in ("hscan", "zscan")) == 0
    assert asked["cmdstat_hmget"]["calls"] == 1


def test_one_that_was_put_back_under_another_text(server: Server, name: str, s: schedule.Schedule) -> None:
    added = schedule.add(s, "app:note", in_="1 hour")
    client = server.client()
    (score,) = client.zmscore(f"{name}:next", [wire.item(added.id)])
    client.delete(f"{name}:next")
    client.zadd(f"{name}:next", {f'{{"more":1,"id":"{added.id}"}}': score})
    assert schedule.job(s, added.id) == _as_found(added)


@pytest.mark.parametrize("id", ["a*[b]?^-+", "häuschen", "f" * 40])
def test_whatever_a_foreign_peer_takes_for_an_id(server: Server, name: str, s: schedule.Schedule, id: str) -> None:
    import json

    client = server.client()
    client.hset(f"{name}:jobs", id, '{"args":[],"cron":"2100 1 1 * 0 0 0","job":"app:note"}')
    client.zadd(f"{name}:next", {json.dumps({"id": id}, ensure_ascii=False): 4_102_444_800_000})
    client.zadd(f"{name}:next", {'{"id":"ab"}': 1})
    (found,) = (job for job in schedule.jobs(s) if job.id == id)
    assert schedule.job(s, id) == found
    assert schedule.cancel(s, found).id == id
    assert client.hlen(f"{name}:jobs") == 0
    assert client.zcard(f"{name}:next") == 1


def test_an_orphan_and_nothing_at_all(server: Server, name: str, s: schedule.Schedule) -> None:
    added = schedule.add(s, "app:note", in_="1 hour")
    server.client().delete(f"{name}:next")
    assert schedule.job(s, added.id).id == added.id
    with pytest.raises(NotFound, match="no job"):
        schedule.job(s, "0" * 40)


def _as_found(added: Job) -> Job:
    from dataclasses import replace

    return replace(added, new=Job(id="", schedule="", fn="").new, state="waiting")
