"""Run due jobs in the calling thread until none is left. It uses the same `Settle` and `Router` as the loop, at the
server's time, or at a time that passes from one instant to another: a test moves the server's clock, or the time is
pretended.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from contextlib import nullcontext
from dataclasses import dataclass, replace
from typing import Any

from workkit._version import __version__
from workkit.contract.broker import Broker, Producer
from workkit.contract.listener import ListenerInfo, Serving
from workkit.contract.producer import Tally
from workkit.jobs.consumers import Functions
from workkit.jobs.outcome import Again, Dead
from workkit.worker.executor import Executor
from workkit.worker.lane import Inbox, Lane, LaneRun, LookUp
from workkit.worker.loop import How
from workkit.worker.publisher import Publisher
from workkit.worker.router import Router, Runner
from workkit.worker.run.interruption import waking
from workkit.worker.runner import Threads
from workkit.worker.settle import Settle

STANDING_MS = 10_000  # real time that a handler may take while a test holds the time still
LOOKS_APART_MS = 2000  # between two heartbeats of a test, as a listener sends them


@dataclass(frozen=True, slots=True)
class MovedClock:
    """The clock of a server on which tests move the time. `move` sets it to an instant, epoch milliseconds; `more`
    returns the brokers of schedules that have come into use since.
    """

    move: Callable[[int], None]
    more: Callable[[], Sequence[Broker]]


def drain_brokers(
    brokers: Sequence[Broker],
    *,
    how: How,
    now_ms: int | None,
    limit: int | None,
    raise_errors: bool,
    to: Producer | None = None,
    clock: MovedClock | None = None,
) -> Tally:
    """Do the work of `schedule.drain`. Registers as a listener during the drain, so that others can take over its jobs
    if it dies.

    `clock`: the server's clock, which is moved; None: each request names a pretended time.
    """
    inbox: Inbox[Any] = Inbox()
    runner: Runner
    if to is None:
        registry = Functions(imports=how.imports, folder=how.folder, consumers=how.consumers)
        standing_ms = None if clock is None else STANDING_MS
        executor = Executor(
            registry, offloads=clock is None, standing_ms=standing_ms
        )  # no process is on a test's server
        runner = Threads(0, executor=executor, inbox=inbox)
    else:
        runner = Publisher(to, inbox=inbox, is_drain=True)
    serves = runner.open().serves(how.jobs)
    patience = round(how.stuck_after.total_seconds() * 1000)
    drain = _Drain(
        runner, inbox, limit=limit, raise_errors=raise_errors, serves=serves, clock=clock, patience_ms=patience
    )
    try:
        with nullcontext() if clock is None else waking():
            return drain.run(brokers, until_ms=now_ms)
    finally:
        runner.close()


def _runs(tally: Tally) -> int:
    return tally.ran + tally.failed + tally.retried


class _Drain:
    """The drain of some brokers, one job of each in turn. The runner puts ended runs into the inbox."""

    def __init__(
        self,
        runner: Runner,
        inbox: Inbox[Any],
        *,
        limit: int | None,
        raise_errors: bool,
        serves: Mapping[str, Serving],
        clock: MovedClock | None,
        patience_ms: int,
    ) -> None:
        self._runner, self._inbox, self._serves = runner, inbox, serves
        self._limit, self._raise_errors, self._clock = limit, raise_errors, clock
        self._patience_ms = patience_ms  # after this time since a heartbeat its listener counts as dead
        self._router = Router(runner)
        self._settle = Settle(runner, self._router)
        self._lanes: list[Lane] = []
        self._wakes: dict[Lane, float | None] = {}  # ms from the last claim there to the next due time
        self._at_ms: int | None = None  # the current time; None: no time passes
        self._others_until_ms = 0  # until then other listeners may prove dead

    def run(self, brokers: Sequence[Broker], *, until_ms: int | None) -> Tally:
        """Run due jobs. `until_ms`: the time at the end; None: no time passes."""
        opened = list(brokers)
        try:
            if until_ms is not None and brokers:
                self._set(min(until_ms, brokers[0].now_ms()))
            try:
                for broker in brokers:
                    self._join(broker)
                while self._has_room() and (self._step_all(opened) or self._has_passed(until_ms)):
                    pass
            finally:
                self._settle.release_unbegun(self._lanes)
                for lane in self._lanes:
                    self._settle.farewell(lane)
        finally:
            for broker in opened:
                broker.close()
        return replace(self._settle.tally, given_back=0)

    def _join(self, broker: Broker) -> None:
        lane = self._tell(Lane(broker))
        if self._clock is not None and self._at_ms is not None and (others := broker.inspector.listeners()):
            self._others_until_ms = self._at_ms - min(one.beat_ms or 0 for one in others) + self._patience_ms
        broker.register(
            ListenerInfo(
                listener="",
                host="",
                pid=0,
                version=__version__,
                schedules={broker.schedule: 1},
                threads=1,
                state="draining",
                serves=self._serves,
            )
        )
        self._lanes.append(lane)
        if self._clock is not None:
            self._settle.beat(lane, broker.beating()())  # ends pauses that are over

    def _has_room(self) -> bool:
        return self._limit is None or _runs(self._settle.tally) < self._limit

    def _has_passed(self, until_ms: int | None) -> bool:
        """Let time pass, to the next due time or to `until_ms`; return False if it has reached the end. So every
        occurrence of a recurring job runs at its own time, as with a listener that is always there.
        """
        at = self._at_ms
        if at is None or until_ms is None or at >= until_ms:
            return False
        wakes = [at + max(1, math.ceil(wake)) for wake in self._wakes.values() if wake is not None]
        if self._clock is not None:
            wakes += self._wakes_to_maintain(at)
            for lane in self._lanes:  # count the runs at the time when they ran
                self._settle.count(lane, is_last=True)
        self._set(min([until_ms, *wakes]))
        return True

    def _set(self, at_ms: int) -> None:
        self._at_ms = at_ms
        if self._clock is not None:
            self._clock.move(at_ms)
        for lane in self._lanes:
            self._tell(lane)

    def _tell(self, lane: Lane) -> Lane:
        if self._clock is None:
            lane.pretended_ms = self._at_ms
        else:
            lane.clock_ms = self._at_ms
        return lane

    def _wakes_to_maintain(self, at_ms: int) -> list[int]:
        """Return the coming instants at which a heartbeat changes something: a pause ends, or others look dead."""
        ends = [pause.until_ms for lane in self._lanes for pause in lane.control.paused.values()]
        looks = [at_ms + LOOKS_APART_MS] if at_ms < self._others_until_ms else []
        return [max(end, at_ms + 1) for end in ends if end is not None] + looks

    def _step_all(self, opened: list[Broker]) -> bool:
        """Bring one job of each lane to its end; return False if none is due. Adds new brokers to `opened`."""
        if self._clock is not None:
            for broker in self._clock.more():
                opened.append(broker)
                self._join(broker)
        found = False
        for lane in self._lanes:
            if self._clock is not None and self._at_ms is not None and self._must_beat(lane, self._at_ms):
                self._settle.beat(lane, lane.broker.beating()())
            found = (self._has_room() and self._step(lane)) or found
        return found

    def _must_beat(self, lane: Lane, at_ms: int) -> bool:
        lapsed = any(p.until_ms is not None and p.until_ms <= at_ms for p in lane.control.paused.values())
        return lapsed or at_ms <= self._others_until_ms

    def _step(self, lane: Lane) -> bool:
        """Claim one job and bring it to its end; return False if none is due. If the caller wants errors, raises the
        error of a failed run, also if another attempt follows.
        """
        turn = self._settle.claim(lane, 1)
        self._wakes[lane] = turn.wake_in_ms
        self._run()
        while posted := [message for message in self._inbox.take(0) if isinstance(message, LaneRun | LookUp)]:
            self._conclude(lane, posted)
            if lane.unarmed:
                self._settle.admit(lane)
            self._run()
        self._settle.count(lane)
        return bool(turn.claims) or turn.asked or self._router.last_chance is not None

    def _run(self) -> None:
        if self._router.last_chance is not None:
            self._router.give_last_chance(*self._router.last_chance)
        self._runner.flush()

    def _conclude(self, lane: Lane, posted: Sequence[LaneRun | LookUp]) -> None:
        raised: BaseException | None = None
        for found in posted:
            if isinstance(found, LookUp):
                self._router.looked_up(found)
                continue
            self._settle.ended([found])
            _, outcome = lane.ends[-1]
            if isinstance(outcome, Dead) or (isinstance(outcome, Again) and outcome.failure is not None):
                raised = raised or found.error
        if self._raise_errors and raised is not None:
            raise raised
