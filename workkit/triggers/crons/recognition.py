"""Tell a cron string from words, by its look, whatever its dialect. The rule is in spec/phrases.md, text."""

from __future__ import annotations

import re
from typing import Final

from workkit.triggers.crons.field import MONTH, WEEKDAY

_NAMES: Final = "|".join(sorted({*MONTH.names, *WEEKDAY.names, "sept", "tues", "thur", "thurs"}, key=len, reverse=True))
_FIELD: Final = re.compile(rf"(?:[\d*?/,#&-]|l(?![a-z])|(?:{_NAMES})(?![a-z]))+")
_NICKNAME: Final = re.compile(r"@[a-z][a-z_-]*")
_LONGEST: Final = 1_000  # characters that are looked at
_LEAST_PLAIN: Final = 3  # fields that begin with a number or a star: words, such as "mon tue wed thu fri", have fewer


def looks_like_cron(text: str) -> bool:
    """Tell whether a text looks like a cron string.

    That is a nickname such as ``@daily``, or words that all are cron fields: five to seven, three of which begin with
    a number, a star, a question mark or are ``L``; or another number from four on, with a star among them.
    """
    fields = text[:_LONGEST].lower().split()
    if len(fields) == 1:
        return bool(_NICKNAME.fullmatch(fields[0]))
    if len(fields) < 4 or not all(_FIELD.fullmatch(field) for field in fields):
        return False
    if 5 <= len(fields) <= 7:
        return sum(field == "l" or field[0] in "*?0123456789" for field in fields) >= _LEAST_PLAIN
    return any(field.startswith("*") for field in fields)
