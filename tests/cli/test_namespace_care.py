"""`doctor` and `wire` over a gocraft namespace, as they are typed and read."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
import redis

from tests.brokers.gocraft.doctor.checkups import text
from tests.cli.conftest import Run
from tests.servers import Server
from workkit import schedule
from workkit.brokers.gocraft.doctor.judge import UNREADABLE
from workkit.brokers.gocraft.keys import Keys

LAYOUT = ("--layout", "gocraft")


@pytest.fixture
def client(server: Server, monkeypatch: pytest.MonkeyPatch) -> Any:
    """A client; what the shared server itself lacks is no finding."""
    monkeypatch.setenv("WORKKIT_REDIS_URL", server.url)
    monkeypatch.setattr("workkit.brokers.gocraft.doctor.DEAD_MS", 0)
    monkeypatch.setattr("workkit.brokers.redis_server.doctor.Host._persistence", lambda self: iter(()))
    return redis.Redis.from_url(server.url)


def test_all_is_well_in_what_workkit_writes(run: Run, client: Any, name: str, server: Server) -> None:
    s = schedule.create(name, redis=server.url, layout="gocraft")
    schedule.add(s, "mail", in_="1 hour", kwargs={"a": 1})
    schedule.add(s, "mail", at="7pm tomorrow", unique_key="k", kwargs={"a": [1.5, "é"]})
    ran = run("wire", "verify", name, *LAYOUT, "--strict")
    assert ran == (0, f"{name}: all is well. 5 keys and 2 job texts.\n", "")
    assert run("wire", "verify", name, *LAYOUT, "--json") == (0, "[]\n", "")
    ran = run("doctor", name, *LAYOUT)
    assert (ran.status, ran.err) == (0, "")
    assert ran.out.endswith(f"\n\n{name}: all is well\n")


def test_a_finding_says_what_why_and_the_command_and_is_repaired(run: Run, client: Any, name: str) -> None:
    keys = Keys(name)
    client.sadd(keys.known_jobs, "mail")
    client.set(keys.lock("mail"), 20519)
    ran = run("doctor", name, *LAYOUT)
    assert ran.status == 1
    assert ran.out.split("\n\n")[1].splitlines() == [
        f"{name}: 1 finding",
        "  lock  the lock of mail is 20519, and 0 jobs are in progress",
        "    Slots that nobody uses count as taken. If the name has a limit, fewer jobs start, or none.",
        f"    > workkit doctor {name} --layout gocraft --fix",
    ]
    (record,) = json.loads(run("doctor", name, *LAYOUT, "--json").out)
    assert (record["schedule"], record["kind"], record["repairs"]) == (name, "lock", True)
    ran = run("doctor", name, *LAYOUT, "--fix", "--yes")
    assert (ran.status, ran.err) == (0, "repaired 1 of 1; all is well now.\n")
    assert client.get(keys.lock("mail")) == b"0"
    assert run("doctor", name, *LAYOUT, "--fix", "--yes").status == 0


def test_patience_is_said_on_the_command_line(run: Run, client: Any, name: str) -> None:
    client.sadd(Keys(name).known_jobs, "mail")
    client.set(Keys(name).unique("mail", ""), 1, ex=86_400 - 1800)
    assert run("doctor", name, *LAYOUT).status == 1
    assert run("doctor", name, *LAYOUT, "--older-than", "1 hour").status == 0


def test_verify_names_each_thing_the_worst_first(run: Run, client: Any, name: str) -> None:
    keys = Keys(name)
    client.sadd(keys.known_jobs, "mail")
    client.lpush(keys.queue("mail"), b"\xff", text(name="mail", id="b" * 24, args={"n": 2**60}))
    client.set(keys.unique("mail", ""), 1, ex=86_400)
    ran = run("wire", "verify", name, *LAYOUT)
    assert ran.status == 1
    assert ran.out.splitlines() == [
        rf"deviation  {keys.queue('mail')}  \xff  the job text is not JSON: a value is missing or broken (at byte 0)",
        f"  {UNREADABLE.why}",
        "",
        f"orphan  {keys.unique('mail', '')}  no job has this unique key",
        "  While it is there, a job with this unique key cannot be added.",
        "",
        f"hazard  {keys.queue('mail')}  {'b' * 24}  its arguments have the integer {2**60}",
        "  Go handlers read numbers as floats, and a Go pool that moves or retries the job writes other digits.",
        "",
        f"{name}: 1 deviation, 1 orphan and 1 hazard in 3 keys and 2 job texts.",
        f"  > workkit doctor {name} --layout gocraft --fix   repairs 2 of them",
    ]
    records = json.loads(run("wire", "verify", name, *LAYOUT, "--json").out)
    assert [(one["severity"], one["kind"]) for one in records] == [
        ("hazard", "number"),
        ("deviation", "unreadable"),
        ("orphan", "leaked"),
    ]
    assert records[1]["text_base64"] == "/w=="
    assert run("wire", "verify", name, *LAYOUT, "--where", "b" * 24).status == 0
    assert run("wire", "verify", name, *LAYOUT, "--where", "b" * 24, "--strict").status == 1


def test_dump_shows_every_key_with_its_bytes(run: Run, client: Any, name: str, tmp_path: Path) -> None:
    keys = Keys(name)
    client.lpush(keys.queue("mail"), b"a/\xc3\xa9", b"\xff")
    client.zadd(keys.dead, {b"x": 1.5})
    client.sadd(keys.known_jobs, "mail")
    ran = run("wire", "dump", name, *LAYOUT)
    assert ran.out.splitlines() == [
        f"{keys.dead}  zset",
        "  x  1.5",
        f"{keys.queue('mail')}  list",
        r"  \xff",
        "  a/é",
        f"{keys.known_jobs}  set",
        "  mail",
    ]
    assert ran.err == f"4 shown; {name} has 3 keys.\n"
    records = json.loads(run("wire", "dump", name, *LAYOUT, "--json", "--limit", "2").out)
    assert records == [
        {"key": keys.dead, "type": "zset", "text": "x", "score": "1.5"},
        {"key": keys.queue("mail"), "type": "list", "text": None, "text_base64": "/w=="},
    ]
