"""`sync`: make named jobs equal to a plan, which is shown first. `import`: print the jobs of another scheduler as such
a plan.
"""

from __future__ import annotations

import importlib
import shlex
import sys
import warnings
from collections.abc import Iterator, Mapping, Sequence
from functools import partial
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import click

from workkit.cli import folder, terminal
from workkit.cli.command import Command, Option
from workkit.cli.known import check_order, is_new
from workkit.cli.live import ScheduleName
from workkit.cli.options import (
    by_option,
    chosen_imports,
    import_option,
    is_typed,
    json_option,
    plan_version_option,
    server_options,
    verbose_option,
    zone_of,
    zone_option,
)
from workkit.cli.settings import Settings, read_settings
from workkit.cli.terminal import warnings_kept
from workkit.contract import record
from workkit.errors import Invalid, InvalidOptions, NotFound, WorkkitWarning
from workkit.jobs.job import call_text
from workkit.text import wording
from workkit.text.cells import cells, padded

if TYPE_CHECKING:
    from workkit.jobs.job import Job
    from workkit.verbs.plan import Plan

COLOURS = {"+": "green", "~": "yellow", "-": "red"}
Entries = Mapping[str, Mapping[str, Any]]


@click.command(
    "sync",
    cls=Command,
    takes="SCHEDULE [PLAN] [OPTIONS]",
    about=(
        "Make named jobs equal to a plan: new ones are added, changed ones replaced; the changes are shown first.",
        "PLAN is a .toml file with one table for each job, under its name, holding the keywords of schedule.add; or "
        "MODULE:MAPPING of this folder, with the same inside.",
        "Without PLAN: the jobs under @s.every(...), @s.at(...) and @s.cron(...) of the modules named with --import, "
        "and those in pyproject.toml; a plan that a newer one has replaced changes nothing.",
    ),
    examples=(
        "workkit sync app-tasks plan.toml --dry-run",
        "workkit sync app-tasks plan.toml --prune",
        "workkit sync app-tasks app.jobs:PLAN",
        "workkit sync app-tasks --import app.jobs",
        "workkit sync app-tasks --import app.jobs --rollback",
    ),
    after='A table: [digest] fn = "app.reports:digest", every = "weekday at 9am", each on a line of its own; in '
    "pyproject.toml [tool.workkit.schedules.app-tasks.digest]. A JSON schema for editors: workkit schema.",
)
@click.argument("schedule", type=ScheduleName())
@click.argument("plan", type=click.Path(), required=False)
@import_option("without PLAN: import this module, and make the jobs so that it plans; repeatable")
@click.option("--rollback", cls=Option, is_flag=True, help="without PLAN: also a plan that a newer one has replaced")
@plan_version_option
@click.option("--prune", cls=Option, is_flag=True, help="cancel named recurring jobs that are not in the plan")
@click.option("--dry-run", cls=Option, is_flag=True, help="show the changes, make none")
@zone_option("zone of the words; default UTC")
@json_option("print the names as JSON: added, changed, removed, unchanged")
@by_option
@verbose_option
@server_options
def sync_command(
    schedule: str,
    plan: str | None,
    imports: tuple[str, ...],
    rollback: bool,
    plan_version: str | None,
    prune: bool,
    dry_run: bool,
    tz: str | None,
    as_json: bool,
    by: str | None,
    server: str | None,
) -> None:
    """Make named jobs equal to a plan."""
    from workkit import schedule as verbs
    from workkit.verbs.syncing import sync_planned

    settings = read_settings()
    zone = wording.zone_name(zone_of(tz, settings))
    check_order(schedule, meant=f"workkit sync SCHEDULE {shlex.quote(plan or schedule)}", server=server)
    notes: list[str] = []
    entries: Entries = {}
    if plan is None:
        imported(chosen_imports(imports, settings))
    elif not (rollback or is_typed("imports") or is_typed("plan_version")):
        entries, notes = _read(plan)
    in_code = None if tz or settings.tz else _zone_in_code(schedule)
    if in_code is not None and in_code != zone:
        zone = in_code
        rows: list[Any] = list(entries.values()) or list(_of_project(schedule, settings))
        if any(isinstance(row, Mapping) and "tz" not in row for row in rows):
            notes.append(f"times without a zone are in {zone}, as {schedule} is created in the modules imported here")
    s = verbs.create(schedule, redis=server, tz=zone)
    if plan is None:
        version = plan_version or settings.plan_version
        file = settings.file if settings.plans else None
        make = partial(sync_planned, s, file=file, plan_version=version, rollback=rollback, prune=prune, by=by)
    elif rollback or is_typed("imports") or is_typed("plan_version"):
        remedy = "Leave out PLAN, or these."
        raise click.UsageError(f"--import, --plan-version and --rollback are about the plan of code. {remedy}")
    else:
        make = partial(verbs.sync, s, entries, prune=prune, by=by)
    begins = is_new(s)
    with warnings_kept():
        found = make(dry_run=True)
    if not as_json:
        for line in plan_lines(found):
            terminal.say(line, indent=2)
    if not dry_run:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", WorkkitWarning)  # they were printed before
            found = make()
    if as_json:
        names = {word: list(getattr(found, word)) for word in ("added", "changed", "removed", "unchanged")}
        if plan is None:
            names |= {"over": list(found.over), "older": list(found.older)}
        terminal.data(record.compact({**names, "dry_run": dry_run, "new_schedule": begins and bool(found.added)}))
    else:
        new = ", in a new schedule" if begins and found.added else ""
        terminal.say(f"{schedule}: {found}{new}{' (nothing was done: --dry-run)' if dry_run else ''}")
    if found.older and not rollback:
        notes.append(f"a newer plan of {', '.join(found.older)} holds. Back to this one: --rollback")
    for note in notes:
        terminal.talk(f"{terminal.paint('note:', 'yellow', sys.stderr)} {wording.printable(note)}.")


