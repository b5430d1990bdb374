"""Read all recurring jobs of a native schedule, in two round trips: first the keys that name them, then their times and
new payloads. Also read the limits and rates in use.

No key lists recurring jobs alone. Jobs with a name are in `S:names`; jobs that ran have a ring in `S:lately`; a job
that has neither is found while it is among the first of `S:next`.
"""

from __future__ import annotations

import math
from collections import Counter, OrderedDict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import chain
from threading import Lock
from typing import Any, Final

from workkit import wire
from workkit.brokers.native.entry import Entry, Parked, item_id, plain_item, read_entry, read_parked, why_of_rate
from workkit.brokers.native.look.all_jobs import named_entry
from workkit.brokers.native.look.listing import Listing, Row, entry_rows, next_turns, pause_of, record_rows
from workkit.brokers.redis_server.control import ask_slots, bounds, grouped, standing, whole_ms
from workkit.brokers.redis_server.pages import is_text, ms_of, piped
from workkit.contract.inspector import (
    MOST_HOLDERS,
    MOST_LIMITS,
    MOST_LISTENERS,
    Holder,
    LimitUse,
    Named,
    Recurs,
    worst_first,
)  # fmt: skip
from workkit.jobs.admission import SCHEDULE, Control, pause_text
from workkit.jobs.job import Job, JobState
from workkit.jobs.terms import instant_of

MOST: Final = 50_000  # jobs that are kept
HEAD: Final = 500  # members of `S:next`, `S:again` and `S:waiting` that are looked at
PAGE: Final = 1_000  # fields of one command


@dataclass(slots=True, eq=False)
class KeptJobs:
    """Keeps jobs that were read, by id, without a state or a due time. It drops the job that was read the longest ago.
    Thread-safe. An id is the hash of its payload, so a kept job is never stale.
    """

    most: int = MOST
    _jobs: OrderedDict[str, Job] = field(default_factory=OrderedDict)
    _lock: Lock = field(default_factory=Lock)

    def unknown(self, ids: list[str]) -> list[str]:
        """List those of these ids that are not kept."""
        with self._lock:
            return [id for id in ids if id not in self._jobs]

    def job(self, id: str) -> Job | None:
        """Return a kept job; None if it is not kept."""
        with self._lock:
            if (found := self._jobs.get(id)) is not None:
                self._jobs.move_to_end(id)
            return found

    def recurring(self, ids: list[str]) -> dict[str, Job]:
        """Return those of these jobs that recur, by id."""
        with self._lock:
            found = {}
            for id in ids:
                if id in self._jobs:
                    self._jobs.move_to_end(id)
                    if (job := self._jobs[id]).recurs:
                        found[id] = job
            return found

    def keep(self, id: str, payload: bytes, job: Job) -> None:
        """Keep a job that was read, unless its id is not the hash of its payload."""
        if wire.job_id(payload) != id:
            return
        with self._lock:
            self._jobs[id] = job
            while len(self._jobs) > self.most:
                self._jobs.popitem(last=False)


