"""The values of an act: the request (`Order`), who acts on which schedule (`Doing`), and the outcome (`Result`).

An act returns the order that undoes it in its `Done`: another act, as resume undoes pause, or one that no form may
request (`undone_by`). `Results` keeps that order for the session that acted, until the session takes it.
"""

from __future__ import annotations

import time
from collections import OrderedDict
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime, tzinfo
from functools import partial
from typing import Any, Final, Literal

from workkit.contract.admin import Undo
from workkit.contract.broker import Admin, Inspector
from workkit.errors import ChangedMeanwhile, CorruptRecord, NotFound, Unsupported, WorkkitError
from workkit.jobs.job import Job
from workkit.jobs.names import shown
from workkit.text.glance import moment
from workkit.text.wording import plural
from workkit.verbs import control
from workkit.verbs.creation import Schedule
from workkit.verbs.opening import author_of, producer_of
from workkit.web.auth import Role, may
from workkit.web.cache import Served
from workkit.web.dead_jobs import DeadIndex
from workkit.web.mask import Veil
from workkit.web.works import Works

Needs = Literal["job", "job or schedule", "schedule", "job or group", "listener", "one job", "batch"]
"""The objects that an act names. `job`: one or more jobs; `job or schedule`: jobs, or none for the whole schedule;
`schedule`: none; `job or group`: jobs, or those that died of one error (the field `print`); `listener`: one or more
listeners; `one job`: one job; `batch`: one or more batches.
"""

LIST_FIELDS: Final = ("all", "q", "show", "state", "seen", "typed")
"""The fields with which an act names all jobs of a list."""

SPELLED = 3  # lines shown for an act on several jobs


class NotAllowed(WorkkitError):
    """The role does not allow this act on this job."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Order:
    """One act: a verb, the jobs that it names, and the other fields of the form.

    Only orders that undo another act use the rest. `act`: carries the order out, where no form may request it. `kept`:
    the state that must still hold. `until`: the last moment to carry it out; None: as long as results of acts are kept.
    `form`: the id of the form that sent it.
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
    """The outcome for one job: a line for the user, and the order that undoes it. `shown`: a value that only this
    answer holds and that is never stored; `leads_to`: the job to redirect to.
    """

    line: str
    undo: Order | None = None
    shown: str | None = None
    leads_to: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Result:
    """The outcome of an act: a line for each job, the refused jobs with the reason, and the acts that undo it, the last
    one first. `did`: the change to each job, as a past participle. `lasting`: for how many jobs it cannot be undone,
    where it can be for others. `work`: the work in the background, which every page shows by itself. `asked`: the typed
    fields, where all of them were refused; the form shows them again. `leads_to`: the job to redirect to; empty: the
    same page.
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
        """Describe in one line what was done and what was refused."""
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
    """A person with a role, who acts on one schedule now."""

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
        """The inspector, which reads the schedule."""
        return self.served.inspector()

    @property
    def dead(self) -> DeadIndex:
        """The index of the schedule's dead jobs in this process."""
        return self.served.dead(self.veil)

    @property
    def admin(self) -> Admin:
        """The admin, which changes the schedule in the name of this person."""
        return producer_of(self.s).admin.by(author_of(None))

    def at(self, instant: datetime) -> str:
        """Write an instant as pages do."""
        return moment(instant, self.now, self.zone)


One = Callable[[Doing, Order, str | None], Done]
"""Acts on one job, or on the whole schedule (None). Raises a WorkkitError."""


Together = Callable[[Doing, Order], Result]
"""Acts on all objects of an order. Raises a WorkkitError where nothing was done."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Act:
    """An act: the role that it needs, the objects that it names, the other fields that it takes, and the function that
    handles each job (`one`) or all of them (`together`).

    `did`: the word for a change to several jobs, as a past participle.
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


UNDO: Final = "undo"

KEPT_S: Final = 600.0
LONGEST_S: Final = 400 * 86_400.0
SWEEP_S: Final = 60.0
MOST: Final = 10_000


