"""Events as records of the standard logger `workkit`, while a program listens that does not print them itself."""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable
from typing import Any

from workkit import events
from workkit.events import Event
from workkit.jobs.names import brief, shown
from workkit.worker.event_text import event_parts
from workkit.worker.run.ending import without_ours
from workkit.worker.run.run import job_fields

LOGGER = logging.getLogger("workkit")
LEVELS = {"late": events.INFO}  # a backlog is late as a whole, and the logger writes every record


class Logbook:
    """Subscribed once for all listeners of this process, from the first that begins to the last that ends."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._listeners = 0
        self._unsubscribe: Callable[[], None] = lambda: None

    def begin(self) -> Callable[[], None]:
        """Write records from now on, unless another subscriber prints events; return a function that ends this."""
        if events.printed():
            return lambda: None
        with self._lock:
            self._listeners += 1
            if self._listeners == 1:
                self._unsubscribe = events.subscribe(_Records())
        return self._end

    def _end(self) -> None:
        with self._lock:
            self._listeners -= 1
            if not self._listeners:
                self._unsubscribe()


class _Records:
    """The subscriber: it wants what the logger would take."""

    takes = LOGGER.isEnabledFor

    def __call__(self, event: Event) -> None:
        level = min(event.level, LEVELS.get(event.name, event.level))
        if not LOGGER.isEnabledFor(level):
            return
        error = event.fields.get("exception") if event.is_final else None
        at = without_ours(error.__traceback__) if isinstance(error, BaseException) else None
        text = record_text(event)
        if at is None and event.is_final:  # raised in a worker process, or by nobody: its listeners died
            text = "\n".join(filter(None, (text, str(event.fields.get("traceback") or "").rstrip())))
        raised = (type(error), error, at) if error is not None and at else None
        LOGGER.log(level, "%s", text, exc_info=raised, extra=_extra(event))

    def wants(self, name: str) -> bool:
        """Whether the logger would take this event."""
        return LOGGER.isEnabledFor(LEVELS.get(name, events.LEVELS.get(name, events.INFO)))


def _extra(event: Event) -> dict[str, Any]:
    """The attributes of a record: its event and its job, as `JobLogFilter` names them."""
    job, fields = event.fields.get("job"), {"event": event.name}
    if job is not None:
        return {**fields, **job_fields(job)}
    if event.fields.get("job_id") is not None:
        fields["job_id"] = str(event.fields["job_id"])
    return fields | ({} if event.schedule is None else {"job_schedule": event.schedule})


def record_text(event: Event) -> str:
    """Put an event into one line: its word, its job and schedule, and what happened. Arguments are left out."""
    job = event.fields.get("job")
    id = job.id if job is not None else event.fields.get("job_id")
    about = [] if id is None else [str(id)[:8], *([brief(shown(job.fn))] if job is not None else [])]
    of = [f"of {event.schedule}"] if about and event.schedule else []
    subject = " ".join([event.name.replace("_", " "), *about, *of])
    return ": ".join(filter(None, (subject, ", ".join(event_parts(event)))))


logbook = Logbook()
