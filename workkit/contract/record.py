"""Jobs, runs and listeners as the JSON objects that other programs read, from the command line and from the web. Later
versions only add keys.
"""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Mapping, Sequence
from datetime import UTC, datetime, tzinfo
from typing import TYPE_CHECKING, Any

from workkit.contract.history import COUNTS, call_of, upper_ms
from workkit.jobs.names import shown
from workkit.jobs.terms import deadline_ms, instant_of
from workkit.text import wording

if TYPE_CHECKING:
    from workkit.contract.admin import Change
    from workkit.contract.doctor import Finding
    from workkit.contract.groups import Group
    from workkit.contract.history import Bucket, Buckets, Cell, PastRun
    from workkit.contract.inspector import Counts, QueueInfo
    from workkit.contract.listener import ListenerInfo, PastDeadline
    from workkit.jobs.fingerprint import Fingerprint
    from workkit.jobs.job import Job

Record = Mapping[str, Any]
MOST_IDS = 10  # ids in the record of an error
MOST_NAMED = 5  # jobs past their deadline that a sentence names
BEGUN = ("running", "cancelling", "dead", "done")  # states in which the current attempt has begun


def job_record(job: Job) -> dict[str, Any]:
    """Write a job as `list --json` does. `terms`: the terms of the job, by the names of `opts` (spec/features.md)."""
    trigger = job.trigger
    return {
        "id": job.id,
        "schedule": job.schedule,
        "name": job.name,
        "fn": job.fn,
        "args": list(job.args),
        "state": job.state,
        "due": wording.iso(job.due) if job.due else None,
        "cron": trigger.cron if trigger else None,
        "tz": trigger.tz if trigger else "UTC",
        "words": words_of(job),
        "attempt": attempts_begun(job),
        "error": job.error,
        "progress": job.progress,
        "terms": {name: value for name, value in job.terms.fields().items() if name not in ("name", "tags")},
        "interval": trigger.interval.member() if trigger and trigger.interval else None,
        "counted": counted_of(job),
        "kwargs": dict(job.kwargs or {}),
        "queue": job.queue,
        "why": job.why,
        "meta": dict(job.meta or {}),
        "tags": list(job.tags),
    }


def dead_record(job: Job) -> dict[str, Any]:
    """Write a dead job as `dead --json` does: its last error in parts."""
    failed = job.failure
    known = {
        "attempts": attempts_of(job),
        "failed": wording.iso(job.due) if job.due else None,
        "error_type": failed.type if failed else None,
        "error": failed.message if failed else job.error,
        "where": failed.where if failed else None,
        "traceback": failed.traceback if failed else None,
        "reason": job.why,
    }
    return job_record(job) | known | ({"followed_by": job.followed_by} if job.followed_by else {})


def full_record(job: Job) -> dict[str, Any]:
    """Write a job as `show --json` does, with all that is known of its last error."""
    if job.state == "done":
        return job_record(job) | {"ending": job.ending, "args_kept": job.args_kept}
    return dead_record(job) if job.state == "dead" else job_record(job)


def attempts_begun(job: Job) -> int:
    """Count the attempts that have begun, as every line and every JSON member does: 0 before the first."""
    return job.attempt + (job.state in BEGUN)


def attempts_text(job: Job) -> str:
    """Write how many attempts have begun, and how many the job itself asks for: ``2 of 6``."""
    allowed = attempts_of(job)
    return f"{attempts_begun(job):,}" + (f" of {allowed:,}" if allowed else "")


def attempts_of(job: Job) -> int | None:
    """Return how many attempts the job itself asks for; None if its handler decides that."""
    return None if job.options.retries is None else job.options.retries + 1


def words_of(job: Job) -> str | None:
    """Write in words when a job fires; None if its record does not tell."""
    if job.trigger is None:
        return None
    from workkit.triggers import explain

    return explain(job.trigger)


def counted_of(job: Job) -> str | None:
    """Write the instant from which the interval of a job counts; None if it has no interval."""
    if job.trigger is None:
        return None
    from workkit.triggers.english.sentence import how_counted

    return how_counted(job.trigger)


