"""What jobs of every language may call; each peer has the same functions."""

from __future__ import annotations

import time
from typing import Any

from peers import ran
from workkit import job

_tried: set[str] = set()


@job
def note(*args: Any) -> None:
    ran("peers.jobs/note", args)


def take_note(*args: Any) -> None:  # others know it as take-note
    ran("peers.jobs/take-note", args)


@job("peers.jobs/count!")
def count(*args: Any) -> None:
    ran("peers.jobs/count!", args)


@job("peers.jobs/note'")
def note_again(*args: Any) -> None:
    ran("peers.jobs/note'", args)


def slow(ms: int, *args: Any) -> None:
    ran("peers.jobs/slow", (ms, *args))
    time.sleep(ms / 1000)


def fail(*args: Any) -> None:
    ran("peers.jobs/fail", args)
    raise RuntimeError("as it was asked to")


@job(retries=2, base="1s", jitter=False)
def flaky(*args: Any) -> None:
    """Fail the first time that it is called with these arguments."""
    ran("peers.jobs/flaky", args)
    if str(args) not in _tried:
        _tried.add(str(args))
        raise RuntimeError("the first time it fails")
