"""Judge who consumes: queues that fill, queues that nobody serves, consumers that hold messages. Pure."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from workkit.brokers.hutch.doctor.fault import Fault
from workkit.brokers.hutch.doctor.survey import TAG, Survey
from workkit.brokers.hutch.ladder import ladder
from workkit.brokers.hutch.management.facts import QueueFact
from workkit.text.duration import age_text

RECENT_MS: Final = 600_000  # after so long nothing waits for the restart of a node any more
_WELL: Final = ("", "running", "idle", "flow", "live", "minority")


def judge_traffic(made: Survey, *, patience_ms: int) -> Iterator[Fault]:
    """Judge the work queues and their consumers."""
    if made.closed is not None:
        return
    busy = {_family(made, queue) for queue in made.own if queue.unacknowledged and not queue.consumers}
    served = {_family(made, queue) for queue in made.own if queue.consumers}
    for queue in made.work:
        if queue.state not in _WELL:
            yield Fault(
                kind="down",
                what=f"queue {queue.name} is {queue.state}",
                remedy="start its node again: rabbitmqctl cluster_status",
                about=(queue.name,),
            )
        is_own = made.is_own(queue.name)
        if queue.consumers or queue.exclusive or (is_own and _family(made, queue) in busy):
            continue  # a listener whose threads are all busy stops consuming
        if queue.ready:
            yield _unconsumed(made, queue)
        elif is_own and not queue.unacknowledged and _family(made, queue) in served:
            yield Fault(
                kind="unserved",
                what=f"no listener consumes queue {queue.name}, and listeners consume others of its namespace",
                remedy=f"start a listener that serves this name, or delete the queue: {made.delete(queue.name)} "
                "--if-empty --if-unused",
                about=(queue.name,),
            )
    yield from _held(made, patience_ms)
    yield from _undelivered(made)
    yield from _late(made)


def _family(made: Survey, queue: QueueFact) -> str:
    """The namespace of a queue of ours, as far as its name shows it."""
    job = made.job_of(queue.name)
    return queue.name if job is None else queue.name.removesuffix(job)


def _unconsumed(made: Survey, queue: QueueFact) -> Fault:
    messages = f"{_messages(queue.ready)} wait{'s' if queue.ready == 1 else ''}"
    advice = f"start the program that consumes it, or delete the queue: {made.delete(queue.name)}"
    if made.is_own(queue.name):
        advice = f"workkit listen --import MODULE {made.names.exchange}"
    return Fault(
        kind="no-consumer",
        what=f"{messages} in queue {queue.name}, and nobody consumes it",
        remedy=advice,
        about=(queue.name,),
    )


def _undelivered(made: Survey) -> Iterator[Fault]:
    """Name keys that led to no queue when a delay ended."""
    names = made.names
    for key, queue in made.arrivals.items():
        count = queue.moving + queue.ready
        if not count or made.arrives(key):
            continue
        gone = names.private_queue(key)
        what, remedy = f"routing key {key} leads to no queue", f"start a program that consumes {key}"
        if gone is not None:
            what, remedy = f"queue {gone} is gone, from which they come", "start its listeners again"
        yield Fault(
            kind="undelivered",
            what=f"{_messages(count)} of {queue.name} {'has' if count == 1 else 'have'} waited for the end of a delay, "
            f"and {what}",
            remedy=f"{remedy}, or delete them with their queue: {made.delete(queue.name)}",
            about=(queue.name,),
        )


def _late(made: Survey) -> Iterator[Fault]:
    """Name messages that were on their way between two queues when the broker stopped."""
    up_ms = max((node.up_ms for node in made.nodes), default=0)
    if not 0 < up_ms < RECENT_MS:
        return
    steps = [made.queues[one.name] for one in ladder(made.names).queues if one.name in made.queues]
    steps += [queue for key, queue in made.arrivals.items() if made.arrives(key)]
    if count := sum(queue.moving for queue in steps):
        late = [queue.name for queue in steps if queue.moving]
        yield Fault(
            kind="late-delay",
            what=f"{_messages(count)} of workkit {'has' if count == 1 else 'have'} not left {', '.join(late)} in time: "
            f"the broker started {age_text(up_ms)} ago",
            remedy="wait, or set dead_letter_worker_publisher_confirm_timeout before the next restart",
            about=(made.names.own_exchange,),
        )


def _messages(count: int) -> str:
    return "1 message" if count == 1 else f"{count:,} messages"


def _held(made: Survey, patience_ms: int) -> Iterator[Fault]:
    """Name channels of other programs that have done nothing for long while they hold messages."""
    work = {queue.name: queue for queue in made.work}
    for channel in made.channels:
        idle_ms = None if channel.idle_since_ms is None else made.now_ms - channel.idle_since_ms
        if not channel.unacknowledged or idle_ms is None or idle_ms < patience_ms:
            continue
        own = [one for one in made.consumers if one.channel == channel.name and one.queue in work]
        if not own or any(one.tag.startswith(TAG) for one in own):
            continue
        queues = sorted({one.queue for one in own if work[one.queue].unacknowledged} or {one.queue for one in own})
        yield Fault(
            kind="unacknowledged",
            what=f"consumer {own[0].tag} at {own[0].host or '(no host)'} holds {_messages(channel.unacknowledged)} of "
            f"{', '.join(queues)}, and has "
            f"done nothing for {age_text(idle_ms)}",
            remedy="see the log of that program. When it ends, the messages go back to their queues",
            about=(own[0].tag, *queues),
        )
