"""The handlers of the hostile storm, good and hostile. The good ones write down when they begin and when they end."""

from __future__ import annotations

import time
from typing import Any

from tests.acceptance.soak_cast import noted
from workkit import job


def note(label: Any) -> None:
    with noted(label):
        pass


def tick(label: Any) -> None:
    with noted(label):
        pass


@job(limit=2)
def limited(label: Any) -> None:
    with noted(label):
        time.sleep(0.02)


@job(rate="100/second")
def rated(label: Any) -> None:
    with noted(label):
        pass


@job(retries=2, base="0.1s")
def fails(label: Any) -> None:
    with noted(label) as attempt:
        if attempt < 2:
            raise OSError("not yet")


def hostile(*args: Any, **kwargs: Any) -> None:
    """What hostile payloads name, where they name a function."""
