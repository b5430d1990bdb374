"""The password of a server is on no surface: no repr, error, log, page, table, JSON or completion shows it."""

from __future__ import annotations

import asyncio
import contextlib
import inspect
import itertools
import json
import logging
import traceback
import urllib.error
import urllib.request
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import Any

import click
import pytest
import redis.sentinel

from tests.cli.conftest import Run
from tests.processes import Processes, until
from tests.servers import Server, free_port, program
from workkit import aio, schedule
from workkit.cli.tree import ENTRIES, tree

Sentinel: Any = redis.sentinel.Sentinel
PASSWORD, QUOTED = "Gh7$kQ/x", "Gh7%24kQ%2Fx"
WRONG = "nO7%2Bsuch"
HOW: dict[str, Any] = {"imports": ["tests.handlers"], "folder": None}

# What stands for each argument of a command. A new argument needs a row.
SAMPLES = {
    "duration": "1h",
    "schedule": "NAME", "schedules": "NAME", "when": "7pm tomorrow", "fn": "app:hi", "jobs": "shop.sold", "args": "",
    "which": "nightly", "source": "crontab", "what": "jobs.jsonl",
    "words": "nightly", "file": "jobs.jsonl", "plan": "plan.toml", "shell": "bash", "action": "verify",
    "text": "0 9 * * 1", "word": "add", "batch action": "show", "name": "nightly",
}  # fmt: skip


