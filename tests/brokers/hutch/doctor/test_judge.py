"""The judge as tables: values in, fault names out. No broker."""

from __future__ import annotations

import re
import shlex
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import pytest

from tests.processes import ROOT
from workkit.brokers.hutch.broker_facts import (
    BindingFact,
    ChannelFact,
    Closed,
    ConsumerFact,
    ExchangeFact,
    NodeFact,
    QueueFact,
)
from workkit.brokers.hutch.doctor import MOMENTARY, judge, judge_broker, lasting
from workkit.brokers.hutch.doctor.survey import DeadFact, Survey, read_dead
from workkit.brokers.hutch.doctor.traffic import since
from workkit.brokers.hutch.message import Message
from workkit.brokers.hutch.names import Names
from workkit.brokers.hutch.topology import arrival, ladder, work
from workkit.contract.doctor import SEVERITIES

NOW = 1_800_000_000_000
NAMES = Names(exchange="shop", dialect="hutch")
EVENT = Names(exchange="shop", dialect="event")
QUEUE = NAMES.queue("note")
(WORK,) = work(NAMES, ["note"]).queues
SHUT = Closed("off", "refuses the connection", "Enable it.", where="http://h:15672")


def queue(name: str, **fields: Any) -> QueueFact:
    arguments = WORK.arguments if name.startswith("shop.workkit") else {}
    return QueueFact(name=name, **{"durable": True, "arguments": arguments, **fields})


def bound(name: str, key: str, source: str = "shop") -> BindingFact:
    return BindingFact(source=source, destination=name, key=key)


def ours(*names: str) -> list[BindingFact]:
    return [bound(name, f"workkit.queue.{name}", "shop.workkit") for name in names]


def survey(*queues: QueueFact, bindings: Sequence[BindingFact] = (), names: Names = NAMES, **fields: Any) -> Survey:
    there = {one.name: one for one in queues}
    return Survey(names=names, now_ms=NOW, queues=there, bindings=tuple(bindings), **fields)


DEAD = queue("shop_dead_queue", arguments={"x-message-ttl": 2_592_000_000, "x-max-length": 100_000})
LED = [bound("shop_dead_queue", "dead_queue.#")]


def kinds(made: Survey, *, patience_ms: int = 0) -> list[str]:
    return [fault.kind for fault in judge(made, patience_ms=patience_ms)]


def test_the_spec_names_the_kinds_that_need_a_second_look() -> None:
    text = (ROOT / "spec" / "layouts" / "hutch.md").read_text(encoding="utf-8")
    sentence = text.partition("**Patience.**")[2].partition(";")[0]
    assert set(re.findall(r"`([a-z-]+)`", sentence)) == MOMENTARY


@pytest.mark.parametrize(
    ("fields", "expected"),
    [
        ({"state": "running"}, []),
        ({"state": "down"}, ["down"]),
        ({"ready": 3}, ["no-consumer"]),
        ({"ready": 3, "consumers": 1}, []),
        ({"ready": 3, "exclusive": True}, ["own-differs"]),
        ({"ready": 3, "unacknowledged": 1}, []),  # its listener is busy
        ({"arguments": {**WORK.arguments, "x-queue-mode": "lazy"}}, ["own-differs"]),
        ({"arguments": {**WORK.arguments, "x-max-priority": 200}}, ["own-differs"]),
        ({"durable": False}, ["own-differs"]),
        ({"policy": {"expires": 5}}, ["policy"]),
        ({"policy": {"ha-mode": "all"}}, []),
    ],
)
def test_a_work_queue_of_ours_is_judged(fields: dict[str, Any], expected: list[str]) -> None:
    assert kinds(survey(queue(QUEUE, **fields), DEAD, bindings=[bound(QUEUE, "note"), *ours(QUEUE), *LED])) == expected


ARRIVAL = QueueFact(
    name="shop_workkit_arrival.note", durable=True, arguments=arrival(NAMES, "note").queues[0].arguments
)
STEP = QueueFact(name="shop_workkit_delay_0", durable=True, arguments=ladder(NAMES, highest=0).queues[0].arguments)


