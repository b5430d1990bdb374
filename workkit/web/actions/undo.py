"""Undo: the order that undoes an act, and the results that are kept until then.

An act returns the order that undoes it in its `Done`: another act, as resume undoes pause, or one that no form may ask
for (`undone_by`). `Results` keeps it for the session that has acted, until it is given once.
"""

from __future__ import annotations

import time
from collections import OrderedDict
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from functools import partial
from typing import Final

from workkit.contract.admin import Undo
from workkit.errors import ChangedMeanwhile, CorruptRecord, NotFound, Unsupported
from workkit.jobs.names import shown
from workkit.verbs import control
from workkit.verbs.opening import producer_of
from workkit.web.actions.action import Act, Doing, Done, NotAllowed, One, Order, Result, called
from workkit.web.users import Role, may

UNDO: Final = "undo"

KEPT_S: Final = 600.0
LONGEST_S: Final = 400 * 86_400.0
SWEEP_S: Final = 60.0
MOST: Final = 10_000


@dataclass(slots=True, eq=False)
class Results:
    """Results of acts by session and number: for ten minutes, or as long as an act can be undone that has an end for
    that. A number is held from the beginning of its act on.
    """

    _kept: OrderedDict[tuple[str, str], tuple[float, Result | None]] = field(default_factory=OrderedDict)  # until when
    _sweep_at: float = 0.0

    def is_new(self, session: str, number: str) -> bool:
        """Hold a number; False if it was used before."""
        self._forget()
        if (session, number) in self._kept:
            return False
        self._kept[session, number] = (time.monotonic() + KEPT_S, None)
        return True

    def keep(self, session: str, number: str, result: Result | None, *, now: datetime | None = None) -> None:
        """Keep the result of an act; None: it did not happen, and its number is free again. `now`: the time of it."""
        if result is None:
            self._kept.pop((session, number), None)
        else:
            self._kept[session, number] = (time.monotonic() + _seconds(result, now or datetime.now(UTC)), result)

    def undone(self, session: str, number: str) -> None:
        """Note that an act was undone: it cannot be undone twice."""
        until, result = self._kept.get((session, number), (0.0, None))
        if result is not None:
            self._kept[session, number] = (until, replace(result, undo=()))

    def result(self, session: str, number: str) -> Result | None:
        """Give the result of an act, if it is known and over."""
        self._forget()
        until, result = self._kept.get((session, number), (0.0, None))
        return result if time.monotonic() < until else None

    def _forget(self) -> None:
        now = time.monotonic()
        if now >= self._sweep_at:
            self._sweep_at = now + SWEEP_S
            for one in [one for one, (until, _) in self._kept.items() if until <= now]:
                del self._kept[one]
        while len(self._kept) > MOST:
            self._kept.popitem(last=False)


def _seconds(result: Result, now: datetime) -> float:
    """Say for how many seconds a result is kept: until its undo ends, if each of its orders has an end."""
    ends = [order.until for order in result.undo]
    known = [end for end in ends if end is not None]
    if not known or len(known) < len(ends):
        return KEPT_S
    return min(LONGEST_S, max(KEPT_S, (max(known) - now).total_seconds()))


def undone_by(one: One, *, role: Role, which: str = "", until: datetime | None = None) -> Order:
    """Make an order that no form may ask for. `which`: the job by which its lines name it; empty: the schedule."""
    act = Act(role=role, one=one, did="Undone" if which else "Done")
    return Order(verb=UNDO, which=(which,) if which else (), act=act, until=until)


def undoing(undo: Undo | None) -> Order | None:
    """Make the order that undoes a change of the server. None: it cannot be undone."""
    if undo is None:
        return None
    until = None if undo.until_ms is None else datetime.fromtimestamp(undo.until_ms / 1000, UTC)
    return undone_by(partial(_put_back, undo), role="operator", which=undo.job.name or undo.job.id, until=until)


def _put_back(undo: Undo, doing: Doing, _: Order, __: str | None) -> Done:
    """Undo a change of a job. Raises ChangedMeanwhile with the present state of the job."""
    name = called(undo.job)
    if undo.verb == "cancel" and undo.job.recurs and not may(doing.role, "editor"):
        raise NotAllowed(f"{name} recurs. Your role is {doing.role}; this needs editor.", given=undo.job.id)
    try:
        job = control.undo(producer_of(doing.s), undo)
    except ChangedMeanwhile as error:
        raise ChangedMeanwhile(f"{error} {_standing(doing, undo)}".strip(), given=error.given) from error
    match undo.verb:
        case "run":
            return Done(f"{name} does not run now.")
        case "skip":
            return Done(f"{name} runs {doing.at(job.due)} again." if job.due else f"{name} runs again.")
        case "cancel":
            at = f" Next is {doing.at(job.due)}." if job.due else ""
            return Done(f"{name} is back.{at}")


def _standing(doing: Doing, undo: Undo) -> str:
    """Write the present state of the job of this name, or else of this id."""
    try:
        job = doing.inspector.job(undo.job.name or undo.job.id)
    except (NotFound, Unsupported, CorruptRecord):
        return "It is over."
    due = f", due {doing.at(job.due)}" if job.due else ""
    return f"Now: {job.short_id} {shown(job.fn)}, {job.state}{due}."
