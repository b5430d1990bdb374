"""The page Now: is all well, what needs me, what runs, what is next."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from itertools import islice, takewhile
from typing import Any, Final

from workkit.contract.history import ALL, Buckets, Cell, PastRun
from workkit.contract.inspector import Counts, Missed, Named
from workkit.contract.record import counts_record, job_record
from workkit.errors import Unsupported
from workkit.jobs.admission import SCHEDULE
from workkit.jobs.job import Job
from workkit.jobs.names import shown
from workkit.text.wording import iso
from workkit.web.address import job_path
from workkit.web.page import Asked, Page
from workkit.web.pages.died_lately import died_lately
from workkit.web.sentences import MOST_NEEDS, RECENT, Facts, Failing, MissedRun, Need, needs, rest, sentence
from workkit.web.words import LATE_MS, Said, plain

HOUR_MS: Final = 3_600_000
FAILED: Final = ("retried", "dead")
OFTEN: Final = timedelta(hours=1)
"""A job that recurs at least so often needs somebody only where its last three runs failed."""

MOST_RUNNING, MOST_NEXT, MOST_MISSED, MOST_RUNS = 5, 7, 200, 1000
WHY_MISSED = {"late": "nobody started it in time", "overlap": "another run of it had not ended"}


@dataclass(frozen=True, slots=True, kw_only=True)
class Lateness:
    """How late runs of the last hour began: upper bounds, in ms; None: nothing ran."""

    half_ms: float | None
    most_ms: float | None
    latest_ms: float | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Figure:
    """A count that leads to its list. None: the layout does not tell, and `why` not."""

    n: int | None
    text: str
    path: str
    is_bad: bool = False
    why: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Running:
    """A job that runs, and its listener."""

    job: Job
    listener: str


@dataclass(frozen=True, slots=True, kw_only=True)
class NowView:
    """What the page shows."""

    schedule: str
    now: datetime
    said: Said
    rest: Said
    counts: Counts
    figures: tuple[Figure, ...]
    needs: tuple[Need, ...]
    running: tuple[Running, ...]
    lateness: Lateness | None
    next: tuple[Job, ...]
    is_empty: bool
    is_paused: bool
    unknown: Mapping[str, str]

    def record(self) -> dict[str, Any]:
        """Write it as JSON does."""
        late = self.lateness
        return {
            "schedule": self.schedule,
            "as_of": iso(self.now),
            "sentence": plain(self.said),
            "rest": plain(self.rest),
            "counts": counts_record(self.schedule, self.counts),
            "needs": [{"sentence": plain(n.said), "why": n.why, "tone": n.tone, "job": n.job} for n in self.needs],
            "running": [job_record(one.job) | {"listener": one.listener} for one in self.running],
            "lateness": late and {"half_ms": late.half_ms, "p95_ms": late.most_ms, "latest_ms": late.latest_ms},
            "next": [job_record(job) for job in self.next],
            "unknown": dict(self.unknown),
        }


def look(asked: Asked) -> NowView:
    """Look at a schedule now: its pulse, the last runs of its named recurring jobs, and the last hour."""
    pulse, counts, unknown = asked.pulse, asked.pulse.counts, dict(asked.pulse.unknown)
    named = _recurring(asked.served.named())
    running = sorted(
        (Running(job=job, listener=info.listener) for info in pulse.listeners for job in info.running),
        key=lambda one: (one.job.due is None, one.job.due),
    )
    facts = _facts(asked, named, unknown)
    waiting = [job for job in pulse.soon if job.state != "paused"]
    return NowView(
        schedule=asked.served.name,
        now=asked.now,
        said=sentence(facts),
        rest=rest(facts),
        counts=counts,
        figures=tuple(_figures(counts, facts)),
        needs=() if facts.is_empty else tuple(islice(needs(facts), MOST_NEEDS)),
        running=tuple(running[:MOST_RUNNING]),
        lateness=_lateness(asked, unknown),
        next=tuple(waiting[:MOST_NEXT]),
        is_empty=facts.is_empty,
        is_paused=facts.paused is not None,
        unknown=unknown,
    )


def _recurring(named: Mapping[str, Named]) -> dict[str, Job]:
    return {name: one.job for name, one in named.items() if one.job.trigger is not None and one.job.trigger.recurs}


def _facts(asked: Asked, named: Mapping[str, Job], unknown: dict[str, str]) -> Facts:
    pulse, counts = asked.pulse, asked.pulse.counts
    rings: Mapping[str, Any] = {}
    try:
        rings = asked.served.inspector().lately(list(named))
    except Unsupported as error:
        unknown["history"] = str(error)
    paused = pulse.control.paused.get(SCHEDULE)
    if paused is not None and paused.reason:
        paused = replace(paused, reason=asked.veil.text(paused.reason))
    standing = (counts.waiting, counts.due, counts.running, counts.retrying, counts.held, counts.paused, counts.dead)
    soon = next((job for job in pulse.soon if job.state != "paused" and job.due and job.due > asked.now), None)
    is_told = not pulse.unknown and not counts.unknown
    return Facts(
        schedule=asked.served.name,
        now=asked.now,
        zone=asked.zone,
        is_empty=is_told and paused is None and not any(standing) and not counts.listeners and not counts.totals,
        listeners=None if "listeners" in counts.unknown else counts.listeners,
        busy=sum(len(info.running) for info in pulse.listeners),
        threads=sum(info.threads for info in pulse.listeners),
        due=counts.due,
        late_ms=counts.late_ms,
        waits=counts.paused,
        paused=paused,
        recurring=len(named),
        on_time=sum(_is_on_time(rings.get(name, ())) for name in named),
        failing=_with_errors(asked, list(_failing(asked, named, rings))),
        missed=tuple(_missed(asked, named, rings)),
        died=died_lately(asked),
        next=None if soon is None or soon.due is None else (_title(soon), job_path(soon.name or soon.id), soon.due),
    )


def _title(job: Job) -> str:
    return job.name or shown(job.fn)


def _is_on_time(runs: Iterable[PastRun]) -> bool:
    last = next(iter(runs), None)
    return last is None or (last.ending not in FAILED and last.late_ms < LATE_MS)


def _failing(asked: Asked, named: Mapping[str, Job], rings: Mapping[str, Any]) -> Iterator[Failing]:
    """Find the recurring jobs whose last runs failed: the last one, or three of those that recur often."""
    for name, job in named.items():
        runs = list(takewhile(lambda run: run.ending in FAILED, rings.get(name, ())))
        if runs and (len(runs) >= 3 or not _is_often(job, asked.now)):
            yield Failing(name=name, times=len(runs), last=runs[0].ended)


def _with_errors(asked: Asked, found: list[Failing]) -> tuple[Failing, ...]:
    """Add the last errors, which single runs know and rings do not."""
    if not found:
        return ()
    errors: dict[str, str] = {}
    for run in islice(asked.served.inspector().runs(), MOST_RUNS):
        if run.name is not None and run.error is not None:
            errors.setdefault(run.name, asked.veil.text(run.error))
    return tuple(replace(one, error=errors.get(one.name)) for one in found)


def _is_often(job: Job, now: datetime) -> bool:
    assert job.trigger is not None, "it recurs"
    first = job.trigger.next_after(now)
    second = None if first is None else job.trigger.next_after(first)
    return first is not None and second is not None and second - first < OFTEN


def _missed(asked: Asked, named: Mapping[str, Job], rings: Mapping[str, Any]) -> Iterator[MissedRun]:
    """Find the runs that were missed within a day and not by choice, of each job the last one. One that recurs often
    and has run since is well again.
    """
    seen: set[str] = set()
    try:
        found: Iterable[Missed] = islice(asked.served.inspector().missed(), MOST_MISSED)
        for one in found:
            name = one.name or one.id
            if one.due < asked.now - RECENT or name in seen or name not in named or _by_choice(named[name], one):
                continue
            seen.add(name)
            if _is_often(named[name], asked.now) and any(run.ended > one.due for run in rings.get(name, ())[:1]):
                continue
            yield MissedRun(name=name, due=one.due, why=WHY_MISSED.get(one.reason, one.reason))
    except Unsupported:
        return


def _by_choice(job: Job, missed: Missed) -> bool:
    return (job.terms.overlap if missed.reason == "overlap" else job.terms.catch_up) == "skip"


def _lateness(asked: Asked, unknown: dict[str, str]) -> Lateness | None:
    now = asked.pulse.now_ms
    try:
        buckets = asked.served.inspector().past(ALL, since_ms=now - HOUR_MS, until_ms=now + 1, tier="1")
    except Unsupported as error:
        unknown["history"] = str(error)
        return None
    cell = sum((bucket.cell for bucket in buckets), Cell())
    return quantiles(cell.lateness)


def quantiles(lateness: Buckets) -> Lateness:
    """Tell below which lateness half, 95 % and all of the runs began."""
    return Lateness(half_ms=lateness.below_ms(0.5), most_ms=lateness.below_ms(0.95), latest_ms=lateness.below_ms(1))


def _figures(counts: Counts, facts: Facts) -> Iterator[Figure]:
    for field, text in (
        ("running", "running"), ("due", "due"), ("waiting", "waiting"), ("retrying", "to be tried again"),
        ("held", "held by a limit"), ("paused", "paused"), ("dead", "dead"),
    ):  # fmt: skip
        n: int = getattr(counts, field)
        why = counts.unknown.get(field, "")
        path = "dead" if field == "dead" else f"jobs?state={field}"
        yield Figure(n=None if why else n, text=text, path=path, is_bad=field == "dead" and n > 0, why=why)
    threads = f", {facts.threads:,} threads" if facts.threads else ""
    why = counts.unknown.get("listeners", "")
    text = ("listener" if counts.listeners == 1 else "listeners") + threads
    yield Figure(n=None if why else counts.listeners, text=text, path="listeners", why=why)


PAGE = Page(name="now", path="", title="Now", template="now.html", look=look, icon="now", key="n")
