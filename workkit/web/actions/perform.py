"""Reads an act from the fields of a form, carries it out, and returns its result.

`ACTS` lists every act. An act outside it has no address and no button. An act concerns the jobs that it names, or all
jobs of a list (`all_of`): those that match its filter, on every page of the list.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any, Final, cast

from workkit.contract.filters import read_filter
from workkit.contract.where import JobQuery
from workkit.errors import (
    ChangedMeanwhile,
    CorruptRecord,
    Invalid,
    InvalidOptions,
    NotFound,
    ServerError,
    Unsupported,
    WorkkitError,
)
from workkit.jobs.job import STATES, JobState
from workkit.text.cells import one_line
from workkit.text.wording import plural
from workkit.web.actions import dead, editing, jobs
from workkit.web.actions.action import LIST_FIELDS, Act, Doing, NotAllowed, Order, Result
from workkit.web.recurring_jobs import SHOWS, RecurringJobs, asked_for
from workkit.web.works import Work

ACTS: Final[Mapping[str, Act]] = {
    **jobs.ACTS,
    **editing.ACTS,
    **dead.ACTS,
    **jobs.UPKEEP,
}


LISTS: Final = ("recurring", "jobs")

PORTION: Final = 500
"""Number of jobs that are handled before the answer. A thread handles the others, in portions of this size."""

MOST_FOUND: Final = 10_000
LOOK_S: Final = 5.0
MANY: Final = 100
"""To cancel more jobs than this, the user types their number."""

WORDS: Final = {"pause": "Pausing", "resume": "Resuming", "run": "Running", "skip": "Skipping", "cancel": "Cancelling"}

Each = Callable[[Doing, Order], Result]
"""Carries out an act on the jobs that an order names."""


def all_of(doing: Doing, order: Order, each: Each, did: str) -> Result:
    """Find all jobs of the order's list, and act on each. Raises ChangedMeanwhile where there are more than the user
    saw, InvalidOptions for an invalid field.
    """
    found = _keys(doing, order)
    if not found:
        return Result(done=(), lines=("No job matches any more.",))
    _check(order, len(found))
    fields = {name: value for name, value in order.fields.items() if name not in LIST_FIELDS}
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
    """Name all jobs of the list, as its page does."""
    chosen, q = order.fields["all"], order.fields.get("q", "").strip()
    if chosen not in LISTS:
        accepted = ", ".join(LISTS)
        raise InvalidOptions.about(f'all="{chosen[:100]}"', "is no list", f"Accepted: {accepted}.", accepted=accepted)
    found = list(dict.fromkeys(_recurring(doing, order, q) if chosen == "recurring" else _jobs(doing, order, q)))
    if len(found) > MOST_FOUND:
        raise InvalidOptions.about("this list", f"has more than {MOST_FOUND:,} jobs", "Filter it.", where="all")
    return found


def _recurring(doing: Doing, order: Order, q: str) -> Iterator[str]:
    show = _one_of(order, "show", SHOWS)
    jobs = tuple(doing.inspector.recurring())
    try:
        standing = RecurringJobs(
            read=doing.now, jobs=jobs, runs=doing.inspector.history.lately([one.key for one in jobs])
        )
    except Unsupported:
        standing = RecurringJobs(read=doing.now, jobs=jobs)
    rows = asked_for(standing.rows("name", now=doing.now), read_filter(q, "recurring"), now=doing.now)
    return (row.key for row in rows if row.belongs(show))


def _jobs(doing: Doing, order: Order, q: str) -> Iterator[str]:
    state = _one_of(order, "state", ("all", *STATES))
    query = JobQuery(
        state=None if state == "all" else cast(JobState, state), where=read_filter(q, "jobs"), limit=PORTION,
        budget_ms=1000, see=doing.veil.job,
    )  # fmt: skip
    ends, n = time.monotonic() + LOOK_S, 0
    while n <= MOST_FOUND:
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


MOST: Final = 500
"""Most jobs that one act may name."""

HOPELESS: Final = (ChangedMeanwhile, NotFound, Invalid, Unsupported, CorruptRecord, NotAllowed)


def read_order(verb: str, fields: Mapping[str, Sequence[Any]]) -> Order | str:
    """Read an act from the fields of a form or of a JSON body. For an invalid act, return the sentence of refusal."""
    act = ACTS[verb]
    which = tuple(fields.get("which", ()))
    given = {name: value for name in act.fields if (value := next(iter(fields.get(name, ())), None)) not in (None, "")}
    for name, value in (*(("which", one) for one in which), *given.items()):
        if not isinstance(value, str) or not value:
            return f"{name}={one_line(value)} is no text. Accepted: texts."
    if len(which) > MOST:
        return f"An act concerns at most {MOST} jobs, and {len(which):,} were named."
    if "all" in given:
        return Order(verb=verb, fields=given)
    if not which and "chosen" in fields:
        return "No job is selected. Select some, then choose what is done."
    if not which and act.needs == "job or group" and "print" not in given:
        return f"{verb} needs jobs: which=ID; or an error that they died of: print=FINGERPRINT, count=NUMBER."
    if not which and act.needs in ("job", "one job", "listener", "batch"):
        return f"{verb} needs a {act.needs.removeprefix('one ')}: which=NAME."
    if len(which) > 1 and act.needs == "one job":
        return f"{verb} concerns one job, and {len(which)} were named."
    if which and act.needs == "schedule":
        return f"{verb} concerns the whole schedule, and takes no which."
    return Order(verb=verb, which=tuple(dict.fromkeys(which)), fields=given)


def act_of(order: Order) -> Act:
    """Find the act that carries an order out."""
    return order.act or ACTS[order.verb]


def carry_out(doing: Doing, order: Order) -> Result:
    """Act on each job. A refused job does not stop the others. Once the server is lost, the remaining jobs are refused
    too. Raises ServerError where nothing was done, and any error that concerns all jobs.
    """
    act = act_of(order)
    if "all" in order.fields:
        return all_of(doing, order, carry_out, act.did)
    if act.together is not None:
        return act.together(doing, order)
    one = act.one
    assert one is not None, "an act does one thing or the other"
    if not order.which:
        found = one(doing, order, None)
        return Result(
            done=(doing.schedule,),
            lines=(found.line,),
            undo=_merged([found.undo]),
            did=act.did,
            leads_to=found.leads_to,
        )
    done: list[str] = []
    lines: list[str] = []
    refused: list[tuple[str, WorkkitError]] = []
    undos: list[Order | None] = []
    shown: str | None = None
    leads_to = ""
    for place, which in enumerate(order.which):
        try:
            found = one(doing, order, which)
        except ServerError as error:
            if not done:
                raise
            refused += [(each, error) for each in order.which[place:]]
            break
        except HOPELESS as error:
            refused.append((which, error))
            continue
        done.append(which)
        lines.append(found.line)
        shown, leads_to = found.shown, found.leads_to
        undos.append(found.undo)
    undo = _merged(undos)
    return Result(
        done=tuple(done),
        lines=tuple(lines),
        refused=tuple(refused),
        undo=undo,
        did=act.did,
        lasting=undos.count(None) if undo else 0,
        shown=shown,
        leads_to=leads_to,
    )


def carry_out_all(doing: Doing, orders: Sequence[Order]) -> Result:
    """Carry out several acts in order, as one. Several acts together cannot be undone."""
    results = [carry_out(doing, order) for order in orders]
    if len(results) == 1:
        return results[0]
    return Result(
        done=tuple(one for result in results for one in result.done),
        lines=tuple(line for result in results for line in result.lines),
        refused=tuple(pair for result in results for pair in result.refused),
        did=results[0].did if len({result.did for result in results}) == 1 else "Done",
    )


def _merged(undos: Sequence[Order | None]) -> tuple[Order, ...]:
    """Merge the acts that undo several changes into as few as possible, the last change first."""
    merged: list[Order] = []
    for undo in reversed(undos):
        last = merged[-1] if merged else None
        if undo is None:
            continue
        if last is not None and replace(last, which=undo.which) == undo:
            merged[-1] = replace(last, which=(*last.which, *undo.which))
        else:
            merged.append(undo)
    return tuple(merged)
