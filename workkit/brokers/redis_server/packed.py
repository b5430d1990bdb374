"""Read msgpack and scores that any program may have overwritten. Pure."""

from __future__ import annotations

from typing import Any, Final

import msgpack

FURTHEST_MS: Final = 9 * 10**15  # a time further from 1970 reads as this


def read_packed(packed: bytes | None) -> Any:
    """Unpack a value that only Python listeners read; None if it is missing or cannot be read."""
    try:
        return msgpack.unpackb(packed or b"", unicode_errors="surrogatepass", strict_map_key=False)
    except (ValueError, RecursionError, TypeError):  # TypeError: a map whose key is a list
        return None


def whole_ms(score: float) -> int:
    """Round a score to whole milliseconds, within what a time can be. A program may have set any, also infinity."""
    return round(max(-FURTHEST_MS, min(FURTHEST_MS, score)))
