"""A server that answers and says no: what a command and a listener print, and that the listener outlives it."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from tests.cli.conftest import Run
from tests.processes import Process, Processes, until
from tests.servers import PRODUCTS, Server, program
from workkit import schedule, wire
from workkit.brokers.redis_server.refusal import wrong_types

FULL = (
    "it accepts no more clients (maxclients); raise maxclients, or close connections that nobody needs. "
    "CLIENT LIST names them."
)
UNSAVED = (
    "it accepts no writes (MISCONF), because it cannot save its snapshot; its log says why, such as a full disk. "
    "Make room for it, or set stop-writes-on-bgsave-error no and do without snapshots. "
    "Nothing was half-added, so simply add again."
)
COMMANDS = (
    ("list",), ("now", "app:hi"), ("add", "7pm tomorrow", "app:hi"), ("show", "abcdef"), ("stats",), ("listeners",),
    ("dead",), ("cancel", "abcdef"), ("pause",), ("resume",), ("skip", "x"), ("run", "x"), ("mark", "x"), ("doctor",),
    ("wire", "verify"), ("listen",), ("retry", "--all", "--yes"), ("discard", "--all", "--yes"),
)  # fmt: skip


@pytest.fixture(autouse=True)
def app(folder: Path) -> None:
    (folder / "app.py").write_text('def hi():\n    print("hi")\n')


@pytest.fixture(params=PRODUCTS)
def mortal(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    """A server of this test alone, in memory only."""
    folder = tmp_path_factory.mktemp(request.param)
    with closing(Server(program(request.param), folder=folder, is_durable=False)) as server:
        server.start()
        yield server


def in_place(command: tuple[str, ...], name: str) -> list[str]:
    """The words of a command with the schedule where it belongs."""
    at = 2 if command[0] == "wire" else 1
    return [*command[:at], name, *command[at:]]


def listens(processes: Processes, server: Server, name: str) -> Process:
    process = processes.workkit("listen", name, "--redis", server.url)
    process.wait_for("listening")
    return process


def runs(process: Process, server: Server, name: str) -> None:
    """A job that is added now is run by the listener."""
    assert schedule.add_now(schedule.create(name, redis=server.url), "app:hi").new
    process.wait_for("^hi$")


def fill(server: Server) -> Any:
    """Have every place for a client taken; returns the client that can make room again."""
    client = server.client()
    client.config_set("maxclients", 1)
    return client


@pytest.mark.parametrize("mortal", ["redis"], indirect=True)
def test_every_command_names_a_server_that_takes_no_more_clients(run: Run, mortal: Server, name: str) -> None:
    client = fill(mortal)
    for command in COMMANDS:
        ran = run(*in_place(command, name), "--redis", mortal.url)
        assert (ran.status, ran.err) == (69, f"error: {mortal.url}: {FULL}\n"), command
    assert client.ping()


def test_a_listener_waits_for_a_server_that_takes_no_more_clients(
    mortal: Server, name: str, processes: Processes
) -> None:
    process = listens(processes, mortal, name)
    client = fill(mortal)
    client.client_kill_filter(skipme=True, _type="normal")
    process.wait_for("lost")
    until(lambda: client.info("stats")["rejected_connections"] > 1, what="the listener to be turned away twice")
    client.config_set("maxclients", 1000)
    process.wait_for("back")
    runs(process, mortal, name)


def refuses_writes(server: Server) -> Any:
    """Take away the folder of a server, so that its snapshot fails and it takes no writes."""
    client = server.client()
    client.config_set("save", "3600 1")
    shutil.rmtree(server.folder)
    client.bgsave()
    until(lambda: client.info("persistence")["rdb_last_bgsave_status"] == "err", what="a snapshot that fails")
    return client


def test_an_addition_that_a_server_without_snapshots_refuses_is_refused_whole(
    run: Run, mortal: Server, name: str
) -> None:
    client = refuses_writes(mortal)
    for command in (("now", "app:hi"), ("add", "7pm tomorrow", "app:hi", "--name", "x")):
        ran = run(*in_place(command, name), "--redis", mortal.url)
        assert (ran.status, ran.out, ran.err) == (69, "", f"error: {mortal.url}: {UNSAVED}\n"), command
    assert client.keys("*") == []
    client.config_set("stop-writes-on-bgsave-error", "no")
    assert run("now", name, "app:hi", "--redis", mortal.url).status == 0


@pytest.mark.parametrize("mortal", ["redis"], indirect=True)
def test_a_listener_waits_for_a_server_that_cannot_save(mortal: Server, name: str, processes: Processes) -> None:
    process = listens(processes, mortal, name)
    client = refuses_writes(mortal)
    process.wait_for(r"lost .* it accepts no writes \(MISCONF\), because it cannot save its snapshot; its log says why")
    client.config_set("stop-writes-on-bgsave-error", "no")
    process.wait_for("back")
    runs(process, mortal, name)
    assert len([line for line in process.lines if " lost " in line]) == 1


@pytest.mark.parametrize("mortal", ["redis"], indirect=True)
def test_a_listener_that_starts_waits_until_the_server_saves_again(
    mortal: Server, name: str, processes: Processes
) -> None:
    client = refuses_writes(mortal)
    process = processes.workkit("listen", name, "--redis", mortal.url)
    process.wait_for(r"lost .* it accepts no writes \(MISCONF\)")
    client.config_set("stop-writes-on-bgsave-error", "no")
    process.wait_for("back")
    runs(process, mortal, name)


def test_an_addition_to_a_full_server_is_refused_whole_and_said_once(run: Run, mortal: Server, name: str) -> None:
    client = mortal.client()
    client.config_set("maxmemory", 1)
    for command in (("now", "app:hi"), ("add", "7pm tomorrow", "app:hi", "--name", "x")):
        ran = run(*in_place(command, name), "--redis", mortal.url)
        assert (ran.status, ran.out, ran.err.count("\n")) == (69, "", 1), command
        assert "is out of memory (maxmemory) and stored nothing. Add memory; nothing was half-added" in ran.err
    assert client.keys("*") == []


WRONG = ("jobs", "next", "again", "listeners", "control", "slots", "first:1", "cancelled", "stats", "watch")


@pytest.mark.parametrize("part", ["next", "jobs", "again", "control"])
def test_a_listener_names_a_key_of_another_type_and_outlives_it(
    server: Server, name: str, part: str, processes: Processes
) -> None:
    process = listens(processes, server, name)
    client, key = server.client(), f"{name}:{part}"
    client.delete(key)
    client.rpush(key, "not what belongs here")
    if part == "jobs":  # looked at only where something is due
        client.zadd(f"{name}:next", {wire.item("0" * 40): 0})
    found = process.wait_for(rf"lost .*{name}:{part} is a list, not a ([a-z ]+); workkit doctor {name} says more")
    assert found[1] == ("hash" if part in ("jobs", "control") else "sorted set")
    client.delete(key)
    process.wait_for("back")
    runs(process, server, name)
    assert process.is_running


def test_a_command_names_a_key_of_another_type(run: Run, server: Server, name: str) -> None:
    server.client().set(f"{name}:next", "x")
    for command in (("list",), ("stats",), ("now", "app:hi"), ("wire", "verify")):
        ran = run(*in_place(command, name), "--redis", server.url)
        said = f"error: {server.url}: {name}:next is a string, not a sorted set; workkit doctor {name} says more.\n"
        assert (ran.status, ran.err) == (69, said), command
    assert f"{name}:next is a string, not a zset" in run("doctor", name, "--redis", server.url).out


def test_a_type_is_wrong_for_the_doctor_where_a_refusal_names_it(server: Server, name: str) -> None:
    """The two lists of types are one: what a refusal names is what the doctor finds, key by key."""
    from workkit.brokers.connect import open_broker

    client = server.client()
    broker = open_broker(name, redis=server.url)
    keys = [f"{name}:{part}" for part in WRONG]
    for key in keys:
        client.setbit(key, 0, 1) if not key.endswith("watch") else client.rpush(key, "x")
    found = {one.about[0] for one in broker.doctor.checkup(patience_ms=0) if one.kind == "wrong-type"}
    assert found == set(keys) == {clause.split(" is a ")[0] for clause in wrong_types(client, name, ())}
