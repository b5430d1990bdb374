"""`workkit import` of Celery, APScheduler and rq-scheduler: real programs and a real Redis become plans for `sync`."""

from __future__ import annotations

import os
import pickle
import sys
import tomllib
import warnings
import zlib
from collections.abc import Iterator
from datetime import datetime, timedelta
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest
import redis

from tests.cli.conftest import Run
from tests.optional import needed
from tests.processes import completed
from tests.servers import Server

needed("celery")
needed("apscheduler")
needed("rq_scheduler")

CELERY = """
from datetime import timedelta
from pathlib import Path
from celery import Celery
from celery.beat import BeatLazyFunc
from celery.schedules import crontab, schedule

app = Celery("shop", broker="memory://")
app.conf.timezone = "Europe/Paris"

@app.task(autoretry_for=(OSError,), rate_limit="10/m")
def digest(to="all", copies=1):
    Path("ran").touch()

@app.task(bind=True, name="own name")
def bound(self): ...

@app.task(name="another name")
def report(): ...

DIGEST = "shop_celery.digest"
app.conf.beat_schedule = {
    "digest": {"task": DIGEST, "schedule": crontab(0, 9, "mon-fri"), "args": ("a@b.c",), "kwargs": {"copies": 2},
               "options": {"queue": "mail", "expires": 3600, "time_limit": 30, "priority": 5}},
    "both days": {"task": DIGEST, "schedule": crontab(0, 9, day_of_week="fri", day_of_month=13)},
    "night": {"task": "another name", "schedule": crontab(30, 2)},
    "each": {"task": DIGEST, "schedule": 300.0},
    "hourly": {"task": DIGEST, "schedule": schedule(timedelta(hours=1), relative=True)},
    "two hourly": {"task": DIGEST, "schedule": schedule(timedelta(hours=2), relative=True)},
    "half": {"task": DIGEST, "schedule": 0.5},
    "bound": {"task": "own name", "schedule": timedelta(days=1)},
    "gone": {"task": "nowhere", "schedule": 10},
    "later": {"task": DIGEST, "schedule": 10, "options": {"countdown": 5}},
    "lazy": {"task": DIGEST, "schedule": 10, "args": (BeatLazyFunc(print),)},
    "none": {"task": DIGEST, "schedule": 10, "args": (None,)},
    "clock": {"task": DIGEST, "schedule": crontab(nowfun=lambda: None)},
    "date": {"task": DIGEST, "schedule": 10, "args": (timedelta(1),)},
}

@app.on_after_finalize.connect
def also(sender, **options):
    sender.add_periodic_task(10.0, report.s(), name="added")
"""
APSCHEDULER = """
from functools import partial
from pathlib import Path
from apscheduler.jobstores.redis import RedisJobStore
from apscheduler.schedulers.blocking import BlockingScheduler
from apscheduler.triggers.combining import AndTrigger
from apscheduler.triggers.cron import CronTrigger

def tick(x=1):
    Path("ran").touch()

class Shop:
    def tick(self): ...

s = BlockingScheduler(timezone="Europe/Paris", job_defaults={"misfire_grace_time": None})
s.add_jobstore(RedisJobStore(), "kept")
s.add_job(tick, "cron", day_of_week="mon-fri", hour=9, id="tick", args=[5], misfire_grace_time=60, coalesce=False)
s.add_job(tick, "cron", day="1st mon", hour=2, minute=30, jitter=30, id="spread", max_instances=3)
s.add_job(tick, "interval", minutes=10)
s.add_job(tick, "interval", hours=2, start_date="2026-01-01 09:30:00", end_date="2099-01-01", id="phase")
s.add_job(tick, "date", run_date="2099-01-01 09:00:00", id="once")
s.add_job(tick, id="at the start")
s.add_job(lambda: 1, "cron", hour=3, id="lambda")
s.add_job(partial(tick, 2), "cron", hour=3, id="partial")
s.add_job(Shop().tick, "cron", hour=3, id="method")
s.add_job(tick, AndTrigger([CronTrigger(hour=1)]), id="and")
s.add_job(tick, "cron", hour=3, id="paused", next_run_time=None)
"""


@pytest.fixture
def rq(server: Server) -> Iterator[Any]:
    """The scheduler of RQ on a server whose keys of RQ are removed afterwards."""
    client = redis.Redis.from_url(server.url)
    try:
        yield needed("rq_scheduler").Scheduler("default", connection=client)
    finally:
        if keys := client.keys("rq:*"):
            client.delete(*keys)
        client.close()


def printed(*words: str) -> tuple[dict[str, Any], dict[str, str], str]:
    """Run an import in two processes, as programs of other schedulers are imported once. Returns the plan, what is
    refused (place -> reason), and the text. The plan is the same both times.
    """
    command = [sys.executable, "-m", "workkit", "import", *words]
    ran, again = (completed(*command, timeout=120) for _ in range(2))
    assert tomllib.loads(again.stdout) == tomllib.loads(ran.stdout)
    refused = {
        line.removeprefix("refused: "): following.strip()
        for line, following in pairwise(ran.stderr.splitlines())
        if line.startswith("refused: ")
    }
    assert ran.returncode == (1 if refused else 0), ran.stderr
    return tomllib.loads(ran.stdout), refused, ran.stdout


