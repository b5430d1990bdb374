"""`schedule.result`: values, failures, what is not over, what is not there; waiting."""

from __future__ import annotations

import asyncio
import time
from concurrent.futures import ThreadPoolExecutor
from datetime import timedelta
from typing import Any

import pytest

from tests import results
from tests.processes import until
from tests.servers import Server
from workkit import aio, errors, schedule

HOW: dict[str, Any] = {"imports": ["tests.results"], "folder": None}
QUIET: dict[str, Any] = {**HOW, "raise_errors": False}


@pytest.fixture
def s(server: Server, name: str) -> schedule.Schedule:
    results.gate.clear()
    return schedule.create(name, redis=server.url)


@pytest.mark.parametrize("value", [None, 0, "text", [1, [2.5, None]], {"a": {"b": True}}, "é \U0001f600"])
def test_a_value_is_returned_as_json_carries_it(s: schedule.Schedule, value: Any) -> None:
    job = schedule.add_now(s, results.echo, args=[value], keep="1 hour")
    schedule.drain(s, **HOW)
    assert [schedule.result(s, job) for _ in range(2)] == [value, value]


def test_a_mark_keeps_results_and_an_option_of_the_job_wins(s: schedule.Schedule, server: Server) -> None:
    marked, own = (
        schedule.add_now(s, results.double, args=[4]),
        schedule.add_now(s, results.double, args=[5], keep="9s"),
    )
    schedule.drain(s, **HOW)
    assert (schedule.result(s, marked), schedule.result(s, own)) == (8, 10)
    lives = [server.client().pttl(f"{s.name}:result:{job.id}") for job in (marked, own)]
    assert 3_590_000 < lives[0] <= 3_600_000
    assert 0 < lives[1] <= 9_000


def test_coroutines_and_worker_processes_return_values_too(s: schedule.Schedule) -> None:
    there = schedule.add_now(s, results.echo_async, args=[[1]], keep="1 hour")
    elsewhere = schedule.add_now(s, results.double_elsewhere, args=[21])
    schedule.drain(s, **HOW)
    assert (schedule.result(s, there), schedule.result(s, elsewhere)) == ([1], 42)


@pytest.mark.parametrize("which", ["id", "beginning", "name", "job"])
def test_a_result_is_found_by_id_by_its_beginning_and_by_name(s: schedule.Schedule, which: str) -> None:
    job = schedule.add_now(s, results.double, args=[1], name="import")
    schedule.drain(s, **HOW)
    texts: dict[str, Any] = {"id": job.id, "beginning": job.id[:8], "name": "import", "job": job}
    assert schedule.result(s, texts[which], wait=None) == 2


def test_a_failure_is_raised_with_type_message_and_traceback(s: schedule.Schedule) -> None:
    job = schedule.add_now(s, results.break_down, args=["disk full"], keep="1 hour", name="report")
    schedule.drain(s, **QUIET)
    for which in (job, "report"):
        with pytest.raises(errors.JobFailed, match="OSError: disk full") as failed:
            schedule.result(s, which)
        assert (failed.value.type, failed.value.message, failed.value.ending) == ("OSError", "disk full", "failed")
        assert "raise OSError(text)" in failed.value.traceback
    schedule.discard(s)
    with pytest.raises(errors.JobFailed):
        schedule.result(s, job)


def test_only_the_last_attempt_leaves_a_result(s: schedule.Schedule) -> None:
    job = schedule.add_now(s, results.attempt_count, keep="1 hour", retries=2, base="0s")
    with pytest.raises(OSError, match="not yet"):
        schedule.drain(s, **HOW, limit=1)
    with pytest.raises(errors.ResultPending, match="retrying"):
        schedule.result(s, job, wait=None)
    until(lambda: schedule.drain(s, **QUIET).ran)
    assert schedule.result(s, job) == 2


def test_what_the_handler_discarded_is_a_failure_that_says_so(s: schedule.Schedule) -> None:
    job = schedule.add_now(s, results.give_up, keep="1 hour")
    schedule.drain(s, **HOW)
    with pytest.raises(errors.JobFailed, match="was discarded: nothing to do") as failed:
        schedule.result(s, job)
    assert (failed.value.type, failed.value.ending) == ("Discard", "discarded")


