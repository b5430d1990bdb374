"""The calendar for other programs: its events and its text."""

from __future__ import annotations

import re
from datetime import UTC, datetime, timedelta, timezone
from pathlib import Path

import pytest

from tests import handlers
from tests.web.conftest import Browser, Open
from workkit import schedule
from workkit.schedule import Schedule
from workkit.web.auth import Local, Mounted, Signer
from workkit.web.login import Login, UsersFile, add_user
from workkit.web.predictions import Event, calendar, escaped, folded

LINK = re.compile(r'href="([^"]*next\.ics\?token=[^"]+)"')


def events(text: str) -> list[dict[str, str]]:
    """Read the properties of each event, unfolded."""
    whole = text.replace("\r\n ", "")
    parts = whole.split("BEGIN:VEVENT\r\n")[1:]
    return [dict(line.split(":", 1) for line in part.split("\r\n") if ":" in line) for part in parts]


def titles(text: str) -> list[str]:
    return [event["SUMMARY"] for event in events(text)]


def link(browser: Browser, s: Schedule) -> str:
    """Find the address of the calendar on the page Now of a schedule that has a job."""
    schedule.add(s, handlers.note, in_="90 days")
    found = LINK.search(browser.get(f"/s/{s.name}/").text)
    assert found is not None
    return found[1]


def test_jobs_with_a_name_stand_in_the_calendar_at_their_times(browser: Browser, s: Schedule) -> None:
    secret = {"password": "hunter2"}
    schedule.add(s, handlers.note, every="day at 1:30", tz="Europe/Paris", name="nightly, eu", kwargs=secret)
    soon = datetime.now(UTC).replace(microsecond=0) + timedelta(hours=2)
    schedule.add(s, handlers.note, at=soon, name="launch")
    schedule.add(s, handlers.note, in_="60 days", name="far")
    schedule.add(s, handlers.note, in_="1 hour")
    answer = browser.get(link(browser, s))
    assert answer.headers["content-type"] == "text/calendar; charset=utf-8"
    found = events(answer.text)
    nightly = [event for event in found if event["SUMMARY"] == r"nightly\, eu"]
    assert len(nightly) == 30
    assert {event["DTSTART"][8:] for event in nightly} == {"T003000Z"} or len({e["DTSTART"][8:] for e in nightly}) == 2
    assert [event["DTSTART"] for event in found] == sorted(event["DTSTART"] for event in found)
    (launch,) = [event for event in found if event["SUMMARY"] == "launch"]
    assert launch["DTSTART"] == soon.strftime("%Y%m%dT%H%M%SZ")
    assert launch["DESCRIPTION"] == r"tests.handlers.note\nonce"
    assert len(found) == 31
    assert "hunter2" not in answer.text


def test_each_run_left_out_is_not_in_it_and_a_spread_moves_all(browser: Browser, s: Schedule) -> None:
    schedule.add(s, handlers.note, every="day at noon", name="spread", spread="1 hour")
    for _ in range(3):
        schedule.skip(s, "spread")
    due = schedule.job(s, "spread").due
    assert due is not None
    found = [event["DTSTART"] for event in events(browser.get(link(browser, s)).text)]
    assert found[0] == due.strftime("%Y%m%dT%H%M%SZ")
    assert len(found) in (27, 28)


def test_an_unchanged_calendar_is_the_same_answer(browser: Browser, s: Schedule) -> None:
    schedule.add(s, handlers.note, every="day at noon", name="noon")
    where = link(browser, s)
    first = browser.get(where)
    again = browser.get(where, headers={"if-none-match": first.headers["etag"]})
    assert again.status_code in (200, 304)  # 200: an hour, or noon, has passed in between
    assert [event["UID"] for event in events(first.text)][2:] == [e["UID"] for e in events(browser.get(where).text)][2:]


def test_one_that_recurs_often_does_not_fill_it(browser: Browser, s: Schedule) -> None:
    schedule.add(s, handlers.note, every="minute", name="poll")
    schedule.add(s, handlers.note, every="minute", name="twice", count=2, args=[2])
    found = titles(browser.get(link(browser, s)).text)
    assert (found.count("poll"), found.count("twice")) == (100, 2)


def test_what_is_paused_or_left_out_is_not_planned(browser: Browser, s: Schedule) -> None:
    for name in ("until", "for good", "skipped"):
        schedule.add(s, handlers.note, every="day at noon", name=name, args=[name])
    schedule.pause(s, "until", until=datetime.now(UTC) + timedelta(days=10))
    schedule.pause(s, "for good")
    left_out = schedule.job(s, "skipped").due
    schedule.skip(s, "skipped")
    found = events(browser.get(link(browser, s)).text)
    count = {name: sum(event["SUMMARY"] == name for event in found) for name in ("until", "for good", "skipped")}
    assert count["for good"] == 0
    assert count["until"] in (19, 20, 21)
    assert count["skipped"] in (29, 30)
    assert left_out is not None
    assert left_out.strftime("%Y%m%dT%H%M%SZ") not in {e["DTSTART"] for e in found if e["SUMMARY"] == "skipped"}
    schedule.pause(s)
    assert events(browser.get(link(browser, s)).text) == []


@pytest.mark.parametrize("bent", [lambda t: t[:-1] + ("0" if t[-1] != "0" else "1"), lambda t: "", lambda t: "é.0"])
def test_a_forged_token_reads_nothing(opened: Open, s: Schedule, bent: object, name: str, tmp_path: Path) -> None:
    assert callable(bent)
    other = schedule.create(f"{name}-other", redis=s.redis)
    browser = opened(s, other)
    address, _, token = link(browser, s).partition("token=")
    browser.cookies.clear()
    assert browser.get(f"{address}token={bent(token)}").status_code == 404
    assert browser.get(f"/s/{other.name}/next.ics?token={token}").status_code == 404
    assert browser.get(f"{address}token={token}").status_code == 200


def test_a_token_ends_with_the_password_and_with_the_role(opened: Open, s: Schedule, tmp_path: Path) -> None:
    path, signer = tmp_path / "users.toml", Signer("secret")
    add_user(path, "ada", roles="viewer", password="correct horse")
    browser = opened(s, way=Login(file=UsersFile(path), signer=signer), signer=signer)
    fields = {"token": browser.token("/-/login"), "name": "ada", "password": "correct horse"}
    browser.post("/-/login", fields)
    where = link(browser, s)
    browser.cookies.clear()
    assert browser.get(where).status_code == 200
    assert browser.get(where.partition("?")[0]).status_code == 401
    path.unlink()
    add_user(path, "ada", roles="editor", password="another one")
    assert browser.get(where).status_code == 404


def test_a_program_that_mounts_it_gives_tokens_to_those_who_look(opened: Open, s: Schedule) -> None:
    roles: list[str | None] = ["viewer"]
    browser = opened(s, way=Mounted(lambda request: roles[-1]), root="/jobs")
    where = link(browser, s).removeprefix("/jobs")
    roles.append(None)  # a calendar has no login
    assert browser.get(where).status_code == 200
    assert browser.get(where.partition("?")[0]).status_code == 404


def test_a_calendar_of_a_server_that_is_away_is_not_empty(opened: Open, name: str) -> None:
    away = schedule.create(name, redis="redis://127.0.0.1:1/0")
    assert opened(away, way=Local()).get(f"/s/{name}/next.ics").status_code == 503


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
