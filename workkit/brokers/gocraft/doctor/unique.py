"""Check unique keys: those whose job is nowhere, and those that would never end."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass

from workkit.brokers.gocraft.doctor.repair import Leak
from workkit.brokers.gocraft.doctor.survey import Survey, Text, raw
from workkit.brokers.gocraft.text import JobText, read
from workkit.brokers.gocraft.unique_key import LIFE_SECONDS, unique_key_of
from workkit.brokers.redis_server.pages import server_ms
from workkit.contract.doctor import Finding
from workkit.errors import CorruptRecord
from workkit.text.raw import brief_bytes, bytes_text

SLACK_MS = 1500  # as in release.lua


@dataclass(frozen=True, slots=True)
class Mark:
    """What a unique key held, and when it ends in ms (None: never)."""

    value: bytes
    ends_ms: int | None

    def is_old(self, now_ms: int, patience_ms: int) -> bool:
        """Whether it was set or renewed so long ago. One whose life is not the usual one counts as old."""
        left = None if self.ends_ms is None else self.ends_ms - now_ms
        return left is None or left > LIFE_SECONDS * 1000 or LIFE_SECONDS * 1000 - left >= patience_ms

    def is_renewed(self, later: Mark) -> bool:
        """Whether somebody has set or renewed it between two looks."""
        if self.value != later.value or self.ends_ms is None or later.ends_ms is None:
            return (self.value, self.ends_ms) != (later.value, later.ends_ms)
        return abs(self.ends_ms - later.ends_ms) > SLACK_MS


@dataclass(slots=True)
class Carried:
    """The unique keys that no job text named so far. Every text of a walk is told to it."""

    survey: Survey
    left: set[str]
    due_s: dict[str, int]

    def see(self, text: Text, job: JobText | None = None) -> None:
        """Note that a text names its key, and when the job is due. `job`: the text, if it was read before."""
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
    """Begin a walk that looks for the jobs of these unique keys; of all, if none are named."""
    return Carried(made, {place.key for place in made.of("unique")} if keys is None else set(keys), {})


def marks(made: Survey, keys: Collection[str]) -> dict[str, Mark]:
    """Read unique keys, and when they end."""
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
    """Name keys whose job was nowhere at two looks, and that nobody has renewed for `patience_ms`."""
    now = marks(made, nowhere)
    for key, mark in sorted(now.items()):
        if key in before and not before[key].is_renewed(mark) and mark.is_old(made.now_ms, patience_ms):
            yield Finding(
                kind="leaked",
                what=f"the unique key {brief_bytes(raw(key))} is set, and no job has it",
                why="While it is there, a job with this unique key cannot be added. A person deleted the job.",
                remedy=f"workkit doctor {made.keys.namespace} --fix",
                repairs=True,
                subject=Leak(key=key, value=mark.value, ends_ms=mark.ends_ms),
                about=(bytes_text(raw(key)),),
            )


def endless(made: Survey, known: Carried) -> Iterator[Finding]:
    """Name keys of jobs that are there, and that have no expiry."""
    asked = [place.key for place in made.of("unique") if place.key not in known.left]
    for key, mark in sorted(marks(made, asked).items()):
        if mark.ends_ms is None:
            life = LIFE_SECONDS + max(0, known.due_s.get(key, 0) - made.now_ms // 1000)
            yield Finding(
                kind="endless",
                what=f"the unique key {brief_bytes(raw(key))} has no expiry",
                why="If its job is deleted, the key stays for ever, and the job could never be added again.",
                remedy=f"workkit doctor {made.keys.namespace} --fix",
                repairs=True,
                subject=Leak(key=key, value=mark.value, ends_ms=None, life=life),
                about=(bytes_text(raw(key)),),
            )
