"""The timers in a folder: each `*.timer` with the service that it starts becomes a job for its times."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path

from workkit.errors import CronError, NotFound
from workkit.moving.clock_remarks import Touched, remark, touched_by_changes
from workkit.moving.command import RUN
from workkit.moving.found import Carried, Found, Refused
from workkit.moving.plan_time import COMPARED, plan_time, rules_trigger
from workkit.moving.reading import Reading
from workkit.moving.refusal import NotCarried
from workkit.moving.systemd.calendar import Calendar, read_calendar
from workkit.moving.systemd.service import Service, read_service, service_of
from workkit.moving.systemd.unit import FALSE, Setting, Unit, plain, read_unit, seconds_of
from workkit.text.wording import option_text
from workkit.triggers.crons.cron import parse_cron

RUNS_OVER = 'systemd may leave out times after the end of a month, where "a/n" leads past its range; workkit does not.'
# In Dublin and Casablanca, whose winter time is the exception, it leaves out the hour after the gap as well.
GAP = "systemd leaves out what is skipped, in some zones also the hour after it; workkit runs it once, at the gap's end"
_MONOTONIC = ("OnActiveSec", "OnBootSec", "OnStartupSec", "OnUnitActiveSec", "OnUnitInactiveSec")
_EVENTS = ("OnClockChange", "OnTimezoneChange")
_INTERVALS = ("OnUnitActiveSec", "OnUnitInactiveSec")


@dataclass(frozen=True, slots=True, kw_only=True)
class _Time:
    """When a plan runs it, and the lines of the timer that say so."""

    when: str
    calendar: Calendar
    lines: tuple[Setting, ...]


def found_in(what: str, how: Reading) -> list[Found]:
    """Read the timers of a folder. Raises NotFound, InvalidOptions."""
    folder = Path(what)
    if not folder.is_dir():
        trouble = "is no folder" if folder.exists() else "no such folder"
        raise NotFound(f"{what}: {trouble}. Name one with *.timer files, such as /etc/systemd/system.", given=what)
    return [found for file in sorted(folder.glob("*.timer")) for found in _timer(read_unit(file), folder, how)]


def _timer(timer: Unit, folder: Path, how: Reading) -> Iterator[Found]:
    yield from _other_starts(timer)
    lines = timer.all("Timer", "OnCalendar")
    if not lines:
        return
    whole = "; ".join(line.text for line in lines)
    try:
        if timer.name.endswith("@.timer"):
            raise NotCarried("It is a template: its instances are not in this file.", "Name one: backup@srv.timer.")
        service = _service(timer, folder)
        options = _options(timer)
    except NotCarried as refusal:
        yield Refused(where=lines[0].where, text=whole, reason=str(refusal), instead=refusal.instead)
        return
    for found in _times(lines, how):
        yield found if isinstance(found, Refused) else _job(timer, service, found, how, options=options)


def _other_starts(timer: Unit) -> Iterator[Refused]:
    """Refuse what starts a timer without a calendar."""
    for name in _MONOTONIC:
        for line in timer.all("Timer", name):
            instead = _interval(line.value) if name in _INTERVALS else ""
            reason = "It counts from an event of one machine: its start, or the last run there."
            yield Refused(where=line.where, text=line.text, reason=reason, instead=instead)
    for name in _EVENTS:
        event = timer.last("Timer", name)
        if event is not None and event.value.lower() not in FALSE:
            yield Refused(where=event.where, text=event.text, reason="It starts when the clock of a machine is set.")


def _interval(span: str) -> str:
    try:
        seconds = seconds_of(span)
    except NotCarried:
        return ""
    return f'Write every = "{option_text(seconds)}" for runs at fixed distances.' if 1 <= seconds < 86_400 else ""


def _service(timer: Unit, folder: Path) -> Service:
    name = service_of(timer.name, plain(timer.value("Timer", "Unit")))
    file = folder / name
    if not file.is_file():
        raise NotCarried(f"{name} is not in this folder.", "Put it there.")
    return read_service(read_unit(file))


def _options(timer: Unit) -> dict[str, object]:
    """What a plan says beside the time: runs while one still runs, runs that were missed, runs that are put off."""
    options: dict[str, object] = {
        "overlap": "skip",  # systemd does not start what runs
        "catch_up": "once" if timer.is_true("Timer", "Persistent") else "skip",
    }
    delay = timer.value("Timer", "RandomizedDelaySec")
    if delay and seconds_of(delay) >= 1:
        options["spread"] = option_text(seconds_of(delay))
    return options


def _times(lines: list[Setting], how: Reading) -> Iterator[_Time | Refused]:
    """Say all lines as one time, if words can; else each as one of its own."""
    read: list[tuple[Setting, Calendar]] = []
    for line in lines:
        try:
            read.append((line, read_calendar(line.value, tz=how.tz)))
        except NotCarried as refusal:
            yield Refused(where=line.where, text=line.text, reason=str(refusal), instead=refusal.instead)
    if len({calendar.tz for _, calendar in read}) == 1 and len(read) > 1:
        rules = tuple(dict.fromkeys(rule for _, calendar in read for rule in calendar.rules))
        over = any(calendar.runs_over for _, calendar in read)
        together = Calendar(rules=rules, tz=read[0][1].tz, runs_over=over)
        when = plan_time(rules, tz=together.tz, now=how.now)
        if when is not None:
            yield _Time(when=when, calendar=together, lines=tuple(line for line, _ in read))
            return
    seen: set[datetime] = set()
    for line, calendar in read:
        try:
            when, instants = calendar_text(calendar, now=how.now)
            if not seen.isdisjoint(instants):
                raise NotCarried("It elapses together with another line, and systemd then starts it once.")
            seen.update(instants)
            yield _Time(when=when, calendar=calendar, lines=(line,))
        except NotCarried as refusal:
            yield Refused(where=line.where, text=line.text, reason=str(refusal), instead=refusal.instead)


def calendar_text(calendar: Calendar, *, now: datetime) -> tuple[str, list[datetime]]:
    """Say when one line elapses, and give its next times. Raises NotCarried."""
    try:
        wanted = rules_trigger(calendar.rules, tz=calendar.tz)
    except CronError as error:
        raise NotCarried(str(error)) from error
    instants = wanted.upcoming(now, COMPARED)
    if not instants:
        raise NotCarried("It never elapses again.")
    text = plan_time(calendar.rules, tz=calendar.tz, now=now)
    if text is None:
        raise NotCarried(
            "Neither a cron string nor words of a plan say this.",
            "Write it as several lines, or let the function look at the date.",
        )
    return text, instants


def _job(timer: Unit, service: Service, time: _Time, how: Reading, *, options: dict[str, object]) -> Carried:
    where = "; ".join(f"{line.where}: {line.text}" for line in time.lines)
    comments = [*service.comments, *_comments(timer), *calendar_comments(time.calendar, now=how.now)]
    if not rules_trigger(time.calendar.rules, tz=time.calendar.tz).recurs:
        options = {}  # those of a recurrence
        comments.append("It runs once, after a downtime also late.")
    return Carried(
        name=timer.name.removesuffix(".timer"),
        when=time.when,
        function=RUN,
        args=[service.command],
        kwargs=service.kwargs,
        options={"tz": time.calendar.tz, **options, **service.options},
        where=where,
        comments=tuple(comments),
    )


def _comments(timer: Unit) -> Iterator[str]:
    if timer.value("Timer", "RandomizedDelaySec") and not timer.is_true("Timer", "FixedRandomDelay"):
        yield "systemd puts each run off by another part of RandomizedDelaySec, workkit all by the same."
    if accuracy := timer.value("Timer", "AccuracySec"):
        yield f"systemd may run it up to AccuracySec={accuracy} late, to wake machines seldom; workkit does not wait."
    if timer.is_true("Timer", "WakeSystem"):
        yield "WakeSystem= woke a machine that sleeps; a listener must be awake."


def calendar_comments(calendar: Calendar, *, now: datetime) -> tuple[str, ...]:
    """Say where systemd itself leaves out what the text names, and what it does otherwise where the clock changes: it
    runs nothing that a gap skips, and nothing twice.
    """
    first: dict[bool, str] = {}
    for rule in calendar.rules:
        cron = parse_cron(rule, stored=True, rule=True)
        for touched in touched_by_changes(cron, tz=calendar.tz, now=now):
            if trouble := _difference(touched):
                first.setdefault(touched.change.skips, remark(touched, trouble))
    return (*((RUNS_OVER,) if calendar.runs_over else ()), *first.values())


def _difference(touched: Touched) -> str:
    if touched.change.skips:
        return "" if touched.is_elapsed else GAP
    return "systemd runs the first time only what comes twice, workkit both times" if touched.is_elapsed else ""
