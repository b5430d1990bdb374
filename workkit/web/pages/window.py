"""A window of time: the instants that a user types, its address and links, its runs and its events."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime, timedelta, tzinfo
from itertools import islice
from typing import Any, Final, Literal
from urllib.parse import urlencode

from workkit.contract.admin import LONGEST_MARK, MARK, Change
from workkit.contract.history import ALL, KEPT_MS, Bucket, PastRun, Tier
from workkit.contract.listener import ListenerInfo
from workkit.errors import InvalidOptions, TriggerError, Unsupported
from workkit.text.cells import brief_repr
from workkit.text.wording import MILLISECOND, epoch_ms, iso, zone_name
from workkit.web.charts.axis import SPANS, Axis, Span, axis
from workkit.web.page import Asked
from workkit.web.recurring_jobs import MOST_RUNS

LONGEST: Final = 100
ACCEPTED_INSTANTS: Final = '"2 hours ago", "yesterday 14:00", "Monday 9am", 2026-11-20T14:00'
SECOND: Final = timedelta(seconds=1)
_DAYS: Final = {"today": 0, "yesterday": -1, "tomorrow": 1}
_DAY: Final = re.compile(r"(today|yesterday|tomorrow)\b\s*(?:at\b)?\s*(.*)", re.IGNORECASE)
_AGO: Final = re.compile(r"(.*\S)\s+ago", re.IGNORECASE)
_BACK: Final = (timedelta(days=7), timedelta(days=31), timedelta(days=366))


def read_instant(text: str, *, name: str, now: datetime, zone: tzinfo) -> datetime:
    """Read an instant. Words that match several instants give the last one before now. Raises InvalidOptions with the
    name of the parameter.
    """
    found = None
    if len(text) <= LONGEST:
        try:
            found = instant(text, now=now, zone=zone, leans_back=True)
        except (TriggerError, OverflowError, ValueError):
            found = None
    if found is None:
        trouble = "is no time that is understood"
        remedy = f"Write for example {ACCEPTED_INSTANTS}."
        raise InvalidOptions.about(
            f'{name}="{text[:LONGEST]}"', trouble, remedy, where=name, given=text, accepted=ACCEPTED_INSTANTS
        )
    return found


def instant(text: str, *, now: datetime, zone: tzinfo, leans_back: bool = False) -> datetime | None:
    """Read an instant. ISO: on the wall clock of `zone` unless it names another; a time ago; or words, also with a past
    day. Other words give the next matching time, of a recurring time too. With `leans_back` they give the last one
    before now, and recurring times are refused. Raises TriggerError as the reader of phrases does, OverflowError for an
    instant outside the calendar.
    """
    text = text.strip()
    if text.lower() == "now":
        return now
    try:
        at = datetime.fromisoformat(text)
    except ValueError:
        pass
    else:
        return at if at.tzinfo is not None else at.replace(tzinfo=zone)
    if (ago := _AGO.fullmatch(text)) is not None:
        from workkit.triggers.english.numbers import duration  # the grammar is slow to import

        return now - duration(ago[1], name="ago")
    midnight = now.astimezone(zone).replace(hour=0, minute=0, second=0, microsecond=0)
    if (day := _DAY.fullmatch(text)) is not None:
        start = midnight + timedelta(days=_DAYS[day[1].lower()])
        return _once(f"today {day[2]}", start, zone) if day[2] else start
    return _back(text, midnight, now, zone) if leans_back else _next(text, now, zone)


def _back(text: str, midnight: datetime, now: datetime, zone: tzinfo) -> datetime | None:
    first = _once(text, midnight, zone)
    if first is None or first <= now:
        return first
    for back in _BACK:
        found = _once(text, now - back, zone)
        if found is not None and found <= now:
            return found
    return first


def _once(text: str, now: datetime, zone: tzinfo) -> datetime | None:
    """Read words for one time, as if `now` were the present."""
    from workkit.triggers.when import When, read_when

    return read_when(When(at=text, tz=zone_name(zone)), now=now).next_after(now - SECOND)


def _next(text: str, now: datetime, zone: tzinfo) -> datetime | None:
    from workkit.triggers.when import read_when

    return read_when(text, now=now, tz=zone_name(zone)).next_after(now - SECOND)


ACCEPTED_SPANS: Final[tuple[Span, ...]] = ("24h", "2h", "7d", "90d")  # the first is the default
FURTHEST: Final = timedelta(days=3660)
FINEST: Final[dict[Span, Tier]] = {"2h": "1", "24h": "5", "7d": "h", "90d": "d"}
_TIERS: Final[tuple[Tier, ...]] = ("1", "5", "h", "d")


def read_middle(text: str, *, now: datetime, zone: tzinfo) -> datetime:
    """Read the middle of a window: see `instant`. Raises PhraseError or CronError as the reader of phrases does,
    InvalidOptions for an instant more than ten years away.
    """
    try:
        found = instant(text, now=now, zone=zone)
    except OverflowError:
        found = None
    if found is None or abs(found - now) > FURTHEST:
        raise InvalidOptions.about(
            f'at="{text}"', "is too far off", "Accepted: an instant within ten years.", where="at", given=text
        )
    return found.astimezone(UTC)


@dataclass(frozen=True, slots=True, kw_only=True)
class Links:
    """The addresses of the windows beside this one, each below the schedule's."""

    spans: tuple[tuple[Span, str], ...]
    groups: tuple[tuple[str, str], ...]
    all: str
    earlier: str
    now: str
    later: str


