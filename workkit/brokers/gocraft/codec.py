"""Convert job texts to the values of the contract and back: a claim, a Job, a new job, and the effect of each outcome
on a held job, as a row for `turn.lua` (parts/ending.lua). Pure.

Normative: spec/layouts/gocraft.md, sections 2, 3 and 5 to 7.
"""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Container, Mapping, Sequence
from dataclasses import dataclass, replace
from hashlib import sha1
from typing import Any, Final

from workkit.brokers.gocraft.go_values import dumps
from workkit.brokers.gocraft.keys import Keys, name_trouble
from workkit.brokers.gocraft.text import BY_CONTENT, LIFE_SECONDS, JobText, read, rewrite, unique_key, write
from workkit.contract.history import refuse_native
from workkit.contract.listener import Claim, Ending, Standing
from workkit.contract.producer import Added, NewJob, check_size
from workkit.errors import CorruptRecord, InvalidArguments, InvalidFunction, Unsupported
from workkit.jobs.job import Job, JobState
from workkit.jobs.names import brief, is_plain
from workkit.jobs.outcome import Again, Dead, Done, Released
from workkit.jobs.run_options import UNSAID, RunOptions
from workkit.jobs.terms import Terms, instant_of

DEFAULT_MAX_FAILS: Final = 4


USUAL_RUN: Final = RunOptions(retries=DEFAULT_MAX_FAILS - 1, backoff="quartic")
"""The retries of a failed job if its handler names none, as in a Go pool."""

_DAY_MARGIN: Final = 3600


@dataclass(slots=True, eq=False)
class Receipt:
    """A job that a pool holds: `queue`, the name of the queue it came from; `raw`, its exact bytes in progress."""

    pool: str
    queue: str
    raw: bytes
    text: JobText | None

    @property
    def occurrence(self) -> str:
        """The name of the run for cancellations: the id of its job, or the SHA-1 of a text without an id."""
        found = "" if self.text is None else self.text.id
        return found or sha1(self.raw, usedforsecurity=False).hexdigest()


@dataclass(frozen=True, slots=True)
class Row:
    """One job as `add.lua` takes it. `due_s` None: now. `key`: its unique key, with the value of the key
    and its life.
    """

    id: str
    name: str
    t: int
    text: bytes
    due_s: int | None
    key: str = ""
    value: bytes = b""
    life_s: int = LIFE_SECONDS

    def args(self) -> tuple[Any, ...]:
        """The arguments of the script."""
        due = "" if self.due_s is None else self.due_s
        return self.name, self.text, due, self.key, self.value, self.life_s


def read_claim(
    queue: str, raw: bytes, *, pool: str, crashes: int, describe: Callable[[Claim], Job], limits: Mapping[str, int],
    serves: Container[str], since_s: int = 0,
) -> Claim:  # fmt: skip
    """Read bytes that were taken from a queue. Never raises: bytes that are no job text become a claim with a trouble.
    `serves`: the names that the pool serves. `since_s`: the earliest possible due time, in epoch seconds.
    """
    try:
        text = read(raw)
    except CorruptRecord as error:
        receipt = Receipt(pool, queue, raw, None)
        return Claim(receipt, describe, "", queue, (), 0, crashes=crashes, trouble="corrupt", reason=str(error))
    is_foreign = text.name != queue and text.name not in serves and not is_plain(text.name)
    standing = Standing(slots=(f"fn:{text.name}",)) if text.name in limits else None
    return Claim(
        Receipt(pool, queue, raw, text),
        describe,
        text.id,
        text.name,
        (),
        1000 * max(text.t, since_s),
        kwargs=dict(text.args or {}),
        standing=standing,
        attempt=max(0, text.fails),
        crashes=crashes,
        trouble="foreign" if is_foreign else None,
        reason="its name is another one than that of its queue." if is_foreign else None,
        usual=USUAL_RUN,
        stray=text.name != queue,
    )


