"""Check the Redis beside an exchange, and its keys there: the front of this room."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass

from workkit.brokers.hutch.beside.doctor.leftovers import Leftovers
from workkit.brokers.hutch.beside.doctor.readable import Readable
from workkit.brokers.hutch.beside.doctor.repair import Subject, repair
from workkit.brokers.hutch.beside.place import Beside
from workkit.brokers.redis_server.checks.checkup import tried, wrong_type
from workkit.brokers.redis_server.checks.host import clock, host, scripts
from workkit.brokers.redis_server.pages import is_text, piped, server_ms
from workkit.brokers.redis_server.script import load
from workkit.contract.doctor import Finding
from workkit.errors import ServerUnreachable

WRONG_TYPE = "The server refuses every request that needs this key, so listeners take no messages."
SETS = ("listeners", "slots", "rates", "unique_until")  # sorted ones
HASHES = ("control", "begun", "counted", "crashes", "unique", "doubted")


@dataclass(frozen=True, slots=True, kw_only=True)
class BesideDoctor:
    """Checks the keys of one exchange. Reads in pages of 500."""

    beside: Beside
    exchange: str

    def findings(self) -> Iterator[Finding]:
        """Name what is wrong. A Redis that does not answer is a finding, not an error."""
        try:
            yield from self._looked()
        except ServerUnreachable as error:
            yield Finding(
                kind="unchecked",
                what=f"the Redis beside it could not be checked: {str(error).rstrip('.')}",
                why="Without it listeners take no messages, and nobody can add jobs with a unique key.",
                remedy="start it again, or correct its address",
                about=("redis",),
            )

    def repair(self, subject: Subject) -> bool:
        """Repair one thing: see `repair.repair`."""
        return repair(self.beside, subject)

    def _looked(self) -> Iterator[Finding]:
        server = self.beside.server
        yield from self._tried("the clock of the Redis beside", lambda: clock(server))
        yield from self._tried("the state of the Redis beside", self._host)
        yield from self._tried("whether scripts may run there", lambda: scripts(server, load("hutch")["declare"]))
        wrong: list[Finding] = []
        yield from self._tried("the types of its keys", lambda: self._types(wrong))
        if wrong:
            return  # all further checks need most of them
        now_ms = server_ms(server)
        left = Leftovers(beside=self.beside, exchange=self.exchange, now_ms=now_ms)
        yield from self._tried("the listeners there", left.listeners)
        yield from self._tried("what runs have left", left.runs)
        yield from self._tried("whether crashes expire", left.expiries)
        readable = Readable(beside=self.beside, exchange=self.exchange, now_ms=now_ms)
        yield from self._tried("whether everything there can be read", readable.findings)

    def _host(self) -> Iterator[Finding]:
        found = host(self.beside.server, self.exchange).findings()
        return (finding for finding in found if finding.kind != "cluster-tag")  # the keys have a tag of their own

    def _types(self, wrong: list[Finding]) -> Iterator[Finding]:
        k = self.beside.keys
        expected = {getattr(k, name): "zset" for name in SETS} | {getattr(k, name): "hash" for name in HASHES}
        with self.beside.server.translated() as client:
            names = client.zrange(k.listeners, 0, -1) if client.type(k.listeners) == b"zset" else []
        listed = [name.decode() for name in names if is_text(name)]
        expected |= {key(name): "hash" for key in (k.running, k.progress) for name in listed}
        kinds = piped(self.beside.server, lambda pipe: [pipe.type(key) for key in expected])
        for (key, kind), stands in zip(expected.items(), kinds, strict=True):
            if stands.decode() not in (kind, "none"):
                wrong.append(wrong_type(key, stands.decode(), kind, why=WRONG_TYPE))
        yield from wrong

    def _tried(self, what: str, look: Callable[[], Iterator[Finding]]) -> Iterator[Finding]:
        yield from tried(self.beside.server, what, look)
