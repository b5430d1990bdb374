"""Many jobs over a mixed fleet: two Python and two Clojure listeners on one schedule, all of which add as well.

Some jobs can be run by either side, some by one alone. Each must run exactly once, on a side that can run it.
"""

from __future__ import annotations

import random
import statistics
import time
import uuid
from collections import Counter
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, closing
from dataclasses import dataclass

from processes import Peer, Server, shared_order

EITHER, PYTHON, CLOJURE = "peers.jobs/note", "peers.python/only", "peers.clojure/only"
SHARES = {  # of the functions, for each kind of Clojure listener; the later code loses what it cannot read
    "published": {EITHER: 4, PYTHON: 3, CLOJURE: 3},
    "later": {EITHER: 6, CLOJURE: 4},
}
LANGUAGES_OF = {EITHER: {"python", "clojure"}, PYTHON: {"python"}, CLOJURE: {"clojure"}}
STALLED_AFTER = 30.0  # seconds without a run


@dataclass(frozen=True, slots=True, kw_only=True)
class Job:
    """What was added: its number is its one argument."""

    number: int
    fn: str
    id: str
    asked_ms: int


def play_fleet(at_hand: Sequence[str], *, jobs: int) -> bool:
    """Play it once with each kind of Clojure listener that is at hand; whether all was well."""
    kinds = [kind for kind in SHARES if kind in at_hand]
    if "python" not in at_hand or not kinds:
        print("\nfleet: needs python, and published or later")
        return False
    outcomes = [_play(kind, jobs=jobs) for kind in kinds]
    return all(outcomes)


def _play(kind: str, *, jobs: int) -> bool:
    with ExitStack() as ends:
        server = ends.enter_context(closing(Server()))
        with ThreadPoolExecutor() as starters:
            peers = list(starters.map(lambda name: Peer(name, server.port), ["python", "python", kind, kind]))
        for peer in peers:
            ends.callback(peer.close)
        schedule = f"fleet-{uuid.uuid4().hex[:8]}"
        place = {"schedule": schedule, "order": shared_order(*peers)}
        begun = time.monotonic()
        for peer in peers:
            peer.ask({"do": "listen"} | place)
        with ThreadPoolExecutor() as adders:
            parts = adders.map(lambda k: _add(peers[k], range(k, jobs, len(peers)), kind, place), range(len(peers)))
            added = [job for part in parts for job in part]
        _await_runs(peers, schedule, jobs)
        took = time.monotonic() - begun
        for peer in peers:
            peer.ask({"do": "stop", "schedule": schedule})
        left = server.client.hlen(f"{schedule}:jobs"), server.client.zcard(f"{schedule}:next")
        print(f"\nfleet: {jobs:,} jobs over 2 python and 2 {kind} listeners, which added them too: {took:.0f} s")
        return _is_well(added, peers, schedule, left)


def _add(peer: Peer, numbers: range, kind: str, place: dict[str, str | None]) -> list[Job]:
    functions, weights = zip(*SHARES[kind].items(), strict=True)
    chance = random.Random(numbers.start)
    jobs = []
    for number in numbers:
        (fn,) = chance.choices(functions, weights)
        asked_ms = time.time_ns() // 10**6
        answer = peer.ask({"do": "add", "fn": fn, "args": [number], "when": "now"} | place)
        jobs.append(Job(number=number, fn=fn, id=answer["added"], asked_ms=asked_ms))
    return jobs


def _await_runs(peers: Sequence[Peer], schedule: str, jobs: int) -> None:
    """Wait until so many runs were announced, and then a little, in case there are more; or until nothing moves."""
    seen, since = 0, time.monotonic()
    while seen < jobs and time.monotonic() - since < STALLED_AFTER:
        time.sleep(0.2)
        now = sum(len(peer.runs(schedule)) for peer in peers)
        if now > seen:
            seen, since = now, time.monotonic()
    time.sleep(3)


def _is_well(added: Sequence[Job], peers: Sequence[Peer], schedule: str, left: tuple[int, int]) -> bool:
    runs = [(run["args"][0], run["id"], run["at"], peer) for peer in peers for run in peer.runs(schedule)]
    times = Counter(number for number, *_ in runs)
    by_number = {job.number: job for job in added}
    missing = [job for job in added if times[job.number] == 0]
    twice = [number for number, n in times.items() if n > 1]
    astray = [n for n, _, _, peer in runs if peer.language not in LANGUAGES_OF[by_number[n].fn]]
    other_id = [n for n, id, _, _ in runs if id != by_number[n].id]
    for fn, languages in LANGUAGES_OF.items():
        late = sorted(at - by_number[n].asked_ms for n, _, at, _ in runs if by_number[n].fn == fn)
        if late:
            median, most = statistics.median(late), late[-1]
            print(f"  {fn}: {len(late):,} ran, on {' or '.join(sorted(languages))}; from adding to running", end=" ")
            print(f"{median:.0f} ms (median), {late[len(late) * 99 // 100]} ms (99 %), {most} ms (most)")
    for number, peer in enumerate(peers, 1):
        print(f"  listener {number} ({peer.name}) ran {len(peer.runs(schedule)):,}")
    print(
        f"  missing {len(missing)}, twice {len(twice)}, on a side that cannot {len(astray)}, under another id "
        f"{len(other_id)}; left: {left[0]} payloads, {left[1]} items"
    )
    return not (missing or twice or astray or other_id or any(left))
