"""`add-many`: add jobs from a JSON Lines file of any length."""

from __future__ import annotations

import json
import os
import shlex
import sys
from collections.abc import Callable, Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager, nullcontext
from pathlib import Path
from typing import Any, BinaryIO

import click

from workkit.brokers.layout import Keeps, layout_of
from workkit.cli import terminal
from workkit.cli.command import Command, Option
from workkit.cli.known import check_order, is_new
from workkit.cli.live import ScheduleName
from workkit.cli.options import server_options, server_words, verbose_option
from workkit.cli.terminal import Far, warnings_kept
from workkit.errors import InvalidArguments, NotFound
from workkit.text import wording
from workkit.text.cells import shorten

BESIDE_NAME, SHORTEST_NAME = 64, 8  # columns of the bar with its numbers and count of rows; of the file's name
BAR_STEPS = 200  # the bar is drawn at most this often
ERASE_BAR = "\x1b[1A\x1b[2K"  # the line above, where click leaves the bar
ROW = '{"fn": "app.cache:clear", "in_": "5 minutes"}'


@click.command(
    "add-many",
    cls=Command,
    takes="SCHEDULE FILE [OPTIONS]",
    about=(
        "Add jobs from a JSON Lines file, one object a line, holding the keywords of schedule.add; - is stdin.",
        "Each run prints the id of its bulk. --resume BULK adds the rows that the bulk has not added yet, "
        "whatever ended it, and though some of its jobs are done. A bulk is known for 7 days after its last row. "
        "Without --resume the same file is a new bulk: its rows with a length of time, such as in_, or at now, are "
        "added again. An exchange on RabbitMQ keeps no bulk; rows that were not added are named.",
    ),
    examples=(
        "workkit add-many app-tasks jobs.jsonl",
        "workkit add-many app-tasks jobs.jsonl --resume 1f0c2a9b",
        "zcat jobs.jsonl.gz | workkit add-many app-tasks -",
    ),
    after=f"A line: {ROW}",
)
@click.argument("schedule", type=ScheduleName())
@click.argument("file", type=click.Path(allow_dash=True))
@click.option("--resume", cls=Option, metavar="BULK", help="add the rows that this bulk has not added yet")
@verbose_option
@server_options
def add_many_command(schedule: str, file: str, resume: str | None, server: str | None) -> None:
    """Add jobs from a JSON Lines file."""
    from workkit import schedule as verbs
    from workkit.errors import located
    from workkit.verbs.bulk import BadRow, PartlyAdded, add_rows, begun
    from workkit.verbs.opening import producer_of

    check_order(schedule, meant=f"workkit add-many SCHEDULE {shlex.quote(file)}", server=server)
    s = verbs.create(schedule, redis=server)
    begins = "a new schedule " if is_new(s) else ""
    name = "stdin" if file == "-" else file
    with _opened(file) as source, warnings_kept():
        broker = producer_of(s)
        layout = layout_of(s.layout)
        keeps_none = Keeps.BATCH not in layout.keeps and resume is None
        batch = None if keeps_none else begun(broker) if resume is None else broker.batch(resume)
        again = ""
        if batch is None:
            terminal.talk(f"no bulk: {layout.noun} keeps none, so an interrupted run cannot be resumed")
        else:
            again = f"workkit add-many {s.name} {shlex.quote(file)} --resume {batch.id}{server_words(server)}"
            before = f"{wording.plural(batch.rows, 'row')} of it added before. " if batch.rows else ""
            terminal.talk(wording.printable(f"bulk {batch.id}: {before}If this is interrupted: {again}"))
        with _progress(source, name) as report:
            rows = Rows(source, name, report)
            try:
                tally = add_rows(rows, s=s, broker=broker, batch=batch)
            except BadRow as bad:
                rest = f": {again}" if again else f", from row {rows.line_of(bad.added + 1):,} on."
                how = f"Correct it, and add the rest{rest}" if bad.added else "Correct it, and run this again."
                raise located(bad.error, rows.place, then=f" {bad.done}. {how}") from bad.error.__cause__
            except PartlyAdded as partly:
                raise partly.worded(rows.place_of, row=rows.line_of) from partly.error.__cause__
    known = f", {tally.known:,} already there" if tally.known else ""
    earlier = f", after {wording.plural(batch.rows, 'row')} before" if batch is not None and batch.rows else ""
    terminal.say(f"added {wording.plural(tally.new, 'job')} to {begins}{s.name}{known}{earlier}")


