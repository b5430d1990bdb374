"""List the jobs of a native schedule while listeners move them from key to key. Find one job by name, by id, or by the
beginning of an id.

A *look* reads in one step the records of all listeners, and a page of some places where jobs wait.
"""

from __future__ import annotations

from array import array
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from heapq import merge
from itertools import chain, islice
from typing import Any, NamedTuple

from workkit.brokers.native.entry import plain_item
from workkit.brokers.native.look.dead_set import DeadSet
from workkit.brokers.native.look.listing import (
    Listing,
    Row,
    Shown,
    entry_rows,
    item_rows,
    parked_items,
    parked_rows,
    record_rows,
)
from workkit.brokers.native.look.tagged import Tagged, is_all
from workkit.brokers.redis_server.control import standing_control
from workkit.brokers.redis_server.pages import PAGE, Cursor, Scored, is_text, literally, ordered_pages, piped, server_ms
from workkit.errors import Ambiguous, NotFound
from workkit.jobs.admission import Control
from workkit.jobs.job import Job, JobState
from workkit.jobs.names import shown
from workkit.text.nearest import nearest_word

RUNNING: tuple[JobState, ...] = ("running", "cancelling")
ASIDE: tuple[JobState, ...] = ("held", "paused")
QUEUED: tuple[JobState, ...] = ("waiting", "due", "retrying")


class Look(NamedTuple):
    """The result of one look: the records of all listeners, and a page of each place."""

    records: list[Row]
    pages: list[list[Scored]]


