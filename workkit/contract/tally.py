"""What a verb did, counted."""

from __future__ import annotations

from dataclasses import dataclass

from workkit.text.brief import brief_repr


@dataclass(frozen=True, slots=True, kw_only=True)
class Tally:
    """What a verb did, counted: jobs that were new or known already; runs that succeeded, failed for good, or failed
    and are tried again (`retried`, also where the handler asked for it); jobs that the listener gave back; endings that
    no server has confirmed before the listener ended (`unstored`): these jobs run again.
    """

    new: int = 0
    known: int = 0
    ran: int = 0
    failed: int = 0
    retried: int = 0
    given_back: int = 0
    unstored: int = 0

    __repr__ = brief_repr
