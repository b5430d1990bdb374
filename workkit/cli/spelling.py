"""The names of arguments in a sentence: keywords in Python, flags and arguments on the command line. Only this module
knows both.

Errors and warnings are written with keywords (``unique_key='x'``). Before the command line prints one, the keywords of
the command become the typed form (``--unique-key 'x'``). Others stay: the rows of a file hold keywords too.
"""

from __future__ import annotations

import os
import re
import shlex
from collections.abc import Sequence
from datetime import UTC, datetime, tzinfo

import click
from click.core import ParameterSource

from workkit.brokers.layout import own_options
from workkit.brokers.redis_server.address import masked
from workkit.errors import TriggerError
from workkit.text import wording
from workkit.text.cells import shell_word

PLACES = {"function": "fn", "args": "args", "which": "which"}  # arguments of commands, and the keywords they become
TIMES = {"when": "WHEN", "at": "WHEN", "in_": '"in ..."', "every": '"every ..."', "cron": "a cron string"}
VERBS = {"schedule.add_now(s, fn)": "workkit now", "schedule.add_now": "workkit now", "schedule.add": "workkit add"}
PRIVATE = "embedded://"  # a URL with its own flag
FOLDERS = {"/FOLDER": "FOLDER"}  # placeholders of a folder in a sentence
_VALUE = r'"[^"]*"|\'[^\']*\'|\[[^\]]*\]|[\w+-]+'
_KEYWORD = re.compile(rf'(?<![\w."\'/?&-])(?P<name>[a-z_]+)=(?P<value>{_VALUE})?|"[^"]*"')
_RECURS = re.compile(r"\s*(every|each|daily|hourly|weekly|monthly|yearly)\b", re.IGNORECASE)


def in_flags(text: str, command: click.Command | None) -> str:
    """Write a sentence with the flags of a command in place of their keywords."""
    if command is None:
        return text
    flags = _flags(command)
    takes_time = "when" in flags or flags.get("words") == "WHEN"
    if takes_time:
        for verb, words in VERBS.items():
            text = text.replace(verb, words)

    def spelled(found: re.Match[str]) -> str:
        name, value = found["name"], found["value"] or ""
        if name == "redis" and name in flags and value.strip("\"'").startswith(PRIVATE):
            return _private(value.strip("\"'").removeprefix(PRIVATE))
        if name in TIMES and takes_time:
            return _time(name, value) if value else TIMES[name]
        if name not in flags:  # a keyword of another place, or a quoted text, which stays as it was typed
            return found[0]
        if value in ("True", "False"):  # a switch
            return flags[name]
        if value.startswith("["):  # an option that may be repeated
            value = value[1:-1].strip("\"'") or '""'
        return f"{flags[name]} {value}".rstrip()

    return _KEYWORD.sub(spelled, text)


def _flags(command: click.Command) -> dict[str, str]:
    """Return the flag or argument of each keyword in a command."""
    flags = {}
    for parameter in command.params:
        if isinstance(parameter, click.Option):
            flags[str(parameter.name)] = max(parameter.opts, key=len)
        elif parameter.name in PLACES:
            flags.setdefault(PLACES[parameter.name], parameter.human_readable_name.strip("[].").upper())
        else:
            flags[str(parameter.name)] = parameter.human_readable_name
    return flags


def _private(folder: str) -> str:
    """Write the flag of the private server in a folder."""
    return "--embedded" if folder in ("...", ".workkit") else f"--embedded={FOLDERS.get(folder, folder)}"


def _time(name: str, value: str) -> str:
    """Write a time as WHEN takes it. WHEN has no keyword that says whether the time recurs."""
    quote, words = value[:1], value.strip("\"'")
    if quote not in ("'", '"'):
        return value
    if name == "every" and not _RECURS.match(words):
        words = f"every {words}"
    if name == "in_" and not words.lower().startswith("in "):
        words = f"in {words}"
    return f"{quote}{words}{quote}"


def at_server(text: str, name: str, words: str) -> str:
    """Add flags to the commands about a named schedule in a text, so that they find the same server and layout."""
    if not words or not name:
        return text
    return re.sub(
        rf"(workkit [a-z]+(?: --[a-z-]+ [A-Z]+)* {re.escape(name)}(?: [0-9a-f]{{8}})?)(?=[ ,:;.]|$)",
        rf"\g<1>{words}",
        text,
    )


