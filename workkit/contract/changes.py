"""Who changed what, as values: changes of a schedule that somebody made by a verb. The rules: spec/history.md."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any, Literal

from workkit.jobs.job import spoken
from workkit.text.cells import brief_repr

Via = Literal["python", "cli", "web"]
"""Through which face a change was made."""

LONGEST_BY = 100  # characters
LONGEST_MARK = 200  # characters
MARK = "mark"  # the verb of a mark: what it says is `text` in `after`
SHORTEST = 6  # digits of the beginning of an id


@dataclass(frozen=True, slots=True, kw_only=True)
class Author:
    """Who makes a change, as the caller says, and through which face. `role` and `address`: of somebody who came in
    from elsewhere.
    """

    by: str
    via: Via = "python"
    role: str | None = None
    address: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Change:
    """One change of a schedule. `target`: as in `Control`, or "dead" for several dead jobs. `id` and `fn`: of one job.

    `before` and `after`: what differs, by name; times are aware UTC. `times`: how many jobs, or faults of a repair.
    `number`: its place among all changes, for a reader who continues there.
    """

    at: datetime
    by: str | None
    via: str | None
    verb: str
    target: str
    id: str | None = None
    fn: str | None = None
    before: Mapping[str, Any] = field(default_factory=dict)
    after: Mapping[str, Any] = field(default_factory=dict)
    reason: str | None = None
    times: int = 1
    role: str | None = None
    address: str | None = None
    number: str = ""

    __repr__ = brief_repr

    @property
    def subject(self) -> str:
        """What it is about, as it is typed: a job's name or id, its function, or the target."""
        kind, _, of = self.target.partition(":")
        if kind == "job" and self.id is not None and of == self.id:
            return spoken(self.fn or of)
        return spoken(of) if kind == "fn" else of or kind

    @property
    def names(self) -> list[str]:
        """What differs, by name: first what stood before."""
        return list(dict.fromkeys([*self.before, *self.after]))

    def is_about(self, which: str) -> bool:
        """Say whether it is about a job, by its name, its id, or the beginning of its id."""
        id = self.id or ""
        return self.target == f"job:{which}" or id == which or (len(which) >= SHORTEST and id.startswith(which))
