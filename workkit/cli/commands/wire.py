"""`wire`: print the published keys of a schedule as they are, or compare them with the published layout. For a gocraft
namespace see `wire_namespace` in `wire_faults.py`.
"""

from __future__ import annotations

import math
import sys
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from datetime import UTC, datetime
from itertools import islice
from typing import TYPE_CHECKING, Any

import click

from workkit.brokers.layout import layout_of
from workkit.cli import table, terminal
from workkit.cli.command import Command, Option
from workkit.cli.commands.wire_faults import SHOWN, Report, fault_record, json_bytes, say
from workkit.cli.known import known
from workkit.cli.live import ScheduleName
from workkit.cli.options import Count, json_option, server_options, server_words, verbose_option
from workkit.errors import Unsupported
from workkit.jobs.terms import instant_of
from workkit.text import wording
from workkit.text.cells import cells, folded, shorten

if TYPE_CHECKING:
    from workkit.brokers.native.look.published import Pair, Published
    from workkit.contract.doctor import Fault

MOST_LINES = 8  # the most lines of one text on a terminal
ORDERS = {"published": "year first", "cuckoo": "second first"}


@click.command(
    "wire",
    cls=Command,
    takes="dump|verify SCHEDULE [OPTIONS]",
    about=(
        "dump prints the content of SCHEDULE:jobs and SCHEDULE:next, byte for byte, soonest first: every item with its "
        "job, then the jobs without an item.",
        "verify names each deviation from the published layout, each orphan (a job or an item without the "
        "other), and each hazard: legal, but a Clojure peer would lose it or run it otherwise. It changes nothing. "
        "With --layout gocraft, both read every key of the namespace, and the peers are Go pools.",
        "Exit status of verify: 0 all well, 1 deviations or orphans, with --strict hazards too. --dialect says how "
        "cron fields are to be read.",
    ),
    examples=("workkit wire dump app-tasks", "workkit wire verify app-tasks --dialect cuckoo"),
    shows=("layout", "dialect"),
    after="In JSON, bytes that are no UTF-8 are base64, under a name that ends in _base64.",
)
@click.argument("action", type=click.Choice(["dump", "verify"]), metavar="dump|verify")
@click.argument("schedule", type=ScheduleName())
@click.option("--where", cls=Option, metavar="TEXT", help="only jobs with this text in id, payload or item")
@click.option(
    "--limit",
    cls=Option,
    type=Count(),
    metavar="N",
    help=f"dump: most jobs; default all. verify: most of one kind; default {SHOWN}",
)
@click.option("--strict", cls=Option, is_flag=True, help="verify: exit status 1 for hazards too")
@json_option()
@verbose_option
@server_options
def wire_command(
    action: str, schedule: str, where: str | None, limit: int | None, strict: bool, as_json: bool, server: str | None
) -> int:
    """Dump or verify the published layout."""
    if strict and action == "dump":
        raise click.UsageError("--strict is for verify; dump judges nothing. Write workkit wire verify.")
    from workkit.brokers.connect import open_broker
    from workkit.brokers.native.doctor.judge import FAULTS
    from workkit.brokers.native.look.published import published

    s = known(schedule, server=server)
    words = server_words(server)
    layout = layout_of(s.layout)
    if not layout.wire:
        trouble = f"cannot be shown: {layout.noun} has no keys"
        raise Unsupported.about(f"the wire of {s.name}", trouble, f"Count its jobs: workkit stats {s.name}.")
    if layout.wire == "keys":
        from workkit.cli.commands.wire_faults import wire_namespace

        return wire_namespace(s, action, where=where, limit=limit, strict=strict, as_json=as_json, words=words)
    look = published(open_broker(s.name, redis=s.redis, dialect=s.dialect))
    pairs = _with_text(look.pairs(soonest_first=action == "dump"), where)
    if action == "dump":
        return _dump(look, islice(pairs, limit), name=s.name, as_json=as_json)
    report = Report(name=s.name, words=words, limit=limit or SHOWN, kinds=FAULTS)
    _verify(look, pairs, name=s.name, dialect=s.dialect, report=report, as_json=as_json)
    return report.status(strict=strict)


def _with_text(pairs: Iterable[Pair], where: str | None) -> Iterator[Pair]:
    wanted = (where or "").encode("utf-8", "surrogateescape")
    return (pair for pair in pairs if any(wanted in part for part in (pair.id, pair.payload or b"", pair.item or b"")))


# Dump.


def _dump(look: Published, pairs: Iterable[Pair], *, name: str, as_json: bool) -> int:
    if as_json:
        table.show_json(map(_pair_record, pairs))
        return 0
    now = datetime.fromtimestamp(look.now_ms / 1000, UTC)
    count = 0
    for pair in pairs:
        count += 1
        for line in _pair_lines(pair, now=now):
            terminal.data(line)
        terminal.data("")
    jobs, items = look.counts()
    stands = f"{name}:jobs holds {wording.plural(jobs, 'job')}, {name}:next {wording.plural(items, 'item')}"
    terminal.talk(f"{count:,} shown; {stands}.")
    return 0


def _pair_lines(pair: Pair, *, now: datetime) -> Iterator[str]:
    yield from _headline(pair)
    if pair.item is not None:
        yield from _beside(f"  due    {_score(pair.score)}", _when(pair.score, now))
        yield from _folded("  item   ", pair.item)
    elif pair.is_loose:
        yield f"  item   {_loud('none')}"
    else:
        yield from _beside("  item   none", "a listener has it, or it waits for another attempt or for its last run")
    if pair.payload is None:
        yield f"  job    {_loud('none')}"
    else:
        yield from _folded("  job    ", pair.payload)


