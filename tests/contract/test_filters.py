from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Any, get_args

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.rows import every_row
from workkit.contract.filters import PLACES, Place, accepted, read_filter, understood
from workkit.contract.history import PastRun
from workkit.contract.where import Between, Has, Term, Where
from workkit.errors import InvalidOptions
from workkit.jobs.job import Job
from workkit.triggers import parse

NOW = datetime(2026, 11, 20, 10, 15, 30, tzinfo=UTC)
SECOND, MINUTE, HOUR = 1_000.0, 60_000.0, 3_600_000.0


def job(**fields: Any) -> Job:
    usual: dict[str, Any] = {
        "id": "54111adf" + "0" * 32,
        "schedule": "t",
        "fn": "#'app.export/rows",
        "args": (4218,),
        "kwargs": {"to": "Ann"},
        "name": "nightly",
        "state": "waiting",
        "due": NOW + timedelta(minutes=30),
        "trigger": parse("every day at 2:30am", now=NOW, tz="Europe/Paris"),
    }
    return Job(**usual | fields)


def run(**fields: Any) -> PastRun:
    usual: dict[str, Any] = {
        "id": "5" * 40,
        "name": "nightly",
        "fn": "#'app.export/rows",
        "due": NOW - timedelta(minutes=30),
        "ended": NOW - timedelta(minutes=29),
        "ending": "done",
        "late_ms": 4,
        "took_ms": 60_000,
        "listener": "worker-1:4242:9f3a",
    }
    return PastRun(**usual | fields)


def meant(text: str, **fields: Any) -> bool:
    return read_filter(text, "jobs").job(job(**fields), now=NOW)


@pytest.mark.parametrize(
    ("text", "where"),
    [
        ("", Where()),
        ("   ", Where()),
        ("disk full", Where(texts=("disk full",))),
        ('"disk full" export', Where(texts=("disk full", "export"))),
        ("OSError: disk full", Where(texts=("OSError: disk full",))),
        ("https://example.com/a", Where(texts=("https://example.com/a",))),
        ("a::b 10:30", Where(texts=("a::b 10:30",))),
        ("-export", Where(without=("export",))),
        ("a -b", Where(texts=("a -b",))),  # a dash within words is one of the text
        ("-5 - x", Where(texts=("-5 - x",))),
        ("fn:export", Where(terms=(Term(field="fn", test=Has(texts=("export",), whole=True)),))),
        ("FN:export", Where(terms=(Term(field="fn", test=Has(texts=("export",), whole=True)),))),
        ("-fn:export", Where(terms=(Term(field="fn", test=Has(texts=("export",), whole=True), negated=True),))),
        ('error:"disk full"', Where(terms=(Term(field="error", test=Has(texts=("disk full",))),))),
        ("state:due,held", Where(terms=(Term(field="state", test=Has(texts=("due", "held"), whole=True)),))),
        ('name:"a b",c', Where(terms=(Term(field="name", test=Has(texts=("a b", "c"), whole=True)),))),
        ("id:54111adf", Where(terms=(Term(field="id", test=Has(texts=("54111adf*",), whole=True)),))),
        ("due:<1h", Where(terms=(Term(field="due", test=Between(high=HOUR, high_in=False)),))),
        ("due:1h", Where(terms=(Term(field="due", test=Between(high=HOUR)),))),
        ('due:<"90 minutes"', Where(terms=(Term(field="due", test=Between(high=1.5 * HOUR, high_in=False)),))),
        ("due:10min..1h30m", Where(terms=(Term(field="due", test=Between(low=10 * MINUTE, high=1.5 * HOUR)),))),
        ("attempt:>=3", Where(terms=(Term(field="attempt", test=Between(low=3)),))),
        ("attempt:3", Where(terms=(Term(field="attempt", test=Between(low=3, high=3)),))),
        (
            "disk full state:dead now",
            Where(terms=(Term(field="state", test=Has(texts=("dead",), whole=True)),), texts=("disk full", "now")),
        ),
    ],
)
def test_a_filter_is_read(text: str, where: Where) -> None:
    assert read_filter(text, "jobs") == where


