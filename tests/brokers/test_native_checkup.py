"""What a checkup finds in a schedule and its listeners, and what it leaves alone."""

from __future__ import annotations

import json
import os
import socket
import threading
import time
from collections import Counter
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from tests import handlers
from tests.brokers.checkups import DAY, fixed, found, keys, only, payload, ran, registered, repaired
from tests.processes import Processes, until
from tests.servers import Server
from workkit import schedule, wire
from workkit.brokers.native.broker import NativeBroker
from workkit.contract.broker import Doctor

pytestmark = pytest.mark.usefixtures("second_look_at_once")


@pytest.fixture
def client(server: Server) -> Any:
    return server.client()


# Nothing wrong.


def test_a_schedule_that_is_well_has_no_finding(own_server: Server, name: str) -> None:
    s = schedule.create(name, redis=own_server.url)
    schedule.add(s, handlers.note, every="day at 9am")
    schedule.add(s, handlers.note, in_="1 hour")
    broker = registered(own_server, name)
    assert list(broker.doctor.checkup(patience_ms=0)) == []
    broker.close()


def test_an_empty_schedule_has_no_finding(doctor: Doctor) -> None:
    assert found(doctor) == []


def test_a_job_past_its_deadline_is_a_finding_until_it_ends(
    server: Server, client: Any, doctor: Doctor, name: str
) -> None:
    s = schedule.create(name, redis=server.url)
    job = schedule.add(s, handlers.note, in_="1 hour", within="1 hour", name="export")
    assert "past-deadline" not in {f.kind for f in doctor.checkup(patience_ms=DAY)}
    client.zadd(f"{name}:deadlines", {job.id: 1_795_672_800_000})
    (finding,) = [f for f in doctor.checkup(patience_ms=DAY) if f.kind == "past-deadline"]
    assert finding.what == "1 job is past its deadline: export since 2026-11-26 06:00 UTC"
    assert finding.about == (job.id,)
    schedule.cancel(s, job)
    assert "past-deadline" not in {f.kind for f in doctor.checkup(patience_ms=DAY)}


def test_a_checkup_changes_nothing(doctor: Doctor, client: Any, name: str, peer: NativeBroker) -> None:
    id, data = payload()
    client.hset(f"{name}:jobs", mapping={id: data, "x": b"{"})
    client.zadd(f"{name}:next", {"nonsense": 5, wire.item("0" * 40): float("inf")})
    client.sadd(f"{name}:ended", "gone")
    client.zadd(f"{name}:slots", {b"run:a\x00a@5": 0})
    client.hset(f"{name}:errors", "a@5", b"x")
    before = {key: client.dump(key) for key in client.scan_iter()}
    kinds = {f.kind for f in found(doctor)}
    assert kinds == {"no-item", "unreadable", "item", "no-job", "slot", "ended", "error", "unread"}
    after = {key: client.dump(key) for key in client.scan_iter()}
    assert after == before


# Orphans.


def test_a_recurring_orphan_is_put_back_at_its_next_time(
    doctor: Doctor, client: Any, name: str, peer: NativeBroker
) -> None:
    id, data = payload("* * * * 9 0 0")
    client.hset(f"{name}:jobs", id, data)
    finding = only(doctor, "no-item")
    assert finding.about == (id,)
    assert finding.remedy == f"workkit doctor {name} --fix"
    repaired(doctor, finding)
    ((item, due),) = client.zrange(f"{name}:next", 0, -1, withscores=True)
    at = datetime.fromtimestamp(due / 1000, UTC)
    assert item == wire.item(id)
    assert (at.hour, at.minute, at.second) == (9, 0, 0)
    assert timedelta() < at - datetime.now(UTC) <= timedelta(days=1)
    assert found(doctor) == []


def test_a_one_shot_whose_time_is_to_come_is_put_back_at_that_time(
    doctor: Doctor, client: Any, name: str, peer: NativeBroker
) -> None:
    cron, due = fixed(timedelta(hours=1))
    id, data = payload(cron)
    client.hset(f"{name}:jobs", id, data)
    repaired(doctor, only(doctor, "no-item"))
    assert client.zrange(f"{name}:next", 0, -1, withscores=True) == [(wire.item(id), due)]


