"""The verbs that look: jobs, counts and listeners as they are now; and `runs`, `history`, `stats` and `changes`: single
runs, counts over a span, the author of each change.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator, Sequence
from dataclasses import replace
from datetime import datetime, timedelta
from functools import partial, reduce
from itertools import islice
from operator import add
from typing import Any, Literal

from workkit.brokers.layout import Keeps, layout_of
from workkit.contract.admin import Change
from workkit.contract.broker import Inspector
from workkit.contract.composed import finished_job
from workkit.contract.filters import of_runs, read_where
from workkit.contract.history import JOB, KEPT_MS, TIERS, Bucket, Cell, PastRun, Tier, is_run_of
from workkit.contract.inspector import Counts, Missed
from workkit.contract.listener import ListenerInfo
from workkit.contract.where import Where, meant_jobs
from workkit.errors import NotFound, Unsupported
from workkit.jobs.job import STATES, Job, JobState
from workkit.jobs.names import Fn, known_name, shown
from workkit.jobs.option_readers import option_error
from workkit.text.wording import epoch_ms
from workkit.triggers.english.numbers import duration
from workkit.verbs.control import Which, check_one, read_tag, target, text_of
from workkit.verbs.creation import Schedule
from workkit.verbs.opening import present, producer_of

RING = 60  # the runs of a recurring job that are always kept
SKEW_MS = 60_000  # the most milliseconds by which an entry of the stream may be older than the time of its run
SPANS: dict[str, Tier] = {"minute": "1", "5 minutes": "5", "hour": "h", "day": "d"}


def job(s: Schedule, which: Which) -> Job:
    """Return one job, by name, id, the beginning of an id (6 or more digits), or a Job. A job that is over has the
    state "done", its `ending` and its arguments, as long as history has it. Arguments of more than 2,000 bytes are left
    out; `args_kept` is then False. Where many jobs run once, history keeps only a sample of those that are done. Raises
    NotFound.
    """
    return replace(job_of(producer_of(s).inspector, text_of(which), schedule=s.name), source=s)


def jobs(
    s: Schedule,
    *,
    state: JobState | None = None,
    where: str | None = None,
    names: str | None = None,
    tag: str | None = None,
) -> Iterator[Job]:
    """Read the jobs in pages: running ones, then waiting ones, soonest first, then dead ones. A recurring job that runs
    is there twice: with this run, and with its next time.

    `tag="user:7"` keeps the jobs with this tag. `names="u/7/*"` keeps the jobs with a matching whole name; ``*``
    matches any text. Letter case counts in both. The server finds them without reading all jobs.

    `where` is a filter as ``workkit list --where`` takes it. Qualifiers: ``name:``, ``fn:``, ``arg:``, ``id:`` and
    ``state:`` are exact, and ``*`` in them matches any text; ``error:``, ``args:``, ``why:`` and ``zone:`` match a
    part; ``due:<1h`` and ``attempt:>2`` compare. All must hold; ``-`` in front means not. A text without a qualifier
    may be a part of any field: ``where="7"`` finds user 7, user 77 and every job that mentions 7. Never select the jobs
    of one user so: write ``tag="user:7"``, ``names="u/7/*"`` or ``where="arg:7"``, with quotes around blanks, commas or
    colons.

    Raises InvalidOptions; Unsupported for a state that the layout cannot list, which in the layouts of RabbitMQ leaves
    `state` "due" and "dead", and for `names` and `tag` where the layout has none.
    """
    if state is not None and state not in STATES:
        raise option_error("state", state, "is not a state", f"Accepted: {', '.join(STATES)}.")
    if where is None and names is None and tag is None:
        return producer_of(s).inspector.jobs(state=state)
    meant = read_where(where, "jobs", names=names, tag=read_tag(layout_of(s.layout), tag))
    if names is not None and Keeps.NAME not in layout_of(s.layout).keeps:
        trouble, remedy = f"jobs have no names in layout={s.layout!r}", "Choose them by where=: fn:, arg:, id:, state:."
        raise Unsupported.about(f"names={names!r}:", trouble, remedy, where="names", given=names)
    return meant_jobs(partial(producer_of(s).inspector.jobs, state=state), meant, now=partial(present, s))


def counts(s: Schedule, *, tag: str | None = None) -> Counts:
    """Count the jobs in each state; with `tag`, only those with this tag. Of these, listeners and the runs of the last
    hours are not counted. Raises InvalidOptions, and Unsupported where jobs have no tags.
    """
    if tag is None:
        return producer_of(s).inspector.counts()
    found: dict[str, Any] = {}
    now, late = present(s), [timedelta()]
    for one in jobs(s, tag=tag):
        found[one.state] = found.get(one.state, 0) + 1
        late += [now - one.due] if one.state == "due" and one.due is not None else []
    late_ms = round(max(late) / timedelta(milliseconds=1)) if "due" in found else None
    unknown = dict.fromkeys(("listeners", "totals", "known_dead"), "Listeners and past runs are not counted by tag.")
    return Counts(**found, late_ms=late_ms, unknown=unknown)


def listeners(s: Schedule) -> list[ListenerInfo]:
    """List the listeners, with the jobs that each runs."""
    return producer_of(s).inspector.listeners()


def missed(s: Schedule) -> Iterator[Missed]:
    """Read the runs that did not take place, the last one first. About 10,000 are kept."""
    inspector = producer_of(s).inspector
    return inspector.history.missed() if Keeps.REMEMBER in layout_of(s.layout).keeps else iter(())


def runs(
    s: Schedule, which: Which | None = None, *, fn: Fn | None = None, state: str | None = None, limit: int = 60
) -> list[PastRun]:
    """Read the last runs of one job, or of the whole schedule, the last one first. spec/history.md lists which are
    kept. `fn`: only those of a function; `state`: only those with this ending, "done", "late", "failed", "retried",
    "dead", "discarded", "cancelled", "missed" or "left-out".

    Of a recurring job, the last 60 are always kept. A job that is over is known as long as history has it. Raises
    NotFound, InvalidOptions, InvalidFunction; Unsupported where the layout keeps no history.
    """
    most, meant = read_limit(limit), of_runs(Where(), fn=None if fn is None else known_name(fn), state=state)
    inspector, now = producer_of(s).inspector, None if meant.is_everything else present(s)
    return runs_of(inspector, None if which is None else text_of(which), limit=most, where=meant, now=now)


def log(s: Schedule, which: Which | PastRun) -> list[str]:
    """Read the last lines that a run has logged, the first one first. A past run that failed, as `runs` returns it, has
    its own lines; a job has those of its run in progress, else of its last run that failed. Empty where nothing is
    kept.

    Lines of the handler's thread, coroutine or worker process, by `logging`, are kept if the levels of the loggers
    permit them: 200 lines and 16 kB of each run. During the run the lines are written once a second; a successful run
    keeps none (spec/history.md 7). Raises NotFound; Unsupported where the layout keeps none.
    """
    inspector = producer_of(s).inspector
    if isinstance(which, PastRun) or (isinstance(which, Job) and which.dead_id is not None):
        return inspector.history.log(which)
    return inspector.history.log(job_of(inspector, text_of(which), schedule=s.name))


def history(
    s: Schedule,
    which: Which | None = None,
    *,
    fn: Fn | None = None,
    over: str | timedelta | None = None,
    each: str | None = None,
) -> list[Bucket]:
    """Count the runs of a span that ends now, in buckets, the first one first: those of the schedule, of one recurring
    job, or of a function.

    `over`: a length of time; None: the last day. `each`: the length of one bucket, "minute" (of the schedule only), "5
    minutes", "hour" or "day"; None: the finest that history has. The cells of buckets can be added. Raises NotFound,
    InvalidOptions, TriggerError; Unsupported where the layout keeps no history.
    """
    check_one(which, fn)
    broker = producer_of(s)
    span_ms, tier = read_span(over, each, has_subject=which is not None or fn is not None)
    subject = target(None, fn) if which is None else subject_of(broker.inspector, text_of(which))
    now_ms = broker.now_ms()
    return broker.inspector.history.past(subject, since_ms=now_ms - span_ms, until_ms=now_ms + 1, tier=tier)


def stats(s: Schedule, *, by: Literal["function"] = "function", over: str | timedelta | None = None) -> dict[str, Cell]:
    """Count the runs of a span that ends now by function, such as "app.mail.send"; the one with most runs first.

    `over`: a length of time; None: the last day. `Cell` has the counts `done`, `retried`, `dead`, `discarded`, `missed`
    and `late`; 95% of the runs took less than `durations.below_ms(0.95)`. Each hour counts about 100 functions and
    recurring jobs separately. Raises InvalidOptions, TriggerError; Unsupported where the layout keeps no history.
    """
    if by != "function":
        raise option_error("by", by, "is nothing by which runs are counted", 'Accepted: "function".')
    span_ms, tier = read_span(over, None, has_subject=True)
    broker = producer_of(s)
    now_ms, found = broker.now_ms(), dict[str, Cell]()
    for fn, cell in broker.inspector.history.functions(
        since_ms=now_ms - span_ms, until_ms=now_ms + 1, tier=tier
    ).items():
        found[shown(fn)] = found.get(shown(fn), Cell()) + cell
    return dict(sorted(found.items(), key=lambda one: (-one[1].runs, one[0])))


def changes(s: Schedule, which: Which | None = None, *, limit: int = 60) -> list[Change]:
    """Read the changes that verbs made, each with its author, the last one first: of one job, also of one that is over,
    or of all. About 10,000 are kept. Raises InvalidOptions; Unsupported where the layout keeps no history.
    """
    most, text, inspector = read_limit(limit), None if which is None else text_of(which), producer_of(s).inspector
    return list(islice((one for one in inspector.history.changes() if text is None or one.is_about(text)), most))


def read_limit(limit: Any) -> int:
    """Check the requested number of runs. Raises InvalidOptions."""
    if type(limit) is not int or limit < 1:
        raise option_error("limit", limit, "is not a number of runs", "Accepted: a whole number from 1.")
    return limit


def runs_of(
    inspector: Inspector, which: str | None, *, limit: int, where: Where | None = None, now: datetime | None = None
) -> list[PastRun]:
    """Read the last runs of one job, or of all, the last one first; only those that match the filter at the instant
    `now`.

    Raises NotFound where nothing is known of the job.
    """
    if where is not None and not where.is_everything:
        assert now is not None
        every = inspector.history.runs() if which is None else runs_of(inspector, which, limit=sys.maxsize)
        return list(islice((run for run in every if where.run(run, now=now)), limit))
    if which is None:
        return list(islice(inspector.history.runs(), limit))
    try:
        job = inspector.job(which)
    except NotFound:
        found = _of_text(inspector, which, limit=limit)
        if not found:
            raise
        return found
    if not job.recurs:
        return list(islice((run for run in inspector.history.runs() if run.id == job.id), limit))
    return _of_ring(inspector, job.name or job.id, limit=limit, id=job.id, name=job.name, fn=job.fn)


def _of_text(inspector: Inspector, which: str, *, limit: int) -> list[PastRun]:
    """Find the runs of a job that no longer exists."""
    if kept := _of_ring(inspector, which, limit=limit, id=None, name=None, fn=None):
        return kept
    return list(islice((run for run in inspector.history.runs() if is_run_of(run, which)), limit))


def _of_ring(
    inspector: Inspector, field: str, *, limit: int, id: str | None, name: str | None, fn: str | None
) -> list[PastRun]:
    """Read a ring. The details that single runs have, such as the error, are added, and so are runs older than the
    ring.
    """
    ring = list(inspector.history.lately([field])[field])
    if not ring:
        return []
    is_whole = limit <= RING and all(run.ending == "done" for run in ring) and fn is not None
    since = None if limit > RING else min(run.ended for run in ring)
    single: dict[tuple[datetime, datetime, int], PastRun] = {}
    for run in () if is_whole else inspector.history.runs(since_ms=_ms(since)):
        if field in (run.name, run.id):
            single.setdefault((run.due, run.ended, run.attempt), run)
            id, name, fn = id or run.id, name or run.name, fn or run.fn
    found = [replace(single.pop(_place(run), run), times=1) for run in ring[:limit]]
    found = [replace(run, id=run.id or id, name=run.name or name, fn=run.fn or fn) for run in found]
    if limit > RING:
        oldest = min(run.ended for run in ring)
        found += sorted((run for run in single.values() if run.ended < oldest), key=lambda run: run.ended, reverse=True)
    return found[:limit]


def _place(run: PastRun) -> tuple[datetime, datetime, int]:
    return run.due, run.ended, run.attempt


def _ms(at: datetime | None) -> int:
    return 0 if at is None else max(0, epoch_ms(at) - SKEW_MS)


def job_of(inspector: Inspector, which: str, *, schedule: str) -> Job:
    """Find a job of the schedule, or one that is over and still in its history. Raises NotFound."""
    try:
        return inspector.job(which)
    except NotFound:
        over = finished_job(inspector, which, schedule=schedule)
        if over is None:
            raise
        return over


def read_span(over: str | timedelta | None, each: str | None, *, has_subject: bool) -> tuple[int, Tier]:
    """Read the requested span, in ms, and the length of one bucket. Raises InvalidOptions, TriggerError."""
    span_ms = 86_400_000 if over is None else round(duration(over, name="over") / timedelta(milliseconds=1))
    if span_ms < 1:
        raise option_error("over", over, "is no time at all", 'Write a length such as "1 day".')
    if each is not None and each not in SPANS:
        raise option_error("each", each, "is not a span of one bucket", f"Accepted: {', '.join(SPANS)}.")
    if each == "minute" and has_subject:
        raise option_error("each", each, "is kept for the whole schedule only", 'Write each="5 minutes".')
    if each is not None:
        tier = SPANS[each]
        if span_ms > KEPT_MS[tier]:
            kept = f"Each {each} is kept for {KEPT_MS[tier] // 3_600_000} hours."
            raise option_error("over", over, f"is longer than what is kept of each {each}", kept)
        return span_ms, tier
    for tier in TIERS:
        if span_ms <= KEPT_MS[tier] and not (tier == "1" and has_subject):
            return span_ms, tier
    raise option_error("over", over, "is longer than what is kept", "Days are kept for 400 days.")


def subject_of(inspector: Inspector, which: str) -> str:
    """Return the subject under which a recurring job is counted, also of one that is over. Raises NotFound."""
    try:
        job = inspector.job(which)
    except NotFound:
        if inspector.history.lately([which])[which]:
            return JOB + which
        raise
    return JOB + (job.name or job.id)


def summed(buckets: Sequence[Bucket]) -> Cell:
    """Return the sum of the counts of buckets."""
    return reduce(add, (bucket.cell for bucket in buckets), Cell())
