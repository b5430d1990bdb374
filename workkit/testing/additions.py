"""Which job an assertion asks for, and the sentence where none is there."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import datetime, timedelta
from typing import Any

from workkit import wire
from workkit.jobs.job import Job
from workkit.jobs.names import Fn, shown, stored_name
from workkit.jobs.structured import written

MOST_SHOWN = 20


def wanted(
    job: Job,
    *,
    fn: Fn,
    args: Sequence[Any] | None,
    kwargs: Mapping[str, Any] | None,
    due: datetime | None,
    name: str | None,
) -> bool:
    """Whether a job is one of those. None: anything. Raises InvalidFunction, InvalidArguments."""
    plain, named = written(fn, args=args or (), kwargs=kwargs)
    return (
        job.fn == stored_name(fn)
        and (args is None or _content(plain, {}) == _content(job.args, {}))
        and (kwargs is None or _content((), named or {}) == _content((), job.kwargs or {}))
        and (due is None or (job.due is not None and _second(job.due) == _second(due)))
        and (name is None or job.name == name)
    )


def missing(
    added: Sequence[Job],
    *,
    fn: Fn,
    args: Sequence[Any] | None,
    kwargs: Mapping[str, Any] | None,
    due: datetime | None,
    name: str | None,
) -> str:
    """Word that no such job was added, and what was instead."""
    asked = f"{shown(stored_name(fn))}({_arguments(args, kwargs)})"
    asked += "" if due is None else f", {_time(due)}"
    asked += "" if name is None else f", name={name!r}"
    if not added:
        return f"{asked} was not added. Nothing was."
    lines = [f"  {_shown(job)}" for job in added[:MOST_SHOWN]]
    if len(added) > MOST_SHOWN:
        lines.append(f"  and {len(added) - MOST_SHOWN} more")
    return "\n".join([f"{asked} was not added. Added were:", *lines])


def _shown(job: Job) -> str:
    name = "" if job.name is None else f", name={job.name!r}"
    due = "" if job.due is None else f", {_time(job.due)}"
    return f"{shown(job.fn)}({_arguments(job.args, job.kwargs)}){due}{name}"


def _arguments(args: Sequence[Any] | None, kwargs: Mapping[str, Any] | None) -> str:
    if args is None and kwargs is None:
        return "..."
    return ", ".join([*map(repr, args or ()), *(f"{key}={value!r}" for key, value in (kwargs or {}).items())])


def _content(args: Sequence[Any], kwargs: Mapping[str, Any]) -> bytes:
    return wire.payload(cron="", job="", args=tuple(args), extra={"kwargs": dict(kwargs)})


def _second(at: datetime) -> datetime:
    """Round up to whole seconds, as the times of jobs are."""
    return at.replace(microsecond=0) + timedelta(seconds=at.microsecond > 0)


def _time(at: datetime) -> str:
    return f"at {at:%Y-%m-%d %H:%M:%S} UTC"
