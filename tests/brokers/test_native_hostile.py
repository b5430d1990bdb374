"""Every script and every look, over hostile values in every key: no error but those that a user could have caused.

That these calls use every script, `test_declared_keys.py` shows.
"""

from __future__ import annotations

from collections.abc import Sequence

import pytest

from tests.acceptance.hostile_known import named
from tests.acceptance.hostile_values import MAKERS, Aim, Source, Value, every_key
from tests.brokers.hostile_rounds import Calls, Failed, choices, mark_of
from tests.servers import PRODUCTS, Server

ROUNDS, VALUES = 5, 110


@pytest.fixture(autouse=True)
def _soon(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let the second look at an orphan follow at once; the moment between is for foreign peers, and none is here."""
    monkeypatch.setattr("workkit.brokers.native.look.published.MOMENT", 0.01)


def told(calls: Calls, failures: Sequence[Failed], values: Sequence[Value]) -> str:
    """Each distinct failure, with a value that alone causes it, if there is one."""
    distinct = {mark_of(failed): failed for failed in reversed(failures)}
    return "\n" + "\n".join(str(calls.blamed(failed, values)) for failed in distinct.values())


def test_every_key_has_hostile_values() -> None:
    assert set(MAKERS) == every_key()


def test_hostile_values_are_the_same_for_the_same_seed() -> None:
    aim = Aim(now_ms=1_800_000_000_000, listeners=("h:1:0123456789ab",), names=("n",), limits=("fn:x",))
    first, second = (list(Source(seed=5).values(3000, aim)) for _ in range(2))
    assert first == second
    assert {value.name for value in first} == every_key()
    assert first != list(Source(seed=6).values(3000, aim))


@pytest.mark.parametrize("seed", [1])
def test_no_call_fails_over_hostile_values(server: Server, seed: int) -> None:
    calls, source = Calls(url=server.url, client=server.client()), Source(seed=seed)
    for only in choices(seed, ROUNDS):
        values, failures = calls.round(source, VALUES, only=only)
        assert not failures, told(calls, failures, values)


# Over values in all keys at once every call is made with both products: here each key has one of them.
@pytest.mark.parametrize(
    ("server", "name"), [(PRODUCTS[n % 2], name) for n, name in enumerate(sorted(MAKERS))], indirect=["server"]
)
def test_no_call_fails_over_hostile_values_of_one_key(server: Server, name: str) -> None:
    calls, source = Calls(url=server.url, client=server.client()), Source(seed=7)
    values, failures = calls.round(source, 60, only=frozenset([name]))
    assert not failures, told(calls, failures, values)


def test_no_call_fails_over_the_values_that_are_known_to_hurt(server: Server) -> None:
    calls = Calls(url=server.url, client=server.client())
    values, failures = calls.over(named)
    assert not failures, told(calls, failures, values)
