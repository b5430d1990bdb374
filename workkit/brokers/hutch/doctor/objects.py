"""Judge declared objects: exchanges, queues and bindings that are missing or differ from the spec, delay queues that
lose or duplicate messages, policies. Pure.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import Any, Final

from workkit.brokers.doctor import FIX
from workkit.brokers.hutch import topology
from workkit.brokers.hutch.broker_facts import ExchangeFact, QueueFact
from workkit.brokers.hutch.doctor.survey import Survey
from workkit.brokers.hutch.topology import LEVELS, Binding, Exchange, Queue, Topology
from workkit.contract.doctor import CommandLine, Finding, Kind
from workkit.jobs.names import has_wildcard
from workkit.text.cells import shell_word

DROPPING: Final = ("expires", "max-length", "max-length-bytes", "message-ttl")
"""Settings of a policy that remove messages."""
_BY_NAMESPACE: Final = "x-max-priority"
"""An argument of our work queues that depends on their namespace."""


def judge_objects(made: Survey) -> Iterator[Finding]:
    """Judge all existing objects."""
    expected = topology.delays(made.names) + topology.dead(made.names) + topology.ladder(made.names) + _arrivals(made)
    shared = {one.name for one in expected.exchanges if one.shared} | {
        one.name for one in expected.queues if one.shared
    }
    for exchange in expected.exchanges:
        if there := made.exchanges.get(exchange.name):
            yield from _differs(f"exchange {there.name}", there.name, _exchange_differs(there), exchange.shared)
    for queue in expected.queues:
        if found := made.queues.get(queue.name):
            yield from _judge_queue(made, found, queue)
    for own in made.own:
        yield from _judge_own(made, own)
    for name, said in sorted(made.refused.items()):
        yield from _differs(_described(made, name), name, [said], name in shared)
    yield from _delays(made)
    yield from _policies(made)


LADDER = Kind(
    "ladder", "deviation", "An exchange, queue or binding of the delays of workkit is missing.",
    "A delayed message of workkit that needs a missing step is lost.", "declares it", is_momentary=True,
)  # fmt: skip


def judge_ladder(made: Survey) -> Iterator[Finding]:
    """Yield the missing objects of the ladder below its highest step."""
    names = made.names
    there = [step for step in range(topology.STEPS) if topology.step_exchange(names, step) in made.exchanges]
    if not there or made.closed is not None:
        return
    wanted = topology.ladder(names, highest=there[-1]) + _arrivals(made)
    gaps = made.missing(wanted)
    lost = [
        *(f"exchange {one.name}" for one in gaps.exchanges),
        *(f"queue {one.name}" for one in gaps.queues),
        *(f"the binding of {one.source} to {one.destination}" for one in gaps.bindings),
    ]
    if lost:
        more = f" and {len(lost) - 1:,} more" if len(lost) > 1 else ""
        yield LADDER.found(f"the delays of workkit miss {lost[0]}{more}", subject=wanted, about=(names.own_exchange,))


def _arrivals(made: Survey) -> Topology:
    return sum((topology.arrival(made.names, key) for key in made.arrivals), Topology())


def _judge_own(made: Survey, found: QueueFact) -> Iterator[Finding]:
    """Judge a work queue of ours; for one of another namespace only the parts that are the same in all namespaces."""
    (wanted,) = topology.work(made.names, ["job"]).queues
    told, expected = dict(found.arguments), dict(wanted.arguments)
    if not found.name.startswith(made.names.queue("")):
        told.pop(_BY_NAMESPACE, None)
        expected.pop(_BY_NAMESPACE, None)
    differs = [*_flags_differ(found), *_arguments_differ(told, expected)]
    yield from _differs(f"queue {found.name}", found.name, differs, wanted.shared)


LOSSY_DELAY = Kind(
    "lossy-delay", "deviation", "A delay queue has no exchange for what leaves it.",
    "A delayed message or retry of a peer that waits there is lost when its time is over.",
)  # fmt: skip


def _judge_queue(made: Survey, found: QueueFact, wanted: Queue) -> Iterator[Finding]:
    differs = [*_flags_differ(found), *_arguments_differ(found.arguments, wanted.arguments)]
    target = wanted.arguments.get("x-dead-letter-exchange")
    if wanted.shared and target and found.arguments.get("x-dead-letter-exchange") != target:
        yield LOSSY_DELAY.found(
            f"queue {found.name} differs from what hutch and event declare: {'; '.join(differs)}",
            f"stop what publishes delays, let the queue run empty, delete it ({made.delete(found.name)}), and "
            "have event or hutch-schedule with hutch 1.1.0 or earlier declare it",
            about=(found.name,),
        )
        return
    yield from _differs(f"queue {found.name}", found.name, differs, wanted.shared)


DIFFERS = Kind(
    "differs", "deviation", "An exchange or queue that programs share differs from what hutch and event declare.",
    "A program that declares it as hutch or event does is refused, and does not start.",
)  # fmt: skip
OWN_DIFFERS = Kind(
    "own-differs", "deviation", "An exchange or queue of workkit differs from what workkit declares.",
    "A listener or producer of workkit that declares it ends with an error.",
)  # fmt: skip


def _differs(subject: str, name: str, differs: list[str], is_shared: bool) -> Iterator[Finding]:
    if not differs:
        return
    whose = "hutch and event declare" if is_shared else "workkit declares"
    advice = "stop the programs that use it, delete it, and start them again: they declare it"
    if any("alternate-exchange" in one for one in differs):
        advice += ". Set the alternate exchange by a policy"
    yield (DIFFERS if is_shared else OWN_DIFFERS).found(
        f"{subject} differs from what {whose}: {'; '.join(differs)}", advice, about=(name,)
    )


def _described(made: Survey, name: str) -> str:
    wanted: Topology = topology.delays(made.names) + topology.ladder(made.names)
    return f"{'exchange' if any(one.name == name for one in wanted.exchanges) else 'queue'} {name}"


def _exchange_differs(found: ExchangeFact) -> list[str]:
    differs = [] if found.type == "topic" else [f"its type is {found.type}, not topic"]
    differs += [] if found.durable else ["it is not durable"]
    differs += ["it is auto-deleted"] if found.auto_delete else []
    differs += ["it is internal"] if found.internal else []
    return [*differs, *_arguments_differ(found.arguments, {})]


def _flags_differ(found: QueueFact) -> list[str]:
    differs = [] if found.durable else ["it is not durable"]
    differs += ["it is auto-deleted"] if found.auto_delete else []
    return [*differs, *(["it is exclusive"] if found.exclusive else [])]


def _arguments_differ(found: Mapping[str, Any], wanted: Mapping[str, Any]) -> list[str]:
    differs = []
    for name in sorted({*found, *wanted}):
        if name not in found:
            differs.append(f"it lacks {name} = {wanted[name]}")
        elif name not in wanted:
            differs.append(f"it has {name} = {found[name]}")
        elif found[name] != wanted[name]:
            differs.append(f"its {name} is {found[name]}, not {wanted[name]}")
    return differs


DOUBLE_DELAY = Kind(
    "double-delay", "deviation", "A delay has two queues.",
    "Each delayed message and each retry of a peer comes once out of each of them.",
)  # fmt: skip
NO_DELAY = Kind(
    "no-delay", "deviation", "Some delays have a queue, and others have none.",
    "The broker drops what peers delay for these times.", is_momentary=True,
)  # fmt: skip


def _delays(made: Survey) -> Iterator[Finding]:
    """Yield levels with two queues, and levels without one."""
    names = made.names
    levels = {names.level_key(level): level for level in LEVELS}
    queues: dict[int, list[str]] = {level: [] for level in LEVELS}
    for one in made.bindings:
        if one.source == names.schedule_exchange and one.key in levels and not one.to_exchange:
            queues[levels[one.key]].append(one.destination)
    pattern = topology.delays(names).queues[0]
    for other in sorted({name for found in queues.values() for name in found} - {*map(names.delay_queue, LEVELS)}):
        if there := made.queues.get(other):  # with a namespace, as hutch before 1.4 names it
            yield from _judge_queue(made, there, replace(pattern, name=other))
    double = {level: sorted(found) for level, found in queues.items() if len(found) > 1}
    if double:
        level, found = next(iter(double.items()))
        yield DOUBLE_DELAY.found(
            f"a delay of {level} s has {len(found)} queues: {', '.join(found)}; so have {len(double):,} of "
            f"{len(LEVELS)} delays",
            f"keep the queues {names.exchange}_delay_queue_*: update the programs with a namespace to one of "
            "hutch that leaves it out there, let the other queues run empty, and delete them",
            about=tuple(sorted({name for found in double.values() for name in found})),
        )
    empty = [level for level, found in queues.items() if not found]
    if empty and len(empty) < len(LEVELS):
        yield NO_DELAY.found(
            f"exchange {names.schedule_exchange} has no queue for delays of "
            f"{', '.join(f'{level} s' for level in empty)}",
            "start a producer of event or hutch-schedule again: it declares them",
            about=tuple(names.level_key(level) for level in empty),
        )


POLICY = Kind(
    "policy", "hazard", "A policy removes messages from a queue.",
    "The broker then drops messages of this queue, or deletes it, without a word.",
)  # fmt: skip


def _policies(made: Survey) -> Iterator[Finding]:
    """Yield policies that remove messages from our queues, and from shared ones."""
    names = made.names
    expected = {one.name for one in (topology.delays(names) + topology.dead(names) + topology.ladder(names)).queues}
    expected |= {one.name for one in made.arrivals.values()}
    for name in sorted(expected | {one.name for one in made.own}):
        found = made.queues.get(name)
        drops = [] if found is None else [one for one in DROPPING if one in found.policy]
        if found is not None and drops:
            said = ", ".join(f"{one} = {found.policy[one]}" for one in drops)
            yield POLICY.found(
                f"a policy sets {said} for queue {name}",
                "leave this queue out of the pattern of the policy: rabbitmqctl list_policies",
                about=(name,),
            )


# Bindings: missing ones and needless ones of our queues, and wildcards of event.


def judge_bindings(made: Survey) -> Iterator[Finding]:
    """Judge the bindings of the work queues and of the dead queue."""
    if made.closed is not None:
        return
    for queue in made.own:
        yield from _own(made, queue.name)
    yield from _dead_queue(made)
    yield from _wild(made)


UNBOUND = Kind(
    "unbound", "deviation", "A work queue of workkit is not bound by the key of its job.",
    "The broker does not put messages with this routing key there.", "binds it, where its job name is known",
    is_momentary=True,
)  # fmt: skip
PRIVATE = Kind(
    "private", "deviation", "A work queue of workkit is not bound by its private key.",
    "A retry of workkit cannot return to this queue.", "binds it", is_momentary=True,
)  # fmt: skip
OTHER_KEY = Kind(
    "other-key", "hazard", "A work queue of workkit is bound by the key of another job.",
    "The function of this queue runs with messages of another name too.",
)  # fmt: skip


def _own(made: Survey, queue: str) -> Iterator[Finding]:
    names = made.names
    private = names.private_key(queue)
    if private not in made.bound(names.own_exchange, queue):
        binding = Binding(names.own_exchange, queue, private)
        yield PRIVATE.found(
            f"queue {queue} is not bound to {names.own_exchange} by its private key",
            subject=Topology(exchanges=(Exchange(names.own_exchange),), bindings=(binding,)),
            about=(queue,),
        )
    job, bound = made.job_of(queue), made.bound(names.exchange, queue)
    if job is None:
        if not bound:
            yield UNBOUND.found(
                f"queue {queue} is not bound to exchange {names.exchange}",
                CommandLine(verb="doctor", schedule=names.exchange, options=(FIX, ("namespace", "NAME"))),
                ", with the namespace of its listeners",
                about=(queue,),
            )
        return
    key = names.bound_key(job)
    if key not in bound:
        yield UNBOUND.found(
            f"queue {queue} is not bound to exchange {names.exchange} by {key}",
            subject=topology.main(names) + Topology(bindings=(Binding(names.exchange, queue, key),)),
            about=(queue,),
        )
    for other in sorted(bound - {key}):
        words = f"source={names.exchange}", "destination_type=queue", f"destination={queue}", f"properties_key={other}"
        yield OTHER_KEY.found(
            f"queue {queue} is also bound to exchange {names.exchange} by {other}",
            f"remove the binding: rabbitmqadmin delete binding {' '.join(map(shell_word, words))}",
            about=(queue, other),
        )


DEAD_UNBOUND = Kind(
    "dead-unbound", "deviation", "The dead queue is not bound to the exchange.",
    "What fails for good cannot reach it: event loses it, workkit tries again for ever.", "binds it", is_momentary=True,
)  # fmt: skip
NO_DEAD_QUEUE = Kind(
    "no-dead-queue", "deviation", "There is a work queue of workkit, and no dead queue.",
    "What fails for good has no place to go.", "declares and binds it", is_momentary=True,
)  # fmt: skip


def _dead_queue(made: Survey) -> Iterator[Finding]:
    names = made.names
    wanted = topology.dead(names)
    if names.dead_queue not in made.queues:
        if made.own:
            yield NO_DEAD_QUEUE.found(
                f"there is no queue {names.dead_queue}", subject=wanted, about=(names.dead_queue,)
            )
        return
    if made.missing(wanted).bindings:
        yield DEAD_UNBOUND.found(
            f"queue {names.dead_queue} is not bound to exchange {names.exchange} by {wanted.bindings[0].key}",
            subject=Topology(bindings=wanted.bindings),
            about=(names.dead_queue,),
        )


WILDCARD = Kind(
    "wildcard", "deviation", "A queue of event is bound by a wildcard.",
    "event looks for a handler by the exact key, and finds none: it copies each message to the dead queue, and keeps "
    "it unacknowledged.",
)  # fmt: skip


def _wild(made: Survey) -> Iterator[Finding]:
    """Yield queues of event with a key as their name that are bound by a wildcard."""
    for queue in made.work:
        for key in sorted(made.bound(made.names.exchange, queue.name)):
            if has_wildcard(key) and queue.name.endswith(f".{key}") and not made.is_own(queue.name):
                yield WILDCARD.found(
                    f"queue {queue.name} of event is bound by the wildcard {key}",
                    f"register one handler for each key in event, and delete this queue: {made.delete(queue.name)}",
                    about=(queue.name,),
                )
