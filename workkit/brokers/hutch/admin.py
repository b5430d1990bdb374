"""Manual changes of an exchange: delayed and dead messages, and the pauses and limits in the Redis beside.

AMQP can only find a dead message by reading the queue from its head. The copy of a message is confirmed before the
message is taken out, so a crash in between leaves both. Normative: spec/layouts/hutch.md, section 10.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final, NoReturn

from workkit.brokers.hutch import compose
from workkit.brokers.hutch.beside.place import Beside
from workkit.brokers.hutch.codec import DeadMessage, fingerprint, needs_redis
from workkit.brokers.hutch.held import DEAD_PAGE, Delayed, Delivery, Held
from workkit.brokers.hutch.message import UNIQUE, Message, text, write_body
from workkit.brokers.hutch.names import Names
from workkit.brokers.hutch.topology import work
from workkit.brokers.hutch.wire.channel import NO_ROUTE
from workkit.brokers.hutch.wire.link import Link
from workkit.brokers.hutch.wire.outlet import Outlet
from workkit.brokers.redis_server.control import write_pause
from workkit.clocks import time
from workkit.contract.admin import (
    Acknowledged,
    Arguments,
    Author,
    Forgotten,
    Limited,
    NewTime,
    NextRun,
    Paused,
    Resumed,
    Revival,
    Steer,
    Undo,
    not_one_run,
    unmoved,
    unsteered,
)  # fmt: skip
from workkit.errors import InvalidArguments, NotFound, ServerRefused, Unsupported
from workkit.jobs.job import Job
from workkit.jobs.names import shown

NATIVE = "Keep such jobs in a native schedule, and forward it here."
LOOKS: Final = (0.0, 0.1, 0.4)  # seconds before each look: another program may hold the messages briefly
Act = Callable[[Sequence[tuple[int, Delivery]]], list[Delivery]]
"""A function that acts on found messages, each with its place in the request, and returns the messages to take out."""


@dataclass(frozen=True, slots=True, kw_only=True)
class HutchAdmin:
    """Changes one exchange. Each method may be repeated. Without a Redis beside pauses and limits raise Unsupported."""

    link: Link
    outlet: Outlet
    names: Names
    delayed: Delayed
    beside: Beside | None = None

    def by(self, author: Author | None, *, undos: list[Undo] | None = None) -> HutchAdmin:
        """Return itself: changes are not recorded, and none can be undone."""
        return self

    def note(self, verb: str, after: Mapping[str, Any], *, times: int = 1, job: Job | None = None) -> None:
        """Record nothing."""

    def steer(self, change: Steer) -> bool:
        """Pause or resume a job name or the whole exchange, or limit all its listeners: see `Admin.steer`. Raises
        Unsupported for one job, and for all other changes.
        """
        match change:
            case Paused(target, pause):
                self._pausing("a pause", target).call("pause", [target, write_pause(pause)])
                return True
            case Resumed(target):
                return bool(self._pausing("a pause", target).call("resume", [target, "end"]))
            case Limited(limit=limit, turn_ms=turn_ms):
                turn = "" if turn_ms is None else repr(float(turn_ms))
                beside = self._pausing("a limit or a rate over all listeners")
                beside.call("declare", ["limit", "" if limit is None else limit, "turn_ms", turn])
                return True
            case Acknowledged():
                self._refuse("acknowledging dead jobs", "Retry or discard them.")
            case Forgotten():
                self._refuse("history", "There is nothing to remove.")
        raise unsteered(change)

    def cancel(self, job: Job, *, listener: str | None = None) -> Job:
        """Take a delayed message out of its delay. Raises NotFound; Unsupported if its delay has ended, or if its
        unique key could not be freed.
        """
        if listener is not None:
            raise not_one_run(job)
        what = f"{job.short_id} {shown(job.fn)}"
        if job.state != "waiting":
            trouble = f"is {job.state}, and here only messages can be cancelled whose delay has not ended"
            raise Unsupported.about(what, trouble, NATIVE, given=job.id)

        def is_meant(message: Message) -> bool:
            found = (message.id, message.queue) == (job.id, job.queue)
            if found and self.beside is None and UNIQUE in message.headers:
                raise needs_redis(f"the unique key of {what}", given=job.id)
            return found

        taken: list[Message] = []
        for seconds in LOOKS:
            time.sleep(seconds)
            while found := self.delayed.take(is_meant):
                taken += found
            if taken:
                keys = {text(message.headers.get(UNIQUE)) for message in taken} - {""}
                if keys and self.beside is not None:
                    self.beside.call("keep", [word for key in keys for word in (key, job.id, 0)])
                return job
        trouble = "is not delayed any more: it has run, or is due"
        raise NotFound.about(what, trouble, f"Look for it: workkit show {job.schedule} {job.short_id}.", given=job.id)

    def reschedule(self, jobs: Sequence[Job], to: NewTime, *, dry_run: bool = False) -> list[Job]:
        """Raise Unsupported: a message keeps its time, and none recurs."""
        if isinstance(to, NextRun):
            self._refuse("a next run to leave out", "Each message runs once. " + NATIVE)
        raise unmoved(jobs[0], to)

    def run(self, job: Job) -> Job:
        """Raise Unsupported: a message keeps the time with which it was published."""
        self._refuse("running a waiting job now", "Add the job again. " + NATIVE)

    def _pausing(self, what: str, target: str = "") -> Beside:
        """The Redis beside. Listeners learn of a change there with their next request, within a second. Raises
        Unsupported without one, and for one job.
        """
        if self.beside is None:
            raise needs_redis(what)
        if target.startswith("job:"):
            trouble = "cannot be paused by itself: a message that waits cannot be found"
            raise Unsupported.about("one job", trouble, "Pause its function: fn=.", given=target.removeprefix("job:"))
        return self.beside

    def _refuse(self, what: str, remedy: str) -> NoReturn:
        trouble = f"is something the {self.names.dialect} layout cannot do: RabbitMQ has no such thing"
        raise Unsupported.about(what, trouble, remedy)

    def retry(
        self, dead: Sequence[Job], *, args: Arguments | None = None, whole: bool = False, delays_ms: Sequence[int] = ()
    ) -> list[Revival]:
        """Make messages of the dead queue run again: see `Admin.retry`. Not atomic: each copy is confirmed before its
        message is taken out.
        """
        other = None if args is None else self._body(args)
        answers: list[Revival] = ["gone"] * len(dead)
        refused: list[ServerRefused] = []

        def revive(found: Sequence[tuple[int, Delivery]]) -> list[Delivery]:
            now_ms = round(time.time() * 1000)
            copies: list[tuple[int, Delivery, Message]] = []
            for place, delivery in found:
                message = DeadMessage(delivery.message)
                if not message.key:
                    answers[place] = "unreadable"
                    continue
                delay_ms = delays_ms[place] if delays_ms else 0
                copy = compose.revived(
                    self.names, delivery.message, key=message.key, queue=message.queue, now_ms=now_ms,
                    delay_ms=delay_ms, body=other,
                )  # fmt: skip
                copies.append((place, delivery, copy))
            troubles = self.outlet.publish([copy for *_, copy in copies]) if copies else []
            taken = []
            for (place, delivery, copy), trouble in zip(copies, troubles, strict=True):
                if trouble is None:
                    answers[place] = "revived"
                    taken.append(delivery)
                elif trouble == NO_ROUTE:
                    answers[place] = "unroutable"
                else:
                    what = f"was not taken ({trouble})"
                    remedy = "It is dead still: retry it."
                    refused.append(ServerRefused.about(f"message {copy.id}", what, remedy, given=copy.id))
            return taken

        self.link.run(lambda wire: wire.declare(work(self.names, [])))  # needed by copies that go to one queue
        self._each(dead, revive)
        if refused:
            raise refused[0]
        return answers

    def discard(self, dead: Sequence[Job]) -> int:
        """Take messages out of the dead queue: see `Admin.discard`."""
        count = 0

        def forget(found: Sequence[tuple[int, Delivery]]) -> list[Delivery]:
            nonlocal count
            count += len(found)
            return [delivery for _, delivery in found]

        self._each(dead, forget)
        return count

    def _each(self, dead: Sequence[Job], act: Act) -> None:
        """Find messages in the queue, and take out those that `act` returns. All others return to their places."""
        wanted = _wanted(dead)
        for seconds in LOOKS:
            time.sleep(seconds)
            with Held(self.link, self.names.dead_queue) as held:
                while wanted and (page := held.deliveries(DEAD_PAGE)):
                    found = _found(page, wanted)
                    if found:
                        held.take(act(found))
            if not wanted:
                return

    def _body(self, args: Arguments) -> bytes:
        """Write the body of a new message. Raises InvalidArguments."""
        if isinstance(args, Mapping):
            trouble = "is given by name: a message has one argument, given by position"
            raise InvalidArguments.about(f"args={dict(args)!r}", trouble, "Write a list: [{...}].", where="args")
        if len(args) != 1:
            trouble = "does not fit: a message has one body, which is the one argument of its function"
            raise InvalidArguments.about(f"args={list(args)!r}", trouble, "Write a list of one: [{...}].", where="args")
        return write_body(args[0], needs_object=self.names.dialect == "hutch")


def _wanted(dead: Sequence[Job]) -> dict[str, list[int]]:
    """Map each fingerprint to the places of the request that ask for such a message, the first place last."""
    wanted = defaultdict(list)
    for place, job in reversed([*enumerate(dead)]):
        wanted[(job.dead_id or "").partition(":")[0]].append(place)
    return dict(wanted)


def _found(page: Sequence[Delivery], wanted: dict[str, list[int]]) -> list[tuple[int, Delivery]]:
    """Pick the wanted messages, and remove them from `wanted`; of equal messages any one counts."""
    found = []
    for delivery in page:
        name = fingerprint(delivery.message)
        if name in wanted:
            found.append((wanted[name].pop(), delivery))
            if not wanted[name]:
                del wanted[name]
    return found
