"""The gate that every claim of a listener passes. A claim waits for the limit of its function, which this process
counts, or a Redis beside the RabbitMQ for all listeners.

Claims that may not start yet wait here, in their order; the gate asks for them again soon. A claim that waits too long
returns to its queue.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from workkit.brokers.hutch.codec import Receipt
from workkit.clocks import time
from workkit.contract.listener import Claim, Ending, ListenerInfo, Standing, Turn
from workkit.jobs.admission import NOTHING, Admission, Control
from workkit.jobs.outcome import Released

Wanted = tuple[Claim, Admission | None]
MAY_START, NEEDS_SLOT, NOT_HELD = -1.0, -2.0, -3.0
AGAIN = 0.2  # seconds until the next request for a slot; at once if this listener frees one
PATIENCE = 10.0  # seconds that a claim waits here; then it goes back, because other listeners may have room
SHUT = 1.0  # seconds in which only other listeners can take it
MOST = 32  # claims of one queue that wait; at this number the queue is closed until half of them have gone
AWAY_MS = 5000  # ms that a claim under a limit key stays away, so that others behind it get a chance


@dataclass(slots=True, eq=False)
class _Parked:
    claim: Claim
    wanted: Admission
    since: float


class Gate:
    """The gate without a Redis: it counts the limits of functions for this process. Use it from the listener's loop."""

    def __init__(self) -> None:
        self.name = ""  # of this registration; empty if there is none
        self._slots: dict[Receipt, tuple[str, ...]] = {}  # of the claims that this process counts
        self._parked: dict[Receipt, _Parked] = {}
        self._granted: dict[Receipt, Admission] = {}
        self._crowded: set[str] = set()
        self._shut: dict[str, float] = {}  # queue to which a claim went back -> until when it is closed
        self._at = math.inf  # when to ask again, `time.monotonic()` seconds

    def register(self, info: ListenerInfo) -> None:
        """Become a listener."""

    def ensure(self) -> None:
        """Raise ServerUnreachable or ServerRefused if the gate cannot be asked: then no message is taken."""

    def take(self, claims: list[Claim]) -> list[Claim]:
        """Note claims before they run; return them with their crashes and terms."""
        return claims

    def admit(self, asked: Sequence[tuple[Claim, Admission | None]]) -> Turn:
        """Admit the claims that may start; the others wait here, and the listener no longer tracks them."""
        go: list[Claim] = []
        others: list[tuple[Claim, Admission | None]] = []
        for claim, wanted in asked:
            is_granted = claim.receipt in self._granted and self._granted.pop(claim.receipt) == (wanted or NOTHING)
            if is_granted or wanted is None:
                go.append(claim)
            else:
                others.append((claim, wanted))
        now = time.monotonic()
        for (_, wanted), (claim, answer) in zip(others, self._ask(others, len(others)), strict=True):
            if answer == MAY_START:
                go.append(claim)
            else:
                since = now if answer >= NEEDS_SLOT else -math.inf  # Redis lost its record: the claim goes back soon
                self._parked[claim.receipt] = _Parked(claim, wanted or NOTHING, since)
                self._ask_in(answer)
        return Turn(claims=go, wake_in_ms=self.wake_in_ms)

    def again(self, limit: int) -> list[Claim]:
        """Return up to `limit` claims that have waited here and may start now. They pass the next `admit`."""
        if not self._parked or time.monotonic() < self._at:
            return []
        self._at, found = math.inf, []
        asked = [(one.claim, one.wanted) for one in self._parked.values()]
        for (_, wanted), (claim, answer) in zip(asked, self._ask(asked, limit), strict=True):
            if answer == MAY_START:
                found.append(claim)
                self._granted[claim.receipt] = wanted
                del self._parked[claim.receipt]
            else:
                self._ask_in(answer)
        return found

    def end(self, ends: Sequence[Ending]) -> None:
        """Forget finished runs, before their messages are acknowledged, and free their slots. If one had a slot, ask
        again at once.
        """
        if self._slots:
            for claim, _ in ends:
                self._slots.pop(claim.receipt, None)
        if self._parked and any(claim.slots for claim, _ in ends):
            self._at = 0.0

    def lose(self, claims: Iterable[Claim]) -> list[Claim]:
        """Forget the claims that RabbitMQ gives to other listeners; return those that the loop tracks. It tracks none
        of the claims that wait here.
        """
        known = [claim for claim in claims if claim.receipt not in self._parked]
        self._parked.clear()
        self._granted.clear()
        self._slots.clear()
        return known

    def beat(self, *, trouble: str | None, state: str | None, awaited: int) -> list[Ending]:
        """Send a heartbeat; return claims that have waited here too long, each with its ending."""
        now = time.monotonic()
        ends: list[Ending] = []
        for receipt, one in list(self._parked.items()):
            if now - one.since > PATIENCE:
                is_keyed = any("=" in key for key, _ in (*one.wanted.keys, *one.wanted.turns))
                away = AWAY_MS if is_keyed and receipt.queue in self._crowded else 0
                ends.append((one.claim, Released(delay_ms=away)))
                del self._parked[receipt]
                if not away:
                    self._shut[receipt.queue] = now + SHUT
        return ends

    def maintain(self) -> list[tuple[str, int]]:
        """Take back the messages of dead listeners: see `Broker.maintain`."""
        return []

    def tell(self, said: Mapping[Any, str | None]) -> None:
        """Do nothing: without a Redis the progress has no reader."""

    def closed(self, jobs: Mapping[str, str]) -> set[str]:
        """Return the queues (of queue -> job) that are closed for now."""
        if not (self._parked or self._crowded or self._shut):
            return set()
        count = Counter(receipt.queue for receipt in self._parked)
        still = {queue for queue in self._crowded if count[queue] > MOST // 2}
        self._crowded = still | {queue for queue, parked in count.items() if parked >= MOST}
        now = time.monotonic()
        self._shut = {queue: until for queue, until in self._shut.items() if until > now}
        return self._crowded | self._shut.keys()

    def news(self) -> Control | None:
        """Return the schedule's own limits, if they have changed."""
        return None

    def leave(self) -> None:
        """End the registration and release its claims."""
        self.lose(())

    @property
    def wake_in_ms(self) -> float | None:
        """The ms until the next request; None: nothing waits."""
        return max(0.0, (self._at - time.monotonic()) * 1000) if self._parked else None

    def _ask_in(self, answer: float) -> None:
        self._at = min(self._at, time.monotonic() + (answer / 1000 if answer >= 0 else AGAIN))

    def _ask(self, asked: Sequence[Wanted], most: int) -> list[tuple[Claim, float]]:
        """Admit up to `most` claims. Return each with `MAY_START`, `NEEDS_SLOT`, `NOT_HELD`, or the milliseconds until
        its rates allow it.
        """
        used = Counter(key for keys in self._slots.values() for key in keys)
        found = []
        for claim, wanted in asked:
            limits = dict((wanted or NOTHING).keys)
            if most and all(used[key] < limit for key, limit in limits.items()):
                self._slots[claim.receipt] = slots = tuple(limits)
                used.update(slots)
                most -= 1
                found.append((replace(claim, standing=Standing(terms=claim.terms, slots=slots)), MAY_START))
            else:
                found.append((claim, NEEDS_SLOT))
        return found
