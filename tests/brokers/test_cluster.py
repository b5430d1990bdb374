"""A schedule in a cluster: its slot's owner found and followed, plain URLs refused with the remedy, shards spread."""

from __future__ import annotations

import threading
import time
from collections import Counter
from collections.abc import Iterator
from contextlib import closing
from dataclasses import replace
from datetime import UTC, datetime
from functools import partial

import pytest

from tests.fleets import ClusterFleet, Diary, try_groups, try_verbs
from tests.metronome import Metronome
from tests.optional import needed
from tests.processes import Processes, until
from tests.servers import Server, free_port
from workkit import schedule
from workkit.brokers.connect import open_broker, open_brokers
from workkit.brokers.shards import shard_names
from workkit.contract.listener import ListenerInfo
from workkit.contract.producer import NewJob
from workkit.errors import InvalidSchedule, ServerError, ServerRefused, ServerUnreachable
from workkit.tracing import TraceContext
from workkit.triggers.trigger import once

DUE = "2040-01-01 09:00"


@pytest.fixture(scope="module")
def fleet(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ClusterFleet]:
    """A cluster of three nodes."""
    with closing(ClusterFleet(tmp_path_factory.mktemp("cluster"))) as started:
        yield started


@pytest.fixture
def name(name: str) -> str:
    """A schedule name with a tag."""
    return f"{{{name}}}"


def plain(server: Server) -> str:
    return f"redis://127.0.0.1:{server.port}"


def refused(url: str, name: str) -> ServerError:
    with pytest.raises(ServerError) as caught:
        schedule.add(schedule.create(name, redis=url), "app:note", at=DUE)
    return caught.value


def instant(ms: int) -> datetime:
    return datetime.fromtimestamp(ms / 1000, UTC)


def new_job(n: int) -> NewJob:
    due_ms = 4_000_000_000_000 + 1000 * n
    return NewJob(fn="#'app/note", args=(n,), kwargs=None, trigger=once(instant(due_ms)), due_ms=due_ms)


def test_every_verb_works_in_a_cluster(fleet: ClusterFleet, name: str, processes: Processes) -> None:
    try_verbs(fleet.url, name=name, processes=processes)


def test_batches_chains_and_after_work_in_a_cluster(fleet: ClusterFleet, name: str, processes: Processes) -> None:
    try_groups(fleet.url, "--redis", fleet.url, name=name, processes=processes)


def test_any_node_leads_to_the_owner(fleet: ClusterFleet, name: str) -> None:
    for number, node in enumerate(fleet.nodes):
        url = f"redis+cluster://127.0.0.1:{free_port()},127.0.0.1:{node.port}"
        s = schedule.create(name, redis=url)
        assert schedule.add(s, "app:note", at=DUE, args=[number]).new
    assert fleet.client(fleet.owner(name)).hlen(f"{name}:jobs") == 3


def test_trace_contexts_are_kept_and_read_in_a_cluster(fleet: ClusterFleet, name: str) -> None:
    traces = [TraceContext(f"00-{n:032x}-{n:016x}-01") for n in (1, 2)]
    with closing(open_broker(name, redis=fleet.url)) as broker:
        broker.register(ListenerInfo(listener="", host="h", pid=1, version="0", schedules={name: 1}, threads=1))
        broker.adding([replace(new_job(n), due_ms=1000, trace=trace) for n, trace in enumerate((*traces, None))])()
        claims = sorted(broker.claim(3).claims, key=lambda claim: claim.args[0])
        assert broker.traces_of(claims) == [*traces, None]


@pytest.mark.parametrize("family", ["redis", "valkey"])
def test_a_client_of_a_cluster_says_where_it_is(fleet: ClusterFleet, name: str, family: str) -> None:
    library = needed(family)
    make = library.RedisCluster if family == "redis" else library.ValkeyCluster
    with closing(make(host="127.0.0.1", port=fleet.nodes[0].port)) as client:
        s = schedule.create(name, redis=client)
        assert schedule.add(s, "app:note", at=DUE).new
        assert fleet.client(fleet.owner(name)).hlen(f"{name}:jobs") == 1
        assert schedule.counts(s).waiting == 1
        with closing(open_broker(name, redis=client)) as broker:
            places = {f"127.0.0.1:{node.port}" for node in fleet.nodes}
            assert set(broker.url.removeprefix(f"{family}+cluster://").split(",")) == places
        with pytest.raises(InvalidSchedule, match="on a cluster: its keys would fall into different slots"):
            schedule.create(name.strip("{}"), redis=client)


