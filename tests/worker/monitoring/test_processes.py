"""`/metrics` of `listen --processes`: one page for all, which counts what a killed process ran."""

from __future__ import annotations

import os
import signal
from collections import Counter
from pathlib import Path

from tests.optional import needed
from tests.processes import Processes, is_alive, until
from tests.servers import Server
from tests.worker.monitoring.scraping import value
from workkit import schedule

APP = """
import os, time

def write(file):
    with open(file, "a") as lines:
        lines.write(f"{os.getpid()}\\n")

def quick():
    write("runs")

def hold():
    write("held")
    while not os.path.exists("over"):
        time.sleep(0.05)
"""
QUICK = 300


def test_counts_equal_the_runs_also_after_a_process_is_killed(
    processes: Processes, server: Server, name: str, tmp_path: Path
) -> None:
    needed("prometheus_client")
    (tmp_path / "app.py").write_text(APP)
    s = schedule.create(name, redis=server.url)
    words = ("--processes", "4", "--threads", "1", "--health-port", "0", "--redis", server.url)
    listener = processes.workkit("listen", name, *words, cwd=tmp_path)
    url = listener.wait_for(r"(http://127\.0\.0\.1:\d+)/livez")[1]
    listener.wait_for("listening")

    def add(fn: str, count: int) -> None:
        schedule.add_many(s, ({"fn": f"app:{fn}", "at": "now", "unique": False} for _ in range(count)))

    def ran(file: str = "runs") -> list[int]:
        return [int(pid) for pid in (tmp_path / file).read_text().split()] if (tmp_path / file).exists() else []

    def counted(of: str) -> float:
        return value(url, f"workkit_job_{of}_seconds_count", schedule=name)

    add("quick", QUICK)
    until(lambda: counted("duration") == QUICK, what="the runs in the histogram")
    add("hold", 4)
    until(lambda: len(ran("held")) == 4, what="a long run in each process")
    victim, its_runs = Counter(ran()).most_common(1)[0]
    assert its_runs
    os.kill(victim, signal.SIGKILL)
    until(lambda: not is_alive(victim))
    listener.wait_for("restarted")
    add("quick", QUICK)
    until(lambda: len(ran()) == 2 * QUICK, what="further runs, in the process that replaces it")
    until(lambda: counted("duration") >= 2 * QUICK)
    assert (
        counted("duration") == counted("lateness") == value(url, "workkit_job_runs_total", outcome="done") == 2 * QUICK
    )
    assert value(url, "workkit_listeners", schedule=name) >= 4, "the supervisor asks the server"
    (tmp_path / "over").touch()
    listener.send(signal.SIGTERM)
    assert listener.wait() == 0
