"""Change a native schedule: the front of this room."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import ClassVar

import msgpack

from workkit.brokers.native.change.dead_set import DeadSetChange
from workkit.brokers.native.change.pauses import Pauses
from workkit.brokers.native.change.runs import Runs
from workkit.brokers.native.codec import Codec, is_once
from workkit.brokers.native.keys import Keys
from workkit.brokers.native.look.items import other_items, parked_items, plain_item, server_ms
from workkit.brokers.native.look.past import Past
from workkit.brokers.native.results import write_fields
from workkit.brokers.redis_server.script import load
from workkit.brokers.redis_server.server import Server
from workkit.contract.admin import Arguments, Revival, dead_refusal
from workkit.errors import NotFound
from workkit.jobs.admission import History, Pause
from workkit.jobs.imported import imported_options
from workkit.jobs.job import Job, JobState
from workkit.jobs.result import of_cancelled
from workkit.jobs.run_options import UNSAID


@dataclass(frozen=True, slots=True, kw_only=True)
class NativeAdmin:
    """Changes one schedule. Each method may be repeated."""

    at_once: ClassVar[int] = 500  # in one step of the server
    server: Server
    keys: Keys
    codec: Codec

    def cancel(self, job: Job) -> Job:
        """Remove a waiting job, or mark a running one: see `Admin.cancel`."""
        k = self.keys
        script = load("native")["cancel"]
        recurs = 0 if is_once(job) or job.trigger is None else 1
        texts = {plain_item(job.id), *other_items(self.server, k, job.id)}
        keep_ms = job.options.over(imported_options(job.fn) or UNSAID).keep_ms
        args = [
            job.id,
            recurs,
            job.name or "",
            job.terms.unique_key or "",
            "" if keep_ms is None else keep_ms,
            b"" if keep_ms is None else _cancelled_fields(keep_ms, server_ms(self.server)),
            len(texts),
            *texts,
            *parked_items(self.server, k, job.id),
        ]
        reply = self.server.call(script, script.keys(k, which=job.id), args)
        if reply == b"unknown" and job.state == "dead":
            raise dead_refusal(job)
        if reply == b"unknown":
            raise NotFound(f'no job "{job.id}" in {self.codec.schedule}: it ended meanwhile.', given=job.id)
        state: JobState = "cancelling" if reply == b"marked" or job.state == "running" else job.state
        return replace(job, state=state)

    def pause(self, target: str, pause: Pause) -> None:
        """Pause a target: see `Admin.pause`."""
        self._pauses.pause(target, pause)

    def resume(self, target: str, *, lapsed: bool = False) -> bool:
        """End a pause: see `Admin.resume`. `lapsed`: only if its time has passed."""
        return self._pauses.resume(target, lapsed=lapsed)

    def declare(self, *, limit: int | None, turn_ms: float | None) -> None:
        """Set the schedule's own limits: see `Admin.declare`."""
        turn = "" if turn_ms is None else repr(float(turn_ms))
        self._set("limit", "" if limit is None else limit, "turn_ms", turn)

    def remember(self, history: History) -> None:
        """Set what is kept of past runs: see `Admin.remember`."""
        self._set("history", "" if history == "full" else history)

    def forget_history(self) -> None:
        """Remove all that is kept of past runs."""
        keys = Past(server=self.server, keys=self.keys).all_keys()
        with self.server.translated() as client:
            client.unlink(*keys)

    def _set(self, *settings: str | int) -> None:
        script = load("native")["declare"]
        self.server.call(script, script.keys(self.keys), settings)

    def skip(self, job: Job) -> Job:
        """Leave out the next run of a recurring job: see `Admin.skip`."""
        return self._runs.skip(job)

    def run(self, job: Job) -> Job:
        """Run a job once now: see `Admin.run`."""
        return self._runs.run(job)

    def retry(
        self, dead: Sequence[Job], *, args: Arguments | None = None, delays_ms: Sequence[int] = ()
    ) -> list[Revival]:
        """Take jobs out of the dead set to run again: see `Admin.retry`."""
        return self._dead_set.retry(dead, args=args, delays_ms=delays_ms)

    def discard(self, dead: Sequence[Job]) -> int:
        """Remove jobs from the dead set: see `Admin.discard`."""
        return self._dead_set.discard(dead)

    @property
    def _pauses(self) -> Pauses:
        return Pauses(server=self.server, keys=self.keys, codec=self.codec)

    @property
    def _runs(self) -> Runs:
        return Runs(server=self.server, keys=self.keys, codec=self.codec)

    @property
    def _dead_set(self) -> DeadSetChange:
        return DeadSetChange(server=self.server, keys=self.keys, codec=self.codec)


def _cancelled_fields(keep_ms: int, now_ms: int) -> bytes:
    """Write the result of a job that is removed before it runs."""
    fields = write_fields(of_cancelled(keep_ms, "cancelled before it started"), occurrence="", due_ms=now_ms)
    return bytes(msgpack.packb(fields, use_bin_type=False, unicode_errors="surrogatepass"))
