"""Delayed messages on a real broker: listed, found, cancelled, and all others as they were."""

from __future__ import annotations

import json
import subprocess
import sys
import threading
import urllib.request
from base64 import b64encode
from collections.abc import Iterator
from contextlib import contextmanager
from urllib.parse import quote, urlsplit

import pytest

from tests.brokers.hutch.opened import FAILURE, Opened, new, one
from tests.processes import until
from tests.warm import Program, clean_environ
from workkit.brokers.hutch import held
from workkit.brokers.hutch.broker import HutchBroker
from workkit.brokers.hutch.message import Message, deaths
from workkit.errors import NotFound, ServerRefused, Unsupported
from workkit.jobs.job import Job
from workkit.jobs.outcome import Again

FAR_MS = 3_600_000

HOLDS = """
import sys, time
from workkit.brokers.hutch.address import read_address
from workkit.brokers.hutch.broker import HutchBroker
from workkit.brokers.hutch.names import Names

def held(message):
    print(flush=True)
    time.sleep(60)

HutchBroker(read_address(sys.argv[1]), names=Names(exchange=sys.argv[2], dialect="hutch"))._delayed.take(held)
"""


def waiting(broker: HutchBroker) -> list[Job]:
    return list(broker.inspector.jobs(state="waiting"))


def filled(on: Opened, n: int) -> HutchBroker:
    """Delay messages for nearly the same time, with the bodies 0, 1, ..."""
    broker = on.broker()
    due_ms = broker.now_ms() + FAR_MS
    broker.adding([new({"n": number}, due_ms=due_ms + number) for number in range(n)])()
    return broker


def order(broker: HutchBroker) -> list[int]:
    """Read the bodies of one step in the order in which RabbitMQ has them."""
    found: list[int] = []

    def seen(message: Message) -> bool:
        found.append(json.loads(message.body)["n"])
        return False

    broker._delayed.take(seen)
    return found


def test_delayed_messages_are_listed_soonest_first_and_come_on_time(on: Opened) -> None:
    queue, broker = on.bound("note", "shop.sold"), on.broker()
    far_ms = broker.now_ms() + FAR_MS
    (later,) = broker.adding([new({"n": 1}, due_ms=far_ms)])()
    due_ms = broker.now_ms() + 2500
    (soon,) = broker.adding([new({"n": 2}, "shop.sold", due_ms=due_ms)])()
    while broker.now_ms() < due_ms - 1500:
        jobs = waiting(broker)
        assert [(job.id, job.fn, job.args, job.state) for job in jobs] == [
            (soon.id, "shop.sold", ({"n": 2},), "waiting"), (later.id, "note", ({"n": 1},), "waiting"),
        ]  # fmt: skip
        assert [round(job.due.timestamp() * 1000) for job in jobs if job.due] == [due_ms, far_ms]
    assert broker.inspector.job(later.id[:8]).id == later.id
    assert broker.inspector.counts().waiting == 2
    _, properties, body = on.got(queue)
    assert (properties.message_id, body) == (soon.id, b'{"n":2}')
    assert due_ms - 20 < broker.now_ms() < due_ms + 2000, "as late as a busy machine is"
    assert [job.id for job in waiting(broker)] == [later.id]


def test_cancel_takes_one_message_out_and_leaves_all_others(on: Opened) -> None:
    broker = filled(on, 5)
    third = waiting(broker)[2]
    assert broker.admin.cancel(third).id == third.id
    assert [job.args[0]["n"] for job in waiting(broker)] == [0, 1, 3, 4]
    with pytest.raises(NotFound, match="is not delayed any more"):
        broker.admin.cancel(third)
    with pytest.raises(NotFound):
        broker.inspector.job(third.id)


def test_of_messages_that_are_due_soon_all_others_come_on_time(on: Opened) -> None:
    queue, broker = on.bound("note"), filled(on, 1)  # the ladder is declared now
    due_ms = broker.now_ms() + 2500
    added = broker.adding([new({"n": n}, due_ms=due_ms + n) for n in range(3)])()
    broker.admin.cancel(Job(id=added[1].id, schedule=on.names.exchange, fn="note", state="waiting"))
    assert [json.loads(on.got(queue)[2])["n"] for _ in range(2)] == [0, 2]
    assert due_ms - 20 < broker.now_ms() < due_ms + 2000, "as late as a busy machine is"
    assert on.count(queue) == 0