class AllJobs:
    """One listing of a schedule.

    The first look reads the records of all listeners and the first page of each place where jobs wait. If each of these
    fits a page (500 jobs), the listing shows every job that exists, and each occurrence once. Dead jobs are read last.
    A job that was shown before it died is not shown again.

    Each further page of a longer queue is read in one step with the records, from behind the last member of the page
    before. Jobs that listeners took before their page was read are shown as running. In the end a second look finds
    jobs that were not shown yet. A recurring job that runs meanwhile may be shown with its next run too. A job that a
    person moves to an earlier time, or takes out of the dead set, may be missing.

    With a `state`, only the keys that can hold such jobs are read. A job that is in this state all the time is shown.

    With `holders`, the ids of jobs, it reads of `S:next` only these and the first page. A job that has lost its name,
    such as a dead one that was retried, is found only in the first page. With `only`, it shows only the jobs of a tag.
    It reads all of `S:again` and `S:waiting` only if one of these may be there.

    It remembers 16 bytes of each job that it has shown.
    """

    def __init__(
        self, listing: Listing, dead: DeadSet, control: Control, *, state: JobState | None = None,
        holders: Sequence[str] | None = None, only: Tagged | None = None,
    ) -> None:  # fmt: skip
        server, k = listing.server, listing.keys
        self._listing, self._dead, self._control, self._state = listing, dead, control, state
        self._only = only
        asked = holders if only is None else sorted(only.ids)
        self._holders = None if asked is None else [plain_item(id) for id in asked]
        self._next, self._again, self._waiting = (Cursor(server, key) for key in (k.next, k.again, k.waiting))
        self._names: list[str] = []  # names of listeners
        self._early: set[int] = set()  # the occurrences of the first look
        self._moved: set[int] = set()  # those of them that it did not find in `S:next`
        self._claimed: list[Row] = []  # before their page was read
        self._marked: frozenset[bytes] = frozenset()  # the jobs and occurrences that were cancelled
        self._item_rows = partial(item_rows, k.next)
        self._runs, self._items = array("q"), array("q")  # shown so far: occurrences, and the items of their jobs

    def jobs(self) -> Iterator[Job]:
        """Page through the jobs: running ones, then waiting ones, soonest first, then dead ones, latest first."""
        return self._all() if self._state is None else (job for job in self._all() if job.state == self._state)

    def _all(self) -> Iterator[Job]:
        look = self._first_look()
        aside, items, owed = self._rows(look)
        if self._only is not None and is_all(self._listing, self._only, [*look.records, *aside, *items, *owed]):
            self._again.is_over = self._waiting.is_over = True
        self._moved = {row.run for row in chain(look.records, aside, owed)}
        self._early = self._moved.union(row.run for row in items)
        yield from sorted(self._shown(self._listing.held(look.records, self._marked)), key=_due)
        is_long = not (self._waiting.is_over and self._next.is_over and self._again.is_over)
        yield from merge(self._parked(aside), self._queued(items, owed), key=_due)
        if is_long and self._state is None:
            yield from self._late()
        if self._wants("dead"):
            for page in self._dead_pages():
                shown = list(self._dead.shown(page))
                met = {run for run, _ in shown}.intersection(self._runs)
                yield from (job for run, job in shown if run not in met)

    def _dead_pages(self) -> Iterable[list[Scored]]:
        if self._only is None:
            return ordered_pages(self._listing.server, self._listing.keys.dead, latest_first=True)
        return [self._dead.standing(self._only.dead)]

    def _wants(self, *states: JobState) -> bool:
        return self._state is None or self._state in states

    def _first_look(self) -> Look:
        if self._wants(*RUNNING):
            with self._listing.server.translated() as client:
                self._names = _texts(client.zrange(self._listing.keys.listeners, 0, -1))
        queued = (*QUEUED, "paused") if self._control.paused else QUEUED
        self._waiting.is_over = not self._wants(*ASIDE)
        self._next.is_over = not self._wants(*queued)
        self._again.is_over = not self._wants(*queued, "held")
        return self._look(self._waiting, self._next, self._again)

    def _look(self, *places: Cursor) -> Look:
        """Read the records and the next page of each place in one step. Include listeners that began meanwhile."""
        k, cursors = self._listing.keys, [place for place in places if not place.is_over]
        paged = [place for place in cursors if self._only is None or place is not self._next]
        while True:
            windows = piped(self._listing.server, partial(self._ask, cursors, paged), whole=True)
            answers = iter(windows[len(paged) :])
            records: list[Row] = []
            marked: frozenset[bytes] = frozenset()
            if self._wants(*RUNNING):
                listed, marked = _texts(next(answers)), frozenset(next(answers))
                if new := [name for name in listed if name not in self._names]:
                    self._names += new
                    continue
                for name in self._names:
                    held_by, said = next(answers), next(answers)
                    records += record_rows(k.running(name), self._meant_records(held_by), said)
            self._marked = marked
            page_of = {cursor: cursor.take(window) for cursor, window in zip(paged, windows, strict=False)}
            if self._holders is not None and self._next in cursors:
                scores = next(answers) if self._holders else []
                held = {(item, at) for item, at in zip(self._holders, scores, strict=True) if at is not None}
                held.update(page_of.get(self._next) or [])
                page_of[self._next] = sorted(held, key=lambda one: (one[1], one[0]))
                self._next.is_over = True
            if None not in page_of.values():  # otherwise the queue has changed too much: ask again for one page only
                return Look(records, [page_of.get(place) or [] for place in places])

    def _ask(self, cursors: Iterable[Cursor], paged: Iterable[Cursor], pipe: Any) -> None:
        k = self._listing.keys
        for cursor in paged:
            cursor.ask(pipe)
        if self._wants(*RUNNING):
            pipe.zrange(k.listeners, 0, -1)
            pipe.zrange(k.cancelled, 0, -1)
            for name in self._names:
                pipe.hgetall(k.running(name))
                pipe.hgetall(k.progress(name))
        if self._holders and self._next in cursors:
            pipe.zmscore(k.next, self._holders)

    def _rows(self, look: Look) -> tuple[list[Row], list[Row], list[Row]]:
        aside, items, owed = look.pages
        return self._aside(aside), self._item_rows(items), self._owed(owed)

    def _parked(self, first: list[Row]) -> Iterator[Job]:
        """Show all parked jobs, sorted by due time. The server sorts them by the key under which they wait."""
        more = chain.from_iterable(map(self._aside, self._more(self._waiting)))
        rows = sorted(chain(first, _without(more, self._early)), key=lambda row: row.entry.due_ms)
        for page in _in_pages(iter(rows)):
            yield from self._shown(self._listing.parked(page, self._control))

    def _queued(self, items: list[Row], owed: list[Row]) -> Iterator[Job]:
        """Show `S:next` and `S:again`, merged by score."""
        now = server_ms(self._listing.server)
        rows = merge(
            chain(items, self._pages(self._next, self._item_rows, but_for=self._moved)),
            chain(owed, self._pages(self._again, self._owed, but_for=self._early)),
            key=lambda row: row.when,
        )
        for page in chain(_in_pages(rows), [[]]):
            yield from self._shown(self._listing.queued(page, now, self._control))
            claimed, self._claimed = self._claimed, []
            yield from sorted(self._shown(self._listing.held(claimed, self._marked)), key=_due)

    def _pages(
        self, cursor: Cursor, rows_of: Callable[[list[Scored]], list[Row]], *, but_for: set[int]
    ) -> Iterator[Row]:
        """Read the further pages of a queue, and with each page the items of `S:next` that listeners
        have taken since.
        """
        for page in self._more(cursor):
            yield from _without(rows_of(page), but_for)

    def _more(self, cursor: Cursor) -> Iterator[list[Scored]]:
        while not cursor.is_over:
            place = self._next.place
            look = self._look(cursor)
            for row in _without(look.records, self._early):
                if _is_fresh(row) and (float(row.entry.due), row.entry.item) > place:
                    self._early.add(row.run)
                    self._moved.add(row.run)
                    self._claimed.append(row)
            yield look.pages[0]

    def _late(self) -> Iterator[Job]:
        """Look again, and show the jobs that were not shown."""
        again = AllJobs(self._listing, self._dead, self._control, only=self._only)
        look = again._first_look()
        aside, items, owed = self._rows(look)
        met = {hash(row.entry.item) for row in chain(look.records, aside, items, owed)}.intersection(self._items)
        now = server_ms(self._listing.server)

        def unmet(rows: list[Row]) -> list[Row]:
            return [row for row in rows if hash(row.entry.item) not in met]

        yield from self._shown(self._listing.held(unmet(look.records), again._marked))
        yield from self._shown(self._listing.parked(unmet(aside), self._control))
        yield from self._shown(self._listing.queued(unmet(items) + unmet(owed), now, self._control))

    def _shown(self, found: Iterable[Shown]) -> Iterator[Job]:
        """Remember the shown jobs."""
        seen, items = self._runs.append, self._items.append
        for row, job in found:
            seen(row.run)
            items(hash(row.entry.item))
            yield job

    def _aside(self, page: Iterable[Scored]) -> list[Row]:
        return parked_rows(self._listing.keys.waiting, (text for text, _ in self._meant(page)))

    def _owed(self, page: Iterable[Scored]) -> list[Row]:
        return entry_rows(self._listing.keys.again, self._meant(page))

    def _meant(self, page: Iterable[Scored]) -> Iterable[Scored]:
        return page if self._only is None else [one for one in page if self._only.has(one[0])]

    def _meant_records(self, records: Mapping[bytes, bytes]) -> Mapping[bytes, bytes]:
        return records if self._only is None else {f: value for f, value in records.items() if self._only.has(f)}


