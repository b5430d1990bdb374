"""Compare the keys of a gocraft namespace with those that were recorded from the real library, byte for byte.

`dump` reads a namespace in the form of the recordings in spec/vectors/gocraft/. `differences` names what differs.
Volatile are: ids of 24 hexadecimal digits, epoch seconds, host, pid, encodings, and the order of what Redis or chance
orders. An id must be in the same places on both sides, and a time must be as far from the time of its dump, within a
slack. All other bytes must be the same.
"""

from __future__ import annotations

import hashlib
import json
import re
from collections import defaultdict
from collections.abc import Callable, Collection, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from workkit.brokers.gocraft.keys import Keys

Dump = Mapping[str, Mapping[str, Any]]

OURS = "workkit:"  # a key of our own begins so, behind the prefix of the namespace
NEAR_PAST, NEAR_FUTURE = 2 * 86400, 2 * 366 * 86400  # seconds around a dump; a number beyond is no time of it
SLACK = 5  # seconds; a busy machine takes the steps of a recording later
TTL_SLACK = 60
CHANCE = ("host", "pid")

_ID = re.compile(r"(?<![0-9a-f])[0-9a-f]{24}(?![0-9a-f])")
_SECOND = re.compile(r"(?<![0-9.])1[0-9]{9}(?![0-9.])")


def dump(client: Any, namespace: str) -> dict[str, dict[str, Any]]:
    """Read all keys of a namespace that Go pools know, in one transaction. `client` answers bytes."""
    prefix = Keys(namespace).prefix
    pattern = re.sub(r"([*?\[\]\\^])", r"\\\1", prefix) + "*"
    for _ in range(100):
        names = sorted(client.scan_iter(match=pattern, count=1000))
        names = [name for name in names if not name.decode().startswith(prefix + OURS)]
        types = [client.type(name).decode() for name in names]
        with client.pipeline(transaction=True) as pipe:
            for name, type_ in zip(names, types, strict=True):
                pipe.type(name)
                pipe.ttl(name)
                _READ[type_ if type_ in _READ else "string"](pipe, name)
            replies = pipe.execute(raise_on_error=False)
        if [reply.decode() for reply in replies[::3]] == types and "none" not in types:
            break
    else:
        raise AssertionError(f"the keys of {namespace!r} change faster than they are read")
    return {
        name.decode(): {"type": type_, "ttl": ttl if ttl >= 0 else None, "value": _shown(type_, value)}
        for name, type_, ttl, value in zip(names, types, replies[1::3], replies[2::3], strict=True)
    }


_READ: dict[str, Callable[[Any, bytes], Any]] = {
    "string": lambda pipe, key: pipe.get(key),
    "list": lambda pipe, key: pipe.lrange(key, 0, -1),
    "set": lambda pipe, key: pipe.smembers(key),
    "hash": lambda pipe, key: pipe.hgetall(key),
    "zset": lambda pipe, key: pipe.zrange(key, 0, -1, withscores=True),
}


def _shown(type_: str, value: Any) -> Any:
    def text(raw: bytes) -> str:
        return raw.decode("utf-8", "backslashreplace")

    match type_:
        case "list":
            return [text(each) for each in value]
        case "set":
            return sorted(text(each) for each in value)
        case "hash":
            return {text(name): text(each) for name, each in value.items()}
        case "zset":
            return [[text(member), f"{score:.17g}"] for member, score in value]
    return text(value)


@dataclass(frozen=True, slots=True, kw_only=True)
class Side:
    """One of two compared sides: a dump, the epoch second it is of, and ids with the names to show them by."""

    dump: Dump
    at: float
    ids: Mapping[str, str] = field(default_factory=dict)


def differences(recorded: Side, actual: Side, *, slack: float = SLACK, unordered: Collection[str] = ()) -> list[str]:
    """Name each difference between a recorded namespace and another; nothing where there is none.

    `unordered` are ends of the keys of lists whose order is chance.
    """
    common = set(_ids(recorded.dump)) & set(_ids(actual.dump))
    found: list[str] = []
    for refine in (False, True):
        ways = [_Way.of(side, common, refine=refine, unordered=unordered) for side in (recorded, actual)]
        found = list(_compare(*ways, slack=slack))
        if found:
            if refine:
                found.insert(0, "the keys are the same but for ids, which are not in the same places:")
            break
    return found


@dataclass(frozen=True, slots=True)
class _Entry:
    """A key with all its volatile parts masked, and its times apart, as seconds from the dump."""

    text: str
    ttl: int | None
    times: tuple[float, ...]


