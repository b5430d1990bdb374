"""Change one job of a namespace: cancel it, or run it now. Python finds its texts and decides, a script moves them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from typing import Any

from workkit.brokers.gocraft.change.dead_set import Move, requeue, revival
from workkit.brokers.gocraft.keys import Keys
from workkit.brokers.gocraft.places import SORTED_SETS, Places, Standing
from workkit.brokers.gocraft.text import rewrite
from workkit.brokers.redis_server.pages import server_ms
from workkit.brokers.redis_server.script import load
from workkit.brokers.redis_server.server import Server
from workkit.contract.admin import dead_refusal
from workkit.errors import InvalidOptions, NotFound, Unsupported
from workkit.jobs.job import Job
from workkit.jobs.names import shown

TRIES = 5  # of a step, if its job moves meanwhile


@dataclass(frozen=True, slots=True, kw_only=True)
class JobChange:
    """Changes single jobs of one namespace."""

    server: Server
    keys: Keys
    schedule: str

    def cancel(self, job: Job) -> Job:
        """See `Admin.cancel`. A waiting job frees the unique key that it holds. Raises Unsupported where a Go pool runs
        the job.
        """
        for _ in range(TRIES):
            found = [one for one in self._found(job.id) if one.place != "dead"]
            states = self._cancel(found)
            if "foreign" in states:
                remedy = "Wait until it has ended. If it fails, cancel its next attempt."
                raise Unsupported.about(_named(job), "runs in a Go pool, which cannot be told", remedy, given=job.id)
            if "marked" in states:
                return replace(job, state="cancelling")
            if "removed" in states:
                return job
            if not found:
                break
        if job.state == "dead":
            raise dead_refusal(job)
        raise NotFound(f'no job "{job.id}" in {self.schedule}: it ended meanwhile.', given=job.id)

    def run(self, job: Job) -> Job:
        """See `Admin.run`. A job that is in its queue stays there; a dead one counts its failures from 0 again."""
        for _ in range(TRIES):
            found = [one for one in self._found(job.id) if one.place != "running"]
            if any(one.place == "queue" for one in found):
                return self._due(job, server_ms(self.server))
            now_ms = server_ms(self.server)
            moves = [self._move(one, now_ms // 1000) for one in found if one.text is not None and one.text.name][:1]
            states = requeue(self.server, self.keys, moves)
            if "revived" in states:
                return self._due(job, now_ms)
            if "waits" in states:
                trouble = "is dead, and an equal job waits that has its unique key"
                raise InvalidOptions.about(_named(job), trouble, "Run that one.", given=job.id)
            if not moves:
                break
        raise NotFound(f"{_named(job)} no longer waits in {self.schedule}.", given=job.id)

    def _found(self, id: str) -> list[Standing]:
        """Find the texts of a job: usually one."""
        found = [one for one in Places(self.server, self.keys, about=id).everywhere() if one.id == id]
        return found or [one for one in Places(self.server, self.keys).everywhere() if one.id == id]

    def _cancel(self, found: Sequence[Standing]) -> set[str]:
        args: list[Any] = [self.keys.prefix]
        for one in found:
            match one.place:
                case "running":
                    args += ["p", one.name, one.raw, one.pool]
                case "queue":
                    args += ["q", one.name, one.raw, one.holds_key(self.keys)]
                case place:
                    args += [1 + SORTED_SETS.index(place), one.name, one.raw, one.holds_key(self.keys)]
        if not found:
            return set()
        script = load("gocraft")["cancel"]
        return {state.decode() for state in self.server.call(script, script.keys(self.keys), args)}

    def _move(self, one: Standing, now_s: int) -> Move:
        assert one.place != "queue"
        assert one.place != "running"
        assert one.text is not None
        if one.place == "dead":
            return revival(self.keys, one.raw, one.text, now_s=now_s)
        return Move(one.place, one.raw, one.text.name, rewrite(one.raw, t=now_s))

    def _due(self, job: Job, now_ms: int) -> Job:
        due, is_dead = datetime.fromtimestamp(now_ms // 1000, UTC), job.state == "dead"
        anew: dict[str, Any] = {"attempt": 0, "error": None, "dead_id": None} if is_dead else {}
        return replace(job, state="due", due=due, **anew)


def _named(job: Job) -> str:
    return f"{job.short_id} {shown(job.fn)}"
