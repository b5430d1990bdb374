"""A handler's view of its own run, its reports of progress, and the last lines that the run has logged.

No handler waits for the server to get a report: the loop writes the latest report of a run and its last lines at most
once a second. The lines are kept while it runs and after it failed: spec/history.md 7. `run.py` captures the records of
`logging`, because it knows the current run.
"""

from __future__ import annotations

import json
import logging
import math
from collections import deque
from collections.abc import Callable, Collection, Iterable, Iterator
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from typing import Any, Final, Protocol, cast

from workkit.clocks import time
from workkit.contract.broker import Broker
from workkit.contract.listener import Claim
from workkit.errors import InvalidArguments, InvalidOptions, JobCancelled
from workkit.jobs.job import above
from workkit.jobs.terms import PLAIN, Terms
from workkit.text.cells import brief_repr
from workkit.triggers import Trigger
from workkit.worker.run.interruption import Clock

MOST_LINES: Final = 200
MOST_BYTES: Final = 16_384  # of all lines
LONGEST_LINE: Final = 1_000  # characters
OWN: Final = "workkit"  # its records belong to the listener, not to a handler
_FORMAT: Final = logging.Formatter()


class RunLog:
    """The last lines of one run. The threads of its handler call `add`; only the loop's thread uses the rest. It counts
    the lines that the server has.
    """

    __slots__ = ("_announce", "_lines", "count", "told")

    def __init__(self, announce: Callable[[], None] | None = None) -> None:
        self._announce = announce
        self._lines: deque[str] = deque(maxlen=MOST_LINES)
        self.count = self.told = 0

    def add(self, lines: Iterable[str]) -> None:
        """Keep some lines, and announce them."""
        for line in lines:
            self._lines.append(line)
            self.count += 1
        if self._announce is not None:
            self._announce()

    def text(self) -> str:
        """Write the last lines, as many as fit."""
        kept: list[str] = []
        room = MOST_BYTES
        for line in reversed(list(self._lines)):
            room -= len(line.encode()) + 1
            if room < 0:
                break
            kept.append(line)
        return "\n".join(reversed(kept))

    def news(self) -> list[str]:
        """Take the lines that were added since the last call, as far as they are kept."""
        count = self.count
        new, self.told = min(count - self.told, MOST_LINES), count
        return list(self._lines)[-new:] if new else []


