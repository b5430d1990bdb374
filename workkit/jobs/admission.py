"""The needs of a claim before its run may start, as a value: slots, turns, no pause. One atomic script on the server
grants them. Pure. The rules are in spec/features.md.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any, Final, Literal

from workkit.jobs.run_options import RunOptions
from workkit.jobs.terms import PLAIN, Terms

SCHEDULE: Final = "schedule"
"""The target of a pause of the whole schedule."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Pause:
    """A pause of a schedule, a function or a job: its reason and its end (epoch ms; None: until it is resumed)."""

    reason: str | None = None
    until_ms: int | None = None

    @property
    def until(self) -> datetime | None:
        """The end of the pause (aware UTC); None if it lasts until it is resumed."""
        try:
            return None if self.until_ms is None else datetime.fromtimestamp(self.until_ms / 1000, UTC)
        except (OverflowError, ValueError, OSError):  # another program wrote a time that no calendar has
            return None


def pause_text(pause: Pause) -> str:
    """Write a pause, to follow the name of its target: ``paused until 2026-11-23 09:00:00 UTC: migration``."""
    till = f" until {pause.until:%Y-%m-%d %H:%M:%S} UTC" if pause.until else ""
    return f"paused{till}" + (f": {pause.reason}" if pause.reason else "")


History = Literal["full", "counts", "off"]
HISTORIES: tuple[History, ...] = ("full", "counts", "off")
"""The history that is kept of past runs. `full`: single runs, days and counts. `counts`: counts only. `off`: none."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Control:
    """The pauses and limits of a schedule at this moment, for all listeners. `quiet` names listeners that claim
    nothing new.

    `history`: the history that listeners keep of past runs (spec/history.md). Two values that differ only in `history`
    or `quiet` are equal. `known_dead_ms`: a user has acknowledged the dead jobs up to this instant (epoch ms); None:
    nobody has acknowledged any.

    Targets: ``schedule``, ``fn:<name as stored>``, ``job:<name, or else id>``.
    """

    paused: Mapping[str, Pause] = field(default_factory=dict)
    limit: int | None = None
    turn_ms: float | None = None  # between two starts
    history: History = field(default="full", compare=False)
    quiet: frozenset[str] = field(default=frozenset(), compare=False)
    known_dead_ms: int | None = field(default=None, compare=False)

    def lapsed(self, now_ms: int) -> list[str]:
        """List the targets with a pause that has ended."""
        return [t for t, pause in self.paused.items() if pause.until_ms is not None and pause.until_ms <= now_ms]


@dataclass(frozen=True, slots=True, kw_only=True)
class Admission:
    """The needs of one claim before its start.

    `keys`: limit keys with the number of runs that each allows, from the most specific to the most general. `turns`:
    rate keys with the milliseconds between two starts. `overlap`: the policy when the first key is full. `pause`: the
    target that may pause it. `frees`: the unique key that its start frees. `marks`: its record must state that the run
    may have begun, because the run must not begin twice.
    """

    keys: tuple[tuple[str, int], ...] = ()
    turns: tuple[tuple[str, float], ...] = ()
    overlap: str | None = None
    pause: str | None = None
    frees: str | None = None
    marks: bool = False

    def is_met(self, *, slots: Sequence[str]) -> bool:
        """Return whether a claim that has these slots may start. A claim with `turns` always asks the server, because
        its turn may be in the past.
        """
        return not (self.pause or self.frees or self.turns or self.marks) and all(key in slots for key, _ in self.keys)


NOTHING = Admission()
FREE = Control()


def admission(
    *,
    id: str,
    fn: str,
    args: Sequence[Any],
    kwargs: Mapping[str, Any],
    terms: Terms,
    options: RunOptions,
    control: Control,
    recurs: bool = False,
) -> Admission | None:
    """Return the needs of a claim before its start; None for a plain claim, which needs nothing, whatever its arguments
    are.

    Jobs that run once and share a name run one at a time. A job that recurs does so only by its `overlap`.
    """
    pause = next((t for t in (f"job:{terms.name or id}", f"fn:{fn}") if t in control.paused), None)
    marks, limited = options.crashes == 0, options.limit or options.rate_ms or control.limit or control.turn_ms
    if terms is PLAIN and pause is None and not limited and not marks:
        return None
    keys: list[tuple[str, int]] = []
    if terms.overlap or (terms.name and not recurs):
        keys.append((f"over:{terms.name or id}", 1))
    if terms.unique_key and not terms.unique_until:
        keys.append((f"unique:{terms.unique_key}", 1))
    place, value = f"fn:{fn}", "null"
    if options.limit_key is not None:
        value = options.limited_by(args, kwargs)
        place += f"={value}"
    if options.limit:
        keys.append((place, options.limit))
    if control.limit:
        keys.append(("schedule", control.limit))
    rates = ((place, options.turn_ms(value)), ("schedule", control.turn_ms))
    needed = Admission(
        keys=tuple(keys),
        turns=tuple((key, ms) for key, ms in rates if ms),
        overlap=terms.overlap,
        pause=pause,
        frees=terms.unique_key if terms.unique_until else None,
        marks=marks,
    )
    is_always_free = needed == NOTHING and not isinstance(options.rate_ms, Mapping)
    return None if is_always_free else needed
