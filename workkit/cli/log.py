"""Events as log lines on stderr: words for people, or one JSON object a line; a limited number each second.

`console_line` and `json_line` word one event, in the words of `workkit.events`. `Log` decides which events are printed
and when, and counts the others.
"""

from __future__ import annotations

import logging
import os
import socket
import sys
import threading
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any, TextIO, TypeVar

import click

from workkit import events
from workkit.cli import terminal
from workkit.cli.spelling import in_flags
from workkit.contract import record as records
from workkit.events import Event
from workkit.jobs.job import LONGEST_CALL, call_text, spoken
from workkit.text import wording
from workkit.text.cells import shorten
from workkit.worker.event_text import TEXTS, event_parts

if TYPE_CHECKING:
    from workkit.jobs.job import Job

WORD_WIDTH = 10
TEXT_COLUMN = len("00:00:00  ") + WORD_WIDTH + 1  # the column in which the text of a line begins on a terminal
CALM = {"done": "green", "back": "green", "listening": "green", "resumed": "green"}
UNEASY = {"late", "lost", "missing", "crashed", "retrying", "cannot_run", "quiet", "stopping", "given_back", "failed"}
UNEASY |= {"restarted", "outdated", "not_synced", "orphaned", "no_ping", "revived"}


@dataclass(frozen=True, slots=True, kw_only=True)
class Style:
    """The look of lines. On a terminal the clock is local; `arguments`: show those of calls; `verbose`: show
    tracebacks.
    """

    stream: TextIO | None = None
    terminal: bool = False
    arguments: bool = False
    verbose: bool = False


def console_line(event: Event, style: Style) -> str:
    """Write one event for people: clock, word, job, outcome."""
    word = event.name.replace("_", " ")
    painted = terminal.paint(word, _colour(event), style.stream) + " " * (WORD_WIDTH - len(word))
    parts = [part for part in (_subject(event, style), *event_parts(event)) if part]
    said = " ".join(["  ".join(parts), *_hint(event)])
    line = f"{_clock(event, local=style.terminal)}  {painted} {wording.printable(said)}"
    traceback = str(event.fields.get("traceback") or "")
    if traceback and (event.is_final or style.verbose):
        line += "".join(f"\n{' ' * 10}{wording.printable(row)}" for row in traceback.rstrip().splitlines())
    return line


def json_line(event: Event, *, listener: str | None, arguments: bool = False) -> str:
    """Write one event for machines: time, level, event, then its job, then its fields."""
    fields: dict[str, Any] = dict(event.fields)
    fields.pop("exception", None)
    record: dict[str, Any] = {
        "time": wording.iso(datetime.fromtimestamp(event.time, UTC)),
        "level": logging.getLevelName(event.level).lower(),
        "event": event.name,
        "schedule": event.schedule,
    }
    job: Job | None = fields.pop("job", None)
    if job is not None:
        record |= {"job_id": job.id, "name": job.name, "fn": spoken(job.fn), "attempt": job.attempt + 1}
        record |= {"args": list(job.args)} if arguments else {}
        record |= {"meta": job.meta} if job.meta else {}
        record["due"] = wording.iso(job.due) if job.due else None
        record["schedule"] = event.schedule or job.schedule
    record |= {key: fields.pop(key) for key in ("late_ms", "took_ms") if key in fields}
    if event.name == "crashed":
        record["crashed"] = fields.pop("listener", None)
    return records.compact(record | fields | {"listener": listener}, default=_plain)


def _plain(value: Any) -> Any:
    if isinstance(value, datetime):
        return wording.iso(value)
    if isinstance(value, Mapping):
        return dict(value)
    return list(value) if isinstance(value, tuple | set | frozenset) else str(value)


def _colour(event: Event) -> str | None:
    if event.level >= logging.ERROR:
        return "red"
    return "yellow" if event.name in UNEASY else CALM.get(event.name)


def _clock(event: Event, *, local: bool) -> str:
    at = datetime.fromtimestamp(event.time, UTC)
    return at.astimezone().strftime("%H:%M:%S") if local else wording.iso(at)


def _hint(event: Event) -> list[str]:
    """Suggest the next step to the reader of the line."""
    match event.name:
        case "may_run":
            return ["Ctrl-C stops."]
        case "stopping":
            return ["Ctrl-C again stops at once."]
        case "quiet" if event.schedule is None:  # by a signal, not by a user of the web pages
            return [f"To go on: kill -CONT {event.fields.get('pid') or os.getpid()}"]
    return []


