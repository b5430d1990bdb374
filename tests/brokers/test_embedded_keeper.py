from __future__ import annotations

import fcntl
import os
import signal
import sys
from pathlib import Path

import pytest

from tests.embedding import client_of, ended, leave, user
from tests.processes import Processes, is_alive, parent_of
from tests.servers import program
from workkit.brokers.embedded import keeper as embedded_keeper
from workkit.brokers.embedded.attachment import attach


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    program("valkey")
    return tmp_path / "private"


def test_a_killed_user_does_not_keep_the_server(folder: Path, processes: Processes) -> None:
    process, pid, _ = user(processes, folder)
    process.send(signal.SIGKILL)
    process.wait()
    ended(pid)
    process, _, visits = user(processes, folder)
    assert visits == 2
    leave(process)


def test_a_killed_user_does_not_take_the_server_from_others(folder: Path, processes: Processes) -> None:
    one, pid, _ = user(processes, folder)
    two, _, _ = user(processes, folder)
    one.send(signal.SIGKILL)
    one.wait()
    three, same, visits = user(processes, folder)
    assert (same, visits) == (pid, 3)
    leave(two)
    assert is_alive(pid)
    leave(three)
    assert not is_alive(pid)


def test_ctrl_c_ends_a_user_and_not_the_server(folder: Path, processes: Processes) -> None:
    one, pid, _ = user(processes, folder)
    two, _, _ = user(processes, folder)
    one.send(signal.SIGINT)
    assert one.wait() != 0
    assert is_alive(pid)
    leave(two)


def test_attach_after_everything_was_killed(folder: Path, processes: Processes) -> None:
    process, pid, _ = user(processes, folder)
    keeper = parent_of(pid)
    for victim in (keeper, pid, process.pid):
        os.kill(victim, signal.SIGKILL)
    process.wait()
    ended(pid)
    assert list(folder.glob("*.sock")), "a stale socket is part of this test"
    with attach(folder) as server, client_of(server) as client:
        assert client.get("visits") == b"1"


def test_a_server_whose_keeper_was_killed_is_found_and_stopped_by_the_last_user(
    folder: Path, processes: Processes
) -> None:
    one, pid, _ = user(processes, folder)
    os.kill(parent_of(pid), signal.SIGKILL)
    one.send(signal.SIGKILL)
    one.wait()
    assert is_alive(pid)
    two, same, visits = user(processes, folder)
    assert (same, visits) == (pid, 2)
    leave(two)
    ended(pid)


def keep(processes: Processes, folder: Path, *command: str) -> Path:
    """Run the keeper alone until it ends, which closes its output; return its log."""
    users, log = folder / "users.lock", folder / "server.log"
    with users.open("w") as held:
        fcntl.flock(held, fcntl.LOCK_SH)
        processes.run(sys.executable, "-I", "-S", embedded_keeper.__file__, str(users), str(log), *command).wait()
    return log


def test_the_keeper_bounds_the_log(tmp_path: Path, processes: Processes) -> None:
    log = keep(processes, tmp_path, "/bin/sh", "-c", f"yes words | head -c {5 * embedded_keeper.LOG_BYTES}")
    sizes = [path.stat().st_size for path in (log, Path(f"{log}.old"))]
    assert all(0 < size <= embedded_keeper.LOG_BYTES + 65536 for size in sizes), sizes


def test_the_keeper_says_why_a_program_does_not_run(tmp_path: Path, processes: Processes) -> None:
    assert keep(processes, tmp_path, "/nowhere").read_text() == "/nowhere: No such file or directory\n"
