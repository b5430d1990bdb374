"""The recorded times of systemd in spec/vectors/moving/on_calendar.txt, and how they are recorded.

`python -m tests.moving.calendars` computes all of them again with the systemd-analyze of this machine (Debian's package
systemd), and writes the file anew. A line: from when, the zone of the machine, what OnCalendar= has, and when it
elapses: the first second since 1970, then the distances of the next ones, with x for repetitions, at most 100 in all.
"""

from __future__ import annotations

import re
import subprocess
from collections.abc import Iterator
from datetime import UTC, datetime
from itertools import groupby, pairwise
from pathlib import Path
from typing import NamedTuple

FILE = Path(__file__).parents[2] / "spec" / "vectors" / "moving" / "on_calendar.txt"
TIMES = 100
ERROR, NEVER = "error", "never"
_UTC = re.compile(r"(?:Next elapse|Iter\. #\d+|\(in UTC\)): \w{3} (\d{4}-\d\d-\d\d \d\d:\d\d:\d\d) UTC")


class Row(NamedTuple):
    base: datetime
    tz: str
    spec: str
    times: list[int] | None  # None: systemd refuses it

    @property
    def text(self) -> str:
        return " | ".join((f"{self.base:%Y-%m-%dT%H:%M:%SZ}", self.tz, self.spec, _written(self.times)))


def rows() -> list[Row]:
    return [_row(*line.split(" | ")) for line in _lines()]


def systemd_times(base: datetime, tz: str, spec: str) -> list[int] | None:
    """Ask systemd-analyze."""
    command = [
        "systemd-analyze",
        "calendar",
        f"--iterations={TIMES}",
        f"--base-time={base:%Y-%m-%d %H:%M:%S} UTC",
        spec,
    ]
    ran = subprocess.run(command, capture_output=True, text=True, env={"TZ": tz, "PATH": "/usr/bin:/bin"}, check=False)
    if ran.returncode:
        return None
    return [_second(text) for text in _UTC.findall(ran.stdout)]


def _second(text: str) -> int:
    return int(datetime.strptime(text, "%Y-%m-%d %H:%M:%S").replace(tzinfo=UTC).timestamp())


def _lines() -> Iterator[str]:
    return (line for line in FILE.read_text().splitlines() if not line.startswith("#"))


def _row(base: str, tz: str, spec: str, times: str = ERROR) -> Row:
    return Row(datetime.fromisoformat(base), tz, spec, _read(times))


def _written(times: list[int] | None) -> str:
    if not times:
        return ERROR if times is None else NEVER
    steps = [later - earlier for earlier, later in pairwise(times)]
    runs = [(step, len(list(same))) for step, same in groupby(steps)]
    return " ".join([str(times[0]), *(str(step) if count == 1 else f"{step}x{count}" for step, count in runs)])


def _read(text: str) -> list[int] | None:
    if text in (ERROR, NEVER):
        return None if text == ERROR else []
    first, *steps = text.split()
    times = [int(first)]
    for step in steps:
        size, _, count = step.partition("x")
        for _ in range(int(count or 1)):
            times.append(times[-1] + int(size))
    return times


def main() -> None:
    version = subprocess.run(["systemd-analyze", "--version"], capture_output=True, text=True, check=True).stdout
    head = [line for line in FILE.read_text().splitlines() if line.startswith("#")]
    head[-1] = f"# Recorded with {version.splitlines()[0]}."
    again = [row._replace(times=systemd_times(row.base, row.tz, row.spec)).text for row in rows()]
    FILE.write_text("\n".join([*head, *again]) + "\n")


if __name__ == "__main__":
    main()
