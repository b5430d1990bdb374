"""`listen --processes N`: this command line again, N times, under a supervisor; and the special tasks of its children.

`listen --reload`: this command line again as one process, which is replaced when a Python file changes. All events
(changes, signals, the end of the process) go into one queue, and only the main thread acts on them.

While threads print and events are logged, `whole_lines` keeps lines whole. Each thread has its own unfinished line. A
finished line is one write, under one lock for both streams.
"""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading
import traceback
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from queue import SimpleQueue
from typing import TYPE_CHECKING, Any, TextIO

import click

from workkit.cli import failure, terminal
from workkit.cli.command import Command
from workkit.cli.settings import MOST_PROCESSES, host
from workkit.errors import InvalidOptions, Unsupported
from workkit.events import Event
from workkit.text import wording
from workkit.text.wording import listed
from workkit.worker.listener import DUMP, STOP
from workkit.worker.service import how_it_ended, shell_status

if TYPE_CHECKING:
    from workkit.cli.log import Log
    from workkit.schedule import Schedule
    from workkit.worker.listener import Listener
    from workkit.worker.listener_process import Supervised
    from workkit.worker.loop import How

SUPERVISED = "--supervised"  # only for children of this process: the ends of their two pipes
RELOADED = "--reloaded"  # only for the child of this process: it reloads nothing
FOR_THE_WHOLE = {"listening", "may_run", "health", "quiet", "resumed", "stopping", "stopped"}
WORDS = "workkit.words"


class ListenCommand(Command):
    """A command that keeps its words, to pass them on to children."""

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        """Read the words, and keep them."""
        ctx.meta[WORDS] = tuple(args)
        return super().parse_args(ctx, args)


class ProcessCount(click.IntRange):
    """A number of processes."""

    def __init__(self) -> None:
        super().__init__(1, MOST_PROCESSES)

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> int:
        """Read digits. The error for any other text names the accepted values."""
        text = str(value).strip()
        if not (text.isascii() and text.isdigit() and 1 <= int(text[:10]) <= MOST_PROCESSES):
            raise click.BadParameter(f'"{text}" is not a whole number from 1 to {MOST_PROCESSES}.', ctx, param)
        return int(text)


