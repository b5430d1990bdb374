"""Jobs that code plans: functions under ``@s.every(...)``, ``@s.at(...)``, ``@s.cron(...)``; the schema of a plan.

A module holds its own plan, in its namespace. Importing the module plans its jobs; dropping the module drops its plan.
The JSON schema, for editors, is made from the table of options.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from pathlib import Path
from types import UnionType
from typing import TYPE_CHECKING, Any, Literal, TypeVar, Union, get_args, get_origin

from workkit.errors import Invalid, InvalidFunction, InvalidOptions, TriggerError
from workkit.jobs.marks import job, marked
from workkit.jobs.names import function_of, main_module, shown, stored_name
from workkit.jobs.options import ADD, BY_NAME, names_at, read_options
from workkit.triggers import KEYWORDS as TIMES

if TYPE_CHECKING:
    from workkit.triggers.when import When

F = TypeVar("F", bound=Callable[..., Any])

PLANS = "__workkit_plans__"  # in the namespace of a module: schedule -> name -> Planned
NOT_IN_A_PLAN = ("unique", "once_key", "once_for", "throttle", "debounce", "debounce_most")
_CALL = ("fn", "args", "kwargs")
PRESENTS = (datetime(2000, 1, 1, 0, 0, 30, tzinfo=UTC), datetime(2001, 5, 17, 13, 47, 11, tzinfo=UTC))


@dataclass(frozen=True, slots=True, kw_only=True)
class Planned:
    """One planned job: the keywords of `add`, and the zone and dialect to read them in (None: the schedule's)."""

    given: Mapping[str, Any]
    tz: str | None = None
    dialect: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class PlanSource:
    """The plan of one module or file: its jobs by name, and the time of its last change, epoch ms (0: not known)."""

    name: str
    jobs: Mapping[str, Planned] = field(default_factory=dict)
    written_ms: int = 0
    version: str | None = None


def plan_job(fn: F, *, schedule: str, name: str | None, tz: str, dialect: str, given: Mapping[str, Any]) -> F:
    """Plan a job of a module-level function, and mark it as `@job` does if it has no mark. Returns the function itself.

    Raises InvalidFunction, and InvalidOptions for a name that another function of the module has. Raises as `add` for
    its time and options, and TriggerError for a time that depends on the present.
    """
    if not callable(fn):
        remedy = 'Write it above a def: @s.every("day at 9am").'
        raise InvalidFunction.about(repr(fn), "is not a function", remedy, given=fn)
    stored, function = stored_name(fn), function_of(fn)
    if marked(f"{fn.__module__}:{fn.__qualname__}") is not function:
        job(function)
    name = shown(stored) if name is None else name
    planned = Planned(given={**given, "fn": function}, tz=tz, dialect=dialect)
    try:
        check_planned(name, planned, tz=tz, dialect=dialect)
    except Invalid as error:
        error.args = (f"job {name}: {error}",)
        raise
    space = vars(sys.modules[fn.__module__])
    jobs: dict[str, Planned] = space.setdefault(PLANS, {}).setdefault(schedule, {})
    other = jobs[name].given["fn"] if name in jobs else fn
    if other.__qualname__ != fn.__qualname__:
        remedy = "Give one of them another name=."
        raise InvalidOptions.about(f"name={name!r}", f"is planned for {other.__qualname__} too", remedy, where="name")
    jobs[name] = planned
    return fn


def check_planned(name: str, planned: Planned, *, tz: str, dialect: str) -> None:
    """Check the options of a planned job. Refuse options that belong to one addition, and a time that depends on the
    present, because it differs at each start. Raises InvalidOptions, TriggerError.
    """
    from workkit.triggers.when import When

    given = planned.given
    if given.get("fn") is None:
        raise InvalidOptions.about("fn", "is missing", 'Add fn = "app.reports:digest".', given=name)
    if given.get("name", name) != name:
        raise InvalidOptions.about(f"name={given['name']!r}", "is another than its name in the plan", "Leave it out.")
    options = {key: value for key, value in given.items() if key not in (*_CALL, *TIMES)}
    read_options({**options, "name": name}, place=ADD, verb="a plan", other=(*_CALL, *TIMES))
    for option in NOT_IN_A_PLAN:
        if given.get(option) is not None:
            remedy = "Leave it out: the name of a planned job makes it one job."
            trouble = "belongs to one addition, not to a plan"
            raise InvalidOptions.about(f"{option}=", trouble, remedy, where=option, given=given[option])
    times = {key: given.get(key) for key in (*TIMES, "tz")}
    when = When(**times, default_tz=planned.tz or tz, dialect=planned.dialect or dialect)
    if when.in_ is not None or when.is_now or len({_at(present, when, given) for present in PRESENTS}) > 1:
        named = next(key for key in TIMES if given.get(key) is not None)
        remedy = 'Write the whole date, such as at="2027-03-01 9am", or a time that recurs.'
        trouble = "depends on the present, and a plan is read at every start"
        raise TriggerError.about(f"{named}={given[named]!r}", trouble, remedy, where=named, given=given[named])


def _at(present: datetime, when: When, given: Mapping[str, Any]) -> str:
    """Write the time as it is read at that present."""
    from workkit.triggers.between import between, days_from
    from workkit.triggers.when import When, read_when

    start, end = given.get("start"), given.get("end")
    if isinstance(when.every, timedelta) and start is not None:
        every = days_from(when.every, start=start, now=present, tz=when.zone) or when.every
        when = When(every=every, tz=when.tz, default_tz=when.default_tz, dialect=when.dialect)
    trigger = read_when(when, now=present)
    if start is not None or end is not None:
        trigger = between(trigger, start=start, end=end, now=present, tz=when.zone)
    return repr(sorted(trigger.fields().items(), key=repr))


def planned_here(schedule: str) -> list[PlanSource]:
    """List the plans of a schedule, one for each module that this program has imported."""
    found = []
    for name, module in sorted(sys.modules.items()):
        jobs = getattr(module, "__dict__", {}).get(PLANS, {}).get(schedule)
        if jobs:
            said = main_module() if name == "__main__" else name
            found.append(PlanSource(name=said or name, jobs=dict(jobs), written_ms=written_ms(name)))
    return found


def written_ms(module: str) -> int:
    """Return the time of the last change of an imported module's file, epoch ms; 0 if it is not known."""
    file = getattr(sys.modules.get(module), "__file__", None)
    try:
        return 0 if file is None else Path(file).stat().st_mtime_ns // 1_000_000
    except OSError:  # a module in an archive
        return 0


_TEXT = {"type": "string", "minLength": 1}
_KINDS: dict[Any, dict[str, Any]] = {
    bool: {"type": "boolean"},
    int: {"type": "integer"},
    Mapping[str, str]: {"type": "object", "additionalProperties": {"type": "string"}},
    Sequence[str]: {"type": "array", "items": {"type": "string"}},
}
_TIMES = {
    "every": "when it runs, again and again, in words",
    "at": "the one instant at which it runs, with its date",
    "cron": "when it runs, as a cron string of five or seven fields",
    "when": "words or a cron string",
}


def plan_schema() -> dict[str, Any]:
    """Make the schema of a plan: a table for each job, under its name."""
    properties: dict[str, Any] = {
        "fn": {**_TEXT, "description": "the function, as module:function"},
        "args": {"type": "array", "description": "its arguments"},
        "kwargs": {"type": "object", "description": "its arguments by name"},
        **{name: {**_TEXT, "description": meaning} for name, meaning in _TIMES.items()},
    }
    for name in names_at(ADD):
        option = BY_NAME[name]
        about = option.meaning if option.default == "none" else f"{option.meaning}; default: {option.default}"
        properties[name] = {**_kind(option.type), "description": about}
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": "a plan of workkit: a table for each job, under its name",
        "type": "object",
        "additionalProperties": {
            "type": "object",
            "properties": properties,
            "required": ["fn"],
            "oneOf": [{"required": [name]} for name in _TIMES],
            "additionalProperties": False,
        },
    }


def _kind(kind: Any) -> dict[str, Any]:
    if get_origin(kind) is Literal:
        return {"enum": list(get_args(kind))}
    among = get_args(kind) if get_origin(kind) in (Union, UnionType) else (kind,)
    found = [_KINDS[one] for one in among if one in _KINDS]
    if len(found) < len(among):
        found.append(_TEXT)
    return found[0] if len(found) == 1 else {"anyOf": found}
