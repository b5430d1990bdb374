"""What the server does: each of a listener's scripts as a function from a state to what it can lead to, with the reply.

Only `claim` has more than one: which of the queued items are due is left open. Like the scripts, nothing here looks at
a payload; what `settle` applies comes from the listener, as it believed things to be when it decided.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import combinations
from typing import Any

from tests.model.protocol import (
    End,
    Entry,
    Occ,
    Plan,
    Receipt,
    Server,
    State,
    Violation,
    Who,
    bump,
    drop,
    put,
    records,
    with_records,
)

Reply = tuple[Any, ...]
Outcome = tuple[State, Reply]


def grant(t: State, occ: Occ) -> State:
    """This occurrence may start once more; after a failover nobody counts."""
    return t if t.failed else t._replace(credit=bump(t.credit, occ))


class Scripts:
    """The scripts of one plan, with its seeded faults."""

    def __init__(self, plan: Plan) -> None:
        self.jobs, self.bugs, self.plan = plan.jobs, plan.bugs, plan

    def run(self, t: State, who: Who, seq: int, op: str, args: Any) -> list[Outcome]:
        """Run one request of a listener."""
        outcomes: list[Outcome] = getattr(self, op)(t, who, seq, args)
        return outcomes

    def _head(self, s: Server, who: Who, seq: int) -> Reply | None:
        """How every script begins: None to go on, or the answer."""
        stored = dict(s.regs).get(who)
        if stored is None:
            return ("gone",)
        if seq < stored:
            return ("old",)
        if seq > stored + 1 and "gap_taken" not in self.bugs:
            return ("step",)
        return None

    def claim(self, t: State, who: Who, seq: int, limit: int) -> list[Outcome]:
        """Take what is due, and write records in the same step; asked again, answer those of this number."""
        s = t.s
        stored = dict(s.regs).get(who, seq - 1)
        refused = self._head(s, who, seq)
        if refused and not (refused == ("gone",) and "no_fence_claim" in self.bugs):
            return [(t, refused)]
        if seq == stored and "no_claim_seq" not in self.bugs:
            mine = sorted((r, e) for r, e in records(s, who).items() if r[0] == seq)
            return [(t, ("ok", *self._taken(s, mine)))]
        return [self._take(t, who, seq, picked) for picked in self._picks(s, limit)]

    def _picks(self, s: Server, limit: int) -> Iterator[tuple[tuple[str, Entry], ...]]:
        due = [(job, Entry("r", job, k)) for job, k in sorted(s.nxt)] + [(e.text, e) for e in sorted(s.again)]
        for n in range(limit + 1):
            yield from combinations(due, n)

    def _take(self, t: State, who: Who, seq: int, picked: tuple[tuple[str, Entry], ...]) -> Outcome:
        s, run, taken = t.s, records(t.s, who), t.taken
        batch: list[tuple[Receipt, Entry]] = []
        for member, e in picked:
            if member == e.job:
                s = s._replace(nxt=drop(s.nxt, e.job))
                taken = put(taken, e.job, max(e.occ, dict(taken)[e.job]))
            else:
                s = s._replace(again=s.again - {e})
            if e.job not in s.jobs and "claim_drops_missing" in self.bugs:
                continue
            batch.append(((seq, member), e))
        if "claim_no_record" not in self.bugs:
            run.update(batch)
        s = with_records(s, who, run)
        listed = who in dict(s.regs)
        if listed and (picked or "empty_no_seq" not in self.bugs):
            s = s._replace(regs=put(s.regs, who, seq))
        return t._replace(s=s, taken=taken), ("ok", *self._taken(s, batch))

    def _taken(self, s: Server, batch: list[tuple[Receipt, Entry]]) -> list[tuple[Receipt, Entry, str]]:
        return [(r, e, self._trouble(s, e)) for r, e in batch]

    def _trouble(self, s: Server, e: Entry) -> str:
        """M: its payload is gone, K: cancelled. A mark says nothing of a regular item of a recurring job: where its
        payload stands, somebody has added it anew.
        """
        if e.job not in s.jobs:
            return "M"
        renewed = self.jobs[e.job].recurs and e.kind == "r" and "mark_kills_readded" not in self.bugs
        return "K" if e.job in s.marks and not renewed else ""

    def admit(self, t: State, who: Who, seq: int, args: tuple[tuple[Receipt, Entry, int | None], ...]) -> list[Outcome]:
        """Put the next item back or mark the job ended, and open the occurrence. Designed, not built: a job with a
        unique key until it starts gives that up here.
        """
        s = t.s
        if refused := self._head(s, who, seq):
            return [(t, refused)]
        repeated, run, letters = seq == dict(s.regs)[who], records(s, who), []
        for receipt, entry, due in args:
            letter = "g"
            if receipt not in run:
                letter = "l"
            elif repeated and run[receipt] == entry:
                pass
            elif entry.job not in s.jobs:
                letter = "x"
            else:
                due, skipped = self._still_ahead(t, entry, due)
                s = self._admitted(s, entry, due)
                s = s._replace(owed=s.owed - skipped, pardoned=s.pardoned | (s.owed & skipped))
                run[receipt] = entry
            letters.append(letter)
        s = with_records(s, who, run)
        return [(t._replace(s=s._replace(regs=put(s.regs, who, seq))), ("ok", *letters))]

    def _admitted(self, s: Server, e: Entry, due: int | None) -> Server:
        spec = self.jobs[e.job]
        if not spec.recurs:
            return s._replace(unique=put(s.unique, spec.unique, (e.job, True)))
        if "rearm_after" in self.bugs:
            return s
        return self._rearm(s, e, due)

    def _still_ahead(self, t: State, e: Entry, due: int | None) -> tuple[int | None, frozenset[Occ]]:
        """A due time that has come already is not armed again: what was missed makes one late run, this one."""
        latest = dict(t.taken)[e.job]
        if due is None or due > latest or "next_in_the_past" in self.bugs:
            return due, frozenset()
        skipped = frozenset((e.job, k) for k in range(due, latest + 1))
        return (latest + 1 if latest + 1 < self.jobs[e.job].ticks else None), skipped

    def _rearm(self, s: Server, e: Entry, due: int | None) -> Server:
        s = s._replace(slots=s.slots | {e.at})
        if due is None:
            return s._replace(ended=s.ended | {e.job})
        return s._replace(nxt=put(s.nxt, e.job, due, keep=True))

    def settle(self, t: State, who: Who, seq: int, ends: tuple[End, ...]) -> list[Outcome]:
        """Apply endings, each only while its record stands."""
        stored = dict(t.s.regs).get(who)
        refused = self._head(t.s, who, seq)
        if refused and not (refused == ("gone",) and "stale_settle" in self.bugs):
            return [(t, refused)]
        if seq == stored and "no_settle_seq" not in self.bugs:
            return [(t, ("ok",))]
        stale = []
        for end in ends:
            run = records(t.s, who)
            known = run.pop(end.receipt, None)
            if known is None and "stale_settle" not in self.bugs:
                stale.append(end.receipt)
                continue
            t = t._replace(s=with_records(t.s, who, run))
            t = self._apply(t, end)
        if stored is not None:
            t = t._replace(s=t.s._replace(regs=put(t.s.regs, who, seq)))
        return [(t, ("ok", *stale))]

    def _apply(self, t: State, end: End) -> State:
        e, s = end.entry, t.s
        if end.how == "F":
            t = self._retried(t, e)
            again = e if "attempt_forgotten" in self.bugs else e._replace(attempt=e.attempt + 1)
            return grant(t._replace(s=s._replace(again=s.again | {again})), e.at)
        if end.how == "G":
            return t._replace(s=self._given_back(s, e))
        if end.how in "DX":
            t = self._ended(t, e.at)
        if end.how == "X":
            t = t._replace(s=t.s._replace(dead=t.s.dead | {e.at}))
        return t._replace(s=self._over(t.s, e, end.how))

    def _retried(self, t: State, e: Entry) -> State:
        if t.failed:
            return t
        retried = bump(t.retried, e.at)
        if dict(retried)[e.at] > self.jobs[e.job].retries:
            raise Violation(f"attempts: {e.job}{e.occ} is tried again, though no attempt is left")
        return t._replace(retried=retried)

    def _given_back(self, s: Server, e: Entry) -> Server:
        """What carries counts waits among our own; `S:next` would forget them."""
        if e.untouched or (e.kind == "r" and "release_forgets_crashes" in self.bugs):
            return s._replace(nxt=put(s.nxt, e.job, e.occ, keep=True))
        return s._replace(again=s.again | {e})

    def _ended(self, t: State, occ: Occ) -> State:
        s = t.s
        if occ not in s.owed and occ not in s.pardoned and not t.failed and occ[0] not in t.adrift:
            raise Violation(f"double_end: {occ[0]}{occ[1]} ended again")
        return t._replace(s=s._replace(owed=s.owed - {occ}, pardoned=s.pardoned - {occ}))

    def _over(self, s: Server, e: Entry, how: str) -> Server:
        """The occurrence is over: close it, and the last one out of a finished job takes the payload with it."""
        spec = self.jobs[e.job]
        if e.kind == "r":
            # a missing payload cannot be dropped: what stands now was added anew
            keeps = how == "M" and "missing_drops_payload" not in self.bugs
            s = s._replace(jobs=s.jobs if keeps else s.jobs - {e.job}, marks=s.marks - {e.job})
            return self._freed(s, e.job, how) if not spec.recurs else s
        if "rearm_after" in self.bugs and how == "D":
            s = self._rearm(s, e, e.occ + 1 if e.occ + 1 < spec.ticks else None)
        s = s._replace(slots=s.slots - {e.at})
        last = e.occ == spec.ticks - 1
        if "final_drop_naive" in self.bugs:
            return s._replace(jobs=s.jobs - {e.job}, ended=s.ended - {e.job}) if last else s
        ended = e.job not in dict(s.nxt) if "final_drop_by_next" in self.bugs else e.job in s.ended
        if ended and not any(job == e.job for job, _ in s.slots):
            s = s._replace(jobs=s.jobs - {e.job}, ended=s.ended - {e.job})
        return s

    def _freed(self, s: Server, job: str, how: str) -> Server:
        """Designed, not built: a unique key goes with the job that it names; where that was removed, it dangles."""
        key = self.jobs[job].unique
        holder = dict(s.unique).get(key)
        if holder is None or how not in "DX":
            return s
        return s._replace(unique=drop(s.unique, key)) if holder[0] == job or "unique_freed_blindly" in self.bugs else s

    def resync(self, t: State, who: Who, seq: int, believed: tuple[tuple[Receipt, str], ...]) -> list[Outcome]:
        """After a failover: hand back what the listener does not hold, or holds as admitted where that is forgotten;
        answer which receipts it must give up.
        """
        s = t.s
        stored = dict(s.regs).get(who)
        if stored is None or seq < stored:
            return [(t, ("gone",) if stored is None else ("old",))]
        run, mine, back = records(s, who), dict(believed), []
        for receipt, entry in sorted(run.items()):
            agreed = mine.get(receipt) == "r" or entry.kind == "o" or "resync_trusts_listener" in self.bugs
            if receipt in mine and agreed:
                del mine[receipt]
            elif receipt in mine or "resync_keeps_unheld" not in self.bugs:
                back.append(entry)
                del run[receipt]
        s = with_records(s, who, run)
        s = s._replace(again=s.again | set(back), regs=put(s.regs, who, seq))
        return [(t._replace(s=s), ("ok", *sorted(mine)))]
