"""The key that keeps a unique job from being enqueued twice, byte for byte as Go makes it: a job that a Go producer
enqueued and an equal one of ours have one key. Normative: spec/layouts/gocraft.md, section 3.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from workkit.brokers.gocraft.go_json import dumps
from workkit.brokers.gocraft.keys import Keys
from workkit.brokers.gocraft.text import JobText

BY_CONTENT: Final = b"1"
"""What a key holds that is made of the arguments. One made of a key map holds the text of the job that will run."""

LIFE_SECONDS: Final = 86_400
"""How long a key lives; every duplicate renews it."""


def unique_key(keys: Keys, name: str, args: Mapping[str, Any] | None, *, by: Mapping[str, Any] | None = None) -> str:
    """Make the unique key of a job by its arguments, or, where `by` is not None, by that key map in place of them.

    Both share one key space: a key map equal to the arguments of another job makes the same key. Raises
    InvalidArguments for what JSON cannot carry, with its place in ``args`` or ``unique_key``.
    """
    chosen, place = (args, "args") if by is None else (by, "unique_key")
    return keys.unique(name, "" if chosen is None else f"{dumps(dict(chosen), place)}\n")


def unique_key_of(keys: Keys, job: JobText) -> str | None:
    """Find the unique key of a job that was read: the one that its text names, else by its arguments; None for a job
    that is not unique.
    """
    if not job.unique:
        return None
    return job.unique_key or unique_key(keys, job.name, job.args)
