"""A job as a value, its states, and its call as a text. Pure: uses no wire, no server and no thread."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, fields, replace
from datetime import datetime, timedelta
from hashlib import sha1
from importlib import import_module
from typing import TYPE_CHECKING, Any, Final, Generic, Literal

from workkit import triggers
from workkit.errors import InvalidOptions
from workkit.jobs.names import read_name, shown
from workkit.jobs.outcome import Failure
from workkit.jobs.run_options import UNSAID, RunOptions
from workkit.jobs.terms import PLAIN, Terms
from workkit.text.cells import brief_repr, shorten
from workkit.text.wording import distance, instant_text, printable

if TYPE_CHECKING:
    from typing_extensions import TypeVar

    R_co = TypeVar("R_co", covariant=True, default=Any)
else:
    from typing import TypeVar

    R_co = TypeVar("R_co", covariant=True)

JobState = Literal["waiting", "due", "running", "cancelling", "retrying", "held", "paused", "dead", "done"]
STATES: tuple[JobState, ...] = ("waiting", "due", "running", "cancelling", "retrying", "held", "paused", "dead")
"""The states of a job in a schedule. `done` is the state of an ended job, as long as the history has it."""

SHORTEST_ID: Final = 6
"""The least number of characters of an id that name a job."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Job(Generic[R_co]):
    """One job of a schedule, in its state when it was read or added. ``Job[Report]``: a job with a result of that type.

    `id` is the SHA-1 of the stored payload (40 hex digits). `fn` is the name as stored (``#'pkg.mod/func``). `due` is
    the time of the next run or, while running, of this run (aware UTC). `attempt` is the current or next attempt,
    counted from 0 (the command line and logs count attempts that have begun); -1 for a dead job that never started.
    `new` is False if `add` found the same job already there.
    `error` is the last error as one line; `failure` is the whole record of it. `options` are the run options of this
    job; `terms` are its other options. `replaced` is the id of the job that `add` replaced by this one, and `dropped`
    names the keywords which that job had and this one lacks. `why` is the reason why a held or paused job waits (a
    rate holds it until about `due`, when its turn comes). `dead_id` names its record in the dead set, if it is there.
    `queue` is the work queue of a message, in the layouts of RabbitMQ. There `why` is the reason of a dead job:
    "failed", "crashed" or "corrupt". `ending` tells how a `done` job ended (spec/history.md), and of an addition under
    a `once_key` how the first job of that key ended. `args_kept` is False for an ended job if the history has not kept
    its arguments. `meta`: its metadata, texts by name. `followed_by`: the id of the job that its failure has added
    (`on_failure`). `source`: the Schedule that added it or found it by its id, which the methods use; None for a job of
    a listing.
    """

    id: str
    schedule: str
    fn: str
    args: tuple[Any, ...] = ()
    kwargs: dict[str, Any] | None = None
    trigger: triggers.Trigger | None = None
    due: datetime | None = None
    state: JobState = "waiting"
    name: str | None = None
    attempt: int = 0
    error: str | None = None
    failure: Failure | None = field(default=None, repr=False)
    new: bool = False
    options: RunOptions = UNSAID
    terms: Terms = PLAIN
    replaced: str | None = None
    dropped: tuple[str, ...] = ()
    dead_id: str | None = None
    progress: tuple[float, float] | str | None = None
    why: str | None = None
    queue: str | None = None
    ending: str | None = None
    meta: dict[str, str] | None = None
    args_kept: bool = True
    followed_by: str | None = None
    source: Any = field(default=None, repr=False, compare=False)

    __repr__ = brief_repr

    def __getstate__(self) -> list[Any]:
        """Leave the schedule behind if it holds a client, which no pickle can carry."""
        stays = not isinstance(getattr(self.source, "redis", None), str | None)
        return [None if stays and one.name == "source" else getattr(self, one.name) for one in fields(self)]

    def __str__(self) -> str:
        """Write its id, its call, and when it runs: ``5c0d41ab  app.mail.send("a@b.c")  at once``."""
        return "  ".join(part for part in (self.short_id, call_text(self), when_text(self)) if part)

    def result(self, wait: str | timedelta | None = "30s") -> R_co:
        """Return the result of this job, as `schedule.result` does, in the type that its function is annotated with.
        Raises as that verb; InvalidArguments where the stored value does not fit the type.
        """
        found: R_co = self._built(above("schedule").result(self._schedule(), self, wait=wait))
        return found

    async def aresult(self, wait: str | timedelta | None = "30s") -> R_co:
        """Return the result of this job, as `result` does. Does not block the event loop."""
        found: R_co = self._built(await above("aio").result(self._schedule(), self, wait=wait))
        return found

    def cancel(self, *, by: str | None = None) -> Job[R_co]:
        """Cancel this job, as `schedule.cancel` does. Returns it as it is then."""
        return replace(above("schedule").cancel(self._schedule(), self, by=by), source=self.source)

    async def acancel(self, *, by: str | None = None) -> Job[R_co]:
        """Cancel this job, as `cancel` does."""
        return replace(await above("aio").cancel(self._schedule(), self, by=by), source=self.source)

    def refresh(self) -> Job[R_co]:
        """Return this job as it is now, as `schedule.job` does. Raises NotFound."""
        found: Job[R_co] = above("schedule").job(self._schedule(), self)
        return found

    async def arefresh(self) -> Job[R_co]:
        """Return this job as it is now, as `refresh` does."""
        found: Job[R_co] = await above("aio").job(self._schedule(), self)
        return found

    def _schedule(self) -> Any:
        if self.source is None:
            trouble = "was read from a listing, and does not know its Schedule"
            remedy = "Write schedule.job(s, job) first, or use the verb: schedule.result(s, job)."
            raise InvalidOptions.about(f"job {self.short_id}", trouble, remedy, where="s", given=self.id)
        return self.source

    def _built(self, value: Any) -> Any:
        from workkit.jobs.marks import imported
        from workkit.jobs.structured import result_reader

        fn = imported(self.fn)
        read = None if fn is None else result_reader(fn)
        return value if read is None else read(value, "result")

    @property
    def short_id(self) -> str:
        """The id as lists show it and as commands take it: its first 8 characters. Ids with a colon, as Go's periodic
        jobs have, often begin alike; for them it is the beginning of the SHA-1 of the id.
        """
        if ":" not in self.id:
            return self.id[:8]
        return sha1(self.id.encode("utf-8", "surrogatepass"), usedforsecurity=False).hexdigest()[:8]

    @property
    def tags(self) -> tuple[str, ...]:
        """Its tags, in the order in which they were given."""
        return self.terms.tags or ()

    @property
    def batch(self) -> str | None:
        """The name of the batch that it belongs to."""
        return self.terms.batch

    @property
    def after(self) -> str | None:
        """The mark of the jobs that it was added `after`: 16 hex digits, equal for the same jobs. None: of no jobs."""
        return self.terms.after

    @property
    def recurs(self) -> bool:
        """Whether it runs more than once, as far as its trigger is known."""
        return self.trigger is not None and self.trigger.recurs


