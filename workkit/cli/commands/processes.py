"""`listen --processes N`: this command line again, N times, under a supervisor; and what its children do otherwise."""

from __future__ import annotations

import sys
import traceback
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import click

from workkit.cli import failure
from workkit.cli.command import Command
from workkit.cli.host import host
from workkit.cli.printing import terminal
from workkit.cli.settings import MOST_PROCESSES
from workkit.events import Event
from workkit.text import wording

if TYPE_CHECKING:
    from workkit.cli.printing.log import Log
    from workkit.schedule import Schedule
    from workkit.worker.listener import Listener
    from workkit.worker.listener_process import Supervised
    from workkit.worker.loop import How

SUPERVISED = "--supervised"  # for our own children only: the ends of their two pipes
RELOADED = "--reloaded"  # for our own child only: it reloads nothing
FOR_THE_WHOLE = {"listening", "may_run", "health", "quiet", "resumed", "stopping", "stopped"}
WORDS = "workkit.words"


class ListenCommand(Command):
    """A command that keeps its words, to be given to children as they are."""

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        """Read the words, and keep them."""
        ctx.meta[WORDS] = tuple(args)
        return super().parse_args(ctx, args)


class ProcessCount(click.IntRange):
    """A number of processes."""

    def __init__(self) -> None:
        super().__init__(1, MOST_PROCESSES)

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> int:
        """Read digits; refuse the rest saying what is accepted."""
        text = str(value).strip()
        if not (text.isascii() and text.isdigit() and 1 <= int(text[:10]) <= MOST_PROCESSES):
            raise click.BadParameter(f'"{text}" is not a whole number from 1 to {MOST_PROCESSES}.', ctx, param)
        return int(text)


def supervise(how: How, *, processes: int, schedules: Iterable[Schedule]) -> int:
    """Run the current command line in so many processes until stopped; returns the exit status. `schedules` are what
    they listen to.
    """
    from workkit.verbs.opening import inspectors_of
    from workkit.worker.supervisor import ProcessPlan, Supervisor

    plan = ProcessPlan(
        command=lambda ends: again(SUPERVISED, ends),
        processes=processes,
        deadline=how.deadline,
        burst=how.burst,
        stuck_after=how.stuck_after,
        health=how.health,
        inspectors=inspectors_of(schedules) if how.health else {},
    )
    ending = Supervisor(plan).run()
    if ending.text:
        terminal.talk(ending.text)
    return ending.status or (failure.RETRYING if ending.retrying else 0)


def again(*first: str) -> list[str]:
    """Write the current command line, with these words before its own."""
    words = click.get_current_context().meta[WORDS]
    program = host().command or own_command(sys.orig_argv, words)
    return [*program, "listen", *first, *words]


def own_command(original: Sequence[str], words: Sequence[str]) -> list[str]:
    """Tell how this program was started, interpreter and its options included, up to the word `listen`: `original` is
    what `sys.orig_argv` holds, `words` are those after it. `flask workkit` starts it so too.
    """
    own = ["listen", *words]
    if list(original[-len(own) :]) == own:
        return [sys.executable, *original[1 : -len(own)]]
    return [sys.executable, "-m", "workkit"]  # called by a program: its own words are not ours


def listen_supervised(make: Callable[[], Listener], how: How, *, supervised: Supervised, verbose: bool) -> int:
    """Listen as one of several; what ends it badly is told to the supervisor, who says it once for all."""
    from workkit.worker.listener import obeyed

    try:
        listener = make()
        with obeyed(listener):
            supervised.obey(listener, deadline=how.deadline)
            return failure.status_after(listener.run())
    except Exception as error:
        status, text = failure.status_of(error), _rendered(error, verbose=verbose)
        if not supervised.report("refused", reason=wording.printable(failure.sentence(error)), text=text):
            raise
        return status


def _rendered(error: Exception, *, verbose: bool) -> str:
    """Write what `failure.report` would print."""
    shown = ["".join(traceback.format_exception(error)).rstrip()] if verbose else []
    return "\n".join([*shown, *failure.lines(error)])


class Relay:
    """A subscriber of events in a child: those that concern the whole go to the supervisor, the others to the log.

    Once the supervisor is gone the log gets them all.
    """

    def __init__(self, log: Log, supervised: Supervised) -> None:
        self._log, self._supervised = log, supervised
        self.least, self.wants, self.count, self.prints = log.least, log.wants, log.count, log.prints

    def __call__(self, event: Event) -> None:
        """Pass one event on."""
        if event.name == "listening":
            self._log.listener = str(event.fields.get("listener"))
        if event.name == "stopped":
            self._log.close()  # before the supervisor says so
        if event.name not in FOR_THE_WHOLE or not self._supervised.report(event.name, **_plain(event.fields)):
            self._log(event)


def _plain(fields: Mapping[str, Any]) -> dict[str, Any]:
    return {key: dict(value) if isinstance(value, Mapping) else value for key, value in fields.items()}
