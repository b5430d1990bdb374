"""The job text: one job in every list and sorted set. It is written as Go writes it, read as Go reads it, and changed
without touching any other byte. Also the key that keeps a unique job from being enqueued twice, byte for byte as Go
makes it: a job that a Go producer enqueued and an equal one of ours have one key. Normative: spec/layouts/gocraft.md,
sections 2 and 3.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from json import JSONDecodeError, JSONDecoder
from json.decoder import scanstring  # type: ignore[attr-defined]
from typing import Any, Final, NoReturn

from workkit.brokers.gocraft.go_values import dumps, is_beyond_float, string
from workkit.brokers.gocraft.keys import Keys
from workkit.errors import CorruptRecord
from workkit.triggers.crons.field import shown_text

FIELDS: Final = ("name", "id", "t", "args", "unique", "unique_key", "fails", "err", "failed_at")
"""The fields of a job text, in the order in which Go writes them."""

_LEAST, _MOST = -(2**63), 2**63 - 1
_KINDS: Final[Mapping[str, tuple[type, str]]] = {
    **dict.fromkeys(("name", "id", "unique_key", "err"), (str, "a text")),
    **dict.fromkeys(("t", "fails", "failed_at"), (int, "an integer of 64 bits, written without point or exponent")),
    "args": (dict, "an object or null"),
    "unique": (bool, "true or false"),
}


@dataclass(slots=True, kw_only=True)  # never changed; a frozen one takes thrice as long to make
class JobText:
    """One job, with the fields of its text. Times are epoch seconds; "", 0 and False mean that the text leaves a field
    out.

    `unknown` holds the fields that Go does not know: name and JSON text of the value, in the order of the text.
    """

    name: str = ""
    id: str = ""
    t: int = 0
    args: Mapping[str, Any] | None = None
    unique: bool = False
    unique_key: str = ""
    fails: int = 0
    err: str = ""
    failed_at: int = 0
    unknown: tuple[tuple[str, str], ...] = ()


def write(job: JobText) -> bytes:
    """Write the bytes of a job as Go does; unknown fields come last. Raises InvalidArguments (see `go_json.dumps`)."""
    name = f'"name":{string(job.name)},' if job.name else ""
    args = "null" if job.args is None else dumps(dict(job.args))
    text = f'{{{name}"id":{string(job.id)},"t":{job.t},"args":{args}'
    if job.unique:
        text += ',"unique":true'
    if job.unique_key:
        text += f',"unique_key":{string(job.unique_key)}'
    if job.fails:
        text += f',"fails":{job.fails}'
    if job.err:
        text += f',"err":{string(job.err)}'
    if job.failed_at:
        text += f',"failed_at":{job.failed_at}'
    for unknown, value in job.unknown:
        text += f",{string(unknown)}:{value}"
    return _bytes(f"{text}}}")


def read(data: bytes) -> JobText:
    """Read a job text as a Go pool does, whichever program wrote it. Integers in the arguments keep all their digits.

    Names of fields match in any letter case. If several fields have one name, the last counts; objects of several
    `args` are merged. `null` leaves a field as it was, and as a whole text it is the empty job. Raises CorruptRecord
    with the reason and its place for a text that Go refuses.
    """
    return _read_fresh(data) or _Document(data).job()


def rewrite(
    data: bytes,
    *,
    t: int | None = None,
    fails: int | None = None,
    err: str | None = None,
    failed_at: int | None = None,
) -> bytes:
    """Change these fields of a job text, and keep every other byte of it. None leaves a field as it is.

    0 and "" remove a field, as Go leaves them out; `t` is always written. A new field comes behind the last field that
    Go writes before it. So a text that Go wrote becomes the text that Go would write. Raises CorruptRecord.
    """
    document = _Document(data)
    document.job()
    values = {"t": t, "fails": fails, "err": err, "failed_at": failed_at}
    for name, value in values.items():
        if value is not None:
            document.change(name, value)
    return document.data()


@dataclass(slots=True)
class _Member:
    """One field of the text. `name`: as Go knows it, or else as written. `lead`: the characters between it and the one
    before.
    """

    name: str
    lead: str
    key: str  # its name as written, up to where its value begins
    value: str
    at: int = 0  # the place in the text where the value begins
    parsed: Any = field(default=None, compare=False)


_TOO_DEEP: Final = "is nested too deeply"
_BLANK: Final = re.compile(r"[ \t\n\r]*")
_SURROGATE: Final = re.compile("[\ud800-\udfff]")
_ESCAPED_SURROGATE: Final = re.compile(r"\\u[dD][89a-fA-F]")
# A number that may be too great for a float, or minus zero, which is no integer of Python.
_PERHAPS_UNUSUAL: Final = re.compile(r"[eE]\+?0*[0-9]{2}|[0-9]{200}|-0[,\]} \t\n\r]")


def _refuse_constant(name: str) -> NoReturn:
    raise ValueError(f"{name} is not JSON")


_Scan = Callable[[str, int], tuple[Any, int]]
_scan: _Scan = JSONDecoder(parse_constant=_refuse_constant).scan_once  # type: ignore[attr-defined]
_pass: _Scan = JSONDecoder(  # type: ignore[attr-defined]  # Go does not convert what it does not know
    parse_constant=_refuse_constant, parse_int=str, parse_float=str
).scan_once
_scan_signed: _Scan = JSONDecoder(  # type: ignore[attr-defined]
    parse_int=lambda digits: -0.0 if digits == "-0" else int(digits)
).scan_once


_FRESH: Final = re.compile(
    r'\{"name":"([^"\\\x00-\x1f]+)","id":"([^"\\\x00-\x1f]*)","t":(0|[1-9][0-9]{0,17}),"args":(?=[{n])'
)


def _read_fresh(data: bytes) -> JobText | None:
    """Read a text of the form that a job has before its first failure, in half the time. None for any other text."""
    try:
        text = data.decode("utf-8")
        found = _FRESH.match(text)
        if found is None:
            return None
        args, end = _scan(text, found.end())
    except (ValueError, StopIteration, RecursionError):
        return None
    if (
        end != len(text) - 1
        or text[end] != "}"
        or ("\\" in text and _ESCAPED_SURROGATE.search(text))
        or _PERHAPS_UNUSUAL.search(text, found.end())
    ):
        return None
    return JobText(name=found[1], id=found[2], t=int(found[3]), args=args)


class _Document:
    """A job text in its parts, which together are its bytes."""

    def __init__(self, data: bytes) -> None:
        self._given = data
        try:
            text, broken = data.decode("utf-8"), False
        except UnicodeDecodeError:
            text, broken = data.decode("utf-8", "surrogateescape"), True
        self._broken = broken or _ESCAPED_SURROGATE.search(text) is not None
        self._text = text
        self._members: list[_Member] = []
        self._is_null = False
        self._open, self._close = "{", "}"  # with the blanks around them
        try:
            end = self._read()
        except StopIteration as error:
            raise self._corrupt("is not JSON: a value is missing or broken", error.value) from None
        except JSONDecodeError as error:
            raise self._corrupt(f"is not JSON: {error.msg}", error.pos) from None
        except ValueError as error:
            raise self._corrupt(f"is not JSON: {error}", None) from None
        except RecursionError:
            raise self._corrupt(_TOO_DEEP, None) from None
        if end is not None and self._past_blanks(end) != len(text):
            raise self._corrupt("is not JSON: something follows its end", end)

    def _read(self) -> int | None:
        """Divide the text into members. None if it is `null`, which Go reads as an object without fields."""
        text, at = self._text, self._past_blanks(0)
        if text[at : at + 1] != "{":
            value, end = _pass(text, at)
            if value is not None:
                raise self._corrupt(f"is {shown_text(text[at:end])}, not an object", at)
            self._is_null = True
            return end
        at = self._past_blanks(at + 1)
        self._open, lead_from, end = text[:at], at, at
        while text[at : at + 1] != "}" or self._members:
            if text[at : at + 1] != '"':
                raise JSONDecodeError("a field's name in quotes is missing", text, at)
            end = self._member(text[lead_from:at], at)
            at = self._past_blanks(end)
            if text[at : at + 1] == "}":
                break
            if text[at : at + 1] != ",":
                raise JSONDecodeError('"," or "}" is missing', text, at)
            lead_from, at = end, self._past_blanks(at + 1)
        self._close = text[end:]
        return at + 1

    def _member(self, lead: str, start: int) -> int:
        text = self._text
        written, end = scanstring(text, start + 1, True)
        colon = self._past_blanks(end)
        if text[colon : colon + 1] != ":":
            raise JSONDecodeError('":" is missing', text, colon)
        at = self._past_blanks(colon + 1)
        known = written if written in _KINDS else written.casefold()
        scan = _scan if known in _KINDS else _pass
        parsed, end = scan(text, at)
        name = known if known in _KINDS else _clean(written)
        self._members.append(_Member(name, lead, text[start:at], text[at:end], at, parsed))
        return end

    def _past_blanks(self, at: int) -> int:
        found = _BLANK.match(self._text, at)
        return found.end() if found else at

    def job(self) -> JobText:
        try:
            return self._job()
        except RecursionError:
            raise self._corrupt(_TOO_DEEP, None) from None

    def _job(self) -> JobText:
        values: dict[str, Any] = {}
        unknown = []
        for member in self._members:
            if member.name not in _KINDS:
                unknown.append((member.name, member.value))
            elif member.name == "args":
                values["args"] = self._args(member, values.get("args"))
            elif member.parsed is not None:
                values[member.name] = self._checked(member)
        return JobText(**values, unknown=tuple(unknown))

    def _checked(self, member: _Member) -> Any:
        kind, wanted = _KINDS[member.name]
        value = member.parsed
        if type(value) is not kind or (type(value) is int and not _LEAST <= value <= _MOST):
            raise self._corrupt(
                f"cannot be read by Go: {member.name} is {shown_text(member.value)}, not {wanted}", member.at
            )
        return _clean(value) if self._broken else value

    def _args(self, member: _Member, before: dict[str, Any] | None) -> dict[str, Any] | None:
        if member.parsed is None:
            return None
        found: dict[str, Any] = self._checked(member)
        if _PERHAPS_UNUSUAL.search(member.value):
            member.parsed, _ = _scan_signed(member.value, 0)
            found = self._checked(member)
            for place, value in _numbers(found, "args"):
                if is_beyond_float(value):
                    raise self._corrupt(f"cannot be read by Go: {place} is a number beyond 1.8e308", member.at)
        return {**before, **found} if before else found

    def change(self, name: str, value: int | str) -> None:
        if self._is_null:
            self._members, self._is_null = _Document(write(JobText()))._members, False
        members = self._members
        places = [place for place, member in enumerate(members) if member.name == name]
        if not value and name != "t":
            self._members = [member for member in members if member.name != name]
            return
        text = string(value) if isinstance(value, str) else str(value)
        if places:
            members[places[-1]].value = text
            return
        before = FIELDS[: FIELDS.index(name)]
        place = 1 + max((place for place, member in enumerate(members) if member.name in before), default=-1)
        members.insert(place, _Member(name, "", f'"{name}":', text))

    def data(self) -> bytes:
        if self._is_null:
            return self._given
        parts = [self._open]
        for place, member in enumerate(self._members):
            parts += [(member.lead or ",") if place else "", member.key, member.value]
        return _bytes("".join([*parts, self._close]))

    def _corrupt(self, trouble: str, at: int | None) -> CorruptRecord:
        position = None if at is None else len(_bytes(self._text[:at]))
        behind = "" if position is None else f" (at byte {position:,})"
        return CorruptRecord(
            f"job text {trouble}{behind}", given=self._given, position=position, where="job text", trouble=trouble
        )


def _bytes(text: str) -> bytes:
    return text.encode("utf-8", "surrogateescape")


def _clean(value: Any) -> Any:
    """Replace each byte that is not UTF-8 and each lone surrogate by U+FFFD, as Go reads them."""
    if type(value) is str:
        return _SURROGATE.sub("\ufffd", value)
    if type(value) is list:
        return [_clean(inner) for inner in value]
    if type(value) is dict:
        return {_clean(key): _clean(inner) for key, inner in value.items()}
    return value


def _numbers(value: Any, place: str) -> Iterator[tuple[str, float]]:
    if type(value) is dict:
        for key, inner in value.items():
            yield from _numbers(inner, f'{place}["{key}"]')
    elif type(value) is list:
        for number, inner in enumerate(value):
            yield from _numbers(inner, f"{place}[{number}]")
    elif type(value) is int or type(value) is float:
        yield place, value


BY_CONTENT: Final = b"1"
"""The value of a key that is made from the arguments. A key made from a key map holds the text of the job that will
run.
"""

LIFE_SECONDS: Final = 86_400
"""Seconds that a key lives; every duplicate renews it."""


def unique_key(keys: Keys, name: str, args: Mapping[str, Any] | None, *, by: Mapping[str, Any] | None = None) -> str:
    """Make the unique key of a job from its arguments, or from the key map `by` if it is not None.

    Both share one key space: a key map equal to the arguments of another job makes the same key. Raises
    InvalidArguments for values that JSON cannot carry, with the place in ``args`` or ``unique_key``.
    """
    chosen, place = (args, "args") if by is None else (by, "unique_key")
    return keys.unique(name, "" if chosen is None else f"{dumps(dict(chosen), place)}\n")


def unique_key_of(keys: Keys, job: JobText) -> str | None:
    """Find the unique key of a job that was read: the key that its text names, or else the key of its arguments; None
    for a job that is not unique.
    """
    if not job.unique:
        return None
    return job.unique_key or unique_key(keys, job.name, job.args)
