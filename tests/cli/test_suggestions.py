"""What the command line suggests for a command or an option that it does not have."""

from __future__ import annotations

import re

import click
import pytest

from tests.cli.conftest import Run
from tests.rows import every_row
from workkit.cli import failure
from workkit.cli.command import Command
from workkit.cli.failure import COMMANDS, OPTIONS, SENTENCES, command_hint, option_hint
from workkit.cli.tree import ENTRIES, tree
from workkit.text.nearest import NEGATIONS, nearest_word


def command(name: str) -> Command:
    found = tree.get_command(click.Context(tree), name)
    assert isinstance(found, Command)
    return found


def suggested(hint: str) -> set[str]:
    found = re.match(r"Did you mean ([^?]+)\?", hint)
    return set(re.split(r", | or ", found[1])) if found else set()


@every_row(
    "word,meant",
    [
        ("unpause", {"resume"}), ("un-pause", {"resume"}), ("unpuase", {"resume"}), ("enable", {"resume"}),
        ("disable", {"pause"}), ("rm", {"cancel"}), ("delete", {"cancel"}), ("remove", {"cancel"}),
        ("kill", {"cancel"}),
        ("stop", {"cancel", "pause"}), ("ps", {"listeners", "list"}), ("ls", {"list"}), ("logs", {"runs"}),
        ("status", {"stats"}), ("start", {"listen"}), ("strat", {"listen"}), ("worker", {"listen"}),
        ("enqueue", {"add", "now"}), ("delete_job", {"cancel"}), ("list-jobs", {"list"}), ("Pause", {"pause"}),
        ("lisen", {"listen"}), ("lsit", {"list"}), ("ilst", {"list"}), ("resum", {"resume"}), ("cancle", {"cancel"}),
        ("unskip", set()), ("undelete", set()), ("uncancel", set()), ("unmark", set()), ("dequeue", set()),
        ("unsync", set()), ("no-retry", set()), ("zzzz", set()),
    ],
)  # fmt: skip
def test_an_unknown_command_is_answered_with_what_it_means(word: str, meant: set[str]) -> None:
    assert suggested(command_hint(word, ENTRIES)) == meant


@every_row("word", [f"{prefix}{name}" for name in ENTRIES for prefix in NEGATIONS])
def test_no_command_is_suggested_for_its_contrary(word: str) -> None:
    name = next(word.removeprefix(prefix) for prefix in NEGATIONS if word.removeprefix(prefix) in ENTRIES)
    assert name not in suggested(command_hint(word, ENTRIES))


@every_row("word", [word for words in COMMANDS.values() for word in words.split()] + [*SENTENCES])
def test_the_words_of_other_programs_are_no_commands_here_and_stand_once(word: str) -> None:
    assert word not in ENTRIES
    assert [*" ".join(COMMANDS.values()).split(), *SENTENCES].count(word) == 1
    assert command_hint(word, ENTRIES)


def test_every_command_that_is_suggested_exists_or_is_skipped() -> None:
    hints = [command_hint(word, ENTRIES) for words in COMMANDS.values() for word in words.split()]
    assert {name for hint in hints for name in suggested(hint)} <= {*ENTRIES}


@every_row(
    "name,option,hint",
    [
        ("add", "--unique", "That is the default; --no-unique turns it off."),
        ("add", "--uniqe", "That is the default; --no-unique turns it off."),
        ("add", "--jitter", "That is the default; --no-jitter turns it off."),
        ("add", "--enable-jitter", "That is the default; --no-jitter turns it off."),
        ("listen", "--publish", "That is the default; --no-publish turns it off."),
        ("add", "--no-uniqe", "Did you mean --no-unique?"),
        ("add", "--nounique", "Did you mean --no-unique?"),
        ("add", "--no_unique", "Did you mean --no-unique?"),
        ("add", "--not-unique", "Did you mean --no-unique?"),
        ("add", "--no-json", "--json is off unless it is given. Leave it out."),
        ("listen", "--no-reload", "--reload is off unless it is given. Leave it out."),
        ("add", "--no-name", "--name holds only where it is given. Leave it out."),
        ("add", "--unique-ky", "Did you mean --unique-key?"),
        ("add", "--retrys", "Did you mean --retries?"),
        ("add", "--at", "The time is the argument WHEN: workkit help times."),
        ("add", "--zone", "Did you mean --tz?"),
        ("listen", "--thread", "Did you mean --threads?"),
        ("listen", "--concurrency", "Did you mean --threads?"),
        ("listen", "--start", ""),
        ("listen", "--at", ""),
        ("add", "-n", ""),
    ],
)
def test_an_unknown_option_is_answered_with_what_it_means(name: str, option: str, hint: str) -> None:
    assert option_hint(option, command(name)) == hint


@every_row("name", ENTRIES)
def test_no_option_is_suggested_for_its_contrary(name: str) -> None:
    for option in command(name).options():
        flag = max(option.opts, key=len)
        contrary = flag.replace("--no-", "--") if flag.startswith("--no-") else flag.replace("--", "--no-")
        if flag.startswith("--") and contrary not in [one for other in command(name).params for one in other.opts]:
            assert flag not in suggested(option_hint(contrary, command(name))), contrary


def test_the_words_for_options_stand_once() -> None:
    words = [word for words in OPTIONS.values() for word in words.split()]
    assert len(words) == len({*words})
    assert failure.TIMES


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (("unpause", "t"), 'workkit has no command "unpause". Did you mean resume?'),
        (("rm", "t"), 'workkit has no command "rm". Did you mean cancel?'),
        (("add", "t", "now", "a:b", "--unique"), "--unique. That is the default; --no-unique turns it off."),
        (("list", "t", "--no-json"), "workkit list has no option --no-json. --json is off unless it is given."),
    ],
)
def test_the_command_line_says_it(run: Run, words: tuple[str, ...], message: str) -> None:
    ran = run(*words)
    assert (ran.status, ran.out) == (2, "")
    assert message in ran.err


@every_row(
    "word,known,near",
    [
        ("no_unique", ("unique", "name"), None),
        ("unpaused", ("paused", "held"), None),
        ("retrys", ("retries", "rate"), "retries"),
        ("under", ("dunder", "unders"), "unders"),
    ],
)
def test_the_nearest_word_is_never_the_contrary(word: str, known: tuple[str, ...], near: str | None) -> None:
    assert nearest_word(word, known) == near
