"""Read the missed occurrences of a native schedule."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from workkit.brokers.native.codec import instant_of
from workkit.brokers.native.entry import due_ms
from workkit.brokers.native.keys import Keys
from workkit.brokers.native.record import read_count
from workkit.brokers.redis_server.pages import PAGE
from workkit.brokers.redis_server.server import Server
from workkit.contract.inspector import Missed


def missed_pages(server: Server, keys: Keys) -> Iterator[list[tuple[bytes, Missed | None]]]:
    """Read `S:missed` in pages, the last entry first: the number of each entry, and its value, None if unreadable."""
    upto = "+"
    while True:
        with server.translated() as client:
            page = client.xrevrange(keys.missed, max=upto, count=PAGE)
        yield [(number, read_missed(fields)) for number, fields in page]
        if len(page) < PAGE:
            return
        upto = f"({page[-1][0].decode()}"


def read_missed(fields: Mapping[bytes, bytes]) -> Missed | None:
    """Read an entry of `S:missed`; None if it cannot be read."""
    said = {key: value.decode("utf-8", "replace") for key, value in fields.items()}
    due, times = instant_of(due_ms(said.get(b"due", ""))), read_count(fields.get(b"times", b"1"))
    if due is None or times is None or not {b"id", b"fn", b"reason", b"due"} <= said.keys():
        return None
    name = said.get(b"name") or None
    return Missed(id=said[b"id"], name=name, fn=said[b"fn"], due=due, reason=said[b"reason"], times=times)
