"""The text of an event, as the parts of a line. A log adds the time, the word of the event, and its job."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

from workkit.contract.listener import PastDeadline
from workkit.contract.record import deadline_text
from workkit.events import Event
from workkit.jobs.meta import meta_text
from workkit.text.wording import duration_text, plural

if TYPE_CHECKING:
    from workkit.jobs.job import Job


def event_parts(event: Event) -> list[str]:
    """Write the text of an event in parts, without empty ones."""
    job: Job | None = event.fields.get("job")
    meta = None if job is None else job.meta
    return [part for part in (*TEXTS.get(event.name, _fields)(event), meta_text(meta)) if part]


def _listening(event: Event) -> list[str]:
    fields = event.fields
    named = fields.get("schedules") or ()
    weighted = named.items() if isinstance(named, Mapping) else [(name, 1) for name in named]
    schedules = ", ".join(name if weight == 1 else f"{name}:{weight}" for name, weight in weighted)
    where = "embedded server" if urlsplit(str(fields.get("url"))).scheme == "embedded" else fields.get("url")
    threads = plural(int(fields.get("threads") or 0), "thread")
    if coroutines := int(fields.get("coroutines") or 0):
        threads += f", {plural(coroutines, 'coroutine')}"
    if (processes := int(fields.get("processes") or 1)) > 1:
        threads = f"{processes} processes of {threads}"
    return [f"{schedules} on {where}, {threads}, pid {fields.get('pid')}, workkit {fields.get('version')}"]


def _synced(event: Event) -> list[str]:
    plan = event.fields.get("plan")
    return [f"{plan}." if plan else "nothing planned: no module that is imported here has @s.every(...)."]


def _outdated(event: Event) -> list[str]:
    named = ", ".join(event.fields.get("sources") or ())
    back = "Back to the plan of this code: workkit sync SCHEDULE --import MODULE --rollback"
    return [f"a newer plan of {named} holds, and its jobs stay. {back}"]


def _failed(event: Event) -> list[str]:
    again = event.fields.get("again_ms")
    if again is None:
        return [_took(event), *_dead(event)]
    return [_took(event), _error(event), f"{_attempt(event)}, again in {duration_text(again)}"]


def _dead(event: Event) -> list[str]:
    job: Job | None = event.fields.get("job")
    schedule = event.schedule or (job.schedule if job else "")
    return [_error(event), f"{_attempt(event)}. workkit dead {schedule}"]


def _attempt(event: Event) -> str:
    fields = event.fields
    return f"attempt {fields.get('attempt')} of {fields.get('attempts')}"


def _error(event: Event) -> str:
    fields = event.fields
    text = " ".join(str(fields.get("error") or "").split())
    line = f"{fields.get('error_type')}: {text}" if text else str(fields.get("error_type"))
    return f"{line} ({fields['where']})" if fields.get("where") else line


def _took(event: Event) -> str:
    took = event.fields.get("took_ms")
    return duration_text(took) if took is not None else ""


def _cannot_run(event: Event) -> list[str]:
    trouble = " ".join(str(event.fields.get("trouble") or "").split())
    return [f"{trouble}. Left for other listeners."] if trouble else _reason(event)


def _lost(event: Event) -> list[str]:
    running = int(event.fields.get("running") or 0)
    active = f" {plural(running, 'job')} go{'es' if running == 1 else ''} on;" if running else ""
    reason = str(event.fields.get("reason") or "").rstrip(".")
    return [str(event.fields.get("url")), f"{reason}.{active} trying again."]


def _stopping(event: Event) -> list[str]:
    deadline = duration_text(event.fields.get("deadline_ms") or 0)
    running = int(event.fields.get("running") or 0)
    wait = f"{running:,} running, up to {deadline} to finish" if running else "nothing running"
    return [f"{wait}."]


def _stopped(event: Event) -> list[str]:
    fields = event.fields
    keys = ("ran", "failed", "given_back", "retried", "retrying")
    ran, failed, back, retried, retrying = (int(fields.get(key) or 0) for key in keys)
    line = f"ran {ran:,}, failed {failed:,}" + (f", retried {retried:,}" if retried else "")
    line += f", given back {back:,}, up {duration_text(fields.get('up_ms') or 0)}"
    line += f"; {retrying:,} wait{'s' if retrying == 1 else ''} for a retry" if retrying else ""
    died = int(fields.get("uncounted") or 0)
    return [f"{line}; without what {'a process' if died == 1 else f'{died} processes'} ran that died" if died else line]


def _unstored(event: Event) -> list[str]:
    count = int(event.fields.get("endings") or 0)
    which = "this job" if count == 1 else "these jobs"
    return [str(event.fields.get("url")), f"{plural(count, 'ending')} not stored: {which} will run again."]


def _summary(event: Event) -> list[str]:
    fields = event.fields
    window = duration_text(fields["window_ms"])
    latest = duration_text(fields["latest_late_ms"])
    return [f"ran {fields['ran']:,} in {window}, failed {fields['failed']:,}, latest start {latest} after due"]


def _fenced(event: Event) -> list[str]:
    ago = event.fields.get("ago_ms")
    if ago is None:
        return ["ended here, but the server has lost its claim. This ending was not counted."]
    why = f"this one was away for {duration_text(ago)}"
    return [f"ended here, but it was handed to another listener: {why}. This ending was not counted."]


def _unregistered(event: Event) -> list[str]:
    why = "though its heartbeats were on time. Its data may have been flushed, evicted or restored: workkit doctor"
    return [str(event.fields.get("url")), f"the server no longer knows this listener, {why} {event.schedule}"]


def _crashed(event: Event) -> list[str]:
    count = int(event.fields.get("jobs") or 0)
    held = f"other listeners take its {plural(count, 'job')}" if count else "it held no job"
    return [str(event.fields.get("listener")), f"no longer sends heartbeats; {held}."]


def _restarted(event: Event) -> list[str]:
    fields = event.fields
    after = int(fields.get("after_ms") or 0)
    when = f"in {duration_text(after)}" if after else "at once"
    return [f"process {fields.get('pid')} {str(fields.get('reason')).rstrip('.')}. Another starts {when}."]


def _fields(event: Event) -> list[str]:
    fields = {key: value for key, value in event.fields.items() if key not in ("job", "job_id", "traceback")}
    return [", ".join(f"{key} {value}" for key, value in fields.items())]


def _late(text: str) -> Callable[[Event], list[str]]:
    return lambda event: [text.format(duration_text(event.fields.get("late_ms") or 0))]


def _late_jobs(event: Event) -> list[str]:
    if (jobs := event.fields.get("jobs")) is None:  # of one job; a log counts those of a backlog
        return _late("started {} after due")(event)
    latest = duration_text(event.fields.get("late_ms") or 0)
    return [f"{plural(int(jobs), 'more job')} started late, up to {latest} after due"]


def _past_deadline(event: Event) -> list[str]:
    job, deadline = event.fields["job"], event.fields["deadline"]
    return [f"{deadline_text(PastDeadline(job=job, deadline=deadline, is_past=bool(event.fields.get('is_past'))))}."]


def _reason(event: Event) -> list[str]:
    return [" ".join(str(event.fields.get("reason") or "").split())]


TEXTS: Mapping[str, Callable[[Event], list[str]]] = {
    "listening": _listening,
    "synced": _synced,
    "outdated": _outdated,
    "not_synced": _reason,
    "may_run": lambda event: [f"{str(event.fields.get('text')).rstrip('.')}."],
    "forwarding": lambda event: [f"to {event.fields.get('to')} on {event.fields.get('url')}"],
    "health": lambda event: [f"{event.fields.get('url')}/livez, /readyz, /metrics"],
    "stuck": _reason,
    "quiet": lambda event: ["taking nothing new, finishing what runs."],
    "resumed": lambda event: ["taking work again."],
    "lost": _lost,
    "back": lambda event: [f"{event.fields.get('url')}  after {duration_text(event.fields.get('after_ms') or 0)}"],
    "started": _late("{} after due"),
    "late": _late_jobs,
    "done": lambda event: [_took(event)],
    "failed": _failed,
    "dead": _dead,
    "retrying": lambda event: [f"asked to run again in {duration_text(event.fields.get('again_ms') or 0)}"],
    "discarded": _reason,
    "cannot_run": _cannot_run,
    "cancelled": lambda event: ["cancelled; it does not run."],
    "corrupt": _reason,
    "expired": _late("not started {} after due; it does not run."),
    "past_deadline": _past_deadline,
    "batch_done": lambda event: [f'batch "{event.fields.get("batch")}": each of its jobs has ended.'],
    "batch_cancelled": lambda event: [
        f'batch "{event.fields.get("batch")}" was cancelled; each of its jobs has ended.'
    ],
    "missing": lambda event: ["its record is gone; nothing to run."],
    "no_ping": _reason,
    "given_back": lambda event: ["given back; another listener runs it."],
    "fenced": _fenced,
    "unregistered": _unregistered,
    "unstored": _unstored,
    "crashed": _crashed,
    "restarted": _restarted,
    "revived": lambda event: [
        str(event.fields.get("url")),
        "its server was gone; this program has started it again. Changes of its last 2 s at most are lost.",
    ],
    "orphaned": lambda event: [f"process {event.fields.get('pid')}, which started this one, is gone; it stops too."],
    "stopping": _stopping,
    "stopped": _stopped,
    "ended": _reason,
    "summary": _summary,
}
