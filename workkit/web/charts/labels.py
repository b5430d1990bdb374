"""What stands above the axis of the Timeline: where it gets tight, and what happened. No text lies over another."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime
from typing import Final, Literal

from workkit.text.cells import cells, shorten
from workkit.text.wording import printable
from workkit.web.charts.axis import WIDTH, Axis

LONGEST: Final = 20  # columns of a text
COLUMN: Final = 28.0  # units of the axis: 6 px where it is narrowest
BESIDE: Final = 60.0  # the ground of a text, and what is free beside it
SIGN: Final = "▾"  # where the text has no room


@dataclass(frozen=True, slots=True, kw_only=True)
class Label:
    """A text above the axis, its middle at `x`. `kind` is its class."""

    x: float
    text: str
    says: str
    kind: Literal["herd", "event"]


def above(
    axis: Axis, herds: Iterable[tuple[datetime, str, str]], events: Iterable[tuple[datetime, str, str]]
) -> tuple[Label, ...]:
    """Place instants, each with its text and its sentence. A herd stands where it is. An event whose text finds no room
    is a sign; where that finds none either, it is left out. Earlier ones of `events` find room first.
    """
    found = [
        Label(x=axis.x(at), text=text, says=says, kind="herd")
        for at, text, says in herds
        if text and axis.start <= at <= axis.end
    ]
    for at, text, says in events:
        if axis.start <= at <= axis.end:
            for short in (shorten(printable(text), LONGEST), SIGN):
                one = Label(x=_within(axis.x(at), short), text=short, says=says, kind="event")
                if all(abs(one.x - other.x) >= _half(one.text) + _half(other.text) for other in found):
                    found.append(one)
                    break
    return tuple(found)


def lines(axis: Axis, events: Iterable[datetime]) -> tuple[float, ...]:
    """Find the places of the lines through all lanes, each once, from left to right."""
    return tuple(sorted({round(axis.x(at), 1) for at in events if axis.start <= at <= axis.end}))


def _half(text: str) -> float:
    return (cells(text) * COLUMN + BESIDE) / 2


def _within(x: float, text: str) -> float:
    """Move a text into the axis."""
    return min(WIDTH - _half(text), max(_half(text), x))
