"""An act on all jobs that a list means: those of a filter, not only those of one page of it."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from typing import Final, cast

from workkit.contract.filters import read_filter
from workkit.contract.job_page import JobQuery
from workkit.errors import ChangedMeanwhile, InvalidOptions, Unsupported
from workkit.jobs.job import STATES, JobState
from workkit.text.listing import plural
from workkit.web.acts.act import Doing, Order, Result
from workkit.web.background.works import Work
from workkit.web.recurring.rows import SHOWS, Standing, asked_for

FIELDS: Final = ("all", "q", "show", "state", "seen", "typed")
LISTS: Final = ("recurring", "jobs")

PORTION: Final = 500
"""So many are acted on before the answer; of more, a thread takes portions."""

MOST: Final = 10_000
LOOK_S: Final = 5.0
MANY: Final = 100
"""To cancel more than so many, one types the number."""

WORDS: Final = {"pause": "Pausing", "resume": "Resuming", "run": "Running", "skip": "Skipping", "cancel": "Cancelling"}

Each = Callable[[Doing, Order], Result]
"""Carries out an act on the jobs that an order names."""


def all_of(doing: Doing, order: Order, each: Each, did: str) -> Result:
    """Find all jobs that the order's list has, and act on each. Raises ChangedMeanwhile where there are more than were
    seen, InvalidOptions for what cannot be meant.
    """
    found = _keys(doing, order)
    if not found:
        return Result(done=(), lines=("No job matches any more.",))
    _check(order, len(found))
    fields = {name: value for name, value in order.fields.items() if name not in FIELDS}
    if len(found) <= PORTION:
        return each(doing, replace(order, which=tuple(found), fields=fields))
    work = Work(schedule=doing.schedule, kind="all", total=len(found), words=(WORDS[order.verb], did))

    def run(work: Work) -> None:
        for start in range(0, len(found), PORTION):
            portion = each(doing, replace(order, which=tuple(found[start : start + PORTION]), fields=fields))
            work.given += len(portion.done)
            work.refused += len(portion.refused)
            if portion.refused and not work.trouble:
                work.trouble = f"One of them: {portion.refused[0][1]}"
            if work.stop.is_set():
                return

    doing.works.start(work, run)
    return Result(
        done=tuple(found[:PORTION]), lines=(f"{WORDS[order.verb]} {len(found):,}.",), work=work.id,
        undo=(Order(verb="stop", fields={"work": work.id}),),
    )  # fmt: skip


def _check(order: Order, n: int) -> None:
    seen, typed = (order.fields.get(name, "").replace(",", "").strip() for name in ("seen", "typed"))
    if seen and (not (seen.isascii() and seen.isdigit()) or n > int(seen)):
        raise ChangedMeanwhile.about(plural(n, "job"), f"match now, and {seen[:20]} were seen", "Load the page again.")
    if order.verb == "cancel" and n > MANY and typed != f"{n}":
        trouble = f"is not the number of jobs that would be cancelled, {n:,}"
        raise InvalidOptions.about(f'typed="{typed[:100]}"', trouble, f"Type {n}.", where="typed", given=typed[:100])


def _keys(doing: Doing, order: Order) -> Sequence[str]:
    """Name all jobs of the list, as its page has them."""
    chosen, q = order.fields["all"], order.fields.get("q", "").strip()
    if chosen not in LISTS:
        accepted = ", ".join(LISTS)
        raise InvalidOptions.about(f'all="{chosen[:100]}"', "is no list", f"Accepted: {accepted}.", accepted=accepted)
    found = list(dict.fromkeys(_recurring(doing, order, q) if chosen == "recurring" else _jobs(doing, order, q)))
    if len(found) > MOST:
        raise InvalidOptions.about("this list", f"has more than {MOST:,} jobs", "Filter it.", where="all")
    return found


def _recurring(doing: Doing, order: Order, q: str) -> Iterator[str]:
    show = _one_of(order, "show", SHOWS)
    jobs = tuple(doing.inspector.recurring())
    try:
        standing = Standing(read=doing.now, jobs=jobs, runs=doing.inspector.history.lately([one.key for one in jobs]))
    except Unsupported:
        standing = Standing(read=doing.now, jobs=jobs)
    rows = asked_for(standing.rows("name", now=doing.now), read_filter(q, "recurring"), now=doing.now)
    return (row.key for row in rows if row.belongs(show))


def _jobs(doing: Doing, order: Order, q: str) -> Iterator[str]:
    state = _one_of(order, "state", ("all", *STATES))
    query = JobQuery(
        state=None if state == "all" else cast(JobState, state), where=read_filter(q, "jobs"), limit=PORTION,
        budget_ms=1000, see=doing.veil.job,
    )  # fmt: skip
    ends, n = time.monotonic() + LOOK_S, 0
    while n <= MOST:
        page = doing.inspector.page(query)
        yield from (job.name or job.id for job in page.jobs)
        n += len(page.jobs)
        if page.after is None:
            return
        if time.monotonic() > ends:
            raise InvalidOptions.about("this list", "is too long to be looked through at once", "Filter it.", where="q")
        query = replace(query, after=page.after)


def _one_of(order: Order, name: str, accepted: Sequence[str]) -> str:
    given = order.fields.get(name) or accepted[0]
    if given not in accepted:
        said = ", ".join(accepted)
        raise InvalidOptions.about(f'{name}="{given[:100]}"', "is not accepted", f"Accepted: {said}.", accepted=said)
    return given
