"""A cache of the times at which triggers fire: each trigger is computed once for a window, for all pages. Also the
calendar of a schedule for other programs, in the format iCalendar.

A page that is read again a second later needs almost the same window. So a window is predicted a little beyond its end,
and serves later calls until it is used up. The cache is bounded.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections import OrderedDict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from hashlib import sha256
from threading import Lock
from typing import Final

from workkit._version import __version__
from workkit.errors import Unsupported
from workkit.jobs.admission import SCHEDULE, Control, Pause
from workkit.jobs.job import Job
from workkit.jobs.names import shown
from workkit.jobs.terms import spread_offset_ms
from workkit.text.wording import printable
from workkit.triggers import Trigger, explain
from workkit.web.cache import Served
from workkit.web.forecast import instants
from workkit.web.words import pause_end

MOST: Final = 1_500  # most instants of one trigger in a window
MOST_KEPT: Final = 200_000  # most instants of all triggers
EPOCH: Final = datetime(2000, 1, 1, tzinfo=UTC)
THIN: Final = 500  # planned runs closer than 1/THIN of a window count as one
SLACK: Final = 8  # a window is predicted beyond its end by 1/SLACK of its length


@dataclass(frozen=True, slots=True, kw_only=True)
class Prediction:
    """When a trigger fires after `since`, up to `until`. `is_whole` is False where there are more instants; then
    `until` is the last one here.
    """

    since: datetime
    until: datetime
    instants: Sequence[datetime] = field(repr=False)
    is_whole: bool = True


class Predictions:
    """Keeps predictions by trigger, length of window, and approximate start; the least recently used one leaves first.
    Thread-safe.
    """

    def __init__(self, *, most_kept: int = MOST_KEPT) -> None:
        self._most = most_kept
        self._kept: OrderedDict[tuple[Trigger, timedelta, int, int], Prediction] = OrderedDict()
        self._size = 0
        self._lock = Lock()

    def of(self, trigger: Trigger, *, since: datetime, until: datetime, most: int = MOST) -> Prediction:
        """Predict when a trigger fires after `since`, up to `until`; at most `most` times."""
        length = until - since
        if length <= timedelta():
            return Prediction(since=since, until=until, instants=())
        key = (trigger, length, most, (since - EPOCH) // length)
        with self._lock:
            kept = self._kept.get(key)
            if kept is not None:
                self._kept.move_to_end(key)
        if kept is not None and kept.since <= since and (found := _part(kept, since, until, most)) is not None:
            return found
        made = _made(trigger, since, until + (until - since) / SLACK, most + most // SLACK)
        with self._lock:
            before = self._kept.pop(key, None)
            self._kept[key] = made
            self._size += len(made.instants) + 1 - (len(before.instants) + 1 if before else 0)
            while self._size > self._most and len(self._kept) > 1:
                _, gone = self._kept.popitem(last=False)
                self._size -= len(gone.instants) + 1
        found = _part(made, since, until, most)
        assert found is not None, "it was made for this window"
        return found


def _made(trigger: Trigger, since: datetime, until: datetime, most: int) -> Prediction:
    found = instants(trigger, since=since, until=until, most=most + 1)
    if len(found) <= most:
        return Prediction(since=since, until=until, instants=tuple(found))
    return Prediction(since=since, until=found[most - 1], instants=tuple(found[:most]), is_whole=False)


def _part(kept: Prediction, since: datetime, until: datetime, most: int) -> Prediction | None:
    """Cut a window out of a prediction; None where the prediction does not reach far enough."""
    first = bisect_right(kept.instants, since)
    if until <= kept.until:
        last = bisect_right(kept.instants, until)
    elif kept.is_whole or len(kept.instants) - first < most:
        return None
    else:
        last = len(kept.instants)
    if last - first <= most and until <= kept.until:
        return Prediction(since=since, until=until, instants=kept.instants[first:last])
    part = kept.instants[first : first + most]
    return Prediction(since=since, until=part[-1], instants=part, is_whole=False)


_PREDICTIONS: Final = Predictions()


def predicted(trigger: Trigger, *, since: datetime, until: datetime, most: int = MOST) -> Prediction:
    """Predict as `Predictions.of` does, cached for the whole process: the result depends only on the trigger."""
    return _PREDICTIONS.of(trigger, since=since, until=until, most=most)


def between(found: Prediction, since: datetime, until: datetime) -> int:
    """Count the instants from `since` on and before `until`."""
    return bisect_left(found.instants, until) - bisect_left(found.instants, since)


def sparse(found: Prediction, until: datetime, *, step: timedelta) -> list[tuple[Sequence[datetime], float]]:
    """Return instants up to `until` for a drawing that merges those closer than `step`: only some of dense ones, and
    evenly spread ones after the last where there are too many to predict. Each part has the number of runs that each of
    its instants represents.
    """
    known = found.instants
    if len(known) < 2:
        return [(known, 1.0)]
    usual = (known[-1] - known[0]) / (len(known) - 1)
    every = max(1, step // usual)
    parts: list[tuple[Sequence[datetime], float]] = [(known[::every], float(every))]
    if not found.is_whole and until > found.until:
        length = max(step, usual)
        count = (until - known[-1]) // length
        parts.append(([known[-1] + (k + 1) * length for k in range(count)], length / usual))
    return parts


SPAN: Final = timedelta(days=30)
MOST_OF_A_JOB: Final = 100
MOST_EVENTS: Final = 2_000
MOMENT: Final = timedelta(seconds=1)
Dues = Mapping[str, datetime | None]
ABOUT: Final = f"Planned runs of the next 30 days; of each job the next {MOST_OF_A_JOB} at most."


def feed(served: Served) -> bytes:
    """Write the calendar of a schedule, without the arguments of any job. Raises the errors of its inspector."""
    pulse = served.inspector().pulse()
    now = pulse.now
    jobs = [one.job for one in served.named().values()]
    found = events(
        jobs, schedule=served.name, now=now, paused=pulse.control.paused, dues=_dues(served, now, pulse.control)
    )
    # The hour, so that an unchanged calendar is the same answer.
    made = now.replace(minute=0, second=0, microsecond=0)
    return calendar(found, title=served.name, about=ABOUT, made=made)


def _dues(served: Served, now: datetime, control: Control) -> Dues:
    """Return when each recurring job runs next. Skipped runs come before that time."""
    try:
        return {one.key: one.due for one in served.recurring(now, control).jobs if one.state != "retrying"}
    except Unsupported:
        return {}


def events(
    jobs: Iterable[Job], *, schedule: str, now: datetime, paused: Mapping[str, Pause], dues: Dues
) -> list[Event]:
    """List the planned events, the soonest first. A paused job is listed from the end of its pause on."""
    found: list[Event] = []
    for job in jobs:
        title = job.name or shown(job.fn)
        words = explain(job.trigger) if job.trigger is not None and job.trigger.recurs else "once"
        found += [
            Event(of=f"{schedule}\0{title}", at=at, title=title, more=f"{shown(job.fn)}\n{words}")
            for at in _instants(job, now, paused, dues.get(title))
        ]
    return sorted(found, key=lambda event: (event.at, event.title))[:MOST_EVENTS]


def _instants(job: Job, now: datetime, paused: Mapping[str, Pause], due: datetime | None) -> Iterator[datetime]:
    begin = _resumed(job, now, paused)
    if begin is None or job.trigger is None:
        return
    spread = timedelta(milliseconds=spread_offset_ms(job.terms, job.fn, job.args))
    if due is not None:
        begin = max(begin, due - MOMENT)
    most = min(MOST_OF_A_JOB, job.terms.count or MOST_OF_A_JOB)
    for at in instants(job.trigger, since=begin - spread, until=now + SPAN, most=most):
        yield at + spread


def _resumed(job: Job, now: datetime, paused: Mapping[str, Pause]) -> datetime | None:
    """Return when a job may run again; None: it is paused until a user resumes it."""
    begin = now
    for target in (SCHEDULE, f"fn:{job.fn}", f"job:{job.name or job.id}"):
        if target in paused:
            end = pause_end(paused[target])
            if end is None or end > now + SPAN:
                return None
            begin = max(begin, end)
    return begin


LONGEST_LINE: Final = 75
"""Most bytes of a line, without its end."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Event:
    """An event at an instant. `of`: its subject. An event keeps its identity while its subject and its instant stay the
    same.
    """

    of: str
    at: datetime
    title: str
    more: str = ""

    @property
    def uid(self) -> str:
        """A unique name that stays the same in every answer and does not reveal the subject."""
        text = f"{self.of}\0{_instant(self.at)}"
        return f"{sha256(text.encode('utf-8', 'surrogatepass')).hexdigest()[:32]}@workkit"


