"""What is known of a job, as a list of facts, and the commands that do by hand what a page does. Pure."""

from __future__ import annotations

import shlex
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime, tzinfo
from typing import Final

from workkit.contract.record import attempts_text, words_of
from workkit.contract.result import Result
from workkit.jobs.job import Job, argument_text, arguments_text
from workkit.jobs.meta import meta_text
from workkit.jobs.names import shown
from workkit.text.duration import duration_text
from workkit.text.glance import full_moment
from workkit.text.wording import progress
from workkit.web.words import pauses_text

MOST_PAUSES: Final = 6  # of a back-off that are listed
MOST_RESULT: Final = 2_000  # characters of a kept result


@dataclass(frozen=True, slots=True)
class Fact:
    """One fact. `is_code`: what programs write."""

    title: str
    text: str
    is_code: bool = False


def facts(job: Job, *, now: datetime, zone: tzinfo, result: Result | None) -> Iterator[Fact]:
    """List what is known of a job, masked. `result`: what is kept of its last run."""
    yield Fact("Id", job.id, is_code=True)
    if job.name:
        yield Fact("Name", job.name)
    yield Fact("Function", shown(job.fn), is_code=True)
    yield Fact("Arguments", arguments_text(job), is_code=job.args_kept)
    if job.meta:
        yield Fact("Metadata", meta_text(job.meta), is_code=True)
    if job.state != "done":
        yield Fact("When", words_of(job) or "once")
    if job.due is not None:
        yield Fact("Died" if job.state == "dead" else "Due", full_moment(job.due.replace(microsecond=0), now, zone))
    yield Fact("Attempts", attempts_text(job))
    options, terms = job.options, job.terms
    if options.retries:
        yield Fact("Retries", f"{options.retries:,}, after {pauses_text(options, most=MOST_PAUSES)}")
    if options.crashes is not None:
        yield Fact("Crashes", f"{options.crashes:,}, then it is dead" if options.crashes else "none: at most one run")
    if options.timeout_ms is not None:
        yield Fact("Timeout", duration_text(options.timeout_ms))
    if terms.expires_ms is not None:
        yield Fact("Expires", f"{duration_text(terms.expires_ms)} after it is due")
    if terms.priority is not None:
        yield Fact("Priority", f"{terms.priority}")
    if terms.unique_key is not None:
        yield Fact("Key", terms.unique_key, is_code=True)
    if job.queue is not None:
        yield Fact("Queue", job.queue, is_code=True)
    if job.progress is not None:
        yield Fact("Progress", progress(job.progress))
    if result is not None:
        yield Fact("Result", _result(result), is_code=result.kind == "value")
    elif options.keep_ms is not None:
        yield Fact("Result", f"none yet; kept for {duration_text(options.keep_ms)}")


def by_hand(schedule: str, job: Job) -> list[str]:
    """Write the commands for what may be done with a job."""
    verbs = {
        "running": ("cancel",), "cancelling": ("show",), "dead": ("retry", "discard"), "done": ("runs",),
        "paused": ("resume", "run", "cancel"),
    }.get(job.state, ("run", "pause", "cancel"))  # fmt: skip
    which = job.name or job.short_id
    return [shlex.join(["workkit", verb, schedule, which]) for verb in verbs]


def _result(result: Result) -> str:
    if result.failure is not None:
        return f"{result.kind}: {result.failure.line}"
    text = argument_text(result.value) if result.kind == "value" else result.kind
    return text if len(text) <= MOST_RESULT else f"{text[:MOST_RESULT]}…"
