"""The timers in a folder: each `*.timer` with the service that it starts becomes a job for its times.

`OnCalendar=` of systemd.time(7) is read as rules in wall-clock time (spec/cron.md, 3): weekday and date both count.
"""

from __future__ import annotations

import re
from calendar import monthrange
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

from workkit.errors import CronError, NotFound, TriggerError
from workkit.moving.found import RUN, Carried, Found, NotCarried, Reading, Refused, not_carried
from workkit.moving.plan_time import COMPARED, Touched, plan_time, remark, rules_trigger, touched_by_changes
from workkit.moving.systemd_service import (
    FALSE,
    Service,
    Setting,
    Unit,
    plain,
    read_service,
    read_unit,
    seconds_of,
    service_of,
)
from workkit.text.wording import option_text
from workkit.triggers.crons.cron import parse_cron
from workkit.triggers.crons.field import DAY, HOUR, MINUTE, MONTH, SECOND, WEEKDAY, YEAR, FieldItem, Spec, field_text
from workkit.triggers.crons.grammars import SYSTEMD
from workkit.triggers.crons.reader import read_field
from workkit.triggers.zone import zone

RUNS_OVER = 'systemd may leave out times after the end of a month, where "a/n" leads past its range; workkit does not.'
# In Dublin and Casablanca, where winter time is the exception, it also leaves out the hour after the gap.
GAP = "systemd leaves out what is skipped, in some zones also the hour after it; workkit runs it once, at the gap's end"
_MONOTONIC = ("OnActiveSec", "OnBootSec", "OnStartupSec", "OnUnitActiveSec", "OnUnitInactiveSec")
_EVENTS = ("OnClockChange", "OnTimezoneChange")
_INTERVALS = ("OnUnitActiveSec", "OnUnitInactiveSec")


@dataclass(frozen=True, slots=True, kw_only=True)
class _Time:
    """A time of a plan, and the lines of the timer that express it."""

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
    """Yield a refusal for each setting that starts the service without a calendar."""
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
    """Return the options of a plan beside the time: for overlapping runs, missed runs and delayed runs."""
    options: dict[str, object] = {
        "overlap": "skip",  # systemd does not start a running service
        "catch_up": "once" if timer.is_true("Timer", "Persistent") else "skip",
    }
    delay = timer.value("Timer", "RandomizedDelaySec")
    if delay and seconds_of(delay) >= 1:
        options["spread"] = option_text(seconds_of(delay))
    return options


