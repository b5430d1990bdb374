"""A connection to the broker, owned by one thread. Other threads hand it work and wait for the result.

It checks whether a shared object exists before it declares the object, and never changes one.
"""

from __future__ import annotations

import asyncio
import logging
import ssl
import threading
from collections.abc import Awaitable, Callable, Sequence
from concurrent.futures import CancelledError, Future
from concurrent.futures import TimeoutError as NotInTime
from contextlib import suppress
from typing import Any, TypeVar

import pika
from pika.adapters.asyncio_connection import AsyncioConnection
from pika.exceptions import AMQPConnectionError, AMQPError, ChannelClosedByBroker, StreamLostError

from workkit.brokers.hutch.address import Address
from workkit.brokers.hutch.message import text
from workkit.brokers.hutch.topology import Exchange, Queue, Topology
from workkit.brokers.hutch.wire.channel import NOT_FOUND, Channel, Publisher, certain, full, translated
from workkit.clocks import measured
from workkit.errors import ServerError

T = TypeVar("T")
C = TypeVar("C", bound=Channel)

logging.getLogger("pika").addHandler(logging.NullHandler())  # its errors are raised as ours; programs may log them


class Wire:
    """One open connection. For the thread that owns it."""

    def __init__(self, connection: Any) -> None:
        self._connection = connection
        self._channels: list[Channel] = []
        self._publisher: Publisher | None = None
        self.closed: BaseException | None = None
        self.on_loss: Callable[[], None] = lambda: None
        self.is_blocked = False
        self.known: set[str] = set()  # the objects that it has declared
        self.order = asyncio.Lock()  # held during a declaration and a publishing, so that messages keep their order
        connection.add_on_connection_blocked_callback(lambda *_: setattr(self, "is_blocked", True))
        connection.add_on_connection_unblocked_callback(lambda *_: setattr(self, "is_blocked", False))

    @property
    def version(self) -> str:
        """The broker's release, as it reports it; empty if it reports none."""
        return text((self._connection.server_properties or {}).get("version"))

    @property
    def cluster(self) -> str:
        """The name of the broker's cluster; empty if it reports none."""
        return text((self._connection.server_properties or {}).get("cluster_name"))

    async def channel(self) -> Channel:
        """Open a channel."""
        return await self._opened(Channel(self._connection))

    async def publisher(self) -> Publisher:
        """Return the channel that publishes."""
        if self._publisher is None or self._publisher.closed is not None:
            self._publisher = await self.new_publisher()
        return self._publisher

    async def new_publisher(self) -> Publisher:
        """Open a channel that publishes, for one caller alone."""
        return await self._opened(Publisher(self._connection))

    async def declare(self, topology: Topology) -> None:
        """Declare objects that this connection has not declared yet. Raises the reason of a closed channel: an object
        of ours exists with other arguments.
        """
        known, channel = self.known, await self.channel()
        try:
            for exchange in topology.exchanges:
                if exchange.name not in known and not (exchange.shared and await self._exists(exchange)):
                    await channel.call("exchange_declare", exchange.name, exchange_type="topic", durable=True)
                known.add(exchange.name)
            for queue in topology.queues:
                if queue.name not in known and not (queue.shared and await self._exists(queue)):
                    arguments = dict(queue.arguments) or None
                    await channel.call("queue_declare", queue.name, durable=True, arguments=arguments)
                known.add(queue.name)
            for one in topology.bindings:
                bind = "exchange_bind" if one.to_exchange else "queue_bind"
                await channel.call(bind, one.destination, one.source, one.key)
        finally:
            channel.close()

    async def _exists(self, wanted: Exchange | Queue) -> bool:
        """Look for an object on a channel of its own, which the broker closes if there is none."""
        channel = await self.channel()
        try:
            method = "exchange_declare" if isinstance(wanted, Exchange) else "queue_declare"
            await channel.call(method, wanted.name, passive=True)
        except ChannelClosedByBroker as error:
            if error.reply_code == NOT_FOUND:
                return False
            raise
        finally:
            channel.close()
        return True

    def lost(self, reason: BaseException) -> None:
        """Fail all waiters of the connection."""
        if self.closed is None:
            self.closed = reason
            for channel in self._channels:
                channel.fail(reason)
            self.on_loss()

    def close(self) -> None:
        """Close the connection if it is open."""
        with suppress(AMQPError):
            self._connection.close()

    def abort(self) -> None:
        """End the connection without a handshake: the broker does not answer. The client library has no public method
        for that.
        """
        if not self._connection.is_closed:
            self._connection._terminate_stream(StreamLostError("the broker does not answer"))

    async def _opened(self, channel: C) -> C:
        if self.closed is not None:
            raise self.closed
        self._channels = [one for one in self._channels if one.closed is None]
        self._channels.append(channel)
        await channel.open()
        return channel


