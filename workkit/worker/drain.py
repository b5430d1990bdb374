"""Run what is due, in this thread, until nothing is. The same steps as the loop's, one by one, by a clock that may be
told.
"""

from __future__ import annotations

from workkit._version import __version__
from workkit.broker import Broker, Claim, Ending, ListenerInfo, Tally
from workkit.errors import CannotRun
from workkit.jobs.outcome import Dead, Done, decide
from workkit.jobs.registry import Registry
from workkit.worker import report
from workkit.worker.executor import Executor
from workkit.worker.loop import How
from workkit.worker.running import Run


def drain_broker(broker: Broker, *, how: How, now_ms: int | None, limit: int | None, raise_errors: bool) -> Tally:
    """See `schedule.drain`. Registers as a listener for its time, so that it can be taken for dead like any other."""
    registry = Registry(imports=how.imports, folder=how.folder)
    registry.load()
    executor = Executor(registry)
    info = ListenerInfo(
        listener="", host="", pid=0, version=__version__, schedules={broker.schedule: 1}, threads=1, state="draining"
    )
    broker.register(info)
    ran = failed = 0
    ends: list[Ending] = []
    try:
        while limit is None or ran + failed < limit:
            claims = list(broker.claim(1, ends=ends, now_ms=now_ms).claims)
            ends = []
            if not claims:
                break
            claim = _armed(broker, registry, claims[0], now_ms=now_ms)
            if claim.trouble:
                report.trouble(claim)
                ends = [(claim, Done())]
                continue
            run = Run(claim)
            attempt = executor.run(run)
            ends = [(claim, decide(attempt.error, attempt.failure, attempt=claim.job.attempt))]
            if isinstance(attempt.error, CannotRun):
                report.cannot_run(claim, attempt.error)
                continue
            outcome = ends[0][1]
            ran, failed = ran + isinstance(outcome, Done), failed + isinstance(outcome, Dead)
            report.ended(attempt, outcome)
            if isinstance(outcome, Dead) and raise_errors and attempt.error is not None:
                raise attempt.error
    finally:
        broker.claim(0, ends=ends, now_ms=now_ms)
        broker.leave()
        broker.close()
        executor.close()
    return Tally(ran=ran, failed=failed)


def _armed(broker: Broker, registry: Registry, claim: Claim, *, now_ms: int | None) -> Claim:
    """The claim with its next occurrence put back, if it recurs and can be run here at all."""
    if claim.trouble or claim.armed or registry.refusal(claim.job.fn):
        return claim
    armed = broker.admit([claim], now_ms=now_ms).claims
    return armed[0] if armed else claim
