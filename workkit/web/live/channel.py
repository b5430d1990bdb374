"""The streams of a process, and the channel of each schedule that has a viewer.

A channel reads the pulse once a second, and each view again when it may have changed. It is on one event loop; blocking
calls run in the threads of `Asking`. A channel without a viewer ends, and sends nothing to the server.
"""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Final, TypeVar

from workkit.contract.inspector import Pulse
from workkit.errors import ServerError, ServerUnreachable
from workkit.web.cache import Served
from workkit.web.live.view import Key, LiveView, Pieces, changed
from workkit.web.response import Asking, Refused

PULSE_S: Final = 1.0
SHORTEST_S: Final = 0.5  # s; shortest time between two reads of a view, and between two pulses
PATIENCE_S: Final = 0.9  # s; the server counts as away if a pulse takes longer
DEAR_S: Final = 5.0  # s; shortest time between two reads of a page of drawings

log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class Away:
    """The reason why the server is away, and since when (monotonic)."""

    error: ServerError
    since: float


@dataclass(slots=True, eq=False)
class Shown:
    """A view, its last HTML, and the pulse at that time. `is_broken`: it could not be written."""

    view: LiveView
    pieces: Pieces | None = None
    pulse: Pulse | None = None
    looked: float = float("-inf")
    viewers: int = 0
    is_broken: bool = False
    is_stale: bool = True

    def is_due(self, pulse: Pulse, now: float) -> bool:
        """Return whether to read the view again: the pulse has changed, or enough time has passed."""
        every_s, since = self.view.looking.page.every_s, now - self.looked
        if since < SHORTEST_S or self.is_broken:
            return False
        if self.is_stale or self.pulse is None or since >= every_s:
            return True
        return (every_s <= DEAR_S or since >= DEAR_S) and stirred(self.pulse, pulse)


def _silent(name: str) -> ServerUnreachable:
    server = f"The server of {name}"
    return ServerUnreachable(f"{server} does not answer.", where=server)


def stirred(before: Pulse, after: Pulse) -> bool:
    """Return whether two pulses differ. Clocks, heartbeats and ages do not count."""
    return _told(before) != _told(after)


def _told(pulse: Pulse) -> tuple[object, ...]:
    c = pulse.counts
    counts = (c.waiting, c.due, c.running, c.cancelling, c.retrying, c.held, c.paused, c.dead, c.listeners)
    runs = [[info.listener, info.state, [(job.id, job.state, job.progress) for job in info.running]]
            for info in sorted(pulse.listeners, key=lambda info: info.listener)]  # fmt: skip
    soon = [(job.id, job.due, job.state) for job in pulse.soon]
    return pulse.version, pulse.control, counts, soon, runs


