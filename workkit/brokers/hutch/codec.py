"""Conversions between messages and values of the contract: a claim, a Job, the messages of new jobs and of endings, a
dead message. Pure.

Two programs put messages into the dead queue: workkit, with headers of ours, and event, with none. Normative:
spec/layouts/hutch.md, sections 2, 3, 5 to 8 and 10.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from functools import lru_cache
from hashlib import sha1
from typing import Any, Final

from workkit.brokers.hutch import compose
from workkit.brokers.hutch.message import (
    ATTEMPT,
    ERROR,
    FAILED_AT,
    KEY,
    MOST_MS,
    OPTIONS,
    QUEUE,
    REASON,
    TRACEPARENT,
    TRACESTATE,
    UNIQUE,
    UNIQUE_UNTIL,
    Message,
    failures_elsewhere,
    instant_ms,
    read_body,
    text,
    whole,
    write_body,
)
from workkit.brokers.hutch.names import DEAD, Dialect, Names
from workkit.brokers.hutch.topology import LONGEST_MS
from workkit.contract.history import refuse_native
from workkit.contract.listener import Claim
from workkit.contract.producer import NewJob, check_size
from workkit.errors import CorruptRecord, InvalidArguments, InvalidOptions, Unsupported
from workkit.jobs.job import Job, JobState
from workkit.jobs.outcome import Again, Dead, Done, Failure, Outcome, Released
from workkit.jobs.run_options import UNSAID, RunOptions

USUAL: Final[Mapping[Dialect, RunOptions]] = {
    "event": RunOptions(retries=4, backoff="event"),  # MaxFails of event
    "hutch": RunOptions(backoff="hutch"),  # no retries, unless `attempts` sets them
}


_say_no_options = OPTIONS.keys().isdisjoint
_CARRIED = frozenset(member.removesuffix("_ms") for member in OPTIONS.values())


@dataclass(slots=True, eq=False)
class Receipt:
    """A delivery: its channel, which alone can acknowledge it; its tag there; its queue."""

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
        """Return the job name of a message that a function consumes under `fn`: a pattern takes messages of many
        names.
        """
        return self.message.key if "*" in fn or "#" in fn else fn


def read_claim(
    receipt: Receipt, job: str, *, names: Names, now_ms: int, redelivered: bool, describe: Callable[[Claim], Job]
) -> Claim:
    """Read a delivery. Never raises: a malformed body becomes a claim with a `trouble`."""
    message = receipt.message
    due = message.due_ms
    try:
        args: tuple[Any, ...] = (read_body(message.body, names.dialect),)
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
    """Compose the messages of new jobs. Raises Unsupported for a job that a message cannot carry, InvalidFunction,
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
    text = write_body(value, needs_object=needs_object)
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
    """Write the unique key into headers of ours; equal content is a key of its own."""
    if job.terms.unique_key is not None:
        until = {} if job.terms.unique_until is None else {UNIQUE_UNTIL: job.terms.unique_until}
        return {UNIQUE: job.terms.unique_key, **until}
    if job.entrance.once:
        content = sha1(f"{job.fn}\n".encode() + text, usedforsecurity=False).hexdigest()
        return {UNIQUE: f"content:{content}"}
    return {}


def _trace(job: NewJob) -> dict[str, str]:
    """Write the trace context of the addition, where OpenTelemetry puts it."""
    if job.trace is None:
        return {}
    return {TRACEPARENT: job.trace.parent, **({TRACESTATE: job.trace.state} if job.trace.state else {})}


def _content(job: NewJob, text: bytes, due_ms: int | None) -> bytes | None:
    """Return the content that equal additions have in common; None if each is a message of its own."""
    if job.identity is not None:
        return job.identity.encode("utf-8", "surrogatepass")
    if due_ms is not None and _is_at(job):
        return f"{job.fn}\n{due_ms}\n".encode() + text
    return None


def _is_at(job: NewJob) -> bool:
    """Return whether the job has an instant as its time, so that equal additions have one id."""
    return job.trigger is not None and not job.queued and not job.entrance.many


