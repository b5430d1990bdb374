"""Read a gocraft namespace: jobs in every state, counts, pools, pauses. It changes nothing."""

from __future__ import annotations

import heapq
import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from itertools import islice, pairwise
from time import monotonic
from typing import Any, Final, NoReturn

from workkit.brokers.gocraft.codec import as_job
from workkit.brokers.gocraft.keys import SIGNS, Keys, sign_keys
from workkit.brokers.gocraft.places import STATE, Places, Standing, Walk, timed_standing
from workkit.brokers.gocraft.text import read
from workkit.brokers.redis_server.control import whole_ms
from workkit.brokers.redis_server.key_names import Found, Signs, find_names
from workkit.brokers.redis_server.pages import (
    ms_of,
    page_after,
    piped,
    place_before,
    place_behind,
    read_place,
    server_ms,
    stand,
)
from workkit.brokers.redis_server.server import Server
from workkit.contract.composed import composed_pulse, counted_page
from workkit.contract.inspector import Counts, Graves, IsKnown, LimitUse, Pulse, Recurs, no_recurring, worst_first
from workkit.contract.listener import ListenerInfo, Serving
from workkit.contract.optional import no_history
from workkit.contract.where import JobPage, JobQuery
from workkit.errors import Ambiguous, CorruptRecord, NotFound
from workkit.jobs.admission import SCHEDULE, Control, Pause, pause_text
from workkit.jobs.job import Job, JobState
from workkit.jobs.names import shown
from workkit.jobs.terms import instant_of
from workkit.text.nearest import nearest_word

SHORTEST = 6  # fewest characters of an id that name a job
DEAD_KEPT = 100_000  # as in lua/parts/keep.lua
NAMESPACES = Signs(SIGNS, globs=("*:[kw]*[sd]",))
MOST_NEAR = 5000  # jobs to search for the nearest id


def namespaces(server: Server, *, seconds: float | None = None) -> Found:
    """Find the namespaces of a server, except the empty one. Search for at most `seconds`."""
    return find_names(server, NAMESPACES, seconds=seconds)


