"""The public surface: its names, and what importing it costs and does not do."""

from __future__ import annotations

import subprocess
import sys

import workkit
from workkit import aio, schedule, triggers, wire


def test_the_public_names_are_these() -> None:
    assert set(workkit.__all__) == {
        "schedule", "aio", "events", "metrics", "triggers", "wire", "job", "call", "clojure", "current_job", "Job",
        "JobLogFilter", "Schedule", "Retry", "Discard", "WorkkitError", "__version__",
    }  # fmt: skip
    for name in workkit.__all__:
        assert getattr(workkit, name) is not None
    assert workkit.aio is aio


def test_each_public_name_is_listed_before_its_first_use() -> None:
    code = "import {0}; print(set({0}.__all__) - set(dir({0})), hasattr({0}, 'nonsense'))"
    for module in ("workkit", "workkit.schedule", "workkit.triggers"):
        done = subprocess.run([sys.executable, "-c", code.format(module)], capture_output=True, text=True, check=True)
        assert done.stdout == "set() False\n"


def test_the_same_verbs_stand_in_aio() -> None:
    verbs = {name for name in schedule.__all__ if name not in ("Schedule", "listen", "forward")}
    assert set(aio.__all__) == verbs


def test_events_are_for_subscribers() -> None:
    assert set(workkit.events.__all__) == {"Event", "LEVELS", "Subscriber", "subscribe"}


def test_triggers_and_wire_are_functions_not_modules() -> None:
    assert callable(triggers.cron)
    assert callable(triggers.parse)
    assert callable(triggers.explain)
    assert callable(wire.payload)


def test_importing_is_light_and_silent() -> None:
    heavy = ["redis", "croniter", "click", "asyncio", "msgpack", "socket"]
    source = (
        f"import sys, threading, workkit\nprint([m for m in {heavy!r} if m in sys.modules], threading.active_count())"
    )
    done = subprocess.run([sys.executable, "-c", source], capture_output=True, text=True, check=True)
    assert (done.stdout, done.stderr) == ("[] 1\n", "")
