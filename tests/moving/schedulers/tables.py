"""The tables in `spec/vectors/moving/`: a time of another scheduler, its zone, and what a plan says of it.

The third column has the text, the zone it is read in where that is another one, and the bounds. After a change,
`python -m tests.moving.schedulers.readers` writes it again; read the difference before you commit it.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any, NamedTuple

from tests.optional import needed
from workkit.moving.found import NotCarried
from workkit.moving.timing import Engine, Timing
from workkit.triggers.zone import clock_changes

FOLDER = Path(__file__).parents[3] / "spec" / "vectors" / "moving"
NOW = datetime(2026, 11, 23, 5, 7, 11, tzinfo=UTC)
NEAR = timedelta(hours=4)
NEXT = 40
SPANS = tuple(timedelta(hours=hours) for hours in (5, 30, 8 * 24, 40 * 24, 400 * 24))
LATEST = datetime(2099, 1, 1, tzinfo=UTC)
INSTANT = re.compile(r"\d{4}-\d\d-\d\d [\d:]+[+-][\d:]+")
Read = tuple[Timing, tuple[str, ...]]


class Line(NamedTuple):
    """One line of a table."""

    source: str
    zone: str
    expected: str


def lines_of(name: str) -> list[Line]:
    """Read a table."""
    written = (FOLDER / f"{name}.txt").read_text(encoding="utf-8").splitlines()
    return [Line(*map(str.strip, line.split("|"))) for line in written if not line.startswith("#")]


def answer_of(read: Callable[[Line], Read], line: Line) -> Read | NotCarried:
    """Take what a reader makes of a line."""
    try:
        return read(line)
    except NotCarried as refusal:
        return refusal


def shown(answer: Read | NotCarried, zone: str) -> str:
    """Write what a reader answers as the third column does."""
    if isinstance(answer, NotCarried):
        return f"refused: {str(answer).split('. ')[0].rstrip('.')}"
    timing, _ = answer
    options = {name: value for name, value in timing.options.items() if (name, value) != ("tz", zone)}
    return " ".join([f'"{timing.when}"', *(f"{name}={value}" for name, value in options.items())])


def check_times(read: Read, following: Engine, *, zone: str, name: str) -> None:
    """Check that a plan's next times are those of the real engine, from the present on and across clock changes; that
    times differ only where clocks changed since the last equal one; and that comments name exactly what differs first.
    From eight hours before a change the next times go across it also where they are fifteen minutes apart.
    """
    timing, comments = read
    changes = clock_changes(zone, NOW, NOW + timedelta(days=366 * 90))
    for start in (NOW, *(change.at - timedelta(hours=8) for change in changes[:2])):
        ours, theirs = (list(upcoming(engine, start, NEXT)) for engine in (timing.trigger.next_after, following))
        last = min((side[-1] for side in (ours, theirs) if len(side) == NEXT), default=LATEST)
        equal = set(ours) & set(theirs)
        for at in sorted(set(ours) ^ set(theirs)):
            if at <= min(last, LATEST):
                before = max((one for one in equal if one < at), default=start)
                between = [change for change in changes if before - NEAR <= change.at <= at + NEAR]
                assert between, f"{at} is no time of both, and clocks have not changed since {before}"
                directions = {"forward" if change.skips else "back" for change in between}
                assert any(f"clocks go {direction}" in " ".join(comments) for direction in directions), at
    for comment in comments:
        if comment.startswith("Where clocks go"):
            check_comment(comment, timing, following, name=name)


def check_comment(comment: str, timing: Timing, following: Engine, *, name: str) -> None:
    """Check that the times which a comment names are the first that only one of both has, there."""
    found = re.fullmatch(r"Where clocks go (?:forward|back), times differ: (.*)\.", comment)
    assert found is not None, comment
    named: dict[str, list[datetime]] = {}
    for who, times in re.findall(r"only (\w+) runs it at ((?:(?!, and only).)*)", found[1]):
        named[who] = [datetime.fromisoformat(at).astimezone(UTC) for at in INSTANT.findall(times)]
    first, last = (pick(at for side in named.values() for at in side) for pick in (min, max))
    run = timing.trigger.next_after
    start = next(first - span for span in SPANS if len(list(upcoming(run, first - span, 2, first))) > 1)
    ours = set(upcoming(run, start, 5_000, last))
    theirs = set(upcoming(following, start, 5_000, last))
    for who, only in ((name, theirs - ours), ("workkit", ours - theirs)):
        assert sorted(only)[: len(named.get(who, []))] == named.get(who, []), comment


def upcoming(following: Engine, start: datetime, most: int, end: datetime | None = None) -> Iterator[datetime]:
    """Yield the times of an engine after an instant."""
    at = following(start)
    while most and at is not None and (end is None or at <= end):
        yield at.astimezone(UTC)
        most, at = most - 1, following(at)


def celery_schedule(line: Line) -> tuple[Any, Any]:
    """Make the schedule of a line, and its app."""
    app = needed("celery").Celery(set_as_current=False)
    app.conf.timezone = line.zone
    minute, hour, day, month, weekday = line.source.split()
    crontab = needed("celery.schedules").crontab
    return crontab(minute, hour, day_of_week=weekday, day_of_month=day, month_of_year=month, app=app), app


def apscheduler_trigger(line: Line) -> Any:
    """Make the trigger of a line."""
    kind, _, given = line.source.partition(" ")
    module = needed(f"apscheduler.triggers.{kind}")
    return getattr(module, f"{kind.title()}Trigger")(**json.loads(given), timezone=line.zone)


def rewrite(name: str, read: Callable[[Line], Read]) -> None:
    """Write the third column of a table again."""
    file = FOLDER / f"{name}.txt"
    head = file.read_text(encoding="utf-8").splitlines()[0]
    lines = [f"{line.source} | {line.zone} | {shown(answer_of(read, line), line.zone)}" for line in lines_of(name)]
    file.write_text("\n".join([head, *lines, ""]), encoding="utf-8")