def read_named(listing: Listing, kept: KeptJobs) -> dict[str, Named]:
    """Read the jobs that have a name, by name. Kept jobs are not decoded again."""
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

    def ask(pipe: Any) -> None:
        pipe.time()
        pipe.hgetall(k.control)
        pipe.hgetall(k.names)
        pipe.zrange(k.next, 0, HEAD - 1, withscores=True)
        pipe.zrange(k.again, 0, HEAD - 1, withscores=True)
        pipe.zrange(k.waiting, 0, HEAD - 1)
        pipe.hkeys(k.lately)

    found = piped(listing.server, ask, lenient=True)
    rings = found.pop()
    if (error := next((one for one in found if isinstance(one, Exception)), None)) is not None:
        with listing.server.translated():
            raise error
    clock, fields, names, head, again, parked = found
    now = ms_of(clock)
    _, control = standing(fields, now_ms=now)
    keys = {named_entry(value)[0]: name.decode() for name, value in names.items() if is_text(name)}
    named = set(keys.values())
    rest = [] if isinstance(rings, Exception) else [ring for ring in rings if is_text(ring)]  # of another type: no ring
    others = {ring.decode() for ring in rest} - named
    others.update(one.decode() for item, _ in head if (one := item_id(item)) is not None and is_text(one))
    ids = list(dict.fromkeys([*keys, *sorted(others)]))
    jobs, scores = _read(listing, kept, ids)
    owed = entry_rows(listing.keys.again, again)
    aside = _Aside(owed, next_turns(listing, owed, now), parked, now)
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

    def ask(pipe: Any) -> None:
        for page in _pages(timed):
            pipe.zmscore(listing.keys.next, [plain_item(id) for id in page])
        for page in _pages(new):
            pipe.hmget(listing.keys.jobs, page)

    found = piped(listing.server, ask)
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
    """Jobs that wait beside the queue, by id: for another attempt, for a turn of a rate, or for a slot."""

    def __init__(self, again: Sequence[Row], turns: Mapping[Row, float], parked: Sequence[bytes], now: int) -> None:
        self.again: dict[bytes, tuple[Entry, int]] = {}  # and its due ms
        for row in again:
            entry = row.entry
            if (entry.attempt or entry.is_held(row.when, now)) and (id := item_id(entry.item)):
                self.again.setdefault(id, (entry, whole_ms(turns.get(row, row.when))))
        read = (one for text in parked if (one := read_parked(text)) is not None)
        self.parked: Mapping[bytes, Parked] = {id: one for one in read if (id := item_id(one.entry.item))}

    def __bool__(self) -> bool:
        return bool(self.again or self.parked)


def _standing(key: str, job: Job, score: float | None, aside: _Aside, control: Control, now: int) -> Recurs:
    """Find the state of a job, from its time in `S:next`, its entries beside the queue, and the pauses."""
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
            state, why = (
                ("held", parked.why(job.terms)) if parked.pause is None else ("due", None)
            )  # or its pause is just over
            due = parked.entry.due_ms if due is None else min(due, parked.entry.due_ms)
    if control.paused and (pause := pause_of(job, control)) is not None:
        state, why = "paused", pause_text(pause)
    at = None if due is None else instant_of(due)
    return Recurs(key=key, job=job, state=state, due=at, attempt=attempt, why=why)


MOST_KEYS = 1_000  # keys of limits; the waiting jobs of at most this many are counted
MOST_HELD = 1_000  # entries held by rates that are read; the turns tell how many wait behind them
START = b"start:"  # prefix of a rate key: how late its next start may be; it is no turn
UNIQUE = b"unique:"
ALONE = (b"over:", UNIQUE)  # keys that allow one run


@dataclass(slots=True)
class _Run:
    """The run of one job, from the records of listeners: who runs it, and the limits of its keys."""

    listener: str
    limits: dict[str, int] = field(default_factory=dict)


def read_limits(listing: Listing, *, like: str = "") -> list[LimitUse]:
    """Read the limits and rates in use: see `Inspector.limits`."""
    k, wanted = listing.keys, like.encode("utf-8", "replace")

    def ask(pipe: Any) -> None:
        pipe.time()
        pipe.hgetall(k.control)
        pipe.zrevrange(k.listeners, 0, MOST_LISTENERS - 1)
        pipe.zrevrange(k.rates, 0, 2 * MOST_LIMITS - 1, withscores=True)
        pipe.hget(k.unique, wanted)
        pipe.zscore(k.windows, wanted)
        ask_slots(pipe, k.slots)
        if wanted:
            pipe.zrangebylex(
                k.slots, b"[" + UNIQUE + wanted, b"(" + UNIQUE + wanted + b"\xff", start=0, num=MOST_LIMITS
            )

    clock, fields, names, rates, holder, window, *pages = piped(listing.server, ask)
    now = ms_of(clock)
    slots = grouped(pages[2:])
    slots |= dict(sorted(grouped(pages[:2]).items(), key=lambda one: one[0].startswith(ALONE))[:MOST_KEYS])
    listeners = [name.decode() for name in names if is_text(name)]

    def ask_uses(pipe: Any) -> None:
        for key in slots:
            pipe.zlexcount(k.slots, *bounds(key))
            pipe.zlexcount(k.waiting, *bounds(key))
            pipe.zrangebylex(k.waiting, *bounds(key), start=0, num=1)
        for name in listeners:
            pipe.hgetall(k.running(name))
        pipe.zrangebyscore(k.again, f"({now}", "+inf", start=0, num=MOST_HELD, withscores=True)

    *answers, owed = piped(listing.server, ask_uses)
    _, control = standing(fields, now_ms=now)
    counted, records = answers[: 3 * len(slots)], answers[3 * len(slots) :]
    runs = _runs(listeners, records)
    found = []
    for n, key in enumerate(slots):
        used, waiting, first = counted[3 * n : 3 * n + 3]
        found.append(_use(key, used, waiting, first, slots[key], runs, control))
    found += _rates(rates, owed, now, control)
    if wanted and window is not None and window > now:
        found.append(LimitUse(key=f"window:{like}", turn=instant_of(whole_ms(window)), waiting=None))
    id = named_entry(holder)[0] if wanted and holder is not None else ""
    if UNIQUE + wanted not in slots and any(job is not None for job in listing.stored([id] if id else [])):
        slots[UNIQUE + wanted] = [id.encode()]
        found.append(_use(UNIQUE + wanted, 1, 0, [], slots[UNIQUE + wanted], runs, control))
    worst = worst_first(found, like=like)
    return _with_holders(listing, worst, slots, runs)


