"""Show what the keys of a native schedule hold as jobs."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

from workkit import wire
from workkit.brokers.native.codec import Codec, at_due
from workkit.brokers.native.entry import (
    Entry,
    Parked,
    id_text,
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
from workkit.brokers.redis_server.control import read_packed, whole_ms
from workkit.brokers.redis_server.listener_info import read_said
from workkit.brokers.redis_server.pages import PAGE, is_text, literally, ordered_pages, piped, server_ms
from workkit.brokers.redis_server.server import Server
from workkit.errors import CorruptRecord
from workkit.jobs.admission import Control, Pause, pause_text
from workkit.jobs.job import Job, JobState


class Row(NamedTuple):
    """One occurrence. `key` is the name of its key, `member` its member there, or its field if it is a record. `when`
    is the score of what is queued, `said` the progress of a run.
    """

    entry: Entry
    key: str
    member: bytes
    when: float = 0.0
    said: tuple[float, float] | str | None = None
    parked: Parked | None = None
    is_record: bool = False

    @property
    def id(self) -> str:
        """The id of its job; nothing if its item cannot be read."""
        return id_text(self.entry.item)

    @property
    def occurrence(self) -> str:
        """The name of the occurrence."""
        return occurrence(self.id, self.entry)

    @property
    def run(self) -> int:
        """What tells this occurrence from all others, wherever it moves: 8 bytes."""
        return run_of(self.entry.item, self.entry.due, self.entry.nonce)


def run_of(item: bytes, due: str, nonce: str) -> int:
    """See `Row.run`."""
    return hash((item, due, nonce))


def item_row(key: str, item: bytes, when: float) -> Row:
    """Make the row of a member of `S:next`."""
    return Row(Entry(due=_text(when), item=item), key, item, when)


def entry_row(key: str, text: bytes, when: float) -> Row:
    """Make the row of a member of `S:again`."""
    return Row(read_entry(text) or Entry(due=_text(when), item=text), key, text, when)


def parked_row(key: str, parked: Parked) -> Row:
    """Make the row of a member of `S:waiting`."""
    return Row(parked.entry, key, parked.text, parked=parked)


def record_rows(key: str, records: Mapping[bytes, bytes], said: Mapping[bytes, bytes]) -> Iterator[Row]:
    """Make the rows of the records of one listener."""
    for field, value in records.items():
        if b"." in field:
            entry = read_entry(value) or regular(field.partition(b".")[2], due=value)
            yield Row(entry, key, field, said=read_said(said.get(field)), is_record=True)


def _text(score: float) -> str:
    return f"{score:.0f}" if abs(score) < 1e17 else str(score)


AT_ONCE = 50  # listeners whose claims are read in one round trip
Shown = tuple[Row, Job]
Progress = tuple[float, float] | str


@dataclass(frozen=True, slots=True, kw_only=True)
class Listing:
    """Shows the jobs of one schedule, from rows of any key."""

    server: Server
    keys: Keys
    codec: Codec

    def stored(self, ids: list[str]) -> Iterator[Job | None]:
        """Read jobs by id, None for each that is gone."""
        for start in range(0, len(ids), PAGE):
            page = ids[start : start + PAGE]
            for id, payload in zip(page, self.payloads(page), strict=True):
                yield self.read(id, payload)

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
        now, k = server_ms(self.server), self.keys
        rows = [item_row(k.next, item, score) for item, score in standing_items(self.server, k, id)]
        again = (entry_row(k.again, text, when) for page in ordered_pages(self.server, k.again) for text, when in page)
        found = self.queued([*rows, *(row for row in again if row.id == id)], now, control)
        yield from (job for _, job in found)

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
        """Show records of listeners. `marked` are the jobs and occurrences that were cancelled."""
        for row, job in self._shown(rows, "running"):
            yield row, marked_job(job, row.entry, progress_of(row), marked=marked)

    def parked(self, rows: Sequence[Row], control: Control) -> Iterator[Shown]:
        """Show parked entries, with the reason why each waits."""
        for row, job in self._shown(rows, "held"):
            assert row.parked is not None
            if row.parked.pause is None:
                yield row, replace(job, why=row.parked.why)
            else:
                why = pause_text(control.paused.get(row.parked.pause, Pause()))
                yield row, replace(job, state="paused", why=why)

    def queued(self, rows: Sequence[Row], now: int, control: Control) -> Iterator[Shown]:
        """Show items of `S:next` and entries of `S:again`."""
        errors = self._last_errors([row for row in rows if row.entry.attempt])
        for row, job in self._shown(rows, None):
            at, attempt = whole_ms(row.when), row.entry.failures
            error = errors.get(row.occurrence, {}) if attempt else {}
            if row.entry.is_held(row.when, now):
                yield row, at_due(job, at, state="held", attempt=attempt, why=why_of_rate(row.entry), **error)
            elif row.entry.is_waiting:
                state = "due" if row.when <= now else "waiting"
                yield row, at_due(job, at, state=state, attempt=attempt, progress=progress_of(row), **error)
            elif row.entry.attempt:
                yield row, at_due(job, at, state="retrying", attempt=attempt, **error)
            elif control.paused and (pause := pause_of(job, control)) is not None:
                yield row, at_due(job, at, state="paused", why=pause_text(pause))
            else:
                yield row, at_due(job, at, state="due" if row.when <= now else "waiting")

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

    def _shown(self, rows: Sequence[Row], state: JobState | None) -> Iterator[Shown]:
        """Show rows as jobs, but for those that have ended since they were read. Without a state the caller fills in
        what a row tells of its job.
        """
        for start in range(0, len(rows), PAGE):
            page = rows[start : start + PAGE]
            ids = [row.id for row in page]
            payloads = self.payloads(ids)
            again = self._again([row for row, payload in zip(page, payloads, strict=True) if payload is None])
            for row, id, payload in zip(page, ids, payloads, strict=True):
                is_there, found = (True, payload) if payload is not None else next(again)
                if is_there:
                    yield row, self._of(row, id, found, state) or self._without_payload(row, state)

    def _of(self, row: Row, id: str, payload: bytes | None, state: JobState | None) -> Job | None:
        if state is None:
            return self.read(id, payload)
        return self.read(id, payload, due_ms=row.entry.due_ms, state=state, attempt=row.entry.failures)

    def _again(self, rows: Sequence[Row]) -> Iterator[tuple[bool, bytes | None]]:
        """Look again at rows whose payload was gone, in one step. Those that are gone too have ended."""

        places: dict[tuple[str, bool], list[Row]] = {}
        for row in rows:
            places.setdefault((row.key, row.is_record), []).append(row)

        def ask(pipe: Any) -> None:
            pipe.hmget(self.keys.jobs, [row.id for row in rows])
            for (key, is_record), some in places.items():
                (pipe.hmget if is_record else pipe.zmscore)(key, [row.member for row in some])

        payloads, *found = piped(self.server, ask, whole=True) if rows else [[]]
        pairs = (
            pair for some, values in zip(places.values(), found, strict=True) for pair in zip(some, values, strict=True)
        )
        there = {(row.key, row.member) for row, value in pairs if value is not None}
        return (((row.key, row.member) in there, payload) for row, payload in zip(rows, payloads, strict=True))

    def _without_payload(self, row: Row, state: JobState | None) -> Job:
        job = Job(id=row.id, schedule=self.codec.schedule, fn="?", error="its payload is missing")
        return job if state is None else at_due(job, row.entry.due_ms, state=state, attempt=row.entry.attempt)


def progress_of(row: Row) -> Progress | None:
    """Read how far a run is, or how far it was when it asked to wait."""
    if row.said is not None or row.entry.waited is None:
        return row.said
    return read_said(row.entry.waited.progress.encode())


def marked_job(job: Job, entry: Entry, progress: Progress | None, *, marked: Collection[bytes]) -> Job:
    """Say of the job of a claim whether it runs or is cancelled, and how far it is."""
    names = (name.encode("utf-8", "surrogateescape") for name in (job.id, occurrence(job.id, entry)))
    is_marked = any(name in marked for name in names)
    return replace(job, state="cancelling" if is_marked else "running", progress=progress)


def claims_of(records: Mapping[bytes, bytes], said: Mapping[bytes, bytes]) -> tuple[list[Entry], list[Progress | None]]:
    """Read the records of one listener: the entry of each claim, and the latest progress of its run."""
    rows = list(record_rows("", records, said))
    return [row.entry for row in rows], [row.said for row in rows]


JOB = "job:"


def pause_of(job: Job, control: Control) -> Pause | None:
    """Find the pause under which a job waits."""
    targets = ("schedule", f"{JOB}{job.terms.name or job.id}", f"fn:{job.fn}")
    return next((control.paused[target] for target in targets if target in control.paused), None)


def other_items(server: Server, keys: Keys, id: str) -> list[bytes]:
    """Find the items of a job under other texts than the usual one: a foreign peer has put them back. None if `S:next`
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
