"""Which acts there are. One that is not here has no address and no button."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from workkit.web.acts import adding, care, dead, putting_back, serving, showing, standing
from workkit.web.acts.act import Act

ACTS: Final[Mapping[str, Act]] = {
    **standing.ACTS,
    **adding.ACTS,
    **dead.ACTS,
    **care.ACTS,
    **putting_back.ACTS,
    **serving.ACTS,
    **showing.ACTS,
}
