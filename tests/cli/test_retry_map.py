"""`workkit retry --map`: a function of this folder makes the new arguments of each dead job."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import pytest

from tests.cli.conftest import Run
from tests.servers import Server
from workkit import schedule


@pytest.fixture
def s(server: Server, name: str) -> schedule.Schedule:
    return schedule.create(name, redis=server.url)


LIFTS = """
from pathlib import Path
def from_v1(user):
    with Path("calls").open("a") as file:
        file.write("x")
    if user == "13":
        raise LookupError("no user 13")
    return user, "monday"
"""
APP = "def export(user, day):\n    pass\n"


@pytest.fixture
def app(s: schedule.Schedule, server: Server, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Any:
    """A folder with the function of today, and dead jobs with arguments of before."""
    monkeypatch.setenv("WORKKIT_REDIS_URL", server.url)
    monkeypatch.syspath_prepend(tmp_path)
    for module in ("lifted_app", "lifted_by"):  # of the folder of another test
        monkeypatch.delitem(sys.modules, module, raising=False)
    (tmp_path / "lifted_app.py").write_text(APP)
    (tmp_path / "lifted_by.py").write_text(LIFTS)

    def die(*users: str) -> list[str]:
        ids = [schedule.add_now(s, "lifted_app:export", args=[user]).id for user in users]
        with schedule.listener(s, imports=["lifted_app"], folder=tmp_path, burst=True) as ours:
            ours.wait()
        assert schedule.counts(s).dead == len(users)
        return ids

    return die


def test_a_dry_run_shows_what_each_would_become(s: schedule.Schedule, app: Any, run: Run) -> None:
    ids = app("1", "13")
    ran = run("retry", s.name, "--all", "--map", "lifted_by:from_v1", "--dry-run")
    assert ran.status == 1
    lines = {line.split()[0]: line for line in ran.out.splitlines()}
    assert lines[ids[0][:8]].split("  ")[1] == 'lifted_app.export("1") -> lifted_app.export("1", "monday")'
    assert "does not fit: from_v1() raised: LookupError: no user 13." in lines[ids[1][:8]]
    assert "2 dead jobs would be meant. 1 of them would not fit. Nothing was changed." in ran.err
    assert {dead.id for dead in schedule.dead(s)} == set(ids)


def test_one_misfit_changes_nothing(s: schedule.Schedule, app: Any, run: Run) -> None:
    ids = app("1", "13")
    ran = run("retry", s.name, "--all", "--yes", "--map", "lifted_by:from_v1")
    assert ran.status == 2
    assert "Nothing was changed. 1 of 2 do not fit. All: --dry-run." in ran.err
    assert f'{ids[1][:8]} lifted_app.export("13"): from_v1() raised: LookupError: no user 13' in ran.err
    assert {dead.id for dead in schedule.dead(s)} == set(ids)


def test_the_command_puts_them_back_and_calls_the_function_once_for_each(
    s: schedule.Schedule, app: Any, run: Run, tmp_path: Path
) -> None:
    first, *_ = app("1", "2")
    ran = run("retry", s.name, first[:8], "--map", "lifted_by:from_v1")
    assert (ran.status, ran.out) == (0, f'retried {first[:8]}  lifted_app.export("1", "monday")\n')
    ran = run("retry", s.name, "--all", "--yes", "--map", "lifted_by:from_v1")
    assert (ran.status, ran.out) == (0, "retried 1\n")
    assert sorted(one.args for one in schedule.jobs(s)) == [("1", "monday"), ("2", "monday")]
    assert (tmp_path / "calls").read_text() == "xx"


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("lifted_by", '--map "lifted_by" names no function. Write it as MODULE:FUNCTION'),
        ("lifted_by:from_v2", "no such function in lifted_by.py; nearest: from_v1."),
        ("lifted_no:from_v1", "no module lifted_no"),
    ],
)
def test_a_map_that_is_no_function_here_is_refused(
    s: schedule.Schedule, app: Any, run: Run, text: str, said: str
) -> None:
    app("1")
    ran = run("retry", s.name, "--all", "--map", text)
    assert ran.status == 2
    assert said in ran.err
    ran = run("retry", s.name, "--all", "--map", "lifted_by:from_v1", "--args", "[1]")
    assert (ran.status, "were both given" in ran.err) == (2, True)


def test_a_dry_run_of_old_arguments_counts_the_functions_that_accept_them(
    s: schedule.Schedule, app: Any, run: Run, tmp_path: Path
) -> None:
    app("1")
    assert run("retry", s.name, "--all", "--dry-run").status == 1
    (tmp_path / "lifted_app.py").write_text(f"from workkit import job\n@job(accepts=[len])\n{APP}")
    assert run("retry", s.name, "--all", "--dry-run").status == 0
    assert run("retry", s.name, "--all", "--dry-run", "--args", '["1"]').status == 1
