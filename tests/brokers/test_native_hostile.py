"""Every script and every look, over hostile values in every key: no error but those that a user could have caused."""

from __future__ import annotations

import pytest

from tests.acceptance.hostile_values import MAKERS, Aim, Source, every_key
from tests.brokers.hostile_rounds import Calls, choices, mark_of
from tests.servers import Server
from workkit.brokers.scripts import load

ROUNDS, VALUES = 9, 110


@pytest.fixture(autouse=True)
def _soon(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let the second look at an orphan follow at once; the moment between is for foreign peers, and none is here."""
    for module in ("inventory", "published"):
        monkeypatch.setattr(f"workkit.brokers.native.{module}.MOMENT", 0.01)


def test_every_key_has_hostile_values() -> None:
    assert set(MAKERS) == every_key()


def test_hostile_values_are_the_same_for_the_same_seed() -> None:
    aim = Aim(now_ms=1_800_000_000_000, listeners=("h:1:0123456789ab",), names=("n",), limits=("fn:x",))
    first, second = (list(Source(seed=5).values(3000, aim)) for _ in range(2))
    assert first == second
    assert {value.name for value in first} == every_key()
    assert first != list(Source(seed=6).values(3000, aim))


@pytest.mark.parametrize("seed", [1, 2, 3])
def test_no_call_fails_over_hostile_values(server: Server, seed: int) -> None:
    calls, source = Calls(url=server.url, client=server.client()), Source(seed=seed)
    complaints: dict[tuple[str, str], str] = {}
    for only in choices(seed, ROUNDS):
        values, failures = calls.round(source, VALUES, only=only)
        for failed in failures:
            if mark_of(failed) not in complaints:
                complaints[mark_of(failed)] = str(calls.blamed(failed, values))
    assert not complaints, "\n" + "\n".join(complaints.values())


@pytest.mark.parametrize("name", sorted(MAKERS))
def test_no_call_fails_over_hostile_values_of_one_key(server: Server, name: str) -> None:
    calls = Calls(url=server.url, client=server.client())
    values, failures = calls.round(Source(seed=7), VALUES, only=frozenset([name]))
    assert not failures, "\n" + "\n".join(str(calls.blamed(failed, values)) for failed in failures)


def test_the_calls_use_every_script(server: Server) -> None:
    calls = Calls(url=server.url, client=server.client())
    for only in choices(4, 6):
        calls.round(Source(seed=4), VALUES, only=only)
    assert calls.asked == set(load("native"))
