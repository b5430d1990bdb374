"""Sentences about a job that runs once, in its state; and the last error of any job, in parts. Pure."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta, tzinfo
from typing import Final

from workkit.contract.history import PastRun
from workkit.contract.record import attempts_of
from workkit.jobs.fingerprint import fingerprint, message_pattern
from workkit.jobs.job import Job
from workkit.text.glance import away, capital, moment
from workkit.text.wording import MILLISECOND, duration_text, listed, ordinal, plural, progress
from workkit.web.words import LATE_MS

MINUTE: Final = timedelta(minutes=1)
SOON: Final = timedelta(minutes=2)  # a time nearer than this is shown to the second
ENDED: Final = {
    "done": "Done", "discarded": "Discarded", "cancelled": "Cancelled", "dead": "Failed for good",
    "missed": "Missed", "expired": "Expired", "overlap": "Left out, as its last run still went on,",
}  # fmt: skip


@dataclass(frozen=True, slots=True, kw_only=True)
class JobFacts:
    """A job as its page found it. `listener`: the one that runs it; `place`: its place in the line for its limit, from
    1; `last`: its last ended attempt; `usual_ms`: the usual duration of its function.
    """

    job: Job
    now: datetime
    zone: tzinfo
    listener: str | None = None
    place: int | None = None
    last: PastRun | None = None
    usual_ms: float = 0.0

    def at(self, instant: datetime) -> str:
        """Write an instant, to the second."""
        return moment(instant.replace(microsecond=0), self.now, self.zone)

    def when(self, instant: datetime) -> str:
        """Write an instant to the second, as part of a sentence: ``at 11:15:45``, ``tomorrow 02:30``."""
        return _placed(self.at(instant))


def failed_text(standing: JobFacts) -> str:
    """Say how often it failed so far: ``Failed 3 times.``; "" where it did not fail."""
    job = standing.job
    times = job.attempt + (job.state == "dead")
    if not times or job.state == "done":
        return ""
    return "Failed once." if times == 1 else f"Failed {plural(times, 'time')}."


def state_sentence(standing: JobFacts) -> str:
    """Describe the state of the job and what follows from it."""
    job = standing.job
    match job.state:
        case "retrying":
            return _retrying(standing)
        case "held":
            line = "" if standing.place is None else f" {ordinal(standing.place)} in line."
            return f"Waits: {job.why or 'a limit is reached'}.{line}{_turn(standing)}"
        case "running" | "cancelling":
            return _running(standing)
        case "paused":
            return f"{capital(job.why or 'paused')}.{_due(standing)}"
        case "dead":
            since = "" if job.due is None else f" since {standing.at(job.due)}"
            return f"Dead{since}: it runs again only if somebody retries it."
        case "done":
            return _over(standing)
    if job.due is None:
        return "Waits; when it is due cannot be read." if job.state == "waiting" else "Due."
    ahead = (job.due - standing.now) / MILLISECOND
    if ahead > 0:
        return f"Runs in {away(ahead)}, {standing.when(job.due)}."
    if -ahead < LATE_MS:
        return f"Due now, {standing.at(job.due)}."
    return f"Overdue {away(ahead)}, due {standing.at(job.due)}: no listener has taken it."


def is_of_group(job: Job) -> bool:
    """Return whether a job may wait for other jobs: it is of a batch, or was added with `after`."""
    return any((job.terms.batch, job.terms.after, job.terms.then_of))


def _turn(standing: JobFacts) -> str:
    """Say about when a job that waits for a rate may start. A job that waits for a slot is due already."""
    due = standing.job.due
    if due is None or due <= standing.now:
        return ""
    words = "It is due in" if is_of_group(standing.job) else "Its turn comes in about"
    return f" {words} {away((due - standing.now) / MILLISECOND)}, {standing.when(due)}."


def _due(standing: JobFacts) -> str:
    due = standing.job.due
    if due is None:
        return ""
    return f" Due {standing.at(due)}." if due > standing.now else f" Due since {standing.at(due)}."


def _retrying(standing: JobFacts) -> str:
    job, now = standing.job, standing.now
    of = attempts_of(job)
    attempt = f"Attempt {job.attempt + 1:,}" + (f" of {of:,}" if of else "")
    if job.due is None:
        return f"{attempt} waits."
    ahead = (job.due - now) / MILLISECOND
    said = f"{attempt} is in {away(ahead)}, {standing.when(job.due)}." if ahead > 0 else f"{attempt} is due."
    end = dead_at(job, usual_ms=standing.usual_ms)
    if end is None or end < now:
        return said
    all_fail = "If it fails" if of is not None and job.attempt + 1 >= of else "If all fail"
    return f"{said} {all_fail}, it is dead {_about(end, standing)}."


def dead_at(job: Job, *, usual_ms: float) -> datetime | None:
    """Return when a job is dead, if all its attempts fail; None where it does not set its number of attempts. The
    pauses are those of its back-off, with half their jitter.
    """
    if job.due is None or job.options.retries is None:
        return None
    chance = 0.0 if job.options.jitter is False else 0.5
    left = range(job.attempt, min(job.options.retries, job.attempt + 1000))
    pauses_ms = sum(job.options.delay_ms(k, chance=chance) for k in left)
    try:
        return job.due + (pauses_ms + usual_ms * (len(left) + 1)) * MILLISECOND
    except OverflowError:
        return None


def _about(at: datetime, standing: JobFacts) -> str:
    """Write an approximate time: to the minute, where it is further away."""
    if at - standing.now < SOON:
        return _placed(standing.at(at), "about ")
    return _placed(moment((at + MINUTE / 2).replace(second=0, microsecond=0), standing.now, standing.zone), "about ")


def _placed(written: str, about: str = "") -> str:
    """Write a time of today with "at", and a time of another day, which begins with the day's name, without."""
    return f"{'at ' if written[:1].isdigit() else ''}{about}{written}"