@pytest.mark.parametrize(
    ("place", "text", "position", "where", "said"),
    [
        ("jobs", "a stat:due", 2, "stat", '"stat:" (column 3) is no qualifier. Did you mean "state:"? Accepted: id:,'),
        ("jobs", "late:>1s", 0, "late", '"late:" (column 1) is no qualifier here. '),
        ("jobs", "export:7", 0, "export", 'To look for this text, put it in quotes: "export:7".'),
        (
            "jobs",
            "state:wating",
            6,
            "state",
            'state:"wating" (column 7) is no state. Did you mean "waiting"? Accepted: ',
        ),
        ("jobs", "state:due,xyzzy", 10, "state", 'state:"xyzzy" (column 11) is no state. Accepted: waiting, due,'),
        ("jobs", "due:<1x", 5, "due", 'due:"1x" (column 6) is no length of time. Write for example due:<1h.'),
        ("jobs", "due:5", 4, "due", 'due:"5" (column 5) is no length of time.'),
        ("jobs", "due:1h..x", 8, "due", 'due:"x" (column 9) is no length of time.'),
        (
            "jobs",
            "attempt:>many",
            9,
            "attempt",
            'attempt:"many" (column 10) is no number. Write for example attempt:>2.',
        ),
        ("jobs", "name: nightly", 0, "name", '"name:" (column 1) has no value. Write for example name:night*.'),
        ("jobs", "fn:", 0, "fn", '"fn:" (column 1) has no value.'),
        ("jobs", "fn:a,", 0, "fn", '"fn:" (column 1) has no value.'),
        ("jobs", 'a "b c', 2, "q", 'the quote "b c (column 3) has no end. Close it with ".'),
        ("runs", "ended:fialed", 6, "ended", 'ended:"fialed" (column 7) is no ending. Did you mean "failed"?'),
        ("recurring", "missed:-1", 7, "missed", 'missed:"-1" (column 8) is no number.'),
    ],
)
def test_a_filter_that_is_not_understood_names_what_where_and_what_is_accepted(
    place: Place, text: str, position: int, where: str, said: str
) -> None:
    with pytest.raises(InvalidOptions) as refused:
        read_filter(text, place)
    assert said in str(refused.value)
    assert (refused.value.position, refused.value.where, refused.value.given) == (position, where, text)
    assert refused.value.accepted == accepted(place)


@pytest.mark.parametrize("place", PLACES)
def test_every_example_is_understood_in_its_place(place: Place) -> None:
    for example in accepted(place).split(", "):
        where = read_filter(example, place)
        assert len(where.terms) == 1, example
        assert understood(where) != "all"


@pytest.mark.parametrize(
    ("place", "text", "said"),
    [
        ("jobs", "", "all"),
        ("jobs", "disk full", 'has "disk full"'),
        ("jobs", "fn:export state:due,held", 'function is "export"; state is due or held'),
        ("jobs", "-name:a -x", 'name is not "a"; has no "x"'),
        ("jobs", "id:54111adf", 'id begins with "54111adf"'),
        ("jobs", "due:<1h", "due in less than 1 h"),
        ("jobs", "due:>1h", "due in more than 1 h"),
        (
            "runs",
            "late:>1s took:1min..2min ago:<1h",
            "started late by more than 1 s; took 1 min to 2 min; ended less than 1 h ago",
        ),
        ("runs", "took:1min", "took at least 1 min"),
        ("recurring", "missed:>0 -missed:3", "missed more than 0; not: missed 3"),
    ],
)
def test_a_filter_is_said_back(place: Place, text: str, said: str) -> None:
    assert understood(read_filter(text, place)) == said


@every_row(
    ("text", "fields", "is_meant"),
    [
        ("", {}, True),
        ("EXPORT", {}, True),
        ("4218", {}, True),
        ("ann", {}, True),
        ("bob", {}, False),
        ("-bob", {}, True),
        ("-ann", {}, False),
        ("disk full", {"error": "OSError: Disk full"}, True),
        ("full disk", {"error": "OSError: Disk full"}, False),
        ("fn:app.export.rows", {}, True),
        ("fn:app.*.rows", {}, True),
        ("fn:app.*.cols", {}, False),
        ("fn:import,export", {}, True),
        ("name:nightly", {}, True),
        ("name:night", {}, False),
        ("name:night*", {}, True),
        ("name:nightly", {"name": None}, False),
        ("-name:nightly", {"name": None}, True),
        ("name:[n]*", {"name": "[n]ightly"}, True),
        ("name:[n]*", {}, False),
        ("id:54111a", {}, True),
        ("id:111adf", {}, False),
        ("state:due,waiting", {}, True),
        ("state:due", {}, False),
        ("due:<1h", {}, True),
        ("due:<30min", {}, False),
        ("due:<=30min", {}, True),
        ("due:>10min", {}, True),
        ("due:<1h", {"due": NOW - timedelta(hours=3)}, True),
        ("due:<1h", {"due": None}, False),
        ("attempt:1", {}, True),
        ("attempt:>1", {"attempt": 1}, True),
        ("args:4218", {}, True),
        ("args:to=", {}, True),
        ("zone:paris", {}, True),
        ("why:limit", {"why": "limit fn:x"}, True),
        ("error:disk", {}, False),
    ],
)
def test_a_job_is_meant_where_all_tests_hold(text: str, fields: dict[str, Any], is_meant: bool) -> None:
    assert meant(text, **fields) is is_meant


