"""Every block of every page of the documentation runs, from top to bottom, on a real server."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from tests.docs.page import PAGES, README, differs, parts_of, steps_of
from tests.docs.player import AMQP, READERS, Player
from tests.optional import needed
from tests.processes import ROOT, Processes
from tests.servers import Server
from workkit import schedule

WITH_BLOCKS = [page for page in PAGES if parts_of(page) and page.name != "architecture.md"]
MOST_NOT_RUN = 10
MADE = ("a help", "a list", "examples/comparison")  # by docs.building.tables, which a test compares with the code
OF_OTHERS = {"celery.md": "celery", "rq.md": "rq_scheduler", "apscheduler.md": "apscheduler"}  # whose code runs too


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """The folder of the small application that the pages import."""
    return Path(shutil.copytree(ROOT / "examples" / "readme", tmp_path / "readme"))


@pytest.mark.parametrize("page", WITH_BLOCKS, ids=lambda page: str(page.relative_to(ROOT)))
def test_every_block_of_a_page_runs(
    page: Path, request: pytest.FixtureRequest, processes: Processes, server: Server, folder: Path
) -> None:
    if page.name in OF_OTHERS:
        needed(OF_OTHERS[page.name])
    amqp = request.getfixturevalue("amqp") if AMQP in page.read_text(encoding="utf-8") and page != README else ""
    player = Player(processes, folder, redis=server.url, amqp=amqp)
    for part in parts_of(page):
        try:
            player.play(part)
        except AssertionError as error:
            raise AssertionError(f"{page.relative_to(ROOT)}:{part.line}: {error}") from None
    player.end()
    if page == README:
        assert (folder / "plan.toml").read_text() in {part.text for part in parts_of(page) if part.kind == "toml"}
        s = schedule.create("app-tasks", redis=server.url)
        assert [job.name for job in schedule.jobs(s) if job.name] == []  # the page cancels them all


def test_few_blocks_are_not_run_and_each_says_why() -> None:
    found = [(page.name, part.reason) for page in WITH_BLOCKS for part in parts_of(page) if part.reason]
    reasons = [one for one in found if one[1] not in MADE]
    assert len(reasons) <= MOST_NOT_RUN, reasons
    assert all(len(reason) > 10 for _, reason in reasons)


def test_pages_have_blocks_of_every_kind() -> None:
    kinds = {part.kind for page in WITH_BLOCKS for part in parts_of(page)}
    assert {"python", "console", "line", "text", *READERS} - {"json"} <= kinds


def test_a_block_has_its_line_its_file_and_its_reason(tmp_path: Path) -> None:
    page = tmp_path / "page.md"
    page.write_text(
        "# Page\n\n<!-- file: a.py -->\n\n```python\nx = 1\n\n    y\n```\n\n    workkit demo\n\n"
        "```{toctree}\nindex\n```\n\n<!-- not run: no -->\n```console\n$ ls\n```\n"
    )
    assert parts_of(page) == [
        ("python", "x = 1\n\n    y\n", 6, "a.py", ""),
        ("line", "workkit demo", 11, "", ""),
        ("console", "$ ls\n", 19, "", "no"),
    ]


def test_a_console_block_has_commands_with_their_output() -> None:
    steps = steps_of("more of the last one\n$ a b\n$ c\n1\n\n2\n")
    assert steps == [("", ["more of the last one"]), ("a b", []), ("c", ["1", "", "2"])]


@pytest.mark.parametrize(
    ("expected", "printed", "missing"),
    [
        ("a", "a", ""),
        ("a", "b", "a"),
        ("a", "a\nb", "(the end)"),
        ("", "a", "(the end)"),
        ("a\nb", "a", "b"),
        ("...", "a\nb", ""),
        ("...", "", ""),
        ("...\nb", "a\na\nb", ""),
        ("...\nc", "a\na\nb", "c"),
        ("a\n...", "a\nb\nc", ""),
        ("b\n...", "a\nb\nc", "b"),
        ("took ... ms", "took 17 ms", ""),
        ("took ... ms", "took 17 s", "took ... ms"),
        ("a.c", "abc", "a.c"),
        ("at http://127.0.0.1:5040/", "at http://127.0.0.1:33333/", ""),
    ],
)
def test_what_a_page_shows_is_compared_with_what_is_printed(expected: str, printed: str, missing: str) -> None:
    assert differs(expected.splitlines(), printed.splitlines()) == missing
