"""Judge the messages and their consumers: queues that fill, queues without consumers, consumers that hold messages; and
the dead queue: how full and how old it is, and what its messages show about other programs. Pure.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator
from typing import Any, Final

from workkit.brokers.doctor import WAIT, tally
from workkit.brokers.hutch.broker_facts import QueueFact
from workkit.brokers.hutch.doctor.survey import TAG, DeadFact, Survey
from workkit.brokers.hutch.topology import KEPT_MS, MOST_DEAD, ladder
from workkit.contract.doctor import Advice, CommandLine, Finding, Kind
from workkit.text.wording import age_text

FULL: Final = 0.9  # share of the queue's maximum length
OLD: Final = 5 / 6  # share of the time that the queue keeps a message
HOUR_MS: Final = 3_600_000
LOOP: Final = 10  # copies of one key that still have CC
RECENT_MS: Final = 600_000  # ms; after this time no message waits for the restart of a node
_WELL: Final = ("", "running", "idle", "flow", "live", "minority")


DOWN = Kind(
    "down", "deviation", "A queue is in no state to work.", "It takes and gives no messages.", is_momentary=True
)  # fmt: skip
UNSERVED = Kind(
    "unserved", "orphan", "No listener consumes a work queue of workkit, and listeners consume others like it.",
    "No listener serves this name. A producer gets no error, and its messages wait here.", is_momentary=True,
)  # fmt: skip


def judge_traffic(made: Survey, *, patience_ms: int) -> Iterator[Finding]:
    """Judge the work queues and their consumers."""
    if made.closed is not None:
        return
    busy = {_family(made, queue) for queue in made.own if queue.unacknowledged and not queue.consumers}
    served = {_family(made, queue) for queue in made.own if queue.consumers}
    for queue in made.work:
        if queue.state not in _WELL:
            yield DOWN.found(
                f"queue {queue.name} is {queue.state}",
                "start its node again: rabbitmqctl cluster_status",
                about=(queue.name,),
            )
        is_own = made.is_own(queue.name)
        if queue.consumers or queue.exclusive or (is_own and _family(made, queue) in busy):
            continue  # its listener may be busy: with all threads busy it stops consuming
        if queue.ready:
            yield _unconsumed(made, queue)
        elif is_own and not queue.unacknowledged and _family(made, queue) in served:
            yield UNSERVED.found(
                f"no listener consumes queue {queue.name}, and listeners consume others of its namespace",
                f"start a listener that serves this name, or delete the queue: {made.delete(queue.name)} "
                "--if-empty --if-unused",
                about=(queue.name,),
            )
    yield from _held(made, patience_ms)
    yield from _undelivered(made)
    yield from _late(made)


def _family(made: Survey, queue: QueueFact) -> str:
    """Return the namespace of a queue of ours, as far as its name shows it."""
    job = made.job_of(queue.name)
    return queue.name if job is None else queue.name.removesuffix(job)


NO_CONSUMER = Kind(
    "no-consumer", "orphan", "Messages are ready in a queue, and nobody consumes it.",
    "They wait until a program consumes this queue.", is_momentary=True,
)  # fmt: skip


def _unconsumed(made: Survey, queue: QueueFact) -> Finding:
    messages = tally(queue.ready, "message", *WAIT)
    advice: Advice = f"start the program that consumes it, or delete the queue: {made.delete(queue.name)}"
    if made.is_own(queue.name):
        advice = CommandLine(verb="listen", schedule=made.names.exchange, first=(("import", "MODULE"),))
    return NO_CONSUMER.found(f"{messages} in queue {queue.name}, and nobody consumes it", advice, about=(queue.name,))


UNDELIVERED = Kind(
    "undelivered", "orphan", "Messages have waited for the end of a delay, and their key leads to no queue.",
    "RabbitMQ keeps them until a queue takes this key. They then come within 3 minutes.", is_momentary=True,
)  # fmt: skip


def _undelivered(made: Survey) -> Iterator[Finding]:
    """Yield keys that led to no queue when a delay ended."""
    names = made.names
    for key, queue in made.arrivals.items():
        count = queue.moving + queue.ready
        if not count or made.arrives(key):
            continue
        gone = names.private_queue(key)
        what, remedy = f"routing key {key} leads to no queue", f"start a program that consumes {key}"
        if gone is not None:
            what, remedy = f"queue {gone} is gone, from which they come", "start its listeners again"
        yield UNDELIVERED.found(
            f"{tally(count, 'message')} of {queue.name} {_have(count)} waited for the end of a delay, and {what}",
            f"{remedy}, or delete them with their queue: {made.delete(queue.name)}",
            about=(queue.name,),
        )


LATE_DELAY = Kind(
    "late-delay", "hazard", "Messages have not left their delay in time after a start of the broker.",
    "A message that is on its way between two queues when a node stops waits there for up to 3 minutes after the "
    "start. It is not lost. docs/guide/rabbitmq.md shows the setting of the broker that shortens this.",
    is_momentary=True,
)  # fmt: skip


def _late(made: Survey) -> Iterator[Finding]:
    """Yield messages that were between two queues when the broker stopped."""
    up_ms = max((node.up_ms for node in made.nodes), default=0)
    if not 0 < up_ms < RECENT_MS:
        return
    steps = [made.queues[one.name] for one in ladder(made.names).queues if one.name in made.queues]
    steps += [queue for key, queue in made.arrivals.items() if made.arrives(key)]
    if count := sum(queue.moving for queue in steps):
        late = [queue.name for queue in steps if queue.moving]
        yield LATE_DELAY.found(
            f"{tally(count, 'message', 'of workkit has', 'of workkit have')} not left {', '.join(late)} in time: "
            f"the broker started {age_text(up_ms)} ago",
            "wait, or set dead_letter_worker_publisher_confirm_timeout before the next restart",
            about=(made.names.own_exchange,),
        )


UNACKNOWLEDGED = Kind(
    "unacknowledged", "hazard", "A consumer holds messages, and has done nothing for long.",
    "It has no handler for them, cannot read them, or its runs are long. They take its places, and come again "
    "after each reconnect.",
)  # fmt: skip


def _held(made: Survey, patience_ms: int) -> Iterator[Finding]:
    """Yield channels of other programs that are idle for long while they hold messages."""
    work = {queue.name: queue for queue in made.work}
    for channel in made.channels:
        idle_ms = None if channel.idle_since_ms is None else made.now_ms - channel.idle_since_ms
        if not channel.unacknowledged or idle_ms is None or idle_ms < patience_ms:
            continue
        own = [one for one in made.consumers if one.channel == channel.name and one.queue in work]
        if not own or any(one.tag.startswith(TAG) for one in own):
            continue
        queues = sorted({one.queue for one in own if work[one.queue].unacknowledged} or {one.queue for one in own})
        yield UNACKNOWLEDGED.found(
            f"consumer {own[0].tag} at {own[0].host or '(no host)'} holds "
            f"{tally(channel.unacknowledged, 'message')} of "
            f"{', '.join(queues)}, and has "
            f"done nothing for {age_text(idle_ms)}",
            "see the log of that program. When it ends, the messages go back to their queues",
            about=(own[0].tag, *queues),
        )


# The dead queue.


DEAD_FULL = Kind(
    "dead-full", "hazard", "The dead queue holds nine tenths of what it can.",
    "When it is full, the broker drops its oldest message for each new one.",
)  # fmt: skip
DEAD_OLD = Kind(
    "dead-old", "hazard", "Messages of the dead queue are near the end of their time.",
    "The broker drops a message after its time in the dead queue.",
)  # fmt: skip


def judge_dead(made: Survey) -> Iterator[Finding]:
    """Judge the dead queue and its messages that were read."""
    names = made.names
    found = made.queues.get(names.dead_queue)
    count = max(len(made.dead), 0 if found is None else found.ready)
    most = _limit(found.arguments, found.policy, "max-length", MOST_DEAD) if found else MOST_DEAD
    if count >= FULL * most:
        yield DEAD_FULL.found(
            f"the dead queue holds {count:,} of {most:,} messages",
            "find out what fails: ",
            CommandLine(verb="dead", schedule=names.exchange),
            "; then retry or discard",
            about=(names.dead_queue,),
        )
    kept_ms = _limit(found.arguments, found.policy, "message-ttl", KEPT_MS) if found else KEPT_MS
    times = [one.failed_ms for one in made.dead if one.failed_ms is not None]
    if times and made.now_ms - min(times) >= OLD * kept_ms:
        old = sum(made.now_ms - failed >= OLD * kept_ms for failed in times)
        yield DEAD_OLD.found(
            f"{tally(old, 'message')} of the dead queue {'is' if old == 1 else 'are'} near the end of "
            f"{'its' if old == 1 else 'their'} {age_text(kept_ms)} there",
            "retry or discard them: ",
            CommandLine(verb="dead", schedule=names.exchange),
            about=(names.dead_queue,),
        )
    yield from _dead_messages(made)


def since(made: Survey) -> str:
    """Write when the dead messages that were read failed, as the end of a sentence."""
    times = sorted(one.failed_ms for one in made.dead if one.failed_ms is not None)
    found = made.queues.get(made.names.dead_queue)
    if not times or (found is not None and found.ready > len(made.dead)):
        return f"; the first one {age_text(made.now_ms - times[0])} ago" if times else ""
    lately = sum(made.now_ms - failed < HOUR_MS for failed in times)
    recent = f"{lately:,} in the last hour, " if lately > 1 else ""
    return f"; {recent}the last one {age_text(made.now_ms - times[-1])} ago"


UNROUTABLE = Kind(
    "unroutable", "orphan", "Messages in the dead queue have a routing key that leads to no queue.",
    "No queue takes this routing key: a retry would lead nowhere.",
)  # fmt: skip
STRAY = Kind(
    "stray", "hazard", "event has put messages into the dead queue without a retry.",
    "event copies a message for which it has no handler to the dead queue at once, and keeps the message "
    "unacknowledged.",
)  # fmt: skip
DEAD_LOOP = Kind(
    "dead-loop", "deviation", "At least 10 messages of one key in the dead queue lead back to their work queue.",
    "event leaves CC in a dead message that was tried again. So the broker also puts it back into its work queue, "
    "where it fails again: hundreds of copies a minute.",
)  # fmt: skip


def _dead_messages(made: Survey) -> Iterator[Finding]:
    names = made.names
    looping = _by_key(one for one in made.dead if one.returns)
    for key, count in looping.items():
        if count >= LOOP:
            yield DEAD_LOOP.found(
                f"{tally(count, 'message')} of {key} in the dead queue still {_have(count)} CC, which leads back",
                f"stop the event program that serves {key}, then discard the copies: ",
                CommandLine(verb="dead", schedule=names.exchange),
                about=(key,),
            )
    for key, count in _by_key(one for one in made.dead if not (one.is_ours or one.was_delayed)).items():
        yield STRAY.found(
            f"{tally(count, 'message')} of {key} in the dead queue {'was' if count == 1 else 'were'} put there by "
            "event without a retry",
            f"see whether the event program that consumes {key} has a handler for exactly this key. If it has, "
            "this handler asks for no retries",
            about=(key,),
        )
    if made.closed is not None:
        return
    for key, count in _by_key(one for one in made.dead if not made.leads(one.key)).items():
        yield UNROUTABLE.found(
            f"{tally(count, 'message')} in the dead queue {_have(count)} the routing key {key}, which leads to no "
            "queue",
            f"start a listener that serves {key}, or discard the messages: ",
            CommandLine(verb="dead", schedule=names.exchange),
            about=(key,),
        )


def _by_key(messages: Iterable[DeadFact]) -> dict[str, int]:
    return dict(sorted(Counter(one.key for one in messages).items()))


def _limit(arguments: Any, policy: Any, name: str, default: int) -> int:
    """Return the limit of a queue: the smaller one of its argument and its policy."""
    limits = [value for value in (arguments.get(f"x-{name}"), policy.get(name)) if type(value) is int]
    return min(limits, default=default)


def _have(count: int) -> str:
    return "has" if count == 1 else "have"
