"""The frame of a checkup, for every layout: findings are counted and limited."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator
from dataclasses import replace

from workkit.contract.doctor import Finding

MOST = 1000  # findings of one kind in one checkup


def limited(findings: Iterable[Finding], *, schedule: str, of_server: Collection[str]) -> Iterator[Finding]:
    """Pass on at most 1,000 findings of one kind, then one that counts the rest. All but those of the server get the
    schedule's name.
    """
    counts: dict[str, int] = {}
    for finding in findings:
        counts[finding.kind] = count = counts.get(finding.kind, 0) + 1
        if count <= MOST:
            yield finding if finding.kind in of_server else replace(finding, schedule=schedule)
    for kind, count in counts.items():
        if count > MOST:
            yield Finding(
                kind=kind,
                what=f"and {count - MOST:,} more like the {MOST:,} of the kind {kind}",
                why=f"One checkup lists at most {MOST:,} of one kind.",
                remedy="repair these first, then check again",
                schedule=schedule,
            )


def dead(count: int, *, schedule: str, kept: str, since: str = "") -> Iterator[Finding]:
    """Name the jobs of the dead set, if there are any. `kept`: how long they stay, as a sentence; `since`: when they
    failed, as the end of one.
    """
    if count:
        yield Finding(
            kind="dead",
            what=("1 job failed for good" if count == 1 else f"{count:,} jobs failed for good") + since,
            why=f"{kept} They run again only if somebody retries them.",
            remedy=f"workkit dead {schedule}",
        )
