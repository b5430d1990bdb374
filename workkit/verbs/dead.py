"""The verbs `dead`, `retry` and `discard`. Dead jobs are selected, then put back or removed, page by page."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from datetime import datetime
from functools import partial
from itertools import islice
from typing import Any, TypeVar, assert_never

from workkit import wire
from workkit.brokers.layout import AT_ONCE, layout_of
from workkit.contract.admin import Arguments, Revival
from workkit.contract.broker import Admin, Inspector
from workkit.contract.filters import read_where
from workkit.contract.producer import MOST_BYTES, check_size
from workkit.contract.where import meant_jobs
from workkit.errors import CorruptRecord, InvalidArguments, InvalidFunction, InvalidOptions, NotFound, WorkkitError
from workkit.jobs.arguments import check_list
from workkit.jobs.job import Job
from workkit.jobs.names import is_plain, shown
from workkit.jobs.option_readers import turn_ms
from workkit.verbs.control import Which, read_tag
from workkit.verbs.creation import Schedule
from workkit.verbs.new_job import recalled
from workkit.verbs.opening import author_of, present, producer_of

SHORTEST = 6  # the fewest digits that select a job by its id

T = TypeVar("T")
Report = Callable[[int], object]
"""Called with the number of jobs that a long verb has finished so far."""


def dead(s: Schedule, which: Which | None = None, *, where: str | None = None, tag: str | None = None) -> list[Job]:
    """Find dead jobs, latest first; `which`, `where` and `tag` choose as in `retry`. Raises NotFound, InvalidOptions;
    Unsupported where jobs have no tags.
    """
    inspector, tag = producer_of(s).inspector, read_tag(layout_of(s.layout), tag)
    return chosen(inspector, schedule=s.name, which=which, where=where, tag=tag, now=partial(present, s))


def retry(
    s: Schedule,
    which: Which | None = None,
    *,
    where: str | None = None,
    tag: str | None = None,
    args: Sequence[Any] | Mapping[str, Any] | None = None,
    kwargs: Mapping[str, Any] | None = None,
    rate: str | None = None,
    by: str | None = None,
) -> int:
    """Put dead jobs back; their attempts count from the start. Returns how many.

    `which` is a name, an id, the beginning of one, or a Job. `where` is a filter as in `jobs`; a text without a
    qualifier may be a part of any field. `tag` takes the jobs with this tag. All that are given must hold; none means
    all. `args` makes a new job of each: a list replaces the
    positional arguments, a dictionary the named ones. `kwargs` does so too: it overrides single named arguments. All
    are checked before the first job is put back. `rate` ("100/minute", "3/10s") spreads them. `by`: as in `cancel`.
    Raises NotFound, InvalidOptions, InvalidArguments; CorruptRecord where the named job's record cannot be read.
    """
    pause_ms(rate)
    author, found = author_of(by), dead(s, which, where=where, tag=tag)
    return retry_dead(
        producer_of(s).admin.by(author), found, args=args, kwargs=kwargs, rate=rate, one=which is not None,
        most_bytes=s.max_payload, at_once=layout_of(s.layout).at_once,
    )  # fmt: skip


def discard(
    s: Schedule,
    which: Which | None = None,
    *,
    where: str | None = None,
    tag: str | None = None,
    by: str | None = None,
) -> int:
    """Remove dead jobs, chosen as in `retry`. `by`: as in `cancel`. Returns how many there were. Raises NotFound,
    InvalidOptions.
    """
    author = author_of(by)
    admin, found = producer_of(s).admin.by(author), dead(s, which, where=where, tag=tag)
    return discard_dead(admin, found, at_once=layout_of(s.layout).at_once)


def _quiet(_: int) -> None:
    """Report nothing."""


def chosen(
    inspector: Inspector,
    *,
    schedule: str,
    which: str | Job | None,
    where: str | None,
    tag: str | None = None,
    now: Callable[[], datetime],
    report: Report = _quiet,
) -> list[Job]:
    """Find dead jobs: one by name, by id, the beginning of one or a Job; those that match a filter or have a tag; or
    all.

    Latest first, each once; jobs that die during the reading are left out. A recurring job may be dead several times.
    `report` gets the number that were read so far. Raises NotFound where `which` names none, InvalidOptions for
    `where`.
    """
    meant = read_where(where, "dead", tag=tag)
    pages = meant_jobs(lambda **how: _counted(inspector.jobs(state="dead", **how), report), meant, now=now)
    found = list({(job.dead_id, job.due): job for job in pages}.values())  # a death during the reading shifts the pages
    found.sort(key=lambda job: job.due.timestamp() if job.due else 0.0, reverse=True)  # a queue has them oldest first
    return found if which is None else named_dead(found, which, schedule=schedule)


def named_dead(dead: Sequence[Job], which: str | Job, *, schedule: str) -> list[Job]:
    """Select the dead jobs that `which` names. Raises NotFound."""
    if isinstance(which, Job):
        mine = [job for job in dead if (job.dead_id == which.dead_id if which.dead_id else job.id == which.id)]
        if not mine:
            raise _absent(which.id, schedule)
        return mine
    if mine := [job for job in dead if job.id == which]:
        return mine
    if mine := [job for job in dead if which and job.name == which]:
        if (count := len({job.id for job in mine})) > 1:
            raise NotFound.about(f'"{which}"', f"is the name of {count:,} dead jobs; give an id", given=which)
        return mine
    alike = [job for job in dead if which and (job.id.startswith(which) or job.short_id.startswith(which))]
    count = len({job.id for job in alike})
    if count > 1:
        need = f"at least {SHORTEST}" if len(which) < SHORTEST else "more"
        trouble = f"is the beginning of {count:,} dead jobs; give {need} characters"
        raise NotFound.about(f'"{which}"', trouble, given=which)
    if alike and len(which) >= SHORTEST:
        return alike
    near = next(iter(alike), None) or next((job for job in dead if which and which in shown(job.fn)), None)
    raise _absent(which, schedule, near)


def _absent(which: str, schedule: str, near: Job | None = None) -> NotFound:
    nearest = f"{near.short_id} {shown(near.fn)}" if near else None
    remedy = f"Nearest: {nearest}. All: workkit dead {schedule}." if near else f"All: workkit dead {schedule}."
    subject = f'no dead job "{which}"'
    return NotFound.about(subject, f"in {schedule}", remedy, where=schedule, given=which, suggestion=nearest)


def retry_dead(
    admin: Admin,
    dead: Sequence[Job],
    *,
    args: Arguments | None,
    kwargs: Mapping[str, Any] | None = None,
    rate: str | None,
    one: bool,
    most_bytes: int = MOST_BYTES,
    at_once: int = AT_ONCE,
) -> int:
    """Put dead jobs back, oldest first; return how many. With `one`, raise for a job that cannot be put back.

    Raises InvalidOptions for `rate`, InvalidArguments for `args` and `kwargs`, CorruptRecord for a record that cannot
    be read.
    """
    revived = 0
    for job, answer in revive(admin, dead, args=args, kwargs=kwargs, rate=rate, most_bytes=most_bytes, at_once=at_once):
        if one and (refused := revival_refusal(job, answer)):
            raise refused
        revived += answer == "revived"
    return revived


def revive(
    admin: Admin,
    dead: Sequence[Job],
    *,
    args: Arguments | None,
    kwargs: Mapping[str, Any] | None = None,
    rate: str | None,
    most_bytes: int = MOST_BYTES,
    at_once: int = AT_ONCE,
) -> Iterator[tuple[Job, Revival]]:
    """Put dead jobs (latest first, as `chosen` finds them) back, oldest first, a page at a time while this is read.
    Yield each with the answer. Raises as `retry`, before the first job is put back.
    """
    every_ms, others = pause_ms(rate), None
    if args is not None or kwargs is not None:
        check_other(args, kwargs)
        others = [other_arguments(job, args=args, kwargs=kwargs, most_bytes=most_bytes) for job in reversed(dead)]
    for page in _pages(enumerate(reversed(dead)), 1 if others else at_once):
        delays = [round(place * every_ms) for place, _ in page] if every_ms else ()
        jobs, other = [job for _, job in page], others[page[0][0]] if others else None
        yield from zip(jobs, admin.retry(jobs, args=other, delays_ms=delays), strict=True)


def revival_refusal(job: Job, answer: Revival) -> WorkkitError | None:
    """Make the error for a job that was not put back; None for one that was."""
    name = f"{job.short_id} {shown(job.fn)}"
    match answer:
        case "revived":
            return None
        case "unreadable":
            trouble = "cannot be run again: its record cannot be read"
            return CorruptRecord.about(name, trouble, "Discard it.", given=job.id)
        case "waits":
            trouble = "was added anew meanwhile, and is not over"
            return InvalidOptions.about(name, trouble, "Retry this record of it then, or discard it.", given=job.id)
        case "unroutable":
            place = f"queue {job.queue} does" if job.queue else "its routing key leads to a queue that does"
            trouble = f"cannot run again: {place} not exist any more"
            return InvalidOptions.about(name, trouble, "Start a listener for it, and retry it then.", given=job.id)
        case "gone":
            return NotFound.about(name, "is not dead any more", given=job.id)
    assert_never(answer)


def discard_dead(admin: Admin, dead: Sequence[Job], *, report: Report = _quiet, at_once: int = AT_ONCE) -> int:
    """Remove dead jobs, oldest first; return how many there were. `report` gets the number so far, page by page. Each
    page has `at_once` jobs: see `Layout.at_once`.
    """
    count = done = 0
    for page in _pages(reversed(dead), at_once):
        count, done = count + admin.discard(page), done + len(page)
        report(done)
    return count


def pause_ms(rate: str | None) -> float:
    """Return the pause between two jobs, in ms, for a rate such as "100/minute"; 0 for None. Raises InvalidOptions."""
    return 0.0 if rate is None else turn_ms(rate)


def check_other(args: Any, kwargs: Any) -> None:
    """Refuse new arguments that are neither a list nor an object, or come twice. Raises InvalidArguments,
    InvalidOptions.
    """
    if args is not None and kwargs is not None:
        remedy = "Keep one: the other arguments of each job stay."
        raise InvalidOptions.about("args= and kwargs=", "were both given", remedy, where="kwargs", given=kwargs)
    where, given = ("args", args) if kwargs is None else ("kwargs", kwargs)
    if not isinstance(given, Mapping):
        if where == "args":
            check_list(args)
            return
        remedy = 'Write {"user": 42}.'
        raise InvalidArguments.about(f"kwargs={kwargs!r}", "is no object", remedy, where=where, given=given)
    if (name := next((name for name in given if not isinstance(name, str)), None)) is not None:
        trouble = "is not a text, and arguments are named by texts"
        raise InvalidArguments.about(f"{where}: {name!r}", trouble, 'Write {"user": 42}.', where=where, given=given)


def other_arguments(
    job: Job, *, args: Arguments | None, kwargs: Mapping[str, Any] | None, most_bytes: int = MOST_BYTES
) -> Arguments:
    """Return the new arguments of one dead job as JSON has them: `args`, or its own named ones with `kwargs` over them.
    Refuse those that its function does not accept, or that are too large. Raises InvalidArguments.
    """
    args = args if kwargs is None else {**(job.kwargs or {}), **kwargs}
    assert args is not None, "one of both"
    with suppress(InvalidFunction):  # an unreadable record: `revive` reports it
        if isinstance(args, Mapping):
            args = recalled(job, kwargs=args, plain=is_plain(job.fn)).kwargs or {}
        else:
            args = recalled(job, args=args, plain=is_plain(job.fn)).args
    check_size(wire.json_text(args), fn=job.fn, most=most_bytes, given=args)
    return args


def _counted(jobs: Iterable[Job], report: Report) -> Iterator[Job]:
    for count, job in enumerate(jobs, 1):
        report(count)
        yield job


def _pages(of: Iterable[T], size: int) -> Iterator[list[T]]:
    rest = iter(of)
    while page := list(islice(rest, size)):
        yield page
