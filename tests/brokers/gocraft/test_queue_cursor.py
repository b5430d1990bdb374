"""A cursor in a queue whose next jobs are taken between its pages: texts that stay are read once."""

from __future__ import annotations

import pytest

from tests.servers import PRODUCTS, Server
from workkit.brokers.gocraft.places import QueueCursor
from workkit.brokers.redis_server.connecting import connect
from workkit.brokers.redis_server.pages import PAGE

N = 4 * PAGE + 7
pytestmark = pytest.mark.parametrize("server", PRODUCTS[:1], indirect=True)


@pytest.fixture
def texts(server: Server, name: str) -> list[bytes]:
    """The texts of a queue, next first."""
    found = [b"%05d" % n for n in range(N)]
    server.client().lpush(name, *found)
    return found


@pytest.mark.parametrize("taken", [0, 1, PAGE - 1, PAGE, PAGE + 1, 2 * PAGE + 30, N])
def test_texts_that_stay_are_read_once_when_others_are_taken(
    server: Server, name: str, texts: list[bytes], taken: int
) -> None:
    pages = QueueCursor(connect(server.url), name).pages()
    assert next(pages) == texts[:PAGE]
    server.client().rpop(name, taken)
    assert [text for page in pages for text in page] == texts[max(PAGE, taken) :]


def test_texts_that_stay_are_read_once_while_others_are_taken_between_all_pages(
    server: Server, name: str, texts: list[bytes]
) -> None:
    client, seen = server.client(), list[bytes]()
    for page in QueueCursor(connect(server.url), name).pages():
        seen += page
        client.rpop(name, 70)
    assert seen == texts


def test_texts_that_stay_are_read_once_when_the_last_ones_are_removed_and_others_come(
    server: Server, name: str, texts: list[bytes]
) -> None:
    pages = QueueCursor(connect(server.url), name).pages()
    assert next(pages) == texts[:PAGE]
    client = server.client()
    for text in texts[PAGE - 3 : PAGE]:
        client.lrem(name, -1, text)
    client.rpush(name, b"back", b"too")
    client.lpush(name, b"new")
    assert [text for page in pages for text in page] == [*texts[PAGE:], b"new"]


def test_a_queue_of_equal_texts_has_an_end(server: Server, name: str) -> None:
    client = server.client()
    client.lpush(name, *[b"same"] * (2 * PAGE + 5))
    pages = QueueCursor(connect(server.url), name).pages()
    read = len(next(pages))
    client.rpop(name, 20)
    read += sum(map(len, pages))
    assert 2 * PAGE - 15 <= read <= 2 * PAGE + 5
    assert list(QueueCursor(connect(server.url), f"{name}:none").pages()) == []
