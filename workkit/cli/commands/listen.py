"""`listen`: run due jobs until stopped."""

from __future__ import annotations

import logging
import os
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import click

from workkit.brokers.layout import NATIVE, layouts, names_of
from workkit.cli import failure
from workkit.cli.command import Option
from workkit.cli.commands.processes import (
    RELOADED,
    SUPERVISED,
    ListenCommand,
    ProcessCount,
    Relay,
    again,
    listen_supervised,
    reload_on_change,
    supervise,
    whole_lines,
)
from workkit.cli.folder import Consumer
from workkit.cli.live import ScheduleName
from workkit.cli.options import (
    OPTIONAL,
    Commas,
    Count,
    chosen_imports,
    chosen_schedules,
    import_option,
    is_typed,
    plan_version_option,
    server_options,
    weighted,
)
from workkit.cli.settings import read_settings

if TYPE_CHECKING:
    from workkit.cli.log import Log
    from workkit.events import Event
    from workkit.schedule import Schedule
    from workkit.worker.listener import Listener

    Targets = list[Schedule] | dict[Schedule, int]

R = TypeVar("R")
NAMED = [one for one in layouts() if one.has_job_names]
BESIDE = [one for one in layouts() if one.place]  # layouts of servers that have a Redis beside them


def run_options(verb: str) -> Callable[[Callable[..., R]], Callable[..., R]]:
    """Add the options of every command that serves until it is stopped: its end, its health pages, its log."""
    options = (
        click.option(
            "--burst", cls=Option, is_flag=True, help=f"{verb} what is due now, then exit; 75 if a retry waits"
        ),
        click.option(
            "--deadline",
            cls=Option,
            metavar="DURATION",
            envvar="WORKKIT_DEADLINE",
            help="time to finish at a stop; default 25s",
        ),
        click.option(
            "--health-port",
            cls=Option,
            metavar="PORT",
            envvar="WORKKIT_HEALTH_PORT",
            help="serve /livez, /readyz and /metrics on 127.0.0.1 (elsewhere: ADDRESS:PORT)",
        ),
        click.option(
            "--log",
            "log_format",
            cls=Option,
            type=click.Choice(("console", "json")),
            metavar="console|json",
            envvar="WORKKIT_LOG",
            help="default console",
        ),
        click.option("-v", "--verbose", cls=Option, is_flag=True, help="every job, with arguments and tracebacks"),
        click.option("-q", "--quiet", cls=Option, is_flag=True, help="only warnings and errors"),
    )

    def add(command: Callable[..., R]) -> Callable[..., R]:
        for option in reversed(options):
            command = option(command)
        return command

    return add


