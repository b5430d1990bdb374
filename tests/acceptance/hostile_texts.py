"""What stands on the server, mostly with one thing wrong: payloads, items, entries, occurrences, parked members,
pauses, graves. Pure, and seeded. All of it is of jobs of its own, which name the function `hostile`.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from hashlib import sha1
from random import Random
from typing import Any

import msgpack

from tests.acceptance import hostile_parts as parts
from tests.acceptance.hostile_parts import bent, json_bytes, noise, pack, packed, token, written

FN = "#'tests.acceptance.hostile_jobs/hostile"
PAST = 1394012056000


_BASES: tuple[dict[str, str], ...] = (
    {"args": "[1]", "cron": '"2014 3 5 * 9 34 16"', "job": f'"{FN}"'},
    {"args": "[2]", "cron": '"* 1 1 * 0 0 0"', "job": f'"{FN}"', "nonce": '"a"'},
    {"args": "[3]", "cron": '"* 2 2 * 0 0 0"', "job": f'"{FN}"', "kwargs": '{"a":1}'},
    {"args": "[4]", "cron": '"* 3 3 * 0 0 0"', "job": f'"{FN}"', "local": '["* 3 3 * 1 0 0"]', "zone": '"Asia/Tokyo"'},
    {"args": "[5]", "cron": '"* 4 4 * 0 0 0"', "job": f'"{FN}"', "from": "0", "until": "253402300799000"},
    {"args": "[6]", "cron": '"* * * * 0/9 0 0"', "job": f'"{FN}"', "interval": '{"phase":8,"days":9999}'},
    {"args": "[7]", "cron": '"* * * * 0/9 0 0"', "job": f'"{FN}"', "interval": '{"phase":5,"seconds":999999999}'},
)  # fmt: skip
_OPTS: tuple[dict[str, str], ...] = (
    {"name": '"hostile"', "count": "3", "overlap": '"queue"', "priority": "2"},
    {"unique_key": '"hostile"', "unique_until": '"started"', "retries": "1", "base_ms": "10"},
    {"catch_up": '"all"', "catch_up_within_ms": "1000", "spread_ms": "1000"},
    {"backoff": '"linear"', "cap_ms": "10", "jitter": "true", "timeout_ms": "5000", "retries": "1"},
    {"count": "5"},
)


def _fields(r: Random, n: int) -> dict[str, str]:
    fields = {**r.choice(_BASES), "args": f"[{n}]"}
    if r.random() < 0.4:
        fields["opts"] = written(r.choice(_OPTS)).decode()
    return fields


def payload(r: Random) -> bytes:
    """A payload, mostly with one thing wrong."""
    fields = _fields(r, r.getrandbits(40))
    chance = r.random()
    if chance < 0.004:
        fields |= {"local": parts.many_rules(20_000), "zone": '"Europe/Paris"'}
    elif chance < 0.008:
        fields["cron"] = '"' + r.choice(("*,", "0 ", "1-5,", "*")) * 300_000 + '"'
    elif chance < 0.25:
        return written(fields)
    elif chance < 0.3:
        return noise(r)
    elif chance < 0.5:
        fields["opts"] = json_bytes(r, r.choice(_OPTS)).decode("utf-8", "surrogateescape")
    else:
        return json_bytes(r, fields)
    return written(fields)


def _job(n: int) -> tuple[str, bytes]:
    data = written({**_BASES[n % len(_BASES)], "args": f"[{n}]", "opts": written(_OPTS[n % 7 % len(_OPTS)]).decode()})
    return sha1(data).hexdigest(), data


JOBS: Mapping[str, bytes] = dict(_job(n) for n in range(20))  # these stand in S:jobs most of the time
IDS = tuple(JOBS)
TRACES = b"00-" + b"a" * 32 + b"-" + b"0" * 16 + b"-01", b"00-" + b"a" * 10_000


def id_of(r: Random) -> bytes:
    """The id of a hostile job, which stands or not; or what is none."""
    match r.randrange(6):
        case 0:
            return noise(r)
        case 1:
            return b"%040x" % r.getrandbits(160)
    return r.choice(IDS).encode()


def item(r: Random) -> bytes:
    """An item of a hostile job; mostly as it should be."""
    id = r.choice(IDS) if r.random() < 0.8 else f"{r.getrandbits(160):040x}"
    match r.randrange(10):
        case 0:
            return noise(r)
        case 1:
            return bent(r, b'{"id":"%b"}' % id.encode(), b'"')
        case 2:
            return b'{"id":%b}' % r.choice(parts.JSON).encode()
        case 3:
            return b'{"date":5, "id" : "%b"}' % id.encode()
    return b'{"id":"%b"}' % id.encode()


def due(r: Random) -> bytes:
    """A due time, mostly a usable one that has passed."""
    if r.random() < 0.3:
        return b"%d" % PAST
    return b"%d" % (PAST + r.randrange(10**9)) if r.random() < 0.8 else token(r)


def nonce(r: Random) -> bytes:
    """The nonce of an occurrence; mostly none."""
    return b"#%06x" % r.getrandbits(24) if r.random() < 0.3 else b""


_FLAGS = (
    b"w3@5*%5B1%2C4%5D", b"w1", b"w9@99999999999999999*", b"w1@5*%5B;-", b"p;w2@1*%22x%22;g1*over:hostile",
    b"p;t600*fn:hostile", b"p;t0*schedule", b"p;t1e999*%zz", b"t5*fn:hostile", b"p;t*",
    b"-", b"-", b"p", b"g1*over:hostile", b"p;g2*fn:hostile", b"g1*unique:hostile;g1*schedule", b"g0*over:hostile",
    b"g99999999999*over:hostile", b"g1*%zz", b"g*", b"g1", b";", b";;p", b"#", b"p;p;p", b"g1*",
    b"b", b"p;b;g1*unique:hostile", b"g-1*over:hostile",
)  # fmt: skip


def entry(r: Random) -> bytes:
    """An entry, mostly with one thing wrong."""
    flags = r.choice(_FLAGS) + nonce(r)
    attempt, crashes = r.choice((b"0", b"0", b"1", b"3")), r.choice((b"0", b"0", b"1", b"2"))
    text = b" ".join((r.choice((b"r", b"o")), due(r), attempt, crashes, flags, item(r)))
    return text if r.random() < 0.3 else bent(r, text, b" ", most=5)


def run_of(r: Random) -> bytes:
    """An occurrence, mostly with one thing wrong."""
    text = id_of(r) + b"@" + due(r) + nonce(r)
    return text if r.random() < 0.4 else bent(r, text, b"@")


LIMITS = ("over:hostile", "unique:hostile", "fn:hostile", f"fn:{FN}", "fn:x={", "schedule", "", ":", "over:", "\x1b")
PAUSES = ("paused:job:hostile", "paused:fn:hostile", "paused:", "paused:job:", "paused:\ud800", "paused:fn:\x1b[2J")


def as_bytes(text: str) -> bytes:
    return text.encode("utf-8", "surrogatepass")


def parked(r: Random, limits: Sequence[str]) -> bytes:
    """A member of S:waiting, mostly with one thing wrong. Under a key of good jobs none is whole: it stands in the way,
    and says nothing.
    """
    ours, text = r.random() < 0.3, entry(r)
    key = as_bytes(r.choice(limits) if ours and limits else r.choice(LIMITS + PAUSES))
    if ours and limits and r.random() < 0.3:
        flags = r.choice((b"g0*", b"g-1*", b"g*", b"", b"g" + b"9" * 400 + b"*")) + key
        text = b"r %d 0 0 %b " % (PAST, flags.replace(b" ", b"")) + item(r)
    whole = b"\0".join((key, b"%016d" % (PAST + r.randrange(10**6)), run_of(r), text))
    if r.random() < 0.2:
        return whole[: r.randrange(len(key) + 24)]
    return whole if r.random() < 0.3 else key + b"\0" + bent(r, whole[len(key) + 1 :], b"\0")


def pause(r: Random) -> bytes:
    """What is no pause, whoever reads it generously."""
    while True:
        data = packed(r, ["why", None])
        if not _may_pause(data):
            return data


def _may_pause(data: bytes) -> bool:
    try:
        read = msgpack.unpackb(data, raw=True, strict_map_key=False)
    except ValueError:
        unpacker = msgpack.Unpacker(raw=True, strict_map_key=False)
        unpacker.feed(data)  # a lenient reader takes the first of several
        try:
            read = unpacker.unpack()
        except (ValueError, msgpack.OutOfData, RecursionError):
            return False
    except RecursionError:
        return False
    if not isinstance(read, list) or len(read) < 2 or not (read[0] is None or isinstance(read[0], bytes)):
        return False
    return read[1] is None or (isinstance(read[1], (int, float)) and not read[1] <= 0)


def holder(r: Random) -> bytes:
    text = r.choice(IDS).encode() + r.choice((b"", b" r", b" -", b" - " + b"%040x" % r.getrandbits(160), b" r " + b"a"))
    return text if r.random() < 0.2 else bent(r, text, b" ")


def slot(r: Random) -> bytes:
    key = r.choice(("run:" + r.choice(IDS), *LIMITS, "run:", "paused:job:hostile"))
    text = as_bytes(key) + b"\0" + run_of(r)
    return text if r.random() < 0.4 else key.encode() + b"\0x" + bent(r, text, b"\0")


_GRAVE: dict[str, Any] = {
    "id": IDS[0].encode(), "payload": JOBS[IDS[0]], "member": b'{"id":"%b"}' % IDS[0].encode(), "kind": "o",
    "flags": "-", "due": PAST, "attempt": 1, "reason": "failed", "error": ["OSError", "no", "a.py:1", "..."],
}  # fmt: skip
ERROR = ["OSError", "no", "a.py:1", "...", 1.7e9]
PLAN = [3, "5d41402abc4b2a76", "", 1_700_000_000_000, 1_700_000_000_000, ["7d793037a0760186"]]


def grave(r: Random) -> bytes:
    id = r.choice(IDS)
    kept = {**_GRAVE, "id": id.encode(), "payload": payload(r) if r.random() < 0.3 else JOBS[id]}
    if r.random() < 0.2:
        kept["error"] = r.choice(([], ["a"], [1, 2, 3, 4], [None] * 4, [b"\xff"] * 4, {}, "x"))
    return pack(kept) if r.random() < 0.2 else packed(r, kept)


_DEAD = tuple(f"{id}@{PAST}".encode() for id in IDS)


def dead_id(r: Random) -> bytes:
    return r.choice(_DEAD) if r.random() < 0.7 else run_of(r)
