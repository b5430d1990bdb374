"""What stands in the two published keys, judged against spec/job.md and spec/cron.md: what breaks the published layout,
what has lost its other half, and what is legal but would be lost or run otherwise by a Clojure peer.

Pure: bytes in, sentences out. Knows no server, and nothing of how what it names is mended.
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, Literal, get_args

from workkit import wire
from workkit.errors import CorruptRecord, InvalidArguments, TriggerError
from workkit.jobs.arguments import inexact
from workkit.jobs.names import read_name
from workkit.jobs.run_options import stored_run_options
from workkit.jobs.symbols import refused
from workkit.jobs.terms import stored_terms
from workkit.triggers import explain
from workkit.triggers.crons.cron import parse_cron
from workkit.triggers.crons.remark import both_days
from workkit.triggers.stored import from_fields
from workkit.triggers.trigger import Trigger

Severity = Literal["deviation", "orphan", "hazard"]
SEVERITIES: tuple[Severity, ...] = get_args(Severity)
FIELDS = 7  # of a cron string, so that it could be one of the other dialect
LAST_MS = 253_402_300_799_999  # the last millisecond of the year 9999
LEAST_EXPONENT = 1e17  # from here on Redis answers scores with an exponent
MOST_IN_ORDER = 8  # fields of a map whose order Clojure keeps
PATIENCE_MS = 86_400_000  # a foreign peer may be running a job whose time is over


@dataclass(frozen=True, slots=True, kw_only=True)
class Pair:
    """A job and a queue item as they stand.

    `payload` None: the item points to no job; `id` is empty where it points nowhere. `item` None: no item; then
    `is_loose` says that no listener of ours has the job either, nor does it wait for another attempt. `is_second`:
    another item of the same job stands, under the text that we write.
    """

    id: bytes
    payload: bytes | None
    item: bytes | None = None
    score: float = 0.0
    is_loose: bool = False
    is_second: bool = False

    @property
    def is_hashed(self) -> bool:
        """Whether the id is the SHA-1 of the payload, as published."""
        return self.payload is not None and self.id == wire.job_id(self.payload).encode()


@dataclass(frozen=True, slots=True)
class Flaw:
    """One thing that is wrong with a pair. `kind` is its stable name for programs, and the key of `RULES`; `what` a
    sentence about this pair; `mends` whether a repair of the schedule would mend it.
    """

    kind: str
    what: str
    mends: bool = False

    @property
    def severity(self) -> Severity:
        """How bad it is."""
        return RULES[self.kind][0]

    @property
    def why(self) -> str:
        """Why it matters, whichever pair it is."""
        return RULES[self.kind][1]


RULES: Mapping[str, tuple[Severity, str]] = {
    "unreadable": (
        "deviation",
        "It can never run: a Python listener moves it to the dead set, a Clojure peer loses it.",
    ),
    "cron": ("deviation", "No listener of this dialect can tell when it runs."),
    "other-order": (
        "deviation",
        "Listeners of this dialect leave it alone. Is it the schedule's dialect that is wrong?",
    ),
    "job": ("deviation", "A Clojure peer fails when it reads the job, after taking the item: the run is lost."),
    "id": ("deviation", "It runs all the same, but adding the same job again makes a second one."),
    "item": ("deviation", "No listener can tell which job it means; a Clojure peer takes it out and loses it."),
    "item-text": ("deviation", "A Clojure peer that puts it back writes another text, or spoils it."),
    "score": (
        "deviation",
        "A due time is a whole number. A Clojure peer takes the item out, fails, and the run is lost.",
    ),
    "no-item": ("orphan", "Nothing points to the job, so it never runs; adding it again changes nothing."),
    "no-job": ("orphan", "Nothing can be run for it."),
    "score-range": ("hazard", "It is due at once, or never; with 18 digits a Clojure peer fails and loses the run."),
    "rewritten": ("hazard", "A Clojure peer that takes it too early puts this other text back."),
    "second-item": ("hazard", "Each of its items makes it run."),
    "in-doubt": ("hazard", "A foreign peer may be running it: what that has in hand, nobody can see."),
    "python-name": ("hazard", "Clojure cannot resolve it, and a Clojure peer that takes the item loses the run."),
    "unqualified": ("hazard", "Clojure looks it up in whatever namespace its listener is in, Python not at all."),
    "quoted": (
        "hazard",
        "Clojure takes it for a symbol and calls nothing, without an error; Python runs the function.",
    ),
    "either-order": ("hazard", "A peer of the other dialect runs it at the other times."),
    "extension": ("hazard", "The published grammar has only numbers * / - and commas; a peer may refuse the rest."),
    "never": ("hazard", "It never fires again once its present item is gone."),
    "endless": ("hazard", "The Clojure code searches for its next run without end."),
    "lenient": ("hazard", "The Clojure code does something else than it seems to say."),
    "integer": ("hazard", "JavaScript rounds it, and beyond 64 bits Clojure makes a BigInt of it."),
    "number": ("hazard", "Languages read it as infinity, or not at all."),
    "spelling": (
        "hazard",
        "The same job, added by the Clojure code, has other bytes and another id: it is there twice.",
    ),
    "own-fields": ("hazard", "Only listeners that know these fields honour them."),
}


def judge(pair: Pair, *, dialect: str, now_ms: int) -> Iterator[Flaw]:
    """Name what is wrong with a pair on a schedule of this dialect, worst first within job and item."""
    if pair.payload is not None and not pair.is_second:
        yield from _payload(pair, dialect)
    if pair.item is not None:
        yield from _item(pair.item, pair.score)
        if pair.payload is None and pair.id:
            yield Flaw("no-job", "its item points to no job", True)
        if pair.is_second:
            yield Flaw("second-item", f"a second item of the same job: {_shown(pair.item)}")
    elif pair.is_loose:
        yield _no_item(pair.payload or b"", dialect, now_ms)


def _no_item(payload: bytes, dialect: str, now_ms: int) -> Flaw:
    """A job without an item; where its last time is just over, a foreign peer may be running it, and a repair waits."""
    try:
        read = wire.read_payload(payload)
        trigger = from_fields({**read.extra, "cron": read.cron}, dialect=dialect)
    except (CorruptRecord, TriggerError):
        return Flaw("no-item", "no item points to it, and it cannot be read", wire.job_of(payload) is None)
    waits = trigger.next_after_ms(now_ms) is None and trigger.next_after_ms(now_ms - PATIENCE_MS) is not None
    if waits:
        return Flaw("in-doubt", "no item points to it, and its last time is less than a day ago")
    return Flaw("no-item", "no item points to it, no listener has it", True)


# Jobs.


def _payload(pair: Pair, dialect: str) -> Iterator[Flaw]:
    data = pair.payload or b""
    mends = wire.job_of(data) is None  # else it may be for a foreign peer: no repair buries it
    try:
        read = wire.read_payload(data)
    except CorruptRecord as error:
        yield Flaw("unreadable", str(error), mends)
        return
    if not pair.is_hashed:
        nameless = "\ufffd" in pair.id.decode("utf-8", "replace")  # no item can point to it
        yield Flaw("id", f"its id is not the SHA-1 of its payload, which is {wire.job_id(data)}", nameless)
    broken = _broken_fields(read)
    if broken:
        yield Flaw("unreadable", broken, mends)
    for flaw in judge_cron(read.cron, dialect):  # beside `local`, ours do not read it
        yield Flaw(flaw.kind, flaw.what, flaw.mends and mends and "local" not in read.extra)
    yield from judge_job(read.job)
    own = [meant for field, meant in _OWN.items() if field in read.extra]
    if own and not broken:
        yield Flaw("own-fields", f"a Clojure peer passes over {', '.join(own)}")
    for place in inexact(list(read.args), "args"):
        yield Flaw("integer", f"{place} is an integer beyond 2^53")
    yield from _spelling(data, read)


def _broken_fields(read: wire.Payload) -> str | None:
    """Why the fields of our own cannot be read, though the published ones can."""
    try:
        if _OF_TIME & read.extra.keys():
            from_fields({**read.extra, "cron": "* * * * * * *"})
        if not isinstance(kwargs := read.extra.get("kwargs", {}), dict | None):
            return f"payload: kwargs is {_shown(json.dumps(kwargs).encode())}, not an object"
        if "opts" in read.extra:
            stored_run_options(read.extra["opts"])
            stored_terms(read.extra["opts"])
    except (CorruptRecord, TriggerError) as error:
        return str(error)
    return None


_OF_TIME = {"local", "zone", "from", "until"}
_OWN = {
    "kwargs": "kwargs (and calls without them)",
    "local": "local and zone (and runs at the times in cron, which only come near)",
    "from": "from (and runs before it too)",
    "until": "until (and runs after it too)",
    "opts": "opts (no retries, no timeout)",
    "nonce": "nonce (and adds the same job without it)",
}


@lru_cache(maxsize=4096)
def judge_cron(cron: str, dialect: str) -> tuple[Flaw, ...]:
    """Name what is wrong with a cron text on a schedule of this dialect, `published` or `cuckoo`."""
    other = "cuckoo" if dialect == "published" else "published"
    try:
        trigger = from_fields({"cron": cron}, dialect=dialect)
    except TriggerError as error:
        if _in_order_of(other, cron):
            return (Flaw("other-order", f'cron "{cron}" has its fields in the order of the dialect {other}'),)
        return (Flaw("cron", str(error), True),)
    return tuple(_remarks(cron, dialect, trigger, _in_order_of(other, cron)))


def _in_order_of(dialect: str, cron: str) -> Trigger | None:
    """What a cron text means in a dialect; None where it cannot be read so, as mostly its year tells at a glance."""
    parts = cron.split()
    if len(parts) != FIELDS or re.fullmatch("[0-9]{4}", parts[0 if dialect == "cuckoo" else -1]):
        return None
    try:
        return from_fields({"cron": cron}, dialect=dialect)
    except TriggerError:
        return None


def _remarks(cron: str, dialect: str, trigger: Trigger, elsewhere: Trigger | None) -> Iterator[Flaw]:
    if trigger.next_after_ms(-1000) is None:
        yield Flaw(
            "never" if dialect == "published" else "endless", f'cron "{cron}" never fires: {trigger.why_never()}'
        )
        return
    if elsewhere is not None and _rule(elsewhere) != _rule(trigger):
        orders = f"here {explain(trigger)}, there {_explained(elsewhere)}"
        yield Flaw("either-order", f'cron "{cron}" can be read in the other order too: {orders}')
    if dialect == "published" and (odd := re.search(r"[^0-9*/, \t-]+", cron)):
        yield Flaw("extension", f'cron "{cron}" has "{odd[0]}", which is an extension')
    for warning in trigger.warnings:
        if warning not in both_days(parse_cron(trigger.rules[0], stored=True, rule=True), given=cron):
            yield Flaw("lenient", warning.rstrip("."))


def _rule(trigger: Trigger) -> str:
    return re.sub(r"^1970-2099\b", "*", trigger.rules[0])


def _explained(trigger: Trigger) -> str:
    return explain(trigger) if trigger.next_after_ms(-1000) is not None else "never"


# What runs.

_SYMBOL = r"[^\s/()\[\]{}\"';:`,~@^#\\\d][^\s/()\[\]{}\";`,~@^\\]*"
_UNQUALIFIED = re.compile(
    rf"(?:#'{_SYMBOL}|\(\s*var\s+{_SYMBOL}\s*\)|{_SYMBOL}|\((?:clojure\.core/)?resolve\s+'{_SYMBOL}\s*\))"
)
_PARTS = re.compile(r'"(?:\\.|[^"\\])*"|\\(?:\w+|.)|;[^\n]*|[()\[\]{}"]|(?:[^\s,()\[\]{}";\\]|(?<=\S)\\)+', re.DOTALL)
_PREFIXES = re.compile(r"[#'`~@^]+")
_CLOSED_BY = {"(": ")", "[": "]", "{": "}"}


@lru_cache(maxsize=4096)
def judge_job(job: str) -> tuple[Flaw, ...]:
    """Name what is wrong with the text of `job`: whether Clojure reads it, and what it then means."""
    if trouble := _unread(job):
        return (Flaw("job", f"job {_shown(job.encode('utf-8', 'replace'))} {trouble}"),)
    text = job.strip()
    name = read_name(text)
    if name is not None and text[0] not in "#'(":
        return (Flaw("python-name", f"job {text} is a Python name as it is typed, not as it is stored"),)
    if name is not None and (trouble := refused(f"{name.space}/{name.path}")):
        return (Flaw("job", f"job {text} is no name to Clojure: {trouble}"),)
    if name is not None and re.match(r"'|\(\s*quote\b", text):
        return (Flaw("quoted", f"job {text} is quoted"),)
    if name is None and _UNQUALIFIED.fullmatch(text):
        return (Flaw("unqualified", f"job {text} names no namespace"),)
    return ()


def _unread(job: str) -> str | None:
    """Why Clojure's reader finds no complete form at the beginning of a text, as the end of a sentence."""
    awaited: list[str] = []
    for part in _PARTS.finditer(job):
        token = part[0]
        if token in _CLOSED_BY:
            awaited.append(_CLOSED_BY[token])
            continue
        if token == '"':
            return 'has a " that nothing closes'
        if token in _CLOSED_BY.values():
            if not awaited or token != awaited.pop():
                return f"has a {token} that closes nothing"
        elif token[0] == ";" or _PREFIXES.fullmatch(token):
            continue
        if not awaited:
            return None
    return f"lacks a {awaited[-1]} at its end" if awaited else "is empty"


