"""What a handler returned, as it is kept: JSON, written as the arguments of jobs are."""

from __future__ import annotations

from typing import Any

from workkit import wire
from workkit.errors import InvalidArguments, described
from workkit.jobs.outcome import Failure, Kept
from workkit.jobs.run_options import RunOptions

MOST_BYTES = 1_000_000  # where `keep_most` is not given
_INSTEAD = {"Pass": "Return", "in the function": "where you read it"}  # the writer's advice is about arguments


def kept_value(value: Any, options: RunOptions) -> Kept | None:
    """Make what is kept of a run that returned a value; None where its job keeps no result. Never raises."""
    if options.keep_ms is None:
        return None
    most = MOST_BYTES if options.keep_most is None else options.keep_most
    try:
        text = wire.value_text(value, "result")
    except InvalidArguments as error:
        return _unkept(options.keep_ms, _refused(error))
    except RecursionError:
        return _unkept(options.keep_ms, "result is nested too deeply for JSON, or contains itself")
    except BaseException as error:  # a value may be of any class, whose methods may raise anything
        return _unkept(options.keep_ms, f"result cannot be written as JSON: {described(error)}")
    if len(text) > most:
        trouble = f"result has {len(text):,} bytes as JSON, and this job keeps {most:,} at most"
        return _unkept(options.keep_ms, f"{trouble}. Return less, or give keep_most=")
    return Kept(ms=options.keep_ms, kind="value", text=text)


def _unkept(ms: int, message: str) -> Kept:
    return Kept(ms=ms, kind="unkept", failure=Failure(type="NoResult", message=message))


def _refused(error: InvalidArguments) -> str:
    remedy = error.remedy or ""
    for said, instead in _INSTEAD.items():
        remedy = remedy.replace(said, instead)
    return f"{error.where} {error.trouble}. {remedy}".rstrip(". ")
