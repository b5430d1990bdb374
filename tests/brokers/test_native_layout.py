"""What stands on the server, byte for byte, after each verb; and entries that were written by hand."""

from __future__ import annotations

import json
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta

import pytest

from tests import handlers
from tests.servers import PAST, Server
from workkit import schedule, wire
from workkit.brokers.native.keys import Keys

OURS = "workkit.cli"


@pytest.fixture
def s(server: Server, name: str) -> schedule.Schedule:
    return schedule.create(name, redis=server.url)


@pytest.fixture(autouse=True)
def _no_calls() -> Iterator[None]:
    handlers.calls.clear()
    yield
    handlers.gate.clear()


def drain(s: schedule.Schedule, **how: object) -> int:
    return schedule.drain(s, imports=["tests.handlers"], folder=None, **how).ran  # type: ignore[arg-type]


def ms(t: datetime) -> int:
    return round(t.timestamp() * 1000)


def test_a_one_shot_stands_as_published(s: schedule.Schedule, server: Server) -> None:
    due = datetime(2030, 3, 1, 18, 30, 5, tzinfo=UTC)
    job = schedule.add(s, handlers.note, at=due, args=["a/b", 1])
    payload = b'{"args":["a\\/b",1],"cron":"2030 3 1 * 18 30 5","job":"#\'tests.handlers\\/note"}'
    client = server.client()
    assert client.hgetall(f"{s.name}:jobs") == {wire.job_id(payload).encode(): payload}
    assert client.zrange(f"{s.name}:next", 0, -1, withscores=True) == [(wire.item(job.id), ms(due))]
    assert job.new
    assert job.due == due


def test_a_recurring_job_stands_as_published(s: schedule.Schedule, server: Server) -> None:
    job = schedule.add(s, handlers.note, every="weekday at 9am")
    client = server.client()
    ((id, payload),) = client.hgetall(f"{s.name}:jobs").items()
    assert json.loads(payload) == {"args": [], "cron": "* * * 1-5 9 0 0", "job": "#'tests.handlers/note"}
    assert id == job.id.encode()
    ((item, score),) = client.zrange(f"{s.name}:next", 0, -1, withscores=True)
    assert item == wire.item(job.id)
    due = datetime.fromtimestamp(score / 1000, UTC)
    assert (due.hour, due.minute, due.second, due.weekday() < 5) == (9, 0, 0, True)


