"""A plan in TOML, as `workkit sync` reads it, of the entries of another scheduler: one table for each entry, with its
source as comments; comments replace a refused entry.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path

from workkit.jobs.options import LONGEST_NAME
from workkit.moving.found import Carried, Found, Refused
from workkit.text.wording import plural
from workkit.triggers.crons.grammars import looks_like_cron

_BARE = re.compile(r"[A-Za-z0-9_-]+")
_UNNAMED = re.compile(r"[\x00-\x1f\x7f*]+")
_ESCAPED = {'"': '\\"', "\\": "\\\\", "\n": "\\n", "\t": "\\t", "\r": "\\r", "\b": "\\b", "\f": "\\f"}
_CONTROL = re.compile(r'["\\\x00-\x1f\x7f]')
_LINE_ENDS = re.compile(r"[\r\n\x0b\x0c\x1c-\x1e\x85\u2028\u2029]+")
_NOT_IN_A_COMMENT = re.compile(r"[\x00-\x08\x0e-\x1f\x7f]")


def settled(found: Iterable[Found]) -> list[Found]:
    """Give every entry a unique name that a job may have, and refuse entries that TOML cannot express. Equal input
    gives equal names: a name that is taken gets "-2", "-3" ... in the order of the source.
    """
    taken: set[str] = set()
    done: list[Found] = []
    for entry in found:
        if isinstance(entry, Carried):
            entry = _speakable(entry)
        if isinstance(entry, Carried):
            entry = replace(entry, name=_free(_name(entry.name), taken))
            taken.add(entry.name)
        done.append(entry)
    return done


def plan_text(found: Sequence[Found], *, source: str) -> str:
    """Write `settled` entries as a plan in TOML. `source`: the source in words: "the crontab /etc/crontab"."""
    carried = sum(isinstance(entry, Carried) for entry in found)
    head = f"A plan of {source}: {plural(carried, 'job')}, {len(found) - carried:,} refused."
    lines = [*_comment(head), *_comment("Next: workkit sync app-tasks plan.toml --dry-run")]
    for entry in found:
        lines += ["", *(_table(entry) if isinstance(entry, Carried) else _refusal(entry))]
    return "\n".join(lines) + "\n"


def value_text(value: object) -> str:
    """Write a value as TOML. Raises ValueError with the name of a value that TOML lacks: null, a date."""
    match value:
        case bool():
            return "true" if value else "false"
        case int() | float():
            return repr(value)
        case str():
            return f'"{_CONTROL.sub(_escaped, value)}"'
        case list() | tuple():
            return f"[{', '.join(map(value_text, value))}]"
        case Mapping():
            pairs = ", ".join(f"{_key(str(name))} = {value_text(inner)}" for name, inner in value.items())
            return f"{{{pairs}}}"
    raise ValueError("null" if value is None else f"a {type(value).__name__}")


def _table(entry: Carried) -> Iterator[str]:
    for comment in (entry.where, *entry.comments):
        yield from _comment(comment)
    yield f"[{_key(entry.name)}]"
    yield f"fn = {value_text(entry.function)}"
    yield f"{'cron' if looks_like_cron(entry.when) else 'when'} = {value_text(entry.when)}"
    if entry.args:
        yield f"args = {value_text(entry.args)}"
    if entry.kwargs:
        yield f"kwargs = {value_text(entry.kwargs)}"
    for name, value in entry.options.items():
        yield f"{_key(name)} = {value_text(value)}"


def _refusal(entry: Refused) -> Iterator[str]:
    yield from _comment(f"REFUSED, {entry.where}: {entry.text}")
    yield from _comment(" ".join(part for part in (entry.reason, entry.instead) if part))


def _comment(text: str) -> list[str]:
    """Write a text as comments. No character of it can end the comment and become a line of the plan."""
    lines = [_NOT_IN_A_COMMENT.sub("\N{REPLACEMENT CHARACTER}", line) for line in _LINE_ENDS.split(text)]
    return [f"# {line}".rstrip() for line in lines]


def _speakable(entry: Carried) -> Found:
    try:
        list(_table(entry))
    except ValueError as error:
        reason = f"An argument holds {error}, which a plan in TOML has not."
        instead = "Add it in code: workkit sync takes MODULE:MAPPING too."
        return Refused(where=entry.where, text=f"{entry.name}: {entry.function}", reason=reason, instead=instead)
    return entry


def _name(text: str) -> str:
    return " ".join(_UNNAMED.sub(" ", text).split())[:LONGEST_NAME].strip() or "job"


def _free(name: str, taken: set[str]) -> str:
    number, free = 2, name
    while free in taken:
        end = f"-{number}"
        number, free = number + 1, name[: LONGEST_NAME - len(end)].rstrip() + end
    return free


def _key(name: str) -> str:
    return name if _BARE.fullmatch(name) else value_text(name)


def _escaped(found: re.Match[str]) -> str:
    return _ESCAPED.get(found[0]) or f"\\u{ord(found[0]):04x}"


def source_name(kind: str, what: str) -> str:
    """Name a source in the head of a plan: "the crontab web.cron"; a path by its last part, so that the plan is the
    same on every machine.
    """
    return f"the {kind} {'on stdin' if what == '-' else Path(what).name or what}"
