"""The call that adds a job as it stands, in Python, on the command line and in a plan: what is given. Pure.

Words of its time are only written where they are read back as the same time; else its cron; else there is no such call.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from functools import lru_cache
from math import isfinite
from typing import Any

from workkit.errors import TriggerError
from workkit.jobs.job import Job, spoken
from workkit.jobs.options import ADD, OPTIONS, VerbOption
from workkit.text.duration import MILLISECOND, duration_text
from workkit.text.wording import iso
from workkit.triggers import Trigger, explain
from workkit.triggers.duration import duration
from workkit.triggers.when import When, read_when
from workkit.web.adding.spelled import in_a_plan, in_python, on_the_command_line


@dataclass(frozen=True, slots=True, kw_only=True)
class Same:
    """The call in Python, the command, and the entry of a plan; "" for a job that no plan can have: one without a name,
    or with an argument that TOML cannot write.
    """

    python: str
    command: str
    plan: str = ""


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
    """Write a stored value as it is given: a length of time in words, where these say it exactly."""
    if option.member != f"{option.name}_ms":
        return value
    text = duration_text(value)
    try:
        is_exact = duration(text, name=option.name) / MILLISECOND == value
    except TriggerError:
        is_exact = False
    return text if is_exact else timedelta(milliseconds=value)
