"""Run the benchmark, and write figures.json, report.md and plots into a folder."""

from __future__ import annotations

import argparse
import contextlib
import json
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tests.benchmarks import report
from tests.benchmarks.peers import installing, machine, measuring, sizes
from tests.benchmarks.peers.installing import Absent, Place
from tests.benchmarks.peers.measuring import Bench, Wait
from tests.benchmarks.peers.peer import Peer
from tests.benchmarks.peers.roster import PEERS, WORKKIT
from tests.benchmarks.peers.running import Failed
from tests.servers import Server
from workkit.brokers.embedded import program as embedded_program


@dataclass(frozen=True, slots=True, kw_only=True)
class Extent:
    """How much is measured: runs after one warm-up, starts of a waiting worker, repeats for each size."""

    runs: int
    starts: int
    wait: Wait
    sizes: tuple[int, ...]
    repeats: int
    is_short: bool


FULL = Extent(
    runs=5,
    starts=3,
    wait=Wait(immediate=100, scheduled=8, idle_seconds=5.0),
    sizes=sizes.SIZES,
    repeats=5,
    is_short=False,
)
SHORT = Extent(
    runs=1,
    starts=1,
    wait=Wait(immediate=50, scheduled=3, idle_seconds=1.0),
    sizes=sizes.SHORT_SIZES,
    repeats=1,
    is_short=True,
)


class Entry:
    """One peer in this run, and what was found about it."""

    def __init__(self, peer: Peer, extent: Extent) -> None:
        self.peer = peer
        self.where: Place | None = None
        self.jobs = peer.short_jobs if extent.is_short else peer.jobs
        self.found: dict[str, Any] = {
            "name": peer.name,
            "settings": peer.settings,
            "acknowledges": peer.acknowledges,
            "dues": peer.dues.value,
            "jobs": self.jobs,
            "versions": {},
            "problem": "",
            "rates": {},
            "waits": [],
        }
        try:
            self.where = installing.place(peer)
            self.found["versions"] = installing.versions(peer, self.where)
        except Absent as error:
            self.fail(f"absent: {error}")

    @property
    def is_valid(self) -> bool:
        return not self.found["problem"]

    def fail(self, why: str) -> None:
        """Void all its figures."""
        say(f"{self.peer.name}: {why}")
        self.found.update(problem=why, rates={}, waits=[])

    def run(self, bench: Bench, *, is_counted: bool) -> None:
        """Measure the rate once."""
        if not self.is_valid or self.where is None:
            return
        try:
            bench.clear()
            figures = measuring.rate(bench, self.peer, where=self.where, jobs=self.jobs)
        except Failed as error:
            self.fail(f"void: {error}")
            return
        say(f"{self.peer.name}: {figures['run_rate']:,.0f} jobs a second{'' if is_counted else ' (warm-up)'}")
        if is_counted:
            for name, value in figures.items():
                self.found["rates"].setdefault(name, []).append(value)

    def wait(self, bench: Bench, wait: Wait) -> None:
        """Measure a waiting worker once."""
        if not self.is_valid or self.where is None:
            return
        try:
            bench.clear()
            self.found["waits"].append(measuring.waits(bench, self.peer, where=self.where, wait=wait))
        except Failed as error:
            self.fail(f"void: {error}")
            return
        say(f"{self.peer.name}: waiting worker measured")


def main() -> int:
    """Read the command line and do it; status 1 if workkit's own figures are void."""
    parser = argparse.ArgumentParser(prog="python -m tests.benchmarks.peers", description=__doc__)
    parser.add_argument("--short", action="store_true", help="2 minutes instead of 20: one run, fewer jobs")
    parser.add_argument("--only", metavar="NAMES", help=f"some of {','.join(peer.name for peer in PEERS)}")
    parser.add_argument("--out", metavar="FOLDER", type=Path, default=Path("build/peers"), help="default %(default)s")
    given = parser.parse_args()
    names = given.only.split(",") if given.only else [peer.name for peer in PEERS]
    if unknown := set(names) - {peer.name for peer in PEERS}:
        parser.error(f"--only: {', '.join(sorted(unknown))} is not one of {', '.join(peer.name for peer in PEERS)}")
    extent = SHORT if given.short else FULL
    entries = [Entry(peer, extent) for peer in PEERS if peer.name in names]
    began = time.monotonic()
    with running_bench() as bench:
        figures = measure(bench, entries, extent)
    figures["minutes"] = (time.monotonic() - began) / 60
    write(figures, given.out)
    return 0 if all(entry.is_valid for entry in entries if entry.peer is WORKKIT) else 1


def measure(bench: Bench, entries: list[Entry], extent: Extent) -> dict[str, Any]:
    """Measure all, in turns, so that what slows the machine down for a while meets all alike."""
    described = machine.describe(bench.client)
    busy: list[float | None] = []
    for run in range(extent.runs + 1):
        busy.append(machine.foreign())
        for entry in entries:
            entry.run(bench, is_counted=run > 0)
    for start in range(extent.starts):
        wait = extent.wait if start == 0 else Wait(**{**_fields(extent.wait), "idle_seconds": 0.0})
        busy.append(machine.foreign())
        for entry in entries:
            entry.wait(bench, wait)
    by_size: list[dict[str, Any]] = []
    if ours := next((entry.where for entry in entries if entry.peer is WORKKIT), None):
        for found in sizes.costs(bench, where=ours, sizes=extent.sizes, repeats=extent.repeats):
            say(f"workkit with {found['size']:,} waiting jobs measured")
            by_size.append(found)
    return {
        "is_short": extent.is_short,
        "runs": extent.runs,
        "starts": extent.starts,
        "wait": _fields(extent.wait),
        "machine": described,
        "foreign": [part for part in busy if part is not None],
        "peers": [entry.found for entry in entries],
        "sizes": by_size,
        "size_runs": sizes.RUNS,
        "size_adds": sizes.ADDS,
        "size_repeats": extent.repeats,
    }


def write(figures: dict[str, Any], folder: Path) -> None:
    """Write the figures, the plots where matplotlib can be had, and the report."""
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "figures.json").write_text(json.dumps(figures, indent=1))
    try:
        python = installing.virtualenv("plots").command(["python"])
        plots = Path(report.__file__).with_name("plots.py")
        subprocess.run([*python, str(plots), str(folder)], check=True)
    except (Absent, subprocess.CalledProcessError) as error:
        say(f"no plots: {error}")
    report.write(folder)
    say(f"{folder / 'report.md'}")


@contextlib.contextmanager
def running_bench() -> Iterator[Bench]:
    """Give a server of its own, without persistence: redis-server of PATH, else the Valkey of workkit[embedded]."""
    program = shutil.which("redis-server") or embedded_program.bundled()
    if not program:
        sys.exit("error: no redis-server on PATH; on Debian: apt-get install redis-server")
    folder = Path(tempfile.mkdtemp(prefix="workkit-bench-"))
    server = Server(program, folder=folder, is_durable=False)
    try:
        server.start()
        yield Bench(client=server.client(), redis=server.url)
    finally:
        server.close()
        shutil.rmtree(folder)


def say(text: str) -> None:
    """Say how far it is, on stderr."""
    print(f"{time.strftime('%H:%M:%S')} {text}", file=sys.stderr, flush=True)


def _fields(wait: Wait) -> dict[str, Any]:
    return {"immediate": wait.immediate, "scheduled": wait.scheduled, "idle_seconds": wait.idle_seconds}


if __name__ == "__main__":
    sys.exit(main())
