"""A new job without a time: a function with its arguments and options, its way through middleware, and its form as a
Job. No I/O.

The facts that the checks need of a function are read at its first addition: see `Prepared`. Every addition makes every
check.
"""

from __future__ import annotations

import inspect
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, fields, replace
from datetime import UTC, datetime, timedelta
from functools import lru_cache
from hashlib import sha1
from types import FunctionType
from typing import Any

from workkit import wire
from workkit.contract.producer import Added, After, Before, NewJob, warn_caller
from workkit.errors import InvalidArguments, InvalidOptions, TriggerError
from workkit.jobs.arguments import check_call, check_list, compiled_check, foreign_remarks, places_of, takes_whole
from workkit.jobs.call import FunctionCall, OnDeath
from workkit.jobs.job import Job, spoken
from workkit.jobs.json_value import SIMPLE
from workkit.jobs.marks import imported, job_name_of
from workkit.jobs.meta import read_meta
from workkit.jobs.middleware import ENTERING
from workkit.jobs.middleware import entered as passed
from workkit.jobs.names import Clojure, Fn, forget_names, function_of, is_plain, read_name, stored_name
from workkit.jobs.option_readers import option_error
from workkit.jobs.options import ADD, OPTIONS, read_options
from workkit.jobs.run_options import OF_RUNS, UNSAID, RunOptions, run_options
from workkit.jobs.structured import needs_fitting, structured, written
from workkit.jobs.terms import PLAIN, USUAL, Entrance, Terms, terms_and_entrance
from workkit.text.wording import MILLISECOND
from workkit.triggers import KEYWORDS as TIMES
from workkit.triggers import Trigger
from workkit.triggers.between import read_deadline
from workkit.triggers.trigger import deadline_text, once

CALL = ("fn", "args", "kwargs", "call")
KEYWORDS = (*CALL, *TIMES)  # keywords of `add`, beside its options
_RECURRING = tuple(option.name for option in OPTIONS if option.recurring)
_EPOCH, _DAY, _ID = datetime(1970, 1, 1, tzinfo=UTC), timedelta(days=1), re.compile("[0-9a-f]{40}")
MOST_PREPARED = 10_000  # the most functions in memory


@dataclass(slots=True, kw_only=True, eq=False)
class Options:
    """The options of an addition; immutable. `start`, `end`, `done_by` are read with the time. `recurring`: the names
    of the options that were used and need a time that recurs. `late`: the instant may be up to a day past.
    """

    run: RunOptions = UNSAID
    terms: Terms = PLAIN
    entrance: Entrance = USUAL
    start: str | datetime | None = None
    end: str | datetime | None = None
    recurring: tuple[str, ...] = ()
    meta: dict[str, str] | None = None
    late: bool = False
    done_by: str | datetime | None = None
    after: Any = None
    on_death: OnDeath = "cancel"


NO_OPTIONS = Options()  # the usual value


def read_add_options(given: Mapping[str, Any], *, verb: str = "add") -> Options:
    """Check the options of `verb`, and read those that do not depend on the job's time. Raises InvalidOptions,
    TriggerError.
    """
    if not given:
        return NO_OPTIONS
    read = read_options(given, place=ADD, verb=verb, other=KEYWORDS)
    terms, entrance = terms_and_entrance(read)
    if read.get("unique") is True:
        entrance = replace(entrance, once=True)
    run = UNSAID if OF_RUNS.isdisjoint(read) else run_options(read)
    meta, late, done_by = read.get("meta"), read.get("late") == "run", read.get("done_by")
    recurring = () if read.keys().isdisjoint(_RECURRING) else tuple([name for name in _RECURRING if name in read])
    after, on_death = read.get("after"), read.get("on_death")
    if on_death is not None and after is None:
        trouble = "without after=: it says what becomes of a job that waits for others"
        raise option_error("on_death", on_death, trouble, "Add after=, or leave it out.")
    is_usual = run is UNSAID and terms is PLAIN and entrance is USUAL and meta is None
    if is_usual and done_by is None and after is None and not recurring and not late:
        return NO_OPTIONS
    start, end = read.get("start"), read.get("end")
    return Options(
        run=run, terms=terms, entrance=entrance, start=start, end=end, recurring=recurring, meta=meta, late=late,
        done_by=done_by, after=after, on_death=on_death or "cancel",
    )  # fmt: skip


CHANGEABLE = ("args", "kwargs", "options", "meta")  # the parts of a job that middleware may change
_CLOJURE_STARTS = ("#", "'", "(")  # how the Clojure form of a name begins


