"""What the commands that look at schedules share: which schedules, how many rows, JSON instead of a table."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import click

from workkit.cli.command import Option
from workkit.cli.live import ScheduleName
from workkit.cli.options import Count, json_option, server_options, verbose_option, zone_option
from workkit.contract.filters import Place, accepted

DEFAULT_LIMIT = 50


FILTERED: dict[Place, str] = {
    "jobs": "in the function, the arguments, the name or the error of a job",
    "dead": "in the function, the arguments, the name or the error of a job",
    "runs": "in the function, the name or the error of a run",
}


def filter_help(place: Place) -> str:
    """Explain the filter of a list, for the help of its command."""
    return f"FILTER is a text {FILTERED[place]}, or qualifiers: {accepted(place)}. Their rules: workkit help filters."


def where_option(what: str) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """Add ``--where``, a filter."""
    return click.option("--where", cls=Option, metavar="FILTER", help=f"only {what} that fit FILTER")


def look_options(function: Callable[..., Any]) -> Callable[..., Any]:
    """Add the schedule, which may be left out, ``--json``, ``-v`` and the server."""
    function = server_options(function)
    function = verbose_option(function)
    function = json_option()(function)
    return click.argument("schedule", type=ScheduleName(), required=False)(function)


def paging_options(function: Callable[..., Any]) -> Callable[..., Any]:
    """Add which rows are listed, how many, and the zone of their times."""
    for option in (
        zone_option("zone of the times; default UTC"),
        click.option("--all", "everything", cls=Option, is_flag=True, help="as many as there are"),
        click.option("--limit", cls=Option, type=Count(), metavar="N", help=f"so many; default {DEFAULT_LIMIT}"),
        where_option("jobs"),
    ):
        function = option(function)
    return function


def most_rows(limit: int | None, everything: bool) -> int | None:
    """Tell how many rows are listed at most; None: all. Raises UsageError."""
    if everything and limit is not None:
        raise click.UsageError(f"--all and --limit {limit} were both given. Keep one of them.")
    return None if everything else limit or DEFAULT_LIMIT
