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


@pytest.mark.parametrize(
    ("words", "trouble"),
    [
        (["--retries", "-1"], "retries=-1 is not a number of attempts after the first. Accepted: 0 to 10,000."),
        (["--retries", "two"], "'two' is not a valid integer"),
        (["--timeout", "90"], '"90" has no unit. Write "90s" or "90 minutes"'),
        (["--backoff", "fast"], "backoff='fast' is not known. Accepted: exponential, linear, constant."),
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
