"""What systemd hears of a process, on a real socket: ready, alive, stopping."""

from __future__ import annotations

import os
import signal
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack
from pathlib import Path

import pytest

from tests.optional import needed
from tests.processes import Process, Processes, is_alive, until
from tests.servers import Server, free_port
from tests.service_manager import Notified
from workkit import events, schedule
from workkit.worker.service import ServiceManager, served, service_manager

Notify = Callable[..., Notified]


@pytest.fixture
def notify(tmp_path: Path) -> Iterator[Notify]:
    with ExitStack() as ends:

        def made(**how: float | bool | None) -> Notified:
            manager = Notified(tmp_path, **how)  # type: ignore[arg-type]
            ends.callback(manager.close)
            return manager

        yield made


def order(told: list[str]) -> list[str]:
    """Leave out what comes again and again, and STATUS."""
    return [said for said in told if said in ("READY=1", "STOPPING=1")]


def status(told: list[str]) -> str:
    return next(said.removeprefix("STATUS=") for said in reversed(told) if said.startswith("STATUS="))


def begun(processes: Processes, server: Server, *words: str, env: Mapping[str, str]) -> Process:
    return processes.workkit(*words, "--redis", server.url, env=env)


@pytest.mark.parametrize("is_abstract", [False, True])
def test_a_listener_tells_that_it_is_ready_alive_and_stopping(
    processes: Processes, server: Server, name: str, notify: Notify, is_abstract: bool
) -> None:
    manager = notify(watchdog_s=0.4, is_abstract=is_abstract)
    listener = begun(processes, server, "listen", name, "--deadline", "7s", env=manager.env)
    manager.wait_for("READY=1")
    assert schedule.listeners(schedule.create(name, redis=server.url))  # it is registered by then
    manager.wait_for("WATCHDOG=1", count=2)
    assert status(manager.told).startswith(f"listening {name} on redis://127.0.0.1:")
    listener.send(signal.SIGTERM)
    assert listener.wait() == 0
    until(lambda: status(manager.told).startswith("stopped"))
    assert order(manager.told) == ["READY=1", "STOPPING=1"]
    assert "EXTEND_TIMEOUT_USEC=17000000" in manager.told  # the deadline, and 10 s for the end


def test_a_listener_that_is_frozen_tells_nothing(
    processes: Processes, server: Server, name: str, notify: Notify
) -> None:
    manager = notify(watchdog_s=0.2)
    listener = begun(processes, server, "listen", name, env=manager.env)
    manager.wait_for("WATCHDOG=1", count=2)
    listener.send(signal.SIGSTOP)
    silent(manager)
    listener.send(signal.SIGCONT)
    manager.wait_for("WATCHDOG=1", count=manager.count("WATCHDOG=1") + 1)


def silent(manager: Notified) -> None:
    """Wait until nothing was told for a second, which is several beats."""
    until(lambda: _is_silent(manager), what="silence")


def _is_silent(manager: Notified) -> bool:
    before = manager.count("WATCHDOG=1")
    time.sleep(1.0)
    return manager.count("WATCHDOG=1") == before


def test_no_watchdog_is_told_of_while_the_loop_does_not_move(notify: Notify, monkeypatch: pytest.MonkeyPatch) -> None:
    manager = notify(watchdog_s=0.02)
    for variable, value in manager.env.items():
        monkeypatch.setenv(variable, value)
    trouble: list[str] = ["the loop has not moved for 30 s"]
    asked = threading.Semaphore(0)

    def live() -> str | None:
        asked.release()
        return trouble[0] if trouble else None

    with served(live):
        for _ in range(5):
            assert asked.acquire(timeout=30)
        assert manager.told == []
        trouble.clear()
        manager.wait_for("WATCHDOG=1")


