"""Read which functions the living listeners of a schedule know."""

from __future__ import annotations

from collections import Counter
from typing import Final

from workkit.brokers.native.functions import IS, OF, merged, read_text
from workkit.brokers.native.keys import Keys
from workkit.brokers.redis_server.server import Server
from workkit.jobs.known import Known

MOST_FIELDS: Final = 10_000  # a hash with more is not ours
MOST_PROGRAMS: Final = 50


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
