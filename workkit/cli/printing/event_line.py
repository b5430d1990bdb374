"""One event as one line: for people on a terminal, or as JSON. The words are those of `workkit.events`."""

from __future__ import annotations

import logging
import os
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any, TextIO

from workkit.cli.printing import record as records
from workkit.cli.printing import terminal
from workkit.events import Event
from workkit.jobs.job import LONGEST_CALL, call_text, spoken
from workkit.text import wording
from workkit.text.cells import shorten
from workkit.worker.event_text import TEXTS, event_parts

if TYPE_CHECKING:
    from workkit.jobs.job import Job

WORD_WIDTH = 10
TEXT_COLUMN = len("00:00:00  ") + WORD_WIDTH + 1  # where the text of a line begins on a terminal
CALM = {"done": "green", "back": "green", "listening": "green", "resumed": "green"}
UNEASY = {"late", "lost", "missing", "crashed", "retrying", "cannot_run", "quiet", "stopping", "given_back", "failed"}
UNEASY |= {"restarted", "outdated", "not_synced", "orphaned", "no_ping", "revived"}


@dataclass(frozen=True, slots=True, kw_only=True)
class Style:
    """How lines look: on a terminal the clock is local; `arguments` of calls are shown or not; `verbose` tracebacks."""

    stream: TextIO | None = None
    terminal: bool = False
    arguments: bool = False
    verbose: bool = False


def console_line(event: Event, style: Style) -> str:
    """Write one event for people: clock, word, job, what happened."""
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
    """Write one event for machines: time, level, event, then the job it is about, then its fields."""
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
    """Say what whoever looks at the line can do from there."""
    match event.name:
        case "may_run":
            return ["Ctrl-C stops."]
        case "stopping":
            return ["Ctrl-C again stops at once."]
        case "quiet" if event.schedule is None:  # by a signal, not by somebody in front of a browser
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