@pytest.mark.parametrize(
    ("what", "said"),
    [
        ("datetime", r'result\["when"\]\[0\] is a datetime, which JSON cannot carry. Return .isoformat\(\)'),
        ("key", "result has the key 1, and JSON keys are text"),
        ("nan", "result is nan"),
        ("circle", "result is nested too deeply for JSON, or contains itself"),
        ("surrogate", r"result\[0\] has a lone surrogate"),
        ("large", "result has 1,000,003 bytes as JSON, and this job keeps 1,000,000 at most"),
        ("object", "result is an UserDict, which JSON cannot carry"),
    ],
)
def test_a_value_that_cannot_be_kept_is_named_and_its_job_is_done(s: schedule.Schedule, what: str, said: str) -> None:
    job = schedule.add_now(s, results.unkept, args=[what], keep="1 hour")
    assert schedule.drain(s, **HOW).ran == 1
    with pytest.raises(errors.NoResult, match=said) as unkept:
        schedule.result(s, job)
    assert "is done, and its result was not kept" in str(unkept.value)
    assert schedule.counts(s).dead == 0


def test_keep_most_says_how_large_a_result_may_be(s: schedule.Schedule) -> None:
    fits = schedule.add_now(s, results.of_size, args=[1_500_000], keep="1 hour", keep_most="1.5 MB")
    large = schedule.add_now(s, results.of_size, args=[101], keep="1 hour", keep_most=100)
    schedule.drain(s, **HOW)
    assert len(schedule.result(s, fits)) == 1_499_998
    with pytest.raises(errors.NoResult, match="101 bytes as JSON, and this job keeps 100 at most"):
        schedule.result(s, large)


@pytest.mark.parametrize("size", [0, -1, True, "1 GB", "much", 1.5, "65 MB"])
def test_a_size_that_is_none_is_refused(s: schedule.Schedule, size: Any) -> None:
    with pytest.raises(errors.InvalidOptions, match="keep_most="):
        schedule.add_now(s, results.echo, keep="1 hour", keep_most=size)


def test_many_large_results_go_in_several_requests(s: schedule.Schedule) -> None:
    jobs = [schedule.add_now(s, results.of_size, args=[900_000 + n], keep="1 hour") for n in range(12)]
    with schedule.listener(s, **HOW, threads=4):
        found = [len(schedule.result(s, job)) for job in jobs]
    assert found == [899_998 + n for n in range(12)]


def test_readers_that_wait_early_late_and_together_all_get_it(s: schedule.Schedule) -> None:
    job = schedule.add_now(s, results.behind_gate)
    with ThreadPoolExecutor(8) as pool, schedule.listener(s, **HOW, threads=1):
        early = [pool.submit(schedule.result, s, job, wait="30s") for _ in range(8)]
        until(lambda: schedule.job(s, job).state == "running")
        assert not any(one.done() for one in early)
        results.gate.set()
        assert [one.result() for one in early] == ["through"] * 8
        assert schedule.result(s, job) == "through"


def test_a_wait_is_one_request_that_the_server_answers_late(s: schedule.Schedule, own_server: Server) -> None:
    t = schedule.create(s.name, redis=own_server.url)
    job = schedule.add(t, results.double, in_="1 hour", args=[1])
    with pytest.raises(errors.ResultTimeout):
        schedule.result(t, job, wait=timedelta(seconds=0.7))
    assert own_server.client().info("commandstats")["cmdstat_xread"]["calls"] == 1


def test_what_is_not_over_has_an_error_of_its_own(s: schedule.Schedule) -> None:
    job = schedule.add(s, results.double, in_="1 hour", args=[1])
    with pytest.raises(errors.ResultPending, match="has no result yet: it is waiting") as pending:
        schedule.result(s, job, wait=None)
    assert not isinstance(pending.value, TimeoutError)
    with pytest.raises(errors.ResultTimeout, match=r"has no result after 20 ms: it is waiting"):
        schedule.result(s, job, wait=timedelta(milliseconds=20))
    with pytest.raises(errors.TriggerError, match="30 has no unit"):
        schedule.result(s, job, wait=30)  # type: ignore[arg-type]


