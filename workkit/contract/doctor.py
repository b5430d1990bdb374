"""The parts of a finding: findings, their kinds, and the commands that repair them."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any, Literal, get_args

from workkit.text.cells import shell_word

Severity = Literal["deviation", "orphan", "hazard"]
"""A deviation is wrong now. An orphan has lost its other half. A hazard is legal, but something may be lost by it."""

SEVERITIES: tuple[Severity, ...] = get_args(Severity)


@dataclass(frozen=True, slots=True, kw_only=True)
class CommandLine:
    """A command of workkit about a schedule, as a remedy names it. `which`: arguments after the name of the schedule;
    `options`: each with its value, None for a switch; `first`: arguments before the name.
    """

    verb: str
    schedule: str
    first: tuple[tuple[str, str | None], ...] = ()
    which: tuple[str, ...] = ()
    options: tuple[tuple[str, str | None], ...] = ()

    def typed(self, flags: Sequence[str] = ()) -> str:
        """Write it as a shell takes it: see `words`."""
        return " ".join(self.words(flags))

    def words(self, flags: Sequence[str] = ()) -> list[str]:
        """Write each word as a shell takes it. `flags`: options that find the same server, each with its value, quoted
        for a shell; a flag that is among `options` is left out.
        """
        own = {_flag(name) for name, _ in self.options}
        found = [word for flag in flags if flag.split()[0] not in own for word in flag.split(" ", 1)]
        options, names = found + _typed(self.options), [self.schedule, *self.which]
        named = list(map(shell_word, names))
        parts = [*options, "--", *named] if any(name.startswith("-") for name in names) else [*named, *options]
        return ["workkit", self.verb, *_typed(self.first), *parts]


def _typed(options: Sequence[tuple[str, str | None]]) -> list[str]:
    pairs = ((_flag(name), value) for name, value in options)
    return [word for name, value in pairs for word in ((name,) if value is None else (name, shell_word(value)))]


def _flag(name: str) -> str:
    return f"--{name}"


Advice = str | CommandLine
Flags = Callable[[str], Sequence[str]]
"""Tells what a command needs to find the same server and the same faults, by its verb: see `CommandLine.words`."""


def written(advice: Iterable[Advice], flags: Flags) -> str:
    """Write a remedy, with the flags of its commands."""
    return "".join(part if isinstance(part, str) else part.typed(flags(part.verb)) for part in advice)


def finding_flags(found: Sequence[str], older_than: str | None) -> Flags:
    """Make the flags of the commands in a remedy: those that are `found` name the server; the doctor also needs the
    patience that was chosen.
    """
    patience = (f"--older-than {shell_word(older_than)}",) if older_than else ()
    return lambda verb: (*found, *patience) if verb == "doctor" else found


@dataclass(frozen=True, slots=True, kw_only=True)
class Finding:
    """One fault: `what` is wrong, in a sentence; `why` it matters; `advice`: commands and words that repair it.

    `kind` is its stable name for programs. `repairs`: `Doctor.repair` can repair it, by `subject`. `about`: the ids,
    keys or bytes concerned, as text. `schedule`: where the fault is; empty for a fault of the server (`of_server`).
    `fn`: the function, if the fault is that no listener can run it. `count`: how many faults this finding sums up.
    """

    kind: str
    what: str
    why: str
    advice: tuple[Advice, ...]
    severity: Severity = "hazard"
    repairs: bool = False
    subject: Any = None
    about: tuple[str, ...] = ()
    schedule: str = ""
    fn: str | None = None
    of_server: bool = False
    count: int = 1

    @property
    def remedy(self) -> str:
        """The advice as a text."""
        return written(self.advice, lambda _: ())


@dataclass(frozen=True, slots=True)
class Kind:
    """A kind of findings. `means`: the fault in words; `why` it matters; `repair`: the repair that `doctor --fix`
    makes, empty if there is none. `of_server`: it concerns every schedule of the server. `of_wire`: only `wire verify`
    reports it. `is_momentary`: it may occur between two steps of a program that starts or stops.
    """

    name: str
    severity: Severity
    means: str
    why: str
    repair: str = ""
    of_server: bool = False
    of_wire: bool = False
    is_momentary: bool = False

    def found(
        self,
        what: str,
        *advice: Advice,
        why: str = "",
        subject: Any = None,
        about: tuple[str, ...] = (),
        fn: str | None = None,
    ) -> Finding:
        """Make a finding of this kind. With a `subject`, the doctor repairs it; without `advice`, that repair is the
        remedy. `why`: only if it differs from the reason of the kind.
        """
        return Finding(
            kind=self.name, what=what, why=why or self.why, advice=advice, severity=self.severity,
            repairs=subject is not None, subject=subject, about=about, fn=fn, of_server=self.of_server,
        )  # fmt: skip


@dataclass(frozen=True, slots=True)
class Fault:
    """One fault of stored bytes, as `wire verify` reports it. `what`: a sentence about these bytes. `repairs`: the
    doctor repairs it. `stops`: no listener runs the job correctly.
    """

    of: Kind
    what: str
    repairs: bool = False
    stops: bool = False

    @property
    def kind(self) -> str:
        """Its stable name for programs."""
        return self.of.name

    @property
    def severity(self) -> Severity:
        """How bad it is."""
        return self.of.severity

    @property
    def why(self) -> str:
        """Why a fault of this kind matters."""
        return self.of.why
