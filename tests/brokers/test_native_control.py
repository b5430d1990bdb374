"""Pauses and limits as anybody may have written them."""

from __future__ import annotations

from typing import Any

import msgpack
import pytest

from workkit.brokers.redis_server.control import read_control, read_limit, read_pause, read_turn
from workkit.jobs.admission import FREE, Pause


@pytest.mark.parametrize(
    ("packed", "pause"),
    [
        (["why", None], Pause(reason="why")),
        ([None, 5], Pause(until_ms=5)),
        (["why", 5.9, "later versions"], Pause(reason="why", until_ms=5)),
        (["why", 2**64 - 1], Pause(reason="why")),  # no calendar has that time: until it is resumed
        (["why", float("nan")], None),
        (["why", True], None),
        (["why", "5"], None),
        ([5, None], None),
        (["why"], None),
        ({1: "why", 2: 5}, None),
    ],
)
def test_a_pause_is_read_or_is_none(packed: Any, pause: Pause | None) -> None:
    assert read_pause(msgpack.packb(packed)) == pause


@pytest.mark.parametrize("packed", [b"", b"\xc1", b"\x92\xa3why", b"\x92\xa3why\x05\x05", b"\x91" * 5000])
def test_bytes_that_are_no_pause_are_none(packed: bytes) -> None:
    assert read_pause(packed) is None


@pytest.mark.parametrize("text", [b"", b"0", b"-1", b"nan", b"1e300", b"9" * 5000, b"\xff", "１２".encode()])
def test_limits_that_are_no_numbers_are_none(text: bytes) -> None:
    assert (read_limit(text), read_turn(text)) == (None, None)
    assert read_control([b"limit", text, b"turn_ms", text, b"v", b"7"]) == (b"7", FREE)