def read_call(given: Mapping[str, Any]) -> tuple[Fn, Any, Mapping[str, Any] | None]:
    """Take the function and its arguments from the keywords of `add`: `fn`, `args`, `kwargs`, or `call`.

    Raises InvalidOptions for both, or for neither.
    """
    call = given.get("call")
    if call is None:
        if (fn := given.get("fn")) is None:
            raise InvalidOptions.about("fn", "is missing", "Give a function, or call=call(function, ...).")
        args = given.get("args")
        if type(fn) is not FunctionType:
            fn = function_of(fn)
        return fn, () if args is None else args, given.get("kwargs")
    if not isinstance(call, FunctionCall):
        remedy = "Write call=call(function, ...), with call from workkit."
        raise InvalidOptions.about(f"call={call!r}", "is not a call", remedy, where="call", given=call)
    beside = [name for name in ("fn", "args", "kwargs") if given.get(name) not in (None, ())]
    if beside:
        names = " and ".join(f"{name}=" for name in beside)
        trouble = "were both given: a call holds its function and arguments"
        remedy = f"Leave out {names}."
        raise InvalidOptions.about(f"{names} and call=", trouble, remedy, where=beside[0], given=given[beside[0]])
    return function_of(call.fn), call.args, call.kwargs


class Prepared:
    """The facts of one function that the checks of an addition need: its stored name, its positional parameters,
    whether it has structured parameters, and whether only Clojure peers run a function of that name.

    `source` is the function with the parameters, with its code and its defaults at that time. A tool that reloads a
    module in place changes these; the function is then read again.
    """

    __slots__ = (
        "code", "defaults", "has_structured", "is_foreign", "least", "most", "name", "named_defaults",
        "source", "types",
    )  # fmt: skip

    def __init__(self, fn: FunctionType) -> None:
        try:
            source: Any = inspect.unwrap(fn)
        except ValueError:  # it wraps itself
            source = fn
        self.source = source if isinstance(source, FunctionType) else fn
        self.code = self.source.__code__
        self.defaults, self.named_defaults = self.source.__defaults__, self.source.__kwdefaults__
        self.name, self.is_foreign = stored_name(fn), is_foreign(fn)
        places = places_of(fn)
        self.least, self.most, self.types = places.least, places.most, places.types
        self.has_structured = structured(fn) is not None

    def surely_takes(self, args: Sequence[Any]) -> bool:
        """Return whether the function surely accepts these positional arguments, by a quick check."""
        if not self.least <= len(args) <= self.most:
            return False
        for place, allowed in self.types:  # noqa: SIM110  a call of `all` costs more
            if place < len(args) and type(args[place]) not in allowed:
                return False
        return True


_prepared: dict[FunctionType, Prepared] = {}


def _prepare(fn: FunctionType) -> Prepared:
    """Read and remember a function for its additions. Raises InvalidFunction for one that no listener can import."""
    if fn in _prepared:  # it was reloaded in place: the remembered facts are outdated
        forget_names()
        takes_whole.cache_clear()
        compiled_check.cache_clear()
        structured.cache_clear()
        needs_fitting.cache_clear()
    if len(_prepared) >= MOST_PREPARED:
        _prepared.clear()
    known = _prepared[fn] = Prepared(fn)
    return known


