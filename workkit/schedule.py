"""The verbs: create a schedule, add jobs to it, look at them, take them out, listen.

The one place where times, functions, brokers and listeners meet. `create` does no I/O; the first verb that needs the
server connects.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from functools import lru_cache
from typing import TYPE_CHECKING, Any
from zoneinfo import ZoneInfo

from workkit.adding import CHUNK, Bulk, call, queued, read_row, timed
from workkit.broker import Added, Counts, ListenerInfo, NewJob, Producer, Tally
from workkit.deadset import chosen, read_rate
from workkit.deadset import discard as discard_dead
from workkit.deadset import retry as retry_dead
from workkit.errors import InvalidOptions, InvalidSchedule, ListenerStopped, NotFound
from workkit.jobs.job import STATES, Job, JobState, matches
from workkit.jobs.names import Fn
from workkit.jobs.run_options import UNSAID
from workkit.options import read_options
from workkit.triggers.when import When
from workkit.triggers.zones import zone

if TYPE_CHECKING:
    import redis as redis_client

    from workkit.worker.listener import Listener

__all__ = [
    "Schedule", "add", "add_many", "add_now", "cancel", "counts", "create", "dead", "discard", "drain", "job", "jobs",
    "listen", "listener", "listeners", "retry",
]  # fmt: skip

DEFAULT_URL = "redis://127.0.0.1:6379/"
DIALECTS = ("published", "cuckoo")

Which = str | Job


@dataclass(frozen=True, slots=True, kw_only=True)
class Schedule:
    """A named set of jobs on one server. A value: it holds no connection. Made by `create`."""

    name: str
    redis: str | redis_client.Redis | redis_client.RedisCluster
    tz: str = "UTC"
    dialect: str = "published"
    shards: int = 1


def create(
    name: str,
    *,
    redis: str | redis_client.Redis | redis_client.RedisCluster | None = None,
    tz: str | ZoneInfo | None = None,
    dialect: str | None = None,
    shards: int = 1,
) -> Schedule:
    """Name a schedule. No I/O.

    `redis` is a URL or a client whose connection settings are used; else WORKKIT_REDIS_URL, REDIS_URL, then
    redis://127.0.0.1:6379/. `tz` is the zone in which words are read (else WORKKIT_TZ, then UTC). `dialect` "cuckoo"
    shares a schedule with the Clojure code that stores crons second first (else WORKKIT_DIALECT, then "published").
    `shards` (1 to 64) spreads it over so many
    slots of a cluster, each an ordinary schedule; every program must give the same number. Raises InvalidSchedule,
    TriggerError.
    """
    if not isinstance(name, str) or not name:  # type: ignore[redundant-expr]
        raise InvalidSchedule(f'schedule {name!r} is not a name. Write a text such as "app-tasks".', given=name)
    if found := re.search(r"[\s\x00-\x1f\x7f]", name):
        better = re.sub(r"[\s\x00-\x1f\x7f]+", "-", name).strip("-")
        what = "a blank" if found[0].isspace() else "a control character"
        raise InvalidSchedule(
            f'schedule "{name}" has {what} at column {found.start() + 1}. '
            f'Names have no blanks or control characters: "{better}" would do.',
            given=name,
            position=found.start(),
            suggestion=better,
        )
    dialect = dialect or os.environ.get("WORKKIT_DIALECT") or "published"
    if dialect not in DIALECTS:
        raise InvalidSchedule(f"dialect={dialect!r} is not known. Accepted: {', '.join(DIALECTS)}.", given=dialect)
    if redis is None:
        redis = os.environ.get("WORKKIT_REDIS_URL") or os.environ.get("REDIS_URL") or DEFAULT_URL
    from workkit.brokers.connect import check

    check(redis, schedule=name, shards=shards)
    chosen = str(tz or os.environ.get("WORKKIT_TZ") or "UTC")
    zone(chosen)
    return Schedule(name=name, redis=redis, tz=chosen, dialect=dialect, shards=shards)


def add(
    s: Schedule,
    fn: Fn,
    *,
    at: str | datetime | None = None,
    in_: str | timedelta | None = None,
    every: str | timedelta | None = None,
    cron: str | None = None,
    args: Sequence[Any] = (),
    kwargs: Mapping[str, Any] | None = None,
    **options: Any,
) -> Job:
    """Add a job: `fn` with `args`, at exactly one of `at`, `in_`, `every`, `cron`. The same again changes nothing.

    Returns the job; `new` is False where it was there already. Warns (WorkkitWarning) where the time is likely not
    what was meant. Raises an `Invalid` for what cannot be meant, ServerUnreachable or ServerRefused for the server.
    """
    run = read_options("add", options) if options else UNSAID
    when = When(at=at, in_=in_, every=every, cron=cron, tz=options.pop("tz", None), default_tz=s.tz, dialect=s.dialect)
    if when.is_now:
        return add_now(s, fn, args=args, kwargs=kwargs, **options)
    new = call(fn, args=args, kwargs=kwargs, options=run)
    broker = _broker(s)
    return _added(s, new, broker.add([timed(new, when, now_ms=broker.now_ms())])[0])


def add_now(
    s: Schedule, fn: Fn, *, args: Sequence[Any] = (), kwargs: Mapping[str, Any] | None = None, **options: Any
) -> Job:
    """Add a job to run at once. A queue: every call is a run of its own, equal or not."""
    run = read_options("add_now", options) if options else UNSAID
    new = queued(call(fn, args=args, kwargs=kwargs, options=run))
    return _added(s, new, _broker(s).add([new])[0])


def add_many(s: Schedule, rows: Iterable[Mapping[str, Any]]) -> Tally:
    """Add a job for each row, which holds `add`'s keywords, `fn` among them. Streams, in batches of 500.

    A bad row raises with its number; the rows before its batch are added, and adding all again doubles nothing but
    `at="now"`.
    """
    broker = _broker(s)
    now_ms = 0
    with Bulk(broker.adding) as bulk:
        for number, row in enumerate(rows, 1):
            if number % CHUNK == 1:
                now_ms = broker.now_ms()
            try:
                new = read_row(row, default_tz=s.tz, dialect=s.dialect, now_ms=now_ms)
            except ValueError as error:
                done = bulk.settled()
                there = f" Rows 1 to {done:,} are added." if done else " Nothing is added."
                if hasattr(error, "given"):
                    error.args = (f"row {number:,}: {error}{there}",)
                raise
            bulk.put(new)
    return bulk.tally


def job(s: Schedule, which: Which) -> Job:
    """One job, by id, the beginning of an id (6 or more digits), or a Job. Raises NotFound."""
    return _broker(s).inspector.job(which.id if isinstance(which, Job) else which)


def jobs(s: Schedule, *, state: JobState | None = None, where: str | None = None) -> Iterator[Job]:
    """Read the jobs in pages: running ones, then waiting ones, soonest first, then dead ones.

    `where` keeps those whose function, arguments, name or error contain the text.
    """
    if state is not None and state not in STATES:
        raise InvalidOptions(f"state={state!r} is not a state. Accepted: {', '.join(STATES)}.", given=state)
    for found in _broker(s).inspector.jobs(state=state):
        if where is None or matches(found, where):
            yield found


def counts(s: Schedule) -> Counts:
    """How many jobs stand where."""
    return _broker(s).inspector.counts()


def listeners(s: Schedule) -> list[ListenerInfo]:
    """Who is listening, and what each runs."""
    return _broker(s).inspector.listeners()


def cancel(s: Schedule, which: Which, *, missing_ok: bool = False) -> Job:
    """Take a job out. Waiting: it is gone. Running: it is flagged, and its state is "cancelling". Recurring: it never
    runs again.

    Raises NotFound, unless `missing_ok`.
    """
    try:
        return _broker(s).inspector.cancel(job(s, which))
    except NotFound:
        if not missing_ok:
            raise
        if isinstance(which, Job):
            return which
        return Job(id=which, schedule=s.name, fn="?")


def dead(s: Schedule, which: Which | None = None, *, where: str | None = None) -> list[Job]:
    """The dead jobs that are meant: see `retry`. Latest first. Raises NotFound."""
    return chosen(_broker(s).inspector, schedule=s.name, which=which, where=where)


def retry(
    s: Schedule,
    which: Which | None = None,
    *,
    where: str | None = None,
    args: Sequence[Any] | None = None,
    rate: str | None = None,
) -> int:
    """Put dead jobs back to be run anew, attempts counted from the start; says how many.

    `which` is an id, the beginning of one, or a Job; `where` keeps those whose function, arguments or error contain
    the text; neither means all. `args` replaces the arguments of one job. `rate` ("100/minute") spreads them. Raises
    NotFound, InvalidOptions, InvalidArguments; CorruptRecord where the one named cannot be read.
    """
    read_rate(rate)
    found = dead(s, which, where=where)
    return retry_dead(_broker(s).inspector, found, args=args, rate=rate, one=which is not None)


def discard(s: Schedule, which: Which | None = None, *, where: str | None = None) -> int:
    """Forget dead jobs, chosen as in `retry`; says how many there were. Raises NotFound."""
    return discard_dead(_broker(s).inspector, dead(s, which, where=where))


def listen(s: Schedule | Sequence[Schedule] | Mapping[Schedule, int], **how: Any) -> Tally:
    """Run due jobs here until SIGINT or SIGTERM: finish what runs within the deadline, give back the rest.

    `s` is one schedule, several, or a mapping to weights. `how`: threads=10, imports=(), folder=Path.cwd() (None: only
    imports), deadline="25s", strict=False (schedules strictly in order), burst=False (only what is due now),
    listener_timeout="10s" (when others take over from one that is not heard of), health_port=None (a port, or
    "ADDRESS:PORT", for /livez and /readyz). Raises ServerUnreachable where the server cannot be reached at the start;
    later it waits. A loop that stands still for three times listener_timeout ends the process with status 70.
    """
    from workkit.jobs.registry import importing
    from workkit.worker.signals import obeyed

    if (module := importing.get()) is not None:
        raise ListenerStopped(
            f'schedule.listen was called while a listener imported {module}. Put it under if __name__ == "__main__".'
        )
    ours = listener(s, **how)
    with obeyed(ours):
        return ours.run()


def listener(s: Schedule | Sequence[Schedule] | Mapping[Schedule, int], **how: Any) -> Listener:
    """The same, not yet started: ``.start() .stop(deadline) .quiet() .resume() .wait()``; ``with`` starts and stops."""
    from workkit.brokers.connect import open_brokers
    from workkit.listening import read_how
    from workkit.worker.listener import Listener

    chosen = {s: 1} if isinstance(s, Schedule) else dict(s) if isinstance(s, Mapping) else dict.fromkeys(s, 1)
    if not chosen:
        raise InvalidOptions("no schedule was given to listen to.")
    read, timeout_ms = read_how(how)
    brokers = [
        (broker, weight)
        for one, weight in chosen.items()
        for broker in open_brokers(
            one.name, redis=one.redis, dialect=one.dialect, shards=one.shards, timeout_ms=timeout_ms
        )
    ]
    return Listener(brokers, how=read)


def drain(
    s: Schedule,
    *,
    now: datetime | None = None,
    limit: int | None = None,
    raise_errors: bool = True,
    **how: Any,
) -> Tally:
    """Run what is due, here and one by one, until nothing is; for tests and one-off runs.

    `now` pretends a time; `limit` ends after so many runs. A handler's error is recorded, then raised, unless
    `raise_errors` is False.
    """
    from workkit.brokers.connect import open_brokers
    from workkit.listening import read_how
    from workkit.worker.drain import drain_brokers

    if now is not None and now.tzinfo is None:
        raise InvalidOptions(f"now={now!r} has no zone. Use datetime.now(UTC).", given=now)
    read, timeout_ms = read_how(how)
    now_ms = None if now is None else round(now.timestamp() * 1000)
    brokers = open_brokers(s.name, redis=s.redis, dialect=s.dialect, shards=s.shards, timeout_ms=timeout_ms)
    return drain_brokers(brokers, how=read, now_ms=now_ms, limit=limit, raise_errors=raise_errors)


def _broker(s: Schedule) -> Producer:
    return _opened(s, os.getpid())


@lru_cache(maxsize=64)
def _opened(s: Schedule, pid: int) -> Producer:
    from workkit.brokers.connect import open_broker

    return open_broker(s.name, redis=s.redis, dialect=s.dialect, shards=s.shards)


def _added(s: Schedule, new: NewJob, added: Added) -> Job:
    return Job(
        id=added.id,
        schedule=s.name,
        fn=new.fn,
        args=new.args,
        kwargs=new.kwargs,
        trigger=new.trigger,
        due=None if added.due_ms is None else datetime.fromtimestamp(added.due_ms / 1000, UTC),
        new=added.new,
        options=new.options,
    )
