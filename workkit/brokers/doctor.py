"""Helpers that the doctors of all layouts share: they count and limit findings, and collect each kind of
finding once.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import replace
from types import ModuleType

from workkit.contract.doctor import CommandLine, Finding, Kind
from workkit.text.wording import plural

MOST = 1000  # findings of one kind in one checkup
FIX = ("fix", None)
WAIT = ("waits", "wait")

UNCHECKED = Kind(
    "unchecked", "hazard", "Something could not be looked at.", "The doctor cannot see any fault there."
)  # fmt: skip
DEAD = Kind(
    "dead", "hazard", "Jobs have failed for good, and nobody has acknowledged them.",
    "They run again only if somebody retries them.",
)  # fmt: skip


def tally(count: int, noun: str, one: str = "", many: str = "") -> str:
    """Count things as a subject with its verb: ``1 job waits``, ``1,204 jobs wait``."""
    return f"{plural(count, noun)} {one if count == 1 else many}".rstrip()


def kinds_of(*modules: ModuleType) -> tuple[Kind, ...]:
    """Collect the kinds of findings of some modules, each once."""
    found = [kind for module in modules for kind in vars(module).values() if isinstance(kind, Kind)]
    return tuple({id(kind): kind for kind in found}.values())


def limited(findings: Iterable[Finding], *, schedule: str) -> Iterator[Finding]:
    """Pass on at most 1,000 findings of one kind, then one that counts the rest. All findings get the schedule's name,
    except those of the server. A finding that the doctor repairs gets that repair as its remedy.
    """
    counts: dict[str, int] = {}
    fix = (CommandLine(verb="doctor", schedule=schedule, options=(FIX,)),)
    for finding in findings:
        counts[finding.kind] = count = counts.get(finding.kind, 0) + 1
        if count <= MOST:
            where = "" if finding.of_server else schedule
            yield replace(finding, schedule=where, advice=finding.advice or fix)
    for kind, count in counts.items():
        if count > MOST:
            yield Finding(
                kind=kind,
                what=f"and {count - MOST:,} more like the {MOST:,} of the kind {kind}",
                why=f"One checkup lists at most {MOST:,} of one kind.",
                advice=("repair these first, then check again",),
                schedule=schedule,
                count=count - MOST,
            )


def dead(count: int, *, schedule: str, kept: str, since: str = "") -> Iterator[Finding]:
    """Report the jobs of the dead set, if there are any. `kept`: how long they stay, as a sentence. `since`: when they
    failed, as the end of a sentence.
    """
    if count:
        what = f"{plural(count, 'job')} failed for good{since}"
        yield DEAD.found(what, CommandLine(verb="dead", schedule=schedule), why=f"{kept} {DEAD.why}")
