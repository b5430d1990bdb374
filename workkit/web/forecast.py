"""The time ahead: herds, overlaps of long runs, ends of pauses, clock changes and last runs, as remarks. Pure.

The caller computes the instants of each job once (`instants`) and keeps them for a window, because they depend only on
the trigger and the window.
"""

from __future__ import annotations

import heapq
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta, tzinfo
from math import isinf
from typing import Final, Literal

from workkit.contract.history import LATE_MS, NO_RUN, PastRun
from workkit.text.cells import brief_repr
from workkit.text.glance import away, clock_at, day_text, moment
from workkit.text.wording import MILLISECOND, date_text, duration_text, listed, time_text
from workkit.triggers import Trigger
from workkit.triggers.when import touched
from workkit.triggers.zone import ClockChange, clock_changes
from workkit.web.words import city, moves

MOST_INSTANTS: Final = 5_000  # most instants of one job in a window
HERD: Final = 50  # runs due in one second
HERD_MS: Final = 5_000.0  # ms; a herd in which the last run waits less needs no remark
SPREADS: Final = {60_000: "1 minute", 300_000: "5 minutes", 900_000: "15 minutes", 3_600_000: "1 hour"}
LONG_MS: Final = 60_000.0  # ms; overlaps are checked for jobs that usually take longer
MOST_LONG: Final = 200
SECOND: Final = timedelta(seconds=1)
MOST_NAMED: Final = 3