def calendar(events: Iterable[Event], *, title: str, about: str, made: datetime) -> bytes:
    """Write a calendar. `made` (aware): the time of this answer, written into each event."""
    lines = [
        "BEGIN:VCALENDAR",
        "VERSION:2.0",
        f"PRODID:-//workkit//workkit {__version__}//EN",
        "CALSCALE:GREGORIAN",
        "METHOD:PUBLISH",
        f"X-WR-CALNAME:{escaped(title)}",
        f"X-WR-CALDESC:{escaped(about)}",
        *(line for event in events for line in _lines(event, made)),
        "END:VCALENDAR",
    ]
    return b"".join(folded(line) for line in lines)


def _lines(event: Event, made: datetime) -> Iterator[str]:
    yield "BEGIN:VEVENT"
    yield f"UID:{event.uid}"
    yield f"DTSTAMP:{_instant(made)}"
    yield f"DTSTART:{_instant(event.at)}"
    yield f"SUMMARY:{escaped(event.title)}"
    if event.more:
        yield f"DESCRIPTION:{escaped(event.more)}"
    yield "TRANSP:TRANSPARENT"
    yield "END:VEVENT"


def escaped(text: str) -> str:
    """Escape a text as the value of a property."""
    lines = (printable(line) for line in text.split("\n"))
    return "\\n".join(line.replace("\\", r"\\").replace(";", r"\;").replace(",", r"\,") for line in lines)


def folded(line: str) -> bytes:
    """Fold a line into pieces of at most 75 bytes. Each further piece begins with a space. No character is cut."""
    rest, parts = line.encode("utf-8", "replace"), list[bytes]()
    while len(rest) > (room := LONGEST_LINE - bool(parts)):
        end = room
        while rest[end] & 0xC0 == 0x80:  # inside a character
            end -= 1
        parts.append(rest[:end])
        rest = rest[end:]
    return b"\r\n ".join([*parts, rest]) + b"\r\n"


def _instant(at: datetime) -> str:
    return at.astimezone(UTC).strftime("%Y%m%dT%H%M%SZ")
