"""Words that stand for other words of the grammar: tmrw, m-f, business day, christmas eve, xmas, eom.

Each is exchanged when a phrase is cut into tokens, so that no clause has to know it.
"""

from __future__ import annotations

from typing import Final

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
"""Pieces of text, and the pieces that stand for them."""

LONGEST: Final = max(map(len, SYNONYMS))
