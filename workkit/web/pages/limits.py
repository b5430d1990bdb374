"""The page Limits: the slots and turns in use, their holders, and the jobs that wait."""

from __future__ import annotations

from dataclasses import dataclass, replace
from datetime import datetime
from typing import Any

from workkit.contract.inspector import LimitUse
from workkit.errors import Unsupported
from workkit.jobs.admission import SCHEDULE
from workkit.jobs.job import call_text
from workkit.jobs.names import shown
from workkit.text.glance import away
from workkit.text.masked_text import MASK
from workkit.text.wording import MILLISECOND, duration_text, iso, plural
from workkit.verbs.opening import limits_of
from workkit.web.page import Asked, Page
from workkit.web.words import until
from workkit.web.works import in_use

MOST_SQUARES = 20
KINDS = {"over": "one run of {} at a time", "unique": 'unique key "{}"', "window": 'throttled by "{}"'}


@dataclass(frozen=True, slots=True)
class LimitRow:
    """A key in words, and its use, as squares where the limit is known."""

    use: LimitUse
    text: str
    note: str

    @property
    def squares(self) -> tuple[int, int]:
        """The number of squares, and how many of them are taken."""
        of = min(self.use.limit or self.use.used, MOST_SQUARES)
        return of, min(self.use.used, of)

    @property
    def is_full(self) -> bool:
        """Whether no further job may start under the key."""
        return self.use.limit is not None and self.use.used >= self.use.limit


@dataclass(frozen=True, slots=True, kw_only=True)
class LimitsView:
    """The content of the page. `alone`: how many keys that allow one run are in use without a waiting job; a search
    finds them.
    """

    schedule: str
    now: datetime
    alone: int
    filter: str
    said: str
    rows: tuple[LimitRow, ...]
    unknown: str

    def record(self) -> dict[str, Any]:
        """Return the view as a JSON object."""
        return {
            "schedule": self.schedule,
            "as_of": iso(self.now),
            "sentence": self.said,
            "limits": [_record(row) for row in self.rows],
            "alone": self.alone,
            "unknown": self.unknown,
        }


def look(asked: Asked) -> LimitsView:
    """Read the limits and rates that are in use."""
    text, unknown = asked.params.get("q", "").strip(), ""
    found: list[LimitUse] = []
    try:
        found = limits_of(asked.served.s, like=text)
    except Unsupported as error:
        unknown = str(error)
    if not text and not unknown:
        asked.served.rail.note("limits", in_use(found))
    rows = [_row(asked, use) for use in found]
    rows = [row for row in rows if text.casefold() in f"{row.text} {_calls(row)}".casefold()]
    alone = [row for row in rows if row.use.is_alone and not row.use.waiting and not text]
    rows = [row for row in rows if row not in alone]
    return LimitsView(
        schedule=asked.served.name,
        now=asked.now,
        filter=text,
        said="What is in use of limits is not told here." if unknown else sentence(rows, text),
        rows=tuple(rows),
        alone=len(alone),
        unknown=unknown,
    )


def sentence(rows: list[LimitRow], text: str) -> str:
    """Say how many keys are in use, how many are full, and how many jobs wait."""
    if not rows:
        return f'No limit in use has "{text}".' if text else "No limit is in use."
    limits = [row for row in rows if not row.use.is_rate]
    full, waiting = sum(row.is_full for row in limits), sum(row.use.waiting or 0 for row in rows)
    rates = len(rows) - len(limits)
    said = [f"{plural(len(limits), 'limit')} in use, {full or 'none'} full"] if limits else []
    said += [f"{plural(waiting, 'job')} {'waits' if waiting == 1 else 'wait'}"] if waiting else []
    said += [f"{plural(rates, 'rate')} with a turn to come"] if rates else []
    return f"{'; '.join(said)}."


def key_text(key: str, *, hides_values: bool = False) -> str:
    """Write a key in words: ``app.export.rows, for 42``."""
    kind, _, name = key.partition(":")
    if key == SCHEDULE:
        return "the schedule"
    if kind == "fn":
        fn, equals, value = name.partition("=")
        return shown(fn) + (f", for {MASK if hides_values else value}" if equals else "")
    return KINDS[kind].format(MASK if hides_values and kind in ("unique", "window") else name) if kind in KINDS else key


def _row(asked: Asked, use: LimitUse) -> LimitRow:
    veil = asked.veil
    shown_use = replace(use, holders=tuple(replace(one, job=veil.job(one.job)) for one in use.holders))
    text = veil.text(key_text(use.key, hides_values=veil.usual.everything))
    return LimitRow(shown_use, text, _note(asked, use))


def _note(asked: Asked, use: LimitUse) -> str:
    """Say which jobs wait, or when the next turn is."""
    if use.turn is not None and use.key.startswith("window:"):
        return f"the next addition is stored in {until(use.turn, asked.now)}"
    if use.turn is not None:
        waits = f"{_waiting(use)}; " if use.waiting else ""
        period = "" if use.turn_ms is None else f"one start each {duration_text(use.turn_ms)}; "
        return f"{waits}{period}the next free turn is in {until(use.turn, asked.now)}"
    if use.waiting is None:
        return "what waits for it is not told here"
    if not use.waiting:
        return ""
    oldest = "" if use.oldest is None else f", the oldest for {away((asked.now - use.oldest) / MILLISECOND)}"
    return f"{_waiting(use)}{oldest}"


def _waiting(use: LimitUse) -> str:
    return f"{use.waiting:,} {'waits' if use.waiting == 1 else 'wait'}"


def _calls(row: LimitRow) -> str:
    return " ".join(f"{call_text(one.job)} {one.job.name or ''} {one.job.id}" for one in row.use.holders)


def _record(row: LimitRow) -> dict[str, Any]:
    use = row.use
    return {
        "text": row.text,
        "used": use.used,
        "limit": use.limit,
        "waiting": use.waiting,
        "oldest": iso(use.oldest) if use.oldest else None,
        "holders": [{"id": one.job.id, "fn": one.job.fn, "name": one.job.name, "listener": one.listener}
                    for one in use.holders],
        "turn": iso(use.turn) if use.turn else None,
        "turn_ms": use.turn_ms,
    }  # fmt: skip


PAGE = Page(name="limits", path="limits", title="Limits", template="limits.html", look=look, icon="gauge", key="m")
