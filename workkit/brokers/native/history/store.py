"""Store what a listener has counted, by the script `tally`."""

from __future__ import annotations

from typing import Any

import msgpack

from workkit.brokers.native.history.cells import SUBJECTS, packed_cell, slot
from workkit.brokers.native.history.record import sample_row
from workkit.brokers.native.keys import Keys
from workkit.brokers.redis_server.script import load
from workkit.brokers.redis_server.server import Call
from workkit.contract.history import ALL, KEPT_MS, TIERS, Counted
from workkit.jobs.admission import History


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
