"""What `settle` and `cancel` get of endings, with what is recorded and kept of them; and the bytes of kept results:
spec/results.md. Pure.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from typing import Any, get_args

import msgpack

from workkit.brokers.native.history.record import Recorder
from workkit.brokers.native.settle import Receipt, ending, read_failure
from workkit.brokers.redis_server.control import read_packed
from workkit.contract.history import Result
from workkit.contract.listener import Claim, Ending
from workkit.jobs.outcome import Failure, Kept, Outcome, Released, ResultKind, of_cancelled

MOST_KEPT = 8_000_000  # bytes of results in one call of `settle.lua`, if it has more than one ending
NO_MAPS = bytes(msgpack.packb([]))  # of endings that need none
NAMED = "name:"  # before a name in the key that leads from it to an id
_KINDS: dict[bytes, ResultKind] = {kind.encode(): kind for kind in get_args(ResultKind)}
_PLACE = re.compile(rb"(\d{1,15})-\d{1,20}")
_NUMBER = re.compile(rb"-?\d{1,18}")


def kept_size(outcome: Outcome) -> int:
    """Count the bytes that are kept of an ending."""
    kept: Kept | None = getattr(outcome, "kept", None)
    return 0 if kept is None else len(kept.text)


def settlement(
    ends: Sequence[Ending], *, recorder: Recorder | None, listener: str, now_ms: int
) -> tuple[bytes, tuple[str, ...]]:
    """Write the maps that `settle.lua` applies for these endings, and list the words of its keys of results.
    `recorder`: None if nothing is recorded.
    """
    maps, words = [], list[str]()
    for claim, outcome in ends:
        made = ending(claim, outcome, now_ms=now_ms)
        if recorder is not None:
            record = recorder.of(claim, outcome, listener=listener, now_ms=now_ms)
            if record is not None:
                made["ran"] = record
        if (result := result_of(claim, outcome)) is not None:
            made |= keep_result(claim, result, words)
        maps.append(made)
    return bytes(msgpack.packb(maps, use_bin_type=False, unicode_errors="surrogatepass")), tuple(words)


def result_of(claim: Claim, outcome: Outcome) -> Kept | None:
    """Find what is kept of an ending; None where its job keeps nothing, or nothing has ended."""
    if claim.trouble is None:
        return getattr(outcome, "kept", None)
    if claim.trouble != "cancelled" or isinstance(outcome, Released):
        return None
    kept: Kept | None = getattr(outcome, "kept", None)
    if kept is None and claim.options.keep_ms is not None:
        kept = of_cancelled(claim.options.keep_ms, claim.reason or "cancelled before it started")
    return kept


def keep_result(claim: Claim, kept: Kept, words: list[str]) -> dict[str, Any]:
    """Make the fields of an ending that keep its result, and add the words of its keys to those of the call."""
    receipt: Receipt = claim.receipt
    fields = write_fields(kept, occurrence=receipt.occurrence, due_ms=claim.due_ms)
    out: dict[str, Any] = {"keep": [len(words), str(kept.ms), fields]}
    words.append(claim.id)
    if (name := claim.terms.name) is not None:
        out["called"] = [len(words), claim.id]
        words.append(NAMED + name)
    return out


def write_fields(kept: Kept, *, occurrence: str, due_ms: int) -> list[bytes | str]:
    """Write the entry of a result, without its time to live."""
    body = kept.text if kept.failure is None else _write_failure(kept.failure)
    return ["k", kept.kind, "o", occurrence, "d", str(due_ms), "v", body]


def _write_failure(failure: Failure) -> bytes:
    said = [failure.type, failure.message, failure.where, failure.traceback]
    return bytes(msgpack.packb(said, unicode_errors="surrogatepass"))


def read_result(place: bytes, fields: Mapping[bytes, bytes], *, now_ms: int) -> Result | None:
    """Read an entry of `S:result:<id>`; None if it cannot be read, or has expired."""
    kind, at = _KINDS.get(fields.get(b"k", b"")), _PLACE.fullmatch(place)
    numbers = [fields.get(name, b"") for name in (b"t", b"d")]
    if kind is None or at is None or not all(map(_NUMBER.fullmatch, numbers)):
        return None
    keep_ms, due_ms = map(int, numbers)
    if int(at[1]) + keep_ms <= now_ms:
        return None
    value, failure = None, None
    if kind == "value":
        try:
            value = json.loads(fields.get(b"v", b""))
        except (ValueError, RecursionError):
            return None
    else:
        failure = read_failure(read_packed(fields.get(b"v", b"")))
    return Result(
        kind=kind,
        occurrence=fields.get(b"o", b"").decode("utf-8", "replace"),
        due_ms=due_ms,
        place=place.decode(),
        value=value,
        failure=failure,
    )
