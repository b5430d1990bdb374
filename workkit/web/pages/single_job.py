"""The page of a job that runs once: its attempts, what went wrong, its function, and what is known of it."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Any

from workkit.contract.history import PastRun
from workkit.contract.record import full_record, run_record
from workkit.errors import Unsupported
from workkit.jobs.fingerprint import fingerprint, message_pattern
from workkit.jobs.job import Job
from workkit.jobs.names import shown
from workkit.text.wording import iso
from workkit.web.charts.attempts import Attempts, attempts
from workkit.web.job import words as job_words
from workkit.web.job.facts import Fact, by_hand, facts
from workkit.web.job.frames import CodeFrame, frames
from workkit.web.job.past import Function, function_of, place_in_line, result_of, tried_of
from workkit.web.job.words import Standing
from workkit.web.page import Asked
from workkit.web.pages.dead_rows import given_json
from workkit.web.words import pause_of, why_paused


@dataclass(frozen=True, slots=True, kw_only=True)
class Wrong:
    """The last error. `parts`: its message in pieces, each with whether it varies; `path`: those that died of it."""

    type: str
    parts: tuple[tuple[str, bool], ...]
    frames: tuple[CodeFrame, ...]
    traceback: str
    said: str
    path: str


@dataclass(frozen=True, slots=True, kw_only=True)
class SingleJobView:
    """What the page shows. `failed`: how often it failed; `said`: where it stands; `acts`: what may be done with it."""

    schedule: str
    now: datetime
    job: Job
    failed: str
    said: str
    tried: tuple[PastRun, ...]
    attempts: Attempts | None
    wrong: Wrong | None
    function: Function | None
    facts: tuple[Fact, ...]
    by_hand: tuple[str, ...]
    acts: tuple[str, ...]
    unknown: str
    recurs: bool = False

    @property
    def title(self) -> str:
        """The job's name, else its function."""
        return self.job.name or shown(self.job.fn)

    @property
    def sentence(self) -> str:
        """Both sentences."""
        return f"{self.failed} {self.said}".strip()

    @property
    def changeable(self) -> str:
        """The arguments of a dead job as JSON, where it may run with others."""
        return given_json(self.job) if self.job.state == "dead" else ""

    @property
    def raw(self) -> str:
        """The job as the record that programs read."""
        return json.dumps(full_record(self.job), indent=1, ensure_ascii=False, default=str)

    def record(self) -> dict[str, Any]:
        """Write it as JSON does."""
        return {
            "schedule": self.schedule,
            "as_of": iso(self.now),
            "sentence": self.sentence,
            "job": full_record(self.job),
            "attempts": [run_record(run) for run in self.tried],
            "unknown": self.unknown,
        }


def look(asked: Asked, job: Job, raw: Job) -> SingleJobView:
    """Make the view of a job that was found: as it may be shown, and as it is."""
    unknown = ""
    tried: Sequence[PastRun] = ()
    function, usual_ms = None, 0.0
    try:
        tried = tried_of(asked, raw)
        function, usual_ms = function_of(asked, job)
    except Unsupported as error:
        unknown = str(error)
    listener = next((info.listener for info in asked.pulse.listeners for one in info.running if one.id == raw.id), None)
    pause = asked.veil.pause(pause_of(job, asked.pulse.control)) if job.state == "paused" else None
    shown = job if pause is None else replace(job, why=why_paused(pause, asked.now, asked.zone))
    standing = Standing(
        job=shown, now=asked.now, zone=asked.zone, listener=listener, place=place_in_line(asked, raw),
        last=tried[-1] if tried else None, usual_ms=usual_ms,
    )  # fmt: skip
    return SingleJobView(
        schedule=asked.served.name,
        now=asked.now,
        job=job,
        failed=job_words.failed_text(standing),
        said=job_words.sentence(standing),
        tried=tuple(tried),
        attempts=_attempts(asked, job, tried, usual_ms),
        wrong=_wrong(job, raw, tried),
        function=function,
        facts=tuple(facts(job, now=asked.now, zone=asked.zone, result=result_of(asked, raw))),
        by_hand=tuple(by_hand(asked.served.name, job)),
        acts=_acts(job),
        unknown=unknown,
    )


def _attempts(asked: Asked, job: Job, tried: Sequence[PastRun], usual_ms: float) -> Attempts | None:
    """Draw the attempts; None where history does not have all of those before the next one."""
    is_next = job.state not in ("dead", "done")
    if (not is_next and not tried) or (is_next and (tried[-1].attempt + 1 if tried else 0) != job.attempt):
        return None
    runs = job.state in ("running", "cancelling")
    return attempts(
        tried, options=job.options, now=asked.now, zone=asked.zone, usual_ms=usual_ms,
        next_due=job.due if is_next and not runs else None, began=job.due if runs else None,
    )  # fmt: skip


def _wrong(job: Job, raw: Job, tried: Sequence[PastRun]) -> Wrong | None:
    """Tell the last error in parts, and which attempts ended with the same."""
    failure = job.failure
    if failure is None or raw.failure is None:
        last = job.error
        if not last:
            return None
        return Wrong(type="", parts=((last, False),), frames=(), traceback="", said="", path="")
    failed = [run for run in tried if run.error is not None]
    own = message_pattern(f"{failure.type}: {failure.message}"[:200])
    same = [run.attempt + 1 for run in failed[:-1] if message_pattern(run.error or "") == own]
    return Wrong(
        type=failure.type,
        parts=fingerprint(failure).parts,
        frames=frames(failure.traceback),
        traceback=failure.traceback,
        said=job_words.same_error_text(same, shown=failed[-1].attempt + 1) if failed else "",
        path=f"dead/{fingerprint(raw.failure).print}",
    )


def _acts(job: Job) -> tuple[str, ...]:
    """Name what may be done with it as it stands."""
    match job.state:
        case "running":
            return ("cancel",)
        case "cancelling" | "done":
            return ()
        case "dead":
            return ("retry", "discard")
        case "paused":
            return ("resume", "run", "cancel")
    return ("run", "pause", "cancel")
