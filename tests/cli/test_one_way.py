"""One way to add: the verb, a row, a plan, a command line and its dry run make the same job of the same words."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from tests.cli.conftest import Run
from tests.servers import Server
from workkit import Job, call, schedule
from workkit.errors import Invalid
from workkit.jobs.middleware import ENTERING

WORDS: list[tuple[str, dict[str, Any]]] = [
    ("every weekday at 9am", {"every": "weekday at 9am"}),
    ("weekdays at 9am", {"every": "weekdays at 9am"}),
    ("every 2nd sunday at 5pm", {"every": "2nd sunday at 5pm"}),
    ("every 5 hours", {"every": "5 hours"}),  # seconds would pass between the additions
    ("2050-01-01 9am", {"at": "2050-01-01 9am"}),
    ("1 March 2050 at noon", {"at": "1 March 2050 at noon"}),
    ("0 9 * * 1-5", {"cron": "0 9 * * 1-5"}),
    ("* * * 1-5 9 0 0", {"cron": "* * * 1-5 9 0 0"}),
    ("@daily", {"cron": "@daily"}),
]


@pytest.fixture
def s(run: Run, server: Server, name: str, folder: Path, monkeypatch: pytest.MonkeyPatch) -> schedule.Schedule:
    monkeypatch.setenv("WORKKIT_REDIS_URL", server.url)
    monkeypatch.setenv("WORKKIT_TZ", "Europe/Paris")
    (folder / "app.py").write_text("def hi(*names, loud=False): ...\n")
    return schedule.create(name)


@pytest.mark.parametrize(("words", "keyword"), WORDS, ids=[words for words, _ in WORDS])
def test_the_same_words_give_the_same_job_everywhere(
    run: Run, s: schedule.Schedule, folder: Path, words: str, keyword: dict[str, Any]
) -> None:
    said: dict[str, Any] = {"name": "n", "retries": 2, "args": ["ada"]}
    row = {"fn": "app:hi", "when": words, **said}
    first = schedule.add(s, "app:hi", when=words, **said)
    assert first.new
    assert schedule.add(s, "app:hi", **keyword, **said).id == first.id
    assert schedule.add(s, call=call("app:hi", "ada"), when=words, name="n", retries=2).id == first.id
    assert (schedule.add_many(s, [row]).new, schedule.add_many(s, [row]).known) == (0, 1)
    assert schedule.sync(s, {"n": {"fn": "app:hi", "when": words, "retries": 2, "args": ["ada"]}}).unchanged == ("n",)
    ran = run("add", s.name, words, "app:hi", "ada", "--name", "n", "--retries", "2", "--json")
    assert (json.loads(ran.out)["id"], json.loads(ran.out)["new"]) == (first.id, False), ran.err
    (folder / "rows.jsonl").write_text(json.dumps(row))
    assert run("add-many", s.name, "rows.jsonl").out == f"added 0 jobs to {s.name}, 1 already there\n"
    dry = json.loads(
        run("add", s.name, words, "app:hi", "ada", "--name", "n", "--retries", "2", "--json", "--dry-run").out
    )
    real = json.loads(ran.out)
    assert {**dry, "id": "", "new": ""} == {**real, "id": "", "new": ""}
    assert [job.id for job in schedule.jobs(s)] == [first.id]


@pytest.mark.parametrize("dialect", ["published", "cuckoo"])
def test_a_dry_run_reads_cron_in_the_dialect_of_the_schedule(run: Run, s: schedule.Schedule, dialect: str) -> None:
    command = ("add", s.name, "0 0 9 * * * *", "app:hi", "--dialect", dialect, "--json")
    dry, wet = run(*command, "--dry-run"), run(*command)
    assert (dry.status, dry.err) == (wet.status, wet.err)
    if dialect == "cuckoo":
        assert json.loads(dry.out)["words"] == json.loads(wet.out)["words"]


def test_a_dry_run_shows_what_middleware_changed(run: Run, s: schedule.Schedule) -> None:
    @s.middleware(on="add")
    def greet(job: Job) -> Iterator[Job]:
        yield replace(job, args=("ada", *job.args))

    try:
        ran = run("add", s.name, "2050-01-01 9am", "app:hi", "bob", "--dry-run", "--json")
        assert ran.status == 0, ran.err
        assert json.loads(ran.out)["args"] == ["ada", "bob"]
        assert list(schedule.jobs(s)) == []
    finally:
        del ENTERING[s.name]


def test_a_dry_run_is_refused_where_middleware_refuses(run: Run, s: schedule.Schedule) -> None:
    @s.middleware(on="add")
    def refuse(job: Job) -> Iterator[Job]:
        raise Invalid("not on my watch.")
        yield job

    try:
        for dry in (["--dry-run"], []):
            ran = run("add", s.name, "2050-01-01 9am", "app:hi", *dry)
            assert (ran.status, ran.err) == (2, "error: not on my watch.\n")
    finally:
        del ENTERING[s.name]


REFUSED: list[tuple[dict[str, Any], str]] = [
    ({"when": "daily at 9am", "at": "now", "fn": "app:hi"},
     "when= and at= were both given; a job has one time. Keep one of when= at= in_= every= cron=, or add two jobs."),
    ({"when": 5, "fn": "app:hi"},
     'when=5 is neither words nor a cron string. Write when="every weekday at 9am"; a datetime goes into at='),
    ({"when": "7pm tomorow", "fn": "app:hi"}, '"7pm tomorow": "tomorow" (column 5) is not understood.'),
    ({"when": "every day until 2020-01-01", "fn": "app:hi"}, '"every day until 2020-01-01"'),
    ({"when": "0 0 9 * * 1", "fn": "app:hi"}, 'cron="0 0 9 * * 1" has six fields'),
    ({"when": "now", "fn": "app:hi", "count": 2}, "count= with a job that runs now"),
    ({"when": "daily at 9am"}, "fn is missing. Give a function, or call=call(function, ...)."),
    ({"when": "daily at 9am", "call": call("app:hi"), "fn": "app:hi"},
     "fn= and call= were both given: a call holds its function and arguments. Leave out fn=."),
    ({"when": "daily at 9am", "call": call("app:hi"), "args": [], "kwargs": {}},
     "args= and kwargs= and call= were both given: a call holds its function and arguments. "
     "Leave out args= and kwargs=."),
    ({"when": "daily at 9am", "call": "app:hi"}, "call='app:hi' is not a call. Write call=call(function, ...)"),
]  # fmt: skip


@pytest.mark.parametrize(("given", "message"), REFUSED, ids=[str(given)[:60] for given, _ in REFUSED])
def test_the_verb_and_a_row_refuse_with_the_same_sentence(
    s: schedule.Schedule, given: dict[str, Any], message: str
) -> None:
    with pytest.raises(Invalid) as verb:
        schedule.add(s, **given)
    assert str(verb.value).startswith(message)
    with pytest.raises(type(verb.value)) as row:
        schedule.add_many(s, [given])
    assert str(row.value) == f"row 1: {verb.value} Nothing is added."
    assert row.value.given == verb.value.given
    assert list(schedule.jobs(s)) == []


def hello(name: str, *, loud: bool = False) -> None: ...


def test_a_call_is_checked_and_stored_as_fn_and_arguments(s: schedule.Schedule) -> None:
    by_call = schedule.add(s, call=call(hello, "ada", loud=True), when="daily at 9am")
    assert schedule.add(s, hello, args=["ada"], kwargs={"loud": True}, every="day at 9am").id == by_call.id
    with pytest.raises(Invalid, match=r"^hello\(name, loud\) takes"):
        schedule.add_now(s, call=call(hello))  # type: ignore[call-overload]
    with pytest.raises(Invalid, match="name is annotated str"):
        schedule.add_now(s, call=call(hello, 5))  # type: ignore[call-overload]
