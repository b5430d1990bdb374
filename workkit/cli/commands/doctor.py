"""`doctor`: find faults of the server, schedules and listeners; on request, repair those that are safe to repair."""

from __future__ import annotations

import os
import sys
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from datetime import timedelta
from typing import TYPE_CHECKING, Any

import click

from workkit.brokers.layout import NATIVE, Keeps, chosen_layout, layout_of, layouts, own_options
from workkit.brokers.redis_server.address import masked
from workkit.cli import failure, table, terminal
from workkit.cli.command import Command, Option
from workkit.cli.commands.history import forget_history, show_history
from workkit.cli.known import check_chosen, chosen
from workkit.cli.live import ScheduleName
from workkit.cli.options import (
    OPTIONAL,
    by_option,
    is_typed,
    json_option,
    schedule_flags,
    server_options,
    verbose_option,
)
from workkit.cli.settings import READERS, Settings, read_settings
from workkit.contract import record as records
from workkit.contract.doctor import Advice, CommandLine, Flags, finding_flags, written
from workkit.text import wording
from workkit.text.cells import cells, folded, shell_word

if TYPE_CHECKING:
    from workkit.contract.broker import Broker
    from workkit.contract.doctor import Finding
    from workkit.schedule import Schedule

FINDINGS = 1
ROUNDS = 3  # the most rounds of repairs after the requested one
MOST_TOLD = 20  # the most kinds of faults in the record of a repair
SHOWN = 10  # findings of one kind; the others are counted
BETWEEN, WITHIN = "\u2007", "\u2008"  # blanks between and within words of a command; `shell_word` leaves neither
DEFAULTS = {
    "threads": "10",
    "coroutines": "100",
    "processes": "1",
    "deadline": "25s",
    "log": "console",
    "tz": "UTC",
    "dialect": "published",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Patient:
    """One schedule under examination, with its findings."""

    name: str
    broker: Broker
    findings: list[Finding]


def _patience() -> str:
    """Say for the help after how long an orphan is a fault, in each layout."""
    usual = layout_of(NATIVE).patience
    others = [
        f"{one.patience} on {one.server}" if one.place else f"{one.patience} with --layout {one.name}"
        for one in layouts()
        if one.patience != usual
    ]
    return ", ".join(dict.fromkeys((usual, *others)))


@click.command(
    "doctor",
    cls=Command,
    takes="[SCHEDULE]... [OPTIONS]",
    about=(
        "Check the server (version, persistence, eviction, clock, free memory), the schedules (orphans, unreadable "
        "records, jobs that nobody runs, overdue work) and the listeners (stale, stuck, mixed versions). Each finding: "
        "what, why it matters, the command that repairs it. Then the memory that past runs take.",
        "With --layout hutch or event, check the bindings, arguments, dead queue and consumers of an exchange, by "
        "RabbitMQ's management API and by AMQP.",
        "--fix repairs what is safe, after showing it and asking. It also repairs what these repairs bring to light. "
        "Exit status 0 all well, 1 findings.",
    ),
    examples=("workkit doctor app-tasks", "workkit doctor app-tasks --fix"),
    after=OPTIONAL,
)
@click.argument("schedules", type=ScheduleName(), nargs=-1, metavar="[SCHEDULE]...")
@click.option("--fix", cls=Option, is_flag=True, help="repair what is safe, after showing it and asking")
@click.option("--all", "everything", cls=Option, is_flag=True, help=f"show all of each kind; else {SHOWN}")
@click.option(
    "--older-than",
    cls=Option,
    metavar="DURATION",
    help="time after which a job that waits nowhere, or a unique key without a job, is an orphan, and a consumer that "
    f"holds messages is idle; default {_patience()}",
)
@click.option("--purge-history", cls=Option, is_flag=True, help="remove all that is kept of past runs, after asking")
@click.option("--yes", cls=Option, is_flag=True, help="repair, or remove, without asking")
@json_option()
@by_option
@verbose_option
@server_options
def doctor_command(
    schedules: tuple[str, ...],
    fix: bool,
    everything: bool,
    older_than: str | None,
    purge_history: bool,
    yes: bool,
    as_json: bool,
    by: str | None,
    server: str | None,
) -> int:
    """Find what is wrong, and repair it with --fix."""
    from workkit.triggers.english.numbers import duration

    older_than = older_than or chosen_layout().patience
    patience_ms = round(duration(older_than, name="older_than") / timedelta(milliseconds=1))
    settings = read_settings()
    if (fix or purge_history) and not yes and not terminal.is_terminal(sys.stdin):
        what = ("--fix", "repairs") if fix else ("--purge-history", "removes anything")
        terminal.talk(
            f"{terminal.paint('error:', 'red', sys.stderr)} {what[0]} asks before it {what[1]}, and nobody is there to "
            f"answer. Add --yes; without {what[0]} it only looks."
        )
        return failure.REFUSED
    made = chosen(schedules, command="doctor", server=server)
    names = [s.name for s in made]
    brokers = _brokers(made)
    if not as_json:
        for line in _settings(settings, server=brokers[0].url, given=server, names=names, named=bool(schedules)):
            terminal.say(line, indent=4)
    check_chosen(made, is_typed=bool(schedules), server=server, first=True)
    patients = _examined(brokers, patience_ms)
    if not as_json:
        _show(patients, _flags(server), most=None if everything else SHOWN)
        show_history(brokers)
    if purge_history:
        forget_history(brokers, yes=yes, by=by)
    repaired = _repaired(patients, yes=yes, by=by) if fix else {}
    if repaired and (count := sum([_repair_what_follows(patient, patience_ms) for patient in patients])):
        terminal.talk(f"also repaired {wording.plural(count, 'finding')} that these repairs brought to light.")
    if as_json:
        flags, found = schedule_flags(server), (finding for patient in patients for finding in patient.findings)
        table.show_json(_record(finding, repaired, written(finding.advice, lambda _: flags)) for finding in found)
    return _status(brokers, patients, patience_ms, repaired)


def _brokers(made: Iterable[Schedule]) -> list[Broker]:
    from workkit.brokers.connect import open_broker

    brokers = [open_broker(s.name, redis=s.redis, own=s.own, dialect=s.dialect, layout=s.layout) for s in made]
    for broker in brokers:
        click.get_current_context().call_on_close(broker.close)
    return brokers


def _examined(brokers: Iterable[Broker], patience_ms: int) -> list[Patient]:
    """Check each schedule. A fault of the server is reported once."""
    patients: list[Patient] = []
    of_server: set[tuple[str, tuple[str, ...]]] = set()
    for broker in brokers:
        findings = []
        for finding in broker.doctor.checkup(patience_ms=patience_ms):
            if not finding.schedule:
                if (finding.kind, finding.about) in of_server:
                    continue
                of_server.add((finding.kind, finding.about))
            findings.append(finding)
        patients.append(Patient(name=broker.schedule, broker=broker, findings=findings))
    return patients


def _status(brokers: Iterable[Broker], patients: Sequence[Patient], patience_ms: int, repaired: dict[int, bool]) -> int:
    """Return the exit status: whether there is a fault; after repairs, whether one remains."""
    if not any(repaired.values()):
        return FINDINGS if any(patient.findings for patient in patients) else 0
    left = sum(len(patient.findings) for patient in _examined(brokers, patience_ms))
    done = sum(repaired.values())
    said = f"{wording.plural(left, 'finding')} left" if left else "all is well now"
    terminal.talk(f"repaired {done:,} of {len(repaired):,}; {said}.")
    return FINDINGS if left else 0


# Settings.


def _settings(
    settings: Settings, *, server: str, given: str | None, names: Sequence[str], named: bool
) -> Iterator[str]:
    """Write each setting with its origin, one a line."""
    rows = [("server", masked(server), _server_origin(given))]
    for key, (attribute, _, _) in READERS.items():
        env = f"WORKKIT_{key.upper().replace('-', '_')}"
        stored = getattr(settings, attribute)
        if key == "schedules" and named:
            rows.append((key, ",".join(names), "command line"))
        elif key == "dialect" and is_typed(key):
            rows.append((key, os.environ[env], "--dialect"))
        elif os.environ.get(env) and (key != "dialect" or stored is None):  # the environment passes a setting on
            rows.append((key, os.environ[env], env))
        elif stored not in (None, ()):
            value = ",".join(stored) if isinstance(stored, tuple) else str(stored)
            rows.append((key, value, str(settings.file)))
        else:
            rows.append((key, DEFAULTS.get(key, "-"), "default"))
    own = {option.name: option.variable for option in own_options().values() if not option.is_place}
    for key, env in {"layout": "WORKKIT_LAYOUT", **own}.items():
        if chosen := os.environ.get(env):
            rows.append((key, masked(chosen), f"--{key}" if is_typed(key) else env))
    yield from table.aligned(rows, most=50)


def _server_origin(given: str | None) -> str:
    layout = chosen_layout()
    if given is not None or (layout.place and is_typed(layout.place.name)):
        return "command line"
    return next((name for name in layout.place_variables if os.environ.get(name)), "default")


# Findings.


def _flags(server: str | None) -> Flags:
    """Name the flags of this command that a command in a remedy needs to find the same faults."""
    found, older_than = schedule_flags(server), click.get_current_context().params["older_than"]
    return finding_flags(found, older_than)


def _show(patients: Sequence[Patient], flags: Flags, *, most: int | None) -> None:
    """Print the findings, at most `most` of each kind."""
    of_server = [f for patient in patients for f in patient.findings if not f.schedule]
    if of_server:
        _section("server", of_server, flags, name=patients[0].name, most=most)
    for patient in patients:
        own = [finding for finding in patient.findings if finding.schedule]
        _section(patient.name, own, flags, name=patient.name, most=most)


def _section(title: str, findings: Sequence[Finding], flags: Flags, *, name: str, most: int | None) -> None:
    """Print the findings about one schedule, or about the server. A remedy of several kinds comes once, after all of
    them.
    """
    terminal.data("")
    if not findings:
        terminal.data(f"{title}: {terminal.paint('all is well', 'green', sys.stdout)}")
        return
    terminal.say(f"{title}: {wording.plural(sum(finding.count for finding in findings), 'finding')}")
    kinds: dict[str, list[Finding]] = {}
    of_remedies: dict[tuple[Advice, ...], Counter[str]] = {}
    for finding in findings:
        kinds.setdefault(finding.kind, []).append(finding)
        of_remedies.setdefault(finding.advice, Counter())[finding.kind] += finding.count
    shared = {advice: counts for advice, counts in of_remedies.items() if len(counts) > 1}
    for kind, found in kinds.items():
        for finding in found[:most]:
            _say(f"  {terminal.paint(kind, 'yellow', sys.stdout)}  ", f"  {kind}  ", finding.what)
        if more := sum(finding.count for finding in found) - sum(finding.count for finding in found[:most]):
            again = CommandLine(verb="doctor", schedule=name, options=(("all", None),))
            _advise("    ", (f"and {more:,} more of this kind; ", again, " shows them"), flags)
        for why in dict.fromkeys(finding.why for finding in found[:most]):
            _say("    ", "    ", why)
        for advice in _remedies(found[:most]):
            if advice not in shared:
                _advise("    > ", advice, flags)
    for advice, counts in shared.items():
        _say("  ", "  ", f"One remedy for {counts.total():,} findings ({', '.join(counts)}):")
        _advise("    > ", advice, flags)


def _remedies(found: Sequence[Finding]) -> Iterable[tuple[Advice, ...]]:
    """Return each remedy once. If those of several queues differ only in the queue, one sentence covers them all."""
    if Keeps.QUEUES not in chosen_layout().keeps:
        return dict.fromkeys(finding.advice for finding in found)
    alike: dict[tuple[Advice, ...], set[tuple[Advice, ...]]] = {}
    for finding in found:
        queue = next(iter(finding.about), "QUEUE")
        of_each = tuple(
            part.replace(shell_word(queue), "QUEUE").replace(queue, "QUEUE") if isinstance(part, str) else part
            for part in finding.advice
        )
        alike.setdefault(of_each, set()).add(finding.advice)
    return [next(iter(given)) if len(given) == 1 else of_each for of_each, given in alike.items()]


def _say(painted: str, plain: str, text: str) -> None:
    """Print a line of a finding, further lines indented below its first."""
    terminal.say(painted + wording.printable(text), indent=len(plain))


def _advise(start: str, advice: Iterable[Advice], flags: Flags) -> None:
    """Print a remedy. A command is broken only if no line can hold it, and only where a shell joins it again."""
    width, indent = terminal.table_width(sys.stdout), len(start)
    parts = [
        wording.printable(part)
        if isinstance(part, str)
        else BETWEEN.join(word.replace(" ", WITHIN) for word in part.words(flags(part.verb)))
        for part in advice
    ]
    if width is None or all(indent + cells(part) < width for part in parts if BETWEEN in part):
        lines = [terminal.fitting(start + "".join(parts), sys.stdout, indent=indent)]
    else:
        lines = []
        for number, part in enumerate(parts):
            lead = start if number == 0 else " " * indent
            if BETWEEN in part:
                *more, last = folded(lead + part.replace(BETWEEN, " "), width - 2, indent=indent + 2)
                lines += [*(f"{line} \\" for line in more), last]
            else:
                lines += folded(lead + part.strip(), width, indent=indent)
    for line in lines:
        terminal.data(line.replace(BETWEEN, " ").replace(WITHIN, " "))


def _repair_what_follows(patient: Patient, patience_ms: int) -> int:
    """Repair the faults that repairs have revealed: a mark without a job, once the bad record that named it is gone."""
    known, count = {(finding.kind, finding.about, finding.what) for finding in patient.findings}, 0
    for _ in range(ROUNDS):
        found = [one for one in patient.broker.doctor.checkup(patience_ms=patience_ms) if one.repairs]
        new = [one for one in found if (one.kind, one.about, one.what) not in known]
        if not new:
            break
        known.update((one.kind, one.about, one.what) for one in new)
        count += sum(map(patient.broker.doctor.repair, new))
    return count


def _record(finding: Finding, repaired: dict[int, bool], remedy: str) -> dict[str, Any]:
    record = {**records.finding_record(finding), "remedy": remedy}
    if repaired:
        record["repaired"] = repaired.get(id(finding), False)
    return record


# Repairs.


def _repaired(patients: Sequence[Patient], *, yes: bool, by: str | None) -> dict[int, bool]:
    """Ask, then repair. Return whether each finding that can be repaired was, by its identity."""
    from workkit.verbs.opening import author_of

    chosen = [(patient, finding) for patient in patients for finding in patient.findings if finding.repairs]
    if not chosen:
        terminal.talk("nothing here that --fix could repair.")
        return {}
    if not yes and not click.confirm(f"Repair {wording.plural(len(chosen), 'finding')}?", err=True):
        terminal.talk("nothing was changed.")
        return {}
    author = author_of(by)
    for patient in patients:
        if kinds := sorted(finding.kind for finding in patient.findings if finding.repairs):
            faults = list(dict.fromkeys(kinds))[:MOST_TOLD]
            patient.broker.admin.by(author).note("repair", {"faults": faults}, times=len(kinds))
    return {id(finding): patient.broker.doctor.repair(finding) for patient, finding in chosen}
