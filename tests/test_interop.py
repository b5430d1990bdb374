"""Peers in other languages beside Python listeners: the scenarios of interop/ that take little time, with every pair.

All of them, several times over, and many jobs over a mixed fleet: interop/README.md.
"""

from __future__ import annotations

import os
import re
import shutil
import sys
from pathlib import Path

import pytest

from tests.processes import Processes

RUN = Path(__file__).parent.parent / "interop" / "run.py"
QUICK = [
    "add-now", "clojure-form", "drain", "duplicate", "foreign-bytes", "names", "put-back",
    "recurring-shared", "retry", "unicode-numbers",
]  # fmt: skip


def test_each_peer_runs_what_each_other_adds(processes: Processes) -> None:
    """Without Clojure or Node on this machine: the rest is played, then this is skipped with what is missing; in CI
    it fails.
    """
    playing = processes.run(sys.executable, str(RUN), "--scenarios", ",".join(QUICK))
    status = playing.wait(timeout=240)
    said = playing.transcript()
    absent = re.findall(r"^absent: .*", said, re.MULTILINE)
    if absent and not os.environ.get("CI"):
        assert status == 0, said
        pytest.skip("; ".join(absent))
    assert status == 0, said
    assert re.search(r"^all green$", said, re.MULTILINE), said
    matrix = re.findall(r"^  (python|published|later|node) .*?(\d+)/\2 ok", said, re.MULTILINE)
    assert {producer for producer, _ in matrix} == {"python", "published", "later", "node"}, said


@pytest.mark.skipif(not (os.environ.get("CI") or shutil.which("node")), reason="no node")
def test_what_a_killed_peer_leaves_is_found_and_mended(processes: Processes) -> None:
    crashes = "crash-after-hsetnx,crash-after-pop,crash-after-run"
    playing = processes.run(sys.executable, str(RUN), "--peers", "python,node", "--scenarios", crashes)
    assert playing.wait(timeout=120) == 0, playing.transcript()
    playing.wait_for(r"run 1 of 1, 6 plays")


def test_a_peer_that_does_not_exist_is_refused(processes: Processes) -> None:
    playing = processes.run(sys.executable, str(RUN), "--peers", "python,cobol")
    assert playing.wait(timeout=30) == 2
    playing.wait_for("cobol: not known. Accepted: later, node, published, python")
