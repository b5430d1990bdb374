"""The options of a run on the command line: said as in Python, kept with the job, said back."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.cli.conftest import Run
from tests.servers import Server
from workkit import schedule

SAID = ["--retries", "3", "--backoff", "linear", "--base", "1m", "--cap", "1h", "--no-jitter", "--timeout", "90s"]


@pytest.fixture
def app(folder: Path) -> Path:
    (folder / "app.py").write_text("def hi(): ...\n")
    return folder


@pytest.fixture
def on(server: Server, monkeypatch: pytest.MonkeyPatch) -> Server:
    monkeypatch.setenv("WORKKIT_REDIS_URL", server.url)
    return server


@pytest.mark.parametrize("command", [("add", "2050-01-01"), ("now",)], ids=["add", "now"])
def test_they_travel_with_the_job(run: Run, on: Server, name: str, app: Path, command: tuple[str, ...]) -> None:
    verb, *when = command
    ran = run(verb, name, *when, "app:hi", *SAID, "--json")
    assert ran.status == 0, ran.err
    (job,) = schedule.jobs(schedule.create(name, redis=on.url))
    assert job.id == json.loads(ran.out)["id"]
    assert job.options.fields() == {
        "backoff": "linear",
        "base_ms": 60_000,
        "cap_ms": 3_600_000,
        "jitter": False,
        "retries": 3,
        "timeout_ms": 90_000,
    }


def test_those_of_a_job_travel_with_it(run: Run, on: Server, name: str, app: Path) -> None:
    among = ["--name", "nightly", "--unique-key", "k", "--unique-until", "started", "--priority", "2"]
    recurring = ["--overlap", "skip", "--catch-up", "all", "--catch-up-within", "1h", "--count", "3", "--spread", "1m"]
    bounds = ["--start", "2050-01-01", "--end", "2051-01-01"]
    ran = run("add", name, "every day at 9am", "app:hi", *among, *recurring, *bounds, "--retries", "1", "--json")
    assert ran.status == 0, ran.err
    said = {
        "catch_up": "all",
        "catch_up_within_ms": 3_600_000,
        "count": 3,
        "overlap": "skip",
        "priority": 2,
        "spread_ms": 60_000,
        "unique_key": "k",
        "unique_until": "started",
    }
    (record,) = json.loads(run("list", name, "--json").out)
    assert (record["name"], record["terms"]) == ("nightly", said)
    assert json.loads(ran.out)["terms"] == said
    assert record["due"].startswith("2050-01-01T09:0")
    ((_, payload),) = on.client().hgetall(f"{name}:jobs").items()
    stored = json.loads(payload)
    assert stored["opts"] == said | {"name": "nightly", "retries": 1}
    assert (stored["from"], stored["until"]) == (2_524_608_000_000, 2_556_144_000_000)


def test_no_unique_makes_every_addition_a_job(run: Run, on: Server, name: str, app: Path) -> None:
    for _ in range(2):
        assert run("add", name, "2050-01-01", "app:hi", "--no-unique").status == 0
    assert len(list(schedule.jobs(schedule.create(name, redis=on.url)))) == 2


def test_a_debounced_job_waits(run: Run, on: Server, name: str, app: Path) -> None:
    ran = run("now", name, "app:hi", "--debounce", "1h", "--on-conflict", "replace", "--unique-key", "k")
    assert ran.status == 0, ran.err
    assert "in 59 min" in ran.out or "in 1 h" in ran.out
    (job,) = schedule.jobs(schedule.create(name, redis=on.url))
    assert job.state == "waiting"


@pytest.mark.parametrize("command", ["add", "now"])
def test_help_names_them_all(run: Run, command: str) -> None:
    out = run(command, "--help").out
    flags = {word for word in out.split() if word.startswith("--")}
    assert flags >= {
        "--name", "--unique-key", "--unique-until", "--on-conflict", "--no-unique", "--throttle", "--debounce",
        "--debounce-most",
        "--priority", "--overlap", "--catch-up", "--catch-up-within", "--count", "--spread", "--start", "--end",
        "--retries", "--backoff", "--base", "--cap", "--no-jitter", "--timeout",
    }  # fmt: skip
    assert "A job that recurs:" in out


@pytest.mark.parametrize(
    ("words", "trouble"),
    [
        (["--retries", "-1"], "--retries -1 is not a number of attempts after the first. Accepted: 0 to 10,000."),
        (["--retries", "two"], '"two" is not a whole number.'),
        (["--timeout", "90"], '"90" has no unit. Write "90s" or "90 minutes"'),
        (["--backoff", "fast"], "--backoff 'fast' is not known. Accepted: exponential, linear, constant."),
        (["--name", "a*"], "--name 'a*' has a * (column 2). Write it without."),
        (["--no-unique", "--name", "n"], "--no-unique with --name: every addition would be a job of its own"),
        (["--count", "3"], '--count with a job that runs once: only one that recurs can have it. Give "every ...".'),
        (["--end", "tomorrow"], '--end with a job that runs once: only one that recurs can have it. Give "every ...".'),
        (["--debounce", "1m"], "--debounce with a time: the window says when it runs."),
    ],
    ids=str,
)
@pytest.mark.parametrize("dry", [["--dry-run"], []], ids=["dry", "wet"])
def test_what_cannot_be_meant_is_refused(
    run: Run, on: Server, name: str, app: Path, words: list[str], trouble: str, dry: list[str]
) -> None:
    ran = run("add", name, "2050-01-01", "app:hi", *words, *dry)
    assert ran.status == 2
    assert trouble in ran.err
    assert not on.client().exists(f"{name}:jobs")


def test_metadata_is_given_by_name_and_shown(run: Run, on: Server, name: str, app: Path) -> None:
    ran = run("now", name, "app:hi", "--meta", "request=9f=2c", "--meta", "user=7", "--json")
    assert ran.status == 0, ran.err
    added = json.loads(ran.out)
    assert added["meta"] == {"request": "9f=2c", "user": "7"}
    (listed,) = json.loads(run("list", name, "--json").out)
    assert (listed["meta"], listed["args"]) == (added["meta"], [])
    assert "meta      request=9f=2c user=7" in run("show", name, added["id"][:8]).out
    dry = run("add", name, "2050-01-01", "app:hi", "--meta", '{"a": "b"}', "--dry-run", "--json")
    assert json.loads(dry.out)["meta"] == {"a": "b"}


def test_crashes_and_expires_travel_with_the_job(run: Run, on: Server, name: str, app: Path) -> None:
    ran = run("now", name, "app:hi", "--crashes", "0", "--expires", "1h")
    assert ran.status == 0, ran.err
    (job,) = schedule.jobs(schedule.create(name, redis=on.url))
    assert (job.options.crashes, job.terms.expires_ms) == (0, 3_600_000)
    refused = run("add", name, "every day at 9am", "app:hi", "--expires", "1h")
    assert refused.status == 2
    assert "--catch-up-within" in refused.err


def test_a_command_tells_how_the_first_job_of_a_lasting_key_ended(
    run: Run, server: Server, name: str, folder: Path
) -> None:
    (folder / "app.py").write_text("def pay(order):\n    pass\n")
    words = ("now", name, "app:pay", "7", "--once-key", "pay:7", "--once-for", "90 days", "--redis", server.url)
    added = run(*words)
    assert added.out.startswith("added ")
    s, id = schedule.create(name, redis=server.url), added.out.split()[1]
    assert run(*words).out.startswith(f"already there {id}  app.pay(7)")
    schedule.cancel(s, id)
    assert run(*words).out.startswith(f"already over (cancelled) {id}  app.pay(7)")
    told = json.loads(run(*words, "--json").out)
    assert (told["id"][:8], told["new"], told["ending"]) == (id, False, "cancelled")
