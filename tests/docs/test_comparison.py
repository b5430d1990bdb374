"""The ten tasks of docs/comparison.md in each system, played with its real workers on one Redis; how long each task is;
and modules that move. What a type checker says of ours: `tests/test_typed.py`.
"""

from __future__ import annotations

import os
import re
import signal
import sys
from collections.abc import Iterator
from contextlib import closing
from datetime import datetime, timedelta
from pathlib import Path
from typing import NamedTuple
from zoneinfo import ZoneInfo

import pytest

from docs.building.tables import COMPARED, TASKS, length, tasks_of
from tests.docs.page import parts_of
from tests.optional import needed
from tests.processes import ROOT, Process, Processes, until
from tests.servers import Server, program
from workkit.testing import plugin

FOLDER = ROOT / "examples" / "comparison"
SENDER = Path(__file__).with_name("comparing.py")
WORKERS = {  # as the head of each file tells
    "workkit": "-m workkit listen shop --import with_workkit",
    "rq": "-m rq.cli worker --with-scheduler -w rq.worker.SimpleWorker",
    "dramatiq": f"{SENDER} work dramatiq",
    "taskiq": f"{SENDER} work taskiq",
    "celery": "-m celery -A with_celery worker -P threads -c 2 -Q celery,narrow -l INFO",
}
SYSTEMS = tuple(WORKERS)
PATIENCE = 120.0  # seconds: seven processes begin at once, beside those of other tests
ZONE = {"rq": "UTC"}  # it has no zones; the others say Europe/Paris


class Played(NamedTuple):
    """The worker of each system, the program that sends jobs, and the tests of the files."""

    workers: dict[str, Process]
    sender: Process
    tests: Process

    def wait(self, system: str, pattern: str, *, count: int = 1) -> list[re.Match[str]]:
        """Return the lines of the worker of a system that have the pattern, when there are `count`."""
        try:
            return until(lambda: found if len(found := self.lines(system, pattern)) >= count else [], timeout=PATIENCE)
        except AssertionError:
            told = f"{self.sender.transcript()}\n{self.workers[system].transcript()}"
            raise AssertionError(f"no {pattern!r}\n{told}") from None

    def lines(self, system: str, pattern: str) -> list[re.Match[str]]:
        return [match for line in self.workers[system].lines if (match := re.search(pattern, line))]

    def given(self, system: str, task: str, *, count: int = 1) -> tuple[float, str]:
        """Return when the program did a task for the `count`th time, and what it gave."""
        found = self.sender.wait_for(rf"^{system} {task} at ([\d.]+): (.*)$", count=count, timeout=PATIENCE)
        return float(found[1]), found[2]


@pytest.fixture(scope="module")
def played(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Played]:
    for module in ("celery", "rq", "dramatiq", "taskiq_redis", "apscheduler"):
        needed(module)
    folder = tmp_path_factory.mktemp("comparison")
    with (
        closing(Server(program("redis"), folder=folder, is_durable=False)) as server,
        closing(Processes(FOLDER)) as all,
    ):
        server.start()
        path = os.pathsep.join([str(ROOT), str(FOLDER)])
        env = {"REDIS_URL": server.url, "RQ_REDIS_URL": server.url, "PYTHONPATH": path, "TZ": "UTC"}

        def run(line: str, **more: str) -> Process:
            return all.run(sys.executable, *line.split(), env={**env, **more})

        workers = {system: run(line) for system, line in WORKERS.items()}
        sender = run(f"{SENDER} send")
        files = " ".join(f"with_{system}.py" for system in SYSTEMS)
        tests = run(
            f"-m pytest -q -c {os.devnull} --rootdir . -p no:cacheprovider -p {plugin.__name__} {files}", UNIT_TESTS="1"
        )
        for system in SYSTEMS:
            if system == "celery":  # a cancellation reaches only workers that run
                workers[system].wait_for("ready", timeout=PATIENCE)
            sender.tell(system)
        yield Played(workers, sender, tests)
        for worker in workers.values():  # by a signal that they know: they end their own processes
            worker.send(signal.SIGTERM)
        for worker in workers.values():
            worker.wait(timeout=PATIENCE)


