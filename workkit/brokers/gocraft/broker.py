"""The gocraft broker: it adds jobs to a namespace that it shares with pools of gocraft/work, and serves the namespace
as one pool.
"""

from __future__ import annotations

import secrets
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any, NoReturn

from workkit.brokers.gocraft.codec import check, check_name, read_added, rows
from workkit.brokers.gocraft.keys import Keys
from workkit.brokers.gocraft.look import GocraftInspector
from workkit.brokers.gocraft.session import Session
from workkit.brokers.gocraft.upkeep import Enqueuer, Holder, Reaper
from workkit.brokers.redis_server.once import asked_once, kept_batch, read_step, step_text, token_of
from workkit.brokers.redis_server.pages import piped
from workkit.brokers.redis_server.script import load
from workkit.brokers.redis_server.server import Server, ServerClock
from workkit.clocks import time
from workkit.contract.history import refuse_native
from workkit.contract.listener import Claim, Ending, ListenerInfo, Orders, Turn
from workkit.contract.producer import Added, BulkPlace, BulkStep, NewJob
from workkit.errors import InvalidOptions, Unsupported
from workkit.jobs.admission import Admission
from workkit.tracing import TraceContext

if TYPE_CHECKING:
    from workkit.brokers.gocraft.admin import GocraftAdmin
    from workkit.brokers.gocraft.doctor import GocraftDoctor

MOST = 1000  # jobs in one call
GRACE_MS = 1000  # heartbeats are whole seconds


class _Producer:
    """A token and the number of its last request. A script recognises a repeated request by them."""

    __slots__ = ("number", "token")

    def __init__(self, token: str = "", number: int = 0) -> None:
        self.token, self.number = token or secrets.token_hex(8), number


