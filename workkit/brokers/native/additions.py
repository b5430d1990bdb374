"""Additions to the native layout: new jobs as bytes, the requests that store them (`add.lua`, `put.lua`) and their
answers, and a repetition that adds nothing twice.
"""

from __future__ import annotations

import itertools
import math
import os
import secrets
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import partial
from operator import attrgetter
from typing import Any

import msgpack

from workkit.brokers.native.codec import Codec, Stored
from workkit.brokers.native.keys import Keys
from workkit.brokers.redis_server.batch import read_step, step_text, token_of
from workkit.brokers.redis_server.clock import ServerClock
from workkit.brokers.redis_server.once import asked_once
from workkit.brokers.redis_server.script import Script, load
from workkit.brokers.redis_server.server import Call, Server
from workkit.clocks import time
from workkit.contract.producer import Added, BatchStep, NewJob
from workkit.errors import CorruptRecord
from workkit.jobs.job import Job
from workkit.jobs.terms import PLAIN, USUAL

MOST = 1000  # jobs in one call
PROMPT = 0.02  # seconds; an answer that takes longer is no good measure of the clock

_TRACE = attrgetter("trace")
_OURS, _count = secrets.token_hex(8), itertools.count()


class _Producer:
    """A token and the number of its last request. Both let a script recognise a repeated request."""

    __slots__ = ("seq", "token")

    def __init__(self, seq: int = 0, *, token: str | None = None) -> None:
        self.token, self.seq = token or secrets.token_hex(8), seq


@dataclass(slots=True, eq=False)
class _Request:
    """Additions by one script call.

    `ask` makes the next call of a producer. `read` reads its answer, and raises ValueError or IndexError if that is no
    answer. `places`: which of the jobs they are.
    """

    ask: Callable[[_Producer], Call]
    producer: _Producer
    read: Callable[[Sequence[Any]], list[Added]]
    places: Sequence[int]
    step: BatchStep | None = None


