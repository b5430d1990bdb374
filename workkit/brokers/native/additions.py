"""Add jobs to the native layout: write new jobs as bytes, send the requests that store them (`add.lua`, `put.lua`), and
read the answers. A repeated request adds nothing twice. The end of the file has the plans of code, `S:plans`.
"""

from __future__ import annotations

import itertools
import math
import os
import secrets
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from operator import attrgetter
from typing import Any

from workkit.brokers.native.codec import Codec, Stored
from workkit.brokers.native.groups import asked_again, refuse_closed, written_rows, written_step
from workkit.brokers.native.keys import Keys
from workkit.brokers.native.settle import deadline_row
from workkit.brokers.redis_server.control import packer
from workkit.brokers.redis_server.once import asked_once, read_step, step_text, token_of
from workkit.brokers.redis_server.script import load
from workkit.brokers.redis_server.server import Call, Server, ServerClock
from workkit.clocks import time
from workkit.contract.inspector import Named
from workkit.contract.producer import Added, BulkStep, CodePlan, Made, Mode, NewJob, Standing, Verdict
from workkit.errors import CorruptRecord
from workkit.jobs.job import Job
from workkit.jobs.terms import PLAIN, USUAL

MOST = 1000  # jobs in one call
PROMPT = 0.02  # seconds; a slower answer does not measure the clock well

TRACED_MS = 24 * 3_600_000  # how long a trace context is kept after the first due time
LONGEST_TRACE_MS = 31 * TRACED_MS  # the longest time that a trace context is kept
_PARTS = 5  # parts of the answer for one job
SCRIPTS = load("native")

_TRACE = attrgetter("trace")
_OURS, _count = secrets.token_hex(8), itertools.count()


class _Producer:
    """A producer: its token, the number of its last request, and the keys of the scripts that it calls. A script
    recognises a repeated request by the token and the number.
    """

    __slots__ = ("keys", "seq", "token")

    def __init__(self, keys: Keys, seq: int = 0, *, token: str | None = None) -> None:
        self.token, self.seq = token or secrets.token_hex(8), seq
        self.keys = {verb: SCRIPTS[verb].keys(keys, token=self.token) for verb in ("add", "put")}


class _Request:
    """Additions by one call of a script: `add.lua` for plain jobs, `put.lua` for jobs with terms. `args`: the arguments
    after the number of the request. `places`: the places of its jobs in the list of new jobs.
    """

    __slots__ = ("args", "jobs", "places", "producer", "step", "stored", "verb")

    def __init__(
        self,
        verb: str,
        jobs: Sequence[NewJob],
        stored: Sequence[Stored],
        args: list[Any],
        producer: _Producer,
        *,
        places: Sequence[int] = (),
        step: BulkStep | None = None,
    ) -> None:
        self.verb, self.jobs, self.stored, self.args, self.producer = verb, jobs, stored, args, producer
        self.places, self.step = places, step

    def call(self, producer: _Producer) -> Call:
        """Make the call of a producer."""
        return SCRIPTS[self.verb], producer.keys[self.verb], [producer.seq, *self.args]


