"""The verb `add_many`: many additions, sent in bulk. Two requests are under way at once, or one if the bulk can be
resumed. Where a layout adds jobs one by one, `PartlyAdded` names the rows that were refused, and those that may have
been added. Also `prepared`: one addition that waits for a commit.
"""

from __future__ import annotations

import json
from collections import deque
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import ExitStack, suppress
from dataclasses import dataclass, replace
from functools import partial
from hashlib import sha1
from secrets import token_hex
from types import TracebackType
from typing import Any

from workkit import tracing, wire
from workkit.contract.broker import Producer
from workkit.contract.producer import Added, BulkPlace, BulkStep, GroupStep, Ids, NewJob, Tally, check_size
from workkit.errors import Invalid, InvalidOptions, ServerError, Unsupported, WorkkitError, located
from workkit.jobs.importing import refuse_addition
from workkit.jobs.job import Job
from workkit.jobs.terms import PLAIN, USUAL
from workkit.text.wording import listed
from workkit.triggers import KEYWORDS as TIMES
from workkit.verbs.addition import addition, sent
from workkit.verbs.creation import Schedule, check_schedule
from workkit.verbs.opening import producer_of

CHUNK = 200  # jobs in one request: so few that a batch makes too little garbage for the collector to run
AT_ONCE = 2  # requests under way at the same time
NOTHING = sha1(usedforsecurity=False).hexdigest()  # the digest of no rows
Row = Mapping[str, object]
Send = Callable[[Sequence[NewJob]], Callable[[], list[Added]]]


def add_many(s: Schedule, rows: Iterable[Mapping[str, object]]) -> Tally:
    """Add a job for each row. A row holds keywords of `add`, `fn` or `call` among them. Reads the rows one by one and
    sends 200 at a time. Returns how many were new and how many known, and in `ids` the id of each row's job,
    from row 0.

    A bad row raises with its number and with the rows before it that were added. Adding these again changes nothing
    where a row has a name, a unique key, or a time that stays the same; rows with a length from now, or at "now", are
    added once more. On RabbitMQ each row is confirmed separately: the error names those that were not added, and
    `error.refused` holds them (from 0).
    """
    refuse_addition("schedule.add_many")
    try:
        return add_rows(rows, s=s, broker=producer_of(s))
    except BadRow as bad:
        raise located(bad.error, f"row {bad.number:,}", then=f" {bad.done}.") from bad.error.__cause__
    except PartlyAdded as partly:
        raise partly.worded(lambda number: f"row {number:,}") from partly.error.__cause__


def prepared(s: Schedule, given: Mapping[str, Any]) -> Callable[[], Job]:
    """Read and check the job of an addition that waits for a commit, and return the function that sends it. `given`:
    the keywords of `add`; without a time the job runs at once. Warns and raises as `add`.
    """
    check_schedule(s)
    verb = "add_now" if all(given.get(name) is None for name in TIMES) else "add"
    new = addition(given, s=s, now_ms=lambda: producer_of(s).now_ms(), verb=verb)
    data = wire.payload(cron="", job=new.fn, args=new.args, extra={"kwargs": new.kwargs or {}})
    if len(data) > s.max_payload:
        check_size(data, fn=new.fn, most=s.max_payload, given=new.args)
    producer_of(s).check(new)
    return partial(sent, s, new)


content_of = json.JSONEncoder(sort_keys=True, default=str).encode  # of a row, for the digest


class BadRow(Exception):
    """A row cannot be read or added. `number` counts from 1; the rows 1 to `added` are added; `error` is the reason."""

    def __init__(self, *, number: int, added: int, error: Invalid | Unsupported) -> None:
        super().__init__(number, added, error)
        self.number = number
        self.added = added
        self.error = error

    @property
    def done(self) -> str:
        """Name the rows that are added, without a full stop."""
        return f"Rows 1 to {self.added:,} are added" if self.added else "Nothing is added"


def begun(broker: Producer) -> BulkPlace:
    """Begin a bulk that can be resumed. Raises Unsupported where the schedule has several shards."""
    return broker.batch(BulkPlace(id=token_hex(4), rows=0, digest=NOTHING))


