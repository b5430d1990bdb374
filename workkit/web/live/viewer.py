"""One stream: what its client has got, and so what it still lacks. Nothing is queued: who is slow gets the newest."""

from __future__ import annotations

import asyncio
import random
import time
from datetime import UTC, datetime, timedelta
from typing import Final, Protocol

from workkit.web import sentences
from workkit.web.hiding.veil import Veil
from workkit.web.live import events
from workkit.web.live.channel import Away, Channel
from workkit.web.live.pieces import Pieces, changed
from workkit.web.live.sight import Sight
from workkit.web.render import write

CLOCK_S: Final = 10.0
BEAT_S: Final = 4.0
"""So long a stream is still at most: its page takes 12 s of silence for a server that is gone."""

LIFE_S: Final = 300.0
SPREAD: Final = 0.15  # of a life, so that streams that began together do not end together


class Viewer(Protocol):
    """One stream. `woken` is set when there may be something to take; `is_over`: nothing follows."""

    woken: asyncio.Event
    is_over: bool

    def take(self) -> bytes:
        """Take what the client lacks; nothing, where it has all."""

    def rest_s(self) -> float:
        """Say for how long nothing is to be taken if nothing happens."""

    def leave(self) -> None:
        """Leave the channel."""


class PageViewer:
    """Sends the pieces of a page, the clock, and whether the server is there. `is_old`: the page that asks was made by
    another version of us.
    """

    def __init__(self, channel: Channel, sight: Sight, *, is_old: bool = False, life_s: float = LIFE_S) -> None:
        self.woken = asyncio.Event()
        self.woken.set()
        self.is_over = False
        self._channel = channel
        shown = channel.join(self.woken, sight)
        assert shown is not None, "it has a sight"
        self._shown = shown
        self._is_old = is_old
        now = time.monotonic()
        self._ends = now + life_s * random.uniform(1 - SPREAD, 1 + SPREAD)
        self._sent: Pieces = {}
        self._away: Away | None = None
        self._clock, self._last = now - CLOCK_S, now

    def take(self) -> bytes:
        """Take what the client lacks: see `Viewer`."""
        now = time.monotonic()
        said = b"".join(self._lacks(now))
        if not said and now - self._last >= BEAT_S:
            said = events.event("beat", {})
        if said:
            self._last = now
        if now >= self._ends:  # the client opens the next one at once
            self.is_over = True
            said += events.event("bye", {})
        if self._channel.is_over or self._shown.is_broken:
            self.is_over = True
        return said

    def _lacks(self, now: float) -> list[bytes]:
        said = []
        if self._is_old:
            said.append(events.event("reload", {"html": write("parts/new-version.html")}))
            self._is_old = False
        if (away := self._channel.away) != self._away:
            if away is None:
                said.append(events.event("back", {}))
                self._sent = {}  # what was missed meanwhile is not reckoned, all is sent
            else:
                banner = write("parts/away-banner.html", **self._away_words(away, now))
                said.append(events.event("away", {"away_ms": int((now - away.since) * 1000), "html": banner}))
            self._away = away
        if away is None and (pulse := self._channel.pulse) is not None:
            if now - self._clock >= CLOCK_S:
                self._clock = now
                ms = pulse.now_ms + int((now - self._channel.answered) * 1000)
                said.append(events.event("clock", {"ms": ms}))
            if (pieces := self._shown.pieces) is not None and pieces is not self._sent:
                if found := changed(self._sent, pieces):
                    said.append(events.event("patch", found))
                self._sent = pieces
        return said

    def _away_words(self, away: Away, now: float) -> dict[str, str | None]:
        """Say since when the server is away, in the shown zone, and of when it is what is seen of it."""
        zone, present, pulse = self._shown.sight.frame.zone, datetime.now(UTC), self._channel.pulse
        since = present - timedelta(seconds=now - away.since)
        said = sentences.away_sentence(away.error, since=since, now=present, zone=zone)
        return {"away": said, "as_of": None if pulse is None else sentences.as_of(pulse.now, since, zone)}

    def rest_s(self) -> float:
        """Say how long to rest: see `Viewer`."""
        next_s = min(self._ends, self._clock + CLOCK_S if self._away is None else self._ends, self._last + BEAT_S)
        return max(0.01, next_s - time.monotonic())

    def leave(self) -> None:
        """Leave: see `Viewer`."""
        self._channel.leave(self.woken)


class PulseViewer:
    """Sends each pulse as a line of JSON, and a line with `away_ms` while the server does not answer."""

    def __init__(self, channel: Channel, veil: Veil, *, life_s: float = LIFE_S) -> None:
        self.woken = asyncio.Event()
        self.is_over = False
        self._channel, self._veil = channel, veil
        channel.join(self.woken, None)
        self._ends = time.monotonic() + life_s * random.uniform(1 - SPREAD, 1 + SPREAD)
        self._sent: object = None

    def take(self) -> bytes:
        """Take the newest: see `Viewer`."""
        channel, now = self._channel, time.monotonic()
        self.is_over = channel.is_over or now >= self._ends
        newest = channel.away or channel.pulse
        if newest is None or newest is self._sent:
            return b""
        self._sent = newest
        name = channel.served.name
        if (away := channel.away) is not None:
            ms = int((now - away.since) * 1000)
            return events.line({"schedule": name, "error": str(away.error), "away_ms": ms})
        assert channel.pulse is not None, "it is the newest"
        return events.line(events.pulse_record(name, self._veil.pulse(channel.pulse)))

    def rest_s(self) -> float:
        """Rest until it ends: see `Viewer`."""
        return max(0.01, self._ends - time.monotonic())

    def leave(self) -> None:
        """Leave: see `Viewer`."""
        self._channel.leave(self.woken)
