"""The verbs `add` and `add_now`. `addition` turns their keywords into the job for a broker. It does no I/O; the caller
passes the clock in. Rows of `add_many`, plans of `sync` and the command line, dry runs included, use it too. `sent`
sends the job to its server, in a span of its own, and reports the options that the replaced job had.

Below: the time of a job, read from the keywords with its bounds and its spread; and a stored job at another time.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from functools import lru_cache
from typing import Any, Unpack

from workkit import tracing
from workkit.brokers.layout import layout_of
from workkit.contract.producer import NewJob, warn_caller
from workkit.errors import InvalidOptions
from workkit.jobs import meta as metadata
from workkit.jobs.call import AddOptions, FunctionCall
from workkit.jobs.importing import import_here, refuse_addition
from workkit.jobs.job import Job
from workkit.jobs.middleware import ENTERING
from workkit.jobs.names import Fn, read_name, shown
from workkit.jobs.option_readers import option_error
from workkit.jobs.options import OPTIONS
from workkit.jobs.terms import first_run, spread_offset_ms
from workkit.text.wording import listed
from workkit.triggers import KEYWORDS as TIMES
from workkit.triggers import Trigger
from workkit.triggers.between import between, days_from
from workkit.triggers.dialect import follows_clock, zone_of_stored
from workkit.triggers.trigger import once
from workkit.triggers.when import When, read_when
from workkit.verbs.creation import Schedule, check_schedule
from workkit.verbs.new_job import (
    KEYWORDS,
    NO_OPTIONS,
    Options,
    as_job,
    called,
    read_add_options,
    read_call,
    set_deadline,
    suited,
    through_middleware,
    wait_after,
)
from workkit.verbs.opening import check_groups, producer_of

NowMs = Callable[[], int]
_KEYWORDS = frozenset(KEYWORDS)
_TIMES = frozenset(TIMES)
_NOT_AT = _TIMES - {"at"}


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
    ("started"), on_conflict="keep" ("replace"), once_key=None, once_for=None (a duration within which the first job of
    the key is returned, however it ended), throttle=None, debounce=None (durations; of additions within one the first
    runs, or the last), debounce_most=None (six debounces: the longest delay); overlap="allow" ("skip", "queue",
    "cancel"), catch_up="once" ("all", "skip"), catch_up_within=None, count=None, spread=None; priority=0 (to 3),
    ping=None (a monitor's URL), expires=None, done_by=None or within=None (a deadline), meta=None, tags=None (up to 8
    texts); after=None (ids, jobs, batches or names: it starts when they have ended), on_death="cancel" ("run": however
    they end); and of its runs retries=0, crashes=2, backoff="exponential", base="5s", cap="1h", jitter=True,
    timeout=None, keep=None, keep_most="1MB". See `workkit.jobs.options.OPTIONS`.

    Returns the job; `new` is False where it was there already, and `ending` tells how the first job of a `once_key`
    ended. Warns (WorkkitWarning) where the time is likely a mistake, and where it lacks options of the job that it
    replaces under its name (`dropped`). Raises an `Invalid` for an argument with an invalid value, ServerUnreachable or
    ServerRefused for the server.
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


def added(s: Schedule, given: Mapping[str, Any], *, verb: str) -> Job:
    """Add a job for `add` or `add_now` of `workkit.schedule`, from its keywords. Warns and raises as that verb does."""
    if type(s) is not Schedule:
        check_schedule(s)
    if import_here() is not None:
        refuse_addition(f"schedule.{verb}")
    new = addition(given, s=s, now_ms=lambda: producer_of(s).now_ms(), verb=verb)
    job = sent(s, new, given=given)
    return tell_dropped(job) if job.dropped else job


def addition(given: Mapping[str, Any], *, s: Schedule, now_ms: NowMs, verb: str = "add", seeks: bool = False) -> NewJob:
    """Make the job to add from the keywords of `add`, and pass it through the schedule's middleware.

    `given` holds the function, its arguments, one time (none for the verb `add_now`) and options; None means absent.
    `seeks`: as in `called`; such a job comes from a plan or a form, and has no metadata of the code around. `now_ms` is
    called only if the time needs it, after the checks of the function and the options. Additions that share the present
    are read faster. Warns (WorkkitWarning) where the time is likely a mistake. Raises an `Invalid`, and errors of
    middleware.
    """
    if verb == "add_now" and not _TIMES.isdisjoint(given):
        _refuse_time(given)
    options = NO_OPTIONS
    if not _KEYWORDS.issuperset(given):
        options = read_add_options({name: value for name, value in given.items() if name not in _KEYWORDS}, verb=verb)
        if seeks and options.entrance.keep:  # a plan or a form holds the whole new content of the job with this name
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
        new = _with_time(new, given, s=s, fn=fn, options=options, now_ms=now_ms, is_now=is_now)
        if options.done_by is not None:
            set_deadline(new, options.done_by, now_ms=now_ms(), tz=str(given.get("tz") or s.tz))
        if options.after is not None:
            check_groups(s, "after=")
            wait_after(new, options.after, on_death=options.on_death, schedule=s.name)
    return through_middleware(new, schedule=s.name, fn=fn) if s.name in ENTERING else new


def _refuse_time(given: Mapping[str, Any]) -> None:
    for name in TIMES:
        if (value := given.get(name)) is not None:
            remedy = f"Give {name}={value!r} there."
            raise InvalidOptions.about(f"{name}=", "belongs to schedule.add", remedy, where=name, given=value)


def sent(s: Schedule, new: NewJob, *, given: Mapping[str, Any] | None = None) -> Job:
    """Add a job that was made and checked; return it as it was added. With the keywords `given`, it also records which
    options the replaced job had. Raises ServerUnreachable, ServerRefused; an `Invalid` for a value that the layout
    cannot store.
    """
    new.tells_former = given is not None and new.terms.name is not None and given.get("on_conflict") != "keep"
    if tracing.opentelemetry() is not None:
        with tracing.adding(s.name, fn=shown(new.fn)) as span:
            new.trace = tracing.context_of(span)
            found = producer_of(s).adding([new])()[0]
            tracing.added(span, found.id, new.meta)
    else:
        found = producer_of(s).adding([new])()[0]
    job = as_job(new, schedule=s.name, added=found, source=s)
    if given is None or found.former is None:
        return job
    return replace(job, dropped=tuple(_dropped(found.former, new, given, s.tz)))


def tell_dropped(job: Job) -> Job:
    """Warn (WorkkitWarning) if an addition dropped options of the replaced job; return the job."""
    if job.dropped:
        what = listed([f"{name}=" for name in job.dropped], "and")
        warn_caller(
            f'name="{job.name}": this addition replaced {(job.replaced or "")[:8]}, and dropped its {what}. '
            f'Give them again; or change the time alone: schedule.reschedule(s, "{job.name}", ...).'
        )
    return job


def _dropped(former: Job, new: NewJob, given: Mapping[str, Any], default_tz: str) -> Iterator[str]:
    """Name the options that a stored job had and its replacement lacks, as keywords of `add`. Options that are in
    `given`, and those that the new time cannot have, do not count.
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


