"""`wire` as it is typed and read."""

from __future__ import annotations

import base64
import json
import os
import pty
import re
import sys
from pathlib import Path
from typing import Any

import pytest

from tests.cli.conftest import Run, begin
from tests.servers import Server
from workkit import schedule, wire
from workkit.brokers.connect import open_broker
from workkit.contract.listener import Claim, ListenerInfo
from workkit.jobs.outcome import Again, Failure

DUE = 4_102_444_800_000
ISO = "2100-01-01T00:00:00.000Z"
ODD = b'{"args":[],"cron":"* * * * 9 0 0","job":"a.b:c\xff"}'


@pytest.fixture(autouse=True)
def _soon(monkeypatch: pytest.MonkeyPatch, server: Server) -> None:
    """Let the second look at an orphan follow at once; the moment between is for foreign peers, and none is here."""
    monkeypatch.setattr("workkit.brokers.native.look.published.MOMENT", 0.01)
    monkeypatch.setenv("WORKKIT_REDIS_URL", server.url)


def put(server: Server, name: str, data: bytes, *, item: bytes | None = b'{"id":"%b"}', score: float = DUE) -> str:
    client = server.client()
    id = wire.job_id(data)
    client.hset(f"{name}:jobs", id, data)
    if item is not None:
        client.zadd(f"{name}:next", {item % id.encode(): score})
    return id


def payload(**changed: Any) -> bytes:
    return wire.payload(**({"cron": "* * * * 9 0 0", "job": "#'app/hi", "args": [1]} | changed))


# Dump.


def test_dump_shows_every_byte_of_a_pair(run: Run, server: Server, name: str) -> None:
    id = put(server, name, payload(args=["a/é"]))
    ran = run("wire", "dump", name)
    head, due, *rest = ran.out.splitlines()
    assert ran.status == 0
    assert head == f"{id}  the SHA-1 of the job"
    assert re.fullmatch(rf"  due    {DUE}  {ISO}, in [\d,]+ d( \d+ h)?", due)
    assert rest == [
        f'  item   {{"id":"{id}"}}',
        r"""  job    {"args":["a\/\u00e9"],"cron":"* * * * 9 0 0","job":"#'app\/hi"}""",
        "",
    ]
    assert ran.err == f"1 shown; {name}:jobs holds 1 job, {name}:next 1 item.\n"


def test_dump_shows_halves_and_what_is_no_text(run: Run, server: Server, name: str) -> None:
    client = server.client()
    alone = put(server, name, payload(), item=None)
    odd = put(server, name, ODD, score=5.5)
    client.hset(f"{name}:jobs", "J", payload(args=[2]))
    client.zadd(f"{name}:next", {b'{"id":"J"}': 6, b'{"id":"gone"}': 7, b"\x1b\xff": 8})
    out = run("wire", "dump", name).out
    blocks = out.split("\n\n")[:-1]
    assert [block.splitlines()[0].split("  ")[0] for block in blocks] == [odd, "J", "gone", "no id in the item", alone]
    assert "  due    5.5  1970-01-01T00:00:00.005Z, " in blocks[0]
    assert r'"job":"a.b:c\xff"}' in blocks[0]
    assert f"not the SHA-1 of the job, which is {wire.job_id(payload(args=[2]))}" in blocks[1]
    assert blocks[2].endswith("  job    none")
    assert r"  item   \x1b\xff" in blocks[3]
    assert "  item   none\n" in blocks[4]


def test_dump_as_json_loses_no_byte(run: Run, server: Server, name: str) -> None:
    client = server.client()
    id = put(server, name, payload())
    odd = put(server, name, ODD, score=float("inf"))
    client.zadd(f"{name}:next", {b"\xff": 1.5, b'{"id":"\xc3\xa9"}': 2})
    ran = run("wire", "dump", name, "--json")
    lines = ran.out.splitlines()
    assert lines[0].startswith("[{")
    assert all(json.loads(line.strip("[],")) for line in lines)
    first, second, third, last = json.loads(ran.out)
    assert base64.b64decode(first["item_base64"]) == b"\xff"
    assert (first["id"], first["item"], first["payload"], first["score"]) == (None, None, None, 1.5)
    assert (second["id"], second["item"], second["orphan"]) == ("é", '{"id":"é"}', True)
    assert third == {
        "id": id,
        "payload": payload().decode(),
        "item": wire.item(id).decode(),
        "sha1": True,
        "score": DUE,
        "due": ISO,
        "orphan": False,
    }
    assert (last["id"], last["payload"], last["score"], last["due"]) == (odd, None, "inf", None)
    assert base64.b64decode(last["payload_base64"]) == ODD


