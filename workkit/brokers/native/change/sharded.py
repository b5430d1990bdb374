"""Change all shards of a schedule as if they were one."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from workkit.brokers.native.change.admin import NativeAdmin
from workkit.brokers.native.look.listing import JOB
from workkit.brokers.native.look.sharded import ShardedInspector
from workkit.brokers.native.shards import first_found
from workkit.contract.admin import Arguments, Revival
from workkit.contract.changes import Author
from workkit.contract.undo import Undo
from workkit.errors import NotFound, Unsupported
from workkit.jobs.admission import History, Pause
from workkit.jobs.job import Job
from workkit.triggers import Trigger


class ShardedAdmin:
    """Changes the shards of one schedule as if they were one."""

    at_once = 500

    def __init__(self, shards: Sequence[NativeAdmin], inspector: ShardedInspector) -> None:
        self._shards, self._inspector = tuple(shards), inspector

    def by(self, author: Author | None) -> ShardedAdmin:
        """Change all shards in somebody's name; the first shard keeps what concerns them all."""
        return ShardedAdmin([shard.by(author) for shard in self._shards], self._inspector)

    def keeping(self, undos: list[Undo]) -> ShardedAdmin:
        """Keep what undoes the changes of all shards: see `Admin.keeping`."""
        return ShardedAdmin([shard.keeping(undos) for shard in self._shards], self._inspector)

    def undo(self, undo: Undo) -> Job:
        """Undo a change in the shard that made it: see `Admin.undo`."""
        return next(shard for shard in self._shards if shard.keys.schedule == undo.place).undo(undo)

    def note(self, verb: str, after: Mapping[str, Any], *, times: int = 1, job: Job | None = None) -> None:
        """Record a change of several steps: see `Admin.note`."""
        self._shards[0].note(verb, after, times=times, job=job)

    def mark(self, text: str) -> None:
        """Keep a mark among the changes of the first shard: see `Admin.mark`."""
        self._shards[0].mark(text)

    def _told_once(self) -> list[NativeAdmin]:
        """All shards, of which only the first one says who changes them."""
        first, *others = self._shards
        return [first, *(shard.by(None) for shard in others)]

    def cancel(self, job: Job) -> Job:
        """Remove a waiting job, or mark a running one. Raises NotFound if it has ended."""
        return first_found(self._shards, job.id, lambda shard: shard.cancel(job))

    def pause(self, target: str, pause: Pause) -> None:
        """Pause a target: a job in its shard, a function or the schedule in all."""
        if target.startswith(JOB):
            job = self._inspector.job(target.removeprefix(JOB))
            self._shards[self._inspector.shard_of(job)].pause(target, pause)
        else:
            for shard in self._told_once():
                shard.pause(target, pause)

    def resume(self, target: str) -> bool:
        """End a pause in all shards. False: it was not paused."""
        shards = self._shards if target.startswith(JOB) else self._told_once()
        return True in [shard.resume(target) for shard in shards]

    def declare(self, *, limit: int | None, turn_ms: float | None) -> None:
        """Refuse a limit or a rate: each shard would count for itself. Raises Unsupported."""
        if limit is not None or turn_ms is not None:
            raise Unsupported(
                f"a schedule of {len(self._shards)} shards has no limit and no rate of its own: each shard would count "
                "for itself. Give limit= or rate= to @job.",
                given=turn_ms if limit is None else limit,
                trouble="each shard would count for itself",
                remedy="Give limit= or rate= to @job.",
            )
        for shard in self._shards:
            shard.declare(limit=None, turn_ms=None)

    def remember(self, history: History) -> None:
        """Set what is kept of past runs, in all shards."""
        for shard in self._told_once():
            shard.remember(history)

    def acknowledge(self) -> None:
        """Note that what is dead now is known, in all shards."""
        for shard in self._told_once():
            shard.acknowledge()

    def forget_history(self) -> None:
        """Remove all that is kept of past runs, in all shards."""
        for shard in self._told_once():
            shard.forget_history()

    def quiet(self, listener: str, on: bool) -> bool:
        """Have a listener take nothing new, in the shard that it serves: a process has a name in each."""
        refused: NotFound | None = None
        for shard in self._shards:
            try:
                return shard.quiet(listener, on)
            except NotFound as error:
                refused = error
        assert refused is not None, "a schedule has a shard"
        raise refused

    def skip(self, job: Job) -> Job:
        """Leave out the next run of a recurring job. Raises NotFound, InvalidOptions."""
        return first_found(self._shards, job.id, lambda shard: shard.skip(job))

    def reschedule(self, job: Job, *, trigger: Trigger | None, due_ms: int | None, dry_run: bool = False) -> Job | None:
        """Give a job another time, in the shard that it is in: see `Admin.reschedule`."""

        def moved(shard: NativeAdmin) -> Job | None:
            return shard.reschedule(job, trigger=trigger, due_ms=due_ms, dry_run=dry_run)

        return first_found(self._shards, job.id, moved)

    def snooze(self, jobs: Sequence[Job], time_ms: int, *, dry_run: bool = False) -> list[Job]:
        """Put the next run of each job off: all are looked at before the first one is changed, each in its shard."""

        def moved(job: Job, dry: bool) -> Job:
            return first_found(self._shards, job.id, lambda shard: shard.snooze([job], time_ms, dry_run=dry)[0])

        found = [moved(job, True) for job in jobs]
        return found if dry_run else [moved(job, False) for job in jobs]

    def run(self, job: Job) -> Job:
        """Run a job once now. Raises NotFound."""
        return first_found(self._shards, job.id, lambda shard: shard.run(job))

    def interrupt(self, job: Job, listener: str) -> Job:
        """Cancel one run of a job. Raises NotFound."""
        return first_found(self._shards, job.id, lambda shard: shard.interrupt(job, listener))

    def retry(
        self, dead: Sequence[Job], *, args: Arguments | None = None, delays_ms: Sequence[int] = ()
    ) -> list[Revival]:
        """Take jobs out of the dead set to run again: see `Admin.retry`. One step in each shard."""
        answers: list[Revival] = ["gone"] * len(dead)
        for shard in self._shards:
            left = [place for place, answer in enumerate(answers) if answer == "gone"]
            delays = [delays_ms[place] for place in left] if delays_ms else ()
            for place, answer in zip(
                left, shard.retry([dead[i] for i in left], args=args, delays_ms=delays), strict=True
            ):
                answers[place] = answer
        return answers

    def discard(self, dead: Sequence[Job]) -> int:
        """Remove jobs from the dead set; one step in each shard."""
        return sum(shard.discard(dead) for shard in self._shards)