class Additions:
    """Adds jobs to one schedule, on its server, by its clock. Thread-safe."""

    def __init__(self, server: Server, *, keys: Keys, codec: Codec, clock: ServerClock) -> None:
        self._server, self._keys, self._codec, self._clock = server, keys, codec, clock
        self._producers: list[_Producer] = []  # producers that no thread uses now
        self._traced = False

    def encode(self, jobs: Sequence[NewJob]) -> list[Stored]:
        """Write the bytes and ids of new jobs; they are the same for every schedule of this dialect."""
        if len(jobs) > MOST:
            raise ValueError(f"{len(jobs)} jobs in one call; at most {MOST}")
        now_ms = self._clock.now_ms()
        # fault: add begun
        nonce = f"{_OURS}{os.getpid():x}."  # a forked process has the same random part
        return [job.stored or self._codec.encode(job, now_ms=now_ms, nonce=f"{nonce}{next(_count):x}") for job in jobs]

    def contents(self, jobs: Sequence[NewJob]) -> list[str]:
        """Name the content of each job by its id without a nonce."""
        now_ms = self._clock.now_ms()
        return [self._codec.encode(job, now_ms=now_ms, nonce="").id for job in jobs]

    def adding(self, jobs: Sequence[NewJob], *, step: BulkStep | None = None) -> Callable[[], list[Added]]:
        """Send jobs, and return a function that waits for the answer: see `Producer.adding`. At most 1,000 in one call.

        If the reply is lost, it repeats the request once, on a new connection, under the same number: nothing is added
        twice.
        """
        stored = self.encode(jobs)
        return self.putting(jobs, stored=stored, step=step) if jobs or step else list

    def putting(
        self, jobs: Sequence[NewJob], *, stored: Sequence[Stored], step: BulkStep | None = None
    ) -> Callable[[], list[Added]]:
        """Send jobs that `encode` has written, and return a function that waits for the answer."""
        if step is not None:  # one request, so that they go in one step
            ends = step.group is not None and bool(step.group.makes or step.group.closes)
            requests = [self._request(ends or any(map(is_special, jobs)), jobs, stored, step=step)]
        else:
            requests = self._requests(jobs, stored)
        calls = self._traces(jobs, stored) if any(map(_TRACE, jobs)) else []
        traces = len(calls)
        for request in requests:
            calls.append(request.call(request.producer))
        asked_at = time.monotonic()
        answers = asked_once(self._server, calls)

        def answer() -> list[Added]:
            replies = answers()
            if len(requests) == 1:
                added = self._read(requests[0], replies[traces])
            else:
                by_place: dict[int, Added] = {}
                for request, reply in zip(requests, replies[traces:], strict=True):
                    by_place.update(zip(request.places, self._read(request, reply), strict=True))
                added = [by_place[place] for place in range(len(jobs))]
            if time.monotonic() - asked_at < PROMPT and replies[traces][0].isdigit():
                self._clock.heard(int(replies[traces][0]), asked_at)
            return added

        return answer

    def replace(self, job: NewJob, *, stored: Stored, change: bytes) -> Added:
        """Replace the job `stored.over` by a new job, if the old one is unchanged. `change`: who does so, for
        `S:changes`.
        """
        request = self._request(True, [job], [stored], change=change)
        (reply,) = asked_once(self._server, [request.call(request.producer)])()
        return self._read(request, reply)[0]

    def _traces(self, jobs: Sequence[NewJob], stored: Sequence[Stored]) -> list[Call]:
        """Make the call that keeps the trace contexts of these jobs. It is sent together with the additions."""
        trace = SCRIPTS["trace"]
        if not self._traced:  # load the script, so that the whole write need not be repeated
            self._server.call(trace, trace.keys(self._keys, ids=()), [])
            self._traced = True
        ids, rows = trace_rows(jobs, stored, now_ms=self._clock.now_ms())
        return [(trace, trace.keys(self._keys, ids=ids), rows)] if rows else []

    def _read(self, request: _Request, reply: Sequence[Any]) -> list[Added]:
        """Read an answer. If it is no answer, another program wrote into this producer's key, and the request had no
        effect: send it again under another token.
        """
        producer = request.producer
        if request.step is not None:
            refuse_closed(reply)
            return read_step(request.step, reply, partial(read_reply, request, decode=self._codec.decode))
        try:
            added = read_reply(request, reply, decode=self._codec.decode)
        except (ValueError, IndexError):
            if (again := asked_again(reply, partial(self._server.call, *request.call(producer)))) is None:
                producer = _Producer(self._keys, seq=1)
                again = self._server.call(*request.call(producer))
            added = read_reply(request, again, decode=self._codec.decode)
        self._producers.append(producer)
        return added

    def _requests(self, jobs: Sequence[NewJob], stored: Sequence[Stored]) -> list[_Request]:
        """Make one request for the plain jobs and one for the jobs with terms."""
        places: dict[bool, list[int]] = {}
        for place, job in enumerate(jobs):
            special = job.terms.batch is not None or (
                (job.terms is not PLAIN or job.entrance is not USUAL) and is_special(job)
            )
            if special in places:
                places[special].append(place)
            else:
                places[special] = [place]
        if len(places) == 1:
            return [self._request(True in places, jobs, stored)]
        return [
            self._request(special, [jobs[n] for n in here], [stored[n] for n in here], places=here)
            for special, here in places.items()
        ]

    def _request(
        self,
        special: bool,
        jobs: Sequence[NewJob],
        stored: Sequence[Stored],
        *,
        places: Sequence[int] = (),
        step: BulkStep | None = None,
        change: bytes = b"",
    ) -> _Request:
        if step is not None:
            producer = _Producer(self._keys, step.after.rows, token=token_of(step.after.id))
        else:
            producer = self._producers.pop() if self._producers else _Producer(self._keys)
            producer.seq += 1
        batch = "" if step is None else step_text(step)
        group = None if step is None else step.group
        args: list[Any] = ["", batch]
        if special:
            args.append("" if group is None else written_step(group, self.encode))
            rows = []
            for job, what in zip(jobs, stored, strict=True):
                row = _put_row(job, what)
                if job.terms.within_ms is not None or job.terms.done_by is not None:
                    row |= deadline_row(job, self._clock.now_ms)
                rows.append(row)
            args += (change, packer().pack(rows))
        elif group is not None:
            args += written_rows(group, jobs, stored)
        else:
            args.append("")
            for job, what in zip(jobs, stored, strict=True):
                args += (what.id, what.payload, "" if job.due_ms is None else job.due_ms, what.variant)
        verb = "put" if special else "add"
        return _Request(verb, jobs, stored, args, producer, places=places, step=step)


