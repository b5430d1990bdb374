"""Read which limits and rates of a native schedule are in use: in two round trips, and one for the payloads."""

from __future__ import annotations

import math
from collections import Counter
from dataclasses import dataclass, field, replace
from typing import Any

from workkit.brokers.native.codec import instant_of
from workkit.brokers.native.entry import read_entry, read_parked
from workkit.brokers.native.look.listing import Listing, record_rows
from workkit.brokers.native.look.search import named_entry
from workkit.brokers.redis_server.control import standing, whole_ms
from workkit.brokers.redis_server.pages import is_text
from workkit.brokers.redis_server.slot_keys import ask_slots, bounds, grouped
from workkit.contract.composed import MOST_LISTENERS
from workkit.contract.inspector import MOST_HOLDERS, MOST_LIMITS, Holder, LimitUse, worst_first
from workkit.jobs.admission import SCHEDULE, Control

MOST_KEYS = 1_000  # whose waiting jobs are counted
MOST_HELD = 1_000  # entries held by rates that are looked at; how many wait behind them, the turns tell
START = b"start:"  # of a rate key: not a turn, but how late its next start may be
UNIQUE = b"unique:"
ALONE = (b"over:", UNIQUE)  # keys that allow one run


@dataclass(slots=True)
class _Run:
    """What the records of listeners tell of one job: who runs it, and the limits of its keys."""

    listener: str
    limits: dict[str, int] = field(default_factory=dict)


def read_limits(listing: Listing, *, like: str = "") -> list[LimitUse]:
    """Read what is in use: see `Inspector.limits`."""
    k, wanted = listing.keys, like.encode("utf-8", "replace")
    with listing.server.translated() as client:
        pipe = client.pipeline(transaction=False)
        pipe.time()
        pipe.hgetall(k.control)
        pipe.zrevrange(k.listeners, 0, MOST_LISTENERS - 1)
        pipe.zrevrange(k.rates, 0, 2 * MOST_LIMITS - 1, withscores=True)
        pipe.hget(k.unique, wanted)
        pipe.zscore(k.windows, wanted)
        ask_slots(pipe, k.slots)
        if wanted:
            pipe.zrangebylex(
                k.slots, b"[" + UNIQUE + wanted, b"(" + UNIQUE + wanted + b"\xff", start=0, num=MOST_LIMITS
            )
        clock, fields, names, rates, holder, window, *pages = pipe.execute()
        now = int(clock[0]) * 1000 + int(clock[1]) // 1000
        slots = grouped(pages[2:])
        slots |= dict(sorted(grouped(pages[:2]).items(), key=lambda one: one[0].startswith(ALONE))[:MOST_KEYS])
        listeners = [name.decode() for name in names if is_text(name)]
        pipe = client.pipeline(transaction=False)
        for key in slots:
            pipe.zlexcount(k.slots, *bounds(key))
            pipe.zlexcount(k.waiting, *bounds(key))
            pipe.zrangebylex(k.waiting, *bounds(key), start=0, num=1)
        for name in listeners:
            pipe.hgetall(k.running(name))
        pipe.zrangebyscore(k.again, f"({now}", "+inf", start=0, num=MOST_HELD, withscores=True)
        *answers, owed = pipe.execute()
    _, control = standing(fields, now_ms=now)
    counted, records = answers[: 3 * len(slots)], answers[3 * len(slots) :]
    runs = _runs(listeners, records)
    found = []
    for n, key in enumerate(slots):
        used, waiting, first = counted[3 * n : 3 * n + 3]
        found.append(_use(key, used, waiting, first, slots[key], runs, control))
    found += _rates(rates, owed, now, control)
    if wanted and window is not None and window > now:
        found.append(LimitUse(key=f"window:{like}", turn=instant_of(whole_ms(window)), waiting=None))
    id = named_entry(holder)[0] if wanted and holder is not None else ""
    if UNIQUE + wanted not in slots and any(job is not None for job in listing.stored([id] if id else [])):
        slots[UNIQUE + wanted] = [id.encode()]
        found.append(_use(UNIQUE + wanted, 1, 0, [], slots[UNIQUE + wanted], runs, control))
    worst = worst_first(found, like=like)
    return _with_holders(listing, worst, slots, runs)


def _runs(listeners: list[str], records: list[Any]) -> dict[str, _Run]:
    """Read who runs what, by id, and the limits under which each claim has its slots."""
    found: dict[str, _Run] = {}
    for name, record in zip(listeners, records, strict=True):
        for row in record_rows("", record, {}):
            run = found.setdefault(row.id, _Run(name))
            run.limits |= dict(row.entry.slots)
    return found


def _use(
    key: bytes,
    used: int,
    waiting: int,
    first: list[bytes],
    holders: list[bytes],
    runs: dict[str, _Run],
    control: Control,
) -> LimitUse:
    name = key.decode("utf-8", "replace")
    parked = read_parked(first[0]) if first else None
    known = [run.limits[name] for id in map(_id, holders) if (run := runs.get(id)) and name in run.limits]
    known += [dict(parked.entry.slots)[name]] if parked and name in dict(parked.entry.slots) else []
    limit = 1 if key.startswith(ALONE) else control.limit if name == SCHEDULE else max(known, default=None)
    oldest = None if parked is None else instant_of(parked.entry.due_ms)
    return LimitUse(key=name, used=used, limit=limit, waiting=waiting, oldest=oldest)


def _rates(
    rates: list[tuple[bytes, float]], owed: list[tuple[bytes, float]], now: int, control: Control
) -> list[LimitUse]:
    """Take the rates whose next turn is yet to come, each with how many jobs it holds. `owed`: the first entries of
    `S:again` that are not due. Where there may be more, the turns that are taken tell how many.
    """
    waiting: Counter[str] = Counter()
    periods = {} if control.turn_ms is None else {SCHEDULE: control.turn_ms}
    for text, when in owed:
        if (entry := read_entry(text)) is not None and entry.is_held(when, now) and entry.rate is not None:
            waiting[entry.rate[0]] += 1
            periods[entry.rate[0]] = entry.rate[1]
    found = []
    for key, at in rates:
        turn = instant_of(whole_ms(at))
        if at > now and turn is not None and not key.startswith(START):
            name = key.decode("utf-8", "replace")
            turn_ms, count = periods.get(name), waiting[name]
            if len(owed) == MOST_HELD and turn_ms:
                count = max(count, math.ceil((at - now) / turn_ms) - 1)
            found.append(LimitUse(key=name, turn=turn, turn_ms=turn_ms, waiting=count))
    return found


def _with_holders(
    listing: Listing, uses: list[LimitUse], slots: dict[bytes, list[bytes]], runs: dict[str, _Run]
) -> list[LimitUse]:
    """Add the jobs that have the slots."""
    by_name = {key.decode("utf-8", "replace"): [_id(run) for run in held[:MOST_HOLDERS]] for key, held in slots.items()}
    ids = list(dict.fromkeys(id for use in uses if not use.is_rate for id in by_name.get(use.key, ())))
    jobs = {job.id: job for job in listing.stored(ids) if job is not None}
    return [
        use if use.is_rate else replace(use, holders=tuple(
            Holder(job=jobs[id], listener=runs[id].listener if id in runs else None)
            for id in by_name.get(use.key, ()) if id in jobs
        ))
        for use in uses
    ]  # fmt: skip


def _id(run: bytes) -> str:
    return run.partition(b"@")[0].decode("utf-8", "replace")
