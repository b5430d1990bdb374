"""A job and a queue item of the two published keys, as they are stored. Pure."""

from __future__ import annotations

from dataclasses import dataclass

from workkit import wire


@dataclass(frozen=True, slots=True, kw_only=True)
class Pair:
    """A job and a queue item as they are stored.

    `id` is empty if the item names no job. `payload` None: the item points to no job. `item` None: the job has no item.
    `is_loose`: nothing else refers to such a job either: no listener holds it, and it does not wait for another
    attempt. `is_second`: the job has another item, with the text that workkit writes.
    """

    id: bytes
    payload: bytes | None
    item: bytes | None = None
    score: float = 0.0
    is_loose: bool = False
    is_second: bool = False

    @property
    def is_hashed(self) -> bool:
        """Whether the id is the SHA-1 of the payload, as published."""
        return self.payload is not None and self.id == wire.job_id(self.payload).encode()