@click.command(
    "listen",
    cls=ListenCommand,
    takes="[SCHEDULE[:WEIGHT]]... [OPTIONS]",
    about=(
        "Run the due jobs of these schedules until stopped. May run functions of modules under this folder, and of "
        "those named with --import.",
        "Of several schedules one is picked by weight (default 1); --strict empties them in the order given. A weight "
        "is the digits after the last colon.",
    ),
    examples=("workkit listen app-tasks", "workkit listen critical:10 default:5 low:1 --import app.jobs"),
    after=f"{OPTIONAL}\n"
    "Ctrl-C or TERM: finish, give back the rest. Again: stop at once. TSTP: take nothing new, CONT: go on. "
    "USR2 or TTIN: dump stacks.",
    rare=("jobs", "consumers", "sources", "plan_version", "no_publish", "reload_dirs", "keep_unfit"),
    topic="listening",
)
@click.argument("schedules", type=ScheduleName(), nargs=-1, metavar="[SCHEDULE[:WEIGHT]]...")
@import_option("allow this module and import it at start; repeatable")
@click.option("--only-imports", cls=Option, is_flag=True, help="allow nothing but --import")
@click.option(
    "--jobs",
    cls=Option,
    metavar="NAME[:PRIORITY],...",
    envvar="WORKKIT_JOBS",
    help=f"{names_of(NAMED)}: job names to serve; default all registered",
)
@click.option(
    "--consumer",
    "consumers",
    cls=Option,
    type=Consumer(),
    multiple=True,
    metavar="NAME=MODULE:FUNCTION",
    help="run this function under a job name, as if it was marked with @job; repeatable",
)
@click.option(
    "--name",
    "listener_name",
    cls=Option,
    metavar="NAME",
    envvar="WORKKIT_NAME",
    help="what the listener is called where listeners are shown; default its host and process",
)
@click.option(
    "--threads",
    cls=Option,
    type=Count(),
    metavar="N",
    envvar="WORKKIT_THREADS",
    help="functions at once; default 10",
)
@click.option(
    "--coroutines",
    cls=Option,
    type=Count(),
    metavar="N",
    envvar="WORKKIT_COROUTINES",
    help="coroutines at once; default 100",
)
@click.option(
    "--processes",
    cls=Option,
    type=ProcessCount(),
    metavar="N",
    envvar="WORKKIT_PROCESSES",
    help="listener processes; default 1",
)
@click.option(
    "--forward",
    "sources",
    cls=Option,
    type=Commas(),
    multiple=True,
    metavar="SCHEDULE",
    help="publish the due jobs of this native schedule (on --redis) to the served one, as workkit forward does; "
    f"repeatable. With {names_of(BESIDE)} the same Redis is the one beside the {BESIDE[0].server}",
)
@click.option("--strict", cls=Option, is_flag=True, help="schedules strictly in order")
@click.option("--sync", cls=Option, is_flag=True, help="first make the planned jobs so, unless a newer plan holds")
@plan_version_option
@click.option(
    "--keep-unfit",
    cls=Option,
    metavar="DURATION",
    help="time for which a due job with unfit arguments is left for other listeners, then dead; default 10m",
)
@click.option("--no-publish", cls=Option, is_flag=True, help="do not tell on the server which functions it knows")
@click.option("--reload", cls=Option, is_flag=True, help="for development: start again when a Python file changes")
@click.option(
    "--reload-dir",
    "reload_dirs",
    cls=Option,
    multiple=True,
    metavar="FOLDER",
    help="watch this folder, not the present one; repeatable",
)
@run_options("run")
@click.option(SUPERVISED, cls=Option, hidden=True)
@click.option(RELOADED, cls=Option, is_flag=True, hidden=True)
@server_options
def listen_command(
    schedules: tuple[str, ...],
    imports: tuple[str, ...],
    only_imports: bool,
    jobs: str | None,
    consumers: tuple[str, ...],
    listener_name: str | None,
    threads: int | None,
    coroutines: int | None,
    processes: int | None,
    sources: tuple[str, ...],
    strict: bool,
    sync: bool,
    plan_version: str | None,
    keep_unfit: str | None,
    no_publish: bool,
    reload: bool,
    reload_dirs: tuple[str, ...],
    burst: bool,
    deadline: str | None,
    health_port: str | None,
    log_format: str | None,
    verbose: bool,
    quiet: bool,
    supervised: str | None,
    reloaded: bool,
    server: str | None,
) -> int:
    """Run due jobs until stopped."""
    refuse_both(verbose, quiet)
    if reload_dirs and not reload:
        raise click.UsageError("--reload-dir names what is watched, and nothing is without --reload. Add --reload.")
    if reload and burst:
        raise click.UsageError("--reload and --burst were both given: a burst ends by itself. Keep one of them.")
    if reload and not (reloaded or supervised):
        return reload_on_change(again(RELOADED), reload_dirs)
    settings = read_settings()
    imports = chosen_imports(imports, settings)
    if only_imports and not imports:
        raise click.UsageError("--only-imports allows nothing without --import. Add --import MODULE.")
    how: dict[str, Any] = {"imports": imports, "folder": None if only_imports else Path.cwd(), "strict": strict}
    how["threads"] = threads or settings.threads or 10
    how["coroutines"] = coroutines or settings.coroutines or 100
    if listener_name:
        how["listener_name"] = listener_name
    how["deadline"] = deadline or settings.deadline or "25s"
    how["health_port"] = health_port or settings.health_port
    if burst:
        how["burst"] = True
    if keep_unfit:
        how["keep_unfit"] = keep_unfit
    if no_publish:
        how["publish"] = False
    if sync:
        how["sync"] = settings.file if settings.plans and settings.file else True
        how["plan_version"] = plan_version or settings.plan_version
    elif plan_version and is_typed("plan_version"):
        raise click.UsageError(
            "--plan-version says which plan is newer, and none is made so without --sync. Add --sync."
        )
    if jobs:
        how["jobs"] = [text.strip() for text in jobs.split(",") if text.strip()]
    if consumers:
        how["consumers"] = consumers
    targets = _targets(chosen_schedules(schedules, settings, command="listen"), server=server)
    log = {"json": (log_format or settings.log) == "json", "verbose": verbose, "quiet": quiet}
    count = processes or settings.processes or 1
    if sources:
        _check_sources(targets, burst=burst, processes=count)
        return _listen_and_forward(targets, sources, how, server=server, **log)
    if supervised:
        return _listen_supervised(targets, how, ends=supervised, **log)
    return _listen(targets, how, processes=count, **log)


