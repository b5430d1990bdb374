"""Names in addresses: a schedule's name or a job's name as one piece of a path, and back. Pure; spec/web.md, 1."""

from __future__ import annotations

import re
from typing import Final
from urllib.parse import parse_qsl, quote, urlencode

JSON: Final = ".json"
_SPELLED: Final = re.compile(r"[/~%?#\s\x00-\x1f\x7f-\x9f]")
_READ: Final = re.compile(r"((?:~[0-9a-f]{2})+)")


def spelled(name: str) -> str:
    """Write a name as one piece of a path, in which no proxy decodes anything and no part is taken for a suffix.

    ``/ ~ % ? #``, blanks, controls, and the dot of a final ``.json`` become ``~`` and two hex digits for each byte.
    A name of dots alone, which browsers take for a way up, is spelled whole. What is not ASCII is left to
    the usual encoding of URLs.
    """
    text = _SPELLED.sub(_hex, name)
    if text.endswith(JSON):
        text = f"{text[: -len(JSON)]}~2ejson"
    return text.replace(".", "~2e") if set(text) == {"."} else text


def read_spelled(piece: str) -> str:
    """Read a piece of a path that `spelled` wrote. What it does not write is taken as it stands."""

    def decoded(found: re.Match[str]) -> str:
        return bytes.fromhex(found[1].replace("~", "")).decode("utf-8", "replace")

    return _READ.sub(decoded, piece)


def job_path(which: str) -> str:
    """Write the path of a job's page, below its schedule's."""
    return f"jobs/{spelled(which)}"


def url_path(path: str) -> str:
    """Write a path for a link: what is not ASCII is percent-encoded."""
    return quote(path, safe="/~%:@!$&'()*+,;=-._?")


def _hex(found: re.Match[str]) -> str:
    return "".join(f"~{byte:02x}" for byte in found[0].encode("utf-8", "surrogatepass"))


def with_parameter(address: str, name: str, value: str | None) -> str:
    """Set one parameter of an address, or with None leave it out, and leave the others."""
    path, _, query = address.partition("?")
    found = [(one, given) for one, given in parse_qsl(query, keep_blank_values=True) if one != name]
    if value is not None:
        found.append((name, value))
    return f"{path}?{urlencode(found)}" if found else path
