"""Whether a call fits, told before it is made."""

from __future__ import annotations

from typing import Any

import pytest

from workkit.errors import InvalidArguments
from workkit.jobs.arguments import check_call


def welcome(email: str) -> None: ...
def range_(start: int, end: int | None = None, *, step: float = 1.0) -> None: ...
def anything(*args: Any, **kwargs: Any) -> None: ...
def listed(rows: list[dict[str, int]], flag: bool = False) -> None: ...
def unknown(x: NoSuchType) -> None: ...  # type: ignore[name-defined] # noqa: F821


@pytest.mark.parametrize(
    ("fn", "args", "kwargs"),
    [
        (welcome, ["a@b.c"], {}), (range_, [1], {}), (range_, [1, None], {"step": 2}), (range_, [True, 3], {}),
        (anything, [1, 2, 3], {"x": 1}), (listed, [[{"a": 1}]], {}), (listed, [()], {"flag": True}), (unknown, [1], {}),
        (print, [1], {}),
    ],
)  # fmt: skip
def test_what_fits_passes(fn: Any, args: list[Any], kwargs: dict[str, Any]) -> None:
    check_call(fn, args=args, kwargs=kwargs)


@pytest.mark.parametrize(
    ("fn", "args", "kwargs", "message"),
    [
        (welcome, ["a", "b"], {}, "welcome(email) takes 1 argument; args has 2."),
        (welcome, [], {}, "welcome(email) takes 1 argument; args has 0."),
        (range_, [], {}, "range_(start, end, step) takes 1 to 2 arguments; args has 0."),
        (welcome, [5], {}, "welcome(email): email=5 is an int, and email is annotated str."),
        (range_, ["1"], {}, "range_(start, end, step): start='1' is a str, and start is annotated int."),
        (range_, [1, "2"], {},
         "range_(start, end, step): end='2' is a str, and end is annotated int or NoneType."),
        (range_, [1], {"stop": 2},
         "range_(start, end, step) cannot be called so: got an unexpected keyword argument 'stop'."),
    ],
)  # fmt: skip
def test_what_does_not_fit_is_refused(fn: Any, args: list[Any], kwargs: dict[str, Any], message: str) -> None:
    with pytest.raises(InvalidArguments) as caught:
        check_call(fn, args=args, kwargs=kwargs)
    assert str(caught.value) == message
