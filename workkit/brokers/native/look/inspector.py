"""Looking at a native schedule, and administering it. Reads in pages; nothing here is on the working path."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import islice
from typing import Any

from workkit import wire
from workkit.brokers.native.care.checkup import Checkup
from workkit.brokers.native.codec import Codec, at, is_once
from workkit.brokers.native.entry import FURTHEST_MS, Entry, read_entry, regular
from workkit.brokers.native.keys import Keys
from workkit.brokers.native.look.dead_set import Graves
from workkit.brokers.native.look.location import is_text, item_id
from workkit.brokers.native.look.parked import PAUSES, Parked, read_parked
from workkit.brokers.native.look.steering import GLOB, GLOB_ESCAPED, Steering, pause_of, plain_item, said_of, standing
from workkit.brokers.native.record import read_count, read_info, read_said
from workkit.brokers.native.settle import occurrence, read_failure, read_packed
from workkit.brokers.redis_server.script import load
from workkit.brokers.redis_server.server import Server
from workkit.contract.broker import Counts, Finding, ListenerInfo, Missed, Named, Revival
from workkit.errors import CorruptRecord, NotFound
from workkit.jobs.admission import Control, Pause
from workkit.jobs.job import Job, JobState
from workkit.jobs.names import shown
from workkit.text.nearest import nearest_word

PAGE = 500
ID_DIGITS, SHORTEST = 40, 6  # digits of an id, and how many of them stand for the whole
MOST_NAMES = 5000  # that are looked through for the nearest


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
            for key in (k.next, k.again, k.dead, k.waiting):
                pipe.zcard(key)
            pipe.zlexcount(k.waiting, *PAUSES)
            pipe.zcount(k.next, "-inf", now)
            pipe.zcount(k.again, "-inf", now)
            pipe.hgetall(k.stats)
            for name in filter(is_text, names):
                pipe.hkeys(k.running(name.decode()))
            queued, again, dead, parked, paused, due, due_again, stats, *held = pipe.execute()
        totals: dict[str, int] = {}
        for field, n in stats.items():
            what = field.decode("utf-8", "replace").rpartition(":")[0]
            if what and (count := read_count(n)) is not None:
                totals[what] = totals.get(what, 0) + count
        running = sum(1 for fields in held for field in fields if b"." in field)
        return Counts(
            waiting=queued - due,
            due=due + due_again,
            running=running,
            retrying=again - due_again,
            held=parked - paused,
            paused=paused,
            dead=dead,
            listeners=len(names),
            totals=totals,
        )

    def jobs(self, *, state: JobState | None = None) -> Iterator[Job]:
        """Page through the jobs: running ones, then parked ones, by what they wait for, then those that wait, soonest
        first, then dead ones, latest first.

        With a `state` only the places are read where such jobs stand: the dead, however many wait.
        """
        control = self.control()
        queued: tuple[JobState, ...] = ("waiting", "due", "retrying", "paused")
        places: tuple[tuple[tuple[JobState, ...], Callable[[], Iterator[Job]]], ...] = (
            (("running", "cancelling"), self._running),
            (("held", "paused"), lambda: self._aside(self._steering.all_parked(), control)),
            (queued if control.paused else queued[:-1], lambda: self._queued(control)),
            (("dead",), self._graves.jobs),
        )
        for states, read in places:
            if state is None or state in states:
                yield from (job for job in read() if state is None or job.state == state)

    def job(self, which: str) -> Job:
        """One job by name, by id, or by the beginning of an id. Raises NotFound."""
        if (named := self.under(which)) is not None:
            ids = [named]
        else:
            ids = [which] if len(which) == ID_DIGITS or self._is_id(which) else self.ids(which)
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

    def under(self, name: str) -> str | None:
        """The id of the job that stands under a name."""
        with self.server.translated() as client:
            value = client.hget(self.keys.names, name)
        id, _ = _named(value)
        return id if id and self._is_id(id) else None

    def named(self) -> dict[str, Named]:
        """The jobs that stand under a name, by name."""
        with self.server.translated() as client:
            values = client.hgetall(self.keys.names)
        found = {name.decode(): _named(value) for name, value in values.items() if is_text(name)}
        jobs = self._stored([id for id, _ in found.values()])
        return {
            name: Named(job=job, content=content)
            for (name, (_, content)), job in zip(found.items(), jobs, strict=True)
            if job is not None
        }

    def _stored(self, ids: list[str]) -> Iterator[Job | None]:
        for start in range(0, len(ids), PAGE):
            page = ids[start : start + PAGE]
            for id, payload in zip(page, self._payloads(page), strict=True):
                yield self._read(id, payload)

    def listeners(self) -> list[ListenerInfo]:
        """Who is listening and what each holds, by the time of their last beat."""
        now, found = self._now_ms(), []
        with self.server.translated() as client:
            beats = client.zrange(self.keys.listeners, 0, -1, withscores=True)
        for raw, beat in beats:
            name = raw.decode("utf-8", "replace")
            packed = None
            if is_text(raw):  # no listener calls itself anything else
                with self.server.translated() as client:
                    packed = client.hget(self.keys.running(name), "info")
            info = read_info(packed, listener=name, now_ms=now)
            held = tuple(self._held(name)) if is_text(raw) else ()
            found.append(replace(info, beat_ms=max(0, now - _ms(beat)), running=held))
        return found

    def cancel(self, job: Job) -> Job:
        """Take a waiting job out, or flag a running one. Raises NotFound where it is gone meanwhile."""
        k = self.keys
        script = load("native")["cancel"]
        recurs = 0 if is_once(job) or job.trigger is None else 1
        texts = {plain_item(job.id), *self._items(job.id)}
        keys = [k.jobs, k.next, k.cancelled, k.ended, k.waiting, k.again, k.names, k.unique, k.counts, k.control]
        keys += [k.wake, k.first(1), k.first(2), k.first(3)]
        args = [job.id, recurs, job.name or "", job.terms.unique_key or "", len(texts), *texts, *self._parked(job.id)]
        reply = self.server.call(script, keys, args)
        if reply == b"unknown":
            raise NotFound(f'no job "{job.id}" in {self.codec.schedule}: it ended meanwhile.', given=job.id)
        state: JobState = "cancelling" if reply == b"marked" or job.state == "running" else job.state
        return replace(job, state=state)

    def pause(self, target: str, pause: Pause) -> None:
        """Pause a target: see `Inspector.pause`."""
        self._steering.pause(target, pause)

    def resume(self, target: str, *, lapsed: bool = False) -> bool:
        """The inverse: see `Inspector.resume`; `lapsed`: only where its time has passed."""
        return self._steering.resume(target, lapsed=lapsed)

    def control(self) -> Control:
        """What is paused, without what has lapsed, and the schedule's own limits."""
        return self._steering.control()

    def declare(self, *, limit: int | None, turn_ms: float | None) -> None:
        """Set the schedule's own limits, where they are not these."""
        self._steering.declare(limit=limit, turn_ms=turn_ms)

    def skip(self, job: Job) -> Job:
        """Leave out the next run of a recurring job: see `Inspector.skip`."""
        return self._steering.skip(job)

    def run(self, job: Job) -> Job:
        """Run a job once now: see `Inspector.run`."""
        return self._steering.run(job)

    def missed(self) -> Iterator[Missed]:
        """Occurrences that did not run, the last one first."""
        return self._steering.missed()

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
    def _steering(self) -> Steering:
        return Steering(server=self.server, keys=self.keys, codec=self.codec)

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
            job = Job(id=id, schedule=self.codec.schedule, fn=wire.job_of(payload) or "?", error=str(error))
        due_ms = known.pop("due_ms", None)
        return replace(job, **known) if due_ms is None else at(job, due_ms, **known)

    def _is_id(self, text: str) -> bool:
        """Whether it is one in full; a foreign peer may take any text for one."""
        with self.server.translated() as client:
            return bool(client.hexists(self.keys.jobs, text))

    def _found(self, id: str) -> Job | None:
        """One job wherever it stands, without reading those that wait; last an orphan, to which nothing points."""
        control = self.control()
        aside = (parked for text in self._parked(id) if (parked := read_parked(text)) is not None)
        waiting = (lambda: self._aside(aside, control), lambda: self._waiting(id, control))
        places = (self._running, *waiting, self._graves.jobs)
        found = next((job for read in places for job in read() if job.id == id), None)
        return found or self._read(id, self._payloads([id])[0])

    def _waiting(self, id: str, control: Control) -> Iterator[Job]:
        """What stands of a job in `S:next`, under whatever text, and in `S:again`."""
        items, now = self._items(id) or [plain_item(id)], self._now_ms()
        with self.server.translated() as client:
            scores = client.zmscore(self.keys.next, items)
        standing = [(item, score) for item, score in zip(items, scores, strict=True) if score is not None]
        batch = [(Entry(due=_text(score), item=item), score) for item, score in standing]
        again = ((read_entry(text), score) for text, score in self._pages(self.keys.again))
        batch += [(entry, score) for entry, score in again if entry is not None and _id(entry.item) == id]
        yield from self._states(batch, now, control)

    def _aside(self, parked: Iterator[Parked], control: Control) -> Iterator[Job]:
        """What waits in `S:waiting`, and why."""
        while page := list(islice(parked, PAGE)):
            for job, one in zip(self._with_payloads([one.entry for one in page], "held"), page, strict=True):
                if one.pause is None:
                    yield replace(job, why=one.why)
                else:
                    yield replace(job, state="paused", why=said_of(control.paused.get(one.pause, Pause())))

    def _running(self) -> Iterator[Job]:
        with self.server.translated() as client:
            names = client.zrange(self.keys.listeners, 0, -1)
        for name in filter(is_text, names):
            yield from self._held(name.decode())

    def _held(self, listener: str) -> Iterator[Job]:
        with self.server.translated() as client:
            records = client.hgetall(self.keys.running(listener))
            marked = set(client.zrange(self.keys.cancelled, 0, -1))
            said = client.hgetall(self.keys.progress(listener))
        entries, progress = [], []
        for field, value in records.items():
            if b"." in field:
                entries.append(read_entry(value) or regular(field.partition(b".")[2], due=value))
                progress.append(read_said(said.get(field)))
        for job, entry, words in zip(self._with_payloads(entries, "running"), entries, progress, strict=True):
            names = {name.encode("utf-8", "surrogateescape") for name in (job.id, occurrence(job.id, entry))}
            yield replace(job, state="running" if marked.isdisjoint(names) else "cancelling", progress=words)

    def _queued(self, control: Control) -> Iterator[Job]:
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
                yield from self._states(batch, now, control)
                batch = []

    def _states(self, batch: list[tuple[Entry, float]], now: int, control: Control) -> Iterator[Job]:
        for job, (entry, when) in zip(self._with_payloads([e for e, _ in batch], None), batch, strict=True):
            if entry.attempt:
                yield at(job, _ms(when), state="retrying", attempt=entry.attempt, **self._last_error(job, entry))
            elif control.paused and (pause := pause_of(job, control)) is not None:
                yield at(job, _ms(when), state="paused", why=said_of(pause))
            else:
                yield at(job, _ms(when), state="due" if when <= now else "waiting")

    def _last_error(self, job: Job, entry: Entry) -> dict[str, Any]:
        with self.server.translated() as client:
            packed = client.hget(self.keys.errors, occurrence(job.id, entry))
        if packed is None:
            return {}
        failure = read_failure(read_packed(packed))
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
            keys = [key for key, _ in client.hscan_iter(self.keys.jobs, match=f"{beginning}*", count=PAGE)]
        found = [key.decode("utf-8", "replace") for key in keys]
        found += [job.id for job in self._graves.jobs() if job.id.startswith(beginning)]
        return sorted(set(found))

    def _items(self, id: str) -> list[bytes]:
        """Other texts under which an item of this job may stand, after a foreign peer has put it back."""
        return standing(self.server, self.keys, id)

    def _parked(self, id: str) -> list[bytes]:
        """What stands of a job in `S:waiting`."""
        with self.server.translated() as client:
            if not client.exists(self.keys.waiting):
                return []
            like = f"*\0{GLOB.sub(GLOB_ESCAPED, id)}@*"
            return [member for member, _ in client.zscan_iter(self.keys.waiting, match=like, count=PAGE)]

    def _nearest(self, which: str) -> str:
        with self.server.translated() as client:
            some = list(islice(client.hscan_iter(self.keys.names, count=PAGE), MOST_NAMES))
        names = [name.decode("utf-8", "replace") for name, _ in some]
        if (like := nearest_word(which, names)) is not None and (id := self.under(like)) is not None:
            job = self._found(id)
            return f' Nearest: "{like}" {shown(job.fn)} ({job.state}).' if job else ""
        near = next((job for job in self.jobs() if which and (job.id.startswith(which) or which in job.fn)), None)
        return f" Nearest: {near.id[:8]} {shown(near.fn)} ({near.state})." if near else ""


def _named(value: bytes | None) -> tuple[str, str]:
    """An entry of `S:names`: a job's id, and the id of its content, which stands third where it is another."""
    id, _, content, *_ = [*(value or b"").decode("utf-8", "replace").split(" "), "", ""]
    return id, content or id


def _id(item: bytes) -> str:
    return (item_id(item) or b"").decode("utf-8", "replace")


def _ms(score: float) -> int:
    return round(max(-FURTHEST_MS, min(FURTHEST_MS, score)))  # no calendar has the times at either end


def _text(score: float) -> str:
    return f"{score:.0f}" if abs(score) < 1e17 else str(score)
