"""The vocabulary of phrases, the synonyms (tmrw, m-f, xmas, eom), and the cutting into tokens.

This module defines the words and their meanings; the grammar defines how they combine.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Final, Literal

from workkit.errors import PhraseError
from workkit.text.wording import MONTH_NAMES, WEEKDAY_NAMES

HOLIDAYS: Final[dict[str, str]] = {
    **dict.fromkeys(("christmas", "christmas day", "xmas", "xmas day"), "25 december"),
    **dict.fromkeys(("christmas eve", "xmas eve"), "24 december"),
    "boxing day": "26 december",
    **dict.fromkeys(("new year's eve", "new years eve", "new year eve", "nye"), "31 december"),
    **dict.fromkeys(("new year's day", "new years day", "new year day"), "1 january"),
    "halloween": "31 october",
    **dict.fromkeys(("valentine's day", "valentines day", "valentine's", "valentines"), "14 february"),
}
"""Holidays with a date of their own."""

MOVABLE_HOLIDAYS: Final = frozenset(
    (
        *("easter", "easter monday", "easter sunday", "good friday", "pentecost", "whitsun", "thanksgiving"),
        *("thanksgiving day", "black friday", "cyber monday", "mother's day", "mothers day", "father's day"),
        *("fathers day", "labor day", "labour day", "memorial day", "bank holiday", "holiday", "holidays"),
        *("spring", "summer", "autumn", "winter", "full moon", "new moon"),
        *("ramadan", "eid", "diwali", "hanukkah", "passover", "independence day"),
    )
)
"""Holidays whose date differs from year to year, or from place to place."""

_WORDS: Final[dict[str, str]] = {
    **dict.fromkeys(("tmrw", "tmr", "tmw", "tmrow", "2 moro"), "tomorrow"),
    "tonite": "tonight",
    **dict.fromkeys(("right now", "immediately", "at once", "straight away"), "now"),
    "uhr": "o'clock",
    "p": "pm",
    **dict.fromkeys(("working day", "business day", "work day"), "workday"),
    **dict.fromkeys(("working days", "business days", "work days"), "workdays"),
    "week day": "weekday",
    "week days": "weekdays",
    **dict.fromkeys(("m - f", "mo - fr", "mtwtf"), "mon - fri"),
    **dict.fromkeys(("m - th", "mo - th"), "mon - thu"),
    **dict.fromkeys(("m - w - f", "mwf", "m/w/f"), "mon , wed , fri"),
    "tu - th": "tue - thu",
    "sa - su": "sat - sun",
    "m/w": "mon , wed",
    **dict.fromkeys(("t/th", "tu/th"), "tue , thu"),
    "everyday": "every day",
    "nightly": "every night",
    **dict.fromkeys(("half - hour", "1/2 hour"), "half hour"),
    **dict.fromkeys(("quarter hour", "quarter - hour"), "quarter of an hour"),
    "every half minute": "every 30 seconds",
    **dict.fromkeys(("every half year", "semiannually", "semi - annually", "half - yearly"), "every 6 months"),
    "bi - weekly": "biweekly",
    "bi - monthly": "bimonthly",
    **dict.fromkeys(("semi - monthly", "semimonthly"), "twice monthly"),
    "alternate": "other",
    **dict.fromkeys(("excluding", "except for", "apart from", "other than", "save for"), "except"),
    **dict.fromkeys(("this coming", "the coming", "coming"), "on"),
    "thru": "through",
    "thrice": "three times",
    "hence": "from now",
    **dict.fromkeys(("m thru f", "m through f", "m to f"), "mon - fri"),
    "up to": "to",
    **dict.fromkeys(("at the top of the hour", "the top of the hour", "top of the hour"), "on the hour"),
    **dict.fromkeys(("at the bottom of the hour", "bottom of the hour"), "on the half hour"),
    **dict.fromkeys(("at the top of every hour", "top of every hour", "at the top of each hour"), "every hour"),
    "eom": "end of month",
    "eow": "end of week",
    "eoq": "end of quarter",
    "eoy": "end of year",
    **dict.fromkeys(("month end", "month - end", "months end", "month's end"), "end of month"),
    **dict.fromkeys(("quarter end", "quarter - end"), "end of quarter"),
    **dict.fromkeys(("year end", "year - end"), "end of year"),
}
_PARTS: Final = ("morning", "afternoon", "evening", "night")
_DAYS: Final = ("monday", "tuesday", "wednesday", "thursday", "friday", "saturday", "sunday", "weekday", "weekend")
_MORNINGS: Final = (
    {f"{part}s": f"every {part}" for part in _PARTS}
    | {f"in the {part}s": f"every {part}" for part in _PARTS}
    | {f"{day} {part}s": f"every {day} {part}" for day in _DAYS for part in _PARTS}
)
_ALTERNATE: Final = {
    f"{word} {day}s": f"every other {day}"
    for word in ("alternate", "alternating")
    for day in (*_DAYS[:7], "day", "week")
}
_NEXT_HOLIDAYS: Final = {f"{near} {day}": date for near in ("next", "this") for day, date in HOLIDAYS.items()}
SYNONYMS: Final[dict[tuple[str, ...], tuple[str, ...]]] = {
    tuple(words.split()): tuple(meaning.split())
    for words, meaning in (_WORDS | _MORNINGS | _ALTERNATE | HOLIDAYS | _NEXT_HOLIDAYS).items()
}
"""Pieces of text, and the pieces that replace them."""

LONGEST: Final = max(map(len, SYNONYMS))


MAX_LENGTH: Final = 200

WEEKDAYS: Final = {name.lower(): n for n, name in enumerate(WEEKDAY_NAMES)} | {
    "sun": 0,
    "mon": 1,
    "tue": 2,
    "tues": 2,
    "wed": 3,
    "thu": 4,
    "thur": 4,
    "thurs": 4,
    "fri": 5,
    "sat": 6,
}
PLURAL_WEEKDAYS: Final = {f"{name.lower()}s": n for n, name in enumerate(WEEKDAY_NAMES)}
WEEKDAY_GROUPS: Final = {"weekday": (1, 2, 3, 4, 5), "workday": (1, 2, 3, 4, 5), "weekend": (0, 6)}
MONTHS: Final = (
    {name.lower(): n for n, name in enumerate(MONTH_NAMES, 1)}
    | {name[:3].lower(): n for n, name in enumerate(MONTH_NAMES, 1)}
    | {"sept": 9}
)

Unit = Literal["second", "minute", "hour", "day", "week", "fortnight", "month", "quarter", "year"]
UNITS: Final[dict[str, Unit]] = {
    **dict.fromkeys(("s", "sec", "secs", "second", "seconds"), "second"),
    **dict.fromkeys(("m", "min", "mins", "minute", "minutes"), "minute"),
    **dict.fromkeys(("h", "hr", "hrs", "hour", "hours"), "hour"),
    **dict.fromkeys(("d", "day", "days"), "day"),
    **dict.fromkeys(("w", "week", "weeks"), "week"),
    **dict.fromkeys(("fortnight", "fortnights"), "fortnight"),
    **dict.fromkeys(("mo", "month", "months"), "month"),
    **dict.fromkeys(("quarter", "quarters"), "quarter"),
    **dict.fromkeys(("year", "years"), "year"),
}
SECONDS: Final[dict[str, int]] = {"second": 1, "minute": 60, "hour": 3600}

ADVERBS: Final[dict[str, tuple[int, Unit]]] = {
    "minutely": (1, "minute"),
    "hourly": (1, "hour"),
    "daily": (1, "day"),
    "weekly": (1, "week"),
    "fortnightly": (2, "week"),
    "monthly": (1, "month"),
    "quarterly": (3, "month"),
    "yearly": (1, "year"),
    "annually": (1, "year"),
}

_SMALL = "one two three four five six seven eight nine ten eleven twelve thirteen fourteen fifteen sixteen seventeen"
NUMBERS: Final = {word: n for n, word in enumerate((*_SMALL.split(), "eighteen", "nineteen"), 1)}
TENS: Final = {
    w: n * 10 for n, w in enumerate(["twenty", "thirty", "forty", "fifty", "sixty", "seventy", "eighty", "ninety"], 2)
}
ORDINALS: Final = {word: n for n, word in enumerate(("first", "second", "third", "fourth", "fifth"), 1)}
NAMED_TIMES: Final = {"noon": 12 * 3600, "midday": 12 * 3600, "midnight": 0}
RELATIVE_DAYS: Final = {"yesterday": -1, "today": 0, "tonight": 0, "tomorrow": 1}
TO: Final = ("to", "-", "through")
PARTS: Final = ("morning", "afternoon", "evening", "night")

ZONE_ABBREVIATIONS: Final[dict[str, str]] = {
    **dict.fromkeys(("est", "edt", "et"), "America/New_York"),
    **dict.fromkeys(("cst", "cdt", "ct"), "America/Chicago"),
    **dict.fromkeys(("mst", "mdt"), "America/Denver"),
    **dict.fromkeys(("pst", "pdt", "pt"), "America/Los_Angeles"),
    **dict.fromkeys(("bst", "wet"), "Europe/London"),
    **dict.fromkeys(("cet", "cest"), "Europe/Paris"),
    **dict.fromkeys(("eet", "eest"), "Europe/Helsinki"),
    "msk": "Europe/Moscow",
    "ist": "Asia/Kolkata",
    "jst": "Asia/Tokyo",
    "kst": "Asia/Seoul",
    "gmt": "UTC",
    "hkt": "Asia/Hong_Kong",
    "sgt": "Asia/Singapore",
    "pkt": "Asia/Karachi",
    **dict.fromkeys(("aest", "aedt"), "Australia/Sydney"),
    **dict.fromkeys(("nzst", "nzdt"), "Pacific/Auckland"),
}

_GLUE = """
    a after ago am an and any at before beginning between but during each end ending every except from half in last
    next not now o'clock of on once only or other past per pm start starting the this through till times to twice until
    utc