def _times(lines: list[Setting], how: Reading) -> Iterator[_Time | Refused]:
    """Write all lines as one time, if words can; else each as a time of its own."""
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
    """Write when one line elapses, and return its next times. Raises NotCarried."""
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
        options = {}  # for a recurrence
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
    """Write where systemd itself skips times of the text, and how it differs at clock changes: it runs no time in a
    gap, and nothing twice.
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


NICKNAMES = {
    "minutely": "*-*-* *:*:00",
    "hourly": "*-*-* *:00:00",
    "daily": "*-*-* 00:00:00",
    "weekly": "Mon *-*-* 00:00:00",
    "monthly": "*-*-01 00:00:00",
    "quarterly": "*-01,04,07,10-01 00:00:00",
    "semiannually": "*-01,07-01 00:00:00",
    "semi-annually": "*-01,07-01 00:00:00",
    "biannually": "*-01,07-01 00:00:00",
    "bi-annually": "*-01,07-01 00:00:00",
    "yearly": "*-01-01 00:00:00",
    "annually": "*-01-01 00:00:00",
}
FIRST_YEAR, LAST_YEAR = 1970, 2199  # systemd looks at no other years
_WEEKDAY = re.compile(r"([a-z]+)(?:(?:\.\.|-)([a-z]+))?")
_MONDAY_FIRST = (1, 2, 3, 4, 5, 6, 0)
_LAST_WEEK = frozenset(range(1, 8))
FEBRUARY = 2


@dataclass(frozen=True, slots=True, kw_only=True)
class Calendar:
    """The times of one OnCalendar= line: the union of `rules` in the zone `tz`. `runs_over`: a step "a/n" leads past
    the end of its range to another value than its first.
    """

    rules: tuple[str, ...]
    tz: str
    runs_over: bool = False


def read_calendar(text: str, *, tz: str) -> Calendar:
    """Read one line, in the zone `tz` unless it names one. Raises NotCarried."""
    words, tz = _zone(text.split(), tz)
    spec = " ".join(words)
    if spec.startswith("@"):
        return _instant(spec)
    words = NICKNAMES.get(spec.lower(), spec).split()
    weekdays = set(_MONDAY_FIRST)
    if words and words[0][:1].isalpha():
        weekdays = _weekdays(words.pop(0))
    date = words.pop(0) if words and ":" not in words[0] else "*-*-*"
    clock = words.pop(0) if words else "00:00:00"
    if words or not spec:
        raise _odd(text)
    year, month, day, from_end = _date(date)
    days = _days(day, month, from_end=from_end, weekdays=weekdays)
    hour, minute, second = _clock(clock)
    time = " ".join(
        field_text(_values(part, spec), spec) for part, spec in ((hour, HOUR), (minute, MINUTE), (second, SECOND))
    )
    parts = ((month, MONTH), (hour, HOUR), (minute, MINUTE), (second, SECOND), *([] if from_end else [(day, DAY)]))
    return Calendar(
        rules=tuple(f"{_years(year)} {date} {time}" for date in days),
        tz=tz,
        runs_over=any(_runs_over(part, spec) for part, spec in parts),
    )


def _odd(text: str) -> NotCarried:
    return NotCarried(f'"{text}" is not understood.', "systemd-analyze calendar shows how systemd reads it.")


def _zone(words: list[str], tz: str) -> tuple[list[str], str]:
    if not words or len(words) == 1 or not words[-1][:1].isalpha():
        return words, tz
    name = words[-1]
    try:
        return words[:-1], "UTC" if name.upper() == "UTC" else str(zone(name))
    except TriggerError as error:
        raise NotCarried(f"{name} is not a zone, or one of this machine's own.", "Write Europe/Paris.") from error


def _instant(spec: str) -> Calendar:
    if not spec[1:].isdecimal() or len(spec) > 11:
        raise _odd(spec)
    at = datetime.fromtimestamp(int(spec[1:]), UTC)
    return Calendar(rules=(f"{at.year} {at.month} {at.day} * {at.hour} {at.minute} {at.second}",), tz="UTC")


def _weekdays(text: str) -> set[int]:
    found: set[int] = set()
    for item in text.lower().removesuffix(",").split(","):
        match = _WEEKDAY.fullmatch(item)
        ends = [_weekday(name) for name in match.groups() if name] if match else [None]
        if None in ends:
            raise NotCarried(f"{item} is no day of the week.")
        first, last = (_MONDAY_FIRST.index(end) for end in (ends[0], ends[-1]) if end is not None)
        if first > last:
            raise NotCarried(f"{item} runs backwards: weeks begin with Monday.")
        found.update(_MONDAY_FIRST[first : last + 1])
    return found


def _weekday(name: str) -> int | None:
    return next((number for word, number in WEEKDAY.names.items() if word == name), None)


def _date(text: str) -> tuple[str, str, str, bool]:
    """Split a date into year, month and day; return also whether days count from the end of the month."""
    parts = re.split(r"([-~])", text)
    if len(parts) == 3:
        parts = ["*", "-", *parts]
    if len(parts) != 5 or parts[1] != "-":
        raise _odd(text)
    return parts[0], parts[2], parts[4], parts[3] == "~"


def _clock(text: str) -> tuple[str, str, str]:
    parts = text.split(":")
    if len(parts) not in (2, 3):
        raise _odd(text)
    hour, minute, second = (*parts, "0") if len(parts) == 2 else parts
    return hour, minute, second


def _years(text: str) -> str:
    return "*" if text == "*" else ",".join(map(_year_item, _items(text, YEAR)))


def _year_item(item: FieldItem) -> str:
    first, last = _year(item.low), LAST_YEAR if item.kind == "occurrence" else _year(item.high)
    span = str(first) if first == last else f"{first}-{last}"
    return f"{span}/{item.step}" if item.step > 1 and first != last else span


def _year(number: int) -> int:
    """Read a year; two digits are 1970 to 2069."""
    year = number + (2000 if number < 70 else 1900) if number < 100 else number
    if not FIRST_YEAR <= year <= LAST_YEAR:
        raise NotCarried(f"{number} is no year from {FIRST_YEAR} to {LAST_YEAR}.")
    return year


def _items(text: str, spec: Spec) -> tuple[FieldItem, ...]:
    """Read a component: values and ranges, and a step "a/n" as a kind of its own. Raises NotCarried."""
    spec = next(own for own in SYSTEMD.specs if own.name == spec.name)
    return read_field(text, spec, SYSTEMD, refuse=not_carried).items


def _values(text: str, spec: Spec, *, from_end: bool = False) -> set[int]:
    """Read the values of a component; days `from_end` are 1 for the last day, and steps lead towards it."""
    found: set[int] = set()
    for item in _items(text, spec):
        is_open = item.kind == "occurrence"
        if not from_end:
            found.update(range(item.low, (spec.high if is_open else item.high) + 1, item.step))
        elif item.step > item.low:
            raise NotCarried(f'"{text}" has a step that leads past the last day.')
        else:
            first, last = (item.low, 1) if is_open else (item.high, item.low)
            found.update(range(first, last - 1, -item.step))
    return found


def _runs_over(text: str, spec: Spec) -> bool:
    size, first = spec.high - spec.low + 1, min(_values(text, spec))
    steps = [(item.low, item.step) for item in _items(text, spec) if item.kind == "occurrence"]
    return any(low + -(-(spec.high + 1 - low) // step) * step - size > first for low, step in steps)


def _days(text: str, month: str, *, from_end: bool, weekdays: set[int]) -> list[str]:
    """Write month, day and weekday as fields of rules; one matching rule is enough."""
    months, days = _values(month, MONTH), _values(text, DAY, from_end=from_end)
    week = field_text(weekdays, WEEKDAY)
    if not from_end or text == "*":
        return [_date_fields(months, field_text(days, DAY), week)]
    if days == {1}:
        return [_date_fields(months, "L", week)]
    if days == _LAST_WEEK and week != "*":
        return [f"{field_text(months, MONTH)} * {','.join(f'{day}L' for day in sorted(weekdays))}"]
    if FEBRUARY in months:
        reason = "Days before the last one of February differ from year to year, which no plan says."
        raise NotCarried(reason, "Leave February out, or let the function look at the date.")
    rules = []
    for length in (30, 31):
        alike = {number for number in months if monthrange(2027, number)[1] == length}
        if alike:
            rules.append(_date_fields(alike, field_text({length + 1 - day for day in days}, DAY), week))
    return rules


def _date_fields(months: set[int], day: str, week: str) -> str:
    sign = "&" if day != "*" and week != "*" else ""
    return f"{field_text(months, MONTH)} {sign}{day} {week}"
