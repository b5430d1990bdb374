"""`workkit listen --processes N` as real processes: the work is shared, deaths are repaired, one voice, one ending."""

from __future__ import annotations

import json
import os
import re
import signal
import urllib.error
import urllib.request
from collections import Counter
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest

from tests.processes import Process, Processes, is_alive, until
from tests.servers import Server, program
from workkit import schedule
from workkit.schedule import Schedule

APP = """
import os, time
from pathlib import Path

def note(n):
    with open(f"ran-{os.getpid()}", "a") as file:
        file.write(f"{n}\\n")

def slow(n, seconds):
    Path("begun").touch()
    time.sleep(seconds)
    note(n)
"""
OWN_GROUP = (
    "import os, sys; os.setpgid(0, 0); os.execv(sys.executable, [sys.executable, '-m', 'workkit', *sys.argv[1:]])"
)
WAIT = 30.0


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    """One server for this file: which product it is plays no part here."""
    own = Server(program("valkey"), folder=tmp_path_factory.mktemp("valkey"), is_durable=False)
    with closing(own):
        own.start()
        yield own


@pytest.fixture
def s(server: Server, name: str, tmp_path: Path) -> Schedule:
    (tmp_path / "app.py").write_text(APP)
    return schedule.create(name, redis=server.url)


def listen(processes: Processes, s: Schedule, *options: str) -> Process:
    """Start two processes, in a process group of their own, and wait until they listen."""
    words = ["listen", s.name, "--redis", str(s.redis), "--processes", "2", *options]
    listener = processes.python(OWN_GROUP, *words)
    listener.wait_for("listening", timeout=WAIT)
    return listener


def children(s: Schedule) -> set[int]:
    return {info.pid for info in schedule.listeners(s)}


def ran(folder: Path) -> Counter[str]:
    return Counter(line for file in folder.glob("ran-*") for line in file.read_text().split())


def ended(listener: Process, status: int, *, pids: set[int]) -> str:
    """Wait for the end of all; give what was said."""
    until(lambda: not any(is_alive(pid) for pid in pids), what="the children to end", timeout=WAIT)
    assert listener.wait(timeout=WAIT) == status, listener.transcript()
    return "\n".join(listener.err)


def test_two_processes_share_the_work_and_speak_with_one_voice(
    processes: Processes, s: Schedule, tmp_path: Path
) -> None:
    listener = listen(processes, s, "--threads", "4")
    pids = until(lambda: children(s))
    assert len(pids) == 2
    assert listener.pid not in pids
    schedule.add_many(s, [{"fn": "app:note", "at": "now", "args": [n]} for n in range(10_000)])
    until(lambda: sum(ran(tmp_path).values()) >= 10_000, what="10,000 runs", timeout=WAIT)
    until(lambda: schedule.counts(s).running == 0, timeout=WAIT)
    listener.send(signal.SIGTERM)
    said = ended(listener, 0, pids=pids)
    assert ran(tmp_path) == {str(n): 1 for n in range(10_000)}
    assert {int(file.name.removeprefix("ran-")) for file in tmp_path.glob("ran-*")} == pids
    assert schedule.listeners(s) == []
    assert re.search(
        rf"listening  {s.name} on \S+, 2 processes of 4 threads, 100 coroutines, pid {listener.pid}, workkit ", said
    )
    assert re.search(r"stopping   nothing running\. Ctrl-C again stops at once\.", said)
    assert re.search(r"stopped    ran 10,000, failed 0, given back 0, up \S+ m?s$", said)
    assert Counter(re.findall(r"Z  (listening|may run|stopping|stopped) ", said)) == dict.fromkeys(
        ("listening", "may run", "stopping", "stopped"), 1
    )