def _without(rows: Iterable[Row], met: set[int]) -> Iterable[Row]:
    """Leave out rows that were seen elsewhere."""
    return (row for row in rows if row.run not in met) if met else rows


def _is_fresh(row: Row) -> bool:
    """Say whether a record has surely come from `S:next`. Its due time was its score there."""
    return not row.entry.attempt and not row.entry.crashes and row.entry.flags == "-"


def _in_pages(rows: Iterator[Row]) -> Iterator[list[Row]]:
    while page := list(islice(rows, PAGE)):
        yield page


def _texts(names: Iterable[bytes]) -> list[str]:
    return [name.decode() for name in names if is_text(name)]


def _due(job: Job) -> float:
    return float("-inf") if job.due is None else job.due.timestamp()


ID_DIGITS, SHORTEST = 40, 6  # digits of an id, and how many of them are enough
AT_ONCE = 5000  # ids that the server compares in one step
MOST_NAMES = 5000  # names to compare in the search for the nearest name
MOST_JOBS = 5_000  # jobs to read in the search for an earlier name or a similar id


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
        """Find the ids of the jobs that hold a name like one of these, where ``*`` matches any text. None if there are
        more than `most`.
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
        """Find the ids that begin with this text, of dead jobs too; none if the text is too short."""
        if len(beginning) < SHORTEST or not all(c in "0123456789abcdef" for c in beginning):
            return []
        with self.listing.server.translated() as client:
            keys = [key for key, _ in client.hscan_iter(self.listing.keys.jobs, match=f"{beginning}*", count=AT_ONCE)]
        found = [key.decode("utf-8", "replace") for key in keys]
        found += [id for id in self.dead.ids() if id.startswith(beginning)]
        return sorted(set(found))

    def _added_under(self, name: str) -> list[str]:
        """Find the id of a job that was added under a name and has lost it: a dead one, the last one first, or a
        retried one among the first jobs that wait.
        """
        jobs = chain(islice(self._jobs(), MOST_JOBS), self.dead.jobs()) if name else ()
        return list(islice((job.id for job in jobs if job.name == name), 1))

    def found(self, id: str) -> Job | None:
        """Find one job in any key, without reading all waiting jobs. As the last step, find a job to which nothing
        refers.
        """
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
        """Find the nearest name, or the beginning of an id, and write a sentence that names its job. For a name with
        parts, such as ``u/7/milk``, only names with the same first parts are near: others may belong to other users.
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
    """Read an entry of `S:names`: the job's id, and the id of its content. The third word is the id of the content if
    the two differ.
    """
    id, _, content, *_ = [*(value or b"").decode("utf-8", "replace").split(" "), "", ""]
    return id, content or id