def check(names: Names, job: NewJob, *, has_redis: bool = False) -> None:
    """Refuse a job that a message cannot carry, or that needs a Redis if none is beside. Raises Unsupported,
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
                        ("done_by", terms.done_by), ("within", terms.within_ms),
                        ("once_key", terms.once_key), ("tags", terms.tags if job.identity is None else None),
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
    """Refuse a name that is no routing key; an accepted name is not checked again."""
    names.check_job(job)


def _refused(option: str, remedy: str) -> Unsupported:
    return Unsupported.about(option, "cannot be kept in a message of RabbitMQ", remedy)


def needs_redis(what: str, *, given: Any = None) -> Unsupported:
    """Return the error about a term that only a Redis beside the RabbitMQ keeps."""
    trouble = "cannot be kept by RabbitMQ alone"
    remedy = 'Name a Redis beside it, the same in every program: redis="redis://...".'
    return Unsupported.about(what, trouble, remedy, given=given)


def copy_of(names: Names, claim: Claim, outcome: Outcome, *, now_ms: int) -> Message | None:
    """Compose the copy that an ending publishes; None if it publishes none."""
    receipt: Receipt = claim.receipt
    message, queue = receipt.message, receipt.queue
    if claim.trouble is not None and isinstance(outcome, Done):
        outcome = Dead(failure=Failure(type="CorruptRecord", message=claim.reason or ""), reason=claim.trouble)
    match outcome:
        case Again(delay_ms=delay, attempt=attempt, failure=failure):
            error = None if failure is None else failure.line
            return compose.again(
                names, message, queue=queue, attempt=attempt, now_ms=now_ms, delay_ms=delay, error=error
            )
        case Dead(failure=failure, reason=reason):
            return compose.dead(
                names, message, queue=queue, attempts=claim.attempt + 1, now_ms=now_ms, error=failure.line,
                reason=reason,
            )  # fmt: skip
        case Released(delay_ms=delay) if delay:
            return compose.again(names, message, queue=queue, attempt=claim.attempt, now_ms=now_ms, delay_ms=delay)
    return None


_CHANGES = frozenset({"x-delivery-count"})  # headers that the broker writes each time a message is given back
NO_KEY = "its routing key is not known: nobody can run it again"


@dataclass(frozen=True, slots=True)
class DeadMessage:
    """A message of the dead queue. `number`: the number of equal messages before it in the queue."""

    message: Message
    number: int = 0

    @property
    def key(self) -> str:
        """Its real routing key, which is the job's name; empty if unknown."""
        said = text(self.message.headers.get(KEY)) if self.is_ours else ""
        at = self.message.routing_key
        return said or (at.removeprefix(DEAD) if at.startswith(DEAD) else "")

    @property
    def is_ours(self) -> bool:
        """Whether workkit moved it here. Other programs copy headers, but never one of a dead message of ours."""
        return bool(text(self.message.headers.get(REASON)))

    @property
    def queue(self) -> str | None:
        """The queue it came from; None if the message does not tell."""
        return (text(self.message.headers.get(QUEUE)) or None) if self.is_ours else None

    @property
    def id(self) -> str:
        """The id of the job."""
        said = text(self.message.properties.get("message_id"))
        return said or sha1(f"{self.key}\n".encode() + self.message.body, usedforsecurity=False).hexdigest()

    @property
    def mark(self) -> str:
        """The mark of this message in the queue: the numbers of equal messages tell them apart."""
        return f"{fingerprint(self.message)}:{self.number}"

    @property
    def failed_ms(self) -> int | None:
        """When it failed, in epoch ms. event publishes a dead message again, so its timestamp is that time."""
        said = whole(self.message.headers.get(FAILED_AT)) if self.is_ours else None
        if said is not None and 0 <= said <= MOST_MS:
            return said
        return instant_ms(self.message.properties.get("timestamp"))

    @property
    def attempts(self) -> int:
        """The number of its runs: as workkit counted, or as event counts."""
        said = whole(self.message.headers.get(ATTEMPT)) if self.is_ours else None
        return 1 + failures_elsewhere(self.message.headers) if said is None else max(1, said)

    def job(self, *, schedule: str) -> Job:
        """Show it as a Job. Never raises: unreadable parts are left out."""
        error = text(self.message.headers.get(ERROR)) if self.is_ours else ""
        args: tuple[object, ...] = ()
        try:
            args = (read_body(self.message.body, "event"),)  # any JSON, because it is shown and does not run
        except CorruptRecord as unread:
            error = error or str(unread)
        return Job(
            id=self.id,
            schedule=schedule,
            fn=self.key or "?",
            args=args,
            due=None if self.failed_ms is None else datetime.fromtimestamp(self.failed_ms / 1000, UTC),
            state="dead",
            attempt=self.attempts - 1,
            error=error or (None if self.key else NO_KEY),
            why=text(self.message.headers.get(REASON)) or None,
            queue=self.queue,
            dead_id=self.mark,
            options=self.message.options,
        )


def fingerprint(message: Message) -> str:
    """Return a fingerprint of all parts of a message."""
    headers = sorted((name, value) for name, value in message.headers.items() if name not in _CHANGES)
    said = (message.routing_key, sorted(message.properties.items()), headers, message.body)
    return sha1(repr(said).encode("utf-8", "surrogatepass"), usedforsecurity=False).hexdigest()


def numbered(messages: Iterable[Message], seen: Counter[str]) -> list[DeadMessage]:
    """Number the messages of a queue in their order; `seen` counts the earlier messages."""
    found = []
    for message in messages:
        name = fingerprint(message)
        found.append(DeadMessage(message, seen[name]))
        seen[name] += 1
    return found
