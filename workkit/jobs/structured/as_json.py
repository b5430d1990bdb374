"""Structured values as the plain JSON that travels."""

from __future__ import annotations

import dataclasses
import json
from enum import Enum
from typing import Any

from workkit.jobs.json_value import at_key, check_key, plain_value
from workkit.jobs.structured.leaves import leaf_text
from workkit.jobs.structured.models import is_model, model_json

SIMPLE = frozenset((str, int, float, bool, type(None)))


def is_structured(value: Any) -> bool:
    """Whether this is an object of a dataclass or a model, or a list or dict with such objects as its values."""
    if type(value) in SIMPLE:
        return False
    if isinstance(value, (list, tuple)):
        return any(map(_is_object, value))
    return any(map(_is_object, value.values())) if isinstance(value, dict) else _is_object(value)


def as_json(value: Any, place: str) -> Any:
    """Write a value and all within as JSON has it: objects as dicts of their fields, members of an Enum as their
    values, dates, UUIDs, decimal numbers, bytes and paths as text, sets as lists. Raises InvalidArguments.
    """
    kind = type(value)
    if kind in SIMPLE:
        return value
    if is_model(kind):
        return model_json(value, place)
    if _is_object(value):
        fields = [field.name for field in dataclasses.fields(value) if field.init]
        return {name: as_json(getattr(value, name), f"{place}.{name}") for name in fields}
    if isinstance(value, Enum):
        return as_json(value.value, place)
    if (text := leaf_text(value)) is not None:
        return text
    if isinstance(value, (set, frozenset)):
        return sorted((as_json(inner, place) for inner in value), key=json.dumps)
    plain = plain_value(value, place)
    if isinstance(plain, list):
        return [as_json(inner, f"{place}[{number}]") for number, inner in enumerate(plain)]
    if isinstance(plain, dict):
        for key in plain:
            check_key(key, place)
        return {key: as_json(inner, at_key(place, key)) for key, inner in plain.items()}
    return plain


def _is_object(value: Any) -> bool:
    kind = type(value)
    return kind not in SIMPLE and (dataclasses.is_dataclass(kind) or is_model(kind))
