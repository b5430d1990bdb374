"""A plan of named jobs: what must change, as a pure table; and `sync` on real servers."""

from __future__ import annotations

from datetime import datetime
from typing import Any

import pytest

from tests import handlers
from tests.servers import Server
from workkit import errors, schedule
from workkit.contract.inspector import Named
from workkit.jobs.job import Job
from workkit.triggers import cron
from workkit.verbs.plan import Plan, compare, read_plan

DAILY, ONCE = cron("* * * * 9 0 0"), cron("2050 1 1 * 9 0 0")


def standing(content: str, *, recurs: bool = True) -> Named:
    return Named(job=Job(id=content, schedule="s", fn="app:f", trigger=DAILY if recurs else ONCE), content=content)


@pytest.mark.parametrize(
    ("contents", "there", "prune", "expected"),
    [
        ({}, {}, True, Plan()),
        ({"a": "1"}, {}, False, Plan(added=("a",))),
        ({"a": "1"}, {"a": standing("1")}, False, Plan(unchanged=("a",))),
        ({"a": "2"}, {"a": standing("1")}, False, Plan(changed=("a",))),
        ({}, {"a": standing("1")}, False, Plan()),
        ({}, {"a": standing("1")}, True, Plan(removed=("a",))),
        ({}, {"a": standing("1", recurs=False)}, True, Plan()),
        ({"z": "1", "a": "2", "m": "3"}, {"b": standing("1"), "a": standing("2"), "c": standing("9")}, True,
         Plan(added=("z", "m"), unchanged=("a",), removed=("b", "c"))),
    ],
)  # fmt: skip
def test_what_must_change(contents: dict[str, str], there: dict[str, Named], prune: bool, expected: Plan) -> None:
    after = {name: Job(id=content, schedule="s", fn="app:f") for name, content in contents.items()}
    found = compare(after, contents=contents, standing=there, prune=prune)
    for part in ("added", "changed", "unchanged", "removed"):
        assert getattr(found, part) == getattr(expected, part)
    assert set(found.before) == {*found.changed, *found.unchanged, *found.removed}
    assert found.after == after


@pytest.mark.parametrize(
    ("plan", "text"),
    [
        (Plan(), "nothing planned"),
        (Plan(added=("a", "b"), changed=("c",)), "2 added, 1 changed"),
        (Plan(unchanged=("a",) * 1200, removed=("b",)), "1 removed, 1,200 unchanged"),
    ],
)
def test_a_plan_in_words(plan: Plan, text: str) -> None:
    assert str(plan) == text


@pytest.mark.parametrize(
    ("plan", "kind", "message"),
    [
        (["digest"], errors.InvalidOptions, "the plan is a list. Give a mapping: name -> add's keywords."),
        ({"a": "daily"}, errors.InvalidOptions,
         "job a: 'daily' is not a mapping. Write add's keywords: {\"fn\": ..., \"every\": ...}."),
        ({"a": {"every": "day at 9am"}}, errors.InvalidOptions,
         "job a: fn is missing. Give a function, or call=call(function, ...)."),
        ({"a": {"fn": "app:f", "every": "day at 9am", "name": "b"}}, errors.InvalidOptions,
         "job a: name='b' is another than its name in the plan. Leave it out."),
        ({"a": {"fn": "app:f", "every": "fortnight-ish"}}, errors.PhraseError, "job a: "),
        ({"a": {"fn": "app:f", "evry": "day"}}, errors.InvalidOptions,
         "job a: evry='day' is not an option of add. Did you mean every='day'?"),
        ({"a*": {"fn": "app:f", "every": "day at 9am"}}, errors.InvalidOptions, "job a*: name='a*' has a *"),
        ({7: {"fn": "app:f", "every": "day at 9am"}}, errors.InvalidOptions, "job 7: name=7 is not a text."),
        ({"a": {"fn": "app:f", "at": datetime(2050, 1, 1)}}, errors.TriggerError, "job a: at="),
    ],
)  # fmt: skip
def test_a_bad_entry_is_refused_under_its_name(plan: Any, kind: type[Exception], message: str) -> None:
    with pytest.raises(kind) as caught:
        read_plan(plan, s=schedule.create("nowhere"), now_ms=lambda: 1_800_000_000_000)
    assert str(caught.value).startswith(message)


