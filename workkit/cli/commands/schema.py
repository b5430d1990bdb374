"""`schema`: the JSON schema of a plan, for editors."""

from __future__ import annotations

import json

import click

from workkit.cli.command import Command
from workkit.cli.options import verbose_option
from workkit.cli.printing import terminal


@click.command(
    "schema",
    cls=Command,
    takes="[OPTIONS]",
    about=("Print the JSON schema of a plan, with which an editor completes and checks a .toml file.",),
    examples=("workkit schema",),
    after="The same is in the package: workkit/plan.schema.json. In pyproject.toml it holds for each "
    "[tool.workkit.schedules.SCHEDULE].",
)
@verbose_option
def schema_command() -> None:
    """Print the JSON schema of a plan."""
    from workkit.jobs.planned import plan_schema

    terminal.data(json.dumps(plan_schema(), indent=2))
