"""One scene: a durable server, a producer and two listeners, one of them with a fault; played, then judged."""

from __future__ import annotations

import json
import os
import shutil
import signal
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from types import ModuleType
from typing import Any

import redis

from tests.acceptance import crash_cast, history
from tests.acceptance.history import Promise, Verdict, write
from tests.acceptance.kept import Found, check_results, look_results
from tests.acceptance.leftovers import check_groups, check_keys, look
from tests.acceptance.records import Records, check_records, look_records
from tests.acceptance.stage import Stage
from tests.metronome import Metronome
from tests.processes import is_alive, is_stopped, until
from tests.servers import Server
from workkit import schedule
from workkit.brokers.native.entry import item_id

NAME = "scene"
OF_PRODUCER = ("add", "put", "cancel", "group")
STOPPED = ("leave", "given back")  # points that only a listener comes to that is told to stop
PATIENCE = 60.0  # seconds; whoever waits in vain waits longer on a busy machine, and nobody else does
FIRES = 20.0  # seconds; then the scene is played again
# A write is in the kernel before its reply leaves, so that a killed server has lost nothing; with `everysec` Redis
# puts writes off for up to two seconds while a sync is going on.
DURABLE = ("--appendonly", "yes", "--appendfsync", "no")


@dataclass(frozen=True, slots=True, kw_only=True)
class Fault:
    """What goes wrong: at the `nth` time that a process comes to `point` (see `faulty_points`)."""

    point: str
    kind: str
    nth: int = 1
    variant: str = "early"
    product: str = "redis"

    def __str__(self) -> str:
        return f"{self.point}|{self.kind}|{self.nth}|{self.variant} ({self.product})"

    @property
    def is_producers(self) -> bool:
        return self.point.partition(" ")[0] in OF_PRODUCER

    def is_at(self, *starts: str) -> bool:
        return any(self.point.startswith(start) for start in starts)


