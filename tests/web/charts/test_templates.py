"""The macros print the geometry: well-formed, each drawing with its sentence, and nothing with a style of its own."""

from __future__ import annotations

import re
from dataclasses import replace
from datetime import timedelta
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import pytest

from tests.web.charts.rects import NOW, PARIS, ran
from workkit.contract.history import Bucket as Span
from workkit.contract.history import Buckets, Cell, Day
from workkit.jobs.run_options import RunOptions
from workkit.web.charts.attempts import attempts
from workkit.web.charts.axis import axis, burst, function_day, one_time_lane
from workkit.web.charts.bars import bars, durations
from workkit.web.charts.lanes import Dotted, lane
from workkit.web.charts.load import Step, lateness_spark, load, strip
from workkit.web.charts.year import year

jinja2 = pytest.importorskip("jinja2")

TEMPLATES = Path(__file__).parents[3] / "workkit" / "web" / "templates"
HOSTILE = '"><script>alert(1)</script>'
DAY = axis("24h", now=NOW, zone=PARIS)
HOUR = timedelta(hours=1)


def printed(call: str, **values: Any) -> str:
    environment = jinja2.Environment(
        loader=jinja2.FileSystemLoader(TEMPLATES), autoescape=True, trim_blocks=True, undefined=jinja2.StrictUndefined
    )
    text = '{% import "draw.html" as draw %}{{ draw.' + call + " }}"
    return str(environment.from_string(text).render(**values))


def strip_() -> tuple[str, dict[str, Any]]:
    minute = NOW.replace(second=0)
    cell = Span(start=minute, end=minute + timedelta(minutes=1), cell=Cell(done=3, dead=1, late=1))
    return "strip(d)", {"d": strip([cell], [1, 2], now=NOW, zone=PARIS)}


def year_() -> tuple[str, dict[str, Any]]:
    today = NOW.date()
    worst = ("done", "dead", "missed", "skipped", "done")
    days = [Day(day=today - timedelta(days=k + 1), runs=k, worst=one) for k, one in enumerate(worst)]  # type: ignore[arg-type]
    clocks = {today - timedelta(days=2): HOSTILE}
    late = {today - timedelta(days=5)}
    return "year(d)", {"d": year(days, today=today, planned={today: 1}, clocks=clocks, late=late)}


def lane_() -> tuple[str, dict[str, Any]]:
    past = [ran(NOW - HOUR, "dead", error=HOSTILE), ran(NOW - 2 * HOUR)]
    drawn = lane(DAY, HOSTILE, "", past=past, planned=[NOW + HOUR], pauses=[(NOW, None, HOSTILE)])
    return "lane(d, axis)", {"d": drawn, "axis": DAY}


def load_() -> tuple[str, dict[str, Any]]:
    return "load(d, axis)", {"d": load(DAY, [], [Step(start=NOW, end=NOW + HOUR, busy=2)], threads=10), "axis": DAY}


def attempts_() -> tuple[str, dict[str, Any]]:
    tried = [ran(NOW - HOUR, "retried")]
    drawn = attempts(tried, options=RunOptions(retries=3), now=NOW, zone=PARIS, next_due=NOW + HOUR)
    return "attempts(d)", {"d": drawn}


DRAWINGS: dict[str, tuple[str, dict[str, Any]]] = {
    "bars": ("wide_bars(d)", {"d": bars([ran(), ran(ending="dead")], now=NOW, zone=PARIS, running=True)}),
    "histogram": ("histogram(d)", {"d": durations(Buckets([(20, 4), (25, 1)]), timeout_ms=2_000)}),
    "strip": strip_(),
    "year": year_(),
    "lane": lane_(),
    "load": load_(),
    "attempts": attempts_(),
    "spark": ("spark(d)", {"d": lateness_spark([], now=NOW, zone=PARIS, events=[(NOW - HOUR, HOSTILE)])}),
    "function": ("function_day(d)", {"d": function_day([], HOSTILE, now=NOW, zone=PARIS)}),
    "burst": ("burst(d)", {"d": burst([NOW], now=NOW)}),
    "one-time": ("one_time_lane(d, axis)", {"d": one_time_lane(DAY, [1], [], waiting=1), "axis": DAY}),
}


@pytest.mark.parametrize("drawing", DRAWINGS)
def test_each_drawing_is_printed_with_its_sentence(drawing: str) -> None:
    call, values = DRAWINGS[drawing]
    text = printed(call, **values)
    tree = ElementTree.fromstring(f"<div>{text}</div>")
    assert values["d"].label in [element.get("aria-label") for element in tree.iter()]
    for svg in tree.iter("svg"):
        assert svg.get("role") == "img" or svg.get("aria-hidden") == "true"
        assert svg.get("viewBox")
    assert not re.search(r"\bstyle=|\son\w+=|javascript:|<script", text)


def test_an_axis_is_printed_with_its_herds() -> None:
    text = printed('axis_head(axis, "Europe/Paris")', axis=DAY)
    tree = ElementTree.fromstring(text)
    here = [span for span in tree.iter("span") if "here" in (span.get("class") or "")]
    assert [(span.text, span.get("class")) for span in here] == [("11:15", "tx-96 here")]


@pytest.mark.parametrize(
    "call", ["legend()", "year_key()", "lanes_key()", "lanes_key([1.5])", 'state("fail", "failed")']
)
def test_keys_are_well_formed(call: str) -> None:
    ElementTree.fromstring(f"<div>{printed(call)}</div>")


def test_a_clock_change_is_drawn_like_no_run() -> None:
    """Hollow in the year, and in a lane with a line of its own; both keys have the same."""
    call, values = year_()
    text = printed(call, **values)
    marks = re.findall(r'<(\w+) class="h-clock"', text)
    assert marks == ["circle", "circle"]  # of the day, and in the key
    key = text.partition('class="key hk"')[2]
    assert re.search(r'<svg[^>]*><circle class="h-clock"[^>]*/></svg>clock change', key)
    drawn = replace(lane(DAY, "a", "", past=()), clocks=(Dotted(x=7, says="2:00 to 3:00"),))
    text = printed("lane(d, axis) ~ draw.lanes_key()", d=drawn, axis=DAY)
    assert '<path class="clk" d="M7 0V' in text
    assert re.search(r'<path class="clk"[^>]*/></svg>clock change', text)
