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
from workkit.brokers.hutch.address import read_address, read_site
from workkit.brokers.hutch.broker_facts import Closed
from workkit.brokers.hutch.management_api import Management
from workkit.errors import ServerError, ServerRefused

__all__ = ["papers"]

LOGIN = "tracy:p%40ss%2Fword"


@pytest.fixture(scope="module")
def ports(papers: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[int, int]]:
    """The TLS ports, of AMQP and of the management API, of a RabbitMQ whose certificate names 127.0.0.1."""
    port, web = free_port(), free_port()
    conf = [
        f"listeners.ssl.1 = 127.0.0.1:{port}",
        f"ssl_options.cacertfile = {papers}/ca.pem",
        f"ssl_options.certfile = {papers}/ours.pem",
        f"ssl_options.keyfile = {papers}/ours.key",
        "ssl_options.verify = verify_none",
        f"management.ssl.port = {web}",
        "management.ssl.ip = 127.0.0.1",
        f"management.ssl.cacertfile = {papers}/ca.pem",
        f"management.ssl.certfile = {papers}/ours.pem",
        f"management.ssl.keyfile = {papers}/ours.key",
        "default_vhost = shop/eu",
        "default_user = tracy",
        "default_pass = p@ss/word",
    ]
    with closing(Rabbit(tmp_path_factory.mktemp("secure"), conf="\n".join(conf), manages=True)) as own:
        own.start()
        yield port, web


@pytest.fixture
def port(ports: tuple[int, int]) -> int:
    return ports[0]


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


def test_the_management_api_is_asked_by_tls_as_the_amqp_url_says(ports: tuple[int, int], papers: Path) -> None:
    def asked(options: str) -> object:
        address = read_address(f"amqps://{LOGIN}@127.0.0.1:{ports[0]}/shop%2Feu{options}")
        site = read_site(f"https://127.0.0.1:{ports[1]}", address)
        return Management(site=site, vhost=address.vhost).queues()

    assert asked(f"?cacertfile={papers}/ca.pem") == []
    assert asked("?verify=verify_none") == []
    with pytest.raises(Closed, match="has a certificate that is refused: self-signed certificate in") as refused:
        asked("")
    assert refused.value.why == "login"
    with pytest.raises(Closed, match=r"elsewhere\.example"):
        asked(f"?cacertfile={papers}/ca.pem&server_name_indication=elsewhere.example")
