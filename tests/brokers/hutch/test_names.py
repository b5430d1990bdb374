"""Names and levels: the recorded ones of both libraries, and what cannot be a name."""

from __future__ import annotations

import pytest

from tests.brokers.hutch import vectors
from workkit.brokers.hutch.names import Dialect, Names, cleaned_namespace, hutch_queue
from workkit.brokers.hutch.topology import LEVELS
from workkit.errors import InvalidFunction, InvalidSchedule
from workkit.jobs.names import has_wildcard

TOPOLOGY = vectors.load("topology")


@pytest.mark.parametrize(
    ("namespace", "cleaned"),
    [
        *TOPOLOGY["namespace_cleaning"].items(),
        ("Team", "team"),
        ("a/b c", "abc"),
        ("naïve", "nave"),
        ("A.b:c-d_1", "a.b:c-d_1"),
    ],
)
def test_a_namespace_is_cleaned_as_hutch_does(namespace: str, cleaned: str) -> None:
    assert cleaned_namespace(namespace) == cleaned


def test_the_recorded_queues_with_a_namespace_are_named() -> None:
    found = {queue["name"] for queue in vectors.deployments()["hutch_names_and_options"]["listing"]["queues"]}
    for queue in ("ns_one_consumer", "ns_two_consumer"):
        assert hutch_queue(queue, namespace="My App!.x_1-Y:z") in found


@pytest.mark.parametrize(
    ("dialect", "namespace", "job", "queue", "key"),
    [
        ("event", "work", "test.ok", "work.test.ok", "test.ok"),
        ("event", "work", "Test.Upper", "work.test.upper", "test.upper"),
        ("event", "My App", "go.one", "My App.go.one", "go.one"),
        ("hutch", "", "orders.created", "hutch.workkit:orders.created", "orders.created"),
        ("event", "", "orders.created", "hutch.workkit.orders.created", "orders.created"),
        ("hutch", "My App!", "Orders.Created", "myapp:Orders.Created", "Orders.Created"),
    ],
)
def test_a_work_queue_has_the_name_and_key_of_its_dialect(
    dialect: Dialect, namespace: str, job: str, queue: str, key: str
) -> None:
    names = Names(exchange="hutch", dialect=dialect, prefix=namespace)
    assert (names.queue(job), names.bound_key(job)) == (queue, key)


@pytest.mark.parametrize(
    ("dialect", "name", "says"),
    [
        ("hutch", "orders created", "is not a routing key"),
        ("hutch", "orders.#", "a message has one routing key. Name this key."),
        ("hutch", "", "is not a routing key"),
        ("hutch", "orders.*", "holds a wildcard"),
        ("event", "orders.#", "holds a wildcard"),
        ("hutch", "#", "holds a wildcard: it is a pattern"),
        ("hutch", "dead_queue.orders", 'begins with "dead_queue."'),
        ("hutch", "hutch.schedule.5s", 'begins with "hutch.schedule."'),
        ("hutch", "workkit.queue.x", 'begins with "workkit."'),
        ("event", "Orders.Created", 'Write "orders.created"'),
        ("hutch", "o" * 300, "Accepted: up to 227 bytes"),
        ("event", "é" * 117, "Accepted: up to 227 bytes"),
    ],
)
def test_a_name_that_cannot_be_a_routing_key_is_refused(dialect: Dialect, name: str, says: str) -> None:
    with pytest.raises(InvalidFunction, match=says) as refused:
        Names(exchange="hutch", dialect=dialect).check_job(name)
    assert refused.value.given == name


@pytest.mark.parametrize("dialect", ["hutch", "event"])
@pytest.mark.parametrize("name", ["orders.created", "a", "x-1_y", "o" * 227, "deadqueue.x", "hutch.scheduled"])
def test_a_routing_key_is_accepted(dialect: Dialect, name: str) -> None:
    names = Names(exchange="hutch", dialect=dialect)
    names.check_job(name)
    for made in (names.queue(name), names.private_key(names.queue(name)), names.dead_key(name)):
        assert len(made.encode()) <= 255


def test_a_dead_key_that_becomes_too_long_is_cut_between_characters() -> None:
    key = Names(exchange="hutch", dialect="hutch").dead_key("é" * 127)
    assert key == "dead_queue." + "é" * 122


@pytest.mark.parametrize(("dialect", "namespace"), [("hutch", "!!"), ("hutch", " "), ("event", "a b")])
def test_a_namespace_without_a_word_is_refused(dialect: Dialect, namespace: str) -> None:
    with pytest.raises(InvalidSchedule, match="namespace="):
        Names(exchange="hutch", dialect=dialect, prefix=namespace).check()


@pytest.mark.parametrize(
    ("exchange", "says"), [("amq.topic", 'begins with "amq."'), ("e" * 101, "Accepted: up to 100 bytes")]
)
def test_an_exchange_that_cannot_be_declared_is_refused(exchange: str, says: str) -> None:
    with pytest.raises(InvalidSchedule, match=says):
        Names(exchange=exchange, dialect="hutch").check()


def test_the_levels_are_the_recorded_ones() -> None:
    assert list(LEVELS) == TOPOLOGY["delay_levels_seconds"]


def test_a_pattern_is_the_name_of_a_consumer_of_hutch_alone() -> None:
    hutch = Names(exchange="hutch", dialect="hutch")
    for pattern in ("orders.#", "orders.*", "#", "*.eu.#", "#.x.#"):
        hutch.check_job(pattern, consumes=True)
        queue = hutch.queue(pattern)
        assert not has_wildcard(hutch.private_key(queue))
        assert hutch.private_queue(hutch.private_key(queue)) == queue
        with pytest.raises(InvalidFunction, match="a consumer of event has one routing key"):
            Names(exchange="hutch", dialect="event").check_job(pattern, consumes=True)
    for pattern, says in (
        ("orders#.*", "is not a routing key"), ("workkit.#", 'begins with "workkit."'),
        ("dead_queue.#", 'begins with "dead_queue."'), ("o" * 226 + ".#", "Accepted: up to 226 bytes"),
    ):  # fmt: skip
        with pytest.raises(InvalidFunction, match=says):
            hutch.check_job(pattern, consumes=True)
    assert hutch.private_queue("orders.created") is None
