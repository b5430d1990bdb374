"""From what the verbs that add were given to the job that goes to a broker. No I/O."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from datetime import UTC, datetime
from typing import Any

from workkit.broker import NewJob
from workkit.errors import InvalidArguments, InvalidOptions
from workkit.jobs.arguments import check_call
from workkit.jobs.names import Clojure, Fn, read_name, stored_name
from workkit.jobs.run_options import UNSAID, RunOptions
from workkit.options import ARGUMENTS, read_options
from workkit.triggers.when import When, read_when


def call(fn: Fn, *, args: Any, kwargs: Mapping[str, Any] | None, options: RunOptions = UNSAID) -> NewJob:
    """The function and its arguments, checked as far as they are at hand; no time yet. Raises InvalidFunction,
    InvalidArguments.
    """
    name = stored_name(fn)
    if isinstance(args, (str, bytes, Mapping)) or not isinstance(args, Sequence):
        kind = "one text" if isinstance(args, (str, bytes)) else f"a {type(args).__name__}"
        wrapped = f'["{args}"]' if isinstance(args, str) else f"[{args!r}]"
        said = f'"{args}"' if isinstance(args, str) else repr(args)
        raise InvalidArguments(f"args={said} is {kind}, not a list. Write args={wrapped}.", given=args)
    if kwargs:
        target = read_name(name)
        if isinstance(fn, Clojure) or target is None or not target.is_python:
            raise InvalidArguments(
                f"kwargs= with {name}: only Python functions take keyword arguments. Put a map into args.", given=kwargs
            )
    if callable(fn):
        check_call(fn, args=args, kwargs=kwargs or {})
    return NewJob(
        fn=name,
        args=tuple(args),
        kwargs=dict(kwargs) if kwargs else None,
        trigger=None,
        due_ms=None,
        options=options,
    )


def queued(new: NewJob) -> NewJob:
    """The job to run at once, as a run of its own."""
    return replace(new, queued=True)


def timed(new: NewJob, when: When, *, now_ms: int) -> NewJob:
    """The job at its time. Raises TriggerError."""
    trigger = read_when(when, now=datetime.fromtimestamp(now_ms / 1000, UTC))
    whole = -(-now_ms // 1000) * 1000  # the first run is the first whole second at or after now
    return replace(new, trigger=trigger, due_ms=trigger.next_after_ms(whole - 1000))


def read_row(row: Mapping[str, Any], *, default_tz: str, dialect: str, now_ms: int) -> NewJob:
    """One row of `add_many`: `fn` and `add`'s keywords. Raises an `Invalid`."""
    if "fn" not in row:
        raise InvalidOptions("fn is missing. A row holds add's keywords and fn.", given=dict(row))
    options = {key: value for key, value in row.items() if key != "fn" and key not in ARGUMENTS}
    run = read_options("add", options)
    said = {key: row.get(key) for key in ("at", "in_", "every", "cron")}
    when = When(**said, tz=options.get("tz"), default_tz=default_tz, dialect=dialect)
    new = call(row["fn"], args=row.get("args", ()), kwargs=row.get("kwargs"), options=run)
    return queued(new) if when.is_now else timed(new, when, now_ms=now_ms)