def above(room: str) -> Any:
    """Import a module of workkit from a floor above this one. Methods of a job, a function or a schedule call the verbs
    there; the verbs know these values, so the values find them only when a method is called.
    """
    return import_module(f"workkit.{room}")


def when_text(job: Job, *, now: datetime | None = None) -> str:
    """Write when a job runs: at once; once, as an instant in its zone and in UTC; or the words and the next instant.
    With `now`, also how far off that is.
    """
    from workkit.triggers import explain
    from workkit.triggers.zone import zone

    trigger = job.trigger
    if trigger is None or job.due is None:
        return "at once" if trigger is None else explain(trigger)
    at = instant_text(job.due, zone(trigger.tz))
    at = at if now is None else f"{at}, {distance(job.due, now, 3)}"
    return f"{explain(trigger)}, next {at}" if trigger.recurs else f"once, {at}"


def argument_text(value: object) -> str:
    """Write an argument as JSON; write a value that JSON lacks as its text."""
    return json.dumps(value, ensure_ascii=False, default=str)


NOT_KEPT = "not kept"


def argument_texts(job: Job) -> list[str]:
    """Write its arguments as JSON, one by one; those with a name as ``name=value``."""
    return call_texts(job.args, job.kwargs)


def arguments_text(job: Job) -> str:
    """Write all its arguments, "none", or "not kept" where history has not kept them."""
    return ", ".join(argument_texts(job)) or "none" if job.args_kept else NOT_KEPT


def call_texts(args: Sequence[Any], kwargs: Mapping[str, Any] | None) -> list[str]:
    """Write the arguments of a call, one by one."""
    return [*map(argument_text, args), *_keywords(kwargs)]


def _keywords(kwargs: Mapping[str, Any] | None) -> list[str]:
    return [f"{name}={argument_text(value)}" for name, value in (kwargs or {}).items()]


def searched_text(job: Job) -> str:
    """Write the searched parts of a job: its function, arguments, name and error."""
    named = ", ".join(_keywords(job.kwargs))
    return f"{shown(job.fn)} {list(job.args)} {named} {job.name or ''} {job.error or ''}"


LONGEST_CALL = 200  # columns of a call in a line or a table


def call_text(job: Job, *, args: bool = True, most: int | None = LONGEST_CALL) -> str:
    """Write a job as its call: ``app.users.activate("tracy@domain.com")``. Arguments that are left out (`args` False)
    or not kept become ``...``. `most` limits the columns, as an argument may have a million characters; None: no limit.
    """
    given = argument_texts(job)
    inside = ", ".join(given) if (args or not given) and job.args_kept else "..."
    call = f"{shown(job.fn)}({inside})"
    return printable(call) if most is None else shorten(printable(call[: most + 1]), most)


def spoken(fn: str) -> str:
    """Write a stored name as a user types it: ``app.users:activate``. A name that is not Python's stays unchanged."""
    name = read_name(fn)
    return str(name) if name is not None and name.is_python else fn
