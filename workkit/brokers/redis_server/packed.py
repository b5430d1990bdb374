"""Read msgpack that any program may have overwritten. Pure."""

from __future__ import annotations

from typing import Any

import msgpack


def read_packed(packed: bytes | None) -> Any:
    """Unpack a value that only Python listeners read; None if it is missing or cannot be read."""
    try:
        return msgpack.unpackb(packed or b"", unicode_errors="surrogatepass", strict_map_key=False)
    except (ValueError, RecursionError, TypeError):  # TypeError: a map whose key is a list
        return None
