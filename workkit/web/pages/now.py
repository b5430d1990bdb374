"""The page Now: is all well, what needs me, what runs, what is next."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime, timedelta, tzinfo
from functools import lru_cache
from itertools import islice
from typing import Any, Final

from workkit.contract.history import ALL, LATE_MS, Bucket, Buckets, Cell, PastRun
from workkit.contract.inspector import Counts
from workkit.contract.listener import ListenerInfo
from workkit.contract.record import counts_record, job_record
from workkit.errors import Unsupported
from workkit.jobs.job import Job
from workkit.text.cells import brief_repr
from workkit.text.glance import TICKING_S, clock_at
from workkit.text.wording import MILLISECOND, iso, plural
from workkit.verbs.opening import by_time_of
from workkit.web.charts.load import MINUTE, MINUTE_STEP, REACH, Spark, Strip, lateness_spark, strip
from workkit.web.forecast import HERD
from workkit.web.page import Asked, Page
from workkit.web.pages.planned_jobs import PlannedJobs, read_planned_jobs
from workkit.web.pages.recurring import took_within
from workkit.web.pages.trouble import crowded
from workkit.web.pages.trouble import facts as read_facts
from workkit.web.pages.window import local_text, read_happened, timeline_path
from workkit.web.sentences import MOST_NEEDS, Facts, Need, needs, rest, sentence
from workkit.web.words import Sentence, left_out, plain

MOST_RUNNING: Final = 5
MOST_NEXT: Final = 7


@dataclass(frozen=True, slots=True, kw_only=True)
class Figure:
    """A count that leads to its list. None: the layout does not count it, and `why` is the reason."""

    n: int | None
    text: str
    path: str
    is_bad: bool = False
    why: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class NowView:
    """The content of the page. `asks`: by job name, the question before a run by hand that would be left out."""

    schedule: str
    now: datetime
    said: Sentence
    rest: Sentence
    counts: Counts
    figures: tuple[Figure, ...]
    needs: tuple[Need, ...]
    running: tuple[Running, ...]
    asks: Mapping[str, str]
    around: Around
    next: tuple[Job, ...]
    is_empty: bool
    is_paused: bool
    unknown: Mapping[str, str]

    def record(self) -> dict[str, Any]:
        """Return the view as a JSON object."""
        late, strip = self.around.lateness, self.around.strip
        return {
            "schedule": self.schedule,
            "as_of": iso(self.now),
            "sentence": plain(self.said),
            "rest": plain(self.rest),
            "counts": counts_record(self.schedule, self.counts),
            "needs": [{"sentence": plain(n.said), "why": n.why, "tone": n.tone, "job": n.job} for n in self.needs],
            "running": [one.record() for one in self.running],
            "lateness": late and {"half_ms": late.half_ms, "p95_ms": late.most_ms, "latest_ms": late.latest_ms},
            "strip": [
                {"start": iso(one.start), "ran": one.ran, "failed": one.failed, "planned": one.planned}
                for one in self.around.minutes
            ],
            "ran": None if strip is None else strip.ran,
            "planned": None if strip is None else strip.planned,
            "next": [job_record(job) for job in self.next],
            "unknown": dict(self.unknown),
        }


def look(asked: Asked) -> NowView:
    """Read the present state of a schedule: its pulse, the last runs of its named recurring jobs, and the time around
    now.
    """
    pulse, counts, unknown = asked.pulse, asked.pulse.counts, dict(asked.pulse.unknown)
    rows = read_planned_jobs(asked.served, pulse.control, unknown, now=asked.now)
    around = read_around(asked, unknown)
    running = running_jobs(pulse.listeners, rows.runs, now=asked.now, most=MOST_RUNNING)
    facts = read_facts(asked, rows, around.last_hour, around.crowds)
    found = () if facts.is_empty else tuple(islice(needs(facts), MOST_NEEDS))
    waiting = [job for job in pulse.soon if job.state != "paused"]
    return NowView(
        schedule=asked.served.name,
        now=asked.now,
        said=sentence(facts),
        rest=rest(facts),
        counts=counts,
        figures=tuple(_figures(counts, facts)),
        needs=found,
        running=tuple(running),
        asks=dict(_asks(found, rows, pulse.listeners)),
        around=around,
        next=tuple(waiting[:MOST_NEXT]),
        is_empty=facts.is_empty,
        is_paused=facts.paused is not None,
        unknown=unknown,
    )


def _asks(found: Sequence[Need], rows: PlannedJobs, listeners: Sequence[ListenerInfo]) -> Iterator[tuple[str, str]]:
    """Yield the question before a run by hand, for troubled jobs where an earlier run prevents a new one."""
    ids = {job.id for info in listeners for job in info.running}
    for row in (rows.named[need.job] for need in found if need.job is not None and need.job in rows.named):
        job = replace(row.job, state="running" if row.job.id in ids else row.recurs.state)
        if question := left_out(job):
            yield row.key, question


def _figures(counts: Counts, facts: Facts) -> Iterator[Figure]:
    for name, text in (
        ("running", "running"), ("due", "due"), ("waiting", "waiting"), ("retrying", "to be tried again"),
        ("held", "held by a limit or a rate"), ("paused", "paused"), ("dead", "dead"),
    ):  # fmt: skip
        n: int = getattr(counts, name)
        why = counts.unknown.get(name, "")
        path = "dead" if name == "dead" else f"jobs?state={name}"
        is_bad = name == "dead" and n > counts.known_dead
        yield Figure(n=None if why else n, text=text, path=path, is_bad=is_bad, why=why)
    threads = f", {facts.threads:,} threads" if facts.threads else ""
    why = counts.unknown.get("listeners", "")
    text = ("listener" if counts.listeners == 1 else "listeners") + threads
    yield Figure(n=None if why else counts.listeners, text=text, path="listeners", why=why)


MINUTE_MS: Final = 60_000
HOUR_MS: Final = 60 * MINUTE_MS
DAY_MS: Final = 24 * HOUR_MS
QUARTER_MS: Final = 15 * MINUTE_MS
SPARK_S: Final = 30.0  # s; how long the cells of a day are cached


@dataclass(frozen=True, slots=True, kw_only=True)
class Lateness:
    """The lateness of runs in the last hour: upper bounds, in ms; None: no run."""

    half_ms: float | None
    most_ms: float | None
    latest_ms: float | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Minute:
    """One minute of the strip: its place in the drawing, and its link. `ran` is 0 for a minute to come."""

    start: datetime
    x: float
    ran: int
    failed: int
    planned: int
    path: str
    says: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Around:
    """The facts about the time around now. None: the layout does not know. `crowds`: the number of jobs for each
    crowded second.
    """

    last_hour: Cell | None
    lateness: Lateness | None
    spark: Spark | None
    strip: Strip | None
    minutes: tuple[Minute, ...] = field(default=(), repr=False)
    crowds: Mapping[datetime, int] = field(default_factory=dict)

    __repr__ = brief_repr


def read_around(asked: Asked, unknown: dict[str, str]) -> Around:
    """Read the cells of past minutes, and count the planned jobs of the minutes ahead: one call each."""
    inspector, now_ms = asked.served.inspector(), asked.pulse.now_ms
    minute_ms = now_ms // MINUTE_MS * MINUTE_MS
    try:
        past = inspector.history.past(ALL, since_ms=minute_ms - HOUR_MS, until_ms=now_ms + 1, tier="1")
    except Unsupported as error:
        unknown["history"] = str(error)
        past = []
    edges = [now_ms, *(minute_ms + k * MINUTE_MS for k in range(1, REACH + 2))]
    counts: Sequence[int] = ()
    crowds: Mapping[datetime, int] = {}
    try:
        by_time = by_time_of(asked.served.s)
        counts = by_time.ahead(edges)
        crowds = asked.served.fresh(
            "crowds",
            lambda: crowded(by_time.ahead, edges, counts),
            given=(edges[1:], counts[1:], counts[0] < HERD),  # the present minute has fewer planned jobs at each read
        )
    except Unsupported as error:
        unknown["ahead"] = str(error)
    cell = None if "history" in unknown else sum((bucket.cell for bucket in past), Cell())
    is_drawn = past or counts
    return Around(
        last_hour=cell,
        lateness=None if cell is None else quantiles(cell.lateness),
        spark=None if cell is None else _spark(asked, unknown),
        strip=strip(past, counts, now=asked.now, zone=asked.zone) if is_drawn else None,
        minutes=tuple(minutes(past, counts, asked, is_past_known=cell is not None)) if is_drawn else (),
        crowds=crowds,
    )


def quantiles(lateness: Buckets) -> Lateness:
    """Return the upper bounds of lateness for half, 95 % and all of the runs."""
    return Lateness(half_ms=lateness.below_ms(0.5), most_ms=lateness.below_ms(0.95), latest_ms=lateness.below_ms(1))


def _spark(asked: Asked, unknown: dict[str, str]) -> Spark:
    """Draw the lateness of the last day, with the events that may have changed it."""
    now_ms, inspector = asked.pulse.now_ms, asked.served.inspector()

    def read() -> Sequence[Bucket]:
        return inspector.history.past(ALL, since_ms=now_ms - DAY_MS - QUARTER_MS, until_ms=now_ms + 1, tier="5")

    cells = asked.served.fresh("lateness", read, seconds=SPARK_S)
    happened = read_happened(asked, asked.now - DAY_MS * MILLISECOND, asked.now, unknown)
    events = [(one.at, one.sentence) for one in happened]
    return lateness_spark(cells, now=asked.now, zone=asked.zone, events=events)


def minutes(past: Sequence[Bucket], counts: Sequence[int], asked: Asked, *, is_past_known: bool) -> Iterator[Minute]:
    """Describe each minute of the strip: its runs, its planned runs, and its place on the Timeline."""
    this = datetime.fromtimestamp(asked.pulse.now_ms // MINUTE_MS * 60, UTC)
    cells = {bucket.start: bucket.cell for bucket in past}
    for k in range(-REACH, REACH + 1):
        start = this + k * MINUTE
        cell = cells.get(start, Cell())
        planned = counts[k] if 0 <= k < len(counts) else 0
        path, at = _minute(start, asked.zone)
        failed = cell.retried + cell.dead
        said = [plural(cell.runs, "run")] if k <= 0 and is_past_known else []
        said += [f"{failed:,} failed"] if failed else []
        said += [f"{planned:,} planned"] if k >= 0 and counts else []
        yield Minute(
            start=start,
            x=(k + REACH) * MINUTE_STEP,
            ran=cell.runs,
            failed=failed,
            planned=planned,
            path=path,
            says=f"{at}: {', '.join(said)}" if said else at,
        )


@lru_cache(1_000)
def _minute(start: datetime, zone: tzinfo) -> tuple[str, str]:
    """Return the address and the time of a minute. Each is shown for two hours."""
    return timeline_path(span="2h", at=local_text(start, zone)), clock_at(start.astimezone(zone))


FARTHEST_MS: Final = 7 * 86_400_000
"""A run with an expected end later than this (ms) is shown without an end."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Running:
    """A running job and its listener. `for_ms`: the time since it was due; `usual_ms`, `p95_ms`, `longest_ms`: upper
    bounds of the duration for half, 95 % and all of its last 60 runs; `done_at`: the expected end at the present pace.
    None: unknown.
    """

    job: Job
    listener: str
    for_ms: int | None = None
    usual_ms: int | None = None
    p95_ms: int | None = None
    longest_ms: int | None = None
    done_at: datetime | None = None

    __repr__ = brief_repr

    @property
    def is_long(self) -> bool:
        """Whether it takes twice the time of 95 % of the last runs, or more. It may have begun a second late."""
        return self.for_ms is not None and self.p95_ms is not None and self.for_ms >= 2 * self.p95_ms + LATE_MS

    @property
    def is_longest(self) -> bool:
        """Whether it is long, and also longer than each of the last runs."""
        return self.is_long and self.for_ms is not None and self.for_ms > (self.longest_ms or 0) + LATE_MS

    def record(self) -> dict[str, Any]:
        """Return the view as a JSON object."""
        return job_record(self.job) | {
            "listener": self.listener,
            "for_ms": self.for_ms,
            "usual_ms": self.usual_ms,
            "p95_ms": self.p95_ms,
            "done": None if self.done_at is None else iso(self.done_at),
        }


