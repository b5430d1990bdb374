"""The cast of the tests of features with several processes: functions that tell what they do, listeners and producers
to start, and `Cast`, the side of the test.

All write to one history, each line in one step, so that its order is the order in which things happened.
"""

from __future__ import annotations

import asyncio
import json
import logging
import os
import signal
import sys
import time
from collections import Counter
from collections.abc import Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from tests.acceptance.history import complete_lines, write
from tests.processes import Process, Processes, is_alive, until
from workkit import current_job, events, job, schedule
from workkit.schedule import Schedule

if TYPE_CHECKING:
    from tests.servers import Server

HERE = "tests.acceptance.feature_jobs"
CALL = f"import json, sys; from {HERE} import listen, produce; globals()[sys.argv[1]](**json.loads(sys.argv[2]))"
TIMEOUT = 5.0  # seconds: listener_timeout
SLACK = 3.0  # seconds more within which what a dead listener held runs elsewhere
WAIT = 60.0  # seconds; far above what it takes, as the machine may be busy
# What stands for jobs beside the published keys, and goes with them.
SIDE = ("slots", "waiting", "unique", "names", "counts", "ended", "errors", "again", "first:1", "first:2", "first:3")

Line = Mapping[str, Any]

watched = schedule.create("watched-features")


# The functions.


def _write(**line: Any) -> None:
    write(os.environ["WORKKIT_TEST_HISTORY"], **line)


def _is_open(label: str) -> bool:
    return (Path(os.environ["WORKKIT_TEST_HISTORY"]).parent / f"open-{label}").exists()


@contextmanager
def _noted(label: str, *, listener: int | None = None) -> Iterator[None]:
    run = current_job()
    assert run.due is not None
    me: dict[str, Any] = {"label": label, "id": run.id, "due": round(run.due.timestamp() * 1000)}
    me |= {"attempt": run.attempt, "pid": os.getpid(), "listener": listener or os.getpid()}
    _write(what="start", **me)
    how = "returned"
    try:
        yield
    except BaseException as error:
        how = type(error).__name__
        raise
    finally:
        _write(what="end", how=how, **me)


def _wait(label: str) -> None:
    while not _is_open(label):
        time.sleep(0.01)


def note(label: str, seconds: float = 0.0) -> None:
    with _noted(label):
        time.sleep(seconds)


def hold(label: str) -> None:
    """Run until the test opens the label."""
    with _noted(label):
        _wait(label)


def guarded(label: str) -> None:
    """The same, to be paused as a function."""
    with _noted(label):
        _wait(label)


def sleep_in_one(label: str) -> None:
    """Hear nothing for a minute, unless the label is open already."""
    with _noted(label):
        if not _is_open(label):
            time.sleep(60)


async def hold_async(label: str) -> None:
    with _noted(label):
        while not _is_open(label):
            await asyncio.sleep(0.01)


@job(cpu=True)
def hold_cpu(label: str) -> None:
    with _noted(label, listener=os.getppid()):
        _wait(label)


def tell(label: str) -> None:
    """Say again and again where it runs."""
    with _noted(label):
        while not _is_open(label):
            current_job().checkin(f"in {os.getpid()}")
            time.sleep(0.01)


@job(limit=2)
def limited(label: str, seconds: float = 0.0) -> None:
    with _noted(label):
        _wait(label)
        time.sleep(seconds)


@job(limit=1, limit_key="customer")
def limited_by(label: str, customer: str, seconds: float = 0.0) -> None:
    with _noted(f"{label}-{customer}"):
        _wait(label)
        time.sleep(seconds)


RATE_APART = 0.2


@job(rate="5/second")
def rated(label: str) -> None:
    with _noted(label):
        pass


@watched.middleware
def around() -> Iterator[None]:
    label, me = current_job().args[0], {"pid": os.getpid()}
    _write(what="before", label=label, **me)
    yield
    _write(what="after", label=label, **me)


# The processes.