def test_dump_of_some_and_of_nothing(run: Run, server: Server, name: str) -> None:
    ids = [put(server, name, payload(args=[f"n{n}"]), score=DUE + n) for n in range(3)]
    assert [record["id"] for record in json.loads(run("wire", "dump", name, "--limit", "2", "--json").out)] == ids[:2]
    assert [record["id"] for record in json.loads(run("wire", "dump", name, "--where", "n1", "--json").out)] == [ids[1]]
    begin(server, nothing := f"{name}-empty")
    assert run("wire", "dump", nothing, "--json") == (0, "[]\n", "")
    assert run("wire", "dump", nothing) == (0, "", f"0 shown; {nothing}:jobs holds 0 jobs, {nothing}:next 0 items.\n")


def test_dump_reads_many_pages_whole(run: Run, server: Server, name: str) -> None:
    pipe = server.client().pipeline(transaction=False)
    ids = set()
    for n in range(2300):
        data = payload(args=[n])
        ids.add(id := wire.job_id(data))
        pipe.hset(f"{name}:jobs", id, data)
        if n % 3:
            pipe.zadd(f"{name}:next", {wire.item(id): DUE})
    pipe.execute()
    records = json.loads(run("wire", "dump", name, "--json").out)
    assert len(records) == 2300
    assert {record["id"] for record in records} == ids
    assert sum(record["item"] is None for record in records) == 767
    assert run("wire", "verify", name).out.endswith(
        f"{name}: 767 orphans in 2,300 jobs and 1,533 items, read as published: year first.\n"
        f"  > workkit doctor {name} --fix   repairs 767 of them\n"
    )


# Verify.


def test_what_workkit_writes_is_as_published(run: Run, server: Server, name: str) -> None:
    s = schedule.create(name, redis=server.url)
    for at in ("7pm tomorrow", "in 5 minutes", "1 february 2030 at noon"):
        schedule.add(s, "app.cache:clear", at=at)
    for every in ("weekday at 9am", "5 minutes", "day at noon", "hour", "sunday at 5pm", "1st of the month at 6:30"):
        schedule.add(s, "app.reports:digest", every=every, args=["a/b", 1.0, 2**53, {"k": [None, "é"]}])
    schedule.add(s, "#'your-app.cache/clear", in_="1 hour")
    schedule.add_now(s, "app.x:y")
    assert run("wire", "verify", name, "--strict") == (
        0,
        f"{name}: all is well. 11 jobs and 11 items, read as published: year first.\n",
        "",
    )
    assert run("wire", "verify", name, "--json") == (0, "[]\n", "")


def test_what_workkit_writes_in_the_other_dialect_is_as_well(run: Run, server: Server, name: str) -> None:
    s = schedule.create(name, redis=server.url, dialect="cuckoo")
    schedule.add(s, "#'app.core/go", at="7pm tomorrow")
    schedule.add(s, "#'app.core/go", every="weekday at 9am")
    ran = run("wire", "verify", name, "--strict", "--dialect", "cuckoo")
    assert ran == (0, f"{name}: all is well. 2 jobs and 2 items, read as cuckoo: second first.\n", "")
    ran = run("wire", "verify", name, "--dialect", "published")
    assert ran.status == 1
    assert ran.out.count("has its fields in the order of the dialect cuckoo") == 2
    assert ran.out.endswith(f"  > workkit wire verify {name} --dialect cuckoo   reads them in the other order\n")


