"""The health pages of a listener, and the watchdog over its loop."""

from __future__ import annotations

import signal
import threading
import time
import urllib.error
import urllib.request
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest

from tests.processes import Processes, is_stopped, until
from tests.servers import Server
from tests.worker.observation import HOW, named
from workkit import errors, schedule
from workkit.events import Event
from workkit.worker.health import Watchdog

STUCK = """
import sys, threading
from datetime import timedelta
from workkit import events, schedule
from workkit.brokers.connect import open_broker
from workkit.worker.listener import Listener
from workkit.worker.loop import How

def stand_still(event):
    if event.name == "given_back" or event.name == "cannot_run":
        print("standing still", flush=True)
        threading.Event().wait()

events.subscribe(stand_still)
events.subscribe(lambda event: print(event.name, event.fields.get("reason") or event.fields.get("url"), flush=True))
how = How(stuck_after=timedelta(seconds=2), health=("127.0.0.1", 0))
Listener([(open_broker(sys.argv[1], redis=sys.argv[2]), 1)], how=how).run()
"""


def get(url: str) -> tuple[int, str]:
    try:
        with urllib.request.urlopen(url, timeout=5) as answer:
            return answer.status, answer.read().decode()
    except urllib.error.HTTPError as error:
        with error:
            return error.code, error.read().decode()


def pages(seen: list[Event]) -> str:
    return str(named(seen, "health")[0].fields["url"])


def test_the_health_pages_answer_200_while_a_listener_works(server: Server, name: str, seen: list[Event]) -> None:
    s = schedule.create(name, redis=server.url)
    with schedule.listener(s, health_port=0, **HOW) as listener:
        url = pages(seen)
        assert get(f"{url}/livez") == (200, "ok\n")
        assert get(f"{url}/readyz?verbose=1") == (200, "ok\n")
        assert get(f"{url}/")[0] == 404
        listener.quiet()
        until(lambda: get(f"{url}/readyz") == (503, "quiet\n"))
        assert get(f"{url}/livez") == (200, "ok\n")
    with pytest.raises(urllib.error.URLError):
        get(f"{url}/livez")


def test_it_is_not_ready_without_its_server(own_server: Server, name: str, seen: list[Event]) -> None:
    s = schedule.create(name, redis=own_server.url)
    with schedule.listener(s, health_port=0, **HOW):
        url = pages(seen)
        own_server.kill()
        until(lambda: get(f"{url}/readyz") == (503, f"without {own_server.url}\n"))
        assert get(f"{url}/livez") == (200, "ok\n")
        own_server.start()
        until(lambda: get(f"{url}/readyz")[0] == 200)


def test_the_pages_open_again_after_a_handler_has_closed_all_files(
    server: Server, name: str, processes: Processes, tmp_path: Path
) -> None:
    (tmp_path / "app.py").write_text("import os\n\ndef close():\n    os.closerange(3, 1000)\n\ndef note():\n    pass\n")
    s = schedule.create(name, redis=server.url)
    listener = processes.workkit("listen", name, "--redis", server.url, "--health-port", "0", "-v")
    url = listener.wait_for(r" health +(http://[^/]*)")[1]
    schedule.add_now(s, "app:close")
    assert listener.wait_for(r" health +(http://[^/]*)", count=2)[1] == url
    assert until(lambda: answered(f"{url}/livez")) == (200, "ok\n")
    schedule.add_now(s, "app:note")
    listener.wait_for(" done .* app.note")
    assert until(lambda: answered(f"{url}/readyz") == (200, "ok\n"))
    listener.send(signal.SIGTERM)
    assert listener.wait() == 0, listener.transcript()


def answered(url: str) -> tuple[int, str] | None:
    with suppress(OSError):
        return get(url)
    return None


def test_a_port_that_is_taken_refuses_before_anything_is_registered(
    server: Server, name: str, seen: list[Event]
) -> None:
    s = schedule.create(name, redis=server.url)
    with schedule.listener(s, health_port="127.0.0.1:0", **HOW):
        port = int(pages(seen).rpartition(":")[2])
        with pytest.raises(errors.InvalidOptions, match=f"health_port=127.0.0.1:{port}: address already in use"):
            schedule.listener(s, health_port=port, **HOW).start()
        assert schedule.counts(s).listeners == 1


