"""A beat schedule and a crontab are moved with the commands of the pages in `docs/moving`, in their order, and nothing
else. Then each job fires for a week when the engine of its source says, and runs.
"""

from __future__ import annotations

import importlib.util
import shlex
from collections.abc import Iterator, Mapping, Sequence
from datetime import UTC, datetime, timedelta
from itertools import pairwise, takewhile
from pathlib import Path
from typing import Any
from zoneinfo import ZoneInfo

from tests.docs.page import parts_of, steps_of
from tests.optional import needed
from tests.processes import ROOT, Process, Processes, until
from tests.servers import Server
from workkit import schedule
from workkit.triggers.crons.grammars import NICKNAMES

PAGES = ROOT / "docs" / "moving"
SCHEDULE = "app-tasks"
ZONE = "Europe/Paris"
BASE = datetime(2027, 1, 11, 6, 30, tzinfo=UTC)  # clocks do not change in the week that follows
WEEK = timedelta(days=7)
BEAT = """
from celery import Celery
from celery.schedules import crontab

app = Celery("shop", broker="memory://")
app.conf.timezone = "Europe/Paris"

def tick(word="tick"):
    print(f"the task says {word}", flush=True)

def digest(to, copies=1):
    print(to, copies, flush=True)

@app.task(bind=True)
def bound(self): ...

app.task(name="tick")(tick)
app.task(name="digest")(digest)

app.conf.beat_schedule = {
    "tick": {"task": "tick", "schedule": 2.0, "args": ("tock",)},
    "hourly": {"task": "tick", "schedule": 3600.0},
    "digest": {"task": "digest", "schedule": crontab(0, 9, "mon-fri"), "args": ("all",), "kwargs": {"copies": 2}},
    "often": {"task": "tick", "schedule": crontab("*/20", "8-17"), "options": {"expires": 60}},
    "friday 15th": {"task": "tick", "schedule": crontab(30, 2, day_of_week="fri", day_of_month=15)},
    "lists": {"task": "tick", "schedule": crontab("5,35", "0,12", day_of_week="1,3,6")},
    "half": {"task": "tick", "schedule": 0.5},
    "bound": {"task": "shop.bound", "schedule": crontab(0, 0)},
}
""".replace("@app.task(bind=True)", '@app.task(bind=True, name="shop.bound")')
REFUSED_ENTRIES = ["half", "bound"]
CRONTAB = """\
MAILTO=ops@example.com
*/5 * * * * {folder}/tidy
0 3 * * * backup --full
15 4 * * 0 backup --weekly
30 2 1 * * bill
0 0 1,15 * 5 report
*/20 8-18 * * 1-5 poll >> poll.log 2>&1
0 9-17/2 * * mon-fri ping -c 1 host
@hourly rotate
@daily find /tmp/shop -mtime +7 -delete
@weekly vacuum
@monthly archive
5,35 * * * * sync-mail
45 23 * jan,feb * close-day
10 6 12-16 * * audit
0 12 * * 1,3 lunch
59 23 31 12 * fireworks
7 */6 * * * probe
0 22 * * 1-4 echo 100\\% | mail ops
@reboot start
20 5 * * 2-4/2 trim
"""
REFUSED_LINES = ["@reboot start"]


class Move:
    """A move in a folder: the commands of a page, one after the other."""

    def __init__(self, page: str, folder: Path, *, processes: Processes, server: Server) -> None:
        blocks = [part for part in parts_of(PAGES / page) if part.kind == "console" and not part.reason]
        before_going_back = (PAGES / page).read_text().partition("\n## Go back")[0].count("\n")
        self.commands = [
            step.command
            for part in blocks
            if part.line < before_going_back
            for step in steps_of(part.text)
            if "timers" not in step.command
        ]
        self.folder = folder
        self.processes = processes
        self.env = {"WORKKIT_REDIS_URL": server.url}
        self.ran: list[tuple[str, Process]] = []

    def make(self) -> None:
        """Run the commands; the one that listens goes on."""
        for command in self.commands:
            line, _, into = command.partition(" > ")
            program, *words = shlex.split(line)
            assert program == "workkit"
            process = self.processes.workkit(*words, cwd=self.folder, env=self.env)
            self.ran.append((words[0], process))
            if words[0] == "listen":
                process.wait_for("listening")
                continue
            status = process.wait()
            assert status == 0 or (status == 1 and words[0] in ("import", "doctor")), process.transcript()
            if into:
                (self.folder / into).write_text("".join(f"{text}\n" for text in process.out))

    def of(self, verb: str) -> list[Process]:
        """The processes of a verb."""
        return [process for name, process in self.ran if name == verb]


def fires(job: Any) -> list[datetime]:
    """List the times of a job in the week."""
    times: list[datetime] = []
    at = BASE
    while (at := job.trigger.next_after(at)) is not None and at < BASE + WEEK:
        times.append(at)
    return times