def _opened(file: str) -> AbstractContextManager[BinaryIO]:
    if file == "-":
        return nullcontext(sys.stdin.buffer)
    try:
        return Path(file).open("rb")
    except OSError as error:
        message = f"{file}: {(error.strerror or str(error)).lower()}. Name a JSON Lines file, or - for stdin."
        raise NotFound(message, given=file) from error


class Rows:
    """The rows of a file, read one by one. It knows the line that was read last, for error messages."""

    def __init__(self, source: BinaryIO, name: str, report: Callable[[int, int], None]) -> None:
        self.source, self.name, self.report = source, name, report
        self.line = 0
        self._empty: list[int] = []

    def __iter__(self) -> Iterator[Mapping[str, Any]]:
        """Read one object a line; empty lines are skipped."""
        read = 0
        for number, text in enumerate(self.source, 1):
            self.line = number
            read += len(text)
            self.report(self.line, read)
            if text.strip():
                yield _row(text)
            else:
                self._empty.append(number)

    @property
    def place(self) -> str:
        """The line that was read last."""
        return f"row {self.line:,} of {self.name}"

    def line_of(self, number: int) -> int:
        """Return the line of a row. Rows are counted without empty lines."""
        for line in self._empty:
            number += line <= number
        return number

    def place_of(self, number: int) -> str:
        """Name the line of a row, as `place` does."""
        return f"row {self.line_of(number):,} of {self.name}"


def _row(line: bytes) -> Mapping[str, Any]:
    try:
        text = line.decode("utf-8")
        row = json.loads(text)
    except UnicodeDecodeError as error:
        raise InvalidArguments(f"byte {error.start + 1} is not UTF-8.") from error
    except json.JSONDecodeError as error:
        message = f"not JSON: {error.msg.lower()} (column {error.colno}). Write {ROW}."
        raise InvalidArguments(message, given=text.rstrip("\n"), position=error.pos) from error
    if not isinstance(row, dict):
        raise InvalidArguments(f"not an object. Write {ROW}.", given=text.rstrip("\n"))
    return row


@contextmanager
def _progress(source: BinaryIO, name: str) -> Iterator[Callable[[int, int], None]]:
    """Show the progress of the reading: a bar on a terminal if the size is known, else a line every ten seconds."""
    size = _size(source)
    if size is None or not terminal.is_terminal(sys.stderr):
        yield _lines(name)
        return
    columns = terminal.table_width(sys.stderr) or terminal.FALLBACK_WIDTH
    name = shorten(name, max(SHORTEST_NAME, columns - BESIDE_NAME))
    label = f"{name}: 0 rows"
    try:
        with click.progressbar(length=size, label=label, file=sys.stderr, show_eta=False) as bar:
            seen = 0

            def report(rows: int, read: int) -> None:
                nonlocal seen
                if read - seen >= size // BAR_STEPS or read >= size:
                    bar.label = f"{name}: {rows:,} rows"
                    bar.update(read - seen)
                    seen = read

            yield report
    finally:
        sys.stderr.write(ERASE_BAR)
        sys.stderr.flush()


def _lines(name: str) -> Callable[[int, int], None]:
    far = Far(lambda rows: f"{name}: {rows:,} rows read")
    return lambda rows, _read: far(rows)


def _size(source: BinaryIO) -> int | None:
    try:
        return os.fstat(source.fileno()).st_size or None
    except (OSError, ValueError):
        return None
