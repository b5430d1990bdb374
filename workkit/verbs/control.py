"""The verbs `cancel`, `pause`, `resume` and `mark`; the checks of all verbs that change jobs, and changes that can be
undone.
"""

from __future__ import annotations

import shlex
from collections.abc import Callable, Iterable, Sequence
from contextlib import suppress
from datetime import UTC, datetime
from functools import partial
from typing import Any, Literal, NamedTuple, overload

from workkit.brokers.layout import Keeps, Layout, layout_of
from workkit.contract.admin import LONGEST_MARK, Marked, NextRun, Paused, Resumed, Undo, Undoable, dead_refusal
from workkit.contract.broker import Inspector, Producer
from workkit.contract.filters import of_runs, read_where
from workkit.contract.producer import warn_caller
from workkit.contract.where import meant_jobs
from workkit.errors import InvalidOptions, NotFound, PhraseError, TriggerError, Unsupported
from workkit.jobs import option_readers
from workkit.jobs.admission import SCHEDULE, Control, Pause
from workkit.jobs.job import Job
from workkit.jobs.marks import job_name_of
from workkit.jobs.names import Fn, known_name, read_name, shown
from workkit.jobs.option_readers import CONTROL, option_error
from workkit.text.wording import epoch_ms
from workkit.triggers.zone import zone
from workkit.verbs.creation import Schedule
from workkit.verbs.opening import author_of, present, producer_of


@overload
def cancel(
    s: Schedule, which: Which, *, tag: str | None = None, missing_ok: Literal[False] = False, by: str | None = None
) -> Job: ...
@overload
def cancel(
    s: Schedule, which: Which, *, tag: str | None = None, missing_ok: bool, by: str | None = None
) -> Job | None: ...
@overload
def cancel(s: Schedule, *, tag: str, missing_ok: bool = False, by: str | None = None) -> list[Job]: ...
def cancel(
    s: Schedule, which: Any = None, *, tag: str | None = None, missing_ok: bool = False, by: str | None = None
) -> Any:
    """Cancel a job. A waiting job is removed. A running job is flagged, and its state is "cancelling". A recurring job
    never runs again.

    `tag`: all jobs with this tag that wait or run; with `which`, that job only if it has the tag. `by`: the author, as
    `changes` shows it; None: WORKKIT_BY, else user@host of this program. Returns the job, or the list of jobs of a tag.
    Raises NotFound where there is none; with `missing_ok` it then returns None, or an empty list.
    """
    admin = producer_of(s).admin.by(author_of(by))
    try:
        found = chosen_jobs(s, which, tag)
        return admin.cancel(found[0]) if which is not None else still_there(admin.cancel, found)
    except NotFound:
        if not missing_ok:
            raise
        return None if which is not None else []


def pause(
    s: Schedule,
    which: Which | None = None,
    *,
    fn: Fn | None = None,
    tag: str | None = None,
    reason: str | None = None,
    until: str | datetime | None = None,
    by: str | None = None,
) -> None:
    """Start no more runs of one job, of a function, or of the whole schedule; running jobs continue.

    It lasts until `resume`, or `until` an instant (words, or an aware datetime). `tag`: the jobs that have this tag
    now, each for itself; with `which` or `fn`, both must hold. `by`: the author, as in `cancel`. Warns (WorkkitWarning)
    where the words have another common reading. Raises NotFound, an `Invalid`.
    """
    check_one(which, fn)
    broker, author = producer_of(s), author_of(by)
    said = pause_until(reason, until, tz=s.tz, now_ms=broker.now_ms())
    if which is None and tag is None:
        targets = [target(None, fn, plain=layout_of(s.layout).has_job_names)]
    else:
        targets = [target(check_dead(job), None) for job in chosen_jobs(s, which, tag, fn=fn)]
    for one in targets:
        broker.admin.by(author).steer(Paused(one, said))


