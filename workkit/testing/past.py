"""What ran in a test, as values, from the events of the listener."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from typing import Literal, get_args

from workkit.events import Event
from workkit.jobs.job import Job
from workkit.jobs.names import shown
from workkit.text.cells import brief_repr

RunEnding = Literal["done", "failed", "dead", "retrying", "discarded"]
ENDINGS: frozenset[str] = frozenset(get_args(RunEnding))


@dataclass(frozen=True, slots=True, kw_only=True)
class Ran:
    """One run. `at`: when it ended, by the clock of the test, in UTC. `ending`: "done", "failed" (it is tried again),
    "dead" (for good), "retrying" (its handler asked for it), "discarded". `error`: what its handler raised.
    """

    job: Job
    at: datetime
    ending: RunEnding
    error: BaseException | None = None

    __repr__ = brief_repr

    @property
    def fn(self) -> str:
        """The function, as people read it: "app.mail.digest"."""
        return shown(self.job.fn)


def ran_of(event: Event, *, at: datetime) -> Ran | None:
    """Read a run from an event; None where the event tells of something else."""
    job = event.fields.get("job")
    if event.name not in ENDINGS or not isinstance(job, Job):
        return None
    ending: RunEnding = "dead" if event.is_final else event.name  # type: ignore[assignment]  # it is one of them
    return Ran(job=job, at=at, ending=ending, error=event.fields.get("exception"))
