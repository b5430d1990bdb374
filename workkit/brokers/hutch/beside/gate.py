"""What every claim of a listener passes: it waits for the limit of its function, which this process keeps, or a Redis
beside the RabbitMQ for all listeners.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Any

from workkit.brokers.hutch.beside.guard import MAY_START, NEEDS_SLOT, Guard
from workkit.brokers.hutch.beside.waiting import Ask, Waiting
from workkit.brokers.hutch.codec import Receipt
from workkit.contract.listener import Claim, Ending, ListenerInfo, Standing, Turn
from workkit.jobs.admission import FREE, NOTHING, SCHEDULE, Admission, Control


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
