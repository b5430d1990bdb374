"""What the page of the dead jobs says first. Pure."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, date, datetime, timedelta, tzinfo

from workkit.text.glance import at_moment, day_text, moment
from workkit.text.listing import plural
from workkit.web.dead_jobs import Group, Known

DAY_MS = 86_400_000


def headline(
    known: Known, matching: int, groups: Sequence[Group], *, reading: int | None, has_filter: bool, is_one: bool
) -> str:
    """Say how many there are, and of how many errors."""
    if reading is not None:
        return f"Reading {plural(known.of, 'dead job')}: {reading} %."
    if not known.graves:
        return "Nobody died. What fails for good comes here, with its arguments and traceback."
    if is_one:
        return f"{plural(matching, 'job')} died of one error." if matching else "Nobody is dead of this error any more."
    errors = plural(len(groups), "error")
    if has_filter:
        return f"{matching:,} of {plural(known.of, 'dead job')}, {errors}."
    return f"{plural(known.of, 'dead job')}, {errors}."


def spoken_rest(known: Known, groups: Sequence[Group], *, now: datetime, zone: tzinfo, is_one: bool) -> str:
    """Say what stands out, and when the oldest leaves."""
    said: list[str] = []
    first = groups[0] if groups else None
    if first is not None and first.n > 1 and len(first.died) > 1:
        span = between(first.died[-1], first.died[0], now, zone)
        some = "All" if len(groups) == 1 else f"{first.n:,}"
        said.append(f"They died {span}." if is_one else f"{some} of them died of one error {span}.")
    if known.graves and not is_one:
        kept = [] if known.most is None else [f"until {known.most:,} newer ones stand here"]
        if known.kept_ms is not None:
            kept.append(f"for {plural(known.kept_ms // DAY_MS, 'day')}")
        if kept and known.kept_ms is not None and known.is_all:
            leaves = datetime.fromtimestamp(known.graves[-1].died_ms / 1000, UTC) + timedelta(
                milliseconds=known.kept_ms
            )
            today = now.astimezone(zone).date()
            said.append(f"Kept {', or '.join(kept)}; the oldest leaves {on(leaves.astimezone(zone), today)}.")
        elif kept:
            said.append(f"Kept {', or '.join(kept)}.")
        if known.of > len(known.graves) and known.is_all:
            said.append(f"The last {len(known.graves):,} are shown.")
    return " ".join(said)


def on(at: datetime, today: date) -> str:
    """Say on which day."""
    text = day_text(at.date(), today)
    return text if text in ("today", "tomorrow", "yesterday") else f"on {text}"


def between(first: datetime, last: datetime, now: datetime, zone: tzinfo) -> str:
    """Say in which span: ``between 09:41 and 10:58``; or when, where both are in one minute."""
    begun, ended = (at.replace(second=0, microsecond=0) for at in (first, last))
    if begun == ended:
        return at_moment(begun, now, zone)
    return f"between {moment(begun, now, zone)} and {moment(ended, now, zone)}"
