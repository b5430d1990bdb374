"""Where a benchmark plays: a folder with its functions, a server that writes nothing to disk, and processes."""

from __future__ import annotations

import os
import shutil
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from tests.processes import Processes
from tests.servers import Server
from workkit.brokers.embedded import program as embedded_program


@contextmanager
def stage(app: str = "") -> Iterator[tuple[Server, Processes, Path]]:
    """Start a server beside a folder with `app.py` in it, the folder of the processes. All ends with the block."""
    program = shutil.which("redis-server") or shutil.which("valkey-server") or embedded_program.bundled()
    if not program:
        sys.exit("error: no redis-server on PATH; on Debian: apt-get install redis-server")
    folder = Path(tempfile.mkdtemp(prefix="workkit-bench-"))
    (folder / "app.py").write_text(app)
    server, processes = Server(program, folder=folder, is_durable=False), Processes(folder)
    try:
        server.start()
        yield server, processes, folder
    finally:
        processes.close()
        server.close()
        shutil.rmtree(folder)


def spent(*pids: int) -> float:
    """The processor time of these processes so far, in seconds."""
    ticks = 0
    for pid in pids:
        fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
        ticks += int(fields[11]) + int(fields[12])
    return ticks / os.sysconf("SC_CLK_TCK")