def as_job(text: JobText, *, schedule: str, state: JobState, due_ms: int | None = None, id: str | None = None) -> Job:
    """Show a job text as a Job. `id`: the id of a text that may have none."""
    due = text.t * 1000 if due_ms is None else due_ms
    return Job(
        id=text.id if id is None else id,
        schedule=schedule,
        fn=text.name,
        kwargs=dict(text.args) if text.args else None,
        due=instant_of(due),
        state=state,
        attempt=max(-1, text.fails - 1) if state == "dead" else max(0, text.fails),
        error=text.err or None,
        terms=Terms(unique_key=text.unique_key or None),
    )


def rows(keys: Keys, jobs: Sequence[NewJob], *, now_ms: int) -> list[Row]:
    """Write the texts of new jobs. Raises Unsupported for a job that the layout cannot express, and
    InvalidArguments.
    """
    ids = os.urandom(12 * len(jobs)).hex()
    made = [_row(keys, job, ids[24 * n : 24 * n + 24], now_ms) for n, job in enumerate(jobs)]
    for job, row in zip(jobs, made, strict=True):
        check_size(row.text, fn=job.fn, most=job.most_bytes, given=job.kwargs)
    return made


def read_added(made: Sequence[Row], reply: Sequence[Any]) -> list[Added]:
    """Read the answer of `add.lua`. Raises ValueError for an answer of another form."""
    added = []
    for row, state in zip(made, map(int, reply[1:]), strict=True):
        is_stored = state == 1 or not row.key  # otherwise another text waits, at its own time
        id = row.id if is_stored or row.value[:1] == b"{" else ""
        due_ms = 1000 * (row.t if row.due_s is None else row.due_s)
        added.append(Added(id=id, due_ms=due_ms if is_stored else None, new=state == 1))
    return added


