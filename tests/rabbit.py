"""A real RabbitMQ for tests, on loopback: its own node name, ports, cookie and folder.

It takes some seconds to start, so the worker processes of one run share it: the first that needs it starts it, the last
that ends stops it. A test has an exchange of its own name.
"""

from __future__ import annotations

import fcntl
import json
import os
import shutil
import signal
import socket
import subprocess
import time
from collections.abc import Iterable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import IO, Any, NamedTuple

import pika
import pytest

from tests.daemon import Daemon, await_answer, begun
from tests.processes import is_alive, until
from tests.servers import free_port
from workkit.brokers.hutch.names import Dialect, Names
from workkit.brokers.hutch.topology import delays, ladder, step_exchange

SCRIPTS = Path("/usr/lib/rabbitmq/bin")  # where Debian has them; those on PATH change to another user
START = 120.0  # seconds; a busy machine needs many
MANAGED = """
management.tcp.port = {port}
management.tcp.ip = 127.0.0.1
collect_statistics_interval = 200
management.sample_retention_policies.global.minute = 1
management.sample_retention_policies.basic.minute = 1
management.sample_retention_policies.detailed.minute = 1
"""  # the counts that it shows are at most 200 ms old, and its statistics 1 s
ADVANCED = "[{rabbit, [{dead_letter_worker_publisher_confirm_timeout, 3000}]}]."
"""What a delay waits for at most after the node is killed; by default 3 minutes (spec/layouts/hutch.md, section 8)."""
_CHILDREN: dict[int, subprocess.Popen[bytes]] = {}
GENTLE = "+S 2:2 +sbwt none +sbwtdcpu none +sbwtdio none"  # idle schedulers do not spin


def program(name: str = "rabbitmq-server") -> str:
    """Return a program of the broker; without it, skip the test here and fail it in CI (where CI is set)."""
    found = shutil.which(SCRIPTS / name)
    if found:
        return found
    missing = "no rabbitmq-server; on Debian: apt-get install rabbitmq-server"
    if os.environ.get("CI"):
        pytest.fail(missing, pytrace=False)
    pytest.skip(missing)