def test_a_fleet_lives_as_long_as_one_of_its_processes(
    processes: Processes, server: Server, name: str, notify: Notify
) -> None:
    manager = notify(watchdog_s=0.4)
    s = schedule.create(name, redis=server.url)
    fleet = begun(processes, server, "listen", name, "--processes", "2", env=manager.env)
    manager.wait_for("READY=1")
    assert len(schedule.listeners(s)) == 2
    manager.wait_for("WATCHDOG=1", count=2)
    first, second = {info.pid for info in schedule.listeners(s)}
    os.kill(first, signal.SIGSTOP)
    manager.wait_for("WATCHDOG=1", count=manager.count("WATCHDOG=1") + 3)
    os.kill(second, signal.SIGSTOP)
    try:
        silent(manager)
    finally:
        os.kill(first, signal.SIGCONT)
        os.kill(second, signal.SIGCONT)
    manager.wait_for("WATCHDOG=1", count=manager.count("WATCHDOG=1") + 1)
    os.kill(first, signal.SIGKILL)
    manager.wait_for("WATCHDOG=1", count=manager.count("WATCHDOG=1") + 3)
    fleet.send(signal.SIGTERM)
    assert fleet.wait() == 0
    assert order(manager.told) == ["READY=1", "STOPPING=1"]
    until(lambda: not is_alive(second))


def test_a_forward_tells_too(processes: Processes, server: Server, name: str, notify: Notify) -> None:
    manager = notify()
    schedule.mark(schedule.create(name, redis=server.url), "begun")
    forward = begun(processes, server, "forward", name, "--to", f"{name}-there", env=manager.env)
    manager.wait_for("READY=1")
    forward.send(signal.SIGTERM)
    assert forward.wait() == 0
    assert order(manager.told) == ["READY=1", "STOPPING=1"]
    assert manager.count("WATCHDOG=1") == 0  # nobody asked


def test_the_web_face_tells_too(processes: Processes, server: Server, name: str, notify: Notify) -> None:
    needed("uvicorn")
    manager = notify(watchdog_s=1.0)
    schedule.mark(schedule.create(name, redis=server.url), "begun")
    web = begun(processes, server, "web", name, "--bind", f"127.0.0.1:{free_port()}", env=manager.env)
    manager.wait_for("READY=1")
    manager.wait_for("WATCHDOG=1", count=2)
    web.send(signal.SIGSTOP)
    silent(manager)
    web.send(signal.SIGCONT)
    web.send(signal.SIGTERM)
    assert web.wait() == 0
    assert order(manager.told) == ["READY=1", "STOPPING=1"]


@pytest.mark.parametrize(
    ("env", "beat_s"),
    [
        ({"NOTIFY_SOCKET": "/run/x", "WATCHDOG_USEC": "3000000"}, 1.5),
        ({"NOTIFY_SOCKET": "/run/x", "WATCHDOG_USEC": "3000000", "WATCHDOG_PID": str(os.getpid())}, 1.5),
        ({"NOTIFY_SOCKET": "/run/x", "WATCHDOG_USEC": "3000000", "WATCHDOG_PID": "1"}, None),
        ({"NOTIFY_SOCKET": "/run/x", "WATCHDOG_USEC": "0"}, None),
        ({"NOTIFY_SOCKET": "/run/x", "WATCHDOG_USEC": "soon"}, None),
        ({"NOTIFY_SOCKET": "/run/x"}, None),
        ({"WATCHDOG_USEC": "3000000"}, None),
        ({"NOTIFY_SOCKET": "vsock:2:1234", "WATCHDOG_USEC": "3000000"}, None),
    ],
)
def test_the_environment_says_whether_and_how_often(
    env: dict[str, str], beat_s: float | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    for variable, value in env.items():
        monkeypatch.setenv(variable, value)
    assert service_manager().beat_s == beat_s
    assert not {*env} & {*os.environ}  # processes started from here are not meant
    assert service_manager().beat_s is None


def test_a_socket_that_is_gone_changes_nothing(tmp_path: Path) -> None:
    ServiceManager(str(tmp_path / "gone")).ready()
    ServiceManager().ready()


def test_a_lost_server_is_a_status(notify: Notify) -> None:
    manager = notify()
    ours = ServiceManager(manager.env["NOTIFY_SOCKET"])
    with ours.told_of_events():
        events.emit("done")
        events.emit("lost", url="redis://h", reason="refused\nREADY=1", running=2)
    events.emit("back", url="redis://h", after_ms=1)
    until(lambda: manager.told)
    (said,) = manager.told
    assert said.startswith("STATUS=lost redis://h")
