"""Terms of a job beside its run options: its name, its unique key, its overlap with other runs, its next run. Pure.

`Terms` travel with the job (`opts` in its payload, spec/features.md). `Entrance` holds the options of one addition, and
is not stored. A *tick* is a time of the trigger. A run is due at its tick plus the job's own part of its spread
(spec/features.md 5).
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields
from datetime import UTC, datetime
from functools import lru_cache
from hashlib import sha1
from typing import Any

from workkit import triggers
from workkit.errors import InvalidOptions
from workkit.jobs.option_readers import LONGEST_MS, option_error
from workkit.jobs.options import read_stored
from workkit.jobs.run_options import MEMBERS, UNSAID, RunOptions
from workkit.text.cells import brief_repr

LATE_MS = 60_000  # greatest lateness of a run under catch_up="skip" without `catch_up_within`, in ms


@dataclass(frozen=True, slots=True, kw_only=True)
class Terms:
    """The terms that a job has; a default is None. Durations in milliseconds."""

    name: str | None = None
    unique_key: str | None = None
    unique_until: str | None = None  # "started"; None: done
    once_key: str | None = None
    overlap: str | None = None  # "skip", "queue" or "cancel"; None: allow
    catch_up: str | None = None  # "all" or "skip"; None: once
    catch_up_within_ms: int | None = None
    count: int | None = None
    spread_ms: int | None = None
    priority: int | None = None  # 1 to 3; None: 0
    ping: str | None = None  # needs a name
    expires_ms: int | None = None  # of a job that runs once
    tags: tuple[str, ...] | None = None
    done_by: str | None = None  # its deadline, as `between.deadline_text` writes it; or else
    within_ms: int | None = None
    batch: str | None = None  # the name of the batch that it is a member of; beside `opts` in its payload
    after: str | None = None  # 16 hex digits: a digest of its predecessors
    then_of: str | None = None  # the name of the batch that it follows

    __repr__ = brief_repr

    @property
    def has_deadline(self) -> bool:
        """Whether each of its runs has a deadline."""
        return self.within_ms is not None or self.done_by is not None

    def stored(self) -> dict[str, Any]:
        """Return the members of a payload's `opts`, without defaults."""
        found = {}
        for name in _IN_OPTS:
            if (value := getattr(self, name)) is not None:
                found[name] = value
        return found

    def fields(self) -> dict[str, Any]:
        """Return the terms that differ from the defaults, by name."""
        return self.stored() if self.batch is None else {"batch": self.batch, **self.stored()}


@dataclass(frozen=True, slots=True, kw_only=True)
class Entrance:
    """The options of one addition. `many`: every addition is a job of its own. `once`: no second job of the same
    content waits, in layouts that offer this as an option. `replace`: the new job replaces the holder of the unique
    key. `keep`: the holder of the name stays.
    `throttle_ms`, `debounce_ms`: windows, spec/features.md 3; `window_key` identifies the window. `debounce_most_ms`:
    the longest time that a debounced job is put off. `once_for_ms`: how long the `once_key` lasts.
    """

    many: bool = False
    once: bool = False
    replace: bool = False
    keep: bool = False
    throttle_ms: int | None = None
    debounce_ms: int | None = None
    debounce_most_ms: int | None = None  # needs debounce_ms; None: the usual one
    window_key: str | None = None
    once_for_ms: int | None = None

    @property
    def most_ms(self) -> int | None:
        """The latest run of a debounced job, in ms after the first addition of its window; None without debounce."""
        if self.debounce_ms is None:
            return None
        return self.debounce_most_ms or min(_USUAL_WINDOWS * self.debounce_ms, LONGEST_MS)


_USUAL_WINDOWS = 6  # a steady stream of debounced additions runs once in this number of windows
_NAMES = tuple(sorted(f.name for f in fields(Terms)))
_IN_OPTS = tuple(name for name in _NAMES if name != "batch")
_OF_RUNS, _STORED = frozenset(MEMBERS), (*MEMBERS, *_IN_OPTS)
_READ_LATER = frozenset({"done_by", "after", "batch", "then_of"})  # each needs more than the value of an option
_MEMBERS = {name.removesuffix("_ms"): name for name in _NAMES if name not in _READ_LATER}  # by the keywords of `add`
_OF_ENTRANCE = frozenset({"unique", "on_conflict", "throttle", "debounce", "debounce_most", "once_for"})
_OURS = _OF_ENTRANCE.union(_MEMBERS, ["done_by"])
PLAIN = Terms()  # the usual ones
USUAL = Entrance()


