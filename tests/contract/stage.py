"""What a test holds in its hands: a schedule of one layout on a real server, its producer, and listeners on it."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from contextlib import ExitStack
from typing import Any

from tests.contract.capability import Can
from tests.contract.layouts import Layout, Line
from tests.servers import Server
from workkit import schedule
from workkit.contract.broker import Producer
from workkit.contract.listener import Claim, ListenerInfo, Serving, Turn
from workkit.contract.producer import Added, NewJob
from workkit.jobs.admission import Admission
from workkit.jobs.job import Job
from workkit.jobs.outcome import Failure, Outcome

FAILURE = Failure(type="OSError", message="disk full", where="app.py:3", traceback="...")
SERVES = {"note": Serving()}
HOW: dict[str, Any] = {"imports": ["tests.handlers"], "folder": None, "jobs": ["note"]}
MINUTE = 60_000


class Stage:
    """One schedule of one layout. Closes all that it opens."""

    def __init__(self, layout: Layout, server: Server, name: str) -> None:
        self.layout, self.name = layout, name
        self._server, self._ends = server, ExitStack()
        self.s = layout.create(server, name)
        self.producer, self.lose_next_addition = self.another_producer()

    def another_producer(self) -> tuple[Producer, Callable[[], None]]:
        """Open another producer, and say how to lose the reply to its next addition."""
        producer, lose_next = self.layout.producer(self._server, self.name)
        self._ends.callback(producer.close)
        return producer, lose_next

    @property
    def note(self) -> str:
        """The name of the function that notes its arguments."""
        return self.layout.note

    def given(self, *args: Any) -> dict[str, Any]:
        """The keywords of `add` that pass these arguments."""
        return self.layout.given(args)

    def args(self, told: Claim | Job) -> tuple[Any, ...]:
        """The arguments that a claim or a job has."""
        return self.layout.taken(tuple(told.args), told.kwargs)

    def noted(self, call: Any) -> tuple[Any, ...]:
        """The arguments of a call that was noted."""
        has_keywords = len(call) == 2 and isinstance(call[1], dict)
        return self.layout.taken(*call) if has_keywords else self.layout.taken(call, None)

    def new_job(self, *args: Any, due_ms: int | None = None) -> NewJob:
        """Make a job with these arguments, a run of its own."""
        given = {"args": (), "kwargs": None, **self.given(*args)}
        return NewJob(fn=self.note, **given, trigger=None, due_ms=due_ms, queued=True)

    def add(self, n: int = 1) -> list[Added]:
        """Add jobs with the arguments 0, 1, ... that are due now."""
        return [self.add_with(number) for number in range(n)]

    def add_with(self, *args: Any) -> Added:
        """Add one job with these arguments that is due now, a run of its own."""
        (added,) = self.producer.adding([self.new_job(*args)])()
        return added

    def peer(self, *, timeout_ms: int = 10_000) -> Peer:
        """Register a listener, which dies `timeout_ms` after its last heartbeat."""
        lines = self.layout.lines(self._server, self.name, timeout_ms=timeout_ms)
        peer = Peer(lines, pretends=Can.PRETEND in self.layout.can)
        self._ends.callback(peer.close)
        return peer

    @property
    def pause_ms(self) -> int:
        """A pause that a test can wait for: a minute of pretended time, or some milliseconds."""
        return MINUTE if Can.PRETEND in self.layout.can else 150

    def left(self) -> int:
        """How many jobs wait, run or are dead."""
        return len(self.jobs()) if Can.LOOK in self.layout.can else self.layout.left(self._server, self.name)

    def jobs(self) -> list[Job]:
        """List every job."""
        return list(schedule.jobs(self.s))

    def close(self) -> None:
        """Close all that was opened."""
        self._ends.close()


class Peer:
    """One listener: it asks each of its consumers, and keeps what was refused, fenced and missed."""

    def __init__(self, lines: Sequence[Line], *, pretends: bool) -> None:
        self.lines, self._pretends = lines, pretends
        self.refused: list[Claim] = []
        self.fenced: list[Claim] = []
        self._line_of: dict[int, Line] = {}
        self._kept: list[Claim] = []  # so that no other claim has the identity of one
        for line in lines:
            info = ListenerInfo(listener="", host="here", pid=1, version="0", schedules={}, threads=1, serves=SERVES)
            line.consumer.register(info)

    @property
    def names(self) -> set[str]:
        """The names of its registrations."""
        return {line.consumer.listener for line in self.lines}

    def now_ms(self) -> int:
        """The server's clock."""
        return self.lines[0].consumer.now_ms()

    def claim(self, limit: int = 10, *, now_ms: int | None = None) -> list[Claim]:
        """Take up to `limit` due jobs from each consumer."""
        return [claim for line in self.lines for claim in self.claim_from(line, limit, now_ms=now_ms)]

    def claim_from(self, line: Line, limit: int = 10, *, now_ms: int | None = None) -> list[Claim]:
        """Take up to `limit` due jobs from one consumer."""
        return self._taken(line, line.consumer.claim(limit, now_ms=now_ms))

    def claim_after(self, ms: int) -> list[Claim]:
        """Take the jobs that are due when so much time has passed; it passes where it cannot be pretended."""
        if self._pretends:
            return self.claim(now_ms=self.now_ms() + ms)
        deadline = time.monotonic() + ms / 1000
        while not (found := self.claim()) and (left := deadline - time.monotonic()) > 0:
            self.lines[0].consumer.wait(left)
        return found

    def claim_one(self, *, now_ms: int | None = None) -> Claim:
        """Take the one due job there is."""
        (claim,) = self.claim(now_ms=now_ms)
        return claim

    def end(self, claim: Claim, outcome: Outcome, *, now_ms: int | None = None) -> None:
        """Settle one claim."""
        line = self.line_of(claim)
        self._taken(line, line.consumer.claim(0, ends=[(claim, outcome)], now_ms=now_ms))

    def admit(self, claim: Claim, wanted: Admission | None = None, *, now_ms: int | None = None) -> list[Claim]:
        """Put the next occurrence back, and return the claim, armed, if it may start."""
        line = self.line_of(claim)
        return self._taken(line, line.consumer.admit([(claim, wanted)], now_ms=now_ms))

    def cancelled(self) -> set[str]:
        """Send a heartbeat, and return what was cancelled."""
        return {what for line in self.lines for what in line.consumer.beating()().cancelled}

    def reaped(self) -> int:
        """Send a heartbeat, take back the claims of dead listeners, and count them."""
        count = 0
        for line in self.lines:
            line.consumer.beating()()
            count += sum(jobs for _, jobs in line.consumer.maintain())
        return count

    def leave(self) -> None:
        """End the registration."""
        for line in self.lines:
            line.consumer.leave()

    def line_of(self, claim: Claim) -> Line:
        """The consumer that took a claim, and how to lose its next reply."""
        return self._line_of[id(claim)]

    def close(self) -> None:
        """Close connections."""
        for line in self.lines:
            line.consumer.close()

    def _taken(self, line: Line, turn: Turn) -> list[Claim]:
        self.refused += turn.refused
        self.fenced += turn.fenced
        for claim in turn.claims:
            self._kept.append(claim)
            self._line_of[id(claim)] = line
        return list(turn.claims)
