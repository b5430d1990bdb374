"""How many jobs of a native schedule are in each state, by the rules of `Listing`, which shows them.

The server counts the items of `S:next`, and the entries that a rate holds. Only while a function is paused are the
payloads of all queued jobs read, because nothing else names their function.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from dataclasses import field as made
from itertools import chain, pairwise
from typing import Any, Final, NamedTuple

from workkit import wire
from workkit.brokers.native.codec import id_text
from workkit.brokers.native.entry import PAUSES, plain_item, read_entry, why_of_rate
from workkit.brokers.native.keys import Keys
from workkit.brokers.native.look.listing import (
    JOB,
    Listing,
    Row,
    claim_facts,
    entry_rows,
    item_rows,
    next_turns,
    pause_of,
    record_rows,
)
from workkit.brokers.native.record import read_count, read_late
from workkit.brokers.redis_server.control import quieted, read_info, standing, whole_ms
from workkit.brokers.redis_server.pages import PAGE, Cursor, Scored, is_text, ms_of, ordered_pages, piped, server_ms
from workkit.brokers.redis_server.server import Server
from workkit.contract.inspector import MOST_LISTENERS, SOON, Counts, Pulse, soonest
from workkit.errors import ServerRefused
from workkit.jobs.admission import SCHEDULE, Control, pause_text
from workkit.jobs.job import Job
from workkit.jobs.terms import instant_of

FN = "fn:"
MOST_OWED: Final = 10_000  # entries of `S:again` that are read
Item = tuple[bytes, float]  # of `S:next`, or what an entry of `S:again` holds; and when it is due


@dataclass(slots=True)
class Owed:
    """How many of the first entries of `S:again` are in which state. `plain`: those that wait, or are due, as items of
    `S:next` do. `read`: how many were looked at, of which `past` are due; `failed`: how many of them had a failed
    attempt.
    """

    now: int
    held: int = 0
    retrying: int = 0
    plain: list[Item] = made(default_factory=list)
    read: int = 0
    past: int = 0
    failed: int = 0

    def look_at(self, page: Sequence[Scored]) -> None:
        """Look at further entries."""
        self.read += len(page)
        for text, when in page:
            entry = read_entry(text)
            self.past += when <= self.now
            self.failed += entry is not None and entry.failures > 0
            if entry is not None and entry.is_held(when, self.now):
                self.held += 1
            elif entry is not None and entry.attempt and not entry.is_waiting:
                self.retrying += 1
            else:
                self.plain.append((entry.item if entry else text, when))

    def rest(self, all: OwedInAll) -> tuple[int, int, int, int]:
        """Count the entries that were not looked at: those that a rate holds, that wait for another attempt, that are
        due, and that wait. The server keeps an error for each that waits for another attempt, and for no other.
        """
        unread = max(0, all.entries - self.read)
        past = min(unread, max(0, all.past - self.past))
        held = min(unread - past, max(0, all.turns - self.held))
        retrying = min(unread - held, max(0, all.errors - self.failed))
        due = min(past, unread - held - retrying)
        return held, retrying, due, unread - held - retrying - due


class OwedInAll(NamedTuple):
    """The counts of `S:again` on the server: its entries, those that are due, and those that a rate holds by `S:turns`.
    At most `errors` of them had a failed attempt.
    """

    entries: int
    past: int
    turns: int
    errors: int


def read_counts(listing: Listing, control: Control) -> Counts:
    """Count the jobs in each state: see `Inspector.counts`."""
    k, now = listing.keys, server_ms(listing.server)
    with listing.server.translated() as client:
        names = client.zrange(k.listeners, 0, -1)

    def ask(pipe: Any) -> None:
        pipe.zrange(k.listeners, 0, -1)
        cursor.ask(pipe)
        for key in (k.next, k.again, k.dead, k.waiting, k.cancelled):
            pipe.zcard(key)
        pipe.zcount(k.next, "-inf", now)
        _ask_owed(pipe, k, now)
        pipe.zcount(k.dead, "-inf", known_until(control))
        pipe.zrange(k.next, 0, 0, withscores=True)
        pipe.zlexcount(k.waiting, *PAUSES)
        pipe.zcount(k.deadlines, "-inf", now)
        pipe.hgetall(k.stats)
        for name in filter(is_text, names):
            pipe.hkeys(k.running(name.decode()))

    while True:  # until all listeners are known; in one step, so that a job that moves is counted once
        cursor = Cursor(listing.server, k.again)
        listed, page, *answers = piped(listing.server, ask, whole=True)
        if set(listed) <= set(names):
            break
        names = listed
    queued, again, dead, parked, marked, due, past, turns, errors, known_dead, head, *answers = answers
    parked_by_pause, late, stats, *held = answers
    in_all = OwedInAll(again, past, turns, errors)
    owed, first = Owed(now), cursor.take(page) or []
    owed.look_at(first)
    while not cursor.is_over and owed.read < MOST_OWED and any(owed.rest(in_all)[1:]):
        owed.look_at(cursor.page())
    running = sum(1 for fields in held for field in fields if b"." in field)
    cancelling = sum(job.state == "cancelling" for job in listing.running()) if marked and running else 0
    return _counts(
        owed, (0, 0, 0, 0) if cursor.is_over else owed.rest(in_all), control, queued=queued, due=due, parked=parked,
        parked_by_pause=parked_by_pause, first=(*head, *first[:1]),
        paused_alone=_paused(listing, control, owed.plain) if control.paused else (),
        running=max(0, running - cancelling), cancelling=cancelling, dead=dead, known_dead=known_dead,
        listeners=len(listed), totals=totals_of(stats), **_late(listing, late),
    )  # fmt: skip


def _late(listing: Listing, count: int) -> dict[str, Any]:
    """Read the jobs that are past their deadline, if any entry may be one. This user may lack the right to ask."""
    try:
        reply = listing.server.run(listing.keys, "late", ["look"]) if count else None
    except ServerRefused as error:
        return {"unknown": {"past_deadline": str(error)}}
    return {} if reply is None else {"past_deadline": read_late(reply, listing.codec)}


def _counts(
    owed: Owed, rest: tuple[int, int, int, int], control: Control, *, queued: int, due: int, parked: int,
    parked_by_pause: int, first: Iterable[Item], paused_alone: Iterable[Item] = (), **counted: Any,
) -> Counts:  # fmt: skip
    """Put the counts together. `rest`: the entries of `S:again` that are not read: see `Owed.rest`. `first`: the first
    members of the two queues. `paused_alone`: the items there under a pause of a job or a function. `counted`: the
    counts that need nothing else.
    """
    held, retrying, due_later, waiting = rest
    due += due_later + sum(when <= owed.now for _, when in owed.plain)
    waiting += queued + len(owed.plain) + due_later - due
    paused, earliest = parked_by_pause, min((whole_ms(when) for _, when in first), default=owed.now + 1)
    late_ms = owed.now - earliest if earliest <= owed.now else None
    if SCHEDULE in control.paused:
        paused, waiting, due, late_ms = paused + waiting + due, 0, 0, None
    else:
        for _, when in paused_alone:
            paused, waiting, due = paused + 1, waiting - (when > owed.now), due - (when <= owed.now)
    return Counts(
        waiting=waiting, due=due, retrying=owed.retrying + retrying, held=parked - parked_by_pause + owed.held + held,
        paused=paused, late_ms=late_ms, **counted,
    )  # fmt: skip


def _ask_owed(pipe: Any, keys: Keys, now: int) -> None:
    """Ask for what `OwedInAll` has beside the entries."""
    pipe.zcount(keys.again, "-inf", now)
    pipe.zcount(keys.turns, f"({now}", "+inf")
    pipe.hlen(keys.errors)


def known_until(control: Control) -> int | str:
    """Write the score up to which deaths are acknowledged."""
    return "-inf" if control.known_dead_ms is None else control.known_dead_ms


def _paused(listing: Listing, control: Control, again: Iterable[Item]) -> Iterator[Item]:
    """Find what is queued although its job or its function is paused."""
    ids = _paused_ids(listing, [target.removeprefix(JOB) for target in control.paused if target.startswith(JOB)])
    functions = {target.removeprefix(FN) for target in control.paused if target.startswith(FN)}
    if not functions:
        with listing.server.translated() as client:
            items = [plain_item(id) for id in sorted(ids)]
            scores = client.zmscore(listing.keys.next, items) if items else []
        yield from ((item, when) for item, when in zip(items, scores, strict=True) if when is not None)
        yield from ((item, when) for item, when in again if id_text(item) in ids)
        return
    page: list[Item] = []
    for one in chain(again, chain.from_iterable(ordered_pages(listing.server, listing.keys.next))):
        page.append(one)
        if len(page) == PAGE:
            yield from _of(listing, page, ids, functions)
            page = []
    yield from _of(listing, page, ids, functions)


def _of(listing: Listing, page: list[Item], ids: set[str], functions: set[str]) -> Iterator[Item]:
    names = [id_text(item) for item, _ in page]
    for one, id, payload in zip(page, names, listing.payloads(names), strict=True):
        if id in ids or (payload is not None and wire.job_of(payload) in functions):
            yield one


def _paused_ids(listing: Listing, targets: list[str]) -> set[str]:
    """Tell the ids of jobs that are paused by name or by id."""
    if not targets:
        return set()
    with listing.server.translated() as client:
        named = client.hmget(listing.keys.names, targets)
    return {*targets, *(value.decode("utf-8", "replace").partition(" ")[0] for value in named if value)}


def totals_of(stats: Mapping[bytes, bytes]) -> dict[str, int]:
    """Add up the counters of `S:stats` by what they count."""
    totals: dict[str, int] = {}
    for field, n in stats.items():
        what = field.decode("utf-8", "replace").rpartition(":")[0]
        if what and (count := read_count(n)) is not None:
            totals[what] = totals.get(what, 0) + count
    return totals


def read_ahead(server: Server, keys: Keys, edges: Sequence[int]) -> list[int]:
    """Count what waits in `S:next` and `S:again` between each two edges: see `ByTime.ahead`."""
    asked = [(key, since, f"({until}") for since, until in pairwise(edges) for key in (keys.next, keys.again)]
    found = piped(server, lambda pipe: [pipe.zcount(*one) for one in asked])
    return list(map(sum, zip(found[::2], found[1::2], strict=True)))


NO_CLAIMS = 2  # fields of the hash of a listener that are no claims: its last request, and its description


def read_pulse(listing: Listing) -> Pulse:
    """Look at a schedule: see `Inspector.pulse`."""
    k = listing.keys

    def ask(pipe: Any) -> None:
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

    clock, fields, beats, queued, again, dead, parked, parked_by_pause, next_, retried, marked, stats = piped(
        listing.server, ask
    )
    now = ms_of(clock)
    names = [(name.decode(), beat) for name, beat in beats if is_text(name)]
    version, control = standing(fields, now_ms=now)
    near, far = names[:MOST_LISTENERS], names[MOST_LISTENERS:]

    def ask_more(pipe: Any) -> None:
        pipe.zcount(k.next, "-inf", now)
        _ask_owed(pipe, k, now)
        pipe.zcount(k.dead, "-inf", known_until(control))
        pipe.zcount(k.deadlines, "-inf", now)
        for name, _ in near:
            pipe.hgetall(k.running(name))
            pipe.hgetall(k.progress(name))
        for name, _ in far:
            pipe.hlen(k.running(name))

    due, past, turns, errors, known_dead, late, *held = piped(listing.server, ask_more)
    records, told = held[: 2 * len(near) : 2], held[1 : 2 * len(near) : 2]
    claims = [record_rows("", fields, progress) for fields, progress in zip(records, told, strict=True)]
    owed = Owed(now)
    owed.look_at(retried)
    errors -= sum(row.entry.failures > 0 for rows in claims for row in rows)
    running, soon = _jobs(
        listing, claims, [*item_rows(k.next, next_), *entry_rows(k.again, retried)], marked=set(marked), now=now
    )
    cancelling = sum(job.state == "cancelling" for jobs in running for job in jobs)
    counts = _counts(
        owed, owed.rest(OwedInAll(again, past, turns, errors)), control, queued=queued, due=due, parked=parked,
        parked_by_pause=parked_by_pause, first=(*next_[:1], *retried[:1]),
        running=sum(map(len, running)) - cancelling + sum(max(0, n - NO_CLAIMS) for n in held[2 * len(near) :]),
        cancelling=cancelling, dead=dead, known_dead=known_dead, listeners=len(beats),
        totals=totals_of(stats), **_late(listing, late),
    )  # fmt: skip
    return Pulse(
        now_ms=now,
        counts=counts,
        control=control,
        soon=soonest([_standing(job, now, control) for job in soon]),
        listeners=tuple(
            replace(
                quieted(read_info(fields.get(b"info"), listener=name, now_ms=now), control),
                beat_ms=max(0, now - whole_ms(beat)), running=tuple(jobs),
            )
            for (name, beat), fields, jobs in zip(near, records, running, strict=True)
        ),
        version=version.decode("utf-8", "replace"),
    )  # fmt: skip


def _jobs(
    listing: Listing, claims: Sequence[Sequence[Row]], soon: Sequence[Row], *, marked: set[bytes], now: int
) -> tuple[list[list[Job]], list[Job]]:
    """Read the claims of each listener, and what waits, with one question for all payloads."""
    ids = list(dict.fromkeys(row.id for rows in (*claims, soon) for row in rows))
    payloads = dict(zip(ids, listing.payloads(ids), strict=True))
    running = [
        [listing.read(row.id, payloads[row.id], **claim_facts(row, row.said, marked=marked)) for row in rows]
        for rows in claims
    ]
    waiting, turns = [], next_turns(listing, soon, now)
    for row in soon:
        entry = row.entry
        known: dict[str, Any] = {"due": instant_of(whole_ms(turns.get(row, row.when))), "attempt": entry.failures}
        if entry.is_held(row.when, now):
            known |= {"state": "held", "why": why_of_rate(entry)}
        elif entry.attempt and not entry.is_waiting:
            known["state"] = "retrying"
        waiting.append(listing.read(row.id, payloads[row.id], **known))
    return running, waiting


def _standing(job: Job, now: int, control: Control) -> Job:
    """Say in which state a job is that waits in the queue."""
    if job.state in ("held", "retrying"):
        return job
    if control.paused and (pause := pause_of(job, control)) is not None:
        return replace(job, state="paused", why=pause_text(pause))
    return replace(job, state="due" if job.due is not None and job.due.timestamp() * 1000 <= now else "waiting")
