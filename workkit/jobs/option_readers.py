"""Readers of option values. A reader takes a value and the option's name, and returns the kept value, or refuses it.
Pure.

Durations are kept in milliseconds. Errors are InvalidOptions, and TriggerError for a duration.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from datetime import timedelta
from pathlib import Path
from typing import Any, Literal

from workkit.errors import Invalid, InvalidOptions
from workkit.jobs.names import is_consumed

MOST_PRIORITY = 100_000
LONGEST_MS = 400 * 86_400_000  # limit of every duration here, in milliseconds
Reader = Callable[[Any, str], Any]
LONGEST_URL = 500  # characters
_WEB_URL = re.compile(r"https?://(?:[A-Za-z0-9_.-]+|\[[0-9A-Fa-f:.]+\])(?::\d{1,5})?(?:[/?][!-~]*)?", re.ASCII)
_VERSION = re.compile(r"v?(\d{1,18}(?:[.\-_:T]\d{1,18}){0,7})Z?", re.ASCII)
_RATE = re.compile(r"\s*(\d{1,9})\s*(?:/|per\b)\s*(\S.*?)\s*", re.IGNORECASE | re.ASCII)


def option_error(
    name: str, value: Any, trouble: str, remedy: str | None = None, *, position: int | None = None
) -> InvalidOptions:
    """Make the error for a value that an option does not take."""
    return InvalidOptions.about(f"{name}={value!r}", trouble, remedy, where=name, given=value, position=position)


def as_given(value: Any, name: str) -> Any:
    """Keep a value unchanged; it is read later, with the time of the job."""
    return value


def boolean(value: Any, name: str) -> bool:
    """Read True or False."""
    if type(value) is not bool:
        raise option_error(name, value, "is neither True nor False")
    return value


def choice(accepted: tuple[Any, ...]) -> Reader:
    """Return a reader of one of the `accepted` texts or numbers."""

    def read(value: Any, name: str) -> Any:
        if not among(accepted)(value):
            raise option_error(name, value, "is not known", f"Accepted: {', '.join(map(str, accepted))}.")
        return value

    return read


def among(accepted: tuple[Any, ...]) -> Callable[[Any], bool]:
    """Return a check that a value is one of `accepted`, of the same type."""
    kind = type(accepted[0])
    return lambda value: type(value) is kind and value in accepted


def whole(least: int, most: int, *, trouble: str) -> Reader:
    """Return a reader of a whole number from `least` to `most`."""

    def read(value: Any, name: str) -> int:
        if type(value) is not int or not least <= value <= most:
            raise option_error(name, value, trouble, f"Accepted: {least} to {most:,}.")
        return value

    return read


def read_text(
    most: int,
    *,
    forbidden: re.Pattern[str],
    example: str = '"nightly"',
    unit: Literal["characters", "bytes"] = "characters",
) -> Reader:
    """Return a reader of a text of 1 to `most` characters, or bytes of UTF-8, without a match of `forbidden`."""

    def read(value: Any, name: str) -> str:
        if not isinstance(value, str) or not value:
            what = "is empty" if value == "" else "is not a text"
            raise option_error(name, value, what, f"Write for example {name}={example}.")
        size = len(value) if unit == "characters" else len(value.encode("utf-8", "surrogatepass"))
        if size > most:
            trouble = f"has {size:,} {unit}"
            remedy = f"Accepted: 1 to {most}."
            raise InvalidOptions.about(f'{name}="{value[:20]}..."', trouble, remedy, where=name, given=value)
        if found := forbidden.search(value):
            is_control = CONTROL.match(found[0])
            is_inside = found.start() > 0 and found.end() < len(value)
            blank = "a blank" if is_inside else "a blank at its end"
            what = f"a {found[0]}" if found[0] in "*:" else "a control character" if is_control else blank
            where = found.start()
            raise option_error(name, value, f"has {what} (column {where + 1})", "Write it without.", position=where)
        return value

    return read


def web_url(value: Any, name: str) -> str:
    """Read a URL of the web."""
    if not is_web_url(value):
        remedy = f'Write {name}="https://...", at most {LONGEST_URL} characters, without blanks.'
        raise option_error(name, value, "is not a URL that begins with https:// or http://", remedy)
    return str(value)


def is_web_url(value: Any) -> bool:
    """Return whether a text is a URL of the web, as `web_url` accepts it."""
    return isinstance(value, str) and len(value) <= LONGEST_URL and _WEB_URL.fullmatch(value) is not None


CONTROL = re.compile("[\\x00-\\x1f\\x7f-\\x9f\\ud800-\\udfff]")  # lone surrogates: no server takes them
NAME = re.compile(rf"{CONTROL.pattern}|\*|\A\s|\s\Z")  # forbidden in a name and in a tag
MOST_TAGS, LONGEST_TAG = 8, 64  # of one job; bytes in UTF-8
tag = read_text(LONGEST_TAG, forbidden=NAME, example='"user:7"', unit="bytes")
_one_of_tags = read_text(LONGEST_TAG, forbidden=NAME, example='["user:7"]', unit="bytes")


def tags(value: Any, name: str = "tags") -> tuple[str, ...]:
    """Read a list of tags, 8 at most, in their order; a repetition counts once."""
    if not isinstance(value, list | tuple):
        trouble = "is one text, not a list" if isinstance(value, str) else "is not a list of texts"
        raise option_error(name, value, trouble, f'Write {name}=["user:7", "invoice"].')
    found = tuple(dict.fromkeys(_one_of_tags(one, name) for one in value))
    if len(found) > MOST_TAGS:
        trouble, remedy = f"has {len(found):,} tags", f"Accepted: up to {MOST_TAGS}."
        raise InvalidOptions.about(f"{name}=", trouble, remedy, where=name, given=value)
    return found


def are_tags(value: Any) -> bool:
    """Return whether a value is a list of tags, as `tags` returns it."""
    try:
        return isinstance(value, list | tuple) and tags(value) == tuple(value)
    except InvalidOptions:
        return False


def milliseconds(least: int = 1) -> Reader:
    """Return a reader of a duration of `least` milliseconds to 400 days, as whole milliseconds."""

    def read(value: Any, name: str) -> int:
        ms = round(seconds(value, name) * 1000)
        if not least <= ms <= LONGEST_MS:
            at_least = "more than nothing" if least == 1 else f"{least // 1000} s at least"
            shortest = "at most 400 days" if least == 0 else f"{at_least}, at most 400 days"
            raise option_error(name, value, "is out of range", f"Accepted: {shortest}.")
        return ms

    return read


def seconds(value: Any, name: str) -> float:
    """Read a duration as seconds."""
    from workkit.triggers.english.numbers import duration  # its grammar takes a while to import

    return duration(value, name=name) / timedelta(seconds=1)


def is_deadline(value: Any) -> bool:
    """Return whether a text is a deadline as a payload holds it: a zone and seven fields in its time."""
    from workkit.triggers.trigger import deadline_of

    return isinstance(value, str) and len(value) <= LONGEST_URL and deadline_of(value) is not None


def size_bytes(most: int) -> Reader:
    """Return a reader of a size of 1 to `most` bytes: a number of bytes, or a text such as "500 kB" or "5 MB"."""

    def read(value: Any, name: str) -> int:
        size = value if type(value) is int else None
        if isinstance(value, str) and (found := _SIZE.fullmatch(value)):
            size = round(float(found[1]) * _UNITS[found[2].lower()])
        if size is None:
            raise option_error(name, value, "is not a size", 'Write a number of bytes, or "5 MB" or "500 kB".')
        if not 1 <= size <= most:
            raise option_error(name, value, "is out of range", f"Accepted: 1 byte to {most // 1_000_000} MB.")
        return size

    return read


_SIZE = re.compile(r"\s*(\d{1,12}(?:\.\d{1,6})?)\s*(|b|bytes?|kb|mb)\s*", re.IGNORECASE | re.ASCII)
_UNITS = {"": 1, "b": 1, "byte": 1, "bytes": 1, "kb": 1_000, "mb": 1_000_000}


def turn_ms(value: Any, name: str = "rate") -> float:
    """Read a rate such as "100/minute", "10 per hour" or "3/10s" as the milliseconds between two turns."""
    found = _RATE.fullmatch(value) if isinstance(value, str) else None
    if found is None or int(found[1]) == 0:
        raise _no_rate(name, value)
    period = found[2] if found[2][0].isdigit() else f"1 {found[2]}"
    try:
        period_ms: int = milliseconds()(period, name)
    except Invalid as error:
        raise _no_rate(name, value) from error
    return period_ms / int(found[1])


def rate_text(turn_ms: float) -> str:
    """Write a rate of `turn_ms` between two turns, in whole starts: ``100/minute``, ``1/second``, ``1/90 s``."""
    for unit, ms in _PERIODS:
        if (count := round(ms / turn_ms)) and abs(ms / turn_ms - count) < count * 1e-9:
            return f"{count}/{unit}"
    from workkit.text.wording import duration_text

    return f"1/{duration_text(turn_ms)}"


_PERIODS = (("second", 1_000), ("minute", 60_000), ("hour", 3_600_000), ("day", 86_400_000))


def _no_rate(name: str, value: Any) -> InvalidOptions:
    remedy = 'Write "100/minute": a number, and a second, minute, hour, day, or a duration up to 400 days.'
    return option_error(name, value, "is not a rate", remedy)


def limit_key(value: Any, name: str) -> Any:
    """Read the name of a parameter, or a function."""
    if not callable(value) and not (isinstance(value, str) and value):
        raise option_error(name, value, "is neither a parameter's name nor a function", f'Write {name}="customer".')
    return value


def error_types(value: Any, name: str) -> tuple[type[BaseException], ...]:
    """Read an exception type, or several."""
    types = value if isinstance(value, tuple | list | set | frozenset) else (value,)
    for one in types:
        if not (isinstance(one, type) and issubclass(one, BaseException)):
            raise option_error(name, one, "is not an exception type", f"Write {name}=(OSError, TimeoutError).")
    return tuple(types)


def texts(value: Any, name: str) -> tuple[str, ...]:
    """Read a list of texts."""
    if isinstance(value, str):
        raise option_error(name, value, "is one text, not a list", f"Write {name}=[{value!r}].")
    return tuple(value)


def one_or_more_texts(value: Any, name: str) -> tuple[str, ...]:
    """Read a text, or a list of texts."""
    found = (value,) if isinstance(value, str) else tuple(value) if isinstance(value, list | tuple) else (value,)
    for one in found:
        if not isinstance(one, str) or not one:
            raise option_error(name, one, "is not a text", f'Write {name}="0 0 9 * * *", or a list of such texts.')
    return found


def keyword_arguments(value: Any, name: str) -> dict[str, Any]:
    """Read arguments by name."""
    if not isinstance(value, Mapping) or not all(isinstance(key, str) for key in value):
        raise option_error(name, value, "does not map names to values", f'Write {name}={{"day": "monday"}}.')
    return dict(value)


def names_with_weights(value: Any, name: str) -> tuple[tuple[str, int], ...]:
    """Read a list of ``NAME`` or ``NAME:PRIORITY``, the priority from 1 to 100,000."""
    found: dict[str, int] = {}
    for text in texts(value, name):
        word, colon, digits = text.rpartition(":")
        if not colon or (digits and not digits.isdigit()):  # a name may have colons
            word, colon, digits = text, "", ""
        priority = int(digits) if digits.isascii() and digits.isdigit() and len(digits) < 7 else 0
        if not word or (colon and not 1 <= priority <= MOST_PRIORITY):
            remedy = 'Write a name, or a name with a priority from 1 to 100000: "send_email:10".'
            raise option_error(name, text, "is not a name with a priority", remedy)
        if word in found:
            raise option_error(name, text, "names a job a second time", "Name it once.")
        found[word] = priority if colon else 1
    return tuple(found.items())


def consumers(value: Any, name: str) -> tuple[tuple[str, Any], ...]:
    """Read a mapping of job names to functions, or a list of ``NAME=MODULE:FUNCTION``."""
    found: dict[str, Any] = {}
    for given in value.items() if isinstance(value, Mapping) else texts(value, name):
        job, equals, target = given.rpartition("=") if isinstance(given, str) else (given[0], "=", given[1])
        said = given if isinstance(given, str) else job
        if not equals:
            raise option_error(name, said, "has no =", CONSUMER)
        if not isinstance(job, str) or not is_consumed(job):
            raise option_error(name, said, "names no job" if not job else "is not the name of a job", CONSUMER)
        if not (isinstance(target, str) and target) and not callable(target):
            raise option_error(name, said, "names no function", CONSUMER)
        if job in found:
            raise option_error(name, said, f"gives {job} a second time", "Name one function.")
        found[job] = target
    return tuple(found.items())


CONSUMER = 'Write "NAME=MODULE:FUNCTION", for example "orders.created=app.orders:on_created".'


def version(value: Any, name: str) -> str:
    """Read numbers with dots, dashes or colons between them. Returns a text; such texts sort as versions do."""
    text = str(value) if type(value) is int else value
    if not isinstance(text, str) or (found := _VERSION.fullmatch(text.strip())) is None:
        remedy = 'Write numbers that grow with each deployment: "412", "2026.11.23", "2026-11-23T09:00:00".'
        raise option_error(name, value, "is not a version", remedy)
    return ".".join(f"{int(part):018}" for part in re.split(r"[.\-_:T]", found[1]))


def yes_or_file(value: Any, name: str) -> bool | Path:
    """Read True, False, or the name of a TOML file."""
    if isinstance(value, str | Path) and Path(value).suffix == ".toml":
        return Path(value)
    if type(value) is not bool:
        raise option_error(name, value, "is neither True nor False, nor a .toml file")
    return value


def path(value: Any, name: str) -> Path | None:
    """Read a folder; None stays None."""
    return None if value is None else Path(value)


def timeout_seconds(value: Any, name: str) -> float:
    """Read a duration of 5 seconds or more, as seconds."""
    length = seconds(value, name)
    if length < 5:
        raise option_error(name, value, "is too short", "Accepted: 5s and more.")
    return length


def address(value: Any, name: str) -> tuple[str, int]:
    """Read the address that serves pages: a port of 127.0.0.1, or another address of this machine with its port."""
    host, _, digits = ("", "", str(value)) if type(value) is int else str(value).rpartition(":")
    if not (digits.isascii() and digits.isdigit() and int(digits) < 65536):
        raise option_error(name, value, "is not a port", 'Accepted: 0 to 65535, or "0.0.0.0:8080".')
    return host.strip("[]") or "127.0.0.1", int(digits)
