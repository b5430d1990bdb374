"""One listener has work of every feature in its hands, and is killed: what each feature promises holds all the same.

All scenes share the crash. Each is a generator: it adds, and yields the labels whose runs the victim must have begun;
then, with another listener there, it does what is to be done just before the crash; the rest is after it.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import closing
from functools import partial
from hashlib import sha1
from typing import Any

import pytest

from tests.acceptance import feature_jobs
from tests.acceptance.feature_jobs import RATE_APART, SLACK, TIMEOUT, WAIT, Cast, doubled, most_at_once, watched
from tests.metronome import Metronome
from tests.processes import is_alive, until
from tests.servers import Server, program
from workkit import schedule
from workkit.schedule import Schedule
from workkit.verbs.opening import producer_of

DOWN = 3.5  # seconds without any listener, for what is to catch up
SPREAD = 3  # seconds
RATED = 25  # runs at five a second: the crash falls among them
Steps = Iterator[Sequence[str]]


class Wreck:
    """The victim's work, and those who go on with it."""

    def __init__(self, cast: Cast) -> None:
        self.cast = cast
        self.schedules = {name: cast.schedule(**{"name": name, **HOW.get(name, {})}) for name in SCENES}
        self.steps = {name: SCENES[name](self, s) for name, s in self.schedules.items()}
        self.killed_at = 0.0
        self.machine = Metronome()

    @property
    def soon(self) -> float:
        """Seconds after a crash within which its runs are begun elsewhere."""
        return TIMEOUT + SLACK + self.machine.slack

    def happen(self) -> None:
        names = [s.name for s in self.schedules.values()]
        (self.victim,) = self.cast.listeners(1, names, threads=60)
        labels = [label for steps in self.steps.values() for label in next(steps)]
        self.cast.begun(*labels)
        with_others = [name for name in names if name != "catch_up"]
        self.rescuers = self.cast.listeners(1, with_others, threads=60)
        for steps in self.steps.values():
            next(steps)
        self.killed_at = self.cast.kill(self.victim)
        until(lambda: time.time() - self.killed_at > DOWN, what="the late listener's turn")
        self.rescuers += self.cast.listeners(1, ["catch_up"])

    def again(self, *labels: str, since: float | None = None) -> None:
        """The victim's run of each label runs elsewhere, in time."""
        for label in labels:
            found = until(partial(self.cast.elsewhere, label, self.victim.pid), what=f"{label} elsewhere", timeout=WAIT)
            assert found[0]["at"] - (since or self.killed_at) <= self.soon, label

    def after(self, label: str, number: int = 1) -> list[Any]:
        """So many runs of a label that were begun after the crash."""

        def found() -> list[Any]:
            return [line for line in self.cast.starts(label) if line["at"] > self.killed_at]

        until(lambda: len(found()) >= number, what=f"{number} more runs of {label}", timeout=WAIT)
        return found()

    def reaped(self, s: Schedule) -> None:
        """Wait until what it held was handed back, and somebody has looked at it."""
        pid = self.victim.pid
        until(lambda: pid not in {one.pid for one in schedule.listeners(s)}, what="a reap")
        with closing(self.cast.server.client()) as client:
            until(lambda: not client.llen(f"{s.name}:wake"), what="a look")


def cpu(wreck: Wreck, s: Schedule) -> Steps:
    """The child of a killed listener ends, and its run goes on in a child of another."""
    cast = wreck.cast
    schedule.add_now(s, feature_jobs.hold_cpu, args=["cpu"])
    yield ["cpu"]
    (first,) = cast.starts("cpu")
    assert first["pid"] != first["listener"] == wreck.victim.pid
    yield []
    until(lambda: not is_alive(first["pid"]), what="the end of the child")
    wreck.again("cpu")
    second = cast.starts("cpu")[1]
    assert second["pid"] != second["listener"] == wreck.rescuers[0].pid
    cast.open("cpu")
    cast.done("cpu")


