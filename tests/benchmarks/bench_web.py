"""How long the pages of `workkit web` take beside a large schedule, and what it costs that nobody looks.

    python -m tests.benchmarks.bench_web [JOBS] [RECURRING] [DEAD] [ROUNDS]

Default: 1,000,000 waiting jobs, 10,000 recurring ones with names, 10,000 dead, 20 listeners, 60 rounds. All pages in
turns, warmed up; of each the median, the 95th percentile, that as a multiple of a PING measured beside it in the same
round, and the bytes of the page, compressed. Then the commands of a minute without a page, and with 100 open streams.

Of a run with listeners the PING tells how much of a page's time is the machine's; pages are asked for in the same way
once more without listeners, which is what pages cost by themselves. The page Doctor begins a
checkup, which reads all jobs. Commands are counted after its end.
"""

from __future__ import annotations

import gzip
import http.client
import json
import statistics
import sys
import time
from collections.abc import Iterator
from contextlib import closing, contextmanager
from typing import Any

from tests.benchmarks.stage import stage
from tests.processes import Processes, until
from tests.servers import Server
from workkit import schedule

APP = """
def note(n): pass
def fail(n): raise (OSError, ValueError, KeyError)[n % 3](f"disk {n} is full")
"""
LISTENERS = """
import sys, threading
from contextlib import ExitStack
from workkit import schedule
s = schedule.create("bench", redis=sys.argv[1])
with ExitStack() as all_of_them:
    for _ in range(20):
        all_of_them.enter_context(schedule.listener(s, imports=["app"], folder=".", threads=3))
    print("ready", flush=True)
    sys.stdin.readline()
"""
PERIODS = ("day at 2:30am", "weekday at 9am", "hour", "5 minutes", "monday at 7am", "15 minutes")
PORTION = 20_000
WARM = 5
STREAMS = 100
PAGES = (
    "", "timeline?span=2h", "timeline?span=24h", "timeline?span=7d", "timeline?span=90d", "recurring",
    "recurring?sort=next", "recurring?show=failing", "jobs", "jobs?state=waiting", "jobs?q=fn:app.note",
    "jobs?q=args:77777", "jobs/job-17", "jobs/{once}", "dead", "runs", "listeners", "limits", "changes", "new",
    "doctor",
)  # fmt: skip


def fill(server: Server, processes: Processes, jobs: int, recurring: int, dead: int) -> str:
    """Make the schedule; the id of one job that runs once."""
    s, client = schedule.create("bench", redis=server.url), server.client()
    schedule.add_many(s, ({"fn": "app:fail", "at": "now", "args": [n], "retries": 0} for n in range(dead)))
    listener = processes.workkit("listen", "bench", "-q", "--redis", server.url)
    until(lambda: client.zcard("bench:dead") >= dead, timeout=120, what="all to die")
    listener.close()
    for first in range(0, recurring, PORTION):
        of = range(first, min(recurring, first + PORTION))
        rows = ({"fn": "app:note", "every": PERIODS[n % 6], "args": [n], "name": f"job-{n}"} for n in of)
        schedule.add_many(s, rows)
    for first in range(0, jobs, PORTION):
        of = range(first, min(jobs, first + PORTION))
        schedule.add_many(s, ({"fn": "app:note", "in_": f"{3600 + n % 864_000} seconds", "args": [n]} for n in of))
    found: str = schedule.add(s, "app:note", in_="1 hour", args=["once"]).id
    return found


@contextmanager
def web(server: Server, processes: Processes) -> Iterator[tuple[str, int]]:
    """`workkit web` on a free port."""
    process = processes.workkit("web", "bench", "--redis", server.url, "--bind", "127.0.0.1:0")
    port = int(process.wait_for(r"http://127\.0\.0\.1:(\d+)/")[1])
    yield "127.0.0.1", port
    process.close()


