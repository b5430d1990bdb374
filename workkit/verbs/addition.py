"""From what the verbs that add were given to the job that goes to a broker. No I/O."""

from __future__ import annotations

import warnings
from collections import deque
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from datetime import UTC, datetime
from functools import lru_cache
from hashlib import sha1
from typing import Any

from workkit import wire
from workkit.contract.producer import Added, NewJob
from workkit.contract.tally import Tally
from workkit.errors import InvalidArguments, InvalidOptions, WorkkitError, WorkkitWarning
from workkit.jobs.arguments import check_call, foreign_remarks
from workkit.jobs.job import Job
from workkit.jobs.names import Clojure, Fn, read_name, stored_name
from workkit.jobs.recurrence import first_run, spread_offset_ms
from workkit.triggers import Trigger
from workkit.triggers.between import between
from workkit.triggers.trigger import once
from workkit.triggers.when import When, read_when
from workkit.verbs.add_options import ARGUMENTS, NOTHING, Asked, read_options

CHUNK = 500  # jobs of a bulk in one round trip
AT_ONCE = 2  # batches on their way
_CLOJURE_STARTS = ("#", "'", "(")  # how a name begins that is said as Clojure says it


def call(fn: Fn, *, args: Any, kwargs: Mapping[str, Any] | None, asked: Asked = NOTHING) -> NewJob:
    """The function and its arguments, checked as far as they are at hand; no time yet. Warns (WorkkitWarning) of
    arguments for Clojure that not every language reads as they stand. Raises InvalidFunction, InvalidArguments.
    """
    name = stored_name(fn)
    if type(args) not in (list, tuple) and (isinstance(args, (str, bytes, Mapping)) or not isinstance(args, Sequence)):
        kind = "one text" if isinstance(args, (str, bytes)) else f"a {type(args).__name__}"
        wrapped = f'["{args}"]' if isinstance(args, str) else f"[{args!r}]"
        said = f'"{args}"' if isinstance(args, str) else repr(args)
        raise InvalidArguments(f"args={said} is {kind}, not a list. Write args={wrapped}.", given=args)
    if kwargs:
        target = read_name(name)
        if isinstance(fn, Clojure) or target is None or not target.is_python:
            raise InvalidArguments(
                f"kwargs= with {name}: only Python functions take keyword arguments. Put a map into args.", given=kwargs
            )
    if callable(fn):
        check_call(fn, args=args, kwargs=kwargs or {})
    elif isinstance(fn, Clojure) or fn[:1] in _CLOJURE_STARTS:
        for remark in foreign_remarks(args):
            warnings.warn(remark, WorkkitWarning, stacklevel=3)  # for whoever called `add`
    new = NewJob(fn=name, args=tuple(args), kwargs=dict(kwargs) if kwargs else None, trigger=None, due_ms=None)
    if asked is not NOTHING:
        new.options, new.terms, new.entrance = asked.run, asked.terms, asked.entrance
        if asked.entrance.throttle_ms is not None or asked.entrance.debounce_ms is not None:
            new.entrance = replace(asked.entrance, window_key=asked.terms.unique_key or _window_key(new))
    return new


def _window_key(new: NewJob) -> str:
    """By what equal calls are known: function and arguments. Raises InvalidArguments."""
    said = wire.payload(cron="", job="", args=new.args, extra={"kwargs": new.kwargs or {}})
    return f"{new.fn} {sha1(said, usedforsecurity=False).hexdigest()}"


def as_job(new: NewJob, *, schedule: str, added: Added | None = None) -> Job:
    """The job as whoever adds it sees it: what became of it, or before that what will be added."""
    due_ms = new.due_ms if added is None else added.due_ms
    return Job(
        id="" if added is None else added.id,
        schedule=schedule,
        fn=new.fn,
        args=tuple(new.args),
        kwargs=new.kwargs,
        trigger=new.trigger,
        due=None if due_ms is None else datetime.fromtimestamp(due_ms / 1000, UTC),
        name=new.terms.name,
        new=added is None or added.new,
        options=new.options,
        terms=new.terms,
        replaced=None if added is None else added.replaced,
    )


def queued(new: NewJob, *, asked: Asked = NOTHING) -> NewJob:
    """The job to run at once, as a run of its own. Raises InvalidOptions for what only a time that recurs can have."""
    new.queued = True
    if asked is not NOTHING:
        _refuse_recurring(asked, "now")
    return new


