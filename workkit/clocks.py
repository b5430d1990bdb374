"""The clocks and the sleep of this process, as Python has them at the start."""

from __future__ import annotations

import time as _given
from contextlib import suppress
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from asyncio import AbstractEventLoop


class time:  # noqa: N801 - it stands where the module `time` would
    """What a listener measures with. A handler may replace the functions of the module `time`, as libraries for tests
    do: a clock that stands still would stop the listener. Such libraries find no members of a class.
    """

    monotonic = _given.monotonic
    thread_time = _given.thread_time
    time = _given.time
    time_ns = _given.time_ns
    sleep = _given.sleep


def measured(loop: AbstractEventLoop) -> AbstractEventLoop:
    """Have an event loop measure with this clock too."""
    with suppress(AttributeError):  # a loop of another library has a clock of its own
        loop.time = time.monotonic  # type: ignore[method-assign]
    return loop
