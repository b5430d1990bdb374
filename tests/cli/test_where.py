"""`where=` and `names=` of the verbs: exactly the jobs that are asked for, and texts of errors that tell no others."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from tests.cli.conftest import Run
from tests.handlers import note
from tests.servers import Server
from workkit import aio, schedule
from workkit.errors import Ambiguous, InvalidOptions, JobFailed, NotFound, Unsupported, WorkkitError
from workkit.jobs.job import Job

NOON: dict[str, Any] = {"at": "2050-01-01 12:00"}


@pytest.fixture
def s(server: Server, name: str, monkeypatch: pytest.MonkeyPatch) -> schedule.Schedule:
    monkeypatch.setenv("WORKKIT_REDIS_URL", server.url)
    return schedule.create(name, redis=server.url)


@pytest.fixture
def reminders(s: schedule.Schedule) -> schedule.Schedule:
    for user, text in ((7, "milk"), (77, "tea"), (8, "call 7"), (9, "u/7/milk")):
        schedule.add(s, "app.mail:send", args=[user], kwargs={"text": text}, name=f"u/{user}/{text[:4]}", **NOON)
    schedule.add(s, "app.mail:send_all", args=["7"], **NOON)
    return s


def ran(s: schedule.Schedule, now: datetime | None = None) -> None:
    schedule.drain(s, imports=["tests.handlers"], folder=None, raise_errors=False, now=now)


def names(jobs: Any) -> set[str | None]:
    return {job.name for job in jobs}


@pytest.mark.parametrize(
    ("where", "found"),
    [
        ("arg:7", {"u/7/milk", None}),
        ("arg:7 fn:app.mail.send", {"u/7/milk"}),
        ("fn:app.mail:send", {"u/7/milk", "u/77/tea", "u/8/call", "u/9/u/7/"}),
        ("fn:send_all", {None}),
        ("fn:app.mail.send_*", {None}),
        ("fn:end", set()),
        ("arg:text=tea", {"u/77/tea"}),
        ('arg:"call 7"', {"u/8/call"}),
        ("name:u/7/*", {"u/7/milk"}),
        ("name:U/7/*", set()),
        ("name:u/7/milk,u/8/call", {"u/7/milk", "u/8/call"}),
        ("name:u/7", set()),
        ("-name:u/7/* fn:send", {"u/77/tea", "u/8/call", "u/9/u/7/"}),
        ("state:due", set()),
        ("7", {"u/7/milk", "u/77/tea", "u/8/call", "u/9/u/7/", None}),  # any part of any field
        ("MILK", {"u/7/milk", "u/9/u/7/"}),
        ("", {"u/7/milk", "u/77/tea", "u/8/call", "u/9/u/7/", None}),
    ],
)
def test_where_takes_the_qualifiers_of_the_command_line(
    reminders: schedule.Schedule, run: Run, where: str, found: set[str | None]
) -> None:
    assert names(schedule.jobs(reminders, where=where)) == found
    assert len(run("list", reminders.name, "--where", where).out.splitlines()) == (2 + len(found) if found else 0)


def test_a_misspelt_qualifier_is_refused_at_once_with_those_there_are(reminders: schedule.Schedule) -> None:
    verbs: tuple[Callable[..., object], ...] = (schedule.jobs, schedule.dead, schedule.retry, schedule.discard)
    for verb in verbs:
        with pytest.raises(InvalidOptions, match=r'"nme:" .* Did you mean "name:"\? Accepted: id:, name:, fn:, '):
            verb(reminders, where="nme:u/7/*")
        with pytest.raises(InvalidOptions, match="where=7 is not a text"):
            verb(reminders, where=7)


def test_dead_retry_and_discard_take_qualifiers(s: schedule.Schedule) -> None:
    for user in (7, 77, 8):
        schedule.add(s, "tests.handlers:fail", args=[user], name=f"u/{user}/x", in_="1s")
    schedule.drain(
        s, imports=["tests.handlers"], folder=None, raise_errors=False, now=datetime.now(UTC) + timedelta(minutes=1)
    )
    assert names(schedule.dead(s, where="name:u/7/*")) == {"u/7/x"}
    assert schedule.discard(s, where="arg:7") == 1
    assert schedule.retry(s, where="name:u/77/*", rate="1/hour") == 1
    assert names(schedule.dead(s)) == {"u/8/x"}
    assert names(schedule.jobs(s, names="u/77/*")) == {"u/77/x"}, "it has lost its name, and waits among the first"


@pytest.mark.parametrize("shards", [1, 3])
def test_names_finds_jobs_in_every_state_by_their_whole_names(
    server: Server, name: str, shards: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    s = schedule.create(name, redis=server.url, shards=shards)
    rows = [{"fn": note, "name": f"u/{n}/later", "args": [n], **NOON} for n in range(100)]
    schedule.add_many(s, [*rows, *({"fn": note, "args": [n], "in_": f"{n} days"} for n in range(1, 600))])
    for of in ("u/[7]/a", "u/?/b", "U/7/c", "u/7/ä", "x/u/7/d"):
        schedule.add(s, note, name=of, args=[of], **NOON)
    schedule.add(s, "tests.handlers:fail", name="u/7/dead", in_="1s")
    schedule.add(s, "tests.handlers:fail", name="u/7/again", in_="1s", retries=3, base="1 hour")
    schedule.drain(
        s, imports=["tests.handlers"], folder=None, raise_errors=False, now=datetime.now(UTC) + timedelta(minutes=1)
    )
    schedule.pause(s, schedule.add(s, note, name="u/7/paused", every="hour"))
    found = {job.name: job.state for job in schedule.jobs(s, names="u/7/*")}
    assert found == {
        "u/7/later": "waiting", "u/7/ä": "waiting", "u/7/dead": "dead", "u/7/again": "retrying", "u/7/paused": "paused",
    }  # fmt: skip
    assert names(schedule.jobs(s, names="u/[7]/*")) == {"u/[7]/a"}
    assert names(schedule.jobs(s, names="u/?/*")) == {"u/?/b"}
    assert names(schedule.jobs(s, names="u/7/later")) == names(schedule.jobs(s, where="name:u/7/la*")) == {"u/7/later"}
    assert names(schedule.jobs(s, names="*/later", where="arg:98")) == {"u/98/later"}
    assert names(schedule.jobs(s, names="u/7/*", state="dead")) == {"u/7/dead"}
    assert not list(schedule.jobs(s, names=""))
    assert len(list(schedule.jobs(s, names="*"))) == 108
    monkeypatch.setattr("workkit.brokers.native.look.inspector.MOST_HOLDERS", 2)  # then all jobs are read
    assert {job.name: job.state for job in schedule.jobs(s, names="u/7/*")} == found
    with pytest.raises(InvalidOptions, match="names=7 is not a text"):
        schedule.jobs(s, names=7)  # type: ignore[arg-type]


def test_names_reads_few_of_many_jobs(server: Server, s: schedule.Schedule, run: Run) -> None:
    schedule.add_many(s, [{"fn": note, "name": f"u/{n // 20}/{n}", "args": [n], **NOON} for n in range(4000)])
    client = server.client()
    asks: list[Callable[[], object]] = [
        lambda: len(list(schedule.jobs(s, names="u/7/*"))) == 20,
        lambda: len(run("list", s.name, "--where", "name:u/7/*").out.splitlines()) == 22,
    ]
    for ask in asks:
        client.config_resetstat()
        assert ask()
        asked = client.info("commandstats")
        assert asked["cmdstat_hmget"]["calls"] <= 2, "payloads of 1,000 jobs at most"
        assert asked["cmdstat_hscan"]["calls"] <= 2


def test_the_coroutines_take_them_too(reminders: schedule.Schedule) -> None:
    async def found() -> list[set[str | None]]:
        one = {job.name async for job in aio.jobs(reminders, names="u/7/*")}
        return [one, {job.name async for job in aio.jobs(reminders, where="arg:77")}]

    assert asyncio.run(found()) == [{"u/7/milk"}, {"u/77/tea"}]


def test_names_is_refused_where_jobs_have_none(server: Server, name: str) -> None:
    s = schedule.create(name, redis=server.url, layout="gocraft")
    with pytest.raises(Unsupported, match="jobs have no names in layout='gocraft'"):
        schedule.jobs(s, names="u/7/*")


@pytest.mark.parametrize("which", ["u/7/mlk", "u/7/mil", "u/7/tea", "u/6/milk", "u:7:mlk"])
def test_the_nearest_name_has_the_same_first_parts(s: schedule.Schedule, which: str) -> None:
    for of in ("u/77/tea", "u/77/mlk", "u/8/milk", "u:77:mlk", "u/7/milk"):
        schedule.add(s, note, name=of, args=[of], **NOON)
    with pytest.raises(NotFound) as refused:
        schedule.job(s, which)
    assert refused.value.suggestion == ("u/7/milk" if which in ("u/7/mlk", "u/7/mil") else None)
    assert "u/77" not in str(refused.value)


def test_the_nearest_dead_job_is_one_that_the_filter_means(s: schedule.Schedule) -> None:
    for user in (7, 77):
        schedule.add_now(s, "tests.handlers:fail", args=[user])
    ran(s)
    (mine,) = schedule.dead(s, where="arg:7")
    for where in ("arg:7", "arg:8"):
        with pytest.raises(NotFound) as refused:
            schedule.retry(s, "handlers.fa", where=where)
        assert refused.value.suggestion == (f"{mine.short_id} tests.handlers.fail" if where == "arg:7" else None)


def refusals(s: schedule.Schedule) -> dict[str, tuple[Callable[[], object], str]]:
    """What an end user may cause, and what is told of it."""
    mine = schedule.job(s, "u/7/milk")

    def add(**options: Any) -> Callable[[], object]:
        return lambda: schedule.add(s, **{"fn": note, **options})

    return {
        "a phrase": (
            add(when="every blursday at 9"),
            '"every blursday at 9" is not understood. Did you mean "every thursday at 9"?',
        ),
        "two readings": (add(when="1/2/2027"), '"1/2/2027" is January 2 to some and 1 February to others.'),
        "a zone": (
            add(when="every day at noon EST"),
            '"every day at noon EST" is not understood. Did you mean "every day at noon America/New_York"?',
        ),
        "no words": (add(when=""), '"" says nothing.'),
        "vague": (add(when="soon"), '"soon" is no exact time.'),
        "a cron string": (add(cron="99 * * * *"), '"99 * * * *": 99 (field 1, minute) is out of range.'),
        "a length": (add(in_="5 minuts"), '"5 minuts" is not understood. Did you mean "5 minutes"?'),
        "a bound": (
            add(when="every day at 9am", start="tomorow"),
            '"tomorow" is not understood. Did you mean "tomorrow"?',
        ),
        "a name": (add(name="x" * 300, **NOON), f'"{"x" * 80}..." has 300 characters.'),
        "no time": (add(), "This cannot be used here."),
        "an option": (add(retrys=3, **NOON), "This cannot be used here."),
        "arguments": (add(args=[object()], **NOON), "This cannot be used here."),
        "a function": (add(fn="appa b", **NOON), "This cannot be done."),
        "no job": (lambda: schedule.cancel(s, "u/7/mlk"), '"u/7/mlk" was not found.'),
        "no job of an id": (lambda: schedule.job(s, "0" * 40), "This job was not found."),
        "no dead job": (lambda: schedule.retry(s, "u/7/milk"), '"u/7/milk" was not found.'),
        "runs once": (lambda: schedule.skip(s, "u/7/milk"), "This job runs once."),
        "another time": (
            lambda: schedule.reschedule(s, mine, when="evry day at 9"),
            '"evry day at 9" is not understood. Did you mean "every day at 9"?',
        ),
        "a pause": (
            lambda: schedule.pause(s, mine, until="next blue moon"),
            '"next blue moon" is not understood.',
        ),
        "a filter": (lambda: schedule.jobs(s, where="nme:7"), '"nme:7" is no qualifier.'),
        "no result": (
            lambda: schedule.result(s, schedule.add(s, note, keep="1 hour", **NOON), wait=None),
            "There is no result yet.",
        ),
        "a layout": (lambda: schedule.jobs(_gocraft(s), names="u/7/*"), "This cannot be done."),
        "no server": (
            lambda: schedule.counts(schedule.create("away", redis="redis://127.0.0.1:1/0")),
            "This cannot be done now. Try again later.",
        ),
        "a row": (lambda: schedule.add_many(s, [{"fn": note, "when": "soon"}]), '"soon" is no exact time.'),
    }


def _gocraft(s: schedule.Schedule) -> schedule.Schedule:
    return schedule.create(s.name, redis=s.redis, layout="gocraft")


def test_every_refusal_has_a_text_for_an_end_user(reminders: schedule.Schedule) -> None:
    ids = {job.id for job in schedule.jobs(reminders)}
    for what, (call, said) in refusals(reminders).items():
        with pytest.raises(WorkkitError) as refused:
            call()
        assert refused.value.public == said, what
        _fit(said, ids)


def _fit(text: str, ids: set[str]) -> None:
    assert text.endswith((".", "?"))
    for internal in ("workkit", "--", "=", "tests.", "app.", "redis", "Nearest", "schedule.", "u/77", "u/8"):
        assert internal not in text
    assert not [id for id in ids if id[:6] in text]


def every(kind: type[WorkkitError]) -> list[type[WorkkitError]]:
    return [kind, *(one for sub in kind.__subclasses__() for one in every(sub))]


def test_no_class_of_error_tells_more_than_the_value() -> None:
    other = Job(id="54111adf" + "0" * 32, schedule="s", fn="f")
    for kind in every(WorkkitError):
        for trouble in ("is kept by app.mail.send", "needs retries=3", "is read by workkit next", f"is {other.id}"):
            fields: dict[str, Any] = {"given": "u/7", "trouble": trouble, "suggestion": f"{other.short_id} --where x"}
            error = kind.__new__(kind)
            WorkkitError.__init__(error, "Try: workkit next.", **fields)
            _fit(error.public, {other.id})
            assert "f'" not in error.public, kind


def test_an_ambiguous_word_and_a_failed_job_are_told_without_the_jobs() -> None:
    assert Ambiguous.among("541", ["541a", "541b"], "give more").public == '"541" stands for several things. Say more.'
    assert JobFailed("u/8/x failed").public == "This job has failed."