@pytest.mark.parametrize("port", [-1, 65536, "http", True, "localhost:", 1.5])
def test_a_value_that_is_no_port_is_refused(port: Any) -> None:
    with pytest.raises(errors.InvalidOptions, match="is not a port"):
        schedule.listener(schedule.create("t"), health_port=port)


def test_a_loop_that_does_not_move_ends_its_process(server: Server, name: str, processes: Processes) -> None:
    listener = processes.python(STUCK, name, server.url)
    url = listener.wait_for("^health (.*)")[1]
    assert get(f"{url}/livez") == (200, "ok\n")
    s = schedule.create(name, redis=server.url)
    schedule.add_now(s, "app:note")
    listener.wait_for("standing still")
    listener.wait_for("stuck the loop has not moved for 2 s")
    assert listener.wait() == 70
    assert any("stand_still" in line for line in listener.err), "its stacks were not dumped"
    assert schedule.counts(s).due + schedule.counts(s).running == 1


def test_the_watchdog_counts_its_own_looks(seen: list[Event]) -> None:
    moved = [0]
    watchdog = Watchdog(lambda: moved[0], seconds=1)
    assert watchdog.trouble() is None
    watchdog.start()
    until(lambda: watchdog.trouble() is not None)
    moved[0] += 1
    until(lambda: watchdog.trouble() is None)
    watchdog.close()
    until(lambda: "workkit-watchdog" not in [thread.name for thread in threading.enumerate()])


ENDLESS = """
import sys
from datetime import timedelta
from workkit import schedule
from workkit.brokers.connect import open_broker
from workkit.worker.listener import Listener
from workkit.worker.loop import How

how = How(stuck_after=timedelta(seconds=2), imports=("app",))
Listener([(open_broker(sys.argv[1], redis=sys.argv[2], timeout_ms=5000), 1)], how=how).run()
"""
APP = """
import ctypes, re

def count():
    sum(range(10**12))

def match():
    re.match("(a+)+$", "a" * 60 + "b")

def wait():
    ctypes.PyDLL(None).sleep(600)  # keeps the interpreter, and uses no processor
"""


@pytest.mark.parametrize("server", ["redis"], indirect=True)
@pytest.mark.parametrize("function", ["count", "match", "wait"])
def test_a_call_into_c_that_keeps_the_interpreter_ends_the_process_with_its_stacks(
    server: Server, name: str, processes: Processes, tmp_path: Path, function: str
) -> None:
    (tmp_path / "app.py").write_text(APP)
    s = schedule.create(name, redis=server.url)
    schedule.add_now(s, f"app:{function}", timeout="2s")
    listener = processes.python(ENDLESS, name, server.url)
    assert listener.wait(timeout=60) != 0
    assert any(f"in {function}" in line for line in listener.err), listener.transcript()
    assert schedule.counts(s).running == 1, "nobody has settled it"


@pytest.mark.parametrize("server", ["valkey"], indirect=True)
def test_a_job_that_keeps_the_interpreter_of_three_listeners_is_dead(
    server: Server, name: str, processes: Processes, tmp_path: Path
) -> None:
    (tmp_path / "app.py").write_text(APP)
    s = schedule.create(name, redis=server.url)
    schedule.add_now(s, "app:count", timeout="2s")
    for _ in range(3):
        listener = processes.python(ENDLESS, name, server.url)
        assert listener.wait(timeout=60) != 0
        for listed in server.client().zrange(f"{name}:listeners", 0, -1):  # nobody waits until its heartbeat is old
            server.client().zadd(f"{name}:listeners", {listed: 1})
    listener = processes.python(ENDLESS, name, server.url)
    until(lambda: schedule.counts(s).dead == 1, what="the job to be dead")
    assert "crashed its listener 3 times" in str(next(iter(schedule.dead(s))).error)
    assert listener.is_running


@pytest.mark.parametrize("server", ["valkey"], indirect=True)
def test_a_listener_that_was_suspended_is_not_ended(server: Server, name: str, processes: Processes) -> None:
    s = schedule.create(name, redis=server.url)
    listener = processes.python(ENDLESS.replace('imports=("app",)', "imports=()"), name, server.url)
    until(lambda: schedule.counts(s).listeners == 1)
    listener.send(signal.SIGSTOP)
    until(lambda: is_stopped(listener.pid))
    time.sleep(4.0)
    listener.send(signal.SIGCONT)
    time.sleep(2.0)
    assert listener.is_running, listener.transcript()
    listener.send(signal.SIGKILL)
