"""Calendars: a year as a heat map with a square a day, and five weeks ahead with a column a day."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass
from datetime import date, datetime, timedelta, tzinfo
from typing import Final

from workkit.contract.history import Day, Ended
from workkit.text.glance import brief_day
from workkit.text.wording import MONTH_NAMES, date_text, listed, plural, short_date_text
from workkit.triggers import Trigger
from workkit.web.charts.bars import KINDS, WORDS, Drawing, Kind, Paths, number

WEEKS, AHEAD = 57, 30  # columns, days ahead
SIZE, STEP = 13, 16
LINKED = timedelta(days=90)  # a good day has links to its runs for this long; a bad day always has
MOST_PLANNED = 50_000  # firings counted; a trigger that fires more often is planned on every day
SHADES = (("h-done", 1.0), ("h-done some", 0.66), ("h-done few", 0.33))
"""Classes of done days, with their opacity: all of the due runs, most of them, less than half."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Square:
    """A day with its own element, at `x`, `y`: its outcome, whether the clock changed, whether it is today; and its
    sentence.
    """

    x: int
    y: int
    kind: Kind | None
    clock: bool
    today: bool
    says: str


@dataclass(frozen=True, slots=True, kw_only=True)
class DayOfRuns:
    """A day with a link to its runs, at `x`, `y`: its beginning and end (UTC), and its sentence."""

    x: int
    y: int
    since: str
    until: str
    says: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Month:
    """The name of a month, above the column of a week (from 0)."""

    week: int
    text: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Year(Drawing):
    """The year. `paths`: the planned days; `done`: the done days, as (class, opacity, path). `first`: the day of the
    first square. `asked`: the days with a link to their runs. `counted`: the content of the label, without its frame.
    """

    first: date
    done: tuple[tuple[str, float, str], ...]
    squares: tuple[Square, ...]
    asked: tuple[DayOfRuns, ...]
    months: tuple[Month, ...]
    counted: str