Kind = Literal["herd", "overlap", "pause", "clock", "last"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Planned:
    """A job, with the facts that the forecast needs. `instants`: when it runs, in order; `usual_ms`: its median
    duration; `lately`: its last runs; `catch_up`: from its terms; `paused_since`, `paused_until`, `paused_for`: its
    pause; `count`: the number of runs left.
    """

    name: str
    trigger: Trigger | None
    instants: Sequence[datetime] = field(repr=False)
    usual_ms: float = 0.0
    lately: Sequence[PastRun] = field(default=(), repr=False)
    catch_up: str | None = None
    is_paused: bool = False
    paused_since: datetime | None = None
    paused_until: datetime | None = None
    count: int | None = None

    __repr__ = brief_repr


@dataclass(frozen=True, slots=True, kw_only=True)
class Remark:
    """A remark. `head`: the event, `more`: its consequence; `mark`: a short text above the axis, "" for none; `names`:
    the jobs that it concerns, only some of them where there are many.
    """

    at: datetime
    kind: Kind
    head: str
    more: str
    mark: str = ""
    names: tuple[str, ...] = ()

    __repr__ = brief_repr

    @property
    def says(self) -> str:
        """Both sentences."""
        return f"{self.head} {self.more}".strip()


def instants(trigger: Trigger, *, since: datetime, until: datetime, most: int = MOST_INSTANTS) -> list[datetime]:
    """List when a trigger fires after `since`, up to `until`; at most `most` instants."""
    found: list[datetime] = []
    at = since
    while len(found) < most and (following := trigger.next_after(at)) is not None and following <= until:
        found.append(following)
        at = following
    return found


def forecast(
    jobs: Sequence[Planned],
    *,
    now: datetime,
    until: datetime,
    zone: tzinfo,
    threads: int,
    one_time: Mapping[datetime, tuple[int, float]] | None = None,
) -> list[Remark]:
    """List the remarks from `now` to `until`, in order of time. `threads`: those of all listeners. `one_time`: for each
    second, how many one-time jobs are due, and how long they usually take (ms).
    """
    active = [job for job in jobs if not job.is_paused or job.paused_until is not None]
    found = [
        *_herds(active, one_time or {}, now=now, until=until, zone=zone, threads=threads),
        *_overlaps(active, now=now, until=until, zone=zone),
        *_pauses(jobs, now=now, until=until),
        *_clocks(jobs, now=now, until=until, zone=zone),
        *_last_runs(active, now=now, until=until, zone=zone),
    ]
    return sorted(found, key=lambda remark: remark.at)


def nothing(hours: str) -> str:
    """Say that there is no remark for a span such as ``24 hours``."""
    return f"Nothing unusual in the next {hours}."


def _running(job: Planned, now: datetime, until: datetime) -> Iterator[datetime]:
    """Yield the instants at which a job runs, without those within its pause."""
    return (at for at in job.instants if now <= at <= until and (job.paused_until is None or at >= job.paused_until))


def _herds(
    jobs: Sequence[Planned],
    one_time: Mapping[datetime, tuple[int, float]],
    *,
    now: datetime,
    until: datetime,
    zone: tzinfo,
    threads: int,
) -> Iterator[Remark]:
    at_second: defaultdict[datetime, list[int]] = defaultdict(list)
    for k, job in enumerate(jobs):
        for at in _running(job, now, until):
            at_second[at].append(k)
    alike: dict[tuple[tuple[int, ...], tuple[int, float]], list[datetime]] = {}
    for at in sorted({*at_second, *one_time}):
        runs_once = one_time.get(at, (0, 0.0))
        if now <= at <= until and len(at_second.get(at, ())) + runs_once[0] >= HERD:
            alike.setdefault((tuple(at_second.get(at, ())), runs_once), []).append(at)
    for (members, once), times in alike.items():
        took = [jobs[k].usual_ms for k in members] + [once[1]] * once[0]
        wait = last_start_ms(took, threads=threads)
        if wait >= HERD_MS:
            more = herd_text(took, threads=threads)
            if len(times) > 1:
                more += f" {_again(times[1:], now, zone)}"
            yield Remark(
                at=times[0],
                kind="herd",
                head=f"{len(took):,} jobs at one second.",
                more=more,
                mark=f"{len(took):,}",
                names=tuple(jobs[k].name for k in members[:MOST_NAMED]),
            )


def herd_text(took_ms: Sequence[float], *, threads: int) -> str:
    """Say how long jobs that are due together wait, and the effect of a spread: ``60 threads take 41 s to start the
    last of them. Spread over 5 minutes, it would start 2 s late.``
    """
    wait = last_start_ms(took_ms, threads=threads)
    if isinf(wait):
        return "Nobody listens now."
    who = "One thread takes" if threads == 1 else f"{threads:,} threads take"
    said = f"{who} {_about(wait)} to start the last of them."
    spread = best_spread_ms(took_ms, threads=threads)
    if spread is None:
        return said
    rest = last_start_ms(took_ms, threads=threads, over_ms=spread)
    how = f"{_about(rest)} late" if rest >= LATE_MS else "in time"
    return f"{said} Spread over {SPREADS[spread]}, it would start {how}."


def best_spread_ms(took_ms: Sequence[float], *, threads: int) -> int | None:
    """Return the shortest usual spread (ms) with which the last job starts within 5 s; the longest one where it halves
    the wait; None where none helps.
    """
    wait = last_start_ms(took_ms, threads=threads)
    if isinf(wait):
        return None
    for spread in SPREADS:
        if last_start_ms(took_ms, threads=threads, over_ms=spread) < HERD_MS:
            return spread
    longest = max(SPREADS)
    return longest if 2 * last_start_ms(took_ms, threads=threads, over_ms=longest) <= wait else None


def _about(ms: float) -> str:
    return duration_text(round(ms / 1000) * 1000) if ms >= 1000 else duration_text(ms)


def _again(times: Sequence[datetime], now: datetime, zone: tzinfo) -> str:
    named = [moment(at, now, zone) for at in times[:2]]
    rest = len(times) - len(named)
    return f"The same at {listed([*named, f'{rest:,} more times'] if rest > 0 else named)}."


def _overlaps(jobs: Sequence[Planned], *, now: datetime, until: datetime, zone: tzinfo) -> Iterator[Remark]:
    """Yield pairs of long runs that will overlap, where one of the two started late in such an overlap before."""
    long = sorted((job for job in jobs if job.usual_ms >= LONG_MS), key=lambda job: -job.usual_ms)[:MOST_LONG]
    spans = sorted(
        ((at, at + job.usual_ms * MILLISECOND, k) for k, job in enumerate(long) for at in _running(job, now, until)),
        key=lambda span: span[:2],
    )
    seen: set[tuple[int, int]] = set()
    going: list[tuple[datetime, datetime, int]] = []
    for start, end, k in spans:
        going = [one for one in going if one[1] > start]
        for _, other_end, other in going:
            pair = (min(k, other), max(k, other))
            if k == other or pair in seen:
                continue
            seen.add(pair)
            hurt = _hurt(long[pair[0]], long[pair[1]])
            if hurt is None:
                continue
            together = min(end, other_end) - start
            name, run = hurt
            head = f"{long[pair[0]].name} and {long[pair[1]].name} overlap for {away(together / MILLISECOND)}."
            then = day_text(run.due.astimezone(zone).date(), now.astimezone(zone).date())
            more = f"{then[:1].upper()}{then[1:]} {name} started {duration_text(run.late_ms)} late then."
            names = (long[pair[0]].name, long[pair[1]].name)
            yield Remark(at=start, kind="overlap", head=head, more=more, mark="2", names=names)
        going.append((start, end, k))


def _hurt(one: Planned, other: Planned) -> tuple[str, PastRun] | None:
    """Return the last run of either job that started late while the other job ran."""
    found = [
        (late.due, job.name, late)
        for job, beside in ((one, other), (other, one))
        for late in job.lately
        if late.ending not in NO_RUN and late.late_ms >= LATE_MS
        if any(
            run.ending not in NO_RUN and run.due + run.late_ms * MILLISECOND <= _start(late) and run.ended >= late.due
            for run in beside.lately
        )
    ]
    if not found:
        return None
    _, name, run = max(found, key=lambda one: one[0])
    return name, run


def _start(run: PastRun) -> datetime:
    return run.due + run.late_ms * MILLISECOND


def _pauses(jobs: Iterable[Planned], *, now: datetime, until: datetime) -> Iterator[Remark]:
    for job in jobs:
        end = job.paused_until
        if not job.is_paused or end is None or not now <= end <= until:
            continue
        since = job.paused_since
        after = "" if since is None else f" after {away((end - since) / MILLISECOND)}"
        count = _held(job, since or now, end)
        yield Remark(
            at=end, kind="pause", head=f"{job.name} goes on{after}.", more=_caught_up(job, count), names=(job.name,)
        )


def _held(job: Planned, since: datetime, end: datetime) -> int:
    if job.trigger is None:
        return sum(since < at < end for at in job.instants)
    return len(instants(job.trigger, since=since, until=end - SECOND))


def _caught_up(job: Planned, count: int) -> str:
    if not count:
        return "No run is due meanwhile."
    runs = f"{count:,}{'+' if count == MOST_INSTANTS else ''} run{'' if count == 1 else 's'}"
    verb = "is" if count == 1 else "are"
    if job.catch_up == "skip":
        return f"{runs} {verb} left out, none is caught up."
    if job.catch_up == "all" or count == 1:
        return f"{runs} {verb} due meanwhile, and {verb} caught up."
    return f"{runs} {verb} due meanwhile, one is caught up."


def _clocks(jobs: Iterable[Planned], *, now: datetime, until: datetime, zone: tzinfo) -> Iterator[Remark]:
    touched_by: dict[ClockChange, dict[datetime, list[str]]] = {}
    for job in jobs:
        if job.trigger is None or not job.trigger.recurs or job.trigger.tz == "UTC":
            continue
        for change in clock_changes(job.trigger.tz, now, until):
            walls = touched_by.setdefault(change, {})
            if (wall := touched(job.trigger, change)) is not None:
                walls.setdefault(wall, []).append(job.name)
    for change, walls in touched_by.items():
        head = f"{moves(change).replace('clocks', f'Clocks in {city(change.tz)}', 1)} on {_date(change)}."
        names = [name for wall in sorted(walls) for name in walls[wall]]
        more = " ".join(_came(change, wall, walls[wall]) for wall in sorted(walls)) or "No job runs in that hour."
        yield Remark(at=change.at, kind="clock", head=head, more=more, names=tuple(names[:MOST_NAMED]))


def _date(change: ClockChange) -> str:
    return date_text(change.wall_from).removesuffix(f" {change.wall_from.year}")


def _came(change: ClockChange, wall: datetime, names: Sequence[str]) -> str:
    who, runs = _named(names), "runs" if len(names) == 1 else "run"
    if change.skips:
        return f"{time_text(wall)} does not exist then: {who} {runs} at {time_text(change.wall_to)}."
    return f"{time_text(wall)} comes twice: {who} {runs} the first time."


def _named(names: Sequence[str]) -> str:
    shown, rest = list(names[:MOST_NAMED]), len(names) - MOST_NAMED
    return listed([*shown, f"{rest:,} more"] if rest > 0 else shown)


def _last_runs(jobs: Iterable[Planned], *, now: datetime, until: datetime, zone: tzinfo) -> Iterator[Remark]:
    for job in jobs:
        left = list(_running(job, now, until))
        if job.trigger is None or not job.trigger.recurs or not left:
            continue
        if job.count is not None and len(left) >= job.count > 0:
            last, why = left[job.count - 1], "It has run as often as it should then."
        elif job.trigger.next_after(left[-1]) is None:
            last, why = left[-1], "Its time ends then."
        else:
            continue
        day = day_text(last.astimezone(zone).date(), now.astimezone(zone).date())
        at = (
            f"{day} at {clock_at(last.astimezone(zone))}" if day != "today" else f"at {clock_at(last.astimezone(zone))}"
        )
        yield Remark(at=last, kind="last", head=f"{job.name} runs for the last time {at}.", more=why, names=(job.name,))


MOST_JOBS: Final = 20_000  # jobs computed one by one; the rest is extrapolated


def last_start_ms(took_ms: Sequence[float], *, threads: int, over_ms: float = 0.0) -> float:
    """Return how late the last of these jobs starts, in ms. All are due at one time, or spread evenly over `over_ms`;
    each has its usual duration; they share `threads`. Without a thread: infinity.
    """
    if not took_ms:
        return 0.0
    if threads < 1:
        return float("inf")
    count = len(took_ms)
    looked = took_ms[:MOST_JOBS]
    step = over_ms / count
    free = [0.0] * min(threads, len(looked))
    worst = 0.0
    for k, took in enumerate(looked):
        due = k * step
        start = max(due, heapq.heappop(free))
        worst = max(worst, start - due)
        heapq.heappush(free, start + max(0.0, took))
    if count > len(looked):  # in proportion: each further job adds the same wait
        worst *= count / len(looked)
    return worst
