"""`--help` and `workkit help`: each page fits a screen, and every option is explained on one of them."""

from __future__ import annotations

import re
import shlex
from datetime import UTC, datetime

import click
import pytest

from tests.cli.conftest import Run
from tests.rows import every_row
from workkit import triggers
from workkit.cli.command import Command
from workkit.cli.commands.help import PAGES, topic_page
from workkit.cli.tree import ENTRIES, GROUPS, RARE, TOPICS, draw, tree

LINES = 40


def command(name: str) -> Command:
    found = tree.get_command(click.Context(tree), name)
    assert isinstance(found, Command)
    return found


def page(name: str, width: int = 80) -> str:
    import os

    os.environ["COLUMNS"] = str(width)
    return command(name).get_help(click.Context(command(name), info_name=name, parent=click.Context(tree)))


@pytest.fixture(autouse=True)
def columns(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "80")


@every_row("name", ENTRIES)
def test_every_page_fits_a_screen_and_has_an_example(name: str) -> None:
    lines = page(name).splitlines()
    assert len(lines) <= LINES, f"{len(lines)} lines"
    assert any(line.strip() in command(name).examples for line in lines)


@every_row("name", TOPICS)
def test_every_topic_fits_a_screen_and_has_an_example(name: str) -> None:
    lines = topic_page(name, 80).splitlines()
    assert len(lines) <= LINES, f"{len(lines)} lines"
    assert all(len(line) <= 80 for line in lines)
    assert all(f"  {example}" in lines for example in PAGES[name].examples)
    assert PAGES[name].examples


def test_the_tree_fits_a_screen_with_rare_commands_behind_the_others() -> None:
    lines = draw(80).splitlines()
    assert len(lines) <= LINES
    assert {"wire", "schema", "queues", "forward", "mark"} <= GROUPS[RARE].keys()
    place = next(n for n, line in enumerate(lines) if line.startswith(f"{RARE}:"))
    assert all(any(name in line for line in lines[place:]) for name in GROUPS[RARE])
    assert any(all(topic in line for topic in TOPICS) for line in lines[place:])


def explained_on(text: str) -> set[str]:
    """Find the options that have a line of their own."""
    names = re.findall(r"^  (--?[\w-]+(?:, --[\w-]+)?)", text, re.MULTILINE)
    return {name for both in names for name in both.split(", ")}


@every_row("name", ENTRIES)
def test_every_option_is_explained_on_the_page_or_on_the_topic_that_it_names(name: str) -> None:
    text = page(name)
    elsewhere = dict(re.findall(r"^  workkit help (\w+) ((?:\s+--[\w-]+)+)", text, re.MULTILINE))
    for option in command(name).options():
        flag = max(option.opts, key=len)
        topics = [topic for topic, flags in elsewhere.items() if flag in flags.split()]
        assert flag in explained_on(text) or any(flag in explained_on(topic_page(one, 80)) for one in topics), flag


@pytest.mark.parametrize("words", [["add"], ["list"], ["wire"], []])
def test_help_prints_what_the_option_prints(run: Run, words: list[str]) -> None:
    helped = run("help", *words)
    assert (helped.status, helped.err) == (0, "")
    assert helped.out == run(*words, "--help").out


@pytest.mark.parametrize("topic", sorted(TOPICS))
def test_help_prints_a_topic(run: Run, topic: str) -> None:
    assert run("help", topic) == (0, f"{topic_page(topic, 80)}\n", "")


@pytest.mark.parametrize(
    ("word", "hint"),
    [("lisen", "Did you mean listen?"), ("tims", "Did you mean times?"), ("zzzz", "All: workkit help.")],
)
def test_help_of_an_unknown_word_names_the_nearest(run: Run, word: str, hint: str) -> None:
    ran = run("help", word)
    assert (ran.status, ran.out) == (2, "")
    assert ran.err == f'error: workkit has no command and no topic "{word}". {hint}\n'


@every_row("words", [words for words, _ in PAGES["times"].pairs])
def test_every_time_of_the_page_is_understood(words: str) -> None:
    now = datetime(2026, 11, 20, 10, 15, 30, tzinfo=UTC)
    if words[0] in "0123456789*" and " * " in words:
        assert triggers.cron(words, "auto").next_after(now)
    elif words != "now":
        assert triggers.parse(words, now=now).next_after(now)


@every_row("name", TOPICS)
def test_every_example_of_a_topic_is_a_command_line(name: str) -> None:
    for example in PAGES[name].examples:
        program, *words = shlex.split(example)
        assert program == "workkit"
        command(words[0]).make_context(words[0], words[1:])
