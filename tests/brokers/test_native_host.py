"""What a checkup says of the server: disk, memory, clock, role, version, and what a user may not look at."""

from __future__ import annotations

import time
from typing import Any

import pytest

from tests.brokers.checkups import DAY
from tests.servers import Server
from workkit.brokers.connect import open_broker
from workkit.brokers.redis_server.connecting import connect
from workkit.brokers.redis_server.doctor import Host
from workkit.errors import ServerRefused


def test_a_server_that_keeps_nothing_on_disk_is_told(server: Server, name: str) -> None:
    (finding,) = open_broker(name, redis=server.url).doctor.checkup(patience_ms=DAY)
    assert finding.kind == "no-append-file"
    assert finding.schedule == ""
    port = server.client().info("server")["tcp_port"]
    assert port != 6379
    assert finding.remedy.startswith(f"redis-cli -p {port} CONFIG SET"), "not a command to another server"


def test_memory_is_told(own_server: Server, name: str) -> None:
    client, doctor = own_server.client(), open_broker(name, redis=own_server.url).doctor
    client.config_set("maxmemory", "1gb")
    client.config_set("maxmemory-policy", "allkeys-lru")
    assert [f.kind for f in doctor.checkup(patience_ms=DAY)] == ["eviction"]
    client.config_set("maxmemory-policy", "noeviction")
    client.config_set("maxmemory", client.info("memory")["used_memory"] + 10_000)
    assert [f.kind for f in doctor.checkup(patience_ms=DAY)] == ["low-memory"]


def test_a_replica_is_told(own_server: Server, name: str) -> None:
    own_server.client().replicaof("127.0.0.1", 1)
    (finding,) = open_broker(name, redis=own_server.url).doctor.checkup(patience_ms=DAY)
    assert (finding.kind, finding.schedule) == ("replica", "")
    assert finding.what == f"127.0.0.1:{own_server.port} is a read-only replica"


@pytest.mark.parametrize(("off", "said"), [(5.2, "5.2 s behind"), (-5.2, "5.2 s ahead of"), (0.4, None)])
def test_a_clock_that_is_off_is_told(
    own_server: Server, name: str, monkeypatch: pytest.MonkeyPatch, off: float, said: str | None
) -> None:
    doctor, right = open_broker(name, redis=own_server.url).doctor, time.time
    monkeypatch.setattr("workkit.brokers.redis_server.doctor.time.time", lambda: right() + off)
    found = [(f.kind, f.what) for f in doctor.checkup(patience_ms=DAY)]
    assert found == ([("clock", f"the server's clock is {said} this machine's")] if said else [])


@pytest.mark.parametrize(
    ("facts", "schedule_name", "kinds"),
    [
        ({"redis_version": "6.0.16"}, "t", ["old-server"]),
        ({"redis_version": "6.2.0"}, "t", []),
        ({"redis_version": "7.2.4", "valkey_version": "9.1.0"}, "t", []),
        ({"redis_version": "unstable"}, "t", []),
        ({"redis_version": "7.0.0", "evicted_keys": 5}, "t", ["evicted"]),
        ({"redis_version": "7.0.0", "evicted_keys": 0}, "t", []),
        ({"redis_version": "6.3.4", "role": "active-replica"}, "t", ["active-replication"]),
        ({"redis_version": "6.3.4", "role": "master", "active_replica": "yes"}, "t", ["active-replication"]),
        ({"redis_version": "7.0.0", "role": "master", "active_replica": None}, "t", []),
        ({"redis_version": "7.0.0", "cluster_enabled": 1, "slots_of_tag": [5, 5, 6]}, "{app}", ["cluster-slots"]),
        ({"redis_version": "7.0.0", "cluster_enabled": 1, "slots_of_tag": [5, 5, 5]}, "{app}", []),
        ({"redis_version": "7.0.0", "cluster_enabled": 1}, "app", ["cluster-tag"]),
        ({"redis_version": "7.0.0", "cluster_enabled": 1}, "{app}", []),
        ({"redis_version": "7.0.0", "cluster_enabled": 1}, "{}app", ["cluster-tag"]),
    ],
)
def test_version_and_cluster_are_told(facts: dict[str, Any], schedule_name: str, kinds: list[str]) -> None:
    host = Host(server=connect("redis://127.0.0.1:1/"), schedule=schedule_name, facts=facts)
    assert [f.kind for f in host.findings()] == kinds


@pytest.mark.parametrize(
    ("rules", "kinds"),
    [
        (["+@all", "-info", "-config"], {"unchecked"}),
        (["+@all", "-scan"], {"unchecked"}),
        (["+@all", "-@scripting"], {"refused"}),
        (["+@all", "-evalsha"], set()),
        (["+ping", "+time"], {"unchecked", "refused"}),
    ],
)
def test_what_a_user_may_not_look_at_is_a_finding(
    own_server: Server, name: str, rules: list[str], kinds: set[str]
) -> None:
    own_server.client().acl_setuser("looker", enabled=True, passwords=["+pw"], keys=["*"], commands=rules, reset=True)
    doctor = open_broker(name, redis=f"redis://looker:pw@127.0.0.1:{own_server.port}/0").doctor
    findings = list(doctor.checkup(patience_ms=DAY))
    assert {f.kind for f in findings} == kinds
    assert all("pw@" not in f.what and "looker:pw" not in f.what for f in findings)


def test_a_wrong_password_is_raised(own_server: Server, name: str) -> None:
    doctor = open_broker(name, redis=f"redis://:wrong@127.0.0.1:{own_server.port}/0").doctor
    with pytest.raises(ServerRefused):
        list(doctor.checkup(patience_ms=DAY))
