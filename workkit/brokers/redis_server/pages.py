"""Read keys of any size in pages. Memory is bounded by a page."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from threading import local
from typing import Any

import msgpack
from redis.exceptions import NoScriptError

from workkit.brokers.redis_server.script import load
from workkit.brokers.redis_server.server import Server
from workkit.clocks import time

PAGE = 500
PAGE_BYTES = 4_000_000  # after a page with more bytes, the next pages have fewer values
MOST_PAGES = 2000  # of the names of all keys in a database
STEP = 1000  # names of keys in one page
REST = 2.0  # times as long as it worked on a page, who is not in a hurry rests before the next one
_GLOB, _ESCAPED = re.compile(r"([*?\[\]\\^-])"), r"\\\1"
_thread = local()


def hash_pages(server: Server, key: str) -> Iterator[dict[bytes, bytes]]:
    """Read a hash in pages; a field may come twice while the hash changes."""
    cursor, count = 0, PAGE
    while True:
        with server.translated() as client:
            cursor, page = client.hscan(key, cursor, count=count)
        if page:
            yield page
            _rest()
        if not cursor:
            return
        size = sum(map(len, page.values()))
        count = min(PAGE, max(5, len(page) * PAGE_BYTES // size)) if size > PAGE_BYTES else PAGE


def scored_pages(server: Server, key: str) -> Iterator[list[tuple[bytes, float]]]:
    """Read a sorted set in pages, in no order; a member may come twice while it changes."""
    return _pages(server, lambda client, cursor: client.zscan(key, cursor, count=PAGE))


@contextmanager
def unhurried() -> Iterator[None]:
    """Let this thread rest between pages, so that others of its process go on meanwhile: one that looks through all
    jobs would take half of their time.
    """
    _thread.since = time.thread_time()
    try:
        yield
    finally:
        _thread.since = None


def _rest() -> None:
    since = getattr(_thread, "since", None)
    if since is not None:
        time.sleep((time.thread_time() - since) * REST)
        _thread.since = time.thread_time()


def set_pages(server: Server, key: str) -> Iterator[list[bytes]]:
    """Read a set in pages, in no order; a member may come twice while it changes."""
    return _pages(server, lambda client, cursor: client.sscan(key, cursor, count=PAGE))


def piped(server: Server, ask: Callable[[Any], object], *, whole: bool = False) -> list[Any]:
    """Ask several things in one round trip; `whole`: in one step, where the second word of each command is its key."""
    with server.translated() as client:
        pipe = client.pipeline(transaction=False)
        ask(pipe)
        return _in_one_step(client, list(pipe.command_stack)) if whole else list(pipe.execute())


def _in_one_step(client: Any, commands: Sequence[tuple[Sequence[Any], Mapping[str, Any]]]) -> list[Any]:
    """Ask by a script: the client repeats it after a cut connection, as any reading."""
    if not commands:
        return []
    script, encoded = load("redis_server")["read"], client.get_encoder().encode

    def packed(word: Any) -> bytes:  # names of other programs may be no text, and are kept as such
        return bytes(word.encode("utf-8", "surrogateescape") if isinstance(word, str) else encoded(word))

    words = [[packed(word) for word in asked] for asked, _ in commands]
    keys = list(dict.fromkeys(asked[1] for asked in words))
    said = len(keys), *keys, msgpack.packb(words, use_bin_type=False)
    try:
        answers = client.evalsha(script.digest, *said)
    except NoScriptError:
        answers = client.eval(script.text, *said)
    return [_read(asked[0], options, answer) for (asked, options), answer in zip(commands, answers, strict=True)]


def _read(verb: str, options: Mapping[str, Any], answer: Any) -> Any:
    """Read an answer of a script, whatever protocol the client speaks, as that of a command."""
    match verb:
        case "HGETALL":
            return dict(zip(answer[::2], answer[1::2], strict=True))
        case "SMEMBERS":
            return set(answer)
        case "HEXISTS":
            return bool(answer)
        case "ZSCORE":
            return None if answer is None else float(answer)
        case "ZMSCORE":
            return [None if score is None else float(score) for score in answer]
        case "ZRANGE" | "ZREVRANGE" if options.get("withscores"):
            return list(zip(answer[::2], map(float, answer[1::2]), strict=True))
    return answer


def names_behind(server: Server, start: str) -> list[str] | None:
    """Find the keys whose names begin with a text, each without it; None if the database has too many keys. A name that
    is no text is left out.
    """
    cursor, names = 0, []
    for _ in range(MOST_PAGES):
        with server.translated() as client:
            cursor, page = client.scan(cursor, match=literally(start) + "*", count=STEP)
        names += [key.decode().removeprefix(start) for key in page if is_text(key)]
        if not cursor:
            return names
    return None


def is_text(name: bytes) -> bool:
    """Say whether bytes are UTF-8."""
    try:
        name.decode()
    except UnicodeDecodeError:
        return False
    return True


def literally(text: str) -> str:
    """Write a text as a pattern that matches only this text."""
    return _GLOB.sub(_ESCAPED, text)


def _pages(server: Server, scan: Callable[[Any, int], tuple[int, list[Any]]]) -> Iterator[list[Any]]:
    cursor = 0
    while True:
        with server.translated() as client:
            cursor, page = scan(client, cursor)
        if page:
            yield page
            _rest()
        if not cursor:
            return
