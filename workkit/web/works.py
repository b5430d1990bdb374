"""Work of threads beside the requests: the last checkup of a schedule, which starts when a user looks and is kept for
ten minutes; the counts of its rail; and works that an act has begun.

A work has a thread only while it has something to do. If the process ends, the rest of the work stays undone; no more
is promised. Any page reads the progress from the values.
"""

from __future__ import annotations

import hashlib
import math
import secrets
import time
from collections.abc import Callable, Mapping
from contextvars import copy_context
from dataclasses import dataclass, field, replace
from datetime import timedelta
from math import ceil
from threading import Condition, Event, Lock, Thread
from typing import Final, Literal

from workkit.contract.broker import Doctor
from workkit.contract.doctor import Finding
from workkit.contract.inspector import LimitUse
from workkit.errors import InvalidOptions, Unsupported, WorkkitError
from workkit.triggers.english.numbers import duration

FRESH_S: Final = 600.0
"""Shortest time between two checkups, in s."""

GLANCE_S: Final = 0.5
"""How long pages wait for the end of a checkup from its beginning, in s. Most checkups end within it. A later viewer
gets the findings so far at once.
"""

OPEN_S: Final = 5.0
"""A viewer who looks again after this time (s) has the page open, and did not just visit it."""

MOST_FINDINGS: Final = 5_000


@dataclass(frozen=True, slots=True, kw_only=True)
class Checked:
    """The findings of a checkup so far. `age_s`: how long ago it ended; None: it runs. `error`: why it ended early.
    `patience`: after how long a job that waits nowhere is a fault.
    """

    patience: str
    findings: tuple[Finding, ...] = ()
    age_s: float | None = None
    error: str = ""


@dataclass(slots=True, eq=False)
class _Course:
    """A checkup that was begun."""

    patience: str
    began: float
    findings: list[Finding] = field(default_factory=list)
    ended: float | None = None
    error: str = ""


@dataclass(slots=True, eq=False, kw_only=True)
class Checkup:
    """Checkups of one schedule, one at a time, each in a thread of its own. Thread-safe.

    `doctor` opens the doctor; `patience`: see `workkit.brokers.layout.Layout.patience`. `stays_s`: see `OPEN_S`.
    """

    doctor: Callable[[], Doctor]
    patience: str
    stays_s: float = OPEN_S
    _course: _Course | None = None
    _glanced: float | None = None  # start of the visit of a viewer who starts no checkup at once
    _changed: Condition = field(default_factory=Condition)

    def look(self, patience: str | None = None) -> Checked:
        """Return the findings. If they are ten minutes old, or have another patience, a checkup begins. Raises
        TriggerError where the patience is no duration.
        """
        with self._changed:
            course = self._course
            chosen = patience or (course.patience if course is not None else self.patience)
            if course is None or course.patience != chosen or _age(course) > FRESH_S:
                course = self._begin(chosen)
            rest = course.began + GLANCE_S - time.monotonic()
            if rest > 0:
                self._changed.wait_for(self._is_over, timeout=rest)
            return self._told()

    def again(self) -> None:
        """Begin a checkup, unless one runs."""
        with self._changed:
            course = self._course
            if course is None or course.ended is not None:
                self._begin(self.patience if course is None else course.patience)

    def known(self) -> Checked | None:
        """Return the findings without a new checkup; None: there was none yet."""
        with self._changed:
            return None if self._course is None else self._told()

    def glance(self) -> Checked | None:
        """Return the findings as `known` does, without waiting. If they are ten minutes old, a checkup begins for a
        viewer who looked a while ago and looks again.
        """
        with self._changed:
            known = None if self._course is None else self._told()
            if self._course is None or _age(self._course) > FRESH_S:
                now = time.monotonic()
                if self._glanced is None or now - self._glanced > FRESH_S:
                    self._glanced = now
                elif now - self._glanced >= self.stays_s:
                    self._glanced = None
                    self._begin(self.patience if self._course is None else self._course.patience)
            return known

    def finding(self, digest: str) -> Finding | None:
        """Find a fault by its digest."""
        with self._changed:
            found = self._course.findings if self._course is not None else []
            return next((one for one in found if digest_of(one) == digest), None)

    def forget(self, finding: Finding) -> None:
        """Remove a fault that is repaired, or over."""
        with self._changed:
            if self._course is not None and finding in self._course.findings:
                self._course.findings.remove(finding)

    def _begin(self, patience: str) -> _Course:
        ms = round(duration(patience, name="older_than") / timedelta(milliseconds=1))
        self._course = course = _Course(patience, began=time.monotonic())
        Thread(target=self._examine, args=(course, ms), name="workkit-web-doctor", daemon=True).start()
        return course

    def _examine(self, course: _Course, patience_ms: int) -> None:
        error = "The checkup has failed."
        try:
            for finding in self.doctor().checkup(patience_ms=patience_ms):
                with self._changed:
                    course.findings.append(finding)
                    if len(course.findings) >= MOST_FINDINGS or course is not self._course:
                        break
            error = ""
        except WorkkitError as trouble:
            error = str(trouble)
        finally:
            with self._changed:
                course.error, course.ended = error, time.monotonic()
                self._changed.notify_all()

    def _is_over(self) -> bool:
        return self._course is not None and self._course.ended is not None

    def _told(self) -> Checked:
        course = self._course
        assert course is not None, "it was begun"
        told = Checked(patience=course.patience, findings=tuple(course.findings), error=course.error)
        return told if course.ended is None else replace(told, age_s=_age(course))