def synced(run: Run, text: str, server: Server, name: str) -> None:
    """Make a schedule equal to a plan, and see that the same plan changes nothing."""
    Path("plan.toml").write_text(text)
    first = run("sync", name, "plan.toml", "--redis", server.url)
    assert first.status == 0, first.err
    again = run("sync", name, "plan.toml", "--redis", server.url, "--json")
    assert again.status == 0
    assert '"added":[],"changed":[],"removed":[]' in again.out


def test_the_beat_schedule_of_an_app_becomes_a_plan_and_no_task_runs(run: Run, folder: Path, server: Server) -> None:
    (folder / "shop_celery.py").write_text(CELERY)
    plan, refused, text = printed("celery", "shop_celery")
    paris, function = {"tz": "Europe/Paris"}, {"fn": "shop_celery:digest"}
    assert plan == {
        "digest": {
            **function,
            "cron": "0 9 * * 1-5",
            "args": ["a@b.c"],
            "kwargs": {"copies": 2},
            **paris,
            "catch_up_within": "3600 seconds",
            "timeout": "30 seconds",
        },
        "both days": {**function, "when": "every Friday the 13th at 9:00", **paris},
        "night": {"fn": "shop_celery:report", "cron": "30 2 * * *", **paris},
        "each": {**function, "when": "every 5 minutes", "tz": "UTC"},
        "hourly": {**function, "cron": "0 * * * *", **paris},
        "added": {"fn": "shop_celery:report", "when": "every 10 seconds", "tz": "UTC"},
    }
    reasons = {place.split("'")[1]: reason for place, reason in refused.items() if "'" in place}
    assert set(reasons) == {"two hourly", "half", "bound", "gone", "later", "lazy", "none", "clock", "date"}
    for name, part in (
        ("two hourly", "relative=True"),
        ("half", "every 0.5 s"),
        ("bound", "bind=True"),
        ("gone", "No task is registered as 'nowhere'"),
        ("later", "countdown=5"),
        ("lazy", "BeatLazyFunc"),
        ("none", "null"),
        ("clock", "nowfun"),
        ("date", "args[0] is a timedelta"),
    ):
        assert part in reasons[name]
    for remark in ("queue='mail'", "priority=5", "autoretry_for", "rate_limit='10/m'", "its decorator"):
        assert remark in text
    assert "only Celery runs it at" in text.partition("beat_schedule['night']")[2].partition("[night]")[0]
    synced(run, text, server, "moved-celery")
    assert not Path("ran").exists()


def test_entries_of_a_database_are_named_and_a_zone_belongs_into_the_app(run: Run, folder: Path) -> None:
    (folder / "shop_db.py").write_text(
        "from celery import Celery\napp = Celery('shop')\n"
        "app.conf.beat_scheduler = 'django_celery_beat.schedulers:DatabaseScheduler'\n"
    )
    _, refused, _ = printed("celery", "shop_db:app")
    assert "keeps entries in a database" in next(iter(refused.values()))
    assert run("import", "celery", "shop_db:app", "--tz", "Europe/Paris").status == 2


@pytest.mark.parametrize(
    ("source", "what", "text", "status", "said"),
    [
        ("celery", "shop_none", None, 3, "no module shop_none here"),
        ("celery", "shop_broken", "1 / 0", 2, "shop_broken cannot be imported: ZeroDivisionError: division by zero."),
        ("celery", "shop_broken", "import shop_gone", 2, "cannot be imported: No module named 'shop_gone'"),
        ("celery", "shop_broken", "raise SystemExit(4)", 2, "cannot be imported: SystemExit"),
        ("apscheduler", "shop_broken", "", 2, "Write MODULE:SCHEDULER"),
        ("apscheduler", "shop_broken:s", "", 3, "has no attribute 's'"),
        ("apscheduler", "shop_broken:s", "s = 5", 2, "shop_broken:s is of the type int, not a scheduler"),
        (
            "apscheduler",
            "shop_broken:s",
            "from apscheduler.schedulers.blocking import BlockingScheduler\ns = BlockingScheduler()\ns.start()",
            2,
            "shop_broken starts its scheduler when it is imported",
        ),
    ],
)
def test_a_program_that_cannot_be_read_is_an_error_with_its_reason(
    run: Run, folder: Path, source: str, what: str, text: str | None, status: int, said: str
) -> None:
    sys.modules.pop("shop_broken", None)
    if text is not None:
        (folder / "shop_broken.py").write_text(text)
    ran = run("import", source, what)
    assert (ran.status, ran.out) == (status, "")
    assert said in ran.err
    assert "Traceback" not in ran.err


