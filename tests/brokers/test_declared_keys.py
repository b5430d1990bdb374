"""Scripts use only the keys that their call declares: clusters, and servers such as Dragonfly, refuse others."""

from __future__ import annotations

import re
import socket
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import pytest

from tests.acceptance.hostile_values import Source
from tests.brokers.hostile_rounds import Calls, choices
from tests.servers import Server
from workkit.brokers.redis_server.script import load

WORD = re.compile(r'"((?:[^"\\]|\\.)*)"')
VALUES = 110
END = "the end of what is watched"


class Watched:
    """What MONITOR shows: which scripts ran, and which keys their commands used beside those that were declared."""

    def __init__(self, client: Any) -> None:
        self._client = client
        self._places: dict[str, tuple[int, int, int]] = {}
        self.digests: set[str] = set()
        self.undeclared: set[tuple[str, str, str]] = set()

    def read(self, lines: Iterator[str]) -> None:
        digest, declared = "", frozenset[str]()
        for line in lines:
            name, *args = WORD.findall(line)
            verb = name.upper()
            if " lua] " in line:
                strange = {key for key in self._keys(verb, args) if key not in declared}
                self.undeclared |= {(digest, verb, key) for key in strange}
            elif verb in ("EVALSHA", "EVAL"):
                digest, declared = args[0], frozenset(args[2 : 2 + int(args[1])])
                self.digests.add(digest)

    def _keys(self, verb: str, args: list[str]) -> list[str]:
        if verb not in self._places:
            (about,) = self._client.execute_command("COMMAND", "INFO", verb).values()
            self._places[verb] = (about["first_key_pos"], about["last_key_pos"], about["step_count"])
        first, last, step = self._places[verb]
        words = [verb, *args]
        return words[first : (last if last >= 0 else len(words) + last) + 1 : step] if first else []


@contextmanager
def watched(server: Server) -> Iterator[Watched]:
    """Watch all commands of a server until the block ends."""
    client, found = server.client(), Watched(server.client())
    with socket.create_connection(("127.0.0.1", server.port)) as monitor, monitor.makefile("rb") as stream:
        monitor.sendall(b"MONITOR\r\n")
        assert stream.readline() == b"+OK\r\n"
        yield found
        client.echo(END)
        found.read(_until_end(stream))


def _until_end(stream: Any) -> Iterator[str]:
    for line in stream:
        text = line.decode("latin-1")
        if END in text:
            return
        yield text


@pytest.mark.parametrize("own_server", ["redis"], indirect=True)
def test_scripts_of_the_native_layout_use_only_declared_keys(
    own_server: Server, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("workkit.brokers.native.look.published.MOMENT", 0.01)  # no foreign peer is here
    calls = Calls(url=own_server.url, client=own_server.client())
    source = Source(seed=6)
    with watched(own_server) as found:
        for only in choices(6, 4):
            calls.round(source, VALUES, only=only)
    assert calls.asked == set(load("native"))
    names = {script.digest: script.name for script in load("native").values()}
    assert {names[digest] for digest in found.digests & names.keys()} == set(load("native"))
    assert {(names.get(digest, digest), verb, key) for digest, verb, key in found.undeclared} == set()


@pytest.mark.parametrize("own_server", ["redis"], indirect=True)
def test_a_key_that_was_not_declared_is_seen(own_server: Server) -> None:
    with watched(own_server) as found:
        own_server.client().eval("redis.call('SET', KEYS[1], 1) redis.call('DEL', KEYS[1], 'other')", 1, "declared")
    assert {(verb, key) for _, verb, key in found.undeclared} == {("DEL", "other")}
