"""A PostgreSQL of its own for the peer that needs one, in a folder that ends with it."""

from __future__ import annotations

import contextlib
import os
import pwd
import shutil
import subprocess
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from tests.processes import until
from tests.servers import free_port

SETTINGS = ("fsync=off", "synchronous_commit=off", "full_page_writes=off", "jit=off", "shared_buffers=256MB")


@dataclass(frozen=True, slots=True, kw_only=True)
class Postgres:
    """A running server."""

    url: str
    pid: int
    psql: str

    def clear(self) -> None:
        """Wait until nobody is connected, and forget all jobs."""
        until(lambda: self._ask("SELECT count(*) FROM pg_stat_activity WHERE datname = 'bench'") == "1")
        self._ask("DROP SCHEMA IF EXISTS graphile_worker CASCADE")

    def cpu(self) -> float:
        """Return the CPU seconds of all its processes, those that have ended among them."""
        ticks = 0
        for folder in Path("/proc").glob("[0-9]*"):
            with contextlib.suppress(OSError):
                fields = (folder / "stat").read_text().rpartition(")")[2].split()
                if int(folder.name) == self.pid:
                    ticks += sum(map(int, fields[11:15]))  # its own, and those of children that have ended
                elif int(fields[1]) == self.pid:
                    ticks += sum(map(int, fields[11:13]))
        return ticks / os.sysconf("SC_CLK_TCK")

    def _ask(self, query: str) -> str:
        words = [self.psql, "-qtA", "-c", query, self.url]
        return subprocess.run(words, capture_output=True, text=True, check=True).stdout.strip()


@contextlib.contextmanager
def postgres() -> Iterator[Postgres | None]:
    """Start one, by another user where this one is root, as it refuses to run so. Give None where there is none."""
    user = (
        next((name.pw_name for name in pwd.getpwall() if name.pw_name == "postgres"), None) if not os.getuid() else None
    )
    newest = max(Path("/usr/lib/postgresql").glob("*/bin/initdb"), default=None)
    found = shutil.which("initdb") or (newest and str(newest))
    if found is None or (not os.getuid() and user is None):
        yield None
        return
    programs = Path(found).parent
    folder = Path(tempfile.mkdtemp(prefix="workkit-bench-postgres-"))
    if user:
        shutil.chown(folder, user)
    port, data = free_port(), folder / "data"
    make = [str(programs / "initdb"), "-D", str(data), "-U", "bench", "-A", "trust", "--no-sync", "-E", "UTF8"]
    subprocess.run(make, check=True, capture_output=True, cwd=folder, user=user)
    start = [str(programs / "postgres"), "-D", str(data), "-p", str(port), "-k", str(folder), "-h", "127.0.0.1"]
    start += [word for setting in SETTINGS for word in ("-c", setting)]
    child = subprocess.Popen(start, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, cwd=folder, user=user)
    try:
        psql = shutil.which("psql") or str(programs / "psql")
        base = f"postgres://bench@127.0.0.1:{port}"
        ask = [psql, "-qc", "CREATE DATABASE bench", f"{base}/postgres"]
        until(lambda: subprocess.run(ask, capture_output=True).returncode == 0, what="PostgreSQL to answer")
        yield Postgres(url=f"{base}/bench", pid=child.pid, psql=psql)
    finally:
        child.terminate()
        child.wait()
        shutil.rmtree(folder)