@dataclass(frozen=True, slots=True)
class GocraftInspector:
    """Reads one namespace."""

    server: Server
    keys: Keys
    schedule: str

    def is_known(self) -> bool:
        """Say whether the server knows the namespace."""
        with self.server.translated() as client:
            return bool(client.exists(*sign_keys(self.keys)))

    def counts(self) -> Counts:
        """Count the jobs in each state: see `Inspector.counts`."""
        names, pools, control = self._places.names(), self._places.pools(), read_control(self.server, self.keys)
        due = paused = running = 0
        late: list[int] = []
        now_ms = server_ms(self.server)

        def ask(pipe: Any) -> None:
            for key in (self.keys.scheduled, self.keys.held, self.keys.retry, self.keys.held_retry, self.keys.dead):
                pipe.zcard(key)
            for pool in pools:
                pipe.scard(self.keys.cancelled(pool))
            for name in names:
                pipe.llen(self.keys.queue(name))
                pipe.lindex(self.keys.queue(name), -1)
                for pool in pools:
                    pipe.llen(self.keys.in_progress(name, pool))

        answers = iter(piped(self.server, ask, whole=True))  # in one step, so that a job that moves is counted once
        sets = list(islice(answers, 5 + len(pools)))
        for name in names:
            length, oldest, *held = islice(answers, 2 + len(pools))
            running += sum(held)
            if pause_of(name, control) is not None:
                paused += length
                continue
            due += length
            if oldest is not None and (at := self._queued_at(oldest)) is not None:
                late.append(now_ms - at)
        cancelling = sum(sets[5:])
        return Counts(
            waiting=sets[0] + sets[1],
            retrying=sets[2] + sets[3],
            dead=sets[4],
            due=due,
            paused=paused,
            running=max(0, running - cancelling),
            cancelling=cancelling,
            listeners=len(pools),
            late_ms=max(0, *late) if late else None,
        )

    def pulse(self) -> Pulse:
        """Read the pulse with the other calls: see `Inspector.pulse`."""
        return composed_pulse(self, now_ms=server_ms(self.server))

    def jobs(
        self, *, state: JobState | None = None, named: Sequence[str] = (), tagged: Sequence[str] = ()
    ) -> Iterator[Job]:
        """Page through the jobs: running ones, then waiting ones, soonest first, then dead ones, latest first. `Walk`
        explains which jobs are seen while pools work.
        """
        return (job for job in self._jobs(self._places, state) if state in (None, job.state))

    def unlisted(self) -> Mapping[JobState, str]:
        """Return nothing: all states can be listed."""
        return {}

    def page(self, query: JobQuery) -> JobPage:
        """Read a page of jobs, from the first one on: see `Inspector.page`."""
        now = datetime.fromtimestamp(server_ms(self.server) / 1000, UTC)
        return counted_page(self, query, now=now, clock_s=monotonic)

    def job(self, which: str) -> Job:
        """Find one job by id, or by the beginning of an id. Raises NotFound, also if several ids begin with it."""
        found: dict[str, Job] = {}
        for job in self._about(which):
            if job.id == which:
                return job
            found.setdefault(job.id, job)
        if len(found) == 1:
            return next(iter(found.values()))
        if found:
            raise Ambiguous.among(which, found, "give more characters")
        starts: dict[str, Job] = {}
        for place, job in enumerate(self._jobs(self._places, None)):
            if _is_named(job, which):
                return job  # an id that is written in an unusual way
            starts[job.short_id] = job
            if place == MOST_NEAR:
                break
        near = next((start for start in starts if which and start.startswith(which)), None)
        near = near or nearest_word(which, starts)
        hint = f" Nearest: {near} {shown(starts[near].fn)} ({starts[near].state})." if near else ""
        where = self.schedule
        remedy = f"It may have finished, which leaves no record, or it never was.{hint} All: workkit list {where}."
        raise NotFound.about(f'no job "{which}"', f"in {where}", remedy, where=where, given=which, suggestion=near)

    def _about(self, which: str) -> Iterator[Job]:
        """Find the jobs with an id, and those with an id that begins with it."""
        for job in self._jobs(Places(self.server, self.keys, about=which), None) if which else ():
            if _is_named(job, which):
                yield job

    def recurring(self) -> list[Recurs]:
        """Raise Unsupported: only the pools know their specs."""
        trouble = "are known only to the pools that enqueue their runs, not to the server"
        raise no_recurring(trouble, f"Their next runs are among the jobs: workkit list {self.schedule}.")

    def graves(self, *, after: str = "", limit: int = 500, is_known: IsKnown | None = None) -> Graves:
        """Read a page of the dead jobs, the oldest first."""
        with self.server.translated() as client:
            page, is_last = page_after(client, self.keys.dead, read_place(after), limit)
        jobs = tuple(
            self._dead(timed_standing("dead", raw, score))
            for raw, score in page
            if is_known is None or not is_known(raw.decode("utf-8", "surrogateescape"), whole_ms(1000 * score))
        )
        behind = place_behind(page, after=after)
        return Graves(jobs=jobs, after=behind, again=place_before(behind), is_last=is_last, most=DEAD_KEPT)

    def still_dead(self, dead: Sequence[Job]) -> list[bool]:
        """Say for each of these jobs whether it is still in the dead set."""
        with self.server.translated() as client:
            return stand(
                client, self.keys.dead, [(job.dead_id or "").encode("utf-8", "surrogateescape") for job in dead]
            )

    def listeners(self) -> list[ListenerInfo]:
        """List the pools, ours and Go's, with the jobs that each holds."""
        found, now_ms, known = [], server_ms(self.server), self._places.names()
        for pool in self._places.pools():
            with self.server.translated() as client:
                beat = {
                    k.decode("utf-8", "replace"): v.decode("utf-8", "replace")
                    for k, v in client.hgetall(self.keys.worker_pool(pool)).items()
                }
                is_ours = client.exists(self.keys.record(pool))
            names = [name for name in beat.get("job_names", "").split(",") if name]
            found.append(
                ListenerInfo(
                    listener=pool,
                    host=beat.get("host", ""),
                    pid=_whole(beat, "pid"),
                    version="workkit" if is_ours else "gocraft/work",
                    schedules={self.schedule: 1},
                    threads=_whole(beat, "concurrency"),
                    beat_ms=max(0, now_ms - 1000 * _whole(beat, "heartbeat_at")),
                    up_ms=max(0, now_ms - 1000 * _whole(beat, "started_at")),
                    running=tuple(self._running(self._places.running(pool, known))),
                    serves={name: Serving() for name in names},
                )
            )
        return sorted(found, key=lambda info: info.beat_ms or 0, reverse=True)

    def control(self) -> Control:
        """Read the paused names, and the pause of the whole namespace."""
        return read_control(self.server, self.keys)

    def limits(self, *, like: str = "") -> list[LimitUse]:
        """List the names with a limit over all pools, and count their running jobs. Other jobs of these names wait in
        queues.
        """
        names = self._places.names()

        def ask(pipe: Any) -> None:
            for name in names:
                pipe.mget(self.keys.max_concurrency(name), self.keys.lock(name))
                pipe.llen(self.keys.queue(name))
                pipe.lindex(self.keys.queue(name), -1)

        found = piped(self.server, ask)
        uses = []
        for n, name in enumerate(names):
            (limit, used), waiting, oldest = found[3 * n : 3 * n + 3]
            if count := _count(limit):
                full = _count(used) >= count
                at = self._queued_at(oldest) if full and oldest is not None else None
                uses.append(LimitUse(
                    key=f"fn:{name}", used=_count(used), limit=count, waiting=waiting if full else 0,
                    oldest=None if at is None else instant_of(at),
                ))  # fmt: skip
        return worst_first(use for use in uses if use.used or use.waiting)

    @property
    def history(self) -> NoReturn:
        """Raise Unsupported: this layout keeps no past runs."""
        raise no_history()

    def ahead(self, edges: Sequence[int]) -> list[int]:
        """Count the scheduled jobs and the retries by time: see `ByTime.ahead`. Scores are seconds."""
        sets, spans = (self.keys.scheduled, self.keys.retry), pairwise(edges)
        asked = [(key, since / 1000, f"({until / 1000!r}") for since, until in spans for key in sets]
        found = piped(self.server, lambda pipe: [pipe.zcount(*one) for one in asked])
        return list(map(sum, zip(found[::2], found[1::2], strict=True)))

    @property
    def _places(self) -> Places:
        return Places(self.server, self.keys)

    def _jobs(self, places: Places, state: JobState | None) -> Iterator[Job]:
        """Page through the jobs, at least those of one state: see `Walk`."""
        control, walk = read_control(self.server, self.keys), Walk(places, state)
        walks, is_long = [walk], walk.is_long and state is None
        yield from self._before_dead(walk, control)
        if is_long:
            walks.append(walk.again())
            yield from self._before_dead(walks[1], control)
        for one in walks:
            yield from map(self._dead, one.timed("dead"))

    def _before_dead(self, walk: Walk, control: Control) -> Iterator[Job]:
        yield from self._running(walk.running())
        yield from heapq.merge(*(self._queued(walk, name, control) for name in walk.names), key=_due)
        timed = (self._shown(walk.timed(place), state) for place, state in STATE.items() if place != "dead")
        yield from heapq.merge(*timed, key=_due)

    def _running(self, found: Iterator[tuple[Standing, bool]]) -> Iterator[Job]:
        for one, is_cancelled in found:
            yield from self._shown(iter([one]), "cancelling" if is_cancelled else "running")

    def _queued(self, walk: Walk, name: str, control: Control) -> Iterator[Job]:
        pause = pause_of(name, control)
        for job in self._shown(walk.queued(name), "due" if pause is None else "paused"):
            yield job if pause is None else replace(job, why=pause_text(pause))

    def _shown(self, found: Iterator[Standing], state: JobState) -> Iterator[Job]:
        """Show texts as jobs; those that cannot be read are left out."""
        for one in found:
            if one.text is not None:
                due_ms = whole_ms(1000 * one.score) if one.score else None
                yield as_job(one.text, id=one.id, schedule=self.schedule, state=state, due_ms=due_ms)

    def _dead(self, one: Standing) -> Job:
        """Show a member of the dead set, even an unreadable one: only `discard` removes it."""
        name = one.raw.decode("utf-8", "surrogateescape")
        if one.text is None:
            error, due = "the text of this job cannot be read", instant_of(whole_ms(1000 * one.score))
            return Job(id=one.id, schedule=self.schedule, fn="?", due=due, state="dead", error=error, dead_id=name)
        job = as_job(one.text, id=one.id, schedule=self.schedule, state="dead", due_ms=whole_ms(1000 * one.score))
        return replace(job, dead_id=name)

    def _queued_at(self, raw: bytes) -> int | None:
        """Return when a job came into its queue, in epoch ms; None if its text cannot be read."""
        try:
            return read(raw).t * 1000
        except CorruptRecord:
            return None


