"""What is left of hostile values after a repair: sound by now, harmless until others sweep it, told, or a complaint."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Any

import msgpack

from tests.acceptance.hostile_values import Value
from workkit.brokers.native.codec import Codec, is_plan_field
from workkit.brokers.native.entry import item_id, read_entry, read_parked
from workkit.brokers.native.keys import Keys
from workkit.brokers.native.look.published import LISTENER
from workkit.brokers.redis_server.control import LAST_MS
from workkit.errors import CorruptRecord
from workkit.text.cells import bytes_text

HARMLESS = frozenset(  # spec/layouts/native.md: means nothing where no job refers to it, and is trimmed by others
    [
        "names",
        "unique",
        "windows",
        "held",
        "rates",
        "deadlines",
        "counts",
        "crashed",
        "stats",
        "lately",
        "days",
        "runs",
        "logs",
        "trace",
        "past",
        "changes",
        "cancelled",
        "missed",
        "first",
        "progress",
        "skip",
        "wake",
        "watch",
        "producer",
        "dead",
    ]
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Left:
    """One schedule, looked over after the storm. `about` is what the doctor told of, as text."""

    client: Any
    keys: Keys
    about: frozenset[str]

    def complaints(self, values: Iterable[Value]) -> Iterator[Value]:
        """Values that stand as they were written, are not sound, and are told by nobody."""
        for value in {(value.key(self.keys), value.member): value for value in values}.values():
            if value.name in HARMLESS or not value.stands(self.client, value.key(self.keys)):
                continue
            if not (self._is_sound(value) or self._is_told(value)):
                yield value

    def _is_told(self, value: Value) -> bool:
        return any(bytes_text(part) in self.about for part in (value.member, value.key(self.keys).encode()) if part)

    def _exists(self, item: bytes) -> bool:
        id = item_id(item)
        return id is not None and bool(self.client.hexists(self.keys.jobs, id))

    def _is_sound(self, value: Value) -> bool:
        match value.name:
            case "jobs":
                return self._is_readable(value)
            case "next":
                score = self.client.zscore(self.keys.next, value.member)
                return 0 <= score <= LAST_MS and score == int(score) and self._exists(value.member)
            case "again":
                score = self.client.zscore(self.keys.again, value.member)  # one without a job ends when it is due
                return read_entry(value.member) is not None and score <= LAST_MS
            case "turns":
                return self.client.zscore(self.keys.again, value.member) is not None
            case "order":
                return self.client.zscore(self.keys.again, value.member.partition(b"\0")[2][18:]) is not None
            case "running":  # a hash of a name that no listener has is no key of ours
                return not LISTENER.fullmatch(value.key(self.keys).removeprefix(self.keys.running("")))
            case "waiting":
                parked = read_parked(value.member)
                return parked is not None and (self._exists(parked.entry.item) or self._is_paused(parked.key))
            case "slots" | "errors" | "ended":
                return self._is_referred(value.member.rpartition(b"\0")[2].partition(b"@")[0])
            case "graves":
                return self.client.zscore(self.keys.dead, value.member) is not None
            case "plans":
                return is_plan_field(value.member, value.value)
            case "control":
                return _is_control(value)
        return False

    def _is_paused(self, key: bytes) -> bool:
        """Whether it waits under a pause that stands: the doctor tells of the pause."""
        return bool(self.client.hexists(self.keys.control, key))

    def _is_readable(self, value: Value) -> bool:
        try:
            Codec(self.keys.schedule).decode(value.member.decode("utf-8", "replace"), value.value)
        except CorruptRecord:
            return False
        return True

    def _is_referred(self, id: bytes) -> bool:
        members = [
            m for key in ("again", "waiting", "next") for m in self.client.zrange(getattr(self.keys, key), 0, -1)
        ]
        return bool(id) and any(id in member for member in members)


def _is_control(value: Value) -> bool:
    """Whether a field of S:control is one that a reader can read, or that it does not know, and keeps."""
    if value.member in (b"limit", b"v"):
        return value.value.isdigit()
    if not value.member.startswith(b"paused:"):
        return value.member != b"turn_ms"
    try:
        pause = msgpack.unpackb(value.value, raw=True, strict_map_key=False)
    except (ValueError, RecursionError):
        return False
    return isinstance(pause, list) and len(pause) >= 2 and isinstance(pause[1], (int, type(None)))
