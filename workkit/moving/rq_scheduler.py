"""The jobs of rq-scheduler in a Redis: `workkit import rq-scheduler URL`. It reads the jobs that
`rq:scheduler:scheduled_jobs` names, and writes nothing.

Cron strings are those of the package `crontab`: five fields, six with a year, seven with the second first. Every field
must match, so both days must. A pickle that names a class or a function is refused before it can do anything, because a
stranger's pickle may run any code.
"""

from __future__ import annotations

import io
import json
import pickle
import re
import warnings
import zlib
from collections.abc import Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from functools import partial
from typing import Any, Final, NoReturn
from zoneinfo import ZoneInfo

import redis

from workkit.brokers.redis_server.connecting import connect
from workkit.brokers.redis_server.refusal import ServerPlace, refusal
from workkit.moving.found import Carried, Found, NotCarried, Reading, Refused
from workkit.moving.program import arguments, package
from workkit.moving.timing import (
    UNBOUNDED,
    Bounds,
    Engine,
    Timing,
    by_interval,
    compared,
    free_phase,
    iso,
    once_at,
)
from workkit.triggers.crons.field import DAY, HOUR, MINUTE, MONTH, SECOND, WEEKDAY, YEAR, Spec, field_text

NAME: Final = "rqscheduler"
JOBS: Final = "rq:scheduler:scheduled_jobs"
_RUN_TWICE = "rqscheduler may also run it more than once while clocks that go back show an hour again."
_FREE_PHASE = free_phase("rqscheduler counts this from each run, late as it was")
_UUID = re.compile(r"[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}")
_DOTTED = re.compile(r"([A-Za-z_]\w*(?:\.[A-Za-z_]\w*)*)\.([A-Za-z_]\w*)")
_HOOKS = {
    "success_callback_name": "on_success",
    "failure_callback_name": "on_failure",
    "stopped_callback_name": "on_stopped",
    "dependency_id": "depends_on",
    "dependency_ids": "depends_on",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class _Stored:
    """A job as Redis has it: the members of its hash, and the epoch second of its next run."""

    job_id: str
    due: float
    members: Mapping[str, bytes]

    @property
    def where(self) -> str:
        """The place of the job in the source."""
        return f"rq:job:{self.job_id}"

    def text(self, member: str) -> str:
        """Read a text member; empty if it is missing."""
        return self.members.get(member, b"").decode("utf-8", "replace")


def found_in(what: str, how: Reading) -> list[Found]:
    """Read the jobs on the server of a URL. Its rqscheduler runs on a machine in the zone `how.tz`. Raises
    InvalidSchedule for the URL, InvalidOptions without the package crontab, ServerError.
    """
    package("crontab", source="import rq-scheduler")
    return [_found(stored, how) for stored in _stored_jobs(what)]


def _stored_jobs(url: str) -> Iterator[_Stored]:
    """Read the jobs in the order of their names, without changing anything."""
    server = connect(url)
    client: Any = server.client
    try:
        for job_id, score in sorted(client.zrange(JOBS, 0, -1, withscores=True)):
            members = client.hgetall(b"rq:job:" + job_id)
            known = {name.decode("utf-8", "replace"): value for name, value in members.items()}
            yield _Stored(job_id=job_id.decode("utf-8", "replace"), due=float(score), members=known)
    except redis.exceptions.RedisError as error:
        raise refusal(error, ServerPlace(url=server.url)) from error
    finally:
        server.close()


def _found(stored: _Stored, how: Reading) -> Found:
    try:
        return _carried(stored, how)
    except NotCarried as error:
        return Refused(stored.where, stored.text("description") or stored.job_id, str(error), error.instead)


def _carried(stored: _Stored, how: Reading) -> Carried:
    if not stored.members.get("data"):
        raise NotCarried("Redis has no such job any more; rqscheduler passes it over.")
    for member, option in _HOOKS.items():
        if stored.members.get(member):
            raise NotCarried(f"It has {option}={stored.text(member)}, which no plan has.", "Do that in the function.")
    function, args, kwargs = _call(stored)
    meta = _meta(stored)
    timing, comments = _timing(meta, stored, how)
    options: dict[str, object] = {}
    if timing.trigger.recurs and meta.get("repeat") is not None:
        options["count"] = max(int(meta["repeat"]), 1)
    if stored.text("timeout").lstrip("-").isdigit() and int(stored.text("timeout")) > 0:
        options["timeout"] = f"{int(stored.text('timeout'))} seconds"
    if stored.text("origin") not in ("", "default"):
        comments += (
            f"queue {stored.text('origin')!r}: a schedule has one queue. Jobs that need listeners of their own go into "
            "another schedule.",
        )
    return Carried(
        name=function.replace(":", ".") if _UUID.fullmatch(stored.job_id) else stored.job_id,
        when=timing.when,
        function=function,
        args=args,
        kwargs=kwargs,
        options={**timing.options, **options},
        where=stored.where,
        comments=comments,
    )


def _call(stored: _Stored) -> tuple[str, list[object], dict[str, object]]:
    """Read the call of a job: RQ stores (function, object, arguments, arguments by name), compressed."""
    data = stored.members["data"]
    with suppress(zlib.error):  # old versions of RQ do not compress
        data = zlib.decompress(data)
    call = _value(data)
    if not isinstance(call, list | tuple) or len(call) != 4:
        raise NotCarried("What it calls is not written as RQ writes it.")
    named, instance, args, kwargs = call
    if instance is not None:
        raise NotCarried("It calls a method of an object.", "Write a function of a module.")
    found = _DOTTED.fullmatch(named) if isinstance(named, str) else None
    if found is None:
        raise NotCarried(f"It calls {named!r}, which is no function of a module.", "Write a function of a module.")
    if not isinstance(args, list | tuple) or not isinstance(kwargs, dict):
        raise NotCarried("Its arguments are not written as RQ writes them.")
    return f"{found[1]}:{found[2]}", *arguments(args, kwargs)


def _meta(stored: _Stored) -> Mapping[str, Any]:
    meta = _value(stored.members["meta"]) if stored.members.get("meta") else {}
    if not isinstance(meta, dict):
        raise NotCarried("Its meta is not written as RQ writes it.")
    return meta


def _value(data: bytes) -> Any:
    """Read a value that RQ's serializers wrote: a pickle, or JSON."""
    if data[:1] == b"\x80":
        return plain_pickle(data)
    try:
        return json.loads(data)
    except ValueError as error:
        raise NotCarried("It is written by a serializer that is neither pickle nor JSON.") from error


def _timing(meta: Mapping[str, Any], stored: _Stored, how: Reading) -> tuple[Timing, tuple[str, ...]]:
    """Return the times of a job. A job with an interval and a cron string runs by its interval, because rqscheduler
    tests it first.
    """
    due = datetime.fromtimestamp(stored.due, tz=UTC)
    if interval := meta.get("interval"):
        return _interval(timedelta(seconds=int(interval)), due, now=how.now)
    if cron := meta.get("cron_string"):
        return _cron(str(cron), due, how)
    return once_at(due, now=how.now), ()


def _interval(period: timedelta, due: datetime, *, now: datetime) -> tuple[Timing, tuple[str, ...]]:
    """Write an interval. An interval that has not begun starts at its due time; one that counts from the previous run
    has no phase to keep.
    """
    if due - period > now:
        return by_interval(period, phase=due, now=now, bounds=Bounds(start=due)), ()
    return by_interval(period, phase=None, now=now, bounds=UNBOUNDED), (_FREE_PHASE,)


def _cron(text: str, due: datetime, how: Reading) -> tuple[Timing, tuple[str, ...]]:
    timing, comments = cron_timing(text, tz=how.tz, now=how.now)
    if timing.trigger.next_after(due - timedelta(seconds=1)) != due:
        raise NotCarried(
            f'"{text}" is read in {how.tz}, and its next run in Redis ({iso(due)}) is none of its times there.',
            "Name the zone of the machine that runs rqscheduler: workkit import rq-scheduler URL --tz ZONE.",
        )
    return timing, comments


def cron_timing(text: str, *, tz: str, now: datetime) -> tuple[Timing, tuple[str, ...]]:
    """Return the times of a cron string on a machine in a zone, and remarks for the user. Raises NotCarried."""
    crontab = _read_crontab(text)
    timing, comments = compared(_rule_of(crontab), partial(_engine_of, crontab), engine_name=NAME, tz=tz, now=now)
    zone = (
        f"rqscheduler reads cron strings in the zone of its machine, taken to be {tz}: workkit import names it by --tz."
    )
    return timing, (zone, *comments, *((_RUN_TWICE,) if comments else ()))


_SPECS = {"second": SECOND, "minute": MINUTE, "hour": HOUR, "month": MONTH}


def _read_crontab(text: str) -> Any:
    """Read a string as the package does. Raises NotCarried if the package refuses it."""
    from crontab import CronTab

    try:
        return CronTab(text)
    except (ValueError, TypeError) as error:
        raise NotCarried(f'The package crontab does not read "{text}": {error}.') from error


def _rule_of(crontab: Any) -> str:
    """Write it as a rule in wall-clock time (spec/cron.md, 3). Raises NotCarried."""
    matchers = crontab.matchers
    second, minute, hour, month = (_field(getattr(matchers, name), spec) for name, spec in _SPECS.items())
    year = "*" if matchers.year.any else ",".join(map(str, sorted(_values(matchers.year, YEAR))))
    day, weekday = _day(matchers.day), _weekday(matchers.weekday)
    both = "&" if "*" not in (day, weekday) else ""
    return f"{year} {month} {both}{day} {weekday} {hour} {minute} {second}"


def _field(matcher: Any, spec: Spec) -> str:
    return "*" if matcher.any else field_text(_values(matcher, spec), spec)


def _values(matcher: Any, spec: Spec) -> list[int]:
    return [value for value in matcher.allowed if spec.low <= value <= spec.high]


def _day(matcher: Any) -> str:
    """Write the days of the month: "l" is the last one."""
    if any(part.startswith("z") for part in matcher.split):
        raise NotCarried(f"It counts days from the end of the month ({matcher.input}).")
    text = _field(matcher, DAY) if matcher.any or matcher.allowed else ""
    return text if matcher.any or "l" not in matcher.split else ",".join(filter(None, [text, "L"]))


def _weekday(matcher: Any) -> str:
    """Write the days of the week: "l5" is the last Friday of the month."""
    last = [part[1:] for part in matcher.split if part.startswith("l")]
    if matcher.any or not last:
        return _field(matcher, WEEKDAY)
    if matcher.allowed or not all(part.isdigit() for part in last):
        raise NotCarried(f"It mixes weekdays with last weekdays of the month ({matcher.input}).")
    return ",".join(sorted({f"{int(part) % 7}L" for part in last}))


def _engine_of(crontab: Any, tz: str) -> Engine:
    """Return the calculation of rq-scheduler on a machine in a zone: naive local times; where the clock shows a time
    twice, the first one counts.
    """
    local = ZoneInfo(tz)

    def following(after: datetime) -> datetime | None:
        wall = after.astimezone(local).replace(tzinfo=None)
        while True:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")  # about UTC, which is not used here
                found = crontab.next(now=wall, return_datetime=True)
            if found is None:
                return None
            at: datetime = found.replace(tzinfo=local).astimezone(UTC)
            if at > after.astimezone(UTC):
                return at
            wall = found

    return following


class _Plain(pickle.Unpickler):
    def find_class(self, module: str, name: str) -> NoReturn:
        raise NotCarried(
            f"Its arguments hold a {module}.{name}, whose pickle is not opened: it could run any code.",
            "Write the entry by hand, with plain arguments.",
        )

    def persistent_load(self, _pid: Any) -> NoReturn:
        raise NotCarried("Its pickle refers to something outside of it.", "Write the entry by hand.")


def plain_pickle(data: bytes) -> Any:
    """Read a pickle of plain values. Raises NotCarried for any other pickle."""
    try:
        return _Plain(io.BytesIO(data)).load()
    except NotCarried:
        raise
    except Exception as error:  # a cut or forged pickle can fail with any error
        raise NotCarried(f"Its pickle cannot be read: {error}.", "Write the entry by hand.") from error
