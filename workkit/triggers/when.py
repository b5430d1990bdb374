"""The five keywords for a time, as a Trigger: `when=`, `at=`, `in_=`, `every=`, `cron=`. Pure: `now` is passed in.

A recurring trigger gets a warning if a change of the clock leaves out one of its local times.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, replace
from datetime import UTC, date, datetime, timedelta
from functools import cached_property
from typing import Any, Literal, NoReturn, overload
from zoneinfo import ZoneInfo

from workkit.errors import CronError, InvalidOptions, PhraseError, TriggerError
from workkit.text.wording import MILLISECOND, age_text, full_date_text, time_text
from workkit.triggers import KEYWORDS
from workkit.triggers.between import between
from workkit.triggers.crons.cron import parse_cron
from workkit.triggers.crons.field import NO_ZONE, not_a_length, refused, shown_text
from workkit.triggers.crons.grammars import looks_like_cron
from workkit.triggers.dialect import cron
from workkit.triggers.trigger import Trigger, once, plain, soonest
from workkit.triggers.zone import ClockChange, clock_changes, names_every_hour

_KEYWORDS = " ".join(f"{name}=" for name in KEYWORDS)
_EVERY = re.compile(r"\s*(?:every|each)\s+", re.IGNORECASE)
_DATE = re.compile(r"\s*\d{4}-\d\d-\d\d", re.ASCII)
_IN = re.compile(r"\s*in\s+", re.IGNORECASE)


@dataclass(frozen=True, kw_only=True)  # no slots: `kind` is kept
class When:
    """A time as the keywords of an addition; one of the time keywords is set.

    `tz` is the zone of the call, `default_tz` and `dialect` are the schedule's. `late` "run": an instant of `at` or
    `when` may be up to a day past, if it is a datetime or has the whole date in figures.
    """

    when: str | None = None
    at: str | datetime | None = None
    in_: str | timedelta | None = None
    every: str | timedelta | None = None
    cron: str | None = None
    tz: str | ZoneInfo | None = None
    default_tz: str = "UTC"
    dialect: str = "published"
    late: str | None = None

    @property
    def late_ms(self) -> int:
        """The greatest age of an instant in ms, beside the second that has begun."""
        dated = not isinstance(self.at or self.when, str) or _DATE.match(str(self.at or self.when))
        return 86_400_000 if self.late == "run" and dated else 0

    @property
    def zone(self) -> str:
        """The zone of the words."""
        return str(self.tz or self.default_tz)

    @property
    def is_now(self) -> bool:
        """Whether it is `at="now"` or `when="now"`: due by the server's clock, sooner than any whole second."""
        text = getattr(self, self.kind)
        return self.kind in ("when", "at") and isinstance(text, str) and text.strip().lower() == "now"

    @property
    def is_length(self) -> bool:
        """Whether it is a length of time from now: `in_=`, or a text of `when=` with one ("in 5 minutes"). Each such
        addition is a separate run (spec/phrases.md, section 8). Valid only for a time that `read_when` takes.
        """
        if self.kind != "when":
            return self.kind == "in_"
        from workkit.triggers.english.phrase import names_length

        return not looks_like_cron(str(self.when)) and names_length(str(self.when))

    @cached_property
    def kind(self) -> str:
        """The keyword that is set. Raises InvalidOptions if none is set, or several are."""
        given = [name for name in KEYWORDS if getattr(self, name) is not None]
        if not given:
            raise InvalidOptions(f"no time was given. Give one of {_KEYWORDS}, or use schedule.add_now(s, fn).")
        if len(given) > 1:
            names = " and ".join(f"{name}=" for name in given)
            raise InvalidOptions(
                f"{names} were {'both' if len(given) == 2 else 'all'} given; a job has one time. "
                f"Keep one of {_KEYWORDS}, or add two jobs."
            )
        return given[0]


@overload
def read_when(when: When, *, now: datetime) -> Trigger: ...


@overload
def read_when(
    when: str,
    *,
    now: datetime,
    tz: str | ZoneInfo | None = None,
    start: str | datetime | None = None,
    end: str | datetime | None = None,
) -> Trigger: ...


def read_when(
    when: When | str,
    *,
    now: datetime,
    tz: str | ZoneInfo | None = None,
    start: str | datetime | None = None,
    end: str | datetime | None = None,
) -> Trigger:
    """Read one text, words or a cron string of any dialect, or a `When`, which has its own keywords.

    The text itself decides whether it recurs (spec/phrases.md, one text). `now` is aware; words and five fields are
    read in the zone `tz`, UTC by default; seven fields are UTC and refuse another zone. `start` and `end` bound a
    recurring time. Raises PhraseError or CronError for a text that is not understood, has two meanings, is past or
    never fires; InvalidOptions for two times or none; TriggerError for anything else.
    """
    if isinstance(when, When):
        return _read(when, now=now)
    trigger = _read(When(when=when, tz=tz), now=now)
    if start is None and end is None:
        return trigger
    return between(trigger, start=start, end=end, now=now, tz=str(tz or "UTC"))


