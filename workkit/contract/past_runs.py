"""Which runs are those of a job, and what they tell of one that is over. By the calls of an inspector alone."""

from __future__ import annotations

import json
from itertools import islice
from typing import Any, Final

from workkit.contract.broker import Inspector
from workkit.contract.history import NO_RUN, PastRun
from workkit.errors import Unsupported
from workkit.jobs.job import NOT_KEPT, Job, call_texts
from workkit.text.wording import epoch_ms

SHORTEST: Final = 6  # characters of the beginning of an id


def is_run_of(run: PastRun, which: str) -> bool:
    """Say whether a text names the job of this run: by name, by id, or by the beginning of an id."""
    assert run.id is not None, "single runs have an id"
    return which in (run.name, run.id) or (len(which) >= SHORTEST and run.id.startswith(which))


def finished_job(inspector: Inspector, which: str, *, schedule: str, most: int | None = None) -> Job | None:
    """Find a job that is over by its last single run, among the last `most` runs; None where there is none."""
    try:
        last = next((run for run in islice(inspector.history.runs(), most) if is_run_of(run, which)), None)
    except Unsupported:
        return None
    if last is None or last.ending in ("retried", "skipped"):
        return None
    assert last.id is not None, "single runs have an id"
    call = call_of(last)
    args, kwargs = call or ((), None)
    return Job(
        id=last.id,
        schedule=schedule,
        fn=last.fn or "?",
        args=args,
        kwargs=kwargs,
        name=last.name,
        due=last.due,
        state="done",
        attempt=last.attempt,
        error=last.error,
        ending=last.ending,
        args_kept=call is not None,
    )


def call_of(run: PastRun) -> tuple[tuple[Any, ...], dict[str, Any] | None] | None:
    """Read the arguments that a record has kept; None where it has kept none, or they cannot be read."""
    try:
        match json.loads(run.call or "0"):
            case [list(args)]:
                return tuple(args), None
            case [list(args), dict(kwargs)]:
                return tuple(args), kwargs
    except (ValueError, RecursionError):
        pass
    return None


def arguments_of(run: PastRun) -> str:
    """Write the arguments of a past run, "none" or "not kept"."""
    call = call_of(run)
    return NOT_KEPT if call is None else ", ".join(call_texts(*call)) or "none"


def attempts_of_job(inspector: Inspector, job: Job, *, most: int) -> list[PastRun]:
    """Read the attempts of the latest occurrence of a job, the first one first, among the last `most` runs. Those of a
    dead one are those before it died. Raises Unsupported.
    """
    died_ms = epoch_ms(job.due) + 60_000 if job.state == "dead" and job.due is not None else None
    found: list[PastRun] = []
    for run in islice(inspector.history.runs(until_ms=died_ms), most):
        if run.id == job.id and run.ending not in NO_RUN:
            found.append(run)
            if run.attempt == 0:
                break
    return found[::-1]
