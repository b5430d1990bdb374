"""Batches, `map`, `chain` and `after`, on a real server with listeners in this process: what the program writes, and
what it sees.
"""

from __future__ import annotations

import asyncio
import itertools
import signal
import sys
from collections.abc import Iterator
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import Any, cast

import pytest

from tests.processes import ROOT, Processes, until
from tests.servers import Server
from workkit import aio, call, current_job, job, schedule
from workkit.contract.groups import Ending
from workkit.errors import InvalidOptions, NotFound, Unsupported
from workkit.events import Event, subscribe
from workkit.jobs.job import Job
from workkit.verbs import batch as verbs
from workkit.verbs.new_job import FILLED
from workkit.verbs.opening import groups_of, producer_of

HOW: dict[str, Any] = {"imports": [__name__], "folder": None}
RAN: list[Any] = []
COUNT = itertools.count()
DAY = "2027-03-01"
FAN_OUT = """
import sys
from tests.test_groups import load, report
from workkit import schedule
s = schedule.create(sys.argv[2], redis=sys.argv[1])
schedule.map(s, load, range(5500), name="killed", then=report)
"""


@pytest.fixture
def s(server: Server, name: str) -> schedule.Schedule:
    """An empty schedule on the server of the session."""
    return schedule.create(name, redis=server.url)


@pytest.fixture(autouse=True)
def fresh() -> Iterator[None]:
    RAN.clear()
    yield
    assert not FILLED, "a block has left jobs behind"


@job("groups.load")
def load(part: Any) -> str:
    RAN.append(("load", part))
    if part == "bad":
        raise OSError("no such part")
    return f"{part} rows"


@job(keep="1 hour")  # no job name: a layout without results would refuse it
def kept(part: Any) -> dict[str, Any]:
    return {"part": part}


@job("groups.report")
def report() -> None:
    batch = current_job().batch
    RAN.append(("report", batch.name, batch.total, batch.done, batch.dead, len(list(batch.ids("dead")))))


@job("groups.joined")
def joined() -> None:
    RAN.append(("joined", sorted(value["part"] for _, value in current_job().results)))


@job("groups.step")
def step(word: str, day: str = "") -> None:
    RAN.append((word, day))
    if word == "bad":
        raise OSError("bad day")


@job(cpu=True, keep="1 hour")
def offloaded() -> list[Any]:
    batch = current_job().batch
    return [batch.name, batch.waiting]


@job("groups.grow")
def grow(left: int) -> None:
    RAN.append(("grow", left))
    if left:
        current_job().batch.add(grow, args=[left - 1])


def work(s: schedule.Schedule) -> None:
    """Run what is due, and what follows, until nothing is left that can start."""
    with schedule.listener(s, threads=4, burst=True, **HOW) as listener:
        listener.wait()


def told(word: str) -> list[Any]:
    return [one for one in RAN if one[0] == word]


# What users write.


def test_a_batch_runs_its_jobs_and_then_what_follows(s: schedule.Schedule) -> None:
    with schedule.batch(s, "import 2027-03-01", then=report, on_death="continue") as batch:
        for part in ["a", "bad", "c"]:
            batch.add(load, args=[part])
        assert list(schedule.jobs(s)) == []
    assert schedule.batch(s, "import 2027-03-01").state().waiting == 3
    work(s)
    assert RAN[-1] == ("report", "import 2027-03-01", 3, 2, 1, 1)
    state = schedule.batch(s, "import 2027-03-01").state()
    assert (state.state, state.total, state.done, state.dead, state.waiting) == ("done", 3, 2, 1, 0)
    assert list(state.ids("dead")) == [one.id for one in schedule.dead(s)]
    assert None not in (state.made, state.added, state.settled, state.then)


def test_a_job_starts_when_the_ones_before_have_ended(s: schedule.Schedule) -> None:
    a = schedule.add_now(s, step, args=["extract", DAY])
    b = schedule.add_now(s, step, args=["prices", DAY])
    c = schedule.add_now(s, step, args=["load", DAY], after=[a, b], on_death="cancel")
    assert c.after is not None
    work(s)
    assert RAN[-1] == ("load", DAY)
    assert len(RAN) == 3
    assert schedule.job(s, c).state == "done"


