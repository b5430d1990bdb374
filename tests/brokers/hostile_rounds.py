"""Rounds of calls over hostile values: what comes back is an answer, or an error that a user could have caused.

``python -m tests.brokers.hostile_rounds --rounds 200 --seed 1`` prints each distinct failure, with a value that causes
it.
"""

from __future__ import annotations

import argparse
import re
import signal
import sys
import tempfile
import traceback
from collections.abc import Callable, Iterator, Sequence
from contextlib import closing, contextmanager, suppress
from dataclasses import dataclass, field, replace
from pathlib import Path
from random import Random
from types import FrameType
from typing import Any

from tests.acceptance.hostile_texts import IDS, JOBS, PAST
from tests.acceptance.hostile_values import MAKERS, Aim, Source, Value
from tests.brokers.hostile_calls import CALLS, LEGITIMATE, NEEDS, Scene, scene
from tests.servers import Server, program
from workkit.brokers.native.look import published
from workkit.brokers.native.look.published import LISTENER
from workkit.brokers.redis_server.script import load

SECONDS = 10  # for one call; more is a hang


class Hang(BaseException):
    """A call that takes too long."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Failed:
    """A call that failed as none may."""

    call: str
    error: str
    where: str
    value: str = ""

    def __str__(self) -> str:
        return f"{self.call}: {self.error}\n    at {self.where}\n    by {self.value or 'no single value'}"


def tried(name: str, s: Scene) -> Failed | None:
    """Make one call; say how it failed, if it did as none may."""

    def ring(number: int, frame: FrameType | None) -> None:
        raise Hang(f"more than {SECONDS} s")

    before = signal.signal(signal.SIGALRM, ring)
    signal.setitimer(signal.ITIMER_REAL, SECONDS, 2)
    try:
        CALLS[name](s)
    except LEGITIMATE:
        return None
    except KeyboardInterrupt:
        raise
    except BaseException as error:
        frames = [f for f in traceback.extract_tb(error.__traceback__) if "/workkit/" in f.filename][-3:]
        where = " < ".join(f"{Path(f.filename).name}:{f.lineno} {f.name}" for f in reversed(frames))
        return Failed(call=name, error=f"{type(error).__name__}: {_said(error)}", where=where)
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)
    return None


_IN_SCRIPT = re.compile(r"^\S+ (.*?) script: ([0-9a-f]{40}), on @user_script:(\d+)")


def _said(error: BaseException) -> str:
    """What an error says; one of a script with the line that failed."""
    found = _IN_SCRIPT.search(str(error))
    if found is None:
        return str(error)[:200]
    script = next(script for script in load("native").values() if script.digest == found[2])
    return f"{script.name}.lua: {found[1]}: {script.text.splitlines()[int(found[3]) - 1].strip()}"


@dataclass(slots=True, kw_only=True)
class Calls:
    """Rounds of calls over hostile values, on one server."""

    url: str
    client: Any
    asked: set[str] = field(default_factory=set)
    _n: int = 0

    def round(self, source: Source, count: int, *, only: frozenset[str]) -> tuple[list[Value], list[Failed]]:
        """Write so many values into `only` these keys, then make every call."""
        return self.over(lambda aim: list(source.values(count, aim, only=only)))

    def over(self, made: Callable[[Aim], list[Value]]) -> tuple[list[Value], list[Failed]]:
        """Write values, then make every call; a listener that failed is followed by another. Of several answers to a
        producer only the last would be met, so each is written anew before an addition.
        """
        with self._scene() as s:
            values = made(s.aim)
            self.write(s, values)
            failures = [failed for name in CALLS if (failed := self._tried(name, s)) is not None]
            for place, value in enumerate(value for value in values if value.name == "producer"):
                self._moved(value, s).write(s.client, self._moved(value, s).key(s.keys))
                if (failed := self._tried("put" if place % 2 else "add", s)) is not None:
                    failures.append(failed)
        return values, failures

    def _tried(self, name: str, s: Scene) -> Failed | None:
        failed = tried(name, s)
        if failed is not None:
            with suppress(Exception):
                s.broker._session._forget()
            s.claims = []
        return failed

    def blamed(self, failed: Failed, values: Sequence[Value]) -> Failed:
        """The same with a value that alone has that effect, if there is one."""
        kind = failed.error.partition(":")[0]
        for value in values:
            with self._scene() as s:
                self.write(s, [self._moved(value, s)])
                for name in (*NEEDS.get(failed.call, ()), failed.call):
                    again = tried(name, s)
                    if again and again.where == failed.where and again.error.startswith(kind):
                        return Failed(call=failed.call, error=again.error, where=again.where, value=repr(value))
        return failed

    def write(self, s: Scene, values: Sequence[Value]) -> None:
        """Write values beside the jobs at which they point."""
        s.client.hset(s.keys.jobs, mapping=dict(JOBS))
        s.client.zadd(s.keys.next, {b'{"id":"%b"}' % id.encode(): PAST + n for n, id in enumerate(IDS[:6])})
        for value in values:
            value.write(s.client, value.key(s.keys))

    def _moved(self, value: Value, s: Scene) -> Value:
        if value.name == "producer":
            return replace(value, of=(*s.aim.producers, value.of)[0])
        of = str(value.of)
        if LISTENER.fullmatch(of) and not of.startswith("hostile:"):
            return replace(value, of=s.broker.listener)  # as it was one that lived
        return value

    @contextmanager
    def _scene(self) -> Iterator[Scene]:
        self._n += 1
        name = f"hostile-{self._n}"
        with scene(self.url, self.client, name, self.asked) as s:
            yield s
        if found := list(self.client.scan_iter(f"{name}:*", count=1000)):
            self.client.delete(*found)


def choices(seed: int, rounds: int) -> Iterator[frozenset[str]]:
    """Which keys a round is about: all of them, one, or a few; one that breaks every call hides what others would."""
    r, names = Random(seed), sorted(MAKERS)
    for n in range(rounds):
        match n % 3:
            case 0:
                yield frozenset(names)
            case 1:
                yield frozenset([names[n // 3 % len(names)]])
            case _:
                yield frozenset(r.sample(names, 5))


def mark_of(failed: Failed) -> tuple[str, str]:
    """What makes a failure another one."""
    return failed.where, failed.error if ".lua: " in failed.error else failed.error.partition(":")[0]


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.brokers.hostile_rounds")
    parser.add_argument("--rounds", type=int, default=20)
    parser.add_argument("--values", type=int, default=130, help="of one round")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--product", choices=("redis", "valkey"), default="redis")
    given = parser.parse_args()
    vars(published)["MOMENT"] = 0.01
    folder = Path(tempfile.mkdtemp(prefix="hostile-"))
    seen: set[tuple[str, str]] = set()
    with closing(Server(program(given.product), folder=folder, is_durable=False)) as server:
        server.start()
        calls, source = Calls(url=server.url, client=server.client()), Source(seed=given.seed)
        for n, only in enumerate(choices(given.seed, given.rounds)):
            values, failures = calls.round(source, given.values, only=only)
            for failed in failures:
                if mark_of(failed) not in seen:
                    seen.add(mark_of(failed))
                    print(f"round {n}: {calls.blamed(failed, values)}", flush=True)
    print(f"{given.rounds} rounds of {given.values} values, {len(seen)} distinct failures")
    return 1 if seen else 0


if __name__ == "__main__":
    sys.exit(main())
