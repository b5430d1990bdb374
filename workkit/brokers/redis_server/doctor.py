"""Checks that the doctors of all layouts on Redis share: the server, and keys of a wrong type. Knows no key."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass
from typing import Any

import redis

from workkit.brokers.doctor import UNCHECKED
from workkit.brokers.redis_server.address import family
from workkit.brokers.redis_server.pages import piped, unhurried
from workkit.brokers.redis_server.pipe import AS_READ
from workkit.brokers.redis_server.script import Script, may_call_time, scripts_may_call_time
from workkit.brokers.redis_server.server import Server
from workkit.clocks import time
from workkit.contract.broker import Doctor
from workkit.contract.doctor import CommandLine, Finding, Kind
from workkit.errors import ServerRefused
from workkit.text.cells import bytes_text, shell_word
from workkit.text.wording import age_text

Look = Callable[[], Iterator[Finding]]


def tried(server: Server, what: str, look: Look) -> Iterator[Finding]:
    """Check something. If the server forbids it to this user, yield a finding about that. A wrong or missing password
    raises.
    """
    try:
        yield from look()
    except ServerRefused as error:
        if isinstance(error.__cause__, redis.exceptions.AuthenticationError):
            raise
        yield unchecked(server, what, error)


def unchecked(server: Server, what: str, error: ServerRefused) -> Finding:
    """Report a check that was not possible."""
    return UNCHECKED.found(
        f"{what} could not be checked: {str(error).removeprefix(server.url).strip(' :.')}",
        "check again as a user who may run INFO, SCAN, scripts and all commands that read",
    )


WRONG_TYPE = Kind(
    "wrong-type", "deviation", "A key is of another type.", "Every request that needs this key is refused."
)  # fmt: skip


def wrong_type(key: bytes, stands: str, kind: str, *, why: str) -> Finding:
    """Report a key that has another type than `kind`."""
    name = bytes_text(key)
    words = [shell_word(one.decode("utf-8", "surrogateescape")) for one in (key, key + b":wrong")]
    return WRONG_TYPE.found(
        f"{name} is a {stands}, not a {kind}",
        f"find out what wrote it, then rename it: redis-cli RENAME {words[0]} {words[1]}",
        why=why,
        about=(name,),
    )


def wrong_types(server: Server, expected: Mapping[str, str], *, why: str) -> Iterator[Finding]:
    """Report the existing keys that have another type than they should."""
    found = piped(server, lambda pipe: [pipe.type(key) for key in expected])
    for (key, kind), stands in zip(expected.items(), map(bytes.decode, found), strict=True):
        if stands not in (kind, "none"):
            yield wrong_type(key.encode("utf-8", AS_READ), stands, kind, why=why)


# The server: its version, data lost at a restart, eviction, memory, clock and role.

LEAST = (6, 2)
CLOCK_MS = 1_000  # ms; with a larger difference, the two clocks disagree about "now"
LOW = 0.10  # part of maxmemory; less free memory is a finding
USUAL_PORT = 6379  # the port that redis-cli uses without an option
ONE_SLOT = "A script moves a job between keys in one step. A cluster allows that only within one slot."

OLD_SERVER = Kind(
    "old-server", "deviation", "The server is older than Redis 6.2.",
    "It does not have commands that every request of a listener uses.", of_server=True,
)  # fmt: skip
REPLICA = Kind(
    "replica", "deviation", "The address is that of a read-only replica.",
    "It accepts no writes, so nobody can add or run jobs there.", of_server=True,
)  # fmt: skip
NO_APPEND_FILE = Kind(
    "no-append-file", "hazard", "The server keeps no append-only file.",
    "A restart restores its last snapshot, or nothing.", of_server=True,
)  # fmt: skip
EVICTED = Kind(
    "evicted", "deviation", "The server has evicted keys since its start.",
    "Jobs, schedules or registrations of listeners may be among them, and are lost without an error.", of_server=True,
)  # fmt: skip
EVICTION = Kind(
    "eviction", "hazard", "The policy for full memory is another one than `noeviction`.",
    "When memory runs out, the server deletes keys, without an error.", of_server=True,
)  # fmt: skip
LOW_MEMORY = Kind(
    "low-memory", "hazard", "Less than a tenth of `maxmemory` is free.",
    "When none is left, nobody can add jobs. Jobs that are there still run.", of_server=True,
)  # fmt: skip
ACTIVE_REPLICATION = Kind(
    "active-replication", "hazard", "Several servers accept writes, and merge them later.",
    "Two listeners may claim the same job on two of them, and a limit holds for each by itself.", of_server=True,
)  # fmt: skip
CLUSTER_SLOTS = Kind(
    "cluster-slots", "deviation", "The cluster puts keys with the same `{tag}` into different slots.", ONE_SLOT,
    of_server=True,
)  # fmt: skip
CLUSTER_TAG = Kind("cluster-tag", "deviation", "The name of a schedule on a cluster has no `{tag}`.", ONE_SLOT)
CLOCK = Kind(
    "clock", "hazard", "The clocks of the server and of this machine differ by more than a second.",
    "Jobs are due by the server's clock, and in_= counts from it.", of_server=True,
)  # fmt: skip
NO_TIME = Kind(
    "no-time", "hazard", "TIME is refused, to this user or within scripts.",
    "So each client's own clock tells the time, and within scripts never an earlier one than before.", of_server=True,
)  # fmt: skip
REFUSED = Kind(
    "refused", "deviation", "This user may not run scripts.",
    "Every verb is a script. Without scripts, nobody can add or run jobs.", of_server=True,
)  # fmt: skip


@dataclass(frozen=True, slots=True, kw_only=True)
class Host:
    """The answer of the server to INFO, and the name of the schedule on it."""

    server: Server
    schedule: str
    facts: Mapping[str, Any]

    def findings(self) -> Iterator[Finding]:
        """Report the faults that INFO shows."""
        for check in (self._version, self._role, self._persistence, self._memory, self._replication, self._cluster):
            yield from check()

    @property
    def product(self) -> str:
        """The product and its version: ``Valkey 9.1.0``."""
        if version := self.facts.get("valkey_version"):
            return f"Valkey {version}"
        return f"Redis {self.facts.get('redis_version', '?')}"

    @property
    def _client(self) -> str:
        """The beginning of a command to this server. It must not reach another server on the usual port of the same
        machine.
        """
        port = self.facts.get("tcp_port")
        return f"redis-cli -p {port}" if port and port != USUAL_PORT else "redis-cli"

    def _version(self) -> Iterator[Finding]:
        digits = str(self.facts.get("redis_version", "")).split(".")[:2]
        if all(part.isdigit() for part in digits) and tuple(map(int, digits)) < LEAST:
            yield OLD_SERVER.found(f"{self.product} is too old", "use Redis 6.2 or Valkey 7.2, or later")

    def _role(self) -> Iterator[Finding]:
        if self.facts.get("role") == "slave":
            place = self.server.url.partition("://")[2].rpartition("@")[2].partition("/")[0]
            advice = f"name the primary, or use {family(self.server.url)}+sentinel://"
            yield REPLICA.found(f"{place} is a read-only replica", advice)

    def _persistence(self) -> Iterator[Finding]:
        if self.facts.get("aof_enabled", 1) or self.facts.get("role") == "slave":
            return
        saved = int(self.facts.get("rdb_last_save_time", 0))
        changes = int(self.facts.get("rdb_changes_since_last_save", 0))
        now = int(self.facts.get("server_time_usec", time.time() * 1e6)) // 1_000_000  # the server's clock dates both
        since = age_text((now - saved) * 1000)
        yield NO_APPEND_FILE.found(
            f"{self.product} keeps no append-only file",
            f"{self._client} CONFIG SET appendonly yes, and appendonly yes in its configuration file",
            why=f"{NO_APPEND_FILE.why.rstrip('.')}: right now {changes:,} changes, of {since}, are only in memory.",
        )

    def _memory(self) -> Iterator[Finding]:
        most, used = int(self.facts.get("maxmemory", 0)), int(self.facts.get("used_memory", 0))
        policy = str(self.facts.get("maxmemory_policy", "noeviction"))
        if evicted := int(self.facts.get("evicted_keys", 0)):
            yield EVICTED.found(
                f"{self.product} has evicted {evicted:,} keys since its start",
                f"{self._client} CONFIG SET maxmemory-policy noeviction, add again what is missing, then "
                f"{self._client} CONFIG RESETSTAT",
            )
        if not most:
            return
        if policy != "noeviction":
            lost = "jobs" if policy.startswith("allkeys") else "what keeps a retried request from adding twice"
            yield EVICTION.found(
                f"maxmemory-policy is {policy}",
                f"{self._client} CONFIG SET maxmemory-policy noeviction, and the same in its configuration file",
                why=f"When memory runs out, the server deletes {lost}, without an error.",
            )
        if most - used < most * LOW:
            yield LOW_MEMORY.found(
                f"{max(0, most - used) / 2**20:,.1f} MB of {most / 2**20:,.1f} MB are free",
                "give the server more memory, or find out why jobs pile up: ",
                CommandLine(verb="stats", schedule=self.schedule),
            )

    def _replication(self) -> Iterator[Finding]:
        if self.facts.get("role") == "active-replica" or self.facts.get("active_replica") == "yes":
            yield ACTIVE_REPLICATION.found(
                "this server replicates actively: several servers accept writes, and merge them later",
                "active-replica no in its configuration file, and one server that accepts writes",
            )

    def _cluster(self) -> Iterator[Finding]:
        if len(set(self.facts.get("slots_of_tag", ()))) > 1:
            yield CLUSTER_SLOTS.found(
                f'the cluster puts keys with the same tag, that of "{self.schedule}", into different slots',
                "give its database the hashing policy of Redis: only the text between { and } counts",
            )
        if self.facts.get("cluster_enabled") and not _has_tag(self.schedule):
            yield CLUSTER_TAG.found(
                f'schedule "{self.schedule}" on a cluster: its keys would fall into different slots',
                f'name it "{{{self.schedule}}}"',
            )


def host(server: Server, schedule: str) -> Host:
    """Ask the server about itself."""
    with server.translated() as client:
        facts = dict(client.info())
        with suppress(redis.exceptions.ResponseError):  # only KeyDB has the setting, and this user may not ask
            facts["active_replica"] = client.config_get("active-replica").get("active-replica")
        if facts.get("cluster_enabled") and _has_tag(schedule):
            with suppress(redis.exceptions.ResponseError):
                keys = (f"{schedule}:jobs", f"{schedule}:next", f"{schedule}:running:0")
                facts["slots_of_tag"] = [client.execute_command("CLUSTER KEYSLOT", key) for key in keys]
        return Host(server=server, schedule=schedule, facts=facts)


def _has_tag(name: str) -> bool:
    return bool(name.partition("{")[2].partition("}")[0]) and "}" in name.partition("{")[2]


def clock(server: Server) -> Iterator[Finding]:
    """Compare the server's clock with this machine's, and report if this user may not read the server's clock."""
    with server.translated() as client:
        if not may_call_time(client):
            yield NO_TIME.found(
                "this user may not call TIME",
                "ACL SETUSER this user with +time; until then synchronise the clocks of all clients by NTP",
            )
            return
        if scripts_may_call_time(client) is False:
            yield NO_TIME.found(
                "this server refuses TIME within scripts",
                "choose a server that allows TIME within scripts, or leave it so: everything works",
                why="So each client asks for the time before its scripts: every request takes one more round trip.",
            )
        asked = time.time()
        seconds, micros = client.time()
        answered = time.time()
    off = int(seconds) * 1000 + int(micros) / 1000 - (asked + answered) / 2 * 1000
    if abs(off) > CLOCK_MS + (answered - asked) / 2 * 1000:
        how = "ahead of" if off > 0 else "behind"
        yield CLOCK.found(
            f"the server's clock is {abs(off) / 1000:,.1f} s {how} this machine's",
            "synchronise both clocks by NTP (timedatectl set-ntp true)",
        )


def scripts(server: Server, script: Script) -> Iterator[Finding]:
    """Check whether this user may load and run scripts, with a script that changes nothing."""
    try:
        with server.translated() as client:
            client.script_load(script.text)
    except ServerRefused as error:
        advice = "ACL SETUSER this user with +@scripting +@read +@write +@transaction and ~* for its schedules"
        yield REFUSED.found(str(error).rstrip("."), advice)


@dataclass(frozen=True, slots=True)
class Unhurried:
    """A doctor that rests after each page of a key. With many jobs, its checkup takes three times as long."""

    doctor: Doctor

    def checkup(self, *, patience_ms: int) -> Iterator[Finding]:
        """See `Doctor.checkup`. One thread reads all of it."""
        with unhurried():
            yield from self.doctor.checkup(patience_ms=patience_ms)

    def repair(self, finding: Finding) -> bool:
        """See `Doctor.repair`."""
        return self.doctor.repair(finding)
