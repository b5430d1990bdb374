"""A filter of jobs or runs, as a value: tests of their fields, all of which must match; and one page of the jobs of a
schedule, in their order, by a filter, within a time limit. Pure; the caller passes the time in.

`workkit.contract.filters` reads a filter from a text. For a caller who may not see an argument, the filter gets masked
jobs, so that it does not reveal the argument. A layout walks its jobs from a place on, and `read_page` takes as many as
the query asks for. A place is a text that only the layout reads.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from fnmatch import fnmatchcase
from typing import Final

from workkit.contract.history import LATE_MS, NO_RUN, Ended, PastRun
from workkit.errors import Ambiguous, InvalidOptions, NotFound
from workkit.jobs.job import SHORTEST_ID, Job, JobState, argument_text, argument_texts, searched_text
from workkit.jobs.names import shown
from workkit.text.cells import brief_repr
from workkit.text.wording import MILLISECOND


@dataclass(frozen=True, slots=True, kw_only=True)
class Has:
    """Some of these texts are in the field; letter case does not count, ``*`` matches any text. `whole`: the field
    is exactly one of them, in this letter case.
    """

    texts: tuple[str, ...]
    whole: bool = False

    def holds(self, value: str | float | None) -> bool:
        """Test the field of one job or run."""
        if value is None:
            return False
        known = str(value)
        if self.whole:
            return any(self._fits(known, text) for text in self.texts)
        return any(self._fits(known.casefold(), text.casefold()) for text in self.texts)

    def _fits(self, known: str, text: str) -> bool:
        if "*" in text:
            pattern = text.replace("[", "[[]").replace("?", "[?]")
            return fnmatchcase(known, pattern if self.whole else f"*{pattern}*")
        return known == text if self.whole else text in known


@dataclass(frozen=True, slots=True, kw_only=True)
class Between:
    """A number, or a duration in ms, lies between these bounds; `low_in`, `high_in`: the bound itself matches too."""

    low: float | None = None
    high: float | None = None
    low_in: bool = True
    high_in: bool = True

    def holds(self, value: str | float | None) -> bool:
        """Test the field of one job or run."""
        if value is None or isinstance(value, str):
            return False
        above = self.low is None or value > self.low or (self.low_in and value == self.low)
        return above and (self.high is None or value < self.high or (self.high_in and value == self.high))


@dataclass(frozen=True, slots=True, kw_only=True)
class Term:
    """One test of one field; `negated`: it must fail."""

    field: str
    test: Has | Between
    negated: bool = False

    __repr__ = brief_repr


_Field = str | float | None | tuple[str, ...]
"""The content of a field: a text, a number, nothing, or several texts of which one must match."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Where:
    """All terms of a filter, and the `texts` that must occur somewhere. Without any, everything matches."""

    terms: tuple[Term, ...] = ()
    texts: tuple[str, ...] = ()
    without: tuple[str, ...] = ()

    __repr__ = brief_repr

    @property
    def is_everything(self) -> bool:
        """Whether the filter is empty."""
        return not (self.terms or self.texts or self.without)

    @property
    def named(self) -> tuple[str, ...]:
        """The names, with ``*`` for any text, of which each matching job has one; empty: a job may have any name."""
        terms = (term for term in self.terms if term.field == "name" and not term.negated)
        return next((term.test.texts for term in terms if isinstance(term.test, Has)), ())

    @property
    def tagged(self) -> tuple[str, ...]:
        """The tags of which each matching job has one; empty: a job may have any tags, or none."""
        terms = (term.test for term in self.terms if term.field == "tag" and not term.negated)
        found = next((test.texts for test in terms if isinstance(test, Has)), ())
        return () if any("*" in text for text in found) else found

    @property
    def lookup(self) -> str | None:
        """The id or name that can be looked up instead of searched for; None if there is none."""
        for term in self.terms:
            if term.field in ("id", "name") and not term.negated and isinstance(term.test, Has):
                first, *others = term.test.texts
                if term.field == "id":
                    first = first.removesuffix("*")  # the beginning of an id is enough
                is_long = term.field == "name" or len(first) >= SHORTEST_ID
                if not others and "*" not in first and is_long:
                    return first
        return None

    def job(self, job: Job, *, now: datetime) -> bool:
        """Return whether a job matches."""
        return self._holds(_JOB, job, now, lambda: searched_text(job))

    def run(self, run: PastRun, *, now: datetime) -> bool:
        """Return whether a run matches."""
        return self._holds(_RUN, run, now, lambda: f"{shown(run.fn or '')} {run.name or ''} {run.error or ''}")

    def recurring(self, job: Job, runs: Sequence[PastRun], *, words: str, now: datetime) -> bool:
        """Return whether a recurring job matches. `runs`: its last 60, the last one first; `words`: its times."""
        row = Recurring(job=job, runs=runs)
        return self._holds(_RECURRING, row, now, lambda: f"{job.name or ''} {shown(job.fn)} {words}")

    def _holds(
        self, fields: Mapping[str, Callable[..., _Field]], of: object, now: datetime, text: Callable[[], str]
    ) -> bool:
        for term in self.terms:
            read = fields.get(term.field)
            found = None if read is None else read(of, now)
            values = found if isinstance(found, tuple) else (found,)
            if any(term.test.holds(value) for value in values) == term.negated:
                return False
        if not (self.texts or self.without):
            return True
        searched = text().casefold()
        return all(one.casefold() in searched for one in self.texts) and not any(
            one.casefold() in searched for one in self.without
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class Recurring:
    """A recurring job with its last runs, the last one first."""

    job: Job
    runs: Sequence[PastRun]


def _ahead(job: Job, now: datetime) -> float | None:
    return None if job.due is None else (job.due - now) / MILLISECOND


def _ago(at: datetime | None, now: datetime) -> float | None:
    return None if at is None else (now - at) / MILLISECOND


def _arguments(job: Job, now: datetime) -> str:
    return ", ".join(argument_texts(job))


def _argument(job: Job, now: datetime) -> tuple[str, ...]:
    """Write each argument in the forms that a filter may use: as JSON, a text without its quotes too, and with its
    name.
    """
    texts = [(value, argument_text(value)) for value in job.args]
    texts += [(value, argument_text(value)) for value in (job.kwargs or {}).values()]
    found = [one for value, text in texts for one in ((text, value) if isinstance(value, str) else (text,))]
    for name, value in (job.kwargs or {}).items():
        found += [f"{name}={argument_text(value)}", *([f"{name}={value}"] if isinstance(value, str) else [])]
    return tuple(found)


def _function(fn: str | None) -> tuple[str, ...]:
    """Write a function in the forms that a filter may use: as stored, as shown, as typed, and by some of its parts."""
    if fn is None:
        return ()
    parts = shown(fn).split(".")
    some = (".".join(parts[at:end]) for at in range(len(parts)) for end in range(at + 1, len(parts) + 1))
    return (fn, shown(fn), f"{'.'.join(parts[:-1])}:{parts[-1]}", *some)


def _endings(run: PastRun) -> tuple[str, ...]:
    """Name the ending of a run in all forms that a filter may use."""
    if run.ending == "done":
        return ("done", "late") if run.late_ms >= LATE_MS else ("done",)
    return {
        "retried": ("failed", "retried"),
        "dead": ("failed", "dead"),
        "skipped": ("left-out", "skipped"),
        "overlap": ("left-out", "overlap"),
    }.get(run.ending, (run.ending,))


_TROUBLES: Final[Mapping[Ended, tuple[str, ...]]] = {
    "retried": ("failing",),
    "dead": ("failing",),
    "missed": ("missed",),
}


def troubles(runs: Sequence[PastRun]) -> tuple[str, ...]:
    """Return the trouble of a recurring job by its last run: "failing", "late", "missed", or nothing. A run that a user
    skipped does not count. The last run is the first of `runs`.
    """
    last = next((run for run in runs if run.ending != "skipped"), None)
    if last is None:
        return ()
    if last.ending == "done":
        return ("late",) if last.late_ms >= LATE_MS else ()
    return _TROUBLES.get(last.ending, ())


def ran_last(runs: Sequence[PastRun]) -> PastRun | None:
    """Return the last occurrence that reached a handler. The last one is the first of `runs`."""
    return next((run for run in runs if run.ending not in NO_RUN), None)


def _last(row: Recurring, field: str) -> float | None:
    ran = ran_last(row.runs)
    return None if ran is None else float(getattr(ran, field))


_COMMON: Final[dict[str, Callable[..., _Field]]] = {
    "id": lambda job, now: (job.id, job.short_id),
    "name": lambda job, now: job.name,
    "fn": lambda job, now: _function(job.fn),
    "state": lambda job, now: job.state,
    "zone": lambda job, now: job.trigger.tz if job.trigger else None,
    "error": lambda job, now: job.error,
    "args": _arguments,
    "arg": _argument,
    "why": lambda job, now: job.why,
    "tag": lambda job, now: job.terms.tags or (),
    "batch": lambda job, now: job.terms.batch,
}
_JOB: Final[dict[str, Callable[..., _Field]]] = {
    **_COMMON,
    "due": _ahead,
    "next": _ahead,
    "died": lambda job, now: _ago(job.due, now) if job.state == "dead" else None,
    "attempt": lambda job, now: job.attempt + 1,
}
_RUN: Final[dict[str, Callable[..., _Field]]] = {
    "id": lambda run, now: run.id,
    "name": lambda run, now: run.name,
    "job": lambda run, now: tuple(one for one in (run.name, run.id) if one),
    "fn": lambda run, now: _function(run.fn),
    "ended": lambda run, now: _endings(run),
    "error": lambda run, now: run.error,
    "on": lambda run, now: run.listener,
    "late": lambda run, now: float(run.late_ms),
    "took": lambda run, now: float(run.took_ms),
    "ago": lambda run, now: _ago(run.ended, now),
    "attempt": lambda run, now: run.attempt + 1,
}
_RECURRING: Final[dict[str, Callable[..., _Field]]] = {
    **{name: (lambda row, now, read=read: read(row.job, now)) for name, read in _JOB.items()},
    "state": lambda row, now: (row.job.state, *troubles(row.runs)),
    "late": lambda row, now: _last(row, "late_ms"),
    "took": lambda row, now: _last(row, "took_ms"),
    "missed": lambda row, now: float(sum(run.ending == "missed" for run in row.runs)),
}


_STEP: Final = 50  # jobs to look at, at least, even if the time is over

Placed = tuple[Job, Callable[[], str]]
"""A job, and a function that writes the place behind it, where a next page begins."""


def _as_it_is(job: Job) -> Job:
    """Return the job itself, with nothing hidden."""
    return job


@dataclass(frozen=True, slots=True, kw_only=True)
class JobQuery:
    """A request for a page of jobs: `limit` at most, of a `state`, that match `where`, behind the place `after`.

    `see` turns a job into the form that the caller may see; the filter tests that form. The search ends after
    `budget_ms`.
    """

    state: JobState | None = None
    where: Where = field(default_factory=Where)
    after: str | None = None
    limit: int = 50
    budget_ms: float = 60.0
    see: Callable[[Job], Job] = _as_it_is

    __repr__ = brief_repr


@dataclass(frozen=True, slots=True, kw_only=True)
class JobPage:
    """Some jobs, as the caller may see them. `after`: where the next page begins; None: there is nothing more.
    `looked`: how many jobs were looked at; `until`: when the last of these is due. `cut`: why the layout looks no
    further.
    """

    jobs: tuple[Job, ...]
    after: str | None = None
    looked: int = 0
    until: datetime | None = None
    cut: str = ""

    __repr__ = brief_repr


def read_page(walk: Iterator[Placed], query: JobQuery, *, now: datetime, clock_s: Callable[[], float]) -> JobPage:
    """Take a page from a walk that begins behind `query.after`."""
    end_s = clock_s() + query.budget_ms / 1000
    found: list[Job] = []
    looked, until = 0, None
    for job, place in walk:
        looked += 1
        until = job.due or until
        if query.state in (None, job.state):
            seen = query.see(job)
            if query.where.job(seen, now=now):
                found.append(seen)
        if len(found) == query.limit or (looked % _STEP == 0 and clock_s() >= end_s):
            after = place()  # before the walk continues
            if next(walk, None) is None:
                return JobPage(jobs=tuple(found), looked=looked, until=until)
            return JobPage(jobs=tuple(found), after=after, looked=looked, until=until)
    return JobPage(jobs=tuple(found), looked=looked, until=until)


def looked_up(
    where: Where, find: Callable[[str], Job], *, state: JobState | None, now: datetime
) -> tuple[Job, ...] | None:
    """Find the one job that a filter names, of a state or of any; empty if there is none. None: the caller must search
    the jobs, because the filter names none or the beginning of several, or asks for dead jobs (one job may have many
    dead records).
    """
    if where.lookup is None or state == "dead":
        return None
    try:
        job = find(where.lookup)
    except Ambiguous:
        return None
    except NotFound:
        return ()
    return (job,) if state in (None, job.state) and where.job(job, now=now) else ()


def meant_jobs(jobs: Callable[..., Iterator[Job]], where: Where, *, now: Callable[[], datetime]) -> Iterator[Job]:
    """Yield the jobs that match. `jobs` is `Inspector.jobs`, perhaps of one state."""
    if where.is_everything:
        return jobs()
    asked = {"tagged": where.tagged} if where.tagged else {"named": where.named}
    at, found = now(), jobs(**asked)
    return (job for job in found if where.job(job, now=at))


def no_place(after: str) -> InvalidOptions:
    """Return the error for a text that is no place of a list."""
    remedy = "Begin at the first page: leave it out."
    return InvalidOptions.about(f'after="{after}"', "is no place in this list", remedy, where="after", given=after)
