"""One job's way: what it costs to add, run and wake up for, here and at an earlier commit, in alternating rounds.

    python -m tests.benchmarks.bench_job [--against COMMIT] [--runs N] [--jobs N] [--only sides,defaults] [--write]

A server of its own. In each round each side has new processes, which run a tenth of their jobs before they are timed:
no-op jobs a second in one listener and in two, with the processor time of a job in listener and server; rows that
`add_many` adds in a second; the round trips of single additions as multiples of a PING in the same process; and how
soon an idle listener begins what another process adds. Then what history, metrics and logging cost, each off in turn.
Medians of --runs (default 5). Every job must run exactly once, or there are no figures. `--write` puts them into
docs/scale/measured.json, from which `python -m docs.scale` writes a page. About 7 minutes; `--runs 1`: 2 minutes.
"""

from __future__ import annotations

import argparse
import contextlib
import sys
import time
from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import Any, Final

from docs.scale.job import STEPS, lines
from docs.scale.points import write_section
from tests.benchmarks.peers import installing, machine, measuring
from tests.benchmarks.peers.installing import Absent, Place
from tests.benchmarks.peers.measuring import Bench, Wait, running_bench
from tests.benchmarks.peers.peer import Peer
from tests.benchmarks.peers.roster import WORKKIT
from tests.benchmarks.peers.running import Failed, stage
from tests.benchmarks.report import percentile
from tests.processes import ROOT
from tests.servers import free_port

BLOCK, BLOCKS = 200, 9  # single additions, and PINGs, one kind after the other
WAKES = 1000  # over all rounds
PLAIN: Final = WORKKIT.worker
LOUD: Final = tuple(word for word in PLAIN if word != "-q")
ARMS: Final[Mapping[str, tuple[bool, bool, bool]]] = {  # history, metrics, logging
    "all on": (True, True, True),
    "without history": (False, True, True),
    "without metrics": (True, False, True),
    "without logging": (True, True, False),
    "all off": (False, False, False),
}

Figures = dict[str, Any]


