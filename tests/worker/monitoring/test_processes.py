"""`/metrics` of `listen --processes`: one page for all, which counts what a killed process ran."""

from __future__ import annotations

import os
import signal
import threading
from collections import Counter
from collections.abc import Callable
from pathlib import Path

from tests.optional import needed
from tests.processes import Processes, is_alive, until
from tests.servers import Server
from tests.worker.monitoring.scraping import Samples, scrape, total
from workkit import schedule

APP = """
import os, time

def write():
    with open("runs", "a") as lines:
        lines.write(f"{os.getpid()}\\n")

def quick():
    write()

def short():
    time.sleep(0.002)
    write()
"""
QUICK, SHORT = 300, 2000
DURATION, LATENESS = "workkit_job_duration_seconds_count", "workkit_job_lateness_seconds_count"
COUNTS = (DURATION, LATENESS, "workkit_job_runs_total")
CUMULATIVE = ("_total", "_count", "_bucket", "_sum")


class Witness:
    """Scrapes again and again in a thread: no sum may go back, and each page must lie between what was settled before
    it and what had run after it.
    """

    def __init__(self, url: str, *, settled: Callable[[], int], ran: Callable[[], int]) -> None:
        self._url, self._settled, self._ran = url, settled, ran
        self._before: Samples = {}
        self._over = threading.Event()
        self._thread = threading.Thread(target=self._watch)
        self._looking = threading.Lock()
        self.wrong: list[str] = []
        self.pages = 0

    def __enter__(self) -> Witness:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._over.set()
        self._thread.join()

    def look(self) -> Samples:
        """Judge one page."""
        with self._looking:
            return self._look()

    def _look(self) -> Samples:
        least = self._settled()
        page = scrape(self._url)
        most = self._ran()
        for name in COUNTS:
            if not least <= (counted := total(page, name)) <= most:
                self.wrong.append(f"{name} is {counted}, not from {least} to {most}")
        for key, number in self._before.items():
            if key[0].endswith(CUMULATIVE) and page.get(key, -1) < number:
                self.wrong.append(f"{key} went from {number} to {page.get(key)}")
        self._before = page
        self.pages += 1
        return page

    def _watch(self) -> None:
        while not self._over.wait(0.05):
            self.look()


def test_no_count_goes_back_or_lacks_a_settled_run_while_a_process_is_killed(
    processes: Processes, server: Server, name: str, tmp_path: Path
) -> None:
    needed("prometheus_client")
    (tmp_path / "app.py").write_text(APP)
    s, client = schedule.create(name, redis=server.url), server.client()
    words = ("--processes", "4", "--threads", "1", "--health-port", "0", "--redis", server.url)
    listener = processes.workkit("listen", name, *words, cwd=tmp_path)
    url = listener.wait_for(r"(http://127\.0\.0\.1:\d+)/livez")[1]
    listener.wait_for("listening")
    added = 0

    def add(fn: str, count: int) -> None:
        nonlocal added
        schedule.add_many(s, ({"fn": f"app:{fn}", "at": "now", "unique": False} for _ in range(count)))
        added += count

    def ran() -> list[int]:
        return [int(pid) for pid in (tmp_path / "runs").read_text().split()] if (tmp_path / "runs").exists() else []

    def settled() -> int:
        return added - int(client.hlen(f"{name}:jobs"))

    def is_idle(but: int) -> bool:
        """Whether nothing is due, and only this process holds anything."""
        held = [job for one in schedule.listeners(s) if one.pid != but for job in one.running]
        return not (held or schedule.counts(s).due)

    add("quick", QUICK)
    until(lambda: settled() == QUICK, what="the first runs")
    page = scrape(url)
    assert [total(page, key) for key in COUNTS] == [QUICK] * 3, "nobody was killed: each run, once"
    with Witness(url, settled=settled, ran=lambda: len(ran())) as witness:
        add("short", SHORT)
        until(lambda: len(ran()) > QUICK + 500, what="some of the short runs")
        victim, _ = Counter(ran()[QUICK:]).most_common(1)[0]
        os.kill(victim, signal.SIGKILL)
        until(lambda: not is_alive(victim))
        listener.wait_for("restarted")
        until(lambda: is_idle(victim), what="all that the killed process did not hold")
        page, ended = witness.look(), ran()
        others = sum(pid != victim for pid in ended)
        for key in COUNTS:
            assert others <= total(page, key) <= len(ended), "it lacks no run of a process that lived"
        add("quick", QUICK)
        until(lambda: is_idle(victim), what="the runs of four processes again")
    assert not witness.wrong, witness.wrong[:5]
    assert witness.pages > 3
    assert total(scrape(url), "workkit_listeners", schedule=name) >= 4, "the supervisor asks the server"
    listener.send(signal.SIGTERM)
    assert listener.wait() == 0
