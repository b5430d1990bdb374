"""`list` and `stats`: they count alike, soonest first, and fit a terminal of any width."""

from __future__ import annotations

import json
import re
import signal
import sys
from collections import Counter
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from tests.cli.conftest import Run, begin
from tests.processes import until
from tests.servers import Server
from tests.terminals import Terminal, on_terminal
from workkit import schedule
from workkit.text.cells import cells

STATES = ("waiting", "due", "running", "cancelling", "retrying", "held", "paused", "dead")
APP = """
def hi(*args): print("hi")
def other(*args): print("other")
"""


@pytest.fixture(autouse=True)
def on(server: Server, folder: Path, monkeypatch: pytest.MonkeyPatch) -> Server:
    (folder / "app.py").write_text(APP)
    monkeypatch.setenv("WORKKIT_REDIS_URL", server.url)
    return server


def records(run: Run, name: str) -> list[dict[str, Any]]:
    return list(json.loads(run("list", name, "--all", "--json").out))


def counted(run: Run, name: str) -> dict[str, int]:
    found = json.loads(run("stats", name, "--json").out)[0]
    return {state: found[state] for state in STATES if found[state]}


def test_list_and_stats_count_alike_under_every_pause(run: Run, name: str) -> None:
    s = schedule.create(name)
    for n in range(3):
        schedule.add_now(s, "tests.handlers:fail", args=[f"{n}"], retries=3, base="1h")
    schedule.drain(s, imports=["tests.handlers"], raise_errors=False)
    assert counted(run, name) == {"retrying": 3}
    for when in ("every day at 9am", "every day at 5pm"):
        for function in ("app:hi", "app:other"):
            run("add", name, when, function, "--name", f"{function[4:]}{when[-3:]}")
    run("now", name, "app:hi")
    run("now", name, "app:other")
    steps: tuple[tuple[str, ...], ...] = (
        ("list", name),
        ("run", name, "hi9am", "other5pm"),
        ("skip", name, "hi5pm"),
        ("pause", name, "hi5pm", "other9am"),
        ("pause", name, "--fn", "app:hi"),
        ("pause", name, "--fn", "tests.handlers:fail"),
        ("pause", name),
        ("resume", name),
        ("resume", name, "--fn", "app:hi"),
    )
    for step in steps:
        assert run(*step).status == 0, step
        assert counted(run, name) == dict(Counter(record["state"] for record in records(run, name))), step
        header = run("list", name).out.splitlines()[0]
        for state, count in counted(run, name).items():
            assert f"{count} {state}" in header


def test_a_run_that_is_cancelled_counts_as_cancelling(run: Run, name: str) -> None:
    from tests import handlers

    s = schedule.create(name)
    handlers.gate.clear()
    with schedule.listener(s, imports=["tests.handlers"], threads=1):
        job = schedule.add_now(s, handlers.wait_for_gate)
        until(lambda: counted(run, name) == {"running": 1}, what="the run")
        schedule.cancel(s, job)
        assert counted(run, name) == dict(Counter(record["state"] for record in records(run, name)))
        handlers.gate.set()


def test_stats_show_and_doctor_say_what_is_past_its_deadline(run: Run, name: str, server: Server) -> None:
    begin(server, name)
    run("add", name, "tomorrow 6am", "app:hi", "--within", "2h", "--name", "export")
    run("add", name, "every day at 2am", "app:hi", "--done-by", "6am", "--name", "nightly")
    assert re.search(r"\ndeadline  \S+ \d+ \S+ \d+ at 6:00 UTC, in ", run("show", name, "nightly").out)
    assert json.loads(run("stats", name, "--json").out)[0]["past_deadline"] == []
    assert "deadline" not in run("stats", name).out
    client = server.client()
    key = f"{name}:deadlines"
    client.zadd(key, dict.fromkeys(client.zrange(key, 0, -1), 1_795_672_800_000))
    found = json.loads(run("stats", name, "--json").out)[0]["past_deadline"]
    assert sorted(one["name"] for one in found) == ["export", "nightly"]
    assert {(one["deadline"], one["is_past"]) for one in found} == {("2026-11-26T06:00:00.000Z", True)}
    line = r"2 jobs are past their deadline: (export|nightly) since 2026-11-26 06:00 UTC and (export|nightly) since "
    assert re.search(line, run("stats", name).out)
    assert re.search(line, run("doctor", name).out)
    run("cancel", name, "nightly")
    assert "1 job is past its deadline: export since 2026-11-26 06:00 UTC.\n" in run("stats", name).out


