"""The command line looks at an exchange of RabbitMQ, and changes its dead queue."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from dataclasses import replace
from shlex import quote

import pytest

from tests import rabbit
from tests.brokers.hutch.opened import FAILURE, NOBODY, Opened, new, one, opened
from tests.cli.conftest import Ran, Run
from tests.cli.test_completion import completed
from tests.processes import until
from workkit import schedule
from workkit.brokers.hutch.inspector import HELD, LISTED
from workkit.brokers.hutch.names import Names
from workkit.brokers.layout import layout_of, register, withdraw
from workkit.brokers.redis_server.address import masked
from workkit.errors import Unsupported
from workkit.jobs.outcome import Dead

Command = Callable[..., Ran]


@pytest.fixture(autouse=True)
def environment(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("LAYOUT", "AMQP_URL", "NAMESPACE", "AMQP_MANAGEMENT_URL"):  # the command sets them; empty is as unset
        monkeypatch.setenv(f"WORKKIT_{name}", "")


@pytest.fixture
def on(amqp: str, name: str) -> Iterator[Opened]:
    """An exchange with two dead messages of ours, one of event, one that is due, and one that is delayed."""
    names = Names(exchange=name, dialect="hutch")
    with ExitStack() as ends:
        ends.callback(rabbit.forget, amqp, names, names.queue("shop.sold"))
        on = ends.enter_context(opened(amqp, names))
        listener = on.listener("shop.sold")
        for n in (1, 2):
            listener.adding([new({"id": n}, "shop.sold")])()
            listener.claim(0, ends=[(one(listener), Dead(failure=FAILURE))])
        listener.leave()
        on.channel.confirm_delivery()
        on.publish("dead_queue.shop.paid", b'{"id":3}', message_id="0123456789abcdef01234567", timestamp=1_700_000_000)
        listener.adding([new({"id": 4}, "shop.sold")])()
        listener.adding([new({"id": 5}, "shop.sold", due_ms=listener.now_ms() + 60_000)])()
        yield on


@pytest.fixture
def look(run: Run, on: Opened, management: str) -> Command:
    """Run a command on that exchange, with the management API."""
    return lambda command, *words: run(
        command, on.names.exchange, *words, "--layout", "hutch", "--amqp", on.url, "--management", management
    )


@pytest.fixture
def blind(run: Run, on: Opened) -> Command:
    """Run a command on that exchange, without the management API."""
    return lambda command, *words: run(
        command, on.names.exchange, *words, "--layout", "hutch", "--amqp", on.url, "--management", NOBODY
    )


def test_dead_messages_are_listed_with_reason_and_queue(look: Command, on: Opened) -> None:
    ran = look("dead")
    assert ran.status == 0
    titles, *rows = ran.out.splitlines()
    assert titles.split() == ["FAILED", "ID", "FUNCTION", "ATTEMPTS", "ERROR", "REASON", "QUEUE"]
    assert [row.split()[-2:] for row in rows] == [["failed", on.names.queue("shop.sold")]] * 2 + [["-", "-"]]
    assert "--layout hutch --amqp" in ran.err
    found = json.loads(look("dead", "--json").out)
    assert [(job["fn"], job["args"], job["reason"], job["queue"]) for job in found] == [
        ("shop.sold", [{"id": 1}], "failed", on.names.queue("shop.sold")),
        ("shop.sold", [{"id": 2}], "failed", on.names.queue("shop.sold")),
        ("shop.paid", [{"id": 3}], None, None),
    ]
    shown = look("show", found[0]["id"][:8]).out
    assert f"queue     {on.names.queue('shop.sold')}\n" in shown
    assert "why       failed\n" in shown


def test_long_changes_of_the_dead_queue_say_how_far_they_are(
    look: Command, on: Opened, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("workkit.cli.terminal.REPORT_SECONDS", 0.0)
    few, name = replace(layout_of("hutch"), at_once=2), on.names.exchange
    register(few)
    try:
        ran = look("discard", "--all", "--yes")
    finally:
        withdraw(few)
    lines = [f"{name}: {count} dead jobs read" for count in (1, 2, 3)]
    lines += [f"{name}: {done} of 3 dead jobs discarded" for done in (2, 3)]
    assert (ran.err.splitlines(), ran.out) == (lines, "discarded 3\n")


def test_dead_messages_are_retried_and_discarded(look: Command, on: Opened) -> None:
    first, second, third = (job["id"] for job in json.loads(look("dead", "--json").out))
    ran = look("retry", first[:8])
    assert (ran.status, ran.out) == (0, f'retried {first[:8]}  shop.sold({{"id": 1}})\n')
    ran = look("retry", third)
    assert ran.status == 1
    assert "cannot run again: its routing key leads to a queue that does not exist any more" in ran.err
    ran = look("retry", "--all")
    assert (ran.status, "Add --yes" in ran.err) == (4, True)
    assert look("retry", "--where", "'id': 2", "--dry-run").out.split()[0] == second[:8]
    assert look("retry", "--where", "disk full", "--yes").out == "retried 1\n"
    assert look("discard", "--all", "--yes").out == "discarded 1\n"
    ran = look("dead")
    assert (ran.status, ran.out) == (0, "")
    assert ran.err.startswith(f"no dead jobs in {on.names.exchange}.")
    assert on.count(on.names.queue("shop.sold")) == 3


def test_list_shows_what_can_be_listed_and_says_what_not(look: Command, on: Opened, management: str) -> None:
    ran = look("list", "--json")
    assert [(job["state"], job["args"][0]["id"]) for job in json.loads(ran.out)] == [
        ("waiting", 5), ("due", 4), ("dead", 1), ("dead", 2), ("dead", 3),
    ]  # fmt: skip
    said = f"{HELD}\n{LISTED}\n"
    assert ran.err == said
    ran = look("list")
    assert ran.out.startswith(f"{on.names.exchange}: 1 waiting, 1 due, 3 dead.")
    assert ran.err == said
    ran = look("list", "--state", "running")
    assert (ran.status, ran.out) == (4, "")
    assert ran.err == (
        f"error: listing running jobs cannot be done here. {HELD} "
        f"Count them: workkit stats {on.names.exchange} --layout hutch --amqp {quote(masked(on.url))} "
        f"--management {quote(masked(management))}.\n"
    )


def test_without_the_api_commands_say_how_to_enable_it(blind: Command, on: Opened) -> None:
    enable = "rabbitmq-plugins enable rabbitmq_management"
    ran = blind("list", "--json")
    assert [job["state"] for job in json.loads(ran.out)] == ["waiting"] + ["dead"] * 3
    assert enable in ran.err
    ran = blind("stats", "--json")
    (found,) = json.loads(ran.out)
    assert (found["waiting"], found["dead"], found["due"], found["listeners"]) == (1, 3, None, None)
    assert enable in ran.err
    assert blind("stats").out.splitlines()[1].split()[1:4] == ["1", "-", "-"]
    ran = blind("listeners")
    assert (ran.status, ran.out, enable in ran.err) == (4, "", True)
    ran = blind("queues", "shop.sold", "--json")
    found = {queue["name"]: queue for queue in json.loads(ran.out)}
    assert found[on.names.queue("shop.sold")]["ready"] == 1
    assert found[on.names.queue("shop.sold")]["held"] is None
    assert enable in ran.err
    with pytest.raises(Unsupported) as caught:
        list(schedule.jobs(schedule.create(on.names.exchange, amqp=on.url, layout="hutch", management=NOBODY)))
    assert str(caught.value).endswith(f'{enable}. Accepted: state="waiting" or state="dead".')


def test_of_a_listener_of_another_program_only_what_is_known_is_shown(look: Command, on: Opened) -> None:
    on.channel.basic_consume(on.bound("b", "c.d"), lambda *_: None, consumer_tag="hutch-0b5e0b2e")
    on.channel.connection.process_data_events(0)
    on.publish("b")

    def told() -> list[str]:
        out = str(look("listeners").out)
        return out.splitlines() if "hutch" in out else []

    titles, row = until(told, what="the API to tell")
    shown = dict(zip(titles.split(), row.split(), strict=True))
    assert [shown[title] for title in ("BEAT", "UP", "NOW")] == ["-", "-", "-"]


def test_a_retry_with_other_arguments_prints_them(look: Command, on: Opened) -> None:
    first, *_ = (job["id"] for job in json.loads(look("dead", "--json").out))
    ran = look("retry", first[:8], "--args", '[{"id": 8}]')
    assert ran.out == f'retried {first[:8]}  shop.sold({{"id": 8}})\n'


def test_the_doctor_says_each_remedy_once_and_how_this_exchange_is_found(look: Command, on: Opened) -> None:
    on.channel.confirm_delivery()
    others = [f"theirs-{n}-{on.names.exchange}" for n in (1, 2)]
    for queue in others:
        on.channel.queue_declare(queue, durable=True)
        on.channel.queue_bind(queue, on.names.exchange, "theirs.#")
    on.publish("theirs.a")
    try:
        ran = look("doctor")
        told = json.loads(look("doctor", "--json").out)
    finally:
        for queue in others:
            on.channel.queue_delete(queue)
    out = " ".join(ran.out.split())
    assert out.count("start the program that consumes it, or delete the queue: rabbitmqctl delete_queue") == 1
    assert "rabbitmqctl delete_queue QUEUE" in out
    remedies = {finding["about"][0]: finding["remedy"] for finding in told if finding["kind"] == "no-consumer"}
    assert all(remedies[queue].endswith(f"delete_queue {queue}") for queue in others)
    words = f"{on.names.exchange} --layout hutch --amqp {quote(masked(on.url))} --management "
    listen = f"workkit listen --import MODULE {words}"
    assert listen in out
    assert remedies[on.names.queue("shop.sold")].startswith(listen)


def test_queues_are_listed(look: Command, on: Opened) -> None:
    ran = look("queues")
    assert (ran.status, ran.err) == (0, "")
    titles, *rows = ran.out.splitlines()
    assert titles.split() == ["QUEUE", "KIND", "READY", "HELD", "CONSUMERS", "IN/s", "OUT/s", "KEYS"]
    assert [(row.split()[1], row.split()[2]) for row in rows] == [("work", "1"), ("delay", "1"), ("dead", "3")]
    assert len(look("queues", "--all").out.splitlines()) > len(rows) + 1


def test_a_layout_without_queues_refuses_to_list_them(run: Run) -> None:
    ran = run("queues", "t")
    assert (ran.status, ran.err) == (
        4, "error: queues of t are something that only layouts on RabbitMQ have. Count its jobs: workkit stats t.\n"
    )  # fmt: skip


def test_what_is_not_seen_cannot_be_changed(look: Command) -> None:
    ran = look("cancel", "abcdef01")
    assert (ran.status, ran.out) == (4, "")
    assert ran.err == (
        'error: "abcdef01" cannot be found and changed. Dead messages are searched, those that workkit has delayed, '
        "and the first of each work queue: it may be further back, held by a listener, delayed by another library, "
        "or done.\n"
    )


def test_a_delayed_message_is_listed_shown_and_cancelled(blind: Command) -> None:
    (job,) = json.loads(blind("list", "--state", "waiting", "--json").out)
    assert (job["fn"], job["args"], job["state"], bool(job["due"])) == ("shop.sold", [{"id": 5}], "waiting", True)
    short = job["id"][:8]
    assert "shop.sold" in blind("list", "--state", "waiting").out
    assert json.loads(blind("show", short, "--json").out)["id"] == job["id"]
    ran = blind("cancel", short)
    assert (ran.status, ran.out) == (0, f'cancelled {short}  shop.sold({{"id": 5}})\n')
    ran = blind("cancel", short)
    assert (ran.status, "cannot be found and changed" in ran.err) == (4, True)
    assert blind("list", "--state", "waiting", "--json").out == "[]\n"


def test_what_is_due_is_not_cancelled(look: Command) -> None:
    (job,) = json.loads(look("list", "--state", "due", "--json").out)
    ran = look("cancel", job["id"][:8])
    assert (ran.status, ran.out) == (4, "")
    assert ran.err.startswith(f"error: {job['id'][:8]} shop.sold is due, and here only messages can be cancelled")


def test_ids_of_dead_messages_are_completed(
    look: Command, run: Run, on: Opened, management: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    ids = [job["id"][:8] for job in json.loads(look("dead", "--json").out)]
    where = ("--layout", "hutch", "--amqp", on.url, "--management", management)
    assert sorted(completed(run, monkeypatch, "retry", *where, on.names.exchange, "")) == sorted(ids)
    assert completed(run, monkeypatch, "retry", *where, "") == []