def test_messages_that_are_read_past_keep_their_order(on: Opened) -> None:
    """RabbitMQ ends the delay of a message only once those before it in its queue have ended theirs."""
    broker = filled(on, 300)
    jobs = waiting(broker)
    assert len(jobs) == 300
    broker.admin.cancel(jobs[100])
    assert order(broker) == [n for n in range(300) if n != 100]


def test_a_reader_that_is_killed_leaves_all_as_it_was(on: Opened) -> None:
    broker = filled(on, 200)
    for _ in range(2):
        command = [sys.executable, "-c", HOLDS, on.url, on.names.exchange]
        reader = Program(command, env=clean_environ(), stdout=subprocess.PIPE)
        assert reader.stdout is not None
        assert reader.stdout.readline()
        reader.kill()
        reader.wait()
        reader.stdout.close()
        assert [job.args[0]["n"] for job in waiting(broker)] == list(range(200))
    assert order(broker) == list(range(200))


@contextmanager
def looking(broker: HutchBroker) -> Iterator[threading.Event]:
    """Hold the delayed messages in another thread until the event is set."""
    reached, go_on = threading.Event(), threading.Event()

    def is_meant(_: Message) -> bool:
        reached.set()
        go_on.wait(20)
        return False

    thread = threading.Thread(target=lambda: broker._delayed.take(is_meant))
    thread.start()
    assert reached.wait(10)
    try:
        yield go_on
    finally:
        go_on.set()
        thread.join()


@pytest.mark.parametrize("is_same", [True, False])
def test_of_two_who_look_one_waits_for_the_other(on: Opened, is_same: bool) -> None:
    broker = filled(on, 100)
    other = broker if is_same else on.broker()
    found: list[Job] = []
    with looking(broker) as go_on:
        thread = threading.Thread(target=lambda: found.extend(waiting(other)))
        thread.start()
        other.adding([new({"n": 100}, due_ms=other.now_ms() + FAR_MS + 100)])()
        assert not found
        go_on.set()
        thread.join()
    assert [job.args[0]["n"] for job in found] == list(range(101))
    assert order(broker) == list(range(101))


