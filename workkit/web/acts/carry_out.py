"""From the fields of a form to an act, and from an act to what became of it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Final

from workkit.errors import CorruptRecord, Invalid, NotFound, Unsupported
from workkit.text.listing import listed
from workkit.web.acts.act import Changed, Doing, NotAllowed, Order, Result
from workkit.web.acts.registry import ACTS

MOST: Final = 500
"""How many jobs one act may name."""

HOPELESS: Final = (NotFound, Invalid, Unsupported, CorruptRecord, NotAllowed, Changed)


def read_order(verb: str, fields: Mapping[str, Sequence[Any]]) -> Order | str:
    """Read an act from the fields of a form or of a JSON body; else the sentence that refuses it."""
    act = ACTS[verb]
    which = tuple(fields.get("which", ()))
    given = {name: value for name in act.fields if (value := next(iter(fields.get(name, ())), None)) not in (None, "")}
    if not all(isinstance(one, str) and one for one in (*which, *given.values())):
        return f"{listed(('which', *act.fields))} are texts."
    if len(which) > MOST:
        return f"An act concerns at most {MOST} jobs, and {len(which):,} were named."
    if not which and "chosen" in fields:
        return "No job is selected. Select some, then choose what is done."
    if not which and act.needs == "job":
        return f"{verb} needs a job: which=NAME."
    if not which and act.needs == "job or group" and "print" not in given:
        return f"{verb} needs jobs: which=ID; or an error that they died of: print=FINGERPRINT, count=NUMBER."
    return Order(verb=verb, which=tuple(dict.fromkeys(which)), fields=given)


def carry_out(doing: Doing, order: Order) -> Result:
    """Do it for each job. One that is refused leaves the others. Raises ServerError, and what concerns all."""
    act = ACTS[order.verb]
    if act.together is not None:
        return act.together(doing, order)
    one = act.one
    assert one is not None, "an act does one thing or the other"
    if not order.which:
        found = one(doing, order, None)
        return Result(done=(doing.schedule,), lines=(found.line,), undo=found.undo)
    done, lines, refused, undos = [], [], [], []
    for which in order.which:
        try:
            found = one(doing, order, which)
        except HOPELESS as error:
            refused.append((which, error))
            continue
        done.append(which)
        lines.append(found.line)
        undos.append(found.undo)
    return Result(done=tuple(done), lines=tuple(lines), refused=tuple(refused), undo=_merged(undos))


def _merged(undos: Sequence[Order | None]) -> Order | None:
    """Make one act that undoes several alike; None where one cannot be undone, or not by the same act."""
    found = [undo for undo in undos if undo is not None]
    if not found or len(found) < len(undos):
        return None
    first = found[0]
    if len(found) == 1:
        return first
    if any((one.verb, one.fields) != (first.verb, first.fields) for one in found):
        return None
    return Order(verb=first.verb, which=tuple(name for one in found for name in one.which), fields=first.fields)