@pytest.fixture(params=[1, 3])
def s(server: Server, name: str, request: pytest.FixtureRequest) -> schedule.Schedule:
    return schedule.create(name, redis=server.url, shards=request.param)


PLAN: dict[str, dict[str, Any]] = {
    "digest": {"fn": handlers.note, "every": "weekday at 9am", "args": ["digest"]},
    "nightly": {"fn": "app.reports:nightly", "every": "day at 2am", "unique_key": "reports", "overlap": "skip"},
    "party": {"fn": "app:party", "at": "2050-01-01 9am"},
}


def names(s: schedule.Schedule) -> list[str]:
    return sorted(job.name or "" for job in schedule.jobs(s))


def test_a_plan_is_carried_out_and_is_done_then(s: schedule.Schedule) -> None:
    schedule.add(s, "app:f", every="day at 9am")
    done = schedule.sync(s, PLAN)
    assert done.added == ("digest", "nightly", "party")
    assert names(s) == ["", "digest", "nightly", "party"]
    ids = {job.id for job in schedule.jobs(s)}
    again = schedule.sync(s, PLAN, prune=True)
    assert (str(again), again.unchanged) == ("3 unchanged", done.added)
    assert {job.id for job in schedule.jobs(s)} == ids


def test_what_differs_is_replaced_and_what_is_not_planned_stays_unless_it_is_pruned(s: schedule.Schedule) -> None:
    schedule.sync(s, PLAN)
    plan = {
        "digest": {**PLAN["digest"], "every": "weekday at 10am"},
        "nightly": {**PLAN["nightly"], "overlap": "queue"},
    }
    done = schedule.sync(s, plan)
    assert (done.changed, done.removed) == (("digest", "nightly"), ())
    assert done.before["digest"].id != schedule.job(s, "digest").id == done.after["digest"].id
    assert schedule.job(s, "nightly").terms.overlap == "queue"
    assert names(s) == ["digest", "nightly", "party"]
    assert schedule.sync(s, {"nightly": plan["nightly"]}, prune=True).removed == ("digest",)
    assert names(s) == ["nightly", "party"]  # a one-shot is not pruned


def test_a_dry_run_tells_the_same_and_writes_nothing(server: Server, s: schedule.Schedule) -> None:
    schedule.sync(s, {"old": {"fn": "app:f", "every": "hour"}})
    before = list(schedule.jobs(s))
    plan = schedule.sync(s, PLAN, prune=True, dry_run=True)
    assert str(plan) == "3 added, 1 removed"
    assert list(schedule.jobs(s)) == before
    assert str(schedule.sync(s, PLAN, prune=True)) == str(plan)


def test_one_bad_entry_keeps_all_from_being_written(s: schedule.Schedule) -> None:
    with pytest.raises(errors.PhraseError, match=r"^job zzz: .*fortnight"):
        schedule.sync(s, {**PLAN, "zzz": {"fn": "app:f", "every": "fortnightly-ish"}}, prune=True)
    assert list(schedule.jobs(s)) == []


def test_a_large_plan_goes_in_batches(s: schedule.Schedule) -> None:
    plan = {f"job-{n}": {"fn": "app:f", "every": "day at 9am", "args": [n]} for n in range(1234)}
    assert len(schedule.sync(s, plan).added) == 1234
    assert str(schedule.sync(s, plan)) == "1,234 unchanged"
    assert str(schedule.sync(s, {"job-0": plan["job-0"]}, prune=True)) == "1,233 removed, 1 unchanged"


def test_a_paused_job_that_is_changed_stays_paused(s: schedule.Schedule) -> None:
    schedule.sync(s, PLAN)
    schedule.pause(s, "digest")
    schedule.sync(s, {"digest": {**PLAN["digest"], "every": "day at 1am"}})
    assert schedule.job(s, "digest").state == "paused"
