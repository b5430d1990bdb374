"""What a job asks for beside a run: read from keywords, stored, read again, and every sentence of refusal."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import pytest

from tests.rows import every_row
from workkit.errors import CorruptRecord, Invalid, TriggerError
from workkit.jobs.options import ADD, JOB, OPTIONS, read_options
from workkit.jobs.run_options import UNSAID
from workkit.jobs.terms import PLAIN, USUAL, Entrance, Terms, stored_opts, terms_and_entrance

DAY = 86_400_000


def read_terms(given: dict[str, Any]) -> tuple[Terms, Entrance]:
    return terms_and_entrance(read_options(given, place=ADD, verb="add"))


@pytest.mark.parametrize(
    ("given", "terms", "entrance"),
    [
        ({}, PLAIN, USUAL),
        ({"name": "nightly"}, Terms(name="nightly"), USUAL),
        ({"name": "Ménage du soir"}, Terms(name="Ménage du soir"), USUAL),
        ({"name": "x" * 200}, Terms(name="x" * 200), USUAL),
        ({"unique_key": " a * b "}, Terms(unique_key=" a * b "), USUAL),
        ({"unique_key": "k", "unique_until": "started"}, Terms(unique_key="k", unique_until="started"), USUAL),
        ({"unique_key": "k", "on_conflict": "replace"}, Terms(unique_key="k"), Entrance(replace=True)),
        ({"unique_key": "k", "on_conflict": "replace", "unique_until": "started"},
         Terms(unique_key="k", unique_until="started"), Entrance(replace=True)),
        ({"unique": False}, PLAIN, Entrance(many=True)),
        ({"throttle": "5 minutes"}, PLAIN, Entrance(throttle_ms=300_000)),
        ({"debounce": timedelta(seconds=30), "unique_key": "k"}, Terms(unique_key="k"), Entrance(debounce_ms=30_000)),
        ({"debounce": "30s", "debounce_most": "30s"}, PLAIN, Entrance(debounce_ms=30_000, debounce_most_ms=30_000)),
        ({"overlap": "cancel", "catch_up": "all", "catch_up_within": "1h", "count": 3, "spread": "10m"},
         Terms(overlap="cancel", catch_up="all", catch_up_within_ms=3_600_000, count=3, spread_ms=600_000), USUAL),
        ({"catch_up": "skip", "catch_up_within": "2m"}, Terms(catch_up="skip", catch_up_within_ms=120_000), USUAL),
        ({"priority": 3}, Terms(priority=3), USUAL),
        ({"once_key": "pay:{order}", "once_for": "90 days"}, Terms(once_key="pay:{order}"),
         Entrance(once_for_ms=90 * DAY)),
        ({"tags": ["user:7", "invoice", "user:7"]}, Terms(tags=("user:7", "invoice")), USUAL),
        ({"tags": ("é" * 32, "a b", *"cdefgh")}, Terms(tags=("é" * 32, "a b", *"cdefgh")), USUAL),
    ],
    ids=str,
)  # fmt: skip
def test_what_was_said_is_read(given: dict[str, Any], terms: Terms, entrance: Entrance) -> None:
    assert read_terms(given) == (terms, entrance)
    assert stored_opts(terms.fields()) == (UNSAID, terms)


DEFAULTS: list[dict[str, Any]] = [
    {"unique": True}, {"overlap": "allow"}, {"catch_up": "once"}, {"priority": 0}, {"name": None, "spread": None},
    {"tags": []}, {"tags": ()},
]  # fmt: skip


@pytest.mark.parametrize("given", DEFAULTS, ids=str)
def test_a_default_is_as_if_not_said(given: dict[str, Any]) -> None:
    terms, entrance = read_terms(given)
    assert terms is PLAIN
    assert entrance is USUAL


def test_defaults_beside_what_was_said_have_one_form() -> None:
    assert read_terms({"unique_key": "k", "unique_until": "done", "on_conflict": "keep"}) == (
        Terms(unique_key="k"),
        USUAL,
    )
    assert read_terms({"catch_up": "skip", "catch_up_within": "1 minute"})[0] == Terms(catch_up="skip")


MISTAKES: list[tuple[dict[str, Any], str]] = [
    ({"name": ""}, "name='' is empty. Write for example name=\"nightly\"."),
    ({"name": 7}, "name=7 is not a text. Write for example name=\"nightly\"."),
    ({"name": "x" * 201}, 'name="xxxxxxxxxxxxxxxxxxxx..." has 201 characters. Accepted: 1 to 200.'),
    ({"name": "a*"}, "name='a*' has a * (column 2). Write it without."),
    ({"name": "a\nb"}, "name='a\\nb' has a control character (column 2). Write it without."),
    ({"name": "a "}, "name='a ' has a blank at its end (column 2). Write it without."),
    ({"name": "\xa0a"}, "name='\\xa0a' has a blank at its end (column 1). Write it without."),
    ({"name": "\ud800"}, "name='\\ud800' has a control character (column 1). Write it without."),
    ({"tags": "user:7"}, "tags='user:7' is one text, not a list. Write tags=[\"user:7\", \"invoice\"]."),
    ({"tags": {"user:7"}}, "tags={'user:7'} is not a list of texts. Write tags=[\"user:7\", \"invoice\"]."),
    ({"tags": [7]}, "tags=7 is not a text. Write for example tags=[\"user:7\"]."),
    ({"tags": [""]}, "tags='' is empty. Write for example tags=[\"user:7\"]."),
    ({"tags": ["user:*"]}, "tags='user:*' has a * (column 6). Write it without."),
    ({"tags": ["a "]}, "tags='a ' has a blank at its end (column 2). Write it without."),
    ({"tags": ["a\nb"]}, "tags='a\\nb' has a control character (column 2). Write it without."),
    ({"tags": ["\ud800"]}, "tags='\\ud800' has a control character (column 1). Write it without."),
    ({"tags": ["é" * 33]}, 'tags="éééééééééééééééééééé..." has 66 bytes. Accepted: 1 to 64.'),
    ({"tags": list("abcdefghi")}, "tags= has 9 tags. Accepted: up to 8."),
    ({"once_for": "1 day"}, 'once_for= without once_key=: it says how long such a key lasts. Add once_key="...".'),
    ({"once_key": "k"}, "once_key='k' without once_for=: the key lasts for a time. Add once_for=\"90 days\"."),
    ({"once_key": "k", "once_for": "1 day", "unique_key": "u"},
     "once_key='k' with unique_key=: such a key is free when its job is over, and a lasting key returns the first job. "
     "Leave out unique_key=."),
    ({"once_key": "k", "once_for": "1 day", "name": "n"},
     "once_key='k' with name=: a job that is added under a name replaces the one before, and a lasting key returns the "
     "first job. Leave out name=."),
    ({"once_key": "k", "once_for": "401 days"},
     "once_for='401 days' is out of range. Accepted: more than nothing, at most 400 days."),
    ({"once_key": "k", "once_for": "1 day", "unique": False},
     "unique=False with once_key=: every addition would be a job of its own, and a lasting key allows one in all. "
     "Leave out one."),
    ({"unique_key": "a\0b"}, "unique_key='a\\x00b' has a control character (column 2). Write it without."),
    ({"unique_key": "x" * 501}, 'unique_key="xxxxxxxxxxxxxxxxxxxx..." has 501 characters. Accepted: 1 to 500.'),
    ({"name": "n", "ping": "ftp://h/x"},
     "ping='ftp://h/x' is not a URL that begins with https:// or http://. "
     'Write ping="https://...", at most 500 characters, without blanks.'),
    ({"ping": "https://h/x"},
     "ping='https://h/x' without name=: a monitor watches one job, and only its name says which. "
     'Add name="...".'),
    ({"unique": "no"}, "unique='no' is neither True nor False."),
    ({"unique": 0}, "unique=0 is neither True nor False."),
    ({"unique_key": "k", "unique_until": "later"}, "unique_until='later' is not known. Accepted: done, started."),
    ({"unique_key": "k", "on_conflict": "drop"}, "on_conflict='drop' is not known. Accepted: keep, replace."),
    ({"overlap": "wait"}, "overlap='wait' is not known. Accepted: allow, skip, queue, cancel."),
    ({"catch_up": True}, "catch_up=True is not known. Accepted: once, all, skip."),
    ({"priority": 4}, "priority=4 is not known. Accepted: 0, 1, 2, 3."),
    ({"priority": True}, "priority=True is not known. Accepted: 0, 1, 2, 3."),
    ({"priority": 1.0}, "priority=1.0 is not known. Accepted: 0, 1, 2, 3."),
    ({"overlap": ["skip"]}, "overlap=['skip'] is not known. Accepted: allow, skip, queue, cancel."),
    ({"late": "soon"}, "late='soon' is not known. Accepted: refuse, run."),
    ({"count": 0}, "count=0 is not a number of runs. Accepted: 1 to 1,000,000,000."),
    ({"count": True}, "count=True is not a number of runs. Accepted: 1 to 1,000,000,000."),
    ({"throttle": 30}, 'throttle=30 has no unit. Write "30s" or timedelta(seconds=30).'),
    ({"debounce": "0s"}, "debounce='0s' is out of range. Accepted: more than nothing, at most 400 days."),
    ({"catch_up_within": "401 days"},
     "catch_up_within='401 days' is out of range. Accepted: more than nothing, at most 400 days."),
    ({"meta": 5}, 'meta=5 does not map names to texts. Write meta={"request": "9f2c"}.'),
    ({"within": "0s"}, "within='0s' is out of range. Accepted: more than nothing, at most 400 days."),
    ({"done_by": "6am", "within": "1h"},
     "done_by= and within= were both given: a job has one deadline. Keep one of them."),
    ({"done_by": "6am", "debounce": "1h"},
     'done_by= and debounce= were both given: the server decides when it is due. Write within="2 hours".'),
    ({"expires": "0s"}, "expires='0s' is out of range. Accepted: more than nothing, at most 400 days."),
    ({"spread": timedelta(milliseconds=500)},
     "spread=datetime.timedelta(microseconds=500000) is out of range. Accepted: 1 s at least, at most 400 days."),
    ({"unique": False, "unique_key": "k"},
     "unique=False with unique_key=: every addition would be a job of its own, and a key allows one at a time. "
     "Leave out one."),
    ({"unique": False, "name": "n"},
     "unique=False with name=: every addition would be a job of its own, and a name stands for one job. "
     "Leave out one."),
    ({"unique": False, "throttle": "1s"},
     "unique=False with throttle=: every addition would be a job of its own, and a window makes one of several. "
     "Leave out one."),
    ({"debounce_most": "1m"},
     "debounce_most= without debounce=: it says how long additions put a job off at most. "
     "Add debounce=, or leave it out."),
    ({"debounce": "1m", "debounce_most": "59s"},
     "debounce_most= is shorter than debounce=: the job would run before the first window is over. "
     "Give a longer one."),
    ({"unique": False, "debounce": "1s"},
     "unique=False with debounce=: every addition would be a job of its own, and a window makes one of several. "
     "Leave out one."),
    ({"on_conflict": "replace"},
     'on_conflict="replace" without unique_key=: it says what gives way where a key is taken. '
     'Add unique_key="...", or leave it out.'),
    ({"unique_until": "started"},
     'unique_until="started" without unique_key=: it says how long a key is taken. '
     'Add unique_key="...", or leave it out.'),
    ({"throttle": "1s", "debounce": "1s"},
     "throttle= and debounce= were both given: of a window either the first addition runs, or the last. "
     "Keep one of them."),
]  # fmt: skip


@every_row(("given", "message"), MISTAKES)
def test_what_cannot_be_meant_is_refused(given: dict[str, Any], message: str) -> None:
    with pytest.raises(Invalid) as caught:
        read_terms(given)
    assert str(caught.value) == message
    if not isinstance(caught.value, TriggerError):
        assert caught.value.where in given
        assert f" {caught.value.trouble}." in message
        assert message.endswith(caught.value.remedy or ".")


def test_every_keyword_is_refused_somewhere_above() -> None:
    read_later = {"tz", "start", "end", "after", "on_death"}  # with the time, or the job
    terms = {option.name for option in OPTIONS if ADD in option.places and JOB not in option.places}
    assert {name for given, _ in MISTAKES for name in given} == terms - read_later


@pytest.mark.parametrize(
    ("opts", "terms"),
    [
        ({}, PLAIN),
        ({"retries": 3, "from_tomorrow": [1]}, PLAIN),
        ({"overlap": "allow", "catch_up": "once", "unique_until": "done", "priority": 0, "name": None}, PLAIN),
        ({"name": "n", "retries": 3, "catch_up_within_ms": 400 * DAY}, Terms(name="n", catch_up_within_ms=400 * DAY)),
        ({"catch_up": "skip", "catch_up_within_ms": 60_000}, Terms(catch_up="skip")),
        ({"once_key": "k", "tags": ["b", "a"]}, Terms(once_key="k", tags=("b", "a"))),
        ({"tags": []}, PLAIN),
    ],
    ids=str,
)
def test_stored_opts_are_read(opts: dict[str, Any], terms: Terms) -> None:
    runs, read = stored_opts(opts)
    assert (runs.retries, read) == (opts.get("retries"), terms)
    assert (runs is UNSAID) == ("retries" not in opts)
    assert (read is PLAIN) == (terms is PLAIN)


@pytest.mark.parametrize(
    "opts",
    [
        [], "name", 7, {"name": ""}, {"name": 7}, {"name": "a*"}, {"name": "x" * 201}, {"unique_key": ["k"]},
        {"unique_key": "a\0b"}, {"unique_until": "ended"}, {"overlap": "wait"}, {"overlap": {}}, {"catch_up": 1},
        {"catch_up_within_ms": "1h"}, {"catch_up_within_ms": 0}, {"count": 1.0}, {"count": -1}, {"spread_ms": True},
        {"spread_ms": 400 * DAY + 1}, {"name": "n", "ping": "file:///etc/passwd"}, {"name": "n", "ping": 7},
        {"priority": 4}, {"priority": "1"}, {"priority": True}, {"once_key": 7}, {"once_key": "a\0b"},
        {"tags": "user:7"}, {"tags": [7]}, {"tags": ["a", "a"]}, {"tags": ["a*"]}, {"tags": ["x" * 65]},
        {"tags": list("abcdefghi")},
    ],
    ids=lambda opts: str(opts)[:40],
)  # fmt: skip
def test_members_of_another_type_make_the_record_corrupt(opts: Any) -> None:
    with pytest.raises(CorruptRecord, match=r"^payload: opts"):
        stored_opts(opts)


@pytest.mark.parametrize(
    ("entrance", "most_ms"),
    [(USUAL, None), (Entrance(debounce_ms=30_000), 180_000),
     (Entrance(debounce_ms=30_000, debounce_most_ms=40_000), 40_000),
     (Entrance(debounce_ms=400 * 86_400_000), 400 * 86_400_000)],
    ids=str,
)  # fmt: skip
def test_a_debounced_job_is_put_off_for_six_windows_at_most(entrance: Entrance, most_ms: int | None) -> None:
    assert entrance.most_ms == most_ms
