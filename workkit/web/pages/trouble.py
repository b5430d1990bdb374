"""The facts of the page Now: reads the troubles of a schedule. `workkit.web.sentences` makes sentences of them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from itertools import islice, pairwise, takewhile
from typing import Final

from workkit.contract.doctor import Finding
from workkit.contract.history import Cell, PastRun
from workkit.contract.inspector import Missed
from workkit.contract.listener import ListenerInfo
from workkit.errors import Unsupported
from workkit.jobs.admission import SCHEDULE
from workkit.jobs.job import Job
from workkit.jobs.names import shown
from workkit.web.cache import MANY as MANY_ROWS
from workkit.web.dead_jobs import KnownDead, by_error
from workkit.web.forecast import HERD, forecast
from workkit.web.page import Asked
from workkit.web.pages.planned_jobs import PlannedJob, PlannedJobs, period
from workkit.web.pages.window import local_text, timeline_path
from workkit.web.recurring_jobs import in_a_row
from workkit.web.sentences import RECENT, Died, Facts, Failing, Fault, Herd, MissedRun, Mixed, ailing
from workkit.web.words import job_path

OFTEN: Final = timedelta(hours=1)
"""A job that recurs at least this often needs attention only where its last three runs failed."""

MOST_MISSED, MOST_RUNS = 200, 1000
MOST_HERDS: Final = 2
HERDS_S: Final = 30.0  # s; how long herds are cached where many jobs recur
MOST_DEATHS: Final = 3
MOST_PLANNED: Final = 2_000  # most recurring jobs searched for herds
MIXED_MS: Final = 600_000  # ms; several versions may run at once for this long
WHY_MISSED: Final = {"late": "nobody started it in time", "overlap": "another run of it had not ended"}


def facts(asked: Asked, rows: PlannedJobs, last_hour: Cell | None, crowds: Mapping[datetime, int]) -> Facts:
    """Read the facts. `last_hour`: the counts of the last hour, if they are kept; `crowds`: the number of jobs for each
    crowded second.
    """
    pulse, counts = asked.pulse, asked.pulse.counts
    paused = asked.veil.pause(pulse.control.paused.get(SCHEDULE))
    standing = (counts.waiting, counts.due, counts.running, counts.retrying, counts.held, counts.paused, counts.dead)
    soon = next((job for job in pulse.soon if job.state != "paused" and job.due and job.due > asked.now), None)
    is_told = not pulse.unknown and not counts.unknown
    threads = sum(info.threads for info in pulse.listeners)
    cannot_run, faults = look_over(asked)
    gone = asked.served.seen.gone
    is_empty = is_told and paused is None and not any(standing) and not counts.listeners and not counts.totals
    return Facts(
        schedule=asked.served.name,
        now=asked.now,
        zone=asked.zone,
        is_empty=is_empty and gone is None,
        gone=gone,
        listeners=None if "listeners" in counts.unknown else counts.listeners,
        busy=sum(info.busy for info in pulse.listeners),
        threads=threads,
        due=counts.due,
        late_ms=counts.late_ms,
        waits=counts.paused,
        paused=paused,
        recurring=len(rows),
        on_time=rows.on_time,
        failing=_with_errors(asked, rows, list(_failing(rows, asked.now))),
        missed=tuple(_missed(asked, rows)),
        past=counts.past_deadline,
        died=_died(asked, last_hour),
        herds=() if paused else tuple(_kept_herds(asked, rows, crowds, threads)),
        cannot_run=cannot_run,
        stuck=_stuck(pulse.soon, cannot_run),
        faults=faults,
        ailing=tuple(wrong for info in pulse.listeners if (wrong := ailing(info)) is not None),
        deaths=tuple(asked.served.deaths.lately(asked.now)[:MOST_DEATHS]),
        mixed=mixed(pulse.listeners),
        next=None if soon is None or soon.due is None else (_title(soon), job_path(soon.name or soon.id), soon.due),
    )


def _stuck(soon: Sequence[Job], cannot_run: Sequence[str]) -> tuple[str, ...]:
    """Return the functions of due jobs that no listener can run."""
    return tuple(dict.fromkeys(job.fn for job in soon if job.state == "due" and job.fn in cannot_run))


def _title(job: Job) -> str:
    return job.name or shown(job.fn)


def _failing(rows: PlannedJobs, now: datetime) -> Iterator[Failing]:
    """Yield the named recurring jobs that failed last: once, or three times in a row for those that recur often."""
    for row in rows.failed:
        times = in_a_row(row.runs)
        if times >= 3 or not _is_often(row, now):
            yield Failing(name=row.name, times=times, last=row.runs[0].ended)


def _with_errors(asked: Asked, rows: PlannedJobs, found: list[Failing]) -> tuple[Failing, ...]:
    """Add the last errors, which only single runs hold, and the paths of their tracebacks."""
    if not found:
        return ()
    last: dict[str, PastRun] = {}
    for run in asked.served.recent.read(asked.served.inspector().history.runs, asked.now)[:MOST_RUNS]:
        if run.name is not None and run.error is not None:
            last.setdefault(run.name, run)
    dead, known = asked.dead(), []
    for one in found:
        row, single = rows.named[one.name], last.get(one.name)
        retrying = row.recurs.attempt if row.recurs.state == "retrying" else 0
        path = dead.traceback_path(single or row.runs[0], one.name, retrying=retrying)
        error = None if single is None else asked.veil.run(single).error or ""
        known.append(replace(one, error=error, traceback=path))
    return tuple(known)


def _is_often(row: PlannedJob, now: datetime) -> bool:
    return period(row.trigger, now.date()) < OFTEN


def _missed(asked: Asked, rows: PlannedJobs) -> Iterator[MissedRun]:
    """Yield the last run of each job that was missed within a day and not by choice. A job that recurs often and has
    run since is left out.
    """
    known = rows.named
    seen: set[str] = set()
    try:
        for one in _last_missed(asked, len(rows)):
            name = one.name or one.id
            row = known.get(name)
            if one.due < asked.now - RECENT or name in seen or row is None or _by_choice(row.job, one):
                continue
            seen.add(name)
            if _is_often(row, asked.now) and any(run.ended > one.due for run in row.runs[:1]):
                continue
            yield MissedRun(name=name, due=one.due, why=WHY_MISSED.get(one.reason, one.reason))
    except Unsupported:
        return


def _last_missed(asked: Asked, count: int) -> Sequence[Missed]:
    """Read the last missed runs, cached where many jobs recur, because many may be missed at once."""

    def read() -> Sequence[Missed]:
        return list(islice(asked.served.inspector().history.missed(), MOST_MISSED))

    return asked.served.fresh("missed", read) if count > MANY_ROWS else read()


def _by_choice(job: Job, missed: Missed) -> bool:
    return (job.terms.overlap if missed.reason == "overlap" else job.terms.catch_up) == "skip"


def _died(asked: Asked, last_hour: Cell | None) -> tuple[Died, ...]:
    """Read the dead jobs only where the counts of the hour show enough deaths."""
    if last_hour is not None and last_hour.dead < MANY_DEAD:
        return ()
    return died_lately(asked)


def _kept_herds(
    asked: Asked, rows: Sequence[PlannedJob], crowds: Mapping[datetime, int], threads: int
) -> Iterator[Herd]:
    seconds, stays = asked.served.spans(len(rows), seconds=HERDS_S)
    found = asked.served.fresh(
        f"herds {asked.zone}",
        lambda: tuple(_herds(asked, rows, crowds, threads)),
        seconds=seconds, stays=stays, given=(asked.pulse.control, threads, len(rows)),
    )  # fmt: skip
    return (herd for herd in found if herd.at >= asked.now)


def _herds(asked: Asked, rows: Sequence[PlannedJob], crowds: Mapping[datetime, int], threads: int) -> Iterator[Herd]:
    """Yield the next herds: recurring jobs within a day, with the other jobs due in such a second."""
    if not threads:
        return  # the lack of listeners has its own sentence
    until = asked.now + RECENT
    planned = [row.planned(asked.now, until) for row in rows[:MOST_PLANNED] if row.pause is None]
    one_time = one_time_crowds(crowds, rows, asked.now)
    found = forecast(planned, now=asked.now, until=until, zone=asked.zone, threads=threads, one_time=one_time)
    for remark in islice((one for one in found if one.kind == "herd"), MOST_HERDS):
        path = timeline_path(span="2h", at=local_text(remark.at, asked.zone))
        yield Herd(at=remark.at, count=int(remark.mark.replace(",", "")), more=remark.more, path=path)


def one_time_crowds(
    crowds: Mapping[datetime, int], rows: Iterable[PlannedJob], now: datetime
) -> dict[datetime, tuple[int, float]]:
    """Remove the recurring jobs from the crowds. Each is counted there by its next run. The durations of the other jobs
    are unknown; they count as short.
    """
    nexts = Counter(row.next(now) for row in rows) if crowds else Counter[datetime | None]()
    return {at: (n - nexts[at], 0.0) for at, n in crowds.items() if n > nexts[at]}


def mixed(listeners: Iterable[ListenerInfo]) -> Mixed | None:
    """Return the versions that have run at once for more than ten minutes, and for how long."""
    oldest: dict[str, int] = {}
    count: Counter[str] = Counter()
    for info in listeners:
        if info.pid:  # a listener without a description has no version
            oldest[info.version] = max(oldest.get(info.version, 0), info.up_ms or 0)
            count[info.version] += 1
    if len(oldest) < 2 or (together := min(oldest.values())) <= MIXED_MS:
        return None
    return Mixed(for_ms=together, versions=tuple(count.most_common()))


MOST_FAULTS: Final = 3  # most kinds of faults; Doctor shows all
SEEN_BY_NOW: Final = frozenset(
    {"no-listener", "overdue", "paused", "dead", "versions", "stale", "stuck", "stalled"}
)  # kinds of faults that Now finds by itself, and sooner


def look_over(asked: Asked) -> tuple[tuple[str, ...], tuple[Fault, ...]]:
    """Return the functions that no listener can run, and the other faults of the last checkup. It does not wait for a
    checkup. Where the last one is old and the viewer stays, a checkup begins.
    """
    checked = asked.served.checkup.glance()
    if checked is None:
        return (), ()
    known = [asked.veil.finding(one) for one in checked.findings]
    cannot_run = _cannot_run(asked, known)
    return cannot_run, tuple(islice(faults(one for one in known if one.fn not in cannot_run), MOST_FAULTS))


def faults(findings: Iterable[Finding]) -> Iterable[Fault]:
    """Group faults by kind, in the order in which they were found."""
    kinds: dict[str, list[Finding]] = {}
    for one in findings:
        if one.kind not in SEEN_BY_NOW:
            kinds.setdefault(one.kind, []).append(one)
    return (Fault(what=alike[0].what, why=alike[0].why, more=len(alike) - 1) for alike in kinds.values())


def _cannot_run(asked: Asked, findings: Iterable[Finding]) -> tuple[str, ...]:
    """Return the functions that listeners have released jobs of and that no listener publishes. A listener that knows
    them may have started since.
    """
    names = list(dict.fromkeys(one.fn for one in findings if one.fn is not None))
    if not names or not asked.pulse.counts.listeners:
        return ()
    try:
        known = asked.served.inspector().history.knows()
    except Unsupported:
        known = {}
    return tuple(name for name in names if name not in known)


MANY_DEAD: Final = 10
LATELY: Final = timedelta(hours=1)


def died_lately(asked: Asked) -> tuple[Died, ...]:
    """Return the errors that killed 10 or more jobs within an hour, the largest first. No call is made where fewer are
    dead.
    """
    count = asked.pulse.counts.dead
    if count - asked.pulse.counts.known_dead < MANY_DEAD:
        return ()
    known = asked.dead()
    until_ms = asked.pulse.control.known_dead_ms or 0
    return asked.served.fresh(
        "died", lambda: _lately(known, asked.now, until_ms), given=(asked.veil, known.dead_jobs, until_ms)
    )


def _lately(known: KnownDead, now: datetime, until_ms: int) -> tuple[Died, ...]:
    """Return the deaths after the acknowledged ones, up to `until_ms`."""
    first_ms = max((now - LATELY).timestamp() * 1000, until_ms + 1)
    lately = tuple(takewhile(lambda dead_job: dead_job.died_ms >= first_ms, known.dead_jobs))
    groups = known.groups if len(lately) == len(known.dead_jobs) else by_error(lately)
    return tuple(
        Died(
            count=group.n,
            since=group.died[-1],
            error=group.dead_jobs[0].job.error or "",
            print=group.print,
            traceback=group.dead_jobs[0].path,
        )
        for group in groups
        if group.n >= MANY_DEAD
    )


WIDEST: Final = 4  # spans searched, for each length
PARTS: Final = 60
SECOND_MS: Final = 1_000

Ahead = Callable[[Sequence[int]], list[int]]


def crowded(ahead: Ahead, edges: Sequence[int], counts: Sequence[int]) -> dict[datetime, int]:
    """Find the seconds with 50 runs or more ahead, from counts of spans between `edges` (epoch ms). It searches the
    four fullest spans, with one call for each length. `ahead` counts as `ByTime.ahead` does. All edges but the first
    and the last are whole seconds.
    """
    spans = [(n, span) for n, span in zip(counts, pairwise(edges), strict=True) if n >= HERD]
    found: dict[datetime, int] = {}
    while spans:
        widest = sorted(spans, key=lambda one: -one[0])[:WIDEST]
        spans = []
        parts: list[tuple[int, int]] = []
        for n, (since, until) in widest:
            if until - since <= SECOND_MS:
                found[datetime.fromtimestamp(since // 1000, UTC)] = n
            else:
                parts += pairwise(_parts_of(since, until))
        if parts:
            spans = [one for one in _counted(ahead, parts) if one[0] >= HERD]
    return found


def _counted(ahead: Ahead, parts: Sequence[tuple[int, int]]) -> list[tuple[int, tuple[int, int]]]:
    """Count in all parts at once. The parts of one span touch; counts between two spans are left out."""
    edges = sorted({edge for part in parts for edge in part})
    counts = dict(zip(pairwise(edges), ahead(edges), strict=True))
    return [(counts[part], part) for part in dict.fromkeys(parts)]


def _parts_of(since: int, until: int) -> list[int]:
    """Divide a span at whole seconds into at most 60 parts. The first and the last part may be shorter."""
    first = since // SECOND_MS * SECOND_MS
    step = max(SECOND_MS, -(-(until - first) // PARTS // SECOND_MS) * SECOND_MS)
    return [since, *range(first + step, until, step), until]