def _is_named(job: Job, which: str) -> bool:
    return job.id == which or (len(which) >= SHORTEST and (job.id.startswith(which) or job.short_id.startswith(which)))


def _due(job: Job) -> float:
    return job.due.timestamp() if job.due is not None else math.inf  # never, or at no time of a calendar


def _count(text: bytes | None) -> int:
    """Read a counter. A value that is no number counts as 0."""
    return int(text) if text is not None and text.isdigit() and len(text) < 10 else 0


def _whole(beat: Mapping[str, str], field: str) -> int:
    text = beat.get(field, "")
    return int(text) if text.isascii() and text.isdigit() else 0


WITH_ALL: Final = b"workkit:all"
"""The value of a name's pause key if the whole namespace is paused; `lua/parts/pausing.lua` has the same value."""

NO_REASON: Final = "1"  # as Go programs write it
_NO_REASONS: Final = ("", "0", NO_REASON, "true")


def read_control(server: Server, keys: Keys) -> Control:
    """Read the pauses. Any value of any type pauses a name. A text is its reason."""
    known, paused, now = piped(
        server, lambda pipe: (pipe.smembers(keys.known_jobs), pipe.smembers(keys.paused_names), pipe.time())
    )
    names = sorted(name.decode("utf-8", "surrogateescape") for name in known | paused)

    def ask(pipe: Any) -> None:
        for key in (keys.paused_all, *map(keys.paused, names)):
            pipe.get(key)
            pipe.pexpiretime(key)  # exact, from Redis 7.0 on
            pipe.pttl(key)

    answers, now_ms = piped(server, ask, lenient=True), ms_of(now)
    targets = [SCHEDULE, *(f"fn:{name}" for name in names)]
    found = {}
    for target, value, end, life in zip(targets, answers[::3], answers[1::3], answers[2::3], strict=True):
        if value is not None and value != WITH_ALL:
            until_ms = end if isinstance(end, int) else now_ms + life
            found[target] = Pause(reason=_reason(value), until_ms=until_ms if life > 0 else None)
    return Control(paused=found)


def pause_of(name: str, control: Control) -> Pause | None:
    """Find the pause under which the jobs of a name wait."""
    return control.paused.get(SCHEDULE) or control.paused.get(f"fn:{name}")


def _reason(value: Any) -> str | None:
    text = value.decode("utf-8", "replace") if isinstance(value, bytes) else ""
    return None if text in _NO_REASONS else text
