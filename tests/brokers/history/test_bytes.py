"""The bytes of single runs, days and cells, against spec/vectors/history.json, and how they add up."""

from __future__ import annotations

import json
from datetime import UTC, date, datetime
from pathlib import Path
from typing import Any

import msgpack
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.brokers.history.written import write_day
from workkit.brokers.native.history import (
    HEAD,
    RUN,
    entry_of,
    packed_cell,
    read_cell,
    read_days,
    read_entry,
    read_ring,
    slot,
    slots,
)
from workkit.contract.history import BUCKETS, ENDINGS, TIERS, Buckets, Cell, Day, bucket_of, upper_ms

VECTORS: dict[str, Any] = json.loads((Path(__file__).parents[3] / "spec/vectors/history.json").read_text())


def cell_of(values: dict[str, Any]) -> Cell:
    sides = {side: Buckets(map(tuple, values[side])) for side in ("lateness", "durations")}
    return Cell(**{**values, **sides})


@pytest.mark.parametrize("case", VECTORS["runs"])
def test_a_run_has_the_bytes_of_the_specification(case: dict[str, Any]) -> None:
    said = dict(case)
    packed, ended_ms = bytes.fromhex(said.pop("hex")), said.pop("ended_ms")
    entry = entry_of(said.pop("due_ms"), **said)
    assert entry.encode() == packed
    found = read_entry(packed)
    assert found is not None
    assert (found.ended_ms, found.ending, found.attempt) == (ended_ms, case["ending"], min(case["attempt"], 255))


@pytest.mark.parametrize("case", VECTORS["days"])
def test_a_day_has_the_bytes_of_the_specification(case: dict[str, Any]) -> None:
    day = Day(day=date.fromisoformat(case["day"]), runs=case["runs"], worst=case["worst"])
    assert read_days(bytes.fromhex(case["hex"]), b"") == [day]


@pytest.mark.parametrize("case", VECTORS["cells"])
def test_a_cell_has_the_bytes_of_the_specification(case: dict[str, Any]) -> None:
    said = dict(case)
    packed = bytes.fromhex(said.pop("hex"))
    assert msgpack.packb(packed_cell(cell_of(said))) == packed
    assert read_cell(packed) == cell_of(said)


@pytest.mark.parametrize(("ms", "bucket"), VECTORS["buckets"])
def test_a_length_of_time_falls_into_the_bucket_of_the_specification(ms: float, bucket: int) -> None:
    assert bucket_of(ms) == bucket


@given(
    st.integers(0, 2**40),
    st.integers(0, 2**32 - 1),
    st.integers(0, 2**32 - 1),
    st.sampled_from(ENDINGS),
    st.integers(0, 255),
    st.booleans(),
)
def test_a_run_is_read_as_it_was_written(
    due: int, late: int, took: int, ending: Any, attempt: int, by_hand: bool
) -> None:
    entry = entry_of(due, late_ms=late, took_ms=took, ending=ending, attempt=attempt, by_hand=by_hand)
    packed = entry.encode()
    assert len(packed) == RUN
    assert read_entry(packed) == entry
    assert entry.due_ms == due


@given(st.binary(max_size=2_000), st.binary(max_size=2_000))
def test_any_bytes_are_read_as_rings_days_and_cells_without_an_error(ring: bytes, days: bytes) -> None:
    assert len(read_ring(ring)) <= 60
    assert len(read_days(days, ring)) <= 400
    read_cell(ring)


def test_the_head_of_a_ring_is_the_last_day() -> None:
    first, last = (Day(day=date(2026, 11, n), runs=n, worst="done") for n in (21, 22))
    ring = write_day(last).ljust(HEAD, b"\0") + entry_of(0, late_ms=0, took_ms=0, ending="done").encode()
    assert read_days(write_day(first), ring) == [first, last]


@given(st.integers(0, 10**12))
def test_a_bucket_holds_what_is_below_its_end_and_not_below_that_of_the_one_before(tenths: int) -> None:
    bucket = bucket_of(tenths / 10)
    assert tenths / 10 < upper_ms(bucket)
    assert bucket in (0, BUCKETS - 1) or tenths / 10 >= upper_ms(bucket - 1) * (1 - 1e-12)


counts = st.lists(st.tuples(st.integers(0, BUCKETS - 1), st.integers(1, 1000)), max_size=20).map(Buckets)


@given(counts, counts)
def test_buckets_are_added(one: Buckets, other: Buckets) -> None:
    both = one + other
    assert both.total == one.total + other.total
    assert both == other + one
    for share in (0.5, 0.95, 1.0):
        ends = [end for part in (one, other) if (end := part.below_ms(share)) is not None]
        if ends:
            found = both.below_ms(share)
            assert found is not None
            assert min(ends) <= found <= max(ends)


def test_nothing_has_no_quantile() -> None:
    assert Buckets().below_ms(0.5) is None


@pytest.mark.parametrize(
    "packed",
    [
        b"",
        b"\xc0",
        b"\x99\x01",
        bytes.fromhex("9901010101010101a0a0"),
        bytes.fromhex("99ff00000000000090 90".replace(" ", "")),
    ],
)
def test_other_bytes_are_no_cell(packed: bytes) -> None:
    assert read_cell(packed) is None


def test_the_cells_of_a_span_are_cut_to_what_is_kept() -> None:
    now = round(datetime(2026, 11, 22, 10, 31, tzinfo=UTC).timestamp() * 1000)
    assert slot("h", now) == f"h:{now // TIERS['h']}"
    assert [name for _, name in slots("h", now - 3_600_000, now)] == [slot("h", now - 3_600_000), slot("h", now)]
    assert len(list(slots("1", 0, now))) <= 181
    assert len(list(slots("d", 0, now))) <= 401
