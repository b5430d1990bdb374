"""The tiers of the suite, and how its tests share a machine in a parallel run.

Two tiers: fast (`-m "not slow"`, what one runs while working) and whole (everything). A file, or a test, is slow that
took longer than about 1.5 s when it was measured with `pytest --durations=60`.

In a run with `-n` most tests run beside others, as they mostly wait. Those in `TOGETHER` share something dear, so one
worker runs the whole file. Those in `ALONE` fill the machine with processes, or measure how late something is: no other
test runs meanwhile.
"""

from __future__ import annotations

import fcntl
import os
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

import pytest

TESTS = Path(__file__).parent

SLOW = ("acceptance/", "model/")

TOGETHER = (
    "acceptance/test_crashes.py",
    "acceptance/test_features_crash.py",
    "acceptance/test_features_owned.py",
    "acceptance/test_processes.py",
    "brokers/test_cluster.py",
    "brokers/test_sentinel.py",
    "brokers/test_tls.py",
)

ALONE = (
    "acceptance/test_crashes.py",
    "acceptance/test_features_crash.py",
    "test_examples.py",
    "test_interop.py",
)


def arranged(items: Sequence[pytest.Item]) -> list[pytest.Item]:
    """Mark each test with its tier and its group. Return them in the order of a run: those that run alone, then the
    slow ones, then the fast ones, which fill the gaps at the end.
    """
    for item in items:
        place = _place(item)
        if place.startswith(SLOW):
            item.add_marker("slow")
        if place.startswith(TOGETHER):
            item.add_marker(pytest.mark.xdist_group(item.path.stem))
    return sorted(items, key=lambda item: (not is_alone(item), item.get_closest_marker("slow") is None))


def is_alone(item: pytest.Item) -> bool:
    """Tell whether no other test may run beside this one."""
    return _place(item).startswith(ALONE)


@contextmanager
def turn(item: pytest.Item) -> Iterator[None]:
    """Wait until this test may run beside those of the other workers, and hold its place until it has ended.

    The locks lie on two files of the checkout: nobody has to remove them, and they end with their process. Whoever
    comes passes the gate, so a test that runs alone waits only for those that run already.
    """
    if "PYTEST_XDIST_WORKER" not in os.environ:
        yield
        return
    with open(TESTS / "conftest.py") as gate, open(TESTS / "tiers.py") as room:
        fcntl.flock(gate, fcntl.LOCK_EX)
        fcntl.flock(room, fcntl.LOCK_EX if is_alone(item) else fcntl.LOCK_SH)
        fcntl.flock(gate, fcntl.LOCK_UN)
        try:
            yield
        finally:
            fcntl.flock(room, fcntl.LOCK_UN)


def _place(item: pytest.Item) -> str:
    """Return the file and the name of a test, as the lists above give them: `worker/test_hands.py::test_...`."""
    return f"{item.path.relative_to(TESTS).as_posix()}::{item.name}"
