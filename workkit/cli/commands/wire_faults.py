"""Faults of stored bytes on a terminal, for every layout: the worst first, a limited number of each kind, and a
summary. Also `wire` over a gocraft namespace: every key and job text as it is, or compared with the layout.
"""

from __future__ import annotations

import sys
from base64 import b64encode
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import islice
from typing import TYPE_CHECKING, Any, TypeVar

from workkit.brokers.connect import open_broker
from workkit.brokers.gocraft.broker import GocraftBroker
from workkit.brokers.gocraft.doctor import Flaw, Verification, id_of
from workkit.brokers.gocraft.doctor.judge import FAULTS
from workkit.brokers.gocraft.doctor.survey import TYPES, Place, raw
from workkit.cli import table, terminal
from workkit.contract.doctor import Fault, Kind, Severity
from workkit.text import wording
from workkit.text.cells import brief_bytes, bytes_text, shorten

if TYPE_CHECKING:
    from workkit.schedule import Schedule

FOUND = 1
SHOWN = 10  # faults of one kind; the others are counted
COLOURS: Mapping[Severity, str | None] = {"deviation": "red", "orphan": "yellow", "hazard": None}
W = TypeVar("W")


def fault_record(schedule: str, fault: Fault, where: Mapping[str, Any]) -> dict[str, Any]:
    """Make the JSON of a fault. `where` names its place in the terms of its layout."""
    return {
        "schedule": schedule, "severity": fault.severity, "kind": fault.kind, **where,
        "what": fault.what, "why": fault.why, "repairs": fault.repairs,
    }  # fmt: skip


@dataclass(slots=True, kw_only=True)
class Report:
    """Counts the faults while they are read, and keeps the first `limit` of each kind. `kinds`: all kinds, in the order
    of the output. `words`: the flags by which another command finds the same schedule.
    """

    name: str
    words: str
    limit: int
    kinds: Sequence[Kind]
    counts: Counter[str] = field(default_factory=Counter)
    severities: Counter[Severity] = field(default_factory=Counter)
    repairs: int = 0

    def counted(self, faults: Iterable[tuple[W, Fault]]) -> Iterator[tuple[W, Fault]]:
        """Count faults as they pass."""
        for where, fault in faults:
            self.counts[fault.kind] += 1
            self.severities[fault.severity] += 1
            self.repairs += fault.repairs
            yield where, fault

    def show(self, faults: Iterable[tuple[str, Fault]]) -> None:
        """Print the faults, the worst first, each with its place."""
        kept: dict[Kind, list[tuple[str, str]]] = {kind: [] for kind in self.kinds}
        for where, fault in faults:
            if len(kept[fault.of]) < self.limit:
                kept[fault.of].append((where, fault.what))
        for kind, lines in kept.items():
            if lines:
                self._kind(kind, lines)

    def _kind(self, kind: Kind, lines: list[tuple[str, str]]) -> None:
        severity = kind.severity
        for where, what in lines:
            say(f"{terminal.paint(severity, COLOURS[severity], sys.stdout)}  {where}  ", f"{severity}  {where}  ", what)
        if more := self.counts[kind.name] - len(lines):
            all_of_them = f"workkit wire verify {self.name}{self.words} --json"
            say("  ", "  ", f"and {more:,} more of the kind {kind.name}. All: {all_of_them}")
        say("  ", "  ", kind.why, dim=True)
        terminal.data("")

    def summary(self, scope: str) -> None:
        """Print the number of faults in the checked records, and the remedy."""
        if not self.counts:
            well = terminal.paint("all is well", "green", sys.stdout)
            terminal.say(f"{self.name}: {well}. {scope}.")
            return
        said = [wording.plural(count, one) for one in COLOURS if (count := self.severities[one])]
        say("", "", f"{self.name}: {wording.listed(said)} in {scope}.")
        if self.repairs:
            of_them = "it" if self.repairs == 1 == self.counts.total() else f"{self.repairs:,} of them"
            say("  > ", "  > ", f"workkit doctor {self.name}{self.words} --fix   repairs {of_them}")

    def status(self, *, strict: bool) -> int:
        """Return the exit status: 1 if there is a fault; hazards count if `strict`."""
        wrong = self.severities["deviation"] + self.severities["orphan"] + strict * self.severities["hazard"]
        return FOUND if wrong else 0


