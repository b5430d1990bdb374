"""Random graphs of jobs and batches on a real server, each step beside a pure model of spec/groups.md.

One thread plays the producers, the operator and two listeners, so what happens follows from the seed alone.
``python -m tests.graphs 2000`` plays as many graphs, and prints their seeds.
"""

from __future__ import annotations

import sys
import tempfile
import time
from collections import Counter
from collections.abc import Iterable, Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from random import Random
from typing import Any

from tests.graph_model import Group, Job, Model
from tests.servers import Server, program
from workkit import call, schedule
from workkit.brokers.native.broker import NativeBroker
from workkit.brokers.redis_server.connecting import connect
from workkit.contract.listener import Claim, ListenerInfo
from workkit.errors import InvalidOptions, NotFound
from workkit.jobs.outcome import Again, Dead, Done, Failure, Outcome, Released
from workkit.verbs import batch as verbs

INFO = ListenerInfo(listener="", host="here", pid=1, version="0", schedules={}, threads=1)
FN = "app:note"
STEP = 4  # rows of a batch in one request
FAILURE = Failure(type="OSError", message="disk full")
OUTCOMES: dict[str, Outcome] = {
    "done": Done(),
    "dead": Dead(failure=FAILURE),
    "discarded": Done(discarded="no need"),
    "expired": Done(expired=True),
    "again": Again(delay_ms=0, attempt=1, failure=FAILURE),
    "released": Released(),
}
CHANCES = {"done": 60, "dead": 12, "discarded": 5, "expired": 4, "again": 10, "released": 9}


class Wrong(AssertionError):
    """The server did otherwise than the model."""


# The server beside it.


class Abandoned(Exception):
    """A producer stops within its block."""


