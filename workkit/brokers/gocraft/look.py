"""Read a gocraft namespace: jobs in every state, counts, pools. It changes nothing."""

from __future__ import annotations

import heapq
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from workkit.brokers.gocraft.codec import as_job
from workkit.brokers.gocraft.keys import Keys
from workkit.brokers.gocraft.text import read
from workkit.brokers.redis_server.server import Server
from workkit.contract.inspector import Counts, Missed, Named
from workkit.contract.listener import ListenerInfo, Serving
from workkit.errors import CorruptRecord, NotFound
from workkit.jobs.admission import FREE, Control
from workkit.jobs.job import Job, JobState
from workkit.text.nearest import nearest_word

PAGE = 500
SHORTEST = 6  # characters of an id that name a job
_WAITING: tuple[JobState, ...] = ("due", "paused", "waiting", "retrying")


@dataclass(frozen=True, slots=True)
class GocraftInspector:
    """Reads one namespace."""

    server: Server
    keys: Keys
    schedule: str

    def counts(self) -> Counts:
        """Count the jobs in each state: see `Inspector.counts`."""
        names, pools = self._members(self.keys.known_jobs), self._members(self.keys.worker_pools)
        due = paused = running = 0
        late: list[int] = []
        with self.server.translated() as client:
            now_ms = _now_ms(client)
            for name in names:
                pipe = client.pipeline(transaction=False)
                pipe.llen(self.keys.queue(name))
                pipe.lindex(self.keys.queue(name), -1)
                pipe.exists(self.keys.paused(name))
                for pool in pools:
                    pipe.llen(self.keys.in_progress(name, pool))
                length, oldest, is_paused, *held = pipe.execute()
                running += sum(held)
                paused, due = (paused + length, due) if is_paused else (paused, due + length)
                if oldest is not None and not is_paused and (job := self._job(oldest, "due")) is not None and job.due:
                    late.append(now_ms - round(job.due.timestamp() * 1000))
            sets = [client.zcard(key) for key in (
                self.keys.scheduled, self.keys.held, self.keys.retry, self.keys.held_retry, self.keys.dead
            )]  # fmt: skip
        return Counts(
            waiting=sets[0] + sets[1],
            retrying=sets[2] + sets[3],
            dead=sets[4],
            due=due,
            paused=paused,
            running=running,
            listeners=len(pools),
            late_ms=max(0, *late) if late else None,
        )

    def jobs(self, *, state: JobState | None = None) -> Iterator[Job]:
        """Page through the jobs: running ones, then those that wait, soonest first, then dead ones, latest first."""
        if state in (None, "running"):
            for pool in self._members(self.keys.worker_pools):
                yield from self._running(pool)
        if state is None or state in _WAITING:
            yield from (job for job in self._waiting() if state in (None, job.state))
        if state in (None, "dead"):
            for text, _ in self._sorted_set(self.keys.dead, latest_first=True):
                if (job := self._job(text, "dead")) is not None:
                    yield job

    def job(self, which: str) -> Job:
        """Find one job by id, or by the beginning of an id. Raises NotFound."""
        starts: list[str] = []
        for job in self.jobs():
            if job.id == which or (len(which) >= SHORTEST and job.id.startswith(which)):
                return job
            starts.append(job.id[:8])
        near = next((start for start in starts if which and start.startswith(which)), None)
        near = near or nearest_word(which, starts)
        hint = f" Nearest: {near}." if near else ""
        remedy = f"It may have finished, which leaves no record, or it never was.{hint}"
        where = self.schedule
        raise NotFound.about(f'no job "{which}"', f"in {where}", remedy, where=where, given=which, suggestion=near)

    def named(self) -> dict[str, Named]:
        """No job has a name here."""
        return {}

    def listeners(self) -> list[ListenerInfo]:
        """List the pools, ours and Go's, and what each holds."""
        found = []
        with self.server.translated() as client:
            now_ms = _now_ms(client)
        for pool in self._members(self.keys.worker_pools):
            with self.server.translated() as client:
                beat = {
                    k.decode(): v.decode("utf-8", "replace")
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
                    running=tuple(self._running(pool)),
                    serves={name: Serving() for name in names},
                )
            )
        return sorted(found, key=lambda info: info.beat_ms, reverse=True)

    def control(self) -> Control:
        """A namespace has pauses of names only, which every pool keeps by itself."""
        return FREE

    def missed(self) -> Iterator[Missed]:
        """Nothing is noted as missed here."""
        return iter(())

    def _running(self, pool: str) -> Iterator[Job]:
        for name in self._members(self.keys.known_jobs):
            with self.server.translated() as client:
                texts = client.lrange(self.keys.in_progress(name, pool), 0, -1)
            yield from (job for text in reversed(texts) if (job := self._job(text, "running")) is not None)

    def _waiting(self) -> Iterator[Job]:
        """Jobs in queues by their time, then those of the sorted sets, soonest first."""
        yield from heapq.merge(*(self._queued(name) for name in self._members(self.keys.known_jobs)), key=_due)
        sets: list[tuple[str, JobState]] = [
            (self.keys.scheduled, "waiting"), (self.keys.held, "waiting"),
            (self.keys.retry, "retrying"), (self.keys.held_retry, "retrying"),
        ]  # fmt: skip
        yield from heapq.merge(*(self._timed(key, state) for key, state in sets), key=_due)

    def _timed(self, key: str, state: JobState) -> Iterator[Job]:
        for text, score in self._sorted_set(key):
            if (job := self._job(text, state, due_ms=round(score * 1000))) is not None:
                yield job

    def _queued(self, name: str) -> Iterator[Job]:
        with self.server.translated() as client:
            state: JobState = "paused" if client.exists(self.keys.paused(name)) else "due"
        end = -1
        while True:
            with self.server.translated() as client:
                texts = client.lrange(self.keys.queue(name), end - PAGE + 1, end)
            yield from (job for text in reversed(texts) if (job := self._job(text, state)) is not None)
            if len(texts) < PAGE:
                return
            end -= PAGE

    def _sorted_set(self, key: str, *, latest_first: bool = False) -> Iterator[tuple[bytes, float]]:
        start = 0
        while True:
            with self.server.translated() as client:
                page = client.zrange(key, start, start + PAGE - 1, desc=latest_first, withscores=True)
            yield from page
            if len(page) < PAGE:
                return
            start += PAGE

    def _members(self, key: str) -> list[str]:
        with self.server.translated() as client:
            return sorted(member.decode("utf-8", "surrogateescape") for member in client.smembers(key))

    def _job(self, text: bytes, state: JobState, *, due_ms: int | None = None) -> Job | None:
        try:
            return as_job(read(text), schedule=self.schedule, state=state, due_ms=due_ms)
        except CorruptRecord:
            return None


def _due(job: Job) -> float:
    return job.due.timestamp() if job.due is not None else 0.0


def _whole(beat: Mapping[str, str], field: str) -> int:
    text = beat.get(field, "")
    return int(text) if text.isascii() and text.isdigit() else 0


def _now_ms(client: Any) -> int:
    seconds, micros = client.time()
    return int(seconds) * 1000 + int(micros) // 1000