"""
VOCABULARY: Final = frozenset(
    {
        *_GLUE.split(),
        *WEEKDAYS,
        *PLURAL_WEEKDAYS,
        *WEEKDAY_GROUPS,
        *(f"{group}s" for group in WEEKDAY_GROUPS),
        *MONTHS,
        *UNITS,
        *ADVERBS,
        *NUMBERS,
        *TENS,
        *ORDINALS,
        *NAMED_TIMES,
        *RELATIVE_DAYS,
        *PARTS,
        *("a.m.", "p.m.", "t", "z", "nights", "mornings", "evenings", "afternoons"),
        *(word for words in SYNONYMS for word in words if word.isalpha()),
    }
)
"""Every word of the grammar; any other word is misspelt or foreign."""

Kind = Literal[
    "word", "number", "ordinal", "clock", "minute", "date", "stamp", "slashed", "offset", "period", "epoch", "zone",
    "sign", "other", "end",
]  # fmt: skip


@dataclass(frozen=True, slots=True, kw_only=True)
class Token:
    """A piece of a phrase: `text` in lower case, from `start` to `end` in the user's text."""

    kind: Kind
    text: str
    start: int
    end: int


_TOKEN = re.compile(
    r"""
      (?P<stamp>\d{8}t\d{6}z?(?![a-z0-9]))
    | (?P<date>\d{4}-\d\d?-\d\d?(?![\d-])|\d{4}/\d\d?/\d\d?(?![\d/]))
    | (?P<slashed>\d+(?:/\d+)+|\d+-\d+-\d+|\d+\.\d+\.\d+)
    | (?P<clock>\d\d?:\d\d(?::\d\d(?:\.\d{1,9})?)?(?![\d:.])|\d\d?h\d\d(?![a-z0-9]))
    | (?P<minute>:\d\d(?!\d))
    | (?P<ordinal>\d+(?:st|nd|rd|th)(?![a-z0-9]))
    | (?P<offset>(?:utc|gmt)\s?[+-]\d\d?(?::?\d\d)?(?![\d:apm])|[+-]\d\d:?\d\d(?!\d)|\+\d\d?(?![\d:])|-\d\d?(?=\s*$))
    | (?P<period>p(?=\d|t\d)(?:\d+[ymwd])*(?:t(?:\d+[hms])+)?(?![a-z0-9]))
    | (?P<zone>[a-z][a-z_]*(?:/[a-z0-9_+-]+)+)
    | (?P<point>\d\d?\.(?:\d\d?\.)?(?=\s|$))
    | (?P<number>\d+(?:\.\d+)?)
    | (?P<lead>@every(?![a-z]))
    | (?P<short>(?:sun|mon|tues?|wed|thu(?:rs?)?|fri|sat|jan|feb|mar|apr|jun|jul|aug|sept?|oct|nov|dec)\.(?![a-z.]))
    | (?P<word>[ap]\.m\.|[a-z]+(?:'[a-z]+)?|@(?=\s|\d\d?(?::\d\d)?\s?[ap]m|\d\d?:\d\d))
    | (?P<epoch>@\d+(?![a-z0-9]))
    | (?P<sign>[,&-])
    | (?P<other>\S[^\s,]*)
    """,
    re.VERBOSE,
)
_FOREIGN = re.compile(r"[^ -~\t\n]")


