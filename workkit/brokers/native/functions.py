"""The functions that a listener knows, as `S:functions` holds them: packed, and back. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace
from hashlib import sha1
from typing import Any, Final

import msgpack

from workkit.brokers.redis_server.control import read_packed
from workkit.jobs.arguments import KnownFunction, Parameter
from workkit.jobs.consumers import LIMITS, LONGEST_DOC, LONGEST_NAME, LONGEST_TEXT, MOST, MOST_PARAMETERS

LONGEST: Final = 200_000  # bytes of what one listener tells
OF, IS = "of:", "is:"  # fields: of a listener -> a digest; of a digest -> the functions


def functions_text(functions: Sequence[KnownFunction]) -> tuple[str, bytes]:
    """Pack functions, and make the digest of that; so many as there is room for."""
    packed, room = [], LONGEST
    for known in functions:
        one = msgpack.packb(_packed(known), use_bin_type=False, unicode_errors="surrogatepass")
        room -= len(one)
        if room < 0:
            break
        packed.append(_packed(known))
    text = bytes(msgpack.packb(packed, use_bin_type=False, unicode_errors="surrogatepass"))
    return sha1(text, usedforsecurity=False).hexdigest(), text


def read_text(packed: bytes | None) -> list[KnownFunction]:
    """Read what a listener tells; entries that cannot be read are left out. Other programs may have written it."""
    if packed is None or len(packed) > 2 * LONGEST:
        return []
    found = read_packed(packed)
    return [known for one in found[:MOST] if (known := _read(one)) is not None] if isinstance(found, list) else []


def merged(told: Iterable[tuple[Sequence[KnownFunction], int]]) -> dict[str, KnownFunction]:
    """Join what several programs tell, each told by so many listeners. The first description of a name holds."""
    found: dict[str, KnownFunction] = {}
    for functions, listeners in told:
        for known in functions:
            before = found.get(known.fn)
            count = listeners + (before.listeners if before else 0)
            found[known.fn] = replace(before or known, listeners=count)
    return found


def _packed(known: KnownFunction) -> list[Any]:
    parameters = [[one.name, one.kind, one.annotation, one.default] for one in known.parameters]
    return [known.fn, parameters, known.doc, dict(known.limits)]


def _read(said: Any) -> KnownFunction | None:
    match said:
        case [str(fn), list(parameters), str(doc), dict(limits), *_] if fn and len(fn) <= LONGEST_NAME:
            return KnownFunction(
                fn=fn,
                parameters=tuple(one for raw in parameters[:MOST_PARAMETERS] if (one := _parameter(raw)) is not None),
                doc=doc[:LONGEST_DOC],
                limits={name: limits[name] for name in LIMITS if type(limits.get(name)) in (int, float)},
            )
    return None


def _parameter(said: Any) -> Parameter | None:
    match said:
        case [str(name), str(kind), str(annotation), default, *_] if default is None or isinstance(default, str):
            return Parameter(
                name=name[:LONGEST_TEXT],
                kind=kind[:LONGEST_TEXT],
                annotation=annotation[:LONGEST_TEXT],
                default=None if default is None else default[:LONGEST_TEXT],
            )
    return None
