"""The one addition. From the keywords of `add` to the job that goes to a broker (`addition`, without I/O: the clock is
passed in): the one way for `add`, `add_now`, rows of `add_many`, plans of `sync`, and the command line, dry runs
included. Then to the server of its schedule, in a span of its own; and what it dropped of the job whose name it took.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any

from workkit import tracing
from workkit.brokers.layout import layout_of
from workkit.contract.admin import Author
from workkit.contract.producer import NewJob, warn_caller
from workkit.errors import InvalidOptions
from workkit.jobs import meta as metadata
from workkit.jobs.functions.importing import import_here, refuse_addition
from workkit.jobs.job import Job
from workkit.jobs.middleware import ENTERING
from workkit.jobs.names import shown
from workkit.jobs.options import OPTIONS
from workkit.jobs.terms import Terms
from workkit.text.listing import listed
from workkit.triggers.stored import follows_clock
from workkit.triggers.when import KEYWORDS as TIMES
from workkit.verbs.creation import Schedule, check_schedule
from workkit.verbs.job_time import NowMs, with_time
from workkit.verbs.new_job import (
    KEYWORDS,
    NO_OPTIONS,
    as_job,
    called,
    read_add_options,
    read_call,
    recalled,
    through_middleware,
)
from workkit.verbs.opening import producer_of

_KEYWORDS = frozenset(KEYWORDS)
_TIMES = frozenset(TIMES)
_NOT_AT = _TIMES - {"at"}


def added(s: Schedule, given: Mapping[str, Any], *, verb: str) -> Job:
    """Add a job for `add` or `add_now` of `workkit.schedule`, from its keywords. Warns and raises as that verb."""
    if type(s) is not Schedule:
        check_schedule(s)
    if import_here() is not None:
        refuse_addition(f"schedule.{verb}")
    new = addition(given, s=s, now_ms=lambda: producer_of(s).now_ms(), verb=verb)
    job = sent(s, new, given=given)
    return tell_dropped(job) if job.dropped else job


def addition(given: Mapping[str, Any], *, s: Schedule, now_ms: NowMs, verb: str = "add", seeks: bool = False) -> NewJob:
    """Make the job that is added, from the keywords of `add`; middleware of the schedule has seen it.

    `given` holds the function, its arguments, one time (none for the verb `add_now`) and options; None is as not given.
    `seeks`: as in `called`; such a job is of a plan or a form, and has no metadata of the code around. `now_ms` is
    asked only where the time needs it, after the function and the options were checked. Additions that share the
    present are read faster. Warns (WorkkitWarning) where the time is likely a mistake. Raises an `Invalid`, and what
    middleware raises.
    """
    if verb == "add_now" and not _TIMES.isdisjoint(given):
        _refuse_time(given)
    options = NO_OPTIONS
    if not _KEYWORDS.issuperset(given):
        options = read_add_options({name: value for name, value in given.items() if name not in _KEYWORDS}, verb=verb)
        if seeks and options.entrance.keep:  # a plan, and a form, say what the job of the name is to become
            options = replace(options, entrance=replace(options.entrance, keep=False))
    fn, args, kwargs = read_call(given)
    plain = layout_of(s.layout).has_job_names
    new = called(fn, args=args, kwargs=kwargs, options=options, plain=plain, seeks=seeks)
    new.most_bytes = s.max_payload
    if metadata.is_used and not (seeks or plain):
        new.meta = metadata.carried(new.meta)
    is_now = verb == "add_now" or (given.get("at") == "now" and _NOT_AT.isdisjoint(given))  # the usual row of a bulk
    if is_now and options is NO_OPTIONS:
        new.queued = True
    else:
        new = with_time(new, given, s=s, fn=fn, options=options, now_ms=now_ms, is_now=is_now)
    return through_middleware(new, schedule=s.name, fn=fn) if s.name in ENTERING else new


def _refuse_time(given: Mapping[str, Any]) -> None:
    for name in TIMES:
        if (value := given.get(name)) is not None:
            remedy = f"Give {name}={value!r} there."
            raise InvalidOptions.about(f"{name}=", "belongs to schedule.add", remedy, where=name, given=value)


def sent(s: Schedule, new: NewJob, *, given: Mapping[str, Any] | None = None) -> Job:
    """Add a job that was made and checked; return it as it was added. With the keywords that were `given`, it tells
    what it dropped of the job of its name. Raises ServerUnreachable, ServerRefused; an `Invalid` for what the layout
    cannot keep.
    """
    new.tells_former = given is not None and new.terms.name is not None and given.get("on_conflict") != "keep"
    if tracing.opentelemetry() is not None:
        with tracing.adding(s.name, fn=shown(new.fn)) as span:
            new.trace = tracing.context_of(span)
            found = producer_of(s).adding([new])()[0]
            tracing.added(span, found.id, new.meta)
    else:
        found = producer_of(s).adding([new])()[0]
    job = as_job(new, schedule=s.name, added=found)
    if given is None or found.former is None:
        return job
    return replace(job, dropped=tuple(_dropped(found.former, new, given, s.tz)))


def tell_dropped(job: Job) -> Job:
    """Warn (WorkkitWarning) of what an addition dropped, if it did; return the job."""
    if job.dropped:
        what = listed([f"{name}=" for name in job.dropped], "and")
        warn_caller(
            f'name="{job.name}": this addition replaced {(job.replaced or "")[:8]}, and dropped its {what}. '
            f'Give them again; or change the time alone: schedule.reschedule(s, "{job.name}", ...).'
        )
    return job


def _dropped(former: Job, new: NewJob, given: Mapping[str, Any], default_tz: str) -> Iterator[str]:
    """Name what a stored job had and the one in its place lacks, as keywords of `add`. Those that were given, and
    those that its time cannot have, are not lacking.
    """
    if former.fn == new.fn:
        if former.args and not new.args:
            yield "args"
        if former.kwargs and not new.kwargs and given.get("kwargs") is None:
            yield "kwargs"
    old, trigger = former.trigger, new.trigger
    if old is not None and old.tz != "UTC" and trigger is not None and given.get("tz") is None:
        is_said = any(isinstance(given.get(name), str) for name in ("when", "at", "every", "cron"))
        is_default = is_said and trigger.tz in (default_tz, "UTC") and trigger.tz != old.tz
        if is_default and follows_clock(trigger):
            yield "tz"
    if former.meta and not new.meta:
        yield "meta"
    had = {**former.options.fields(), **former.terms.fields()}
    if old is not None:
        had |= {name: True for name in ("start", "end") if getattr(old, name) is not None}
    has = {**new.options.fields(), **new.terms.fields()}
    if trigger is not None:
        has |= {name: True for name in ("start", "end") if getattr(trigger, name) is not None}
    for option in OPTIONS:
        member, may_be = option.member or option.name, not option.recurring or (trigger is not None and trigger.recurs)
        if may_be and member in had and member not in has and given.get(option.name) is None:
            yield option.name


def sent_beside(
    s: Schedule, job: Job, *, args: Sequence[Any] | None, kwargs: Mapping[str, Any] | None, author: Author
) -> Job:
    """Add a job of its own that runs once now: the function, options and priority of a recurring `job`, with other
    arguments. Raises as `sent`; InvalidOptions for a job that runs once, InvalidArguments.
    """
    if not job.recurs:
        trouble, remedy = "runs once, and keeps its arguments", "Cancel it, and add it again with others."
        raise InvalidOptions.about(f"{job.short_id} {shown(job.fn)}", trouble, remedy, given=job.id)
    new = recalled(job, args=args, kwargs=kwargs, plain=layout_of(s.layout).has_job_names)
    new.terms, new.most_bytes = Terms(priority=job.terms.priority), s.max_payload
    new = through_middleware(new, schedule=s.name, fn=job.fn)
    found = sent(s, new)
    producer_of(s).admin.by(author).note("run", {"id": found.id}, job=job)
    return found
