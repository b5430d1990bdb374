"""Check the keys of a namespace: unreadable values, locks that differ from the jobs in progress, texts that stay in
progress though they have ended, unique keys without a job, and keys that never end.

Every repair checks again in the step that changes something, so it changes nothing if the trouble is over. While pools
of Go and of ours run, it loses and doubles no job, and lets no more start than a limit allows. Normative:
spec/layouts/gocraft.md, section 12.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import islice
from typing import Any

from workkit.brokers.doctor import tally
from workkit.brokers.gocraft.doctor import judge
from workkit.brokers.gocraft.doctor.survey import LIVES, PAGE, TYPES, Place, Survey, Text, raw, text_of
from workkit.brokers.gocraft.keys import Keys
from workkit.brokers.gocraft.pool import ENDED, Lock, relock
from workkit.brokers.gocraft.text import LIFE_SECONDS, JobText, read, rewrite, unique_key_of
from workkit.brokers.redis_server.doctor import wrong_type
from workkit.brokers.redis_server.pages import server_ms
from workkit.brokers.redis_server.pipe import AS_READ
from workkit.brokers.redis_server.server import Server
from workkit.contract.doctor import Fault, Finding, Kind
from workkit.errors import CorruptRecord
from workkit.text.cells import brief_bytes, bytes_text, shell_word

# Job texts.

OF_DOCTOR = frozenset({judge.UNREADABLE, judge.NAMELESS, judge.STRAY, judge.SCORE})
"""Faults of texts that do harm today. The others concern only Go pools: `wire verify` names them."""
_ADVICE = {
    judge.STRAY: "find out what put it there; a listener of ours that serves this queue moves it to the dead set",
    judge.SCORE: "find out what wrote it, and remove it with ZREM",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Aside:
    """Bytes in a list (`kind` "list") or sorted set ("zset"). `name` and `pool`: those of an in-progress list. `copy`:
    the text for the dead set; empty: the bytes go to `NSworkkit:unreadable`, and their slot is free.
    """

    key: str
    kind: str
    data: bytes
    name: str = ""
    pool: str = ""
    copy: bytes = b""

    def repair(self, server: Server, keys: Keys) -> bool:
        """Move the bytes."""
        args = [keys.prefix, self.kind, self.name, self.pool, self.data, self.copy]
        return bool(server.run(keys, "aside", args, key=self.key))


def text_findings(made: Survey, text: Text) -> Iterator[Finding]:
    """Yield the faults of one text as findings."""
    place = text.place
    for fault in judge.judge_text(place, text.data, text.score):
        if fault.of not in OF_DOCTOR or (fault.of is judge.SCORE and place.kind == "dead"):
            continue
        subject = None
        what = f"{brief_bytes(raw(place.key))} has {brief_bytes(text.data) or 'empty bytes'}: {fault.what}"
        if fault.repairs:
            of = (place.name, place.of) if place.kind == "in_progress" else ("", "")
            subject = Aside(key=place.key, kind=TYPES[place.kind], data=text.data, name=of[0], pool=of[1])
            what += f"; the repair sets its bytes aside in {made.keys.unreadable}"
        advice = [_ADVICE[fault.of]] if fault.of in _ADVICE else []
        yield fault.of.found(what, *advice, subject=subject, about=(bytes_text(text.data),))


# Keys of a wrong type, values that are no numbers, keys of ours that never end.


@dataclass(frozen=True, slots=True, kw_only=True)
class Endless:
    """One of our keys without an expiry, and the seconds that it gets."""

    key: str
    life: int

    def repair(self, server: Server, keys: Keys) -> bool:
        """Set its expiry."""
        key = self.key.encode("utf-8", AS_READ)
        with server.translated() as client:
            return client.ttl(key) == -1 and bool(client.expire(key, self.life))


def values(made: Survey) -> Iterator[Finding]:
    """Report keys of a wrong type, and values that are no numbers."""
    for place, stands in sorted(made.wrong.items(), key=lambda pair: pair[0].key):
        kind = TYPES[place.kind]
        why = "The server refuses requests that need this key: jobs of its name do not run, or none of the namespace."
        yield wrong_type(raw(place.key), judge.WORDS.get(stands, stands), judge.WORDS.get(kind, kind), why=why)
    for place in (*made.of("max_concurrency"), *made.of("last_periodic_enqueue")):
        for fault in judge.judge_value(place, made.value(place)):
            yield _of_key(place, fault, f"redis-cli SET {shell_word(place.key)} NUMBER")
    for place in made.of("worker_pool"):
        for fault in judge.judge_fields(place, made.fields(place)):
            yield _of_key(place, fault, f"redis-cli DEL {shell_word(place.key)}, once its pool is gone")
    for name in made.members("known_jobs"):
        for fault in judge.judge_name(name):
            advice = "rename the job in the program that adds it"
            yield fault.of.found(fault.what, advice, about=(bytes_text(raw(name)),))


def _of_key(place: Place, fault: Fault, advice: str) -> Finding:
    key = raw(place.key)
    return fault.of.found(f"{brief_bytes(key)}: {fault.what}", advice, about=(bytes_text(key),))


def lives(made: Survey) -> Iterator[Finding]:
    """Report keys of ours that would never end."""
    places = (place for kind in LIVES for place in made.of(kind))
    while page := list(islice(places, PAGE)):
        ttls = made.asked(("TTL", place.key) for place in page)
        for place, ttl in zip(page, ttls, strict=True):
            for fault in judge.judge_life(place, ttl):
                subject, key = Endless(key=place.key, life=LIVES[place.kind]), raw(place.key)
                yield fault.of.found(f"{brief_bytes(key)} has no expiry", subject=subject, about=(bytes_text(key),))


# Locks.


@dataclass(frozen=True, slots=True, kw_only=True)
class Locked:
    """A lock and its lock_info that differ from the jobs in progress, and the difference. `pools`: unlisted pools that
    may have an in-progress list.
    """

    name: str
    how: bytes
    pools: tuple[str, ...] = ()

    def repair(self, server: Server, keys: Keys) -> bool:
        """Correct both."""
        found = relock(server, keys, {self.name: self.how}, pools=self.pools)
        return found[self.name].how == self.how


def locks(made: Survey, pools: Sequence[str]) -> dict[str, Lock]:
    """Read the lock of every name that differs from the jobs in progress."""
    counted = sorted({place.name for place in (*made.of("lock"), *made.of("lock_info"), *made.of("in_progress"))})
    found = relock(made.server, made.keys, dict.fromkeys(counted, b""), pools=pools)
    return {name: lock for name, lock in found.items() if lock.how}


def wrong_locks(made: Survey, before: Mapping[str, Lock], pools: Sequence[str]) -> Iterator[Finding]:
    """Report the locks that still differ in the same way."""
    later = relock(made.server, made.keys, dict.fromkeys(sorted(before), b""), pools=pools)
    for name, lock in later.items():
        if lock.how == before[name].how:
            kind, what, why = _differs(made, name, lock)
            subject = Locked(name=name, how=lock.how, pools=tuple(pools))
            yield kind.found(what, why=why, subject=subject, about=(bytes_text(raw(name)),))


def _differs(made: Survey, name: str, lock: Lock) -> tuple[Kind, str, str]:
    info, number = brief_bytes(raw(made.keys.lock_info(name))), lock.number
    if number != lock.running and (lock.value != b"" or lock.running != 0):
        running = tally(lock.running, "job", "is", "are")
        value = brief_bytes(lock.value) if lock.value else "missing"
        if number is None and lock.value:
            why = "It is no number, so pools cannot take a job of this name."
        elif (number or 0) > lock.running:
            why = "Slots that nobody uses count as taken. If the name has a limit, fewer jobs start, or none."
        else:
            why = "Go pools let more jobs start than the limit allows."
        return judge.LOCK, f"the lock of {brief_bytes(raw(name))} is {value}, and {running} in progress", why
    if lock.gone:
        gone = tally(lock.gone, "pool", "that is", "that are")
        why = "Go pools leave a field there for every pool that ever started. Nothing else removes it."
        return judge.LOCK_INFO, f"{info} counts {gone} gone", why
    why = "A Go pool subtracts it from the lock when it reaps the pool, and the lock is wrong from then on."
    return judge.LOCK_INFO, f"{info} counts other jobs than are in progress", why


# Texts that stay in progress though they have ended.

UNENDED = Kind(
    "unended", "orphan", "A job text is in progress, and its pool runs nothing of its name.",
    "A Go pool ran a newer job with its unique key in its place. It would run too when that pool dies. The repair puts "
    "it into the dead set.",
    "moves it to the dead set",
)  # fmt: skip


def unended(made: Survey, before: Sequence[Text]) -> list[Text]:
    """Find texts in progress that their live pool does not run: it runs nothing of their name. The script of Go ends
    another text of a unique job than the listed one. `before`: the texts that were found at an earlier look.
    """
    known = Counter((text.place, text.data) for text in before)
    found = []
    for place in made.of("in_progress"):
        count, ids = made.asked(
            [
                ("HGET", made.keys.lock_info(place.name), place.of),
                ("HGET", made.keys.worker_pool(place.of), "worker_ids"),
            ]
        )
        is_number = isinstance(count, bytes) and count.lstrip(b"-").isdigit() and len(count) < 16
        if not is_number or int(count) > 0 or not isinstance(ids, bytes):
            continue
        busy = made.asked(("HGET", made.keys.worker(id), "job_name") for id in text_of(ids).split(",") if id)
        if raw(place.name) not in busy:
            found += [text for text in made.texts_in(place) if _is_unique(text.data)]
    return [text for text in found if (text.place, text.data) in known] if before else found


def _is_unique(data: bytes) -> bool:
    try:
        return read(data).unique
    except CorruptRecord:
        return False


def left_over(made: Survey, texts: Sequence[Text]) -> Iterator[Finding]:
    """Report texts that stay in progress though they have ended."""
    for text in texts:
        job, place = read(text.data), text.place
        copy = rewrite(text.data, err=ENDED, failed_at=made.now_ms // 1000)
        yield UNENDED.found(
            f"job {brief_bytes(job.id.encode('utf-8', 'replace'))} is in progress in pool "
            f"{brief_bytes(raw(place.of))}, which runs nothing of {brief_bytes(raw(place.name))}",
            subject=Aside(key=place.key, kind="list", data=text.data, name=place.name, pool=place.of, copy=copy),
            about=(job.id,),
        )


# Unique keys without a job, and those that would never end.

SLACK_MS = 1500  # as in release.lua


@dataclass(frozen=True, slots=True)
class Mark:
    """The value of a unique key, and the ms at which it ends (None: never)."""

    value: bytes
    ends_ms: int | None

    def is_old(self, now_ms: int, patience_ms: int) -> bool:
        """Whether it was set or renewed at least `patience_ms` ago. A key with an unusual life counts as old."""
        left = None if self.ends_ms is None else self.ends_ms - now_ms
        return left is None or left > LIFE_SECONDS * 1000 or LIFE_SECONDS * 1000 - left >= patience_ms

    def is_renewed(self, later: Mark) -> bool:
        """Whether a program has set or renewed it between two looks."""
        if self.value != later.value or self.ends_ms is None or later.ends_ms is None:
            return (self.value, self.ends_ms) != (later.value, later.ends_ms)
        return abs(self.ends_ms - later.ends_ms) > SLACK_MS


@dataclass(frozen=True, slots=True, kw_only=True)
class Leak:
    """A unique key and its value. `life`: seconds that it gets; None: it is removed."""

    key: str
    mark: Mark
    life: int | None = None

    def repair(self, server: Server, keys: Keys) -> bool:
        """Remove it, or set its expiry, if it has not changed."""
        ends_ms, life = self.mark.ends_ms, self.life
        times: list[Any] = [self.mark.value, "" if ends_ms is None else ends_ms, "" if life is None else life]
        return bool(server.run(keys, "release", times, key=self.key))


@dataclass(slots=True)
class Carried:
    """The unique keys that no job text has named so far. `see` takes every text of a walk."""

    survey: Survey
    left: set[str]
    due_s: dict[str, int]

    def see(self, text: Text, job: JobText | None = None) -> None:
        """Note that a text names its key, and the due time of the job. `job`: the text, if it was read before."""
        if job is None:
            try:
                job = read(text.data)
            except CorruptRecord:
                return
        key = job.unique_key or (unique_key_of(self.survey.keys, job) if job.unique else "")
        if not key:
            return
        self.left.discard(key)
        if text.score is not None and text.place.kind != "dead" and 0 <= text.score < 2**53:
            self.due_s[key] = max(self.due_s.get(key, 0), int(text.score))


def carried(made: Survey, keys: Collection[str] | None = None) -> Carried:
    """Begin a walk that searches the jobs of these unique keys; of all, if none are named."""
    return Carried(made, {place.key for place in made.of("unique")} if keys is None else set(keys), {})


def marks(made: Survey, keys: Collection[str]) -> dict[str, Mark]:
    """Read unique keys, and their ends."""
    asked = sorted(keys)
    now_ms = server_ms(made.server)
    replies = made.asked((verb, key) for key in asked for verb in ("GET", "PTTL"))
    found = {}
    for key, value, left in zip(asked, replies[::2], replies[1::2], strict=True):
        if isinstance(value, bytes):
            found[key] = Mark(value, None if left == -1 else now_ms + left)
    return found


def leaked(
    made: Survey, before: Mapping[str, Mark], nowhere: Collection[str], *, patience_ms: int
) -> Iterator[Finding]:
    """Report keys that had no job at two looks, and that no program has renewed for `patience_ms`."""
    for key, mark in sorted(marks(made, nowhere).items()):
        if key in before and not before[key].is_renewed(mark) and mark.is_old(made.now_ms, patience_ms):
            yield judge.LEAKED.found(
                f"the unique key {brief_bytes(raw(key))} is set, and no job has it",
                why=f"{judge.LEAKED.why} A person deleted the job.",
                subject=Leak(key=key, mark=mark),
                about=(bytes_text(raw(key)),),
            )


def endless(made: Survey, known: Carried) -> Iterator[Finding]:
    """Report keys that have a job and no expiry."""
    asked = [place.key for place in made.of("unique") if place.key not in known.left]
    for key, mark in sorted(marks(made, asked).items()):
        if mark.ends_ms is None:
            life = LIFE_SECONDS + max(0, known.due_s.get(key, 0) - made.now_ms // 1000)
            yield judge.ENDLESS.found(
                f"the unique key {brief_bytes(raw(key))} has no expiry",
                why="If its job is deleted, the key stays for ever, and the job could never be added again.",
                subject=Leak(key=key, mark=replace(mark, ends_ms=None), life=life),
                about=(bytes_text(raw(key)),),
            )