def main() -> int:
    """Measure, print, and write if asked to."""
    parser = argparse.ArgumentParser(prog="python -m tests.benchmarks.bench_job", description=__doc__.split("\n")[0])
    parser.add_argument("--against", metavar="COMMIT", help="measure this commit beside the checkout")
    parser.add_argument("--runs", type=int, default=5)
    parser.add_argument("--jobs", type=int, default=100_000)
    parser.add_argument("--only", default="sides,defaults", help="some of %(default)s")
    parser.add_argument("--write", action="store_true", help="into docs/scale/measured.json")
    given = parser.parse_args()
    if given.write and given.only != parser.get_default("only"):
        parser.error("--write takes all figures: leave --only out")
    began = time.monotonic()
    with contextlib.ExitStack() as all_of_it:
        sides = {"here": installing.checkout(ROOT)}
        if given.against:
            sides[given.against] = all_of_it.enter_context(installing.commit(given.against))
        bench = all_of_it.enter_context(running_bench())
        described = machine.describe(bench.client)
        figures: Figures = {
            "machine": {name: described[name] for name in ("processor", "server", "Python")},
            "cores": machine.cores(), "against": given.against or "", "runs": given.runs, "jobs": given.jobs,
            "wakes": WAKES, "sides": {name: {} for name in sides}, "defaults": {},
        }  # fmt: skip
        busy = []
        for turn in range(given.runs):
            busy.append(machine.foreign())
            if "sides" in given.only:
                for name in _turned(list(sides), turn):
                    with _named(f"round {turn + 1}, {name}"):
                        found = _side(bench, sides[name], jobs=given.jobs, wakes=WAKES // given.runs)
                    _keep(figures["sides"][name], found)
                    _say(f"round {turn + 1}, {name}: {found['one.run_rate']:,.0f} jobs a second")
            if "defaults" in given.only:
                for name in _turned(list(ARMS), turn):
                    with _named(f"round {turn + 1}, {name}"):
                        found = _arm(bench, sides["here"], name, jobs=given.jobs)
                    _keep(figures["defaults"].setdefault(name, {}), found)
                    _say(f"round {turn + 1}, {name}: {found['rate']:,.0f} jobs a second")
        figures["foreign"] = [round(part, 3) for part in busy if part is not None]
    figures["minutes"] = (time.monotonic() - began) / 60
    print("\n".join(lines(figures)))
    if given.write:
        write_section("job", figures)
    return 0


@contextlib.contextmanager
def _named(place: str) -> Iterator[None]:
    """Say where it was, if it fails."""
    try:
        yield
    except Failed as error:
        raise Failed(f"{place}: {error}") from None


def _turned(names: list[str], turn: int) -> list[str]:
    return names[::-1] if turn % 2 else names


def _keep(kept: Figures, found: Mapping[str, float]) -> None:
    for name, value in found.items():
        kept.setdefault(name, []).append(value)


def _side(bench: Bench, where: Place, *, jobs: int, wakes: int) -> dict[str, float]:
    """Measure one side once."""
    found: dict[str, float] = {}
    for name, workers in (("one", 1), ("two", 2)):
        bench.clear()
        each = measuring.rate(bench, WORKKIT, where=where, jobs=jobs * (workers + 1) // 2, workers=workers)
        found |= {f"{name}.{what}": value for what, value in each.items()}
    bench.clear()
    found |= _steps(bench, where)
    bench.clear()
    wait = Wait(immediate=wakes, scheduled=0, idle_seconds=0.0)
    woken = measuring.waits(bench, WORKKIT, where=where, wait=wait)["immediate_ms"]
    return found | {"wake.p50_ms": percentile(woken, 0.5), "wake.p99_ms": percentile(woken, 0.99)}


def _steps(bench: Bench, where: Place) -> dict[str, float]:
    """Time single additions and PINGs of one process in turns, after a warm-up: microseconds of each, medians."""
    took: dict[str, list[float]] = {}
    with stage(WORKKIT, where, server=bench.redis) as it:
        producer = it.start_producer()
        for block in range(BLOCKS + 1):
            for kind in STEPS:
                seconds, cpu = producer.each(kind, block * BLOCK, BLOCK)
                if block:
                    took.setdefault(f"step.{kind}", []).append(seconds / BLOCK * 1e6)
                    took.setdefault(f"step_cpu.{kind}", []).append(cpu / BLOCK * 1e6)
    wanted = (BLOCKS + 1) * BLOCK * (len(STEPS) - 1)
    if (there := bench.client.hlen("bench:jobs")) != wanted:
        raise Failed(f"{there:,} jobs were added, not {wanted:,}")
    return {name: percentile(values, 0.5) for name, values in took.items()}


def _arm(bench: Bench, where: Place, name: str, *, jobs: int) -> dict[str, float]:
    """Give the jobs a second with some of the defaults off, and the CPU time of a job. They run for more than a second,
    so that counts are written meanwhile.
    """
    has_history, has_metrics, has_log = ARMS[name]
    worker = (*(LOUD if has_log else PLAIN), *(("--health-port", str(free_port())) if has_metrics else ()))
    peer: Peer = replace(WORKKIT, worker=worker, variables={} if has_history else {"BENCH_HISTORY": "off"})
    bench.clear()
    found = measuring.rate(bench, peer, where=where, jobs=3 * jobs)
    if any(bench.client.scan_iter("bench:past:*")) != has_history:
        raise Failed(f"{name}: the server {'has no' if has_history else 'has a'} history of these runs")
    return {"rate": found["run_rate"], "cpu_us": found["worker_us"] + found["run_server_us"]}


def _say(text: str) -> None:
    print(f"{time.strftime('%H:%M:%S')} {text}", file=sys.stderr, flush=True)


if __name__ == "__main__":
    try:
        sys.exit(main())
    except (Absent, Failed) as error:
        sys.exit(f"no figures: {error}")
