"""Check the server of a schedule of any layout: its version, what a restart loses, eviction, memory, clock and role."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass
from typing import Any

import redis

from workkit.brokers.redis_server.address import family
from workkit.brokers.redis_server.script import Script
from workkit.brokers.redis_server.server import Server
from workkit.brokers.redis_server.time_source import may_call_time, scripts_may_call_time
from workkit.clocks import time
from workkit.contract.doctor import Finding
from workkit.errors import ServerRefused
from workkit.text.duration import age_text

LEAST = (6, 2)
CLOCK_MS = 1_000  # with a larger difference, "now" is not the same time for both
LOW = 0.10  # of maxmemory
USUAL_PORT = 6379  # of redis-cli too


@dataclass(frozen=True, slots=True, kw_only=True)
class Host:
    """The answer of the server to INFO, and the name of the schedule on it."""

    server: Server
    schedule: str
    facts: Mapping[str, Any]

    def findings(self) -> Iterator[Finding]:
        """Name what is wrong according to INFO."""
        yield from self._version()
        yield from self._role()
        yield from self._persistence()
        yield from self._memory()
        yield from self._active_replication()
        slots = self.facts.get("slots_of_tag", ())
        if len(set(slots)) > 1:
            yield Finding(
                kind="cluster-slots",
                what=f'the cluster puts keys with the same tag, that of "{self.schedule}", into different slots',
                why="A script moves a job between keys in one step. A cluster allows that only within one slot.",
                remedy="give its database the hashing policy of Redis: only the text between { and } counts",
            )
        if self.facts.get("cluster_enabled") and not _has_tag(self.schedule):
            yield Finding(
                kind="cluster-tag",
                what=f'schedule "{self.schedule}" on a cluster: its keys would fall into different slots',
                why="A script moves a job between keys in one step. A cluster allows that only within one slot.",
                remedy=f'name it "{{{self.schedule}}}"',
            )

    def _active_replication(self) -> Iterator[Finding]:
        if self.facts.get("role") == "active-replica" or self.facts.get("active_replica") == "yes":
            yield Finding(
                kind="active-replication",
                what="this server replicates actively: several servers accept writes, and merge them later",
                why="Two listeners may claim the same job on two of them, and a limit holds for each by itself.",
                remedy="active-replica no in its configuration file, and one server that accepts writes",
            )

    @property
    def product(self) -> str:
        """The product and its version: ``Valkey 9.1.0``."""
        if version := self.facts.get("valkey_version"):
            return f"Valkey {version}"
        return f"Redis {self.facts.get('redis_version', '?')}"

    def _version(self) -> Iterator[Finding]:
        digits = str(self.facts.get("redis_version", "")).split(".")[:2]
        if not all(part.isdigit() for part in digits) or tuple(map(int, digits)) >= LEAST:
            return
        yield Finding(
            kind="old-server",
            what=f"{self.product} is too old",
            why="It does not have commands that every request of a listener uses.",
            remedy="use Redis 6.2 or Valkey 7.2, or later",
        )

    def _role(self) -> Iterator[Finding]:
        if self.facts.get("role") == "slave":
            place = self.server.url.partition("://")[2].rpartition("@")[2].partition("/")[0]
            yield Finding(
                kind="replica",
                what=f"{place} is a read-only replica",
                why="It accepts no writes, so nobody can add or run jobs there.",
                remedy=f"name the primary, or use {family(self.server.url)}+sentinel://",
            )

    @property
    def _client(self) -> str:
        """The beginning of a command to this server, and not to another on the usual port of the same machine."""
        port = self.facts.get("tcp_port")
        return f"redis-cli -p {port}" if port and port != USUAL_PORT else "redis-cli"

    def _persistence(self) -> Iterator[Finding]:
        if self.facts.get("aof_enabled", 1) or self.facts.get("role") == "slave":
            return
        saved = int(self.facts.get("rdb_last_save_time", 0))
        changes = int(self.facts.get("rdb_changes_since_last_save", 0))
        now = int(self.facts.get("server_time_usec", time.time() * 1e6)) // 1_000_000  # the server's clock dates both
        since = age_text((now - saved) * 1000)
        yield Finding(
            kind="no-append-file",
            what=f"{self.product} keeps no append-only file",
            why=f"A restart restores its last snapshot, or nothing: right now {changes:,} changes, of {since}, are "
            "only in memory.",
            remedy=f"{self._client} CONFIG SET appendonly yes, and appendonly yes in its configuration file",
        )

    def _memory(self) -> Iterator[Finding]:
        most, used = int(self.facts.get("maxmemory", 0)), int(self.facts.get("used_memory", 0))
        policy = str(self.facts.get("maxmemory_policy", "noeviction"))
        if evicted := int(self.facts.get("evicted_keys", 0)):
            yield Finding(
                kind="evicted",
                what=f"{self.product} has evicted {evicted:,} keys since its start",
                why="Jobs, schedules or registrations of listeners may be among them, and are lost without an error.",
                remedy=f"{self._client} CONFIG SET maxmemory-policy noeviction, add again what is missing, then "
                f"{self._client} CONFIG RESETSTAT",
            )
        if not most:
            return
        if policy != "noeviction":
            lost = "jobs" if policy.startswith("allkeys") else "what keeps a retried request from adding twice"
            yield Finding(
                kind="eviction",
                what=f"maxmemory-policy is {policy}",
                why=f"When memory runs out, the server deletes {lost}, without an error.",
                remedy=f"{self._client} CONFIG SET maxmemory-policy noeviction, and the same in its configuration file",
            )
        if most - used < most * LOW:
            free = max(0, most - used)
            yield Finding(
                kind="low-memory",
                what=f"{free / 2**20:,.1f} MB of {most / 2**20:,.1f} MB are free",
                why="When none is left, nobody can add jobs. Jobs that are there still run.",
                remedy=f"give the server more memory, or find out why jobs pile up: workkit stats {self.schedule}",
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


def clock(server: Server) -> Iterator[Finding]:
    """Compare the server's clock with this machine's, and say where this user cannot have the server's."""
    with server.translated() as client:
        if not may_call_time(client):
            yield Finding(
                kind="no-time",
                what="this user may not call TIME",
                why="So each client's own clock tells the time, and within scripts never an earlier one than before.",
                remedy="ACL SETUSER this user with +time; until then synchronise the clocks of all clients by NTP",
            )
            return
        if scripts_may_call_time(client) is False:
            yield Finding(
                kind="no-time",
                what="this server refuses TIME within scripts",
                why="So each client asks for the time before its scripts: every request takes one more round trip.",
                remedy="choose a server that allows TIME within scripts, or leave it so: everything works",
            )
        asked = time.time()
        seconds, micros = client.time()
        answered = time.time()
    off = int(seconds) * 1000 + int(micros) / 1000 - (asked + answered) / 2 * 1000
    if abs(off) <= CLOCK_MS + (answered - asked) / 2 * 1000:
        return
    yield Finding(
        kind="clock",
        what=f"the server's clock is {abs(off) / 1000:,.1f} s {'ahead of' if off > 0 else 'behind'} this machine's",
        why="Jobs are due by the server's clock, and in_= counts from it.",
        remedy="synchronise both clocks by NTP (timedatectl set-ntp true)",
    )


def scripts(server: Server, script: Script) -> Iterator[Finding]:
    """Check whether this user may load and run scripts, with one that changes nothing by being loaded."""
    try:
        with server.translated() as client:
            client.script_load(script.text)
    except ServerRefused as error:
        yield Finding(
            kind="refused",
            what=str(error).rstrip("."),
            why="Every verb is a script. Without scripts, nobody can add or run jobs.",
            remedy="ACL SETUSER this user with +@scripting +@read +@write +@transaction and ~* for its schedules",
        )


def _has_tag(name: str) -> bool:
    return bool(name.partition("{")[2].partition("}")[0]) and "}" in name.partition("{")[2]