def _subject(event: Event, style: Style) -> str:
    job: Job | None = event.fields.get("job")
    if job is None:
        return str(event.fields.get("job_id") or "")[:8]
    called = spoken(job.fn) if event.name == "cannot_run" else call_text(job, args=style.arguments)
    return f"{job.short_id}  {shorten(called, LONGEST_CALL)}"


OF_JOBS = frozenset(TEXTS) - {
    "listening",
    "may_run",
    "forwarding",
    "health",
    "stuck",
    "quiet",
    "resumed",
    "lost",
    "back",
    "crashed",
    "restarted",
    "revived",
    "orphaned",
    "stopping",
    "unregistered",
    "unstored",
    "stopped",
    "ended",
    "summary",
}


T = TypeVar("T")
AT_ONCE, A_SECOND = 10, 20
WINDOW_SECONDS = 1.0
ENDS = {"done", "discarded", "failed", "dead", "retrying"}


@dataclass(slots=True)
class Window:
    """One second of job lines: how many were printed, which events wait, and how many are only counted."""

    started: float
    printed: int = 0
    held: list[Event] = field(default_factory=list)
    ran: int = 0
    failed: int = 0
    latest_ms: int = 0

    successes: int = 0  # among the waiting events; they give way to warnings
    is_timed: bool = False  # whether a timer ends this second

    @property
    def room(self) -> int:
        """The number of further lines that this second may hold back."""
        return A_SECOND - max(self.printed, AT_ONCE) - len(self.held)

    def hold(self, event: Event) -> None:
        """Hold an event back, to be printed at the end of the window."""
        self.held.append(event)
        self.successes += event.level < events.WARNING

    def give_way(self) -> None:
        """Drop the latest waiting success to make room."""
        place = max(n for n, event in enumerate(self.held) if event.level < events.WARNING)
        self.count(self.held.pop(place))
        self.successes -= 1

    def count(self, event: Event) -> None:
        """Count an event that gets no line."""
        if event.name in ENDS:
            self.ran += 1
            self.failed += event.name in ("failed", "dead")
        self.latest_ms = max(self.latest_ms, int(event.fields.get("late_ms") or 0))


@dataclass(slots=True)
class Backlog:
    """Jobs that started late: the time of the last line about one, and the number that was only counted since."""

    printed: float = 0.0
    jobs: int = 0
    latest_ms: int = 0


