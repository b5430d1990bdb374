"""All schedules on one page, each with a sentence about its trouble."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import tzinfo
from typing import Any, Final

from workkit.contract.inspector import Counts
from workkit.contract.record import counts_record
from workkit.web.cache import Served
from workkit.web.charts.axis import last_hour
from workkit.web.charts.bars import Drawing
from workkit.web.mask import Veil
from workkit.web.page import Asked
from workkit.web.pages import now
from workkit.web.words import Sentence, plain

TEMPLATE: Final = "schedules.html"


@dataclass(frozen=True, slots=True, kw_only=True)
class Line:
    """One schedule: its sentence, and the number of its needs; None: its server does not answer."""

    schedule: str
    said: Sentence
    needs: int | None
    counts: Counts | None = None
    hour: Drawing | None = None  # the last hour, where history is kept

    def record(self) -> Mapping[str, Any]:
        """Return the view as a JSON object."""
        return {
            "schedule": self.schedule,
            "sentence": plain(self.said),
            "needs": self.needs,
            "counts": None if self.counts is None else counts_record(self.schedule, self.counts),
        }


@dataclass(frozen=True, slots=True, kw_only=True)
class SchedulesView:
    """The content of the page, the worst schedule first."""

    lines: tuple[Line, ...]

    @property
    def ordered(self) -> list[Line]:
        """The lines, the worst first."""
        return sorted(self.lines, key=lambda line: -1_000 if line.needs is None else -line.needs)

    @property
    def first(self) -> Line | None:
        """The schedule with the worst trouble."""
        return next((line for line in self.ordered if line.needs != 0), None)

    @property
    def said(self) -> str:
        """One sentence about all of them."""
        bad = [line.schedule for line in self.ordered if line.needs != 0]
        if not self.lines:
            return "No schedule is shown to you."
        if not bad:
            return f"All {len(self.lines)} schedules are on time."
        return (
            f"{len(bad)} of {len(self.lines)} schedules {'needs' if len(bad) == 1 else 'need'} you: {', '.join(bad)}."
        )

    def record(self) -> dict[str, Any]:
        """Return the view as a JSON object."""
        return {"schedules": [line.record() for line in self.ordered]}


def line(served: Served, veil: Veil, zone: tzinfo) -> Line:
    """Read one schedule as the page Now does, with its times in a zone."""
    pulse = veil.pulse(served.pulse())
    view = now.look(Asked(served=served, pulse=pulse, veil=veil, zone=zone, names={}, params={}))
    past = [(one.ran, one.failed) for one in view.around.minutes if one.start <= view.now]
    first = next(iter(view.needs), None)
    return Line(
        schedule=served.name,
        said=view.said if first is None or not first.is_aside else first.said,
        needs=len(view.needs),
        counts=view.counts,
        hour=None if "history" in view.unknown else last_hour(past),
    )


def away_line(schedule: str, error: str) -> Line:
    """Make the line of a schedule with a server that does not answer."""
    return Line(schedule=schedule, said=(error,), needs=None)
