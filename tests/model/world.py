"""Who reaps, a foreign peer, and the replica that takes over."""

from __future__ import annotations

from tests.model.calls import Calls
from tests.model.groups import Groups
from tests.model.listener import Step
from tests.model.protocol import (
    Entry,
    Plan,
    State,
    Violation,
    Who,
    bump,
    drop,
    put,
    records,
    spend,
    with_records,
)
from tests.model.scripts import grant, handed_back
from tests.model.slots import Slots


class World:
    """The surroundings of one plan."""

    def __init__(self, plan: Plan) -> None:
        self.plan, self.jobs, self.bugs, self._calls = plan, plan.jobs, plan.bugs, Calls(plan)
        self._groups = Groups(plan)

    def steps(self, t: State) -> list[Step]:
        """What anybody else may do next."""
        steps = [*self._reaping(t), *self._calls.steps(t), *self._peering(t), *self._failing_over(t)]
        return [*steps, *self._calls.joining(t), *self._gathering(t)] if self.plan.groups else steps

    def _gathering(self, t: State) -> list[Step]:
        return [(f"gather: {said}", False, t._replace(s=s)) for said, s in self._groups.gathered(t)]

    # Who is taken for dead.

    def _reaping(self, t: State) -> list[Step]:
        """First the fence, then record by record: a half-done reap may be continued at any time, by anybody."""
        if "reap_deletes" in self.bugs:
            return self._reaping_by_deletion(t)
        out: list[Step] = []
        regs = dict(t.s.regs)
        for who in regs:
            dead = self._is_dead(t, who)
            if dead or t.budget.expire:
                u = t if dead else spend(t, "expire")
                said = f"L{who[0]}.{who[1]} is declared dead{'' if dead else ' though it lives'}"
                out.append((said, not dead, u._replace(s=u.s._replace(regs=drop(u.s.regs, who)))))
        for who, run in t.s.runs:
            if who not in regs and who not in t.scratch:
                receipt, e = min(run)
                u = self._handed_back(t, who, receipt)
                if "no_fence_claim" in self.bugs and len(run) == 1:
                    u = u._replace(scratch=(*u.scratch, who))  # off the list: nobody looks here again
                out.append((f"reap hands back {e.job}{e.occ} of L{who[0]}.{who[1]}", False, u))
        if "no_fence_claim" in self.bugs:
            out += self._unlisting(t)
        return out

    def _is_dead(self, t: State, who: Who) -> bool:
        c = t.clients[who[0]]
        return not c.up or c.inc > who[1]

    def _handed_back(self, t: State, who: Who, receipt: tuple[int, str]) -> State:
        run = records(t.s, who)
        e = run.pop(receipt)
        s = with_records(t.s, who, run)
        t = grant(t, e.at)
        if not t.failed:
            t = t._replace(crashed=bump(t.crashed, e.at))
        if "handback_to_next" in self.bugs:
            return t._replace(s=s._replace(nxt=put(s.nxt, e.job, e.occ)))
        if "reap_frees_slot" in self.bugs:
            s = Slots(self.plan).freed(s, e.at, e.slots)
        crashes = e.crashes + 1
        if "poison_never_counts" in self.bugs:
            crashes = 0
        elif "reap_resets_crashes" in self.bugs:
            crashes = 1
        attempt = 0 if "reap_resets_attempts" in self.bugs else e.attempt
        return t._replace(s=handed_back(s, e._replace(attempt=attempt, crashes=crashes), self.plan))

    def _unlisting(self, t: State) -> list[Step]:
        """Only with the fault no_fence_claim: a name without records is taken off the list at once."""
        names = {(i, inc) for i, c in enumerate(t.clients) for inc in range(c.inc + 1)}
        gone = names - set(dict(t.s.regs)) - set(dict(t.s.runs)) - set(t.scratch)
        off = tuple(sorted(gone | set(t.scratch)))
        return [("names are taken off the list", False, t._replace(scratch=off))] if gone else []

    def _reaping_by_deletion(self, t: State) -> list[Step]:
        """Only with the fault reap_deletes: hands back what it saw first, then deletes the lot."""
        if t.scratch:
            who = t.scratch[0]
            s = t.s._replace(regs=drop(t.s.regs, who), runs=drop(t.s.runs, who))
            return [(f"L{who[0]}.{who[1]} is deleted", False, t._replace(s=s, scratch=()))]
        out: list[Step] = []
        for who, run in t.s.runs:
            dead = self._is_dead(t, who)
            if dead or t.budget.expire:
                u = t if dead else spend(t, "expire")
                for receipt, _ in sorted(run):
                    u = self._handed_back(u, who, receipt)
                out.append((f"what L{who[0]}.{who[1]} held is handed back", not dead, u._replace(scratch=(who,))))
        return out

    # A foreign peer: it knows the two published keys only.

    def _peering(self, t: State) -> list[Step]:
        if not self.plan.peer:
            return []
        if t.peer is None:
            return self._peer_taking(t)
        stage, job, k, place = t.peer
        out: list[Step] = []
        if stage == "hold":
            out += self._peer_holding(t, job, k, place)
        elif stage == "armed":
            ran = t._replace(s=t.s._replace(owed=t.s.owed - {(job, k)}), peer=("ran", job, k, place))
            if dict(t.credit).get((job, k), 0) < 1 and job not in t.adrift:
                raise Violation(f"double_run: a peer runs {job}{k}, which has run")
            out.append((f"peer runs {job}{k}", False, ran._replace(credit=bump(t.credit, (job, k), -1))))
        else:
            out.append((f"peer ends {job}{k}", False, self._peer_ended(t, job, k)))
        if t.budget.peer_crash:
            s = t.s._replace(owed=frozenset(o for o in t.s.owed if o[0] != job))
            lost = spend(t, "peer_crash")._replace(s=s, peer=None, adrift=t.adrift | {job})
            out.append((f"peer crashes with {job}{k}", True, lost))
        return out

    def _peer_taking(self, t: State) -> list[Step]:
        out: list[Step] = []
        for job, k in t.s.nxt:
            taken = put(t.taken, job, max(k, dict(t.taken)[job]))
            u = t._replace(s=t.s._replace(nxt=drop(t.s.nxt, job)), taken=taken, peer=("hold", job, k, "next"))
            out.append((f"peer takes {job}{k}", False, u))
        for e in t.s.again if "extra_in_next" in self.bugs else ():
            u = t._replace(s=t.s._replace(again=t.s.again - {e}), peer=("hold", e.job, e.occ, e.kind))
            out.append((f"peer takes the extra item {e.job}{e.occ}", False, u))
        return out

    def _peer_holding(self, t: State, job: str, k: int, place: str) -> list[Step]:
        s, spec = t.s, self.jobs[job]
        out: list[Step] = []
        if place == "next":
            back = t._replace(s=s._replace(nxt=put(s.nxt, job, k)), peer=None)
            out.append((f"peer puts {job}{k} back", False, back))
        if job not in s.jobs:
            return [*out, (f"peer finds no payload of {job}", False, t._replace(peer=None))]
        if spec.recurs and k + 1 < spec.ticks:
            if place == "next":
                s = s._replace(nxt=put(s.nxt, job, k + 1))
            else:  # the same text again: a second chain for ever
                s = s._replace(again=s.again | {Entry(place, job, k + 1)})
        return [*out, (f"peer has rearmed {job}{k}", False, t._replace(s=s, peer=("armed", job, k, place)))]

    def _peer_ended(self, t: State, job: str, k: int) -> State:
        spec, t = self.jobs[job], t._replace(peer=None)
        if spec.recurs and k + 1 < spec.ticks:
            return t
        s = t.s._replace(jobs=t.s.jobs - {job})
        if any(o[0] == job for o in s.slots) or any(e.job == job for e in s.again):
            s = s._replace(owed=frozenset(o for o in s.owed if o[0] != job))
            t = t._replace(adrift=t.adrift | {job})  # the published last step cannot know of our open ones
        return t._replace(s=s)

    # A replica that lags, and takes over.

    def _failing_over(self, t: State) -> list[Step]:
        if not t.budget.failover:
            return []
        if t.snap is None:
            return [("the replica falls behind here", False, t._replace(snap=t.s))]
        u = spend(t, "failover")._replace(s=t.snap, snap=None, failed=True, net=frozenset())
        u = u._replace(credit=frozenset(), crashed=frozenset(), retried=frozenset())
        u = u._replace(banned=frozenset(), begun=frozenset())
        return [("failover to the replica", True, u)]
