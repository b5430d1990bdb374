"""The side of a broker that adds jobs, and gives the sides that look, change and check."""

from __future__ import annotations

from collections.abc import Sized
from dataclasses import KW_ONLY, dataclass, field
from typing import Any

from workkit.contract.plans import PlanMark
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
