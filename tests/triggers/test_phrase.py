"""The recorded phrases, the messages, and what holds for any text."""

from __future__ import annotations

import json
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any
from zoneinfo import ZoneInfo

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from tests.rows import every_row
from workkit.errors import PhraseError, TriggerError
from workkit.triggers.english.phrase import parse
from workkit.triggers.english.words import VOCABULARY

VECTORS = json.loads((Path(__file__).parents[2] / "spec/vectors/times.json").read_text())["items"]
NOW = datetime(2026, 11, 20, 10, 15, 30, tzinfo=UTC)


def instant(text: str) -> datetime:
    return datetime.fromisoformat(text)


def of_kind(kind: str) -> list[Any]:
    return [item for item in VECTORS if item["kind"] == kind]


@every_row("item", of_kind("once"))
def test_parse_gives_the_recorded_instant(item: dict[str, Any]) -> None:
    trigger = parse(item["text"], now=instant(item["now"]), tz=item["tz"])
    assert not trigger.recurs
    assert trigger.upcoming(instant(item["now"]) - timedelta(seconds=1), 3) == [instant(item["at"])]


@every_row("item", of_kind("every"))
def test_parse_gives_the_recorded_firings(item: dict[str, Any]) -> None:
    now = instant(item["now"])
    trigger = parse(item["text"], now=now, tz=item["tz"])
    assert trigger.upcoming(now, 6) == [instant(fire) for fire in item["fires"]]
    if item.get("cron_exact"):
        assert trigger.cron == item["cron"]
    if trigger.cron is not None and trigger.recurs:
        local = trigger.__class__(cron=None, tz=trigger.tz, recurs=True, rules=trigger.rules)
        assert local.upcoming(now, 6) == trigger.upcoming(now, 6)


@every_row("item", of_kind("error"))
def test_parse_refuses_the_recorded_mistake(item: dict[str, Any]) -> None:
    with pytest.raises(PhraseError) as refusal:
        parse(item["text"], now=instant(item["now"]), tz=item["tz"])
    assert refusal.value.given == item["text"]
    assert "\n" not in str(refusal.value)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (
            "7pm tomorow",
            '"7pm tomorow": "tomorow" (column 5) is not understood. '
            'Did you mean "7pm tomorrow"? Try: workkit next "7pm tomorrow".',
        ),
        ("weekly", '"weekly" does not say which day. Say "every monday at 9am".'),
        (
            "01/02/2027",
            '"01/02/2027" is January 2 to some and 1 February to others. Write 2027-01-02 or 1 February 2027.',
        ),
        ("9am EST", '"9am EST": EST means several zones. Name a place: America/New_York.'),
        ("9", '"9" is a bare number. Say "at 9" or "9 minutes".'),
        (
            "9am Europe/Pariss",
            '"9am Europe/Pariss": "Europe/Pariss" (column 5) is not a zone. Did you mean "Europe/Paris"?',
        ),
        (
            "today at 9am",
            '"today at 9am": 2026-11-20 09:00 UTC passed 1 h ago. Give a later time, or use schedule.add_now.',
        ),
        ("every day until 2026-11-01", '"every day until 2026-11-01": that date is over.'),
        (
            "every 2 years on feb 29",
            '"every 2 years on feb 29" never fires: '
            "by the year 9999 its v/n never falls together with the other fields.",
        ),
        (
            "every feb 30",
            '"every feb 30": "feb 30" (column 7) never fires: February has no day 30. Name a day that there is.',
        ),
        ("* 2 30 * 0 0 0", '"* 2 30 * 0 0 0" never fires: February has no day 30.'),
        ("* * * * 24 0 0", '"* * * * 24 0 0": 24 (field 5, hour) is out of range. Accepted: 0-23.'),
        (
            "0 0 9 ? * 1 2027",
            '"0 0 9 ? * 1 2027" ends in a year: it is in the order of the Clojure code. '
            'Write "2027 ? * 1 9 0 0", or use a schedule with dialect="cuckoo".',
        ),
        (
            "* * *  1 9 0 0",
            '"* * *  1 9 0 0" has a blank too many, or one that is not a space, at column 6. '
            "Accepted: one space between fields, none before or after.",
        ),
        (
            "biweekly on monday",
            '"biweekly on monday": "biweekly" (column 1) is twice a week to some and every two weeks to others. '
            'Say "every 2 weeks on monday".',
        ),
        (
            "every monday at",
            '"every monday at" ends too early: something is missing after "at". '
            'Say for example "7pm tomorrow", "in 5 minutes" or "every weekday at 9am".',
        ),
        (
            "tomorrow at 13pm",
            '"tomorrow at 13pm": "13pm" (column 13) is no time of day. Before am and pm, hours are 1-12.',
        ),
        ("7pm 8pm", '"7pm 8pm": "8pm" (column 5) would be a second time of day. Say one.'),
    ],
)
def test_refusal_says_what_where_and_what_to_do(text: str, message: str) -> None:
    with pytest.raises(PhraseError) as refusal:
        parse(text, now=NOW)
    assert str(refusal.value) == message
    assert refusal.value.trouble is None or refusal.value.trouble in message
    assert refusal.value.remedy is None or message.endswith(refusal.value.remedy)


