"""Requests that have their effect once: they are sent, and repeated under their numbers if the answer is lost. Also a
batch of rows that can be resumed: the key of its producer holds its progress.

The batch is a producer with request numbers that count its rows: ``<rows> <digest> <answer>``. See
`lua/parts/producer.lua` of every layout.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from typing import Any, Final

from workkit.brokers.redis_server.server import Call, Server
from workkit.clocks import time
from workkit.contract.producer import Added, BulkPlace, BulkStep
from workkit.errors import InvalidOptions, NotFound, ServerUnreachable

STALE: Final = 1.0  # seconds in which a request on a closed connection fails; after a later failure the caller decides


def asked_once(server: Server, calls: Sequence[Call]) -> Callable[[], list[Any]]:
    """Send scripts that recognise a repeated request by its number, and return a function that waits for their answers.
    If the connection turns out to be closed, it repeats them once. Raises ServerUnreachable.
    """
    asked_at = time.time()
    try:
        asked = server.ask(calls)
    except ServerUnreachable:
        if time.time() - asked_at > STALE:
            raise
        asked = None

    def answers() -> list[Any]:
        nonlocal asked
        began, (sent, asked) = time.time(), (asked, None)  # its answer arrives once; then the request is repeated
        try:
            return server.answers(sent) if sent else server.exchange(calls)
        except ServerUnreachable:
            if sent is None or time.time() - began > STALE:
                raise
            return server.exchange(calls)

    return answers


BATCH_SECONDS = 604_800  # seconds after its last addition; `parts/producer.lua` has the same value
_KEPT = re.compile(rb"(\d{1,15}) ([0-9a-f]{1,64}) ")


def token_of(batch: str) -> str:
    """Return the token of the producer of a batch."""
    return f"batch-{batch}"


def read_batch(id: str, text: bytes | None, *, schedule: str) -> BulkPlace:
    """Read the progress of a batch. Raises NotFound."""
    found = _KEPT.match(text or b"")
    if found is None:
        raise NotFound(
            f'no bulk "{id}" in {schedule}. It was never begun there, or its last row was added more than 7 days ago.',
            given=id,
        )
    return BulkPlace(id=id, rows=int(found[1]), digest=found[2].decode())


def kept_batch(server: Server, key: Callable[[str], str], which: str | BulkPlace, *, schedule: str) -> BulkPlace:
    """Read the progress of a batch by its id, or keep a new one: see `Producer.batch`. `key`: makes the
    key of a token.
    """
    id = which.id if isinstance(which, BulkPlace) else which
    with server.translated() as client:
        if isinstance(which, BulkPlace):
            client.set(key(token_of(id)), f"{which.rows} {which.digest} []", ex=BATCH_SECONDS, nx=True)
            return which
        text = client.get(key(token_of(id)))
    return read_batch(id, text, schedule=schedule)


def step_text(step: BulkStep | None) -> str:
    """Write a step for the scripts; None becomes an empty text."""
    end = "c" * bool(step and step.group and step.group.closes)  # another step than the one before without rows
    return "" if step is None else f"{step.before.rows} {step.after.digest}{end}"


def read_step(step: BulkStep, reply: Sequence[Any], read: Callable[[Sequence[Any]], list[Added]]) -> list[Added]:
    """Read the answer to a step. Raises InvalidOptions if the batch has changed since: nothing was added then."""
    try:
        return read(reply)
    except (ValueError, IndexError):
        id = step.after.id
        called = f"bulk {id}" if step.group is None else f'batch "{step.group.name}"'
        trouble, remedy = "is no longer where this program left it", "Perhaps another program continues it. Resume it."
        raise InvalidOptions.about(called, trouble, remedy, where="batch", given=id) from None
