"""The gate that every claim of a listener passes. A claim waits for the limit of its function, which this process
counts, or a Redis beside the RabbitMQ for all listeners.

Claims that may not start yet wait here, in their order; the gate asks for them again soon. A claim that waits too long
returns to its queue.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from workkit.brokers.hutch.beside.guard import MAY_START, NEEDS_SLOT, Guard, Wanted
from workkit.brokers.hutch.codec import Receipt
from workkit.clocks import time
from workkit.contract.listener import Claim, Ending, ListenerInfo, Standing, Turn
from workkit.jobs.admission import FREE, NOTHING, SCHEDULE, Admission, Control
from workkit.jobs.outcome import Released

Ask = Callable[[Sequence[Wanted], int], list[tuple[Claim, float]]]  # see `Guard.admit`
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


class Waiting:
    """The waiting claims of one listener. Use it from the listener's loop. May raise ServerUnreachable,
    ServerRefused.
    """

    def __init__(self, ask: Ask) -> None:
        self._ask = ask
        self._parked: dict[Receipt, _Parked] = {}
        self._granted: dict[Receipt, Admission] = {}
        self._crowded: set[str] = set()
        self._shut: dict[str, float] = {}  # queue to which a claim went back -> until when it is closed
        self._at = math.inf  # when to ask again, `time.monotonic()` seconds

    def __contains__(self, claim: Claim) -> bool:
        return claim.receipt in self._parked

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
        """Take up to `limit` claims that may start now. Those that have slots pass the next `admit`."""
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

    def freed(self, claims: Iterable[Claim]) -> None:
        """Ask again at once if one of these claims had a slot."""
        if self._parked and any(claim.slots for claim in claims):
            self._at = 0.0

    def lose(self) -> None:
        """Forget all claims: RabbitMQ gives them to other listeners."""
        self._parked.clear()
        self._granted.clear()

    def overdue(self) -> list[Ending]:
        """Return the claims that have waited too long, each with its ending."""
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

    def crowded(self) -> set[str]:
        """Return the queues that are closed for now."""
        if not (self._parked or self._crowded or self._shut):
            return set()
        count = Counter(receipt.queue for receipt in self._parked)
        still = {queue for queue in self._crowded if count[queue] > MOST // 2}
        self._crowded = still | {queue for queue, parked in count.items() if parked >= MOST}
        now = time.monotonic()
        self._shut = {queue: until for queue, until in self._shut.items() if until > now}
        return self._crowded | self._shut.keys()

    @property
    def wake_in_ms(self) -> float | None:
        """The ms until the next request; None: nothing waits."""
        return max(0.0, (self._at - time.monotonic()) * 1000) if self._parked else None

    def _ask_in(self, answer: float) -> None:
        self._at = min(self._at, time.monotonic() + (answer / 1000 if answer >= 0 else AGAIN))


class Gate:
    """The gate without a Redis: it counts the limits of functions for this process only."""

    def __init__(self, ask: Ask | None = None) -> None:
        """Use `ask` to admit claims; None: this process counts its own."""
        self._waiting = Waiting(ask or self._ask)
        self._slots: dict[Receipt, tuple[str, ...]] = {}  # of the claims that this process counts

    @property
    def wake_in_ms(self) -> float | None:
        """The ms until the next request for the claims that wait here; None: nothing waits."""
        return self._waiting.wake_in_ms

    @property
    def name(self) -> str:
        """The name of this registration; empty if there is none."""
        return ""

    def register(self, info: ListenerInfo) -> None:
        """Become a listener."""

    def ensure(self) -> None:
        """Raise ServerUnreachable or ServerRefused if the gate cannot be asked: then no message is taken."""

    def take(self, claims: list[Claim]) -> list[Claim]:
        """Note claims before they run; return them with their crashes and terms."""
        return claims

    def admit(self, asked: Sequence[tuple[Claim, Admission | None]]) -> Turn:
        """Admit the claims that may start; the others wait here."""
        return self._waiting.admit(asked)

    def again(self, limit: int) -> list[Claim]:
        """Return up to `limit` claims that have waited here and may start now."""
        return self._waiting.again(limit)

    def end(self, ends: Sequence[Ending]) -> None:
        """Forget finished runs, before their messages are acknowledged, and free their slots."""
        if self._slots:
            for claim, _ in ends:
                self._slots.pop(claim.receipt, None)
        self._waiting.freed(claim for claim, _ in ends)

    def lose(self, claims: Iterable[Claim]) -> list[Claim]:
        """Forget the claims that RabbitMQ gives to other listeners; return the claims that the loop tracks."""
        known = [claim for claim in claims if claim not in self._waiting]
        self._waiting.lose()
        self._slots.clear()
        return known

    def beat(self, *, trouble: str | None, state: str | None) -> list[Ending]:
        """Send a heartbeat; return claims that have waited here too long, each with its ending."""
        return self._waiting.overdue()

    def maintain(self) -> list[tuple[str, int]]:
        """Take back the messages of dead listeners: see `Broker.maintain`."""
        return []

    def tell(self, said: Mapping[Any, str | None]) -> None:
        """Do nothing: without a Redis the progress has no reader."""

    def closed(self, jobs: Mapping[str, str]) -> set[str]:
        """Return the queues (of queue -> job) that are closed for now."""
        return self._waiting.crowded()

    def news(self) -> Control | None:
        """Return the schedule's own limits, if they have changed."""
        return None

    def leave(self) -> None:
        """End the registration and release its claims."""
        self.lose(())

    def _ask(self, asked: Sequence[tuple[Claim, Admission | None]], most: int) -> list[tuple[Claim, float]]:
        """Admit up to `most` claims: see `Guard.admit`."""
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


