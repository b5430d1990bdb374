"""`/metrics` of a listener: what a scrape finds, and what it costs nobody."""

from __future__ import annotations

import urllib.error
import urllib.request
from typing import Any

import pytest

from tests import handlers
from tests.optional import needed
from tests.processes import until
from tests.servers import Server
from tests.worker.monitoring.scraping import scrape, value
from tests.worker.observation import HOW, named
from workkit import schedule
from workkit.events import Event
from workkit.schedule import Schedule
from workkit.worker.executor import Executor
from workkit.worker.run.run import Run


@pytest.fixture
def serving(s: Schedule, seen: list[Event]) -> Any:
    needed("prometheus_client")
    with schedule.listener(s, threads=2, health_port=0, **HOW):
        yield named(seen, "health")[0].fields["url"]


def test_runs_are_counted_by_function_and_outcome(serving: str, s: Schedule) -> None:
    for _ in range(3):
        schedule.add_now(s, handlers.note)
    schedule.add_now(s, handlers.fail)
    schedule.add_now(s, handlers.discard)
    schedule.add_now(s, handlers.fail, args=["again"], retries=1, base="0s")
    runs = "workkit_job_runs_total"
    until(lambda: value(serving, runs, schedule=s.name) == 7, what="seven runs")
    assert value(serving, runs, function="tests.handlers.note", outcome="done") == 3
    fail = {"function": "tests.handlers.fail"}
    assert value(serving, runs, **fail, outcome="failed") == 2
    assert value(serving, runs, **fail, outcome="retried") == 1
    assert value(serving, runs, function="tests.handlers.discard", outcome="discarded") == 1
    assert value(serving, "workkit_job_duration_seconds_count") == 7
    assert value(serving, "workkit_job_duration_seconds_bucket", le="+Inf") == 7
    assert value(serving, "workkit_job_lateness_seconds_count") == 6, "without the further attempt"
    assert 0 < value(serving, "workkit_job_duration_seconds_sum") < 5


def test_batches_that_ended_are_counted(serving: str, s: Schedule) -> None:
    schedule.map(s, handlers.note, range(3))
    strict = schedule.map(s, handlers.fail, ["a", "b"], on_death="cancel")
    over = {"name": "workkit_batches_total", "schedule": s.name}
    until(lambda: value(serving, **over, outcome="done") == 1, what="the batch that is done")
    until(lambda: value(serving, **over, outcome="cancelled") == 1, what="the batch that is cancelled")
    assert strict.state().state == "cancelled"
    assert not any(("function", "") in labels for _, labels in scrape(serving)), "a batch has no function"


def test_jobs_past_their_deadline_are_counted(serving: str, s: Schedule, server: Server) -> None:
    of = {"schedule": s.name, "function": "tests.handlers.wait_for_gate"}
    job = schedule.add_now(s, handlers.wait_for_gate, within="1 second")
    until(lambda: value(serving, "workkit_job_past_deadline_total", **of) == 1, what="the report")
    until(lambda: value(serving, "workkit_jobs_past_deadline", schedule=s.name) == 1, what="the gauge")
    assert value(serving, "workkit_job_ended_late_total", **of) == 0
    handlers.gate.set()
    until(lambda: value(serving, "workkit_job_ended_late_total", **of) == 1, what="the end")
    until(lambda: value(serving, "workkit_jobs_past_deadline", schedule=s.name) == 0, what="the gauge")
    assert not server.client().exists(f"{s.name}:deadlines"), job.id


def test_a_run_that_is_cancelled_before_its_handler_begins_is_none(
    serving: str, s: Schedule, seen: list[Event], monkeypatch: pytest.MonkeyPatch
) -> None:
    ran = Executor.run

    def cancelled_first(self: Executor, run: Run, *how: Any) -> Any:
        run.cancel()
        return ran(self, run, *how)

    with monkeypatch.context() as patched:
        patched.setattr(Executor, "run", cancelled_first)
        schedule.add_now(s, handlers.note)
        until(lambda: named(seen, "discarded"), what="the end of what was cancelled")
    schedule.add_now(s, handlers.note, args=["later"])
    until(lambda: value(serving, "workkit_job_runs_total", outcome="done") == 1)
    assert value(serving, "workkit_job_runs_total") == value(serving, "workkit_job_duration_seconds_count") == 1


def test_the_gauges_are_the_counts_of_the_inspector(serving: str, s: Schedule) -> None:
    schedule.add(s, in_="1 hour", fn=handlers.note)
    schedule.add_now(s, handlers.fail)
    until(lambda: value(serving, "workkit_jobs", schedule=s.name, state="dead") == 1, what="the dead job")
    assert value(serving, "workkit_jobs", state="waiting") == 1
    assert value(serving, "workkit_jobs", state="due") == 0
    assert value(serving, "workkit_listeners", schedule=s.name) == 1
    assert value(serving, "workkit_server_up", schedule=s.name) == 1
    assert value(serving, "workkit_oldest_due_seconds", schedule=s.name) == 0


def test_due_work_that_nobody_takes_is_late(serving: str, s: Schedule, server: Server) -> None:
    schedule.add_now(s, "nowhere:f")
    until(lambda: value(serving, "workkit_jobs", state="due") == 1, what="the due job")
    until(lambda: value(serving, "workkit_oldest_due_seconds") > 0.2, what="its age")


def test_without_its_server_the_page_shows_what_it_counted(own_server: Server, name: str, seen: list[Event]) -> None:
    needed("prometheus_client")
    s = schedule.create(name, redis=own_server.url)
    with schedule.listener(s, threads=1, health_port=0, **HOW):
        url = named(seen, "health")[0].fields["url"]
        schedule.add_now(s, handlers.note)
        until(lambda: value(url, "workkit_job_runs_total") == 1)
        own_server.kill()
        until(
            lambda: (
                ("workkit_server_up", frozenset({("schedule", name)})) in scrape(url)
                and not value(url, "workkit_server_up")
            )
        )
        assert value(url, "workkit_job_runs_total") == 1
        own_server.start()


def test_without_the_extra_the_page_names_it(s: Schedule, seen: list[Event], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("workkit.worker.listener.is_installed", lambda: False)
    with schedule.listener(s, threads=1, health_port=0, **HOW):
        url = named(seen, "health")[0].fields["url"]
        with pytest.raises(urllib.error.HTTPError) as raised:
            urllib.request.urlopen(f"{url}/metrics", timeout=5)
        with raised.value as answer:
            assert answer.code == 404
            assert "pip install 'workkit[prometheus]'" in answer.read().decode()
