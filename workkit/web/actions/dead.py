"""Acts on dead jobs: retry, try one first, discard, change arguments; and stop work in the background."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Final

from workkit import schedule
from workkit.contract.admin import Arguments
from workkit.contract.filters import read_filter
from workkit.errors import ChangedMeanwhile, Invalid, InvalidArguments, InvalidOptions, NotFound, WorkkitError
from workkit.jobs.arguments import check_known
from workkit.jobs.job import Job
from workkit.jobs.option_readers import turn_ms
from workkit.text.masked_text import MASK
from workkit.text.wording import plural
from workkit.verbs.dead import discard_dead, other_arguments, revival_refusal, revive
from workkit.web.actions.action import Act, Doing, Done, Order, Result, called
from workkit.web.actions.editing import known_here
from workkit.web.works import Work

DIRECTLY: Final = 500  # jobs put back before the answer; a thread puts larger numbers back in portions
PORTION_MS: Final = 10_000
HELD_S: Final = 10.0
"""Delay of a discard in s. Until then it can be undone."""

MANY: Final = 100
"""To discard more jobs than this, the user types their number."""

GROUP: Final = ("print", "count", "upto", "q")


def retry(doing: Doing, order: Order) -> Result:
    """Put dead jobs back: at once, or at a rate, in portions of 10 s."""
    rate = order.fields.get("rate")
    per_ms = turn_ms(rate) if rate else 0.0
    dead, refused = _chosen(doing, order)
    if not dead:
        return Result(done=(), lines=() if refused else ("Nothing to retry: none of them is dead any more.",),
                      refused=refused)  # fmt: skip
    if not per_ms and len(dead) <= DIRECTLY:
        errors = _revive(doing, dead)
        _forget(doing, dead, errors)
        done = [job for job, error in zip(dead, errors, strict=True) if error is None]
        refused += tuple((job.id, error) for job, error in zip(dead, errors, strict=True) if error is not None)
        said = called(done[0]) if len(done) == 1 else f"{len(done):,}"
        return Result(done=tuple(job.id for job in done), lines=(f"Retried {said}.",) if done else (), refused=refused)
    pace = _pace(rate) if rate else ""
    work = Work(schedule=doing.schedule, kind="retry", total=len(dead), print=order.fields.get("print", ""),
                pace=pace, per_ms=per_ms)  # fmt: skip
    doing.works.start(work, lambda one: _put_back(doing, one, dead, rate))
    said = f"Retrying {len(dead):,}" + (f" at {pace}" if pace else "")
    return Result(done=tuple(job.id for job in dead[:DIRECTLY]), lines=(f"{said}.",), refused=refused,
                  undo=(Order(verb="stop", fields={"work": work.id}),), work=work.id)  # fmt: skip


def _put_back(doing: Doing, work: Work, dead: Sequence[Job], rate: str | None) -> None:
    """Put jobs back, oldest first: those due within 10 s; then wait for that time."""
    size = max(1, int(PORTION_MS / work.per_ms)) if work.per_ms else DIRECTLY
    oldest_first = sorted(dead, key=lambda job: job.due.timestamp() if job.due else 0.0)
    for start in range(0, len(oldest_first), size):
        portion = oldest_first[start : start + size]
        errors = _revive(doing, portion, rate=rate)
        back = sum(error is None for error in errors)
        work.given += back
        work.refused += len(portion) - back
        work.hold(back)
        _forget(doing, portion, errors)
        if work.wait(len(portion) * work.per_ms / 1000):
            return


def _revive(
    doing: Doing, dead: Sequence[Job], *, args: Arguments | None = None, rate: str | None = None
) -> list[WorkkitError | None]:
    """Put dead jobs back, at a rate, one of them perhaps with other arguments. Return the error for each refused job,
    and None for the others.
    """
    latest_first = sorted(dead, key=lambda job: job.due.timestamp() if job.due else 0.0, reverse=True)
    others = None
    if args is not None:
        most = doing.s.max_payload
        others = [other_arguments(job, args=args, kwargs=None, most_bytes=most) for job in latest_first]
    found = revive(doing.admin, latest_first, others=others, rate=rate)
    refusals = {job.dead_id: revival_refusal(job, answer) for job, answer in found}
    return [refusals[job.dead_id] for job in dead]


def try_one(doing: Doing, order: Order) -> Result:
    """Put back the job that died last, and follow its run."""
    dead, refused = _chosen(doing, order)
    if not dead:
        return Result(done=(), lines=() if refused else ("Nothing to try: none of them is dead any more.",),
                      refused=refused)  # fmt: skip
    grave = doing.dead.of_key(dead[0].dead_id or "")
    begun_ms = doing.inspector.pulse().now_ms
    (error,) = _revive(doing, dead[:1])
    _forget(doing, dead[:1], [error])
    if error is not None:
        return Result(done=(), lines=(), refused=((dead[0].id, error),))
    work = Work(
        schedule=doing.schedule,
        kind="try",
        total=len(dead),
        print=order.fields.get("print", "") if grave is None else grave.print,
        job_id=dead[0].id,
        job=called(dead[0]),
        begun_ms=begun_ms,
    )
    doing.works.keep(work)
    left = len(dead) - 1
    others = "" if not left else "; the other stays as it is" if left == 1 else f"; the other {left:,} stay as they are"
    return Result(done=(dead[0].id,), lines=(f"Trying {called(dead[0])} first{others}.",), work=work.id)


def discard(doing: Doing, order: Order) -> Result:
    """Delete dead jobs after 10 s, in which the act can be undone."""
    dead, refused = _chosen(doing, order)
    if not dead:
        return Result(done=(), lines=() if refused else ("Nothing to discard: none of them is dead any more.",),
                      refused=refused)  # fmt: skip
    typed, count = order.fields.get("typed", ""), order.fields.get("count", f"{len(dead)}")
    if len(dead) > MANY and typed.replace(",", "").strip() != count:
        trouble = f"is not the number of jobs that would be discarded, {int(count):,}"
        raise InvalidOptions.about(f'typed="{typed}"', trouble, f"Type {count}.", where="typed", given=typed)
    work = Work(schedule=doing.schedule, kind="discard", total=len(dead), print=order.fields.get("print", ""),
                held_s=HELD_S)  # fmt: skip
    doing.works.start(work, lambda one: _held_back(doing, one, dead))
    return Result(done=tuple(job.id for job in dead[:DIRECTLY]), refused=refused, work=work.id,
                  lines=(f"Discarding {len(dead):,} in {HELD_S:g} s.",),
                  undo=(Order(verb="stop", fields={"work": work.id}),))  # fmt: skip


def _held_back(doing: Doing, work: Work, dead: Sequence[Job]) -> None:
    if work.wait(work.held_s):
        return
    for start in range(0, len(dead), DIRECTLY):
        portion = dead[start : start + DIRECTLY]
        stood = discard_dead(doing.admin, portion)
        work.given += stood
        work.refused += len(portion) - stood
        _forget(doing, portion)
        if work.stop.is_set():
            return


def change_arguments(doing: Doing, order: Order, which: str | None) -> Done:
    """Put one dead job back as a new job with other arguments."""
    assert which is not None, "it was checked"
    written = order.fields.get("args", "")
    try:
        args = json.loads(written)
    except (ValueError, RecursionError) as wrong:
        remedy = 'Write a list, ["tracy@domain.com"], or an object of those that are given by name.'
        position = getattr(wrong, "pos", None)
        raise InvalidArguments.about("args", f"is no JSON: {wrong}", remedy, where="args", given=written[:1000],
                                     position=position) from None  # fmt: skip
    if MASK in written:
        raise InvalidArguments.about("args", f"has a hidden value, {MASK}", "Write the value itself.", where="args",
                                     given=written[:1000])  # fmt: skip
    if not isinstance(args, list | dict):
        remedy = 'Write a list, ["tracy@domain.com"], or an object of those that are given by name.'
        raise InvalidArguments.about("args", "is neither a list nor an object", remedy, where="args",
                                     given=written[:1000])  # fmt: skip
    dead = _named(doing, which)
    for job in dead[:1]:
        other = {"args": job.args, "kwargs": args} if isinstance(args, dict) else {"args": args, "kwargs": job.kwargs}
        check_known(known_here(doing, job.fn), **other)
    (error, *_) = _revive(doing, dead, args=args)
    if error is not None:
        raise error
    _forget(doing, dead)
    return Done(f"Runs {called(dead[0])} with other arguments, as a new job.")


def stop(doing: Doing, order: Order, _: str | None) -> Done:
    """Stop work in the background. The jobs that it has not reached stay as they are."""
    work = doing.works.find(order.fields.get("work", ""))
    if work is None or work.schedule != doing.schedule:
        raise NotFound.about("this work", "is over, or was begun by another process")
    if work.is_over:
        return Done(work.line)
    work.stop.set()
    if work.kind == "discard" and not work.given:
        return Done(f"Left {work.total:,} as they are.")
    return Done(f"Stopped: {work.given:,} of {work.total:,} {'retried' if work.kind == 'retry' else 'discarded'}; "
                f"{work.total - work.given:,} left as they are.")  # fmt: skip


ACTS: Final[Mapping[str, Act]] = {
    "retry": Act(role="operator", needs="job or group", fields=(*GROUP, "rate"), together=retry),
    "try": Act(role="operator", needs="job or group", fields=GROUP, together=try_one),
    "discard": Act(role="editor", needs="job or group", fields=(*GROUP, "typed"), together=discard),
    "change-arguments": Act(role="editor", fields=("args",), one=change_arguments),
    "stop": Act(role="operator", needs="schedule", fields=("work",), one=stop),
}


def _chosen(doing: Doing, order: Order) -> tuple[list[Job], tuple[tuple[str, WorkkitError], ...]]:
    """Find the dead jobs of an order, latest first, each once. Return also the reason for each missing one."""
    found: dict[str, Job] = {}
    refused: list[tuple[str, WorkkitError]] = []
    for which in order.which:
        try:
            found |= {job.dead_id or job.id: job for job in _named(doing, which)}
        except (NotFound, Invalid) as error:
            refused.append((which, error))
    if not order.which:
        found = {job.dead_id or job.id: job for job in _group(doing, order.fields)}
    dead = sorted(found.values(), key=lambda job: job.due.timestamp() if job.due else 0.0, reverse=True)
    return dead, tuple(refused)


def _named(doing: Doing, which: str) -> list[Job]:
    grave = doing.dead.of_key(which)
    return schedule.dead(doing.s, which) if grave is None else [grave.job]


def _group(doing: Doing, fields: Mapping[str, str]) -> list[Job]:
    """Find the jobs that died of one error, up to the last one that the user saw. Raises ChangedMeanwhile where there
    are more than the user saw.
    """
    count, upto = _number(fields, "count"), _number(fields, "upto")
    if count is None:
        raise InvalidOptions.about("count", "is not given", "Say how many are meant.", where="count")
    where = read_filter(fields.get("q", ""), "dead")
    pulse = doing.inspector.pulse()
    known = doing.dead.look(doing.inspector, count=pulse.counts.dead)
    found = [
        grave.job
        for grave in known.dead_jobs
        if grave.print == fields["print"]
        and (upto is None or grave.died_ms <= upto)
        and where.job(grave.job, now=doing.now)
    ]
    if len(found) > count:
        raise ChangedMeanwhile.about(
            plural(len(found), "dead job"), f"have this error now, and {count:,} were seen", "Load the page again.",
        )  # fmt: skip
    return found


def _number(fields: Mapping[str, str], name: str) -> int | None:
    text = fields.get(name, "")
    if not text:
        return None
    if not (text.isascii() and text.isdigit() and len(text) < 16):
        raise InvalidOptions.about(f'{name}="{text[:100]}"', "is not a whole number", where=name, given=text[:100])
    return int(text)


def _forget(doing: Doing, dead: Sequence[Job], errors: Sequence[WorkkitError | None] = ()) -> None:
    """Remove jobs from the index that are no longer dead."""
    stays = [error is not None and not isinstance(error, NotFound) for error in errors] or [False] * len(dead)
    doing.dead.left([job.dead_id or job.id for job, is_dead in zip(dead, stays, strict=True) if not is_dead])


def _pace(rate: str) -> str:
    """Write a rate in words: ``10 a second``."""
    count, slash, period = rate.partition("/")
    return f"{count.strip()} a {period.strip()}" if slash and not period.strip()[:1].isdigit() else rate
