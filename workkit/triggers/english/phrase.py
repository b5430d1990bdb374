"""Convert English about times to a Trigger. A phrase is understood whole, or refused with the reason.

The grammar is normative in spec/phrases.md. Clauses may have any order; each occurs once. Reads no clock: `now` is
passed in.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from functools import lru_cache
from typing import Final, Literal
from zoneinfo import ZoneInfo

from workkit.errors import CronError, PhraseError, TriggerError
from workkit.text.wording import offset_text
from workkit.triggers.crons.field import FIRST_YEAR, LAST_YEAR
from workkit.triggers.crons.grammars import looks_like_cron
from workkit.triggers.english import bounds
from workkit.triggers.english.bounds import from_a_day, next_day, numeric
from workkit.triggers.english.clock import in_part, part, times, window
from workkit.triggers.english.dates import dated, exception, put_date, relative, weekdays, year_number
from workkit.triggers.english.every import adverb, every, times_a
from workkit.triggers.english.here import Here, of_once
from workkit.triggers.english.marks import hour_marks, refuse_clock
from workkit.triggers.english.months import ends, month_of, next_month, place_of_month, spans
from workkit.triggers.english.numbers import amount, with_suggestion
from workkit.triggers.english.once import instant_meant
from workkit.triggers.english.reader import EXAMPLES, Amount, Misread, Parts, Reader, without_offer
from workkit.triggers.english.recurring import recurring
from workkit.triggers.english.unread import unread, vague
from workkit.triggers.english.words import SECONDS, WEEKDAY_GROUPS, WEEKDAYS, quote
from workkit.triggers.trigger import Trigger, published, soonest
from workkit.triggers.zone import zone as zone_of

Clause = Callable[[Reader, Parts], Parts | None]
_BEGINNING: Final = datetime(1970, 1, 1, tzinfo=UTC)
_SEVEN: Final = "Say seven fields: year month day-of-month day-of-week hour minute second"
_HINTS: Final = {
    1: 'Say "daily" or "every hour", or give it as cron=',
    5: 'Say "every monday at 9am", or give a crontab line as cron=',
}


def parse(
    text: str,
    *,
    now: datetime,
    tz: str | ZoneInfo = "UTC",
    lead: Literal["every", "in"] | None = None,
) -> Trigger:
    """Read words about time, relative to the aware `now`, on the wall clock of `tz`.

    Seven fields are a published cron string in UTC, whatever `tz` is. `lead` is a word that the text may leave out in
    front. Raise PhraseError for a text that is not understood whole, TriggerError if `now` has no zone or `tz` is no
    zone.
    """
    zone = zone_of(tz)
    if not isinstance(text, str):
        raise TriggerError(f"{quote(repr(text))} is not words. Say it as text, or give a datetime.", given=text)
    here = Here(text=text, now=_present(now), zone=zone)
    if lead is None:
        return _suggesting(here)
    try:
        return _suggesting(here, lead=lead)
    except PhraseError as with_lead:
        try:
            found = _suggesting(here)
        except PhraseError as without:
            misread = isinstance(with_lead, Misread)
            unfit = misread and with_lead.position == 0
            further = misread and (without.position or 0) > (with_lead.position or 0)
            raise (without if unfit or further else with_lead) from None
        if lead == "every" and not found.recurs and (not isinstance(with_lead, Misread) or is_bare_length(here.text)):
            raise  # the user wants it to recur
        return found


def is_bare_length(text: str) -> bool:
    """Return whether words that `parse` understands name a length with neither "in" nor "every": "5 minutes"."""
    return names_length(text) and not _parts(text, None)[-1].ahead


def names_length(text: str) -> bool:
    """Return whether words that `parse` understands count a length from now: "in 5 minutes", "in 3 days at 9am"."""
    return _parts(text, None)[-1].amount is not None


def _suggesting(here: Here, *, lead: str | None = None) -> Trigger:
    try:
        return _parsed(here, lead=lead)
    except Misread as trouble:
        raise with_suggestion(
            trouble,
            lambda other: _parsed(replace(here, text=other), lead=lead),
            command="workkit next" if lead is None else None,
        ) from None
    except PhraseError as trouble:
        if all(_is_fit(here, text, lead) for text in trouble.offered):
            raise
        raise without_offer(trouble, f"Say for example {EXAMPLES}") from None


def _is_fit(here: Here, text: str, lead: str | None) -> bool:
    """Return whether a text that a refusal offers is understood. A text with a blank to fill in, as YYYY, passes."""
    if "YYYY" in text:
        return True
    for leading in (lead, None):
        try:
            _parsed(replace(here, text=text), lead=leading)
        except PhraseError:
            continue
        return True
    return False


def _present(now: object) -> datetime:
    """Return `now` in UTC, if it is aware and in a supported year."""
    if not isinstance(now, datetime) or now.utcoffset() is None:
        raise TriggerError(f"now={now!r} has no zone. Use datetime.now(UTC).", given=now)
    if not FIRST_YEAR <= now.year < LAST_YEAR:
        raise TriggerError(f"now={now!r} is out of range. Accepted: years {FIRST_YEAR}-{LAST_YEAR - 1}.", given=now)
    return now.astimezone(UTC)


def _parsed(here: Here, *, lead: str | None = None) -> Trigger:
    if looks_like_cron(here.text):
        return _seven_fields(here)
    if not here.text.strip():
        raise here.refusal("says nothing", f"Say for example {EXAMPLES}")
    groups = _parts(here.text, lead)
    last = groups[-1]
    if last.offset is not None and last.every:
        raise _offset_refused(here, last.offset)
    if last.zone is not None:
        here = replace(here, zone=zone_of(last.zone))
    here = replace(here, offset=last.offset)
    try:
        if last.every:
            return recurring(here, groups)
        found = instant_meant(here, last)
        return replace(soonest(found, tz=here.zone.key), warnings=of_once(here, last, found))
    except CronError as cause:
        raise here.refusal("holds too many intervals to combine", "Add two jobs") from cause


def _offset_refused(here: Here, offset: timedelta) -> PhraseError:
    """Make the error about an offset in a recurring phrase: it does not follow the clock changes of any place."""
    hours, rest = divmod(offset, timedelta(hours=1))
    shown = offset_text(offset)
    always = "" if rest or not -12 <= -hours <= 14 else f", or Etc/GMT{-hours:+} for what is always {shown}"
    return here.refusal(
        f"recurs at {shown}, which follows no clock changes", f"Write a zone by its place, such as Europe/Paris{always}"
    )


def _on(reader: Reader, parts: Parts) -> Parts | None:
    """Read "on", and the day that must follow."""
    if not reader.take("on"):
        return None
    mark = reader.i
    for clause in (every, numeric, place_of_month, dated, weekdays, relative):
        found = clause(reader, parts)
        if found is not None:
            return found
        reader.i = mark
    raise reader.stuck()


def _amount(reader: Reader, parts: Parts) -> Parts | None:
    """Read "in 5 minutes", "5 minutes", "5 minutes from now"."""
    mark, start = reader.i, reader.peek()
    ahead = reader.take("in") is not None
    found = amount(reader) or _one_week(reader, parts)
    if found is None:
        reader.i = mark
        return None
    at = mark + 1 if ahead else mark
    refuse_clock(reader, reader.tokens[at], reader.tokens[min(at + 1, len(reader.tokens) - 1)], ahead=ahead)
    if reader.take("ago"):
        raise reader.refusal("is past", "Say a time to come", start=start)
    if found == Amount():
        raise reader.refusal("is no time at all", 'Say "now", or a length of at least a second', start=start)
    if reader.take_all("from", "now"):
        return reader.put(parts, start, amount=found, ahead=True)
    from_day = from_a_day(reader, parts, found, start=start, ahead=ahead)
    return from_day or reader.put(parts, start, amount=found, ahead=ahead)


def _one_week(reader: Reader, parts: Parts) -> Amount | None:
    """Read "week" and "fortnight" without their article: "week from tuesday", "fortnight today"."""
    days = {"week": 7, "fortnight": 14}.get(reader.peek().text)
    if days is None or parts.every or reader.peek(1).text not in ("from", "on", "today", "tomorrow"):
        return None
    reader.next()
    return Amount(days=days)


def _once(reader: Reader, parts: Parts) -> Parts | None:
    """Read the "once," that `explain` writes in front of one instant."""
    if reader.i or not reader.take("once"):
        return None
    reader.take(",")
    return _clause(reader, parts)


def _only(reader: Reader, parts: Parts) -> Parts | None:
    """Read the words after "only": "every day at 9am, but only in december"."""
    reader.take("but")
    return _clause(reader, parts) if parts.every and reader.take("only") else None


def _year(reader: Reader, parts: Parts) -> Parts | None:
    """Read the year of a date behind its hour: "Thu Dec 24 18:00:00 2026"."""
    start = reader.peek()
    if parts.years or not (parts.days and parts.months and parts.times) or (year := year_number(reader)) is None:
        return None
    return put_date(
        reader,
        replace(parts, days=(), months=()),
        start=start,
        days=parts.days,
        months=tuple(m for m, _ in parts.months),
        year=year,
    )


def _now(reader: Reader, parts: Parts) -> Parts | None:
    start = reader.take("now")
    return reader.put(parts, start, now=True) if start else None


def _either(reader: Reader, parts: Parts) -> Parts | None:
    """Read "or any friday": the phrase matches a day of the month or a weekday."""
    start = reader.peek()
    if not parts.days or not reader.take_all("or", "any"):
        return None
    days: list[int] = []
    while (item := reader.take_from(_ANY)) is not None:
        days += item
        mark = reader.i
        reader.take("or")
        reader.take("any")
    if not days:
        raise reader.stuck()
    reader.i = mark
    return reader.put(parts, start, weekdays=tuple((day, 1) for day in dict.fromkeys(days)), either=True, every=True)


_ANY: Final = {name: (day,) for name, day in WEEKDAYS.items()} | WEEKDAY_GROUPS

CLAUSES: Final[tuple[Clause, ...]] = (
    *(next_month, vague, every, ends, adverb, times_a, _once, hour_marks, window, spans, bounds.start, bounds.end),
    *(_only, exception, part, next_day, times, numeric, relative, place_of_month, dated, weekdays, _on, month_of),
    *(bounds.zone_clause, _year, _amount, _now, _either, unread),
)


@lru_cache(maxsize=512)
def _parts(text: str, lead: str | None) -> Sequence[Parts]:
    """Split the phrase into its parts, which do not depend on `now`. Cached, as producers repeat the same words."""
    return _groups(Reader(text, lead=lead))


def _groups(reader: Reader) -> list[Parts]:
    """Read clauses up to the end. "... at 9am and every ..." begins another group, and its rules are added."""
    groups, parts = [], Parts()
    while reader.peek().kind != "end":
        if parts != Parts() and _joint(reader, parts):
            groups.append(in_part(reader, parts))
            parts = Parts()
        parts = _clause(reader, parts)
    parts = in_part(reader, parts)
    if groups and not _is_whole(parts):
        raise reader.refusal("leaves open at which time", "Say the time of each part", start=reader.peek(-1))
    if any(part.zone for part in groups) or (groups and not parts.every):
        raise reader.refusal("mixes what does not go together", "Say it in two jobs", start=reader.peek(-1))
    return [*groups, parts]


def _is_whole(parts: Parts) -> bool:
    sub_day = parts.step is not None and parts.step.unit in SECONDS
    return parts.every and bool(parts.times or parts.marks or sub_day)


def _joint(reader: Reader, parts: Parts) -> bool:
    """Take a comma between clauses. Also take an "and" that begins a new group, and return whether there is one."""
    reader.take(",")
    if _is_whole(parts) and reader.peek().text == "and" and reader.peek(1).text in ("every", "each"):
        reader.next()
        return True
    return False


def _clause(reader: Reader, parts: Parts) -> Parts:
    mark = reader.i
    try:
        for clause in CLAUSES:
            found = clause(reader, parts)
            if found is not None:
                return found
            reader.i = mark
        raise reader.stuck()
    except Misread:
        for refuse in (vague, unread):  # they may recognize the piece that no clause reads
            reader.i = reader.far
            refuse(reader, parts)
        raise


def _seven_fields(here: Here) -> Trigger:
    """Read seven fields in published order, in UTC. Raise PhraseError for another count, and if they never fire."""
    count = len(here.text.split())
    if count != 7:
        what = "is a crontab nickname" if count == 1 else f"has {count} cron fields"
        raise here.refusal(f"{what}; here words are read, or seven fields", _HINTS.get(count, _SEVEN))
    try:
        found = published(here.text)
    except CronError as cause:
        trouble = cause.trouble or ""
        raise PhraseError(
            f"{quote(here.text)}{'' if trouble.startswith(':') else ' '}{trouble}. {cause.remedy}",
            given=here.text,
            position=cause.position,
            trouble=trouble,
            remedy=cause.remedy,
            accepted=cause.accepted,
            suggestion=cause.suggestion,
        ) from cause
    if found.next_after(here.now) is None:
        again = "" if found.next_after(_BEGINNING) is None else " again"
        raise here.refusal(f"never fires{again}: {found.why_never()}")
    return found