def test_a_one_shot_whose_time_is_over_waits_out_the_patience_and_runs_at_once(
    doctor: Doctor, client: Any, name: str, server: Server
) -> None:
    s = schedule.create(name, redis=server.url)
    cron, _ = fixed(-timedelta(hours=2))
    id, data = payload(cron)
    client.hset(f"{name}:jobs", id, data)
    assert found(doctor, patience_ms=3 * 3_600_000) == []
    repaired(doctor, only(doctor, "no-item", patience_ms=3_600_000))
    assert ran(s) == 1
    assert keys(client, name) == {}


def test_a_recurrence_that_is_over_counts_from_its_last_time(doctor: Doctor, client: Any, name: str) -> None:
    hour_ago = datetime.now(UTC) - timedelta(hours=1)
    id, data = payload("* * * * * * *", until=round(hour_ago.timestamp() * 1000))
    client.hset(f"{name}:jobs", id, data)
    assert found(doctor, patience_ms=2 * 3_600_000) == []
    only(doctor, "no-item", patience_ms=1_800_000)


@pytest.mark.parametrize("where", ["item", "spaced item", "again", "held", "held by an unlisted listener", "ended"])
def test_what_something_refers_to_is_no_orphan(
    doctor: Doctor, client: Any, name: str, peer: NativeBroker, where: str
) -> None:
    id, data = payload("* * * * 9 0 0")
    item = b'{ "id" : "%b" , "n": 1 }' % id.encode() if where == "spaced item" else wire.item(id)
    later = time.time() * 1000 // 1 + DAY
    client.hset(f"{name}:jobs", id, data)
    entry = b"r %d 0 0 - " % later + item
    expected = set()
    if where in ("item", "spaced item"):
        client.zadd(f"{name}:next", {item: later})
    elif where == "again":
        client.zadd(f"{name}:again", {entry: later})
    elif where == "held":
        client.hset(f"{name}:running:{peer.listener}", b"1." + item, b"%d" % later)
    elif where == "held by an unlisted listener":
        client.hset(f"{name}:running:gone:1:0123456789ab", b"1." + item, entry)
        expected = {"unlisted"}
    else:
        client.sadd(f"{name}:ended", id)
        client.zadd(f"{name}:slots", {f"run:{id}\0{id}@5": 0})
        client.hset(f"{name}:running:{peer.listener}", b"1." + item, b"o 5 0 0 - " + item)
    assert {f.kind for f in found(doctor, patience_ms=0)} == expected


@pytest.mark.parametrize("back", [b'{"id":"%b"}', b'{ "id" : "%b" }'])
def test_an_orphan_that_came_back_meanwhile_is_left_alone(
    doctor: Doctor, client: Any, name: str, peer: NativeBroker, back: bytes
) -> None:
    foreign, data = payload("* * * * 8 0 0")  # with an item of a foreign peer about, all texts are looked at
    client.hset(f"{name}:jobs", foreign, data)
    client.zadd(f"{name}:next", {b'{"id": "%b"}' % foreign.encode(): 9e12})
    id, data = payload("* * * * 9 0 0")
    client.hset(f"{name}:jobs", id, data)
    finding = only(doctor, "no-item")
    client.zadd(f"{name}:next", {back % id.encode(): 5})
    before = keys(client, name)
    assert not doctor.repair(finding)
    assert keys(client, name) == before


def test_many_orphans_are_told_up_to_a_thousand(doctor: Doctor, client: Any, name: str) -> None:
    client.hset(f"{name}:jobs", mapping=dict(payload(n=i) for i in range(1_300)))
    findings = found(doctor)
    assert [f.kind for f in findings] == ["no-item"] * 1001
    assert len({f.about for f in findings[:-1]}) == 1000
    assert findings[-1].what.startswith("and 300 more")
    assert not findings[-1].repairs


# Listeners.


def test_work_without_a_listener_is_told(doctor: Doctor, client: Any, name: str, server: Server) -> None:
    s = schedule.create(name, redis=server.url)
    schedule.add(s, handlers.note, in_="1 hour")
    schedule.add_now(s, handlers.note)
    finding = only(doctor, "no-listener")
    assert finding.what == f"nobody listens to {name}, and 2 jobs wait, 1 of them due"
    assert finding.remedy == f"workkit listen {name}"