def add_rows(rows: Iterable[Row], *, s: Schedule, broker: Producer, batch: BulkPlace | None = None) -> Tally:
    """Add a job for each row. Rows of one request share the present.

    With a `batch`, which is a bulk, the rows that it has added before are skipped, and each request moves it forward,
    so each row is added once, even if this process dies. Raises BadRow, also for an `Invalid` from the rows' iterator;
    InvalidOptions where the first rows are not those of the bulk, or another program continues it; PartlyAdded where
    the layout adds one by one.
    """
    now_ms = 0

    def present() -> int:
        return now_ms

    start = 0 if batch is None else batch.rows
    steps = None if batch is None else Steps(batch)
    with Bulk(
        broker.adding if steps is None else steps.sender(broker),
        schedule=s.name,
        at_once=AT_ONCE if steps is None else 1,
    ) as bulk:
        left, number = iter(rows), 0
        while True:
            try:
                row = next(left)
            except StopIteration:
                break
            except Invalid as error:
                raise BadRow(number=number + 1, added=start + bulk.settled(), error=error) from error
            number += 1
            if steps is not None and steps.passes(number, content_of(row)):
                continue
            if (number - start) % CHUNK == 1:
                now_ms = broker.now_ms()
            try:
                new = addition(row, s=s, now_ms=present)
                broker.check(new)
            except (Invalid, Unsupported) as error:
                raise BadRow(number=number, added=start + bulk.settled(), error=error) from error
            bulk.put(new)
        if number < start:
            assert steps is not None, "it has begun before"
            raise steps.other_rows(f"there are only {number:,}")
    return bulk.tally


class Steps:
    """The progress of a bulk. Its digest covers every row so far, each with its number. `group`: makes the step of a
    batch of spec/groups.md, if these are its rows; `called`: its name in messages.
    """

    def __init__(self, batch: BulkPlace, *, group: Callable[[], GroupStep] | None = None, called: str = "") -> None:
        self._began, self._batch, self._group = batch, batch, group
        self._called = called or f"bulk {batch.id}"
        self._digest = sha1(usedforsecurity=False)

    def passes(self, number: int, content: str) -> bool:
        """Add the content of a row to the digest. Return whether it was added before. Raises InvalidOptions where the
        earlier row differs.
        """
        self._digest.update(f"{number} {content}\n".encode("utf-8", "surrogatepass"))
        if number == self._began.rows and self._digest.hexdigest() != self._began.digest:
            raise self.other_rows("they have changed")
        return number <= self._began.rows

    def sender(self, broker: Producer) -> Send:
        """Return the function that sends the jobs of the last rows."""

        def send(jobs: Sequence[NewJob]) -> Callable[[], list[Added]]:
            rows = self._batch.rows + len(jobs)
            after = replace(self._batch, rows=rows, digest=self._digest.hexdigest())
            group = None if self._group is None else self._group()
            step, self._batch = BulkStep(before=self._batch, after=after, group=group), after
            return broker.adding(jobs, step=step)

        return send

    def other_rows(self, how: str) -> InvalidOptions:
        """Make the error for rows that are not those of the bulk."""
        trouble = f"has added {self._began.rows:,} rows, which are not the first of these: {how}"
        remedy = "Give the rows that it was begun with; what comes after them may be corrected."
        return InvalidOptions.about(self._called, trouble, remedy, where="batch", given=self._began.id)


@dataclass(frozen=True, slots=True, kw_only=True)
class _Request:
    """Jobs under way: the place of the first one (from 1), their number, and the call that waits for the answer."""

    first: int
    count: int
    answer: Callable[[], list[Added]]


class Bulk:
    """Additions, 200 in a request: the next one is made while others are under way. Leaving the block sends the
    remaining jobs and waits for all; after an error nothing more is sent. Raises PartlyAdded where the layout adds one
    by one.
    """

    def __init__(self, add: Send, *, schedule: str, at_once: int = AT_ONCE) -> None:
        self._add, self._at_once, self._schedule = add, at_once, schedule
        self.unsent: list[NewJob] = []
        self._on_their_way: deque[_Request] = deque()
        self._new = self._known = 0
        self._ids = Ids()
        self._is_ordered = False
        self._span: Any = None
        self._ends = ExitStack()

    @property
    def tally(self) -> Tally:
        """The numbers of new and of known jobs among those that have arrived, and their ids."""
        return Tally(new=self._new, known=self._known, ids=self._ids)

    def put(self, new: NewJob) -> None:
        """Add a job, now or with others. Raises the error of an earlier request."""
        self.unsent.append(new)
        if new.terms is not PLAIN or new.entrance is not USUAL:
            self._is_ordered = True
        if len(self.unsent) == CHUNK:
            self.send()

    def settled(self) -> int:
        """Wait for the requests under way. Return how many jobs have arrived, without those not yet sent."""
        while self._on_their_way:
            self._arrive()
        return self._new + self._known

    def send(self) -> None:
        """Send the jobs that are not sent."""
        # A server may read a later request first. Jobs with a name or a key depend on their order.
        at_once, self._is_ordered = 1 if self._is_ordered else self._at_once, False
        while len(self._on_their_way) >= at_once:
            self._arrive()
        batch, self.unsent = self.unsent, []
        if (context := tracing.context_of(self._span)) is not None:
            for new in batch:
                new.trace = context
        first = self._new + self._known + sum(one.count for one in self._on_their_way) + 1
        self._on_their_way.append(_Request(first=first, count=len(batch), answer=self._add(batch)))

    def _arrive(self) -> None:
        request = self._on_their_way.popleft()
        try:
            added = request.answer()
        except ServerError as error:
            if error.added is None:
                raise
            raise self._partly(request, error) from error
        self._ids.extend([one.id for one in added])
        new = len([one for one in added if one.new])
        self._new, self._known = self._new + new, self._known + len(added) - new

    def _partly(self, request: _Request, error: ServerError) -> PartlyAdded:
        """Wait for the requests under way, and collect the outcome of all."""
        partly = PartlyAdded(error)
        partly.note(request.first, request.count, error)
        while self._on_their_way:
            other = self._on_their_way.popleft()
            try:
                other.answer()
            except ServerError as failed:
                partly.note(other.first, other.count, failed)
            else:
                partly.note(other.first, other.count)
        return partly

    def __enter__(self) -> Bulk:
        if tracing.opentelemetry() is not None:
            self._span = self._ends.enter_context(tracing.adding(self._schedule))
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        try:
            if kind is None:
                if self.unsent:
                    self.send()
                self.settled()
        finally:  # after an error too: the requests under way arrive nevertheless
            for request in self._on_their_way:
                with suppress(WorkkitError):
                    request.answer()
            tracing.counted(self._span, self._new + self._known)
            self._ends.__exit__(kind, error, at)


