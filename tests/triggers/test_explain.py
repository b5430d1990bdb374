"""Triggers in English: the samples, totality, and that the grammar reads back what was written."""

from __future__ import annotations

import json
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
from hypothesis import example, given, settings

from tests.rows import every_row
from tests.triggers.crons import rules
from workkit.errors import CronError, PhraseError
from workkit.triggers import explain
from workkit.triggers.crons.cron import parse_cron
from workkit.triggers.english.phrase import parse
from workkit.triggers.trigger import Trigger

VECTORS = json.loads((Path(__file__).parents[2] / "spec/vectors/times.json").read_text())["items"]
NOW = datetime(2026, 11, 20, 10, 15, 30, tzinfo=UTC)


@every_row(
    ("cron", "words"),
    [
        ("* * * * * * *", "every second"),
        ("* * * * * * */5", "every 5 seconds"),
        ("* * * * * */5 0", "every 5 minutes"),
        ("* * * * * 0 0", "every hour"),
        ("* * * * * 15,45 0", "every hour at :15 and :45 UTC"),
        ("* * * * */2 0 0", "every 2 hours UTC"),
        ("* * * * 9 0 0", "every day at 9:00 UTC"),
        ("* * * * 9,17 30 0", "every day at 9:30 and 17:30 UTC"),
        ("* * * * 9/2 0 0", "every other day at 9:00 UTC"),
        ("* * * * 9/3 0 0", "every 3 days at 9:00 UTC"),
        ("* * * * * * 0/7", "every 7 minutes"),
        ("* * * * * * 0/5", "every 5 minutes, counted from 1970"),
        ("* * * * * 15/5 0", "every 5 hours at :15"),
        ("* * * 1-5 9 0 0", "every weekday at 9:00 UTC"),
        ("* * * 1-4 9 0 0", "Monday to Thursday at 9:00 UTC"),
        ("* * * 0,6 9 0 0", "every Saturday and Sunday at 9:00 UTC"),
        ("* * * 0/2 17 0 0", "every other Sunday at 17:00 UTC"),
        ("* * * 1/3 17 0 0", "every 3rd Monday at 17:00 UTC"),
        ("* * 13 5 9 0 0", "on the 13th of the month or any Friday, at 9:00 UTC"),
        ("* * 1,15 * 9 0 0", "on the 1st and 15th of every month at 9:00 UTC"),
        ("* * 1-7 * 9 0 0", "on the 1st to 7th of every month at 9:00 UTC"),
        ("* * 15,L * 9 0 0", "on the 15th and last day of every month at 9:00 UTC"),
        ("* 12 25 * 9 0 0", "every 25 December at 9:00 UTC"),
        ("* 3,6 1 * 9 0 0", "every 1st of March and June at 9:00 UTC"),
        ("* */3 1 * 9 0 0", "every 3 months on the 1st at 9:00 UTC"),
        ("* * 1/5 * 9 0 0", "every 5 months on the 1st at 9:00 UTC"),
        ("* * 1/3 * 9 0 0", "every 3 months on the 1st, counted from 1970, at 9:00 UTC"),
        ("* 3/2 3 * 9 0 0", "every 2 years on 3 March at 9:00 UTC"),
        ("* * * 1#1,1#3 9 0 0", "on the first and third Monday of every month at 9:00 UTC"),
        ("* 5 * 1L 9 0 0", "on the last Monday of May at 9:00 UTC"),
        ("* * * 5 * */5 0", "every Friday, every 5 minutes UTC"),
        ("* * * * 9-17 */30 0", "every 30 minutes from 9:00 to 17:59:59 UTC"),
        ("* * * * 0-2,22-23 0 0", "every hour from 22:00 to 2:00 UTC"),
        ("2027 3 * * 9 0 0", "every day in March 2027 at 9:00 UTC"),
        ("2027-2029 * * * 9 0 0", "every day from 2027 to 2029 at 9:00 UTC"),
        ("*/5 * * * 9 0 0", "every day in every 5th year from 1970 on at 9:00 UTC"),
        ("* * * * * 3,7 5", "every day at second 5 of minutes 3 and 7 of every hour UTC"),
        (
            "2014 3 * 0/2,3 9-17 * */5",
            "every other Sunday and every Wednesday in March 2014, every 5 seconds from 9:00 to 17:59:59 UTC",
        ),
        ("2026 11 20 * 10 20 30", "once, Friday 20 November 2026 at 10:20:30 UTC"),
        ("0 9 * * 1-5", "every weekday at 9:00 UTC"),
        ("@daily", "every day at 0:00 UTC"),
    ],
)
def test_explain_writes_a_cron_in_english(cron: str, words: str) -> None:
    assert explain(cron) == words


