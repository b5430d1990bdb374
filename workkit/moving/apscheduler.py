"""The jobs of an APScheduler 3 scheduler: `workkit import apscheduler MODULE:SCHEDULER`. The module is imported; a
scheduler that it starts is an error, so that no job runs.

In its CronTrigger Monday is 0, and every field must match.
"""

from __future__ import annotations

import copy
import importlib
import re
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from functools import partial
from pathlib import Path
from typing import Any, Final
from zoneinfo import ZoneInfo

from workkit.errors import InvalidOptions
from workkit.moving.found import Carried, Found, NotCarried, Reading, Refused
from workkit.moving.program import arguments, folder_first, imported, name_of, package
from workkit.moving.timing import (
    Bounds,
    Engine,
    Timing,
    by_interval,
    check_equal,
    compared,
    free_phase,
    once_at,
    zone_key,
)
from workkit.triggers.crons.field import DAY, HOUR, MINUTE, MONTH, SECOND, WEEKDAY, YEAR, field_text

NAME: Final = "APScheduler"
FREE_PHASE: Final = free_phase("APScheduler counts this from the start of the program")
_ADDRESS = re.compile(" at 0x[0-9a-f]+")
_ZONE = 'Give the trigger a zone: timezone="Europe/Paris".'
_DEFAULTS = {"misfire_grace_time": 1, "coalesce": True, "max_instances": 1}


@dataclass(frozen=True, slots=True, kw_only=True)
class Loading:
    """The time span in which the program was imported. A time of the program in this span comes from the clock, not
    from its source.
    """

    start: datetime
    end: datetime

    def made(self, at: datetime) -> bool:
        """Return whether an instant lies within the import."""
        return self.start <= at <= self.end


def found_in(what: str, how: Reading) -> list[Found]:
    """Read the jobs of a scheduler in this folder, named as ``MODULE:NAME``. Raises NotFound, InvalidOptions."""
    module, colon, name = what.partition(":")
    if not colon or not module or not all(part.isidentifier() for part in name.split(".")):
        raise InvalidOptions(f'"{what}" is no scheduler. Write MODULE:SCHEDULER, as in app.jobs:scheduler.', given=what)
    package("apscheduler", source="import apscheduler")
    _check_version()
    with folder_first(Path.cwd()), _never_started(module):
        scheduler = imported(what, lambda: _attribute(importlib.import_module(module), name))
    return list(jobs_of(scheduler, named=what, loading=Loading(start=how.now, end=datetime.now(UTC))))


def _attribute(found: Any, path: str) -> Any:
    for part in path.split("."):
        found = getattr(found, part)
    return found


def _check_version() -> None:
    try:
        importlib.import_module("apscheduler.schedulers.base")
    except ImportError as error:
        remedy = "Install APScheduler 3 (apscheduler<4)."
        raise InvalidOptions(f"import apscheduler reads the schedulers of APScheduler 3. {remedy}") from error


@contextmanager
def _never_started(module: str) -> Iterator[None]:
    """Refuse a scheduler that a module starts while it is imported: it would run jobs here, or never return."""
    base = importlib.import_module("apscheduler.schedulers.base").BaseScheduler
    starting = base.start

    def refused(*_args: Any, **_options: Any) -> None:
        trouble = "starts its scheduler when it is imported"
        remedy = 'Put start() under if __name__ == "__main__":, or into a function.'
        raise InvalidOptions(f"{module} {trouble}. {remedy}", given=module)

    base.start = refused
    try:
        yield
    finally:
        base.start = starting


def jobs_of(scheduler: Any, *, named: str, loading: Loading) -> Iterator[Found]:
    """Yield the jobs of a scheduler that is not started."""
    from apscheduler.jobstores.memory import MemoryJobStore
    from apscheduler.schedulers.base import BaseScheduler

    if not isinstance(scheduler, BaseScheduler):
        kind = type(scheduler).__name__
        raise InvalidOptions(f"{named} is of the type {kind}, not a scheduler of APScheduler 3.", given=named)
    for alias, store in scheduler._jobstores.items():
        if not isinstance(store, MemoryJobStore):
            reason = "Only a scheduler that runs reads it, and a scheduler that runs would run the jobs."
            instead = "Jobs that the program adds itself are read."
            yield Refused(f"jobstore {alias!r}", type(store).__name__, reason, instead)
    defaults = {**_DEFAULTS, **getattr(scheduler, "_job_defaults", {})}
    for place, job in enumerate(scheduler.get_jobs(), 1):
        where = f"job {place}" if _is_generated(job.id) else f"job {job.id!r}"
        try:
            yield _carried(job, where=where, defaults=defaults, loading=loading)
        except NotCarried as error:
            name = _ADDRESS.sub("", job.name)
            yield Refused(where, f"{name}: {job.trigger}", str(error), error.instead)


