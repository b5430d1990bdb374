"""Parts of the reference that are made from the code: options, commands, environment variables, events.

A page names one as a directive, such as `{option-table} schedule.add`. Each writes Markdown, which Sphinx then reads.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

import click
from docutils import nodes
from sphinx.application import Sphinx
from sphinx.util.docutils import SphinxDirective

from workkit import events
from workkit.cli.commands.help import topic_page
from workkit.cli.tree import GROUPS, TOPICS, tree
from workkit.jobs.options import OPTIONS, VerbOption


class Written(SphinxDirective):
    """A directive whose Markdown `write` makes."""

    optional_arguments = 1

    def write(self) -> Iterable[str]:
        """Make its lines."""
        raise NotImplementedError

    def run(self) -> list[nodes.Node]:
        """Read what was written."""
        return self.parse_text_to_nodes("\n".join(self.write()), allow_section_headings=True)


def row(*cells: str) -> str:
    """Write a row of a table."""
    return " | ".join(["", *(cell.replace("|", "\\|") for cell in cells), ""]).strip()


class OptionTable(Written):
    """The options that may be given at one place: `schedule.add`, `@job`, `schedule.listen` or `schedule.forward`."""

    def write(self) -> Iterator[str]:
        """Make a row of each option."""
        yield from (row("keyword", "meaning", "default", "also of"), row(*["---"] * 4))
        (place,) = self.arguments
        for option in OPTIONS:
            if place in option.places:
                yield row(f"`{option.name}`", option.meaning, default(option), others(option, place))


def default(option: VerbOption) -> str:
    """Write what holds without the option."""
    return option.default if " " in option.default or option.default in ("none", "any") else f"`{option.default}`"


def others(option: VerbOption, place: str) -> str:
    """Name the other places of an option."""
    return ", ".join(f"`{other}`" for other in option.places if other != place)


def commands(group: click.Group = tree, above: str = "workkit") -> Iterator[tuple[str, click.Context]]:
    """Give each command below a group with the context in which it prints its help."""
    with click.Context(group, info_name=above) as parent:
        for name in group.list_commands(parent):
            command = group.get_command(parent, name)
            assert command is not None
            yield f"{above} {name}", click.Context(command, info_name=name, parent=parent, terminal_width=80)
            if isinstance(command, click.Group):
                yield from commands(command, f"{above} {name}")


class CommandPages(Written):
    """Each command with what its `--help` prints, in the order of the tree, and the topics of `workkit help`."""

    def write(self) -> Iterator[str]:
        """Make a section of each group, command and topic."""
        titles = {next(iter(group)): title for title, group in GROUPS.items()}
        for path, context in commands():
            if path.count(" ") == 1 and (title := titles.get(path.partition(" ")[2])):
                yield f"## {title}\n"
            yield f"{'#' * (path.count(' ') + 2)} {path}\n\n```text\n{context.command.get_help(context)}\n```\n"
        yield "## Topics\n"
        for name in TOPICS:
            yield f"### workkit help {name}\n\n```text\n{topic_page(name, 80)}\n```\n"


class VariableTable(Written):
    """The environment variables that are the value of an option of the command line."""

    def write(self) -> Iterator[str]:
        """Make a row of each variable."""
        yield from (row("variable", "stands for", "of"), row(*["---"] * 3))
        found: dict[tuple[str, str], list[str]] = {}
        for path, context in commands():
            for one in context.command.params:
                if isinstance(one.envvar, str):
                    found.setdefault((one.envvar, max(one.opts, key=len)), []).append(path.partition(" ")[2])
        for (variable, option), paths in sorted(found.items()):
            names = "every command that needs it" if len(paths) > 6 else ", ".join(f"`{path}`" for path in paths)
            yield row(f"`{variable}`", f"`{option}`", names)


class EventList(Written):
    """The events and their fields, and the level of each in the log."""

    def write(self) -> Iterator[str]:
        """Take the list from the docstring of `workkit.events`."""
        lines = (events.__doc__ or "").splitlines()
        yield from ("```text", *(line.removeprefix("    ") for line in lines if line.startswith("    ")), "```\n")
        names = {"ERROR": events.ERROR, "WARNING": events.WARNING, "DEBUG": events.DEBUG}
        yield from (row("level", "events"), row("---", "---"))
        for name, level in names.items():
            yield row(name, ", ".join(f"`{event}`" for event, is_at in events.LEVELS.items() if is_at == level))
        yield row("INFO", "all others")


def setup(app: Sphinx) -> dict[str, Any]:
    """Name the directives."""
    app.add_directive("option-table", OptionTable)
    app.add_directive("command-pages", CommandPages)
    app.add_directive("variable-table", VariableTable)
    app.add_directive("event-list", EventList)
    return {"parallel_read_safe": True}
