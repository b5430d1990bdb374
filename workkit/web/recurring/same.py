"""The call that adds a job as it stands, in Python and on the command line. Pure.

Words of its time are only written where they are read back as the same time; else its cron; else there is no such call.
"""

from __future__ import annotations

import json
import shlex
from collections.abc import Iterator
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from functools import lru_cache
from typing import Any

from workkit.errors import TriggerError
from workkit.jobs.call_text import spoken
from workkit.jobs.job import Job
from workkit.jobs.options import ADD, OPTIONS, VerbOption
from workkit.text.duration import duration_text
from workkit.text.wording import iso
from workkit.triggers import Trigger, explain
from workkit.triggers.duration import duration
from workkit.triggers.when import When, read_when


@dataclass(frozen=True, slots=True, kw_only=True)
class Same:
    """The call in Python, and the command; None where no words say its time."""

    python: str
    command: str


@lru_cache(maxsize=2_000)
def time_words(trigger: Trigger, now: datetime) -> str | None:
    """Write the time of a job in words, or as its cron, so that it reads back as the same time in its zone, its bounds
    apart; None where neither does.
    """
    bare = replace(trigger, start=None, end=None, warnings=())
    written = explain(bare, zone=False).removesuffix(f" {trigger.tz}")
    if _reads_back(written, bare, now):
        return written
    cron = trigger.cron or (trigger.rules[0] if len(trigger.rules) == 1 and trigger.interval is None else None)
    return cron if cron is not None and _reads_back(cron, bare, now) else None


def _reads_back(text: str, trigger: Trigger, now: datetime) -> bool:
    try:
        found = read_when(When(when=text, tz=trigger.tz), now=now)
    except TriggerError:
        return False
    # how it is stored follows from its rules and bounds
    return replace(found, warnings=(), cron=trigger.cron, stored=trigger.stored) == trigger


def same_call(job: Job, *, now: datetime) -> Same | None:
    """Write the call of a job. Its arguments are those that it is given with: masked ones stay masked."""
    trigger = job.trigger
    hour = now.replace(minute=0, second=0, microsecond=0)
    if trigger is None or (words := time_words(trigger, hour)) is None:
        return None
    options = list(_options(job))
    if trigger.tz != "UTC":
        options.insert(0, ("tz", trigger.tz))
    bounds = (("start", trigger.start), ("end", trigger.end))
    options += [(name, iso(at)) for name, at in bounds if at is not None]
    return Same(python=_python(job, words, options), command=_command(job, words, options))


def _options(job: Job) -> Iterator[tuple[str, Any]]:
    stored = {**job.terms.fields(), **job.options.fields()}
    for option in OPTIONS:
        if ADD in option.places and option.member in stored:
            yield option.name, _given(option, stored[option.member])


def _given(option: VerbOption, value: Any) -> Any:
    """Write a stored value as it is given: a length of time in words, where these say it exactly."""
    if option.member != f"{option.name}_ms":
        return value
    text = duration_text(value)
    try:
        is_exact = duration(text, name=option.name) / timedelta(milliseconds=1) == value
    except TriggerError:
        is_exact = False
    return text if is_exact else timedelta(milliseconds=value)


def _python(job: Job, words: str, options: list[tuple[str, Any]]) -> str:
    lines = ["s", f"when={_quoted(words)}", *(f"{name}={_python_value(value)}" for name, value in options)]
    lines.append(f"fn={_quoted(spoken(job.fn))}")
    if job.args:
        lines.append(f"args={tuple(job.args)!r}")
    if job.kwargs:
        lines.append(f"kwargs={dict(job.kwargs)!r}")
    return "schedule.add(\n" + "".join(f"    {line},\n" for line in lines) + ")"


def _python_value(value: Any) -> str:
    if isinstance(value, timedelta):
        return f"timedelta(milliseconds={round(value / timedelta(milliseconds=1))})"
    return _quoted(value) if isinstance(value, str) else repr(value)


def _quoted(text: str) -> str:
    return json.dumps(text, ensure_ascii=False)


def _command(job: Job, words: str, options: list[tuple[str, Any]]) -> str:
    parts = ["workkit", "add", job.schedule, words, spoken(job.fn), *map(_argument, job.args)]
    for name, value in (job.kwargs or {}).items():
        parts += ["--kwarg", f"{name}={_argument(value)}"]
    for name, value in options:
        flag = name.replace("_", "-")
        if isinstance(value, bool):
            parts.append(f"--{flag}" if value else f"--no-{flag}")
        elif isinstance(value, timedelta):
            parts += [f"--{flag}", f"{value / timedelta(seconds=1):g}s"]
        else:
            parts += [f"--{flag}", str(value)]
    return shlex.join(parts)


def _argument(value: Any) -> str:
    """Write an argument as the command line reads it: JSON, or a text that is none."""
    if isinstance(value, str):
        try:
            json.loads(value)
        except (ValueError, RecursionError):
            return value
    return json.dumps(value, ensure_ascii=False, default=str)
