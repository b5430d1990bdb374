"""The health pages of a listener, and the watchdog over its loop."""

from __future__ import annotations

import threading
import urllib.error
import urllib.request
from typing import Any

import pytest

from tests.processes import Processes, until
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
