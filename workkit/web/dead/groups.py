"""Dead jobs by the error they died of. The same groups as `workkit dead --by error` makes. Pure."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime
from functools import cached_property
from typing import Any

from workkit.contract.record import MOST_IDS, error_record
from workkit.jobs.fingerprint import Fingerprint, print_of
from workkit.jobs.names import shown
from workkit.web.dead.grave import Grave


@dataclass(frozen=True, kw_only=True)
class Group:
    """One error, and those that died of it, the last one first. `error` is masked, and told in pieces by its `parts`;
    `print` is that of the error before it was masked.
    """

    print: str
    error: Fingerprint
    graves: tuple[Grave, ...]

    @property
    def n(self) -> int:
        """How many died of it."""
        return len(self.graves)

    @cached_property
    def fns(self) -> list[str]:
        """The functions that raised it, the last one first."""
        return list(dict.fromkeys(shown(grave.job.fn) for grave in self.graves))

    @cached_property
    def died(self) -> list[datetime]:
        """When they died, the last one first."""
        return [grave.job.due for grave in self.graves if grave.job.due is not None]

    @cached_property
    def upto(self) -> int:
        """When the last one died, in epoch ms: an act concerns those that were seen."""
        return max((grave.died_ms for grave in self.graves), default=0)

    def record(self) -> dict[str, Any]:
        """Write it as `dead --by error --json` does."""
        died = self.died
        return error_record(
            self.print,
            self.error,
            jobs=self.n,
            fns=self.fns,
            first=died[-1] if died else None,
            last=died[0] if died else None,
            ids=[grave.job.id for grave in self.graves[:MOST_IDS]],
        )


def by_error(graves: Iterable[Grave]) -> list[Group]:
    """Put dead jobs (the last one first) together by their error; the one with the most jobs first."""
    found: dict[str, list[Grave]] = {}
    for grave in graves:
        found.setdefault(grave.print, []).append(grave)
    groups = [Group(print=print_, error=print_of(same[0].job), graves=tuple(same)) for print_, same in found.items()]
    return sorted(groups, key=lambda group: -group.n)