def _read(when: When, *, now: datetime) -> Trigger:
    if when.late:  # a whole date does not depend on the present
        now -= when.late_ms * MILLISECOND
    kind = when.kind
    match kind:
        case "when":
            trigger = _text(when.when, when, now)
        case "at":
            trigger = _at(when.at, when, now)
        case "in_":
            trigger = _in(when.in_, when, now)
        case "every":
            trigger = _every(when.every, when, now)
        case _:
            trigger = _cron(when.cron, when)
    if trigger.next_after(now - timedelta(seconds=1)) is None:
        _never(kind, getattr(when, kind), trigger)
    if trigger.cron is not None:
        return trigger
    from workkit.triggers.when import with_skipped

    return with_skipped(trigger, after=now)


def _text(text: Any, when: When, now: datetime) -> Trigger:
    """Read `when=`: a cron string if the text looks like one, else words."""
    if not isinstance(text, str):
        remedy = 'Write when="every weekday at 9am"; a datetime goes into at=, a timedelta into in_= or every=.'
        raise refused(TriggerError, "when", repr(text), "is neither words nor a cron string", remedy, given=text)
    if looks_like_cron(text):
        return _cron(text, when)
    trigger = _phrase(text, when, now)
    from workkit.triggers.english.phrase import is_bare_length

    if not trigger.recurs and is_bare_length(text):
        raise _ambiguous(text, when, now)
    return trigger


def _ambiguous(text: str, when: When, now: datetime) -> PhraseError:
    """Make the error about "5 minutes": in 5 minutes, or every 5 minutes."""
    choices = [f"in {text.strip()}"]
    try:
        _phrase(f"every {text}", when, now)
    except PhraseError:
        pass
    else:
        choices.append(f"every {text.strip()}")
    trouble = "may mean once or again and again"
    remedy = "Write " + " or ".join(f'when="{shown_text(choice)}"' for choice in choices) + "."
    accepted = " or ".join(choices)
    return refused(PhraseError, "when", f'"{shown_text(text)}"', trouble, remedy, given=text, accepted=accepted)


def _at(at: Any, when: When, now: datetime) -> Trigger:
    if isinstance(at, datetime):
        return _instant(at, when, now)
    if isinstance(at, date):
        remedy = f'Write at="{at.isoformat()} 9am", or a datetime.'
        raise refused(TriggerError, "at", repr(at), "is a date: which hour?", remedy, given=at)
    if not isinstance(at, str):
        remedy = 'Write at="7pm tomorrow".'
        raise refused(TriggerError, "at", repr(at), "is neither words nor a datetime", remedy, given=at)
    trigger = _phrase(at, when, now)
    if trigger.recurs:
        other = f'every="{_EVERY.sub("", at, count=1)}"'
        raise refused(PhraseError, "at", f'"{at}"', "recurs", f"Write {other}.", given=at, suggestion=other)
    return trigger


def _instant(at: datetime, when: When, now: datetime) -> Trigger:
    if at.tzinfo is None or at.utcoffset() is None:
        naive = f"datetime({at.year}, {at.month}, {at.day}, {at.hour}, {at.minute})"
        raise refused(TriggerError, "at", naive, "has no zone", NO_ZONE, given=at)
    instant = _whole_second(at)
    if instant < now - timedelta(seconds=1):
        age = (now - at) / MILLISECOND + when.late_ms
        past, trouble = f"{at.astimezone(UTC):%Y-%m-%d %H:%M} UTC", f"passed {age_text(age)} ago"
        remedy = 'late="run" allows a day. ' * bool(when.late_ms) + "Give a later time, or use schedule.add_now."
        raise refused(TriggerError, "at", past, trouble, remedy, given=at)
    return once(instant, tz=when.zone)


def _in(given: Any, when: When, now: datetime) -> Trigger:
    if isinstance(given, timedelta):
        return soonest((now + given).astimezone(UTC), tz=when.zone) if given > timedelta() else _not_later(given)
    if not isinstance(given, str):
        raise not_a_length("in_", given, accepted='"5 minutes" or a timedelta')
    trigger = _phrase(given, when, now, lead="in")
    if trigger.recurs:
        other = f'every="{given}"'
        raise refused(PhraseError, "in_", f'"{given}"', "recurs", f"Write {other}.", given=given, suggestion=other)
    try:
        _phrase(f"in {_IN.sub('', given, count=1)}", when, now)
    except PhraseError as error:
        other, trouble = f'at="{given}"', "is not a duration"
        raise refused(
            PhraseError, "in_", f'"{given}"', trouble, f"Write {other}.", given=given, suggestion=other
        ) from error
    return trigger


def _not_later(given: timedelta) -> NoReturn:
    raise refused(TriggerError, "in_", repr(given), "is not later than now", "Use schedule.add_now.", given=given)


