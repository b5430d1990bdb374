"""The page Doctor: the faults, why they matter, and how to repair them."""

from __future__ import annotations

from contextlib import suppress
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Any, Final

from workkit.contract.doctor import Finding, Flags, finding_flags, written
from workkit.contract.record import finding_record
from workkit.errors import Unsupported
from workkit.text.glance import away
from workkit.text.wording import iso, plural
from workkit.web.cache import Gone
from workkit.web.page import Asked, Page
from workkit.web.sentences import missing
from workkit.web.words import plain
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
    of the past runs, None: the layout keeps none. `gone`: recurring jobs that this process has seen and the server no
    longer has.
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
    gone: Gone | None

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
            "gone": self.gone and {"count": self.gone.count, "since": iso(self.gone.since)},
        }


def look(asked: Asked) -> DoctorView:
    """Return the findings of the last checkup; if it is old, a new one begins. Raises TriggerError for a bad
    `older_than`.
    """
    checked = asked.served.checkup.look(asked.params.get("older_than") or None)
    flags = finding_flags(asked.served.flags, asked.params.get("older_than"))
    faults = tuple(Fault(finding=_shown(one, asked, flags), digest=digest_of(one)) for one in checked.findings)
    try:
        history_bytes = asked.served.inspector().history.size()[1]
    except Unsupported:
        history_bytes = None
    gone, looked = _gone(asked), "" if checked.age_s is None else f"Looked {_ago(checked.age_s)}."
    need = None if gone is None else missing(gone, asked.now, asked.zone)
    return DoctorView(
        schedule=asked.served.name,
        now=asked.now,
        said=headline(checked) if need is None else plain(need.said),
        rest=looked if need is None else f"{need.why} {headline(checked, well='Nothing else.')} {looked}".rstrip(),
        age_ms=None if checked.age_s is None else checked.age_s * 1000,
        error=asked.veil.text(checked.error),
        patience=checked.patience,
        kinds=kinds(faults),
        faults=faults,
        history_bytes=history_bytes,
        gone=gone,
    )


def _gone(asked: Asked) -> Gone | None:
    """Compare the recurring jobs with those that this process has seen. An emptied server does not know its loss."""
    with suppress(Unsupported):
        asked.served.recurring(asked.now, asked.pulse.control)
    return asked.served.seen.gone


def _shown(finding: Finding, asked: Asked, flags: Flags) -> Finding:
    """Mask a finding, and write its remedy as the command line does."""
    return replace(asked.veil.finding(finding), advice=(written(finding.advice, flags),))


def headline(checked: Checked, *, well: str = "All is well.") -> str:
    """Say what was found so far."""
    count = f"{plural(len(checked.findings), 'finding')}{' or more' if len(checked.findings) >= MOST_FINDINGS else ''}"
    if checked.age_s is None:
        return f"Looking: {count} so far." if checked.findings else "Looking."
    if checked.error:
        return f"The checkup did not come to its end: {count}." if checked.findings else "The checkup failed."
    return f"{count}." if checked.findings else well


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
