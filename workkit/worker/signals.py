"""Signals to orders, for a listener that owns its process: finish, stop at once, be quiet, resume, dump stacks."""

from __future__ import annotations

import faulthandler
import os
import signal
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType

from workkit.worker.listener import Listener

STOP = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)
DUMP = (signal.SIGUSR2, signal.SIGTTIN)


@contextmanager
def obeyed(listener: Listener) -> Iterator[None]:
    """Obey signals inside this context, if this is the main thread; otherwise the program's own handlers stay.

    INT, TERM and HUP: finish within the deadline; the second one ends the process at once with 128 + its number, and
    other listeners take over what ran. TSTP: take nothing new. CONT: take work again. USR2 and TTIN: stacks to stderr.
    """
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    stopping = False

    def stop(number: int, _: FrameType | None) -> None:
        nonlocal stopping
        if stopping:
            sys.stderr.flush()
            os._exit(128 + number)
        stopping = True
        listener.ask_to_stop()

    handlers = dict.fromkeys(STOP, stop)
    handlers[signal.SIGTSTP] = lambda *_: listener.quiet()
    handlers[signal.SIGCONT] = lambda *_: listener.resume()
    for number in DUMP:
        handlers[number] = lambda *_: faulthandler.dump_traceback(all_threads=True)
    before = {number: signal.signal(number, handler) for number, handler in handlers.items()}
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
