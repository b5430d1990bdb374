"""Values that a producer adds: jobs, batches, versions of a plan of code; the size limit of a job, with warnings that
point at the user's line; and the tally of a verb.
"""

from __future__ import annotations

import sys
import warnings
from collections.abc import Sequence, Sized
from contextvars import ContextVar
from dataclasses import KW_ONLY, dataclass, field
from types import FrameType
from typing import Any, Literal, NamedTuple, overload

from workkit import triggers
from workkit.errors import InvalidArguments, WorkkitWarning
from workkit.jobs.job import Job
from workkit.jobs.names import brief, shown
from workkit.jobs.run_options import UNSAID, RunOptions
from workkit.jobs.terms import PLAIN, USUAL, Entrance, Terms
from workkit.text.cells import brief_repr
from workkit.tracing import TraceContext

OnDeath = Literal["cancel", "continue", "run"]


class Before(NamedTuple):
    """A predecessor of a job: the id of a job, the name of a job (its next run), or the name of a batch.

    `is_known`: the caller has the `Job` itself, due in the last day; if the server has no trace of it, it is done.
    """

    kind: Literal["job", "name", "batch"]
    of: str
    is_known: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class After:
    """The predecessors of a new job. `on_death`: "cancel" cancels it if one of them ends other than done or discarded;
    "run" runs it however they end.
    """

    before: tuple[Before, ...]
    on_death: OnDeath = "cancel"


@dataclass(slots=True, eq=False)
class NewJob:
    """A job that a producer adds, in words of the domain. `due_ms` None means now, by the server's clock.

    `queued`: every addition is a run of its own, even if an equal job waits (`add_now`, a duration from now).
    `identity`: the occurrence of another schedule that this job runs. A layout derives the id from it: a second
    addition of the same occurrence has the same id, and adds nothing while the first one waits in a place that the
    layout reads. `trace`: the trace context of the addition (`workkit.tracing`), which a layout may carry beside the
    job; it never changes the id. `meta`: its metadata. `seen`: the id of the job that must have the name now, "" for
    none; else nothing is added. `tells_former`: the answer has the former job of that name, if this one replaced it.
    `plan`: the plan of code that adds it (see `Plans`); then it has a name and a due time. `most_bytes`: the limit of
    `check_size`; None: no limit, because another schedule has checked the size already. `after`: its predecessors.
    `stored`: the bytes as its layout sends them, if a caller has asked for its id before.
    """

    fn: str
    args: tuple[Any, ...]
    _: KW_ONLY
    kwargs: dict[str, Any] | None = None
    trigger: triggers.Trigger | None = None
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
    after: After | None = None
    stored: Any = None


@dataclass(eq=False)
class Added:
    """The outcome of one `NewJob`: its id, its due time, whether it was new, and the id of the job that it replaced.
    `former`: that job as it was stored, if `NewJob.tells_former` asks for it. `is_other`: nothing was added, because
    another job than `NewJob.seen` has the name; `id` is the id of that job.

    For a job of a plan: `is_outdated`: nothing was added, because another plan is in force; `is_late`: nothing was
    added, because its due time has passed, and the present job of that name may have run then.

    If it was not new, `id` names the existing job; `due_ms` is None if that job does not wait. `ended`: how that job
    ended, if its lasting key outlived it: "done", "dead", "discarded", "cancelled", "expired", "replaced", or "unknown"
    where its payload is gone and the server does not know why; `ended_ms`: when, None if that is not known.
    """

    id: str
    due_ms: int | None
    new: bool
    # Class attributes, because most additions set none of these, and a bulk makes many `Added`.
    replaced: str | None = field(default=None, init=False)
    former: Job | None = field(default=None, init=False)
    is_other: bool = field(default=False, init=False)
    is_outdated: bool = field(default=False, init=False)
    is_late: bool = field(default=False, init=False)
    ended: str | None = field(default=None, init=False)
    ended_ms: int | None = field(default=None, init=False)


@dataclass(frozen=True, slots=True, kw_only=True)
class BulkPlace:
    """The progress of a bulk of rows that can be resumed: its first `rows` rows are added, and `digest` (hex)
    identifies these rows.
    """

    id: str
    rows: int
    digest: str


@dataclass(frozen=True, slots=True, kw_only=True)
class NewGroup:
    """A batch to make. `then` runs when each member has ended, `on_success` when besides no member is dead.

    `done_by_ms`: the deadline of `then`, epoch ms.
    """

    on_death: OnDeath = "continue"
    then: NewJob | None = None
    on_success: NewJob | None = None
    done_by_ms: int | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class GroupStep:
    """Rows of a batch, in one atomic step: the first request has `makes`, the last one `closes`. Until then no listener
    sees the jobs.
    """

    name: str
    makes: NewGroup | None = None
    closes: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class BulkStep:
    """The step of an addition within a bulk that can be resumed: its place `before` and its place `after`. `group`: the
    rows are members of a batch of spec/groups.md.
    """

    before: BulkPlace
    after: BulkPlace
    group: GroupStep | None = None


Mode = Literal["newer", "back", "look"]
"""How plans are compared: the newer one comes into force; this one does, even if it was replaced; nothing is written.
"""


