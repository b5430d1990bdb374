"""What the pages show: a shop with jobs in each state and a past, a schedule of hostile records, an empty one.

The shop is also what the pictures of the pages show (`python -m tests.browser.make_pictures`).
"""

from __future__ import annotations

import time
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from random import Random
from typing import Any

from tests.acceptance import hostile_texts
from tests.browser import cast
from tests.browser.past import Was, tell, tell_missed
from tests.processes import until
from tests.servers import Server
from workkit import call, schedule
from workkit.brokers.native.keys import Keys
from workkit.contract.history import Ended
from workkit.jobs.job import Job
from workkit.schedule import Schedule

SHOP, HOSTILE, EMPTY = "shop", 'a<b>"~/é.json', "empty"
MODULE = cast.__name__
MASKED = "hunter2"
"""The value of each secret in the scene. No answer may hold it."""

MARKUP = "<img src=x onerror=\"document.title='owned'\"><script>document.title='owned'</script>"
NASTY = (
    MARKUP,
    "\x1b[2J\x07\r\n",
    "\u202egnp.exe\u2066\u200b",
    "a" * 300,
    "../../etc/passwd",
    "{{7-7}}{% raw %}",
    "'\"`;--",
)
HOUR, DAY = timedelta(hours=1), timedelta(days=1)
CORRUPT = 60  # records


@dataclass(frozen=True, slots=True)
class Scene:
    """The schedules, and the jobs of the shop that acts need."""

    server: Server
    shop: Schedule
    hostile: Schedule
    empty: Schedule


def seed(server: Server) -> Scene:
    """Bring everything in that stands before a listener comes. `standing` waits for what it makes of it."""
    shop, hostile, empty = (
        schedule.create(name, redis=server.url, tz="Europe/Paris") for name in (SHOP, HOSTILE, EMPTY)
    )
    client = server.client()
    recurring = _recurring(shop)
    now = datetime.now(UTC)
    now_ms = int(now.timestamp() * 1000)
    tell(client, SHOP, [(job, list(_runs(job, now))) for job in recurring.values()], now_ms=now_ms)
    tell_missed(client, SHOP, recurring["vacuum"], now_ms - 5 * 3_600_000)
    _once(shop)
    _pauses(shop)
    _hostile(hostile, client)
    return Scene(server=server, shop=shop, hostile=hostile, empty=empty)


def _recurring(s: Schedule) -> dict[str, Job]:
    jobs = [
        schedule.add(s, cast.DONE, every="day at 1:30", name="nightly", args=["eu"], kwargs={"api_key": MASKED}),
        schedule.add(s, cast.SYNC, every="hour", name="invoice-sync", args=["acme"]),
        schedule.add(s, cast.DONE, every="minute", name="mail-poll"),
        schedule.add(s, cast.DONE, every="day at 6am", name="stock-report", args=[{"store": 7}]),
        schedule.add(s, cast.DONE, every="weekday at 9am", name="digest"),
        schedule.add(s, cast.DONE, every="sunday at 5am", name="cleanup"),
        schedule.add(s, cast.DONE, every="day at 4am", name="vacuum", catch_up="all", overlap="skip"),
        schedule.add(s, cast.DONE, every="15 minutes", name="prices", timeout="5 min", retries=3),
        schedule.add(s, cast.DONE, every="monday at noon", args=["without a name"]),
    ]
    return {job.name or "": job for job in jobs}


def _runs(job: Job, now: datetime) -> Iterator[Was]:
    """Make up runs of a job at its own times: of the last 300 days, at most 500."""
    assert job.trigger is not None
    chance, dues = Random(job.name or ""), list(_dues(job, now))
    for n, due in enumerate(dues):
        left = len(dues) - n
        ending: Ended = "done"
        late, error = int(chance.lognormvariate(1.2, 0.6)), ""
        took = int(chance.lognormvariate({"nightly": 13.2, "stock-report": 14.6}.get(job.name or "", 6.5), 0.35))
        if job.name == "invoice-sync" and left <= 3:
            ending, error = "dead", "ConnectionError: api.example.com: 503"
        elif job.name == "stock-report" and left <= 4:
            late = 90_000 * left
        elif job.name == "vacuum" and left == 1:
            ending, took, late = "missed", 0, 3_600_000
        elif chance.random() < 0.015:
            ending, error = "retried", "TimeoutError: took longer than 5 min"
        elif chance.random() < 0.02:
            late = int(chance.uniform(1_000, 40_000))
        yield Was(
            due_ms=int(due.timestamp() * 1000), late_ms=late, took_ms=took, ending=ending, error=error,
            listener=chance.choice(("web-1", "web-2", "batch-1")),
        )  # fmt: skip