class GocraftBroker:
    """One namespace on one server. Adding and looking are thread-safe; the listener's side is for one thread."""

    is_on_test_clock = False
    count = None  # a namespace has no place for counts of runs

    def __init__(self, server: Server, *, schedule: str, timeout_ms: int = 10_000) -> None:
        self._server, self._schedule, self._keys = server, schedule, Keys(schedule)
        self._add = load("gocraft")["add"]
        self._producers: list[_Producer] = []  # producers that no thread uses now
        self._clock = ServerClock(server)
        patience_ms = timeout_ms + GRACE_MS
        self._session = Session(server, keys=self._keys, schedule=schedule, patience_ms=patience_ms)
        self._reaper = Reaper(server, keys=self._keys, session=self._session, patience=patience_ms / 1000)
        self._holder = Holder(server, keys=self._keys)
        self._enqueuer = Enqueuer(server, keys=self._keys)
        self._waiting = server.twin(answer_seconds=60.0)
        self._woken_by = b""  # the last token's list

    @property
    def schedule(self) -> str:
        """The namespace, as the schedule's name."""
        return self._schedule

    @property
    def url(self) -> str:
        """The URL of the server, without a password."""
        return self._server.url

    @property
    def listener(self) -> str:
        """The id of this pool; empty before the first registration."""
        return self._session.pool

    @property
    def inspector(self) -> GocraftInspector:
        """The part of the broker that reads a namespace."""
        return GocraftInspector(self._server, keys=self._keys, schedule=self._schedule)

    @property
    def admin(self) -> GocraftAdmin:
        """The part of the broker that changes jobs and pauses."""
        from workkit.brokers.gocraft.admin import GocraftAdmin

        return GocraftAdmin(server=self._server, keys=self._keys, schedule=self._schedule)

    @property
    def doctor(self) -> GocraftDoctor:
        """The part of the broker that checks a namespace and repairs it."""
        from workkit.brokers.gocraft.doctor import GocraftDoctor

        return GocraftDoctor(server=self._server, keys=self._keys)

    def now_ms(self) -> int:
        """Ask the server's clock once, then estimate it."""
        return self._clock.now_ms()

    def check(self, job: NewJob) -> None:
        """Refuse a job that a job text cannot express: see `Producer.check`."""
        check(job)

    def adding(self, jobs: Sequence[NewJob], *, step: BulkStep | None = None) -> Callable[[], list[Added]]:
        """Send jobs, and return a function that waits for the answer. If the reply is lost, it repeats the request once
        under its number, so nothing is added twice. `step`: see `Producer.adding`. Raises Unsupported for a job that a
        job text cannot express.
        """
        if len(jobs) > MOST:
            raise ValueError(f"{len(jobs)} jobs in one call; at most {MOST}")
        now_ms = self.now_ms()
        if not jobs and step is None:
            return list
        # fault: add begun
        made = rows(self._keys, jobs, now_ms=now_ms)
        if step is not None:
            producer = _Producer(token_of(step.after.id), step.after.rows)
        else:
            producer = self._producers.pop() if self._producers else _Producer()
            producer.number += 1
        args: list[Any] = [producer.number, step_text(step), self._keys.prefix]
        for row in made:
            args += row.args()
        call = self._add, self._add.keys(self._keys, token=producer.token), args
        answers = asked_once(self._server, [call])

        def answer() -> list[Added]:
            (reply,) = answers()
            if step is not None:
                return read_step(step, reply, partial(read_added, made))
            self._producers.append(producer)
            return read_added(made, reply)

        return answer

    def batch(self, which: str | BulkPlace) -> BulkPlace:
        """Read how far a batch is, or keep a new one: see `Producer.batch`."""
        return kept_batch(self._server, self._keys.producer, which, schedule=self.schedule)

    @property
    def plans(self) -> NoReturn:
        """Raise Unsupported: jobs have no names in this layout."""
        trouble = "is something the gocraft layout cannot do yet"
        raise Unsupported.about("a plan of named jobs", trouble, "Use a native schedule for it.")

    def register(self, info: ListenerInfo) -> None:
        """Become a pool. Raises InvalidOptions if it serves no name, InvalidFunction for a name that no job can have,
        Unsupported for limits that no pool keeps, CronError for a spec of a periodic job.
        """
        if not info.serves:
            trouble = "names no job that this listener serves"
            remedy = 'Mark functions with @job("send_email") in a module given with imports=.'
            raise InvalidOptions.about("imports=", trouble, remedy, where="imports")
        for name, serving in info.serves.items():
            check_name(name, where="job")
            options = serving.options
            refuse_native(options, f' of @job("{name}")')
            for option, value in (("rate", options.rate_ms), ("limit_key", options.limit_key)):
                if value is not None:
                    remedy = "Leave it out, or write limit=, which all pools keep."
                    raise Unsupported.about(f'{option}= of @job("{name}")', "is not known to gocraft pools", remedy)
        self._enqueuer.tell(info.serves)
        self.now_ms()  # ask now: threads that run jobs need the clock while the server may be away
        self._session.register(info)

    def claim(self, limit: int, *, ends: Sequence[Ending] = (), now_ms: int | None = None) -> Turn:
        """Apply endings and take due jobs."""
        return self._session.claim(limit, ends=ends, now_ms=now_ms)

    def admit(self, asked: Sequence[tuple[Claim, Admission | None]], *, now_ms: int | None = None) -> Turn:
        """Admit all claims: a pool takes a job only while its name is below its limit."""
        return Turn(claims=[claim for claim, _ in asked])

    def beating(
        self, *, trouble: str | None = None, state: str | None = None, awaited: int = 0
    ) -> Callable[[], Orders]:
        """Send a heartbeat, and return its answer, which has come already. Remember the pools that look dead, for
        `maintain`.
        """
        orders = self._session.beat()
        return lambda: orders

    def tell(self, said: Mapping[Any, str | None], logs: Sequence[tuple[Claim, str]] = ()) -> None:
        """Show the check-ins of runs."""
        self._session.tell(said)

    def maintain(self, *, reconsider: bool = False) -> list[tuple[str, int]]:
        """Enqueue periodic jobs. Take back the jobs of dead pools, ours and Go's: (pool, jobs) for each. Hold the jobs
        that Go pools would bury. `reconsider`: serve again the names that were given up.
        """
        if reconsider:
            self._session.reconsider()
        if self._session.pool:
            self._enqueuer.enqueue(self._session.names, now_ms=self.now_ms())
        if rivals := self._session.take_rivals():
            self._holder.hold(rivals, now_ms=self.now_ms())
        return self._reaper.reap()

    def wait(self, seconds: float) -> bool:
        """Wait for a token on a connection of its own: True if one came, False if the time is over."""
        names = self._session.names
        if not names:
            time.sleep(min(seconds, 1.0))
            return False
        found = self._waiting.pop([self._keys.wake(name) for name in names], seconds)
        if found is not None:
            self._woken_by = found[0]
        return found is not None

    def traces_of(self, claims: Sequence[Claim]) -> list[TraceContext | None]:
        """Return None for each: this layout carries no trace context."""
        return [None] * len(claims)

    def pass_on(self) -> None:
        """Pass the last wake-up on to another listener of the same name."""
        if self._woken_by:
            piped(self._server, lambda pipe: (pipe.lpush(self._woken_by, 1), pipe.expire(self._woken_by, 60)))

    def leave(self) -> None:
        """Stop as a pool."""
        self._session.leave()

    def close(self) -> None:
        """Close connections, even while a thread waits on one."""
        self._waiting.drop()
        self._server.close()