def resume(
    s: Schedule,
    which: Which | None = None,
    *,
    fn: Fn | None = None,
    tag: str | None = None,
    by: str | None = None,
) -> None:
    """End a pause. Changes nothing where nothing is paused. A recurring job runs at its next time; one-time jobs that
    became due meanwhile run late. `tag`: the pauses of single jobs with this tag; with `which` or `fn`, both must hold.
    `by`: as in `cancel`. Raises NotFound.
    """
    check_one(which, fn)
    broker, author = producer_of(s), author_of(by)
    if tag is None:
        targets = [paused_target(broker.inspector, which, fn, plain=layout_of(s.layout).has_job_names)]
    else:
        targets = [target(job, None) for job in chosen_jobs(s, which, tag, fn=fn)]
    for one in targets:
        broker.admin.by(author).steer(Resumed(one))


def mark(s: Schedule, text: str, *, by: str | None = None) -> None:
    """Record an event of your own among the changes of a schedule, now: ``mark(s, "release 41")``. The Timeline and
    `changes` show it.

    `text` has 1 to 200 characters. `by`: as in `cancel`. Raises InvalidOptions; Unsupported where the layout keeps no
    changes.
    """
    said, author = read_mark(text), author_of(by)
    producer_of(s).admin.by(author).steer(Marked(said))


def target(job: Job | None, fn: Fn | None, *, plain: bool = False) -> str:
    """Return the target of a pause, as in `Control`: one job, a function, or with neither the whole schedule. `plain`:
    in the layout, functions have job names.

    Raises InvalidFunction.
    """
    if job is not None:
        return f"job:{_key(job)}"
    if fn is None:
        return SCHEDULE
    if not plain:
        return f"fn:{known_name(fn)}"
    return f"fn:{job_name_of(fn)}"


def paused_target(inspector: Inspector, which: str | Job | None, fn: Fn | None, *, plain: bool = False) -> str:
    """Return the target of a resume. The job may be gone: its pause is kept under its name or id.

    Raises NotFound, InvalidFunction.
    """
    if isinstance(which, Job):
        return target(which, fn, plain=plain)
    if which is None or f"job:{which}" in inspector.control().paused:
        return target(None, fn, plain=plain) if which is None else f"job:{which}"
    return target(inspector.job(which), fn, plain=plain)


def check_one(which: str | Job | None, fn: Fn | None) -> None:
    """Refuse a job together with a function. Raises InvalidOptions."""
    if which is not None and fn is not None:
        remedy = "Keep one: a job, or a function with all its jobs."
        raise InvalidOptions.about("which and fn=", "were both given", remedy, where="which", given=which)


def pause_until(reason: str | None, until: str | datetime | None, *, tz: str, now_ms: int, warns: bool = True) -> Pause:
    """Read the reason and the end of a pause. `warns`: whether words with two readings warn (WorkkitWarning). Raises
    InvalidOptions, TriggerError, PhraseError.
    """
    if reason is not None and not isinstance(reason, str):
        raise option_error("reason", reason, "is not a text", 'Write reason="migration".')
    if until is None:
        return Pause(reason=reason or None)
    remarks: list[str] = []
    until_ms = _until(until, tz=tz, now_ms=now_ms, remarks=remarks)
    for remark in remarks if warns else ():
        warn_caller(remark)
    return Pause(reason=reason or None, until_ms=until_ms)


def _until(until: Any, *, tz: str, now_ms: int, remarks: list[str]) -> int:
    from workkit.triggers.between import instant  # the parser of words takes a while to import

    now = datetime.fromtimestamp(now_ms / 1000, UTC)
    found: datetime | None
    try:
        found = instant("until", until, now, tz, remarks)
    except PhraseError:  # "today at 9am" in the afternoon: the advice to add the job at once does not fit a pause
        midnight = now.astimezone(zone(tz)).replace(hour=0, minute=0, second=0, microsecond=0)
        try:
            found = instant("until", until, midnight.astimezone(UTC), tz)
        except TriggerError:
            found = None
        if found is None or found > now:
            raise
    if found <= now:
        subject = f"until={found:%Y-%m-%d %H:%M:%S} UTC"
        raise TriggerError.about(subject, "has passed", "Give a later time.", where="until", given=until)
    return epoch_ms(found)


def check_dead(job: Job) -> Job:
    """Refuse a dead job: it cannot be paused, skipped or run. Raises InvalidOptions."""
    if job.state == "dead":
        raise _refused(job, "is dead", f"Run it again: workkit retry {job.schedule} {job.short_id}.")
    return job