def test_a_job_starts_after_the_next_run_of_a_name(s: schedule.Schedule) -> None:
    schedule.add(s, step, every="day at 2am", name="nightly", args=["nightly"])
    schedule.add_now(s, step, args=["mail"], after="nightly")
    work(s)
    assert RAN == []
    schedule.skip(s, "nightly")  # a run that is left out has ended too, and failed
    work(s)
    assert RAN == []
    with pytest.raises(InvalidOptions, match="no such"):
        schedule.add_now(s, step, args=["mail"], after="no such")


def test_map_adds_a_job_for_each_row_of_an_iterator(s: schedule.Schedule) -> None:
    told_rows: list[int] = []
    made = schedule.map(s, load, (n for n in range(2500)), then=report, progress=told_rows.append)
    assert (made.total, made.waiting) == (2500, 2500)
    assert told_rows == [1000, 2000, 2500]
    work(s)
    assert sorted(part for _, part in told("load")) == list(range(2500))
    assert told("report") == [("report", made.name, 2500, 2500, 0, 0)]


def test_a_chain_runs_in_its_order(s: schedule.Schedule) -> None:
    jobs = schedule.chain(s, [call(step, word, DAY) for word in ("extract", "load", "mail")])
    assert len({one.id for one in jobs}) == 3
    work(s)
    assert RAN == [("extract", DAY), ("load", DAY), ("mail", DAY)]


# What holds of them.


@pytest.mark.parametrize(("on_death", "ran"), [("cancel", ["bad"]), ("run", ["bad", "load", "mail"])])
def test_a_chain_ends_with_its_first_failure_unless_told_otherwise(
    s: schedule.Schedule, on_death: Any, ran: list[str]
) -> None:
    schedule.chain(s, [call(step, word, DAY) for word in ("bad", "load", "mail")], on_death=on_death)
    work(s)
    assert [word for word, _ in RAN] == ran


@pytest.mark.parametrize("size", [0, 1, 3, 1000, 1001, 2000])
def test_a_block_that_runs_again_adds_nothing_twice(s: schedule.Schedule, size: int) -> None:
    for _ in range(3):
        with schedule.batch(s, "again", then=report) as batch:
            for number in range(size):
                batch.add(load, args=[number])
        assert schedule.batch(s, "again").total == size
    work(s)
    with schedule.batch(s, "again", then=report) as batch:
        for number in range(size):
            assert batch.add(load, args=[number]).new is False
    work(s)
    assert sorted(part for _, part in told("load")) == list(range(size))
    assert told("report") == [("report", "again", size, size, 0, 0)]


@pytest.mark.parametrize("reach", [3, 1500])
def test_a_block_with_an_error_stays_open_and_continues_where_it_was(s: schedule.Schedule, reach: int) -> None:
    def rows(broken: bool) -> Iterator[int]:
        yield from range(reach)
        if broken:
            raise OSError("the file ends")
        yield from range(reach, reach + 3)

    with pytest.raises(OSError, match="the file ends"):
        schedule.map(s, load, rows(True), name="file", then=report)
    work(s)
    assert RAN == []
    made = schedule.map(s, load, rows(False), name="file", then=report)
    work(s)
    assert sorted(part for _, part in told("load")) == list(range(reach + 3))
    assert told("report") == [("report", "file", reach + 3, reach + 3, 0, 0)]
    assert made.state().state == "done"


def test_a_map_that_is_killed_anywhere_continues_where_it_was(
    s: schedule.Schedule, server: Server, processes: Processes
) -> None:
    client = server.client()
    kills = 0
    while True:
        child = processes.python(FAN_OUT, server.url, s.name, cwd=ROOT)
        before = client.hlen(f"{s.name}:jobs")
        if kills < 4:
            until(lambda: client.hlen(f"{s.name}:jobs") > before or not child.is_running)  # noqa: B023
            child.send(signal.SIGKILL)
            child.wait()
            kills += 1
        elif child.wait() == 0:
            break
    state = schedule.batch(s, "killed").state()
    assert (state.state, state.total, state.waiting) == ("running", 5500, 5500)
    assert client.hlen(f"{s.name}:jobs") == 5501, "the jobs, and what follows them"
    assert sorted(one.args[0] for one in schedule.jobs(s) if one.batch) == list(range(5500))


