"""The remedies that `doctor` prints, of each layout: each once, counted, and ready for a shell."""

from __future__ import annotations

import json
import os
import shlex
import subprocess
from collections.abc import Callable, Iterator
from contextlib import closing
from dataclasses import dataclass
from typing import Any

import pytest

from tests import rabbit
from tests.brokers.gocraft.doctor.checkups import text
from tests.cli.conftest import Run
from tests.cli.test_doctor import on_terminal, orphans
from tests.servers import Server
from workkit.brokers.connect import open_broker
from workkit.brokers.gocraft.keys import Keys as NamespaceKeys
from workkit.brokers.hutch.beside.keys import Keys as BesideKeys
from workkit.brokers.hutch.names import Names
from workkit.brokers.hutch.topology import dead, work
from workkit.contract.doctor import CommandLine
from workkit.contract.listener import ListenerInfo
from workkit.text.cells import id_word, shell_word

MANY = 500
HOSTILE = (
    "it's",
    "$(id)",
    "a;b",
    "{a}",
    '"',
    "a\\b",
    "*",
    "-x",
    "--fix",
    "é",
    "a'\\x1b",
    "ünï`id`",
    "~",
    "#a",
)


@dataclass(frozen=True, kw_only=True)
class Ward:
    """A schedule of one layout. `make` makes so many findings of one kind; `mix` makes some of two other kinds, with
    the same remedy.
    """

    name: str
    words: tuple[str, ...]
    kind: str
    make: Callable[[int], Any]
    mix: Callable[[], Any]

    @property
    def flags(self) -> str:
        """The words as the doctor prints them, without passwords."""
        return " ".join(shlex.quote(word.replace("guest:guest", "guest:***")) for word in self.words)


