"""Looking at a native schedule, and administering it. Reads in pages; nothing here is on the working path."""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

import msgpack

from workkit import wire
from workkit.broker import Counts, Finding, ListenerInfo, Revival
from workkit.brokers.native.checkup import Checkup
from workkit.brokers.native.codec import Codec, at, is_once
from workkit.brokers.native.endings import occurrence, read_failure
from workkit.brokers.native.entry import Entry, read_entry
from workkit.brokers.native.graves import Graves
from workkit.brokers.native.keys import Keys
from workkit.brokers.native.records import read_info
from workkit.brokers.scripts import load
from workkit.brokers.server import Server
from workkit.errors import CorruptRecord, NotFound
from workkit.jobs.job import Job, JobState
from workkit.jobs.names import shown

PAGE = 500
GLOB, _ESCAPED = re.compile(r"([*?\[\]\\^-])"), r"\\\1"
SHORTEST = 6  # digits of an id that stand for the whole


@dataclass(frozen=True, slots=True, kw_only=True)
class NativeInspector:
    """The looking side of one schedule."""

    server: Server
    keys: Keys
    codec: Codec

    def counts(self) -> Counts:
        """How many jobs stand where; totals of the last 48 hours by what became of them."""
        k, now = self.keys, self._now_ms()
        with self.server.translated() as client:
            names = client.zrange(k.listeners, 0, -1)
            pipe = client.pipeline(transaction=False)
            for key in (k.next, k.again, k.dead):
                pipe.zcard(key)
            pipe.zcount(k.next, "-inf", now)
            pipe.zcount(k.again, "-inf", now)
            pipe.hgetall(k.stats)
            for name in names:
                pipe.hkeys(k.running(name.decode("utf-8", "replace")))
            queued, again, dead, due, due_again, stats, *held = pipe.execute()
        totals: dict[str, int] = {}
        for field, n in stats.items():
            what = field.decode().rpartition(":")[0]
            totals[what] = totals.get(what, 0) + int(n)
        running = sum(1 for fields in held for field in fields if b"." in field)
        return Counts(
            waiting=queued - due,
            due=due + due_again,
            running=running,
            retrying=again - due_again,
            dead=dead,
            listeners=len(names),
            totals=totals,
        )

    def jobs(self, *, state: JobState | None = None) -> Iterator[Job]:
        """Page through the jobs: running ones, then those that wait, soonest first, then dead ones, latest first.

        With a `state` only the places are read where such jobs stand: the dead, however many wait.
        """
        places: tuple[tuple[tuple[JobState, ...], Callable[[], Iterator[Job]]], ...] = (
            (("running", "cancelling"), self._running),
            (("waiting", "due", "retrying"), self._queued),
            (("dead",), self._graves.jobs),
        )
        for states, read in places:
            if state is None or state in states:
                yield from (job for job in read() if state is None or job.state == state)

    def job(self, which: str) -> Job:
        """One job by id, or by the beginning of one. Raises NotFound."""
        ids = [which] if len(which) == 40 or self._is_id(which) else self.ids(which)
        if len(ids) > 1:
            raise NotFound(
                f'"{which}" is the beginning of {len(ids)} jobs; give at least {SHORTEST} characters.', given=which
            )
        for id in ids:
            if (found := self._found(id)) is not None:
                return found
        raise NotFound(
            f'no job "{which}" in {self.codec.schedule}.{self._nearest(which)} '
            f"All: workkit list {self.codec.schedule}.",
            given=which,
        )

    def listeners(self) -> list[ListenerInfo]:
        """Who is listening and what each holds, by the time of their last beat."""
        now, found = self._now_ms(), []
        with self.server.translated() as client:
            beats = client.zrange(self.keys.listeners, 0, -1, withscores=True)
        for raw, beat in beats:
            name = raw.decode("utf-8", "replace")
            with self.server.translated() as client:
                packed = client.hget(self.keys.running(name), "info")
            info = read_info(packed, listener=name, now_ms=now)
            found.append(replace(info, beat_ms=max(0, now - int(beat)), running=tuple(self._held(name))))
        return found

    def cancel(self, job: Job) -> Job:
        """Take a waiting job out, or flag a running one. Raises NotFound where it is gone meanwhile."""
        k = self.keys
        script = load("native")["cancel"]
        recurs = 0 if is_once(job) or job.trigger is None else 1
        texts = {_plain_item(job.id), *self._items(job.id)}
        reply = self.server.call(script, [k.jobs, k.next, k.cancelled, k.ended], [job.id, recurs, *texts])
        if reply == b"unknown":
            raise NotFound(f'no job "{job.id}" in {self.codec.schedule}: it ended meanwhile.', given=job.id)
        state: JobState = "cancelling" if reply == b"marked" or job.state == "running" else job.state
        return replace(job, state=state)

    def retry(
        self, dead: Sequence[Job], *, args: Sequence[Any] | None = None, delays_ms: Sequence[int] = ()
    ) -> list[Revival]:
        """Put dead jobs back: see `Inspector.retry`."""
        return self._graves.retry(dead, args=args, delays_ms=delays_ms)

    def discard(self, dead: Sequence[Job]) -> int:
        """Forget dead jobs."""
        return self._graves.discard(dead)

    def checkup(self, *, patience_ms: int) -> Iterator[Finding]:
        """Look for what is wrong: see `Inspector.checkup`."""
        return Checkup(server=self.server, keys=self.keys, codec=self.codec).findings(patience_ms=patience_ms)

    def repair(self, finding: Finding) -> bool:
        """Mend one finding."""
        return Checkup(server=self.server, keys=self.keys, codec=self.codec).repair(finding)

    @property
    def _graves(self) -> Graves:
        return Graves(server=self.server, keys=self.keys, codec=self.codec)

    def _now_ms(self) -> int:
        with self.server.translated() as client:
            seconds, micros = client.time()
        return int(seconds) * 1000 + int(micros) // 1000

    def _payloads(self, ids: list[str]) -> list[bytes | None]:
        if not ids:
            return []
        with self.server.translated() as client:
            return list(client.hmget(self.keys.jobs, ids))

    def _read(self, id: str, payload: bytes | None, **known: Any) -> Job | None:
        if payload is None:
            return None
        try:
            job = self.codec.decode(id, payload)
        except CorruptRecord as error:
            job = Job(id=id, schedule=self.codec.schedule, fn="?", error=str(error))
        due_ms = known.pop("due_ms", None)
        return replace(job, **known) if due_ms is None else at(job, due_ms, **known)

    def _is_id(self, text: str) -> bool:
        """Whether it is one in full; a foreign peer may take any text for one."""
        with self.server.translated() as client:
            return bool(client.hexists(self.keys.jobs, text))

    def _found(self, id: str) -> Job | None:
        """One job wherever it stands, without reading those that wait; last an orphan, to which nothing points."""
        places = (self._running, lambda: self._waiting(id), self._graves.jobs)
        found = next((job for read in places for job in read() if job.id == id), None)
        return found or self._read(id, self._payloads([id])[0])

    def _waiting(self, id: str) -> Iterator[Job]:
        """What stands of a job in `S:next`, under whatever text, and in `S:again`."""
        items, now = self._items(id) or [_plain_item(id)], self._now_ms()
        with self.server.translated() as client:
            scores = client.zmscore(self.keys.next, items)
        standing = [(item, score) for item, score in zip(items, scores, strict=True) if score is not None]
        batch = [(Entry(due=_text(score), item=item), score) for item, score in standing]
        again = ((read_entry(text), score) for text, score in self._pages(self.keys.again))
        batch += [(entry, score) for entry, score in again if entry is not None and _id(entry.item) == id]
        yield from self._states(batch, now)

    def _running(self) -> Iterator[Job]:
        with self.server.translated() as client:
            names = client.zrange(self.keys.listeners, 0, -1)
        for name in names:
            yield from self._held(name.decode("utf-8", "replace"))

    def _held(self, listener: str) -> Iterator[Job]:
        with self.server.translated() as client:
            records = client.hgetall(self.keys.running(listener))
            marked = set(client.zrange(self.keys.cancelled, 0, -1))
        entries = []
        for field, value in records.items():
            if b"." in field:
                entries.append(
                    read_entry(value) or Entry(due=value.decode("ascii", "replace"), item=field.partition(b".")[2])
                )
        for job in self._with_payloads(entries, "running"):
            yield replace(job, state="cancelling") if job.id.encode() in marked else job

    def _queued(self) -> Iterator[Job]:
        """`S:next` and `S:again` merged by when; each is read in pages."""
        k, now = self.keys, self._now_ms()
        waiting, again = self._pages(k.next), self._pages(k.again)
        left, right = next(waiting, None), next(again, None)
        batch: list[tuple[Entry, float]] = []
        while left is not None or right is not None:
            if right is None or (left is not None and left[1] <= right[1]):
                assert left is not None
                batch.append((Entry(due=_text(left[1]), item=left[0]), left[1]))
                left = next(waiting, None)
            else:
                entry = read_entry(right[0]) or Entry(due=_text(right[1]), item=right[0])
                batch.append((entry, right[1]))
                right = next(again, None)
            if len(batch) == PAGE or (left is None and right is None):
                yield from self._states(batch, now)
                batch = []

    def _states(self, batch: list[tuple[Entry, float]], now: int) -> Iterator[Job]:
        for job, (entry, when) in zip(self._with_payloads([e for e, _ in batch], None), batch, strict=True):
            if entry.attempt:
                yield at(job, _ms(when), state="retrying", attempt=entry.attempt, **self._last_error(job, entry))
            else:
                yield at(job, _ms(when), state="due" if when <= now else "waiting")

    def _last_error(self, job: Job, entry: Entry) -> dict[str, Any]:
        with self.server.translated() as client:
            packed = client.hget(self.keys.errors, occurrence(job.id, entry))
        if packed is None:
            return {}
        failure = read_failure(msgpack.unpackb(packed, unicode_errors="surrogatepass"))
        return {"error": failure.line, "failure": failure}

    def _with_payloads(self, entries: list[Entry], state: JobState | None) -> Iterator[Job]:
        ids = [_id(entry.item) for entry in entries]
        for entry, id, payload in zip(entries, ids, self._payloads(ids), strict=True):
            job = self._read(id, payload, due_ms=entry.due_ms, state=state or "waiting", attempt=entry.attempt)
            yield job or Job(id=id, schedule=self.codec.schedule, fn="?", error="its payload is missing")

    def _pages(self, key: str) -> Iterator[tuple[bytes, float]]:
        start = 0
        while True:
            with self.server.translated() as client:
                page = client.zrange(key, start, start + PAGE - 1, withscores=True)
            yield from page
            if len(page) < PAGE:
                return
            start += PAGE

    def ids(self, beginning: str) -> list[str]:
        """The jobs whose id begins like this, dead ones too; none for a beginning that is too short."""
        if len(beginning) < SHORTEST or not all(c in "0123456789abcdef" for c in beginning):
            return []
        with self.server.translated() as client:
            found = [key.decode() for key, _ in client.hscan_iter(self.keys.jobs, match=f"{beginning}*", count=PAGE)]
        found += [job.id for job in self._graves.jobs() if job.id.startswith(beginning)]
        return sorted(set(found))

    def _items(self, id: str) -> list[bytes]:
        """Other texts under which an item of this job may stand, after a foreign peer has put it back."""
        with self.server.translated() as client:
            if client.zscore(self.keys.next, _plain_item(id)) is not None:
                return []
            like = f"*{GLOB.sub(_ESCAPED, id)}*"
            return [text for text, _ in client.zscan_iter(self.keys.next, match=like, count=PAGE)]

    def _nearest(self, which: str) -> str:
        near = next((job for job in self.jobs() if which and (job.id.startswith(which) or which in job.fn)), None)
        return f" Nearest: {near.id[:8]} {shown(near.fn)} ({near.state})." if near else ""


def _plain_item(id: str) -> bytes:
    """The usual text of an item, whatever a foreign peer takes for an id."""
    return f'{{"id":"{id}"}}'.encode("utf-8", "surrogateescape")


def _id(item: bytes) -> str:
    try:
        return wire.read_item(item).id
    except CorruptRecord:
        return ""


def _ms(score: float) -> int:
    return int(score) if math.isfinite(score) else 2**62  # no calendar has that time


def _text(score: float) -> str:
    return f"{score:.0f}" if abs(score) < 1e17 else str(score)
