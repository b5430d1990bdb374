"""Find one job: its items in `S:next`, its entries in `S:again`, its parked entries. Also ask the server's clock."""

from __future__ import annotations

from workkit.brokers.native.entry import Entry, read_entry
from workkit.brokers.native.keys import Keys
from workkit.brokers.native.look.location import item_id
from workkit.brokers.native.look.parked import Parked, read_parked, under
from workkit.brokers.redis_server.pages import PAGE, literally
from workkit.brokers.redis_server.server import Server


def server_ms(server: Server) -> int:
    """Ask the server's clock."""
    with server.translated() as client:
        seconds, micros = client.time()
    return int(seconds) * 1000 + int(micros) // 1000


def plain_item(id: str) -> bytes:
    """Write the usual text of an item, also for an id that only a foreign peer writes."""
    return f'{{"id":"{id}"}}'.encode("utf-8", "surrogateescape")


def other_items(server: Server, keys: Keys, id: str) -> list[bytes]:
    """Find the items of a job under other texts than the usual one: a foreign peer has put them back. None if `S:next`
    has the usual one.
    """
    with server.translated() as client:
        if client.zscore(keys.next, plain_item(id)) is not None:
            return []
        like, wanted = f"*{literally(id)}*", id.encode("utf-8", "surrogateescape")
        found = {text for text, _ in client.zscan_iter(keys.next, match=like, count=PAGE)}
        return sorted(text for text in found if item_id(text) == wanted)


def standing_items(server: Server, keys: Keys, id: str) -> list[tuple[bytes, float]]:
    """Find the items of a job in `S:next`, under any text, and their scores."""
    items = other_items(server, keys, id) or [plain_item(id)]
    with server.translated() as client:
        scores = client.zmscore(keys.next, items)
    return [(item, score) for item, score in zip(items, scores, strict=True) if score is not None]


def owed_entries(server: Server, keys: Keys, id: str) -> list[Entry]:
    """Find the entries of a job in `S:again`."""
    cursor, found, wanted = 0, {}, id.encode("utf-8", "surrogateescape")
    while True:
        with server.translated() as client:
            cursor, page = client.zscan(keys.again, cursor, count=PAGE)
        for text, _ in page:
            entry = read_entry(text)
            if entry is not None and item_id(entry.item) == wanted:
                found[text] = entry
        if not cursor:
            return list(found.values())


def parked_items(server: Server, keys: Keys, id: str) -> list[bytes]:
    """Find the members of `S:waiting` that belong to a job."""
    with server.translated() as client:
        if not client.exists(keys.waiting):
            return []
        like = f"*\0{literally(id)}@*"
        return [member for member, _ in client.zscan_iter(keys.waiting, match=like, count=PAGE)]


def parked_under(server: Server, keys: Keys, key: bytes, *, most: int) -> list[Parked]:
    """Read the parked entries of a key, soonest first."""
    with server.translated() as client:
        texts = client.zrangebylex(keys.waiting, *under(key), start=0, num=most)
    return [parked for text in texts if (parked := read_parked(text)) is not None]
