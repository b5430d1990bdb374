"""A cursor in a sorted set that changes between its pages: what stays is read once."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import pytest

from tests.servers import PRODUCTS, Server
from workkit.brokers.redis_server.connecting import connect
from workkit.brokers.redis_server.pages import PAGE, Cursor, ordered_pages

N = 3 * PAGE + 7
pytestmark = pytest.mark.parametrize("server", PRODUCTS[:1], indirect=True)
SCORES: dict[str, Callable[[int], float]] = {
    "one score": lambda n: 5,
    "a score each": lambda n: n / 4,
    "some scores": lambda n: n // 600,
    "far scores": lambda n: math.inf if n > PAGE + 3 else -math.inf,
}


@pytest.fixture(params=SCORES)
def members(server: Server, name: str, request: pytest.FixtureRequest) -> list[str]:
    """The members of a sorted set, in its order."""
    found = [f"{n:05}" for n in range(N)]
    server.client().zadd(name, {member: SCORES[request.param](n) for n, member in enumerate(found)})
    return found


@pytest.mark.parametrize("latest_first", [False, True])
@pytest.mark.parametrize(
    "leaving", [range(100), range(PAGE - 1), range(PAGE - 1, PAGE), range(PAGE), range(PAGE + 200), range(300, PAGE)]
)
def test_members_that_stay_are_read_once_when_others_leave(
    server: Server, name: str, members: list[str], leaving: range, latest_first: bool
) -> None:
    order = members[::-1] if latest_first else members
    pages = ordered_pages(connect(server.url), name, latest_first=latest_first)
    first = texts(next(pages))
    assert first == order[:PAGE]
    server.client().zrem(name, *(order[n] for n in leaving))
    rest = [member for page in pages for member in texts(page)]
    assert rest == [member for n, member in enumerate(order) if n >= PAGE and n not in leaving]


def test_members_that_stay_are_read_once_when_others_come_before_them(
    server: Server, name: str, members: list[str]
) -> None:
    pages = ordered_pages(connect(server.url), name)
    first = texts(next(pages))
    server.client().zadd(name, {f"!{n}": -math.inf for n in range(5 * PAGE)})
    assert first + [member for page in pages for member in texts(page)] == members


def test_a_last_member_that_moves_behind_is_read_there_again(server: Server, name: str, members: list[str]) -> None:
    pages = ordered_pages(connect(server.url), name)
    first = texts(next(pages))
    server.client().zadd(name, {first[-1]: 10**6})
    rest = [member for page in pages for member in texts(page)]
    assert sorted(rest) == sorted([*members[PAGE:], first[-1]])


def test_members_that_stay_are_read_once_while_others_leave_before_each_reading(
    server: Server, name: str, members: list[str]
) -> None:
    other, leaving = server.client(), iter(members)

    def leave() -> None:
        other.zrem(name, *(next(leaving, "") for _ in range(90)))

    cursor = Cursor(Hurried(server, leave), name)  # type: ignore[arg-type]
    seen = [member for page in cursor.pages() for member in texts(page)]
    assert sorted(set(seen)) == seen
    left = [member.decode() for member in other.zrange(name, 0, -1)]
    assert set(left) <= set(seen)


def test_an_empty_set_and_one_that_empties_have_an_end(server: Server, name: str, members: list[str]) -> None:
    assert list(ordered_pages(connect(server.url), f"{name}:none")) == []
    pages = ordered_pages(connect(server.url), name)
    next(pages)
    server.client().delete(name)
    assert list(pages) == []


@pytest.mark.parametrize("leaves", [False, True])
def test_the_work_for_a_page_does_not_grow_with_the_number_of_equal_scores(
    server: Server, name: str, leaves: bool
) -> None:
    count, client = 60 * PAGE, server.client()
    client.zadd(name, {f"{n:06}": 1 for n in range(count)})
    client.config_resetstat()
    read = 0
    for page in ordered_pages(connect(server.url), name):
        read += len(page)
        if leaves:
            client.zrem(name, *(member for member, _ in page))
    assert read == count
    asked = client.info("commandstats")
    calls = sum(asked.get(f"cmdstat_{verb}", {"calls": 0})["calls"] for verb in ("zrange", "zcount", "zrank", "zscore"))
    most = 5 + math.ceil(math.log2(count)) if leaves else 1
    assert calls <= (count / PAGE + 1) * most


def texts(page: list[tuple[bytes, float]]) -> list[str]:
    return [member.decode() for member, _ in page]


class Hurried:
    """A server before whose readings something happens."""

    def __init__(self, server: Server, act: Callable[[], None]) -> None:
        self._inner, self._act = connect(server.url), act

    def __getattr__(self, name: str) -> Any:
        return getattr(self._inner, name)

    def translated(self) -> Any:
        self._act()
        return self._inner.translated()