@pytest.mark.parametrize(
    ("rows", "said"),
    [([0, 1, "other"], "which are not the first of these: they have changed"),
     ([0, 1], "which are not the first of these: there are only 2"),
     ([0, 1, 2, 3], "which are not the first of these: this is row 4, and it is closed")],
)  # fmt: skip
def test_other_rows_are_refused(s: schedule.Schedule, rows: list[Any], said: str) -> None:
    schedule.map(s, load, range(3), name="rows")
    with pytest.raises(InvalidOptions, match=f'batch "rows" has added 3 rows, {said}'):
        schedule.map(s, load, rows, name="rows")
    assert schedule.batch(s, "rows").total == 3


def test_middleware_may_change_the_arguments_of_a_row(s: schedule.Schedule) -> None:
    @s.middleware(on="add")
    def numbered(one: Any) -> Iterator[Any]:
        yield replace(one, args=(f"{one.args[0]} {next(COUNT)}",))

    for _ in range(2):  # the rows are those that were given
        with schedule.batch(s, "numbered") as batch:
            batch.add(load, args=["a"])
            batch.add(call=call(load, "b"))
    assert batch.total == 2


def test_an_empty_block_closes_what_another_program_left(s: schedule.Schedule) -> None:
    with pytest.raises(OSError), schedule.batch(s, "left", then=report) as batch:  # noqa: PT011, PT012
        for number in range(1001):
            batch.add(load, args=[number])
        raise OSError
    assert schedule.batch(s, "left").state().state == "open"
    with schedule.batch(s, "left"):
        pass
    work(s)
    assert told("report") == [("report", "left", 1000, 1000, 0, 0)]


def test_jobs_of_one_block_run_one_after_the_other(s: schedule.Schedule) -> None:
    with schedule.batch(s, "ordered", then=report) as batch:
        first = batch.add(step, args=["first"])
        second = batch.add(step, args=["second"], after=first)
        third = schedule.add_now(s, step, args=["third"], after=[second])
    assert len({first.id, second.id, third.id}) == 3
    assert schedule.job(s, second.id).batch == "ordered"
    work(s)
    assert [word for word, *_ in RAN if word in ("first", "second", "third")] == ["first", "second", "third"]


def test_a_job_runs_after_a_whole_batch(s: schedule.Schedule) -> None:
    with schedule.batch(s, "whole") as batch:
        batch.add(load, args=["a"])
        batch.add(load, args=["b"])
    schedule.add_now(s, step, args=["after"], after=batch)
    work(s)
    assert RAN[-1] == ("after", "")


def test_a_job_reads_the_results_of_those_before_it(s: schedule.Schedule) -> None:
    before = [schedule.add_now(s, kept, args=[part]) for part in ("a", "b")]
    schedule.add_now(s, joined, after=[*before, schedule.add_now(s, load, args=["unkept"])])
    schedule.map(s, kept, ["c", "d", "e"], then=joined)
    work(s)
    assert sorted(told("joined")) == [("joined", ["a", "b"]), ("joined", ["c", "d", "e"])]


def test_a_member_adds_to_its_own_batch_until_it_has_settled(s: schedule.Schedule) -> None:
    schedule.map(s, grow, [4], name="tree", then=report)
    work(s)
    assert told("report") == [("report", "tree", 5, 5, 0, 0)]
    with pytest.raises(InvalidOptions, match="tree"):
        schedule.batch(s, "tree").add(grow, args=[0])
    assert schedule.batch(s, "tree").total == 5


def test_the_first_death_cancels_the_rest_and_a_listener_tells_it(s: schedule.Schedule) -> None:
    seen: list[Event] = []
    unsubscribe = subscribe(seen.append)
    with schedule.batch(s, "strict", then=report, on_death="cancel") as batch:
        batch.add(load, args=["bad"])
        for number in range(5):
            batch.add(load, in_="1 hour", args=[number])
    schedule.map(s, load, ["a", "bad"], name="lenient")
    try:
        with schedule.listener(s, threads=2, **HOW):
            until(lambda: {one.name for one in seen} >= {"batch_done", "batch_cancelled"})
    finally:
        unsubscribe()
    state = batch.state()
    assert (state.state, state.dead, state.cancelled, state.waiting) == ("cancelled", 1, 5, 0)
    assert told("report") == []
    found = {one.name: one.fields["batch"] for one in seen if one.name.startswith("batch_")}
    assert found == {"batch_done": "lenient", "batch_cancelled": "strict"}


