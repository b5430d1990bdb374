from __future__ import annotations

import json

import pytest

from tests.cli.conftest import Run

FROM = ("--from", "2026-11-20T10:15:30Z")

EVERY_SECOND_SUNDAY = """\
every other Sunday at 17:00 Europe/Paris
counted from 11 January 1970 at 17:00 Europe/Paris; to choose, add "starting 2027-01-31", or --start TIME
cron: none; seven UTC fields cannot follow the clock changes of Europe/Paris. Stored with its zone.
  Sun 29 Nov 2026  17:00 +01:00   16:00 UTC   in 9 d 5 h
  Sun 13 Dec 2026  17:00 +01:00   16:00 UTC   in 23 d 5 h
"""


def test_next_says_words_cron_and_instants(run: Run) -> None:
    ran = run("next", "every 2nd sunday at 5pm", "-n", "2", "--tz", "Europe/Paris", *FROM)
    assert ran == (0, EVERY_SECOND_SUNDAY, "")


def test_next_as_json(run: Run) -> None:
    ran = run("next", "every 2nd sunday at 5pm", "-n", "2", "--tz", "Europe/Paris", "--json", *FROM)
    assert json.loads(ran.out) == {
        "words": "every other Sunday at 17:00 Europe/Paris",
        "cron": None,
        "tz": "Europe/Paris",
        "recurs": True,
        "next": ["2026-11-29T16:00:00.000Z", "2026-12-13T16:00:00.000Z"],
        "warnings": [],
        "interval": None,
        "counted": "counted from 11 January 1970 at 17:00 Europe/Paris",
    }
    assert list(json.loads(ran.out)) == ["words", "cron", "tz", "recurs", "next", "warnings", "interval", "counted"]


def test_next_of_one_instant_in_a_zone(run: Run) -> None:
    ran = run("next", "7pm tomorrow", "--tz", "Europe/Paris", *FROM)
    assert ran.status == 0
    assert "Saturday 21 November 2026 at 19:00 Europe/Paris" in ran.out
    assert ran.out.endswith("  Sat 21 Nov 2026  19:00 +01:00   18:00 UTC   in 1 d 7 h\n")


def test_next_names_the_day_where_utc_has_another(run: Run) -> None:
    assert "00:30 +01:00   23:30 UTC Fri   in" in run("next", "0:30 tomorrow", "--tz", "Europe/Paris", *FROM).out


def test_next_of_a_crontab_line_shows_seven_fields(run: Run) -> None:
    ran = run("next", "0 9 * * 1-5", "-n", "1", *FROM)
    assert ran.status == 0
    assert "cron: * * * 1-5 9 0 0\n  Mon 23 Nov 2026  09:00 UTC   in 2 d 22 h\n" in ran.out


def test_next_reads_the_zone_from_the_environment(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("WORKKIT_TZ", "Europe/Paris")
    assert "18:00 UTC" in run("next", "7pm tomorrow", *FROM).out


def test_next_takes_words_for_from(run: Run) -> None:
    assert (
        run("next", "every hour", "--from", "2027-01-01", "-n", "1")
        .out.splitlines()[-1]
        .startswith("  Fri  1 Jan 2027  01:00 UTC")
    )
    ran = run("next", "every hour", "--from", "every day")
    assert ran.status == 2
    assert '--from "every day" recurs' in ran.err


@pytest.mark.parametrize(
    ("text", "accepted"),
    [
        ("7pm tomorow", 'Did you mean "7pm tomorrow"?'),
        ("weekly", "every monday at 9am"),
        ("0 0 9 * * 1", '"* * * 1 9 0 0"'),
        ("feb 30", "feb"),
        ("", ""),
    ],
)
def test_next_refuses_with_a_caret_and_what_is_accepted(run: Run, text: str, accepted: str) -> None:
    ran = run("next", text, *FROM)
    assert ran.status == 2
    assert ran.out == ""
    assert ran.err.startswith("error: ")
    assert accepted in ran.err
    lines = ran.err.splitlines()
    assert len(lines) == 3
    assert lines[1] == f"  {text}".rstrip() or not text
    assert lines[2].strip() == "^"


def test_next_refuses_what_never_fires(run: Run) -> None:
    ran = run("next", "* 2 30 * 0 0 0")
    assert (ran.status, ran.out) == (2, "")
    assert ran.err == 'error: "* 2 30 * 0 0 0" never fires: February has no day 30.\n'


@pytest.mark.parametrize("when", ["90 minutes", "3 days at 9am"])
def test_next_and_add_agree_that_a_bare_length_may_recur(run: Run, when: str) -> None:
    shown, added = run("next", when), run("add", "t", when, "app:hi", "--dry-run", "--redis", "redis://127.0.0.1:1/")
    assert (shown.status, shown.out, shown.err.splitlines()[0]) == (2, "", added.err.splitlines()[0])
    assert f'Write "in {when}" or "every {when}".' in shown.err


def test_next_echoes_the_hour_that_an_interval_starts_at(run: Run) -> None:
    ran = run("next", "every 90 minutes starting at 9am", "--tz", "Asia/Kolkata", *FROM)
    assert ran.out.splitlines()[:2] == [
        "every 90 minutes starting at 9:00 Asia/Kolkata",
        "counted from 9:00 Asia/Kolkata",
    ]


def test_next_puts_the_caret_under_the_word(run: Run) -> None:
    assert run("next", "7pm tomorow", *FROM).err.splitlines()[1:] == ["  7pm tomorow", "      ^"]


NINETY_SECONDS = """\
every 90 seconds starting at 9:00:30 UTC
counted from 9:00:30 UTC
cron: none; seven fields cannot say this. Stored with fields of its own, beside * * * * * */2 0
  Fri 20 Nov 2026  10:17:00 UTC   in 1 min 30 s
  Fri 20 Nov 2026  10:18:30 UTC   in 3 min
"""


def test_next_says_how_an_interval_is_counted(run: Run) -> None:
    assert run("next", "every 90 seconds starting at 9:00:30", "-n", "2", *FROM) == (0, NINETY_SECONDS, "")


def test_a_cron_string_offers_no_phase(run: Run) -> None:
    assert run("explain", "*/15 * * * *").out == "every 15 minutes\naligned to the clock\n"


def test_explain_says_either_day_and_warns(run: Run) -> None:
    ran = run("explain", "* * 13 5 9 0 0")
    assert ran.status == 0
    assert ran.out == "on the 13th of the month or any Friday, at 9:00 UTC\n"
    assert ran.err.startswith("warning: ")


def test_explain_as_json(run: Run) -> None:
    record = json.loads(run("explain", "* * 13 5 9 0 0", "--json").out)
    assert list(record) == ["words", "cron", "tz", "recurs", "interval", "counted", "fields", "warnings"]
    assert record["fields"] == {"day": "13", "weekday": "5", "hour": "9", "minute": "0", "second": "0"}
    assert record["cron"] == "* * 13 5 9 0 0"
    assert len(record["warnings"]) == 1


def test_dialect_says_how_six_fields_are_read(run: Run) -> None:
    assert run("explain", "0 0 9 * * 1").status == 2
    assert "Monday" in run("explain", "0 0 9 * * 1", "--dialect", "standard").out
