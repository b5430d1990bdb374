"""Judge the contents of a namespace: job texts and the values of other keys. No other module judges them. Pure: bytes
in, faults out.

It names content that breaks the layout, jobs that no pool serves, and legal content that a Go pool would lose or
change.
"""

from __future__ import annotations

import math
import re
from collections.abc import Collection, Iterator, Mapping
from dataclasses import replace
from typing import Any, Final

from workkit.brokers.gocraft.doctor.survey import LIVES, TYPES, Place
from workkit.brokers.gocraft.keys import name_trouble
from workkit.brokers.gocraft.text import JobText, read
from workkit.brokers.redis_server import doctor as server_doctor
from workkit.contract.doctor import Fault, Kind
from workkit.errors import CorruptRecord
from workkit.text.cells import brief_bytes

WORDS: Final = {"zset": "sorted set"}
_MOVED: Final = ("scheduled", "retry")
"""The keys with texts that Go pools move through Lua's cjson."""
_TIMED: Final = (*_MOVED, "held", "held_retry")
_WHOLE: Final = re.compile(rb"-?(0|[1-9][0-9]{0,18})")
_COUNTED: Final = ("heartbeat_at", "started_at", "concurrency", "pid")
_EXACT: Final = 2**53
_DIGITS: Final = 10**14  # cjson writes 14 digits

WRONG_TYPE = replace(
    server_doctor.WRONG_TYPE, why="Every request that needs this key is refused, by Go pools and by ours."
)  # fmt: skip
UNREADABLE = Kind(
    "unreadable", "deviation", "A job text cannot be read.",
    "No pool can run it. In a queue it takes a slot of a Go pool for ever. In a sorted set it stops all Go pools.",
    "sets its bytes aside in `NSworkkit:unreadable`",
)  # fmt: skip
NAMELESS = Kind(
    "nameless", "deviation", "A job text has no name.", "A Go pool that finds it due removes it, and it is lost.",
    "sets its bytes aside in `NSworkkit:unreadable`",
)  # fmt: skip
LOCK = Kind(
    "lock", "deviation", "A lock is no number, or another one than jobs are in progress.",
    "Pools count running jobs with it: they cannot take a job of this name while it is no number.",
    "sets it, with its `lock_info`, to what is in progress",
)  # fmt: skip
LOCK_INFO = Kind(
    "lock-info", "deviation",
    "A field of `lock_info` is no number, another one than jobs are in progress, or of a pool that is gone.",
    "Go pools subtract it from the lock when they reap the pool.", "sets it to what is in progress",
)  # fmt: skip
LIMIT = Kind(
    "limit", "deviation", "A limit is no number from 0 on, or another one than a pool of ours has set.",
    "Pools read it as no limit, or take no job at all.",
)  # fmt: skip
HEARTBEAT = Kind(
    "heartbeat", "deviation", "A field of a heartbeat is no number.",
    "Go pools and the web UI cannot read it, and the page of all pools fails.",
)  # fmt: skip
NAME = Kind(
    "name", "deviation", "A job name has characters that parts of keys or of heartbeats cannot have.",
    "The name is part of keys, and of lists in heartbeats: a pool reads it there as another one.",
)  # fmt: skip
ENDLESS = Kind(
    "endless", "deviation", "A unique key has no expiry.",
    "It never ends by itself. A job with this unique key could never be added again.",
    "lets it end a day after its job is due",
)  # fmt: skip
OWN_EXPIRY = Kind(
    "own-expiry", "deviation", "A key of ours has no expiry.",
    "Keys of ours end by themselves, so that none is left behind for ever.", "gives it its usual life",
)  # fmt: skip
STRAY = Kind(
    "stray", "deviation", "A job text is in the queue of another name.",
    "A Go pool buries it as a stray job, and its slot is never free again.",
)  # fmt: skip
OWNERLESS = Kind(
    "ownerless", "orphan", "An in-progress list is of a pool that is not listed.",
    "The pool that held it is not listed. No Go pool looks at its list.", "takes its jobs back, as `unlisted`",
    of_wire=True,
)  # fmt: skip
LEAKED = Kind(
    "leaked", "orphan", "A unique key is set, and no job has it.",
    "While it is there, a job with this unique key cannot be added.", "removes it, after another look for its job",
)  # fmt: skip
SCORE = Kind("score", "hazard", "A time is no number.", "It is due at once, or never.")
NO_ID = Kind(
    "no-id", "hazard", "A job text has no id.", "The client and the web UI of Go name a job by its id.", of_wire=True
)  # fmt: skip
NUMBER = Kind(
    "number", "hazard", "An argument is an integer with more digits than a float has.",
    "Go handlers read numbers as floats, and a Go pool that moves or retries the job writes other digits.",
    of_wire=True,
)  # fmt: skip
EMPTY_LIST = Kind(
    "empty-list", "hazard", "An argument is an empty list.",
    "A Go pool that moves the job to its queue writes {} in its place.", of_wire=True,
)  # fmt: skip
OWN_FIELDS = Kind(
    "own-fields", "hazard", "A job text has fields that Go does not know.",
    "A Go pool that retries or buries the job drops these fields.", of_wire=True,
)  # fmt: skip

