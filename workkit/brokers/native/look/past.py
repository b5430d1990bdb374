"""Read what a native schedule keeps of past runs: spec/history.md."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from workkit.brokers.native.codec import instant_of
from workkit.brokers.native.entry import due_ms
from workkit.brokers.native.history.cells import read_cell, slots
from workkit.brokers.native.history.changes import read_change
from workkit.brokers.native.history.ring import Runs, past_run, read_days, read_entry
from workkit.brokers.native.keys import Keys
from workkit.brokers.native.record import read_count
from workkit.brokers.native.results import NAMED, read_result
from workkit.brokers.redis_server.pages import names_behind, server_ms
from workkit.brokers.redis_server.pipe import AS_READ
from workkit.brokers.redis_server.refusal import code_of
from workkit.brokers.redis_server.server import Server
from workkit.contract.changes import Change
from workkit.contract.history import FN, TIERS, Bucket, Cell, Day, PastRun, Tier
from workkit.contract.inspector import Missed
from workkit.contract.job_page import no_place
from workkit.contract.result import Result
from workkit.errors import NotFound

_PLACE = re.compile(r"\d{1,16}-\d{1,16}", re.ASCII)  # the id of an entry of the stream
SAMPLES = 20  # values of a key from which its bytes are estimated
SPANS = 50  # keys of counts that are read whole in one round trip
PAGE = 1_000  # entries of a stream, and cells, in one round trip
MEASURED = 50  # keys of results from which the memory of all is estimated


@dataclass(frozen=True, slots=True, kw_only=True)
class Past:
    """The history of one schedule."""

    server: Server
    keys: Keys

    def lately(self, jobs: Sequence[str]) -> dict[str, Runs]:
        """Read the last runs of recurring jobs, by name or else id: see `Inspector.lately`."""
        (rings,) = self._fields(jobs, self.keys.lately)
        return {job: Runs(ring) for job, ring in zip(jobs, rings, strict=True)}

    def days(self, job: str) -> list[Day]:
        """Read the days of a recurring job: see `Inspector.days`."""
        (days,), (ring,) = self._fields([job], self.keys.days, self.keys.lately)
        return read_days(days, ring)

    def past(self, subject: str, *, since_ms: int, until_ms: int, tier: Tier) -> list[Bucket]:
        """Read the counts of a subject: see `Inspector.past`."""
        until_ms = min(until_ms, server_ms(self.server) + 1)
        spans = list(slots(tier, since_ms, until_ms))
        found: list[Bucket] = []
        field = _field(subject)
        for at in range(0, len(spans), PAGE):
            page = spans[at : at + PAGE]
            with self.server.translated() as client:
                pipe = client.pipeline(transaction=False)
                for _, slot in page:
                    pipe.hget(self.keys.past(slot), field)
                values = pipe.execute(raise_on_error=False)  # a key of another type holds no counts
            for (start_ms, _), value in zip(page, values, strict=True):
                start, end = instant_of(start_ms), instant_of(start_ms + TIERS[tier])
                if start is not None and end is not None:
                    cell = read_cell(value) if isinstance(value, bytes) else None
                    found.append(Bucket(start=start, end=end, cell=cell or Cell()))
        return found

    def functions(self, *, since_ms: int, until_ms: int, tier: Tier) -> dict[str, Cell]:
        """Add up the counts of a span by function: see `Inspector.functions`."""
        spans = list(slots(tier, since_ms, min(until_ms, server_ms(self.server) + 1)))
        found: dict[str, Cell] = {}
        for at in range(0, len(spans), SPANS):
            with self.server.translated() as client:
                pipe = client.pipeline(transaction=False)
                for _, slot in spans[at : at + SPANS]:
                    pipe.hgetall(self.keys.past(slot))
                hashes = pipe.execute(raise_on_error=False)  # a key of another type holds no counts
            for field, value in (pair for one in hashes if isinstance(one, dict) for pair in one.items()):
                if field.startswith(FN.encode()) and (cell := read_cell(value)) is not None:
                    fn = field.removeprefix(FN.encode()).decode("utf-8", AS_READ)
                    found[fn] = found.get(fn, Cell()) + cell
        return found

    def runs(self, *, since_ms: int = 0, until_ms: int | None = None, before: str | None = None) -> Iterator[PastRun]:
        """Page through single runs, the last one first: see `Inspector.runs`."""
        upto = "+" if until_ms is None else str(max(0, until_ms))
        if before is not None:
            upto = min(f"({place_of(before)}", upto, key=_bound)
        entries = self._entries(self.keys.runs, since_ms=since_ms, upto=upto)
        return (run for place, fields in entries if (run := read_run(fields, place)) is not None)

    def run(self, place: str) -> PastRun:
        """Read one single run: see `Inspector.run`."""
        found = None
        if _PLACE.fullmatch(place):
            with self.server.translated() as client:
                entries = client.xrange(self.keys.runs, min=place, max=place)
            found = next((read_run(fields, name) for name, fields in entries), None)
        if found is None:
            raise NotFound.about(f'no run "{place}"', "is kept", "About the last 50,000 are.", given=place)
        return found

    def changes(self, *, upto: str = "+") -> Iterator[Change]:
        """Page through who changed what, the last change first: see `Inspector.changes`. `upto`: the last number."""
        found = (read_change(number, fields) for number, fields in self._entries(self.keys.changes, upto=upto))
        return (change for change in found if change is not None)

    def _entries(
        self, stream: str, *, since_ms: int = 0, upto: str = "+"
    ) -> Iterator[tuple[bytes, dict[bytes, bytes]]]:
        while True:
            with self.server.translated() as client:
                page = client.xrevrange(stream, max=upto, min=max(0, since_ms), count=PAGE)
            yield from page
            if len(page) < PAGE:
                return
            upto = f"({page[-1][0].decode()}"

    def size(self) -> int:
        """Add up the bytes of all keys: see `Inspector.history_bytes`."""
        with self.server.translated() as client:
            pipe = client.pipeline(transaction=False)
            for key in self.all_keys():
                pipe.memory_usage(key, samples=SAMPLES)
            return sum(found or 0 for found in pipe.execute())

    def all_keys(self) -> list[str]:
        """Name every key that history may have now."""
        now = server_ms(self.server)
        cells = [self.keys.past(slot) for tier in TIERS for _, slot in slots(tier, 0, now + 1)]
        return [self.keys.lately, self.keys.days, self.keys.runs, *cells]

    def _fields(self, jobs: Sequence[str], *hashes: str) -> list[list[bytes]]:
        """Read the fields of jobs in some hashes. A key of another type has none."""
        if not jobs:
            return [[] for _ in hashes]
        with self.server.translated() as client:
            pipe = client.pipeline(transaction=False)
            for key in hashes:
                pipe.hmget(key, [_field(job) for job in jobs])
            found = pipe.execute(raise_on_error=False)
            for one in found:
                if isinstance(one, Exception) and code_of(one) != "WRONGTYPE":
                    raise one
        return [[value or b"" for value in one] if isinstance(one, list) else [b"" for _ in jobs] for one in found]


def place_of(text: str) -> str:
    """Check a place among single runs. Raises InvalidOptions."""
    if _PLACE.fullmatch(text) is None:
        raise no_place(text)
    return text


def _bound(bound: str) -> tuple[int, int, int]:
    """Order upper bounds of a stream: with the entry itself, or ``(`` without it."""
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
    )


def _field(subject: str) -> bytes:
    """Write a subject as its field is: as the bytes that were read, or with the lone surrogates of a payload."""
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


ID_DIGITS, SHORTEST = 40, 6  # digits of an id, and how many of them are enough


@dataclass(frozen=True, slots=True, kw_only=True)
class NativeResults:
    """The results of one schedule. `waiting`: connections that may wait for a minute."""

    server: Server
    waiting: Server
    keys: Keys

    def id_of(self, which: str) -> str | None:
        """Find the id of a job that has a kept result: see `Results.id_of`. Only for the beginning of an id it looks
        through the names of all keys.
        """
        with self.server.translated() as client:
            pipe = client.pipeline(transaction=False)
            pipe.get(self.keys.result(NAMED + which))
            pipe.exists(self.keys.result(which))
            named, is_id = pipe.execute(raise_on_error=False)  # a key of another type leads nowhere
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
        """Say whether the job is here, or a result of it."""
        with self.server.translated() as client:
            return bool(client.hexists(self.keys.jobs, id) or client.exists(self.keys.result(id)))

    def of(self, id: str) -> Sequence[Result]:
        """Read the results of a job: see `Results.of`."""
        with self.server.translated() as client:
            pipe = client.pipeline(transaction=False)
            pipe.xrevrange(self.keys.result(id))
            (entries,) = pipe.execute(raise_on_error=False)
        if not isinstance(entries, list):  # the next ending replaces a key of another type
            return []
        now_ms = server_ms(self.server)
        return [found for place, fields in entries if (found := read_result(place, fields, now_ms=now_ms)) is not None]

    def after(self, id: str, *, place: str, wait_ms: int) -> Sequence[Result]:
        """Wait for further results of a job: see `Results.after`."""
        with self.waiting.translated() as client:
            streams = client.xread({self.keys.result(id): place}, block=max(1, wait_ms))
        now_ms = server_ms(self.server)
        entries = [entry for _, page in streams or () for entry in page]
        found = (read_result(at, fields, now_ms=now_ms) for at, fields in reversed(entries))
        return [result for result in found if result is not None]

    def size(self) -> tuple[int, int]:
        """Count the jobs with results, and estimate their bytes: see `Results.size`."""
        ids = sorted(self._ids())
        step = max(1, len(ids) // MEASURED)
        some = [self.keys.result(id) for id in ids[::step]]
        if not some:
            return 0, 0
        with self.server.translated() as client:
            pipe = client.pipeline(transaction=False)
            for key in some:
                pipe.memory_usage(key)
            found = [size or 0 for size in pipe.execute()]
        return len(ids), sum(found) * len(ids) // len(some)

    def _ids(self) -> set[str]:
        """Find the jobs with results. None is found in a database with too many keys: see `names_behind`."""
        names = names_behind(self.server, self.keys.result("")) or ()
        return {name for name in names if not name.startswith(NAMED)}
