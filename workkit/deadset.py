"""What stands in the dead set, chosen, and put back or forgotten, page by page."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from itertools import islice
from typing import Any, TypeVar

from workkit.broker import Inspector
from workkit.errors import CorruptRecord, InvalidArguments, InvalidOptions, NotFound
from workkit.jobs.job import Job, matches
from workkit.jobs.names import shown

PAGE = 500
SHORTEST = 6  # digits of an id that stand for the whole
_RATE = re.compile(r"\s*(\d{1,6})\s*(?:/|per)\s*(s|sec|second|m|min|minute|h|hour|d|day)\s*", re.IGNORECASE)
_UNITS = {"s": 1_000, "m": 60_000, "h": 3_600_000, "d": 86_400_000}

T = TypeVar("T")


def chosen(inspector: Inspector, *, schedule: str, which: str | Job | None, where: str | None) -> list[Job]:
    """The dead jobs that are meant: one by id, the beginning of one or a Job; those with a text; or all.

    A recurring job may be dead several times over. Raises NotFound where `which` names none.
    """
    found = [job for job in inspector.jobs(state="dead") if where is None or matches(job, where)]
    if which is None:
        return found
    if isinstance(which, Job):
        mine = [job for job in found if (job.dead_id == which.dead_id if which.dead_id else job.id == which.id)]
        which = which.id
    else:
        mine = [job for job in found if job.id == which or (len(which) >= SHORTEST and job.id.startswith(which))]
    if len({job.id for job in mine}) > 1:
        raise NotFound(
            f'"{which}" is the beginning of {len({job.id for job in mine})} dead jobs; give more characters.',
            given=which,
        )
    if not mine:
        near = next((job for job in found if job.id.startswith(which) or which in shown(job.fn)), None)
        hint = f" Nearest: {near.id[:8]} {shown(near.fn)}." if near else ""
        raise NotFound(f'no dead job "{which}" in {schedule}.{hint} All: workkit dead {schedule}.', given=which)
    return mine


def retry(inspector: Inspector, dead: Sequence[Job], *, args: Sequence[Any] | None, rate: str | None, one: bool) -> int:
    """Put dead jobs back, oldest first; how many were. With `one`, what cannot be put back raises.

    Raises InvalidOptions for `rate`, InvalidArguments for `args`, CorruptRecord for a record that cannot be read.
    """
    every_ms = read_rate(rate)
    if args is not None:
        _check_args(args, dead)
    revived = 0
    queue = enumerate(reversed(dead))
    for page in _pages(queue):
        delays = [round(place * every_ms) for place, _ in page] if every_ms else ()
        answers = inspector.retry([job for _, job in page], args=args, delays_ms=delays)
        revived += sum(answer == "revived" for answer in answers)
        if one:
            for (_, job), answer in zip(page, answers, strict=True):
                _refuse(job, answer)
    return revived


def discard(inspector: Inspector, dead: Sequence[Job]) -> int:
    """Forget dead jobs; how many there were."""
    return sum(inspector.discard(page) for page in _pages(dead))


def read_rate(rate: str | None) -> float:
    """The pause in ms between two jobs at a rate such as "100/minute"; 0 for none. Raises InvalidOptions."""
    if rate is None:
        return 0.0
    found = _RATE.fullmatch(str(rate))
    if found is None or int(found[1]) == 0:
        raise InvalidOptions(
            f'rate={rate!r} is not a rate. Write "100/minute"; units: second, minute, hour, day.', given=rate
        )
    return _UNITS[found[2][0].lower()] / int(found[1])


def _check_args(args: Sequence[Any], dead: Sequence[Job]) -> None:
    if isinstance(args, str | bytes) or not isinstance(args, Sequence):
        raise InvalidArguments(f"args={args!r} is not a list. Write args=[{args!r}].", given=args)
    if len(dead) != 1:
        raise InvalidOptions(
            f"args= was given for {len(dead)} dead jobs; they belong to one. Name it: retry(s, job, args=[...]).",
            given=args,
        )


def _refuse(job: Job, answer: str) -> None:
    name = f"{job.id[:8]} {shown(job.fn)}"
    if answer == "unreadable":
        raise CorruptRecord(f"{name} cannot be run again: its record cannot be read. Discard it.", given=job.id)
    if answer == "waits":
        raise InvalidOptions(f"{name} was added anew meanwhile, and waits. Discard this record of it.", given=job.id)
    if answer == "gone":
        raise NotFound(f"{name} is not dead any more.", given=job.id)


def _pages(of: Iterable[T]) -> Iterator[list[T]]:
    rest = iter(of)
    while page := list(islice(rest, PAGE)):
        yield page
