"""The time of a job that is added: read from the keywords of `add`, with its bounds and its spread; and a stored job at
another time. No I/O: the clock is passed in.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from functools import lru_cache
from typing import Any

from workkit.contract.producer import NewJob, warn_caller
from workkit.errors import InvalidOptions, TriggerError
from workkit.jobs.job import Job
from workkit.jobs.names import Fn, is_plain, read_name
from workkit.jobs.options import OPTIONS
from workkit.jobs.recurrence import first_run, spread_offset_ms
from workkit.text.duration import MILLISECOND
from workkit.triggers import Trigger
from workkit.triggers.between import between, days_from
from workkit.triggers.stored import zone_of_stored
from workkit.triggers.trigger import once
from workkit.triggers.when import KEYWORDS as TIMES
from workkit.triggers.when import When, read_when
from workkit.verbs.creation import Schedule
from workkit.verbs.new_job import NO_OPTIONS, Options, is_foreign, is_said_as_clojure

NowMs = Callable[[], int]
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


def with_time(
    new: NewJob,
    given: Mapping[str, Any],
    *,
    s: Schedule,
    fn: Fn,
    options: Options,
    now_ms: NowMs,
    is_now: bool,
) -> NewJob:
    """Give a new job the time that the keywords say, with what its options say of it. `is_now`: they say none, or now.
    `now_ms` is asked only where the time needs it. Warns (WorkkitWarning) where the time is likely a mistake. Raises
    TriggerError; InvalidOptions for options that this time cannot have.
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
    return _suited(_timed(new, when, options, now_ms()), fn)


def at_another_time(job: Job, given: Mapping[str, Any], *, s: Schedule, now_ms: int) -> NewJob:
    """Make of a stored job the same one at another time. `given` holds one time and perhaps `tz`; without it, words are
    read in the zone of the job. Bounds that the words do not name stay. No middleware sees it.

    Warns and raises as `addition`; InvalidOptions too where a job that is to run once has options of a recurring one.
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
    return _suited(_timed(new, when, options, now_ms), str(name) if name is not None and name.is_python else job.fn)


def _not_late(what: str) -> InvalidOptions:
    trouble, remedy = f"with {what}: only one instant can have passed", "Give it with at=, or leave it out."
    return InvalidOptions.about('late="run"', trouble, remedy, where="late", given="run")


def _queued(new: NewJob, options: Options, now_ms: NowMs) -> NewJob:
    """Give the job no time: it runs at once, or with debounce when the window from now is over. Each is a run of its
    own, unless unique=True was given. Raises InvalidOptions for options that only a recurring job can have.
    """
    if options.recurring:
        _refuse_recurring(options, "now")
    window = new.entrance.debounce_ms
    if window is None:
        new.queued = not new.entrance.once
        return new
    new.due_ms = now_ms() + window
    # The second in which it ends, for whoever looks at the new job. The payload has no such time: see `Codec.encode`.
    new.trigger = once(datetime.fromtimestamp(new.due_ms // 1000, UTC))
    return new


def _timed(new: NewJob, when: When, options: Options, now_ms: int) -> NewJob:
    """Give the job its time, bounds and spread. Where that is a length from now, each addition is a run of its own,
    unless unique=True was given. Raises TriggerError; InvalidOptions for options that this time cannot have.
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


def _suited(new: NewJob, fn: Fn) -> NewJob:
    """Fit the time to those who run the function. A length from now ends at its millisecond; a Clojure peer would run
    the job again at the second that its cron names, so where one may run it, it ends with that second. Raises
    TriggerError for an interval that such a peer cannot keep.
    """
    trigger = new.trigger
    if trigger is None or (trigger.exact is None and trigger.interval is None):
        return new
    if trigger.interval is not None and not is_plain(new.fn) and is_foreign(fn):
        raise _not_kept(new.fn, trigger)
    if trigger.exact is not None and not is_said_as_clojure(fn):
        new.due_ms = -((_EPOCH - trigger.exact) // MILLISECOND)
    return new


def _not_kept(fn: str, trigger: Trigger) -> TriggerError:
    """Make the error about an interval that seven fields cannot say, for a function that a Clojure peer runs."""
    from workkit.triggers import explain

    words = explain(trigger)
    trouble = f"with {fn}: only Python listeners keep this interval"
    remedy = "Write one that divides a minute, an hour or a day, and choose no start for any other."
    return TriggerError.about(f'"{words}"', trouble, remedy, where="every", given=words)


def _refuse_recurring(options: Options, runs: str) -> None:
    if options.recurring:
        names = " and ".join(f"{name}=" for name in options.recurring)
        them = "it" if len(options.recurring) == 1 else "them"
        trouble = f"with a job that runs {runs}: only one that recurs can have {them}"
        raise InvalidOptions.about(names, trouble, "Give every=.", where=options.recurring[0])


def _found(when: When, now_ms: int) -> tuple[Trigger, int | None]:
    """Read a time and its first run. All instants between two seconds give the same, except for a length from now."""
    try:
        if when.in_ is None and now_ms % 1000:
            found = _remembered(when, now_ms // 1000 * 1000 + 500)
            if found[0].exact is None:
                return found
        return _remembered(when, now_ms)
    except TypeError:  # a value that cannot be looked up is refused, with the reason
        return _read(when, now_ms)


def _read(when: When, now_ms: int) -> tuple[Trigger, int | None]:
    trigger = read_when(when, now=datetime.fromtimestamp(now_ms / 1000, UTC))
    return trigger, first_run(trigger, now_ms=now_ms - (when.late_ms if when.late else 0), offset_ms=0)


_remembered = lru_cache(maxsize=1024)(_read)  # rows of one batch share the present, and often their words
