"""The verbs `batch`, `map` and `chain`: jobs that belong together, and what follows them (spec/groups.md)."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta
from secrets import token_hex
from types import TracebackType
from typing import Any, Literal, Unpack, cast, get_args

from workkit.contract import producer
from workkit.contract.groups import Ending, Group, group_id
from workkit.contract.producer import Added, Before, GroupStep, NewGroup, NewJob, OnDeath
from workkit.errors import InvalidOptions, NotFound
from workkit.jobs import option_readers as read
from workkit.jobs.call import AddOptions, FunctionCall, MapOptions
from workkit.jobs.importing import refuse_addition
from workkit.jobs.job import Job
from workkit.jobs.json_value import SIMPLE
from workkit.jobs.names import Fn, shown, stored_name
from workkit.jobs.options import BY_NAME
from workkit.jobs.terms import PLAIN, Terms, deadline_ms, instant_of, of_member
from workkit.text.cells import brief_repr
from workkit.text.wording import plural
from workkit.triggers import KEYWORDS as TIMES
from workkit.verbs.addition import addition, sent
from workkit.verbs.bulk import NOTHING, Bulk, Steps, content_of
from workkit.verbs.creation import Schedule, check_schedule
from workkit.verbs.new_job import FILLED, as_job, read_call, set_deadline
from workkit.verbs.opening import author_of, check_groups, groups_of, keeper_of, members_of, producer_of

STEP = 1000  # jobs of a batch that are added in one step
REPORT_SECONDS = 0.5  # between two lines of progress


def batch(
    s: Schedule,
    name: str,
    *,
    then: Callable[..., Any] | str | FunctionCall | None = None,
    on_success: Callable[..., Any] | str | FunctionCall | None = None,
    on_death: Literal["cancel", "continue"] = "continue",
    done_by: str | datetime | None = None,
    ping: str | None = None,
) -> Batch:
    """Name a batch: jobs that belong together. ``with schedule.batch(s, "import") as batch: batch.add(load, ...)``.

    No listener sees its jobs before the block is left. When each of them has ended, `then` runs; and `on_success` runs
    if none of them is dead. Both are a function or a `call`. on_death="cancel" cancels the rest when the first job is
    dead; "continue" lets the rest run. `done_by` is a deadline for `then`, `ping` the URL of its monitor.

    A batch is made once: the same block again adds nothing twice. After a crash or an error in the block, its jobs stay
    hidden, and the same block continues where it was. Without a block this only names a batch, to read or cancel it.

    Raises an `Invalid` for an argument with an invalid value, Unsupported where the schedule keeps no batches.
    """
    check_schedule(s)
    check_groups(s, "a batch")
    name = BY_NAME["name"].read(name, "name")
    read.choice(("cancel", "continue"))(on_death, "on_death")
    for option, value in (("done_by", done_by), ("ping", ping)):
        if value is not None and then is None:
            trouble, remedy = "without then=: it tells of the job that runs when the batch is over", "Add then=."
            raise read.option_error(option, value, trouble, remedy)
    made, last = Batch(s, name), None if then is None else _follower(s, name, then, "then", done_by, ping)
    success = None if on_success is None else _follower(s, name, on_success, "success")
    by_ms = None if last is None else deadline_ms(last.terms, 0)
    made._make = NewGroup(on_death=cast("OnDeath", on_death), then=last, on_success=success, done_by_ms=by_ms)
    return made


def map(
    s: Schedule,
    fn: Callable[..., Any] | str,
    rows: Iterable[Any],
    *,
    name: str | None = None,
    then: Callable[..., Any] | str | FunctionCall | None = None,
    on_success: Callable[..., Any] | str | FunctionCall | None = None,
    on_death: Literal["cancel", "continue"] = "continue",
    done_by: str | datetime | None = None,
    ping: str | None = None,
    progress: bool | Callable[[int], object] = False,
    **options: Unpack[MapOptions],
) -> Batch:
    """Add a batch that calls `fn` for each row. A row is a tuple or list of arguments by position, a dictionary of
    arguments by name, or one argument.

    Reads the rows one by one, so there may be any number. With a `name`, the same call again continues where it was.
    `progress`: show the number of rows on the terminal; or a function that gets it. The other options are those of
    `batch`, and of `add_now` for each job.
    """
    made = batch(
        s, name or f"{shown(stored_name(fn))[:150]} {token_hex(4)}", then=then, on_success=on_success,
        on_death=on_death, done_by=done_by, ping=ping,
    )  # fmt: skip
    say = _printed(made.name) if progress is True else progress or None
    given: dict[str, Any] = {"fn": fn, **options}
    with made:
        for number, row in enumerate(rows, 1):
            is_named = type(row) not in SIMPLE and isinstance(row, Mapping)
            value = row if is_named or isinstance(row, list | tuple) else (row,)
            made._put({**given, "kwargs" if is_named else "args": value}, needs_job=False)
            if say is not None and number % STEP == 0:
                say(number)
    if say is not None:
        say(made.rows)
    return made


def chain(
    s: Schedule, calls: Sequence[FunctionCall], *, on_death: Literal["cancel", "run"] = "cancel"
) -> list[Job[Any]]:
    """Add jobs that run one after the other, in one step: each of `calls` when the one before has ended. Returns the
    jobs. If one fails, the rest is cancelled; with on_death="run" the rest runs.
    """
    check_schedule(s)
    check_groups(s, "a chain")
    refuse_addition("schedule.chain")
    if not 1 <= len(calls) <= STEP:
        trouble = f"has {plural(len(calls), 'call')}"
        raise InvalidOptions.about("a chain", trouble, f"Give 1 to {STEP:,} calls.", where="calls", given=calls)
    new: list[NewJob] = []
    ids, nonce = keeper_of(s).id_of, token_hex(8)
    for one in calls:
        given: dict[str, Any] = {"call": one}
        if new:
            given |= {"after": ids(new[-1]), "on_death": on_death}
        new.append(addition(given, s=s, now_ms=producer_of(s).now_ms, verb="add_now"))
        new[-1].identity = f"chain {nonce}.{len(new)}"
    added = producer_of(s).adding(new)()
    return [as_job(job, schedule=s.name, added=one, source=s) for job, one in zip(new, added, strict=True)]


@dataclass(frozen=True, slots=True, kw_only=True)
class BatchState:
    """A batch as it was when it was read: how many jobs it has in all (`total`), how many have not ended (`waiting`),
    and how the others have ended.

    `state`: "open" while jobs are added, "abandoned" if that stopped 10 minutes ago, "running" until each job has
    ended, then "done"; "cancelling" and "cancelled". `then`, `on_success`: the ids of the jobs that follow. `made`,
    `added`, `settled`: when it was made, when a job was added last, and when the last job has ended.
    """

    id: str
    name: str
    state: str
    on_death: str
    total: int = 0
    waiting: int = 0
    done: int = 0
    dead: int = 0
    cancelled: int = 0
    discarded: int = 0
    expired: int = 0
    missed: int = 0
    replaced: int = 0
    removed: int = 0
    lost: int = 0
    then: str | None = None
    on_success: str | None = None
    made: datetime | None = None
    added: datetime | None = None
    settled: datetime | None = None
    _of: Any = field(default=None, repr=False, compare=False)

    __repr__ = brief_repr

    def ids(self, ending: Ending | None = None) -> Iterator[str]:
        """Read the ids of its jobs, page by page: those of one ending ("dead", "waiting"), or all. Jobs that are done
        are listed where their result is kept.
        """
        schedule, group = self._of
        return (one.name for one in members_of(schedule, group, ending))


class _Count:
    """A count of a batch, read from the server at each access."""

    def __set_name__(self, owner: type, name: str) -> None:
        self._name = name

    def __get__(self, batch: Any, owner: type) -> int:
        return self if batch is None else cast("int", getattr(batch.state(), self._name))  # type: ignore[return-value]


class Batch:
    """A batch of one schedule. `schedule.batch` returns it; so does `current_job().batch`.

    Its counts `total`, `waiting`, `done`, `dead` and `cancelled` are read from the server at each access; `state` reads
    all at once.
    """

    total = _Count()
    waiting = _Count()
    done = _Count()
    dead = _Count()
    cancelled = _Count()

    def __init__(self, s: Schedule, name: str) -> None:
        self.name = name
        self.id = group_id(name)
        self.rows = 0  # that the block has read
        self.before = Before("batch", name)  # for `after`
        self._schedule, self._make, self._terms = s, NewGroup(), of_member(name)
        self._bulk: Bulk | None = None  # in its block
        self._steps: Steps | None = None  # None: its rows were forgotten
        self._place = producer.BulkPlace(id=self.id, rows=0, digest=NOTHING)
        self._is_made = self._is_closed = self._closes = self._was_sent = False
        self._ends = ExitStack()

    def __repr__(self) -> str:
        return f"<Batch {self.name!r} of {self._schedule.name}>"

    def add(
        self,
        fn: Fn | None = None,
        *,
        call: FunctionCall | None = None,
        when: str | None = None,
        at: str | datetime | None = None,
        in_: str | timedelta | None = None,
        args: Sequence[Any] = (),
        kwargs: Mapping[str, Any] | None = None,
        **options: Unpack[AddOptions],
    ) -> Job[Any]:
        """Add a job to the batch: in its block, or from a job of the batch that has not ended. Without a time it runs
        at once. All options are those of `schedule.add`.

        In the block, jobs are sent 1,000 at a time. Those that were added when the batch was made first are not added
        again: their `id` is "". Raises as `schedule.add`; InvalidOptions for a job that recurs, a batch that is over,
        and rows that differ from those of the first time.
        """
        others = (("call", call), ("kwargs", kwargs), ("when", when), ("at", at), ("in_", in_))
        given = {keyword: value for keyword, value in others if value is not None}
        return cast("Job[Any]", self._put({"fn": fn, "args": args, **options, **given}))

    def state(self) -> BatchState:
        """Read the batch. Raises NotFound."""
        return state_of(self._schedule, groups_of(self._schedule).group(self.name))

    def ids(self, ending: Ending | None = None) -> Iterator[str]:
        """Read the ids of its jobs, as `BatchState.ids` does. Raises NotFound."""
        return self.state().ids(ending)

    def cancel(self, *, by: str | None = None) -> BatchState:
        """Cancel what has not ended: jobs that wait do not run, runs are cancelled, and nothing follows. `by`: as in
        `schedule.cancel`. Raises NotFound.
        """
        author = author_of(by)
        state = state_of(self._schedule, groups_of(self._schedule).cancel(self.name))
        producer_of(self._schedule).admin.by(author).note("cancel-batch", {"batch": self.name})
        return state

    def __enter__(self) -> Batch:
        refuse_addition("schedule.batch")
        s, self._place, is_forgotten = self._schedule, producer.BulkPlace(id=self.id, rows=0, digest=NOTHING), False
        try:
            self._is_closed = groups_of(s).group(self.name).state != "open"
            self._is_made = True
            place = producer_of(s).batch(self.id)
            self._place = replace(place, digest=place.digest[: len(NOTHING)])  # of a closed one, a mark is behind it
        except NotFound:
            is_forgotten = self._is_made
        steps = Steps(self._place, group=self._step, called=f'batch "{self.name}"')
        self._steps, self.rows, self._closes, self._was_sent = None if is_forgotten else steps, 0, False, False
        self._id_of, self._now_ms = keeper_of(s).id_of, 0
        self._bulk = self._ends.enter_context(Bulk(steps.sender(producer_of(s)), schedule=s.name, at_once=1))
        FILLED[s.name, self.name] = self._send
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        assert self._bulk is not None, "it was entered"
        with self._ends.pop_all() as ends:
            bulk, self._bulk = self._bulk, None
            FILLED.pop((self._schedule.name, self.name), None)
            if kind is not None:
                ends.pop_all().__exit__(kind, error, at)
                return
            if self._steps is not None and 0 < self.rows < self._place.rows:
                raise self._steps.other_rows(f"there are only {self.rows:,}")
            if not self._is_closed:
                self._closes = True
                bulk.send()
        if self._is_closed or self._was_sent or self._place.rows:  # it was not added in one step
            while groups_of(self._schedule).release(self.name):
                pass

    def _step(self) -> GroupStep:
        makes, self._is_made = None if self._is_made else self._make, True
        return GroupStep(name=self.name, makes=makes, closes=self._closes)

    def _put(self, given: Mapping[str, Any], *, needs_job: bool = True) -> Any:
        s, bulk, number = self._schedule, self._bulk, self.rows + 1
        is_old = bulk is not None and (self._is_closed or number <= self._place.rows)
        if bulk is not None and self._steps is None and not self._is_closed:
            trouble = "was left open more than 7 days ago, and its rows cannot be compared any more"
            remedy = "Close it as it is with a block without rows, or cancel it; and make one under another name."
            raise InvalidOptions.about(f'batch "{self.name}"', trouble, remedy, where="name")
        if bulk is not None and len(bulk.unsent) in (0, STEP):
            self._send()
            self._now_ms = producer_of(s).now_ms()  # rows of one step share the present
        is_now = _TIMES.isdisjoint(given) or all(given.get(name) is None for name in TIMES)
        asked = {name: value for name, value in given.items() if name not in _WAITS} if is_old else given
        present = producer_of(s).now_ms if bulk is None else lambda: self._now_ms
        new = addition(asked, s=s, now_ms=present, verb="add_now" if is_now else "add")
        if new.trigger is not None and new.trigger.recurs:
            trouble, remedy = "has a time that recurs, and a batch ends", "Give it at=, in_= or no time."
            raise InvalidOptions.about(f'a job of batch "{self.name}"', trouble, remedy, where="when")
        new.terms = self._terms if new.terms is PLAIN else replace(new.terms, batch=self.name)
        if bulk is None:
            return sent(s, new)
        self.rows = number
        if self._steps is not None:
            self._steps.passes(number, _content(new.fn, given))
            if is_old and number > self._place.rows:
                raise self._steps.other_rows(f"this is row {number:,}, and it is closed")
        if is_old:
            return as_job(new, schedule=s.name, added=Added("", new.due_ms, False), source=s)
        new.identity = str(number)  # so it is a job of its own
        if new.entrance.many:
            new.entrance = replace(new.entrance, many=False)
        bulk.unsent.append(new)
        due_ms = self._now_ms if new.due_ms is None else new.due_ms
        return needs_job and as_job(new, schedule=s.name, added=Added(self._id_of(new), due_ms, True), source=s)

    def _send(self, id: str | None = None) -> None:
        """Send the rows that are not sent; with an id only if its row is one of them."""
        bulk = self._bulk
        if bulk is not None and bulk.unsent and (id is None or id in [self._id_of(one) for one in bulk.unsent]):
            self._was_sent = True
            bulk.send()


_TIMES = frozenset(TIMES)
_CALL, _WAITS = frozenset({"fn", "call", "args", "kwargs"}), frozenset({"after", "on_death"})


def state_of(s: Schedule, group: Group) -> BatchState:
    """Return the state of a batch that was read."""
    endings = {ending: count for ending, count in group.endings.items() if ending in get_args(Ending)}
    endings["done"] = group.total - sum(count for ending, count in endings.items() if ending != "done")
    times = (group.made_ms, group.added_ms, group.settled_ms)
    made, added, settled = (None if ms is None else instant_of(ms) for ms in times)
    return BatchState(
        id=group.id, name=group.name or "", state=group.state_at(producer_of(s).now_ms()), on_death=group.on_death,
        total=group.total, then=group.then, on_success=group.on_success, made=made, added=added, settled=settled,
        _of=(s, group), **endings,
    )  # fmt: skip


def _follower(s: Schedule, batch: str, given: Any, kind: str, done_by: Any = None, ping: Any = None) -> NewJob:
    """Make the job that runs when a batch is over."""
    call = {"call": given} if isinstance(given, FunctionCall) else {"fn": given}
    new = addition(call, s=s, now_ms=producer_of(s).now_ms, verb="add_now")
    more: dict[str, Any] = {} if ping is None else {"ping": read.web_url(ping, "ping")}
    new.terms, new.identity = Terms(then_of=batch, **more), f"{group_id(batch)}.{kind}"
    if done_by is not None:
        now_ms, tz = producer_of(s).now_ms(), str(s.tz)
        set_deadline(new, done_by, now_ms=now_ms, tz=tz)  # and then as an instant, whenever the job is due
        set_deadline(new, instant_of(deadline_ms(new.terms, now_ms) or 0), now_ms=now_ms, tz=tz)
    return new


def _content(fn: str, given: Mapping[str, Any]) -> str:
    """Return the content of a row for the digest, as it was given: middleware may change the job."""
    args = given.get("args") or ()
    if given.keys() == {"fn", "args"} and SIMPLE.issuperset([type(one) for one in args]):
        return f"{fn} {tuple(args)!a}"
    _, args, kwargs = read_call(given)
    row = {name: _said(value) for name, value in given.items() if name not in _CALL and value is not None}
    return content_of(row | {"fn": fn, "args": args, "kwargs": kwargs})


def _said(value: Any) -> Any:
    """Return an option as the digest of the rows covers it: the same in every process."""
    if isinstance(value, list | tuple):
        return [_said(one) for one in value]
    if isinstance(value, Job):
        return value.fn
    return value.name if isinstance(value, Batch) else value


def _printed(name: str) -> Callable[[int], object] | None:
    """Return a function that shows a number of rows in a terminal, in one line; None without a terminal."""
    if not sys.stderr.isatty():
        return None
    last = 0.0

    def say(rows: int) -> None:
        nonlocal last
        if time.monotonic() - last >= REPORT_SECONDS:
            last = time.monotonic()
            print(f"\r{name}: {plural(rows, 'row')} added", end="", file=sys.stderr, flush=True)

    return say
