"""Pauses of names and of whole namespaces, by us and by other programs (section 11 of the layout)."""

from __future__ import annotations

import pytest

from tests.brokers.gocraft.serving.fleet import Namespace
from tests.processes import until
from workkit.contract.admin import Limited, NextRun, Paused, Resumed
from workkit.errors import Unsupported
from workkit.jobs.admission import Pause


def paused(ns: Namespace) -> dict[str, Pause]:
    return dict(ns.producer.inspector.control().paused)


def test_a_reason_and_a_time_are_kept_where_go_pools_honour_them(ns: Namespace) -> None:
    at = ns.producer.now_ms() + 60_000
    ns.producer.admin.steer(Paused("fn:export", Pause(reason="disk full", until_ms=at)))
    assert ns.raw.get(ns.keys.paused("export")) == b"disk full"
    assert 59_000 < ns.raw.pttl(ns.keys.paused("export")) <= 60_000
    found = paused(ns)["fn:export"]
    assert found.reason == "disk full"
    assert found.until_ms is not None
    assert abs(found.until_ms - at) < 50
    ns.producer.admin.steer(Paused("fn:export", Pause()))
    assert paused(ns) == {"fn:export": Pause()}


@pytest.mark.parametrize("value", ["1", "0", "", "true"])
def test_a_pause_of_another_program_is_seen_and_ended(ns: Namespace, value: str) -> None:
    ns.add("export")
    ns.raw.set(ns.keys.paused("export"), value)
    assert paused(ns) == {"fn:export": Pause()}
    (job,) = ns.producer.inspector.jobs()
    assert (job.state, job.why) == ("paused", "paused")
    assert ns.producer.admin.steer(Resumed("fn:export"))
    assert not ns.producer.admin.steer(Resumed("fn:export"))
    assert ns.pool("export").claim(1).claims


def test_a_key_of_any_type_pauses(ns: Namespace) -> None:
    ns.add("export")
    ns.raw.sadd(ns.keys.paused("export"), "x")
    assert paused(ns) == {"fn:export": Pause()}
    ns.producer.admin.steer(Paused("schedule", Pause()))
    assert ns.producer.admin.steer(Resumed("schedule"))
    assert paused(ns) == {"fn:export": Pause()}
    assert ns.producer.admin.steer(Resumed("fn:export"))


def test_a_paused_namespace_is_paused_for_go_pools_too(ns: Namespace) -> None:
    ns.add("export")
    ns.producer.admin.steer(Paused("schedule", Pause(reason="migration", until_ms=ns.producer.now_ms() + 60_000)))
    ns.add("send_email")
    pool = ns.pool("export", "served")
    for name in ("export", "send_email", "served"):
        assert 0 < ns.raw.pttl(ns.keys.paused(name)) <= 60_000
    ns.push("never_seen", {"name": "never_seen", "id": "a", "t": 1, "args": None})  # as Go adds: its key is not there
    assert list(paused(ns)) == ["schedule"]
    assert not pool.claim(5).claims
    assert {job.why for job in ns.producer.inspector.jobs()} == {f"paused until {until_text(ns)} UTC: migration"}
    assert ns.producer.admin.steer(Resumed("schedule"))
    assert not ns.producer.admin.steer(Resumed("schedule"))
    assert not [key for key in ns.raw.keys("*") if key.endswith(b":paused")]
    assert pool.claim(5).claims


def until_text(ns: Namespace) -> str:
    from datetime import UTC, datetime

    until_ms = paused(ns)["schedule"].until_ms
    assert until_ms is not None
    return f"{datetime.fromtimestamp(until_ms / 1000, UTC):%Y-%m-%d %H:%M:%S}"


def test_a_paused_namespace_resumes_by_itself_for_every_name(ns: Namespace) -> None:
    ns.add("export")
    ns.producer.admin.steer(Paused("fn:mail", Pause()))
    ns.producer.admin.steer(Paused("schedule", Pause(until_ms=ns.producer.now_ms() + 300)))
    pool = ns.pool("export", "mail")
    assert not pool.claim(5).claims
    until(lambda: pool.claim(5).claims, what="the pause to end")
    assert paused(ns) == {"fn:mail": Pause()}


def test_a_name_is_paused_before_it_is_known(ns: Namespace) -> None:
    ns.producer.admin.steer(Paused("fn:later", Pause()))
    assert paused(ns) == {"fn:later": Pause()}
    assert not ns.raw.exists(ns.keys.known_jobs)
    ns.add("later")
    assert not ns.pool("later").claim(1).claims
    ns.producer.admin.steer(Resumed("fn:later"))
    assert not ns.raw.exists(ns.keys.paused_names)


def test_what_no_go_pool_honours_is_refused(ns: Namespace) -> None:
    id = ns.add("export")
    admin = ns.producer.admin
    for change in (
        lambda: admin.steer(Paused(f"job:{id}", Pause())),
        lambda: admin.steer(Resumed(f"job:{id}")),
        lambda: admin.steer(Limited(limit=5, turn_ms=None)),
        lambda: admin.reschedule([ns.producer.inspector.job(id)], NextRun())[0],
    ):
        with pytest.raises(Unsupported):
            change()
    assert not [key for key in ns.raw.keys("*") if b"paused" in key]
