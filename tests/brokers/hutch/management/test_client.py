"""The management API of a real RabbitMQ: what it tells, page by page, and why it tells nothing."""

from __future__ import annotations

import socket
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from tests import rabbit
from tests.brokers.hutch.management.asked import put, remove, told
from tests.processes import until
from tests.servers import free_port
from workkit.brokers.hutch import management_api
from workkit.brokers.hutch.address import read_address, read_site
from workkit.brokers.hutch.broker_facts import BindingFact, Closed, ConsumerFact, ExchangeFact
from workkit.brokers.hutch.management_api import Management


@pytest.fixture
def asks(amqp: str, management: str) -> Management:
    return Management(site=read_site(management, read_address(amqp)))


@pytest.fixture
def channel(amqp: str) -> Iterator[Any]:
    with rabbit.connected(amqp) as opened:
        yield opened


def at(url: str, amqp: str = "amqp://guest:guest@127.0.0.1") -> Management:
    return Management(site=read_site(url, read_address(amqp)), patience=1.0)


def refusal(asks: Management) -> Closed:
    with pytest.raises(Closed) as refused:
        asks.cluster()
    return refused.value


def test_exchanges_queues_and_bindings_are_told(asks: Management, channel: Any, name: str) -> None:
    channel.exchange_declare(name, "topic", durable=True, arguments={"alternate-exchange": "amq.fanout"})
    channel.queue_declare(f"{name}/q", durable=True, arguments={"x-message-ttl": 5})
    channel.queue_bind(f"{name}/q", name, "a.#")
    channel.exchange_bind("amq.topic", name, "b")
    try:
        arguments = {"alternate-exchange": "amq.fanout"}
        expected = ExchangeFact(name=name, type="topic", durable=True, arguments=arguments)
        assert told(asks.exchanges())[name] == expected
        queue = told(asks.queues())[f"{name}/q"]
        assert (queue.durable, queue.auto_delete, queue.exclusive) == (True, False, False)
        assert queue.arguments == {"x-message-ttl": 5}
        bindings = asks.bindings(name)
        assert BindingFact(source=name, destination=f"{name}/q", key="a.#") in bindings
        assert BindingFact(source=name, destination="amq.topic", key="b", to_exchange=True) in bindings
    finally:
        channel.queue_delete(f"{name}/q")
        channel.exchange_delete(name)
    assert name not in told(asks.exchanges())
    assert f"{name}/q" not in told(asks.queues())
    assert asks.bindings(name) == []


def test_counts_consumers_and_channels_are_told(asks: Management, channel: Any, name: str) -> None:
    channel.queue_declare(name, exclusive=True)
    for _ in range(3):
        channel.basic_publish("", name, b"{}")
    channel.basic_qos(prefetch_count=2)
    channel.basic_consume(name, lambda *_: None, consumer_tag=f"ctag-{name}")
    channel.connection.process_data_events(0)

    def counts() -> tuple[int, int, int] | None:
        found = told(asks.queues()).get(name)
        return None if found is None else (found.ready, found.unacknowledged, found.consumers)

    until(lambda: counts() == (1, 2, 1), what="the counts to be told")

    def consumer() -> ConsumerFact | None:
        return next((one for one in asks.consumers() if one.queue == name and one.host), None)  # the host comes later

    own = until(consumer, what="the consumer to be told")
    assert own is not None
    assert (own.tag, own.host) == (f"ctag-{name}", "127.0.0.1")

    def held() -> list[tuple[str, int]]:
        return [(one.user, one.unacknowledged) for one in asks.channels() if one.name == own.channel]

    until(lambda: held() == [("guest", 2)], what="the channel to be told")


def test_the_broker_and_its_alarms_are_told(asks: Management) -> None:
    assert asks.cluster()
    assert [(one.is_running, one.memory_alarm, one.disk_alarm) for one in asks.nodes()] == [(True, False, False)]


