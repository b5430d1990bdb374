"""The faults of jobs and items that concern only Clojure peers, because the Clojure code treats them differently.

Pure: bytes in, faults out. The source is recorded in spec/vectors/clojure.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from functools import lru_cache
from typing import Any

from workkit import wire
from workkit.contract.doctor import Fault, Kind
from workkit.errors import InvalidArguments
from workkit.jobs.arguments import inexact
from workkit.jobs.names import name_refused, read_name
from workkit.triggers import explain
from workkit.triggers.crons.cron import both_days, parse_cron
from workkit.triggers.trigger import Trigger

MOST_IN_ORDER = 8  # Clojure keeps the order of a map of up to this many fields

JOB = Kind(
    "job", "deviation", "Clojure cannot read the text of `job`.",
    "A Clojure peer fails when it reads the job, after taking the item: the run is lost.", of_wire=True,
)  # fmt: skip
PYTHON_NAME = Kind(
    "python-name", "hazard", "`job` is a Python name as people type it.",
    "Clojure cannot resolve it, and a Clojure peer that takes the item loses the run.", of_wire=True,
)  # fmt: skip
UNQUALIFIED = Kind(
    "unqualified", "hazard", "`job` names no namespace.",
    "Clojure looks it up in the namespace of its listener. Python does not look it up.", of_wire=True,
)  # fmt: skip
QUOTED = Kind(
    "quoted", "hazard", "`job` is quoted.",
    "Clojure reads it as a symbol and calls nothing, without an error. Python runs the function.", of_wire=True,
)  # fmt: skip
EITHER_ORDER = Kind(
    "either-order", "hazard", "`cron` can be read in the order of the other dialect too.",
    "A peer of the other dialect runs it at other times.", of_wire=True,
)  # fmt: skip
EXTENSION = Kind(
    "extension", "hazard", "`cron` has characters that the published grammar does not have.",
    "The published grammar has only numbers * / - and commas. A peer may refuse others.", of_wire=True,
)  # fmt: skip
NEVER = Kind(
    "never", "hazard", "`cron` names no time.", "It never fires again once its present item is gone.", of_wire=True,
)  # fmt: skip
ENDLESS_CRON = Kind(
    "endless", "hazard", "`cron` names no time, in the dialect cuckoo.",
    "The Clojure code searches for its next run without end.", of_wire=True,
)  # fmt: skip
LENIENT = Kind(
    "lenient", "hazard", "`cron` seems to say something else.",
    "The Clojure code does not do what the text seems to say.", of_wire=True,
)  # fmt: skip
INTEGER = Kind(
    "integer", "hazard", "An argument is an integer beyond 2^53.",
    "JavaScript rounds it. Beyond 64 bits Clojure reads it as a BigInt.", of_wire=True,
)  # fmt: skip
NUMBER = Kind(
    "number", "hazard", "An argument is too large for a double.",
    "Languages read it as infinity, or not at all.", of_wire=True,
)  # fmt: skip
SPELLING = Kind(
    "spelling", "hazard", "The payload has other bytes than the Clojure code writes for the same job.",
    "The same job, added by the Clojure code, has other bytes and another id: then the schedule has it twice.",
    of_wire=True,
)  # fmt: skip
OWN_FIELDS = Kind(
    "own-fields", "hazard", "The payload has fields of workkit.",
    "Only listeners that know these fields honour them.", of_wire=True,
)  # fmt: skip
ITEM_TEXT = Kind(
    "item-text", "deviation", "An item has an id, and more than one JSON object.",
    "A Clojure peer that puts it back writes another text, or damages it.", of_wire=True,
)  # fmt: skip
REWRITTEN = Kind(
    "rewritten", "hazard", "An item has another text than Clojure writes.",
    "A Clojure peer that takes it too early puts this other text back.", of_wire=True,
)  # fmt: skip


def payload_faults(data: bytes, read: wire.Payload, *, is_broken: bool) -> Iterator[Fault]:
    """Name each difference in how a Clojure peer treats a payload. `is_broken`: the fields of our own
    cannot be read.
    """
    yield from judge_job(read.job)
    own = [meant for field, meant in _OWN.items() if field in read.extra]
    if own and not is_broken:
        yield Fault(OWN_FIELDS, f"a Clojure peer ignores {', '.join(own)}")
    for place in inexact(list(read.args), "args"):
        yield Fault(INTEGER, f"{place} is an integer beyond 2^53")
    yield from _spelling(data, read)


_OWN = {
    "kwargs": "kwargs (and calls without them)",
    "local": "local and zone (and runs at the times in cron, which are only approximate)",
    "from": "from (and runs before it too)",
    "until": "until (and runs after it too)",
    "interval": "interval (and runs at the times in cron, no more often)",
    "opts": "opts (no retries, no timeout)",
    "nonce": "nonce (and adds the same job without it)",
}


def cron_faults(cron: str, dialect: str, trigger: Trigger, elsewhere: Trigger | None) -> Iterator[Fault]:
    """Name each difference in how a peer reads a cron text: `trigger` in our order, `elsewhere` in the other order."""
    if trigger.next_after_ms(-1000) is None:
        kind = NEVER if dialect == "published" else ENDLESS_CRON
        yield Fault(kind, f'cron "{cron}" never fires: {trigger.why_never()}')
        return
    if elsewhere is not None and _rule(elsewhere) != _rule(trigger):
        orders = f"here {explain(trigger)}, there {_explained(elsewhere)}"
        yield Fault(EITHER_ORDER, f'cron "{cron}" can be read in the other order too: {orders}')
    if dialect == "published" and (odd := re.search(r"[^0-9*/, \t-]+", cron)):
        yield Fault(EXTENSION, f'cron "{cron}" has "{odd[0]}", which is an extension')
    for warning in trigger.warnings:
        if warning not in both_days(parse_cron(trigger.rules[0], stored=True, rule=True), given=cron):
            yield Fault(LENIENT, warning.rstrip("."))


def _rule(trigger: Trigger) -> str:
    return re.sub(r"^1970-2099\b", "*", trigger.rules[0])


def _explained(trigger: Trigger) -> str:
    return explain(trigger) if trigger.next_after_ms(-1000) is not None else "never"


# Jobs: the function and its arguments.

_SYMBOL = r"[^\s/()\[\]{}\"';:`,~@^#\\\d][^\s/()\[\]{}\";`,~@^\\]*"
_UNQUALIFIED = re.compile(
    rf"(?:#'{_SYMBOL}|\(\s*var\s+{_SYMBOL}\s*\)|{_SYMBOL}|\((?:clojure\.core/)?resolve\s+'{_SYMBOL}\s*\))"
)
_PARTS = re.compile(r'"(?:\\.|[^"\\])*"|\\(?:\w+|.)|;[^\n]*|[()\[\]{}"]|(?:[^\s,()\[\]{}";\\]|(?<=\S)\\)+', re.DOTALL)
_PREFIXES = re.compile(r"[#'`~@^]+")
_CLOSED_BY = {"(": ")", "[": "]", "{": "}"}


@lru_cache(maxsize=4096)
def judge_job(job: str) -> tuple[Fault, ...]:
    """Find the fault of a `job` text that Clojure cannot read, or reads as another form."""
    if trouble := _unread(job):
        return (Fault(JOB, f"job {quoted_item(job.encode('utf-8', 'replace'))} {trouble}"),)
    text = job.strip()
    name = read_name(text)
    if name is not None and text[0] not in "#'(":
        return (Fault(PYTHON_NAME, f"job {text} is a Python name as people type it, not as payloads store it"),)
    if name is not None and (trouble := name_refused(f"{name.space}/{name.path}")):
        return (Fault(JOB, f"job {text} is no Clojure name: {trouble}"),)
    if name is not None and re.match(r"'|\(\s*quote\b", text):
        return (Fault(QUOTED, f"job {text} is quoted"),)
    if name is None and _UNQUALIFIED.fullmatch(text):
        return (Fault(UNQUALIFIED, f"job {text} names no namespace"),)
    return ()


def _unread(job: str) -> str | None:
    """Explain, as the end of a sentence, why Clojure's reader finds no complete form at the beginning of a text."""
    awaited: list[str] = []
    for part in _PARTS.finditer(job):
        token = part[0]
        if token in _CLOSED_BY:
            awaited.append(_CLOSED_BY[token])
            continue
        if token == '"':
            return 'has a " that is never closed'
        if token in _CLOSED_BY.values():
            if not awaited or token != awaited.pop():
                return f"has a {token} that no bracket opens"
        elif token[0] == ";" or _PREFIXES.fullmatch(token):
            continue
        if not awaited:
            return None
    return f"lacks a {awaited[-1]} at its end" if awaited else "is empty"