def digest_of(finding: Finding) -> str:
    """Return the digest of a fault, by which a form names it."""
    text = "\0".join((finding.kind, finding.schedule, finding.what, *finding.about))
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()[:16]


def _age(course: _Course) -> float:
    return 0.0 if course.ended is None else time.monotonic() - course.ended


MOST_AT_ONCE: Final = 20
SHOWN_S: Final = 60.0
"""How long pages show an ended work to all users, in s."""

KEPT_S: Final = 600.0
"""How long an ended work is kept for the user who started it, in s."""

Kind = Literal["retry", "discard", "try", "all"]
Fate = Literal["going", "failing", "ran", "failed", "over"]
"""The state of the job that was tried first."""


@dataclass(slots=True, eq=False, kw_only=True)
class Work:
    """One work. `total`: its number of jobs; `print`: the fingerprint of the error that killed them, if there is one;
    `said`: its result as a sentence.
    """

    schedule: str
    kind: Kind
    total: int
    words: tuple[str, str] = ("", "")  # the work as words, in progress and done, where `kind` has none
    print: str = ""
    pace: str = ""
    per_ms: float = 0.0
    id: str = field(default_factory=lambda: secrets.token_hex(8))
    given: int = 0  # jobs put back or discarded
    refused: int = 0
    trouble: str = ""
    said: str = ""
    fate: Fate = "going"
    began: float = field(default_factory=time.monotonic)
    portion: tuple[float, int] = (0.0, 0)  # the last portion: its time (monotonic), its number of jobs
    ended: float | None = None
    job_id: str = ""  # id of the tried job
    job: str = ""  # name of the tried job
    begun_ms: int = 0  # when it was put back, by the server's clock
    gone_ms: int = 0  # when the job was first seen finished, by the same clock
    is_stopped: bool = False
    held_s: float = 0.0  # s; how long the work waits before it begins
    stop: Event = field(default_factory=Event)

    @property
    def is_over(self) -> bool:
        """Whether the work has ended."""
        return self.ended is not None

    @property
    def done(self) -> int:
        """How many jobs have begun by now. Of the last portion, only those that are due count."""
        at, count = self.portion
        if not self.per_ms or not count:
            return self.given
        turns = int((time.monotonic() - at) * 1000 / self.per_ms) + 1
        return self.given - count + min(count, turns)

    @property
    def line(self) -> str:
        """Describe in one line its progress or its result."""
        total, done = f"{self.total:,}", f"{self.given:,}"
        if not self.is_over:
            if self.kind == "all":
                return f"{self.words[0]} {total}: {done} done."
            if self.kind == "retry":
                return f"Retrying {total}{f' at {self.pace}' if self.pace else ''}: {self.done:,} done."
            return f"Discarding {total}: {done} done." if self.given else f"Discarding {total} in {self._left_s} s."
        verb = self.words[1] or ("Retried" if self.kind == "retry" else "Discarded")
        left = self.total - self.given - self.refused
        if self.is_stopped and not self.given:
            return f"Left {total} as they are."
        said = f"{verb} {done}" + (f" of {total}" if left or self.refused else "")
        said += f"; {self.refused:,} could not be" if self.refused else ""
        said += f"; {left:,} left as they are" if left else ""
        return f"{said}. {self.trouble}".strip() if self.trouble else f"{said}."

    @property
    def _left_s(self) -> int:
        return max(0, ceil(self.began + self.held_s - time.monotonic()))

    def hold(self, count: int) -> None:
        """Note that a portion of `count` jobs was put back."""
        self.portion = (time.monotonic(), count)

    def wait(self, seconds: float) -> bool:
        """Wait for a time, or until the work is stopped. Return True if it was stopped."""
        return self.stop.wait(seconds)


