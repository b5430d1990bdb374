"""Check the keys beside an exchange for what cannot be read, and for times that lie too far ahead."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass

from workkit.brokers.hutch.beside.doctor.leftovers import PLACE, RUN
from workkit.brokers.hutch.beside.look import is_record
from workkit.brokers.hutch.beside.place import Beside
from workkit.brokers.hutch.beside.rows import UNIQUE_MS
from workkit.brokers.hutch.ladder import LONGEST_MS as LONGEST_DELAY_MS
from workkit.brokers.redis_server.checks.unread import UnreadKeys
from workkit.brokers.redis_server.control import is_control
from workkit.brokers.redis_server.listener_info import is_info, read_said
from workkit.brokers.redis_server.pages import is_text
from workkit.contract.doctor import Finding
from workkit.jobs.option_readers import LONGEST_MS

_COUNT = re.compile(rb"[1-9]\d{0,17}")
_NUMBER = re.compile(rb"\d+")
_SLOT = re.compile(rb".*\0" + RUN.pattern, re.DOTALL)


@dataclass(frozen=True, slots=True, kw_only=True)
class Readable:
    """One check of every field, member and score. `now_ms`: by the server's clock."""

    beside: Beside
    exchange: str
    now_ms: int

    def findings(self) -> Iterator[Finding]:
        """Name each that cannot be read. Listeners and scripts pass over it, or would wait for it for ever."""
        k, of = self.beside.keys, UnreadKeys(server=self.beside.server, schedule=self.exchange)
        yield from of.fields(k.control, is_control, "what a pause or a limit looks like")
        for name in self._listed():
            yield from of.fields(k.running(name), _is_record, "a record of a listener")
            yield from of.fields(k.progress(name), lambda _, value: read_said(value) is not None, "progress")
        yield from of.members(k.slots, lambda member, _: _SLOT.fullmatch(member) is not None, "a slot")
        yield from of.members(k.slots, lambda _, score: score == 0, "at the score 0", kind="due")
        furthest = self.now_ms + LONGEST_MS
        yield from of.members(k.rates, lambda _, at: at <= furthest, "at a time less than 400 days ahead")
        yield from of.fields(k.begun, _is_begun, "a message with the run that has it")
        yield from of.fields(k.counted, lambda run, _: RUN.fullmatch(run) is not None, "a run")
        yield from of.fields(k.crashes, lambda _, value: _COUNT.fullmatch(value) is not None, "a count")
        latest = self.now_ms + LONGEST_DELAY_MS + UNIQUE_MS
        what = "at a time when a message under it may still wait"
        yield from of.members(k.unique_until, lambda _, at: at <= latest, what)
        yield from of.alone(k.unique, k.unique_until, "hash", "a unique key with a time at which it is free")

    def _listed(self) -> list[str]:
        with self.beside.server.translated() as client:
            return [name.decode() for name in client.zrange(self.beside.keys.listeners, 0, -1) if is_text(name)]


def _is_begun(place: bytes, run: bytes) -> bool:
    return PLACE.fullmatch(place) is not None and RUN.fullmatch(run) is not None


def _is_record(name: bytes, value: bytes) -> bool:
    match name:
        case b"@":
            return _NUMBER.fullmatch(value) is not None
        case b"info":
            return is_info(value)
    return name.isdigit() and is_record(value)
