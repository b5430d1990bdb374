"""Models of pydantic, by pydantic's own rules. It is imported only once a model was seen, by whoever defined it."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, Final

from workkit.errors import InvalidArguments, described
from workkit.jobs.json_value import at_key
from workkit.jobs.structured.leaves import Reader
from workkit.jobs.structured.refusal import missing, refused

if TYPE_CHECKING:
    from pydantic import ValidationError

_WORDS: Final[Mapping[str, str]] = {  # its types of errors, in the words of the plain rules
    "int_type": "is no whole number",
    "int_parsing": "is no whole number",
    "int_from_float": "is no whole number",
    "float_type": "is no number",
    "float_parsing": "is no number",
    "string_type": "is no text",
    "bool_type": "is neither true nor false",
    "bool_parsing": "is neither true nor false",
    "list_type": "is no list",
    "dict_type": "is no dict",
    "uuid_type": "is no UUID",
    "uuid_parsing": "is no UUID",
}
_SECRETS = ("SecretStr", "SecretBytes")


def is_model(hint: Any) -> bool:
    """Whether this is a class of pydantic: a model, or one of its dataclasses."""
    return isinstance(hint, type) and hasattr(hint, "__pydantic_validator__")


def model_reader(hint: Any) -> Reader:
    """Find what builds the values of an annotation with a model in it. Pydantic reads JSON: a strict model takes a date
    as text.
    """
    from pydantic import TypeAdapter, ValidationError
    from pydantic.errors import PydanticUserError

    try:
        adapter: TypeAdapter[Any] = TypeAdapter(hint)
    except (PydanticUserError, NameError) as error:
        why = described(error)

        def refuse(value: Any, place: str) -> Any:
            raise refused(place, value, f"is for an annotation that pydantic does not read: {why}")

        return refuse

    def read(value: Any, place: str) -> Any:
        try:
            return adapter.validate_json(json.dumps(value))
        except ValidationError as error:
            raise _translated(error, value, place) from None

    return read


def model_json(value: Any, place: str) -> Any:
    """Write an object of a class of pydantic as JSON has it. Raises InvalidArguments."""
    from pydantic import TypeAdapter
    from pydantic_core import PydanticSerializationError

    if secret := _secret(value, place):
        trouble = "is a secret of pydantic, which would travel as asterisks"
        raise InvalidArguments.about(secret, trouble, "Pass what identifies it, and look it up in the function.")
    adapter: TypeAdapter[Any] = TypeAdapter(type(value))
    try:
        return adapter.dump_python(value, mode="json", by_alias=True, round_trip=True, warnings=False)
    except PydanticSerializationError as error:
        raise InvalidArguments.about(place, f"cannot be written as JSON: {described(error)}", given=value) from error


def _secret(value: Any, place: str) -> str | None:
    """Find the place of a secret."""
    if type(value).__name__ in _SECRETS:
        return place
    inner: Sequence[tuple[Any, str]] = ()
    if is_model(type(value)):
        inner = [(one, f"{place}.{name}") for name, one in vars(value).items()]
    elif isinstance(value, dict):
        inner = [(one, at_key(place, str(key))) for key, one in value.items()]
    elif isinstance(value, (list, tuple)):
        inner = [(one, f"{place}[{number}]") for number, one in enumerate(value)]
    return next((found for one, where in inner if (found := _secret(one, where))), None)


def _translated(error: ValidationError, value: Any, place: str) -> InvalidArguments:
    """Tell the first thing that is wrong, with its place in the value."""
    first = error.errors(include_url=False)[0]
    where, kind = _place(first["loc"], value, place), first["type"]
    if kind == "missing":
        return missing(where)
    if kind == "extra_forbidden":
        return InvalidArguments.about(where, "is not a field of its model", given=first["input"])
    message = first["msg"].rstrip(".")
    return refused(where, first["input"], _WORDS.get(kind) or f"is refused: {message[:1].lower()}{message[1:]}")


def _place(steps: Sequence[int | str], value: Any, place: str) -> str:
    """Follow the steps as far as they lead through the value: a step may also name a member of a union."""
    for number, step in enumerate(steps):
        is_last = number == len(steps) - 1
        if isinstance(value, dict) and isinstance(step, str) and (step in value or is_last):
            place = f"{place}.{step}" if step.isidentifier() else at_key(place, step)
            value = value.get(step)
        elif isinstance(value, (list, tuple)) and isinstance(step, int) and 0 <= step < len(value):
            place, value = f"{place}[{step}]", value[step]
    return place
