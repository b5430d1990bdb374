"""Judge bindings: missing ones and needless ones of our queues, and wildcards of event. Pure."""

from __future__ import annotations

from collections.abc import Iterator

from workkit.brokers.hutch.doctor.fault import Fault
from workkit.brokers.hutch.doctor.survey import Survey
from workkit.brokers.hutch.routing import is_wild
from workkit.brokers.hutch.topology import Binding, Exchange, Topology, dead, main


def judge_bindings(made: Survey) -> Iterator[Fault]:
    """Judge what leads to the work queues and to the dead queue."""
    if made.closed is not None:
        return
    for queue in made.own:
        yield from _own(made, queue.name)
    yield from _dead(made)
    yield from _wild(made)


def _own(made: Survey, queue: str) -> Iterator[Fault]:
    names = made.names
    fix = f"workkit doctor {names.exchange} --fix"
    private = names.private_key(queue)
    if private not in made.bound(names.own_exchange, queue):
        binding = Binding(names.own_exchange, queue, private)
        yield Fault(
            kind="private",
            what=f"queue {queue} is not bound to {names.own_exchange} by its private key",
            remedy=fix,
            about=(queue,),
            missing=Topology(exchanges=(Exchange(names.own_exchange),), bindings=(binding,)),
        )
    job, bound = made.job_of(queue), made.bound(names.exchange, queue)
    if job is None:
        if not bound:
            yield Fault(
                kind="unbound",
                what=f"queue {queue} is not bound to exchange {names.exchange}",
                remedy=f"workkit doctor {names.exchange} --fix --namespace NAME, with the namespace of its listeners",
                about=(queue,),
            )
        return
    key = names.bound_key(job)
    if key not in bound:
        yield Fault(
            kind="unbound",
            what=f"queue {queue} is not bound to exchange {names.exchange} by {key}",
            remedy=fix,
            about=(queue,),
            missing=main(names) + Topology(bindings=(Binding(names.exchange, queue, key),)),
        )
    for other in sorted(bound - {key}):
        yield Fault(
            kind="other-key",
            what=f"queue {queue} is also bound to exchange {names.exchange} by {other}",
            remedy=f"remove the binding: rabbitmqadmin delete binding source={names.exchange} destination_type=queue "
            f"destination={queue} properties_key={other}",
            about=(queue, other),
        )


def _dead(made: Survey) -> Iterator[Fault]:
    names = made.names
    wanted, fix = dead(names), f"workkit doctor {names.exchange} --fix"
    if names.dead_queue not in made.queues:
        if made.own:
            yield Fault(
                kind="no-dead-queue",
                what=f"there is no queue {names.dead_queue}",
                remedy=fix,
                about=(names.dead_queue,),
                missing=wanted,
            )
        return
    if made.missing(wanted).bindings:
        yield Fault(
            kind="dead-unbound",
            what=f"queue {names.dead_queue} is not bound to exchange {names.exchange} by {wanted.bindings[0].key}",
            remedy=fix,
            about=(names.dead_queue,),
            missing=Topology(bindings=wanted.bindings),
        )


def _wild(made: Survey) -> Iterator[Fault]:
    """Name queues of event, which are named after their key, that are bound by a wildcard."""
    for queue in made.work:
        for key in sorted(made.bound(made.names.exchange, queue.name)):
            if is_wild(key) and queue.name.endswith(f".{key}") and not made.is_own(queue.name):
                yield Fault(
                    kind="wildcard",
                    what=f"queue {queue.name} of event is bound by the wildcard {key}",
                    remedy="register one handler for each key in event, and delete this queue: "
                    f"{made.delete(queue.name)}",
                    about=(queue.name,),
                )