def read_axis(
    params: Mapping[str, str], span: Span, *, now: datetime, zone: tzinfo, typed_zone: tzinfo | None = None
) -> Axis:
    """Make the axis for the parameters of an address. `typed_zone`: the zone of `at`, if it is not the shown one."""
    at = params.get("at", "").strip()
    return axis(span, now=now, zone=zone, at=read_middle(at, now=now, zone=typed_zone or zone) if at else None)


def links(axis: Axis, *, by: str, q: str, at: bool) -> Links:
    """Make the addresses beside a window: earlier and later by half of it. `at`: whether its middle is not now."""
    middle = axis.start + (axis.end - axis.start) / 2
    here = local_text(middle, axis.zone) if at else ""
    reach = SPANS[axis.span]

    def path(**other: str) -> str:
        return timeline_path(**{"span": axis.span, "at": here, "by": by, "q": q} | other)

    return Links(
        spans=tuple((span, path(span=span)) for span in ("2h", "24h", "7d", "90d")),
        groups=tuple((group, path(by=group)) for group in ("job", "fn", "listener")),
        all=path(q=""),
        earlier=path(at=local_text(middle - reach, axis.zone)),
        now=path(at=""),
        later=path(at=local_text(middle + reach, axis.zone)),
    )


def timeline_path(**params: str) -> str:
    """Return the address of a window. Parameters that are empty or have their default are left out."""
    usual = {"span": "24h", "by": "job"}
    known = {name: value for name, value in params.items() if value and usual.get(name) != value}
    return "timeline" + (f"?{urlencode(known)}" if known else "")


def local_text(at: datetime, zone: tzinfo) -> str:
    """Write an instant for the address: on the wall clock, with its offset, since a clock may show a time twice."""
    return f"{at.astimezone(zone):%Y-%m-%dT%H:%M:%S%z}"


def tier_of(axis: Axis) -> Tier:
    """Return the shortest cells for a span that are kept as far back as it reaches."""
    needed = (axis.now - axis.start) / MILLISECOND
    fitting = _TIERS[_TIERS.index(FINEST[axis.span]) :]
    return next((tier for tier in fitting if KEPT_MS[tier] >= needed), "d")


RING: Final = 60  # runs that are always kept for a recurring job
SKEW: Final = timedelta(minutes=1)  # longest delay between the end of a run and its entry


@dataclass(frozen=True, slots=True, kw_only=True)
class Seen:
    """The single runs of a window, the last one first. `since`: earlier runs may be missing; None: all kept runs are
    here.
    """

    runs: Sequence[PastRun] = field(default=(), repr=False)
    since: datetime | None = None

    __repr__ = brief_repr


def read_seen(asked: Asked, axis: Axis, unknown: dict[str, str]) -> Seen:
    """Read the single runs of a window, at most 2,000."""
    until = axis.end + SKEW
    if axis.start >= axis.now:
        return Seen()
    try:
        inspector = asked.served.inspector()
        if axis.now <= axis.end:
            runs = [
                run for run in asked.served.recent.read(inspector.history.runs, asked.now) if run.ended >= axis.start
            ]
        else:
            runs = list(
                islice(inspector.history.runs(since_ms=epoch_ms(axis.start), until_ms=epoch_ms(until)), MOST_RUNS)
            )
    except Unsupported as error:
        unknown["history"] = str(error)
        return Seen()
    return Seen(runs=runs, since=runs[-1].ended if len(runs) == MOST_RUNS else None)


def by_job(seen: Seen) -> Mapping[str, list[PastRun]]:
    """Group single runs by the job's name, or else id."""
    found: defaultdict[str, list[PastRun]] = defaultdict(list)
    for run in seen.runs:
        found[run.name or run.id or ""].append(run)
    return found


def joined(single: Iterable[PastRun], ring: Iterable[PastRun]) -> list[PastRun]:
    """Merge the single runs of a job with its ring. Where both have a run, the single run is used, because it has more
    fields.
    """
    known = {(run.due, run.attempt, run.ending): run for run in ring}
    for run in single:
        key = (run.due, run.attempt, run.ending)
        known[key] = replace(run, times=1) if key in known else run
    return sorted(known.values(), key=lambda run: run.ended, reverse=True)