def listen(*, url: str, names: Mapping[str, int], threads: int, strict: bool) -> None:
    """Run the functions of this module until told to stop."""

    def heard(event: events.Event) -> None:
        if event.name in ("listening", "crashed", "dead", "fenced", "cannot_run"):
            _write(what=f"said {event.name}", pid=os.getpid(), fields=str(event.fields))

    logging.getLogger("workkit").addHandler(logging.NullHandler())  # the errors of these jobs; any other output counts
    events.subscribe(heard)
    chosen = {schedule.create(name, redis=url): weight for name, weight in names.items()}
    schedule.listen(
        chosen,
        threads=threads,
        strict=strict,
        imports=[HERE],
        folder=None,
        listener_timeout=f"{TIMEOUT}s",
        deadline="2s",
    )


def produce(*, url: str) -> None:
    """Add a job for each label of each order that comes in on standard input; write down what was answered."""
    _write(what="said ready", pid=os.getpid())
    for line in sys.stdin:
        order = json.loads(line)
        s = schedule.create(order["name"], redis=url)
        for label in order["labels"]:
            added = schedule.add(s, f"{HERE}:{order['fn']}", args=[label], **order["options"])
            _write(what="added", label=label, id=added.id, new=added.new, pid=os.getpid())
        _write(what="produced", name=s.name)


# The test's side.


