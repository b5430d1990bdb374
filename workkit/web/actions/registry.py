"""Which acts there are. One that is not here has no address and no button."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from workkit.web.actions import care, dead, editing, jobs, putting_back, showing, upkeep
from workkit.web.actions.action import Act

ACTS: Final[Mapping[str, Act]] = {
    **jobs.ACTS,
    **editing.ACTS,
    **dead.ACTS,
    **care.ACTS,
    **putting_back.ACTS,
    **upkeep.ACTS,
    **showing.ACTS,
}
