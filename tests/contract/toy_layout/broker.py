"""Jobs in a dictionary: they run once, and are tried again. Whatever else a broker may do is refused."""

from __future__ import annotations

import json
import threading
import time
import uuid
from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from hashlib import sha1
from itertools import count
from typing import Any, NoReturn

from workkit.contract.composed import composed_pulse
from workkit.contract.history import refuse_native
from workkit.contract.inspector import Counts, Pulse
from workkit.contract.listener import Claim, Ending, ListenerInfo, Orders, Turn
from workkit.contract.producer import Added, BulkStep, NewJob
from workkit.errors import Unsupported
from workkit.jobs.admission import Admission
from workkit.jobs.job import Job, JobState
from workkit.jobs.outcome import Again, Dead, Outcome, Released
from workkit.jobs.terms import PLAIN, USUAL
from workkit.tracing import TraceContext

REMEDY = "Use a native schedule for it."
numbers = count(1)


class Refused:
    """A member of the contract that a class does not have: each use of it is refused."""

    def __init__(self, name: str) -> None:
        self._name = name

    def __call__(self, *args: object, **how: object) -> NoReturn:
        raise Unsupported.about(self._name, "is something the toy layout cannot do", REMEDY)

    def __getattr__(self, name: str) -> NoReturn:
        self()


class Refusing:
    """Refuses each member of the contract that it does not have."""

    def __getattr__(self, name: str) -> Refused:
        return Refused(name)


@dataclass(slots=True, eq=False)
class Row:
    """A job, who holds it, and which listeners cannot run it."""

    id: str
    new: NewJob
    args: list[Any]
    due_ms: int
    attempt: int = 0
    holder: str = ""
    unable: set[str] = field(default_factory=set)

    @property
    def occurrence(self) -> str:
        """The run, as cancellations name it."""
        return self.id


@dataclass(slots=True, eq=False)
class Shelf:
    """The jobs of one schedule. `awake`: what wakes each listener."""

    rows: dict[str, Row] = field(default_factory=dict)
    dead: int = 0
    lock: threading.Lock = field(default_factory=threading.Lock)
    awake: dict[str, threading.Event] = field(default_factory=dict)


SHELVES: dict[str, Shelf] = defaultdict(Shelf)


class ToyInspector(Refusing):
    """Counts the dead jobs, and lists none."""

    def __init__(self, name: str) -> None:
        self._name = name

    def is_known(self) -> bool:
        return self._name in SHELVES

    def counts(self) -> Counts:
        return Counts(dead=SHELVES[self._name].dead)

    def pulse(self) -> Pulse:
        return composed_pulse(self, now_ms=_now_ms())

    def jobs(
        self, *, state: JobState | None = None, named: Sequence[str] = (), tagged: Sequence[str] = ()
    ) -> Iterator[Job]:
        raise Unsupported.about("listing waiting jobs", "cannot be done here", REMEDY)

    def job(self, which: str) -> NoReturn:
        raise Unsupported.about(f'finding "{which}"', "cannot be done here", REMEDY)


class ToyAdmin(Refusing):
    """Changes nothing."""

    def by(self, author: object, *, undos: object = None) -> ToyAdmin:
        return self


