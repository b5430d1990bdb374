"""ASGI programs that serve and listen in four processes: examples/fastapi_app.py and litestar_app.py as they stand."""

from __future__ import annotations

import re
import signal
import sys
from pathlib import Path

import httpx
import pytest

from tests.frameworks.examples import runs_of_poll
from tests.optional import needed
from tests.processes import Processes, until
from tests.servers import free_port
from workkit import schedule


@pytest.mark.parametrize("framework", ["fastapi", "litestar"])
def test_four_workers_run_each_occurrence_once_and_stop_cleanly(
    framework: str, processes: Processes, examples: Path
) -> None:
    needed(framework)
    port = free_port()
    words = ("-m", "uvicorn", "--workers", "4", "--port", str(port), f"{framework}_app:api")
    served = processes.run(sys.executable, *words, cwd=examples)
    s = schedule.create(framework, redis=f"embedded://{examples}/.workkit")
    served.wait_for("Application startup complete", count=4, timeout=60)
    until(lambda: len(schedule.listeners(s)) == 4, what="four listeners")
    answer = httpx.post(f"http://127.0.0.1:{port}/signups", json={"email": "tracy@domain.com"}, timeout=30)
    assert re.fullmatch("[0-9a-f]{40}", answer.json()["job"])
    served.wait_for("welcome, tracy@domain.com")  # four processes write to one pipe
    served.wait_for("polled for", count=5)

    served.send(signal.SIGTERM)
    assert served.wait(timeout=60) == 0, served.transcript()
    due = runs_of_poll(served)
    assert len(set(due)) == len(due), served.transcript()
    assert sum("Application shutdown complete" in line for line in served.lines) == 4
    assert not any("Traceback" in line for line in served.lines), served.transcript()
    assert schedule.listeners(s) == []
    assert schedule.counts(s).running == 0
