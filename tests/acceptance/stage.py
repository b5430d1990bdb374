"""Starts the processes of many scenes: one warm process, with workkit's faults compiled in, that forks.

A child is a process like any other, but it starts in milliseconds: interpreter and imports are there already. The
requests come on standard input, one JSON object a line: the function to call (``module:name``), its keywords,
variables of its environment, and the file that gets what it prints; the answer is its pid.
"""

from __future__ import annotations

import gc
import importlib
import json
import os
import signal
import subprocess
import sys
import threading
import traceback
from collections.abc import Mapping
from pathlib import Path
from typing import Any, NoReturn

from tests.processes import ROOT
from tests.warm import import_all


class Stage:
    """The starting side. Thread-safe; whoever starts a process ends it, by its pid."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._child = subprocess.Popen(
            [sys.executable, "-m", "tests.acceptance.stage"],
            cwd=ROOT,
            env={name: value for name, value in os.environ.items() if not name.startswith("WORKKIT_")},
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )
        assert self._child.stdout is not None
        self._child.stdout.readline()  # it is warm

    def start(self, function: str, *, env: Mapping[str, str], output: Path, **keywords: Any) -> int:
        """Start a process that calls a function, and return its pid."""
        request = {"function": function, "keywords": keywords, "env": dict(env), "output": str(output)}
        assert self._child.stdin is not None
        assert self._child.stdout is not None
        with self._lock:
            self._child.stdin.write(json.dumps(request) + "\n")
            self._child.stdin.flush()
            return int(self._child.stdout.readline())

    def close(self) -> None:
        """End it; what it has started goes on."""
        assert self._child.stdin is not None
        assert self._child.stdout is not None
        self._child.stdin.close()
        self._child.wait(10)
        self._child.stdout.close()


def _serve() -> None:
    signal.signal(signal.SIGCHLD, signal.SIG_IGN)  # nobody asks how a child ended
    for line in sys.stdin:
        request = json.loads(line)
        pid = os.fork()
        if pid == 0:
            _become(request)
        print(pid, flush=True)


def _become(request: Mapping[str, Any]) -> NoReturn:
    status = 1
    try:
        signal.signal(signal.SIGCHLD, signal.SIG_DFL)
        output = os.open(request["output"], os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o644)
        nothing = os.open(os.devnull, os.O_RDONLY)
        for number, replaced in ((nothing, 0), (output, 1), (output, 2)):
            os.dup2(number, replaced)
        os.environ.update(request["env"])
        module, _, name = request["function"].partition(":")
        getattr(importlib.import_module(module), name)(**request["keywords"])
        status = 0
    except BaseException:
        traceback.print_exc()
    finally:
        sys.stdout.flush()
        sys.stderr.flush()
        os._exit(status)


if __name__ == "__main__":
    from tests.acceptance import faulty

    faulty.install()
    import_all()
    for cast in ("tests.acceptance.crash_cast", "tests.acceptance.pool_cast"):
        importlib.import_module(cast)
    gc.freeze()
    print("warm", flush=True)
    _serve()