class ToyBroker(Refusing):
    """The producer and the consumer of one schedule."""

    is_on_test_clock = False
    count = None
    url = "toy:"

    def __init__(self, name: str) -> None:
        self.schedule, self.listener = name, ""
        self.inspector, self.admin = ToyInspector(name), ToyAdmin()
        self._shelf = SHELVES[name]
        self._awake = threading.Event()

    def now_ms(self) -> int:
        return _now_ms()

    def close(self) -> None:
        self._awake.set()

    def check(self, job: NewJob) -> None:
        refuse_native(job.options)
        if job.terms != PLAIN or job.entrance != USUAL or (job.trigger is not None and job.trigger.recurs):
            raise Unsupported.about("a job with these options", "is something the toy layout cannot keep", REMEDY)

    def adding(self, jobs: Sequence[NewJob], *, step: BulkStep | None = None) -> Callable[[], list[Added]]:
        for job in jobs:
            self.check(job)
        if step is not None:
            raise Unsupported.about("a batch", "is not kept by the toy layout", REMEDY)
        with self._shelf.lock:
            added = [self._put(job) for job in jobs]
        for event in self._shelf.awake.values():
            event.set()
        return lambda: added

    def _put(self, job: NewJob) -> Added:
        id = sha1((job.identity or uuid.uuid4().hex).encode(), usedforsecurity=False).hexdigest()
        due_ms = _now_ms() if job.due_ms is None else job.due_ms
        is_new = id not in self._shelf.rows
        self._shelf.rows.setdefault(id, Row(id, job, json.loads(json.dumps(job.args)), due_ms))
        return Added(id=id, due_ms=due_ms, new=is_new)

    def register(self, info: ListenerInfo) -> None:
        for name, serving in info.serves.items():
            refuse_native(serving.options, f' of @job("{name}")')
        self.listener = f"toy-{next(numbers)}"
        self._shelf.awake[self.listener] = self._awake

    def claim(self, limit: int, *, ends: Sequence[Ending] = (), now_ms: int | None = None) -> Turn:
        now = _now_ms() if now_ms is None else now_ms
        with self._shelf.lock:
            refused = [claim for claim, outcome in ends if not self._ended(claim, outcome, now)]
            waiting = [row for row in self._shelf.rows.values() if not row.holder and self.listener not in row.unable]
            waiting.sort(key=lambda row: row.due_ms)
            taken = [row for row in waiting if row.due_ms <= now][:limit]
            for row in taken:
                row.holder = self.listener
            later = waiting[len(taken) :]
        wake_in_ms = max(0, later[0].due_ms - now) if later else None
        return Turn(claims=[self._claim(row) for row in taken], refused=refused, wake_in_ms=wake_in_ms)

    def _claim(self, row: Row) -> Claim:
        new = row.new
        return Claim(
            row, self._job, row.id, new.fn, row.args, row.due_ms, new.kwargs, options=new.options, attempt=row.attempt
        )

    def _job(self, claim: Claim) -> Job:
        due = datetime.fromtimestamp(claim.due_ms / 1000, UTC)
        args = tuple(claim.args)
        return Job(id=claim.id, schedule=self.schedule, fn=claim.fn, args=args, kwargs=claim.kwargs, due=due)

    def _ended(self, claim: Claim, outcome: Outcome, now: int) -> bool:
        """Apply an ending; False where somebody else holds the job, or nobody."""
        row = self._shelf.rows.get(claim.id)
        if row is None or row.holder != self.listener:
            return False
        row.holder = ""
        match outcome:
            case Again():
                row.due_ms, row.attempt = now + outcome.delay_ms, outcome.attempt
            case Released():
                if outcome.unknown or outcome.unfit_ms:
                    row.unable.add(self.listener)
                elif outcome.delay_ms:
                    row.due_ms = now + outcome.delay_ms
            case _:
                self._shelf.dead += isinstance(outcome, Dead)
                del self._shelf.rows[claim.id]
        return True

    def admit(self, asked: Sequence[tuple[Claim, Admission | None]], *, now_ms: int | None = None) -> Turn:
        return Turn(claims=[claim for claim, _ in asked])

    def beating(self, *, trouble: str | None = None, state: str | None = None) -> Callable[[], Orders]:
        return Orders

    def tell(self, said: Mapping[Any, str | None]) -> None: ...

    def traces_of(self, claims: Sequence[Claim]) -> list[TraceContext | None]:
        return [claim.receipt.new.trace for claim in claims]

    def maintain(self, *, reconsider: bool = False) -> list[tuple[str, int]]:
        if reconsider:
            with self._shelf.lock:
                for row in self._shelf.rows.values():
                    row.unable.discard(self.listener)
        return []

    def wait(self, seconds: float) -> bool:
        woken = self._awake.wait(seconds)
        self._awake.clear()
        return woken

    def pass_on(self) -> None: ...

    def leave(self) -> None:
        self._shelf.awake.pop(self.listener, None)
        self.listener = ""


def _now_ms() -> int:
    return round(time.time() * 1000)
