"""One listener at the Redis beside its RabbitMQ: its records, its slots, the pauses, its heartbeat.

Each registration has a new name. If other listeners took this one for dead, and its connection to RabbitMQ is still
open, it registers again, and writes records of the messages that it holds. Normative: spec/layouts/hutch.md, section
12.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Any

from workkit.brokers.hutch.beside.gate import MAY_START, NOT_HELD, Gate, Wanted
from workkit.brokers.hutch.beside.keys import Run, placed, settled, taken, terms_of, wanted_row
from workkit.brokers.hutch.beside.place import Beside
from workkit.brokers.hutch.codec import Receipt
from workkit.brokers.redis_server.control import Description, new_name, read_control
from workkit.brokers.redis_server.server import ServerClock
from workkit.clocks import time
from workkit.contract.listener import Claim, Ending, ListenerInfo, Standing
from workkit.errors import ServerError, ServerRefused
from workkit.jobs.admission import FREE, SCHEDULE, Admission, Control
from workkit.jobs.outcome import Outcome
from workkit.jobs.terms import PLAIN

TRIES = 3
LOOKS_APART = 1.9  # seconds between the two looks that are needed, as in the native layout
TWIN = -1  # in place of a number of crashes


class _Gone(Exception):
    """Others took this listener for dead."""


class RedisGate(Gate):
    """The gate of a Redis. Each method may raise ServerUnreachable or ServerRefused; the next call then first completes
    the unfinished work.
    """

    def __init__(self, beside: Beside, *, namespace: str, lease_ms: int) -> None:
        super().__init__()
        self._beside, self._namespace, self._lease_ms = beside, namespace, lease_ms
        self._clock = ServerClock(beside.server)
        self._who: Description | None = None
        self._runs: dict[Receipt, Run] = {}
        self._left: list[bytes] = []  # rows of `settle` that Redis has not received yet
        self._count = 0
        self._stale: list[tuple[str, float]] = []
        self._seen: dict[str, tuple[float, float]] = {}
        self.control: Control = FREE  # the pauses and limits, as far as this listener knows
        self._version = b""  # of the control key: Redis answers only newer values
        self._is_lost = False
        self._is_gone = False  # others took this listener for dead, and it has not sent its records again yet
        self._told = FREE  # the limits that the listener knows

    def register(self, info: ListenerInfo) -> None:
        """List this listener under a new name, and read the pauses."""
        self._who = Description(info, began_ms=self._clock.now_ms())
        self._left = []
        self._enter()
        self._is_gone = False

    def ensure(self) -> None:
        """Ask whether Redis answers, if it did not before. Without Redis no message is taken."""
        if self._is_lost:
            self._beat(None if self._who is None else self._who.info.trouble, None, 0)

    def take(self, claims: list[Claim]) -> list[Claim]:
        """Record claims before they run. Return them with their crashes, and with the terms of their messages; leave
        out claims of a message that came twice.
        """
        runs = [self._new(claim) for claim in claims]
        try:
            self._settle_left()
            answer = self._still(lambda: self._asked("take", [self._version, *self._taken(runs)]))
        except ServerError:
            self._left += [settled(run, None) for run in runs]  # the lost reply may be the reply to this request
            raise
        self._hear_control(answer[1])
        found = []
        for run, crashes in zip(runs, answer[2:], strict=True):
            if int(crashes) == TWIN:
                continue
            standing = None if run.terms is PLAIN else Standing(terms=run.terms)
            run.claim = claim = replace(run.claim, crashes=int(crashes), standing=standing)
            self._runs[claim.receipt] = run
            found.append(claim)
        return found

    def _ask(self, asked: Sequence[Wanted], most: int) -> list[tuple[Claim, float]]:
        runs = [self._runs.get(claim.receipt) for claim, _ in asked]
        known = [(run, wanted) for run, (_, wanted) in zip(runs, asked, strict=True) if run is not None]
        answers: list[float] = []
        if known:
            self._settle_left()
            for one, wanted in known:
                one.asked = self._placed(wanted)
            reply = self._still(lambda: self._asked("admit", [most, *self._rows(known)]))
            answers = [float(part) for part in reply[1:]]
            for one, _ in known:
                one.asked = ()
        left = iter(zip(known, answers, strict=True))
        found = []
        for (claim, _), run in zip(asked, runs, strict=True):
            if run is None:
                found.append((claim, NOT_HELD))
                continue
            (_, wanted), answer = next(left)
            if answer == MAY_START:
                self._start(run, wanted)
            found.append((run.claim, answer))
        return found

    def end(self, ends: Sequence[Ending]) -> None:
        """Forget finished runs, and free their slots and keys, before their messages are acknowledged."""
        rows = [settled(run, outcome) for run, outcome in self._known(ends)]
        if rows or self._left:
            self._call("settle", [*self._left, *rows])
            self._left = []
        for claim, _ in ends:
            self._runs.pop(claim.receipt, None)
        super().end(ends)

    def lose(self, claims: Iterable[Claim]) -> list[Claim]:
        """Note that RabbitMQ gives these messages to other listeners, although this one lives. The next request sends
        that to Redis.
        """
        claims = list(claims)
        for claim in claims:
            if (run := self._runs.pop(claim.receipt, None)) is not None:
                self._left.append(settled(run, None))
        return super().lose(claims)

    def beat(self, *, trouble: str | None, state: str | None, awaited: int) -> list[Ending]:
        """Send a heartbeat; return claims that have waited here too long, each with its ending."""
        self._beat(trouble, state, awaited)
        return super().beat(trouble=trouble, state=state, awaited=awaited)

    def _beat(self, trouble: str | None, state: str | None, awaited: int) -> None:
        """Read the pauses, and the listeners that look dead."""
        assert self._who is not None, "register first"
        packed = self._who.of(trouble, state, awaited)
        self._settle_left()
        beat = self._still(lambda: self._asked("beat", [self.name, self._lease_ms, self._version, packed]))
        names = [name.decode("utf-8", "surrogateescape") for name in beat[1][::2]]
        self._stale = [pair for pair in zip(names, map(float, beat[1][1::2]), strict=True) if pair[0] != self.name]
        self._hear_control(beat[2])

    def closed(self, jobs: Mapping[str, str]) -> set[str]:
        """Return the queues that are paused now, also by the clock, or have too many claims waiting here."""
        lapsed = self.control.lapsed(self._clock.now_ms()) if self.control.paused else ()
        paused = self.control.paused.keys() - set(lapsed)
        is_paused = {queue for queue, job in jobs.items() if SCHEDULE in paused or f"fn:{job}" in paused}
        return is_paused | super().closed(jobs)

    def news(self) -> Control | None:
        """Return the schedule's own limits, if they have changed. The pauses stay here, because the gate closes paused
        queues.
        """
        control = replace(self.control, paused={})
        if control == self._told:
            return None
        self._told = control
        return control

    def maintain(self) -> list[tuple[str, int]]:
        """End expired pauses, and take back the messages of dead listeners. Return (listener, number of messages) for
        each.
        """
        for target in self.control.lapsed(self._clock.now_ms()):
            self._beside.call("resume", [target, "lapsed"])
        now, found = time.monotonic(), []
        seen = {name: self._seen[name] for name, beat in self._stale if self._seen.get(name, (None, 0))[0] == beat}
        for name, beat in self._stale:
            if now - seen.setdefault(name, (beat, now))[1] < LOOKS_APART:
                continue
            held = int(self._beside.call("reap", [name, repr(beat), self._lease_ms], listener=name))
            if held >= 0:
                found.append((name, held))
            seen.pop(name)
        self._seen, self._stale = seen, []
        return found

    def tell(self, said: Mapping[Any, str | None]) -> None:
        """Store the progress of runs: see `Broker.tell`."""
        args = [part for receipt, words in said.items() if (run := self._runs.get(receipt)) is not None
                for part in (run.field, words or "")]  # fmt: skip
        if args:
            self._call("tell", args)

    def leave(self) -> None:
        """End the registration and release its messages."""
        self.lose([run.claim for run in self._runs.values()])
        if self.name:
            self._settle_left()
            self._call("leave", [self.name])
        self.name = ""

    # The registration.

    def _hear_control(self, pairs: Sequence[bytes]) -> None:
        """Read the control key from an answer: its fields and values; empty: nothing has changed."""
        if pairs:
            self._version, self.control = read_control(pairs)

    def _enter(self) -> None:
        assert self._who is not None, "register first"
        self.name, before = new_name(self._who.info.listener), self.name
        try:
            _, control = self._call("register", [self.name, self._who.packed])
        except ServerError:
            self.name = before
            raise
        self._version = b""
        self._hear_control(control)

    def _still(self, ask: Any) -> Any:
        """Send a request. If other listeners took this one for dead, register again, write its records, and send once
        more.
        """
        for _ in range(TRIES):
            try:
                if self._is_gone:
                    self._return()
                return ask()
            except _Gone:
                self._is_gone = True
        trouble, remedy = "forgets this listener again and again", "See what deletes its keys."
        raise ServerRefused.about(f"the Redis beside, {self._beside.server.url}", trouble, remedy)

    def _return(self) -> None:
        self._enter()
        runs = [*self._runs.values()]
        if runs:
            self._asked("take", [self._version, *self._taken(runs, back=True)])
        for run in runs:
            if run.slots:
                slots = Admission(keys=tuple((key, 1) for key in run.claim.slots))
                self._asked("admit", [1, wanted_row(run, slots, namespace=self._namespace, force=True)])
        self._is_gone = False

    # One message.

    def _new(self, claim: Claim) -> Run:
        self._count += 1
        field = str(self._count)
        return Run(field, f"{self.name}/{field}", claim, terms_of(claim))

    def _taken(self, runs: Sequence[Run], *, back: bool = False) -> list[bytes]:
        for run in runs:
            run.name = f"{self.name}/{run.field}"
        return [taken(run, began_ms=self._clock.now_ms(), back=back) for run in runs]

    def _rows(self, known: Sequence[tuple[Run, Admission | None]]) -> list[bytes]:
        return [wanted_row(run, wanted, namespace=self._namespace) for run, wanted in known]

    def _start(self, run: Run, wanted: Admission | None) -> None:
        keys = tuple(key for key, _ in wanted.keys) if wanted is not None else ()
        run.slots = self._placed(wanted)
        run.has_started = True
        run.claim = replace(run.claim, standing=Standing(terms=run.terms, slots=keys))

    def _placed(self, wanted: Admission | None) -> tuple[str, ...]:
        return () if wanted is None else tuple(placed(key, self._namespace) for key, _ in wanted.keys)

    def _known(self, ends: Iterable[Ending]) -> list[tuple[Run, Outcome]]:
        pairs = [(self._runs.get(claim.receipt), outcome) for claim, outcome in ends]
        return [(run, outcome) for run, outcome in pairs if run is not None]

    # Requests.

    def _settle_left(self) -> None:
        if self._left:
            self._call("settle", self._left)
            self._left = []

    def _asked(self, verb: str, args: Sequence[Any]) -> Any:
        answer = self._call(verb, args)
        if answer[0] != b"ok":
            raise _Gone
        return answer

    def _call(self, verb: str, args: Sequence[Any]) -> Any:
        of = {"listener": self.name} if verb in _OF_LISTENER else {}
        try:
            answer = self._beside.call(verb, args, **of)
        except ServerError:
            self._is_lost = True
            raise
        self._is_lost = False
        return answer


_OF_LISTENER = frozenset({"register", "take", "admit", "settle", "beat", "tell", "leave"})
