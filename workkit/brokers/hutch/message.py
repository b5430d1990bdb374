"""A message on the wire, and its content: its real routing key, its attempts, its due time, its body. Pure.

All readers are tolerant, because other programs write these headers. At the end: the description of a listener in the
tag and the arguments of its consumers. Normative: spec/layouts/hutch.md, sections 3 and 8.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from datetime import UTC, datetime
from hashlib import sha1
from typing import Any, Final, NoReturn

from workkit.brokers.hutch.names import OWN, Dialect
from workkit.brokers.hutch.topology import final_key, is_delay_key
from workkit.contract.listener import ListenerInfo
from workkit.errors import CorruptRecord, InvalidArguments
from workkit.jobs.json_value import at_key, check_finite, check_key, integer_text, plain_value, shown_value
from workkit.jobs.option_readers import LONGEST_MS
from workkit.jobs.options import read_stored
from workkit.jobs.run_options import UNSAID, RunOptions
from workkit.tracing import TraceContext, read_context

ATTEMPT: Final = "workkit-attempt"
KEY: Final = "workkit-key"
DUE: Final = "workkit-due"
ERROR: Final = "workkit-error"
REASON: Final = "workkit-reason"
FAILED_AT: Final = "workkit-failed-at"
QUEUE: Final = "workkit-queue"
UNIQUE: Final = "workkit-unique"
UNIQUE_UNTIL: Final = "workkit-unique-until"
COPY: Final = "workkit-copy"
OPTIONS: Final = {
    "workkit-retries": "retries", "workkit-backoff": "backoff", "workkit-base-ms": "base_ms",
    "workkit-cap-ms": "cap_ms", "workkit-jitter": "jitter",
}  # fmt: skip
"""The headers that set the number and times of retries, each with its member of `RunOptions`."""
TRACEPARENT: Final = "traceparent"
TRACESTATE: Final = "tracestate"

MOST_MS: Final = 253_402_300_799_000  # ms; the year 9999, the last that a datetime holds

_PROPERTIES = (
    "content_type", "content_encoding", "delivery_mode", "priority", "correlation_id", "reply_to", "expiration",
    "message_id", "timestamp", "type", "user_id", "app_id",
)  # fmt: skip


@dataclass(frozen=True, slots=True, kw_only=True)
class Message:
    """A message with its place: `properties` by their AMQP names, without the headers."""

    exchange: str
    routing_key: str
    properties: Mapping[str, Any] = field(default_factory=dict)
    headers: Mapping[str, Any] = field(default_factory=dict)
    body: bytes = b""

    @property
    def id(self) -> str:
        """Its message id; without one, a hash of its content."""
        said = text(self.properties.get("message_id"))
        return said or sha1(f"{self.key}\n".encode() + self.body, usedforsecurity=False).hexdigest()

    @property
    def key(self) -> str:
        """Its real routing key: on the way to one queue of ours our own header, else the first of `CC`, else the
        routing key.
        """
        if self.is_private:
            return text(self.headers.get(KEY)) or self.first_key
        return self.first_key

    @property
    def is_private(self) -> bool:
        """Whether it was sent to one queue of ours. Only then our headers about attempts are valid: a message that
        another program sends again may still carry them.
        """
        return self.first_key.startswith(f"{OWN}queue.")

    @property
    def queue(self) -> str | None:
        """The one queue of ours that it goes to; None: it goes to every queue of its key."""
        return self.first_key.removeprefix(f"{OWN}queue.") if self.is_private else None

    @property
    def attempt(self) -> int:
        """The number of its failures in workkit."""
        if not self.is_private:
            return 0
        said = whole(self.headers.get(ATTEMPT))
        return said if said is not None and said > 0 else 0

    @property
    def options(self) -> RunOptions:
        """The number and times of its retries, as its producer set them; unreadable values are left out."""
        found: dict[str, Any] = {}
        for header, member in OPTIONS.items():
            value = self.headers.get(header)
            if not isinstance(value, bool):
                number = whole(value)
                value = text(value) or (number if number is None or number <= LONGEST_MS else None)
            with suppress(CorruptRecord):
                found |= read_stored({member: value}, [member])
        return RunOptions(**found) if found else UNSAID

    @property
    def due_ms(self) -> int | None:
        """Its due time in epoch ms: the end of its last delay in a foreign queue, else the time in our header, else the
        time of its publishing; None if unknown.
        """
        ended = next((death.time_ms for death in deaths(self.headers) if death.is_foreign_delay), None)
        if ended is not None:
            return ended
        said = whole(self.headers.get(DUE))
        if said is not None and 0 <= said <= MOST_MS:
            return said
        return instant_ms(self.properties.get("timestamp"))

    @property
    def trace(self) -> TraceContext | None:
        """The context of the span that published it, as any producer may write it; None if there is none."""
        return read_context(text(self.headers.get(TRACEPARENT)), text(self.headers.get(TRACESTATE)))

    @property
    def first_key(self) -> str:
        """The key by which it leaves its delay: the first of `CC`; else its routing key."""
        copies = self.headers.get("CC")
        if copies is not None and isinstance(copies, Sequence) and not isinstance(copies, str | bytes):
            for copy in copies:
                if key := text(copy):
                    return final_key(key)
        return self.routing_key


def received(method: Any, properties: Any, body: bytes) -> Message:
    """Make the value of a delivery from the client library's objects."""
    said = vars(properties)  # only properties that were sent; the library sets the others to None
    return Message(
        exchange=method.exchange,
        routing_key=method.routing_key,
        properties={name: value for name in _PROPERTIES if (value := said.get(name)) is not None},
        headers=properties.headers or {},
        body=body,
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class Death:
    """An entry of `x-death`: a queue in which a message expired or was rejected, and how often."""

    queue: str
    reason: str
    count: int
    keys: tuple[str, ...]
    time_ms: int | None

    @property
    def is_foreign_delay(self) -> bool:
        """Whether it is the end of a delay of hutch-schedule or event."""
        return self.reason == "expired" and not any(is_delay_key(key) for key in self.keys)


def deaths(headers: Mapping[str, Any]) -> Iterator[Death]:
    """Read the entries of `x-death`, the last death first; leave out invalid entries."""
    entries = headers.get("x-death")
    if entries is None:
        return
    for entry in entries if isinstance(entries, Sequence) and not isinstance(entries, str | bytes) else ():
        if isinstance(entry, Mapping):
            keys = entry.get("routing-keys")
            yield Death(
                queue=text(entry.get("queue")),
                reason=text(entry.get("reason")),
                count=max(0, whole(entry.get("count")) or 0),
                keys=tuple(text(key) for key in keys) if isinstance(keys, list | tuple) else (),
                time_ms=instant_ms(entry.get("time")),
            )


def failures_elsewhere(headers: Mapping[str, Any]) -> int:
    """Count the failures as event and hutch-schedule count them. A first delay counts as one too."""
    return sum(death.count for death in deaths(headers) if death.is_foreign_delay)


def portable(headers: Mapping[str, Any]) -> dict[str, Any]:
    """Copy headers for another publishing, without routing keys and deaths, which would affect the broker. A float
    becomes text, because the client library cannot write one.
    """
    return {name: _portable(value) for name, value in headers.items() if name not in _ROUTING and "-death" not in name}


_ROUTING = frozenset({"CC", "BCC"})


def _portable(value: Any) -> Any:
    match value:
        case float():
            return repr(value)
        case Mapping():
            return {name: _portable(inner) for name, inner in value.items()}
        case list() | tuple():
            return [_portable(inner) for inner in value]
        case _:
            return value


def text(value: Any) -> str:
    """Read a text; empty for any other value."""
    if isinstance(value, bytes):
        return value.decode("utf-8", "replace")
    return value if isinstance(value, str) else ""


def whole(value: Any) -> int | None:
    """Read an integer; None for any other value. The client library has its own class for long integers."""
    return int(value) if isinstance(value, int) and not isinstance(value, bool) else None


def instant_ms(value: Any) -> int | None:
    """Read a timestamp of the wire: whole seconds, or the client library's conversion of them."""
    if isinstance(value, datetime):
        value = int((value if value.tzinfo else value.replace(tzinfo=UTC)).timestamp())
    seconds = whole(value)
    return None if seconds is None or not 0 <= seconds <= MOST_MS // 1000 else seconds * 1000


_KINDS = {
    list: "an array",
    str: "a text",
    bool: "true or false",
    type(None): "null",
    int: "a number",
    float: "a number",
}
_PLACE = "args[0]"


def write_body(value: Any, *, needs_object: bool) -> bytes:
    """Write a value as UTF-8 JSON without blanks; the keys of an object keep their order.

    Raises InvalidArguments for a value that JSON or UTF-8 cannot carry, with its place, and for a value that is no
    object if the reader needs one.
    """
    try:
        checked = _checked(value, _PLACE)
    except RecursionError:
        trouble = "holds itself, or is nested too deeply for JSON"
        raise InvalidArguments.about(_PLACE, trouble, "Pass a flat value.", given=value) from None
    if needs_object and not isinstance(checked, dict):
        trouble = f"is {_KINDS[type(checked)]}, and its readers need an object"
        remedy = f'Write args=[{{...}}], for example args=[{{"value": {shown_value(value)}}}].'
        raise InvalidArguments.about(_PLACE, trouble, remedy, given=value)
    text = _ENCODER.encode(checked)
    try:
        return text.encode()
    except UnicodeEncodeError as error:
        trouble = f"holds a lone surrogate, {text[error.start]!r}, which UTF-8 cannot carry"
        raise InvalidArguments.about(_PLACE, trouble, "Pass whole characters.", given=value) from None


def read_body(body: bytes, dialect: Dialect) -> Any:
    """Read the body of a message; hutch reads objects only. Raises CorruptRecord with the reason."""
    if not body:
        raise CorruptRecord("its body is empty", given=body)
    try:
        text = body.decode()
    except UnicodeDecodeError as error:
        raise CorruptRecord(f"its body is not UTF-8 (byte {error.start})", given=body, position=error.start) from None
    try:
        if text.startswith("\ufeff"):
            raise json.JSONDecodeError("it begins with a BOM", text, 0)
        value = _DECODER.decode(text)
    except json.JSONDecodeError as error:
        reason = f"its body is not JSON: {error.msg} (character {error.pos})"
        raise CorruptRecord(reason, given=body, position=error.pos) from None
    except (ValueError, RecursionError) as error:
        why = "it is nested too deeply" if isinstance(error, RecursionError) else str(error)
        raise CorruptRecord(f"its body is not JSON that can be read: {why}", given=body) from None
    if dialect == "hutch" and not isinstance(value, dict):
        raise CorruptRecord(f"its body is {_KINDS[type(value)]}, and hutch reads objects only", given=body)
    return value


def _no_constant(name: str) -> NoReturn:
    raise ValueError(f"{name} is no value of JSON")


_DECODER = json.JSONDecoder(parse_constant=_no_constant)
_ENCODER = json.JSONEncoder(ensure_ascii=False, separators=(",", ":"))


def _checked(value: Any, place: str) -> Any:
    """Convert a value to plain types. Raises InvalidArguments."""
    match value:
        case None | bool():
            return value
        case str():
            return str.__str__(value)
        case float():
            check_finite(value, place)
            return float(value)
        case int():
            integer_text(value, place)
            return int(value)
        case dict():
            for key in value:
                check_key(key, place)
            return {str.__str__(key): _checked(inner, at_key(place, key)) for key, inner in value.items()}
        case list() | tuple():
            return [_checked(inner, f"{place}[{n}]") for n, inner in enumerate(value)]
        case _:
            return _checked(plain_value(value, place), place)


LOOKING: Final = "workkit-look-"  # the prefix of the tags of consumers that only look

_OURS = re.compile(r"(workkit-[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12})-\d+")
_HOST, _PID, _VERSION, _THREADS, _SINCE = (f"workkit-{name}" for name in ("host", "pid", "version", "threads", "since"))


def consumer_tag(listener: str, number: int) -> str:
    """Name a consumer of a listener."""
    return f"{listener}-{number}"


def listener_of(tag: str) -> str | None:
    """Return the listener of ours that a consumer belongs to; None: it belongs to another program."""
    found = _OURS.fullmatch(tag)
    return None if found is None else found[1]


def is_ours(tag: str) -> bool:
    """Return whether a tag, or the name of a listener, is one of ours."""
    return tag.startswith("workkit-")


def is_looking(tag: str) -> bool:
    """Return whether a consumer of ours only looks at a queue, for a moment."""
    return is_ours(tag) and listener_of(tag) is None


def said_of(info: ListenerInfo, *, now_ms: int) -> dict[str, Any]:
    """Write the description of a listener as the arguments of its consumers."""
    return {_HOST: info.host, _PID: info.pid, _VERSION: info.version, _THREADS: info.threads, _SINCE: now_ms}


def read_said(
    arguments: Mapping[str, Any], *, listener: str, schedule: str, now_ms: int, host: str, version: str
) -> ListenerInfo:
    """Read the description of a listener from a consumer. `host` and `version`: used if the description has none."""
    since = whole(arguments.get(_SINCE))
    return ListenerInfo(
        listener=listener,
        host=text(arguments.get(_HOST)) or host,
        pid=max(0, whole(arguments.get(_PID)) or 0),
        version=text(arguments.get(_VERSION)) or version,
        schedules={schedule: 1},
        threads=max(0, whole(arguments.get(_THREADS)) or 0),
        beat_ms=None,
        up_ms=None if since is None else max(0, now_ms - since),
    )
