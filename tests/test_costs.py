"""The cost of everyday steps stays low: what each job pays is seen the day it lands. See `costs.py`."""

from __future__ import annotations

import json
import subprocess
import sys

import pytest

from tests.processes import ROOT
from tests.servers import Server

# Python calls for each. On a busy machine, batches are smaller, and each run pays more.
MOST_CALLS = {"run": 15, "add_now": 50, "send": 50, "unique": 72, "every": 88, "add_many": 17, "list": 25}
# Files of the package that one enters; of `run` with the start and the end of its listener.
MOST_FILES = {"run": 78, "add_now": 12, "send": 12, "unique": 16, "every": 20, "list": 14}


@pytest.mark.parametrize("server", ["redis"], indirect=True)
def test_what_each_job_and_each_addition_pays(server: Server) -> None:
    command = [sys.executable, "-m", "tests.costs", server.url]
    ran = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=60)
    assert ran.returncode == 0, ran.stderr
    found = json.loads(ran.stdout)
    dear = {step: found[step] for step, most in MOST_CALLS.items() if found[step]["calls"] > most}
    assert not dear, f"more Python calls than {MOST_CALLS}"
    assert found["send"]["calls"] <= found["add_now"]["calls"] + 0.5, found  # the clock is asked now and then
    far = {step: found[step] for step, most in MOST_FILES.items() if found[step]["files"] > most}
    assert not far, f"more files than {MOST_FILES}"
