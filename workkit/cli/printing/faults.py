"""Faults of stored bytes on a terminal: the worst first, so many of each kind, and a summary. For every layout."""

from __future__ import annotations

import sys
from base64 import b64encode
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, TypeVar

from workkit.cli.printing import terminal
from workkit.contract.doctor import Fault, Kind, Severity
from workkit.text import wording

FOUND = 1
SHOWN = 10  # of one kind; the rest is counted
COLOURS: Mapping[Severity, str | None] = {"deviation": "red", "orphan": "yellow", "hazard": None}
W = TypeVar("W")


def fault_record(schedule: str, fault: Fault, where: Mapping[str, Any]) -> dict[str, Any]:
    """Make the JSON of a fault; `where` names its place, in the words of its layout."""
    return {
        "schedule": schedule, "severity": fault.severity, "kind": fault.kind, **where,
        "what": fault.what, "why": fault.why, "repairs": fault.repairs,
    }  # fmt: skip


@dataclass(slots=True, kw_only=True)
class Report:
    """Counts the faults while they are read; the first `limit` of each kind are shown. `kinds`: all kinds, in the order
    in which they are shown. `words`: what another command needs to find the same schedule.
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
        """Print what was found, the worst first, each with the place where it is."""
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
        """Print how much is wrong in what was read, and what can be done about it."""
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
        """Give the exit status: 1 where something is wrong; hazards count if `strict`."""
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
