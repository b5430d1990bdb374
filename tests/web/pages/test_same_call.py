from __future__ import annotations

import shlex
import tomllib
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from workkit.jobs.job import Job
from workkit.jobs.run_options import UNSAID, RunOptions
from workkit.jobs.terms import PLAIN, Terms
from workkit.triggers.when import When, read_when
from workkit.web.pages.policies import Same, same_call

NOW = datetime(2026, 11, 20, 10, 15, 30, tzinfo=UTC)


def call(words: str, *, tz: str = "UTC", terms: Terms = PLAIN, options: RunOptions = UNSAID, **more: Any) -> Same:
    trigger = read_when(When(when=words, tz=tz), now=NOW)
    job = Job(id="1", schedule="app-tasks", fn="#'app.reports/nightly", trigger=trigger, terms=terms, options=options,
              **more)  # fmt: skip
    found = same_call(job, now=NOW)
    assert found is not None
    return found


def test_all_that_a_job_was_told_is_in_the_call() -> None:
    found = call(
        "every day at 2:30",
        tz="Europe/Paris",
        terms=Terms(name="nightly", overlap="skip", catch_up_within_ms=21_600_000),
        options=RunOptions(retries=3, base_ms=60_000, jitter=False, timeout_ms=1),
        args=(7, "it's", "7"),
        kwargs={"to": [1]},
    )
    assert found.python == (
        "schedule.add(\n"
        '    s, "app.reports:nightly",\n'
        '    name="nightly",\n'
        '    when="every day at 2:30",\n'
        '    tz="Europe/Paris",\n'
        '    args=[7, "it\'s", "7"],\n'
        '    kwargs={"to": [1]},\n'
        '    overlap="skip",\n'
        '    catch_up_within="6 h",\n'
        "    retries=3,\n"
        '    base="1 min",\n'
        "    jitter=False,\n"
        "    timeout=timedelta(milliseconds=1),\n"
        ")"
    )
    assert shlex.split(found.command.replace("\\\n", "")) == [
        "workkit", "add", "app-tasks", "every day at 2:30", "app.reports:nightly", "7", "it's", '"7"',
        "--name", "nightly", "--tz", "Europe/Paris", "--kwarg", "to=[1]", "--overlap", "skip",
        "--catch-up-within", "6 h", "--retries", "3", "--base", "1 min", "--no-jitter", "--timeout", "0.001s",
    ]  # fmt: skip
    assert tomllib.loads(found.plan) == {
        "nightly": {
            "fn": "app.reports:nightly", "when": "every day at 2:30", "tz": "Europe/Paris", "args": [7, "it's", "7"],
            "kwargs": {"to": [1]}, "overlap": "skip", "catch_up_within": "6 h", "retries": 3, "base": "1 min",
            "jitter": False, "timeout": "0.001s",
        }
    }  # fmt: skip


def test_tags_are_a_list_or_a_flag_for_each() -> None:
    found = call("every day at 2:30", terms=Terms(name="nightly", tags=("user:7", "two words")))
    assert '    tags=["user:7", "two words"],\n' in found.python
    assert shlex.split(found.command.replace("\\\n", ""))[-4:] == ["--tag", "user:7", "--tag", "two words"]
    assert tomllib.loads(found.plan)["nightly"]["tags"] == ["user:7", "two words"]


def test_a_length_of_time_is_written_to_the_millisecond() -> None:
    found = call("every hour", terms=Terms(name="a"), options=RunOptions(timeout_ms=12_345_678))
    assert "--timeout 12345.678s" in found.command
    assert 'timeout = "12345.678s"' in found.plan


@pytest.mark.parametrize(
    ("terms", "args"), [(PLAIN, (1,)), (Terms(name="a"), ([None],)), (Terms(name="a"), (float("inf"),))]
)
def test_what_no_plan_can_have_has_no_entry(terms: Terms, args: tuple[Any, ...]) -> None:
    found = call("every hour", terms=terms, args=args)
    assert found.plan == ""
    assert found.python


@pytest.mark.parametrize(
    ("words", "tz"),
    [
        ("every 15 minutes", "UTC"), ("every 90 seconds", "UTC"), ("every other monday at 9am", "Europe/Berlin"),
        ("on the 1st of every month at 9", "America/New_York"), ("0 9 * * 1-5", "UTC"),
        ("every 20 minutes", "Asia/Tokyo"),
    ],
)  # fmt: skip
def test_its_time_reads_back_as_the_same(words: str, tz: str) -> None:
    written = call(words, tz=tz).python
    (line,) = (line for line in written.splitlines() if "when=" in line)
    again = read_when(When(when=line.partition('"')[2].rpartition('"')[0], tz=tz), now=NOW + timedelta(days=3))
    assert again == read_when(When(when=words, tz=tz), now=NOW)


def test_bounds_are_given_by_themselves() -> None:
    trigger = read_when(When(when="every hour until 2027-01-01"), now=NOW)
    found = same_call(Job(id="1", schedule="s", fn="f", trigger=trigger), now=NOW)
    assert found is not None
    assert 'when="every hour"' in found.python
    assert 'end="2027-01-02T00:00:00.000Z"' in found.python


def test_a_job_without_a_time_has_no_call() -> None:
    assert same_call(Job(id="1", schedule="s", fn="f"), now=NOW) is None