def test_refusal_names_the_clock_change() -> None:
    now = datetime(2027, 3, 1, tzinfo=UTC)
    with pytest.raises(PhraseError) as refusal:
        parse("2027-03-28 2:30am", now=now, tz="Europe/Paris")
    assert str(refusal.value) == (
        '"2027-03-28 2:30am" does not exist in Europe/Paris: clocks go from 2:00 to 3:00 then. Say 3:30am, or give UTC.'
    )


def test_refusal_carries_its_parts() -> None:
    with pytest.raises(PhraseError) as refusal:
        parse("evry monday at 9", now=NOW)
    assert refusal.value.given == "evry monday at 9"
    assert refusal.value.position == 0
    assert refusal.value.suggestion == "every monday at 9"
    assert refusal.value.accepted


@pytest.mark.parametrize(
    ("text", "suggestion"),
    [
        ("evry mondey at noon", "every monday at noon"),
        ("7pm tomorrow please", "7pm tomorrow"),
        ("in 5 mintues", "in 5 minutes"),
        ("every thrusday at 9am", "every thursday at 9am"),
        ("qwerty asdf zxcv", None),
        ("x" * 150, None),
    ],
)
def test_a_misspelt_phrase_is_answered_with_a_near_one_that_is_understood(text: str, suggestion: str | None) -> None:
    with pytest.raises(PhraseError) as refusal:
        parse(text, now=NOW)
    assert refusal.value.suggestion == suggestion
    if suggestion is not None:
        assert parse(suggestion, now=NOW).next_after(NOW) is not None


@pytest.mark.parametrize("zone", ["UTC", "Europe/Paris", "Asia/Tokyo", "America/St_Johns"])
def test_seven_fields_are_utc_whatever_the_zone(zone: str) -> None:
    trigger = parse("* * * 1-5 9 0 0", now=NOW, tz=zone)
    assert (trigger.cron, trigger.tz) == ("* * * 1-5 9 0 0", "UTC")


@pytest.mark.parametrize("tz", ["Europe/Paris", ZoneInfo("Europe/Paris")])
def test_a_zone_may_be_a_name_or_a_zone(tz: str | ZoneInfo) -> None:
    assert parse("noon", now=NOW, tz=tz).upcoming(NOW, 1) == [datetime(2026, 11, 20, 11, tzinfo=UTC)]


def test_the_zone_of_the_phrase_wins() -> None:
    trigger = parse("every day at 9am Europe/Paris", now=NOW, tz="Asia/Tokyo")
    assert (trigger.tz, trigger.cron) == ("Europe/Paris", None)


@pytest.mark.parametrize("now", [datetime(2026, 11, 20), "2026-11-20", None, datetime(1969, 12, 31, tzinfo=UTC)])
def test_now_must_be_aware(now: Any) -> None:
    with pytest.raises(TriggerError) as refusal:
        parse("noon", now=now)
    assert not isinstance(refusal.value, PhraseError)


@pytest.mark.parametrize("tz", ["Europe/Pariss", "", "../etc/passwd", "EST5"])
def test_tz_must_be_a_zone(tz: str) -> None:
    with pytest.raises(TriggerError, match=r"^tz="):
        parse("noon", now=NOW, tz=tz)


@pytest.mark.parametrize("text", [None, 5, b"noon", ["noon"], NOW])
def test_a_value_that_is_no_text_is_refused(text: Any) -> None:
    with pytest.raises(TriggerError, match="is not words"):
        parse(text, now=NOW)