def names(wreck: Wreck, s: Schedule) -> Steps:
    """A name stays with the one-shot until its run elsewhere has ended, and what is added under it waits as long. A run
    of a recurring job that was replaced is given up.
    """
    cast = wreck.cast
    add = partial(schedule.add_now, s, feature_jobs.hold)
    kept = add(args=["fan-out"], name="fan-out", on_conflict="keep")
    schedule.add_now(s, feature_jobs.hold, args=["import-1"], name="import")
    old = schedule.add(s, feature_jobs.hold, every="second", args=["tick-1"], name="tick", overlap="skip")
    yield ["fan-out", "import-1", "tick-1"]
    assert schedule.add_now(s, feature_jobs.hold, args=["import-2"], name="import").new
    new = schedule.add(s, feature_jobs.note, every="second", args=["tick-2"], name="tick", overlap="skip")
    assert new.replaced == old.id
    yield []
    again = [add(args=["fan-out"], name="fan-out", on_conflict="keep")]
    wreck.again("fan-out", "import-1")
    again.append(add(args=["fan-out"], name="fan-out", on_conflict="keep"))
    assert [(one.new, one.id) for one in again] == [(False, kept.id)] * 2
    assert cast.starts("import-2") == []
    cast.open("fan-out", "import-1", "import-2")
    cast.done("fan-out", "import-1", "import-2")
    assert most_at_once(cast.story("import-1", "import-2")) == 1
    assert wreck.after("tick-2", 2)[0]["at"] - wreck.killed_at <= wreck.soon
    assert len(cast.starts("tick-1")) == 1
    assert schedule.cancel(s, "tick").id == new.id


def unique(wreck: Wreck, s: Schedule) -> Steps:
    """The key stays with the job until its run elsewhere has ended; what replaces it waits as long."""
    cast = wreck.cast

    def add(label: str, **how: Any) -> Any:
        return schedule.add_now(s, feature_jobs.hold, args=[label], **how)

    kept = add("kept", unique_key="kept")
    add("old", unique_key="newest")
    add("first", unique_key="begun", unique_until="started")
    yield ["kept", "old", "first"]
    assert add("new", unique_key="newest", on_conflict="replace").new
    assert add("second", unique_key="begun", unique_until="started").new
    yield []
    refused = [add("other", unique_key="kept")]
    wreck.again("kept", "old", "first")
    refused.append(add("other", unique_key="kept"))
    assert [(one.new, one.id) for one in refused] == [(False, kept.id)] * 2
    assert cast.starts("new") == []
    cast.open("kept", "old", "first", "second", "new", "other")
    until(lambda: add("other", unique_key="kept").new, what="the key")
    cast.done("kept", "old", "first", "second", "new", "other")
    assert most_at_once(cast.story("old", "new")) == 1


def overlap(wreck: Wreck, s: Schedule) -> Steps:
    """What the killed run stands in the way of waits until it has run elsewhere, or is seen to be cancelled."""
    cast = wreck.cast
    jobs = [
        schedule.add(s, feature_jobs.hold, every="second", args=["skip"], overlap="skip"),
        schedule.add(s, feature_jobs.hold, every="second", args=["queue"], overlap="queue"),
        schedule.add(s, feature_jobs.sleep_in_one, every="second", args=["cancel"], overlap="cancel"),
    ]
    yield ["skip", "queue", "cancel"]
    until(lambda: schedule.counts(s).held == 2, what="one of queue and of cancel to be parked")
    until(lambda: {one.id for one in schedule.missed(s)} == {one.id for one in jobs}, what="all to be in the way")
    cast.open("cancel")  # for those that come after it
    yield []
    wreck.again("skip", "queue")
    cast.open("skip", "queue")
    for label in ("skip", "queue", "cancel"):
        wreck.after(label, 3)
        dues = [line["due"] for line in cast.starts(label)]
        assert dues == sorted(dues)
        assert dues.count(dues[0]) == (1 if label == "cancel" else 2)
        assert most_at_once(cast.story(label)) == 1
    assert {one.reason for one in schedule.missed(s)} == {"overlap"}
    for one in jobs:
        schedule.cancel(s, one)


