"""Values of groups (spec/groups.md): batches under a name, and jobs that run after others; and the protocol of a layout
that keeps them, `Keeps.GROUPS`.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from hashlib import sha1
from typing import TYPE_CHECKING, Literal, NamedTuple, Protocol

from workkit.text.cells import brief_repr

if TYPE_CHECKING:
    from workkit.contract.producer import NewJob
    from workkit.jobs.job import Job

GroupState = Literal["open", "running", "cancelled", "done"]
"""A batch is open while its producer adds jobs, and runs until each job has ended. A cancelled one stays so."""
ABANDONED_MS = 600_000  # ms; an open batch without an addition for this long is abandoned
Ending = Literal[
    "waiting", "done", "dead", "cancelled", "discarded", "expired", "missed", "replaced", "removed", "lost"
]


def group_id(batch: str) -> str:
    """Return the id of a batch: 16 hex digits."""
    return sha1(b"batch\0" + batch.encode("utf-8", "surrogatepass"), usedforsecurity=False).hexdigest()[:16]


@dataclass(frozen=True, slots=True, kw_only=True)
class Group:
    """A group as it is on the server. `id`: 16 hex digits. `name`: of a batch. `of`: the id of the job that waits, of a
    group without a name. `endings`: how many members ended so; "waiting" are those that have not. `then`,
    `on_success`: ids of jobs. Times are epoch ms.
    """

    id: str
    name: str | None = None
    of: str | None = None
    state: GroupState = "open"
    is_settled: bool = False  # each member has ended
    on_death: str = "continue"
    total: int = 0
    endings: Mapping[str, int] = field(default_factory=dict)
    then: str | None = None
    on_success: str | None = None
    made_ms: int | None = None
    added_ms: int | None = None  # the last addition
    settled_ms: int | None = None

    __repr__ = brief_repr

    def state_at(self, now_ms: int) -> str:
        """Return its state as people read it: "abandoned" for an open batch without a recent addition, "cancelling" for
        a cancelled one with members that have not ended.
        """
        if self.state == "open" and now_ms - (self.added_ms or self.made_ms or 0) >= ABANDONED_MS:
            return "abandoned"
        return "cancelling" if self.state == "cancelled" and not self.is_settled else self.state


class Member(NamedTuple):
    """A member of a group: its id, for a run of a recurring job ``<id>@<due ms>``, for a batch ``=<group id>``."""

    name: str
    ending: Ending


class MemberPage(NamedTuple):
    """Some members of a group, and where the next page begins; "" after the last one."""

    members: list[Member]
    next: str


class GroupPage(NamedTuple):
    """Some batches, the last one made first, and where the next page begins; "" after the last one."""

    groups: list[Group]
    next: str


class Groups(Protocol):
    """Reads and steers the groups of one schedule. All methods are thread-safe."""

    def group(self, which: str) -> Group:
        """Read a batch by its name or id, or the group of a job that waits by the id of that job. Raises NotFound."""

    def groups(self, *, after: str = "", limit: int = 100) -> GroupPage:
        """Read a page of the batches."""

    def members(self, group: Group, *, ending: Ending | None = None, after: str = "", limit: int = 1000) -> MemberPage:
        """Read a page of the members of one ending, or of all that are listed: the done ones only where a result is
        kept, or a job waits for them alone.
        """

    def jobs(self, ids: Sequence[str]) -> list[Job | None]:
        """Read jobs by their ids in one step, without their states; None for each that is over."""

    def followers(self, member: str) -> list[str]:
        """List the ids of up to 100 jobs that wait for a member (see `Member`), or for any run of a recurring job."""

    def release(self, name: str) -> int:
        """Give up to 1,000 jobs of a closed batch to the listeners; return how many are left to give."""

    def cancel(self, name: str, *, change: bytes = b"") -> Group:
        """Cancel a batch: members that wait do not run, and runs are cancelled; so are `then` and `on_success`. Raises
        NotFound.
        """

    def follow(self, name: str) -> Group:
        """Let the batch's own `then` run again, under another id, when the members have ended that were dead and run
        again. Raises NotFound.
        """


class KeepsGroups(Protocol):
    """A broker with groups, beside what `Producer` has."""

    @property
    def groups(self) -> Groups:
        """The groups of the schedule."""

    def id_of(self, job: NewJob) -> str:
        """Return the id that a new job will have, and keep its bytes for the addition (`NewJob.stored`)."""