@pytest.mark.parametrize(
    ("fact", "moving", "up_ms", "binding", "expected"),
    [
        (ARRIVAL, 3, 5_000, None, ["undelivered"]),
        (ARRIVAL, 3, 10**9, None, ["undelivered"]),
        (ARRIVAL, 3, 5_000, "note", ["late-delay"]),
        (ARRIVAL, 3, 5_000, "not.#", ["undelivered"]),
        (ARRIVAL, 3, 5_000, "#", ["late-delay"]),
        (ARRIVAL, 3, 10**9, "note", []),
        (ARRIVAL, 0, 5_000, None, []),
        (STEP, 3, 5_000, None, ["late-delay"]),
        (STEP, 3, 10**9, None, []),  # on their way
        (STEP, 3, 0, None, []),  # this user is not told since when the node runs
    ],
)
def test_messages_whose_delay_is_over_are_judged(
    fact: QueueFact, moving: int, up_ms: int, binding: str | None, expected: list[str]
) -> None:
    led = [] if binding is None else [bound("theirs", binding)]
    made = survey(replace(fact, moving=moving), bindings=led, nodes=(NodeFact(name="n", up_ms=up_ms),))
    assert kinds(made) == expected


@pytest.mark.parametrize(
    ("names", "name", "bindings", "expected"),
    [
        (NAMES, "shop.workkit:note", [], ["unbound", "private"]),
        (NAMES, "shop.workkit:note", ours("shop.workkit:note"), ["unbound"]),
        (NAMES, "billing:note", ours("billing:note"), ["unbound"]),
        (NAMES, "billing:note", [], []),  # who knows whose it is
        (EVENT, "shop.workkit.note", [], ["unbound", "private"]),
        (EVENT, "shop.workkit.note", [bound("shop.workkit.note", "note"), *ours("shop.workkit.note")], []),
        (EVENT, "billing.note", ours("billing.note"), ["unbound"]),
        (EVENT, "billing.note", [bound("billing.note", "note"), *ours("billing.note")], []),
        (NAMES, "shop.workkit.note", [bound("shop.workkit.note", "note"), *ours("shop.workkit.note")], []),
    ],
)
def test_bindings_of_ours_are_judged(names: Names, name: str, bindings: list[BindingFact], expected: list[str]) -> None:
    found = judge(survey(queue(name), DEAD, names=names, bindings=[*bindings, *LED]), patience_ms=0)
    assert sorted(fault.kind for fault in found) == sorted(expected)


def test_a_queue_whose_job_is_not_known_is_not_repaired() -> None:
    (found,) = judge(
        survey(queue("billing.note"), DEAD, names=EVENT, bindings=[*ours("billing.note"), *LED]), patience_ms=0
    )
    assert (found.kind, found.subject) == ("unbound", None)
    assert "--namespace NAME" in found.remedy


def test_priorities_of_a_queue_of_another_namespace_are_its_own() -> None:
    for name, arguments in (("billing:note", {"x-max-priority": 200}), ("sales:note", {})):
        made = survey(queue(name, arguments=arguments), DEAD, bindings=[*ours(name), *LED, bound(name, "note")])
        assert kinds(made) == []


def test_a_queue_with_a_consumer_of_ours_is_ours() -> None:
    names = Names(exchange="shop", dialect="hutch", prefix="billing")
    consumer = ConsumerFact(queue="billing:note", tag="workkit-5d0c-0")
    own = queue("billing:note", consumers=1, arguments=WORK.arguments)
    made = survey(own, DEAD, names=names, bindings=LED, consumers=(consumer,))
    assert sorted(kinds(made)) == ["private", "unbound"]
    assert kinds(survey(queue("billing:note"), DEAD, names=names, bindings=LED)) == []


