"""`metrics.collector`: the metrics of listeners in a registry that a program has anyway."""

from __future__ import annotations

from typing import Any

import pytest

from tests import handlers
from tests.optional import needed
from tests.processes import until
from tests.servers import Server
from tests.worker.monitoring.scraping import Samples, samples, scrape, total
from tests.worker.observation import HOW, named
from workkit import errors, metrics, schedule
from workkit.events import Event
from workkit.schedule import Schedule


@pytest.fixture
def registry() -> Any:
    return needed("prometheus_client").CollectorRegistry()


def page(registry: Any) -> Samples:
    return samples(needed("prometheus_client").generate_latest(registry).decode())


def test_a_registry_of_the_program_has_our_metrics_beside_its_own(registry: Any, s: Schedule) -> None:
    needed("prometheus_client").Counter("app_orders", "Orders.", registry=registry).inc(3)
    listener = schedule.listener(s, threads=1, **HOW)
    registry.register(metrics.collector(listener))
    schedule.add(s, in_="1 hour", fn=handlers.note)
    with listener:
        schedule.add_now(s, handlers.note)
        schedule.add_now(s, handlers.fail)
        until(lambda: total(page(registry), "workkit_job_runs_total", schedule=s.name) == 2, what="both runs")
        found = page(registry)
        assert total(found, "app_orders_total") == 3
        assert total(found, "workkit_jobs", state="waiting") == 1
        assert total(found, "workkit_listeners") == 1
    found = page(registry)
    assert total(found, "workkit_job_runs_total", outcome="failed") == 1, "counts stay when the listener has stopped"
    until(lambda: not total(page(registry), "workkit_server_up"), what="the gauges to leave with it")


def test_a_second_registration_is_refused(registry: Any, s: Schedule) -> None:
    listener = schedule.listener(s, **HOW)
    registry.register(metrics.collector(listener))
    with pytest.raises(ValueError, match="workkit_job_runs"):
        registry.register(metrics.collector(listener))
    listener.start().stop()


def test_listeners_of_several_schedules_are_one_collector(
    registry: Any, s: Schedule, server: Server, seen: list[Event]
) -> None:
    other = schedule.create(f"{s.name}-other", redis=server.url)
    listeners = [schedule.listener(one, threads=1, **HOW) for one in (s, s, other)]
    registry.register(metrics.collector(*listeners))
    with listeners[0], listeners[1], listeners[2]:
        for one in (s, s, other):
            schedule.add_now(one, handlers.note)
        until(lambda: total(page(registry), "workkit_job_runs_total") == 3, what="three runs")
        found = page(registry)
        assert total(found, "workkit_listeners", schedule=s.name) == 2, "one gauge, though two listeners know it"
        assert total(found, "workkit_listeners", schedule=other.name) == 1
        listeners[0].stop()
        until(lambda: total(page(registry), "workkit_listeners", schedule=s.name) == 1, what="the look by the other")


def test_what_a_collector_counts_the_page_of_the_listener_counts_too(
    registry: Any, s: Schedule, seen: list[Event]
) -> None:
    listener = schedule.listener(s, threads=1, health_port=0, **HOW)
    registry.register(metrics.collector(listener))
    with listener:
        schedule.add_now(s, handlers.note)
        until(lambda: total(page(registry), "workkit_job_runs_total") == 1)
        assert total(scrape(named(seen, "health")[0].fields["url"]), "workkit_job_runs_total") == 1


@pytest.mark.parametrize(("listeners", "told"), [((), "has no listener"), (("app-tasks",), r"listeners\[0\] is 'app")])
def test_what_is_no_listener_is_refused(listeners: tuple[Any, ...], told: str) -> None:
    needed("prometheus_client")
    with pytest.raises(errors.InvalidOptions, match=told):
        metrics.collector(*listeners)


def test_without_the_extra_it_is_named(s: Schedule, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("workkit.metrics.is_installed", lambda: False)
    with pytest.raises(errors.Unsupported, match=r"pip install 'workkit\[prometheus\]'"):
        metrics.collector()