def test_an_unknown_an_expired_and_a_plain_job_have_errors_at_once(s: schedule.Schedule, server: Server) -> None:
    began = time.monotonic()
    with pytest.raises(errors.NotFound, match="no-such"):
        schedule.result(s, "no-such")
    with pytest.raises(errors.NotFound, match="f" * 40):
        schedule.result(s, "f" * 40)
    plain = schedule.add(s, results.echo, in_="1 hour")
    with pytest.raises(errors.NoResult, match="keeps no result"):
        schedule.result(s, plain)
    over = schedule.add_now(s, results.echo)
    short = schedule.add_now(s, results.echo, keep="1s")
    schedule.drain(s, **HOW)
    with pytest.raises(errors.NotFound):
        schedule.result(s, over)
    until(lambda: not server.client().exists(f"{s.name}:result:{short.id}"))
    with pytest.raises(errors.NotFound, match="expired"):
        schedule.result(s, short)
    assert time.monotonic() - began < 15


def test_a_cancelled_job_ends_a_wait_at_once(s: schedule.Schedule) -> None:
    waits = schedule.add(s, results.double, in_="1 hour", args=[1])
    with ThreadPoolExecutor(1) as pool:
        wait = pool.submit(schedule.result, s, waits, wait="30s")
        schedule.cancel(s, waits)
        with pytest.raises(errors.JobFailed, match="was cancelled") as failed:
            wait.result(4)
    assert failed.value.ending == "cancelled"


async def _gathered(s: schedule.Schedule, jobs: list[Any]) -> list[Any]:
    waits = [asyncio.ensure_future(aio.result(s, job)) for job in jobs]
    await aio.drain(s, **HOW)
    return list(await asyncio.gather(*waits))


def test_many_coroutines_wait_and_hold_up_no_other_verb(s: schedule.Schedule) -> None:
    jobs = [schedule.add_now(s, results.double, args=[n]) for n in range(40)]
    assert asyncio.run(_gathered(s, jobs)) == [2 * n for n in range(40)]
    failing = schedule.add_now(s, results.break_down, keep="1 hour")
    schedule.drain(s, **QUIET)
    with pytest.raises(errors.JobFailed):
        asyncio.run(aio.result(s, failing))


def test_of_a_recurring_job_it_is_the_latest_run_or_the_one_named(s: schedule.Schedule, server: Server) -> None:
    job = schedule.add(s, results.echo, every="hour", args=[7], keep="1 hour", name="hourly")
    with pytest.raises(errors.ResultPending):
        schedule.result(s, job, wait=None)
    for _ in range(2):
        schedule.run(s, job)
        schedule.drain(s, **HOW)
    entries = server.client().xrange(f"{s.name}:result:{job.id}")
    first, last = (fields[b"o"].decode() for _, fields in entries)
    assert first != last
    assert [schedule.result(s, which) for which in (job, "hourly", job.id, first, last)] == [7] * 5
    with pytest.raises(errors.NoResult):
        schedule.result(s, f"{job.id}@1000")
    schedule.cancel(s, job)
    assert schedule.result(s, "hourly") == 7


def test_a_job_that_is_retried_from_the_dead_set_has_the_result_of_its_new_run(s: schedule.Schedule) -> None:
    job = schedule.add_now(s, results.attempt_count, keep="1 hour")
    schedule.drain(s, **QUIET)
    schedule.retry(s, job)
    with pytest.raises(errors.ResultPending):
        schedule.result(s, job, wait=None)


def test_an_equal_job_that_is_added_again_has_no_result_of_the_first(s: schedule.Schedule) -> None:
    job = schedule.add_now(s, results.double, args=[1])
    schedule.drain(s, **HOW)
    while (again := schedule.add_now(s, results.double, args=[1])).id != job.id:
        schedule.drain(s, **HOW)  # they were added in different seconds
        job = again
    with pytest.raises(errors.ResultPending):
        schedule.result(s, again, wait=None)


def test_a_result_key_of_another_type_is_replaced(s: schedule.Schedule, server: Server) -> None:
    job = schedule.add_now(s, results.double, args=[3], name="n")
    server.client().set(f"{s.name}:result:{job.id}", "hostile")
    server.client().hset(f"{s.name}:result:name:n", "a", "b")
    schedule.drain(s, **HOW)
    assert schedule.result(s, "n") == schedule.result(s, job) == 6


def test_plain_jobs_leave_no_result(s: schedule.Schedule, server: Server) -> None:
    for n in range(20):
        schedule.add_now(s, results.echo, args=[n])
    schedule.drain(s, **HOW)
    assert not list(server.client().scan_iter(f"{s.name}:result*"))
