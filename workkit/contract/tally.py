"""What a verb did, counted."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class Tally:
    """What a verb did, counted: jobs that were new or known already; runs that succeeded or failed; jobs that the
    listener gave back.
    """

    new: int = 0
    known: int = 0
    ran: int = 0
    failed: int = 0
    given_back: int = 0
