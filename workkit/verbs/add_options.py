"""The options of the verbs that add, from keywords to one value: an unknown one is refused with the nearest."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from workkit.jobs.run_options import HANDLER_OPTIONS, RUN_OPTIONS, UNSAID, RunOptions, check_names, read_run_options
from workkit.jobs.terms import OF_RECURRENCE, PLAIN, TERMS, USUAL, Entrance, Terms, read_terms

BOUNDS = ("start", "end")
OPTIONS = ("tz", *BOUNDS, *TERMS, *RUN_OPTIONS)
ARGUMENTS = ("at", "in_", "every", "cron", "args", "kwargs")
RECURRING = (*BOUNDS, *OF_RECURRENCE)  # options that only a job with more than one run can have


@dataclass(frozen=True, slots=True, kw_only=True)
class Asked:
    """What an addition asks for. `start`, `end` as they were said; `recurring` names the options that need a time
    that recurs.
    """

    run: RunOptions = UNSAID
    terms: Terms = PLAIN
    entrance: Entrance = USUAL
    start: str | datetime | None = None
    end: str | datetime | None = None
    recurring: tuple[str, ...] = ()


NOTHING = Asked()  # the usual one


def read_options(verb: str, options: Mapping[str, Any]) -> Asked:
    """Check the options of `verb` by name, and read them as far as the job's time is not needed. Raises InvalidOptions,
    TriggerError.
    """
    check_names(options, accepted=OPTIONS, verb=verb, other=ARGUMENTS, elsewhere=(HANDLER_OPTIONS, "@job"))
    run = read_run_options({name: options[name] for name in RUN_OPTIONS if name in options})
    said = {name: value for name, value in options.items() if value is not None}
    terms, entrance = read_terms({name: said[name] for name in TERMS if name in said})
    asked = Asked(
        run=run,
        terms=terms,
        entrance=entrance,
        start=said.get("start"),
        end=said.get("end"),
        recurring=tuple(name for name in RECURRING if name in said),
    )
    return NOTHING if asked == NOTHING else asked