def test_a_listener_that_does_not_beat_is_stuck_or_gone(doctor: Doctor, client: Any, name: str, server: Server) -> None:
    s = schedule.create(name, redis=server.url)
    schedule.add_now(s, handlers.note)
    broker = registered(server, name)
    assert len(broker.claim(10).claims) == 1
    client.zadd(f"{name}:listeners", {broker.listener: time.time() * 1000 // 1 - 120_000})
    finding = only(doctor, "stuck")
    assert "for 2 min and holds 1 job, " in finding.what
    assert f"process {os.getpid()} exists" in finding.what
    assert f"kill -9 {os.getpid()} ends one that does not move" in finding.remedy
    assert "USR2" not in finding.remedy, "a signal that needs the interpreter"
    elsewhere = broker.listener.replace(socket.gethostname(), "web-1.example")
    client.rename(f"{name}:running:{broker.listener}", f"{name}:running:{elsewhere}")
    client.hdel(f"{name}:running:{elsewhere}", "info")
    client.zadd(f"{name}:listeners", {elsewhere: time.time() * 1000 // 1 - 120_000})
    client.zrem(f"{name}:listeners", broker.listener)
    finding = only(doctor, "stale")
    assert finding.about == (elsewhere,)
    assert "No listener is there to take its jobs over." in finding.why
    broker.close()


def test_mixed_versions_are_told(doctor: Doctor, server: Server, name: str, peer: NativeBroker) -> None:
    newer = registered(server, name, version="0.2.0")
    finding = only(doctor, "versions")
    assert finding.what.endswith("0.1.0 (1), 0.2.0 (1)")
    assert set(finding.about) == {peer.listener, newer.listener}
    newer.close()


def test_jobs_that_every_listener_has_given_back_are_told_by_function(
    doctor: Doctor, client: Any, server: Server, name: str, peer: NativeBroker
) -> None:
    other = registered(server, name)
    ids = [payload(fn=fn, n=n) for n, fn in enumerate(["#'os/system", "#'os/system", "#'app/other"])]
    for id, data in ids:
        client.hset(f"{name}:jobs", id, data)
        client.zadd(f"{name}:next", {wire.item(id): 5})
    client.sadd(f"{name}:skip:{peer.listener}", *(id for id, _ in ids))
    client.sadd(f"{name}:skip:{other.listener}", *(id for id, _ in ids[:2]))
    findings = {f.kind: f for f in found(doctor)}
    assert set(findings) == {"nobody-runs", "overdue"}
    assert set(findings["nobody-runs"].about) == {id for id, _ in ids[:2]}
    assert findings["nobody-runs"].what.startswith("os.system: none of the 2 listeners can run it (2 jobs: ")
    assert findings["overdue"].what.startswith("1 job is due for more than a minute")
    other.close()


def test_overdue_work_and_the_dead_are_counted(doctor: Doctor, client: Any, name: str, peer: NativeBroker) -> None:
    now = time.time() * 1000 // 1
    id, data = payload()
    client.hset(f"{name}:jobs", id, data)
    client.zadd(f"{name}:next", {wire.item(id): now - 61_000})
    client.zadd(f"{name}:again", {b"o 5 1 0 - " + wire.item(id): now - 7_200_000})
    client.zadd(f"{name}:dead", {"a@5": 5, "b@5": 6})
    whats = {f.kind: f.what for f in found(doctor)}
    assert whats == {
        "overdue": "2 jobs are due for more than a minute; the oldest for 2 h",
        "dead": "2 jobs failed for good",
    }


def test_names_and_descriptions_that_cannot_be_read_break_nothing(
    doctor: Doctor, client: Any, name: str, peer: NativeBroker
) -> None:
    client.zadd(f"{name}:listeners", {b"\xff\xfe": time.time() * 1000 // 1})
    client.hset(f"{name}:running:web-1:1:0123456789ab", mapping={"@": 1, "info": b"\xc1"})
    client.zadd(f"{name}:listeners", {"web-1:1:0123456789ab": 5})
    for entry in (b"nonsense", b"\xff", b"", b"r 5 " + b"9" * 5000 + b" 0 - x", b"o nan 1 0 -#\xff {}"):
        client.zadd(f"{name}:again", {entry: 9e12})
    id, data = payload("* * * * 9 0 0")
    client.hset(f"{name}:jobs", id, data)
    kinds = Counter(f.kind for f in found(doctor))
    assert kinds == {"no-item": 1, "stale": 1, "unread": 6}


# Keys of another type.


@pytest.mark.parametrize(
    "key",
    [
        "jobs", "next", "listeners", "again", "ended", "slots", "errors", "dead", "graves", "wake", "watch",
        "cancelled", "stats",
    ],
)  # fmt: skip
def test_a_key_of_another_type_is_told_and_never_touched(doctor: Doctor, client: Any, name: str, key: str) -> None:
    client.xadd(f"{name}:{key}", {"x": "y"})
    before = client.dump(f"{name}:{key}")
    finding = only(doctor, "wrong-type")
    assert finding.about == (f"{name}:{key}",)
    assert not finding.repairs
    assert not doctor.repair(finding)
    assert client.dump(f"{name}:{key}") == before


def test_a_record_hash_of_another_type_is_told(doctor: Doctor, client: Any, name: str, peer: NativeBroker) -> None:
    client.delete(f"{name}:running:{peer.listener}")
    client.set(f"{name}:running:{peer.listener}", "x")
    assert only(doctor, "wrong-type").about == (f"{name}:running:{peer.listener}",)


# Load.


def test_a_listener_at_full_speed_raises_no_alarm(
    server: Server, name: str, doctor: Doctor, client: Any, processes: Processes, tmp_path: Path
) -> None:
    (tmp_path / "app.py").write_text(
        "import random\n"
        "from workkit import Retry, current_job, job\n"
        "def note(n): pass\n"
        "def shaky(n):\n"
        "    if random.random() < 0.5: raise Retry(after='0s')\n"
        "@job(retries=1, backoff='constant', base='1s')\n"
        "def broken(n):\n"
        "    if not current_job().attempt: raise OSError('once')\n"
    )
    s = schedule.create(name, redis=server.url)
    listeners = [processes.workkit("listen", name, "--redis", server.url) for _ in range(2)]
    for listener in listeners:
        listener.wait_for("listening")
    for n in range(20):
        schedule.add(s, f"app:{('note', 'broken')[n % 2]}", every="second", args=[n])
    over = threading.Event()

    def produce() -> None:
        n, waiting = 0, server.client()
        while not over.is_set():
            if waiting.hlen(f"{name}:jobs") > 1_000:
                over.wait(0.02)
                continue
            fns = ("app:note", "app:note", "app:shaky", "app:broken")
            schedule.add_many(s, ({"fn": fns[k % 4], "at": "now", "args": [n + k]} for k in range(200)))
            n += 200

    producer = threading.Thread(target=produce)
    producer.start()
    try:
        until(lambda: client.exists(f"{name}:errors", f"{name}:slots", f"{name}:again") == 3)
        for _ in range(6):
            assert found(doctor, patience_ms=0) == []
    finally:
        over.set()
        producer.join()
    done = sum(int(n) for field, n in client.hgetall(f"{name}:stats").items() if field.startswith(b"done"))
    assert done > 1_000
    for listener in listeners:
        listener.close()


def test_a_hundred_thousand_jobs_take_a_few_seconds(name: str, doctor: Doctor, client: Any, peer: NativeBroker) -> None:
    begin = datetime(2040, 1, 1, tzinfo=UTC)
    for start in range(0, 100_000, 5_000):
        jobs, items = {}, {}
        for n in range(start, start + 5_000):
            at = begin + timedelta(seconds=n)
            id, data = payload(f"{at.year} {at.month} {at.day} * {at.hour} {at.minute} {at.second}")
            jobs[id], items[wire.item(id)] = data, round(at.timestamp() * 1000)
        client.hset(f"{name}:jobs", mapping=jobs)
        client.zadd(f"{name}:next", items)
    begun = time.process_time()  # not what other processes take meanwhile
    silent = {"stuck", "no-listener"}  # the listener of this test has sent no heartbeat while all this was written
    assert [one for one in found(doctor) if one.kind not in silent] == []
    assert time.process_time() - begun < 15


def test_huge_payloads_are_read_a_few_at_a_time(name: str, doctor: Doctor, client: Any, peer: NativeBroker) -> None:
    for n in range(20):
        data = json.dumps({"job": "a:b", "cron": "* * * * 9 0 0", "args": ["x" * 1_000_000, n]}).encode()
        client.hset(f"{name}:jobs", wire.job_id(data), data)
        client.zadd(f"{name}:next", {wire.item(wire.job_id(data)): 9e12})
    assert found(doctor) == []
