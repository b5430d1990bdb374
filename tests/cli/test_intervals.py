"""How the command line says an interval: how it is counted, what is stored of it, whom it is refused."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.cli.conftest import Run
from tests.servers import Server


@pytest.fixture(autouse=True)
def app(folder: Path) -> Path:
    (folder / "app.py").write_text("def hi(): ...\n")
    return folder


@pytest.fixture
def on(server: Server, monkeypatch: pytest.MonkeyPatch) -> Server:
    monkeypatch.setenv("WORKKIT_REDIS_URL", server.url)
    return server


@pytest.mark.parametrize(
    ("when", "said"),
    [
        (["every 45 minutes"], 'counted from 0:44 UTC; to choose, add "starting at 9:05", or --start TIME'),
        (
            ["every 7 hours"],
            'counted from 1 January 1970 at 6:00 UTC; to choose, add "starting 2027-01-31 at 3am", or --start TIME',
        ),
        (
            ["every 3 days at 9am"],
            'counted from 3 January 1970 at 9:00 UTC; to choose, add "starting 2027-01-31", or --start TIME',
        ),
        (["every 15 minutes"], 'aligned to the clock; to choose, add "starting at 9:05", or --start TIME'),
        (["every 20 seconds"], 'aligned to the clock; to choose, add "starting at 9:00:05", or --start TIME'),
        (["every 6 hours"], 'aligned to the clock; to choose, add "starting at 3am", or --start TIME'),
        (["every minute"], None),
        (["every 90 seconds", "--start", "2027-01-01"], "counted from its start"),
        (["every 90 seconds starting at 9:00:30"], "counted from 9:00:30 UTC"),
        (
            ["every 90 minutes", "--tz", "Asia/Kolkata"],
            'counted from 0:59 Asia/Kolkata; to choose, add "starting at 9:05", or --start TIME',
        ),
        (
            ["every 48 hours", "--tz", "Europe/Paris"],
            "counted from 3 January 1970 at 0:00 Europe/Paris; "
            'to choose, add "starting 2027-01-31 at 3am", or --start TIME',
        ),
        (["every weekday at 9am"], None),
        (["2050-01-01"], None),
    ],
    ids=str,
)
def test_add_says_how_an_interval_is_counted(run: Run, name: str, when: list[str], said: str | None) -> None:
    text, *options = when
    ran = run("add", name, text, "app:hi", *options, "--dry-run", "--redis", "redis://127.0.0.1:1/")
    assert ran.status == 0
    assert ran.out.splitlines()[1:] == ([] if said is None else [f"  {said}"])


def test_an_interval_goes_with_its_job(run: Run, on: Server, name: str) -> None:
    ran = run("add", name, "every 90 seconds", "app:hi", "--start", "2050-01-01T00:00:30Z", "--name", "poll")
    assert ran.status == 0
    record = json.loads(run("list", name, "--json").out)[0]
    assert (record["interval"], record["counted"]) == ({"phase": 30, "seconds": 90}, "counted from its start")
    assert (record["words"], record["cron"]) == ("every 90 seconds, starting 2050-01-01T00:00:30Z", None)
    assert "counted   from its start\n" in run("show", name, "poll").out
    verified = run("wire", "verify", name)
    assert verified.status == 0
    assert "interval (and runs at the times in cron, no more often)" in verified.out
    assert (
        "already there"
        in run("add", name, "every 90 seconds", "app:hi", "--start", "2050-01-01T00:00:30Z", "--name", "poll").out
    )


def test_an_interval_that_seven_fields_cannot_say_is_refused_for_clojure(run: Run, on: Server, name: str) -> None:
    ran = run("add", name, "every 90 seconds", "#'your-app.cache/clear")
    assert ran.status == 2
    assert "with #'your-app.cache/clear: only Python listeners keep this interval." in ran.err
    assert run("add", name, "every 2 minutes", "#'your-app.cache/clear").status == 0


def test_a_plan_with_an_interval_stands_once_it_is_carried_out(run: Run, on: Server, name: str, folder: Path) -> None:
    table = '[poll]\nfn = "app:hi"\nevery = "{}"\nstart = "2027-01-01T00:00:30Z"\n'
    (folder / "plan.toml").write_text(table.format("90 seconds"))
    assert run("sync", name, "plan.toml").out.endswith(f"{name}: 1 added, in a new schedule\n")
    assert run("sync", name, "plan.toml").out.endswith(f"{name}: 1 unchanged\n")
    (folder / "plan.toml").write_text(table.format("45 seconds"))
    changed = run("sync", name, "plan.toml").out
    assert (
        "every 90 seconds, starting 2027-01-01T00:00:30Z -> every 45 seconds, starting 2027-01-01T00:00:30Z" in changed
    )
