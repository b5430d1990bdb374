"""One quick look at a native schedule, in three round trips: nothing in it grows with the number of jobs.

The first asks what needs no other answer, the second what the clock and the names of listeners lead to, the third for
payloads.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Any

from workkit.brokers.native.entry import Entry, read_entry
from workkit.brokers.native.look.count import Owed, known_until, totals_of
from workkit.brokers.native.look.listing import Listing, Progress, claims_of, marked_job
from workkit.brokers.native.look.location import item_id
from workkit.brokers.native.look.parked import PAUSES, why_of_rate
from workkit.brokers.native.look.pauses import pause_of
from workkit.brokers.redis_server.listener_info import quieted, read_info
from workkit.brokers.redis_server.packed import whole_ms
from workkit.brokers.redis_server.pages import is_text
from workkit.brokers.redis_server.standing import standing
from workkit.contract.inspector import Counts, Pulse
from workkit.contract.listener import ListenerInfo
from workkit.contract.pulse import MOST_LISTENERS, SOON, soonest
from workkit.jobs.admission import SCHEDULE, Control, pause_text
from workkit.jobs.job import Job

NO_CLAIMS = 2  # fields of the hash of a listener that are no claims: its last request, and its description


def read_pulse(listing: Listing) -> Pulse:
    """Look at a schedule: see `Inspector.pulse`."""
    k = listing.keys
    with listing.server.translated() as client:
        pipe = client.pipeline(transaction=False)
        pipe.time()
        pipe.hgetall(k.control)
        pipe.zrange(k.listeners, 0, -1, desc=True, withscores=True)
        for key in (k.next, k.again, k.dead, k.waiting):
            pipe.zcard(key)
        pipe.zlexcount(k.waiting, *PAUSES)
        pipe.zrange(k.next, 0, SOON - 1, withscores=True)
        pipe.zrange(k.again, 0, SOON - 1, withscores=True)
        pipe.zrange(k.cancelled, 0, -1)
        pipe.hgetall(k.stats)
        clock, fields, beats, queued, again, dead, parked, parked_by_pause, next_, retried, marked, stats = (
            pipe.execute()
        )
        now = int(clock[0]) * 1000 + int(clock[1]) // 1000
        names = [(name.decode(), beat) for name, beat in beats if is_text(name)]
        version, control = standing(fields, now_ms=now)
        near, far = names[:MOST_LISTENERS], names[MOST_LISTENERS:]
        pipe = client.pipeline(transaction=False)
        pipe.zcount(k.next, "-inf", now)
        pipe.zcount(k.turns, f"({now}", "+inf")
        pipe.zcount(k.dead, "-inf", known_until(control))
        for name, _ in near:
            pipe.hgetall(k.running(name))
            pipe.hgetall(k.progress(name))
        for name, _ in far:
            pipe.hlen(k.running(name))
        due, turns, known_dead, *held = pipe.execute()
    infos = [
        replace(
            quieted(read_info(records.get(b"info"), listener=name, now_ms=now), control),
            beat_ms=max(0, now - whole_ms(beat)),
        )
        for (name, beat), records in zip(near, held[: 2 * len(near) : 2], strict=True)
    ]
    claims = [
        claims_of(records, said)
        for records, said in zip(held[: 2 * len(near) : 2], held[1 : 2 * len(near) : 2], strict=True)
    ]
    owed = Owed(now)
    owed.look_at(retried)
    held_later, retried_later = owed.rest(again, turns)
    running, soon = _jobs(listing, claims, [*_entries(next_), *_entries(retried)], marked=set(marked), now=now)
    cancelling = sum(job.state == "cancelling" for jobs in running for job in jobs)
    due += sum(when <= now for _, when in owed.plain)
    waiting, late = (
        queued + len(owed.plain) - due,
        [whole_ms(when) for _, when in (*next_[:1], *retried[:1]) if when <= now],
    )
    paused = parked_by_pause
    if SCHEDULE in control.paused:
        paused, waiting, due, late = paused + waiting + due, 0, 0, []
    counts = Counts(
        waiting=waiting,
        due=due,
        running=sum(map(len, running)) - cancelling + sum(max(0, n - NO_CLAIMS) for n in held[2 * len(near) :]),
        cancelling=cancelling,
        retrying=owed.retrying + retried_later,
        held=parked - parked_by_pause + owed.held + held_later,
        paused=paused,
        dead=dead,
        known_dead=known_dead,
        listeners=len(beats),
        late_ms=now - min(late) if late else None,
        totals=totals_of(stats),
    )
    return Pulse(
        now_ms=now,
        counts=counts,
        control=control,
        soon=soonest([_standing(job, now, control) for job in soon]),
        listeners=tuple(_with(infos, running)),
        version=version.decode("utf-8", "replace"),
    )


def _entries(page: Sequence[tuple[bytes, float]]) -> Iterator[tuple[Entry, int]]:
    """Read members of `S:next` or `S:again` as entries, each with its due time."""
    for member, when in page:
        yield read_entry(member) or Entry(due=f"{whole_ms(when)}", item=member), whole_ms(when)


def _jobs(
    listing: Listing,
    claims: Sequence[tuple[list[Entry], list[Progress | None]]],
    soon: Sequence[tuple[Entry, int]],
    *,
    marked: set[bytes],
    now: int,
) -> tuple[list[list[Job]], list[Job]]:
    """Read the claims of each listener, and what waits, with one question for all payloads."""
    held = [entry for entries, _ in claims for entry in entries]
    payloads = dict.fromkeys(_id(entry) for entry in (*held, *(entry for entry, _ in soon)))
    payloads.update(zip(payloads, listing.payloads(list(payloads)), strict=True))

    def job(entry: Entry, due_ms: int, **known: Any) -> Job:
        id = _id(entry)
        found = listing.read(id, payloads[id], due_ms=due_ms, attempt=entry.failures, **known)
        return found or Job(id=id, schedule=listing.codec.schedule, fn="?", error="its payload is missing")

    running = [
        [marked_job(job(entry, entry.due_ms), entry, words, marked=marked) for entry, words in zip(*one, strict=True)]
        for one in claims
    ]

    def queued(entry: Entry, when: int) -> Job:
        if entry.is_held(when, now):
            return job(entry, when, state="held", why=why_of_rate(entry))
        return job(entry, when, state="retrying" if entry.attempt and not entry.is_waiting else "waiting")

    return running, [queued(entry, when) for entry, when in soon]


def _standing(job: Job, now: int, control: Control) -> Job:
    """Say in which state a job is that waits in the queue."""
    if job.state in ("held", "retrying"):
        return job
    if control.paused and (pause := pause_of(job, control)) is not None:
        return replace(job, state="paused", why=pause_text(pause))
    return replace(job, state="due" if job.due is not None and job.due.timestamp() * 1000 <= now else "waiting")


def _with(infos: Sequence[ListenerInfo], running: Sequence[list[Job]]) -> Iterator[ListenerInfo]:
    return (replace(info, running=tuple(jobs)) for info, jobs in zip(infos, running, strict=True))


def _id(entry: Entry) -> str:
    return (item_id(entry.item) or b"").decode("utf-8", "replace")