def put_off(new: NewJob, *, now_ms: int) -> NewJob:
    """A job to run at once that was added with debounce: due when the window from now is over."""
    if (window := new.entrance.debounce_ms) is not None:
        new.queued, new.due_ms = False, now_ms + window
        # The second in which it ends. A later one is a second run to a foreign peer, which takes the job at its score.
        new.trigger = once(datetime.fromtimestamp(new.due_ms // 1000, UTC))
    return new


def timed(new: NewJob, when: When, *, now_ms: int, asked: Asked = NOTHING) -> NewJob:
    """The job at its time. Warns (WorkkitWarning) where that is likely not what was meant. Raises TriggerError;
    InvalidOptions for options that this time cannot have.
    """
    new.trigger, new.due_ms = _moment(when, now_ms)
    if asked is not NOTHING:
        _fit(new, when, asked, now_ms)
    _remark(new.trigger)
    return new


def _fit(new: NewJob, when: When, asked: Asked, now_ms: int) -> None:
    """Give the job the bounds and the spread that were asked for, or refuse what does not go with its time."""
    trigger = new.trigger
    assert trigger is not None, "it has been read"
    if asked.entrance.debounce_ms is not None:
        raise InvalidOptions(
            'debounce= with a time: the window says when it runs. Write at="now", or use schedule.add_now.'
        )
    if not trigger.recurs:
        return _refuse_recurring(asked, "once")
    if asked.start is not None or asked.end is not None:
        now = datetime.fromtimestamp(now_ms / 1000, UTC)
        trigger = between(trigger, start=asked.start, end=asked.end, now=now, tz=when.zone)
    offset = spread_offset_ms(new.terms, new.fn, new.args)
    new.trigger, new.due_ms = trigger, first_run(trigger, now_ms=now_ms, offset_ms=offset)
    return None


def _refuse_recurring(asked: Asked, runs: str) -> None:
    if asked.recurring:
        said = " and ".join(f"{name}=" for name in asked.recurring)
        only = "it" if len(asked.recurring) == 1 else "them"
        raise InvalidOptions(f"{said} with a job that runs {runs}: only one that recurs can have {only}. Give every=.")


def _remark(trigger: Trigger) -> None:
    for warning in trigger.warnings:
        warnings.warn(warning, WorkkitWarning, stacklevel=4)  # for whoever called the verb that called our caller


def _moment(when: When, now_ms: int) -> tuple[Trigger, int | None]:
    trigger = read_when(when, now=datetime.fromtimestamp(now_ms / 1000, UTC))
    return trigger, first_run(trigger, now_ms=now_ms, offset_ms=0)


_remembered = lru_cache(maxsize=1024)(_moment)  # rows of one batch share the present, and often their words


def read_row(row: Mapping[str, Any], *, default_tz: str, dialect: str, now_ms: int) -> NewJob:
    """One row of `add_many`: `fn` and `add`'s keywords. Rows of the same `now_ms` are read faster.

    Raises an `Invalid`.
    """
    if "fn" not in row:
        raise InvalidOptions("fn is missing. A row holds add's keywords and fn.", given=dict(row))
    options = {key: value for key, value in row.items() if key not in _NOT_OPTIONS}
    asked = read_options("add", options) if options else NOTHING
    at, in_, every, cron = map(row.get, ("at", "in_", "every", "cron"))
    new = call(row["fn"], args=row.get("args", ()), kwargs=row.get("kwargs"), asked=asked)
    if at == "now" and in_ is None and every is None and cron is None:  # the usual row of a bulk
        if asked is not NOTHING:
            return put_off(queued(new, asked=asked), now_ms=now_ms)
        new.queued = True
        return new
    when = When(at=at, in_=in_, every=every, cron=cron, tz=options.get("tz"), default_tz=default_tz, dialect=dialect)
    if when.is_now:
        return put_off(queued(new, asked=asked), now_ms=now_ms)
    try:
        new.trigger, new.due_ms = _remembered(when, now_ms)
    except TypeError:  # what cannot be looked up is refused, with the reason
        return timed(new, when, now_ms=now_ms, asked=asked)
    if asked is not NOTHING:
        _fit(new, when, asked, now_ms)
    _remark(new.trigger)
    return new


_NOT_OPTIONS = frozenset({"fn", *ARGUMENTS})


class Bulk:
    """Additions in batches: while some are on their way, the next is made. Leaving the block sends what is left and
    waits for all; after an error nothing more is sent.
    """

    def __init__(self, add: Callable[[Sequence[NewJob]], Callable[[], list[Added]]]) -> None:
        self._add = add
        self._batch: list[NewJob] = []
        self._on_their_way: deque[Callable[[], list[Added]]] = deque()
        self._new = self._known = 0

    @property
    def tally(self) -> Tally:
        """How many were new, and how many known, of those that have arrived."""
        return Tally(new=self._new, known=self._known)

    def put(self, new: NewJob) -> None:
        """Add one, sooner or later. Raises what an earlier batch met with."""
        self._batch.append(new)
        if len(self._batch) == CHUNK:
            self._send()

    def settled(self) -> int:
        """Wait for what is on its way; how many have arrived, without those of the batch in the making."""
        while self._on_their_way:
            self._arrive()
        return self._new + self._known

    def _send(self) -> None:
        while len(self._on_their_way) >= AT_ONCE:
            self._arrive()
        batch, self._batch = self._batch, []
        self._on_their_way.append(self._add(batch))

    def _arrive(self) -> None:
        added = self._on_their_way.popleft()()
        new = sum(1 for one in added if one.new)
        self._new, self._known = self._new + new, self._known + len(added) - new

    def __enter__(self) -> Bulk:
        return self

    def __exit__(self, kind: type[BaseException] | None, *_: object) -> None:
        try:
            if kind is None:
                if self._batch:
                    self._send()
                self.settled()
        finally:  # after an error: what is on its way arrives all the same
            for arrived in self._on_their_way:
                with suppress(WorkkitError):
                    arrived()
