"""The sentences of the page Now, made from facts. Pure.

`needs` yields the worst trouble first. Its first item is the headline; all items form the section "Needs you".
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta, tzinfo
from typing import Final, Literal
from urllib.parse import urlencode

from workkit.contract.listener import ListenerInfo, PastDeadline
from workkit.errors import ServerRefused, WorkkitError
from workkit.jobs.admission import Pause
from workkit.jobs.names import shown
from workkit.text.glance import at_moment, capital, moment
from workkit.text.glance import away as distance
from workkit.text.wording import MILLISECOND, listed, plural
from workkit.web.cache import Death, Gone, is_silent
from workkit.web.words import Ref, Sentence, job_path, joined, pause_end

OVERDUE_MS: Final = 10_000
"""Time after which a due job counts as overdue, in ms."""

SOON_LOST: Final = timedelta(seconds=15)
"""Longest time between the last view of a server and the moment when its loss is known."""

RECENT: Final = timedelta(hours=24)
"""How long a missed run needs attention."""

GIVEN_BACK: Final = "Every listener has given its jobs back. Their logs say why."
MOST_NEEDS: Final = 8
MOST_PAST: Final = 3  # jobs past their deadline, each with a sentence
Tone = Literal["fail", "late"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Failing:
    """A recurring job with failed last runs: how many in a row, the end of the last one, and its error if known.
    `traceback`: the page that shows it.
    """

    name: str
    times: int
    last: datetime
    error: str | None = None
    traceback: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class MissedRun:
    """A missed run, and the reason, as the end of a sentence."""

    name: str
    due: datetime
    why: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Died:
    """Jobs that died of one error within the last hour."""

    count: int
    since: datetime
    error: str
    print: str = ""
    traceback: str = ""  # page of the last one that died


@dataclass(frozen=True, slots=True, kw_only=True)
class Herd:
    """Runs at one second that the threads cannot start in time. `more`: the consequence, in sentences; `path`: the page
    that shows them.
    """

    at: datetime
    count: int
    more: str
    path: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Mixed:
    """Versions that run at once, each with its number of listeners, and for how long."""

    for_ms: int
    versions: tuple[tuple[str, int], ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Fault:
    """The faults of one kind in the last checkup: the first in a sentence, why it matters, and the number of others."""

    what: str
    why: str
    more: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class Facts:
    """The facts about a schedule at this moment. `recurring`: the number of recurring jobs that were read; `on_time`:
    how many of them neither failed nor began late in their last run. `cannot_run` and `faults` are empty before a
    checkup; `ailing`: the troubles of listeners, each with its consequence; `deaths`: recent deaths of listeners;
    `stuck`: the functions in `cannot_run` that have a due job; `past`: the jobs that are past their deadline or cannot
    meet it.
    """

    schedule: str
    now: datetime
    zone: tzinfo
    is_empty: bool = False
    gone: Gone | None = None
    listeners: int | None = 0
    busy: int = 0
    threads: int = 0
    due: int = 0
    late_ms: int | None = None
    waits: int = 0
    paused: Pause | None = None
    recurring: int = 0
    on_time: int = 0
    failing: tuple[Failing, ...] = ()
    missed: tuple[MissedRun, ...] = ()
    past: tuple[PastDeadline, ...] = ()
    died: tuple[Died, ...] = ()
    cannot_run: tuple[str, ...] = ()
    stuck: tuple[str, ...] = ()
    herds: tuple[Herd, ...] = ()
    faults: tuple[Fault, ...] = ()
    ailing: tuple[tuple[str, str], ...] = ()
    deaths: tuple[Death, ...] = ()
    mixed: Mixed | None = None
    next: tuple[str, str, datetime] | None = field(default=None)  # text, path, due


@dataclass(frozen=True, slots=True, kw_only=True)
class Need:
    """A need of attention: its subject, its reason, its severity. `job`: the job to act on; `traceback`: the page with
    the traceback of its last failure.
    """

    said: Sentence
    why: str = ""
    tone: Tone = "late"
    job: str | None = None
    traceback: str = ""
    is_failing: bool = False
    is_aside: bool = False  # can wait: never the headline
    is_pause: bool = False


def away(ms: int, *, refuses: bool = False) -> Sentence:
    """Say that the server does not answer, or that it answers with a refusal."""
    if refuses:
        return ("The server refuses to answer.",)
    return ("The server does not answer.",) if ms < 1000 else (f"The server has not answered for {distance(ms)}.",)


def away_sentence(
    error: WorkkitError, *, since: datetime | None = None, now: datetime | None = None, zone: tzinfo = UTC
) -> str:
    """Say which server does not answer, its trouble, and since when. The remedy is left out, because it is for
    developers and not for users of the page.
    """
    does = "refuses to answer" if isinstance(error, ServerRefused) else "does not answer"
    why = f": {error.trouble.partition(';')[0]}" if error.trouble else ""
    when = f", since {moment(since.replace(microsecond=0), now or since, zone)}" if since else ""
    return f"{error.where or 'The server'} {does}{why}{when}."


def as_of(seen: datetime, since: datetime, zone: tzinfo) -> str:
    """Say how old the shown view is while a server does not answer."""
    return "then" if since - seen < SOON_LOST else moment(seen.replace(microsecond=0), since, zone)


def sentence(facts: Facts) -> Sentence:
    """Return the headline: the most important fact."""
    if facts.is_empty:
        return (f"Nothing in {facts.schedule} yet, and nobody listens.",)
    first = next((need for need in needs(facts) if not need.is_aside), None)
    if first is None:
        return ("All on time.",)
    return _all_failing(facts.failing) if first.is_failing and len(facts.failing) > 1 else first.said


def needs(facts: Facts) -> Iterator[Need]:
    """Yield all needs of attention, the worst first."""
    if facts.gone is not None:
        yield missing(facts.gone, facts.now, facts.zone)
    yield from _nobody(facts)
    yield from _paused(facts)
    yield from _overdue(facts)
    yield from _past_deadline(facts)
    yield from (_one_failing(one, facts) for one in facts.failing)
    for missed in facts.missed:
        at = at_moment(missed.due, facts.now, facts.zone)
        said = (Ref(missed.name, job_path(missed.name)), f" missed its run {at}: {missed.why}.")
        yield Need(said=said, job=missed.name)
    for died in facts.died:
        at = moment(died.since, facts.now, facts.zone)
        said = (
            Ref(plural(died.count, "job"), f"dead/{died.print}" if died.print else "dead"),
            f" died of one error since {at}.",
        )
        yield Need(said=said, why=died.error, tone="fail", traceback=died.traceback)
    for name in facts.cannot_run:
        if name not in facts.stuck or not _is_overdue(facts):
            yield Need(said=("No listener can run ", _function(name), "."), why=GIVEN_BACK)
    yield from (_herd(herd, facts) for herd in facts.herds)
    for fault in facts.faults:
        more = f", and {fault.more:,} more like it" if fault.more else ""
        yield Need(said=(Ref(capital(fault.what), "doctor"), f"{more}."), why=fault.why, is_aside=True)
    for what, follows in facts.ailing:
        yield Need(said=(Ref(what, "listeners"),), why=follows, tone="fail")
    for death in facts.deaths:
        at = at_moment(death.at.replace(microsecond=0), facts.now, facts.zone)
        jobs = f"; its {plural(death.jobs, 'job')} went to other listeners" if death.jobs else ""
        yield Need(said=(Ref(death.listener, "listeners"), f" died {at}{jobs}."), is_aside=True)
    if facts.mixed is not None:
        number, ago = len(facts.mixed.versions), distance(facts.mixed.for_ms)
        on = [f"{version} on {plural(n, 'listener')}" for version, n in facts.mixed.versions]
        yield Need(said=(Ref(f"{number} versions", "listeners"), f" have run at once for {ago}: {listed(on)}."))


def _herd(herd: Herd, facts: Facts) -> Need:
    said = (
        Ref(f"{herd.count:,} jobs", herd.path),
        f" are due at one second, {moment(herd.at, facts.now, facts.zone)}.",
    )
    return Need(said=said, why=herd.more)


def missing(gone: Gone, now: datetime, zone: tzinfo) -> Need:
    """Say that recurring jobs are gone."""
    count, at = gone.count, moment(gone.since.replace(second=0, microsecond=0), now, zone)
    why = "The server no longer has them, and nobody has cancelled them. Restore its data, or sync the plan again."
    said = (f"{plural(count, 'recurring job')} {'is' if count == 1 else 'are'} gone since {at}.",)
    return Need(said=said, why=why, tone="fail")


def _nobody(facts: Facts) -> Iterator[Need]:
    if facts.listeners != 0:
        return
    if facts.due and facts.late_ms is not None:
        are = "job is" if facts.due == 1 else "jobs are"
        said: Sentence = ("Nobody listens; ", Ref(f"{facts.due:,} {are} due", "jobs?state=due"), _oldest(facts, "for"))
    else:
        said = ("Nobody listens.",)
    yield Need(said=said, why=f"Start a listener where the code is: workkit listen {facts.schedule}", tone="fail")


def _paused(facts: Facts) -> Iterator[Need]:
    if facts.paused is None:
        return
    end = _end(facts.paused, facts)
    reason = f': "{facts.paused.reason}".' if facts.paused.reason else "."
    held = f" {plural(facts.waits, 'job')} {'waits' if facts.waits == 1 else 'wait'}." if facts.waits else ""
    yield Need(
        said=(f"{facts.schedule} is paused{end}{reason}{held}",),
        why="Nothing starts until it is resumed.",
        is_pause=True,
    )


def _end(pause: Pause, facts: Facts) -> str:
    until = pause_end(pause)
    return "" if until is None else f" until {moment(until, facts.now, facts.zone)}"


def _is_overdue(facts: Facts) -> bool:
    """Return whether jobs are overdue for another reason than missing listeners or a pause of the schedule."""
    return bool(facts.listeners and facts.due and (facts.late_ms or 0) >= OVERDUE_MS and facts.paused is None)


def _function(name: str) -> Ref:
    return Ref(shown(name), f"jobs?{urlencode({'q': f'fn:{shown(name)}'})}")


def _overdue(facts: Facts) -> Iterator[Need]:
    if not _is_overdue(facts):
        return
    is_full = facts.threads > 0 and facts.busy >= facts.threads
    why: Sentence = (f": all {facts.threads:,} threads are busy.",) if is_full else (".",)
    if facts.stuck:
        why = (": no listener can run ", *joined([_function(name) for name in facts.stuck]), ".")
    are = "1 job is" if facts.due == 1 else f"{facts.due:,} jobs are"
    jobs, _, verb = are.rpartition(" ")
    said = (Ref(jobs, "jobs?state=due"), f" {verb} overdue{_oldest(facts, 'by')[:-1]}", *why)
    free = "Threads are free, so a limit holds them, or no listener can run them."
    yield Need(said=said, why=GIVEN_BACK if facts.stuck else "" if is_full else free)


def _past_deadline(facts: Facts) -> Iterator[Need]:
    for one in facts.past[:MOST_PAST]:
        job, at = one.job, at_moment(one.deadline, facts.now, facts.zone)
        says = f" is past its deadline {at}." if one.is_past else f" cannot meet its deadline {at}."
        ref = Ref(job.name or f"{job.short_id} {shown(job.fn)}", job_path(job.name or job.id))
        yield Need(said=(ref, says), tone="fail", job=job.name)
    if (more := len(facts.past) - MOST_PAST) > 0:
        does = "is past its deadline" if more == 1 else "are past their deadline"
        yield Need(said=(f"{plural(more, 'more job')} {does}, or cannot meet it.",), tone="fail")


def _oldest(facts: Facts, word: str) -> str:
    by = distance(facts.late_ms or 0)
    return f" {word} {by}." if facts.due == 1 else f", the oldest {word} {by}."


def _all_failing(found: Sequence[Failing]) -> Sentence:
    if len(found) > 2:
        return (Ref(f"{len(found):,} recurring jobs", "recurring?show=failing"), " are failing.")
    return (*joined([Ref(one.name, job_path(one.name)) for one in found]), " are failing.")


def _one_failing(one: Failing, facts: Facts) -> Need:
    ref = Ref(one.name, job_path(one.name))
    at = at_moment(one.last, facts.now, facts.zone)
    said = f" has failed {one.times} times in a row." if one.times > 1 else f" failed {at}."
    why = one.error or (f"The last time {at}." if one.times > 1 else "")
    return Need(said=(ref, said), why=why, tone="fail", job=one.name, traceback=one.traceback, is_failing=True)


def rest(facts: Facts) -> Sentence:
    """Say the other facts in one clause, and the next run."""
    if facts.is_empty:
        return ("Add a job, start a listener, and this page shows what runs, what will, and what did not.",)
    parts: list[str | Ref] = []
    if facts.recurring:
        of = f"{facts.on_time:,} of {plural(facts.recurring, 'recurring job')}"
        parts.append(f"{of} {'is' if facts.on_time == 1 else 'are'} on time. ")
    if facts.next is not None:
        text, path, due = facts.next
        if due > facts.now:
            parts += ["Next is ", Ref(text, path), f", in {distance((due - facts.now) / MILLISECOND)}."]
    return tuple(parts)


def ailing(info: ListenerInfo) -> tuple[str, str] | None:
    """Return the trouble of a listener and its consequence; None: no trouble."""
    if is_silent(info):
        n = len(info.running)
        follows = f"If it stays so, its {plural(n, 'job')} {'goes' if n == 1 else 'go'} to other listeners."
        return f"{info.listener} has been silent for {distance(info.beat_ms or 0)}.", follows if n else ""
    if info.trouble:
        return f"{info.listener}: {info.trouble.rstrip('.')}.", ""
    return None
