"""`when=`: one text that tells by itself whether it recurs, read as the keyword that it stands for."""

from __future__ import annotations

import json
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from tests.rows import every_row
from workkit.errors import CronError, Invalid, InvalidOptions, PhraseError, TriggerError
from workkit.triggers.crons.grammars import looks_like_cron
from workkit.triggers.english.phrase import is_bare_length
from workkit.triggers.trigger import Trigger
from workkit.triggers.when import When, read_when

VECTORS = Path(__file__).parents[2] / "spec/vectors"
ITEMS = json.loads((VECTORS / "times.json").read_text())["items"]
PHRASES = [item for item in ITEMS if not looks_like_cron(item["text"])]
CRON_ITEMS = sorted({item["text"] for item in ITEMS if looks_like_cron(item["text"])})
CRONS = sorted({case["cron"] for case in json.loads((VECTORS / "cron_next.json").read_text())["cases"]})
BAD_CRONS = sorted({case["cron"] for case in json.loads((VECTORS / "cron_next.json").read_text())["errors"]})
NOW = datetime(2026, 11, 18, 10, 15, 30, tzinfo=UTC)
CRONTABS = ("0 9 * * 1-5", "*/5 * * * *", "0 0 1,15 * *", "0 9 L jan fri", "0 0 * * MON#2", "@daily", "@hourly")


def answer(read: Callable[[], Trigger]) -> Trigger | str:
    try:
        return read()
    except Invalid as error:
        return type(error).__name__


@every_row("item", PHRASES)
def test_when_reads_each_phrase_as_its_own_keyword_does(item: dict[str, Any]) -> None:
    text, tz = item["text"], item["tz"]
    now = datetime.fromisoformat(item["now"])
    if item["kind"] == "error":
        with pytest.raises(Invalid):
            read_when(text, now=now, tz=tz)
        return
    own = When(every=text, tz=tz) if item["kind"] == "every" else When(at=text, tz=tz)
    if item["kind"] == "once" and is_bare_length(text):
        with pytest.raises(PhraseError, match="may mean once or again and again"):
            read_when(text, now=now, tz=tz)
        text = f"in {text}"
    expected = read_when(own, now=now)
    assert read_when(text, now=now, tz=tz) == expected
    assert expected.recurs == (item["kind"] == "every")


@every_row("text", [*CRONS, *CRONTABS, *CRON_ITEMS])
def test_when_reads_each_cron_string_as_cron_does(text: str) -> None:
    assert looks_like_cron(text)
    found = answer(lambda: read_when(text, now=NOW))
    assert found == answer(lambda: read_when(When(cron=text), now=NOW))


@every_row("text", BAD_CRONS)
def test_when_refuses_what_cron_refuses_unless_it_is_words(text: str) -> None:
    own = When(cron=text) if looks_like_cron(text) else When(every=text)
    found = answer(lambda: read_when(text, now=NOW))
    assert isinstance(found, str) or found == read_when(own, now=NOW)
    assert isinstance(found, str) == isinstance(answer(lambda: read_when(own, now=NOW)), str)


@pytest.mark.parametrize("tz", ["UTC", "Europe/Paris", "Asia/Kolkata"])
@pytest.mark.parametrize("text", CRONTABS)
def test_when_reads_a_crontab_line_in_its_zone(text: str, tz: str) -> None:
    found = read_when(text, now=NOW, tz=tz)
    assert found == read_when(When(cron=text, tz=tz), now=NOW)
    assert found.tz == tz


def test_when_reads_seven_fields_in_the_dialect_of_the_schedule() -> None:
    text = "0 0 9 * ? MON-FRI *"
    found = read_when(When(when=text, dialect="cuckoo"), now=NOW)
    assert found == read_when(When(cron=text, dialect="cuckoo"), now=NOW)
    assert found.stored == text


@pytest.mark.parametrize(
    ("text", "recurs", "first"),
    [
        ("every weekday at 9am", True, "2026-11-19 09:00:00"),
        ("mondays at 9am", True, "2026-11-23 09:00:00"),
        ("daily at noon", True, "2026-11-18 12:00:00"),
        ("7pm tomorrow", False, "2026-11-19 19:00:00"),
        ("monday at 9am", False, "2026-11-23 09:00:00"),
        ("in 5 minutes", False, "2026-11-18 10:20:30"),
        ("5 minutes from now", False, "2026-11-18 10:20:30"),
        ("now", False, "2026-11-18 10:15:30"),
        ("0 9 * * 1-5", True, "2026-11-19 09:00:00"),
        ("* * * 1-5 9 0 0", True, "2026-11-19 09:00:00"),
        ("2027 1 1 * 9 0 0", False, "2027-01-01 09:00:00"),
        ("2026-12-01 17:00", False, "2026-12-01 17:00:00"),
    ],
)
def test_when_tells_by_itself_whether_a_text_recurs(text: str, recurs: bool, first: str) -> None:
    found = read_when(text, now=NOW)
    assert found.recurs is recurs
    assert found.next_after(NOW - timedelta(seconds=1)) == datetime.fromisoformat(first).replace(tzinfo=UTC)


