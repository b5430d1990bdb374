"""Check that every key of kept results has a time to live: nothing else removes it."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from workkit.brokers.native.care.repair import Endless
from workkit.brokers.native.look.published import Places
from workkit.brokers.redis_server.pages import MOST_PAGES, STEP, literally
from workkit.contract.doctor import Finding
from workkit.text.raw import brief_bytes, bytes_text

NO_END = -1  # the answer of PTTL


@dataclass(frozen=True, slots=True, kw_only=True)
class EndlessResults:
    """One check of the keys `S:result:<id>`."""

    places: Places

    def findings(self) -> Iterator[Finding]:
        """Name the keys without an end. Of a database with too many keys only a part is read, as for listeners."""
        for key in self._keys():
            yield Finding(
                kind="endless",
                what=f"the results in {brief_bytes(key)} have no time to live",
                why="Nothing would ever remove them. A person or another program wrote the key.",
                remedy=f"workkit doctor {self.places.keys.schedule} --fix",
                repairs=True,
                subject=Endless(key=key),
                about=(bytes_text(key),),
            )

    def _keys(self) -> Iterator[bytes]:
        pattern = literally(self.places.keys.result("")) + "*"
        cursor, seen = 0, set[bytes]()
        for _ in range(MOST_PAGES):
            with self.places.server.translated() as client:
                cursor, page = client.scan(cursor, match=pattern, count=STEP)
                pipe = client.pipeline(transaction=False)
                for key in page:
                    pipe.pttl(key)
                lives = pipe.execute() if page else []
            for key, life in zip(page, lives, strict=True):
                if life == NO_END and key not in seen:
                    seen.add(key)
                    yield key
            if not cursor:
                return
