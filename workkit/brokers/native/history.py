"""The bytes of single runs, rings, days and cells, and the keys of cells: spec/history.md. Pure. The script part `ran`
and the script `tally` write them by the same rules.
"""

from __future__ import annotations

import struct
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import date, timedelta
from typing import Any, overload

from workkit.brokers.redis_server.control import read_packed
from workkit.contract.history import BUCKETS, COUNTS, ENDINGS, KEPT_MS, TIERS, Buckets, Cell, Day, Ended, PastRun, Tier
from workkit.jobs.terms import instant_of

RUN, HEAD, DAY = 16, 16, 5  # bytes
RUNS_KEPT, DAYS_KEPT = 60, 400
_MOST_MS, _MOST_RUNS, _MOST_ATTEMPT = 2**32 - 1, 2**20 - 1, 255
_LAST_MS = 2**48 - 1
_CODE = 14  # the byte that holds way and ending
_CALENDAR_MS = 253_402_300_799_999
_BY_HAND = 1
_EPOCH = date(1970, 1, 1)


@dataclass(frozen=True, slots=True, kw_only=True)
class Entry:
    """One run in its 16 bytes: end (6 bytes, ms since 1970), lateness (4, ms), duration (4, ms), way and ending
    (4 bits each), attempt (1). All numbers are big-endian.
    """

    ended_ms: int
    late_ms: int
    took_ms: int
    ending: Ended
    attempt: int = 0
    by_hand: bool = False

    @property
    def due_ms(self) -> int:
        """The due time. The end is written as due time, lateness and duration together, so this is exact."""
        return self.ended_ms - self.took_ms - self.late_ms

    def encode(self) -> bytes:
        """Write the bytes. A number beyond its field becomes the nearest number that fits."""
        code = ENDINGS.index(self.ending) + 1 + 16 * (_BY_HAND if self.by_hand else 0)
        late, took = _fit(self.late_ms, _MOST_MS), _fit(self.took_ms, _MOST_MS)
        rest = struct.pack(">IIBB", late, took, code, _fit(self.attempt, _MOST_ATTEMPT))
        return _fit(self.ended_ms, _LAST_MS).to_bytes(6, "big") + rest


def entry_of(
    due_ms: int, *, late_ms: int, took_ms: int, ending: Ended, attempt: int = 0, by_hand: bool = False
) -> Entry:
    """Make the entry of an occurrence. Its end is its due time, lateness and duration together."""
    ended_ms = due_ms + late_ms + took_ms
    return Entry(ended_ms=ended_ms, late_ms=late_ms, took_ms=took_ms, ending=ending, attempt=attempt, by_hand=by_hand)


def read_entry(packed: bytes) -> Entry | None:
    """Read 16 bytes; None if they are no run of this version."""
    if len(packed) != RUN:
        return None
    late, took, code, attempt = struct.unpack(">IIBB", packed[6:])
    number, way = code % 16, code // 16
    if not 1 <= number <= len(ENDINGS):
        return None
    return Entry(
        ended_ms=int.from_bytes(packed[:6], "big"),
        late_ms=late,
        took_ms=took,
        ending=ENDINGS[number - 1],
        attempt=attempt,
        by_hand=bool(way & _BY_HAND),
    )


def past_run(entry: Entry, **others: Any) -> PastRun | None:
    """Make the value of an entry; None if its times are beyond the calendar. `others`: the fields that an entry does
    not have.
    """
    due, ended = instant_of(entry.due_ms), instant_of(entry.ended_ms)
    if due is None or ended is None:
        return None
    return PastRun(
        due=due, ended=ended, ending=entry.ending, late_ms=entry.late_ms, took_ms=entry.took_ms, attempt=entry.attempt,
        by_hand=entry.by_hand, **others,
    )  # fmt: skip


def read_ring(value: bytes) -> list[Entry]:
    """Read the runs of a ring, the last one first. A value of any other length has no runs."""
    return list(_entries(value))


def _entries(value: bytes) -> Iterator[Entry]:
    for at in _places(value):
        entry = read_entry(value[at : at + RUN])
        if entry is not None:
            yield entry


def _places(ring: bytes) -> range:
    """List where the runs of a ring begin; empty if its length is not that of a ring."""
    is_ring = len(ring) % RUN == 0 and HEAD <= len(ring) <= HEAD + RUNS_KEPT * RUN
    return range(HEAD, len(ring), RUN) if is_ring else range(0)


