"""`forward`: publish the due jobs of a native schedule to another schedule until stopped."""

from __future__ import annotations

from typing import Any

import click
from click.core import ParameterSource

from workkit.cli.command import Command, Option
from workkit.cli.commands.listen import refuse_both, run_options, subscribed
from workkit.cli.live import ScheduleName
from workkit.cli.options import server_options
from workkit.cli.settings import read_settings


@click.command(
    "forward",
    cls=Command,
    takes="SCHEDULE --to NAME [OPTIONS]",
    about=(
        "Publish the due jobs of a native schedule to another schedule on Redis, until stopped. So jobs that "
        "recur reach programs that know no times.",
        "A job has ended here once the other side has acknowledged it: at least once, and once while nothing dies. "
        "What the other layout refuses is in the dead set, with the reason. The functions need not exist here. "
        "Every job of SCHEDULE is published, so no listener belongs beside it.",
    ),
    examples=(
        "workkit forward app-tasks --to my_app --to-layout gocraft",
        "workkit add app-tasks 'every weekday at 9am' send_email",
    ),
    after="Start several for safety: each job is published by one of them.\n"
    "Ctrl-C or TERM: finish, give back the rest. Again: stop at once. TSTP: take nothing new, CONT: go on. "
    "USR2 or TTIN: dump stacks.",
)
@click.argument("schedule", type=ScheduleName(), metavar="SCHEDULE")
@click.option("--to", cls=Option, type=ScheduleName(), metavar="NAME", required=True, help="the schedule, or namespace")
@click.option(
    "--to-layout",
    cls=Option,
    type=click.Choice(("native", "gocraft")),
    metavar="native|gocraft",
    help="gocraft: a namespace of gocraft/work; default native",
)
@click.option("--to-redis", cls=Option, metavar="URL", help="its server; default the server of SCHEDULE")
@run_options("publish")
@server_options
def forward_command(
    schedule: str,
    to: str,
    to_layout: str | None,
    to_redis: str | None,
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
    if click.get_current_context().get_parameter_source("layout") == ParameterSource.COMMANDLINE:
        raise click.UsageError("--layout: SCHEDULE is always native. Say the layout of the other side: --to-layout.")
    settings = read_settings()
    how: dict[str, Any] = {"burst": burst, "deadline": deadline or settings.deadline or "25s"}
    how["health_port"] = health_port or settings.health_port
    s = verbs.create(schedule, redis=server, layout="native")
    other = verbs.create(to, redis=to_redis or server, layout=to_layout or "native")
    log = Log(json=(log_format or settings.log) == "json", verbose=verbose, quiet=quiet)
    with subscribed(log, log):
        verbs.forward(s, to=other, **how)
    return 0
