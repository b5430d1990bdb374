"""`next` and `explain`: the meaning of words and cron strings. Neither needs a server."""

from __future__ import annotations

import sys
from datetime import UTC, datetime, timedelta, tzinfo
from typing import TYPE_CHECKING, Any

import click

from workkit.cli import spelling, table, terminal
from workkit.cli.command import Command, Option
from workkit.cli.options import Count, json_option, verbose_option, zone_of, zone_option
from workkit.cli.settings import read_settings
from workkit.cli.terminal import warn
from workkit.contract import record as records
from workkit.errors import TriggerError
from workkit.text import wording
from workkit.text.cells import shorten
from workkit.text.wording import weekday_name

if TYPE_CHECKING:
    from workkit.triggers import Trigger
    from workkit.triggers.dialect import Dialect

DIALECTS = ("auto", "published", "standard", "cuckoo")
dialect_option = click.option(
    "--dialect",
    cls=Option,
    type=click.Choice(DIALECTS),
    default="auto",
    metavar="|".join(DIALECTS),
    help="how a cron string is read",
)
FIELDS = ("year", "month", "day", "weekday", "hour", "minute", "second")


INTERVALS = (
    "An interval that divides its unit (15 minutes, 6 hours) is aligned to the clock; any other is counted from 1970. "
    '"starting at 9am", or --start TIME of add, counts it from there.'
)


def read_time(text: str, *, now: datetime, zone: tzinfo, dialect: Dialect = "auto") -> Trigger:
    """Read words or a cron string; only a cron string if a dialect is named. Raises TriggerError."""
    from workkit import triggers
    from workkit.triggers.when import When, read_when

    if dialect != "auto":
        return triggers.cron(text, dialect, tz=wording.zone_name(zone))
    return read_when(When(when=text, default_tz=wording.zone_name(zone)), now=now)


@click.command(
    "next",
    cls=Command,
    takes="WHEN [OPTIONS]",
    about=(
        "Show in English when words or a cron string fire, the next instants, and warnings. Needs no server.",
        INTERVALS,
    ),
    examples=(
        'workkit next "every 2nd sunday at 5pm" --tz Europe/Paris',
        'workkit next "0 9 * * 1-5"',
    ),
)
@click.argument("words", nargs=-1, required=True, metavar="WHEN")
@click.option(
    "-n",
    "count",
    cls=Option,
    type=Count(),
    default=5,
    metavar="COUNT",
    help="number of instants; default 5",
)
@zone_option("zone of the words; default UTC")
@click.option("--from", "start", cls=Option, metavar="TIME", help="count from this time, in words or ISO; default now")
@dialect_option
@json_option("print one JSON object, for other programs")
@verbose_option
def next_command(
    words: tuple[str, ...], count: int, tz: str | None, start: str | None, dialect: Dialect, as_json: bool
) -> None:
    """Show when words or a cron string fire."""
    zone = zone_of(tz, read_settings())
    when = _one(words, "next", zone)
    now = datetime.now(UTC)
    origin = now if start is None else _instant(start, now=now, zone=zone)
    trigger = read_time(when, now=origin, zone=zone, dialect=dialect)
    instants = trigger.upcoming(origin, count)
    if not instants and trigger.next_after(origin - timedelta(seconds=1)) is None:
        raise TriggerError(f'"{when}" never fires: {trigger.why_never()}.', given=when)
    from workkit.triggers.when import with_skipped

    trigger = with_skipped(trigger, after=origin)
    if as_json:
        terminal.data(records.compact(_record(trigger) | {"next": [wording.iso(at) for at in instants]}))
        return
    from workkit.triggers import explain

    terminal.say(explain(trigger))
    if (counted := counting(trigger, wording.zone_name(zone))) is not None:
        terminal.say(counted)
    terminal.say(_cron_line(trigger))
    for line in instant_lines(instants, zone=zone_of(trigger.tz, read_settings()), now=origin):
        terminal.data(line)
    if trigger.recurs and len(instants) < count:
        terminal.data("  then never again")
    warn(trigger.warnings)


def _one(words: tuple[str, ...], command: str, zone: tzinfo) -> str:
    """Return WHEN as one text. Raises UsageError if it was typed without quotes."""
    if len(words) == 1:
        return words[0]
    meant = f"workkit {command} {spelling.time_of(spelling.with_stars(words), zone)}"
    raise spelling.Unquoted(f"WHEN is one argument. Put its words in quotes: {meant}")


def _record(trigger: Trigger) -> dict[str, Any]:
    from workkit.triggers import explain
    from workkit.triggers.english.sentence import how_counted

    return {
        "words": explain(trigger),
        "cron": trigger.cron,
        "tz": trigger.tz,
        "recurs": trigger.recurs,
        "next": [],
        "warnings": list(trigger.warnings),
        "interval": None if trigger.interval is None else trigger.interval.member(),
        "counted": how_counted(trigger),
    }


