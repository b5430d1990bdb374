"""The published bytes: payload, id and queue item, byte for byte as the Clojure code writes them.

Pure functions, public: no server, no clock. The broker uses them, and so may any tool or peer. The rules are those of
spec/job.md. An id is the SHA-1 of the stored bytes, never of a payload that was parsed and written again.
"""

from __future__ import annotations

import json
import re
from bisect import bisect
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from hashlib import sha1
from json.encoder import encode_basestring_ascii
from typing import Any, NoReturn

from workkit.errors import CorruptRecord, InvalidArguments
from workkit.jobs.json_value import (
    at_key,
    check_finite,
    check_key,
    integer_text,
    plain_value,
    shown_value,
    significant_digits,
)

MAX_SAFE_INTEGER = 2**53
_ID = re.compile(r"[0-9a-f]{40}")
_FIELD = re.compile(r"[a-z][a-z0-9_-]*")


@dataclass(frozen=True, slots=True, kw_only=True)
class Payload:
    """A stored job as it was read: cron text, job text, arguments, and all further fields unchanged."""

    cron: str
    job: str
    args: tuple[Any, ...] = ()
    extra: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, slots=True, kw_only=True)
class Item:
    """A queue item as it was read: the id of its job, and all further fields."""

    id: str
    extra: Mapping[str, Any] = field(default_factory=dict)


def payload(*, cron: str, job: str, args: Any, extra: Mapping[str, Any] | None = None) -> bytes:
    """Write a payload: keys sorted, no blanks, ``/`` as ``\\/``, non-ASCII as ``\\uXXXX``, numbers as Java prints them.

    `args` is a list or tuple of JSON values, or None for no arguments. `extra` adds fields inside the hashed text.
    Raises InvalidArguments with the place and type of a value that JSON cannot hold, and with the place of a lone
    surrogate, which UTF-8 cannot hold.
    """
    return _payloads(cron=cron, job=job, args=args, extra=extra)[0]


def _payloads(
    *, cron: str, job: str, args: Any, extra: Mapping[str, Any] | None = None, nonce: str = ""
) -> tuple[bytes, str]:
    """Write a payload as `payload` does, and a second variant of it. The variant has a nonce of letters, digits and
    dots. It is the nonce alone if the nonce comes behind the last field, as `with_nonce` takes it; else it is the whole
    text. Without a nonce the variant is empty.
    """
    if args is None:
        args = ()
    if not isinstance(args, (list, tuple)):
        raise InvalidArguments(f"args={shown_value(args)} is not a list. Write args=[{shown_value(args)}].", given=args)
    if not extra:
        return plain_payload(cron, job, args), nonce
    fields = {**extra, "args": args, "cron": cron, "job": job}
    keys, members = sorted(fields), []
    for key in keys:
        value = fields[key]
        text = _known(value) if (key == "cron" or key == "job") and type(value) is str else _text(value, key)
        members.append(f"{_known(key)}:{text}")
    text = "{" + ",".join(members) + "}"
    if "\\ud" in text:  # a surrogate, or half of a character above U+FFFF
        for key, value in fields.items():
            _refuse_surrogates(value, key)
    if nonce and (place := bisect(keys, "nonce")) < len(keys):
        members.insert(place, f'"nonce":"{nonce}"')
        nonce = "{" + ",".join(members) + "}"
    return text.encode("ascii"), nonce


def plain_payload(cron: str, job: str, args: Sequence[Any], *, row: str = "", batch: str = "") -> bytes:
    """Write a payload without further fields, or with `batch` alone, as `payload` does: the number of its row and the
    name of the batch. `args` is a list or tuple. Most payloads are plain.
    """
    if row:
        batch = f',"batch":"{row} {_known(batch)[1:]}'
    if len(args) == 1 and (plain := _PLAIN.get(type(args[0]))):  # a text in a list costs as much as all the rest
        text = f'{{"args":[{plain(args[0])}]{batch}{_end(cron, job)}'
    else:
        text = f'{{"args":{_text(args, "args")}{batch}{_end(cron, job)}'
    if "\\ud" in text:
        for key, value in {"args": args, "cron": cron, "job": job}.items():
            _refuse_surrogates(value, key)
    return text.encode("ascii")


def batch_of(member: object) -> str | None:
    """Return the batch that the `batch` of a payload names, behind the number of its row; None if it names none."""
    row, _, name = member.partition(" ") if type(member) is str else ("", "", "")
    return name if row == "-" or (row.isdigit() and row.isascii()) else None


def with_nonce(payload: bytes, nonce: str) -> bytes:
    """Return a payload with a nonce behind its last field, as `add.lua` writes it."""
    return payload[:-1] + f',"nonce":"{nonce}"}}'.encode("ascii")


def json_text(value: Any) -> bytes:
    """Write any value as the Clojure code does, lone surrogates too. Raises InvalidArguments as `payload` does."""
    return _text(value, "value").encode("ascii")