def test_jobs_that_a_listener_has_or_that_wait_again_are_no_orphans(run: Run, server: Server, name: str) -> None:
    s = schedule.create(name, redis=server.url)
    for n in range(3):
        schedule.add_now(s, "app.x:y", args=[n])
    broker = open_broker(name, redis=server.url)
    broker.register(ListenerInfo(listener="", host="h", pid=os.getpid(), version="0", schedules={name: 1}, threads=1))
    held: list[Claim] = list(broker.claim(2).claims)
    broker.claim(1, ends=[(held[0], Again(delay_ms=3_600_000, attempt=1, failure=Failure(type="E", message="m")))])
    records = json.loads(run("wire", "dump", name, "--json").out)
    assert [(record["item"], record["orphan"]) for record in records] == [(None, False)] * 3
    ran = run("wire", "verify", name)
    assert ran == (0, f"{name}: all is well. 3 jobs and 0 items, read as published: year first.\n", "")
    out = run("wire", "dump", name).out
    assert out.count("  item   none  a listener has it, or it waits for another attempt or for its last run\n") == 3
    server.client().delete(*server.client().keys(f"{name}:running:*"), f"{name}:again")
    assert (
        f"{name}: 3 hazards in 3 jobs and 0 items," in run("wire", "verify", name).out
    )  # it may be a peer that has them
    broker.close()


def test_each_thing_is_named_in_one_line_the_worst_first(run: Run, server: Server, name: str) -> None:
    python = put(server, name, payload(job="app.core:go"))
    other = put(server, name, payload(cron="0 0 9 * * 1 2027"))
    lone = put(server, name, payload(args=[3]), item=None)
    spaced = put(server, name, payload(args=[4]), item=b'{"id": "%b"}')
    put(server, name, payload(args=[5]))
    ran = run("wire", "verify", name)
    assert ran.status == 1
    assert ran.out.splitlines() == [
        f'deviation  {other[:8]}  cron "0 0 9 * * 1 2027" has its fields in the order of the dialect cuckoo',
        "  Listeners of this dialect leave it alone. Perhaps the dialect of the schedule is wrong.",
        "",
        f"orphan  {lone[:8]}  no item points to it, no listener has it",
        "  Nothing points to the job, so it never runs; adding it again changes nothing.",
        "",
        f'hazard  {spaced[:8]}  its item {{"id": "{spaced}"}} becomes {{"id":"{spaced}"}}',
        "  A Clojure peer that takes it too early puts this other text back.",
        "",
        f"hazard  {python[:8]}  job app.core:go is a Python name as people type it, not as payloads store it",
        "  Clojure cannot resolve it, and a Clojure peer that takes the item loses the run.",
        "",
        f"{name}: 1 deviation, 1 orphan and 2 hazards in 5 jobs and 4 items, read as published: year first.",
        f"  > workkit doctor {name} --fix   repairs 1 of them",
        f"  > workkit wire verify {name} --dialect cuckoo   reads them in the other order",
    ]


def test_hazards_alone_count_only_if_strict(run: Run, server: Server, name: str) -> None:
    put(server, name, payload(job="app.core:go"))
    assert run("wire", "verify", name).status == 0
    assert run("wire", "verify", name, "--strict").status == 1


def test_a_second_item_of_a_job_is_named(run: Run, server: Server, name: str) -> None:
    id = put(server, name, payload())
    put(server, name, payload(), item=b'{ "id":"%b"}')
    two = put(server, name, payload(args=[2]), item=b'{ "id":"%b"}')
    put(server, name, payload(args=[2]), item=b'{"id" :"%b"}')
    records = json.loads(run("wire", "verify", name, "--json").out)
    assert sorted(record["id"] for record in records if record["kind"] == "second-item") == sorted([id, two])
    assert "in 2 jobs and 4 items" in run("wire", "verify", name).out


def test_many_of_a_kind_are_counted_and_json_has_all(run: Run, server: Server, name: str) -> None:
    ids = {put(server, name, payload(cron="x", args=[n])) for n in range(40)}
    out = run("wire", "verify", name).out
    assert out.count("deviation  ") == 10
    assert f"\n  and 30 more of the kind cron. All: workkit wire verify {name} --json\n" in out
    assert run("wire", "verify", name, "--limit", "40").out.count("deviation  ") == 40
    ran = run("wire", "verify", name, "--json")
    records = json.loads(ran.out)
    assert ran.status == 1
    assert {record["id"] for record in records} == ids
    assert set(records[0]) == {"schedule", "severity", "kind", "id", "item", "what", "why", "repairs"}
    one = run("wire", "verify", name, "--where", min(ids)).out
    assert f"{name}: 1 deviation in 1 job and 1 item," in one


