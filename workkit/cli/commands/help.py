"""`help`: the page of a command, as its ``--help`` prints it, or of a topic that several commands share. `schema` and
`completion`: files about workkit for editors and shells.
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import click

from workkit.cli import terminal
from workkit.cli.command import INDENT, Command, Option, option_lines, wrapped
from workkit.cli.commands.explain import INTERVALS
from workkit.cli.failure import command_hint
from workkit.cli.options import Word, verbose_option
from workkit.cli.settings import READERS
from workkit.cli.tree import ENTRIES, TOPICS, tree
from workkit.contract.filters import Place, qualifiers

COMMANDS: dict[Place, str] = {"jobs": "list", "dead": "dead", "runs": "runs"}  # that take a filter


@dataclass(frozen=True, slots=True, kw_only=True)
class Topic:
    """A page: sentences, examples that can be run, options in full, and more sentences.

    `options_of`: the commands with options that this page explains. `pairs`: accepted texts with their meanings.
    """

    about: tuple[str, ...]
    examples: tuple[str, ...]
    options_of: tuple[str, ...] = ()
    pairs: tuple[tuple[str, str], ...] = ()
    after: tuple[str, ...] = ()


PAGES = {
    "times": Topic(
        about=(
            "WHEN is words or a cron string, as one quoted argument. It is understood whole or refused: workkit next "
            "tries it without a server. Words about the clock are read in the zone that --tz, else WORKKIT_TZ, else tz "
            "in pyproject.toml names; default UTC.",
        ),
        examples=('workkit next "every weekday at 9am" --tz Europe/Paris',),
        pairs=(
            ("now", "at once"),
            ("in 5 minutes", "once, from now; also: in 1h30m"),
            ("7pm tomorrow", "once"),
            ("2027-03-01 9am", "once; also: 1 march 2027 at 9am"),
            ("every 15 minutes", "again and again"),
            ("every weekday at 9am", "Monday to Friday"),
            ("every monday and thursday at 8:30", "two days a week"),
            ("every day at 9am and 5pm", "two times a day"),
            ("every 5 minutes from 9am to 5pm", "in some hours; 17:55 is the last"),
            ("last day of every month at 6pm", "whatever its number is"),
            ("2nd sunday of every month at 5pm", "by the week of the month"),
            ("every day at 9am Europe/Paris", "with the zone's clock changes"),
            ("every day at 9am until 2027-06-01", "with an end"),
            ("0 9 * * 1-5", "crontab, in the zone; or @daily"),
            ("* * * 1-5 9 0 0", "year to second, always UTC"),
        ),
        after=(INTERVALS,),
    ),
    "options": Topic(
        about=(),
        examples=("workkit add app-tasks 9am app.mail:poll --expires 1h --tag user:7",),
        options_of=("add",),
    ),
    "running": Topic(
        about=(),
        examples=("workkit add app-tasks 9am app.mail:poll --retries 3 --base 10s",),
        options_of=("add",),
    ),
    "listening": Topic(
        about=("Most listeners do without them.",),
        examples=("workkit listen app-tasks --import app.jobs --sync --plan-version 412",),
        options_of=("listen",),
    ),
    "filters": Topic(
        about=(
            "FILTER is a text, in any case of its letters, that may be a part of any field: 7 finds 77 too. Or it has "
            "qualifiers, which must all hold: id, name, job, fn, arg and state are exact, of others a part is enough. "
            'No blank follows the colon. "-" in front means not, "," means or, "*" is any text; quotes keep '
            "blanks and colons. "
            "Numbers and times: >2, <=1h, 1s..5s.",
        ),
        examples=("workkit list app-tasks --where 'fn:app.export -state:paused due:<1h'",),
        pairs=tuple(
            (example, f"{meaning} ({', '.join(COMMANDS[place] for place in places)})")
            for example, meaning, places in qualifiers(*COMMANDS)
        ),
    ),
    "server": Topic(
        about=(
            "Which server a command uses. An option wins over its environment variable, and this over [tool.workkit] "
            "of pyproject.toml.",
        ),
        examples=("workkit list app-tasks --redis rediss://:PASSWORD@db.example.org:6379/0",),
        options_of=("list",),
        pairs=(
            ("redis://USER:PASSWORD@host:6379/0", "one server; or valkey://"),
            ("rediss://host:6379/0", "with TLS; its settings follow ?"),
            ("?ssl_ca_certs=FILE", "certificates that are trusted"),
            ("?ssl_certfile=FILE&ssl_keyfile=FILE", "the certificate of this client"),
            ("?ssl_check_hostname=false", "for any name in the certificate"),
            ("redis+sentinel://h:26379,h2:26379/SERVICE/0", "the primary of sentinels"),
            ("?sentinel_password=PASSWORD", "that of the sentinels"),
            ("redis+cluster://h:6379,h2:6379", "a cluster"),
            ("unix:///run/redis.sock", "by its socket"),
        ),
        after=(
            f"[tool.workkit] holds {', '.join(READERS)}; never the server, so that program and listener cannot "
            "disagree. WORKKIT_SCHEDULES names schedules. workkit doctor prints each setting with where it is from.",
        ),
    ),
}


def topic_page(name: str, width: int) -> str:
    """Write the page of a topic."""
    page = PAGES[name]
    lines = [*wrapped(f"workkit help {name}: {TOPICS[name]}", width, "", INDENT), ""]
    for paragraph in page.about:
        lines += wrapped(paragraph, width, INDENT, INDENT)
    lines += [INDENT + example for example in page.examples]
    for command in page.options_of:
        lines += option_lines([(one, one.help) for one in explained(command, name)], width)
    if page.pairs and page.options_of:
        lines.append("What URL may be:")
    column = max((len(written) for written, _ in page.pairs), default=0) + 4
    for written, meaning in page.pairs:
        lines += _pair(written, meaning, width, column)
    for paragraph in page.after:
        lines += wrapped(paragraph, width, INDENT, INDENT)
    return "\n".join(lines)


def explained(command: str, topic: str) -> Iterator[Option]:
    """Return the options of a command that the page of a topic explains."""
    found = tree.get_command(click.Context(tree), command)
    assert isinstance(found, Command)
    return (option for option in found.options() if found.topic_of(option) == topic)


def _pair(written: str, meaning: str, width: int, column: int) -> list[str]:
    if width < column + 32:
        return [INDENT + written, *wrapped(meaning, width, " " * 6, " " * 6)]
    return wrapped(meaning, width, f"{INDENT}{written:{column - 4}}  ", " " * column)


@click.command(
    "help",
    cls=Command,
    takes="[COMMAND|TOPIC]",
    about=(
        "Print the page of a command, as its --help does, or of a topic; without a word, all commands.",
        f"Topics: {', '.join(f'{name} ({line})' for name, line in TOPICS.items())}.",
    ),
    examples=("workkit help add", "workkit help times"),
)
@click.argument("word", type=Word((*ENTRIES, *TOPICS)), required=False, metavar="[COMMAND|TOPIC]")
@click.pass_context
def help_command(ctx: click.Context, word: str | None) -> None:
    """Print a page."""
    above = ctx.parent
    assert above is not None
    if word is None:
        terminal.data(tree.get_help(above))
        return
    if word in TOPICS:
        terminal.data(topic_page(word, terminal.help_width()))
        return
    command = tree.get_command(above, word)
    if command is None:
        hint = command_hint(word, (*ENTRIES, *TOPICS)) or "All: workkit help."
        raise click.UsageError(f'workkit has no command and no topic "{word}". {hint}')
    terminal.data(command.get_help(click.Context(command, info_name=word, parent=above)))


@click.command(
    "schema",
    cls=Command,
    takes="[OPTIONS]",
    about=("Print the JSON schema of a plan, with which an editor completes and checks a .toml file.",),
    examples=("workkit schema",),
    after="The same is in the package: workkit/plan.schema.json. In pyproject.toml it holds for each "
    "[tool.workkit.schedules.SCHEDULE].",
)
@verbose_option
def schema_command() -> None:
    """Print the JSON schema of a plan."""
    from workkit.jobs.planned import plan_schema

    terminal.data(json.dumps(plan_schema(), indent=2))


SHELLS = ("bash", "zsh", "fish")


@click.command(
    "completion",
    cls=Command,
    takes="[bash|zsh|fish] [OPTIONS]",
    about=("Print the completion script for a shell; by default the one of $SHELL.",),
    examples=(
        'eval "$(workkit completion bash)"                  in ~/.bashrc',
        'eval "$(workkit completion zsh)"                   in ~/.zshrc',
        "workkit completion fish > ~/.config/fish/completions/workkit.fish",
    ),
)
@click.argument("shell", required=False, type=click.Choice(SHELLS))
@verbose_option
def completion_command(shell: str | None) -> None:
    """Print the completion script for a shell."""
    from click.shell_completion import get_completion_class

    from workkit.cli.tree import COMPLETE, tree

    name = shell or Path(os.environ.get("SHELL", "")).name
    kind = get_completion_class(name) if name in SHELLS else None
    if kind is None:
        given = f'SHELL="{name}" is none of' if name else "SHELL is not set; name one of"
        raise click.UsageError(f"{given} bash, zsh and fish. Write for example: workkit completion bash.")
    terminal.data(kind(tree, {}, "workkit", COMPLETE).source())
