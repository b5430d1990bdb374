"""Judge the content of the two published keys, by spec/job.md and spec/cron.md. No other module judges it. It names
content that breaks the layout, jobs and items without their other half, and legal content that a Clojure peer would
lose or run differently.

Pure: a pair in, faults out. Knows no server. `workkit doctor` and `workkit wire verify` both use it.
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Iterator
from contextlib import suppress
from datetime import UTC, datetime
from functools import lru_cache

from workkit import wire
from workkit.brokers.native.doctor import clojure
from workkit.brokers.native.entry import item_id
from workkit.brokers.native.look.published import Pair
from workkit.brokers.redis_server.control import LAST_MS
from workkit.brokers.redis_server.pages import is_text
from workkit.contract.doctor import Fault, Kind
from workkit.errors import CorruptRecord, TriggerError
from workkit.jobs.terms import stored_opts
from workkit.triggers.crons.field import FIRST_YEAR
from workkit.triggers.dialect import from_fields
from workkit.triggers.trigger import Trigger, read_interval

FIELDS = 7  # of a cron string that may be in the other dialect
PATIENCE_MS = 86_400_000  # for this long after its last time, a foreign peer may still be running a job
_OF_TIME = {"local", "zone", "from", "until", "interval"}
_FIXED = re.compile(r"(\d{4}) (\d\d?) (\d\d?) \* (\d\d?) (\d\d?) (\d\d?)")

UNREADABLE = Kind(
    "unreadable", "deviation", "A payload cannot be read, or an id is no text.",
    "It can never run: a Python listener moves it to the dead set, a Clojure peer loses it.",
    "moves the job, with its items, to the dead set",
)  # fmt: skip
UNCLEAR = Kind(
    "unclear", "deviation", "Of a payload, only the function can be read.",
    "Only its function can be read. A listener with this function moves it to the dead set; all others leave it.",
)  # fmt: skip
CRON = Kind(
    "cron", "deviation", "`cron` cannot be read in this dialect.",
    "No listener of this dialect can compute when it runs.",
    "moves a job without a function to the dead set; others may be for a foreign peer, and stay",
)  # fmt: skip
OTHER_DIALECT = Kind(
    "other-dialect", "deviation", "`cron` has its fields in the order of the other dialect.",
    "Listeners of this dialect leave it alone. Perhaps the dialect of the schedule is wrong.",
)  # fmt: skip
ID = Kind(
    "id", "deviation", "An id is not the SHA-1 of its payload.",
    "It still runs, but adding the same job again makes a second one.", of_wire=True,
)  # fmt: skip
ITEM = Kind(
    "item", "deviation", "An item cannot be read.",
    "No listener can tell which job it names. A Clojure peer takes it and loses it.", "moves it to the dead set",
)  # fmt: skip
SCORE = Kind(
    "score", "deviation", "A due time is no whole number.",
    "A due time is a whole number. A Clojure peer takes the item, fails, and the run is lost.",
    "gives the item the next time of its job",
)  # fmt: skip
NO_ITEM = Kind(
    "no-item", "orphan", "A job has no item, and no listener has it.",
    "Nothing points to the job, so it never runs; adding it again changes nothing.",
    "puts an item for its next time into `S:next`, or one for now if it has no time to come",
)  # fmt: skip
NO_JOB = Kind(
    "no-job", "orphan", "An item points to no job.", "It has no job that could run.", "removes the item"
)  # fmt: skip
SCORE_RANGE = Kind(
    "score-range", "hazard", "A due time is before 1970, or after the year 9999.",
    "It is due at once, or never. With 18 digits a Clojure peer fails and loses the run.",
    "gives the item the next time of its job",
)  # fmt: skip
SECOND_ITEM = Kind(
    "second-item", "hazard", "A job has more than one item.", "The job runs once for each of its items.", of_wire=True,
)  # fmt: skip
IN_DOUBT = Kind(
    "in-doubt", "hazard", "A job has no item, and its last time was a short while ago.",
    "A foreign peer may be running it: nobody can see what it holds.", of_wire=True,
)  # fmt: skip

FAULTS = (
    UNREADABLE, UNCLEAR, CRON, OTHER_DIALECT, clojure.JOB, ID, ITEM, clojure.ITEM_TEXT, SCORE, NO_ITEM, NO_JOB,
    SCORE_RANGE, clojure.REWRITTEN, SECOND_ITEM, IN_DOUBT, clojure.PYTHON_NAME, clojure.UNQUALIFIED, clojure.QUOTED,
    clojure.EITHER_ORDER, clojure.EXTENSION, clojure.NEVER, clojure.ENDLESS_CRON, clojure.LENIENT, clojure.INTEGER,
    clojure.NUMBER, clojure.SPELLING, clojure.OWN_FIELDS,
)  # fmt: skip
"""All faults of jobs and items, in the order in which `wire verify` shows them."""

OF_ITEMS = frozenset({ITEM, NO_JOB, SCORE, SCORE_RANGE, SECOND_ITEM, clojure.ITEM_TEXT, clojure.REWRITTEN})


def judge(
    pair: Pair, *, dialect: str, now_ms: int, patience_ms: int = PATIENCE_MS, thorough: bool = True
) -> Iterator[Fault]:
    """Name the faults of a pair on a schedule of this dialect: first those of the job, the worst first, then those of
    the item.

    Without `thorough`, it takes a tenth of the time, and may leave out faults that concern only Clojure peers. It never
    leaves out a fault that stops a job.
    """
    if pair.payload is not None and not pair.is_second:
        yield from _job(pair, pair.payload, dialect, thorough)
    if pair.item is not None:
        yield from _item(pair, pair.item, thorough)
    elif pair.is_loose:
        yield _no_item(pair.payload or b"", dialect, now_ms, patience_ms)


# Jobs.


def _job(pair: Pair, data: bytes, dialect: str, thorough: bool) -> Iterator[Fault]:
    if not is_text(pair.id):
        yield Fault(UNREADABLE, "its id is not text, so no item can point to it", True, True)
    try:
        read = wire.read_payload(data)
    except CorruptRecord as error:
        yield _unread(data, str(error))
        return
    if not thorough and not read.extra and dialect == "published" and _is_one_second(read.cron) and read.job:
        return
    if thorough and is_text(pair.id) and not pair.is_hashed:
        yield Fault(ID, f"its id is not the SHA-1 of its payload, which is {wire.job_id(data)}")
    broken = _broken_fields(read)
    if broken:
        yield _unread(data, broken)
    is_read = "local" not in read.extra and not _is_elapsed(read)  # whether our listeners can read it
    repairs = not read.job and is_read
    for fault in judge_cron(read.cron, dialect):
        yield Fault(fault.of, fault.what, fault.of is CRON and repairs, fault.stops and is_read)
    if thorough:
        yield from clojure.payload_faults(data, read, is_broken=broken is not None)


def _unread(data: bytes, reason: str) -> Fault:
    """Judge a payload that cannot be read. A payload with a function may be for a foreign peer, so no
    repair buries it.
    """
    if wire.job_of(data) is None:
        return Fault(UNREADABLE, reason, True, True)
    return Fault(UNCLEAR, reason, False, True)


def _is_elapsed(read: wire.Payload) -> bool:
    """Say whether the job runs by an interval of seconds."""
    with suppress(TriggerError):
        interval = read_interval(read.extra.get("interval"))
        return interval is not None and interval.is_elapsed
    return False


def _broken_fields(read: wire.Payload) -> str | None:
    """Explain why the fields of our own cannot be read, although the published ones can."""
    try:
        if _OF_TIME & read.extra.keys():
            from_fields({**read.extra, "cron": "* * * * * * *"})
        if not isinstance(kwargs := read.extra.get("kwargs", {}), dict | None):
            return f"payload: kwargs is {clojure.quoted_item(json.dumps(kwargs).encode())}, not an object"
        if "opts" in read.extra:
            stored_opts(read.extra["opts"])
    except (CorruptRecord, TriggerError) as error:
        return str(error)
    return None


@lru_cache(maxsize=4096)
def judge_cron(cron: str, dialect: str) -> tuple[Fault, ...]:
    """Name the faults of a cron text on a schedule of this dialect, `published` or `cuckoo`."""
    other = "cuckoo" if dialect == "published" else "published"
    try:
        trigger = from_fields({"cron": cron}, dialect=dialect)
    except TriggerError as error:
        if _in_order_of(other, cron):
            what = f'cron "{cron}" has its fields in the order of the dialect {other}'
            return (Fault(OTHER_DIALECT, what, stops=True),)
        return (Fault(CRON, str(error), stops=True),)
    return tuple(clojure.cron_faults(cron, dialect, trigger, _in_order_of(other, cron)))


def _in_order_of(dialect: str, cron: str) -> Trigger | None:
    """Read a cron text in a dialect; None if it is not valid there. A quick check of the year decides most texts."""
    parts = cron.split()
    if len(parts) != FIELDS or re.fullmatch("[0-9]{4}", parts[0 if dialect == "cuckoo" else -1]):
        return None
    try:
        return from_fields({"cron": cron}, dialect=dialect)
    except TriggerError:
        return None


def _is_one_second(cron: str) -> bool:
    """Say whether a cron text names one second of the calendar. A quick check: most stored texts do."""
    if (found := _FIXED.fullmatch(cron)) is None:
        return False
    with suppress(ValueError):
        year, month, day, hour, minute, second = map(int, found.groups())
        return datetime(year, month, day, hour, minute, second, tzinfo=UTC).year >= FIRST_YEAR
    return False


def _no_item(data: bytes, dialect: str, now_ms: int, patience_ms: int) -> Fault:
    """Judge a job without an item. If its last time was a short while ago, a foreign peer may be running it."""
    try:
        read = wire.read_payload(data)
        trigger = from_fields({**read.extra, "cron": read.cron}, dialect=dialect)
    except (CorruptRecord, TriggerError):
        return Fault(NO_ITEM, "no item points to it, and it cannot be read", wire.job_of(data) is None, True)
    if trigger.next_after_ms(now_ms) is None and trigger.next_after_ms(now_ms - patience_ms) is not None:
        return Fault(IN_DOUBT, "no item points to it, and its last time was a short while ago")
    return Fault(NO_ITEM, "no item points to it, no listener has it", True, True)


# Items.


def _item(pair: Pair, member: bytes, thorough: bool) -> Iterator[Fault]:
    if item_id(member) is None:
        yield Fault(ITEM, f"{clojure.quoted_item(member)} cannot be read: {why_unread(member)}", True, True)
    else:
        if pair.payload is None:
            yield Fault(NO_JOB, "its item points to no job", True, True)
        if thorough:
            yield from clojure.item_faults(member)
    if not math.isfinite(pair.score) or pair.score != int(pair.score):
        yield Fault(SCORE, f"its due time is {pair.score!r}", True, True)
    elif not 0 <= pair.score <= LAST_MS:
        when = "before 1970" if pair.score < 0 else "after the year 9999"
        yield Fault(SCORE_RANGE, f"its due time is {pair.score:.0f}, which is {when}", True, True)
    if pair.is_second:
        yield Fault(SECOND_ITEM, f"a second item of the same job: {clojure.quoted_item(member)}")


def why_unread(member: bytes) -> str:
    """Explain why an item names no job."""
    try:
        wire.read_item(member)
    except CorruptRecord as error:
        return str(error)
    return "queue item: no id that the server can read"
