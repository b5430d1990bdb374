"""Everybody but the listeners: who reaps, producers and operators, a foreign peer, and the replica that takes over."""

from __future__ import annotations

from tests.model.listener import Step
from tests.model.protocol import (
    Entry,
    Occ,
    Plan,
    Server,
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
from tests.model.scripts import grant


class World:
    """The surroundings of one plan."""

    def __init__(self, plan: Plan) -> None:
        self.plan, self.jobs, self.bugs = plan, plan.jobs, plan.bugs

    def steps(self, t: State) -> list[Step]:
        """What anybody else may do next."""
        return [*self._reaping(t), *self._calling(t), *self._peering(t), *self._failing_over(t)]

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
        crashes = e.crashes + 1
        if "poison_never_counts" in self.bugs:
            crashes = 0
        elif "reap_resets_crashes" in self.bugs:
            crashes = 1
        attempt = 0 if "reap_resets_attempts" in self.bugs else e.attempt
        return t._replace(s=s._replace(again=s.again | {e._replace(attempt=attempt, crashes=crashes)}))

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

    # Producers and operators: their calls in order, each at any time.

    def _calling(self, t: State) -> list[Step]:
        if t.calls == len(self.plan.calls):
            return []
        verb, job = self.plan.calls[t.calls]
        u, answer = getattr(self, "_" + verb.replace(" ", "_"))(t, job)
        said = f"{verb} {job}{' again' if t.asked else ''}: {answer}"
        out: list[Step] = [(said, False, u._replace(calls=t.calls + 1, asked=False))]
        if t.budget.lose and not t.asked and verb != "peer adds":
            out.append((f"{said}, but the reply is lost", True, spend(u, "lose")._replace(asked=True)))
        return out

    def _add(self, t: State, job: str) -> tuple[State, str]:
        """Numbered per producer: a repeated one is answered, and has no effect."""
        s, number = t.s, t.calls + 1
        if number <= s.producer and "no_producer_seq" not in self.bugs:
            return t, "as before"
        t = t._replace(s=s._replace(producer=number))
        if job in s.jobs or self._is_kept_out(s, job):
            return t, "known"
        return self._stored(t, job, python=True)

    def _peer_adds(self, t: State, job: str) -> tuple[State, str]:
        """A foreign peer knows the two published keys, and no marks."""
        return (t, "known") if job in t.s.jobs else self._stored(t, job, python=False)

    def _stored(self, t: State, job: str, *, python: bool) -> tuple[State, str]:
        """A recurring job added anew begins with a due time that nobody has claimed yet."""
        s, spec, first = t.s, self.jobs[job], dict(t.taken)[job] + 1
        last = spec.ticks - 1 if spec.recurs else first
        if first > last:
            return t, "has no further run"
        if t.asked and not t.failed:
            raise Violation(f"double_add: {job} is new again, though only the reply was lost")
        runs = frozenset((job, k) for k in range(first, last + 1))
        s = s._replace(jobs=s.jobs | {job}, nxt=put(s.nxt, job, first), owed=s.owed | runs, pardoned=s.pardoned - runs)
        if python:
            s = s._replace(marks=s.marks if "cancel_mark_survives_readd" in self.bugs else s.marks - {job})
            s = s._replace(unique=put(s.unique, spec.unique, (job, False)) if spec.unique else s.unique)
        credit = t.credit
        for run in runs if not t.failed else ():
            credit = put(credit, run, 1, keep=True)
        taken = t.taken if spec.recurs else put(t.taken, job, first)
        return t._replace(s=s, credit=credit, taken=taken, banned=t.banned - runs), "new"

    def _is_kept_out(self, s: Server, job: str) -> bool:
        """Designed, not built: another job of the same unique key stands, and has not started if that ends it."""
        key = self.jobs[job].unique
        holder, started = dict(s.unique).get(key, ("", False))
        if not key or not holder or started or "unique_ignored" in self.bugs:
            return False
        if "unique_outlives_job" in self.bugs:
            if holder not in s.jobs:
                raise Violation(f"unique: {job} is refused for {holder}, which is gone")
            return True
        return holder in s.jobs

    def _cancel(self, t: State, job: str) -> tuple[State, str]:
        s = t.s
        if job not in s.jobs:
            return t, "unknown"
        waited = job in dict(s.nxt)
        unclaimed = frozenset((job, k) for k in range(dict(s.nxt).get(job, 99), self.jobs[job].ticks + 9))
        owed = frozenset(o for o in s.owed if o[0] == job)
        s = s._replace(nxt=drop(s.nxt, job), owed=s.owed - owed, pardoned=s.pardoned | owed)
        t = t._replace(stopped=t.stopped | {job}, banned=t.banned | unclaimed)
        if self.jobs[job].recurs:
            s = s._replace(jobs=s.jobs - {job}, ended=s.ended - {job}, marks=s.marks | {job})
        elif waited:
            marks = s.marks if "cancel_leaves_mark" in self.bugs else s.marks - {job}
            s = s._replace(jobs=s.jobs - {job}, marks=marks)
        else:
            s = s._replace(marks=s.marks | {job})
            if "cancel_deletes_held_payload" in self.bugs:
                s = s._replace(jobs=s.jobs - {job})
        return t._replace(s=s), "removed" if waited else "marked"

    def _revive(self, t: State, job: str) -> tuple[State, str]:
        """Every dead run of the job: only while its record stands, so a second call has no effect."""
        dead = sorted(o for o in t.s.dead if o[0] == job)
        if "revive_twice" in self.bugs and t.asked:
            dead = [(job, 0)]
        done = 0
        for occ in dead:
            if self.jobs[job].recurs or not self._is_known(t.s, job):
                t, done = self._revived(t, occ), done + 1
        return t, f"{done} put back"

    def _is_known(self, s: Server, job: str) -> bool:
        """A one-shot that was added anew meanwhile, or whose unique key another holds, is left in the dead set."""
        if job in s.jobs:
            return "revive_over_known" not in self.bugs
        return "revive_ignores_unique" not in self.bugs and self._is_kept_out(s, job)

    def _revived(self, t: State, occ: Occ) -> State:
        s, job = t.s, occ[0]
        if occ in s.dead:
            s = s._replace(dead=s.dead - {occ}, owed=s.owed | {occ})
            t = grant(t._replace(crashed=drop(t.crashed, occ), retried=drop(t.retried, occ)), occ)
        if "revive_keeps_mark" not in self.bugs:
            s = s._replace(marks=s.marks - {job})
        if not self.jobs[job].recurs:
            s = s._replace(jobs=s.jobs | {job}, nxt=put(s.nxt, job, occ[1]))
            if self.jobs[job].unique:
                s = s._replace(unique=put(s.unique, self.jobs[job].unique, (job, False)))
        else:
            if job not in s.jobs:
                s = s._replace(jobs=s.jobs | {job}, ended=s.ended | {job})
            if "revive_without_slot" not in self.bugs:
                s = s._replace(slots=s.slots | {occ})
            s = s._replace(again=s.again | {Entry("o", *occ)})
        return t._replace(s=s)

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
        u = u._replace(banned=frozenset())
        return [("failover to the replica", True, u)]
