"""The call that adds a job as it stands: in Python, on the command line and in a plan. Pure.

Words of its time are only written where they are read back as the same time; else its cron; else there is no such call.
"""

from __future__ import annotations

import json
import shlex
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta
from math import isfinite
from typing import Any, Final

from workkit.errors import TriggerError
from workkit.jobs.job import Job, spoken
from workkit.jobs.options import ADD, BY_NAME, OPTIONS, VerbOption, names_at
from workkit.text.wording import MILLISECOND, duration_text, iso
from workkit.triggers.english.numbers import duration
from workkit.web.typed_time import time_words


@dataclass(frozen=True, slots=True, kw_only=True)
class Same:
    """The call in Python, the command, and the entry of a plan; "" for a job that no plan can have: one without a name,
    or with an argument that TOML cannot write.
    """

    python: str
    command: str
    plan: str = ""


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
    """Write an argument so that the command line reads it as the same value: JSON, or a text that is none."""
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