def supervise(how: How, *, processes: int, schedules: Iterable[Schedule]) -> int:
    """Run the current command line in this number of processes until stopped. Returns the exit status. `schedules`:
    those that they listen to.
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
    """Return the current command line, with these words before its own."""
    words = click.get_current_context().meta[WORDS]
    program = host().command or own_command(sys.orig_argv, words)
    return [*program, "listen", *first, *words]


def own_command(original: Sequence[str], words: Sequence[str]) -> list[str]:
    """Return the words that started this program, interpreter and its options included, up to the word `listen`.
    `original` is the value of `sys.orig_argv`, `words` are those after `listen`. `flask workkit` starts it in the same
    way.
    """
    own = ["listen", *words]
    if list(original[-len(own) :]) == own:
        return [sys.executable, *original[1 : -len(own)]]
    return [sys.executable, "-m", "workkit"]  # a program called this: its own words are not those of this command line


def listen_supervised(make: Callable[[], Listener], how: How, *, supervised: Supervised, verbose: bool) -> int:
    """Listen as one of several processes. A failure goes to the supervisor, which prints it once for all."""
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
    """Write the text that `failure.report` would print."""
    shown = ["".join(traceback.format_exception(error)).rstrip()] if verbose else []
    return "\n".join([*shown, *failure.lines(error)])


class Relay:
    """A subscriber of events in a child. Events of the whole group go to the supervisor, the others to the log.

    Without a supervisor the log gets all of them.
    """

    def __init__(self, log: Log, supervised: Supervised) -> None:
        self._log, self._supervised = log, supervised
        self.least, self.wants, self.count, self.prints = log.least, log.wants, log.count, log.prints

    def __call__(self, event: Event) -> None:
        """Pass one event on."""
        if event.name == "listening":
            self._log.listener = str(event.fields.get("listener"))
        if event.name == "stopped":
            self._log.close()  # before the supervisor reports it
        if event.name not in FOR_THE_WHOLE or not self._supervised.report(event.name, **_plain(event.fields)):
            self._log(event)


def _plain(fields: Mapping[str, Any]) -> dict[str, Any]:
    return {key: dict(value) if isinstance(value, Mapping) else value for key, value in fields.items()}


QUIET_MS = 200  # ms; files that change within this time are one change
LOOK_SECONDS = 5.0  # seconds; the watcher checks for its end far more often
NAMED = 3  # the most changed files in one line
PASSED_ON = (*STOP, *DUMP, signal.SIGTSTP, signal.SIGCONT)

News = tuple[str, Any]


def reload_on_change(command: Sequence[str], folders: Sequence[str]) -> int:
    """Run `command` until a signal ends it, and again after each change of a Python file in these folders (default: the
    present one). Returns its exit status. Raises Unsupported without the extra, InvalidOptions.
    """
    watched = [Path(folder) for folder in folders] or [Path.cwd()]
    for folder in watched:
        if not folder.is_dir():
            trouble, remedy = "is no folder", "Name one that is there."
            raise InvalidOptions.about(f"--reload-dir {folder}", trouble, remedy, given=str(folder))
    watch = _watch_of(watched)
    news: SimpleQueue[News] = SimpleQueue()
    over = threading.Event()
    watcher = threading.Thread(target=_look, args=(watch, over, news), name="workkit-reload", daemon=True)
    terminal.talk(f"reload     when a Python file changes in {listed([_shown(folder) for folder in watched])}")
    with _signals_into(news):
        watcher.start()
        try:
            return _Reloader(command, news).run()
        finally:
            over.set()
            watcher.join(LOOK_SECONDS)  # a thread inside the library at the end of Python would abort the process


class _Reloader:
    """The process and its replacement. A change stops it gracefully; a further change ends it at once."""

    def __init__(self, command: Sequence[str], news: SimpleQueue[News]) -> None:
        self._command, self._news = command, news
        self._process: subprocess.Popen[bytes] | None = None
        self._is_restarting = self._is_ending = False
        self._status = 0

    def run(self) -> int:
        """Act on events until the end. Returns the exit status of the last process."""
        self._start()
        try:
            while not (self._is_ending and self._process is None):
                what, value = self._news.get()
                getattr(self, f"_{what}")(value)
            return self._status
        finally:
            if self._process is not None:
                self._process.kill()
                self._process.wait()

    def _start(self) -> None:
        self._is_restarting = False
        # A session of its own: a Ctrl-C in the terminal reaches it from here, and once.
        process = self._process = subprocess.Popen(self._command, start_new_session=True)
        threading.Thread(target=lambda: self._news.put(("ended", process.wait())), daemon=True).start()

    def _changed(self, files: Sequence[str]) -> None:
        if self._is_ending:
            return
        named = sorted({_shown(Path(file)) for file in files})
        more = [f"{len(named) - NAMED} more"] if len(named) > NAMED else []
        what = listed([*named[:NAMED], *more])
        if self._process is None:
            terminal.talk(f"changed    {what}")
            self._start()
        elif self._is_restarting:
            terminal.talk(f"changed    {what}; stopping at once")
            self._process.send_signal(signal.SIGTERM)
        else:
            terminal.talk(f"changed    {what}; what runs may finish")
            self._is_restarting = True
            self._process.send_signal(signal.SIGTERM)

    def _signal(self, number: int) -> None:
        self._is_ending = self._is_ending or number in STOP
        if self._process is not None:
            self._process.send_signal(number)

    def _ended(self, status: int) -> None:
        self._process, self._status = None, shell_status(status)
        if self._is_restarting and not self._is_ending:
            self._start()
        elif not self._is_ending:
            terminal.talk(f"ended      the listener {how_it_ended(status)}; it starts again after the next change")


def _watch_of(folders: Sequence[Path]) -> Callable[[threading.Event], Iterator[set[tuple[Any, str]]]]:
    try:
        from watchfiles import PythonFilter, watch
    except ModuleNotFoundError as error:
        if error.name != "watchfiles":
            raise
        remedy = "Install it: pip install 'workkit[dev]'."
        trouble = "needs the extra dev (watchfiles is missing)"
        raise Unsupported.about("workkit listen --reload", trouble, remedy) from error
    return lambda over: watch(
        *folders, watch_filter=PythonFilter(), stop_event=over, step=QUIET_MS, raise_interrupt=False
    )


def _look(
    watch: Callable[[threading.Event], Iterator[set[tuple[Any, str]]]], over: threading.Event, news: SimpleQueue[News]
) -> None:
    for changes in watch(over):
        news.put(("changed", [file for _, file in changes]))


@contextmanager
def _signals_into(news: SimpleQueue[News]) -> Iterator[None]:
    before = {number: signal.signal(number, lambda n, _: news.put(("signal", n))) for number in PASSED_ON}
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


def _shown(path: Path) -> str:
    shown = os.path.relpath(path)
    if shown.startswith(".."):
        return str(path)
    return shown if shown != "." else "./"


LOCK = threading.RLock()
os.register_at_fork(
    before=LOCK.acquire, after_in_parent=LOCK.release, after_in_child=LOCK.release
)  # no other object has it


@contextmanager
def whole_lines() -> Iterator[None]:
    """Write whole lines to both streams inside this block."""
    out, err = sys.stdout, sys.stderr
    sys.stdout, sys.stderr = _whole(out), _whole(err)
    try:
        yield
    finally:
        for stream in (sys.stdout, sys.stderr):
            if isinstance(stream, WholeLines):
                with suppress(OSError, ValueError):  # the reader of the stream has ended
                    stream.finish()
        sys.stdout, sys.stderr = out, err


def _whole(stream: TextIO | None) -> Any:
    return None if stream is None else WholeLines(stream)


class WholeLines:
    """A stream that passes whole lines on. The unfinished line of a thread waits for its end, or for `flush`."""

    def __init__(self, stream: TextIO) -> None:
        self._stream = stream
        self._begun: dict[int, str] = {}  # by thread: its unfinished line

    def write(self, text: str, /) -> int:
        """Write the lines that `text` ends, each in one write."""
        me = threading.get_ident()
        with LOCK:
            *lines, rest = (self._begun.pop(me, "") + text).split("\n")
            if rest:
                self._begun[me] = rest
            for line in lines:
                self._put(f"{line}\n")
        return len(text)

    def flush(self) -> None:
        """Write the unfinished text of this thread: a prompt, or a progress line."""
        with LOCK:
            self._put(self._begun.pop(threading.get_ident(), ""))

    def finish(self) -> None:
        """Write the unfinished text of every thread."""
        with LOCK:
            for me in list(self._begun):
                self._put(self._begun.pop(me))

    def _put(self, text: str) -> None:
        if text:
            self._stream.write(text)
        self._stream.flush()

    def writelines(self, lines: Iterable[str], /) -> None:
        """Write texts one after the other."""
        for line in lines:
            self.write(line)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._stream, name)  # `isatty`, `encoding`, `buffer` and all others
