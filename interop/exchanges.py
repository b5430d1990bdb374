"""Play the scenarios of the hutch and event layouts: the Ruby peer and workkit on the exchanges of one RabbitMQ.

Each scenario is played with the peer as hutch-schedule and as event, and with workkit in both layouts. README.md says
what a scenario may hold.
"""

from __future__ import annotations

import json
import logging
import sys
import tempfile
import time
import uuid
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, closing
from dataclasses import dataclass
from itertools import product
from pathlib import Path
from typing import Any

import pika

HERE = Path(__file__).resolve().parent
sys.path[:0] = [str(HERE.parent), str(HERE / "python")]

from peers import exchange  # noqa: E402

from tests.brokers.hutch.peer.ruby_peer import RubyPeer, lacking  # noqa: E402
from tests.rabbit import SCRIPTS, shared  # noqa: E402
from workkit import schedule  # noqa: E402
from workkit.errors import WorkkitError  # noqa: E402

SCENARIOS = HERE / "scenarios" / "hutch"
MODES = ("hutch", "event")  # of the peer, and the layouts of workkit
AT_ONCE = 8
WITHIN = 15.0  # seconds for a step to come true, unless it says another number
LATE, QUIET = 4.0, 0.3  # seconds: a busy machine; nothing more comes


class Failed(Exception):
    """Something else happened than the scenario expects."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Scenario:
    """A file of `scenarios/hutch/`, the modes of the peer and the layouts for which it is."""

    name: str
    about: str
    steps: list[dict[str, Any]]
    theirs: Sequence[str] = MODES
    layouts: Sequence[str] = MODES


def names() -> list[str]:
    """All scenarios there are."""
    return sorted(path.stem for path in SCENARIOS.glob("*.json"))


def absence() -> str | None:
    """What is missing on this machine, or None."""
    if not (SCRIPTS / "rabbitmq-server").exists():
        return "no rabbitmq-server; on Debian: apt-get install rabbitmq-server"
    return lacking()


def play_exchanges(wanted: Sequence[str], *, verbose: bool) -> bool:
    """Play scenarios with each pair of mode and layout, print a matrix and the failures; whether all was green."""
    scenarios = [Scenario(name=name, **json.loads((SCENARIOS / f"{name}.json").read_text())) for name in wanted]
    pairs = list(product(MODES, MODES))
    plays = [
        (one, theirs, ours)
        for one in scenarios
        for theirs, ours in pairs
        if theirs in one.theirs and ours in one.layouts
    ]
    begun = time.monotonic()
    logging.disable()  # handlers fail on purpose
    with ExitStack() as ends:
        broker = ends.enter_context(shared(Path(ends.enter_context(tempfile.TemporaryDirectory()))))
        ruby = ends.enter_context(closing(RubyPeer()))
        with ThreadPoolExecutor(AT_ONCE) as pool:
            found = list(pool.map(lambda play: _played(*play, ruby=ruby, url=broker.url), plays))
    print(f"\n{len(plays)} plays on RabbitMQ in {time.monotonic() - begun:.0f} s")
    print("  ruby as \\ layout of workkit " + "".join(f"{layout:>14}" for layout in MODES))
    results = list(zip(plays, found, strict=True))
    for theirs in MODES:
        cells = [[error for (_, *pair), error in results if pair == [theirs, ours]] for ours in MODES]
        print(f"  {theirs:<28} " + "".join(f"{f'{cell.count(None)}/{len(cell)} ok':>14}" for cell in cells))
    for (one, theirs, ours), error in results:
        if verbose or error:
            print(f"  ruby as {theirs}, layout {ours}: {one.name}: {'FAILED ' + error if error else 'green'}")
    return bool(results) and not any(found)


def _played(scenario: Scenario, theirs: str, ours: str, *, ruby: RubyPeer, url: str) -> str | None:
    with ExitStack() as ends:
        play = Play(scenario.name, theirs, ours, ruby=ruby, url=url, ends=ends)
        try:
            for number, step in enumerate(scenario.steps):
                play.step = number
                play.do(step)
            time.sleep(QUIET)
            play.check_again()
        except (Failed, AssertionError, WorkkitError, pika.exceptions.AMQPError) as failure:
            return f"step {play.step}: {type(failure).__name__}: {failure}"
    return None


class Play:
    """One scenario on an exchange of its own. What it opens ends with `ends`."""

    def __init__(self, scenario: str, mode: str, layout: str, *, ruby: RubyPeer, url: str, ends: ExitStack) -> None:
        self.mode, self.layout, self.url, self.ends = mode, layout, url, ends
        self.step = 0
        self._within = WITHIN
        self._expected: dict[str, Any] = {}
        self._asked = 0.0  # when the last step was done that expects something
        self.exchange = f"{scenario}-{uuid.uuid4().hex[:8]}"
        settings = {"exchange": self.exchange, "namespace": f"{self.exchange}-peer", "schedule": True}
        self.program = ruby.open(self.exchange, mode, url, **settings)
        ends.callback(self.program.close)
        connection = ends.enter_context(closing(pika.BlockingConnection(pika.URLParameters(url))))
        self.channel = connection.channel()

    def do(self, step: dict[str, Any]) -> None:
        """Do a step: of theirs, of ours, of a third program, or an expectation."""
        ((who, what),) = ((who, step[who]) for who in ("theirs", "ours", "raw", "expect") if who in step)
        refused = step.get("refused")
        self._within = step.get("within", WITHIN)
        if who != "expect":
            self._asked = time.time()
        try:
            getattr(self, f"_{who}")(dict(what))
        except (AssertionError, WorkkitError) as error:
            if not refused or refused not in str(error):
                raise
        else:
            if refused:
                raise Failed(f"it was not refused: {what}")

    def _theirs(self, what: dict[str, Any]) -> None:
        verb = what.pop("do")
        if verb != "consume":
            self.program.do(verb, **what)
            return
        retries, said = what.pop("retries", 0), {name: what[name] for name in ("fail",) if name in what}
        if self.mode == "hutch":
            self.program.consume({"queue_name": "peer", "keys": what["keys"], "attempts": retries, **said})
        else:
            self.program.consume(*({"key": key, "max_fails": retries, "wait": 5, **said} for key in what["keys"]))

    def _ours(self, what: dict[str, Any]) -> None:
        verb, namespace = what.pop("do"), what.pop("namespace", "")
        prefix = f"{self.exchange}-{namespace}" if namespace else ""
        s = schedule.create(self.exchange, amqp=self.url, layout=self.layout, namespace=prefix)
        if verb == "listen":
            how: dict[str, Any] = {"imports": ["peers.exchange"], "folder": None, "threads": 2}
            self.ends.enter_context(schedule.listener(s, jobs=what["keys"], **how))
        else:
            when = {"in_": what["in"]} if "in" in what else {"at": "now"}
            schedule.add(s, what["key"], args=[what["value"]], **when)

    def _raw(self, what: dict[str, Any]) -> None:
        properties = pika.BasicProperties(**what.get("properties", {}))
        self.channel.basic_publish(self.exchange, what["key"], what["body"].encode(), properties)

    def _expect(self, what: dict[str, Any]) -> None:
        after = what.pop("after", None)
        self._expected |= what
        for name in what:
            self._await(name)
        if after is not None:
            took = max(at for name in what for at, _ in self._runs(name)) - self._asked
            if not after - 0.05 <= took <= after + LATE:
                raise Failed(f"it took {took:.2f} s, not {after} s")

    def _await(self, name: str) -> None:
        deadline = time.monotonic() + self._within
        while self._found(name) != _sorted(self._expected[name]):
            if time.monotonic() > deadline:
                raise Failed(self._says(name))
            time.sleep(0.05)

    def check_again(self) -> None:
        """Whether nothing more has come since what was expected last."""
        for name, wanted in self._expected.items():
            if self._found(name) != _sorted(wanted):
                raise Failed(f"at the end {self._says(name)}")

    def _found(self, name: str) -> list[str]:
        if name == "dead":
            count = self.channel.queue_declare(f"{self.exchange}_dead_queue", passive=True).method.message_count
            return _sorted([1] * count)
        return _sorted(value for _, value in self._runs(name))

    def _runs(self, name: str) -> list[tuple[float, Any]]:
        if name == "ours":
            return list(exchange.seen[self.exchange])
        return [
            (said["at"] / 1000, said["value"] if "value" in said else json.loads(said["body"]))
            for said in self.program.runs()
        ]

    def _says(self, name: str) -> str:
        return f"{name}: expected {self._expected.get(name)}, found {self._found(name)}"


def _sorted(values: Any) -> list[str]:
    return sorted(json.dumps(value, sort_keys=True) for value in values)