def value_text(value: Any, place: str) -> bytes:
    """Write one value as `payload` writes an argument. `place` names it in an error. Raises InvalidArguments as
    `payload`.
    """
    text = _text(value, place)
    if "\\ud" in text:
        _refuse_surrogates(value, place)
    return text.encode("ascii")


def job_id(payload: bytes) -> str:
    """Return the id for the stored bytes: their SHA-1, 40 lower-case hexadecimal digits."""
    return sha1(payload, usedforsecurity=False).hexdigest()


def item(id: str, **integers: int) -> bytes:
    """Write a queue item: ``{"id":"..."}``, and further fields where no Clojure peer runs (a peer rewrites them).

    Field names are ASCII without ``/`` and never ``date``; values are integers below 2^53 in magnitude. Only such
    fields survive when the Clojure code puts an item back. Raises InvalidArguments.
    """
    if not _ID.fullmatch(id):
        raise InvalidArguments(f"id={id!r} is not a job id. An id has 40 lower-case hexadecimal digits.", given=id)
    for name, value in integers.items():
        if not _FIELD.fullmatch(name) or name in ("date", "id"):
            raise InvalidArguments(f"field {name!r} would not survive a put-back by a Clojure peer.", given=name)
        if type(value) is not int or abs(value) >= MAX_SAFE_INTEGER:
            raise InvalidArguments(f"{name}={value!r} is not an integer below 2^53 in magnitude.", given=value)
    more = "".join(f',"{name}":{value}' for name, value in integers.items())
    return f'{{"id":"{id}"{more}}}'.encode("ascii")


def read_payload(data: bytes) -> Payload:
    """Read a stored payload of any writer. `args` absent or null reads as none; further fields are kept.

    Raises CorruptRecord where it is not UTF-8 JSON, not an object, or `cron` or `job` is not a text or `args` not a
    list.
    """
    fields = _payload_fields(data)
    cron, job, args = fields.pop("cron"), fields.pop("job"), fields.pop("args", None)
    return Payload(cron=cron, job=job, args=tuple(args or ()), extra=fields)


def job_of(data: bytes) -> str | None:
    """Return the `job` of a stored payload, whatever its other fields hold; None if it is not an object or has no
    `job`.
    """
    try:
        found = _object(data, "payload").get("job")
    except CorruptRecord:
        return None
    return found if type(found) is str and found else None


def read_plain_payload(data: bytes) -> tuple[str, str, list[Any], str | None] | None:
    """Return the cron, function and arguments of a payload without further fields, except a nonce and the batch that it
    is a member of. Returns None for any other payload and for an unreadable one: use `read_payload` then. Most payloads
    are plain, and many have the same end: of these, only the arguments are parsed.
    """
    try:
        head, _, end = data.rpartition(b',"cron":')
        known = _ends.get(end)
        if known is not None and head.startswith(b'{"args":'):
            text = head.decode("utf-8")
            args, stop = _scan(text, 8)
            if type(args) is not list:
                return None
            if stop == len(text):
                return (*known, args, None)
            batch, at = _scan(text, stop + 9) if text.startswith(',"batch":', stop) else ("", -1)
            batch = batch_of(batch)
            return (*known, args, batch) if batch and at == len(text) else None
        text = data.decode("utf-8")
        fields, stop = _scan(text, 0)
    except (ValueError, RecursionError, StopIteration):
        return None
    if stop != len(text) or type(fields) is not dict:
        return None
    batch = batch_of(fields["batch"]) if "batch" in fields else None
    if len(fields) != 3 + ("nonce" in fields) + bool(batch):
        return None
    cron, job, args = fields.get("cron"), fields.get("job"), fields.get("args")
    if not (type(args) is list and type(cron) is type(job) is str):
        return None
    if "nonce" not in fields and len(end) <= MOST_END and end == _end(cron, job)[8:].encode():
        if len(_ends) >= MOST_ENDS:
            _ends.clear()
        _ends[end] = (cron, job)
    return cron, job, args, batch


MOST_END, MOST_ENDS = 500, 256  # the most bytes of a remembered end, and the most remembered ends
_ends: dict[bytes, tuple[str, str]] = {}  # the text behind `,"cron":` in plain payloads -> its cron and function


def _payload_fields(data: bytes) -> dict[str, Any]:
    fields = _object(data, "payload")
    cron, job, args = fields.get("cron"), fields.get("job"), fields.get("args")
    if type(cron) is not str:
        raise CorruptRecord(f"payload: cron is {shown_value(cron)}, not a text", given=data)
    if type(job) is not str:
        raise CorruptRecord(f"payload: job is {shown_value(job)}, not a text", given=data)
    if args is not None and type(args) is not list:
        raise CorruptRecord(f"payload: args is {shown_value(args)}, not a list", given=data)
    return fields