MOST_NAMED = 10  # the most rows that a sentence names


class PartlyAdded(Exception):
    """Some rows are not added, or may not be. Rows count from 1; nothing after row `last` was sent.

    `error`: the first fault; `refused`: the rows that are not added, with the reasons; `unknown`: the first and the
    last of the rows that may be added or not.
    """

    def __init__(self, error: ServerError) -> None:
        super().__init__(error)
        self.error = error
        self.refused: dict[int, ServerError] = {}
        self.unknown: tuple[int, int] | None = None
        self.last = 0
        self._unsent: tuple[int, int] | None = None
        self._answered = 0  # the last row that the broker has answered

    def note(self, first: int, count: int, error: ServerError | None = None) -> None:
        """Record the outcome of a request of `count` rows from row `first` on. Without an error, all are added."""
        self.last = max(self.last, first + count - 1)
        if error is None:
            self._answered = self.last
            return
        added = error.added or frozenset()
        self.refused |= {first + place: refusal for place, refusal in error.refused.items()}
        self._answered = max(self._answered, *(first + place for place in (*added, *error.refused)), 0)
        left = [first + place for place in range(count) if place not in added and place not in error.refused]
        if left and error.unanswered:
            self.unknown = _joined(self.unknown, left)
        elif left:
            self._unsent = _joined(self._unsent, left)

    def worded(self, place: Callable[[int], str], *, row: Callable[[int], int] = lambda number: number) -> ServerError:
        """Return the error with its row, and with the outcome of the other rows. `place` names one row, `row` numbers
        it as the user knows it.
        """
        self._place_unsent()
        said = []
        if self.refused:
            rows = [f"{row(number):,}" for number in sorted(self.refused)]
            named = listed(rows) if len(rows) <= MOST_NAMED else f"{', '.join(rows[:MOST_NAMED])}, ..."
            said.append(f"Not added: {'row' if len(rows) == 1 else f'{len(rows):,} rows,'} {named}")
        if self.unknown is not None:
            first, last = self.unknown
            which = f"row {row(first):,} is" if first == last else f"rows {row(first):,} to {row(last):,} are"
            said.append(f"It is not known whether {which} added")
        if self._others():
            said.append(f"{'All other' if said else 'The'} rows up to {row(self.last):,} are added, and none after it")
        else:
            said.append("No other row is added" if said else "Nothing is added")
        then = " ".join(f"{sentence}." for sentence in said)
        error = self.refused[min(self.refused)] if self.refused else self.error
        error.added, error.unanswered = None, self.unknown is not None
        error.refused = {number - 1: refusal for number, refusal in self.refused.items()}
        if self.refused:
            return located(error, place(min(self.refused)), then=f" {then}")
        error.args = (f"{error} {then}",)
        return error

    def _others(self) -> int:
        """Count the rows that are added."""
        first, last = self.unknown or (1, 0)
        refused = sum(number <= self.last and not first <= number <= last for number in self.refused)
        return self.last - refused - (last - first + 1)

    def _place_unsent(self) -> None:
        """Let the sent rows end before the unsent ones. If later rows were answered, the unsent ones are unknown."""
        if self._unsent is not None and self._unsent[0] > self._answered:
            self.last = min(self.last, self._unsent[0] - 1)
        elif self._unsent is not None:
            self.unknown = _joined(self.unknown, self._unsent)
        if self.unknown is not None and self.unknown[0] > self.last:
            self.unknown = None


def _joined(known: tuple[int, int] | None, rows: Sequence[int]) -> tuple[int, int]:
    return (rows[0], rows[-1]) if known is None else (min(known[0], rows[0]), max(known[1], rows[-1]))
