"""Output on the terminal: its width, its colour, and safe writing of data, remarks, warnings, progress, and a screen
that is drawn again.
"""

from __future__ import annotations

import os
import shutil
import sys
import time
import warnings
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager, suppress
from typing import Any, NoReturn, TextIO

import click

from workkit.brokers.redis_server.address import without_passwords
from workkit.errors import WorkkitWarning
from workkit.text.cells import cells, folded, shorten

FALLBACK_WIDTH = 80
WIDEST_HELP = 120
COLOURS = {"green": "green", "yellow": "yellow", "red": "red", "dim": "bright_black"}


def is_terminal(stream: TextIO | None) -> bool:
    """Return whether a person looks at this stream."""
    try:
        return stream is not None and stream.isatty()
    except ValueError:  # closed
        return False


def has_colour(stream: TextIO | None) -> bool:
    """Return whether a stream has colour: NO_COLOR forbids it, FORCE_COLOR forces it, TERM=dumb lacks it, a terminal
    has it.
    """
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
    """Return the columns of a terminal; None for any other stream, where lines keep their full width."""
    if stream is None or not is_terminal(stream):
        return None
    with suppress(ValueError):
        if (told := int(os.environ.get("COLUMNS", "0"))) > 0:
            return told
    with suppress(OSError, ValueError):  # the other stream may be no terminal, so this one is asked
        return os.get_terminal_size(stream.fileno()).columns or FALLBACK_WIDTH
    return FALLBACK_WIDTH


def help_width() -> int:
    """Return the columns of help: those of the terminal, else 80."""
    return max(20, min(WIDEST_HELP, shutil.get_terminal_size((FALLBACK_WIDTH, 24)).columns))


def ellipsis_safe(text: str, stream: TextIO | None) -> str:
    """Replace the ellipsis if the stream's encoding has none. The width stays one column."""
    encoding = getattr(stream, "encoding", None) or "ascii"
    return text if encoding.lower().replace("-", "").startswith("utf") else text.replace("…", "~")


def data(text: str = "", *, newline: bool = True) -> None:
    """Write data unchanged to stdout, with escape codes only if it has colour."""
    click.echo(ellipsis_safe(text, sys.stdout), nl=newline, color=has_colour(sys.stdout))


def say(text: str, *, indent: int | None = None) -> None:
    """Write sentences to stdout. On a terminal they break between words, and further lines are indented by `indent`
    blanks.
    """
    data(fitting(text, sys.stdout, indent=indent))


def talk(text: str) -> None:
    """Write remarks to stderr, on a terminal broken between words. Passwords in URLs are masked, because a remark may
    quote a mistyped word.
    """
    text = fitting(without_passwords(text), sys.stderr)
    click.echo(ellipsis_safe(text, sys.stderr), err=True, color=has_colour(sys.stderr))


def fitting(text: str, stream: TextIO | None, *, indent: int | None = None) -> str:
    """Break the lines of a text between words, where a terminal would break them anywhere."""
    width = table_width(stream)
    if width is None:
        return text
    return "\n".join(part for line in text.split("\n") for part in folded(line, width, indent=indent))


def prepare() -> None:
    """Make both streams escape characters that their encoding lacks, rather than fail."""
    for stream in (sys.stdout, sys.stderr):
        reconfigure: Any = getattr(stream, "reconfigure", None)
        if reconfigure is not None:
            reconfigure(errors="backslashreplace")


def hush(stream: TextIO | None) -> None:
    """Point a stream without a reader at /dev/null, so that the flush at exit prints no error."""
    try:
        if stream is not None:
            os.dup2(os.open(os.devnull, os.O_WRONLY), stream.fileno())
    except (OSError, ValueError):
        return


MOST = 20  # the most different warnings of one command; a file may hold a million rows


def warn(texts: Iterable[str]) -> None:
    """Print each on a line of its own."""
    from workkit.cli.spelling import in_flags
    from workkit.text import wording

    context = click.get_current_context(silent=True)
    for text in texts:
        said = wording.printable(in_flags(text, context.command if context else None))
        talk(f"{paint('warning:', 'yellow', sys.stderr)} {said}")


@contextmanager
def warnings_shown() -> Iterator[None]:
    """Print each WorkkitWarning of the block on its own line, at once."""
    with warnings.catch_warnings():
        other = warnings.showwarning

        def show(message: Warning | str, category: type[Warning], *rest: Any, **more: Any) -> None:
            if issubclass(category, WorkkitWarning):
                warn([str(message)])
            else:
                other(message, category, *rest, **more)

        warnings.showwarning = show
        yield


@contextmanager
def warnings_kept() -> Iterator[None]:
    """Keep the WorkkitWarnings of the block until its end, also after an error; then print each text once."""
    kept: dict[str, int] = {}
    with warnings.catch_warnings():
        other = warnings.showwarning

        def keep(message: Warning | str, category: type[Warning], *rest: Any, **more: Any) -> None:
            if not issubclass(category, WorkkitWarning):
                other(message, category, *rest, **more)
            elif len(kept) < MOST or str(message) in kept:
                kept[str(message)] = kept.get(str(message), 0) + 1

        warnings.simplefilter("always", WorkkitWarning)
        warnings.showwarning = keep
        try:
            yield
        finally:
            warn(text if times == 1 else f"{text} ({times:,} times)" for text, times in kept.items())


REPORT_SECONDS = 10.0


class Far:
    """The progress of a long command. Call it with each count. `words` writes the line. A short command prints none."""

    def __init__(self, words: Callable[[int], str]) -> None:
        self._words = words
        self._last = time.monotonic()

    def __call__(self, count: int) -> None:
        """Print the line, if the last one is old."""
        if time.monotonic() - self._last >= REPORT_SECONDS:
            self._last = time.monotonic()
            talk(self._words(count))


SECONDS = 1.0
HOME, REST_OF_LINE, REST_OF_SCREEN = "\x1b[H", "\x1b[K", "\x1b[J"


def refresh(frame: Callable[[int], Sequence[str]], *, seconds: float = SECONDS) -> NoReturn:
    """Draw `frame` again and again. It gets the number of lines of the terminal, and returns at most that number of
    lines.

    Ends only by an exception: KeyboardInterrupt, or any that `frame` raises.
    """
    while True:
        size = shutil.get_terminal_size((FALLBACK_WIDTH, 24))
        began = time.monotonic()
        lines = list(frame(size.lines))[: size.lines]
        drawn = (line if cells(line) <= size.columns else shorten(line, size.columns) for line in lines)
        text = f"{REST_OF_LINE}\n".join(drawn)
        sys.stdout.write(ellipsis_safe(f"{HOME}{text}{REST_OF_LINE}{REST_OF_SCREEN}", sys.stdout))
        sys.stdout.flush()
        time.sleep(max(0.0, seconds - (time.monotonic() - began)))