def check_cancel(job: Job) -> Job:
    """Refuse a dead job: there is nothing to cancel. Raises NotFound."""
    if job.state == "dead":
        raise dead_refusal(job)
    return job


def check_skip(job: Job) -> Job:
    """Refuse a job that has no next run to leave out, because it runs once. Raises InvalidOptions."""
    check_dead(job)
    if _is_once(job):
        raise _refused(job, "runs once", f"Take it out: workkit cancel {job.schedule} {job.short_id}.")
    return job


def check_waits(job: Job) -> Job:
    """Refuse a job without a future run that could get another time: a dead one, and one that runs once and has begun,
    or is due and waits for a slot. Raises InvalidOptions.
    """
    check_dead(job)
    if _is_once(job) and job.state in ("running", "cancelling", "retrying"):
        raise _refused(job, "runs once, and has begun", "Add it again to run it at another time.")
    if _is_once(job) and job.state == "held":
        raise _refused(job, f"waits: {job.why}", "It runs as soon as it may.")
    return job


def check_snooze(job: Job) -> Job:
    """Refuse a job without a future run that could be put off: a dead one, one that runs, and one that waits for
    anything but its time. Raises InvalidOptions.
    """
    if check_waits(job).state in ("running", "cancelling"):
        raise _refused(job, "is running", "Snooze it when this run has ended.")
    return job


def check_run(job: Job, control: Control) -> Job:
    """Refuse a paused job, and a one-time job that runs already or waits for a slot. Raises InvalidOptions."""
    check_dead(job)
    targets = (SCHEDULE, f"fn:{job.fn}", f"job:{_key(job)}")
    if (paused := next((t for t in targets if t in control.paused), None)) is not None:
        words = {SCHEDULE: "", f"fn:{job.fn}": f" --fn {_typed(job.fn)}"}.get(paused, f" {_short(job)}")
        what = {SCHEDULE: job.schedule, f"fn:{job.fn}": shown(job.fn)}.get(paused, _named(job))
        trouble = f"is paused, so {job.short_id} would not run"
        remedy = f"Resume it: workkit resume {job.schedule}{words}."
        raise InvalidOptions.about(what, trouble, remedy, given=job.id)
    if _is_once(job) and job.state in ("running", "cancelling"):
        raise _refused(job, "is running already", "Add it again to run it twice.")
    if _is_once(job) and job.state == "held":
        raise _refused(job, f"waits: {job.why}", "It runs as soon as it may.")
    return job


def _refused(job: Job, trouble: str, remedy: str) -> InvalidOptions:
    return InvalidOptions.about(_named(job), trouble, remedy, given=job.id)


def _is_once(job: Job) -> bool:
    return not job.recurs


def _key(job: Job) -> str:
    return job.terms.name or job.id


def _short(job: Job) -> str:
    return job.terms.name or job.short_id


def _named(job: Job) -> str:
    return f"{_short(job)} {shown(job.fn)}"


def _typed(fn: str) -> str:
    """Quote a stored name as one word for a shell."""
    name = read_name(fn)
    return str(name) if name is not None and name.is_python else shlex.quote(fn)


Which = str | Job
"""A job's name, its id, the beginning of its id (6 or more digits), or a Job."""


def text_of(which: Which | None) -> str:
    """Return the text that names a job: its name, its id, or the beginning of one. Raises InvalidOptions."""
    if not isinstance(which, str | Job):
        trouble, remedy = "is neither a name, an id nor a Job", "Write an id as text."
        raise InvalidOptions.about(repr(which), trouble, remedy, where="which", given=which)
    return which.id if isinstance(which, Job) else which


def changeable(inspector: Inspector, which: Which | None) -> Job:
    """Find a job that waits, runs or is dead. Raises NotFound; Unsupported where the layout cannot see such jobs."""
    try:
        return inspector.job(text_of(which))
    except NotFound as error:
        if inspector.unlisted():
            trouble = "cannot be found and changed"
            raise Unsupported.about(f'"{error.given}"', trouble, error.remedy, given=error.given) from error
        raise


