"""Hostile contents for every key of the native layout: right types, wrong bytes. Pure, and seeded.

A key that is added to `Keys` without hostile values here makes `test_every_key_has_hostile_values` fail. What would be
an order about good jobs is never made: no mark of theirs, no valid pause or limit of the schedule, no open window of
theirs, no slot of theirs, no beat of a living listener in the past.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from hashlib import sha1
from random import Random
from typing import Any, Literal

from tests.acceptance.hostile_parts import SCORES, bent, noise, number_text, packed, token
from tests.acceptance.hostile_texts import (
    ERROR,
    FN,
    IDS,
    JOBS,
    PAST,
    PAUSES,
    PLAN,
    TRACES,
    as_bytes,
    dead_id,
    due,
    entry,
    grave,
    holder,
    id_of,
    item,
    parked,
    pause,
    payload,
    run_of,
    slot,
)
from workkit.brokers.native.keys import Keys
from workkit.contract.groups import group_id

Kind = Literal["hash", "zset", "set", "list", "string", "stream"]
HOUR_MS = 3_600_000


@dataclass(frozen=True, slots=True, kw_only=True)
class Aim:
    """What values may point at. `listeners` live, `limits`, `names` and `uniques` are of good jobs, and `producers`
    are the tokens of their connections: only what is no order to them is written there.
    """

    now_ms: int
    listeners: tuple[str, ...] = ()
    limits: tuple[str, ...] = ()
    names: tuple[str, ...] = ()
    uniques: tuple[str, ...] = ()
    producers: tuple[str, ...] = ()
    has_fences: bool = False  # whether the `@` of a living listener may be bent


@dataclass(frozen=True, slots=True, kw_only=True)
class Value:
    """One hostile value: where it goes (`name` of the key in `Keys`, `of` its argument, if any), and its bytes."""

    name: str
    kind: Kind
    member: bytes = b""  # a field, a member, the value of a string or of a list, the last field of a stream
    value: bytes = b""
    score: str = "0"
    of: str | int | None = None
    if_new: bool = False  # leave what stands there
    pairs: tuple[tuple[bytes, bytes], ...] = ()

    def key(self, keys: Keys) -> str:
        """The key it goes to."""
        found = getattr(keys, self.name)
        return str(found if self.of is None else found(self.of))

    @property
    def fences(self) -> int | None:
        """The pid of the listener whose request number it bends, so that its work runs elsewhere; else None."""
        if self.name != "running" or self.member != b"@":
            return None
        pid = str(self.of).split(":")[1:2]
        return int(pid[0]) if pid and pid[0].isdecimal() and pid[0].isascii() else None

    def write(self, client: Any, key: str) -> None:
        """Write it, as a hostile peer would."""
        match self.kind:
            case "hash" if self.if_new:
                client.hsetnx(key, self.member, self.value)
            case "hash":
                client.hset(key, self.member, self.value)
            case "zset":
                client.zadd(key, {self.member: self.score}, nx=self.if_new)
            case "set":
                client.sadd(key, self.member)
            case "list":
                client.rpush(key, self.member)
            case "string":
                client.set(key, self.member, ex=60)
            case "stream":
                client.xadd(key, dict(self.pairs), maxlen=2000, approximate=True)

    def stands(self, client: Any, key: str) -> bool:
        """Whether it still stands there as it was written. What is in a list, a string or a stream passes by itself."""
        match self.kind:
            case "hash":
                return bool(client.hget(key, self.member) == self.value)
            case "zset":
                return client.zscore(key, self.member) is not None
            case "set":
                return bool(client.sismember(key, self.member))
        return False

    def __repr__(self) -> str:
        where = self.name if self.of is None else f"{self.name}({self.of!r:.40})"
        if self.pairs:
            return f"<{where} {dict(self.pairs)!r:.160}>"
        value = f" -> {_brief(self.value)}" if self.kind == "hash" else f" @ {self.score}" * (self.kind == "zset")
        return f"<{where} {_brief(self.member)}{value}>"


def _brief(data: bytes) -> str:
    return repr(data) if len(data) <= 90 else f"{data[:60]!r}..{len(data)}..{data[-20:]!r}"


Maker = Callable[[Random, Aim], Value]


def _zset(name: str, member: Callable[[Random], bytes], *, past: float = 0.6) -> Maker:
    def make(r: Random, aim: Aim) -> Value:
        score = str(PAST + r.randrange(10**9)) if r.random() < past else r.choice(SCORES)
        return Value(name=name, kind="zset", member=member(r), score=score)

    return make


def _hash(name: str, member: Callable[[Random], bytes], value: Callable[[Random], bytes]) -> Maker:
    return lambda r, aim: Value(name=name, kind="hash", member=member(r), value=value(r))


def _node(r: Random) -> bytes:
    return r.choice((b"", noise(r), r.randbytes(r.randrange(13)).hex().encode()))


def _leaf(r: Random) -> bytes:
    found = [
        r.randbytes(8) + bytes.fromhex(sha1(noise(r)).hexdigest()) + r.choice((b"", noise(r)))
        for _ in range(r.randrange(9))
    ]
    return b"".join(bytes([len(entry) % 256]) + entry for entry in found) + r.choice((b"", noise(r)))


def _group(r: Random) -> bytes:
    return r.choice((b"%016x" % r.getrandbits(60), id_of(r)[:16], group_id("hostile").encode(), noise(r)))


def _group_record(r: Random) -> bytes:
    record = {
        "name": "hostile", "on_death": "cancel", "total": 3, "made": PAST, "added": PAST, "settled": PAST,
        "rows": r.choice((1, 1e9, "x")),
        "then": IDS[0], "then_payload": JOBS[IDS[0]], "success": IDS[-1], "success_payload": b"{}",
    }  # fmt: skip
    if r.random() < 0.5:
        del record["name"]
        record["of"] = r.choice(IDS)
    return r.choice((b"o", b"r", b"c", b"d", b"x", b"?", b"")) + r.choice((packed(r, record), noise(r), b"\xc1"))


def _group_member(r: Random) -> bytes:
    of = r.choice((r.randbytes(8), bytes.fromhex(group_id("hostile")), noise(r)))
    name = r.choice((r.randbytes(20), r.randbytes(20) + b"@" + token(r), b"=" + _group(r), b"+", noise(r)))
    return of + r.choice((b"w", b"w", b"k", b"D", b"C", b"L", noise(r)[:1])) + name


def _feed(r: Random) -> bytes:
    return r.choice((id_of, run_of, lambda r: b"=" + _group(r), noise))(r) + r.choice((b"\0", b"")) + _group(r)


def _jobs(r: Random, aim: Aim) -> Value:
    if r.random() < 0.3:
        id = r.choice(IDS)
        return Value(name="jobs", kind="hash", member=id.encode(), value=JOBS[id])
    data = payload(r)
    id_ = sha1(data).hexdigest().encode() if r.random() < 0.7 else id_of(r)
    return Value(name="jobs", kind="hash", member=id_, value=data)


def _absent(r: Random) -> str:
    """The name of a listener that is not there."""
    match r.randrange(5):
        case 0:
            return noise(r).decode("utf-8", "replace")
        case 1:
            return f"{r.choice(('', 'h', 'ho:st', chr(27)))}:{number_text(r)}:{r.getrandbits(48):012x}"
    return f"hostile:{r.randrange(9)}:{r.getrandbits(6):012x}"


def _listeners(r: Random, aim: Aim) -> Value:
    if aim.listeners and r.random() < 0.1:  # a beat in the future, until its next one
        ahead = r.choice(("inf", "1e300", "9e15", str(aim.now_ms + 10**6)))
        return Value(name="listeners", kind="zset", member=r.choice(aim.listeners).encode(), score=ahead)
    member = as_bytes(_absent(r)) if r.random() < 0.8 else noise(r)
    score = str(PAST) if r.random() < 0.5 else r.choice(SCORES)
    return Value(name="listeners", kind="zset", member=member, score=score, if_new=True)


def _of_listener(r: Random, aim: Aim) -> str:
    return r.choice(aim.listeners) if aim.listeners and r.random() < 0.5 else _absent(r)


def _info(r: Random) -> bytes:
    return packed(r, ["host", 5, "0.1", {"s": 1}, 4, "listening", 1_700_000_000_000])


def _running(r: Random, aim: Aim) -> Value:
    of, chance = _of_listener(r, aim), r.random()
    lives = of in aim.listeners
    if chance < 0.15:
        member, value = b"info", _info(r)
    elif chance < 0.2 and (aim.has_fences or not lives):
        member, value = b"@", token(r)
    elif chance < 0.3:
        member, value = noise(r), noise(r)
    else:
        number = b"%d" % r.choice((0, 1, 7, 10**9, 10**20)) if r.random() < 0.7 else token(r)
        regular = r.random() < 0.5
        text = item(r) if regular else entry(r)
        member, value = number + b"." + text, due(r) if regular else text
        value = value if r.random() < 0.7 else token(r)
    if lives and member == b"@" and not aim.has_fences:
        member = b"@@"
    return Value(name="running", kind="hash", of=of, member=member, value=value, if_new=lives and b"." in member)


def _parked(r: Random, aim: Aim) -> Value:
    return Value(name="waiting", kind="zset", member=parked(r, aim.limits), score=r.choice(("0", "0", "0", *SCORES)))


def _control(r: Random, aim: Aim) -> Value:
    fields: tuple[tuple[bytes, Callable[[Random], bytes]], ...] = (
        (b"v", token),
        (
            b"limit",
            lambda r: r.choice((b"-1", b"0", b"1.5", b"nan", b"inf", b"1e300", b"0x10", b"", b"\xff", noise(r))),
        ),
        (b"turn_ms", lambda r: r.choice((b"nan", b"-1", b"inf", b"-inf", b"1e300", b"1e400", b"", b"\xff", b"x" * 9))),
        (b"known_dead", lambda r: r.choice((b"-1", b"nan", b"9" * 15, b"9" * 16, b"", b"\xff", noise(r)))),
        (b"paused:schedule", pause),
        (b"paused:fn:#'tests.acceptance.hostile_jobs/note", pause),
        *((as_bytes(f"paused:job:{name}"), pause) for name in aim.names),
        (as_bytes(r.choice(PAUSES)), lambda r: packed(r, ["why", None])),
        (b"paused:fn:" + FN.encode(), lambda r: packed(r, ["why", PAST])),
        (noise(r), noise),
        (b"paused:" + noise(r), pause),
    )
    member, value = r.choice(fields)
    return Value(name="control", kind="hash", member=member or b"?", value=value(r))


def _mapped(name: str, of_good: Callable[[Aim], tuple[str, ...]]) -> Maker:
    """Names and unique keys: hostile ones; and good ones, before a good job takes them, with what is no id of a job."""

    def make(r: Random, aim: Aim) -> Value:
        if of_good(aim) and r.random() < 0.3:
            member = as_bytes(r.choice(of_good(aim)))
            return Value(name=name, kind="hash", member=member, value=_no_job(r), if_new=True)
        return Value(name=name, kind="hash", member=r.choice((b"hostile", noise(r))), value=holder(r))

    return make


def _no_job(r: Random) -> bytes:
    return r.choice((noise(r), b" ", b" r", b"r", b"  ", b"%040x r" % r.getrandbits(150), token(r), b"\xff - \xff"))


def _wait_text(r: Random, aim: Aim) -> Value:
    owner = r.choice((*aim.listeners, "nobody", "", "a b"))
    text = r.choice((b"%d" % aim.now_ms, token(r))) + b" " + owner.encode()
    return Value(name="watch", kind="string", member=text if r.random() < 0.6 else noise(r))


def _answer(r: Random, aim: Aim) -> Value:
    answer = b'%d ["%d","1"]' % (r.choice((0, 1, 10**9)), aim.now_ms)
    of = r.choice(aim.producers) if aim.producers else f"{r.getrandbits(64):016x}"
    text = (
        bent(r, answer, b" ") if r.random() < 0.7 else r.choice((noise(r), b'0 ["1"]', b"1 {}", b"9 null", b"9 [[]]"))
    )
    return Value(name="producer", kind="string", of=of, member=text)


def _missed(r: Random, aim: Aim) -> Value:
    fields = {
        b"id": id_of(r), b"name": b"hostile", b"fn": FN.encode(), b"due": b"%d" % PAST, b"reason": b"late",
        b"times": b"1",
    }  # fmt: skip
    name = r.choice(list(fields))
    if r.random() < 0.3:
        del fields[name]
    else:
        fields[name] = token(r)
    if r.random() < 0.2:
        fields[noise(r)] = noise(r)
    return Value(name="missed", kind="stream", pairs=tuple(fields.items()))


def _stats(r: Random, aim: Aim) -> Value:
    what = r.choice((b"done", b"dead", b"retried", b"missing", b"corrupt", b"cancelled", noise(r)))
    hour = r.choice((b"%d" % (aim.now_ms // HOUR_MS), b"%d" % (aim.now_ms // HOUR_MS + 1), token(r)))
    text = what + b":" + hour if r.random() < 0.8 else noise(r)
    return Value(name="stats", kind="hash", member=text, value=token(r))


def _said(r: Random, aim: Aim) -> Value:
    value = r.choice(
        (b"[1,2]", b"[NaN,1]", b"[1e400,0]", b'"\\ud800"', b"[true,1]", b"[1", b"[" * 3000, token(r), noise(r))
    )
    member = r.choice((noise(r), b"1." + item(r), b"7." + entry(r)))
    return Value(name="progress", kind="hash", of=_of_listener(r, aim), member=member, value=value)


def _first(r: Random, aim: Aim) -> Value:
    score = r.choice((str(PAST), *SCORES))
    return Value(name="first", kind="zset", of=r.choice((1, 2, 3)), member=item(r), score=score)


def _ring(r: Random, aim: Aim) -> Value:
    value = r.choice((r.randbytes(16 * r.randint(0, 70)), r.randbytes(r.randint(0, 99)), b"\xff" * 976, b"\0" * 32))
    return Value(name="lately", kind="hash", member=r.choice((id_of(r), b"hostile", noise(r))), value=value)


def _log(r: Random, aim: Aim) -> Value:
    name = r.choice((b"%s@%d.0" % (id_of(r), aim.now_ms), b"%s@x.y" % id_of(r), b"@", noise(r)))
    value = r.choice((b"%d one\ntwo" % aim.now_ms, b"7 \xff\n\x1b[2J", b"12", noise(r)))
    return Value(name="logs", kind="hash", member=name, value=value)


def _days(r: Random, aim: Aim) -> Value:
    value = r.choice((r.randbytes(5 * r.randint(0, 500)), noise(r)))
    return Value(name="days", kind="hash", member=r.choice((id_of(r), b"hostile", noise(r))), value=value)


def _runs(r: Random, aim: Aim) -> Value:
    fields = {b"i": id_of(r), b"n": b"hostile", b"f": FN.encode(), b"r": r.randbytes(16), b"w": b"", b"m": noise(r),
              b"a": r.choice((b"[[1]]", noise(r)))}  # fmt: skip
    fields[r.choice(list(fields))] = token(r)
    return Value(name="runs", kind="stream", pairs=tuple(fields.items()))


def _result(r: Random, aim: Aim) -> Value:
    fields = {
        b"t": b"1000",
        b"k": r.choice((b"value", b"failed")),
        b"o": run_of(r),
        b"d": due(r),
        b"v": noise(r),
    }
    fields[r.choice(list(fields))] = token(r)
    of = r.choice((id_of(r).decode("ascii", "replace"), "name:hostile"))
    return Value(name="result", kind="stream", of=of, pairs=tuple(fields.items()))


def _cells(r: Random, aim: Aim) -> Value:
    nan = float("nan")
    value = packed(r, [1, 0, 0, 0, 0, r.choice((0, nan)), 5, [r.choice((1, nan, "x")), 2], [7]])
    member = r.choice((b"schedule", b"more", b"fn:" + FN.encode(), noise(r)))
    slot_of = f"h:{aim.now_ms // HOUR_MS}"
    return Value(name="past", kind="hash", of=slot_of, member=member, value=value)


def _changes(r: Random, aim: Aim) -> Value:
    fields = {b"by": b"hostile", b"via": b"cli", b"verb": b"pause", b"target": b"schedule", b"times": b"1"}
    fields[r.choice(list(fields))] = token(r)
    state = r.choice(({"until": PAST}, {"until": 1e300, "due": "x", "limit": [1, b"x"]}, ["why", PAST], [None, 2**63]))
    fields[r.choice((b"before", b"after"))] = r.choice((packed(r, state), noise(r)))
    return Value(name="changes", kind="stream", pairs=tuple(fields.items()))


def _functions(r: Random, aim: Aim) -> Value:
    field = r.choice((b"of:" + _of_listener(r, aim).encode(), b"of:" + noise(r), b"is:" + noise(r), noise(r)))
    entry: list[Any] = [FN, [["email", "positional", "str", None]], "Doc.", {"limit": 1}]
    entry[r.randrange(4)] = r.choice((None, 1, b"x" * 300, [[[]]], {"limit": "x"}, [["a", 1, None, []]]))
    return Value(name="functions", kind="hash", member=field, value=r.choice((noise(r), packed(r, [entry]))))


MAKERS: Mapping[str, Maker] = {
    "jobs": _jobs,
    "next": _zset("next", item),
    "listeners": _listeners,
    "running": _running,
    "skip": lambda r, aim: Value(name="skip", kind="set", of=_of_listener(r, aim), member=id_of(r)),
    "again": _zset("again", entry),
    "progress": _said,
    "ended": lambda r, aim: Value(name="ended", kind="set", member=id_of(r)),
    "slots": lambda r, aim: Value(name="slots", kind="zset", member=slot(r), score=r.choice(("0", "0", *SCORES))),
    "errors": _hash("errors", run_of, lambda r: packed(r, ERROR)),
    "dead": _zset("dead", dead_id),
    "graves": _hash("graves", dead_id, grave),
    "wake": lambda r, aim: Value(name="wake", kind="list", member=token(r)),
    "watch": _wait_text,
    "cancelled": _zset("cancelled", lambda r: r.choice((id_of, run_of))(r), past=0.3),
    "stats": _stats,
    "control": _control,
    "waiting": _parked,
    "unique": _mapped("unique", lambda aim: aim.uniques),
    "names": _mapped("names", lambda aim: aim.names),
    "plans": _hash(
        "plans",
        lambda r: r.choice((b"plan:hostile", b"plan:good", b"job:hostile", b"job:good", noise(r))),
        lambda r: r.choice((packed(r, PLAN), token(r), noise(r))),
    ),
    "windows": _zset("windows", lambda r: r.choice((b"hostile", noise(r)))),
    "held": _hash(
        "held",
        lambda r: r.choice((b"hostile", b"once\0hostile", noise(r))),
        lambda r: r.choice((id_of, token, lambda r: id_of(r) + b" done 1", lambda r: id_of(r) + b" " + noise(r)))(r),
    ),
    "tags": _hash("tags", _node, lambda r: r.choice((b"", noise(r), _leaf(r)))),
    "rates": _zset("rates", lambda r: r.choice((b"schedule", b"fn:hostile", noise(r)))),
    "turns": _zset("turns", entry),
    "order": lambda r, aim: Value(name="order", kind="zset", member=_place(r), score=r.choice(("0", "0", *SCORES))),
    "deadlines": _zset("deadlines", lambda r: r.choice((id_of, run_of))(r)),
    "groups": _hash("groups", _group, _group_record),
    "members": lambda r, aim: Value(
        name="members", kind="zset", member=_group_member(r), score=r.choice(("0", *SCORES))
    ),
    "feeds": lambda r, aim: Value(name="feeds", kind="zset", member=_feed(r), score=r.choice(("0", "0", *SCORES))),
    "rows": _hash(
        "rows",
        lambda r: r.choice((b"0123456789abcdef 1", _group(r) + b" 1", noise(r))),
        lambda r: r.choice((packed(r, [["a", "b"]]), token(r), noise(r))),
    ),
    "ends": _hash(
        "ends", id_of, lambda r: r.choice((b"dead 1", b"done", b"lost " + token(r), b" 9", b"x" * 300, noise(r)))
    ),
    "counts": _hash("counts", id_of, token),
    "crashed": _hash("crashed", run_of, token),
    "first": _first,
    "missed": _missed,
    "lately": _ring,
    "logs": _log,
    "days": _days,
    "runs": _runs,
    "past": _cells,
    "changes": _changes,
    "functions": _functions,
    "result": _result,
    "trace": lambda r, aim: Value(name="trace", kind="string", of=r.choice(IDS), member=r.choice((noise(r), *TRACES))),
    "producer": _answer,
}


def _place(r: Random) -> bytes:
    return r.choice((b"fn:hostile\x0030000000000001000\0" + entry(r), b"schedule\x00x\0" + entry(r), noise(r)))


def every_key() -> set[str]:
    """The names of all keys, as `Keys` has them."""
    methods = {name for name, found in vars(Keys).items() if not name.startswith("_") and inspect.isfunction(found)}
    return vars(Keys("")).keys() - {"schedule"} | methods


@dataclass(slots=True, kw_only=True)
class Source:
    """A stream of values, the same for the same seed and aims."""

    seed: int
    _random: Random = field(init=False)

    def __post_init__(self) -> None:
        self._random = Random(self.seed)

    def values(self, count: int, aim: Aim, *, only: frozenset[str] | None = None) -> Iterator[Value]:
        """So many values, over all keys in turn, or `only` these; each key's turn comes equally often."""
        names = sorted(only or MAKERS)
        for n in range(count):
            if n % len(names) == 0:
                self._random.shuffle(names)
            yield MAKERS[names[n % len(names)]](self._random, aim)
