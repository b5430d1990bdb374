"""Producers and operators: their calls in order, each at any time."""

from __future__ import annotations

from tests.model.groups import AFTER, OPEN, SUCCESS, Groups
from tests.model.listener import Step
from tests.model.protocol import Entry, Occ, Plan, Server, State, Violation, drop, entries, put, spend
from tests.model.scripts import forgotten, grant
from tests.model.slots import PAUSED, Slots, kept


class Calls:
    """The calls of one plan."""

    def __init__(self, plan: Plan) -> None:
        self.plan, self.jobs, self.bugs, self.slots = plan, plan.jobs, plan.bugs, Slots(plan)
        self.groups = Groups(plan)

    def steps(self, t: State) -> list[Step]:
        """What they may ask for next; a producer that dies is started again, and does all of it again."""
        out: list[Step] = []
        if t.budget.producer and t.calls:
            out.append(("the producer dies", True, spend(t, "producer")._replace(calls=0, asked=False)))
        if t.calls == len(self.plan.calls):
            return out
        verb, job = self.plan.calls[t.calls]
        u, answer = getattr(self, "_" + verb.replace(" ", "_"))(t, job)
        said = f"{verb} {job}{' again' if t.asked else ''}: {answer}"
        out.append((said, False, u._replace(calls=t.calls + 1, asked=False)))
        if verb == "resume":
            out += self._half_resumed(t, job)
        if t.budget.lose and not t.asked and verb != "peer adds":
            out.append((f"{said}, but the reply is lost", True, spend(u, "lose")._replace(asked=True)))
        return out

    def _add(self, t: State, job: str) -> tuple[State, str]:
        """Numbered per producer: a repeated one is answered, and has no effect."""
        s, number = t.s, t.calls + 1
        if number <= s.producer and "no_producer_seq" not in self.bugs:
            return t, "as before"
        t = t._replace(s=s._replace(producer=number))
        if job in s.jobs:
            return t, "known"
        holder, spec = self._holder(s, job), self.jobs[job]
        if holder and not spec.replaces:
            return t, f"known as {holder}"
        return self._stored(self._giving_way(t, holder) if holder else t, job, python=True)

    def _holder(self, s: Server, job: str) -> str:
        """The job that holds its unique key."""
        holder = dict(s.unique).get(self.jobs[job].unique, "")
        if "unique_ignored" in self.bugs:
            return ""
        if "unique_outlives_job" in self.bugs and holder and holder not in s.jobs:
            raise Violation(f"unique: {job} is refused for {holder}, which is gone")
        return holder if holder in s.jobs else ""

    def _giving_way(self, t: State, holder: str) -> State:
        """Replaced by another: without its payload, what is left of one that has not begun ends as missing. One that
        has the key's slot has begun, and stays.
        """
        s, key = t.s, f"unique:{self.jobs[holder].unique}"
        left = [e for e in entries(s) if e.job == holder]
        runs = frozenset((job, k) for job, k in s.nxt if job == holder).union(e.at for e in left)
        if any((key, run) in s.owners for run in runs) and "replace_ignores_slot" not in self.bugs:
            return t
        if "replace_ignores_slot" not in self.bugs:
            s = s._replace(replaced=s.replaced | runs)
        parked = [e for e in left if key in e.slots] if "parked_counts_as_begun" in self.bugs else []
        if parked or (left and "replaced_runs" in self.bugs):
            return t._replace(s=s)
        aside = {(k, e) for k, e in self._aside(s, holder) if k == key or (k == PAUSED + holder and e.untouched)}
        aside |= {(k, e) for k, e in self._aside(s, holder) if k.startswith((OPEN, AFTER, SUCCESS))}
        begun = any(run in dict(s.crashes) for run in s.nxt)  # it may have: what is left of it ends as missing
        nxt = s.nxt if begun else drop(s.nxt, holder)
        s = s._replace(jobs=s.jobs - {holder}, nxt=nxt, waiting=s.waiting - aside)
        marks = s.marks if "replaced_keeps_mark" in self.bugs else s.marks - {holder}
        s = s._replace(owed=s.owed - runs, marks=marks)
        return t._replace(s=self.groups.settled(s, holder, "replaced"))

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
            s = s._replace(unique=put(s.unique, spec.unique, job) if spec.unique else s.unique)
            s = self.groups.stored(s, job)
        credit = t.credit
        for run in runs if not t.failed else ():
            credit = put(credit, run, 1, keep=True)
        taken = t.taken if spec.recurs else put(t.taken, job, first)
        return t._replace(s=s, credit=credit, taken=taken, banned=t.banned - runs), "new"

    def _cancel(self, t: State, job: str) -> tuple[State, str]:
        s = t.s
        if job not in s.jobs:
            return t, "unknown"
        parked = any(e.untouched for _, e in self._aside(s, job))
        waited = job in dict(s.nxt) or parked
        unclaimed = frozenset((job, k) for k in range(dict(s.nxt).get(job, 99), self.jobs[job].ticks + 9))
        owed = frozenset(o for o in s.owed if o[0] == job)
        s = s._replace(nxt=drop(s.nxt, job), owed=s.owed - owed, pardoned=s.pardoned | owed, paused=s.paused - {job})
        s = self._unparked(s, job)
        t = t._replace(stopped=t.stopped | {job}, banned=t.banned | unclaimed)
        if self.jobs[job].recurs:
            s = self._forgotten(s, job)._replace(marks=s.marks | {job})
        elif waited:
            s = s if "cancel_leaves_mark" in self.bugs else s._replace(marks=s.marks - {job})
            s = self._forgotten(s, job)
        else:
            s = s._replace(marks=s.marks | {job})
            if "cancel_deletes_held_payload" in self.bugs:
                s = s._replace(jobs=s.jobs - {job})
        return t._replace(s=s), "removed" if waited else "marked"

    def _forgotten(self, s: Server, job: str) -> Server:
        s = s._replace(jobs=s.jobs - {job}, ended=s.ended - {job})
        s = s if "unique_outlives_job" in self.bugs else forgotten(s, self.plan, job)
        return self.groups.removed(s, job)

    # Groups.

    def _fill(self, t: State, g: str) -> tuple[State, str]:
        """One step of the addition of a batch, numbered; one that is there already, and closed, is left as it is."""
        s, number, spec = t.s, t.calls + 1, self.plan.groups[g]
        state, step = self.groups.state(s, g), self.plan.calls[: t.calls].count(("fill", g))
        if "made_again" not in self.bugs:
            if number <= s.producer:
                return t, "as before"
            if state not in ("", "o"):
                return t, "refused: it is cancelled"
        u = t._replace(s=s._replace(producer=number))
        last = (spec.then, spec.success) if step == 0 else ()
        for job in (*spec.steps[step], *(job for job in last if job)):
            u, _ = self._stored(u, job, python=True)
        return u._replace(s=self.groups.filled(u.s, g, step)), "closed" if step + 1 == len(spec.steps) else "filled"

    def _follow(self, t: State, g: str) -> tuple[State, str]:
        """A job after others, which its own step looks at."""
        s, number, spec = t.s, t.calls + 1, self.plan.groups[g]
        if number <= s.producer:
            return t, "as before"
        t = t._replace(s=s._replace(producer=number))
        found = [self.groups.resolved(s, name) for name in spec.steps[0]]
        bad = [how for _, how in found if how not in ("done", "waiting")]
        if bad and spec.on_death == "cancel":
            return t, f"not added: {', '.join(bad)}"
        t, _ = self._stored(t, spec.then, python=True)
        return t._replace(s=self.groups.waits(t.s, g, found)), ", ".join(f"{name} {how}" for name, how in found)

    def _give_up(self, t: State, g: str) -> tuple[State, str]:
        return t._replace(s=self.groups.given_up(t.s, g)), self.groups.state(t.s, g) or "unknown"

    def joining(self, t: State) -> list[Step]:
        """A running member adds to its batch; also one that was taken for dead and does not know it."""
        out: list[Step] = []
        for g, spec in self.plan.groups.items():
            for job, by in spec.spawned.items():
                runs = any(h.phase == "R" and h.entry.job == by for c in t.clients for h in c.held)
                if not runs or dict(t.taken)[job] >= 0 or not self.groups.takes(t.s, g):
                    continue
                if spec.then in t.s.groups.fired and not t.failed:
                    raise Violation(f"late: {job} is added to {g}, whose end was told")
                u, _ = self._stored(t._replace(asked=False), job, python=True)
                u = u._replace(s=self.groups.joined(u.s, g, job), asked=t.asked)
                out.append((f"{by} adds {job} to {g}", False, u))
        return out

    def _aside(self, s: Server, job: str) -> list[tuple[str, Entry]]:
        return [(key, e) for key, e in sorted(s.waiting) if e.job == job]

    def _unparked(self, s: Server, job: str) -> Server:
        """What is parked of a job goes: what had not begun for good, the rest to be ended by a listener; without the
        slot that it waited for, so that none runs by it who is added anew.
        """
        for key, e in self._aside(s, job):
            s = s._replace(waiting=s.waiting - {(key, e)})
            if e.untouched:
                continue
            if not key.startswith(PAUSED) and "cancel_grants_slot" not in self.bugs:
                e = e._replace(slots=e.slots[:-1])
            s = s._replace(again=s.again | {e})
        return s

    def _pause(self, t: State, target: str) -> tuple[State, str]:
        """Of a job, what waits is parked at once, unless it has slots to give up; of a function, when it is claimed."""
        s = t.s._replace(paused=t.s.paused | {target})
        if target in self.jobs:
            for job, k in s.nxt:
                if job == target:
                    s = self.slots.parked(s._replace(nxt=drop(s.nxt, job)), PAUSED + job, Entry("r", job, k))
            for e in sorted(s.again):
                if e.job == target and e.kind == "r" and (kept(e.slots) == e.slots or "pause_keeps_slot" in self.bugs):
                    s = self.slots.parked(s._replace(again=s.again - {e}), PAUSED + target, e)
        return t._replace(s=s), "paused"

    def _resume(self, t: State, target: str) -> tuple[State, str]:
        """All that is parked comes back."""
        s = t.s._replace(paused=t.s.paused - {target})
        for key, e in sorted(s.waiting):
            if key != PAUSED + target:
                continue
            s = s._replace(waiting=s.waiting - {(key, e)})
            if e.untouched or (target in self.jobs and e.kind == "r" and self.jobs[e.job].recurs):
                s = s._replace(nxt=put(s.nxt, e.job, e.occ, keep=True))
            else:
                s = s._replace(again=s.again | {e})
        return t._replace(s=s), "resumed"

    def _half_resumed(self, t: State, target: str) -> list[Step]:
        """What was parked since it was looked at is left for the next step."""
        if t.asked or PAUSED + target not in dict(t.s.waiting):
            return []
        u = t._replace(s=t.s._replace(paused=t.s.paused - {target}))
        over = "resume_once" in self.bugs
        return [(f"resume {target}: in part", False, u._replace(calls=t.calls + over, asked=not over))]

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
        """A one-shot that was added anew meanwhile is left in the dead set."""
        return job in s.jobs and "revive_over_known" not in self.bugs

    def _revived(self, t: State, occ: Occ) -> State:
        s, job = t.s, occ[0]
        if occ in s.dead:
            s = s._replace(dead=s.dead - {occ}, owed=s.owed | {occ})
            t = grant(t._replace(crashed=drop(t.crashed, occ), retried=drop(t.retried, occ)), occ)
        if "revive_keeps_mark" not in self.bugs:
            s = s._replace(marks=s.marks - {job})
        if not self.jobs[job].recurs:
            s = s._replace(jobs=s.jobs | {job}, nxt=put(s.nxt, job, occ[1]))
            s = self.groups.rejoined(self.groups.stored(s, job), job)
        else:
            if job not in s.jobs:
                s = s._replace(jobs=s.jobs | {job}, ended=s.ended | {job})
            if "revive_without_slot" not in self.bugs:
                s = s._replace(slots=s.slots | {occ})
            had = self.slots.needed(job) if "revive_grants_slot" in self.bugs else ()
            s = s._replace(again=s.again | {Entry("o", *occ, slots=had)})
        return t._replace(s=s)
