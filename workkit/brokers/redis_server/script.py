"""Load the .lua files of a layout as scripts with their digests. Each script is one file; no other file has script
text.

The head of a script alone orders its keys and arguments. ``-- KEYS next running(listener) first(1)`` names functions of
the layout's keys: the script gets them as the locals `next_`, `running` and `first[1]`, and `Script.keys` makes the
list for a call. ``-- ARGV number now`` names arguments: the script gets them as locals too, as texts. The last word may
end with ``...``: ``jobs...`` gives `jobs_at`, the place where a list of any length begins. A second line of the same
form continues the first.

A line ``-- part: NAME`` includes code that several scripts share. The code is the file NAME in the folder `parts` of
the layout, or else in the folder `parts` beside this file, which has the parts that several layouts share. A part may
name other parts. Each part comes into a script once, at its first mention. The head of a part names the keys and
arguments of the script that it uses.

A script asks its server for the time. Some managed servers refuse TIME within scripts, and a user may lack the right to
call it at all. Then the client passes the time to the script. Scripts that need no time stay unchanged. Where TIME
works, this costs nothing: a server is asked about it only after it has refused a script (spec/layouts/native.md, "A
server without TIME").
"""

from __future__ import annotations

import re
from collections.abc import Callable, Hashable, Iterator, Sequence
from dataclasses import dataclass
from functools import cache, lru_cache
from hashlib import sha1
from importlib import resources
from typing import Any

import redis


@dataclass(frozen=True, slots=True, kw_only=True)
class Key:
    """A word of a KEYS line: the function of the layout's keys that it names, and its argument."""

    name: str
    level: int | None = None  # `first(3)`: the key of this number
    of: str | None = None  # `running(listener)`: the key of the caller's argument listener=
    is_list: bool = False  # `running(listeners)...`: one key for each of them


@dataclass(frozen=True, slots=True, eq=False)
class Script:
    """One script: its verb, its text as the server runs it, the digest of that text, and its keys."""

    name: str
    text: str
    digest: str
    declared: tuple[Key, ...]

    @lru_cache(maxsize=1024)  # noqa: B019  scripts last; a producer calls one with the same keys thousands of times
    def keys(self, keys: Hashable, **of: str | tuple[str, ...]) -> tuple[str, ...]:
        """Make the KEYS of one call. `keys` are the layout's keys of one schedule.

        The caller passes each argument in brackets under its name in the head: ``claim.keys(keys, listener=name)`` for
        ``running(listener)``. Raises TypeError if one of them is missing, or if the head has no such name.
        """
        if of.keys() != {key.of for key in self.declared if key.of}:
            wanted = " ".join(sorted({f"{key.of}=" for key in self.declared if key.of})) or "none"
            raise TypeError(f"{self.name}: its keys are named for {wanted}; given: {' '.join(of) or 'none'}")
        found: list[str] = []
        for key in self.declared:
            value = getattr(keys, key.name)
            if key.level is not None:
                found.append(value(key.level))
            elif key.is_list:
                found += map(value, of[key.of or ""])
            elif key.of is not None:
                found.append(value(of[key.of]))
            else:
                found.append(value)
        return tuple(found)


def with_text(script: Script, text: str) -> Script:
    """Return the script with another text and the same keys."""
    return Script(script.name, text, sha1(text.encode(), usedforsecurity=False).hexdigest(), script.declared)


class BadScript(Exception):
    """The head of a script, or a part, cannot be read. Only authors of scripts see this error."""


_HEAD = re.compile(r"^-- (KEYS|ARGV) (.+)$")
_WORD = re.compile(r"([a-z_]+)(?:\((?:([0-9]+)|([a-z_]+))\))?(\.\.\.)?")
_PART = re.compile(r"^-- part: (\w+)$")
_OF_LUA = frozenset({  # a local cannot have these names
    "and", "break", "do", "else", "elseif", "end", "false", "for", "function", "if", "in", "local", "nil", "not", "or",
    "repeat", "return", "then", "true", "until", "while", "bit", "cjson", "cmsgpack", "error", "ipairs", "math", "next",
    "pairs", "pcall", "redis", "select", "string", "table", "tonumber", "tostring", "type", "unpack",
})  # fmt: skip


