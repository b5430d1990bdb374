"""Standard output and standard error while jobs run: every line is written whole.

`print` writes a text and its end one after the other. While threads print, and events are logged, one line would be cut
by another. Here each thread has its own unfinished line; a finished one goes out in one write, under one lock for both
streams.
"""

from __future__ import annotations

import os
import sys
import threading
from collections.abc import Iterable, Iterator
from contextlib import contextmanager, suppress
from typing import Any, TextIO

LOCK = threading.RLock()
os.register_at_fork(
    before=LOCK.acquire, after_in_parent=LOCK.release, after_in_child=LOCK.release
)  # nobody else has it


@contextmanager
def whole_lines() -> Iterator[None]:
    """Write whole lines to both streams inside this block."""
    out, err = sys.stdout, sys.stderr
    sys.stdout, sys.stderr = _whole(out), _whole(err)
    try:
        yield
    finally:
        for stream in (sys.stdout, sys.stderr):
            if isinstance(stream, WholeLines):
                with suppress(OSError, ValueError):  # its reader has ended
                    stream.finish()
        sys.stdout, sys.stderr = out, err


def _whole(stream: TextIO | None) -> Any:
    return None if stream is None else WholeLines(stream)


class WholeLines:
    """A stream that passes whole lines on; what a thread has begun waits for its end, or for `flush`."""

    def __init__(self, stream: TextIO) -> None:
        self._stream = stream
        self._begun: dict[int, str] = {}  # by thread: its unfinished line

    def write(self, text: str, /) -> int:
        """Write the lines that `text` ends, each in one write."""
        me = threading.get_ident()
        with LOCK:
            *lines, rest = (self._begun.pop(me, "") + text).split("\n")
            if rest:
                self._begun[me] = rest
            for line in lines:
                self._put(f"{line}\n")
        return len(text)

    def flush(self) -> None:
        """Write what this thread has begun: a prompt, or how far something is."""
        with LOCK:
            self._put(self._begun.pop(threading.get_ident(), ""))

    def finish(self) -> None:
        """Write what any thread has begun."""
        with LOCK:
            for me in list(self._begun):
                self._put(self._begun.pop(me))

    def _put(self, text: str) -> None:
        if text:
            self._stream.write(text)
        self._stream.flush()

    def writelines(self, lines: Iterable[str], /) -> None:
        """Write texts one after the other."""
        for line in lines:
            self.write(line)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._stream, name)  # `isatty`, `encoding`, `buffer` and all else
