"""`dead --acknowledge`: deaths that somebody knows of are no finding; one that comes later is."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

import pytest

from tests.cli.conftest import Run
from tests.processes import until
from tests.servers import Server
from workkit import schedule
from workkit.contract.admin import Acknowledged
from workkit.errors import Unsupported
from workkit.verbs.opening import producer_of

HOW: dict[str, Any] = {"imports": ["tests.handlers"], "folder": None}


@pytest.fixture
def s(own_server: Server, name: str, monkeypatch: pytest.MonkeyPatch) -> Iterator[schedule.Schedule]:
    """A schedule that somebody listens to."""
    monkeypatch.setenv("WORKKIT_REDIS_URL", own_server.url)
    s = schedule.create(name)
    with schedule.listener(s, **HOW):
        yield s


def die(s: schedule.Schedule, count: int) -> None:
    before = schedule.counts(s).dead
    for n in range(count):
        schedule.add_now(s, "tests.handlers:fail", args=[f"disk {before + n}"])
    until(lambda: schedule.counts(s).dead == before + count)


def test_old_deaths_are_no_finding_and_a_new_one_is(run: Run, s: schedule.Schedule) -> None:
    die(s, 3)
    found = run("doctor", s.name)
    assert (found.status, "3 jobs failed for good" in found.out) == (1, True)
    said = run("dead", s.name, "--acknowledge")
    assert said == (
        0, f"{s.name}: 3 dead jobs acknowledged. workkit doctor reports those that die later.\n", ""
    )  # fmt: skip
    assert run("doctor", s.name).out.endswith(f"{s.name}: all is well\n")
    assert "all of these are acknowledged" in run("dead", s.name).err.casefold()
    die(s, 1)
    found = run("doctor", s.name)
    assert (found.status, "1 job failed for good" in found.out) == (1, True)
    first, *others = schedule.dead(s)
    assert f"{others[0].short_id} and what failed before it is acknowledged" in run("dead", s.name).err
    records = json.loads(run("dead", s.name, "--json").out)
    assert [one["acknowledged"] for one in records] == [False, True, True, True]
    assert records[0]["id"] == first.id
    counts = schedule.counts(s)
    assert (counts.dead, counts.known_dead) == (4, 3)
    assert run("dead", s.name, "--acknowledge").status == 0, "again: the later ones too"
    assert run("doctor", s.name).status == 0
    assert schedule.changes(s)[0].verb == "acknowledge"
    assert schedule.retry(s) == 4, "they are dead as before"


def test_a_part_cannot_be_acknowledged(run: Run, s: schedule.Schedule) -> None:
    die(s, 1)
    refused = run("dead", s.name, "--acknowledge", "--where", "disk")
    assert (refused.status, "names a part. Keep one." in refused.err) == (2, True)
    assert schedule.counts(s).known_dead == 0


def test_an_instant_to_come_or_no_number_acknowledges_nothing(
    run: Run, s: schedule.Schedule, own_server: Server
) -> None:
    die(s, 1)
    for value in ("9" * 15, "-1", "nan", "9" * 16):
        own_server.client().hset(f"{s.name}:control", "known_dead", value)
        assert "1 job failed for good" in run("doctor", s.name).out, value
        assert schedule.counts(s).known_dead == 0


def test_shards_are_acknowledged_together(server: Server, name: str) -> None:
    s = schedule.create(name, redis=server.url, shards=2)
    with schedule.listener(s, **HOW):
        die(s, 6)
    broker = producer_of(s)
    broker.admin.steer(Acknowledged())
    assert (broker.inspector.counts().known_dead, broker.inspector.pulse().counts.known_dead) == (6, 6)
    assert "dead" not in {finding.kind for finding in broker.doctor.checkup(patience_ms=0)}


def test_a_namespace_keeps_no_such_instant(server: Server, name: str) -> None:
    with pytest.raises(Unsupported, match="cannot be kept in a gocraft namespace"):
        producer_of(schedule.create(name, redis=server.url, layout="gocraft")).admin.steer(Acknowledged())