@pytest.mark.parametrize("system", SYSTEMS)
def test_a_job_runs_now(played: Played, system: str) -> None:
    played.wait(system, "exported monday")


@pytest.mark.parametrize("system", SYSTEMS)
def test_a_job_runs_later_and_a_cancelled_one_never(played: Played, system: str) -> None:
    sent, _ = played.given(system, "later")
    (ran,) = played.wait(system, r"exported tuesday at ([\d.]+)")  # was sent after the one that was cancelled
    assert float(ran[1]) - sent > 1  # RQ counts in whole seconds
    assert not played.lines(system, "exported saturday")


@pytest.mark.parametrize("system", SYSTEMS)
def test_a_job_recurs_on_weekdays_at_nine(played: Played, system: str) -> None:
    due = datetime.fromisoformat(played.given(system, "recurring")[1])
    local = datetime.now(ZoneInfo(ZONE.get(system, "Europe/Paris"))).replace(hour=9, minute=0, second=0, microsecond=0)
    nexts = (local + timedelta(days=n) for n in range(5))
    assert due == next(one for one in nexts if one > datetime.now(one.tzinfo) and one.weekday() < 5)
    played.wait(system, "exported wednesday")


@pytest.mark.parametrize("system", SYSTEMS)
def test_a_job_that_fails_is_tried_again(played: Played, system: str) -> None:
    played.wait(system, "loaded in attempt 3")


@pytest.mark.parametrize("system", SYSTEMS)
def test_the_same_job_waits_once(played: Played, system: str) -> None:
    assert played.given(system, "unique")[1] == "None"
    assert played.given(system, "unique", count=2)[1] == ("DuplicateJobError" if system == "rq" else "None")
    played.wait(system, "exported tuesday")  # two seconds later
    assert len(played.wait(system, "rebuilt 42")) == 1


@pytest.mark.parametrize("system", SYSTEMS)
def test_two_run_at_once_at_most(played: Played, system: str) -> None:
    at_once = {int(found[1]) for found in played.wait(system, r"converted \d, (\d) at once", count=4)}
    assert max(at_once) == (1 if system == "rq" else 2)


@pytest.mark.parametrize("system", SYSTEMS)
def test_the_result_comes_back(played: Played, system: str) -> None:
    assert played.given(system, "result")[1] == "6"


@pytest.mark.parametrize("system", SYSTEMS)
def test_progress_is_seen_while_the_job_runs(played: Played, system: str) -> None:
    assert re.fullmatch(r"[\[(]\d(\.0)?, 9(\.0)?[\])]", played.given(system, "progress")[1])


def test_the_tests_of_each_pass(played: Played) -> None:
    assert played.tests.wait(timeout=PATIENCE) == 0, played.tests.transcript()
    played.tests.wait_for(rf"^{len(SYSTEMS)} passed")


@pytest.mark.parametrize("task", TASKS)
def test_workkit_is_never_the_longest(task: str) -> None:
    ours, *others = (length(tasks_of(system)[task][1]) for system in COMPARED)
    assert ours < max(others)


@pytest.mark.parametrize("page", ["celery", "rq"])
def test_a_module_moves_by_its_imports_its_queue_and_its_decorators(page: str) -> None:
    before, after, *_ = (
        part.text for part in parts_of(ROOT / "docs" / "moving" / f"{page}.md") if part.kind == "python"
    )
    changed = re.compile(r"(from|import|@|app =|connection =|s =) ?")
    kept = [[line for line in text.splitlines() if line and not changed.match(line)] for text in (before, after)]
    assert kept[0] == kept[1]
    assert any(".delay(" in line for line in kept[0])
