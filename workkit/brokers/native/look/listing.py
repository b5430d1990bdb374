"""Read the jobs of a native schedule in pages, from each key that holds some."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from itertools import islice
from typing import Any

from workkit import wire
from workkit.brokers.native.codec import Codec, at_due
from workkit.brokers.native.entry import FURTHEST_MS, Entry, read_entry, regular
from workkit.brokers.native.keys import Keys
from workkit.brokers.native.look.items import server_ms, standing_items
from workkit.brokers.native.look.kept_jobs import KeptJobs
from workkit.brokers.native.look.location import item_id
from workkit.brokers.native.look.parked import Parked
from workkit.brokers.native.look.pauses import pause_of
from workkit.brokers.native.settle import occurrence, read_failure
from workkit.brokers.redis_server.listener_info import read_said
from workkit.brokers.redis_server.packed import read_packed
from workkit.brokers.redis_server.pages import PAGE, is_text
from workkit.brokers.redis_server.server import Server
from workkit.errors import CorruptRecord
from workkit.jobs.admission import Control, Pause, pause_text
from workkit.jobs.job import Job, JobState

AT_ONCE = 50  # listeners whose claims are read in one round trip
Progress = tuple[float, float] | str


@dataclass(frozen=True, slots=True, kw_only=True)
class Listing:
    """Reads the jobs of one schedule, key by key."""

    server: Server
    keys: Keys
    codec: Codec

    def stored(self, ids: list[str], kept: KeptJobs | None = None) -> Iterator[Job | None]:
        """Read jobs by id, None for each that is gone. What is kept is not decoded again."""
        for start in range(0, len(ids), PAGE):
            page = ids[start : start + PAGE]
            for id, payload in zip(page, self.payloads(page), strict=True):
                job = None if payload is None or kept is None else kept.job(id)
                if payload is not None and job is None:
                    job = self.read(id, payload)
                    if kept is not None and job is not None:
                        kept.keep(id, payload, job)
                yield job

    def payloads(self, ids: list[str]) -> list[bytes | None]:
        """Read the payloads of jobs, None for each that is gone."""
        if not ids:
            return []
        with self.server.translated() as client:
            return list(client.hmget(self.keys.jobs, ids))

    def read(self, id: str, payload: bytes | None, **known: Any) -> Job | None:
        """Read a payload as a job. If it cannot be read, the job has an error."""
        if payload is None:
            return None
        try:
            job = self.codec.decode(id, payload)
        except CorruptRecord as error:
            job = Job(id=id, schedule=self.codec.schedule, fn=wire.job_of(payload) or "?", error=str(error))
        if not known:
            return job
        due_ms = known.pop("due_ms", None)
        return replace(job, **known) if due_ms is None else at_due(job, due_ms, **known)

    def waiting_of(self, id: str, control: Control) -> Iterator[Job]:
        """Read the occurrences of one job in `S:next`, under any text, and in `S:again`."""
        now, standing = server_ms(self.server), standing_items(self.server, self.keys, id)
        batch = [(Entry(due=score_text(score), item=item), score) for item, score in standing]
        again = ((read_entry(text), score) for text, score in self.pages(self.keys.again))
        batch += [(entry, score) for entry, score in again if entry is not None and _id(entry.item) == id]
        yield from self.standing(batch, now, control)

    def aside(self, parked: Iterator[Parked], control: Control) -> Iterator[Job]:
        """Read parked jobs, with the reason why each waits."""
        while page := list(islice(parked, PAGE)):
            for job, one in zip(self._with_payloads([one.entry for one in page], "held"), page, strict=True):
                if one.pause is None:
                    yield replace(job, why=one.why)
                else:
                    yield replace(job, state="paused", why=pause_text(control.paused.get(one.pause, Pause())))

    def running(self) -> Iterator[Job]:
        """Page through the claims of all listeners."""
        with self.server.translated() as client:
            names = client.zrange(self.keys.listeners, 0, -1)
        listed = [name.decode() for name in filter(is_text, names)]
        for start in range(0, len(listed), AT_ONCE):
            yield from self.held(*listed[start : start + AT_ONCE])

    def held(self, *listeners: str) -> Iterator[Job]:
        """Read the claims of some listeners."""
        with self.server.translated() as client:
            pipe = client.pipeline(transaction=False)
            pipe.zrange(self.keys.cancelled, 0, -1)
            for name in listeners:
                pipe.hgetall(self.keys.running(name))
                pipe.hgetall(self.keys.progress(name))
            cancelled, *held = pipe.execute()
        found = [claims_of(records, said) for records, said in zip(held[::2], held[1::2], strict=True)]
        entries = [entry for claims, _ in found for entry in claims]
        progress = [words for _, said in found for words in said]
        for job, entry, words in zip(self._with_payloads(entries, "running"), entries, progress, strict=True):
            yield marked_job(job, entry, words, marked=set(cancelled))

    def queued(self, control: Control) -> Iterator[Job]:
        """Page through `S:next` and `S:again`, merged by due time."""
        k, now = self.keys, server_ms(self.server)
        waiting, again = self.pages(k.next), self.pages(k.again)
        left, right = next(waiting, None), next(again, None)
        batch: list[tuple[Entry, float]] = []
        while left is not None or right is not None:
            if right is None or (left is not None and left[1] <= right[1]):
                assert left is not None
                batch.append((Entry(due=score_text(left[1]), item=left[0]), left[1]))
                left = next(waiting, None)
            else:
                entry = read_entry(right[0]) or Entry(due=score_text(right[1]), item=right[0])
                batch.append((entry, right[1]))
                right = next(again, None)
            if len(batch) == PAGE or (left is None and right is None):
                yield from self.standing(batch, now, control)
                batch = []

    def standing(self, batch: list[tuple[Entry, float]], now: int, control: Control) -> Iterator[Job]:
        """Read entries of `S:next` and `S:again`, each with its score, as jobs."""
        errors = iter(self._last_errors([entry for entry, _ in batch if entry.attempt]))
        ids = [_id(entry.item) for entry, _ in batch]
        for (entry, when), id, payload in zip(batch, ids, self.payloads(ids), strict=True):
            job = self.read(id, payload) or self._missing(id)
            known: dict[str, Any] = {"attempt": entry.attempt, "state": "due" if when <= now else "waiting"}
            if entry.attempt:
                known |= {"state": "retrying", **next(errors)}
            elif control.paused and (pause := pause_of(job, control)) is not None:
                known |= {"state": "paused", "why": pause_text(pause)}
            yield at_due(job, whole_ms(when), **known)

    def _last_errors(self, entries: list[Entry]) -> Iterator[dict[str, Any]]:
        if not entries:
            return
        with self.server.translated() as client:
            found = client.hmget(self.keys.errors, [occurrence(_id(entry.item), entry) for entry in entries])
        for packed in found:
            failure = None if packed is None else read_failure(read_packed(packed))
            yield {} if failure is None else {"error": failure.line, "failure": failure}

    def _with_payloads(self, entries: list[Entry], state: JobState) -> Iterator[Job]:
        ids = [_id(entry.item) for entry in entries]
        for entry, id, payload in zip(entries, ids, self.payloads(ids), strict=True):
            known: dict[str, Any] = {"due_ms": entry.due_ms, "state": state, "attempt": entry.attempt}
            job = self.read(id, payload, **known)
            yield job or at_due(self._missing(id), **known)

    def _missing(self, id: str) -> Job:
        return Job(id=id, schedule=self.codec.schedule, fn="?", error="its payload is missing")

    def pages(self, key: str) -> Iterator[tuple[bytes, float]]:
        """Page through the members of a sorted set and their scores."""
        start = 0
        while True:
            with self.server.translated() as client:
                page = client.zrange(key, start, start + PAGE - 1, withscores=True)
            yield from page
            if len(page) < PAGE:
                return
            start += PAGE


def marked_job(job: Job, entry: Entry, progress: Progress | None, *, marked: set[bytes]) -> Job:
    """Say of the job of a claim whether it runs or is cancelled, and how far it is."""
    names = {name.encode("utf-8", "surrogateescape") for name in (job.id, occurrence(job.id, entry))}
    return replace(job, state="running" if marked.isdisjoint(names) else "cancelling", progress=progress)


def claims_of(records: Mapping[bytes, bytes], said: Mapping[bytes, bytes]) -> tuple[list[Entry], list[Progress | None]]:
    """Read the records of one listener: the entry of each claim, and the latest progress of its run."""
    found = [(field, value) for field, value in records.items() if b"." in field]
    entries = [read_entry(value) or regular(field.partition(b".")[2], due=value) for field, value in found]
    return entries, [read_said(said.get(field)) for field, _ in found]


def _id(item: bytes) -> str:
    return (item_id(item) or b"").decode("utf-8", "replace")


def whole_ms(score: float) -> int:
    """Round a score to whole milliseconds, within what a due time can be."""
    return round(max(-FURTHEST_MS, min(FURTHEST_MS, score)))


def score_text(score: float) -> str:
    """Write a score as the server does."""
    return f"{score:.0f}" if abs(score) < 1e17 else str(score)
