"""Several real servers that belong together, for tests: a primary with replicas and sentinels, and a cluster; and what
a schedule must be able to do on each.

Always of the product `redis`, whose redis-cli joins what a cluster consists of.
"""

from __future__ import annotations

import signal
import subprocess
import threading
import time
from collections.abc import Sequence
from contextlib import ExitStack, suppress
from pathlib import Path
from typing import Any

import pytest
import redis
from redis.backoff import NoBackoff
from redis.crc import key_slot
from redis.retry import Retry

from tests.processes import Processes, until
from tests.servers import Server, free_port, program
from workkit import call, schedule
from workkit.errors import NotFound

SERVICE = "tasks"
SLOTS = 16384


class Fleet:
    """Servers that are closed together, with one client for each."""

    def __init__(self, folder: Path, *, password: str = "") -> None:
        self.folder = folder
        self.password = password
        self._ends = ExitStack()
        self._clients: dict[Server, Any] = {}

    def client(self, server: Server) -> Any:
        """Return the client of a server; it tries once, and answers bytes."""
        if server not in self._clients:
            client = redis.Redis(
                port=server.port, password=server.password or None, retry=Retry(NoBackoff(), 0), socket_timeout=10
            )
            self._clients[server] = self._ends.enter_context(client)
        return self._clients[server]

    def replicate(self, server: Server, *, key: str) -> None:
        """Write a key, and wait until a replica has it and all that was written before."""
        with self.client(server).client() as one:  # one connection: WAIT is for what was written on the same
            one.set(key, "written")
            assert one.wait(1, 10_000) >= 1, "no replica is in step"

    def close(self) -> None:
        self._ends.close()

    def _started(self, server: Server) -> Server:
        server.folder.mkdir(parents=True)
        self._ends.callback(server.close)
        server.start()
        return server

    def _closed_on_error(self) -> ExitStack:
        """Return a context whose body, where it raises, leaves nothing running."""
        guard = ExitStack()
        guard.push(lambda kind, *_: self._ends.close() if kind else None)
        return guard

    def _info(self, server: Server) -> Any:
        return self.client(server).info("replication")

    def _is_in_step(self, replica: Server) -> bool:
        return bool(self._info(replica).get("master_link_status") == "up")