def catch_up(wreck: Wreck, s: Schedule) -> Steps:
    """No listener is there for some seconds."""
    cast = wreck.cast
    hows: dict[str, dict[str, Any]] = {
        "all": {"catch_up": "all"},
        "once": {},
        "late": {"catch_up": "skip", "catch_up_within": "2s"},
    }
    jobs = [schedule.add(s, feature_jobs.note, every="second", args=[label], **how) for label, how in hows.items()]
    yield list(hows)
    yield []
    began = cast.lines("said listening", pid=wreck.rescuers[1].pid)[0]["at"]
    dues = {}
    for label in hows:
        wreck.after(label, 5)
        dues[label] = sorted({line["due"] for line in cast.starts(label)})
    assert dues["all"] == list(range(dues["all"][0], dues["all"][-1] + 1, 1000))
    missed = [due for due in dues["once"] if wreck.killed_at * 1000 < due < (began - 1) * 1000]
    assert len(missed) == 1, "the first tick that was missed, late"
    assert max(line["at"] - line["due"] / 1000 for line in wreck.after("late")) < 2 + SLACK - 1 + wreck.machine.slack
    assert [one.reason for one in schedule.missed(s) if one.id == jobs[2].id][-1:] == ["late"]
    for one in jobs:
        schedule.cancel(s, one)


