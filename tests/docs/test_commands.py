"""The commands that pages name in their sentences: each is one that there is, with options that it has."""

from __future__ import annotations

import re
import shlex
from pathlib import Path

import click
import pytest

from tests.docs.page import PAGES
from tests.processes import ROOT
from workkit.cli.tree import tree

INLINE = re.compile(r"(?<!`)`(?:PYTHONPATH=\S+ )?workkit ([^`\n]+)`")
FENCE = re.compile(r"^```.*?^```$", re.MULTILINE | re.DOTALL)


def named_in(page: Path) -> list[str]:
    """List the commands in the sentences of a page, without `workkit`."""
    return list(dict.fromkeys(INLINE.findall(FENCE.sub("", page.read_text(encoding="utf-8")))))


def trouble(line: str) -> str:
    """Say what is wrong with a command; "" if nothing is."""
    words = shlex.split(line.replace("...", ""))
    command: click.Command | None = tree
    with click.Context(tree) as context:
        while isinstance(command, click.Group) and words and not words[0].startswith("-"):
            command = command.get_command(context, words.pop(0))
        if command is None:
            return f"no command: workkit {line}"
        known = {name for one in command.get_params(context) for name in (*one.opts, *one.secondary_opts)}
    unknown = [word for word in words if word.startswith("--") and word.partition("=")[0] not in known]
    return f"workkit {line}: no option {', '.join(unknown)}" if unknown else ""


@pytest.mark.parametrize(
    "page", [page for page in PAGES if named_in(page)], ids=lambda page: str(page.relative_to(ROOT))
)
def test_every_command_in_a_sentence_is_one_that_there_is(page: Path) -> None:
    assert [found for line in named_in(page) if (found := trouble(line))] == []


@pytest.mark.parametrize("line", ["lisen S", "listen S --improt app", "next --tz=UTC --zone X"])
def test_a_command_that_there_is_not_is_noticed(line: str) -> None:
    assert trouble(line)
