"""What becomes of a recurring job's runs if something happens, as sentences: its options and the defaults. Pure.

What its function says by `@job` is known to listeners alone: where a job leaves something to it, the sentence says so.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime, tzinfo
from typing import Final

from workkit.jobs.admission import Control
from workkit.jobs.job import Job
from workkit.jobs.options import BY_NAME
from workkit.jobs.run_options import RunOptions
from workkit.jobs.terms import LATE_MS
from workkit.text.glance import moment
from workkit.text.wording import duration_text, plural
from workkit.web.words import pauses_text

MOST_PAUSES: Final = 4  # that are named; of more, how they grow

OVERLAP: Final = {
    "allow": "both run.",
    "skip": "leave this one out.",
    "queue": "wait until it has ended.",
    "cancel": "cancel the earlier run.",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Policy:
    """``If CASE: THEN rest``. `option` is its keyword; `is_default`: nobody has said it."""

    case: str
    then: str
    rest: str = ""
    option: str
    is_default: bool = False

    @property
    def says(self) -> str:
        """The whole sentence."""
        return f"{self.lead} {self.then}{self.rest}"

    @property
    def lead(self) -> str:
        """The case, with its colon, where the sentence does not just go on."""
        return self.case if self.case.endswith("than") else f"{self.case}:"


def policies(job: Job, control: Control, *, offset_ms: int, now: datetime, zone: tzinfo) -> list[Policy]:
    """Say what holds for a job: overlap, catch-up, attempts, timeout, limits, spread, bounds."""
    terms, options = job.terms, job.options
    overlap = terms.overlap or _default("overlap")
    return [
        Policy(
            case="its last run still goes on",
            then=OVERLAP.get(overlap, f"{overlap}."),
            option="overlap",
            is_default=terms.overlap is None,
        ),
        _catch_up(job),
        _retries(options),
        _crashes(options),
        _timeout(options),
        *_limits(control),
        *_rest(job, offset_ms),
        *_bounds(job, now, zone),
    ]


def _default(name: str) -> str:
    return BY_NAME[name].default.strip('"')


def _catch_up(job: Job) -> Policy:
    terms = job.terms
    policy, within = terms.catch_up or _default("catch_up"), terms.catch_up_within_ms
    if policy == "skip":
        then = f"leave out what is later than {duration_text(LATE_MS if within is None else within)}."
    else:
        how = "run every one of them, late" if policy == "all" else "run once, late"
        then = f"{how}." if within is None else f"{how}, but not after {duration_text(within)}."
    is_default = terms.catch_up is None and within is None
    return Policy(case="nobody listened when it was due", then=then, option="catch_up", is_default=is_default)


def _retries(options: RunOptions) -> Policy:
    case = "it fails"
    if options.retries is None:
        usual = int(_default("retries"))
        then = "as its function says;" if not usual else f"up to {usual} more attempts;"
        return Policy(case=case, then=then, rest=" if that says nothing, it is dead at once.", option="retries",
                      is_default=True)  # fmt: skip
    if not options.retries:
        return Policy(case=case, then="it is dead at once.", option="retries")
    then = f"up to {plural(options.retries, 'more attempt')}, {_pauses(options)};"
    return Policy(case=case, then=then, rest=" then it is dead.", option="retries")


def _crashes(options: RunOptions) -> Policy:
    case, most = "its listener dies in a run", options.crashes
    if most is None:
        then, rest = f"it begins again, up to {_default('crashes')} times;", " unless its function says otherwise."
        return Policy(case=case, then=then, rest=rest, option="crashes", is_default=True)
    if not most:
        return Policy(case=case, then="it is dead: it may have run.", option="crashes")
    then = f"it begins again, up to {plural(most, 'time')};"
    return Policy(case=case, then=then, rest=" then it is dead.", option="crashes")


def _pauses(options: RunOptions) -> str:
    """Say how long a job waits before its attempts. Without a word of the job, its function may say it."""
    said = f"after {pauses_text(options, most=MOST_PAUSES)}"
    return said if options.jitter is False else f"{said}, or up to half sooner"


def _timeout(options: RunOptions) -> Policy:
    if options.timeout_ms is None:
        rest = " unless its function has a timeout."
        return Policy(case="it takes long", then="it goes on,", rest=rest, option="timeout", is_default=True)
    then = f"{duration_text(options.timeout_ms)}:"
    return Policy(case="it takes longer than", then=then, rest=" end it.", option="timeout")


def _limits(control: Control) -> Iterator[Policy]:
    case = "many jobs run at once"
    if control.limit is None and control.turn_ms is None:
        then = "it starts at once,"
        yield Policy(case=case, then=then, rest=" unless its function has a limit.", option="limit", is_default=True)
    if control.limit is not None:
        yield Policy(case=case, then=f"at most {control.limit:,} of this schedule;", rest=" it waits.", option="limit")
    if control.turn_ms is not None:
        every = duration_text(control.turn_ms)
        yield Policy(case="many jobs start at once", then=f"one start every {every};", rest=" it waits.", option="rate")


def _rest(job: Job, offset_ms: int) -> Iterator[Policy]:
    terms = job.terms
    if terms.spread_ms:
        of = duration_text(terms.spread_ms)
        by = duration_text(offset_ms) if offset_ms else "nothing"
        case = "others are due at the same second"
        yield Policy(case=case, then=f"it is put off by {by},", rest=f" its part of {of}.", option="spread")
    if terms.priority:
        case = "other jobs are due too"
        yield Policy(case=case, then=f"it starts before those of priority below {terms.priority}.", option="priority")
    if terms.unique_key is not None:
        case = f'another job holds the unique key "{terms.unique_key}"'
        yield Policy(case=case, then="only one of them stands.", option="unique_key")
    if job.options.keep_ms is not None:
        then = f"its result is kept for {duration_text(job.options.keep_ms)}."
        yield Policy(case="it returns something", then=then, option="keep")
    if terms.ping is not None:
        yield Policy(case="it starts, succeeds or fails", then="a monitor is told.", option="ping")


def _bounds(job: Job, now: datetime, zone: tzinfo) -> Iterator[Policy]:
    trigger = job.trigger
    if trigger is not None and trigger.start is not None and trigger.start > now:
        at = moment(trigger.start, now, zone)
        yield Policy(case=f"it is not yet {at}", then="it does not run.", option="start")
    if trigger is not None and trigger.end is not None:
        at = moment(trigger.end, now, zone)
        yield Policy(case=f"it is {at} or later", then="it no longer runs.", option="end")
    if job.terms.count is not None:
        case = f"it has run {job.terms.count:,} times" if job.terms.count > 1 else "it has run once"
        yield Policy(case=case, then="that was its last run.", option="count")
