"""A monitor is told of the starts and endings of a named job, and no job waits for it."""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

import pytest

from tests import handlers
from tests.processes import until
from tests.servers import Server
from tests.worker.observation import HOW, named
from workkit import errors, schedule
from workkit.contract.listener import Claim, Standing
from workkit.events import Event
from workkit.jobs.job import Job
from workkit.jobs.terms import Terms
from workkit.schedule import Schedule
from workkit.worker import report as module
from workkit.worker.report import Pings, ping_url


def linger() -> None:
    for _ in range(2000):
        time.sleep(0.01)


class Monitor:
    """A server that notes which paths were asked for, and answers with `status`; none while `gate` is closed."""

    def __init__(self) -> None:
        self.paths: list[str] = []
        self.status = 200
        self.gate = threading.Event()
        self.gate.set()
        monitor = self

        class Answering(BaseHTTPRequestHandler):
            def do_GET(self) -> None:
                monitor.paths.append(self.path)
                monitor.gate.wait(20)
                self.send_response(monitor.status)
                self.send_header("Location", "/elsewhere")
                self.send_header("Content-Length", "0")
                self.end_headers()

            def log_message(self, format: str, *args: object) -> None:
                pass

        self._server = ThreadingHTTPServer(("127.0.0.1", 0), Answering)
        self._server.daemon_threads = True
        threading.Thread(target=self._server.serve_forever, daemon=True).start()
        self.url = f"http://127.0.0.1:{self._server.server_address[1]}"

    def close(self) -> None:
        self.gate.set()
        self._server.shutdown()
        self._server.server_close()


@pytest.fixture
def monitor() -> Iterator[Monitor]:
    found = Monitor()
    yield found
    found.close()


def add(s: Schedule, fn: Any, url: str, **options: Any) -> Job:
    return schedule.add(s, fn, at="now", name="nightly", ping=url, **options)


def paths_of(s: Schedule, monitor: Monitor, count: int) -> list[str]:
    """The paths, in order, once so many have arrived; a listener that has stopped sends no more."""
    with schedule.listener(s, threads=1, **HOW):
        until(lambda: len(monitor.paths) >= count, what=f"{count} pings")
        until(lambda: not list(schedule.jobs(s)) or schedule.counts(s).dead, what="the end")
    return monitor.paths


def test_a_monitor_is_told_of_the_start_and_the_success(s: Schedule, monitor: Monitor) -> None:
    add(s, handlers.note, f"{monitor.url}/check/7?from=shop")
    assert paths_of(s, monitor, 2) == ["/check/7/start?from=shop", "/check/7?from=shop"]


def test_a_dead_job_is_a_failure_and_an_attempt_before_it_is_none(s: Schedule, monitor: Monitor) -> None:
    add(s, handlers.fail, f"{monitor.url}/check", retries=1, base="0s")
    assert paths_of(s, monitor, 3) == ["/check/start", "/check/start", "/check/fail"]


def test_a_discarded_run_is_a_success(s: Schedule, monitor: Monitor) -> None:
    add(s, handlers.discard, monitor.url)
    assert paths_of(s, monitor, 2) == ["/start", "/"]


def test_a_cancelled_run_says_nothing_of_its_end(s: Schedule, monitor: Monitor, seen: list[Event]) -> None:
    job = add(s, linger, monitor.url)
    with schedule.listener(s, threads=1, imports=[__name__], folder=None):
        until(lambda: monitor.paths)
        schedule.cancel(s, job)
        until(lambda: named(seen, "discarded"))
    assert monitor.paths == ["/start"]


def test_no_job_and_no_stop_waits_long_for_a_monitor_that_does_not_answer(
    s: Schedule, monitor: Monitor, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, "FAREWELL", 0.2)
    monitor.gate.clear()
    for n in range(20):
        schedule.add(s, handlers.note, at="now", args=[n], name=f"job {n}", ping=monitor.url)
    listener = schedule.listener(s, threads=1, **HOW).start()
    until(lambda: len(handlers.calls) == 20, what="all runs", timeout=4)
    began = time.monotonic()
    listener.stop()
    assert time.monotonic() - began < 3
    assert len(monitor.paths) == 1, "one request at a time"


