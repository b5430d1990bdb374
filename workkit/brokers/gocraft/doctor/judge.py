"""The one judge of a namespace: job texts and the values of other keys. Pure: bytes in, faults out.

It names what breaks the layout, what no pool serves, and what is legal but would be lost or changed by a Go pool.
"""

from __future__ import annotations

import math
import re
from collections.abc import Collection, Iterator, Mapping
from typing import Any, Final

from workkit.brokers.gocraft.doctor.fault import Fault
from workkit.brokers.gocraft.doctor.place import LIVES, TYPES, Place
from workkit.brokers.gocraft.keys import name_trouble
from workkit.brokers.gocraft.text import JobText, read
from workkit.errors import CorruptRecord
from workkit.text.raw import brief_bytes

WORDS: Final = {"zset": "sorted set"}
_MOVED: Final = ("scheduled", "retry")
"""What Go pools move through Lua's cjson."""
_TIMED: Final = (*_MOVED, "held", "held_retry")
_WHOLE: Final = re.compile(rb"-?(0|[1-9][0-9]{0,18})")
_COUNTED: Final = ("heartbeat_at", "started_at", "concurrency", "pid")
_EXACT: Final = 2**53
_DIGITS: Final = 10**14  # cjson writes 14 digits


def judge_text(place: Place, data: bytes, score: float | None) -> Iterator[Fault]:
    """Judge one job text, the worst first."""
    try:
        text = read(data)
    except CorruptRecord as error:
        yield Fault("unreadable", f"the {error}", True)
        return
    if not text.name and place.kind in _TIMED:
        yield Fault("nameless", "its text has no name", True)
    elif place.kind in ("queue", "in_progress") and text.name != place.name:
        yield Fault("stray", f"its name is {_short(text.name)}, and it is in the queue of {_short(place.name)}")
    elif text.name:
        yield from judge_name(text.name)
    if not text.id:
        yield Fault("no-id", "its text has no id")
    if score is not None and not math.isfinite(score):
        yield Fault("score", f"its time is {score}")
    yield from _lossy(text, place.kind in _MOVED)


def _lossy(text: JobText, is_moved: bool) -> Iterator[Fault]:
    """Name what a Go pool changes when it moves, runs or retries the job."""
    most = _DIGITS if is_moved else _EXACT
    numbers, lists = [], False
    for value in _values(text.args):
        if type(value) is int and abs(value) > most:
            numbers.append(value)
        lists = lists or value == []
    if numbers:
        yield Fault("number", f"its arguments have the integer {numbers[0]}")
    if lists and is_moved:
        yield Fault("empty-list", "its arguments have an empty list")
    if text.unknown:
        names = ", ".join(_short(name) for name, _ in text.unknown[:3])
        yield Fault("own-fields", f"its text has fields that Go does not know: {names}")


def _values(value: Any) -> Iterator[Any]:
    waiting = [value]
    while waiting:
        value = waiting.pop()
        yield value
        if isinstance(value, Mapping):
            waiting += value.values()
        elif type(value) is list:
            waiting += value


def judge_type(place: Place, stands: str) -> Fault:
    """Name a key of a wrong type."""
    kind = TYPES[place.kind]
    return Fault("wrong-type", f"it is a {WORDS.get(stands, stands)}, not a {WORDS.get(kind, kind)}")


def judge_value(place: Place, value: bytes) -> Iterator[Fault]:
    """Judge the value of a string."""
    if place.kind in ("lock", "last_periodic_enqueue") and not is_whole(value):
        yield Fault("lock" if place.kind == "lock" else "heartbeat", f"it is {_short_bytes(value)}, not an integer",
                    place.kind == "lock")  # fmt: skip
    elif place.kind == "max_concurrency" and (not is_whole(value) or int(value) < 0):
        yield Fault("limit", f"it is {_short_bytes(value)}, not a number from 0 on")


def judge_fields(place: Place, fields: Mapping[str, bytes]) -> Iterator[Fault]:
    """Judge the fields of a heartbeat, or of a `lock_info`."""
    if place.kind == "worker_pool":
        for name in _COUNTED:
            if name in fields and not is_whole(fields[name]):
                yield Fault("heartbeat", f"its {name} is {_short_bytes(fields[name])}, not an integer")
    elif place.kind == "lock_info":
        for name, value in sorted(fields.items()):
            if not is_whole(value):
                yield Fault("lock-info", f"of pool {_short(name)} it is {_short_bytes(value)}, not an integer", True)


def judge_life(place: Place, ttl: int) -> Iterator[Fault]:
    """Judge how long a key lives. `ttl` in seconds; -1: for ever."""
    if ttl == -1 and place.kind == "unique":
        yield Fault("endless", "it has no expiry", True)
    elif ttl == -1 and place.kind in LIVES:
        yield Fault("own-expiry", "it has no expiry", True)


def judge_name(name: str) -> Iterator[Fault]:
    """Judge a known job name."""
    if trouble := "has a comma, which parts the names in a heartbeat" if "," in name else name_trouble(name):
        yield Fault("name", f"the job name {_short(name)} {trouble}")


def judge_list(place: Place, pools: Collection[str]) -> Iterator[Fault]:
    """Judge whose in-progress list a list is."""
    if place.of not in pools:
        yield Fault("ownerless", f"the pool {_short(place.of)} is not listed", True)


def is_whole(value: bytes) -> bool:
    """Say whether a value is an integer of 64 bits, as every side counts with it."""
    return _WHOLE.fullmatch(value) is not None and -(2**63) <= int(value) < 2**63


def _short(text: str) -> str:
    return _short_bytes(text.encode("utf-8", "surrogatepass" if _is_lone(text) else "surrogateescape"))


def _is_lone(text: str) -> bool:
    return any("\ud800" <= char <= "\udfff" and not "\udc80" <= char <= "\udcff" for char in text)


def _short_bytes(data: bytes) -> str:
    return f'"{brief_bytes(data)}"'
