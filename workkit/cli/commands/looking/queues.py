"""`queues`: the queues of a schedule on RabbitMQ. Nothing here changes anything."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from workkit.cli.command import Command, Option
from workkit.cli.live import ScheduleName
from workkit.cli.options import json_option, server_options, verbose_option
from workkit.cli.printing import record, table, terminal
from workkit.cli.printing.table import Column
from workkit.cli.unlisted import talk_once

if TYPE_CHECKING:
    from workkit.contract.inspector import QueueInfo

QUEUES = (
    Column(title="QUEUE", cut_to=16),
    Column(title="KIND", rank=2),
    Column(title="READY"),
    Column(title="HELD", rank=1),
    Column(title="CONSUMERS"),
    Column(title="IN/s", rank=5),
    Column(title="OUT/s", rank=4),
    Column(title="KEYS", cut_to=12, rank=3),
)


@click.command(
    "queues",
    cls=Command,
    takes="SCHEDULE [JOB...] [OPTIONS]",
    about=(
        "List the queues around an exchange of RabbitMQ: messages that are ready, messages that consumers hold, rates. "
        "Queues that delay are listed where they hold messages, or with --all.",
        "Without RabbitMQ's management API only queues with known names are listed: those of the JOBs named here.",
    ),
    examples=(
        "workkit queues hutch --layout hutch",
        "workkit queues hutch orders.created --layout hutch --json",
    ),
    shows=("layout", "amqp", "management"),
)
@click.argument("schedule", type=ScheduleName())
@click.argument("jobs", nargs=-1, metavar="JOB")
@click.option("--all", "everything", cls=Option, is_flag=True, help="empty queues that delay, too")
@json_option()
@verbose_option
@server_options
def queues_command(schedule: str, jobs: tuple[str, ...], everything: bool, as_json: bool, server: str | None) -> None:
    """List queues."""
    from workkit import schedule as verbs
    from workkit.verbs.opening import producer_of, queues_of

    s = verbs.create(schedule, redis=server)  # a RabbitMQ does not tell whether it knows it
    found = [one for one in queues_of(s, jobs) if everything or one.kind != "delay" or one.ready or one.held]
    if as_json:
        record.show_json(record.queue_record(s.name, one) for one in found)
    elif found:
        table.show_table(QUEUES, map(_row, found))
    else:
        terminal.talk(f"no queues around {s.name}. A listener declares its own when it starts.")
    if any(one.held is None for one in found) or not found:
        talk_once(why for field, why in producer_of(s).inspector.counts().unknown.items() if field == "running")


def _row(queue: QueueInfo) -> list[str]:
    return [
        queue.name,
        queue.kind,
        f"{queue.ready:,}",
        "-" if queue.held is None else f"{queue.held:,}",
        f"{queue.consumers:,}",
        _rate(queue.rate_in),
        _rate(queue.rate_out),
        ",".join(queue.keys or ()) or "-",
    ]


def _rate(rate: float | None) -> str:
    return "-" if rate is None else f"{rate:,.1f}"
