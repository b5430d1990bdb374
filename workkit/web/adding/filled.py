"""What is filled in, in the form of a job: from a job that stands, and to the keywords of `add`. Pure."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any, Final

from workkit.errors import InvalidArguments, InvalidFunction
from workkit.jobs.job import Job, argument_text
from workkit.jobs.known import Known
from workkit.jobs.names import stored_name
from workkit.triggers import explain
from workkit.triggers.clock.zone import zone as read_zone
from workkit.web.adding import choices, values
from workkit.web.adding.saying import is_seven
from workkit.web.mask import Mask

TEXTS: Final = ("when", "tz", "fn", "name", "args", "kwargs", "shown", "seen", "laid")
BOXES: Final = tuple(f"p{number}" for number in range(values.MOST_BOXES))
FIELDS: Final = (*TEXTS, *BOXES, *(name for name in choices.fields({})))
"""All fields of the form."""

Filled = Mapping[str, str]


def of_job(job: Job, *, mask: Mask, known: Known | None) -> dict[str, str]:
    """Fill the form in from a job that stands. What is hidden stands there as its mask."""
    names = () if known is None else tuple(one.name for one in known.parameters if one.kind == "positional")
    args, kwargs = mask.arguments(job.args, job.kwargs, names)
    when, tz = of_time(job)
    return {
        "when": when,
        "tz": tz,
        "fn": fn_text(job.fn),
        "name": job.name or "",
        "args": argument_text(list(args)) if args else "",
        "kwargs": argument_text(kwargs) if kwargs else "",
        "shown": argument_text([list(args), kwargs]),
        "seen": job.id,
        **choices.of_job(job),
    }


def of_time(job: Job) -> tuple[str, str]:
    """Write the time of a job as words, without its bounds, and its zone."""
    if job.trigger is None:
        return "", "UTC"
    trigger = replace(job.trigger, start=None, end=None)
    return explain(trigger).removesuffix(f" {trigger.tz}"), trigger.tz


def fn_text(stored: str) -> str:
    """Write a stored function as people write it: ``app.reports:digest``."""
    text = stored.removeprefix("#'").replace("/", ":", 1).replace("-", "_")
    try:
        return text if stored_name(text) == stored else stored
    except InvalidFunction:
        return stored


def known_of(fn: str, functions: Mapping[str, Known]) -> Known | None:
    """Find what listeners tell of a function, by its name as it is typed."""
    if not fn:
        return None
    try:
        return functions.get(fn) or functions.get(stored_name(fn.removeprefix("@")))
    except InvalidFunction:
        return None


def call_of(filled: Filled, *, known: Known | None = None) -> tuple[list[Any], dict[str, Any]]:
    """Read the arguments that are filled in: from the boxes as they were laid out, else JSON. Raises
    InvalidArguments.
    """
    if known is None or filled.get("laid") != filled.get("fn"):
        return values.read_call(filled.get("args", ""), filled.get("kwargs", ""))
    pairs = [(one, filled.get(f"p{k}", "")) for k, one in enumerate(known.parameters[: values.MOST_BOXES])]
    return values.from_boxes(pairs, by_name=shown_of(filled)[1])


def shown_of(filled: Filled) -> tuple[list[Any], dict[str, Any]]:
    """Read the arguments as the form showed them at first."""
    found = values.read(filled["shown"], "shown") if filled.get("shown") else [[], {}]
    match found:
        case [list(args), dict(kwargs)]:
            return args, kwargs
    raise InvalidArguments.about("shown", "is not what the form held", "Load the form again.")


def keywords(
    filled: Filled, *, stands: Job | None = None, known: Known | None = None, is_shown: bool = False
) -> dict[str, Any]:
    """Read the keywords of `add`. Hidden arguments are those of the job that stands, if the function is still the same.
    `is_shown`: leave them hidden. Raises an Invalid.
    """
    args, kwargs = call_of(filled, known=known)
    if not is_shown:
        is_same = stands is not None and stored_name(filled.get("fn", "")) == stands.fn
        seen = shown_of(filled) if is_same else ([], {})
        stored = (list(stands.args), dict(stands.kwargs or {})) if stands is not None and is_same else ([], {})
        args, kwargs = values.kept(args, seen[0], stored[0]), values.kept(kwargs, seen[1], stored[1])
    given: dict[str, Any] = {"fn": filled.get("fn", ""), "when": filled.get("when", "")}
    if args:
        given["args"] = args
    if kwargs:
        given["kwargs"] = kwargs
    if filled.get("name", "").strip():
        given["name"] = filled["name"].strip()
    if (tz := filled.get("tz", "")) and not is_seven(given["when"]):
        read_zone(tz)
        given["tz"] = tz
    return given | choices.keywords(filled)


def keeps_time(filled: Filled, job: Job) -> bool:
    """Say whether what is filled in as the time is that of the job, unchanged."""
    bounds = choices.of_job(job)
    same = all(filled.get(name, "") == bounds.get(name, "") for name in ("start", "end"))
    return same and (filled.get("when", ""), filled.get("tz", "")) == of_time(job)
