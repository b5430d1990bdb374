"""The cast of every scene: what a producer adds, the functions that it names, and a listener that runs them.

Each function writes down its beginning and its end (`history`).
"""

from __future__ import annotations

import logging
import os
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from datetime import UTC, datetime
from functools import partial
from typing import Any

from tests.acceptance.history import Promise, complete_lines, write
from tests.acceptance.kept import KEEP
from workkit import Retry, call, current_job, events, job, schedule
from workkit.errors import NotFound, TriggerError
from workkit.verbs import batch as verbs
from workkit.worker import counting

HERE = "tests.acceptance.crash_cast"
TAGS = ("cast", "user:7")  # of what ends: nothing of their index may be left
MANY = 4  # rows of add_many
MEMBERS = 5  # jobs of a batch, of which one dies, in steps of two
ONES = 3  # runs of which one at a time may go on
TICKS = 4  # occurrences of the recurring job that ends
ADDED = "everything"  # the label under which the producer says that it has added all
EVENTS = ("listening", "fenced", "crashed", "given_back", "lost", "back", "stuck", "stopped")


LOG = logging.getLogger("cast")
LOG.addHandler(logging.NullHandler())
LOG.propagate = False


def promises(base: int) -> dict[str, Promise]:
    """What each label is owed, in a scene that its producer began with the second `base` (epoch seconds)."""
    many = {f"many-{n}": Promise() for n in range(MANY)}
    return {
        "now-0": Promise(),
        "now-1": Promise(),
        "slow": Promise(),
        "once": Promise(),
        "named": Promise(),
        "keyed": Promise(),
        **{f"one-{n}": Promise() for n in range(ONES)},
        **many,
        "tick": Promise(dues=tuple((base + n) * 1000 for n in range(TICKS))),
        "fails": Promise(attempts=3),
        "asks": Promise(attempts=2),
        "dies": Promise(attempts=2, last="OSError"),
        "later": Promise(is_cancelled=True),
        "endless": Promise(is_cancelled=True),
        "nowhere": Promise(runs=False),
        **{f"member-{n}": Promise() for n in range(MEMBERS - 1)},
        "member-dead": Promise(last="OSError"),
        "then": Promise(after=(*(f"member-{n}" for n in range(MEMBERS - 1)), "member-dead")),
        "last": Promise(after=("then",)),
        "first": Promise(),
        "second": Promise(after=("first",)),
    }


DEAD = ("dies", "member-dead")


def first_second(now: float, lead: int) -> int:
    """A second to begin with, `lead` seconds from now or a little later: all ticks must fall into one minute."""
    second = int(now) + lead
    return second if second % 60 + TICKS <= 60 else second + 60 - second % 60


# The functions.


@contextmanager
def _noted(label: str) -> Iterator[None]:
    run = current_job()
    assert run.due is not None
    due = round(run.due.timestamp() * 1000)
    me: dict[str, Any] = {"label": label, "id": run.id, "due": due, "attempt": run.attempt, "pid": os.getpid()}
    write(os.environ["WORKKIT_TEST_HISTORY"], what="start", **me)
    how = "returned"
    try:
        yield
    except Exception as error:
        how = type(error).__name__
        raise
    finally:
        write(os.environ["WORKKIT_TEST_HISTORY"], what="end", how=how, **me)


def note(label: str) -> None:
    with _noted(label):
        pass


def slow(label: str, seconds: float) -> None:
    with _noted(label):
        LOG.warning("about to sleep")
        time.sleep(0.2)  # so that it is written before there is progress
        current_job().checkin("sleeping")
        time.sleep(seconds)


@job(limit=1)
def one(label: str) -> None:
    with _noted(label):
        time.sleep(0.05)


@job(base="0.1s", backoff="constant")
def fail(label: str, times: int) -> None:
    with _noted(label):
        if current_job().attempt < times:
            raise OSError("disk full")


def ask(label: str, times: int) -> None:
    with _noted(label):
        if current_job().attempt < times:
            raise Retry(after="0.1s")


# The producer.


