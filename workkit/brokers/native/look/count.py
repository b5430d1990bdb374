"""How many jobs of a native schedule are in each state, by the rules of `Listing`, which shows them.

The server counts what stands in `S:next`, and what a rate holds. Only while a function is paused are the payloads of
all queued jobs read, because nothing else tells their function.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from dataclasses import field as made
from itertools import chain
from typing import Any, Final

from workkit import wire
from workkit.brokers.native.entry import read_entry
from workkit.brokers.native.look.items import plain_item, server_ms
from workkit.brokers.native.look.listing import Listing
from workkit.brokers.native.look.location import item_id
from workkit.brokers.native.look.parked import PAUSES
from workkit.brokers.native.look.pauses import JOB
from workkit.brokers.native.record import read_count
from workkit.brokers.redis_server.cursor import Cursor, Scored, ordered_pages
from workkit.brokers.redis_server.packed import whole_ms
from workkit.brokers.redis_server.pages import PAGE, is_text, piped
from workkit.contract.inspector import Counts
from workkit.jobs.admission import SCHEDULE, Control

FN = "fn:"
MOST_OWED: Final = 10_000  # entries of `S:again` that are read
Item = tuple[bytes, float]  # of `S:next`, or what an entry of `S:again` holds; and when it is due


@dataclass(slots=True)
class Owed:
    """How many of the first entries of `S:again` are in which state. `plain`: those that wait, or are due, as items of
    `S:next` do. `read`: how many were looked at.
    """

    now: int
    held: int = 0
    retrying: int = 0
    plain: list[Item] = made(default_factory=list)
    read: int = 0

    def look_at(self, page: Sequence[Scored]) -> None:
        """Look at further entries."""
        self.read += len(page)
        for text, when in page:
            entry = read_entry(text)
            if entry is not None and entry.is_held(when, self.now):
                self.held += 1
            elif entry is not None and entry.attempt and not entry.is_waiting:
                self.retrying += 1
            else:
                self.plain.append((entry.item if entry else text, when))

    def rest(self, total: int, turns: int) -> tuple[int, int]:
        """Count the entries that were not looked at: those that a rate holds, and all others, which count as retries.
        `turns`: how many entries a rate holds, by `S:turns`.
        """
        unread = max(0, total - self.read)
        held = min(unread, max(0, turns - self.held))
        return held, unread - held


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
        pipe.zcount(k.turns, f"({now}", "+inf")
        pipe.zcount(k.dead, "-inf", known_until(control))
        pipe.zrange(k.next, 0, 0, withscores=True)
        pipe.zlexcount(k.waiting, *PAUSES)
        pipe.hgetall(k.stats)
        for name in filter(is_text, names):
            pipe.hkeys(k.running(name.decode()))

    while True:  # until all listeners are known; in one step, so that a job that moves is counted once
        cursor = Cursor(listing.server, k.again)
        listed, page, *answers = piped(listing.server, ask, whole=True)
        if set(listed) <= set(names):
            break
        names = listed
    queued, again, dead, parked, marked, due, turns, known_dead, head, parked_by_pause, stats, *held = answers
    owed, first = Owed(now), cursor.take(page) or []
    owed.look_at(first)
    while not cursor.is_over and owed.read < MOST_OWED and owed.rest(again, turns)[1]:
        owed.look_at(cursor.page())
    held_later, retried_later = (0, 0) if cursor.is_over else owed.rest(again, turns)
    plain = owed.plain
    due += sum(when <= now for _, when in plain)
    waiting, late = queued + len(plain) - due, [when for _, when in (*head, *first[:1])]
    paused = parked_by_pause
    if SCHEDULE in control.paused:
        paused, waiting, due, late = paused + waiting + due, 0, 0, []
    elif control.paused:
        for _, when in _paused(listing, control, plain):
            paused, waiting, due = paused + 1, waiting - (when > now), due - (when <= now)
    running = sum(1 for fields in held for field in fields if b"." in field)
    cancelling = sum(job.state == "cancelling" for job in listing.running()) if marked and running else 0
    return Counts(
        waiting=waiting,
        due=due,
        running=max(0, running - cancelling),
        cancelling=cancelling,
        retrying=owed.retrying + retried_later,
        held=parked - parked_by_pause + owed.held + held_later,
        paused=paused,
        dead=dead,
        known_dead=known_dead,
        listeners=len(listed),
        late_ms=_late_ms(late, now),
        totals=totals_of(stats),
    )


def known_until(control: Control) -> int | str:
    """Write the score up to which deaths are acknowledged."""
    return "-inf" if control.known_dead_ms is None else control.known_dead_ms


def _late_ms(scores: Iterable[float], now: int) -> int | None:
    """Tell how long what is due for longest has been due."""
    earliest = min(map(whole_ms, scores), default=now + 1)
    return now - earliest if earliest <= now else None


def _paused(listing: Listing, control: Control, again: Iterable[Item]) -> Iterator[Item]:
    """Find what is queued although its job or its function is paused."""
    ids = _paused_ids(listing, [target.removeprefix(JOB) for target in control.paused if target.startswith(JOB)])
    functions = {target.removeprefix(FN) for target in control.paused if target.startswith(FN)}
    if not functions:
        with listing.server.translated() as client:
            items = [plain_item(id) for id in sorted(ids)]
            scores = client.zmscore(listing.keys.next, items) if items else []
        yield from ((item, when) for item, when in zip(items, scores, strict=True) if when is not None)
        yield from ((item, when) for item, when in again if _id(item) in ids)
        return
    page: list[Item] = []
    for one in chain(again, chain.from_iterable(ordered_pages(listing.server, listing.keys.next))):
        page.append(one)
        if len(page) == PAGE:
            yield from _of(listing, page, ids, functions)
            page = []
    yield from _of(listing, page, ids, functions)


def _of(listing: Listing, page: list[Item], ids: set[str], functions: set[str]) -> Iterator[Item]:
    names = [_id(item) for item, _ in page]
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


def _id(item: bytes) -> str:
    return (item_id(item) or b"").decode("utf-8", "replace")


def totals_of(stats: Mapping[bytes, bytes]) -> dict[str, int]:
    """Add up the counters of `S:stats` by what they count."""
    totals: dict[str, int] = {}
    for field, n in stats.items():
        what = field.decode("utf-8", "replace").rpartition(":")[0]
        if what and (count := read_count(n)) is not None:
            totals[what] = totals.get(what, 0) + count
    return totals