def quote(text: str) -> str:
    """Quote `text` for a message: one line of at most 80 characters, with escapes for invisible characters."""
    shown = "".join(c if " " <= c <= "~" else c.encode("unicode_escape").decode() for c in text[:80])
    return f'"{shown[:80]}{"..." if len(text) > 80 or len(shown) > 80 else ""}"'


def tokens(text: str) -> list[Token]:
    """Cut `text` into tokens; blanks only separate. Raise PhraseError if it is too long or not printable ASCII."""
    if foreign := _FOREIGN.search(text[:MAX_LENGTH]):
        at, what = foreign.start(), quote(foreign.group())
        raise PhraseError(
            f"{quote(text)}: {what} (column {at + 1}) is not a plain ASCII character. Write it in ASCII letters.",
            given=text,
            position=at,
            accepted="ASCII letters, digits, blanks, , : - / + & @ '",
        )
    if len(text) > MAX_LENGTH:
        raise PhraseError(
            f"{quote(text)} has {len(text)} characters. Say it in at most {MAX_LENGTH}.",
            given=text,
            position=MAX_LENGTH,
            accepted=f"at most {MAX_LENGTH} characters",
        )
    found: list[Token] = []
    at, low = 0, text.lower()
    while match := _TOKEN.search(low, at):
        kind, start, at = match.lastgroup, match.start(), match.end()
        if kind == "offset" and not _after_an_instant(found, low[start:at], start=start):
            kind, at = "sign", start + 1
        spelt = _spelt(low[start:at], kind)
        kind = {"short": "word", "lead": "word", "point": "number"}.get(kind or "", kind)
        found.append(Token(kind=kind, text=spelt, start=start, end=at))  # type: ignore[arg-type]
    return _exchanged(found)


