"""A window of time: its address, instants as somebody types them, what ran and what happened in it."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from tests.web.charts.rects import NOW, PARIS, ran
from workkit.contract.history import Bucket, Cell, PastRun
from workkit.contract.listener import ListenerInfo
from workkit.errors import InvalidOptions, PhraseError, TriggerError
from workkit.web.charts.axis import axis
from workkit.web.pages.window import (
    RING,
    Happened,
    Seen,
    joined,
    known_since,
    links,
    local_text,
    read_axis,
    read_instant,
    read_middle,
    runs_of_cells,
    tier_of,
    timeline_path,
    versions,
)


@pytest.mark.parametrize(
    ("text", "at"),
    [
        ("now", NOW),
        ("2026-11-20T11:15", datetime(2026, 11, 20, 10, 15, tzinfo=UTC)),
        ("2026-11-20 11:15", datetime(2026, 11, 20, 10, 15, tzinfo=UTC)),
        ("2026-11-19", datetime(2026, 11, 18, 23, 0, tzinfo=UTC)),
        ("2026-11-20T11:15Z", datetime(2026, 11, 20, 11, 15, tzinfo=UTC)),
        ("2026-11-20T11:15:30+05:00", datetime(2026, 11, 20, 6, 15, 30, tzinfo=UTC)),
        ("tomorrow 9am", datetime(2026, 11, 21, 8, 0, tzinfo=UTC)),
        ("18:00", datetime(2026, 11, 20, 17, 0, tzinfo=UTC)),
        ("in 3 hours", NOW + timedelta(hours=3)),
        ("3 hours ago", NOW - timedelta(hours=3)),
        ("yesterday", datetime(2026, 11, 18, 23, 0, tzinfo=UTC)),
        ("yesterday at 9am", datetime(2026, 11, 19, 8, 0, tzinfo=UTC)),
        ("today", datetime(2026, 11, 19, 23, 0, tzinfo=UTC)),
        ("today at 9am", datetime(2026, 11, 20, 8, 0, tzinfo=UTC)),  # it has passed
        ("Yesterday 23:30", datetime(2026, 11, 19, 22, 30, tzinfo=UTC)),
        ("every day at 9am", datetime(2026, 11, 21, 8, 0, tzinfo=UTC)),
    ],
)
def test_an_instant_is_read_on_the_clock_of_the_zone(text: str, at: datetime) -> None:
    assert read_middle(text, now=NOW, zone=PARIS) == at


@pytest.mark.parametrize("text", ["foo", "32:00", "yesterday at foo", "foo ago", "the day after"])
def test_what_is_no_time_is_refused_by_the_reader_of_phrases(text: str) -> None:
    with pytest.raises(TriggerError) as refused:
        read_middle(text, now=NOW, zone=PARIS)
    assert isinstance(refused.value, PhraseError)


@pytest.mark.parametrize(
    "text", ["0001-01-01", "9999-12-31T23:59:59", "2099-01-01", "100000 days ago", "9" * 9 + " days ago"]
)
def test_what_lies_too_far_off_is_refused(text: str) -> None:
    with pytest.raises((InvalidOptions, TriggerError)):
        read_middle(text, now=NOW, zone=PARIS)


def test_an_address_is_read_as_it_was_written() -> None:
    for at in (NOW, datetime(2026, 10, 25, 0, 30, tzinfo=UTC), datetime(2026, 10, 25, 1, 30, tzinfo=UTC)):
        assert read_middle(local_text(at, PARIS), now=NOW, zone=PARIS) == at


def test_links_keep_what_was_asked() -> None:
    found = links(axis("24h", now=NOW, zone=PARIS), by="fn", q="a b", at=False)
    assert found.now == "timeline?by=fn&q=a+b"
    assert found.all == "timeline?by=fn"
    assert dict(found.spans)["2h"] == "timeline?span=2h&by=fn&q=a+b"
    assert dict(found.groups)["job"] == "timeline?q=a+b"
    assert found.later == "timeline?at=2026-11-21T11%3A15%3A30%2B0100&by=fn&q=a+b"
    moved = links(axis("2h", now=NOW, zone=PARIS, at=NOW - timedelta(hours=9)), by="job", q="", at=True)
    assert moved.earlier == "timeline?span=2h&at=2026-11-20T00%3A15%3A30%2B0100"
    assert dict(moved.spans)["7d"] == "timeline?span=7d&at=2026-11-20T02%3A15%3A30%2B0100"
    assert timeline_path() == "timeline"


@pytest.mark.parametrize(
    ("span", "ago", "tier"),
    [
        ("2h", 0, "1"),
        ("2h", 1, "1"),
        ("2h", 2, "5"),
        ("24h", 0, "5"),
        ("24h", 3, "h"),
        ("24h", 500, "d"),
        ("90d", 0, "d"),
    ],
)
def test_counts_are_read_as_finely_as_they_are_kept(span: str, ago: int, tier: str) -> None:
    made = read_axis({"at": f"{ago} hours ago"} if ago else {}, span, now=NOW, zone=PARIS)  # type: ignore[arg-type]
    assert tier_of(made) == tier


FRIDAY = datetime(2026, 11, 20, 11, 15, 30, tzinfo=PARIS)  # a Friday


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("now", "2026-11-20T11:15:30+01:00"),
        ("2 hours ago", "2026-11-20T09:15:30+01:00"),
        ("1h 30min ago", "2026-11-20T09:45:30+01:00"),
        ("today", "2026-11-20T00:00:00+01:00"),
        ("yesterday", "2026-11-19T00:00:00+01:00"),
        ("yesterday 14:00", "2026-11-19T14:00:00+01:00"),
        ("Yesterday at 2pm", "2026-11-19T14:00:00+01:00"),
        ("9am", "2026-11-20T09:00:00+01:00"),
        ("Monday 9am", "2026-11-16T09:00:00+01:00"),
        ("tomorrow 9am", "2026-11-21T09:00:00+01:00"),
        ("2026-11-20T09:00", "2026-11-20T09:00:00+01:00"),
        ("2026-11-20T09:00:00Z", "2026-11-20T10:00:00+01:00"),
        ("2026-10-01", "2026-10-01T00:00:00+02:00"),
    ],
)
def test_an_instant_is_read(text: str, said: str) -> None:
    assert read_instant(text, name="from", now=FRIDAY, zone=PARIS).astimezone(PARIS).isoformat() == said


@pytest.mark.parametrize("text", ["", "soon", "2026-13-01", "x ago", "every day", "9" * 200, "99999999999 years ago"])
def test_what_is_no_instant_is_refused(text: str) -> None:
    with pytest.raises(InvalidOptions, match="is no time that is understood") as caught:
        read_instant(text, name="from", now=FRIDAY, zone=PARIS)
    assert (caught.value.where, caught.value.given) == ("from", text)


HOUR = timedelta(hours=1)
AXIS = axis("24h", now=NOW, zone=PARIS)


def ring(count: int, every: timedelta) -> list[PastRun]:
    return [ran(NOW - (k + 1) * every) for k in range(count)]


def test_a_single_run_knows_more_than_the_one_of_the_ring() -> None:
    of_ring = PastRun(id=None, name=None, fn=None, due=NOW - HOUR, ended=NOW - HOUR, ending="done")
    older = ran(NOW - 2 * HOUR)
    found = joined([ran(NOW - HOUR), older], [of_ring])
    assert [(run.due, run.listener) for run in found] == [(NOW - HOUR, "worker-1"), (NOW - 2 * HOUR, "worker-1")]
    assert len(joined([], [of_ring, ran(NOW - HOUR, "dead")])) == 2


@pytest.mark.parametrize(
    ("seen", "runs", "since"),
    [
        (Seen(), ring(RING, timedelta(minutes=1)), AXIS.start),  # all single runs are there
        (Seen(since=NOW - HOUR), ring(5, HOUR), AXIS.start),  # the ring has all of its runs
        (Seen(since=NOW - HOUR), ring(RING, timedelta(seconds=10)), NOW - HOUR),
        (Seen(since=NOW - HOUR), ring(RING, HOUR), AXIS.start),
        (Seen(since=NOW - HOUR), [], AXIS.start),
    ],
)
def test_runs_are_all_known_from_an_instant_on(seen: Seen, runs: list[PastRun], since: Any) -> None:
    assert known_since(seen, runs, AXIS) == since


def test_counts_are_runs_as_long_as_their_cell() -> None:
    start, end = NOW, NOW + HOUR
    cells = [
        Bucket(start=start, end=end, cell=cell) for cell in (Cell(), Cell(done=4, dead=2, retried=1), Cell(missed=3))
    ]
    found = [(run.ending, run.times, run.ended - run.due) for run in runs_of_cells(cells)]
    assert found == [("done", 4, HOUR), ("retried", 3, timedelta()), ("missed", 3, timedelta())]


NOON = datetime(2026, 11, 20, 12, tzinfo=UTC)
HOUR_MS = 3_600_000


def info(version: str, hours: float) -> ListenerInfo:
    up_ms = int(hours * HOUR_MS)
    return ListenerInfo(
        listener=f"{version}:{hours}", host="h", pid=1, version=version, schedules={}, threads=1, up_ms=up_ms
    )


def test_the_newest_version_began_with_its_first_listener() -> None:
    (found,) = versions([info("1.9", 50), info("2.0", 1), info("2.0", 3), info("2.1", 0), info("1.9", 0.5)], NOON)
    assert (found.at, found.kind, found.says) == (NOON - timedelta(hours=3), "version", "Version 2.0 began to listen")


@pytest.mark.parametrize("listeners", [[], [info("2.0", 1), info("2.0", 9)]])
def test_one_version_alone_is_no_new_one(listeners: list[ListenerInfo]) -> None:
    assert list(versions(listeners, NOON)) == []


@pytest.mark.parametrize(
    ("one", "said"),
    [
        (Happened(at=NOON, kind="mark", says="release 41", by="deploy"), "Marked: release 41, by deploy"),
        (Happened(at=NOON, kind="mark", says="release 41"), "Marked: release 41"),
        (Happened(at=NOON, kind="sync", says="A plan was synced", by="alice"), "A plan was synced by alice"),
        (Happened(at=NOON, kind="version", says="Version 2.0 began to listen"), "Version 2.0 began to listen"),
    ],
)
def test_what_happened_is_a_sentence(one: Happened, said: str) -> None:
    assert one.sentence == said
