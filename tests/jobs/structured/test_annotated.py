"""Parameters whose annotation JSON has in another form: what travels, what the function gets, and what is refused."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import UTC, date, datetime, time
from decimal import Decimal
from enum import Enum, IntEnum, StrEnum
from pathlib import Path, PurePath
from typing import Annotated, Any, NewType, Optional
from uuid import UUID

import pytest

from workkit import call, job
from workkit.errors import InvalidArguments
from workkit.jobs.arguments import compiled_check
from workkit.jobs.structured import structured
from workkit.verbs.new_job import called

WHEN = datetime(2026, 11, 23, 9, tzinfo=UTC)
DAY, HOUR = date(2026, 11, 23), time(9, 30)
ID = UUID("12345678-1234-5678-1234-567812345678")
Day = NewType("Day", date)


class Color(Enum):
    RED = "red"
    BLUE = 2


class Rank(IntEnum):
    HIGH = 2


class Mode(StrEnum):
    FAST = "fast"


class Moment(datetime):
    """As other libraries have them."""


@dataclass
class Scan:
    data: bytes
    file: Path


def f(when: datetime, price: Decimal, data: bytes, id: UUID, day: date, p: Path, e: Color) -> None: ...
def one(when: datetime) -> None: ...
def maybe(when: datetime | None) -> None: ...
def optional(when: Optional[datetime] = None) -> None: ...  # noqa: UP045
def unsaid(when: datetime = None) -> None: ...  # type: ignore[assignment]  # noqa: RUF013
def days(days: list[date]) -> None: ...
def many(days: Sequence[date]) -> None: ...
def by_name(prices: dict[str, Decimal]) -> None: ...
def pair(pair: tuple[date, Decimal]) -> None: ...
def ids(ids: set[UUID]) -> None: ...
def rest(first: int, *days: date, **prices: Decimal) -> None: ...
def keyword(*, hour: time) -> None: ...
def first(day: date, /, other: int) -> None: ...
def noted(when: Annotated[datetime, "a remark"], day: Day) -> None: ...
def text_or(path: str | Path) -> None: ...
def ranks(rank: Rank, mode: Mode) -> None: ...
def pure(path: PurePath) -> None: ...
def scanned(scan: Scan) -> None: ...
def mixed(n: int, when: datetime, name: str) -> None: ...
async def later(when: datetime) -> None: ...
@job(retries=2)
def marked(when: datetime) -> None: ...
def plain(a: str, b: int, c: float, d: bool, e: dict[str, int], g: list[str], h: Any, i: object, j, k: str | None): ...  # type: ignore[no-untyped-def]


def travelled(fn: Callable[..., Any], args: Any, kwargs: Any) -> tuple[Any, Any, Any, Any]:
    """The JSON of the arguments, and what the function gets."""
    new = called(fn, args=args, kwargs=kwargs or None)
    found = structured(fn)
    assert found is not None
    plain_args, plain_kwargs = json.loads(json.dumps([list(new.args), new.kwargs or {}]))
    built, named = found.built(plain_args, plain_kwargs)
    return plain_args, plain_kwargs, list(built), dict(named or {})


ROWS: list[tuple[Callable[..., Any], list[Any], dict[str, Any], list[Any], dict[str, Any]]] = [
    (f, [WHEN, Decimal("1.50"), b"\0\xff", ID, DAY, Path("/tmp/x"), Color.BLUE], {},
     ["2026-11-23T09:00:00+00:00", "1.50", "AP8=", str(ID), "2026-11-23", "/tmp/x", 2], {}),
    (one, [WHEN], {}, ["2026-11-23T09:00:00+00:00"], {}),
    (one, [], {"when": WHEN}, [], {"when": "2026-11-23T09:00:00+00:00"}),
    (maybe, [WHEN], {}, ["2026-11-23T09:00:00+00:00"], {}),
    (maybe, [None], {}, [None], {}),
    (optional, [WHEN], {}, ["2026-11-23T09:00:00+00:00"], {}),
    (optional, [], {}, [], {}),
    (unsaid, [None], {}, [None], {}),
    (unsaid, [WHEN], {}, ["2026-11-23T09:00:00+00:00"], {}),
    (days, [[DAY, DAY]], {}, [["2026-11-23", "2026-11-23"]], {}),
    (many, [[DAY]], {}, [["2026-11-23"]], {}),
    (by_name, [{"a": Decimal("12.50")}], {}, [{"a": "12.50"}], {}),
    (pair, [(DAY, Decimal(2))], {}, [["2026-11-23", "2"]], {}),
    (ids, [{ID}], {}, [[str(ID)]], {}),
    (rest, [1, DAY, DAY], {"x": Decimal("0.1")}, [1, "2026-11-23", "2026-11-23"], {"x": "0.1"}),
    (keyword, [], {"hour": HOUR}, [], {"hour": "09:30:00"}),
    (first, [DAY, 2], {}, ["2026-11-23", 2], {}),
    (noted, [WHEN, DAY], {}, ["2026-11-23T09:00:00+00:00", "2026-11-23"], {}),
    (ranks, [Rank.HIGH, Mode.FAST], {}, [2, "fast"], {}),
    (pure, [PurePath("a/b")], {}, ["a/b"], {}),
    (scanned, [Scan(b"a", Path("b"))], {}, [{"data": "YQ==", "file": "b"}], {}),
    (mixed, [1, WHEN, "2026-11-23"], {}, [1, "2026-11-23T09:00:00+00:00", "2026-11-23"], {}),
    (later, [WHEN], {}, ["2026-11-23T09:00:00+00:00"], {}),
    (marked, [WHEN], {}, ["2026-11-23T09:00:00+00:00"], {}),
]  # fmt: skip


@pytest.mark.parametrize(("fn", "args", "kwargs", "as_json", "named"), ROWS)
def test_an_object_travels_as_json_and_arrives_as_it_was(
    fn: Callable[..., Any], args: list[Any], kwargs: dict[str, Any], as_json: list[Any], named: dict[str, Any]
) -> None:
    got = travelled(fn, args, kwargs)
    assert got[:2] == (as_json, named)
    built = [list(one) if fn is many else one for one in got[2]]
    assert (built, got[3]) == (args, kwargs)
    assert [*map(type, built)] == [*map(type, args)]
    assert travelled(fn, as_json, named) == got  # what travels may be given too, and is the same job


def test_a_typed_call_and_a_subclass_travel_too() -> None:
    given = call(one, WHEN)
    assert called(given.fn, args=given.args, kwargs=None).args == ("2026-11-23T09:00:00+00:00",)
    moment = Moment(2026, 11, 23, 9, tzinfo=UTC)
    assert called(one, args=[moment], kwargs=None).args == ("2026-11-23T09:00:00+00:00",)


def test_text_stays_text_where_the_annotation_takes_text() -> None:
    assert travelled(text_or, ["/tmp"], {})[2] == ["/tmp"]
    assert structured(plain) is None
    args = ["2026-11-23", 1, 1.5, True, {}, ["2026-11-23"], "2026-11-23", str(ID), "x", None]
    assert all(one is other for one, other in zip(called(plain, args=args, kwargs=None).args, args, strict=True))


def test_a_function_without_such_annotations_is_asked_once() -> None:
    structured.cache_clear()
    for _ in range(3):
        assert structured(plain) is None
        called(plain, args=["a", 1, 1.5, True, {}, [], 1, 1, 1, None], kwargs=None)
    assert structured.cache_info().misses == 1
    assert compiled_check(one) is None


REFUSED: list[tuple[Callable[..., Any], Any, str]] = [
    (one, "soon", 'args[0]: when must be a datetime as ISO text, and is "soon". Write "2026-11-23T09:00:00+00:00".'),
    (one, 5, 'args[0]: when must be a datetime as ISO text, and is 5. Write "2026-11-23T09:00:00+00:00".'),
    (one, None, 'args[0]: when must be a datetime as ISO text, and is None. Write "2026-11-23T09:00:00+00:00".'),
    (one, {1}, 'args[0]: when must be a datetime as ISO text, and is [1]. Write "2026-11-23T09:00:00+00:00".'),
    (one, object, "args[0]: when must be a datetime as ISO text, and is <class 'object'>."),
    (maybe, "soon", 'args[0]: when must be a datetime as ISO text, and is "soon".'),
    (unsaid, "soon", 'args[0]: when must be a datetime as ISO text, and is "soon".'),
    (days, ["2026-11-23", "soon"], 'args[0][1]: "soon" is no date. Write "2026-11-23".'),
    (by_name, {"a": "much"}, 'args[0]["a"]: "much" is no decimal number. Write it as text: "12.50".'),
    (ranks, 3, "args[0]: rank must be one of 2, and is 3."),
]  # fmt: skip


@pytest.mark.parametrize(("fn", "value", "said"), REFUSED)
def test_a_wrong_value_is_refused_with_the_parameter(fn: Callable[..., Any], value: Any, said: str) -> None:
    args = [value, "fast"] if fn is ranks else [value]
    with pytest.raises(InvalidArguments) as caught:
        called(fn, args=args, kwargs=None)
    assert str(caught.value).startswith(said)
    assert str(caught.value.where).startswith("args[0]")


@pytest.mark.parametrize(
    ("name", "value", "said"),
    [
        ("price", 1.5, 'price must be a decimal number as text, and is 1.5. Write it as text: "12.50".'),
        ("data", "not base64", 'data must be bytes as Base64 text, and is "not base64".'),
        ("id", "x", 'id must be a UUID as text, and is "x".'),
        ("day", WHEN, 'day must be a date as ISO text, and is "2026-11-23T09:00:00+00:00". Write "2026-11-23".'),
        ("p", 5, "p must be a path as text, and is 5."),
        ("e", "green", 'e must be one of "red", 2, and is "green".'),
    ],
)
def test_each_type_names_what_travels_for_it(name: str, value: Any, said: str) -> None:
    args = dict(zip(("when", "price", "data", "id", "day", "p", "e"), ROWS[0][1], strict=True))
    with pytest.raises(InvalidArguments) as caught:
        called(f, args=[], kwargs={**args, name: value})
    assert str(caught.value).startswith(f'kwargs["{name}"]: {said}')
    assert caught.value.where == f'kwargs["{name}"]'


def test_a_function_that_is_only_named_takes_no_objects() -> None:
    from workkit import wire

    new = called("app:f", args=[{"when": WHEN}], kwargs=None)
    with pytest.raises(InvalidArguments) as caught:
        wire.payload(cron="", job=new.fn, args=new.args, extra={})
    assert str(caught.value).endswith(
        "is a datetime, which JSON cannot carry. Pass .isoformat(), and parse it in the function. "
        "A parameter annotated with datetime gets it as datetime."
    )