Standing = Literal["new", "same", "older"]
"""The state of a plan: it comes into force now; it was in force already; a newer one is in force."""


@dataclass(frozen=True, slots=True, kw_only=True)
class CodePlan:
    """One version of the plan of one source (a module or a file).

    `digest` identifies the version. `version`: texts in the order of versions, "" for none. `written_ms`: when the code
    of the source was written, epoch milliseconds.
    """

    source: str
    digest: str
    version: str = ""
    written_ms: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class Verdict:
    """The state of a plan, and the generation of the plan in force. Each plan that replaces another adds one."""

    standing: Standing
    generation: int


@dataclass(frozen=True, slots=True, kw_only=True)
class PlanMark:
    """The plan of an addition. The addition is refused once another plan of this source is in force. `ends`: the job
    has a last run, and is not added again after it.
    """

    source: str
    generation: int
    ends: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class Made:
    """A job that a plan has made under a name: the content of the job, as `Plans.contents` names it, and the source."""

    content: str
    source: str


LARGE_BYTES = 1_000_000  # bytes; an addition warns above this size


MOST_BYTES = 10_000_000  # bytes; the default limit, `max_payload` of `schedule.create`


_REMEDY = "Store the data elsewhere, and pass its key"


def check_size(data: Sized, *, fn: str, most: int | None, given: Any = None) -> None:
    """Refuse a job of more than `most` bytes; None: it was checked before. Warns (WorkkitWarning) above 1 MB. `given`:
    the arguments of the job, for the error. Raises InvalidArguments.
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


_PASSED = frozenset({__name__.partition(".")[0], "asyncio", "concurrent", "threading"})


class CallingLine(NamedTuple):
    """A line of a program, as `warnings.warn_explicit` takes it."""

    filename: str
    lineno: int
    module: str
    registry: dict[Any, Any]


CALLER: ContextVar[CallingLine | None] = ContextVar("workkit_caller", default=None)
"""The line that awaits a verb of `workkit.aio`, for the thread that carries it out."""


def calling_line() -> CallingLine | None:
    """Return the nearest line outside workkit and the threads and event loops of Python; None if there is none."""
    frame: FrameType | None = sys._getframe()
    while frame is not None:
        module = frame.f_globals.get("__name__", "")
        if module.partition(".")[0] not in _PASSED:
            registry = frame.f_globals.setdefault("__warningregistry__", {})
            return CallingLine(frame.f_code.co_filename, frame.f_lineno, module, registry)
        frame = frame.f_back
    return None


def warn_caller(message: str, category: type[Warning] = WorkkitWarning) -> None:
    """Issue a warning at the nearest line outside workkit; of a verb of `workkit.aio`, at the line that awaits it. A
    DeprecationWarning names the new form, and the version that removes the old form (docs/versions.md).
    """
    line = calling_line() or CALLER.get()
    if line is None:
        warnings.warn(message, category, stacklevel=2)
    else:
        warnings.warn_explicit(message, category, *line)


_BYTES = 20  # of a usual id, which is written as 40 hex digits


_USUAL = frozenset({2 * _BYTES})


class Ids(Sequence[str]):
    """The ids of jobs in the order of their rows, 20 bytes each. An id becomes text when a caller reads it."""

    def __init__(self) -> None:
        self._packed = bytearray()
        self._texts: list[str] | None = None  # of a layout with other ids

    def extend(self, ids: Sequence[str]) -> None:
        """Append ids."""
        if self._texts is None:
            joined = "".join(ids)
            try:
                packed = bytes.fromhex(joined)
            except ValueError:
                packed = b""
            if packed.hex() == joined and _USUAL.issuperset(map(len, ids)):
                self._packed += packed
                return
            self._texts = list(self)
        self._texts += ids

    def __len__(self) -> int:
        return len(self._packed) // _BYTES if self._texts is None else len(self._texts)

    @overload
    def __getitem__(self, row: int) -> str: ...
    @overload
    def __getitem__(self, row: slice) -> Sequence[str]: ...
    def __getitem__(self, row: int | slice) -> str | Sequence[str]:
        if isinstance(row, slice):
            return [self[one] for one in range(*row.indices(len(self)))]
        if self._texts is not None:
            return self._texts[row]
        start = range(len(self))[row] * _BYTES
        return self._packed[start : start + _BYTES].hex()

    __repr__ = brief_repr


@dataclass(frozen=True, slots=True, kw_only=True)
class Tally:
    """The counts of a verb: jobs that were new or known already; runs that succeeded, failed for good, or failed and
    are tried again (`retried`, also if the handler asked for it); jobs that the listener released. `retrying`: jobs of
    its schedules that wait for another attempt when a burst has ended. `unstored`: endings that no server has confirmed
    before the listener ended; these jobs run again. `ids`: of `add_many`, the id of the job of each row, from 0: the id
    of the new job, or of the existing one.
    """

    new: int = 0
    known: int = 0
    ran: int = 0
    failed: int = 0
    retried: int = 0
    given_back: int = 0
    retrying: int = 0
    unstored: int = 0
    ids: Sequence[str] = field(default=(), compare=False, repr=False)

    __repr__ = brief_repr
