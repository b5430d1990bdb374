"""Run what is due, in this thread, until nothing is. The same steps as the loop's, one by one, by a clock that may be
told.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from workkit._version import __version__
from workkit.contract.broker import Broker
from workkit.contract.claim import Claim, Ending
from workkit.contract.listener import ListenerInfo
from workkit.contract.tally import Tally
from workkit.errors import CannotRun
from workkit.jobs.admission import FREE, Control
from workkit.jobs.outcome import Dead, Done, Released
from workkit.jobs.registry import Registry
from workkit.worker import report
from workkit.worker.lane import Lane
from workkit.worker.loop import How
from workkit.worker.run.current import Run
from workkit.worker.run.executor import Executor


def drain_brokers(
    brokers: Sequence[Broker], *, how: How, now_ms: int | None, limit: int | None, raise_errors: bool
) -> Tally:
    """See `schedule.drain`. Registers as a listener for its time, so that it can be taken for dead like any other."""
    registry = Registry(imports=how.imports, folder=how.folder)
    registry.load()
    drain = _Drain(Executor(registry), now_ms, limit, raise_errors)
    try:
        for broker in brokers:
            drain.run(broker)
    finally:
        drain.executor.close()
    return Tally(ran=drain.ran, failed=drain.failed)


@dataclass(slots=True)
class _Drain:
    executor: Executor
    now_ms: int | None
    limit: int | None
    raise_errors: bool
    ran: int = 0
    failed: int = 0

    def run(self, broker: Broker) -> None:
        """Run what is due in one place."""
        info = ListenerInfo(
            listener="",
            host="",
            pid=0,
            version=__version__,
            schedules={broker.schedule: 1},
            threads=1,
            state="draining",
        )
        broker.register(info)
        ends: list[Ending] = []
        control = FREE
        try:
            while self.limit is None or self.ran + self.failed < self.limit:
                turn = broker.claim(1, ends=ends, now_ms=self.now_ms)
                control, ends = turn.control or control, []
                if not turn.claims:
                    break
                if claim := self._admitted(broker, turn.claims[0], control):
                    self._one(broker, claim, ends)
        finally:
            broker.claim(0, ends=ends, now_ms=self.now_ms)
            broker.leave()
            broker.close()

    def _one(self, broker: Broker, claim: Claim, ends: list[Ending]) -> None:
        refusal = CannotRun(claim.reason or "") if claim.trouble == "foreign" else None
        if claim.trouble == "broken":
            refusal = self.executor.registry.refusal(claim.fn)
        if refusal is not None:
            report.cannot_run(claim, refusal)
            ends.append((claim, Released(unknown=True)))
            return
        if claim.trouble:
            report.trouble(claim)
            ends.append((claim, Done()))
            return
        attempt = self.executor.run(Run(claim, Lane(broker)))
        outcome = attempt.decide()
        ends.append((claim, outcome))
        if isinstance(attempt.error, CannotRun):
            report.cannot_run(claim, attempt.error)
            return
        self.ran, self.failed = self.ran + isinstance(outcome, Done), self.failed + isinstance(outcome, Dead)
        report.ended(attempt, outcome)
        if isinstance(outcome, Dead) and self.raise_errors and attempt.error is not None:
            raise attempt.error

    def _admitted(self, broker: Broker, claim: Claim, control: Control) -> Claim | None:
        """The claim with its next occurrence put back, its slots and turns taken, if it can be run here at all; None
        where it must wait, or is over without a run.
        """
        if claim.trouble or self.executor.registry.refusal(claim.fn):
            return claim
        wanted = self.executor.admission(claim, control)
        if claim.armed and (wanted is None or wanted.is_met(slots=claim.slots, paid=claim.paid)):
            return claim
        turn = broker.admit([(claim, wanted)], now_ms=self.now_ms)
        for missed, reason in turn.missed:
            report.missed(missed, reason)
        return turn.claims[0] if turn.claims else None