def counted(wreck: Wreck, s: Schedule) -> Steps:
    """What was admitted before the crash counts once; a spread is the same on every listener."""
    cast = wreck.cast
    twice = schedule.add(s, feature_jobs.hold, every="second", args=["twice"], count=2)
    offsets = {name: int(sha1(name.encode()).hexdigest()[:8], 16) % (SPREAD * 1000) // 1000 for name in ("a", "b")}
    assert len(set(offsets.values())) == 2
    for name in offsets:
        schedule.add(s, feature_jobs.note, every=f"{SPREAD} seconds", args=[name], name=name, spread=f"{SPREAD}s")
    yield ["twice", "twice"]
    yield []
    wreck.again("twice")
    cast.open("twice")
    cast.done("twice", "twice")
    until(lambda: twice.id not in {one.id for one in schedule.jobs(s)}, what="the end of the job")
    assert len({line["due"] for line in cast.starts("twice")}) == 2
    for name, offset in offsets.items():
        wreck.after(name, 2)
        assert {line["due"] // 1000 % SPREAD for line in cast.starts(name)} == {offset}
        schedule.cancel(s, name)


def limits(wreck: Wreck, s: Schedule) -> Steps:
    """The slots stay with the killed runs; what waits goes on when these have ended elsewhere."""
    cast = wreck.cast
    for _ in range(5):
        schedule.add_now(s, feature_jobs.limited, args=["limited"])
        for customer in ("a", "b"):
            schedule.add_now(s, feature_jobs.limited_by, args=["of", customer])
    yield ["limited", "limited", "of-a", "of-b"]
    until(lambda: schedule.counts(s).held == 3 + 4 + 4, what="the others to be parked")
    schedule.cancel(s, next(one for one in schedule.jobs(s, state="held") if one.args == ("limited",)))
    yield []
    wreck.again("limited", "of-a", "of-b")
    cast.open("limited", "of")
    for label, number, most in (("limited", 4, 2), ("of-a", 5, 1), ("of-b", 5, 1)):
        cast.done(*[label] * number)
        assert most_at_once(cast.story(label)) == most


def wide(wreck: Wreck, s: Schedule) -> Steps:
    """The same for the limit of a schedule; one of those that wait has the slot of its function already."""
    cast = wreck.cast
    for _ in range(4):
        schedule.add_now(s, feature_jobs.hold, args=["wide"])
    yield ["wide", "wide"]
    for _ in range(2):
        schedule.add_now(s, feature_jobs.limited_by, args=["wide", "both"])
    until(lambda: schedule.counts(s).held == 4, what="the others to be parked")
    yield []
    wreck.again("wide")
    cast.open("wide")
    cast.done(*["wide"] * 4, *["wide-both"] * 2)
    assert most_at_once(cast.story("wide", "wide-both")) == 2
    assert most_at_once(cast.story("wide-both")) == 1


def rate(wreck: Wreck, s: Schedule) -> Steps:
    """Turns that were taken stay taken. Urgent jobs overtake those that the rate holds, also after the crash."""
    began = time.time()
    schedule.add_many(s, [{"fn": feature_jobs.rated, "at": "now", "args": ["rated"]}] * RATED)
    yield ["rated"]
    schedule.add_many(s, [{"fn": feature_jobs.rated, "at": "now", "args": ["rated-urgent"], "priority": 3}] * 2)
    yield []
    wreck.cast.done(*["rated"] * RATED, *["rated-urgent"] * 2)
    urgent = {line["id"]: line["at"] for line in reversed(wreck.cast.starts("rated-urgent"))}
    first = {line["id"]: line["at"] for line in reversed(wreck.cast.starts("rated"))} | urgent
    assert [n for n, at in enumerate(sorted(first.values())) if at < began + n * RATE_APART] == []
    assert urgent.keys().isdisjoint(sorted(first, key=first.__getitem__)[-5:])


def priority(wreck: Wreck, s: Schedule) -> Steps:
    """A job with a priority runs again like any other, and is not left in its index; so does one that was asked for."""
    cast = wreck.cast
    schedule.add_now(s, feature_jobs.hold, args=["urgent"], priority=3)
    schedule.add(s, feature_jobs.note, every="second", args=["urgent-tick"], priority=2, name="urgent-tick")
    schedule.add(s, feature_jobs.hold, every="day at 00:00", args=["asked"], priority=1, name="asked")
    schedule.run(s, "asked")
    yield ["urgent", "urgent-tick", "asked"]
    yield []
    wreck.again("urgent", "asked")
    cast.open("urgent", "asked")
    cast.done("urgent", "asked")
    wreck.after("urgent-tick", 2)
    schedule.cancel(s, "urgent-tick")
    schedule.cancel(s, "asked")


def pause(wreck: Wreck, s: Schedule) -> Steps:
    """What a paused schedule's dead listener held is not run before the pause is over."""
    cast = wreck.cast
    schedule.add_now(s, feature_jobs.hold, args=["asleep"])
    yield ["asleep"]
    schedule.pause(s, reason="migration")
    schedule.add_now(s, feature_jobs.note, args=["after"])
    yield []
    wreck.reaped(s)
    assert (len(cast.starts("asleep")), cast.starts("after")) == (1, [])
    schedule.resume(s)
    wreck.again("asleep", since=time.time())
    cast.open("asleep")
    cast.done("asleep", "after")


def pause_parts(wreck: Wreck, s: Schedule) -> Steps:
    """The same for a function, and for one job."""
    cast = wreck.cast
    schedule.add_now(s, feature_jobs.guarded, args=["by-fn"])
    schedule.add(s, feature_jobs.hold, every="second", args=["by-name"], name="by-name", overlap="skip")
    yield ["by-fn", "by-name"]
    schedule.pause(s, fn=feature_jobs.guarded)
    schedule.pause(s, "by-name")
    yield []
    wreck.reaped(s)
    until(lambda: schedule.counts(s).paused >= 3, what="both runs, and the next tick, to be parked")
    assert [len(cast.starts(label)) for label in ("by-fn", "by-name")] == [1, 1]
    cast.open("by-fn", "by-name")
    schedule.resume(s, fn=feature_jobs.guarded)
    schedule.resume(s, "by-name")
    wreck.again("by-fn", "by-name", since=time.time())
    cast.done("by-fn", "by-name", "by-name")
    schedule.cancel(s, "by-name")


def progress(wreck: Wreck, s: Schedule) -> Steps:
    """What a run has said goes with its listener; the run elsewhere says its own."""
    cast = wreck.cast
    job = schedule.add_now(s, feature_jobs.tell, args=["telling"])
    yield ["telling"]
    until(lambda: schedule.job(s, job).progress == f"in {wreck.victim.pid}")
    assert [key.split(":")[3] for key in cast.left(s) if ":progress:" in key] == [str(wreck.victim.pid)]
    yield []
    wreck.again("telling")
    until(lambda: schedule.job(s, job).progress == f"in {wreck.rescuers[0].pid}")
    assert [key.split(":")[3] for key in cast.left(s) if ":progress:" in key] == [str(wreck.rescuers[0].pid)]
    cast.open("telling")
    cast.done("telling")


def middleware(wreck: Wreck, s: Schedule) -> Steps:
    """It stands around the run elsewhere too."""
    cast = wreck.cast
    schedule.add_now(s, feature_jobs.hold, args=["watched"])
    yield ["watched"]
    yield []
    wreck.again("watched")
    cast.open("watched")
    cast.done("watched")
    (after,) = until(lambda: cast.lines("after", label="watched"))
    assert after["pid"] == wreck.rescuers[0].pid
    before = [line["pid"] for line in cast.lines("before", label="watched")]
    assert before == [wreck.victim.pid, wreck.rescuers[0].pid]


def cancelled(wreck: Wreck, s: Schedule) -> Steps:
    """What was cancelled never runs again, whether its listener had heard of it or not. Right before the crash."""
    cast = wreck.cast
    jobs = {
        "thread": schedule.add_now(s, feature_jobs.hold, args=["thread"]),
        "coroutine": schedule.add_now(s, feature_jobs.hold_async, args=["coroutine"]),
        "again": schedule.add(s, feature_jobs.hold, every="second", args=["again"], overlap="skip"),
    }
    yield list(jobs)
    for job in jobs.values():
        assert schedule.cancel(s, job).state == "cancelling"
    yield []
    wreck.reaped(s)
    until(lambda: not list(schedule.jobs(s)), what="the end of what was cancelled")
    assert {label: len(cast.starts(label)) for label in jobs} == dict.fromkeys(jobs, 1)
    assert schedule.counts(s).dead == 0


SCENES: dict[str, Callable[[Wreck, Schedule], Steps]] = {
    scene.__name__: scene
    for scene in (
        cpu, names, unique, overlap, catch_up, counted, limits, wide, rate, priority, pause, pause_parts, progress,
        middleware, cancelled,
    )
}  # fmt: skip
HOW: dict[str, dict[str, Any]] = {"wide": {"limit": 2}, "middleware": {"name": watched.name}}


@pytest.fixture(scope="module")
def wreck(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Wreck]:
    server = Server(program("redis"), folder=tmp_path_factory.mktemp("redis"), is_durable=False)
    with closing(server), closing(Cast(server, tmp_path_factory.mktemp("cast"))) as cast:
        server.start()
        wreck = Wreck(cast)
        with closing(wreck.machine):
            wreck.happen()
            yield wreck


@pytest.mark.parametrize("scene", SCENES)
def test_after_a_crash(wreck: Wreck, scene: str) -> None:
    for _ in wreck.steps[scene]:
        raise AssertionError("a scene yields twice")
    wreck.cast.tidy(wreck.schedules[scene])


def test_nothing_else_ran_twice_or_died_and_the_others_end_in_order(wreck: Wreck) -> None:
    cast = wreck.cast
    assert doubled(cast.story()) == []
    assert cast.lines("said dead", "said fenced", "said cannot_run") == []
    found = [one for s in wreck.schedules.values() for one in producer_of(s).doctor.checkup(patience_ms=0)]
    assert [one for one in found if one.schedule] == []
    cast.stop(*wreck.rescuers)