# Bytes.

_TOKENS = re.compile(rb'"(?:\\.|[^"\\])*"|\s+|[^\s",:\[\]{}]+|[,:\[\]{}]', re.DOTALL)


def _spelling(data: bytes, read: wire.Payload) -> Iterator[Flaw]:
    """Whether the Clojure code would have written other bytes, which have another id."""
    try:
        clojure = wire.payload(cron=read.cron, job=read.job, args=read.args, extra=read.extra)
    except (InvalidArguments, RecursionError):
        yield Flaw("number", "a number in it is too large for a double")
        return
    if clojure != data:
        yield Flaw("spelling", _difference(data, clojure))


def _difference(data: bytes, clojure: bytes) -> str:
    keys = list(json.loads(data))
    if keys != sorted(keys):
        return f"its keys stand in the order {', '.join(keys)}; Clojure sorts them"
    tokens = _TOKENS.findall(data)
    if any(token.isspace() for token in tokens):
        return "it has blanks between its parts; Clojure writes none"
    if b'"args":[' not in data:
        return 'it has no list of args; Clojure writes "args":[]'
    apart = (pair for pair in zip(tokens, _TOKENS.findall(clojure), strict=False) if len(set(pair)) > 1)
    ours, theirs = next(apart, (data, clojure))
    return f"it has {_shown(ours)} where Clojure writes {_shown(theirs)}"


