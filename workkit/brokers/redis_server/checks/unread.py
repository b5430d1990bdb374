"""Check keys for what cannot be read, and remove it: the same for all layouts. Knows no key."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial
from typing import Any

from workkit.brokers.redis_server.pages import hash_pages, piped, scored_pages
from workkit.brokers.redis_server.server import Server
from workkit.contract.doctor import Finding
from workkit.text.raw import brief_bytes, bytes_text

Reads = Callable[[bytes, Any], bool]


@dataclass(frozen=True, slots=True, kw_only=True)
class Garbled:
    """What cannot be read in a key of our own, and the value or score that was read: the arguments of `tidy.lua`."""

    key: str
    kind: str
    name: bytes
    value: bytes | str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class UnreadKeys:
    """Names what cannot be read in the keys of one schedule. `reads` says of a field or member whether it can be read;
    `what` says what it should be, as the end of a sentence.
    """

    server: Server
    schedule: str

    def fields(self, key: str, reads: Reads, what: str) -> Iterator[Finding]:
        """Check each field of a hash."""
        for page in hash_pages(self.server, key):
            for name, value in page.items():
                if not reads(name, value):
                    yield self.found(key, name, what, Garbled(key=key, kind="hash", name=name, value=value))

    def members(self, key: str, reads: Reads, what: str, *, kind: str = "zset") -> Iterator[Finding]:
        """Check each member of a sorted set. A repair with `kind` "due" only sets its score to 0."""
        for page in scored_pages(self.server, key):
            for member, score in page:
                if not reads(member, score):
                    subject = Garbled(key=key, kind=kind, name=member, value=repr(score))
                    yield self.found(key, member, what, subject)

    def alone(self, key: str, index: str, kind: str, what: str) -> Iterator[Finding]:
        """Name members of one key that must be in another key too, and are not. Read each of them again in one step."""
        pages = hash_pages(self.server, key) if kind == "hash" else map(dict, scored_pages(self.server, key))
        for page in pages:
            names = list(page)
            scores = piped(self.server, partial(_scores, index, names))
            for name in (name for name, score in zip(names, scores, strict=True) if score is None):
                value = self._still(key, index, kind, name)
                if value is not None:
                    yield self.found(key, name, what, Garbled(key=key, kind=kind, name=name, value=value))

    def found(self, key: str, name: bytes, what: str, subject: object) -> Finding:
        """Make the finding about one of them."""
        return Finding(
            kind="unread",
            what=f"{key} holds {brief_bytes(name) or 'an empty name'}, which is not {what}",
            why="Nobody can read it, so it has no effect. A program that does not know this key wrote it.",
            remedy=f"workkit doctor {self.schedule} --fix",
            repairs=True,
            subject=subject,
            about=(bytes_text(name),),
        )

    def _still(self, key: str, index: str, kind: str, name: bytes) -> bytes | str | None:
        value, score = piped(
            self.server,
            lambda pipe: (pipe.hget(key, name) if kind == "hash" else pipe.zscore(key, name), pipe.zscore(index, name)),
            whole=True,
        )
        if value is None or score is not None:
            return None
        return value if kind == "hash" else repr(value)


def _scores(key: str, names: list[bytes], pipe: Any) -> None:
    for name in names:
        pipe.zscore(key, name)
