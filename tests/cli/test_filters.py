"""`list --where` and `dead --where` with qualifiers, and `dead --by error`."""

from __future__ import annotations

import json
import re

import pytest

from tests.cli.conftest import Run
from tests.servers import Server
from workkit import schedule
from workkit.schedule import Schedule


@pytest.fixture
def jobs(server: Server, name: str, monkeypatch: pytest.MonkeyPatch) -> Schedule:
    monkeypatch.setenv("WORKKIT_REDIS_URL", server.url)
    s = schedule.create(name)
    schedule.add(s, "app.export:rows", in_="30 minutes", args=[4218])
    schedule.add(s, "app.export:rows", in_="3 hours", args=[4219])
    schedule.add(s, "app.mail:poll", every="hour", name="mail-poll")
    return s


def listed(run: Run, s: Schedule, where: str) -> list[str]:
    return [
        record["fn"] + str(record["args"]) for record in json.loads(run("list", s.name, "--json", "--where", where).out)
    ]


def test_a_list_takes_qualifiers(run: Run, jobs: Schedule) -> None:
    assert len(listed(run, jobs, "fn:export")) == 2
    assert len(listed(run, jobs, "fn:export due:<1h")) == 1
    assert len(listed(run, jobs, "name:mail-* state:waiting")) == 1
    assert len(listed(run, jobs, "-fn:export")) == 1
    assert len(listed(run, jobs, "421 fn:export args:4219")) == 1
    assert "mail" in run("list", jobs.name, "--where", "name:mail-poll").out


def test_a_filter_that_finds_nothing_is_said_back(run: Run, jobs: Schedule) -> None:
    ran = run("list", jobs.name, "--where", "fn:nothing due:<1h")
    assert ran.status == 0
    assert ran.err == (
        f'no jobs that are meant (function is "nothing"; due in less than 1 h) in {jobs.name}. '
        f"All: workkit list {jobs.name}\n"
    )


def test_a_filter_that_is_not_understood_is_refused(run: Run, jobs: Schedule) -> None:
    ran = run("list", jobs.name, "--where", "fn:export stat:due")
    assert ran.status == run("list", jobs.name, "--limit", "x").status
    assert ran.err.startswith(
        'error: "stat:" (column 11) is no qualifier. Did you mean "state:"? Accepted: id:, name:,'
    )
    assert run("dead", jobs.name, "--where", "died:soon").err.startswith('error: died:"soon" (column 6) is no length')


@pytest.fixture
def dead(server: Server, name: str, monkeypatch: pytest.MonkeyPatch) -> Schedule:
    monkeypatch.setenv("WORKKIT_REDIS_URL", server.url)
    s = schedule.create(name)
    for text in ("disk 1", "disk 22", "network down", "disk 333"):
        schedule.add_now(s, "tests.handlers:fail", args=[text])
    schedule.drain(s, imports=["tests.handlers"], folder=None, raise_errors=False)
    return s


def test_the_dead_are_put_together_by_their_error(run: Run, dead: Schedule) -> None:
    lines = run("dead", dead.name, "--by", "error").out.splitlines()
    assert lines[0] == f"{dead.name}: 4 dead jobs, 2 errors."
    rows = [re.split(r"\s{2,}", line) for line in lines[1:]]
    assert rows[0] == ["JOBS", "LAST", "FIRST", "FUNCTION", "ERROR", "PRINT"]
    assert [row[0] for row in rows[1:]] == ["3", "1"]
    assert rows[2][4].startswith("OSError: network down")


def test_jobs_that_died_with_their_ids_in_the_message_are_one_error(run: Run, jobs: Schedule) -> None:
    for k in range(12):
        schedule.add_now(jobs, "tests.handlers:fail", args=[f"job_{48213 + k} for token=t{k}{'x' * k} failed"])
    schedule.drain(jobs, imports=["tests.handlers"], folder=None, raise_errors=False)
    (found,) = json.loads(run("dead", jobs.name, "--by", "error", "--where", "job_48", "--json").out)
    assert found["jobs"] == 12
    assert found["message"].endswith(" for token=•••••• failed")
    assert " token=t" not in run("dead", jobs.name, "--by", "error").out


def test_errors_as_json_tell_what_varies(run: Run, dead: Schedule) -> None:
    first, second = json.loads(run("dead", dead.name, "--by", "error", "--json").out)
    assert (first["jobs"], second["jobs"]) == (3, 1)
    assert first["error_type"] == "OSError"
    start, end = first["varying"][0]
    assert first["message"][start:end].isdigit()
    assert len(first["ids"]) == 3
    assert len(first["fingerprint"]) == 40
    assert first["fns"] == ["tests.handlers.fail"]
    assert first["first"] <= first["last"]


def test_the_hint_to_retry_names_what_retry_understands(run: Run, dead: Schedule) -> None:
    assert "--where 'disk 22'" in run("dead", dead.name, "--where", "disk 22").err
    assert "--where error:network\n" in run("dead", dead.name, "--where", "error:network").err
    assert "4 dead jobs would be meant" in run("retry", dead.name, "--where", "fn:fail", "--dry-run").err
    assert "1 dead job would be meant" in run("discard", dead.name, "--where", "error:network", "--dry-run").err


def test_filters_and_errors_go_together(run: Run, dead: Schedule) -> None:
    out = run("dead", dead.name, "--by", "error", "--where", "-network").out
    assert out.startswith(f"{dead.name}: 3 dead jobs, 1 error.\n")