def _with_time(
    new: NewJob,
    given: Mapping[str, Any],
    *,
    s: Schedule,
    fn: Fn,
    options: Options,
    now_ms: NowMs,
    is_now: bool,
) -> NewJob:
    """Give a new job the time of its keywords, with the options for that time. `is_now`: the keywords have no time, or
    "now". `now_ms` is called only if the time needs it. Warns (WorkkitWarning) where the time is likely a mistake.
    Raises TriggerError; InvalidOptions for options that this time cannot have.
    """
    if options.late and given.get("at") is None and given.get("when") is None:
        raise _not_late("a job that has no instant")
    if is_now:
        return _queued(new, options, now_ms)
    when = When(
        when=given.get("when"),
        at=given.get("at"),
        in_=given.get("in_"),
        every=given.get("every"),
        cron=given.get("cron"),
        tz=given.get("tz"),
        default_tz=s.tz,
        dialect=s.dialect,
        late="run" if options.late else None,
    )
    if when.is_now:
        return _queued(new, options, now_ms)
    return suited(_timed(new, when, options, now_ms()), fn)


def at_another_time(job: Job, given: Mapping[str, Any], *, s: Schedule, now_ms: int) -> NewJob:
    """Make a copy of a stored job at another time. `given` holds one time and perhaps `tz`; without `tz`, words are
    read in the zone of the job. Bounds that the words do not name stay. Middleware does not see the job.

    Warns and raises as `addition`; InvalidOptions too where a job that then runs once has options of a recurring one.
    """
    new = NewJob(
        fn=job.fn, args=job.args, kwargs=job.kwargs, trigger=None, due_ms=None, options=job.options, terms=job.terms
    )
    now, stored = datetime.fromtimestamp(now_ms / 1000, UTC), job.trigger
    times = {name: given.get(name) for name in (*TIMES, "tz")}
    when = When(**times, default_tz=zone_of_stored(stored, default=s.tz, now=now), dialect=s.dialect)
    is_now = when.is_now
    bounds: dict[str, Any] = {}
    if stored is not None and stored.recurs:
        own = None if is_now or isinstance(when.every, timedelta) else _found(when, now_ms)[0]
        bounds = {name: getattr(stored, name) for name in ("start", "end") if getattr(own, name, None) is None}
    asked = {*job.terms.fields(), *(name for name, bound in bounds.items() if bound is not None)}
    recurring = tuple(one.name for one in OPTIONS if one.recurring and not asked.isdisjoint((one.name, one.member)))
    options = Options(terms=job.terms, **bounds, recurring=recurring)
    if is_now:
        _refuse_recurring(options, "now")
        return new
    name = read_name(job.fn)
    suited(_timed(new, when, options, now_ms), str(name) if name is not None and name.is_python else job.fn)
    if job.terms.done_by is not None and new.trigger is not None and new.trigger.recurs:
        set_deadline(new, job.terms.done_by, now_ms=now_ms, tz=when.zone)
    return new


