"""The doctor of a gocraft namespace, its server and its pools: the list of its checks, in order.

`survey.py` walks over the keys, `judge.py` names the faults of stored values, and `keys.py` and `pools.py` make the
findings and repair them. `Verification` judges all of it for `wire verify`, and reads it for `wire dump`.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator
from dataclasses import dataclass, field
from itertools import islice
from typing import Final

import redis

from workkit.brokers.doctor import UNCHECKED, dead, kinds_of, limited
from workkit.brokers.gocraft.doctor import judge, keys, pools
from workkit.brokers.gocraft.doctor.judge import (
    LEAKED,
    judge_fields,
    judge_life,
    judge_list,
    judge_name,
    judge_text,
    judge_type,
    judge_value,
)
from workkit.brokers.gocraft.doctor.keys import (
    Carried,
    Leak,
    carried,
    endless,
    leaked,
    left_over,
    lives,
    locks,
    marks,
    text_findings,
    unended,
    values,
    wrong_locks,
)
from workkit.brokers.gocraft.doctor.pools import DEAD_MS, Waiting, fleet
from workkit.brokers.gocraft.doctor.survey import (
    LIVES,
    MOST_STEPS,
    PAGE,
    STEP,
    TYPES,
    Holding,
    Place,
    Survey,
    raw,
    survey,
)
from workkit.brokers.gocraft.keys import Keys
from workkit.brokers.gocraft.text import read
from workkit.brokers.redis_server.doctor import clock, host, scripts, tried
from workkit.brokers.redis_server.refusal import code_of
from workkit.brokers.redis_server.script import load
from workkit.brokers.redis_server.server import Server
from workkit.clocks import time
from workkit.contract.doctor import Fault, Finding
from workkit.errors import CorruptRecord, ServerRefused

WALK_SECONDS = 10.0  # repairs of unique keys within this time look for their jobs once


@dataclass(frozen=True, slots=True, kw_only=True)
class GocraftDoctor:
    """Checks one namespace. Reads in pages of 500."""

    server: Server
    keys: Keys
    _nowhere: dict[str, float] = field(
        default_factory=dict, compare=False
    )  # unique keys, and the time of the search for their jobs

    def checkup(self, *, patience_ms: int) -> Iterator[Finding]:
        """See `Doctor.checkup`. Yields at most 1,000 findings of one kind, and then one that counts the rest.

        A state that may last only between two steps of other pools is checked twice, `patience_ms` apart, but at most
        11 s: locks, pools without a heartbeat, unique keys. A unique key is a finding `patience_ms` after it was
        renewed.
        """
        yield from limited(self._looked(patience_ms), schedule=self.keys.namespace)

    def repair(self, finding: Finding) -> bool:
        """See `Doctor.repair`."""
        if not finding.repairs:
            return False
        subject = finding.subject
        if isinstance(subject, Leak) and subject.life is None and not self._is_nowhere(subject.key):
            return False
        try:
            return bool(subject.repair(self.server, self.keys))
        except ServerRefused as error:
            if isinstance(error.__cause__, redis.exceptions.ResponseError) and code_of(error.__cause__) == "WRONGTYPE":
                return False  # that is a separate finding
            raise

    def verification(self) -> Verification:
        """Begin a walk that judges every key and job text, for `wire verify`."""
        return Verification(survey=survey(self.server, self.keys))

    def _looked(self, patience_ms: int) -> Iterator[Finding]:
        yield from self._tried("the server's clock", lambda: clock(self.server))
        yield from self._tried("the server's state", lambda: host(self.server, self.keys.namespace).findings())
        yield from self._tried("whether scripts may run", lambda: scripts(self.server, load("gocraft")["move"]))
        yield from self._tried("the namespace", lambda: self._namespace(patience_ms))

    def _namespace(self, patience_ms: int) -> Iterator[Finding]:
        made = survey(self.server, self.keys)
        if not made.is_whole:
            yield UNCHECKED.found(
                "some keys were not checked: the database has too many keys",
                "use a database of its own for this namespace",
                why=f"The doctor reads the names of all keys. More than {MOST_STEPS * STEP:,} are too many.",
            )
        yield from self._tried("the keys", lambda: values(made))
        yield from self._tried("keys that should end", lambda: lives(made))
        yield from self._tried("pools and jobs", lambda: self._work(made, patience_ms))
        yield from self._tried("jobs with which pools died", lambda: pools.crashed(made))
        yield from self._tried("the dead set", lambda: self._dead(made))

    def _work(self, made: Survey, patience_ms: int) -> Iterator[Finding]:
        known = fleet(made)
        yield from pools.limits(made, known)
        unlisted = pools.settled(known, known)
        suspects, ended = locks(made, unlisted), unended(made, [])
        waiting, texts = Waiting(made, known), carried(made)
        yield from self._walk(made, waiting, texts)
        alone = marks(made, texts.left) if made.is_whole else {}
        before = {key: mark for key, mark in alone.items() if mark.is_old(made.now_ms + DEAD_MS, patience_ms)}
        if suspects or ended or before or any(pool.is_suspect for pool in known.pools):
            time.sleep(min(patience_ms, DEAD_MS) / 1000)
        still = pools.again(made, known)
        yield from left_over(made, unended(made, ended) if ended else [])  # before its pool is reaped, which runs it
        yield from pools.gone(made, known, still=still)
        yield from wrong_locks(made, suspects, unlisted)
        yield from waiting.findings()
        yield from endless(made, texts)
        if before:
            later = survey(self.server, self.keys)
            yield from leaked(later, before, self._unnamed(later, before), patience_ms=patience_ms)

    def _walk(self, made: Survey, waiting: Waiting, texts: Carried) -> Iterator[Finding]:
        for text in made.texts():
            yield from text_findings(made, text)
            try:
                job = read(text.data)
            except CorruptRecord:
                continue
            waiting.see(text, job)
            texts.see(text, job)

    def _unnamed(self, made: Survey, keys: Collection[str]) -> set[str]:
        """Return those of these unique keys that no job text names."""
        found = carried(made, keys)
        for text in made.texts():
            found.see(text)
            if not found.left:
                break
        self._nowhere.update(dict.fromkeys(found.left, time.monotonic()))
        return found.left

    def _is_nowhere(self, key: str) -> bool:
        """Look once more for the job of a unique key, and for the jobs of all other leaked keys."""
        if time.monotonic() - self._nowhere.get(key, 0.0) > WALK_SECONDS or key not in self._nowhere:
            suspects = {*self._nowhere, key}
            self._nowhere.clear()
            self._unnamed(survey(self.server, self.keys), suspects)
        return key in self._nowhere

    def _dead(self, made: Survey) -> Iterator[Finding]:
        for place in made.of("dead"):
            (count,) = made.asked([("ZCARD", place.key)])
            kept = "Pools of ours keep the latest 100,000 of them."
            yield from dead(count, schedule=self.keys.namespace, kept=kept)

    def _tried(self, what: str, look: Callable[[], Iterator[Finding]]) -> Iterator[Finding]:
        yield from tried(self.server, what, look)


# For `wire`: every key and text, judged or as it is.

_VALUED: tuple[Holding, ...] = ("lock", "max_concurrency", "last_periodic_enqueue")
_HASHES: tuple[Holding, ...] = ("worker_pool", "lock_info")
_ENDING: tuple[Holding, ...] = ("unique", *LIVES)


@dataclass(frozen=True, slots=True)
class Flaw:
    """One fault in the bytes of a key, or of a text in it (None: the key itself)."""

    key: bytes
    text: bytes | None
    fault: Fault


@dataclass(slots=True, kw_only=True)
class Verification:
    """One walk over a namespace. `keys` and `texts` count those that were judged so far."""

    survey: Survey
    keys: int = 0
    texts: int = 0
    _left: set[str] = field(default_factory=set)

    def flaws(self) -> Iterator[Flaw]:
        """Judge every key, then every job text, then the unique keys that no job was found for."""
        made = self.survey
        self.keys = sum(map(len, made.found.values())) + len(made.wrong)
        for place, stands in sorted(made.wrong.items(), key=lambda pair: pair[0].key):
            yield _flaw(place, judge_type(place, stands))
        yield from self._values()
        yield from self._texts()
        if self._left:
            again = carried(survey(made.server, made.keys), self._left)
            for text in again.survey.texts():
                again.see(text)
            there = {place.key for place in again.survey.of("unique")}
            for key in sorted(again.left & there):
                yield _flaw(Place(key, "unique"), Fault(LEAKED, "no job has this unique key", True))

    def contents(self) -> Iterator[tuple[Place, list[tuple[bytes, ...]]]]:
        """Read every key with its contents: texts, members with their scores, fields with their values."""
        made = self.survey
        for place in sorted((place for places in made.found.values() for place in places), key=lambda place: place.key):
            match TYPES[place.kind]:
                case "hash":
                    rows: list[tuple[bytes, ...]] = [(raw(name), value) for name, value in made.fields(place).items()]
                case "set":
                    rows = [(raw(member),) for member in made.members_of(place)]
                case "string":
                    rows = [(made.value(place),)]
                case _:
                    rows = [
                        (text.data,) if text.score is None else (text.data, b"%.17g" % text.score)
                        for text in made.texts_in(place)
                    ]
            yield place, rows

    def _values(self) -> Iterator[Flaw]:
        made = self.survey
        for name in made.members("known_jobs"):
            for fault in judge_name(name):
                yield Flaw(raw(made.keys.known_jobs), raw(name), fault)
        for place in (place for kind in _VALUED for place in made.of(kind)):
            yield from (_flaw(place, fault) for fault in judge_value(place, made.value(place)))
        for place in (place for kind in _HASHES for place in made.of(kind)):
            yield from (_flaw(place, fault) for fault in judge_fields(place, made.fields(place)))
        pools = set(made.members("worker_pools"))
        for place in made.of("in_progress"):
            yield from (_flaw(place, fault) for fault in judge_list(place, pools))
        ending = (place for kind in _ENDING for place in made.of(kind))
        while page := list(islice(ending, PAGE)):
            ttls = made.asked(("TTL", place.key) for place in page)
            for place, ttl in zip(page, ttls, strict=True):
                yield from (_flaw(place, fault) for fault in judge_life(place, ttl))

    def _texts(self) -> Iterator[Flaw]:
        seen = carried(self.survey)
        for text in self.survey.texts():
            self.texts += 1
            seen.see(text)
            for fault in judge_text(text.place, text.data, text.score):
                yield Flaw(raw(text.place.key), text.data, fault)
        self._left = seen.left


def _flaw(place: Place, fault: Fault) -> Flaw:
    return Flaw(raw(place.key), None, fault)


def id_of(data: bytes) -> str | None:
    """Read the id of a job text; None if there is none."""
    try:
        return read(data).id or None
    except CorruptRecord:
        return None


KINDS: Final = kinds_of(pools, judge, keys)
"""Every kind of finding that `doctor` or `wire verify` has for a namespace, beside those of each server."""