def timed(where: tuple[str, int], path: str) -> tuple[float, int, bytes]:
    """Ask for a page: milliseconds, status, body."""
    with closing(http.client.HTTPConnection(*where, timeout=60)) as client:
        began = time.perf_counter()
        client.request("GET", f"/s/bench/{path}", headers={"accept": "text/html"})
        answer = client.getresponse()
        body = answer.read()
        return (time.perf_counter() - began) * 1000, answer.status, body


def pinged(client: Any) -> float:
    """The milliseconds of one PING."""
    began = time.perf_counter()
    client.ping()
    return (time.perf_counter() - began) * 1000


def look(server: Server, where: tuple[str, int], once: str, rounds: int) -> None:
    """Time all pages in turns."""
    client, took, ping = server.client(), {}, []  # type: ignore[var-annotated]
    pages = [page.replace("{once}", once) for page in PAGES]
    sizes: dict[str, int] = {}
    for number in range(WARM + rounds):
        for page in pages:
            ms, status, body = timed(where, page)
            if status != 200:
                sizes[page] = -status
                continue
            sizes[page] = len(gzip.compress(body))
            if number >= WARM:
                took.setdefault(page, []).append(ms)
                ping.append(pinged(client))
    base = statistics.median(ping)
    print(f"PING: median {base:.3f} ms, p95 {statistics.quantiles(ping, n=20)[-1]:.3f} ms")
    print("| page | median ms | p95 ms | p95 / PING | kB compressed |\n|---|---|---|---|---|")
    for page in pages:
        if page not in took:
            print(f"| {page or 'Now'} | status {-sizes[page]} | | | |")
            continue
        p95 = statistics.quantiles(took[page], n=20)[-1]
        median = statistics.median(took[page])
        print(
            f"| {page or 'Now'} | {median:.1f} | {p95:.1f} | {p95 / base:.0f} | {sizes[page] / 1000:.1f} |", flush=True
        )


def commands(client: Any) -> dict[str, int]:
    """How often each command was called."""
    found = client.info("commandstats")
    return {name.removeprefix("cmdstat_"): value["calls"] for name, value in found.items()}


def spent_in(client: Any, seconds: float) -> str:
    """Which commands the server gets in so many seconds, but for our own question."""
    before = commands(client)
    time.sleep(seconds)
    after = commands(client)
    calls = {name: n - before.get(name, 0) for name, n in after.items() if n != before.get(name, 0) and name != "info"}
    return f"{sum(calls.values())} commands in {seconds:g} s {calls}"


def await_checkup(where: tuple[str, int]) -> None:
    """Wait for the end of the checkup that the page Doctor began."""
    until(lambda: json.loads(timed(where, "doctor.json")[2])["is_over"], timeout=1800, what="the checkup")


def idle(server: Server, where: tuple[str, int]) -> None:
    """What nobody and what many cost, without listeners: only the web process asks."""
    client = server.client()
    await_checkup(where)
    print("no page open:", spent_in(client, 60), flush=True)
    streams = []
    for _ in range(STREAMS):
        stream = http.client.HTTPConnection(*where, timeout=60)
        stream.request("GET", "/s/bench/live?page=", headers={"accept": "text/event-stream"})
        streams.append(stream)
        answer = stream.getresponse()
        if answer.status != 200:
            print(f"no stream: status {answer.status}")
            return
    time.sleep(3)
    print(f"{STREAMS} streams:", spent_in(client, 30))
    for stream in streams:
        stream.close()


def main() -> None:
    """Fill, look, count."""
    given = [int(text) for text in sys.argv[1:]]
    jobs, recurring, dead, rounds = given + [1_000_000, 10_000, 10_000, 60][len(given) :]
    with stage(APP) as (server, processes, _folder):
        once = fill(server, processes, jobs, recurring, dead)
        print(f"{jobs:,} jobs, {recurring:,} recurring, {dead:,} dead", flush=True)
        with web(server, processes) as where:
            listeners = processes.python(LISTENERS, server.url)
            listeners.wait_for("ready")
            look(server, where, once, rounds)
            listeners.tell("")
            listeners.wait()
            await_checkup(where)
            print("without listeners:", flush=True)
            look(server, where, once, rounds)
            idle(server, where)


if __name__ == "__main__":
    main()