class Graph:
    """One graph, from its first job to the last ending."""

    def __init__(self, server: Server, name: str, seed: int) -> None:
        self.random, self.name, self.client = Random(seed), name, server.client()
        self.s, self.url = schedule.create(name, redis=server.url), server.url
        self.model, self.log, self.number = Model(), list[str](), 0
        self.listeners = [NativeBroker(connect(server.url), schedule=name, timeout_ms=60_000) for _ in range(2)]
        self.held: dict[str, tuple[NativeBroker, Claim]] = {}
        self.rows: dict[str, list[str]] = {}  # of batches that were abandoned
        self.hows: dict[str, dict[str, Any]] = {}
        self.left = self.random.choice(
            (self.random.randint(1, 10), self.random.randint(1, 40), self.random.randint(1, 300))
        )
        self.most = self.left
        for listener in self.listeners:
            listener.register(INFO)

    def play(self) -> None:
        """Add, run, end, cancel and revive; then run all that is left, and look at what stays."""
        acts = (
            (self._add, 12), (self._fill, 6), (self._resume, 3), (self._claim, 8), (self._settle, 24),
            (self._cancel, 2), (self._revive, 3), (self._give_up, 1), (self._join, 3), (self._crash, 1),
            (self._gather, 1), (self._lose, 1), (self._recur, 1), (self._skip, 1),
        )  # fmt: skip
        todo, weights = zip(*acts, strict=True)
        steps = 0
        while self.left > 0 or (self.model.of("ready", "held") and steps < 6 * self.most):
            self.random.choices(todo, weights)[0]()
            steps += 1
        while self.rows:
            self._resume()
        for name in list(self.model.recurring):
            self._stop(name)
        self._drain()
        self._follow()
        if self.random.random() < 0.5:
            while self.model.of("dead"):
                self._revive()
                self._drain(good=True)
        self._check()

    def close(self) -> None:
        for listener in self.listeners:
            listener.close()
        for key in self.client.scan_iter(f"{self.name}:*", count=1000):
            self.client.delete(key)

    # Producers.

    def _label(self) -> str:
        self.number += 1
        self.left -= 1
        return f"j{self.number}"

    def _some_before(self) -> list[str]:
        names = [label for label, job in self.model.jobs.items() if job.job is not None]
        names += [name for name, batch in self.model.batches.items() if batch.state != "open"]
        names += self.model.recurring
        return self.random.sample(names, min(len(names), self.random.choice((0, 0, 1, 1, 2, 4))))

    def _options(self, before: list[str]) -> dict[str, Any]:
        if not before:
            return {}
        return {
            "after": [self._named(one) for one in before],
            "on_death": self.random.choice(("cancel", "cancel", "run")),
        }

    def _named(self, name: str) -> Any:
        if name in self.model.recurring:
            return name
        return self._batch(name) if name in self.model.batches else self.model.jobs[name].job

    def _batch(self, name: str, **how: Any) -> schedule.Batch:
        return schedule.batch(self.s, name, **how)

    def _note(self, text: str) -> None:
        self.log.append(text)

    def _add(self) -> None:
        if self.left <= 0:
            return
        label, before = self._label(), self._some_before()
        options = self._options(before)
        self._note(f"add {label} after {before} {options.get('on_death', '')}")
        job = schedule.add_now(self.s, FN, args=[label], **options)
        if self._modelled(label, None, before, options) != job.new:
            raise Wrong(f"{label}: new {job.new}, ending {job.ending}")
        if job.new:
            self.model.jobs[label].job, self.model.jobs[label].id = job, job.id

    def _modelled(self, label: str, batch: str | None, before: list[str], options: dict[str, Any]) -> bool:
        return self.model.adds(label, batch=batch, after=before, on_death=options.get("on_death", "cancel"))

    def _fill(self) -> None:
        if self.left <= 0:
            return
        name, chance = f"b{len(self.model.batches)}", self.random
        how: dict[str, Any] = {"on_death": chance.choice(("continue", "continue", "cancel"))}
        group = Group(how["on_death"], state="open")
        for option, letter in (("then", "t"), ("on_success", "s")):
            if chance.random() < (0.8 if letter == "t" else 0.3):
                label = f"{letter}{name}"
                how[option] = call(FN, label)
                setattr(group, "then" if letter == "t" else "success", label)
        size = min(self.left, chance.choice((0, 1, 2, 3, 5, 9, 14)))
        self.rows[name] = [self._label() for _ in range(size)]
        stops = chance.randint(0, size) if chance.random() < 0.3 else None
        self._note(f"batch {name} {how['on_death']} of {self.rows[name]}, stops at {stops}")
        self.model.batches[name] = group
        self.hows[name] = how
        with_after = stops is None and size <= STEP
        self._block(name, stops=stops, with_after=with_after)

    def _block(self, name: str, *, stops: int | None = None, with_after: bool = False) -> None:
        """The rows of a batch; those that another block has sent are known."""
        group, rows, jobs = self.model.batches[name], self.rows[name], dict[str, Any]()
        try:
            with self._batch(name, **self.hows[name]) as batch:
                for number, label in enumerate(rows):
                    if number == stops:
                        raise Abandoned
                    before = self._some_before() if with_after else []
                    options = self._options(before)
                    jobs[label] = batch.add(FN, args=[label], **options), before, options
                if stops == len(rows):
                    raise Abandoned
        except Abandoned:
            sent = (max(0, stops or 0) - 1) // STEP * STEP if stops else 0
            if sent == 0:
                del self.model.batches[name]
                self._note(f"{name} is given up before its first step")
                self.rows.pop(name)
                return
            self._followers(group)
            for label in rows[:sent]:
                self._member(name, label, *jobs[label])
            return
        self._followers(group)
        for label in rows:
            if label not in self.model.jobs and label in jobs:
                self._member(name, label, *jobs[label])
        self.rows.pop(name)
        self.model.closes(name)

    def _followers(self, group: Group) -> None:
        for label in (group.then, group.success):
            if label is not None and label not in self.model.jobs:
                self.model.jobs[label] = Job(label)

    def _member(self, name: str, label: str, job: Any, before: list[str], options: dict[str, Any]) -> None:
        if before:
            self._note(f"{label} of {name} after {before} {options['on_death']}")
        if self._modelled(label, name, before, options) and job.id:
            self.model.jobs[label].job, self.model.jobs[label].id = job, job.id

    def _resume(self) -> None:
        """The same block again; a cancelled batch takes nothing more."""
        if not self.rows:
            return
        name = self.random.choice(sorted(self.rows))
        self._note(f"resume {name}")
        if self.model.batches[name].state == "open":
            self._block(name)
            return
        try:
            self._block(name)
        except InvalidOptions:
            pass
        else:
            raise Wrong(f"{name} is cancelled, and was filled")
        self.rows.pop(name, None)

    def _join(self) -> None:
        """A member that runs adds to its own batch."""
        running = [label for label in self.held if self.model.jobs[label].batch is not None]
        if not running or self.left <= 0:
            return
        by = self.random.choice(running)
        name, label = str(self.model.jobs[by].batch), self._label()
        group = self.model.batches[name]
        self._note(f"{by} adds {label} to {name}")
        try:
            job = self._batch(name).add(FN, args=[label])
        except InvalidOptions:
            if group.state == "running" and not group.is_settled:
                raise
            return
        if group.state != "running" or group.is_settled:
            raise Wrong(f"{label} was added to {name}, which is {group.state}")
        self.model.adds(label, batch=name)
        self.model.jobs[label].job, self.model.jobs[label].id = job, job.id

    # Listeners.

    def _claim(self) -> int:
        """One listener takes all that is due: in which order it comes follows from no seed."""
        listener, claims = self.random.choice(self.listeners), list[Claim]()
        while found := listener.claim(100).claims:
            claims += found
        for claim in sorted(claims, key=lambda one: str(one.args)):
            (label,) = claim.args
            job = self.model.jobs.get(label)
            if job is None or job.state != "ready":
                raise Wrong(f"{label} starts, and is {job and job.state}")
            job.id, job.state = claim.id, "held"
            given_up = self.model.is_given_up(label)
            if (claim.trouble == "cancelled") != given_up:
                raise Wrong(f"{label} is claimed with trouble {claim.trouble}; cancelled: {given_up}")
            self.held[label] = listener, claim
        if claims:
            self._note(f"claimed {sorted(claim.args[0] for claim in claims)}")
        return len(claims)

    def _settle(self, good: bool = False) -> None:
        if not self.held:
            return
        listener = self.random.choice([of for of, _ in self.held.values()])
        mine = [label for label, (of, _) in self.held.items() if of is listener]
        chosen = self.random.sample(mine, self.random.randint(1, min(len(mine), self.random.choice((1, 6)))))
        ends = [(label, *self._ending(label, good)) for label in chosen]
        self._note(f"ends {[(label, how) for label, how, _ in ends]}")
        turn = listener.claim(0, ends=[(self.held[label][1], outcome) for label, _, outcome in ends])
        if turn.refused or turn.fenced:
            raise Wrong(f"refused {turn.refused}, fenced {turn.fenced}")
        for label, how, _ in ends:
            del self.held[label]
            if how in ("again", "released"):
                self.model.jobs[label].state = "ready"
            else:
                self.model.ends(label, how)
        self._see_given_up(*self.model.batches)

    def _ending(self, label: str, good: bool) -> tuple[str, Outcome]:
        if self.held[label][1].trouble == "cancelled":
            return "cancelled", Done()
        if self.model.is_given_up(label) and self.random.random() < 0.5:
            return "cancelled", Done(discarded="cancelled")
        (how,) = ("done",) if good else self.random.choices(list(CHANCES), list(CHANCES.values()))
        return how, OUTCOMES[how]

    def _crash(self) -> None:
        """A listener is taken for dead; what it held is given back."""
        place = self.random.randrange(2)
        dead, other = self.listeners[place], self.listeners[1 - place]
        self.client.zadd(f"{self.name}:listeners", {dead.listener: 1})
        while (done := other._session.reap(dead.listener, 1)) is not None and done[1]:
            pass
        if done is None:
            raise Wrong("a dead listener is taken for one that lives")
        for label in [label for label, (of, _) in self.held.items() if of is dead]:
            del self.held[label]
            self.model.jobs[label].state = "ready"
        self._note(f"listener {place} dies")
        dead.close()
        self.listeners[place] = NativeBroker(connect(self.url), schedule=self.name, timeout_ms=60_000)
        self.listeners[place].register(INFO)

    def _drain(self, *, good: bool = False) -> None:
        """Run until nothing can start. Whatever is ready has to be claimed."""
        since = time.monotonic()
        while self.model.of("ready") or self.held:
            if self._claim():
                since = time.monotonic()
            elif self.held:
                self._settle(good)
            elif time.monotonic() > since + 1:
                raise Wrong(f"hang: {self.model.of('ready')} do not start")
        if self._claim():
            raise Wrong("something starts that the model does not know")

    # An operator.

    def _cancel(self) -> None:
        labels = [label for label in self.model.of("parked", "ready", "held") if self.model.jobs[label].id]
        if not labels:
            return
        label = self.random.choice(labels)
        job = self.model.jobs[label]
        self._note(f"cancel {label}, {job.state}")
        schedule.cancel(self.s, job.id)
        if job.state != "held" and self._has_payload(label):
            job.is_cancelled = True  # it has begun before: the next claim ends it
        else:
            self.model.cancels(label)

    def _revive(self) -> None:
        dead = self.model.of("dead")
        if not dead:
            return
        label = self.random.choice(dead)
        self._note(f"retry {label}")
        try:
            schedule.retry(self.s, self.model.jobs[label].id)
        except NotFound:
            raise Wrong(f"{label} is dead, and cannot be retried") from None
        self.model.jobs[label].is_cancelled = False
        self.model.revives(label)

    def _give_up(self) -> None:
        names = [name for name, batch in self.model.batches.items() if not batch.is_settled]
        if not names:
            return
        name = self.random.choice(names)
        self._note(f"cancel batch {name}, {self.model.batches[name].state}")
        self._batch(name).cancel()
        self.model.batches[name].state = "cancelled"
        self._see_given_up(name)

    def _see_given_up(self, *names: str) -> None:
        """Of a batch that is cancelled, what waits ends at once, or comes to be ended."""
        for name in names:
            batch = self.model.batches[name]
            if batch.state == "cancelled" and not batch.is_settled:
                self.model.gives_up(name, {label for label in batch.members if not self._has_payload(label)})

    def _gather(self) -> None:
        """What any listener does now and then."""
        self._note("gather")
        cursor = b""
        while cursor != b"0":
            cursor, _ = self.listeners[0].groups.gather(cursor or b"0")
        self._see_given_up(*self.model.batches)
        if back := {*self.client.hkeys(f"{self.name}:jobs")} & {*self.client.hkeys(f"{self.name}:ends")}:
            raise Wrong(f"{back} have not ended, and S:ends has them")

    def _lose(self) -> None:
        """A job is lost with all that stands for it, as by a server that forgets: its groups do not wait for it."""
        waited = {one for group in (*self.model.batches.values(), *self.model.after.values()) for one in group.members}
        ready = [one for one in self.model.of("ready") if self.model.jobs[one].job is not None and one in waited]
        if not ready:
            return
        label = self.random.choice(ready)
        id, job = self.model.jobs[label].id, self.model.jobs[label]
        for key in ("next", "again"):
            for member in self.client.zrange(f"{self.name}:{key}", 0, -1):
                if id.encode() in member:
                    self.client.zrem(f"{self.name}:{key}", member)
        self.client.hdel(f"{self.name}:jobs", id)
        self._note(f"{label} is lost")
        job.job = None
        self.model.ends(label, "lost")
        self._gather()

    def _recur(self) -> None:
        name = f"r{self.number}"
        if self.left > 0 and name not in self.model.recurring:
            self._note(f"{name} recurs")
            schedule.add(self.s, FN, every="day at 2am", name=name, args=[name])
            self.model.recurring[name] = 0

    def _skip(self) -> None:
        """A run is left out. The jobs that wait for it begin."""
        if self.model.recurring:
            name = self.random.choice(list(self.model.recurring))
            self._note(f"skip {name}")
            schedule.skip(self.s, name)
            self.model.passes(name, "missed")

    def _stop(self, name: str) -> None:
        self._note(f"cancel {name}")
        schedule.cancel(self.s, name)
        self.model.passes(name, "cancelled")
        del self.model.recurring[name]

    def _follow(self) -> None:
        """The dead members of a batch run again, and what follows it once more."""
        for name, batch in self.model.batches.items():
            dead = [label for label, how in batch.members.items() if how == "dead"]
            over = batch.then is not None and self.model.jobs[batch.then].state not in ("parked", "ready", "held")
            if not (dead and over and batch.state == "running" and batch.is_settled and self.random.random() < 0.5):
                continue
            self._note(f"retry {name}, and what follows")
            if schedule.retry(self.s, self._batch(name), follow=True) != len(dead):
                raise Wrong(f"not all dead members of {name} are put back")
            for label in dead:
                self.model.jobs[label].is_cancelled = False
                self.model.revives(label)
            self.model.jobs[str(batch.then)] = Job(str(batch.then))
            batch.is_settled = False
            self._drain(good=True)

    def _has_payload(self, label: str) -> bool:
        return bool(self.client.hexists(f"{self.name}:jobs", self.model.jobs[label].id))

    # The end.

    def _check(self) -> None:
        keys = {
            word: self.client.zrange(f"{self.name}:{word}", 0, -1)
            for word in ("members", "feeds", "waiting", "next", "again")
        }
        parked, groups = self.model.of("parked"), self.client.hkeys(f"{self.name}:groups")
        if set(parked) - {batch.success for batch in self.model.batches.values()}:
            raise Wrong(f"the model hangs: {parked}")
        left = {
            "waiting members": [text for text in keys["members"] if text[8:9] == b"w"],
            "feeds without a group": [text for text in keys["feeds"] if text[-16:] not in groups],
            "parked": keys["waiting"] if len(keys["waiting"]) != len(parked) else [],
            "queued": keys["next"] + keys["again"],
            "payloads": []
            if self.client.hlen(f"{self.name}:jobs") == len(parked)
            else self.client.hkeys(f"{self.name}:jobs"),
        }
        if any(left.values()):
            raise Wrong(f"left: {left}; parked {parked}")
        for name, batch in self.model.batches.items():
            self._compare(name, batch)

    def _compare(self, name: str, batch: Group) -> None:
        state, known = self._batch(name).state(), Counter(batch.members.values())
        words = ("waiting", "done", "dead", "discarded", "expired")
        found = {word: getattr(state, word) for word in words}
        found["cancelled"] = state.cancelled + state.removed
        if found != {word: known[word] for word in (*words, "cancelled")} or state.total != len(batch.members):
            raise Wrong(f"{name}: {state}, not {known}")
        if state.state != {"running": "done"}.get(batch.state, batch.state):
            raise Wrong(f"{name}: {state.state}, not {batch.state}")


