"""The runs of a ring, read when they are looked at."""

from __future__ import annotations

import pytest

from workkit.brokers.native.history import HEAD, Entry, Runs, entry_of, read_ring

DONE = entry_of(1_800_000_000_000, late_ms=3, took_ms=5, ending="done")
DEAD = entry_of(1_700_000_000_000, late_ms=3, took_ms=5, ending="dead")
FAR = Entry(ended_ms=2**48 - 1, late_ms=0, took_ms=0, ending="done")
UNKNOWN = bytes(14) + bytes([15, 0])


def test_they_are_as_a_list_of_them() -> None:
    ring = bytes(HEAD) + DONE.encode() + UNKNOWN + FAR.encode() + DEAD.encode()
    runs = Runs(ring)
    assert [run.ending for run in runs] == ["done", "dead"]
    assert (len(runs), bool(runs), runs[0].ending, runs[-1].ending) == (2, True, "done", "dead")
    assert runs == list(runs)
    assert [run.ending for run in runs[:1]] == ["done"]
    assert len(read_ring(ring)) == 3, "a time beyond the calendar is an entry, and no run"
    with pytest.raises(IndexError):
        runs[2]


@pytest.mark.parametrize(
    "ring", [b"", b"x", bytes(HEAD), bytes(HEAD) + b"x", bytes(HEAD + 61 * 16), bytes(HEAD) + UNKNOWN]
)
def test_what_is_no_ring_has_no_runs(ring: bytes) -> None:
    runs = Runs(ring)
    assert (list(runs), len(runs), bool(runs), runs == []) == ([], 0, False, True)
    with pytest.raises(IndexError):
        runs[0]