def is_special(job: NewJob) -> bool:
    """Say whether a job has a name, a key, a window, a priority, tags, a deadline or a predecessor: it is not plain."""
    terms, entrance = job.terms, job.entrance
    named = terms.name is not None or terms.unique_key is not None or terms.priority is not None
    has_deadline = terms.within_ms is not None or terms.done_by is not None  # as `has_deadline`, without a call
    labelled = terms.tags is not None or terms.once_key is not None or has_deadline
    return (
        named
        or labelled
        or job.after is not None
        or entrance.replace
        or bool(entrance.throttle_ms or entrance.debounce_ms)
    )


def trace_rows(
    jobs: Sequence[NewJob], stored: Sequence[Stored], *, now_ms: int
) -> tuple[tuple[str, ...], list[str | int]]:
    """Make the ids and the rows of `trace.lua`. Each job with a trace context has the two ids that it may get, and its
    life in ms with the context.
    """
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


def read_reply(request: _Request, reply: Sequence[Any], *, decode: Callable[[str, bytes], Job]) -> list[Added]:
    """Read the answer to a request; `decode` reads a payload. Raises ValueError or IndexError if it is no answer."""
    now = int(reply[0])
    added: list[Added] = []
    if request.verb == "add":
        for job, what, part in zip(request.jobs, request.stored, reply[1:], strict=True):
            if part == 1:  # the usual one
                added.append(Added(what.id, now if job.due_ms is None else job.due_ms, True))
                continue
            state, waits = (part, None) if type(part) is int else read_state(part)
            due_ms = waits if waits is not None else now if job.due_ms is None else job.due_ms
            added.append(Added(id=what.second_id if state == 2 else what.id, due_ms=due_ms, new=state > 0))
        return added
    if len(reply) != 1 + _PARTS * len(request.jobs):
        raise ValueError(f"{len(reply)} parts for {len(request.jobs)} jobs")
    texts = [part.decode("utf-8", "replace") if isinstance(part, bytes) else str(part) for part in reply]
    for n in range(1, len(texts), _PARTS):
        said, id, due, replaced, former = texts[n : n + _PARTS]
        one = Added(id, int(due) if due.isdecimal() else _whole(due), said in ("1", "2"))
        if replaced:
            one.replaced, one.former = replaced, _former(replaced, former, decode) if former else None
        if not one.new:
            one.is_other, one.is_outdated, one.is_late = said == "3", said == "4", said == "5"
            if said == "6":
                one.ended, one.due_ms, one.replaced = replaced, None, None
                one.ended_ms = int(due) if due.isdecimal() else None
        added.append(one)
    return added


def read_state(part: Any) -> tuple[int, int | None]:
    """Read the answer of `add.lua` for one job: its state as a text, and the due time of a known job that waits. Raises
    ValueError if it is no answer.
    """
    state, _, due = (part.decode("utf-8", "replace") if isinstance(part, bytes) else str(part)).partition(" ")
    return int(state), _whole(due)


