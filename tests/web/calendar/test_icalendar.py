from __future__ import annotations

from datetime import UTC, datetime, timedelta, timezone

import pytest

from workkit.web.calendar.icalendar import Event, calendar, escaped, folded

AT = datetime(2026, 11, 20, 10, 15, 30, tzinfo=UTC)


@pytest.mark.parametrize(
    ("text", "written"),
    [
        ("nightly", "nightly"),
        ("a,b;c", r"a\,b\;c"),
        ("C:\\temp", r"C:\\temp"),
        ("two\nlines", r"two\nlines"),
        ("feed\r\nEND:VCALENDAR", r"feed\\r\nEND:VCALENDAR"),
        ("\x1b[2J", r"\\x1b[2J"),
        ("\u202egnp.exe", r"\\u202egnp.exe"),
        ("é 日本", "é 日本"),
        ("", ""),
    ],
)
def test_a_text_is_escaped(text: str, written: str) -> None:
    assert escaped(text) == written


@pytest.mark.parametrize("sign", ["x", "é", "日", "😀"])
@pytest.mark.parametrize("count", [1, 24, 25, 37, 38, 73, 74, 75, 76, 149, 150, 500])
def test_a_line_is_folded_between_characters(sign: str, count: int) -> None:
    line = f"A:{sign * count}"
    written = folded(line)
    assert written.endswith(b"\r\n")
    pieces = written.removesuffix(b"\r\n").split(b"\r\n")
    assert all(0 < len(piece) <= 75 for piece in pieces)
    assert all(piece.startswith(b" ") for piece in pieces[1:])
    assert "".join(piece.decode()[n > 0 :] for n, piece in enumerate(pieces)) == line


def test_a_line_is_folded_only_where_it_must_be() -> None:
    assert folded("A" * 75) == b"A" * 75 + b"\r\n"
    assert folded("A" * 76) == b"A" * 75 + b"\r\n A\r\n"
    assert folded("\ud800") == b"?\r\n"


def test_a_calendar_has_each_event_at_its_instant_in_utc() -> None:
    paris = timezone(timedelta(hours=1))
    event = Event(
        of="shop\0nightly", at=datetime(2026, 11, 21, 2, 30, tzinfo=paris), title="nightly", more="app.f\nonce"
    )
    text = calendar([event], title="shop", about="Planned runs.", made=AT).decode()
    lines = text.split("\r\n")
    assert lines[:2] == ["BEGIN:VCALENDAR", "VERSION:2.0"]
    assert lines[-2:] == ["END:VCALENDAR", ""]
    assert "X-WR-CALNAME:shop" in lines
    begin = lines.index("BEGIN:VEVENT")
    assert lines[begin : lines.index("END:VEVENT")] == [
        "BEGIN:VEVENT",
        f"UID:{event.uid}",
        "DTSTAMP:20261120T101530Z",
        "DTSTART:20261121T013000Z",
        "SUMMARY:nightly",
        r"DESCRIPTION:app.f\nonce",
        "TRANSP:TRANSPARENT",
    ]


def test_an_event_keeps_its_name_in_every_zone_and_no_two_share_one() -> None:
    tokyo = timezone(timedelta(hours=9))
    one = Event(of="shop\0nightly", at=AT, title="nightly")
    assert one.uid == Event(of="shop\0nightly", at=AT.astimezone(tokyo), title="else", more="more").uid
    others = {
        Event(of="shop\0nightly", at=AT + timedelta(seconds=1), title="nightly").uid,
        Event(of="low\0nightly", at=AT, title="nightly").uid,
        Event(of="shop\0digest", at=AT, title="nightly").uid,
    }
    assert len({one.uid, *others}) == 4
    assert "nightly" not in one.uid


def test_a_calendar_without_events_is_one() -> None:
    assert b"VEVENT" not in calendar([], title="shop", about="", made=AT)
