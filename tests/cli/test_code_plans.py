"""Plans of code on the command line: decorated functions and pyproject.toml, shown, made so, and rolled back."""

from __future__ import annotations

import json
import re
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.cli.conftest import Run
from tests.plans import NEW, OLD, write
from tests.servers import Server
from workkit import schedule

V1 = '@s.every("weekday at 9am", name="digest")\ndef digest(): ...\n'
V2 = '@s.every("weekday at 10am", name="digest")\ndef digest(): ...\n'
TABLE = '[project]\nname = "shop"\n[tool.workkit]\nimport = []\n[tool.workkit.schedules.{name}.nightly]\n'


@pytest.fixture
def on(server: Server, monkeypatch: pytest.MonkeyPatch) -> Iterator[Server]:
    monkeypatch.setenv("WORKKIT_REDIS_URL", server.url)
    before = set(sys.modules)
    yield server
    for name in set(sys.modules) - before:
        if name.startswith("plan_of_"):
            del sys.modules[name]


def code(folder: Path, name: str, text: str, written: int) -> str:
    module = f"plan_of_{name.replace('-', '_')}"
    write(folder, module, text, schedule=name, written=written)
    sys.modules.pop(module, None)
    return module


def test_decorated_jobs_are_shown_made_so_left_and_rolled_back(run: Run, on: Server, name: str, folder: Path) -> None:
    module = code(folder, name, V1, OLD)
    dry = run("sync", name, "--import", module, "--dry-run")
    assert dry.out == (
        f"+ digest  {module}.digest()  every weekday at 9:00 Europe/Paris\n"
        f"{name}: 1 added, in a new schedule (nothing was done: --dry-run)\n"
    )
    assert run("sync", name, "--import", module).out.endswith(f"{name}: 1 added, in a new schedule\n")
    code(folder, name, V2, NEW)
    assert "every weekday at 9:00 Europe/Paris -> every weekday at 10:00" in run("sync", name, "--import", module).out
    code(folder, name, V1, OLD)
    ran = run("sync", name, "--import", module)
    assert (ran.status, ran.out) == (0, f"{name}: left to a newer plan: {module}\n")
    assert ran.err == f"note: a newer plan of {module} holds. Back to this one: --rollback.\n"
    back = run("sync", name, "--import", module, "--rollback", "--json")
    assert json.loads(back.out) == {
        "added": [], "changed": ["digest"], "removed": [], "unchanged": [], "over": [], "older": [], "dry_run": False,
        "new_schedule": False,
    }  # fmt: skip


def test_a_plan_version_is_taken_from_the_command_line_and_the_environment(
    run: Run, on: Server, name: str, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    module = code(folder, name, V1, NEW)
    assert run("sync", name, "--import", module, "--plan-version", "1.9").out.endswith("1 added, in a new schedule\n")
    code(folder, name, V2, OLD)
    monkeypatch.setenv("WORKKIT_PLAN_VERSION", "1.10")
    assert run("sync", name, "--import", module).out.endswith("1 changed\n")
    monkeypatch.setenv("WORKKIT_PLAN_VERSION", "1.x")
    ran = run("sync", name, "--import", module)
    assert (ran.status, '"1.x" is not a version' in ran.err or "1.x" in ran.err) == (2, True)


def test_a_table_of_pyproject_is_a_plan(run: Run, on: Server, name: str, folder: Path) -> None:
    (folder / "app.py").write_text("def hi(): ...\n")
    file = folder / "pyproject.toml"
    file.write_text(TABLE.format(name=name) + 'fn = "app:hi"\nevery = "day at 4am"\n')
    assert run("sync", name).out == f"+ nightly  app.hi()  every day at 4:00 UTC\n{name}: 1 added, in a new schedule\n"
    assert json.loads(run("list", "--json").out)[0]["name"] == "nightly"  # the table names the schedule too
    file.write_text(TABLE.format(name=name).replace("nightly", "weekly") + 'fn = "app:hi"\nevery = "monday at 4am"\n')
    assert run("sync", name).out.endswith(f"{name}: 1 added, 1 removed\n")


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ('every = "day at 4am"', 'job nightly: fn is missing. Add fn = "app.reports:digest".'),
        ('fn = "app:hi"\nevery = "mondaay"', "job nightly: "),
        ('fn = "app:hi"\nat = "tomorrow at 9am"', "depends on the present"),
        ('fn = "app:hi"\nevery = "hour"\nretrys = 1', "Did you mean retries=1?"),
    ],
)
def test_a_bad_table_writes_nothing(run: Run, on: Server, name: str, folder: Path, text: str, message: str) -> None:
    (folder / "pyproject.toml").write_text(TABLE.format(name=name) + text)
    ran = run("sync", name)
    assert (ran.status, message in ran.err) == (2, True), ran
    assert on.client().keys(f"{name}:*") == []


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (("sync", "S"), "no module that is imported here plans a job of S."),
        (
            ("sync", "S", "plan.toml", "--rollback"),
            "--import, --plan-version and --rollback are about the plan of code.",
        ),
        (("sync", "S", "--import", "nowhere_at_all"), "no such module"),
        (("listen", "S", "--plan-version", "3"), "Add --sync."),
    ],
)
def test_what_makes_no_sense_is_refused(run: Run, on: Server, words: tuple[str, ...], message: str) -> None:
    ran = run(*words)
    assert (ran.status, message in ran.err) == (2, True), ran


def test_a_listener_syncs_before_it_listens(run: Run, on: Server, name: str, folder: Path) -> None:
    module = code(folder, name, V1, OLD)
    ran = run("listen", name, "--import", module, "--sync", "--burst")
    assert ran.status == 0
    said = [match[1] for line in ran.err.splitlines() if (match := re.search(r"  ?(synced|listening) ", line))]
    assert said == ["synced", "listening"]
    assert [job.name for job in schedule.jobs(schedule.create(name, redis=on.url))] == ["digest"]
    code(folder, name, V2, NEW)
    assert run("sync", name, "--import", module).status == 0
    code(folder, name, V1, OLD)
    ran = run("listen", name, "--import", module, "--sync", "--burst")
    assert f"a newer plan of {module} holds, and its jobs stay." in ran.err


def test_a_listener_starts_where_nothing_is_planned(run: Run, on: Server, name: str) -> None:
    ran = run("listen", name, "--sync", "--burst")
    assert (ran.status, "nothing planned: no module that is imported here has @s.every(...)." in ran.err) == (0, True)


def test_the_schema_of_a_plan_is_made_from_the_options_and_shipped(run: Run) -> None:
    import workkit
    from workkit.jobs.options import ADD, names_at

    ran = run("schema")
    assert ran.out == (Path(workkit.__file__).parent / "plan.schema.json").read_text()
    job = json.loads(ran.out)["additionalProperties"]
    assert set(names_at(ADD)) < set(job["properties"])
    assert job["properties"]["overlap"]["enum"] == ["allow", "skip", "queue", "cancel"]
    assert job["properties"]["retries"]["type"] == "integer"
    assert job["required"] == ["fn"]
