"""Processes that handlers fork. Such a child has a copy of the thread that forked it, and of no other thread of the
listener. It must neither take jobs nor settle the one that its parent runs, so it ends when its handler ends.
"""

from __future__ import annotations

import os
import signal
import sys
import threading
import traceback
from contextlib import suppress
from typing import NoReturn

PATIENCE = 5  # seconds for the last output: another thread may have held the lock of a stream at the fork

count = 0  # forks between the first process and this one; code that finds it changed runs in a forked child


def leave(error: BaseException | None = None) -> NoReturn:
    """End this process now: with status 0, or as Python ends with `error`. Writes what the child has printed; calls no
    exit handler, since those are the parent's.
    """
    status = 1
    with suppress(BaseException):
        signal.signal(signal.SIGALRM, signal.SIG_DFL)
        signal.alarm(PATIENCE)
    with suppress(BaseException):
        status = _status(error)
    with suppress(BaseException):
        _flush()
    os._exit(status)


def _status(error: BaseException | None) -> int:
    """The exit status for an error, after writing the error to stderr."""
    if error is None:
        return 0
    if issubclass(type(error), SystemExit):
        code = getattr(error, "code", None)
        if code is None or type(code) is int:
            return (code or 0) & 0xFF
        text = f"{code}\n"
    else:
        text = "".join(traceback.format_exception(error))
    if sys.stderr is not None:
        sys.stderr.write(text)
    return 1


def _flush() -> None:
    for stream in (sys.stdout, sys.stderr):
        with suppress(OSError, ValueError, AttributeError):
            stream.flush()


def _before() -> None:
    """Write what the parent has printed: the child would write it once more. A stream's lock that another thread holds
    stays locked in the child for good, so only one thread forks at a time, and it flushes twice: a thread that waits
    for the end of the first flush has the lock then, and the second waits until that one has ended too.
    """
    _forking.acquire()
    _flush()
    _flush()


def _after() -> None:
    with suppress(RuntimeError):  # an interruption came before the lock was taken
        _forking.release()


def _in_child() -> None:
    global count
    count += 1
    _after()


_forking = threading.RLock()
os.register_at_fork(before=_before, after_in_parent=_after, after_in_child=_in_child)
