"""A schedule with a listener in this process, and every call of the native layout that can be made of it, as the tests
of hostile values make them.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import closing, contextmanager, suppress
from dataclasses import dataclass, field
from itertools import pairwise
from math import isfinite
from typing import Any

from tests.acceptance.hostile_texts import FN, IDS, PAST
from tests.acceptance.hostile_values import Aim
from workkit.brokers.native.broker import NativeBroker
from workkit.brokers.native.change.admin import NativeAdmin
from workkit.brokers.native.doctor import NativeDoctor
from workkit.brokers.native.doctor.our_keys import Hidden
from workkit.brokers.native.keys import Keys
from workkit.brokers.native.look.inspector import NativeInspector
from workkit.brokers.native.look.published import Places, Published
from workkit.brokers.redis_server.connecting import connect
from workkit.brokers.redis_server.script import Script
from workkit.brokers.redis_server.server import PendingCalls, Server
from workkit.contract.admin import Author, Limited, Marked, NextRun, Paused, Quieted, Resumed, Undo
from workkit.contract.groups import group_id
from workkit.contract.history import ALL, Cell, Counted, Sample
from workkit.contract.listener import Claim, Ending, ListenerInfo
from workkit.contract.producer import (
    After,
    Before,
    BulkPlace,
    BulkStep,
    CodePlan,
    GroupStep,
    NewGroup,
    NewJob,
    PlanMark,
)
from workkit.errors import ChangedMeanwhile, InvalidOptions, NotFound
from workkit.jobs.admission import Pause, admission
from workkit.jobs.arguments import KnownFunction
from workkit.jobs.job import Job
from workkit.jobs.outcome import Again, Dead, Done, Failure, Ran, Released
from workkit.jobs.terms import Entrance, Terms
from workkit.tracing import TraceContext
from workkit.triggers import cron

INFO = ListenerInfo(
    listener="", host="here", pid=1, version="0", schedules={}, threads=1, functions=(KnownFunction(fn="good"),)
)
FAILURE = Failure(type="OSError", message="disk full", where="app.py:3", traceback="...")
LEGITIMATE = (NotFound, InvalidOptions, ChangedMeanwhile)
DAILY = cron("* * * * 9 0 0")
LIMITS = ("unique:good", "over:good", "fn:good")


class Noting:
    """A server that notes which scripts are asked for."""

    def __init__(self, inner: Any, asked: set[str]) -> None:
        self._inner, self.asked = inner, asked

    def __getattr__(self, name: str) -> Any:
        return getattr(self._inner, name)

    def ask(self, calls: Sequence[tuple[Script, Any, Any]]) -> PendingCalls:
        self.asked |= {script.name for script, _, _ in calls}
        asked: PendingCalls = self._inner.ask(calls)
        return asked

    def exchange(self, calls: Any) -> Any:
        return self._inner.answers(self.ask(calls))

    def call(self, script: Any, keys: Any, args: Any) -> Any:
        return self.exchange([(script, keys, args)])[0]

    run = Server.run


@dataclass(slots=True, kw_only=True)
class Scene:
    """One schedule, a listener on it, and what it holds."""

    client: Any
    broker: NativeBroker
    inspector: NativeInspector
    admin: NativeAdmin
    doctor: NativeDoctor
    keys: Keys
    claims: list[Claim] = field(default_factory=list)

    @property
    def aim(self) -> Aim:
        """What values may point at: everything is hostile here."""
        seconds, micros = self.client.time()
        return Aim(
            now_ms=seconds * 1000 + micros // 1000,
            listeners=(self.broker.listener,),
            limits=LIMITS,
            names=("good",),
            uniques=("good",),
            producers=tuple(producer.token for producer in self.broker._producers),
            has_fences=True,
        )


@contextmanager
def scene(url: str, client: Any, name: str, asked: set[str]) -> Iterator[Scene]:
    """A schedule whose producer has added, and whose listener is there."""
    server: Any = Noting(connect(url), asked)
    broker = NativeBroker(server, schedule=name)
    with closing(broker):
        broker.adding([_once()])()
        broker.register(INFO)
        yield Scene(
            client=client,
            broker=broker,
            inspector=broker.inspector,
            admin=broker.admin,
            doctor=broker.doctor,
            keys=Keys(name),
        )


def _once(*args: Any, **terms: Any) -> NewJob:
    given = Terms(**terms) if terms else Terms()
    return NewJob(fn="#'app/good", args=args, kwargs=None, trigger=None, due_ms=None, queued=not terms, terms=given)


def _recurring(*args: Any, **terms: Any) -> NewJob:
    return NewJob(fn=FN, args=args, kwargs=None, trigger=DAILY, due_ms=PAST, terms=Terms(**terms))


# Calls. Each is one step of a schedule's life.


def _claim(s: Scene) -> None:
    s.claims += s.broker.claim(60).claims


def _admit(s: Scene) -> None:
    control = s.broker._session.control
    asked = []
    for claim in s.claims:
        if claim.trouble is None:
            kwargs = claim.kwargs or {}
            wanted = admission(
                id=claim.id, fn=claim.fn, args=claim.args, kwargs=kwargs, terms=claim.terms, options=claim.options,
                control=control,
            )  # fmt: skip
            if wanted is not None or not claim.armed:
                asked.append((claim, wanted))
    if asked:
        ready = [claim for claim in s.claims if all(claim is not one for one, _ in asked)]
        s.claims = ready + list(s.broker.admit(asked).claims)


_OUTCOMES = (
    Done(),
    Again(delay_ms=0, attempt=1, failure=FAILURE),
    Dead(failure=FAILURE, reason="failed"),
    Released(delay_ms=0),
    Released(delay_ms=0, unknown=True),
    Done(discarded="no"),
)


def _settle(s: Scene) -> None:
    claims, s.claims = s.claims, []
    ends: list[Ending] = [(c, _OUTCOMES[n % len(_OUTCOMES)]) for n, c in enumerate(claims) if c.armed or c.trouble]
    ends += [(claim, Released(delay_ms=0)) for claim in claims if not (claim.armed or claim.trouble)]
    turn = s.broker.claim(60, ends=ends)
    s.claims += turn.claims


def _beat(s: Scene) -> None:
    s.broker.beating()()
    s.broker.maintain()


def _reap(s: Scene) -> None:
    """Whoever else is listed, as if it had been seen twice."""
    for name, beat in s.client.zrange(s.keys.listeners, 0, -1, withscores=True):
        if name.decode("utf-8", "replace") != s.broker.listener and isfinite(beat):
            s.broker._session.reap(name.decode("utf-8", "replace"), beat)


def _dead(s: Scene, most: int) -> list[Job]:
    """Dead jobs by their ids alone, and one that is none: those that cannot be listed are retried and discarded too."""
    names = [name.decode("utf-8", "replace") for name in s.client.zrange(s.keys.dead, 0, most - 1)] + ["none"]
    return [Job(id=name, schedule=s.keys.schedule, fn="?", dead_id=name) for name in names]


def _tell(s: Scene) -> None:
    s.broker.tell({claim.receipt: '"half"' for claim in s.claims}, [(claim, "a line") for claim in s.claims])


def _resync(s: Scene) -> None:
    """What the server has forgotten: its number is a lower one."""
    s.broker.claim(1)
    s.broker.claim(1)
    s.client.hset(s.keys.running(s.broker.listener), "@", 0)
    s.claims += s.broker.claim(10).claims


def _put(s: Scene) -> None:
    s.broker.adding([_once(n, name="good", unique_key="good", priority=1) for n in range(2)])()
    s.broker.adding(
        [_once(3, name="hostile"), _once(4, unique_key="hostile"), _recurring(5, name="good", overlap="queue")]
    )()
    more = [_once(6, name="other"), _once(7, unique_key="other"), _once(8, priority=2)]
    more[0].entrance, more[1].entrance = Entrance(throttle_ms=5, window_key="hostile"), Entrance(replace=True)
    more[2].entrance = Entrance(debounce_ms=5, window_key="hostile")
    s.broker.adding([*more, _once(9, within_ms=1), _recurring(10, within_ms=1)])()


def _batch(s: Scene) -> None:
    """Fill batches, of which others may know the first, and add jobs that wait for what others have written."""
    for name in ("hostile", f"good {s.broker.now_ms()}"):
        places = [BulkPlace(id=group_id(name), rows=rows, digest=f"{rows:040x}") for rows in (0, 2, 3)]
        for n, (before, after) in enumerate(pairwise(places)):
            makes = NewGroup(then=_once(f"then {name}", then_of=name), on_death="cancel") if n == 0 else None
            step = BulkStep(before=before, after=after, group=GroupStep(name=name, makes=makes, closes=n == 1))
            rows = [_once(row, batch=name) for row in range(before.rows, after.rows)]
            with suppress(*LEGITIMATE):
                s.broker.adding(rows, step=step)()
        with suppress(*LEGITIMATE):
            s.broker.adding([_once("more", batch=name)])()
    for one in (Before("job", IDS[0]), Before("name", "hostile"), Before("name", "good"), Before("batch", "hostile")):
        new = _once("after", after="0" * 16)
        new.after = After(before=(one, Before("job", IDS[-1], is_known=True)), on_death="run")
        with suppress(*LEGITIMATE):
            s.broker.adding([new])()


def _traced(s: Scene) -> None:
    jobs = [_once("traced", 1), _once("traced", 2, name="traced")]
    for job in jobs:
        job.trace = TraceContext(f"00-{'a' * 32}-{'b' * 16}-01")
    s.broker.adding(jobs)()


def _count(s: Scene) -> None:
    cell, sample = Cell(done=1, late=1), Ran(late_ms=2000, took_ms=3)
    cell.lateness.counts[5] += 1
    sampled = [
        Sample(id=claim.id, name=None, fn=claim.fn, due_ms=0, ran=sample, attempt=0, times=1) for claim in s.claims
    ]
    assert s.broker.count is not None
    s.broker.count(Counted(cells={ALL: cell, f"fn:{FN}": cell}, samples=sampled))


def _each(s: Scene, act: Callable[[Any], object]) -> None:
    for id in IDS[:8]:
        with suppress(*LEGITIMATE):
            act(s.inspector.job(id))


def _plans(s: Scene) -> None:
    """Have a plan hold, add a job of it, and withdraw all that it made."""
    plans = s.broker.plans
    plans.decide([CodePlan(source="other", digest="1")], mode="look")
    (verdict,) = plans.decide([CodePlan(source="good", digest="1", written_ms=1)], mode="back")
    new = NewJob(fn=FN, args=(), kwargs=None, trigger=DAILY, due_ms=s.broker.now_ms() + 60_000)
    new.terms = Terms(name="planned")
    new.plan = PlanMark(source="good", generation=verdict.generation, ends=False)
    s.broker.adding([new])()
    plans.withdraw(["planned", *plans.made()], source="good", generation=verdict.generation)


def _undone(s: Scene, job: Job) -> None:
    """Skip, run and cancel it, and undo what can be undone, the last change first."""
    undos: list[Undo] = []
    admin = s.admin.by(None, undos=undos)
    for verb in (lambda job: admin.reschedule([job], NextRun()), admin.run, admin.cancel):
        with suppress(*LEGITIMATE):
            verb(job)
    for undo in reversed(undos):
        with suppress(*LEGITIMATE):
            admin.steer(undo)


def _repair(s: Scene) -> None:
    for finding in list(s.doctor.checkup(patience_ms=0)):
        s.doctor.repair(finding)


def _restore(s: Scene) -> None:
    """Whatever stands in S:again is called hidden: the script tells what is."""
    places = Places(server=s.inspector.server, keys=s.keys, codec=s.inspector.codec, now_ms=s.aim.now_ms)
    if s.client.type(s.keys.again) == b"zset":
        Hidden(entries=tuple(s.client.zrange(s.keys.again, 0, -1))).repair(places)


def _wire(s: Scene) -> None:
    places = Places(server=s.inspector.server, keys=s.keys, codec=s.inspector.codec, now_ms=s.aim.now_ms)
    published = Published(places=places)
    list(published.pairs(soonest_first=True))
    list(published.pairs(soonest_first=False))
    published.counts()


def _targets(s: Scene) -> None:
    for target in ("job:hostile", f"job:{IDS[0]}", f"fn:{FN}", "schedule"):
        s.admin.steer(Paused(target, Pause(reason="x")))
        s.admin.steer(Resumed(target))


CALLS: dict[str, Callable[[Scene], object]] = {
    "add": lambda s: s.broker.adding([_once(1), _once(2), _recurring(3)])(),
    "put": _put,
    "batch": _batch,
    "claim": _claim,
    "beat": _beat,
    "reap": _reap,
    "admit": _admit,
    "tell": _tell,
    "add traced": _traced,
    "traces": lambda s: s.broker.traces_of(s.claims),
    "count": _count,
    "note": lambda s: s.admin.by(Author(by="somebody")).note("sync", {"added": ["good"]}),
    "mark": lambda s: s.admin.by(Author(by="somebody")).steer(Marked("release 41")),
    "settle": _settle,
    "claim again": _claim,
    "admit again": _admit,
    "settle again": _settle,
    "counts": lambda s: s.inspector.counts(),
    "jobs waiting": lambda s: list(s.inspector.jobs(state="waiting")),
    "jobs named": lambda s: list(s.inspector.jobs(named=["good", "*o*"])),
    "functions": lambda s: s.inspector.history.functions(
        since_ms=s.aim.now_ms - 10**9, until_ms=s.aim.now_ms, tier="h"
    ),
    "jobs running": lambda s: list(s.inspector.jobs(state="running")),
    "jobs retrying": lambda s: list(s.inspector.jobs(state="retrying")),
    "jobs held": lambda s: list(s.inspector.jobs(state="held")),
    "jobs dead": lambda s: list(s.inspector.jobs(state="dead")),
    "jobs": lambda s: list(s.inspector.jobs()),
    "named": lambda s: s.broker.plans.named(),
    "listeners": lambda s: s.inspector.listeners(),
    "missed": lambda s: list(s.inspector.history.missed()),
    "control": lambda s: s.inspector.control(),
    "changes": lambda s: list(s.inspector.history.changes()),
    "knows": lambda s: s.inspector.history.knows(),
    "refused": lambda s: s.inspector.history.refused([one.listener for one in s.inspector.listeners()]),
    "log": lambda s: _each(s, s.inspector.history.log),
    "job by id": lambda s: _each(s, lambda job: None),
    "job nowhere": lambda s: s.inspector.job("nowhere"),
    "job by beginning": lambda s: s.inspector.job("abcdef"),
    "wire": _wire,
    "targets": _targets,
    "undo": lambda s: _each(s, lambda job: _undone(s, job)),
    "run": lambda s: _each(s, s.admin.run),
    "skip": lambda s: _each(s, lambda job: s.admin.reschedule([job], NextRun())),
    "retry": lambda s: s.admin.retry(_dead(s, 100)),
    "retry with args": lambda s: s.admin.retry(_dead(s, 5), args=[1]),
    "discard": lambda s: s.admin.discard(_dead(s, 100)),
    "declare": lambda s: s.admin.steer(Limited(limit=5, turn_ms=None)),
    "declare nothing": lambda s: s.admin.steer(Limited(limit=None, turn_ms=None)),
    "plans": _plans,
    "cancel": lambda s: _each(s, s.admin.cancel),
    "interrupt": lambda s: _each(s, lambda job: s.admin.cancel(job, listener=s.broker.listener)),
    "quiet": lambda s: s.admin.steer(Quieted(s.broker.listener, True)),
    "listen": lambda s: s.admin.steer(Quieted(s.broker.listener, False)),
    "checkup": lambda s: list(s.doctor.checkup(patience_ms=0)),
    "restore": _restore,
    "repair": _repair,
    "resync": _resync,
    "leave": lambda s: s.broker.leave(),
}
NEEDS = {  # calls that another prepares
    "admit": ("claim",), "tell": ("claim",), "traces": ("claim",), "count": ("claim",),
    "settle": ("claim", "admit"), "claim again": ("claim",), "admit again": ("claim", "admit", "settle"),
    "settle again": ("claim", "admit", "settle"),
}  # fmt: skip
