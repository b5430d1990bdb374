"""What can be read from the text of a script: which keys and arguments it uses, and which keys it writes to."""

from __future__ import annotations

import re
from collections.abc import Iterator, Set
from dataclasses import dataclass
from pathlib import Path

from workkit.brokers.redis_server.script import Script, local_name

BROKERS = Path(__file__).parents[2] / "workkit" / "brokers"
FOLDER = BROKERS / "native" / "lua"
SHARED = BROKERS / "redis_server" / "lua"
WRITING = frozenset({"HINCRBY", "HSET", "HSETNX", "LPUSH", "SADD", "SET", "XADD", "ZADD"})
REMOVING = frozenset({"DEL", "EXPIRE", "HDEL", "SREM", "XDEL", "ZREM", "ZREMRANGEBYRANK", "ZREMRANGEBYSCORE"})
_FUNCTION = re.compile(r"^local function (\w+)\((.*?)\)(.*)$")
_CALL = re.compile(rf"redis\.p?call\('({'|'.join(sorted(WRITING | REMOVING))})', ")
_EACH = re.compile(r"for _, (\w+) in ipairs\(([^\n]*)\) do")
_LISTED = re.compile(r"local (\w+) = KEYS\[(\w+)_at\b")
_COMMENT = re.compile(r"--.*$", re.MULTILINE)
_NAME = re.compile(r"[A-Za-z_]\w*")


def source(verb: str, *, folder: Path = FOLDER) -> str:
    """A script, or a part, as it is written."""
    own = folder / f"{verb}.lua"
    return (own if own.is_file() else SHARED / f"{verb}.lua").read_text(encoding="utf-8")


def code(text: str) -> str:
    """A text without its comments, and without the locals of keys and arguments."""
    lines = _COMMENT.sub("", text).splitlines()
    return "\n".join(
        line for line in lines if not re.match(r"local .*(?:= (?:\{ (?:\[\d+\] = )?)?(?:KEYS|ARGV)\[)", line)
    )


@dataclass(frozen=True, slots=True)
class _Function:
    """One function of a script, or (without a name) what stands outside of them."""

    name: str
    parameters: tuple[str, ...]
    body: str


def changed(script: Script, commands: Set[str]) -> set[str]:
    """The keys that a script changes by one of these commands: through parameters and loops over keys too."""
    functions = {function.name: function for function in _functions(code(script.text))}
    locals_ = {local_name(key.name): key.name for key in script.declared}
    found: set[str] = set()
    seen: set[tuple[str, tuple[tuple[str, frozenset[str]], ...]]] = set()
    todo: list[tuple[str, dict[str, frozenset[str]]]] = [("", {})]
    while todo:
        name, given = todo.pop()
        if (name, tuple(sorted(given.items()))) in seen:
            continue
        seen.add((name, tuple(sorted(given.items()))))
        here = {local: frozenset([key]) for local, key in locals_.items()} | given
        body = functions[name].body
        for variable, among in _EACH.findall(body):
            if keys := frozenset().union(*(here.get(word, frozenset()) for word in _NAME.findall(among))):
                here[variable] = keys
        for variable, keys_of in _LISTED.findall(body):
            here[variable] = here.get(variable, frozenset()) | here.get(keys_of, frozenset())
        for command in _CALL.finditer(body):
            if command[1] not in commands:
                continue
            arguments = list(_arguments(body, command.end()))
            for argument in arguments if command[1] == "DEL" else arguments[:1]:
                if word := _NAME.match(argument):
                    found |= here.get(word[0], frozenset())
                if listed := re.match(r"KEYS\[(\w+)_at", argument):
                    found.add(listed[1])
        for other in functions.values():
            for call in re.finditer(rf"(?<![\w.]){other.name}\(", body) if other.name else ():
                arguments = list(_arguments(body, call.end()))
                pairs = zip(other.parameters, arguments, strict=False)
                todo.append((other.name, {p: here.get(a, frozenset()) for p, a in pairs}))
    return found


def _functions(text: str) -> Iterator[_Function]:
    name, parameters = "", ()
    body: list[str] = []
    outside: list[str] = []
    for line in text.splitlines():
        if begun := _FUNCTION.match(line):
            name, parameters, body = begun[1], tuple(begun[2].replace(" ", "").split(",")), [begun[3]]
            if begun[3].rstrip().endswith("end"):
                yield _Function(name, parameters, "\n".join(body))
                name = ""
        elif name and line == "end":
            yield _Function(name, parameters, "\n".join(body))
            name = ""
        else:
            (body if name else outside).append(line)
    yield _Function("", (), "\n".join(outside))


def _arguments(text: str, start: int) -> Iterator[str]:
    """The arguments of a call, from behind its opening bracket."""
    depth, began = 1, start
    for at in range(start, len(text)):
        depth += (text[at] in "({[") - (text[at] in ")}]")
        if depth == 0 or (depth == 1 and text[at] == ","):
            yield text[began:at].strip()
            began = at + 1
        if depth == 0:
            return
