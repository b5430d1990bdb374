"""The terms of a job: sentences about the runs of a recurring job in each case, and the call that adds the same job, in
Python, on the command line and in a plan. Pure.

Only listeners know the options that a function sets by `@job`. Where a job leaves an option to its function, the
sentence says so. The call gives the time in words where the words read back as the same time, else as cron; without
either there is no call.
"""

from __future__ import annotations

import json
import shlex
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta, tzinfo
from math import isfinite
from typing import Any, Final

from workkit.errors import TriggerError
from workkit.jobs.admission import Control
from workkit.jobs.job import Job, spoken
from workkit.jobs.options import ADD, BY_NAME, OPTIONS, VerbOption, names_at
from workkit.jobs.run_options import RunOptions
from workkit.jobs.terms import LATE_MS
from workkit.text.glance import moment
from workkit.text.wording import MILLISECOND, duration_text, iso, plural
from workkit.triggers import explain
from workkit.triggers.english.numbers import duration
from workkit.triggers.trigger import deadline_of
from workkit.web.typed_time import time_words
from workkit.web.words import pauses_text

MOST_PAUSES: Final = 4  # pauses named; of more, the sentence says how they grow

OVERLAP: Final = {
    "allow": "both run.",
    "skip": "leave this one out.",
    "queue": "wait until it has ended.",
    "cancel": "cancel the earlier run.",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Policy:
    """``If CASE: THEN rest``. `option`: its keyword; `is_default`: the job does not set it."""

    case: str
    then: str
    rest: str = ""
    option: str
    is_default: bool = False

    @property
    def says(self) -> str:
        """The whole sentence."""
        return f"{self.lead} {self.then}{self.rest}"

    @property
    def lead(self) -> str:
        """The case, with its colon, where the sentence has a break after it."""
        return self.case if self.case.endswith("than") else f"{self.case}:"


def policies(job: Job, control: Control, *, offset_ms: int, now: datetime, zone: tzinfo) -> list[Policy]:
    """Describe the terms of a job: overlap, catch-up, attempts, timeout, limits, spread, bounds."""
    terms, options = job.terms, job.options
    overlap = terms.overlap or _default("overlap")
    return [
        Policy(
            case="its last run still goes on",
            then=OVERLAP.get(overlap, f"{overlap}."),
            option="overlap",
            is_default=terms.overlap is None,
        ),
        _catch_up(job),
        _retries(options),
        _crashes(options),
        _timeout(options),
        *_limits(control),
        *_rest(job, offset_ms),
        *_bounds(job, now, zone),
    ]


def _default(name: str) -> str:
    return BY_NAME[name].default.strip('"')


def _catch_up(job: Job) -> Policy:
    terms = job.terms
    policy, within = terms.catch_up or _default("catch_up"), terms.catch_up_within_ms
    if policy == "skip":
        then = f"leave out what is later than {duration_text(LATE_MS if within is None else within)}."
    else:
        how = "run every one of them, late" if policy == "all" else "run once, late"
        then = f"{how}." if within is None else f"{how}, but not after {duration_text(within)}."
    is_default = terms.catch_up is None and within is None
    return Policy(case="nobody listened when it was due", then=then, option="catch_up", is_default=is_default)


def _retries(options: RunOptions) -> Policy:
    case = "it fails"
    if options.retries is None:
        usual = int(_default("retries"))
        then = "as its function says;" if not usual else f"up to {usual} more attempts;"
        return Policy(case=case, then=then, rest=" if that says nothing, it is dead at once.", option="retries",
                      is_default=True)  # fmt: skip
    if not options.retries:
        return Policy(case=case, then="it is dead at once.", option="retries")
    then = f"up to {plural(options.retries, 'more attempt')}, {_pauses(options)};"
    return Policy(case=case, then=then, rest=" then it is dead.", option="retries")


def _crashes(options: RunOptions) -> Policy:
    case, most = "its listener dies in a run", options.crashes
    if most is None:
        then, rest = f"it begins again, up to {_default('crashes')} times;", " unless its function says otherwise."
        return Policy(case=case, then=then, rest=rest, option="crashes", is_default=True)
    if not most:
        return Policy(case=case, then="it is dead: it may have run.", option="crashes")
    then = f"it begins again, up to {plural(most, 'time')};"
    return Policy(case=case, then=then, rest=" then it is dead.", option="crashes")


def _pauses(options: RunOptions) -> str:
    """Say how long a job waits before its attempts. If the job does not set it, its function may."""
    said = f"after {pauses_text(options, most=MOST_PAUSES)}"
    return said if options.jitter is False else f"{said}, or up to half sooner"


def _timeout(options: RunOptions) -> Policy:
    if options.timeout_ms is None:
        rest = " unless its function has a timeout."
        return Policy(case="it takes long", then="it goes on,", rest=rest, option="timeout", is_default=True)
    then = f"{duration_text(options.timeout_ms)}:"
    return Policy(case="it takes longer than", then=then, rest=" end it.", option="timeout")


def _limits(control: Control) -> Iterator[Policy]:
    case = "many jobs run at once"
    if control.limit is None and control.turn_ms is None:
        then = "it starts at once,"
        yield Policy(case=case, then=then, rest=" unless its function has a limit.", option="limit", is_default=True)
    if control.limit is not None:
        yield Policy(case=case, then=f"at most {control.limit:,} of this schedule;", rest=" it waits.", option="limit")
    if control.turn_ms is not None:
        every = duration_text(control.turn_ms)
        yield Policy(case="many jobs start at once", then=f"one start every {every};", rest=" it waits.", option="rate")


def _rest(job: Job, offset_ms: int) -> Iterator[Policy]:
    terms = job.terms
    if terms.spread_ms:
        of = duration_text(terms.spread_ms)
        by = duration_text(offset_ms) if offset_ms else "nothing"
        case = "others are due at the same second"
        yield Policy(case=case, then=f"it is put off by {by},", rest=f" its part of {of}.", option="spread")
    if terms.priority:
        case = "other jobs are due too"
        yield Policy(case=case, then=f"it starts before those of priority below {terms.priority}.", option="priority")
    if terms.unique_key is not None:
        case = f'another job holds the unique key "{terms.unique_key}"'
        yield Policy(case=case, then="only one of them stands.", option="unique_key")
    if job.options.keep_ms is not None:
        then = f"its result is kept for {duration_text(job.options.keep_ms)}."
        yield Policy(case="it returns something", then=then, option="keep")
    late = "it is late, and reported."
    rule = deadline_of(terms.done_by or "")
    if terms.within_ms is not None:
        yield Policy(
            case=f"it has not ended {duration_text(terms.within_ms)} after it is due", then=late, option="within"
        )
    if rule is not None:
        yield Policy(case=f"it has not ended at its deadline, {explain(rule)}", then=late, option="done_by")
    if terms.ping is not None:
        yield Policy(case="it starts, succeeds or fails", then="a monitor is told.", option="ping")


def _bounds(job: Job, now: datetime, zone: tzinfo) -> Iterator[Policy]:
    trigger = job.trigger
    if trigger is not None and trigger.start is not None and trigger.start > now:
        at = moment(trigger.start, now, zone)
        yield Policy(case=f"it is not yet {at}", then="it does not run.", option="start")
    if trigger is not None and trigger.end is not None:
        at = moment(trigger.end, now, zone)
        yield Policy(case=f"it is {at} or later", then="it no longer runs.", option="end")
    if job.terms.count is not None:
        case = f"it has run {job.terms.count:,} times" if job.terms.count > 1 else "it has run once"
        yield Policy(case=case, then="that was its last run.", option="count")


@dataclass(frozen=True, slots=True, kw_only=True)
class Same:
    """The call in Python, the command, and the entry of a plan; "" for a job that no plan can express: one without a
    name, or with an argument that TOML cannot write.
    """

    python: str
    command: str
    plan: str = ""


def same_call(job: Job, *, now: datetime) -> Same | None:
    """Write the call of a job. Masked arguments stay masked."""
    trigger = job.trigger
    hour = now.replace(minute=0, second=0, microsecond=0)
    if trigger is None or (words := time_words(trigger, hour)) is None:
        return None
    given = {"fn": spoken(job.fn), "when": words, **dict(_options(job))}
    if trigger.tz != "UTC":
        given["tz"] = trigger.tz
    if job.args:
        given["args"] = job.args
    if job.kwargs:
        given["kwargs"] = job.kwargs
    given |= {name: iso(at) for name, at in (("start", trigger.start), ("end", trigger.end)) if at is not None}
    is_plain = _is_toml([job.args, job.kwargs or {}])
    return Same(
        python=in_python(given),
        command=on_the_command_line(given, job.schedule),
        plan=in_a_plan(given) if "name" in given and is_plain else "",
    )


def _is_toml(value: Any) -> bool:
    if isinstance(value, dict):
        return all(map(_is_toml, value.values()))
    if isinstance(value, list | tuple):
        return all(map(_is_toml, value))
    return isinstance(value, str | int) or (isinstance(value, float) and isfinite(value))


def _options(job: Job) -> Iterator[tuple[str, Any]]:
    stored = {**job.terms.fields(), **job.options.fields()}
    for option in OPTIONS:
        if ADD in option.places and option.member in stored:
            yield option.name, _given(option, stored[option.member])
    if job.meta:
        yield "meta", job.meta


def _given(option: VerbOption, value: Any) -> Any:
    """Convert a stored value to the form that a user types: a duration in words, where words express it exactly."""
    if option.member != f"{option.name}_ms":
        return value
    text = duration_text(value)
    try:
        is_exact = duration(text, name=option.name) / MILLISECOND == value
    except TriggerError:
        is_exact = False
    return text if is_exact else timedelta(milliseconds=value)


ORDER: Final = ("name", "when", "tz", "args", "kwargs")


def in_python(given: Mapping[str, Any]) -> str:
    """Write the call of `schedule.add`."""
    lines = [f"    s, {_python(given['fn'])},"]
    lines += [f"    {name}={_python(given[name])}," for name in _names(given)]
    return "\n".join(["schedule.add(", *lines, ")"])


def on_the_command_line(given: Mapping[str, Any], schedule: str) -> str:
    """Write the command."""
    parts = [shlex.quote(_argument(one)) for one in given.get("args", ())]
    first = f"workkit add {shlex.quote(schedule)}"
    lines = [first, f"  {shlex.quote(given['when'])}", "  " + " ".join([shlex.quote(given["fn"]), *parts])]
    for name in _names(given):
        if name in ("when", "args"):
            continue
        if name == "kwargs":
            lines += [f"  --kwarg {shlex.quote(f'{key}={_argument(one)}')}" for key, one in given[name].items()]
        else:
            lines.append(f"  {_flag(name, given[name])}")
    return " \\\n".join(lines)


def in_a_plan(given: Mapping[str, Any]) -> str:
    """Write the entry of a plan, in TOML."""
    lines = [f"[{_key(given.get('name', 'name'))}]", f"fn = {_toml(given['fn'])}"]
    lines += [f"{name} = {_toml(given[name])}" for name in _names(given) if name != "name"]
    return "\n".join(lines)


def _names(given: Mapping[str, Any]) -> list[str]:
    rest = [name for name in names_at(ADD) if name not in ORDER]
    return [name for name in (*ORDER, *rest) if name in given]


def _python(value: Any) -> str:
    if isinstance(value, str):
        return json.dumps(value, ensure_ascii=False)
    if isinstance(value, Mapping):
        return "{" + ", ".join(f"{_python(str(key))}: {_python(one)}" for key, one in value.items()) + "}"
    if isinstance(value, list | tuple):
        return "[" + ", ".join(map(_python, value)) + "]"
    if isinstance(value, timedelta):
        return f"timedelta(milliseconds={round(value / MILLISECOND)})"
    return repr(value)


def _argument(value: Any) -> str:
    """Write an argument so that the command line reads it as the same value: as JSON, or as a text that is not JSON."""
    if isinstance(value, str):
        try:
            json.loads(value)
        except (ValueError, RecursionError):
            return value
    return json.dumps(value, ensure_ascii=False, default=str)


def _flag(name: str, value: Any) -> str:
    flag = name.replace("_", "-")
    if isinstance(value, Mapping):
        return " ".join(f"--{flag} {shlex.quote(f'{key}={one}')}" for key, one in value.items())
    if isinstance(value, tuple):  # tags
        return " ".join(f"--{flag.removesuffix('s')} {shlex.quote(one)}" for one in value)
    if BY_NAME[name].type is bool:
        return f"--{'no-' if value is False else ''}{flag}"
    text = _length(value) if isinstance(value, timedelta) else str(value)
    return f"--{flag} {shlex.quote(text)}"


def _length(value: timedelta) -> str:
    seconds, ms = divmod(round(value / MILLISECOND), 1000)
    return f"{seconds}.{ms:03}".rstrip("0").rstrip(".") + "s"


def _key(name: str) -> str:
    is_bare = name.isascii() and name.replace("-", "").replace("_", "").isalnum()
    return name if is_bare else json.dumps(name, ensure_ascii=False)


def _toml(value: Any) -> str:
    if isinstance(value, Mapping):
        return "{ " + ", ".join(f"{_key(str(key))} = {_toml(one)}" for key, one in value.items()) + " }"
    if isinstance(value, list | tuple):
        return "[" + ", ".join(map(_toml, value)) + "]"
    if isinstance(value, timedelta):
        return json.dumps(_length(value))
    if value is None:
        return '"null has no spelling in TOML"'
    return json.dumps(value, ensure_ascii=False)
