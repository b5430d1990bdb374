"""`listen --reload`: real files change under a real listener."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from tests.cli.conftest import Run
from tests.optional import needed
from tests.processes import Process, Processes, is_alive, until
from tests.servers import Server
from workkit import schedule
from workkit.schedule import Schedule

LISTENING = r"listening +"
APP = """
import time
from pathlib import Path

def hello():
    print("{version}", flush=True)

def long():
    print("begun", flush=True)
    while not Path("gate").exists():
        time.sleep(0.01)
    print("finished", flush=True)
"""


def write(folder: Path, version: str) -> None:
    (folder / "app.py").write_text(APP.format(version=version))


@pytest.fixture
def s(server: Server, name: str, tmp_path: Path) -> Schedule:
    needed("watchfiles")
    write(tmp_path, "first")
    return schedule.create(name, redis=server.url)


def listen(processes: Processes, s: Schedule, *options: str) -> Process:
    listener = processes.workkit("listen", s.name, "--redis", str(s.redis), "--reload", *options)
    listener.wait_for(r"reload +when a Python file changes in \./")
    listener.wait_for(LISTENING)
    return listener


def pids(s: Schedule) -> set[int]:
    return {info.pid for info in schedule.listeners(s)}


def test_a_change_starts_the_code_anew_and_lets_what_runs_finish(
    processes: Processes, s: Schedule, tmp_path: Path
) -> None:
    listener = listen(processes, s)
    (before,) = pids(s)
    assert before != listener.pid
    schedule.add_now(s, "app:hello")
    listener.wait_for("first")
    schedule.add_now(s, "app:long")
    listener.wait_for("begun")
    write(tmp_path, "the second")
    listener.wait_for(r"changed +app\.py; what runs may finish")
    listener.wait_for("stopping +1 running")
    assert is_alive(before)
    (tmp_path / "gate").touch()
    listener.wait_for("finished")
    listener.wait_for(LISTENING, count=2)
    schedule.add_now(s, "app:hello")
    listener.wait_for("the second")
    listener.send(signal.SIGTERM)
    assert listener.wait() == 0
    assert not pids(s)


def test_a_second_change_does_not_wait(processes: Processes, s: Schedule, tmp_path: Path) -> None:
    listener = listen(processes, s, "--deadline", "1h")
    (before,) = pids(s)
    schedule.add_now(s, "app:long")
    listener.wait_for("begun")
    write(tmp_path, "the second")
    listener.wait_for("stopping +1 running")
    write(tmp_path, "the third one")
    listener.wait_for(r"changed +app\.py; stopping at once")
    listener.wait_for(LISTENING, count=2)
    until(lambda: not is_alive(before))
    assert "finished" not in listener.out
    listener.send(signal.SIGINT)
    (tmp_path / "gate").touch()
    listener.wait_for("stopped|given back", timeout=60)
    assert listener.wait() == 0


def test_code_that_cannot_be_imported_is_tried_again_after_the_next_change(
    processes: Processes, s: Schedule, tmp_path: Path
) -> None:
    listener = listen(processes, s, "--import", "app")
    (tmp_path / "app.py").write_text("def hello(:\n")
    listener.wait_for(r"ended +the listener ended with status \d+; it starts again after the next change")
    write(tmp_path, "healed")
    listener.wait_for(LISTENING, count=2)
    schedule.add_now(s, "app:hello")
    listener.wait_for("healed")
    listener.send(signal.SIGTERM)
    assert listener.wait() == 0


def test_only_python_files_of_the_named_folders_count(processes: Processes, s: Schedule, tmp_path: Path) -> None:
    watched = tmp_path / "lib"
    watched.mkdir()
    listener = processes.workkit("listen", s.name, "--redis", str(s.redis), "--reload", "--reload-dir", "lib")
    listener.wait_for("reload +when a Python file changes in lib")
    listener.wait_for(LISTENING)
    write(tmp_path, "not watched")
    (watched / "notes.txt").write_text("no code")
    (watched / "code.py").write_text("x = 1\n")
    listener.wait_for("changed +")
    assert [line for line in listener.lines if line.startswith("changed")] == [
        f"changed    {os.path.join('lib', 'code.py')}; what runs may finish"
    ]
    listener.wait_for(LISTENING, count=2)
    listener.send(signal.SIGTERM)
    assert listener.wait() == 0


@pytest.mark.parametrize(
    ("words", "status", "said"),
    [
        (
            ["--reload-dir", "."],
            2,
            "--reload-dir names what is watched, and nothing is without --reload. Add --reload.",
        ),
        (["--reload", "--burst"], 2, "--reload and --burst were both given: a burst ends by itself. Keep one of them."),
        (["--reload", "--reload-dir", "none"], 2, "--reload-dir none is no folder. Name one that is there."),
    ],
)
def test_what_does_not_go_together_is_refused(run: Run, words: list[str], status: int, said: str) -> None:
    ran = run("listen", "app-tasks", *words)
    assert (ran.status, said in ran.err) == (status, True), ran.err


def test_without_the_extra_it_says_how_to_install_it(tmp_path: Path) -> None:
    code = (
        "import sys; sys.modules['watchfiles'] = None; from workkit.cli import main; "
        "sys.exit(main(['listen', 'app-tasks', '--reload']))"
    )
    ran = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, cwd=tmp_path, check=False)
    assert ran.returncode == 4
    assert ran.stderr == (
        "error: workkit listen --reload needs the extra dev (watchfiles is missing). "
        "Install it: pip install 'workkit[dev]'.\n"
    )