@dataclass(slots=True, eq=False, kw_only=True)
class Additions:
    """Adds jobs to one schedule, on its server, by its clock. Thread-safe."""

    server: Server
    keys: Keys
    codec: Codec
    clock: ServerClock
    _scripts: dict[str, Script] = field(default_factory=lambda: load("native"))
    _producers: list[_Producer] = field(default_factory=list)  # those that no thread uses now
    _traced: bool = False

    @property
    def tokens(self) -> tuple[str, ...]:
        """The tokens of the producers that no thread uses now."""
        return tuple(producer.token for producer in self._producers)

    def encode(self, jobs: Sequence[NewJob]) -> list[Stored]:
        """Write the bytes and ids of new jobs; they are the same for every schedule of this dialect."""
        if len(jobs) > MOST:
            raise ValueError(f"{len(jobs)} jobs in one call; at most {MOST}")
        now_ms = self.clock.now_ms()
        # fault: add begun
        nonce = f"{_OURS}{os.getpid():x}."  # a forked process has the same random part
        return [self.codec.encode(job, now_ms=now_ms, nonce=f"{nonce}{next(_count):x}") for job in jobs]

    def contents(self, jobs: Sequence[NewJob]) -> list[str]:
        """Name the content of each job by its id without a nonce."""
        now_ms = self.clock.now_ms()
        return [self.codec.encode(job, now_ms=now_ms, nonce="").id for job in jobs]

    def putting(
        self, jobs: Sequence[NewJob], *, stored: Sequence[Stored], step: BatchStep | None = None
    ) -> Callable[[], list[Added]]:
        """Send jobs that `encode` has written, and return a function that waits for the answer."""
        if step is not None:  # one request, so that they go in one step
            send = self._put if any(map(is_special, jobs)) else self._add
            requests = [send(jobs, stored, step=step)]
        else:
            requests = self._sorted(jobs, stored)
        calls = self._traces(jobs, stored) if any(map(_TRACE, jobs)) else []
        traces = len(calls)
        for request in requests:
            calls.append(request.ask(request.producer))
        asked_at = time.monotonic()
        answers = asked_once(self.server, calls)

        def answer() -> list[Added]:
            replies = answers()[traces:]
            if len(requests) == 1:
                added = self._read(requests[0], replies[0])
            else:
                by_place: dict[int, Added] = {}
                for request, reply in zip(requests, replies, strict=True):
                    by_place.update(zip(request.places, self._read(request, reply), strict=True))
                added = [by_place[place] for place in range(len(jobs))]
            if time.monotonic() - asked_at < PROMPT and replies[0][0].isdigit():
                self.clock.heard(int(replies[0][0]), asked_at)
            return added

        return answer

    def replace(self, job: NewJob, *, stored: Stored, change: bytes) -> Added:
        """Put a job in the place of `stored.over`, if that is as it was. `change`: who does so, for `S:changes`."""
        request = self._put([job], [stored], change=change)
        (reply,) = asked_once(self.server, [request.ask(request.producer)])()
        return self._read(request, reply)[0]

    def _traces(self, jobs: Sequence[NewJob], stored: Sequence[Stored]) -> list[Call]:
        """Make the call that keeps the trace contexts of these jobs. It goes out with the additions."""
        trace = self._scripts["trace"]
        if not self._traced:  # so that the server knows the script, and no repetition of the whole write is needed
            self.server.call(trace, trace.keys(self.keys, ids=()), [])
            self._traced = True
        ids, rows = trace_rows(jobs, stored, now_ms=self.clock.now_ms())
        return [(trace, trace.keys(self.keys, ids=ids), rows)] if rows else []

    def _read(self, request: _Request, reply: Sequence[Any]) -> list[Added]:
        """Read an answer. If it is no answer, another program wrote into this producer's key, and the request had no
        effect: send it again under another token.
        """
        producer = request.producer
        if request.step is not None:
            return read_step(request.step, reply, request.read)
        try:
            added = request.read(reply)
        except (ValueError, IndexError):
            producer = _Producer(seq=1)
            added = request.read(self.server.call(*request.ask(producer)))
        self._producers.append(producer)
        return added

    def _sorted(self, jobs: Sequence[NewJob], stored: Sequence[Stored]) -> list[_Request]:
        """Make one request for plain jobs, and one for jobs with terms."""
        places: dict[bool, list[int]] = {}
        for place, job in enumerate(jobs):
            special = (job.terms is not PLAIN or job.entrance is not USUAL) and is_special(job)
            places.setdefault(special, []).append(place)
        if len(places) == 1:
            return [(self._put if True in places else self._add)(jobs, stored)]
        return [
            (self._put if special else self._add)([jobs[n] for n in here], [stored[n] for n in here], here)
            for special, here in places.items()
        ]

    def _add(
        self,
        jobs: Sequence[NewJob],
        stored: Sequence[Stored],
        places: Sequence[int] = (),
        *,
        step: BatchStep | None = None,
    ) -> _Request:
        args: list[Any] = []
        for job, what in zip(jobs, stored, strict=True):
            args += (what.id, what.payload, "" if job.due_ms is None else job.due_ms, what.second_id, what.second)

        def read(reply: Sequence[Any]) -> list[Added]:
            now = int(reply[0])
            return [
                Added(
                    id=what.second_id if state == 2 else what.id,
                    due_ms=waits if waits is not None else now if job.due_ms is None else job.due_ms,
                    new=state > 0,
                )
                for job, what, (state, waits) in zip(jobs, stored, map(read_state, reply[1:]), strict=True)
            ]

        batch = step_text(step) if step else ""

        def ask(producer: _Producer) -> Call:
            add = self._scripts["add"]
            return (
                add,
                add.keys(self.keys, token=producer.token),
                [producer.seq, "", batch, *args],
            )

        return _Request(ask, self._producer(step), read, places, step)

    def _put(
        self,
        jobs: Sequence[NewJob],
        stored: Sequence[Stored],
        places: Sequence[int] = (),
        *,
        step: BatchStep | None = None,
        change: bytes = b"",
    ) -> _Request:
        def ask(producer: _Producer) -> Call:
            put = self._scripts["put"]
            args = put_args(producer.seq, step_text(step), jobs, stored=stored, change=change)
            return put, put.keys(self.keys, token=producer.token), args

        read = partial(read_answer, count=len(jobs), decode=self.codec.decode)
        return _Request(ask, self._producer(step), read, places, step)

    def _producer(self, step: BatchStep | None) -> _Producer:
        if step is not None:
            return _Producer(step.after.rows, token=token_of(step.after.id))
        producer = self._producers.pop() if self._producers else _Producer()
        producer.seq += 1
        return producer


TRACED_MS = 24 * 3_600_000  # how long a trace context is kept after the first due time
LONGEST_TRACE_MS = 31 * TRACED_MS  # and in all
_PARTS = 5  # of the answer for one job


def is_special(job: NewJob) -> bool:
    """Say whether a job needs more than a plain addition: a name, a unique key, a window or a priority."""
    terms, entrance = job.terms, job.entrance
    named = terms.name is not None or terms.unique_key is not None or terms.priority is not None
    return named or entrance.replace or bool(entrance.throttle_ms or entrance.debounce_ms)