def refuse_both(verbose: bool, quiet: bool) -> None:
    """Refuse two contradictory options."""
    if verbose and quiet:
        raise click.UsageError("-v and -q were both given. Keep one of them.")


def _targets(named: Sequence[str], *, server: str | None) -> Targets:
    from workkit import schedule as verbs

    pairs = [weighted(text) for text in named]
    twice = next((name for n, (name, _) in enumerate(pairs) if name in [other for other, _ in pairs[:n]]), None)
    if twice is not None:
        raise click.UsageError(f'schedule "{twice}" was named twice. Name it once.')
    made = [(verbs.create(name, redis=server), weight) for name, weight in pairs]
    if all(weight is None for _, weight in made):
        return [s for s, _ in made]
    return {s: weight or 1 for s, weight in made}


def _listen(targets: Targets, how: Mapping[str, Any], *, processes: int, **style: bool) -> int:
    from workkit import schedule as verbs
    from workkit.cli.log import Log
    from workkit.verbs.listening import read_how

    log = Log(**style)
    with subscribed(log, log):
        if processes > 1:
            read, _ = read_how(how)
            return supervise(read, processes=processes, schedules=targets)
        return failure.status_after(verbs.listen(targets, **how))


def _check_sources(targets: Targets, *, burst: bool, processes: int) -> None:
    beside = "Leave it out, and run workkit forward beside."
    if len(targets) > 1:
        raise click.UsageError(f"--forward with {len(targets)} schedules: it does not say to which. {beside}")
    if burst or processes > 1:
        raise click.UsageError(f"--forward with {'--burst' if burst else '--processes'}: it is one forwarder. {beside}")


def _listen_and_forward(
    targets: Targets, sources: Sequence[str], how: Mapping[str, Any], *, server: str | None, **style: bool
) -> int:
    from workkit import schedule as verbs
    from workkit.cli.log import Log
    from workkit.verbs.listening import until_stopped

    (target,) = targets
    log = Log(**style)

    def listener() -> Listener:
        ours = verbs.listener(targets, **how)
        for name in sources:
            source = verbs.create(name, redis=server, layout=NATIVE)
            ours.beside(verbs.forwarder(source, to=target, deadline=how["deadline"]))
        return ours

    with subscribed(log, log):
        return failure.status_after(until_stopped(listener, verb="listen"))


def _listen_supervised(targets: Targets, how: Mapping[str, Any], *, ends: str, **style: bool) -> int:
    from workkit import schedule as verbs
    from workkit.cli.log import Log
    from workkit.verbs.listening import read_how
    from workkit.worker.listener_process import Supervised

    if how["health_port"] is not None:  # the supervisor has the port, and asks for these pages
        how = {**how, "health_port": 0}
    log, supervised = Log(**style), Supervised(ends)
    with subscribed(Relay(log, supervised), log):
        read, _ = read_how(how)
        make = partial(verbs.listener, targets, **how)
        return listen_supervised(make, read, supervised=supervised, verbose=style["verbose"])


@contextmanager
def subscribed(subscriber: Callable[[Event], None], log: Log) -> Iterator[None]:
    """Print events inside this block, in whole lines. Modules of the present folder can be imported."""
    from workkit import events

    here = os.getcwd()
    if here not in sys.path:  # a console script has its own folder there instead
        sys.path.insert(0, here)
    with whole_lines():
        log.stream = sys.stderr
        ends = events.subscribe(subscriber), events.subscribe(_Levels())
        try:
            yield
        finally:
            for unsubscribe in ends:
                unsubscribe()
            log.close()


class _Levels:
    """A subscriber for the start of a listener. It lets handlers log with INFO, unless an imported module has
    configured logging. `workkit show` prints these lines; Python prints none below WARNING without a handler.
    """

    least = sys.maxsize

    def __call__(self, event: Event) -> None:
        if self.wants(event.name) and not logging.root.handlers and logging.root.level == logging.WARNING:
            logging.root.setLevel(logging.INFO)

    def wants(self, name: str) -> bool:
        """Want only the start."""
        return name == "listening"
