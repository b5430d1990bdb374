"""README.md as a reader takes it: every block from top to bottom, in the folder that it names, on a real server."""

from __future__ import annotations

import json
import os
import re
import shlex
import shutil
import signal
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

import pytest
import redis

from tests.processes import ROOT, Processes, until
from tests.servers import Server
from workkit import schedule

README = (ROOT / "README.md").read_text(encoding="utf-8")
URL = "redis://127.0.0.1:6379/"
BLOCK = re.compile(r"^```(\w*)\n(.*?)^```$|^    (\S[^\n]*)$", re.MULTILINE | re.DOTALL)
INLINE = re.compile(r"`(?:PYTHONPATH=\S+ )?(workkit [^`]+)`")
OF_CI = "python3 -m venv"  # these lines .ci/run runs as they stand
BLOCKING = "schedule.listen(s)\n"
DRIVER = """
import json, sys
if __name__ == "__main__":
    for line in sys.stdin:
        exec(compile(json.loads(line), "README.md", "exec"), globals())
        print("block over", flush=True)
"""


class Part(NamedTuple):
    """A block of the page: its language, or "line"; and its text."""

    kind: str
    text: str


PARTS = [Part(found[1] or ("line" if found[3] else ""), found[3] or found[2]) for found in BLOCK.finditer(README)]


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return Path(shutil.copytree(ROOT / "examples" / "readme", tmp_path / "readme"))


def test_the_page_has_blocks_of_every_kind() -> None:
    kinds = [part.kind for part in PARTS]
    assert kinds.count("python") >= 7
    assert {"toml", "", "line"} < set(kinds)
    assert README.index("## Listening") < README.index("| keyword of `add`")


def test_every_block_runs_from_top_to_bottom(processes: Processes, own_server: Server, folder: Path) -> None:
    env = {"WORKKIT_REDIS_URL": own_server.url}
    (folder / "program.py").write_text(DRIVER)
    program = processes.run(sys.executable, "program.py", cwd=folder, env=env)
    s = schedule.create("app-tasks", redis=own_server.url)
    over = 0
    for part in PARTS:
        if part.kind == "python":
            program.tell(json.dumps(part.text.replace(URL, own_server.url)))
            over += 1
            if part.text == BLOCKING:
                until(lambda: schedule.listeners(s), what="the listener of the program")
                program.send(signal.SIGINT)
            program.wait_for(r"^block over$", count=over, timeout=60)
        elif part.kind == "toml":
            assert part.text == (folder / "plan.toml").read_text()
        elif part.kind == "line" and part.text.startswith("workkit "):
            command(processes, part.text, folder, env)
        elif part.kind == "" and part.text.startswith("workkit "):
            for line in part.text.splitlines():
                command(processes, line, folder, env)
        elif part.kind == "" and part.text.startswith("error: "):
            words = shlex.split(part.text.rpartition("Try: workkit ")[2].rstrip(".\n"))
            tried = processes.workkit("next", part.text.split('"')[1], cwd=folder, env=env)
            assert (tried.wait(), tried.err[0]) == (2, part.text.rstrip("\n"))
            assert processes.workkit(*words, cwd=folder, env=env).wait() == 0
        else:
            assert part.text.startswith((OF_CI, "ACL ")), part
    assert not [line for line in program.err if "Traceback" in line], program.transcript()
    names = {job.name for job in schedule.jobs(s) if job.name}
    assert names == set()  # the page cancels them all


def command(processes: Processes, line: str, folder: Path, env: dict[str, str]) -> None:
    """Run one command line of the page; what listens is stopped as soon as it does."""
    words = shlex.split(line)[1:]
    ran = processes.workkit(*words, cwd=folder, env=env | {"WORKKIT_WEB_BIND": "127.0.0.1:0"})
    if words[0] in ("listen", "web"):
        ran.wait_for(r"\blistening\b")
        ran.send(signal.SIGINT)
    assert ran.wait() == 0, ran.transcript()


