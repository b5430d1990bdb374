"""The options of an addition as fields of a form, made from the table of options. Which of them stand in a sentence is
said here; those that do not are listed with what the table says of them.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final, Literal, get_args, get_origin

from workkit.jobs.job import Job
from workkit.jobs.options import ADD, BY_NAME, PRIORITIES, VerbOption, names_at
from workkit.text.duration import duration_text
from workkit.text.wording import iso

ELSEWHERE: Final = ("tz", "name", "meta")
"""Options with a place of their own in the form."""

WORDS: Final[Mapping[str, Mapping[str, str]]] = {
    "overlap": {
        "allow": "run beside it", "skip": "leave this one out", "queue": "run after it", "cancel": "end the other"
    },
    "catch_up": {"once": "run once, late", "all": "run all of them, late", "skip": "leave it out"},
    "backoff": {
        "exponential": "and twice as long each time", "linear": "and longer by that each time",
        "constant": "and the same each time",
    },
}  # fmt: skip
"""How choices read in a sentence; one that is not here reads as the option's own word."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Field:
    """An option in the form. `choices`: (value, words), none for a box; the value "" is the default."""

    option: VerbOption
    value: str
    choices: tuple[tuple[str, str], ...] = ()

    @property
    def name(self) -> str:
        """The keyword."""
        return self.option.name

    @property
    def default(self) -> str:
        """What holds where nothing is said."""
        return self.option.default.strip('"')


def fields(values: Mapping[str, str]) -> dict[str, Field]:
    """Make the fields of all options of an addition, with what is filled in."""
    return {
        name: Field(option=BY_NAME[name], value=values.get(name, ""), choices=_choices(BY_NAME[name]))
        for name in names_at(ADD)
        if name not in ELSEWHERE
    }


def keywords(values: Mapping[str, str]) -> dict[str, Any]:
    """Read what is filled in as keywords of `add`; whether a value is one, `add` says."""
    return {
        name: _given(BY_NAME[name], text.strip())
        for name in names_at(ADD)
        if name not in ELSEWHERE and (text := values.get(name, "")).strip()
    }


def of_job(job: Job) -> dict[str, str]:
    """Write the options that a job has, as they stand in the form."""
    stored = job.options.fields() | job.terms.fields()
    found = {
        name: _text(name, stored[member])
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
    words, default = WORDS.get(option.name, {}), option.default.strip('"')
    return tuple(("" if str(one) == default else str(one), words.get(str(one), str(one))) for one in accepted)


def _given(option: VerbOption, text: str) -> Any:
    if option.type is bool:
        return {"True": True, "False": False}.get(text, text)
    if option.type in (int, int | str) and text.isdecimal() and len(text) < 20:
        return int(text)
    return text


def _text(name: str, value: Any) -> str:
    if not str(BY_NAME[name].member).endswith("_ms"):
        return str(value)
    return duration_text(value, 9).replace(" min", "m").replace(" ms", "ms").replace(" s", "s").replace(" h", "h")
