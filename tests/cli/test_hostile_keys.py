"""Any value in any key of a layout, of any type: no command fails as only a bug may (70), and none hangs.

``python -m tests.cli.test_hostile_keys --seed 1 --share 1.0`` makes every command over every key; prints failures.
"""

from __future__ import annotations

import argparse
import os
import tempfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import closing, contextmanager
from pathlib import Path
from random import Random
from typing import Any, Final, Literal, cast

import pytest

from tests import rabbit
from tests.acceptance.hostile_commands import BUG, STATES, run
from tests.acceptance.hostile_texts import IDS as NATIVE_IDS
from tests.acceptance.hostile_texts import JOBS, PAST
from tests.acceptance.hostile_values import MAKERS as NATIVE
from tests.acceptance.hostile_values import Aim, Source, every_key
from tests.brokers.gocraft.doctor.checkups import text
from tests.brokers.gocraft.doctor.hostile import BYTES, MAKERS, SCORES
from tests.brokers.gocraft.serving.fleet import Namespace
from tests.brokers.hutch.beside.pair import Pair, taken
from tests.brokers.hutch.opened import new, opened
from tests.servers import Server, program
from workkit.brokers.gocraft.doctor.survey import TYPES
from workkit.brokers.gocraft.keys import Keys as GocraftKeys
from workkit.brokers.hutch.beside.keys import Keys as BesideKeys
from workkit.brokers.hutch.names import Names
from workkit.brokers.native.keys import Keys as NativeKeys

How = Literal["type", "score", "value"]
HOWS: Final[Sequence[How]] = ("type", "score", "value")
HUGE: Final = (*SCORES, "1e300", "-1e300", "8640000000000000000", "253402300800", "1e16")
HANG: Final = 15.0  # seconds of one command
ID, OTHER, POOL = "a" * 24, "b" * 24, "d" * 24
BESIDE: Final[Mapping[str, str]] = {
    "listeners": "zset", "running": "hash", "progress": "hash", "control": "hash", "slots": "zset", "rates": "zset",
    "begun": "hash", "counted": "hash", "crashes": "hash", "unique": "hash", "unique_until": "zset", "doubted": "hash",
}  # fmt: skip
Spots = Sequence[tuple[str, str]]  # keys, each with its type


class Layout:
    """A layout: its keys, and schedules that hold something in each."""

    fn, names = "app:safe", tuple(sorted(NATIVE))

    def __init__(self, server: Server, seed: int) -> None:
        self.server, self.client = server, server.client()
        self.random, self._source = Random(seed), Source(seed=seed)
        self.words: tuple[str, ...] = ("--layout", "native", "--redis", server.url)

    @contextmanager
    def scene(self, name: str, each: str) -> Iterator[tuple[Spots, str]]:
        """Fill a schedule. Give the keys that are called `each`, and the id of a job."""
        keys, aim = NativeKeys(name), Aim(now_ms=1000 * int(self.client.time()[0]))
        self.client.hset(keys.jobs, mapping=cast("Mapping[Any, Any]", dict(JOBS)))
        self.client.zadd(keys.next, {b'{"id":"%b"}' % id.encode(): PAST + n for n, id in enumerate(NATIVE_IDS[:6])})
        values = list(self._source.values(6, aim, only=frozenset([each])))
        for value in values:
            value.write(self.client, value.key(keys))
        yield [(value.key(keys), value.kind) for value in values[:2]], self.random.choice(NATIVE_IDS[:6])
        if found := list(self.client.scan_iter(f"{name}:*", count=1000)):
            self.client.delete(*found)


