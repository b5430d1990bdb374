"""`add-many`: what it says while it reads, and where a bad row is."""

from __future__ import annotations

import json
import os
import pty
import re
import signal
import subprocess
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import pytest

from tests import handlers
from tests.cli.conftest import Run
from tests.processes import completed, until
from tests.servers import Server
from tests.warm import Program, clean_environ
from workkit import schedule
from workkit.verbs.bulk import CHUNK

BATCH = r"bulk ([0-9a-f]{{8}}): If this is interrupted: workkit add-many {}\n"
ROWS = [{"fn": "app:hi", "at": "2050-01-01 9am", "args": [n]} for n in range(2 * CHUNK)]


@pytest.fixture
def rows(folder: Path) -> Path:
    file = folder / "jobs.jsonl"
    file.write_text("".join(json.dumps(row) + "\n" for row in ROWS))
    return file


def command(server: Server, name: str, file: Path) -> list[str]:
    return [sys.executable, "-m", "workkit", "add-many", name, str(file), "--redis", server.url]


def begun(words: Sequence[str]) -> Program:
    null, pipe = subprocess.DEVNULL, subprocess.PIPE
    return Program(words, env=clean_environ(), text=True, stdin=null, stdout=null, stderr=pipe)


def test_a_terminal_shows_a_bar_and_erases_it(server: Server, name: str, rows: Path) -> None:
    ours, theirs = pty.openpty()
    with subprocess.Popen(
        command(server, name, rows),
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=theirs,
        env={**os.environ, "TERM": "xterm", "COLUMNS": "200"},
    ) as process:
        os.close(theirs)
        seen = b""
        try:
            while part := os.read(ours, 65536):
                seen += part
        except OSError:  # the other end is closed
            pass
        os.close(ours)
        assert process.stdout is not None
        out = process.stdout.read().decode()
    assert out == f"added {len(ROWS):,} jobs to a new schedule {name}\n"
    text = seen.decode()
    assert f"{rows}: {len(ROWS):,} rows" in text
    assert "100%" in text
    assert text.endswith("\x1b[1A\x1b[2K")


def test_a_pipe_and_a_file_get_no_bar(server: Server, name: str, rows: Path) -> None:
    done = completed(*command(server, name, rows))
    assert done.stdout == f"added {len(ROWS):,} jobs to a new schedule {name}\n"
    assert re.fullmatch(BATCH.format(f"{name} {rows} --resume \\1 --redis {server.url}"), done.stderr)


