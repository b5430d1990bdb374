"""The verbs `cancel`, `pause`, `resume` and `mark`; the checks of all verbs that change jobs, and changes that can be
undone.
"""

from __future__ import annotations

import shlex
from collections.abc import Sequence
from datetime import UTC, datetime
from typing import Any, Literal, NamedTuple, overload

from workkit.brokers.layout import layout_of
from workkit.contract.admin import LONGEST_MARK, Marked, NextRun, Paused, Resumed, Undo, Undoable, dead_refusal
from workkit.contract.broker import Inspector, Producer
from workkit.contract.producer import warn_caller
from workkit.errors import InvalidOptions, NotFound, PhraseError, TriggerError, Unsupported
from workkit.jobs.admission import SCHEDULE, Control, Pause
from workkit.jobs.job import Job
from workkit.jobs.marks import job_name_of
from workkit.jobs.names import Fn, known_name, read_name, shown
from workkit.jobs.option_readers import CONTROL, option_error
from workkit.text.wording import epoch_ms
from workkit.triggers.zone import zone
from workkit.verbs.creation import Schedule
from workkit.verbs.opening import author_of, producer_of


@overload
def cancel(s: Schedule, which: Which, *, missing_ok: Literal[False] = False, by: str | None = None) -> Job: ...
@overload
def cancel(s: Schedule, which: Which, *, missing_ok: bool, by: str | None = None) -> Job | None: ...
def cancel(s: Schedule, which: Which, *, missing_ok: bool = False, by: str | None = None) -> Job | None:
    """Cancel a job. A waiting job is removed. A running job is flagged, and its state is "cancelling". A recurring job
    never runs again.

    `by`: the author, as `changes` shows it; None: WORKKIT_BY, else user@host of this program. Returns the job. Raises
    NotFound where there is none; with `missing_ok` it then returns None.
    """
    broker, author = producer_of(s), author_of(by)
    try:
        return broker.admin.by(author).cancel(changeable(broker.inspector, which))
    except NotFound:
        if not missing_ok:
            raise
        return None


def pause(
    s: Schedule,
    which: Which | None = None,
    *,
    fn: Fn | None = None,
    reason: str | None = None,
    until: str | datetime | None = None,
    by: str | None = None,
) -> None:
    """Start no more runs of one job, of a function, or of the whole schedule; running jobs continue.

    It lasts until `resume`, or `until` an instant (words, or an aware datetime). `by`: the author, as in `cancel`.
    Warns (WorkkitWarning) where the words have another common reading. Raises NotFound, an `Invalid`.
    """
    check_one(which, fn)
    broker, author = producer_of(s), author_of(by)
    said = pause_until(reason, until, tz=s.tz, now_ms=broker.now_ms())
    found = None if which is None else check_dead(changeable(broker.inspector, which))
    broker.admin.by(author).steer(Paused(target(found, fn, plain=layout_of(s.layout).has_job_names), said))


def resume(s: Schedule, which: Which | None = None, *, fn: Fn | None = None, by: str | None = None) -> None:
    """End a pause. Changes nothing where nothing is paused. A recurring job runs at its next time; one-time jobs that
    became due meanwhile run late. `by`: as in `cancel`. Raises NotFound.
    """
    check_one(which, fn)
    broker, author = producer_of(s), author_of(by)
    found = paused_target(broker.inspector, which, fn, plain=layout_of(s.layout).has_job_names)
    broker.admin.by(author).steer(Resumed(found))


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
        raise _refused(job, f"is due, and waits: {job.why}", "It runs as soon as it may.")
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
        raise _refused(job, f"is due, and waits: {job.why}", "It runs as soon as it may.")
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


def text_of(which: Which) -> str:
    """Return the text that names a job: its name, its id, or the beginning of one. Raises InvalidOptions."""
    if not isinstance(which, str | Job):
        trouble, remedy = "is neither a name, an id nor a Job", "Write an id as text."
        raise InvalidOptions.about(repr(which), trouble, remedy, where="which", given=which)
    return which.id if isinstance(which, Job) else which


def changeable(inspector: Inspector, which: Which) -> Job:
    """Find a job that waits, runs or is dead. Raises NotFound; Unsupported where the layout cannot see such jobs."""
    try:
        return inspector.job(text_of(which))
    except NotFound as error:
        if inspector.unlisted():
            trouble = "cannot be found and changed"
            raise Unsupported.about(f'"{error.given}"', trouble, error.remedy, given=error.given) from error
        raise


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