def _spelt(text: str, kind: str | None) -> str:
    """Write 19h30 as 19:30, mon. as mon, 24. as 24, @every as every, and @ before an hour as at."""
    if kind == "clock":
        return text.replace("h", ":")
    if kind in ("short", "point", "lead"):
        return text.strip("@.")
    return "at" if text == "@" else text


def _after_an_instant(found: list[Token], text: str, *, start: int) -> bool:
    """Return whether +02:00 here is an offset, not the second half of 9:00-17:00.

    "UTC-5" always is an offset, and so is a text after a full date and hour. Elsewhere an offset has a plus, or a blank
    before -05:00.
    """
    if not text.startswith("-") or (found and found[-1].end < start and re.fullmatch(r"-0\d:?\d\d", text)):
        return bool(found)
    match found[-3:]:
        case [*_, Token(kind="date"), Token(kind="clock")]:
            return True
        case [*_, Token(text="t"), Token(kind="clock", end=end)]:
            return end == start
    return False


def _exchanged(found: list[Token]) -> list[Token]:
    """Replace synonyms, the longest first. A replacement has the place of the original piece in the text."""
    result: list[Token] = []
    at = 0
    while at < len(found):
        for length in range(min(LONGEST, len(found) - at), 0, -1):
            meaning = SYNONYMS.get(tuple(token.text for token in found[at : at + length]))
            if meaning is not None:
                start, end = found[at].start, found[at + length - 1].end
                result += [Token(kind=_kind(text), text=text, start=start, end=end) for text in meaning]
                at += length
                break
        else:
            result += _weekdays_apart(found[at])
            at += 1
    return result


def _kind(text: str) -> Kind:
    return "number" if text.isdigit() else "word" if text.isalpha() else "sign"


def _weekdays_apart(token: Token) -> list[Token]:
    """Cut tue/thu, which has the form of a zone."""
    words = token.text.split("/")
    if token.kind != "zone" or not all(word in WEEKDAYS for word in words):
        return [token]
    cut = " , ".join(words).split()
    return [Token(kind=_kind(text), text=text, start=token.start, end=token.end) for text in cut]
