"""The page Runs: the kept single runs, the last one first, by filters; and the page of one run."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any, Final
from urllib.parse import quote

from workkit.contract.filters import ENDINGS, read_filter, understood
from workkit.contract.history import LATE_MS, NO_RUN, PastRun, arguments_of
from workkit.contract.record import run_record
from workkit.contract.where import Has, Term, Where
from workkit.errors import InvalidOptions, Unsupported
from workkit.jobs.names import shown
from workkit.text.glance import capital, moment
from workkit.text.wording import duration_text, epoch_ms, iso, plural
from workkit.web.charts.bars import KINDS, STATES
from workkit.web.page import Asked, Page
from workkit.web.pages.window import read_instant
from workkit.web.words import job_path

ROWS: Final = 50
MOST_LOOKED: Final = 3_000  # most runs that one request reads
NO_TRACEBACK: Final[Mapping[str, str]] = {
    "dead": "Its traceback is no longer kept: its dead record was retried, discarded or removed.",
    "retried": "Its traceback was kept until the next attempt.",
}
FILTERS: Final = ("job", "fn", "ended", "from", "to", "q")


@dataclass(frozen=True, slots=True)
class RunRow:
    """A run, the sign of its ending, and the word."""

    run: PastRun
    sign: str
    word: str
    traceback: str = ""  # path of the page that shows it

    @property
    def path(self) -> str:
        """The path of the run's page."""
        return f"runs/{self.run.place}"


@dataclass(frozen=True, slots=True, kw_only=True)
class RunsView:
    """The content of the page. `given`: the typed filters; `more` leads to the next page."""

    schedule: str
    now: datetime
    given: dict[str, str]
    understood: str
    rows: tuple[RunRow, ...]
    said: str
    looked: str
    more: str | None
    unknown: str

    @property
    def onward(self) -> str | None:
        """The next page, which the browser opens by itself while no run is found."""
        return None if self.rows else self.more

    def record(self) -> dict[str, Any]:
        """Return the view as a JSON object."""
        return {
            "schedule": self.schedule,
            "as_of": iso(self.now),
            "sentence": self.said,
            "understood": self.understood,
            "runs": [run_record(row.run) for row in self.rows],
            "looked": self.looked,
            "next": None if self.more is None else self.more.replace("runs", "runs.json", 1),
            "unknown": self.unknown,
        }


def row_of(run: PastRun, traceback: str = "") -> RunRow:
    """Make the row of a run, with the sign and the word of its ending."""
    kind = KINDS[run.ending]
    if kind == "done" and run.late_ms >= LATE_MS:
        return RunRow(run, "late", "done, late", traceback)
    sign = {"over": "done", "miss": "late", "left": "pause"}.get(kind, kind)
    return RunRow(run, sign, STATES[run.ending], traceback)


def look(asked: Asked) -> RunsView:
    """Read the runs that match the filters. Raises InvalidOptions."""
    given = {name: value for name in FILTERS if (value := asked.params.get(name, "").strip())}
    where = _where(given)
    bounds = {
        name: read_instant(given[name], name=name, now=asked.now, zone=asked.served.zone)
        for name in ("from", "to") if name in given
    }  # fmt: skip
    found: list[PastRun] = []
    now = asked.now
    place, looked, last, unknown = None, 0, None, ""
    try:
        since, until = _ms(bounds.get("from")) or 0, _ms(bounds.get("to"))
        for run in asked.served.inspector().history.runs(
            since_ms=since, until_ms=until, before=asked.params.get("after")
        ):
            if len(found) == ROWS or looked == MOST_LOOKED:
                place = last.place if last else None
                break
            looked, last = looked + 1, run
            seen = asked.veil.run(run)
            if where.run(seen, now=now):
                found.append(seen)
    except Unsupported as error:
        unknown = str(error)
    dead = asked.dead()
    query = "&".join(f"{name}={quote(value)}" for name, value in given.items())
    at = "" if last is None else f", back to {moment(last.ended.replace(microsecond=0), asked.now, asked.zone)}"
    return RunsView(
        schedule=asked.served.name,
        now=asked.now,
        given={name: given.get(name, "") for name in FILTERS},
        understood="" if where.is_everything else understood(where),
        rows=tuple(row_of(run, dead.traceback_path(run, run.name or run.id or "")) for run in found),
        said=_said(asked.served.name, found, where, unknown, looked=looked, is_over=place is None),
        looked=f"Looked at {looked:,} runs{at}." if looked > len(found) else "",
        more=None if place is None else f"runs?{query}{'&' if query else ''}after={place}",
        unknown=unknown,
    )


