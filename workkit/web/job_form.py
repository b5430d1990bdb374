"""The form of a job: filled in from a job, and read back to the keywords of `add`. Pure.

A hidden argument shows its mask, and keeps its value unless the user types another one. Fields of options come from the
table of options.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from typing import Any, Final, Literal, get_args, get_origin

from workkit.contract.mask import Mask
from workkit.errors import InvalidArguments, InvalidFunction
from workkit.jobs.arguments import KnownFunction, Parameter
from workkit.jobs.job import Job, argument_text
from workkit.jobs.names import stored_name
from workkit.jobs.options import ADD, BY_NAME, PRIORITIES, VerbOption, names_at
from workkit.text.masked_text import MASK
from workkit.text.wording import duration_text, iso
from workkit.triggers import explain
from workkit.triggers.zone import zone as read_zone
from workkit.web.typed_time import is_seven, time_words

MOST_BOXES: Final = 20
LONGEST: Final = 60_000  # characters of the arguments in a form
MOST_FILLED: Final = 30_000  # characters; beyond, long values become masks
LONG_VALUE: Final = 500
_TEXTS: Final = ("str", "datetime", "date", "time", "Decimal", "UUID", "bytes", "Path")  # types that JSON has as text
_MISSING: Final = object()
_SOME_TIME: Final = datetime(2000, 1, 1, tzinfo=UTC)  # words for a recurring time read alike at any instant


@dataclass(frozen=True, slots=True, kw_only=True)
class Box:
    """The box of one parameter: its field in the form, and its text."""

    field: str
    parameter: Parameter
    text: str = ""


def read_json(text: str, name: str) -> Any:
    """Read JSON. Raises InvalidArguments."""
    try:
        if len(text) > LONGEST:
            raise ValueError(f"it has {len(text):,} characters")
        return json.loads(text, parse_constant=_refused)
    except (ValueError, RecursionError) as error:
        position = getattr(error, "pos", None)
        where = "" if position is None else f" (column {position + 1})"
        remedy = 'Write for example ["finance", 20].' if name == "args" else 'Write for example {"top": 20}.'
        raise InvalidArguments.about(
            name, f"is not JSON{where}: {getattr(error, 'msg', error)}", remedy, given=text[:200], position=position
        ) from None


def read_call(args: str, kwargs: str) -> tuple[list[Any], dict[str, Any]]:
    """Read the arguments of a call: a JSON list and a JSON object. Each may be empty. Raises InvalidArguments."""
    listed = read_json(args, "args") if args.strip() else []
    named = read_json(kwargs, "kwargs") if kwargs.strip() else {}
    if not isinstance(listed, list):
        raise InvalidArguments.about("args", "is not a list", 'Write for example ["finance", 20].', given=args[:200])
    if not isinstance(named, dict):
        raise InvalidArguments.about("kwargs", "is not an object", 'Write for example {"top": 20}.', given=kwargs[:200])
    return listed, named


def boxes(known: KnownFunction | None, args: Sequence[Any], kwargs: Mapping[str, Any]) -> tuple[Box, ...] | None:
    """Lay out a call in boxes, one for each parameter; None where boxes cannot express the call."""
    if known is None or not known.parameters or len(known.parameters) > MOST_BOXES:
        return None
    if any(one.kind not in ("positional", "keyword") for one in known.parameters):
        return None
    positional = [one for one in known.parameters if one.kind == "positional"]
    if len(args) > len(positional) or not set(kwargs) <= {one.name for one in known.parameters}:
        return None
    given = dict(zip((one.name for one in positional), args, strict=False))
    if given.keys() & kwargs.keys():
        return None
    given |= kwargs
    found = []
    for number, parameter in enumerate(known.parameters):
        value = given.get(parameter.name, _MISSING)
        text = "" if value is _MISSING else _text(value, parameter)
        if value is not _MISSING and (not text or _value(text, parameter) != value):
            return None
        found.append(Box(field=f"p{number}", parameter=parameter, text=text))
    return tuple(found)


def from_boxes(
    filled: Sequence[tuple[Parameter, str]], *, by_name: Mapping[str, Any]
) -> tuple[list[Any], dict[str, Any]]:
    """Read a call from boxes: by position up to the first gap, then by name. Those in `by_name` are read by name."""
    args: list[Any] = []
    kwargs: dict[str, Any] = {}
    has_gap = False
    for parameter, text in filled:
        if not text:
            has_gap = True
            continue
        value = _value(text, parameter)
        if has_gap or parameter.kind == "keyword" or parameter.name in by_name:
            has_gap = True
            kwargs[parameter.name] = value
        else:
            args.append(value)
    return args, kwargs


def keep_hidden(given: Any, seen: Any, stored: Any) -> Any:
    """Restore hidden values: a value in `given` that equals the one in `seen` becomes the one in `stored`. Raises
    InvalidArguments for a mask without a stored value.
    """
    if given == seen and type(given) is type(seen):
        return stored
    if isinstance(given, dict):
        below, above = (one if isinstance(one, Mapping) else {} for one in (seen, stored))
        return {key: keep_hidden(value, below.get(key, _MISSING), above.get(key)) for key, value in given.items()}
    if isinstance(given, list):
        first, second = (list(one) if isinstance(one, list | tuple) else [] for one in (seen, stored))
        return [
            keep_hidden(value, first[k] if k < len(first) else _MISSING, second[k] if k < len(second) else None)
            for k, value in enumerate(given)
        ]
    if isinstance(given, str) and MASK in given:
        trouble = "stands for a value that is hidden, and cannot be kept here"
        raise InvalidArguments.about(f'"{MASK}"', trouble, "Write the value.", given=MASK)
    return given


def _text(value: Any, parameter: Parameter) -> str:
    if isinstance(value, str) and (value == MASK or _value(value, parameter) == value):
        return value
    return argument_text(value)


def _value(text: str, parameter: Parameter) -> Any:
    if parameter.annotation in _TEXTS or text == MASK:
        return text
    try:
        return json.loads(text, parse_constant=_refused)
    except (ValueError, RecursionError):
        return text


def _refused(constant: str) -> Any:
    raise ValueError(f"{constant} is not JSON")


ELSEWHERE: Final = ("tz", "name", "meta", "once_key", "once_for")
"""Options with a place of their own in the form, or without one: a job that is edited keeps them."""

CHOICE_WORDS: Final[Mapping[str, Mapping[str, str]]] = {
    "overlap": {
        "allow": "run beside it", "skip": "leave this one out", "queue": "run after it", "cancel": "end the other"
    },
    "catch_up": {"once": "run once, late", "all": "run all of them, late", "skip": "leave it out"},
    "backoff": {
        "exponential": "and twice as long each time", "linear": "and longer by that each time",
        "constant": "and the same each time",
    },
}  # fmt: skip
"""Words for choices in a sentence. Other choices use the option's own word."""


