"""Whether a plan owns a job: whether the last thing that somebody did with it was a sync."""

from __future__ import annotations

from itertools import islice
from typing import Final

from workkit.contract.broker import Inspector
from workkit.contract.changes import Change
from workkit.errors import Unsupported

MOST_LOOKED: Final = 300  # changes, the last ones


def owning_sync(inspector: Inspector, name: str | None) -> Change | None:
    """Find the sync that set a job last; None where somebody has edited it since, or no change tells of it."""
    if not name:
        return None
    try:
        for change in islice(inspector.history.changes(), MOST_LOOKED):
            said = change.after
            if change.verb == "sync" and any(name in (said.get(word) or ()) for word in ("added", "changed")):
                return change
            if change.verb in ("add", "edit") and said.get("name") == name:
                return None
    except Unsupported:
        pass
    return None
