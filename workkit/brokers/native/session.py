"""A listener's side of the native protocol: one name, one outstanding request, every request numbered.

Under load, the session sends the next request before it applies the last answer, so the server looks for jobs
meanwhile. That request is outstanding until the next call (`conversation.py`). If the registration is gone, all its
claims are fenced, and the session registers under a new name. If the server has forgotten steps, the session sends the
records that it holds. Claims unknown to the server are dropped; all others continue.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from typing import Any

from workkit.brokers.native.codec import Codec, functions_text
from workkit.brokers.native.conversation import Conversation, Forgotten, Gone, Request
from workkit.brokers.native.keys import Keys
from workkit.brokers.native.record import heard_upto, read_claims, read_ended, read_late
from workkit.brokers.native.results import MOST_KEPT, NO_MAPS, Recorder, kept_size, settlement
from workkit.brokers.native.settle import DEAD_KEPT, DEAD_KEPT_MS, Receipt, admission_request, log_row
from workkit.brokers.redis_server.control import Description, new_name, read_control
from workkit.brokers.redis_server.pages import server_ms
from workkit.brokers.redis_server.script import load
from workkit.brokers.redis_server.server import Call, Server
from workkit.contract.listener import BatchEnd, Claim, Ending, ListenerInfo, Orders, Turn
from workkit.errors import ServerError
from workkit.jobs.admission import FREE, Admission, Control
from workkit.jobs.outcome import DONE, Released

PORTION = 600  # jobs in one claim: while the server looks for more, endings and other listeners wait
MANY = 200  # jobs; this many or more are claimed in two portions, the second while the first is read
_MISSED = {b"m": "late", b"o": "overlap"}
MOST_UNFIT = 10_000  # jobs with arguments that do not fit, each offered again at its own time
EVERY = b""  # in place of ids: all jobs that this listener has left are offered again
MOST_ENDS = 1000  # endings in one request
OTHER_FIELDS = 2  # fields of a record hash beside the records: the number, and who the listener is


class Session:
    """One listener on one schedule. For one thread, the listener's loop. Each method may raise ServerUnreachable or
    ServerRefused; the next call then first repeats the outstanding request.
    """

    def __init__(self, server: Server, *, keys: Keys, codec: Codec, lease_ms: int) -> None:
        self._server, self._keys, self._codec, self._lease_ms = server, keys, codec, lease_ms
        self._scripts = load("native")
        self._who: Description | None = None
        self._talk = Conversation(server)
        self._held: dict[bytes, Claim] = {}
        self._ready: list[Claim] = []
        self._armed: list[Claim] = []
        self._refused: list[Claim] = []
        self._lost: list[Claim] = []
        self._missed: list[tuple[Claim, str]] = []
        self.batches: list[tuple[str, BatchEnd]] = []  # that have ended, for the next turn
        self.control: Control = FREE  # pauses and limits, as far as this session knows
        self._version = b""  # version of the control key: the server answers only news
        self._news: Control | None = None  # a newer control that the caller has not read yet
        self._ends: list[Ending] = []
        self._wake_in_ms: float | None = None
        self._armed_until_ms = float("inf")  # until the first item that was put back is due
        self._cancelled_upto = 0
        self._unfit: dict[bytes, int] = {}  # ids of jobs with unfit arguments -> until when others have them, ms
        self._excess = 0  # records that only the server knows
        self._now_ms = 0
        self.has_groups = 0  # whether there was anything to gather at the last heartbeat
        self._recorder = Recorder()
        self.name = ""  # name of this registration: host, pid and a part that no listener has used before

    def register(self, info: ListenerInfo) -> None:
        """List this listener under a new name."""
        name = new_name(info.listener)
        self._who = Description(info, began_ms=server_ms(self._server))
        self._server.call(*self._call("register", [name, self._who.packed], listener=name))
        if info.functions:
            self._publish(name, *functions_text(info.functions))
        self.name = name
        self._talk.seq = 0

    def _publish(self, name: str, digest: str, text: bytes) -> None:
        """Publish the known functions. Nothing depends on it: a server that refuses, or is full, stops no listener."""
        publish = self._scripts["publish"]
        with suppress(ServerError):
            self._server.call(publish, publish.keys(self._keys), [name, digest, text])

    def claim(self, limit: int, *, ends: Sequence[Ending] = (), now_ms: int | None = None) -> Turn:
        """Settle endings and claim jobs: see `Broker.claim`. `now_ms` None: by the server's clock."""
        self._ends += ends
        talk = self._talk

        def turn() -> None:
            if not talk.is_more_due:
                if talk.heard:
                    talk.take_up()
                first = limit if limit < MANY else limit // 2
                talk.send(self._requests(first - len(self._ready), now_ms))
                talk.hear()
            if talk.is_more_due:
                talk.send(self._requests(limit - len(self._ready) - talk.jobs, now_ms))
            talk.take_up()

        try:
            self._step(turn)
        except Gone:
            refused, self._refused = self._refused, []
            return Turn(fenced=self._forget(), refused=refused)
        claims, refused, lost, news, ended = self._ready, self._refused, self._lost, self._news, self.batches
        self._ready, self._refused, self._lost, self._news, self.batches = [], [], [], None, []
        return Turn(
            claims=claims,
            control=news,
            wake_in_ms=self._wake_in_ms,
            refused=refused,
            fenced=lost,
            asked=talk.asked is not None,
            batches=ended,
        )

    def admit(self, asked: Sequence[tuple[Claim, Admission | None]], *, now_ms: int | None = None) -> Turn:
        """Re-arm recurring jobs, take slots and turns. Return the claims that may start, armed; and the claims that
        have lost their payload meanwhile, with a trouble. This listener no longer holds parked claims.
        """

        def arm() -> None:
            self._talk.take_up()
            # if an earlier request was answered only now, the claim may be gone, or be another value
            while current := [p for p in asked if self._holds(p[0]) and self._held[p[0].receipt.field] is p[0]]:
                self._talk.ask([self._admit(current, now_ms)])

        try:
            self._step(arm)
        except Gone:
            return Turn(fenced=self._forget())
        armed, self._armed = self._armed, []
        missed, self._missed = self._missed, []
        wake, self._armed_until_ms = self._armed_until_ms, float("inf")
        return Turn(claims=armed, wake_in_ms=max(0.0, wake), fenced=self._take_lost(), missed=missed)

    def beating(
        self, *, trouble: str | None, state: str | None = None, awaited: int = 0
    ) -> Callable[[], tuple[Orders, list[tuple[str, float]]]]:
        """Send a heartbeat. Return a function that waits for its answer: the orders for this listener, and the
        listeners that look dead (name, beat).
        """
        try:
            self._step(self._talk.take_up)
            self._offer_again()
        except Gone:
            gone = Orders(fenced=self._forget())
            return lambda: (gone, [])
        args = [self.name, self._lease_ms, self._cancelled_upto, DEAD_KEPT, DEAD_KEPT_MS, self._version]
        asked = self._server.ask([self._call("beat", [*args, self._me.of(trouble, state, awaited)])])
        return lambda: self._heard_beat(self._server.answers(asked)[0])

    def _heard_beat(self, reply: list[Any]) -> tuple[Orders, list[tuple[str, float]]]:
        if reply[0] != b"ok":
            return Orders(fenced=self._forget()), []
        _, now, look, stale, marks, control, fields, is_late, self.has_groups = reply
        self._now_ms = int(now)
        try:
            self._compare(fields - OTHER_FIELDS - len(self._held))
        except Gone:
            return Orders(fenced=self._forget()), []
        if control:
            self._hear_control(control)
        self._cancelled_upto = heard_upto(marks, int(now), before=self._cancelled_upto)
        cancelled = frozenset(mark.decode("utf-8", "replace") for mark in marks[::2])
        names = [name.decode("utf-8", "surrogateescape") for name in stale[::2]]
        pairs = list(zip(names, map(float, stale[1::2]), strict=True))
        news, self._news = self._news, None
        late = read_late(self._server.run(self._keys, "late", ["tell"]), self._codec) if is_late else ()
        orders = Orders(look=bool(look), cancelled=cancelled, fenced=self._take_lost(), control=news, late=late)
        return orders, [p for p in pairs if p[0] != self.name]

    def _hear_control(self, pairs: Sequence[bytes]) -> None:
        """Read the control key in an answer: its fields and values."""
        self._version, self.control = read_control(pairs)
        self._news = self.control

    def _offer_again(self) -> None:
        """Remove the mark from jobs left to others for long enough. Claims then read the queue from its front."""
        if over := [id for id, until_ms in self._unfit.items() if until_ms <= self._now_ms]:
            with self._server.translated() as client:
                skip = self._keys.skip(self.name)
                client.delete(skip) if EVERY in over else client.srem(skip, *over)
            self._talk.cursors = b""
            self._unfit = {id: ms for id, ms in self._unfit.items() if id not in over and EVERY not in over}

    @property
    def _me(self) -> Description:
        """The description of this listener. Every heartbeat sends it, so it replaces values that others
        have written.
        """
        assert self._who is not None, "register first"
        return self._who

    def _compare(self, excess: int) -> None:
        """Send `resync`, once for each number, if the server and this session have different numbers of records."""
        if excess not in (0, self._excess):
            self._step(lambda: self._talk.ask([self._resync()]))
        self._excess = excess

    def tell(self, said: Mapping[Any, str | None], logs: Sequence[tuple[Claim, str]] = ()) -> None:
        """Store progress and logs of the runs that this listener still holds, in one round trip."""
        own = [(receipt, words) for receipt, words in said.items() if receipt.listener == self.name]
        args = [part for receipt, words in own for part in (receipt.field, words or "")]
        rows = [log_row(claim, text, self._now_ms) for claim, text in logs if claim.receipt.listener == self.name]
        told = ("tell", args), ("log", [part for row in rows for part in row])
        if calls := [self._call(verb, parts) for verb, parts in told if parts]:
            self._server.answers(self._server.ask(calls))

    def reap(self, listener: str, beat: float) -> tuple[int, int] | None:
        """Fence a listener with last heartbeat `beat`, and hand its work back: (moved, left). None if it lives."""
        reply = self._server.call(*self._call("reap", [listener, repr(beat), self._lease_ms, 500], listener=listener))
        return None if reply[0] == b"alive" else (int(reply[0]), int(reply[1]))

    def reconsider(self) -> None:
        """Forget which jobs this listener skips."""
        with self._server.translated() as client:
            client.delete(self._keys.skip(self.name))
        self._talk.cursors = b""

    def leave(self) -> int:
        """End the registration. Return the number of records that it still holds; 0: it has ended."""
        if not self.name:
            return 0
        held = int(self._server.call(*self._call("leave", [self.name])))
        if not held and self._me.info.functions:
            self._publish(self.name, "", b"")
        return held

    def _step(self, act: Callable[[], None]) -> None:
        """Repeat outstanding requests, under their old numbers. Register if there is no name. Then call `act`, which
        applies the answers. If the server has forgotten steps, send `resync` and begin again.
        """
        while True:
            try:
                self._talk.catch_up()
                if not self.name:
                    self.register(self._me.info)
                return act()
            except Forgotten:
                self._ends = self._talk.unsaid() + self._ends
                self._talk.ask([self._resync()])

    def _call(self, verb: str, args: Sequence[Any], *, listener: str | None = None, **of: tuple[str, ...]) -> Call:
        """Make the call of a script about this listener, or about another, which may have an empty name."""
        script, whom = self._scripts[verb], self.name if listener is None else listener
        return script, script.keys(self._keys, listener=whom, **of), args

    def _forget(self) -> list[Claim]:
        """Drop all claims, which other listeners have now, and return them. The next call registers again."""
        lost = [*self._held.values()]
        self._held.clear()
        lost += self._take_lost()
        self._ready, self._armed, self._ends, self._missed = [], [], [], []
        self.name = ""
        self._unfit.clear()
        self._talk.drop()
        return lost

    def _holds(self, claim: Claim) -> bool:
        receipt: Receipt = claim.receipt
        return receipt.listener == self.name and receipt.field in self._held

    def _take_lost(self) -> list[Claim]:
        lost, self._lost = self._lost, []
        return lost

    def _requests(self, limit: int, now_ms: int | None) -> list[Request]:
        """Make the requests that settle all endings, and one that claims up to `limit` jobs."""
        requests = []
        while self._ends:
            if (settling := self._settle(now_ms)) is not None:
                requests.append(settling)
        if limit > 0:
            requests.append(self._claim(min(limit, PORTION), now_ms))
        return requests

    def _claim(self, limit: int, now_ms: int | None) -> Request:
        self._talk.seq += 1
        seq = self._talk.seq

        def done(reply: list[Any]) -> None:
            _, now, wake_in, marks, control = reply[:5]
            self._now_ms = int(now)
            self._wake_in_ms = max(0.0, float(wake_in)) if wake_in != -1 else None
            if control:
                self._hear_control(control)
            self._ready += read_claims(
                *reply[6:], seq=seq, cancelled=marks or (), listener=self.name, codec=self._codec, held=self._held
            )

        args = [self.name, seq, limit, "" if now_ms is None else now_ms, self._version, self._talk.cursors]
        return Request(self._call("claim", args), done)

    def _admit(self, pairs: Sequence[tuple[Claim, Admission | None]], now_ms: int | None) -> Request:
        now, is_now = max(now_ms or 0, self._now_ms), now_ms is None
        by = self.name if self.control.history == "full" else None
        asked = [admission_request(claim, wanted, now_ms=now, is_now=is_now, listener=by) for claim, wanted in pairs]

        def done(reply: list[Any]) -> None:
            first = min((a.next_due_ms for a in asked if a.next_due_ms is not None), default=float("inf"))
            turn = float("inf") if reply[2] == -1 else float(reply[2])
            self._now_ms = max(self._now_ms, int(float(reply[1])))
            self._armed_until_ms = min(first - float(reply[1]), turn)
            for a, letter in zip(asked, reply[3:], strict=True):
                field = a.before.receipt.field
                if letter == b"g":
                    self._held[field] = a.after
                    self._armed.append(a.after)
                elif letter == b"x":
                    gone = replace(a.before, trouble="missing", reason="its payload was removed meanwhile", armed=True)
                    self._held[field] = gone
                    self._armed.append(gone)
                elif letter != b"e":
                    self._held.pop(field, None)
                    if letter == b"l":
                        self._refused.append(a.before)
                    elif letter in _MISSED:
                        self._missed.append((a.before, _MISSED[letter]))

        self._talk.seq += 1
        args = [self._talk.seq, *(a.packed for a in asked)]
        return Request(self._call("admit", args), done)

    def _resync(self) -> Request:
        self._talk.seq += 1
        args: list[Any] = [self._talk.seq]
        for field, claim in self._held.items():
            # a server that has forgotten steps may have the missing job again: `x` agrees with no record
            entry = claim.receipt.entry
            args += [field, "x" if claim.trouble == "missing" else entry.kind + entry.flags]

        def done(reply: list[Any]) -> None:
            lost = {field: self._held.pop(field) for field in reply[1:]}
            self._lost += lost.values()
            self._ready = [c for c in self._ready if c.receipt.field not in lost]
            self._armed = [c for c in self._armed if c.receipt.field not in lost]
            self._ends = [end for end in self._ends if end[0].receipt.field not in lost]

        return Request(self._call("resync", args), done)

    def _settle(self, now_ms: int | None) -> Request | None:
        """Settle the next endings in one request: 1,000, or fewer if their results are large. Refuse endings of an
        earlier registration here; return None if there are no others.
        """
        ends: list[Ending] = []
        plain: list[bytes] = []  # endings that need no map, as most: a one-shot, done at its first attempt
        others: list[Ending] = []
        members: dict[str, list[bytes]] = {}  # plain endings of the members of a batch
        taken = size = 0
        fields: list[bytes] = []
        for claim, outcome in self._ends[:MOST_ENDS]:
            if outcome is not DONE:
                size += kept_size(outcome)
                if size > MOST_KEPT and taken:
                    break
            taken += 1
            receipt: Receipt = claim.receipt
            held = self._held.get(receipt.field)
            if held is not claim:
                # the claim as it is now: a repeated admission may have armed one that was given back unarmed
                if held is None or receipt.listener != self.name:
                    self._refused.append(claim)
                    continue
                claim, receipt = held, held.receipt
            fields.append(receipt.field)
            ends.append((claim, outcome))
            if outcome is DONE and not (claim.attempt or claim.trouble or receipt.is_bound):
                (plain if claim.batch is None else members.setdefault(claim.batch, [])).append(receipt.field)
            else:
                others.append((claim, outcome))
        self._ends = self._ends[taken:]
        if not ends:
            return None
        maps, kept = NO_MAPS, tuple[str, ...]()
        if others or members:
            recorder = self._recorder if self.control.history == "full" else None
            now = max(now_ms or 0, self._now_ms)
            how: Any = {"recorder": recorder, "listener": self.name, "now_ms": now, "codec": self._codec}
            maps, kept = settlement(others, members, **how)

        def done(reply: list[Any]) -> None:
            for claim, outcome in others:
                if isinstance(outcome, Released) and outcome.unfit_ms:
                    id = claim.receipt.id if len(self._unfit) < MOST_UNFIT else EVERY
                    self._unfit[id] = self._now_ms + outcome.unfit_ms
            refused = set(reply[2])
            self.batches += read_ended(reply[3])
            for field in fields:
                held = self._held.pop(field, None)
                if refused and field in refused and held is not None:
                    self._refused.append(held)

        self._talk.seq += 1
        args = [self._talk.seq, "" if now_ms is None else now_ms, maps, len(plain)]
        args += plain
        return Request(self._call("settle", args, kept=kept), done, ends)
