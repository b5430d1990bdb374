"""From the fields of a form to an act, and from an act to what became of it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any, Final

from workkit.errors import ChangedMeanwhile, CorruptRecord, Invalid, NotFound, ServerError, Unsupported, WorkkitError
from workkit.text.brief import one_line
from workkit.web.actions.action import Doing, NotAllowed, Order, Result
from workkit.web.actions.matching import all_of
from workkit.web.actions.registry import ACTS

MOST: Final = 500
"""How many jobs one act may name."""

HOPELESS: Final = (ChangedMeanwhile, NotFound, Invalid, Unsupported, CorruptRecord, NotAllowed)


def read_order(verb: str, fields: Mapping[str, Sequence[Any]]) -> Order | str:
    """Read an act from the fields of a form or of a JSON body; else the sentence that refuses it."""
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
    if not which and act.needs in ("job", "one job", "listener"):
        return f"{verb} needs a {act.needs.removeprefix('one ')}: which=NAME."
    if len(which) > 1 and act.needs == "one job":
        return f"{verb} concerns one job, and {len(which)} were named."
    if which and act.needs == "schedule":
        return f"{verb} concerns the whole schedule, and takes no which."
    return Order(verb=verb, which=tuple(dict.fromkeys(which)), fields=given)


def carry_out(doing: Doing, order: Order) -> Result:
    """Do it for each job. One that is refused leaves the others; those after the loss of the server are refused too.
    Raises ServerError where nothing was done, and what concerns all.
    """
    act = ACTS[order.verb]
    if "all" in order.fields:
        return all_of(doing, order, carry_out, act.did)
    if act.together is not None:
        return act.together(doing, order)
    one = act.one
    assert one is not None, "an act does one thing or the other"
    if not order.which:
        found = one(doing, order, None)
        return Result(done=(doing.schedule,), lines=(found.line,), undo=_merged([found.undo]), did=act.did)
    done: list[str] = []
    lines: list[str] = []
    refused: list[tuple[str, WorkkitError]] = []
    undos: list[Order | None] = []
    shown: str | None = None
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
        shown = found.shown
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
    )


def carry_out_all(doing: Doing, orders: Sequence[Order]) -> Result:
    """Carry out several acts, one after the other, as one. Several together cannot be undone."""
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
    """Make as few acts as can be of those that undo several changes, the last change first."""
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
