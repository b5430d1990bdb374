"""Queues that fill, that nobody serves, consumers that hold messages, made by hand on a real broker."""

from __future__ import annotations

from contextlib import closing
from pathlib import Path

import pytest

from tests.brokers.hutch.doctor.patient import Patient
from tests.brokers.hutch.management.asked import put, remove
from tests.brokers.hutch.opened import one
from tests.processes import until
from tests.rabbit import Rabbit
from workkit.brokers.hutch import session
from workkit.brokers.hutch.address import read_address, read_site
from workkit.brokers.hutch.broker import HutchBroker
from workkit.brokers.hutch.names import Names
from workkit.brokers.hutch.topology import dead, main
from workkit.contract.doctor import Finding


def test_messages_that_nobody_consumes_are_named(patient: Patient) -> None:
    patient.healthy("note")
    patient.queue("order_mailer-" + patient.names.exchange, key="orders.created")
    for key in ("note", "note", "orders.created"):
        patient.publish(key)
    ours, theirs = sorted(patient.found(), key=lambda finding: finding.what, reverse=True)
    queue = patient.names.queue("note")
    if ours.about != (queue,):
        ours, theirs = theirs, ours
    assert (ours.kind, ours.what) == ("no-consumer", f"2 messages wait in queue {queue}, and nobody consumes it")
    assert ours.remedy == f"workkit listen --import MODULE {patient.names.exchange}"
    assert theirs.what == f"1 message waits in queue order_mailer-{patient.names.exchange}, and nobody consumes it"
    assert "rabbitmqctl delete_queue order_mailer" in theirs.remedy


def test_a_queue_that_no_listener_serves_any_more_is_named(patient: Patient) -> None:
    patient.healthy("note", "gone")
    assert patient.found() == []  # nobody listens: a deployment may just be under way
    listener = patient.listens("note")
    (found,) = patient.found()
    queue = patient.names.queue("gone")
    assert (found.kind, found.about, found.repairs) == ("unserved", (queue,), False)
    assert found.what == f"no listener consumes queue {queue}, and listeners consume others of its namespace"
    listener.leave()


def test_a_listener_whose_threads_are_busy_is_no_fault(patient: Patient, monkeypatch: pytest.MonkeyPatch) -> None:
    """It stops consuming when a message waits too long for a free thread."""
    monkeypatch.setattr(session, "HOARDED", 0.0)
    listener = patient.listens("note", "later")
    patient.publish("note")
    claim = one(listener)
    patient.publish("later")

    def is_suspended() -> bool:
        listener.beating()()
        return (_counts(patient, "note"), _counts(patient, "later")) == ((0, 1, 0), (1, 0, 0))

    until(is_suspended, what="the consumers to be gone")
    assert patient.found() == []
    assert claim.job.fn == "note"


def _counts(patient: Patient, job: str) -> tuple[int, int, int]:
    queues = patient.asks.queues()
    assert isinstance(queues, list)
    (queue,) = (queue for queue in queues if queue.name == patient.names.queue(job))
    return queue.ready, queue.unacknowledged, queue.consumers


def test_a_consumer_that_holds_messages_and_does_nothing_is_named(patient: Patient) -> None:
    patient.makes(main(patient.names))
    queue = patient.queue(f"shop.{patient.names.exchange}", key="orders.created")
    for _ in range(2):
        patient.publish("orders.created")
    patient.channel.basic_consume(queue, lambda *_: None, consumer_tag="ctag-event-1")

    def held() -> list[Finding]:
        patient.channel.connection.process_data_events(0)
        return [finding for finding in patient.found() if finding.kind == "unacknowledged"]

    until(lambda: bool(held()), timeout=20, what="the channel to be idle")
    (found,) = held()
    assert found.what.startswith(f"consumer ctag-event-1 at 127.0.0.1 holds 2 messages of {queue}, and has done")
    assert [finding.kind for finding in patient.found(patience_ms=600_000)] == []


def test_messages_that_led_to_no_queue_are_named(patient: Patient) -> None:
    patient.makes(main(patient.names))

    def dropped() -> list[Finding]:
        patient.publish("Nobody")
        return [finding for finding in patient.found() if finding.kind == "dropped"]

    until(lambda: bool(dropped()), timeout=20, what="the statistics")
    found = dropped()[0]
    assert 'of user "guest" has published ' in found.what
    assert found.what.endswith(" that led to no queue")
    assert found.schedule == ""


def test_a_user_without_the_tag_monitoring_is_told_what_was_not_checked(patient: Patient) -> None:
    name = patient.names.exchange
    patient.healthy("note")
    patient.publish("note")
    put(patient.asks, f"/users/{name}", {"password": "pw", "tags": "management"})
    try:
        put(patient.asks, f"/permissions/%2F/{name}", {"configure": ".*", "write": ".*", "read": ".*"})
        found = patient.found(management=patient.management.replace("guest:guest", f"{name}:pw"))
    finally:
        remove(patient.asks, f"/users/{name}")
    assert [finding.kind for finding in found] == ["unchecked", "no-consumer"]
    assert found[0].what.startswith("alarms and the consumers of other users could not be checked: ")
    assert found[0].remedy == f"rabbitmqctl set_user_tags {name} monitoring"


def test_what_this_user_may_not_read_is_told(patient: Patient) -> None:
    name = patient.names.exchange
    patient.makes(dead(patient.names))
    patient.publish("dead_queue.note")
    put(patient.asks, f"/users/{name}", {"password": "pw", "tags": ""})
    try:
        put(patient.asks, f"/permissions/%2F/{name}", {"configure": "^$", "write": "^$", "read": "^$"})
        patient.url = patient.url.replace("guest:guest", f"{name}:pw")
        found = patient.found(management="http://127.0.0.1:1")
    finally:
        remove(patient.asks, f"/users/{name}")
    assert {finding.kind for finding in found} <= {"unchecked", "dead"}
    for what in ("exchanges and queues", "the dead queue"):
        said = f"{what} could not be checked: ACCESS_REFUSED"
        assert any(finding.what.startswith(said) for finding in found), what


def test_an_alarm_of_the_broker_is_named_and_the_api_of_another_one_is_not_believed(
    tmp_path: Path, management: str
) -> None:
    conf = "vm_memory_high_watermark.absolute = 1MB"
    with closing(Rabbit(tmp_path / "rabbit", conf=conf, manages=True)) as own:
        own.start()
        address = read_address(own.url)
        names = Names(exchange="hutch", dialect="hutch")
        with closing(HutchBroker(address, names=names, site=read_site(own.management, address))) as broker:
            found = until(lambda: list(broker.doctor.checkup(patience_ms=0)), what="the alarm")
        with closing(HutchBroker(address, names=names, site=read_site(management, address))) as broker:
            (other,) = broker.doctor.checkup(patience_ms=0)
    assert [(finding.kind, finding.schedule) for finding in found] == [("memory-alarm", "")]
    assert found[0].what.endswith(" has the memory alarm")
    assert (other.kind, other.about) == ("unchecked", ("other",))
    assert " belongs to another broker: " in other.what
