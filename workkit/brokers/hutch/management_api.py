"""Requests to RabbitMQ's management API over HTTP. Thread-safe: each request has a connection of its own."""

from __future__ import annotations

import json
import ssl
from base64 import b64encode
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from http.client import HTTPConnection, HTTPException
from typing import Any, Final, TypeVar
from urllib.parse import quote

from workkit.brokers.hutch.address import Site
from workkit.brokers.hutch.broker_facts import (
    QUEUE_COLUMNS,
    BindingFact,
    ChannelFact,
    Closed,
    ConsumerFact,
    ExchangeFact,
    NodeFact,
    Overview,
    QueueFact,
    Why,
    read_binding,
    read_channel,
    read_consumer,
    read_exchange,
    read_node,
    read_overview,
    read_queue,
)
from workkit.brokers.hutch.wire.link import context, server_name
from workkit.errors import text_of

T = TypeVar("T")

PAGE: Final = 500  # the most items that the API returns at once
MOST_PAGES: Final = 2000


class _NoAnswer(Exception):
    """A request without an answer. `elsewhere`: another node may answer it."""

    def __init__(self, why: Why, trouble: str, remedy: str, *, elsewhere: bool = False) -> None:
        super().__init__(trouble)
        self.why, self.trouble, self.remedy, self.elsewhere = why, trouble, remedy, elsewhere


@dataclass(frozen=True, slots=True, kw_only=True)
class Management:
    """The management API of one broker, and one virtual host there. Each method returns `Closed` if the API is not
    enabled, refuses, or does not answer within `patience` seconds for each page; it never raises.
    """

    site: Site
    vhost: str = "/"
    patience: float = 5.0

    def overview(self) -> Overview | Closed:
        """Read the broker's version and the name of its cluster."""
        return self._asked(lambda line: read_overview(line.item("/overview")))

    def belongs_to(self, cluster: str) -> Closed | None:
        """Check whether this is the API of the broker with this cluster name; None: it is. The port may belong to
        another broker on the same host. If one of them has no name, they count as the same.
        """
        found = self.overview()
        if isinstance(found, Closed):
            return found
        if not (found.cluster and cluster) or found.cluster == cluster:
            return None
        trouble = f"belongs to another broker: {found.cluster}, not {cluster}"
        return Closed(why="other", where=self.site.shown, trouble=trouble, remedy="Name the right one: management=URL.")

    def nodes(self) -> list[NodeFact] | Closed:
        """Read the nodes and their alarms. Closed for a user without the tag `monitoring`."""
        return self._asked(
            lambda line: [*map(read_node, line.items("/nodes?columns=name,running,uptime,mem_alarm,disk_free_alarm"))]
        )

    def exchanges(self) -> list[ExchangeFact] | Closed:
        """Read all exchanges of the virtual host, page by page."""
        return self._asked(lambda line: [*map(read_exchange, line.pages(f"/exchanges/{self._vhost}"))])

    def queues(self) -> list[QueueFact] | Closed:
        """Read all queues of the virtual host, page by page."""
        return self._asked(lambda line: [*map(read_queue, line.pages(f"/queues/{self._vhost}", QUEUE_COLUMNS))])

    def bindings(self, *exchanges: str) -> list[BindingFact] | Closed:
        """Read the bindings with these exchanges as their source; none if an exchange does not exist."""
        paths = [f"/exchanges/{self._vhost}/{_quoted(exchange)}/bindings/source" for exchange in exchanges]
        return self._asked(lambda line: [read_binding(found) for path in paths for found in line.items(path)])

    def consumers(self) -> list[ConsumerFact] | Closed:
        """Read the consumers of the virtual host. Without the tag `monitoring` only those of this user."""
        return self._asked(lambda line: [*map(read_consumer, line.items(f"/consumers/{self._vhost}"))])

    def channels(self) -> list[ChannelFact] | Closed:
        """Read the channels of the virtual host, page by page. Without the tag `monitoring` only those of this user."""
        return self._asked(lambda line: [*map(read_channel, line.pages(f"/vhosts/{self._vhost}/channels"))])

    @property
    def _vhost(self) -> str:
        return _quoted(self.vhost)

    def _asked(self, ask: Callable[[_Line], T]) -> T | Closed:
        """Ask the nodes in turn, until one answers."""
        trouble = _NoAnswer("off", "names no host", "Correct the URL.")
        for host, port in self.site.nodes:
            try:
                with _Line(self, host, port) as line:
                    return ask(line)
            except _NoAnswer as error:
                trouble = error
            except (OSError, HTTPException, ValueError, RecursionError) as error:  # the last two: a broken answer
                trouble = _explained(error)
            if not trouble.elsewhere:
                break
        return Closed(why=trouble.why, where=self.site.shown, trouble=trouble.trouble, remedy=trouble.remedy)