def running_jobs(
    listeners: Sequence[ListenerInfo], runs: Mapping[str, Sequence[PastRun]], *, now: datetime, most: int
) -> list[Running]:
    """List the running jobs, by due time. `runs`: the last runs of recurring jobs, by name or else id."""
    found = [(job, info.listener) for info in listeners for job in info.running]
    found.sort(key=lambda one: (one[0].due is None, one[0].due))
    return [_running(job, listener, runs.get(job.name or job.id, ()), now) for job, listener in found[:most]]


def _running(job: Job, listener: str, runs: Sequence[PastRun], now: datetime) -> Running:
    for_ms = None if job.due is None else max(0, int((now - job.due) / MILLISECOND))
    usual, p95, longest = (took_within(runs, share) for share in (0.5, 0.95, 1.0))
    done_at = None if for_ms is None else _done_at(job.progress, for_ms, now)
    return Running(
        job=job, listener=listener, for_ms=for_ms, usual_ms=usual, p95_ms=p95, longest_ms=longest, done_at=done_at
    )


def _done_at(progress: tuple[float, float] | str | None, for_ms: int, now: datetime) -> datetime | None:
    """Estimate when a run is done, rounded up to a minute, or to ten seconds where it is near."""
    if progress is None or isinstance(progress, str) or not 0 < progress[0] < progress[1]:
        return None
    left_ms = for_ms * (progress[1] / progress[0] - 1)
    if not 0 < left_ms < FARTHEST_MS:
        return None
    step = 60 if left_ms >= TICKING_S * 1000 else 10
    at = (now + timedelta(milliseconds=left_ms)).replace(microsecond=0)
    return at + timedelta(seconds=-(at.minute * 60 + at.second) % step)


PAGE = Page(name="now", path="", title="Now", template="now.html", look=look, icon="now", key="n")
