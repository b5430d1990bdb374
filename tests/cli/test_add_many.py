"""`add-many`: what it says while it reads, and where a bad row is."""

from __future__ import annotations

import json
import os
import pty
import subprocess
import sys
from pathlib import Path

import pytest

from tests.cli.conftest import Run
from tests.servers import Server
from workkit import schedule
from workkit.verbs.bulk import CHUNK

ROWS = [{"fn": "app:hi", "at": "2050-01-01 9am", "args": [n]} for n in range(2 * CHUNK)]


@pytest.fixture
def rows(folder: Path) -> Path:
    file = folder / "jobs.jsonl"
    file.write_text("".join(json.dumps(row) + "\n" for row in ROWS))
    return file


def command(server: Server, name: str, file: Path) -> list[str]:
    return [sys.executable, "-m", "workkit", "add-many", name, str(file), "--redis", server.url]


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
    assert out == f"added {len(ROWS):,} jobs to {name}\n"
    text = seen.decode()
    assert f"{rows}: {len(ROWS):,} rows" in text
    assert "100%" in text
    assert text.endswith("\x1b[1A\x1b[2K")


def test_a_pipe_and_a_file_get_no_bar(server: Server, name: str, rows: Path) -> None:
    done = subprocess.run(command(server, name, rows), capture_output=True, text=True, check=True)
    assert (done.stdout, done.stderr) == (f"added {len(ROWS):,} jobs to {name}\n", "")


def test_a_bad_row_is_named_by_its_line_with_what_is_added(
    run: Run, server: Server, name: str, rows: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("WORKKIT_REDIS_URL", server.url)
    with rows.open("a") as file:
        file.write('\n{"fn": "app:hi", "in_": "5 mintues"}\n')
    ran = run("add-many", name, "jobs.jsonl")
    assert ran.status == 2
    first, text, caret = ran.err.splitlines()
    assert first.startswith(f'error: row {len(ROWS) + 2:,} of jobs.jsonl: "5 mintues": "mintues" (column 3)')
    assert first.endswith(f" Rows 1 to {len(ROWS):,} are added; fix it and run again, nothing doubles.")
    assert (text, caret) == ("  5 mintues", "    ^")
    assert schedule.counts(schedule.create(name)).waiting == len(ROWS)


def test_a_row_of_words_that_look_like_our_own_is_named_once(
    run: Run, server: Server, name: str, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("WORKKIT_REDIS_URL", server.url)
    words = "row 7: Nothing is added."
    (folder / "jobs.jsonl").write_text(json.dumps({"fn": "app:hi", "at": "now", "overlap": words}))
    ran = run("add-many", name, "jobs.jsonl")
    assert ran.err == (
        f"error: row 1 of jobs.jsonl: overlap='{words}' is not known. Accepted: allow, skip, queue, cancel. "
        "Nothing is added; fix it and run again, nothing doubles.\n"
    )


def test_a_line_that_is_not_json_is_named(
    run: Run, server: Server, name: str, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("WORKKIT_REDIS_URL", server.url)
    (folder / "jobs.jsonl").write_text("{\n")
    ran = run("add-many", name, "jobs.jsonl")
    assert ran.err.startswith("error: row 1 of jobs.jsonl: not JSON: ")
    assert "Fix it and run again, nothing doubles." in ran.err
