"""A crowd of due jobs that nobody here can run: own work among it runs, and the server reads the crowd once."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from tests.processes import Processes, until
from tests.servers import Server
from workkit import schedule, wire

CROWD, OWN = 10_000, 200
APP = """
import os
fd = os.open("ran", os.O_WRONLY | os.O_APPEND | os.O_CREAT)
def note(n): os.write(fd, b"%d\\n" % n)
"""


def crowd(client: Any, name: str) -> dict[bytes, float]:
    with client.pipeline() as pipe:
        for n in range(CROWD):
            payload = wire.payload(
                cron="* * * * * * *" if n % 2 else "2023 11 14 * 22 13 20", job="#'other/run", args=[n]
            )
            pipe.hset(f"{name}:jobs", wire.job_id(payload), payload)
            pipe.zadd(f"{name}:next", {wire.item(wire.job_id(payload)): 1_700_000_000_000 + n})
        pipe.execute()
    return dict(client.zrange(f"{name}:next", 0, -1, withscores=True))


def test_own_work_in_a_crowd_does_not_read_the_crowd_again(
    server: Server, name: str, processes: Processes, tmp_path: Path
) -> None:
    (tmp_path / "app.py").write_text(APP)
    client, s = server.client(), schedule.create(name, redis=server.url)
    standing = crowd(client, name)
    listener = processes.workkit("listen", name, "-q", "--redis", server.url)
    until(lambda: sum(client.scard(key) for key in client.keys(f"{name}:skip:*")) == CROWD, timeout=60)
    client.config_resetstat()
    for n in range(OWN):
        schedule.add_now(s, "app:note", args=[n])
        until(lambda: client.hlen(f"{name}:jobs") == CROWD, timeout=20)
    pages = client.info("commandstats")["cmdstat_smismember"]["calls"]
    listener.close()
    assert sorted(map(int, (tmp_path / "ran").read_text().split())) == list(range(OWN))
    assert pages < 10 * OWN, "a claim reads a page or two; reading the crowd each time would be ten pages a claim"
    assert dict(client.zrange(f"{name}:next", 0, -1, withscores=True)) == standing
