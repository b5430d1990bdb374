"""Bytes of any kind in a sentence: text where they are text, escaped where not."""

from __future__ import annotations

import re


def bytes_text(data: bytes) -> str:
    """Write bytes as text in which different bytes stay different, at most 200 characters of it."""
    return data[:200].decode("utf-8", "backslashreplace")


def brief_bytes(data: bytes) -> str:
    """Show bytes in a sentence: an id by its beginning, anything else by up to 60 characters."""
    said = bytes_text(data)
    if re.fullmatch(r"[0-9a-f]{40}", said):
        return said[:8]
    return said if len(said) <= 60 else said[:57] + "..."