def _carried(job: Any, *, where: str, defaults: dict[str, Any], loading: Loading) -> Carried:
    function = name_of(job.func, what="The function")
    args, kwargs = arguments(job.args, job.kwargs)
    timing, comments = timing_of(job.trigger, loading=loading)
    options, remarks = _options(job, defaults, loading)
    options |= _spread(job.trigger)
    return Carried(
        name=job.name if _is_generated(job.id) else job.id,
        when=timing.when,
        function=function,
        args=args,
        kwargs=kwargs,
        options={**timing.options, **options} if timing.trigger.recurs else timing.options,
        where=where,
        comments=(*comments, *remarks),
    )


def _is_generated(name: str) -> bool:
    """Return whether APScheduler generated an id, which then differs at each start."""
    return len(name) == 32 and all(letter in "0123456789abcdef" for letter in name)


def timing_of(trigger: Any, *, loading: Loading) -> tuple[Timing, tuple[str, ...]]:
    """Return the times of a trigger of APScheduler, and remarks for the user. Raises NotCarried."""
    from apscheduler.triggers import cron, date, interval

    if type(trigger) is cron.CronTrigger:
        return _cron(trigger, now=loading.end)
    if type(trigger) is interval.IntervalTrigger:
        return _interval(trigger, loading)
    if type(trigger) is date.DateTrigger:
        if loading.made(trigger.run_date):
            raise NotCarried("It has no time: it runs when the program starts.", "Add it where the program starts.")
        return once_at(trigger.run_date.astimezone(UTC), now=loading.end), ()
    raise NotCarried(f"{type(trigger).__name__} is not one of CronTrigger, IntervalTrigger and DateTrigger.")


def _cron(trigger: Any, *, now: datetime) -> tuple[Timing, tuple[str, ...]]:
    tz = zone_key(trigger.timezone, remedy=_ZONE)
    bounds = _bounds(trigger, years=_years_of(trigger))
    engine_in = partial(engine_of, trigger)
    timing, comments = compared(_rule_of(trigger), engine_in, engine_name=NAME, tz=tz, now=now, bounds=bounds)
    if trigger.jitter:
        comments += (
            f"jitter={trigger.jitter} puts each run off by another part of that time. spread puts every run off by the "
            "same part.",
        )
    return timing, comments


def _interval(trigger: Any, loading: Loading) -> tuple[Timing, tuple[str, ...]]:
    if trigger.jitter:
        reason = "Each run is counted from the one before, whose jitter adds up, so that no clock tells its times."
        raise NotCarried(reason, "Leave jitter out; spread puts every run off by the same part of a time.")
    bounds = _bounds(trigger)
    if loading.made(trigger.start_date - trigger.interval):
        timing = by_interval(trigger.interval, phase=None, now=loading.end, bounds=Bounds(end=bounds.end))
        return timing, (FREE_PHASE,)
    timing = by_interval(trigger.interval, phase=trigger.start_date.astimezone(UTC), now=loading.end, bounds=bounds)
    check_equal(timing.trigger, _elapsing(trigger), now=loading.end)
    return timing, ()


def _elapsing(trigger: Any) -> Engine:
    def following(after: datetime) -> datetime | None:
        found: datetime | None = trigger.get_next_fire_time(None, after + timedelta(microseconds=1))
        return found

    return following


def _bounds(trigger: Any, *, years: tuple[int, int] | None = None) -> Bounds:
    """Return the bounds of a trigger, within years of its zone. If the trigger fires at its end, that time is
    included.
    """
    start, end = trigger.start_date, trigger.end_date
    starts = [] if start is None else [_second_after(start - timedelta(microseconds=1))]
    ends = [] if end is None else [_second_after(end)]
    if years is not None:
        first, last = (datetime(min(year, 9999), 1, 1, tzinfo=trigger.timezone).astimezone(UTC) for year in years)
        starts, ends = [*starts, first], [*ends, last]
    return Bounds(start=max(starts, default=None), end=min(ends, default=None))


def _second_after(at: datetime) -> datetime:
    """Return the first whole second after an instant."""
    return at.astimezone(UTC).replace(microsecond=0) + timedelta(seconds=1)


def engine_of(trigger: Any, tz: str) -> Engine:
    """Return APScheduler's own calculation of a CronTrigger in a zone, for all years: without bounds, and without
    jitter, which is random.
    """
    from apscheduler.triggers.cron import CronTrigger

    own = copy.copy(trigger)
    own.timezone = ZoneInfo(tz)
    own.start_date = own.end_date = own.jitter = None
    if _years_of(trigger):
        own.fields = [CronTrigger(year="*").fields[0], *trigger.fields[1:]]

    def following(after: datetime) -> datetime | None:
        found: datetime | None = own.get_next_fire_time(None, after + timedelta(microseconds=1))
        return found

    return following


