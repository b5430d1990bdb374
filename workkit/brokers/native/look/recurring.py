"""All recurring jobs of a native schedule, in two round trips: what names them, then their times and new payloads.

Nothing lists recurring jobs alone. Those with a name stand in `S:names`; those that ran have a ring in `S:lately`; one
that has neither is found while it stands among the first of `S:next`.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from itertools import chain
from threading import Lock
from typing import Final

from workkit import wire
from workkit.brokers.native.codec import instant_of
from workkit.brokers.native.entry import Entry, Parked, item_id, plain_item, read_entry, read_parked, why_of_rate
from workkit.brokers.native.look.listing import Listing, pause_of
from workkit.brokers.native.look.search import named_entry
from workkit.brokers.redis_server.control import standing, whole_ms
from workkit.brokers.redis_server.pages import is_text
from workkit.contract.inspector import Named, Recurs
from workkit.jobs.admission import Control, pause_text
from workkit.jobs.job import Job, JobState

MOST: Final = 50_000  # jobs that are kept
HEAD: Final = 500  # members of `S:next`, `S:again` and `S:waiting` that are looked at
PAGE: Final = 1_000  # fields of one command
Scored = Sequence[tuple[bytes, float]]


@dataclass(slots=True, eq=False)
class KeptJobs:
    """Keeps jobs that were read, by id, without a state or a due time. The one that was read the longest ago gives way.
    Thread-safe. An id is the hash of its payload, so what is kept is never stale.
    """

    most: int = MOST
    _jobs: OrderedDict[str, Job] = field(default_factory=OrderedDict)
    _lock: Lock = field(default_factory=Lock)

    def unknown(self, ids: list[str]) -> list[str]:
        """List those of these ids that are not kept."""
        with self._lock:
            return [id for id in ids if id not in self._jobs]

    def job(self, id: str) -> Job | None:
        """Give one; None for one that is not kept."""
        with self._lock:
            if (found := self._jobs.get(id)) is not None:
                self._jobs.move_to_end(id)
            return found

    def recurring(self, ids: list[str]) -> dict[str, Job]:
        """Give those of these jobs that recur, by id."""
        with self._lock:
            found = {}
            for id in ids:
                if id in self._jobs:
                    self._jobs.move_to_end(id)
                    if (job := self._jobs[id]).recurs:
                        found[id] = job
            return found

    def keep(self, id: str, payload: bytes, job: Job) -> None:
        """Keep a job that was read. One whose id is no hash of its payload is not kept."""
        if wire.job_id(payload) != id:
            return
        with self._lock:
            self._jobs[id] = job
            while len(self._jobs) > self.most:
                self._jobs.popitem(last=False)


def read_named(listing: Listing, kept: KeptJobs) -> dict[str, Named]:
    """Read the jobs that have a name, by name. What is kept is not decoded again."""
    with listing.server.translated() as client:
        values = client.hgetall(listing.keys.names)
    entries = [(name.decode(), *named_entry(value)) for name, value in values.items() if is_text(name)]
    found: dict[str, Named] = {}
    for start in range(0, len(entries), PAGE):
        page = entries[start : start + PAGE]
        payloads = listing.payloads([id for _, id, _ in page])
        for (name, id, content), payload in zip(page, payloads, strict=True):
            if payload is not None:
                found[name] = Named(job=_decoded(listing, kept, id, payload), content=content)
    return found


def _decoded(listing: Listing, kept: KeptJobs, id: str, payload: bytes) -> Job:
    if (job := kept.job(id)) is None:
        job = listing.read(id, payload)
        kept.keep(id, payload, job)
    return job


def read_recurring(listing: Listing, kept: KeptJobs) -> list[Recurs]:
    """Read the recurring jobs: see `Inspector.recurring`."""
    k = listing.keys
    with listing.server.translated() as client:
        pipe = client.pipeline(transaction=False)
        pipe.time()
        pipe.hgetall(k.control)
        pipe.hgetall(k.names)
        pipe.zrange(k.next, 0, HEAD - 1, withscores=True)
        pipe.zrange(k.again, 0, HEAD - 1, withscores=True)
        pipe.zrange(k.waiting, 0, HEAD - 1)
        pipe.hkeys(k.lately)
        found = pipe.execute(raise_on_error=False)
    rings = found.pop()
    if (error := next((one for one in found if isinstance(one, Exception)), None)) is not None:
        with listing.server.translated():
            raise error
    clock, fields, names, head, again, parked = found
    now = int(clock[0]) * 1000 + int(clock[1]) // 1000
    _, control = standing(fields, now_ms=now)
    keys = {named_entry(value)[0]: name.decode() for name, value in names.items() if is_text(name)}
    named = set(keys.values())
    rest = [] if isinstance(rings, Exception) else [ring for ring in rings if is_text(ring)]  # of another type: no ring
    others = {ring.decode() for ring in rest} - named
    others.update(one.decode() for item, _ in head if (one := item_id(item)) is not None and is_text(one))
    ids = list(dict.fromkeys([*keys, *sorted(others)]))
    jobs, scores = _read(listing, kept, ids)
    aside = _Aside(again, parked, now)
    rows = []
    for id, job in jobs.items():
        key = keys.get(id) or job.name or id
        if id in keys or key not in named:
            rows.append(_standing(key, job, scores.get(id), aside, control, now))
    return rows


def _read(listing: Listing, kept: KeptJobs, ids: list[str]) -> tuple[dict[str, Job], dict[str, float]]:
    """Read the jobs that recur, and when each is due in `S:next`."""
    new = kept.unknown(ids)
    jobs = kept.recurring(ids)
    timed = [*jobs, *new]
    with listing.server.translated() as client:
        pipe = client.pipeline(transaction=False)
        for page in _pages(timed):
            pipe.zmscore(listing.keys.next, [plain_item(id) for id in page])
        for page in _pages(new):
            pipe.hmget(listing.keys.jobs, page)
        found = pipe.execute()
    count = len(_pages(timed))
    due: list[float | None] = list(chain.from_iterable(found[:count]))
    payloads: list[bytes | None] = list(chain.from_iterable(found[count:]))
    for id, payload in zip(new, payloads, strict=True):
        if payload is not None:
            job = _decoded(listing, kept, id, payload)
            if job.recurs:
                jobs[id] = job
    scores = {id: score for id, score in zip(timed, due, strict=True) if score is not None}
    return {id: jobs[id] for id in ids if id in jobs}, scores


def _pages(ids: list[str]) -> list[list[str]]:
    return [ids[at : at + PAGE] for at in range(0, len(ids), PAGE)]


class _Aside:
    """What waits beside the queue, by id: for another attempt, for its turn of a rate, or for a slot."""

    def __init__(self, again: Scored, parked: Sequence[bytes], now: int) -> None:
        self.again: dict[bytes, tuple[Entry, int]] = {}  # and when it is due
        for text, when in again:
            entry = read_entry(text)
            if entry is not None and (entry.attempt or entry.is_held(when, now)) and (id := item_id(entry.item)):
                self.again.setdefault(id, (entry, whole_ms(when)))
        read = (one for text in parked if (one := read_parked(text)) is not None)
        self.parked: Mapping[bytes, Parked] = {id: one for one in read if (id := item_id(one.entry.item))}

    def __bool__(self) -> bool:
        return bool(self.again or self.parked)


def _standing(key: str, job: Job, score: float | None, aside: _Aside, control: Control, now: int) -> Recurs:
    """Say how a job stands, by its time in `S:next`, what waits beside the queue, and the pauses."""
    due = None if score is None else whole_ms(score)
    state: JobState = "due" if due is not None and due <= now else "waiting"
    attempt, why = 0, None
    if aside:
        id = job.id.encode("utf-8", "surrogateescape")
        parked, again = aside.parked.get(id), aside.again.get(id)
        if again is not None:
            entry, when = again
            attempt, state = entry.failures, "waiting" if entry.is_waiting else "retrying"
            if entry.is_held(when, now):
                state, why = "held", why_of_rate(entry)
            due = when if due is None else min(due, when)
        elif parked is not None:
            state, why = ("held", parked.why) if parked.pause is None else ("due", None)  # or its pause is just over
            due = parked.entry.due_ms if due is None else min(due, parked.entry.due_ms)
    if control.paused and (pause := pause_of(job, control)) is not None:
        state, why = "paused", pause_text(pause)
    at = None if due is None else instant_of(due)
    return Recurs(key=key, job=job, state=state, due=at, attempt=attempt, why=why)
