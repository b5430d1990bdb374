"""Records of `workkit.contract.record`, printed as one JSON array."""

from __future__ import annotations

from collections.abc import Iterable

from workkit.cli.printing import terminal
from workkit.contract.record import BEGUN as BEGUN
from workkit.contract.record import Record as Record
from workkit.contract.record import attempts_begun as attempts_begun
from workkit.contract.record import attempts_of as attempts_of
from workkit.contract.record import attempts_text as attempts_text
from workkit.contract.record import cell_record as cell_record
from workkit.contract.record import change_record as change_record
from workkit.contract.record import compact as compact
from workkit.contract.record import counted_of as counted_of
from workkit.contract.record import counts_record as counts_record
from workkit.contract.record import dead_record as dead_record
from workkit.contract.record import finding_record as finding_record
from workkit.contract.record import full_record as full_record
from workkit.contract.record import job_record as job_record
from workkit.contract.record import listener_record as listener_record
from workkit.contract.record import queue_record as queue_record
from workkit.contract.record import run_record as run_record
from workkit.contract.record import span_record as span_record
from workkit.contract.record import words_of as words_of


def show_json(records: Iterable[Record]) -> int:
    """Print one array, one object a line, each as soon as it is read; return how many there were."""
    count = 0
    for record in records:  # nothing is printed before the first is read: that may fail
        terminal.data((",\n" if count else "[") + compact(record), newline=False)
        count += 1
    terminal.data("]" if count else "[]")
    return count
