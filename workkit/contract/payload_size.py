"""How large a job may be as it is stored, in every layout. Pure: the bytes are those that the layout has written."""

from __future__ import annotations

from collections.abc import Sized
from typing import Any

from workkit.contract.warning import warn_caller
from workkit.errors import InvalidArguments
from workkit.jobs.names import brief, shown

LARGE_BYTES = 1_000_000  # above it an addition warns
MOST_BYTES = 10_000_000  # the usual limit, `max_payload` of `schedule.create`

_REMEDY = "Store the data elsewhere, and pass its key"


def check_size(data: Sized, *, fn: str, most: int | None, given: Any = None) -> None:
    """Refuse a job whose bytes are more than `most`; None: it was checked before. Warns (WorkkitWarning) above 1 MB.
    `given`: its arguments, for the error. Raises InvalidArguments.
    """
    size = len(data)
    if most is None or size <= min(most, LARGE_BYTES):
        return
    name = brief(shown(fn))
    if size > most:
        trouble = f"take {size:,} bytes as JSON, and max_payload is {most:,}"
        remedy = f"{_REMEDY}; or raise max_payload of schedule.create."
        raise InvalidArguments.about(f"the arguments of {name}", trouble, remedy, where="args", given=given)
    warn_caller(
        f"the arguments of {name} take {size:,} bytes as JSON: the server keeps and sends them each time. {_REMEDY}."
    )