@dataclass(frozen=True, slots=True, kw_only=True)
class OptionField:
    """An option in the form. `choices`: pairs of value and words, none for a box; the value "" is the default."""

    option: VerbOption
    value: str
    choices: tuple[tuple[str, str], ...] = ()

    @property
    def name(self) -> str:
        """The keyword of the option."""
        return self.option.name

    @property
    def default(self) -> str:
        """The text of the default value."""
        return self.option.default.strip('"')


def option_fields(values: Mapping[str, str]) -> dict[str, OptionField]:
    """Make the fields of all options of an addition, with the filled-in values."""
    return {
        name: OptionField(option=BY_NAME[name], value=values.get(name, ""), choices=_choices(BY_NAME[name]))
        for name in names_at(ADD)
        if name not in ELSEWHERE
    }


def option_keywords(values: Mapping[str, str]) -> dict[str, Any]:
    """Read the filled-in values as keywords of `add`. Only `add` checks the values."""
    return {
        name: _given(BY_NAME[name], text.strip())
        for name in names_at(ADD)
        if name not in ELSEWHERE and (text := values.get(name, "")).strip()
    }


def options_of_job(job: Job) -> dict[str, str]:
    """Return the options of a job as texts for the form."""
    stored = job.options.fields() | job.terms.fields()
    found = {
        name: _option_text(name, stored[member])
        for name in names_at(ADD)
        if name not in ELSEWHERE and (member := BY_NAME[name].member) is not None and member in stored
    }
    for name, bound in (("start", job.trigger and job.trigger.start), ("end", job.trigger and job.trigger.end)):
        if bound:
            found[name] = iso(bound)
    return found


def _choices(option: VerbOption) -> tuple[tuple[str, str], ...]:
    accepted: tuple[Any, ...] = ()
    if get_origin(option.type) is Literal:
        accepted = get_args(option.type)
    elif option.type is bool:
        accepted = ("True", "False")
    elif option.name == "priority":
        accepted = PRIORITIES
    words, default = CHOICE_WORDS.get(option.name, {}), option.default.strip('"')
    return tuple(("" if str(one) == default else str(one), words.get(str(one), str(one))) for one in accepted)


def tags_text(tags: Sequence[str]) -> str:
    """Write tags with commas between them, or as a JSON list where a tag has a comma."""
    text = ", ".join(tags)
    return argument_text(list(tags)) if text.startswith("[") or _tags_of(text) != list(tags) else text


def _tags_of(text: str) -> list[Any]:
    if text.startswith("["):
        found = read_json(text, "tags")
        return found if isinstance(found, list) else [found]
    return [tag for part in text.split(",") if (tag := part.strip())]


def _keep_tag(tag: Any, stored: Sequence[str]) -> Any:
    """Find the stored tag of a masked one. Raises InvalidArguments where none or several look so."""
    if not isinstance(tag, str) or MASK not in tag:
        return tag
    pattern = re.compile(".+".join(map(re.escape, tag.split(MASK))))
    found = [one for one in stored if pattern.fullmatch(one)]
    return found[0] if len(found) == 1 else keep_hidden(tag, _MISSING, None)


