"""`import`: what another scheduler runs, printed as a plan."""

from __future__ import annotations

import sys
from importlib import import_module
from typing import NamedTuple

import click

from workkit.cli.command import Command, Option
from workkit.cli.options import is_typed, verbose_option, zone_option
from workkit.cli.printing import terminal
from workkit.text import wording


class Source(NamedTuple):
    """A scheduler to import from: its reader in `workkit.moving`, what is named there, and what an entry is called."""

    module: str
    takes: str
    kind: str


SOURCES = {
    "crontab": Source("crontab", "FILE", "crontab"),
    "systemd": Source("systemd", "DIR", "timers of"),
    "celery": Source("celery", "APP", "beat schedule of the Celery app"),
    "apscheduler": Source("apscheduler", "MODULE:SCHEDULER", "APScheduler"),
    "rq-scheduler": Source("rq_scheduler", "URL", "rq-scheduler on"),
}
WITHOUT_ZONE = ("celery", "apscheduler")  # their programs name it
REFUSED = 1


@click.command(
    "import",
    cls=Command,
    takes="SOURCE WHAT [OPTIONS]",
    about=(
        "Print what another scheduler runs as a plan for workkit sync. It writes to no server and starts nothing.",
        "crontab FILE: the crontab of a user, or of a machine with --system; - is stdin. systemd DIR: the *.timer "
        "files of a folder, with their *.service files.",
        "celery APP: the beat_schedule of an app of this folder, named as celery -A takes it. apscheduler "
        "MODULE:SCHEDULER: the jobs of a scheduler of this folder. Both import the program, and run no task.",
        "rq-scheduler URL: its jobs on a Redis, which is only read.",
        "What no plan says exactly is refused: it stands as a comment in the plan, and on stderr, with its place and "
        "the reason. Exit status 0: all is in the plan; 1: something was refused, and the plan has the rest.",
    ),
    examples=(
        "crontab -l | workkit import crontab - > plan.toml",
        "workkit import crontab /etc/cron.d/backup --system > plan.toml",
        "workkit import systemd /etc/systemd/system > plan.toml",
        "workkit import celery app.tasks > plan.toml",
        "workkit import apscheduler app.jobs:scheduler > plan.toml",
        "workkit import rq-scheduler redis://localhost:6379/0 --tz Europe/Paris",
        "workkit sync app-tasks plan.toml --dry-run",
        "workkit listen app-tasks --import workkit.shell",
    ),
    after="Crontabs and timers run commands: workkit.shell:run runs them, on listeners that allow it with --import "
    "workkit.shell.",
)
@click.argument("source", type=click.Choice(list(SOURCES)), metavar="SOURCE")
@click.argument("what", metavar="WHAT")
@click.option("--system", cls=Option, is_flag=True, help="crontab: its lines name a user (/etc/crontab, /etc/cron.d)")
@zone_option("zone of the machine that runs it so far; default that of this one")
@verbose_option
def import_command(source: str, what: str, system: bool, tz: str | None) -> int:
    """Print what another scheduler runs as a plan."""
    from workkit.brokers.redis_server.address import masked
    from workkit.moving.found import Reading, Refused
    from workkit.moving.plan_text import plan_text, settled, source_name

    if system and source != "crontab":
        raise click.UsageError(f"--system is for crontabs; {source} has no column for a user. Leave it out.")
    if is_typed("tz") and source in WITHOUT_ZONE:
        raise click.UsageError(
            f"--tz is for crontabs, timers and rq-scheduler; {source} names its zone in the program."
        )
    chosen = SOURCES[source]
    reader = import_module(f"workkit.moving.{chosen.module}")
    found = settled(reader.found_in(what, Reading.here(tz=tz, system=system)))
    terminal.data(plan_text(found, source=source_name(chosen.kind, masked(what))).rstrip("\n"))
    refused = [entry for entry in found if isinstance(entry, Refused)]
    for entry in refused:
        said = " ".join(part for part in (entry.reason, entry.instead) if part)
        terminal.talk(
            f"{terminal.paint('refused:', 'yellow', sys.stderr)} {wording.printable(f'{entry.where}: {entry.text}')}"
        )
        terminal.talk(f"  {wording.printable(said)}")
    return REFUSED if refused else 0
