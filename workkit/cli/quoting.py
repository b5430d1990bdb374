"""Words of a time that were typed without quotes: found, and shown as they must be typed. Asks no server."""

from __future__ import annotations

import os
import re
import shlex
from collections.abc import Sequence
from datetime import UTC, datetime, tzinfo

import click

from workkit.errors import TriggerError
from workkit.text import wording

_FUNCTION = re.compile(r"[^\W\d]\w*(?:\.[^\W\d]\w*)*:[^\W\d][\w.]*|#'\S+|[^\W\d]\w*(?:\.[^\W\d]\w*)+")
_HALF_OF_DAY = re.compile(r"(?i)[ap]\.m\.?")
NAMELESS = "FUNCTION"


class Unquoted(click.UsageError):
    """Words of a time were typed without quotes. The message ends with what to type instead."""


def add_words(schedule: str, words: Sequence[str], zone: tzinfo) -> str | None:
    """Write the command that was probably meant by ``workkit add SCHEDULE`` and these words; None where they stand as
    they should. The function may stand before the time or after it, or be forgotten.
    """
    words = with_stars(words)
    place = next((n for n, word in enumerate(words) if _is_function(word)), None)
    if place is None:
        time = _time(words, zone, least=2)
        return _command(schedule, time, NAMELESS, ()) if time else None
    if place == 1 or len(words) < 2:
        return None
    function, rest = _as_function(words[place]), words[place + 1 :]
    if place > 1:
        return _command(schedule, time_of(words[:place], zone), function, rest)
    for end in range(len(rest), 0, -1):
        if time := _time(rest[:end], zone):
            return _command(schedule, time, function, rest[end:])
    return _command(schedule, _quoted(" ".join(rest)), function, ())


def now_words(schedule: str, function: str, args: Sequence[str], zone: tzinfo) -> str | None:
    """Write the command that was probably meant by ``workkit now``, where the arguments are a time."""
    time = _time(args, zone)
    return _command(schedule, time, function, ()) if time else None


def time_of(words: Sequence[str], zone: tzinfo) -> str:
    """Write the words of a time as one argument."""
    return _time(words, zone) or _quoted(" ".join(words))


def with_stars(words: Sequence[str]) -> Sequence[str]:
    """Put ``*`` back where the shell has put the names of all files of this folder."""
    names = {name for name in os.listdir() if not name.startswith(".")}
    found: list[str] = []
    place = 0
    while place < len(words):
        is_star = bool(names) and set(words[place : place + len(names)]) == names
        found.append("*" if is_star else words[place])
        place += len(names) if is_star else 1
    return found


def unquoted_time(words: Sequence[str], zone: tzinfo) -> str | None:
    """Write these words as one argument, where they are a time and the first of them alone is none."""
    return None if len(words) < 2 or _time(words[:1], zone) else _time(words, zone)


def is_cut(words: Sequence[str], zone: tzinfo) -> bool:
    """Tell whether the first word alone is no time, or is a longer one with the next: these name no function."""
    return _time(words[:1], zone) is None or any(_time(words[:end], zone) for end in range(2, len(words) + 1))


def _is_function(word: str) -> bool:
    return bool(_FUNCTION.fullmatch(word)) and not _HALF_OF_DAY.fullmatch(word)


def _as_function(word: str) -> str:
    """Give a function as it is typed; a dotted one gets its colon."""
    if ":" in word or word.startswith("#'"):
        return word
    module, _, last = word.rpartition(".")
    return f"{module}:{last}"


def _time(words: Sequence[str], zone: tzinfo, *, least: int = 1) -> str | None:
    from workkit import triggers
    from workkit.triggers.crons.grammars import looks_like_cron

    text, name = " ".join(words), wording.zone_name(zone)
    if len(words) < least:
        return None
    try:
        if looks_like_cron(text):
            triggers.cron(text, tz=name)
        else:
            triggers.parse(text, now=datetime.now(UTC), tz=name)
    except TriggerError:
        return None
    return _quoted(text)


def _command(schedule: str, time: str, function: str, rest: Sequence[str]) -> str:
    quoted = function if function == NAMELESS else shlex.quote(function)
    return " ".join(["workkit add", shlex.quote(schedule), time, quoted, *map(shlex.quote, rest)])


def _quoted(text: str) -> str:
    return f'"{text}"' if not re.search(r'["$`\\!]', text) else shlex.quote(text)
