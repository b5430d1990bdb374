"""What a listener does: its session, which asks until it is answered, and its loop, which decides endings as values.

An ending is decided whenever it comes up, also while a request is outstanding; it is sent with the next turn.
"""

from __future__ import annotations

from typing import Any

from tests.model.groups import Groups
from tests.model.protocol import (
    POISON,
    Ask,
    Client,
    End,
    Entry,
    Held,
    Plan,
    Request,
    State,
    Violation,
    bump,
    put,
    spend,
    with_client,
)
from tests.model.scripts import Outcome, Reply, Scripts
from tests.model.slots import Slots, to_the_end

Step = tuple[str, bool, State]  # what happened, whether it is a fault, and what it led to
DECIDED = "DFXGMK"
UNARMED = "CP"


class Listeners:
    """The listeners of one plan."""

    def __init__(self, plan: Plan, scripts: Scripts) -> None:
        self.plan, self.scripts, self.slots, self.bugs = plan, scripts, Slots(plan), plan.bugs
        self.groups = Groups(plan)

    def steps(self, t: State) -> list[Step]:
        """Everything that a listener can do next, and the requests that are still on their way."""
        out: list[Step] = []
        for i, c in enumerate(t.clients):
            if not c.up:
                out.append((f"L{i} starts anew", False, self._anew(t, i)))
                continue
            for label, requests in self._requests(i, c):
                out += self._sending(t, i, label, requests)
            out += self._deciding(t, i)
            if t.budget.crash:
                out.append((f"L{i} crashes", True, spend(self._crashed(t, i), "crash")))
        for message in t.net:
            out += self._late(t, message)
        return out

    def _anew(self, t: State, i: int) -> State:
        c = Client(inc=t.clients[i].inc + 1)
        return with_client(t, i, c)._replace(s=t.s._replace(regs=put(t.s.regs, (i, c.inc), 0)))

    def _crashed(self, t: State, i: int) -> State:
        return with_client(t, i, Client(up=False, inc=t.clients[i].inc))

    # What is asked.

    def _requests(self, i: int, c: Client) -> list[tuple[str, tuple[Request, ...]]]:
        if c.out:
            return [("asks again", c.out)]
        choices: list[tuple[str, tuple[Request, ...]]] = []
        ends = tuple(End(h.receipt, h.entry, h.phase) for h in c.held if h.phase in DECIDED)
        room = self.plan.capacity - sum(h.phase in "CAPR" for h in c.held)
        settle, claim = Request("settle", ends), Request("claim", room)
        if ends:
            choices.append((f"settles {shown(ends)}", (settle,)))
        if room > 0:
            both = f"settles {shown(ends)} and claims", (settle, claim)
            choices.append(both if ends else ("claims", (claim,)))
        if unarmed := tuple(self._asking(i, c, h) for h in c.held if h.phase in UNARMED):
            choices.append((f"admits {', '.join(a.entry.job for a in unarmed)}", (Request("admit", unarmed),)))
        return choices

    def _asking(self, i: int, c: Client, h: Held) -> Ask:
        e, spec = h.entry, self.plan.jobs[h.entry.job]
        due = max(e.occ, h.after) + 1
        follows = due if spec.recurs and due < spec.ticks else None
        return Ask(h.receipt, e, follows, self.slots.asked(e.job, i), self._pause(c, e.job), h.phase == "P")

    def _pause(self, c: Client, job: str) -> str:
        return next((target for target in (job, self.plan.jobs[job].fn) if target in c.paused), "")

    def _sending(self, t: State, i: int, label: str, requests: tuple[Request, ...]) -> list[Step]:
        """Without a fault, asking, running and answering are one step: what others do in between commutes."""
        c = t.clients[i]
        asked = c if c.out else c._replace(seq=c.seq + len(requests), out=requests)
        who, first = (i, c.inc), asked.seq - len(requests) + 1
        sent = with_client(t, i, asked)
        out: list[Step] = []
        for u, replies in self._all(sent, who, first, requests):
            said = f"L{i} {label}: {', '.join(map(brief, replies))}"
            out.append((said, False, self._heard(u, i, replies)))
            if t.budget.lose:
                out.append((f"{said}, but the reply is lost", True, spend(u, "lose")))
        late = who, first, requests
        if t.budget.lose:
            cut = spend(sent, "lose")
            out.append((f"L{i} {label}: cut first, may arrive late", True, cut._replace(net=t.net | {late})))
            if len(requests) > 1:
                for u, reply in self.scripts.run(cut, who, first, *requests[0]):
                    rest = who, first + 1, requests[1:]
                    said = f"L{i} {label}: cut after the first: {brief(reply)}, the rest may arrive late"
                    out.append((said, True, u._replace(net=t.net | {rest})))
        if t.budget.crash:
            gone = spend(self._crashed(t, i), "crash")
            out.append((f"L{i} {label} and crashes, may arrive late", True, gone._replace(net=t.net | {late})))
        return out

    def _all(
        self, t: State, who: tuple[int, int], seq: int, requests: tuple[Request, ...]
    ) -> list[tuple[State, list[Reply]]]:
        worlds: list[tuple[State, list[Reply]]] = [(t, [])]
        for at, request in enumerate(requests):
            ran: list[tuple[State, list[Reply]]] = []
            for u, replies in worlds:
                outcomes: list[Outcome] = self.scripts.run(u, who, seq + at, *request)
                ran += [(v, [*replies, reply]) for v, reply in outcomes]
            worlds = ran
        return worlds

    def _late(self, t: State, message: tuple[tuple[int, int], int, tuple[Request, ...]]) -> list[Step]:
        who, seq, requests = message
        rest = t._replace(net=t.net - {message})
        name = f"L{who[0]}.{who[1]}"
        out: list[Step] = [(f"late {requests[0].op} of {name} never arrives", False, rest)]
        for u, reply in self.scripts.run(rest, who, seq, *requests[0]):
            if len(requests) > 1:
                u = u._replace(net=u.net | {(who, seq + 1, requests[1:])})
            out.append((f"late {requests[0].op} of {name} arrives: {brief(reply)}", False, u))
        return out

    # What is heard.

    def _heard(self, t: State, i: int, replies: list[Reply]) -> State:
        c = t.clients[i]
        requests = c.out
        if any(reply[0] == "gone" for reply in replies):
            return self._anew(t, i)  # taken for dead: what was held is somebody else's now
        if any(reply[0] == "step" for reply in replies):
            if not t.failed:
                raise Violation("step: a server that has forgotten nothing asks what a listener holds")
            believed = tuple((h.receipt, self._believed(h), h.entry.slots) for h in c.held)
            return with_client(t, i, c._replace(seq=c.seq + 1, out=(Request("resync", believed),)))
        t = with_client(t, i, c._replace(out=()))
        for request, reply in zip(requests, replies, strict=True):
            if reply[0] == "old":
                if request is requests[-1]:
                    raise Violation("old: a listener's own newest request was called old")
                reply = ("ok",)  # a settle asked again, whose claim had followed it: both had their effect
            t = with_client(t, i, getattr(self, "_heard_" + request.op)(t, i, request.args, reply[1:]))
        return t

    def _believed(self, h: Held) -> str:
        """The kind of a record as a resync tells it. What had no payload may have one again: no record is like that."""
        return "x" if h.phase == "M" and "resync_keeps_missing" not in self.bugs else h.entry.kind

    def _heard_claim(self, t: State, i: int, args: int, reply: Reply) -> Client:
        c = t.clients[i]._replace(paused=reply[0])
        claims = tuple(Held(r, e, trouble or self._phase(i, c, e)) for r, e, trouble in reply[1:])
        return c._replace(held=c.held + claims)

    def _heard_admit(self, t: State, i: int, args: tuple[Ask, ...], reply: Reply) -> Client:
        c, held = t.clients[i], []
        answers = {ask.receipt: (ask, letter) for ask, letter in zip(args, reply, strict=True)}
        for h in c.held:
            ask, letter = answers.get(h.receipt, (None, ""))
            decided, stale = h.phase in DECIDED, "decided_stale" in self.bugs  # given back before the answer came
            if ask is None:
                held.append(h)
            elif letter == "g":
                entry = ask.admitted(recurs=self.plan.jobs[h.entry.job].recurs)
                phase = h.phase if decided else self._ready(entry)
                held.append(h._replace(entry=h.entry if stale and decided else entry, phase=phase, after=-1))
            elif letter == "x":
                held.append(h._replace(phase="G" if decided and stale else "M", after=-1))
            elif letter == "f":
                held.append(h._replace(phase=h.phase if decided else "P"))
            elif letter[0] == "e":
                held.append(h if decided else h._replace(after=int(letter[1:])))
            elif letter == "l" and not t.failed:
                raise Violation("lost: a live listener's record was not there to be admitted")
        return c._replace(held=tuple(held))

    def _heard_settle(self, t: State, i: int, args: tuple[End, ...], reply: Reply) -> Client:
        if reply and not t.failed:
            raise Violation("stale_false: a live listener's ending was refused")
        c, sent = t.clients[i], {end.receipt for end in args}
        return c._replace(held=tuple(h for h in c.held if h.receipt not in sent))

    def _heard_resync(self, t: State, i: int, args: Any, reply: Reply) -> Client:
        """What the server lacks runs on, but its ending is never sent."""
        c = t.clients[i]
        return c._replace(held=tuple(h for h in c.held if h.receipt not in reply))

    # What is decided.

    def _phase(self, i: int, c: Client, e: Entry) -> str:
        spec = self.plan.jobs[e.job]
        if spec.foreign:
            return "G"
        unarmed = spec.recurs and e.kind == "r"
        waits = spec.until_started or self._pause(c, e.job) or set(self.slots.asked(e.job, i)).difference(e.slots)
        return "C" if unarmed or waits else self._ready(e)

    def _ready(self, e: Entry) -> str:
        return "X" if e.crashes >= POISON else "A"

    def _deciding(self, t: State, i: int) -> list[Step]:
        out: list[Step] = []
        c = t.clients[i]
        sent = {end.receipt for r in c.out if r.op == "settle" for end in r.args}
        for at, h in enumerate(c.held):
            e, name = h.entry, f"{h.entry.job}{h.entry.occ}"
            if h.receipt in sent:
                continue
            if h.phase == "A":
                out.append((f"L{i} starts {name}", False, self._started(self._put(t, i, at, "R"), i, e)))
            if h.phase == "R":
                out.append((f"L{i} finishes {name}", False, self._put(t, i, at, "D")))
                if t.budget.fail:
                    how = "F" if e.attempt < self.plan.jobs[e.job].retries else "X"
                    out.append((f"L{i} fails {name}", False, spend(self._put(t, i, at, how), "fail")))
            if h.phase in "CA" and t.budget.release:
                out.append((f"L{i} gives {name} back", False, spend(self._put(t, i, at, "G"), "release")))
        return out

    def _put(self, t: State, i: int, at: int, phase: str) -> State:
        c = t.clients[i]
        return with_client(t, i, c._replace(held=(*c.held[:at], c.held[at]._replace(phase=phase), *c.held[at + 1 :])))

    def _started(self, t: State, i: int, e: Entry) -> State:
        listed = (i, t.clients[i].inc) in dict(t.s.regs)  # whoever was taken for dead does not know it yet
        if e.at in t.banned and listed and not t.failed:
            raise Violation(f"cancelled: {e.job}{e.occ} starts though it was removed")
        if e.at in t.s.replaced and listed and not t.failed:
            raise Violation(f"replaced: {e.job}{e.occ} starts though another had replaced it before it began")
        if listed and not t.failed and self.plan.groups:
            self.groups.starts(t.s, e.job)
        if t.failed:
            return t
        if listed and dict(t.crashed).get(e.at, 0) >= POISON:
            raise Violation(f"poison: {e.job}{e.occ} starts though it has crashed {POISON} listeners")
        if dict(t.credit).get(e.at, 0) < 1:
            raise Violation(f"double_run: {e.job}{e.occ} starts once more than hand-backs and retries explain")
        t = t._replace(credit=bump(t.credit, e.at, -1))
        return self._begun(t, e) if listed else t

    def _begun(self, t: State, e: Entry) -> State:
        """Under an overlap or unique key nobody begins while another that has begun is not over."""
        keys = to_the_end(self.plan.jobs[e.job], e.job)
        for job, k in sorted(t.begun - {e.at}):
            if set(keys) & set(to_the_end(self.plan.jobs[job], job)):
                raise Violation(f"between: {e.job}{e.occ} starts though {job}{k} has begun and is not over")
        return t._replace(begun=t.begun | {e.at}) if keys else t


def shown(ends: tuple[End, ...]) -> str:
    """Endings as a trace names them."""
    return "+".join(f"{e.entry.job}{e.entry.occ}:{e.how}" for e in ends)


def brief(reply: Reply) -> str:
    """A reply as a trace names it."""
    if reply[0] != "ok":
        return str(reply[0])
    said = (x for x in reply[1:] if not isinstance(x, frozenset))
    return " ".join(["ok", *(f"{x[1].job}{x[1].occ}{x[2]}" if len(x) == 3 else str(x) for x in said)])
