"""When triggers fire, kept: each trigger is asked once for a window, however many pages show it. Pure, bounded.

A page that is looked at again a second later asks for almost the same window. So a window is predicted a little beyond
its end, and answers questions within it until it is used up.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections import OrderedDict
from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from threading import Lock
from typing import Final

from workkit.triggers import Trigger
from workkit.web.forecast import instants

MOST: Final = 1_500  # instants of one trigger in a window
MOST_KEPT: Final = 200_000  # instants of all triggers
EPOCH: Final = datetime(2000, 1, 1, tzinfo=UTC)
THIN: Final = 500  # a window is so many times as long as the distance below which planned runs are one
SLACK: Final = 8  # a window is predicted by a part of its length beyond its end


@dataclass(frozen=True, slots=True, kw_only=True)
class Prediction:
    """When a trigger fires after `since`, up to `until`. `is_whole` is False where there are more than these; then
    `until` is the last of them.
    """

    since: datetime
    until: datetime
    instants: Sequence[datetime] = field(repr=False)
    is_whole: bool = True


class Predictions:
    """Keeps predictions by trigger, length of window, and roughly where it lies; the one that was not used for longest
    leaves first. Thread-safe.
    """

    def __init__(self, *, most_kept: int = MOST_KEPT) -> None:
        self._most = most_kept
        self._kept: OrderedDict[tuple[Trigger, timedelta, int, int], Prediction] = OrderedDict()
        self._size = 0
        self._lock = Lock()

    def of(self, trigger: Trigger, *, since: datetime, until: datetime, most: int = MOST) -> Prediction:
        """Predict when a trigger fires after `since`, up to `until`; so many times at most."""
        length = until - since
        if length <= timedelta():
            return Prediction(since=since, until=until, instants=())
        key = (trigger, length, most, (since - EPOCH) // length)
        with self._lock:
            kept = self._kept.get(key)
            if kept is not None:
                self._kept.move_to_end(key)
        if kept is not None and kept.since <= since and (found := _part(kept, since, until, most)) is not None:
            return found
        made = _made(trigger, since, until + (until - since) / SLACK, most + most // SLACK)
        with self._lock:
            before = self._kept.pop(key, None)
            self._kept[key] = made
            self._size += len(made.instants) + 1 - (len(before.instants) + 1 if before else 0)
            while self._size > self._most and len(self._kept) > 1:
                _, gone = self._kept.popitem(last=False)
                self._size -= len(gone.instants) + 1
        found = _part(made, since, until, most)
        assert found is not None, "it was made for this window"
        return found


def _made(trigger: Trigger, since: datetime, until: datetime, most: int) -> Prediction:
    found = instants(trigger, since=since, until=until, most=most + 1)
    if len(found) <= most:
        return Prediction(since=since, until=until, instants=tuple(found))
    return Prediction(since=since, until=found[most - 1], instants=tuple(found[:most]), is_whole=False)


def _part(kept: Prediction, since: datetime, until: datetime, most: int) -> Prediction | None:
    """Cut a window out of a prediction; None where it does not reach so far."""
    first = bisect_right(kept.instants, since)
    if until <= kept.until:
        last = bisect_right(kept.instants, until)
    elif kept.is_whole or len(kept.instants) - first < most:
        return None
    else:
        last = len(kept.instants)
    if last - first <= most and until <= kept.until:
        return Prediction(since=since, until=until, instants=kept.instants[first:last])
    part = kept.instants[first : first + most]
    return Prediction(since=since, until=part[-1], instants=part, is_whole=False)


_PREDICTIONS: Final = Predictions()


def predicted(trigger: Trigger, *, since: datetime, until: datetime, most: int = MOST) -> Prediction:
    """Predict as `Foresight.of` does, kept for the whole process: it depends on nothing but the trigger."""
    return _PREDICTIONS.of(trigger, since=since, until=until, most=most)


def between(found: Prediction, since: datetime, until: datetime) -> int:
    """Count the instants from `since` on and before `until`."""
    return bisect_left(found.instants, until) - bisect_left(found.instants, since)


def sparse(found: Prediction, until: datetime, *, step: timedelta) -> list[tuple[Sequence[datetime], float]]:
    """Give instants up to `until` for a drawing in which those closer than `step` are one: of dense ones only some, and
    evenly spread ones after the last where there are too many to be predicted. Each part says for how many runs each of
    its instants stands.
    """
    known = found.instants
    if len(known) < 2:
        return [(known, 1.0)]
    usual = (known[-1] - known[0]) / (len(known) - 1)
    every = max(1, step // usual)
    parts: list[tuple[Sequence[datetime], float]] = [(known[::every], float(every))]
    if not found.is_whole and until > found.until:
        length = max(step, usual)
        count = (until - known[-1]) // length
        parts.append(([known[-1] + (k + 1) * length for k in range(count)], length / usual))
    return parts
