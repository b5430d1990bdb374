"""The verbs: what they return, and every sentence with which they refuse. On real servers where one is needed."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from datetime import UTC, date, datetime, timedelta
from typing import Any

import pytest

from tests import handlers
from tests.servers import Server
from workkit import errors, schedule
from workkit.contract.producer import Added, Ids, NewJob, Tally
from workkit.jobs.terms import PLAIN, Terms
from workkit.verbs import opening as place
from workkit.verbs.bulk import CHUNK, Bulk


@pytest.fixture
def s(server: Server, name: str) -> schedule.Schedule:
    return schedule.create(name, redis=server.url)


@pytest.fixture(autouse=True)
def _no_calls() -> None:
    handlers.calls.clear()


NOWHERE = schedule.create("nowhere", redis="redis://127.0.0.1:1/")
HOW: dict[str, Any] = {"imports": ["tests.handlers"], "folder": None}


@pytest.mark.parametrize(
    ("call", "kind", "message"),
    [
        ({"at": "now", "every": "day"}, errors.InvalidOptions,
         "at= and every= were both given; a job has one time. "
         "Keep one of when= at= in_= every= cron=, or add two jobs."),
        ({}, errors.InvalidOptions,
         "no time was given. Give one of when= at= in_= every= cron=, or use schedule.add_now(s, fn)."),
        ({"at": "now", "args": "tracy@x.org"}, errors.InvalidArguments,
         'args="tracy@x.org" is one text, not a list. Write args=["tracy@x.org"].'),
        ({"at": "now", "retrys": 5}, errors.InvalidOptions,
         "retrys=5 is not an option of add. Did you mean retries=5?"),
        ({"at": "now", "tzz": "UTC"}, errors.InvalidOptions,
         "tzz='UTC' is not an option of add. Did you mean tz='UTC'?"),
        ({"at": "now", "timeout": 30}, errors.TriggerError,
         'timeout=30 has no unit. Write "30s" or timedelta(seconds=30).'),
        ({"at": "now", "fn": "#'your-app.cache/clear", "kwargs": {"a": 1}}, errors.InvalidArguments,
         "kwargs= with #'your-app.cache/clear: only Python functions take keyword arguments. Put a map into args."),
        ({"at": "now", "fn": handlers.welcome, "args": ["a", "b"]}, errors.InvalidArguments,
         "welcome(email) takes 1 argument; args has 2."),
    ],
)  # fmt: skip
def test_a_mistake_is_refused_before_anything_is_written(call: dict[str, Any], kind: type, message: str) -> None:
    call = {"fn": handlers.note, **call}
    with pytest.raises(kind) as caught:
        schedule.add(NOWHERE, **call)
    assert str(caught.value) == message
    assert isinstance(caught.value, ValueError)


NAIVE = datetime(2026, 11, 21, 19, 0)


@pytest.mark.parametrize(
    ("call", "message"),
    [
        ({"at": "every day at 9am"}, 'at="every day at 9am" recurs. Write every="day at 9am".'),
        ({"every": "7pm tomorrow"}, 'every="7pm tomorrow" happens once. Write at="7pm tomorrow".'),
        ({"at": NAIVE}, "at=datetime(2026, 11, 21, 19, 0) has no zone. "
         'Use datetime(..., tzinfo=ZoneInfo("Europe/Paris")), or words with tz=.'),
        ({"at": date(2030, 1, 1)}, "at=datetime.date(2030, 1, 1) is a date: which hour? "
         'Write at="2030-01-01 9am", or a datetime.'),
        ({"in_": 5}, 'in_=5 has no unit. Write "5s" or timedelta(seconds=5).'),
        ({"every": timedelta(days=1)},
         'every=datetime.timedelta(days=1) is a day or more: at which hour? Write every="day at 9am".'),
        ({"cron": "* * * 1-5 9 0 0", "tz": "Europe/Paris"}, 'tz="Europe/Paris" with cron="* * * 1-5 9 0 0": '
         'seven fields are always UTC. Say every="weekday at 9am", or five fields: "0 9 * * 1-5".'),
        ({"cron": "* 2 30 * 0 0 0"}, 'cron="* 2 30 * 0 0 0" never fires: February has no day 30.'),
        ({"cron": "* * * * 24 0 0"}, 'cron="* * * * 24 0 0": 24 (field 5, hour) is out of range. Accepted: 0-23.'),
        ({"at": "7pm tomorow"}, '"7pm tomorow": "tomorow" (column 5) is not understood. '
         'Did you mean "7pm tomorrow"? Try: workkit next "7pm tomorrow".'),
        ({"at": "9am tomorrow", "tz": "Europe/Pariss"},
         'tz="Europe/Pariss" is not a zone. Did you mean "Europe/Paris"?'),
    ],
)  # fmt: skip
def test_a_time_that_cannot_be_meant_is_refused(s: schedule.Schedule, call: dict[str, Any], message: str) -> None:
    with pytest.raises(errors.Invalid) as caught:
        schedule.add(s, handlers.note, **call)
    assert str(caught.value) == message
    assert list(schedule.jobs(s)) == []


def test_a_past_instant_is_refused_with_its_age(s: schedule.Schedule) -> None:
    with pytest.raises(errors.TriggerError, match=r"at=.* UTC passed 15 h ago\. Give a later time, or use schedule"):
        schedule.add(s, handlers.note, at=datetime.now(UTC) - timedelta(hours=15, minutes=5))


@pytest.mark.parametrize(
    ("call", "message"),
    [
        ({"name": "app tasks"}, 'schedule "app tasks" has a blank at column 4. '
         'Names have no blanks or control characters: "app-tasks" would do.'),
        ({"name": ""}, "schedule '' is not a name. Write a text such as \"app-tasks\"."),
        ({"name": "x", "redis": {"host": "h"}}, "redis= is a dict; give a URL (redis://host:port/db) or a redis.Redis "
         "or valkey.Valkey client, whose connection settings are then used."),
        ({"name": "x", "redis": "http://h"},
         "redis='http://h' is not a URL of a server. "
         "Accepted: redis:// rediss:// redis+sentinel:// redis+cluster:// valkey:// valkeys:// unix:// embedded://."),
        ({"name": "x", "redis": "db.example.org:7401/2"},
         "redis='db.example.org:7401/2' is not a URL of a server. Write redis://db.example.org:7401/2, or another of: "
         "redis:// rediss:// redis+sentinel:// redis+cluster:// valkey:// valkeys:// unix:// embedded://."),
        ({"name": "x", "redis": "amqp://u:secret@h"},
         "redis='amqp://u:***@h' is not a URL of a server. "
         "Accepted: redis:// rediss:// redis+sentinel:// redis+cluster:// valkey:// valkeys:// unix:// embedded://."),
        ({"name": "x", "amqp": 4}, "amqp=4 with layout='native': only layouts on RabbitMQ have it. "
         "Write layout='hutch' or layout='event'."),
        ({"name": "x", "tz": "Mars"}, 'tz="Mars" is not a zone.*'),
        ({"name": "x", "dialect": "quartz"}, "dialect='quartz' is not known. Accepted: published, cuckoo."),
    ],
)  # fmt: skip
def test_create_refuses_what_is_no_schedule(call: dict[str, Any], message: str) -> None:
    with pytest.raises(errors.Invalid) as caught:
        schedule.create(**call)
    assert str(caught.value) == message or message.endswith("*")


def test_create_reads_the_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    for variable in ("WORKKIT_REDIS_URL", "REDIS_URL", "WORKKIT_TZ"):
        monkeypatch.delenv(variable, raising=False)
    assert schedule.create("x").redis == "redis://127.0.0.1:6379/"
    monkeypatch.setenv("REDIS_URL", "redis://a/")
    assert schedule.create("x").redis == "redis://a/"
    monkeypatch.setenv("WORKKIT_REDIS_URL", "redis://b/")
    monkeypatch.setenv("WORKKIT_TZ", "Europe/Paris")
    assert (schedule.create("x").redis, schedule.create("x").tz) == ("redis://b/", "Europe/Paris")
    assert schedule.create("x", tz="UTC").tz == "UTC"


def test_no_server_is_said_with_the_ways_out() -> None:
    with pytest.raises(errors.ServerUnreachable) as caught:
        schedule.add_now(NOWHERE, handlers.note)
    assert str(caught.value) == (
        "redis://127.0.0.1:1/0: connection refused. Start a Redis or Valkey there, name another with redis=URL, "
        'or use a private one: redis="embedded://.workkit".'
    )
    assert caught.value.__cause__ is not None


def test_a_wrong_password_is_said_without_it(own_server: Server) -> None:
    own_server.client().config_set("requirepass", "right")
    place = f"127.0.0.1:{own_server.port}/0"
    wrong = schedule.create("x", redis=f"redis://:wrong@{place}")
    with pytest.raises(errors.ServerRefused, match=rf"^redis://:\*\*\*@{place}: the password is wrong\.$"):
        schedule.add_now(wrong, handlers.note)
    none = schedule.create("x", redis=f"redis://{place}")
    with pytest.raises(
        errors.ServerRefused, match=rf"^redis://{place} needs a password. Write redis://:PASSWORD@{place}\.$"
    ):
        schedule.add_now(none, handlers.note)


def test_a_password_for_a_server_without_one_is_said_as_it_is(server: Server, name: str) -> None:
    place = server.url.removeprefix("redis://")
    with pytest.raises(errors.ServerRefused) as caught:
        schedule.counts(schedule.create(name, redis=f"redis://:pw@{place}"))
    assert str(caught.value) == (
        f"redis://:***@{place}: this server has no password, and one is given. Leave it out: redis://{place}."
    )


def test_a_wrong_login_is_said_with_its_user(server: Server, name: str) -> None:
    place = server.url.removeprefix("redis://")
    with pytest.raises(errors.ServerRefused) as caught:
        schedule.counts(schedule.create(name, redis=f"redis://ann:pw@{place}"))
    wrong = "the password of the user ann is wrong, or there is no such user."
    assert str(caught.value) == f"redis://ann:***@{place}: {wrong}"


def test_tls_spoken_to_a_plain_port_is_said(server: Server) -> None:
    s = schedule.create("x", redis=server.url.replace("redis://", "rediss://"))
    with pytest.raises(errors.ServerUnreachable, match=rf"speak plain Redis\. Try redis://127.0.0.1:{server.port}/0\."):
        schedule.add_now(s, handlers.note)


def test_a_client_lends_its_connection_settings(server: Server, name: str) -> None:
    import redis

    with redis.Redis.from_url(server.url, decode_responses=True, protocol=3) as client:
        s = schedule.create(name, redis=client)
        assert schedule.add(s, handlers.note, at="2030-01-01 9am").new
        assert schedule.counts(s).waiting == 1


@pytest.mark.parametrize(
    ("call", "cron"),
    [
        ({"at": "2030-03-01 7pm", "tz": "Europe/Paris"}, "2030 3 1 * 18 0 0"),
        ({"at": datetime(2030, 3, 1, 18, 0, 0, 1, tzinfo=UTC)}, "2030 3 1 * 18 0 1"),
        ({"every": "5 seconds"}, "* * * * * * */5"),
        ({"every": "every 5 seconds"}, "* * * * * * */5"),
        ({"every": "daily at noon"}, "* * * * 12 0 0"),
        ({"every": timedelta(minutes=15)}, "* * * * * */15 0"),
        ({"every": timedelta(hours=2)}, "* * * * */2 0 0"),
        ({"every": timedelta(seconds=30)}, "* * * * * * 0,30"),
        ({"cron": "2030 * * 1-5 9 0 0"}, "2030 * * 1-5 9 0 0"),
    ],
)
def test_what_was_said_is_stored_as_seven_fields(s: schedule.Schedule, call: dict[str, Any], cron: str) -> None:
    job = schedule.add(s, handlers.note, **call)
    assert job.trigger is not None
    assert job.trigger.cron == cron
    assert schedule.job(s, job).trigger is not None


def test_a_length_is_kept_to_the_millisecond(s: schedule.Schedule) -> None:
    before = datetime.now(UTC) - timedelta(milliseconds=100)  # the server's clock is an estimate
    for said in ("5 minutes", "in 5 minutes", timedelta(minutes=5)):
        due = schedule.add(s, handlers.note, in_=said, args=[str(said)]).due
        assert due is not None
        assert timedelta(0) <= due - before - timedelta(minutes=5) < timedelta(seconds=3)


def test_a_local_time_is_stored_with_its_zone(s: schedule.Schedule) -> None:
    job = schedule.add(s, handlers.note, every="weekday at 9am", tz="Europe/Paris")
    read = schedule.job(s, job.id)
    assert read.trigger is not None
    assert (read.trigger.cron, read.trigger.tz) == (None, "Europe/Paris")
    summer = read.trigger.next_after(datetime(2027, 7, 1, 12, tzinfo=UTC))
    winter = read.trigger.next_after(datetime(2027, 12, 1, 12, tzinfo=UTC))
    assert (summer, winter) == (datetime(2027, 7, 2, 7, tzinfo=UTC), datetime(2027, 12, 2, 8, tzinfo=UTC))


def test_both_day_fields_warn(s: schedule.Schedule) -> None:
    with pytest.warns(errors.WorkkitWarning, match="sets both day fields|both day fields are set"):
        schedule.add(s, handlers.note, cron="* * 13 5 9 0 0")


def test_add_many_counts_new_and_known(s: schedule.Schedule) -> None:
    rows = [{"fn": "app:f", "at": "2030-01-01 9am", "args": [n % 600]} for n in range(1200)]
    assert schedule.add_many(s, rows) == Tally(new=600, known=600)
    assert schedule.counts(s).waiting == 600


def test_add_many_says_which_row_is_bad(s: schedule.Schedule) -> None:
    rows = [{"fn": "app:f", "in_": "5 minutes", "args": [n]} for n in range(600)]
    rows[550]["in_"] = "5 mintues"
    with pytest.raises(errors.PhraseError, match=r"^row 551: .*mintues.* Rows 1 to 400 are added\."):
        schedule.add_many(s, iter(rows))
    assert schedule.counts(s).waiting == 400


def test_jobs_are_listed_soonest_first(s: schedule.Schedule) -> None:
    for n in (3, 1, 2):
        schedule.add(s, "app.mail:send", at=f"203{n}-01-01 9am", args=[n])
    assert [job.args for job in schedule.jobs(s)] == [(1,), (2,), (3,)]
    assert [job.args for job in schedule.jobs(s, where="app.mail.send [2]")] == [(2,)]
    assert {job.state for job in schedule.jobs(s)} == {"waiting"}
    assert list(schedule.jobs(s, state="dead")) == []
    with pytest.raises(errors.InvalidOptions, match="state='asleep' is not a state"):
        next(schedule.jobs(s, state="asleep"))  # type: ignore[arg-type]


def test_a_job_is_found_by_the_beginning_of_its_id(s: schedule.Schedule) -> None:
    job = schedule.add(s, "app:f", at="2030-01-01 9am")
    assert schedule.job(s, job.id[:6]).id == job.id
    for which in (job.id[:5], "nope", "0" * 40, ""):
        with pytest.raises(errors.NotFound, match=f'no job "{which}" in {s.name}'):
            schedule.job(s, which)
    assert schedule.cancel(s, job).id == job.id
    with pytest.raises(errors.NotFound):
        schedule.cancel(s, job)
    assert schedule.cancel(s, job, missing_ok=True) is None


def test_drain_raises_what_a_handler_raised_after_recording_it(s: schedule.Schedule) -> None:
    schedule.add_now(s, handlers.fail)
    with pytest.raises(OSError, match="disk full"):
        schedule.drain(s, **HOW)
    (dead,) = schedule.jobs(s)
    assert dead.state == "dead"
    assert dead.error is not None
    assert dead.error.startswith("OSError: disk full (handlers.py:")


def test_drain_runs_every_kind_of_handler(s: schedule.Schedule) -> None:
    schedule.add_now(s, handlers.note_async, args=[1])
    schedule.add_now(s, handlers.Mailer.send, args=["a@b.c"])
    schedule.add_now(s, handlers.note, args=[1], kwargs={"x": 2})
    schedule.add_now(s, "#'your-app.cache/clear")
    schedule.add_now(s, handlers.discard)
    schedule.add_now(s, handlers.retry_twice)
    schedule.add_now(s, handlers.look)
    tally = schedule.drain(s, **HOW)
    assert (tally.ran, tally.failed) == (7, 0)
    assert ("sent", "a@b.c") in handlers.calls
    assert ((1,), {"x": 2}) in handlers.calls
    assert "cleared" in handlers.calls
    assert [call for call in handlers.calls if call in (0, 1, 2)] == [0, 1, 2]
    assert list(schedule.jobs(s)) == []


def test_drain_leaves_what_it_may_not_run(s: schedule.Schedule) -> None:
    schedule.add_now(s, "#'os/system", args=["true"])
    assert schedule.drain(s, **HOW).ran == 0
    assert [job.fn for job in schedule.jobs(s)] == ["#'os/system"]


def test_the_broker_is_not_shared_with_a_fork(s: schedule.Schedule) -> None:
    assert place.producer_of(s) is place.producer_of(s)
    assert place._opened(s, os.getpid()) is not place._opened(s, -1)
    before, child = place.producer_of(s), os.getpid() + 1
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(os, "getpid", lambda: child)
        assert place.producer_of(s) is not before


def test_add_many_returns_the_id_of_each_row(s: schedule.Schedule) -> None:
    rows = [{"fn": "app:f", "in_": "1 hour", "args": [n], "name": f"row-{n % 700}"} for n in range(1_200)]
    tally = schedule.add_many(s, iter(rows))
    assert len(tally.ids) == 1_200
    assert tally.ids[-1] == schedule.job(s, "row-499").id
    assert [tally.ids[699], *tally.ids[697:699]] == [schedule.job(s, f"row-{n}").id for n in (699, 697, 698)]
    again = schedule.add_many(s, rows[:1])
    assert (again.new, again.ids[0]) == (1, schedule.job(s, "row-0").id)
    with pytest.raises(IndexError):
        tally.ids[1_200]


def test_jobs_with_a_name_never_overtake_each_other() -> None:
    """A server reads a large request in parts, and may take a later one on another connection first."""
    under_way: list[str] = []
    beside: list[tuple[str, ...]] = []

    def send(jobs: Sequence[NewJob]) -> Callable[[], list[Added]]:
        kind = "named" if any(job.terms.name for job in jobs) else "plain"
        under_way.append(kind)
        beside.append(tuple(under_way))

        def answer() -> list[Added]:
            del under_way[0]
            return [Added("ab" * 20, 0, True) for _ in jobs]

        return answer

    with Bulk(send, schedule="app") as bulk:
        for name in (None, None, "a", None, "b", "c"):
            for _ in range(CHUNK):
                bulk.put(NewJob("app:f", (), terms=Terms(name=name) if name else PLAIN))
    assert beside == [
        ("plain",), ("plain", "plain"), ("named",), ("named", "plain"), ("named",), ("named",),
    ]  # fmt: skip


def test_ids_of_any_layout_are_kept_by_row() -> None:
    ids = Ids()
    ids.extend(["ab" * 20])
    ids.extend(["0c" * 12, "AB" * 20, "order 7"])
    assert list(ids) == ["ab" * 20, "0c" * 12, "AB" * 20, "order 7"]


@pytest.mark.parametrize(
    "odd", [["a" * 39, "b" * 41], ["ab" * 20, "AB" * 20], [" " + "a" * 40], ["", "a" * 40], ["\u0661" * 40], []]
)
def test_ids_that_only_look_usual_together_are_kept_as_texts(odd: list[str]) -> None:
    ids = Ids()
    ids.extend(["ab" * 20])
    ids.extend(odd)
    ids.extend(["cd" * 20])
    assert list(ids) == ["ab" * 20, *odd, "cd" * 20]


def test_equal_schedules_share_a_broker_until_their_server_is_another_one() -> None:
    first, equal = (schedule.create("shared", redis="redis://127.0.0.1:1/") for _ in range(2))
    broker = place.producer_of(first)
    assert place.producer_of(first) is place.producer_of(equal) is broker
    place.forget()
    anew = place.producer_of(equal)
    assert anew is not broker
    assert place.producer_of(first) is anew
    others = [schedule.create(f"shared-{n}", redis="redis://127.0.0.1:1/") for n in range(place.MOST_OPEN + 1)]
    assert len({id(place.producer_of(s)) for s in others}) == len(others)
    assert len(place._quick) <= place.MOST_OPEN
