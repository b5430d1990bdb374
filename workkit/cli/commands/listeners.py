"""`listeners`, `stats`, `schedules` and `queues`: the listeners of schedules, the numbers of jobs, and the schedules.
Nothing here changes anything.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence
from typing import TYPE_CHECKING

import click

from workkit.cli import table, terminal
from workkit.cli.command import Command, Option
from workkit.cli.commands.runs import show_functions, show_span
from workkit.cli.known import look_options, opened, tag_option
from workkit.cli.live import ScheduleName, talk_once
from workkit.cli.options import OPTIONAL, json_option, server_options, server_words, verbose_option
from workkit.cli.table import Column
from workkit.contract import record
from workkit.errors import ServerRefused
from workkit.jobs.job import call_text
from workkit.text import wording
from workkit.text.wording import duration_text

if TYPE_CHECKING:
    from workkit.contract.inspector import Counts, QueueInfo
    from workkit.contract.listener import ListenerInfo
    from workkit.jobs.job import Job
    from workkit.schedule import Schedule

STATES = ("waiting", "due", "running", "cancelling", "retrying", "held", "paused", "dead", "listeners")
EMPTY = 10  # added to the rank of a column that holds nothing but zeros
RANKS = {"waiting": 1, "listeners": 2, "retrying": 3, "held": 4, "paused": 5, "cancelling": 6}
SCHEDULE = Column(title="SCHEDULE", cut_to=16)
LISTENERS = (
    Column(title="LISTENER", cut_to=12),
    Column(title="SCHEDULES", cut_to=8, rank=2),
    Column(title="BUSY", rank=1),
    Column(title="STATE"),
    Column(title="BEAT", rank=4),
    Column(title="UP", rank=5),
    Column(title="VERSION", rank=6),
    Column(title="NOW", cut_to=12, rank=3),
)


@click.command(
    "listeners",
    cls=Command,
    takes="[SCHEDULE] [OPTIONS]",
    about=("List who is listening and what they run.",),
    examples=("workkit listeners app-tasks", "workkit listeners app-tasks --json"),
    after=OPTIONAL,
)
@look_options
def listeners_command(schedule: str | None, as_json: bool, server: str | None) -> None:
    """List listeners."""
    from workkit import schedule as verbs

    schedules = opened(schedule, command="listeners", server=server)
    found = {info.listener: info for s in schedules for info in verbs.listeners(s)}
    if as_json:
        table.show_json(map(record.listener_record, found.values()))
    elif found:
        table.show_table(LISTENERS, map(_listener_row, found.values()))
    if not found:
        names = wording.listed([s.name for s in schedules], "or")
        start = f"workkit listen {' '.join(s.name for s in schedules)}{server_words(server)}"
        terminal.talk(f"nobody listens to {names}. Start a listener: {start}")


def _listener_row(info: ListenerInfo) -> list[str]:
    schedules = ",".join(name if weight == 1 else f"{name}:{weight}" for name, weight in info.schedules.items())
    return [
        info.listener,
        schedules,
        f"{info.busy}/{info.threads or '-'}",
        "stuck" if info.trouble else info.state,
        _age(info.beat_ms),
        _age(info.up_ms).replace("min", "m"),
        info.version,
        "; ".join(_running(job) for job in info.running) or "-",
    ]


def _age(ms: int | None) -> str:
    return "-" if ms is None else duration_text(ms)


def _running(job: Job) -> str:
    return call_text(job) + (f" {wording.progress(job.progress)}" if job.progress is not None else "")


@click.command(
    "stats",
    cls=Command,
    takes="[SCHEDULE] [OPTIONS]",
    about=(
        "Count the jobs of a schedule by state, and the runs of the last 48 hours by their end.",
        "LATE is how long the job that is due for longest has waited for a listener.",
        "With --over: the runs of that span by their end. 95% of them were less late, or took less, than LATE 95% and "
        "TOOK 95% say.",
        "With --by function: the same for each function, over the last day unless --over says otherwise.",
    ),
    examples=(
        "workkit stats app-tasks",
        'workkit stats app-tasks --over "7 days"',
        "workkit stats app-tasks --by function",
    ),
    after=OPTIONAL,
)
@click.option("--over", cls=Option, metavar="SPAN", help='the runs of a span that ends now: "1 hour", "7 days"')
@click.option("--by", cls=Option, type=click.Choice(("function",)), metavar="function", help="the runs, by function")
@tag_option("jobs")
@look_options
def stats_command(
    schedule: str | None, as_json: bool, server: str | None, over: str | None, by: str | None, tag: str | None
) -> None:
    """Count jobs."""
    from workkit import schedule as verbs

    if tag is not None and (other := "--by" if by else "--over" if over else None) is not None:
        raise click.UsageError(f"--tag and {other} were both given, and history does not count by tag. Keep one.")
    if by is not None:
        cells = [(s.name, verbs.stats(s, over=over)) for s in opened(schedule, command="stats", server=server)]
        if not as_json and not any(found for _, found in cells):
            terminal.talk("no runs in this time.")
        else:
            show_functions(cells, as_json=as_json)
        return

    if over is not None:
        of = [(s.name, verbs.history(s, over=over)) for s in opened(schedule, command="stats", server=server)]
        show_span(of, as_json=as_json)
        return
    counted = [(s.name, verbs.counts(s, tag=tag)) for s in opened(schedule, command="stats", server=server)]
    notes = [why for _, counts in counted for why in counts.unknown.values()]
    if as_json:
        table.show_json(record.counts_record(name, counts) for name, counts in counted)
        talk_once(notes)
        return
    _show_states(counted)
    names = [name for name, _ in counted]
    for name, counts in counted:
        lead = f"{name}: " if len(counted) > 1 else ""
        for text in record.deadlines_texts(counts.past_deadline):
            terminal.data(terminal.paint(f"{lead}{wording.printable(text)}.", "red", sys.stdout))
    if totals := sorted({key for _, counts in counted for key in counts.totals}):
        terminal.data()
        columns = [_number(f"{key.replace('_', ' ')}/48h", rank=n) for n, key in enumerate(totals)]
        _show(names, columns, [[f"{counts.totals.get(key, 0):,}" for key in totals] for _, counts in counted])
    talk_once(notes)


@click.command(
    "schedules",
    cls=Command,
    takes="[OPTIONS]",
    about=(
        "List the schedules of a server, with their jobs by state, as stats counts them, and their listeners.",
        "A schedule is there from its first job, listener, pause or plan on, and as long as the server keeps anything "
        "of it, such as past runs. Shards are one schedule. With --layout gocraft, list the namespaces. A RabbitMQ "
        "does not tell the exchanges of schedules from others.",
    ),
    examples=("workkit schedules", "workkit schedules --json"),
    after="A user of the server needs the right to SCAN, which reads the names of all keys, in pages.",
)
@json_option()
@verbose_option
@server_options
def schedules_command(as_json: bool, server: str | None) -> None:
    """List schedules."""
    from workkit import schedule as verbs

    found = verbs.schedules(redis=server)
    counted = [(s.name, _counts(s)) for s in found]
    if as_json:
        records = [record.counts_record(name, counts) for name, counts in counted]
        table.show_json({**one, "shards": s.shards} for one, s in zip(records, found, strict=True))
    elif found:
        _show_states(counted)
    else:
        words = server_words(server)
        terminal.talk(
            f"no schedule here yet. Add a first job: workkit now app-tasks MODULE:FUNCTION{words}, "
            f"or listen: workkit listen app-tasks{words}"
        )
    talk_once(why for _, counts in counted for why in counts.unknown.values())


def _counts(s: Schedule) -> Counts:
    """Count the jobs of a schedule. This user of the server may lack the permission to read it."""
    from workkit import schedule as verbs
    from workkit.contract.inspector import Counts

    try:
        return verbs.counts(s)
    except ServerRefused as error:
        return Counts(unknown=dict.fromkeys((*STATES, "late_ms", "totals"), f"{s.name}: {error}"))


def _show_states(counted: Sequence[tuple[str, Counts]]) -> None:
    """Print the jobs of schedules by state."""
    shows = [state for state in STATES if state != "cancelling" or any(counts.cancelling for _, counts in counted)]
    filled = {state for state in shows if any(getattr(counts, state) for _, counts in counted)}
    columns = [_number(state, rank=_rank(state, is_empty=state not in filled)) for state in shows]
    place = shows.index("due") + 1
    columns.insert(place, _number("late"))
    rows = [[_count(counts, state) for state in shows] for _, counts in counted]
    for row, (_, counts) in zip(rows, counted, strict=True):
        row.insert(place, "-" if counts.late_ms is None else duration_text(counts.late_ms))
    _show([name for name, _ in counted], columns, rows)


def _count(counts: Counts, state: str) -> str:
    return "-" if state in counts.unknown else f"{getattr(counts, state):,}"


def _rank(state: str, *, is_empty: bool) -> int:
    rank = RANKS.get(state, 0)
    return rank + EMPTY if rank and is_empty else rank


def _number(title: str, *, rank: int = 0) -> Column:
    return Column(title=title.upper(), rank=rank)


def _show(names: Sequence[str], columns: Sequence[Column], rows: Sequence[Sequence[str]]) -> None:
    table.show_table((SCHEDULE, *columns), [[name, *row] for name, row in zip(names, rows, strict=True)])


QUEUES = (
    Column(title="QUEUE", cut_to=16),
    Column(title="KIND", rank=2),
    Column(title="READY"),
    Column(title="HELD", rank=1),
    Column(title="CONSUMERS"),
    Column(title="IN/s", rank=5),
    Column(title="OUT/s", rank=4),
    Column(title="KEYS", cut_to=12, rank=3),
)


@click.command(
    "queues",
    cls=Command,
    takes="SCHEDULE [JOB...] [OPTIONS]",
    about=(
        "List the queues around an exchange of RabbitMQ: messages that are ready, messages that consumers hold, rates. "
        "Queues that delay are listed where they hold messages, or with --all.",
        "Without RabbitMQ's management API only queues with known names are listed: those of the JOBs named here.",
    ),
    examples=(
        "workkit queues hutch --layout hutch",
        "workkit queues hutch orders.created --layout hutch --json",
    ),
    shows=("layout", "amqp", "management"),
)
@click.argument("schedule", type=ScheduleName())
@click.argument("jobs", nargs=-1, metavar="JOB")
@click.option("--all", "everything", cls=Option, is_flag=True, help="empty queues that delay, too")
@json_option()
@verbose_option
@server_options
def queues_command(schedule: str, jobs: tuple[str, ...], everything: bool, as_json: bool, server: str | None) -> None:
    """List queues."""
    from workkit import schedule as verbs
    from workkit.verbs.opening import producer_of, queues_of

    s = verbs.create(schedule, redis=server)  # a RabbitMQ does not answer whether it knows it
    found = [one for one in queues_of(s, jobs) if everything or one.kind != "delay" or one.ready or one.held]
    if as_json:
        table.show_json(record.queue_record(s.name, one) for one in found)
    elif found:
        table.show_table(QUEUES, map(_row, found))
    else:
        terminal.talk(f"no queues around {s.name}. A listener declares its own when it starts.")
    if any(one.held is None for one in found) or not found:
        talk_once(why for field, why in producer_of(s).inspector.counts().unknown.items() if field == "running")


def _row(queue: QueueInfo) -> list[str]:
    return [
        queue.name,
        queue.kind,
        f"{queue.ready:,}",
        "-" if queue.held is None else f"{queue.held:,}",
        f"{queue.consumers:,}",
        _rate(queue.rate_in),
        _rate(queue.rate_out),
        ",".join(queue.keys or ()) or "-",
    ]


def _rate(rate: float | None) -> str:
    return "-" if rate is None else f"{rate:,.1f}"