def test_the_jobs_of_a_scheduler_become_a_plan_and_none_runs(run: Run, folder: Path, server: Server) -> None:
    (folder / "shop_aps.py").write_text(APSCHEDULER)
    plan, refused, text = printed("apscheduler", "shop_aps:s")
    paris, function, alone = {"tz": "Europe/Paris"}, {"fn": "shop_aps:tick"}, {"overlap": "skip"}
    assert plan == {
        "tick": {
            **function,
            "cron": "0 9 * * 1-5",
            "args": [5],
            **paris,
            **alone,
            "catch_up": "all",
            "catch_up_within": "60 seconds",
        },
        "spread": {**function, "cron": "30 2 * * 1#1", **paris, "spread": "30 seconds"},
        "tick-2": {**function, "when": "every 10 minutes", "tz": "UTC", **alone},
        "phase": {
            **function,
            "when": "every 2 hours",
            "tz": "UTC",
            "start": "2026-01-01T08:30:00Z",
            "end": "2098-12-31T23:00:01Z",
            **alone,
        },
        "once": {**function, "when": "2099-01-01T08:00:00Z", "tz": "UTC"},
    }
    reasons = {place.split("'")[1]: reason for place, reason in refused.items()}
    for name, part in (
        ("kept", "Only a scheduler that runs reads it"),
        ("at the start", "it runs when the program starts"),
        ("lambda", "is a lambda"),
        ("partial", "is a partial"),
        ("method", "Shop.tick"),
        ("and", "AndTrigger is not one of"),
        ("paused", "It is paused"),
    ):
        assert part in reasons.pop(name)
    assert not reasons
    assert "max_instances=3" in text
    assert "jitter=30" in text
    synced(run, text, server, "moved-apscheduler")
    assert not Path("ran").exists()


class Opened:
    """An object whose pickle runs code when it is opened."""

    def __reduce__(self) -> tuple[Any, ...]:
        return os.mkdir, ("opened",)


def test_jobs_of_rq_scheduler_become_a_plan_and_redis_stays_as_it_is(
    run: Run, folder: Path, server: Server, rq: Any
) -> None:
    (folder / "shop_rq.py").write_text("def clean(*args, **kwargs): ...\n")
    clean = "shop_rq.clean"
    soon = datetime(2099, 1, 1, 9)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # rq-scheduler asks for UTC as older Pythons do
        rq.cron("0 9 * * 1-5", clean, args=[1, (2, 3)], kwargs={"a": {"b": [True]}}, repeat=3, timeout=30, id="cron")
        rq.schedule(datetime.utcnow(), clean, interval=3600, queue_name="low", id="interval")
        rq.schedule(soon, clean, interval=600, id="not-begun")
        rq.enqueue_at(soon, clean, "x")
        rq.cron("0 9 z1 * *", clean, id="from-the-end")
        rq.enqueue_in(timedelta(days=1), clean, datetime(2026, 1, 1), job_id="object")
        rq.enqueue_at(datetime(2020, 1, 1), clean, job_id="past")
        rq.enqueue_in(timedelta(days=1), clean, job_id="hook", depends_on=None, on_success=None)
    rq.connection.hset("rq:job:hook", "success_callback_name", "shop_rq.clean")
    rq.connection.zadd(rq.scheduled_jobs_key, {"gone": 1, "forged": 4e9})
    rq.connection.hset("rq:job:forged", "data", zlib.compress(pickle.dumps((clean, None, (Opened(),), {}))))
    before = {key: rq.connection.dump(key) for key in rq.connection.keys("rq:*")}
    plan, refused, text = printed("rq-scheduler", server.url)
    assert {key: rq.connection.dump(key) for key in rq.connection.keys("rq:*")} == before
    assert not Path("opened").exists()
    zone = plan["cron"].pop("tz")
    assert plan == {
        "cron": {
            "fn": "shop_rq:clean",
            "cron": "0 9 * * 1-5",
            "args": [1, [2, 3]],
            "kwargs": {"a": {"b": [True]}},
            "count": 3,
            "timeout": "30 seconds",
        },
        "interval": {"fn": "shop_rq:clean", "when": "every hour", "tz": "UTC"},
        "not-begun": {"fn": "shop_rq:clean", "when": "every 10 minutes", "tz": "UTC", "start": "2099-01-01T09:00:00Z"},
        "shop_rq.clean": {"fn": "shop_rq:clean", "when": "2099-01-01T09:00:00Z", "args": ["x"], "tz": "UTC"},
    }
    assert f"taken to be {zone}" in text
    reasons = {place.split(":")[2]: reason for place, reason in refused.items()}
    for name, part in (
        ("from-the-end", "from the end of the month (z1)"),
        ("object", "datetime.datetime, whose pickle is not opened"),
        ("forged", "mkdir, whose pickle is not opened"),
        ("past", "Its only run is over"),
        ("hook", "on_success=shop_rq.clean"),
        ("gone", "no such job any more"),
    ):
        assert part in reasons.pop(name)
    assert not reasons
    other = "Asia/Kathmandu" if zone != "Asia/Kathmandu" else "UTC"
    assert "none of its times there" in run("import", "rq-scheduler", server.url, "--tz", other).err
    synced(run, text, server, "moved-rq")


def test_a_server_that_is_not_there_is_an_error_without_its_password(run: Run) -> None:
    ran = run("import", "rq-scheduler", "redis://:secret@127.0.0.1:1")
    assert ran.status == 69
    assert "connection refused" in ran.err
    assert "secret" not in ran.err + ran.out
