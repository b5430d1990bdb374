"""The beat schedule of a Celery app: `workkit import celery APP`. The app is imported; its tasks do not run.

In Celery the day of the month, the day of the week and the month must all match; in cron either day is enough.
"""

from __future__ import annotations

import copy
import inspect
from collections.abc import Iterator, Mapping
from datetime import UTC, datetime, timedelta
from functools import partial
from pathlib import Path
from typing import Any, Final
from zoneinfo import ZoneInfo

from workkit.moving.found import Carried, Found, NotCarried, Reading, Refused
from workkit.moving.program import arguments, folder_first, imported, name_of, package
from workkit.moving.timing import Engine, Timing, by_interval, compared, free_phase, zone_key
from workkit.triggers.crons.field import DAY, HOUR, MINUTE, MONTH, WEEKDAY, field_text

NAME: Final = "Celery"
FREE_PHASE: Final = free_phase("Celery counts this from the last run that beat remembers")
PLAIN_FUNCTION: Final = "It is a Celery task now: listeners run it when its decorator is taken away."
_OF_TASKS = {
    "rate_limit": '@workkit.job(rate="10/minute") above the function limits its starts',
    "time_limit": 'timeout = "30 seconds" in the plan ends a run',
}
_NAMED_ZONE = 'Set timezone = "Europe/Paris" in the app.'
_UNSAID = {"serializer", "compression", "ignore_result", "retry", "retry_policy", "headers", "shadow", "task_id"}
_PLACES = {"queue", "routing_key", "exchange", "exchange_type"}
_ONE_UNIT = {
    timedelta(days=1): "* * * * 0 0 0",
    timedelta(hours=1): "* * * * * 0 0",
    timedelta(minutes=1): "* * * * * * 0",
}


def found_in(what: str, how: Reading) -> list[Found]:
    """Read the beat schedule of an app in this folder, named as for `celery -A`. Raises NotFound, InvalidOptions."""
    package("celery", source="import celery")
    with folder_first(Path.cwd()):
        app = imported(what, lambda: _loaded(what))
    return list(entries_of(app, now=how.now))


def _loaded(app: str) -> Any:
    from celery.app.utils import find_app

    found = find_app(app)
    found.finalize()
    found.loader.import_default_modules()  # the tasks, and hooks that add periodic tasks
    found.conf.beat_schedule  # noqa: B018 - the configuration is read when it is first looked at
    return found


def entries_of(app: Any, *, now: datetime) -> Iterator[Found]:
    """Yield the entries of a loaded app."""
    if "django_celery_beat" in app.conf.beat_scheduler or "redbeat" in app.conf.beat_scheduler:
        reason = f"{app.conf.beat_scheduler} keeps entries in a database, and only beat_schedule is read."
        yield Refused("beat_scheduler", app.conf.beat_scheduler, reason, "Write those entries into beat_schedule.")
    for name, entry in app.conf.beat_schedule.items():
        where = f"beat_schedule[{name!r}]"
        try:
            yield _carried(str(name), entry, app=app, where=where, now=now)
        except NotCarried as error:
            text = f"{_of(entry, 'task')}: {_of(entry, 'schedule')!r}"
            yield Refused(where, text, str(error), error.instead)


def _of(entry: Any, name: str) -> Any:
    return entry.get(name) if isinstance(entry, Mapping) else getattr(entry, name, None)


def _carried(name: str, entry: Any, *, app: Any, where: str, now: datetime) -> Carried:
    from celery.beat import ScheduleEntry

    if isinstance(entry, Mapping):
        try:
            entry = ScheduleEntry(**{**entry, "name": name, "app": app})
        except TypeError as error:
            raise NotCarried(f"Beat does not read it: {error}.") from error
    task = _registered(entry.task, app)
    args, kwargs = _arguments(entry)
    timing, comments = timing_of(entry.schedule, app=app, now=now)
    options, remarks = _options(entry.options)
    return Carried(
        name=name,
        when=timing.when,
        function=_function(task),
        args=args,
        kwargs=kwargs,
        options={**timing.options, **options},
        where=where,
        comments=(*comments, *remarks, *_task_remarks(task)),
    )


def _registered(task: Any, app: Any) -> Any:
    found = app.tasks.get(task) if isinstance(task, str) else task
    if found is None:
        raise NotCarried(f"No task is registered as {task!r}.", "Import its module in the app (include=[...]).")
    return found


def _function(found: Any) -> str:
    run = getattr(found, "_orig_run", found.run)  # the function itself, which autoretry_for wraps
    if inspect.ismethod(run):
        raise NotCarried(
            "The task gets itself as its first argument (bind=True), and workkit has no task object.",
            "Write a function without it.",
        )
    return name_of(run, what=f"The task {found.name}")


