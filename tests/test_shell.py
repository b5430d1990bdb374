"""`workkit.shell:run`: commands as jobs. Real commands, real listeners."""

from __future__ import annotations

import asyncio
import os
import signal
import time
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from tests.processes import Processes, is_alive, until
from tests.servers import Server
from workkit import errors, schedule, shell
from workkit.shell import CommandFailed, run

SHELL: dict[str, Any] = {"imports": ["workkit.shell"], "folder": None}
LOOP = "trap 'echo ended >> {file}; exit' TERM; echo $$ >> {file}; sleep 300 & echo $! >> {file}; wait"


def ran(command: Any, **how: Any) -> dict[str, Any]:
    return asyncio.run(run(command, **how))


@pytest.mark.parametrize(
    ("command", "how", "stdout"),
    [
        (["printf", "%s|", "a b", "$HOME", ";"], {}, "a b|$HOME|;|"),
        ("printf '%s|' a $((1 + 1)) | tr '|' '-'", {"shell": True}, "a-2-"),
        ("echo ${BASH_VERSION:+bash}", {"shell": True, "env": {"SHELL": "/bin/bash"}}, "bash\n"),
        (["cat"], {"stdin": "one\ntwo"}, "one\ntwo"),
        (["cat"], {}, ""),
        (["true"], {"stdin": "x" * 1_000_000}, ""),  # it reads nothing of its stdin
        (["pwd"], {"cwd": "/"}, "/\n"),
        ("echo $A-$WORKKIT_SECRET", {"shell": True, "env": {"A": "b"}}, "b-\n"),
        ("echo $WORKKIT_SECRET", {"shell": True}, "hidden\n"),
        ("cd ~ && pwd", {"shell": True, "env": {"HOME": "/tmp"}}, "/tmp\n"),
        ("printf 'a\\377b'", {"shell": True}, "a\N{REPLACEMENT CHARACTER}b"),
    ],
)
def test_a_command_runs_as_it_is_given(
    command: Any, how: dict[str, Any], stdout: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("WORKKIT_SECRET", "hidden")
    assert ran(command, **how) == {"status": 0, "stdout": stdout, "stderr": ""}


def test_home_is_a_folder_to_start_in() -> None:
    home = os.path.expanduser("~")
    assert ran(["pwd"], cwd="~", env={"PATH": "/usr/bin:/bin"})["stdout"] == f"{os.path.realpath(home)}\n"


def test_output_is_bounded_to_its_end() -> None:
    found = ran("yes | head -c 5000000; echo end; echo err >&2", shell=True)
    assert len(found["stdout"]) == shell.MOST_OUTPUT
    assert found["stdout"].endswith("y\nend\n")
    assert found["stderr"] == "err\n"


def test_a_status_fails_unless_it_is_not_checked() -> None:
    with pytest.raises(CommandFailed, match=r"\Amktemp ended with status 1: mktemp: .*/nowhere/") as failed:
        ran(["mktemp", "/nowhere/XXX"], env={"PATH": "/usr/bin:/bin"})
    assert failed.value.status == 1
    assert ran("exit 3", shell=True, check=False)["status"] == 3
    with pytest.raises(CommandFailed, match=r"was ended by SIGKILL\.\Z") as failed:
        ran("kill -9 $$", shell=True)
    assert failed.value.status == -9


def test_a_failure_has_the_last_lines_of_stderr() -> None:
    with pytest.raises(CommandFailed) as failed:
        ran("seq 1000 >&2; exit 1", shell=True)
    assert str(failed.value).startswith("seq 1000 >&2; exit 1 ended with status 1: ...")
    assert str(failed.value).endswith("\n998\n999\n1000")
    assert 900 < len(str(failed.value)) <= errors.MOST_TEXT


@pytest.mark.parametrize(
    ("command", "how", "trouble"),
    [
        (["/nowhere/backup"], {}, r"\A/nowhere/backup cannot be started: no such file or directory\.\Z"),
        (["true"], {"cwd": "/nowhere"}, r"\Atrue: /nowhere cannot be started: no such file or directory\.\Z"),
        (["/etc/passwd"], {}, r"\A/etc/passwd cannot be started: permission denied\.\Z"),
        (["a\0b"], {}, r"\A'a\\x00b' cannot be started: embedded null byte\.\Z"),
        (["true"], {"user": "nobody-here"}, r'\Auser="nobody-here" is no user of this machine\.\Z'),
    ],
)
def test_what_cannot_be_started_says_why(command: Any, how: dict[str, Any], trouble: str) -> None:
    with pytest.raises(CommandFailed, match=trouble) as failed:
        ran(command, **how)
    assert failed.value.status is None


@pytest.mark.parametrize("given", [("echo a",), ([],), (["a"], True), ("", True), ([1],)])
def test_words_and_text_are_not_confused(given: tuple[Any, ...]) -> None:
    with pytest.raises(errors.InvalidArguments, match=r"is no command\. W"):
        ran(given[0], shell=len(given) > 1)


@pytest.mark.skipif(os.geteuid() != 0, reason="only root runs commands as somebody else")
def test_a_command_of_another_user_has_its_rights_and_home() -> None:
    found = ran("id -un; id -Gn; echo $USER $LOGNAME", shell=True, user="nobody", env={}, cwd="/")
    assert found["stdout"] == "nobody\nnogroup\nnobody nobody\n"


def pids(file: Path) -> list[int]:
    return [int(line) for line in file.read_text().split() if line.isdigit()] if file.exists() else []


def ended(file: Path) -> bool:
    return "ended" in file.read_text() and not any(map(is_alive, pids(file)))


def test_only_a_listener_that_imports_it_runs_commands(
    server: Server, name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(Path(shell.__file__).parents[1])  # workkit under the folder is not yet an import
    s = schedule.create(name, redis=server.url)
    job = schedule.add_now(s, "workkit.shell:run", args=[["echo", "hello"]], keep="1m")
    hows: list[dict[str, Any]] = [{"folder": Path.cwd()}, {"imports": ["tests.handlers"]}]
    for how in hows:
        assert schedule.drain(s, **how).ran == 0
    assert schedule.drain(s, **SHELL).ran == 1
    assert schedule.result(s, job) == {"status": 0, "stdout": "hello\n", "stderr": ""}


def test_a_timeout_and_a_cancellation_end_the_whole_group(server: Server, name: str, tmp_path: Path) -> None:
    s = schedule.create(name, redis=server.url)
    late, cancelled = tmp_path / "late", tmp_path / "cancelled"
    with schedule.listener(s, **SHELL):
        call: dict[str, Any] = {"kwargs": {"shell": True}}
        schedule.add_now(s, "workkit.shell:run", args=[LOOP.format(file=late)], timeout="5s", **call)
        job = schedule.add_now(s, "workkit.shell:run", args=[LOOP.format(file=cancelled)], **call)
        until(lambda: len(pids(cancelled)) == 2)
        schedule.cancel(s, job)
        for file in (late, cancelled):
            until(partial(ended, file), what=f"the end of {file.name}")
        (dead,) = until(lambda: list(schedule.jobs(s, state="dead")))
    assert dead.error is not None
    assert dead.error.startswith("JobTimeout: took longer than its timeout of 5 s")


@pytest.mark.parametrize("is_started", [True, False])
def test_a_command_that_ignores_the_first_signal_is_killed(
    is_started: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Also where the event loop of a busy machine has not yet taken up the process that it started."""
    monkeypatch.setattr(shell, "GRACE", 0.3)
    file = tmp_path / "pids"

    async def cancelled() -> None:
        text = f"trap '' TERM; echo $$ >> {file}; (trap '' TERM; sleep 300) & echo $! >> {file}; wait"
        task = asyncio.create_task(run(text, shell=True))
        for _ in range(3):  # far enough to have started the process
            await asyncio.sleep(0)
        while len(pids(file)) < 2:
            if is_started:
                await asyncio.sleep(0.01)
            else:
                time.sleep(0.01)  # the loop stands still
        task.cancel()
        await asyncio.wait({task}, timeout=30)
        assert task.cancelled()

    asyncio.run(cancelled())
    until(lambda: not any(map(is_alive, pids(file))))


def test_a_listener_that_stops_leaves_no_command_behind(
    server: Server, name: str, tmp_path: Path, processes: Processes
) -> None:
    file = tmp_path / "pids"
    s = schedule.create(name, redis=server.url)
    schedule.add_now(s, "workkit.shell:run", args=[LOOP.format(file=file)], kwargs={"shell": True})
    words = ["listen", name, "--redis", server.url, "--import", "workkit.shell", "--deadline", "1s"]
    listener = processes.workkit(*words)
    until(lambda: len(pids(file)) == 2)
    listener.send(signal.SIGTERM)
    assert listener.wait() == 0
    assert not any(map(is_alive, pids(file)))
    assert "ended" in file.read_text()
    assert schedule.counts(s).due == 1