class SentinelFleet(Fleet):
    """A primary, its replicas and three sentinels. A primary that stays away for a second is replaced."""

    def __init__(self, folder: Path, *, replicas: int = 1, password: str = "") -> None:
        super().__init__(folder, password=password)
        with self._closed_on_error():
            first = self._data_server(0)
            self.data = [first, *(self._data_server(n, of=first) for n in range(1, replicas + 1))]
            until(
                lambda: all(self._is_in_step(r) for r in self.data[1:]), what="the replicas to be in step", timeout=30
            )
            self.sentinels = [self._sentinel(number, first) for number in range(3)]
            until(
                lambda: all(self._is_ready(s, replicas) for s in self.sentinels),
                what="the sentinels to agree",
                timeout=30,
            )

    @property
    def url(self) -> str:
        return self.url_of(self.sentinels)

    def url_of(self, sentinels: Sequence[Server]) -> str:
        login = f":{self.password}@" if self.password else ""
        return f"redis+sentinel://{login}{','.join(f'127.0.0.1:{s.port}' for s in sentinels)}/{SERVICE}"

    def primary(self) -> Server:
        """Return the primary; all sentinels that run must name the same."""
        found = until(self._agreed, what="the sentinels to name one primary")
        assert found is not None
        return found

    def replica(self) -> Server:
        """Return a running server that is not the primary."""
        primary = self.primary()
        return next(server for server in self.data if server is not primary and server.is_running)

    def fail_over(self) -> Server:
        """Have the sentinels replace a primary that lives; return the one that was replaced.

        For some seconds more it takes itself for the primary: `demote` it to have that end at once.
        """
        before = self.primary()
        until(self._begins_failover, what="a sentinel to begin", timeout=15)
        until(lambda: self._agreed() not in (None, before), what="another primary", timeout=15)
        return before

    def demote(self, before: Server) -> None:
        """Tell a replaced primary whom to follow, as the sentinels would in time; return when it does."""
        self.client(before).execute_command("REPLICAOF", "127.0.0.1", self.primary().port)
        until(lambda: self._is_in_step(before), what="the old primary to follow", timeout=30)

    def switches(self) -> Switches:
        """Watch for a new primary from now on."""
        return self._ends.enter_context(Switches(self.client(self.sentinels[-1])))

    def cut_replication(self, replica: Server) -> None:
        """Have a replica miss all that is written from now on: its connection ends, and it cannot log in anew."""
        client = self.client(replica)
        client.config_set("masterauth", "wrong")
        client.config_set("masteruser", "nobody")
        self.client(self.primary()).execute_command("CLIENT", "KILL", "TYPE", "replica")
        until(lambda: not self._is_in_step(replica), what="the replica to be cut off")

    def _data_server(self, number: int, *, of: Server | None = None) -> Server:
        options = ["--repl-diskless-sync-delay", "0"]
        if self.password:
            options += ["--requirepass", self.password, "--masterauth", self.password]
        if of:
            options += ["--replicaof", f"127.0.0.1 {of.port}"]
        folder = self.folder / f"data-{number}"
        return self._started(
            Server(program("redis"), folder=folder, is_durable=True, options=options, password=self.password)
        )

    def _sentinel(self, number: int, primary: Server) -> Server:
        return self.sentinel(f"sentinel-{number}", primary=primary)

    def sentinel(self, name: str, *, primary: Server, down_after_ms: int = 1000, password: str = "") -> Server:
        """Start one more sentinel, with a password of its own if wanted; `primary` is what it takes for that."""
        lines = [
            f"sentinel monitor {SERVICE} 127.0.0.1 {primary.port} 2",
            f"sentinel down-after-milliseconds {SERVICE} {down_after_ms}",
            f"sentinel failover-timeout {SERVICE} 3000",
            *([f"sentinel auth-pass {SERVICE} {self.password}"] if self.password else []),
            *([f"requirepass {password}"] if password else []),
        ]
        conf = "\n".join(lines) + "\n"
        options = ["--sentinel"]
        return self._started(
            Server(
                program("redis"),
                folder=self.folder / name,
                is_durable=False,
                options=options,
                conf=conf,
                password=password,
            )
        )

    def _is_ready(self, sentinel: Server, replicas: int) -> bool:
        facts = self.client(sentinel).sentinel_master(SERVICE)
        return bool(facts["num-other-sentinels"] == 2 and facts["num-slaves"] == replicas)

    def _agreed(self) -> Server | None:
        asked = [self.client(sentinel) for sentinel in self.sentinels if sentinel.is_running]
        named = {int(client.execute_command("SENTINEL", *_WHO, SERVICE)[1]) for client in asked}
        return next((server for server in self.data if {server.port} == named), None)

    def _begins_failover(self) -> bool:
        try:
            return bool(self.client(self.sentinels[0]).execute_command("SENTINEL", "FAILOVER", SERVICE))
        except redis.ResponseError:  # one is under way, or it knows no good replica yet
            return False


_WHO = ("GET-MASTER-ADDR-BY-NAME",)


class Switches:
    """What a sentinel announces of new primaries: when, by `time.monotonic`, the first one came, and its port."""

    def __init__(self, sentinel: Any) -> None:
        self.at, self.port = 0.0, 0
        self._found = threading.Event()
        self._subscription = sentinel.pubsub(ignore_subscribe_messages=True)
        self._thread: Any = None

    def __enter__(self) -> Switches:
        self._subscription.subscribe(**{"+switch-master": self._hear})
        self._thread = self._subscription.run_in_thread(sleep_time=0.05, daemon=True)
        return self

    def __exit__(self, *_: object) -> None:
        self._thread.stop()
        self._thread.join(5)

    def wait(self) -> int:
        """Wait for a new primary; return its port."""
        assert self._found.wait(60), "the sentinels named no new primary within 60 s"
        return self.port

    def _hear(self, message: dict[str, Any]) -> None:
        if not self._found.is_set():
            self.at, self.port = time.monotonic(), int(message["data"].split()[-1])
            self._found.set()


