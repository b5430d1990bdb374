"""From each failure to its traceback: one link."""

from __future__ import annotations

import html
import re
from typing import Any

from tests import handlers
from tests.servers import Server
from tests.web.conftest import Browser, headline, text_of
from tests.web.recurring_jobs import HOW, overdue
from workkit import schedule
from workkit.schedule import Schedule


def links(answer: Any) -> list[str]:
    """Where the links of a page to tracebacks lead."""
    found = re.findall(r'<a [^>]*href="([^"]*#h-err)"', answer.text)
    return [html.unescape(href) for href in found]


def shows_traceback(browser: Browser, href: str, *texts: str) -> None:
    said = text_of(browser.get(href.partition("#")[0]))
    for text in ("What went wrong", "handlers.py", *texts):
        assert text in said, (href, said)


def failing(s: Schedule, *texts: str) -> None:
    """Let a recurring job fail once with each text."""
    for text in texts:
        schedule.add(s, handlers.fail, args=[text], every="3 hours", name="export")
        schedule.run(s, "export")
        schedule.drain(s, raise_errors=False, **HOW)


def test_a_run_leads_to_its_traceback(browser: Browser, s: Schedule) -> None:
    failing(s, "disk 1 full", "disk 2 full")
    schedule.add_now(s, handlers.fail, args=["disk 3 full"])
    schedule.drain(s, raise_errors=False, **HOW)
    runs = [run for run in schedule.runs(s) if run.error]
    assert len(runs) == 3
    for run in runs:
        (href,) = links(browser.get(f"/s/{s.name}/runs/{run.place}"))
        shows_traceback(browser, href, (run.error or "").removeprefix("OSError: "))
    found = links(browser.get(f"/s/{s.name}/runs"))
    assert len(set(found)) == 3


def test_a_run_whose_traceback_is_gone_says_so(browser: Browser, s: Schedule) -> None:
    failing(s, "disk 1 full")
    schedule.discard(s)
    (run,) = schedule.runs(s)
    answer = browser.get(f"/s/{s.name}/runs/{run.place}")
    assert "Its traceback is no longer kept: its dead record was retried, discarded or removed." in text_of(answer)
    assert links(answer) == []
    assert not re.search(r'href="[^"]*dead=', browser.get(f"/s/{s.name}/jobs/export").text)


def test_a_recurring_job_leads_to_the_traceback_of_each_failed_run(browser: Browser, s: Schedule) -> None:
    failing(s, "disk 1 full", "disk 2 full")
    answer = browser.get(f"/s/{s.name}/jobs/export")
    last = answer.text.partition("The last run, ")[2].partition("</p>")[0]
    (href,) = re.findall(r'href="([^"]*)#h-err"', last)
    shows_traceback(browser, html.unescape(href), "disk 2 full")
    bars, year, rows = (
        re.findall(r'href="([^"]*)#h-err"', answer.text.partition(start)[2].partition(end)[0])
        for start, end in (('id="h-60"', "</section>"), ('id="h-year"', "</section>"), ('id="h-runs"', "</section>"))
    )
    assert [len(set(bars)), len(set(year)), len(set(rows))] == [2, 1, 2]
    assert set(bars) == set(rows)
    shows_traceback(browser, html.unescape(rows[0]), "disk 2 full")
    shows_traceback(browser, html.unescape(rows[1]), "disk 1 full")
    shows_traceback(browser, html.unescape(year[0]), "disk 2 full")


def test_a_recurring_job_that_is_tried_again_shows_the_traceback(browser: Browser, s: Schedule, server: Server) -> None:
    job = schedule.add(s, handlers.fail, args=["disk 1 full"], every="day", name="export", retries=3, base="1h")
    overdue(server, s, job, by_ms=0)
    schedule.drain(s, raise_errors=False, **HOW)
    answer = browser.get(f"/s/{s.name}/jobs/export")
    for text in ("What went wrong", "OSError disk 1 full", "handlers.py"):
        assert text in text_of(answer), text_of(answer)
    (run,) = schedule.runs(s)
    for path in (f"runs/{run.place}", ""):
        (href, *_) = links(browser.get(f"/s/{s.name}/{path}"))
        assert href == f"/s/{s.name}/jobs/export#h-err"


def test_now_leads_to_the_traceback_of_each_failure(browser: Browser, s: Schedule) -> None:
    failing(s, "disk 1 full", "disk 2 full")
    (href,) = links(browser.get(f"/s/{s.name}/"))
    shows_traceback(browser, href, "disk 2 full")
    for _ in range(10):
        schedule.add_now(s, handlers.fail, args=["the network is down"])
    schedule.drain(s, raise_errors=False, **HOW)
    found = links(browser.get(f"/s/{s.name}/"))
    assert len(found) == 2
    shows_traceback(browser, found[0], "disk 2 full")
    shows_traceback(browser, found[1], "the network is down")


def test_the_page_of_a_recurring_job_is_headed_by_its_name(browser: Browser, s: Schedule) -> None:
    schedule.add(s, handlers.note, every="day at 4:00", tz="Europe/Paris", name="nightly")
    plain = schedule.add(s, handlers.note, every="5 hours")
    answer = browser.get(f"/s/{s.name}/jobs/nightly")
    assert headline(answer) == "nightly"
    assert " nightly every day at 4:00 Europe/Paris Has not run yet" in text_of(answer)
    assert headline(browser.get(f"/s/{s.name}/jobs/{plain.id}")) == "every 5 hours"