def _running(standing: JobFacts) -> str:
    job = standing.job
    on = f" on {standing.listener}" if standing.listener else ""
    if job.state == "cancelling":
        return f"Is being cancelled: its run{on} is interrupted."
    due = f", due {standing.when(job.due)}" if job.due else ""
    far = "" if job.progress is None else f", {progress(job.progress)}"
    return f"Runs{on}{due}{far}."


def _over(standing: JobFacts) -> str:
    last = standing.last
    if last is None:
        return "It is over."
    took = f", after {duration_text(last.took_ms)}" if last.ending in ("done", "discarded", "cancelled", "dead") else ""
    return f"{ENDED.get(last.ending, 'Over')} {standing.when(last.ended)}{took}."


def same_error_text(attempts: list[int], *, shown: int) -> str:
    """Say which other attempts ended with this error: ``Attempt 3. Attempts 1 and 2 ended with the same error.``"""
    said = f"Attempt {shown:,}."
    if not attempts:
        return said
    if len(attempts) > 4 and attempts[-1] - attempts[0] == len(attempts) - 1:
        names = f"{attempts[0]:,} to {attempts[-1]:,}"
    else:
        names = listed([f"{n:,}" for n in attempts])
    return f"{said} Attempt{'s' if len(attempts) > 1 else ''} {names} ended with the same error."


@dataclass(frozen=True, slots=True, kw_only=True)
class Wrong:
    """The last error. `parts`: its message in pieces, each with whether it varies; `path`: the jobs that died of it."""

    type: str
    parts: tuple[tuple[str, bool], ...]
    frames: tuple[CodeFrame, ...]
    traceback: str
    said: str
    path: str


def wrong_of(job: Job, raw: Job, tried: Sequence[PastRun] = ()) -> Wrong | None:
    """Return the last error of a job in parts, and which attempts ended with it. `job` is masked, `raw` is not."""
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
        said=same_error_text(same, shown=failed[-1].attempt + 1) if failed else "",
        path=f"dead/{fingerprint(raw.failure).print}",
    )


_FRAME: Final = re.compile(r'  File "([^"\n]{1,1000})", line (\d{1,9})(?:, in ([^\n]{1,300}))?')
_HEAD: Final = "Traceback (most recent call last):"
MOST: Final = 50
PARTS: Final = 3  # path names shown


@dataclass(frozen=True, slots=True, kw_only=True)
class CodeFrame:
    """One frame: the end of the file's path, the line, the function, and the line of source, if it was there."""

    file: str
    line: str
    function: str
    source: str


def frames(traceback: str) -> tuple[CodeFrame, ...]:
    """Read the frames of the error itself, without those of its causes, which come before."""
    lines = traceback.rpartition(_HEAD)[2].split("\n")
    found: list[CodeFrame] = []
    for number, line in enumerate(lines):
        if (read := _FRAME.fullmatch(line)) is None:
            continue
        behind = lines[number + 1] if number + 1 < len(lines) else ""
        source = behind.strip() if behind.startswith("    ") else ""
        parts = read[1].replace("\\", "/").split("/")
        found.append(CodeFrame(file="/".join(parts[-PARTS:]), line=read[2], function=read[3] or "", source=source))
    return tuple(found[::-1][:MOST])
