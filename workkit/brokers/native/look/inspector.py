"""Read a native schedule: the entry point of this package. Also find the schedules of a server."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from datetime import UTC, datetime
from time import monotonic
from typing import Final

from workkit.brokers.native.codec import Codec
from workkit.brokers.native.keys import SIGNS, Keys, sign_keys
from workkit.brokers.native.look.all_jobs import AllJobs, Search
from workkit.brokers.native.look.counts import read_ahead, read_counts, read_pulse
from workkit.brokers.native.look.dead_set import DeadSet, Walk
from workkit.brokers.native.look.listing import Listing
from workkit.brokers.native.look.past import NativeHistory
from workkit.brokers.native.look.recurring import KeptJobs, read_limits, read_named, read_recurring
from workkit.brokers.native.look.tagged import find_tagged, listed_behind
from workkit.brokers.redis_server.control import quieted, read_info, standing_control, whole_ms
from workkit.brokers.redis_server.key_names import Found, Signs, find_names
from workkit.brokers.redis_server.pages import is_text, server_ms
from workkit.brokers.redis_server.server import Server
from workkit.contract.inspector import Counts, Graves, IsKnown, LimitUse, Named, Pulse, Recurs
from workkit.contract.listener import ListenerInfo
from workkit.contract.where import JobPage, JobQuery, Placed, read_page
from workkit.jobs.admission import Control
from workkit.jobs.job import Job, JobState

MOST_HOLDERS: Final = 5_000  # jobs that are searched by their names or tags; with more, the whole queue is read
DAY_MS: Final = 86_400_000
DAYS: Final = 400  # days for which counts are kept
SCHEDULES: Final = Signs({**SIGNS, r"past:d:\d+": "hash"}, globs=("*:[jnlgcspr]*[stly]", "*:past:d:*"))


def schedule_names(server: Server, *, seconds: float | None = None) -> Found:
    """Find the schedules of a server, each shard by its own name. Search for at most `seconds`."""
    return find_names(server, SCHEDULES, seconds=seconds)


class NativeInspector:
    """Reads one schedule. Thread-safe. `waiting`: connections that may wait for a minute."""

    def __init__(self, server: Server, *, keys: Keys, codec: Codec, waiting: Server) -> None:
        self.server, self.keys, self.codec = server, keys, codec
        self._kept = KeptJobs()
        self._listing = Listing(server=server, keys=keys, codec=codec)
        self._dead = DeadSet(server=server, keys=keys, codec=codec)
        self._search = Search(listing=self._listing, dead=self._dead)
        self.under, self.ids = self._search.under, self._search.ids
        self.history = NativeHistory(server=server, keys=keys, waiting=waiting, listing=self._listing)

    def is_known(self) -> bool:
        """Say whether the server knows the schedule: see `Inspector.is_known`. This takes one round trip; two if the
        server does not know it, or has only past days of it.
        """
        with self.server.translated() as client:
            if client.exists(*sign_keys(self.keys)):
                return True
        today = server_ms(self.server) // DAY_MS
        with self.server.translated() as client:
            return bool(client.exists(*(self.keys.past(f"d:{day}") for day in range(today - DAYS, today + 1))))

    def counts(self) -> Counts:
        """Count the jobs in each state: see `Inspector.counts`."""
        return read_counts(self._listing, self.control())

    def pulse(self) -> Pulse:
        """Look at the schedule quickly: see `Inspector.pulse`."""
        return read_pulse(self._listing)

    def jobs(
        self, *, state: JobState | None = None, named: Sequence[str] = (), tagged: Sequence[str] = ()
    ) -> Iterator[Job]:
        """Page through the jobs: running ones, then waiting ones (held and paused ones among them), soonest first, then
        dead ones, latest first. Parked jobs are all read, to be sorted. `AllJobs` explains which jobs are seen while
        listeners work.

        With a `state`, it reads only the keys that can hold such jobs: a million waiting jobs do not slow down reading
        the dead set. With names, it reads of `S:next` only the first page and the jobs that hold one of these names.
        With tags, it reads the jobs that `S:tags` names.
        """
        if tagged and (only := find_tagged(self.server, self.keys, tagged, most=MOST_HOLDERS)) is not None:
            return AllJobs(self._listing, self._dead, self.control(), state=state, only=only).jobs()
        holders = self._search.holders(named, most=MOST_HOLDERS) if named and state != "dead" else None
        return AllJobs(self._listing, self._dead, self.control(), state=state, holders=holders).jobs()

    def unlisted(self) -> Mapping[JobState, str]:
        """Return nothing: all states can be listed."""
        return {}

    def page(self, query: JobQuery) -> JobPage:
        """Read a page of jobs: see `Inspector.page`."""
        now_ms = server_ms(self.server)
        now = datetime.fromtimestamp(now_ms / 1000, UTC)
        return read_page(self.walk(query, query.after), query, now=now, clock_s=monotonic)

    def walk(self, query: JobQuery, after: str | None) -> Iterator[Placed]:
        """Walk over the jobs of a query behind a place: see `Walk.behind`. Those of a tag are read together."""
        tags = query.where.tagged
        if tags and (only := find_tagged(self.server, self.keys, tags, most=MOST_HOLDERS)) is not None:
            listed = AllJobs(self._listing, self._dead, self.control(), state=query.state, only=only)
            return listed_behind(listed.jobs(), after)
        walk = Walk(
            listing=self._listing, dead=self._dead, control=self.control(), state=query.state, first=query.limit + 1
        )
        return walk.behind(after)

    def job(self, which: str) -> Job:
        """Find one job: see `Inspector.job`."""
        return self._search.job(which)

    def named(self) -> dict[str, Named]:
        """Read the jobs that have a name: see `Plans.named`."""
        return read_named(self._listing, self._kept)

    def recurring(self) -> list[Recurs]:
        """Read the recurring jobs: see `Inspector.recurring`."""
        return read_recurring(self._listing, self._kept)

    def graves(self, *, after: str = "", limit: int = 500, is_known: IsKnown | None = None) -> Graves:
        """Read a page of the dead jobs, the oldest first."""
        return self._dead.graves(after=after, limit=limit, is_known=is_known)

    def still_dead(self, dead: Sequence[Job]) -> list[bool]:
        """Say for each of these jobs whether it is still in the dead set."""
        return self._dead.still_dead(dead)

    def listeners(self) -> list[ListenerInfo]:
        """List the listeners and the claims of each, by the time of their last heartbeat."""
        now, control, found = server_ms(self.server), self.control(), []
        with self.server.translated() as client:
            beats = client.zrange(self.keys.listeners, 0, -1, withscores=True)
        for raw, beat in beats:
            name = raw.decode("utf-8", "replace")
            packed = None
            if is_text(raw):  # every listener has such a name
                with self.server.translated() as client:
                    packed = client.hget(self.keys.running(name), "info")
            info = quieted(read_info(packed, listener=name, now_ms=now), control)
            held = tuple(self._listing.held_by(name)) if is_text(raw) else ()
            found.append(replace(info, beat_ms=max(0, now - whole_ms(beat)), running=held))
        return found

    def control(self) -> Control:
        """Read the pauses that still last, and the schedule's own limits."""
        return standing_control(self.server, self.keys.control)

    def limits(self, *, like: str = "") -> list[LimitUse]:
        """List the limits and rates in use: see `Limits.limits`."""
        return read_limits(self._listing, like=like)

    def ahead(self, edges: Sequence[int]) -> list[int]:
        """Count the waiting jobs by time: see `ByTime.ahead`."""
        return read_ahead(self.server, self.keys, edges)