def _task_remarks(task: Any) -> Iterator[str]:
    """Yield the options of a task that apply to each run; they stay in the source of the task."""
    if hasattr(task, "_orig_run"):
        yield "autoretry_for is left out: retries = 3 in the plan, or @workkit.job(retries=3, retry_on=...)."
    for name, instead in _OF_TASKS.items():
        if getattr(task, name, None) is not None:
            yield f"{name}={getattr(task, name)!r} of the task is left out: {instead}."
    yield PLAIN_FUNCTION


def _arguments(entry: Any) -> tuple[list[object], dict[str, object]]:
    from celery.beat import BeatLazyFunc

    values = [*(entry.args or ()), *(entry.kwargs or {}).values()]
    if any(isinstance(value, BeatLazyFunc) for value in values):
        raise NotCarried("Beat works out an argument at each run (BeatLazyFunc).", "Work it out in the function.")
    return arguments(entry.args, entry.kwargs)


def timing_of(schedule: Any, *, app: Any, now: datetime) -> tuple[Timing, tuple[str, ...]]:
    """Return the times of a Celery schedule, and remarks for the user. Raises NotCarried."""
    from celery import schedules

    if getattr(schedule, "nowfun", None) is not None:
        raise NotCarried("It has a clock of its own (nowfun).")
    if type(schedule) is schedules.crontab:
        tz = _zone(app)
        return compared(rule_of(schedule), partial(engine_of, schedule), engine_name=NAME, tz=tz, now=now)
    if type(schedule) is schedules.schedule and not schedule.relative:
        return by_interval(schedule.run_every, phase=None, now=now), (FREE_PHASE,)
    if type(schedule) is schedules.schedule:
        return _relative(schedule, app=app, now=now)
    if type(schedule) is schedules.solar:
        raise NotCarried("It follows the sun (solar), which workkit does not.")
    raise NotCarried(f"{type(schedule).__name__} is not a schedule of Celery itself.")


def _relative(schedule: Any, *, app: Any, now: datetime) -> tuple[Timing, tuple[str, ...]]:
    if schedule.run_every not in _ONE_UNIT:
        reason = "relative=True rounds each run to its unit, so that the phase depends on when beat started."
        raise NotCarried(reason, "Leave relative out, or write a crontab(...).")
    tz = _zone(app)
    rule = _ONE_UNIT[schedule.run_every]
    return compared(rule, partial(engine_of, schedule), engine_name=NAME, tz=tz, now=now)


def rule_of(crontab: Any) -> str:
    """Write a crontab of Celery as a rule: both days must match. Raises NotCarried for a field without values."""
    fields = {
        MONTH: crontab.month_of_year,
        DAY: crontab.day_of_month,
        WEEKDAY: crontab.day_of_week,
        HOUR: crontab.hour,
        MINUTE: crontab.minute,
    }
    if not all(fields.values()):
        raise NotCarried("A field names no value, so that it never runs.")
    month, day, weekday, hour, minute = (field_text(values, spec) for spec, values in fields.items())
    both = "&" if "*" not in (day, weekday) else ""
    return f"* {month} {both}{day} {weekday} {hour} {minute} 0"


def engine_of(schedule: Any, tz: str) -> Engine:
    """Return Celery's own calculation in a zone: the due time of a job that ran last at an instant."""
    own = copy.copy(schedule)
    own.tz = ZoneInfo(tz)

    def following(after: datetime) -> datetime:
        own.nowfun = lambda: after
        remaining: timedelta = own.remaining_estimate(after)
        return after.astimezone(UTC) + remaining

    return following


def _zone(app: Any) -> str:
    if app.conf.timezone is None and not app.conf.enable_utc:
        raise NotCarried("It is read in the zone of the machine (enable_utc=False).", _NAMED_ZONE)
    return zone_key(app.timezone, remedy=_NAMED_ZONE)


def _options(given: Mapping[str, Any]) -> tuple[dict[str, object], list[str]]:
    """Split the options of a message into options of a plan, and remarks about the others."""
    options: dict[str, object] = {}
    remarks: list[str] = []
    for name, value in given.items():
        if value is None:
            continue
        if name == "expires" and isinstance(value, int | float | timedelta):
            seconds = value.total_seconds() if isinstance(value, timedelta) else value
            options["catch_up_within"] = f"{seconds:g} seconds"
        elif name == "time_limit":
            options["timeout"] = f"{value:g} seconds"
        elif name in _PLACES:
            remarks.append(
                f"{name}={value!r}: a schedule has one queue. Jobs that need listeners of their own go into "
                "another schedule."
            )
        elif name == "priority":
            remarks.append(
                f"priority={value!r} is left out: its order depends on the broker. workkit has 0 to 3, higher first."
            )
        elif name in _UNSAID or name == "soft_time_limit":
            remarks.append(f"{name}={value!r} is left out: workkit has nothing like it.")
        else:
            raise NotCarried(f"Its option {name}={value!r} changes what is run, or when.", "Leave it out.")
    return options, remarks
