"""The last checkup of a schedule: begun when somebody looks, shown while it runs, kept for ten minutes."""

from __future__ import annotations

import hashlib
import time
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from datetime import timedelta
from threading import Condition, Thread
from typing import Final

from workkit.contract.broker import Doctor
from workkit.contract.doctor import Finding
from workkit.errors import WorkkitError
from workkit.triggers.english.numbers import duration

FRESH_S: Final = 600.0
"""For this time a checkup is not repeated."""

GLANCE_S: Final = 0.5
"""How long from its beginning pages wait for the end of a checkup. Most end by then. A later viewer gets at once the
findings so far.
"""

STAYS_S: Final = 5.0
"""A viewer who looks again after this time has the page open, and did not look only once."""

MOST: Final = 5_000


@dataclass(frozen=True, slots=True, kw_only=True)
class Checked:
    """What a checkup has found so far. `age_s`: how long ago it ended; None: it runs. `error`: why it ended early.
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

    `doctor` opens what checks; `patience`: see `workkit.brokers.layout.Layout.patience`. `stays_s`: see `STAYS_S`.
    """

    doctor: Callable[[], Doctor]
    patience: str
    stays_s: float = STAYS_S
    _course: _Course | None = None
    _glanced: float | None = None  # when somebody began to look who begins no checkup at once
    _changed: Condition = field(default_factory=Condition)

    def look(self, patience: str | None = None) -> Checked:
        """Return the findings. Where they are ten minutes old, or of another patience, a checkup begins.
        Raises TriggerError where the patience is no duration.
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
        """Return the findings, and begin nothing; None: nobody has looked yet."""
        with self._changed:
            return None if self._course is None else self._told()

    def glance(self) -> Checked | None:
        """Return the findings as `known` does, and wait for nothing. Where they are ten minutes old, a checkup begins
        for a viewer who looked a while ago, and looks again.
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
        """Take out a fault that is repaired, or over."""
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
                    if len(course.findings) >= MOST or course is not self._course:
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
    """Make the name of a fault, by which a form chooses it."""
    text = "\0".join((finding.kind, finding.schedule, finding.what, *finding.about))
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()[:16]


def _age(course: _Course) -> float:
    return 0.0 if course.ended is None else time.monotonic() - course.ended
