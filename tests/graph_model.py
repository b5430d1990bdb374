"""A pure model of spec/groups.md: jobs, batches, and what waits for them, in sets and words."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any

GOOD = ("done", "discarded")


@dataclass(slots=True)
class Job:
    """One job: parked, ready, held, or how it has ended."""

    label: str
    batch: str | None = None
    state: str = "parked"
    is_cancelled: bool = False
    id: str = ""
    job: Any = None


@dataclass(slots=True)
class Group:
    """A batch, or what the job `of` waits for: "" while it is open, then running, cancelled or settled."""

    on_death: str
    of: str | None = None
    then: str | None = None
    success: str | None = None
    members: dict[str, str] = field(default_factory=dict)  # how each has ended, or "waiting"
    state: str = "running"
    is_settled: bool = False

    @property
    def waits(self) -> bool:
        return "waiting" in self.members.values()


class Model:
    """What spec/groups.md says, in sets and words."""

    def __init__(self) -> None:
        self.jobs: dict[str, Job] = {}
        self.batches: dict[str, Group] = {}
        self.after: dict[str, Group] = {}
        self.recurring: dict[str, int] = {}  # the number of the next run

    def of(self, *states: str) -> list[str]:
        return [label for label, job in self.jobs.items() if job.state in states]

    def ending_of(self, name: str) -> str:
        """How a predecessor has ended, or "waiting"; of a batch, its `then`."""
        batch = self.batches.get(name)
        if name in self.recurring:
            return "waiting"
        if batch is None:
            state = self.jobs[name].state
            return "waiting" if state in ("parked", "ready", "held") else state
        if batch.then is not None:
            return self.ending_of(batch.then)
        if not batch.is_settled:
            return "waiting"
        return "cancelled" if batch.state == "cancelled" else "dead" if "dead" in batch.members.values() else "done"

    def adds(
        self, label: str, *, batch: str | None = None, after: Iterable[str] = (), on_death: str = "cancel"
    ) -> bool:
        """Add a job; False if its step refuses it, because a predecessor has failed."""
        found = {self._member(name): self.ending_of(name) for name in after}
        ended = [how for how in found.values() if how != "waiting"]
        if on_death == "cancel" and any(how not in GOOD for how in ended):
            return False
        job = self.jobs[label] = Job(label, batch)
        if batch is not None:
            self.batches[batch].members[label] = "waiting"
        if found:
            self.after[label] = Group(on_death, of=label, members=found)
            self.after[label].is_settled = not self.after[label].waits
        self._may_go(job)
        return True

    def _member(self, name: str) -> str:
        batch = self.batches.get(name)
        if name in self.recurring:
            return f"{name}@{self.recurring[name]}"
        return name if batch is None else batch.then or f"={name}"

    def _may_go(self, job: Job) -> None:
        """Nothing holds it back any more: neither its open batch nor those before it."""
        is_open = job.batch is not None and self.batches[job.batch].state == "open"
        waits = job.label in self.after and not self.after[job.label].is_settled and not job.is_cancelled
        if job.state == "parked" and not is_open and not waits:
            job.state = "ready"

    def closes(self, name: str) -> None:
        batch = self.batches[name]
        batch.state = "running"
        for label in batch.members:
            self._may_go(self.jobs[label])
        self._finish(name, batch)

    def ends(self, label: str, how: str) -> None:
        """A job has ended."""
        job = self.jobs[label]
        job.state = how
        if job.batch is not None:
            self._settles(job.batch, self.batches[job.batch], label, how)
        self._feeds(label, how)

    def passes(self, name: str, how: str) -> None:
        """A run of a recurring job is left out."""
        member = f"{name}@{self.recurring[name]}"
        self.recurring[name] += 1
        self._feeds(member, how)

    def _feeds(self, member: str, how: str) -> None:
        for name, group in list(self.after.items()):
            if member in group.members:
                self._settles(name, group, member, how)

    def _settles(self, name: str, group: Group, member: str, how: str) -> None:
        if group.members.get(member) != "waiting":
            return
        group.members[member] = how
        fails = how == "dead" or (group.of is not None and how not in GOOD)
        if group.on_death == "cancel" and group.state == "running" and not group.is_settled and fails:
            group.state = "cancelled"
            if group.of is not None:
                self._gives_up(group.of)
        self._finish(name, group)

    def _gives_up(self, label: str) -> None:
        job = self.jobs[label]
        job.is_cancelled = True
        self._may_go(job)

    def _finish(self, name: str, group: Group) -> None:
        if group.waits or group.state == "open":
            return
        if not group.is_settled:
            group.is_settled = True
            followers = [label for label in (group.of or group.then, group.success) if label is not None]
            for label in followers if group.state == "cancelled" else followers[:1]:
                if group.state == "cancelled":
                    self.jobs[label].is_cancelled = self.jobs[label].state == "parked" or self.jobs[label].is_cancelled
                if label != group.success or group.state == "cancelled":
                    self._goes(label)
            if group.of is None and group.then is None:
                self._feeds(f"={name}", self.ending_of(name))
        if group.success and group.state == "running" and "dead" not in group.members.values():
            self._goes(group.success)

    def _goes(self, label: str) -> None:
        job = self.jobs[label]
        if job.state == "parked" and not (job.label in self.after and not self.after[label].is_settled):
            self._may_go(job)

    def revives(self, label: str) -> None:
        """A dead job runs again, also in its groups."""
        job = self.jobs[label]
        job.state = "ready"
        if job.batch is not None:
            self.batches[job.batch].members[label] = "waiting"
        for group in self.after.values():
            if group.members.get(label) == "dead" and group.state == "running" and not group.is_settled:
                group.members[label] = "waiting"

    def cancels(self, label: str) -> None:
        """By hand: at once unless a listener has it."""
        job = self.jobs[label]
        if job.state == "held":
            job.is_cancelled = True
        else:
            self.ends(label, "cancelled")

    def gives_up(self, name: str, gone: set[str]) -> None:
        """A whole batch is cancelled. Members that wait come now, to be ended as cancelled, or are `gone` at once."""
        batch = self.batches[name]
        for label, how in list(batch.members.items()):
            job = self.jobs[label]
            if how == "waiting" and job.state in ("parked", "ready"):
                if label in gone:
                    self.ends(label, "cancelled")
                else:
                    self._gives_up(label)
        self._finish(name, batch)

    def is_given_up(self, label: str) -> bool:
        """Whether a claim of it says that it is cancelled."""
        job = self.jobs[label]
        batch = self.batches[job.batch] if job.batch is not None else None
        return job.is_cancelled or (batch is not None and batch.state == "cancelled" and not batch.is_settled)