@cache
def load(layout: str, *, clock: str | None = None) -> dict[str, Script]:
    """Load the scripts of a layout, by verb. `clock`: the folder beside the shared parts with the part that tells the
    time; None: the server tells the time.
    """
    folder = resources.files("workkit.brokers").joinpath(layout, "lua")
    shared = resources.files("workkit.brokers").joinpath("redis_server", "lua", "parts")
    other = None if clock is None else resources.files("workkit.brokers").joinpath("redis_server", "lua", clock)
    texts = {file.name.removesuffix(".lua"): file for file in folder.iterdir() if file.name.endswith(".lua")}

    def part(name: str) -> str:
        if other is not None and (other / f"{name}.lua").is_file():
            return (other / f"{name}.lua").read_text(encoding="utf-8")
        own = folder / "parts" / f"{name}.lua"
        return (own if own.is_file() else shared / f"{name}.lua").read_text(encoding="utf-8")

    return {verb: read_script(verb, file.read_text(encoding="utf-8"), part=part) for verb, file in texts.items()}


def read_script(name: str, source: str, *, part: Callable[[str], str]) -> Script:
    """Make a script from its source. `part` returns the source of a part. Raises BadScript."""
    head = _Head(name)
    lines = [head.line(line) for line in source.splitlines()]
    text = "\n".join(_expanded(lines, head, part, inside=(), done=set())) + "\n"
    return with_text(Script(name, "", "", tuple(head.keys)), text)


class _Head:
    """The KEYS and ARGV lines of one script."""

    def __init__(self, name: str) -> None:
        self.name = name
        self.keys: list[Key] = []
        self.args: list[str] = []
        self._locals: set[str] = set()

    def line(self, line: str) -> str:
        """Return a line as the server runs it: a line of KEYS or ARGV becomes the locals that it names."""
        found = _HEAD.match(line)
        if found is None:
            return line
        words = list(_words(self.name, found[2]))
        return self._of_keys(words) if found[1] == "KEYS" else self._of_args(words)

    def check(self, line: str, *, part: str) -> None:
        """Check that the script declares the keys and arguments that its part uses."""
        found = _HEAD.match(line)
        if found is None:
            return
        declared = {key.name for key in self.keys} if found[1] == "KEYS" else set(self.args)
        if missing := [key.name for key in _words(part, found[2]) if key.name not in declared]:
            raise BadScript(f"{self.name}.lua: its part {part} uses {found[1]} {' '.join(missing)}; declare them")

    def _of_keys(self, words: Sequence[Key]) -> str:
        plain: dict[str, str] = {}
        levels: dict[str, dict[int, int]] = {}
        lists = []
        for place, key in enumerate(words, len(self.keys) + 1):
            if self.keys and self.keys[-1].is_list:
                raise BadScript(f"{self.name}.lua: {key.name} comes after a list of keys, which has no known end")
            self.keys.append(key)
            if key.is_list:
                lists.append(f"local {self._local(f'{key.name}_at')} = {place}")
            elif key.level is not None:
                levels.setdefault(key.name, {})[key.level] = place
            else:
                plain[self._local(key.name)] = f"KEYS[{place}]"
        tables = [f"local {self._local(name)} = {{ {_table(places)} }}" for name, places in levels.items()]
        return "; ".join([*_assigned(plain), *tables, *lists])

    def _of_args(self, words: Sequence[Key]) -> str:
        plain, lists = {}, []
        for key in words:
            if self.args and self.args[-1].endswith("..."):
                raise BadScript(f"{self.name}.lua: {key.name} comes after a list of arguments, which has no known end")
            if key.level is not None or key.of is not None:
                raise BadScript(f"{self.name}.lua: the argument {key.name} is a name alone")
            self.args.append(f"{key.name}..." if key.is_list else key.name)
            if key.is_list:
                lists.append(f"local {self._local(f'{key.name}_at')} = {len(self.args)}")
            else:
                plain[self._local(key.name)] = f"ARGV[{len(self.args)}]"
        return "; ".join([*_assigned(plain), *lists])

    def _local(self, name: str) -> str:
        found = local_name(name)
        if found in self._locals:
            raise BadScript(f"{self.name}.lua: two of its keys and arguments are called {found}")
        self._locals.add(found)
        return found


def local_name(name: str) -> str:
    """Return the local of a key or an argument: its name, with `_` after a name that Lua uses itself."""
    return f"{name}_" if name in _OF_LUA else name