def _where(given: dict[str, str]) -> Where:
    """Make one filter of all typed ones."""
    where = read_filter(given.get("q", ""), "runs")
    terms = [*where.terms]
    if job := given.get("job"):
        terms.append(Term(field="job", test=Has(texts=(job,), whole=True)))
    if fn := given.get("fn"):
        terms.append(Term(field="fn", test=Has(texts=(fn,))))
    if ended := given.get("ended"):
        wanted = tuple(one.strip().lower() for one in ended.split(","))
        for one in wanted:
            if one not in ENDINGS:
                remedy = f"Accepted: {', '.join(ENDINGS)}."
                raise InvalidOptions.about(
                    f'ended="{one}"', "is no ending", remedy, where="ended", given=ended, accepted=", ".join(ENDINGS)
                )
        terms.append(Term(field="ended", test=Has(texts=wanted, whole=True)))
    return Where(terms=tuple(terms), texts=where.texts, without=where.without)


def _said(schedule: str, found: list[PastRun], where: Where, unknown: str, *, looked: int, is_over: bool) -> str:
    if unknown:
        return "No history is kept here."
    if found:
        return f"Runs of {schedule}"
    if not is_over:
        return f"Not found yet, {plural(looked, 'run')} looked at."
    return "No run is kept." if where.is_everything else f"No run here: {understood(where)}."


def _ms(at: datetime | None) -> int | None:
    return None if at is None else max(0, epoch_ms(at))


@dataclass(frozen=True, slots=True, kw_only=True)
class RunView:
    """The content of the page. `job_path`: the page of its job; `others`: the runs of that job; `no_traceback`: why no
    page shows its traceback.
    """

    schedule: str
    now: datetime
    row: RunRow
    no_traceback: str
    title: str
    said: str
    rest: str
    job_path: str
    others: str
    log: tuple[str, ...]

    @property
    def arguments(self) -> str:
        """The arguments, "none" or "not kept"."""
        return arguments_of(self.row.run)

    @property
    def started(self) -> datetime | None:
        """When the handler was called; None where it was not called."""
        run = self.row.run
        return None if run.ending in NO_RUN else run.due + timedelta(milliseconds=run.late_ms)

    def record(self) -> dict[str, Any]:
        """Return the view as a JSON object."""
        return {
            "schedule": self.schedule,
            "as_of": iso(self.now),
            "sentence": f"{self.said} {self.rest}".strip(),
            "started": iso(self.started) if self.started else None,
            **run_record(self.row.run),
            "log": list(self.log),
        }


def look_at_one(asked: Asked) -> RunView:
    """Read the run. Raises NotFound, Unsupported."""
    raw = asked.served.inspector().history.run(asked.names["run"])
    run = asked.veil.run(raw)
    which = run.name or run.id or ""
    row = row_of(run, _traceback(asked, run, which))
    return RunView(
        schedule=asked.served.name,
        now=asked.now,
        row=row,
        no_traceback=NO_TRACEBACK.get(run.ending, "") if run.error and not row.traceback else "",
        title=run.name or shown(run.fn or "?"),
        said=_said_of_one(asked, run),
        rest=_rest(run),
        job_path=job_path(which),
        log=asked.log(raw),
        others=f"runs?job={quote(which, safe='', errors='replace')}",
    )


def _traceback(asked: Asked, run: PastRun, which: str) -> str:
    """Find the page that shows its traceback; "" where there is none."""
    retrying = 0
    if run.ending == "retried" and (job := asked.retry_of(run.id)) is not None:
        retrying = job.attempt
    path = asked.dead().traceback_path(run, which, retrying=retrying)
    return "" if path == f"runs/{run.place}" else path


def _said_of_one(asked: Asked, run: PastRun) -> str:
    """Say how it ended, when it was due, and how late it started."""
    word = capital(row_of(run).word)
    due = moment(run.due.replace(microsecond=0), asked.now, asked.zone)
    if run.ending in NO_RUN:
        return f"{word}; it was due {due}."
    late = f"started {duration_text(run.late_ms)} late" if run.late_ms else "started in time"
    return f"{word} after {duration_text(run.took_ms)}. It was due {due} and {late}."


def _rest(run: PastRun) -> str:
    """Say which other facts are special about it."""
    said = []
    if run.by_hand:
        said.append("Somebody asked for it.")
    if run.ending == "retried":
        said.append("Another attempt followed.")
    if run.times > 1:
        said.append(f"It stands for {run.times:,} runs like it, which are not kept by themselves.")
    return " ".join(said)


PAGE = Page(name="runs", path="runs", title="Runs", template="runs.html", look=look, icon="run", key="u")
ONE = Page(name="run", path="runs/{run}", title="Run", template="run.html", look=look_at_one)