def listener_record(info: ListenerInfo) -> dict[str, Any]:
    """Write a listener as `listeners --json` does. A value that the layout does not know is None."""
    return {
        "listener": info.listener,
        "name": info.called,
        "host": info.host,
        "pid": info.pid or None,
        "version": info.version,
        "schedules": dict(info.schedules),
        "threads": info.threads or None,
        "coroutines": info.coroutines or None,
        "awaited": info.awaited if info.coroutines else None,
        "state": info.state,
        "trouble": info.trouble,
        "beat_ms": info.beat_ms,
        "up_ms": info.up_ms,
        "held": info.held,
        "serves": list(info.serves),
        "running": None
        if info.held is not None
        else [{"id": job.id, "fn": job.fn, "started": None, "progress": job.progress} for job in info.running],
    }


def run_record(run: PastRun) -> dict[str, Any]:
    """Write a past run as `runs --json` does. `times`: how many runs it sums up; `args` and `kwargs` are None if they
    are not kept.
    """
    call = call_of(run)
    args, kwargs = (None, None) if call is None else (list(call[0]), call[1] or {})
    return {
        "id": run.id,
        "name": run.name,
        "fn": run.fn,
        "due": wording.iso(run.due),
        "ended": wording.iso(run.ended),
        "ending": run.ending,
        "late_ms": run.late_ms,
        "took_ms": run.took_ms,
        "attempt": run.attempt + 1,
        "by_hand": run.by_hand,
        "listener": run.listener,
        "error": run.error,
        "times": run.times,
        "run": run.place,
        "args": args,
        "kwargs": kwargs,
    }


def change_record(change: Change) -> dict[str, Any]:
    """Write a change as `changes --json` does. `times`: the number of jobs, or of faults of a repair."""
    return {
        "at": wording.iso(change.at),
        "by": change.by,
        "via": change.via,
        "verb": change.verb,
        "target": change.target,
        "id": change.id,
        "fn": change.fn,
        "before": _state(change.before),
        "after": _state(change.after),
        "reason": change.reason,
        "times": change.times,
        "role": change.role,
        "address": change.address,
    }


def _state(state: Mapping[str, Any]) -> dict[str, Any]:
    return {name: wording.iso(value) if isinstance(value, datetime) else value for name, value in state.items()}


def span_record(buckets: Sequence[Bucket]) -> dict[str, Any]:
    """Write the counts of a span as `stats --over --json` does, bucket by bucket. `lateness` and `durations` are pairs:
    an upper bound in ms (None: no bound), and the number of durations below it.
    """
    return {
        "buckets": [
            {
                "start": wording.iso(bucket.start),
                "end": wording.iso(bucket.end),
                **cell_record(bucket.cell),
            }
            for bucket in buckets
        ]
    }


def cell_record(cell: Cell) -> dict[str, Any]:
    """Write counts as `stats --by function --json` does, and those of each bucket."""
    sides = {"lateness": _below(cell.lateness), "durations": _below(cell.durations)}
    return {**{name: getattr(cell, name) for name in COUNTS}, **sides}


def _below(side: Buckets) -> list[list[float | None]]:
    return [[None if math.isinf(end := upper_ms(place)) else end, n] for place, n in side.pairs()]


def counts_record(schedule: str, counts: Counts) -> dict[str, Any]:
    """Write the counts of a schedule as `stats --json` does; null: the server does not tell."""
    known = {
        "schedule": schedule,
        "waiting": counts.waiting,
        "due": counts.due,
        "running": counts.running,
        "retrying": counts.retrying,
        "held": counts.held,
        "paused": counts.paused,
        "dead": counts.dead,
        "listeners": counts.listeners,
        "cancelling": counts.cancelling,
        "late_ms": counts.late_ms,
        "totals": dict(counts.totals),
        "past_deadline": [deadline_record(one) for one in counts.past_deadline],
    }
    return {name: None if name in counts.unknown else value for name, value in known.items()}


def deadline_record(one: PastDeadline) -> dict[str, Any]:
    """Write a job that is past its deadline as `stats --json` does."""
    job = one.job
    named = {"id": job.id, "name": job.name, "fn": job.fn}
    return {**named, "deadline": wording.iso(one.deadline), "is_past": one.is_past}


def deadline_text(one: PastDeadline, zone: tzinfo = UTC) -> str:
    """Say which deadline a job has missed, or cannot meet."""
    at = wording.instant_text(one.deadline, zone)
    return f"past its deadline, {at}" if one.is_past else f"cannot meet its deadline, {at}"


