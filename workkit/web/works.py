"""Work of the web process that takes a while: paced retries, discards that are held back, a dead job that is tried.

A thread each, and only while it has something to do. If the process ends, what it has not done stays undone: that is
the promise. Progress is read from the values, by any page.
"""

from __future__ import annotations

import secrets
import time
from collections.abc import Callable
from contextvars import copy_context
from dataclasses import dataclass, field
from math import ceil
from threading import Event, Lock, Thread
from typing import Final, Literal

from workkit.errors import InvalidOptions, WorkkitError

MOST_AT_ONCE: Final = 20
SHOWN_S: Final = 60.0
"""How long pages show a work that is over to everyone."""

KEPT_S: Final = 600.0
"""So long it is kept, for who started it."""

Kind = Literal["retry", "discard", "try", "all"]
Fate = Literal["going", "failing", "ran", "failed", "over"]
"""What is known of the one that was tried first."""


@dataclass(slots=True, eq=False, kw_only=True)
class Work:
    """One work. `total`: its number of jobs; `print`: the error they died of, where it is one; `said`: its result."""

    schedule: str
    kind: Kind
    total: int
    words: tuple[str, str] = ("", "")  # what is done, while it is and afterwards, where `kind` does not say it
    print: str = ""
    pace: str = ""
    per_ms: float = 0.0
    id: str = field(default_factory=lambda: secrets.token_hex(8))
    given: int = 0  # jobs that were put back or discarded
    refused: int = 0
    trouble: str = ""
    said: str = ""
    fate: Fate = "going"
    began: float = field(default_factory=time.monotonic)
    portion: tuple[float, int] = (0.0, 0)  # when the last one was given, and how many jobs it has
    ended: float | None = None
    job_id: str = ""  # of the one that is tried
    job: str = ""  # what it is called
    begun_ms: int = 0  # when it was, by the server's clock
    gone_ms: int = 0  # when the job was first seen to be over, by the same clock
    is_stopped: bool = False
    held_s: float = 0.0  # for how long it is held back
    stop: Event = field(default_factory=Event)

    @property
    def is_over(self) -> bool:
        """Whether nothing more is done."""
        return self.ended is not None

    @property
    def done(self) -> int:
        """How many have begun by now: of the last portion, those whose turn has come."""
        at, count = self.portion
        if not self.per_ms or not count:
            return self.given
        turns = int((time.monotonic() - at) * 1000 / self.per_ms) + 1
        return self.given - count + min(count, turns)

    @property
    def line(self) -> str:
        """Say in one line how far it is, or what became of it."""
        total, done = f"{self.total:,}", f"{self.given:,}"
        if not self.is_over:
            if self.kind == "all":
                return f"{self.words[0]} {total}: {done} done."
            if self.kind == "retry":
                return f"Retrying {total}{f' at {self.pace}' if self.pace else ''}: {self.done:,} done."
            return f"Discarding {total}: {done} done." if self.given else f"Discarding {total} in {self._left_s} s."
        verb = self.words[1] or ("Retried" if self.kind == "retry" else "Discarded")
        left = self.total - self.given - self.refused
        if self.is_stopped and not self.given:
            return f"Left {total} as they are."
        said = f"{verb} {done}" + (f" of {total}" if left or self.refused else "")
        said += f"; {self.refused:,} could not be" if self.refused else ""
        said += f"; {left:,} left as they are" if left else ""
        return f"{said}. {self.trouble}".strip() if self.trouble else f"{said}."

    @property
    def _left_s(self) -> int:
        return max(0, ceil(self.began + self.held_s - time.monotonic()))

    def hold(self, count: int) -> None:
        """Note that a portion of `count` jobs was given."""
        self.portion = (time.monotonic(), count)

    def wait(self, seconds: float) -> bool:
        """Wait for a time, or until it is stopped. True: it was stopped."""
        return self.stop.wait(seconds)


class Works:
    """All works of a process."""

    def __init__(self) -> None:
        self._lock = Lock()
        self._works: dict[str, Work] = {}
        self._is_closed = False

    def start(self, work: Work, run: Callable[[Work], None]) -> None:
        """Do it in a thread. Raises InvalidOptions where too much is under way."""
        with self._lock:
            self._forget()
            under_way = sum(not one.is_over for one in self._works.values())
            if under_way >= MOST_AT_ONCE or self._is_closed:
                trouble = f"does {under_way:,} things at once already" if not self._is_closed else "is ending"
                raise InvalidOptions.about("this process", trouble, "Wait until one is over, or stop one.")
            self._works[work.id] = work
        here = copy_context()  # who acts
        Thread(target=here.run, args=(self._run, work, run), name=f"workkit-web-{work.kind}", daemon=True).start()

    def keep(self, work: Work) -> None:
        """Keep a work that needs no thread."""
        with self._lock:
            self._forget()
            self._works[work.id] = work

    def _run(self, work: Work, run: Callable[[Work], None]) -> None:
        try:
            run(work)
        except WorkkitError as error:
            work.trouble = str(error)
        finally:
            work.is_stopped = work.stop.is_set()
            work.ended = time.monotonic()

    def find(self, id: str) -> Work | None:
        """Find one by its id."""
        with self._lock:
            return self._works.get(id)

    def of(self, schedule: str) -> tuple[Work, ...]:
        """List those of a schedule that go on, and those that have ended a short while ago."""
        with self._lock:
            self._forget()
            return tuple(one for one in self._works.values() if one.schedule == schedule and _is_told(one))

    def close(self) -> None:
        """Stop all: what was not done stays as it is."""
        with self._lock:
            self._is_closed = True
            for one in self._works.values():
                one.stop.set()

    def _forget(self) -> None:
        now = time.monotonic()
        for id, one in [*self._works.items()]:
            if one.ended is not None and now - one.ended > KEPT_S:
                del self._works[id]


def _is_told(work: Work) -> bool:
    return work.ended is None or work.kind == "try" or time.monotonic() - work.ended <= SHOWN_S
