"""Plays a page: its Python in one program, its commands in the same folder, on a real server."""

from __future__ import annotations

import configparser
import json
import os
import re
import shlex
import signal
import subprocess
import sys
import tomllib
from collections.abc import Callable
from pathlib import Path

import yaml

from tests.docs.page import Part, Step, differs, pattern, steps_of
from tests.processes import Process, Processes, completed, until
from tests.rabbit import ADVANCED
from workkit import schedule

REDIS = "redis://127.0.0.1:6379/"  # the servers that pages name
AMQP = "amqp://guest:guest@127.0.0.1:5672/"
SCHEDULE = "app-tasks"
BLOCKING = "schedule.listen(s)\n"
LASTING = ("listen", "web", "forward", "demo")  # these commands go on until they are stopped
OF_CI = ("python3 -m venv", "ACL ")  # .ci/run and tests/test_readme.py try these
DRIVER = """
import json, sys
if __name__ == "__main__":
    for line in sys.stdin:
        exec(compile(json.loads(line), "the page", "exec"), globals())
        print("block over", flush=True)
"""


class Player:
    """One page at play. `redis` and `amqp` are the servers that take the place of those on the page."""

    def __init__(self, processes: Processes, folder: Path, *, redis: str, amqp: str = "") -> None:
        self.processes = processes
        self.folder = folder
        self.redis = redis
        self.amqp = amqp
        self.env = {
            "WORKKIT_REDIS_URL": redis,
            "WORKKIT_WEB_BIND": "127.0.0.1:0",
            "TZ": "UTC",  # rq-scheduler reads crons in the zone of the machine
            "PATH": f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}",  # `workkit` names itself so
        } | ({"WORKKIT_AMQP_URL": amqp} if amqp else {})
        self.program: Process | None = None
        self.lasting: list[Process] = []
        self._blocks = 0

    def play(self, part: Part) -> None:
        """Run a block, or read it, as its language says. Fails if it does not do what the page says."""
        if part.reason:
            return
        if part.file:
            (self.folder / part.file).parent.mkdir(exist_ok=True)
            (self.folder / part.file).write_text(part.text)
        elif part.kind == "python":
            self._run_python(part.text)
        elif part.kind == "console":
            for step in steps_of(part.text):
                self._run_step(step)
        if part.kind in READERS:
            READERS[part.kind](part.text)
        elif part.kind in ("", "line", "text") and not part.file:
            self._run_lines(part)
        elif part.kind not in ("python", "console") and not part.file:
            raise AssertionError(f"nothing runs {part.kind!r}; mark the block <!-- not run: REASON -->")

    def end(self) -> None:
        """Stop what goes on; all of it ends well."""
        for process in self.lasting:
            process.send(signal.SIGINT)
        for process in self.lasting:
            assert process.wait() == 0, process.transcript()
        if self.program is not None:
            assert not [line for line in self.program.err if "Traceback" in line], self.program.transcript()

    def _run_python(self, text: str) -> None:
        if self.program is None:
            (self.folder / "program.py").write_text(DRIVER)
            self.program = self.processes.run(sys.executable, "program.py", cwd=self.folder, env=self.env)
        self.program.tell(json.dumps(text.replace(REDIS, self.redis).replace(AMQP, self.amqp or AMQP)))
        self._blocks += 1
        if text.endswith(BLOCKING):
            s = schedule.create(SCHEDULE, redis=self.redis)
            pid = self.program.pid  # those of commands may listen too
            until(lambda: any(one.pid == pid for one in schedule.listeners(s)), what="the listener of the program")
            self.program.send(signal.SIGINT)
        self.program.wait_for(r"^block over$", count=self._blocks, timeout=60)

    def _run_step(self, step: Step) -> None:
        """Run a command, and compare what it prints. One that lasts goes on until the end of the page."""
        line, _, into = step.command.replace(REDIS, self.redis).partition(" > ")
        program, *words = shlex.split(line) or [""]
        if not program:
            return self._await(self.lasting[0], step)
        assert program in COMMANDS, f"{step.command}: mark the block <!-- not run: REASON -->"
        command = [*COMMANDS[program], *words]
        if program == "workkit" and words[0] in LASTING and not {"--help", "--burst"} & {*words}:
            self.lasting.append(self.processes.run(*command, cwd=self.folder, env=self.env))
            return self._await(self.lasting[-1], step)
        stderr = subprocess.PIPE if into else subprocess.STDOUT
        is_warm = program == "workkit"  # pytest complains of modules that it finds imported
        ran = completed(*command, cwd=self.folder, env=self.env, stderr=stderr, timeout=120, is_warm=is_warm)
        if into:
            (self.folder / into).write_text(ran.stdout)
        shown = ran.stderr if into else ran.stdout  # what a terminal shows
        missing = differs(step.output, shown.splitlines())
        assert not missing, f"$ {step.command}\n{shown}\nThe page has: {missing}"
        fails = any(line.startswith(("error:", "refused:")) for line in step.output)
        finds = program == "workkit" and words[0] == "doctor"  # 1: it has findings
        assert bool(ran.returncode) is fails or (finds and ran.returncode == 1), f"$ {step.command}\n{shown}"
        return None

    def _await(self, process: Process, step: Step) -> None:
        for line in step.output:
            if line.strip() != "...":
                process.wait_for(rf"^{pattern(line)}\s*$")

    def _run_lines(self, part: Part) -> None:
        """Run the lines of a block without prompts that begin with `workkit`; try what an error advises."""
        if part.text.startswith("workkit "):
            for line in part.text.splitlines():
                words = shlex.split(line)[1:]
                ran = self.processes.workkit(*words, cwd=self.folder, env=self.env)
                if words[0] in LASTING:
                    ran.wait_for(r"\blistening\b")
                    ran.send(signal.SIGINT)
                assert ran.wait() == 0, ran.transcript()
        elif part.text.startswith("error: "):
            words = shlex.split(part.text.rpartition("Try: workkit ")[2].rstrip(".\n"))
            tried = self.processes.workkit("next", part.text.split('"')[1], cwd=self.folder, env=self.env)
            assert (tried.wait(), tried.err[0]) == (2, part.text.rstrip("\n"))
            assert self.processes.workkit(*words, cwd=self.folder, env=self.env).wait() == 0
        else:
            assert part.text.startswith(OF_CI), part


def _read_ini(text: str) -> None:
    """Read it; lines without a section belong to one of their own."""
    read = configparser.ConfigParser(strict=False, interpolation=None)
    read.read_string(text if re.match(r"\s*\[", text) else f"[lines]\n{text}")
    assert read.sections()


def _compare_advanced(text: str) -> None:
    """It is what the brokers of the tests have, with another time."""
    assert re.sub(r"\d+", "N", text).strip() == re.sub(r"\d+", "N", ADVANCED)


COMMANDS = {"workkit": (sys.executable, "-m", "workkit"), "python": (sys.executable,)}
READERS: dict[str, Callable[[str], object]] = {
    "toml": tomllib.loads,
    "json": json.loads,
    "yaml": yaml.safe_load,
    "ini": _read_ini,
    "erlang": _compare_advanced,
}
