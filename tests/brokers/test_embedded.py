from __future__ import annotations

import fcntl
import json
import os
import signal
import stat
import sys
import threading
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.embedding import USER, client_of, ended, flushed, leave, user
from tests.processes import Processes, is_alive
from tests.servers import program
from workkit.brokers.embedded import attachment
from workkit.brokers.embedded.attachment import EmbeddedServer, attach, temporary
from workkit.errors import EmbeddedError


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    program("valkey")
    return tmp_path / "private"


def test_attach_starts_a_server_for_this_user_alone_that_keeps_its_data(folder: Path) -> None:
    with attach(folder) as server, client_of(server) as client:
        info, config = client.info(), client.config_get("*")
        assert (server.pid, server.product, server.version) == (info["process_id"], "Valkey", info["valkey_version"])
        assert server.url.startswith("unix:///")
        expected = {"port": "0", "appendonly": "yes", "appendfsync": "everysec", "save": "", "dir": str(folder)}
        expected |= {"maxmemory-policy": "noeviction"}
        assert {option: config[option] for option in expected} == expected
        assert stat.S_IMODE(folder.stat().st_mode) == 0o700
        assert stat.S_IMODE(Path(config["unixsocket"]).stat().st_mode) == 0o700
        assert (folder / ".gitignore").read_text() == "*\n"
        assert os.getsid(server.pid) != os.getsid(0)
        assert os.getpgid(server.pid) != os.getpgid(0)


def test_close_of_the_last_attachment_stops_the_server_and_the_next_finds_the_data(folder: Path) -> None:
    one, two = attach(folder), attach(folder)
    assert one.pid == two.pid
    one.close()
    one.close()
    with client_of(two) as client:
        client.set("kept", "yes")
    two.close()
    assert not is_alive(two.pid)
    with attach(folder) as three, client_of(three) as client:
        assert three.pid != two.pid
        assert three.url == two.url
        assert client.get("kept") == b"yes"


def test_processes_share_a_server_and_the_last_one_stops_it(folder: Path, processes: Processes) -> None:
    one, pid, _ = user(processes, folder)
    two, same, visits = user(processes, folder)
    assert (same, visits) == (pid, 2)
    leave(one)
    assert is_alive(pid)
    leave(two)
    assert not is_alive(pid), "the last one to leave waits until the server has stopped"
    _, other, visits = user(processes, folder)
    assert (other != pid, visits) == (True, 3)


def test_attach_at_once_from_many_processes_starts_one_server(folder: Path, processes: Processes) -> None:
    users = [processes.python(USER, str(folder)) for _ in range(4)]
    matches = [process.wait_for(r"^attached (\d+) visit (\d+)$", timeout=20) for process in users]
    assert len({match[1] for match in matches}) == 1
    assert sorted(int(match[2]) for match in matches) == [1, 2, 3, 4]
    for process in users:
        process.tell("")
    assert [process.wait() for process in users] == [0, 0, 0, 0]
    ended(int(matches[0][1]))


