"""The page of one run: due, started, took, where, and how it ended."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any
from urllib.parse import quote

from workkit.contract.history import NO_RUN, PastRun
from workkit.contract.record import run_record
from workkit.jobs.names import shown
from workkit.text.duration import duration_text
from workkit.text.glance import capital, moment
from workkit.text.wording import iso
from workkit.web.address import job_path
from workkit.web.page import Asked, Page
from workkit.web.pages.runs import RunRow, row_of


@dataclass(frozen=True, slots=True, kw_only=True)
class RunView:
    """What the page shows. `job_path`: the page of its job; `others`: the runs of it."""

    schedule: str
    now: datetime
    row: RunRow
    title: str
    said: str
    rest: str
    job_path: str
    others: str

    @property
    def started(self) -> datetime | None:
        """When its handler was called; None where none was."""
        run = self.row.run
        return None if run.ending in NO_RUN else run.due + timedelta(milliseconds=run.late_ms)

    def record(self) -> dict[str, Any]:
        """Write it as JSON does."""
        return {
            "schedule": self.schedule,
            "as_of": iso(self.now),
            "sentence": f"{self.said} {self.rest}".strip(),
            "started": iso(self.started) if self.started else None,
            **run_record(self.row.run),
        }


def look(asked: Asked) -> RunView:
    """Read the run. Raises NotFound, Unsupported."""
    run = asked.veil.run(asked.served.inspector().history.run(asked.names["run"]))
    which = run.name or run.id or ""
    return RunView(
        schedule=asked.served.name,
        now=asked.now,
        row=row_of(run),
        title=run.name or shown(run.fn or "?"),
        said=_said(asked, run),
        rest=_rest(run),
        job_path=job_path(which),
        others=f"runs?job={quote(which, safe='', errors='replace')}",
    )


def _said(asked: Asked, run: PastRun) -> str:
    """Say how it ended, when it was due, and how late it started."""
    word = capital(row_of(run).word)
    due = moment(run.due.replace(microsecond=0), asked.now, asked.zone)
    if run.ending in NO_RUN:
        return f"{word}; it was due {due}."
    late = f"started {duration_text(run.late_ms)} late" if run.late_ms else "started in time"
    return f"{word} after {duration_text(run.took_ms)}. It was due {due} and {late}."


def _rest(run: PastRun) -> str:
    """Say what else is special about it."""
    said = []
    if run.by_hand:
        said.append("Somebody asked for it.")
    if run.ending == "retried":
        said.append("Another attempt followed.")
    if run.times > 1:
        said.append(f"It stands for {run.times:,} runs like it, which are not kept by themselves.")
    return " ".join(said)


PAGE = Page(name="run", path="runs/{run}", title="Run", template="run.html", look=look)