@pytest.fixture(autouse=True)
def _soon(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let the second looks follow at once: nothing moves here."""
    monkeypatch.setattr("workkit.brokers.native.look.published.MOMENT", 0.01)
    monkeypatch.setattr("workkit.brokers.hutch.doctor.PAUSE_MS", 0)
    monkeypatch.setattr("workkit.brokers.gocraft.doctor.DEAD_MS", 0)
    monkeypatch.setattr("workkit.brokers.redis_server.doctor.Host._persistence", lambda self: iter(()))


def listening(server: Server, name: str) -> Any:
    """A listener that is there: without one, jobs that wait are a finding."""
    broker: Any = open_broker(name, redis=server.url)
    broker.register(ListenerInfo(listener="", host="h", pid=1, version="0.1.0", schedules={name: 1}, threads=1))
    return broker


@pytest.fixture
def native(server: Server, name: str) -> Iterator[Ward]:
    client: Any = server.client()

    def mix() -> None:
        client.zadd(f"{name}:slots", {"k\0gone@5": 0})
        client.set(f"{name}:result:x", b"")

    with closing(listening(server, name)):
        yield Ward(
            name=name,
            words=("--redis", server.url),
            kind="no-item",
            make=lambda count: orphans(server, name, count),
            mix=mix,
        )


@pytest.fixture
def gocraft(server: Server, name: str) -> Ward:
    client, keys = server.client(), NamespaceKeys(name)

    def make(count: int) -> None:
        client.sadd(keys.known_jobs, "mail")
        client.zadd(keys.scheduled, {b"%d{" % n: 4e9 for n in range(count)})

    def mix() -> None:
        client.set(keys.lock("mail"), 7)
        client.hset(keys.crashes, "a", "1")

    return Ward(name=name, words=("--redis", server.url, "--layout", "gocraft"), kind="unreadable", make=make, mix=mix)


@pytest.fixture
def hutch(server: Server, name: str, amqp: str, management: str) -> Iterator[Ward]:
    client, keys, names = server.client(), BesideKeys("/", name), Names(exchange=name, dialect="hutch")
    gone = "gone:1:0123456789ab"

    def make(count: int) -> None:
        client.hset(keys.counted, mapping={f"{gone}/{n}": "1" for n in range(count)})
        client.expire(keys.counted, 1000)

    def mix() -> None:
        client.zadd(keys.slots, {f"ns fn:note\0{gone}/1": 0})
        client.hset(keys.begun, "q\0m", f"{gone}/2")

    with rabbit.connected(amqp) as channel:
        topology = work(names, ["note"]) + dead(names)
        for exchange in topology.exchanges:
            channel.exchange_declare(exchange.name, "topic", durable=True)
        for queue in topology.queues:
            channel.queue_declare(queue.name, durable=True, arguments=dict(queue.arguments))
        for one in topology.bindings:
            channel.queue_bind(one.destination, one.source, one.key)
        yield Ward(
            name=name,
            words=("--redis", server.url, "--layout", "hutch", "--amqp", amqp, "--management", management),
            kind="counted",
            make=make,
            mix=mix,
        )
    rabbit.forget(amqp, names, names.queue("note"))


@pytest.fixture(params=["native", "gocraft", "hutch"])
def ward(request: pytest.FixtureRequest, server: Server) -> Ward:
    found: Ward = request.getfixturevalue(request.param)
    return found


def doctor(run: Run, ward: Ward, *more: str) -> list[str]:
    ran = run("doctor", ward.name, *ward.words, "--older-than", "0s", *more)
    assert ran.status == 1, ran.err
    return ran.out.partition("\n\n")[2].splitlines()


def remedies(lines: list[str]) -> list[str]:
    return [line.removeprefix("    > ") for line in lines if line.startswith("    > ")]


def pasted(command: str) -> list[str]:
    """The words that a shell makes of a command."""
    found = subprocess.run(["bash", "-c", f"printf '%s\\0' {command}"], capture_output=True, check=True)
    return [os.fsdecode(word) for word in found.stdout.split(b"\0")[:-1]]


@pytest.mark.parametrize("count", [1, 2, MANY])
def test_a_remedy_is_printed_once_however_many_findings_it_has(run: Run, ward: Ward, count: int) -> None:
    ward.make(count)
    lines, again = doctor(run, ward), f"workkit doctor {ward.name} {ward.flags} --older-than 0s"
    assert lines[0] == f"{ward.name}: {count} finding{'' if count == 1 else 's'}"
    assert len([line for line in lines if line.startswith(f"  {ward.kind}  ")]) == min(count, 10)
    counted = [line for line in lines if " more of this kind" in line]
    assert counted == ([f"    and {count - 10} more of this kind; {again} --all shows them"] if count > 10 else [])
    assert remedies(lines) == [f"{again} --fix"]


def test_all_shows_each_of_them_and_the_remedy_once(run: Run, ward: Ward) -> None:
    ward.make(MANY)
    lines = doctor(run, ward, "--all")
    assert len([line for line in lines if line.startswith(f"  {ward.kind}  ")]) == MANY
    assert not [line for line in lines if "more of this kind" in line]
    assert len(remedies(lines)) == 1


def test_a_remedy_of_several_kinds_is_printed_once_with_its_count(run: Run, ward: Ward) -> None:
    ward.make(12)
    ward.mix()
    lines = doctor(run, ward)
    assert remedies(lines) == [f"workkit doctor {ward.name} {ward.flags} --older-than 0s --fix"]
    kinds = list(dict.fromkeys(line.split()[0] for line in lines if line[:2] == "  " and line[2] not in " O"))
    assert len(kinds) == 3
    assert lines[-2] == f"  One remedy for 14 findings ({', '.join(kinds)}):"
    assert lines[-1].startswith("    > ")


def test_the_printed_command_repairs_all_that_was_found(run: Run, ward: Ward) -> None:
    ward.make(12)
    ward.mix()
    (command,) = remedies(doctor(run, ward))
    program, *words = pasted(command.replace("***", "guest"))
    assert program == "workkit"
    ran = run(*words, "--yes")
    assert (ran.status, ran.err.splitlines()[-1]) == (0, "repaired 14 of 14; all is well now.")


def test_json_has_a_line_and_a_remedy_for_each(run: Run, ward: Ward) -> None:
    ward.make(MANY)
    found = json.loads(run("doctor", ward.name, *ward.words, "--older-than", "0s", "--json").out)
    assert len(found) == MANY
    assert {one["remedy"] for one in found} == {f"workkit doctor {ward.name} {ward.flags} --fix"}


def test_more_than_a_checkup_lists_are_counted(run: Run, native: Ward) -> None:
    native.make(1200)
    lines = doctor(run, native)
    assert lines[0] == f"{native.name}: 1,200 findings"
    assert [line for line in lines if line.startswith("    and 1,190 more of this kind; ")]


def test_remedies_that_one_kind_has_stay_with_it(run: Run, native: Ward, server: Server) -> None:
    native.make(2)
    server.client().zadd(f"{native.name}:dead", {"x@5": 5})
    lines = doctor(run, native)
    assert remedies(lines) == [
        f"workkit doctor {native.name} {native.flags} --older-than 0s --fix",
        f"workkit dead {native.name} {native.flags}",
    ]


@pytest.mark.parametrize("own_server", ["redis"], indirect=True)
def test_a_command_about_the_server_names_it_too(run: Run, own_server: Server, name: str) -> None:
    orphans(own_server, name, 1)
    client: Any = own_server.client()
    client.config_set("maxmemory-policy", "noeviction")
    client.config_set("maxmemory", int(client.info("memory")["used_memory"] * 1.05))
    out = run("doctor", name, "--redis", own_server.url).out
    assert f"why jobs pile up: workkit stats {name} --redis {own_server.url}\n" in out


@pytest.mark.parametrize("name", HOSTILE)
def test_a_hostile_name_of_a_schedule_is_quoted(run: Run, server: Server, name: str) -> None:
    orphans(server, name, 1)
    with closing(listening(server, name)):
        ran = run("doctor", "--redis", server.url, "--", name)
        (command,) = remedies(ran.out.splitlines())
        program, *words = pasted(command)
        assert (program, words[-1] if name.startswith("-") else words[1]) == ("workkit", name)
        at = words.index("--fix") if name != "--fix" else words.index("--")
        ran = run(*words[:at], "--yes", *words[at:])
        assert (ran.status, ran.err) == (0, "repaired 1 of 1; all is well now.\n")


@pytest.mark.parametrize("fn", HOSTILE)
def test_a_hostile_name_of_a_function_is_quoted(run: Run, server: Server, name: str, fn: str) -> None:
    client, keys = server.client(), NamespaceKeys(name)
    client.sadd(keys.known_jobs, fn)
    client.lpush(keys.queue(fn), text(name=fn))
    client.set(keys.paused(fn), 1)
    lines = run("doctor", name, "--layout", "gocraft", "--redis", server.url).out.splitlines()
    (command,) = (one for one in remedies(lines) if " resume " in one)
    program, *words = pasted(command)
    assert (program, words[-2:]) == ("workkit", ["--fn", fn])
    assert run(*words).status == 0
    assert not client.exists(keys.paused(fn))


@pytest.mark.parametrize("id", [*HOSTILE, "a\x1b[2J\nb", "x" * 100])
def test_a_hostile_id_is_quoted(run: Run, server: Server, name: str, id: str) -> None:
    data = b'{"job":"#\'app/hi","args":[],"cron":"nope"}'
    server.client().hset(f"{name}:jobs", os.fsencode(id), data)
    lines = run("doctor", name, "--redis", server.url).out.splitlines()
    (command,) = (one for one in remedies(lines) if " show " in one)
    words = pasted(command.partition("; if nobody")[0])
    named, found = [name, id[:60]], ["--redis", server.url]
    assert words == ["workkit", "show", *([*found, "--", *named] if id.startswith("-") else [*named, *found])]


@pytest.mark.parametrize("key", ["it's", "a b", "$(x)", "\udcff"])
def test_a_hostile_key_of_another_program_is_quoted(run: Run, server: Server, name: str, key: str) -> None:
    wrong = os.fsencode(f"{name}:jobs:{key}:lock")
    server.client().lpush(wrong, "x")
    lines = run("doctor", name, "--layout", "gocraft", "--redis", server.url).out.splitlines()
    (command,) = (one for one in remedies(lines) if " RENAME " in one)
    words = pasted(command.partition(": ")[2])
    assert words == ["redis-cli", "RENAME", os.fsdecode(wrong), os.fsdecode(wrong + b":wrong")]


@pytest.mark.parametrize("columns", [48, 60, 72])
def test_a_narrow_terminal_breaks_a_command_so_that_a_shell_reads_it(native: Ward, columns: int) -> None:
    native.make(1)
    status, shown = on_terminal("doctor", native.name, *native.words, "--older-than", "1 second", columns=columns)
    assert status == 1
    lines = shown.partition(f"{native.name}: ")[2].splitlines()
    assert max(map(len, lines)) <= columns
    first = next(n for n, line in enumerate(lines) if line.startswith("    > workkit doctor"))
    last = next(n for n in range(first, len(lines)) if not lines[n].endswith("\\"))
    command = "\n".join(lines[first : last + 1])  # a slow machine may show what is late, too
    assert " \\\n" in command
    assert pasted(command.removeprefix("    > ")) == [
        "workkit", "doctor", native.name, *native.words, "--older-than", "1 second", "--fix",
    ]  # fmt: skip


def test_a_narrow_terminal_gives_a_command_among_words_lines_of_its_own(native: Ward, server: Server) -> None:
    data = b'{"job":"#\'app/hi","args":[],"cron":"nope"}'
    server.client().hset(f"{native.name}:jobs", "a b", data)
    status, shown = on_terminal("doctor", native.name, *native.words, columns=60)
    assert status == 1
    lines = shown.partition(f"{native.name}: ")[2].splitlines()
    assert max(map(len, lines)) <= 60
    at = next(n for n, line in enumerate(lines) if line.startswith("    > "))
    command, _, words = "\n".join(lines[at:]).partition("\n      ; ")
    assert pasted(command.removeprefix("    > ")) == ["workkit", "show", native.name, "a b", *native.words]
    assert words == "if nobody should run it: workkit cancel"


def test_a_flag_that_a_remedy_gives_itself_is_not_repeated() -> None:
    command = CommandLine(verb="doctor", schedule="s", options=(("fix", None), ("namespace", "NAME")))
    assert command.typed(["--layout hutch", "--namespace billing"]) == (
        "workkit doctor s --layout hutch --fix --namespace NAME"
    )


@pytest.mark.parametrize("word", [*HOSTILE, "", "a b", "\x07", "\u202e", "\udcfe\udcff", "a\n", "\x1bf"])
def test_a_shell_reads_a_word_as_it_was(word: str) -> None:
    assert pasted(shell_word(word)) == [word]
    assert shell_word(word).isprintable()


def test_an_id_of_ours_is_named_by_its_beginning() -> None:
    assert id_word(b"0123456789" * 4) == "01234567"