class _Secure(HTTPConnection):
    """A connection over TLS to a host that may have another name in its certificate."""

    checks: ssl.SSLContext
    named: str

    def connect(self) -> None:
        super().connect()
        self.sock = self.checks.wrap_socket(self.sock, server_hostname=self.named)


class _Line:
    """One connection, for the pages of one request."""

    def __init__(self, of: Management, host: str, port: int) -> None:
        site = of.site
        self._site, self._vhost = site, of.vhost
        line = _Secure if site.is_tls else HTTPConnection
        self._http = line(host, port, timeout=of.patience)
        if isinstance(self._http, _Secure):
            self._http.checks, self._http.named = context(site.tls), server_name(site.tls, host)
        login = b64encode(f"{site.user}:{site.password}".encode()).decode()
        self._headers = {"Authorization": f"Basic {login}", "Accept": "application/json"}

    def __enter__(self) -> _Line:
        return self

    def __exit__(self, *_: object) -> None:
        self._http.close()

    def item(self, path: str) -> Mapping[str, Any]:
        """Read one item that always exists."""
        found = self._get(path)
        if not isinstance(found, dict):
            raise _nothing()
        return found

    def items(self, path: str) -> list[Mapping[str, Any]]:
        """Read a list."""
        return _rows(self._get(path))

    def pages(self, path: str, columns: str = "") -> Iterator[Mapping[str, Any]]:
        """Read a list, page by page. An item that moves meanwhile may come twice or be missed."""
        only = f"&columns={columns}" if columns else ""
        for page in range(1, MOST_PAGES):
            found = self._get(f"{path}?page={page}&page_size={PAGE}{only}", past=page > 1)
            if isinstance(found, list):  # older releases answer with a list
                yield from _rows(found)
                return
            if not isinstance(found, dict):
                return
            yield from _rows(found.get("items"))
            count = found.get("page_count")
            if type(count) is not int or page >= count:
                return

    def _get(self, path: str, *, past: bool = False) -> Any:
        """Read the answer at a path; None: there is none. `past`: this page may be behind the last one by now."""
        self._http.request("GET", f"{self._site.path}/api{path}", headers=self._headers)
        answer = self._http.getresponse()
        body = answer.read()
        is_json = "json" in (answer.headers.get("Content-Type") or "")
        match answer.status:
            case 200 if is_json:
                return json.loads(body)
            case 404 if is_json:
                return None
            case 400 if past:
                return None
            case 401 | 403:
                raise self._refused(body)
            case status if status >= 500:
                trouble, remedy = f"gives no answer (status {status})", "See the broker's log."
                raise _NoAnswer("silent", trouble, remedy, elsewhere=True)
        raise _nothing()

    def _refused(self, body: bytes) -> _NoAnswer:
        user = self._site.user
        try:
            said = str(json.loads(body).get("reason", ""))
        except (ValueError, AttributeError):
            said = ""
        if "virtual host" in said:
            trouble = f'shows user "{user}" nothing of the virtual host "{self._vhost}"'
            return _NoAnswer("forbidden", trouble, "Give this user a permission there.")
        if said.startswith("Not "):  # a known user
            tag = "monitoring"
            trouble = f'does not show this to user "{user}", who lacks the tag {tag}'
            return _NoAnswer("forbidden", trouble, f"rabbitmqctl set_user_tags {user} {tag}")
        trouble = f'refuses user "{user}" or the password'
        return _NoAnswer("login", trouble, "Name another user: management=http://USER:PASSWORD@HOST:15672.")


def _rows(found: Any) -> list[Mapping[str, Any]]:
    return [one for one in found if isinstance(one, dict)] if isinstance(found, list) else []


def _quoted(name: str) -> str:
    return quote(name, safe="")


def _nothing() -> _NoAnswer:
    trouble = "answers, but not as a management API"
    return _NoAnswer("off", trouble, "Check its host, port and path, http:// or https://.", elsewhere=True)


def _explained(error: Exception) -> _NoAnswer:
    """Turn an error of the connection into the reason for a missing answer."""
    match error:
        case ConnectionRefusedError():
            remedy = "Enable it on the broker: rabbitmq-plugins enable rabbitmq_management."
            return _NoAnswer("off", "refuses the connection", remedy, elsewhere=True)
        case ssl.SSLCertVerificationError():
            trouble = f"has a certificate that is refused: {error.verify_message}"
            return _NoAnswer("login", trouble, "Name the authority's file: ?cacertfile=FILE.", elsewhere=True)
        case TimeoutError():
            return _NoAnswer("silent", "gives no answer in time", "See whether it is overloaded.", elsewhere=True)
        case FileNotFoundError():
            return _NoAnswer("login", f"needs a file that does not exist ({text_of(error)})", "Correct it in the URL.")
        case ValueError() | RecursionError():
            return _nothing()
    said = text_of(error) or type(error).__name__
    return _NoAnswer(
        "off", f"cannot be asked ({said})", "Check its host and port, http:// or https://.", elsewhere=True
    )