def counting(trigger: Trigger, tz: str) -> str | None:
    """Say from when an interval is counted, in the zone `tz`, and how words choose that; None for any other trigger."""
    from workkit.triggers.english.sentence import how_counted

    how = how_counted(trigger, tz=tz)
    if how is None or trigger.pace is None or trigger.start is not None or trigger.origin is not None:
        return how
    at = _TIMES.get(trigger.pace.unit, "")
    day = "" if at and 86_400 % trigger.pace.seconds == 0 else " 2027-01-31"
    return f'{how}; to choose, add "starting{day}{at}", or --start TIME'


_TIMES = {"second": " at 9:00:05", "minute": " at 9:05", "hour": " at 3am"}


def _cron_line(trigger: Trigger) -> str:
    if trigger.cron is not None:
        return f"cron: {trigger.cron}"
    if trigger.interval is not None and trigger.interval.is_elapsed:
        return f"cron: none; seven fields cannot say this. Stored with fields of its own, beside {trigger.rules[0]}"
    if trigger.tz == "UTC":
        return "cron: none; seven fields cannot say this. Stored with fields of its own."
    return f"cron: none; seven UTC fields cannot follow the clock changes of {trigger.tz}. Stored with its zone."


def instant_lines(instants: list[datetime], *, zone: tzinfo, now: datetime) -> list[str]:
    """Write instants of a job as lines of a table."""
    seconds = any(at.second for at in instants)
    rows = [_row(at, zone=zone, seconds=seconds, now=now) for at in instants]
    limit = terminal.table_width(sys.stdout)
    lines = [f"  {line}" for line in table.aligned(rows, gap=3)]
    return [shorten(line, limit) for line in lines] if limit else lines


def _row(at: datetime, *, zone: tzinfo, seconds: bool, now: datetime) -> tuple[str, str, str]:
    clock = "%H:%M:%S" if seconds else "%H:%M"
    local, utc = at.astimezone(zone), at.astimezone(UTC)
    away = wording.distance(at, now)
    if wording.zone_name(zone) == "UTC":
        return f"{wording.short_date(utc)}  {utc.strftime(clock)} UTC", "", away
    other = "" if utc.date() == local.date() else f" {weekday_name(utc)[:3]}"
    offset = local.strftime("%z")
    shown = f"{wording.short_date(local)}  {local.strftime(clock)} {offset[:3]}:{offset[3:5]}"
    return shown, f"{utc.strftime(clock)} UTC{other}", away


def _instant(text: str, *, now: datetime, zone: tzinfo) -> datetime:
    """Read ``--from``: ISO, in `zone` where it has none, or words for one instant."""
    try:
        at = datetime.fromisoformat(text)
    except ValueError:
        trigger = read_time(text, now=now, zone=zone)
        if trigger.recurs:
            message = f'--from "{text}" recurs; it must be one instant. Write for example --from 2027-01-01.'
            raise TriggerError(message, given=text) from None
        return next(iter(trigger.upcoming(now, 1)), now)
    return (at if at.tzinfo else at.replace(tzinfo=zone)).astimezone(UTC)


@click.command(
    "explain",
    cls=Command,
    takes="WHEN [OPTIONS]",
    about=("Say in English what a cron string means. Needs no server.",),
    examples=('workkit explain "* * 13 5 9 0 0"', 'workkit explain "0 9 * * 1-5" --json'),
)
@click.argument("words", nargs=-1, required=True, metavar="WHEN")
@zone_option("zone of words and of five fields; default UTC")
@dialect_option
@json_option("print one JSON object, for other programs")
@verbose_option
def explain_command(words: tuple[str, ...], tz: str | None, dialect: Dialect, as_json: bool) -> None:
    """Say in English what a cron string means."""
    zone = zone_of(tz, read_settings())
    when = _one(words, "explain", zone)
    trigger = read_time(when, now=datetime.now(UTC), zone=zone, dialect=dialect)
    if as_json:
        record = _record(trigger)
        del record["next"]
        warnings = record.pop("warnings")
        terminal.data(records.compact(record | {"fields": _cron_fields(trigger), "warnings": warnings}))
        return
    from workkit.triggers import explain

    terminal.say(explain(trigger))
    if (counted := counting(trigger, wording.zone_name(zone))) is not None:
        terminal.say(counted)
    warn(trigger.warnings)


def _cron_fields(trigger: Trigger) -> dict[str, str]:
    texts = (trigger.cron or "").split()
    return {name: text for name, text in zip(FIELDS, texts, strict=False) if text not in ("*", "?")}