def test_a_process_that_is_killed_is_replaced_and_loses_nothing(
    processes: Processes, s: Schedule, tmp_path: Path
) -> None:
    """Others take over what it held within listener_timeout; meanwhile, what the pages and signals do."""
    listener = listen(processes, s, "--threads", "2", "--log", "json", "--health-port", "0")
    url = listener.wait_for(r'"event":"health".*"url":"([^"]+)"')[1]
    pids = until(lambda: children(s))
    names = {info.pid: info.listener for info in schedule.listeners(s)}
    assert (get(f"{url}/livez"), get(f"{url}/readyz")) == ((200, "ok"), (200, "ok"))
    schedule.add_many(s, [{"fn": "app:slow", "at": "now", "args": [n, 0.2]} for n in range(20)])
    victim = min(until(lambda: {info.pid for info in schedule.listeners(s) if info.running}, timeout=WAIT))
    os.kill(victim, signal.SIGKILL)
    until(lambda: get(f"{url}/readyz") == (503, "1 of 2 processes listen"), timeout=WAIT)
    assert get(f"{url}/livez") == (200, "ok")
    until(lambda: len(children(s) - pids) == 1, what="another in its place", timeout=WAIT)
    pids |= children(s)

    listener.send(signal.SIGTSTP)
    until(lambda: re.fullmatch(r"process \d+: quiet", get(f"{url}/readyz")[1]), timeout=WAIT)
    listener.send(signal.SIGCONT)
    until(lambda: get(f"{url}/readyz") == (200, "ok"), timeout=WAIT)
    listener.send(signal.SIGUSR2)
    listener.wait_for(r"stacks of process \d+:", count=2, timeout=WAIT)

    until(lambda: set(ran(tmp_path)) == {str(n) for n in range(20)}, what="all to run", timeout=WAIT)
    until(lambda: schedule.counts(s).running == 0, timeout=WAIT)
    names |= {info.pid: info.listener for info in schedule.listeners(s)}
    listener.send(signal.SIGTERM)
    ended(listener, 0, pids=pids)
    records = [json.loads(line) for line in listener.err if line.startswith("{")]
    told = {name: [r for r in records if r["event"] == name] for name in ("restarted", "quiet", "resumed", "stopped")}
    assert [len(of) for of in told.values()] == [1, 1, 1, 1], "each is said once"
    assert [told["restarted"][0][key] for key in ("pid", "status", "after_ms")] == [victim, -9, 0]
    assert told["restarted"][0]["level"] == "warning"
    assert told["stopped"][0]["uncounted"] == 1
    who = {names[int(file.name.removeprefix("ran-"))] for file in tmp_path.glob("ran-*")}
    done = {r["listener"] for r in records if r["event"] == "done"}
    assert who - {names[victim]} <= done <= who, "each line names its own listener"


def test_ctrl_c_to_all_is_one_signal(processes: Processes, name: str, tmp_path: Path) -> None:
    """The terminal signals the group, systemd every process: both at once are still the first signal. Here with a
    private server, which all of them share.
    """
    (tmp_path / "app.py").write_text(APP)
    s = schedule.create(name, redis=f"embedded://{tmp_path}/kept")
    listener = listen(processes, s)
    pids = children(s)
    schedule.add_now(s, "app:slow", args=["slow", 1.0])
    until((tmp_path / "begun").exists, timeout=WAIT)
    os.killpg(listener.pid, signal.SIGINT)
    for pid in pids:
        os.kill(pid, signal.SIGTERM)
    said = ended(listener, 0, pids=pids)
    assert re.search(r"stopping   1 running, up to 25 s to finish\.", said)
    assert re.search(r"stopped    ran 1, failed 0, given back 0", said)
    assert "on embedded server, 2 processes of 10 threads" in said
    assert ran(tmp_path) == {"slow": 1}


def test_children_end_by_themselves_if_their_supervisor_is_killed(
    processes: Processes, s: Schedule, tmp_path: Path
) -> None:
    listener = listen(processes, s)
    pids = children(s)
    schedule.add_now(s, "app:slow", args=["slow", 1.0])
    until((tmp_path / "begun").exists, timeout=WAIT)
    listener.send(signal.SIGKILL)
    said = ended(listener, -9, pids=pids)
    assert said.count(f"orphaned   process {listener.pid}, which started this one, is gone; it stops too.") == 2
    assert ran(tmp_path) == {"slow": 1}
    assert schedule.listeners(s) == []


@pytest.mark.parametrize(
    ("options", "status", "line"),
    [
        (["--redis", "redis://127.0.0.1:1/"], 69, "redis://127.0.0.1:1/0: connection refused."),
        (["--threads", "5000"], 2, "--threads 5000 is out of range."),
    ],
)
def test_a_refusal_is_said_once_and_not_tried_again(
    processes: Processes, server: Server, name: str, options: list[str], status: int, line: str
) -> None:
    env = {"WORKKIT_PROCESSES": "4", "REDIS_URL": server.url}
    listener = processes.workkit("listen", name, *options, env=env)
    assert listener.wait(timeout=WAIT) == status, listener.transcript()
    assert len(listener.err) == 1, listener.transcript()
    assert listener.err[0].startswith("error: ")
    assert line in listener.err[0]


def test_burst_ends_when_each_process_has(processes: Processes, s: Schedule, tmp_path: Path) -> None:
    """With a line for each start and end, from both at once: none is torn."""
    schedule.add_many(s, [{"fn": "app:note", "at": "now", "args": [n]} for n in range(500)])
    (tmp_path / "pyproject.toml").write_text("[tool.workkit]\nprocesses = 2\n")
    listener = processes.workkit("listen", s.name, "--redis", str(s.redis), "--burst", "-v", "--log", "json")
    assert listener.wait(timeout=WAIT) == 0, listener.transcript()
    assert ran(tmp_path) == {str(n): 1 for n in range(500)}
    records = [json.loads(line) for line in listener.err]
    assert Counter(record["event"] for record in records)["done"] == 500
    assert (records[-1]["event"], records[-1]["ran"]) == ("stopped", 500)


def get(url: str) -> tuple[int, str]:
    try:
        with urllib.request.urlopen(url, timeout=10) as answer:
            return answer.status, answer.read().decode().strip()
    except urllib.error.HTTPError as error:
        with error:
            return error.code, error.read().decode().strip()
