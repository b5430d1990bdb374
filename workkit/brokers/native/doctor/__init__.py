"""Check a native schedule, its server and its listeners: the front of this room."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace

from workkit.brokers.native.codec import Codec
from workkit.brokers.native.doctor.fleet import Fleet, fleet
from workkit.brokers.native.doctor.inventory import Inventory
from workkit.brokers.native.doctor.leftovers import Leftovers
from workkit.brokers.native.doctor.repair import Endless, repair
from workkit.brokers.native.doctor.unread import Unread
from workkit.brokers.native.keys import Keys
from workkit.brokers.native.look.published import Places
from workkit.brokers.redis_server.checks.checkup import OF_SERVER, tried, unchecked, wrong_type
from workkit.brokers.redis_server.checks.host import clock, host, scripts
from workkit.brokers.redis_server.control import standing_control
from workkit.brokers.redis_server.pages import MOST_PAGES, STEP, literally, server_ms
from workkit.brokers.redis_server.refusal import types_of
from workkit.brokers.redis_server.script import load
from workkit.brokers.redis_server.server import Server
from workkit.contract.checkup import dead, limited
from workkit.contract.doctor import Finding
from workkit.errors import ServerRefused
from workkit.text.raw import brief_bytes, bytes_text

NO_END = -1  # the answer of PTTL
WRONG_TYPE = "The server refuses every request that needs this key, so nothing runs. The doctor checked no other key."


@dataclass(frozen=True, slots=True, kw_only=True)
class NativeDoctor:
    """Checks one schedule. Reads in pages of 500."""

    server: Server
    keys: Keys
    codec: Codec

    def checkup(self, *, patience_ms: int) -> Iterator[Finding]:
        """See `Doctor.checkup`. Yields at most 1,000 findings of one kind, and then one that counts the rest.

        If this user may not read something, that is a finding too. A wrong or missing password raises. A finding about
        the server names no schedule.
        """
        yield from limited(self._looked(patience_ms), schedule=self.keys.schedule, of_server=OF_SERVER)

    def repair(self, finding: Finding) -> bool:
        """See `Doctor.repair`."""
        if not finding.repairs:
            return False
        return repair(self._places(), finding.subject)

    def _looked(self, patience_ms: int) -> Iterator[Finding]:
        yield from self._tried("the server's clock", lambda: clock(self.server))
        yield from self._tried("the server's state", lambda: host(self.server, self.keys.schedule).findings())
        yield from self._tried("whether scripts may run", lambda: scripts(self.server, load("native")["reschedule"]))
        wrong: list[Finding] = []
        yield from self._tried("the types of the keys", lambda: self._types(wrong))
        if wrong:
            return  # all further checks need most of them
        yield from self._tried("the schedule", lambda: self._schedule(patience_ms))

    def _schedule(self, patience_ms: int) -> Iterator[Finding]:
        places = self._places()
        unlisted: list[str] | None = []
        try:
            unlisted = places.unlisted()
        except ServerRefused as error:
            yield self._unchecked("whether listeners are missing from the list", error)
        places = replace(places, lost=tuple(unlisted or ()))
        read: list[Fleet] = []
        yield from self._tried("the listeners", lambda: self._fleet(places, read))
        inventory = Inventory(places=places, patience_ms=patience_ms, skipped=read[0].skipped if read else frozenset())
        yield from self._tried("the jobs", inventory.findings)
        leftovers = Leftovers(places=places, unlisted=None if unlisted is None else tuple(unlisted))
        yield from self._tried("what is kept beside the jobs", leftovers.findings)
        yield from self._tried("kept results", lambda: self._endless_results(places))
        yield from self._tried("whether everything can be read", Unread(places=places).findings)
        yield from self._tried("the dead set", self._dead)

    def _fleet(self, places: Places, read: list[Fleet]) -> Iterator[Finding]:
        read.append(fleet(places))
        yield from read[0].findings()

    def _dead(self) -> Iterator[Finding]:
        known = standing_control(self.server, self.keys.control).known_dead_ms
        with self.server.translated() as client:
            count = client.zcount(self.keys.dead, "-inf" if known is None else f"({known}", "+inf")
        kept = "They are kept for 90 days, at most 10,000 of them."
        yield from dead(count, schedule=self.keys.schedule, kept=kept)

    def _types(self, wrong: list[Finding]) -> Iterator[Finding]:
        k = self.keys
        with self.server.translated() as client:
            names = list(self._places().listed()) if client.type(k.listeners) == b"zset" else []
            own = [key(name) for key in (k.running, k.skip, k.progress) for name in names]
            expected = types_of(k.schedule, own)
            pipe = client.pipeline(transaction=False)
            for key in expected:
                pipe.type(key)
            found = [kind.decode() for kind in pipe.execute()]
        for (key, kind), stands in zip(expected.items(), found, strict=True):
            if stands not in (kind, "none"):
                wrong.append(wrong_type(key, stands, kind, why=WRONG_TYPE))
        yield from wrong

    def _tried(self, what: str, look: Callable[[], Iterator[Finding]]) -> Iterator[Finding]:
        yield from tried(self.server, what, look)

    def _unchecked(self, what: str, error: ServerRefused) -> Finding:
        return unchecked(self.server, what, error)

    def _places(self) -> Places:
        return Places(server=self.server, keys=self.keys, codec=self.codec, now_ms=server_ms(self.server))

    def _endless_results(self, places: Places) -> Iterator[Finding]:
        """Check that every key of kept results has a time to live: nothing else removes it. Of a database with too many
        keys only a part is read, as for listeners.
        """
        pattern = literally(places.keys.result("")) + "*"
        cursor, seen = 0, set[bytes]()
        for _ in range(MOST_PAGES):
            with self.server.translated() as client:
                cursor, page = client.scan(cursor, match=pattern, count=STEP)
                pipe = client.pipeline(transaction=False)
                for key in page:
                    pipe.pttl(key)
                lives = pipe.execute() if page else []
            for key, life in zip(page, lives, strict=True):
                if life == NO_END and key not in seen:
                    seen.add(key)
                    yield Finding(
                        kind="endless",
                        what=f"the results in {brief_bytes(key)} have no time to live",
                        why="Nothing would ever remove them. A person or another program wrote the key.",
                        remedy=f"workkit doctor {places.keys.schedule} --fix",
                        repairs=True,
                        subject=Endless(key=key),
                        about=(bytes_text(key),),
                    )
            if not cursor:
                return


class ShardedDoctor:
    """Checks and repairs the shards of one schedule."""

    def __init__(self, shards: Sequence[NativeDoctor]) -> None:
        self._shards = tuple(shards)

    def checkup(self, *, patience_ms: int) -> Iterator[Finding]:
        """Look for faults, shard by shard. If several shards have the same fault, name it once."""
        said: set[tuple[str, str]] = set()
        for number, shard in enumerate(self._shards):
            for finding in shard.checkup(patience_ms=patience_ms):
                if (finding.kind, finding.what) in said and finding.subject is None:
                    continue
                said.add((finding.kind, finding.what))
                yield replace(finding, subject=(number, finding.subject))

    def repair(self, finding: Finding) -> bool:
        """Repair one fault, in its shard."""
        number: int = finding.subject[0]
        return self._shards[number].repair(replace(finding, subject=finding.subject[1]))
