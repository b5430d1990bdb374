"""How a run ended, as a value."""

from __future__ import annotations

import random
from dataclasses import dataclass
from typing import Generic, TypeVar

from workkit.jobs.outcome import DONE, Dead, Failure, Kept, Outcome, decide, with_result
from workkit.jobs.run_options import UNSAID, RunOptions
from workkit.worker.run.failure import failure_of
from workkit.worker.run.run import Run

AnyRun = TypeVar("AnyRun", bound=Run)


@dataclass(slots=True, eq=False)
class Attempt(Generic[AnyRun]):
    """How a run ended: `error` None means that the handler returned. `took_ms` is the time in the handler. `kept`: what
    is kept of the value that it returned.
    """

    run: AnyRun
    error: BaseException | None = None
    failure: Failure | None = None
    took_ms: float = 0.0
    options: RunOptions = UNSAID
    kept: Kept | None = None

    def decide(self) -> Outcome:
        """Decide what becomes of the job. Never raises."""
        if self.error is None:
            return DONE if self.kept is None else with_result(DONE, self.options, self.kept)
        return with_result(self._failed(), self.options)

    def _failed(self) -> Outcome:
        assert self.error is not None, "it failed"
        claim = self.run.claim
        try:
            return decide(
                self.error,
                self.failure,
                attempt=claim.attempt,
                waits=claim.attempt - claim.failures,
                options=self.options,
                cancelled=self.run.cancelled,
                chance=random.random(),
            )
        except BaseException as broken:  # the class of an error, or of a Retry's argument, is code of the handler
            return Dead(failure=self.failure or failure_of(broken))
