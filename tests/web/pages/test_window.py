"""The window of time that an address names, and instants as somebody types them."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from zoneinfo import ZoneInfo

import pytest

from workkit.errors import InvalidOptions, PhraseError, TriggerError
from workkit.web.charts.axis import axis
from workkit.web.pages.window import links, local_text, read_axis, read_instant, read_middle, tier_of, timeline_path

NOW = datetime(2026, 11, 20, 10, 15, 30, tzinfo=UTC)
PARIS = ZoneInfo("Europe/Paris")


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