class Scene:
    """Played once, by one thread; `close` ends whatever is left of it. A scene of another layout says in methods of its
    own where that layout keeps what is looked at.
    """

    layout = "native"
    cast: ModuleType = crash_cast

    def __init__(self, fault: Fault, *, stage: Stage, machine: Metronome, folder: Path, program: str) -> None:
        self.fault, self.stage, self.machine, self.folder = fault, stage, machine, folder
        self.history = folder / "history"
        self.history.touch()
        (folder / "server").mkdir()
        self.server = Server(program, folder=folder / "server", is_durable=True, options=DURABLE)
        self._pids: dict[str, int] = {}
        self._late: list[str] = []  # what was waited for in vain
        self._left: list[str] = []
        self._records: Records | None = None
        self._results: Found | None = None
        self._read: list[Mapping[str, Any]] = []
        self._read_bytes = 0

    @property
    def has_fired(self) -> bool:
        return any(self._lines("fired"))

    def play(self) -> None:
        """From the first process to the last; whatever is waited for in vain ends it, and is in the verdict."""
        self.server.start()
        self.schedule = schedule.create(NAME, redis=self.server.url, layout=self.layout)
        self.client = self.server.client()
        try:
            if self.fault.is_at("reap"):
                self._leave_a_victim()
            self._listen("faulty", is_faulty=not self.fault.is_producers)
            if self.fault.is_producers:
                until(lambda: self._lines("said listening"), what="the listener")
            self._produce(is_faulty=self.fault.is_producers)
            self._provoke()
            until(lambda: self.has_fired, timeout=FIRES, what="the fault")
            self._follow()
            until(lambda: not is_alive(self._pids["producer"]), timeout=PATIENCE, what="the producer's end")
            until(self._is_over, timeout=PATIENCE, what="the end of all work")
            self._end()
            self._hear_out()
        except AssertionError as vain:
            self._late.append(str(vain).partition("\n")[0])
            self._hear_out()

    def verdict(self) -> Verdict:
        """What is wrong with it."""
        read = history.read(self.history.read_text().splitlines(), slack=self.machine.slack)
        promises: dict[str, Promise] = self.cast.promises(next((line["base"] for line in read.of("base")), 0))
        if self.fault.is_at("reap"):
            promises["victim"] = Promise()
        found = history.check(read, promises)
        kept = () if self._records is None else check_records(read, self._records, promises)
        results = () if self._results is None else check_results(read, self._results, promises)
        complaints = (*self._late, *found.complaints, *self._left, *kept, *results)
        return Verdict(complaints=complaints, twice=found.twice)

    def close(self) -> None:
        for pid in self._pids.values():
            if is_alive(pid):
                os.kill(pid, signal.SIGKILL)
        self.server.close()

    # Who takes part.

    def _start(self, who: str, function: str, *, is_faulty: bool = False, **keywords: Any) -> None:
        env = {"WORKKIT_TEST_HISTORY": str(self.history), "WORKKIT_TEST_FAULT": ""}
        if is_faulty:
            fault = self.fault
            env["WORKKIT_TEST_FAULT"] = f"{fault.point}|{fault.kind}|{fault.nth}|{fault.variant}"
            env["WORKKIT_TEST_SERVER"] = f"{self.server.pid}:{self.server.port}"
        keywords |= {"url": self.server.url, "name": NAME}
        self._pids[who] = self.stage.start(
            f"{self.cast.HERE}:{function}", env=env, output=self.folder / who, **keywords
        )

    def _listen(self, who: str, *, is_faulty: bool = False) -> None:
        self._start(who, "listen", is_faulty=is_faulty)

    def _produce(self, *, is_faulty: bool = False) -> None:
        # One that will be killed has its successor add the same again before it is due: the past is refused.
        # A cancellation that a server forgets is none.
        after = "rewound" if self.fault.is_at("resync") else ""
        self._start("producer", "produce", is_faulty=is_faulty, lead=7 if self.fault.is_producers else 3, after=after)

    def _lines(self, *what: str) -> list[Mapping[str, Any]]:
        """The lines of these kinds so far; what was read before is not read again."""
        with open(self.history, "rb") as file:
            file.seek(self._read_bytes)
            fresh = file.read()
        fresh = fresh[: fresh.rfind(b"\n") + 1]  # of the last line perhaps only a part can be read yet
        self._read_bytes += len(fresh)
        self._read += [json.loads(line) for line in fresh.splitlines()]
        return [line for line in self._read if line["what"] in what]

    def _has_started(self, label: str) -> bool:
        return any(line["label"] == label for line in self._lines("start"))

    def _write(self, **line: Any) -> None:
        write(str(self.history), **line)

    # What happens to them.

    def _leave_a_victim(self) -> None:
        """A listener that died with work in its hands, for the faulty one to find."""
        victim = self._add_victim()
        self._write(what="ack", label="victim", id=victim.id)
        self._listen("victim")
        until(lambda: self._has_started("victim"), what="the victim's run")
        self._kill("victim")

    def _add_victim(self) -> Any:
        return schedule.add_now(self.schedule, f"{crash_cast.HERE}:slow", args=["victim", 1.5])

    def _provoke(self) -> None:
        """Bring the faulty listener to a point that it would not come to by itself."""
        fault = self.fault
        if fault.is_at(*STOPPED):
            until(lambda: self._has_started("slow"), what="the slow run")
            os.kill(self._pids["faulty"], signal.SIGTERM)
        elif fault.is_at("lost"):
            until(lambda: self._has_started("slow"), what="the slow run")
            self._fence("faulty")
        elif fault.is_at("resync"):
            until(lambda: any(line["label"] == crash_cast.ADDED for line in self._lines("ack")), what="all added")
            until(lambda: self._has_started("slow"), what="the slow run")
            kept = self.folder / "kept"
            shutil.copytree(self.server.folder, kept)
            steps = len(self._lines("end"))
            until(lambda: len(self._lines("end")) >= steps + 3, what="further runs")
            self.server.kill()
            shutil.rmtree(self.server.folder)
            shutil.copytree(kept, self.server.folder)
            self._write(what="rewound")
            self.server.start()

    def _fence(self, who: str) -> None:
        """Stop a listener for so long that another takes its work, and let it go on."""
        pid = self._pids[who]
        os.kill(pid, signal.SIGSTOP)  # at once: its run is short
        until(lambda: is_stopped(pid), what="the listener to stand still")
        self._write(what="fenced", pid=pid)
        self._listen("other")
        self._let_time_pass(pid)
        until(lambda: pid not in self._listed_pids(), timeout=PATIENCE, what="the other to take over")
        self._write(what="resumed", pid=pid)
        os.kill(pid, signal.SIGCONT)

    def _kill(self, who: str) -> None:
        os.kill(self._pids[who], signal.SIGKILL)
        self._note_death(who)

    def _note_death(self, who: str) -> None:
        until(lambda: not is_alive(self._pids[who]), what=f"the end of {who}")
        self._write(what="killed", pid=self._pids[who])
        self._let_time_pass(self._pids[who])

    def _let_time_pass(self, silent: int) -> None:
        """Let the last heartbeat of a process that sends none be old, so that nobody waits until it is."""
        for name in self.client.zrange(f"{NAME}:listeners", 0, -1):
            if int(name.split(b":")[1]) == silent:
                self.client.zadd(f"{NAME}:listeners", {name: 1}, xx=True)

    def _follow(self) -> None:
        """After the fault: the server comes back, a killed producer too, and another listener goes on with the work."""
        who = "producer" if self.fault.is_producers else "faulty"
        if self.fault.kind == "process":
            self._note_death(who)
            if who == "producer":
                self._produce()
        elif self.fault.kind == "server":
            self.server.kill()
            self.server.start()
        if "other" not in self._pids:
            self._listen("other")

    def _hear_out(self) -> None:
        """Nobody says anything but by an exception that escaped."""
        for who in ("faulty", "other", "producer"):
            printed = (self.folder / who).read_text() if (self.folder / who).exists() else ""
            if printed and not (who == "faulty" and self.fault.is_at("register")):  # its start may well be refused
                self._late.append(f"{who} printed: {printed.splitlines()[-1]}")

    def _is_over(self) -> bool:
        """Nothing is owed but what nobody can run, and that stands in S:next; everyone who is listed lives, and holds
        nothing.
        """
        time.sleep(0.05)  # many scenes look at once, each with many commands
        client = self.client
        nowhere = {line["id"].encode() for line in self._lines("ack") if line["label"] == "nowhere"}
        try:
            listed = client.zrange(f"{NAME}:listeners", 0, -1)
            alive = self._alive()
            held = [client.hlen(f"{NAME}:running:{name.decode()}") for name in listed]
            is_idle = self._listed_pids() == sorted(alive) and all(number == 2 for number in held)
            seen = {item_id(item) for item in client.zrange(f"{NAME}:next", 0, -1)}
            return is_idle and set(client.hkeys(f"{NAME}:jobs")) == nowhere == seen
        except redis.ConnectionError:
            return False

    def _end(self) -> None:
        """Take out what nobody can run, stop everyone, and look at what is left."""
        nowhere = [line["id"] for line in self._lines("ack") if line["label"] == "nowhere"]
        assert nowhere, "the producer ended before it had added all"
        schedule.cancel(self.schedule, nowhere[0])
        self._write(what="cancelled", id=nowhere[0])
        self._stop_all()
        self._sweep(nowhere[0])
        marked = {line["id"] for line in self._lines("cancelled")}
        self._left += check_keys(look(self.client, NAME), cancelled=marked, dead=self._died())
        self._left += check_groups(self.client, NAME)
        self._records = look_records(self.client, NAME, url=self.server.url)
        self._results = look_results(self.client, NAME, url=self.server.url)

    def _died(self) -> set[str]:
        """The occurrences that ended their last attempt as one that dies. An addition whose reply is lost adds two."""
        last = {label: crash_cast.promises(0)[label].attempts - 1 for label in crash_cast.DEAD}
        ends = [line for line in self._lines("end") if line["attempt"] == last.get(line["label"])]
        return {f"{line['id']}@{line['due']}" for line in ends}

    def _alive(self) -> list[int]:
        return [pid for who, pid in self._pids.items() if who != "producer" and is_alive(pid)]

    def _stop_all(self) -> None:
        listeners = self._alive()
        stopping = self._pids.get("faulty") if self.fault.kind == "stop" and self.has_fired else None
        for pid in listeners:
            if pid != stopping:  # a second signal ends it at once
                os.kill(pid, signal.SIGTERM)
        for pid in listeners:
            until(_has_ended(pid), what=f"the end of listener {pid}")

    def _sweep(self, id: str) -> None:
        """Have a cancelled job taken out that waits where no listener so far looks at it: all had given it back."""
        if not self.client.hexists(f"{NAME}:jobs", id):
            return
        self._listen("last")
        until(lambda: not self.client.hexists(f"{NAME}:jobs", id), what="the end of what was cancelled")
        until(lambda: self.client.hlen(self._running()) == 2, what="the last settle")
        os.kill(self._pids["last"], signal.SIGTERM)
        until(_has_ended(self._pids["last"]), what="the end of the last listener")

    def _listed_pids(self) -> list[int]:
        return sorted(int(name.split(b":")[1]) for name in self.client.zrange(f"{NAME}:listeners", 0, -1))

    def _running(self) -> str:
        (name,) = self.client.zrange(f"{NAME}:listeners", 0, -1)
        return f"{NAME}:running:{name.decode()}"


def _has_ended(pid: int) -> Callable[[], bool]:
    return lambda: not is_alive(pid)