def beat_times(entry: Mapping[str, Any], app: Any) -> Iterator[datetime]:
    """Ask a schedule of Celery, as beat does, how long it is from a run to the next."""
    rule, at = entry["schedule"], BASE
    rule.app = app
    while True:
        rule.nowfun = lambda now=at: now
        due, seconds = rule.is_due(at)
        assert not due
        at = at.astimezone(UTC) + timedelta(seconds=seconds)
        yield at


def cron_times(line: str) -> Iterator[datetime]:
    """Ask cronsim, which follows Debian's cron."""
    words = line.split()
    fields = NICKNAMES.get(words[0]) or " ".join(words[:5])
    for at in needed("cronsim").CronSim(fields, BASE.astimezone(ZoneInfo(ZONE))):
        yield at.astimezone(UTC)


def in_week(times: Iterator[datetime]) -> list[datetime]:
    return list(takewhile(lambda at: at < BASE + WEEK, times))


def refusals(process: Process) -> list[str]:
    return [line for line in process.err if line.startswith("refused: ")]


def assert_synced_once(move: Move, added: int) -> None:
    """The plan was shown, then made so; the same command again changes nothing."""
    shown, made = move.of("sync")
    assert any(f"{added} added, in a new schedule (nothing was done" in line for line in shown.out)
    assert any(line.removesuffix(", in a new schedule") == f"{SCHEDULE}: {added} added" for line in made.out)
    again = move.processes.workkit("sync", SCHEDULE, "plan.toml", cwd=move.folder, env=move.env)
    assert again.wait() == 0
    assert any(line == f"{SCHEDULE}: {added} unchanged" for line in again.out)


def test_a_beat_schedule_moves_with_the_commands_of_its_page(
    processes: Processes, server: Server, tmp_path: Path
) -> None:
    needed("celery")
    (tmp_path / "tasks.py").write_text(BEAT)
    move = Move("celery.md", tmp_path, processes=processes, server=server)
    move.make()
    assert [name for name, _ in move.ran][:5] == ["import", "import", "sync", "sync", "listen"]
    for process in move.of("import"):
        assert [line.split("'")[1] for line in refusals(process)] == REFUSED_ENTRIES

    spec = importlib.util.spec_from_file_location("moved_tasks", tmp_path / "tasks.py")
    assert spec is not None
    assert spec.loader is not None
    spec.loader.exec_module(module := importlib.util.module_from_spec(spec))
    entries = module.app.conf.beat_schedule
    jobs = {job.name: job for job in schedule.jobs(schedule.create(SCHEDULE, redis=server.url))}
    assert set(jobs) == set(entries) - {*REFUSED_ENTRIES}
    for name in ("digest", "often", "friday 15th", "lists"):
        expected = in_week(beat_times(entries[name], module.app))
        assert expected, f"{name} fires in no week that is compared"
        assert fires(jobs[name]) == expected, name
    for name, seconds in (("tick", 2), ("hourly", 3600)):  # an interval has no phase to keep
        assert {(b - a).total_seconds() for a, b in pairwise(fires(jobs[name]))} == {seconds}

    (listener,) = move.of("listen")
    listener.wait_for("^the task says tock$", count=2, timeout=20)
    assert_synced_once(move, len(jobs))


def test_a_crontab_of_twenty_lines_moves_with_the_commands_of_its_page(
    processes: Processes, server: Server, tmp_path: Path
) -> None:
    lines = CRONTAB.format(folder=tmp_path).splitlines()[1:]
    assert len(lines) == 20
    (tmp_path / "crontab.txt").write_text(CRONTAB.format(folder=tmp_path))
    tidy = tmp_path / "tidy"
    tidy.write_text(f"#!/bin/sh\necho tidied >> {tmp_path}/ran\n")
    tidy.chmod(0o755)
    move = Move("cron.md", tmp_path, processes=processes, server=server)
    move.make()
    assert [name for name, _ in move.ran] == ["import", "sync", "listen", "sync", "run", "list"]
    (imported,) = move.of("import")
    assert [line.partition(": ")[2].partition(": ")[2] for line in refusals(imported)] == REFUSED_LINES

    plan = (tmp_path / "plan.toml").read_text()
    jobs = {job.name: job for job in schedule.jobs(schedule.create(SCHEDULE, redis=server.url))}
    fired = 0
    for line in lines:
        if line in REFUSED_LINES:
            continue
        name = _entry_of(line, plan.splitlines())
        expected = in_week(cron_times(line))
        assert fires(jobs.pop(name)) == expected, line
        fired += bool(expected)
    assert not jobs
    assert fired >= 14
    until(lambda: (tmp_path / "ran").exists(), what="the run of tidy")
    assert_synced_once(move, len(lines) - len(REFUSED_LINES))


def _entry_of(line: str, plan: Sequence[str]) -> str:
    """The name of the entry below the comment that has a line of the crontab."""
    start = next(
        number for number, text in enumerate(plan) if text.startswith("# line ") and text.endswith(f": {line}")
    )
    return next(text for text in plan[start:] if text.startswith("[")).strip('[]"')
