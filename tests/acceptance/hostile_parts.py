"""What hostile values are made of: noise, numbers, msgpack and JSON that are nearly right, texts with one token bent.

Pure: the same `Random` gives the same bytes.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from random import Random
from typing import Any

import msgpack

NUMBERS = (
    b"0", b"-0", b"-1", b"1.5", b"1e300", b"-1e300", b"1e308", b"1e309", b"1e400", b"1e20", b"inf", b"-inf", b"+inf",
    b"nan", b"-nan", b"Infinity", b"NaN", b"0x10", b"1_0", b" 5", b"5 ", b"+5", b"05", b"1e3", b"1.", b".5", b"1e",
    b"9223372036854775807", b"9223372036854775808", b"-9223372036854775809", b"18446744073709551616",
    b"100000000000000000000", b"9007199254740993", b"253402300800000", b"1" + b"0" * 400, b"-1" + b"0" * 400,
    b"9" * 5000, "１２".encode(), "٣".encode(), "²".encode(),
)  # fmt: skip
SCORES = (
    "0", "-0.0", "-1", "1.5", "1394012056000", "1394012056000.5", "1e15", "9e15", "9007199254740993", "1e17", "1e20",
    "1e300", "-1e300", "1.7e308", "-1.7e308", "inf", "-inf", "5e-324", "253402300800000",
)  # fmt: skip
JSON = (
    "null", "true", "false", "0", "-0", "-1", "1.5", "1e400", "-1e400", "1e300", "NaN", "Infinity", "-Infinity", '""',
    '"\\ud800"', '"\\udfff\\ud800"', '"\\u0000"', '"\\u001b[2J"', '"nan"', '"１２"', "[]", "{}", "[[]]", '[""]',
    "[null]", '["\\ud800"]', '{"":null}', '{"\\ud800":1}', "9" * 400, "9" * 5000, "1" + "0" * 400, "0x10", "1_0", "",
    "[" * 5000 + "]" * 5000, '"' + "x" * 10_000 + '"', '"unterminated', "9223372036854775808", "253402300800000",
    '"2026-01-01"', '"Europe\\/Pariss"', '"..\\/..\\/etc\\/passwd"', '"Europe"', '"posixrules"', '"* * * * * * * *"',
    '"1-99999999999 * * * * * *"', '"*\\/0 * * * * * *"', '"* * 31 * 2 30 0 0"', '"٣ * * * * * *"',
)  # fmt: skip


def noise(r: Random) -> bytes:
    """Bytes that mean nothing."""
    return r.choice(_NOISE)(r)


_NOISE: tuple[Callable[[Random], bytes], ...] = (
    lambda r: b"",
    lambda r: r.randbytes(1),
    lambda r: b"\0" * r.randrange(1, 5),
    lambda r: r.randbytes(r.randrange(2, 40)),
    lambda r: b"\xff\xfe" + r.randbytes(5),
    lambda r: "\ud800".encode("utf-8", "surrogatepass") + b"x",
    lambda r: b"x" * 10_000,
    lambda r: b"\x1b[2J\x1b]0;pwned\x07\r\n\t",
    lambda r: "日本\u202e\u200b".encode(),
    lambda r: b" ",
    lambda r: b"\n" * 3,
    lambda r: b"%s%n{0}$(id)`id`';--",
    lambda r: b"*?[a-z]\\^",
    lambda r: b"#" + r.randbytes(2),
    lambda r: b"9" * 5000,
    lambda r: b"%d" % r.getrandbits(70),
)


def token(r: Random) -> bytes:
    """A hostile token: a number, or noise."""
    return r.choice(NUMBERS) if r.random() < 0.65 else noise(r)


def bent(r: Random, text: bytes, separator: bytes, *, most: int = -1) -> bytes:
    """The text with one of its tokens replaced, dropped, doubled or cut; or the whole of it cut or lengthened."""
    parts = text.split(separator, most)
    place = r.randrange(len(parts))
    match r.randrange(7):
        case 0 | 1 | 2:
            parts[place] = token(r)
        case 3:
            del parts[place]
        case 4:
            parts.insert(place, parts[place])
        case 5:
            parts[place] = parts[place][: r.randrange(len(parts[place]) + 1)]
        case _:
            whole = separator.join(parts)
            return whole[: r.randrange(len(whole) + 1)] if r.random() < 0.5 else whole + separator + token(r)
    return separator.join(parts)


THINGS: tuple[Any, ...] = (
    None, True, False, 0, -1, 1.5, 2**63 - 1, 2**63, 2**64 - 1, -(2**63), 1e300, -1e300, 1e308, float("inf"),
    float("-inf"), float("nan"), "", "nan", "x" * 10_000, b"", b"\xff\xfe", b"\0", [], [[]], {}, {1: 2}, {b"\xff": 1},
    {"": None}, [None] * 40, msgpack.ExtType(5, b"x"), msgpack.ExtType(127, b""), msgpack.Timestamp(2**33, 5),
    "\x1b[2J", "日本\u202e",
)  # fmt: skip


def pack(value: Any) -> bytes:
    """The value in msgpack; lone surrogates pass."""
    return bytes(msgpack.packb(value, unicode_errors="surrogatepass"))


def packed(r: Random, valid: Sequence[Any] | dict[str, Any]) -> bytes:
    """Msgpack that is nearly `valid`, a list or a map: an element bent, dropped or added; cut, or with bytes behind it;
    or something else altogether.
    """
    match r.randrange(10):
        case 0:
            return noise(r)
        case 1:
            return pack(r.choice(THINGS))
        case 2:
            good = pack(valid)
            return good[: r.randrange(len(good))]
        case 3:
            return pack(valid) + (noise(r) or b"\0")
        case 4:
            return b"\x91" * r.choice((100, 600, 5000)) + b"\xc0"  # deep
        case 5:
            return r.choice(_BROKEN)
        case _:
            return pack(_changed(r, valid))


_BROKEN = (
    b"\xc1", b"\xdd\xff\xff\xff\xff", b"\xdf\xff\xff\xff\xff", b"\xdb\xff\xff\xff\xffx", b"\xc6\xff\xff\xff\xff",
    b"\x92\xa2\xff\xfe\xc0", b"\x81\xc0\xc0", b"\x82\xa1a\x01\xa1a\x02", b"\xc9\xff\xff\xff\xff\x05", b"\x92\xc0",
    b"\xcb\x7f\xf8\x00\x00\x00\x00\x00\x00", b"\x92\xc0\xcb\x7f\xf8\x00\x00\x00\x00\x00\x00",
    b"\x92\xa3\xed\xa0\x80\xc0",
)  # fmt: skip


def _changed(r: Random, valid: Sequence[Any] | dict[str, Any]) -> Any:
    thing = r.choice(THINGS)
    if isinstance(valid, dict):
        name = r.choice(list(valid))
        rest = {key: value for key, value in valid.items() if key != name}
        return rest if r.random() < 0.25 else {**rest, name: thing}
    parts = list(valid)
    place = r.randrange(len(parts))
    match r.randrange(4):
        case 0:
            del parts[place]
        case 1:
            parts.insert(place, thing)
        case _:
            parts[place] = thing
    return parts


def written(fields: dict[str, str]) -> bytes:
    """An object out of raw JSON; what is no UTF-8 stands in it as surrogates."""
    text = "{" + ",".join(f'"{name}":{value}' for name, value in fields.items()) + "}"
    return text.encode("utf-8", "surrogateescape")


def json_bytes(r: Random, valid: dict[str, str]) -> bytes:
    """An object that is nearly `valid` (raw JSON by field): a field bent, dropped or doubled; or cut; or lengthened."""
    name = r.choice(list(valid))
    match r.randrange(8):
        case 0:
            return written({field: value for field, value in valid.items() if field != name})
        case 1:
            whole = written(valid)
            return whole[: r.randrange(len(whole))]
        case 2:
            return written(valid) + (noise(r) or b"\0")
        case 3:
            return written(valid)[:-1] + b',"%b":%b}' % (name.encode(), r.choice(JSON).encode())
        case _:
            return written({**valid, name: r.choice(JSON)})


def many_rules(count: int) -> str:
    """A list of so many rules, each of another second of the year."""
    rules = [f"* {1 + n % 12} {1 + n // 12 % 28} * {n % 24} {n // 24 % 60} {n % 59}" for n in range(count)]
    return json.dumps(rules)


def number_text(r: Random) -> str:
    """A hostile number as text."""
    return r.choice(NUMBERS).decode("utf-8")
