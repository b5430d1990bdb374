"""Find one job of a native schedule by name, by id, or by the beginning of an id."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import chain, islice

from workkit.brokers.native.look.all_jobs import AllJobs
from workkit.brokers.native.look.dead_set import DeadSet
from workkit.brokers.native.look.listing import Listing, parked_items, parked_rows
from workkit.brokers.redis_server.control import standing_control
from workkit.brokers.redis_server.pages import PAGE, literally
from workkit.errors import Ambiguous, NotFound
from workkit.jobs.job import Job
from workkit.jobs.names import shown
from workkit.text.nearest import nearest_word

ID_DIGITS, SHORTEST = 40, 6  # digits of an id, and how many of them are enough
AT_ONCE = 5000  # ids that the server looks at in one step, of which it answers with those that begin alike
MOST_NAMES = 5000  # to search for the nearest name
MOST_JOBS = 5_000  # to search for a name that was, or for what is like an id, however many wait


@dataclass(frozen=True, slots=True, kw_only=True)
class Search:
    """Finds one job of one schedule."""

    listing: Listing
    dead: DeadSet

    def job(self, which: str) -> Job:
        """Find one job: see `Inspector.job`. Raises NotFound, where possible with a `suggestion`."""
        if (named := self.under(which)) is not None:
            ids = [named]
        else:
            whole = len(which) == ID_DIGITS or self._is_id(which)
            ids = [which] if whole else self.ids(which) or self._added_under(which)
        if len(ids) > 1:
            raise Ambiguous.among(which, ids, "give more characters")
        for id in ids:
            if (found := self.found(id)) is not None:
                return found
        near, hint = self._nearest(which)
        schedule = self.listing.codec.schedule
        over = "It may have finished, and history does not have it, or it never was."
        remedy = f"{over}{hint} All: workkit list {schedule}."
        raise NotFound.about(
            f'no job "{which}"', f"in {schedule}", remedy, where=schedule, given=which, suggestion=near
        )

    def under(self, name: str) -> str | None:
        """Find the id of the job that has a name."""
        with self.listing.server.translated() as client:
            value = client.hget(self.listing.keys.names, name)
        id, _ = named_entry(value)
        return id if id and self._is_id(id) else None

    def holders(self, patterns: Sequence[str], *, most: int) -> list[str] | None:
        """Find the ids of the jobs that hold a name like one of these, where ``*`` stands for any text. None where they
        are more than `most`.
        """
        found: set[str] = set()
        for pattern in patterns:
            with self.listing.server.translated() as client:
                if "*" in pattern:
                    like = "*".join(map(literally, pattern.split("*")))
                    pairs = client.hscan_iter(self.listing.keys.names, match=like, count=AT_ONCE)
                    values = [value for _, value in islice(pairs, most + 1)]
                else:
                    values = [client.hget(self.listing.keys.names, pattern)]
            found.update(id for value in values if (id := named_entry(value)[0]))
            if len(values) > most or len(found) > most:
                return None
        return sorted(found)

    def ids(self, beginning: str) -> list[str]:
        """Find the ids that begin like this, of dead jobs too; none if the beginning is too short."""
        if len(beginning) < SHORTEST or not all(c in "0123456789abcdef" for c in beginning):
            return []
        with self.listing.server.translated() as client:
            keys = [key for key, _ in client.hscan_iter(self.listing.keys.jobs, match=f"{beginning}*", count=AT_ONCE)]
        found = [key.decode("utf-8", "replace") for key in keys]
        found += [id for id in self.dead.ids() if id.startswith(beginning)]
        return sorted(set(found))

    def _added_under(self, name: str) -> list[str]:
        """Find the id of a job that was added under a name and has lost it: a dead one, the last first, or one that was
        retried, among the first that wait.
        """
        jobs = chain(islice(self._jobs(), MOST_JOBS), self.dead.jobs()) if name else ()
        return list(islice((job.id for job in jobs if job.name == name), 1))

    def found(self, id: str) -> Job | None:
        """Find one job in any key, without reading all waiting jobs. Last, find a job to which nothing refers."""
        listing, key = self.listing, self.listing.keys.waiting
        control = standing_control(self.listing.server, self.listing.keys.control)
        aside = parked_rows(key, parked_items(self.listing.server, self.listing.keys, id))
        waiting = (lambda: (job for _, job in listing.parked(aside, control)), lambda: listing.waiting_of(id, control))
        places = (listing.running, *waiting, self.dead.jobs)
        found = next((job for read in places for job in read() if job.id == id), None)
        return found or next(listing.stored([id]))

    def _is_id(self, text: str) -> bool:
        """Say whether a text is a whole id; a foreign peer may use any text as an id."""
        with self.listing.server.translated() as client:
            return bool(client.hexists(self.listing.keys.jobs, text))

    def _nearest(self, which: str) -> tuple[str | None, str]:
        """Find the nearest name, or the beginning of an id, and write a sentence that names its job. Of names with
        parts, such as ``u/7/milk``, only those are near that begin with the same parts: others may belong to others.
        """
        within = which[: max(map(which.rfind, "/:")) + 1]
        with self.listing.server.translated() as client:
            alike = f"{literally(within)}*"
            some = list(islice(client.hscan_iter(self.listing.keys.names, match=alike, count=PAGE), MOST_NAMES))
        names = [name.decode("utf-8", "replace") for name, _ in some]
        if (like := nearest_word(which, names)) is not None and (id := self.under(like)) is not None:
            job = self.found(id)
            return (like, f' Nearest: "{like}" {shown(job.fn)} ({job.state}).') if job else (None, "")
        near = next(
            (job for job in islice(self._jobs(), MOST_JOBS) if which and (job.id.startswith(which) or which in job.fn)),
            None,
        )
        if near is None:
            return None, ""
        return near.id[:8], f" Nearest: {near.id[:8]} {shown(near.fn)} ({near.state})."

    def _jobs(self) -> Iterator[Job]:
        return AllJobs(self.listing, self.dead, standing_control(self.listing.server, self.listing.keys.control)).jobs()


def named_entry(value: bytes | None) -> tuple[str, str]:
    """Read an entry of `S:names`: a job's id, and the id of its content, which is the third word if the two differ."""
    id, _, content, *_ = [*(value or b"").decode("utf-8", "replace").split(" "), "", ""]
    return id, content or id
