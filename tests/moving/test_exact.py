"""What is printed for a crontab and for timers fires when they do: the next 100 times of each line of two tables. Where
a clock changes, and where systemd errs, only what a comment of the plan names may differ.
"""

from __future__ import annotations

import re
import shutil
from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from functools import cache
from pathlib import Path
from zoneinfo import ZoneInfo

import pytest

from tests.moving import calendars
from tests.moving.vixie import TIMES, WALKED, by_cronsim, by_walking
from tests.rows import every_row
from workkit.moving.crontab import read_crontab
from workkit.moving.found import Carried, NotCarried, Reading, Refused
from workkit.moving.systemd import GAP, RUNS_OVER, Calendar, calendar_comments, calendar_text, read_calendar
from workkit.triggers.when import When, read_when
from workkit.triggers.zone import clock_changes

CRONTAB = Path(__file__).parents[2] / "spec" / "vectors" / "moving" / "crontab.txt"
LINES = [line.split(" | ") for line in CRONTAB.read_text().splitlines() if not line.startswith("#")]
ROWS = calendars.rows()
HALF_HOURS = "Australia/Lord_Howe"
LAST = datetime(2200, 1, 1, tzinfo=UTC).timestamp()  # systemd looks no further


def printed_times(when: str, base: datetime, tz: str) -> list[int]:
    """When a plan's entry fires."""
    trigger = read_when(When(when=when, tz=None if len(when.split()) == 7 else tz), now=base)
    return [int(at.timestamp()) for at in trigger.upcoming(base, TIMES)]


def differences(ours: Sequence[int], theirs: Sequence[int]) -> tuple[set[int], set[int]]:
    """What only we run, and what only they run, as far as both lists go."""
    last = min(ours[-1], theirs[-1])
    mine, others = ({time for time in times if time <= last} for times in (ours, theirs))
    return mine - others, others - mine


def changed(times: set[int], tz: str, *, skips: bool) -> bool:
    """Whether all these times are the end of a gap or in the hour after it, or lie in what comes twice."""

    def near(time: int) -> bool:
        at = datetime.fromtimestamp(time, UTC)
        for change in clock_changes(tz, at - timedelta(hours=4), at + timedelta(hours=4)):
            twice = abs(change.after - change.before)
            if change.skips == skips and (0 if skips else -twice) <= time - change.second <= twice:
                return True
        return False

    return all(map(near, times))


def by_gaps(times: set[int], tz: str) -> set[int]:
    return {time for time in times if changed({time}, tz, skips=True)}


@cache
def entry(line: str, base: datetime, tz: str) -> Carried | Refused:
    (found,) = read_crontab(f"{line} /bin/true", Reading(tz=tz, now=base))
    return found


def expected(only_ours: set[int], only_theirs: set[int], comments: tuple[str, ...], tz: str) -> bool:
    """Whether comments name every difference from cron."""
    text = " ".join(comments)
    ours, theirs = by_gaps(only_ours, tz), by_gaps(only_theirs, tz)
    named = [
        (ours, "cron leaves out what is skipped, workkit runs it once, at its end"),
        (theirs, "cron runs what is skipped at its end, workkit leaves it out"),
        (only_ours - ours, "cron runs the first time only what comes twice, workkit both times"),
        (only_theirs - theirs, "cron runs both times what comes twice, workkit the first time only"),
    ]
    twice = (only_ours - ours) | (only_theirs - theirs)
    return changed(twice, tz, skips=False) and all(sentence in text for times, sentence in named if times)


@every_row("base,tz,line", LINES)
def test_a_line_of_a_crontab_fires_as_cronsim_says_or_is_refused(base: str, tz: str, line: str) -> None:
    start = datetime.fromisoformat(base)
    found, theirs = entry(line, start, tz), by_cronsim(line, start, tz)
    if isinstance(found, Refused):
        assert found.reason
        return
    assert theirs, f"{line} was carried over, and cron has no such line"
    if tz == HALF_HOURS:
        return
    differs = differences(printed_times(found.when, start, tz), theirs)
    assert expected(*differs, found.comments, tz), differs


# Lines that a change of the clock may touch. croniter, which reads their fields, takes 18-18 for the whole field.
WALKS = [row for row in LINES if row[1] != "UTC" and row[0] > "2027" and not re.search(r"\b(\d+)-\1\b", row[2])]


@every_row("base,tz,line", WALKS)
def test_a_line_fires_as_the_main_loop_of_cron_goes(base: str, tz: str, line: str) -> None:
    start = datetime.fromisoformat(base)
    found = entry(line, start, tz)
    if isinstance(found, Refused):
        return
    ours = [time for time in printed_times(found.when, start, tz) if time < (start + WALKED).timestamp()]
    theirs = by_walking(line, start, tz)[: len(ours) + 4]
    if not ours:
        assert not theirs
        return
    differs = differences(ours, theirs)
    assert expected(*differs, found.comments, tz), differs


def test_few_lines_that_cron_reads_are_refused() -> None:
    starts = [(datetime.fromisoformat(base), tz, line) for base, tz, line in LINES]
    refused = [line for start, tz, line in starts if isinstance(entry(line, start, tz), Refused)]
    read = [line for start, tz, line in starts if line in refused and by_cronsim(line, start, tz)]
    assert len(LINES) >= 200
    assert len(LINES) - len(refused) >= 300
    assert len(read) <= 24


def carried(row: calendars.Row) -> tuple[Calendar, str] | None:
    return _carried(row.base, row.tz, row.spec)


@cache
def _carried(base: datetime, tz: str, spec: str) -> tuple[Calendar, str] | None:
    try:
        calendar = read_calendar(spec, tz=tz)
        return calendar, calendar_text(calendar, now=base)[0]
    except NotCarried:
        return None


@every_row("row", ROWS)
def test_a_calendar_elapses_as_systemd_says_or_is_refused(row: calendars.Row) -> None:
    found = carried(row)
    if found is None:
        return
    assert row.times, f"{row.spec} was carried over, and systemd never elapses there"
    calendar, when = found
    ours = [time for time in printed_times(when, row.base, calendar.tz) if time < LAST]
    comments = calendar_comments(calendar, now=row.base)
    only_ours, only_theirs = differences(ours, row.times)
    assert not only_theirs
    if len(row.times) < TIMES:
        assert len(ours) == len(row.times)
    zone = ZoneInfo(calendar.tz)
    gaps = by_gaps(only_ours, calendar.tz)
    first_days = {time for time in only_ours - gaps if datetime.fromtimestamp(time, zone).day == 1}
    over = first_days if RUNS_OVER in comments else set()
    twice = only_ours - gaps - over
    assert changed(twice, calendar.tz, skips=False)
    for times, sentence in ((gaps, GAP), (twice, "systemd runs the first time only what comes twice")):
        assert not times or any(sentence in comment for comment in comments)


def test_few_calendars_that_systemd_reads_are_refused() -> None:
    refused = [row for row in ROWS if row.times and carried(row) is None]
    assert len(ROWS) >= 200
    assert len([row for row in ROWS if row.times]) - len(refused) >= 300
    assert len(refused) <= 26


@pytest.mark.skipif(shutil.which("systemd-analyze") is None, reason="systemd-analyze is not installed")
@every_row("row", ROWS[::20])
def test_the_systemd_of_this_machine_agrees_with_the_recording(row: calendars.Row) -> None:
    assert calendars.systemd_times(row.base, row.tz, row.spec) == row.times