def test_an_immediate_job_stands_as_published(s: schedule.Schedule, server: Server) -> None:
    client = server.client()
    seconds, micros = client.time()
    job = schedule.add_now(s, handlers.note)
    ((_, payload),) = client.hgetall(f"{s.name}:jobs").items()
    assert set(json.loads(payload)) == {"args", "cron", "job"}
    ((item, score),) = client.zrange(f"{s.name}:next", 0, -1, withscores=True)
    assert item == wire.item(job.id)
    assert 0 <= score - (seconds * 1000 + micros // 1000) < 5000
    year, month, day, _, hour, minute, second = json.loads(payload)["cron"].split()
    at = datetime.fromtimestamp(score / 1000, UTC)
    said = datetime(int(year), int(month), int(day), int(hour), int(minute), int(second), tzinfo=UTC)
    assert abs(said - at) <= timedelta(seconds=2)


def test_fifty_equal_adds_make_one_job(s: schedule.Schedule, server: Server) -> None:
    news = [schedule.add(s, handlers.note, at="2030-01-01 09:00", args=[1]).new for _ in range(50)]
    assert news == [True] + [False] * 49
    assert server.client().hlen(f"{s.name}:jobs") == server.client().zcard(f"{s.name}:next") == 1


def test_a_hundred_equal_add_now_run_a_hundred_times(s: schedule.Schedule, server: Server) -> None:
    ids = {schedule.add_now(s, handlers.note, args=[7]).id for _ in range(100)}
    assert len(ids) == 100
    assert drain(s) == 100
    assert handlers.calls == [(7,)] * 100
    assert server.client().exists(f"{s.name}:jobs", f"{s.name}:next") == 0


@pytest.mark.parametrize(
    "job",
    [
        "#'tests.handlers/note", "tests.handlers:note", "(var tests.handlers/note)", "(quote tests.handlers/note)",
        "(resolve 'tests.handlers/note)", "(resolve (quote tests.handlers/note))",
        "(clojure.core/resolve (quote tests.handlers/note))",
    ],
)  # fmt: skip
def test_an_entry_written_by_hand_runs(s: schedule.Schedule, server: Server, job: str) -> None:
    client = server.client()
    payload = json.dumps({"cron": "2014 3 5 * 9 34 16", "job": job, "args": ["Beep!"]}).encode()
    assert client.hsetnx(f"{s.name}:jobs", wire.job_id(payload), payload) == 1
    client.zadd(f"{s.name}:next", {f'{{ "id" : "{wire.job_id(payload)}" }}': 1394012056000})
    assert drain(s) == 1
    assert handlers.calls == [("Beep!",)]
    assert client.exists(f"{s.name}:jobs", f"{s.name}:next") == 0


def test_a_recurring_job_is_put_back_before_it_runs_with_the_same_text(s: schedule.Schedule, server: Server) -> None:
    client = server.client()
    payload = b'{"job":"#\'tests.handlers/note","cron":"* * * * * * 0"}'
    item = f'{{"id": "{wire.job_id(payload)}", "n": 1}}'
    client.hset(f"{s.name}:jobs", wire.job_id(payload), payload)
    client.zadd(f"{s.name}:next", {item: 1394012040000})
    assert drain(s) == 1
    ((text, score),) = client.zrange(f"{s.name}:next", 0, -1, withscores=True)
    assert text == item.encode()
    seconds, _ = client.time()
    assert score % 60_000 == 0
    assert 0 < score / 1000 - seconds <= 60
    assert client.hgetall(f"{s.name}:jobs") == {wire.job_id(payload).encode(): payload}


def test_the_last_run_of_a_recurring_job_takes_the_payload(s: schedule.Schedule, server: Server) -> None:
    client = server.client()
    payload = b'{"job":"#\'tests.handlers/note","cron":"2014 3 * 0/2,3 9-17 * */5"}'
    client.hset(f"{s.name}:jobs", wire.job_id(payload), payload)
    client.zadd(f"{s.name}:next", {wire.item(wire.job_id(payload)): 1394012040000})
    assert drain(s) == 1
    assert left(server, s) == set()


def test_draining_leaves_no_key_but_counts(s: schedule.Schedule, server: Server) -> None:
    schedule.add_now(s, handlers.note)
    schedule.add_now(s, handlers.fail)
    schedule.drain(s, imports=["tests.handlers"], folder=None, raise_errors=False)
    assert left(server, s) == {"dead", "graves"}


def left(server: Server, s: schedule.Schedule) -> set[str]:
    """Suffixes of the keys that stand, but for those with a time to live and the counts."""
    keys = {key.decode().removeprefix(f"{s.name}:") for key in server.client().scan_iter(f"{s.name}:*")}
    return {key for key in keys if key.partition(":")[0] not in {"producer", "stats", "ends", *PAST}}


def test_runs_in_the_future_are_pretended(s: schedule.Schedule) -> None:
    schedule.add(s, handlers.note, every="day at 9am")
    schedule.add(s, handlers.note, at="7pm tomorrow", args=["once"])
    assert drain(s) == 0
    assert drain(s, now=datetime.now(UTC) + timedelta(days=2)) == 3


HOSTILE_PAYLOADS = [
    b"", b"null", b"\xff\xfe", b'{"cron":"* * * * * * *","job":', b'{"cron":5,"job":"#\'tests.handlers/note"}',
    b'{"cron":"often","job":"#\'tests.handlers/note"}',
    b'{"cron":"* * * * * * *","job":"#\'tests.handlers/note","args":7}', b'{"cron":"* 2 30 * 0 0 0"}', b"[" * 50_000,
]  # fmt: skip
HOSTILE_ITEMS = [b"", b"null", b"{}", b'"x"', b"\xff", b'{"id":7}', b"r 5 0 0 - {}", b'{"id":"missing"}', b"{" * 10_000]


def test_one_bad_record_never_stops_another(s: schedule.Schedule, server: Server) -> None:
    client = server.client()
    for n, payload in enumerate(HOSTILE_PAYLOADS):
        client.hset(f"{s.name}:jobs", wire.job_id(payload), payload)
        client.zadd(f"{s.name}:next", {wire.item(wire.job_id(payload)): n})
    for n, item in enumerate(HOSTILE_ITEMS):
        client.zadd(f"{s.name}:next", {item: n + 0.5})
    client.zadd(f"{s.name}:next", {'{"id":"early"}': "-inf", '{"id":"late"}': "inf"})
    for n in range(20):
        schedule.add_now(s, handlers.note, args=[n])
    assert drain(s) == 20
    assert sorted(handlers.calls) == [(n,) for n in range(20)]
    graves = client.hlen(f"{s.name}:graves")
    assert graves == len(HOSTILE_PAYLOADS) + len(HOSTILE_ITEMS) - 1  # the missing one is reported, not buried
    assert client.zrange(f"{s.name}:next", 0, -1) == [b'{"id":"late"}']
    dead = list(schedule.jobs(s, state="dead"))
    assert len(dead) == graves
    assert all(job.error for job in dead)


def test_keys_are_those_of_the_specification() -> None:
    keys = Keys("S")
    named = {key for attribute, key in vars(keys).items() if attribute != "schedule"}
    named |= {keys.running("<L>"), keys.skip("<L>"), keys.producer("<token>")}
    named |= {keys.first(1), keys.progress("<L>"), keys.trace("<id>"), keys.past("<slot>"), keys.result("<id>")}
    from pathlib import Path

    spec = (Path(__file__).parents[2] / "spec" / "layouts" / "native.md").read_text()
    table = spec[spec.index("## 3. All keys") : spec.index("## 4.")]
    written = {line.split("`")[1] for line in table.splitlines() if line.startswith("| `S:")}
    assert named == written


def test_a_cuckoo_schedule_stores_the_order_of_the_clojure_code(server: Server, name: str) -> None:
    s = schedule.create(name, redis=server.url, dialect="cuckoo")
    schedule.add(s, handlers.note, at="2030-03-01 18:30:05", args=[1])
    schedule.add(s, handlers.note, every="weekday at 9am")
    schedule.add(s, handlers.note, cron="0 */5 * * ? * 2030")
    schedule.add_now(s, handlers.note, args=["now"])
    crons = [json.loads(payload)["cron"] for payload in server.client().hvals(f"{name}:jobs")]
    fixed = [cron for cron in crons if cron not in ("5 30 18 3 1 ? 2030", "0 0 9 * ? 1-5 *", "0 */5 * * ? * 2030")]
    assert len(crons) == 4
    assert len(fixed) == 1
    second, minute, hour, month, day, weekday, year = fixed[0].split()
    said = datetime(int(year), int(month), int(day), int(hour), int(minute), int(second), tzinfo=UTC)
    assert abs(said - datetime.now(UTC)) < timedelta(minutes=1)
    assert weekday == "?"
    assert drain(s) == 1
    soonest, *later = [job.due for job in schedule.jobs(s)]
    assert later == [datetime(2030, 1, 1, tzinfo=UTC), datetime(2030, 3, 1, 18, 30, 5, tzinfo=UTC)]
    assert drain(s, now=soonest) == 1
