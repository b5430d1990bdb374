"""`sync`, names on the command line: what is shown, and how it ends."""

from __future__ import annotations

import json
import re
import sys
from pathlib import Path

import pytest

from tests.cli.conftest import Run, begin
from tests.servers import Server

APP = 'def hi():\n    print("hi")\n\ndef greet(name):\n    print(name)\n'
PLAN = """
[digest]
fn = "app:hi"
every = "weekday at 9am"

["nightly report"]
fn = "app:greet"
every = "day at 4am"
args = ["you"]
tz = "Europe/Paris"
"""


@pytest.fixture(autouse=True)
def app(folder: Path) -> Path:
    (folder / "app.py").write_text(APP)
    (folder / "plan.toml").write_text(PLAN)
    return folder


@pytest.fixture
def on(server: Server, monkeypatch: pytest.MonkeyPatch) -> Server:
    monkeypatch.setenv("WORKKIT_REDIS_URL", server.url)
    return server


def test_warnings_are_told_once(run: Run, on: Server, name: str, app: Path) -> None:
    (app / "plan.toml").write_text('[both]\nfn = "app:hi"\ncron = "* * 13 5 9 0 0"\n')
    assert run("sync", name, "plan.toml").err.splitlines() == [
        'warning: cron="* * 13 5 9 0 0" sets both day fields, so either is enough: the 13th, and every Friday.'
    ]


def test_a_file_is_shown_and_carried_out(run: Run, on: Server, name: str, app: Path) -> None:
    dry = run("sync", name, "plan.toml", "--dry-run")
    assert (dry.status, dry.err) == (0, "")
    assert dry.out == (
        "+ digest          app.hi()  every weekday at 9:00 UTC\n"
        '+ nightly report  app.greet("you")  every day at 4:00 Europe/Paris\n'
        f"{name}: 2 added, in a new schedule (nothing was done: --dry-run)\n"
    )
    assert on.client().keys(f"{name}:*") == []
    assert run("sync", name, "plan.toml").out.endswith(f"\n{name}: 2 added, in a new schedule\n")
    assert run("sync", name, "plan.toml").out == f"= 2 unchanged\n{name}: 2 unchanged\n"
    (app / "plan.toml").write_text('[digest]\nfn = "app:hi"\nevery = "weekday at 10am"\n')
    ran = run("sync", name, "plan.toml", "--prune")
    assert ran.out == (
        "~ digest          app.hi()  every weekday at 9:00 UTC -> every weekday at 10:00 UTC\n"
        '- nightly report  app.greet("you")  every day at 4:00 Europe/Paris\n'
        f"{name}: 1 changed, 1 removed\n"
    )
    assert [job["name"] for job in json.loads(run("list", name, "--json").out)] == ["digest"]


@pytest.mark.parametrize(
    ("change", "shown"),
    [
        ('fn = "app:greet"\nargs = ["x"]', '~ digest  app.hi() -> app.greet("x")  every weekday at 9:00 UTC\n'),
        ('fn = "app:hi"\nretries = 3', "~ digest  app.hi()  every weekday at 9:00 UTC  other options\n"),
    ],
)
def test_what_differs_is_shown(run: Run, on: Server, name: str, app: Path, change: str, shown: str) -> None:
    run("sync", name, "plan.toml")
    (app / "plan.toml").write_text(f'[digest]\nevery = "weekday at 9am"\n{change}\n')
    assert run("sync", name, "plan.toml").out.startswith(shown)


def test_json_names_what_changed(run: Run, on: Server, name: str) -> None:
    assert json.loads(run("sync", name, "plan.toml", "--json").out) == {
        "added": ["digest", "nightly report"], "changed": [], "removed": [], "unchanged": [], "dry_run": False,
        "new_schedule": True,
    }  # fmt: skip


def test_a_mapping_of_a_module_here_is_a_plan(
    run: Run, on: Server, name: str, app: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    module = f"plans_{name.replace('-', '_')}"
    (app / f"{module}.py").write_text("PLAN = {'digest': {'fn': 'app:hi', 'every': 'hour'}}\nLIST = []\n")
    assert run("sync", name, f"{module}:PLAN").out.endswith(f"{name}: 1 added, in a new schedule\n")
    ran = run("sync", name, f"{module}:LIST")
    assert (ran.status, f"{module}:LIST is a list. Give a mapping" in ran.err) == (2, True)
    ran = run("sync", name, f"{module}:NONE")
    assert (ran.status, f"{module} has no NONE" in ran.err) == (3, True)


@pytest.mark.parametrize(
    ("plan", "status", "message"),
    [
        ("missing.toml", 3, "missing.toml: no such file or directory. Name a .toml file, or MODULE:MAPPING."),
        ("plan", 2, '"plan" is no plan. Name a .toml file, or MODULE:MAPPING.'),
        ("nowhere_at_all:PLAN", 3, "nowhere_at_all:PLAN: no module nowhere_at_all under ./ (this folder)."),
        ("broken:PLAN", 2, "broken cannot be imported: ZeroDivisionError: division by zero."),
        ("needs:PLAN", 2, "needs cannot be imported: No module named 'nothing_like_it'."),
    ],
)
def test_what_is_no_plan_is_refused(run: Run, app: Path, name: str, plan: str, status: int, message: str) -> None:
    (app / "broken.py").write_text("1 / 0\n")
    (app / "needs.py").write_text("import nothing_like_it\n")
    ran = run("sync", name, plan)
    assert ran.status == status
    assert message in ran.err
    assert ran.out == ""


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("[digest", "plan.toml: "),
        ("digest = 7", "plan.toml: digest = 7 is no table. Write [NAME] for each job"),
        ('[digest]\nevery = "hour"', 'job digest: fn is missing. Add fn = "app.reports:digest".'),
        ('[digest]\nfn = "app:hi"\nevery = "mondaay"', "job digest: "),
        ('[digest]\nfn = "app:hy"\nevery = "hour"', 'job digest: "app:hy": no such function in app.py; nearest: hi.'),
        ('[digest]\nfn = "app:hi"\nevery = "hour"\nretrys = 1', "job digest: retrys=1 is not an option of add."),
    ],
)
def test_a_bad_file_writes_nothing(run: Run, on: Server, app: Path, name: str, text: str, message: str) -> None:
    (app / "plan.toml").write_text(
        f'[good]\nfn = "app:hi"\nevery = "hour"\n{text}\n' if text[1:7] == "digest" else text
    )
    ran = run("sync", name, "plan.toml")
    assert ran.status == 2
    assert message in ran.err
    assert on.client().keys(f"{name}:*") == []


