"""Bytes of any kind in a sentence: text where they are text, escaped where not."""

from __future__ import annotations

import re
import shlex

LONGEST_ID = 60  # characters of an id that is none of ours in a command; its beginning names it


def bytes_text(data: bytes) -> str:
    """Write bytes as text in which different bytes stay different, at most 200 characters of it."""
    return data[:200].decode("utf-8", "backslashreplace")


def brief_bytes(data: bytes) -> str:
    """Show bytes in a sentence: an id by its beginning, anything else by up to 60 characters."""
    said = bytes_text(data)
    if re.fullmatch(r"[0-9a-f]{40}", said):
        return said[:8]
    return said if len(said) <= 60 else said[:57] + "..."


def id_word(data: bytes) -> str:
    """Write an id as an argument of a command: its beginning names the job. See `shell_word`."""
    text = data.decode("utf-8", "surrogateescape")
    return text[:8] if re.fullmatch(r"[0-9a-f]{40}", text) else text[:LONGEST_ID]


def shell_word(text: str) -> str:
    """Quote a text as one word of a shell. Characters that a terminal does not show, and bytes that are no text
    (surrogates of `surrogateescape`), are escaped as bash, zsh and ksh read them: `$'\\x1b'`.
    """
    if text.isprintable():
        return shlex.quote(text)
    escaped = (
        f"\\{char}" if char in "\\'" else char if char.isprintable()
        else "".join(f"\\x{byte:02x}" for byte in char.encode("utf-8", "surrogateescape"))
        for char in text
    )  # fmt: skip
    return f"$'{''.join(escaped)}'"