@pytest.mark.parametrize(
    ("channel", "tag", "expected"),
    [
        ({"unacknowledged": 2, "idle_since_ms": NOW - 60_000}, "ctag-1", ["unacknowledged"]),
        ({"unacknowledged": 2, "idle_since_ms": NOW - 59_000}, "ctag-1", []),
        ({"unacknowledged": 2}, "ctag-1", []),
        ({"unacknowledged": 0, "idle_since_ms": 0}, "ctag-1", []),
        ({"unacknowledged": 2, "idle_since_ms": 0}, "workkit-5d0c-0", []),  # its runs are long; the broker ends them
    ],
)
def test_a_channel_that_holds_messages_is_judged(channel: dict[str, Any], tag: str, expected: list[str]) -> None:
    made = survey(
        queue("mailer", unacknowledged=2, consumers=1),
        bindings=[bound("mailer", "orders")],
        channels=(ChannelFact(name="c (1)", **channel),),
        consumers=(ConsumerFact(queue="mailer", tag=tag, channel="c (1)"),),
    )
    assert kinds(made, patience_ms=60_000) == expected


@pytest.mark.parametrize(
    ("messages", "expected"),
    [
        ([DeadFact(key="note", is_ours=True)], []),
        ([DeadFact(key="note", was_delayed=True)], []),
        ([DeadFact(key="note")], ["stray"]),
        ([DeadFact(key="gone", is_ours=True)], ["unroutable"]),
        ([DeadFact(key="note", was_delayed=True, returns=True)] * 10, ["dead-loop"]),
        ([DeadFact(key="note", was_delayed=True, returns=True)] * 9, []),
        ([DeadFact(key="note", is_ours=True, failed_ms=NOW - 26 * 86_400_000)], ["dead-old"]),
        ([DeadFact(key="note", is_ours=True, failed_ms=NOW - 24 * 86_400_000)], []),
    ],
)
def test_dead_messages_are_judged(messages: list[DeadFact], expected: list[str]) -> None:
    made = survey(DEAD, queue("work"), bindings=[*LED, bound("work", "note")], dead=tuple(messages))
    assert kinds(made) == expected


@pytest.mark.parametrize(
    ("count", "policy", "expected"),
    [(89_999, {}, []), (90_000, {}, ["dead-full"]), (900, {"max-length": 1000}, ["dead-full", "policy"])],
)
def test_a_dead_queue_near_its_limit_is_judged(count: int, policy: dict[str, Any], expected: list[str]) -> None:
    full = queue("shop_dead_queue", arguments=DEAD.arguments, ready=count, policy=policy)
    assert sorted(kinds(survey(full, bindings=LED))) == expected


@pytest.mark.parametrize(
    ("version", "expected"),
    [
        ("3.10.8", []), ("3.12.14", []), ("3.13.0", ["x-death"]), ("3.13.2", ["x-death"]), ("3.13.3", []),
        ("4.0.2", ["x-death"]), ("4.3.0-rc.1", ["x-death"]), ("", []), ("unknown", []),
    ],
)  # fmt: skip
def test_a_release_that_forgets_attempts_is_named(version: str, expected: list[str]) -> None:
    assert [fault.kind for fault in judge_broker(survey(version=version))] == expected


def test_alarms_are_judged() -> None:
    nodes = (
        NodeFact(name="rabbit@a", memory_alarm=True, disk_alarm=True),
        NodeFact(name="rabbit@b"),
        NodeFact(name="rabbit@c", is_running=False),
    )
    found = list(judge_broker(survey(nodes=nodes)))
    assert [(fault.kind, fault.about) for fault in found] == [
        ("memory-alarm", ("rabbit@a",)), ("disk-alarm", ("rabbit@a",)), ("node-down", ("rabbit@c",)),
    ]  # fmt: skip


@pytest.mark.parametrize(("published", "expected"), [(0, []), (7, ["dropped"])])
def test_messages_without_a_queue_count_only_where_the_exchange_is_used(published: int, expected: list[str]) -> None:
    exchanges = {"shop": ExchangeFact(name="shop", type="topic", durable=True, published=published)}
    made = survey(exchanges=exchanges, channels=(ChannelFact(name="c (1)", user="tracy", dropped=2),))
    assert [fault.kind for fault in judge_broker(made)] == expected