def _headline(pair: Pair) -> Iterator[str]:
    from workkit import wire

    said = wording.printable(_text(pair.id))
    if not pair.id:
        yield _loud("no id in the item")
    elif pair.payload is None:
        yield said
    elif pair.is_hashed:
        yield from _beside(said, "the SHA-1 of the job")
    else:
        yield from _beside(said, f"not the SHA-1 of the job, which is {wire.job_id(pair.payload)}", colour="yellow")


def _beside(first: str, second: str, *, colour: str = "dim") -> Iterator[str]:
    """Write a text and a remark on it. On a narrow terminal the remark goes below, folded."""
    width = terminal.table_width(sys.stdout)
    if width is None or cells(first) + 2 + cells(second) <= width:
        yield f"{first}  {terminal.paint(second, colour, sys.stdout)}"
        return
    yield first
    for line in folded(" " * 9 + second, width):
        yield terminal.paint(line, colour, sys.stdout)


def _when(score: float, now: datetime) -> str:
    at = instant_of(score)
    return f"{wording.iso(at)}, {wording.distance(at, now)}" if at else "no time"


def _score(score: float) -> str:
    return str(int(score)) if abs(score) < 1e17 and score == int(score) else repr(score)


def _folded(head: str, data: bytes) -> Iterator[str]:
    """Write a whole text. On a terminal it is folded at the width, and cut after some lines."""
    text, width = wording.printable(_text(data)), terminal.table_width(sys.stdout)
    if width is None:
        yield head + text
        return
    room, line, lines = max(20, width - len(head)), "", 0
    for char in text:
        if cells(line + char) > room:
            yield (" " * len(head) if lines else head) + line
            line, lines = "", lines + 1
            if lines == MOST_LINES:
                yield " " * len(head) + _dim(f"... {len(data):,} bytes in all; --json shows them")
                return
        line += char
    yield (" " * len(head) if lines else head) + line


def _pair_record(pair: Pair) -> dict[str, Any]:
    record: dict[str, Any] = {}
    for name, data in (("id", pair.id or None), ("payload", pair.payload), ("item", pair.item)):
        record |= json_bytes(name, data)
    at = instant_of(pair.score) if pair.item is not None else None
    return record | {
        "sha1": pair.is_hashed if pair.payload is not None else None,
        "score": None if pair.item is None else _json_score(pair.score),
        "due": wording.iso(at) if at else None,
        "orphan": (pair.item is None and pair.is_loose) or (bool(pair.id) and pair.payload is None),
    }


def _json_score(score: float) -> float | str:
    """Return a score for JSON: a whole number if it is one, a text if JSON has no such number."""
    if not math.isfinite(score):
        return str(score)
    return int(score) if score == int(score) else score


# Verify.


@dataclass(slots=True, kw_only=True)
class Judged:
    """Checks pairs while they are read, and counts them."""

    dialect: str
    now_ms: int
    jobs: int = 0
    items: int = 0
    other: int = 0  # jobs of the other dialect

    def faults(self, pairs: Iterable[Pair]) -> Iterator[tuple[Pair, Fault]]:
        """Check each pair."""
        from workkit.brokers.native.doctor.judge import judge

        for pair in pairs:
            self.jobs += pair.payload is not None and not pair.is_second
            self.items += pair.item is not None
            for fault in judge(pair, dialect=self.dialect, now_ms=self.now_ms):
                self.other += fault.kind == "other-dialect"
                yield pair, fault

    @property
    def scope(self) -> str:
        """The numbers of the checked records and their dialect, in words."""
        of = f"{wording.plural(self.jobs, 'job')} and {wording.plural(self.items, 'item')}"
        return f"{of}, read as {self.dialect}: {ORDERS[self.dialect]}"

    def show_hint(self, name: str, words: str) -> None:
        """Print how to read the jobs of the other dialect."""
        if self.other:
            other = "cuckoo" if self.dialect == "published" else "published"
            again = f"workkit wire verify {name}{words} --dialect {other}"
            say("  > ", "  > ", f"{again}   reads them in the other order")


def _verify(look: Published, pairs: Iterable[Pair], *, name: str, dialect: str, report: Report, as_json: bool) -> None:
    judged = Judged(dialect=dialect, now_ms=look.now_ms)
    faults = report.counted(judged.faults(pairs))
    if as_json:
        table.show_json(_fault_record(name, pair, fault) for pair, fault in faults)
        return
    report.show((_brief(pair), fault) for pair, fault in faults)
    report.summary(judged.scope)
    judged.show_hint(name, report.words)


def _fault_record(schedule: str, pair: Pair, fault: Fault) -> dict[str, Any]:
    return fault_record(schedule, fault, json_bytes("id", pair.id or None) | json_bytes("item", pair.item))


def _brief(pair: Pair) -> str:
    if not pair.id:
        return "-"
    said = wording.printable(_text(pair.id))
    return said[:8] if len(said) == 40 else shorten(said, 40)


def _text(data: bytes) -> str:
    return data.decode("utf-8", "backslashreplace")


def _dim(text: str) -> str:
    return terminal.paint(text, "dim", sys.stdout)


def _loud(text: str) -> str:
    return terminal.paint(text, "yellow", sys.stdout)
