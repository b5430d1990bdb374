"""What an act is: what is asked (`Order`), who does it on what (`Doing`), and what became of it (`Result`)."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from datetime import datetime, tzinfo
from typing import Any, Final, Literal

from workkit.contract.broker import Admin, Inspector
from workkit.errors import NotFound, WorkkitError
from workkit.jobs.job import Job
from workkit.jobs.names import shown
from workkit.text.glance import moment
from workkit.text.listing import plural
from workkit.verbs.author import author_of
from workkit.verbs.creation import Schedule
from workkit.verbs.opening import producer_of
from workkit.web.cache import Served
from workkit.web.dead_jobs import DeadIndex
from workkit.web.mask import Veil
from workkit.web.users import Role
from workkit.web.works import Works

Needs = Literal["job", "job or schedule", "schedule", "job or group", "listener", "one job"]
"""What an act names: jobs, at least one; jobs, or none for the whole schedule; none; jobs, or those that died of one
error (the field `print`); listeners, at least one; one job.
"""

LIST_FIELDS: Final = ("all", "q", "show", "state", "seen", "typed")
"""The fields by which an act names all jobs of a list."""

SPELLED = 3  # lines of an act on several jobs that are shown


class NotAllowed(WorkkitError):
    """The role does not suffice for this job."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Order:
    """One act: a verb, the jobs it names, and the other fields that were filled in.

    The rest is for an order that undoes another act. `act`: what carries it out, where no form may ask for it. `kept`:
    what must still hold. `until`: until when it can be done; None: as long as results of acts are kept. `form`: the id
    of the form by which it came.
    """

    verb: str
    which: tuple[str, ...] = ()
    fields: Mapping[str, str] = field(default_factory=dict)
    act: Act | None = None
    kept: Any = None
    until: datetime | None = None
    form: str = ""


@dataclass(frozen=True, slots=True)
class Done:
    """What became of one job: a line that says it, and the order that undoes it. `shown`: what only this answer holds,
    and nothing keeps; `leads_to`: the job whose page one comes to.
    """

    line: str
    undo: Order | None = None
    shown: str | None = None
    leads_to: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Result:
    """What became of an act: a line for each job, the jobs that were refused with the reason, and the acts that undo
    it, the last one first. `did`: what was done to each job, as a past participle. `lasting`: for how many jobs it
    cannot be undone, where it can be for others. `work`: the work in the background, which every page shows by
    itself. `asked`: what was typed, where all of it was refused: it stands in its form again. `leads_to`: the job whose
    page one comes to; empty: the page where one was.
    """

    done: tuple[str, ...]
    lines: tuple[str, ...]
    refused: tuple[tuple[str, WorkkitError], ...] = ()
    undo: tuple[Order, ...] = ()
    did: str = "Done"
    lasting: int = 0
    work: str = ""
    shown: str | None = None
    asked: Order | None = None
    leads_to: str = ""

    @property
    def line(self) -> str:
        """Say in one line what was done, and what was not."""
        if len(self.lines) + len(self.refused) == 1:
            return self.lines[0] if self.lines else str(self.refused[0][1])
        over = sum(isinstance(error, NotFound) for _, error in self.refused)
        others = [str(error) for _, error in self.refused if not isinstance(error, NotFound)]
        parts = [f"{over:,} {'is' if over == 1 else 'are'} over"] if over else []
        parts += [f"{len(others):,} refused: {others[0].rstrip('.')}"] if others else []
        parts += [f"{self.lasting:,} cannot be undone"] if self.lasting else []
        if not self.refused and len(self.lines) <= SPELLED:
            said = " ".join(self.lines)
            return f"{said} {parts[0]}." if parts else said
        named = len(self.lines) + len(self.refused)
        many = f"{len(self.lines):,} of {named:,}" if self.refused else plural(named, "job")
        return f"{'; '.join([f'{self.did} {many}', *parts])}."


@dataclass(frozen=True, slots=True, kw_only=True)
class Doing:
    """Somebody with a role, who acts on one schedule now."""

    served: Served
    role: Role
    now: datetime
    zone: tzinfo
    works: Works
    veil: Veil

    @property
    def s(self) -> Schedule:
        """The schedule, as the verbs take it."""
        return self.served.s

    @property
    def schedule(self) -> str:
        """The name of the schedule."""
        return self.served.name

    @property
    def inspector(self) -> Inspector:
        """What looks at the schedule."""
        return self.served.inspector()

    @property
    def dead(self) -> DeadIndex:
        """The dead jobs of the schedule, as this process keeps them."""
        return self.served.dead(self.veil)

    @property
    def admin(self) -> Admin:
        """What changes the schedule in their name."""
        return producer_of(self.s).admin.by(author_of(None))

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

    `did`: what was done to several jobs, as a past participle.
    """

    role: Role
    needs: Needs = "job"
    fields: tuple[str, ...] = ()
    one: One | None = None
    together: Together | None = None
    did: str = "Done"


def called(job: Job) -> str:
    """Name a job in a line: its name, else its function."""
    return job.name or shown(job.fn)
