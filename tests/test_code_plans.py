"""Plans that come with code: decorated functions, and which of two versions holds (spec/plans.md)."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator
from contextlib import closing
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from tests.plans import NEW, OLD, imported, write
from tests.processes import until
from tests.servers import Server, program
from workkit import errors, events, schedule
from workkit.contract.producer import CodePlan, PlanMark
from workkit.jobs.planned import planned_here
from workkit.verbs.addition import addition
from workkit.verbs.opening import producer_of
from workkit.verbs.plan import Plan

V1 = """
@s.every("weekday at 9am", name="digest")
def digest(): return 1
@s.cron("0 3 * * *")
def clean(): ...
@s.at("2050-03-01 9am", name="party", args=["you"])
def party(who): ...
"""
V2 = """
@s.every("weekday at 10am", name="digest")
def digest(): return 1
@s.every("hour", name="fresh")
def clean(): ...
@s.at("2050-03-01 9am", name="party", args=["you"])
def party(who): ...
"""
number = itertools.count()

Sync = Callable[..., Plan]


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    """One server for this file: tests/acceptance/test_code_plans.py has the other product."""
    with closing(Server(program("valkey"), folder=tmp_path_factory.mktemp("valkey"), is_durable=False)) as own:
        own.start()
        yield own


@pytest.fixture(params=[1, 3])
def s(server: Server, name: str, request: pytest.FixtureRequest) -> schedule.Schedule:
    return schedule.create(name, redis=server.url, shards=request.param)


@pytest.fixture
def app() -> str:
    return f"planning{next(number)}"


@pytest.fixture
def sync(s: schedule.Schedule, app: str, tmp_path: Path) -> Sync:
    """Sync as a program with this version of the module does."""

    def done(text: str, written: int = OLD, *, module: str = app, **how: Any) -> Plan:
        with imported(write(tmp_path, module, text, schedule=s.name, written=written)):
            return schedule.sync(s, **how)

    return done


def standing(s: schedule.Schedule) -> dict[str, str]:
    """The jobs by name, each with when it runs next in Paris."""
    return {job.name or "": f"{job.due:%H:%M}" if job.due else "" for job in schedule.jobs(s)}


def words(plan: Plan) -> str:
    return str(plan)


def test_a_decorated_function_stays_what_it_is_and_is_planned(app: str, tmp_path: Path) -> None:
    with imported(write(tmp_path, app, V1, schedule="nowhere", written=OLD)) as module:
        assert module.digest() == 1
        (source,) = planned_here("nowhere")
        assert (source.name, source.written_ms) == (app, OLD * 1000)
        assert set(source.jobs) == {"digest", f"{app}.clean", "party"}
        assert source.jobs["digest"].tz == "Europe/Paris"
        assert planned_here("elsewhere") == []
    assert planned_here("nowhere") == []


@pytest.mark.parametrize(
    ("above", "kind", "message"),
    [
        (
            '@s.at("7pm tomorrow")',
            errors.TriggerError,
            "at='7pm tomorrow' depends on the present, and a plan is read at",
        ),
        ('@s.at("25 december at 9am")', errors.TriggerError, "depends on the present"),
        ('@s.every("day at 9am", start="tomorrow")', errors.TriggerError, "depends on the present"),
        ('@s.every("mondaay")', errors.PhraseError, '"mondaay"'),
        ('@s.every("hour", throttle="5m")', errors.InvalidOptions, "throttle= belongs to one addition, not to a plan."),
        ('@s.every("hour", retrys=3)', errors.InvalidOptions, "Did you mean retries=3?"),
        ('@s.every("hour", name="a*b")', errors.InvalidOptions, "has a *"),
        ('@s.every("hour", name="taken")', errors.InvalidOptions, "name='taken' is planned for first too."),
    ],
)
def test_what_cannot_be_planned_is_refused_where_it_stands(
    app: str, tmp_path: Path, above: str, kind: type[Exception], message: str
) -> None:
    text = f'@s.every("hour", name="taken")\ndef first(): ...\n{above}\ndef f(): ...\n'
    file = write(tmp_path, app, text, schedule="nowhere", written=OLD)
    with pytest.raises(kind) as caught, imported(file):
        pass
    assert message in str(caught.value)


def test_a_plan_is_made_so_once(s: schedule.Schedule, sync: Sync, app: str) -> None:
    assert words(sync(V1, dry_run=True)) == "3 added"
    assert standing(s) == {}
    assert words(sync(V1)) == "3 added"
    made = {job.id for job in schedule.jobs(s)}
    assert words(sync(V1)) == "3 unchanged"
    assert {job.id for job in schedule.jobs(s)} == made
    assert set(standing(s)) == {"digest", f"{app}.clean", "party"}
    assert schedule.job(s, "digest").trigger.tz == "Europe/Paris"  # type: ignore[union-attr]


def test_a_newer_version_replaces_and_removes_and_an_older_one_does_nothing(
    s: schedule.Schedule, sync: Sync, app: str
) -> None:
    sync(V1)
    schedule.add(s, "app:other", every="day at 1am", name="by hand")
    newer = sync(V2, NEW)
    assert (newer.added, newer.changed, newer.removed) == (("fresh",), ("digest",), (f"{app}.clean",))
    after = standing(s)
    assert set(after) == {"digest", "fresh", "party", "by hand"}
    older = sync(V1)
    assert (str(older), older.older) == (f"left to a newer plan: {app}", (app,))
    assert standing(s) == after


def test_a_replaced_version_stays_replaced_however_late_its_files_were_written(
    s: schedule.Schedule, sync: Sync
) -> None:
    sync(V1)
    sync(V2, NEW)
    assert sync(V1, NEW + 1000).older
    assert "fresh" in standing(s)


def test_a_version_that_was_never_seen_and_is_older_does_nothing(s: schedule.Schedule, sync: Sync) -> None:
    sync(V2, NEW)
    assert sync(V1, OLD).older
    assert "fresh" in standing(s)


def test_a_file_from_the_future_keeps_no_later_plan_out(s: schedule.Schedule, sync: Sync) -> None:
    sync(V1, 4_000_000_000)
    now = producer_of(s).now_ms() // 1000
    assert not sync(V2, now + 60).older


@pytest.mark.parametrize(("first", "second"), [("1.9", "1.10"), ("2026.11.22", "2026.11.23"), (41, "42")])
def test_a_plan_version_decides_before_the_time_of_the_files(
    s: schedule.Schedule, sync: Sync, first: Any, second: Any
) -> None:
    sync(V2, OLD, plan_version=second)
    assert sync(V1, NEW, plan_version=first).older
    assert not sync(V1, OLD, plan_version=f"{second}.1").older
    assert "fresh" not in standing(s)


@pytest.mark.parametrize("version", ["abc", "", "1.2rc1", 1.5, "3f2a"])
def test_what_is_no_version_is_refused(s: schedule.Schedule, version: Any) -> None:
    with pytest.raises(errors.InvalidOptions, match=r"^plan_version=.* is not a version\. Write numbers"):
        schedule.sync(s, plan_version=version)


def test_a_rollback_that_is_meant_holds_against_the_newer_one(s: schedule.Schedule, sync: Sync) -> None:
    sync(V1)
    sync(V2, NEW)
    assert words(sync(V1, rollback=True, dry_run=True)) == "1 added, 1 changed, 1 removed, 1 unchanged"
    assert words(sync(V1, rollback=True)) == "1 added, 1 changed, 1 removed, 1 unchanged"
    assert sync(V2, NEW).older
    assert "fresh" not in standing(s)
    assert not sync(V2.replace("10am", "11am"), NEW + 1).older
    assert "fresh" in standing(s)


def test_each_module_has_a_plan_of_its_own(s: schedule.Schedule, sync: Sync, app: str) -> None:
    sync(V1)
    other = '@s.every("day at noon", name="lunch")\ndef lunch(): ...\n'
    assert words(sync(other, module=f"{app}_other")) == "1 added"
    assert set(standing(s)) == {"digest", f"{app}.clean", "party", "lunch"}


def test_a_job_moves_to_another_module(s: schedule.Schedule, sync: Sync, app: str, tmp_path: Path) -> None:
    sync(V1)
    moved = '@s.every("weekday at 9am", name="digest")\ndef digest(): ...\n'
    rest = V1.replace('@s.every("weekday at 9am", name="digest")\n', "")
    with imported(write(tmp_path, f"{app}_b", moved, schedule=s.name, written=NEW)):
        assert sync(rest, NEW).changed == ("digest",)
    assert schedule.job(s, "digest").fn == f"#'{app}_b/digest"
    assert sync(V1).older
    assert schedule.job(s, "digest").fn == f"#'{app}_b/digest"


def test_a_module_that_plans_nothing_any_more_loses_its_jobs(s: schedule.Schedule, sync: Sync) -> None:
    sync(V1)
    assert len(sync("", NEW).removed) == 3
    assert standing(s) == {}
    assert sync(V1).older


def test_a_module_that_is_renamed_takes_its_jobs_along(s: schedule.Schedule, sync: Sync, app: str) -> None:
    sync(V1)
    renamed = sync(V2, NEW, module=f"{app}_b")
    assert (renamed.added, renamed.removed) == (("fresh",), (f"{app}.clean",))
    after = standing(s)
    assert app in sync(V1).older
    assert standing(s) == after
    assert words(sync(V2, NEW, module=f"{app}_b")) == "3 unchanged"


def test_the_older_name_of_a_module_does_nothing_though_it_is_seen_later(
    s: schedule.Schedule, sync: Sync, app: str
) -> None:
    sync(V2, NEW, module=f"{app}_b")
    after = standing(s)
    assert app in sync(V1, OLD).older
    assert standing(s) == after
    assert words(sync(V2, NEW, module=f"{app}_b")) == "3 unchanged"


def test_a_name_in_two_modules_is_refused(s: schedule.Schedule, sync: Sync, app: str, tmp_path: Path) -> None:
    with (
        imported(write(tmp_path, f"{app}_b", V2, schedule=s.name, written=OLD)),
        pytest.raises(errors.InvalidOptions, match=f"^job digest is planned by {app} and by {app}_b"),
    ):
        sync(V1)
    assert standing(s) == {}


def test_nothing_planned_is_said(s: schedule.Schedule) -> None:
    with pytest.raises(errors.InvalidOptions, match="no module that is imported here plans a job of"):
        schedule.sync(s)


def test_what_was_changed_by_hand_is_put_back(s: schedule.Schedule, sync: Sync) -> None:
    sync(V1)
    schedule.add(s, "app:other", every="hour", name="digest")
    schedule.cancel(s, "party")
    found = sync(V1)
    assert (found.changed, found.over) == (("digest",), ("party",))  # one that runs once is not added again
    assert schedule.job(s, "digest").fn != "#'app/other"
    assert "party" not in standing(s)


def test_a_job_that_has_had_its_last_run_is_over(s: schedule.Schedule, sync: Sync) -> None:
    past = '@s.at("2020-03-01 9am", name="past")\ndef past(): ...\n'
    ended = '@s.every("day at 9am", name="ended", end="2020-01-01")\ndef ended(): ...\n'
    found = sync(past + ended)
    assert (str(found), sorted(found.over)) == ("2 over", ["ended", "past"])
    assert standing(s) == {}


def test_a_mistake_that_is_no_matter_of_time_is_not_taken_for_over(s: schedule.Schedule, sync: Sync) -> None:
    with pytest.raises(errors.InvalidArguments, match=r"^job digest: "):
        sync('@s.every("day at 9am", name="digest", args=[1, 2])\ndef digest(): ...\n')


def test_a_paused_job_stays_paused_until_the_plan_drops_it(s: schedule.Schedule, sync: Sync, app: str) -> None:
    sync(V1)
    schedule.pause(s, f"{app}.clean")
    schedule.pause(s, "digest")
    sync(V2, NEW)
    assert schedule.job(s, "digest").state == "paused"
    sync(V1, rollback=True)
    assert schedule.job(s, f"{app}.clean").state == "waiting"


def test_a_sync_is_recorded_where_it_changes_something(s: schedule.Schedule, sync: Sync) -> None:
    sync(V1, by="anna")
    sync(V1, by="bert")
    said = [(change.verb, change.by, change.times) for change in schedule.changes(s)]
    assert said == [("sync", "anna", 3)]


def test_a_run_that_is_due_is_taken_over_by_the_job_that_replaces_it(server: Server, name: str, tmp_path: Path) -> None:
    s = schedule.create(name, redis=server.url)
    with imported(write(tmp_path, "owing", V1, schedule=name, written=OLD)):
        schedule.sync(s)
    due_ms = producer_of(s).now_ms() - 1000
    item = b'{"id":"%s"}' % schedule.job(s, "digest").id.encode()
    server.client().zadd(f"{name}:next", {item: due_ms})
    with imported(write(tmp_path, "owing", V2, schedule=name, written=NEW)):
        schedule.sync(s)
    job = schedule.job(s, "digest")
    assert job.due == datetime.fromtimestamp(due_ms // 1000 + due_ms % 1000 / 1000, UTC)
    assert schedule.job(s, "fresh").due > datetime.fromtimestamp(due_ms / 1000, UTC)  # type: ignore[operator]


def marked(s: schedule.Schedule, generation: int, *, now_ms: int, ends: bool = False, every: str = "hour") -> Any:
    new = addition({"fn": "app:f", "every": every, "name": "x"}, s=s, now_ms=lambda: now_ms)
    new.plan = PlanMark(source="app", generation=generation, ends=ends)
    return new


def test_a_program_whose_plan_was_replaced_meanwhile_writes_nothing(s: schedule.Schedule) -> None:
    broker = producer_of(s)
    (first,) = broker.plans.decide([CodePlan(source="app", digest="1")], mode="newer")
    (second,) = broker.plans.decide([CodePlan(source="app", digest="2")], mode="newer")
    assert (first.standing, second.standing) == ("new", "new")
    (late,) = broker.adding([marked(s, first.generation, now_ms=broker.now_ms())])()
    assert (late.is_outdated, late.new, standing(s)) == (True, False, {})
    broker.adding([marked(s, second.generation, now_ms=broker.now_ms())])()
    assert broker.plans.withdraw(["x"], source="app", generation=first.generation) is False
    assert set(standing(s)) == {"x"}
    assert broker.plans.withdraw(["x"], source="app", generation=second.generation) is True
    assert (standing(s), broker.plans.made()) == ({}, {})


def test_a_first_run_that_is_due_already_is_refused_and_changes_nothing(s: schedule.Schedule) -> None:
    broker = producer_of(s)
    (one,) = broker.plans.decide([CodePlan(source="app", digest="1")], mode="newer")
    (late,) = broker.adding([marked(s, one.generation, now_ms=broker.now_ms() - 3_600_000)])()
    assert (late.is_late, late.new, standing(s), broker.plans.made()) == (True, False, {}, {})


def test_plans_that_nobody_can_read_count_as_none(server: Server, s: schedule.Schedule) -> None:
    client = server.client()
    for key in (s.name, *(f"{{{s.name}.{n}}}" for n in range(3))):
        for n, value in enumerate((b"", b"\x96\x01", b"\xff" * 9, b"\x96\xa1x\x01\x02\x03\x04\x05", b"\x95abcde")):
            client.hset(f"{key}:plans", f"plan:app{n}", value)
        client.hset(f"{key}:plans", "job:x", b"nonsense")
    found = producer_of(s).plans.decide([CodePlan(source=f"app{n}", digest="1") for n in range(5)], mode="newer")
    assert [one.standing for one in found] == ["new"] * 5
    assert producer_of(s).plans.made() == {}


def test_rollback_and_version_are_refused_beside_a_plan_that_is_given(s: schedule.Schedule) -> None:
    with pytest.raises(errors.InvalidOptions, match=r"^rollback=True with a plan that is given"):
        schedule.sync(s, {}, rollback=True)
    with pytest.raises(errors.InvalidOptions, match=r"^plan_version='1' with a plan that is given"):
        schedule.sync(s, {}, plan_version="1")


def test_a_layout_without_names_refuses_a_plan(server: Server, name: str, tmp_path: Path) -> None:
    s = schedule.create(name, redis=server.url, layout="gocraft")
    with imported(write(tmp_path, "unnamed", V1, schedule=name, written=OLD)), pytest.raises(errors.Unsupported):
        schedule.sync(s)


def test_a_listener_starts_on_a_full_server_and_says_that_it_did_not_sync(
    own_server: Server, name: str, tmp_path: Path
) -> None:
    s = schedule.create(name, redis=own_server.url)
    said: list[str] = []
    own_server.client().config_set("maxmemory", "1")
    end = events.subscribe(lambda event: said.append(event.name))
    try:
        with imported(write(tmp_path, "full", V1, schedule=name, written=OLD)), schedule.listener(s, sync=True):
            pass
    finally:
        end()
    assert said[0] == "not_synced"
    assert "listening" in said


ONCE = """
from datetime import datetime, UTC
ran = []
@s.at(datetime.fromtimestamp({second}, UTC), name="once")
def once(): ran.append(1)
"""


def test_a_job_that_runs_once_runs_once_however_often_it_is_synced(server: Server, name: str, tmp_path: Path) -> None:
    s = schedule.create(name, redis=server.url)
    text = ONCE.format(second=producer_of(s).now_ms() // 1000 + 2)
    with (
        imported(write(tmp_path, "oncely", text, schedule=name, written=OLD)) as module,
        schedule.listener(s, folder=None, sync=True, threads=2),
    ):
        assert [job.name for job in schedule.jobs(s)] == ["once"]
        until(lambda: schedule.sync(s).over == ("once",) and module.ran)
        assert (schedule.sync(s).over, module.ran) == (("once",), [1])
        assert standing(s) == {}