class RedisGate(Gate):
    """The gate of a Redis: see spec/layouts/hutch.md, section 12. Use it from the listener's loop."""

    def __init__(self, guard: Guard) -> None:
        super().__init__(guard.admit)
        self._guard = guard
        self._told = FREE

    @property
    def name(self) -> str:
        """The name of this registration."""
        return self._guard.name

    def register(self, info: ListenerInfo) -> None:
        """Become a listener, and read the pauses."""
        self._guard.register(info)

    def ensure(self) -> None:
        """Ask whether Redis answers, if it did not before."""
        self._guard.ensure()

    def take(self, claims: list[Claim]) -> list[Claim]:
        """Note claims before they run; return them with their crashes and terms."""
        return self._guard.take(claims)

    def end(self, ends: Sequence[Ending]) -> None:
        """Forget finished runs, and free their slots and keys."""
        self._guard.end(ends)
        super().end(ends)

    def lose(self, claims: Iterable[Claim]) -> list[Claim]:
        """Forget the claims that RabbitMQ gives to other listeners. The loop does not track the claims that wait
        here.
        """
        claims = list(claims)
        self._guard.lose(claims)
        return super().lose(claims)

    def beat(self, *, trouble: str | None, state: str | None) -> list[Ending]:
        """Send a heartbeat; return claims that have waited here too long, each with its ending."""
        self._guard.beat(trouble=trouble, state=state)
        return super().beat(trouble=trouble, state=state)

    def maintain(self) -> list[tuple[str, int]]:
        """End expired pauses, and take back the messages of dead listeners."""
        return self._guard.maintain()

    def tell(self, said: Mapping[Any, str | None]) -> None:
        """Store the progress of runs."""
        self._guard.tell(said)

    def closed(self, jobs: Mapping[str, str]) -> set[str]:
        """Return the queues that are paused, or have too many claims waiting here."""
        paused = self._guard.paused()
        is_paused = {queue for queue, job in jobs.items() if SCHEDULE in paused or f"fn:{job}" in paused}
        return is_paused | super().closed(jobs)

    def news(self) -> Control | None:
        """Return the schedule's own limits, if they have changed. The pauses stay here, because the gate closes paused
        queues.
        """
        control = replace(self._guard.control, paused={})
        if control == self._told:
            return None
        self._told = control
        return control

    def leave(self) -> None:
        """End the registration and release its claims."""
        super().leave()
        self._guard.leave()