def _row(keys: Keys, job: NewJob, id: str, now_ms: int) -> Row:
    check(job)
    if job.identity is not None:
        id = short_sha1(job.identity)
    args = job.kwargs
    due_s = None if job.due_ms is None or job.due_ms <= now_ms else -(-job.due_ms // 1000)
    text = JobText(name=job.fn, id=id, t=now_ms // 1000, args=args)
    key = job.terms.unique_key
    if key is None and not job.entrance.once:
        if due_s is not None and _is_at(job):  # equal jobs have equal bytes, as the runs of a periodic job have
            content = f"{job.fn}\n{'' if args is None else dumps(args)}\n{due_s}"
            text = replace(text, id=short_sha1(content), t=due_s)
        return Row(text.id, job.fn, text.t, write(text), due_s)
    by = None if key is None else key_map(key)
    text = replace(text, unique=True, unique_key=unique_key(keys, job.fn, args, by=by))
    data, life = write(text), LIFE_SECONDS
    if due_s is not None and due_s - now_ms // 1000 > LIFE_SECONDS - _DAY_MARGIN:
        life += due_s - now_ms // 1000  # a key that ended before the job would let a second one in
    return Row(id, job.fn, text.t, data, due_s, text.unique_key, BY_CONTENT if by is None else data, life)


def short_sha1(content: str) -> str:
    """Make an id from the content of a job: the first 24 digits of its SHA-1."""
    return sha1(content.encode("utf-8", "surrogatepass"), usedforsecurity=False).hexdigest()[:24]


def _is_at(job: NewJob) -> bool:
    """Whether its time is an instant in the caller's terms. The same addition made twice is then one job."""
    return job.trigger is not None and not job.queued and not job.entrance.many


def key_map(key: str) -> dict[str, Any]:
    """Read the key map of a by-key job: a JSON object, or ``{"key": text}`` for any other text."""
    if key.startswith("{"):
        try:
            found = json.loads(key)
        except ValueError as error:
            raise InvalidArguments.about(
                "unique_key", f"is no JSON object: {error}", 'Write {"user": 42}, or a plain text.', given=key
            ) from None
        if isinstance(found, dict):
            return found
    return {"key": key}


def check(job: NewJob) -> None:
    """Refuse a job that a job text cannot express. Raises Unsupported, InvalidFunction, InvalidArguments."""
    check_name(job.fn)
    if job.identity is not None and not is_plain(
        job.fn
    ):  # in the layout of its origin, it names a function of Python or Clojure
        trouble, remedy = "is no plain name, and a forward passes on only these", 'Give a name such as "send_email".'
        raise InvalidFunction.about(f'fn="{brief(job.fn)}"', trouble, remedy, where="fn", given=job.fn)
    if job.args:
        trouble = "is given by position: a gocraft job takes keyword arguments"
        raise InvalidArguments.about(
            f"args={list(job.args)!r}", trouble, "Give each by its name.", where="args", given=job.args
        )
    if job.trigger is not None and job.trigger.recurs:
        trouble = "cannot recur here: a gocraft namespace holds single runs"
        remedy = (
            "Add it to a native schedule, and forward that one: schedule.forward(s, to=...), "
            "or workkit forward SCHEDULE --to NAME --to-layout gocraft."
        )
        raise Unsupported.about(f'"{job.fn}"', trouble, remedy, given=job.fn)
    refuse_native(job.options)
    if job.options is not UNSAID:
        said = ", ".join(f"{name}=" for name in job.options.keywords()) or "an option of runs"
        raise _refused(said, "Give it to @job, for all jobs of this name.")
    terms, entrance = job.terms, job.entrance
    for name, value in (("name", terms.name), ("priority", terms.priority), ("throttle", entrance.throttle_ms),
                        ("debounce", entrance.debounce_ms), ("on_conflict", entrance.replace or None),
                        ("expires", terms.expires_ms), ("once_key", terms.once_key),
                        ("done_by", terms.done_by), ("within", terms.within_ms),
                        ("tags", terms.tags if job.identity is None else None),
                        ("meta", job.meta if job.identity is None else None)):  # fmt: skip
        if value is not None:
            remedy = 'Give it to listen: jobs=["NAME:PRIORITY"].' if name == "priority" else "Leave it out."
            raise _refused(f"{name}=", remedy)


def check_name(name: str, *, where: str = "fn") -> None:
    """Refuse a name that no job can have. Raises InvalidFunction."""
    if trouble := name_trouble(name):
        remedy = 'Give a name such as "send_email", or mark the function with @job("send_email").'
        raise InvalidFunction.about(f'{where}="{brief(name)}"', trouble, remedy, where=where, given=name)


def _refused(option: str, remedy: str) -> Unsupported:
    return Unsupported.about(option, "cannot be kept in a gocraft job", remedy)


STRAY = "stray job: no handler"  # as Go words it
MOST_ERROR = 2000  # characters of an error that are kept


def ending_row(ending: Ending, *, now_ms: int) -> Sequence[Any]:
    """Make the row of one ending: queue, exact bytes, letter, new text, score, crashes, inner name. The usual row, of a
    job that is done, has only the first three.

    Letters: d done, q to the head of its queue, h held by us until the score, r retry, x dead, u set aside unread.
    """
    claim, outcome = ending
    receipt: Receipt = claim.receipt
    if type(outcome) is Done and not claim.crashes and receipt.text is not None:
        return receipt.queue, receipt.raw, "d"
    raw, now_s = receipt.raw, now_ms // 1000

    def to(letter: str, text: bytes = b"", score: float = 0) -> list[Any]:
        return [receipt.queue, raw, letter, text, repr(score), claim.crashes, claim.fn]

    if receipt.text is None:
        return to("u", raw, now_s)
    match outcome:
        case Done():
            return to("d")
        case Released(unknown=True) if claim.stray:
            return to("x", rewrite(raw, fails=claim.attempt + 1, err=STRAY, failed_at=now_s), now_s)
        case Released(delay_ms=delay):
            return to("h", raw, (now_ms + delay) / 1000) if delay else to("q", raw)
        case Again(delay_ms=delay, attempt=attempt, failure=failure):
            err = None if failure is None else failure.line[:MOST_ERROR]
            text = rewrite(raw, fails=attempt, err=err, failed_at=now_s)
            return to("r", text, -(-(now_ms + delay) // 1000)) if delay else to("q", text)
        case Dead(failure=failure):
            text = rewrite(raw, fails=claim.attempt + 1, err=failure.line[:MOST_ERROR], failed_at=now_s)
            return to("x", text, now_s)
