"""Errors of which many jobs died a short while ago: what the page Now says of the dead."""

from __future__ import annotations

from datetime import datetime, timedelta
from itertools import takewhile
from typing import Final

from workkit.web.dead_jobs import Known, by_error
from workkit.web.page import Asked
from workkit.web.sentences import Died

MANY: Final = 10
LATELY: Final = timedelta(hours=1)


def died_lately(asked: Asked) -> tuple[Died, ...]:
    """Find the errors of which 10 or more jobs died within an hour, the one with the most first. Nothing is asked
    where fewer are dead.
    """
    count = asked.pulse.counts.dead
    if count - asked.pulse.counts.known_dead < MANY:
        return ()
    known = asked.served.dead(asked.veil).look(asked.served.inspector(), count=count, reads_whole=False)
    until_ms = asked.pulse.control.known_dead_ms or 0
    return asked.served.fresh(
        "died", lambda: _lately(known, asked.now, until_ms), given=(asked.veil, known.graves, until_ms)
    )


def _lately(known: Known, now: datetime, until_ms: int) -> tuple[Died, ...]:
    """Those after the deaths that are acknowledged, up to `until_ms`."""
    first_ms = max((now - LATELY).timestamp() * 1000, until_ms + 1)
    lately = tuple(takewhile(lambda grave: grave.died_ms >= first_ms, known.graves))
    groups = known.groups if len(lately) == len(known.graves) else by_error(lately)
    return tuple(
        Died(count=group.n, since=group.died[-1], error=group.graves[0].job.error or "", print=group.print)
        for group in groups
        if group.n >= MANY
    )