def called(
    fn: Fn,
    *,
    args: Any,
    kwargs: Mapping[str, Any] | None,
    options: Options = NO_OPTIONS,
    plain: bool = False,
    seeks: bool = False,
) -> NewJob:
    """Make a job of a function and its arguments. It has no time yet. The arguments are checked if the function is
    available. `plain`: in the layout, functions have job names. `seeks`: a function that is only named is available if
    this program has imported it.

    Warns (WorkkitWarning) of arguments for Clojure that some languages change when they read them. Raises
    InvalidFunction, InvalidArguments.
    """
    known, is_clojure = None, False
    if type(fn) is str and not plain:
        name, is_clojure = _read_text(fn)
    elif type(fn) is FunctionType and not plain:
        known = _prepared.get(fn)
        if (
            known is None
            or known.code is not known.source.__code__
            or known.defaults is not known.source.__defaults__
            or known.named_defaults is not known.source.__kwdefaults__
        ):
            known = _prepare(fn)
        name = known.name
    else:
        name, is_clojure = job_name_of(fn) if plain else stored_name(fn), is_said_as_clojure(fn)
    if type(args) not in (list, tuple):
        check_list(args)
    if kwargs and not plain and (is_foreign(fn) if known is None else known.is_foreign):
        trouble, remedy = f"with {name}: only Python functions take keyword arguments", "Put a map into args."
        raise InvalidArguments.about("kwargs=", trouble, remedy, where="kwargs", given=kwargs)
    at_hand = fn if callable(fn) else imported(name) if seeks else None
    if at_hand is not None and (known is None or kwargs or not known.surely_takes(args)):
        check_call(at_hand, args=args, kwargs=kwargs or ({} if plain else None))
    if is_clojure:
        for remark in foreign_remarks(args):
            warn_caller(remark)
    is_simple = at_hand is None and not kwargs and SIMPLE.issuperset(map(type, args))
    if not is_simple if known is None else known.has_structured:
        args, kwargs = written(at_hand or fn, args=args, kwargs=kwargs)
    new = NewJob(name, tuple(args))
    if kwargs or (plain and kwargs is not None):  # {} and none differ in some layouts
        new.kwargs = dict(kwargs)
    if options is not NO_OPTIONS:
        new.options, new.terms, new.entrance, new.meta = options.run, options.terms, options.entrance, options.meta
        if options.entrance.throttle_ms is not None or options.entrance.debounce_ms is not None:
            new.entrance = replace(options.entrance, window_key=options.terms.unique_key or _window_key(new))
    return new


def set_deadline(new: NewJob, given: Any, *, now_ms: int, tz: str) -> None:
    """Give a job with a time its deadline. Warns (WorkkitWarning) where it is likely a mistake. Raises TriggerError."""
    now, due = (datetime.fromtimestamp((ms or now_ms) / 1000, UTC) for ms in (now_ms, new.due_ms))
    recurs = new.trigger is not None and new.trigger.recurs
    by = read_deadline(given, due=due, now=now, tz=tz, recurs=recurs)
    for warning in by.warnings:
        warn_caller(warning)
    new.terms = replace(new.terms, done_by=deadline_text(by))