def _assigned(plain: dict[str, str]) -> list[str]:
    return [f"local {', '.join(plain)} = {', '.join(plain.values())}"] if plain else []


def _table(places: dict[int, int]) -> str:
    """Write the table of numbered keys; numbers from 1 on as a list, which Lua makes faster."""
    if sorted(places) == list(range(1, len(places) + 1)):
        return ", ".join(f"KEYS[{places[level]}]" for level in sorted(places))
    return ", ".join(f"[{level}] = KEYS[{place}]" for level, place in places.items())


def _words(name: str, line: str) -> Iterator[Key]:
    for word in line.split():
        found = _WORD.fullmatch(word)
        if found is None:
            raise BadScript(
                f"{name}.lua: {word!r} names no key or argument; accepted: next first(1) running(listener) jobs..."
            )
        level = None if found[2] is None else int(found[2])
        yield Key(name=found[1], level=level, of=found[3], is_list=found[4] is not None)


def _expanded(
    lines: Sequence[str], head: _Head, part: Callable[[str], str], *, inside: tuple[str, ...], done: set[str]
) -> Iterator[str]:
    """Yield the lines of a script or a part. Each part that they name takes its place, once."""
    for line in lines:
        found = _PART.match(line)
        if found is None:
            if inside:
                head.check(line, part=inside[-1])
            yield line
        elif found[1] in inside:
            raise BadScript(f"{head.name}.lua: the part {found[1]} names itself, by way of {' '.join(inside)}")
        elif found[1] not in done:
            yield from _expanded(part(found[1]).splitlines(), head, part, inside=(*inside, found[1]), done=done)
            done.add(found[1])


_Call = tuple[Script, Sequence[str], Sequence[Any]]  # a script, its keys and its arguments
_PROBE = "return redis.pcall('TIME')['err'] and 0 or 1"


@cache
def _part(folder: str) -> str:
    lua = resources.files("workkit.brokers").joinpath("redis_server", "lua", folder, "instant.lua")
    return lua.read_text(encoding="utf-8")


@cache
def without_time(script: Script) -> Script | None:
    """Return the script with two more inputs: the time as its last argument, and the key of the last instant as its
    last key. None for a script that needs no time.
    """
    if _part("parts") not in script.text:
        return None
    return with_text(script, script.text.replace(_part("parts"), _part("given_time")))


def last_instant(schedule: str) -> str:
    """Name the key of the last instant that a script has used."""
    return f"{schedule}:instant"


class ScriptTime:
    """The source of the time for the scripts of one server: the server, or the client if the server refuses TIME."""

    def __init__(self, client: redis.Redis, schedule: str) -> None:
        self._client, self._key = client, last_instant(schedule)
        self.in_scripts: bool | None = None  # None: no script was refused, so nobody has asked

    def is_refused(self, calls: Sequence[_Call]) -> bool:
        """Whether to repeat refused scripts with the time of the client. Each server words this refusal differently, so
        ask once for TIME itself. Raises the errors of redis-py.
        """
        if self.in_scripts is not None or not any(without_time(script) for script, _, _ in calls):
            return False
        self.in_scripts = scripts_may_call_time(self._client)
        return self.in_scripts is False

    def given(self, calls: Sequence[_Call]) -> Sequence[_Call]:
        """Pass the time to the scripts that need it, if `in_scripts` is False. Raises the errors of redis-py."""
        now: Any = self._client.time()
        micros = int(now[0]) * 1_000_000 + int(now[1])
        return [
            (script, keys, args)
            if (other := without_time(script)) is None
            else (other, (*keys, self._key), (*args, micros))
            for script, keys, args in calls
        ]


def may_call_time(client: redis.Redis) -> bool:
    """Ask whether this user may call TIME outside of scripts. Raises the errors of redis-py."""
    try:
        redis.Redis(connection_pool=client.connection_pool).time()
    except redis.exceptions.NoPermissionError:
        return False
    return True


def scripts_may_call_time(client: redis.Redis) -> bool | None:
    """Ask whether scripts of this user may call TIME; None if they may not run at all. Raises the errors
    of redis-py.
    """
    try:
        return bool(client.eval(_PROBE, 0))
    except redis.exceptions.ResponseError:
        return None
