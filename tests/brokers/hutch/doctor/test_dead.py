"""Dead queues that tell of trouble, filled by hand on a real broker as workkit and event fill them."""

from __future__ import annotations

import time

from tests.brokers.hutch.doctor.patient import Patient
from tests.brokers.hutch.opened import FAILURE, new, one
from workkit.brokers.hutch.topology import dead, main
from workkit.jobs.outcome import Dead

AGO = 3 * 3600


def test_a_dead_job_of_ours_is_counted_and_stays_where_it_is(patient: Patient) -> None:
    names = patient.names
    listener = patient.listens("note")
    for number in range(3):
        patient.broker().adding([new({"n": number})])()
        listener.claim(0, ends=[(one(listener), Dead(failure=FAILURE, reason="failed"))])
    (found,) = patient.found()
    assert (found.kind, found.schedule) == ("dead", names.exchange)
    assert found.what.startswith("3 jobs failed for good; 3 in the last hour, the last one ")
    assert found.remedy == f"workkit dead {names.exchange}"
    bodies = [patient.channel.basic_get(names.dead_queue, auto_ack=True)[2] for _ in range(3)]
    assert bodies == [b'{"n":0}', b'{"n":1}', b'{"n":2}']


def test_a_dead_message_that_leads_to_no_queue_is_named(patient: Patient) -> None:
    patient.healthy("note")
    for key in ("note", "gone", "gone"):
        patient.publish(f"dead_queue.{key}", headers={"x-death": []})
    unroutable, count = patient.found()
    assert (unroutable.kind, unroutable.about) == ("unroutable", ("gone",))
    assert unroutable.what == "2 messages in the dead queue have the routing key gone, which leads to no queue"
    assert count.kind == "dead"


def test_stray_copies_of_event_are_named(patient: Patient) -> None:
    """event puts a message for which it has no handler there at once: no retry, no header."""
    patient.healthy("note")
    patient.publish("dead_queue.note")
    patient.publish("dead_queue.note", headers={"x-death": []})
    stray, count = patient.found()
    assert (stray.kind, stray.about) == ("stray", ("note",))
    assert stray.what == "1 message of note in the dead queue was put there by event without a retry"
    assert count.what.startswith("2 jobs failed for good")


def test_a_dead_loop_of_event_is_named(patient: Patient) -> None:
    patient.healthy("note")
    for _ in range(12):
        patient.publish("dead_queue.note", headers={"CC": ["other"], "x-death": []})
    loop, _ = patient.found()
    assert (loop.kind, loop.about) == ("dead-loop", ("note",))
    assert loop.what == "12 messages of note in the dead queue still have CC, which leads back"


def test_a_dead_queue_that_is_nearly_full_is_named(patient: Patient) -> None:
    patient.makes(main(patient.names))
    patient.queue(patient.names.dead_queue, {**dead(patient.names).queues[0].arguments, "x-max-length": 150})
    patient.channel.queue_bind(patient.names.dead_queue, patient.names.exchange, "dead_queue.#")
    patient.queue("work-" + patient.names.exchange, key="note")
    for _ in range(140):
        patient.publish("dead_queue.note", headers={"x-death": []})
    found = {finding.kind: finding for finding in patient.found()}
    assert set(found) == {"differs", "dead-full", "dead"}
    assert found["dead-full"].what == "the dead queue holds 140 of 150 messages"


def test_dead_messages_whose_time_is_nearly_over_are_named(patient: Patient) -> None:
    patient.makes(main(patient.names))
    patient.queue(patient.names.dead_queue, {"x-message-ttl": AGO * 1000, "x-max-length": 100_000})
    patient.channel.queue_bind(patient.names.dead_queue, patient.names.exchange, "dead_queue.#")
    patient.queue("work-" + patient.names.exchange, key="note")
    now = round(time.time())
    for ago in (AGO - 60, 125):
        patient.publish("dead_queue.note", headers={"x-death": []}, timestamp=now - ago)
    found = {finding.kind: finding for finding in patient.found()}
    assert set(found) == {"differs", "dead-old", "dead"}
    assert found["dead-old"].what == "1 message of the dead queue is near the end of its 3 h there"
    assert found["dead"].what == "2 jobs failed for good; the last one 2 min ago"