@pytest.mark.parametrize(
    ("text", "fields", "is_meant"),
    [
        ("job:nightly", {}, True),
        ("ended:done", {}, True),
        ("ended:late", {}, False),
        ("ended:late", {"late_ms": 1_000}, True),
        ("ended:failed", {"ending": "retried"}, True),
        ("ended:failed", {"ending": "dead"}, True),
        ("ended:dead", {"ending": "retried"}, False),
        ("ended:left-out", {"ending": "overlap"}, True),
        ("-ended:done", {}, False),
        ("late:>1s", {"late_ms": 1_000}, False),
        ("late:>=1s", {"late_ms": 1_000}, True),
        ("took:>59s", {}, True),
        ("on:worker-1", {}, True),
        ("on:worker-1", {"listener": None}, False),
        ("ago:<30min", {}, True),
        ("error:disk", {"error": "OSError: disk full"}, True),
        ("disk", {"error": "OSError: Disk full"}, True),
    ],
)
def test_a_run_is_meant_where_all_tests_hold(text: str, fields: dict[str, Any], is_meant: bool) -> None:
    assert read_filter(text, "runs").run(run(**fields), now=NOW) is is_meant


@pytest.mark.parametrize(
    ("text", "is_meant"),
    [
        ("state:failing", True),
        ("state:waiting", True),
        ("state:missed", False),
        ("missed:>0", True),
        ("missed:2", True),
        ("missed:>2", False),
        ("late:>1s", True),  # of the last run that was one
        ("took:<5s", True),
        ("next:<1h", True),
        ("2:30", True),
        ("every night", False),
    ],
)
def test_a_recurring_job_is_meant_by_its_last_runs(text: str, is_meant: bool) -> None:
    runs = [
        run(ending="skipped"),
        run(ending="dead", late_ms=2_000, took_ms=4_000),
        run(ending="missed"),
        run(ending="missed"),
        run(),
    ]
    where = read_filter(text, "recurring")
    assert where.recurring(job(), runs, words="every day at 2:30", now=NOW) is is_meant


def test_a_job_that_never_ran_has_no_trouble() -> None:
    for text in ("state:failing", "late:>0s", "took:>0s", "missed:>0"):
        assert not read_filter(text, "recurring").recurring(job(), [], words="", now=NOW)


def test_the_dead_are_asked_when_they_died() -> None:
    dead = job(state="dead", due=NOW - timedelta(minutes=30))
    assert read_filter("died:<1h", "dead").job(dead, now=NOW)
    assert not read_filter("died:<10min", "dead").job(dead, now=NOW)


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("id:54111adf", "54111adf"),
        ("id:5411", None),
        ("name:nightly", "nightly"),
        ("name:night*", None),
        ("name:a,b", None),
        ("-name:a", None),
        ("fn:a name:x", "x"),
        ("a", None),
    ],
)
def test_exact_ones_can_be_looked_up(text: str, found: str | None) -> None:
    assert read_filter(text, "jobs").lookup == found


@given(st.text(max_size=60) | st.text(alphabet='fn:stade,"<>=*-. 1hx', max_size=60), st.sampled_from(get_args(Place)))
def test_any_text_is_read_or_refused_with_a_place(text: str, place: Place) -> None:
    refused = None
    try:
        where = read_filter(text, place)
    except InvalidOptions as error:
        refused = error
    if refused is not None:
        assert refused.position is not None
        assert 0 <= refused.position <= len(text)
        assert refused.accepted
        return
    assert understood(where)
    assert isinstance(where.job(job(), now=NOW), bool)
    assert isinstance(where.run(run(), now=NOW), bool)


@given(st.text(alphabet="abc *", min_size=1, max_size=8).map(str.strip).filter(bool))
def test_a_negated_test_is_the_opposite(text: str) -> None:
    quoted = f'"{text}"'
    assert meant(f"fn:{quoted}") != meant(f"-fn:{quoted}")


def test_a_filter_has_a_bound() -> None:
    with pytest.raises(InvalidOptions, match="2,001 characters"):
        read_filter("x" * 2_001, "jobs")