@dataclass(slots=True, eq=False)
class Results:
    """Results of acts by session and number. They are kept for ten minutes, or until the undo expires if it has an end.
    A number is reserved as soon as its act begins.
    """

    _kept: OrderedDict[tuple[str, str], tuple[float, Result | None]] = field(default_factory=OrderedDict)  # expiry
    _sweep_at: float = 0.0

    def is_new(self, session: str, number: str) -> bool:
        """Reserve a number. Return False if it was used before."""
        self._forget()
        if (session, number) in self._kept:
            return False
        self._kept[session, number] = (time.monotonic() + KEPT_S, None)
        return True

    def keep(self, session: str, number: str, result: Result | None, *, now: datetime | None = None) -> None:
        """Keep the result of an act that ended at `now`. None: the act did not happen, and its number is free again."""
        if result is None:
            self._kept.pop((session, number), None)
        else:
            self._kept[session, number] = (time.monotonic() + _seconds(result, now or datetime.now(UTC)), result)

    def undone(self, session: str, number: str) -> None:
        """Note that an act was undone, so that it cannot be undone twice."""
        until, result = self._kept.get((session, number), (0.0, None))
        if result is not None:
            self._kept[session, number] = (until, replace(result, undo=()))

    def result(self, session: str, number: str) -> Result | None:
        """Return the result of an act; None where it is unknown or the act still runs."""
        self._forget()
        until, result = self._kept.get((session, number), (0.0, None))
        return result if time.monotonic() < until else None

    def _forget(self) -> None:
        now = time.monotonic()
        if now >= self._sweep_at:
            self._sweep_at = now + SWEEP_S
            for one in [one for one, (until, _) in self._kept.items() if until <= now]:
                del self._kept[one]
        while len(self._kept) > MOST:
            self._kept.popitem(last=False)


def _seconds(result: Result, now: datetime) -> float:
    """Return for how many seconds to keep a result: until its undo expires, if each of its orders has an end."""
    ends = [order.until for order in result.undo]
    known = [end for end in ends if end is not None]
    if not known or len(known) < len(ends):
        return KEPT_S
    return min(LONGEST_S, max(KEPT_S, (max(known) - now).total_seconds()))


def undone_by(one: One, *, role: Role, which: str = "", until: datetime | None = None) -> Order:
    """Make an order that no form may request. `which`: the job that its lines name; empty: the schedule."""
    act = Act(role=role, one=one, did="Undone" if which else "Done")
    return Order(verb=UNDO, which=(which,) if which else (), act=act, until=until)


def undoing(undo: Undo | None) -> Order | None:
    """Make the order that undoes a change on the server. None: it cannot be undone."""
    if undo is None:
        return None
    until = None if undo.until_ms is None else datetime.fromtimestamp(undo.until_ms / 1000, UTC)
    return undone_by(partial(_put_back, undo), role="operator", which=undo.job.name or undo.job.id, until=until)


def _put_back(undo: Undo, doing: Doing, _: Order, __: str | None) -> Done:
    """Undo a change of a job. Raises ChangedMeanwhile with the present state of the job."""
    name = called(undo.job)
    if undo.verb == "cancel" and undo.job.recurs and not may(doing.role, "editor"):
        raise NotAllowed(f"{name} recurs. Your role is {doing.role}; this needs editor.", given=undo.job.id)
    try:
        job = control.undo(producer_of(doing.s), undo)
    except ChangedMeanwhile as error:
        raise ChangedMeanwhile(f"{error} {_standing(doing, undo)}".strip(), given=error.given) from error
    match undo.verb:
        case "run":
            return Done(f"{name} does not run now.")
        case "skip":
            return Done(f"{name} runs {doing.at(job.due)} again." if job.due else f"{name} runs again.")
        case "cancel":
            at = f" Next is {doing.at(job.due)}." if job.due else ""
            return Done(f"{name} is back.{at}")


def _standing(doing: Doing, undo: Undo) -> str:
    """Write the present state of the job with this name, or else with this id."""
    try:
        job = doing.inspector.job(undo.job.name or undo.job.id)
    except (NotFound, Unsupported, CorruptRecord):
        return "It is over."
    due = f", due {doing.at(job.due)}" if job.due else ""
    return f"Now: {job.short_id} {shown(job.fn)}, {job.state}{due}."
