"""What listeners tell of the functions that they know: who reads it, how long it stays, and what others wrote there."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import msgpack
import pytest

from tests.processes import until
from tests.servers import Server
from workkit import schedule
from workkit.brokers.native.codec import LONGEST, functions_text, read_text
from workkit.jobs.arguments import KnownFunction, Parameter
from workkit.jobs.consumers import MOST, known_functions
from workkit.schedule import Schedule
from workkit.verbs.opening import producer_of

NOTE = "#'tests.handlers/note"


@pytest.fixture
def s(server: Server, name: str) -> Schedule:
    return schedule.create(name, redis=server.url)


def test_a_listener_tells_what_it_knows_and_takes_it_back(s: Schedule, server: Server) -> None:
    with schedule.listener(s, imports=["tests.handlers"], threads=1):
        known = producer_of(s).inspector.history.knows()
        with schedule.listener(s, imports=["tests.handlers"], threads=1):
            assert producer_of(s).inspector.history.knows()[NOTE].listeners == 2
            assert sum(field.startswith(b"is:") for field in server.client().hkeys(f"{s.name}:functions")) == 1
    assert [(one.name, one.kind) for one in known[NOTE].parameters] == [("args", "rest"), ("kwargs", "options")]
    assert producer_of(s).inspector.history.knows() == {}
    assert not server.client().exists(f"{s.name}:functions")


def test_a_listener_that_was_fenced_tells_it_again(s: Schedule, server: Server) -> None:
    client = server.client()
    with schedule.listener(s, imports=["tests.handlers"], threads=1):
        (before,) = client.zrange(f"{s.name}:listeners", 0, -1)
        client.delete(f"{s.name}:listeners", f"{s.name}:running:{before.decode()}")
        until(lambda: client.zcard(f"{s.name}:listeners") == 1)
        until(lambda: NOTE in producer_of(s).inspector.history.knows())
        assert f"of:{before.decode()}".encode() not in client.hkeys(f"{s.name}:functions")


def test_a_listener_that_does_not_publish_writes_nothing(s: Schedule, server: Server) -> None:
    with schedule.listener(s, imports=["tests.handlers"], publish=False):
        assert not server.client().exists(f"{s.name}:functions")


def test_what_a_dead_listener_told_is_not_read_and_goes_with_the_next_one(s: Schedule, server: Server) -> None:
    digest, text = functions_text([KnownFunction(fn="gone")])
    client = server.client()
    client.hset(f"{s.name}:functions", mapping={"of:nobody:1:ab": digest, f"is:{digest}": text})
    assert producer_of(s).inspector.history.knows() == {}
    with schedule.listener(s, imports=["tests.handlers"]):
        assert f"is:{digest}".encode() not in client.hkeys(f"{s.name}:functions")


@pytest.mark.parametrize(
    "packed",
    [
        b"",
        b"\xc1",
        b"\x91" * 5000,
        msgpack.packb({"a": 1}),
        msgpack.packb([1, None, [], ["f"], ["f", 1, "", {}], ["", [], "", {}], ["x" * 5000, [], "", {}]]),
        b"\x00" * (3 * LONGEST),
    ],
)
def test_what_others_write_there_is_read_as_nothing(s: Schedule, server: Server, packed: bytes) -> None:
    assert read_text(packed) == []
    client = server.client()
    client.zadd(f"{s.name}:listeners", {"me": 9e15})
    client.hset(f"{s.name}:functions", mapping={"of:me": "d", "is:d": packed})
    assert producer_of(s).inspector.history.knows() == {}
    client.delete(f"{s.name}:functions")
    client.set(f"{s.name}:functions", "text")
    assert producer_of(s).inspector.history.knows() == {}
    with schedule.listener(s, imports=["tests.handlers"]):
        assert client.get(f"{s.name}:functions") == b"text"


@pytest.mark.parametrize("shards", [1, 3])
def test_each_listener_tells_what_it_cannot_run(server: Server, name: str, shards: int) -> None:
    s = schedule.create(name, redis=server.url, shards=shards)
    for n in range(6):
        schedule.add_now(s, "gone:away", args=(n,))
    schedule.add_now(s, "gone:again")
    with schedule.listener(s, imports=["tests.handlers"], threads=1):
        inspector = producer_of(s).inspector
        names = [info.listener for info in inspector.listeners()]  # one for each shard

        def told() -> set[str]:
            found = inspector.history.refused([*names, "nobody:1:0123456789ab"])
            assert set(found) <= set(names)
            return {fn for known in found.values() for fn in known}

        until(lambda: told() == {"#'gone/again", "#'gone/away"}, what="both functions")


def test_rates_by_class_are_told_and_numbers_only() -> None:
    limits: dict[str, Any] = {"limit": 2, "rate_ms": {"gold": 600.0, "": 3000}}
    (known,) = read_text(functions_text([KnownFunction(fn="f", limits=limits)])[1])
    assert known.limits == limits
    for wrong in ({"gold": "x"}, {5: 1.0}, {"gold": {"": 1}}, [1], "1"):
        assert read_text(msgpack.packb([["f", [], "", {"rate_ms": wrong, "limit": 2}]]))[0].limits == {"limit": 2}


def test_what_is_told_is_bounded() -> None:
    many = [KnownFunction(fn=f"f{n}", doc="x" * 120, parameters=(Parameter(name="p" * 60),) * 30) for n in range(MOST)]
    assert len(functions_text(many)[1]) <= 1.1 * LONGEST
    assert 0 < len(read_text(functions_text(many)[1])) < MOST


def test_a_signature_is_told_without_calling_anything(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "odd_handlers.py").write_text(
        "class Evil:\n    def __repr__(self):\n        raise SystemExit\n    __str__ = __repr__\n"
        "class Model(metaclass=type('Meta', (type,), {})): ...\n"  # as pydantic has it
        "def f(team: str, top: int = 10, *rest, token=Evil(), long: Model = 'x' * 99, **more):\n"
        "    '''Send it.\n\n    Slowly.'''\n"
        "def _hidden(): ...\n"
    )
    monkeypatch.syspath_prepend(tmp_path)
    import odd_handlers  # type: ignore[import-not-found]

    assert odd_handlers
    try:
        found = {known.fn: known for known in known_functions(["odd_handlers"])}
    finally:
        del sys.modules["odd_handlers"]
    assert "#'odd-handlers/_hidden" not in found
    known = next(one for name, one in found.items() if name.startswith("#'odd"))
    assert known.doc == "Send it."
    assert [(p.name, p.kind, p.annotation, p.default) for p in known.parameters] == [
        ("team", "positional", "str", None),
        ("top", "positional", "int", "10"),
        ("rest", "rest", "", None),
        ("token", "keyword", "", "…"),
        ("long", "keyword", "Model", "…"),
        ("more", "options", "", None),
    ]
