"""Describe the machine on which figures were seen."""

from __future__ import annotations

import os
import platform
import re
import subprocess
import time
from datetime import UTC, datetime
from pathlib import Path
from typing import Any


def describe(client: Any) -> dict[str, str]:
    """Say what ran where, but for how busy it was with other things, see `foreign`."""
    server = client.info("server")
    product = server.get("server_name", "redis")
    version = server.get(f"{product}_version", server["redis_version"])
    return {
        "date": datetime.now(UTC).strftime("%Y-%m-%d %H:%M UTC"),
        "processor": f"{_processor()}, {cores()} cores",
        "memory": f"{os.sysconf('SC_PAGE_SIZE') * os.sysconf('SC_PHYS_PAGES') / 2**30:.1f} GiB",
        "system": f"{platform.system()} {platform.release()} {platform.machine()}",
        "Python": platform.python_version(),
        "Node.js": _output("node", "--version") or "none",
        "server": f"{product} {version}, no persistence, on 127.0.0.1",
        "checkout": _output("git", "describe", "--always", "--dirty") or "not a git checkout",
    }


def cores() -> int:
    """Count the cores that this process may use."""
    return len(os.sched_getaffinity(0))


def foreign(seconds: float = 0.5) -> float | None:
    """Return the part of all cores, 0 to 1, that is busy while this benchmark does nothing; None where nothing says."""
    before = _ticks()
    time.sleep(seconds)
    after = _ticks()
    if before is None or after is None:
        return None
    spent = [now - then for now, then in zip(after, before, strict=True)]
    return 1 - (spent[3] + spent[4]) / max(1, sum(spent))  # idle, and waiting for a disk


def _ticks() -> list[int] | None:
    """Read what the cores have spent: user, nice, system, idle, disk, interrupts, soft ones, and stolen by the host."""
    try:
        return [int(word) for word in Path("/proc/stat").read_text().split("\n")[0].split()[1:9]]
    except OSError:
        return None


def _processor() -> str:
    try:
        text = Path("/proc/cpuinfo").read_text()
    except OSError:
        return platform.processor() or platform.machine()
    found = re.search(r"^model name\s*:\s*(.+)$", text, flags=re.MULTILINE)
    return found[1] if found else platform.machine()


def _output(*command: str) -> str:
    try:
        return subprocess.run(
            command, capture_output=True, text=True, check=True, cwd=Path(__file__).parent
        ).stdout.strip()
    except (OSError, subprocess.CalledProcessError):
        return ""
