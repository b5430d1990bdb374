"""Check for work that is late, and for the pauses that hold it back."""

from __future__ import annotations

import shlex
from collections.abc import Iterator
from dataclasses import dataclass

from workkit.brokers.native.entry import PAUSED, due_ms, under
from workkit.brokers.native.look.published import Places
from workkit.brokers.redis_server.control import LAST_MS, standing_control
from workkit.contract.doctor import Finding
from workkit.jobs.admission import Control, pause_text
from workkit.jobs.names import shown
from workkit.text.duration import age_text
from workkit.text.raw import brief_bytes

LATE_MS = 60_000  # work that has been due for longer than this is a finding


@dataclass(slots=True, kw_only=True)
class Overdue:
    """Counts the work of one schedule that has been due for a long time."""

    places: Places
    late: int = 0
    oldest_ms: int = 0

    def count(self, due_ms: int) -> None:
        """Count an item of `S:next` if it is late."""
        if due_ms < self.places.now_ms - LATE_MS:
            self.oldest_ms = min(self.oldest_ms or due_ms, due_ms)
            self.late += 1

    def findings(self) -> Iterator[Finding]:
        """Add what waits in `S:again` and under pauses, and name what is late."""
        k, before = self.places.keys, self.places.now_ms - LATE_MS
        with self.places.server.translated() as client:
            first = client.zrange(k.again, 0, 0, withscores=True)
            again = client.zcount(k.again, "-inf", before)
        if again:
            self.late += again
            self.oldest_ms = min(self.oldest_ms or LAST_MS, max(0, due_ms(repr(first[0][1]))))
        control = standing_control(self.places.server, k.control)
        yield from self._paused(control, before)
        if self.late and "schedule" not in control.paused:
            late = "1 job is" if self.late == 1 else f"{self.late:,} jobs are"
            oldest = age_text(self.places.now_ms - self.oldest_ms)
            yield Finding(
                kind="overdue",
                what=f"{late} due for more than a minute; the oldest for {oldest}",
                why="No listener is there, or the listeners cannot keep up.",
                remedy=f"workkit listen {k.schedule}, on more machines or with more --threads",
            )

    def _paused(self, control: Control, before: int) -> Iterator[Finding]:
        """Name the pauses under which something is late."""
        k = self.places.keys
        for target, pause in sorted(control.paused.items()):
            with self.places.server.translated() as client:
                bounds = under(f"{PAUSED}{target}".encode("utf-8", "surrogateescape"), before_ms=before)
                late = client.zlexcount(k.waiting, *bounds) + (self.late if target == "schedule" else 0)
            if late:
                kind, _, of = target.partition(":")
                what = {"schedule": k.schedule, "fn": shown(of)}.get(kind, f"job {brief_bytes(of.encode())}")
                which = {"schedule": "", "fn": f" --fn {shlex.quote(of)}"}.get(kind, f" {shlex.quote(of)}")
                jobs = "1 job has" if late == 1 else f"{late:,} jobs have"
                yield Finding(
                    kind="paused",
                    what=f"{what} is {pause_text(pause)}; {jobs} been due for more than a minute",
                    why="None of them starts before somebody resumes it.",
                    remedy=f"workkit resume {k.schedule}{which}",
                    about=(target,),
                )