def json_bytes(name: str, data: bytes | None) -> dict[str, str | None]:
    """Write bytes for JSON: as text, or under a second name as base64."""
    try:
        return {name: None if data is None else data.decode()}
    except UnicodeDecodeError:
        return {name: None, f"{name}_base64": b64encode(data or b"").decode("ascii")}


def say(painted: str, plain: str, text: str, *, dim: bool = False) -> None:
    """Print a line, further lines indented below its first."""
    text = wording.printable(text)
    terminal.say(painted + (terminal.paint(text, "dim", sys.stdout) if dim else text), indent=len(plain))


def wire_namespace(
    s: Schedule, action: str, *, where: str | None, limit: int | None, strict: bool, as_json: bool, words: str
) -> int:
    """Dump or verify a namespace."""
    broker = open_broker(s.name, redis=s.redis, layout=s.layout)
    assert isinstance(broker, GocraftBroker)
    walk = broker.doctor.verification()
    wanted = (where or "").encode("utf-8", "surrogateescape")
    if action == "dump":
        return _dump(islice(_matching(walk, wanted), limit), walk, name=s.name, as_json=as_json)
    report = Report(name=s.name, words=words, limit=limit or SHOWN, kinds=FAULTS)
    flaws = ((flaw, flaw.fault) for flaw in walk.flaws() if wanted in flaw.key or wanted in (flaw.text or b""))
    faults = report.counted(flaws)
    if as_json:
        table.show_json(_fault_record(s.name, flaw, fault) for flaw, fault in faults)
    else:
        report.show((_brief(flaw), fault) for flaw, fault in faults)
        report.summary(f"{wording.plural(walk.keys, 'key')} and {wording.plural(walk.texts, 'job text')}")
    return report.status(strict=strict)


Held = tuple[Place, tuple[bytes, ...]]


def _matching(walk: Verification, wanted: bytes) -> Iterator[Held]:
    for place, rows in walk.contents():
        for row in rows:
            if wanted in raw(place.key) or any(wanted in part for part in row):
                yield place, row


def _dump(held: Iterator[Held], walk: Verification, *, name: str, as_json: bool) -> int:
    if as_json:
        table.show_json(_held_record(place, row) for place, row in held)
        return 0
    count, before = 0, ""
    for place, row in held:
        count += 1
        if place.key != before:
            terminal.data(f"{wording.printable(bytes_text(raw(place.key)))}  {TYPES[place.kind]}")
        before = place.key
        terminal.say("  " + "  ".join(wording.printable(part.decode("utf-8", "backslashreplace")) for part in row))
    keys = sum(map(len, walk.survey.found.values()))
    terminal.talk(f"{count:,} shown; {name} has {wording.plural(keys, 'key')}.")
    return 0


def _held_record(place: Place, row: tuple[bytes, ...]) -> dict[str, Any]:
    kind = TYPES[place.kind]
    names = {"zset": ("text", "score"), "hash": ("field", "value"), "set": ("member",), "string": ("value",)}
    record: dict[str, Any] = {**json_bytes("key", raw(place.key)), "type": kind}
    for name, part in zip(names.get(kind, ("text",)), row, strict=True):
        record |= json_bytes(name, part)
    return record


def _fault_record(schedule: str, flaw: Flaw, fault: Fault) -> dict[str, Any]:
    return fault_record(schedule, fault, json_bytes("key", flaw.key) | json_bytes("text", flaw.text))


def _brief(flaw: Flaw) -> str:
    key = wording.printable(brief_bytes(flaw.key))
    if flaw.text is None:
        return key
    id = id_of(flaw.text)
    return f"{key}  {wording.printable(shorten(id, 40) if id else brief_bytes(flaw.text))}"