def test_stats_say_how_late_work_is(run: Run, name: str, server: Server) -> None:
    begin(server, name)
    assert json.loads(run("stats", name, "--json").out)[0]["late_ms"] is None
    run("add", name, "2050-01-01", "app:hi")
    assert json.loads(run("stats", name, "--json").out)[0]["late_ms"] is None
    assert re.search(r"LATE .*\n\S+ +1 +0 +- ", run("stats", name).out)
    run("now", name, "app:hi")
    client = server.client()
    item, score = client.zrange(f"{name}:next", 0, 0, withscores=True)[0]
    client.zadd(f"{name}:next", {item: score - 90_000})
    assert 90_000 <= json.loads(run("stats", name, "--json").out)[0]["late_ms"] < 120_000
    assert re.search(r"\S+ +1 +1 +1 min 3\d s ", run("stats", name).out)
    run("pause", name)
    assert json.loads(run("stats", name, "--json").out)[0]["late_ms"] is None


def test_stats_name_the_schedule_before_they_show_that_nothing_is_paused(
    run: Run, name: str, server: Server, folder: Path, on: Server
) -> None:
    run("now", name, "app:hi")
    client = server.client()
    item, score = client.zrange(f"{name}:next", 0, 0, withscores=True)[0]
    client.zadd(f"{name}:next", {item: score - 31_500})

    def titles() -> list[str]:
        shown = on_terminal("stats", name, columns=80, cwd=folder, env={"WORKKIT_REDIS_URL": on.url})
        assert shown.wait() == 0
        head, row, *_ = shown.plain.splitlines()
        assert row.startswith(f"{name}  ")
        return head.split()

    assert "PAUSED" not in titles()
    run("pause", name)
    assert "PAUSED" in titles()


def test_list_is_soonest_first_after_every_change(run: Run, name: str) -> None:
    for when in ("every hour", "every 10 minutes", "every day at 9am"):
        run("add", name, when, "app:hi", "--name", when)
    run("add", name, "in 5 minutes", "app:hi")
    steps: tuple[tuple[str, ...], ...] = (
        ("list",),
        ("skip", "every 10 minutes"),
        ("run", "every hour"),
        ("pause", "every hour", "every day at 9am"),
        ("skip", "every 10 minutes"),
        ("run", "every 10 minutes"),
    )
    for verb, *words in steps:
        assert run(verb, name, *words).status == 0
        due = [record["due"] for record in records(run, name)]
        assert due == sorted(due), (verb, words)


@pytest.mark.parametrize("columns", [40, 80, 120])
def test_no_line_on_a_terminal_is_wider_than_it(run: Run, name: str, folder: Path, on: Server, columns: int) -> None:
    run("add", name, "every weekday at 9am", "app:hi", "日本語" * 40, "--name", "the nightly report of everything")
    run("pause", name, "--fn", "app:other", "--reason", "a long-winded reason that fills some lines of a terminal")
    for words in (("list", name), ("stats", name), ("show", name, "the nightly report of everything"), ("dead", name)):
        shown = on_terminal(*words, columns=columns, cwd=folder, env={"WORKKIT_REDIS_URL": on.url})
        assert shown.wait() == 0
        assert all(cells(line) <= columns for line in shown.plain.splitlines()), words
    listed = on_terminal("list", name, columns=columns, cwd=folder, env={"WORKKIT_REDIS_URL": on.url})
    listed.wait()
    head, _, table = listed.plain.partition("FUNCTION")
    assert "STATE" in table
    assert " ".join(head.split()).startswith(
        f"{name}: 1 waiting. Listeners: 0. Times in UTC. Paused: app:other (a long-"
    )


def test_watch_shows_what_comes_and_ends_with_ctrl_c(run: Run, name: str, folder: Path, on: Server) -> None:
    run("add", name, "2050-01-01", "app:hi")
    env = {"WORKKIT_REDIS_URL": on.url}
    with closing(on_terminal("list", name, "--watch", columns=80, lines=8, cwd=folder, env=env)) as watch:
        watch.wait_for(f"{name}: 1 waiting")
        for year in range(2051, 2061):
            run("add", name, f"{year}-01-01", "app:hi")
        watch.wait_for(f"{name}: 11 waiting")
        last = watch.wait_for(r"11 waiting(?s:.*?)and more")[0]
        assert len(last.splitlines()) <= 8
        watch.child.send_signal(signal.SIGINT)
        assert watch.wait() == 130


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("--watch", "--json"), "--watch and --json were both given."),
        (("--watch", "--all"), "--watch and --all were both given."),
        (("--watch",), "--watch draws on a terminal, and stdout is none."),
    ],
)
def test_watch_is_refused_where_it_cannot_be(run: Run, name: str, words: tuple[str, ...], said: str) -> None:
    ran = run("list", name, *words)
    assert (ran.status, ran.out) == (2, "")
    assert said in ran.err


def test_the_width_is_that_of_the_stream_that_is_a_terminal(folder: Path, on: Server, name: str) -> None:
    words = [sys.executable, "-m", "workkit", "list", name, "--redis", on.url, "--where", "a text " * 20]
    piped = ["bash", "-c", '"$@" | cat', "bash", *words]
    with closing(Terminal(piped, columns=300, lines=24, cwd=folder, env={})) as shown:
        shown.wait()
    assert shown.plain.count("\n") == 1, shown.plain
