"""One dead job, as small as it can be kept: masked, without its traceback, long values cut. Pure."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from hashlib import sha1
from typing import Any, Final

from workkit.jobs.fingerprint import print_of
from workkit.jobs.job import Job, argument_text
from workkit.text.brief import brief_repr
from workkit.text.duration import epoch_ms
from workkit.web.mask import Veil

LONGEST_VALUE, LONGEST_ARGS, LONGEST_ERROR, LONGEST_NAME = 300, 2000, 1000, 200  # characters
MOST_VALUES: Final = 50
LONGEST_KEY: Final = 120


@dataclass(frozen=True, slots=True, kw_only=True)
class Grave:
    """A dead job. `key` names its record in addresses and forms; `dead_id` on the server. `print` is that of its error
    before it was masked; `is_whole`: nothing was cut off its arguments.
    """

    key: str
    dead_id: str
    died_ms: int
    print: str
    job: Job
    is_whole: bool

    __repr__ = brief_repr


def grave_of(job: Job, veil: Veil) -> Grave:
    """Keep a dead job as it may be shown."""
    dead_id = job.dead_id or job.id
    failed = job.failure
    if failed is not None and failed.traceback:  # it would take most of the time to mask it
        job = replace(job, failure=replace(failed, traceback=""))
    seen = veil.job(job)
    args, kwargs = seen.args, seen.kwargs
    is_whole = _is_short(args, kwargs)
    if not is_whole:
        args = tuple(_cut(value) for value in args[:MOST_VALUES])
        kwargs = {name[:LONGEST_NAME]: _cut(value) for name, value in [*(kwargs or {}).items()][:MOST_VALUES]} or None
        if not _is_short(args, kwargs):
            args, kwargs = (_text((args, kwargs))[:LONGEST_ARGS] + "…",), None
    failure = seen.failure
    if failure is not None:
        failure = replace(
            failure,
            type=failure.type[:LONGEST_NAME],
            message=_shorter(failure.message, LONGEST_ERROR),
            where=None if failure.where is None else failure.where[:LONGEST_NAME],
        )
    error = None if seen.error is None else _shorter(seen.error, LONGEST_ERROR)
    slim = replace(
        seen, args=args, kwargs=kwargs, failure=failure, error=error, fn=seen.fn[:LONGEST_NAME],
        name=None if seen.name is None else seen.name[:LONGEST_NAME], dead_id=dead_id,
    )  # fmt: skip
    died_ms = 0 if job.due is None else epoch_ms(job.due)
    return Grave(
        key=key_of(dead_id), dead_id=dead_id, died_ms=died_ms, print=print_of(job).print, job=slim, is_whole=is_whole
    )


def key_of(dead_id: str) -> str:
    """Write the name of a record for an address. Where it is all of the record, as in gocraft, it is a hash."""
    if len(dead_id) <= LONGEST_KEY and dead_id.isascii() and dead_id.isprintable():
        return dead_id
    return sha1(dead_id.encode("utf-8", "surrogatepass"), usedforsecurity=False).hexdigest()


def _is_short(args: Sequence[Any], kwargs: Mapping[str, Any] | None) -> bool:
    return len(_text((args, kwargs))) <= LONGEST_ARGS


def _cut(value: Any) -> Any:
    if isinstance(value, str):
        return _shorter(value, LONGEST_VALUE)
    if isinstance(value, int | float | bool) or value is None:
        return value
    text = _text(value)
    return value if len(text) <= LONGEST_VALUE else text[:LONGEST_VALUE] + "…"


def _shorter(text: str, most: int) -> str:
    return text if len(text) <= most else text[:most] + "…"


def _text(value: Any) -> str:
    try:
        return argument_text(value)
    except (ValueError, RecursionError):
        return repr(value)
