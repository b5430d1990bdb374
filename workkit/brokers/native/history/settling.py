"""The arguments of `settle.lua`: endings, and what is recorded of them. Pure."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import msgpack

from workkit.brokers.native.history.record import Recorder
from workkit.brokers.native.results import keep_result, result_of
from workkit.brokers.native.settle import ending
from workkit.contract.claim import Ending
from workkit.jobs.outcome import DONE

MOST = 1000  # endings in one call
MOST_KEPT = 8_000_000  # bytes of results in one call, if it has more than one ending


@dataclass(frozen=True, slots=True)
class Settlement:
    """The arguments of `settle.lua` from its list of endings on, and the words of its keys of results."""

    args: list[Any]
    kept: tuple[str, ...]


def portion(ends: Sequence[Ending]) -> int:
    """Count how many endings go into one call: 1,000, fewer if their results are large."""
    size = 0
    for n, (_, outcome) in enumerate(ends[:MOST]):
        if outcome is not DONE and (kept := getattr(outcome, "kept", None)) is not None:
            size += len(kept.text)
            if size > MOST_KEPT and n:
                return n
    return MOST


def settlement(ends: Sequence[Ending], *, recorder: Recorder | None, listener: str, now_ms: int) -> Settlement:
    """Make what `settle.lua` gets for these endings. `recorder`: None if nothing is recorded."""
    plain, others = [], []
    kept: list[str] = []
    for claim, outcome in ends:
        receipt = claim.receipt
        if outcome is DONE and not (claim.attempt or claim.trouble or receipt.is_bound):
            plain.append(receipt)  # needs no map, which is usual: a one-shot at its first attempt, done
            continue
        other = ending(claim, outcome, now_ms=now_ms)
        if recorder is not None:
            record = recorder.of(claim, outcome, listener=listener, now_ms=now_ms)
            if record is not None:
                other["ran"] = record
        if (result := result_of(claim, outcome)) is not None:
            other |= keep_result(claim, result, kept)
        others.append(other)
    packed = msgpack.packb(others, use_bin_type=False, unicode_errors="surrogatepass")
    args = [packed, len(plain), *[one.field for one in plain], *[one.id for one in plain]]
    return Settlement(args, tuple(kept))