def _dues(job: Job, now: datetime) -> Iterator[datetime]:
    assert job.trigger is not None
    first, second = (at := job.trigger.next_after(now)), None
    if first is not None:
        second = job.trigger.next_after(first)
    assert at is not None
    span = min(300 * DAY, 500 * ((second or at + DAY) - at))
    at = job.trigger.next_after(now - span)
    while at is not None and at < now - timedelta(seconds=5):
        yield at
        at = job.trigger.next_after(at)


def _once(s: Schedule) -> None:
    schedule.add(s, cast.DONE, in_="3 hours", name="launch", args=["v41"], kwargs={"password": MASKED})
    schedule.add(s, cast.DONE, at="tomorrow at 7pm", args=[{"rows": list(range(500))}])
    schedule.add_now(s, cast.LONG, args=[1000], kwargs={"token": MASKED}, name="export")
    schedule.add_now(s, cast.DEAF, name="stubborn")
    for store in ("paris", "lyon", "rome"):
        schedule.add_now(s, cast.ALONE, args=[store], name=f"alone-{store}")
    schedule.add_now(s, cast.SYNC, args=["retried"], retries=5, base="1h", name="again")
    schedule.add_now(s, "legacy.sync:users", name="nobody-runs-it")
    for disk in range(12):
        schedule.add_now(s, cast.FULL, args=[disk])
    for shop in ("a", "b", "c"):
        schedule.add_now(s, cast.SYNC, args=[shop, f"password={MASKED}"])
    schedule.add_now(s, cast.WORDY)
    _batches(s)


def _batches(s: Schedule) -> None:
    """Make a batch with a dead job, jobs that wait and jobs that follow, and one that is done."""
    with schedule.batch(s, "import 2027-03-01", then=call(cast.DONE, "report", password=MASKED)) as batch:
        batch.add(cast.SYNC, args=["part 1"])
        for part in range(2, 60):
            batch.add(cast.DONE, args=[f"part {part}", {"token": MASKED}], in_="20 days")
    schedule.add(s, cast.DONE, in_="5 hours", name="mail-report", after=[batch, "nightly"])
    with schedule.batch(s, "thumbnails") as done:
        done.add(cast.DONE, args=["a.png"])


def _pauses(s: Schedule) -> None:
    schedule.pause(s, "digest", reason=f"the partner's API moves; secret={MASKED}", until=datetime.now(UTC) + 3 * HOUR)
    schedule.add(s, "mail:send", in_="2 hours", name="paused-mail")
    schedule.pause(s, fn="mail:send", reason="the mail server moves")
    schedule.skip(s, "cleanup")


def _hostile(s: Schedule, client: Any) -> None:
    for n, text in enumerate(NASTY):
        with schedule.batch(s, "".join(filter(str.isprintable, text))[:200], then=call(cast.DONE, text)) as batch:
            batch.add(cast.SYNC, args=[text, n])
        name = "".join(filter(str.isprintable, f"{n} {text}"))[:200]
        schedule.add(s, cast.DONE, every="minute", args=[text], kwargs={text[:50]: text}, name=name)
        schedule.add(s, cast.DONE, in_=f"{n + 1} hours", args=[text])
        schedule.add_now(s, cast.SYNC, args=[text], name=f"now {name}"[:200])
    schedule.add(s, cast.DONE, in_="1 hour", args=["x" * 900_000], name="megabytes")
    schedule.add_now(s, cast.WORDY)
    schedule.pause(s, fn="other:fn", reason=MARKUP)
    keys, chance, now_ms = Keys(s.name), Random(7), time.time() * 1000
    for n in range(CORRUPT):  # bytes that are nearly jobs, some of them due, some dead
        id, data = f"{chance.getrandbits(160):040x}", hostile_texts.payload(chance)
        client.hset(keys.jobs, id, data)
        client.zadd(keys.next, {b'{"id":"%b"}' % id.encode(): now_ms + 60_000 * n})
        client.hset(keys.graves, hostile_texts.dead_id(chance), hostile_texts.grave(chance))
        client.hset(keys.lately, chance.choice(("0 x", id)), chance.randbytes(chance.choice((16, 32, 48, 7))))


def crowd(scene: Scene) -> None:
    """Let many jobs of the shop be due at one second, as the pictures show it."""
    at = datetime.now(UTC).replace(second=0, microsecond=0) + timedelta(minutes=56)
    for n in range(30):
        schedule.add(scene.shop, cast.DONE, at=at, args=[n])


def standing(scene: Scene) -> None:
    """Wait until the listener has made of it what it can, and leave a job that is being cancelled."""
    s = scene.shop

    def states(names: Iterable[str]) -> list[str]:
        return [schedule.job(s, name).state for name in names]

    until(lambda: schedule.counts(s).dead >= 17, what="the dead")
    until(
        lambda: states(["export", "stubborn", "again"]) == ["running", "running", "retrying"], what="the running ones"
    )
    until(lambda: schedule.counts(s).held == 4, what="those that are held, two of them after a batch")
    schedule.cancel(s, "stubborn")
