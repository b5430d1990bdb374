"""`result`: what a job returned."""

from __future__ import annotations

import json
from typing import Any

import click

from workkit.cli.command import Command, Option
from workkit.cli.known import opened
from workkit.cli.live import ScheduleName, Which
from workkit.cli.options import json_option, server_options
from workkit.cli.printing import record, terminal
from workkit.errors import JobFailed
from workkit.text import wording


@click.command(
    "result",
    cls=Command,
    takes="SCHEDULE WHICH [OPTIONS]",
    about=(
        "Print what a job returned, if it was added with --keep or its function is marked with @job(keep=...).",
        "Of a recurring job, print the latest result. Exit status 1: the job failed; 3: there is no such job, or it "
        "has no result; 4: it is not over.",
    ),
    examples=("workkit result app-tasks 54111adf --wait 30s", "workkit result app-tasks nightly --json"),
)
@click.argument("schedule", type=ScheduleName())
@click.argument("which", type=Which())
@click.option("--wait", cls=Option, metavar="DURATION", help="wait for its end, so long at most; default: not at all")
@json_option()
@server_options
def result_command(schedule: str, which: str, wait: str | None, as_json: bool, server: str | None) -> None:
    """Print one result."""
    from workkit import schedule as verbs

    (s,) = opened(schedule, command="result", server=server)
    try:
        value = verbs.result(s, which, wait=wait)
    except JobFailed as error:
        if error.traceback:
            terminal.talk(_printable(error.traceback.rstrip()))
        raise
    terminal.data(_text(value, as_json=as_json))


def _text(value: Any, *, as_json: bool) -> str:
    """Write a value: a text as text, all else as JSON."""
    if as_json:
        return record.compact(value)
    return _printable(value if isinstance(value, str) else json.dumps(value, ensure_ascii=False, indent=2))


def _printable(text: str) -> str:
    return "\n".join(map(wording.printable, text.splitlines()))
