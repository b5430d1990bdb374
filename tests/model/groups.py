"""Groups on the server: batches, and jobs that run after others; what the scripts share that settle a member."""

from __future__ import annotations

from tests.model.protocol import Entry, Occ, Plan, Server, State, Violation, drop, entries, put

OPEN, AFTER, SUCCESS = "open:", "after:", "success:"
LETTERS = {"D": "done", "X": "dead", "K": "cancelled", "M": "missed"}
GOOD = ("done", "waiting")


def occurrence(occ: Occ) -> str:
    """The name of one run of a recurring job, as a group knows it."""
    return f"{occ[0]}@{occ[1]}"


class Groups:
    """The groups of one plan, with its seeded faults."""

    def __init__(self, plan: Plan) -> None:
        self.plan, self.jobs, self.bugs, self.specs = plan, plan.jobs, plan.bugs, plan.groups
        self._batches: dict[str, list[str]] = {}
        self._waits: dict[str, str] = {}
        for g, spec in plan.groups.items():
            for job in spec.of_batch():
                self._batches.setdefault(job, []).append(g)
            if not spec.is_batch:
                self._waits[spec.then] = g

    def state(self, s: Server, g: str) -> str:
        """o open, r closed, c cancelled, d settled, x cancelled and settled; "" where there is none."""
        return dict(s.groups.state).get(g, "")

    def waiting(self, s: Server, g: str) -> list[str]:
        """The members that have not ended, as the set has them."""
        return sorted(name for of, how, name in s.groups.members if of == g and how == "waiting")

    # A member ends.

    def settled(self, s: Server, name: str, how: str) -> Server:
        """In the step in which it ends: it leaves each group, and the last one lets go what waits."""
        if not self.specs or f"unsettled_{how}" in self.bugs:
            return s
        ends = s.groups.ends if how == "done" else put(s.groups.ends, name, how)
        s = s._replace(groups=s.groups._replace(ends=ends, last=put(s.groups.last, name, how)))
        for g in self._batches.get(name, ()):
            s = self._member_settled(s, g, name, how)
        for feed in sorted(s.groups.feeds):
            if feed[0] == name:
                s = s._replace(groups=s.groups._replace(feeds=s.groups.feeds - {feed}))
                s = self._member_settled(s, feed[1], name, how)
        own = self._waits.get(name)
        return self._forgotten(s, own) if own and how != "dead" else s

    def ended(self, s: Server, e: Entry, how: str) -> Server:
        """A run is over, by the letter of its ending."""
        return self.settled(s, occurrence(e.at) if self.jobs[e.job].recurs else e.job, LETTERS[how])

    def removed(self, s: Server, job: str) -> Server:
        """Its payload goes: with it each run that has not begun. One that has begun ends later."""
        if not self.jobs[job].recurs:
            return self.settled(s, job, "removed")
        for name in sorted({feed[0] for feed in s.groups.feeds if feed[0].startswith(f"{job}@")}):
            if not self._stands(s, name) or "removed_settles_runs" in self.bugs:
                s = self.settled(s, name, "removed")
        return s

    def _member_settled(self, s: Server, g: str, name: str, how: str) -> Server:
        members, spec = s.groups.members, self.specs[g]
        if (g, "waiting", name) not in members:
            left = self.waiting(s, g)
            if "counted" not in self.bugs or not left:
                return s
            members -= {(g, "waiting", left[0])}  # a counter goes down, whoever it was
        members -= {(g, "waiting", name)}
        if how != "done":
            members |= {(g, how, name)}
        s = s._replace(groups=s.groups._replace(members=members))
        fails = how == "dead" or (not spec.is_batch and how != "done")
        if self.state(s, g) == "r" and spec.on_death == "cancel" and fails and "death_ignored" not in self.bugs:
            s = self._cancelled(s, g)
            if not spec.is_batch:
                s = self._let_go(s._replace(marks=s.marks | {spec.then}), AFTER + g)
        return self.finished(s, g)

    def finished(self, s: Server, g: str) -> Server:
        """Nothing happens while a member has not ended, or the group is open."""
        if self.waiting(s, g):
            return s
        state, spec = self.state(s, g), self.specs[g]
        if state == "o" and "fires_open" in self.bugs:
            state = "r"
        if state == "d" and "then_anew" in self.bugs:
            s, state = s._replace(waiting=s.waiting | {(AFTER + g, Entry("r", spec.then, 0))}), "r"
        if state == "c":
            s = self._with_state(s, g, "x")
            if "cancelled_then_waits" not in self.bugs:
                last = {job for job in (spec.then, spec.success) if job in s.jobs}
                s = self._let_go(self._let_go(s._replace(marks=s.marks | last), AFTER + g), SUCCESS + g)
        if state == "r":
            s = self._let_go(self._with_state(s, g, "d"), AFTER + g)
        dead = any(of == g and how == "dead" for of, how, _ in s.groups.members)
        if state in "rd" and state and (not dead or "success_of_dead" in self.bugs):
            s = self._let_go(s, SUCCESS + g)
        return s

    def _cancelled(self, s: Server, g: str) -> Server:
        """Whether its jobs run is open from now on."""
        spec = self.specs[g]
        may = frozenset(o for o in s.owed if o[0] in (*spec.of_batch(), spec.then, spec.success))
        return self._with_state(s._replace(owed=s.owed - may, pardoned=s.pardoned | may), g, "c")

    def _with_state(self, s: Server, g: str, state: str) -> Server:
        return s._replace(groups=s.groups._replace(state=put(s.groups.state, g, state)))

    def _let_go(self, s: Server, key: str) -> Server:
        """All that is parked under a key may run, or end as cancelled."""
        for where, e in sorted(s.waiting):
            if where != key:
                continue
            if not key.startswith(OPEN):
                s = self._noted(s, key.split(":", 1)[1], e.job)
            s = s._replace(waiting=s.waiting - {(where, e)}, nxt=put(s.nxt, e.job, e.occ))
        return s

    def _noted(self, s: Server, g: str, job: str) -> Server:
        """Look at the payloads, not at the members: a job with a payload has not ended."""
        fired = s.groups.fired
        if job in fired:
            raise Violation(f"twice: {job} is let go again")
        spec = self.specs[g]
        if job not in s.marks:
            if dict(s.groups.filled).get(g, 0) < len(spec.steps):
                raise Violation(f"early: {job} is let go while jobs are yet added to {g}")
            names = spec.of_batch() if spec.is_batch else sorted(n for of, n in s.groups.bound if of == g)
            left = [name for name in names if self._stands(s, name)]
            if left and not self.plan.peer:
                raise Violation(f"early: {job} is let go before {left}")
            dead = [o for o in s.dead if g in self._batches.get(o[0], ())]
            if job == spec.success and dead:
                raise Violation(f"success: {job} is let go though {dead} are dead")
        return s._replace(groups=s.groups._replace(fired=fired | {job}))

    def _stands(self, s: Server, name: str) -> bool:
        job, at, occ = name.partition("@")
        if not at:
            return job in s.jobs
        here = (job, int(occ))
        return here in s.slots or (job in s.jobs and (here in s.nxt or any(e.at == here for e in entries(s))))

    def _forgotten(self, s: Server, g: str) -> Server:
        """The job that waited has ended: so has its group."""
        groups = s.groups
        return s._replace(
            groups=groups._replace(
                state=drop(groups.state, g),
                members=frozenset(m for m in groups.members if m[0] != g),
                feeds=frozenset(f for f in groups.feeds if f[1] != g),
            )
        )

    # Jobs are added.

    def filled(self, s: Server, g: str, step: int) -> Server:
        """The rows of one step, which have their payloads and stand in `nxt`, are members; no listener sees them until
        the last step closes the group. The first step makes it, with what waits for it.
        """
        spec, last = self.specs[g], step + 1 == len(self.specs[g].steps)
        if step == 0:
            s = self._with_state(s, g, "o")
            s = self._parked(s, AFTER + g, spec.then)
            s = self._parked(s, SUCCESS + g, spec.success)
        for job in spec.steps[step]:
            s = self.joined(s, g, job)
            if spec.rows and not last:
                s = self._kept(s, g, job)
            elif not (last and step == 0) and "open_visible" not in self.bugs:
                s = self._parked(s, OPEN + g, job)
        s = s._replace(groups=s.groups._replace(filled=put(s.groups.filled, g, step + 1)))
        if not last:
            return s
        s = self._with_state(s, g, "r")
        return s if "closed_unfinished" in self.bugs else self.finished(s, g)

    def _kept(self, s: Server, g: str, job: str) -> Server:
        """It has a payload, and waits with others of its step."""
        rows = s.groups.rows | {(g, job, dict(s.nxt)[job])}
        return s._replace(nxt=drop(s.nxt, job), groups=s.groups._replace(rows=rows))

    def _given(self, s: Server, row: tuple[str, str, int]) -> Server:
        """A row is let go."""
        rows = s.groups.rows if "rows_stay" in self.bugs else s.groups.rows - {row}
        return s._replace(nxt=put(s.nxt, *row[1:]), groups=s.groups._replace(rows=rows))

    def _parked(self, s: Server, key: str, job: str) -> Server:
        if job not in dict(s.nxt):
            return s
        e = Entry("r", job, dict(s.nxt)[job])
        return s._replace(nxt=drop(s.nxt, job), waiting=s.waiting | {(key, e)})

    def joined(self, s: Server, g: str, name: str) -> Server:
        """It has not ended."""
        members = frozenset(m for m in s.groups.members if m[::2] != (g, name)) | {(g, "waiting", name)}
        return s._replace(groups=s.groups._replace(members=members))

    def rejoined(self, s: Server, job: str) -> Server:
        """A dead member runs again: of its batch, and of what else does not know its end yet."""
        if self.bugs & {"revive_outside", "counted"}:
            return s
        for g in self._batches.get(job, ()):
            s = self.joined(s, g, job)
        if self.is_given_up(s, job):
            may = frozenset(o for o in s.owed if o[0] == job)
            s = s._replace(owed=s.owed - may, pardoned=s.pardoned | may)
        for g, how, name in sorted(s.groups.members):
            if (how, name) == ("dead", job) and not self.specs[g].is_batch and self.state(s, g) == "r":
                s = self.joined(s, g, job)
                s = s._replace(groups=s.groups._replace(feeds=s.groups.feeds | {(job, g)}))
        return s

    def takes(self, s: Server, g: str) -> bool:
        """Whether a member of it may add to it."""
        return self.state(s, g) == "r" or "added_to_settled" in self.bugs

    def resolved(self, s: Server, name: str) -> tuple[str, str]:
        """What a job is to wait for, as its own step finds it: the member, and how it has ended or "waiting"."""
        if name in s.jobs and self.jobs[name].recurs:
            runs = [k for job, k in s.nxt if job == name] + [
                e.occ for e in entries(s) if e.job == name and e.kind == "r"
            ]
            return (occurrence((name, max(runs))), "waiting") if runs else (name, "done")
        if name in s.jobs or "after_blind" in self.bugs:
            return name, "waiting"
        how = dict(s.groups.ends).get(name, "done")
        if how != dict(s.groups.last).get(name, "done"):
            raise Violation(f"wrong: {name} was {how} once, and has ended otherwise since")
        return name, how

    def stored(self, s: Server, job: str) -> Server:
        """A payload under its id: how another ended before is forgotten."""
        if not self.specs or "ends_outlive" in self.bugs:
            return s
        return s._replace(groups=s.groups._replace(ends=drop(s.groups.ends, job)))

    def waits(self, s: Server, g: str, found: list[tuple[str, str]]) -> Server:
        """The job of a group without a name, which stands in `nxt`, waits for what has not ended."""
        left = {name for name, how in found if how == "waiting"}
        if not left:
            return s
        members = s.groups.members | {(g, how, name) for name, how in found if how != "done"}
        groups = s.groups._replace(
            members=members,
            feeds=s.groups.feeds | {(name, g) for name in left},
            bound=s.groups.bound | {(g, name) for name in left},
            filled=put(s.groups.filled, g, len(self.specs[g].steps)),
        )
        return self._parked(self._with_state(s._replace(groups=groups), g, "r"), AFTER + g, self.specs[g].then)

    def given_up(self, s: Server, g: str) -> Server:
        """Cancelled by hand: claims end its members, and what no listener saw is let go, to be ended."""
        if self.state(s, g) not in ("o", "r"):
            return s
        return self.finished(self._cancelled(s, g), g)

    def is_given_up(self, s: Server, job: str) -> bool:
        """Whether a claim leaves it out."""
        return any(self.state(s, g) in ("c", "x") for g in self._batches.get(job, ()))

    # What is left behind.

    def gathered(self, t: State) -> list[tuple[str, Server]]:
        """What any listener may do: go on where a producer has stopped, and settle as lost who is nowhere."""
        s, out = t.s, list[tuple[str, Server]]()
        for g, state in sorted(s.groups.state):
            parked = [e for key, e in s.waiting if key == OPEN + g]
            if state != "o" and parked and "released_once" not in self.bugs:
                first = min(parked)
                u = s._replace(waiting=s.waiting - {(OPEN + g, first)}, nxt=put(s.nxt, first.job, first.occ))
                out.append((f"{first.job} of {g} is let go", u))
            rows = sorted(row for row in s.groups.rows if row[0] == g)
            if state in ("r", "c") and rows and "rows_wait" not in self.bugs:
                out.append((f"the row {rows[0][1]} of {g} is let go", self._given(s, rows[0])))
            lost = [name for name in self.waiting(s, g) if not self._is_somewhere(t, name)]
            out += [(f"{name} of {g} is lost", self.settled(s, name, "lost")) for name in lost]
        return out

    def _is_somewhere(self, t: State, name: str) -> bool:
        if "lost_waits" in self.bugs:
            return True
        if "held_is_lost" in self.bugs:
            job = name.partition("@")[0]
            return (
                job in dict(t.s.nxt)
                or any(e.job == job for e in t.s.again)
                or any(e.job == job for _, e in t.s.waiting)
            )
        return self._stands(t.s, name)

    # What must hold.

    def check(self, t: State) -> None:
        """Members that have not ended are those whose payload stands, and nobody sees those of an open group."""
        s = t.s
        for g, how, name in s.groups.members:
            if how == "waiting" and not self.plan.peer and not self._stands(s, name):
                raise Violation(f"unsettled: {name} has ended, and {g} waits for it")
        for g, state in s.groups.state:
            spec = self.specs[g]
            for job in spec.of_batch():
                listed = (g, "waiting", job) in s.groups.members or "counted" in self.bugs
                if job in s.jobs and not listed and self._is_in(s, g, job):
                    raise Violation(f"unlisted: {job} stands, and {g} does not wait for it")
                if state == "o" and (job in dict(s.nxt) or any(e.job == job for _, run in s.runs for _, e in run)):
                    raise Violation(f"open: a listener may see {job} while {g} is open")

    def _is_in(self, s: Server, g: str, job: str) -> bool:
        spec, filled = self.specs[g], dict(s.groups.filled).get(g, 0)
        return any(job in step for step in spec.steps[:filled]) or job in spec.spawned

    def starts(self, s: Server, job: str) -> None:
        """What waits for good endings alone does not start after another."""
        g = self._waits.get(job)
        if g and self.specs[g].on_death == "cancel":
            bad = sorted(m for m in s.groups.members if m[0] == g and m[1] not in GOOD)
            if bad:
                raise Violation(f"wrong: {job} starts after {bad}")

    def left(self, s: Server) -> set[str]:
        """What keeps an end from being good."""
        left = {g for g, state in s.groups.state if state not in "dx"} | {f"{name} feeds" for name, _ in s.groups.feeds}
        return left | {name for _, how, name in s.groups.members if how == "waiting"}

    def resting(self, s: Server) -> set[str]:
        """What may wait for good: the job of `success`, after a death."""
        return {spec.success for g, spec in self.specs.items() if self.state(s, g) == "d"} - {""}