FAULTS = (
    WRONG_TYPE, UNREADABLE, NAMELESS, LOCK, LOCK_INFO, LIMIT, HEARTBEAT, NAME, ENDLESS, OWN_EXPIRY, STRAY, OWNERLESS,
    LEAKED, SCORE, NO_ID, NUMBER, EMPTY_LIST, OWN_FIELDS,
)  # fmt: skip
"""All faults of keys and texts, in the order in which `wire verify` shows them."""


def judge_text(place: Place, data: bytes, score: float | None) -> Iterator[Fault]:
    """Judge one job text, the worst fault first."""
    try:
        text = read(data)
    except CorruptRecord as error:
        yield Fault(UNREADABLE, f"the {error}", True)
        return
    if not text.name and place.kind in _TIMED:
        yield Fault(NAMELESS, "its text has no name", True)
    elif place.kind in ("queue", "in_progress") and text.name != place.name:
        yield Fault(STRAY, f"its name is {_short(text.name)}, and it is in the queue of {_short(place.name)}")
    elif text.name:
        yield from judge_name(text.name)
    if not text.id:
        yield Fault(NO_ID, "its text has no id")
    if score is not None and not math.isfinite(score):
        yield Fault(SCORE, f"its time is {score}")
    yield from _lossy(text, place.kind in _MOVED)


def _lossy(text: JobText, is_moved: bool) -> Iterator[Fault]:
    """Name each change that a Go pool makes when it moves, runs or retries the job."""
    most = _DIGITS if is_moved else _EXACT
    numbers, lists = [], False
    for value in _values(text.args):
        if type(value) is int and abs(value) > most:
            numbers.append(value)
        lists = lists or value == []
    if numbers:
        yield Fault(NUMBER, f"its arguments have the integer {numbers[0]}")
    if lists and is_moved:
        yield Fault(EMPTY_LIST, "its arguments have an empty list")
    if text.unknown:
        names = ", ".join(_short(name) for name, _ in text.unknown[:3])
        yield Fault(OWN_FIELDS, f"its text has fields that Go does not know: {names}")


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
    """Report a key of a wrong type."""
    kind = TYPES[place.kind]
    return Fault(WRONG_TYPE, f"it is a {WORDS.get(stands, stands)}, not a {WORDS.get(kind, kind)}")


def judge_value(place: Place, value: bytes) -> Iterator[Fault]:
    """Judge the value of a string."""
    if place.kind in ("lock", "last_periodic_enqueue") and not is_whole(value):
        kind = LOCK if place.kind == "lock" else HEARTBEAT
        yield Fault(kind, f"it is {_short_bytes(value)}, not an integer", kind is LOCK)
    elif place.kind == "max_concurrency" and (not is_whole(value) or int(value) < 0):
        yield Fault(LIMIT, f"it is {_short_bytes(value)}, not a number from 0 on")


def judge_fields(place: Place, fields: Mapping[str, bytes]) -> Iterator[Fault]:
    """Judge the fields of a heartbeat, or of a `lock_info`."""
    if place.kind == "worker_pool":
        for name in _COUNTED:
            if name in fields and not is_whole(fields[name]):
                yield Fault(HEARTBEAT, f"its {name} is {_short_bytes(fields[name])}, not an integer")
    elif place.kind == "lock_info":
        for name, value in sorted(fields.items()):
            if not is_whole(value):
                yield Fault(LOCK_INFO, f"of pool {_short(name)} it is {_short_bytes(value)}, not an integer", True)


def judge_life(place: Place, ttl: int) -> Iterator[Fault]:
    """Judge the life of a key. `ttl` in seconds; -1: for ever."""
    if ttl == -1 and place.kind == "unique":
        yield Fault(ENDLESS, "it has no expiry", True)
    elif ttl == -1 and place.kind in LIVES:
        yield Fault(OWN_EXPIRY, "it has no expiry", True)


def judge_name(name: str) -> Iterator[Fault]:
    """Judge a known job name."""
    if trouble := "has a comma, which parts the names in a heartbeat" if "," in name else name_trouble(name):
        yield Fault(NAME, f"the job name {_short(name)} {trouble}")


def judge_list(place: Place, pools: Collection[str]) -> Iterator[Fault]:
    """Judge the owner of an in-progress list."""
    if place.of not in pools:
        yield Fault(OWNERLESS, f"the pool {_short(place.of)} is not listed", True)


def is_whole(value: bytes) -> bool:
    """Say whether a value is an integer of 64 bits. Every side counts with such integers."""
    return _WHOLE.fullmatch(value) is not None and -(2**63) <= int(value) < 2**63


def _short(text: str) -> str:
    return _short_bytes(text.encode("utf-8", "surrogatepass" if _is_lone(text) else "surrogateescape"))


def _is_lone(text: str) -> bool:
    return any("\ud800" <= char <= "\udfff" and not "\udc80" <= char <= "\udcff" for char in text)


def _short_bytes(data: bytes) -> str:
    return f'"{brief_bytes(data)}"'
