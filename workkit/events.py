"""The events of workkit: their names and fields, subscribe and emit.

Log lines, terminals and metrics are subscribers; this module does not import them. A program subscribes with
`workkit.events.subscribe(print)`. The names below are public: console and JSON logs print them, metrics count them.
Later versions may add names and fields.

    listening    schedules (name -> weight), url, listener, threads, coroutines, pid, version,
                 processes (if several)
    quiet, resumed   starting no new jobs; starting jobs again
    forwarding   to, url         (in place of may_run: the target of its jobs)
    synced       plan            (the planned jobs were put into effect; the `Plan` of schedule.sync, or None)
    outdated     sources         (modules and files of which a newer plan holds)
    not_synced   reason          (the server takes no writes; the next start carries the plan out)
    may_run      text                                         lost, back            url, reason, running / after_ms
    started      job, late_ms                                 late                  job, late_ms   (from 1 s)
    done         job, took_ms, late_ms                        fenced                job, ago_ms (how long away, or None)
    failed       job, took_ms, error_type, error, where, traceback, exception, attempt, attempts,
                 again_ms (None: no retry)
    dead         job, error_type, error, where, traceback, exception, attempt, attempts
    retrying     job, again_ms   (the handler asked for it)   discarded             job, reason
    cannot_run   job, reason, trouble   (once for each name)  cancelled             job
    corrupt      job_id, reason                               missing               job_id
    missed       job, reason     (late or overlap: an occurrence that does not run)
    expired      job, late_ms    (a one-time job that was not started in time)
    past_deadline   job, deadline (an instant), is_past (False: it cannot meet the deadline)
    batch_done, batch_cancelled   batch   (its name; each of its jobs has ended)
    no_ping      job, reason     (its monitor was not notified)
    given_back   job                                          crashed               listener, jobs
    health       url             (of its pages)               stuck                 reason   (the part that stopped)
    restarted    pid, status, after_ms, reason   (a process of several; after_ms: the pause until another begins)
    orphaned     pid             (of its supervisor, which is gone)
    revived      url             (its private server was gone, and this program has started it again)
    stopping     running, deadline_ms
    unregistered   listener, url   (the server lost it, though its heartbeats were on time)
    unstored     endings, url    (at the end: runs, and jobs given back, that no server has confirmed)
    stopped      ran (all runs), failed (for good), given_back, up_ms,
                 retried (runs that are tried again, where there are any),
                 retrying (jobs that wait for a retry after a burst, where there are any),
                 uncounted (processes of several that died with their counts)
    ended        reason          (an error ended a listener in a thread of its own; `wait` raises it)
"""

from __future__ import annotations

import contextlib
import logging
import threading
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

__all__ = ["LEVELS", "Event", "Subscriber", "subscribe"]

INFO, WARNING, ERROR, DEBUG = logging.INFO, logging.WARNING, logging.ERROR, logging.DEBUG

LEVELS: Mapping[str, int] = {
    "started": DEBUG,
    "failed": WARNING,
    "outdated": WARNING,
    "not_synced": WARNING,
    "late": WARNING,
    "cannot_run": WARNING,
    "lost": WARNING,
    "missing": WARNING,
    "missed": WARNING,
    "expired": WARNING,
    "past_deadline": ERROR,
    "batch_cancelled": WARNING,
    "no_ping": WARNING,
    "crashed": WARNING,
    "restarted": WARNING,
    "revived": WARNING,
    "orphaned": WARNING,
    "fenced": ERROR,
    "unregistered": ERROR,
    "unstored": ERROR,
    "dead": ERROR,
    "corrupt": ERROR,
    "stuck": ERROR,
    "ended": ERROR,
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Event:
    """One event: its name, its time (epoch seconds, this machine's clock), and the fields listed above."""

    name: str
    schedule: str | None = None
    fields: Mapping[str, Any] = field(default_factory=dict)
    time: float = field(default_factory=time.time)

    @property
    def level(self) -> int:
        """Return the `logging` level of this event."""
        return ERROR if self.is_final else LEVELS.get(self.name, INFO)

    @property
    def is_final(self) -> bool:
        """Whether a job is dead after this event: it failed, and no attempt is left."""
        return self.name == "dead" or (self.name == "failed" and self.fields.get("again_ms") is None)


Subscriber = Callable[[Event], None]
_subscribers: list[Subscriber] = []
_least = ERROR + 1  # the lowest level that any subscriber wants


def subscribe(subscriber: Subscriber) -> Callable[[], None]:
    """Call `subscriber` with every event from now on, in the thread that emits it. Return a function that ends this.

    A subscriber may have the methods `takes(level)`, `wants(name)` and `count(name, number, late_ms)`, and the
    attribute `least`, a level: it gets no event below it. Before events that may come many thousand times a second
    (`started`, `late`, `done`), the emitter asks it whether it takes the level, then whether it wants the name. An
    event that no subscriber wants is not made; `late` and `done` are counted instead.
    """
    _subscribers.append(subscriber)
    _tell_least()

    def unsubscribe() -> None:
        with contextlib.suppress(ValueError):
            _subscribers.remove(subscriber)
        _tell_least()

    return unsubscribe


def _tell_least() -> None:
    global _least
    _least = min((getattr(subscriber, "least", 0) for subscriber in _subscribers), default=ERROR + 1)


def printed() -> bool:
    """Whether a subscriber prints events for people: it has the attribute `prints`."""
    return any(getattr(subscriber, "prints", False) for subscriber in _subscribers)


def emit(name: str, schedule: str | None = None, /, **fields: Any) -> None:
    """Send an event to all subscribers. An error of a subscriber goes to `logging`; the caller and the other
    subscribers continue.
    """
    if not _subscribers:
        return
    event = Event(name=name, schedule=schedule, fields=fields)
    for subscriber in tuple(_subscribers):
        try:
            subscriber(event)
        except BaseException as error:
            _failed(error, name)


def wanted(name: str) -> bool:
    """Whether any subscriber wants this event in full. A hot path skips the event otherwise."""
    level = LEVELS.get(name, INFO)
    if level < _least:
        return False
    for subscriber in _subscribers:
        try:
            takes, wants = getattr(subscriber, "takes", None), getattr(subscriber, "wants", None)
            if takes is not None and not takes(level):
                continue
            if wants is None or wants(name):
                return True
        except BaseException as error:
            _failed(error, name)
    return False


def count(name: str, number: int, late_ms: int) -> None:
    """Count events that no subscriber wanted. `late_ms`: the lateness of the last one, in ms."""
    for subscriber in _subscribers:
        try:
            if (counts := getattr(subscriber, "count", None)) is not None:
                counts(name, number, late_ms)
        except BaseException as error:
            _failed(error, name)


def _failed(error: BaseException, name: str) -> None:
    """Log a subscriber's error. The thread may be a listener's loop or hold a run, so it must survive. Only a
    KeyboardInterrupt in the main thread is raised again: it comes from the person at the keyboard.
    """
    if issubclass(type(error), KeyboardInterrupt) and threading.current_thread() is threading.main_thread():
        raise error
    with contextlib.suppress(BaseException):  # the error's class may fail too, and so may a handler of logging
        logging.getLogger("workkit").error("a subscriber failed on the event %r", name, exc_info=error)
