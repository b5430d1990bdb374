"""Errors and warnings name keywords in Python, and on the command line what was typed: never the other way round."""

from __future__ import annotations

import ast
import re
from pathlib import Path
from typing import Any

import click
import pytest

import workkit
from tests.cli.conftest import Run
from tests.servers import Server
from workkit import errors, schedule
from workkit.cli.options import OFFERED, flag
from workkit.cli.spelling import in_flags
from workkit.cli.tree import ENTRIES, tree
from workkit.jobs.options import ADD, LISTEN, OPTIONS

ROOT = Path(workkit.__file__).parent
RECURRING = 'every="day at 9am"'
# Values that an option refuses, as Python and as the command line give them. A new option needs a row.
BAD: dict[str, tuple[list[Any], list[str]]] = {
    "tz": (["Europe/Pariss", 5], ["Europe/Pariss"]),
    "name": (["", 5, "a*", "x" * 300, " a"], ["", "a*", "x" * 300, " a"]),
    "unique_key": (["", 5, "a\nb", "x" * 600], ["", "a\nb", "x" * 600]),
    "unique_until": (["dne", 5], ["dne"]),
    "once_key": (["", 5, "a\nb", "x" * 600], ["", "a\nb", "x" * 600]),
    "once_for": (["soon", 5, "0s", "500 days"], ["soon", "5", "0s", "500 days"]),
    "on_conflict": (["kep", 5], ["kep"]),
    "unique": ([5], []),
    "throttle": (["soon", 5, "0s", "5 mintues"], ["soon", "5", "0s", "5 mintues"]),
    "debounce": (["soon", 5, "0s"], ["soon", "5", "0s"]),
    "debounce_most": (["soon", 5, "0s"], ["soon", "5", "0s"]),
    "priority": ([9, "high"], ["9"]),
    "start": (["tomorow", 5], ["tomorow"]),
    "end": (["tomorow", 5], ["tomorow", "2014-01-01"]),
    "count": ([0, "many"], ["0"]),
    "overlap": (["skp", 5], ["skp"]),
    "catch_up": (["al", 5], ["al"]),
    "catch_up_within": (["soon", 5], ["soon", "5"]),
    "spread": (["soon", 5, "1ms"], ["soon", "5"]),
    "retries": ([-1, "many"], ["-1"]),
    "crashes": ([-1, "many"], ["-1"]),
    "late": (["al", 5], ["al"]),
    "backoff": (["fast", 5], ["fast"]),
    "base": (["soon", 5, "500 days"], ["soon", "5", "500 days"]),
    "cap": (["soon", 5, "500 days"], ["soon", "5", "500 days"]),
    "jitter": ([5], []),
    "timeout": (["soon", 5, "0s"], ["soon", "5", "0s"]),
    "ping": (["ftp://monitor/x", 5, "soon", ""], ["ftp://monitor/x", "soon", ""]),
    "expires": (["soon", 5, "0s", "500 days"], ["soon", "5", "0s", "500 days"]),
    "done_by": (["tomorow", 5, "5 minutes", "2014-01-01"], ["tomorow", "5 minutes", "2014-01-01"]),
    "within": (["soon", 5, "0s", "500 days"], ["soon", "5", "0s", "500 days"]),
    "meta": (["soon", 5, {"a": 1}, {"": "x"}, {"a": "x" * 1000}], ["soon", "=x", "a=" + "x" * 1000]),
    "tags": (
        ["user:7", 5, [""], [7], ["a*"], [" a"], ["é" * 33], ["a\nb"], [str(n) for n in range(9)]],
        ["", "a*", " a", "é" * 33, "a\nb"],
    ),
    "after": ([5, "", [], [5]], [""]),
    "on_death": (["stop", 5], ["stop"]),
    "keep": (["soon", 5, "0s", "500 days"], ["soon", "5", "0s", "500 days"]),
    "keep_most": (["much", 0, 1.5, "65 MB"], ["much", "0", "65 MB"]),
}
PAIRS: list[dict[str, Any]] = [
    {"unique": False, "name": "n"},
    {"unique": False, "unique_key": "k"},
    {"on_conflict": "replace"},
    {"unique_until": "started"},
    {"throttle": "1m", "debounce": "1m"},
    {"done_by": "6am", "within": "1m"},
    {"done_by": "6am", "debounce": "1m"},
    {"debounce": "1m"},
    {"debounce_most": "1m"},
    {"debounce": "1m", "debounce_most": "1s"},
    {"once_for": "1m"},
    {"once_key": "k"},
    {"on_death": "run"},
]
KEYWORDS = {option.name for option in OPTIONS} | {"at", "in_", "every", "cron", "when", "fn", "args", "kwargs", "redis"}
KEYWORD = re.compile(rf"(?<![\w.'\"/?&-])({'|'.join(KEYWORDS)})=")
FLAG = re.compile(r"(?<![\w-])--[a-z]")


