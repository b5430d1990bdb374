"""A terminal that is drawn again each second, until Ctrl-C."""

from __future__ import annotations

import shutil
import sys
import time
from collections.abc import Callable, Sequence
from typing import NoReturn

from workkit.cli.printing import terminal
from workkit.text.cells import cells, shorten

SECONDS = 1.0
HOME, REST_OF_LINE, REST_OF_SCREEN = "\x1b[H", "\x1b[K", "\x1b[J"


def refresh(frame: Callable[[int], Sequence[str]], *, seconds: float = SECONDS) -> NoReturn:
    """Draw `frame` again and again. It gets the number of lines that the terminal has, and returns so many at most.

    Ends only by an exception: KeyboardInterrupt, or what `frame` raises.
    """
    while True:
        size = shutil.get_terminal_size((terminal.FALLBACK_WIDTH, 24))
        began = time.monotonic()
        lines = list(frame(size.lines))[: size.lines]
        drawn = (line if cells(line) <= size.columns else shorten(line, size.columns) for line in lines)
        text = f"{REST_OF_LINE}\n".join(drawn)
        sys.stdout.write(terminal.ellipsis_safe(f"{HOME}{text}{REST_OF_LINE}{REST_OF_SCREEN}", sys.stdout))
        sys.stdout.flush()
        time.sleep(max(0.0, seconds - (time.monotonic() - began)))
