"""The Go peer of interop/go/ against the recordings of the real library: after each step of a recording the same keys
and the same bytes, volatile parts aside. So what holds beside the peer holds beside a real pool.
"""

from __future__ import annotations

import subprocess
from collections.abc import Iterator, Mapping
from concurrent.futures import Future, ThreadPoolExecutor, wait
from pathlib import Path

import pytest

from tests.brokers.gocraft import go_peer, vectors
from tests.brokers.gocraft.go_peer import Driver
from tests.brokers.gocraft.namespace import Side, differences, dump
from tests.brokers.gocraft.replay import Replay
from tests.processes import ROOT
from tests.servers import Server

REPLAYED = (
    "client", "enqueue", "enqueue_in", "failed_dead", "failed_retry", "heartbeat", "in_progress", "max_concurrency",
    "namespaces", "paused", "periodic", "reaped", "requeue", "requeue_unreadable", "stray", "unique", "unique_by_key",
    "unique_in", "unique_life", "webui",
)  # fmt: skip
AT_ONCE = 12
LONG = ("reaped", "periodic", "requeue_unreadable", "heartbeat", "unique_life", "failed_dead")  # these begin first
RECORDINGS = {f"{name}-{i}": one for name in REPLAYED for i, one in enumerate(vectors.recordings(name))}


def play(name: str, peer: Path, server: Server) -> list[str]:
    number = 1 + list(RECORDINGS).index(name)
    with go_peer.database(server, number) as client:
        client.flushdb()

        def begin() -> Driver:
            return Driver(peer, port=server.port, database=number)

        return Replay(RECORDINGS[name], begin=begin, client=client).play()


@pytest.fixture(scope="module")
def replays(peer: Path, go_server: Server) -> Iterator[Mapping[str, Future[list[str]]]]:
    """All replays side by side: they mostly wait, as the pools in the recordings did."""
    with ThreadPoolExecutor(max_workers=AT_ONCE) as threads:
        yield {
            name: threads.submit(play, name, peer, go_server)
            for name in sorted(RECORDINGS, key=lambda name: not name.startswith(LONG))
        }


@pytest.mark.parametrize("name", RECORDINGS)
def test_the_peer_does_what_was_recorded(
    name: str, replays: Mapping[str, Future[list[str]]], peer: Path, go_server: Server
) -> None:
    """What a pool does next depends on parts of a second. A busy machine may need another try, with less beside it."""
    found = replays[name].result(timeout=120)
    for _ in range(5):
        if found:
            wait(replays.values())
            found = play(name, peer, go_server)
    assert not found, "\n".join(found)


@pytest.fixture
def driver(peer: Path, go_server: Server, request: pytest.FixtureRequest) -> Iterator[Driver]:
    own = Driver(peer, port=go_server.port, database=0)
    own.set_clock(getattr(request, "param", 1795219982))
    yield own
    own.close()


def test_the_peer_reads_and_refuses_the_texts_that_the_library_does(driver: Driver, go_server: Server) -> None:
    cases = vectors.load("decode")["cases"]
    first = int(cases[0]["dump"]["gv:last_periodic_enqueue"]["value"])
    found = []
    with go_peer.database(go_server, 0) as client:
        for number, case in enumerate(cases):
            client.flushdb()
            client.sadd("gv:known_jobs", "export")
            client.lpush("gv:jobs:export", case["job"])
            job = {"name": "export", "backoff": 60, "do": [{"fail": "no"}]}
            driver.ask({"op": "pool", "id": str(number), "ns": "gv", "concurrency": 1, "jobs": [job]})
            for operation in ("start", "drain", "stop"):
                driver.ask({"op": operation, "id": str(number)})
            at = int(case["dump"]["gv:last_periodic_enqueue"]["value"])
            sides = Side(dump=case["dump"], at=at), Side(dump=dump(client, "gv"), at=first)
            found += [f"{case['case']}: {each}" for each in differences(*sides, slack=20)]
    assert not found, "\n".join(found)


@pytest.mark.parametrize("driver", [1795219133], indirect=True)
def test_the_peer_makes_the_unique_keys_of_the_library(driver: Driver, go_server: Server) -> None:
    vector = vectors.load("unique_key_bytes")
    found = []
    with go_peer.database(go_server, 0) as client:
        for case in vector["cases"]:
            client.flushdb()
            name = vector["job_name"]
            call = {"op": "enqueue", "name": name, "args": case["args"], "unique": True, "ns": vector["namespace"]}
            assert "error" not in driver.ask(call)
            recorded = {
                "gv:known_jobs": {"type": "set", "value": [name]},
                f"gv:jobs:{name}": {"type": "list", "value": [case["job"]]},
                case["unique_key"]: {"type": "string", "ttl": case["ttl"], "value": case["value"]},
            }
            # Each namespace has one enqueuer, which announces a name once in five minutes.
            client.sadd("gv:known_jobs", name)
            sides = Side(dump=recorded, at=1795219133), Side(dump=dump(client, "gv"), at=1795219133)
            found += differences(*sides, slack=30)
    assert not found, "\n".join(found)


def test_the_peer_finds_the_activations_that_the_library_finds(driver: Driver) -> None:
    vector = vectors.load("cron_next")
    found = []
    for case in vector["cases"]:
        call = {"op": "next", **{name: case[name] for name in ("spec", "zone", "from")}}
        answer = driver.ask({**call, "count": len(case["next"]) or 1})
        if answer["returned"] != case["next"]:
            found.append((case, answer))
    assert found == []
    taken = [spec for spec in vector["rejected"] if "error" not in driver.ask({"op": "next", "spec": spec, "count": 1})]
    assert taken == []


def test_the_source_is_formatted() -> None:
    unformatted = subprocess.run(
        [go_peer.program("gofmt"), "-l", str(go_peer.SOURCE)], capture_output=True, text=True, check=True
    )
    assert unformatted.stdout == ""


def test_no_file_is_long() -> None:
    lengths = {path.name: len(path.read_text().splitlines()) for path in go_peer.SOURCE.glob("*.go")}
    assert lengths
    assert max(lengths.values()) < 400, lengths


def test_ci_installs_go() -> None:
    installed = (ROOT / ".ci" / "run").read_text().partition("missing() {")[2].partition("\n}")[0]
    assert "|| echo golang-go" in installed


def test_a_replay_may_be_at_any_time(peer: Path, go_server: Server) -> None:
    """A player that keeps the time of the machine gets the recorded commands with the times of now."""

    class Contemporary(Driver):
        def set_clock(self, at: float) -> bool:
            return False

    with go_peer.database(go_server, 0) as client:
        client.flushdb()

        def begin() -> Driver:
            return Contemporary(peer, port=go_server.port, database=0)

        assert Replay(RECORDINGS["requeue-0"], begin=begin, client=client).play() == []