def test_a_bad_row_is_named_by_its_line_with_what_is_added(
    run: Run, server: Server, name: str, rows: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("WORKKIT_REDIS_URL", server.url)
    with rows.open("a") as file:
        file.write('\n{"fn": "app:hi", "in_": "5 mintues"}\n')
    ran = run("add-many", name, "jobs.jsonl")
    assert ran.status == 2
    _, first, text, caret = ran.err.splitlines()
    assert first.startswith(f'error: row {len(ROWS) + 2:,} of jobs.jsonl: "5 mintues": "mintues" (column 3)')
    again = rf"workkit add-many {name} jobs\.jsonl --resume [0-9a-f]{{8}}"
    assert re.search(rf" Rows 1 to {len(ROWS):,} are added\. Correct it, and add the rest: {again}$", first)
    assert (text, caret) == ("  5 mintues", "    ^")
    assert schedule.counts(schedule.create(name)).waiting == len(ROWS)


def test_a_row_of_words_that_look_like_our_own_is_named_once(
    run: Run, server: Server, name: str, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("WORKKIT_REDIS_URL", server.url)
    words = "row 7: Nothing is added."
    (folder / "jobs.jsonl").write_text(json.dumps({"fn": "app:hi", "at": "now", "overlap": words}))
    ran = run("add-many", name, "jobs.jsonl")
    assert ran.err.partition("\n")[2] == (
        f"error: row 1 of jobs.jsonl: overlap='{words}' is not known. Accepted: allow, skip, queue, cancel. "
        "Nothing is added. Correct it, and run this again.\n"
    )


def test_a_line_that_is_not_json_is_named(
    run: Run, server: Server, name: str, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("WORKKIT_REDIS_URL", server.url)
    (folder / "jobs.jsonl").write_text("{\n")
    ran = run("add-many", name, "jobs.jsonl")
    assert "\nerror: row 1 of jobs.jsonl: not JSON: " in ran.err
    assert "Nothing is added. Correct it, and run this again." in ran.err


# Bulks that are resumed.

PLAIN = [{"fn": "tests.handlers:note", "in_": "1 hour", "args": [n]} for n in range(3 * CHUNK + 7)]
MIXED = [
    {"fn": "tests.handlers:note", "args": [n]}
    | ({"at": "now"} if n % 2 else {"in_": "1 hour"})
    | ({"priority": 1} if n % 5 == 0 else {})
    | ({"unique_key": f"key-{n}"} if n % 7 == 0 else {})
    | ({"name": f"name-{n}"} if n % 11 == 0 else {})
    for n in range(3 * CHUNK + 7)
]


def write(file: Path, rows: list[dict[str, Any]]) -> None:
    file.write_text("".join(json.dumps(row) + "\n" for row in rows))


def numbers(name: str) -> list[int]:
    """Tell which rows are there, each as often as it is."""
    return sorted(job.args[0] for job in schedule.jobs(schedule.create(name)))


@pytest.fixture
def batch(run: Run, server: Server, monkeypatch: pytest.MonkeyPatch) -> Callable[..., str]:
    """Add rows, and give the name of their batch."""
    monkeypatch.setenv("WORKKIT_REDIS_URL", server.url)

    def added(*words: str) -> str:
        found = re.search(r"bulk ([0-9a-f]{8}): ", run("add-many", *words).err)
        assert found
        return found[1]

    return added


@pytest.mark.parametrize("rows", [PLAIN, MIXED], ids=["plain", "mixed"])
def test_a_resumed_batch_adds_what_comes_after_a_mistake(
    run: Run, name: str, folder: Path, batch: Callable[..., str], rows: list[dict[str, Any]]
) -> None:
    file, bad = folder / "jobs.jsonl", 2 * CHUNK + 3
    write(file, [*rows[:bad], {**rows[bad], "timeout": "5 mintues"}, *rows[bad + 1 :]])
    id = batch(name, "jobs.jsonl")
    assert numbers(name) == list(range(2 * CHUNK))
    write(file, rows)
    resumed = run("add-many", name, "jobs.jsonl", "--resume", id)
    left = len(rows) - 2 * CHUNK
    assert (resumed.status, resumed.out) == (0, f"added {left} jobs to {name}, after {2 * CHUNK:,} rows before\n")
    assert numbers(name) == list(range(len(rows)))
    again = run("add-many", name, "jobs.jsonl", "--resume", id)
    assert again.out == f"added 0 jobs to {name}, after {len(rows):,} rows before\n"
    assert numbers(name) == list(range(len(rows)))


def test_a_resumed_batch_adds_nothing_that_is_done_meanwhile(
    run: Run, name: str, folder: Path, batch: Callable[..., str]
) -> None:
    file, rows = (
        folder / "jobs.jsonl",
        [{"fn": "tests.handlers:note", "at": "now", "args": [n]} for n in range(CHUNK + 9)],
    )
    write(file, [*rows[:CHUNK], {}])
    id = batch(name, "jobs.jsonl")
    handlers.calls.clear()
    assert schedule.drain(schedule.create(name), imports=["tests.handlers"]).ran == CHUNK
    write(file, rows)
    assert run("add-many", name, "jobs.jsonl", "--resume", id).status == 0
    assert schedule.drain(schedule.create(name), imports=["tests.handlers"]).ran == 9
    assert sorted(handlers.calls) == [(n,) for n in range(CHUNK + 9)]
    handlers.calls.clear()


@pytest.mark.parametrize("rows", [PLAIN, MIXED], ids=["plain", "mixed"])
def test_a_batch_that_is_killed_anywhere_is_resumed_whole(
    run: Run, server: Server, name: str, folder: Path, batch: Callable[..., str], rows: list[dict[str, Any]]
) -> None:
    file, client = folder / "jobs.jsonl", server.client()
    write(file, rows)
    words = command(server, name, file)
    id, kills = "", 0
    while True:
        with begun(words) as child:
            assert child.stderr is not None
            first = child.stderr.readline()
            id = id or first.split()[1].rstrip(":")
            words = [*command(server, name, file), "--resume", id]
            before = client.hlen(f"{name}:jobs")
            if kills < 4:
                until(lambda: client.hlen(f"{name}:jobs") > before or child.poll() is not None, what="some rows")  # noqa: B023
                child.send_signal(signal.SIGKILL)
                kills += 1
                child.wait()
            elif child.wait() == 0:
                break
    assert numbers(name) == list(range(len(rows)))


def test_two_programs_that_resume_a_batch_double_nothing(
    run: Run, server: Server, name: str, folder: Path, batch: Callable[..., str]
) -> None:
    write(folder / "jobs.jsonl", [{}])
    id = batch(name, "jobs.jsonl")
    write(folder / "jobs.jsonl", PLAIN)
    words = [*command(server, name, folder / "jobs.jsonl"), "--resume", id]
    both = [begun(words) for _ in range(3)]
    for child in both:
        _, err = child.communicate(timeout=60)
        assert child.returncode == 0 or f"bulk {id} is no longer where this program left it." in err
    assert run("add-many", name, "jobs.jsonl", "--resume", id).status == 0
    assert numbers(name) == list(range(len(PLAIN)))


def test_rows_that_are_not_those_of_the_batch_are_refused(
    run: Run, name: str, folder: Path, batch: Callable[..., str]
) -> None:
    file = folder / "jobs.jsonl"
    write(file, PLAIN[:CHUNK])
    id = batch(name, "jobs.jsonl")
    for rows, how in (
        ([PLAIN[1], PLAIN[0], *PLAIN[2:]], "they have changed."),
        (PLAIN[1:], "they have changed."),
        ([{**PLAIN[0], "args": [-1]}, *PLAIN[1:]], "they have changed."),
        (PLAIN[: CHUNK - 1], f"there are only {CHUNK - 1}."),
    ):
        write(file, rows)
        ran = run("add-many", name, "jobs.jsonl", "--resume", id)
        assert (ran.status, ran.out) == (2, "")
        assert f"error: bulk {id} has added {CHUNK} rows, which are not the first of these: {how}" in ran.err
    assert numbers(name) == list(range(CHUNK))
    file.write_text("".join(json.dumps(row, indent=None, separators=(",", ":")) + "\n\n" for row in PLAIN))
    assert run("add-many", name, "jobs.jsonl", "--resume", id).status == 0  # written otherwise, and the same
    assert numbers(name) == list(range(len(PLAIN)))


def test_a_batch_that_is_not_known_is_refused(run: Run, name: str, folder: Path, batch: Callable[..., str]) -> None:
    write(folder / "jobs.jsonl", PLAIN)
    ran = run("add-many", name, "jobs.jsonl", "--resume", "1f0c2a9b")
    assert (ran.status, ran.out) == (3, "")
    assert ran.err.startswith(f'error: no bulk "1f0c2a9b" in {name}. It was never begun there, or ')


def test_a_batch_is_kept_for_a_week(server: Server, name: str, folder: Path, batch: Callable[..., str]) -> None:
    write(folder / "jobs.jsonl", MIXED)
    key, client = f"{name}:producer:batch-{batch(name, 'jobs.jsonl')}", server.client()
    assert 604_700 < client.ttl(key) <= 604_800
    assert len(client.get(key)) < 100_000
