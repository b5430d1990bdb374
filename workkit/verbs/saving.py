"""Bring a job in, or put another content under a name, only where that holds which was seen; and put it back exactly.

What the web face saves. `schedule.add` asks nothing of what stands, so it cannot say that somebody else was quicker.
"""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import suppress
from dataclasses import replace
from datetime import UTC, datetime
from hashlib import sha1
from itertools import count
from secrets import token_hex
from typing import Any

from workkit.contract.broker import Producer
from workkit.contract.producer import Added, Batch, BatchStep, NewJob
from workkit.errors import ChangedMeanwhile, InvalidOptions, NotFound, Unsupported
from workkit.jobs.job import Job
from workkit.jobs.recurrence import first_run, spread_offset_ms
from workkit.triggers.when import KEYWORDS as TIMES
from workkit.verbs.addition import addition
from workkit.verbs.author import author_of
from workkit.verbs.creation import Schedule
from workkit.verbs.new_job import as_job
from workkit.verbs.opening import producer_of

OF_TIME = (*TIMES, "tz", "start", "end")
WAITS = ("waiting", "due", "paused", "held", "retrying")


def imagined(s: Schedule, given: Mapping[str, Any], *, stands: Job | None = None) -> Job:
    """Make the job that `saved` would write. Raises what it raises, but for the server's."""
    return as_job(_new(producer_of(s), s, given, stands), schedule=s.name)


def saved(
    s: Schedule, given: Mapping[str, Any], *, seen: Job | None, stands: Job | None = None, by: str | None = None,
    form: str = "",
) -> Job | None:  # fmt: skip
    """Add a job by the keywords of `add`, if `seen` still stands under its name (None: nothing). Returns None where
    another one stands there.

    `stands`: keep its time, to the instant of its next run. A `seen` without a name gives way to the new job. `form`:
    an id under which a job is added once in a week, from whatever process. Raises as `schedule.add`, and
    ChangedMeanwhile where the form has added its job before.
    """
    broker, author = producer_of(s), author_of(by)
    new = _new(broker, s, given, stands)
    if seen is not None:
        new.meta = seen.meta  # no form has it
    if new.terms.name is not None:
        new.seen = seen.id if seen is not None and seen.name == new.terms.name else ""
    broker.check(new)
    added = _added_once(broker, new, form) if form else broker.adding([new])()[0]
    if added.is_other:
        return None
    admin = broker.admin.by(author)
    if seen is not None and seen.name != new.terms.name:
        with suppress(NotFound):  # it ended meanwhile
            admin.cancel(seen)
    admin.note("add" if seen is None else "edit", {"name": new.terms.name, "id": added.id})
    return as_job(new, schedule=s.name, added=added)


def _added_once(broker: Producer, new: NewJob, form: str) -> Added:
    """Add the job of a form, if the form has added none: each attempt is a batch of one row. Another attempt follows
    only where the name was another job's, which is kept as a batch without rows.
    """
    for attempt in count():
        id = _hash(f"{form} {attempt}")
        refused = Batch(id=f"{id}-refused", rows=0, digest=_hash(""))
        try:
            before = broker.batch(Batch(id=id, rows=0, digest=_hash("")))
            if broker.batch(id).rows:
                broker.batch(refused.id)
                continue
        except NotFound:
            raise _added_before() from None
        except Unsupported:  # no layout of AMQP keeps batches, and no schedule of several shards
            return broker.adding([new])()[0]
        after = Batch(id=id, rows=1, digest=token_hex(20))  # of no other request, also not of one at the same moment
        try:
            added = broker.adding([new], step=BatchStep(before=before, after=after))()[0]
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


def put_back(s: Schedule, job: Job, *, over: Job, by: str | None = None) -> Job | None:
    """Put the former content of a job back, with its next run, if `over` still stands in its place; None where it does
    not.
    """
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
    any_time = {"every": "minute"} if stands.trigger.recurs else {"in_": "1 minute"}  # the job's own takes its place
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
