"""The verbs `reschedule`, `snooze`, `skip` and `run`: other times for a job, with everything else kept. Also new
content of a job; and undo of either.

The web pages save jobs by `saved`, which writes only if the stored job is still the one that the user saw.
`schedule.add` does not compare, so it cannot detect another change in between.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from hashlib import sha1
from itertools import count
from secrets import token_hex
from typing import Any, NamedTuple, Unpack, overload
from zoneinfo import ZoneInfo

from workkit.brokers.layout import layout_of
from workkit.contract.admin import At, Author, Later, NextRun
from workkit.contract.broker import Inspector, Producer
from workkit.contract.producer import Added, BulkPlace, BulkStep, NewJob
from workkit.contract.record import words_of
from workkit.errors import ChangedMeanwhile, InvalidOptions, NotFound, PhraseError, Unsupported
from workkit.jobs.call import TimeOptions
from workkit.jobs.job import Job
from workkit.jobs.names import shown
from workkit.jobs.terms import Terms, first_run, spread_offset_ms
from workkit.text.wording import MILLISECOND, epoch_ms
from workkit.triggers import KEYWORDS as TIMES
from workkit.triggers.crons.grammars import looks_like_cron
from workkit.triggers.english.numbers import duration
from workkit.verbs.addition import addition, at_another_time, sent
from workkit.verbs.control import Which, changeable, check_run, check_skip, check_snooze, check_waits, chosen_jobs
from workkit.verbs.creation import Schedule
from workkit.verbs.new_job import as_job, recalled, through_middleware
from workkit.verbs.opening import author_of, producer_of


@overload
def reschedule(
    s: Schedule,
    which: Which,
    *,
    tag: str | None = None,
    tz: str | ZoneInfo | None = None,
    by: str | None = None,
    **time: Unpack[TimeOptions],
) -> Job: ...
@overload
def reschedule(
    s: Schedule, *, tag: str, tz: str | ZoneInfo | None = None, by: str | None = None, **time: Unpack[TimeOptions]
) -> list[Job]: ...
def reschedule(
    s: Schedule,
    which: Which | None = None,
    *,
    tag: str | None = None,
    when: str | None = None,
    at: str | datetime | None = None,
    in_: str | timedelta | None = None,
    every: str | timedelta | None = None,
    cron: str | None = None,
    tz: str | ZoneInfo | None = None,
    by: str | None = None,
) -> Job | list[Job]:
    """Give a job another time, exactly one of `when`, `at`, `in_`, `every`, `cron` as in `add`. Everything else stays:
    function, arguments, options, name, pause, history. Without `tz` words are read in the zone of the job.

    It is one step on the server. A run in progress continues; the next one has the new time. The job gets another id:
    use the returned Job. Bounds stay, unless the words name others. `by`: as in `cancel`.

    `tag`: all jobs with this tag that wait or run. All are checked first; then each moves in a step of its own, and the
    list of them is returned. With `which`, that job only if it has the tag.

    Warns as `add`. Raises NotFound; an `Invalid` for a time that cannot be read, or a job that is dead, or runs once
    and has begun; ChangedMeanwhile where another change came first, and nothing is changed; Unsupported.
    """
    times = {"when": when, "at": at, "in_": in_, "every": every, "cron": cron}
    moved = [one.after for one in all_rescheduled(s, chosen_jobs(s, which, tag), {**times, "tz": tz}, by=by)]
    return moved[0] if which is not None else moved


@overload
def snooze(s: Schedule, which: Which, time: str | timedelta, *, by: str | None = None) -> Job: ...
@overload
def snooze(
    s: Schedule, which: list[Any] | tuple[Which, ...], time: str | timedelta, *, by: str | None = None
) -> list[Job]: ...
@overload
def snooze(s: Schedule, *, time: str | timedelta, tag: str, by: str | None = None) -> list[Job]: ...
def snooze(s: Schedule, which: Any = None, time: Any = None, *, tag: str | None = None, by: str | None = None) -> Any:
    """Put the next run of a job off by `time` ("30 minutes"), from its due time, or from now if that has come. A
    recurring job keeps its rule, and its times up to that run are left out. It keeps its id. `by`: as in `cancel`.

    A list of jobs, or all jobs with a `tag` that wait or run, are put off in one step, all or none; in a schedule of
    several shards all are checked before the first one changes. Returns the job, or the jobs, as they wait then. Raises
    NotFound, TriggerError; InvalidOptions for a job that runs, is dead, paused or held; Unsupported.
    """
    if tag is not None or which is None:
        words: Sequence[Which] = chosen_jobs(s, which, tag)
    else:
        words = [which] if isinstance(which, str | Job) else which
    moved = [one.after for one in snoozed(s, words, time, by=by)]
    return moved[0] if isinstance(which, str | Job) else moved


@overload
def skip(s: Schedule, which: Which, *, tag: str | None = None, by: str | None = None) -> Job: ...
@overload
def skip(s: Schedule, *, tag: str, by: str | None = None) -> list[Job]: ...
def skip(s: Schedule, which: Which | None = None, *, tag: str | None = None, by: str | None = None) -> Job | list[Job]:
    """Leave out the next run of a recurring job. Returns the job with the run after it. `tag`: as in `reschedule`.
    `by`: as in `cancel`. Raises NotFound, InvalidOptions.
    """
    admin = producer_of(s).admin.by(author_of(by))
    found = [check_skip(job) for job in chosen_jobs(s, which, tag)]
    moved = [admin.reschedule([job], NextRun())[0] for job in found]
    return moved[0] if which is not None else moved


def run(
    s: Schedule,
    which: Which,
    *,
    args: Sequence[Any] | None = None,
    kwargs: Mapping[str, Any] | None = None,
    by: str | None = None,
) -> Job:
    """Run a job once now. A recurring job keeps its times. With `args` or `kwargs` a new job runs the function of a
    recurring one with these arguments, and is returned. `by`: as in `cancel`. Raises NotFound, InvalidOptions,
    InvalidArguments.
    """
    broker, author = producer_of(s), author_of(by)
    found = check_run(changeable(broker.inspector, which), broker.inspector.control())
    if args is not None or kwargs is not None:
        return sent_beside(s, found, args=args, kwargs=kwargs, author=author)
    return broker.admin.by(author).run(found)


def sent_beside(
    s: Schedule, job: Job, *, args: Sequence[Any] | None, kwargs: Mapping[str, Any] | None, author: Author
) -> Job:
    """Add a separate job that runs once now: the function, options and priority of a recurring `job`, with other
    arguments. Raises as `sent`; InvalidOptions for a job that runs once, InvalidArguments.
    """
    if not job.recurs:
        trouble, remedy = "runs once, and keeps its arguments", "Cancel it, and add it again with others."
        raise InvalidOptions.about(f"{job.short_id} {shown(job.fn)}", trouble, remedy, given=job.id)
    new = recalled(job, args=args, kwargs=kwargs, plain=layout_of(s.layout).has_job_names)
    new.terms, new.most_bytes = Terms(priority=job.terms.priority, tags=job.terms.tags), s.max_payload
    new = through_middleware(new, schedule=s.name, fn=job.fn)
    found = sent(s, new)
    producer_of(s).admin.by(author).note("run", {"id": found.id}, job=job)
    return found


class Rescheduled(NamedTuple):
    """A job before and after it got another time."""

    before: Job
    after: Job


def rescheduled(
    s: Schedule,
    which: Which,
    given: Mapping[str, Any],
    *,
    by: str | None = None,
    seen: str | None = None,
    dry_run: bool = False,
) -> Rescheduled:
    """Give a job the time of `given`: one of the keywords of `add` for it, and perhaps `tz`. In place of such a
    keyword, `typed` is a text as people type it: like `when`, but a recurring job may omit "every". `seen`: the id that
    the job must have. `dry_run`: write nothing.

    Raises NotFound, ChangedMeanwhile, Unsupported; an `Invalid` for a time that cannot be read, and for a job without a
    run that could get another time.
    """
    before = changeable(producer_of(s).inspector, which)
    if seen is not None and seen != before.id:
        raise _changed(before)
    return all_rescheduled(s, [before], given, by=by, dry_run=dry_run)[0]


def all_rescheduled(
    s: Schedule, jobs: Sequence[Job], given: Mapping[str, Any], *, by: str | None = None, dry_run: bool = False
) -> list[Rescheduled]:
    """Give each of these jobs the time of `given`, as `rescheduled` does. All are checked before the first changes."""
    broker = producer_of(s)
    admin, now_ms, found = broker.admin.by(author_of(by)), broker.now_ms(), []
    news = [_read(check_waits(job), given, s=s, now_ms=now_ms) for job in jobs]
    for before, new in zip(jobs, news, strict=True):
        try:
            after = admin.reschedule([before], At(trigger=new.trigger, due_ms=new.due_ms), dry_run=dry_run)
        except NotFound:
            after = []
        if not after:
            raise _refused(broker.inspector, before)
        found.append(Rescheduled(before, after[0]))
    return found


def snoozed(
    s: Schedule, words: Sequence[Which], time: str | timedelta, *, by: str | None = None, dry_run: bool = False
) -> list[Rescheduled]:
    """Put the next run of each job off, all or none. A job that is named twice is put off once. Raises NotFound,
    InvalidOptions, TriggerError, Unsupported.
    """
    time_ms = -(-duration(time, name="time") // MILLISECOND)
    broker, author = producer_of(s), author_of(by)
    before = {job.id: job for job in (check_snooze(changeable(broker.inspector, which)) for which in words)}
    found = list(before.values())
    after = broker.admin.by(author).reschedule(found, Later(time_ms), dry_run=dry_run) if found else []
    return list(map(Rescheduled, found, after))


def put_back(s: Schedule, job: Job, *, over: Job) -> Job:
    """Give `over` the time and the next run that it had as `job`. Raises ChangedMeanwhile, NotFound."""
    broker = producer_of(s)
    now_ms = broker.now_ms()
    due_ms = None if job.due is None else epoch_ms(job.due)
    if job.trigger is not None and job.recurs and (due_ms is None or due_ms <= now_ms or job.state == "running"):
        offset = spread_offset_ms(job.terms, job.fn, job.args)
        due_ms = first_run(job.trigger, now_ms=now_ms, offset_ms=offset)
    try:
        after = broker.admin.by(author_of(None)).reschedule([over], At(trigger=job.trigger, due_ms=due_ms))
    except NotFound:
        after = []
    if not after:
        raise _refused(broker.inspector, over)
    return after[0]


def _read(job: Job, given: Mapping[str, Any], *, s: Schedule, now_ms: int) -> NewJob:
    times = dict(given)
    if (typed := times.pop("typed", None)) is None:
        return at_another_time(job, times, s=s, now_ms=now_ms)
    if job.recurs and not looks_like_cron(typed):
        with suppress(PhraseError):
            return at_another_time(job, {**times, "every": typed}, s=s, now_ms=now_ms)
    return at_another_time(job, {**times, "when": typed}, s=s, now_ms=now_ms)


def _refused(inspector: Inspector, seen: Job) -> ChangedMeanwhile | InvalidOptions:
    """Make the error for a job that differs from `seen` on the server. Raises NotFound where it is over."""
    now = inspector.job(seen.name or seen.id)
    if now.id != seen.id:
        return _changed(now)
    trouble = "has begun its last run" if seen.recurs else "runs once, and has begun"
    remedy = "Add it again to run it at another time."
    return InvalidOptions.about(f"{_called(seen)} {shown(seen.fn)}", trouble, remedy, given=seen.id)


def _changed(now: Job) -> ChangedMeanwhile:
    trouble = f"changed meanwhile: it is now {words_of(now) or 'at once'}, {shown(now.fn)} ({now.short_id})"
    return ChangedMeanwhile.about(_called(now), trouble, "Look at it, and give that one another time.", given=now.id)


def _called(job: Job) -> str:
    return job.name or job.short_id


OF_TIME = (*TIMES, "tz", "start", "end")
WAITS = ("waiting", "due", "paused", "held", "retrying")


def imagined(s: Schedule, given: Mapping[str, Any], *, stands: Job | None = None) -> Job:
    """Return the job that `saved` would write. Raises as `saved`, except errors of the server."""
    return as_job(_new(producer_of(s), s, given, stands), schedule=s.name)


def saved(
    s: Schedule, given: Mapping[str, Any], *, seen: Job | None, stands: Job | None = None, by: str | None = None,
    form: str = "",
) -> Job | None:  # fmt: skip
    """Add a job by the keywords of `add`, if `seen` is still the job of its name (None: no job has it). Returns None if
    another job has the name.

    `stands`: a job to take the time from, to the instant of its next run. The new job replaces a `seen` without a name.
    `form`: an id under which any process adds a job once in a week. Raises as `schedule.add`, and ChangedMeanwhile if
    the form has added its job before.
    """
    broker, author = producer_of(s), author_of(by)
    new = _new(broker, s, given, stands)
    if seen is not None:
        new.meta = seen.meta  # no form has it, nor a lasting key
        if seen.terms.once_key is not None:
            new.terms = replace(new.terms, once_key=seen.terms.once_key)
    if new.terms.name is not None:
        new.seen = seen.id if seen is not None and seen.name == new.terms.name else ""
    broker.check(new)
    added = _added_once(broker, new, form) if form else broker.adding([new])()[0]
    if added.is_other:
        return None
    admin = broker.admin.by(author)
    if seen is not None and seen.name != new.terms.name:
        with suppress(NotFound):  # the job ended meanwhile
            admin.cancel(seen)
    admin.note("add" if seen is None else "edit", {"name": new.terms.name, "id": added.id})
    return as_job(new, schedule=s.name, added=added)


def _added_once(broker: Producer, new: NewJob, form: str) -> Added:
    """Add the job of a form, if the form has added none: each attempt is a batch of one row. Another attempt follows
    only where the name was another job's, which is kept as a batch without rows.
    """
    for attempt in count():
        id = _hash(f"{form} {attempt}")
        refused = BulkPlace(id=f"{id}-refused", rows=0, digest=_hash(""))
        try:
            before = broker.batch(BulkPlace(id=id, rows=0, digest=_hash("")))
            if broker.batch(id).rows:
                broker.batch(refused.id)
                continue
        except NotFound:
            raise _added_before() from None
        except Unsupported:  # not every layout keeps batches, and no schedule of several shards does
            return broker.adding([new])()[0]
        after = BulkPlace(id=id, rows=1, digest=token_hex(20))  # of no other request
        try:
            added = broker.adding([new], step=BulkStep(before=before, after=after))()[0]
        except InvalidOptions as error:
            if error.where != "batch":
                raise
            raise _added_before() from None
        if added.is_other:
            broker.batch(refused)
        return added
    raise AssertionError("it was returned")


def _hash(text: str) -> str:
    return sha1(text.encode("utf-8", "surrogatepass"), usedforsecurity=False).hexdigest()


def _added_before() -> ChangedMeanwhile:
    return ChangedMeanwhile.about(
        "This form", "has added its job before", "Nothing was added. Open New for another one."
    )


def put_content_back(s: Schedule, job: Job, *, over: Job, by: str | None = None) -> Job | None:
    """Restore the former content of a job, with its next run, if `over` is still stored in its place; else None."""
    broker, author = producer_of(s), author_of(by)
    due_ms = _ms(job.due) if job.due is not None and job.state in WAITS else None
    if due_ms is None and job.trigger is not None:
        offset = spread_offset_ms(job.terms, job.fn, job.args)
        due_ms = first_run(job.trigger, now_ms=broker.now_ms(), offset_ms=offset)
    old = NewJob(
        fn=job.fn, args=job.args, kwargs=job.kwargs, trigger=job.trigger, due_ms=due_ms, options=job.options,
        terms=job.terms, meta=job.meta,
    )  # fmt: skip
    admin = broker.admin.by(author)
    if job.name == over.name:
        old.seen = over.id
    else:
        try:
            admin.cancel(broker.inspector.job(over.id))
        except NotFound:
            return None
    added = broker.adding([old])()[0]
    if added.is_other:
        return None
    admin.note("edit", {"name": job.name, "id": added.id})
    return as_job(old, schedule=s.name, added=added)


def _new(broker: Producer, s: Schedule, given: Mapping[str, Any], stands: Job | None) -> NewJob:
    if stands is None or stands.trigger is None:
        return addition(given, s=s, now_ms=broker.now_ms, seeks=True)
    rest = {name: value for name, value in given.items() if name not in OF_TIME}
    any_time = {"every": "minute"} if stands.trigger.recurs else {"in_": "1 minute"}  # the job's own time replaces it
    new = addition({**rest, **any_time}, s=s, now_ms=broker.now_ms, seeks=True)
    new.trigger, new.queued = replace(stands.trigger, warnings=()), False
    if new.terms.spread_ms == stands.terms.spread_ms and stands.due is not None and stands.state in WAITS:
        new.due_ms = _ms(stands.due)
    else:
        offset = spread_offset_ms(new.terms, new.fn, new.args)
        new.due_ms = first_run(new.trigger, now_ms=broker.now_ms(), offset_ms=offset)
    return new


def _ms(at: datetime) -> int:
    return round((at - datetime(1970, 1, 1, tzinfo=UTC)).total_seconds() * 1000)