@pytest.mark.parametrize(
    ("phrase", "tz", "words"),
    [
        ("in 5 minutes", "UTC", "once, Friday 20 November 2026 at 10:20:30"),
        ("7pm tomorrow", "Europe/Paris", "once, Saturday 21 November 2026 at 19:00 Europe/Paris"),
        ("every weekday at 9am", "UTC", "every weekday at 9:00"),
        ("every 2nd sunday at 5pm", "Europe/Paris", "every other Sunday at 17:00 Europe/Paris"),
        ("every 5 minutes", "Europe/Paris", "every 5 minutes"),
        ("every hour", "Asia/Kolkata", "every hour Asia/Kolkata"),
        ("every friday the 13th at 9am", "UTC", "every Friday the 13th at 9:00"),
        ("daily at 9:00 and 17:30", "UTC", "every day at 9:00 and 17:30"),
        ("every monday at 9am and every friday at 5pm", "UTC", "every Monday at 9:00 and every Friday at 17:00"),
        ("every other day at 9:00 and 17:30", "UTC", "every other day at 9:00 and 17:30"),
        ("every 10 minutes from 9:30am to 4:15pm", "UTC", "every 10 minutes from 9:30 to 16:10"),
        ("every monday at 9 until 2027-01-31", "UTC", "every Monday at 9:00, until 31 January 2027"),
        (
            "every monday at 9 starting 2027-01-10",
            "Europe/Paris",
            "every Monday at 9:00 Europe/Paris, starting 10 January 2027",
        ),
    ],
)
def test_explain_leaves_utc_out_without_zone(phrase: str, tz: str, words: str) -> None:
    assert explain(parse(phrase, now=NOW, tz=tz), zone=False) == words


def test_explain_writes_the_second_of_two_equal_times_in_utc() -> None:
    trigger = parse("in 14 hours", now=datetime(2026, 10, 31, 16, tzinfo=UTC), tz="America/New_York")
    assert explain(trigger) == "once, Sunday 1 November 2026 at 6:00 UTC"


@pytest.mark.parametrize("text", ["every day", "", "* * *", "* * * 7 0 0 0"])
def test_explain_refuses_what_is_no_cron(text: str) -> None:
    with pytest.raises(CronError):
        explain(text)


@every_row("item", [item for item in VECTORS if item["kind"] != "error"])
def test_the_grammar_reads_back_what_explain_wrote(item: dict[str, Any]) -> None:
    now = datetime.fromisoformat(item["now"])
    trigger = parse(item["text"], now=now, tz=item["tz"])
    if item["text"] == "now":
        return
    again = parse(explain(trigger), now=now)
    assert again.recurs == trigger.recurs
    assert again.upcoming(now, 6) == trigger.upcoming(now, 6)


@settings(max_examples=500, deadline=None)
@given(rules())
@example("* * 13/2 * 9 0 0")
@example("* * * * 1-10 * 0/2")
@example("* 6,6/5 * * 9 0 0")
@example("* 8 25 0-6 9 0 0")
@example("* * 1-31 5 9 0 0")
@example("* * */7,5/2 0#2,3,1/2 */7,5/2 */7,5/2 */7,5/2")
@example("2026-9999/7,1980 * * * * * *")
def test_every_rule_has_a_sentence_that_is_not_read_as_another(rule: str) -> None:
    try:
        parse_cron(rule, rule=True)
    except CronError:
        return
    trigger = Trigger(cron=None, recurs=True, rules=(rule,))
    words = explain(trigger)
    assert words
    assert "  " not in words
    try:
        again = parse(words, now=NOW)
    except PhraseError:
        return
    assert again.upcoming(NOW, 6) == trigger.upcoming(NOW, 6)