def test_a_cancelled_batch_runs_nothing_more(s: schedule.Schedule) -> None:
    made = schedule.map(s, load, range(3), name="given up", then=report)
    assert made.cancel().state in ("cancelling", "cancelled")
    work(s)
    assert RAN == []
    assert made.state().cancelled == 3
    assert schedule.map(s, load, range(3), name="given up").state().state == "cancelled"


def test_dead_members_run_again_and_then_what_follows(s: schedule.Schedule, monkeypatch: pytest.MonkeyPatch) -> None:
    made = schedule.map(s, load, ["a", "bad"], name="retried", then=report, on_success=call(step, "success"))
    work(s)
    assert told("report") == [("report", "retried", 2, 1, 1, 1)]
    assert schedule.retry(s, made, args=["good"], follow=True) == 1
    assert told("success") == []
    work(s)
    assert told("report")[1:] == [("report", "retried", 2, 2, 0, 0)]
    assert told("success") == [("success", "")]
    assert {one[0] for one in RAN[:4]} == {"load", "report"}, "what follows runs after the job that is run again"
    alone = schedule.map(s, load, ["bad"], name="alone")
    work(s)
    with pytest.raises(InvalidOptions, match='batch "alone" was made without then=: nothing follows it'):
        schedule.retry(s, alone, follow=True)
    assert alone.dead == 1


def test_what_follows_a_batch_has_a_deadline_and_a_monitor(s: schedule.Schedule) -> None:
    with schedule.batch(s, "watched", then=report, done_by="6am", ping="http://127.0.0.1:9/x") as batch:
        batch.add(load, args=["a"])
    then = schedule.job(s, batch.state().then or "")
    assert then.terms.done_by is not None
    assert then.terms.ping == "http://127.0.0.1:9/x"


def test_a_batch_is_past_its_deadline_while_its_members_wait(s: schedule.Schedule) -> None:
    soon = datetime.now(UTC) + timedelta(seconds=1)
    with schedule.batch(s, "late", then=report, done_by=soon) as batch:
        batch.add(load, args=["a"], in_="1 hour")
    (late,) = until(lambda: schedule.counts(s).past_deadline, what="the deadline of what follows")
    assert late.job.id == batch.state().then


def test_coroutines_make_batches_too(s: schedule.Schedule) -> None:
    async def main() -> tuple[int, list[str], int]:
        async with aio.batch(s, "async", then=report) as batch:
            await asyncio.gather(*[batch.add(load, args=[number]) for number in range(3)])
        waiting = [one async for one in batch.ids("waiting")]
        mapped = await aio.map(s, load, [8, 9], name="async map")
        return (await batch.state()).total, waiting, (await mapped.cancel()).total

    total, waiting, mapped = asyncio.run(main())
    assert (total, len(waiting), mapped) == (3, 3, 2)


def test_a_drain_runs_what_waited_too(s: schedule.Schedule) -> None:
    schedule.map(s, load, range(5), name="drained", then=report)
    schedule.chain(s, [call(step, word) for word in ("one", "two", "three")])
    assert schedule.drain(s, **HOW).ran == 9
    assert told("report") == [("report", "drained", 5, 5, 0, 0)]


def test_the_result_of_a_member_is_found_whatever_clock_its_producer_has(
    s: schedule.Schedule, monkeypatch: pytest.MonkeyPatch
) -> None:
    with schedule.batch(s, "ahead") as batch:
        broker = producer_of(s)
        now_ms = broker.now_ms
        monkeypatch.setattr(type(broker), "now_ms", lambda _: now_ms() + 50)
        first = batch.add(kept, args=["a"])
    work(s)
    assert first.result() == {"part": "a"}


def test_a_run_in_a_worker_process_knows_its_batch(s: schedule.Schedule) -> None:
    with schedule.batch(s, "offloaded") as batch:
        first = batch.add(offloaded)
    work(s)
    assert first.result() == ["offloaded", 1]


def test_rows_of_add_many_wait_too(s: schedule.Schedule) -> None:
    first = schedule.add_now(s, step, args=["first"])
    tally = schedule.add_many(s, [{"fn": step, "args": [word], "at": "now", "after": first.id} for word in "ab"])
    assert tally.new == 2
    work(s)
    assert RAN[0] == ("first", "")
    assert sorted(RAN[1:]) == [("a", ""), ("b", "")]


# What is refused.


