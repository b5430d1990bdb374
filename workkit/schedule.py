"""The verbs: create a schedule, add jobs to it, look at them, take them out, listen.

Only here do times, functions, brokers and listeners meet. `create` does no I/O; the first verb that needs the server
connects. The verbs that run jobs are in `verbs/serving.py`, those that read past runs in `verbs/past.py`.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from datetime import datetime, timedelta
from functools import partial
from typing import Any, Literal, Unpack, overload
from zoneinfo import ZoneInfo

from workkit.brokers.layout import Keeps, layout_of
from workkit.contract.admin import Marked, NextRun, Paused, Resumed
from workkit.contract.filters import read_where
from workkit.contract.inspector import Counts, Missed
from workkit.contract.listener import ListenerInfo
from workkit.contract.producer import Tally
from workkit.contract.where import meant_jobs
from workkit.errors import NotFound, Unsupported, located
from workkit.jobs.call import AddOptions, FunctionCall
from workkit.jobs.importing import refuse_addition
from workkit.jobs.job import STATES, Job, JobState
from workkit.jobs.meta import meta
from workkit.jobs.names import Fn
from workkit.jobs.option_readers import option_error
from workkit.verbs.addition import added, sent_beside
from workkit.verbs.bulk import BadRow, PartlyAdded, add_rows
from workkit.verbs.control import (
    Which,
    changeable,
    check_dead,
    check_one,
    check_run,
    check_skip,
    pause_until,
    paused_target,
    read_mark,
    target,
    text_of,
)
from workkit.verbs.creation import Schedule, check_schedule, create
from workkit.verbs.dead import chosen, discard_dead, pause_ms, retry_dead
from workkit.verbs.opening import author_of, present, producer_of, schedules
from workkit.verbs.past import changes, history, job_of, log, runs, stats
from workkit.verbs.plan import Plan, sync_given
from workkit.verbs.rescheduling import rescheduled, snoozed
from workkit.verbs.result import result
from workkit.verbs.serving import drain, forward, forwarder, listen, listener
from workkit.verbs.syncing import sync_planned

__all__ = [
    "Schedule", "add", "add_many", "add_now", "cancel", "changes", "counts", "create", "dead", "discard", "drain",
    "forward", "forwarder", "history", "job", "jobs", "listen", "listener", "listeners", "log", "mark", "meta",
    "missed", "pause", "reschedule", "result", "resume", "retry", "run", "runs", "schedules", "skip", "snooze", "stats",
    "sync",
]  # fmt: skip


def add(
    s: Schedule,
    fn: Fn | None = None,
    *,
    call: FunctionCall | None = None,
    when: str | None = None,
    at: str | datetime | None = None,
    in_: str | timedelta | None = None,
    every: str | timedelta | None = None,
    cron: str | None = None,
    args: Sequence[Any] = (),
    kwargs: Mapping[str, Any] | None = None,
    **options: Unpack[AddOptions],
) -> Job:
    """Add a job: `fn` with `args` and `kwargs`, or `call`, at exactly one of `when`, `at`, `in_`, `every`, `cron`.
    Adding the same job again changes nothing. Each call with a length from now ("in 5 minutes" of `when`, and
    each `in_`) adds another run, as with `add_now`, unless `name`, `unique_key` or unique=True prevents it.

    `when` takes words or a cron string, and the text says whether the job recurs; `at` and `in_` are one instant,
    `every` recurs, `cron` is a cron string. An interval that divides its unit is aligned to the clock, any other is
    counted from 1970, or from `start`.

    `options`, each with its default: tz=None (a zone), start=None, end=None (bounds of a recurrence); late="refuse"
    ("run": the instant may be up to a day past); name=None (the job under it is replaced; one that runs is waited for,
    and with on_conflict="keep" it is returned); unique=True (False for a length), unique_key=None, unique_until="done"
    ("started"), on_conflict="keep" ("replace"), throttle=None, debounce=None (durations; of additions within one the
    first runs, or the last), debounce_most=None (six debounces: the longest delay); overlap="allow" ("skip", "queue",
    "cancel"), catch_up="once" ("all", "skip"), catch_up_within=None, count=None, spread=None; priority=0 (to 3),
    ping=None (a monitor's URL), expires=None, meta=None; and of its runs retries=0, crashes=2, backoff="exponential",
    base="5s", cap="1h", jitter=True, timeout=None, keep=None, keep_most="1MB". See `workkit.jobs.options.OPTIONS`.

    Returns the job; `new` is False where it was there already. Warns (WorkkitWarning) where the time is likely a
    mistake, and where it lacks options of the job that it replaces under its name (`dropped`). Raises an `Invalid` for
    an argument with an invalid value, ServerUnreachable or ServerRefused for the server.
    """
    times = {"when": when, "at": at, "in_": in_, "every": every, "cron": cron}
    return added(s, {"fn": fn, "args": args, "kwargs": kwargs, "call": call, **times, **options}, verb="add")


def add_now(
    s: Schedule,
    fn: Fn | None = None,
    *,
    call: FunctionCall | None = None,
    args: Sequence[Any] = (),
    kwargs: Mapping[str, Any] | None = None,
    **options: Unpack[AddOptions],
) -> Job:
    """Add a job to run at once: `fn` with `args` and `kwargs`, or `call`. Every call adds its own run, equal or not,
    unless `unique_key`, `name` or unique=True prevents it.

    `options` are those of `add`, without those that only a recurring job can have. With debounce the job runs when that
    time is over.
    """
    return added(s, {"fn": fn, "args": args, "kwargs": kwargs, "call": call, **options}, verb="add_now")


def add_many(s: Schedule, rows: Iterable[Mapping[str, object]]) -> Tally:
    """Add a job for each row. A row holds keywords of `add`, `fn` or `call` among them. Reads the rows one by one and
    sends them in batches of 200. Returns how many were new and how many known, and in `ids` the id of each row's job,
    from row 0.

    A bad row raises with its number and with the rows before it that were added. Adding these again changes nothing
    where a row has a name, a unique key, or a time that stays the same; rows with a length from now, or at "now", are
    added once more. On RabbitMQ each row is confirmed separately: the error names those that were not added, and
    `error.refused` holds them (from 0).
    """
    refuse_addition("schedule.add_many")
    try:
        return add_rows(rows, s=s, broker=producer_of(s))
    except BadRow as bad:
        raise located(bad.error, f"row {bad.number:,}", then=f" {bad.done}.") from bad.error.__cause__
    except PartlyAdded as partly:
        raise partly.worded(lambda number: f"row {number:,}") from partly.error.__cause__


def sync(
    s: Schedule,
    plan: Mapping[str, Mapping[str, object]] | None = None,
    *,
    prune: bool = False,
    dry_run: bool = False,
    rollback: bool = False,
    plan_version: str | int | None = None,
    by: str | None = None,
) -> Plan:
    """Make named jobs equal to a plan: name -> `add`'s keywords, `fn` or `call` among them. Returns the names that were
    added, changed, removed and left.

    `prune`: cancel named recurring jobs that are not in the plan. `dry_run`: write nothing. `by`: the author, as
    `changes` shows it. Every entry is read before the first write; the first bad one raises with the job's name, and
    nothing is written.

    Without `plan`, each imported module has a plan of its own: its functions under ``@s.every(...)``, ``@s.at(...)``
    and ``@s.cron(...)`` (spec/plans.md). A plan that a newer one has replaced changes nothing, and `older` names its
    module; `rollback` makes it hold again. `plan_version` (numbers: "412", "2026.11.23") decides which is newer;
    without one the time at which the module was written does. Jobs that a plan has made and no longer has are removed.
    """
    check_schedule(s)
    if not dry_run:
        refuse_addition("schedule.sync")
    if plan is None:
        return sync_planned(s, plan_version=plan_version, rollback=rollback, prune=prune, dry_run=dry_run, by=by)
    for option, value in (("rollback", rollback or None), ("plan_version", plan_version)):
        if value is not None:
            trouble, remedy = "with a plan that is given: it is made so in any case", "Leave it out."
            raise option_error(option, value, trouble, remedy)
    return sync_given(s, plan, prune=prune, dry_run=dry_run, by=by)


def job(s: Schedule, which: Which) -> Job:
    """Return one job, by name, id, the beginning of an id (6 or more digits), or a Job. A job that is over has the
    state "done", its `ending` and its arguments, as long as history has it. Arguments of more than 2,000 bytes are left
    out; `args_kept` is then False. Where many jobs run once, history keeps only a sample of those that are done. Raises
    NotFound.
    """
    return job_of(producer_of(s).inspector, text_of(which), schedule=s.name)


def jobs(
    s: Schedule, *, state: JobState | None = None, where: str | None = None, names: str | None = None
) -> Iterator[Job]:
    """Read the jobs in pages: running ones, then waiting ones, soonest first, then dead ones. A recurring job that runs
    is there twice: with this run, and with its next time.

    `names="u/7/*"` keeps the jobs with a matching whole name; ``*`` matches any text. Letter case counts. The server
    finds them without reading all jobs.

    `where` is a filter as ``workkit list --where`` takes it. Qualifiers: ``name:``, ``fn:``, ``arg:``, ``id:`` and
    ``state:`` are exact, and ``*`` in them matches any text; ``error:``, ``args:``, ``why:`` and ``zone:`` match a
    part; ``due:<1h`` and ``attempt:>2`` compare. All must hold; ``-`` in front means not. A text without a qualifier
    may be a part of any field: ``where="7"`` finds user 7, user 77 and every job that mentions 7. Never select the jobs
    of one user so: write ``names="u/7/*"`` or ``where="arg:7"``, with quotes around blanks, commas or colons.

    Raises InvalidOptions; Unsupported for a state that the layout cannot list, which in the layouts of RabbitMQ leaves
    `state` "due" and "dead", and for `names` where the layout has no names.
    """
    if state is not None and state not in STATES:
        raise option_error("state", state, "is not a state", f"Accepted: {', '.join(STATES)}.")
    if where is None and names is None:
        return producer_of(s).inspector.jobs(state=state)
    meant = read_where(where, "jobs", names=names)
    if names is not None and Keeps.NAME not in layout_of(s.layout).keeps:
        trouble, remedy = f"jobs have no names in layout={s.layout!r}", "Choose them by where=: fn:, arg:, id:, state:."
        raise Unsupported.about(f"names={names!r}:", trouble, remedy, where="names", given=names)
    return meant_jobs(partial(producer_of(s).inspector.jobs, state=state), meant, now=partial(present, s))


def counts(s: Schedule) -> Counts:
    """Count the jobs in each state."""
    return producer_of(s).inspector.counts()


def listeners(s: Schedule) -> list[ListenerInfo]:
    """List the listeners, with the jobs that each runs."""
    return producer_of(s).inspector.listeners()


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
    Raises NotFound, an `Invalid`.
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


def skip(s: Schedule, which: Which, *, by: str | None = None) -> Job:
    """Leave out the next run of a recurring job. Returns the job with the run after it. `by`: as in `cancel`. Raises
    NotFound, InvalidOptions.
    """
    broker, author = producer_of(s), author_of(by)
    return broker.admin.by(author).reschedule([check_skip(changeable(broker.inspector, which))], NextRun())[0]


def reschedule(
    s: Schedule,
    which: Which,
    *,
    when: str | None = None,
    at: str | datetime | None = None,
    in_: str | timedelta | None = None,
    every: str | timedelta | None = None,
    cron: str | None = None,
    tz: str | ZoneInfo | None = None,
    by: str | None = None,
) -> Job:
    """Give a job another time, exactly one of `when`, `at`, `in_`, `every`, `cron` as in `add`. Everything else stays:
    function, arguments, options, name, pause, history. Without `tz` words are read in the zone of the job.

    It is one step on the server. A run in progress continues; the next one has the new time. The job gets another id:
    use the returned Job. Bounds stay, unless the words name others. `by`: as in `cancel`.

    Warns as `add`. Raises NotFound; an `Invalid` for a time that cannot be read, or a job that is dead, or runs once
    and has begun; ChangedMeanwhile where another change came first, and nothing is changed; Unsupported.
    """
    times = {"when": when, "at": at, "in_": in_, "every": every, "cron": cron}
    return rescheduled(s, which, {**times, "tz": tz}, by=by).after


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


@overload
def snooze(s: Schedule, which: Which, time: str | timedelta, *, by: str | None = None) -> Job: ...
@overload
def snooze(
    s: Schedule, which: list[Any] | tuple[Which, ...], time: str | timedelta, *, by: str | None = None
) -> list[Job]: ...
def snooze(
    s: Schedule, which: Which | list[Any] | tuple[Which, ...], time: str | timedelta, *, by: str | None = None
) -> Job | list[Job]:
    """Put the next run of a job off by `time` ("30 minutes"), from its due time, or from now if that has come. A
    recurring job keeps its rule, and its times up to that run are left out. It keeps its id. `by`: as in `cancel`.

    A list of jobs is put off in one step, all or none; in a schedule of several shards all are checked before the first
    one changes. Returns the job, or the jobs, as they wait then. Raises NotFound, TriggerError; InvalidOptions for a
    job that runs, is dead, paused or held; Unsupported.
    """
    words: Sequence[Which] = [which] if isinstance(which, str | Job) else which
    moved = [one.after for one in snoozed(s, words, time, by=by)]
    return moved[0] if isinstance(which, str | Job) else moved


def mark(s: Schedule, text: str, *, by: str | None = None) -> None:
    """Record an event of your own among the changes of a schedule, now: ``mark(s, "release 41")``. The Timeline and
    `changes` show it.

    `text` has 1 to 200 characters. `by`: as in `cancel`. Raises InvalidOptions; Unsupported where the layout keeps no
    changes.
    """
    said, author = read_mark(text), author_of(by)
    producer_of(s).admin.by(author).steer(Marked(said))


def missed(s: Schedule) -> Iterator[Missed]:
    """Read the runs that did not take place, the last one first. About 10,000 are kept."""
    inspector = producer_of(s).inspector
    return inspector.history.missed() if Keeps.REMEMBER in layout_of(s.layout).keeps else iter(())


def dead(s: Schedule, which: Which | None = None, *, where: str | None = None) -> list[Job]:
    """Find dead jobs, latest first; `which` and `where` choose as in `retry`. Raises NotFound, InvalidOptions."""
    return chosen(producer_of(s).inspector, schedule=s.name, which=which, where=where, now=partial(present, s))


def retry(
    s: Schedule,
    which: Which | None = None,
    *,
    where: str | None = None,
    args: Sequence[Any] | Mapping[str, Any] | None = None,
    kwargs: Mapping[str, Any] | None = None,
    rate: str | None = None,
    by: str | None = None,
) -> int:
    """Put dead jobs back; their attempts count from the start. Returns how many.

    `which` is a name, an id, the beginning of one, or a Job. `where` is a filter as in `jobs`; a text without a
    qualifier may be a part of any field. Neither means all. `args` makes a new job of each: a list replaces the
    positional arguments, a dictionary the named ones. `kwargs` does so too: it overrides single named arguments. All
    are checked before the first job is put back. `rate` ("100/minute", "3/10s") spreads them. `by`: as in `cancel`.
    Raises NotFound, InvalidOptions, InvalidArguments; CorruptRecord where the named job's record cannot be read.
    """
    pause_ms(rate)
    author, found = author_of(by), dead(s, which, where=where)
    return retry_dead(
        producer_of(s).admin.by(author), found, args=args, kwargs=kwargs, rate=rate, one=which is not None,
        most_bytes=s.max_payload, at_once=layout_of(s.layout).at_once,
    )  # fmt: skip


def discard(s: Schedule, which: Which | None = None, *, where: str | None = None, by: str | None = None) -> int:
    """Remove dead jobs, chosen as in `retry`. `by`: as in `cancel`. Returns how many there were. Raises NotFound,
    InvalidOptions.
    """
    author = author_of(by)
    admin, found = producer_of(s).admin.by(author), dead(s, which, where=where)
    return discard_dead(admin, found, at_once=layout_of(s.layout).at_once)
