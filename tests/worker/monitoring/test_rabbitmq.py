"""Metrics of a listener on RabbitMQ: its runs are counted as all others, and what nobody tells has no gauge."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests import rabbit
from tests.brokers.hutch import consumers
from tests.optional import needed
from tests.processes import until
from tests.servers import free_port
from tests.worker.monitoring.scraping import scrape, total, value
from workkit import schedule
from workkit.brokers.hutch.names import Names

NOBODY = "http://127.0.0.1:1"  # no management API


@pytest.fixture
def on_rabbitmq(amqp: str, name: str) -> Iterator[schedule.Schedule]:
    needed("prometheus_client")
    consumers.seen.clear()
    names = Names(exchange=name, dialect="hutch")
    yield schedule.create(name, amqp=amqp, layout="hutch", management=NOBODY)
    rabbit.forget(amqp, names, names.queue("hutch.fails"))


def test_runs_are_counted_and_what_nobody_tells_has_no_gauge(on_rabbitmq: schedule.Schedule) -> None:
    port = free_port()
    url = f"http://127.0.0.1:{port}"
    how = {"imports": ["tests.brokers.hutch.consumers"], "folder": None, "jobs": ["hutch.fails"]}
    with schedule.listener(on_rabbitmq, threads=1, health_port=port, **how):  # type: ignore[arg-type]
        for until_attempt in (0, 2, 9):
            schedule.add_now(on_rabbitmq, "hutch.fails", args=[{"n": until_attempt, "until": until_attempt}])
        until(lambda: value(url, "workkit_job_duration_seconds_count") == 7, what="1 + 3 + 3 runs")
        until(lambda: value(url, "workkit_jobs", state="dead") == 1, what="the dead message in the gauge")
        page = scrape(url)
    runs = {dict(has)["outcome"]: n for (key, has), n in page.items() if key == "workkit_job_runs_total"}
    assert runs == {"done": 2, "retried": 4, "failed": 1}
    functions = {dict(has)["function"] for key, has in page if key == "workkit_job_runs_total"}
    assert functions == {"hutch.fails"}
    assert total(page, "workkit_job_lateness_seconds_count", schedule=on_rabbitmq.name) == 3, "of first attempts"
    states = {dict(has)["state"] for key, has in page if key == "workkit_jobs"}
    assert {"waiting", "dead"} <= states
    assert states.isdisjoint({"due", "running", "retrying"}), "the management API tells these"
    assert not {"workkit_listeners", "workkit_oldest_due_seconds"} & {key for key, _ in page}
    assert {n for (key, _), n in page.items() if key == "workkit_server_up"} == {1}
