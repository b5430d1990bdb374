"""Read which functions the living listeners of a schedule know, and those of jobs that one gave back."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Final

from workkit.brokers.native.functions import IS, OF, merged, read_text
from workkit.brokers.native.keys import Keys
from workkit.brokers.native.look.listing import Listing
from workkit.brokers.redis_server.pages import is_text
from workkit.brokers.redis_server.server import Server
from workkit.jobs.known import Known

MOST_FIELDS: Final = 10_000  # a hash with more is not ours
MOST_PROGRAMS: Final = 50
MOST_MARKS: Final = 100  # of one listener that are looked at


def read_functions(server: Server, keys: Keys) -> dict[str, Known]:
    """Read them by name: see `Inspector.knows`."""
    with server.translated() as client:
        if client.type(keys.functions) != b"hash" or client.hlen(keys.functions) > MOST_FIELDS:
            return {}
        fields = [field for field in client.hkeys(keys.functions) if field.startswith(OF.encode())]
        if not fields:
            return {}
        digests = client.hmget(keys.functions, fields)
        living = set(client.zrange(keys.listeners, 0, -1))
        told = Counter(
            digest
            for field, digest in zip(fields, digests, strict=True)
            if digest is not None and field.removeprefix(OF.encode()) in living
        )
        programs = told.most_common(MOST_PROGRAMS)
        texts = client.hmget(keys.functions, [IS.encode() + digest for digest, _ in programs]) if programs else []
    return merged((read_text(text), count) for text, (_, count) in zip(texts, programs, strict=True))


def read_refused(listing: Listing, listeners: Sequence[str]) -> Mapping[str, Sequence[str]]:
    """Read the functions of jobs that listeners have given back: see `Inspector.refused`."""
    with listing.server.translated() as client:
        pipe = client.pipeline(transaction=False)
        for name in listeners:
            pipe.sscan(listing.keys.skip(name), 0, count=MOST_MARKS)
        marks = [[id.decode() for id in ids[:MOST_MARKS] if is_text(id)] for _, ids in pipe.execute()]
    ids = list(dict.fromkeys(id for page in marks for id in page))
    fns = {id: job.fn for id, job in zip(ids, listing.stored(ids), strict=True) if job is not None}
    found = {name: sorted({fns[id] for id in page if id in fns}) for name, page in zip(listeners, marks, strict=True)}
    return {name: known for name, known in found.items() if known}