def deadlines_texts(found: Sequence[PastDeadline]) -> list[str]:
    """Say which jobs are past their deadline, and which cannot meet it: a sentence for each kind, without a stop."""
    texts = []
    for is_past in (True, False):
        kind = [one for one in found if one.is_past is is_past]
        names = [
            f"{one.job.name or f'{one.job.short_id} {shown(one.job.fn)}'} {'since' if is_past else 'by'} "
            f"{one.deadline:%Y-%m-%d %H:%M} UTC"
            for one in kind[:MOST_NAMED]
        ]
        more = [f"{len(kind) - len(names):,} more"] if len(kind) > len(names) else []
        verb, its = ("is", "its") if len(kind) == 1 else ("are", "their")
        trouble = f"{verb} past {its} deadline" if is_past else f"cannot meet {its} deadline"
        texts += [f"{wording.plural(len(kind), 'job')} {trouble}: {wording.listed(names + more)}"] if kind else []
    return texts


def deadline_at(job: Job) -> datetime | None:
    """Compute the deadline of the run that waits or runs; None if it has none, or a further attempt hides its time."""
    if job.due is None or job.state in ("dead", "done", "retrying"):
        return None
    found = deadline_ms(job.terms, wording.epoch_ms(job.due))
    return None if found is None else instant_of(found)


def queue_record(schedule: str, queue: QueueInfo) -> dict[str, Any]:
    """Write a queue as `queues --json` does; null: the server does not tell."""
    return {
        "schedule": schedule,
        "name": queue.name,
        "kind": queue.kind,
        "job": queue.job,
        "keys": None if queue.keys is None else list(queue.keys),
        "ready": queue.ready,
        "held": queue.held,
        "consumers": queue.consumers,
        "rate_in": queue.rate_in,
        "rate_out": queue.rate_out,
    }


def error_record(
    fingerprint: str,
    error: Fingerprint,
    *,
    jobs: int,
    fns: Sequence[str],
    first: datetime | None,
    last: datetime | None,
    ids: Sequence[str],
) -> dict[str, Any]:
    """Write an error that jobs died of as `dead --by error --json` does. `varying`: the spans (from, to) of the message
    that differ from job to job; `ids`: the ids of the first of these jobs.
    """
    return {
        "fingerprint": fingerprint,
        "jobs": jobs,
        "error_type": error.type or None,
        "message": error.message,
        "varying": [list(span) for span in error.varying],
        "where": error.where,
        "fns": list(fns),
        "first": None if first is None else wording.iso(first),
        "last": None if last is None else wording.iso(last),
        "ids": list(ids[:MOST_IDS]),
    }


def group_record(group: Group, *, schedule: str, now_ms: int) -> dict[str, Any]:
    """Write a batch as `batch list --json` does. `endings`: how many of its jobs ended so; "waiting": not yet."""
    times = {"made": group.made_ms, "added": group.added_ms, "settled": group.settled_ms}
    instants = {word: None if ms is None else instant_of(ms) for word, ms in times.items()}
    return {
        "id": group.id, "schedule": schedule, "name": group.name, "state": group.state_at(now_ms),
        "total": group.total, "endings": dict(group.endings), "on_death": group.on_death, "then": group.then,
        "on_success": group.on_success, **{word: at and wording.iso(at) for word, at in instants.items()},
    }  # fmt: skip


def finding_record(finding: Finding) -> dict[str, Any]:
    """Write a fault as `doctor --json` does."""
    return {
        "schedule": finding.schedule or None,
        "kind": finding.kind,
        "what": finding.what,
        "why": finding.why,
        "remedy": finding.remedy,
        "repairs": finding.repairs,
        "about": list(finding.about),
    }


def compact(record: Record, *, default: Callable[[Any], Any] = str) -> str:
    """Write one object in one line; ASCII, so that it is the same in any locale. The only place that writes JSON for
    others: NaN and infinities, which JSON lacks, become null; a lone surrogate, which UTF-8 lacks, becomes U+FFFD.
    `default` as in `json.dumps`.
    """
    try:
        text = json.dumps(record, separators=(",", ":"), default=default, allow_nan=False)
    except ValueError:
        pass
    else:
        if "\\ud" not in text:
            return text
    return json.dumps(_sound(record, default), separators=(",", ":"), allow_nan=False)


def _sound(value: Any, default: Callable[[Any], Any]) -> Any:
    match value:
        case float():
            return value if math.isfinite(value) else None
        case dict():
            return {_sound(key, default): _sound(one, default) for key, one in value.items()}
        case list() | tuple():
            return [_sound(one, default) for one in value]
        case str():
            return value.encode("utf-16", "surrogatepass").decode("utf-16", "replace")
        case int() | None:
            return value
    return _sound(default(value), default)
