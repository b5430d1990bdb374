"""`listen --reload`: this command line again as a process of its own, which is replaced when a Python file changes.

What arrives (changes, signals, the end of the process) goes into one queue, and the main thread alone acts.
"""

from __future__ import annotations

import os
import signal
import subprocess
import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from queue import SimpleQueue
from typing import Any

from workkit.cli.printing import terminal
from workkit.errors import InvalidOptions, Unsupported
from workkit.text.wording import listed
from workkit.worker.exit_status import how_it_ended, shell_status
from workkit.worker.signals import DUMP, STOP

QUIET_MS = 200  # files that change within so long of each other are one change
LOOK_SECONDS = 5.0  # the watcher looks far more often whether it is over
NAMED = 3  # changed files that a line names
PASSED_ON = (*STOP, *DUMP, signal.SIGTSTP, signal.SIGCONT)

News = tuple[str, Any]


def reload_on_change(command: Sequence[str], folders: Sequence[str]) -> int:
    """Run `command` until a signal ends it, and anew after each change of a Python file in these folders (default: the
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
    """The process and what is done with it. A stop for a change is graceful; a further change ends it at once."""

    def __init__(self, command: Sequence[str], news: SimpleQueue[News]) -> None:
        self._command, self._news = command, news
        self._process: subprocess.Popen[bytes] | None = None
        self._is_restarting = self._is_ending = False
        self._status = 0

    def run(self) -> int:
        """Act until the end. Returns the exit status of the last process."""
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