def test_what_policies_add_up_to_is_told_with_the_queue(asks: Management, channel: Any, name: str) -> None:
    channel.queue_declare(name, exclusive=True)
    put(asks, f"/policies/%2F/{name}", {"pattern": f"^{name}$", "definition": {"max-length": 7}, "apply-to": "queues"})
    try:
        until(lambda: told(asks.queues())[name].policy == {"max-length": 7}, what="the policy to be told")
    finally:
        remove(asks, f"/policies/%2F/{name}")


def test_all_pages_are_read(asks: Management, channel: Any, name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(management_api, "PAGE", 2)
    wanted = {f"{name}-{number}" for number in range(5)}
    for one in wanted:
        channel.queue_declare(one, exclusive=True)

    def found() -> set[str]:
        return {one.name for one in asks.queues()}

    until(lambda: wanted <= found())  # queues of other tests come and go, and move others to the next page


def test_an_empty_virtual_host_has_no_queues(asks: Management, name: str) -> None:
    put(asks, f"/vhosts/{name}", {})
    try:
        put(asks, f"/permissions/{name}/guest", {"configure": ".*", "write": ".*", "read": ".*"})
        assert replace(asks, vhost=name).queues() == []
    finally:
        remove(asks, f"/vhosts/{name}")


def test_a_broker_without_the_api_is_closed() -> None:
    found = refusal(at("", f"amqp://u:secret@127.0.0.1:{free_port()}"))
    assert found.why == "off"
    assert "secret" not in str(found) + repr(found)
    url = f"http://u:secret@127.0.0.1:{free_port()}"
    assert str(refusal(at(url))) == (
        f"{url.replace('secret', '***')} refuses the connection. "
        "Enable it on the broker: rabbitmq-plugins enable rabbitmq_management."
    )


def test_what_is_no_management_api_is_closed(amqp: str, management: str) -> None:
    port = read_address(amqp).nodes[0][1]
    for url in (f"http://127.0.0.1:{port}", f"{management}/elsewhere", management.replace("http:", "https:")):
        found = refusal(at(url))
        assert found.why == "off", found


def test_a_wrong_password_is_named_and_not_shown(management: str) -> None:
    found = refusal(at(management.replace("guest:guest", "guest:secret")))
    assert (found.why, found.trouble) == ("login", 'refuses user "guest" or the password')
    assert "secret" not in str(found)


@pytest.mark.parametrize(
    ("tags", "permitted", "closed"),
    [("", True, {"cluster", "nodes", "queues"}), ("management", True, {"nodes"}), ("monitoring", False, {"queues"})],
)
def test_what_a_user_may_not_see_is_named(
    asks: Management, name: str, tags: str, permitted: bool, closed: set[str]
) -> None:
    put(asks, f"/users/{name}", {"password": "pw", "tags": tags})
    try:
        if permitted:
            put(asks, f"/permissions/%2F/{name}", {"configure": "", "write": "", "read": ".*"})
        as_user = replace(asks, site=replace(asks.site, user=name, password="pw"))
        refusals: dict[str, Closed] = {}
        for ask in ("cluster", "nodes", "queues"):
            try:
                getattr(as_user, ask)()
            except Closed as error:
                refusals[ask] = error
    finally:
        remove(asks, f"/users/{name}")
    assert refusals.keys() == closed
    for refused in refusals.values():
        assert refused.why == "forbidden"
        assert f'user "{name}"' in refused.trouble


def test_a_broker_that_does_not_answer_is_silent() -> None:
    with socket.create_server(("127.0.0.1", 0)) as deaf:
        found = refusal(replace(at(f"http://127.0.0.1:{deaf.getsockname()[1]}"), patience=0.2))
    assert found.why == "silent"


def test_the_next_node_is_asked_where_one_is_down(asks: Management) -> None:
    down = ("127.0.0.1", free_port())
    assert replace(asks, site=replace(asks.site, nodes=(down, *asks.site.nodes))).cluster()


def test_a_file_that_does_not_exist_is_named(tmp_path: Path) -> None:
    found = refusal(at(f"https://127.0.0.1:{free_port()}?cacertfile={tmp_path}/none.pem"))
    assert "needs a file that does not exist" in found.trouble
