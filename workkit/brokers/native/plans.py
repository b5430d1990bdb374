"""The plans of code in a native schedule: `S:plans`."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from workkit.brokers.native.keys import Keys
from workkit.brokers.redis_server.control import read_packed
from workkit.brokers.redis_server.script import load
from workkit.brokers.redis_server.server import Server
from workkit.contract.inspector import Named
from workkit.contract.producer import CodePlan, Made, Mode, NewJob, Standing, Verdict

STANDINGS: Mapping[bytes, Standing] = {b"new": "new", b"same": "same", b"older": "older"}
MOST_GENERATIONS = 9e15  # as in lua/parts/plans.lua
_JOB, _PLAN = b"job:", b"plan:"


@dataclass(frozen=True, slots=True, kw_only=True)
class NativePlans:
    """The plans of one schedule on one server."""

    server: Server
    keys: Keys
    contents: Callable[[Sequence[NewJob]], list[str]]  # see `Plans.contents`
    named: Callable[[], dict[str, Named]]  # see `Plans.named`

    def decide(self, plans: Sequence[CodePlan], *, mode: Mode) -> list[Verdict]:
        """Say of each plan whether it holds: see `Plans.decide`."""
        return self._asked(mode, ((plan, 0) for plan in plans))

    def adopt(self, plans: Iterable[tuple[CodePlan, int]]) -> None:
        """Write what another shard has decided: plans with their generations."""
        self._asked("told", plans)

    def _asked(self, mode: str, plans: Iterable[tuple[CodePlan, int]]) -> list[Verdict]:
        args: list[Any] = [mode]
        for plan, generation in plans:
            args += (plan.source, plan.digest, plan.version, plan.written_ms, generation)
        script = load("native")["plan"]
        found = self.server.call(script, script.keys(self.keys), args)
        pairs = zip(found[::2], found[1::2], strict=True)
        return [Verdict(standing=STANDINGS[bytes(word)], generation=int(number)) for word, number in pairs]

    def made(self) -> dict[str, Made]:
        """Read what plans have made: see `Plans.made`."""
        with self.server.translated() as client:
            fields = client.hgetall(self.keys.plans)
        found = {}
        for field, value in fields.items():
            content, blank, source = value.partition(b" ")
            if field.startswith(_JOB) and blank:
                name, of = (text.decode("utf-8", "replace") for text in (field[len(_JOB) :], source))
                found[name] = Made(content=content.decode("ascii", "replace"), source=of)
        return found

    def withdraw(self, names: Sequence[str], *, source: str, generation: int) -> bool:
        """Remove jobs that a plan no longer has: see `Plans.withdraw`."""
        script = load("native")["withdraw"]
        return int(self.server.call(script, script.keys(self.keys), [source, generation, *names])) >= 0


def is_plan_field(field: bytes, value: bytes) -> bool:
    """Say whether a field of `S:plans` can be read, as the part `plans` of the scripts reads it."""
    if field.startswith(_JOB):
        return b" " in value
    match read_packed(value):
        case [int() | float() as generation, bytes() | str(), bytes() | str(), int() | float(), _, list()]:
            return field.startswith(_PLAN) and generation % 1 == 0 and 0 <= generation <= MOST_GENERATIONS
    return False