def test_a_look_gives_up_where_another_program_looks_for_long(on: Opened, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(held, "OTHERS", 0.3)
    broker, other = filled(on, 1), on.broker()
    with looking(broker), pytest.raises(ServerRefused, match="are looked at by another program"):
        waiting(other)
    assert len(waiting(other)) == 1


def test_a_message_that_falls_due_while_it_is_looked_at_comes_afterwards(on: Opened) -> None:
    queue, broker = on.bound("note"), on.broker()
    broker.adding([new({}, due_ms=broker.now_ms() + FAR_MS)])()
    broker._delayed.take(lambda _: True)  # the ladder is declared now, and empty
    due_ms = broker.now_ms() + 2000
    broker.adding([new({}, due_ms=due_ms)])()
    with looking(broker):
        until(lambda: broker.now_ms() > due_ms + 100)
        assert on.count(queue) == 0
    on.got(queue)
    assert broker.now_ms() < due_ms + 2000


def test_a_message_that_is_looked_at_often_keeps_its_time(
    on: Opened, management: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """RabbitMQ 4 moves on what came back 20 times; a policy says it to this one, with a smaller number."""
    monkeypatch.setattr(held, "MOST_LOOKS", 2)
    broker = on.broker()
    added = broker.adding([new({"n": n}, due_ms=broker.now_ms() + FAR_MS + n) for n in range(40)])()
    with delivery_limit(on, management, 4):
        before = waiting(broker)
        for _ in range(6):
            assert waiting(broker) == before
        seen: list[Message] = []
        broker._delayed.take(lambda message: seen.append(message) is not None)  # type: ignore[func-returns-value]
        assert [death.reason for message in seen for death in deaths(message.headers)] == []
    assert sorted(job.id for job in before) == sorted(one.id for one in added)
    assert broker.inspector.counts().waiting == 40


@contextmanager
def delivery_limit(on: Opened, management: str, most: int) -> Iterator[None]:
    """Have the steps of this exchange move on what came back so often."""
    parts = urlsplit(management)
    login = b64encode(f"{parts.username}:{parts.password}".encode()).decode()
    where = f"{parts.scheme}://{parts.hostname}:{parts.port}/api/"
    name = quote(on.names.exchange)
    policy = {"pattern": f"^{on.names.exchange}_workkit_delay_", "definition": {"delivery-limit": most}}
    headers = {"Authorization": f"Basic {login}", "Content-Type": "application/json"}

    def asked(path: str, method: str = "GET", body: bytes | None = None) -> bytes:
        request = urllib.request.Request(where + path, body, headers, method=method)
        with urllib.request.urlopen(request, timeout=10) as answer:
            return bytes(answer.read())

    asked(f"policies/%2F/{name}", "PUT", json.dumps(policy).encode())
    until(lambda: b'"delivery-limit":' in asked(f"queues/%2F/{name}_workkit_delay_17"), what="the policy to hold")
    yield
    asked(f"policies/%2F/{name}", "DELETE")


def test_a_retry_that_waits_is_listed_and_cancelled(on: Opened) -> None:
    listener = on.listener()
    on.publish("note", b'{"n":1}', message_id="m1")
    listener.claim(0, ends=[(one(listener), Again(delay_ms=FAR_MS, attempt=1, failure=FAILURE))])
    (job,) = waiting(listener)
    assert (job.id, job.fn, job.args, job.attempt, job.state) == ("m1", "note", ({"n": 1},), 1, "waiting")
    assert (job.error, job.queue) == ("OSError: disk full (app.py:3)", on.names.queue("note"))
    listener.admin.cancel(job)
    assert waiting(listener) == []


def test_a_renewed_retry_keeps_what_it_says(on: Opened, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(held, "MOST_LOOKS", 1)
    listener = on.listener()
    on.publish("note", b'{"n":1}', message_id="m1", headers={"mine": "kept"})
    listener.claim(0, ends=[(one(listener), Again(delay_ms=FAR_MS, attempt=1, failure=FAILURE))])
    before = waiting(listener)
    for _ in range(3):
        assert waiting(listener) == before
    (message,) = listener._delayed.take(lambda _: True)
    assert set(message.headers) - {"x-delivery-count"} == {
        "mine", "CC", "workkit-key", "workkit-attempt", "workkit-due", "workkit-error",
    }  # fmt: skip


def test_equal_additions_are_one_job_and_cancelled_together(on: Opened) -> None:
    broker = on.broker()
    due_ms = broker.now_ms() + FAR_MS
    message = new({}, due_ms=due_ms)
    message.identity = "the same"
    (first,), (second,) = broker.adding([message])(), broker.adding([message])()
    assert first.id == second.id
    (job,) = waiting(broker)
    broker.admin.cancel(job)
    assert waiting(broker) == []


def test_what_is_due_is_not_cancelled(on: Opened) -> None:
    listener = on.listener()
    listener.leave()
    (added,) = listener.adding([new({})])()
    job = Job(id=added.id, schedule=on.names.exchange, fn="note", args=({},), due=None, state="due")
    with pytest.raises(Unsupported, match="is due, and here only messages can be cancelled whose delay has not ended"):
        listener.admin.cancel(job)
    assert on.count(on.names.queue("note")) == 1


def test_a_step_with_large_messages_is_read_in_part(on: Opened, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(held, "MOST_BYTES", 30_000)
    broker = on.broker()
    due_ms = broker.now_ms() + FAR_MS
    broker.adding([new({"n": n, "text": "x" * 10_000}, due_ms=due_ms + n) for n in range(40)])()
    found = [job.args[0]["n"] for job in waiting(broker)]
    assert found == list(range(len(found)))
    assert 3 <= len(found) < 40
    monkeypatch.undo()
    assert order(broker) == list(range(40))


def test_many_equal_additions_are_cancelled_together(on: Opened) -> None:
    """RabbitMQ forgets acknowledgements behind the first 30 where the channel ends at once."""
    broker = on.broker()
    due_ms = broker.now_ms() + FAR_MS
    message = new({}, due_ms=due_ms)
    message.identity = "the same"
    broker.adding([message] * 100 + [new({"n": 1}, due_ms=due_ms)])()
    broker.admin.cancel(next(job for job in waiting(broker) if job.args == ({},)))
    assert [job.args for job in waiting(broker)] == [({"n": 1},)]
    assert broker.inspector.counts().waiting == 1
