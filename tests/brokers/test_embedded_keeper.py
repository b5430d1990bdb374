from __future__ import annotations

import fcntl
import os
import signal
import sys
from pathlib import Path

import pytest

from tests.embedding import client_of, ended, flushed, leave, user
from tests.fleets import try_groups
from tests.processes import Processes, is_alive, parent_of, until
from tests.servers import program
from workkit import schedule
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


def test_batches_chains_and_after_work_on_a_private_server(folder: Path, name: str, processes: Processes) -> None:
    try_groups(f"embedded://{folder}", f"--embedded={folder}", name=name, processes=processes)


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


def test_listeners_start_a_server_that_was_killed_again_and_one_of_them_says_so(
    folder: Path, processes: Processes, tmp_path: Path
) -> None:
    (tmp_path / "app.py").write_text("def hi(n):\n    print('ran', n, flush=True)\n")
    url = f"embedded://{folder}"
    listeners = [processes.workkit("listen", "t", "--redis", url, cwd=tmp_path) for _ in range(2)]
    for listener in listeners:
        listener.wait_for(r"listening ")
    s = schedule.create("t", redis=url)
    waits = schedule.add(s, "app:hi", args=[1], in_="1 hour")
    with attach(folder) as server, client_of(server) as client:
        flushed(client)
    pid = server.pid
    os.kill(pid, signal.SIGKILL)
    ended(pid)
    for listener in listeners:
        listener.wait_for(r"  back ", timeout=60)
    says = [line for listener in listeners for line in listener.transcript().splitlines() if "  revived " in line]
    assert len(says) == 1, "one of them starts it; this process asks nothing meanwhile"
    with attach(folder) as server, client_of(server) as client:
        assert server.pid != pid
        assert [job.id for job in schedule.jobs(s)] == [waits.id]
    schedule.add_now(s, "app:hi", args=[2])
    until(lambda: any("ran 2" in listener.transcript() for listener in listeners))
