"""The verbs `dead`, `retry` and `discard`. Dead jobs are selected, then put back or removed, page by page."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from datetime import datetime
from functools import partial
from itertools import islice
from typing import Any, TypeVar, assert_never, cast

from workkit import wire
from workkit.brokers.layout import AT_ONCE, layout_of
from workkit.contract.admin import Arguments, Revival
from workkit.contract.broker import Admin, Inspector
from workkit.contract.filters import read_where
from workkit.contract.producer import MOST_BYTES, check_size
from workkit.contract.where import meant_jobs
from workkit.errors import (
    CorruptRecord,
    InvalidArguments,
    InvalidFunction,
    InvalidOptions,
    NotFound,
    WorkkitError,
    located,
)
from workkit.jobs.arguments import check_list
from workkit.jobs.call import Precedent
from workkit.jobs.job import Job, call_text
from workkit.jobs.names import is_plain, shown
from workkit.jobs.option_readers import lifter_trouble, option_error, turn_ms
from workkit.verbs.control import Which, read_tag
from workkit.verbs.creation import Schedule
from workkit.verbs.new_job import recalled
from workkit.verbs.opening import author_of, groups_of, members_of, present, producer_of

SHORTEST = 6  # the fewest digits that select a job by its id

UNREAD = "?"  # the function of a dead job with an unreadable record

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
    which: Which | Precedent | None = None,
    *,
    where: str | None = None,
    tag: str | None = None,
    follow: bool = False,
    args: Sequence[Any] | Mapping[str, Any] | None = None,
    kwargs: Mapping[str, Any] | None = None,
    map: Callable[..., Any] | None = None,
    rate: str | None = None,
    by: str | None = None,
) -> int:
    """Put dead jobs back; their attempts count from the start. Returns how many.

    `which` is a name, an id, the beginning of one, a Job, or a batch: all its dead jobs. `where` is a
    filter as in `jobs`; a text without a qualifier may be a part of any field. `tag` takes the jobs with this tag. All
    that are given must hold; none means all. With `follow`, what runs after the batch runs again when these jobs have
    ended, under another id. `args` makes a new job of each: a list replaces the positional arguments, a dictionary the
    named ones. `kwargs` does so too: it overrides single named arguments. `map` is a function that is called with the
    arguments of each job, and returns those of the new one: a tuple by position, or a dictionary by name. All are
    checked before the first job is put back. `rate` ("100/minute", "3/10s") spreads them. `by`: as in `cancel`.
    Raises NotFound, InvalidOptions, InvalidArguments; CorruptRecord where the named job's record cannot be read.
    """
    pause_ms(rate)
    author, batch = author_of(by), getattr(which, "before", None)
    if follow and batch is None:
        trouble, remedy = "without a batch: it repeats what follows one", "Write retry(batch, follow=True)."
        raise option_error("follow", follow, trouble, remedy)
    if batch is None:
        found = dead(s, cast("Which | None", which), where=where, tag=tag)
    else:
        group = groups_of(s).group(batch.of)
        if follow and group.then is None:
            trouble, remedy = "was made without then=: nothing follows it", "Leave out follow=."
            raise InvalidOptions.about(f'batch "{batch.of}"', trouble, remedy, where="follow", given=follow)
        of_it = {one.name.partition("@")[0] for one in members_of(s, group, "dead")}
        found = [job for job in dead(s, where=where, tag=tag) if job.id in of_it]
    revived = retry_dead(
        producer_of(s).admin.by(author), found, args=args, kwargs=kwargs, map=map, rate=rate,
        one=which is not None and batch is None, most_bytes=s.max_payload, at_once=layout_of(s.layout).at_once,
    )  # fmt: skip
    if batch is not None and follow and revived:
        groups_of(s).follow(batch.of)
    return revived


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
    map: Callable[..., Any] | None = None,
    rate: str | None,
    one: bool,
    most_bytes: int = MOST_BYTES,
    at_once: int = AT_ONCE,
) -> int:
    """Put dead jobs back, oldest first; return how many. With `one`, raise for a job that cannot be put back.

    Raises InvalidOptions for `rate`, InvalidArguments for `args`, `kwargs` and `map`, CorruptRecord for a record that
    cannot be read.
    """
    check_other(args, kwargs, map)
    others, revived = None, 0
    if (args, kwargs, map) != (None, None, None):
        others = []
        for job in dead:
            try:
                others.append(other_arguments(job, args=args, kwargs=kwargs, map=map, most_bytes=most_bytes))
            except InvalidArguments as misfit:
                raise misfit if map is None else at_job(job, misfit) from misfit.__cause__
    for job, answer in revive(admin, dead, others=others, whole=map is not None, rate=rate, at_once=at_once):
        if one and (refused := revival_refusal(job, answer)):
            raise refused
        revived += answer == "revived"
    return revived


def revive(
    admin: Admin,
    dead: Sequence[Job],
    *,
    others: Sequence[Arguments] | None = None,
    whole: bool = False,
    rate: str | None,
    at_once: int = AT_ONCE,
) -> Iterator[tuple[Job, Revival]]:
    """Put dead jobs (latest first, as `chosen` finds them) back, oldest first, a page at a time while this is read.
    Yield each with the answer. `others`: the new arguments of each, of `other_arguments`; `whole`: see `Admin.retry`.
    Raises InvalidOptions for `rate`, before the first job is put back.
    """
    every_ms, how = pause_ms(rate), {"whole": True} if whole else {}
    for page in _pages(enumerate(reversed(dead)), 1 if others else at_once):
        delays = [round(place * every_ms) for place, _ in page] if every_ms else ()
        jobs, other = [job for _, job in page], others[-1 - page[0][0]] if others else None
        yield from zip(jobs, admin.retry(jobs, args=other, delays_ms=delays, **how), strict=True)


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


def check_other(args: Any, kwargs: Any, map: Any = None) -> None:
    """Refuse new arguments that are neither a list nor an object, or come twice, and a `map` that cannot be called.
    Raises InvalidArguments, InvalidOptions.
    """
    given = [(name, value) for name, value in (("args", args), ("kwargs", kwargs), ("map", map)) if value is not None]
    if len(given) > 1:
        names, (where, value) = " and ".join(f"{name}=" for name, _ in given), given[-1]
        remedy = "Keep one: the other arguments of each job stay."
        raise InvalidOptions.about(names, "were both given", remedy, where=where, given=value)
    if map is not None and (trouble := lifter_trouble(map)):
        raise option_error("map", map, trouble, "Write map=from_v1.")
    if not given or map is not None:
        return
    ((where, value),) = given
    if not isinstance(value, Mapping):
        if where == "args":
            check_list(args)
            return
        remedy = 'Write {"user": 42}.'
        raise InvalidArguments.about(f"kwargs={kwargs!r}", "is no object", remedy, where=where, given=value)
    if (name := next((name for name in value if not isinstance(name, str)), None)) is not None:
        trouble = "is not a text, and arguments are named by texts"
        raise InvalidArguments.about(f"{where}: {name!r}", trouble, 'Write {"user": 42}.', where=where, given=name)


def other_arguments(
    job: Job,
    *,
    args: Arguments | None,
    kwargs: Mapping[str, Any] | None,
    map: Callable[..., Any] | None = None,
    most_bytes: int = MOST_BYTES,
) -> Arguments:
    """Return the new arguments of one dead job as JSON has them: `args`, or its own named ones with `kwargs` over them,
    or what `map` makes of its own. Refuse those that its function does not accept, or that are too large. Raises
    InvalidArguments.
    """
    kept: tuple[Any, ...] | None = None  # its arguments by position that stay; None: all
    if map is not None:
        if job.fn == UNREAD:
            return ()  # `revive` reports it
        from workkit.jobs.lifting import mapped

        given, named = mapped(map, (job.args, job.kwargs))
        kept, args = (), given if named is None else named
    elif kwargs is not None:
        args = {**(job.kwargs or {}), **kwargs}
    assert args is not None, "one of the three"
    with suppress(InvalidFunction):  # an unreadable record: `revive` reports it
        if isinstance(args, Mapping):
            args = recalled(job, args=kept, kwargs=args, plain=is_plain(job.fn)).kwargs or {}
        else:
            args = recalled(job, args=args, kwargs=None if kept is None else {}, plain=is_plain(job.fn)).args
    check_size(wire.json_text(args), fn=job.fn, most=most_bytes, given=args)
    return args


def at_job(job: Job, misfit: InvalidArguments) -> InvalidArguments:
    """Put a dead job before the sentence about its new arguments: they differ from job to job."""
    return located(misfit, f"{job.short_id} {call_text(job)}")


def _counted(jobs: Iterable[Job], report: Report) -> Iterator[Job]:
    for count, job in enumerate(jobs, 1):
        report(count)
        yield job


def _pages(of: Iterable[T], size: int) -> Iterator[list[T]]:
    rest = iter(of)
    while page := list(islice(rest, size)):
        yield page
