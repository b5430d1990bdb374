"""The options of the verbs that add, from keywords to one value: an unknown one is refused with the nearest."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from workkit.jobs.run_options import RUN_OPTIONS, RunOptions, check_names, read_run_options

OPTIONS = ("tz", *RUN_OPTIONS)
ARGUMENTS = ("at", "in_", "every", "cron", "args", "kwargs")


def read_options(verb: str, options: Mapping[str, Any]) -> RunOptions:
    """Check the options of `verb` by name, and read those about its runs. Raises InvalidOptions, TriggerError."""
    check_names(options, accepted=OPTIONS, verb=verb, other=ARGUMENTS)
    return read_run_options({name: options[name] for name in RUN_OPTIONS if name in options})