def _of_project(schedule: str, settings: Settings) -> list[Mapping[str, Any]]:
    """Return the plans in the tables of pyproject.toml. Decorators need no zone: each has that of its schedule."""
    from workkit.verbs.plan import plan_of_project

    found = plan_of_project(settings.file, schedule) if settings.plans and settings.file else None
    return [] if found is None else [one.given for one in found.jobs.values()]


def _zone_in_code(schedule: str) -> str | None:
    """Find the zone of a schedule that the imported modules create; None if no module does, or if they differ."""
    from workkit.schedule import Schedule

    modules = [module for name, module in sys.modules.items() if name.partition(".")[0] != "workkit"]
    spaces = [space for module in modules if isinstance(space := getattr(module, "__dict__", None), dict)]
    values = [value for space in spaces for value in list(space.values())]
    zones = {one.tz for one in values if type(one) is Schedule and one.name == schedule}
    return zones.pop() if len(zones) == 1 else None


def plan_lines(plan: Plan) -> Iterator[str]:
    """Write the changes, a line for each job, and the number of unchanged jobs."""
    width = max(map(cells, (*plan.added, *plan.changed, *plan.removed)), default=0)
    for name in plan.added:
        yield _line("+", name, width, call_text(plan.after[name]), words(plan.after[name]))
    for name in plan.changed:
        before, after = plan.before[name], plan.after[name]
        same = _content(before) == _content(after)
        calls = _changed(call_text(before), call_text(after))
        yield _line("~", name, width, calls, _changed(words(before), words(after)), "other options" if same else "")
    for name in plan.removed:
        yield _line("-", name, width, call_text(plan.before[name]), words(plan.before[name]))
    if plan.unchanged:
        yield f"= {len(plan.unchanged):,} unchanged"


def _content(job: Job) -> tuple[str, str]:
    return call_text(job, most=None), words(job)


def words(job: Job) -> str:
    """Say when a job fires."""
    return record.words_of(job) or "at once"


def _changed(before: str, after: str) -> str:
    return after if before == after else f"{before} -> {after}"


