"""Find the kind of a key of a namespace from its name alone. Walk over all keys, and read every job text in them, in
the order in which jobs pass through.

It changes nothing. The doctor and `wire verify` both use it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from functools import cached_property, lru_cache
from typing import Any, Final, Literal

from workkit.brokers.gocraft.keys import Keys
from workkit.brokers.redis_server.pages import server_ms
from workkit.brokers.redis_server.pipe import AS_READ
from workkit.brokers.redis_server.server import Server

Holding = Literal[
    "known_jobs", "queue", "in_progress", "paused", "max_concurrency", "lock", "lock_info",
    "scheduled", "retry", "dead", "unique", "worker_pools", "worker_pool", "worker", "last_periodic_enqueue",
    "held", "held_retry", "unreadable", "crashes", "record", "taken", "producer", "wake",
    "cancelled", "paused_all", "paused_names",
]  # fmt: skip

TYPES: Final[Mapping[Holding, str]] = {
    "known_jobs": "set", "queue": "list", "in_progress": "list", "paused": "string", "max_concurrency": "string",
    "lock": "string", "lock_info": "hash", "scheduled": "zset", "retry": "zset", "dead": "zset", "unique": "string",
    "worker_pools": "set", "worker_pool": "hash", "worker": "hash", "last_periodic_enqueue": "string",
    "held": "zset", "held_retry": "zset", "unreadable": "zset", "crashes": "hash", "record": "string",
    "taken": "string", "producer": "string", "wake": "list", "cancelled": "set", "paused_all": "string",
    "paused_names": "set",
}  # fmt: skip
"""The type of each kind of key, as the server names it. `paused` may have any type: only its existence counts."""

LIVES: Final[Mapping[Holding, int]] = {
    "crashes": 86_400, "record": 3600, "taken": 3600, "producer": 604_800, "wake": 60, "cancelled": 86_400,
}  # fmt: skip
"""The longest life of our own keys, in seconds."""

OF_TEXTS: Final[tuple[Holding, ...]] = (
    "scheduled", "retry", "held", "held_retry", "queue", "in_progress", "dead"
)  # fmt: skip
"""Keys that hold job texts, in the order in which jobs pass them. A walk in this order misses no job that moves on."""

_ENDS: Final[tuple[tuple[str, Holding], ...]] = (
    (":paused", "paused"), (":max_concurrency", "max_concurrency"), (":lock", "lock"), (":lock_info", "lock_info")
)  # fmt: skip
_OF_ONE: Final[tuple[tuple[str, Holding], ...]] = (
    ("worker_pools:", "worker_pool"), ("worker:", "worker"), ("unique:", "unique"), ("workkit:pool:", "record"),
    ("workkit:taken:", "taken"), ("workkit:producer:", "producer"), ("workkit:wake:", "wake"),
    ("workkit:cancelled:", "cancelled"),
)  # fmt: skip


@dataclass(frozen=True, slots=True)
class Place:
    """One key. `name`: the job name in it; `of`: the pool, worker or token in it. These texts hold bytes that are not
    UTF-8 as surrogates (`AS_READ`).
    """

    key: str
    kind: Holding
    name: str = ""
    of: str = ""


@lru_cache(maxsize=16)
def places(keys: Keys) -> Mapping[str, Place]:
    """Name the keys that every namespace has, by the key."""
    found: dict[str, Holding] = {
        keys.known_jobs: "known_jobs", keys.scheduled: "scheduled", keys.retry: "retry", keys.dead: "dead",
        keys.worker_pools: "worker_pools", keys.last_periodic_enqueue: "last_periodic_enqueue", keys.held: "held",
        keys.held_retry: "held_retry", keys.unreadable: "unreadable", keys.crashes: "crashes",
        keys.paused_all: "paused_all", keys.paused_names: "paused_names",
    }  # fmt: skip
    return {key: Place(key, kind) for key, kind in found.items()}


def place_of(keys: Keys, key: str) -> Place | None:
    """Find the kind of a key; None if it does not belong to a namespace."""
    if key in (fixed := places(keys)):
        return fixed[key]
    if (owner := keys.in_progress_owner(key)) is not None:
        return Place(key, "in_progress", *owner)
    if key.startswith(keys.queue_prefix):
        rest = key.removeprefix(keys.queue_prefix)
        for end, kind in _ENDS:
            if rest.endswith(end):
                return Place(key, kind, rest.removesuffix(end))
        return Place(key, "queue", rest)
    rest = key.removeprefix(keys.prefix)
    for start, kind in _OF_ONE:
        if key.startswith(keys.prefix) and rest.startswith(start):
            of = rest.removeprefix(start)
            return Place(key, kind, of if kind == "wake" else "", "" if kind == "wake" else of)
    return None


# The walker.

PAGE = 500
STEP = 1000  # keys in one step of SCAN
MOST_PAIRS = 10_000  # pairs of a name and a pool
MOST_STEPS = 2000  # steps of the names of all keys in a database


@dataclass(frozen=True, slots=True)
class Text:
    """Bytes in a list or sorted set. `score` None: it is in a list."""

    place: Place
    data: bytes
    score: float | None = None


@dataclass(frozen=True, kw_only=True)
class Survey:
    """The keys of one namespace at one time. `wrong`: keys of a wrong type, with the type of each. `is_whole`: all keys
    of the database were seen. `now_ms`: the server's clock.
    """

    server: Server
    keys: Keys
    now_ms: int
    found: dict[Holding, list[Place]] = field(default_factory=dict)
    wrong: dict[Place, str] = field(default_factory=dict)
    is_whole: bool = True
    perhaps: dict[Holding, list[Place]] = field(default_factory=dict)
    """Keys of job texts that did not exist, and may exist at any time: jobs that move meanwhile may be in them."""

    def of(self, kind: Holding) -> list[Place]:
        """The keys of one kind that have its type, sorted."""
        return self.found.get(kind, [])

    @cached_property
    def names(self) -> list[str]:
        """Every job name that a key has, or that `NSknown_jobs` lists."""
        kinds: tuple[Holding, ...] = ("queue", "in_progress", "lock", "lock_info", "max_concurrency", "paused")
        return sorted(set(self.members("known_jobs")).union(place.name for kind in kinds for place in self.of(kind)))

    def members(self, kind: Holding) -> list[str]:
        """The members of a set, sorted; empty if the set does not exist."""
        return sorted({member for place in self.of(kind) for member in self.members_of(place)})

    def members_of(self, place: Place) -> set[str]:
        """The members of one set."""
        return {text_of(member) for page in self._pages(_scan("sscan", place)) for member in page}

    def fields(self, place: Place) -> dict[str, bytes]:
        """The fields of a hash."""
        with self.server.translated() as client:
            return {text_of(name): value for name, value in client.hgetall(raw(place.key)).items()}

    def value(self, place: Place) -> bytes:
        """The value of a string; 0 if it is gone or no number."""
        (value,) = self.asked([("GET", place.key)])
        return value if isinstance(value, bytes) else b"0"

    def texts(self) -> Iterator[Text]:
        """Read every job text. A text that moves meanwhile may come twice, and is not missed."""
        for kind in OF_TEXTS:
            perhaps = self.perhaps.get(kind, [])
            types = self.asked(("TYPE", place.key) for place in perhaps)
            there = [place for place, stands in zip(perhaps, types, strict=True) if stands == TYPES[kind].encode()]
            for place in (*self.of(kind), *there):
                yield from self.texts_in(place)

    def texts_in(self, place: Place) -> Iterator[Text]:
        """Read the texts of one list or sorted set."""
        if TYPES[place.kind] == "list":
            yield from self._listed(place)
            return
        for page in self._pages(_scan("zscan", place)):
            yield from (Text(place, data, score) for data, score in page)

    def asked(self, commands: Iterable[tuple[str, ...]]) -> list[Any]:
        """Ask several questions in one round trip. The error of a question is its answer."""
        with self.server.translated() as client:
            pipe = client.pipeline(transaction=False)
            for command in commands:
                pipe.execute_command(command[0], *map(raw, command[1:]))
            return list(pipe.execute(raise_on_error=False))

    def _listed(self, place: Place) -> Iterator[Text]:
        start = 0  # from the left: texts that are pushed there meanwhile come twice, and no text is skipped
        while True:
            with self.server.translated() as client:
                page = client.lrange(raw(place.key), start, start + PAGE - 1)
            yield from (Text(place, data) for data in page)
            if len(page) < PAGE:
                return
            start += PAGE

    def _pages(self, scan: Callable[[Any, int], tuple[int, list[Any]]]) -> Iterator[list[Any]]:
        cursor = 0
        while True:
            with self.server.translated() as client:
                cursor, page = scan(client, cursor)
            yield page
            if not cursor:
                return


def _scan(verb: str, place: Place) -> Callable[[Any, int], tuple[int, list[Any]]]:
    return lambda client, cursor: getattr(client, verb)(raw(place.key), cursor, count=PAGE)


def survey(server: Server, keys: Keys) -> Survey:
    """Walk over the keys of a namespace."""
    now_ms = server_ms(server)
    seen: dict[str, Place] = {}
    cursor, is_whole = 0, False
    for _ in range(MOST_STEPS):
        with server.translated() as client:
            cursor, page = client.scan(cursor, match=keys.pattern, count=STEP)
        for key in map(text_of, page):
            if (place := place_of(keys, key)) is not None:
                seen[key] = place
        if not cursor:
            is_whole = True
            break
    made = Survey(server=server, keys=keys, now_ms=now_ms, is_whole=is_whole)
    ordered = sorted(seen.values(), key=lambda place: place.key)
    for at in range(0, len(ordered), PAGE):
        part = ordered[at : at + PAGE]
        with server.translated() as client:
            pipe = client.pipeline(transaction=False)
            for place in part:
                pipe.type(raw(place.key))
            types = [kind.decode() for kind in pipe.execute()]
        for place, stands in zip(part, types, strict=True):
            if stands == TYPES[place.kind] or (place.kind == "paused" and stands != "none"):
                made.found.setdefault(place.kind, []).append(place)
            elif stands != "none":  # otherwise it went away meanwhile
                made.wrong[place] = stands
    there = {place.key for kind in OF_TEXTS for place in made.of(kind)}
    for key in _of_texts(made):
        absent = place_of(keys, key)
        if key not in there and absent is not None and absent.kind in OF_TEXTS:
            made.perhaps.setdefault(absent.kind, []).append(absent)
    return made


def _of_texts(made: Survey) -> Iterator[str]:
    """Name the keys in which jobs may be while they pass through: of all known names and listed pools."""
    keys, names, pools = made.keys, made.members("known_jobs"), made.members("worker_pools")
    yield from (keys.scheduled, keys.retry, keys.held, keys.held_retry, keys.dead)
    yield from map(keys.queue, names)
    if len(names) * len(pools) <= MOST_PAIRS:
        yield from (keys.in_progress(name, pool) for name in names for pool in pools)


def raw(text: str) -> bytes:
    """Write a key or a member as the bytes that were read."""
    return text.encode("utf-8", AS_READ)


def text_of(data: bytes) -> str:
    """Read a key or a member as a text, even if it is not UTF-8."""
    return data.decode("utf-8", AS_READ)