def _every(given: Any, when: When, now: datetime) -> Trigger:
    if isinstance(given, timedelta):
        given = _words(given)
    if not isinstance(given, str):
        raise not_a_length("every", given, accepted='"weekday at 9am", "5 minutes" or a timedelta')
    trigger = _phrase(given, when, now, lead="every")
    if not trigger.recurs:
        other = f'at="{given}"'
        raise refused(
            PhraseError, "every", f'"{given}"', "happens once", f"Write {other}.", given=given, suggestion=other
        )
    return trigger


def _phrase(
    given: str,
    when: When,
    now: datetime,
    *,
    lead: Literal["every", "in"] | None = None,
) -> Trigger:
    from workkit.triggers.english import phrase

    return phrase.parse(given, now=now, tz=when.zone, lead=lead)


def _words(period: timedelta) -> str:
    seconds = period.total_seconds()
    if seconds >= 1 and seconds % 86_400 == 0:
        days = int(seconds) // 86_400
        other = f'every="{"day" if days == 1 else f"{days} days"} at 9am"'
        if days % 7 == 0:
            other += f', or every="{"" if days == 7 else f"{days // 7} weeks on "}monday at 9am"'
        trouble = "is a day or more: at which hour?"
        raise refused(TriggerError, "every", repr(period), trouble, f"Write {other}.", given=period)
    if seconds < 1 or seconds != int(seconds):
        raise refused(TriggerError, "every", repr(period), "is not a number of whole seconds", given=period)
    for unit, size in (("hours", 3600), ("minutes", 60), ("seconds", 1)):
        if seconds % size == 0:
            return f"{int(seconds) // size} {unit}"
    raise AssertionError("a second divides every whole number of seconds")


def _cron(text: Any, when: When) -> Trigger:
    if not isinstance(text, str):
        raise refused(CronError, "cron", repr(text), "is not a text", 'Write cron="* * * 1-5 9 0 0".', given=text)
    seven = len(text.split()) == 7
    if seven and when.tz is not None and str(when.tz) != "UTC":
        trouble = f'with cron="{text}": seven fields are always UTC'
        remedy = 'Say every="weekday at 9am", or five fields: "0 9 * * 1-5".'
        raise refused(CronError, "tz", f'"{when.tz}"', trouble, remedy, given=text)
    if seven and when.dialect == "cuckoo":
        return cron(text, dialect="cuckoo")
    return cron(text, dialect="auto", tz=when.zone)


def _never(kind: str, given: Any, trigger: Trigger) -> NoReturn:
    why = trigger.why_never()
    if kind == "cron" or (kind == "when" and looks_like_cron(given)):
        raise refused(CronError, kind, f'"{given}"', f"never fires: {why}", given=given)
    raise refused(PhraseError, kind, f'"{given}"', f": {why}", given=given)


def _whole_second(t: datetime) -> datetime:
    t = t.astimezone(UTC)
    return t if not t.microsecond else t.replace(microsecond=0) + timedelta(seconds=1)


AHEAD = timedelta(days=731)
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


def touched(trigger: Trigger, change: ClockChange) -> datetime | None:
    """Return the first local time of a recurring trigger that a change of its clock leaves out or shows twice, as if it
    were UTC; None if there is none. No change affects a rule that names every hour: it goes by elapsed time.
    """
    if trigger.cron is not None or trigger.tz != change.tz or not trigger.recurs:
        return None
    interval = trigger.interval
    read = (plain(rule) if interval else parse_cron(rule, stored=True, rule=True) for rule in trigger.rules)
    start, end = sorted((change.second + change.before, change.second + change.after))
    named = (cron.next(start - 1) for cron in read if not names_every_hour(cron))
    wall = min((second for second in named if second is not None and second < end), default=None)
    if wall is None or not (interval is None or interval.wall_number(wall) % interval.n == interval.phase):
        return None
    return _EPOCH + timedelta(seconds=wall)


def with_skipped(trigger: Trigger, *, after: datetime) -> Trigger:
    """Add a warning to a recurring trigger if a clock change leaves out one of its local times.

    Looks two years ahead of `after` (aware). Such a run is due at the end of the gap (spec/cron.md, clock changes).
    """
    if trigger.cron is not None or trigger.tz == "UTC" or not trigger.recurs:
        return trigger
    for change in clock_changes(trigger.tz, after, after + AHEAD):
        if change.skips and (wall := touched(trigger, change)) is not None:
            sentence = _sentence(trigger.tz, wall, change)
            known = sentence in trigger.warnings
            return trigger if known else replace(trigger, warnings=(*trigger.warnings, sentence))
    return trigger


def _sentence(tz: str, wall: datetime, change: ClockChange) -> str:
    end = time_text(change.wall_to)
    return (
        f"{time_text(wall)} on {full_date_text(wall)} does not exist in {tz}: "
        f"clocks go from {time_text(change.wall_from)} to {end} then. It runs at {end} that day."
    )
