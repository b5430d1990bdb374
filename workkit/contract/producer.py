"""The side of a broker that adds jobs, and gives the sides that look, change and check."""

from __future__ import annotations

from collections.abc import Callable, Sequence, Sized
from dataclasses import KW_ONLY, dataclass, field
from typing import Any, Protocol

from workkit.contract.admin import Admin
from workkit.contract.connection import Connection
from workkit.contract.doctor import Doctor
from workkit.contract.inspector import Inspector
from workkit.contract.plans import PlanMark, Plans
from workkit.contract.warning import warn_caller
from workkit.errors import InvalidArguments
from workkit.jobs.job import Job
from workkit.jobs.names import brief, shown
from workkit.jobs.run_options import UNSAID, RunOptions
from workkit.jobs.terms import PLAIN, USUAL, Entrance, Terms
from workkit.tracing import TraceContext
from workkit.triggers import Trigger


@dataclass(slots=True, eq=False)
class NewJob:
    """A job that a producer adds, in words of the domain. `due_ms` None means now, by the server's clock.

    `queued`: every addition is a run of its own, even if an equal job waits (`add_now`, a length from now). `identity`:
    the occurrence of another schedule that this job stands for. A layout derives the id from it, so that a second
    addition of the same occurrence has the same id, and adds nothing while the first one waits where the layout can see
    that. `trace`: the trace context of the addition (`workkit.tracing`), which a layout carries beside the job, or not
    at all; it never changes the id. `meta`: its metadata. `seen`: the id of the job that must stand under the name, ""
    for none; else nothing is added. `tells_former`: the answer has the job that stood under the name, if this one
    replaced it. `plan`: the plan of code that adds it (see `Plans`); then it has a name and a due time. `most_bytes`:
    the limit of `check_size`; None: no limit, as what another schedule has taken was checked there.
    """

    fn: str
    args: tuple[Any, ...]
    _: KW_ONLY
    kwargs: dict[str, Any] | None = None
    trigger: Trigger | None = None
    due_ms: int | None = None
    queued: bool = False
    options: RunOptions = UNSAID
    terms: Terms = PLAIN
    entrance: Entrance = USUAL
    identity: str | None = None
    trace: TraceContext | None = None
    meta: dict[str, str] | None = None
    seen: str | None = None
    tells_former: bool = False
    plan: PlanMark | None = None
    most_bytes: int | None = None


@dataclass(eq=False)
class Added:
    """What became of one `NewJob`: its id, when it is due, whether it was new, and the id of the job that it replaced.
    `former`: that job as it was stored, where `NewJob.tells_former` asks for it.
    `is_other`: nothing was added, as another job than `NewJob.seen` stands under the name; `id` is that one's.

    Of a job of a plan, `is_outdated`: another plan holds, and nothing was added; `is_late`: nothing was added, as its
    due time has passed, at which the job in its place may have run.

    Where it was not new, `id` names the job that stands in its place; `due_ms` is None where that job does not wait.
    """

    id: str
    due_ms: int | None
    new: bool
    # Of most additions none of these is set, and the class has them: a bulk makes many of this.
    replaced: str | None = field(default=None, init=False)
    former: Job | None = field(default=None, init=False)
    is_other: bool = field(default=False, init=False)
    is_outdated: bool = field(default=False, init=False)
    is_late: bool = field(default=False, init=False)


@dataclass(frozen=True, slots=True, kw_only=True)
class Batch:
    """How far a batch of rows is that can be resumed: its first `rows` rows are added, and `digest` (hex) tells which
    they were.
    """

    id: str
    rows: int
    digest: str


@dataclass(frozen=True, slots=True, kw_only=True)
class BatchStep:
    """What an addition makes of a batch: from where it was `before` to where it is `after`."""

    before: Batch
    after: Batch


class Producer(Connection, Protocol):
    """Adds jobs to one schedule, and gives the sides that look, change and check."""

    @property
    def inspector(self) -> Inspector:
        """The side that looks."""

    @property
    def admin(self) -> Admin:
        """The side that changes jobs and pauses."""

    @property
    def plans(self) -> Plans:
        """The plans of code. Raises Unsupported where jobs have no names."""

    @property
    def doctor(self) -> Doctor:
        """The side that checks and repairs."""

    def check(self, job: NewJob) -> None:
        """Refuse a job that the layout cannot keep, as `add` does. Raises Unsupported, an Invalid."""

    def add(self, jobs: Sequence[NewJob]) -> list[Added]:
        """Add jobs. On Redis those of one call that go to the same shard are added in one step, or none of them is; on
        RabbitMQ one by one: see `adding`.
        """

    def adding(self, jobs: Sequence[NewJob], *, step: BatchStep | None = None) -> Callable[[], list[Added]]:
        """Send jobs, and return a function that waits for the answer. The caller must call it. If it raises
        ServerUnreachable, another call repeats the same request, which has one effect (for ten minutes). A layout that
        does not add in one step says in `ServerError.added`, `refused` and `unanswered` how far it came; another call
        then adds what is left, and repeats only what it sent and has no answer to.

        With a `step` all are added, and the batch is moved on, in one step; or InvalidOptions is raised, where the
        batch is not as it was before.
        """

    def begin(self, batch: Batch) -> None:
        """Keep a new batch, for a week after its last addition. Raises Unsupported where none is kept."""

    def batch(self, id: str) -> Batch:
        """Tell how far a batch is. Raises NotFound."""

    def contents(self, jobs: Sequence[NewJob]) -> list[str]:
        """Name the content of each job: two jobs have the same name if only a nonce tells them apart."""


LARGE_BYTES = 1_000_000  # above it an addition warns
MOST_BYTES = 10_000_000  # the usual limit, `max_payload` of `schedule.create`

_REMEDY = "Store the data elsewhere, and pass its key"


def check_size(data: Sized, *, fn: str, most: int | None, given: Any = None) -> None:
    """Refuse a job whose bytes are more than `most`; None: it was checked before. Warns (WorkkitWarning) above 1 MB.
    `given`: its arguments, for the error. Raises InvalidArguments.
    """
    size = len(data)
    if most is None or size <= min(most, LARGE_BYTES):
        return
    name = brief(shown(fn))
    if size > most:
        trouble = f"take {size:,} bytes as JSON, and max_payload is {most:,}"
        remedy = f"{_REMEDY}; or raise max_payload of schedule.create."
        raise InvalidArguments.about(f"the arguments of {name}", trouble, remedy, where="args", given=given)
    warn_caller(
        f"the arguments of {name} take {size:,} bytes as JSON: the server keeps and sends them each time. {_REMEDY}."
    )
