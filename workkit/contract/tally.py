"""What a verb did, counted."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import overload

from workkit.text.cells import brief_repr

_BYTES = 20  # of a usual id, which is written as 40 hex digits
_USUAL = frozenset({2 * _BYTES})


class Ids(Sequence[str]):
    """Ids of jobs in the order of their rows, 20 bytes each. An id is written as text when it is asked for."""

    def __init__(self) -> None:
        self._packed = bytearray()
        self._texts: list[str] | None = None  # of a layout with other ids

    def extend(self, ids: Sequence[str]) -> None:
        """Add ids behind the last one."""
        if self._texts is None:
            joined = "".join(ids)
            try:
                packed = bytes.fromhex(joined)
            except ValueError:
                packed = b""
            if packed.hex() == joined and _USUAL.issuperset(map(len, ids)):
                self._packed += packed
                return
            self._texts = list(self)
        self._texts += ids

    def __len__(self) -> int:
        return len(self._packed) // _BYTES if self._texts is None else len(self._texts)

    @overload
    def __getitem__(self, row: int) -> str: ...
    @overload
    def __getitem__(self, row: slice) -> Sequence[str]: ...
    def __getitem__(self, row: int | slice) -> str | Sequence[str]:
        if isinstance(row, slice):
            return [self[one] for one in range(*row.indices(len(self)))]
        if self._texts is not None:
            return self._texts[row]
        start = range(len(self))[row] * _BYTES
        return self._packed[start : start + _BYTES].hex()

    __repr__ = brief_repr


@dataclass(frozen=True, slots=True, kw_only=True)
class Tally:
    """What a verb did, counted: jobs that were new or known already; runs that succeeded, failed for good, or failed
    and are tried again (`retried`, also where the handler asked for it); jobs that the listener gave back. `retrying`:
    jobs of its schedules that wait for another attempt when a burst has ended. `unstored`: endings that no server has
    confirmed before the listener ended; these jobs run again. `ids`: of `add_many`, the id of the job of each row, from
    0: the new one, or the one that stands in its place.
    """

    new: int = 0
    known: int = 0
    ran: int = 0
    failed: int = 0
    retried: int = 0
    given_back: int = 0
    retrying: int = 0
    unstored: int = 0
    ids: Sequence[str] = field(default=(), compare=False, repr=False)

    __repr__ = brief_repr