def terms_and_entrance(read: Mapping[str, Any]) -> tuple[Terms, Entrance]:
    """Make the terms of a job, and the options of its addition, from options that were read. The caller checks those
    that depend on the job's time. Raises InvalidOptions for options that exclude each other.
    """
    if _OURS.isdisjoint(read):
        return PLAIN, USUAL
    _refuse_pairs(read)
    found = {}
    for name, value in read.items():
        if name in _MEMBERS:
            found[_MEMBERS[name]] = value
    terms = _normal(found)
    if _OF_ENTRANCE.isdisjoint(read):
        return terms, USUAL
    entrance = Entrance(
        many=read.get("unique") is False,
        replace=read.get("on_conflict") == "replace",
        keep=read.get("on_conflict") == "keep" and "unique_key" not in read,
        throttle_ms=read.get("throttle"),
        debounce_ms=read.get("debounce"),
        debounce_most_ms=read.get("debounce_most"),
        once_for_ms=read.get("once_for"),
    )
    return terms, USUAL if entrance == USUAL else entrance


@lru_cache(maxsize=64)
def of_member(batch: str) -> Terms:
    """Return the terms of a job that is a member of this batch and has no others: one object for all of them."""
    return Terms(batch=batch)


def stored_opts(opts: object) -> tuple[RunOptions, Terms]:
    """Read the `opts` of a stored payload: its run options and its terms; unknown members are kept. Raises
    CorruptRecord.
    """
    found = read_stored(opts, _STORED)
    runs = {name: found.pop(name) for name in _OF_RUNS.intersection(found)}
    return RunOptions(**runs) if runs else UNSAID, _normal(found) if found else PLAIN


def _normal(found: dict[str, Any]) -> Terms:
    """Make terms without defaults, so that equal terms have equal bytes. No value of `found` is None."""
    if found.get("catch_up") == "skip" and found.get("catch_up_within_ms") == LATE_MS:
        del found["catch_up_within_ms"]
    if "tags" in found:
        found["tags"] = tuple(found["tags"])
    for name, usual in _DEFAULTS.items():
        if found.get(name) == usual:
            del found[name]
    return Terms(**found) if found else PLAIN


_DEFAULTS = {"unique_until": "done", "overlap": "allow", "catch_up": "once", "priority": 0, "tags": ()}


def _refuse_pairs(read: Mapping[str, Any]) -> None:
    """Refuse options that exclude each other. Raises InvalidOptions."""
    if read.get("unique") is False:
        for name, why in _ALONE.items():
            if name in read:
                trouble = f"with {name}=: every addition would be a job of its own, and {why}"
                raise option_error("unique", False, trouble, "Leave out one.")
    if "once_key" in read or "once_for" in read:
        _refuse_beside_once_key(read)
    if "unique_key" not in read:
        for name, what in (("on_conflict", "what gives way where"), ("unique_until", "how long")):
            if name in read and not (name == "on_conflict" and "name" in read):
                trouble = f"without unique_key=: it says {what} a key is taken"
                remedy = 'Add unique_key="...", or leave it out.'
                raise InvalidOptions.about(f'{name}="{read[name]}"', trouble, remedy, where=name, given=read[name])
    if "ping" in read and "name" not in read:
        trouble, remedy = "without name=: a monitor watches one job, and only its name says which", 'Add name="...".'
        raise option_error("ping", read["ping"], trouble, remedy)
    for one, why in (("within", "a job has one deadline"), ("debounce", "the server decides when it is due")):
        if "done_by" in read and one in read:
            remedy = "Keep one of them." if one == "within" else 'Write within="2 hours".'
            raise InvalidOptions.about(f"done_by= and {one}=", f"were both given: {why}", remedy, where="done_by")
    if "throttle" in read and "debounce" in read:
        trouble = "were both given: of a window either the first addition runs, or the last"
        raise InvalidOptions.about("throttle= and debounce=", trouble, "Keep one of them.", where="throttle")
    if "debounce_most" in read and "debounce" not in read:
        trouble = "without debounce=: it says how long additions put a job off at most"
        raise InvalidOptions.about("debounce_most=", trouble, "Add debounce=, or leave it out.", where="debounce_most")
    if "debounce_most" in read and read["debounce_most"] < read["debounce"]:
        trouble = "is shorter than debounce=: the job would run before the first window is over"
        raise InvalidOptions.about("debounce_most=", trouble, "Give a longer one.", where="debounce_most")


def _refuse_beside_once_key(read: Mapping[str, Any]) -> None:
    if "once_key" not in read and "once_for" in read:
        trouble = "without once_key=: it says how long such a key lasts"
        raise InvalidOptions.about("once_for=", trouble, 'Add once_key="...".', where="once_for")
    if "once_key" in read and "once_for" not in read:
        trouble = "without once_for=: the key lasts for a time"
        raise option_error("once_key", read["once_key"], trouble, 'Add once_for="90 days".')
    if "once_key" in read and (other := next((name for name in _NOT_ONCE if name in read), None)) is not None:
        trouble = f"with {other}=: {_NOT_ONCE[other]}, and a lasting key returns the first job"
        raise option_error("once_key", read["once_key"], trouble, f"Leave out {other}=.")


