"""The doctor of a gocraft namespace, its server and its pools: the list of its checks, in order.

`survey.py` walks over the keys, `judge.py` names the faults of what is stored, `verify.py` shows them for `wire`;
`keys.py` and `pools.py` make the findings and repair them.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator
from dataclasses import dataclass, field
from typing import Final

import redis

from workkit.brokers.doctor import UNCHECKED, dead, kinds_of, limited
from workkit.brokers.gocraft.doctor import judge, keys, pools
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
from workkit.brokers.gocraft.doctor.survey import MOST_STEPS, STEP, Survey, survey
from workkit.brokers.gocraft.doctor.verify import Verification
from workkit.brokers.gocraft.keys import Keys
from workkit.brokers.gocraft.text import read
from workkit.brokers.redis_server.doctor import clock, host, scripts, tried
from workkit.brokers.redis_server.refusal import code_of
from workkit.brokers.redis_server.script import load
from workkit.brokers.redis_server.server import Server
from workkit.clocks import time
from workkit.contract.doctor import Finding
from workkit.errors import CorruptRecord, ServerRefused

WALK_SECONDS = 10.0  # repairs of unique keys within this time look for their jobs once


@dataclass(frozen=True, slots=True, kw_only=True)
class GocraftDoctor:
    """Checks one namespace. Reads in pages of 500."""

    server: Server
    keys: Keys
    _nowhere: dict[str, float] = field(
        default_factory=dict, compare=False
    )  # unique keys, and when they were looked for

    def checkup(self, *, patience_ms: int) -> Iterator[Finding]:
        """See `Doctor.checkup`. Yields at most 1,000 findings of one kind, and then one that counts the rest.

        What may be a moment between two steps of other pools is looked at twice, `patience_ms` apart, but at most 11 s:
        locks, pools without a heartbeat, unique keys. A unique key is a finding `patience_ms` after it was renewed.
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
                return False  # that is a finding of its own
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
        """Which of these unique keys no job text names."""
        found = carried(made, keys)
        for text in made.texts():
            found.see(text)
            if not found.left:
                break
        self._nowhere.update(dict.fromkeys(found.left, time.monotonic()))
        return found.left

    def _is_nowhere(self, key: str) -> bool:
        """Look for the job of a unique key once more, and for those of all other keys that were leaked."""
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


KINDS: Final = kinds_of(pools, judge, keys)
"""Every kind of finding that `doctor` or `wire verify` has for a namespace, beside those of each server."""
