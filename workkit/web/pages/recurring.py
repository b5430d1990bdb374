"""The page Recurring: did the last runs of each recurring job go well, and when is the next."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Any, Final

from workkit.contract.filters import accepted, read_filter, understood
from workkit.contract.record import job_record, run_record
from workkit.errors import Unsupported
from workkit.text.wording import iso
from workkit.web.page import Asked, Page
from workkit.web.recurring.cells import Line, line_of
from workkit.web.recurring_jobs import SHOWS, SORTS, Standing, asked_for, counted, page_of
from workkit.web.words import pause_of

MOST_ROWS: Final = 50
MOST_UNNAMED: Final = 10_000
"""Runs of so many jobs are kept; of others without a name, the page does not know. They stand last."""

TABS: Final = (("all", "All"), ("failing", "Failing"), ("late", "Late"), ("missed", "Missed"), ("paused", "Paused"))


@dataclass(frozen=True, slots=True, kw_only=True)
class Tab:
    """A list of rows that can be asked for."""

    show: str
    text: str
    n: int


@dataclass(frozen=True, slots=True, kw_only=True)
class RecurringView:
    """What the page shows. `understood`: the filter in words, `accepts`: what else it takes; `params`: what is asked,
    without a place in the list.
    """

    schedule: str
    now: datetime
    show: str
    sort: str
    q: str
    tabs: tuple[Tab, ...]
    lines: tuple[Line, ...]
    found: int
    all: int
    next: str | None
    is_first: bool
    understood: str
    accepts: str
    has_more_unnamed: bool
    unknown: Mapping[str, str]

    def query(self, **other: str | None) -> str:
        """Write the address of the same list, but for some parameters."""
        from urllib.parse import urlencode

        usual = {"show": SHOWS[0], "sort": SORTS[0], "q": ""}
        params = {"show": self.show, "sort": self.sort, "q": self.q} | other
        written = urlencode({name: value for name, value in params.items() if value and value != usual.get(name)})
        return f"recurring?{written}" if written else "recurring"

    def record(self) -> dict[str, Any]:
        """Write it as JSON does."""
        return {
            "schedule": self.schedule,
            "as_of": iso(self.now),
            "show": self.show,
            "sort": self.sort,
            "counts": {tab.show: tab.n for tab in self.tabs},
            "recurring": [_record(line) for line in self.lines],
            "found": self.found,
            "next": self.next,
            "unknown": dict(self.unknown),
        }


def _record(line: Line) -> dict[str, Any]:
    last = None if line.last_run is None else run_record(line.last_run)
    return job_record(line.job) | {
        "key": line.key,
        "why": line.job.why,
        "running": line.is_running,
        "trouble": list(line.trouble),
        "failed_in_a_row": line.in_a_row,
        "last": last,
        "p95_ms": line.p95_ms,
    }


def look(asked: Asked) -> RecurringView:
    """Look at the recurring jobs as they stand, and at their last 60 runs."""
    show, sort = asked.one_of("show", SHOWS), asked.one_of("sort", SORTS)
    q = asked.params.get("q", "").strip()
    where = read_filter(q, "recurring")
    unknown: dict[str, str] = {}
    try:
        standing = asked.served.recurring(asked.now, asked.pulse.control)
    except Unsupported as error:
        standing, unknown["recurring"] = Standing(read=asked.now), str(error)
    if standing.no_history:
        unknown["history"] = standing.no_history
    rows, counts = standing.rows(sort, now=asked.now), standing.counts()
    if not where.is_everything:
        rows = asked_for(rows, where, now=asked.now)
        counts = counted(rows)
    chosen = rows if show == "all" else [row for row in rows if row.belongs(show)]
    page, following = page_of(chosen, asked.params.get("after"), most=MOST_ROWS)
    running = {job.id for info in asked.pulse.listeners for job in info.running}
    lines = [
        line_of(
            row,
            replace(asked.veil.job(row.recurs.standing), due=row.due(standing.read, asked.now)),
            pause=asked.veil.pause(pause_of(row.recurs.job, asked.pulse.control)),
            is_running=row.recurs.job.id in running,
            read=standing.read,
            now=asked.now,
            zone=asked.zone,
        )
        for row in page
    ]
    return RecurringView(
        schedule=asked.served.name,
        now=asked.now,
        show=show,
        sort=sort,
        q=q,
        tabs=tuple(Tab(show=one, text=text, n=counts[one]) for one, text in TABS),
        lines=tuple(lines),
        found=len(chosen),
        all=len(standing.jobs),
        next=following,
        is_first=not asked.params.get("after"),
        understood=understood(where),
        accepts=accepted("recurring"),
        has_more_unnamed=len(standing.jobs) >= MOST_UNNAMED and any(row.recurs.job.name is None for row in rows[-1:]),
        unknown=unknown,
    )


PAGE = Page(
    name="recurring", path="recurring", title="Recurring", template="recurring.html", look=look, icon="loop", key="r"
)