def _former(id: str, payload: str, decode: Callable[[str, bytes], Job]) -> Job | None:
    try:
        return decode(id, payload.encode()) if payload else None
    except CorruptRecord:  # its content is unknown
        return None


def _whole(score: str) -> int | None:
    at = float(score or "nan")  # other programs may write any score
    return math.floor(at) if math.isfinite(at) else None


def _put_row(job: NewJob, what: Stored) -> dict[str, Any]:
    """Make the map that `put.lua` gets for one job. It leaves out fields that do not apply, because Lua would get a
    nil.
    """
    terms, entrance = job.terms, job.entrance
    key = terms.unique_key or (entrance.window_key if entrance.debounce_ms else None)
    row: dict[str, Any] = {
        "id": what.id,
        "payload": what.payload,
        "due": None if job.due_ms is None else str(job.due_ms),
        "variant": what.variant or None,
        "recurs": (job.trigger is not None and job.trigger.recurs) or None,
        "key": key,
        "fresh": True if key is not None else None,  # its id must differ from that of its predecessor
        "plan": None if job.plan is None else [job.plan.source, job.plan.generation, job.plan.ends],
        "batch": terms.batch,
        "before": None if job.after is None else job.after.before,
        "on_death": None if job.after is None else job.after.on_death,
        "over": None if what.over is None else [what.over.id, what.over.recurs],
        "name": terms.name,
        "seen": job.seen,
        "serial": True if terms.unique_key is not None else None,
        "first": terms.priority,
        "tells": job.tells_former or None,
        "tags": terms.tags,
        "once_key": terms.once_key,
        "once_for": entrance.once_for_ms,
        "replace": entrance.replace or None,
        "keeps": entrance.keep or None,
        "debounce": entrance.debounce_ms,
        "most": None if entrance.debounce_ms is None else entrance.most_ms,
        "throttle": entrance.throttle_ms,
        "window": None if entrance.throttle_ms is None else entrance.window_key,
    }
    for field in [*row]:  # each addition pays: no comprehension, which is a call
        if row[field] is None:
            del row[field]
    return row


STANDINGS: Mapping[bytes, Standing] = {b"new": "new", b"same": "same", b"older": "older"}


@dataclass(frozen=True, slots=True, kw_only=True)
class NativePlans:
    """The plans of one schedule on one server."""

    server: Server
    keys: Keys
    contents: Callable[[Sequence[NewJob]], list[str]]  # see `Plans.contents`
    named: Callable[[], dict[str, Named]]  # see `Plans.named`

    def decide(self, plans: Sequence[CodePlan], *, mode: Mode) -> list[Verdict]:
        """Say for each plan whether it holds: see `Plans.decide`."""
        return self._asked(mode, ((plan, 0) for plan in plans))

    def adopt(self, plans: Iterable[tuple[CodePlan, int]]) -> None:
        """Write the decision of another shard: plans with their generations."""
        self._asked("told", plans)

    def _asked(self, mode: str, plans: Iterable[tuple[CodePlan, int]]) -> list[Verdict]:
        args: list[Any] = [mode]
        for plan, generation in plans:
            args += (plan.source, plan.digest, plan.version, plan.written_ms, generation)
        found = self.server.run(self.keys, "plan", args)
        pairs = zip(found[::2], found[1::2], strict=True)
        return [Verdict(standing=STANDINGS[bytes(word)], generation=int(number)) for word, number in pairs]

    def made(self) -> dict[str, Made]:
        """Read the jobs that plans have made: see `Plans.made`."""
        with self.server.translated() as client:
            fields = client.hgetall(self.keys.plans)
        found = {}
        for field, value in fields.items():
            content, blank, source = value.partition(b" ")
            if field.startswith(b"job:") and blank:
                name, of = (text.decode("utf-8", "replace") for text in (field[4:], source))
                found[name] = Made(content=content.decode("ascii", "replace"), source=of)
        return found

    def withdraw(self, names: Sequence[str], *, source: str, generation: int) -> bool:
        """Remove jobs that a plan no longer has: see `Plans.withdraw`."""
        return int(self.server.run(self.keys, "withdraw", [source, generation, *names])) >= 0
