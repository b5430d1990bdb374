"""The trail of acts: one record of the logger `workkit.web` for each, a JSON object. Masked texts are not in it."""

from __future__ import annotations

import logging
from collections.abc import Sequence
from typing import Any, Final

from workkit.contract.changes import Author
from workkit.contract.record import compact
from workkit.errors import WorkkitError
from workkit.web.actions.action import Order, Result

LOGGER: Final = logging.getLogger("workkit.web")


def tell(author: Author, verb: str, schedule: str, orders: Sequence[Order], outcome: Result | WorkkitError) -> None:
    """Log an act that somebody has carried out, or that was refused as a whole."""
    record: dict[str, Any] = {
        "who": author.by,
        "role": author.role,
        "address": author.address,
        "schedule": schedule,
        "verb": verb,
        "which": [which for order in orders for which in order.which],
    }
    if isinstance(outcome, Result):
        record |= {"done": list(outcome.done), "refused": [which for which, _ in outcome.refused]}
        is_done = not outcome.refused
    else:
        record |= {"done": [], "error": type(outcome).__name__}
        is_done = False
    LOGGER.log(logging.INFO if is_done else logging.WARNING, "%s", compact(record))