def _spread(trigger: Any) -> dict[str, object]:
    jitter = getattr(trigger, "jitter", None)
    return {"spread": f"{max(jitter, 1):g} seconds"} if jitter else {}


def _options(job: Any, defaults: dict[str, Any], loading: Loading) -> tuple[dict[str, object], list[str]]:
    """Split a job's settings for late and overlapping runs into options of a plan, and remarks."""
    given = {name: getattr(job, name, value) for name, value in defaults.items()}
    options: dict[str, object] = {}
    remarks: list[str] = []
    if hasattr(job, "next_run_time"):
        if job.next_run_time is None:
            raise NotCarried("It is paused (next_run_time=None).", "Resume it there, and pause it here: workkit pause.")
        made = loading.made(job.next_run_time)
        first = "when the program starts" if made else f"at {job.next_run_time.isoformat()}"
        remarks.append(f"Its first run {first} (next_run_time) is left out.")
    if given["max_instances"] == 1:
        options["overlap"] = "skip"
    else:
        limit = f"@workkit.job(limit={given['max_instances']})"
        remarks.append(
            f"max_instances={given['max_instances']} is left out: {limit} above the function limits its runs."
        )
    if not given["coalesce"]:
        options["catch_up"] = "all"
    grace = given["misfire_grace_time"]
    if grace is not None and grace != _DEFAULTS["misfire_grace_time"]:
        options["catch_up_within"] = f"{grace:g} seconds"
    executor = getattr(job, "executor", "default")
    if executor != "default":
        remarks.append(f"executor={executor!r} is left out: every listener of a schedule runs all of its jobs.")
    return options, remarks


_SPECS = {"month": MONTH, "hour": HOUR, "minute": MINUTE, "second": SECOND}
_LAST = 5  # the number of "last" in places "1st" to "5th" and "last"


def _rule_of(trigger: Any) -> str:
    """Write a trigger as a rule in wall-clock time of its zone (spec/cron.md, 3). Leave out consecutive years, which
    become bounds. Raises NotCarried.
    """
    fields = {field.name: field for field in trigger.fields}
    if _values(fields["week"], 1, 53) != set(range(1, 54)):
        remedy = 'Write an IntervalTrigger(weeks=...), or "every 2 weeks on monday at 9am".'
        raise NotCarried(f"It names weeks of the year (week={str(fields['week'])!r}).", remedy)
    plain = {name: field_text(_values(fields[name], spec.low, spec.high), spec) for name, spec in _SPECS.items()}
    weekday = field_text({(day + 1) % 7 for day in _values(fields["day_of_week"], 0, 6)}, WEEKDAY)
    day, places = _days(fields["day"])
    if places and weekday != "*":
        raise NotCarried("It wants a place of the month and a day of the week at once.")
    if places:
        both, weekday, day = "", ",".join(places), day or "*"
    else:
        both = "&" if "*" not in (day, weekday) else ""
    clock = f"{plain['hour']} {plain['minute']} {plain['second']}"
    year = "*" if _years_of(trigger) else str(fields["year"])
    return f"{year} {plain['month']} {both}{day} {weekday} {clock}"


def _values(field: Any, low: int, high: int) -> set[int]:
    """List the values of a field, as its compiled expressions name them."""
    return {value for expression in field.expressions for value in _named(expression, low, high)}


def _named(expression: Any, low: int, high: int) -> Iterable[int]:
    first = getattr(expression, "first", low)
    last = getattr(expression, "last", None)
    return range(first, (high if last is None else last) + 1, expression.step or 1)


def _years_of(trigger: Any) -> tuple[int, int] | None:
    """Return the first year and the year after the last, if a trigger names consecutive years."""
    field = next(field for field in trigger.fields if field.name == "year")
    years = sorted(_values(field, YEAR.low, YEAR.high))
    follow = len(years) < YEAR.high - YEAR.low and years[-1] - years[0] == len(years) - 1
    return (years[0], years[-1] + 1) if follow else None


def _days(field: Any) -> tuple[str, list[str]]:
    """Return the days of the month, and the places in it ("1st mon", "last fri") as weekdays of the month."""
    numbers: set[int] = set()
    last, places = False, []
    for expression in field.expressions:
        match type(expression).__name__:
            case "LastDayOfMonthExpression":
                last = True
            case "WeekdayPositionExpression":
                weekday = (expression.weekday + 1) % 7
                nth = expression.option_num
                places.append(f"{weekday}L" if nth == _LAST else f"{weekday}#{nth + 1}")
            case _:
                numbers |= set(_named(expression, DAY.low, DAY.high))
    if len(numbers) == DAY.high:
        return "*", []
    items = [field_text(numbers, DAY)] if numbers else []
    return ",".join([*items, "L"] if last else items), sorted(set(places))