def test_every_command_in_the_text_is_one_that_there_is(processes: Processes, server: Server, folder: Path) -> None:
    lines = [line for line in dict.fromkeys(INLINE.findall(README)) if " " in line]
    assert len(lines) > 8
    env = {"WORKKIT_REDIS_URL": server.url, "PYTHONPATH": f"{ROOT}{os.pathsep}src"}
    for line in lines:
        words = shlex.split(line)[1:]
        if words == ["demo", "--web"]:
            words = ["demo", "--help"]
        if words[0] == "forward":
            words.append("--burst")
        if words[0] in ("listen", "web") or len(words) == 1 or "--to-amqp" in words:
            words = [words[0], "--help"]
        ran = processes.workkit(*words, cwd=folder, env=env)
        assert ran.wait() in (0, 1), ran.transcript()
        assert not any("has no" in text for text in ran.err), ran.transcript()


# The rights on the server that the page names.


@pytest.fixture
def limited(own_server: Server) -> Iterator[tuple[Server, Any]]:
    """A server with the user that the page tells to make."""
    line = next(part.text for part in PARTS if part.text.startswith("ACL SETUSER")).strip()
    with redis.Redis.from_url(own_server.url) as client:
        assert client.execute_command(*line.replace("PASSWORD", "pw").split())
        yield own_server, client


def test_the_rights_suffice_to_add_listen_and_look(
    limited: tuple[Server, Any], processes: Processes, folder: Path
) -> None:
    server, client = limited
    url = f"redis://workkit:pw@127.0.0.1:{server.port}/0"
    env = {"WORKKIT_REDIS_URL": url}
    s = schedule.create("app-tasks", redis=url, limit=5, rate="100/second")
    schedule.add(s, "app.mail:poll", every="second", name="poll", overlap="skip")
    schedule.add_now(s, "app.users:activate", args=["tracy@domain.com"], unique_key="a", priority=2, retries=1)
    schedule.add_now(s, "app.users:activate", args=["not", "this"], retries=1, base="1h")
    schedule.add_now(s, "app.cache:clear", debounce="1s")
    schedule.add_now(s, "nowhere:f")
    listener = processes.workkit("listen", "app-tasks", cwd=folder, env=env)
    listener.wait_for("mail fetched", count=2)
    listener.wait_for("tracy@domain.com is active")
    listener.wait_for("cache cleared")
    for lines in (["pause S poll"], ["resume S poll"], ["skip S poll"], ["run S poll"],
                  ["list S", "stats S", "listeners S", "dead S", "show S poll", "wire verify S"],
                  ["sync S plan.toml --prune"]):  # fmt: skip
        ran = [processes.workkit(*line.replace(" S", " app-tasks").split(), cwd=folder, env=env) for line in lines]
        assert [one.wait() for one in ran] == [0] * len(lines), lines
    listener.send(signal.SIGTERM)
    assert listener.wait() == 0
    assert not [line for line in listener.err if "may not" in line and "nowhere" not in line]
    denied = client.execute_command("ACL", "LOG")
    assert denied == []


def test_the_rights_reach_no_other_keys_and_no_dangerous_command(limited: tuple[Server, Any]) -> None:
    server, _ = limited
    with redis.Redis.from_url(f"redis://workkit:pw@127.0.0.1:{server.port}/0") as client:
        for words in (("GET", "other"), ("FLUSHALL",), ("CONFIG", "GET", "*"), ("KEYS", "*"), ("SHUTDOWN",)):
            with pytest.raises(redis.exceptions.NoPermissionError):
                client.execute_command(*words)


def test_the_doctor_works_with_the_rights_that_it_is_said_to_need(
    limited: tuple[Server, Any], processes: Processes, folder: Path
) -> None:
    server, client = limited
    more = re.search(r"`workkit doctor` also reads the server's settings: `([^`]+)`", README)
    assert more
    client.execute_command("ACL", "SETUSER", "workkit", *more[1].split())
    client.config_set("appendonly", "yes")
    env = {"WORKKIT_REDIS_URL": f"redis://workkit:pw@127.0.0.1:{server.port}/0"}
    doctor = processes.workkit("doctor", "app-tasks", cwd=folder, env=env)
    doctor.wait()
    assert client.execute_command("ACL", "LOG") == [], doctor.transcript()
