"""Check our own keys: slots, marks and errors to which nothing refers, records of unlisted listeners, jobs that are
parked without a reason, results that never end, and unreadable values.

Every repair checks again in the step that changes something, so it changes nothing if the trouble is over.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import partial
from itertools import islice
from typing import Any

from workkit.brokers.doctor import WAIT, tally
from workkit.brokers.native.change.runs import Pauses
from workkit.brokers.native.codec import is_plan_field
from workkit.brokers.native.doctor.jobs import Loose, tidy
from workkit.brokers.native.entry import OF_GROUPS, PAUSED, item_id, read_entry, read_parked, under
from workkit.brokers.native.look.past import missed_pages
from workkit.brokers.native.look.published import SUSPECTS, Places, wait_a_moment
from workkit.brokers.native.record import read_count
from workkit.brokers.native.settle import is_failure
from workkit.brokers.redis_server.control import LAST_MS, is_control, is_info, read_packed, read_said
from workkit.brokers.redis_server.our_keys import Endless, Garbled, UnreadKeys, too_many_keys
from workkit.brokers.redis_server.pages import (
    MOST_PAGES,
    PAGE,
    STEP,
    hash_pages,
    literally,
    piped,
    scored_pages,
    set_pages,
)
from workkit.contract.doctor import Finding, Kind
from workkit.jobs.option_readers import LONGEST_MS
from workkit.text.cells import brief_bytes, bytes_text

RUN = b"run:"
HIDDEN_MS = 5_000  # ms; by then, a listener that can run the job has claimed it
MOST_MOVED = 500  # records in one step
DAY_S = 86_400  # seconds to live for a result without an expiry, because its intended life is unknown
NO_END = -1  # the answer of PTTL
Stray = Mapping[str, Any]

# Listeners with records and no place in the list, or the other way round.

UNLISTED = Kind(
    "unlisted", "orphan", "A listener has records, and is not in the list.",
    "Other listeners do not see it, so its jobs would never run. A person removed it from the list.",
    "lists it as silent, and takes its jobs back",
)  # fmt: skip
HALF_LISTED = Kind(
    "half-listed", "orphan", "A listener is in the list, and its records are gone.",
    "What it held is lost. The server refuses its next request. A person removed the key.",
    "removes it from the list",
)  # fmt: skip


@dataclass(frozen=True, slots=True, kw_only=True)
class Unlisted:
    """A listener that holds records and is not listed; or, with a `beat`, a listed one that holds nothing."""

    listener: str
    beat: float | None = None

    def repair(self, places: Places) -> bool:
        """Hand its records back as `reap` does. List an unlisted one first, with a very old heartbeat."""
        k, raw, beat = places.keys, self.listener.encode(), self.beat
        if beat is None:
            beat = 1.0
            with places.server.translated() as client:
                if not client.exists(k.running(self.listener)):
                    return False
                client.zadd(k.listeners, {raw: beat}, nx=True)
        elif tidy(places, k.listeners, ["due", raw, repr(beat)]):
            beat = 0.0  # it holds nothing, so the age of its heartbeat does not matter
        while True:
            reply = places.server.run(k, "reap", [raw, repr(beat), 0, MOST_MOVED], listener=self.listener)
            if reply[0] == b"alive":
                return False
            if not int(reply[1]):
                return True


def listeners(places: Places, unlisted: list[str] | None) -> Iterator[Finding]:
    """Report listeners that are unlisted or hold nothing. `unlisted` None: there were too many keys to find them."""
    k = places.keys
    if unlisted is None:
        yield too_many_keys(k.listeners)
    for name in unlisted or ():
        with places.server.translated() as client:
            held = sum(b"." in field for field in client.hkeys(k.running(name)))
        what = f"listener {name} holds {held:,} jobs and is not in {k.listeners}"
        yield UNLISTED.found(what, subject=Unlisted(listener=name), about=(name,))
    for name, beat in places.listed().items():
        stands, exists = piped(
            places.server,
            partial(lambda name, pipe: (pipe.zscore(k.listeners, name.encode()), pipe.exists(k.running(name))), name),
            whole=True,
        )
        if stands is not None and not exists:
            what = f"listener {name} is in {k.listeners}, but {k.running(name)} is gone"
            yield HALF_LISTED.found(what, subject=Unlisted(listener=name, beat=beat), about=(name,))


# Occurrences: slots and errors of runs that are in no other key.

SLOT = Kind(
    "slot", "orphan", "A slot is taken by a run that no listener has.",
    "It would never be free again, so fewer runs than the limit allows could start, or none.", "frees it",
)  # fmt: skip
ERROR = Kind(
    "error", "orphan", "An error is kept for a run that waits nowhere.", "Nobody sees it, and nothing removes it.",
    "removes it",
)  # fmt: skip


def slots(places: Places) -> Iterator[Finding]:
    """Report slots of runs to which nothing refers."""

    def strays() -> Iterator[Stray]:
        for page in scored_pages(places.server, places.keys.slots):
            for member, _ in page:
                key, end, run = member.rpartition(b"\0")
                if end:
                    id = key.removeprefix(RUN) if key.startswith(RUN) else run.rpartition(b"@")[0]
                    yield {"id": id, "occurrence": run, "mark": "slot", "key": key}

    for stray in _unreferred(places, strays()):
        id, run, key, why = stray["id"], brief_bytes(stray["occurrence"]), stray["key"], ""
        what = f"a slot of {brief_bytes(key)} is taken by a run ({run}) that no listener has"
        if key.startswith(RUN):
            what = f"job {brief_bytes(id)} has a run marked as open ({run}) that no listener has"
            why = "After its last run, the job would stay for ever."
        yield SLOT.found(what, why=why, subject=_sweep(places, stray), about=(bytes_text(id),))


def errors(places: Places) -> Iterator[Finding]:
    """Report errors of runs to which nothing refers."""
    runs = (run for page in hash_pages(places.server, places.keys.errors) for run in page)
    strays = ({"id": run.rpartition(b"@")[0], "occurrence": run, "mark": "error"} for run in runs)
    for stray in _unreferred(places, strays):
        run = stray["occurrence"]
        what = f"an error is kept in {places.keys.errors} for a run that waits nowhere ({brief_bytes(run)})"
        yield ERROR.found(what, subject=_sweep(places, stray), about=(bytes_text(run),))


def _unreferred(places: Places, strays: Iterator[Stray]) -> Iterator[Stray]:
    while batch := list(islice(strays, SUSPECTS)):
        runs = {stray["occurrence"] for stray in batch}
        places.referred(ids=set(), runs=runs)
        left = sorted((stray for stray in batch if stray["occurrence"] in runs), key=lambda s: s["occurrence"])
        for stray, is_loose in zip(left, places.repair(left, wide=False), strict=True):
            if is_loose:
                yield stray


def _sweep(places: Places, stray: Stray) -> Loose:
    return Loose(stray={**stray, "sweep": 1}, lost=places.lost)


# Marks of jobs that have had their last run admitted.

ENDED = Kind(
    "ended", "orphan", "A job is marked as ended, and has no open run.",
    "Its last run should have removed it. Nothing else does.", "removes the job and its mark",
)  # fmt: skip


def ended(places: Places) -> Iterator[Finding]:
    """Report jobs that are marked as ended and have no open run."""
    for page in set_pages(places.server, places.keys.ended):
        strays: list[Stray] = [{"id": id, "mark": "ended"} for id in page]
        for stray, is_loose in zip(strays, places.repair(strays, wide=False), strict=True):
            if is_loose:
                id = stray["id"]
                yield ENDED.found(
                    f"job {brief_bytes(id)} is marked as ended, and has no open run",
                    why=f"{ENDED.why.rstrip('.')}, so it stays in {places.keys.jobs}.",
                    subject=_sweep(places, stray),
                    about=(bytes_text(id),),
                )


# Parked entries under a limit that has room, or under a pause that is over.

PARKED = Kind(
    "parked", "orphan", "Jobs are parked under a limit that has room, or under a pause that is over.",
    "Nothing would ever start them. A program was interrupted before it did, or a person changed the keys.",
    "starts them, as far as there is room",
)  # fmt: skip


@dataclass(frozen=True, slots=True, kw_only=True)
class Parted:
    """A target with parked jobs and no pause: its pause has ended."""

    target: str

    def repair(self, places: Places) -> bool:
        """Put the jobs back into the queue."""
        return Pauses(server=places.server, keys=places.keys, codec=places.codec).put_back(self.target)


def parked(places: Places) -> Iterator[Finding]:
    """Report parked jobs that nothing holds back."""
    keys, paused = _parked_keys(places), PAUSED.encode()
    while batch := list(islice(keys, PAGE)):
        limits: list[Stray] = [{"mark": "free", "key": key} for key in batch if not key.startswith(paused)]
        for stray, is_free in zip(limits, places.repair(limits, wide=False), strict=True):
            if is_free:
                yield _parked(places, stray["key"], "and there is room under its limit", _sweep(places, stray))
        over = {key: count for key in batch if key.startswith(paused) and (count := _parted(places, key))}
        if over:
            wait_a_moment()  # a listener may be putting them back right now
        for key, count in over.items():
            if _parted(places, key) == count:
                target = Parted(target=key.decode("utf-8", "surrogateescape").removeprefix(PAUSED))
                yield _parked(places, key, "and it is not paused any more", target)


def _parked_keys(places: Places) -> Iterator[bytes]:
    """Read every key under which something is parked, except those of groups, which `groups.py` checks."""
    start = b"-"
    while True:
        with places.server.translated() as client:
            texts = client.zrangebylex(places.keys.waiting, start, b"+", start=0, num=1)
        if not texts:
            return
        found = read_parked(texts[0])
        start = b"(" + texts[0] if found is None else b"[" + found.key + b"\1"
        if found is not None and (of := next((p for p in OF_GROUPS if found.key.startswith(p.encode())), "")):
            start = b"[" + of[:-1].encode() + b";"  # ; comes after :
        elif found is not None:
            yield found.key


def _parted(places: Places, key: bytes) -> int:
    """Count the jobs that are parked under a pause that has ended."""
    k = places.keys
    stands, count = piped(
        places.server, lambda p: (p.hexists(k.control, key), p.zlexcount(k.waiting, *under(key))), whole=True
    )
    return 0 if stands else int(count)


def _parked(places: Places, key: bytes, but: str, subject: Loose | Parted) -> Finding:
    with places.server.translated() as client:
        count = client.zlexcount(places.keys.waiting, *under(key))
    jobs = tally(count, "job", *WAIT)
    return PARKED.found(f"{jobs} under {brief_bytes(key)}, {but}", subject=subject, about=(bytes_text(key),))


# Entries that may be for a foreign peer, and wait where no foreign peer looks.

HIDDEN = Kind(
    "hidden", "orphan", "Jobs without an attempt wait in `S:again`.",
    "Foreign peers read only `S:next`. A listener of an earlier version died or stalled with them.",
    "moves them to `S:next`",
)  # fmt: skip


@dataclass(frozen=True, slots=True, kw_only=True)
class Hidden:
    """Entries of `S:again` that no listener has admitted and that have no attempt: no foreign peer sees them there."""

    entries: tuple[bytes, ...]

    def repair(self, places: Places) -> bool:
        """Move them to `S:next`."""
        starts = range(0, len(self.entries), MOST_MOVED)
        parts = [self.entries[start : start + MOST_MOVED] for start in starts]
        return sum(int(places.server.run(places.keys, "restore", part)) for part in parts) > 0


def hidden(places: Places) -> Iterator[Finding]:
    """Report jobs that no foreign peer sees."""
    for scored in scored_pages(places.server, places.keys.again):
        late = (member for member, score in scored if score <= places.now_ms - HIDDEN_MS)
        entries = [(member, entry) for member in late if (entry := read_entry(member)) is not None]
        found = [(member, id) for member, e in entries if e.is_regular and (id := item_id(e.item)) is not None]
        if found:
            jobs = tally(len(found), "job", *WAIT)
            which = ", ".join(brief_bytes(id) for _, id in found[:3]) + (", ..." if len(found) > 3 else "")
            yield HIDDEN.found(
                f"{jobs} in {places.keys.again} without an attempt so far ({which})",
                why=HIDDEN.why.replace("`S:next`", places.keys.next),
                subject=Hidden(entries=tuple(member for member, _ in found)),
                about=tuple(bytes_text(id) for _, id in found),
            )


# Results without a time to live.

ENDLESS = Kind(
    "endless", "deviation", "A key of results has no time to live.",
    "Nothing would ever remove them. A person or another program wrote the key.", "lets it expire a day from now",
)  # fmt: skip


def results(places: Places) -> Iterator[Finding]:
    """Report results that nothing else would remove. In a database with too many keys only a part is read, as for
    listeners.
    """
    pattern = literally(places.keys.result("")) + "*"
    cursor, seen = 0, set[bytes]()
    for _ in range(MOST_PAGES):
        with places.server.translated() as client:
            cursor, page = client.scan(cursor, match=pattern, count=STEP)
        lives = piped(places.server, partial(lambda page, pipe: [pipe.pttl(key) for key in page], page)) if page else []
        for key, life in zip(page, lives, strict=True):
            if life == NO_END and key not in seen:
                seen.add(key)
                what = f"the results in {brief_bytes(key)} have no time to live"
                yield ENDLESS.found(what, subject=Endless(key=key, life_s=DAY_S), about=(bytes_text(key),))
        if not cursor:
            return


# Unreadable values. Listeners and scripts skip them, by the same rules.

_RECORD = re.compile(rb"@|info|\d+\..*", re.DOTALL)
_HOLDER = re.compile(rb"\S+(?: [r-]?(?: \S+)?)?")  # holder of a name or unique key: id, mark, id of its content
_HOUR = re.compile(rb"[a-z_]+:\d{1,9}")
_HELD = re.compile(rb"[0-9a-f]{40}(?: [a-z]+ \d{1,16})?")


def unread(places: Places) -> Iterator[Finding]:
    """Report each field, member and entry that cannot be read."""
    k, now, of = places.keys, places.now_ms, UnreadKeys(places.server)
    for key, reads, what in (
        (k.control, is_control, "what a pause or a limit looks like"),
        (k.names, _is_holder, "a job's id"),
        (k.unique, _is_holder, "a job's id"),
        (k.held, lambda _, value: _HELD.fullmatch(value) is not None, "a job's id"),
        (k.counts, _is_count, "a count"),
        (k.crashed, _is_count, "a count"),
        (k.stats, lambda name, value: _HOUR.fullmatch(name) is not None and _is_count(name, value), "an hour's count"),
        (k.plans, is_plan_field, "a plan of code"),
        (k.errors, lambda _, value: is_failure(read_packed(value)), "an error"),
    ):
        yield from of.fields(key, reads, what)
    for name in places.listed():
        yield from of.fields(k.running(name), _is_record, "a record of a listener")
        yield from of.fields(k.progress(name), lambda _, value: read_said(value) is not None, "progress")
    with places.server.translated() as client:
        last = client.zrange(k.again, -1, -1, withscores=True)
    furthest = max(now, min(float(last[0][1]), float(LAST_MS)) if last else 0.0) + LONGEST_MS
    for key, latest in ((k.windows, now + LONGEST_MS), (k.rates, furthest)):
        yield from of.members(key, partial(_is_until, latest), "at a time less than 400 days ahead")
    yield from of.members(k.slots, lambda member, _: b"\0" in member, "a slot")
    for key in (k.slots, k.waiting):
        yield from of.members(key, lambda _, score: score == 0, "at the score 0", kind="due")
    yield from of.members(k.again, _is_entry, "an entry with a due time", kind="due")
    for page in scored_pages(places.server, k.waiting):
        for member, _ in page:
            if read_parked(member) is None:
                stray = {"mark": "parked", "member": member}
                yield of.found(k.waiting, member, "a parked entry", _sweep(places, stray))
    for numbers in missed_pages(places.server, k):
        for number, missed in numbers:
            if missed is None:
                yield of.found(k.missed, number, "a missed run", Garbled(key=k.missed, kind="stream", name=number))
    yield from of.alone(k.graves, k.dead, "hash", "what is kept of a dead job")
    yield from of.alone(k.turns, k.again, "zset", "an entry that waits for its turn")
    yield from of.alone(k.order, k.again, "zset", "a place of an entry that waits for its turn", of=_placed)
    for level in (1, 2, 3):
        yield from of.alone(k.first(level), k.next, "zset", "an item that waits")


def _placed(member: bytes) -> bytes:
    """Read the entry of a member of `S:order`; empty if it has none."""
    entry = member.split(b"\0", 2)[2] if member.count(b"\0") > 1 else b""
    found = read_entry(entry)
    return entry if found is not None and any(found.place(key)[1] == member for key, _ in found.rates) else b""


def _is_until(latest: float, _: bytes, score: float) -> bool:
    return score <= latest


def _is_entry(member: bytes, score: float) -> bool:
    return read_entry(member) is not None and -LAST_MS <= score <= LAST_MS


def _is_holder(_: bytes, value: bytes) -> bool:
    return _HOLDER.fullmatch(value) is not None


def _is_count(_: bytes, value: bytes) -> bool:
    return read_count(value) is not None


def _is_record(name: bytes, value: bytes) -> bool:
    return is_info(value) if name == b"info" else _RECORD.fullmatch(name) is not None