class Link:
    """Connects on first use, and again after a loss: to the node that served last, else to the next."""

    def __init__(self, address: Address, *, name: str, patience: float = 10.0) -> None:
        self._address, self._name, self._patience = address, name, patience
        self._loop: asyncio.AbstractEventLoop | None = None
        self._thread: threading.Thread | None = None
        self._guard, self.alone = threading.Lock(), threading.Lock()  # `alone`: for the readers of delayed messages
        self._connecting: asyncio.Lock | None = None
        self._wire: Wire | None = None
        self._node = 0
        self._is_over = False

    @property
    def wire(self) -> Wire | None:
        """The open connection, if there is one. From any thread."""
        wire = self._wire
        return None if wire is None or wire.closed is not None else wire

    def run(self, work: Callable[[Wire], Awaitable[T]]) -> T:
        """Do work with an open connection, and return its result. From any other thread.

        Raises ServerUnreachable, ServerRefused; after a loss in the middle the effect at the broker is unknown.
        """
        return self.begin(work)()

    def begin(self, work: Callable[[Wire], Awaitable[T]]) -> Callable[[], T]:
        """Begin work, and return a function that waits for its result: see `run`."""
        loop = self._started()
        future = asyncio.run_coroutine_threadsafe(self._run(work), loop)

        def result() -> T:
            try:
                return future.result()
            except CancelledError:
                raise translated(ConnectionError("it was closed here"), self._address.shown) from None

        return result

    def post(self, act: Callable[[], None]) -> None:
        """Make the owning thread call `act` soon."""
        with suppress(RuntimeError):  # the loop is closed: `act` has nothing to act on
            self._started().call_soon_threadsafe(act)

    def close(self) -> None:
        """Close the connection and end the thread."""
        with self._guard:
            was_over, self._is_over = self._is_over, True
            loop, thread = self._loop, self._thread
        if was_over or loop is None or thread is None:
            return
        with suppress(RuntimeError, NotInTime, CancelledError):
            asyncio.run_coroutine_threadsafe(self._end(), loop).result(self._patience)
        with suppress(RuntimeError):
            loop.call_soon_threadsafe(loop.stop)
        if thread is not threading.current_thread():
            thread.join(self._patience)

    def _started(self) -> asyncio.AbstractEventLoop:
        with self._guard:
            if self._is_over:
                raise translated(ConnectionError("it was closed here"), self._address.shown)
            if self._loop is None:
                ready: Future[asyncio.AbstractEventLoop] = Future()
                self._thread = threading.Thread(target=_serve, args=(ready,), name=f"workkit-{self._name}", daemon=True)
                self._thread.start()
                self._loop = ready.result()
            return self._loop

    async def _run(self, work: Callable[[Wire], Awaitable[T]]) -> T:
        wire = None
        try:
            async with asyncio.timeout(self._patience):
                wire = await self._open()
                if wire.is_blocked:
                    raise full(self._address.shown)
                return await work(wire)
        except ServerError:
            raise
        except TimeoutError as error:
            if wire is not None and wire.is_blocked:
                raise full(self._address.shown) from error
            if wire is not None:  # its state is unknown: connect again
                wire.lost(error)
                wire.abort()
            raise translated(error, self._address.shown) from error
        except (AMQPError, OSError) as error:
            raise translated(error, self._address.shown, user=self._address.user, vhost=self._address.vhost) from error

    async def _open(self) -> Wire:
        if self._connecting is None:
            self._connecting = asyncio.Lock()
        async with self._connecting:
            if self._wire is None or self._wire.closed is not None:
                self._wire = await self._connect()
            return self._wire

    async def _connect(self) -> Wire:
        """Try each node once, from the one that served last. Raises the error of the last node."""
        nodes, error = self._address.nodes, None
        for offset in range(len(nodes)):
            place = (self._node + offset) % len(nodes)
            try:
                wire = await _connected(self._parameters(*nodes[place]))
            except (AMQPError, OSError, TimeoutError) as failed:
                error = failed
            else:
                self._node = place
                return wire
        assert error is not None
        raise error

    def _parameters(self, host: str, port: int) -> pika.ConnectionParameters:
        address = self._address
        return pika.ConnectionParameters(
            host=host,
            port=port,
            virtual_host=address.vhost,
            credentials=pika.PlainCredentials(address.user, address.password),
            heartbeat=address.heartbeat,
            socket_timeout=self._patience / 2,
            stack_timeout=self._patience / 2,
            ssl_options=_tls(address, host) if address.is_tls else None,
            client_properties={"connection_name": self._name, "product": "workkit"},
        )

    async def _end(self) -> None:
        for task in asyncio.all_tasks():
            if task is not asyncio.current_task():
                task.cancel()
        wire = self._wire
        if wire is None or wire.closed is not None:
            return
        gone = asyncio.Event()
        wire.on_loss = gone.set
        for end, seconds in ((wire.close, min(2.0, self._patience / 2)), (wire.abort, 1.0)):
            end()
            with suppress(TimeoutError):
                await asyncio.wait_for(gone.wait(), seconds)
                return


