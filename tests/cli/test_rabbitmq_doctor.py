"""`doctor` on RabbitMQ as it is typed and read."""

from __future__ import annotations

import json
from collections.abc import Iterator

import pytest

from tests import rabbit
from tests.cli.conftest import Run
from tests.servers import Server
from workkit.brokers.hutch.beside.keys import Keys
from workkit.brokers.hutch.names import Names
from workkit.brokers.hutch.topology import dead, work


@pytest.fixture(autouse=True)
def _soon(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let the second look follow at once: no program starts meanwhile."""
    monkeypatch.setattr("workkit.brokers.hutch.doctor.PAUSE_MS", 0)


@pytest.fixture
def names(amqp: str, name: str) -> Iterator[Names]:
    """The names around an exchange that has a work queue and the dead queue; all is deleted at the end."""
    made = Names(exchange=name, dialect="hutch")
    with rabbit.connected(amqp) as channel:
        topology = work(made, ["note"]) + dead(made)
        for exchange in topology.exchanges:
            channel.exchange_declare(exchange.name, "topic", durable=True)
        for queue in topology.queues:
            channel.queue_declare(queue.name, durable=True, arguments=dict(queue.arguments))
        for one in topology.bindings:
            channel.queue_bind(one.destination, one.source, one.key)
        yield made
    rabbit.forget(amqp, made, made.queue("note"))


@pytest.fixture
def where(amqp: str, management: str) -> tuple[str, ...]:
    return ("--layout", "hutch", "--amqp", amqp, "--management", management)


def unbind(url: str, names: Names) -> None:
    with rabbit.connected(url) as channel:
        channel.queue_unbind(names.queue("note"), names.exchange, "note")


def test_a_healthy_exchange_ends_with_0(run: Run, names: Names, where: tuple[str, ...], amqp: str) -> None:
    ran = run("doctor", names.exchange, *where)
    assert (ran.status, ran.err) == (0, "")
    assert f"{names.exchange}: all is well\n" in ran.out
    lines = [line.split() for line in ran.out.splitlines()]
    assert ["server", amqp.replace("guest:guest", "guest:***"), "command", "line"] in lines
    assert ["layout", "hutch", "--layout"] in lines
    assert any(line[:2] == ["management", where[5].replace("guest:guest", "guest:***")] for line in lines)


def test_a_fault_is_printed_with_the_command_that_repairs_it(
    run: Run, names: Names, where: tuple[str, ...], amqp: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", "400")
    unbind(amqp, names)
    ran = run("doctor", names.exchange, *where)
    assert ran.status == 1
    assert f"{names.exchange}: 1 finding\n" in ran.out
    assert f"  unbound  queue {names.queue('note')} is not bound to exchange {names.exchange} by note\n" in ran.out
    shown = [word.replace("guest:guest", "guest:***") for word in where]
    words = " ".join(f"'{word}'" if "*" in word else word for word in shown)
    assert f"    > workkit doctor {names.exchange} {words} --fix\n" in ran.out


def test_fix_repairs_and_ends_with_0(run: Run, names: Names, where: tuple[str, ...], amqp: str) -> None:
    unbind(amqp, names)
    ran = run("doctor", names.exchange, *where, "--fix", "--yes")
    assert (ran.status, ran.err) == (0, "repaired 1 of 1; all is well now.\n")
    assert run("doctor", names.exchange, *where).status == 0


def test_json_names_what_could_not_be_checked(run: Run, names: Names, amqp: str) -> None:
    nobody = "http://u:secret@127.0.0.1:1"
    ran = run("doctor", names.exchange, "--layout", "hutch", "--amqp", amqp, "--management", nobody, "--json")
    (found,) = json.loads(ran.out)
    assert (ran.status, found["kind"], found["schedule"], found["repairs"]) == (1, "unchecked", names.exchange, False)
    assert "secret" not in ran.out + ran.err


def test_a_broker_that_is_not_there_ends_with_69(run: Run) -> None:
    ran = run("doctor", "t", "--layout", "hutch", "--amqp", "amqp://u:secret@127.0.0.1:1")
    assert ran.status == 69
    assert ran.err.startswith("error: amqp://u:***@127.0.0.1:1: connection refused.")


def test_the_management_api_belongs_to_rabbitmq(run: Run) -> None:
    ran = run("doctor", "t", "--management", "http://h")
    assert (ran.status, ran.err) == (2, "error: --management belongs to a RabbitMQ. Add --layout hutch or event.\n")


def test_the_redis_beside_is_checked_and_repaired(
    run: Run, names: Names, where: tuple[str, ...], own_server: Server, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", "400")
    client, keys = own_server.client(), Keys("/", names.exchange)
    client.zadd(keys.slots, {"ns fn:note\0gone:1:0123456789ab/1": 0})
    ran = run("doctor", names.exchange, *where, "--redis", own_server.url)
    assert ran.status == 1
    assert "  slot  a slot of ns fn:note is taken by a run (gone:1:0123456789ab/1) that no listener has\n" in ran.out
    (remedy,) = (line for line in ran.out.splitlines() if line.startswith("    > "))
    assert f"--redis {own_server.url}" in remedy
    assert remedy.endswith("--fix")
    ran = run("doctor", names.exchange, *where, "--redis", own_server.url, "--fix", "--yes")
    assert (ran.status, ran.err) == (0, "repaired 1 of 1; all is well now.\n")
    assert client.zcard(keys.slots) == 0


def test_one_fix_repairs_a_name_that_is_bad_in_one_key_and_then_in_another(
    run: Run, names: Names, where: tuple[str, ...], own_server: Server
) -> None:
    client, keys = own_server.client(), Keys("/", names.exchange)
    client.hset(keys.unique, "order 7", "0123456789abcdef01234567")
    client.zadd(keys.unique_until, {"order 7": "+inf"})  # without this time, the unique key is alone
    ran = run("doctor", names.exchange, *where, "--redis", own_server.url, "--fix", "--yes")
    assert "also repaired 1 finding that these repairs brought to light." in ran.err
    assert (ran.status, client.exists(keys.unique, keys.unique_until)) == (0, 0)