def lines_of(record: logging.LogRecord) -> Iterator[str]:
    """Write a record as lines: its time (UTC), its level, its logger, its message; then its traceback, if it has one.
    The arguments of the record are foreign code, and may raise anything.
    """
    at = datetime.fromtimestamp(record.created, UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")
    text = f"{at} {record.levelname} {record.name}: {record.getMessage()}"
    if record.exc_info and record.exc_info[0] is not None:
        text += "\n" + _FORMAT.formatException(record.exc_info)
    for line in text.splitlines()[-MOST_LINES:]:
        cut = line if len(line) <= LONGEST_LINE else line[: LONGEST_LINE - 1] + "…"
        yield cut.encode("utf-8", "backslashreplace").decode()  # without lone surrogates


Progress = tuple[float, float] | str  # done and total, or the text of a check-in

APART = 1.0  # seconds between two writes for one run, and before the report of an ended run is removed
TOGETHER = 0.05  # seconds between two writes of one schedule, so that many short runs share them


class Reporting(Protocol):
    """The part of a run that this module needs."""

    claim: Claim


class Reports:
    """The latest report of one run, and its log. The threads of its handler call `put` and `announce`; only the loop's
    thread uses the rest.
    """

    __slots__ = ("_announce", "are_news", "keeps_log", "latest", "log", "run", "written_at")

    def __init__(self, run: Reporting, *, announce: Callable[[Reports], None]) -> None:
        self.run = run
        self.latest: Progress | None = None
        self.log: RunLog | None = None
        self.keeps_log = False  # whether the ending of the run has stored its lines
        self.are_news = False  # whether a report or line is announced and not written yet
        self.written_at = -math.inf
        self._announce = announce

    def put(self, progress: Progress) -> None:
        """Keep a report. The first one after each write is announced."""
        self.latest = progress
        self.announce()

    def announce(self) -> None:
        """Announce new reports or lines, once after each write."""
        if not self.are_news:
            self.are_news = True
            self._announce(self)


class ProgressWriter:
    """The writer of reports and logs of the runs of one schedule. Only the loop's thread uses it, except `reports`."""

    def __init__(self, broker: Broker, *, post: Callable[[Callable[[], None]], None]) -> None:
        self.at = math.inf  # when to `write` next, `time.monotonic()` seconds
        self._broker, self._post = broker, post
        self._news: dict[Reports, None] = {}
        self._stored: set[Reports] = set()
        self._written_at = -math.inf

    def reports(self, run: Reporting) -> Reports:
        """Make the reports of this run. Thread-safe."""
        return Reports(run, announce=lambda reports: self._post(lambda: self._announced(reports)))

    def write(self, running: Collection[Reporting]) -> None:
        """Write the reports that are due, and remove those of runs that have ended. Raises ServerUnreachable or
        ServerRefused; then all reports stay here.
        """
        now = time.monotonic()
        over = [reports for reports in self._stored if reports.run not in running]
        news = [reports for reports in self._news if reports.run in running and reports.written_at + APART <= now]
        texts: dict[object, str | None] = {reports.run.claim.receipt: None for reports in over}
        logs = [(reports.run.claim, "") for reports in over if reports.log is not None and not reports.keeps_log]
        counts: list[tuple[RunLog, int]] = []
        for reports in news:
            reports.are_news = False  # before the read: any later report is announced again
            if reports.latest is not None:
                texts[reports.run.claim.receipt] = json.dumps(reports.latest)
            if (log := reports.log) is not None and log.told < log.count:
                counts.append((log, log.count))
                logs.append((reports.run.claim, log.text()))
        if texts or logs:
            self._broker.tell(texts, *([logs] if logs else []))
            self._written_at = now
        self._stored.difference_update(over)
        for log, count in counts:
            log.told = count
        for reports in news:
            reports.written_at = now
            self._stored.add(reports)
        self._news = {found: None for found in self._news if found.run in running and found.written_at != now}
        self.at = now + APART if self._stored else math.inf
        for reports in self._news:
            self._wake(reports)

    def _announced(self, reports: Reports) -> None:
        self._news[reports] = None
        self._wake(reports)

    def _wake(self, reports: Reports) -> None:
        self.at = min(self.at, max(reports.written_at + APART, self._written_at + TOGETHER))


LONGEST_CHECKIN = 1000  # characters
GREATEST_NUMBER = 2**53  # the greatest whole number that every reader of JSON represents exactly
_NUMBERS = (int, float)  # tested first, as other types take longer


def present() -> datetime:
    """Return the time of this machine."""
    return datetime.fromtimestamp(time.time(), UTC)


@dataclass(slots=True, kw_only=True)
class RunningJob:
    """The current run: the fields of its job, its start and its lateness. `due` is the start where the job has no due
    time, or one that no calendar has. Outside a run `id` is None, `due` is the present and the methods do nothing, so
    that a test can call a handler directly.
    """

    id: str | None = None
    schedule: str | None = None
    name: str | None = None
    fn: str | None = None
    args: tuple[Any, ...] = ()
    kwargs: dict[str, Any] | None = None
    trigger: Trigger | None = None
    due: datetime = field(default_factory=present)
    attempt: int = 0
    crashes: int = 0  # the number of listeners that died while they held it; an earlier run may have been cut off
    started: datetime | None = None
    lateness: timedelta = timedelta()
    cancelled: bool = False
    meta: dict[str, str] = field(default_factory=dict)
    tags: tuple[str, ...] = ()
    context: dict[str, Any] = field(default_factory=dict)
    _terms: Terms = field(default=PLAIN, repr=False)
    _home: Callable[[], Any] | None = field(default=None, repr=False)
    _clock: Clock | None = field(default=None, repr=False)
    _report: Callable[[Progress], None] | None = field(default=None, repr=False)

    __repr__ = brief_repr

    @property
    def batch(self) -> Any:
        """The `Batch` that this job belongs to, or that it follows: add jobs to it, read its counts and the ids of its
        jobs. None outside a batch.
        """
        name = self._terms.batch or self._terms.then_of
        return None if name is None else above("verbs.batch").Batch(self._schedule(), name)

    @property
    def results(self) -> Iterator[tuple[str, Any]]:
        """The results of the jobs that this one ran after, page by page: the id of a job, and the value that it
        returned, as JSON has it. Leaves out jobs without `keep`.
        """
        if self.id is None or (self._terms.after is None and self._terms.then_of is None):
            return iter(())
        of, results_of = self._terms.then_of or self.id, above("verbs.result").results_of
        return cast("Iterator[tuple[str, Any]]", results_of(self._schedule(), of))

    def _schedule(self) -> Any:
        home = None if self._home is None else self._home()
        if home is None:
            trouble = "does not know its Schedule here: the client of its server cannot travel to a worker process"
            raise InvalidOptions.about(f"job {self.id}", trouble, "Give redis= as a URL.", where="redis")
        return home

    def checkin(self, text: str) -> None:
        """Report progress in at most 1,000 characters. Cheap enough for a loop: at most one report a second is stored.

        Raises JobCancelled once the run was cancelled, InvalidArguments.
        """
        if self.cancelled:
            raise self._cancellation()
        if type(text) is not str:
            text = _text(text)
        if len(text) > LONGEST_CHECKIN:
            raise InvalidArguments(
                f"a check-in of {len(text):,} characters is too long. Accepted: up to {LONGEST_CHECKIN:,}.", given=text
            )
        if self._report is not None:
            self._report(text)

    def progress(self, done: float, total: float) -> None:
        """Report progress in numbers; as cheap as `checkin`.

        Raises JobCancelled once the run was cancelled, InvalidArguments.
        """
        if self.cancelled:
            raise self._cancellation()
        if type(done) not in _NUMBERS or type(total) not in _NUMBERS:
            done, total = _number(done), _number(total)
        if not (-GREATEST_NUMBER <= done <= GREATEST_NUMBER and -GREATEST_NUMBER <= total <= GREATEST_NUMBER):
            raise _wrong_number(done if not -GREATEST_NUMBER <= done <= GREATEST_NUMBER else total)
        if self._report is not None:
            self._report((done, total))

    def extend(self, time: str | timedelta) -> None:
        """Move the timeout of this run to at least `time` from now; without a timeout nothing changes.

        Raises JobCancelled once the run was cancelled, TriggerError.
        """
        from workkit.triggers.english.numbers import duration  # its grammar takes a while to import

        seconds = duration(time, name="time").total_seconds()
        if self.cancelled:
            raise self._cancellation()
        if self._clock is not None:
            self._clock.extend(seconds)

    def _cancellation(self) -> JobCancelled:
        return JobCancelled(f"job {self.id} was cancelled", given=self.id)


def _number(given: object) -> float:
    """Convert whole numbers and fractions of any library; truth values are no numbers. Raises InvalidArguments."""
    import numbers  # most handlers count in Python's own

    match given:
        case bool():
            raise _wrong_number(given)
        case numbers.Integral():
            return int(given)
        case numbers.Real():
            return float(given)
    raise _wrong_number(given)


def _wrong_number(given: object) -> InvalidArguments:
    kind = f"{given:.3g}" if type(given) is float else "a number so great" if type(given) is int else _kind(given)
    return InvalidArguments(
        f"progress cannot show {kind}. Give two numbers, as in progress(340, 1000); for words there is checkin.",
        given=given,
    )


def _text(given: object) -> str:
    if isinstance(given, str):
        return given
    raise InvalidArguments(
        f"checkin cannot show {_kind(given)}. Give a text; for numbers there is progress(done, total).", given=given
    )


def _kind(given: object) -> str:
    return f"a value of type {type(given).__name__}"