def test_a_function_elsewhere_is_noted(run: Run, on: Server, app: Path, name: str) -> None:
    (app / "plan.toml").write_text('[digest]\nfn = "elsewhere:f"\nevery = "hour"\n')
    ran = run("sync", name, "plan.toml")
    assert ran.status == 0
    assert ran.err == "note: no module elsewhere under ./ (this folder).\n"


def test_no_server_is_said(run: Run, name: str) -> None:
    assert run("sync", name, "plan.toml", "--redis", "redis://127.0.0.1:1/0").status == 69


def test_add_says_what_became_of_a_name(run: Run, on: Server, name: str) -> None:
    begin(on, name)
    first = run("add", name, "every day at 9am", "app:hi", "--name", "digest")
    again = run("add", name, "every day at 9am", "app:hi", "--name", "digest")
    other = run("add", name, "every day at 10am", "app:hi", "--name", "digest")
    id = re.match(r"added ([0-9a-f]{8})  ", first.out)
    assert id, first
    assert again.out.startswith(f"already there {id[1]}  ")
    assert re.match(rf"replaced {id[1]} with [0-9a-f]{{8}}  app\.hi\(\)  every day at 10:00", other.out)
    said = json.loads(run("add", name, "every day at 11am", "app:hi", "--name", "digest", "--json").out)
    assert (said["new"], said["name"], len(said["replaced"])) == (True, "digest", 40)


def test_now_says_what_became_of_a_unique_key(run: Run, on: Server, name: str) -> None:
    words = ("--unique-key", "a")
    id = run("add", name, "2050-07-01 19:00", "app:hi", *words).out.split()[1]
    kept = run("now", name, "app:hi", *words).out
    assert kept.startswith(f"already there {id}  app.hi()  once, Friday 1 July 2050 at 19:00 UTC, in "), "not at once"
    other = run("now", name, "app:hi", *words, "--on-conflict", "replace")
    assert re.fullmatch(rf"replaced {id} with [0-9a-f]{{8}}  app\.hi\(\)  at once\n", other.out)


def test_cancel_takes_a_name(run: Run, on: Server, name: str) -> None:
    run("add", name, "every day at 9am", "app:hi", "--name", "digest")
    ran = run("cancel", name, "digets")
    assert ran.status == 3
    assert 'Nearest: "digest" app.hi (waiting).' in ran.err
    assert run("cancel", name, "digest").status == 0
    assert run("list", name, "--json").out == "[]\n"


def test_a_plan_whose_arguments_do_not_fit_is_refused(run: Run, on: Server, app: Path, name: str) -> None:
    (app / "plan.toml").write_text('[greet]\nfn = "app:greet"\nevery = "day at 9am"\nargs = ["a", "b", "c"]\n')
    ran = run("sync", name, "plan.toml")
    assert (ran.status, ran.out) == (2, "")
    assert ran.err.startswith("error: job greet: greet(")
    assert "3 given." in ran.err


def test_a_plan_without_a_zone_takes_that_of_the_schedule_in_the_code(
    run: Run, on: Server, name: str, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (folder / "zoned.py").write_text(
        "from workkit import schedule\n"
        f's = schedule.create("{name}", tz="Asia/Tokyo")\n'
        "def digest(): ...\n"
        'PLAN = {"digest": {"fn": digest, "every": "day at 9am"}}\n'
    )
    ran = run("sync", name, "zoned:PLAN")
    assert ran.status == 0, ran.err
    assert "9:00 Asia/Tokyo" in ran.out
    assert f"times without a zone are in Asia/Tokyo, as {name} is created in the modules imported here" in ran.err
    ran = run("sync", name, "zoned:PLAN", "--tz", "Europe/Paris")
    assert "9:00 Europe/Paris" in ran.out
    assert "times without a zone" not in ran.err
    monkeypatch.delitem(sys.modules, "zoned")