class Rabbit(Daemon):
    """A broker that may be stopped, started again on the same port, and killed."""

    def __init__(self, folder: Path, *, conf: str = "", manages: bool = False) -> None:
        self.folder = folder
        self.port, self._dist, self._names, self._web = (free_port() for _ in range(4))
        self.manages = manages  # whether it has the management API, which costs half a second
        self.conf = f"{conf}\n{MANAGED.format(port=self._web)}" if manages else conf
        self._node = self.mapper = 0  # the node, and the program that knows its name

    @property
    def url(self) -> str:
        return f"amqp://guest:guest@127.0.0.1:{self.port}/"

    @property
    def pid(self) -> int:
        return self._node

    @property
    def management(self) -> str:
        return f"http://guest:guest@127.0.0.1:{self._web}"

    @property
    def runs(self) -> bool:
        return bool(self.pid) and is_alive(self.pid)

    def start(self) -> None:
        """Start it and wait until it takes connections."""
        self.folder.mkdir(exist_ok=True)
        (self.folder / "plugins").write_text("[rabbitmq_management]." if self.manages else "[].")
        (self.folder / "rabbit.conf").write_text(self.conf)
        (self.folder / "advanced.config").write_text(ADVANCED)
        if not self.mapper:
            self.mapper = self._begun("epmd", "-port", str(self._names), "-address", "127.0.0.1").pid
        child = self._begun(program())
        self._node = child.pid
        answers = await_answer(child, self._answers, what="RabbitMQ", seconds=START)
        if answers and self.manages:
            answers = await_answer(child, self._tells, what="the management API", seconds=START)
        assert answers, f"RabbitMQ does not start:\n{(self.folder / 'log').read_text()[-3000:]}"

    def control(self, *words: str) -> str:
        """Run rabbitmqctl and return what it prints. It takes a second or two."""
        done = subprocess.run(
            [program("rabbitmqctl"), "-q", *words], env=self._environ(), capture_output=True, text=True, timeout=60
        )
        assert done.returncode == 0, done.stdout + done.stderr
        return done.stdout

    def close(self) -> None:
        """End it, and what belongs to it."""
        if self._node:
            self.kill()
        if self.mapper:
            mapper, self.mapper = self.mapper, 0
            _end(mapper, signal.SIGTERM)

    def end(self, number: signal.Signals) -> None:
        """Send a signal that ends its node, and wait."""
        pid, self._node = self._node, 0
        _end(pid, number)

    def _begun(self, *command: str) -> subprocess.Popen[bytes]:
        child = begun(command, log=self.folder / "log", env=self._environ())
        _CHILDREN[child.pid] = child
        return child

    def _answers(self) -> bool:
        with suppress(OSError), socket.create_connection(("127.0.0.1", self.port), timeout=5) as probe:
            probe.sendall(b"AMQP\0\0\x09\x01")
            return probe.recv(1) == b"\x01"  # a method: it begins to speak
        return False

    def _tells(self) -> bool:
        with suppress(OSError), socket.create_connection(("127.0.0.1", self._web), timeout=5):
            return True
        return False

    def _environ(self) -> dict[str, str]:
        folder = self.folder
        ours = {
            "RUNNING_UNDER_SYSTEMD": "true",  # the script then becomes the node, instead of its parent
            "HOME": folder, "RABBITMQ_NODENAME": f"workkit-{self.port}@localhost", "RABBITMQ_NODE_PORT": self.port,
            "RABBITMQ_NODE_IP_ADDRESS": "127.0.0.1", "RABBITMQ_DIST_PORT": self._dist, "ERL_EPMD_PORT": self._names,
            "ERL_EPMD_ADDRESS": "127.0.0.1", "RABBITMQ_MNESIA_BASE": folder / "data", "RABBITMQ_LOG_BASE": folder,
            "RABBITMQ_LOGS": folder / "node.log", "RABBITMQ_PID_FILE": folder / "pid",
            "RABBITMQ_ENABLED_PLUGINS_FILE": folder / "plugins", "RABBITMQ_CONF_ENV_FILE": folder / "none",
            "RABBITMQ_CONFIG_FILE": folder / "rabbit", "RABBITMQ_ADVANCED_CONFIG_FILE": folder / "advanced.config",
            "RABBITMQ_FEATURE_FLAGS_FILE": folder / "flags", "ERL_CRASH_DUMP": folder / "crash.dump",
            "RABBITMQ_GENERATED_CONFIG_DIR": folder / "made", "RABBITMQ_SCHEMA_DIR": folder / "schema",
            "RABBITMQ_SERVER_ADDITIONAL_ERL_ARGS": f"-kernel inet_dist_use_interface {{127,0,0,1}} {GENTLE}",
        }  # fmt: skip
        kept = {name: value for name, value in os.environ.items() if not name.startswith(("RABBITMQ_", "ERL_"))}
        return {**kept, **{name: str(value) for name, value in ours.items()}}


def _end(pid: int, number: signal.Signals) -> None:
    with suppress(ProcessLookupError):
        os.kill(pid, number)
    if child := _CHILDREN.pop(pid, None):
        child.wait()
    until(lambda: not is_alive(pid), what=f"process {pid} to end")  # another worker process may have started it


@contextmanager
def connected(url: str) -> Iterator[Any]:
    """A channel of the plain client, as another program has it."""
    connection = pika.BlockingConnection(pika.URLParameters(url))
    try:
        yield connection.channel()
    finally:
        if connection.is_open:
            connection.close()


_spare: dict[str, list[str]] = {}  # exchanges around which all delays are declared, by dialect


@contextmanager
def exchange(url: str, dialect: Dialect, name: str, *queues: str, is_new: bool = False) -> Iterator[Names]:
    """Lend an exchange that no other test uses meanwhile: `name`, or one that another test of this process had.

    To declare and delete the queues of all delays takes RabbitMQ a third of a second of processor time. So they stay,
    empty, for the next test. All else is deleted. `is_new`: the test needs an exchange that no other one had.
    """
    spare = _spare.setdefault(dialect, [])
    names = Names(exchange=spare.pop() if spare and not is_new else name, dialect=dialect)
    try:
        yield names
    finally:
        if forget(url, names, *map(names.queue, queues), keeps_delays=not is_new and _is_usual(url, names)):
            spare.append(names.exchange)