class Cast:
    """Processes around one server, and their history."""

    def __init__(self, server: Server, folder: Path) -> None:
        self.server, self.folder = server, folder
        self.history = folder / "history"
        self.history.touch()
        self.processes = Processes(folder)
        self.env = {"WORKKIT_TEST_HISTORY": str(self.history)}
        self._producers: list[Process] = []

    def schedule(self, name: str, **how: Any) -> Schedule:
        return schedule.create(name, redis=self.server.url, **how)

    def listeners(
        self, number: int, names: Collection[str] | Mapping[str, int], *, threads: int = 10, strict: bool = False
    ) -> list[Process]:
        """Start so many listeners on these schedules, and wait until all listen."""
        weights = dict(names) if isinstance(names, Mapping) else dict.fromkeys(names, 1)
        how = {"url": self.server.url, "names": weights, "threads": threads, "strict": strict}
        started = [self._call("listen", how) for _ in range(number)]
        for process in started:
            self._await("said listening", process)
        return started

    def produce(self, s: Schedule, fn: str, each: int, **options: Any) -> list[list[Line]]:
        """Have two processes add so many jobs each, at the same time; give what each was answered."""
        if not self._producers:
            self._producers = [self._call("produce", {"url": self.server.url}) for _ in range(2)]
            for process in self._producers:
                self._await("said ready", process)
        for n, process in enumerate(self._producers):
            labels = [f"{s.name}-{n}-{k}" for k in range(each)]
            process.tell(json.dumps({"name": s.name, "fn": fn, "labels": labels, "options": options}))
        until(lambda: len(self.lines("produced", name=s.name)) == 2, what="the additions", timeout=WAIT)
        added = self.lines("added")
        mine = [[line for line in added if line["pid"] == process.pid] for process in self._producers]
        return [lines[-each:] for lines in mine]

    def _call(self, function: str, how: Mapping[str, Any]) -> Process:
        return self.processes.run(sys.executable, "-c", CALL, function, json.dumps(how), env=self.env)

    def _await(self, what: str, process: Process) -> None:
        until(lambda: self.lines(what, pid=process.pid) or not process.is_running, what=what, timeout=WAIT)
        assert process.is_running, process.transcript()

    def open(self, *labels: str) -> None:
        """Let the runs of these labels end."""
        for label in labels:
            (self.folder / f"open-{label}").touch()

    def kill(self, *victims: Process) -> float:
        """Kill listeners at the same moment; when that was."""
        at = time.time()
        for process in victims:
            process.send(signal.SIGKILL)
        for process in victims:
            until(partial(_is_gone, process.pid), what="its end")
            write(str(self.history), what="killed", pid=process.pid)
        return at

    def stop(self, *processes: Process) -> None:
        """End listeners as an operator does."""
        for process in processes:
            process.send(signal.SIGTERM)
        for process in processes:
            assert process.wait(timeout=WAIT) == 0, process.transcript()
            assert not process.lines, process.transcript()

    def lines(self, *what: str, **members: Any) -> list[Line]:
        """What was written of these kinds, with these members."""
        found = complete_lines(self.history)
        return [
            line
            for line in found
            if line["what"] in what and all(line.get(key) == value for key, value in members.items())
        ]

    def starts(self, label: str, **members: Any) -> list[Line]:
        return self.lines("start", label=label, **members)

    def elsewhere(self, label: str, pid: int) -> list[Line]:
        """The starts on other listeners of what this one began first."""
        first = self.starts(label, listener=pid)[0]
        return [one for one in self.starts(label, id=first["id"], due=first["due"]) if one["listener"] != pid]

    def ends(self, label: str) -> list[Line]:
        """The runs that came to their own end."""
        return self.lines("end", label=label, how="returned")

    def story(self, *labels: str) -> list[Line]:
        """The runs of these labels, of all if there is none, and who was killed meanwhile."""
        return [
            line
            for line in self.lines("start", "end", "killed")
            if not labels or line["what"] == "killed" or line["label"] in labels
        ]

    def begun(self, *labels: str) -> None:
        """Wait for a run of each label; of several that are equal, for so many."""
        for label, number in Counter(labels).items():
            until(lambda: len(self.starts(label)) >= number, what=label, timeout=WAIT)  # noqa: B023 (called at once)

    def done(self, *labels: str) -> None:
        """Wait for the end of a run of each label; of several that are equal, for so many."""
        for label, number in Counter(labels).items():
            until(lambda: len(self.ends(label)) >= number, what=f"the end of {label}", timeout=WAIT)  # noqa: B023

    def left(self, s: Schedule) -> dict[str, Any]:
        """What stands for jobs on the server."""
        client = self.server.client()
        names = [f"{s.name}:{suffix}" for suffix in (*SIDE, "jobs", "next")]
        names += [name.decode() for name in client.scan_iter(f"{s.name}:progress:*", count=1000)]
        found = {}
        for name in names:
            match client.type(name):
                case b"hash":
                    found[name] = client.hgetall(name)
                case b"zset":
                    found[name] = client.zrange(name, 0, -1)
                case b"none":
                    continue
                case _:
                    found[name] = client.smembers(name)
        client.close()
        return found

    def tidy(self, s: Schedule) -> None:
        """Wait until nothing is left for any job."""
        until(lambda: not schedule.counts(s).running, what="the last settle", timeout=WAIT)
        try:
            until(lambda: not self.left(s), timeout=WAIT)
        except AssertionError:
            raise AssertionError(f"left of {s.name}: {self.left(s)}") from None

    def close(self) -> None:
        self.processes.close()


def _is_gone(pid: int) -> bool:
    return not is_alive(pid)


def most_at_once(lines: Sequence[Line]) -> int:
    """How many runs went on at the same time at most; those of a listener that was killed ended with it."""
    running: set[tuple[int, str, int]] = set()
    most = 0
    for line in lines:
        match line["what"]:
            case "start":
                running.add((line["listener"], line["id"], line["due"]))
            case "end":
                running.discard((line["listener"], line["id"], line["due"]))
            case "killed":
                running = {run for run in running if run[0] != line["pid"]}
        most = max(most, len(running))
    return most


def doubled(lines: Sequence[Line]) -> list[Line]:
    """The starts that should not be: of a run that had ended, or went on with a listener that lives."""
    found, owners = [], dict[tuple[str, int, int], int]()  # of each run: the listener, 0 once nobody has it
    ended = set()
    for line in lines:
        if line["what"] == "killed":
            owners = {run: pid for run, pid in owners.items() if pid != line["pid"]}
            continue
        run = line["id"], line["due"], line["attempt"]
        if line["what"] == "start":
            if run in ended or run in owners:
                found.append(line)
            owners[run] = line["listener"]
        else:
            owners.pop(run, None)
            ended.add(run)
    return found