@pytest.mark.parametrize(
    ("text", "kind", "message"),
    [
        ("5 minutes", PhraseError,
         'when="5 minutes" may mean once or again and again. Write when="in 5 minutes" or when="every 5 minutes".'),
        ("90 seconds", PhraseError,
         'when="90 seconds" may mean once or again and again. Write when="in 90 seconds" or when="every 90 seconds".'),
        ("3 days at 9am", PhraseError,
         'when="3 days at 9am" may mean once or again and again. '
         'Write when="in 3 days at 9am" or when="every 3 days at 9am".'),
        ("0 0 9 * * 1", CronError,
         'cron="0 0 9 * * 1" has six fields, which has two readings: second first, every Monday at 9:00 = '
         '"* * * 1 9 0 0"; second last, the 9th of the month at 0:00:01 = "* * 9 * 0 0 1". Copy the one you mean.'),
        ("0 9 * *", CronError, 'cron="0 9 * *" has 4 fields. *'),
        ("@dayly", CronError, 'cron="@dayly" is not a known nickname. *'),
        ("* 2 30 * 0 0 0", CronError, 'when="* 2 30 * 0 0 0" never fires: February has no day 30.'),
        ("weekly", PhraseError, '"weekly" does not say which day. Say "every monday at 9am".'),
        ("every day until 2026-11-01", PhraseError, '"every day until 2026-11-01": that date is over.'),
        ("", PhraseError, '"" says nothing. *'),
        (timedelta(minutes=5), TriggerError,
         "when=datetime.timedelta(seconds=300) is neither words nor a cron string. "
         'Write when="every weekday at 9am"; a datetime goes into at=, a timedelta into in_= or every=.'),
    ],
    ids=str,
)  # fmt: skip
def test_when_refuses_what_has_two_meanings_or_none(text: Any, kind: type[Invalid], message: str) -> None:
    with pytest.raises(Invalid) as caught:
        read_when(text, now=NOW)
    assert type(caught.value) is kind
    shown = str(caught.value)
    assert shown.startswith(message[:-1]) if message.endswith("*") else shown == message


def test_when_refuses_a_zone_beside_seven_fields() -> None:
    with pytest.raises(CronError, match="seven fields are always UTC"):
        read_when("* * * 1-5 9 0 0", now=NOW, tz="Europe/Paris")


def test_when_bounds_what_recurs_by_start_and_end() -> None:
    found = read_when("every day at 9am", now=NOW, tz="Europe/Paris", start="2027-01-01", end="2027-02-01")
    assert found.start == datetime(2026, 12, 31, 23, tzinfo=UTC)
    assert found.end == datetime(2027, 1, 31, 23, tzinfo=UTC)
    assert found.next_after(NOW) == datetime(2027, 1, 1, 8, tzinfo=UTC)


def test_when_is_one_of_five_keywords() -> None:
    with pytest.raises(InvalidOptions, match="when= and at= were both given"):
        read_when(When(when="now", at="now"), now=NOW)
    with pytest.raises(InvalidOptions, match="Give one of when= at= in_= every= cron="):
        read_when(When(), now=NOW)


@pytest.mark.parametrize(("when", "now"), [("now", True), (" NOW ", True), ("tomorrow", False)])
def test_when_now_is_now(when: str, now: bool) -> None:
    assert When(when=when).is_now is now
    assert When(at=when).is_now is now
    assert not When(every=when).is_now


@pytest.mark.parametrize(
    ("text", "cron"),
    [
        ("* * * 1-5 9 0 0", True),
        ("0 9 * * MON-FRI", True),
        ("0 9 * * monday", True),
        ("0 9 * * tues", True),
        ("0 9 L jan fri", True),
        ("0 9 * *", True),
        ("* * * * * * * *", True),
        ("@daily", True),
        ("@DAILY", True),
        ("2027 1 1 * 9 0 0", True),
        ("every weekday at 9am", False),
        ("9 am 3 may 2027", False),
        ("mon tue wed thu fri", False),
        ("1, 2, 3 march", False),
        ("@1800000000", False),
        ("@", False),
        ("*", False),
        ("", False),
    ],
)
def test_a_cron_string_is_told_from_words_by_its_look(text: str, cron: bool) -> None:
    assert looks_like_cron(text) is cron


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"at": "every day at 9am"}, 'at="every day at 9am" recurs. Write every="day at 9am".'),
        ({"every": "7pm tomorrow"}, 'every="7pm tomorrow" happens once. Write at="7pm tomorrow".'),
        ({"in_": "7pm tomorrow"}, 'in_="7pm tomorrow" is not a duration. Write at="7pm tomorrow".'),
        ({"in_": 5}, 'in_=5 has no unit. Write "5s" or timedelta(seconds=5).'),
        ({"in_": ["5m"]}, "in_=['5m'] is no length of time. Accepted: \"5 minutes\" or a timedelta."),
        ({"every": {}}, 'every={} is no length of time. Accepted: "weekday at 9am", "5 minutes" or a timedelta.'),
        ({"every": timedelta(days=1)},
         'every=datetime.timedelta(days=1) is a day or more: at which hour? Write every="day at 9am".'),
        ({"at": NOW - timedelta(hours=3)},
         "at=2026-11-18 07:15 UTC passed 3 h ago. Give a later time, or use schedule.add_now."),
        ({"cron": "* * * 1 9 0 0", "tz": "Europe/Paris"},
         'tz="Europe/Paris" with cron="* * * 1 9 0 0": seven fields are always UTC. '
         'Say every="weekday at 9am", or five fields: "0 9 * * 1-5".'),
    ],
    ids=str,
)  # fmt: skip
def test_a_refusal_of_a_keyword_has_its_parts_as_fields(given: dict[str, Any], message: str) -> None:
    with pytest.raises(Invalid) as caught:
        read_when(When(**given), now=NOW)
    error = caught.value
    assert str(error) == message
    assert message.startswith(f"{error.where}=")
    stop = "" if error.trouble and error.trouble.endswith("?") else "."
    assert message.endswith(f"{error.trouble}{stop} {error.remedy}")
