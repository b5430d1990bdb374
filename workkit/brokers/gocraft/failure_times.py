"""What follows a failed run in a Go pool, as pure functions: retry or dead, and when. Ours do the same unless an option
says otherwise. Normative: spec/layouts/gocraft.md, section 5.
"""

from __future__ import annotations

from typing import Final, Literal

from workkit.jobs.run_options import QUARTIC

DEFAULT_MAX_FAILS: Final = 4

Fate = Literal["retry", "dead", "dropped"]


def fate(fails: int, *, max_fails: int = 0, skip_dead: bool = False) -> Fate:
    """Decide what becomes of a job whose `fails` counts the failure that has just happened.

    0 as `max_fails` is the default, 4; 1 is no retry. With `skip_dead` a job that has no retry left is kept nowhere.
    """
    if fails < (max_fails or DEFAULT_MAX_FAILS):
        return "retry"
    return "dropped" if skip_dead else "dead"


def backoff_seconds(fails: int, *, chance: float) -> int:
    """Give the default pause before the next attempt: fails^4 + 15 + (0 to 29) * (fails + 1) seconds.

    `fails` counts the failure that has just happened; `chance`, from 0 up to but not 1, chooses in the random part.
    """
    return QUARTIC["quartic"].seconds(fails, chance=chance)
