"""The act that puts back what another one took away. No form asks for it: an act that can be undone keeps its order."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import UTC, datetime
from typing import Final

from workkit.contract.undo import Undo
from workkit.errors import ChangedMeanwhile, CorruptRecord, NotFound, Unsupported
from workkit.jobs.names import shown
from workkit.verbs import control
from workkit.verbs.opening import producer_of
from workkit.web.actions.action import Act, Doing, Done, NotAllowed, Order
from workkit.web.users import may

PUT_BACK: Final = "put back"


def undoing(undo: Undo | None) -> Order | None:
    """Make the order that undoes a change."""
    if undo is None:
        return None
    until = None if undo.until_ms is None else datetime.fromtimestamp(undo.until_ms / 1000, UTC)
    return Order(verb=PUT_BACK, which=(undo.job.name or undo.job.id,), kept=undo, until=until)


def put_back(doing: Doing, order: Order, _: str | None) -> Done:
    """Undo a change of a job. Raises ChangedMeanwhile, which says what stands now."""
    undo = order.kept
    assert isinstance(undo, Undo), "no form asks for it"
    called = undo.job.name or shown(undo.job.fn)
    recurs = undo.job.recurs
    if undo.verb == "cancel" and recurs and not may(doing.role, "editor"):
        raise NotAllowed(f"{called} recurs. Your role is {doing.role}; this needs editor.", given=undo.job.id)
    try:
        job = control.undo(producer_of(doing.s), undo)
    except ChangedMeanwhile as error:
        raise ChangedMeanwhile(f"{error} {_standing(doing, undo)}".strip(), given=error.given) from error
    match undo.verb:
        case "run":
            return Done(f"{called} does not run now.")
        case "skip":
            return Done(f"{called} runs {doing.at(job.due)} again." if job.due else f"{called} runs again.")
        case "cancel":
            at = f" Next is {doing.at(job.due)}." if job.due else ""
            return Done(f"{called} is back.{at}")


def _standing(doing: Doing, undo: Undo) -> str:
    """Say how the job stands now, of this name or else of this id."""
    try:
        job = doing.inspector.job(undo.job.name or undo.job.id)
    except (NotFound, Unsupported, CorruptRecord):
        return "It is over."
    due = f", due {doing.at(job.due)}" if job.due else ""
    return f"Now: {job.short_id} {shown(job.fn)}, {job.state}{due}."


ACTS: Final[Mapping[str, Act]] = {PUT_BACK: Act(role="operator", one=put_back, did="Undone", stage="undo")}
