"""Run what is due, in the calling thread, until nothing is. It steps the same `Exchange` and `Dispatch` as the loop, at
the server's time, or at one that the caller pretends and that passes from now to then.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence

from workkit._version import __version__
from workkit.contract.broker import Broker
from workkit.contract.listener import ListenerInfo, Serving
from workkit.contract.producer import Producer
from workkit.contract.tally import Tally
from workkit.jobs.functions.consumers import Functions
from workkit.jobs.outcome import Again, Dead
from workkit.worker.dispatch import Dispatch
from workkit.worker.exchange import Exchange
from workkit.worker.executor import Executor
from workkit.worker.forwarding.publisher import Publisher
from workkit.worker.hands import Hands, Posted
from workkit.worker.lane import Lane
from workkit.worker.loop import How, serving
from workkit.worker.task import LookUp


def drain_brokers(
    brokers: Sequence[Broker],
    *,
    how: How,
    now_ms: int | None,
    limit: int | None,
    raise_errors: bool,
    to: Producer | None = None,
) -> Tally:
    """See `schedule.drain`. Registers as a listener meanwhile, so that others can take over what it held if it dies."""
    registry = Functions(imports=how.imports, folder=how.folder, consumers=how.consumers)
    posted: list[Posted] = []
    hands = Hands(0, executor=Executor(registry), post=posted.append)
    if to is not None:
        hands = Publisher(to, post=lambda message: None if callable(message) else posted.append(message))
    hands.prepare()
    serves = serving(registry, how.jobs)
    tally = Tally()
    try:
        for broker in brokers:
            left = None if limit is None else limit - _runs(tally)
            one = _Drain(hands, posted, limit=left, raise_errors=raise_errors, serves=serves).run(
                Lane(broker), until_ms=now_ms
            )
            tally = Tally(
                ran=tally.ran + one.ran, failed=tally.failed + one.failed, retried=tally.retried + one.retried
            )
    finally:
        hands.close()
    return tally


def _runs(tally: Tally) -> int:
    return tally.ran + tally.failed + tally.retried


class _Drain:
    """The drain of one broker. `posted` holds what the hands have finished."""

    def __init__(
        self,
        hands: Hands,
        posted: list[Posted],
        *,
        limit: int | None,
        raise_errors: bool,
        serves: Mapping[str, Serving],
    ) -> None:
        self._hands, self._posted, self._serves = hands, posted, serves
        self._limit, self._raise_errors = limit, raise_errors
        self._dispatch = Dispatch(hands)
        self._exchange = Exchange(hands, self._dispatch)
        self._wake_in_ms: float | None = None  # from the pretended time to the next due time

    def run(self, lane: Lane, *, until_ms: int | None) -> Tally:
        """Run what is due in one place. `until_ms`: the time that is pretended at the end; None is the server's."""
        broker = lane.broker
        if until_ms is not None:
            lane.pretended_ms = min(until_ms, broker.now_ms())
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
        try:
            try:
                while self._has_room() and (self._step(lane) or self._has_passed(lane, until_ms)):
                    pass
            finally:
                self._dispatch.release_unbegun([lane])
                self._exchange.farewell(lane)
        finally:
            broker.close()
        return self._dispatch.tally

    def _has_room(self) -> bool:
        return self._limit is None or _runs(self._dispatch.tally) < self._limit

    def _has_passed(self, lane: Lane, until_ms: int | None) -> bool:
        """Let the pretended time pass, to the next due time or to its end; False if it has ended. So every occurrence
        of a recurring job runs at its own time, as under a listener that was there all along.
        """
        at = lane.pretended_ms
        if at is None or until_ms is None or at >= until_ms:
            return False
        passes = until_ms - at if self._wake_in_ms is None else max(1, math.ceil(self._wake_in_ms))
        lane.pretended_ms = min(until_ms, at + passes)
        return True

    def _step(self, lane: Lane) -> bool:
        """Claim one job and bring it to its end; False if nothing is due. Raises the error of a run that failed, also
        if another attempt follows, if the caller wants it.
        """
        turn = self._exchange.claim(lane, 1)
        self._wake_in_ms = turn.wake_in_ms
        self._dispatch.give_last_chance()
        self._hands.do_here()
        while self._posted:
            posted, self._posted[:] = list(self._posted), []
            self._conclude(lane, posted)
            self._exchange.admit(lane)
            self._dispatch.give_last_chance()
            self._hands.do_here()
        self._exchange.count(lane)
        return bool(turn.claims) or turn.asked or self._dispatch.is_waiting

    def _conclude(self, lane: Lane, posted: Sequence[Posted]) -> None:
        raised: BaseException | None = None
        for found in posted:
            if isinstance(found, LookUp):
                self._dispatch.looked_up(found)
                continue
            self._dispatch.ended([found])
            _, outcome = lane.ends[-1]
            if isinstance(outcome, Dead) or (isinstance(outcome, Again) and outcome.failure is not None):
                raised = raised or found.error
        if self._raise_errors and raised is not None:
            raise raised