def known_since(seen: Seen, ring: Sequence[PastRun], axis: Axis) -> datetime:
    """Return the instant from which all runs of a job are known, by its ring or by single runs."""
    if seen.since is None:
        return axis.start
    full = len(ring) >= RING
    return max(axis.start, min(seen.since, ring[-1].ended)) if full else axis.start


def counted(asked: Asked, axis: Axis, subject: str, until: datetime) -> list[PastRun]:
    """Read the counts of a subject before an instant as runs: one for each cell, as long as the cell."""
    if until <= axis.start:
        return []
    cells = asked.served.inspector().history.past(
        subject, since_ms=epoch_ms(axis.start), until_ms=epoch_ms(until), tier=tier_of(axis)
    )  # fmt: skip
    return runs_of_cells(cell for cell in cells if cell.end <= until)  # later cells are known run by run


def runs_of_cells(cells: Iterable[Bucket]) -> list[PastRun]:
    """Convert counts to runs: the done ones as a run over the whole cell, the failed ones as a run at its beginning."""
    found: list[PastRun] = []
    for bucket in cells:
        cell, length = bucket.cell, round((bucket.end - bucket.start) / MILLISECOND)
        failed = cell.retried + cell.dead
        one = PastRun(
            id=None, name=None, fn=None, due=bucket.start, ended=bucket.end, ending="done", took_ms=length,
            times=max(0, cell.runs - failed),
        )  # fmt: skip
        if one.times:
            found.append(one)
        if failed:
            found.append(replace(one, ending="retried", ended=bucket.start, took_ms=0, times=failed))
        if cell.missed:
            found.append(replace(one, ending="missed", ended=bucket.start, took_ms=0, times=cell.missed))
    return found


def read_cells(asked: Asked, axis: Axis, unknown: dict[str, str]) -> list[Bucket]:
    """Read the counts of the whole schedule in a window."""
    if axis.start >= axis.now:
        return []
    until = min(axis.now, axis.end)
    try:
        return asked.served.inspector().history.past(
            ALL, since_ms=epoch_ms(axis.start), until_ms=epoch_ms(until) + 1, tier=tier_of(axis)
        )  # fmt: skip
    except Unsupported as error:
        unknown["history"] = str(error)
        return []


LOOKED_AT: Final = 2_000  # most changes read, the last ones
MOST_HAPPENED: Final = 40  # most events shown, the last ones
FRESH_S: Final = 5.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Happened:
    """An event: its words, and its author where known."""

    at: datetime
    kind: Literal["mark", "sync", "version"]
    says: str
    by: str = ""

    @property
    def sentence(self) -> str:
        """The event, with its author or source."""
        if self.kind == "mark":
            return f"Marked: {self.says}" + (f", by {self.by}" if self.by else "")
        return self.says + (f" by {self.by}" if self.by else "")

    def record(self) -> dict[str, Any]:
        """Return the view as a JSON object."""
        return {"at": iso(self.at), "kind": self.kind, "says": self.says, "by": self.by or None}


def read_happened(asked: Asked, since: datetime, until: datetime, unknown: dict[str, str]) -> list[Happened]:
    """Read the events in a window of time, the last one first."""
    try:
        kept = asked.served.fresh("happened", lambda: _read_changes(asked), seconds=FRESH_S)
    except Unsupported as error:
        unknown.setdefault("history", str(error))
        kept = ()
    found = [_happened(asked.veil.change(change)) for change in kept if since <= change.at <= until]
    found += (one for one in versions(asked.pulse.listeners, asked.now) if since <= one.at <= until)
    return sorted(found, key=lambda one: one.at, reverse=True)[:MOST_HAPPENED]


def _read_changes(asked: Asked) -> Sequence[Change]:
    return [one for one in islice(asked.served.inspector().history.changes(), LOOKED_AT) if one.verb in (MARK, "sync")]


def _happened(change: Change) -> Happened:
    if change.verb == "sync":
        return Happened(at=change.at, kind="sync", says="A plan was synced", by=change.by or "")
    text = str(change.after.get("text") or "something")  # other programs may write any value
    return Happened(at=change.at, kind="mark", says=text[:LONGEST_MARK], by=change.by or "")


def versions(listeners: Sequence[ListenerInfo], now: datetime) -> Iterator[Happened]:
    """Yield the newest version, where listeners of an earlier one still run."""
    began: dict[str, datetime] = {}
    for info in listeners:
        if info.up_ms:
            at = now - info.up_ms * MILLISECOND
            began[info.version] = min(at, began.get(info.version, at))
    if len(began) > 1:
        version, at = max(began.items(), key=lambda one: one[1])
        yield Happened(at=at, kind="version", says=f"Version {version} began to listen")