def _is_run(packed: bytes) -> bool:
    """Say whether 16 bytes are a run of this version, at a time that the calendar has."""
    return 1 <= packed[_CODE] % 16 <= len(ENDINGS) and int.from_bytes(packed[:6], "big") <= _CALENDAR_MS


class Runs(Sequence[PastRun]):
    """The runs of a ring, the last one first. Each is read only when a caller looks at it, so reading the last runs of
    10,000 jobs does not read all 60 of each.
    """

    __slots__ = ("_ring",)

    def __init__(self, ring: bytes = b"") -> None:
        self._ring = ring

    def __iter__(self) -> Iterator[PastRun]:
        """Read one after the other."""
        for entry in _entries(self._ring):
            run = past_run(entry, id=None, name=None, fn=None)
            if run is not None:
                yield run

    def __len__(self) -> int:
        """Count the readable runs without reading them: `list` asks for the length first."""
        return sum(_is_run(self._ring[at : at + RUN]) for at in _places(self._ring))

    def __bool__(self) -> bool:
        """Say whether there is a run."""
        return next(iter(self), None) is not None

    @overload
    def __getitem__(self, place: int) -> PastRun: ...
    @overload
    def __getitem__(self, place: slice) -> list[PastRun]: ...
    def __getitem__(self, place: int | slice) -> PastRun | list[PastRun]:
        """Read one run, or a slice."""
        if place == 0 and (first := next(iter(self), None)) is not None:
            return first
        return list(self)[place]

    def __eq__(self, other: object) -> bool:
        """Compare the runs, also with a list of runs."""
        is_same = isinstance(other, Runs) and self._ring == other._ring
        return is_same or (isinstance(other, Sequence) and list(self) == list(other))

    __hash__ = None  # type: ignore[assignment]

    def __repr__(self) -> str:
        """Show the runs."""
        return f"Runs({list(self)!r})"


def read_days(days: bytes, ring: bytes) -> list[Day]:
    """Read the days of a recurring job, the first one first. The head of its ring holds the last one."""
    found: dict[date, Day] = {}
    whole = days if len(days) % DAY == 0 else b""
    ends = ring[:DAY] if read_ring(ring) else b""
    for packed in (part[at : at + DAY] for part in (whole, ends) for at in range(0, len(part), DAY)):
        counted = int.from_bytes(packed[2:], "big")
        worst = counted >> 20
        if 1 <= worst <= len(ENDINGS):
            day = _EPOCH + timedelta(days=int.from_bytes(packed[:2], "big"))
            found[day] = Day(day=day, runs=counted & _MOST_RUNS, worst=ENDINGS[worst - 1])
    return [found[day] for day in sorted(found)][-DAYS_KEPT:]


def _fit(number: int, most: int) -> int:
    return max(0, min(most, number))


def packed_cell(cell: Cell) -> list[Any]:
    """Make the list of a cell: its counts, then lateness and durations, each a list of bucket, count, bucket, count."""
    sides = ([part for pair in side.pairs() for part in pair] for side in (cell.lateness, cell.durations))
    return [*(getattr(cell, name) for name in COUNTS), *sides]


def read_cell(packed: bytes | None) -> Cell | None:
    """Read a cell; None if the bytes are no cell."""
    match read_packed(packed):
        case [*counts, list(lateness), list(durations)] if len(counts) == len(COUNTS) and all(map(_is_count, counts)):
            sides = _buckets(lateness), _buckets(durations)
            if sides[0] is not None and sides[1] is not None:
                return Cell(**dict(zip(COUNTS, counts, strict=True)), lateness=sides[0], durations=sides[1])
    return None


def _buckets(flat: list[Any]) -> Buckets | None:
    if len(flat) % 2 or not all(map(_is_count, flat)) or any(bucket >= BUCKETS for bucket in flat[::2]):
        return None
    return Buckets(zip(flat[::2], flat[1::2], strict=True))


def _is_count(value: object) -> bool:
    return type(value) is int and value >= 0


def slot(tier: Tier, ms: int) -> str:
    """Name the cell of an instant, as the end of its key: ``5:5937215``."""
    return f"{tier}:{ms // TIERS[tier]}"


def slots(tier: Tier, since_ms: int, until_ms: int) -> Iterator[tuple[int, str]]:
    """Yield the cells of a span: the start of each, and the end of its key. The span is cut to the kept time."""
    width = TIERS[tier]
    first = max(since_ms, until_ms - KEPT_MS[tier]) // width * width
    for start in range(first, until_ms, width):
        yield start, slot(tier, start)
