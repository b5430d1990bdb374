"""`wire`: what stands in a schedule's published keys, dumped as it is, or judged against the published layout."""

from __future__ import annotations

import math
import sys
from base64 import b64encode
from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from datetime import UTC, datetime
from itertools import islice
from typing import TYPE_CHECKING, Any

import click

from workkit.cli.command import Command, Option
from workkit.cli.live import ScheduleName
from workkit.cli.options import Count, json_option, server_options, server_words, verbose_option
from workkit.cli.printing import record as records
from workkit.cli.printing import terminal, wording
from workkit.cli.printing.cells import folded
from workkit.errors import Unsupported

if TYPE_CHECKING:
    from workkit.brokers.native.care.fault import Fault
    from workkit.brokers.native.look.pair import Pair
    from workkit.brokers.native.look.published import Published
    from workkit.contract.fault import Severity

FOUND = 1
SHOWN = 10  # of one kind; the rest is counted
MOST_LINES = 8  # of one text on a terminal
ORDERS = {"published": "year first", "cuckoo": "second first"}
COLOURS = {"deviation": "red", "orphan": "yellow", "hazard": None}


@click.command(
    "wire",
    cls=Command,
    takes="dump|verify SCHEDULE [OPTIONS]",
    about=(
        "dump prints what stands in SCHEDULE:jobs and SCHEDULE:next, byte for byte, soonest first: every item with its "
        "job, then the jobs without an item.",
        "verify names each deviation from the published layout, each orphan (a job or an item whose other half is "
        "missing), and each hazard: legal, but a Clojure peer would lose it or run it otherwise. It changes nothing.",
        "Exit status of verify: 0 all well, 1 deviations or orphans, with --strict hazards too. --dialect says how "
        "cron fields are to be read.",
    ),
    examples=("workkit wire dump app-tasks", "workkit wire verify app-tasks --dialect cuckoo"),
    after="In JSON, bytes that are no UTF-8 stand as base64, under a name that ends in _base64.",
)
@click.argument("action", type=click.Choice(["dump", "verify"]), metavar="dump|verify")
@click.argument("schedule", type=ScheduleName())
@click.option("--where", cls=Option, metavar="TEXT", help="only jobs with this text in id, payload or item")
@click.option(
    "--limit",
    cls=Option,
    type=Count(),
    metavar="N",
    help=f"dump: so many; default all. verify: so many of one kind; default {SHOWN}",
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
    from workkit import schedule as verbs
    from workkit.brokers.connect import open_broker
    from workkit.brokers.native.look.published import published

    s = verbs.create(schedule, redis=server)
    if s.layout != "native":
        trouble = f"is something the {s.layout} layout cannot do yet"
        raise Unsupported.about("workkit wire", trouble, "It reads native schedules.", where="layout", given=s.layout)
    look = published(open_broker(s.name, redis=s.redis, dialect=s.dialect))
    pairs = _with_text(look.pairs(soonest_first=action == "dump"), where)
    if action == "dump":
        return _dump(look, islice(pairs, limit), name=s.name, as_json=as_json)
    report = Report(name=s.name, dialect=s.dialect, words=server_words(server), limit=limit or SHOWN)
    faults = report.judged(pairs, now_ms=look.now_ms)
    if as_json:
        records.show_json(_fault_record(s.name, pair, fault) for pair, fault in faults)
    else:
        report.show(faults)
    return report.status(strict=strict)


def _with_text(pairs: Iterable[Pair], where: str | None) -> Iterator[Pair]:
    wanted = (where or "").encode("utf-8", "surrogateescape")
    return (pair for pair in pairs if any(wanted in part for part in (pair.id, pair.payload or b"", pair.item or b"")))


# Dump.


def _dump(look: Published, pairs: Iterable[Pair], *, name: str, as_json: bool) -> int:
    if as_json:
        records.show_json(map(_pair_record, pairs))
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
    if width is None or wording.cells(first) + 2 + wording.cells(second) <= width:
        yield f"{first}  {terminal.paint(second, colour, sys.stdout)}"
        return
    yield first
    for line in folded(" " * 9 + second, width):
        yield terminal.paint(line, colour, sys.stdout)


def _when(score: float, now: datetime) -> str:
    at = _instant(score)
    return f"{wording.iso(at)}, {wording.distance(at, now)}" if at else "no time"


def _instant(score: float) -> datetime | None:
    try:
        return datetime.fromtimestamp(score / 1000, UTC)
    except (OverflowError, ValueError, OSError):
        return None


def _score(score: float) -> str:
    return str(int(score)) if abs(score) < 1e17 and score == int(score) else repr(score)


def _folded(head: str, data: bytes) -> Iterator[str]:
    """Write a text with nothing left out; on a terminal folded at its width, and cut after some lines."""
    text, width = wording.printable(_text(data)), terminal.table_width(sys.stdout)
    if width is None:
        yield head + text
        return
    room, line, lines = max(20, width - len(head)), "", 0
    for char in text:
        if wording.cells(line + char) > room:
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
        record |= _json_bytes(name, data)
    at = _instant(pair.score) if pair.item is not None else None
    return record | {
        "sha1": pair.is_hashed if pair.payload is not None else None,
        "score": None if pair.item is None else _json_score(pair.score),
        "due": wording.iso(at) if at else None,
        "orphan": (pair.item is None and pair.is_loose) or (bool(pair.id) and pair.payload is None),
    }


def _json_score(score: float) -> float | str:
    """Write a score for JSON: a whole number where it is one, a text where JSON has no such number."""
    if not math.isfinite(score):
        return str(score)
    return int(score) if score == int(score) else score


def _json_bytes(name: str, data: bytes | None) -> dict[str, str | None]:
    try:
        return {name: None if data is None else data.decode()}
    except UnicodeDecodeError:
        return {name: None, f"{name}_base64": b64encode(data or b"").decode("ascii")}


# Verify.


@dataclass(slots=True, kw_only=True)
class Report:
    """Counts the faults while they are read; the first `limit` of each kind are shown."""

    name: str
    dialect: str
    words: str
    limit: int
    jobs: int = 0
    items: int = 0
    counts: Counter[str] = field(default_factory=Counter)
    severities: Counter[Severity] = field(default_factory=Counter)
    repairs: int = 0

    def judged(self, pairs: Iterable[Pair], *, now_ms: int) -> Iterator[tuple[Pair, Fault]]:
        """Judge each pair, and count."""
        from workkit.brokers.native.care.judge import judge

        for pair in pairs:
            self.jobs += pair.payload is not None and not pair.is_second
            self.items += pair.item is not None
            for fault in judge(pair, dialect=self.dialect, now_ms=now_ms):
                self.counts[fault.kind] += 1
                self.severities[fault.severity] += 1
                self.repairs += fault.repairs
                yield pair, fault

    def show(self, faults: Iterable[tuple[Pair, Fault]]) -> None:
        """Print what was found, the worst first, and what can be done about it."""
        from workkit.brokers.native.care.fault import RULES

        kept: dict[str, list[tuple[str, str]]] = {kind: [] for kind in RULES}
        for pair, fault in faults:
            if len(kept[fault.kind]) < self.limit:
                kept[fault.kind].append((_brief(pair), fault.what))
        for kind, lines in kept.items():
            if lines:
                self._kind(kind, lines)
        self._summary()

    def _kind(self, kind: str, lines: list[tuple[str, str]]) -> None:
        from workkit.brokers.native.care.fault import RULES

        severity, why = RULES[kind]
        for id, what in lines:
            _say(f"{terminal.paint(severity, COLOURS[severity], sys.stdout)}  {id}  ", f"{severity}  {id}  ", what)
        if more := self.counts[kind] - len(lines):
            all_of_them = f"workkit wire verify {self.name}{self.words} --json"
            _say("  ", "  ", f"and {more:,} more of the kind {kind}. All: {all_of_them}")
        _say("  ", "  ", why, dim=True)
        terminal.data("")

    def _summary(self) -> None:
        of = f"{wording.plural(self.jobs, 'job')} and {wording.plural(self.items, 'item')}"
        read = f"read as {self.dialect}: {ORDERS[self.dialect]}"
        if not self.counts:
            well = terminal.paint("all is well", "green", sys.stdout)
            terminal.say(f"{self.name}: {well}. {of}, {read}.")
            return
        said = [wording.plural(count, one) for one in COLOURS if (count := self.severities[one])]  # type: ignore[index]
        _say("", "", f"{self.name}: {wording.listed(said)} in {of}, {read}.")
        if self.repairs:
            of_them = "it" if self.repairs == 1 == self.counts.total() else f"{self.repairs:,} of them"
            _say("  > ", "  > ", f"workkit doctor {self.name}{self.words} --fix   repairs {of_them}")
        if self.counts["other-dialect"]:
            other = "cuckoo" if self.dialect == "published" else "published"
            again = f"workkit wire verify {self.name}{self.words} --dialect {other}"
            _say("  > ", "  > ", f"{again}   reads them in the other order")

    def status(self, *, strict: bool) -> int:
        """Give the exit status: 1 where something is wrong; hazards count if `strict`."""
        wrong = self.severities["deviation"] + self.severities["orphan"] + strict * self.severities["hazard"]
        return FOUND if wrong else 0


def _fault_record(schedule: str, pair: Pair, fault: Fault) -> dict[str, Any]:
    return {
        "schedule": schedule,
        "severity": fault.severity,
        "kind": fault.kind,
        **_json_bytes("id", pair.id or None),
        **_json_bytes("item", pair.item),
        "what": fault.what,
        "why": fault.why,
        "repairs": fault.repairs,
    }


def _brief(pair: Pair) -> str:
    if not pair.id:
        return "-"
    said = wording.printable(_text(pair.id))
    return said[:8] if len(said) == 40 else wording.shorten(said, 40)


def _text(data: bytes) -> str:
    return data.decode("utf-8", "backslashreplace")


def _say(painted: str, plain: str, text: str, *, dim: bool = False) -> None:
    """Print a line, further lines indented below its first."""
    text = wording.printable(text)
    terminal.say(painted + (_dim(text) if dim else text), indent=len(plain))


def _dim(text: str) -> str:
    return terminal.paint(text, "dim", sys.stdout)


def _loud(text: str) -> str:
    return terminal.paint(text, "yellow", sys.stdout)
