"""The dashboard, the alert rules and the table of metrics: each names what a page really has."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest

from tests import handlers
from tests.optional import needed
from tests.processes import ROOT, until
from tests.worker.monitoring.scraping import scrape, value
from tests.worker.observation import HOW, named
from workkit import schedule
from workkit.events import Event
from workkit.schedule import Schedule
from workkit.worker.run_table import MOST_FUNCTIONS, OUTCOMES

MONITORING = ROOT / "examples" / "monitoring"
METRIC = re.compile(r"\bworkkit_[a-z_]+")
LABELS = re.compile(r'(\w+)=~?"([^"$]*)"')
SUFFIX = re.compile(r"_(bucket|sum|count)$")


@pytest.fixture
def samples(s: Schedule, seen: list[Event]) -> Any:
    """What a page has after one run."""
    needed("prometheus_client")
    schedule.add_now(s, handlers.note)
    with schedule.listener(s, threads=1, health_port=0, **HOW):
        url = named(seen, "health")[0].fields["url"]
        until(lambda: value(url, "workkit_job_runs_total") == 1)
        yield scrape(url)


def expressions() -> list[str]:
    dashboard = json.loads((MONITORING / "dashboard.json").read_text())
    found = [target["expr"] for panel in dashboard["panels"] for target in panel["targets"]]
    found += [one["query"] for one in dashboard["templating"]["list"] if one["type"] == "query"]
    rules = (MONITORING / "alerts.yml").read_text()
    alerts = re.findall(r"expr: (.*?)\n +(?:for|labels):", rules, re.DOTALL)
    assert len(alerts) == rules.count("- alert:") >= 3
    assert len(found) >= 10
    return found + alerts


def test_every_metric_and_label_of_dashboard_and_alerts_exists(samples: dict[Any, float]) -> None:
    names = {name for name, _ in samples}
    labels = {label for _, has in samples for label, _ in has}
    for expression in expressions():
        assert METRIC.search(expression), expression
        unknown = set(METRIC.findall(expression)) - names
        assert not unknown, f"{expression} names {unknown}"
        grouped = {word for by in re.findall(r"by \(([^)]*)\)", expression) for word in by.split(", ")}
        assert {*grouped, *(name for name, _ in LABELS.findall(expression))} <= labels, expression
        for label, text in LABELS.findall(expression):
            known = {value for _, has in samples for key, value in has if key == label} | set(OUTCOMES)
            assert not text or set(text.split("|")) <= known, f"{label}={text}"


def test_the_table_of_metrics_is_that_of_the_page(samples: dict[Any, float]) -> None:
    text = (ROOT / "spec" / "metrics.md").read_text().partition("## The web face")[0]  # that: tests/web/test_metrics.py
    rows = re.findall(r"^\| `(workkit_\w+)` \| \w+ \| ([\w, ]+) \|", text, re.MULTILINE)
    stated = {name: set(labels.split(", ")) for name, labels in rows}
    found: dict[str, set[str]] = {}
    for name, has in samples:
        base = SUFFIX.sub("", name) if SUFFIX.sub("", name) in stated else name
        found.setdefault(base, set()).update(label for label, _ in has if label != "le")
    assert found == stated
    outcomes = text.partition("| outcome |")[2].partition("\n\n")[0]
    assert re.findall(r"^\| (\w+) \|", outcomes, re.MULTILINE) == list(OUTCOMES)
    assert f"{MOST_FUNCTIONS} for each page" in text


def test_the_files_of_the_example_are_these() -> None:
    assert {path.name for path in Path(MONITORING).iterdir()} == {"alerts.yml", "dashboard.json", "prometheus.yml"}
