"""What every claim of a listener passes: it waits for the limit of its function, which this process keeps, or a Redis
beside the RabbitMQ for all listeners.

Claims that may not start yet wait here, in their order, and are asked for again soon. One that waits too long goes back
to its queue.
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
AGAIN = 0.2  # seconds until a slot is asked for again; one that this listener frees is asked for at once
PATIENCE = 10.0  # seconds that a claim waits here; then other listeners may have room
SHUT = 1.0  # seconds in which they alone can take it
MOST = 32  # claims of one queue that wait; then nothing more is taken from it, until half of them have gone
AWAY_MS = 5000  # a claim under a limit key goes away so long, so that others behind it get a chance


@dataclass(slots=True, eq=False)
class _Parked:
    claim: Claim
    wanted: Admission
    since: float


class Waiting:
    """The claims of one listener that wait. For the listener's loop. May raise ServerUnreachable, ServerRefused."""

    def __init__(self, ask: Ask) -> None:
        self._ask = ask
        self._parked: dict[Receipt, _Parked] = {}
        self._granted: dict[Receipt, Admission] = {}
        self._crowded: set[str] = set()
        self._shut: dict[str, float] = {}  # queues to which something went back: until when nothing is taken from them
        self._at = math.inf  # when to ask again, `time.monotonic()` seconds

    def __contains__(self, claim: Claim) -> bool:
        return claim.receipt in self._parked

    def admit(self, asked: Sequence[tuple[Claim, Admission | None]]) -> Turn:
        """Let claims start that may; the others wait here, and the listener no longer knows of them."""
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
                since = now if answer >= NEEDS_SLOT else -math.inf  # Redis has lost its record: it goes back soon
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
        """Ask again at once if one of these had a slot."""
        if self._parked and any(claim.slots for claim in claims):
            self._at = 0.0

    def lose(self) -> None:
        """Forget all: RabbitMQ gives them to other listeners."""
        self._parked.clear()
        self._granted.clear()

    def overdue(self) -> list[Ending]:
        """Take the claims that have waited too long, with how each goes back."""
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
        """List the queues from which nothing more is taken for now."""
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
        """In how many milliseconds to ask again; None: nothing waits."""
        return max(0.0, (self._at - time.monotonic()) * 1000) if self._parked else None

    def _ask_in(self, answer: float) -> None:
        self._at = min(self._at, time.monotonic() + (answer / 1000 if answer >= 0 else AGAIN))


class Gate:
    """The gate where there is no Redis: it keeps the limits of functions for this process, and nothing else."""

    def __init__(self, ask: Ask | None = None) -> None:
        """`ask`: lets claims start; None: this process counts its own."""
        self._waiting = Waiting(ask or self._ask)
        self._slots: dict[Receipt, tuple[str, ...]] = {}  # of the claims that this process counts

    @property
    def wake_in_ms(self) -> float | None:
        """In how many milliseconds to ask for what waits here; None: nothing waits."""
        return self._waiting.wake_in_ms

    @property
    def name(self) -> str:
        """The name of this registration; empty where there is none."""
        return ""

    def register(self, info: ListenerInfo) -> None:
        """Become a listener."""

    def ensure(self) -> None:
        """Raise ServerUnreachable, ServerRefused where the gate cannot be asked: then nothing is taken."""

    def take(self, claims: list[Claim]) -> list[Claim]:
        """Note claims before they run; return them with their crashes and terms."""
        return claims

    def admit(self, asked: Sequence[tuple[Claim, Admission | None]]) -> Turn:
        """Let claims start that may; the others wait here."""
        return self._waiting.admit(asked)

    def again(self, limit: int) -> list[Claim]:
        """Take claims that have waited here, and may start now."""
        return self._waiting.again(limit)

    def end(self, ends: Sequence[Ending]) -> None:
        """Forget runs that are over, before their messages are acknowledged, and free their slots."""
        if self._slots:
            for claim, _ in ends:
                self._slots.pop(claim.receipt, None)
        self._waiting.freed(claim for claim, _ in ends)

    def lose(self, claims: Iterable[Claim]) -> list[Claim]:
        """Forget what RabbitMQ gives to other listeners; return the claims of which the loop knows."""
        known = [claim for claim in claims if claim not in self._waiting]
        self._waiting.lose()
        self._slots.clear()
        return known

    def beat(self, *, trouble: str | None, state: str | None) -> list[Ending]:
        """Send a heartbeat; return claims that have waited here too long, with how each goes back."""
        return self._waiting.overdue()

    def maintain(self) -> list[tuple[str, int]]:
        """End what dead listeners held: see `Broker.maintain`."""
        return []

    def tell(self, said: Mapping[Any, str | None]) -> None:
        """Show the progress of runs: nobody could read it."""

    def closed(self, jobs: Mapping[str, str]) -> set[str]:
        """List the queues (of queue -> job) from which nothing is taken for now."""
        return self._waiting.crowded()

    def news(self) -> Control | None:
        """Tell the schedule's own limits, if they have changed."""
        return None

    def leave(self) -> None:
        """End the registration; what is held goes back."""
        self.lose(())

    def _ask(self, asked: Sequence[tuple[Claim, Admission | None]], most: int) -> list[tuple[Claim, float]]:
        """Let claims start, at most so many: see `Guard.admit`."""
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
    """The gate that a Redis keeps: see spec/layouts/hutch.md, section 12. For the listener's loop."""

    def __init__(self, guard: Guard) -> None:
        super().__init__(guard.admit)
        self._guard = guard
        self._told = FREE

    @property
    def name(self) -> str:
        """The name of this registration."""
        return self._guard.name

    def register(self, info: ListenerInfo) -> None:
        """Become a listener, and read what is paused."""
        self._guard.register(info)

    def ensure(self) -> None:
        """Ask whether Redis answers, if it did not before."""
        self._guard.ensure()

    def take(self, claims: list[Claim]) -> list[Claim]:
        """Note claims before they run; return them with their crashes and terms."""
        return self._guard.take(claims)

    def end(self, ends: Sequence[Ending]) -> None:
        """Forget runs that are over, and free their slots and keys."""
        self._guard.end(ends)
        super().end(ends)

    def lose(self, claims: Iterable[Claim]) -> list[Claim]:
        """Forget what RabbitMQ gives to other listeners. The loop knows nothing of what waits here."""
        claims = list(claims)
        self._guard.lose(claims)
        return super().lose(claims)

    def beat(self, *, trouble: str | None, state: str | None) -> list[Ending]:
        """Send a heartbeat; return claims that have waited here too long, with how each goes back."""
        self._guard.beat(trouble=trouble, state=state)
        return super().beat(trouble=trouble, state=state)

    def maintain(self) -> list[tuple[str, int]]:
        """End pauses whose time has passed, and what dead listeners held."""
        return self._guard.maintain()

    def tell(self, said: Mapping[Any, str | None]) -> None:
        """Store the progress of runs."""
        self._guard.tell(said)

    def closed(self, jobs: Mapping[str, str]) -> set[str]:
        """List the queues that are paused, or of which too much waits here."""
        paused = self._guard.paused()
        is_paused = {queue for queue, job in jobs.items() if SCHEDULE in paused or f"fn:{job}" in paused}
        return is_paused | super().closed(jobs)

    def news(self) -> Control | None:
        """Tell the schedule's own limits, if they have changed. Pauses are kept here: nothing comes that is paused."""
        control = replace(self._guard.control, paused={})
        if control == self._told:
            return None
        self._told = control
        return control

    def leave(self) -> None:
        """End the registration; what is held goes back."""
        super().leave()
        self._guard.leave()
