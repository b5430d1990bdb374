"""The example of a bridge, with a Go pool on the other side."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import pytest

from tests.processes import ROOT, Processes, until
from tests.servers import Server


@pytest.mark.parametrize("server", ["redis"], indirect=True)
def test_a_go_pool_takes_what_the_bridge_adds_for_it(server: Server, processes: Processes, peer: Path) -> None:
    log = processes.folder / "ran"
    go = processes.run(
        str(peer), "pool", "fleet", "--jobs", "resize_image:1,send_email:1,send_digest:1", "--concurrency", "1",
        "--redis", f"127.0.0.1:{server.port}", "--log", str(log), "--sleeps", "0,20",
    )  # fmt: skip
    go.wait_for('"started"')
    client = server.client()
    for name in ("send_email", "send_digest"):
        client.set(f"fleet:jobs:{name}:paused", 1)
    bridge = processes.run(sys.executable, str(ROOT / "examples" / "gocraft_bridge.py"), server.url)
    until(lambda: log.exists() and "resize_image" in log.read_text(), what="the run in Go")
    go.close()
    client.delete("fleet:jobs:send_email:paused", "fleet:jobs:send_digest:paused")
    bridge.wait_for("a pool in Go has taken resize_image")
    assert bridge.wait() == 0
    ended = [json.loads(line) for line in log.read_text().splitlines()]
    assert {line["name"] for line in ended} == {"resize_image"}
