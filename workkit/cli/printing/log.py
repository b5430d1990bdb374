"""Events as log lines on stderr: words for people, or one JSON object a line; at most so many a second.

`event_line.py` words one event; this module decides which events are printed and when, and counts the others.
"""

from __future__ import annotations

import os
import socket
import sys
import threading
import time
from dataclasses import dataclass, field, replace
from typing import TextIO

import click

from workkit import events
from workkit.cli.printing import event_line, terminal
from workkit.cli.spelling import in_flags
from workkit.events import Event

AT_ONCE, A_SECOND = 10, 20
WINDOW_SECONDS = 1.0
ENDS = {"done", "discarded", "failed", "dead", "retrying"}


@dataclass(slots=True)
class Window:
    """One second of job lines: how many were printed, which are held back, and how many are only counted."""

    started: float
    printed: int = 0
    held: list[Event] = field(default_factory=list)
    ran: int = 0
    failed: int = 0
    latest_ms: int = 0

    successes: int = 0  # among those held back; they give way to warnings

    def hold(self, event: Event) -> None:
        """Hold an event back, to be printed at the end of the window."""
        self.held.append(event)
        self.successes += event.level < events.WARNING

    def give_way(self) -> None:
        """Let the latest success make room."""
        place = max(n for n, event in enumerate(self.held) if event.level < events.WARNING)
        self.count(self.held.pop(place))
        self.successes -= 1

    def count(self, event: Event) -> None:
        """Count an event that gets no line."""
        if event.name in ENDS:
            self.ran += 1
            self.failed += event.name in ("failed", "dead")
        self.latest_ms = max(self.latest_ms, int(event.fields.get("late_ms") or 0))


class Log:
    """A subscriber of events that prints them. `verbose` prints every job; `quiet` only warnings and errors.

    Half of a second's job lines go out at once. The other half waits for the end of that second, so that failures and
    warnings can come before successes; one line counts the remaining events.
    """

    def __init__(self, *, json: bool = False, verbose: bool = False, quiet: bool = False) -> None:
        self.json, self.verbose = json, verbose
        self.prints = True  # so that the standard logger says nothing beside
        self.least = events.DEBUG if verbose else events.WARNING if quiet else events.INFO
        self.stream: TextIO | None = sys.stderr
        self.style = event_line.Style(
            stream=self.stream,
            terminal=terminal.is_terminal(self.stream),
            arguments=verbose or terminal.is_terminal(self.stream),
            verbose=verbose,
        )
        context = click.get_current_context(silent=True)
        self._command = context.command if context else None
        self.listener = f"{socket.gethostname()}:{os.getpid()}"
        self._window: Window | None = None
        self._lock = threading.Lock()

    def __call__(self, event: Event) -> None:
        """Print, hold or count one event."""
        if event.name == "listening":
            self.listener = event.fields.get("listener") or self.listener
        if event.level < self.least:
            return
        with self._lock:
            if self.verbose or event.name not in event_line.OF_JOBS:
                if event.name == "stopped":
                    self._end(self._window)
                self._write([event])
            else:
                self._limit(event)

    def wants(self, name: str) -> bool:
        """Whether this event may become a line. Called many thousand times a second."""
        level = events.LEVELS.get(name, events.INFO)
        if level < self.least:
            return False
        window = self._window
        if self.verbose or window is None or len(window.held) < A_SECOND - AT_ONCE:
            return True
        if time.time() >= window.started + WINDOW_SECONDS:
            return True
        return level >= events.WARNING and window.successes > 0

    def count(self, name: str, number: int, late_ms: int) -> None:
        """Count events that become no lines."""
        if events.LEVELS.get(name, events.INFO) < self.least:
            return
        with self._lock:
            if (window := self._window) is not None:
                window.ran += number * (name in ENDS)
                window.latest_ms = max(window.latest_ms, late_ms)

    def close(self) -> None:
        """Print what was held back."""
        with self._lock:
            self._end(self._window)

    def _limit(self, event: Event) -> None:
        window = self._window
        if window is None or event.time >= window.started + WINDOW_SECONDS:
            self._end(window)
            window = self._window = Window(started=event.time)
        if window.printed < AT_ONCE:
            window.printed += 1
            self._write([event])
            return
        if not window.held:
            timer = threading.Timer(WINDOW_SECONDS, self._close_window, [window])
            timer.daemon = True
            timer.start()
        room = A_SECOND - AT_ONCE
        if len(window.held) < room:
            window.hold(event)
        elif event.level >= events.WARNING and window.successes:
            window.give_way()
            window.hold(event)
        else:
            window.count(event)

    def _close_window(self, window: Window) -> None:
        with self._lock:
            if self._window is window:
                self._end(window)

    def _end(self, window: Window | None) -> None:
        self._window = None
        if window is None or not window.held:
            return
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
            return event_line.json_line(event, listener=self.listener, arguments=self.style.arguments)
        head, *traceback = event_line.console_line(event, self.style).split("\n")
        fitted = [terminal.fitting(head, self.stream, indent=event_line.TEXT_COLUMN)]
        return "\n".join([*fitted, *(terminal.fitting(row, self.stream) for row in traceback)])