def _line(sign: str, name: str, width: int, *parts: str) -> str:
    said = "  ".join(part for part in (padded(wording.printable(name), width), *parts) if part)
    return f"{terminal.paint(sign, COLOURS[sign], sys.stdout)} {said}"


def _read(plan: str) -> tuple[Entries, list[str]]:
    """Read the plan and find its functions as `add` does. Return a note for each that the files of this folder do not
    confirm.
    """
    from workkit.errors import located

    entries = _of_file(plan) if plan.endswith(".toml") else _of_module(plan)
    checked: dict[str, Mapping[str, Any]] = {}
    notes: dict[str, None] = {}
    for name, entry in entries.items():
        if _lacks_function(entry):
            raise InvalidOptions(f'job {name}: fn is missing. Add fn = "app.reports:digest".', given=name)
        checked[name] = entry
        if type(fn := _function(entry)) is str:
            try:
                found, note = folder.checked(fn, Path.cwd(), call=_arguments(entry))
            except Invalid as error:
                raise located(error, f"job {name}") from error.__cause__
            checked[name] = {**entry, "fn": found}
            if note:
                notes[note] = None
    return checked, list(notes)


def imported(modules: Sequence[str]) -> None:
    """Import modules as a listener of this folder does. Raises InvalidFunction."""
    from workkit.jobs.registry import Registry

    here = str(Path.cwd())
    sys.path.insert(0, here)
    try:
        Registry(imports=modules, folder=Path.cwd()).load()
    finally:
        sys.path.remove(here)


def _function(entry: Any) -> Any:
    return entry.get("fn") if isinstance(entry, Mapping) else None


def _arguments(entry: Mapping[str, Any]) -> folder.Arguments | None:
    """Return the arguments of an entry, if they have the required types."""
    args, kwargs = entry.get("args", ()), entry.get("kwargs") or {}
    return (args, kwargs) if isinstance(args, list | tuple) and isinstance(kwargs, Mapping) else None


def _lacks_function(entry: Any) -> bool:
    return isinstance(entry, Mapping) and "fn" not in entry


def _of_file(plan: str) -> Entries:
    from workkit.verbs.plan import entries, read_toml

    return entries(read_toml(Path(plan)), where=plan)


def _of_module(plan: str) -> Entries:
    module, colon, name = plan.partition(":")
    if not colon or not module or not name.isidentifier():
        raise InvalidOptions(f'"{plan}" is no plan. Name a .toml file, or MODULE:MAPPING.', given=plan)
    sys.path.insert(0, str(Path.cwd()))
    try:
        entries = getattr(importlib.import_module(module), name)
    except ModuleNotFoundError as error:
        if error.name is None or not (module == error.name or module.startswith(f"{error.name}.")):
            raise InvalidOptions(f"{module} cannot be imported: {error}. Correct it there.", given=plan) from error
        raise NotFound(
            f"{plan}: no module {error.name} under ./ (this folder). Name one that is.", given=plan
        ) from error
    except AttributeError as error:
        raise NotFound(f"{plan}: {module} has no {name}. Name a mapping there.", given=plan) from error
    except Exception as error:  # any error of its code
        what = f"{type(error).__name__}: {error}"
        raise InvalidOptions(f"{module} cannot be imported: {what}. Correct it there.", given=plan) from error
    finally:
        sys.path.remove(str(Path.cwd()))
    if not isinstance(entries, Mapping):
        raise InvalidOptions(
            f"{plan} is a {type(entries).__name__}. Give a mapping: name -> the keywords of schedule.add.", given=plan
        )
    return entries


class Source(NamedTuple):
    """A scheduler to import from: its reader in `workkit.moving`, the meaning of its argument, and the name of its
    entries.
    """

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
WITHOUT_ZONE = ("celery", "apscheduler")  # programs of these name their zone
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
        "An entry that no plan can express exactly is refused: it is a comment in the plan, and on stderr, with its "
        "place and the reason. Exit status 0: all is in the plan; 1: something was refused, and the plan has the rest.",
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
