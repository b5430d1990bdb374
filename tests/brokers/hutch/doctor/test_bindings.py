"""Bindings that are missing or too many, made by hand on a real broker; and what --fix declares."""

from __future__ import annotations

from dataclasses import replace

from tests.brokers.hutch.doctor.patient import Patient
from tests.brokers.hutch.opened import new, one
from workkit.brokers.hutch.names import DEAD
from workkit.brokers.hutch.topology import ladder, main, step_exchange


def test_bindings_of_ours_that_are_gone_are_repaired(patient: Patient) -> None:
    names, channel = patient.names, patient.channel
    listener = patient.listens("note")
    queue = names.queue("note")
    channel.queue_unbind(queue, names.exchange, "note")
    channel.queue_unbind(queue, names.own_exchange, names.private_key(queue))
    channel.queue_unbind(names.dead_queue, names.exchange, f"{DEAD}#")
    found = patient.found()
    assert {finding.kind: finding.what for finding in found} == {
        "unbound": f"queue {queue} is not bound to exchange {names.exchange} by note",
        "private": f"queue {queue} is not bound to {names.own_exchange} by its private key",
        "dead-unbound": f"queue {names.dead_queue} is not bound to exchange {names.exchange} by dead_queue.#",
    }
    assert all(finding.remedy == f"workkit doctor {names.exchange} --fix" for finding in found)
    assert patient.repaired(found) == [True, True, True]
    assert patient.found() == []
    assert patient.repaired(found) == [False, False, False]  # it is over
    patient.broker().adding([new({})])()
    assert one(listener).job.fn == "note"


def test_a_dead_queue_that_is_gone_is_declared_again(patient: Patient) -> None:
    patient.healthy("note")
    patient.channel.queue_delete(patient.names.dead_queue)
    (found,) = patient.found()
    assert (found.kind, found.about) == ("no-dead-queue", (patient.names.dead_queue,))
    assert patient.repaired([found]) == [True]
    assert patient.found() == []


def test_a_ladder_with_gaps_is_completed(patient: Patient) -> None:
    names, channel = patient.names, patient.channel
    patient.makes(ladder(names, highest=4))
    channel.queue_delete(f"{names.exchange}_workkit_delay_2")
    (leaves,) = (one for one in ladder(names).bindings if one.destination == names.arrival_exchange)
    channel.exchange_unbind(names.arrival_exchange, names.own_exchange, leaves.key)
    (found,) = patient.found()
    assert found.kind == "ladder"
    assert found.what == f"the delays of workkit miss queue {names.exchange}_workkit_delay_2 and 2 more"
    assert patient.repaired([found]) == [True]
    assert patient.found() == []
    channel.exchange_delete(step_exchange(names, 1))
    assert [finding.kind for finding in patient.found()] == ["ladder"]


def test_a_gap_where_something_else_stands_is_not_repaired(patient: Patient) -> None:
    names = patient.names
    patient.makes(ladder(names, highest=1))
    patient.channel.queue_delete(f"{names.exchange}_workkit_delay_0")
    patient.queue(f"{names.exchange}_workkit_delay_0")
    found = patient.found()
    assert [finding.kind for finding in found] == ["own-differs", "ladder"]
    assert patient.repaired(found) == [False]


def test_a_queue_that_is_gone_is_not_bound(patient: Patient) -> None:
    patient.healthy("note")
    queue = patient.names.queue("note")
    patient.channel.queue_unbind(queue, patient.names.exchange, "note")
    (found,) = patient.found()
    patient.channel.queue_delete(queue)
    assert patient.repaired([found]) == [False]


def test_queues_of_another_namespace_of_ours_are_checked_too(patient: Patient) -> None:
    patient.makes(main(patient.names))
    theirs = replace(patient.names, prefix=f"billing-{patient.names.exchange}")
    queue = patient.queue(theirs.queue("note"), key="note")
    patient.channel.exchange_declare(theirs.own_exchange, "topic", durable=True)
    patient.channel.queue_bind(queue, theirs.own_exchange, theirs.private_key(queue))
    patient.channel.queue_unbind(queue, theirs.exchange, "note")
    found = {finding.kind: finding for finding in patient.found()}
    assert set(found) == {"unbound", "no-dead-queue"}
    assert patient.doctor.repair(found["unbound"])
    assert [finding.kind for finding in patient.found()] == ["no-dead-queue"]


def test_a_queue_of_a_peer_is_never_bound(patient: Patient) -> None:
    """A hutch worker may have the namespace that a listener of ours has been given."""
    patient.makes(main(patient.names))
    patient.names = replace(patient.names, prefix=f"billing-{patient.names.exchange}")
    patient.doctor = patient.broker().doctor
    patient.queue(patient.names.queue("order_mailer"), key="orders.#")
    patient.queue(patient.names.queue("idle"))
    assert patient.found() == []


def test_a_key_too_many_is_named(patient: Patient) -> None:
    patient.healthy("note")
    queue = patient.names.queue("note")
    patient.channel.queue_bind(queue, patient.names.exchange, "orders.#")
    (found,) = patient.found()
    assert (found.kind, found.about, found.repairs) == ("other-key", (queue, "orders.#"), False)
    assert found.what == f"queue {queue} is also bound to exchange {patient.names.exchange} by orders.#"


def test_a_wildcard_of_event_is_named(patient: Patient) -> None:
    patient.healthy("note")
    patient.queue("shop.work.multi.#", key="work.multi.#")
    patient.queue("order_mailer", key="work.multi.#")  # of hutch, which takes wildcards
    (found,) = patient.found()
    assert (found.kind, found.about) == ("wildcard", ("shop.work.multi.#",))


def test_the_queue_of_a_pattern_is_healthy_and_its_bindings_are_repaired(patient: Patient) -> None:
    names = patient.names
    listener = patient.listens("orders.#", "orders.*")
    queue = names.queue("orders.#")
    assert patient.found() == []
    patient.channel.queue_unbind(queue, names.exchange, "orders.#")
    patient.channel.queue_unbind(queue, names.own_exchange, names.private_key(queue))
    found = patient.found()
    assert {finding.kind: finding.about for finding in found} == {"unbound": (queue,), "private": (queue,)}
    assert patient.repaired(found) == [True, True]
    assert patient.found() == []
    patient.publish("orders.paid")
    assert one(listener).job.fn == "orders.paid"
