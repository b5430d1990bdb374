"""Answers of the management API as values, and the only reader of each. A missing value has its default. Pure."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any, Final, Literal

Why = Literal["off", "login", "forbidden", "silent", "other"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Closed:
    """The reason why the API gives no answer. `off`: nothing answers there, or there is no such API; `login`: user or
    password is refused; `forbidden`: the user may not see this; `silent`: no answer in time, or a broken one; `other`:
    it belongs to another broker. `trouble` continues a sentence behind `where`; no part has a password.
    """

    why: Why
    where: str
    trouble: str
    remedy: str

    def __str__(self) -> str:
        return f"{self.where} {self.trouble}. {self.remedy}"


@dataclass(frozen=True, slots=True, kw_only=True)
class Overview:
    """The broker as a whole. `cluster`: its name, which its connections show too."""

    version: str = ""
    cluster: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class NodeFact:
    """One node of the broker. Only a user with the tag `monitoring` can read it."""

    name: str
    is_running: bool = True
    memory_alarm: bool = False
    disk_alarm: bool = False
    up_ms: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class ExchangeFact:
    """One exchange. `published`: the number of incoming messages, if the broker tells it."""

    name: str
    type: str = ""
    durable: bool = False
    auto_delete: bool = False
    internal: bool = False
    arguments: Mapping[str, Any] = field(default_factory=dict)
    published: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class QueueFact:
    """One queue. The counts are some seconds old. `oldest_s`: the `timestamp` of the message at its head, if it has
    one, in epoch seconds. `policy`: the result of all its policies, as ``{"max-length": 10}``. `moving`: messages that
    have expired there and that no other queue has confirmed yet; `ready` does not count them. `rate_in`, `rate_out`:
    messages per second, published and delivered; None before the first.
    """

    name: str
    durable: bool = False
    auto_delete: bool = False
    exclusive: bool = False
    arguments: Mapping[str, Any] = field(default_factory=dict)
    state: str = ""
    ready: int = 0
    unacknowledged: int = 0
    moving: int = 0
    consumers: int = 0
    oldest_s: int | None = None
    policy: Mapping[str, Any] = field(default_factory=dict)
    rate_in: float | None = None
    rate_out: float | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class BindingFact:
    """A binding from an exchange to a queue, or to another exchange."""

    source: str
    destination: str
    key: str
    to_exchange: bool = False
    arguments: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, slots=True, kw_only=True)
class ConsumerFact:
    """One consumer. A user without the tag `monitoring` can read only the consumers of its own connections."""

    queue: str
    tag: str
    prefetch: int = 0
    connection: str = ""
    channel: str = ""
    host: str = ""
    arguments: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, slots=True, kw_only=True)
class ChannelFact:
    """One channel. `unacknowledged`: messages that it got and has not acknowledged; `dropped`: its messages that led to
    no queue; `idle_since_ms`: since when it is idle, in epoch milliseconds; None: it is busy.
    """

    name: str
    user: str = ""
    unacknowledged: int = 0
    dropped: int = 0
    idle_since_ms: int | None = None


QUEUE_COLUMNS: Final = (
    "name,durable,auto_delete,exclusive,arguments,state,messages_ready,messages_unacknowledged,messages_dlx,consumers,"
    "head_message_timestamp,effective_policy_definition,message_stats.publish_details.rate,"
    "message_stats.deliver_get_details.rate"
)


def read_overview(found: Mapping[str, Any]) -> Overview:
    """Read ``/api/overview``."""
    return Overview(
        version=_text(found.get("rabbitmq_version")),
        cluster=_text(found.get("cluster_name")),
    )


def read_node(found: Mapping[str, Any]) -> NodeFact:
    """Read an item of ``/api/nodes``."""
    return NodeFact(
        name=_text(found.get("name")),
        is_running=found.get("running") is not False,
        up_ms=_count(found.get("uptime")),
        memory_alarm=found.get("mem_alarm") is True,
        disk_alarm=found.get("disk_free_alarm") is True,
    )


def read_exchange(found: Mapping[str, Any]) -> ExchangeFact:
    """Read an item of ``/api/exchanges``."""
    return ExchangeFact(
        name=_text(found.get("name")),
        type=_text(found.get("type")),
        durable=found.get("durable") is True,
        auto_delete=found.get("auto_delete") is True,
        internal=found.get("internal") is True,
        arguments=_table(found.get("arguments")),
        published=_count(_table(found.get("message_stats")).get("publish_in")),
    )


def read_queue(found: Mapping[str, Any]) -> QueueFact:
    """Read an item of ``/api/queues``."""
    oldest, stats = found.get("head_message_timestamp"), _table(found.get("message_stats"))
    return QueueFact(
        name=_text(found.get("name")),
        durable=found.get("durable") is True,
        auto_delete=_is_true(found.get("auto_delete")),
        exclusive=found.get("exclusive") is True,
        arguments=_table(found.get("arguments")),
        state=_text(found.get("state")),
        ready=_count(found.get("messages_ready")),
        unacknowledged=_count(found.get("messages_unacknowledged")),
        moving=_count(found.get("messages_dlx")),
        consumers=_count(found.get("consumers")),
        oldest_s=oldest if type(oldest) is int and oldest >= 0 else None,
        policy=_table(found.get("effective_policy_definition")),
        rate_in=_rate(stats.get("publish_details")),
        rate_out=_rate(stats.get("deliver_get_details")),
    )


def read_binding(found: Mapping[str, Any]) -> BindingFact:
    """Read an item of the bindings of an exchange."""
    return BindingFact(
        source=_text(found.get("source")),
        destination=_text(found.get("destination")),
        key=_text(found.get("routing_key")),
        to_exchange=found.get("destination_type") == "exchange",
        arguments=_table(found.get("arguments")),
    )


def read_consumer(found: Mapping[str, Any]) -> ConsumerFact:
    """Read an item of ``/api/consumers``."""
    channel = _table(found.get("channel_details"))
    return ConsumerFact(
        queue=_text(_table(found.get("queue")).get("name")),
        tag=_text(found.get("consumer_tag")),
        prefetch=_count(found.get("prefetch_count")),
        connection=_text(channel.get("connection_name")),
        channel=_text(channel.get("name")),
        host=_text(channel.get("peer_host")),
        arguments=_table(found.get("arguments")),
    )


def read_channel(found: Mapping[str, Any]) -> ChannelFact:
    """Read an item of the channels of a virtual host."""
    return ChannelFact(
        name=_text(found.get("name")),
        user=_text(found.get("user")),
        unacknowledged=_count(found.get("messages_unacknowledged")),
        dropped=_count(_table(found.get("message_stats")).get("drop_unroutable")),
        idle_since_ms=_instant_ms(found.get("idle_since")),
    )


def _text(value: Any) -> str:
    return value if isinstance(value, str) else ""


def _count(value: Any) -> int:
    return value if type(value) is int and value > 0 else 0


def _rate(details: Any) -> float | None:
    rate = _table(details).get("rate")
    return float(rate) if isinstance(rate, int | float) and not isinstance(rate, bool) else None


def _instant_ms(value: Any) -> int | None:
    """Read ``2026-11-22T16:19:31.642+00:00``, or ``2026-11-22 16:19:31`` of older releases, in UTC."""
    try:
        read = datetime.fromisoformat(_text(value))
    except ValueError:
        return None
    return round((read if read.tzinfo else read.replace(tzinfo=UTC)).timestamp() * 1000)


def _is_true(value: Any) -> bool:
    return value is True or value == "true"  # some releases write it so in a paged answer


def _table(value: Any) -> Mapping[str, Any]:
    return value if isinstance(value, dict) else {}  # an empty one is [] in some releases
