"""Every key of the Redis beside an exchange, and the script arguments and records of each message. Pure.

The heads of scripts use the names of the keys. No schedule of another layout can have these keys: its name has no
blank. All are in one slot of a cluster. Normative: spec/layouts/hutch.md, section 12.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any
from urllib.parse import quote

from workkit.brokers.hutch.codec import Receipt
from workkit.brokers.hutch.message import COPY, UNIQUE, UNIQUE_UNTIL, text
from workkit.brokers.redis_server.control import pack
from workkit.contract.listener import Claim
from workkit.jobs.admission import NOTHING, SCHEDULE, Admission
from workkit.jobs.outcome import Again, Outcome, Released
from workkit.jobs.terms import PLAIN, Terms


class Keys:
    """The keys beside one exchange of one virtual host."""

    layout = "hutch"

    def __init__(self, vhost: str, exchange: str) -> None:
        self.prefix = prefix = f"{{amqp {quote(vhost, safe='')} {quote(exchange, safe='')}}}"
        self.listeners = f"{prefix}:listeners"  # sorted set: listener -> its last heartbeat
        self.control = f"{prefix}:control"  # hash of the pauses, and of the schedule's own limits
        self.slots = f"{prefix}:slots"  # sorted set of taken slots, by limit key
        self.rates = f"{prefix}:rates"  # sorted set: rate key -> when its next run may start
        self.begun = f"{prefix}:begun"  # hash: place of a message -> the run that has it
        self.counted = f"{prefix}:counted"  # hash: run -> 1, if it was cut off and counts as a crash
        self.crashes = f"{prefix}:crashes"  # hash: place of a message -> how often its run was cut off
        self.unique = f"{prefix}:unique"  # hash: unique key -> the id of the message that holds it
        self.unique_until = f"{prefix}:unique_until"  # sorted set: unique key -> when it expires if no run frees it
        # hash: message id -> empty, for a message that may come twice; its place -> which of the two has arrived there
        self.doubted = f"{prefix}:doubted"

    def running(self, listener: str) -> str:
        """Hash of the messages that one listener holds."""
        return f"{self.prefix}:running:{listener}"

    def progress(self, listener: str) -> str:
        """Hash: field of `running` -> the latest progress of its run."""
        return f"{self.prefix}:progress:{listener}"

    @staticmethod
    def any_key(key: str) -> str:
        """Return a key by its full name, for a script that takes any of them."""
        return key


UNIQUE_MS = 86_400_000  # ms that a unique key is held after its message was due, or was last seen
MOST_BODY = 4096  # bytes of a body in a record


@dataclass(slots=True, eq=False)
class Run:
    """The record of one message that a listener holds. `field`: its field in the hash of records. `name`: its run, as
    slots and crashes store it. `slots`: the limit keys of its slots, as Redis stores them. `asked`: the limit keys of a
    request without an answer yet; if the answer is lost, the run may have these slots.
    """

    field: str
    name: str
    claim: Claim
    terms: Terms
    slots: tuple[str, ...] = ()
    asked: tuple[str, ...] = ()
    has_started: bool = False

    @property
    def place(self) -> str:
        """Its queue and its message id."""
        receipt: Receipt = self.claim.receipt
        return f"{receipt.queue}\0{self.claim.id}"

    @property
    def key(self) -> str | None:
        """The unique key that it holds, unless it has released it."""
        if self.terms.unique_until and (self.has_started or self.claim.attempt):
            return None
        return self.terms.unique_key


def terms_of(claim: Claim) -> Terms:
    """Read the terms of a message."""
    receipt: Receipt = claim.receipt
    headers = receipt.message.headers
    key = text(headers.get(UNIQUE))
    if not key:
        return PLAIN
    until = "started" if text(headers.get(UNIQUE_UNTIL)) == "started" else None
    return Terms(unique_key=key, unique_until=until)


def taken(run: Run, *, began_ms: int, back: bool = False) -> bytes:
    """Make the row of `take.lua`."""
    claim, receipt = run.claim, run.claim.receipt
    body = receipt.message.body
    shown = body if len(body) <= MOST_BODY else None
    record = [receipt.queue, claim.id, receipt.name(claim.fn), claim.attempt, claim.due_ms, began_ms, shown]
    row = {
        "field": run.field, "run": run.name, "place": run.place, "record": pack(record),
        "again": int(claim.crashes > 0), "back": int(back), "copy": str(int(COPY in receipt.message.headers)),
    }  # fmt: skip
    return pack({**row, **_kept(run, UNIQUE_MS)})


def wanted_row(run: Run, wanted: Admission | None, *, namespace: str, force: bool = False) -> bytes:
    """Make the row of `admit.lua`. `force`: take its former slots, even if the limit is full now."""
    wanted = wanted or NOTHING
    keys = [part for key, limit in wanted.keys for part in (placed(key, namespace), 10**9 if force else limit)]
    row: dict[str, Any] = {
        "field": run.field, "run": run.name, "keys": keys,
        "turns": [] if force else [part for key, ms in wanted.turns for part in (placed(key, namespace), ms)],
    }  # fmt: skip
    if wanted.frees and not force:
        row |= {"frees": wanted.frees, "id": run.claim.id}
    return pack(row)


def settled(run: Run, outcome: Outcome | None) -> bytes:
    """Make the row of `settle.lua`. None: the broker gives the message to another listener."""
    how, keep_ms = "over", UNIQUE_MS
    if outcome is None:
        how = "lost"
    elif isinstance(outcome, Again | Released):
        how, keep_ms = "again", UNIQUE_MS + outcome.delay_ms
    row = {"field": run.field, "run": run.name, "place": run.place, "keys": [*run.slots, *run.asked], "how": how}
    return pack({**row, **_kept(run, keep_ms)})


def placed(key: str, namespace: str) -> str:
    """Name a limit key in Redis. The key has the namespace, because programs of different namespaces run the same
    message, each under its own limits.
    """
    return key if key == SCHEDULE else f"{namespace} {key}"


def _kept(run: Run, ms: int) -> dict[str, Any]:
    return {} if run.key is None else {"key": run.key, "id": run.claim.id, "keep": ms}
