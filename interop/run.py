"""Play the scenarios with every pair of peers and print a matrix: who adds, who runs, and what each side saw.

    python interop/run.py [--peers python,node,...] [--with PEER] [--also FOLDER] [--scenarios add-now,...] [--runs N]
        [--fleet 10000]
    python interop/run.py --layout hutch [--scenarios ours-direct,...]

Exit status 0: all that was played is green. A peer whose language is not installed is named, and left out; with
CI set that is a failure.
"""

from __future__ import annotations

import argparse
import os
import sys
import time
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, closing, contextmanager
from dataclasses import dataclass
from itertools import product
from pathlib import Path

import kinds
from fleet import play_fleet
from kinds import KINDS
from play import SCENARIOS, Failed, Metronome, Play, Scenario, read
from processes import Peer, PeerError, Server, shared_order

AT_ONCE = 24  # scenarios; most of the time they wait
AT_ONCE_WITH = 8  # of those in which the same peer takes part, which is one process
HEAVY_AT_ONCE = 2  # of those that keep a peer or the server busy: one waits while the other computes
STARTS_AT_ONCE = 4  # of those that start peers of their own: to start a JVM keeps a processor busy for seconds


@dataclass(frozen=True, slots=True, kw_only=True)
class Result:
    """What became of one scenario with one pair: `error` None is green."""

    producer: str
    consumer: str
    scenario: str
    runs: int
    seconds: float
    error: str | None = None


def main() -> int:
    """Read the command line and play."""
    options = _options()
    sys.stdout.reconfigure(line_buffering=True)  # type: ignore[union-attr]  # whoever pipes it sees how far it is
    if options.layout == "hutch":
        return _play_on_rabbitmq(options)
    wanted = options.peers.split(",")
    absent = {peer: why for peer in wanted if (why := KINDS[peer].absence())}
    for peer, why in absent.items():
        print(f"absent: {peer}: {why}")
    at_hand = [peer for peer in wanted if peer not in absent]
    scenarios = [read(path) for path in sorted(SCENARIOS.glob("*.json"))]
    if options.scenarios:
        scenarios = [s for s in scenarios if s.name in options.scenarios.split(",")]
    if options.list:
        with started(at_hand) as (_, peers):
            for scenario, producer, consumer in plays_of(scenarios, peers, each_with=options.each_with):
                print(f"{producer.name} -> {consumer.name}: {scenario.name}")
        return 0
    is_green = not (absent and os.environ.get("CI"))
    for number in range(1, options.runs + 1):
        begun = time.monotonic()
        with started(at_hand) as (server, peers):
            at_once = AT_ONCE_WITH if options.each_with else AT_ONCE
            results = play_all(plays_of(scenarios, peers, each_with=options.each_with), server, at_once=at_once)
            took = time.monotonic() - begun
            print(f"\nrun {number} of {options.runs}, {len(results)} plays in {took:.0f} s")
            is_green &= show(results, peers, verbose=options.verbose)
    if options.fleet:
        is_green &= play_fleet(at_hand, jobs=options.fleet)
    print("\nall green" if is_green else "\nNOT green")
    return 0 if is_green else 1


def _play_on_rabbitmq(options: argparse.Namespace) -> int:
    import exchanges  # it needs the tests and their packages

    if missing := exchanges.absence():
        print(f"absent: ruby: {missing}")
        return 1 if os.environ.get("CI") else 0
    wanted = options.scenarios.split(",") if options.scenarios else exchanges.names()
    is_green = exchanges.play_exchanges(wanted, verbose=options.verbose)
    print("\nall green" if is_green else "\nNOT green")
    return 0 if is_green else 1


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--peers", help=f"default: all of {','.join(KINDS)}")
    parser.add_argument("--with", dest="each_with", metavar="PEER", help="only the pairs in which this one takes part")
    parser.add_argument(
        "--also", action="append", default=[], metavar="FOLDER", help="a peer.json and a peer elsewhere"
    )
    parser.add_argument("--scenarios", help="names of files in scenarios/, without .json; default: all")
    parser.add_argument(
        "--layout",
        choices=("native", "hutch"),
        default="native",
        help="hutch: play those of scenarios/hutch/, with the Ruby peer on a RabbitMQ",
    )
    parser.add_argument("--runs", type=int, default=1, help="play all so many times; default 1")
    parser.add_argument("--fleet", type=int, default=0, metavar="JOBS", help="then so many jobs over mixed fleets")
    parser.add_argument("--list", action="store_true", help="say what would be played, and play nothing")
    parser.add_argument("-v", "--verbose", action="store_true", help="a line for each play")
    options = parser.parse_args()
    for folder in options.also:
        KINDS.update(kinds.read(Path(folder)))
    options.peers = options.peers or ",".join(KINDS)
    known = {path.stem for path in (SCENARIOS / ("" if options.layout == "native" else "hutch")).glob("*.json")}
    peers = set(options.peers.split(","))
    for given, accepted in (
        (options.peers, set(KINDS)), (options.scenarios or "", known), (options.each_with or "", peers)
    ):  # fmt: skip
        if unknown := set(filter(None, given.split(","))) - accepted:
            parser.error(f"{', '.join(sorted(unknown))}: not known. Accepted: {', '.join(sorted(accepted))}")
    return options