def produce(*, url: str, name: str, lead: int, after: str = "") -> None:
    """Add the cast, each until it is acknowledged; what an earlier producer of this scene had acknowledged is left.
    What is cancelled is so once `after` has happened.
    """
    base = _base(lead)
    s = schedule.create(name, redis=url)
    second = datetime.fromtimestamp(base, UTC)
    ticks = f"{second:%Y} {second.month} {second.day} * {second.hour} {second.minute} "
    ticks += f"{second.second}-{second.second + TICKS - 1}"
    fn = f"{HERE}:note".format
    rows = [{"fn": fn(), "at": second, "args": [f"many-{n}"]} for n in range(MANY)]
    add: dict[str, Callable[[], Any]] = {  # first what has a time, lest this passes before it is added
        "once": lambda: schedule.add(s, fn(), at=second, args=["once"]),
        "tick": lambda: schedule.add(s, fn(), cron=ticks, args=["tick"], keep=KEEP, tags=TAGS),
        "named": lambda: schedule.add(s, fn(), at=second, args=["named"], name="named", tags=TAGS),
        "keyed": lambda: schedule.add(s, fn(), at=second, args=["keyed"], unique_key="key", priority=1),
        "many": lambda: schedule.add_many(s, rows),
        **{f"one-{n}": partial(schedule.add_now, s, f"{HERE}:one", args=[f"one-{n}"], tags=TAGS) for n in range(ONES)},
        "slow": lambda: schedule.add_now(s, f"{HERE}:slow", args=["slow", 1.5], tags=TAGS),
        "now-0": lambda: schedule.add_now(s, fn(), args=["now-0"], keep=KEEP),
        "now-1": lambda: schedule.add_now(s, fn(), args=["now-1"]),
        "fails": lambda: schedule.add_now(s, f"{HERE}:fail", args=["fails", 2], retries=3, keep=KEEP, tags=TAGS),
        "asks": lambda: schedule.add_now(s, f"{HERE}:ask", args=["asks", 1], retries=1, keep=KEEP, tags=TAGS),
        "dies": lambda: schedule.add_now(s, f"{HERE}:fail", args=["dies", 9], retries=1, keep=KEEP),
        # What waits is cancelled once: the name has one that is added again, its reply lost, stand for the first.
        "later": lambda: schedule.add(s, fn(), in_="1 hour", args=["later"], name="later", tags=TAGS),
        "endless": lambda: schedule.add(s, fn(), every="second", args=["endless"], tags=TAGS),
        "nowhere": lambda: schedule.add_now(s, "no_such_place:gone", args=["nowhere"], name="nowhere", within="1s"),
        "batch": lambda: _filled(s),
        "last": lambda: schedule.add_now(s, fn(), args=["last"], after=schedule.batch(s, "batch")),
        "chain": lambda: schedule.chain(s, [call(fn(), "first"), call(fn(), "second")]),
    }
    ids = {label: acknowledged(label, one) for label, one in add.items()}
    write(os.environ["WORKKIT_TEST_HISTORY"], what="ack", label=ADDED, id=None)
    time.sleep(max(0.0, base + 2.5 - time.time()))  # the endless one shall have run
    while after and not any(line["what"] == after for line in earlier(os.environ["WORKKIT_TEST_HISTORY"])):
        time.sleep(0.05)
    _cancelled(s, ids["later"])
    _cancelled(s, ids["endless"])


def _base(lead: int) -> int:
    """The second with which the scene begins; the first producer says it."""
    file = os.environ["WORKKIT_TEST_HISTORY"]
    for line in earlier(file):
        if line["what"] == "base":
            return int(line["base"])
    base = first_second(time.time(), lead)
    write(file, what="base", base=base)
    return base


def acknowledged(label: str, add: Callable[[], Any]) -> str | None:
    """Add until it is acknowledged, and return the id. What an earlier producer had acknowledged is left."""
    file = os.environ["WORKKIT_TEST_HISTORY"]
    for line in earlier(file):
        if line["what"] == "ack" and line["label"] == label:
            return line["id"] and str(line["id"])
    while True:
        try:
            added = add()
        except ConnectionError as error:
            write(file, what="raised", label=label, error=str(error))
            time.sleep(0.05)
            continue
        except TriggerError as error:  # the server was away, or the machine busy, until its time had passed
            write(file, what="raised", label=label, error=str(error))
            return None
        id = getattr(added, "id", None)
        for one in OF_ONE.get(label, ()):
            write(file, what="ack", label=one, id=None)
        write(file, what="ack", label=label, id=id)
        return id


OF_ONE = {  # labels of one addition
    "many": [f"many-{n}" for n in range(MANY)],
    "batch": ["then", "member-dead", *(f"member-{n}" for n in range(MEMBERS - 1))],
    "chain": ["first", "second"],
}


def _filled(s: schedule.Schedule) -> None:
    """A batch with rows for several steps. A program that begins it again continues where it was."""
    verbs.STEP = 2
    with schedule.batch(s, "batch", then=call(f"{HERE}:note", "then")) as batch:
        for n in range(MEMBERS - 1):
            more: Any = {"tags": TAGS} if n < 2 else {}  # without, they wait in S:rows
            batch.add(f"{HERE}:note", args=[f"member-{n}"], **more)
        batch.add(f"{HERE}:fail", args=["member-dead", 9])


def earlier(file: str) -> list[Mapping[str, Any]]:
    return list(complete_lines(file))


def _cancelled(s: schedule.Schedule, id: str | None) -> None:
    assert id is not None
    while True:
        try:
            schedule.cancel(s, id)
        except ConnectionError as error:
            write(os.environ["WORKKIT_TEST_HISTORY"], what="raised", label="cancel", error=str(error))
            time.sleep(0.05)
            continue
        except NotFound:  # it was done, and the reply was lost
            pass
        write(os.environ["WORKKIT_TEST_HISTORY"], what="cancelled", id=id)
        return


# The listener.


def listen(*, url: str, name: str, threads: int = 3, deadline: str = "0.3s", timeout: str = "5s") -> None:
    """Run the functions of this module until told to stop; what happens is written down."""
    s = schedule.create(name, redis=url)
    serve(s, imports=[HERE], threads=threads, listener_timeout=timeout, deadline=deadline)


def serve(s: schedule.Schedule, **how: Any) -> None:
    """Listen, and write down what happens."""

    def heard(event: events.Event) -> None:
        if event.name in EVENTS:
            job = event.fields.get("job")
            said = {key: event.fields[key] for key in ("listener", "ago_ms") if key in event.fields}
            write(
                os.environ["WORKKIT_TEST_HISTORY"],
                what=event.name if event.name == "given_back" else f"said {event.name}",
                pid=os.getpid(),
                id=job and job.id,
                **said,
            )

    if "settle+claim" in os.environ.get("WORKKIT_TEST_FAULT", ""):
        counting.AHEAD = 0.0  # one claim ahead would take the whole cast: nothing would be left to claim at an ending
    logging.getLogger("workkit").addHandler(logging.NullHandler())  # the errors of the cast; any other output counts
    events.subscribe(heard)
    schedule.listen(s, folder=None, **how)