def _runs(listeners: list[str], records: list[Any]) -> dict[str, _Run]:
    """Read the running jobs by id, and the limits under which each claim has its slots."""
    found: dict[str, _Run] = {}
    for name, record in zip(listeners, records, strict=True):
        for row in record_rows("", record, {}):
            run = found.setdefault(row.id, _Run(name))
            run.limits |= dict(row.entry.slots)
    return found


def _use(
    key: bytes,
    used: int,
    waiting: int,
    first: list[bytes],
    holders: list[bytes],
    runs: dict[str, _Run],
    control: Control,
) -> LimitUse:
    name = key.decode("utf-8", "replace")
    parked = read_parked(first[0]) if first else None
    known = [run.limits[name] for id in map(_id, holders) if (run := runs.get(id)) and name in run.limits]
    known += [dict(parked.entry.slots)[name]] if parked and name in dict(parked.entry.slots) else []
    limit = 1 if key.startswith(ALONE) else control.limit if name == SCHEDULE else max(known, default=None)
    oldest = None if parked is None else instant_of(parked.entry.due_ms)
    return LimitUse(key=name, used=used, limit=limit, waiting=waiting, oldest=oldest)


def _rates(
    rates: list[tuple[bytes, float]], owed: list[tuple[bytes, float]], now: int, control: Control
) -> list[LimitUse]:
    """Find the rates that have their next turn in the future, each with the number of jobs that it holds. `owed`: the
    first entries of `S:again` that are not due. If there may be more, the taken turns tell how many.
    """
    waiting: Counter[str] = Counter()
    periods = {} if control.turn_ms is None else {SCHEDULE: control.turn_ms}
    for text, when in owed:
        if (entry := read_entry(text)) is not None and entry.is_held(when, now) and entry.rate is not None:
            waiting[entry.rate[0]] += 1
            periods[entry.rate[0]] = entry.rate[1]
    found = []
    for key, at in rates:
        turn = instant_of(whole_ms(at))
        if at > now and turn is not None and not key.startswith(START):
            name = key.decode("utf-8", "replace")
            turn_ms, count = periods.get(name), waiting[name]
            if len(owed) == MOST_HELD and turn_ms:
                count = max(count, math.ceil((at - now) / turn_ms) - 1)
            found.append(LimitUse(key=name, turn=turn, turn_ms=turn_ms, waiting=count))
    return found


def _with_holders(
    listing: Listing, uses: list[LimitUse], slots: dict[bytes, list[bytes]], runs: dict[str, _Run]
) -> list[LimitUse]:
    """Add the jobs that hold the slots."""
    by_name = {key.decode("utf-8", "replace"): [_id(run) for run in held[:MOST_HOLDERS]] for key, held in slots.items()}
    ids = list(dict.fromkeys(id for use in uses if not use.is_rate for id in by_name.get(use.key, ())))
    jobs = {job.id: job for job in listing.stored(ids) if job is not None}
    return [
        use if use.is_rate else replace(use, holders=tuple(
            Holder(job=jobs[id], listener=runs[id].listener if id in runs else None)
            for id in by_name.get(use.key, ()) if id in jobs
        ))
        for use in uses
    ]  # fmt: skip


def _id(run: bytes) -> str:
    return run.partition(b"@")[0].decode("utf-8", "replace")
