"""Queues, counts, consumers and what is due, on a real broker with its management API, and without it."""

from __future__ import annotations

import socket
from contextlib import closing
from typing import Any

import pytest

from tests import handlers
from tests.brokers.hutch.opened import FAILURE, Opened, claims, new, one
from tests.processes import until
from workkit.brokers.hutch import held
from workkit.brokers.hutch.address import read_address, read_site
from workkit.brokers.hutch.broker import HutchBroker
from workkit.brokers.hutch.topology import delays
from workkit.contract.inspector import QueueInfo
from workkit.contract.record import listener_record
from workkit.errors import InvalidFunction, NotFound, Unsupported
from workkit.jobs.job import Job
from workkit.jobs.outcome import Again, Dead

KNOWN = handlers.note  # its name, "note", is known in this program


def by_name(found: list[QueueInfo]) -> dict[str, QueueInfo]:
    return {one.name: one for one in found}


def numbers(jobs: list[Job]) -> list[Any]:
    return [job.args[0]["n"] for job in jobs]


def test_all_queues_around_the_exchange_are_listed(on: Opened, management: str) -> None:
    listener = on.listener("note", "shop.sold")
    foreign = on.bound("shop.*", "b")
    listener.adding([new({"n": 1}), new({"n": 2}, due_ms=listener.now_ms() + 60_000), new({}, "shop.sold")])()
    found = by_name(on.broker(management=management).inspector.queues())
    assert (found[foreign].kind, found[foreign].keys, found[foreign].job) == ("work", ("b", "shop.*"), None)
    ours = found[on.names.queue("note")]
    assert (ours.kind, ours.keys, ours.job, ours.ready, ours.consumers) == ("work", ("note",), "note", 1, 0)
    assert found[on.names.dead_queue].kind == "dead"
    assert sum(one.ready for one in found.values() if one.kind == "delay") == 1
    assert sum(one.kind == "work" for one in found.values()) == 3


def test_without_the_api_queues_are_listed_whose_names_are_known(on: Opened) -> None:
    on.listener("note", "shop.sold").adding([new({}, "shop.sold")])()
    inspector = on.broker().inspector
    assert {one.name for one in inspector.queues()} == {on.names.queue("note"), on.names.dead_queue}
    found = by_name(inspector.queues(jobs=["shop.sold", "shop.paid"]))
    assert set(found) == {on.names.queue("note"), on.names.queue("shop.sold"), on.names.dead_queue}
    one = found[on.names.queue("shop.sold")]
    assert (one.ready, one.held, one.keys, one.rate_in) == (1, None, None, None)
    with pytest.raises(InvalidFunction):
        inspector.queues(jobs=["two words"])


def test_counts_say_what_nobody_tells_without_the_api(on: Opened) -> None:
    listener = on.listener()
    listener.adding([new({"n": 1}, due_ms=listener.now_ms() + 60_000)])()
    inspector = on.broker().inspector
    counts = inspector.counts()
    assert counts.waiting == 1
    assert set(counts.unknown) == {"due", "running", "retrying", "late_ms", "listeners"}
    assert "rabbitmq-plugins enable rabbitmq_management" in counts.unknown["due"]
    with pytest.raises(Unsupported) as caught:
        inspector.listeners()
    assert (caught.value.where, "rabbitmq-plugins" in str(caught.value)) == ("http://127.0.0.1:1", True)


def test_counts_and_listeners_are_those_of_the_broker(on: Opened, management: str) -> None:
    listener = on.listener("note")
    listener.adding([new({"n": n}) for n in range(4)])()
    dead = one(listener)
    held = claims(listener, 1)
    listener.claim(0, ends=[(dead, Dead(failure=FAILURE))])
    on.channel.basic_consume(on.bound("b"), lambda *_: None, consumer_tag="hutch-0b5e0b2e")
    on.channel.connection.process_data_events(0)
    inspector = on.broker(management=management).inspector

    def counted() -> bool:
        counts, held = inspector.counts(), sum(info.held or 0 for info in inspector.listeners())
        return (counts.due + counts.running, counts.dead, counts.listeners) == (3, 1, 2) and held == counts.running > 0

    until(counted, what="the API to tell")
    assert set(inspector.counts().unknown) == {"retrying"}
    found = {info.version: info for info in inspector.listeners()}
    assert set(found) == {"0", "hutch"}
    ours = found["0"]
    assert (ours.listener, ours.host, ours.pid, ours.threads) == (listener.listener, "here", 1, 1)
    assert (set(ours.serves), ours.running, ours.schedules) == ({"note"}, (), {on.names.exchange: 1})
    assert (ours.beat_ms, ours.up_ms is None) == (None, False), "AMQP tells no heartbeat, and our consumers their age"
    peer = listener_record(found["hutch"])
    assert [peer[field] for field in ("pid", "threads", "beat_ms", "up_ms", "running")] == [None] * 5
    assert ours.held == inspector.counts().running
    assert ours.held >= len(held)
    assert found["hutch"].listener == "hutch-0b5e0b2e"


