"""The arguments of `put.lua`, for jobs that need more than a plain addition, and the answers to additions. Pure."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

import msgpack

from workkit.brokers.native.codec import Stored
from workkit.contract.producer import Added, NewJob
from workkit.errors import CorruptRecord
from workkit.jobs.job import Job

TRACED_MS = 24 * 3_600_000  # how long a trace context is kept after the first due time
LONGEST_TRACE_MS = 31 * TRACED_MS  # and in all
_PARTS = 5  # of the answer for one job


def is_special(job: NewJob) -> bool:
    """Say whether a job needs more than a plain addition: a name, a unique key, a window or a priority."""
    terms, entrance = job.terms, job.entrance
    named = terms.name is not None or terms.unique_key is not None or terms.priority is not None
    return named or entrance.replace or bool(entrance.throttle_ms or entrance.debounce_ms)


def trace_rows(
    jobs: Sequence[NewJob], stored: Sequence[Stored], *, now_ms: int
) -> tuple[tuple[str, ...], list[str | int]]:
    """Make the ids and the rows of `trace.lua`: of each job that has a trace context the two ids that it may get."""
    ids: list[str] = []
    rows: list[str | int] = []
    for job, what in zip(jobs, stored, strict=True):
        if job.trace is None:
            continue
        is_fresh = bool(job.terms.unique_key or job.entrance.debounce_ms)
        first, second = (what.second_id, "") if is_fresh and what.second_id else (what.id, what.second_id)
        lives = (0 if job.due_ms is None else max(0, job.due_ms - now_ms)) + TRACED_MS
        ids += (first, second or first)
        rows += (first, second, min(lives, LONGEST_TRACE_MS), job.trace.parent)
    return tuple(ids), rows


def home_of(job: NewJob) -> str | None:
    """Find the text that chooses the shard of a job: its name, else its unique key, else its window."""
    return job.terms.name or job.terms.unique_key or job.entrance.window_key


def put_args(
    seq: int, batch: str, jobs: Sequence[NewJob], *, stored: Sequence[Stored], change: bytes = b""
) -> list[Any]:
    """Make the arguments of `put.lua`. `change`: who gives the one job another time, for `S:changes`."""
    said = [_said(job, what) for job, what in zip(jobs, stored, strict=True)]
    return [seq, "", batch, change, msgpack.packb(said, use_bin_type=False, unicode_errors="surrogatepass")]


def read_answer(reply: Sequence[Any], *, count: int, decode: Callable[[str, bytes], Job]) -> list[Added]:
    """Read the answer for `count` jobs; `decode` reads a payload. Raises ValueError if it is no answer."""
    if len(reply) != 1 + _PARTS * count:
        raise ValueError(f"{len(reply)} parts for {count} jobs")
    int(reply[0])
    texts = [part.decode("utf-8", "replace") if isinstance(part, bytes) else str(part) for part in reply[1:]]
    return [
        Added(
            id=texts[n + 1],
            due_ms=_whole(texts[n + 2]),
            new=texts[n] in ("1", "2"),
            replaced=texts[n + 3] or None,
            former=_former(texts[n + 3], texts[n + 4], decode),
            is_other=texts[n] == "3",
            is_outdated=texts[n] == "4",
            is_late=texts[n] == "5",
        )
        for n in range(0, len(texts), _PARTS)
    ]


def read_state(part: Any) -> tuple[int, int | None]:
    """Read what `add.lua` answers for one job: its state, and of a known one the due time at which it waits. Raises
    ValueError if it is no answer.
    """
    if isinstance(part, int):
        return part, None
    state, _, due = (part.decode("utf-8", "replace") if isinstance(part, bytes) else str(part)).partition(" ")
    return int(state), _whole(due)


def _former(id: str, payload: str, decode: Callable[[str, bytes], Job]) -> Job | None:
    try:
        return decode(id, payload.encode()) if payload else None
    except CorruptRecord:  # nobody can tell what it asked for
        return None


def _whole(score: str) -> int | None:
    at = float(score or "nan")  # other programs may write any score
    return math.floor(at) if math.isfinite(at) else None


def _said(job: NewJob, what: Stored) -> dict[str, Any]:
    terms, entrance = job.terms, job.entrance
    said: dict[str, Any] = {"id": what.id, "payload": what.payload}
    if job.due_ms is not None:
        said["due"] = str(job.due_ms)
    if what.second_id:
        said["second"] = [what.second_id, what.second]
    if job.trigger is not None and job.trigger.recurs:
        said["recurs"] = True
    key = terms.unique_key or (entrance.window_key if entrance.debounce_ms else None)
    if key is not None:
        said |= {"key": key, "fresh": True}  # its id must differ from that of its predecessor
    if job.plan is not None:
        said["plan"] = [job.plan.source, job.plan.generation, job.plan.ends]
    if what.over is not None:
        said["over"] = [what.over.id, what.over.recurs]
    given = {
        "name": terms.name,
        "seen": job.seen,
        "serial": terms.unique_key is not None or None,
        "replace": entrance.replace or None,
        "keeps": entrance.keep or None,
        "debounce": entrance.debounce_ms,
        "most": entrance.most_ms,
        "throttle": entrance.throttle_ms,
        "window": entrance.window_key if entrance.throttle_ms else None,
        "first": terms.priority,
        "tells": job.tells_former or None,
    }
    return said | {name: value for name, value in given.items() if value is not None}