def test_what_was_not_seen_is_no_fault() -> None:
    made = survey(
        queue("shop_dead_queue", arguments=DEAD.arguments), closed=SHUT, dead=(DeadFact(key="x", is_ours=True),)
    )
    assert kinds(made) == []
    assert [fault.kind for fault in judge_broker(made)] == ["unchecked"]


def test_the_worst_comes_first_and_what_was_a_moment_is_left_out() -> None:
    before = survey(queue(QUEUE, ready=1), DEAD, bindings=[*LED, *ours(QUEUE)], dead=(DeadFact(key="gone"),))
    after = survey(
        queue(QUEUE, ready=1), DEAD, bindings=[*LED, *ours(QUEUE), bound(QUEUE, "note")], dead=(DeadFact(key="gone"),)
    )
    first, then = judge(before, patience_ms=0), judge(after, patience_ms=0)
    ranks = [SEVERITIES.index(fault.severity) for fault in first]
    assert ranks == sorted(ranks)
    assert [fault.kind for fault in lasting(first, then)] == ["no-consumer", "unroutable", "stray"]
    assert [fault.kind for fault in lasting([], then)] == ["unroutable", "stray"]


def test_a_command_names_the_virtual_host() -> None:
    assert survey().delete("note") == "rabbitmqctl delete_queue note"
    assert survey(vhost="shop/eu").delete("a #b") == "rabbitmqctl -p shop/eu delete_queue 'a #b'"


def test_a_command_about_a_binding_is_quoted() -> None:
    key = "it's; $(id)"
    led = [bound(QUEUE, "note"), bound(QUEUE, key), *ours(QUEUE), *LED]
    (found,) = judge(survey(queue(QUEUE), DEAD, bindings=led), patience_ms=0)
    assert found.kind == "other-key"
    assert shlex.split(found.remedy.partition(": ")[2])[3:] == [
        "source=shop", "destination_type=queue", f"destination={QUEUE}", f"properties_key={key}",
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("ago_s", "more", "expected"),
    [
        ([], 0, ""),
        ([7200], 0, "; the last one 2 h ago"),
        ([7200, 1800, 300], 0, "; 2 in the last hour, the last one 5 min ago"),
        ([7200, 1800, 300], 1, "; the first one 2 h ago"),  # the newest were not read
    ],
)
def test_it_is_told_when_jobs_failed(ago_s: list[int], more: int, expected: str) -> None:
    messages = tuple(DeadFact(key="note", failed_ms=NOW - 1000 * ago) for ago in ago_s)
    full = queue("shop_dead_queue", arguments=DEAD.arguments, ready=len(ago_s) + more)
    assert since(survey(full, dead=messages)) == expected


@pytest.mark.parametrize(
    ("key", "headers", "expected"),
    [
        ("dead_queue.note", {}, DeadFact(key="note", failed_ms=5000)),
        ("dead_queue.note", {"CC": ["note"], "x-death": []},
         DeadFact(key="note", failed_ms=5000, returns=True, was_delayed=True)),
        ("dead_queue.no", {"workkit-key": "note", "workkit-reason": "failed", "workkit-failed-at": 7, "CC": ["x"]},
         DeadFact(key="note", failed_ms=7, is_ours=True)),
        ("dead_queue.no", {"workkit-key": "note"}, DeadFact(key="no", failed_ms=5000)),  # of a retry that event made
        ("dead_queue.no", {"workkit-key": 5, "workkit-reason": "failed", "workkit-failed-at": "x"},
         DeadFact(key="no", failed_ms=5000, is_ours=True)),
        ("dead_queue.no", {"workkit-reason": "failed", "workkit-failed-at": -5},
         DeadFact(key="no", failed_ms=5000, is_ours=True)),  # no time at which it can have failed
        ("note", {}, DeadFact(key="note", failed_ms=5000)),  # bound by hand
    ],
)  # fmt: skip
def test_a_dead_message_is_read(key: str, headers: dict[str, Any], expected: DeadFact) -> None:
    assert (
        read_dead(Message(exchange="shop", routing_key=key, headers=headers, properties={"timestamp": 5})) == expected
    )