def refused_or_right(text: str, *, tz: str = "UTC") -> None:
    """Any text is understood, and then fires from now on, or refused with its parts in order."""
    refusal = trigger = None
    try:
        trigger = parse(text, now=NOW, tz=tz)
    except PhraseError as error:
        refusal = error
    if trigger is not None:
        first = trigger.next_after(NOW - timedelta(seconds=1))
        assert first is not None
        assert first >= NOW
    else:
        assert refusal is not None
        assert (refusal.given, "\n" in str(refusal), len(str(refusal)) < 700) == (text, False, True)
        assert refusal.position is not None
        assert 0 <= refusal.position <= len(text)


@given(st.text(max_size=250))
@example("every day at 9am\x0b")
@example("1" * 200 + " minutes")
@example("in 1." + "0" * 190)
@example("9999-12-31 23:59:59")
@example("9999-12-31T23:59:59-05:00")
@example("every day at 9am until 9999-12-31")
@example("every day at 9am until the end of december 9999")
@example("every day at 9am starting 9999-12-31")
@example("in 7972 years")
@example("in march 1.30")
@example("@253402300799")
@example("europe/" + "a/" * 80)
@example("every monday, every 2nd tuesday, every 3rd wednesday, every 4th thursday, every 5th friday at 9am")
def test_any_text_is_refused_or_fires(text: str) -> None:
    refused_or_right(text)


words = st.sampled_from(
    [*sorted(VOCABULARY), "7pm", "9", "17:30", "2027", "2026-12-01", "2nd", "31st", ":15", ",", "-", "Europe/Paris"]
)


@given(st.lists(words, max_size=12), st.sampled_from(["UTC", "America/New_York", "Australia/Lord_Howe"]))
def test_any_words_are_refused_or_fire(said: list[str], tz: str) -> None:
    refused_or_right(" ".join(said), tz=tz)


@given(st.sampled_from([item["text"] for item in VECTORS if item["kind"] != "error"]), st.data())
def test_blanks_and_letter_case_do_not_count(text: str, data: st.DataObject) -> None:
    blanks = data.draw(st.lists(st.sampled_from([" ", "  ", "\t", "\n"]), min_size=20, max_size=20))
    parts = text.split()
    other = "".join(part + blank for part, blank in zip(parts, blanks, strict=False)).swapcase()
    if "*" in text or "/" in text or len(parts) > 20:
        return
    now = datetime(2014, 1, 1, tzinfo=UTC)
    assert parse(other, now=now).rules == parse(text, now=now).rules


@pytest.mark.parametrize(
    ("text", "cron"),
    [
        ("weekday at 9am", "* * * 1-5 9 0 0"),
        ("every weekday at 9am", "* * * 1-5 9 0 0"),
        ("5 seconds", "* * * * * * */5"),
        ("daily at noon", "* * * * 12 0 0"),
        ("at noon on weekdays", "* * * 1-5 12 0 0"),
        ("other sunday at 5pm", "* * * 0/2 17 0 0"),
        ("monday", "* * * 1 0 0 0"),
    ],
)
def test_the_word_every_may_be_left_out_for_the_lead_every(text: str, cron: str) -> None:
    assert parse(text, now=NOW, lead="every").cron == cron


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("day until 2026-11-01", '"day until 2026-11-01": that date is over.'),
        ("weekly", '"weekly" does not say which day. Say "every monday at 9am".'),
        (
            "weekday at 9am tomorow",
            '"weekday at 9am tomorow": "tomorow" (column 16) is not understood. '
            'Say for example "7pm tomorrow", "in 5 minutes" or "every weekday at 9am".',
        ),
        (
            "daily at nooon",
            '"daily at nooon": "nooon" (column 10) is not understood. Did you mean "daily at noon"? '
            'Try: workkit next "daily at noon".',
        ),
    ],
)
def test_a_word_left_out_does_not_move_the_place_of_the_trouble(text: str, message: str) -> None:
    with pytest.raises(PhraseError) as refusal:
        parse(text, now=NOW, lead="every")
    assert str(refusal.value) == message


def test_the_word_in_may_be_left_out_for_the_lead_in() -> None:
    assert parse("5 minutes", now=NOW, lead="in").cron == "2026 11 20 * 10 20 30"
    with pytest.raises(PhraseError, match=r'"mintues" \(column 3\) is not understood. Did you mean "5 minutes"\?'):
        parse("5 mintues", now=NOW, lead="in")