@contextmanager
def started(names: Sequence[str]) -> Iterator[tuple[Server, list[Peer]]]:
    """A server and one process of each peer, started side by side; ended with the block."""
    with ExitStack() as ends:
        server = ends.enter_context(closing(Server()))
        with ThreadPoolExecutor() as starters:
            peers = list(starters.map(lambda name: Peer(name, server.port), names))
        for peer in peers:
            ends.callback(peer.close)
        yield server, peers


Pair = tuple[Scenario, Peer, Peer]


def plays_of(scenarios: Sequence[Scenario], peers: Sequence[Peer], *, each_with: str | None) -> list[Pair]:
    """Each scenario with each pair for which it is; of the pairs perhaps only those with one peer."""
    return [
        (scenario, producer, consumer)
        for scenario in scenarios
        for producer, consumer in product(peers, peers)
        if (each_with is None or each_with in (producer.name, consumer.name))
        and shared_order(producer, consumer)
        and not scenario.leaves_out(producer, consumer)
    ]


def play_all(plays: Sequence[Pair], server: Server, *, at_once: int) -> list[Result]:
    """Play, several at a time: first what starts peers, then what looks at how late a job runs, last what is heavy."""
    heavy = [play for play in plays if play[0].heavy]
    starting = [play for play in plays if play[0].crashes]
    others = [play for play in plays if play not in heavy and play not in starting]
    results = []
    with closing(Metronome()) as machine:
        for part, threads in ((starting, STARTS_AT_ONCE), (others, at_once), (heavy, HEAVY_AT_ONCE)):
            with ThreadPoolExecutor(threads) as pool:
                results += pool.map(lambda play: _played(*play, server=server, machine=machine), part)
    return results


def _played(scenario: Scenario, producer: Peer, consumer: Peer, *, server: Server, machine: Metronome) -> Result:
    play, error, begun = None, None, time.monotonic()
    try:
        play = Play(scenario, server, producer=producer, consumer=consumer, machine=machine)
        play.run()
    except (Failed, PeerError) as failure:
        error = f"{failure}\n{play.transcript() if play else ''}"
    ran = len(play.all_runs()) if play else 0
    return Result(
        producer=producer.name,
        consumer=consumer.name,
        scenario=scenario.name,
        runs=ran,
        seconds=time.monotonic() - begun,
        error=error,
    )


def show(results: Sequence[Result], peers: Sequence[Peer], *, verbose: bool) -> bool:
    """Print the matrix and the failures; whether all was green."""
    names = [peer.name for peer in peers]
    for peer in peers:
        if peer.traits:
            print(f"  {peer.name} declares: {', '.join(peer.traits)}")
    print("  producer \\ consumer  " + "".join(f"{name:>22}" for name in names))
    for producer in peers:
        cells = [_cell(results, producer, consumer) for consumer in peers]
        print(f"  {producer.name:<20} " + "".join(f"{cell:>22}" for cell in cells))
    if verbose:
        for r in results:
            state = "failed" if r.error else "green"
            print(f"  {r.producer} -> {r.consumer}: {r.scenario}: {state}, {r.runs} runs seen, {r.seconds:.1f} s")
    failures = [r for r in results if r.error]
    for r in failures:
        print(f"\nFAILED {r.scenario}: {r.producer} -> {r.consumer}: {r.error}")
    return bool(results) and not failures


def _cell(results: Sequence[Result], producer: Peer, consumer: Peer) -> str:
    if shared_order(producer, consumer) is None:
        return "no order in common"
    found = [r for r in results if (r.producer, r.consumer) == (producer.name, consumer.name)]
    if not found:
        return "-"
    good = sum(r.error is None for r in found)
    return f"{good}/{len(found)} ok, {sum(r.runs for r in found)} ran"


if __name__ == "__main__":
    sys.exit(main())