_NOT_ONCE = {
    "unique_key": "such a key is free when its job is over",
    "name": "a job that is added under a name replaces the one before",
    "throttle": "a window ends with the next addition after it",
    "debounce": "a window returns the last job",
}
_ALONE = {
    "unique_key": "a key allows one at a time",
    "once_key": "a lasting key allows one in all",
    "name": "a name stands for one job",
    "throttle": "a window makes one of several",
    "debounce": "a window makes one of several",
}


def instant_of(ms: float) -> datetime | None:
    """Convert epoch milliseconds; None if no calendar has this instant, as other programs may write any number."""
    try:
        return datetime.fromtimestamp(ms / 1000, UTC)
    except (OverflowError, ValueError, OSError):
        return None


MOST_COUNTED = 1_000


@dataclass(frozen=True, slots=True, kw_only=True)
class NextRun:
    """The time when the next run is due (None: never again), and the number of ticks before it that get no run. The
    number is at most 1,000, and always 0 for PLAIN terms.
    """

    due_ms: int | None
    missed: int = 0


def next_run(trigger: triggers.Trigger, *, due_ms: int, now_ms: int, terms: Terms, offset_ms: int) -> NextRun:
    """Return the run after the one that is due at `due_ms`, whether that one takes place or `is_missed`.

    Usually it is at the first tick strictly after now, so that missed ticks make one late run. Under catch_up="all" it
    is at the first tick after `due_ms`. Both skip ticks that are further back than allowed.
    """
    if terms is PLAIN:
        return NextRun(due_ms=trigger.next_after_ms(max(due_ms, now_ms)))
    within = _within(terms)
    oldest = due_ms if within is None else max(due_ms, now_ms - within - 1)  # exclusive
    late = terms.catch_up == "all" or is_missed(due_ms=due_ms, now_ms=now_ms, terms=terms)
    after = oldest if late else max(due_ms, now_ms)
    tick = trigger.next_after_ms(after - offset_ms)
    counts = terms.name is not None or terms.catch_up is not None or terms.catch_up_within_ms is not None
    missed = _ticks(trigger, after=due_ms - offset_ms, upto=min(after, now_ms) - offset_ms) if counts else 0
    return NextRun(due_ms=None if tick is None else tick + offset_ms, missed=missed)


def first_run(trigger: triggers.Trigger, *, now_ms: int, offset_ms: int) -> int | None:
    """Return when a job that is added now is due first, in epoch ms: a whole second at or after now. If the trigger has
    none, its last one, if that is less than a second ago.
    """
    whole = -(-now_ms // 1000) * 1000
    tick = trigger.next_after_ms(whole - 1000 - offset_ms)
    if tick is None:
        tick = trigger.next_after_ms(whole - 2000 - offset_ms)
    return None if tick is None else tick + offset_ms


def is_missed(*, due_ms: int, now_ms: int, terms: Terms) -> bool:
    """Return whether the run due at `due_ms` is later now than the job allows."""
    within = _within(terms)
    return within is not None and now_ms - due_ms > within


def deadline_ms(terms: Terms, due_ms: int) -> int | None:
    """Return the deadline of the run that is due at `due_ms`, in epoch ms; None if it has none."""
    if terms.within_ms is not None:
        return due_ms + terms.within_ms
    if terms.done_by is None:
        return None
    from workkit.triggers.trigger import deadline_of

    by = deadline_of(terms.done_by)
    return None if by is None else by.next_after_ms(due_ms if by.recurs else -1000)


def spread_offset_ms(terms: Terms, fn: str, args: Sequence[Any]) -> int:
    """Return the delay of every run of a job by its spread, in ms: whole seconds below the spread, always the same."""
    if not terms.spread_ms:
        return 0
    text = terms.name or json.dumps([fn, *args], sort_keys=True, separators=(",", ":"), default=str)
    digits = sha1(text.encode(), usedforsecurity=False).hexdigest()[:8]
    return int(digits, 16) % terms.spread_ms // 1000 * 1000


def _within(terms: Terms) -> int | None:
    return LATE_MS if terms.catch_up_within_ms is None and terms.catch_up == "skip" else terms.catch_up_within_ms


def _ticks(trigger: triggers.Trigger, *, after: int, upto: int) -> int:
    count, tick = 0, trigger.next_after_ms(after)
    while tick is not None and tick <= upto and count < MOST_COUNTED:
        count, tick = count + 1, trigger.next_after_ms(tick)
    return count
