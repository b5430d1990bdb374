"""Processes that use the private server of a folder, for the tests of embedded servers."""

from __future__ import annotations

from pathlib import Path

import redis

from tests.processes import Process, Processes, is_alive, until
from workkit.brokers.embedded.attachment import EmbeddedServer

USER = """
import sys
from pathlib import Path
import redis
from workkit.brokers.embedded.attachment import attach
server = attach(Path(sys.argv[1]))
with redis.Redis.from_url(server.url) as client:
    print("attached", server.pid, "visit", client.incr("visits"))
sys.stdin.readline()
print("leaving")
"""


def user(processes: Processes, folder: Path) -> tuple[Process, int, int]:
    """Start a process that attaches; return it, the server's pid and the count of visits so far."""
    process = processes.python(USER, str(folder))
    match = process.wait_for(r"^attached (\d+) visit (\d+)$")
    return process, int(match[1]), int(match[2])


def leave(process: Process) -> None:
    process.tell("")
    assert process.wait() == 0, process.transcript()


def client_of(server: EmbeddedServer) -> redis.Redis:
    return redis.Redis.from_url(server.url)


def ended(pid: int) -> None:
    until(lambda: not is_alive(pid), what=f"server {pid} to end")


def flushed(client: redis.Redis) -> None:
    """Wait until all is written to the file; while an fsync goes on, a server may hold it back for two seconds."""
    until(lambda: client.info("persistence")["aof_buffer_length"] == 0, what="the append-only file to be written")
