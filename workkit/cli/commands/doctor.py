"""`doctor`: what is wrong with server, schedules and listeners; on request it repairs what is safe to repair."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from datetime import timedelta
from typing import TYPE_CHECKING, Any

import click

from workkit.brokers.layout import NATIVE, Keeps, chosen_layout, layout_of, layouts, own_options
from workkit.brokers.redis_server.address import masked
from workkit.cli import failure
from workkit.cli.command import Command, Option
from workkit.cli.commands.looking.history import forget_history, show_history
from workkit.cli.known import check_chosen, chosen
from workkit.cli.live import ScheduleName
from workkit.cli.options import (
    OPTIONAL,
    by_option,
    is_typed,
    json_option,
    server_options,
    server_words,
    verbose_option,
)
from workkit.cli.printing import record as records
from workkit.cli.printing import table, terminal
from workkit.cli.settings import READERS, Settings, read_settings
from workkit.cli.spelling import at_server
from workkit.text import wording

if TYPE_CHECKING:
    from workkit.contract.broker import Broker
    from workkit.contract.doctor import Finding
    from workkit.schedule import Schedule

FINDINGS = 1
ROUNDS = 3  # of repairs after the one that was asked for, at most
MOST_TOLD = 20  # kinds of faults in the record of a repair
SHOWN = 10  # of one kind; the rest is counted
DEFAULTS = {"threads": "10", "processes": "1", "deadline": "25s", "log": "console", "tz": "UTC", "dialect": "published"}


@dataclass(frozen=True, slots=True, kw_only=True)
class Patient:
    """One schedule under examination, and what was found there."""

    name: str
    broker: Broker
    findings: list[Finding]


def _patience() -> str:
    """Say for the help after how long what waits nowhere is a fault, in each layout."""
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
@click.option(
    "--older-than",
    cls=Option,
    metavar="DURATION",
    help="call a job that waits nowhere, or a unique key without a job, an orphan after so long, and a consumer idle "
    f"that holds messages; default {_patience()}",
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
    older_than: str | None,
    purge_history: bool,
    yes: bool,
    as_json: bool,
    by: str | None,
    server: str | None,
) -> int:
    """Find what is wrong, and repair it with --fix."""
    from workkit.triggers.duration import duration

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
        _show(patients, server_words(server) + _dialect_words())
        show_history(brokers)
    if purge_history:
        forget_history(brokers, yes=yes, by=by)
    repaired = _repaired(patients, yes=yes, by=by) if fix else {}
    if repaired and (count := sum([_repair_what_follows(patient, patience_ms) for patient in patients])):
        terminal.talk(f"also repaired {wording.plural(count, 'finding')} that these repairs brought to light.")
    if as_json:
        words = server_words(server) + _dialect_words()
        found = ((finding, patient.name) for patient in patients for finding in patient.findings)
        records.show_json(_record(finding, repaired, _at(finding.remedy, name, words)) for finding, name in found)
    return _status(brokers, patients, patience_ms, repaired)


def _brokers(made: Iterable[Schedule]) -> list[Broker]:
    from workkit.brokers.connect import open_broker

    brokers = [open_broker(s.name, redis=s.redis, own=s.own, dialect=s.dialect, layout=s.layout) for s in made]
    for broker in brokers:
        click.get_current_context().call_on_close(broker.close)
    return brokers


def _examined(brokers: Iterable[Broker], patience_ms: int) -> list[Patient]:
    """Check each schedule; a fault of the server is named once."""
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
    """Give the exit status: whether anything is wrong; after repairs, whether anything still is."""
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
    """Write each setting, and where it came from, one a line."""
    rows = [("server", masked(server), _server_origin(given))]
    for key, (attribute, _, _) in READERS.items():
        env = f"WORKKIT_{key.upper().replace('-', '_')}"
        stored = getattr(settings, attribute)
        if key == "schedules" and named:
            rows.append((key, ",".join(names), "command line"))
        elif key == "dialect" and is_typed(key):
            rows.append((key, os.environ[env], "--dialect"))
        elif os.environ.get(env) and (key != "dialect" or stored is None):  # a setting is handed on by the environment
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


def _dialect_words() -> str:
    return f" --dialect {os.environ['WORKKIT_DIALECT']}" if is_typed("dialect") else ""


def _server_origin(given: str | None) -> str:
    layout = chosen_layout()
    if given is not None or (layout.place and is_typed(layout.place.name)):
        return "command line"
    return next((name for name in layout.place_variables if os.environ.get(name)), "default")


# Findings.


def _show(patients: Sequence[Patient], words: str) -> None:
    of_server = [f for patient in patients for f in patient.findings if not f.schedule]
    if of_server:
        _section("server", of_server, words, name="")
    for patient in patients:
        own = [finding for finding in patient.findings if finding.schedule]
        _section(patient.name, own, words, name=patient.name)


def _section(title: str, findings: Sequence[Finding], words: str, *, name: str) -> None:
    terminal.data("")
    if not findings:
        terminal.data(f"{title}: {terminal.paint('all is well', 'green', sys.stdout)}")
        return
    terminal.say(f"{title}: {wording.plural(len(findings), 'finding')}")
    kinds: dict[str, list[Finding]] = {}
    for finding in findings:
        kinds.setdefault(finding.kind, []).append(finding)
    for kind, found in kinds.items():
        for finding in found[:SHOWN]:
            _say(f"  {terminal.paint(kind, 'yellow', sys.stdout)}  ", f"  {kind}  ", finding.what)
        if len(found) > SHOWN:
            _say("    ", "    ", f"and {len(found) - SHOWN:,} more. All: workkit doctor {name}{words} --json")
        for why in dict.fromkeys(finding.why for finding in found[:SHOWN]):
            _say("    ", "    ", why)
        for remedy in _remedies(found[:SHOWN], name, words):
            _say("    > ", "    > ", remedy)


def _remedies(found: Sequence[Finding], name: str, words: str) -> Iterable[str]:
    """Say each remedy once. Where those of several queues differ by the queue alone, one says what to do with each."""
    if Keeps.QUEUES not in chosen_layout().keeps:
        return dict.fromkeys(_at(finding.remedy, name, words) for finding in found)
    alike: dict[str, set[str]] = {}
    for finding in found:
        of_each = finding.remedy.replace(next(iter(finding.about), "QUEUE"), "QUEUE")
        alike.setdefault(of_each, set()).add(finding.remedy)
    return [_at(next(iter(said)) if len(said) == 1 else of_each, name, words) for of_each, said in alike.items()]


def _at(remedy: str, name: str, words: str) -> str:
    """Name the server and the dialect in a command as they were named in this one."""
    if " --dialect " in remedy:
        words = words.partition(" --dialect ")[0]
    return at_server(remedy, name, words)


def _say(painted: str, plain: str, text: str) -> None:
    """Print a line of a finding, further lines indented below its first."""
    terminal.say(painted + wording.printable(text), indent=len(plain))


def _repair_what_follows(patient: Patient, patience_ms: int) -> int:
    """Repair what repairs have brought to light: a mark without a job, once the bad record that named it is gone."""
    known, count = {(finding.kind, finding.about) for finding in patient.findings}, 0
    for _ in range(ROUNDS):
        found = [one for one in patient.broker.doctor.checkup(patience_ms=patience_ms) if one.repairs]
        new = [one for one in found if (one.kind, one.about) not in known]
        if not new:
            break
        known.update((one.kind, one.about) for one in new)
        count += sum(map(patient.broker.doctor.repair, new))
    return count


def _record(finding: Finding, repaired: dict[int, bool], remedy: str) -> dict[str, Any]:
    record = {**records.finding_record(finding), "remedy": remedy}
    if repaired:
        record["repaired"] = repaired.get(id(finding), False)
    return record


# Repairs.


def _repaired(patients: Sequence[Patient], *, yes: bool, by: str | None) -> dict[int, bool]:
    """Ask, then repair: for each finding that can be repaired, by its identity, whether it was."""
    from workkit.verbs.author import author_of

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
