"""How often a failed run is tried again where its handler says nothing: as event and hutch-schedule do. Pure.

Normative: spec/layouts/hutch.md, section 6.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from workkit.brokers.hutch.names import Dialect
from workkit.jobs.run_options import RunOptions

USUAL: Final[Mapping[Dialect, RunOptions]] = {
    "event": RunOptions(retries=4, backoff="event"),  # MaxFails
    "hutch": RunOptions(backoff="hutch"),  # no retries, until `attempts` says how many
}
