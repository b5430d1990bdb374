"""What the server does: each of a listener's scripts as a function from a state to what it can lead to, with the reply.

Only `claim` has more than one: which of the queued items are due is left open. Like the scripts, nothing here looks at
a payload; what `settle` applies comes from the listener, as it believed things to be when it decided.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import combinations
from typing import Any

from tests.model.groups import Groups
from tests.model.protocol import (
    Ask,
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
from tests.model.slots import PAUSED, Slots, kept

Reply = tuple[Any, ...]
Outcome = tuple[State, Reply]


def grant(t: State, occ: Occ) -> State:
    """This occurrence may start once more; after a failover nobody counts."""
    return t if t.failed else t._replace(credit=bump(t.credit, occ))


def without(s: Server, who: Who, receipt: Receipt) -> Server:
    """The server without this record."""
    return with_records(s, who, {r: e for r, e in records(s, who).items() if r != receipt})


def forgotten(s: Server, plan: Plan, job: str) -> Server:
    """A unique key goes with the payload of the job that it names."""
    key = plan.jobs[job].unique
    if dict(s.unique).get(key) == job or "unique_freed_blindly" in plan.bugs:
        return s._replace(unique=drop(s.unique, key))
    return s


def given_back(s: Server, e: Entry, plan: Plan) -> Server:
    """A regular item again, where every peer sees it; whoever put it back first wins (NX)."""
    if e.job in dict(s.nxt):
        return s
    s = s._replace(nxt=put(s.nxt, e.job, e.occ))
    if not e.crashes:
        return s
    return s._replace(crashes=put(s.crashes, (e.job, -1) if "crashes_of_a_job" in plan.bugs else e.at, e.crashes))


def handed_back(s: Server, e: Entry, plan: Plan) -> Server:
    """Nobody holds it any more: what was not admitted, and has no attempt, is a regular item; all else is ours."""
    if e.is_regular and "foreign_hidden" not in plan.bugs:
        return given_back(s, e, plan)
    return s._replace(again=s.again | {e})


class Scripts:
    """The scripts of one plan, with its seeded faults."""

    def __init__(self, plan: Plan) -> None:
        self.jobs, self.bugs, self.plan, self.slots = plan.jobs, plan.bugs, plan, Slots(plan)
        self.groups = Groups(plan)

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
            return [(t, ("ok", s.paused, *self._taken(s, mine)))]
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
                mark = (e.job, -1) if "crashes_of_a_job" in self.bugs else e.at
                e = e._replace(crashes=dict(s.crashes).get(mark, 0))
                member = e.text if e.crashes else member
                s = s._replace(nxt=drop(s.nxt, e.job), crashes=drop(s.crashes, mark))
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
        return t._replace(s=s, taken=taken), ("ok", s.paused, *self._taken(s, batch))

    def _taken(self, s: Server, batch: list[tuple[Receipt, Entry]]) -> list[tuple[Receipt, Entry, str]]:
        return [(r, e, self._trouble(s, e)) for r, e in batch]

    def _trouble(self, s: Server, e: Entry) -> str:
        """M: its payload is gone, K: cancelled. A mark says nothing of a regular item of a recurring job: where its
        payload stands, somebody has added it anew.
        """
        if e.job not in s.jobs:
            return "M"
        renewed = self.jobs[e.job].recurs and e.kind == "r" and "mark_kills_readded" not in self.bugs
        return "K" if (e.job in s.marks and not renewed) or self.groups.is_given_up(s, e.job) else ""

    def admit(self, t: State, who: Who, seq: int, args: tuple[Ask, ...]) -> list[Outcome]:
        """Before claims start: put next items back or mark jobs ended, open occurrences, take slots; or park."""
        if refused := self._head(t.s, who, seq):
            return [(t, refused)]
        repeated, letters = seq == dict(t.s.regs)[who], []
        for ask in args:
            t, letter = self._admit(t, who, ask, repeated)
            letters.append(letter)
        return [(t._replace(s=t.s._replace(regs=put(t.s.regs, who, seq))), ("ok", *letters))]

    def _admit(self, t: State, who: Who, a: Ask, repeated: bool) -> tuple[State, str]:
        """One claim: g go, p parked, o missed since another runs, x without payload, l no such record, f only told
        that it must wait (with a fault); e: its next due time has come by now, and when.
        """
        s, e, spec = t.s, a.entry, self.jobs[a.entry.job]
        record, full = records(s, who).get(a.receipt), a.admitted(recurs=spec.recurs)
        if record is None:
            return t, "p" if repeated else "l"
        if repeated and record == full:
            return t, "g"
        if e.job not in s.jobs:
            return t, "x"
        opens, latest = spec.recurs and e.kind == "r", dict(t.taken)[e.job]
        if opens and a.due is not None and a.due <= latest and "next_in_the_past" not in self.bugs:
            return t, f"e{latest}"
        if a.pause and a.pause in s.paused:
            return t._replace(s=self._parked_by_pause(without(s, who, a.receipt), e, a.pause)), "p"
        over = f"over:{e.job}"
        meets = over in a.keys and over not in e.slots and self.slots.is_full(s, over)
        if meets and (spec.overlap == "skip" or any(key == over for key, _ in s.waiting)):
            return self._missed(t._replace(s=without(s, who, a.receipt)), a, opens), "o"
        return self._slotted(self._rearmed(t, a) if opens else t, who, a, full)

    def _slotted(self, t: State, who: Who, a: Ask, full: Entry) -> tuple[State, str]:
        """It takes slots, as many as it gets, and waits for the first that it does not get."""
        e, spec = a.entry, self.jobs[a.entry.job]
        had = tuple(k for k in e.slots if k in a.keys)
        s = self.slots.freed(t.s, e.at, [k for k in e.slots if k not in had])
        for at, key in enumerate(a.keys):
            if key in had:
                continue
            if self.slots.is_full(s, key) or a.unchecked:
                if "park_unchecked" in self.bugs and not a.unchecked:
                    return t, "f"
                s = without(s, who, a.receipt)
                return t._replace(s=self._parked_for_slot(s, full, (*a.keys[:at], key), had)), "p"
            s = s._replace(owners=s.owners | {(key, e.at)})
        if spec.until_started and dict(s.unique).get(spec.unique) == e.job:
            s = s._replace(unique=drop(s.unique, spec.unique))
        return t._replace(s=with_records(s, who, records(s, who) | {a.receipt: full})), "g"

    def _parked_for_slot(self, s: Server, full: Entry, slots: tuple[str, ...], had: tuple[str, ...]) -> Server:
        """It gives up what comes after the key it waits for: another may have that key, and wait for those."""
        later = tuple(k for k in had if k not in slots)
        if "later_slot_kept" in self.bugs:
            slots, later = (*later, *slots), ()
        s = self.slots.parked(s, slots[-1], full._replace(slots=slots))
        return self.slots.freed(s, full.at, later)

    def _rearmed(self, t: State, a: Ask) -> State:
        if "rearm_after" in self.bugs:
            return t
        t = self._pardoned(t, a)
        return t._replace(s=self._opened(self._armed(t.s, a.entry, a.due), a.entry))

    def _parked_by_pause(self, s: Server, e: Entry, target: str) -> Server:
        """It gives up what others may wait for: a pause may last."""
        mine = e.slots if "pause_keeps_slot" in self.bugs else kept(e.slots)
        s = self.slots.parked(s, PAUSED + target, e._replace(slots=mine))
        return self.slots.freed(s, e.at, [k for k in e.slots if k not in mine])

    def _missed(self, t: State, a: Ask, opens: bool) -> State:
        """Written off: over without a run."""
        e, t = a.entry, self._ended(t, a.entry.at)
        if opens:
            t = self._pardoned(t, a)
        s = self._armed(t.s, e, a.due) if opens else t.s
        if "missed_not_closed" not in self.bugs:
            s = self._closed(s, e, "M")
        return t._replace(s=s, credit=drop(t.credit, e.at))

    def _pardoned(self, t: State, a: Ask) -> State:
        """What lies between this occurrence and the next makes one late run, this one."""
        upto = self.jobs[a.entry.job].ticks if a.due is None else a.due
        s, skipped = t.s, frozenset((a.entry.job, k) for k in range(a.entry.occ + 1, upto))
        return t._replace(s=s._replace(owed=s.owed - skipped, pardoned=s.pardoned | (s.owed & skipped)))

    def _armed(self, s: Server, e: Entry, due: int | None) -> Server:
        if due is None:
            return s._replace(ended=s.ended | {e.job})
        return s._replace(nxt=put(s.nxt, e.job, due, keep=True))

    def _opened(self, s: Server, e: Entry) -> Server:
        return s._replace(slots=s.slots | {e.at})

    def settle(self, t: State, who: Who, seq: int, ends: tuple[End, ...]) -> list[Outcome]:
        """Apply endings, each only while its record stands."""
        stored = dict(t.s.regs).get(who)
        refused = self._head(t.s, who, seq)
        if refused and "slot_freed_by_stale_settle" in self.bugs:
            for end in ends:
                t = t._replace(s=self.slots.freed(t.s, end.entry.at, end.entry.slots))
        if refused and not (refused == ("gone",) and "stale_settle" in self.bugs):
            for end in ends if "record_refused" in self.bugs else ():
                t = _accounted(t, end, -1)
            for end in ends if "result_refused" in self.bugs else ():
                t = _kept_result(t, end, -1)
            return [(t, refused)]
        if seq == stored and "no_settle_seq" not in self.bugs:
            for end in ends if "record_repeated" in self.bugs else ():
                t = _accounted(t, end, -1)
            for end in ends if "result_repeated" in self.bugs else ():
                t = _kept_result(t, end, -1)
            return [(t, ("ok",))]
        stale = []
        for end in ends:
            run = records(t.s, who)
            known = run.pop(end.receipt, None)
            if known is None and "stale_settle" not in self.bugs:
                stale.append(end.receipt)
                continue
            t = t._replace(s=with_records(t.s, who, run))
            t = _accounted(self._apply(t, end), end, 1)
            if "record_apart" not in self.bugs:
                t = _accounted(t, end, -1)
            t = _kept_result(t, end, 1)
            if "result_apart" not in self.bugs:
                t = _kept_result(t, end, -1, attempts="result_of_attempt" in self.bugs)
        if stored is not None:
            t = t._replace(s=t.s._replace(regs=put(t.s.regs, who, seq)))
        return [(t, ("ok", *stale))]

    def _apply(self, t: State, end: End) -> State:
        e, s = end.entry, t.s
        if end.how == "F":
            t, mine = self._retried(t, e), kept(e.slots)
            flags = () if "retry_forgets_slot" in self.bugs else mine
            again = e._replace(attempt=e.attempt + ("attempt_forgotten" not in self.bugs), slots=flags)
            s = self.slots.freed(s._replace(again=s.again | {again}), e.at, [k for k in e.slots if k not in mine])
            return grant(t._replace(s=s), e.at)
        if end.how == "G":
            mine = () if "release_frees_overlap" in self.bugs else kept(e.slots)
            s = self._given_back(s, e._replace(slots=mine))
            free = [k for k in e.slots if k not in mine]
            return t._replace(s=s if "release_keeps_slot" in self.bugs else self.slots.freed(s, e.at, free))
        t = t._replace(begun=t.begun - {e.at})
        if end.how in "DX":
            t = self._ended(t, e.at)
        if end.how == "X":
            t = t._replace(s=t.s._replace(dead=t.s.dead | {e.at}))
        return t._replace(s=self.slots.freed(self._over(t.s, e, end.how), e.at, e.slots))

    def _retried(self, t: State, e: Entry) -> State:
        if t.failed:
            return t
        retried = bump(t.retried, e.at)
        if dict(retried)[e.at] > self.jobs[e.job].retries:
            raise Violation(f"attempts: {e.job}{e.occ} is tried again, though no attempt is left")
        return t._replace(retried=retried)

    def _given_back(self, s: Server, e: Entry) -> Server:
        """What has attempts, slots or turns waits among our own; `S:next` would forget them."""
        if e.kind == "r" and "release_forgets_crashes" in self.bugs:
            return given_back(s, e._replace(crashes=0), self.plan)
        return given_back(s, e, self.plan) if e.is_regular else s._replace(again=s.again | {e})

    def _ended(self, t: State, occ: Occ) -> State:
        s = t.s
        if occ not in s.owed and occ not in s.pardoned and not t.failed and occ[0] not in t.adrift:
            raise Violation(f"double_end: {occ[0]}{occ[1]} ended again")
        return t._replace(s=s._replace(owed=s.owed - {occ}, pardoned=s.pardoned - {occ}))

    def _over(self, s: Server, e: Entry, how: str) -> Server:
        """The occurrence is over: close it; the payload of a one-shot goes, and what stood for it."""
        spec = self.jobs[e.job]
        if e.kind == "o":
            if "rearm_after" in self.bugs and how == "D":
                s = self._opened(self._armed(s, e, e.occ + 1 if e.occ + 1 < spec.ticks else None), e)
            return self._closed(s, e, how)
        if how == "M" and "missing_drops_payload" not in self.bugs:
            return s  # what stands under its name now was added anew
        s = forgotten(s._replace(jobs=s.jobs - {e.job}, marks=s.marks - {e.job}), self.plan, e.job)
        return self.groups.ended(s, e, how)

    def _closed(self, s: Server, e: Entry, how: str) -> Server:
        """The last one out of a finished job takes the payload with it."""
        s = s._replace(slots=s.slots - {e.at})
        if "final_drop_naive" in self.bugs:
            ended = e.occ == self.jobs[e.job].ticks - 1
            return s._replace(jobs=s.jobs - {e.job}, ended=s.ended - {e.job}) if ended else s
        ended = e.job not in dict(s.nxt) if "final_drop_by_next" in self.bugs else e.job in s.ended
        if ended and not any(job == e.job for job, _ in s.slots):
            s = forgotten(s._replace(jobs=s.jobs - {e.job}, ended=s.ended - {e.job}), self.plan, e.job)
        return self.groups.ended(s, e, how)

    def resync(
        self, t: State, who: Who, seq: int, believed: tuple[tuple[Receipt, str, tuple[str, ...]], ...]
    ) -> list[Outcome]:
        """After a failover: hand back what the listener does not hold, or holds as admitted where that is forgotten;
        answer which receipts it must give up.
        """
        s = t.s
        stored = dict(s.regs).get(who)
        if stored is None or seq < stored:
            return [(t, ("gone",) if stored is None else ("old",))]
        run, mine, back = records(s, who), {receipt: flags for receipt, *flags in believed}, []
        for receipt, entry in sorted(run.items()):
            same = mine.get(receipt) in (["r", ()], [entry.kind, entry.slots])
            agreed = same or "resync_trusts_listener" in self.bugs
            if receipt in mine and agreed:
                del mine[receipt]
            elif receipt in mine or "resync_keeps_unheld" not in self.bugs:
                back.append(entry)
                del run[receipt]
        s = with_records(s, who, run)
        for entry in back:
            s = handed_back(s, entry, self.plan)
        return [(t._replace(s=s._replace(regs=put(s.regs, who, seq))), ("ok", *sorted(mine)))]


def _accounted(t: State, end: End, by: int) -> State:
    """Note that an attempt has ended (1), or that history has it (-1); what is given back is no ending."""
    if end.how not in "FDX":
        return t
    place = end.entry.at, end.entry.attempt, end.how
    open_ = bump(t.s.unrecorded, place, by)
    return t._replace(s=t.s._replace(unrecorded=frozenset((key, n) for key, n in open_ if n)))


def _kept_result(t: State, end: End, by: int, *, attempts: bool = False) -> State:
    """Note that an occurrence is over (1), or that its result is kept (-1); `attempts`: also of one that runs again."""
    if end.how not in ("FDX" if attempts else "DX"):
        return t
    open_ = bump(t.s.unkept, end.entry.at, by)
    return t._replace(s=t.s._replace(unkept=frozenset((key, n) for key, n in open_ if n)))
