"""Objects that differ, are doubled or are missing, made by hand on a real broker; and healthy ones."""

from __future__ import annotations

from tests.brokers.hutch.doctor.patient import Patient
from tests.brokers.hutch.management.asked import put, remove, told
from tests.processes import until
from workkit.brokers.hutch.topology import KEPT_MS, delays, ladder, main, work
from workkit.contract.doctor import Finding


def kinds(findings: list[Finding]) -> list[str]:
    return [finding.kind for finding in findings]


def test_all_is_well_with_what_listeners_and_peers_declare(patient: Patient) -> None:
    assert patient.found() == []  # nothing is there
    patient.makes(delays(patient.names) + ladder(patient.names, highest=3))
    patient.listens("note", "orders.created")
    patient.queue("billing:order_mailer", {"x-queue-type": "classic"}, key="orders.#")
    assert patient.found() == []


def test_an_exchange_that_differs_is_named_and_left_alone(patient: Patient) -> None:
    names = patient.names
    patient.channel.exchange_declare(
        names.exchange, "direct", durable=True, arguments={"alternate-exchange": "amq.fanout"}
    )
    patient.channel.exchange_declare(names.own_exchange, "topic", durable=False)
    shared, own = patient.found()
    assert (shared.kind, shared.about, shared.repairs) == ("differs", (names.exchange,), False)
    assert shared.what == (
        f"exchange {names.exchange} differs from what hutch and event declare: its type is direct, not topic; "
        "it has alternate-exchange = amq.fanout"
    )
    assert "by a policy" in shared.remedy
    assert (own.kind, own.about) == ("own-differs", (names.own_exchange,))
    assert own.what == f"exchange {names.own_exchange} differs from what workkit declares: it is not durable"
    assert told(patient.asks.exchanges())[names.exchange].type == "direct"


def test_delay_queues_without_arguments_lose_messages(patient: Patient) -> None:
    """As hutch-schedule 0.7.3 declares them through hutch 1.1.1 or later."""
    names = patient.names
    patient.makes(main(names))
    patient.channel.exchange_declare(names.schedule_exchange, "topic", durable=True)
    for one in delays(names).queues:
        patient.queue(one.name, durable=False)
    for binding in delays(names).bindings:
        patient.channel.queue_bind(binding.destination, binding.source, binding.key)
    found = patient.found()
    assert kinds(found) == ["lossy-delay"] * 21
    assert found[0].what == (
        f"queue {names.exchange}_delay_queue_5s differs from what hutch and event declare: it is not durable; "
        f"it lacks x-dead-letter-exchange = {names.exchange}; it lacks x-message-ttl = {KEPT_MS}"
    )


def test_two_sets_of_delay_queues_double_messages(patient: Patient) -> None:
    names = patient.names
    patient.makes(delays(names))
    arguments = delays(names).queues[0].arguments
    for level in (5, 10):
        other = patient.queue(f"team:{names.delay_queue(level)}", arguments)
        patient.channel.queue_bind(other, names.schedule_exchange, names.level_key(level))
    (found,) = patient.found()
    assert found.kind == "double-delay"
    assert f"a delay of 5 s has 2 queues: team:{names.delay_queue(5)}, {names.delay_queue(5)}" in found.what
    assert "so have 2 of 21 delays" in found.what
    patient.channel.queue_delete(f"team:{names.delay_queue(10)}")
    patient.queue(f"team:{names.delay_queue(10)}")
    patient.channel.queue_bind(f"team:{names.delay_queue(10)}", names.schedule_exchange, names.level_key(10))
    assert kinds(patient.found()) == ["lossy-delay", "double-delay"]


def test_a_level_without_a_queue_is_named(patient: Patient) -> None:
    names = patient.names
    patient.makes(delays(names))
    patient.channel.queue_unbind(names.delay_queue(480), names.schedule_exchange, names.level_key(480))
    (found,) = patient.found()
    assert (found.kind, found.about, found.repairs) == ("no-delay", (names.level_key(480),), False)
    assert "has no queue for delays of 480 s" in found.what


def test_a_dead_queue_and_queues_of_ours_that_differ_are_named(patient: Patient) -> None:
    names = patient.names
    patient.healthy("note")
    patient.makes(ladder(names, highest=1))
    patient.channel.queue_delete(names.dead_queue)
    patient.queue(names.dead_queue, {"x-max-length": 7}, key="dead_queue.#")
    for name in (names.queue("note"), f"{names.exchange}_workkit_delay_1"):
        patient.channel.queue_delete(name)
    patient.queue(names.queue("note"), {**work(names, ["note"]).queues[0].arguments, "x-expires": 60_000}, key="note")
    patient.channel.queue_bind(names.queue("note"), names.own_exchange, names.private_key(names.queue("note")))
    step = patient.queue(f"{names.exchange}_workkit_delay_1", {"x-message-ttl": 32, "x-dead-letter-exchange": "gone"})
    patient.channel.queue_bind(step, f"{names.own_exchange}.delay.1", ladder(names).bindings[2].key)
    found = {finding.about[0]: finding for finding in patient.found()}
    assert {name: one.kind for name, one in found.items()} == {
        names.dead_queue: "differs", names.queue("note"): "own-differs", step: "own-differs",
    }  # fmt: skip
    assert "its x-max-length is 7, not 100000; it lacks x-message-ttl" in found[names.dead_queue].what
    assert found[names.queue("note")].what.endswith("differs from what workkit declares: it has x-expires = 60000")
    assert f"its x-dead-letter-exchange is gone, not {names.own_exchange}.delay.0" in found[step].what


def test_a_policy_that_drops_messages_is_named(patient: Patient) -> None:
    names = patient.names
    patient.healthy("note")
    definition = {"max-length": 10, "queue-mode": "lazy"}
    policy = {"pattern": f"^{names.exchange}", "definition": definition, "apply-to": "queues"}
    put(patient.asks, f"/policies/%2F/{names.exchange}", policy)
    try:
        until(lambda: len(patient.found()) == 2, what="the policy to be told")
        found = patient.found()
    finally:
        remove(patient.asks, f"/policies/%2F/{names.exchange}")
    queues = (names.queue("note"), names.dead_queue)
    expected = {("policy", f"a policy sets max-length = 10 for queue {queue}") for queue in queues}
    assert {(one.kind, one.what) for one in found} == expected


def test_without_the_management_api_objects_are_checked_by_amqp(patient: Patient) -> None:
    names = patient.names
    patient.makes(ladder(names, highest=2))
    nobody = "http://u:secret@127.0.0.1:1"
    (well,) = patient.found(management=nobody)
    assert (well.kind, well.schedule) == ("unchecked", names.exchange)
    assert well.what == (
        "bindings, consumers, work queues and alarms could not be checked: the management API at "
        "http://u:***@127.0.0.1:1 refuses the connection"
    )
    assert "rabbitmq-plugins enable rabbitmq_management" in well.remedy
    patient.channel.exchange_declare(names.schedule_exchange, "direct", durable=True)
    patient.queue(names.dead_queue)
    patient.channel.queue_delete(f"{names.exchange}_workkit_delay_0")
    patient.queue(f"{names.exchange}_workkit_delay_0", {"x-message-ttl": 16})
    found = patient.found(management=nobody)
    assert sorted((one.kind, one.about[0]) for one in found) == [
        ("differs", names.schedule_exchange), ("differs", names.dead_queue),
        ("own-differs", f"{names.exchange}_workkit_delay_0"), ("unchecked", "off"),
    ]  # fmt: skip
    assert names.delay_queue(5) not in told(patient.asks.queues())  # looking declares nothing
