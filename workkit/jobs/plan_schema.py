"""The JSON schema of a plan, for editors: made from the table of options."""

from __future__ import annotations

from collections.abc import Mapping
from types import UnionType
from typing import Any, Literal, Union, get_args, get_origin

from workkit.jobs.options import ADD, BY_NAME, names_at

_TEXT = {"type": "string", "minLength": 1}
_KINDS: dict[Any, dict[str, Any]] = {bool: {"type": "boolean"}, int: {"type": "integer"}}
_KINDS[Mapping[str, str]] = {"type": "object", "additionalProperties": {"type": "string"}}
_TIMES = {
    "every": "when it runs, again and again, in words",
    "at": "the one instant at which it runs, with its date",
    "cron": "when it runs, as a cron string of five or seven fields",
    "when": "words or a cron string",
}


def plan_schema() -> dict[str, Any]:
    """Make the schema of a plan: a table for each job, under its name."""
    properties: dict[str, Any] = {
        "fn": {**_TEXT, "description": "the function, as module:function"},
        "args": {"type": "array", "description": "its arguments"},
        "kwargs": {"type": "object", "description": "its arguments by name"},
        **{name: {**_TEXT, "description": meaning} for name, meaning in _TIMES.items()},
    }
    for name in names_at(ADD):
        option = BY_NAME[name]
        about = option.meaning if option.default == "none" else f"{option.meaning}; default: {option.default}"
        properties[name] = {**_kind(option.type), "description": about}
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": "a plan of workkit: a table for each job, under its name",
        "type": "object",
        "additionalProperties": {
            "type": "object",
            "properties": properties,
            "required": ["fn"],
            "oneOf": [{"required": [name]} for name in _TIMES],
            "additionalProperties": False,
        },
    }


def _kind(kind: Any) -> dict[str, Any]:
    if get_origin(kind) is Literal:
        return {"enum": list(get_args(kind))}
    among = get_args(kind) if get_origin(kind) in (Union, UnionType) else (kind,)
    found = [_KINDS[one] for one in among if one in _KINDS]
    if len(found) < len(among):
        found.append(_TEXT)
    return found[0] if len(found) == 1 else {"anyOf": found}
