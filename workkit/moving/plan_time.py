"""A time of another scheduler as a text that a plan takes: a cron string if one expresses it, else words. Each text is
read back, and is printed only if it fires at the right times.

Comments tell the differences at clock changes of a zone. workkit's own rules are those of spec/cron.md, 4: a time that
a gap skips runs at the end of the gap, a time that comes twice runs the first time, and a rule that names every hour
counts elapsed time.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from itertools import product

from workkit.errors import TriggerError
from workkit.text.wording import full_date_text
from workkit.triggers.crons.cron import Cron, parse_cron
from workkit.triggers.english.sentence import explain
from workkit.triggers.trigger import Trigger, is_fixed
from workkit.triggers.when import When, read_when
from workkit.triggers.zone import ClockChange, clock_changes, names_every_hour, zone

LONGEST_TEXT = 200  # characters of words about time (spec/phrases.md, 1)
COMPARED = 150  # times of each text to compare with those of the rules
MOST_GROUPS = 12  # of "every friday the 13th" in one text, at most
_WEEKS_OF_MONTH = (range(1, 8), range(8, 15), range(15, 22), range(22, 29), range(29, 32))


def rules_trigger(rules: Sequence[str], *, tz: str) -> Trigger:
    """Make the trigger of rules in wall-clock time of a zone (spec/cron.md, 3: seven fields; `&` before the day of the
    month is "and"). Raises CronError, TriggerError.
    """
    crons = [parse_cron(rule, stored=True, rule=True) for rule in rules]
    zone(tz)
    recurs = len(crons) > 1 or not is_fixed(crons[0])
    return Trigger(cron=None, tz=tz, recurs=recurs, rules=tuple(cron.text for cron in crons))


def plan_time(rules: Sequence[str], *, tz: str, now: datetime) -> str | None:
    """Write rules as a text that, read in the zone `tz`, fires at the same instants; None if no text expresses them, or
    if they never fire after `now`.
    """
    wanted = rules_trigger(rules, tz=tz)
    if wanted.next_after(now) is None:
        return None
    for text in _texts(rules, tz=tz, wanted=wanted):
        if len(text) <= LONGEST_TEXT and reads_same(text, wanted, now=now):
            return text
    return None


def reads_same(text: str, wanted: Trigger, *, now: datetime) -> bool:
    """Return whether a text, read in the zone of a trigger, fires when the trigger does."""
    seven = len(text.split()) == 7
    try:
        trigger = read_when(When(when=text, tz=None if seven else wanted.tz), now=now)
    except TriggerError:
        return False
    if replace(trigger, cron=None, warnings=()) == wanted:
        return True
    return trigger.upcoming(now, COMPARED) == wanted.upcoming(now, COMPARED)


def _texts(rules: Sequence[str], *, tz: str, wanted: Trigger) -> Iterator[str]:
    if len(rules) == 1:
        yield from _of_one_rule(rules[0], tz=tz)
    yield explain(_in_utc(wanted.rules, wanted.recurs), zone=False)
    groups = [group for rule in wanted.rules for group in _groups(rule)]
    if len(rules) < len(groups) <= MOST_GROUPS:
        yield explain(_in_utc(tuple(groups), True), zone=False)


def _of_one_rule(rule: str, *, tz: str) -> Iterator[str]:
    year, month, day, weekday, hour, minute, second = rule.split()
    if is_fixed(parse_cron(rule, stored=True, rule=True)):
        date = f"{year}-{int(month):02}-{int(day.removeprefix('&')):02}"
        yield f"{date} at {int(hour)}:{int(minute):02}" + (f":{int(second):02}" if int(second) else "")
        return
    both = day.startswith("&")
    day = day.removeprefix("&")
    if both and "*" not in (day, weekday):
        places = _places(rule)
        if places is None:
            return
        day, weekday = "*", places
    if year == "*" and second == "0":
        yield f"{minute} {hour} {day} {month} {weekday}"
    if tz == "UTC":
        yield f"{year} {month} {day} {weekday} {hour} {minute} {second}"


def _places(rule: str) -> str | None:
    """Write "Monday, and one of the days 1 to 7" as "1#1", the first Monday of the month; None if the days are no whole
    weeks of the month.
    """
    days, weekdays = _days(rule)
    parts = [days & set(week) for week in _WEEKS_OF_MONTH]
    if any(part not in (set(), set(week)) for part, week in zip(parts, _WEEKS_OF_MONTH, strict=True)):
        return None
    return ",".join(f"{weekday}#{k}" for weekday in weekdays for k, part in enumerate(parts, 1) if part)


def _groups(rule: str) -> Iterator[str]:
    """Split "Monday or Friday, and the 1st or 13th" into rules of one weekday and one day each."""
    year, month, day, weekday, *clock = rule.split()
    if not day.startswith("&") or "*" in (day[1:], weekday):
        yield rule
        return
    days, weekdays = _days(rule)
    for one, number in product(weekdays, sorted(days)):
        yield " ".join([year, month, f"&{number}", str(one), *clock])


def _days(rule: str) -> tuple[set[int], list[int]]:
    """Read both day fields of a rule with values, ranges and steps only."""
    cron = parse_cron(rule, stored=True, rule=True)
    days = {day for day in range(1, 32) if cron.day.mask >> day & 1}
    return days, [day for day in range(7) if cron.weekday.mask >> day & 1]


def _in_utc(rules: tuple[str, ...], recurs: bool) -> Trigger:
    """Return the same rules without a zone: the zone is an option of the entry, not a part of its words."""
    return Trigger(cron=None, tz="UTC", recurs=recurs, rules=rules)


LOOKED_AHEAD = timedelta(days=30 * 366)


@dataclass(frozen=True, slots=True, kw_only=True)
class Touched:
    """One rule at one change of the clock: how many of its local times are skipped, or come twice; whether it also
    fires at the end of a gap; whether workkit counts elapsed time for it.
    """

    change: ClockChange
    times: int
    at_end: bool
    is_elapsed: bool


def touched_by_changes(cron: Cron, *, tz: str, now: datetime) -> list[Touched]:
    """List the changes of the zone's clock, over thirty years, that affect a time of the rule."""
    if tz == "UTC":
        return []
    found = []
    for change in clock_changes(tz, now, now + LOOKED_AHEAD):
        start, end = sorted((change.second + change.before, change.second + change.after))
        times = _count(cron, start, end)
        if times:
            at_end = cron.next(end - 1) == end
            found.append(Touched(change=change, times=times, at_end=at_end, is_elapsed=names_every_hour(cron)))
    return found


def remark(touched: Touched, trouble: str) -> str:
    """Write since when something differs: "From Sunday 28 March 2027 on, where clocks of Europe/Paris change: ..."."""
    date = full_date_text(touched.change.wall_from)
    return f"From {date} on, where clocks of {touched.change.tz} change: {trouble}."


def _count(cron: Cron, start: int, end: int) -> int:
    times, second = 0, cron.next(start - 1)
    while second is not None and second < end:
        times, second = times + 1, cron.next(second)
    return times