class ClusterFleet(Fleet):
    """Three nodes with a third of the slots each; one that replicates another may be added."""

    def __init__(self, folder: Path) -> None:
        super().__init__(folder)
        with self._closed_on_error():
            self.nodes = [self._node(number) for number in range(3)]
            command = ["redis-cli", "--cluster", "create", *(f"127.0.0.1:{node.port}" for node in self.nodes)]
            done = subprocess.run([*command, "--cluster-yes"], capture_output=True, text=True, timeout=60)
            assert done.returncode == 0, done.stdout + done.stderr
            until(lambda: all(self._is_whole(node) for node in self.nodes), what="the cluster to be whole", timeout=40)

    @property
    def url(self) -> str:
        return f"redis+cluster://{','.join(f'127.0.0.1:{node.port}' for node in self.nodes)}"

    def owner(self, name: str) -> Server:
        """Return the node that owns the slot of a schedule; all that run must say the same."""
        found = until(lambda: self._agreed(key_slot(name.encode())), what="the nodes to name one owner", timeout=15)
        assert found is not None
        return found

    def other(self, name: str) -> Server:
        """Return a node with slots that does not own the one of a schedule."""
        owner = self.owner(name)
        return next(n for n in self.nodes if n is not owner and n.is_running and self._info(n)["role"] == "master")

    def begin_move(self, name: str, to: Server) -> Server:
        """Have the slot of a schedule on its way to a node, no key moved yet; return the node it leaves."""
        slot, source = key_slot(name.encode()), self.owner(name)
        self.client(to).execute_command("CLUSTER", "SETSLOT", slot, "IMPORTING", self._id(source))
        self.client(source).execute_command("CLUSTER", "SETSLOT", slot, "MIGRATING", self._id(to))
        return source

    def move_keys(self, name: str, source: Server, to: Server) -> int:
        """Move what keys stand in a slot that is on its way; return how many did."""
        slot, client, moved = key_slot(name.encode()), self.client(source), 0
        while keys := client.execute_command("CLUSTER", "GETKEYSINSLOT", slot, 10):
            client.execute_command("MIGRATE", "127.0.0.1", to.port, "", 0, 5000, "KEYS", *keys)
            moved += len(keys)
        return moved

    def end_move(self, name: str, source: Server, to: Server) -> None:
        """Move the keys of a slot that is on its way, then the slot itself, as `redis-cli --cluster reshard` does."""
        self.move_keys(name, source, to)
        for node in (to, source, *self.nodes):
            if self._info(node)["role"] == "master":
                slot = key_slot(name.encode())
                self.client(node).execute_command("CLUSTER", "SETSLOT", slot, "NODE", self._id(to))

    def add_replica(self, of: Server) -> Server:
        """Have one more node, which replicates `of` and is in step with it."""
        replica = self._node(len(self.nodes))
        client, id = self.client(replica), self._id(of)
        client.execute_command("CLUSTER", "MEET", "127.0.0.1", of.port)
        until(lambda: self._replicates(client, id), what="the new node to replicate", timeout=30)
        until(lambda: self._is_in_step(replica), what="the replica to be in step", timeout=30)
        self.nodes.append(replica)
        until(
            lambda: all(self._knows(node, replica) for node in self.nodes),
            what="all nodes to know the replica",
            timeout=30,
        )
        return replica

    def _node(self, number: int) -> Server:
        options = ["--cluster-enabled", "yes", "--cluster-node-timeout", "1500", "--repl-diskless-sync-delay", "0"]
        node = Server(program("redis"), folder=self.folder / f"node-{number}", is_durable=True, options=options)
        node.port = free_port(bus=True)
        return self._started(node)

    def _is_whole(self, node: Server) -> bool:
        facts = self.client(node).execute_command("CLUSTER INFO")
        return bool(facts["cluster_state"] == "ok" and facts["cluster_slots_ok"] == str(SLOTS))

    def _agreed(self, slot: int) -> Server | None:
        """The owner as all nodes that run name it; None while they differ, or name one that does not act as such."""
        named = set()
        for node in self.nodes:
            if node.is_running:
                ranges = self.client(node).execute_command("CLUSTER", "SLOTS")
                named |= {owner[1] for first, last, owner, *_ in ranges if first <= slot <= last}
        found = next((node for node in self.nodes if {node.port} == named and node.is_running), None)
        return found if found and self._info(found)["role"] == "master" else None

    def _id(self, node: Server) -> str:
        return str(self.client(node).execute_command("CLUSTER", "MYID").decode())

    def _knows(self, node: Server, replica: Server) -> bool:
        ranges = self.client(node).execute_command("CLUSTER", "SLOTS")
        return any(place[1] == replica.port for found in ranges for place in found[3:])

    def _replicates(self, client: Any, id: str) -> bool:
        with suppress(redis.ResponseError):  # it does not know that node yet
            return bool(client.execute_command("CLUSTER", "REPLICATE", id))
        return False


APP = """
from workkit import Retry, current_job

def seen(what):
    with open("seen", "a") as file:
        file.write(f"{what}\\n")

def note(what):
    seen(what)

def tick():
    seen("tick")

def fail(what):
    raise OSError(what)

def report():
    batch = current_job().batch
    seen(f"{batch.name}: {batch.total}, {batch.done} done, {batch.dead} dead")

def twice():
    seen(f"attempt {current_job().attempt}")
    if current_job().attempt == 0:
        raise Retry(after="0s")
"""


