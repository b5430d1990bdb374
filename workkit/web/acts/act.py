"""What an act is: what is asked (`Order`), who does it on what (`Doing`), and what became of it (`Result`)."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from datetime import datetime, tzinfo
from typing import Literal

from workkit.contract.inspector import Inspector
from workkit.errors import WorkkitError
from workkit.jobs.job import Job
from workkit.text.glance import moment
from workkit.text.listing import plural
from workkit.web.acts.verbs import Verbs
from workkit.web.checkup import Checkup
from workkit.web.dead.index import DeadIndex
from workkit.web.door.role import Role
from workkit.web.works import Works

Needs = Literal["job", "job or schedule", "schedule", "job or group"]
"""What an act names: jobs, at least one; jobs, or none for the whole schedule; none; jobs, or those that died of one
error (the field `print`).
"""


class NotAllowed(WorkkitError):
    """The role does not suffice for this job."""


class Changed(WorkkitError):
    """What is meant is not any more what somebody has seen."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Order:
    """One act: a verb, the jobs it names, and the other fields that were filled in. Of one that puts a content back:
    `former` and `latter`, the job as it was and as it became.
    """

    verb: str
    which: tuple[str, ...] = ()
    fields: Mapping[str, str] = field(default_factory=dict)
    former: Job | None = None
    latter: Job | None = None


@dataclass(frozen=True, slots=True)
class Done:
    """What became of one job: a line that says it, and the order that undoes it."""

    line: str
    undo: Order | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Result:
    """What became of an act: a line for each job, the jobs that were refused with the reason, and the act that undoes
    it. `work`: what goes on in the background, which every page tells of by itself.
    """

    done: tuple[str, ...]
    lines: tuple[str, ...]
    refused: tuple[tuple[str, WorkkitError], ...] = ()
    undo: Order | None = None
    work: str = ""

    @property
    def line(self) -> str:
        """Say in one line what was done, and what was not."""
        if len(self.lines) + len(self.refused) == 1:
            return self.lines[0] if self.lines else str(self.refused[0][1])
        said = " ".join(self.lines[:3]) + (f" And {len(self.lines) - 3:,} more." if len(self.lines) > 3 else "")
        if not self.refused:
            return said
        failed = f"{plural(len(self.refused), 'job')} refused: {self.refused[0][1]}"
        return f"{said} {failed}".strip()


@dataclass(frozen=True, slots=True, kw_only=True)
class Doing:
    """Somebody with a role, who acts on one schedule now."""

    schedule: str
    verbs: Verbs
    inspector: Inspector
    checkup: Checkup
    role: Role
    now: datetime
    zone: tzinfo
    graves: DeadIndex
    works: Works

    def at(self, instant: datetime) -> str:
        """Write an instant as pages do."""
        return moment(instant, self.now, self.zone)


One = Callable[[Doing, Order, str | None], Done]
"""Acts on one job, or on the whole schedule (None). Raises errors of ours."""


Together = Callable[[Doing, Order], Result]
"""Acts on all that an order names. Raises errors of ours where nothing was done."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Act:
    """An act: the role that it needs, what it names, which other fields it takes, and what it does with each job, or
    with all `together`.
    """

    role: Role
    needs: Needs = "job"
    fields: tuple[str, ...] = ()
    one: One | None = None
    together: Together | None = None
