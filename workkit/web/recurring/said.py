"""What the page of a recurring job says first: when it runs next, how its last run went, its pause, its run. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime, tzinfo

from workkit.contract.changes import Change
from workkit.contract.history import PastRun
from workkit.jobs.admission import Pause
from workkit.jobs.job import Job
from workkit.text.duration import MILLISECOND, duration_text
from workkit.text.glance import away, clock_at, day_text
from workkit.text.wording import iso, progress
from workkit.web.charts.shapes import WHY
from workkit.web.recurring_jobs import in_a_row
from workkit.web.words import pause_end, until


@dataclass(frozen=True, slots=True, kw_only=True)
class Next:
    """``lead AT, rest``: when the next run is. `at` is None where there is none."""

    lead: str
    at: datetime | None = None
    text: str = ""
    rest: str = ""

    @property
    def says(self) -> str:
        """The whole sentence."""
        return f"{self.lead}{self.text}{self.rest}"


def at_moment(at: datetime, now: datetime, zone: tzinfo) -> str:
    """Write an instant in a sentence: ``today at 02:30``, ``Mon 23 Nov at 09:00``."""
    local = at.astimezone(zone)
    return f"{day_text(local.date(), now.astimezone(zone).date())} at {clock_at(local)}"


def next_said(job: Job, first: datetime | None, *, has_run: bool, now: datetime, zone: tzinfo) -> Next:
    """Say when the next run is: `first`, as the list of coming runs has it, without those that were left out."""
    if first is None:
        return Next(lead="Its last run is over." if has_run else "It never runs.")
    text = at_moment(first, now, zone)
    if first <= now:
        return Next(lead="Its run of ", at=first, text=text, rest=f" is {until(first, now)}.")
    distance = f", in {away((first - now) / MILLISECOND)}."
    if not has_run:
        return Next(lead="Has not run yet; first ", at=first, text=text, rest=distance)
    lead = "It would run next " if job.state == "paused" else "Next "
    return Next(lead=lead, at=first, text=text, rest=distance)


def last_said(ring: Sequence[PastRun], error: str | None, *, now: datetime, zone: tzinfo) -> str:
    """Say how the last run went, "" without one. `error`: what the job has as its last one, where the run has none."""
    last = next((run for run in ring if run.ending != "skipped"), None)
    if last is None:
        return ""
    at = at_moment(last.due, now, zone)
    failures = in_a_row(run for run in ring if run.ending != "skipped")
    because = f": {said.rstrip('.')}." if (said := last.error or error) else "."
    match last.ending:
        case "missed":
            return f"The last one, {at}, was missed: {WHY[last.ending]}."
        case "overlap":
            return f"The last one, {at}, was left out: {WHY[last.ending]}."
        case "retried" | "dead":
            said = f"The last run, {at}, failed after {duration_text(last.took_ms)}{because}"
            return said + (f" It has failed {failures:,} times in a row." if failures > 1 else "")
        case "cancelled" | "discarded":
            return f"The last run, {at}, was {last.ending} after {duration_text(last.took_ms)}."
    late = f"started {duration_text(last.late_ms)} after due" if last.late_ms else "started in time"
    return f"The last run, {at}, took {duration_text(last.took_ms)} and {late}."


def pause_said(pause: Pause | None, target: str, changes: Iterable[Change], *, now: datetime, zone: tzinfo) -> str:
    """Say that it is paused, since when as far as the changes tell, until when and why; "" where it is not."""
    if pause is None:
        return ""
    at = next((one.at for one in changes if one.verb == "pause" and one.target == target), None)
    since = "" if at is None else f" since {_short(at, now, zone)}"
    end = pause_end(pause)
    till = "" if end is None else f" until {_short(end, now, zone)}"
    kind, _, of = target.partition(":")
    who = "Paused" if kind == "job" else f"The function {of} is paused" if kind == "fn" else "The schedule is paused"
    return f"{who}{since}{till}" + (f': "{pause.reason}".' if pause.reason else ".")


def _short(at: datetime, now: datetime, zone: tzinfo) -> str:
    local, today = at.astimezone(zone), now.astimezone(zone).date()
    return clock_at(local) if local.date() == today else at_moment(at, now, zone)


@dataclass(frozen=True, slots=True, kw_only=True)
class Run:
    """A run that goes on, in a sentence; and what names it, where somebody may cancel it."""

    says: str
    listener: str
    due: str
    is_cancelled: bool


def run_said(run: Job, listener: str, *, now: datetime, zone: tzinfo) -> Run:
    """Say that a run goes on: see `running_said`."""
    return Run(
        says=running_said(run, listener.partition(":")[0], now=now, zone=zone),
        listener=listener,
        due="" if run.due is None else iso(run.due),
        is_cancelled=run.state == "cancelling",
    )


def running_said(run: Job, listener: str, *, now: datetime, zone: tzinfo) -> str:
    """Say that a run goes on: where, of which time, and how far it is."""
    due = "" if run.due is None else f" the run due {at_moment(run.due, now, zone)}"
    said = f"{listener} runs{due or ' it'}"
    attempt = f", attempt {run.attempt + 1}" if run.attempt else ""
    return said + attempt + ("." if run.progress is None else f": {progress(run.progress)}.")
