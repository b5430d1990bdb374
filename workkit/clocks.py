"""The clocks and the sleep function of this process, as they are when Python starts."""

from __future__ import annotations

import time as _given
from contextlib import suppress
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from asyncio import AbstractEventLoop


class time:  # noqa: N801 - it takes the place of the module `time`
    """The functions by which a listener measures time. Libraries for tests replace the functions of the module `time`,
    and a stopped clock would stop the listener. They do not replace members of a class.
    """

    monotonic = _given.monotonic
    thread_time = _given.thread_time
    time = _given.time
    time_ns = _given.time_ns
    sleep = _given.sleep


def measured(loop: AbstractEventLoop) -> AbstractEventLoop:
    """Make an event loop use this clock too; return the loop."""
    with suppress(AttributeError):  # a loop of another library has its own clock
        loop.time = time.monotonic  # type: ignore[method-assign]
    return loop
