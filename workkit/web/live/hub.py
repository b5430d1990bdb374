"""All streams of a process: how many there are, the channels they are on, and their end."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Final, TypeVar

from workkit.web.cache import Served
from workkit.web.live.channel import Channel
from workkit.web.live.viewer import Viewer
from workkit.web.response import Asking, Refused

MOST: Final = 200

V = TypeVar("V", bound=Viewer)


class Hub:
    """The channels of the schedules that somebody looks at. Nothing runs while nobody does."""

    def __init__(self, asking: Asking, *, most: int = MOST) -> None:
        self._asking, self._most = asking, most
        self._channels: dict[str, Channel] = {}
        self._loop: asyncio.AbstractEventLoop | None = None
        self._is_over = False

    def __len__(self) -> int:
        return sum(map(len, self._channels.values()))

    def open(self, served: Served, viewer: Callable[[Channel], V]) -> V:
        """Let a viewer look at a schedule. Raises Refused (503): there are too many, or we are about to end."""
        if self._is_over or len(self) >= self._most:
            reason = "This process ends." if self._is_over else f"{self._most} pages are open already."
            raise Refused(503, f"{reason} This page asks again from time to time.")
        self._loop = asyncio.get_running_loop()
        channel = self._channels.get(served.name)
        if channel is None or channel.is_over:
            channel = self._channels[served.name] = Channel(served, self._asking)
        return viewer(channel)

    def channel(self, served: Served) -> Channel | None:
        """Give the channel of a schedule, if somebody looks at it."""
        found = self._channels.get(served.name)
        return None if found is None or found.is_over else found

    def hurry(self, served: Served) -> None:
        """Show at once what an act has changed."""
        if (channel := self.channel(served)) is not None:
            channel.hurry()

    def end(self) -> None:
        """End all streams at once, and open none any more. From any thread."""
        self._is_over = True
        if self._loop is not None and not self._loop.is_closed():
            self._loop.call_soon_threadsafe(self._end)

    def _end(self) -> None:
        for channel in self._channels.values():
            channel.end()
