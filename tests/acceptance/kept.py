"""The kept results of a scene, against what happened: spec/results.md, 3. Pure but for `look_results`."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from tests.acceptance.history import History, Promise
from workkit.brokers.connect import open_broker

KEEP = "1 hour"  # of the jobs in KEPT
KEPT = frozenset({"now-0", "tick", "fails", "asks", "dies"})  # labels
Found = Mapping[str, Sequence[tuple[int, str]]]  # id -> due time and kind of each result


def look_results(client: Any, schedule: str, *, url: str) -> Found:
    """Read all results of a schedule of jobs without names."""
    results = open_broker(schedule, redis=url).inspector.history.results
    start = f"{schedule}:result:"
    ids = [key.decode().removeprefix(start) for key in client.scan_iter(f"{start}*")]
    return {id: [(one.due_ms, one.kind) for one in results(id)] for id in ids}


def check_results(history: History, found: Found, promises: Mapping[str, Promise]) -> Iterator[str]:
    """Complain of an occurrence that is over and has no result, of one that has two, and of a result of none."""
    wanted: dict[str, dict[int, str]] = {}
    forgotten: set[tuple[str, int]] = set()
    for run in history.runs:
        if run.label in KEPT and run.label in promises:
            kind = "value" if promises[run.label].last == "returned" else "failed"
            wanted.setdefault(run.id, {})[run.due] = kind
            if history.is_forgotten(run):
                forgotten.add((run.id, run.due))
    for id, dues in wanted.items():
        kept = sorted(found.get(id, ()))
        owed = [(due, kind) for due, kind in sorted(dues.items()) if (id, due) not in forgotten or (due, kind) in kept]
        if kept != owed:
            yield f"{id[:8]} has the results {kept}, and its runs are {sorted(dues.items())}"
    for id in found.keys() - wanted.keys():
        yield f"{id[:8]} has results {found[id]}, and none of its runs keeps one"