@dataclass(frozen=True, slots=True)
class _Way:
    """The masked entries of one side under their masked keys."""

    entries: Mapping[str, list[_Entry]]

    @classmethod
    def of(cls, side: Side, common: Collection[str], *, refine: bool, unordered: Collection[str]) -> _Way:
        names = {**{name: name for name in common}, **side.ids}
        labels = {each: f"<{names.get(each, 'ID')}>" for each in _ids(side.dump)}
        for _ in range(3 if refine else 0):
            labels = _refined(side, labels, unordered)
        entries: dict[str, list[_Entry]] = defaultdict(list)
        for key, value in side.dump.items():
            masked_key, key_times = _mask(key, labels, side.at)
            text, times = _canonical(masked_key, value, labels, side.at, unordered)
            entries[masked_key].append(_Entry(text, value.get("ttl"), (*key_times, *times)))
        for group in entries.values():
            group.sort(key=lambda entry: (entry.text, entry.times))
        return cls(entries)


def _ids(dump: Dump) -> set[str]:
    return set(_ID.findall(json.dumps(dump, ensure_ascii=False)))


def moved(text: str, *, at: float, by: int) -> str:
    """Write a text with all times that are near the epoch second `at` so many seconds later."""
    return _SECOND.sub(lambda match: str(int(match[0]) + by) if _is_near(int(match[0]) - at) else match[0], text)


def _is_near(offset: float) -> bool:
    return -NEAR_PAST < offset < NEAR_FUTURE


def _mask(text: str, labels: Mapping[str, str], at: float) -> tuple[str, list[float]]:
    times: list[float] = []

    def second(match: re.Match[str]) -> str:
        offset = int(match[0]) - at
        if not _is_near(offset):
            return match[0]
        times.append(offset)
        return "<TIME>"

    return _SECOND.sub(second, _ID.sub(lambda match: labels[match[0]], text)), times


def _canonical(
    key: str, entry: Mapping[str, Any], labels: Mapping[str, str], at: float, unordered: Collection[str]
) -> tuple[str, list[float]]:
    def masked(text: str) -> tuple[str, list[float]]:
        return _mask(text, labels, at)

    value = entry["value"]
    parts: list[tuple[str, list[float]]]
    match entry["type"]:
        case "list":
            parts = [masked(text) for text in value]
            if key.endswith(tuple(unordered)):
                parts.sort()
        case "set":
            parts = sorted(masked(text) for text in value)
        case "zset":
            parts = sorted(masked(f"{member} at {score}") for member, score in value)
        case "hash":
            parts = sorted(masked(f"{name}: {_field(name, text, labels)}") for name, text in value.items())
        case _:
            parts = [masked(str(value))]
    lines = [f"{entry['type']}:", *(text for text, _ in parts)]
    return "\n      ".join(lines), [time for _, times in parts for time in times]


def _field(name: str, text: str, labels: Mapping[str, str]) -> str:
    if name in CHANCE:
        return "<CHANCE>"
    if name == "worker_ids":
        return ",".join(sorted(labels.get(each, each) for each in text.split(",")))
    return text


def _refined(side: Side, labels: Mapping[str, str], unordered: Collection[str]) -> dict[str, str]:
    """Tell ids apart by the places they are in. Ids that are in the same places keep one label."""
    places: dict[str, list[str]] = defaultdict(list)
    for key, value in side.dump.items():
        for each in _ids({key: value}):
            own = {**labels, each: "<HERE>"}
            masked_key, _ = _mask(key, own, side.at)
            places[each].append(f"{masked_key} {_canonical(masked_key, value, own, side.at, unordered)[0]}")
    return {
        each: label if not label.startswith("<ID") else f"<ID {_digest(sorted(places[each]))}>"
        for each, label in labels.items()
    }


def _digest(texts: list[str]) -> str:
    return hashlib.sha1("\n".join(texts).encode()).hexdigest()[:6]


def _compare(recorded: _Way, actual: _Way, *, slack: float) -> Iterator[str]:
    for key in sorted({*recorded.entries, *actual.entries}):
        there, here = recorded.entries.get(key, []), actual.entries.get(key, [])
        if len(there) != len(here):
            yield f"{key!r}: recorded {len(there)} times, found {len(here)} times"
            continue
        for one, other in zip(there, here, strict=True):
            if one.text != other.text:
                yield f"{key!r}:\n    recorded {one.text}\n    found    {other.text}"
            elif any(abs(a - b) > slack for a, b in zip(one.times, other.times, strict=True)):
                shown = [[round(time) for time in entry.times] for entry in (one, other)]
                yield f"{key!r}: times, in seconds from now: recorded {shown[0]}, found {shown[1]}"
            if (one.ttl is None) != (other.ttl is None) or abs((one.ttl or 0) - (other.ttl or 0)) > TTL_SLACK:
                yield f"{key!r}: time to live: recorded {one.ttl}, found {other.ttl}"
