"""Many jobs in one claim: which are taken, in which order, and that no job has a command of the server of its own."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pytest

from tests.brokers.test_native_session import listening, standing
from tests.servers import Server
from workkit import schedule, wire
from workkit.brokers.native.broker import NativeBroker
from workkit.contract.listener import Claim, Ending
from workkit.jobs.outcome import DONE, Done

PAST_MS, FUTURE_MS = 1_600_000_000_000, 4_000_000_000_000
FEW, MANY = 25, 175
MORE = 8  # commands, however many jobs more


@pytest.fixture
def client(server: Server) -> Any:
    return server.client()


def items(count: int, *, begin: int) -> list[bytes]:
    return [wire.item(f"{n:040x}") for n in range(begin, begin + count)]


@pytest.mark.parametrize("room", [7, 20, 43, 60, 130, 199])
def test_jobs_are_taken_by_due_time_whether_or_not_many_are_due_together(
    server: Server, client: Any, name: str, room: int
) -> None:
    together = [
        (22, "-inf"),
        (30, PAST_MS),
        (25, PAST_MS + 0.5),
        (1, PAST_MS + 2),
        (19, PAST_MS + 3),
        (20, PAST_MS + 4),
    ]
    begin = 0
    for count, due in [*together, (33, FUTURE_MS)]:
        client.zadd(f"{name}:next", dict.fromkeys(items(count, begin=begin), due))
        begin += count
    client.zadd(f"{name}:next", {"no item": PAST_MS + 4})
    stood = client.zrange(f"{name}:next", 0, -1)
    texts = [text for _, text in client.zrange(f"{name}:next", 0, -1, withscores=True, score_cast_func=bytes)]
    is_due = len(stood) - 33
    b, _ = listening(server, name)
    receipts = [claim.receipt for claim in b.claim(room).claims]
    assert [(one.member, one.due) for one in receipts] == list(zip(stood, texts, strict=True))[: min(room, is_due)]
    assert [wire.item(one.id.decode()) if one.id else b"no item" for one in receipts] == stood[: len(receipts)]
    assert client.zrange(f"{name}:next", 0, -1) == stood[len(receipts) :]
    records = client.hgetall(f"{name}:running:{b.listener}")
    assert {b"1." + member: due for member, due in zip(stood, texts, strict=True)}.items() >= {
        field: value for field, value in records.items() if field not in (b"@", b"info")
    }.items()
    assert len(records) == len(receipts) + 2


def entry(*, due: int, id: bytes) -> bytes:
    return b'o %d 0 0 - {"id":"%s"}' % (due, id)


def claimed(client: Any, b: NativeBroker, count: int, *, ends: Sequence[Ending] = ()) -> tuple[list[Claim], int]:
    """Claim so many jobs, and count the commands of the server that this took."""

    def asked() -> int:
        return sum(one["calls"] for one in client.info("commandstats").values())

    before = asked()
    claims = b.claim(count, ends=ends).claims
    return list(claims), asked() - before


@pytest.mark.parametrize("beside", ["nothing", "settings", "later attempts", "attempts", "priorities", "marks"])
def test_a_claim_of_many_jobs_asks_no_more_than_one_of_few(server: Server, client: Any, name: str, beside: str) -> None:
    s = schedule.create(name, redis=server.url)
    priority = 2 if beside == "priorities" else 0
    rows = [{"fn": "app:note", "at": "now", "args": [n], "priority": priority} for n in range(2 * (FEW + MANY))]
    schedule.add_many(s, rows)
    if beside == "settings":
        client.hset(f"{name}:control", "v", 1)
    elif beside == "later attempts":
        client.zadd(f"{name}:again", {entry(due=FUTURE_MS, id=b"a" * 40): FUTURE_MS})
    elif beside == "attempts":
        client.zadd(f"{name}:again", {entry(due=PAST_MS + n, id=b"%040x" % n): PAST_MS + n for n in range(MANY)})
    elif beside == "marks":
        client.zadd(f"{name}:cancelled", {"a" * 40: PAST_MS})
    b, _ = listening(server, name)
    claims = list(b.claim(FEW).claims)  # the server learns the script
    few, of_few = claimed(client, b, FEW)
    many, of_many = claimed(client, b, MANY)
    claims += [*few, *many]
    assert len(claims) == 2 * FEW + MANY
    assert of_many <= of_few + MORE
    while turn := b.claim(100).claims:
        claims += turn
    assert sorted(claim.args[0] for claim in claims if claim.args) == list(range(len(rows)))
    b.claim(0, ends=[(claim, Done()) for claim in claims])
    b.leave()
    assert standing(server, name) <= {"control", "again", "cancelled"}


@pytest.mark.parametrize(("outcome", "most"), [(DONE, 0), (Done(), 2)])
def test_endings_of_many_jobs_ask_for_what_each_removes_alone(
    server: Server, client: Any, name: str, outcome: Done, most: int
) -> None:
    s = schedule.create(name, redis=server.url)
    schedule.add_many(s, [{"fn": "app:note", "at": "now", "args": [n]} for n in range(2 * FEW + MANY)])
    b, _ = listening(server, name)
    b.claim(0, ends=[(claim, outcome) for claim in b.claim(FEW).claims])  # the server learns the script
    _, of_few = claimed(client, b, 0, ends=[(claim, outcome) for claim in b.claim(FEW).claims])
    _, of_many = claimed(client, b, 0, ends=[(claim, outcome) for claim in b.claim(MANY).claims])
    assert of_many - of_few <= most * (MANY - FEW) + MORE
    hour = client.hgetall(f"{name}:stats")
    assert sum(map(int, hour.values())) == 2 * FEW + MANY
    b.leave()
    assert standing(server, name) == set()
