"""What the logs and the namespace of a mixed fleet say: what was lost, what ran twice and why, whether limits held."""

from __future__ import annotations

import json
from collections import Counter, defaultdict
from collections.abc import Collection, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from tests.acceptance.fleet_log import Run, lines
from tests.acceptance.mixed_cast import LIMIT
from tests.acceptance.soak_verdict import Incident
from workkit.brokers.gocraft.keys import Keys
from workkit.brokers.gocraft.pool import ENDED

BURIED = "unknown job when requeueing"  # as Go words it
LATE = 1.5  # seconds after a thaw in which a process may begin what it took before
CRASHED = "Crashed: crashed its listener 3 times"


def fenced(folder: Path) -> Iterator[Incident]:
    """When a listener of ours heard that it had been taken for dead, and since when it was away."""
    for file in folder.glob("ours-*.log"):
        for line in lines(file):
            if line["event"] == "fenced":
                at = line["at_ms"] / 1000
                process = int(file.stem.rpartition("-")[2])
                yield Incident(kind="fenced", pid=process, at=at - line["away_ms"] / 1000 - 15, until=at)


def holding(runs: Sequence[Run], incidents: Sequence[Incident]) -> list[tuple[Run, float]]:
    """The limited runs, each with the time until which it holds a slot: of one in a process that was killed or frozen,
    the time of that, as its slot is given to another after it.
    """
    of: dict[int, list[Incident]] = defaultdict(list)
    for incident in incidents:
        of[incident.pid].append(incident)
    found = []
    for run in runs:
        if run.name == "limited":
            end = float("inf") if run.end is None else run.end
            hits = [one.at for one in of[run.process] if run.at <= one.until + LATE and one.at <= end]
            found.append((run, max(run.at, min([end, *hits]))))
    return found


def over_the_limit(runs: Sequence[Run], incidents: Sequence[Incident], *, ours: set[int]) -> Iterator[str]:
    """Starts on our side while as many as the limit held a slot already."""
    held = holding(runs, incidents)
    for one, end in held:
        beside = sum(run.at < one.at < until for run, until in held if run is not one)
        if one.process in ours and end > one.at and beside >= LIMIT:
            yield f"limited {one.number} began at {one.at:.3f} on our side while {beside} ran"


def most_at_once(runs: Sequence[Run], incidents: Sequence[Incident]) -> int:
    """How many limited runs held a slot at one time, at most."""
    edges = sorted(edge for run, end in holding(runs, incidents) for edge in ((run.at, 1), (end, -1)))
    most = now = 0
    for _, step in edges:
        now += step
        most = max(most, now)
    return most


def superseded(
    runs: Sequence[Run],
    incidents: Sequence[Incident],
    numbers: Collection[int],
    dead: Mapping[str, Mapping[int, str]],
    *,
    ours: set[int],
    report: Counter[str],
) -> set[int]:
    """Count what became of the jobs in whose place the next one runs. Returns the numbers of the next ones that a Go
    pool had begun when it was killed or frozen: it leaves only the listed job, and that one runs.
    """
    hit = {(incident.pid, incident.at) for incident in incidents}
    in_flight: set[int] = set()
    of_dead: set[int] = set()  # those that ran in a Go pool that was killed later: Go's own reaper puts all back
    for run in runs:
        if run.name != "keyed" or run.process in ours:
            continue
        ends = [at for process, at in hit if process == run.process and run.at <= at + LATE]
        if ends:
            of_dead.add(run.number)
            if run.end is None or run.end + LATE >= min(ends):
                in_flight.add(run.number)
    for run in runs:
        if run.name == "keyed" and run.number in numbers:
            cause = "of a Go pool that was killed or frozen" if run.number + 1 in of_dead else "after a clean stop"
            report[cause] += 1
    report["dead with the reason"] = sum(ENDED in error for error in dead.get("keyed", {}).values())
    return in_flight


def left(client: Any, keys: Keys, *, but: str = "") -> Iterator[str]:
    """What a namespace at rest should not hold: work, slots, pools. `but`: a name of which Go pools leave jobs in
    progress. Queues, slots and sorted sets are read in one step,
    as a job moves between them.
    """
    names = sorted(member.decode() for member in client.smembers(keys.known_jobs))
    sets = (keys.scheduled, keys.retry, keys.held, keys.held_retry, keys.unreadable)
    with client.pipeline(transaction=True) as pipe:
        for name in names:
            pipe.llen(keys.queue(name)).get(keys.lock(name)).hgetall(keys.lock_info(name))
        for key in sets:
            pipe.zcard(key)
        replies = pipe.execute()
    for place, name in enumerate(names):
        count, lock, info = replies[3 * place : 3 * place + 3]
        if count:
            yield f"{count} jobs in the queue of {name}"
        if int(lock or 0):
            yield f"the lock of {name} is {lock.decode()}"
        if held := {pool: number for pool, number in info.items() if int(number)}:
            yield f"lock_info of {name} says {held}"
    for key, count in zip(sets, replies[3 * len(names) :], strict=True):
        if count:
            yield f"{count} members in {key}"
    for key in client.scan_iter(match=keys.in_progress_pattern, count=1000):
        if but and key.decode().startswith(keys.queue(but) + ":"):
            continue
        yield f"{client.llen(key)} jobs in {key.decode()}"


def dead(client: Any, keys: Keys) -> Mapping[str, dict[int, str]]:
    """The errors in the dead set by the number of the job, under the job names."""
    found: dict[str, dict[int, str]] = defaultdict(dict)
    for text in client.zrange(keys.dead, 0, -1):
        job = json.loads(text)
        found[job["name"]][int(job["args"]["n"])] = job["err"]
    return found


def ran_by(runs: Sequence[Run], *, ours: set[int]) -> Counter[str]:
    """How many runs each side began."""
    return Counter("ours" if run.process in ours else "Go" for run in runs)
