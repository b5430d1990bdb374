"""The inspector of an exchange. It changes nothing; for one exception see section 10 of spec/layouts/hutch.md."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from typing import Final, NoReturn

from workkit.brokers.hutch.beside import place as beside_look
from workkit.brokers.hutch.beside.place import Beside
from workkit.brokers.hutch.broker_facts import Closed
from workkit.brokers.hutch.held import Delayed, dead_messages, due_jobs
from workkit.brokers.hutch.known import Known, depths, known_queues, listening
from workkit.brokers.hutch.management_api import Management
from workkit.brokers.hutch.message import is_ours
from workkit.brokers.hutch.names import Names
from workkit.brokers.hutch.wire.link import Link, Wire
from workkit.clocks import time
from workkit.contract.composed import composed_pulse, counted_page
from workkit.contract.inspector import Counts, LimitUse, Pulse, QueueInfo, Recurs, no_recurring
from workkit.contract.listener import ListenerInfo
from workkit.contract.optional import no_history
from workkit.contract.where import JobPage, JobQuery
from workkit.errors import Ambiguous, NotFound, Unsupported
from workkit.jobs.admission import Control
from workkit.jobs.job import Job, JobState
from workkit.jobs.names import shown
from workkit.text.wording import listed

SHORTEST: Final = 6  # characters of an id that name a job, at least
SILENT: Final = 30.0  # seconds in which an API that does not answer is not asked again
COUNTED: Final = "Messages that come again after a failure are counted as waiting."
UNASKED: Final = (
    "listing waiting jobs cannot be done here. Delayed messages are held while somebody looks: "
    "ask for them, workkit list --state waiting."
)
LISTED: Final = "Messages that come again after a failure are listed as waiting."
HELD: Final = "Messages that listeners hold cannot be listed, only counted."


@dataclass(slots=True, kw_only=True)
class HutchInspector:
    """Reads one exchange: by AMQP, and by the management API for answers that AMQP lacks. Thread-safe."""

    link: Link
    names: Names
    management: Management
    delayed: Delayed
    beside: Beside | None = None
    _closed: Closed | None = None  # the reason, while an API that has not answered in time is not asked
    _until: float = 0.0
    _is_same: bool = False

    def is_known(self) -> None:
        """Return None: a RabbitMQ does not tell which of its exchanges are schedules."""
        return

    def counts(self) -> Counts:
        """Count the messages in each state: see `Inspector.counts`. Due, running and late jobs are those of our
        namespace.
        """
        known, now_ms = self._known(), _now_ms()
        ours, dead_queue = known.ours, self.names.dead_queue
        depth = depths(self.link, [*ours, *known.delays, dead_queue])
        ready = {queue: depth[queue].ready for queue in ours if queue in depth}
        late = [now_ms - 1000 * fact.oldest_s for fact in map(known.facts.get, ready)
                if fact is not None and fact.oldest_s is not None and ready[fact.name]]  # fmt: skip
        found = listening(self.management, known, now_ms=now_ms)
        return Counts(
            waiting=sum(depth[queue].ready + _moving(known, queue) for queue in known.delays if queue in depth),
            due=sum(ready.values()),
            running=sum(known.facts[queue].unacknowledged for queue in ours if queue in known.facts),
            dead=depth[dead_queue].ready if dead_queue in depth else 0,
            listeners=0 if isinstance(found, Closed) else len(found),
            late_ms=max(0, *late) if late else None,
            unknown=_unknown(known, found),
        )

    def pulse(self) -> Pulse:
        """Read a pulse from the other calls: see `Inspector.pulse`. It leaves out delayed messages, because pages ask
        often.
        """
        pulse = composed_pulse(self, now_ms=_now_ms(), soon=("due",))
        return replace(pulse, unknown={"soon": UNASKED, **pulse.unknown})

    def jobs(
        self, *, state: JobState | None = None, named: Sequence[str] = (), tagged: Sequence[str] = ()
    ) -> Iterator[Job]:
        """List jobs: due ones, at most 100 messages of each queue of our namespace, or our delayed ones, soonest first;
        dead ones, oldest first; or running ones, if a Redis is beside. Raises Unsupported for other states.
        """
        if state == "dead":
            return self._dead()
        missing = self.unlisted()
        if state is None:
            seen = [f'state="{one}"' for one in ("due", "waiting", "running", "dead") if one not in missing]
            why = " ".join(dict.fromkeys(missing.values()))
            raise Unsupported.about(
                "listing all jobs", f"cannot be done here. {why}", f"Accepted: {listed(seen, 'or')}."
            )
        if state in missing:
            trouble = f"cannot be done here. {missing[state].rstrip('.')}"
            remedy = f"Count them: workkit stats {self.names.exchange}."
            raise Unsupported.about(f"listing {state} jobs", trouble, remedy, where="state", given=state)
        if state == "running":
            return self._running()
        if state == "waiting":
            return iter(self.delayed.jobs())
        return self._due() if state == "due" else iter(())

    def unlisted(self) -> Mapping[JobState, str]:
        """See `Inspector.unlisted`. Due jobs can be listed if the names of their queues are known."""
        known = self._known()
        found: dict[JobState, str] = {"running": HELD, "retrying": LISTED}
        if self.beside is not None:
            del found["running"]
        if known.closed is not None and not known.keys:
            found["due"] = _names_needed(known.closed)
        return found

    def page(self, query: JobQuery) -> JobPage:
        """Read a page of jobs, from the first one on, of the states that can be listed: see `Inspector.page`."""
        return counted_page(self, query, now=datetime.fromtimestamp(_now_ms() / 1000, UTC), clock_s=time.monotonic)

    def job(self, which: str) -> Job:
        """Find a message that is delayed, due or dead by its id, or by the beginning of it. Raises NotFound."""
        found: dict[str, Job] = {}
        near: Job | None = None
        for job in self._seen() if which else ():
            if job.id == which:
                return job
            if job.id.startswith(which) or job.short_id.startswith(which):
                near = near or job
                if len(which) >= SHORTEST:
                    found.setdefault(job.id, job)
        if len(found) == 1:
            return next(iter(found.values()))
        if found:
            raise Ambiguous.among(which, found, "give more characters")
        hint = f" Nearest: {near.short_id} {shown(near.fn)} ({near.state})." if near else ""
        where, suggestion = self.names.exchange, near.short_id if near else None
        remedy = (
            "Dead messages are searched, those that workkit has delayed, and the first of each work queue: it may be "
            f"further back, held by a listener, delayed by another library, or done.{hint}"
        )
        raise NotFound.about(
            f'no job "{which}"', f"in {where}", remedy, where=where, given=which, suggestion=suggestion
        )

    def recurring(self) -> list[Recurs]:
        """Raise Unsupported: every message runs once."""
        raise no_recurring("are not kept in this layout: a message runs once", "Only the native layout keeps them.")

    def listeners(self) -> list[ListenerInfo]:
        """List the consumers, ours and others. Raises Unsupported if the management API does not answer, and no Redis
        is beside, which knows our listeners and their running jobs.
        """
        known = self._known()
        found = listening(self.management, known, now_ms=_now_ms())
        if self.beside is not None:
            others = () if isinstance(found, Closed) else (one for one in found if not is_ours(one.listener))
            return [*beside_look.listeners(self.beside, self.names), *others]
        if isinstance(found, Closed):
            trouble = f"is told by RabbitMQ's management API alone, and {found.where} {found.trouble}"
            raise Unsupported.about("who listens", trouble, found.remedy, where=found.where)
        return found

    def queues(self, *, jobs: Sequence[str] = ()) -> list[QueueInfo]:
        """List the queues: see `Queues.queues`. Raises InvalidFunction for a name that is no routing key."""
        return self._known(jobs).infos(self.link)

    def control(self) -> Control:
        """Read the pauses and limits in the Redis beside; the broker itself has none."""
        return Control() if self.beside is None else beside_look.control(self.beside)

    def limits(self, *, like: str = "") -> list[LimitUse]:
        """List the taken slots in the Redis beside."""
        return [] if self.beside is None else beside_look.limits(self.beside)

    @property
    def history(self) -> NoReturn:
        """Raise Unsupported: no past runs are kept."""
        raise no_history()

    def _running(self) -> Iterator[Job]:
        if self.beside is not None:
            yield from (one.job for one in beside_look.running(self.beside, self.names))

    def _seen(self) -> Iterator[Job]:
        yield from self._running()
        yield from self._due()
        yield from self.delayed.jobs()
        yield from self._dead()

    def _due(self) -> Iterator[Job]:
        return due_jobs(self.link, self._known().ours, schedule=self.names.exchange)

    def _dead(self) -> Iterator[Job]:
        return (one.job(schedule=self.names.exchange) for one in dead_messages(self.link, self.names.dead_queue))

    def _known(self, jobs: Sequence[str] = ()) -> Known:
        is_left_alone = time.monotonic() < self._until
        closed = self._closed if is_left_alone else self._belongs()
        known = known_queues(self.link, self.management, self.names, jobs=jobs, closed=closed)
        if not is_left_alone and known.closed is not None and known.closed.why == "silent":
            self._closed, self._until = known.closed, time.monotonic() + SILENT
        return known

    def _belongs(self) -> Closed | None:
        """Check once whether the API is that of this broker: the port may belong to another one on the same host."""
        if not self._is_same:
            try:
                self.management.check(self.link.run(_cluster))
            except Closed as error:
                return error
            self._is_same = True
        return None


def _moving(known: Known, queue: str) -> int:
    return known.facts[queue].moving if queue in known.facts else 0


def _unknown(known: Known, found: Sequence[ListenerInfo] | Closed) -> dict[str, str]:
    """Return the unknown counts, each with the reason."""
    unknown = {"retrying": COUNTED}
    if known.closed is not None:
        unknown |= dict.fromkeys(("due", "running", "late_ms"), _names_needed(known.closed))
    if isinstance(found, Closed):
        unknown["listeners"] = _names_needed(found)
    return unknown


def _names_needed(closed: Closed) -> str:
    what = "Which queues there are, who holds messages, and which of them have not left their delay in time"
    return f"{what}, RabbitMQ's management API alone tells: {closed}"


async def _cluster(wire: Wire) -> str:
    return wire.cluster


def _now_ms() -> int:
    return round(time.time() * 1000)
