"""The requests of a listener to the server of one schedule. What an answer changes is decided by `Dispatch`.

The loop and `drain` share these steps. Each raises ServerUnreachable or ServerRefused.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

from workkit import events
from workkit.clocks import time
from workkit.contract.claim import Orders, Turn
from workkit.worker.dispatch import Dispatch
from workkit.worker.hands import Hands
from workkit.worker.lane import Lane


@dataclass(frozen=True, slots=True)
class Exchange:
    """For the thread that talks to the brokers."""

    hands: Hands
    dispatch: Dispatch

    def claim(self, lane: Lane, limit: int) -> Turn:
        """Settle what has ended, claim up to `limit` jobs, and route them."""
        turn = self._ask(lane, limit)
        now = lane.seen_at = lane.answered()
        lane.compare_name()
        lane.asked = turn.asked
        if limit > 0:
            wake = turn.wake_in_ms
            lane.look = lane.more = wake == 0
            lane.wake_at = now + wake / 1000 if wake else float("inf")
        self.dispatch.lose(lane, turn.fenced)
        self.dispatch.refuse(lane, turn.refused)
        lane.update(turn.control)
        # fault: claimed
        held = self.hands.busy
        self.dispatch.take(lane, turn.claims)
        lane.passed(len(turn.claims), kept=bool(lane.unarmed) or self.hands.busy > held)
        self.admit(lane)
        return turn

    def _ask(self, lane: Lane, limit: int) -> Turn:
        """Send the endings, and claim. With this answer the server confirms all endings; if it has been asked for more,
        only those that were sent before.
        """
        self.dispatch.show_counts()
        ends, lane.ends = lane.ends, []
        lane.unstored += ends
        turn = lane.broker.claim(limit, ends=ends, now_ms=lane.time_ms)  # it keeps the endings even if it raises
        lane.unstored = ends if turn.asked else []
        if lane.giving_back and not turn.asked:
            self.dispatch.given_back(lane, but=(*turn.fenced, *turn.refused))
        return turn

    def admit(self, lane: Lane) -> None:
        """Re-arm recurring jobs, take slots and turns. The claims that wait for this may start only then."""
        if not lane.unarmed:
            return
        turn = lane.broker.admit(lane.unarmed, now_ms=lane.pretended_ms)
        lane.answered()
        if turn.wake_in_ms is not None:
            lane.wake_in(turn.wake_in_ms)
        # fault: admitted
        lane.unarmed = []
        self.dispatch.lose(lane, turn.fenced)
        self.dispatch.refuse(lane, turn.refused)
        self.dispatch.admitted(lane, turn)

    def beat(self, lane: Lane, orders: Orders) -> None:
        """Carry out what a heartbeat brought back, and take back what dead listeners held."""
        lane.seen_at = lane.beat_at = lane.answered()
        lane.compare_name()
        lane.look = lane.look or orders.look
        self.dispatch.lose(lane, orders.fenced)
        lane.update(orders.control)
        if lane.shuns and not self.hands.executor.event_loop.is_silent:
            lane.broker.reconsider()
            lane.shuns, lane.look = False, True
        if orders.cancelled:
            self.dispatch.cancel(lane, orders.cancelled)
        for name, jobs in lane.broker.maintain():
            lane.look = True
            events.emit("crashed", lane.broker.schedule, listener=name, jobs=jobs)

    def count(self, lane: Lane, *, is_last: bool = False) -> None:
        """Send the counts of runs if it is time, or if no other time comes."""
        counter = lane.counter
        if counter is not None and (counter.at <= time.monotonic() or (is_last and counter.at < math.inf)):
            counter.write(lane.broker)
            # fault: counted

    def farewell(self, lane: Lane) -> None:
        """Settle what has ended, give back what still arrives, and end the registration."""
        while True:
            turn = self._ask(lane, 0)
            lane.asked = turn.asked
            lane.answered()
            self.dispatch.refuse(lane, [*turn.fenced, *turn.refused])
            for claim in turn.claims:
                self.dispatch.release(lane, claim)
            if not lane.ends and not turn.asked:
                self.count(lane, is_last=True)
                lane.broker.leave()
                return
