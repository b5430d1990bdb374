"""Two hundred hostile records among three hundred good jobs: the good ones run on time, nothing breaks, and each bad
one is in the dead set, said in the log, or told by `doctor`, which then clears them away.
"""

from __future__ import annotations

import json
import random
import re
import signal
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from hashlib import sha1
from pathlib import Path
from typing import Any, Literal

import msgpack

from tests.metronome import Metronome
from tests.processes import Process, Processes, until
from tests.servers import Server
from workkit import schedule, wire
from workkit.brokers.connect import open_broker

APP = """
import os, subprocess, redis
from workkit import current_job
r = redis.Redis.from_url(os.environ["SEEN"])
def good(key): r.rpush("good", f"{key} {current_job().lateness.total_seconds():.3f}")
def hostile(*args): r.sadd("ran", current_job().id.encode("utf-8", "surrogatepass"))
def _secret(*args): r.set("pwned", 1)
"""
SEED = 20261120
LATEST = 5.0  # seconds late, for nine jobs in ten; one second is asked for, and a listener that stops costs ten
Fate = Literal["runs", "dead", "missing", "unrun", "told", "runs when repaired"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Record:
    """One hostile record: a field of S:jobs, if any, an item of S:next with its score, if any; what becomes of it."""

    kind: str
    fate: Fate
    id: bytes = b""
    payload: bytes | None = None
    item: bytes | None = None
    score: float | str = 1394012056000

    @property
    def dead_bytes(self) -> bytes | None:
        return self.item if self.payload is None else self.payload


def stored(
    kind: str, fate: Fate, payload: bytes, *, score: float | str = 1394012056000, has_item: bool = True
) -> Record:
    id = sha1(payload).hexdigest().encode()
    item = b'{"id":"%b"}' % id if has_item else None
    return Record(kind=kind, fate=fate, id=id, payload=payload, item=item, score=score)


def job(fn: str = "#'app/hostile", cron: str = "2014 3 5 * 9 34 16", args: Any = (), **extra: Any) -> bytes:
    return json.dumps({"job": fn, "cron": cron, "args": list(args), **extra}).encode()


def text(n: int, *, fn: str = "#'app\\/hostile", cron: str = '"2014 3 5 * 9 34 16"', args: str = "[]") -> bytes:
    """A payload out of raw JSON."""
    return f'{{"n":{n},"job":"{fn}","cron":{cron},"args":{args}}}'.encode()


FORBIDDEN = (
    "#'app/_secret", "#'os/system", "#'app/os.system", "#'subprocess/run", "#'app/subprocess.run", "#'builtins/eval",
    "#'app/r.flushall", "#'app/__builtins__.eval", "#'redis/Redis",
)  # fmt: skip
CODE = (
    "__import__('os').system('touch pwned')", "(fn [] (System/exit 0))", "#=(eval (println 1))",
    "lambda: open('pwned', 'w')", "", " ", "#'", "#'/", "app:", ":hostile", "../app:hostile",
)  # fmt: skip
KINDS: dict[str, Callable[[int, random.Random], Record]] = {
    "wrong JSON type": lambda n, r: stored(
        "", "dead", r.choice([f"{n}", f'"{n}"', f"[{n}]", "null " + " " * n, f"{n}.5"]).encode()
    ),
    "cut JSON": lambda n, r: stored("", "dead", text(n)[: r.randrange(5, len(text(n)) - 1)]),
    "not UTF-8": lambda n, r: stored("", "dead", b'{"job":"' + b"\xff" + r.randbytes(20) + b'"}'),
    "noise": lambda n, r: stored("", "dead", b"\x00" + r.randbytes(200)),
    "huge": lambda n, r: stored("", "runs", job(args=["x" * 1_000_000, n])),
    "huge noise": lambda n, r: stored("", "dead", r.randbytes(1_000_000)),
    "no payload": lambda n, r: Record(kind="", fate="missing", item=b'{"id":"%040x"}' % (n + 1)),
    "no payload, later": lambda n, r: Record(
        kind="", fate="told", id=b"%040x" % (n + 5000), item=b'{"id":"%040x"}' % (n + 5000), score=9e12
    ),
    "unknown function": lambda n, r: stored(
        "", "unrun", job(r.choice(["#'app/nope", "#'nowhere.at.all/f", "app:good:bad", f"#'app.sub{n}/f"]), args=[n])
    ),
    "private or standard": lambda n, r: stored(
        "",
        "unrun",
        job(r.choice(FORBIDDEN), args=["touch pwned", n]),
    ),
    "code": lambda n, r: stored(
        "",
        "unrun",
        job(r.choice(CODE), args=[n]),
    ),
    "unreadable cron": lambda n, r: stored(
        "", "dead", job(cron=r.choice(["* * *", "", "x y z a b c d", "60 * * * * * *", "* " * 900]), args=[n])
    ),
    "cron that is no text": lambda n, r: stored("", "dead", text(n, cron=r.choice(["5", "null", "[]", "{}", "true"]))),
    "cron that never fires": lambda n, r: stored("", "runs", job(cron="* 2 30 * 0 0 0", args=[n])),
    "deep nesting": lambda n, r: stored("", "dead", text(n, args="[" * 50_000 + "]" * 50_000)),
    "nested": lambda n, r: stored("", "runs", text(n, args="[" * 200 + "]" * 200)),
    "NaN": lambda n, r: stored("", "dead", text(n, args=r.choice(["[NaN]", "[Infinity]", "[-Infinity]"]))),
    "huge integer": lambda n, r: stored("", "dead", text(n, args="[" + "9" * 5_000 + "]")),
    "large integer": lambda n, r: stored("", "runs", text(n, args="[" + "9" * 400 + ",1e400,-0.0]")),
    "item not JSON": lambda n, r: Record(
        kind="", fate="dead", item=r.choice([b"nonsense", b"\xff\xfe", b'{"id":', b"[]", b"\x00"]) + b"%d" % n
    ),
    "item without an id": lambda n, r: Record(
        kind="", fate="dead", item=r.choice([b'{"ID":"%d"}', b'{"id":%d}', b'{"id":null,"n":%d}', b"[%d]"]) % n
    ),
    "item with more fields": lambda n, r: _with_item(job(args=[n]), b'{"n": 1, "id" : "%b", "date": [1]}'),
    "id of another length": lambda n, r: _under(b"%x" % (n + 3), job(args=[n])),
    "id in upper case": lambda n, r: _under(sha1(b"%d" % n).hexdigest().upper().encode(), job(args=[n])),
    "duplicate keys": lambda n, r: stored("", "runs", b'{"job":"os:system","job":"app:hostile",' + text(n)[1:]),
    "args not a list": lambda n, r: stored("", "dead", text(n, args=r.choice(["{}", '"x"', "5", "true"]))),
    "float score": lambda n, r: stored("", "runs", job(args=[n]), score=1394012056000.5),
    "negative score": lambda n, r: stored("", "runs", job(args=[n]), score=-1 - n),
    "-inf": lambda n, r: stored("", "runs", job(args=[n]), score="-inf"),
    "+inf": lambda n, r: stored("", "runs when repaired", job(args=[n]), score="+inf"),
    "1e308": lambda n, r: stored("", "runs when repaired", job(args=[n]), score=1e308),
    "lone surrogate": lambda n, r: stored("", "runs", text(n, args='["\\ud800","\\udfff\\ud800"]')),
    "lone surrogate in the name": lambda n, r: stored("", "unrun", text(n, fn="#'app\\/\\ud800")),
    "lone surrogate in the item": lambda n, r: Record(kind="", fate="dead", item=b'{"id":"\\ud800%d"}' % n),
    "NUL": lambda n, r: stored("", "runs", text(n, args='["\\u0000"]')),
    "NUL in the name": lambda n, r: stored("", "unrun", text(n, fn="#'app\\/hostile\\u0000")),
    "raw NUL": lambda n, r: stored("", "dead", text(n) + b"\x00"),
    "empty": lambda n, r: Record(kind="", fate="dead", id=b"%040x" % n, payload=b"", item=b'{"id":"%040x"}' % n),
    "no item": lambda n, r: stored("", "runs when repaired", job(args=[n, "lost"]), has_item=False),
    "unreadable, no item": lambda n, r: stored("", "told", b"{%d" % n, has_item=False),
    "unreadable, id is no text": lambda n, r: Record(kind="", fate="told", id=b"\xff%d" % n, payload=b"{%d" % n),
}


def _with_item(payload: bytes, item: bytes) -> Record:
    id = sha1(payload).hexdigest().encode()
    return Record(kind="", fate="runs", id=id, payload=payload, item=item % id)


def _under(id: bytes, payload: bytes) -> Record:
    return Record(kind="", fate="runs", id=id, payload=payload, item=b'{"id":"%b"}' % id)


def hostile(count: int) -> Iterator[Record]:
    chance, kinds = random.Random(SEED), list(KINDS)
    for n in range(count):
        kind = kinds[n % len(kinds)]
        made = KINDS[kind](n, chance)
        yield Record(kind=kind, fate=made.fate, id=made.id, payload=made.payload, item=made.item, score=made.score)


def write(client: Any, name: str, records: Iterable[Record]) -> None:
    for record in records:
        if record.payload is not None:
            client.hset(f"{name}:jobs", record.id, record.payload)
        if record.item is not None:
            client.zadd(f"{name}:next", {record.item: record.score})


def good(client: Any, name: str, *, begin: datetime) -> int:
    """280 one-shots over seven seconds, and 20 jobs that recur each second, as a foreign peer writes them."""
    for n in range(300):
        at = begin + timedelta(seconds=n % 7)
        fixed = f"{at.year} {at.month} {at.day} * {at.hour} {at.minute} {at.second}"
        cron = fixed if n < 280 else "* * * * * * *"
        data = wire.payload(cron=cron, job="#'app/good", args=[f"{'once' if n < 280 else 'each'}-{n}"])
        client.hset(f"{name}:jobs", wire.job_id(data), data)
        client.zadd(f"{name}:next", {wire.item(wire.job_id(data)): round(at.timestamp() * 1000)})
    return 280


def lateness(client: Any) -> dict[str, list[float]]:
    out: dict[str, list[float]] = {}
    for line in client.lrange("good", 0, -1):
        key, late = line.decode().split()
        out.setdefault(key, []).append(float(late))
    return out


def dead_bytes(client: Any, name: str) -> set[bytes]:
    kept = [msgpack.unpackb(grave, raw=True) for grave in client.hvals(f"{name}:graves")]
    return {one[b"payload"] if one[b"payload"] is not None else one[b"member"] for one in kept}


def doctor(processes: Processes, server: Server, name: str, *words: str) -> tuple[int, list[dict[str, Any]]]:
    process = processes.workkit("doctor", name, "--json", "--older-than", "1s", *words, "--redis", server.url)
    status = process.wait(timeout=60)
    assert "Traceback" not in "\n".join(process.err), process.transcript()
    return status, json.loads("\n".join(process.out))


def said(data: bytes) -> str:
    """As `doctor` tells bytes."""
    return data[:200].decode("utf-8", "backslashreplace")


def is_told(record: Record, about: set[str]) -> bool:
    return said(record.id) in about or (record.item is not None and said(record.item) in about)


def check_fates(records: list[Record], *, ran: set[bytes], dead: set[bytes], about: set[str], log: str) -> None:
    for record in records:
        told, is_dead, has_run = is_told(record, about), record.dead_bytes in dead, record.id in ran
        assert has_run == (record.fate == "runs"), record
        assert is_dead == (record.fate == "dead"), record
        if record.fate in ("told", "unrun", "runs when repaired"):
            assert told, record
        if record.fate == "missing":
            assert re.search(rf"missing +{json.loads(record.item or b'')['id'][:8]}", log), record


def left(client: Any, name: str, records: list[Record]) -> list[Record]:
    jobs, items = set(client.hkeys(f"{name}:jobs")), set(client.zrange(f"{name}:next", 0, -1))
    again = b"\n".join(client.zrange(f"{name}:again", 0, -1))
    return [
        record
        for record in records
        if (record.payload is not None and record.id in jobs)
        or (record.item is not None and (record.item in items or record.item in again))
    ]


def test_hostile_records_harm_nothing_and_can_be_cleared_away(
    server: Server, name: str, processes: Processes, tmp_path: Path, machine: Metronome
) -> None:
    (tmp_path / "app.py").write_text(APP)
    client, records = server.client(), list(hostile(200))
    assert len({(record.id, record.item) for record in records}) == 200
    listener = processes.workkit("listen", name, "--redis", server.url, env={"SEEN": server.url})
    listener.wait_for("listening")
    expected = good(client, name, begin=datetime.now(UTC).replace(microsecond=0) + timedelta(seconds=2))
    write(client, name, records)

    until(lambda: client.llen("good") >= expected + 20 * 7, what="the good jobs")
    until(lambda: len(lateness(client)) == 300, what="each of the good jobs")
    runs = lateness(client)
    late = sorted(late for found in runs.values() for late in found)
    assert late[len(late) * 9 // 10] < LATEST + machine.slack, listener.transcript()
    assert late[-1] < 3 * LATEST + machine.slack, listener.transcript()
    assert all(len(found) == 1 for key, found in runs.items() if key.startswith("once"))

    until(lambda: settled(client, name, records), what="every hostile record that is due to be settled")
    assert listener.is_running
    status, findings = doctor(processes, server, name)
    assert status == 1
    about = {one for finding in findings for one in finding["about"]}
    check_fates(
        records,
        ran=client.smembers("ran"),
        dead=dead_bytes(client, name),
        about=about,
        log="\n".join(listener.lines),
    )
    clear(processes, server, name, findings)
    until(lambda: not left(client, name, records), what="nothing of the hostile records to be left")
    repaired = {record.id for record in records if record.fate == "runs when repaired"}
    until(lambda: repaired <= client.smembers("ran"), what="the repaired ones to run")
    check_end(client, listener, name, tmp_path)
    _, findings = doctor(processes, server, name)
    assert {finding["kind"] for finding in findings} <= {"no-append-file"}
    listener.send(signal.SIGTERM)
    assert listener.wait() == 0


def settled(client: Any, name: str, records: list[Record]) -> bool:
    """Whether the listener has come to all it can come to: the rest is what it cannot run, or is never due."""
    still = {record.fate for record in left(client, name, records)}
    skipped = sum(client.scard(key) for key in client.scan_iter(f"{name}:skip:*"))
    unrun = sum(record.fate == "unrun" for record in records)
    return still <= {"unrun", "told", "runs when repaired"} and skipped == unrun


def clear(processes: Processes, server: Server, name: str, findings: list[dict[str, Any]]) -> None:
    """What the findings say: repair, forget the dead, cancel what nobody runs."""
    status, repaired = doctor(processes, server, name, "--fix", "--yes")
    assert status == 1  # the dead, and what nobody runs, stay
    assert all(finding["repaired"] for finding in repaired if finding["repairs"])
    s = schedule.create(name, redis=server.url)
    for finding in findings:
        for id in finding["about"] if finding["kind"] == "nobody-runs" else ():
            schedule.cancel(s, id)
    broker = open_broker(name, redis=server.url)
    dead = list(broker.inspector.jobs(state="dead"))
    assert broker.admin.discard(dead[:500]) == len(dead)


def check_end(client: Any, listener: Process, name: str, folder: Path) -> None:
    log = "\n".join(listener.lines)
    assert "Traceback" not in log, log
    assert "itself failed" not in log, log
    assert not (folder / "pwned").exists()
    assert not client.exists("pwned", f"{name}:dead", f"{name}:graves", f"{name}:errors", f"{name}:ended")
    count = client.llen("good")
    until(lambda: client.llen("good") >= count + 40, what="two more runs of what recurs")