@contextmanager
def small_steps() -> Iterator[None]:
    """A batch of a few rows takes several requests."""
    usual = verbs.STEP
    verbs.STEP = STEP
    try:
        yield
    finally:
        verbs.STEP = usual


def play(server: Server, seeds: Iterable[int], *, named: str = "graph") -> Counter[str]:
    """Play the graphs of these seeds, and count jobs by ending. Raise Wrong with the steps of one that differs."""
    seen: Counter[str] = Counter()
    with small_steps():
        for seed in seeds:
            with closing(Graph(server, f"{named}-{seed}", seed)) as graph:
                try:
                    graph.play()
                except Exception as error:
                    raise Wrong("\n".join([f"seed {seed}: {error!r}", *graph.log])) from error
                seen += Counter(job.state for job in graph.model.jobs.values())
                seen["graphs"] += 1
    return seen


def main(argv: list[str]) -> None:
    """Play as many graphs as the first argument says, from the seed that the second one says, or the clock."""
    number, first = int(argv[0]) if argv else 2000, int(argv[1]) if len(argv) > 1 else int(time.time())
    began = time.monotonic()
    with (
        tempfile.TemporaryDirectory() as folder,
        closing(Server(program("redis"), folder=Path(folder), is_durable=False)) as server,
    ):
        server.start()
        seen = play(server, range(first, first + number))
    print(f"seeds {first} to {first + number - 1}: {time.monotonic() - began:.0f} s, {dict(seen)}")


if __name__ == "__main__":
    main(sys.argv[1:])
