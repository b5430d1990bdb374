"""Plain additions of known jobs: `add.lua` writes the variant with a nonce byte for byte as Python spells it."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

from tests.brokers.additions import broker
from tests.servers import Server
from workkit import schedule, wire
from workkit.brokers.native.codec import Codec
from workkit.contract.producer import NewJob
from workkit.verbs.addition import addition

NOW = 1_795_262_420_500
NONCE = "0123456789abcdef1a2b.ff"
NOWHERE = schedule.create("nowhere", redis="redis://127.0.0.1:1/")
pytestmark = pytest.mark.usefixtures("closed_brokers")

TEXTS = st.text(st.characters(exclude_categories=["Cs"]), max_size=8) | st.sampled_from(
    ['"}', ',"nonce":"x"}', "{", "}", "\\", "a/b", "\x7f", "\0", "\U0001f600", "\u2028", '{"nonce":""}', "%s %1", "\n"]
)
VALUES = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(-(10**20), 10**20)
    | st.floats(allow_nan=False, allow_infinity=False)
    | TEXTS,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(TEXTS, inner, max_size=3),
    max_leaves=12,
)
BEFORE: list[dict[str, Any]] = [  # their fields come before "nonce"
    {}, {"kwargs": {"nonce": 1, "zz": "}"}}, {"meta": {"nonce": "x", "z": "}"}}, {"every": "90 seconds"},
    {"every": "90 seconds", "start": "2100-01-01"},
]  # fmt: skip
BEHIND: list[dict[str, Any]] = [  # a field of theirs comes behind it: opts, until, zone
    {"retries": 2}, {"expires": "1h", "kwargs": {"n": 1}}, {"every": "minute", "end": "2100-01-01"},
    {"every": "day at 9am", "tz": "Europe/Paris"}, {"meta": {"a": "b"}, "retries": 1},
]  # fmt: skip


def of_its_own(*args: Any, **said: Any) -> NewJob:
    """A job of which each addition is a run of its own."""
    time = {} if "every" in said or "cron" in said else {"in_": "2 days"}
    row = {"fn": "app:f", "args": args, "unique": False, **time, **said}
    return addition(row, s=NOWHERE, now_ms=lambda: NOW)


def spelled(payload: bytes) -> bytes:
    """The same payload with the nonce, as `workkit.wire` writes any payload."""
    read = wire.read_payload(payload)
    again, variant = (
        wire.payload(cron=read.cron, job=read.job, args=read.args, extra={**read.extra, **more})
        for more in ({}, {"nonce": NONCE})
    )
    assert again == payload
    return variant


@pytest.mark.parametrize("said", [*BEFORE, *BEHIND], ids=str)
def test_only_a_nonce_is_sent_where_it_comes_behind_the_last_field(said: dict[str, Any]) -> None:
    stored = Codec("s").encode(of_its_own("a/b", **said), now_ms=NOW, nonce=NONCE)
    assert stored.variant == (NONCE if said in BEFORE else spelled(stored.payload).decode())
    assert (stored.second, stored.second_id) == (spelled(stored.payload), wire.job_id(spelled(stored.payload)))


@settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(args=st.lists(VALUES, max_size=3), said=st.sampled_from([*BEFORE, *BEHIND]))
@example(args=[json.loads("[" * 400 + "]" * 400)], said={})
@example(args=["x" * 100_000, '","nonce":"y"}'], said={})
def test_a_known_job_is_stored_with_its_nonce_as_python_spells_it(
    server: Server, name: str, args: list[Any], said: dict[str, Any]
) -> None:
    b, _ = broker(server, name)
    client = server.client()
    client.delete(f"{name}:jobs", f"{name}:next")
    new = of_its_own(*args, **said)
    stored = Codec(name).encode(new, now_ms=NOW, nonce=NONCE)
    second = spelled(stored.payload)
    first, again, third = b.putting([new] * 3, stored=[stored] * 3)()
    assert client.hgetall(f"{name}:jobs") == {
        wire.job_id(stored.payload).encode(): stored.payload,
        wire.job_id(second).encode(): second,
    }
    assert client.zrange(f"{name}:next", 0, -1, withscores=True) == [
        (wire.item(id), new.due_ms) for id in sorted([first.id, again.id])
    ]
    assert [(one.id, one.new) for one in (first, again)] == [(stored.id, True), (wire.job_id(second), True)]
    assert (third.id, third.new, third.due_ms) == (stored.id, False, new.due_ms), "both are known"


def test_each_payload_goes_to_the_server_once(server: Server, name: str) -> None:
    b, _ = broker(server, name)
    client = server.client()

    def received() -> int:
        return int(client.info("stats")["total_net_input_bytes"])

    jobs = [of_its_own("x" * 10_000, n) for n in range(100)]
    b.adding(jobs[:1])()  # loads the script
    before = received()
    added = b.adding(jobs)()
    assert 1_000_000 < received() - before < 1_100_000
    assert (len({one.id for one in added}), {one.new for one in added}) == (100, {True})