# Bytes.

_TOKENS = re.compile(rb'"(?:\\.|[^"\\])*"|\s+|[^\s",:\[\]{}]+|[,:\[\]{}]', re.DOTALL)


def _spelling(data: bytes, read: wire.Payload) -> Iterator[Fault]:
    """Name a difference from the bytes that the Clojure code writes for the same job: other bytes have another id."""
    try:
        clojure = wire.payload(cron=read.cron, job=read.job, args=read.args, extra=read.extra)
    except (InvalidArguments, RecursionError):
        yield Fault(NUMBER, "a number in it is too large for a double")
        return
    if clojure != data:
        yield Fault(SPELLING, _difference(data, clojure))


def _difference(data: bytes, clojure: bytes) -> str:
    keys = list(json.loads(data))
    if keys != sorted(keys):
        return f"its keys are in the order {', '.join(keys)}; Clojure sorts them"
    tokens = _TOKENS.findall(data)
    if any(token.isspace() for token in tokens):
        return "it has blanks between its parts; Clojure writes none"
    if b'"args":[' not in data:
        return 'it has no list of args; Clojure writes "args":[]'
    apart = (pair for pair in zip(tokens, _TOKENS.findall(clojure), strict=False) if len(set(pair)) > 1)
    ours, theirs = next(apart, (data, clojure))
    return f"it has {quoted_item(ours)} where Clojure writes {quoted_item(theirs)}"


