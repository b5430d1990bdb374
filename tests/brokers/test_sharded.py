"""One schedule over several shards: where jobs go, what a look at all of them shows, and peers that know one shard."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import ExitStack, closing
from datetime import UTC, datetime
from typing import Any, cast

import pytest

from tests import handlers
from tests.processes import until
from tests.servers import PAST, Server
from workkit import schedule, wire
from workkit.brokers import sharded
from workkit.brokers.connect import open_broker, open_brokers
from workkit.brokers.sharded import Sharded
from workkit.brokers.shards import shard_names, shard_of
from workkit.contract.admin import Paused, Resumed
from workkit.contract.broker import Admin, Broker, Doctor, Inspector
from workkit.contract.optional import ByTime, History, Limits, Plans
from workkit.contract.producer import NewJob
from workkit.contract.where import Has, JobQuery, Term, Where
from workkit.errors import InvalidSchedule, NotFound
from workkit.jobs.admission import Pause
from workkit.jobs.terms import Entrance, Terms
from workkit.triggers.trigger import once
from workkit.worker.listener import Listener
from workkit.worker.loop import How

SHARDS = 4
FAR_MS = 4_000_000_000_000


@pytest.fixture
def broker(server: Server, name: str) -> Iterator[Sharded]:
    opened = open_broker(name, redis=server.url, shards=SHARDS)
    assert isinstance(opened, Sharded)
    with closing(opened):
        yield opened


@pytest.fixture
def each(server: Server, name: str) -> Iterator[list[Broker]]:
    with ExitStack() as ends:
        opened = open_brokers(name, redis=server.url, shards=SHARDS)
        for one in opened:
            ends.callback(one.close)
        yield opened


def at(n: int) -> NewJob:
    """The job of a number, due that many seconds after a far time."""
    due_ms = FAR_MS + 1000 * n
    trigger = once(datetime.fromtimestamp(due_ms / 1000, UTC))
    return NewJob(fn="#'tests.handlers/note", args=(n,), kwargs=None, trigger=trigger, due_ms=due_ms)


def now(*args: Any, fn: str = "note") -> NewJob:
    return NewJob(fn=f"#'tests.handlers/{fn}", args=args, kwargs=None, trigger=None, due_ms=None, queued=True)


def listener(each: list[Broker]) -> Listener:
    handlers.calls.clear()
    how = How(threads=4, imports=("tests.handlers",), folder=None)
    return Listener([(one, 1) for one in each], how=how)


@pytest.mark.parametrize(
    ("name", "shards", "names"),
    [
        ("app", 1, ["app"]),
        ("{app}", 1, ["{app}"]),
        ("app", 2, ["{app.0}", "{app.1}"]),
        ("{app}", 2, ["{app.0}", "{app.1}"]),
        ("{app}-tasks", 2, ["{app-tasks.0}", "{app-tasks.1}"]),
    ],
)
def test_shards_are_named_after_the_schedule(name: str, shards: int, names: list[str]) -> None:
    assert shard_names(name, shards) == names


@pytest.mark.parametrize("shards", [0, -1, 65, 1.0, True, "2", None])
def test_a_number_of_shards_that_cannot_be_is_refused(shards: Any) -> None:
    for call in (
        lambda: open_broker("app", redis="redis://h", shards=shards),
        lambda: open_brokers("app", redis="redis://h", shards=shards),
        lambda: schedule.create("app", redis="redis://h", shards=shards),
    ):
        with pytest.raises(InvalidSchedule) as caught:
            call()
        assert str(caught.value) == f"shards={shards!r} is out of range. Accepted: 1 to 64."


def test_one_shard_is_the_plain_schedule(server: Server, name: str) -> None:
    with closing(open_broker(name, redis=server.url, shards=1)) as broker:
        broker.adding([at(0)])()
    assert schedule.counts(schedule.create(name, redis=server.url)).waiting == 1
    (one,) = open_brokers(name, redis=server.url)
    assert one.schedule == name
    one.close()


def test_a_job_goes_to_the_shard_of_its_id(broker: Sharded, server: Server, name: str) -> None:
    added = broker.adding([at(n) for n in range(40)])()
    assert [a.due_ms for a in added] == [FAR_MS + 1000 * n for n in range(40)]
    for shard in range(SHARDS):
        key = f"{{{name}.{shard}}}:jobs"
        ids = {a.id for a in added if int(a.id[:8], 16) % SHARDS == shard}
        assert {id.decode() for id in server.client().hkeys(key)} == ids
        assert ids
    assert all(a.new for a in added)
    assert not any(a.new for a in broker.adding([at(n) for n in reversed(range(40))])())


def test_running_jobs_are_listed_first_and_dead_ones_last(broker: Sharded, each: list[Broker]) -> None:
    handlers.gate.clear()
    broker.adding([at(n) for n in range(4)])()
    with listener(each):
        try:
            broker.adding([now(f"disk {n}", fn="fail") for n in range(3)])()
            until(lambda: broker.inspector.counts().dead == 3, what="three to fail")
            broker.adding([now(fn="wait_for_gate"), now(fn="wait_for_gate")])()
            until(lambda: len(handlers.calls) == 2, what="two to run")
            states = [job.state for job in broker.inspector.jobs()]
            assert states == ["running"] * 2 + ["waiting"] * 4 + ["dead"] * 3
            dead = list(broker.inspector.jobs(state="dead"))
            assert [job.due for job in dead] == sorted((j.due for j in dead if j.due), reverse=True)
            counts = broker.inspector.counts()
            assert (counts.waiting, counts.running, counts.dead) == (4, 2, 3)
            assert counts.totals["dead"] == 3
            assert sum(len(info.running) for info in broker.inspector.listeners()) == 2
        finally:
            handlers.gate.set()


def test_one_listener_serves_all_shards(broker: Sharded, each: list[Broker], server: Server, name: str) -> None:
    with listener(each) as running:
        infos = broker.inspector.listeners()
        assert len(infos) == SHARDS == broker.inspector.counts().listeners
        assert len({(info.host, info.pid) for info in infos}) == 1
        broker.adding([now(n) for n in range(100)])()
        until(lambda: len(handlers.calls) >= 100, what="all to run")
    assert sorted(call[0] for call in handlers.calls) == list(range(100))
    assert running.wait().ran == 100
    keys = {key.decode().rpartition("}:")[2].partition(":")[0] for key in server.client().scan_iter("*")}
    assert keys <= {"producer", "stats", *PAST}


def test_a_beginning_of_jobs_in_several_shards_is_refused(broker: Sharded, server: Server, name: str) -> None:
    """Two jobs of peers, whose ids differ only where nobody would type."""
    ids = ["abcdef0" + "0" * 33, "abcdef1" + "0" * 33]
    payload = b'{"args":[],"cron":"2040 1 1 * 9 0 0","job":"#\'app\\/note"}'
    for shard, id in enumerate(ids):
        server.client().hset(f"{{{name}.{shard}}}:jobs", id, payload)
        server.client().zadd(f"{{{name}.{shard}}}:next", {wire.item(id): FAR_MS})
    with pytest.raises(NotFound) as caught:
        broker.inspector.job("abcdef")
    assert str(caught.value) == '"abcdef" is the beginning of 2 jobs; give more characters.'
    assert [broker.inspector.job(id[:7]).id for id in ids] == ids
    cancelled = broker.admin.cancel(broker.inspector.job(ids[1]))  # neither stands in the shard of its id
    assert (shard_of(ids[1], SHARDS), cancelled.id) == (0, ids[1])
    assert [job.id for job in broker.inspector.jobs()] == ids[:1]


def test_a_plain_peer_serves_one_shard(broker: Sharded, server: Server, name: str) -> None:
    added = broker.adding([now(n) for n in range(20)])()
    handlers.calls.clear()
    shard = schedule.create(f"{{{name}.1}}", redis=server.url)
    schedule.drain(shard, imports=["tests.handlers"], folder=None)
    mine = {n for n, a in enumerate(added) if shard_of(a.id, SHARDS) == 1}
    assert {call[0] for call in handlers.calls} == mine
    assert broker.inspector.counts().due == 20 - len(mine)


@pytest.mark.parametrize(
    ("sides", "rules", "others"),
    [
        ((Inspector, ByTime, Limits), sharded.INSPECTOR, {"page", "history"}),
        ((History,), sharded.HISTORY, set()),
        ((Admin,), sharded.ADMIN, {"steer"}),
        ((Plans,), sharded.PLANS, set()),
        ((Doctor,), sharded.DOCTOR, set()),
    ],
)
def test_each_member_of_a_side_has_a_rule(sides: tuple[type, ...], rules: dict[str, Any], others: set[str]) -> None:
    members = {member for side in sides for member in vars(side)}
    assert {member for member in members if not member.startswith("_")} == rules.keys() | others


def test_namespaces_of_another_layout_are_spread_by_the_same_rules(server: Server, name: str) -> None:
    """The combinator knows no layout: two namespaces of gocraft/work are listed, counted and changed as one."""
    each = [open_broker(f"{name}-{n}", redis=server.url, layout="gocraft") for n in range(2)]
    whole = Sharded(cast("list[sharded.Part]", each), schedule=name)
    with closing(whole):
        for n in range(6):
            later = NewJob(fn="note", args=(), kwargs={"n": n}, trigger=None, due_ms=FAR_MS + 1000 * n, queued=True)
            each[n % 2].adding([later])()
        jobs = list(whole.inspector.jobs())
        assert [job.kwargs for job in jobs] == [{"n": n} for n in range(6)], "soonest first, over both"
        assert whole.inspector.counts().waiting == 6
        assert cast(ByTime, whole.inspector).ahead([FAR_MS, FAR_MS + 3000, FAR_MS + 6000]) == [3, 3]
        assert whole.admin.cancel(jobs[3]).id == jobs[3].id
        assert [one.inspector.counts().waiting for one in each] == [3, 2]
        assert whole.admin.steer(Paused("fn:note", Pause(reason="migration")))
        assert all(one.inspector.control().paused["fn:note"].reason == "migration" for one in each)
        assert whole.admin.steer(Resumed("fn:note"))
        assert not whole.admin.steer(Resumed("fn:note"))
        with pytest.raises(NotFound):
            whole.admin.cancel(jobs[3])


def test_a_tag_finds_the_jobs_of_every_shard(broker: Sharded) -> None:
    jobs = [at(n) for n in range(20)]
    for n, job in enumerate(jobs):
        job.terms = Terms(tags=("all", f"of:{n % 2}"))
    added = broker.adding(jobs)()
    homes = {shard_of(one.id, SHARDS) for one in added}
    assert len(homes) == SHARDS
    found = list(broker.inspector.jobs(tagged=("of:1",)))
    assert [job.args for job in found] == [(n,) for n in range(1, 20, 2)]
    where = Where(terms=(Term(field="tag", test=Has(texts=("all",), whole=True)),))
    first = broker.inspector.page(JobQuery(where=where, limit=15))
    rest = broker.inspector.page(JobQuery(where=where, limit=15, after=first.after))
    assert [job.args for job in (*first.jobs, *rest.jobs)] == [(n,) for n in range(20)]


def test_a_lasting_key_is_in_one_shard_whatever_the_job_is(broker: Sharded) -> None:
    def pay(n: int) -> NewJob:
        job = at(n)
        job.terms, job.entrance = Terms(once_key="pay:1"), Entrance(once_for_ms=60_000)
        return job

    first, *others = (broker.adding([pay(n)])()[0] for n in range(8))
    assert first.new
    assert {(one.new, one.id) for one in others} == {(False, first.id)}
