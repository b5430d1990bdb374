"""Claims among items that a listener skips: it claims what it can run, and does not read the others again."""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator
from contextlib import ExitStack, closing
from typing import Any

import pytest

from tests.brokers.test_native_session import listening
from tests.servers import Server
from workkit import schedule, wire
from workkit.brokers.native.broker import NativeBroker
from workkit.contract.admin import Paused, Resumed
from workkit.contract.listener import Claim
from workkit.jobs.admission import Pause
from workkit.jobs.outcome import DONE, Released

OURS, OTHERS = "#'app/note", "#'other/run"
CRON = "2026 1 1 * 0 0 0"


class Crowd:
    """A schedule with items of others that are due, and one listener that skips them."""

    def __init__(self, server: Server, name: str, crowd: int) -> None:
        self.name, self.client = name, server.client()
        self.broker: NativeBroker = listening(server, name)[0]
        self.schedule = schedule.create(name, redis=server.url)
        self.ran: list[int] = []
        self.looked = 0
        self.now_ms = 10_000_000  # a clock of its own, a second more with each claim
        self.others = self.add(OTHERS, range(crowd), due_ms=1_000_000)
        self.run(quiet=1)

    def add(self, fn: str, numbers: Any, *, due_ms: int, ties: bool = False) -> list[bytes]:
        """Add as another program does that writes the two published keys."""
        items = []
        with self.client.pipeline() as pipe:
            for n in numbers:
                payload = wire.payload(cron=CRON, job=fn, args=[n])
                item = wire.item(wire.job_id(payload))
                pipe.hset(f"{self.name}:jobs", wire.job_id(payload), payload)
                pipe.zadd(f"{self.name}:next", {item: due_ms if ties else due_ms + n})
                items.append(item)
            pipe.execute()
        return items

    def claim(self, limit: int = 100) -> bool:
        """One claim, with its endings; whether there is more to come."""
        self.now_ms += 1000
        turn = self.broker.claim(limit, now_ms=self.now_ms)
        ends = [(claim, self._end(claim)) for claim in turn.claims]
        while ends or turn.asked:
            turn = self.broker.claim(0, ends=ends, now_ms=self.now_ms)
            ends = [(claim, self._end(claim)) for claim in turn.claims]
        return bool(turn.claims) or turn.wake_in_ms == 0

    def _end(self, claim: Claim) -> Any:
        if claim.fn == OURS:
            self.ran.append(claim.args[0])
            return DONE
        self.looked += 1
        return Released(unknown=True)

    def run(self, *, quiet: int = 3, limit: int = 100) -> None:
        """Claim until there is nothing so often in a row."""
        still = 0
        while still < quiet:
            before = len(self.ran), self.looked
            more = self.claim(limit)
            still = 0 if more or before != (len(self.ran), self.looked) else still + 1

    def close(self) -> None:
        self.broker.leave()
        self.broker.close()

    def pages(self, act: Any) -> int:
        """How many pages of items the server compared with the marks meanwhile."""
        self.client.config_resetstat()
        act()
        return int(self.client.info("commandstats")["cmdstat_smismember"]["calls"])


Gather = Callable[[int], Crowd]


@pytest.fixture
def gather(server: Server, name: str) -> Iterator[Gather]:
    """Make a crowd of so many."""
    with ExitStack() as stack:
        yield lambda size: stack.enter_context(closing(Crowd(server, name, size)))


@pytest.mark.parametrize("ties", [False, True])
@pytest.mark.parametrize("where", [500_000, 1_001_250, 3_000_000])
def test_a_job_is_claimed_wherever_it_arrives_in_a_crowd(gather: Gather, name: str, where: int, ties: bool) -> None:
    crowd = gather(2500)
    assert crowd.looked == 2500
    crowd.add(OURS, range(30), due_ms=where, ties=ties)
    crowd.run()
    assert sorted(crowd.ran) == list(range(30))
    assert crowd.looked == 2500, "a skipped item was claimed again"
    assert crowd.client.zcard(f"{name}:next") == 2500


def test_a_job_that_comes_as_another_leaves_is_claimed(gather: Gather, name: str) -> None:
    crowd = gather(2500)
    crowd.client.zrem(f"{name}:next", *crowd.others[10:13])
    crowd.add(OURS, range(3), due_ms=999_000)
    crowd.run(quiet=20)
    assert sorted(crowd.ran) == [0, 1, 2]


def test_a_job_is_claimed_where_the_last_that_was_skipped_is_gone_or_moved(gather: Gather, name: str) -> None:
    crowd = gather(50)
    crowd.client.zrem(f"{name}:next", crowd.others[-1])
    crowd.add(OURS, [1], due_ms=1_000_000)
    crowd.run(quiet=5)
    crowd.client.zadd(f"{name}:next", {crowd.others[-2]: 4_102_444_800_000})
    crowd.add(OURS, [2], due_ms=1_000_100)
    crowd.run(quiet=5)
    crowd.client.zrem(f"{name}:next", *crowd.others)
    crowd.add(OURS, [3], due_ms=900_000)
    crowd.run(quiet=5)
    assert crowd.ran == [1, 2, 3]


def test_a_listener_that_skips_jobs_claims_again_after_a_pause_of_the_schedule(gather: Gather, name: str) -> None:
    crowd = gather(50)
    admin = crowd.broker.admin
    admin.steer(Paused("schedule", Pause()))
    crowd.add(OURS, [1], due_ms=2_000_000)
    crowd.run()
    assert crowd.ran == []
    admin.steer(Resumed("schedule"))
    crowd.run()
    assert crowd.ran == [1]
    assert crowd.looked == 50, "a skipped item was claimed again"


@pytest.mark.parametrize("seed", range(12))
def test_no_job_is_overlooked_whatever_others_do(gather: Gather, name: str, seed: int) -> None:
    chance = random.Random(seed)
    crowd = gather(chance.choice([0, 3, 40, 400]))
    added = 0
    others = list(crowd.others)
    for step in range(120):
        match chance.choice(["ours", "theirs", "gone", "moved", "claim", "claim", "both"]):
            case "ours":
                crowd.add(OURS, [added], due_ms=chance.randrange(900_000, 1_100_000))
                added += 1
            case "theirs":
                others += crowd.add(OTHERS, [step], due_ms=chance.randrange(900_000, 1_100_000))
            case "gone" if others:
                crowd.client.zrem(f"{name}:next", others.pop(chance.randrange(len(others))))
            case "moved" if others:
                crowd.client.zadd(
                    f"{name}:next", {chance.choice(others): chance.randrange(900_000, 1_100_000)}, xx=True
                )
            case "both" if others:
                crowd.client.zrem(f"{name}:next", others.pop())
                crowd.add(OURS, [added], due_ms=chance.randrange(900_000, 1_100_000))
                added += 1
            case "claim":
                crowd.claim(chance.choice([1, 2, 10, 100]))
    crowd.run(quiet=8)
    assert sorted(crowd.ran) == list(range(added))


def test_claims_in_a_crowd_do_not_read_it_again(gather: Gather, name: str) -> None:
    crowd = gather(10_000)
    assert crowd.looked == 10_000

    def one_by_one() -> None:
        for n in range(100):
            crowd.add(OURS, [n], due_ms=2_000_000)
            crowd.claim(1)

    pages = crowd.pages(one_by_one)
    assert sorted(crowd.ran) == list(range(100))
    assert pages <= 500, "a claim compares a page or two; reading the crowd each time takes ten"