def suited(new: NewJob, fn: Fn) -> NewJob:
    """Fit the time to the programs that run the function. A length from now ends at its millisecond. A Clojure peer
    would run the job again at the second of its cron, so where a peer may run it, the length ends with that second.
    Raises TriggerError for an interval that such a peer cannot keep.
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
    """Make the error for an interval that seven cron fields cannot express, for a function that a Clojure peer runs."""
    from workkit.triggers import explain

    words = explain(trigger)
    trouble = f"with {fn}: only Python listeners keep this interval"
    remedy = "Write one that divides a minute, an hour or a day, and choose no start for any other."
    return TriggerError.about(f'"{words}"', trouble, remedy, where="every", given=words)


MOST_BEFORE = 10_000  # jobs that one job waits for
FILLED: dict[tuple[str, str | None], Callable[[str], None]] = {}  # schedule, batch that is open here -> sends a job


def wait_after(new: NewJob, given: Any, *, on_death: OnDeath, schedule: str) -> None:
    """Let a job with a time wait for others: `given` is what `after` names. Raises InvalidOptions."""
    if new.trigger is not None and new.trigger.recurs:
        trouble, remedy = "with a job that recurs", "Let a job that runs once wait, or let the first of them recur."
        raise InvalidOptions.about("after=", trouble, remedy, where="after", given=given)
    every = given if isinstance(given, list | tuple) else [given]
    if not 1 <= len(every) <= MOST_BEFORE:
        trouble, remedy = f"names {len(every):,} jobs", f"Accepted: 1 to {MOST_BEFORE:,}. Name a batch of more."
        raise InvalidOptions.about("after=", trouble, remedy, where="after", given=given)
    before = tuple(dict.fromkeys(_before(one, schedule) for one in every))
    new.after = After(before=before, on_death=on_death)
    names = "".join(f"{one.of}\n" for one in before).encode("utf-8", "surrogatepass")
    new.terms = replace(new.terms, after=sha1(names, usedforsecurity=False).hexdigest()[:16])


def _before(given: Any, schedule: str) -> Before:
    """Read one of the things that a job waits for. Sends it first, if it is a job of a batch that was not sent."""
    if isinstance(given, str) and given:
        return Before("job" if _ID.fullmatch(given) else "name", given)
    if isinstance(given, Job):
        if given.schedule != schedule:
            trouble, remedy = f"is a job of {given.schedule}", f"Name jobs of {schedule}."
            raise InvalidOptions.about(f"after={given.short_id}", trouble, remedy, where="after", given=given.id)
        if not given.id:
            trouble, remedy = "names a job that an earlier program added", 'Give it a name=, and write after="NAME".'
            raise InvalidOptions.about("after=", trouble, remedy, where="after", given=given)
        if (send := FILLED.get((schedule, given.terms.batch))) is not None:
            send(given.id)
        return Before("job", given.id, given.due is not None and given.due > datetime.now(UTC) - _DAY)
    if isinstance(found := getattr(given, "before", None), Before):  # of a batch
        return found
    remedy = "Write a Job, an id of 40 characters, the name of a job, a batch, or a list of these."
    raise option_error("after", given, "is no job, name or batch", remedy)


def recalled(job: Job, *, args: Any = None, kwargs: Mapping[str, Any] | None = None, plain: bool = False) -> NewJob:
    """Make a job of the function of a stored one, with its options and other arguments. Absent arguments are those of
    the stored job. They are checked as for `add`. The job has no time. Raises InvalidArguments.
    """
    named = job.kwargs if kwargs is None else kwargs
    new = called(
        job.fn if plain else spoken(job.fn),
        args=job.args if args is None else args,
        kwargs=named,
        plain=plain,
        seeks=True,
    )
    new.fn, new.options, new.queued, new.meta = job.fn, job.options, True, job.meta
    return new


@lru_cache(maxsize=1024)
def _read_text(fn: str) -> tuple[str, bool]:
    return stored_name(fn), is_said_as_clojure(fn)


def is_said_as_clojure(fn: Fn) -> bool:
    """Return whether a function is written in the Clojure form, so that a Clojure peer may have it too."""
    return isinstance(fn, str) and (fn.startswith(_CLOJURE_STARTS) or isinstance(fn, Clojure))


def is_foreign(fn: Fn) -> bool:
    """Return whether only Clojure peers run a function: it has the Clojure form, or no Python function has its name."""
    stored = stored_name(fn)
    name = read_name(stored)
    return isinstance(fn, Clojure) or not (is_plain(stored) or (name is not None and name.is_python))


def _window_key(new: NewJob) -> str:
    """Return the key of equal calls: function and arguments. Raises InvalidArguments."""
    content = wire.payload(cron="", job="", args=new.args, extra={"kwargs": new.kwargs or {}})
    return f"{new.fn} {sha1(content, usedforsecurity=False).hexdigest()}"


def as_job(new: NewJob, *, schedule: str, added: Added | None = None, source: Any = None) -> Job:
    """Return a new job as a Job: as it was `added`, or before that, as it would be. `source`: its Schedule."""
    due_ms, trigger = new.due_ms if added is None else added.due_ms, new.trigger
    if new.entrance.debounce_ms is not None and due_ms is not None:  # its window may have ended earlier
        trigger = once(datetime.fromtimestamp(due_ms // 1000, UTC))
    ended = None if added is None else added.ended
    return Job(
        id="" if added is None else added.id,
        schedule=schedule,
        fn=new.fn,
        args=tuple(new.args),
        kwargs=new.kwargs,
        trigger=trigger,
        due=None if due_ms is None else datetime.fromtimestamp(due_ms / 1000, UTC),
        name=new.terms.name,
        state="waiting" if ended is None else "dead" if ended == "dead" else "done",
        ending=ended,
        new=added is None or added.new,
        options=new.options,
        terms=new.terms,
        replaced=None if added is None else added.replaced,
        meta=new.meta,
        source=source,
    )


def through_middleware(new: NewJob, *, schedule: str, fn: Fn) -> NewJob:
    """Pass a job through the schedule's middleware, and return it as it is added. Changes of middleware are checked
    again.

    Raises the error by which middleware refuses the job, and an `Invalid` for a change that middleware may not make.
    """
    if schedule not in ENTERING:
        return new
    job = as_job(new, schedule=schedule)
    changed = passed(schedule, job)
    if changed is job:
        return new
    for name in (field.name for field in fields(Job) if field.name not in CHANGEABLE):
        value: Any = getattr(changed, name)
        if value != getattr(job, name):
            trouble = f"changed {name} of a job that is added, to {value!r}"
            remedy = f"It may change {', '.join(CHANGEABLE)}."
            raise InvalidOptions.about(f"middleware of {schedule}", trouble, remedy, given=value)
    checked = called(fn, args=changed.args, kwargs=changed.kwargs, plain=is_plain(new.fn))
    if changed.meta != job.meta:
        new.meta = read_meta(changed.meta or {})
    new.args, new.kwargs = checked.args, checked.kwargs
    new.options = changed.options if changed.options != UNSAID else UNSAID
    return new
