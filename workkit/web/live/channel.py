"""One schedule while somebody looks at it: its pulse once a second, and each sight again when it may have changed.

It is on one event loop; what blocks runs in the threads of `answering/asking.py`. Without a viewer it ends, and asks
nothing.
"""

from __future__ import annotations

import asyncio
import logging
import time
from dataclasses import dataclass
from typing import Final

from workkit.contract.inspector import Pulse
from workkit.errors import ServerError, ServerUnreachable
from workkit.web.answering.answer import Refused
from workkit.web.answering.asking import Asking
from workkit.web.live.pieces import Pieces, changed
from workkit.web.live.sight import Key, Sight
from workkit.web.served import Served

PULSE_S: Final = 1.0
SHORTEST_S: Final = 0.5  # between two looks at one sight, and two pulses
PATIENCE_S: Final = 0.9  # a pulse that takes longer is a server that is away
DEAR_S: Final = 5.0  # between two looks at a page of drawings, however much changes

log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class Away:
    """Why the server is not there, and since when (monotonic)."""

    error: ServerError
    since: float


@dataclass(slots=True, eq=False)
class Shown:
    """A sight, how it was last written, and the pulse that it was written by. `is_broken`: it could not be."""

    sight: Sight
    pieces: Pieces | None = None
    pulse: Pulse | None = None
    looked: float = float("-inf")
    viewers: int = 0
    is_broken: bool = False
    is_stale: bool = True

    def is_due(self, pulse: Pulse, now: float) -> bool:
        """Say whether to look again: the pulse tells of something else, or it is time."""
        every_s, since = self.sight.looking.page.every_s, now - self.looked
        if since < SHORTEST_S or self.is_broken:
            return False
        if self.is_stale or self.pulse is None or since >= every_s:
            return True
        return (every_s <= DEAR_S or since >= DEAR_S) and stirred(self.pulse, pulse)


def _silent(name: str) -> ServerUnreachable:
    server = f"The server of {name}"
    return ServerUnreachable(f"{server} does not answer.", where=server)


def stirred(before: Pulse, after: Pulse) -> bool:
    """Say whether two pulses tell of different things. Clocks, heartbeats and ages do not count."""
    return _told(before) != _told(after)


def _told(pulse: Pulse) -> tuple[object, ...]:
    c = pulse.counts
    counts = (c.waiting, c.due, c.running, c.cancelling, c.retrying, c.held, c.paused, c.dead, c.listeners)
    runs = [[info.listener, info.state, [(job.id, job.state, job.progress) for job in info.running]]
            for info in sorted(pulse.listeners, key=lambda info: info.listener)]  # fmt: skip
    soon = [(job.id, job.due, job.state) for job in pulse.soon]
    return pulse.version, pulse.control, counts, soon, runs


class Channel:
    """The pulse of one schedule, and the sights of it that somebody sees."""

    def __init__(self, served: Served, asking: Asking) -> None:
        self.served, self._asking = served, asking
        self.pulse: Pulse | None = None
        self.pulsed = self.answered = float("-inf")  # when it was asked for, and answered (monotonic)
        self.away: Away | None = None
        self.is_over = False
        self._sights: dict[Key, Shown] = {}
        self._viewers: dict[asyncio.Event, Shown | None] = {}
        self._stir = asyncio.Event()
        self._is_hurried = False
        self._asked: asyncio.Future[Pulse] | None = None
        self._looks: asyncio.Task[None] | None = None
        self._task: asyncio.Task[None] | None = None

    def __len__(self) -> int:
        return len(self._viewers)

    def join(self, woken: asyncio.Event, sight: Sight | None) -> Shown | None:
        """Let a viewer in: `woken` is set whenever there may be something new. The first one starts the channel."""
        shown = None
        if sight is not None:
            shown = self._sights.setdefault(sight.key, Shown(sight))
            shown.viewers += 1
        self._viewers[woken] = shown
        self._stir.set()
        if self._task is None:
            self._task = asyncio.get_running_loop().create_task(self._run())
        return shown

    def leave(self, woken: asyncio.Event) -> None:
        """Let a viewer go. The last one ends the channel."""
        shown = self._viewers.pop(woken, None)
        if shown is not None:
            shown.viewers -= 1
            if not shown.viewers:
                del self._sights[shown.sight.key]
        if not self._viewers:
            self.end()

    def end(self) -> None:
        """End it at once: all its viewers are told."""
        self.is_over = True
        for task in (self._task, self._looks):
            if task is not None:
                task.cancel()
        if self._asked is not None:
            self._asked.add_done_callback(lambda asked: asked.cancelled() or asked.exception())  # nobody reads it
        self._wake()

    def hurry(self) -> None:
        """Look again at once: somebody has acted."""
        self._is_hurried = True
        for shown in self._sights.values():
            shown.is_stale, shown.pieces = True, None  # who comes now does not get what was before
        self._stir.set()

    def shown(self, key: Key) -> Shown | None:
        """Give what is known of a sight that somebody sees."""
        return self._sights.get(key)

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
        """Wait for the next pulse; for less where somebody acts or comes, but not less than half a second."""
        rest = max(0.05, self.pulsed + PULSE_S - time.monotonic())
        least = max(0.0, self.pulsed + SHORTEST_S - time.monotonic())
        try:
            await asyncio.wait_for(self._stir.wait(), rest)
        except TimeoutError:
            return
        if self._is_hurried:
            await asyncio.sleep(least)

    async def _beat(self, now: float) -> None:
        """Read the pulse. One that is slow goes on, and none is asked beside it."""
        self.pulsed = now
        self._is_hurried = False
        if self._asked is None:
            self._asked = asyncio.ensure_future(self._asking.call(lambda: self.served.inspector().pulse()))
        done, _ = await asyncio.wait({self._asked}, timeout=PATIENCE_S)
        if not done:
            error = _silent(self.served.name)
            self.served.lost(error)
            self._lose(error, now)
            return
        asked, self._asked = self._asked, None
        try:
            self.pulse = asked.result()
        except Refused:  # no thread was free: the next second
            return
        except ServerError as error:
            self.served.lost(error)
            self._lose(error, now)
            return
        self.answered = time.monotonic()
        self.served.reached()
        if self.away is not None:
            self.away = None
            for shown in self._sights.values():
                shown.is_stale = True
        self._wake()

    def _lose(self, error: ServerError, now: float) -> None:
        known = self.away
        if known is None or str(known.error) != str(error):
            self.away = Away(error, known.since if known else now)
            self._wake()

    async def _look_all(self, pulse: Pulse) -> None:
        """Look at what is due, one after the other: pages that are asked for have the other threads."""
        for shown in list(self._sights.values()):
            if shown.viewers and shown.is_due(pulse, time.monotonic()):
                await self._look(shown, pulse)

    async def _look(self, shown: Shown, pulse: Pulse) -> None:
        shown.looked, shown.is_stale = time.monotonic(), False
        try:
            pieces = await self._asking.call(lambda: shown.sight.draw(pulse))
        except (ServerError, Refused):  # the pulse will tell
            shown.is_stale = True
            return
        except Exception:
            log.exception("The page %s of %s cannot be written.", shown.sight.looking.page.name, self.served.name)
            shown.is_broken = True
            self._wake()
            return
        if shown.is_stale:  # somebody has acted meanwhile
            return
        shown.pulse = pulse
        if shown.pieces is None or changed(shown.pieces, pieces):
            shown.pieces = pieces
            self._wake()

    def _wake(self) -> None:
        for woken in self._viewers:
            woken.set()