def read_tag(layout: Layout, tag: Any) -> str | None:
    """Read the tag by which a verb chooses jobs. Raises InvalidOptions; Unsupported where jobs have no tags."""
    if tag is not None and Keeps.TAGS not in layout.keeps:
        trouble, remedy = (
            f"jobs have no tags in layout={layout.name!r}",
            "Choose them by where=: fn:, arg:, id:, state:.",
        )
        raise Unsupported.about(f"tag={tag!r}:", trouble, remedy, where="tag", given=tag)
    return None if tag is None else option_readers.tag(tag, "tag")


def chosen_jobs(s: Schedule, which: Which | None, tag: str | None, *, fn: Fn | None = None) -> list[Job]:
    """Find the job that a verb changes; or, with `tag` alone, each job with this tag that waits or runs, perhaps of one
    function. Raises NotFound where there is none: with a tag, the error names no job, name or tag of others.
    """
    inspector = producer_of(s).inspector
    if (tag := read_tag(layout_of(s.layout), tag)) is None:
        return [changeable(inspector, which)]
    if which is not None:
        with suppress(NotFound):
            if tag in (job := changeable(inspector, which)).tags:
                return [job]
        raise _no_tagged(s, tag, f'job "{text_of(which)}"')
    where = of_runs(read_where(None, "jobs", tag=tag), fn=None if fn is None else known_name(fn), state=None)
    found: dict[str, Job] = {}
    for job in meant_jobs(inspector.jobs, where, now=partial(present, s)):
        if job.state != "dead":
            found.setdefault(job.id, job)  # a recurring job that runs comes twice, first with this run
    if not found:
        raise _no_tagged(s, tag, "job" if fn is None else f"job of {shown(known_name(fn))}")
    return list(found.values())


def _no_tagged(s: Schedule, tag: str, what: str) -> NotFound:
    trouble, remedy = (
        f'with the tag "{tag}" waits or runs in {s.name}',
        f"All: workkit list {s.name} --tag {shlex.quote(tag)}.",
    )
    return NotFound.about(f"no {what}", trouble, remedy, where=s.name, given=tag)


def still_there(change: Callable[[Job], Job], jobs: Iterable[Job]) -> list[Job]:
    """Change each of several jobs that were found, and leave out those that have ended meanwhile."""
    found = []
    for job in jobs:
        with suppress(NotFound):
            found.append(change(job))
    return found


def read_mark(text: Any) -> str:
    """Read the text of a mark. Raises InvalidOptions."""
    if not isinstance(text, str) or not text.strip():
        trouble = "is empty" if isinstance(text, str) else "is not a text"
        raise option_error("text", text, trouble, 'Say what happened: "release 41".')
    if len(text) > LONGEST_MARK:
        trouble, remedy = f"has {len(text):,} characters", f"Accepted: 1 to {LONGEST_MARK}."
        raise InvalidOptions.about(f'text="{text[:20]}..."', trouble, remedy, where="text", given=text)
    if found := CONTROL.search(text):
        where = found.start()
        trouble = f"has a control character (column {where + 1})"
        raise option_error("text", text, trouble, "Write it in one line, without.", position=where)
    return text


class Made(NamedTuple):
    """A completed change: the job after it, and how to undo it (None: it cannot be undone)."""

    job: Job
    undo: Undo | None


def make(broker: Producer, verb: Undoable, which: Which) -> Made:
    """Change a job by the verb of this name, and keep the data that undoes it. Raises as that verb does."""
    undos: list[Undo] = []
    admin = broker.admin.by(author_of(None), undos=undos)
    job = changeable(broker.inspector, which)
    match verb:
        case "cancel":
            after = admin.cancel(job)
        case "skip":
            after = admin.reschedule([check_skip(job)], NextRun())[0]
        case "run":
            after = admin.run(check_run(job, broker.inspector.control()))
    return Made(after, _only(undos))


def undo(broker: Producer, made: Undo) -> Job:
    """Undo a change, and return the job as it was. Raises ChangedMeanwhile, Unsupported."""
    broker.admin.by(author_of(None)).steer(made)
    return made.job


def _only(undos: Sequence[Undo]) -> Undo | None:
    return undos[0] if undos else None