def put_back(member: bytes) -> bytes | None:
    """The text under which the Clojure code puts an item back that it took too early: blanks go, ``/`` is escaped, a
    field called ``date`` goes, names lose what stands before their slash. None where it fails instead, or where the
    order of more than eight fields is its own.
    """
    try:
        fields, _ = json.JSONDecoder().raw_decode(member.decode("utf-8", "replace").lstrip())
        if fields is None:
            return b"{}"
        if not isinstance(fields, dict):
            return None
        kept = {key: value for key, value in _keywords(fields).items() if key != "date"}
        return None if len(kept) > MOST_IN_ORDER else _clojure_json(kept)
    except (ValueError, RecursionError):
        return None


def _keywords(value: Any) -> Any:
    """What is left of JSON whose keys were read as keywords."""
    if isinstance(value, dict):
        return {key.partition("/")[2] or key: _keywords(inner) for key, inner in value.items()}
    return [_keywords(inner) for inner in value] if isinstance(value, list) else value


def _clojure_json(value: Any) -> bytes:
    return wire.payload(cron="", job="", args=[value]).removeprefix(b'{"args":[').removesuffix(b'],"cron":"","job":""}')


# Items.


def _item(member: bytes, score: float) -> Iterator[Flaw]:
    try:
        wire.read_item(member)
    except CorruptRecord as error:
        yield Flaw("item", f"{_shown(member)} cannot be read: {error}", True)
    else:
        yield from _item_text(member)
    if not math.isfinite(score) or score != int(score):
        yield Flaw("score", f"its due time is {score!r}", True)
    elif not 0 <= score <= LAST_MS:
        when = "before 1970" if score < 0 else "after the year 9999"
        yield Flaw("score-range", f"its due time is {score:.0f}, which is {when}", True)


def _item_text(member: bytes) -> Iterator[Flaw]:
    try:
        text = member.decode("utf-8").strip()
    except UnicodeDecodeError:
        yield Flaw("item-text", f"its item {_shown(member)} is not UTF-8")
        return
    _, end = json.JSONDecoder().raw_decode(text)
    if end < len(text):
        yield Flaw("item-text", f"its item {_shown(member)} goes on after the object")
        return
    again = put_back(member)
    if again is None:
        yield Flaw("rewritten", f"its item has more than {MOST_IN_ORDER} fields, whose order Clojure does not keep")
    elif again != member:
        yield Flaw("rewritten", f"its item {_shown(member)} becomes {_shown(again)}")


def _shown(data: bytes) -> str:
    text = data[:120].decode("utf-8", "backslashreplace")
    return text if len(data) <= 120 else text + "..."
