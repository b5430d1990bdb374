"""The command line on RabbitMQ: publish, listen, and what it refuses."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests import rabbit
from tests.cli.conftest import Run
from workkit.brokers.hutch.names import Names

HANDLERS = """
from workkit import job

@job("orders.created")
def on_created(order):
    print("got", order)
"""


@pytest.fixture(autouse=True)
def environment(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("LAYOUT", "AMQP_URL", "NAMESPACE", "AMQP_MANAGEMENT_URL"):  # the command sets them; empty is as unset
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


def test_what_belongs_to_another_layout_is_refused(run: Run) -> None:
    ran = run("now", "t", "orders.created", "{}", "--amqp", "amqp://127.0.0.1:1")
    assert (ran.status, ran.err) == (
        2,
        "error: --amqp names a RabbitMQ, which other layouts use. Add --layout hutch or event.\n",
    )
    ran = run("now", "t", "orders.created", "{}", "--layout", "event", "--redis", "redis://127.0.0.1:1")
    assert (ran.status, ran.out) == (2, "")
    assert "it is on RabbitMQ" in ran.err


def test_a_broker_that_is_not_there_ends_with_69(run: Run) -> None:
    ran = run("now", "t", "orders.created", "{}", "--layout", "hutch", "--amqp", "amqp://u:secret@127.0.0.1:1")
    assert (ran.status, ran.out) == (69, "")
    assert ran.err.startswith("error: amqp://u:***@127.0.0.1:1: connection refused.")


def test_what_the_layout_cannot_do_is_refused(run: Run) -> None:
    ran = run("pause", "t", "--layout", "hutch", "--amqp", "amqp://127.0.0.1:1")
    assert (ran.status, ran.out) == (4, "")
    assert ran.err.startswith("error: a pause is something the hutch layout cannot do: RabbitMQ has no such thing.")