def lines(layout: Layout, name: str, id: str) -> list[tuple[str, ...]]:
    """Every command that looks at a schedule or changes it."""
    fn = layout.fn
    found: list[tuple[str, ...]] = [
        *((verb, name, *how) for verb in ("list", "listeners", "stats", "dead", "runs", "changes")
          for how in ((), ("--json",))),
        *(("list", name, "--state", state) for state in STATES),
        ("list", name, "--all", "--json"), ("list", name, "--where", "due:<1h"), ("list", name, "--where", "safe"),
        ("list", name, "--where", "name:s*"), ("stats", name, "--by", "function"), ("runs", name, "--state", "failed"),
        ("stats", name, "--over", "1 hour"), ("dead", name, "--by", "error"), ("dead", name, "--all", "-v"),
        ("dead", name, "--where", "died:<1h"), ("queues", name), ("show", name, id), ("show", name, id[:8], "--json"),
        ("show", name, "nowhere"), ("runs", name, id), ("result", name, id), ("doctor", name),
        ("doctor", name, "--json"),
        ("wire", "dump", name), ("wire", "verify", name, "--json"),
        ("add", name, "in 1 hour", fn), ("now", name, fn), ("cancel", name, id), ("cancel", name, OTHER[:8]),
        ("pause", name), ("resume", name), ("pause", name, "--fn", fn, "--for", "1h"), ("resume", name, "--fn", fn),
        ("snooze", name, id, "1h"),
        ("skip", name, id), ("run", name, id), ("mark", name, "release"), ("retry", name, id),
        ("retry", name, "--all", "--yes", "--dry-run"), ("retry", name, "--where", "safe", "--yes"),
        ("retry", name, "--all", "--yes"), ("discard", name, id), ("discard", name, "--all", "--yes"),
        ("doctor", name, "--fix", "--yes"),
    ]  # fmt: skip
    return [(*words, *layout.words, *(("--older-than", "0s") if words[0] == "doctor" else ())) for words in found]


class Gocraft(Layout):
    """Namespaces with a job in each state, and pools of both sides."""

    fn, names = "safe", tuple(sorted(TYPES))

    def __init__(self, server: Server, seed: int) -> None:
        super().__init__(server, seed)
        self.words = ("--layout", "gocraft", "--redis", server.url)

    @contextmanager
    def scene(self, name: str, each: str) -> Iterator[tuple[Spots, str]]:
        """Fill a namespace. Give the key of a kind, and the id of a job."""
        with closing(Namespace(self.server, name)) as ns:
            ns.pool("safe", limits={"safe": 2})
            ns.go_pool("safe", id=POOL)
            for key in (ns.keys.scheduled, ns.keys.retry, ns.keys.dead, ns.keys.held, ns.keys.held_retry):
                ns.raw.zadd(key, {text(name="safe", id=ID, err="boom", fails=1): 2e9, text(name="safe", id=OTHER): 1})
            ns.push("safe", text(name="safe", id="c" * 24))
            ns.raw.lpush(ns.keys.in_progress("safe", POOL), text(name="safe", id="e" * 24, unique=True))
            yield [(gocraft_key(ns.keys, each), TYPES[cast("Any", each)])], ID
            ns.raw.delete(*ns.raw.keys(f"{name}:*"))


def gocraft_key(keys: GocraftKeys, kind: str) -> str:
    """Make a key of a kind that the scene has."""
    of = {"in_progress": ("safe", POOL), "unique": ("safe", "x"), "producer": ("token",), "queue": ("safe",),
          "paused": ("safe",), "max_concurrency": ("safe",), "lock": ("safe",), "lock_info": ("safe",),
          "wake": ("safe",)}  # fmt: skip
    found = getattr(keys, kind)
    return found if isinstance(found, str) else str(found(*of.get(kind, (POOL,))))


class Beside(Layout):
    """The Redis beside an exchange of RabbitMQ. A listener holds a message."""

    fn, names = "note", tuple(sorted(BESIDE))

    def __init__(self, pair: Pair, seed: int) -> None:
        super().__init__(pair.server, seed)
        self.words = ("--layout", "hutch", "--amqp", pair.on.url, "--redis", pair.server.url)
        self.exchange, self.keys, self.listener = pair.on.names.exchange, pair.keys, pair.listener()
        self.listener.adding([new({"id": 1})])()
        taken(self.listener, 1)
        self.kept = {key: self.client.dump(key) for key in self.client.keys(f"{self.keys.prefix}:*")}

    @contextmanager
    def scene(self, name: str, each: str) -> Iterator[tuple[Spots, str]]:
        """Put back what the listener has written. Give the key of a name, and the id of a job."""
        if found := self.client.keys(f"{self.keys.prefix}:*"):
            self.client.delete(*found)
        for key, value in self.kept.items():
            self.client.restore(key, 0, value)
        found = getattr(self.keys, each)
        yield [(found if isinstance(found, str) else found(self.listener.listener), BESIDE[each])], ID


