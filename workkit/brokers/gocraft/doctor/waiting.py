"""Check what waits: queues that no pool serves, paused and late ones, names that are not known, and jobs that a Go pool
would bury.
"""

from __future__ import annotations

import shlex
from collections.abc import Iterator
from dataclasses import dataclass, field

from workkit.brokers.gocraft.doctor.fleet import Fleet
from workkit.brokers.gocraft.doctor.place import Place
from workkit.brokers.gocraft.doctor.repair import Exposed, Unknown
from workkit.brokers.gocraft.doctor.survey import Survey, Text, raw
from workkit.brokers.gocraft.text import JobText, read
from workkit.contract.doctor import Finding
from workkit.errors import CorruptRecord
from workkit.text.duration import age_text
from workkit.text.raw import brief_bytes, bytes_text

LATE_MS = 60_000  # a job that has been in a queue for longer is a finding
LONG = 1000  # so many jobs in a paused queue are a finding however young they are
MOST_KEPT = 20_000  # texts in one finding
LAST_S = 253_402_300_799  # the end of the year 9999


@dataclass(slots=True)
class Waiting:
    """What waits in the shared sorted sets under names that some Go pool does not serve. Every text of a walk is told
    to it.
    """

    survey: Survey
    fleet: Fleet
    exposed: dict[tuple[str, str], list[bytes]] = field(default_factory=dict)

    def see(self, text: Text, job: JobText) -> None:
        """Note a job that a Go pool would bury when it is due."""
        if text.place.kind not in ("scheduled", "retry") or not job.name:
            return
        is_guarded = any(pool.is_ours and pool.serves(job.name) for pool in self.fleet.living)  # by its heartbeats
        if not is_guarded and any(not pool.serves(job.name) for pool in self.fleet.burying):
            texts = self.exposed.setdefault((text.place.kind, job.name), [])
            if len(texts) < MOST_KEPT:
                texts.append(text.data)

    def findings(self) -> Iterator[Finding]:
        """Yield the findings of the walk, and those of the queues."""
        for (place, name), texts in sorted(self.exposed.items()):
            yield self._buried(place, name, texts)
        yield from self._held()
        known = set(self.survey.members("known_jobs"))
        queues = self.survey.of("queue")
        lengths = self.survey.asked(("LLEN", queue.key) for queue in queues)
        unserved = []
        for queue, length in zip(queues, lengths, strict=True):
            if not isinstance(length, int) or not length:
                continue
            if queue.name not in known:
                yield self._unknown(queue)
            if (paused := self._paused(queue, length)) is not None:
                yield paused
            elif not self.fleet.serves(queue.name):
                unserved.append((queue, length))
            elif (late := self._late(queue, length)) is not None:
                yield late
        if unserved:
            yield from self._unserved(unserved)

    @property
    def _name(self) -> str:
        return self.survey.keys.namespace

    def _buried(self, place: str, name: str, texts: list[bytes]) -> Finding:
        repairs = any(pool.is_ours for pool in self.fleet.living)
        jobs = "1 job" if len(texts) == 1 else f"{len(texts):,} jobs"
        pools = [brief_bytes(raw(pool.id)) for pool in self.fleet.burying if not pool.serves(name)]
        key = self.survey.keys.scheduled if place == "scheduled" else self.survey.keys.retry
        return Finding(
            kind="buried",
            what=f"{jobs} of {brief_bytes(raw(name))} in {key} will be buried by the Go pool {pools[0]}"
            + (f" or {len(pools) - 1:,} more" if len(pools) > 1 else ""),
            why="A Go pool that finds a job due which it does not serve puts it into the dead set.",
            remedy=f"workkit doctor {self._name} --fix"
            if repairs
            else f"workkit listen {self._name}; then workkit doctor {self._name} --fix",
            repairs=repairs,
            subject=Exposed(place=place, name=name, texts=tuple(texts)) if repairs else None,
            about=tuple(_id(text) for text in texts[:1000]),
        )

    def _held(self) -> Iterator[Finding]:
        """Name jobs in keys of ours that no pool moves."""
        if any(pool.is_ours for pool in self.fleet.living):
            return
        for place in (*self.survey.of("held"), *self.survey.of("held_retry")):
            (count,) = self.survey.asked([("ZCARD", place.key)])
            jobs = "1 job waits" if count == 1 else f"{count:,} jobs wait"
            yield Finding(
                kind="held",
                what=f"{jobs} in {place.key}, and no pool of ours lives",
                why="Go pools do not look there: it keeps jobs that one of them would bury.",
                remedy=f"workkit listen {self._name}",
            )

    def _unknown(self, queue: Place) -> Finding:
        return Finding(
            kind="unknown-name",
            what=f"{brief_bytes(raw(queue.name))} has a queue and is not in {self.survey.keys.known_jobs}",
            why="The client and the web UI of Go do not show its queue, and dead jobs of it cannot be retried there.",
            remedy=f"workkit doctor {self._name} --fix",
            repairs=True,
            subject=Unknown(name=queue.name),
            about=(bytes_text(raw(queue.name)),),
        )

    def _paused(self, queue: Place, length: int) -> Finding | None:
        (is_paused,) = self.survey.asked([("EXISTS", self.survey.keys.paused(queue.name))])
        if not is_paused or (length < LONG and (self._oldest(queue) or 0) < LATE_MS):
            return None
        name, is_all = queue.name, self.survey.of("paused_all")
        jobs = "1 job waits" if length == 1 else f"{length:,} jobs wait"
        words = "" if is_all else f" --fn {shlex.quote(bytes_text(raw(name)))}"
        return Finding(
            kind="paused",
            what=f"{brief_bytes(raw(name))} is paused{' with its namespace' if is_all else ''}, and {jobs}",
            why="None of them starts before somebody resumes it.",
            remedy=f"workkit resume {self._name}{words}",
            about=(bytes_text(raw(name)),),
        )

    def _late(self, queue: Place, length: int) -> Finding | None:
        late = self._oldest(queue)
        if late is None or late < LATE_MS:
            return None
        jobs = "1 job waits" if length == 1 else f"{length:,} jobs wait"
        return Finding(
            kind="overdue",
            what=f"{jobs} in the queue of {brief_bytes(raw(queue.name))}; the next of them for {age_text(late)}",
            why="The pools that serve it cannot keep up, or its limit is reached.",
            remedy=f"workkit listen {self._name}, on more machines or with more --threads",
            about=(bytes_text(raw(queue.name)),),
        )

    def _oldest(self, queue: Place) -> int | None:
        """For how many ms the next job has been in its queue."""
        (data,) = self.survey.asked([("LINDEX", queue.key, "-1")])
        try:
            at = read(data).t if isinstance(data, bytes) else 0
        except CorruptRecord:
            return None
        return self.survey.now_ms - 1000 * at if 0 < at <= LAST_S else None

    def _unserved(self, queues: list[tuple[Place, int]]) -> Iterator[Finding]:
        total = sum(length for _, length in queues)
        if not self.fleet.living:
            jobs = "1 job waits" if total == 1 else f"{total:,} jobs wait"
            yield Finding(
                kind="no-listener",
                what=f"no pool lives in {self._name}, and {jobs}",
                why="No job runs until a pool starts.",
                remedy=f"workkit listen {self._name}",
            )
            return
        for queue, length in queues:
            jobs = "1 job waits" if length == 1 else f"{length:,} jobs wait"
            name = brief_bytes(raw(queue.name))
            yield Finding(
                kind="nobody-runs",
                what=f"{jobs} in the queue of {name}, and no pool that lives serves it",
                why="They wait for a pool that serves this name.",
                remedy=f"workkit listen {self._name}, on a machine with the code of {name}",
                about=(bytes_text(raw(queue.name)),),
            )


def _id(data: bytes) -> str:
    return read(data).id