def _given(option: VerbOption, text: str) -> Any:
    if option.name == "tags":
        return _tags_of(text)
    if option.type is bool:
        return {"True": True, "False": False}.get(text, text)
    if option.type in (int, int | str) and text.isdecimal() and len(text) < 20:
        return int(text)
    return text


def _option_text(name: str, value: Any) -> str:
    if name == "tags":
        return tags_text(value)
    if not str(BY_NAME[name].member).endswith("_ms"):
        return str(value)
    return duration_text(value, 9).replace(" min", "m").replace(" ms", "ms").replace(" s", "s").replace(" h", "h")


TEXTS: Final = ("when", "tz", "fn", "name", "args", "kwargs", "shown", "seen", "laid")
BOXES: Final = tuple(f"p{number}" for number in range(MOST_BOXES))
FIELDS: Final = (*TEXTS, *BOXES, *(name for name in option_fields({})))
"""All fields of the form."""

Filled = Mapping[str, str]


def form_of_job(job: Job, *, mask: Mask, names: Sequence[str] = ()) -> dict[str, str]:
    """Fill in the form from a stored job. Masks replace hidden values, and also long values where the arguments are too
    long for a form; both kinds keep their value. `names`: the known names of the positional parameters.
    """
    args, kwargs = mask.arguments(job.args, job.kwargs, names)
    if len(argument_text([list(args), kwargs])) > MOST_FILLED:  # the server refuses a larger form
        args = tuple(map(_short, args))
        kwargs = {name: _short(value) for name, value in kwargs.items()}
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
        **options_of_job(job),
        "tags": tags_text(mask.job(job, names).tags),
    }


def _short(value: Any) -> Any:
    return MASK if len(argument_text(value)) > LONG_VALUE else value


def of_time(job: Job) -> tuple[str, str]:
    """Return the time of a job as words, or as its cron where the words do not read back, without its bounds; and its
    zone.
    """
    if job.trigger is None:
        return "", "UTC"
    trigger = replace(job.trigger, start=None, end=None)
    words = time_words(trigger, _SOME_TIME) if trigger.recurs else None
    return words or explain(trigger).removesuffix(f" {trigger.tz}"), trigger.tz


def fn_text(stored: str) -> str:
    """Write a stored function as people write it: ``app.reports:digest``."""
    text = stored.removeprefix("#'").replace("/", ":", 1).replace("-", "_")
    try:
        return text if stored_name(text) == stored else stored
    except InvalidFunction:
        return stored


def known_of(fn: str, functions: Mapping[str, KnownFunction]) -> KnownFunction | None:
    """Find the published signature of a function, by the name that the user typed."""
    if not fn:
        return None
    try:
        return functions.get(fn) or functions.get(stored_name(fn.removeprefix("@")))
    except InvalidFunction:
        return None


def call_of(filled: Filled, *, known: KnownFunction | None = None) -> tuple[list[Any], dict[str, Any]]:
    """Read the filled-in arguments: from the boxes of the form, else from JSON. Raises InvalidArguments."""
    if known is None or filled.get("laid") != filled.get("fn"):
        return read_call(filled.get("args", ""), filled.get("kwargs", ""))
    pairs = [(one, filled.get(f"p{k}", "")) for k, one in enumerate(known.parameters[:MOST_BOXES])]
    return from_boxes(pairs, by_name=shown_of(filled)[1])


def shown_of(filled: Filled) -> tuple[list[Any], dict[str, Any]]:
    """Read the arguments that the form showed at first."""
    found = read_json(filled["shown"], "shown") if filled.get("shown") else [[], {}]
    match found:
        case [list(args), dict(kwargs)]:
            return args, kwargs
    raise InvalidArguments.about("shown", "is not what the form held", "Load the form again.")


def keywords(
    filled: Filled, *, stands: Job | None = None, known: KnownFunction | None = None, is_shown: bool = False
) -> dict[str, Any]:
    """Read the keywords of `add`. Hidden arguments come from the stored job, if the function is still the same.
    `is_shown`: leave them hidden. Raises an Invalid.
    """
    args, kwargs = call_of(filled, known=known)
    if not is_shown:
        is_same = stands is not None and stored_name(filled.get("fn", "")) == stands.fn
        seen = shown_of(filled) if is_same else ([], {})
        stored = (list(stands.args), dict(stands.kwargs or {})) if stands is not None and is_same else ([], {})
        args, kwargs = keep_hidden(args, seen[0], stored[0]), keep_hidden(kwargs, seen[1], stored[1])
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
    given |= option_keywords(filled)
    if "tags" in given:
        given["tags"] = [_keep_tag(tag, () if stands is None else stands.tags) for tag in given["tags"]]
    return given


def keeps_time(filled: Filled, job: Job) -> bool:
    """Return whether the filled-in time is that of the job, unchanged."""
    bounds = options_of_job(job)
    same = all(filled.get(name, "") == bounds.get(name, "") for name in ("start", "end"))
    return same and (filled.get("when", ""), filled.get("tz", "")) == of_time(job)