def at_layout(text: str) -> str:
    """Add these flags to an error, if a layout was typed in this command."""
    ctx = click.get_current_context(silent=True)
    if ctx is None or not (words := layout_words()) or words in text:
        return text
    if ctx.params.get("redis") and ctx.get_parameter_source("redis") is ParameterSource.COMMANDLINE:
        words = f" --redis {shell_word(masked(ctx.params['redis']))}{words}"
    named = (ctx.params.get("schedule"), *(ctx.params.get("schedules") or ()))
    for name in dict.fromkeys(name for name in named if isinstance(name, str)):
        text = at_server(text, name, words)
    return text


def layout_flags() -> tuple[str, ...]:
    """Return the flags for the layout and its options, each with its value, quoted for a shell, if they were typed in
    this command.
    """
    ctx = click.get_current_context(silent=True)
    if ctx is None:
        return ()
    names = ("layout", *own_options())
    typed = [name for name in names if ctx.get_parameter_source(name) is ParameterSource.COMMANDLINE]
    return tuple(f"--{name} {shell_word(masked(ctx.params[name]))}" for name in typed)


def layout_words() -> str:
    """Write these flags as the end of a command."""
    return "".join(f" {flag}" for flag in layout_flags())


_FUNCTION = re.compile(r"[^\W\d]\w*(?:\.[^\W\d]\w*)*:[^\W\d][\w.]*|#'\S+|[^\W\d]\w*(?:\.[^\W\d]\w*)+")
_HALF_OF_DAY = re.compile(r"(?i)[ap]\.m\.?")
NAMELESS = "FUNCTION"


class Unquoted(click.UsageError):
    """The words of a time were typed without quotes. The message ends with the correct command."""


def add_words(schedule: str, words: Sequence[str], zone: tzinfo) -> str | None:
    """Write the command that the user probably wanted by ``workkit add SCHEDULE`` and these words; None if they are
    correct. The function may come before the time or after it, or be missing.
    """
    words = with_stars(words)
    place = next((n for n, word in enumerate(words) if _is_function(word)), None)
    if place is None:
        time = _quoted_time(words, zone, least=2)
        return _command(schedule, time, NAMELESS, ()) if time else None
    if place == 1 or len(words) < 2:
        return None
    function, rest = _as_function(words[place]), words[place + 1 :]
    if place > 1:
        return _command(schedule, time_of(words[:place], zone), function, rest)
    for end in range(len(rest), 0, -1):
        if time := _quoted_time(rest[:end], zone):
            return _command(schedule, time, function, rest[end:])
    return _command(schedule, _quoted(" ".join(rest)), function, ())


def now_words(schedule: str, function: str, args: Sequence[str], zone: tzinfo) -> str | None:
    """Write the command that the user probably wanted by ``workkit now``; None if the arguments are not a time."""
    time = _quoted_time(args, zone)
    return _command(schedule, time, function, ()) if time else None


def time_of(words: Sequence[str], zone: tzinfo) -> str:
    """Write the words of a time as one argument."""
    return _quoted_time(words, zone) or _quoted(" ".join(words))


def with_stars(words: Sequence[str]) -> Sequence[str]:
    """Restore ``*`` where the shell has put the names of all files of this folder."""
    names = {name for name in os.listdir() if not name.startswith(".")}
    found: list[str] = []
    place = 0
    while place < len(words):
        is_star = bool(names) and set(words[place : place + len(names)]) == names
        found.append("*" if is_star else words[place])
        place += len(names) if is_star else 1
    return found


def unquoted_time(words: Sequence[str], zone: tzinfo) -> str | None:
    """Write these words as one argument, if they are a time and the first one alone is not."""
    return None if len(words) < 2 or _quoted_time(words[:1], zone) else _quoted_time(words, zone)


def is_cut(words: Sequence[str], zone: tzinfo) -> bool:
    """Return whether the first word alone is no time, or is a longer one with the next. Such words name no function."""
    return _quoted_time(words[:1], zone) is None or any(
        _quoted_time(words[:end], zone) for end in range(2, len(words) + 1)
    )


def _is_function(word: str) -> bool:
    return bool(_FUNCTION.fullmatch(word)) and not _HALF_OF_DAY.fullmatch(word)


def _as_function(word: str) -> str:
    """Write a function as it is typed; a dotted one gets its colon."""
    if ":" in word or word.startswith("#'"):
        return word
    module, _, last = word.rpartition(".")
    return f"{module}:{last}"


def _quoted_time(words: Sequence[str], zone: tzinfo, *, least: int = 1) -> str | None:
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
