"""The answer below a *When?* box: how the words were read, the next times, and remarks about them. Pure."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from functools import lru_cache
from typing import Any, Final

from workkit.contract.inspector import Named
from workkit.errors import CronError, Invalid, PhraseError, TriggerError
from workkit.text.glance import away
from workkit.text.wording import MILLISECOND, iso
from workkit.triggers import Trigger, cron, explain
from workkit.triggers.crons.grammars import looks_like_cron
from workkit.triggers.when import When, read_when
from workkit.triggers.zone import zone as read_zone
from workkit.web.charts.year import Weeks, weeks
from workkit.web.forecast import HERD
from workkit.web.words import city

LONGEST: Final = 1_000  # characters; longest text of a time
COMING: Final = 6
MOST_REMARKS: Final = 4
MOST_COUNTED: Final = 500  # most runs of a week that are counted
MOST_LOOKED: Final = 1_000  # most other jobs that are checked for a start in the same second
OFTEN: Final = timedelta(seconds=10)
RARELY: Final = timedelta(days=180)
PUT_OFF: Final = "5 minutes"
WORD: Final = re.compile(r"\S+")


@dataclass(frozen=True, slots=True, kw_only=True)
class TimeRemark:
    """A remark: its head, the rest, and the spread that would help."""

    head: str
    more: str = ""
    spread: str = ""

    @property
    def says(self) -> str:
        """Both sentences."""
        return f"{self.head} {self.more}".strip()


@dataclass(frozen=True, slots=True, kw_only=True)
class Misread:
    """A text with an error: the parts before, at and after the error, the sentence, and a suggestion."""

    before: str
    place: str
    after: str
    sentence: str
    suggestion: str
    error: Invalid

    def record(self) -> dict[str, Any]:
        """Return the error as a JSON object."""
        names = ("given", "position", "accepted", "suggestion")
        return {"error": str(self.error), **{name: getattr(self.error, name) for name in names}}


@dataclass(frozen=True, slots=True, kw_only=True)
class Answer:
    """The meaning of a text as a time. `trigger` None: the text is empty or has an error."""

    given: str
    tz: str
    trigger: Trigger | None = None
    words: str = ""
    five: str = ""
    seven: str = ""
    note: str = ""
    coming: tuple[datetime, ...] = ()
    weeks: Weeks | None = None
    has_before: bool = False
    remarks: tuple[TimeRemark, ...] = ()
    misread: Misread | None = None

    def record(self) -> dict[str, Any]:
        """Return the view as a JSON object."""
        known: dict[str, Any] = {
            "given": self.given,
            "tz": self.tz,
            "understood": self.trigger is not None,
            "words": self.words or None,
            "cron": self.seven or None,
            "five_fields": self.five or None,
            "recurs": None if self.trigger is None else self.trigger.recurs,
            "next": [iso(at) for at in self.coming],
            "remarks": [{"sentence": one.says, "spread": one.spread or None} for one in self.remarks],
        }
        return known if self.misread is None else known | self.misread.record()


def read_text(text: str, *, tz: str, now: datetime) -> Trigger:
    """Read words or a cron string in a zone. Seven fields are always UTC. Raises an Invalid."""
    if len(text) > LONGEST:
        trouble, remedy = f"has {len(text):,} characters", f"Accepted: at most {LONGEST:,}."
        raise PhraseError.about("The time", trouble, remedy, given=text[:LONGEST], accepted=f"{LONGEST} characters")
    read_zone(tz)
    return read_when(When(when=text, default_tz=tz), now=now)


@lru_cache(maxsize=2_000)
def time_words(trigger: Trigger, now: datetime) -> str | None:
    """Return the time of a job in words, or as a cron string, so that it reads back as the same time in its zone,
    without its bounds; None where neither does.
    """
    bare = replace(trigger, start=None, end=None, warnings=())
    written = explain(bare, zone=False).removesuffix(f" {trigger.tz}")
    rule = trigger.rules[0] if len(trigger.rules) == 1 and trigger.interval is None else None
    found = (text for text in (written, trigger.cron or rule, _five(bare)) if text)
    return next((text for text in found if _reads_back(text, bare, now)), None)


def _reads_back(text: str, trigger: Trigger, now: datetime) -> bool:
    try:
        found = read_when(When(when=text, tz=trigger.tz), now=now)
    except TriggerError:
        return False
    # its stored form depends on its rules and bounds
    return replace(found, warnings=(), cron=trigger.cron, stored=trigger.stored) == trigger


def answer(
    text: str,
    *,
    tz: str,
    now: datetime,
    before: Trigger | None = None,
    others: Iterable[Named] = (),
    threads: int = 0,
    spread: str = "",
) -> Answer:
    """Answer a text. `before`: the time that it replaces; `others`: the jobs beside it; `spread`: that of the job."""
    if not text.strip():
        return Answer(given="", tz=tz)
    try:
        trigger = read_text(text, tz=tz, now=now)
    except Invalid as error:
        return Answer(given=text[:LONGEST], tz=tz, misread=misread(text[:LONGEST], error))
    coming = tuple(trigger.upcoming(now - timedelta(seconds=1), COMING))
    remarks = [TimeRemark(head=warning) for warning in trigger.warnings]
    remarks += _herd(coming, others, tz=tz, threads=threads, spread=spread)
    remarks += _against(trigger, before, now=now)
    remarks += _pace(trigger, coming, now=now)
    five, seven, note = _crons(trigger)
    return Answer(
        given=text,
        tz=tz,
        trigger=trigger,
        words=explain(trigger),
        five=five,
        seven=seven,
        note=note,
        coming=coming,
        weeks=weeks(trigger, before, now=now, zone=read_zone(tz)) if trigger.recurs else None,
        has_before=before is not None,
        remarks=tuple(remarks[:MOST_REMARKS]),
    )


def misread(text: str, error: Invalid) -> Misread:
    """Return the place of an error in a text: the word at its position."""
    at = error.position if error.given == text else None
    word = None if at is None else WORD.match(text, at)
    begin, end = word.span() if word else (len(text), len(text))
    place = text[begin:end]
    is_word = place and error.trouble == "is not understood"
    sentence = f"“{place}” is not understood." if is_word else str(error).partition(" Try: ")[0]
    suggestion = error.suggestion if isinstance(error.suggestion, str) else ""
    if not is_word and f'Did you mean "{suggestion}"?' in sentence:
        sentence = sentence.replace(f' Did you mean "{suggestion}"?', "")
    return Misread(
        before=text[:begin], place=place, after=text[end:], sentence=sentence, suggestion=suggestion, error=error
    )


def _crons(trigger: Trigger) -> tuple[str, str, str]:
    """Return the time as cron with five fields and with seven where possible, and the reason where seven are not."""
    if not trigger.recurs:
        return "", "", ""
    five = _five(trigger)
    if trigger.cron is not None:
        return five, trigger.cron, ""
    if trigger.interval is not None or trigger.tz == "UTC":
        return five, "", "No seven-field cron can say it."
    return five, "", f"No seven-field cron can say it: they are UTC, and {city(trigger.tz)} changes its clock."


def _five(trigger: Trigger) -> str:
    if len(trigger.rules) != 1 or trigger.interval is not None or trigger.start or trigger.end:
        return ""
    year, month, day, weekday, hour, minute, second = trigger.rules[0].split(" ")
    if (year, second) != ("*", "0"):
        return ""
    text = f"{minute} {hour} {day} {month} {weekday}"
    try:
        same = cron(text, "auto", tz=trigger.tz)
    except CronError:
        return ""
    return text if same.rules == trigger.rules else ""


def _herd(
    coming: tuple[datetime, ...], others: Iterable[Named], *, tz: str, threads: int, spread: str
) -> list[TimeRemark]:
    if not coming:
        return []
    at, count = coming[0], 0
    for looked, other in enumerate(others):
        if looked >= MOST_LOOKED:
            break
        trigger = other.job.trigger
        count += other.job.due == at or (trigger is not None and trigger.next_after(at - timedelta(seconds=1)) == at)
    if count < min(HERD, max(threads, 1)) or count < 2:
        return []
    head = f"{count:,} other jobs start at {at.astimezone(read_zone(tz)):%H:%M:%S}."
    more = f"With {threads:,} threads this one may start late." if 0 < threads <= count else ""
    return [TimeRemark(head=head, more=more, spread="" if spread else PUT_OFF)]


def _against(trigger: Trigger, before: Trigger | None, *, now: datetime) -> list[TimeRemark]:
    if before is None or not (before.recurs and trigger.recurs):
        return []
    was, will = _in_a_week(before, now), _in_a_week(trigger, now)
    if was == will:
        return []
    head = f"{_count(will)} runs a week instead of {_count(was)}."
    return [TimeRemark(head=head, more=f"Before: {explain(before)}.")]


def _in_a_week(trigger: Trigger, now: datetime) -> int:
    at, end, count = now, now + timedelta(days=7), 0
    while count < MOST_COUNTED and (following := trigger.next_after(at)) is not None and following <= end:
        at, count = following, count + 1
    if count < MOST_COUNTED:
        return count
    return round(count * timedelta(days=7) / (at - now))


def _count(runs: int) -> str:
    return f"{runs:,}" if runs < MOST_COUNTED else f"about {runs:,}"


def _pace(trigger: Trigger, coming: tuple[datetime, ...], *, now: datetime) -> list[TimeRemark]:
    if not trigger.recurs or not coming:
        return []
    if len(coming) > 1 and (gap := coming[1] - coming[0]) < OFTEN:
        runs = round(timedelta(days=1) / gap)
        return [
            TimeRemark(head=f"It runs every {away(gap / MILLISECOND)}:", more=f"{runs:,} times a day, if so all day.")
        ]
    if coming[0] - now > RARELY:
        return [TimeRemark(head=f"Its next run is in {(coming[0] - now).days:,} days.")]
    if len(coming) > 1 and coming[1] - coming[0] > RARELY:
        return [
            TimeRemark(head=f"It runs rarely: {(coming[1] - coming[0]).days:,} days lie between its next two runs.")
        ]
    if len(coming) == 1:
        return [TimeRemark(head="It runs once more, and then never again.")]
    return []


def is_seven(text: str) -> bool:
    """Return whether a text is a cron string with seven fields, which is always UTC."""
    return looks_like_cron(text) and len(text.split()) == 7
