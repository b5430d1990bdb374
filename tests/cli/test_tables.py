from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from workkit.cli.printing import wording
from workkit.cli.printing.table import GAP, SHORTEST, Column, fitted

COLUMNS = (
    Column(title="NEXT", least=20),
    Column(title="ID"),
    Column(title="FUNCTION", shrinks=True),
    Column(title="WHEN"),
    Column(title="NAME"),
    Column(title="STATE"),
)
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


def lines(width: int | None) -> list[str]:
    return [(" " * GAP).join(cells).rstrip() for cells in fitted(COLUMNS, ROWS, width=width)]


def test_a_pipe_gets_the_full_width() -> None:
    assert "\n".join(lines(None)) + "\n" == SAMPLE


def test_a_narrower_terminal_shortens_the_function_first() -> None:
    shown = lines(100)
    assert shown[0].endswith("STATE")
    assert "…" in shown[2]
    assert all(len(line) <= 100 for line in shown)


def test_forty_columns_keep_time_id_and_function() -> None:
    shown = lines(40)
    assert shown[0] == "NEXT                  ID        FUNCTION"
    assert shown[2] == "today     10:20:30    09b802b1  app.use…"


@given(st.integers(1, 120))
def test_no_line_is_wider_than_the_terminal(width: int) -> None:
    assert all(wording.cells(line) <= width for line in lines(width))


@given(st.integers(20 + 8 + SHORTEST + 2 * GAP, 120))
def test_the_function_stays_readable(width: int) -> None:
    assert "FUNCTION" in lines(width)[0]


def test_control_characters_in_a_cell_are_spelled_out() -> None:
    row = next(iter([*fitted((Column(title="A"),), [["\x1b[2J"]], width=None)][1:]))
    assert row == ["\\x1b[2J"]
