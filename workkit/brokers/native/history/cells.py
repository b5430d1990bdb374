"""The bytes of cells, their keys, and the call that adds them. The script `tally` adds cells by the same rules."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import msgpack

from workkit.brokers.native.history.record import sample_row
from workkit.brokers.native.keys import Keys
from workkit.brokers.redis_server.control import read_packed
from workkit.brokers.redis_server.script import load
from workkit.brokers.redis_server.server import Call
from workkit.contract.history import ALL, BUCKETS, COUNTS, KEPT_MS, TIERS, Buckets, Cell, Counted, Tier
from workkit.jobs.admission import History

SUBJECTS = 100  # of one key; what finds no place is counted under `more`


def packed_cell(cell: Cell) -> list[Any]:
    """Make the list of a cell: its counts, then lateness and durations, each a list of bucket, count, bucket, count."""
    sides = ([part for pair in side.pairs() for part in pair] for side in (cell.lateness, cell.durations))
    return [*(getattr(cell, name) for name in COUNTS), *sides]


def write_cell(cell: Cell) -> bytes:
    """Write a cell."""
    return bytes(msgpack.packb(packed_cell(cell)))


def read_cell(packed: bytes | None) -> Cell | None:
    """Read a cell; None if the bytes are none."""
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
    """Yield the cells of a span: when each begins, and the end of its key. The span is cut to what is kept."""
    width = TIERS[tier]
    first = max(since_ms, until_ms - KEPT_MS[tier]) // width * width
    for start in range(first, until_ms, width):
        yield start, slot(tier, start)


def tally_call(keys: Keys, counted: Counted, *, listener: str, history: History, now_ms: int) -> Call:
    """Make the call that stores these counts under the cells of now."""
    script = load("native")["tally"]
    spans = [[KEPT_MS[tier] // 1000, 1 if tier == "1" else SUBJECTS] for tier in TIERS]
    subjects = sorted(counted.cells, key=lambda subject: subject != ALL)
    cells = [[subject, packed_cell(counted.cells[subject])] for subject in subjects]
    samples = [sample_row(one, listener=listener) for one in counted.samples] if history == "full" else []
    slots = tuple(slot(tier, now_ms) for tier in TIERS)
    return script, script.keys(keys, slots=slots), [packed(spans), packed(cells), packed(samples)]


def packed(value: Any) -> bytes:
    """Pack what a script reads."""
    return bytes(msgpack.packb(value, use_bin_type=False, unicode_errors="surrogatepass"))
