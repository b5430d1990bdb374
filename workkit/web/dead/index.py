"""The index of the dead jobs: read once, in the background where there are many, then kept fresh whenever a page asks.

Nothing is sent to the server while no page asks. Thread-safe.
"""

from __future__ import annotations

import time
from collections.abc import Collection
from dataclasses import dataclass
from functools import cached_property
from itertools import islice
from threading import Lock, Thread
from typing import Final

from workkit.contract.broker import Inspector
from workkit.contract.inspector import Graves
from workkit.errors import Unsupported, WorkkitError
from workkit.web.dead.grave import Grave, grave_of
from workkit.web.dead.groups import Group, by_error
from workkit.web.hiding.veil import Veil

MOST: Final = 20_000
"""So many are kept, the last ones."""

PAGE: Final = 500
AT_ONCE: Final = 2  # pages that are read while a request waits; of more, the rest is read in the background
AGAIN_S: Final = 30.0  # so often all is read anew, at most
LOOK_S: Final = 1.0  # so often it is asked which ones still stand, at most


@dataclass(frozen=True, kw_only=True)
class Known:
    """What the index knows now. `graves`: the last one first; `of`: how many there were at the last look; `is_all`:
    all of them were read; `most`, `kept_ms`: see `Graves`.
    """

    graves: tuple[Grave, ...]
    of: int
    is_all: bool
    most: int | None = None
    kept_ms: int | None = None
    trouble: str = ""

    @cached_property
    def groups(self) -> list[Group]:
        """All of them by their error."""
        return by_error(self.graves)


class DeadIndex:
    """The dead jobs of one schedule, masked by one veil."""

    def __init__(self, veil: Veil) -> None:
        self._veil = veil
        self._lock = Lock()  # for the values
        self._reading = Lock()  # one reads at a time
        self._graves: dict[str, Grave] = {}
        self._after = ""
        self._page: Graves | None = None
        self._is_all = False
        self._of = 0
        self._looked = self._began = -AGAIN_S
        self._trouble = ""
        self._known: Known | None = None  # as long as nothing has changed

    def look(self, inspector: Inspector, *, count: int, reads_whole: bool = True) -> Known:
        """Bring the index up to date, as far as that is quick, and tell what it knows. `count`: how many are dead by
        the pulse; `reads_whole`: also where that takes reading all of them. Raises ServerUnreachable, ServerRefused.
        """
        with self._lock:
            self._of = count
        if self._reading.acquire(blocking=False):
            is_passed_on = False
            try:
                is_passed_on = self._refresh(inspector, count, reads_whole=reads_whole)
            finally:
                if not is_passed_on:
                    self._reading.release()
        with self._lock:
            page, known = self._page, self._known
            graves = known.graves if known is not None else self._sorted()
            found = Known(
                graves=graves,
                of=max(self._of, len(graves)),
                is_all=self._is_all,
                most=page.most if page else None,
                kept_ms=page.kept_ms if page else None,
                trouble=self._trouble,
            )
            if known is None or known != found:
                self._known = known = found
            return known

    def _sorted(self) -> tuple[Grave, ...]:
        return tuple(sorted(self._graves.values(), key=lambda grave: -grave.died_ms))

    def left(self, dead_ids: Collection[str]) -> None:
        """Forget jobs that are not dead any more."""
        with self._lock:
            self._known = None
            for dead_id in dead_ids:
                self._graves.pop(dead_id, None)

    def of_key(self, key: str) -> Grave | None:
        """Find one by the name of its record in addresses."""
        with self._lock:
            found = self._graves.get(key)
            return found or next((grave for grave in self._graves.values() if grave.key == key), None)

    def _refresh(self, inspector: Inspector, count: int, *, reads_whole: bool) -> bool:
        """Read what is new, and forget what has left. True: a thread reads on, and ends the reading."""
        try:
            for _ in range(AT_ONCE):
                if self._read(inspector):
                    break
            else:
                Thread(target=self._read_on, args=(inspector,), name="workkit-web-dead", daemon=True).start()
                return True
        except Unsupported:
            if reads_whole:
                self._read_whole(inspector, count)
            return False
        self._compare(inspector, count)
        return False

    def _read(self, inspector: Inspector) -> bool:
        """Read one page. True: it was the last one."""
        page = inspector.graves(after=self._after, limit=PAGE)
        graves = [grave_of(job, self._veil) for job in page.jobs]
        with self._lock:
            if any(self._graves.get(grave.dead_id) != grave for grave in graves):
                self._known = None
            for grave in graves:
                self._graves.pop(grave.dead_id, None)  # one that died again stands at the end
                self._graves[grave.dead_id] = grave
            for dead_id in [*islice(self._graves, max(0, len(self._graves) - MOST))]:
                del self._graves[dead_id]
            self._page = page
            self._after = page.again if page.is_last else page.after
            self._is_all = self._is_all or page.is_last
            self._trouble = ""
        return page.is_last

    def _read_on(self, inspector: Inspector) -> None:
        try:
            while not self._read(inspector):
                pass
        except WorkkitError as error:  # the next page that asks goes on from here
            with self._lock:
                self._trouble = str(error)
        finally:
            self._reading.release()

    def _compare(self, inspector: Inspector, count: int) -> None:
        """Where the numbers differ: forget those that have left; and where some are missing, begin anew."""
        now = time.monotonic()
        if len(self._graves) == min(count, MOST) and count <= MOST:
            return
        if now - self._looked >= LOOK_S or len(self._graves) <= PAGE:  # few are asked about each time
            self._looked = now
            with self._lock:
                known = list(self._graves.values())
            stand = inspector.still_dead([grave.job for grave in known]) if known else []
            self.left([grave.dead_id for grave, stands in zip(known, stand, strict=True) if not stands])
        if len(self._graves) < min(count, MOST) and now - self._began >= AGAIN_S:
            self._began = now
            with self._lock:
                self._after = ""

    def _read_whole(self, inspector: Inspector, count: int) -> None:
        """Read all of a dead set that has no places, where its number has changed."""
        if self._is_all and len(self._graves) == min(count, MOST):
            return
        if time.monotonic() - self._looked < LOOK_S:
            return
        self._looked = time.monotonic()
        graves = [grave_of(job, self._veil) for job in islice(inspector.jobs(state="dead"), MOST)]
        with self._lock:
            self._graves, self._known = {grave.dead_id: grave for grave in graves}, None
            self._is_all, self._trouble = True, ""
