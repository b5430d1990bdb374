"""Judge exchanges and queues: what differs from the spec, delay queues that lose or double, policies. Pure."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import Any, Final

from workkit.brokers.hutch.doctor.fault import Fault
from workkit.brokers.hutch.doctor.survey import Survey
from workkit.brokers.hutch.ladder import STEPS, arrival, ladder, step_exchange
from workkit.brokers.hutch.levels import LEVELS
from workkit.brokers.hutch.management.facts import ExchangeFact, QueueFact
from workkit.brokers.hutch.topology import Queue, Topology, dead, delays, work

DROPPING: Final = ("expires", "max-length", "max-length-bytes", "message-ttl")
"""What a policy may set that removes messages."""
_BY_NAMESPACE: Final = "x-max-priority"
"""An argument of work queues of ours that depends on their namespace."""


def judge_objects(made: Survey) -> Iterator[Fault]:
    """Judge all objects that are there."""
    expected = delays(made.names) + dead(made.names) + ladder(made.names) + _arrivals(made)
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


def judge_ladder(made: Survey) -> Iterator[Fault]:
    """Name what is missing in the ladder below its highest step."""
    names = made.names
    there = [step for step in range(STEPS) if step_exchange(names, step) in made.exchanges]
    if not there or made.closed is not None:
        return
    wanted = ladder(names, highest=there[-1]) + _arrivals(made)
    gaps = made.missing(wanted)
    lost = [
        *(f"exchange {one.name}" for one in gaps.exchanges),
        *(f"queue {one.name}" for one in gaps.queues),
        *(f"the binding of {one.source} to {one.destination}" for one in gaps.bindings),
    ]
    if lost:
        more = f" and {len(lost) - 1:,} more" if len(lost) > 1 else ""
        yield Fault(
            kind="ladder",
            what=f"the delays of workkit miss {lost[0]}{more}",
            remedy=f"workkit doctor {names.exchange} --fix",
            about=(names.own_exchange,),
            missing=wanted,
        )


def _arrivals(made: Survey) -> Topology:
    return sum((arrival(made.names, key) for key in made.arrivals), Topology())


def _judge_own(made: Survey, found: QueueFact) -> Iterator[Fault]:
    """Judge a work queue of ours; one of another namespace as far as all namespaces are alike."""
    (wanted,) = work(made.names, ["job"]).queues
    told, expected = dict(found.arguments), dict(wanted.arguments)
    if not found.name.startswith(made.names.queue("")):
        told.pop(_BY_NAMESPACE, None)
        expected.pop(_BY_NAMESPACE, None)
    differs = [*_flags_differ(found), *_arguments_differ(told, expected)]
    yield from _differs(f"queue {found.name}", found.name, differs, wanted.shared)


def _judge_queue(made: Survey, found: QueueFact, wanted: Queue) -> Iterator[Fault]:
    differs = [*_flags_differ(found), *_arguments_differ(found.arguments, wanted.arguments)]
    target = wanted.arguments.get("x-dead-letter-exchange")
    if wanted.shared and target and found.arguments.get("x-dead-letter-exchange") != target:
        yield Fault(
            kind="lossy-delay",
            what=f"queue {found.name} differs from what hutch and event declare: {'; '.join(differs)}",
            remedy=f"stop what publishes delays, let the queue run empty, delete it ({made.delete(found.name)}), and "
            "have event or hutch-schedule with hutch 1.1.0 or earlier declare it",
            about=(found.name,),
        )
        return
    yield from _differs(f"queue {found.name}", found.name, differs, wanted.shared)


def _differs(subject: str, name: str, differs: list[str], is_shared: bool) -> Iterator[Fault]:
    if not differs:
        return
    whose = "hutch and event declare" if is_shared else "workkit declares"
    advice = "stop the programs that use it, delete it, and start them again: they declare it"
    if any("alternate-exchange" in one for one in differs):
        advice += ". Set the alternate exchange by a policy"
    yield Fault(
        kind="differs" if is_shared else "own-differs",
        what=f"{subject} differs from what {whose}: {'; '.join(differs)}",
        remedy=advice,
        about=(name,),
    )


def _described(made: Survey, name: str) -> str:
    wanted: Topology = delays(made.names) + ladder(made.names)
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


def _delays(made: Survey) -> Iterator[Fault]:
    """Name levels with two queues, and levels without one."""
    names = made.names
    levels = {names.level_key(level): level for level in LEVELS}
    queues: dict[int, list[str]] = {level: [] for level in LEVELS}
    for one in made.bindings:
        if one.source == names.schedule_exchange and one.key in levels and not one.to_exchange:
            queues[levels[one.key]].append(one.destination)
    pattern = delays(names).queues[0]
    for other in sorted({name for found in queues.values() for name in found} - {*map(names.delay_queue, LEVELS)}):
        if there := made.queues.get(other):  # of a namespace, as hutch before 1.4 names it
            yield from _judge_queue(made, there, replace(pattern, name=other))
    double = {level: sorted(found) for level, found in queues.items() if len(found) > 1}
    if double:
        level, found = next(iter(double.items()))
        yield Fault(
            kind="double-delay",
            what=f"a delay of {level} s has {len(found)} queues: {', '.join(found)}; so have {len(double):,} of "
            f"{len(LEVELS)} delays",
            remedy=f"keep the queues {names.exchange}_delay_queue_*: update the programs with a namespace to one of "
            "hutch that leaves it out there, let the other queues run empty, and delete them",
            about=tuple(sorted({name for found in double.values() for name in found})),
        )
    empty = [level for level, found in queues.items() if not found]
    if empty and len(empty) < len(LEVELS):
        yield Fault(
            kind="no-delay",
            what=f"exchange {names.schedule_exchange} has no queue for delays of "
            f"{', '.join(f'{level} s' for level in empty)}",
            remedy="start a producer of event or hutch-schedule again: it declares them",
            about=tuple(names.level_key(level) for level in empty),
        )


def _policies(made: Survey) -> Iterator[Fault]:
    """Name policies that remove messages from queues of ours, and from those that are shared."""
    expected = {one.name for one in (delays(made.names) + dead(made.names) + ladder(made.names)).queues}
    expected |= {one.name for one in made.arrivals.values()}
    for name in sorted(expected | {one.name for one in made.own}):
        found = made.queues.get(name)
        drops = [] if found is None else [one for one in DROPPING if one in found.policy]
        if found is not None and drops:
            said = ", ".join(f"{one} = {found.policy[one]}" for one in drops)
            yield Fault(
                kind="policy",
                what=f"a policy sets {said} for queue {name}",
                remedy="leave this queue out of the pattern of the policy: rabbitmqctl list_policies",
                about=(name,),
            )
