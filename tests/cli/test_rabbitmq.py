"""The command line on RabbitMQ: publish, listen, and what it refuses."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests import rabbit
from tests.cli.conftest import Run
from tests.servers import Server
from workkit.brokers.hutch.names import Names

HANDLERS = """
from workkit import job

@job("orders.created")
def on_created(order):
    print("got", order)
"""


@pytest.fixture(autouse=True)
def environment(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("LAYOUT", "AMQP_URL", "NAMESPACE"):  # the command sets them; empty is as unset
        monkeypatch.setenv(f"WORKKIT_{name}", "")


def test_a_job_is_published_and_a_listener_runs_it(run: Run, folder: Path, amqp: str, name: str) -> None:
    (folder / "cli_orders.py").write_text(HANDLERS)
    where = ("--layout", "hutch", "--amqp", amqp, "--namespace", name)
    names = Names(exchange=name, dialect="hutch", prefix=name)
    try:
        early = run("now", name, "orders.created", '{"id": 1}', *where)
        assert early.status == 69
        assert early.err == (
            f'error: "orders.created" leads to no queue of exchange {name}: nobody consumes it. '
            "Start a listener for it first, or correct the name.\n"
        )
        listen = ("listen", name, *where, "--import", "cli_orders", "--burst")
        assert run(*listen).status == 0
        assert run("now", name, "orders.created", '{"id": 1}', *where).status == 0
        ran = run(*listen)
        assert ran.status == 0
        assert "got {'id': 1}" in ran.out
    finally:
        rabbit.forget(amqp, names, names.queue("orders.created"))


def test_a_redis_beside_keeps_pauses_and_unique_keys(
    run: Run, folder: Path, amqp: str, server: Server, name: str
) -> None:
    (folder / "cli_beside.py").write_text(HANDLERS.replace("orders.created", "orders.beside"))
    alone = ("--layout", "event", "--amqp", amqp)
    where, names = (*alone, "--redis", server.url), Names(exchange=name, dialect="event")
    listen = ("listen", name, *where, "--import", "cli_beside", "--burst")
    try:
        refused = run("pause", name, *alone)
        assert refused.status == 4
        assert refused.err == (
            "error: a pause cannot be kept by RabbitMQ alone. Name a Redis beside it, the same in every program: "
            '--redis "redis://...".\n'
        )
        assert run(*listen).status == 0
        add = ("now", name, "orders.beside", '{"id": 7}', "--unique-key", "order-7", *where)
        assert "added" in run(*add).out
        twin = run(*add)
        assert (twin.status, "already there" in twin.out) == (0, True)
        assert run("pause", name, "--fn", "orders.beside", "--reason", "migration", *where).status == 0
        assert "got" not in run(*listen).out
        assert run("resume", name, "--fn", "orders.beside", *where).status == 0
        assert run(*listen).out.count("got {'id': 7}") == 1
    finally:
        rabbit.forget(amqp, names, names.queue("orders.beside"))


def test_what_belongs_to_another_layout_is_refused(run: Run) -> None:
    ran = run("now", "t", "orders.created", "{}", "--amqp", "amqp://127.0.0.1:1")
    assert (ran.status, ran.err) == (
        2,
        "error: --amqp names a RabbitMQ, which other layouts use. Add --layout hutch or event.\n",
    )


def test_a_broker_that_is_not_there_ends_with_69(run: Run) -> None:
    ran = run("now", "t", "orders.created", "{}", "--layout", "hutch", "--amqp", "amqp://u:secret@127.0.0.1:1")
    assert (ran.status, ran.out) == (69, "")
    assert ran.err.startswith("error: amqp://u:***@127.0.0.1:1: connection refused.")


def test_what_the_layout_cannot_do_yet_is_refused(run: Run) -> None:
    ran = run("list", "t", "--layout", "hutch", "--amqp", "amqp://127.0.0.1:1")
    assert (ran.status, ran.err) == (
        4,
        "error: looking at jobs is something the hutch layout cannot do yet. Use a native schedule for it.\n",
    )