@pytest.fixture(autouse=True)
def app(folder: Path) -> None:
    (folder / "app.py").write_text("def hi():\n    pass\n")


@pytest.fixture
def s(server: Server, name: str) -> schedule.Schedule:
    return schedule.create(name, redis=server.url)


def test_every_option_of_add_has_values_that_it_refuses() -> None:
    assert set(BAD) == {option.name for option in OPTIONS if ADD in option.places}


@pytest.mark.parametrize("option", BAD)
def test_python_names_an_option_by_its_keyword(option: str, s: schedule.Schedule) -> None:
    for value in BAD[option][0]:
        for time in ({"every": "day at 9am"}, {"at": "7pm tomorrow"}):
            with pytest.raises(errors.Invalid) as caught:
                schedule.add(s, "app:hi", **time, **{option: value})  # type: ignore[arg-type]
            assert KEYWORD.search(str(caught.value)), caught.value
            assert not FLAG.search(str(caught.value))
            if time == {"every": "day at 9am"} and option not in ("start", "end"):
                assert caught.value.where == option


def flags(options: dict[str, Any]) -> list[str]:
    by_name = {option.name: option for option in OFFERED}
    found = []
    for name, value in options.items():
        found += [flag(by_name[name])] if value is False else [flag(by_name[name]), str(value)]
    return found


@pytest.mark.parametrize("option", [option for option in BAD if BAD[option][1]])
def test_the_command_line_names_an_option_by_its_flag(run: Run, server: Server, name: str, option: str) -> None:
    named = "--tz" if option == "tz" else flag(next(one for one in OFFERED if one.name == option))
    for value in BAD[option][1]:
        for words in (["add", name, "every day at 9am", "app:hi"], ["add", name, "7pm tomorrow", "app:hi"]):
            ran = run(*words, named, value, "--redis", server.url)
            first = ran.err.splitlines()[0]
            assert ran.status == 2, ran.err
            assert named in first
            assert not KEYWORD.search(first), first


@pytest.mark.parametrize("options", PAIRS, ids=str)
def test_options_that_exclude_each_other_are_named_alike(
    run: Run, server: Server, name: str, options: dict[str, Any], s: schedule.Schedule
) -> None:
    with pytest.raises(errors.InvalidOptions) as caught:
        schedule.add(s, "app:hi", at="7pm tomorrow", **options)
    assert not FLAG.search(str(caught.value))
    ran = run("add", name, "7pm tomorrow", "app:hi", *flags(options), "--redis", server.url)
    assert ran.status == 2
    assert not KEYWORD.search(ran.err), ran.err
    assert all(word in ran.err for word in flags(options) if word.startswith("--"))


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("now", "t", "app:hi", "--unique-key", "a\x01"), "--unique-key 'a\\x01' has a control character (column 2)."),
        (("add", "t", "7pm tomorrow", "app:hi", "--count", "3"), 'can have it. Give "every ...".'),
        (("add", "t", "7pm tomorrow", "app:hi", "--debounce", "1m"), 'Write "now", or use workkit now.'),
        (("add", "t", "5 minutes", "app:hi"), '"5 minutes" may mean once or again and again. Write "in 5 minutes"'),
        (("add", "t", "2014-01-01 9am", "app:hi"), "workkit now"),
        (("add", "t", "* * * 1-5 9 0 0", "app:hi", "--tz", "Europe/Paris"), 'always UTC. Say "every weekday at 9am"'),
        (("now", "t", "app:hi", "--once-key", "k", "--once-for", "1m", "--unique-key", "u"), "'k' with --unique-key: "),
        (("add", "t", "daily at 9am", "app:hi", "--once-key", "k", "--once-for", "1m"), "'k' with a job that"),
        (("now", "t", "app:hi", "--tag", "a", "--tag", "b*"), "--tag 'b*' has a * (column 2). Write it without."),
        (("listen", "t", "--deadline", "soon"), '--deadline "soon"'),
        (("next", "0 0 9 * * *"), 'error: "0 0 9 * * *" has six fields'),
        (("explain", "* * * 1-5 25 0 0"), 'error: "* * * 1-5 25 0 0": 25 (field 5, hour) is out of range.'),
        (("next", "2014-01-01 9am"), "or use workkit now."),
        (("listen", "t", "--health-port", "x"), "--health-port 'x' is not a port."),
        (("listen", "t", "--import", "no_such.py"), "--import no_such.py: no such module."),
        (("listen", "t", "--import", "no_such.py"), "For a file write --import no_such."),
        (("listen", "t", "--name", "web:1"), "--name 'web:1' has a : (column 4)."),
        (("listen", "t", "--name", "web 1"), "--name 'web 1' has a blank (column 4)."),
        (("pause", "t", "--until", "tomorow"), '--until "tomorow"'),
        (("retry", "t", "--all", "--rate", "fast"), "--rate 'fast' is not a rate."),
        (("doctor", "t", "--older-than", "30"), '--older-than "30" has no unit.'),
        (("list", "t", "--tz", "Europe/Pariss"), '--tz "Europe/Pariss" is not a zone.'),
        (("list", "t", "--redis", "http://h"), "--redis 'http://h' is not a URL of a server."),
        (("list", "t", "--redis", "redis://127.0.0.1:1/0"), "name another with --redis URL, or use a private one: "),
        (("list", "redis://h"), 'Write a name such as "app-tasks", and --redis "redis://h".'),
    ],
)  # fmt: skip
def test_a_command_says_what_was_typed(
    run: Run, server: Server, monkeypatch: pytest.MonkeyPatch, words: tuple[str, ...], said: str
) -> None:
    monkeypatch.setenv("WORKKIT_REDIS_URL", server.url)
    ran = run(*words)
    assert ran.status in (2, 69)
    assert said in ran.err
    assert not KEYWORD.search(ran.err), ran.err