@pytest.mark.parametrize("has_api", [True, False])
def test_what_is_due_is_shown_from_the_head_and_stays(
    on: Opened, management: str, monkeypatch: pytest.MonkeyPatch, has_api: bool
) -> None:
    monkeypatch.setattr(held, "MOST_DUE", 3)
    on.listener().leave()
    on.channel.confirm_delivery()
    for n in range(5):
        on.publish("note", b'{"n":%d}' % n, message_id=f"message-{n}", timestamp=1_700_000_000 + n)
    inspector = (on.broker(management=management) if has_api else on.broker()).inspector
    found = list(inspector.jobs(state="due"))
    assert numbers(found) == [0, 1, 2]
    assert {(job.fn, job.state, job.queue) for job in found} == {("note", "due", on.names.queue("note"))}
    assert inspector.job("message-1").args == ({"n": 1},)
    with pytest.raises(NotFound) as caught:
        inspector.job("message-4")
    assert "further back" in str(caught.value)
    taken = [on.got(on.names.queue("note")) for _ in range(5)]
    assert [body for *_, body in taken] == [b'{"n":%d}' % n for n in range(5)]
    assert [method.redelivered for method, *_ in taken] == [True, True, True, False, False]


def test_a_message_that_was_looked_at_runs_as_any_other(on: Opened) -> None:
    listener = on.listener()
    listener.adding([new({"n": 1})])()
    assert len(list(on.broker().inspector.jobs(state="due"))) == 1
    claim = one(listener)
    assert (claim.args, claim.attempt, claim.trouble) == (({"n": 1},), 0, None)
    assert claim.crashes < 2, "a listener would run it alone, as one that kills listeners"


@pytest.mark.parametrize("state", ["running", "retrying", None])
def test_states_that_cannot_be_listed_are_refused(on: Opened, state: Any) -> None:
    listener = on.listener()
    listener.adding([new({"n": 1})])()
    listener.claim(0, ends=[(one(listener), Again(delay_ms=60_000, attempt=1, failure=FAILURE))])
    inspector = on.broker().inspector
    with pytest.raises(Unsupported):
        inspector.jobs(state=state)
    assert set(inspector.unlisted()) == {"running", "retrying"}
    assert list(inspector.jobs(state="paused")) == []
    assert inspector.counts().waiting == 1


def test_messages_in_delay_queues_of_peers_wait(on: Opened, management: str) -> None:
    broker = on.broker(management=management)
    broker._out.run(lambda wire: wire.declare(delays(on.names)))
    on.channel.confirm_delivery()
    on.publish(
        on.names.level_key(60), exchange=on.names.schedule_exchange, expiration="60000", headers={"CC": ["note"]}
    )
    assert broker.inspector.counts().waiting == 1
    assert on.broker().inspector.counts().waiting == 1


def test_what_is_due_is_not_listed_where_no_queue_is_known(on: Opened) -> None:
    on.listener("shop.sold").adding([new({}, "shop.sold")])()
    inspector = on.broker().inspector
    with pytest.raises(Unsupported) as caught:
        inspector.jobs(state="due")
    assert "rabbitmq-plugins enable rabbitmq_management" in str(caught.value)


def test_an_api_that_does_not_answer_is_asked_once(on: Opened) -> None:
    with socket.create_server(("127.0.0.1", 0)) as silent, closing(silent_broker(on, silent)) as broker:
        silent.settimeout(5)
        assert "gives no answer in time" in broker.inspector.counts().unknown["due"]
        assert broker.inspector.queues() == []
        silent.accept()[0].close()
        silent.setblocking(False)
        with pytest.raises(BlockingIOError):
            silent.accept()


def silent_broker(on: Opened, silent: socket.socket) -> HutchBroker:
    address = read_address(on.url)
    site = read_site(f"http://127.0.0.1:{silent.getsockname()[1]}", address)
    return HutchBroker(address, names=on.names, site=site, patience=1.0)
