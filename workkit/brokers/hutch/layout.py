"""The abilities of the layouts hutch and event, as values; and how the broker of an exchange is opened, with the Redis
beside its RabbitMQ.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import TYPE_CHECKING, Any

from workkit.brokers.hutch import DEFAULT_URL
from workkit.brokers.layout import Keeps, Layout, OwnOption, Refusal, check_redis, server_at
from workkit.brokers.redis_server.address import masked
from workkit.errors import Unsupported
from workkit.text.cells import brief_repr

if TYPE_CHECKING:
    from workkit.brokers.hutch.broker import HutchBroker
    from workkit.brokers.hutch.names import Names
    from workkit.brokers.redis_server.key_names import Found


@dataclass(frozen=True, slots=True, kw_only=True)
class OnRabbitmq:
    """The place of an exchange: the URL of its RabbitMQ; the namespace of its queues, and the URL of the management
    API, each empty if it follows from the other values.
    """

    amqp: str
    namespace: str = ""
    management: str = ""

    __repr__ = brief_repr

    def masked(self) -> OnRabbitmq:
        """Return a copy without the passwords."""
        return replace(self, amqp=masked(self.amqp), management=masked(self.management))


OWN = (
    OwnOption(
        name="amqp",
        variable="WORKKIT_AMQP_URL",
        metavar="URL",
        meaning=f"the RabbitMQ, amqp:// amqps://; else WORKKIT_AMQP_URL, else {DEFAULT_URL}",
        default=DEFAULT_URL,
        is_place=True,
        tried=("amqp-url", "rabbitmq"),
        misplaced="names a RabbitMQ, which other layouts use.",
        to_meaning=f"its RabbitMQ; else WORKKIT_AMQP_URL, else {DEFAULT_URL}",
        forwarded="Say the RabbitMQ of the other side: --to-amqp.",
    ),
    OwnOption(
        name="namespace",
        variable="WORKKIT_NAMESPACE",
        metavar="NAME",
        meaning="prefix of the names of queues; default SCHEDULE.workkit",
        is_flag_variable=True,
        forwarded="Leave it out: a forward has no queues.",
    ),
    OwnOption(
        name="management",
        variable="WORKKIT_AMQP_MANAGEMENT_URL",
        metavar="URL",
        meaning="RabbitMQ's management API, http:// https://; else WORKKIT_AMQP_MANAGEMENT_URL, else port 15672 of the "
        "host of --amqp",
        misplaced="belongs to a RabbitMQ.",
    ),
)


def _check(layout: str, name: str, given: Mapping[str, Any]) -> tuple[Any, OnRabbitmq]:
    """Refuse an invalid AMQP URL, management URL or Redis, and names that no exchange or queue can have.

    A Redis beside the broker counts only if `create` gets it: programs with different environments would keep different
    limits.
    """
    from workkit.brokers.hutch.address import read_address, read_site

    own, redis = OnRabbitmq(**{option.name: given[option.name] for option in OWN}), given["redis"]
    read_site(own.management, read_address(own.amqp))
    _names(layout, name, own).check()
    if redis is not None:
        check_redis(redis)
    return redis, own


def _open(layout: str, name: str, *, redis: Any, own: OnRabbitmq, dialect: str, timeout_ms: int) -> HutchBroker:
    from workkit.brokers.hutch.address import read_address, read_site
    from workkit.brokers.hutch.beside.keys import Keys
    from workkit.brokers.hutch.beside.place import Beside

    try:
        from workkit.brokers.hutch.broker import HutchBroker
    except ModuleNotFoundError as error:
        if error.name != "pika":
            raise
        remedy = "Install it: pip install 'workkit[rabbitmq]'."
        raise Unsupported.about(f"layout={layout!r}", "needs the extra rabbitmq", remedy, where="layout") from error
    address, beside = read_address(own.amqp), None
    if redis is not None:
        keys = Keys(address.vhost, name)
        beside = Beside(server_at(redis, schedule=keys.prefix), keys)
    site, names = read_site(own.management, address), _names(layout, name, own)
    return HutchBroker(address, names=names, site=site, patience=timeout_ms / 1000, beside=beside)


def _names(layout: str, schedule: str, own: OnRabbitmq) -> Names:
    from workkit.brokers.hutch.names import Names

    return Names(exchange=schedule, dialect="event" if layout == "event" else "hutch", prefix=own.namespace)


def _find(layout: str, redis: Any, seconds: float | None) -> Found:
    trouble = "cannot be done on RabbitMQ, which does not tell the exchanges of schedules from others"
    remedy = f"Look at one by its name: workkit queues NAME --layout {layout}."
    raise Unsupported.about("listing schedules", trouble, remedy)


def _unfit(layout: str, args: Sequence[Any], kwargs: Mapping[str, Any] | None) -> str:
    """Return why arguments do not fit the layout: see spec/forward.md 2."""
    if kwargs or len(args) != 1:
        return "a forward to RabbitMQ refuses it: a message has one argument, given by position"
    if layout == "hutch" and not isinstance(args[0], Mapping):
        return "a forward to hutch refuses it: there its one argument is a JSON object"
    return ""


_UNKNOWN = Refusal("an exchange has no such thing", "Leave it out.")
_ALONE = Refusal(
    "RabbitMQ alone keeps no limits over all listeners", 'Name a Redis beside it: redis="redis://...".', unless="redis"
)


def _layout(name: str) -> Layout:
    return Layout(
        name=name,
        title="an exchange on RabbitMQ",
        noun="an exchange",
        server="RabbitMQ",
        schemes=("amqp", "amqps"),
        has_job_names=True,
        has_patterns=name == "hutch",
        own=OWN,
        refuses={
            **dict.fromkeys(("shards", "history", "on_failure"), _UNKNOWN),
            **dict.fromkeys(("limit", "rate"), _ALONE),
        },
        keeps=frozenset({Keeps.CANCEL_DELAYED, Keeps.LOOK_AT_DELAYED, Keeps.KEEP_DEAD, Keeps.QUEUES, Keeps.CHECK}),
        keeps_beside=frozenset({Keeps.UNIQUE, Keeps.LIMIT_SCHEDULE, Keeps.PAUSE, Keeps.LIST_LISTENERS, Keeps.LIMITS}),
        patience="10 minutes",
        at_once=10_000,  # each call reads the queue from its head
        check=partial(_check, name),
        open=partial(_open, name),
        find=partial(_find, name),
        unfit=partial(_unfit, name),
    )


HUTCH, EVENT = _layout("hutch"), _layout("event")
