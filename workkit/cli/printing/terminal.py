"""What the terminal can do: width, colour, and writing to it without surprises."""

from __future__ import annotations

import os
import shutil
import sys
from contextlib import suppress
from typing import Any, TextIO

import click

from workkit.brokers.redis_server.address import without_passwords
from workkit.text.cells import folded

FALLBACK_WIDTH = 80
WIDEST_HELP = 120
COLOURS = {"green": "green", "yellow": "yellow", "red": "red", "dim": "bright_black"}


def is_terminal(stream: TextIO | None) -> bool:
    """Say whether a person looks at this stream."""
    try:
        return stream is not None and stream.isatty()
    except ValueError:  # closed
        return False


def has_colour(stream: TextIO | None) -> bool:
    """Decide on colour: NO_COLOR forbids it, FORCE_COLOR wants it, TERM=dumb cannot, a terminal can."""
    if os.environ.get("NO_COLOR"):
        return False
    if os.environ.get("FORCE_COLOR", "0") not in ("", "0"):
        return True
    return os.environ.get("TERM") != "dumb" and is_terminal(stream)


def paint(text: str, colour: str | None, stream: TextIO | None) -> str:
    """Colour a text if the stream can show it."""
    if colour is None or not has_colour(stream):
        return text
    return click.style(text, fg=COLOURS[colour])


def table_width(stream: TextIO | None) -> int | None:
    """Tell the columns of a terminal; None for anything else, where lines keep their full width."""
    if stream is None or not is_terminal(stream):
        return None
    with suppress(ValueError):
        if (told := int(os.environ.get("COLUMNS", "0"))) > 0:
            return told
    with suppress(OSError, ValueError):  # the other stream may be no terminal, so this one is asked
        return os.get_terminal_size(stream.fileno()).columns or FALLBACK_WIDTH
    return FALLBACK_WIDTH


def help_width() -> int:
    """Tell the columns of help: those of the terminal, else 80."""
    return max(20, min(WIDEST_HELP, shutil.get_terminal_size((FALLBACK_WIDTH, 24)).columns))


def ellipsis_safe(text: str, stream: TextIO | None) -> str:
    """Replace the ellipsis where the stream's encoding has none; one column either way."""
    encoding = getattr(stream, "encoding", None) or "ascii"
    return text if encoding.lower().replace("-", "").startswith("utf") else text.replace("…", "~")


def data(text: str = "", *, newline: bool = True) -> None:
    """Write data as it is: to stdout, escape codes only where colour was decided on."""
    click.echo(ellipsis_safe(text, sys.stdout), nl=newline, color=has_colour(sys.stdout))


def say(text: str, *, indent: int | None = None) -> None:
    """Write sentences to stdout; a terminal gets them broken between words, `indent` blanks before further lines."""
    data(fitting(text, sys.stdout, indent=indent))


def talk(text: str) -> None:
    """Write talk to stderr, on a terminal broken between words. It may quote a URL that was typed at a wrong place: no
    password is shown.
    """
    text = fitting(without_passwords(text), sys.stderr)
    click.echo(ellipsis_safe(text, sys.stderr), err=True, color=has_colour(sys.stderr))


def fitting(text: str, stream: TextIO | None, *, indent: int | None = None) -> str:
    """Break the lines of a text between words where a terminal would break them anywhere."""
    width = table_width(stream)
    if width is None:
        return text
    return "\n".join(part for line in text.split("\n") for part in folded(line, width, indent=indent))


def prepare() -> None:
    """Make both streams spell out what their encoding lacks rather than fail."""
    for stream in (sys.stdout, sys.stderr):
        reconfigure: Any = getattr(stream, "reconfigure", None)
        if reconfigure is not None:
            reconfigure(errors="backslashreplace")


def hush(stream: TextIO | None) -> None:
    """Point a stream whose reader is gone at nothing, so that flushing it at exit stays quiet."""
    try:
        if stream is not None:
            os.dup2(os.open(os.devnull, os.O_WRONLY), stream.fileno())
    except (OSError, ValueError):
        return
