"""The parts of every chart: path data by class, marks, ticks, and how each ending of a run is drawn and named."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from functools import lru_cache
from types import MappingProxyType
from typing import Final, Literal

from workkit.contract.history import LATE_MS, Ended, PastRun
from workkit.text.cells import brief_repr


class Paths:
    """Collects rectangles as path data, one path for each class."""

    def __init__(self) -> None:
        self._data: dict[str, list[str]] = {}

    def rect(self, kind: str, x: float, y: float, width: float, height: float) -> None:
        """Add a rectangle to the path of a class."""
        self.add(kind, rect(x, y, width, height))

    def add(self, kind: str, data: str) -> None:
        """Add path data to the path of a class."""
        self._data.setdefault(kind, []).append(data)

    def done(self) -> Mapping[str, str]:
        """Return the path data of each class, in the order in which classes came."""
        return MappingProxyType({kind: "".join(parts) for kind, parts in self._data.items()})


def rect(x: float, y: float, width: float, height: float) -> str:
    """Write a rectangle as path data: ``M10 8h4.5v14h-4.5z``."""
    return f"M{number(x)} {number(y)}h{number(width)}v{number(height)}h{number(-width)}z"


@lru_cache(20_000)
def number(value: float) -> str:
    """Write a coordinate with one decimal at most, and never with an exponent."""
    text = f"{value:.1f}".removesuffix(".0")
    return "0" if text == "-0" else text


@dataclass(frozen=True, slots=True, kw_only=True)
class Mark:
    """A shape with words of its own: its class, its path data, and the sentence that it shows. `run`: the place of the
    one run that it stands for.
    """

    kind: str
    data: str
    says: str
    run: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Tick:
    """A text below or above an axis, at `x`. `kind` is its class: "", "day" or "here"."""

    x: float
    text: str
    kind: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Drawing:
    """A drawing: its size, path data by class, marks, and the sentence that says it all."""

    width: float
    height: float
    label: str
    paths: Mapping[str, str] = field(repr=False)
    marks: tuple[Mark, ...] = ()

    __repr__ = brief_repr


Kind = Literal["done", "late", "fail", "miss", "left", "over"]
"""What is drawn: done; done, late; failed or dead; missed; left out; over without being done."""

KINDS: Final[Mapping[Ended, Kind]] = {
    "done": "done",
    "skipped": "left",
    "discarded": "over",
    "cancelled": "over",
    "missed": "miss",
    "expired": "miss",
    "overlap": "left",
    "retried": "fail",
    "dead": "fail",
}
WORDS: Final[Mapping[Kind, str]] = {
    "done": "done",
    "late": "started late",
    "fail": "failed",
    "miss": "missed",
    "left": "left out",
    "over": "discarded or cancelled",
}
STATES: Final[Mapping[Ended, str]] = {
    "done": "done",
    "skipped": "left out",
    "discarded": "discarded",
    "cancelled": "cancelled",
    "missed": "missed",
    "expired": "expired",
    "overlap": "left out, its last run still went on",
    "retried": "failed",
    "dead": "dead",
}
WHY: Final[Mapping[Ended, str]] = {
    "expired": "nobody started it in time",
    "missed": "nobody started it in time",
    "overlap": "the run before it still went on",
    "skipped": "by hand",
}
"""Why an occurrence did not run."""


def kind_of(run: PastRun) -> Kind:
    """Say how a run is drawn. Late is one that was done, and started 1 s after due or more."""
    kind = KINDS[run.ending]
    return "late" if kind == "done" and run.late_ms >= LATE_MS else kind


def tally(kinds: Iterable[Kind]) -> str:
    """Count kinds in words: ``54 done, 3 started late, 1 failed``."""
    found = list(kinds)
    return ", ".join(f"{n:,} {word}" for kind, word in WORDS.items() if (n := found.count(kind)))
