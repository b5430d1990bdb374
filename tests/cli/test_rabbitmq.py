"""The command line on RabbitMQ: publish, listen, and what it refuses."""

from __future__ import annotations

import json
import signal
from pathlib import Path

import click
import pytest

from tests import rabbit
from tests.cli.conftest import Run
from tests.processes import Processes, until
from tests.servers import Server
from workkit import schedule
from workkit.brokers.hutch.names import Names
from workkit.cli.commands.listen import listen_command

HANDLERS = """
from workkit import job

@job("orders.created")
def on_created(order):
    print("got", order, flush=True)
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
        listen = ("listen", name, *where, "--import", "cli_orders", "--jobs", "orders.created", "--burst")
        assert run(*listen).status == 0
        assert run("now", name, "orders.created", '{"id": 1}', *where).status == 0
        ran = run(*listen)
        assert ran.status == 0
        assert "got {'id': 1}" in ran.out
    finally:
        rabbit.forget(amqp, names, names.queue("orders.created"))


def test_a_consumer_of_a_pattern_listens_and_nobody_publishes_to_it(
    run: Run, folder: Path, amqp: str, name: str
) -> None:
    (folder / "wild_orders.py").write_text("def on_created(order):\n    print('got', order, flush=True)\n")
    where = ("--layout", "hutch", "--amqp", amqp)
    names = Names(exchange=name, dialect="hutch")
    listen = ("listen", name, *where, "--consumer", "orders.#=wild_orders:on_created", "--jobs", "orders.#", "--burst")
    try:
        assert run(*listen).status == 0
        assert run("now", name, "orders.paid.eu", '{"id": 1}', *where).status == 0
        assert "got {'id': 1}" in run(*listen).out
        for fn in ("orders.#", "@orders.*"):
            refused = run("now", name, fn, '{"id": 1}', *where)
            assert refused.status == 2
            assert "holds a wildcard: it is a pattern, and a message has one routing key. Name this key." in refused.err
    finally:
        rabbit.forget(amqp, names, names.queue("orders.#"))


def test_a_forward_publishes_what_recurs(
    run: Run, processes: Processes, folder: Path, amqp: str, server: Server, name: str
) -> None:
    (processes.folder / "fw_orders.py").write_text(HANDLERS)
    names = Names(exchange=name, dialect="hutch")
    times = schedule.create(f"{name}-times", redis=server.url)
    there = ("--layout", "hutch", "--amqp", amqp)
    try:
        listen = ("listen", name, *there, "--import", "fw_orders", "--redis", server.url, "--forward", times.name)
        listener = processes.workkit(*listen)
        listener.wait_for(rf"forwarding to {name} on amqp://")
        ours = schedule.create(name, layout="hutch", amqp=amqp, redis=server.url)
        until(lambda: list(schedule.listeners(ours)))  # --redis names the Redis beside the RabbitMQ too
        words = ("add", times.name, "every second", "@orders.created", '{"id": 7}', "--count", "2")
        added = run(*words, "--redis", server.url)
        assert added.status == 0
        assert "note: orders.created is a plain name" in added.err
        listener.wait_for("got {'id': 7}", count=2)
        listener.send(signal.SIGINT)
        assert listener.wait() == 0
        schedule.add_now(times, "@orders.created", args=[{"id": 8}])
        to = ("--to", name, "--to-layout", "hutch", "--to-amqp", amqp)
        forwarded = run("forward", times.name, *to, "--redis", server.url, "--burst")
        assert (forwarded.status, "forwarding to" in forwarded.out + forwarded.err) == (0, True)
        with rabbit.connected(amqp) as channel:
            method, _, body = channel.basic_get(names.queue("orders.created"), auto_ack=True)
        assert (method.routing_key, body) == ("orders.created", b'{"id":8}')
    finally:
        rabbit.forget(amqp, names, names.queue("orders.created"))


@pytest.mark.parametrize(
    ("words", "tail"),
    [
        (('{"id": 1}',), None),
        (("[1]",), "a forward to hutch refuses it: there its one argument is a JSON object"),
        (("5",), "a forward to hutch refuses it: there its one argument is a JSON object"),
        ((), "a forward to RabbitMQ refuses it: a message has one argument, given by position"),
        (('{"id": 1}', "2"), "a forward to RabbitMQ refuses it: a message has one argument, given by position"),
        (("--kwarg", "id=1"), "a forward to RabbitMQ refuses it: a message has one argument, given by position"),
    ],
)
def test_an_addition_tells_which_arguments_a_message_cannot_have(
    run: Run, server: Server, name: str, words: tuple[str, ...], tail: str | None
) -> None:
    note = 'note: orders.created is a plain name: a forward passes it on, and a function marked @job("orders.created")'
    for command in (("add", name, "tomorrow at 9am"), ("now", name)):
        ran = run(*command, "@orders.created", *words, "--redis", server.url)
        assert ran.status == 0
        assert f"{note} runs it{'' if tail is None else f'; {tail}'}. Added" in ran.err


@pytest.mark.parametrize("when", ["every hour", "now"])
def test_a_job_that_a_forward_cannot_publish_says_its_remedy_and_is_mended_by_a_retry(
    run: Run, folder: Path, amqp: str, server: Server, name: str, when: str
) -> None:
    names, times = Names(exchange=name, dialect="hutch"), f"{name}-times"
    to = ("forward", times, "--to", name, "--to-layout", "hutch", "--to-amqp", amqp, "--burst")
    redis = ("--redis", server.url)
    try:
        with rabbit.connected(amqp) as channel:
            channel.exchange_declare(name, "topic", durable=True)
            channel.queue_declare(names.queue("orders.created"), durable=True)
            channel.queue_bind(names.queue("orders.created"), name, "orders.created")
            command = ("now", times) if when == "now" else ("add", times, when)
            assert run(*command, "@orders.created", "[1]", *redis).status == 0
            s = schedule.create(times, redis=server.url)
            if when != "now":
                schedule.run(s, next(schedule.jobs(s)))
            until(lambda: run(*to, *redis).status == 0 and schedule.counts(s).dead == 1)
            (dead,) = schedule.jobs(s, state="dead")
            short = dead.short_id
            assert dead.error is not None
            assert dead.error.startswith("InvalidArguments: args[0] is an array, and its readers need an object. Write")
            assert f"Then publish it: workkit retry {times} {short} --args JSON." in dead.error
            assert ("Its next runs have the same arguments" in dead.error) is (when != "now")
            assert run("retry", times, short, "--args", '[{"value": [1]}]', *redis).status == 0
            assert run(*to, *redis).status == 0
            _, _, body = channel.basic_get(names.queue("orders.created"), auto_ack=True)
            assert body == b'{"value":[1]}'
            assert schedule.counts(s).dead == 0
    finally:
        rabbit.forget(amqp, names, names.queue("orders.created"))


@pytest.mark.parametrize(
    ("words", "says"),
    [
        (("--amqp", "amqp://h"), "--amqp: SCHEDULE is always native. Say the RabbitMQ of the other side: --to-amqp."),
        (("--to-amqp", "amqp://h"), "--to-amqp names a RabbitMQ, which other layouts use. Add --to-layout hutch or"),
        (
            ("--to-layout", "event", "--to-redis", "redis://h"),
            "--to-redis with --to-layout event: it is on RabbitMQ. Write --to-amqp URL.",
        ),
        (("--to-layout", "hutch", "--to-amqp", "http://h"), "http://h"),
    ],
)
def test_a_forward_refuses_what_belongs_to_another_layout(run: Run, words: tuple[str, ...], says: str) -> None:
    ran = run("forward", "times", "--to", "hutch", *words)
    assert (ran.status, ran.out) == (2, "")
    assert says in ran.err


def test_a_file_of_jobs_is_published_and_refused_rows_are_named(run: Run, folder: Path, amqp: str, name: str) -> None:
    lines = [json.dumps({"fn": "orders.made", "at": "now", "args": [{"n": n}]}) for n in range(1, 701)]
    lines[0] += "\n"  # an empty line behind
    where = ("--layout", "hutch", "--amqp", amqp)
    names = Names(exchange=name, dialect="hutch")
    (folder / "jobs.jsonl").write_text("\n".join(lines))
    (folder / "cli_made.py").write_text("def made(order): ...\n")
    consumer = ("--consumer", "orders.made=cli_made:made", "--jobs", "orders.made")
    try:
        assert run("listen", name, *where, *consumer, "--burst").status == 0
        ran = run("add-many", name, "jobs.jsonl", *where)
        assert (ran.status, ran.out) == (0, f"added 700 jobs to {name}\n")
        assert ran.err == "no bulk: an exchange keeps none, so an interrupted run cannot be resumed\n"
        lines[5] = lines[5].replace("orders.made", "orders.mode")
        (folder / "jobs.jsonl").write_text("\n".join(lines))
        ran = run("add-many", name, "jobs.jsonl", *where)
        assert (ran.status, ran.out) == (69, "")
        assert f'error: row 7 of jobs.jsonl: "orders.mode" leads to no queue of exchange {name}' in ran.err
        assert "Not added: row 7. All other rows up to 401 are added, and none after it." in ran.err
        lines[600] = "{}"
        (folder / "jobs.jsonl").write_text("\n".join(lines[10:]))
        ran = run("add-many", name, "jobs.jsonl", *where)
        assert (ran.status, ran.out) == (2, "")
        assert "row 591 of jobs.jsonl: fn is missing" in ran.err
        assert ran.err.endswith("Rows 1 to 400 are added. Correct it, and add the rest, from row 401 on.\n")
        ran = run("add-many", name, "jobs.jsonl", "--resume", "1f0c2a9b", *where)
        assert (ran.status, ran.err) == (
            4,
            "error: a bulk cannot be resumed: an exchange does not keep how far it is. "
            "Add the rows to a native schedule, and forward that one: workkit forward.\n",
        )
    finally:
        rabbit.forget(amqp, names, names.queue("orders.made"))


def test_a_function_consumes_without_a_mark(run: Run, folder: Path, amqp: str, name: str) -> None:
    (folder / "cli_unmarked.py").write_text("def on_paid(order):\n    print('paid', order, flush=True)\n")
    where = ("--layout", "event", "--amqp", amqp)
    names = Names(exchange=name, dialect="event")
    listen = ("listen", name, *where, "--consumer", "orders.paid=cli_unmarked:on_paid", "--jobs", "orders.paid")
    try:
        assert run(*listen, "--burst").status == 0
        assert run("now", name, "orders.paid", '{"id": 1}', *where).status == 0
        ran = run(*listen, "--burst")
        assert (ran.status, "paid {'id': 1}" in ran.out) == (0, True)
    finally:
        rabbit.forget(amqp, names, names.queue("orders.paid"))


@pytest.mark.parametrize(
    ("words", "says"),
    [
        (("orders.paid",), "--consumer 'orders.paid' has no =. Write"),
        (("a=cli_m:f", "a=cli_m:g"), "--consumer 'a=cli_m:g' gives a a second time."),
        (("a=cli_mm:f",), '--consumer "a=cli_mm:f": no module cli_mm under ./; nearest: cli_m.'),
        (("a=cli_m:on_payd",), '--consumer "a=cli_m:on_payd": no such function in cli_m.py; nearest: on_paid.'),
    ],
)
def test_a_consumer_that_is_none_is_refused(run: Run, folder: Path, words: tuple[str, ...], says: str) -> None:
    (folder / "cli_m.py").write_text("def on_paid(order): ...\n")
    given = [word for text in words for word in ("--consumer", text)]
    ran = run("listen", "t", *given, "--layout", "hutch", "--amqp", "amqp://127.0.0.1:1", "--burst")
    assert (ran.status, ran.out) == (2, "")
    assert says in ran.err


def test_a_consumer_is_completed_from_the_files_here(folder: Path) -> None:
    (folder / "pkg").mkdir()
    (folder / "pkg" / "orders.py").write_text("def on_paid(order): ...\ndef _not(order): ...\n")

    def offered(incomplete: str) -> list[str]:
        option = next(one for one in listen_command.params if one.name == "consumers")
        return [item.value for item in option.shell_complete(click.Context(listen_command), incomplete)]

    assert offered("orders.paid=pkg") == ["orders.paid=pkg.orders:"]
    assert offered("orders.paid=pkg.orders:") == ["orders.paid=pkg.orders:on_paid"]
    assert offered("orders") == []


def test_a_redis_beside_keeps_pauses_and_unique_keys(
    run: Run, folder: Path, amqp: str, server: Server, name: str
) -> None:
    (folder / "cli_beside.py").write_text(HANDLERS.replace("orders.created", "orders.beside"))
    alone = ("--layout", "event", "--amqp", amqp)
    where, names = (*alone, "--redis", server.url), Names(exchange=name, dialect="event")
    listen = ("listen", name, *where, "--import", "cli_beside", "--jobs", "orders.beside", "--burst")
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


def test_what_the_layout_cannot_do_is_refused(run: Run) -> None:
    ran = run("pause", "t", "--layout", "hutch", "--amqp", "amqp://127.0.0.1:1")
    assert (ran.status, ran.out) == (4, "")
    assert ran.err.startswith("error: a pause cannot be kept by RabbitMQ alone. Name a Redis beside it")


def test_the_wire_of_an_exchange_is_refused(run: Run) -> None:
    for action in ("dump", "verify"):
        ran = run("wire", action, "orders", "--layout", "hutch")
        assert ran.status == 4
        assert ran.err == (
            "error: the wire of orders cannot be shown: an exchange has no keys. "
            "Count its jobs: workkit stats orders --layout hutch.\n"
        )
