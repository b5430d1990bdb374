"""What the last checkup found, as far as the page Now does not tell it by itself."""

from __future__ import annotations

from collections.abc import Iterable
from itertools import islice
from typing import Final

from workkit.contract.doctor import Finding
from workkit.errors import Unsupported
from workkit.web.page import Asked
from workkit.web.sentences import Fault

MOST: Final = 3  # kinds of faults; Doctor has them all
TOLD: Final = frozenset(
    {"no-listener", "overdue", "paused", "dead", "versions", "stale", "stuck", "stalled"}
)  # kinds of faults that Now sees by itself, and sooner


def look_over(asked: Asked) -> tuple[tuple[str, ...], tuple[Fault, ...]]:
    """Name the functions that no listener can run, and the other faults that the last checkup found. It waits for no
    checkup; one begins where somebody stays and the last one is old.
    """
    checked = asked.served.checkup.glance()
    if checked is None:
        return (), ()
    known = [asked.veil.finding(one) for one in checked.findings]
    cannot_run = _cannot_run(asked, known)
    return cannot_run, tuple(islice(faults(one for one in known if one.fn not in cannot_run), MOST))


def faults(findings: Iterable[Finding]) -> Iterable[Fault]:
    """Put faults of one kind together, in the order in which they were found."""
    kinds: dict[str, list[Finding]] = {}
    for one in findings:
        if one.kind not in TOLD:
            kinds.setdefault(one.kind, []).append(one)
    return (Fault(what=alike[0].what, why=alike[0].why, more=len(alike) - 1) for alike in kinds.values())


def _cannot_run(asked: Asked, findings: Iterable[Finding]) -> tuple[str, ...]:
    """Name the functions whose jobs each listener has given back, and of which none tells that it knows it: one may
    have started since.
    """
    names = list(dict.fromkeys(one.fn for one in findings if one.fn is not None))
    if not names or not asked.pulse.counts.listeners:
        return ()
    try:
        known = asked.served.inspector().history.knows()
    except Unsupported:
        known = {}
    return tuple(name for name in names if name not in known)