@pytest.mark.parametrize("status", [500, 302])
def test_an_answer_that_is_no_success_is_tried_once_more_and_reported(
    s: Schedule, monitor: Monitor, seen: list[Event], status: int
) -> None:
    monitor.status = status
    added = add(s, handlers.note, f"{monitor.url}/secret")
    assert paths_of(s, monitor, 3) == ["/secret/start", "/secret", "/secret"]
    reports = until(lambda: named(seen, "no_ping")[1:] and named(seen, "no_ping"))
    assert [event.fields["reason"].partition(":")[0] for event in reports] == ["start", "success"]
    assert all(event.fields["job"].id == added.id and str(status) in event.fields["reason"] for event in reports)
    assert not any("secret" in event.fields["reason"] for event in reports), "who knows the URL may end the alarm"


def test_a_monitor_that_is_away_fails_nothing(s: Schedule, seen: list[Event], monitor: Monitor) -> None:
    url = monitor.url
    monitor.close()
    add(s, handlers.note, url)
    with schedule.listener(s, threads=1, **HOW):
        until(lambda: len(named(seen, "no_ping")) == 2)
    assert handlers.calls
    assert not schedule.counts(s).dead


def test_what_is_drained_tells_nobody(s: Schedule, monitor: Monitor) -> None:
    add(s, handlers.note, monitor.url)
    assert schedule.drain(s, **HOW).ran == 1
    assert monitor.paths == []


def test_a_job_past_its_deadline_is_a_failure(s: Schedule, monitor: Monitor, server: Server) -> None:
    job = schedule.add(s, handlers.note, in_="1 hour", name="nightly", ping=f"{monitor.url}/check?a=1", within="1 hour")
    server.client().zadd(f"{s.name}:deadlines", {job.id: 5})
    with schedule.listener(s, threads=1, **HOW):
        until(lambda: monitor.paths)
    assert monitor.paths == ["/check/fail?a=1&late"]


def test_pings_that_wait_are_bounded(monitor: Monitor, seen: list[Event], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "MOST", 3)
    monkeypatch.setattr(module, "FAREWELL", 0.1)
    monitor.gate.clear()
    job = Job(id="a" * 40, schedule="t", fn="f")
    standing = Standing(terms=Terms(name="n", ping=monitor.url))
    claim = Claim(receipt=None, describe=lambda _: job, id=job.id, fn="f", args=(), due_ms=0, standing=standing)
    pings = Pings()
    pings.put(claim, "start")
    until(lambda: monitor.paths)
    for _ in range(5):
        pings.put(claim, "success")
    assert [event.fields["reason"] for event in named(seen, "no_ping")] == 2 * ["success: 3 pings wait already"]
    pings.close()
    pings.put(claim, "success")
    monitor.gate.set()


@pytest.mark.parametrize(
    ("url", "fail"),
    [
        ("https://h", "https://h/fail"),
        ("https://h/", "https://h/fail"),
        ("https://h/a/b/", "https://h/a/b/fail"),
        ("https://h:8443/a?x=1&y=2", "https://h:8443/a/fail?x=1&y=2"),
        ("http://[::1]:80/a", "http://[::1]:80/a/fail"),
    ],
)
def test_the_kind_of_a_ping_is_the_last_step_of_the_path(url: str, fail: str) -> None:
    assert ping_url(url, "fail") == fail
    assert ping_url(url, "success") == url


@pytest.mark.parametrize(
    "url",
    ["", "example.com/x", "ftp://h/x", "file:///etc/passwd", "https://", "https:///x", "https://h/a b", "https://h/\n",
     "https://user:word@h/x", "https://h/é", "https://h:port/", f"https://h/{'x' * 500}", 7, b"https://h/"],
)  # fmt: skip
def test_a_ping_that_is_no_url_is_refused(s: Schedule, url: Any) -> None:
    with pytest.raises(errors.InvalidOptions, match="is not a URL that begins with https:// or http://") as raised:
        schedule.add(s, handlers.note, at="now", name="n", ping=url)
    assert (raised.value.where, raised.value.given) == ("ping", url)


def test_a_ping_needs_a_name(s: Schedule) -> None:
    with pytest.raises(errors.InvalidOptions, match=r'without name=.*Add name="\.\.\."'):
        schedule.add_now(s, handlers.note, ping="https://h/x")


def test_a_changed_ping_replaces_the_named_job(s: Schedule) -> None:
    times = {"every": "day at 9am", "name": "n"}
    first = schedule.add(s, handlers.note, ping="https://h/a", **times)  # type: ignore[arg-type]  # of **
    second = schedule.add(s, handlers.note, ping="https://h/b", **times)  # type: ignore[arg-type]
    assert (first.new, second.new, first.id == second.id) == (True, True, False)
    (found,) = schedule.jobs(s)
    assert found.terms.ping == "https://h/b"