def unknown_word(s: schedule.Schedule) -> None:
    schedule.batch(s, "x", on_death="stop")  # type: ignore[arg-type]


def recurring(s: schedule.Schedule) -> None:
    with schedule.batch(s, "x") as batch:
        batch.add(load, args=[1], when="every day at 9am")


def in_itself(s: schedule.Schedule) -> None:
    schedule.add(s, load, args=[1], every="day at 9am", after="a")


REFUSED: list[tuple[Any, str]] = [
    (unknown_word, "on_death='stop' is not known. Accepted: cancel, continue."),
    (recurring, 'a job of batch "x" has a time that recurs, and a batch ends. Give it at=, in_= or no time.'),
    (in_itself, "after= with a job that recurs. Let a job that runs once wait, or let the first of them recur."),
    (lambda s: schedule.batch(s, "x", done_by="6am"),
     "done_by='6am' without then=: it tells of the job that runs when the batch is over. Add then=."),
    (lambda s: schedule.batch(s, ""), "name="),
    (lambda s: schedule.chain(s, []), "a chain has 0 calls. Give 1 to 1,000 calls."),
    (lambda s: schedule.add_now(s, load, args=[1], on_death="run"), "without after=: it says what becomes of a job"),
    (lambda s: schedule.add_now(s, load, args=[1], after=[]), "after= names 0 jobs. Accepted: 1 to 10,000."),
    (lambda s: schedule.add_now(s, load, args=[1], after=cast("Any", 7)), "after=7 is no job, name or batch."),
    (lambda s: schedule.add_now(s, load, args=[1], after="0" * 40), "0000"),
    (lambda s: schedule.add_now(s, load, args=[1], after=Job(id="1" * 40, schedule="shop", fn="#'a/b")),
     "after=11111111 is a job of shop. Name jobs of "),
    (lambda s: schedule.retry(s, "x", follow=True), "follow=True without a batch: it repeats what follows one."),
]  # fmt: skip


@pytest.mark.parametrize(("write", "said"), REFUSED, ids=[said[:40] for _, said in REFUSED])
def test_a_mistake_is_named(s: schedule.Schedule, write: Any, said: str) -> None:
    with pytest.raises(InvalidOptions) as caught:
        write(s)
    assert said in str(caught.value)
    assert list(schedule.jobs(s)) == []


@pytest.mark.parametrize(
    ("given", "said"),
    [({"shards": 2}, "cannot be kept with shards=2: each shard would know only its own jobs"),
     ({"layout": "gocraft"}, "cannot be kept by")],
    ids=["shards", "gocraft"],
)  # fmt: skip
def test_a_schedule_without_groups_says_so(server: Server, name: str, given: dict[str, Any], said: str) -> None:
    other = schedule.create(name, redis=server.url, **given)
    for write in (
        lambda: schedule.batch(other, "x"),
        lambda: schedule.map(other, "note", []),
        lambda: schedule.chain(other, [call("note")]),
        lambda: schedule.add_now(other, "note", after="x"),
        lambda: groups_of(other),
    ):
        with pytest.raises(Unsupported, match=said):
            write()


def test_a_batch_that_is_not_there(s: schedule.Schedule) -> None:
    named = schedule.batch(s, "nowhere")
    for read in (named.state, named.cancel, lambda: list(named.ids()), lambda: named.total):
        with pytest.raises(NotFound, match="nowhere"):
            read()
    with pytest.raises(InvalidOptions, match=r'batch "nowhere" does not exist\. Make it: with schedule\.batch'):
        named.add(load, args=[1])
    assert current_job().batch is None
    assert list(current_job().results) == []


def test_the_endings_are_those_of_the_contract() -> None:
    from typing import get_args

    assert set(get_args(Ending)) <= {*schedule.BatchState.__dataclass_fields__}


def test_progress_is_shown_in_a_terminal_only(
    s: schedule.Schedule, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    schedule.map(s, load, range(1001), name="quiet", progress=True)
    assert capsys.readouterr().err == ""
    monkeypatch.setattr(sys.stderr, "isatty", lambda: True)
    monkeypatch.setattr(verbs, "REPORT_SECONDS", 0.0)
    schedule.map(s, load, range(1001), name="told", progress=True)
    assert capsys.readouterr().err.splitlines()[-1].endswith("told: 1,001 rows added")
    assert producer_of(s).inspector.is_known()