def spoil(client: Any, key: str, kind: str, how: How, random: Random) -> None:
    """Put a hostile value at a key: of another type, or of its own, beside what it holds."""
    stands = client.type(key).decode()
    makers = {"string": MAKERS[0], "list": MAKERS[1], "set": MAKERS[2], "zset": MAKERS[3], "hash": MAKERS[4],
              "stream": MAKERS[5]}  # fmt: skip
    if how == "type":
        client.delete(key)
        makers[random.choice([other for other in makers if other != kind])](client, key.encode(), random)
        return
    if stands not in (kind, "none"):
        client.delete(key)
    if how == "score" and kind == "zset":
        members = client.zrange(key, 0, -1) or [random.choice(BYTES)]
        client.zadd(key, {member: random.choice(HUGE) for member in members})
    elif how == "value" or kind in ("string", "hash"):
        for field in client.hkeys(key) if kind == "hash" else ():
            client.hset(key, field, random.choice(BYTES))
        makers[kind](client, key.encode(), random)


def failures(layout: Layout, *, share: float, tell: Callable[[str], None]) -> int:
    """Spoil each key in each way, and make a share of all commands then. Tell each that ends as none may; return how
    many were made.
    """
    random, made = layout.random, 0
    for place, each in enumerate(layout.names):
        for how in HOWS:
            name = getattr(layout, "exchange", f"hostile-{place}-{how}")
            with layout.scene(name, each) as (spots, id):
                for key, kind in spots:
                    spoil(layout.client, key, kind, how, random)
                every = lines(layout, name, id)
                for place_of in sorted(random.sample(range(len(every)), max(1, round(share * len(every))))):
                    ran, made = run(*every[place_of], seconds=HANG), made + 1
                    if ran.is_hang or ran.status == BUG or "no JSON" in ran.complaint:
                        tell(f"{each} ({how}): {ran}")
    return made


def checked(layout: Layout, share: float) -> None:
    told: list[str] = []
    assert failures(layout, share=share, tell=told.append) > 2 * len(layout.names)
    assert not told, "\n" + "\n".join(told)


@pytest.mark.parametrize("layout", [Gocraft, Layout])
def test_no_command_fails_over_a_hostile_value_in_any_key(
    server: Server, layout: type[Layout], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("workkit.brokers.native.look.published.MOMENT", 0.01)
    checked(layout(server, 7), 0.05)


def test_no_command_fails_over_a_hostile_value_in_any_key_beside_rabbitmq(server: Server, amqp: str, name: str) -> None:
    names = Names(exchange=name, dialect="hutch")
    with opened(amqp, names) as on:
        try:
            checked(Beside(Pair(on, server), 7), 0.05)
        finally:
            rabbit.forget(amqp, names, names.queue("note"))


def test_every_key_has_a_type() -> None:
    assert set(NATIVE) == every_key()
    members = {*vars(BesideKeys), *vars(BesideKeys("/", "app"))}
    public = {name for name in members if not name.startswith("_")} - {"layout", "prefix", "any_key"}
    assert set(BESIDE) == public


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m tests.cli.test_hostile_keys")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--share", type=float, default=1.0, help="of the commands over each key")
    given = parser.parse_args()
    for name in [name for name in os.environ if name.startswith("WORKKIT_")]:
        del os.environ[name]
    folder = Path(tempfile.mkdtemp(prefix="hostile-"))
    with closing(Server(program("redis"), folder=folder, is_durable=False)) as server:
        server.start()
        for layout in (Gocraft(server, given.seed), Layout(server, given.seed)):
            made = failures(layout, share=given.share, tell=print)
            print(f"{layout.words[1]}: {made} commands", flush=True)


if __name__ == "__main__":
    main()
