"""Handlers that fork: a child never comes back into the listener."""

from __future__ import annotations

import os
import sys
from pathlib import Path
from typing import Any

import pytest

from tests import unruly
from tests.processes import Process, Processes, is_alive, until
from tests.servers import Server
from workkit import schedule

AROUND = """
import atexit, sys
from tests import unruly
from workkit import events, schedule
s = schedule.create(sys.argv[1], redis=sys.argv[2])

@s.middleware
def around():
    yield
    unruly.note(sys.argv[3], "around")

atexit.register(lambda: print("the listener's own end"))
sys.stdout.write("begun ")
schedule.listen(s, threads=int(sys.argv[4]), imports=["tests.unruly"], folder=None)
"""


@pytest.fixture
def diary(tmp_path: Path) -> Path:
    (tmp_path / "diary").touch()
    return tmp_path / "diary"


@pytest.fixture
def listening(s: schedule.Schedule, server: Server, processes: Processes) -> Process:
    process = processes.workkit("listen", s.name, "--redis", server.url, "--import", "tests.unruly", "--threads", "4")
    process.wait_for("listening")
    return process


def lines(diary: Path, what: str) -> list[list[str]]:
    return [line.split() for line in diary.read_text().splitlines() if line.startswith(what)]


def settled(s: schedule.Schedule) -> bool:
    counts = schedule.counts(s)
    return counts.due + counts.running == 0


@pytest.mark.parametrize(("fn", "jobs"), [(unruly.fork, 150), (unruly.fork_in_a_coroutine, 75)])
@pytest.mark.parametrize("how", ["returns", "raises"])
def test_each_job_runs_once_beside_children_that_return(
    s: schedule.Schedule, listening: Process, diary: Path, fn: Any, jobs: int, how: str
) -> None:
    schedule.add_many(s, [{"fn": fn, "at": "now", "args": [str(diary), how], "name": f"j{n}"} for n in range(jobs)])
    until(lambda: settled(s), timeout=40)
    assert len(lines(diary, "run")) == jobs
    children = lines(diary, "child")
    assert len(children) == jobs
    assert {status for _, _, status in children} == {"0" if how == "returns" else "1"}
    assert not any(is_alive(int(pid)) for _, pid, _ in children)
    assert {pid for _, pid, *_ in lines(diary, "run")} == {str(listening.pid)}
    assert [listener.pid for listener in schedule.listeners(s)] == [listening.pid]


@pytest.mark.parametrize(
    ("fn", "how", "status", "sentence"),
    [
        (unruly.fork, "returns", 0, None),
        (unruly.fork, "raises", 1, "OSError: in a child"),
        (unruly.fork, "exits", 7, None),
        (unruly.fork_elsewhere, "returns", 0, None),
        (unruly.fork_elsewhere, "raises", 1, "OSError: in a child"),
        (unruly.fork_elsewhere, "exits", 7, None),
        (unruly.fork_in_a_coroutine, "awaits", 1, "RuntimeError: a forked child of a coroutine cannot await"),
        (unruly.fork_in_a_coroutine, "returns", 0, None),
        (unruly.fork_in_a_coroutine, "raises", 1, "OSError: in a child"),
        (unruly.fork_in_a_coroutine, "exits", 7, None),
        (unruly.fork_in_a_coroutine_elsewhere, "awaits", 1, "RuntimeError: a forked child of a coroutine cannot await"),
        (unruly.fork_in_a_coroutine_elsewhere, "exits", 7, None),
        (unruly.fork_in_a_task, "awaits", 1, "RuntimeError: a forked child of a coroutine cannot await"),
        (unruly.fork_in_a_task, "raises", 1, "OSError: in a child"),
        (unruly.fork_in_a_callback, "returns", 0, None),
        (unruly.fork_in_a_callback, "exits", 7, None),
    ],
)
def test_a_child_ends_where_its_handler_does(
    s: schedule.Schedule, listening: Process, diary: Path, fn: Any, how: str, status: int, sentence: str | None
) -> None:
    schedule.add_now(s, unruly.run_slowly, args=[0.1])
    schedule.add_now(s, fn, args=[str(diary), how])
    ((_, child, ended),) = until(lambda: lines(diary, "child"))
    assert int(ended) == status
    assert not is_alive(int(child))
    if sentence is not None:
        listening.wait_for(f"^{sentence}")
    until(lambda: settled(s))
    assert len(lines(diary, "run")) == 1
    assert len(lines(diary, "after")) == fn.__name__.count("in_a")
    assert listening.is_running
    listening.wait_for("written by a child")  # it may still be on its way through the pipe
    assert listening.out.count("written by a child") == 1


def test_a_forked_child_neither_runs_middleware_nor_repeats_its_parents_output(
    s: schedule.Schedule, server: Server, processes: Processes, diary: Path
) -> None:
    env = {"PYTHONUNBUFFERED": "", "PYTHONPATH": os.pathsep.join(sys.path)}
    listener = processes.run(sys.executable, "-c", AROUND, s.name, server.url, str(diary), "2", env=env)
    for fn, how in ((unruly.fork, "returns"), (unruly.fork, "raises"), (unruly.fork_in_a_coroutine, "raises")):
        schedule.add_now(s, fn, args=[str(diary), how])
    until(lambda: len(lines(diary, "child")) == 3)
    until(lambda: settled(s))
    os.kill(listener.pid, 15)
    assert listener.wait() == 0
    assert sorted(status for _, _, status in lines(diary, "child")) == ["0", "1", "1"]
    assert len(lines(diary, "around")) == 3
    out = "\n".join(listener.out)
    assert [out.count(part) for part in ("begun ", "written by a child", "the listener's own end")] == [1, 3, 1]


def test_a_module_that_forks_at_its_import_is_imported_once(
    s: schedule.Schedule, server: Server, processes: Processes, diary: Path, tmp_path: Path
) -> None:
    (tmp_path / "forks_at_import.py").write_text(
        f"import os\nfrom tests.unruly import fork, note\nfork({str(diary)!r}, 'returns')\n"
        f"def f(): note({str(diary)!r}, 'after', os.getpid())\n"
    )
    process = processes.workkit("listen", s.name, "--redis", server.url)
    process.wait_for("listening")
    schedule.add_now(s, "forks_at_import:f")
    until(lambda: lines(diary, "after"))
    until(lambda: settled(s))
    assert lines(diary, "after") == [["after", str(process.pid)]]
    assert [status for _, _, status in lines(diary, "child")] == ["0"]
