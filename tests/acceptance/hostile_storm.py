"""The hostile storm: two listeners and all commands, while hostile values are written into every key. Good jobs run,
each once; nobody dies, nothing hangs, no command fails by a bug.

``python -m tests.acceptance.hostile_storm --values 20000 --seed 1``; exit status 0 where all held.
"""

from __future__ import annotations

import argparse
import json
import os
import signal
import sys
import tempfile
import time
import urllib.error
import urllib.request
from collections import Counter
from contextlib import closing, suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from tests.acceptance import soak_cast, soak_verdict
from tests.acceptance.hostile_commands import HERE, PLAN, Names, Ran, looked, run
from tests.acceptance.hostile_known import named, standing
from tests.acceptance.hostile_left import Left
from tests.acceptance.hostile_values import MAKERS, Aim, Source, Value
from tests.acceptance.soak_verdict import Incident, fenced
from tests.processes import Process, Processes, until
from tests.servers import Server, free_port, program
from workkit import schedule
from workkit.brokers.native.keys import Keys
from workkit.brokers.native.look import published

TICKS = ("tick-a", "tick-b", "tick-c")
ALLOWED = {  # in the end; a pause that can be read is one, whoever wrote it
    "no-append-file",
    "dead",
    "nobody-runs",
    "cron",
    "other-dialect",
    "overdue",
    "paused",
    "unclear",
    "versions",
}
REPAIR = 40.0  # seconds of repairs until nothing is found: listeners that are gone are reaped meanwhile
LISTEN = """
import logging, sys
from workkit import schedule
logging.basicConfig(level=logging.INFO, format="%(levelname)s %(message)s")
schedule.listen(schedule.create(sys.argv[1], redis=sys.argv[2]), imports=[sys.argv[3]], folder=None, threads=4,
                listener_timeout="5s", deadline="3s", health_port=int(sys.argv[4]))
"""


@dataclass(slots=True, kw_only=True)
class Report:
    """What came of it."""

    values: Counter[str] = field(default_factory=Counter)
    added: int = 0
    commands: int = 0
    slowest: tuple[float, str] = (0.0, "")
    deaths: int = 0
    hangs: int = 0
    bugs: int = 0  # commands that ended in status 70
    lost: list[int] = field(default_factory=list)
    twice: list[str] = field(default_factory=list)
    complaints: Counter[str] = field(default_factory=Counter)
    examples: dict[str, str] = field(default_factory=dict)  # the command that first led to a complaint
    first: list[Value] = field(default_factory=list)  # the values of the first batch that led to a complaint
    folder: Path = Path()
    seconds: float = 0.0

    def __str__(self) -> str:
        by_key = ", ".join(f"{name} {count}" for name, count in sorted(self.values.items()))
        lines = [
            f"values          {self.values.total():,}: {by_key}",
            f"commands        {self.commands:,}, the slowest {self.slowest[0]:.1f} s: {self.slowest[1]}",
            f"good jobs       {self.added:,} added, {len(self.lost)} lost {self.lost[:10] or ''}",
            f"run twice       {len(self.twice)} without a cause {self.twice[:3] or ''}",
            f"deaths          {self.deaths}",
            f"hangs           {self.hangs}",
            f"status 70       {self.bugs}",
            f"seconds         {self.seconds:.0f}",
        ]
        for complaint, count in self.complaints.most_common():
            lines += [f"wrong           {count} x {self.examples.get(complaint, '')}{complaint}"]
        if self.first:
            lines += [f"first went wrong in a batch of {len(self.first)} values (all batches: {self.folder}):"]
            lines += [f"  {value}"[:200] for value in self.first[:60]]
        return "\n".join(lines)


