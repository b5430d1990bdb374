"""Retries: the policy of the job or its handler, the kept error, and the dead set at the end."""

from __future__ import annotations

from datetime import timedelta
from functools import partial
from typing import Any

import pytest

from tests import handlers
from tests.processes import until
from tests.servers import PAST, Server
from tests.worker.observation import HOW, named
from workkit import errors, schedule
from workkit.events import Event


def standing(server: Server, name: str) -> set[str]:
    return {key.decode().split(":")[1] for key in server.client().scan_iter(f"{name}:*")} - {"producer", "stats", *PAST}


def test_a_job_is_tried_again_until_its_attempts_are_used_up(
    server: Server, name: str, s: schedule.Schedule, seen: list[Event]
) -> None:
    with schedule.listener(s, **HOW):
        job = schedule.add_now(s, handlers.fail, args=["no"], retries=2, backoff="constant", base="0.05s", jitter=False)
        until(lambda: named(seen, "dead"))
    said = [(e.fields["attempt"], e.fields["attempts"], e.fields["again_ms"]) for e in named(seen, "failed")]
    assert said == [(1, 3, 50), (2, 3, 50)]
    assert (named(seen, "dead")[0].fields["attempt"], named(seen, "dead")[0].fields["error"]) == (3, "no")
    (dead,) = schedule.jobs(s)
    assert (dead.id, dead.state, dead.attempt, dead.options.retries) == (job.id, "dead", 2, 2)
    assert standing(server, name) == {"dead", "graves", "ends"}


def test_while_it_waits_its_last_error_is_kept(s: schedule.Schedule, seen: list[Event]) -> None:
    with schedule.listener(s, **HOW):
        schedule.add_now(s, handlers.fail, retries=1, base="1h")
        until(lambda: named(seen, "failed"))
        found = until(lambda: list(schedule.jobs(s, state="retrying")))
    assert [(job.attempt, job.error) for job in found] == [(1, found[0].error)]
    assert found[0].failure is not None
    assert "in fail" in found[0].failure.traceback
    assert (found[0].error or "").startswith("OSError: disk full (handlers.py:")


def test_a_success_after_failures_leaves_nothing(
    server: Server, name: str, s: schedule.Schedule, seen: list[Event]
) -> None:
    with schedule.listener(s, **HOW):
        schedule.add_now(s, handlers.fail_until, args=[2])
        until(lambda: named(seen, "done"))
    assert handlers.calls == [0, 1, 2]
    assert standing(server, name) == set()


def test_a_recurring_job_keeps_its_schedule_while_an_occurrence_is_tried_again(
    server: Server, name: str, s: schedule.Schedule, seen: list[Event]
) -> None:
    job = schedule.add(s, every="second", fn=handlers.note_attempt, retries=1, base="1.5s", jitter=False)
    with schedule.listener(s, **HOW):
        until(lambda: len([c for c in handlers.calls if c[1] == 1]) >= 2, timeout=15)
        schedule.cancel(s, job)
        until(lambda: not standing(server, name) & {"again", "slots", "errors"}, timeout=15)
    firsts = [due for due, attempt in handlers.calls if attempt == 0]
    assert len(firsts) >= 3
    assert firsts == sorted(set(firsts))
    assert {due for due, attempt in handlers.calls if attempt == 1} <= set(firsts)
    assert standing(server, name) <= {"cancelled", "ends"}


@pytest.mark.parametrize(
    ("fn", "ending"),
    [(handlers.discarded_os_error, "discarded"), (handlers.only_value_errors, "dead")],
    ids=["discard_on", "retry_on"],
)
def test_retry_on_of_a_handler_selects_errors(s: schedule.Schedule, seen: list[Event], fn: Any, ending: str) -> None:
    with schedule.listener(s, **HOW):
        schedule.add_now(s, fn)
        until(lambda: named(seen, ending))
    assert not named(seen, "failed")


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"retries": -1}, "retries=-1 is not a number of attempts after the first. Accepted: 0 to 10,000."),
        ({"retries": True}, "retries=True is not a number of attempts after the first. Accepted: 0 to 10,000."),
        ({"backoff": "expo"}, "backoff='expo' is not known. Accepted: exponential, linear, constant."),
        ({"base": 5}, 'base=5 has no unit. Write "5s" or timedelta(seconds=5).'),
        ({"timeout": "0s"}, "timeout='0s' is out of range. Accepted: more than nothing, at most 400 days."),
        ({"jitter": 1}, "jitter=1 is neither True nor False."),
        ({"retry_on": OSError}, "retry_on= belongs to @job. Give retry_on=<class 'OSError'> there."),
    ],
    ids=str,
)
def test_an_invalid_option_is_refused(
    server: Server, name: str, s: schedule.Schedule, options: dict[str, Any], message: str
) -> None:
    with pytest.raises(errors.Invalid) as refused:
        schedule.add_now(s, handlers.note, **options)
    assert str(refused.value).startswith(message)
    assert standing(server, name) == set()


