"""Read the history of a native schedule, which listeners and callers write: spec/history.md, spec/results.md."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any, Literal

from workkit.brokers.native.changes import read_change, read_number
from workkit.brokers.native.codec import IS, OF, merged, read_text
from workkit.brokers.native.entry import due_ms
from workkit.brokers.native.history import Runs, past_run, read_cell, read_days, read_entry, slots
from workkit.brokers.native.keys import Keys
from workkit.brokers.native.look.listing import Listing
from workkit.brokers.native.record import read_count
from workkit.brokers.native.results import NAMED, read_result
from workkit.brokers.native.settle import log_name, read_log
from workkit.brokers.redis_server.pages import is_text, names_behind, piped, server_ms
from workkit.brokers.redis_server.pipe import AS_READ
from workkit.brokers.redis_server.refusal import code_of
from workkit.brokers.redis_server.server import Server
from workkit.contract.admin import Change
from workkit.contract.history import FN, TIERS, Bucket, Cell, Day, PastRun, Result, Tier
from workkit.contract.inspector import Missed
from workkit.contract.where import no_place
from workkit.errors import NotFound
from workkit.jobs.arguments import KnownFunction
from workkit.jobs.job import Job
from workkit.jobs.terms import instant_of
from workkit.text.wording import epoch_ms

_PLACE = re.compile(r"\d{1,16}-\d{1,16}", re.ASCII)  # the id of an entry of the stream
SAMPLES = 20  # values of a key from which its size in bytes is estimated
SPANS = 50  # keys of counts that are read whole in one round trip
ID_DIGITS, SHORTEST = 40, 6  # digits of an id, and how many of them are enough
MOST_FIELDS = 10_000  # fields of a hash of functions; one with more is not ours
MOST_PROGRAMS = 50
MOST_MARKS = 100  # marks of one listener that are read
PAGE = 1_000  # entries of a stream, and cells, in one round trip
FEW = 64  # entries of a stream in its first round trip
MEASURED = 50  # keys of results from which the memory of all is estimated


@dataclass(frozen=True, slots=True, kw_only=True)
class NativeHistory:
    """The history of one schedule, which listeners and callers write: see `History`. `waiting`: connections that may
    wait for a minute.
    """

    server: Server
    keys: Keys
    waiting: Server
    listing: Listing

    def lately(self, jobs: Sequence[str]) -> dict[str, Runs]:
        """Read the last runs of recurring jobs, by name, or by id if a job has no name: see `History.lately`."""
        (rings,) = self._fields(jobs, self.keys.lately)
        return {job: Runs(ring) for job, ring in zip(jobs, rings, strict=True)}

    def days(self, job: str) -> list[Day]:
        """Read the days of a recurring job: see `History.days`."""
        (days,), (ring,) = self._fields([job], self.keys.days, self.keys.lately)
        return read_days(days, ring)

    def past(self, subject: str, *, since_ms: int, until_ms: int, tier: Tier) -> list[Bucket]:
        """Read the counts of a subject: see `History.past`."""
        field, found = _field(subject), list[Bucket]()
        for start_ms, value in self._spans(tier, since_ms, until_ms, PAGE, lambda pipe, key: pipe.hget(key, field)):
            start, end = instant_of(start_ms), instant_of(start_ms + TIERS[tier])
            if start is not None and end is not None:
                cell = read_cell(value) if isinstance(value, bytes) else None
                found.append(Bucket(start=start, end=end, cell=cell or Cell()))
        return found

    def functions(self, *, since_ms: int, until_ms: int, tier: Tier) -> dict[str, Cell]:
        """Add up the counts of a span by function: see `History.functions`."""
        found: dict[str, Cell] = {}
        for _, counts in self._spans(tier, since_ms, until_ms, SPANS, lambda pipe, key: pipe.hgetall(key)):
            for field, value in counts.items() if isinstance(counts, dict) else ():
                if field.startswith(FN.encode()) and (cell := read_cell(value)) is not None:
                    fn = field.removeprefix(FN.encode()).decode("utf-8", AS_READ)
                    found[fn] = found.get(fn, Cell()) + cell
        return found

    def _spans(
        self, tier: Tier, since_ms: int, until_ms: int, most: int, ask: Callable[[Any, str], object]
    ) -> Iterator[tuple[int, Any]]:
        """Ask about each key of counts, `most` of them in one round trip. Return its first ms and the answer. A key of
        another type holds no counts: its answer is an error.
        """
        spans = list(slots(tier, since_ms, min(until_ms, server_ms(self.server) + 1)))
        for at in range(0, len(spans), most):
            page = spans[at : at + most]
            keys = [self.keys.past(slot) for _, slot in page]
            answers = piped(
                self.server, partial(lambda keys, pipe: [ask(pipe, key) for key in keys], keys), lenient=True
            )
            yield from zip((start_ms for start_ms, _ in page), answers, strict=True)

    def runs(self, *, since_ms: int = 0, until_ms: int | None = None, before: str | None = None) -> Iterator[PastRun]:
        """Page through single runs, the last one first: see `History.runs`."""
        upto = "+" if until_ms is None else str(max(0, until_ms))
        if before is not None:
            upto = min(f"({place_of(before)}", upto, key=_bound)
        entries = self._entries(self.keys.runs, since_ms=since_ms, upto=upto)
        return (run for place, fields in entries if (run := read_run(fields, place)) is not None)

    def run(self, place: str) -> PastRun:
        """Read one single run: see `History.run`."""
        found = None
        if _PLACE.fullmatch(place):
            with self.server.translated() as client:
                entries = client.xrange(self.keys.runs, min=place, max=place)
            found = next((read_run(fields, name) for name, fields in entries), None)
        if found is None:
            raise NotFound.about(f'no run "{place}"', "is kept", "About the last 50,000 are.", given=place)
        return found

    def log(self, of: Job | PastRun) -> list[str]:
        """Read the log of a run: see `History.log`."""
        name: str | bytes | None = _log_name(of)
        if name is None:
            assert of.id is not None, "single runs have an id"
            (names,) = piped(self.server, lambda pipe: pipe.hkeys(self.keys.logs), lenient=True)
            own = [one for one in names if one.startswith(f"{of.id}@".encode())] if isinstance(names, list) else []
            if not own:
                return []
            name = max(own, key=_order)
        (value,) = piped(self.server, lambda pipe: pipe.hget(self.keys.logs, name), lenient=True)
        return read_log(value if isinstance(value, bytes) else None)

    def changes(self, *, after: str | None = None) -> Iterator[Change]:
        """Page through the changes and their authors, the last change first: see `History.changes`."""
        upto = "+" if after is None else f"({read_number(after)}"
        found = (read_change(number, fields) for number, fields in self._entries(self.keys.changes, upto=upto))
        return (change for change in found if change is not None)

    def missed(self) -> Iterator[Missed]:
        """Page through the missed occurrences, the last one first."""
        for page in missed_pages(self.server, self.keys):
            yield from (missed for _, missed in page if missed is not None)

    def _entries(
        self, stream: str, *, since_ms: int = 0, upto: str = "+"
    ) -> Iterator[tuple[bytes, dict[bytes, bytes]]]:
        count = FEW  # most readers want only the last ones
        while True:
            with self.server.translated() as client:
                page = client.xrevrange(stream, max=upto, min=max(0, since_ms), count=count)
            yield from page
            if len(page) < count:
                return
            upto, count = f"({page[-1][0].decode()}", PAGE

    def result_id(self, which: str) -> str | None:
        """Find the id of a job that has a kept result: see `History.result_id`. Only for the beginning of an id it
        looks through the names of all keys.
        """
        name, id = self.keys.result(NAMED + which), self.keys.result(which)
        named, is_id = piped(self.server, lambda pipe: (pipe.get(name), pipe.exists(id)), lenient=True)
        if isinstance(named, bytes):
            return named.decode("utf-8", "replace")
        if is_id == 1:
            return which
        if not SHORTEST <= len(which) < ID_DIGITS or not all(c in "0123456789abcdef" for c in which):
            return None
        ids = sorted(id for id in self._ids() if id.startswith(which))
        if len(ids) > 1:
            raise NotFound(f'"{which}" is the beginning of {len(ids)} jobs with results; give more of it.', given=which)
        return ids[0] if ids else None

    def has(self, id: str) -> bool:
        """Say whether the schedule has the job, or a result of it."""
        with self.server.translated() as client:
            return bool(client.hexists(self.keys.jobs, id) or client.exists(self.keys.result(id)))

    def results(self, id: str, *, after: str | None = None, wait_ms: int = 0) -> Sequence[Result]:
        """Read the results of a job, or wait for further ones: see `History.results`."""
        key = self.keys.result(id)
        if after is None:
            (found,) = piped(self.server, lambda pipe: pipe.xrevrange(key), lenient=True)
            entries = found if isinstance(found, list) else []  # the next ending replaces a key of another type
        else:
            with self.waiting.translated() as client:
                streams = client.xread({key: after}, block=max(1, wait_ms))
            entries = [entry for _, page in streams or () for entry in page][::-1]
        now_ms = server_ms(self.server)
        results = (read_result(place, fields, now_ms=now_ms) for place, fields in entries)
        return [result for result in results if result is not None]

    def _ids(self) -> set[str]:
        """Find the jobs with results. Empty in a database with too many keys: see `names_behind`."""
        names = names_behind(self.server, self.keys.result("")) or ()
        return {name for name in names if not name.startswith(NAMED)}

    def knows(self) -> dict[str, KnownFunction]:
        """Read the functions that the living listeners know: see `History.knows`."""
        key = self.keys.functions
        with self.server.translated() as client:
            if client.type(key) != b"hash" or client.hlen(key) > MOST_FIELDS:
                return {}
            fields = [field for field in client.hkeys(key) if field.startswith(OF.encode())]
            if not fields:
                return {}
            digests = client.hmget(key, fields)
            living = set(client.zrange(self.keys.listeners, 0, -1))
            counted = Counter(
                digest
                for field, digest in zip(fields, digests, strict=True)
                if digest is not None and field.removeprefix(OF.encode()) in living
            )
            programs = counted.most_common(MOST_PROGRAMS)
            texts = client.hmget(key, [IS.encode() + digest for digest, _ in programs]) if programs else []
        return merged((read_text(text), count) for text, (_, count) in zip(texts, programs, strict=True))

    def refused(self, listeners: Sequence[str]) -> Mapping[str, Sequence[str]]:
        """Read the functions of jobs that listeners have given back: see `History.refused`."""
        found = piped(self.server, lambda p: [p.sscan(self.keys.skip(one), 0, count=MOST_MARKS) for one in listeners])
        marks = [[id.decode() for id in ids[:MOST_MARKS] if is_text(id)] for _, ids in found]
        ids = list(dict.fromkeys(id for page in marks for id in page))
        fns = {id: job.fn for id, job in zip(ids, self.listing.stored(ids), strict=True) if job is not None}
        pairs = zip(listeners, marks, strict=True)
        return {name: known for name, page in pairs if (known := sorted({fns[id] for id in page if id in fns}))}

    def size(self, of: Literal["runs", "results"] = "runs") -> tuple[int, int]:
        """Count the kept values, and estimate their bytes: see `History.size`."""
        if of == "runs":
            keys = history_keys(self.server, self.keys)
            count, *sizes = piped(
                self.server,
                lambda pipe: [pipe.xlen(self.keys.runs), *(pipe.memory_usage(key, samples=SAMPLES) for key in keys)],
            )
            return count, sum(size or 0 for size in sizes)
        ids = sorted(self._ids())
        step = max(1, len(ids) // MEASURED)
        some = [self.keys.result(id) for id in ids[::step]]
        if not some:
            return 0, 0
        sizes = [size or 0 for size in piped(self.server, lambda pipe: [pipe.memory_usage(key) for key in some])]
        return len(ids), sum(sizes) * len(ids) // len(some)

    def _fields(self, jobs: Sequence[str], *hashes: str) -> list[list[bytes]]:
        """Read the fields of jobs in some hashes. A key of another type has none."""
        if not jobs:
            return [[] for _ in hashes]
        fields = [_field(job) for job in jobs]
        found = piped(self.server, lambda pipe: [pipe.hmget(key, fields) for key in hashes], lenient=True)
        for one in found:
            if isinstance(one, Exception) and code_of(one) != "WRONGTYPE":
                with self.server.translated():
                    raise one
        return [[value or b"" for value in one] if isinstance(one, list) else [b"" for _ in jobs] for one in found]


def _log_name(of: Job | PastRun) -> str | None:
    """Name the log of a past run, of a run in progress, or of the last run of a dead job. Return None for any other
    job: its log is the last one that its runs have left.
    """
    if isinstance(of, PastRun):
        return of.log or ""
    if of.dead_id is not None:
        return log_name(of.dead_id, of.attempt)
    if of.state in ("running", "cancelling") and of.due is not None:
        return log_name(f"{of.id}@{epoch_ms(of.due)}", of.attempt)
    return None


def _order(name: bytes) -> tuple[int, int]:
    """Order the logs of one job by due time, then by attempt."""
    due, _, attempt = name.rpartition(b"@")[2].partition(b".")
    return int(due) if due.isdigit() else -1, int(attempt) if attempt.isdigit() else -1


def history_keys(server: Server, keys: Keys) -> list[str]:
    """Name every key that the past runs of a schedule may have now."""
    cells = [keys.past(slot) for tier in TIERS for _, slot in slots(tier, 0, server_ms(server) + 1)]
    return [keys.lately, keys.days, keys.runs, keys.logs, *cells]


def place_of(text: str) -> str:
    """Check a place among single runs. Raises InvalidOptions."""
    if _PLACE.fullmatch(text) is None:
        raise no_place(text)
    return text


def _bound(bound: str) -> tuple[int, int, int]:
    """Write an upper bound of a stream: the entry itself, or ``(`` to leave it out."""
    ms, _, number = bound.removeprefix("(").partition("-")
    return (2**64, 0, 0) if bound == "+" else (int(ms), int(number or 2**64), -bound.startswith("("))


def read_run(fields: Mapping[bytes, bytes], place: bytes | None = None) -> PastRun | None:
    """Read an entry of `S:runs`; None if it cannot be read."""
    entry, times = read_entry(fields.get(b"r", b"")), read_count(fields.get(b"x", b"1"))
    if entry is None or times is None:
        return None
    said = {key: fields.get(key, b"").decode("utf-8", "replace") or None for key in (b"i", b"n", b"f", b"w", b"m")}
    if said[b"i"] is None or said[b"f"] is None:
        return None
    return past_run(
        entry,
        id=said[b"i"],
        name=said[b"n"],
        fn=said[b"f"],
        listener=said[b"w"],
        error=said[b"m"],
        times=times,
        place=None if place is None else place.decode(),
        call=fields.get(b"a", b"").decode("utf-8", "replace"),
        log=fields.get(b"l", b"").decode("utf-8", "replace") or None,
    )


def _field(subject: str) -> bytes:
    """Write the field of a subject: as the bytes that were read, or with the lone surrogates of a payload."""
    try:
        return subject.encode("utf-8", AS_READ)
    except UnicodeEncodeError:
        return subject.encode("utf-8", "surrogatepass")


def missed_pages(server: Server, keys: Keys) -> Iterator[list[tuple[bytes, Missed | None]]]:
    """Read `S:missed` in pages, the last entry first: the number of each entry, and its value, None if unreadable."""
    upto = "+"
    while True:
        with server.translated() as client:
            page = client.xrevrange(keys.missed, max=upto, count=PAGE)
        yield [(number, read_missed(fields)) for number, fields in page]
        if len(page) < PAGE:
            return
        upto = f"({page[-1][0].decode()}"


def read_missed(fields: Mapping[bytes, bytes]) -> Missed | None:
    """Read an entry of `S:missed`; None if it cannot be read."""
    said = {key: value.decode("utf-8", "replace") for key, value in fields.items()}
    due, times = instant_of(due_ms(said.get(b"due", ""))), read_count(fields.get(b"times", b"1"))
    if due is None or times is None or not {b"id", b"fn", b"reason", b"due"} <= said.keys():
        return None
    name = said.get(b"name") or None
    return Missed(id=said[b"id"], name=name, fn=said[b"fn"], due=due, reason=said[b"reason"], times=times)
