"""TLS, a virtual host and a password with odd characters, on a RabbitMQ of this module."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest

from tests.brokers.test_tls import papers
from tests.rabbit import Rabbit
from tests.servers import free_port
from workkit import schedule
from workkit.errors import ServerError, ServerRefused

__all__ = ["papers"]

LOGIN = "tracy:p%40ss%2Fword"


@pytest.fixture(scope="module")
def port(papers: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[int]:
    """The TLS port of a RabbitMQ whose certificate names 127.0.0.1."""
    port = free_port()
    conf = [
        f"listeners.ssl.1 = 127.0.0.1:{port}",
        f"ssl_options.cacertfile = {papers}/ca.pem",
        f"ssl_options.certfile = {papers}/ours.pem",
        f"ssl_options.keyfile = {papers}/ours.key",
        "ssl_options.verify = verify_none",
        "default_vhost = shop/eu",
        "default_user = tracy",
        "default_pass = p@ss/word",
    ]
    with closing(Rabbit(tmp_path_factory.mktemp("secure"), conf="\n".join(conf))) as own:
        own.start()
        yield port


def publish(url: str) -> ServerError:
    """Publish to nobody: a broker that takes us says so."""
    s = schedule.create("orders", amqp=url, layout="event")
    with pytest.raises(ServerError) as refused:
        schedule.add_now(s, "nobody", args=[{}])
    assert "p@ss" not in str(refused.value)
    return refused.value


def test_a_broker_is_reached_by_tls_in_its_virtual_host(port: int, papers: Path) -> None:
    said = publish(f"amqps://{LOGIN}@127.0.0.1:{port}/shop%2Feu?cacertfile={papers}/ca.pem")
    assert "leads to no queue" in str(said)
    said = publish(f"amqps://{LOGIN}@127.0.0.1:{port}/shop%2Feu?verify=verify_none")
    assert "leads to no queue" in str(said)


def test_a_certificate_that_is_not_trusted_is_refused(port: int, papers: Path) -> None:
    said = publish(f"amqps://{LOGIN}@127.0.0.1:{port}/shop%2Feu")
    assert isinstance(said, ServerRefused)
    assert said.lasting
    assert "has a certificate that is refused: self-signed certificate in" in str(said)
    assert "Name the authority's file: ?cacertfile=FILE." in str(said)
    missing = publish(f"amqps://{LOGIN}@127.0.0.1:{port}/shop%2Feu?cacertfile={papers}/nothing.pem")
    assert "names a file that does not exist" in str(missing)


def test_a_plain_connection_to_the_port_of_tls_is_named(port: int) -> None:
    assert "gives no answer in AMQP 0-9-1. Check host, port and amqp:// or amqps://" in str(
        publish(f"amqp://{LOGIN}@127.0.0.1:{port}/shop%2Feu")
    )


def test_a_virtual_host_that_is_not_there_is_named(port: int) -> None:
    said = publish(f"amqps://{LOGIN}@127.0.0.1:{port}/shop?verify=verify_none")
    assert 'has no virtual host "shop", or user "tracy" may not use it' in str(said)