class Storm:
    """One storm on one server; `run` it."""

    def __init__(
        self, server: Server, *, name: str, folder: Path, seed: int, only: frozenset[str] = frozenset(MAKERS)
    ) -> None:
        self.server, self.name, self.folder = server, name, folder
        self.client, self.keys, self.source = server.client(), Keys(name), Source(seed=seed)
        self.only = only
        self.processes = Processes(folder)
        self.report = Report(folder=folder)
        self.listeners: list[Process] = []
        self._ports: list[int] = []
        self._labels: set[int] = set()
        self._incidents: list[Incident] = []
        self._written: list[Value] = []
        self._n = 0

    def run(self, count: int, *, batch: int = 500) -> Report:
        """Write so many values, in batches, each followed by good jobs and every command; then judge."""
        began = time.monotonic()
        with closing(self.processes):
            self._begin()
            for number in range(-(-count // batch)):
                self._batch(number, min(batch, count - number * batch))
            self._end()
        self.report.seconds = time.monotonic() - began
        return self.report

    def _begin(self) -> None:
        (self.folder / "plan.toml").write_text(PLAN)
        env = {soak_cast.FOLDER: str(self.folder)}
        self._ports = [free_port(), free_port()]
        options = ("--import", HERE, "--only-imports", "--threads", "4", "--deadline", "3s", "--redis", self.server.url)
        health = ("--health-port", str(self._ports[0]))
        self.listeners = [
            self.processes.workkit("listen", self.name, *options, *health, env=env),
            self.processes.python(LISTEN, self.name, self.server.url, HERE, str(self._ports[1]), env=env),
        ]
        s = schedule.create(self.name, redis=self.server.url)
        schedule.add(s, f"{HERE}:tick", every="second", args=[TICKS[0]])
        named = schedule.add(s, f"{HERE}:tick", every="second", args=[TICKS[1]], name=TICKS[1], overlap="skip")
        schedule.add(s, f"{HERE}:limited", every="second", args=[TICKS[2]], priority=1)
        self._good = Names(schedule=self.name, url=self.server.url, good=TICKS[1], good_id=named.id, folder=self.folder)
        until(lambda: all(self._ready(port) == 200 for port in self._ports), timeout=20, what="both listeners")
        until(lambda: self._ticked(0.0) == set(TICKS), what="the first tick of each")

    # One batch.

    def _batch(self, number: int, count: int) -> None:
        before = self.report.complaints.total()
        values = list(self.source.values(count, self._aim(has_fences=number % 8 == 1), only=self.only))
        aim = self._aim(has_fences=False)
        values = [value for value in ([] if number else named(aim)) + standing(aim) if value.name in self.only] + values
        (self.folder / f"batch-{number}").write_text("\n".join(map(repr, values)), encoding="utf-8", errors="replace")
        for value in values:
            self._write(value)
        self._add(number)
        for words in self._good.lines(number):
            self._note(run(*words))
        for complaint in looked(self.name, self.server.url):
            self.report.hangs += "Hang:" in complaint
            self._complain(complaint)
        for process in self.listeners:
            if not process.is_running:
                said = [line for line in process.lines if line and not line.startswith(" ")][-1:]
                self._complain(f"a listener has ended: {said}")
        if self.report.complaints.total() > before and not self.report.first:
            self.report.first = values

    def _write(self, value: Value) -> None:
        key = value.key(self.keys)
        value.write(self.client, key)
        self.report.values[value.name] += 1
        self._written.append(value)
        if value.fences in {process.pid for process in self.listeners}:
            self._incidents.append(fenced(value.fences))

    def _aim(self, *, has_fences: bool) -> Aim:
        seconds, micros = self.client.time()
        pids = {str(process.pid) for process in self.listeners}
        names = [raw.decode("utf-8", "replace") for raw in self.client.zrange(self.keys.listeners, 0, -1)]
        coming = range(self._n, self._n + 40)
        return Aim(
            now_ms=seconds * 1000 + micros // 1000,
            listeners=tuple(name for name in names if len(name.split(":")) == 3 and name.split(":")[1] in pids),
            limits=(f"fn:#'{HERE}/limited", f"over:{TICKS[1]}", *(f"unique:key-{n}" for n in coming)),
            names=tuple(f"good-{n}" for n in coming),
            uniques=tuple(f"key-{n}" for n in coming),
            has_fences=has_fences,
        )

    def _add(self, number: int) -> None:
        """Good jobs of every kind, by the command line; each counts once it is acknowledged."""
        s, verbs = self.name, ("note", "limited", "rated", "fails", "limited", "note")
        for verb in verbs:
            self._added(["now", s, f"{HERE}:{verb}"])
        self._added(["now", s, f"{HERE}:note"], "--name", "good-{}")
        self._added(["now", s, f"{HERE}:limited"], "--unique-key", "key-{}")
        self._added(["now", s, f"{HERE}:note"], "--name", "good-{}", "--unique-key", "key-{}", "--priority", "2")
        self._added(["now", s, f"{HERE}:note"], "--priority", "3")
        self._added(["add", s, "in 1 second", f"{HERE}:note"])
        self._added(["add", s, "in 1 second", f"{HERE}:note"], "--name", "good-{}", "--throttle", "1s")
        first = self._n
        rows = [{"fn": f"{HERE}:note", "at": "now", "args": [self._next()]} for _ in range(6)]
        file = self.folder / f"rows-{number}.jsonl"
        file.write_text("".join(json.dumps(row) + "\n" for row in rows))
        if self._note(run("add-many", s, str(file), "--redis", self.server.url), must=True):
            self._labels.update(range(first, self._n))

    def _added(self, words: list[str], *options: str) -> None:
        label = self._next()
        told = [option.format(label) for option in options]
        if self._note(run(*words, str(label), *told, "--redis", self.server.url), must=True):
            self._labels.add(label)

    def _next(self) -> int:
        self._n += 1
        return self._n - 1

    def _note(self, ran: Ran, *, must: bool = False) -> bool:
        """Whether it went well; with `must` nothing but status 0 will do."""
        self.report.commands += 1
        self.report.slowest = max(self.report.slowest, (ran.seconds, " ".join(ran.words[:4])))
        self.report.hangs += ran.is_hang
        self.report.bugs += ran.status == 70 and not ran.is_hang
        shown = " ".join(word for word in ran.words[:6] if word != self.server.url)
        if ran.complaint:
            self._complain(ran.complaint, example=f"workkit {shown}: ")
        elif must and ran.status:
            self._complain(f"a good job is refused, status {ran.status}: {ran.err[:300]}", example=f"workkit {shown}: ")
        return ran.status == 0

    def _complain(self, complaint: str, *, example: str = "") -> None:
        complaint = complaint.replace(self.server.url, "URL")
        self.report.complaints[complaint] += 1
        self.report.examples.setdefault(complaint, example)

    # How it ends.

    def _end(self) -> None:
        self._repaired(ALLOWED)
        self._settled()
        ended = [process for process in self.listeners if not process.is_running]
        self.report.deaths = len(ended)
        for place, port in enumerate(self._ports):
            if (status := self._ready(port)) != 200:
                self._complain(f"/readyz of listener {place} answers {status}")
        self._stop()
        for _ in range(2):  # what a repair hands back, a listener must take: nobody else ends it
            self._swept()
            self._repaired({*ALLOWED, "no-listener", "unread"})
        self._swept()
        about = self._repaired({*ALLOWED, "no-listener"})
        left = Left(client=self.client, keys=self.keys, about=about)
        stray = list(left.complaints(self._written))
        for name, count in Counter(value.name for value in stray).items():
            example = next(value for value in stray if value.name == name)
            self._complain(f"{count} values in {name} neither left nor were told, such as {example!r:.300}")
        self._judge()

    def _stop(self) -> None:
        """Both listeners end as they are told, and their logs are read."""
        for process in self.listeners:
            if process.is_running:
                process.send(signal.SIGTERM)
        for place, process in enumerate(self.listeners):
            try:
                status = process.wait(timeout=20)
            except AssertionError:
                self._complain(f"listener {place} does not end")
                continue
            if status:
                self._complain(f"listener {place} ended with status {status}")
        for place, process in enumerate(self.listeners):
            (self.folder / f"listener-{place}.log").write_text(process.transcript(), encoding="utf-8")
        logs = [line for process in self.listeners for line in process.lines]
        for word in ("Traceback", "itself failed", "status 70"):
            if found := [place for place, line in enumerate(logs) if word in line]:
                last = next((line for line in logs[found[0] + 1 :] if line and not line.startswith(" ")), "")
                self._complain(f'"{word}" stands {len(found)} times in the logs of the listeners, first: {last[:200]}')

    def _swept(self) -> None:
        """A third listener takes back what stands under the names of others, runs it, and ends."""
        env = {soak_cast.FOLDER: str(self.folder)}
        last = self.processes.python(LISTEN, self.name, self.server.url, HERE, str(free_port()), env=env)
        with suppress(AssertionError):  # who cannot be reaped is told of below
            mine = b":%d:" % last.pid
            until(
                lambda: [mine in name for name in self.client.zrange(self.keys.listeners, 0, -1)] == [True],
                timeout=REPAIR,
            )
        time.sleep(1.0)  # for what came back with the last of them
        last.send(signal.SIGTERM)
        try:
            status = last.wait(timeout=20)
        except AssertionError:
            status = -1
        if status:
            self._complain(f"a third listener ends with {status}: {last.transcript()[-300:]}")

    def _repaired(self, allowed: set[str]) -> frozenset[str]:
        """Repair until nothing is found that a repair could repair; what the last look told of."""
        findings: list[dict[str, Any]] = []
        until_at = time.monotonic() + REPAIR
        while time.monotonic() < until_at:
            ran = run("doctor", self.name, "--fix", "--yes", "--json", "--older-than", "1s", "--redis", self.server.url)
            if not self._note(ran) and ran.status != 1:
                break
            ran = run("doctor", self.name, "--json", "--older-than", "1s", "--redis", self.server.url)
            if ran.complaint or ran.status not in (0, 1):
                self._note(ran)
                break
            findings = json.loads(ran.out)
            if {finding["kind"] for finding in findings} <= allowed:
                break
            time.sleep(0.5)
        for finding in findings:
            if finding["kind"] not in allowed:
                self._complain(f"the doctor is not clean in the end: {finding['kind']}: {finding['what'][:160]}")
        return frozenset(one for finding in findings for one in finding["about"])

    def _settled(self) -> None:
        """Wait for every good job, and two more ticks of those that recur."""
        with suppress(AssertionError):  # told with their number
            until(lambda: not self._missing(), timeout=25)
        since = time.time()
        try:
            until(lambda: self._ticked(since, count=2) == set(TICKS), timeout=15)
        except AssertionError:
            self._complain(
                f"of those that recur, these tick no more: {sorted(set(TICKS) - self._ticked(since, count=2))}"
            )

    def _missing(self) -> list[int]:
        return soak_verdict.lost(self._labels, soak_verdict.read_runs(self.folder))

    def _ticked(self, since: float, *, count: int = 1) -> set[str]:
        runs: Counter[str] = Counter()
        for (label, *_), starts in soak_verdict.read_runs(self.folder).items():
            runs[label] += sum(start.at >= since for start in starts)
        return {label for label in TICKS if runs[label] >= count}

    def _judge(self) -> None:
        runs = soak_verdict.read_runs(self.folder)
        self.report.added = len(self._labels)
        self.report.lost = self._missing()
        _, self.report.twice = soak_verdict.repeated(runs, self._incidents)
        if self.report.lost:
            self._complain(f"{len(self.report.lost)} good jobs are lost")
        if self.report.twice:
            self._complain(f"{len(self.report.twice)} runs began twice without a cause")

    def _ready(self, port: int) -> int:
        try:
            with urllib.request.urlopen(f"http://127.0.0.1:{port}/readyz", timeout=5) as answer:
                return int(answer.status)
        except urllib.error.HTTPError as error:
            return error.code
        except OSError:
            return 0


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.acceptance.hostile_storm")
    parser.add_argument("--values", type=int, default=20_000)
    parser.add_argument("--batch", type=int, default=500)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--only", help="keys to write into, with commas between")
    parser.add_argument("--without", default="", help="keys to leave alone, with commas between")
    parser.add_argument("--product", choices=("redis", "valkey"), default="redis")
    given = parser.parse_args()
    vars(published)["MOMENT"] = 0.05
    for word in [word for word in os.environ if word.startswith("WORKKIT_")]:
        del os.environ[word]
    only = frozenset(given.only.split(",") if given.only else MAKERS) - frozenset(given.without.split(","))
    folder = Path(tempfile.mkdtemp(prefix="hostile-storm-"))
    (folder / "server").mkdir()
    print(f"seed {given.seed}, files in {folder}", flush=True)
    with closing(Server(program(given.product), folder=folder / "server", is_durable=True)) as server:
        server.start()
        storm = Storm(server, name="storm", folder=folder, seed=given.seed, only=only)
        report = storm.run(given.values, batch=given.batch)
    print(report)
    return 1 if report.complaints else 0


if __name__ == "__main__":
    sys.exit(main())
