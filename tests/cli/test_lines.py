from __future__ import annotations

import json
from dataclasses import replace
from datetime import UTC, datetime
from typing import Any

import pytest

from workkit import events
from workkit.cli.log import OF_JOBS, Style, console_line, json_line
from workkit.events import Event
from workkit.jobs.job import Job

AT = datetime(2026, 11, 20, 10, 20, 30, 41_000, tzinfo=UTC)
JOB = Job(
    id="09b802b18f8c4b5e9d3a0c1f2e4d5a6b7c8d9e0f",
    schedule="app-tasks",
    fn="#'app.users/activate",
    args=("tracy@domain.com",),
    due=datetime(2026, 11, 20, 10, 20, 30, tzinfo=UTC),
)
ROWS = replace(JOB, id="54111adf" + "0" * 32, fn="#'app.export/rows", args=(7,))
FAILURE = {"error_type": "OSError", "error": "disk full", "where": "export.py:31", "traceback": "Traceback:\n  x\n"}
PLAIN = Style(arguments=True)


def event(name: str, **fields: Any) -> Event:
    return Event(name=name, schedule="app-tasks", fields=fields, time=AT.timestamp())


SAMPLES = [
    (
        event("listening", schedules={"app-tasks": 1}, url="redis://127.0.0.1:6379/0", threads=10, coroutines=100,
              pid=4242, version="0.1.0"),
        "listening  app-tasks on redis://127.0.0.1:6379/0, 10 threads, 100 coroutines, pid 4242, workkit 0.1.0",
    ),
    (event("may_run", text="functions under ./ and in app.jobs"),
     "may run    functions under ./ and in app.jobs. Ctrl-C stops."),
    (event("started", job=JOB, late_ms=2),
     'started    09b802b1  app.users.activate("tracy@domain.com")  2 ms after due'),
    (event("done", job=JOB, took_ms=41, late_ms=2),
     'done       09b802b1  app.users.activate("tracy@domain.com")  41 ms'),
    (event("failed", job=ROWS, took_ms=3, attempt=1, attempts=6, again_ms=5000, **FAILURE),
     "failed     54111adf  app.export.rows(7)  3 ms  OSError: disk full (export.py:31)  attempt 1 of 6, again in 5 s"),
    (event("dead", job=ROWS, attempt=6, attempts=6, **FAILURE | {"traceback": ""}),
     "dead       54111adf  app.export.rows(7)  OSError: disk full (export.py:31)  attempt 6 of 6. "
     "workkit dead app-tasks"),
    (event("late", job=replace(JOB, fn="#'app.reports/nightly", args=()), late_ms=12_400),
     "late       09b802b1  app.reports.nightly()  started 12.4 s after due"),
    (event("cannot_run", job=replace(JOB, fn="#'app.cache/claer", args=()),
           reason="cannot run app.cache:claer: no such function in app/cache.py; nearest: clear.",
           trouble="no such function in app/cache.py; nearest: clear"),
     "cannot run 09b802b1  app.cache:claer  no such function in app/cache.py; nearest: clear. "
     "Left for other listeners."),
    (event("lost", url="redis://127.0.0.1:6379/0", reason="connection refused", running=2),
     "lost       redis://127.0.0.1:6379/0  connection refused. 2 jobs go on; trying again."),
    (event("back", url="redis://127.0.0.1:6379/0", after_ms=2100), "back       redis://127.0.0.1:6379/0  after 2.1 s"),
    (event("fenced", job=replace(JOB, fn="#'app.mail/poll", args=()), ago_ms=14_000),
     "fenced     09b802b1  app.mail.poll()  ended here, but it was handed to another listener: "
     "this one was away for 14 s. This ending was not counted."),
    (event("stopping", running=2, deadline_ms=25_000),
     "stopping   2 running, up to 25 s to finish. Ctrl-C again stops at once."),
    (event("stopped", ran=1204, failed=3, given_back=0, up_ms=934_000),
     "stopped    ran 1,204, failed 3, given back 0, up 15 min 34 s"),
    (event("summary", ran=12_340, failed=0, latest_late_ms=3, window_ms=1000),
     "summary    ran 12,340 in 1 s, failed 0, latest start 3 ms after due"),
]  # fmt: skip


@pytest.mark.parametrize(("given", "line"), SAMPLES, ids=[sample[0].name for sample in SAMPLES])
def test_console_line_reads_as_documented(given: Event, line: str) -> None:
    assert console_line(given, PLAIN) == f"2026-11-20T10:20:30.041Z  {line}"


def test_the_clock_of_a_terminal_is_local(monkeypatch: pytest.MonkeyPatch) -> None:
    import time

    monkeypatch.setenv("TZ", "Asia/Tokyo")
    time.tzset()
    try:
        assert console_line(event("resumed"), Style(terminal=True)).startswith("19:20:30  resumed ")
    finally:
        monkeypatch.delenv("TZ")
        time.tzset()


def test_arguments_are_left_out_unless_wanted() -> None:
    assert "app.users.activate(...)" in console_line(event("done", job=JOB, took_ms=1), Style())
    assert "tracy" not in json_line(event("done", job=JOB, took_ms=1), listener=None)
    assert '"args":["tracy@domain.com"]' in json_line(event("done", job=JOB), listener=None, arguments=True)


def test_tracebacks_stand_under_dead_and_verbose_failures_only() -> None:
    failed = event("failed", job=ROWS, took_ms=3, attempt=1, attempts=6, again_ms=5000, **FAILURE)
    dead = event("dead", job=ROWS, attempt=6, attempts=6, **FAILURE)
    assert "\n" not in console_line(failed, PLAIN)
    assert console_line(failed, Style(verbose=True)).splitlines()[1:] == [f"{'':10}Traceback:", f"{'':10}  x"]
    assert console_line(dead, PLAIN).splitlines()[1:] == [f"{'':10}Traceback:", f"{'':10}  x"]


def test_what_a_handler_says_cannot_steer_the_terminal() -> None:
    line = console_line(event("dead", job=ROWS, attempt=1, attempts=1, error_type="E", error="\x1b[2J\nx"), PLAIN)
    assert "\x1b" not in line
    assert "\n" not in line


def test_json_line_holds_what_is_documented() -> None:
    given = event("done", job=JOB, took_ms=41, late_ms=2)
    assert json_line(given, listener="web-1:4242:9f3a") == (
        '{"time":"2026-11-20T10:20:30.041Z","level":"info","event":"done","schedule":"app-tasks",'
        '"job_id":"09b802b18f8c4b5e9d3a0c1f2e4d5a6b7c8d9e0f","name":null,"fn":"app.users:activate","attempt":1,'
        '"due":"2026-11-20T10:20:30.000Z","late_ms":2,"took_ms":41,"listener":"web-1:4242:9f3a"}'
    )


@pytest.mark.parametrize("given", [sample[0] for sample in SAMPLES], ids=[sample[0].name for sample in SAMPLES])
def test_every_json_line_is_json_and_keeps_the_fields(given: Event) -> None:
    record = json.loads(json_line(given, listener="me"))
    assert record["event"] == given.name
    assert record["listener"] == "me"
    assert {key for key in given.fields if key != "job"} <= set(record)


def test_every_event_that_is_documented_has_words() -> None:
    """The names at the top of workkit.events; each gets a line of its own, not its bare fields."""
    from workkit.worker.event_text import TEXTS

    assert events.__doc__ is not None
    assert all(name in events.__doc__ for name in TEXTS if name != "summary")
    assert set(TEXTS) > OF_JOBS
