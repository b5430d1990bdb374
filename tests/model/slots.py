"""Slots and who waits for them: what the scripts share that take, free and promote."""

from __future__ import annotations

from collections.abc import Iterable

from tests.model.protocol import Entry, JobSpec, Occ, Plan, Server

PAUSED = "paused:"
TO_THE_END = ("over:", "unique:")  # slots that an occurrence keeps while it waits for another attempt


class Slots:
    """The limit keys of one plan, with its seeded faults."""

    def __init__(self, plan: Plan) -> None:
        self._limits, self.jobs, self.bugs = dict(plan.limits), plan.jobs, plan.bugs

    def needed(self, job: str, listener: int = 0) -> tuple[str, ...]:
        """The keys of a job as a listener knows them, from the most specific to the most general."""
        spec = self.jobs[job]
        return (*to_the_end(spec, job), *(spec.added if listener else ()), *spec.keys)

    def asked(self, job: str, listener: int) -> tuple[str, ...]:
        """The same, as it asks for them."""
        keys = self.needed(job, listener)
        return tuple(k for k in keys if not k.startswith("unique:")) if "replaced_runs_beside" in self.bugs else keys

    def limit(self, key: str) -> int:
        """How many may own a key at a time."""
        return self._limits.get(key, 1)

    def is_full(self, s: Server, key: str) -> bool:
        """Whether nobody else may own the key."""
        return sum(k == key for k, _ in s.owners) >= self.limit(key)

    def parked(self, s: Server, key: str, e: Entry) -> Server:
        """Beside the queue, until somebody promotes it."""
        return s._replace(waiting=s.waiting | {(key, e)})

    def freed(self, s: Server, occ: Occ, keys: Iterable[str]) -> Server:
        """These slots of an occurrence are free: for each, those that wait go on while there is room."""
        for key in keys:
            s = s._replace(owners=s.owners - {(key, occ)})
            if "settle_without_promotion" not in self.bugs:
                s = self._promoted(s, key)
        return s

    def _promoted(self, s: Server, key: str) -> Server:
        while not self.is_full(s, key):
            first = min((e for k, e in s.waiting if k == key), key=lambda e: (e.occ, e), default=None)
            if first is None:
                return s
            s = s._replace(waiting=s.waiting - {(key, first)}, again=s.again | {first})
            if "promote_without_slot" not in self.bugs:
                s = s._replace(owners=s.owners | {(key, first.at)})
        return s


def to_the_end(spec: JobSpec, job: str) -> tuple[str, ...]:
    """The keys under which no other begins before an occurrence of this job is over."""
    over = (f"over:{job}",) if spec.overlap else ()
    return over + ((f"unique:{spec.unique}",) if spec.unique and not spec.until_started else ())


def kept(keys: Iterable[str]) -> tuple[str, ...]:
    """Which of the slots go with an occurrence that is not over."""
    return tuple(k for k in keys if k.startswith(TO_THE_END))
