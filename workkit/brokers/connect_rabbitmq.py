"""An exchange of RabbitMQ, and the Redis beside it, to the broker of their layouts. No I/O, as in `connect`."""

from __future__ import annotations

from workkit.brokers.connect_redis import check, server_at
from workkit.brokers.hutch.address import DEFAULT_URL as DEFAULT_AMQP_URL
from workkit.brokers.hutch.address import read_address, read_site
from workkit.brokers.hutch.beside.keys import Keys
from workkit.brokers.hutch.beside.place import Beside
from workkit.brokers.hutch.names import Names
from workkit.contract.broker import Broker
from workkit.contract.layout import OnRabbitmq
from workkit.errors import Unsupported

__all__ = ["DEFAULT_AMQP_URL", "check_amqp", "open_on_rabbitmq"]


def check_amqp(at: OnRabbitmq, *, schedule: str, layout: str) -> None:
    """Refuse what is no AMQP URL, no URL of a management API or no Redis, and names that no exchange or queue can have.
    Raises InvalidSchedule.
    """
    read_site(at.management, read_address(at.amqp))
    _names(schedule, layout, at.namespace).check()
    if at.redis is not None:
        check(at.redis)


def open_on_rabbitmq(name: str, *, at: OnRabbitmq, layout: str, timeout_ms: int) -> Broker:
    """Open the broker of an exchange. Raises InvalidSchedule, EmbeddedError, Unsupported."""
    try:
        from workkit.brokers.hutch.broker import HutchBroker
    except ModuleNotFoundError as error:
        if error.name != "pika":
            raise
        remedy = "Install it: pip install 'workkit[rabbitmq]'."
        raise Unsupported.about(f"layout={layout!r}", "needs the extra rabbitmq", remedy, where="layout") from error
    address, names = read_address(at.amqp), _names(name, layout, at.namespace)
    beside = None
    if at.redis is not None:
        keys = Keys(address.vhost, name)
        beside = Beside(server_at(at.redis, schedule=keys.prefix), keys)
    site = read_site(at.management, address)
    return HutchBroker(address, names=names, site=site, patience=timeout_ms / 1000, beside=beside)


def _names(schedule: str, layout: str, namespace: str) -> Names:
    return Names(exchange=schedule, dialect="event" if layout == "event" else "hutch", prefix=namespace)
