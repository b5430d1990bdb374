"""Connections to a real broker: several hosts, refusals in sentences of ours, and what is imported when."""

from __future__ import annotations

import re
import socket
import subprocess
import sys
import threading

import pytest

from tests.brokers.hutch.opened import Opened, new
from tests.brokers.hutch.relay import Relay
from tests.servers import free_port
from workkit.brokers.hutch.address import read_address
from workkit.brokers.hutch.broker import HutchBroker
from workkit.brokers.hutch.names import Names
from workkit.errors import ServerError, ServerRefused, ServerUnreachable

NAMES = Names(exchange="nowhere", dialect="hutch")


def refused(url: str) -> ServerError:
    broker = HutchBroker(read_address(url), names=NAMES, patience=4)
    try:
        with pytest.raises(ServerError) as found:
            broker.adding([new({})])()
    finally:
        broker.close()
    assert found.value.where == read_address(url).shown
    return found.value


def test_the_next_host_is_tried_where_one_does_not_answer(on: Opened) -> None:
    queue = on.bound("note")
    place = on.url.partition("@")[2].rstrip("/")
    url = f"amqp://guest:guest@127.0.0.1:{free_port()},{place}/"
    broker = HutchBroker(read_address(url), names=on.names)
    try:
        broker.adding([new({"n": 1})])()
    finally:
        broker.close()
    on.got(queue)


def test_a_port_where_nobody_listens_is_unreachable() -> None:
    error = refused(f"amqp://127.0.0.1:{free_port()}/")
    assert isinstance(error, ServerUnreachable)
    assert re.search(r"^amqp://127\.0\.0\.1:\d+/: connection refused\. Start a RabbitMQ there", str(error))


def test_a_wrong_password_is_refused_for_good(amqp: str) -> None:
    error = refused(amqp.replace("guest:guest", "guest:wrong"))
    assert isinstance(error, ServerRefused)
    assert error.lasting
    assert 'refuses user "guest" or the password' in str(error)
    assert "wrong" not in str(error)


def test_an_unknown_virtual_host_is_refused_for_good(amqp: str) -> None:
    error = refused(f"{amqp}nope")
    assert isinstance(error, ServerRefused)
    assert error.lasting
    assert 'has no virtual host "nope"' in str(error)


@pytest.mark.parametrize("frame", [1, 2])
def test_a_connection_that_is_lost_while_it_opens_is_no_refusal(amqp: str, frame: int) -> None:
    """The client library guesses at a wrong password or virtual host there, and a listener would end for good."""
    with Relay(int(amqp.rpartition(":")[2].rstrip("/")), cut_at=frame) as relay:
        error = refused(f"amqp://guest:guest@127.0.0.1:{relay.port}/")
    assert isinstance(error, ServerUnreachable)
    assert "connection lost" in str(error)


def test_tls_to_a_plain_port_is_refused(amqp: str) -> None:
    error = refused(amqp.replace("amqp://", "amqps://"))
    assert "gives no answer in TLS" in str(error)
    assert "write amqp://" in str(error)


def test_a_server_that_speaks_otherwise_is_named() -> None:
    with socket.create_server(("127.0.0.1", 0)) as server:

        def answer() -> None:
            client, _ = server.accept()
            with client:
                client.recv(8)
                client.sendall(b"HTTP/1.1 400 Bad Request\r\n\r\n")

        thread = threading.Thread(target=answer)
        thread.start()
        error = refused(f"amqp://127.0.0.1:{server.getsockname()[1]}/")
        thread.join()
    assert "gives no answer in AMQP 0-9-1" in str(error)


def test_a_broker_that_was_closed_says_so(on: Opened) -> None:
    broker = on.broker()
    broker.close()
    with pytest.raises(ServerUnreachable, match="it was closed here"):
        broker.adding([new({})])()


def test_the_client_library_is_imported_only_where_it_is_needed() -> None:
    program = (
        "import sys; from workkit import schedule; import workkit.cli.tree\n"
        "schedule.create('hutch', layout='hutch', amqp='amqp://h')\n"
        "from workkit.brokers import connect\n"
        "assert 'pika' not in sys.modules\n"
    )
    subprocess.run([sys.executable, "-c", program], check=True, timeout=60)


def test_a_program_on_the_native_layout_imports_no_other() -> None:
    program = (
        "import sys; from workkit import schedule; from workkit.brokers import connect\n"
        "connect.open_broker(schedule.create('x', redis='redis://h').name, redis='redis://h').close()\n"
        "others = ('workkit.brokers.gocraft', 'workkit.brokers.hutch', 'workkit.brokers.native.doctor')\n"
        "assert not [name for name in sys.modules if name.startswith(others)]\n"
    )
    subprocess.run([sys.executable, "-c", program], check=True, timeout=60)


def test_the_extra_is_named_where_the_client_library_is_missing() -> None:
    program = (
        "import sys; sys.modules['pika'] = None\n"
        "from workkit import schedule\nfrom workkit.errors import Unsupported\n"
        "s = schedule.create('hutch', layout='hutch')\n"
        "try: schedule.add_now(s, 'a', args=[{}])\n"
        "except Unsupported as error: assert \"pip install 'workkit[rabbitmq]'\" in str(error), error\n"
        "else: raise AssertionError('it was not refused')\n"
    )
    subprocess.run([sys.executable, "-c", program], check=True, timeout=60)