# Items.


def put_back(member: bytes) -> bytes | None:
    """Write the text under which the Clojure code puts back an item that it took too early. It drops blanks and a field
    called ``date``, escapes ``/``, and cuts names before their slash. Return None if it fails instead, or if the item
    has more than eight fields, because the order of these is not kept.
    """
    try:
        fields, _ = json.JSONDecoder().raw_decode(member.decode("utf-8", "replace").lstrip())
        if fields is None:
            return b"{}"
        if not isinstance(fields, dict):
            return None
        kept = {key: value for key, value in _keywords(fields).items() if key != "date"}
        return None if len(kept) > MOST_IN_ORDER else wire.json_text(kept)
    except (ValueError, RecursionError):
        return None


def _keywords(value: Any) -> Any:
    """Cut each key as Clojure does when it reads the key as a keyword."""
    if isinstance(value, dict):
        return {key.partition("/")[2] or key: _keywords(inner) for key, inner in value.items()}
    return [_keywords(inner) for inner in value] if isinstance(value, list) else value


def item_faults(member: bytes) -> Iterator[Fault]:
    """Name each difference in how a Clojure peer treats an item that has an id."""
    try:
        text = member.decode("utf-8").strip()
    except UnicodeDecodeError:
        yield Fault(ITEM_TEXT, f"its item {quoted_item(member)} is not UTF-8")
        return
    _, end = json.JSONDecoder().raw_decode(text)
    if end < len(text):
        yield Fault(ITEM_TEXT, f"its item {quoted_item(member)} has more text after the object")
        return
    again = put_back(member)
    if again is None:
        yield Fault(REWRITTEN, f"its item has more than {MOST_IN_ORDER} fields, whose order Clojure does not keep")
    elif again != member:
        yield Fault(REWRITTEN, f"its item {quoted_item(member)} becomes {quoted_item(again)}")


def quoted_item(data: bytes) -> str:
    """Show bytes in a sentence, up to 120 of them."""
    text = data[:120].decode("utf-8", "backslashreplace")
    return text if len(data) <= 120 else text + "..."
