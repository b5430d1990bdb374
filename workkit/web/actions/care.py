"""Acts of care: check again, repair what was found."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from workkit.errors import NotFound
from workkit.verbs.opening import producer_of
from workkit.web.actions.action import Act, Doing, Done, Order


def checkup(doing: Doing, _: Order, __: str | None) -> Done:
    """Check the schedule again."""
    doing.checkup.again()
    return Done(f"Checking {doing.schedule} again.")


def repair(doing: Doing, _: Order, which: str | None) -> Done:
    """Repair a fault that a checkup has found. Raises NotFound."""
    assert which is not None, "it was checked"
    finding = doing.checkup.finding(which)
    if finding is None:
        raise NotFound.about(f'finding "{which}"', "is over, or was found long ago", "Check again.", given=which)
    doing.admin.note("repair", {"faults": [finding.kind]})
    is_done = producer_of(doing.s).doctor.repair(finding)
    doing.checkup.forget(finding)
    return Done(f"Repaired: {finding.what}." if is_done else f"Nothing to repair any more: {finding.what}.")


ACTS: Final[Mapping[str, Act]] = {
    "checkup": Act(role="viewer", needs="schedule", one=checkup),
    "repair": Act(role="editor", one=repair),
}
