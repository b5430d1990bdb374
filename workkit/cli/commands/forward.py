"""`forward`: publish the due jobs of a native schedule to another schedule until stopped."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import click

from workkit.brokers.layout import NATIVE, OwnOption, layout_of, names_of, own_options, owners
from workkit.cli import failure
from workkit.cli.command import Command, Option
from workkit.cli.commands.listen import refuse_both, run_options, subscribed
from workkit.cli.known import check_known
from workkit.cli.live import ScheduleName
from workkit.cli.options import R, check_placed, is_typed, layout_option, server_options
from workkit.cli.settings import read_settings


def _of_the_other_side() -> list[OwnOption]:
    """Return those options of single layouts that the other side of a forward has too."""
    return [option for option in own_options().values() if option.to_meaning]


def _to_options(function: Callable[..., R]) -> Callable[..., R]:
    for option in reversed(_of_the_other_side()):
        text = f"{names_of(owners(option.name))}: {option.to_meaning}"
        function = click.option(f"--to-{option.name}", cls=Option, metavar=option.metavar, help=text)(function)
    return function


@click.command(
    "forward",
    cls=Command,
    takes="SCHEDULE --to NAME [OPTIONS]",
    about=(
        "Publish the due jobs of a native schedule to another schedule, until stopped. So jobs that recur reach "
        "programs that know no times.",
        "A job has ended here once the other side has acknowledged it: at least once, and once while nothing dies. "
        "Jobs that the other layout refuses are in the dead set, with the reason. The functions need not exist here. "
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
@layout_option("--to-layout")
@click.option("--to-redis", cls=Option, metavar="URL", help="its server; default the server of SCHEDULE")
@_to_options
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
    **own: str | None,
) -> int:
    """Publish due jobs to another schedule until stopped."""
    from workkit import schedule as verbs
    from workkit.cli.log import Log

    refuse_both(verbose, quiet)
    remedies = {"layout": "Say the layout of the other side: --to-layout."}
    remedies |= {option.name: option.forwarded for option in own_options().values() if option.forwarded}
    for name, remedy in remedies.items():
        if is_typed(name):
            raise click.UsageError(f"--{name}: SCHEDULE is always native. {remedy}")
    given: dict[str, Any] = {option.name: own[f"to_{option.name}"] for option in _of_the_other_side()}
    for name, value in given.items():
        if value is not None:
            check_placed(own_options()[name], to_layout, flag=f"--to-{name}", add="--to-layout")
    layout = layout_of(to_layout or NATIVE)
    if to_redis is not None and layout.place:
        place = f"--to-{layout.place.name} {layout.place.metavar}"
        raise click.UsageError(f"--to-redis with --to-layout {to_layout}: it is on {layout.server}. Write {place}.")
    settings = read_settings()
    how: dict[str, Any] = {"burst": burst, "deadline": deadline or settings.deadline or "25s"}
    how["health_port"] = health_port or settings.health_port
    s = verbs.create(schedule, redis=server, layout=NATIVE)
    there = None if layout.place else to_redis or server
    other = verbs.create(to, redis=there, layout=layout.name, **given)
    check_known(s, server=server)
    log = Log(json=(log_format or settings.log) == "json", verbose=verbose, quiet=quiet)
    with subscribed(log, log):
        return failure.status_after(verbs.forward(s, to=other, **how))