class Channel:
    """The pulse of one schedule, and its open views."""

    def __init__(self, served: Served, asking: Asking) -> None:
        self.served, self._asking = served, asking
        self.pulse: Pulse | None = None
        self.pulsed = self.answered = float("-inf")  # times of its request and its answer (monotonic)
        self.away: Away | None = None
        self.is_over = False
        self._views: dict[Key, Shown] = {}
        self._viewers: dict[asyncio.Event, Shown | None] = {}
        self._stir = asyncio.Event()
        self._is_hurried = False
        self._asked: asyncio.Future[Pulse] | None = None
        self._looks: asyncio.Task[None] | None = None
        self._task: asyncio.Task[None] | None = None

    def __len__(self) -> int:
        return len(self._viewers)

    def join(self, woken: asyncio.Event, view: LiveView | None) -> Shown | None:
        """Add a viewer. `woken` is set whenever there may be news. The first viewer starts the channel."""
        shown = None
        if view is not None:
            shown = self._views.setdefault(view.key, Shown(view))
            shown.viewers += 1
        self._viewers[woken] = shown
        self._stir.set()
        if self._task is None:
            self._task = asyncio.get_running_loop().create_task(self._run())
        return shown

    def leave(self, woken: asyncio.Event) -> None:
        """Remove a viewer. The last one ends the channel."""
        shown = self._viewers.pop(woken, None)
        if shown is not None:
            shown.viewers -= 1
            if not shown.viewers:
                del self._views[shown.view.key]
        if not self._viewers:
            self.end()

    def end(self) -> None:
        """End the channel at once, and wake all its viewers."""
        self.is_over = True
        for task in (self._task, self._looks):
            if task is not None:
                task.cancel()
        if self._asked is not None:
            self._asked.add_done_callback(lambda asked: asked.cancelled() or asked.exception())  # no reader
        self.wake()

    def hurry(self) -> None:
        """Read all again at once, after an act."""
        self._is_hurried = True
        for shown in self._views.values():
            shown.is_stale, shown.pieces = True, None  # a new viewer does not get the old view
        self._stir.set()

    def shown(self, key: Key) -> Shown | None:
        """Return the state of an open view."""
        return self._views.get(key)

    async def _run(self) -> None:
        try:
            while True:
                began = time.monotonic()
                self._stir.clear()
                if self._asked is not None or self._is_time(began):
                    await self._beat(began)
                if self.away is None and self.pulse is not None and (self._looks is None or self._looks.done()):
                    self._looks = asyncio.get_running_loop().create_task(self._look_all(self.pulse))
                await self._rest()
        except asyncio.CancelledError:
            raise
        except Exception:
            log.exception("The live stream of %s has ended.", self.served.name)
            self.end()

    def _is_time(self, now: float) -> bool:
        return now - self.pulsed >= (SHORTEST_S if self._is_hurried else PULSE_S)

    async def _rest(self) -> None:
        """Wait for the next pulse. An act or a new viewer shortens the wait, to half a second at least."""
        rest = max(0.05, self.pulsed + PULSE_S - time.monotonic())
        least = max(0.0, self.pulsed + SHORTEST_S - time.monotonic())
        try:
            await asyncio.wait_for(self._stir.wait(), rest)
        except TimeoutError:
            return
        if self._is_hurried:
            await asyncio.sleep(least)

    async def _beat(self, now: float) -> None:
        """Read the pulse. While a slow one is awaited, no other is requested."""
        self.pulsed = now
        self._is_hurried = False
        if self._asked is None:
            self._asked = asyncio.ensure_future(self._asking.call(self.served.pulse))
        done, _ = await asyncio.wait({self._asked}, timeout=PATIENCE_S)
        if not done:
            error = _silent(self.served.name)
            self.served.lost(error)
            self._lose(error, now)
            return
        asked, self._asked = self._asked, None
        try:
            self.pulse = asked.result()
        except Refused:  # no free thread
            return
        except ServerError as error:
            self.served.lost(error)
            self._lose(error, now)
            return
        self.answered = time.monotonic()
        self.served.reached()
        if self.away is not None:
            self.away = None
            for shown in self._views.values():
                shown.is_stale = True
        self.wake()

    def _lose(self, error: ServerError, now: float) -> None:
        known = self.away
        if known is None or str(known.error) != str(error):
            self.away = Away(error, known.since if known else now)
            self.wake()

    async def _look_all(self, pulse: Pulse) -> None:
        """Read the views that are due, one after the other. The other threads stay free for requested pages."""
        for shown in list(self._views.values()):
            if shown.viewers and shown.is_due(pulse, time.monotonic()):
                await self._look(shown, pulse)

    async def _look(self, shown: Shown, pulse: Pulse) -> None:
        shown.looked, shown.is_stale = time.monotonic(), False
        try:
            pieces = await self._asking.call(lambda: shown.view.draw(pulse))
        except (ServerError, Refused):  # the next pulse shows it
            shown.is_stale = True
            return
        except Exception:
            log.exception("The page %s of %s cannot be written.", shown.view.looking.page.name, self.served.name)
            shown.is_broken = True
            self.wake()
            return
        if shown.is_stale:  # an act came meanwhile
            return
        shown.pulse = pulse
        if shown.pieces is None or changed(shown.pieces, pieces):
            shown.pieces = pieces
            self.wake()

    def wake(self) -> None:
        """Wake all viewers."""
        for woken in self._viewers:
            woken.set()


MOST_STREAMS: Final = 200

V = TypeVar("V")


class Hub:
    """The channels of the schedules that have viewers. Without viewers nothing runs."""

    def __init__(self, asking: Asking, *, most: int = MOST_STREAMS) -> None:
        self._asking, self._most = asking, most
        self._channels: dict[str, Channel] = {}
        self._loop: asyncio.AbstractEventLoop | None = None
        self._is_over = False

    def __len__(self) -> int:
        return sum(map(len, self._channels.values()))

    def open(self, served: Served, viewer: Callable[[Channel], V]) -> V:
        """Add a viewer to a schedule. Raises Refused (503) where there are too many, or where the process is about to
        end.
        """
        if self._is_over or len(self) >= self._most:
            reason = "This process ends." if self._is_over else f"{self._most} pages are open already."
            raise Refused(503, f"{reason} This page asks again from time to time.")
        self._loop = asyncio.get_running_loop()
        channel = self._channels.get(served.name)
        if channel is None or channel.is_over:
            channel = self._channels[served.name] = Channel(served, self._asking)
        return viewer(channel)

    def channel(self, served: Served) -> Channel | None:
        """Return the channel of a schedule, if it has a viewer."""
        found = self._channels.get(served.name)
        return None if found is None or found.is_over else found

    def hurry(self, served: Served) -> None:
        """Show the effect of an act at once."""
        if (channel := self.channel(served)) is not None:
            channel.hurry()

    def look_up(self) -> None:
        """Make all streams check at once whether they continue."""
        for channel in self._channels.values():
            channel.wake()

    def end(self) -> None:
        """End all streams at once, and open no more. Any thread may call it."""
        self._is_over = True
        if self._loop is not None and not self._loop.is_closed():
            self._loop.call_soon_threadsafe(self._end)

    def _end(self) -> None:
        for channel in self._channels.values():
            channel.end()
