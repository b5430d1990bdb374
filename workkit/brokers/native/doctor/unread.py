"""Check our own keys for what cannot be read. Listeners and scripts pass over it, by the same rules. The doctor names
it, so that a repair can remove it.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from functools import partial

from workkit.brokers.native.doctor.repair import Loose
from workkit.brokers.native.entry import read_entry, read_parked
from workkit.brokers.native.look.past import missed_pages
from workkit.brokers.native.look.published import Places
from workkit.brokers.native.plans import is_plan_field
from workkit.brokers.native.record import read_count
from workkit.brokers.native.settle import is_failure
from workkit.brokers.redis_server.checks.unread import Garbled, UnreadKeys
from workkit.brokers.redis_server.control import LAST_MS, is_control, read_packed
from workkit.brokers.redis_server.listener_info import is_info, read_said
from workkit.contract.doctor import Finding
from workkit.jobs.option_readers import LONGEST_MS

_RECORD = re.compile(rb"@|info|\d+\..*", re.DOTALL)
_HOLDER = re.compile(rb"\S+(?: [r-]?(?: \S+)?)?")  # of a name or a unique key: an id, a mark, the id of its content
_HOUR = re.compile(rb"[a-z_]+:\d{1,9}")
_ID = re.compile(rb"[0-9a-f]{40}")


@dataclass(frozen=True, slots=True, kw_only=True)
class Unread:
    """One check of our own keys."""

    places: Places

    @property
    def _of(self) -> UnreadKeys:
        return UnreadKeys(server=self.places.server, schedule=self.places.keys.schedule)

    def findings(self) -> Iterator[Finding]:
        """Name each field, member and entry that cannot be read."""
        k, now, of = self.places.keys, self.places.now_ms, self._of
        for key, reads, what in (
            (k.control, is_control, "what a pause or a limit looks like"),
            (k.names, _is_holder, "a job's id"),
            (k.unique, _is_holder, "a job's id"),
            (k.held, lambda _, value: _ID.fullmatch(value) is not None, "a job's id"),
            (k.counts, _is_count, "a count"),
            (k.crashed, _is_count, "a count"),
            (
                k.stats,
                lambda name, value: _HOUR.fullmatch(name) is not None and _is_count(name, value),
                "an hour's count",
            ),
            (k.plans, is_plan_field, "a plan of code"),
            (k.errors, lambda _, value: is_failure(read_packed(value)), "an error"),
        ):
            yield from of.fields(key, reads, what)
        for name in self.places.listed():
            yield from of.fields(k.running(name), _is_record, "a record of a listener")
            yield from of.fields(k.progress(name), lambda _, value: read_said(value) is not None, "progress")
        furthest = max(now, self._last_again()) + LONGEST_MS
        for key, latest in ((k.windows, now + LONGEST_MS), (k.rates, furthest)):
            yield from of.members(key, partial(_is_until, latest), "at a time less than 400 days ahead")
        yield from of.members(k.slots, lambda member, _: b"\0" in member, "a slot")
        for key in (k.slots, k.waiting):
            yield from of.members(key, lambda _, score: score == 0, "at the score 0", kind="due")
        yield from of.members(k.again, _is_entry, "an entry with a due time", kind="due")
        yield from self._parked()
        yield from self._missed()
        yield from of.alone(k.graves, k.dead, "hash", "what is kept of a dead job")
        yield from of.alone(k.turns, k.again, "zset", "an entry that waits for its turn")
        for level in (1, 2, 3):
            yield from of.alone(k.first(level), k.next, "zset", "an item that waits")

    def _parked(self) -> Iterator[Finding]:
        key = self.places.keys.waiting
        for page in self.places.scored_pages(key):
            for member, _ in page:
                if read_parked(member) is None:
                    stray = {"mark": "parked", "member": member, "sweep": 1}
                    yield self._of.found(key, member, "a parked entry", Loose(stray=stray, lost=self.places.lost))

    def _missed(self) -> Iterator[Finding]:
        key = self.places.keys.missed
        for page in missed_pages(self.places.server, self.places.keys):
            for number, missed in page:
                if missed is None:
                    yield self._of.found(key, number, "a missed run", Garbled(key=key, kind="stream", name=number))

    def _last_again(self) -> float:
        with self.places.server.translated() as client:
            last = client.zrange(self.places.keys.again, -1, -1, withscores=True)
        return min(float(last[0][1]), float(LAST_MS)) if last else 0.0


def _is_until(latest: float, _: bytes, score: float) -> bool:
    return score <= latest


def _is_entry(member: bytes, score: float) -> bool:
    return read_entry(member) is not None and -LAST_MS <= score <= LAST_MS


def _is_holder(_: bytes, value: bytes) -> bool:
    return _HOLDER.fullmatch(value) is not None


def _is_count(_: bytes, value: bytes) -> bool:
    return read_count(value) is not None


def _is_record(name: bytes, value: bytes) -> bool:
    return is_info(value) if name == b"info" else _RECORD.fullmatch(name) is not None