def test_what_is_said_to_be_repaired_is_repaired_by_the_doctor(run: Run, server: Server, name: str) -> None:
    client = server.client()
    put(server, name, payload(cron="x"))
    put(server, name, ODD)
    put(server, name, b"[]", item=None)
    put(server, name, payload(args=[1]), item=None)
    put(server, name, payload(args=[2]), score=0.5)
    put(server, name, payload(args=[3]), score=-1)
    put(server, name, payload(args=[4]), score=float("inf"))
    put(server, name, payload(cron="0 0 9 * * 1 2027"))
    client.hset(f"{name}:jobs", b"\xff", payload(args=[5]))
    client.zadd(f"{name}:next", {b'{"id":"gone"}': 7, b"\xff": 8})
    before = json.loads(run("wire", "verify", name, "--json").out)
    assert sum(record["repairs"] for record in before) >= 9
    run("doctor", name, "--fix", "--yes")
    after = json.loads(run("wire", "verify", name, "--json").out)
    left = sorted((record["kind"], record["repairs"]) for record in after)
    assert left == [("cron", False), ("other-dialect", False)], "foreign peers may run them"


def test_a_command_names_the_server_that_was_named(run: Run, server: Server, name: str) -> None:
    put(server, name, payload(), item=None)
    out = run("wire", "verify", name, "--redis", server.url).out
    assert out.endswith(f"  > workkit doctor {name} --redis {server.url} --fix   repairs it\n")


def test_looking_changes_nothing(run: Run, server: Server, name: str) -> None:
    client = server.client()
    put(server, name, payload(cron="x"), item=None)
    put(server, name, ODD, score=0.5)
    client.zadd(f"{name}:next", {b'{"id":"gone"}': 7, b"\xff": 8})
    before = {key: client.dump(key) for key in sorted(client.keys())}
    for words in (("dump",), ("verify",), ("dump", "--json"), ("verify", "--json")):
        run("wire", words[0], name, *words[1:])
    assert {key: client.dump(key) for key in sorted(client.keys())} == before


# Mistakes, and a terminal.


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (("wire",), "workkit wire needs dump|verify."),
        (("wire", "dump"), "workkit wire needs SCHEDULE, after dump|verify."),
        (("wire", "app-tasks"), "'app-tasks' is not one of 'dump', 'verify'."),
        (("wire", "dump", "t", "--strict"), "--strict is for verify; dump judges nothing."),
        (("wire", "verify", "t", "--limit", "0"), '--limit: "0" is not a whole number from 1.'),
    ],
)
def test_a_mistake_is_answered_in_one_line(run: Run, words: tuple[str, ...], message: str) -> None:
    ran = run(*words)
    assert (ran.status, ran.out) == (2, "")
    assert message in ran.err


def test_lines_fit_a_terminal_and_lose_nothing(
    server: Server, name: str, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    data = payload(args=["é" * 20])
    put(server, name, data, item=b'{"id":"%b"} x')
    put(server, name, long := payload(args=["y" * 5000]))
    monkeypatch.setenv("COLUMNS", "60")
    monkeypatch.setenv("TERM", "xterm")
    for words in (["dump", name], ["verify", name]):
        lines = on_terminal(["workkit", "wire", *words]).splitlines()
        assert lines
        assert [line for line in lines if len(re.sub(r"\x1b\[\d*m", "", line)) > 60] == []
        if words[0] == "dump":
            assert data.decode() in "".join(line[9:] for line in lines)
            assert any(f"{len(long):,} bytes in all; --json shows them" in line for line in lines)
        else:
            assert any("\x1b[31mdeviation\x1b[0m" in line for line in lines)


def on_terminal(words: list[str]) -> str:
    pid, stream = pty.fork()
    if pid == 0:
        os.execv(sys.executable, [sys.executable, "-m", *words])
    said = b""
    while True:
        try:
            part = os.read(stream, 65536)
        except OSError:  # the other end is gone
            break
        if not part:
            break
        said += part
    os.waitpid(pid, 0)
    os.close(stream)
    return said.decode().replace("\r\n", "\n")


def test_a_key_of_another_kind_is_named_and_left_to_the_doctor(run: Run, server: Server, name: str) -> None:
    server.client().set(f"{name}:jobs", "not a hash")
    for words in (("wire", "verify", name), ("now", name, "elsewhere:run")):
        ran = run(*words)
        assert ran.status == 69
        assert ran.err.endswith(f": {name}:jobs is a string, not a hash; workkit doctor {name} says more.\n")
        assert ran.err.count("\n") == 1