class Works:
    """All works of a process."""

    def __init__(self) -> None:
        self._lock = Lock()
        self._works: dict[str, Work] = {}
        self._is_closed = False

    def start(self, work: Work, run: Callable[[Work], None]) -> None:
        """Run a work in a thread. Raises InvalidOptions where too many works run."""
        with self._lock:
            self._forget()
            under_way = sum(not one.is_over for one in self._works.values())
            if under_way >= MOST_AT_ONCE or self._is_closed:
                trouble = f"does {under_way:,} things at once already" if not self._is_closed else "is ending"
                raise InvalidOptions.about("this process", trouble, "Wait until one is over, or stop one.")
            self._works[work.id] = work
        here = copy_context()  # keeps the author of the act
        Thread(target=here.run, args=(self._run, work, run), name=f"workkit-web-{work.kind}", daemon=True).start()

    def keep(self, work: Work) -> None:
        """Keep a work that needs no thread."""
        with self._lock:
            self._forget()
            self._works[work.id] = work

    def _run(self, work: Work, run: Callable[[Work], None]) -> None:
        try:
            run(work)
        except WorkkitError as error:
            work.trouble = str(error)
        finally:
            work.is_stopped = work.stop.is_set()
            work.ended = time.monotonic()

    def find(self, id: str) -> Work | None:
        """Return a work by its id."""
        with self._lock:
            return self._works.get(id)

    def of(self, schedule: str) -> tuple[Work, ...]:
        """List the works of a schedule that run or ended a short while ago."""
        with self._lock:
            self._forget()
            return tuple(one for one in self._works.values() if one.schedule == schedule and _is_told(one))

    def close(self) -> None:
        """Stop all works. The rest of each stays undone."""
        with self._lock:
            self._is_closed = True
            for one in self._works.values():
                one.stop.set()

    def _forget(self) -> None:
        now = time.monotonic()
        for id, one in [*self._works.items()]:
            if one.ended is not None and now - one.ended > KEPT_S:
                del self._works[id]


def _is_told(work: Work) -> bool:
    return work.ended is None or work.kind == "try" or time.monotonic() - work.ended <= SHOWN_S


COUNTED_S: Final = 60.0
"""How long a count is kept where no page counts again, in s."""


@dataclass(slots=True, eq=False, kw_only=True)
class Rail:
    """Counts of one schedule. Pages store the counts that they make; a thread makes the others by `counts`, while users
    look. Thread-safe.
    """

    counts: Mapping[str, Callable[[], int]]
    stays_s: float = OPEN_S
    _lock: Lock = field(default_factory=Lock)
    _counts: dict[str, tuple[int, float]] = field(default_factory=dict)  # count, and its time (monotonic)
    _looked: float | None = None  # first look since the last count
    _is_counting: bool = False
    _ended: float = -math.inf  # when a thread last counted

    def note(self, page: str, n: int) -> None:
        """Store a count that a page has made."""
        with self._lock:
            self._counts[page] = (n, time.monotonic())

    def glance(self) -> Mapping[str, int]:
        """Return the known counts, by page, without waiting."""
        with self._lock:
            now = time.monotonic()
            is_old = any(
                now - self._counts[page][1] >= COUNTED_S if page in self._counts else True for page in self.counts
            )
            if is_old and not self._is_counting and now - self._ended >= COUNTED_S:
                if self._looked is None or now - self._looked > COUNTED_S:
                    self._looked = now
                if now - self._looked >= self.stays_s:
                    self._looked, self._is_counting = None, True
                    Thread(target=self._count, name="workkit-web-rail", daemon=True).start()
            return {page: n for page, (n, _) in self._counts.items()}

    def _count(self) -> None:
        try:
            for page, count in self.counts.items():
                try:
                    self.note(page, count())
                except Unsupported:
                    continue
        except WorkkitError:
            pass  # the known counts stay
        finally:
            with self._lock:
                self._is_counting, self._ended = False, time.monotonic()


def in_use(limits: list[LimitUse]) -> int:
    """Count the limits that the page lists: without the keys that allow one run and for which nothing waits."""
    return sum(bool(not use.is_alone or use.waiting) for use in limits)
