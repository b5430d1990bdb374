"""An occurrence where a listing found it: in a queue, parked, or in a record of a listener. Pure."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import NamedTuple

from workkit.brokers.native.entry import Entry, read_entry, regular
from workkit.brokers.native.look.location import item_id
from workkit.brokers.native.look.parked import Parked
from workkit.brokers.native.settle import occurrence
from workkit.brokers.redis_server.listener_info import read_said


class Row(NamedTuple):
    """One occurrence. `key` is the name of its key, `member` its member there, or its field if it is a record. `when`
    is the score of what is queued, `said` the progress of a run.
    """

    entry: Entry
    key: str
    member: bytes
    when: float = 0.0
    said: tuple[float, float] | str | None = None
    parked: Parked | None = None
    is_record: bool = False

    @property
    def id(self) -> str:
        """The id of its job; nothing if its item cannot be read."""
        return (item_id(self.entry.item) or b"").decode("utf-8", "replace")

    @property
    def occurrence(self) -> str:
        """The name of the occurrence."""
        return occurrence(self.id, self.entry)

    @property
    def run(self) -> int:
        """What tells this occurrence from all others, wherever it moves: 8 bytes."""
        return run_of(self.entry.item, self.entry.due, self.entry.nonce)


def run_of(item: bytes, due: str, nonce: str) -> int:
    """See `Row.run`."""
    return hash((item, due, nonce))


def item_row(key: str, item: bytes, when: float) -> Row:
    """Make the row of a member of `S:next`."""
    return Row(Entry(due=_text(when), item=item), key, item, when)


def entry_row(key: str, text: bytes, when: float) -> Row:
    """Make the row of a member of `S:again`."""
    return Row(read_entry(text) or Entry(due=_text(when), item=text), key, text, when)


def parked_row(key: str, parked: Parked) -> Row:
    """Make the row of a member of `S:waiting`."""
    return Row(parked.entry, key, parked.text, parked=parked)


def record_rows(key: str, records: Mapping[bytes, bytes], said: Mapping[bytes, bytes]) -> Iterator[Row]:
    """Make the rows of the records of one listener."""
    for field, value in records.items():
        if b"." in field:
            entry = read_entry(value) or regular(field.partition(b".")[2], due=value)
            yield Row(entry, key, field, said=read_said(said.get(field)), is_record=True)


def _text(score: float) -> str:
    return f"{score:.0f}" if abs(score) < 1e17 else str(score)
