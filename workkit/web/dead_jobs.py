"""The index of dead jobs in the web process: masked and shortened, grouped by the error that killed them.

The index is read once, in the background where there are many dead jobs, then updated whenever a page asks. While no
page asks, nothing is sent to the server. Thread-safe.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from functools import cached_property
from hashlib import sha1
from itertools import islice
from threading import Lock, Thread
from typing import Any, Final
from urllib.parse import quote

from workkit.contract.broker import Inspector
from workkit.contract.history import PastRun
from workkit.contract.inspector import Graves
from workkit.contract.optional import ByTime
from workkit.contract.record import MOST_IDS, error_record
from workkit.errors import Unsupported, WorkkitError
from workkit.jobs.fingerprint import Fingerprint, print_of
from workkit.jobs.job import Job, argument_text
from workkit.jobs.names import shown
from workkit.text.cells import brief_repr
from workkit.text.wording import epoch_ms
from workkit.web.mask import Veil
from workkit.web.words import job_path

LONGEST_VALUE, LONGEST_ARGS, LONGEST_ERROR, LONGEST_NAME = 300, 2000, 1000, 200  # in characters
MOST_VALUES: Final = 50
FAILED: Final = ("retried", "dead")  # endings of failed runs
NEAR_MS: Final = 60_000  # ms; most between the end of a run (listener's clock) and the death of its job
LONGEST_KEY: Final = 120


@dataclass(frozen=True, slots=True, kw_only=True)
class DeadJob:
    """A dead job. `key` names its record in addresses and forms; `dead_id` names it on the server. `print`: the
    fingerprint of its error before masking; `is_whole`: no argument was shortened.
    """

    key: str
    dead_id: str
    died_ms: int
    print: str
    job: Job
    is_whole: bool

    __repr__ = brief_repr

    @property
    def died(self) -> datetime:
        """When it died."""
        return datetime.fromtimestamp(self.died_ms / 1000, UTC)

    @property
    def path(self) -> str:
        """The page of this record, which shows its traceback."""
        return f"{job_path(self.job.id)}?dead={quote(self.key, safe='@:')}"


def dead_job_of(job: Job, veil: Veil) -> DeadJob:
    """Return a dead job in the form that may be shown."""
    dead_id = job.dead_id or job.id
    failed = job.failure
    if failed is not None and failed.traceback:  # masking a traceback takes most of the time
        job = replace(job, failure=replace(failed, traceback=""))
    seen = veil.job(job)
    args, kwargs = seen.args, seen.kwargs
    is_whole = _is_short(args, kwargs)
    if not is_whole:
        args = tuple(_cut(value) for value in args[:MOST_VALUES])
        kwargs = {name[:LONGEST_NAME]: _cut(value) for name, value in [*(kwargs or {}).items()][:MOST_VALUES]} or None
        if not _is_short(args, kwargs):
            args, kwargs = (_text((args, kwargs))[:LONGEST_ARGS] + "…",), None
    failure = seen.failure
    if failure is not None:
        failure = replace(
            failure,
            type=failure.type[:LONGEST_NAME],
            message=_shorter(failure.message, LONGEST_ERROR),
            where=None if failure.where is None else failure.where[:LONGEST_NAME],
        )
    error = None if seen.error is None else _shorter(seen.error, LONGEST_ERROR)
    slim = replace(
        seen, args=args, kwargs=kwargs, failure=failure, error=error, fn=seen.fn[:LONGEST_NAME],
        name=None if seen.name is None else seen.name[:LONGEST_NAME], dead_id=dead_id,
    )  # fmt: skip
    died_ms = 0 if job.due is None else epoch_ms(job.due)
    return DeadJob(
        key=key_of(dead_id), dead_id=dead_id, died_ms=died_ms, print=print_of(job).print, job=slim, is_whole=is_whole
    )


def key_of(dead_id: str) -> str:
    """Return the key of a record for addresses. Where the dead id is the whole record, as in gocraft, the key is a
    hash.
    """
    if len(dead_id) <= LONGEST_KEY and dead_id.isascii() and dead_id.isprintable():
        return dead_id
    return sha1(dead_id.encode("utf-8", "surrogatepass"), usedforsecurity=False).hexdigest()


def _is_short(args: Sequence[Any], kwargs: Mapping[str, Any] | None) -> bool:
    return len(_text((args, kwargs))) <= LONGEST_ARGS


def _cut(value: Any) -> Any:
    if isinstance(value, str):
        return _shorter(value, LONGEST_VALUE)
    if isinstance(value, int | float | bool) or value is None:
        return value
    text = _text(value)
    return value if len(text) <= LONGEST_VALUE else text[:LONGEST_VALUE] + "…"


def _shorter(text: str, most: int) -> str:
    return text if len(text) <= most else text[:most] + "…"


def _text(value: Any) -> str:
    try:
        return argument_text(value)
    except (ValueError, RecursionError):
        return repr(value)


@dataclass(frozen=True, kw_only=True)
class ErrorGroup:
    """One error and the jobs that died of it, the last one first. `error` is masked, and built from its `parts`;
    `print` is the fingerprint before masking.
    """

    print: str
    error: Fingerprint
    dead_jobs: tuple[DeadJob, ...]

    @property
    def n(self) -> int:
        """How many jobs died of it."""
        return len(self.dead_jobs)

    @cached_property
    def fns(self) -> list[str]:
        """The functions that raised it, the last one first."""
        return list(dict.fromkeys(shown(dead_job.job.fn) for dead_job in self.dead_jobs))

    @cached_property
    def died(self) -> list[datetime]:
        """The times at which they died, the last one first."""
        return [dead_job.job.due for dead_job in self.dead_jobs if dead_job.job.due is not None]

    @cached_property
    def upto(self) -> int:
        """When the last one died, in epoch ms. An act concerns only jobs up to here, which the user has seen."""
        return max((dead_job.died_ms for dead_job in self.dead_jobs), default=0)

    def record(self) -> dict[str, Any]:
        """Return the record that `dead --by error --json` prints."""
        died = self.died
        return error_record(
            self.print,
            self.error,
            jobs=self.n,
            fns=self.fns,
            first=died[-1] if died else None,
            last=died[0] if died else None,
            ids=[dead_job.job.id for dead_job in self.dead_jobs[:MOST_IDS]],
        )


def by_error(dead_jobs: Iterable[DeadJob]) -> list[ErrorGroup]:
    """Group dead jobs (the last one first) by their error, the largest group first."""
    found: dict[str, list[DeadJob]] = {}
    for dead_job in dead_jobs:
        found.setdefault(dead_job.print, []).append(dead_job)
    groups = [
        ErrorGroup(print=print_, error=print_of(same[0].job), dead_jobs=tuple(same)) for print_, same in found.items()
    ]
    return sorted(groups, key=lambda group: -group.n)


MOST_KEPT: Final = 20_000
"""Most jobs in the index; the last ones stay."""

PAGE_SIZE: Final = 500
AT_ONCE: Final = 2  # pages read while a request waits; further pages are read in the background
AGAIN_S: Final = 30.0  # s; shortest time between two complete readings
LOOK_S: Final = 1.0  # s; shortest time between two checks which jobs are still dead


@dataclass(frozen=True, kw_only=True)
class KnownDead:
    """The present content of the index. `dead_jobs`: the last one first; `of`: how many there were at the last look;
    `is_all`: all of them were read; `most`, `kept_ms`: see `Graves`.
    """

    dead_jobs: tuple[DeadJob, ...]
    of: int
    is_all: bool
    most: int | None = None
    kept_ms: int | None = None
    trouble: str = ""

    @cached_property
    def groups(self) -> list[ErrorGroup]:
        """All dead jobs, grouped by their error."""
        return by_error(self.dead_jobs)

    @cached_property
    def _by_job(self) -> Mapping[str, list[DeadJob]]:
        found: dict[str, list[DeadJob]] = {}
        for dead_job in self.dead_jobs:
            for which in {dead_job.job.id, dead_job.job.name or dead_job.job.id}:
                found.setdefault(which, []).append(dead_job)
        return found

    def of_job(self, which: str) -> Sequence[DeadJob]:
        """Return the records of a job, by its name or its id; the last one first."""
        return self._by_job.get(which, ())

    def traceback_path(self, run: PastRun, which: str, *, retrying: int = 0) -> str:
        """Return the path of the page with the traceback of a failed run of the job `which`. It is the dead record; or
        the job, where its attempt number `retrying` comes next; else the page of the run, or "".
        """
        if run.ending not in FAILED:
            return ""
        ended_ms = epoch_ms(run.ended)
        near = [one for one in self.of_job(which) if abs(one.died_ms - ended_ms) <= NEAR_MS]
        if run.ending == "dead" and near:
            return min(near, key=lambda one: abs(one.died_ms - ended_ms)).path
        if run.ending == "retried" and run.attempt + 1 == retrying:
            return job_path(which)
        return f"runs/{run.place}" if run.place else ""


class DeadIndex:
    """The dead jobs of one schedule, masked by one veil. `by_time` returns the reader of their pages, or raises
    Unsupported.
    """

    def __init__(self, veil: Veil, by_time: Callable[[], ByTime]) -> None:
        self._veil, self._by_time = veil, by_time
        self._lock = Lock()  # guards the values
        self._reading = Lock()  # one reader at a time
        self._dead_jobs: dict[str, DeadJob] = {}
        self._after = ""
        self._page: Graves | None = None
        self._is_all = False
        self._of = 0
        self._looked = self._began = -AGAIN_S
        self._trouble = ""
        self._known: KnownDead | None = None  # cached until something changes

    def look(self, inspector: Inspector, *, count: int, reads_whole: bool = True) -> KnownDead:
        """Update the index as far as that is quick, and return its content. `count`: the number of dead jobs in the
        pulse; `reads_whole`: update it even where that means reading all of them. Raises ServerUnreachable,
        ServerRefused.
        """
        with self._lock:
            self._of = count
        if self._reading.acquire(blocking=False):
            is_passed_on = False
            try:
                is_passed_on = self._refresh(inspector, count, reads_whole=reads_whole)
            finally:
                if not is_passed_on:
                    self._reading.release()
        with self._lock:
            page, known = self._page, self._known
            dead_jobs = known.dead_jobs if known is not None else self._sorted()
            found = KnownDead(
                dead_jobs=dead_jobs,
                of=max(self._of, len(dead_jobs)),
                is_all=self._is_all,
                most=page.most if page else None,
                kept_ms=page.kept_ms if page else None,
                trouble=self._trouble,
            )
            if known is None or known != found:
                self._known = known = found
            return known

    def _sorted(self) -> tuple[DeadJob, ...]:
        return tuple(sorted(self._dead_jobs.values(), key=lambda dead_job: -dead_job.died_ms))

    def left(self, dead_ids: Collection[str]) -> None:
        """Remove jobs that are no longer dead."""
        with self._lock:
            self._known = None
            for dead_id in dead_ids:
                self._dead_jobs.pop(dead_id, None)

    def of_key(self, key: str) -> DeadJob | None:
        """Return the dead job with a key."""
        with self._lock:
            found = self._dead_jobs.get(key)
            return found or next((dead_job for dead_job in self._dead_jobs.values() if dead_job.key == key), None)

    def _refresh(self, inspector: Inspector, count: int, *, reads_whole: bool) -> bool:
        """Read new records, and remove old ones. Return True where a thread continues and ends the reading."""
        try:
            by_time = self._by_time()
        except Unsupported:
            if reads_whole:
                self._read_whole(inspector, count)
            return False
        for _ in range(AT_ONCE):
            if self._read(by_time):
                break
        else:
            Thread(target=self._read_on, args=(by_time,), name="workkit-web-dead", daemon=True).start()
            return True
        self._compare(by_time, count)
        return False

    def _read(self, by_time: ByTime) -> bool:
        """Read one page. Return True after the last page."""
        is_at_end = self._page is not None and self._page.is_last and self._after
        page = by_time.graves(after=self._after, limit=PAGE_SIZE, is_known=self._is_known if is_at_end else None)
        dead_jobs = [dead_job_of(job, self._veil) for job in page.jobs]
        with self._lock:
            if any(self._dead_jobs.get(dead_job.dead_id) != dead_job for dead_job in dead_jobs):
                self._known = None
            for dead_job in dead_jobs:
                self._dead_jobs.pop(dead_job.dead_id, None)  # a job that died again moves to the end
                self._dead_jobs[dead_job.dead_id] = dead_job
            for dead_id in [*islice(self._dead_jobs, max(0, len(self._dead_jobs) - MOST_KEPT))]:
                del self._dead_jobs[dead_id]
            self._page = page
            self._after = page.again if page.is_last else page.after
            self._is_all = self._is_all or page.is_last
            self._trouble = ""
        return page.is_last

    def _is_known(self, dead_id: str, died_ms: int) -> bool:
        found = self._dead_jobs.get(dead_id)
        return found is not None and found.died_ms == died_ms

    def _read_on(self, by_time: ByTime) -> None:
        try:
            while not self._read(by_time):
                pass
        except WorkkitError as error:  # the next page that asks continues from here
            with self._lock:
                self._trouble = str(error)
        finally:
            self._reading.release()

    def _compare(self, by_time: ByTime, count: int) -> None:
        """Compare the number with the server's. Remove jobs that have left; read all again where some are missing."""
        now = time.monotonic()
        if len(self._dead_jobs) == min(count, MOST_KEPT) and count <= MOST_KEPT:
            return
        if now - self._looked >= LOOK_S or len(self._dead_jobs) <= PAGE_SIZE:  # small numbers are checked each time
            self._looked = now
            with self._lock:
                known = list(self._dead_jobs.values())
            stand = by_time.still_dead([dead_job.job for dead_job in known]) if known else []
            self.left([dead_job.dead_id for dead_job, stands in zip(known, stand, strict=True) if not stands])
        if len(self._dead_jobs) < min(count, MOST_KEPT) and now - self._began >= AGAIN_S:
            self._began = now
            with self._lock:
                self._after = ""

    def _read_whole(self, inspector: Inspector, count: int) -> None:
        """Read a whole dead set that has no places, where its number has changed."""
        if self._is_all and len(self._dead_jobs) == min(count, MOST_KEPT):
            return
        if time.monotonic() - self._looked < LOOK_S:
            return
        self._looked = time.monotonic()
        dead_jobs = [dead_job_of(job, self._veil) for job in islice(inspector.jobs(state="dead"), MOST_KEPT)]
        with self._lock:
            self._dead_jobs, self._known = {dead_job.dead_id: dead_job for dead_job in dead_jobs}, None
            self._is_all, self._trouble = True, ""
