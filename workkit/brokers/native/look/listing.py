"""Show the contents of a native schedule's keys as jobs."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from workkit import wire
from workkit.brokers.native.codec import Codec, id_text
from workkit.brokers.native.entry import (
    Entry,
    Parked,
    item_id,
    plain_item,
    read_entry,
    read_parked,
    regular,
    under,
    why_of_rate,
)
from workkit.brokers.native.keys import Keys
from workkit.brokers.native.settle import occurrence, read_failure
from workkit.brokers.redis_server.control import read_packed, read_said, whole_ms
from workkit.brokers.redis_server.pages import PAGE, Scored, is_text, literally, ordered_pages, piped, server_ms
from workkit.brokers.redis_server.server import Server
from workkit.errors import CorruptRecord
from workkit.jobs.admission import Control, Pause, pause_text
from workkit.jobs.job import Job, JobState
from workkit.jobs.terms import instant_of

AT_ONCE = 50  # listeners that are read in one round trip, with their claims
JOB = "job:"
Progress = tuple[float, float] | str


class Row:
    """One occurrence at the place where a listing found it. `key` is the name of its key. `member` is its member there,
    or its field if it is a record. `when` is the score of a queued occurrence. A running one has the latest progress of
    its run.

    `id` is the id of its job; empty if its item cannot be read. `run` tells this occurrence from all others, wherever
    it moves: 8 bytes.
    """

    __slots__ = ("entry", "id", "is_record", "key", "member", "parked", "run", "said", "when")

    def __init__(
        self, entry: Entry, key: str, member: bytes, *, when: float = 0.0, said: Progress | None = None,
        parked: Parked | None = None, is_record: bool = False,
    ) -> None:  # fmt: skip
        self.entry, self.key, self.member, self.when = entry, key, member, when
        self.said, self.parked, self.is_record = said, parked, is_record
        self.id = id_text(entry.item)
        self.run = run_of(entry.item, entry.due, "" if entry.flags == "-" else entry.nonce)

    @property
    def occurrence(self) -> str:
        """The name of the occurrence."""
        return occurrence(self.id, self.entry)


def run_of(item: bytes, due: str, nonce: str) -> int:
    """See `Row.run`."""
    return hash((item, due, nonce))


def item_rows(key: str, page: Iterable[Scored]) -> list[Row]:
    """Make the rows of members of `S:next`."""
    return [Row(Entry(due=score_text(when), item=item), key, item, when=when) for item, when in page]


def entry_rows(key: str, page: Iterable[Scored]) -> list[Row]:
    """Make the rows of members of `S:again`."""
    return [Row(read_entry(text) or Entry(due=score_text(when), item=text), key, text, when=when)
            for text, when in page]  # fmt: skip


def parked_rows(key: str, members: Iterable[bytes]) -> list[Row]:
    """Make the rows of members of `S:waiting` that can be read."""
    found = map(read_parked, members)
    return [Row(parked.entry, key, parked.text, parked=parked) for parked in found if parked is not None]


def record_rows(key: str, records: Mapping[bytes, bytes], said: Mapping[bytes, bytes]) -> list[Row]:
    """Make the rows of the records of one listener."""
    return [
        Row(read_entry(value) or regular(field.partition(b".")[2], due=value), key, field,
            said=read_said(said.get(field)), is_record=True)
        for field, value in records.items() if b"." in field
    ]  # fmt: skip


def score_text(score: float) -> str:
    """Write a score as the server does in an entry."""
    return f"{score:.0f}" if abs(score) < 1e17 else str(score)


Shown = tuple[Row, Job]


@dataclass(frozen=True, slots=True, kw_only=True)
class Listing:
    """Shows the jobs of one schedule, from rows of any key."""

    server: Server
    keys: Keys
    codec: Codec

    def stored(self, ids: list[str]) -> Iterator[Job | None]:
        """Read jobs by id; None for each that is gone."""
        for start in range(0, len(ids), PAGE):
            page = ids[start : start + PAGE]
            for id, payload in zip(page, self.payloads(page), strict=True):
                yield None if payload is None else self.read(id, payload)

    def payloads(self, ids: list[str]) -> list[bytes | None]:
        """Read the payloads of jobs; None for each that is gone."""
        if not ids:
            return []
        with self.server.translated() as client:
            return list(client.hmget(self.keys.jobs, ids))

    def read(self, id: str, payload: bytes | None, **known: Any) -> Job:
        """Read a payload as a job. `known`: fields of the job that are known already. If the payload is missing or
        cannot be read, the job has an error.
        """
        fn, error = "?", "its payload is missing"
        if payload is not None:
            try:
                return self.codec.decode(id, payload, **known)
            except CorruptRecord as corrupt:
                fn, error = wire.job_of(payload) or "?", str(corrupt)
        return Job(**{"id": id, "schedule": self.codec.schedule, "fn": fn, "error": error, **known})

    def waiting_of(self, id: str, control: Control) -> Iterator[Job]:
        """Read the occurrences of one job in `S:next`, under any text, and in `S:again`."""
        now, k = server_ms(self.server), self.keys
        rows = item_rows(k.next, standing_items(self.server, k, id))
        for page in ordered_pages(self.server, k.again):
            rows += [row for row in entry_rows(k.again, page) if row.id == id]
        yield from (job for _, job in self.queued(rows, now, control))

    def running(self) -> Iterator[Job]:
        """Page through the claims of all listeners."""
        with self.server.translated() as client:
            names = client.zrange(self.keys.listeners, 0, -1)
        listed = [name.decode() for name in filter(is_text, names)]
        for start in range(0, len(listed), AT_ONCE):
            yield from self.held_by(*listed[start : start + AT_ONCE])

    def held_by(self, *listeners: str) -> Iterator[Job]:
        """Read the claims of some listeners, in one step."""
        k = self.keys

        def ask(pipe: Any) -> None:
            pipe.zrange(k.cancelled, 0, -1)
            for name in listeners:
                pipe.hgetall(k.running(name))
                pipe.hgetall(k.progress(name))

        marked, *found = piped(self.server, ask, whole=True)
        parts = zip(listeners, found[::2], found[1::2], strict=True)
        rows = [row for name, records, said in parts for row in record_rows(k.running(name), records, said)]
        yield from (job for _, job in self.held(rows, set(marked)))

    def held(self, rows: Sequence[Row], marked: Collection[bytes]) -> Iterator[Shown]:
        """Show records of listeners. `marked`: the cancelled jobs and occurrences."""
        for row, payload in self._with_payloads(rows):
            yield row, self.read(row.id, payload, **claim_facts(row, progress_of(row), marked=marked))

    def parked(self, rows: Sequence[Row], control: Control) -> Iterator[Shown]:
        """Show parked entries, with the reason why each waits."""
        for row, payload in self._with_payloads(rows):
            assert row.parked is not None
            due, attempt, target = instant_of(row.entry.due_ms), row.entry.failures, row.parked.pause
            job = self.read(row.id, payload, due=due, state="held", attempt=attempt)
            if target is None:
                yield row, replace(job, why=row.parked.why(job.terms))
            else:
                yield row, replace(job, state="paused", why=pause_text(control.paused.get(target, Pause())))

    def queued(self, rows: Sequence[Row], now: int, control: Control) -> Iterator[Shown]:
        """Show items of `S:next` and entries of `S:again`."""
        attempted = [row for row in rows if row.entry.attempt]
        errors = self._last_errors(attempted) if attempted else {}
        turns = next_turns(self, rows, now)
        for row, payload in self._with_payloads(rows):
            when, apart = turns.get(row, row.when), None
            known = {"due": instant_of(whole_ms(when)), "state": "due" if when <= now else "waiting"}
            if row.entry.attempt or row.entry.flags != "-":
                known |= (apart := _apart(row, now, errors))
            job = self.read(row.id, payload, **known)
            if control.paused and not apart and (pause := pause_of(job, control)) is not None:
                job = replace(job, state="paused", why=pause_text(pause))
            yield row, job

    def _last_errors(self, rows: Sequence[Row]) -> dict[str, dict[str, Any]]:
        """Read the last errors of occurrences, by their names."""
        names, found = [row.occurrence for row in rows], {}
        for start in range(0, len(names), PAGE):
            page = names[start : start + PAGE]
            with self.server.translated() as client:
                packed = client.hmget(self.keys.errors, page)
            for name, one in zip(page, packed, strict=True):
                if one is not None:
                    failure = read_failure(read_packed(one))
                    found[name] = {"error": failure.line, "failure": failure}
        return found

    def _with_payloads(self, rows: Sequence[Row]) -> Iterator[tuple[Row, bytes | None]]:
        """Read the payload of each row. Leave out rows that have ended since they were read."""
        for start in range(0, len(rows), PAGE):
            page = rows[start : start + PAGE]
            payloads = self.payloads([row.id for row in page])
            found = list(zip(page, payloads, strict=True))
            if None in payloads:
                again = self._again([row for row, payload in found if payload is None])
                found = [
                    (row, again[row] if payload is None else payload)
                    for row, payload in found
                    if payload is not None or row in again
                ]
            yield from found

    def _again(self, rows: Sequence[Row]) -> dict[Row, bytes | None]:
        """Read rows without a payload again, in one step, and leave out those that have ended."""
        places: dict[tuple[str, bool], list[Row]] = {}
        for row in rows:
            places.setdefault((row.key, row.is_record), []).append(row)

        def ask(pipe: Any) -> None:
            pipe.hmget(self.keys.jobs, [row.id for row in rows])
            for (key, is_record), some in places.items():
                (pipe.hmget if is_record else pipe.zmscore)(key, [row.member for row in some])

        payloads, *found = piped(self.server, ask, whole=True)
        there = {
            row
            for some, values in zip(places.values(), found, strict=True)
            for row, value in zip(some, values, strict=True)
            if value is not None
        }
        return {row: payload for row, payload in zip(rows, payloads, strict=True) if row in there}


def _apart(row: Row, now: int, errors: Mapping[str, Mapping[str, Any]]) -> dict[str, Any]:
    """Return the fields of a job for an entry that a rate holds, that has asked to wait, or that is retried; nothing
    for one that waits as an item of `S:next` does. `errors`: the last errors, by occurrence.
    """
    entry, waited = row.entry, row.entry.waited
    failures = entry.failures
    known = {"attempt": failures, **(errors.get(row.occurrence, {}) if failures else {})}
    if entry.is_held(row.when, now):
        return {"state": "held", "why": why_of_rate(entry), **known}
    if waited is not None and waited.until_ms is not None:
        return {"progress": progress_of(row), **known}
    return {"state": "retrying", **known} if entry.attempt else {}


def next_turns(listing: Listing, rows: Iterable[Row], now: int) -> dict[Row, float]:
    """Estimate the starts of entries that rates hold, in epoch ms: all before them in the order start first, and no
    other job comes. An entry without a place in `S:order` keeps the turn that it has.
    """
    k = listing.keys
    owed = [row for row in rows if row.entry.flags != "-" and row.entry.is_held(row.when, now)]
    held = [(row, *rate) for row in owed for rate in row.entry.rates]

    def ask(pipe: Any) -> None:
        for row, key, _ in held:
            prefix, place = row.entry.place(key)
            pipe.zscore(k.order, place)
            pipe.zlexcount(k.order, b"[" + prefix, b"(" + place)
            pipe.zscore(k.rates, f"start:{key}")

    answers, found = piped(listing.server, ask) if held else [], dict[Row, float]()
    for (row, _, turn_ms), place, before, start in zip(held, answers[::3], answers[1::3], answers[2::3], strict=True):
        if place is not None:
            found[row] = max(found.get(row, 0.0), now + 1, max(now, start or 0.0) + before * turn_ms)
    return found


def progress_of(row: Row) -> Progress | None:
    """Read the progress of a run, or the progress at which it asked to wait."""
    if row.said is not None or row.entry.waited is None:
        return row.said
    return read_said(row.entry.waited.progress.encode())


def claim_facts(row: Row, progress: Progress | None, *, marked: Collection[bytes]) -> dict[str, Any]:
    """Return the fields of a claim's job: its time and attempt, whether it runs or is cancelled, and its progress.
    `marked`: the cancelled jobs and occurrences.
    """
    names = (row.id, row.occurrence) if marked else ()
    is_marked = any(name.encode("utf-8", "surrogateescape") in marked for name in names)
    state: JobState = "cancelling" if is_marked else "running"
    due, attempt = instant_of(row.entry.due_ms), row.entry.failures
    return {"due": due, "attempt": attempt, "state": state, "progress": progress}


def pause_of(job: Job, control: Control) -> Pause | None:
    """Find the pause under which a job waits."""
    targets = ("schedule", f"{JOB}{job.terms.name or job.id}", f"fn:{job.fn}")
    return next((control.paused[target] for target in targets if target in control.paused), None)


def other_items(server: Server, keys: Keys, id: str) -> list[bytes]:
    """Find the items of a job under other texts than the usual one, which a foreign peer has put back. None if `S:next`
    has the usual one.
    """
    with server.translated() as client:
        if client.zscore(keys.next, plain_item(id)) is not None:
            return []
        like, wanted = f"*{literally(id)}*", id.encode("utf-8", "surrogateescape")
        found = {text for text, _ in client.zscan_iter(keys.next, match=like, count=PAGE)}
        return sorted(text for text in found if item_id(text) == wanted)


def standing_items(server: Server, keys: Keys, id: str) -> list[tuple[bytes, float]]:
    """Find the items of a job in `S:next`, under any text, and their scores."""
    items = other_items(server, keys, id) or [plain_item(id)]
    with server.translated() as client:
        scores = client.zmscore(keys.next, items)
    return [(item, score) for item, score in zip(items, scores, strict=True) if score is not None]


def owed_entries(server: Server, keys: Keys, id: str) -> list[Entry]:
    """Find the entries of a job in `S:again`."""
    cursor, found, wanted = 0, {}, id.encode("utf-8", "surrogateescape")
    while True:
        with server.translated() as client:
            cursor, page = client.zscan(keys.again, cursor, count=PAGE)
        for text, _ in page:
            entry = read_entry(text)
            if entry is not None and item_id(entry.item) == wanted:
                found[text] = entry
        if not cursor:
            return list(found.values())


def parked_items(server: Server, keys: Keys, id: str) -> list[bytes]:
    """Find the members of `S:waiting` that belong to a job."""
    with server.translated() as client:
        if not client.exists(keys.waiting):
            return []
        like = f"*\0{literally(id)}@*"
        return [member for member, _ in client.zscan_iter(keys.waiting, match=like, count=PAGE)]


def parked_under(server: Server, keys: Keys, key: bytes, *, most: int) -> list[Parked]:
    """Read the parked entries of a key, soonest first."""
    with server.translated() as client:
        texts = client.zrangebylex(keys.waiting, *under(key), start=0, num=most)
    return [parked for text in texts if (parked := read_parked(text)) is not None]
