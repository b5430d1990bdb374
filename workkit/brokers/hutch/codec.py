"""Messages as the values of the contract: a claim, a Job, and what a new job is published as. Pure.

Normative: spec/layouts/hutch.md, sections 2, 3 and 5.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from functools import lru_cache
from hashlib import sha1
from typing import Any

from workkit.brokers.hutch import body, compose
from workkit.brokers.hutch.ladder import LONGEST_MS
from workkit.brokers.hutch.message import OPTIONS, TRACEPARENT, TRACESTATE, UNIQUE, UNIQUE_UNTIL, Message
from workkit.brokers.hutch.names import Names
from workkit.brokers.hutch.retries import USUAL
from workkit.contract.history import refuse_native
from workkit.contract.listener import Claim
from workkit.contract.producer import NewJob, check_size
from workkit.errors import CorruptRecord, InvalidArguments, InvalidOptions, Unsupported
from workkit.jobs.job import Job, JobState
from workkit.jobs.run_options import UNSAID

_say_no_options = OPTIONS.keys().isdisjoint
_CARRIED = frozenset(member.removesuffix("_ms") for member in OPTIONS.values())


@dataclass(slots=True, eq=False)
class Receipt:
    """A delivery: the channel it came by, which alone can acknowledge it; its tag there; its queue."""

    channel: Any
    tag: int
    queue: str
    message: Message
    arrived: float = 0.0  # seconds of the monotonic clock

    @property
    def occurrence(self) -> str:
        """The run, as cancellations name it."""
        return self.message.id

    def name(self, fn: str) -> str:
        """Name the job of a message that a function consumes under `fn`: a pattern takes messages of many names."""
        return self.message.key if "*" in fn or "#" in fn else fn


def read_claim(
    receipt: Receipt, job: str, *, names: Names, now_ms: int, redelivered: bool, describe: Callable[[Claim], Job]
) -> Claim:
    """Read a delivery. Never raises: a malformed body becomes a claim with a trouble."""
    message = receipt.message
    due = message.due_ms
    try:
        args: tuple[Any, ...] = (body.read(message.body, names.dialect),)
        trouble = None
    except CorruptRecord as error:
        args, trouble = (), str(error)
    return Claim(
        receipt,
        describe,
        message.id,
        job,
        args,
        now_ms if due is None else min(due, now_ms),
        attempt=message.attempt,
        crashes=int(redelivered),
        options=UNSAID if _say_no_options(message.headers) else message.options,
        trouble=None if trouble is None else "corrupt",
        reason=trouble,
        usual=USUAL[names.dialect],
    )


def as_job(claim: Claim, *, schedule: str, state: JobState) -> Job:
    """Show a claim as a Job."""
    return Job(
        id=claim.id,
        schedule=schedule,
        fn=claim.receipt.name(claim.fn),
        args=tuple(claim.args),
        due=datetime.fromtimestamp(claim.due_ms / 1000, UTC),
        state=state,
        attempt=claim.attempt,
        error=claim.reason,
        options=claim.options,
    )


def messages(names: Names, jobs: Sequence[NewJob], *, now_ms: int, has_redis: bool = False) -> list[Message]:
    """Compose the messages of new jobs. Raises Unsupported for what a message cannot say, InvalidFunction,
    InvalidArguments, InvalidOptions.
    """
    return [_message(names, job, now_ms, has_redis) for job in jobs]


def _message(names: Names, job: NewJob, now_ms: int, has_redis: bool) -> Message:
    check(names, job, has_redis=has_redis)
    is_delayed = job.due_ms is not None and job.due_ms > now_ms
    needs_object = names.dialect == "hutch" or is_delayed
    if is_delayed and job.due_ms is not None and job.due_ms - now_ms > LONGEST_MS:
        trouble = f"is due in {(job.due_ms - now_ms) // 86_400_000} days: the queues hold {LONGEST_MS // 86_400_000}"
        raise InvalidOptions.about(f'"{job.fn}"', trouble, "Keep it in a native schedule.", given=job.due_ms)
    (value,) = job.args
    text = body.write(value, needs_object=needs_object)
    check_size(text, fn=job.fn, most=job.most_bytes, given=job.args)
    due_ms = job.due_ms if is_delayed else None
    content = _content(job, text, due_ms)
    made = compose.new(names, job.fn, text, now_ms=now_ms, due_ms=due_ms, content=content, priority=job.terms.priority)
    said: dict[str, Any] = _unique(job, text) | _trace(job)
    if job.options is not UNSAID:
        set_ = job.options.fields()
        said |= {header: set_[member] for header, member in OPTIONS.items() if member in set_}
    return replace(made, headers={**made.headers, **said}) if said else made


def _unique(job: NewJob, text: bytes) -> dict[str, str]:
    """Say the unique key in headers of ours; equal content is a key of its own."""
    if job.terms.unique_key is not None:
        until = {} if job.terms.unique_until is None else {UNIQUE_UNTIL: job.terms.unique_until}
        return {UNIQUE: job.terms.unique_key, **until}
    if job.entrance.once:
        content = sha1(f"{job.fn}\n".encode() + text, usedforsecurity=False).hexdigest()
        return {UNIQUE: f"content:{content}"}
    return {}


def _trace(job: NewJob) -> dict[str, str]:
    """Say the trace context of the addition, where OpenTelemetry puts it."""
    if job.trace is None:
        return {}
    return {TRACEPARENT: job.trace.parent, **({TRACESTATE: job.trace.state} if job.trace.state else {})}


def _content(job: NewJob, text: bytes, due_ms: int | None) -> bytes | None:
    """Return what equal additions have in common; None where each is a message of its own."""
    if job.identity is not None:
        return job.identity.encode("utf-8", "surrogatepass")
    if due_ms is not None and _is_at(job):
        return f"{job.fn}\n{due_ms}\n".encode() + text
    return None


def _is_at(job: NewJob) -> bool:
    """Whether its time was said as an instant, so that equal additions have one id."""
    return job.trigger is not None and not job.queued and not job.entrance.many


def check(names: Names, job: NewJob, *, has_redis: bool = False) -> None:
    """Refuse what a message cannot say, or what needs a Redis where none is beside. Raises Unsupported,
    InvalidFunction, InvalidArguments.
    """
    _check_key(names, job.fn)
    if job.trigger is not None and job.trigger.recurs:
        trouble = "cannot recur here: an exchange holds no jobs"
        remedy = (
            "Add it to a native schedule, and forward that one: schedule.forward(s, to=...), "
            f"or workkit forward SCHEDULE --to NAME --to-layout {names.dialect}."
        )
        raise Unsupported.about(f'"{job.fn}"', trouble, remedy, given=job.fn)
    refuse_native(job.options)
    if job.options is not UNSAID:
        said = [f"{name}=" for name in job.options.keywords() if name not in _CARRIED]
        if said:
            raise _refused(", ".join(said), "Give it to @job, for all messages of this key.")
    terms, entrance = job.terms, job.entrance
    for name, value in (("name", terms.name), ("throttle", entrance.throttle_ms), ("debounce", entrance.debounce_ms),
                        ("on_conflict", entrance.replace or None), ("expires", terms.expires_ms),
                        ("meta", job.meta if job.identity is None else None)):  # fmt: skip
        if value is not None:
            raise _refused(f"{name}=", "Leave it out.")
    for name, value in (("unique_key", terms.unique_key), ("unique", entrance.once or None)):
        if value is not None and not has_redis:
            raise needs_redis(f"{name}=")
    if job.kwargs or len(job.args) != 1:
        given = f"kwargs={job.kwargs!r}" if job.kwargs else f"args={list(job.args)!r}"
        trouble = "does not fit: a message has one body, which is the one argument of its function"
        remedy = f'Write args=[{{...}}], for example schedule.add_now(s, "{job.fn}", args=[{{"id": 1}}]).'
        raise InvalidArguments.about(given, trouble, remedy, where="args", given=job.kwargs or job.args)


@lru_cache(maxsize=1024)
def _check_key(names: Names, job: str) -> None:
    """Refuse a name that is no routing key; one that was accepted is not looked at again."""
    names.check_job(job)


def _refused(option: str, remedy: str) -> Unsupported:
    return Unsupported.about(option, "cannot be kept in a message of RabbitMQ", remedy)


def needs_redis(what: str, *, given: Any = None) -> Unsupported:
    """Make the error about something that only a Redis beside the RabbitMQ keeps."""
    trouble = "cannot be kept by RabbitMQ alone"
    remedy = 'Name a Redis beside it, the same in every program: redis="redis://...".'
    return Unsupported.about(what, trouble, remedy, given=given)