@pytest.fixture(scope="module")
def locked(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    """A server with a password."""
    options = ["--requirepass", PASSWORD]
    folder = tmp_path_factory.mktemp("locked")
    with contextlib.closing(
        Server(program("redis"), folder=folder, is_durable=False, options=options, password=PASSWORD)
    ) as server:
        server.start()
        yield server


@pytest.fixture(autouse=True)
def files(folder: Path) -> None:
    (folder / "app.py").write_text('def hi():\n    print("hi")\n\n\ndef fail():\n    raise OSError("disk full")\n')
    (folder / "jobs.jsonl").write_text('{"fn": "app:hi", "at": "2050-01-01"}\n{"fn": "app:hi", "at": "tomorow"}\n')
    (folder / "plan.toml").write_text('[nightly]\nfn = "app:hi"\nevery = "day at 9am"\n')


def good(server: Server) -> list[str]:
    """The ways to write the password of a server into its URL."""
    place = f"127.0.0.1:{server.port}/0"
    return [
        f"redis://:{QUOTED}@{place}",
        f"redis://default:{QUOTED}@{place}",
        f"redis://{place}?password={QUOTED}",
        f"redis://{place}?username=default&password={QUOTED}",
    ]


def bad(server: Server) -> list[str]:
    """URLs that lead nowhere, or are refused: by the server, or before."""
    shut = f"127.0.0.1:{free_port()}"
    return [
        f"redis://:{WRONG}@127.0.0.1:{server.port}/0",
        f"redis://127.0.0.1:{server.port}/0?password={WRONG}",
        f"redis://nobody:{QUOTED}@127.0.0.1:{server.port}/0",
        f"redis://:{QUOTED}@127.0.0.1:{server.port}/99",
        f"redis://:{QUOTED}@{shut}/0",
        f"rediss://:{QUOTED}@{shut}/0",
        f"redis+sentinel://u:{QUOTED}@{shut}/tasks?sentinel_password={WRONG}",
        f"redis+sentinel://{shut}/tasks?password={QUOTED}&sentinel_password={WRONG}",
        f"redis+cluster://:{QUOTED}@{shut}",
        f"redis+cluster://u:{QUOTED}@127.0.0.1:{server.port}",
        f"unix://u:{QUOTED}@/nowhere.sock?password={WRONG}",
        f"redis://u:{QUOTED}@127.0.0.1:{server.port}/0?colour=red",
        f"redis://u:{PASSWORD}@127.0.0.1:{server.port}/0",
        f"embedded://u:{QUOTED}@h",
        f"http://u:{QUOTED}@h",
        f"redis:u:{QUOTED}@h",
    ]


def client(server: Server) -> Any:
    return redis.Redis(port=server.port, password=PASSWORD)


def is_clean(text: str) -> bool:
    """Whether no password stands in a text, whole or in part, as it is or as URLs write it."""
    return not any(part in text for part in ("Gh7", "kQ", "nO7", "such@", "Bsuch"))


def words(command: click.Command, name: str) -> list[str]:
    """Fill the arguments of a command."""
    found = []
    for parameter in command.params:
        if isinstance(parameter, click.Argument):
            assert parameter.name in SAMPLES, f"{command.name} has an argument {parameter.name}: add a sample for it"
            found_at = f"{command.name} {parameter.name}"
            sample = SAMPLES.get(found_at, SAMPLES[parameter.name]).replace("NAME", name)
            if sample and parameter.name == "words":
                found.append(name)
            found += [sample] if sample else []
    return sorted(found, key=lambda word: command.name == "wire" and word != "verify")


def options(command: click.Command) -> set[str]:
    return {name for parameter in command.params if isinstance(parameter, click.Option) for name in parameter.opts}


def command_of(name: str) -> click.Command:
    command = tree.get_command(click.Context(tree), name)
    assert command is not None
    return command


ASKING = [name for name in ENTRIES if "--redis" in options(command_of(name))]
HURRIED = {
    "forward": ["--to", "other", "--burst"],
    "listen": ["--burst"],
    "retry": ["--all", "--yes"],
    "discard": ["--all", "--yes"],
    "web": ["--bind", "0.0.0.0:0"],  # which is refused without --users; else it serves until it is stopped
}


def line(name: str, schedule_name: str) -> list[str]:
    """A command line of a command, that ends by itself."""
    found = [name, *words(command_of(name), schedule_name), *HURRIED.get(name, [])]
    return [word for word in found if not (name in ("retry", "discard") and word == "nightly")]


def filled(server: Server, name: str) -> None:
    """Put a job of every state into a schedule."""
    s = schedule.create(name, redis=good(server)[0])
    schedule.add(s, "tests.handlers:note", every="day at 9am", name="nightly")
    schedule.add_now(s, "tests.handlers:fail")
    schedule.drain(s, raise_errors=False, **HOW)


def test_every_command_that_asks_a_server_is_tried() -> None:
    assert len(ASKING) > 15
    assert set(ENTRIES) - set(ASKING) <= {"demo", "help", "next", "explain", "completion", "schema", "import"}


@pytest.mark.parametrize("command", ASKING)
def test_no_command_shows_the_password_of_its_server(
    run: Run, locked: Server, name: str, command: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    filled(locked, name)
    ways = itertools.cycle([[], ["-v"], ["--json"]])
    for url, way, variable in zip(good(locked), ways, [None, "WORKKIT_REDIS_URL", "REDIS_URL", None], strict=False):
        with monkeypatch.context() as environment:
            if variable:
                environment.setenv(variable, url)
            way = [word for word in way if word in options(command_of(command))]
            ran = run(*line(command, name), *([] if variable else ["--redis", url]), *way)
        assert ran.status in (0, 1, 3) or command in ("add-many", "queues", "web"), ran.err
        assert is_clean(ran.out + ran.err), (url, ran.out, ran.err)


@pytest.mark.parametrize("command", ASKING)
def test_no_refusal_of_a_command_shows_a_password(run: Run, locked: Server, name: str, command: str) -> None:
    for number, url in enumerate(bad(locked)):
        ran = run(*line(command, name), "--redis", url, *(["-v"] if number % 2 else []))
        assert ran.status not in (0, 70), (url, ran.err)
        assert is_clean(ran.out + ran.err), (url, ran.out, ran.err)


@pytest.mark.parametrize("command", sorted({*ENTRIES} - {"demo"}))  # `demo` has a server of its own, and takes 12 s
def test_a_url_at_a_wrong_place_of_a_command_line_is_shown_without_its_password(
    run: Run, locked: Server, name: str, command: str
) -> None:
    url, plain = good(locked)[1], line(command, name)
    tried = [["--redis", url, command], [url, *plain], [command, url, *plain[1:], url], [command, *plain[2:], url]]
    tried += [
        [*plain, parameter.opts[-1], url, "-v"]
        for parameter in command_of(command).params
        if isinstance(parameter, click.Option) and not parameter.is_flag and "--redis" not in parameter.opts
    ]
    server = ["--redis", f"redis://127.0.0.1:{free_port()}/0"] if command in ASKING else []
    for one in tried:
        ran = run(*one, *server)
        if ran.status:
            assert is_clean(ran.out + ran.err), (one, ran.out, ran.err)


def test_completion_shows_no_password(
    run: Run, locked: Server, name: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    filled(locked, name)
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    monkeypatch.setenv("_WORKKIT_COMPLETE", "bash_complete")
    for command, url in itertools.product(ASKING, [good(locked)[0], bad(locked)[0]]):
        monkeypatch.setenv("WORKKIT_REDIS_URL", url)
        monkeypatch.setenv("COMP_WORDS", f"workkit {command} {name} ")
        monkeypatch.setenv("COMP_CWORD", "3")
        ran = run()
        assert is_clean(ran.out + ran.err)
    assert all(is_clean(file.read_text() + file.name) for file in (tmp_path / "cache").rglob("*.json"))


def raised(act: Callable[[], Any]) -> str:
    """All that can be shown of the error that an act raises; nothing where it raises none."""
    try:
        act()
    except Exception as error:
        known = [str(error), repr(error), repr(vars(error))]
        return "\n".join([*known, *traceback.TracebackException.from_exception(error).format()])
    return ""


def called(act: Callable[..., Any], *given: Any, **how: Any) -> Any:
    answer = act(*given, **how)
    return list(answer) if inspect.isgenerator(answer) else answer


def calls(s: schedule.Schedule) -> dict[str, Callable[[], Any]]:
    """A call of every verb."""
    more: dict[str, tuple[Any, ...]] = {
        "add": ("app:hi",), "add_now": ("app:hi",), "add_many": ([{"fn": "app:hi", "at": "now"}],), "cancel": ("x",),
        "job": ("x",), "reschedule": ("x",), "run": ("x",), "skip": ("x",),
        "snooze": ("x", "1h"),
        "sync": ({"x": {"fn": "app:hi", "every": "day at 9am"}},),
    }  # fmt: skip
    keywords = {"add": {"at": "7pm tomorrow"}, "listen": {"burst": True, **HOW}, "drain": HOW}
    found: dict[str, Callable[[], Any]] = {}
    for verb in set(schedule.__all__) - {"Schedule", "create", "listener"}:
        act = getattr(schedule, verb)

        found[verb] = partial(called, act, s, *more.get(verb, ()), **keywords.get(verb, {}))
    found["listener"] = lambda: schedule.listener(s, **HOW).start()
    found["aio"] = lambda: asyncio.run(aio.add_now(s, "app:hi"))
    return found


def test_no_verb_shows_a_password(locked: Server, name: str, caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.DEBUG)
    for url in bad(locked):
        text = raised(partial(schedule.create, name, redis=url))
        with contextlib.suppress(Exception):
            s = schedule.create(name, redis=url)
            text += f"{s!r} {s} {[s]}"
            for verb, act in calls(s).items():
                found = raised(act)
                assert found, (verb, url)
                text += found
        assert text
        assert is_clean(text), (url, text)
    assert is_clean(caplog.text)


def test_no_repr_shows_a_password(locked: Server, name: str) -> None:
    places = {"port": locked.port, "password": PASSWORD, "username": "default"}
    clients = [redis.Redis(**places), redis.Redis.from_url(good(locked)[0])]  # type: ignore[arg-type]
    sentinel = Sentinel([("h", 1)], sentinel_kwargs={"password": PASSWORD})
    clients.append(sentinel.master_for("tasks", password=PASSWORD))
    for server in [*good(locked), *clients, None]:
        s = schedule.create(name, redis=server)
        text = f"{s!r} {s} {[s]} {schedule.listener(s, **HOW)!r}"
        assert is_clean(text)
        assert name in repr(s)
        assert "\n" not in repr(s)
    assert ":***@127.0.0.1" in repr(schedule.create(name, redis=good(locked)[0]))


def test_a_listener_shows_no_password_in_its_pages_and_log(
    tmp_path: Path, name: str, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.DEBUG)
    port, options = free_port(), ["--requirepass", PASSWORD]
    with contextlib.closing(
        Server(program("redis"), folder=tmp_path, is_durable=False, options=options, password=PASSWORD)
    ) as server:
        server.start()
        s = schedule.create(name, redis=good(server)[1])

        def page() -> str:
            try:
                with urllib.request.urlopen(f"http://127.0.0.1:{port}/readyz", timeout=5) as answer:
                    return str(answer.read())
            except urllib.error.HTTPError as refused:
                return str(refused.read())

        with schedule.listener(s, health_port=port, deadline="1s", **HOW):
            texts = [page(), repr(schedule.listeners(s))]
            server.stop()
            until(lambda: "without redis://default:***@" in page(), what="the page to say so")
            texts.append(page())
            server.start()
            until(lambda: "without" not in page(), what="the server to be back")
    assert is_clean("\n".join(texts) + caplog.text)
    assert "lost: redis://default:***@127.0.0.1" in caplog.text


def test_workkit_listen_shows_no_password_in_its_lines(locked: Server, name: str, processes: Processes) -> None:
    filled(locked, name)
    for url, more in itertools.product(good(locked)[1:3], [(), ("--log", "json"), ("--processes", "2")]):
        how = ("--burst", "-v", "--import", "tests.handlers", *more)
        process = processes.workkit("listen", name, *how, "--redis", url)
        assert process.wait() == 0
        assert is_clean("\n".join(process.lines))
        assert process.lines
    for url in bad(locked)[:2]:
        process = processes.workkit("listen", name, "-v", "--processes", "2", "--redis", url)
        assert process.wait() == 69
        assert is_clean("\n".join(process.lines))


def test_the_json_of_the_doctor_and_the_listing_shows_no_password(run: Run, locked: Server, name: str) -> None:
    filled(locked, name)
    for command in ("doctor", "list", "listeners", "stats", "dead"):
        out = run(command, name, "--json", "--redis", good(locked)[0]).out
        json.loads(out)
        assert is_clean(out)
