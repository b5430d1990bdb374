"""How `listen --processes` is worded, and how a child's command line is made."""

from __future__ import annotations

import sys
from typing import Any

import pytest

from tests.cli.conftest import Run
from workkit.cli.commands.processes import own_command
from workkit.cli.log import Style, console_line
from workkit.events import Event

LISTENING = {"schedules": {"t": 1}, "url": "redis://h:1/0", "threads": 10, "pid": 1, "version": "0.1.0"}
TALLY = {"ran": 1204, "failed": 3, "given_back": 0, "up_ms": 934_000}
AWAY = "ended with status 69: redis://h:1/0: connection refused."


@pytest.mark.parametrize(
    ("name", "fields", "line"),
    [
        ("listening", {**LISTENING, "processes": 4},
         "listening  t on redis://h:1/0, 4 processes of 10 threads, pid 1, workkit 0.1.0"),
        ("restarted", {"pid": 7, "status": -9, "after_ms": 0, "reason": "was killed by SIGKILL"},
         "restarted  process 7 was killed by SIGKILL. Another starts at once."),
        ("restarted", {"pid": 7, "status": 69, "after_ms": 1500, "reason": AWAY},
         "restarted  process 7 ended with status 69: redis://h:1/0: connection refused. Another starts in 1.5 s."),
        ("orphaned", {"pid": 7}, "orphaned   process 7, which started this one, is gone; it stops too."),
        ("stopped", {**TALLY, "uncounted": 0}, "stopped    ran 1,204, failed 3, given back 0, up 15 min 34 s"),
        ("stopped", {**TALLY, "uncounted": 2},
         "stopped    ran 1,204, failed 3, given back 0, up 15 min 34 s; without what 2 processes ran that died"),
    ],
)  # fmt: skip
def test_the_lines(name: str, fields: dict[str, Any], line: str) -> None:
    assert console_line(Event(name=name, fields=fields), Style()).endswith(f"Z  {line}")


def test_help_tells_of_processes_and_not_of_what_children_are_told(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "120")
    out = run("listen", "--help").out
    line = next(line for line in out.splitlines() if "--processes" in line)
    assert line.split() == ["--processes", "N", "listener", "processes;", "default", "1", "[WORKKIT_PROCESSES]"]
    assert "functions at once; default 10" in out
    assert "coroutines at once; default 100" in out
    assert "--supervised" not in out


@pytest.mark.parametrize("number", ["0", "65", "-1", "1.5", "two", ""])
def test_a_number_of_processes_out_of_bounds_is_refused(run: Run, monkeypatch: pytest.MonkeyPatch, number: str) -> None:
    ran = run("listen", "t", f"--processes={number}")
    assert (ran.status, ran.out) == (2, "")
    assert ran.err == f'error: --processes: "{number}" is not a whole number from 1 to 64.\n'
    if number:
        monkeypatch.setenv("WORKKIT_PROCESSES", number)
        assert run("listen", "t").err == ran.err


WORDS = ["listen", "t", "--redis", "redis://h"]


@pytest.mark.parametrize(
    ("original", "found"),
    [
        (["python", "-m", "workkit", *WORDS], ["-m", "workkit"]),
        (["/v/python", "-W", "error", "/v/bin/workkit", *WORDS], ["-W", "error", "/v/bin/workkit"]),
        (["python", "-c", "main()", *WORDS], ["-c", "main()"]),
        (["python", "/v/bin/flask", "--app", "shop", "workkit", *WORDS], ["/v/bin/flask", "--app", "shop", "workkit"]),
        (["python", "manage.py", "start"], ["-m", "workkit"]),
        (["python"], ["-m", "workkit"]),
    ],
)
def test_a_child_is_started_as_this_process_was(original: list[str], found: list[str]) -> None:
    assert own_command(original, WORDS[1:]) == [sys.executable, *found]