@pytest.mark.parametrize(
    "how",
    [
        {"deadline": "soon"},
        {"listener_name": "a b"},
        {"health_port": "x"},
        {"threads": 0},
        {"coroutines": 0},
        {"imports": ["no_such.py"]},
    ],
)
def test_listening_in_python_names_keywords(server: Server, name: str, how: dict[str, Any]) -> None:
    with pytest.raises(errors.Invalid) as caught:
        schedule.listener(schedule.create(name, redis=server.url), **how).start()
    assert str(caught.value).startswith(f"{next(iter(how))}=")
    assert caught.value.where == next(iter(how))
    assert not FLAG.search(str(caught.value))


def test_the_rows_of_a_file_are_named_as_they_are_written(run: Run, server: Server, folder: Path) -> None:
    (folder / "jobs.jsonl").write_text('{"fn": "app:hi", "at": "now", "unique_key": ""}\n')
    ran = run("add-many", "t", "jobs.jsonl", "--redis", server.url)
    assert "row 1 of jobs.jsonl: unique_key='' is empty." in ran.err


def test_a_text_that_was_given_is_left_as_it_is() -> None:
    command = tree.get_command(click.Context(tree), "add")
    assert (
        in_flags('"at=5 name=x": "name=x" is not understood.', command) == '"at=5 name=x": "name=x" is not understood.'
    )
    assert in_flags("redis='redis://h?name=x' is wrong.", command) == "--redis 'redis://h?name=x' is wrong."


def test_an_option_of_no_command_keeps_its_keyword() -> None:
    for name in ENTRIES:
        command = tree.get_command(click.Context(tree), name)
        assert in_flags("nobody=5 takes this.", command) == "nobody=5 takes this."


def texts() -> list[tuple[str, str]]:
    """Every text in the package outside of the command line, with its file."""
    found = []
    for file in sorted(ROOT.rglob("*.py")):
        if file.is_relative_to(ROOT / "cli"):
            continue
        tree_of = ast.parse(file.read_text(encoding="utf-8"))
        docs = {id(node.body[0].value) for node in ast.walk(tree_of) if _has_docstring(node)}  # type: ignore[attr-defined]
        found += [
            (str(file.relative_to(ROOT)), node.value)
            for node in ast.walk(tree_of)
            if isinstance(node, ast.Constant) and isinstance(node.value, str) and id(node) not in docs
        ]
    return found


def _has_docstring(node: ast.AST) -> bool:
    kinds = (ast.Module, ast.ClassDef, ast.FunctionDef, ast.AsyncFunctionDef)
    return isinstance(node, kinds) and bool(node.body) and isinstance(node.body[0], ast.Expr)


def test_no_sentence_of_the_library_names_a_flag_but_in_a_whole_command_line() -> None:
    """Programs that are started, and commands that are quoted whole, have flags."""
    started = {"brokers/embedded/program.py", "brokers/embedded/attachment.py"}
    composed = {  # they write whole command lines, part by part; the last two are help
        "asgi/pages.py", "contract/doctor.py", "web/pages/policies.py", "django/management/commands/workkit.py",
        "worker/publisher.py", "brokers/hutch/layout.py",
    }  # fmt: skip
    allowed = {
        " --fn ",
        " --fix",
        " --dialect ",
        "pip install --upgrade",
        " --threads",
        " --tag ",
        "--if-empty --if-unused",
    }
    allowed |= {"systemctl --user"}
    for file, text in texts():
        if (
            file not in composed
            and FLAG.search(text)
            and "workkit " not in text
            and not any(one in text for one in allowed)
        ):
            assert file in started, (file, text)
            assert " " not in text, (file, text)


def test_every_option_of_a_listener_is_spelled() -> None:
    command = tree.get_command(click.Context(tree), "listen")
    spelled = {"imports", "deadline", "health_port", "threads", "strict", "burst"}
    for option in OPTIONS:
        if LISTEN in option.places and option.name in spelled:
            assert in_flags(f"{option.name}='x' is wrong.", command).startswith("--")
