"""`forward`: publish the due jobs of a native schedule to another schedule until stopped."""

from __future__ import annotations

from typing import Any

import click

from workkit.cli import failure
from workkit.cli.command import Command, Option
from workkit.cli.commands.listen import refuse_both, run_options, subscribed
from workkit.cli.known import check_known
from workkit.cli.live import ScheduleName
from workkit.cli.options import is_typed, server_options
from workkit.cli.settings import read_settings
from workkit.contract.layout import AMQP_LAYOUTS, LAYOUTS


@click.command(
    "forward",
    cls=Command,
    takes="SCHEDULE --to NAME [OPTIONS]",
    about=(
        "Publish the due jobs of a native schedule to another schedule, until stopped. So jobs that recur reach "
        "programs that know no times.",
        "A job has ended here once the other side has acknowledged it: at least once, and once while nothing dies. "
        "What the other layout refuses is in the dead set, with the reason. The functions need not exist here. "
        "Every job of SCHEDULE is published, so no listener belongs beside it.",
    ),
    examples=(
        "workkit forward app-tasks --to my_app --to-layout gocraft",
        "workkit forward app-tasks --to hutch --to-layout hutch --to-amqp amqp://rabbit",
        "workkit add app-tasks 'every weekday at 9am' @reports.wanted '{\"day\": 1}'",
    ),
    after="Start several for safety: each job is published by one of them.\n"
    "Ctrl-C or TERM: finish, give back the rest. Again: stop at once. TSTP: take nothing new, CONT: go on. "
    "USR2 or TTIN: dump stacks.",
)
@click.argument("schedule", type=ScheduleName(), metavar="SCHEDULE")
@click.option(
    "--to", cls=Option, type=ScheduleName(), metavar="NAME", required=True, help="the schedule, namespace or exchange"
)
@click.option(
    "--to-layout",
    cls=Option,
    type=click.Choice(LAYOUTS),
    metavar="|".join(LAYOUTS),
    help="gocraft: a namespace of gocraft/work; hutch, event: an exchange on RabbitMQ; default native",
)
@click.option("--to-redis", cls=Option, metavar="URL", help="its server; default the server of SCHEDULE")
@click.option(
    "--to-amqp",
    cls=Option,
    metavar="URL",
    help="hutch, event: its RabbitMQ; else WORKKIT_AMQP_URL, else amqp://guest:guest@127.0.0.1:5672/",
)
@run_options("publish")
@server_options
def forward_command(
    schedule: str,
    to: str,
    to_layout: str | None,
    to_redis: str | None,
    to_amqp: str | None,
    burst: bool,
    deadline: str | None,
    health_port: str | None,
    log_format: str | None,
    verbose: bool,
    quiet: bool,
    server: str | None,
) -> int:
    """Publish due jobs to another schedule until stopped."""
    from workkit import schedule as verbs
    from workkit.cli.printing.log import Log

    refuse_both(verbose, quiet)
    for name, remedy in (
        ("layout", "Say the layout of the other side: --to-layout."),
        ("amqp", "Say the RabbitMQ of the other side: --to-amqp."),
        ("namespace", "Leave it out: a forward has no queues."),
    ):
        if is_typed(name):
            raise click.UsageError(f"--{name}: SCHEDULE is always native. {remedy}")
    is_amqp = to_layout in AMQP_LAYOUTS
    if to_amqp is not None and not is_amqp:
        raise click.UsageError("--to-amqp names a RabbitMQ, which other layouts use. Add --to-layout hutch or event.")
    if to_redis is not None and is_amqp:
        raise click.UsageError(f"--to-redis with --to-layout {to_layout}: it is on RabbitMQ. Write --to-amqp URL.")
    settings = read_settings()
    how: dict[str, Any] = {"burst": burst, "deadline": deadline or settings.deadline or "25s"}
    how["health_port"] = health_port or settings.health_port
    s = verbs.create(schedule, redis=server, layout="native")
    there = None if is_amqp else to_redis or server
    other = verbs.create(to, redis=there, amqp=to_amqp, layout=to_layout or "native")
    check_known(s, server=server)
    log = Log(json=(log_format or settings.log) == "json", verbose=verbose, quiet=quiet)
    with subscribed(log, log):
        return failure.status_after(verbs.forward(s, to=other, **how))
