"""`doctor` as it is typed and read."""

from __future__ import annotations

import json
import os
import pty
import re
import signal
import subprocess
import sys
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from tests.cli.conftest import Run, begin
from tests.processes import Processes, until
from tests.servers import Server
from workkit import wire
from workkit.brokers.connect import open_broker
from workkit.contract.listener import ListenerInfo

APP = "import os\ndef hi():\n    print('hi', flush=True)\ndef _secret():\n    os._exit(1)\n"


@pytest.fixture(autouse=True)
def app(folder: Path) -> Path:
    (folder / "app.py").write_text(APP)
    return folder


@pytest.fixture(autouse=True)
def _soon(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let the second look at an orphan follow at once; the moment between is for foreign peers, and none is here."""
    monkeypatch.setattr("workkit.brokers.native.look.published.MOMENT", 0.01)


@pytest.fixture
def on(server: Server, monkeypatch: pytest.MonkeyPatch) -> Server:
    monkeypatch.setenv("WORKKIT_REDIS_URL", server.url)
    return server


@pytest.fixture
def well(own_server: Server, name: str, monkeypatch: pytest.MonkeyPatch) -> Iterator[Server]:
    """A server with nothing to complain of, and a listener that is there."""
    monkeypatch.setenv("WORKKIT_REDIS_URL", own_server.url)
    broker: Any = open_broker(name, redis=own_server.url)
    broker.register(
        ListenerInfo(listener="", host="h", pid=os.getpid(), version="0.1.0", schedules={name: 1}, threads=1)
    )
    yield own_server
    broker.close()


def orphans(server: Server, name: str, count: int) -> list[str]:
    jobs = [wire.payload(cron="* * * * 9 0 0", job="#'app/hi", args=[n]) for n in range(count)]
    server.client().hset(f"{name}:jobs", mapping={wire.job_id(data): data for data in jobs})
    return [wire.job_id(data) for data in jobs]


def test_all_well(run: Run, well: Server, name: str) -> None:
    ran = run("doctor", name)
    assert ran.status == 0
    assert ran.out.endswith(f"\n\n{name}: all is well\n")
    assert ran.err == ""
    assert run("doctor", name, "--json") == (0, "[]\n", "")


def test_each_setting_is_said_with_where_it_came_from(
    run: Run, well: Server, name: str, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (folder / "pyproject.toml").write_text(
        f'[tool.workkit]\nschedules = ["{name}"]\nimport = ["app.a", "app.b"]\nthreads = 4\ntz = "Europe/Paris"\n'
    )
    monkeypatch.setenv("WORKKIT_THREADS", "7")
    said = {line.split()[0]: line.split()[1:] for line in run("doctor").out.split("\n\n")[0].splitlines()}
    assert said["server"] == [f"redis://127.0.0.1:{well.port}/0", "WORKKIT_REDIS_URL"]
    assert said["schedules"] == [name, f"{folder}/pyproject.toml"]
    assert said["import"] == ["app.a,app.b", f"{folder}/pyproject.toml"]
    assert said["threads"] == ["7", "WORKKIT_THREADS"]
    assert said["tz"] == ["Europe/Paris", f"{folder}/pyproject.toml"]
    assert said["deadline"] == ["25s", "default"]
    assert f"server        {well.url}" in run("doctor", name, "--redis", well.url).out
    assert re.search(r"server .*  command line\n", run("doctor", name, "--redis", well.url).out)


@pytest.mark.parametrize(
    ("words", "environment", "row"),
    [
        (["--dialect", "cuckoo"], None, ["cuckoo", "--dialect"]),
        (["--dialect", "cuckoo"], "published", ["cuckoo", "--dialect"]),
        ([], "cuckoo", ["cuckoo", "WORKKIT_DIALECT"]),
        ([], None, ["published", "default"]),
    ],
)
def test_the_dialect_is_said_with_where_it_came_from(
    run: Run,
    well: Server,
    name: str,
    monkeypatch: pytest.MonkeyPatch,
    words: list[str],
    environment: str | None,
    row: list[str],
) -> None:
    monkeypatch.setenv("WORKKIT_DIALECT", environment or "")
    said = {line.split()[0]: line.split()[1:] for line in run("doctor", name, *words).out.split("\n\n")[0].splitlines()}
    assert said["dialect"] == row


@pytest.mark.parametrize(("dialect", "cron"), [("published", "2026 11 1 * 3 52 49"), ("cuckoo", "49 52 3 11 1 ? 2026")])
def test_an_orphan_whose_only_time_is_over_is_explained(
    run: Run, well: Server, name: str, dialect: str, cron: str
) -> None:
    """A foreign peer stored a job for the current second, and found no later time for its item."""
    data = wire.payload(cron=cron, job="#'app/hi", args=[])
    well.client().hset(f"{name}:jobs", wire.job_id(data), data)
    section = run("doctor", name, "--dialect", dialect).out.split("\n\n")[1].splitlines()
    assert section[1:3] == [
        f"  no-item  job {wire.job_id(data)[:8]} app.hi waits nowhere, and no listener has it; after a repair, it runs "
        f'at once, because its cron "{cron}" names no later time',
        "    If a foreign peer added it for the current second, it never ran: such a peer stores the payload, finds no "
        "later time, and queues no item. Otherwise the program that added it or ran it was interrupted, or still runs "
        "it. It may have run already.",
    ]


def test_a_finding_says_what_why_and_the_command(run: Run, well: Server, name: str) -> None:
    (id,) = orphans(well, name, 1)
    ran = run("doctor", name)
    assert ran.status == 1
    section = ran.out.split("\n\n")[1].splitlines()
    assert section[0] == f"{name}: 1 finding"
    assert re.fullmatch(
        rf"  no-item  job {id[:8]} app\.hi waits nowhere, and no listener has it; "
        r"after a repair, it runs in \d+ (h|min|s)",
        section[1],
    )
    assert section[2:] == [
        "    The program that added it or ran it was interrupted, or still runs it. It may have run already.",
        f"    > workkit doctor {name} --fix",
    ]


def test_a_command_names_the_dialect_that_was_named(run: Run, well: Server, name: str) -> None:
    """Without it, a repair would read the crons in the other order."""
    orphans(well, name, 1)
    data = wire.payload(cron="0 0 9 * * ? 2099", job="#'app/hi", args=[])
    well.client().hset(f"{name}:jobs", wire.job_id(data), data)
    out = run("doctor", name, "--dialect", "cuckoo").out
    assert f"    > workkit doctor {name} --dialect cuckoo --fix\n" in out
    out = run("doctor", name, "--dialect", "published", "--redis", well.url).out
    assert f"    > workkit doctor {name} --redis {well.url} --dialect published --fix\n" in out
    assert f"    > workkit doctor {name} --redis {well.url} --dialect cuckoo, and the same for listeners\n" in out


def test_a_command_names_the_server_that_was_named(run: Run, well: Server, name: str) -> None:
    orphans(well, name, 1)
    out = run("doctor", name, "--redis", well.url).out
    assert f"    > workkit doctor {name} --redis {well.url} --fix\n" in out


def test_many_findings_of_a_kind_are_counted_and_json_has_all(run: Run, well: Server, name: str) -> None:
    ids = orphans(well, name, 200)
    out = run("doctor", name).out
    assert out.count("  no-item  job ") == 10
    assert f"    and 190 more of this kind; workkit doctor {name} --all shows them\n" in out
    records = json.loads(run("doctor", name, "--json").out)
    assert {record["about"][0] for record in records} == set(ids)
    assert set(records[0]) == {"schedule", "kind", "what", "why", "remedy", "repairs", "about"}
    assert records[0]["schedule"] == name


def test_what_is_said_of_the_server_is_said_once(run: Run, on: Server, name: str) -> None:
    begin(on, name, f"{name}-2")
    ran = run("doctor", name, f"{name}-2")
    assert ran.status == 1
    assert ran.out.count("keeps no append-only file") == 1
    assert f"\n{name}: all is well\n\n{name}-2: all is well\n" in ran.out
    records = json.loads(run("doctor", name, f"{name}-2", "--json").out)
    assert [(record["schedule"], record["kind"]) for record in records] == [(None, "no-append-file")]


def test_fix_repairs_and_looks_again(run: Run, well: Server, name: str) -> None:
    ids = orphans(well, name, 3)
    ran = run("doctor", name, "--fix", "--yes")
    assert ran.status == 0
    assert ran.out.count("no-item  job") == 3
    assert ran.err == "repaired 3 of 3; all is well now.\n"
    assert set(well.client().zrange(f"{name}:next", 0, -1)) == {wire.item(id) for id in ids}
    assert run("doctor", name, "--fix", "--yes") == (
        0,
        run("doctor", name).out,
        "nothing here that --fix could repair.\n",
    )


def test_fix_as_json_says_what_was_repaired(run: Run, well: Server, name: str) -> None:
    orphans(well, name, 1)
    well.client().zadd(f"{name}:dead", {"x@5": 5})
    ran = run("doctor", name, "--fix", "--yes", "--json")
    assert ran.status == 1
    assert [(record["kind"], record["repaired"]) for record in json.loads(ran.out)] == [
        ("no-item", True),
        ("dead", False),
    ]


def test_fix_off_a_terminal_needs_yes(run: Run, well: Server, name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    orphans(well, name, 1)
    ran = run("doctor", name, "--fix")
    assert ran.status == 4
    assert ran.out == ""
    assert ran.err == (
        "error: --fix asks before it repairs, and nobody is there to answer. Add --yes; without --fix it only looks.\n"
    )
    assert not well.client().exists(f"{name}:next")


def on_terminal(*words: str, answer: str = "", columns: int = 100) -> tuple[int, str]:
    """Run a command line on a terminal so wide, type an answer where it asks, and give what it showed."""
    import fcntl
    import struct
    import termios

    ours, theirs = pty.openpty()
    fcntl.ioctl(theirs, termios.TIOCSWINSZ, struct.pack("HHHH", 24, columns, 0, 0))
    command = [sys.executable, "-m", "workkit", *words]
    env = {**os.environ, "TERM": "xterm", "NO_COLOR": "1"}
    with subprocess.Popen(command, stdin=theirs, stdout=theirs, stderr=theirs, env=env) as child:
        os.close(theirs)
        shown, asked = b"", False
        while True:
            try:
                part = os.read(ours, 65536)
            except OSError:
                break
            shown += part
            if not part:
                break
            if b"[y/N]" in shown and not asked:
                asked = True
                os.write(ours, answer.encode() + b"\n")
    os.close(ours)
    return child.returncode, shown.decode().replace("\r\n", "\n")


@pytest.mark.parametrize(("answer", "status"), [("y", 0), ("n", 1), ("", 1)])
def test_fix_asks_on_a_terminal(well: Server, name: str, answer: str, status: int) -> None:
    orphans(well, name, 2)
    ended, shown = on_terminal("doctor", name, "--fix", answer=answer)
    assert ended == status
    assert shown.index("no-item  job") < shown.index("Repair 2 findings? [y/N]")
    assert ("repaired 2 of 2; all is well now." in shown) == (answer == "y")
    assert well.client().zcard(f"{name}:next") == (2 if answer == "y" else 0)


def test_a_terminal_is_not_exceeded(well: Server, name: str) -> None:
    orphans(well, name, 2)
    status, shown = on_terminal("doctor", name, columns=60)
    assert status == 1
    _, title, findings = shown.partition(f"{name}: 2 findings")
    assert title, shown
    assert max(len(line) for line in findings.splitlines()) <= 60


def test_an_unreachable_server_ends_with_69_and_says_which_it_was(run: Run, name: str) -> None:
    ran = run("doctor", name, "--redis", "redis://:secret@127.0.0.1:1/0")
    assert ran.status == 69
    assert ran.out.startswith("server        redis://:***@127.0.0.1:1/0  command line\n")
    assert "connection refused" in ran.err
    assert "secret" not in ran.out + ran.err


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (("t", "--older-than", "30"), 'error: --older-than "30" has no unit. Write "30s" or "30 minutes".\n'),
        ((), "error: workkit doctor needs a SCHEDULE. Name one: workkit doctor app-tasks; "),
        (("app tasks",), 'error: schedule "app tasks" has a blank at column 4.'),
    ],
)
def test_what_cannot_be_meant_is_refused(run: Run, words: tuple[str, ...], message: str) -> None:
    ran = run("doctor", *words)
    assert ran.status == 2
    assert ran.err.startswith(message)
    assert ran.out == ""


def test_older_than_is_the_patience_with_orphans(run: Run, well: Server, name: str) -> None:
    at = datetime.now(UTC) - timedelta(hours=2)
    cron = f"{at.year} {at.month} {at.day} * {at.hour} {at.minute} {at.second}"
    data = wire.payload(cron=cron, job="#'app/hi", args=[])
    well.client().hset(f"{name}:jobs", wire.job_id(data), data)
    assert run("doctor", name).status == 0
    assert run("doctor", name, "--older-than", "3h").status == 0
    assert run("doctor", name, "--older-than", "1h").status == 1


def test_names_that_no_listener_may_run_are_told(
    run: Run, on: Server, name: str, processes: Processes, folder: Path
) -> None:
    """The list of experience: none runs, one line each in the log, other jobs on time, and all four are told."""
    (folder / ".venv").mkdir()
    (folder / ".venv" / "pyvenv.cfg").write_text("")
    (folder / ".venv" / "rich.py").write_text("def print(): raise SystemExit\n")
    client, ids = on.client(), []
    for fn in ("#'os/system", "#'app/os.system", "#'app/_secret", "#'rich/print"):
        data = wire.payload(cron="2014 3 5 * 9 34 16", job=fn, args=["touch pwned"])
        ids.append(wire.job_id(data))
        client.hset(f"{name}:jobs", ids[-1], data)
        client.zadd(f"{name}:next", {wire.item(ids[-1]): 1394012056000})
    listener = processes.workkit("listen", name, "--redis", on.url)
    listener.wait_for("cannot run", count=4)
    until(lambda: sum(client.scard(key) for key in client.scan_iter(f"{name}:skip:*")) == 4)
    assert run("now", name, "app:hi").status == 0
    listener.wait_for("^hi$", timeout=5)
    ran = run("doctor", name)
    assert ran.status == 1
    for fn, id in zip(("os.system", "app.os.system", "app._secret", "rich.print"), ids, strict=True):
        assert f"  nobody-runs  {fn}: the listener cannot run it (1 job: {id[:8]})\n" in ran.out
        assert f"    > workkit listen {name} on a machine with the code, or workkit cancel {name} {id[:8]}\n" in ran.out
    assert not (folder / "pwned").exists()
    assert len([line for line in listener.lines if "cannot run" in line]) == 4
    listener.send(signal.SIGTERM)
    assert listener.wait() == 0
