"""The sentences of the page Now, as a table: facts in, words out."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import Any
from zoneinfo import ZoneInfo

import pytest

from workkit.errors import ServerError, ServerRefused, ServerUnreachable
from workkit.jobs.admission import Pause
from workkit.web import sentences
from workkit.web.sentences import Died, Facts, Failing, Fault, Herd, MissedRun, Mixed, away, needs, rest, sentence
from workkit.web.words import Ref, joined, plain, until

NOW = datetime(2026, 11, 20, 10, 15, 30, tzinfo=UTC)
WELL = Facts(
    schedule="app-tasks",
    now=NOW,
    zone=ZoneInfo("Europe/Paris"),
    listeners=6,
    busy=7,
    threads=60,
    recurring=39,
    on_time=38,
)  # fmt: skip
NIGHTLY = Failing(name="nightly", times=1, last=NOW - timedelta(hours=8, minutes=45, seconds=30))
SYNC = Failing(name="invoice-sync", times=3, last=NOW)

FAULT = Fault(what="1 job waits nowhere", why="Nothing ever runs it.", more=2)
HERD = Herd(at=NOW.replace(hour=17, minute=0, second=0), count=212, more="60 threads take 41 s.", path="timeline")


@pytest.mark.parametrize(
    ("known", "said"),
    [
        ({}, "All on time."),
        ({"is_empty": True, "listeners": 0}, "Nothing in app-tasks yet, and nobody listens."),
        ({"listeners": 0}, "Nobody listens."),
        ({"listeners": 0, "due": 12, "late_ms": 240_000}, "Nobody listens; 12 jobs are due, the oldest for 4 min."),
        ({"listeners": 0, "due": 1, "late_ms": 240_000}, "Nobody listens; 1 job is due for 4 min."),
        ({"listeners": None, "due": 1}, "All on time."),  # the layout does not tell who listens
        ({"paused": Pause()}, "app-tasks is paused."),
        ({"paused": Pause(reason="migration"), "waits": 214}, 'app-tasks is paused: "migration". 214 jobs wait.'),
        ({"paused": Pause(until_ms=1795179600000)}, "app-tasks is paused until 14:00."),
        ({"paused": Pause(until_ms=10**18)}, "app-tasks is paused."),  # no calendar has such a time
        ({"due": 31, "late_ms": 9_999}, "All on time."),
        ({"due": 31, "late_ms": 124_000}, "31 jobs are overdue, the oldest by 2 min."),
        (
            {"due": 31, "late_ms": 64_000, "busy": 60},
            "31 jobs are overdue, the oldest by 1 min 4 s: all 60 threads are busy.",
        ),
        ({"due": 1, "late_ms": 10_000}, "1 job is overdue by 10 s."),
        (
            {"due": 1, "late_ms": 10_000, "stuck": ("app.f",), "cannot_run": ("app.f",)},
            "1 job is overdue by 10 s: no listener can run app.f.",
        ),
        (
            {"due": 9, "late_ms": 10_000, "stuck": ("app.f", "app.g"), "cannot_run": ("app.f", "app.g", "app.h")},
            "9 jobs are overdue, the oldest by 10 s: no listener can run app.f and app.g.",
        ),
        ({"due": 9, "late_ms": 10_000, "paused": Pause(), "waits": 2}, "app-tasks is paused. 2 jobs wait."),
        ({"failing": (SYNC,)}, "invoice-sync has failed 3 times in a row."),
        ({"failing": (NIGHTLY,)}, "nightly failed at 02:30."),
        ({"failing": (NIGHTLY, SYNC)}, "nightly and invoice-sync are failing."),
        ({"failing": (NIGHTLY,) * 5}, "5 recurring jobs are failing."),
        (
            {"missed": (MissedRun(name="nightly", due=NIGHTLY.last, why="nobody started it in time"),)},
            "nightly missed its run at 02:30: nobody started it in time.",
        ),
        ({"died": (Died(count=38, since=NIGHTLY.last, error="OSError"),)}, "38 jobs died of one error since 02:30."),
        ({"cannot_run": ("app.legacy.sync_users",)}, "No listener can run app.legacy.sync_users."),
        ({"faults": (FAULT,)}, "All on time."),  # it can wait
        ({"ailing": (("web-1:7 has been silent for 12 s.", ""),)}, "web-1:7 has been silent for 12 s."),
        ({"herds": (HERD,)}, "212 jobs are due at one second, 18:00."),
        (
            {"mixed": Mixed(for_ms=840_000, versions=(("3.1", 4), ("3.0", 1)))},
            "2 versions have run at once for 14 min: 3.1 on 4 listeners and 3.0 on 1 listener.",
        ),
    ],
)
def test_the_sentence_says_the_one_thing_that_matters(known: dict[str, Any], said: str) -> None:
    assert plain(sentence(replace(WELL, **known))) == said


def test_needs_are_in_the_order_of_trouble() -> None:
    all_at_once = replace(
        WELL, listeners=0, paused=Pause(), failing=(SYNC, NIGHTLY), cannot_run=("app.f",),
        missed=(MissedRun(name="nightly", due=NOW, why="x"),), died=(Died(count=10, since=NOW, error="OSError"),),
        herds=(HERD,), faults=(FAULT,), ailing=(("web-1:7 is silent.", "Its job goes to others."),),
    )  # fmt: skip
    beginnings = [
        "Nobody",
        "app-tasks is paused",
        "invoice-sync",
        "nightly failed",
        "nightly missed",
        "10 jobs",
        "No l",
        "212 jobs",
        "1 job waits nowhere, and 2 more like it.",
        "web-1:7 is silent.",
    ]
    found = [plain(need.said) for need in needs(all_at_once)]
    assert [said[: len(start)] for said, start in zip(found, beginnings, strict=True)] == beginnings


def test_what_is_overdue_and_its_cause_are_one_item() -> None:
    def items(**known: Any) -> list[str]:
        return [plain(need.said) for need in needs(replace(WELL, due=3, late_ms=64_000, **known))]

    assert items(stuck=("app.f",), cannot_run=("app.f", "app.h")) == [
        "3 jobs are overdue, the oldest by 1 min 4 s: no listener can run app.f.",
        "No listener can run app.h.",
    ]
    assert items(paused=Pause(reason="migration"), waits=3) == ['app-tasks is paused: "migration". 3 jobs wait.']
    assert items(busy=60) == ["3 jobs are overdue, the oldest by 1 min 4 s: all 60 threads are busy."]
    early = replace(WELL, due=3, late_ms=900, stuck=("app.f",), cannot_run=("app.f",))
    assert [plain(need.said) for need in needs(early)] == ["No listener can run app.f."]


def test_the_rest_says_what_is_next_and_never_what_has_passed() -> None:
    assert plain(rest(WELL)) == "38 of 39 recurring jobs are on time. "
    soon = replace(WELL, next=("mail-poll", "jobs/mail-poll", NOW + timedelta(seconds=30)))
    assert plain(rest(soon)).endswith("Next is mail-poll, in 30 s.")
    assert "Next" not in plain(rest(replace(soon, next=("mail-poll", "jobs/mail-poll", NOW))))


def test_names_in_sentences_lead_to_their_pages() -> None:
    said = sentence(replace(WELL, failing=(replace(SYNC, name="a/b.json"),)))
    assert said[0] == Ref("a/b.json", "jobs/a~2fb~2ejson")
    assert plain(joined([Ref("a", ""), Ref("b", ""), Ref("c", "")])) == "a, b and c"


def test_the_server_is_away_for_a_distance() -> None:
    assert plain(away(12_400)) == "The server has not answered for 12 s."
    assert plain(away(400)) == "The server does not answer."


URL = "redis://db:6379/0"


@pytest.mark.parametrize(
    ("error", "said"),
    [
        (
            ServerUnreachable(f"{URL}: connection refused. Start one.", where=URL, trouble="connection refused"),
            f"{URL} does not answer: connection refused, since 11:15:18.",
        ),
        (
            ServerUnreachable("x", where=URL, trouble="it accepts no more clients; raise maxclients, or close some"),
            f"{URL} does not answer: it accepts no more clients, since 11:15:18.",
        ),
        (ServerUnreachable("the server has not answered within 15 s."), "The server does not answer, since 11:15:18."),
        (
            ServerRefused("x", where=URL, trouble="needs a password", remedy="Write it."),
            f"{URL} refuses to answer: needs a password, since 11:15:18.",
        ),
    ],
)
def test_a_server_that_is_away_is_named_with_its_trouble_and_no_advice(error: ServerError, said: str) -> None:
    since, zone = NOW - timedelta(seconds=12), ZoneInfo("Europe/Paris")
    assert sentences.away_sentence(error, since=since, now=NOW, zone=zone) == said
    assert sentences.away_sentence(error) == said.replace(", since 11:15:18", "")


@pytest.mark.parametrize(
    ("seconds", "said"),
    [(0.4, "0 s"), (30, "30 s"), (0, "due"), (-0.5, "due"), (-1, "overdue 1 s"), (-240, "overdue 4 min")],
)
def test_what_has_passed_is_overdue(seconds: float, said: str) -> None:
    assert until(NOW + timedelta(seconds=seconds), NOW) == said
