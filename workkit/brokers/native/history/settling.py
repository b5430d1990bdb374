"""The arguments of `settle.lua`: endings, and what is recorded of them. Pure."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import msgpack

from workkit.brokers.native.history.record import Recorder
from workkit.brokers.native.settle import ending, is_plain
from workkit.contract.claim import Ending


def settle_args(ends: Sequence[Ending], *, recorder: Recorder | None, listener: str, now_ms: int) -> list[Any]:
    """Make the arguments of `settle.lua` from its list of endings on. `recorder`: None if nothing is recorded."""
    plain, others = [], []
    for claim, outcome in ends:
        if is_plain(claim, outcome):
            plain.append(claim.receipt)
            continue
        other = ending(claim, outcome)
        if recorder is not None:
            record = recorder.of(claim, outcome, listener=listener, now_ms=now_ms)
            if record is not None:
                other["ran"] = record
        others.append(other)
    packed = msgpack.packb(others, use_bin_type=False, unicode_errors="surrogatepass")
    return [packed, len(plain), *(r.field for r in plain), *(r.id for r in plain)]
