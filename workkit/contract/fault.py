"""How bad a fault of stored bytes is, the same for every layout."""

from __future__ import annotations

from typing import Literal, get_args

Severity = Literal["deviation", "orphan", "hazard"]
"""A deviation breaks the layout. An orphan has lost its other half. A hazard is legal, but a peer loses it."""

SEVERITIES: tuple[Severity, ...] = get_args(Severity)
