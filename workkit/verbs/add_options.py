"""The options of one addition, as one value. Pure; the table of options: `workkit.jobs.options`."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Any

from workkit.jobs.options import ADD, OPTIONS, read_options
from workkit.jobs.run_options import UNSAID, RunOptions, run_options
from workkit.jobs.terms import PLAIN, USUAL, Entrance, Terms, terms_and_entrance
from workkit.triggers.when import KEYWORDS as TIMES

CALL = ("fn", "args", "kwargs", "call")
KEYWORDS = (*CALL, *TIMES)  # of `add`, beside its options
_RECURRING = tuple(option.name for option in OPTIONS if option.recurring)


@dataclass(frozen=True, slots=True, kw_only=True)
class Options:
    """What the options of an addition say. `start` and `end` are read with the time; `recurring` names the options
    that were given and need a time that recurs. `late`: the instant may be up to a day past.
    """

    run: RunOptions = UNSAID
    terms: Terms = PLAIN
    entrance: Entrance = USUAL
    start: str | datetime | None = None
    end: str | datetime | None = None
    recurring: tuple[str, ...] = ()
    meta: dict[str, str] | None = None
    late: bool = False


NO_OPTIONS = Options()  # the usual value


def read_add_options(given: Mapping[str, Any], *, verb: str = "add") -> Options:
    """Check the options of `verb`, and read them as far as the job's time is not needed. Raises InvalidOptions,
    TriggerError.
    """
    if not given:
        return NO_OPTIONS
    read = read_options(given, place=ADD, verb=verb, other=KEYWORDS)
    terms, entrance = terms_and_entrance(read)
    if read.get("unique") is True:
        entrance = replace(entrance, once=True)
    options = Options(
        run=run_options(read),
        terms=terms,
        entrance=entrance,
        start=read.get("start"),
        end=read.get("end"),
        recurring=tuple(name for name in _RECURRING if name in read),
        meta=read.get("meta"),
        late=read.get("late") == "run",
    )
    return NO_OPTIONS if options == NO_OPTIONS else options