def test_attach_from_many_threads_starts_one_server(folder: Path) -> None:
    servers: list[EmbeddedServer] = []
    threads = [threading.Thread(target=lambda: servers.append(attach(folder))) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len({server.pid for server in servers}) == 1
    for server in servers[:-1]:
        server.close()
    assert is_alive(servers[-1].pid)
    servers[-1].close()
    assert not is_alive(servers[-1].pid)


def test_attach_after_the_server_was_killed_brings_its_data_back(folder: Path) -> None:
    with attach(folder) as first, client_of(first) as client:
        client.set("kept", "yes")
        flushed(client)
        os.kill(first.pid, signal.SIGKILL)
        ended(first.pid)
        with attach(folder) as second:
            assert second.pid != first.pid
            assert second.url == first.url
            assert client.get("kept") == b"yes", "clients of the earlier attachment reach it again"
        assert is_alive(second.pid), "the first is still attached"
    assert not is_alive(second.pid)


def test_attach_waits_until_the_data_are_loaded(folder: Path) -> None:
    count = 200_000
    with attach(folder) as server, client_of(server) as client:
        client.eval(f"for i = 1, {count} do redis.call('SET', 'key' .. i, i) end", 0)
        flushed(client)
        os.kill(server.pid, signal.SIGKILL)
        ended(server.pid)
    with attach(folder) as server, client_of(server) as client:
        assert client.dbsize() == count


def test_attach_survives_a_last_write_that_was_cut_short(folder: Path) -> None:
    with attach(folder) as server, client_of(server) as client:
        client.set("kept", "yes")
    [written] = (folder / "appendonlydir").glob("*.incr.aof")
    with written.open("ab") as file:
        file.write(b"*3\r\n$3\r\nSET\r\n$4\r\nlo")
    with attach(folder) as server, client_of(server) as client:
        assert client.keys() == [b"kept"]


def fork(child: Callable[[], None]) -> int:
    """Fork, and let the child end as a Python process does: with its atexit functions."""
    pid = os.fork()
    if pid:
        return pid
    try:
        child()
        sys.stdout.flush()
        attachment._leave_all()
        os._exit(0)
    finally:
        os._exit(1)


@pytest.mark.filterwarnings("ignore:.*fork:DeprecationWarning")
def test_a_forked_child_does_not_leave_for_its_parent(folder: Path) -> None:
    def child() -> None:
        with attach(folder) as again:
            assert again.pid == server.pid

    with attach(folder) as server, client_of(server) as client:
        _, status = os.waitpid(fork(child), 0)
        assert status == 0
        assert client.ping()
    assert not is_alive(server.pid)


@pytest.mark.filterwarnings("ignore:.*fork:DeprecationWarning")
def test_a_forked_child_keeps_the_server_when_its_parent_leaves(folder: Path) -> None:
    told, tell = os.pipe()
    server = attach(folder)
    pid = fork(lambda: void(os.read(told, 1)))
    server.close()
    assert is_alive(server.pid)
    os.write(tell, b".")
    assert os.waitpid(pid, 0)[1] == 0
    ended(server.pid)
    os.close(told)
    os.close(tell)


def void(_: object) -> None:
    pass


@pytest.mark.filterwarnings("ignore:.*fork:DeprecationWarning")
def test_a_child_forked_while_another_thread_attaches_holds_nothing_up(folder: Path) -> None:
    told, tell = os.pipe()
    with attachment._mutex, attachment._opened(prepared(folder) / "gate.lock") as gate:
        fcntl.flock(gate, fcntl.LOCK_EX)
        pid = fork(lambda: void(os.read(told, 1)))
    try:
        with attach(folder):
            pass
    finally:
        os.write(tell, b".")
        os.waitpid(pid, 0)
        os.close(told)
        os.close(tell)


def prepared(folder: Path) -> Path:
    folder.mkdir(mode=0o700)
    return folder


@pytest.mark.parametrize("note", ["", "[]", "{", '{"product": "Valkey", "version": null, "socket": 5}'])
def test_attach_takes_an_unreadable_note_for_none(folder: Path, note: str) -> None:
    (prepared(folder) / "server.json").write_text(note)
    with attach(folder) as server:
        assert json.loads((folder / "server.json").read_text())["pid"] == server.pid


def test_attach_to_damaged_data_tells_what_the_server_said(folder: Path) -> None:
    with attach(folder) as server, client_of(server) as client:
        client.mset({f"key{number}": "x" * 50 for number in range(10)})
    [written] = (folder / "appendonlydir").glob("*.incr.aof")
    sound = written.read_bytes()
    written.write_bytes(sound.replace(b"*21", b"?21", 1))
    with pytest.raises(EmbeddedError) as caught:
        attach(folder)
    message = str(caught.value)
    assert "its server ended while it started: " in message
    assert "Bad file format reading the append only file" in message
    assert message.endswith('server.log, or name another folder: redis="embedded:///FOLDER".')
    assert "\n" not in message
    written.write_bytes(sound)
    with attach(folder) as server, client_of(server) as client:
        assert client.dbsize() == 10


def test_temporary_leaves_nothing_behind() -> None:
    with temporary() as one, temporary() as two:
        assert one.folder != two.folder
        with client_of(one) as client:
            client.set("key", "value")
        with client_of(two) as client:
            assert client.dbsize() == 0
    assert not is_alive(one.pid)
    assert not is_alive(two.pid)
    assert not one.folder.exists()
    assert not two.folder.exists()
