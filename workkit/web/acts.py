"""Acts on a schedule: the verbs that the web is given, the role that each needs, and what is said of it. The rules:
spec/web.md, 8.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, tzinfo
from typing import Any, Final, Protocol

from workkit.contract.inspector import Inspector
from workkit.errors import CorruptRecord, Invalid, NotFound, Unsupported, WorkkitError
from workkit.jobs.admission import SCHEDULE, Pause
from workkit.jobs.job import Job
from workkit.jobs.names import shown
from workkit.text.glance import moment
from workkit.text.listing import plural
from workkit.web.door.role import Role, may

MOST: Final = 500
"""How many jobs one act may name."""

ROLES: Final[Mapping[str, Role]] = {
    "pause": "operator", "resume": "operator", "run": "operator", "skip": "operator", "cancel": "operator",
}  # fmt: skip
OF_SCHEDULE: Final = ("pause", "resume")
"""Acts that may name no job: then they concern the whole schedule."""


class NotAllowed(WorkkitError):
    """The role does not suffice for this job."""


class Verbs(Protocol):
    """The verbs of `workkit.schedule` on one schedule."""

    def pause(self, which: str | None, *, reason: str | None, until: str | None) -> None:
        """Start nothing more of a job, or of the whole schedule."""

    def resume(self, which: str | None) -> None:
        """End a pause."""

    def run(self, which: str) -> Job:
        """Run a job once now."""

    def skip(self, which: str) -> Job:
        """Leave out the next run of a recurring job."""

    def cancel(self, which: str) -> Job:
        """Take a job out."""


HOPELESS: Final = (NotFound, Invalid, Unsupported, CorruptRecord, NotAllowed)


@dataclass(frozen=True, slots=True, kw_only=True)
class Order:
    """One act: a verb, the jobs it names (none: the whole schedule), and what is said with it."""

    verb: str
    which: tuple[str, ...] = ()
    reason: str | None = None
    until: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Result:
    """What became of an act: a line for each job, the jobs that were refused with the reason, and the act that undoes
    it.
    """

    done: tuple[str, ...]
    lines: tuple[str, ...]
    refused: tuple[tuple[str, WorkkitError], ...] = ()
    undo: Order | None = None

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
    """Carries out an act as somebody with a role, on one schedule."""

    schedule: str
    verbs: Verbs
    inspector: Inspector
    role: Role
    now: datetime
    zone: tzinfo

    def carry_out(self, order: Order) -> Result:
        """Do it for each job. One that is refused leaves the others. Raises ServerError, and what concerns all."""
        if not order.which:
            line, undo = self._one(order, None)
            return Result(done=(self.schedule,), lines=(line,), undo=undo)
        done, lines, refused, undos = [], [], [], []
        for which in order.which:
            try:
                line, undo = self._one(order, which)
            except HOPELESS as error:
                refused.append((which, error))
                continue
            done.append(which)
            lines.append(line)
            undos.append(undo)
        return Result(done=tuple(done), lines=tuple(lines), refused=tuple(refused), undo=_merged(undos))

    def _one(self, order: Order, which: str | None) -> tuple[str, Order | None]:
        if order.verb == "pause":
            self.verbs.pause(which, reason=order.reason, until=order.until)
            pause = self._pause(which)
            until = "" if pause is None or pause.until_ms is None else f" until {self._at(_instant(pause.until_ms))}"
            return f"Paused {which or self.schedule}{until}.", Order(verb="resume", which=_listed(which))
        if order.verb == "resume":
            before = self._pause(which)
            self.verbs.resume(which)
            if before is None:
                return f"{which or self.schedule} was not paused.", None
            end = None if before.until_ms is None else _instant(before.until_ms).isoformat()
            undo = Order(verb="pause", which=_listed(which), reason=before.reason, until=end)
            return f"Resumed {which or self.schedule}.", undo
        assert which is not None, "it was checked"
        job = self.inspector.job(which)
        name = job.name or shown(job.fn)
        if order.verb == "skip":
            after = self.verbs.skip(which)
            at, then = (self._at(one.due) if one.due else "never" for one in (job, after))
            return f"Skipped {name} of {at}; next is {then}.", None
        if order.verb == "run":
            self.verbs.run(which)
            return f"Running {name}{', beside its times' if _recurs(job) else ''}.", None
        if _recurs(job) and not may(self.role, "editor"):
            raise NotAllowed(f"{name} recurs. Your role is {self.role}; this needs editor.", given=which)
        after = self.verbs.cancel(which)
        if after.state == "cancelling":
            return f"Cancelling {name}: its run is interrupted.", None
        return f"Cancelled {name}.", None

    def _pause(self, which: str | None) -> Pause | None:
        paused = self.inspector.control().paused
        if which is None:
            return paused.get(SCHEDULE)
        if f"job:{which}" in paused:
            return paused[f"job:{which}"]
        job = self.inspector.job(which)
        return paused.get(f"job:{job.name or job.id}")

    def _at(self, at: datetime) -> str:
        return moment(at, self.now, self.zone)


def read_order(verb: str, fields: Mapping[str, Sequence[Any]]) -> Order | str:
    """Read an act from the fields of a form or of a JSON body; else the sentence that refuses it."""
    which = tuple(fields.get("which", ()))
    texts = {name: next(iter(fields.get(name, ())), None) or None for name in ("reason", "until")}
    if not all(isinstance(one, str) and one for one in (*which, *filter(None, texts.values()))):
        return "which, reason and until are texts."
    if len(which) > MOST:
        return f"An act concerns at most {MOST} jobs, and {len(which):,} were named."
    if not which and verb not in OF_SCHEDULE:
        return f"{verb} needs a job: which=NAME."
    return Order(verb=verb, which=tuple(dict.fromkeys(which)), **texts)


def _merged(undos: Sequence[Order | None]) -> Order | None:
    """Make one act that undoes several alike; None where one cannot be undone, or not by the same act."""
    found = [undo for undo in undos if undo is not None]
    if not found or len(found) < len(undos):
        return None
    first = found[0]
    if any((one.verb, one.reason, one.until) != (first.verb, first.reason, first.until) for one in found):
        return None
    which = tuple(name for one in found for name in one.which)
    return Order(verb=first.verb, which=which, reason=first.reason, until=first.until)


def _recurs(job: Job) -> bool:
    return job.trigger is not None and job.trigger.recurs


def _listed(which: str | None) -> tuple[str, ...]:
    return () if which is None else (which,)


def _instant(ms: int) -> datetime:
    return datetime.fromtimestamp(ms / 1000, UTC)