def _not_late(what: str) -> InvalidOptions:
    trouble, remedy = f"with {what}: only one instant can have passed", "Give it with at=, or leave it out."
    return InvalidOptions.about('late="run"', trouble, remedy, where="late", given="run")


def _queued(new: NewJob, options: Options, now_ms: NowMs) -> NewJob:
    """Give the job no time: it runs at once, or with debounce at the end of a window from now. Each addition is another
    run, unless unique=True. Raises InvalidOptions for options that only a recurring job can have.
    """
    if options.recurring:
        _refuse_recurring(options, "now")
    window = new.entrance.debounce_ms
    if window is None:
        new.queued = not new.entrance.once
        return new
    new.due_ms = now_ms() + window
    # The second in which the window ends, for display of the new job. The payload has no such time: see `Codec.encode`.
    new.trigger = once(datetime.fromtimestamp(new.due_ms // 1000, UTC))
    return new


def _timed(new: NewJob, when: When, options: Options, now_ms: int) -> NewJob:
    """Give the job its time, bounds and spread. With a length from now, each addition is another run, unless
    unique=True. Raises TriggerError; InvalidOptions for options that this time cannot have.
    """
    if isinstance(when.every, timedelta) and options.start is not None:
        now = datetime.fromtimestamp(now_ms / 1000, UTC)
        when = replace(when, every=days_from(when.every, start=options.start, now=now, tz=when.zone) or when.every)
    trigger, new.due_ms = _found(when, now_ms)
    if options is not NO_OPTIONS:
        if options.entrance.debounce_ms is not None:
            trouble, remedy = "with a time: the window says when it runs", 'Write at="now", or use schedule.add_now.'
            raise InvalidOptions.about("debounce=", trouble, remedy, where="debounce")
        if not trigger.recurs:
            _refuse_recurring(options, "once")
        elif options.terms.expires_ms is not None:
            trouble, remedy = "with a job that recurs: another run follows", 'Write catch_up_within="1 hour".'
            raise InvalidOptions.about("expires=", trouble, remedy, where="expires")
        elif options.terms.once_key is not None:
            trouble, remedy = "with a job that recurs: it is one job already", 'Write name="...", on_conflict="keep".'
            raise option_error("once_key", options.terms.once_key, trouble, remedy)
        elif options.late:
            raise _not_late("a job that recurs")
        elif options.start is not None or options.end is not None or options.terms.spread_ms:
            if options.start is not None or options.end is not None:
                now = datetime.fromtimestamp(now_ms / 1000, UTC)
                trigger = between(trigger, start=options.start, end=options.end, now=now, tz=when.zone)
            offset = spread_offset_ms(new.terms, new.fn, new.args)
            new.due_ms = first_run(trigger, now_ms=now_ms, offset_ms=offset)
    new.queued = not trigger.recurs and when.is_length and not new.entrance.once
    new.trigger = trigger
    for warning in trigger.warnings:
        warn_caller(warning)
    return new


def _refuse_recurring(options: Options, runs: str) -> None:
    if options.recurring:
        names = " and ".join(f"{name}=" for name in options.recurring)
        them = "it" if len(options.recurring) == 1 else "them"
        trouble = f"with a job that runs {runs}: only one that recurs can have {them}"
        raise InvalidOptions.about(names, trouble, "Give every=.", where=options.recurring[0])


def _found(when: When, now_ms: int) -> tuple[Trigger, int | None]:
    """Read a time and its first run. All instants of one second have the same result, except for a length from now."""
    try:
        if when.in_ is None and now_ms % 1000:
            found = _remembered(when, now_ms // 1000 * 1000 + 500)
            if found[0].exact is None:
                return found
        return _remembered(when, now_ms)
    except TypeError:  # an unhashable value: this raises the reason why it is invalid
        return _read(when, now_ms)


def _read(when: When, now_ms: int) -> tuple[Trigger, int | None]:
    trigger = read_when(when, now=datetime.fromtimestamp(now_ms / 1000, UTC))
    return trigger, first_run(trigger, now_ms=now_ms - (when.late_ms if when.late else 0), offset_ms=0)


_remembered = lru_cache(maxsize=1024)(_read)  # rows of one batch share the present, and often their words