def forget(url: str, names: Names, *queues: str, keeps_delays: bool = False) -> bool:
    """Delete all that may have been declared around an exchange, or leave its delays as empty queues. Return whether
    any are left.
    """
    has_delays = False
    keys = ("nobody", "note", "orders.created", "shop.sold", *map(names.private_key, queues))
    arrivals = [names.arrival_queue(key) for key in keys]
    with connected(url) as channel:
        for topology, first in ((ladder(names), step_exchange(names, 0)), (delays(names), names.schedule_exchange)):
            if not _exists(channel.connection, first):  # most tests delay nothing
                continue
            has_delays = True
            steps = [one.name for one in topology.queues]
            if keeps_delays:
                _purge(channel.connection, steps)
                continue
            for queue in steps:
                channel.queue_delete(queue)
            for step in topology.exchanges:
                channel.exchange_delete(step.name)
        for queue in arrivals:
            # one that is declared anew would get no message: the step before it still sends to the old one
            if keeps_delays and has_delays:
                _purge(channel.connection, [queue])
            else:
                channel.queue_delete(queue)
        for queue in (*queues, names.dead_queue):
            channel.queue_delete(queue)
        for name in () if keeps_delays and has_delays else (names.own_exchange, names.exchange):
            channel.exchange_delete(name)
    return keeps_delays and has_delays


def _is_usual(url: str, names: Names) -> bool:
    """Say whether the exchange is as we declare it; a test may have declared it otherwise."""
    with connected(url) as channel, suppress(pika.exceptions.ChannelClosedByBroker):
        channel.exchange_declare(names.exchange, "topic", durable=True)
        return True
    return False


def _purge(connection: Any, queues: Iterable[str]) -> None:
    channel = connection.channel()
    with suppress(pika.exceptions.ChannelClosedByBroker):  # there is none for delays longer than those of the tests
        for queue in queues:
            channel.queue_purge(queue)
        channel.close()


def _exists(connection: Any, exchange: str) -> bool:
    channel = connection.channel()
    try:
        channel.exchange_declare(exchange, passive=True)
    except pika.exceptions.ChannelClosedByBroker:
        return False
    channel.close()
    return True


class Shared(NamedTuple):
    """The URLs of the broker that all worker processes of a run share. `management`: of its API; empty: not known."""

    url: str
    management: str = ""


@contextmanager
def shared(folder: Path) -> Iterator[Shared]:
    """Name the broker that all worker processes of a run share; `folder` is theirs together."""
    if running := os.environ.get("WORKKIT_TEST_AMQP"):  # whoever works on this layout keeps one running
        yield Shared(running, os.environ.get("WORKKIT_TEST_AMQP_MANAGEMENT", ""))
        return
    program()
    place = folder / "rabbit"
    place.mkdir(exist_ok=True)
    with open(place / "users", "w") as users:
        with _gate(place):
            fcntl.flock(users, fcntl.LOCK_SH)
            found = _known(place)
            if found is None:
                broker = Rabbit(place / f"node-{time.time_ns()}", manages=True)
                broker.start()
                urls = Shared(broker.url, broker.management)
                found = {"urls": urls, "pid": broker.pid, "mapper": broker.mapper}
                (place / "known").write_text(json.dumps(found))
        yield Shared(*found["urls"])
        with _gate(place):
            fcntl.flock(users, fcntl.LOCK_UN)
            try:
                fcntl.flock(users, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError:
                return  # others use it still
            _end(found["pid"], signal.SIGKILL)
            _end(found["mapper"], signal.SIGTERM)
            (place / "known").unlink()


def _known(place: Path) -> dict[str, Any] | None:
    with suppress(FileNotFoundError):
        found: dict[str, Any] = json.loads((place / "known").read_text())
        if is_alive(found["pid"]):
            return found
    return None


@contextmanager
def _gate(place: Path) -> Iterator[IO[str]]:
    with open(place / "gate", "w") as gate:
        fcntl.flock(gate, fcntl.LOCK_EX)
        yield gate