class Log:
    """A subscriber that prints events. `verbose` prints every job; `quiet` only warnings and errors.

    Half of a second's job lines go out at once. The other half waits for the end of that second, so that failures and
    warnings can come before successes; one line counts the remaining events. Late starts get one line a second: the
    job, or the number of jobs. A line that is not about a job comes after the waiting lines before it.
    """

    def __init__(self, *, json: bool = False, verbose: bool = False, quiet: bool = False) -> None:
        self.json, self.verbose = json, verbose
        self.prints = True  # so that the standard logger does not print them too
        self.least = events.DEBUG if verbose else events.WARNING if quiet else events.INFO
        self.stream: TextIO | None = sys.stderr
        self.style = Style(
            stream=self.stream,
            terminal=terminal.is_terminal(self.stream),
            arguments=verbose or terminal.is_terminal(self.stream),
            verbose=verbose,
        )
        context = click.get_current_context(silent=True)
        self._command = context.command if context else None
        self.listener = f"{socket.gethostname()}:{os.getpid()}"
        self._window: Window | None = None
        self._backlog = Backlog()
        self._lock = threading.Lock()

    def __call__(self, event: Event) -> None:
        """Print, hold or count one event."""
        if event.name == "listening":
            self.listener = event.fields.get("listener") or self.listener
        if event.level < self.least:
            return
        with self._lock:
            if self.verbose:
                self._write([event])
            elif event.name not in OF_JOBS:
                if event.name == "stopped":
                    self._end(self._window)
                    self._end_backlog(event.time)
                self._release()
                self._write([event])
            elif event.name == "late":
                self._late(event)
            else:
                self._limit(event)

    def wants(self, name: str) -> bool:
        """Return whether this event may become a line. Called many thousand times a second."""
        level = events.LEVELS.get(name, events.INFO)
        if level < self.least:
            return False
        if name == "late" and not self.verbose:
            return time.time() >= self._backlog.printed + WINDOW_SECONDS
        window = self._window
        if self.verbose or window is None or window.room > 0:
            return True
        if time.time() >= window.started + WINDOW_SECONDS:
            return True
        return level >= events.WARNING and window.successes > 0

    def count(self, name: str, number: int, late_ms: int) -> None:
        """Count events that become no lines."""
        if events.LEVELS.get(name, events.INFO) < self.least:
            return
        with self._lock:
            if name == "late":
                self._count_late(number, late_ms)
            elif (window := self._window) is not None:
                window.ran += number * (name in ENDS)
                window.latest_ms = max(window.latest_ms, late_ms)

    def close(self) -> None:
        """Print the waiting events."""
        with self._lock:
            self._end(self._window)
            self._end_backlog(time.time())

    def _late(self, event: Event) -> None:
        if event.time < self._backlog.printed + WINDOW_SECONDS:
            self._count_late(1, int(event.fields.get("late_ms") or 0))
            return
        self._end_backlog(event.time)
        if event.time >= self._backlog.printed + WINDOW_SECONDS:
            self._backlog = Backlog(printed=event.time)
            self._write([event])
        else:
            self._count_late(1, int(event.fields.get("late_ms") or 0))

    def _count_late(self, number: int, late_ms: int) -> None:
        backlog = self._backlog
        if not backlog.jobs:
            self._in_a_second(self._close_backlog, backlog)
        backlog.jobs += number
        backlog.latest_ms = max(backlog.latest_ms, late_ms)

    def _close_backlog(self, backlog: Backlog) -> None:
        with self._lock:
            if self._backlog is backlog:
                self._end_backlog(time.time())

    def _end_backlog(self, now: float) -> None:
        backlog = self._backlog
        if backlog.jobs:
            self._backlog = Backlog(printed=now)
            self._write([Event(name="late", fields={"jobs": backlog.jobs, "late_ms": backlog.latest_ms}, time=now)])

    def _limit(self, event: Event) -> None:
        window = self._window
        if window is None or event.time >= window.started + WINDOW_SECONDS:
            self._end(window)
            window = self._window = Window(started=event.time)
        if window.printed < AT_ONCE:
            window.printed += 1
            self._write([event])
            return
        if not window.is_timed:
            window.is_timed = True
            self._in_a_second(self._close_window, window)
        if window.room > 0:
            window.hold(event)
        elif event.level >= events.WARNING and window.successes:
            window.give_way()
            window.hold(event)
        else:
            window.count(event)

    def _in_a_second(self, do: Callable[[T], None], what: T) -> None:
        timer = threading.Timer(WINDOW_SECONDS, do, [what])
        timer.daemon = True
        timer.start()

    def _release(self) -> None:
        """Print the waiting events of the current second, before any later event is printed."""
        if (window := self._window) is not None and window.held:
            self._write(window.held)
            window.printed += len(window.held)
            window.held, window.successes = [], 0

    def _close_window(self, window: Window) -> None:
        with self._lock:
            if self._window is window:
                self._end(window)

    def _end(self, window: Window | None) -> None:
        self._window = None
        if window is None:
            return
        if window.held:
            self._write(window.held)
        if window.ran or window.failed:
            counted = {"ran": window.ran, "failed": window.failed, "latest_late_ms": window.latest_ms}
            self._write([Event(name="summary", fields={**counted, "window_ms": round(WINDOW_SECONDS * 1000)})])

    def _write(self, written: list[Event]) -> None:
        text = "".join(f"{self._line(event)}\n" for event in written)
        try:
            if self.stream is not None:
                self.stream.write(terminal.ellipsis_safe(text, self.stream))
                self.stream.flush()
        except (OSError, ValueError):  # the reader of the log has ended; the listener continues without a log
            self.stream = None

    def _line(self, event: Event) -> str:
        if event.name == "cannot_run":
            said = {key: in_flags(str(event.fields.get(key) or ""), self._command) for key in ("reason", "trouble")}
            event = replace(event, fields={**event.fields, **said})
        if self.json:
            return json_line(event, listener=self.listener, arguments=self.style.arguments)
        head, *traceback = console_line(event, self.style).split("\n")
        fitted = [terminal.fitting(head, self.stream, indent=TEXT_COLUMN)]
        return "\n".join([*fitted, *(terminal.fitting(row, self.stream) for row in traceback)])
