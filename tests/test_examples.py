"""The examples and the peers of interop/, run as they stand."""

from __future__ import annotations

import json
import shutil
import signal
import sys
from pathlib import Path

import pytest

from tests.processes import Processes, until
from tests.servers import Server, program
from workkit import schedule

ROOT = Path(__file__).parent.parent


@pytest.fixture
def examples(tmp_path: Path) -> Path:
    return Path(shutil.copytree(ROOT / "examples", tmp_path / "examples"))


def test_one_file_adds_and_listens_and_another_listener_runs_the_same(processes: Processes, examples: Path) -> None:
    program("valkey")
    alone = processes.run(sys.executable, "app.py", cwd=examples)
    alone.wait_for("hello, now")
    alone.wait_for("hello, in two seconds")
    s = schedule.create("examples", redis=f"embedded://{examples.resolve()}/.workkit")
    assert [job.fn for job in schedule.jobs(s)] == ["#'app/greet"]
    alone.send(signal.SIGTERM)
    assert alone.wait() == 0
    beside = processes.workkit("listen", "examples", f"--embedded={examples / '.workkit'}", cwd=examples)
    beside.wait_for("listening")
    schedule.add_now(s, "app:greet", args=["beside"])
    beside.wait_for("hello, beside")
    beside.send(signal.SIGINT)
    assert beside.wait() == 0


def test_an_asyncio_program_adds_and_listens(processes: Processes, examples: Path) -> None:
    program("valkey")
    web = processes.run(sys.executable, "web.py", cwd=examples)
    web.wait_for("welcome, tracy@domain.com")
    assert web.wait() == 0


def test_a_job_added_from_the_shell_runs(server: Server, name: str, processes: Processes, tmp_path: Path) -> None:
    if not shutil.which("redis-cli"):
        program("redis")  # the package that brings it; skips or fails as a missing server does
    (tmp_path / "app.py").write_text("def say(text, n): print('said', text, n, flush=True)\n")
    listener = processes.workkit("listen", name, "--redis", server.url)
    listener.wait_for("listening")
    shell = ROOT / "interop" / "shell" / "add.sh"
    args = json.dumps(["from the shell", 7])
    adding = processes.run(str(shell), name, "#'app/say", args, "-p", str(server.port))
    assert adding.wait() == 0, adding.transcript()
    listener.wait_for("said from the shell 7", timeout=3)
    until(lambda: not server.client().exists(f"{name}:jobs", f"{name}:next"))
