"""README.md as a reader takes it: its commands, on a real server; and the rights that docs/operations.md names. Their
blocks run with those of the other pages: `tests/docs/test_snippets.py`.
"""

from __future__ import annotations

import os
import re
import shlex
import shutil
import signal
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import redis

from tests.docs.page import README, parts_of
from tests.processes import ROOT, Processes
from tests.servers import Server
from workkit import schedule

TEXT = README.read_text(encoding="utf-8")
OPERATIONS = ROOT / "docs" / "operations.md"
INLINE = re.compile(r"`(?:PYTHONPATH=\S+ )?(workkit [^`]+)`")


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return Path(shutil.copytree(ROOT / "examples" / "readme", tmp_path / "readme"))


def test_the_first_screen_says_what_it_is_and_the_page_stays_short() -> None:
    assert {"python", "console", "toml", "line"} <= {part.kind for part in parts_of(README)}
    first = TEXT.splitlines()[:35]
    assert any(line.startswith("![") for line in first)
    assert {"    workkit listen app-tasks", "    workkit web app-tasks"} <= {*first}
    assert len(TEXT.splitlines()) < 200


def test_every_command_in_the_text_is_one_that_there_is(processes: Processes, server: Server, folder: Path) -> None:
    lines = [line for line in dict.fromkeys(INLINE.findall(TEXT)) if " " in line]
    assert len(lines) > 4
    env = {"WORKKIT_REDIS_URL": server.url, "PYTHONPATH": f"{ROOT}{os.pathsep}src"}
    schedule.mark(schedule.create("app-tasks", redis=server.url), "begun")
    for line in lines:
        words = shlex.split(line)[1:]
        if words == ["demo", "--web"]:
            words = ["demo", "--help"]
        if words[0] in ("forward", "listen"):
            words.append("--burst")
        if words[0] == "web" or len(words) == 1 or "--to-amqp" in words:
            words = [words[0], "--help"]
        ran = processes.workkit(*words, cwd=folder, env=env)
        assert ran.wait() in (0, 1), ran.transcript()
        assert not any("has no" in text for text in ran.err), ran.transcript()
        if "--sync" in words:
            assert schedule.job(schedule.create("app-tasks", redis=server.url), "summary").fn == "#'app.jobs/summary"


# The rights on the server that the page names.


@pytest.fixture
def limited(own_server: Server) -> Iterator[tuple[Server, Any]]:
    """A server with the user that the page tells to make."""
    line = next(part.text for part in parts_of(OPERATIONS) if part.text.startswith("ACL SETUSER")).strip()
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
    more = re.search(
        r"`workkit doctor` also reads the server's settings: `([^`]+)`", OPERATIONS.read_text(encoding="utf-8")
    )
    assert more
    client.execute_command("ACL", "SETUSER", "workkit", *more[1].split())
    client.config_set("appendonly", "yes")
    env = {"WORKKIT_REDIS_URL": f"redis://workkit:pw@127.0.0.1:{server.port}/0"}
    doctor = processes.workkit("doctor", "app-tasks", cwd=folder, env=env)
    doctor.wait()
    assert client.execute_command("ACL", "LOG") == [], doctor.transcript()