def read_item(data: bytes) -> Item:
    """Read a queue item leniently: any blanks and further fields, text behind the object, bytes that are not UTF-8
    outside the id. Raises CorruptRecord where the id is absent.
    """
    try:
        fields, _ = _DECODER.raw_decode(data.decode("utf-8", "replace").lstrip())
    except (ValueError, RecursionError) as error:
        raise CorruptRecord(f"queue item: not JSON ({error})", given=data) from error
    found = fields.pop("id", None) if isinstance(fields, dict) else None
    if type(found) is not str or not found:
        raise CorruptRecord("queue item: no id in it", given=data)
    return Item(id=found, extra=fields)


def _refuse_constant(name: str) -> NoReturn:
    raise ValueError(f"{name} is not JSON")


_DECODER = json.JSONDecoder(parse_constant=_refuse_constant)
_scan: Callable[[str, int], tuple[Any, int]] = _DECODER.scan_once  # type: ignore[attr-defined]


def _object(data: bytes, what: str) -> dict[str, Any]:
    try:
        text = data.decode("utf-8")
        if text[:1] == "{" and text[-1:] == "}":
            value, end = _DECODER.raw_decode(text)  # half the time of `decode`, which first skips blanks
            if end != len(text):
                raise ValueError(f"extra data at column {end + 1}")
        else:
            value = _DECODER.decode(text)
    except (ValueError, RecursionError) as error:
        raise CorruptRecord(f"{what}: not JSON in UTF-8 ({error})", given=data) from error
    if not isinstance(value, dict):
        raise CorruptRecord(f"{what}: {shown_value(value)} is not an object", given=data)
    return value


def _string(text: str) -> str:
    if "\x7f" in text:  # data.json prints U+007F as it is, Python escapes it
        return '"' + "\x7f".join(_string(part)[1:-1] for part in text.split("\x7f")) + '"'
    return encode_basestring_ascii(text).replace("/", "\\/")


_known = lru_cache(maxsize=1024)(_string)  # there are few fields, functions and one-second crons


@lru_cache(maxsize=4096)
def _end(cron: str, job: str) -> str:
    """Return the rest of a plain payload. Functions and one-second crons are few, and each comes many times."""
    return f',"cron":{_string(cron)},"job":{_string(job)}}}'


def _text(value: Any, path: str) -> str:
    """Write a value as data.json does. `path` names its place in an error, as Python would index it."""
    kind = type(value)
    if kind is str:
        return _string(value)
    if value is None:
        return "null"
    if kind is bool:
        return "true" if value else "false"
    if kind is int:
        return integer_text(value, path)
    if kind is list or kind is tuple:
        try:
            return "[" + ",".join([_PLAIN[type(v)](v) for v in value]) + "]"
        except KeyError:  # a value that may be invalid; the error then names its place
            return "[" + ",".join([_text(v, f"{path}[{i}]") for i, v in enumerate(value)]) + "]"
    if kind is float:
        return _double(value, path)
    if kind is dict:
        return _map(value, path)
    return _text(plain_value(value, path), path)


def _boolean(value: bool) -> str:
    return "true" if value else "false"


_PLAIN: Mapping[type, Callable[[Any], str]] = {
    str: _string,
    int: int.__repr__,
    bool: _boolean,
    type(None): lambda _: "null",
}


def _map(value: dict[Any, Any], path: str) -> str:
    pairs = []
    for key, inner in value.items():
        if type(key) is not str:
            check_key(key, path)
        plain = _PLAIN.get(type(inner))
        pairs.append(f"{_string(key)}:{plain(inner) if plain else _text(inner, at_key(path, key))}")
    return "{" + ",".join(pairs) + "}"


def _refuse_surrogates(value: Any, path: str) -> None:
    if isinstance(value, str):
        if found := _LONE.search(value):
            raise InvalidArguments.about(
                path,
                f"has a lone surrogate, {found[0]!a}, at column {found.start() + 1}, which UTF-8 cannot carry",
                'Pass valid Unicode, for example text.encode("utf-8", "replace").decode().',
                given=value,
                position=found.start(),
            )
    elif isinstance(value, Mapping):
        for key, inner in value.items():
            _refuse_surrogates(key, f"a key of {path}")
            _refuse_surrogates(inner, at_key(path, key))
    elif isinstance(value, (list, tuple)):
        for number, inner in enumerate(value):
            _refuse_surrogates(inner, f"{path}[{number}]")


_LONE = re.compile("[\\ud800-\\udfff]")  # a str holds whole characters, so every surrogate in it is a lone one


def _double(value: float, path: str) -> str:
    """Write a double as Java 19 and later print it: shortest digits, plain between 1e-3 and 1e7, else ``1.0E-4``."""
    check_finite(value, path)
    if value == 0 or 1e-3 <= abs(value) < 1e7:
        return repr(value)
    digits, point = significant_digits(repr(value))
    if len(digits) == 1 and float(two := f"{abs(value):.1e}") == abs(value):
        # Java prints at least two digits, those nearest to the value: 4.9E-324, not 5.0E-324
        digits, point = significant_digits(two)
    sign = "-" if value < 0 else ""
    return f"{sign}{digits[0]}.{digits[1:].rstrip('0') or '0'}E{point - 1}"