def _serve(ready: Future[asyncio.AbstractEventLoop]) -> None:
    loop = measured(asyncio.new_event_loop())
    asyncio.set_event_loop(loop)
    loop.call_soon(ready.set_result, loop)
    try:
        loop.run_forever()
    finally:
        loop.close()


async def _connected(parameters: pika.ConnectionParameters) -> Wire:
    opened: asyncio.Future[Wire] = asyncio.get_running_loop().create_future()
    said: list[Any] = []  # the broker's reasons for closing it

    def begin(connection: Any) -> None:
        if not opened.done():
            opened.set_result(Wire(connection))

    def end(_: Any, reason: BaseException) -> None:
        if not opened.done():  # some of its errors share no class with the others
            reason = certain(reason, said)
            opened.set_exception(reason if isinstance(reason, AMQPError | OSError) else AMQPConnectionError(reason))
        elif not opened.cancelled() and opened.exception() is None:
            opened.result().lost(reason)

    connection = AsyncioConnection(
        parameters,
        on_open_callback=begin,
        on_open_error_callback=end,
        on_close_callback=end,
        custom_ioloop=asyncio.get_running_loop(),
    )
    connection.callbacks.add(0, pika.spec.Connection.Close, lambda frame: said.append(frame.method))
    try:
        return await opened
    except asyncio.CancelledError:
        with suppress(AMQPError):
            connection.close()
        raise


def _tls(address: Address, host: str) -> pika.SSLOptions:
    return pika.SSLOptions(context(address.tls), server_name(address.tls, host))


def context(options: Sequence[tuple[str, str]]) -> ssl.SSLContext:
    """Make the context that checks the broker's certificate. Raises OSError for a file that cannot be read."""
    given = dict(options)
    made = ssl.create_default_context(cafile=given.get("cacertfile"))
    if given.get("verify") == "verify_none":
        made.check_hostname, made.verify_mode = False, ssl.CERT_NONE
    if certificate := given.get("certfile"):
        made.load_cert_chain(certificate, given.get("keyfile"))
    return made


def server_name(options: Sequence[tuple[str, str]], host: str) -> str:
    """Return the name that the certificate must have."""
    return dict(options).get("server_name_indication") or host
