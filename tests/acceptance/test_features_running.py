"""Check-ins, cancellation, middleware and worker processes, with two listener processes on each schedule. What a crash
does to them: `test_features_crash`.
"""

from __future__ import annotations

import json
import signal
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest

from tests.acceptance import feature_jobs
from tests.acceptance.feature_jobs import SLACK, WAIT, Cast
from tests.processes import Processes, is_alive, until
from tests.servers import Server
from workkit import schedule

HEARD = 2.0  # seconds within which a run hears that it was cancelled
APP = """
import os
from pathlib import Path
from dataclasses import replace
from workkit import current_job, schedule

s = schedule.create(os.environ["NAME"], redis=os.environ["REDIS_URL"])

def note(what):
    with open(f"{what}-{os.getpid()}", "a") as file:
        print(*current_job().args, file=file)

@s.middleware
def around():
    note("before")
    yield
    note("after")

@s.middleware(on="add")
def stamped(job):
    yield replace(job, args=(*job.args, "stamped"))

def work(n, stamp=None):
    note("within")
    while not Path("open").exists(): pass

def add(number):
    schedule.add_many(s, [{"fn": work, "at": "now", "args": [n]} for n in range(number)])
"""


@pytest.fixture
def cast(server: Server, tmp_path: Path) -> Iterator[Cast]:
    with closing(Cast(server, tmp_path)) as cast:
        yield cast


def workkit(cast: Cast, *words: str) -> str:
    """What a command says, in a process of its own."""
    process = cast.processes.workkit(*words, "--redis", cast.server.url)
    assert process.wait(timeout=WAIT) == 0, process.transcript()
    return "\n".join(process.out)


def owners(cast: Cast, *labels: str) -> set[int]:
    return {line["listener"] for label in labels for line in cast.starts(label)}


def test_check_ins_are_seen_from_elsewhere(cast: Cast, name: str) -> None:
    s = cast.schedule(name)
    both = cast.listeners(2, [name], threads=1)
    for label in ("one", "two"):
        schedule.add_now(s, feature_jobs.tell, args=[label])
    cast.begun("one", "two")
    assert owners(cast, "one", "two") == {one.pid for one in both}
    wanted = {f"in {one.pid}" for one in both}
    until(lambda: {job.progress for job in schedule.jobs(s)} == wanted)
    assert {record["progress"] for record in json.loads(workkit(cast, "list", name, "--json"))} == wanted
    cast.open("one", "two")
    cast.tidy(s)
    cast.stop(*both)


def test_runs_are_cancelled_from_elsewhere(cast: Cast, name: str) -> None:
    """Of a thread, of a coroutine, and in a process; those beside them go on."""
    s = cast.schedule(name)
    both = cast.listeners(2, [name], threads=4)
    fns = {"thread": feature_jobs.hold, "coroutine": feature_jobs.hold_async, "process": feature_jobs.hold_cpu}
    jobs = {label: schedule.add_now(s, fn, args=[label]) for label, fn in fns.items()}
    for _ in range(2):
        schedule.add_now(s, feature_jobs.hold, args=["beside"])
    cast.begun(*jobs, "beside", "beside")
    (child,) = (line["pid"] for line in cast.starts("process"))
    workkit(cast, "cancel", name, *(job.id for job in jobs.values()))
    until(lambda: len(list(schedule.jobs(s))) == 2, what="the end of what was cancelled", timeout=HEARD + SLACK)
    assert not is_alive(child)
    ended = {line["label"]: line["how"] for line in cast.lines("end")}
    assert ended == {"thread": "JobCancelled", "coroutine": "CancelledError"}
    assert {label: len(cast.starts(label)) for label in (*jobs, "beside")} == {**dict.fromkeys(jobs, 1), "beside": 2}
    counts = schedule.counts(s)
    assert (counts.running, counts.dead) == (2, 0)
    cast.open("beside")
    cast.done("beside", "beside")
    cast.tidy(s)
    cast.stop(*both)


def test_children_belong_to_their_listener(cast: Cast, name: str) -> None:
    s = cast.schedule(name)
    both = cast.listeners(2, [name], threads=1)
    for label in ("one", "two"):
        schedule.add_now(s, feature_jobs.hold_cpu, args=[label])
    cast.begun("one", "two")
    assert owners(cast, "one", "two") == {one.pid for one in both}
    children = {line["pid"] for line in cast.lines("start")}
    assert len(children) == 2
    assert children.isdisjoint(one.pid for one in both)
    cast.open("one", "two")
    cast.done("one", "two")
    cast.tidy(s)
    cast.stop(*both)
    until(lambda: not any(map(is_alive, children)), what="their end")


def test_middleware_stands_in_every_process_that_imports_it(
    server: Server, name: str, processes: Processes, tmp_path: Path
) -> None:
    (tmp_path / "app.py").write_text(APP)
    env = {"NAME": name, "REDIS_URL": server.url}
    both = [processes.workkit("listen", name, "--import", "app", "--threads", "1", env=env) for _ in range(2)]
    for one in both:
        one.wait_for("may run", timeout=WAIT)
    assert processes.python("import app; app.add(20)", env=env).wait(timeout=WAIT) == 0
    until(lambda: len(list(tmp_path.glob("within-*"))) == 2, what="both to run", timeout=WAIT)
    assert list(tmp_path.glob("after-*")) == []
    (tmp_path / "open").touch()
    s = schedule.create(name, redis=server.url)
    until(lambda: not list(schedule.jobs(s)), what="the end of all", timeout=WAIT)
    for one in both:
        said = [(tmp_path / f"{what}-{one.pid}").read_text().splitlines() for what in ("before", "within", "after")]
        assert said[0] == said[1] == said[2]
    ran = [line for file in tmp_path.glob("within-*") for line in file.read_text().splitlines()]
    assert sorted(ran) == sorted(f"{n} stamped" for n in range(20))
    for one in both:
        one.send(signal.SIGTERM)
        assert one.wait(timeout=WAIT) == 0, one.transcript()
