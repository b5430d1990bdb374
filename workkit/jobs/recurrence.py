"""When a recurring job runs next, and which of its runs are missed: `catch_up`, `catch_up_within`, `spread`. Pure; the
rules: spec/features.md 5.

A *tick* is a time of the trigger. A run is due at its tick, put off by the job's own part of its spread.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from hashlib import sha1
from typing import Any

from workkit.jobs.terms import LATE_MS, PLAIN, Terms
from workkit.triggers import Trigger

MOST_COUNTED = 1_000


@dataclass(frozen=True, slots=True, kw_only=True)
class NextRun:
    """When the next run is due (None: never again), and how many ticks before it are passed over without a run, as far
    as somebody wants to know: for PLAIN terms 0, at most 1,000.
    """

    due_ms: int | None
    missed: int = 0


def next_run(trigger: Trigger, *, due_ms: int, now_ms: int, terms: Terms, offset_ms: int) -> NextRun:
    """What follows the run that is due at `due_ms`, whether that one takes place or `is_missed`.

    Usually the first strictly after now, so that missed ticks make one late run; under catch_up="all" the first after
    `due_ms`. Ticks further back than allowed are passed over either way.
    """
    if terms is PLAIN:
        return NextRun(due_ms=trigger.next_after_ms(max(due_ms, now_ms)))
    within = _within(terms)
    oldest = due_ms if within is None else max(due_ms, now_ms - within - 1)  # exclusive
    late = terms.catch_up == "all" or is_missed(due_ms=due_ms, now_ms=now_ms, terms=terms)
    after = oldest if late else max(due_ms, now_ms)
    tick = trigger.next_after_ms(after - offset_ms)
    counts = terms.name is not None or terms.catch_up is not None or terms.catch_up_within_ms is not None
    missed = _ticks(trigger, after=due_ms - offset_ms, upto=min(after, now_ms) - offset_ms) if counts else 0
    return NextRun(due_ms=None if tick is None else tick + offset_ms, missed=missed)


def first_run(trigger: Trigger, *, now_ms: int, offset_ms: int) -> int | None:
    """When a job that is added now is due first: a whole second at or after now; one less than a second ago, where that
    is the last.
    """
    whole = -(-now_ms // 1000) * 1000
    tick = trigger.next_after_ms(whole - 1000 - offset_ms)
    if tick is None:
        tick = trigger.next_after_ms(whole - 2000 - offset_ms)
    return None if tick is None else tick + offset_ms


def is_missed(*, due_ms: int, now_ms: int, terms: Terms) -> bool:
    """Whether the run due at `due_ms` is later by now than the job allows."""
    within = _within(terms)
    return within is not None and now_ms - due_ms > within


def spread_offset_ms(terms: Terms, fn: str, args: Sequence[Any]) -> int:
    """By how much every run of a job is put off: whole seconds below its spread, the same for all time."""
    if not terms.spread_ms:
        return 0
    text = terms.name or json.dumps([fn, *args], sort_keys=True, separators=(",", ":"), default=str)
    digits = sha1(text.encode(), usedforsecurity=False).hexdigest()[:8]
    return int(digits, 16) % terms.spread_ms // 1000 * 1000


def _within(terms: Terms) -> int | None:
    return LATE_MS if terms.catch_up_within_ms is None and terms.catch_up == "skip" else terms.catch_up_within_ms


def _ticks(trigger: Trigger, *, after: int, upto: int) -> int:
    count, tick = 0, trigger.next_after_ms(after)
    while tick is not None and tick <= upto and count < MOST_COUNTED:
        count, tick = count + 1, trigger.next_after_ms(tick)
    return count