def year(
    days: Iterable[Day],
    *,
    today: date,
    planned: Mapping[date, int],
    late: AbstractSet[date] = frozenset(),
    due: Mapping[date, int] | None = None,
    clocks: Mapping[date, str] | None = None,
) -> Year:
    """Draw the days of a recurring job. `planned`: the number of runs on each coming day; `late`: days on which a run
    that was done began late; `due`: the number of runs that a past day should have had, else the usual number;
    `clocks`: the effect of a change of the clock, by day.

    Done and planned days are one path each: only the others are elements. Days are UTC, as in history.
    """
    first = _first(today)
    last = today + timedelta(days=AHEAD)
    seen = {day.day: day for day in days if first <= day.day <= today}
    clocks = clocks or {}
    usual = sorted(day.runs for day in seen.values())[len(seen) // 2] if seen else 1
    done: dict[tuple[str, float], list[str]] = {}
    plan: list[str] = []
    squares: list[Square] = []
    asked: list[DayOfRuns] = []
    for k in range((last - first).days + 1):
        day = first + timedelta(days=k)
        x, y = k // 7 * STEP, k % 7 * STEP
        past, count = seen.get(day), planned.get(day, 0)
        kind = None if past is None else _kind(past.worst, day in late)
        if past is not None and kind in ("done", "over"):
            done.setdefault(_shade(past.runs, (due or {}).get(day, usual)), []).append(_done_path(x, y))
        elif past is None and day >= today and count:
            plan.append(_plan_path(x, y))
        is_marked = kind not in (None, "done", "over")
        if past is not None and (is_marked or today - day <= LINKED):
            says = _says(day, past, kind, 0, clocks.get(day))
            asked.append(DayOfRuns(x=x, y=y, since=f"{day}", until=f"{day + timedelta(days=1)}", says=says))
        if is_marked or day in clocks or day == today:
            says = _says(day, past, kind, count if day >= today else 0, clocks.get(day))
            shown = kind if is_marked else None
            squares.append(Square(x=x, y=y, kind=shown, clock=day in clocks, today=day == today, says=says))
    counted = _counted(seen.values(), late)
    changes = listed([_without_year(day) for day in sorted(clocks) if first <= day <= last])
    label = f"A day a square, a year back and {AHEAD} days ahead. {counted}."
    label += f" Clock changes on {changes}." if changes else ""
    return Year(
        width=WEEKS * STEP,
        height=7 * STEP - (STEP - SIZE),
        label=label,
        paths={"h-plan": "".join(plan)} if plan else {},
        done=tuple((cls, opacity, "".join(parts)) for (cls, opacity), parts in sorted(done.items())),
        first=first,
        squares=tuple(squares),
        asked=tuple(asked),
        months=tuple(_months(first, last)),
        counted=counted,
    )


def planned_days(trigger: Trigger, *, after: datetime, zone: tzinfo, most: int | None = None) -> dict[date, int]:
    """Count the runs on each of the 30 days after an instant, by the calendar of `zone`. A job with `most` runs left
    has no more than `most`. At most 50,000 firings are counted; each later day counts as the last whole day.
    """
    until = after.astimezone(zone).date() + timedelta(days=AHEAD)
    found: Counter[date] = Counter()
    room = MOST_PLANNED if most is None else min(most, MOST_PLANNED)
    at = after
    for _ in range(room):
        following = trigger.next_after(at)
        if following is None or (day := following.astimezone(zone).date()) > until:
            return dict(found)
        found[day] += 1
        at = following
    if most is None and found:
        last = max(found)
        whole = found.get(last - timedelta(days=1), found[last])
        for k in range((until - last).days + 1):
            found[last + timedelta(days=k)] = whole
    return dict(found)


def _first(today: date) -> date:
    end = today + timedelta(days=AHEAD)
    return end - timedelta(days=end.weekday()) - timedelta(weeks=WEEKS - 1)


def _kind(worst: Ended, is_late: bool) -> Kind:
    kind = KINDS[worst]
    return "late" if is_late and kind in ("done", "left", "over") else kind


def _shade(runs: int, due: int) -> tuple[str, float]:
    if runs >= due or due <= 1:
        return SHADES[0]
    return SHADES[1] if 2 * runs >= due else SHADES[2]


def _done_path(x: int, y: int) -> str:
    return f"M{x + 2} {y}h9q2 0 2 2v9q0 2-2 2h-9q-2 0-2-2v-9q0-2 2-2z"


def _plan_path(x: int, y: int) -> str:
    return f"M{number(x + 2.5)} {number(y + 0.5)}h8q2 0 2 2v8q0 2-2 2h-8q-2 0-2-2v-8q0-2 2-2z"


def _says(day: date, past: Day | None, kind: Kind | None, planned: int, clock: str | None) -> str:
    if past is not None and kind is not None:
        said = plural(past.runs, "run") if past.runs else ""
        worst = WORDS[kind] if past.runs <= 1 else f"the worst {WORDS[kind]}"
        said = f"{said}, {worst}" if said else worst
    else:
        said = f"{plural(planned, 'run')} planned" if planned else "no run"
    return f"{short_date_text(day)}: {said}" + (f". {clock}" if clock else "")


def _counted(days: Iterable[Day], late: AbstractSet[date]) -> str:
    known = list(days)
    if not known:
        return "Has not run yet"
    kinds = Counter(_kind(day.worst, day.day in late) for day in known)
    parts = [f"{kinds[kind]:,} {WORDS[kind]}" for kind in WORDS if kinds[kind]]
    runs = sum(day.runs for day in known)
    return f"{plural(runs, 'run')} on {plural(len(known), 'day')}: {', '.join(parts)}"


def _months(first: date, last: date) -> Iterator[Month]:
    """Name each month above the first week that begins in it. The last two weeks have no room for a name. A name is
    left out where the next one follows at once.
    """
    starts = [first + timedelta(weeks=week) for week in range(WEEKS)]
    for week, day in enumerate(starts[: WEEKS - 2]):
        is_new = week == 0 or day.month != starts[week - 1].month
        has_room = starts[week + 1].month == day.month
        if is_new and has_room and day <= last:
            yield Month(week=week, text=MONTH_NAMES[day.month - 1][:3])


def _without_year(day: date) -> str:
    return date_text(day).removesuffix(f" {day.year}")


WEEKS_DAYS: Final = 35
DAY_WIDTH: Final = 24
WEEKS_HEIGHT: Final = 56
RUN_ROWS: Final = (20, 32, 44)  # y of each run of a day; more than three are drawn as three
_SATURDAY: Final = 5


@dataclass(frozen=True, slots=True, kw_only=True)
class Weeks(Drawing):
    """The drawing, and the dates below it."""

    ticks: tuple[str, ...]


def weeks(trigger: Trigger, before: Trigger | None, *, now: datetime, zone: tzinfo) -> Weeks:
    """Draw on which of the next 35 days the job runs. Times that are also in `before` are unchanged, others are new."""
    paths, today, busy, fresh = Paths(), now.astimezone(zone).date(), 0, 0
    for day in range(WEEKS_DAYS):
        x, date = day * DAY_WIDTH, today + timedelta(days=day)
        if date.weekday() >= _SATURDAY:
            paths.rect("we", x, 0, DAY_WIDTH, WEEKS_HEIGHT)
        begin = max(now, datetime(date.year, date.month, date.day, tzinfo=zone) - timedelta(seconds=1))
        following = date + timedelta(days=1)
        end = datetime(following.year, following.month, following.day, tzinfo=zone)
        runs = _first_runs(trigger, begin, end)
        stood = [] if before is None else _first_runs(before, begin, end)
        for row, at in zip(RUN_ROWS, runs, strict=False):
            is_new = before is None or at not in stood
            paths.rect("new" if is_new else "ds", x + 4, row, 15, 7)
            fresh += is_new
        busy += bool(runs)
    label = f"It runs on {busy} of the next {plural(WEEKS_DAYS, 'day')}"
    if before is not None:
        label += f", {'at no new time' if not fresh else 'at new times too'}"
    ticks = tuple(
        brief_day(today + timedelta(days=min(day, WEEKS_DAYS - 1)), today) for day in range(0, WEEKS_DAYS + 1, 7)
    )
    return Weeks(width=WEEKS_DAYS * DAY_WIDTH, height=WEEKS_HEIGHT, paths=paths.done(), ticks=ticks, label=f"{label}.")


def _first_runs(trigger: Trigger, begin: datetime, end: datetime) -> Sequence[datetime]:
    found: list[datetime] = []
    at: datetime | None = begin
    while at is not None and len(found) < len(RUN_ROWS):
        at = trigger.next_after(at)
        if at is None or at >= end:
            break
        found.append(at)
    return found
