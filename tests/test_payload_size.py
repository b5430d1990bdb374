"""Large arguments: above 1 MB an addition warns, above `max_payload` it is refused, in every layout, by every verb."""

from __future__ import annotations

import asyncio
import warnings
from collections.abc import Callable
from typing import Any

import pytest

from tests.servers import Server
from workkit import aio, schedule
from workkit.brokers.gocraft import codec as gocraft
from workkit.brokers.gocraft.keys import Keys
from workkit.brokers.hutch import codec as hutch
from workkit.brokers.hutch.names import Names
from workkit.brokers.native.codec import Codec
from workkit.contract.producer import MOST_BYTES, NewJob, check_size
from workkit.errors import InvalidArguments, InvalidOptions, WorkkitWarning
from workkit.verbs.rescheduling import saved

NOW = 1_700_000_000_000
SMALL = 2_000  # the limit of these schedules
TEXT = "x" * 3_000


def written(layout: str, new: NewJob) -> bytes:
    if layout == "native":
        return Codec("s").encode(new, now_ms=NOW, nonce="n").payload
    if layout == "gocraft":
        return gocraft.rows(Keys("s"), [new], now_ms=NOW)[0].text
    return hutch.messages(Names(exchange="s", dialect="hutch", prefix=""), [new], now_ms=NOW)[0].body


def large(layout: str, length: int, *, most: int | None) -> NewJob:
    text = "x" * length
    args: dict[str, Any] = {"args": (), "kwargs": {"text": text}}
    if layout != "gocraft":
        args = {"args": ({"text": text},), "kwargs": None}
    new = NewJob(fn="app.orders" if layout == "hutch" else "app", trigger=None, due_ms=None, queued=True, **args)
    new.most_bytes = most
    return new


@pytest.mark.parametrize("layout", ["native", "gocraft", "hutch"])
def test_the_bytes_of_a_layout_count(layout: str) -> None:
    size = len(written(layout, large(layout, 3_000, most=None)))
    assert len(written(layout, large(layout, 3_000, most=size))) == size
    with pytest.raises(InvalidArguments) as caught:
        written(layout, large(layout, 3_000, most=size - 1))
    name = "app.orders" if layout == "hutch" else "app"
    assert str(caught.value) == (
        f"the arguments of {name} take {size:,} bytes as JSON, and max_payload is {size - 1:,}. Store the data "
        "elsewhere, and pass its key; or raise max_payload of schedule.create."
    )
    assert caught.value.where == "args"


@pytest.mark.parametrize("layout", ["native", "gocraft", "hutch"])
def test_above_a_megabyte_a_layout_warns(layout: str) -> None:
    with pytest.warns(
        WorkkitWarning, match=r"^the arguments of app\S* take 1,000,\d\d\d bytes as JSON: the server keeps"
    ):
        written(layout, large(layout, 1_000_000, most=MOST_BYTES))
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        written(layout, large(layout, 1_000_000, most=None))  # a forward: checked where it was added
        check_size(b"x" * 1_000_000, fn="app", most=MOST_BYTES)


Add = Callable[[schedule.Schedule, str], object]
VERBS: dict[str, Add] = {
    "add": lambda s, text: schedule.add(s, "app:f", in_="1 hour", args=[text]),
    "add_now": lambda s, text: schedule.add_now(s, "app:f", args=[text]),
    "kwargs": lambda s, text: schedule.add_now(s, "app:f", kwargs={"text": text}),
    "named": lambda s, text: schedule.add(s, "app:f", every="hour", name="n", args=[text]),
    "add_many": lambda s, text: schedule.add_many(s, [{"fn": "app:f", "at": "now", "args": [text]}]),
    "sync": lambda s, text: schedule.sync(s, {"n": {"fn": "app:f", "every": "hour", "args": [text]}}),
    "aio": lambda s, text: asyncio.run(aio.add_now(s, "app:f", args=[text])),
    "web": lambda s, text: saved(s, {"fn": "app:f", "every": "hour", "args": [text], "name": "n"}, seen=None),
    "retry": lambda s, text: schedule.retry(s, dying(s), args=[text]),
}


def dying(s: schedule.Schedule) -> str:
    """Return the id of a dead job."""
    if not schedule.counts(s).dead:
        schedule.add_now(s, "tests.handlers:fail")
        schedule.drain(s, imports=["tests.handlers"], raise_errors=False)
    return next(schedule.jobs(s, state="dead")).id


@pytest.mark.parametrize("verb", VERBS)
def test_a_verb_refuses_more_than_max_payload_and_changes_nothing(server: Server, name: str, verb: str) -> None:
    s = schedule.create(name, redis=server.url, max_payload=SMALL)
    if verb == "retry":
        dying(s)
    before = schedule.counts(s)
    with pytest.raises(
        InvalidArguments, match=r"the arguments of \S+ take 3,\d\d\d bytes as JSON, and max_payload is 2,000"
    ):
        VERBS[verb](s, TEXT)
    assert schedule.counts(s) == before
    VERBS[verb](s, "short")
    if verb != "retry":
        assert schedule.counts(s) != before


def test_whoever_adds_is_warned(server: Server, name: str) -> None:
    s = schedule.create(name, redis=server.url)
    with pytest.warns(WorkkitWarning, match="take 1,0") as caught:
        schedule.add_now(s, "app:f", args=["x" * 1_000_000])
    assert [warning.filename for warning in caught] == [__file__]


@pytest.mark.parametrize(("given", "size"), [("2 kB", 2_000), (5, 5), ("512 MB", 512_000_000), (None, 10_000_000)])
def test_max_payload_is_a_size(given: Any, size: int) -> None:
    assert schedule.create("x", max_payload=given).max_payload == size


@pytest.mark.parametrize("layout", ["native", "gocraft", "hutch"])
def test_the_environment_says_max_payload_where_the_program_does_not(
    layout: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("WORKKIT_MAX_PAYLOAD", "3 MB")
    assert schedule.create("x", layout=layout).max_payload == 3_000_000
    assert schedule.create("x", layout=layout, max_payload="1 MB").max_payload == 1_000_000


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ("many", """max_payload='many' is not a size. Write a number of bytes, or "5 MB" or "500 kB"."""),
        ("1000 MB", "max_payload='1000 MB' is out of range. Accepted: 1 byte to 512 MB."),
    ],
)
def test_another_max_payload_is_refused(given: Any, message: str) -> None:
    with pytest.raises(InvalidOptions) as caught:
        schedule.create("x", max_payload=given)
    assert str(caught.value).replace('"many"', "'many'").replace('"1000 MB"', "'1000 MB'") == message
