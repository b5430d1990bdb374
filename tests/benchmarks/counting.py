"""What a consumer under measurement keeps of its runs: the number of each message, and when it ran."""

from __future__ import annotations

import json
import os
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

OFTEN = 0.02  # seconds between two counts that it tells


class Counter:
    """Collects in memory; tells meanwhile only how many there are. Thread-safe."""

    def __init__(self, folder: Path) -> None:
        self._folder, self._seen, self._over = folder, [], threading.Event()  # type: ignore[var-annotated]
        self._thread = threading.Thread(target=self._tell, daemon=True)
        self._thread.start()

    def note(self, body: Any) -> None:
        """Note one run."""
        self._seen.append((body["n"], time.monotonic()))

    def close(self) -> None:
        """Write all of it down."""
        self._over.set()
        self._thread.join()
        (self._folder / f"seen-{os.getpid()}").write_text(json.dumps(self._seen))

    def _tell(self) -> None:
        file = os.open(self._folder / f"count-{os.getpid()}", os.O_WRONLY | os.O_CREAT)
        while not self._over.wait(OFTEN):
            os.pwrite(file, f"{len(self._seen):12}".encode(), 0)


def counted(folder: Path) -> int:
    """Count the runs of all processes so far."""
    return sum(int(file.read_text() or 0) for file in folder.glob("count-*"))


def seen(folder: Path) -> Iterator[tuple[int, float]]:
    """Yield what all processes have seen, and delete it."""
    for file in folder.glob("seen-*"):
        yield from ((n, at) for n, at in json.loads(file.read_text()))
        file.unlink()
    for file in folder.glob("count-*"):
        file.unlink()