def test_a_handler_with_wrong_options_is_refused_at_import() -> None:
    from workkit import job

    with pytest.raises(errors.InvalidOptions, match=r"retrys=5 is not an option of @job. Did you mean retries=5\?"):
        job(retrys=5)  # type: ignore[call-overload]
    with pytest.raises(errors.InvalidOptions, match=r"retry_on='OSError' is not an exception type"):
        job(retry_on="OSError")  # type: ignore[arg-type]


def test_options_are_part_of_the_job(s: schedule.Schedule) -> None:
    plain = schedule.add(s, at="2100-01-01 9am", fn=handlers.note)
    other = schedule.add(s, at="2100-01-01 9am", fn=handlers.note, retries=3, timeout="1m")
    assert plain.id != other.id
    assert schedule.job(s, other).options == other.options
    assert not schedule.add(s, at="2100-01-01 9am", fn=handlers.note, timeout="60s", retries=3).new


def _has_asked(seen: list[Event], times: int) -> bool:
    return len(named(seen, "retrying")) == times


def test_a_job_that_asks_to_wait_is_shown_as_waiting_with_its_progress(
    server: Server, s: schedule.Schedule, seen: list[Event]
) -> None:
    added = schedule.add_now(s, handlers.poll, args=[3, "1h"])
    for n in (1, 2):
        with schedule.listener(s, **HOW):
            until(partial(_has_asked, seen, n))
            (job,) = until(lambda: list(schedule.jobs(s, state="waiting")), what="the job to wait")
        assert job.due is not None
        assert added.due is not None
        assert job.due > added.due + timedelta(minutes=59)
        assert (job.state, job.attempt, job.error, job.progress) == ("waiting", 0, None, (n, 4))
        assert (schedule.job(s, job).progress, schedule.job(s, job).state) == ((n, 4), "waiting")
        counts = schedule.counts(s)
        assert (counts.waiting, counts.retrying, counts.totals.get("retried", 0)) == (1, 0, 0)
        schedule.run(s, job)
    assert schedule.runs(s) == []


@pytest.mark.parametrize("how", [{}, {"name": "poll"}, {"unique_key": "k"}], ids=str)
def test_a_run_after_a_wait_is_late_from_when_it_asked(s: schedule.Schedule, how: dict[str, Any]) -> None:
    added = schedule.add_now(s, handlers.poll, args=[13, "10 minutes"], retries=3, **how)
    assert added.due is not None
    tally = schedule.drain(s, now=added.due + timedelta(hours=3), **HOW)
    assert (tally.ran, tally.failed) == (1, 0)
    attempts, dues, lateness = zip(*handlers.calls, strict=True)
    assert (attempts, set(dues)) == (tuple(range(14)), {added.due})
    assert max(lateness) < timedelta(seconds=1)
    (bucket,) = (one.cell for one in schedule.history(s, over="1 day", each="day") if one.cell.done)
    assert (bucket.done, bucket.retried, bucket.dead, bucket.late) == (1, 0, 0, 0)


def test_waits_spend_no_attempt_and_failures_do(s: schedule.Schedule) -> None:
    added = schedule.add_now(s, handlers.poll, args=[9, "1m", 5], retries=2, backoff="constant", base="1m")
    assert added.due is not None
    assert schedule.drain(s, now=added.due + timedelta(hours=1), raise_errors=False, **HOW).ran == 1
    handlers.calls.clear()
    schedule.add_now(s, handlers.poll, args=[3, "1m", 3], retries=1, backoff="constant", base="1m")
    schedule.drain(s, now=added.due + timedelta(minutes=63), raise_errors=False, **HOW)
    assert len(handlers.calls) == 5
