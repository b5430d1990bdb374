"""Run the benchmark, and write figures.json, report.md and plots into a folder."""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import time
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

from docs.scale.points import write_section
from tests.benchmarks import report
from tests.benchmarks.peers import installing, machine, measuring
from tests.benchmarks.peers.installing import Absent, Place
from tests.benchmarks.peers.measuring import Bench, Wait, running_bench
from tests.benchmarks.peers.peer import Peer
from tests.benchmarks.peers.roster import PEERS, WORKKIT
from tests.benchmarks.peers.running import Failed


@dataclass(frozen=True, slots=True, kw_only=True)
class Extent:
    """How much is measured: runs, starts of a waiting worker, jobs of 10 ms for each that runs at once."""

    runs: int
    starts: int
    wait: Wait
    pausing: int
    half: int
    is_short: bool


FULL = Extent(
    runs=3,
    starts=1,
    wait=Wait(immediate=100, scheduled=6, idle_seconds=3.0),
    pausing=150,
    half=100,
    is_short=False,
)
SHORT = Extent(
    runs=1,
    starts=1,
    wait=Wait(immediate=50, scheduled=3, idle_seconds=1.0),
    pausing=50,
    half=50,
    is_short=True,
)


class Entry:
    """One peer in this run, and what was found about it."""

    def __init__(self, peer: Peer, extent: Extent) -> None:
        self.peer = peer
        self.extent = extent
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
            "at_once": peer.at_once,
            "is_on_redis": not peer.is_on_postgres,
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

    def run(self, bench: Bench) -> None:
        """Measure the rates once: of jobs that take no time, and of those that take 10 ms."""
        if not self.is_valid or self.where is None:
            return
        try:
            bench.clear()
            figures = measuring.rate(bench, self.peer, where=self.where, jobs=self.jobs)
            bench.clear()
            jobs, half = (each * self.peer.at_once for each in (self.extent.pausing, self.extent.half))
            figures |= measuring.pausing(bench, self.peer, where=self.where, jobs=jobs, half=half)
        except Failed as error:
            self.fail(f"void: {error}")
            return
        say(f"{self.peer.name}: {figures['run_rate']:,.0f} jobs a second")
        for name, value in figures.items():
            self.found["rates"].setdefault(name, []).append(value)

    def wait(self, bench: Bench, *, is_first: bool) -> None:
        """Measure a waiting worker once; what it asks for while it is idle the first time only."""
        wait = self.extent.wait if is_first else replace(self.extent.wait, idle_seconds=0.0)
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
    parser.add_argument("--short", action="store_true", help="2 minutes instead of 10: one run, fewer jobs")
    parser.add_argument("--runs", type=int, help=f"default {FULL.runs}")
    parser.add_argument("--write", action="store_true", help="into docs/scale/measured.json too, for docs/scale.md")
    parser.add_argument("--only", metavar="NAMES", help=f"some of {','.join(peer.name for peer in PEERS)}")
    parser.add_argument("--out", metavar="FOLDER", type=Path, default=Path("build/peers"), help="default %(default)s")
    given = parser.parse_args()
    names = given.only.split(",") if given.only else [peer.name for peer in PEERS]
    if unknown := set(names) - {peer.name for peer in PEERS}:
        parser.error(f"--only: {', '.join(sorted(unknown))} is not one of {', '.join(peer.name for peer in PEERS)}")
    extent = SHORT if given.short else FULL
    extent = replace(extent, runs=given.runs or extent.runs)
    entries = [Entry(peer, extent) for peer in PEERS if peer.name in names]
    began = time.monotonic()
    with running_bench(has_postgres=any(entry.peer.is_on_postgres for entry in entries)) as bench:
        for entry in entries:
            if entry.peer.is_on_postgres and bench.postgres is None and entry.is_valid:
                entry.fail("absent: no PostgreSQL here; on Debian: apt-get install postgresql")
        figures = measure(bench, entries, extent)
    figures["minutes"] = (time.monotonic() - began) / 60
    write(figures, given.out)
    if given.write:
        write_section("peers", _of_the_page(figures))
    return 0 if all(entry.is_valid for entry in entries if entry.peer is WORKKIT) else 1


def measure(bench: Bench, entries: list[Entry], extent: Extent) -> dict[str, Any]:
    """Measure all, in turns, so that what slows the machine down for a while meets all alike."""
    described = machine.describe(bench.client)
    busy: list[float | None] = []
    for _ in range(extent.runs):
        busy.append(machine.foreign())
        for entry in entries:
            entry.run(bench)
    for start in range(extent.starts):
        busy.append(machine.foreign())
        for entry in entries:
            entry.wait(bench, is_first=start == 0)
    return {
        "is_short": extent.is_short,
        "runs": extent.runs,
        "starts": extent.starts,
        "wait": asdict(extent.wait),
        "machine": described,
        "foreign": [part for part in busy if part is not None],
        "peers": [entry.found for entry in entries],
    }


def _of_the_page(figures: dict[str, Any]) -> dict[str, Any]:
    """Give what docs/scale.md shows of the figures."""
    kept = {name: figures[name] for name in ("foreign", "minutes", "runs")}
    kept["machine"] = {name: figures["machine"][name] for name in ("processor", "server", "Python", "Node.js")}
    kept["peers"] = []
    for peer in figures["peers"]:
        of = {name: peer[name] for name in ("name", "versions", "settings", "at_once", "problem", "rates")}
        for name, part in (("idle_p50_ms", 0.5), ("idle_p99_ms", 0.99)):
            of[name] = [report.percentile(wait["immediate_ms"], part) for wait in peer["waits"]]
        kept["peers"].append(of)
    return kept


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


def say(text: str) -> None:
    """Say how far it is, on stderr."""
    print(f"{time.strftime('%H:%M:%S')} {text}", file=sys.stderr, flush=True)


if __name__ == "__main__":
    sys.exit(main())