def trace_rows(
    jobs: Sequence[NewJob], stored: Sequence[Stored], *, now_ms: int
) -> tuple[tuple[str, ...], list[str | int]]:
    """Make the ids and the rows of `trace.lua`: of each job that has a trace context the two ids that it may get."""
    ids: list[str] = []
    rows: list[str | int] = []
    for job, what in zip(jobs, stored, strict=True):
        if job.trace is None:
            continue
        is_fresh = bool(job.terms.unique_key or job.entrance.debounce_ms)
        first, second = (what.second_id, "") if is_fresh and what.second_id else (what.id, what.second_id)
        lives = (0 if job.due_ms is None else max(0, job.due_ms - now_ms)) + TRACED_MS
        ids += (first, second or first)
        rows += (first, second, min(lives, LONGEST_TRACE_MS), job.trace.parent)
    return tuple(ids), rows


def home_of(job: NewJob) -> str | None:
    """Find the text that chooses the shard of a job: its name, else its unique key, else its window."""
    return job.terms.name or job.terms.unique_key or job.entrance.window_key


def put_args(
    seq: int, batch: str, jobs: Sequence[NewJob], *, stored: Sequence[Stored], change: bytes = b""
) -> list[Any]:
    """Make the arguments of `put.lua`. `change`: who gives the one job another time, for `S:changes`."""
    said = [_said(job, what) for job, what in zip(jobs, stored, strict=True)]
    return [seq, "", batch, change, msgpack.packb(said, use_bin_type=False, unicode_errors="surrogatepass")]


def read_answer(reply: Sequence[Any], *, count: int, decode: Callable[[str, bytes], Job]) -> list[Added]:
    """Read the answer for `count` jobs; `decode` reads a payload. Raises ValueError if it is no answer."""
    if len(reply) != 1 + _PARTS * count:
        raise ValueError(f"{len(reply)} parts for {count} jobs")
    int(reply[0])
    texts = [part.decode("utf-8", "replace") if isinstance(part, bytes) else str(part) for part in reply[1:]]
    return [
        Added(
            id=texts[n + 1],
            due_ms=_whole(texts[n + 2]),
            new=texts[n] in ("1", "2"),
            replaced=texts[n + 3] or None,
            former=_former(texts[n + 3], texts[n + 4], decode),
            is_other=texts[n] == "3",
            is_outdated=texts[n] == "4",
            is_late=texts[n] == "5",
        )
        for n in range(0, len(texts), _PARTS)
    ]


def read_state(part: Any) -> tuple[int, int | None]:
    """Read what `add.lua` answers for one job: its state, and of a known one the due time at which it waits. Raises
    ValueError if it is no answer.
    """
    if isinstance(part, int):
        return part, None
    state, _, due = (part.decode("utf-8", "replace") if isinstance(part, bytes) else str(part)).partition(" ")
    return int(state), _whole(due)


def _former(id: str, payload: str, decode: Callable[[str, bytes], Job]) -> Job | None:
    try:
        return decode(id, payload.encode()) if payload else None
    except CorruptRecord:  # nobody can tell what it asked for
        return None


def _whole(score: str) -> int | None:
    at = float(score or "nan")  # other programs may write any score
    return math.floor(at) if math.isfinite(at) else None


def _said(job: NewJob, what: Stored) -> dict[str, Any]:
    terms, entrance = job.terms, job.entrance
    said: dict[str, Any] = {"id": what.id, "payload": what.payload}
    if job.due_ms is not None:
        said["due"] = str(job.due_ms)
    if what.second_id:
        said["second"] = [what.second_id, what.second]
    if job.trigger is not None and job.trigger.recurs:
        said["recurs"] = True
    key = terms.unique_key or (entrance.window_key if entrance.debounce_ms else None)
    if key is not None:
        said |= {"key": key, "fresh": True}  # its id must differ from that of its predecessor
    if job.plan is not None:
        said["plan"] = [job.plan.source, job.plan.generation, job.plan.ends]
    if what.over is not None:
        said["over"] = [what.over.id, what.over.recurs]
    given = {
        "name": terms.name,
        "seen": job.seen,
        "serial": terms.unique_key is not None or None,
        "replace": entrance.replace or None,
        "keeps": entrance.keep or None,
        "debounce": entrance.debounce_ms,
        "most": entrance.most_ms,
        "throttle": entrance.throttle_ms,
        "window": entrance.window_key if entrance.throttle_ms else None,
        "first": terms.priority,
        "tells": job.tells_former or None,
    }
    return said | {name: value for name, value in given.items() if value is not None}