def test_a_plain_url_to_a_node_is_refused_with_the_remedy(fleet: ClusterFleet, name: str) -> None:
    untagged, node = name.strip("{}"), fleet.owner(name)
    error = refused(plain(node), untagged)
    assert isinstance(error, ServerRefused)
    assert error.lasting
    assert str(error) == (
        f'{plain(node)}/0: schedule "{untagged}" on a cluster: its keys would fall into different slots. '
        f'Name it "{name}", and use redis+cluster://127.0.0.1:{node.port}.'
    )
    elsewhere = fleet.other(name)
    error = refused(plain(elsewhere), name)
    assert isinstance(error, ServerRefused)
    assert error.lasting
    assert str(error) == (
        f"{plain(elsewhere)}/0 is one node of a cluster, and slots move from node to node: "
        f"use redis+cluster://127.0.0.1:{elsewhere.port}."
    )


def test_a_listener_ends_where_a_plain_url_leads_to_a_node(
    fleet: ClusterFleet, name: str, processes: Processes
) -> None:
    Diary(processes.folder)
    process = processes.workkit("listen", name.strip("{}"), "--redis", plain(fleet.nodes[0]))
    assert process.wait() != 0
    process.wait_for(r"Name it .*, and use redis\+cluster://")


def test_a_cluster_url_to_a_single_server_is_refused(own_server: Server, name: str) -> None:
    error = refused(f"redis+cluster://127.0.0.1:{own_server.port}", name)
    assert isinstance(error, ServerRefused)
    assert error.lasting
    assert str(error).endswith(f": 127.0.0.1:{own_server.port} is not a node of a cluster. Use redis://.")


def test_no_node_at_all_is_said(name: str) -> None:
    a, b = free_port(), free_port()
    error = refused(f"redis+cluster://127.0.0.1:{a},127.0.0.1:{b}", name)
    assert type(error) is ServerUnreachable
    assert str(error) == (
        f"redis+cluster://127.0.0.1:{a},127.0.0.1:{b}: no node can be asked: 127.0.0.1:{a} refuses connections, "
        f"127.0.0.1:{b} refuses connections. Start one there, or name others."
    )


def test_reads_and_scripts_follow_a_moved_slot(fleet: ClusterFleet, name: str) -> None:
    with closing(open_broker(name, redis=fleet.url)) as broker:
        broker.adding([new_job(n) for n in range(5)])()
        to = fleet.other(name)
        fleet.end_move(name, fleet.begin_move(name, to), to)
        assert broker.inspector.counts().waiting == 5
        back = fleet.other(name)
        fleet.end_move(name, fleet.begin_move(name, back), back)
        assert [added.new for added in broker.adding([new_job(4), new_job(5)])()] == [False, True]
        assert fleet.client(back).hlen(f"{name}:jobs") == 6


def test_schedules_of_every_primary_are_listed(fleet: ClusterFleet, name: str) -> None:
    base = name.strip("{}")
    names = [f"{{{base}-{n}}}" for n in range(12)]
    for one in names:
        schedule.pause(schedule.create(one, redis=fleet.url))
    assert len({fleet.owner(one) for one in names}) == 3
    spread = schedule.create(f"{base}-spread", redis=fleet.url, shards=6)
    for n in range(60):
        schedule.add(spread, "app:hi", at=DUE, args=[n])
    found = {one.name: one.shards for one in schedule.schedules(redis=fleet.url) if base in one.name}
    assert found == {**dict.fromkeys(names, 1), spread.name: 6}


def test_a_wait_for_work_follows_a_moved_slot(fleet: ClusterFleet, name: str) -> None:
    with closing(open_broker(name, redis=fleet.url)) as broker:
        woken: list[bool] = []
        waiting = threading.Thread(target=lambda: woken.append(broker.wait(20)))
        waiting.start()
        until(lambda: blocked(fleet, fleet.owner(name)), what="the wait to have begun")
        to = fleet.other(name)
        fleet.end_move(name, fleet.begin_move(name, to), to)
        until(lambda: blocked(fleet, to), what="the wait to go on at the new owner")
        broker.pass_on()
        waiting.join(5)
        assert woken == [True]


