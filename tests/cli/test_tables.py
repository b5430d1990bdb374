from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from workkit.cli.commands.list import DEAD
from workkit.cli.commands.list import JOBS as COLUMNS
from workkit.cli.commands.runs import RUNS
from workkit.cli.table import GAP, Column, aligned, fitted
from workkit.text.cells import cells, folded, shorten

ROWS = [
    ["today     10:20:00", "8cd9280b", "app.mail.poll()", "every 5 minutes", "-", "running"],
    ["today     10:20:30", "09b802b1", 'app.users.activate("tracy@domain.com")', "once", "-", "waiting"],
    ["tomorrow  19:00:00", "d852a2b3", "app.cache.clear()", "once", "-", "waiting"],
    ["Mon 23    09:00:00", "3a442290", "app.reports.nightly()", "every weekday at 9:00", "report", "waiting"],
]
SAMPLE = """\
NEXT                  ID        FUNCTION                                WHEN                   NAME    STATE
today     10:20:00    8cd9280b  app.mail.poll()                         every 5 minutes        -       running
today     10:20:30    09b802b1  app.users.activate("tracy@domain.com")  once                   -       waiting
tomorrow  19:00:00    d852a2b3  app.cache.clear()                       once                   -       waiting
Mon 23    09:00:00    3a442290  app.reports.nightly()                   every weekday at 9:00  report  waiting
"""


def lines(width: int | None, rows: list[list[str]] = ROWS) -> list[str]:
    return [(" " * GAP).join(row).rstrip() for row in fitted(COLUMNS, rows, width=width)]


def test_a_pipe_gets_the_full_width() -> None:
    assert "\n".join(lines(None)) + "\n" == SAMPLE


def test_a_narrower_terminal_cuts_the_longest_cells_first() -> None:
    shown = lines(100)
    assert shown[0].endswith("STATE")
    assert "…" in shown[2]
    assert "every weekday at 9:00" in shown[4]
    assert all(len(line) <= 100 for line in shown)


def test_eighty_columns_have_room_for_every_column() -> None:
    shown = lines(80)
    assert shown[0].split() == ["NEXT", "ID", "FUNCTION", "WHEN", "NAME", "STATE"]
    assert shown[4] == "Mon 23    09:00:00  3a442290  …nightly()       every weekday a…  report  waiting"


def test_a_call_that_is_cut_keeps_the_name_of_its_function() -> None:
    calls = (
        'shop.reports.send_reminder("tracy@domain.example", 5)',
        "user.app/send_reminder(1)",
        "send_reminder(1, 2)",
    )
    column = Column(title="FUNCTION", cut_to=10, is_call=True)
    for width, found in (
        (20, ['…send_reminder("tra…', "…send_reminder(1)", "send_reminder(1, 2)"]),
        (16, ["…send_reminder(…", "…send_reminder(…", "send_reminder(1…"]),
        (30, ['shop.reports.send_reminder("t…', "user.app/send_reminder(1)", "send_reminder(1, 2)"]),
    ):
        shown = [row[0].rstrip() for row in fitted((column,), [[call] for call in calls], width=width)][1:]
        assert shown == found, width


def test_a_column_in_which_nothing_stands_goes_first() -> None:
    rows = [[*row[:4], "-", row[5]] for row in ROWS]
    assert lines(74, rows)[0].split() == ["NEXT", "ID", "FUNCTION", "WHEN", "STATE"]
    assert "NAME" in lines(None, rows)[0]


def test_eighty_columns_show_what_failed_and_why() -> None:
    dead = ["today  10:20:00", "8cd9280b", "shop.reports.send_reminder(1)", "5", "OSError: disk /var/lib/data is full"]
    titles, row = ["  ".join(line) for line in fitted(DEAD, [dead], width=80)]
    assert titles.split() == ["FAILED", "ID", "FUNCTION", "ATTEMPTS", "ERROR"]
    assert "…send_reminder(" in row
    assert "OSError: disk /va" in row
    run = [
        "Fri 20 Nov 10:20:00",
        "dead",
        "shop.reports.send_reminder",
        "nightly",
        "8cd9280b",
        "2 ms",
        "1 s",
        "1",
        "1",
        "OSError: disk is full",
        "7, name=1",
    ]
    assert "ERROR" in [title.strip() for title in next(fitted(RUNS, [run], width=80))]
    assert "ERROR" not in [title.strip() for title in next(fitted(RUNS, [[*run[:9], "-", run[10]]], width=80))]


def test_the_least_important_columns_go_first() -> None:
    gone: dict[str, int] = {}
    for width in range(120, 20, -1):
        for title in {"NEXT", "ID", "FUNCTION", "WHEN", "NAME", "STATE"} - {*lines(width)[0].split()}:
            gone.setdefault(title, width)
    assert sorted(gone, key=lambda title: -gone[title]) == ["WHEN", "NAME", "NEXT", "ID"]


@given(st.integers(1, 200))
def test_no_line_is_wider_than_the_terminal(width: int) -> None:
    assert all(cells(line) <= width for line in lines(width))


@given(st.integers(20, 200), st.text(max_size=300), st.text(max_size=80))
def test_the_state_is_always_whole(width: int, function: str, name: str) -> None:
    row = ["today     10:20:00", "8cd9280b", function, "every 5 minutes", name, "cancelling"]
    shown = lines(width, [row])
    assert shown[0].endswith("STATE")
    assert shown[1].endswith("cancelling")
    assert all(cells(line) <= width for line in shown)


def test_wide_characters_fill_two_columns_and_combining_ones_none() -> None:
    assert (cells("日本"), cells("e\u0301"), cells("\x1b[31mred\x1b[0m")) == (4, 1, 3)
    _, wide, narrow = fitted((Column(title="A"), Column(title="B")), [["日本語", "x"], ["abc", "y"]], width=None)
    assert (wide[0], narrow[0]) == ("日本語", "abc   ")


def test_a_cell_of_any_length_does_not_make_every_row_as_long() -> None:
    shown = lines(None, [[*ROWS[0][:2], "x" * 1_000_000, *ROWS[0][3:]], *ROWS])
    assert max(map(len, shown)) < 600


@given(st.text(st.characters(blacklist_categories=("C", "Z")), min_size=1, max_size=30), st.integers(12, 60))
def test_a_line_is_folded_between_words_only(word: str, width: int) -> None:
    text = f"  {word} app-tasks two-words, {word} 日本語 end."
    parts = folded(text, width, indent=2)
    assert all(cells(part) <= width for part in parts)
    if cells(word) <= width // 2:
        assert " ".join(parts).split() == text.split()


def test_a_text_is_cut_before_the_character_that_has_no_room() -> None:
    assert [shorten("日本語", width) for width in (6, 5, 4, 1, 0)] == ["日本語", "日本…", "日…", "…", ""]


def test_control_characters_in_a_cell_are_spelled_out() -> None:
    row = next(iter([*fitted((Column(title="A"),), [["\x1b[2J"]], width=None)][1:]))
    assert row == ["\\x1b[2J"]


def test_rows_without_titles_are_aligned_by_columns_that_are_seen() -> None:
    rows = [["日本", "", "x"], ["abcde", "", "y"], ["k" * 9, "", "z"]]
    assert [*aligned(rows, gap=1, most=5)] == ["日本  x", "abcde y", f"{'k' * 9} z"]
