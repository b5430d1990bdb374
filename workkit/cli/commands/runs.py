"""`runs`: the past runs of one job or of a schedule. Also the counts of a span, for `stats`."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from datetime import tzinfo
from typing import TYPE_CHECKING

import click

from workkit.cli import table, terminal
from workkit.cli.command import Command, Option
from workkit.cli.known import DEFAULT_LIMIT, filter_help, opened, where_option
from workkit.cli.live import FunctionOfJobs, ScheduleName, Which
from workkit.cli.options import Count, json_option, server_options, zone_of, zone_option
from workkit.cli.settings import read_settings
from workkit.cli.table import Column
from workkit.contract import record
from workkit.contract.filters import ENDINGS, of_runs, read_filter, understood
from workkit.contract.history import arguments_of
from workkit.jobs.names import known_name, shown
from workkit.text import wording
from workkit.text.wording import duration_text

if TYPE_CHECKING:
    from workkit.contract.history import Bucket, Buckets, Cell, PastRun

RUNS = (
    Column(title="ENDED", least=20, rank=1),
    Column(title="STATE"),
    Column(title="FUNCTION", cut_to=18, rank=2, is_call=True),
    Column(title="NAME", cut_to=12, rank=5),
    Column(title="ID", rank=6),
    Column(title="LATE", rank=7),
    Column(title="TOOK", rank=4),
    Column(title="ATTEMPT", rank=8),
    Column(title="TIMES", rank=9),
    Column(title="ERROR", cut_to=18, rank=3),
    Column(title="ARGUMENTS", cut_to=18, rank=10),
)
SPAN = (
    Column(title="SCHEDULE", cut_to=16),
    *(Column(title=title) for title in ("DONE", "RETRIED", "DEAD")),
    Column(title="DISCARDED", rank=3),
    Column(title="MISSED", rank=4),
    Column(title="LATE", rank=5),
    Column(title="LATE 95%", rank=1),
    Column(title="TOOK 50%", rank=6),
    Column(title="TOOK 95%", rank=2),
)


@click.command(
    "runs",
    cls=Command,
    takes="SCHEDULE [WHICH] [OPTIONS]",
    about=(
        "List what ran lately, the last one first: of one job, or of the whole schedule.",
        "Of a recurring job, the last 60 runs are always there. Of jobs that run once and succeed, there are samples: "
        "TIMES is the number of runs of a line.",
        filter_help("runs"),
    ),
    examples=("workkit runs app-tasks nightly", "workkit runs app-tasks --fn app.export:rows --state failed"),
)
@click.argument("schedule", type=ScheduleName())
@click.argument("which", type=Which(), required=False)
@where_option("runs")
@click.option("--fn", cls=Option, type=FunctionOfJobs(), metavar="FUNCTION", help="only runs of this function")
@click.option("--state", cls=Option, type=click.Choice(ENDINGS), metavar="STATE", help=", ".join(ENDINGS))
@click.option("--limit", cls=Option, type=Count(), metavar="N", help=f"most lines; default {DEFAULT_LIMIT}")
@zone_option("zone of the times; default UTC")
@json_option()
@server_options
def runs_command(
    schedule: str,
    which: str | None,
    where: str | None,
    fn: str | None,
    state: str | None,
    limit: int | None,
    tz: str | None,
    as_json: bool,
    server: str | None,
) -> None:
    """List past runs."""
    from workkit.contract.mask import mask
    from workkit.verbs.opening import present, producer_of
    from workkit.verbs.past import runs_of

    zone = zone_of(tz, read_settings())
    meant = of_runs(read_filter(where or "", "runs"), fn=None if fn is None else known_name(fn), state=state)
    (s,) = opened(schedule, command="runs", server=server)
    found = runs_of(producer_of(s).inspector, which, limit=limit or DEFAULT_LIMIT, where=meant, now=present(s))
    masked = map(mask().run, found)
    if as_json:
        table.show_json(map(record.run_record, masked))
        return
    if not found:
        only = "" if meant.is_everything else f" that fit: {wording.printable(understood(meant))}"
        terminal.talk(f"history has no runs of {wording.printable(which or schedule)}{only}.")
        return
    table.show_table(RUNS, (_row(run, zone) for run in masked))


def _row(run: PastRun, zone: tzinfo) -> Sequence[str]:
    return [
        wording.stamp(run.ended, zone),
        run.ending,
        wording.printable(shown(run.fn or "?")),
        wording.printable(run.name or "-"),
        (run.id or "-")[:8],
        duration_text(run.late_ms),
        duration_text(run.took_ms),
        f"{run.attempt + 1:,}",
        f"{run.times:,}",
        wording.printable(run.error or "-"),
        wording.printable(arguments_of(run)),
    ]


def show_span(counted: Iterable[tuple[str, Sequence[Bucket]]], *, as_json: bool) -> None:
    """Print the counts of a span, for each schedule in one line; as JSON with every bucket."""
    from workkit.verbs.past import summed

    if as_json:
        table.show_json({"schedule": name, **record.span_record(buckets)} for name, buckets in counted)
    else:
        table.show_table(SPAN, [_span_row(name, summed(buckets)) for name, buckets in counted])


def show_functions(counted: Iterable[tuple[str, Mapping[str, Cell]]], *, as_json: bool) -> None:
    """Print the counts of a span by function, each in one line."""
    found = [(name, fn, cell) for name, cells in counted for fn, cell in cells.items()]
    if as_json:
        table.show_json({"schedule": name, "function": fn, **record.cell_record(cell)} for name, fn, cell in found)
        return
    rows = [[name, wording.printable(fn), *_span_row(name, cell)[1:]] for name, fn, cell in found]
    table.show_table((SPAN[0], Column(title="FUNCTION", cut_to=18, is_call=True), *SPAN[1:]), rows)


def _span_row(name: str, cell: Cell) -> list[str]:
    numbers = (cell.done, cell.retried, cell.dead, cell.discarded, cell.missed, cell.late)
    return [name, *(f"{n:,}" for n in numbers), *_shares(cell.lateness, cell.durations)]


def _shares(lateness: Buckets, durations: Buckets) -> Iterator[str]:
    for side, share in ((lateness, 0.95), (durations, 0.5), (durations, 0.95)):
        below = side.below_ms(share)
        yield "-" if below is None else f"<{duration_text(below)}"
