"""The command line: parse, one call, print. Commands and everything heavy are imported only when they are used."""

from __future__ import annotations

import os
import signal
from collections.abc import Sequence
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from workkit.cli.settings import Host


def main(argv: Sequence[str] | None = None, *, host: Host | None = None) -> int:
    """Run one command line and return its exit status. The console script `workkit` calls this. `host`: the program
    that contains this command line, if any.
    """
    if os.getpid() == 1:  # the first process of a container: the kernel drops its signals that have no handler
        for number in (signal.SIGTERM, signal.SIGHUP):
            if signal.getsignal(number) == signal.SIG_DFL:
                signal.signal(number, lambda number, _: os._exit(128 + number))
    from workkit.cli.tree import run  # comes second: this import takes half a second

    return run(argv, host=host)
