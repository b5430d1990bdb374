"""The whole: what can happen next in a state, what must hold in every one, and which states are good ends."""

from __future__ import annotations

from typing import Any

from tests.model.groups import AFTER, OPEN, SUCCESS, Groups
from tests.model.listener import Listeners, Step
from tests.model.protocol import Entry, Plan, Request, Server, State, Violation, Who, entries
from tests.model.scripts import Scripts
from tests.model.slots import PAUSED, Slots
from tests.model.world import World


class Model:
    """One plan, ready to be explored."""

    def __init__(self, plan: Plan) -> None:
        self.plan, self.jobs, self.bugs = plan, plan.jobs, plan.bugs
        self._listeners, self._world, self._slots = Listeners(plan, Scripts(plan)), World(plan), Slots(plan)
        self._groups = Groups(plan)
        self._limited = any(map(self._slots.needed, plan.jobs)) or any(verb == "pause" for verb, _ in plan.calls)
        revived = {self.jobs[job].unique for verb, job in plan.calls if verb == "revive"}
        replaced = {spec.unique for spec in self.jobs.values() if spec.replaces}
        self._shared = revived | replaced  # unique keys under which two may stand, while no two run

    def start(self) -> State:
        """Where everything begins."""
        return self._canonical(self.plan.start())

    def steps(self, t: State) -> list[Step]:
        """What can happen next."""
        steps = [*self._listeners.steps(t), *self._world.steps(t)]
        return [(label, fault, self._canonical(u)) for label, fault, u in steps]

    # What must hold.

    def check(self, t: State) -> None:
        """Raise Violation for a state that must never be reached."""
        places: dict[str, int] = {}
        for job, _ in t.s.nxt:
            places[job] = places.get(job, 0) + 1
        for e in entries(t.s):
            if e.kind == "r":
                places[e.job] = places.get(e.job, 0) + 1
        if t.peer and t.peer[0] == "hold" and t.peer[3] in ("next", "r"):
            places[t.peer[1]] = places.get(t.peer[1], 0) + 1
        for job, spec in self.jobs.items():
            if job in t.adrift:
                continue
            if spec.recurs:
                self._check_chain(t, job, places.get(job, 0))
            else:
                self._check_one_shot(t, job, places.get(job, 0))
        self._check_open(t)
        self._check_foreign(t)
        self._check_crashes(t)
        if t.s.unrecorded:
            raise Violation(f"record: endings and their records differ: {sorted(t.s.unrecorded)}")
        if t.s.unkept:
            raise Violation(f"result: occurrences that are over and their results differ: {sorted(t.s.unkept)}")
        self._check_unique(t.s)
        if self.plan.groups:
            self._groups.check(t)
        if self._limited:
            self._check_slots(t)
            self._check_parked(t)

    def _check_chain(self, t: State, job: str, n: int) -> None:
        s = t.s
        over = job in s.ended or (t.peer is not None and t.peer[1:3] == (job, self.jobs[job].ticks - 1))
        if job in s.jobs and job not in t.stopped and not (n == 1 or (n == 0 and over)):
            raise Violation(f"chain: the recurring job {job} has {n} regular items")
        for i, c in enumerate(t.clients):
            for h in c.held:
                if h.phase == "R" and h.entry.job == job and h.entry.kind == "r" and (i, c.inc) in dict(s.regs):
                    raise Violation(f"put_back: {job} runs before its next occurrence stands")

    def _check_one_shot(self, t: State, job: str, n: int) -> None:
        n += t.peer is not None and t.peer[1] == job and t.peer[0] != "hold"
        n += any(row[1] == job for row in t.s.groups.rows)
        left = sum(e.job == job and e.at in t.s.replaced for e in entries(t.s))  # what ends as missing
        left += sum(o[0] == job and o in t.s.replaced for o in t.s.nxt)
        if n != (1 if job in t.s.jobs else left):
            payload = "stands" if job in t.s.jobs else "is gone"
            raise Violation(f"referenced: the one-shot {job} stands in {n} places, and its payload {payload}")

    def _check_open(self, t: State) -> None:
        found = [e.at for e in entries(t.s) if e.kind == "o"]
        adrift = {o for o in t.s.slots if o[0] in t.adrift}
        if {o for o in found if o[0] not in t.adrift} != t.s.slots - adrift:
            raise Violation(f"open: slots {sorted(t.s.slots)}, but occurrences {sorted(found)}")
        for job in t.s.ended - t.adrift:
            if job not in t.s.jobs or not any(o[0] == job for o in t.s.slots):
                raise Violation(f"ended: {job} has ended, and nothing is left that would take its payload")

    def _check_foreign(self, t: State) -> None:
        """What no listener can run is held for a moment, or stands where foreign peers look, at its own due time."""
        for job, spec in self.jobs.items():
            if not spec.foreign or job in t.adrift | t.stopped:
                continue
            hidden = [e for e in (*t.s.again, *(e for _, e in t.s.waiting)) if e.job == job]
            if hidden or any(e.job == job and not e.is_regular for e in entries(t.s)):
                raise Violation(f"foreign: {job} stands where no foreign peer looks: {hidden}")
            if not self.plan.peer and dict(t.s.nxt).get(job, 0) != 0:
                raise Violation(f"foreign: {job} has another due time, though nobody has run it")

    def _check_crashes(self, t: State) -> None:
        for e in entries(t.s) if not t.failed else ():
            if e.crashes > dict(t.crashed).get(e.at, 0):
                raise Violation(f"condemned: {e.job}{e.occ} bears {e.crashes} crashes that were not its own")

    def _check_unique(self, s: Server) -> None:
        if any(self.jobs[j].until_started for j in s.jobs):
            return self._check_unstarted(s)
        holders = [key for j in s.jobs if (key := self.jobs[j].unique) and key not in self._shared]
        if len(holders) != len(set(holders)):
            raise Violation(f"unique: {sorted(s.jobs)} stand under one key")
        return None

    def _check_unstarted(self, s: Server) -> None:
        waiting = [
            *(o[0] for o in s.nxt if o not in dict(s.crashes)),
            *(e.job for e in s.again if not e.crashes + e.attempt),
        ]
        keys = [key for j in waiting if (key := self.jobs[j].unique) and j in s.jobs]
        if len(keys) != len(set(keys)):
            raise Violation(f"unique: two wait under one key in {sorted(s.nxt)}")

    def _check_slots(self, t: State) -> None:
        """A slot belongs to an occurrence, which names it; whoever runs has all of its own."""
        s = t.s
        named = {(key, e.at) for e in entries(s) for key in e.slots}
        waits = {(key, e.at) for key, e in s.waiting if not key.startswith(PAUSED)}
        if s.owners != named - waits:
            raise Violation(f"slots: {sorted(s.owners)} are owned, but {sorted(named - waits)} are named")
        for key in {key for key, _ in s.owners}:
            if sum(k == key for k, _ in s.owners) > self._slots.limit(key):
                raise Violation(f"limit: {sorted(s.owners)} are too many")
        for i, c in enumerate(t.clients):
            for h in c.held:
                if h.phase == "R" and (i, c.inc) in dict(s.regs) and not t.failed:
                    self._check_running(s, i, h.entry)

    def _check_running(self, s: Server, listener: int, e: Entry) -> None:
        for key in self._slots.needed(e.job, listener):
            if (key, e.at) not in s.owners:
                raise Violation(f"limit: {e.job}{e.occ} runs without a slot of {key}")

    def _check_parked(self, t: State) -> None:
        s, calls = t.s, self.plan.calls
        resuming = calls[t.calls][1] if t.asked and calls[t.calls][0] == "resume" else ""
        for key, e in s.waiting:
            if key.startswith((OPEN, AFTER, SUCCESS)):
                continue
            target = key.removeprefix(PAUSED)
            if target == key:
                if not self._slots.is_full(s, key):
                    raise Violation(f"parked: {e.job}{e.occ} waits under {key}, which has room")
            elif target not in s.paused and target != resuming:
                raise Violation(f"parked: {e.job}{e.occ} waits for the end of a pause of {target}, which is over")

    def goal(self, t: State) -> bool:
        """Everything asked for has ended, and nothing is left lying about."""
        s = t.s
        if t.calls < len(self.plan.calls) or t.peer or any(not c.up or c.held for c in t.clients):
            return False
        left = {*s.jobs, *dict(s.nxt), *s.ended, *(o[0] for o in s.slots), *(o[0] for o in s.owed)}
        left |= {e.job for e in entries(s)} | {j for j in s.marks if not self.jobs[j].recurs}
        waits = {j for j in self.jobs if {j, self.jobs[j].fn} & s.paused}  # paused for good: only others must end
        foreign = {j for j, spec in self.jobs.items() if spec.foreign}  # they wait for a peer
        seen = dict(s.nxt).keys() >= foreign & s.jobs - t.adrift and not any(e.job in foreign for e in entries(s))
        if self.plan.groups:
            left = left - self._groups.resting(s) | self._groups.left(s)
        return seen and not left - t.adrift - waits - foreign

    # States that differ in nothing that matters are one.

    def _canonical(self, t: State) -> State:
        """Count request numbers from the stored one, and forget what can have no effect."""
        net = frozenset(m for m in t.net if self._matters(t.s, m)) if t.net else t.net
        worlds = [t.s] if t.snap is None else [t.s, t.snap]
        ranks = {who: _ranks(seen, base) for who, (base, seen) in self._numbered(t, net, worlds).items()}
        if len(net) == len(t.net) and all(seq == rank for of_one in ranks.values() for seq, rank in of_one.items()):
            return t  # it is counted so already
        clients = []
        for i, c in enumerate(t.clients):
            if c.up:
                rank = ranks[i, c.inc]
                held = tuple(h._replace(receipt=(rank[h.receipt[0]], h.receipt[1])) for h in c.held)
                c = c._replace(seq=rank[c.seq], out=tuple(_moved(r, rank) for r in c.out), held=held)
            clients.append(c)
        moved = [self._renumbered(s, ranks) for s in worlds]
        late = frozenset((who, ranks[who][seq], tuple(_moved(r, ranks[who]) for r in rs)) for who, seq, rs in net)
        return t._replace(s=moved[0], snap=moved[1] if t.snap else None, clients=tuple(clients), net=late)

    def _matters(self, s: Server, message: tuple[Who, int, tuple[Request, ...]]) -> bool:
        """Any other late request is refused or answered already."""
        if self.bugs & {
            "no_fence_claim",
            "no_claim_seq",
            "no_settle_seq",
            "stale_settle",
            "record_refused",
            "result_refused",
        }:
            return True
        who, seq, requests = message
        stored = dict(s.regs).get(who)
        return stored is not None and seq + len(requests) - 1 > stored

    def _numbered(self, t: State, net: frozenset[Any], worlds: list[Server]) -> dict[Who, tuple[int, set[int]]]:
        """Find of each registration the number to count from, which is the stored one, and all that are in use."""
        found: dict[Who, tuple[int, set[int]]] = {}
        for s in worlds:
            for who, seq in s.regs:
                found.setdefault(who, (seq, set()))[1].add(seq)
        for s in worlds:
            for who, run in s.runs:
                found.setdefault(who, (0, {0}))[1].update(r[0] for r, _ in run)
        for i, c in enumerate(t.clients):
            if c.up:
                seen = found.setdefault((i, c.inc), (0, {0}))[1]
                seen.update(range(c.seq - max(0, len(c.out) - 1), c.seq + 1))
                seen.update(h.receipt[0] for h in c.held)
                seen.update(n for r in c.out for n in _numbers(r))
        for who, seq, requests in net:
            seen = found.setdefault(who, (0, {0}))[1]
            seen.update(range(seq, seq + len(requests)))
            seen.update(n for r in requests for n in _numbers(r))
        return found

    def _renumbered(self, s: Server, ranks: dict[Who, dict[int, int]]) -> Server:
        regs = frozenset((who, ranks[who][seq]) for who, seq in s.regs)
        runs = frozenset((who, frozenset(((ranks[who][r[0]], r[1]), e) for r, e in run)) for who, run in s.runs)
        return s._replace(regs=regs, runs=runs)


def _ranks(seen: set[int], base: int) -> dict[int, int]:
    """Order and neighbourhood of numbers are all that matters: close every gap to two."""
    if len(seen) == 1:
        return {base: 0}
    ranks, at, last = {}, 0, None
    for seq in sorted(seen):
        at, last = at + (min(seq - last, 2) if last is not None else 0), seq
        ranks[seq] = at
    return {seq: rank - ranks[base] for seq, rank in ranks.items()}


def _numbers(request: Request) -> set[int]:
    return set() if request.op == "claim" else {arg[0][0] for arg in request.args}


def _moved(request: Request, rank: dict[int, int]) -> Request:
    if request.op == "claim":
        return request
    args = []
    for receipt, *rest in request.args:
        moved = ((rank[receipt[0]], receipt[1]), *rest)
        args.append(moved if request.op == "resync" else type(request.args[0])(*moved))
    return request._replace(args=tuple(args))
