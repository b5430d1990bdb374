"""What the model is made of: jobs, the server's keys, listeners, and one state of them all.

Time is left out. Whatever lies in a sorted set may be due or not due at any moment, and any listener may be taken for
dead at any moment (that is what a freeze amounts to), so every timing is covered. Lists are kept as frozensets of
pairs, so that a state is a value. `Plan.bugs` switches single rules off, to show that the search would have noticed.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from types import MappingProxyType
from typing import Any, NamedTuple, TypeVar

POISON = 2  # crashes after which an occurrence is not run again; the product says 3

K = TypeVar("K")
V = TypeVar("V")
T = TypeVar("T")

Occ = tuple[str, int]  # one run owed: the job, and which of its due times; of a one-shot, which of its additions
Who = tuple[int, int]  # one registration: which listener, and how often it has come back
Receipt = tuple[int, str]  # the number of the claim, and the member as it stood in its queue
Pairs = frozenset[tuple[K, V]]


class Violation(Exception):
    """Something that must never happen did."""


def quick(cls: type[T]) -> type[T]:
    """Give a class of named tuples a `_replace` that touches only the fields that change: a search lives on it."""
    kind: Any = cls
    places = {name: place for place, name in enumerate(kind._fields)}

    def _replace(self: tuple[Any, ...], **changes: Any) -> Any:
        values = [*self]
        for name, value in changes.items():
            values[places[name]] = value
        return tuple.__new__(kind, values)

    kind._replace = _replace
    return cls


class JobSpec(NamedTuple):
    """A job: `ticks` due times if it recurs, tried `retries` times again; at most one stands under `unique`, unless it
    `replaces` the other. It runs under limit `keys`, the most specific first. `overlap`: what becomes of an occurrence
    that meets another. `fn`: the function by which it may be paused. Listener 0 is of an older version, that knows
    nothing of the limit keys `added`. No listener can run one that is `foreign`; a foreign peer can.
    """

    recurs: bool = False
    ticks: int = 1
    retries: int = 0
    unique: str = ""
    until_started: bool = False
    replaces: bool = False
    keys: tuple[str, ...] = ()
    added: tuple[str, ...] = ()
    overlap: str = ""
    fn: str = ""
    foreign: bool = False


class GroupSpec(NamedTuple):
    """A batch: jobs by the steps of its addition, and those that a running member adds (`spawned`: by whom); or what
    one job, `then`, runs after. `success` runs once no member is dead. `rows`: before the last step its jobs have no
    entries of their own.
    """

    steps: tuple[tuple[str, ...], ...]
    then: str = ""
    success: str = ""
    on_death: str = "continue"
    spawned: Mapping[str, str] = MappingProxyType({})
    is_batch: bool = True
    rows: bool = False

    def of_batch(self) -> tuple[str, ...]:
        """The jobs that are members as long as they stand."""
        return tuple(job for step in self.steps for job in step) + tuple(self.spawned) if self.is_batch else ()


@quick
class Entry(NamedTuple):
    """Owed work as it stands in `S:again`, in a record or parked; kind r carries the chain, o is one occurrence. Of its
    `slots` a parked one lacks the last, which it waits for; unless a pause has parked it.
    """

    kind: str
    job: str
    occ: int
    attempt: int = 0
    crashes: int = 0
    slots: tuple[str, ...] = ()

    @property
    def at(self) -> Occ:
        return self.job, self.occ

    @property
    def is_regular(self) -> bool:
        """Whether nobody has admitted it, and it has no attempt: it returns to the published queue."""
        return self.kind == "r" and not self.attempt and not self.slots

    @property
    def untouched(self) -> bool:
        """Whether nothing at all is known of it."""
        return self.is_regular and not self.crashes

    @property
    def text(self) -> str:
        return f"{self.kind}.{self.occ}.{self.attempt}.{self.crashes}.{';'.join(self.slots)} {self.job}"


@quick
class Held(NamedTuple):
    """What a listener believes to hold. `after`: the latest due time known to have come.

    Phases: C to be admitted, A may start, R runs; and endings that are decided and to be sent: D done, F again,
    X dead, G given back, M missing, K cancelled. P (only with the fault park_unchecked): to be parked.
    """

    receipt: Receipt
    entry: Entry
    phase: str
    after: int = -1


class Ask(NamedTuple):
    """One claim of an admission: what it was, when its job is due next, what it needs, by what it may be paused."""

    receipt: Receipt
    entry: Entry
    due: int | None
    keys: tuple[str, ...]
    pause: str
    unchecked: bool = False

    def admitted(self, *, recurs: bool) -> Entry:
        """The record as it is once the claim may go."""
        return self.entry._replace(kind="o" if recurs else self.entry.kind, slots=self.keys)


class End(NamedTuple):
    """One ending of a settle: everything the script applies comes from the listener."""

    receipt: Receipt
    entry: Entry
    how: str


@quick
class Request(NamedTuple):
    """One numbered request; of a pipeline the numbers follow one another."""

    op: str
    args: Any


@quick
class Client(NamedTuple):
    """A listener: `out` holds what is outstanding, `seq` is the last number it used."""

    up: bool = True
    inc: int = 0
    seq: int = 0
    out: tuple[Request, ...] = ()
    held: tuple[Held, ...] = ()
    paused: frozenset[str] = frozenset()  # as it was told


@quick
class Budget(NamedTuple):
    """How often each may happen yet. `expire`: taken for dead though it lives; `failover`: back to an earlier state;
    `producer`: it dies, and all that it does is done again.
    """

    crash: int = 0
    expire: int = 0
    lose: int = 0
    fail: int = 0
    release: int = 0
    peer_crash: int = 0
    failover: int = 0
    producer: int = 0


@quick
class Grouped(NamedTuple):
    """The keys of groups: `members` with their letter, `rows` with their due time, `feeds` and `ends`. And what follows
    them through a failover: `filled`, steps of additions; `bound`, whom a group without a name was to wait for;
    `fired`, what was let go; `last`, how each has ended.
    """

    state: Pairs[str, str] = frozenset()
    members: frozenset[tuple[str, str, str]] = frozenset()
    rows: frozenset[tuple[str, str, int]] = frozenset()
    feeds: frozenset[tuple[str, str]] = frozenset()
    ends: Pairs[str, str] = frozenset()
    filled: Pairs[str, int] = frozenset()
    bound: frozenset[tuple[str, str]] = frozenset()
    fired: frozenset[str] = frozenset()
    last: Pairs[str, str] = frozenset()


@quick
class Server(NamedTuple):
    """The keys of one schedule, and what follows them through a failover: `owed`, runs asked for and not ended;
    `pardoned`, runs that a cancel has made neither required nor forbidden; `replaced`, one-shots that gave way before
    they began, and must never start. Of `S:slots`, `slots` are open occurrences and `owners` those of limit keys.
    `crashes` counts those of occurrences that came back into `nxt`; a claim takes the count with the item.
    `unrecorded`: attempts by their ending, and how much more often they ended than history has them; always empty.
    `unkept`: occurrences, and how much more often they were over than a result of them was kept; always empty.
    """

    jobs: frozenset[str] = frozenset()
    nxt: Pairs[str, int] = frozenset()
    crashes: Pairs[Occ, int] = frozenset()
    again: frozenset[Entry] = frozenset()
    slots: frozenset[Occ] = frozenset()
    ended: frozenset[str] = frozenset()
    marks: frozenset[str] = frozenset()
    dead: frozenset[Occ] = frozenset()
    unique: Pairs[str, str] = frozenset()
    owners: frozenset[tuple[str, Occ]] = frozenset()
    waiting: frozenset[tuple[str, Entry]] = frozenset()
    paused: frozenset[str] = frozenset()
    regs: Pairs[Who, int] = frozenset()
    runs: Pairs[Who, frozenset[tuple[Receipt, Entry]]] = frozenset()
    producer: int = 0
    owed: frozenset[Occ] = frozenset()
    pardoned: frozenset[Occ] = frozenset()
    replaced: frozenset[Occ] = frozenset()
    unrecorded: Pairs[tuple[Occ, int, str], int] = frozenset()
    unkept: Pairs[Occ, int] = frozenset()
    groups: Grouped = Grouped()


@quick
class State(NamedTuple):
    """Everything. `credit`: how often a run may start yet; `crashed`: how often it came back from a dead listener;
    `retried`: how often it was put back to be tried again; `taken`: the latest due time claimed (of a one-shot,
    added); `banned`: removed, must never start; `begun`: started, and not over; `stopped`: cancelled once; `adrift`: a
    foreign peer lost it; `asked`: the reply to the call under way was lost; `snap`: what the replica has; `scratch` is
    for seeded faults.
    """

    s: Server
    clients: tuple[Client, ...]
    budget: Budget
    net: frozenset[tuple[Who, int, tuple[Request, ...]]] = frozenset()
    calls: int = 0
    asked: bool = False
    peer: tuple[str, str, int, str] | None = None
    snap: Server | None = None
    failed: bool = False
    credit: Pairs[Occ, int] = frozenset()
    crashed: Pairs[Occ, int] = frozenset()
    retried: Pairs[Occ, int] = frozenset()
    taken: Pairs[str, int] = frozenset()
    banned: frozenset[Occ] = frozenset()
    begun: frozenset[Occ] = frozenset()
    stopped: frozenset[str] = frozenset()
    adrift: frozenset[str] = frozenset()
    scratch: tuple[Who, ...] = ()


class Plan(NamedTuple):
    """What is explored: a cast of jobs, of which `calls` adds, cancels, revives and pauses some in this order, and
    faults. Of a limit key, `limits` (1 where it says nothing) may own a slot at a time.
    """

    jobs: dict[str, JobSpec]
    budget: Budget = Budget()
    calls: tuple[tuple[str, str], ...] = ()
    capacity: int = 1
    listeners: int = 2
    peer: bool = False
    limits: Pairs[str, int] = frozenset()
    groups: Mapping[str, GroupSpec] = MappingProxyType({})
    bugs: frozenset[str] = frozenset()

    def start(self) -> State:
        """Every job that no call adds first is there; every listener is registered."""
        verbs: dict[str, str] = {}
        for verb, job in self.calls:
            verbs.setdefault(job, verb)
        added = {job for g in self.groups.values() for job in (*g.of_batch(), g.then, g.success)}
        first = [j for j in self.jobs if verbs.get(j) not in ("add", "peer adds") and j not in added]
        owed = frozenset((j, k) for j in first for k in range(self.jobs[j].ticks))
        server = Server(
            jobs=frozenset(first),
            nxt=frozenset((j, 0) for j in first),
            regs=frozenset(((i, 0), 0) for i in range(self.listeners)),
            unique=frozenset((self.jobs[j].unique, j) for j in first if self.jobs[j].unique),
            owed=owed,
        )
        taken = frozenset((j, 0 if j in first and not self.jobs[j].recurs else -1) for j in self.jobs)
        credit = frozenset((o, 1) for o in owed)
        clients = tuple(Client() for _ in range(self.listeners))
        return State(server, clients, self.budget, credit=credit, taken=taken)


def put(pairs: Pairs[K, V], key: K, value: V, *, keep: bool = False) -> Pairs[K, V]:
    """Set one; with `keep` only where there is none (NX)."""
    known = dict(pairs)
    if keep and key in known:
        return pairs
    known[key] = value
    return frozenset(known.items())


def drop(pairs: Pairs[K, V], key: K) -> Pairs[K, V]:
    """Remove one, if it is there."""
    return frozenset(p for p in pairs if p[0] != key)


def bump(pairs: Pairs[K, int], key: K, by: int = 1) -> Pairs[K, int]:
    """Count one."""
    return put(pairs, key, dict(pairs).get(key, 0) + by)


def records(s: Server, who: Who) -> dict[Receipt, Entry]:
    """What one registration holds, for changing."""
    return dict(dict(s.runs).get(who, ()))


def with_records(s: Server, who: Who, run: dict[Receipt, Entry]) -> Server:
    """The server with these in their place."""
    runs = put(s.runs, who, frozenset(run.items())) if run else drop(s.runs, who)
    return s._replace(runs=runs)


def entries(s: Server) -> Iterable[Entry]:
    """All owed work that does not stand in `S:next`."""
    yield from s.again
    for _, entry in s.waiting:
        yield entry
    for _, run in s.runs:
        for _, entry in run:
            yield entry


def spend(t: State, what: str) -> State:
    """One fault less to come."""
    return t._replace(budget=t.budget._replace(**{what: getattr(t.budget, what) - 1}))


def with_client(t: State, index: int, client: Client) -> State:
    """The state with this listener changed."""
    return t._replace(clients=(*t.clients[:index], client, *t.clients[index + 1 :]))