class Diary:
    """What functions of `APP` noted, in `folder`, where the listeners run."""

    def __init__(self, folder: Path) -> None:
        self._file = folder / "seen"
        (folder / "app.py").write_text(APP)

    def lines(self) -> list[str]:
        return self._file.read_text().split("\n")[:-1] if self._file.exists() else []


def try_verbs(url: str, *, name: str, processes: Processes) -> None:
    """Use every verb on a schedule at `url`, with a listener in a process of its own."""
    diary, s = Diary(processes.folder), schedule.create(name, redis=url)
    listener = processes.workkit("listen", name, "--redis", url)
    listener.wait_for("listening")
    assert [info.pid for info in schedule.listeners(s)] == [listener.pid]

    schedule.add_now(s, "app:note", args=["now"])
    schedule.add(s, "app:note", in_="1 second", args=["soon"])
    tally = schedule.add_many(s, [{"fn": "app:note", "at": "now", "args": [f"row {n}"]} for n in range(50)])
    assert (tally.new, tally.known) == (50, 0)
    schedule.add_now(s, "app:twice")
    wanted = ["now", "soon", *(f"row {n}" for n in range(50)), "attempt 0", "attempt 1"]
    until(lambda: len(diary.lines()) >= len(wanted), what="all to run")
    assert sorted(diary.lines()) == sorted(wanted)

    recurring = schedule.add(s, "app:tick", every="second")
    until(lambda: diary.lines().count("tick") >= 2, what="two ticks")
    schedule.cancel(s, recurring)
    far = schedule.add(s, "app:note", at="2040-01-01 09:00", args=["never"])
    assert not schedule.add(s, "app:note", at="2040-01-01 09:00", args=["never"]).new
    assert [job.id for job in schedule.jobs(s, state="waiting")] == [far.id]
    assert schedule.job(s, far.id[:8]).args == ("never",)
    assert (schedule.counts(s).waiting, schedule.counts(s).listeners) == (1, 1)
    schedule.cancel(s, far)
    with pytest.raises(NotFound):
        schedule.job(s, far.id)
    listener.send(signal.SIGTERM)
    assert listener.wait() == 0, listener.transcript()
    assert not list(schedule.jobs(s))


def try_groups(url: str, *place: str, name: str, processes: Processes) -> None:
    """Use batches, a chain and `after` on a schedule at `url`, with a listener in a process of its own. `place`: how
    the command line names the server.
    """
    diary, s = Diary(processes.folder), schedule.create(name, redis=url)
    listener = processes.workkit("listen", name, *place)
    listener.wait_for("listening")

    with schedule.batch(s, "import", then="app:report", on_success=call("app:note", "never")) as batch:
        for number in range(3):
            batch.add("app:note", args=[f"row {number}"])
        batch.add("app:fail", args=["row 3"], retries=0)
    wanted = ["row 0", "row 1", "row 2", "import: 4, 3 done, 1 dead"]
    until(lambda: len(diary.lines()) >= len(wanted), what="the job that follows the batch")
    assert (sorted(diary.lines()[:-1]), diary.lines()[-1]) == (wanted[:-1], wanted[-1])
    assert list(batch.ids("dead")) == [job.id for job in schedule.dead(s)]

    schedule.map(s, "app:note", range(1100), name="large", then="app:report")  # it takes several requests
    until(lambda: diary.lines()[-1] == "large: 1100, 1100 done, 0 dead", what="the large batch")
    assert sorted(map(int, diary.lines()[4:-1])) == list(range(1100))

    schedule.chain(s, [call("app:note", word) for word in ("first", "second", "third")])
    until(lambda: diary.lines()[-1] == "third", what="the chain")
    assert diary.lines()[-3:] == ["first", "second", "third"]

    far = schedule.add(s, "app:note", at="2040-01-01 09:00", args=["never"])
    last = schedule.add_now(s, "app:note", args=["last"], after=[far, batch], on_death="run")
    assert schedule.job(s, last).state == "held"
    schedule.cancel(s, far)
    until(lambda: diary.lines()[-1] == "last", what="the job that ran after others")

    with schedule.batch(s, "given up", then=call("app:note", "never")) as other:
        for number in range(3):
            other.add("app:note", args=["never", number], in_="1 hour")
    other.cancel()
    until(lambda: other.state().state == "cancelled", what="the batch to be cancelled")
    assert other.cancelled == 3
    until(lambda: schedule.counts(s).due == 0, what="what follows it to end")
    assert [job.terms.then_of for job in schedule.jobs(s, state="held")] == ["import"], "one member of it is dead"
    assert "never" not in "".join(diary.lines())
    listener.send(signal.SIGTERM)
    assert listener.wait() == 0, listener.transcript()
