"""The page Doctor: the faults, why they matter, and how to repair them."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from typing import Any, Final

from workkit.contract.doctor import Finding
from workkit.contract.record import finding_record
from workkit.errors import Unsupported
from workkit.text.glance import away
from workkit.text.wording import iso, plural
from workkit.web.page import Asked, Page
from workkit.web.works import MOST_FINDINGS, Checked, digest_of

SHOWN: Final = 10
"""Most faults of one kind on the page; the others are counted."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Fault:
    """One fault, masked, and the digest that names it in a form."""

    finding: Finding
    digest: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Kind:
    """The faults of one kind: the first ones, their number, why they matter, and how to repair them."""

    name: str
    faults: tuple[Fault, ...]
    count: int
    why: tuple[str, ...]
    remedies: tuple[str, ...]

    @property
    def repairable(self) -> tuple[Fault, ...]:
        """The faults that the doctor can repair."""
        return tuple(fault for fault in self.faults if fault.finding.repairs)


@dataclass(frozen=True, slots=True, kw_only=True)
class DoctorView:
    """The content of the page. `age_ms`: how long ago the checkup ended; None: it still runs. `history_bytes`: the size
    of the past runs, None: the layout keeps none.
    """

    schedule: str
    now: datetime
    said: str
    rest: str
    age_ms: float | None
    error: str
    patience: str
    kinds: tuple[Kind, ...]
    faults: tuple[Fault, ...]
    history_bytes: int | None

    def record(self) -> dict[str, Any]:
        """Return the view as a JSON object."""
        return {
            "schedule": self.schedule,
            "as_of": iso(self.now),
            "sentence": self.said,
            "is_over": self.age_ms is not None,
            "age_ms": self.age_ms,
            "error": self.error or None,
            "older_than": self.patience,
            "findings": [finding_record(one.finding) | {"digest": one.digest} for one in self.faults],
            "history_bytes": self.history_bytes,
        }


def look(asked: Asked) -> DoctorView:
    """Return the findings of the last checkup; if it is old, a new one begins. Raises TriggerError for a bad
    `older_than`.
    """
    checked = asked.served.checkup.look(asked.params.get("older_than") or None)
    faults = tuple(Fault(finding=asked.veil.finding(one), digest=digest_of(one)) for one in checked.findings)
    try:
        history_bytes = asked.served.inspector().history.size()[1]
    except Unsupported:
        history_bytes = None
    return DoctorView(
        schedule=asked.served.name,
        now=asked.now,
        said=headline(checked),
        rest="" if checked.age_s is None else f"Looked {_ago(checked.age_s)}.",
        age_ms=None if checked.age_s is None else checked.age_s * 1000,
        error=asked.veil.text(checked.error),
        patience=checked.patience,
        kinds=kinds(faults),
        faults=faults,
        history_bytes=history_bytes,
    )


def headline(checked: Checked) -> str:
    """Say what was found so far."""
    count = f"{plural(len(checked.findings), 'finding')}{' or more' if len(checked.findings) >= MOST_FINDINGS else ''}"
    if checked.age_s is None:
        return f"Looking: {count} so far." if checked.findings else "Looking."
    if checked.error:
        return f"The checkup did not come to its end: {count}." if checked.findings else "The checkup failed."
    return f"{count}." if checked.findings else "All is well."


def kinds(faults: tuple[Fault, ...]) -> tuple[Kind, ...]:
    """Group faults by kind, in the order in which they were found."""
    found: dict[str, list[Fault]] = {}
    for fault in faults:
        found.setdefault(fault.finding.kind, []).append(fault)
    return tuple(
        Kind(
            name=name,
            faults=tuple(alike[:SHOWN]),
            count=len(alike),
            why=tuple(dict.fromkeys(one.finding.why for one in alike[:SHOWN])),
            remedies=tuple(dict.fromkeys(one.finding.remedy for one in alike[:SHOWN])),
        )
        for name, alike in found.items()
    )


def _ago(seconds: float) -> str:
    return "just now" if seconds < 5 else f"{away(seconds * 1000)} ago"


PAGE = Page(
    name="doctor", path="doctor", title="Doctor", template="doctor.html", look=look, icon="check", key="o",
    is_care=True,
)  # fmt: skip