def test_an_addition_waits_while_its_keys_are_on_their_way(fleet: ClusterFleet, name: str) -> None:
    """The scripts name keys that do not exist, so between the nodes neither takes them."""
    with closing(open_broker(name, redis=fleet.url)) as broker:
        broker.adding([new_job(0)])()
        to = fleet.other(name)
        source = fleet.begin_move(name, to)
        with pytest.raises(ServerUnreachable, match=r"its keys are moving to another node\. Try again\."):
            broker.inspector.counts()
        moved = fleet.move_keys(name, source, to)
        assert moved >= 3  # jobs, next, the producer's answer
        done: list[list[bool]] = []
        adding = threading.Thread(
            target=lambda: done.append([a.new for a in broker.adding([new_job(0), new_job(1)])()])
        )
        adding.start()
        until(lambda: errors(fleet, source, "ASK") + errors(fleet, source, "TRYAGAIN") > 2, what="it to be put off")
        fleet.end_move(name, source, to)
        adding.join(5)
        assert done == [[False, True]]


def test_work_goes_on_while_slots_move(fleet: ClusterFleet, name: str, processes: Processes) -> None:
    diary, s = Diary(processes.folder), schedule.create(name, redis=fleet.url)
    for _ in range(2):
        processes.workkit("listen", name, "--redis", fleet.url).wait_for("listening")
    over = threading.Event()
    added: list[str] = []

    def produce() -> None:
        while not over.is_set() or len(added) < 300:
            schedule.add_now(s, "app:note", args=[f"job {len(added)}"])
            added.append(f"job {len(added)}")

    producer = threading.Thread(target=produce)
    producer.start()
    for moves in range(1, 5):
        until(partial(has_run, diary, 50 * moves), what="work to go on", timeout=20)
        to = fleet.other(name)
        fleet.end_move(name, fleet.begin_move(name, to), to)
    over.set()
    producer.join(20)
    assert not producer.is_alive()
    until(lambda: len(diary.lines()) >= len(added), what="all to run", timeout=20)
    until(lambda: not fleet.client(fleet.owner(name)).exists(f"{name}:jobs", f"{name}:next"), what="nothing to be left")
    assert Counter(diary.lines()) == Counter(added)


def test_shards_lie_on_several_nodes(fleet: ClusterFleet, name: str, processes: Processes) -> None:
    bare = name.strip("{}")
    owners = {fleet.owner(shard).port for shard in shard_names(bare, 8)}
    assert len(owners) > 1
    with closing(open_broker(bare, redis=fleet.url, shards=8)) as broker:
        assert all(added.new for added in broker.adding([new_job(n) for n in range(200)])())
        assert broker.inspector.counts().waiting == 200
        assert [job.args[0] for job in broker.inspector.jobs()] == list(range(200))
    each = open_brokers(bare, redis=fleet.url, shards=8)
    counts = [one.inspector.counts().waiting for one in each]
    assert sum(counts) == 200
    assert min(counts) > 0
    for one in each:
        one.close()


def test_a_node_that_dies_is_replaced_by_its_replica(
    fleet: ClusterFleet, name: str, processes: Processes, machine: Metronome
) -> None:
    """The last test here: the node stays dead."""
    diary, s = Diary(processes.folder), schedule.create(name, redis=fleet.url)
    owner = fleet.owner(name)
    fleet.add_replica(owner)
    listener = processes.workkit("listen", name, "--redis", fleet.url)
    listener.wait_for("listening")
    schedule.add_now(s, "app:note", args=["before"])
    schedule.add(s, "app:note", at=DUE)
    until(lambda: diary.lines() == ["before"], what="the first to run")
    fleet.replicate(owner, key=f"{name}:mark")
    owner.kill()
    until(lambda: fleet.owner(name) is not owner, what="the replica to take over", timeout=15)
    begun = time.monotonic()
    until(lambda: is_added(s, "after"), what="the new owner to take a job")
    until(lambda: diary.lines() == ["before", "after"], what="the second to run")
    assert time.monotonic() - begun < 4.0 + machine.slack
    assert schedule.counts(s).waiting == 1
    assert listener.is_running


def has_run(diary: Diary, least: int) -> bool:
    return len(diary.lines()) > least


def blocked(fleet: ClusterFleet, node: Server) -> bool:
    return bool(fleet.client(node).info("clients")["blocked_clients"])


def errors(fleet: ClusterFleet, node: Server, code: str) -> int:
    """How often a node answered with that error since it started."""
    return int(fleet.client(node).info("errorstats").get(f"errorstat_{code}", {}).get("count", 0))


def is_added(s: schedule.Schedule, what: str) -> bool:
    try:
        return schedule.add_now(s, "app:note", args=[what]).new
    except ServerUnreachable:
        return False
